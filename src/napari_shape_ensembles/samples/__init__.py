"""Sample images."""
