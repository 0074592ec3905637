"""Widgets that show one thing each, and know neither docks nor each other's contents."""
