"""Fourier modes of forms, by the number of lobes around the outline.

The form of a curve, without its scale, is a Fourier series of z = row + 1j·column over equal weights. A wave of
harmonic k makes |k - 1| lobes around a circle: 3 lobes are triangular, 4 square, many are roughness. The scale absorbs
the linear part, k = 1 and -1.
"""

from collections.abc import Sequence

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .._types import Complex, Real
from ..compiled import kernels
from ..progress import over_blocks
from .decomposition import curve_blocks, planes

#: Minimum and maximum lobes of the bands of Fourier modes whose amplitudes are compared.
BANDS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 8), (9, 13), (14, 24), (25, 60))

#: Indices of the coefficients of position and linear part: k = 0, 1 and -1.
LINEAR = [0, 1, -1]

# Share of an outline's area that undoing a linear map (the first two), or moving the center, has to gain, over the
# square of the map or of the way: without it, waves of 6 to 9 lobes would be taken for those of another map or center.
_STIFFNESS = 1e-3, 1e-3, 5e-2, 5e-2
# Points around an outline at which its radius is measured: 500 give the same, to 1e-3 in the mean. At the landmarks, if
# these are fewer, sums of the radius would take fine waves for coarse ones.
_AROUND = 256
# Smaller amplitudes are rounding error.
_LEAST_AMPLITUDE = 1e-6
# Of waves around an outline, up to about this many make its bends: finer ones are roughness, and errors of pixels.
_BENDS = 16
# Speed along an outline, relative to a circle's, below which a cusp's bend is not sharper.
_LEAST_SPEED = 0.05

# Shortest wavelength compared, in pixels. Shorter waves are pixel noise, whose amplitude relative to the outline, and
# so its roughness, grows as outlines get smaller.
_PX_PER_WAVE = 8


def lobes_held(around: Real | None) -> float:
    """Largest number of lobes that the pixels resolve in three outlines out of four; infinite without pixels.

    `around` are the perimeters of the outlines in pixels, if known.
    """
    return np.inf if around is None or not len(around) else float(np.quantile(around, 0.25)) / _PX_PER_WAVE - 1


def band_name(first: int, last: int) -> str:
    """Label of a band of lobes."""
    return f"lobes {first}" if first == last else f"lobes {first}-{last}"


def harmonics(undulation: Real) -> tuple[Complex, NDArray[np.intp]]:
    """Fourier coefficients of the forms, and the number of lobes of each.

    Parameters
    ----------
    undulation : (N, n, 2) array
        Orthonormal columns, all traversed in the same direction.

    Returns
    -------
    coefficients : (N, n) complex array
        A circle has one coefficient, of modulus 1.
    lobes : (n,) int array
        |k - 1|; 0 marks the circle itself (k = 1).
    """
    n = undulation.shape[1]
    z = np.empty(undulation.shape[:2], dtype=np.complex128)
    z.real, z.imag = undulation[..., 0], undulation[..., 1]
    z *= np.sqrt(n / 2) / n
    coefficients: Complex = scipy.fft.fft(z, overwrite_x=True)
    k = np.rint(np.fft.fftfreq(n, 1 / n)).astype(int)
    if np.abs(coefficients[:, -1]).sum() > np.abs(coefficients[:, 1]).sum():
        coefficients = coefficients[:, -k % n]  # traversed in the other direction
    return coefficients, np.abs(k - 1)


