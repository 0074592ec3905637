"""Quantities of every outline: size, elongation, and the amplitudes of its lobes.

Those of landmarks depend on no registration, no mean and no other outline; `components` are of the coordinates that a
comparison learned. The form of an outline, without its scale, is a Fourier series of z = row + 1j·column; harmonics
1 ± k make k lobes around a circle.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import Complex, Real
from ..outlines import Ensemble
from ..progress import one_library_thread, over_blocks
from ..shapes import ShapeSpace, decompose, grassmann, spd, to_landmarks
from ..shapes.lobes import BANDS, LINEAR, band_name, harmonics
from .learning import KNOWN
from .settings import Settings

#: Bands of lobes around the outline; more than 25 lobes are limited by the landmarks and the pixels.
LOBES = BANDS
#: Range of lobes that count as roughness.
ROUGHNESS_LOBES = (6, 60)
#: Waves of up to this many lobes around the outline are its coarse form, higher ones are roughness.
COARSE = 5
#: The four components that a difference is split into: two of scale, and two of form.
COMPONENTS = ("size", "elongation", "coarse form", "roughness")
# Lower limit of amplitudes relative to the size: smaller ones are rounding error.
_MIN_AMPLITUDE = 1e-6
# The same of waves in learned coordinates.
_PRECISION = 1e-9
# Outlines per block.
_BLOCK = 2000


class Quantities(NamedTuple):
    """Logarithms of plain quantities of N outlines.

    Attributes
    ----------
    size : (N,) array
        log √(σ₁σ₂), the geometric mean of the two RMS extents.
    elongation : (N,) array
        log(σ₁/σ₂), their ratio; at least 10⁻⁸, below which it is rounding error.
    lobes : (N, 9) array
        log RMS amplitude of each band of `LOBES`, relative to the RMS radius of the form.
    roughness : (N,) array
        log RMS amplitude of all modes with 6 and more lobes.
    """

    size: Real
    elongation: Real
    lobes: Real
    roughness: Real

    def named(self) -> dict[str, Real]:
        """Each quantity by its name, (N,)."""
        bands = {band_name(*band): values for band, values in zip(LOBES, self.lobes.T, strict=True)}
        return {"size": self.size, "elongation": self.elongation, "roughness": self.roughness, **bands}


def quantities(ensembles: Sequence[Ensemble], settings: Settings) -> Quantities:
    """Measure the outlines of several ensembles in one unit, in order."""
    options: dict[str, Any] = {"interpolation": settings.interpolation, "measure": settings.measure}

    def measured(part: Ensemble) -> Quantities:
        return quantities_of_landmarks(to_landmarks(part, settings.landmarks, **options))

    parts = [
        ensemble[start : start + _BLOCK] if len(ensemble) > _BLOCK else ensemble
        for ensemble in ensembles
        for start in range(0, len(ensemble), _BLOCK)
    ]
    return Quantities(*map(np.concatenate, zip(*over_blocks(measured, parts), strict=True)))


@one_library_thread()
def quantities_of_landmarks(landmarks: Real) -> Quantities:
    """Measure outlines from their landmarks (N, n, 2)."""
    undulation, scale = decompose(landmarks)
    extents = np.linalg.eigvalsh(scale)
    n = landmarks.shape[1]
    power = np.abs(np.fft.fft(undulation[..., 0] + 1j * undulation[..., 1])) ** 2 / (2 * n)
    harmonic = np.rint(np.fft.fftfreq(n, 1 / n)).astype(int)
    # Outlines traversed in the other direction have their circle at -1.
    other_way = power[:, -1] > power[:, 1]
    power[other_way] = power[np.ix_(other_way, -harmonic % n)]
    power[:, [0, 1, -1]] = 0  # position, and the linear part

    def amplitude(first: int, last: int) -> Real:
        chosen = (np.abs(harmonic - 1) >= first) & (np.abs(harmonic - 1) <= last)
        return np.log(np.sqrt(np.maximum(power[:, chosen].sum(axis=1), _MIN_AMPLITUDE**2)))

    return Quantities(
        np.log(extents[:, 0] * extents[:, 1]) / 2,
        np.maximum(np.log(extents[:, 1] / extents[:, 0]), KNOWN),
        np.stack([amplitude(*band) for band in LOBES], axis=1),
        amplitude(*ROUGHNESS_LOBES),
    )


@one_library_thread()
def components(space: ShapeSpace, t: Real, l: Real) -> dict[str, Real]:
    """Coordinates of every curve in each component of `COMPONENTS`.

    Parameters
    ----------
    space : ShapeSpace
    t : (N, r) array
    l : (N, 3) array

    Returns
    -------
    dict of str to array
        size (N,): logarithm of the geometric mean of the RMS extents. elongation (N,): logarithm of their ratio.
        coarse form (N, d): waves of up to `COARSE` lobes, in the registered frame. roughness (N,): logarithm of the RMS
        amplitude of all finer waves in the r coordinates. What varies by no more than the precision of outlines is
        rounding error, and constant here.
    """

    def measured(rows: slice) -> tuple[Real, Real]:
        tangents = np.tensordot(t[rows], space.basis_[: t.shape[1]], axes=1)
        coefficients, lobes = harmonics(grassmann.exp(space.undulation_mean_, tangents))
        coarse = (lobes > 0) & (lobes <= COARSE)
        coarse[LINEAR] = False
        waves = coefficients[:, coarse]
        return np.concatenate([waves.real, waves.imag], axis=1), amplitude(coefficients, lobes > COARSE)

    blocks = (slice(start, start + _BLOCK) for start in range(0, len(t), _BLOCK))
    coarse, fine = map(np.concatenate, zip(*over_blocks(measured, blocks), strict=True))
    extents = np.linalg.eigvalsh(spd.from_coordinates(space.scale_mean_, l))
    found = {
        "size": np.log(extents).mean(axis=1),
        "elongation": np.log(extents[:, 1] / extents[:, 0]),
        "coarse form": coarse,
        "roughness": np.log(fine),
    }
    return {name: np.where(values.std(axis=0) > KNOWN, values, values.mean(axis=0)) for name, values in found.items()}


def amplitude(coefficients: Complex, chosen: NDArray[np.bool_]) -> Real:
    """RMS amplitude of the chosen waves relative to the RMS radius, (N,); see `shapes.lobes.harmonics`."""
    power = (np.abs(coefficients[:, chosen]) ** 2).sum(axis=1)
    return np.sqrt(np.maximum(power, _PRECISION**2))
