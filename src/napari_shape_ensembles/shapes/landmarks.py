"""Landmarks: n points on every curve, at equal weights of the arc-length measure.

`measure="affine"` measures length on the *whitened* curve: the fixed point of "standardize the curve by its second
moment, measure arc length on the result". Landmarks are then equivariant under linear maps, so the undulation captures
exactly what no linear map can produce. `"arc-length"` is the paper's measure, invariant to rigid motions only.

The result depends on the closed curve alone, not on its first vertex or its direction: curves are first oriented to
positive signed area in (row, column) axes, and the first landmark is placed by the phase of the lowest non-vanishing
Fourier mode of the squared radius.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..checks import whole
from ..compiled import kernels
from ..outlines import Ensemble
from ..progress import RELEASE_FROM_BYTES, over_blocks, release_memory

Interpolation = Literal["auto", "spline", "polygon"]
Measure = Literal["affine", "arc-length"]
#: Default number of landmarks per curve.
LANDMARKS = 500

# Vertices and landmarks per block: enough that threads rarely wait for the GIL, few enough for the CPU caches.
_BLOCK = 1 << 16
#: Iterations after which the affine measure of a curve counts as not converging.
MAX_ITERATIONS = 60


def to_landmarks(
    ensemble: Ensemble | Sequence[Ensemble],
    n: int = LANDMARKS,
    *,
    interpolation: Interpolation = "auto",
    measure: Measure = "affine",
) -> NDArray[np.float64]:
    """Place n landmarks on every curve at equal weights of its arc-length measure.

    Parameters
    ----------
    ensemble : Ensemble or sequence of them
        N closed curves; several ensembles are concatenated.
    n : int
        Landmarks per curve, at least 8. Products of 2, 3 and 5 make the later Fourier transforms fast.
    interpolation : {"auto", "spline", "polygon"}
        Periodic cubic spline over the chord-length parameter; straight segments; or chosen per curve: a polygon where
        at most 24 corners (20° or more) make up 95 % of its total turning, else a spline.
    measure : {"affine", "arc-length"}
        Length that is divided equally; see the module docstring.

    Returns
    -------
    (N, n, 2) float array
        Landmarks as (row, column) in the ensemble's unit, in the order of positive signed area.

    Raises
    ------
    ValueError
        For fewer than 8 landmarks, an unknown option, or a curve whose affine measure does not converge.

    Notes
    -----
    Paper, sections "Arc-length reparametrization" and "Nyström's Method for Curves": landmarks at equal weights have
    quadrature weights W = I/n.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, to_landmarks
    >>> square = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]])
    >>> landmarks = to_landmarks(square, 8, interpolation="polygon")
    >>> landmarks.shape
    (1, 8, 2)
    >>> np.linalg.norm(np.diff(landmarks[0], axis=0), axis=1)
    array([1., 1., 1., 1., 1., 1., 1.])
    """
    n = whole(n, "n, the number of landmarks,", least=8)
    if interpolation not in get_args(Interpolation):
        raise ValueError(f'interpolation must be "auto", "spline" or "polygon", not {interpolation!r}')
    if measure not in ("affine", "arc-length"):
        raise ValueError(f'measure must be "affine" or "arc-length", not {measure!r}')
    ensembles = [ensemble] if isinstance(ensemble, Ensemble) or not isinstance(ensemble, Iterable) else list(ensemble)
    for one in ensembles:
        if not isinstance(one, Ensemble):
            raise ValueError(
                f"to_landmarks takes an Ensemble or several, not {type(one).__name__}: use Ensemble(curves)"
            )
    ends = np.cumsum([0, *map(len, ensembles)])
    if 16 * n * ends[-1] > RELEASE_FROM_BYTES:
        release_memory()
    landmarks = np.empty((ends[-1], 2, n))
    kind, affine = get_args(Interpolation).index(interpolation), measure == "affine"
    place = kernels(__package__).place_landmarks

    def place_block(block: tuple[Ensemble, int, slice]) -> None:
        of, start, part = block
        offsets = of.offsets[part.start : part.stop + 1]
        settled = np.ones(len(offsets) - 1, dtype=bool)
        vertices, placed = of.vertices[offsets[0] : offsets[-1]], landmarks[start + part.start : start + part.stop]
        place(vertices, offsets - offsets[0], kind, affine, placed, settled)
        if not settled.all():
            stuck = of.ids[part][~settled]
            raise ValueError(
                f"the affine measure of {len(stuck)} curve(s) did not converge in {MAX_ITERATIONS} iterations (ids "
                f'{stuck[:5].tolist()}): leave them out, or use measure="arc-length"'
            )

    blocks = []  # runs of whole curves with about equal work
    for of, start in zip(ensembles, ends, strict=False):
        block = np.cumsum(np.diff(of.offsets) + n) // _BLOCK
        cuts = [*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), len(block)]
        blocks += [(of, start, slice(*part)) for part in pairwise(cuts)]
    over_blocks(place_block, blocks)
    return landmarks.swapaxes(1, 2)
