"""Synthetic micrographs whose outlines follow a known distribution.

An outline is drawn as two independent factors, like the decomposition in the method: a *form* of unit second moment
(its undulation) times a symmetric positive definite matrix P (its scale). Everything else (gray levels, texture,
debris, illumination, blur, noise) follows one distribution in all images of a kind, so that the images of a pair differ
only in their outlines.

Lengths are in pixels, coordinates in (row, column) order, and `rng` is the source of all randomness.
"""

from __future__ import annotations

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
PLACEMENT_TRIALS = 5_000
JITTER = 0.22


# ---------------------------------------------------------------------------------------------- outlines


def draw_forms(
    rng: Generator,
    count: int,
    *,
    roughness: float,
    waves: tuple[int, int],
    coarse: float = 0.075,
    vertices: int = 256,
) -> Floats:
    """Draw outlines of unit second moment: shapes with their scale removed.

    The radius is a random Fourier series in the polar angle: a coarse form (harmonics 2 to 5) and fine waves.

    Parameters
    ----------
    rng : Generator
    count : int
        Number N of outlines.
    roughness : float
        RMS amplitude of the fine waves, relative to the mean radius.
    waves : (int, int)
        First and last number of fine waves around the outline.
    coarse : float
        RMS amplitude of the coarse form, relative to the mean radius.
    vertices : int
        Number m of vertices on each outline.

    Returns
    -------
    (N, m, 2) array
        Closed outlines, first vertex not repeated, whitened by `whiten`.
    """
    k = np.arange(1, waves[1] + 1)
    lobes = np.where((k >= 2) & (k <= 5), k**-1.5, 0)
    fine = np.where(k >= waves[0], k**-0.5, 0)
    amplitude = coarse * lobes / np.linalg.norm(lobes) + roughness * fine / np.linalg.norm(fine)
    real, imaginary = rng.standard_normal((2, count, k.size))
    series = np.pad((real + 1j * imaginary) * amplitude / 2, ((0, 0), (1, 0)))
    radius = 1 + np.fft.irfft(series, vertices, norm="forward")
    angle = 2 * np.pi * np.arange(vertices) / vertices
    return whiten(radius[..., None] * np.stack([np.sin(angle), np.cos(angle)], axis=-1))


