"""Outlines brought to the pixel size of a coarser image, so that two samples have lost the same."""

from typing import Any

import numpy as np
from skimage.draw import polygon2mask

from .ensemble import Ensemble
from .extract import outlines_of_labels, too_small
from .recipe import Recipe

# Pixel sizes within this factor are the same: outlines differ by more between two microscopes of one make.
_SAME = 1.1


def at_pixel_size(ensemble: Ensemble, size: float, *, smoothing: float = Recipe.outline_smoothing) -> Ensemble:
    """Return the outlines as an image with larger pixels would have shown them.

    Each outline is filled on a grid of pixels of this size, smoothed by what the smaller pixels' own smoothing left
    out, and traced again. Objects of fewer than 16 of these pixels are left out and counted.

    Parameters
    ----------
    ensemble : Ensemble
        Of an image whose pixel size is known.
    size : float
        Side of the larger pixels, in the ensemble's unit.
    smoothing : float
        Standard deviation of the smoothing of outlines at both pixel sizes, in pixels of each.

    Returns
    -------
    Ensemble
        With the same ids; the ensemble itself where its pixels are as large already.

    Raises
    ------
    ValueError
        For a size that is not positive, or an ensemble whose pixel size is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import at_pixel_size, extract_curves
    >>> rows, columns = np.indices((100, 100))
    >>> fine = extract_curves(np.hypot(rows - 50, columns - 50) < 40, scale=(0.5, 0.5), unit="µm")
    >>> coarse = at_pixel_size(fine, 2.0)
    >>> coarse.pixel_size, len(coarse[0]) < len(fine[0]) / 3
    ((2.0, 2.0), True)
    """
    if not 0 < size < np.inf:
        raise ValueError(f"the size of a pixel is a positive number, not {size!r}")
    if ensemble.pixel_size is None:
        raise ValueError(f"the pixel size of {ensemble.name or 'the ensemble'} is not known: give it")
    own = _side(ensemble)
    if size <= own * _SAME:
        return ensemble
    left = smoothing * float(np.sqrt(1 - (own / size) ** 2))
    recipe = Recipe(outline_smoothing=left, keep_border=True)
    curves, kept, dropped = [], [], dict(ensemble.dropped)
    for index, curve in enumerate(ensemble.curves):
        corner = np.floor(curve.min(axis=0) / size) - 2
        shape = (np.ceil(curve.max(axis=0) / size) - corner + 3).astype(int)
        mask = polygon2mask(tuple(shape), curve / size - corner)
        traced = outlines_of_labels(mask.astype(np.int64), recipe, scale=(size, size), unit=ensemble.unit)
        for reason, count in (traced.dropped if mask.any() else {too_small(recipe.min_area): 1}).items():
            dropped[reason] = dropped.get(reason, 0) + count
        if len(traced):
            largest = int(np.argmax(np.diff(traced.offsets)))
            curves.append(traced[largest] + corner * size)
            kept.append(index)
    return Ensemble(
        curves,
        name=ensemble.name,
        unit=ensemble.unit,
        ids=ensemble.ids[kept],
        dropped=dropped,
        images=ensemble.images[kept],
        pixel_size=size,
    )


def at_one_pixel_size(a: Any, b: Any) -> tuple[Any, Any, str]:
    """Bring all images of two samples to the largest of their pixels; and say so where that changes anything.

    Samples are ensembles or lists of them; all else, and images whose pixel size is not known, stays as it is.
    """
    sides = [list(side) if isinstance(side, list | tuple) else [side] for side in (a, b)]
    images = [image for side in sides for image in side]
    if not all(isinstance(image, Ensemble) and image.pixel_size and image.unit != "pixel" for image in images):
        return a, b, ""
    sides = [[image.to(images[0].unit) for image in side] for side in sides]
    sizes = [_side(image) for side in sides for image in side]
    if not sizes or max(sizes) <= _SAME * min(sizes):
        return a, b, ""
    words = (
        f"Pixels measure {min(sizes):.4g} to {max(sizes):.4g} {images[0].unit}: all outlines were brought to the "
        "largest, and what is finer is not compared"
    )
    sides = [[at_pixel_size(image, max(sizes)) for image in side] for side in sides]
    return sides[0], sides[1], words


def _side(image: Ensemble) -> float:
    """Side of a square as large as a pixel."""
    assert image.pixel_size is not None
    return float(np.sqrt(np.prod(image.pixel_size)))
