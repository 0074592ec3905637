"""Cyclic Procrustes registration: first landmark, direction and rotation of each curve.

A curve's landmarks are complex numbers z (row + 1j * column). Against an archetype w, the best rotation after a shift p
scores |Σ w̄ᵢ zᵢ₊ₚ| and the best reflection of the reversed curve |Σ wᵢ zₚ₋ᵢ|, so one forward and two inverse FFTs score
every shift of a curve, without a singular value decomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .._types import Complex, Index, Mask, Real
from ..checks import switch
from ..compiled import kernels
from ..progress import over_blocks
from .decomposition import check_landmarks, curve_blocks, planes
from .lobes import BANDS, LINEAR

Choice = Literal["asymmetric", "random", "mean"] | int

# Distinctness below which a match is ambiguous: where the second best match has at most 2 % more misfit, pixel noise
# decides. Smoothing changed the match of a fifth to two fifths of such outlines, of grains and of nearly round nuclei.
AMBIGUOUS = 0.02
_ROUNDING = 1e-12
# Tolerances of a tie: the two best matches of a symmetric curve score alike up to interpolation between samples, and
# give registered curves that agree, at unit norm, up to rounding error.
_TIE_TOLERANCE = 1e-4
_EQUAL_TOLERANCE = 1e-6
# Lower limits of the amplitudes of lobes, relative to the circle, and of the deviations of their logarithms, by which
# central curves are found: what is smaller is rounding error.
_LEAST_AMPLITUDE, _LEAST_DEVIATION = 1e-4, 0.01
# Maximum number of iterations for the mean archetype.
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Registration:
    """Result of `register`: curves registered to an archetype.

    Attributes
    ----------
    landmarks : (N, n, 2) array
        The centered curves, shifted, reversed and rotated onto the archetype; their size is kept.
    shift : (N,) array
        p* in samples, 0 to n, refined to a fraction of a sample: registered landmark i is the given curve at index i +
        shift, or shift - i where it was reversed.
    rotation : (N, 2, 2) array
        R* in O(2), with C(p*) X ≈ Y R* for the archetype Y; the registered landmarks are C(p*) X R*ᵀ.
        det R* = -1 marks a reflected curve.
    reversed : (N,) bool array
        True where the order of the landmarks was reversed.
    residual : (N,) array
        ‖C(p*) X - Y R*‖ with both at unit norm: 0 for the archetype itself, at most √2.
    distinctness : (N,) array
        1 - (squared residual) / (that of the second best match): how clearly this match is the best, from 0 to 1. It is
        not reduced by curves and archetype being nearly round.
    ambiguous : (N,) bool array
        True where the second best match is nearly as good (distinctness below 0.02) and gives a different registered
        curve. The repeats of a symmetric curve, such as an ellipse, give the same one and do not count.
    archetype_distinctness : float
        1 - (second highest peak of the score) / (highest) of the archetype matched with itself; see `distinctness`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import register
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> curves = draw_forms(np.random.default_rng(0), 3, roughness=0.03, waves=(6, 10))
    >>> match = register(curves, curves[0])
    >>> match.residual.round(2)
    array([0.  , 0.07, 0.07])
    """

    landmarks: Real
    shift: Real
    rotation: Real
    reversed: Mask
    residual: Real
    distinctness: Real
    ambiguous: Mask
    archetype_distinctness: float

    @classmethod
    def joined(cls, parts: Sequence[Registration]) -> Registration:
        """Return the registration of curves of which parts were registered to the same archetype."""
        if len(parts) == 1:
            return parts[0]
        arrays: Any = {
            one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)[:-1]
        }
        return replace(parts[0], **arrays)

    @property
    def archetype_is_ambiguous(self) -> bool:
        """Whether the archetype is symmetric within a fraction of the typical misfit: no registration is unique."""
        typical = float(np.median(self.residual**2)) / 2 if len(self.residual) else 0.0
        return self.archetype_distinctness < max(AMBIGUOUS * typical, _TIE_TOLERANCE)


def register(landmarks: Real, archetype: Real, *, reflections: bool = True) -> Registration:
    """Register every curve to one archetype over shifts, rotations and, optionally, reflections.

    Parameters
    ----------
    landmarks : (N, n, 2) array
        Landmarks at equal weights. Curves are centered, and reversed if their signed area differs in sign from the
        archetype's, so the direction of tracing does not matter.
    archetype : (n, 2) array
        The curve to register to.
    reflections : bool
        Also try each curve's mirror image, traversed backwards; False keeps handedness as a feature.

    Returns
    -------
    Registration

    Raises
    ------
    ValueError
        For malformed landmarks or an archetype with another number of landmarks.

    Notes
    -----
    Paper, theorem "Separable Cyclic Procrustes". Sub-sample shifts come from Newton's method on the Fourier series of
    the score.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import register
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> curve = draw_forms(np.random.default_rng(0), 1, roughness=0.03, waves=(6, 10))[0]
    >>> turned = np.roll(curve, 50, axis=0) @ [[0, 1], [-1, 0]]
    >>> match = register(turned[None], curve)
    >>> match.shift.round(3)
    array([50.])
    >>> np.allclose(match.landmarks[0], curve - curve.mean(axis=0))
    True
    """
    check_landmarks(landmarks)
    check_landmarks(np.asarray(archetype)[None])
    switch(reflections, "reflections")
    if landmarks.shape[1:] != archetype.shape:
        raise ValueError(f"curves have {landmarks.shape[1]} landmarks and the archetype {len(archetype)}")
    points = planes(landmarks)
    registered = np.empty_like(points)
    return match_blocks(lambda part: points[part], len(points), archetype, reflections=reflections, out=registered)


def match_blocks(
    curves: Callable[[slice], Real], count: int, archetype: Real, *, reflections: bool, out: Real | None
) -> Registration:
    """Register curves that are computed or read block by block; see `register`.

    `curves` returns those of a slice as (k, 2, n). `out` receives the registered curves, possibly in place; None
    discards them.
    """
    rows, columns = planes(archetype)
    target = rows + 1j * columns
    target = target - target.mean()
    target = target / np.linalg.norm(target)

    def place(part: slice) -> list[NDArray[Any]]:
        return list(match(curves(part), target[None], reflections, None if out is None else out[part]))

    # An empty ensemble is one empty block, so that its registration has all fields.
    matches = over_blocks(place, list(curve_blocks(count)) or [slice(0)])
    shift, rotation, backwards, residual, distinct, ambiguous = map(np.concatenate, zip(*matches, strict=True))
    of_archetype = float(distinctness(np.asarray(archetype)[None], reflections=reflections)[0])
    landmarks = (np.empty((0, 2, len(target))) if out is None else out).swapaxes(1, 2)
    return Registration(
        landmarks, shift % len(target), rotation, backwards, residual, distinct, ambiguous, of_archetype
    )


def doubled_area(z: Complex) -> Real:
    """Twice the signed area of closed polygons of complex vertices, along the last axis."""
    return (z.conj() * np.roll(z, -1, axis=-1)).imag.sum(axis=-1)


def match(
    points: Real, target: Complex, reflections: bool, registered: Real | None = None
) -> tuple[Real, Real, Mask, Real, Real, Mask]:
    """Register one block of curves; returns all fields of a `Registration` except landmarks.

    Parameters
    ----------
    points : (N, 2, n) array
        Landmarks.
    target : (1, n) or (N, n) complex array
        Centered, with unit norm: one for all curves, or one per curve.
    reflections : bool
        Also try the mirror images.
    registered : (N, 2, n) array, optional
        Receives the registered curves.
    """
    spectrum, against = _transformed(points, doubled_area(target))
    aim: Complex = scipy.fft.fft(target)
    first, second, margin = two_best(shift_scores(spectrum, aim, reflections))
    best = _aligned(spectrum, aim, first)
    if registered is not None:
        z = scipy.fft.ifft(best[0], overwrite_x=True)
        registered[:, 0], registered[:, 1] = z.real, z.imag
    return _judged(spectrum, aim, (first, second), margin, best[1:], against)


def _transformed(points: Real, direction: Real) -> tuple[Complex, Mask]:
    """Fourier transforms (N, n) of centered curves; those that run `against` a direction (1 or N) are reversed."""
    count, _, n = points.shape
    z, against = np.empty((count, n), np.complex128), np.empty(count, dtype=bool)
    kernels(__package__).centre(points, direction, z, against)
    return scipy.fft.fft(z, overwrite_x=True), against


def _judged(
    spectrum: Complex,
    aim: Complex,
    places: tuple[Index, Index],
    margin: Real,
    best: tuple[Real, Complex, Mask, Real],
    against: Mask,
) -> tuple[Real, Real, Mask, Real, Real, Mask]:
    """Fields of a `Registration` from each curve's best match; ties are aligned at both `places` and compared."""
    shift, turn, mirrored, residual = best
    # Relative improvement of the best match over the second best; 0 where both misfits vanish, as between circles.
    gained = (2 - residual**2) * margin
    misfit = residual**2 + gained
    distinct = np.where(misfit > _ROUNDING, gained / np.maximum(misfit, _ROUNDING), 0)
    ambiguous = distinct < AMBIGUOUS
    tied = np.flatnonzero(ambiguous & (margin < _TIE_TOLERANCE))
    if len(tied):
        aims = aim[tied] if len(aim) > 1 else aim
        one, other = (_aligned(spectrum[tied], aims, place[tied])[0] for place in places)
        ambiguous[tied] = np.linalg.norm(other - one, axis=-1) > _EQUAL_TOLERANCE * np.linalg.norm(one, axis=-1)
    # R of z -> turn·z, or of z -> turn·z̄ where mirrored, as real matrices.
    sign = np.where(mirrored, -1.0, 1.0)
    rotation = np.stack([turn.real, -turn.imag * sign, turn.imag, turn.real * sign], axis=-1).reshape(-1, 2, 2)
    return np.where(against, -shift, shift), rotation, mirrored ^ against, residual, distinct, ambiguous