def band_amplitudes(undulation: Real, bands: Sequence[tuple[int, int]]) -> Real:
    """RMS amplitudes (N, b) of bands of modes, relative to the RMS radius.

    Amplitudes are invariant to an outline's first landmark, its rotation and registration, and to linear maps.

    Parameters
    ----------
    undulation : (N, n, 2) array
        Orthonormal columns, all traversed in the same direction.
    bands : sequence of b pairs of int
        Minimum and maximum lobes of the modes in each band.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes.lobes import band_amplitudes
    >>> u = 2 * np.pi * np.arange(120) / 120
    >>> triangular = np.exp(1j * u) + 0.1 * np.exp(-2j * u)
    >>> undulation, _ = decompose(np.stack([triangular.real, triangular.imag], axis=-1)[None])
    >>> band_amplitudes(undulation, [(1, 2), (3, 3), (4, 20)]).round(3)
    array([[0. , 0.1, 0. ]])
    """

    def of_block(part: slice) -> Real:
        coefficients, lobes = harmonics(undulation[part])
        power = coefficients.real**2 + coefficients.imag**2
        power[:, LINEAR] = 0
        low, high = np.reshape(bands, (-1, 2)).T
        inside = (lobes[:, None] >= low) & (lobes[:, None] <= high)
        return np.sqrt(power @ inside.astype(np.float64))

    return np.concatenate(over_blocks(of_block, list(curve_blocks(len(undulation))) or [slice(0)]))


def coarse_waves(undulation: Real, most: int) -> Complex:
    """Coefficients (N, 2 most - 2) of the waves of up to `most` lobes, which do not depend on finer waves.

    Parameters
    ----------
    undulation : (N, n, 2) array
        Orthonormal columns, all traversed in the same direction.
    most : int

    Returns
    -------
    complex array
        Of harmonics 1 - `most` to 1 + `most` without the linear part, relative to the RMS radius; 0 for those that n
        landmarks do not resolve. Their moduli are invariant to an outline's first landmark, its rotation and
        registration, and to linear maps.

    Notes
    -----
    Along the arc length of an outline, fine waves of neighboring frequencies add up to coarse ones, as they slow the
    point that follows them: waves of 7 to 14 lobes that are 1.6 times as high make the coarse lobes seem 1.13 times as
    high. Therefore the outline is followed by the arc length that it has without its finer waves.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes.lobes import coarse_waves
    >>> u = 2 * np.pi * np.arange(120) / 120
    >>> triangular = np.exp(1j * u) + 0.1 * np.exp(-2j * u)
    >>> undulation, _ = decompose(np.stack([triangular.real, triangular.imag], axis=-1)[None])
    >>> np.linalg.norm(coarse_waves(undulation, 4), axis=1).round(2)
    array([0.07])
    """

    def of_block(part: slice) -> Complex:
        coefficients, lobes = harmonics(undulation[part])
        n = coefficients.shape[1]
        k = np.rint(np.fft.fftfreq(n, 1 / n)).astype(int)
        z = scipy.fft.ifft(coefficients) * n
        speed = np.abs(scipy.fft.ifft(1j * k * np.where(lobes <= most, coefficients, 0)))
        speed /= np.maximum(speed.mean(axis=1, keepdims=True), np.finfo(float).tiny)
        along = scipy.fft.fft(speed) / np.where(k, 1j * k, 1)  # its integral, the arc length
        along[:, 0] = 0
        turn = np.exp(-1j * (2 * np.pi * np.arange(n) / n + scipy.fft.ifft(along).real))
        power = (np.abs(z) ** 2 * speed).mean(axis=1) - np.abs((z * speed).mean(axis=1)) ** 2
        found, z = [], z * speed * turn ** (1 - most)
        for harmonic in range(1 - most, most + 2):
            if harmonic not in LINEAR:
                found.append(z.mean(axis=1) * (abs(harmonic) < n / 2))
            z *= turn
        waves: Complex = np.stack(found, axis=1) / np.sqrt(power)[:, None]
        return waves

    return np.concatenate(over_blocks(of_block, list(curve_blocks(len(undulation))) or [slice(0)]))


