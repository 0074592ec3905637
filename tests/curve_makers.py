"""Closed curves for tests: synthetic, with known properties, or read from a file."""

import numpy as np


def ellipse(a, b, n=500, *, turn=0.0, angles=None):
    """Vertices of an ellipse at equal parameter steps; before rotation, semi-axis a lies along the row axis."""
    u = 2 * np.pi * np.arange(n) / n if angles is None else angles
    points = np.stack([a * np.cos(u), b * np.sin(u)], axis=-1)
    return points @ rotation(turn).T


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def blobs(count, n=500, *, seed=0, modes=12, roughness=0.15, elongation=3.0):
    """Star-shaped random outlines without symmetry, (count, n, 2)."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(n) / n
    k = np.arange(2, modes + 1)
    cosines, sines = (rng.normal(size=(count, len(k))) * roughness / k**0.7 for _ in range(2))
    radius = 1 + cosines @ np.cos(k[:, None] * u) + sines @ np.sin(k[:, None] * u)
    radius = np.maximum(radius, 0.2)
    points = radius[..., None] * np.stack([np.cos(u), np.sin(u)], axis=-1)
    points = points * rng.uniform(1, elongation, (count, 1, 2))
    turns = np.stack([rotation(angle) for angle in rng.uniform(0, 2 * np.pi, count)])
    return points @ turns.swapaxes(1, 2) + rng.normal(size=(count, 1, 2)) * 10


def ragged_blobs(count, *, seed=0, fewest=60, most=400, **options):
    """The same outlines, subsampled to polygons with different numbers of vertices."""
    rng = np.random.default_rng(seed + 1)
    dense = blobs(count, 1200, seed=seed, **options)
    numbers = rng.integers(fewest, most + 1, count)
    return [curve[np.linspace(0, 1200, m, endpoint=False).astype(int)] for curve, m in zip(dense, numbers, strict=True)]


def pixelated(curve, size=60):
    """Digitize an outline: rasterize it and trace it again."""
    from skimage.measure import find_contours

    from napari_shape_ensembles.outlines.rasterize import rasterize

    low, high = curve.min(axis=0), curve.max(axis=0)
    placed = (curve - low) / (high - low).max() * size + 2
    mask = rasterize([placed], (size + 6, size + 6), float)
    return max(find_contours(mask, 0.5), key=len)[:-1]


def randomly_moved(curve, rng, *, mirror=False):
    """Rotate and translate an outline, and change its starting point and possibly its orientation."""
    points = np.roll(curve, rng.integers(len(curve)), axis=0)
    if rng.random() < 0.5:
        points = points[::-1]
    if mirror:
        points = points * [1, -1]
    return points @ rotation(rng.uniform(0, 2 * np.pi)).T + rng.normal(size=2) * 100


def cassini_oval(angles, b=1.2):
    """Points (..., 2) of a Cassini oval: the product of the distances from (±1, 0) is b²."""
    radius = np.sqrt(np.cos(2 * angles) + np.sqrt(b**4 - np.sin(2 * angles) ** 2))
    return radius[..., None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def arc_length_ellipse(aspect, n=512):
    """Points of an ellipse (aspect : 1) at equal arc length, by Newton's method on the elliptic integral."""
    from scipy.special import ellipe, ellipeinc

    m = 1 - aspect**-2.0
    target = 4 * ellipe(m) * np.arange(n) / n
    angle = 2 * np.pi * np.arange(n) / n
    for _ in range(50):
        angle -= (ellipeinc(angle, m) - target) / np.sqrt(1 - m * np.sin(angle) ** 2)
    return ellipse(1 / aspect, 1, angles=angle) * aspect


def clover(leaves, n=240, *, depth=0.2):
    """Closed curve that repeats itself `times` times around."""
    u = 2 * np.pi * np.arange(n) / n
    return ((1 + depth * np.cos(leaves * u)) * np.stack([np.cos(u), np.sin(u)])).T


def load_curves(path, key=""):
    """List of (m, 2) curves as (row, column).

    The files hold `xy` and `offsets`, or `<key>_xy` and `<key>_offsets` if one file holds several sets.
    """
    data = np.load(path)
    prefix = f"{key}_" if key else ""
    vertices = data[f"{prefix}xy"][:, ::-1].astype(float)
    return np.split(vertices, data[f"{prefix}offsets"][1:-1])
