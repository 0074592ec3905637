"""Self-contained widgets, independent of the docks and of each other."""
