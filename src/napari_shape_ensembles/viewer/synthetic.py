"""Synthetic micrographs whose outlines follow a known distribution; pure NumPy, SciPy and scikit-image.

An outline is drawn in two independent halves, as the method takes it apart: a *form* of unit second
moment (its undulation) and a symmetric positive matrix P (its scale), multiplied. Everything that is not shape
(grey levels, texture, debris, light, blur, noise) comes from the same distribution in every image, so
that two images of a pair differ in nothing but the outlines.

Lengths are in pixels, coordinates in (row, column) order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft2, rfft2
from scipy.ndimage import distance_transform_edt, gaussian_filter
from scipy.spatial import KDTree
from skimage.draw import disk, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SUPERSAMPLING = 3
PLACEMENT_TRIALS = 2000


# ---------------------------------------------------------------------------------------------- outlines


def draw_forms(
    rng: Generator, count: int, *, roughness: float, waves: tuple[int, int], vertices: int = 256
) -> Floats:
    """Draw outlines of unit second moment: what is left of a shape when its scale is taken away.

    The radius of an outline is a random Fourier series in the polar angle: a coarse form (harmonics 2 to
    5), the same for every `roughness`, and fine waves (harmonics 6 to 24) of the given RMS amplitude.

    Parameters
    ----------
    rng
        Source of randomness.
    count
        Number N of outlines.
    roughness
        RMS amplitude of the fine waves, relative to the mean radius.
    vertices
        Number m of vertices on each outline.

    Returns
    -------
    (N, m, 2) array
        Closed outlines (first vertex not repeated) with second moment 1 under the affine measure.
    """
    k = np.arange(1, waves[1] + 1)
    coarse = np.where((k >= 2) & (k <= 5), k**-1.5, 0)
    fine = np.where(k >= waves[0], k**-0.5, 0)
    amplitude = 0.075 * _unit(coarse) + roughness * _unit(fine)
    phases = rng.standard_normal((2, count, k.size))
    series = np.pad((phases[0] + 1j * phases[1]) * amplitude / 2, ((0, 0), (1, 0)))
    radius = 1 + np.fft.irfft(series, vertices, norm="forward")
    angle = 2 * np.pi * np.arange(vertices) / vertices
    return whiten(radius[..., None] * np.stack([np.sin(angle), np.cos(angle)], axis=-1))


def _unit(amplitude: Floats) -> Floats:
    # So that the series has RMS 1 with complex standard normal coefficients halved.
    return amplitude / np.sqrt(np.sum(amplitude**2))


def whiten(outlines: Floats, rounds: int = 12) -> Floats:
    """Divide each outline by its own scale, measured as the analysis does by default.

    That is the fixed point of "divide by the root of the second moment, measure arc length again": afterwards
    the second moment of arc length along the outline is the identity, whatever its roughness. The
    iteration contracts by about 0.2 a round.

    Parameters
    ----------
    outlines
        (N, m, 2) closed polygons.
    rounds
        Number of iterations.

    Returns
    -------
    (N, m, 2) array
        The outlines, centred, each times a symmetric matrix.
    """
    for _ in range(rounds):
        mean, moment = _moments(outlines)
        values, vectors = np.linalg.eigh(moment)
        outlines = (outlines - mean) @ (vectors / np.sqrt(values)[:, None, :] @ vectors.swapaxes(1, 2))
    return outlines


def _moments(outlines: Floats) -> tuple[Floats, Floats]:
    # Exact for polygons: an edge from p to q has second moment (pp' + qq' + (pq' + qp')/2) / 3 per length.
    p, q = outlines, np.roll(outlines, -1, axis=1)
    length = np.linalg.norm(q - p, axis=-1)
    weight = (length / length.sum(axis=1, keepdims=True))[..., None]
    mean = np.sum(weight * (p + q) / 2, axis=1, keepdims=True)
    p, q = p - mean, q - mean
    cross = (weight * p).swapaxes(1, 2) @ q
    square = (weight * p).swapaxes(1, 2) @ p + (weight * q).swapaxes(1, 2) @ q
    return mean, (square + (cross + cross.swapaxes(1, 2)) / 2) / 3


def draw_scales(
    rng: Generator, count: int, *, size: float, spread: float, elongation: float, variation: float
) -> Floats:
    """Draw scales: symmetric positive matrices with log-normal size and elongation, in any direction.

    Parameters
    ----------
    rng
        Source of randomness.
    count
        Number N of matrices.
    size, spread
        Median of the geometric mean of the two RMS extents, in pixels, and its standard deviation in log.
    elongation, variation
        Median ratio of the two RMS extents, and its standard deviation in log.

    Returns
    -------
    (N, 2, 2) array
    """
    sizes = size * np.exp(spread * rng.standard_normal(count))
    ratio = elongation * np.exp(variation * rng.standard_normal(count))
    angle = rng.uniform(0, np.pi, count)
    axes = np.stack([np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], 1)
    extents = np.stack([sizes * np.sqrt(ratio), sizes / np.sqrt(ratio)], axis=-1)
    return np.asarray(axes * extents[:, None, :] @ axes.swapaxes(1, 2))


# ------------------------------------------------------------------------------------------------ scenes


def scatter(
    rng: Generator, outlines: Floats, shape: tuple[int, int], *, gap: int = 7
) -> tuple[Floats, NDArray[np.int32]]:
    """Put outlines at random places where they do not touch, the largest first.

    Parameters
    ----------
    rng
        Source of randomness.
    outlines
        (N, m, 2) outlines around the origin.
    shape
        Rows and columns of the scene. Outlines may be cut by its border.
    gap
        Least distance between two outlines.

    Returns
    -------
    coverage, labels
        The share of every pixel that an object covers, and the nearest object's number from 1 on (0 = none).
    """
    extent = np.ptp(outlines, axis=1)
    pad = int(extent.max()) + 2 * gap
    coverage = np.zeros((shape[0] + 2 * pad, shape[1] + 2 * pad))
    labels = np.zeros(coverage.shape, np.int32)
    for i in np.argsort(-extent.prod(axis=1)):
        stamp = _stamp(outlines[i], gap)
        zone = gaussian_filter(stamp, gap / 2, truncate=2) > 1e-6
        window = _free_window(rng, zone, labels)
        if window is not None:
            coverage[window] += stamp
            labels[window][stamp > 0] = i + 1
    inner = (slice(pad, -pad), slice(pad, -pad))
    return coverage[inner], labels[inner]


def _free_window(rng: Generator, zone: NDArray[np.bool_], labels: NDArray[np.int32]) -> tuple[slice, slice] | None:
    room = np.array(labels.shape) - zone.shape
    for row, column in rng.integers(0, room, (PLACEMENT_TRIALS, 2)):
        window = (slice(row, row + zone.shape[0]), slice(column, column + zone.shape[1]))
        if not labels[window][zone].any():
            return window
    return None


def _stamp(outline: Floats, margin: int) -> Floats:
    # The outline is star-shaped around the origin, so a point is inside when it is nearer than the outline
    # in its direction.
    s = SUPERSAMPLING
    corner = np.floor(outline.min(axis=0)) - margin
    size = (np.ceil(outline.max(axis=0)) - corner).astype(int) + margin
    rows, columns = (c + (np.arange(m * s) + 0.5) / s - 0.5 for c, m in zip(corner, size, strict=True))
    reach = np.interp(
        np.arctan2(rows[:, None], columns[None, :]),
        np.arctan2(outline[:, 0], outline[:, 1]),
        np.linalg.norm(outline, axis=1),
        period=2 * np.pi,
    )
    inside = np.hypot(rows[:, None], columns[None, :]) < reach
    return np.asarray(inside.reshape(size[0], s, size[1], s).mean(axis=(1, 3)))


def random_field(
    rng: Generator, shape: tuple[int, int], *, wavelength: float, slope: float, stretch: Sequence[float] = (1, 1)
) -> Floats:
    """Draw a random field of mean 0 and variance 1 without detail finer than its power law allows.

    Parameters
    ----------
    rng
        Source of randomness.
    shape
        Rows and columns.
    wavelength
        Waves longer than this are equally strong, in pixels.
    slope
        Shorter waves of frequency f fade as f to the power of minus this.
    stretch
        Factors by which the field is stretched along rows and columns.

    Returns
    -------
    (rows, columns) array
    """
    rows = np.fft.fftfreq(shape[0])[:, None] * stretch[0] * wavelength
    columns = np.fft.rfftfreq(shape[1])[None, :] * stretch[1] * wavelength
    fade = (1 + rows**2 + columns**2) ** (-slope / 2)
    fade[0, 0] = 0
    field = irfft2(rfft2(rng.standard_normal(shape)) * fade, shape)
    return np.asarray(field / field.std())


def _seeds(rng: Generator, extent: Floats, spacing: float) -> Floats:
    # Hard-core points: uniform, none closer than 0.65 of the mean spacing.
    wanted = int(extent.prod() / spacing**2)
    chosen = np.full((wanted, 2), np.inf)
    found = 0
    while found < wanted:
        candidate = rng.random(2) * extent
        if np.sum((chosen[:found] - candidate) ** 2, axis=1).min(initial=np.inf) > (0.65 * spacing) ** 2:
            chosen[found] = candidate
            found += 1
    return chosen


def tile(
    rng: Generator, shape: tuple[int, int], *, spacing: float, stretch: Sequence[float] = (1, 1)
) -> tuple[Floats, NDArray[np.intp]]:
    """Tile a scene with grains that have wavy boundaries, then stretch the tiling.

    Parameters
    ----------
    rng
        Source of randomness.
    shape
        Rows and columns of the scene.
    spacing
        Square root of the mean area of a grain before stretching.
    stretch
        Factors along rows and columns.

    Returns
    -------
    distance, grain
        Each pixel's distance from the nearest boundary, and its grain's number.
    """
    factors = np.asarray(stretch, dtype=float)
    margin = 2 * spacing
    seeds = _seeds(rng, np.array(shape) / factors + 2 * margin, spacing) - margin
    wave = [random_field(rng, shape, wavelength=40, slope=3.2, stretch=stretch) for _ in range(2)]
    place = np.stack(np.indices(shape), axis=-1) / factors + 0.05 * spacing * np.stack(wave, axis=-1)
    near, index = KDTree(seeds).query(place, k=3)
    step = seeds[index[..., 1:]] - seeds[index[..., :1]]
    # (d₂² − d₁²) / 2|s₂ − s₁| is the distance from the bisector before stretching, along s₂ − s₁.
    distance = (near[..., 1:] ** 2 - near[..., :1] ** 2) / (2 * np.linalg.norm(step / factors, axis=-1))
    return distance.min(axis=-1), index[..., 0]


# ----------------------------------------------------------------------------------------------- looks


def etch(rng: Generator, distance: Floats, grain: NDArray[np.intp]) -> Floats:
    """Make a tiling look like a polished and etched section: grey grains, dark boundaries, pits, scratches.

    Parameters
    ----------
    rng
        Source of randomness.
    distance, grain
        As from `tile`.

    Returns
    -------
    (rows, columns) array
        Reflected light between 0 and 1.
    """
    tone = np.clip(rng.normal(0.74, 0.05, grain.max() + 1), 0.66, 0.84)[grain]
    tone += 0.02 * random_field(rng, grain.shape, wavelength=6, slope=2)
    scratch = np.zeros(grain.shape)
    for _ in range(12):
        _draw_scratch(rng, scratch)
    pits = _specks(rng, grain.shape, count=60, radius=(1.0, 2.2))
    groove = 0.7 * np.exp(-((distance / 2.6) ** 4))
    return np.asarray((tone - 0.07 * gaussian_filter(scratch, 0.7)) * (1 - groove) * (1 - 0.7 * pits))


def fluoresce(rng: Generator, coverage: Floats, labels: NDArray[np.int32]) -> Floats:
    """Make objects look like stained cells: bright, mottled, on a dim background with out-of-focus haze.

    Parameters
    ----------
    rng
        Source of randomness.
    coverage, labels
        As from `scatter`.

    Returns
    -------
    (rows, columns) array
        Emitted light between 0 and about 1.
    """
    stain = np.clip(rng.normal(0.7, 0.08, labels.max() + 1), 0.5, 0.9)[labels]
    mottle = 1 + 0.09 * random_field(rng, labels.shape, wavelength=9, slope=2.5)
    haze = 0.08 * gaussian_filter(coverage, 14) + 0.012 * random_field(rng, labels.shape, wavelength=60, slope=3)
    debris = _specks(rng, labels.shape, count=40, radius=(0.6, 1.3))
    return np.asarray(0.07 + haze + coverage * stain * mottle + 0.5 * debris)


def scan(rng: Generator, coverage: Floats, labels: NDArray[np.int32]) -> Floats:
    """Make objects look like particles under a scanning electron microscope: bright rims on a rough ground.

    Parameters
    ----------
    rng
        Source of randomness.
    coverage, labels
        As from `scatter`.

    Returns
    -------
    (rows, columns) array
        Secondary electrons between 0 and about 1.
    """
    depth = distance_transform_edt(coverage > 0.5)
    slope_down, slope_right = np.gradient(gaussian_filter(np.sqrt(depth), 1.5))
    relief = 0.04 * random_field(rng, labels.shape, wavelength=12, slope=2.5) - 0.35 * (slope_down + slope_right)
    tone = np.clip(rng.normal(0.56, 0.03, labels.max() + 1), 0.48, 0.64)[labels]
    particle = tone + relief + 0.25 * np.exp(-depth / 1.5)
    shadow = 1 - 0.5 * gaussian_filter(np.roll(coverage, (4, 4), axis=(0, 1)), 5)
    ground = 0.22 + 0.03 * random_field(rng, labels.shape, wavelength=5, slope=2)
    debris = _specks(rng, labels.shape, count=60, radius=(0.6, 1.3))
    return np.asarray(coverage * particle + (1 - coverage) * (ground * shadow + 0.4 * debris))


def _specks(rng: Generator, shape: tuple[int, ...], *, count: int, radius: tuple[float, float]) -> Floats:
    specks = np.zeros(shape)
    for row, column, size in zip(rng.random(count), rng.random(count), rng.uniform(*radius, count), strict=True):
        specks[disk((row * shape[0], column * shape[1]), size, shape=shape)] = 1
    return specks


def _draw_scratch(rng: Generator, canvas: Floats) -> None:
    start = rng.random(2) * canvas.shape
    angle = rng.normal(0.6, 0.25)
    end = start + rng.uniform(80, 500) * np.array([np.sin(angle), np.cos(angle)])
    rows, columns = line(*start.astype(int), *end.astype(int))
    inside = (rows < canvas.shape[0]) & (columns < canvas.shape[1])
    canvas[rows[inside], columns[inside]] = rng.uniform(0.3, 1)


def expose(
    rng: Generator, scene: Floats, *, blur: float, photons: float, read_noise: float, shading: float
) -> NDArray[np.uint16]:
    """Take a picture of a scene: uneven light, blur, photon noise, read noise, 12-bit counts.

    Parameters
    ----------
    rng
        Source of randomness.
    scene
        (rows, columns) light, between 0 and about 1.
    blur
        Standard deviation of the point spread function, in pixels.
    photons
        Photons of a pixel of light 1.
    read_noise
        Standard deviation of the camera's own noise, in photons.
    shading
        Loss of light from the brightest place to the corners, as a share.

    Returns
    -------
    (rows, columns) array
        Counts from 0 to 4095; light 1 is 3400 counts.
    """
    rows, columns = (np.linspace(-1, 1, size) for size in scene.shape)
    centre = rng.uniform(-0.35, 0.35, 2)
    off = (rows[:, None] - centre[0]) ** 2 + (columns[None, :] - centre[1]) ** 2
    seen = gaussian_filter(scene * (1 - shading * off / 2), blur).clip(0)
    detected = rng.poisson(seen * photons) + rng.normal(0, read_noise, scene.shape)
    return (100 + detected * (3400 / photons)).clip(0, 4095).astype(np.uint16)
