"""From images to labels."""

from .threshold import Objects, segment

__all__ = ["Objects", "segment"]
