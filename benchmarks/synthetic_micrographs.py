"""Synthetic micrographs with labels: spheres, plates, rods, grains and irregular particles, bright or dark.

`micrograph` draws one: objects overlap in the order in which they are drawn, those in front hide those behind, or add
to their gray level as in transmission; with bright rims or halos, gradients, a textured background, blur and noise.
"""

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

KINDS = ("spheres", "plates", "rods", "needles", "grains", "irregular", "cubes", "sparse")


def micrograph(kind: str, seed: int, side: int = 360) -> tuple[np.ndarray, np.ndarray]:
    """An 8-bit image and its labels."""
    rng = np.random.default_rng((KINDS.index(kind), seed))
    rows, columns = np.indices((side, side), dtype=float)
    labels = np.zeros((side, side), dtype=int)
    heights, thickness = np.zeros((side, side)), np.zeros((side, side))
    if kind == "grains":
        labels, inside = _grains(rng, rows, columns)
        heights = np.where(labels > 0, rng.uniform(0.6, 1, labels.max() + 1)[labels], 0)
        thickness = heights * ndimage.gaussian_filter(inside.astype(float), 1)
    else:
        covered = {"sparse": 0.12, "rods": 0.4, "needles": 0.45}.get(kind, rng.uniform(0.3, 0.75))
        radius, number = rng.uniform(9, 26), 0
        while np.mean(labels > 0) < covered and number < 400:
            number += 1
            middle, reach = rng.uniform(0, side, 2), int(6 * radius)
            place = tuple(slice(max(int(at) - reach, 0), int(at) + reach) for at in middle)
            own = _object(kind, rng, rows[place] - middle[0], columns[place] - middle[1], radius)
            hidden = labels[place][own] > 0
            if not own.any() or (kind != "needles" and hidden.mean() > rng.choice([0.02, 0.02, 0.3])):
                continue
            depth = ndimage.distance_transform_edt(own)
            profile = np.sqrt(np.clip(1 - (1 - depth / depth.max()) ** 2, 0, 1))[own]
            labels[place][own] = number
            level = rng.uniform(0.7, 1)
            heights[place][own] = level * (0.75 + 0.25 * profile)
            thickness[place][own] += level * (0.4 + 0.6 * profile)
    look = rng.integers(4)
    if look == 0:  # in transmission
        values = 1 - np.exp(-1.5 * thickness)
    else:
        values = heights
        rim = (ndimage.maximum_filter(labels, 3) != ndimage.minimum_filter(labels, 3)) & (labels > 0)
        if look == 2:
            values = values + rng.uniform(0.1, 0.4) * ndimage.gaussian_filter(rim.astype(float), 1.5)
        if look == 3:  # objects hardly differ from each other; their border is dark
            values = values - rng.uniform(0.2, 0.5) * ndimage.gaussian_filter(rim.astype(float), 1.0)
    ground = labels == 0
    texture = ndimage.gaussian_filter(rng.normal(size=ground.shape), rng.uniform(2, 12))
    values = values + ground * rng.uniform(0, 0.12) * texture / texture.std()
    if rng.random() < 0.3:  # a halo of the other sign
        distance = ndimage.distance_transform_edt(ground)
        values = values - ground * rng.uniform(0.1, 0.4) * np.exp(-distance / rng.uniform(2, 6))
    if rng.random() < 0.4:
        angle = rng.uniform(0, 2 * np.pi)
        values = values + rng.uniform(0.1, 0.6) * (np.cos(angle) * rows + np.sin(angle) * columns) / side
    values = ndimage.gaussian_filter(values, rng.uniform(0.5, 1.5))
    values = values + ndimage.gaussian_filter(rng.normal(size=values.shape), 0.6) * rng.uniform(0.01, 0.2)
    if rng.random() < 0.5:
        values = -values
    low, high = np.percentile(values, (0.2, 99.8))
    image = np.clip((values - low) / (high - low), 0, 1) ** rng.uniform(0.7, 1.4)
    # The largest visible part of each object, unless little is left of it.
    found = np.zeros_like(labels)
    for number, place in enumerate(ndimage.find_objects(labels), start=1):
        if place is not None:
            pieces, count = ndimage.label(labels[place] == number)
            sizes = np.bincount(pieces.ravel(), minlength=count + 1)[1:]
            if sizes.max() >= 20:
                found[place][pieces == 1 + sizes.argmax()] = number
    return (255 * image).astype(np.uint8), np.unique(found, return_inverse=True)[1].reshape(labels.shape)


def _object(kind: str, rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray, radius: float) -> np.ndarray:
    """Mask of one object around the origin."""
    angle, size = rng.uniform(0, np.pi), radius * np.exp(rng.normal(0, 0.15))
    u, v = np.cos(angle) * rows + np.sin(angle) * columns, np.cos(angle) * columns - np.sin(angle) * rows
    match kind:
        case "spheres" | "sparse":
            return np.hypot(u, v / rng.uniform(0.9, 1)) < size
        case "cubes":
            return np.maximum(abs(u), abs(v) / rng.uniform(0.8, 1)) < 0.85 * size
        case "plates":
            directions = np.arange(rng.integers(3, 7)) * np.pi / rng.integers(3, 4)
            return np.max([abs(np.cos(one) * u + np.sin(one) * v) for one in directions], axis=0) < size
        case "rods" | "needles":
            half = size * (rng.uniform(1.5, 3) if kind == "rods" else rng.uniform(2, 5))
            wide = size * (0.5 if kind == "rods" else 0.3)
            return np.hypot(np.maximum(abs(u) - half, 0), v) < wide
        case _:
            turns, waves = np.arctan2(v, u), rng.normal(0, 0.09, (2, 4))
            order = np.arange(2, 6)[:, None, None]
            shape = sum(
                wave[:, None, None] * turn(order * turns) for wave, turn in zip(waves, (np.cos, np.sin), strict=True)
            )
            return np.hypot(u, v) < size * (1 + shape.sum(axis=0))


def _grains(rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells around random points, between lines."""
    points = rng.uniform(0, len(rows), (int(rng.uniform(60, 140)), 2))
    apart, owner = cKDTree(points).query(np.stack([rows, columns], axis=-1), k=2)
    inside = apart[..., 1] - apart[..., 0] > rng.uniform(2, 6)
    return np.where(inside, owner[..., 0] + 1, 0), inside


if __name__ == "__main__":
    from PIL import Image

    sheet = np.vstack([np.hstack([micrograph(kind, seed)[0] for seed in range(6)]) for kind in KINDS])
    Image.fromarray(sheet).save("synthetic_micrographs.png")
