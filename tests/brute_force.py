"""Slow but simple reference implementations."""

import numpy as np


def nuclear_objective(curve, archetype, *, mirrored):
    """‖Yᵀ C(p) X‖₁ for every p, from singular values; sign convention as for a given determinant."""
    scores = []
    for p in range(len(curve)):
        product = archetype.T @ np.roll(curve, -p, axis=0)
        u, s, vt = np.linalg.svd(product)
        proper = np.linalg.det(u @ vt) > 0
        scores.append(s[0] + (s[1] if proper != mirrored else -s[1]))
    return np.array(scores)
