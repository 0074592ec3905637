"""Small images of bright blobs, and their labels, for tests in every room."""

from functools import cache

import numpy as np
from skimage.draw import disk, polygon2mask
from skimage.measure import label

from curve_makers import blobs
from napari_shape_ensembles import segment

SPACING = 40


def spots(seed=0, *, size=12.0, rows=4, noise=0.05):
    """Image of bright blobs on a dark background, far from the border and from each other."""
    return _spots(seed, size, rows, noise).copy()


@cache
def _spots(seed, size, rows, noise):
    rng = np.random.default_rng(seed)
    image = rng.normal(0.1, noise, (rows * SPACING + 20,) * 2)
    for index, outline in enumerate(blobs(rows * rows, 60, seed=seed, elongation=1.5)):
        outline = outline - outline.mean(axis=0)
        outline *= size / np.sqrt((outline**2).sum(axis=1).mean())
        centre = np.array(divmod(index, rows)) * SPACING + SPACING // 2 + 10
        image[polygon2mask(image.shape, outline + centre)] += 1
    return image


def segmented(seed):
    """Labels of the blobs, by Otsu's threshold."""
    return _segmented(seed).copy()


@cache
def _segmented(seed):
    return segment(spots(seed), split_touching=False)


def labels_with_a_fault(seed=1):
    """Labels of many blobs, one of them far too large."""
    labels = segmented(seed)
    labels = np.pad(labels, ((0, 150), (0, 0)))
    labels[disk((labels.shape[0] - 75, 100), 40)] = labels.max() + 1
    return labels


def labels_of(seed, *, size=12.0):
    """Labels of sixteen blobs."""
    return label(spots(seed, size=size, rows=4, noise=0) > 0.5).astype(np.int32)
