"""Label images of ellipses with one simulated segmentation fault, the intensity image, and the expected reasons."""

from functools import cache

import numpy as np
from scipy import ndimage

SIZE, STEP = 400, 50


def scene(seed=0):
    """Labels of 64 ellipses on a grid and their noisy image: foreground 100, background 20."""
    labels = ellipses(seed).copy()  # the caller modifies these arrays in place
    return labels, 20 + 80.0 * (labels > 0)


@cache
def ellipses(seed):
    rng = np.random.default_rng(seed)
    labels = np.zeros((SIZE, SIZE), np.uint16)
    rows, columns = np.indices(labels.shape)
    for number, (row, column) in enumerate(np.ndindex(8, 8), start=1):
        y, x = rows - row * STEP - 25, columns - column * STEP - 25
        angle, long, short = rng.uniform(0, np.pi), rng.uniform(13, 15), rng.uniform(11, 13)
        along, across = y * np.cos(angle) + x * np.sin(angle), x * np.cos(angle) - y * np.sin(angle)
        labels[(along / long) ** 2 + (across / short) ** 2 < 1] = number
    return labels


def render_image(clean, seed=1):
    rng = np.random.default_rng(seed)
    return np.clip(ndimage.gaussian_filter(clean, 1.0) + rng.normal(0, 4, clean.shape), 0, 255).astype(np.uint8)


ODD = 28
ROW, COLUMN = 3 * STEP + 25, 3 * STEP + 25


def faulty(kind, reach=2):
    """Labels and image of the 25 objects around one fault, starting with object 10, and the affected labels.

    With `reach=1` of nine of them, starting with object 19, which are ranked in half of the time.
    """
    labels, image, concerned = _faulty(kind)
    around = (slice((3 - reach) * STEP, (4 + reach) * STEP),) * 2
    return labels[around].copy(), image[around].copy(), concerned.copy()


@cache
def _faulty(kind):
    labels, clean = scene()
    clean, concerned = insert_fault(kind, labels, clean, ODD)
    return labels, render_image(clean), concerned


def with_every_fault(seed):
    """Labels and image with one fault of every kind, far apart, and the labels affected by each."""
    labels, clean = scene(seed)
    places = np.random.default_rng(seed).permutation([10, 13, 27, 30, 42, 45, 51, 54])
    concerned = {}
    for kind, number in zip(EXPECTED_REASONS, places.tolist(), strict=True):
        clean, concerned[kind] = insert_fault(kind, labels, clean, number, new=100 + number)
    return labels, render_image(clean, seed + 1), concerned


def insert_fault(kind, labels, clean, number, new=100):
    """Insert a fault at a label, in place; returns the noise-free image, possibly changed, and the affected labels."""
    rows, columns = np.indices(labels.shape)
    row, column = (STEP * place + 25 for place in divmod(number - 1, 8))
    own, free = labels == number, labels == 0
    concerned = {number}
    if kind == "hole":
        labels[np.hypot(rows - row, columns - column) < 3] = 0
    elif kind == "pieces":
        labels[own & (np.abs(columns - column) < 2)] = 0
    elif kind == "merge":
        both = np.isin(labels, (number, number + 1))
        clean = np.where(both, 20, clean)
        pair = np.zeros(labels.shape, bool)
        for one, shift in ((number, 13), (number + 1, -13)):
            pair |= np.roll(labels == one, shift, axis=1)
        clean[pair] = 100
        labels[both] = 0
        labels[pair] = number
    elif kind == "split":
        labels[own & (rows > row)] = new
        concerned = {number, new}
    elif kind == "leak":
        labels[free & (np.hypot(rows - row, columns - column - 14) < 12)] = number
    elif kind == "cut":
        labels[own & (rows > row)] = 0
    elif kind == "shift":
        labels[own] = 0
        labels[np.roll(own, 8, axis=0)] = number
    elif kind == "stray":
        labels[np.hypot(rows - row - STEP / 2, columns - column - STEP / 2) < 9] = new
        concerned = {new}
    return clean, concerned


EXPECTED_REASONS = {
    "hole": "hole: 1 of 25 px",
    "pieces": "2 pieces",
    "merge": "two objects in one",
    "split": "one object in two",
    "leak": "leak",
    "cut": "cut",
    "shift": "shifted",
    "stray": "stray",
}