def _aligned(spectrum: Complex, aim: Complex, place: Index) -> tuple[Complex, Real, Complex, Mask, Real]:
    """Spectra of curves moved to their places in `two_best` and rotated; refined shift, turn, mirrored, residual."""
    moved, shift, residual = np.empty_like(spectrum), np.empty(len(place)), np.empty(len(place))
    turn, mirrored = np.empty(len(place), np.complex128), np.empty(len(place), dtype=bool)
    kernels(__package__).align(spectrum, aim, place, moved, shift, turn, mirrored, residual)
    return moved, shift, turn, mirrored, residual


def shift_scores(spectrum: Complex, aim: Complex, reflections: bool) -> Complex:
    """Score of every whole-sample shift of each curve: (N, 1, n), or (N, 2, n) with the mirror images.

    From the Fourier transforms of the curves and of the targets as complex numbers. Modulus: score at the best
    rotation; angle: that rotation.
    """
    products = np.empty((len(spectrum), 1 + reflections, spectrum.shape[-1]), dtype=np.complex128)
    kernels(__package__).multiply(spectrum, aim, products)
    scores: Complex = scipy.fft.ifft(products, overwrite_x=True)
    return scores


def two_best(waves: Complex) -> tuple[Index, Index, Real]:
    """Positions of the highest and the second highest peak of `shift_scores`, (N,) each, and their distinctness.

    As `way · n + shift`. Neighbors of the best shift do not count as separate matches. Distinctness is 1 - (second) /
    (first) of the scores themselves, with peaks interpolated between samples.
    """
    count = len(waves)
    first, second, margin = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    kernels(__package__).two_best(waves, first, second, margin)
    return first, second, margin