def whiten(outlines: Floats, rounds: int = 12) -> Floats:
    """Divide each closed outline by its own scale, measured as in a comparison with default settings.

    This is the fixed point of "divide by the root of the second moment, remeasure arc length": afterwards the second
    moment of arc length along the outline is the identity, however rough it is. Otherwise a rougher outline would have
    a different scale. Each round reduces the error to about a fifth.
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
    mixed = (weight * p).swapaxes(1, 2) @ q
    squares = (weight * p).swapaxes(1, 2) @ p + (weight * q).swapaxes(1, 2) @ q
    return mean, (squares + (mixed + mixed.swapaxes(1, 2)) / 2) / 3


def draw_scales(rng: Generator, count: int, *, size: float, spread: float, elongation: float) -> Floats:
    """Draw scales of log-normal size and elongation, with random orientation.

    Parameters
    ----------
    rng : Generator
    count : int
        Number N of matrices.
    size : float
        Median of the geometric mean of the two RMS extents (a circle of radius ρ has ρ/√2 twice).
    spread : float
        Standard deviation of the logarithms of size and of elongation.
    elongation : float
        Median ratio of the two RMS extents.

    Returns
    -------
    (N, 2, 2) array
        Symmetric positive definite; an outline τ of unit scale becomes τP.
    """
    sizes, ratios = np.exp(spread * rng.standard_normal((2, count))) * [[size], [elongation]]
    angle = rng.uniform(0, np.pi, count)
    axes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    extents = np.stack([sizes * np.sqrt(ratios), sizes / np.sqrt(ratios)], axis=-1)
    return np.asarray(axes * extents[:, None, :] @ axes.swapaxes(1, 2))


# ------------------------------------------------------------------------------------------------ scenes


def scatter(
    rng: Generator, outlines: Floats, shape: tuple[int, int], *, gap: int = 6
) -> tuple[Floats, NDArray[np.int32]]:
    """Place outlines at random, non-touching positions, the largest first.

    Parameters
    ----------
    rng : Generator
    outlines : (N, m, 2) array
        Star-shaped outlines around the origin.
    shape : (int, int)
        Rows and columns of the scene; its border crops outlines.
    gap : int
        Minimum distance between two outlines.

    Returns
    -------
    coverage, labels : (rows, columns) arrays
        Fraction of each pixel that an object covers, and the number of that object, from 1; 0 is background.

    Raises
    ------
    ValueError
        If the outlines do not fit into the scene.
    """
    extent = np.ptp(outlines, axis=1)
    pad = int(extent.max()) + 2 * gap
    coverage = np.zeros((shape[0] + 2 * pad, shape[1] + 2 * pad))
    labels = np.zeros(coverage.shape, np.int32)
    for i in np.argsort(-extent.prod(axis=1)):
        stamp = _stamp(outlines[i], gap)
        window = _free_window(rng, distance_transform_edt(stamp == 0) <= gap, labels)
        coverage[window] += stamp
        labels[window][stamp > 0] = i + 1
    inner = (slice(pad, -pad), slice(pad, -pad))
    return coverage[inner], labels[inner]


def _free_window(rng: Generator, zone: NDArray[np.bool_], labels: NDArray[np.int32]) -> tuple[slice, slice]:
    """Find a window whose zone is free."""
    places = rng.integers(0, np.subtract(labels.shape, zone.shape), (PLACEMENT_TRIALS, 2))
    # Test a few pixels of the zone first: in a full scene these reject nearly all windows.
    few = np.argwhere(zone)[:: np.count_nonzero(zone) // 16 + 1]
    for tried in places.reshape(-1, 50, 2):
        taken = labels[tried[:, :1] + few[:, 0], tried[:, 1:] + few[:, 1]].any(axis=1)
        for row, column in tried[~taken]:
            window = (slice(row, row + zone.shape[0]), slice(column, column + zone.shape[1]))
            if not labels[window][zone].any():
                return window
    raise ValueError(f"no room left in a scene of {labels.shape} pixels: put fewer or smaller objects in it")


def _stamp(outline: Floats, margin: int) -> Floats:
    """Return the pixel coverage around one outline: inside, the radius is below that of the outline."""
    s = SUPERSAMPLING
    corner = np.floor(outline.min(axis=0)) - margin
    size = (np.ceil(outline.max(axis=0)) - corner).astype(int) + margin
    y, x = (c + (np.arange(m * s) + 0.5) / s - 0.5 for c, m in zip(corner, size, strict=True))
    vertex_angle, vertex_radius = np.arctan2(outline[:, 0], outline[:, 1]), np.linalg.norm(outline, axis=1)
    # A lookup is needed only between the smallest and largest vertex radius, with a margin for rounding error.
    squared = y[:, None] ** 2 + x**2
    inside = squared < vertex_radius.min() ** 2 * (1 - 1e-9)
    rows, columns = np.nonzero(~inside & (squared < vertex_radius.max() ** 2 * (1 + 1e-9)))
    reach = np.interp(np.arctan2(y[rows], x[columns]), vertex_angle, vertex_radius, period=2 * np.pi)
    inside[rows, columns] = np.hypot(y[rows], x[columns]) < reach
    counts = sum(inside[i::s, j::s].view(np.uint8) for i, j in np.ndindex(s, s))  # faster than a mean of booleans
    return np.asarray(counts / s**2)


def tile(
    rng: Generator,
    shape: tuple[int, int],
    *,
    spacing: float,
    waviness: float,
    stretch: Sequence[float] = (1, 1),
) -> tuple[Floats, NDArray[np.intp]]:
    """Tile a scene with grains that have wavy boundaries, then stretch the tiling.

    Parameters
    ----------
    rng : Generator
    shape : (int, int)
        Rows and columns of the scene.
    spacing : float
        Square root of the mean grain area before stretching.
    waviness : float
        RMS displacement of straight boundaries, relative to the spacing.
    stretch : (float, float)
        Factors along rows and columns.

    Returns
    -------
    distance, grain : (rows, columns) arrays
        Distance from the nearest boundary, and index of the grain, from 0.
    """
    factors = np.asarray(stretch, dtype=float)
    margin = 2 * spacing
    seeds = _jittered_lattice(rng, np.array(shape) / factors + 2 * margin, spacing) - margin
    wave = [random_field(rng, shape, wavelength=0.7 * spacing, slope=3.2, stretch=stretch) for _ in range(2)]
    place = np.moveaxis(np.indices(shape), 0, -1) / factors + waviness * spacing * np.stack(wave, axis=-1)
    near, index = (np.asarray(found) for found in KDTree(seeds).query(place, k=3))
    apart = np.linalg.norm((seeds[:, None] - seeds) / factors, axis=-1)
    # The distance from the bisector of two seeds is (d₂² − d₁²) / 2|s₂ − s₁|; stretching changes it along the step.
    second, third = (
        (near[..., i] ** 2 - near[..., 0] ** 2) / (2 * apart[index[..., 0], index[..., i]]) for i in (1, 2)
    )
    return np.minimum(second, third), index[..., 0]


def _jittered_lattice(rng: Generator, extent: Floats, spacing: float) -> Floats:
    """Return a randomly jittered hexagonal lattice: its density is nearly uniform."""
    height = spacing * np.sqrt(np.sqrt(3) / 2)
    rows, columns = np.indices((extent / (height, spacing**2 / height)).astype(int))
    lattice = np.stack([rows * height, (columns + rows % 2 / 2) * spacing**2 / height], axis=-1).reshape(-1, 2)
    return np.asarray(lattice + JITTER * spacing * rng.standard_normal(lattice.shape))


def random_field(
    rng: Generator,
    shape: tuple[int, ...],
    *,
    wavelength: float,
    slope: float = 2.5,
    stretch: Sequence[float] = (1, 1),
) -> Floats:
    """Draw a random field of mean 0 and variance 1.

    The spectrum is flat for waves longer than the wavelength, and decays with the exponent `slope` for shorter ones.
    The field is stretched by factors along rows and columns.
    """
    rows = np.fft.fftfreq(shape[0])[:, None] * stretch[0] * wavelength
    columns = np.fft.rfftfreq(shape[1]) * stretch[1] * wavelength
    strength = (1 + rows**2 + columns**2) ** (-slope / 2)
    strength[0, 0] = 0
    field = irfft2(rfft2(rng.standard_normal(shape)) * strength, shape)
    return np.asarray(field / field.std())


# ------------------------------------------------------------------------------------------------- looks


def etch(rng: Generator, distance: Floats, grain: NDArray[np.intp]) -> Floats:
    """Render a polished and etched section, between 0 and about 1: gray grains, dark boundaries, pits, scratches.

    Parameters are as from `tile`.
    """
    tone = _tones(rng, grain, 0.74, 0.04) + 0.02 * random_field(rng, grain.shape, wavelength=6)
    groove = 0.7 * np.exp(-((distance / 2.6) ** 4))
    pits = 0.7 * _specks(rng, grain.shape, count=60, radius=(1.0, 2.2))
    return np.asarray((tone - _scratches(rng, grain.shape)) * (1 - groove) * (1 - pits))


def fluoresce(rng: Generator, coverage: Floats, labels: NDArray[np.int32]) -> Floats:
    """Render stained nuclei, between 0 and about 1: bright, mottled, over a dim background with out-of-focus haze.

    Parameters are as from `scatter`.
    """
    stain = _tones(rng, labels, 0.7, 0.08) * (1 + 0.09 * random_field(rng, labels.shape, wavelength=9))
    haze = 0.08 * gaussian_filter(coverage, 14) + 0.012 * random_field(rng, labels.shape, wavelength=60)
    debris = 0.5 * _specks(rng, labels.shape, count=40, radius=(0.6, 1.3))
    return np.asarray(0.07 + haze + coverage * stain + (1 - coverage) * debris)


def scan(rng: Generator, coverage: Floats, labels: NDArray[np.int32]) -> Floats:
    """Render a scanning electron micrograph of a powder: lit from the upper left, bright rims, rough ground, shadows.

    Parameters
    ----------
    rng : Generator
    coverage, labels : (rows, columns) arrays
        As from `scatter`.

    Returns
    -------
    (rows, columns) array
        Between 0 and about 1.
    """
    depth = distance_transform_edt(coverage > 0.5)
    down, right = np.gradient(gaussian_filter(np.sqrt(depth), 1.5))
    relief = 0.04 * random_field(rng, labels.shape, wavelength=12) + 0.16 * (down + right)
    particle = _tones(rng, labels, 0.62, 0.03) + relief + 0.22 * np.exp(-depth / 1.5)
    shadow = 1 - 0.5 * gaussian_filter(np.roll(coverage, (4, 4), axis=(0, 1)), 5)
    ground = (0.22 + 0.03 * random_field(rng, labels.shape, wavelength=5)) * shadow
    debris = 0.4 * _specks(rng, labels.shape, count=60, radius=(0.6, 1.3))
    return np.asarray(coverage * particle + (1 - coverage) * (ground + debris))


def _tones(rng: Generator, labels: NDArray[np.signedinteger], mean: float, deviation: float) -> Floats:
    """Draw one gray level per object, clipped at two standard deviations so that no object is too dark to detect."""
    tones = deviation * rng.standard_normal(labels.max() + 1).clip(-2, 2) + mean
    return np.asarray(tones[labels])


def _specks(rng: Generator, shape: tuple[int, ...], *, count: int, radius: tuple[float, float]) -> Floats:
    """Draw small disks of 1 on 0."""
    specks = np.zeros(shape)
    for place, size in zip(rng.random((count, 2)) * shape, rng.uniform(*radius, count), strict=True):
        specks[disk(tuple(place), size, shape=shape)] = 1
    return specks


def _scratches(rng: Generator, shape: tuple[int, ...], count: int = 12) -> Floats:
    """Draw faint scratches in similar directions."""
    scratches = np.zeros(shape)
    for start, angle, length in zip(
        rng.random((count, 2)) * shape, rng.normal(0.6, 0.25, count), rng.uniform(80, 500, count), strict=True
    ):
        end = start + length * np.array([np.sin(angle), np.cos(angle)])
        rows, columns = line(*start.astype(int), *end.astype(int))
        inside = (rows < shape[0]) & (columns < shape[1])
        scratches[rows[inside], columns[inside]] = rng.uniform(0.3, 1)
    return np.asarray(0.07 * gaussian_filter(scratches, 0.7))


def expose(rng: Generator, scene: Floats, *, photons: float, shading: float) -> NDArray[np.uint16]:
    """Simulate the detector: uneven illumination, blur (σ = 1.1 pixels), photon noise, read noise, 12-bit counts.

    Brightness 0 gives 100 counts, and 1 3500 counts and `photons` per pixel. `shading` is the fraction of the light
    lost between the center of the image and the middle of an edge.
    """
    y, x = (np.linspace(-1, 1, size) for size in scene.shape)
    centre = rng.uniform(-0.3, 0.3, 2)
    falloff = shading * ((y[:, None] - centre[0]) ** 2 + (x - centre[1]) ** 2) / 2
    seen = gaussian_filter(scene * (1 - falloff), 1.1).clip(0)
    detected = (rng.poisson(seen * photons) + rng.normal(0, 5, seen.shape)) / photons
    return (100 + 3400 * detected).clip(0, 4095).astype(np.uint16)