def fine_amplitude(undulation: Real, most: int) -> Real:
    """RMS amplitude (N,) of waves of more than `most` lobes, relative to the radius, of which coarse lobes make few.

    Parameters
    ----------
    undulation : (N, n, 2) array
        Orthonormal columns, all traversed in the same direction.
    most : int

    Returns
    -------
    (N,) array
        Invariant to an outline's first landmark, its rotation and registration, and to linear maps.

    Notes
    -----
    Along the arc length of a standardized outline, lobes make finer waves, whose amplitudes grow with the square of
    theirs: 2 to 5 lobes that are half as high again make the waves above them seem 1.2 times as high. The radius of an
    outline by the direction from its center has no finer waves than its lobes, except those of standardizing: an
    outline z of k lobes has k + 2 of them as well after a linear map, z + b·conj(z); and k + 1 from another center.
    Therefore that linear map is undone, and that center taken, which leave the least of the waves just above the coarse
    ones, by two Gauss-Newton steps, and the amplitude squared is the share of the area that coarse waves of the radius
    do not make. The radius of bent outlines, which a ray leaves more than once, has many fine waves: theirs are fewer
    along the arc length, and the smaller amplitude of both is the outline's.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes.lobes import fine_amplitude
    >>> u = 2 * np.pi * np.arange(240) / 240
    >>> lobed = (1 + 0.1 * np.cos(2 * u) + 0.1 * np.cos(5 * u)) * np.exp(1j * u)
    >>> rough = lobed + 0.02 * np.cos(12 * u) * np.exp(1j * u)
    >>> undulation, _ = decompose(np.stack([[z.real, z.imag] for z in (lobed, rough)]).swapaxes(1, 2))
    >>> fine_amplitude(undulation, 5).round(3)
    array([0.   , 0.014])
    """

    def of_block(part: slice) -> Real:
        coefficients, lobes = harmonics(undulation[part])
        along = (np.abs(coefficients[:, lobes > most]) ** 2).sum(axis=1)
        half, n = (min(coefficients.shape[1], _AROUND + 1) - 1) // 2, _AROUND
        coefficients, given = np.zeros((len(coefficients), n), dtype=np.complex128), coefficients
        coefficients[:, : half + 1], coefficients[:, -half:] = given[:, : half + 1], given[:, -half:]
        z = scipy.fft.ifft(coefficients) * n
        slope = scipy.fft.ifft(1j * np.rint(np.fft.fftfreq(n, 1 / n)) * coefficients) * n
        k = np.arange(most + 1, most + 5)  # to which two steps reach
        for _ in range(2):
            area = (z.conj() * slope).imag.mean(axis=1)
            radius = np.maximum(np.abs(z), np.finfo(float).tiny)
            toward, along_radius = z.conj() / radius, slope / radius
            w = np.empty((len(z), k[-1] + 3), dtype=np.complex128)
            moved = np.empty((len(z), 2, len(k)), dtype=np.complex128)
            turned, power = (toward * slope).imag, np.ones_like(toward)  # the radius is integrated over the first
            for wave in range(w.shape[1]):
                w[:, wave] = np.einsum("ij,ij->i", power, turned) / n
                if k[0] <= wave <= k[-1]:  # by how much c = 1 and c = 1j change the waves k of z + c
                    moved[:, 0, wave - k[0]] = np.einsum("ij,ij->i", power, along_radius.imag) / n
                    moved[:, 1, wave - k[0]] = -np.einsum("ij,ij->i", power, along_radius.real) / n
                power *= toward
            # By how much b = 1 and b = 1j change the waves k of z + b·conj(z).
            up, down = (k - 1) / 2 * w[:, k - 2], -(k + 1) / 2 * w[:, k + 2]
            change = np.concatenate([np.stack([up + down, 1j * (down - up)], axis=1), moved], axis=1)
            gram = (change @ change.conj().swapaxes(1, 2)).real + area[:, None, None] * np.diag(_STIFFNESS)
            b = np.linalg.solve(gram, (change.conj() @ w[:, k, None]).real)
            left = w[:, k] - (change * b).sum(axis=1)
            shear, shift = b[:, :1, 0] + 1j * b[:, 1:2, 0], b[:, 2:3, 0] + 1j * b[:, 3:, 0]
            z, slope = z - shear * z.conj() - shift, slope - shear * slope.conj()
        squares = np.abs(w) ** 2
        squares[:, k] -= np.abs(left) ** 2
        coarse = squares[:, 0] + 2 * squares[:, 1 : k[-1] + 1].sum(axis=1)
        # More than the area only if an outline crosses itself, or by rounding.
        share = np.where(coarse < area, 1 - coarse / np.maximum(area, coarse), along)
        amplitude: Real = np.sqrt(np.maximum(np.minimum(share, along), _LEAST_AMPLITUDE**2))
        return amplitude

    return np.concatenate(over_blocks(of_block, list(curve_blocks(len(undulation))) or [slice(0)]))