def distinctness(landmarks: Real, *, reflections: bool = True) -> Real:
    """Measure how clearly each curve matches itself in a single position: 0 for a symmetric curve.

    Parameters
    ----------
    landmarks : (N, n, 2) array
        Landmarks at equal weights.
    reflections : bool
        Include matches with the mirror image.

    Returns
    -------
    (N,) array
        1 - (second highest peak of the score) / (highest): 0 for a symmetric curve, such as an ellipse; larger values
        make better archetypes.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.registration import distinctness
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> ellipse, comma = circle * [1, 2], circle * (1 + 0.5 * np.cos(angle + 1) ** 3)[:, None] * [1, 2]
    >>> distinctness(np.stack([ellipse, comma])).round(3)
    array([0.   , 0.019])
    """
    check_landmarks(landmarks)
    switch(reflections, "reflections")
    return distinct_and_levels(planes(landmarks), reflections)[0]


def choose_archetype(preshapes: Real, choice: Choice, *, reflections: bool = True, seed: int = 0) -> Real:
    """Choose or compute the archetype of an ensemble.

    Parameters
    ----------
    preshapes : (N, n, 2) array
        Curves to be registered: landmarks, or their undulations.
    choice : {"asymmetric", "random", "mean"} or int
        Of the half of the curves with the most usual lobes, the one whose best match with itself is most distinct from
        the second best, so that no outlier turns all others; a seeded draw (as in the paper); the converged mean of the
        registered curves; or the curve of that index.
    reflections : bool
        Whether registration tries mirror images.
    seed : int
        Seed of the random draw.

    Returns
    -------
    (n, 2) array
        Centered, in a canonical pose: see `posed`.

    Raises
    ------
    ValueError
        For an unknown choice or an index outside the ensemble.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> from napari_shape_ensembles.shapes.registration import choose_archetype
    >>> curves = draw_forms(np.random.default_rng(0), 5, roughness=0.03, waves=(6, 10))
    >>> archetype = choose_archetype(curves, "asymmetric")
    >>> archetype.shape, bool(np.allclose(archetype.mean(axis=0), 0))
    ((256, 2), True)
    """
    if choice == "mean":
        start, points = choose_archetype(preshapes, "asymmetric", reflections=reflections), planes(preshapes)
        match = partial(match_spectra, lambda part: points[part], len(points), reflections=reflections)
        return mean_archetype(lambda **aim: [match(**aim)], start)
    return posed(preshapes[archetype_index(preshapes, choice, reflections=reflections, seed=seed)], reflections)


