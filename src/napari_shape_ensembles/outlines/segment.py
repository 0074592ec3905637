"""From an image to labels, by a method, by the best of several recipes, by a model or by an installed segmenter."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ..checks import unmasked
from .finders import labels_by
from .methods import Labels, labels_by_method, only_largest
from .proposals import best_recipe
from .recipe import Recipe


def segment(image: ArrayLike, recipe: Recipe | None = None, **changes: Any) -> Labels:
    """Label the objects of an image.

    Parameters
    ----------
    image : (rows, columns) array of any real type, or with a last axis of 3 or 4 for RGB(A)
        A boolean image is taken as the mask itself.
    recipe : Outlines, optional
        All parameters together; those of tracing are ignored.
    **changes
        Single parameters that override those of `recipe`: `method="local"`, `objects="dark"`, `smoothing=2`, ...; see
        `Outlines` for all of them.

    Returns
    -------
    (rows, columns) int32 array
        1, 2, … for the objects, 0 for the background. Objects that touch the border are kept; `extract_curves` removes
        and counts them.

    Raises
    ------
    ValueError
        For an empty image, a stack, NaNs, a constant image, or parameters out of range.

    References
    ----------
    N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
    Cybernetics 9 (1979) 62-66.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import segment
    >>> rows, columns = np.indices((60, 120))
    >>> image = 1.0 * (np.hypot(rows - 30, columns - 30) < 15) + 1.0 * (np.hypot(rows - 30, columns - 85) < 20)
    >>> np.bincount(segment(image).ravel())
    array([5242,  705, 1253])
    """
    settings = recipe or Recipe()
    settings = replace(settings, **changes) if changes else settings
    if settings.find is not None:
        found = labels_by(settings.find, image)
        return only_largest(found) if settings.largest else found
    if settings.method == "auto":
        settings = best_recipe([image], settings)
    return labels_by_method(image, settings)


def segment_stack(stack: ArrayLike, recipe: Recipe | None = None, **changes: Any) -> Iterator[Labels]:
    """Segment the planes along the first axis of a stack one by one, in time or in depth.

    Parameters
    ----------
    stack : (planes, rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
    recipe, **changes
        As for `segment`; all planes are treated alike, each independently.

    Yields
    ------
    (rows, columns) int32 array
        Labels of one plane, numbered separately.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import segment_stack
    >>> rows, columns = np.indices((60, 60)) - 30
    >>> stack = [1.0 * (np.hypot(rows, columns) < radius) for radius in (10, 15, 20)]
    >>> [int((labels > 0).sum()) for labels in segment_stack(stack)]
    [313, 705, 1253]
    """
    for index, plane in enumerate(stack if isinstance(stack, Sequence) else unmasked(stack, "the stack")):
        try:
            yield segment(plane, recipe, **changes)
        except ValueError as error:
            raise ValueError(f"plane {index}: {error}") from error
