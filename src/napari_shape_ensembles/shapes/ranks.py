"""Conformal p-values: without scikit-learn, which takes half a second to import."""

import numpy as np

from .._types import Real


def conformal_p_values(scores: Real, calibration: Real) -> Real:
    """Conformal p-values: the rank of each score among those of a calibration set and its own.

    Parameters
    ----------
    scores : (N,) array
        Larger for what is less like the calibration set.
    calibration : (m,) array
        Scores of the calibration set.

    Returns
    -------
    (N,) array
        (1 + number of calibration scores at least as large) / (1 + m). If a score and the m others are exchangeable, it
        is p or less with a probability of at most p, whatever their distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.ranks import conformal_p_values
    >>> conformal_p_values(np.array([5.0, 2.0, 0.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [0.25, 0.75, 1.0]
    """
    kept = np.sort(calibration)
    further = len(kept) - np.searchsorted(kept, scores, side="left")
    return np.asarray((1 + further) / (1 + len(kept)))