def posed(curve: Real, reflections: bool = True) -> Real:
    """Rotate a curve (n, 2) to a canonical pose, so that coordinates do not depend on its orientation in the image.

    As complex numbers, Σ|z|²z is made real and positive; where mirror images count as the same, the curve is also
    mirrored, and traversed backwards, if Σz³ has a negative imaginary part.
    """
    z = curve[:, 0] + 1j * curve[:, 1]
    z = z - z.mean()
    heading = (np.abs(z) ** 2 * z).sum()
    z = z * np.exp(-1j * np.angle(heading))
    if reflections and (z**3).sum().imag < 0:
        z = np.roll(z[::-1], 1).conj()
    return np.stack([z.real, z.imag], axis=-1)


def archetype_index(preshapes: Real, choice: Choice, *, reflections: bool = True, seed: int = 0) -> int:
    """Index of the archetype within the ensemble; for `"mean"`, of the initial curve."""
    if choice in ("asymmetric", "mean"):
        check_landmarks(preshapes)
        return least_symmetric(*distinct_and_levels(planes(preshapes), switch(reflections, "reflections")))
    if choice == "random":
        return int(np.random.default_rng(seed).integers(len(preshapes)))
    if isinstance(choice, str):
        raise ValueError(f'archetype must be "asymmetric", "random", "mean" or the index of a curve, not {choice!r}')
    if not 0 <= choice < len(preshapes):
        raise ValueError(f"archetype {choice}: there are curves 0 to {len(preshapes) - 1}, A's first")
    return int(choice)


def distinct_and_levels(points: Real, reflections: bool) -> tuple[Real, Real]:
    """Distinctness of curves (N, 2, n), and logarithms (N, b) of the amplitudes of their lobes in bands.

    Neither depends on the registration.
    """

    def of_block(part: slice) -> tuple[Real, Real]:
        spectrum, _ = _transformed(points[part], np.zeros(1))
        return two_best(shift_scores(spectrum, spectrum, reflections))[2], _lobe_levels(spectrum)

    found = over_blocks(of_block, list(curve_blocks(len(points))) or [slice(0)])
    distinct, levels = map(np.concatenate, zip(*found, strict=True))
    return distinct, levels