def sharpest_bends(undulation: Real) -> Real:
    """Curvatures (N, 2) at the sharpest bends outward and inward, times the RMS radius: 1 and 0 for a circle.

    A corner, a spike or a cut is where waves of all numbers of lobes meet in phase. Their amplitudes do not tell it
    from waves all around the outline; its bend does.

    Parameters
    ----------
    undulation : (N, n, 2) array
        Orthonormal columns, all traversed in the same direction.

    Returns
    -------
    (N, 2) array
        Of outlines without waves finer than about 16 around them. Invariant to an outline's first landmark, its
        rotation and registration, and to linear maps.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes.lobes import sharpest_bends
    >>> u = 2 * np.pi * np.arange(240) / 240
    >>> circle, notched = np.ones(240), 1 - 0.3 * np.exp(-((u - 3) ** 2) / 0.02)
    >>> curves = np.stack([np.stack([r * np.cos(u), r * np.sin(u)], axis=1) for r in (circle, notched)])
    >>> sharpest_bends(decompose(curves)[0]).round(1)
    array([[ 1. ,  0. ],
           [ 5.7, 15. ]])
    """

    def of_block(part: slice) -> Real:
        coefficients, _ = harmonics(undulation[part])
        n = coefficients.shape[1]
        k = np.rint(np.fft.fftfreq(n, 1 / n))
        coefficients *= np.exp(-np.square(k / _BENDS))
        slope, bend = (scipy.fft.ifft((1j * k) ** order * coefficients) * n for order in (1, 2))
        curvature = (slope.conj() * bend).imag / np.maximum(np.abs(slope), _LEAST_SPEED) ** 3
        return np.stack([curvature.max(axis=1), np.maximum(-curvature.min(axis=1), 0)], axis=1)

    return np.concatenate(over_blocks(of_block, list(curve_blocks(len(undulation))) or [slice(0)]))


def without_finer_waves(undulation: Real, lobes: float) -> Real:
    """Forms (N, n, 2), traversed in either direction, without the waves that pixels do not resolve.

    Outlines are smoothed along their length by a Gaussian filter that leaves 1/e of a wave of this many periods.
    Unlike a sharp limit, it makes no concavity: convex outlines stay convex.
    """

    def of_block(part: slice) -> Real:
        coefficients = scipy.fft.rfft(undulation[part], axis=1)
        coefficients *= np.exp(-np.square(np.arange(coefficients.shape[1]) / lobes))[:, None]
        smooth: Real = scipy.fft.irfft(coefficients, undulation.shape[1], axis=1, overwrite_x=True)
        return smooth

    return np.concatenate(over_blocks(of_block, list(curve_blocks(len(undulation))) or [slice(0)]))


def hull_measures(curves: Real) -> Real:
    """Area, area of the convex hull, and perimeter of closed curves (N, n, 2): (N, 3)."""
    points = planes(curves)
    measures = np.empty((len(points), 3))
    kernel = kernels(__package__).hull_measures
    over_blocks(lambda part: kernel(points[part], measures[part]), curve_blocks(len(points)))
    return measures
