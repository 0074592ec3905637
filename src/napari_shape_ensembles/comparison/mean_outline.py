"""Mean outlines of the two groups of a comparison, with the band that holds the middle half of their forms."""

from typing import Any

import numpy as np

from .._types import Real
from ..outlines import Ensemble
from ..shapes import decompose, product, register, spd, to_landmarks
from .quantities import geometric_median
from .settings import landmarks_of
from .typical import replicate_weights

# A `Comparison` has a function of this module as a method, so its class cannot be imported here.
Comparison = Any

# Forms of a group that enter the band around its mean, at most.
_IN_BAND = 500


def mean_outlines(
    result: Comparison, like: tuple[Real, Real]
) -> tuple[tuple[Real, Real] | None, tuple[Real, Real] | None]:
    """Mean outlines (m, 2) of A and of B, each turned like another outline of its group, and the bands around them.

    The outline of the geometric median of the forms, which outliers do not pull, at the mean scale of its group; and
    the band (2m + 2, 2) that holds the middle half of the forms at every point. If images were permuted, they have
    equal weights. None for a group whose outlines have no common form.
    """
    first, settings, space = len(result.a), result.settings, result.space
    curves, found = Ensemble.pooled(result.compared).curves, list[tuple[Real, Real] | None]()
    weights = replicate_weights(result)
    sides = np.split(np.arange(len(result.t)), [first])
    for rows, target, has_form in zip(sides, like, result.has_common_form, strict=True):
        if not has_form:
            found.append(None)
            continue
        drawn = np.random.default_rng(settings.seed).permutation(rows)[:_IN_BAND]
        standardized, scales = decompose(landmarks_of(Ensemble([curves[row] for row in drawn.tolist()]), settings))
        t = geometric_median(result.t[rows], weights[rows])
        form = space.undulations(t[None])[0]
        # Scales were registered separately: their mean is taken in the frame of the forms, where lengths are as known.
        mean_l = np.average(result.l[rows], axis=0, weights=weights[rows])
        match = register(standardized, form, reflections=settings.reflections)
        scale = spd.frechet_mean(match.rotation @ scales @ match.rotation.swapaxes(1, 2))
        scale *= np.sqrt(np.linalg.det(spd.from_coordinates(space.scale_mean_, mean_l)) / np.linalg.det(scale))
        mean, *forms = product.compose((np.concatenate([form[None], match.landmarks]), scale))
        normal = outward_normals(mean)
        along = np.einsum("qnk,nk->qn", np.stack(forms) - mean, normal)
        inner, outer = (mean + ends[:, None] * normal for ends in np.quantile(along, [0.25, 0.75], axis=0))
        band = np.concatenate([outer, outer[:1], inner[:1], inner[::-1]])
        landmarks = to_landmarks(Ensemble([mean]), len(target), interpolation="polygon")
        turn = register(landmarks, target, reflections=settings.reflections).rotation[0].T
        middle = landmarks[0].mean(axis=0)  # where other outlines have theirs
        found.append(((mean - middle) @ turn, (band - middle) @ turn))
    return found[0], found[1]


def outward_normals(curve: Real) -> Real:
    """Outward unit normals (n, 2) of a closed curve (n, 2); derivatives by Fourier series."""
    n = len(curve)
    z = curve[:, 0] + 1j * curve[:, 1]
    k = np.fft.fftfreq(n, 1 / n)
    if n % 2 == 0:
        k[n // 2] = 0  # the derivative of the Nyquist mode vanishes on the grid
    tangent = np.fft.ifft(1j * k * np.fft.fft(z))
    side = np.sign((z.conj() * tangent).imag.sum()) or 1.0
    normal = -1j * side * tangent / np.maximum(np.abs(tangent), 1e-300)
    return np.stack([normal.real, normal.imag], axis=-1)
