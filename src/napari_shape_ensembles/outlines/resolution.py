"""Outlines as they would appear at larger pixels, so that images of unequal pixel size can be compared."""

from collections.abc import Iterator, Sequence, ValuesView
from typing import Any

import numpy as np
from skimage.draw import polygon2mask

from ..checks import expect
from ..progress import cancellation_check
from ..words import counted, listed
from .ensemble import DIFFERS, Ensemble
from .reasons import too_small
from .recipe import Recipe
from .tracing import traced_labels

# Pixel sizes within this factor count as equal: outlines differ by more between two microscopes of one make.
_PIXEL_SIZE_TOLERANCE = 1.1


def at_pixel_size(ensemble: Ensemble, size: float, *, smoothing: float = Recipe.outline_smoothing) -> Ensemble:
    """Return the outlines as they would appear in an image with larger pixels.

    Each outline is rasterized at this pixel size, smoothed by the difference between the two smoothings, and traced
    again. Objects of fewer than 16 of these pixels are left out and counted.

    Parameters
    ----------
    ensemble : Ensemble
        Outlines of an image with known pixel size.
    size : float
        Side of the larger pixels, in the ensemble's unit.
    smoothing : float
        Standard deviation of the smoothing of outlines at both pixel sizes, in pixels of each.

    Returns
    -------
    Ensemble
        With the same ids; the ensemble itself if its pixels are as large already.

    Raises
    ------
    ValueError
        For a size that is not positive, or an ensemble with unknown pixel size.

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
    expect(ensemble, Ensemble, "at_pixel_size takes an Ensemble")
    if not 0 < size < np.inf:
        raise ValueError(f"the size of a pixel must be a positive number, not {size!r}")
    if ensemble.pixel_size is None:
        raise ValueError(f"the pixel size of {ensemble.name or 'the ensemble'} is unknown: give it")
    side = _side(ensemble)
    if size <= side * _PIXEL_SIZE_TOLERANCE:
        return ensemble
    # Variances of Gaussian filters add up: what is left of the smoothing at the larger pixels.
    left = smoothing * float(np.sqrt(1 - (side / size) ** 2))
    recipe = Recipe(outline_smoothing=left, keep_border=True)
    curves, kept, dropped = [], [], dict(ensemble.dropped)
    leave_if_cancelled = cancellation_check()
    for index, curve in enumerate(ensemble.curves):
        leave_if_cancelled()
        corner = np.floor(curve.min(axis=0) / size) - 2
        shape = (np.ceil(curve.max(axis=0) / size) - corner + 3).astype(int)
        mask = polygon2mask(tuple(shape), curve / size - corner)
        traced = Ensemble(**traced_labels(mask.astype(np.int64), recipe, scale=(size, size), unit=ensemble.unit))
        for reason, count in (traced.dropped if mask.any() else {too_small(recipe.min_area): 1}).items():
            there = reason._replace(pixel=f"{size:.4g} {ensemble.unit}")
            dropped[there] = dropped.get(there, 0) + count
        if len(traced):
            largest = int(np.argmax(np.diff(traced.offsets)))
            curves.append(traced[largest] + corner * size)
            kept.append(index)
    tracing = ensemble.tracing | {"at_pixel_size": float(size)}
    return ensemble.derived(curves, np.array(kept, dtype=np.intp), dropped=dropped, pixel_size=size, tracing=tracing)


def at_one_pixel_size(a: Any, b: Any) -> tuple[Any, Any, str]:
    """Bring all images of two samples to the largest of their pixel sizes; also return a message if this changes any.

    Samples are ensembles, or lists or iterators of them; anything else is returned unchanged (iterators as lists), as
    are all images where some pixel sizes are unknown, with a message that names these.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import extract_curves
    >>> from napari_shape_ensembles.outlines.resolution import at_one_pixel_size
    >>> rows, columns = np.indices((100, 100)) - 50
    >>> fine, coarse = (extract_curves(np.hypot(rows, columns) < 40, scale=(s, s), unit="µm") for s in (0.5, 1))
    >>> (fine,), (coarse,), message = at_one_pixel_size(fine, coarse)
    >>> fine.pixel_size, message.partition(":")[0]
    ((1.0, 1.0), 'Pixels measure 0.5 to 1 µm')
    """
    a, b = (list(side) if isinstance(side, Iterator | ValuesView) else side for side in (a, b))
    sides = [list(side) if isinstance(side, list | tuple) else [side] for side in (a, b)]
    images = [image for side in sides for image in side]
    if not all(isinstance(image, Ensemble) and image.unit != "pixel" for image in images):
        return a, b, ""
    if not all(image.pixel_size for image in images):
        return a, b, _without_pixel_size(images)
    sides = [[image.to(images[0].unit) for image in side] for side in sides]
    sizes = [_side(image) for side in sides for image in side]
    if not sizes or max(sizes) <= _PIXEL_SIZE_TOLERANCE * min(sizes):
        return a, b, ""
    words = (
        f"Pixels measure {min(sizes):.4g} to {max(sizes):.4g} {images[0].unit}: all outlines were brought to the "
        "largest, and finer detail is not compared"
    )
    before = sum(len(image) for side in sides for image in side)
    sides = [[at_pixel_size(image, max(sizes)) for image in side] for side in sides]
    if lost := before - sum(len(image) for side in sides for image in side):
        words += f"; {counted(lost, 'outline')} too small for these pixels {'was' if lost == 1 else 'were'} left out"
    return sides[0], sides[1], words


def _side(ensemble: Ensemble) -> float:
    """Side of a square pixel of the same area."""
    return float(np.sqrt(np.prod(ensemble.pixel_size or ())))


def _without_pixel_size(images: Sequence[Ensemble]) -> str:
    """Report the images whose unknown pixel sizes prevent resampling; "" if all are unknown, as of drawn outlines."""
    names: dict[bool, list[str]] = {True: [], False: []}
    for number, image in enumerate(images, start=1):
        if image.pixel_size is None:
            names[image.tracing.get("pixel_size") == DIFFERS].append(image.name or f"image {number}")
    unequal, unknown = names[True], names[False]
    if len(unknown) == len(images):
        return ""
    reasons = [f"that of {listed(unknown)} is unknown"] if unknown else []
    if unequal:
        reasons.append(f"{listed(unequal)} {'pools' if len(unequal) == 1 else 'pool'} images of unequal pixel size")
    return (
        f"Outlines were not brought to one pixel size, as {' and '.join(reasons)}: differences in roughness may be "
        "those of the pixels"
    )
