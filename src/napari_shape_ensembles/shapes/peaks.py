"""The best and second best match of a curve among all cyclic shifts, and how far apart they are."""

import numpy as np
import scipy.fft
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
Index = NDArray[np.intp]

# Where the second best match leaves but 2 % more of a misfit than the best, pixel noise decides between them: of
# such outlines a fifth to two fifths chose differently once smoothed, be they grains or nearly round nuclei.
AMBIGUOUS = 0.02
_ROUNDING = 1e-12


def squared_scores(spectrum: Complex, aim: Complex, reflections: bool) -> Real:
    """Squared scores of every whole-sample shift of each curve: (N, 1, n), or (N, 2, n) with the mirror images.

    Parameters
    ----------
    spectrum : (N, n) array
        Fourier transforms of the curves, as complex numbers.
    aim : (n,) or (N, n) array
        Those of what they are matched to.
    reflections : bool
        Also score the mirror images.
    """
    products = np.empty((len(spectrum), 1 + reflections, spectrum.shape[-1]), dtype=np.complex128)
    np.multiply(spectrum, aim.conj(), out=products[:, 0])
    if reflections:
        np.multiply(spectrum, aim, out=products[:, 1])
    score = scipy.fft.ifft(products, overwrite_x=True)
    return score.real**2 + score.imag**2


def two_best(scores: Real) -> tuple[Index, Index, Real]:
    """Places of the highest and the second highest peak, and their distinctness.

    Parameters
    ----------
    scores : (N, ways, n) array
        Squared scores, periodic along the last axis.

    Returns
    -------
    first, second : (N,) int arrays
        As `way · n + shift`. A neighbour of the best shift is no match of its own.
    distinctness : (N,) array
        1 - (second) / (first) of the scores themselves, peaks being interpolated between samples.
    """
    count, n = len(scores), scores.shape[-1]
    peaks = np.where(_is_peak(scores), scores, 0)
    first = peaks.reshape(count, -1).argmax(axis=-1)
    way, shift = np.divmod(first, n)
    peaks[np.arange(count)[:, None], way[:, None], (shift[:, None] + [-1, 0, 1]) % n] = 0
    second = peaks.reshape(count, -1).argmax(axis=-1)
    found = peaks.reshape(count, -1)[np.arange(count), second] > 0
    ratio = np.where(found, _peak_height(scores, second), 0) / _peak_height(scores, first)
    return first, second, 1 - np.sqrt(np.minimum(ratio, 1))


def lead(misfit: Real, margin: Real) -> Real:
    """By what share the best match fits better than the second best.

    Parameters
    ----------
    misfit : (N,) array
        Squared distance of each curve from the target after the best match, both of unit norm.
    margin : (N,) array
        As `two_best` gives it.

    Returns
    -------
    (N,) array
        1 - (best misfit) / (second best misfit), from 0 to 1; 0 where both vanish, as between circles.
    """
    gained = (2 - misfit) * margin
    second = misfit + gained
    return np.where(second > _ROUNDING, gained / np.maximum(second, _ROUNDING), 0)


def _is_peak(scores: Real) -> NDArray[np.bool_]:
    """Whether a sample is as high as both its neighbours around the curve."""
    rises, falls = np.empty(scores.shape, dtype=bool), np.empty(scores.shape, dtype=bool)
    np.greater_equal(scores[..., 1:], scores[..., :-1], out=rises[..., 1:])
    np.greater_equal(scores[..., :-1], scores[..., 1:], out=falls[..., :-1])
    rises[..., 0] = scores[..., 0] >= scores[..., -1]
    falls[..., -1] = scores[..., -1] >= scores[..., 0]
    return rises & falls


def _peak_height(scores: Real, place: Index) -> Real:
    """Height of the parabola through a sample and its two neighbours."""
    count, n = len(scores), scores.shape[-1]
    way, shift = np.divmod(place, n)
    before, at, after = scores[np.arange(count)[:, None], way[:, None], (shift[:, None] + [-1, 0, 1]) % n].T
    bend = 2 * at - before - after
    return at + (after - before) ** 2 / (8 * np.where(bend > 0, bend, np.inf))
