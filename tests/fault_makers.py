"""Labels of ellipses with one made fault, an image of them, and what is to be said about it."""

import numpy as np
from scipy import ndimage

SIZE, STEP = 400, 50


def scene(seed=0):
    """Labels of 64 ellipses on a grid and an image of them, 100 bright on 20 with noise."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((SIZE, SIZE), np.uint16)
    rows, columns = np.indices(labels.shape)
    for number, (row, column) in enumerate(np.ndindex(8, 8), start=1):
        y, x = rows - row * STEP - 25, columns - column * STEP - 25
        angle, long, short = rng.uniform(0, np.pi), rng.uniform(13, 15), rng.uniform(11, 13)
        along, across = y * np.cos(angle) + x * np.sin(angle), x * np.cos(angle) - y * np.sin(angle)
        labels[(along / long) ** 2 + (across / short) ** 2 < 1] = number
    clean = 20 + 80.0 * (labels > 0)
    return labels, clean


def photographed(clean, seed=1):
    rng = np.random.default_rng(seed)
    return np.clip(ndimage.gaussian_filter(clean, 1.0) + rng.normal(0, 4, clean.shape), 0, 255).astype(np.uint8)


ODD = 28
ROW, COLUMN = 3 * STEP + 25, 3 * STEP + 25


def faulty(kind):
    """Labels and image with one fault, and the labels it concerns."""
    labels, clean = scene()
    rows, columns = np.indices(labels.shape)
    own, free = labels == ODD, labels == 0
    concerned = {ODD}
    if kind == "hole":
        labels[np.hypot(rows - ROW, columns - COLUMN) < 3] = 0
    elif kind == "pieces":
        labels[own & (np.abs(columns - COLUMN) < 2)] = 0
    elif kind == "merge":
        clean = np.where(np.isin(labels, (ODD, ODD + 1)), 20, clean)
        for number, shift in ((ODD, 13), (ODD + 1, -13)):
            here = np.roll(labels == number, shift, axis=1)
            clean[here] = 100
        labels[np.isin(labels, (ODD, ODD + 1))] = 0
        labels[(clean > 50) & (labels == 0)] = ODD
    elif kind == "split":
        labels[own & (rows > ROW)] = 100
        concerned = {ODD, 100}
    elif kind == "leak":
        labels[free & (np.hypot(rows - ROW, columns - COLUMN - 14) < 12)] = ODD
    elif kind == "cut":
        labels[own & (rows > ROW)] = 0
    elif kind == "shift":
        labels[own] = 0
        labels[np.roll(own, 8, axis=0)] = ODD
    elif kind == "stray":
        labels[np.hypot(rows - 3.5 * STEP - 25, columns - 3.5 * STEP - 25) < 9] = 100
        concerned = {100}
    return labels, photographed(clean), concerned


SAID = {
    "hole": "hole: 1 of 25 px",
    "pieces": "2 pieces",
    "merge": "two objects in one",
    "split": "one object in two",
    "leak": "leak",
    "cut": "cut",
    "shift": "shifted",
    "stray": "stray",
}
