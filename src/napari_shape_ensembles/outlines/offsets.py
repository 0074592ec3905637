"""Curves of different lengths in one array: `offsets[q]` to `offsets[q + 1]` are the vertices of curve q."""

import numpy as np

from .._types import Index


def following(offsets: Index) -> Index:
    """Index of the next vertex of the same curve, for each vertex."""
    following = np.arange(1, offsets[-1] + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    return following
