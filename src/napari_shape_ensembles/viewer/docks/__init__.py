"""Docks: views of the session, which forward user actions to it."""
