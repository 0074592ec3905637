"""Docks: pages that show the session and ask it for things."""
