"""Whether the outlines of a group have a common form, so that their mean outline is a picture of anything."""

from math import ceil
from typing import Any

import numpy as np

from .._types import Complex, Index, Real
from ..progress import one_library_thread
from ..shapes import register
from ..shapes.lobes import harmonics
from ..shapes.registration import choose_archetype
from .settings import Settings
from .typical import undulations

# A `Comparison` has the functions of this module as properties, so its class cannot be imported here.
Comparison = Any

#: Below this share the mean explains clearly more than that of outlines without a common form.
COMMON = 0.75
# Outlines of each group that enter, at most; of fewer, so many control draws that these are about as many.
_OUTLINES, _MAX_DRAWS = 300, 8
# Landmarks of the control outlines. Harmonics on either side that enter: finer waves hide a common form, but are no
# part of it.
_LANDMARKS, _HARMONICS = 128, 7
# RMS distance from a circle, relative to the RMS radius, that no picture shows (discs of 20 pixels across): the
# circle is then the common form. And a share of the squared distance that is rounding error.
_ROUND, _LEAST_LEFT = 0.01, 1e-9


@one_library_thread()
def unexplained(comparison: Comparison) -> tuple[float, float]:
    """Share that the mean form leaves unexplained in A and in B, relative to a control without a common form.

    Returns
    -------
    (float, float)
        U = (1 - EV) / (1 - EV of the control), EV the share of the squared distance to a circle that the group's mean
        explains. About 1 if the outlines have no more in common than the control; at most `COMMON` if they have a
        common form, 0 if it is repeated, or a circle. 1 for groups of a single outline.

    Notes
    -----
    The control keeps the amplitudes of every wave around an outline (harmonics 1 + k and 1 - k for k lobes, which move
    together) and draws its phase at random, then registers and averages as the comparison does. Registration alone
    gives such outlines a mean that is not round.
    """
    rng, settings = np.random.default_rng(comparison.settings.seed), comparison.settings
    sides = [_drawn(rng, start, len(side)) for start, side in ((0, comparison.a), (len(comparison.a), comparison.b))]
    forms = [_coefficients(undulations(comparison, rows)) for rows in sides]
    observed = [_explained(form) for form in forms]
    draws = min(max(ceil(_OUTLINES / min(map(len, forms))), 1), _MAX_DRAWS)
    controls = np.mean([_control(forms, settings, rng) for _ in range(draws)], axis=0)
    left, of_control = 1 - np.array(observed), np.maximum(1 - controls, _LEAST_LEFT)
    shares = np.where(left > _LEAST_LEFT, left / of_control, 0)
    a, b = np.where([len(form) > 1 for form in forms], shares, 1).tolist()
    return a, b


def _drawn(rng: np.random.Generator, start: int, count: int) -> Index:
    rows = np.arange(start, start + count)
    return rows if count <= _OUTLINES else np.sort(rng.choice(rows, _OUTLINES, replace=False))


def _coefficients(undulation: Real) -> Complex:
    """Fourier coefficients of k = -`_HARMONICS` to `_HARMONICS` of every form, that of k at index k."""
    coefficients, _ = harmonics(undulation)
    kept = min(_HARMONICS, (undulation.shape[1] - 1) // 2)
    return np.concatenate([coefficients[:, : kept + 1], coefficients[:, -kept:]], axis=1)


def _explained(coefficients: Complex) -> float:
    """Share of the squared distance to a circle that the mean explains; all of it if they are circles."""
    power = np.sum(np.abs(coefficients) ** 2, axis=1)
    from_circle = (power + 1 - 2 * np.abs(coefficients[:, 1])).sum()
    from_mean = (np.abs(coefficients - coefficients.mean(axis=0)) ** 2).sum()
    return 1 - float(from_mean / from_circle) if from_circle > _ROUND**2 * len(power) else 1.0


def _control(forms: list[Complex], settings: Settings, rng: np.random.Generator) -> list[float]:
    """Share that the mean of each group explains after the phase of every wave was drawn at random."""
    whole = np.concatenate(forms)
    kept = (whole.shape[1] - 1) // 2
    places = np.r_[0 : kept + 1, -kept:0]
    phases = rng.uniform(0, 2 * np.pi, (len(whole), kept + 2))
    phases[:, 0] = 0  # the circle itself
    spectra = np.zeros((len(whole), _LANDMARKS), dtype=np.complex128)
    spectra[:, places] = whole * np.exp(1j * np.sign(places - 1) * phases[:, np.abs(places - 1)])
    z = np.fft.ifft(spectra) * _LANDMARKS
    points = np.stack([z.real, z.imag], axis=-1) / np.sqrt(_LANDMARKS / 2)
    if settings.registration != "none":
        choice = settings.archetype if isinstance(settings.archetype, str) else "asymmetric"
        options: dict[str, Any] = {"reflections": settings.reflections}
        points = register(points, choose_archetype(points, choice, seed=settings.seed, **options), **options).landmarks
    return [_explained(part) for part in np.split(_coefficients(points), [len(forms[0])])]