def _lobe_levels(spectrum: Complex) -> Real:
    """Logarithms (N, b) of the amplitudes of bands of lobes, from Fourier transforms of curves in either direction."""
    n, (low, high) = spectrum.shape[-1], np.transpose(BANDS)
    lobes = np.abs(np.rint(np.fft.fftfreq(n, 1 / n)) - 1)
    lobes[LINEAR] = 0
    kept = np.flatnonzero((lobes >= low.min()) & (lobes <= high.max()))
    backwards = (np.abs(spectrum[:, -1]) > np.abs(spectrum[:, 1]))[:, None]
    circle = np.maximum(np.abs(np.where(backwards, spectrum[:, [-1]], spectrum[:, [1]])), np.finfo(float).tiny)
    relative = spectrum[:, kept] / circle
    if backwards.any():
        relative = np.where(backwards, spectrum[:, -kept] / circle, relative)
    power, lobes = relative.real**2 + relative.imag**2, lobes[kept, None]
    return np.log(power @ ((lobes >= low) & (lobes <= high)) + _LEAST_AMPLITUDE**2) / 2


def least_symmetric(distinct: Real, levels: Real) -> int:
    """Index of the most distinct curve among the half that is nearest to the median in the amplitudes of its lobes.

    Of all curves, if those of the half are symmetric. Parameters are those that `distinct_and_levels` returns.
    """
    away = np.abs(levels - np.median(levels, axis=0))
    away = np.linalg.norm(away / np.maximum(np.median(away, axis=0), _LEAST_DEVIATION), axis=1)
    # Copies of one form in other sizes are equal but for rounding: the first of them is chosen on every computer.
    central = np.where(away <= np.median(away) * (1 + _EQUAL_TOLERANCE), distinct, 0)
    score = central if central.max() > _TIE_TOLERANCE else distinct
    return int(np.argmax(score >= score.max() - _EQUAL_TOLERANCE))


def mean_archetype(towards: Callable[..., Sequence[tuple[Complex, Real, Mask]]], start: Real) -> Real:
    """Alternate registration and chordal mean, from a first archetype, until no curve moves by half a sample.

    `towards(aim, direction)` returns `match_spectra` of each chunk of the curves. No iteration can lower the summed
    score, so the shifts converge.
    """
    n, target = len(start), start[:, 0] + 1j * start[:, 1]
    direction = np.atleast_1d(doubled_area(target))
    aim: Complex = scipy.fft.fft(target - target.mean())
    before: tuple[Real, Mask] | None = None
    for _ in range(MAX_ITERATIONS):
        sums, *places = zip(*towards(aim=aim, direction=direction), strict=True)
        shift, mirrored = map(np.concatenate, places)
        if before is not None:
            moved = np.abs((before[0] - shift + n / 2) % n - n / 2)
            if (before[1] == mirrored).all() and (moved < 0.5).all():
                mean = scipy.fft.ifft(aim)
                return np.stack([mean.real, mean.imag], axis=-1)
        before, aim = (shift, mirrored), np.sum(sums, axis=0) * np.sqrt(n) / len(shift)
    raise ValueError(
        f"the mean archetype did not converge in {MAX_ITERATIONS} iterations: "
        'use archetype="asymmetric" for these curves'
    )


def match_spectra(
    of_part: Callable[[slice], Real], count: int, *, aim: Complex, direction: Real, reflections: bool
) -> tuple[Complex, Real, Mask]:
    """Sum of curves (N, 2, n), at unit norm, matched to the spectrum of an archetype; their shifts, and mirrored."""

    def matched(part: slice) -> tuple[Complex, Real, Mask]:
        spectrum = _transformed(of_part(part), direction)[0]
        waves = shift_scores(spectrum, aim[None], reflections)
        best = (waves.real**2 + waves.imag**2).reshape(len(waves), -1).argmax(axis=-1)
        moved, shift, _, mirrored, _ = _aligned(spectrum, aim[None], best)
        return (1 / np.linalg.norm(moved, axis=-1)) @ moved, shift, mirrored

    sums, shifts, mirrored = zip(*over_blocks(matched, list(curve_blocks(count))), strict=True)
    return np.sum(sums, axis=0), np.concatenate(shifts), np.concatenate(mirrored)
