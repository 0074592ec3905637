"""Recognize the content of an image: gray levels, labels, a mask, or classes; and label the objects of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.measure import label

from .._types import Index
from .reasons import FROM_ZERO

Content = Literal["grey", "mask", "labels", "classes"]

# Values from this one on, and from the number of pixels, are sorted rather than counted.
_SORT_FROM = 1 << 22
# Connected components of one value have at least this many pixels on average in labels and classes; in gray images, 1
# to 4.
_MIN_COMPONENT_PX = 10
# In gray images, more than one in this many pixels differs from all adjacent ones.
_MAX_ISOLATED = 4
# Labels have up to this many components per value; classes have more.
_MAX_COMPONENTS_PER_LABEL = 2
# Classes have no values above this.
_MAX_CLASS = 20
# In flat colors, at least this fraction of pixels are like their neighbors; judged by some of the rows.
_MIN_FLAT_FRACTION, _EVERY_ROW = 0.7, 8
# A class that covers this fraction of the border is the background; drawings have at most so many colors.
_MIN_BORDER_FRACTION, _FEW_COLOURS = 0.9, 4
# The channels (0 to 255) of colored lines differ by more than the first, those of gray pixels by at most the second.
_MIN_COLOUR_DIFFERENCE, _MAX_GREY_DIFFERENCE = 40, 30
# Lines drawn on an image cover less than this fraction of it, and vanish after this many erosions.
_MAX_LINE_FRACTION, _MAX_EROSIONS = 0.25, 4
# Fewer enclosed regions than this are no drawing of outlines.
_MIN_ENCLOSED_REGIONS = 3


def content_of(image: ArrayLike) -> Content:
    """Distinguish labels, masks and classes from gray levels.

    Labels are integers in flat regions, nearly each value in one connected component. Classes are few values in many
    components, such as the phases of a material. A mask has two values, one of them 0.

    Parameters
    ----------
    image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
        Colors count as gray levels.

    Returns
    -------
    {"grey", "mask", "labels", "classes"}

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import content_of
    >>> labels = np.zeros((40, 40), int)
    >>> labels[5:15, 5:15], labels[20:35, 20:35] = 1, 2
    >>> content_of(labels), content_of(labels > 0)
    ('labels', 'mask')
    >>> content_of(np.random.default_rng(0).integers(0, 255, (40, 40)))
    'grey'
    """
    pixels = np.asarray(image)
    if pixels.ndim != 2 or pixels.size == 0 or np.iscomplexobj(pixels):
        return "grey"
    if pixels.dtype == bool:
        return "mask"
    if pixels.dtype.kind == "f" and not (np.isfinite(pixels).all() and (pixels == np.round(pixels)).all()):
        return "grey"
    if _isolated(pixels) * _MAX_ISOLATED > np.count_nonzero(pixels > 0):
        two_values = ((pixels <= max(pixels.min(), 0)) | (pixels == pixels.max())).all()
        if not two_values:
            return "grey"  # as below, but sooner
    values, numbers = numbered(np.maximum(pixels, 0))
    if len(values) <= 2:
        is_mask = len(values) == 2 and values[0] == 0
        return "mask" if is_mask else "classes" if len(values) == 2 and values[-1] <= _MAX_CLASS else "grey"
    if values[0] != 0:  # tilings have no background
        values, numbers = np.insert(values, 0, 0), numbers + 1
    components = label(numbers, connectivity=1, background=0)
    pieces = int(components.max())
    if np.count_nonzero(numbers) < _MIN_COMPONENT_PX * pieces and not _are_specks(components, len(values) - 1):
        return "grey"
    if pieces <= _MAX_COMPONENTS_PER_LABEL * (len(values) - 1):
        return "labels"
    return "classes" if values[-1] <= _MAX_CLASS else "grey"


def _may_be_labels(pixels: NDArray[Any]) -> bool:
    """Whether integers are labels of small objects, if that is what they are said to be: pieces of two pixels or more.

    In gray images each value has many pieces, or each piece has one pixel.
    """
    if pixels.ndim != 2 or pixels.dtype.kind not in "iuf" or (pixels.dtype.kind == "f" and (pixels % 1 != 0).any()):
        return False
    values, numbers = numbered(np.maximum(pixels, 0))
    pieces = int(label(numbers, connectivity=2, background=0 if values[0] == 0 else -1).max())
    objects = np.count_nonzero(pixels > 0)
    return bool(pieces <= _MAX_COMPONENTS_PER_LABEL * len(values) and objects >= 2 * pieces)


def _are_specks(components: NDArray[Any], values: int) -> bool:
    """Whether small components are specks among the objects of labels: nearly one of each value, most area in large."""
    sizes = np.bincount(components.ravel())[1:]
    alike = len(sizes) <= _MAX_COMPONENTS_PER_LABEL * values
    return bool(alike and 2 * sizes[sizes >= _MIN_COMPONENT_PX].sum() >= sizes.sum())


def _isolated(pixels: NDArray[Any]) -> int:
    """Number of positive pixels that differ from all adjacent ones, in any row and column but the first and last."""
    middle, differs = pixels[1:-1, 1:-1], pixels[1:-1, 1:-1] > 0
    for neighbour in (pixels[:-2, 1:-1], pixels[2:, 1:-1], pixels[1:-1, :-2], pixels[1:-1, 2:]):
        differs &= middle != neighbour
    return int(np.count_nonzero(differs))


def numbered(pixels: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    """Unique values of non-negative integers, ascending, and the index of each pixel's value among them."""
    if float(pixels.max()) >= max(_SORT_FROM, pixels.size):  # half precision does not reach it
        values, index = np.unique(pixels, return_inverse=True)
        return values, index.reshape(pixels.shape)
    numbers = pixels.astype(np.intp, copy=False)
    there = np.bincount(numbers.ravel()) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def objects_of_classes(image: ArrayLike, classes: Sequence[int] | None = None) -> NDArray[np.int32]:
    """Label the components of each class; 0 is the background, or an excluded class.

    Parameters
    ----------
    image : (rows, columns) array of integers
    classes : sequence of int, optional
        Values whose components are labeled; by default all above 0. Called once per class, this gives two groups to
        compare.

    Returns
    -------
    (rows, columns) int32 array

    Raises
    ------
    ValueError
        For anything but a 2D array of integers, or a class that does not occur in it.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import objects_of_classes
    >>> phases = np.array([[1, 0, 1, 2], [1, 0, 0, 2]])
    >>> int(objects_of_classes(phases).max()), int(objects_of_classes(phases, [2]).max())
    (3, 1)
    """
    pixels = np.asarray(image)
    if pixels.ndim != 2 or pixels.dtype.kind not in "biuf" or (pixels.dtype.kind == "f" and (pixels % 1 != 0).any()):
        raise ValueError(f"classes must be a plane of integers, not {pixels.dtype} of shape {pixels.shape}")
    present = [value for value in np.unique(pixels).tolist() if value > 0]
    chosen = present if classes is None else list(classes)
    if missing := sorted(set(chosen) - set(present)):
        raise ValueError(
            f"there is no class {missing[0]}: the classes are {', '.join(f'{value:g}' for value in present)}"
        )
    labels = np.zeros(pixels.shape, dtype=np.int32)
    for value in chosen:
        components, _ = ndimage.label(pixels == value)
        labels[components > 0] = components[components > 0] + labels.max()
    return labels


def drawn_outlines(image: ArrayLike) -> int:
    """Number of regions enclosed by thin colored lines on a gray image, as in a figure; 0 for all other images.

    Parameters
    ----------
    image : (rows, columns, 3 or 4) array of 8 bits
        Anything else has no drawn outlines.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.recognise import drawn_outlines
    >>> grey = np.random.default_rng(0).integers(60, 200, (90, 90, 1), np.uint8).repeat(3, axis=2)
    >>> for top in (5, 35, 65):
    ...     grey[top, 10:31] = grey[top + 20, 10:31] = grey[top : top + 21, 10] = grey[top : top + 21, 30] = (255, 0, 0)
    >>> drawn_outlines(grey), drawn_outlines(grey[..., 0])
    (3, 0)
    """
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or pixels.shape[2] not in (3, 4):
        return 0
    colour = np.ptp(pixels[..., :3].astype(np.int16), axis=2)
    lines = colour > _MIN_COLOUR_DIFFERENCE
    grey = pixels[..., 0][colour <= _MAX_GREY_DIFFERENCE]
    # Colored objects on black are not a drawing: drawn lines are thin, and surrounded by an image.
    if not (
        0 < lines.mean() < _MAX_LINE_FRACTION and grey.size > 0.5 * lines.size and grey.std() > _MAX_GREY_DIFFERENCE
    ):
        return 0
    if ndimage.binary_erosion(lines, iterations=_MAX_EROSIONS).sum() > 0.02 * lines.sum():
        return 0
    regions, _ = ndimage.label(~ndimage.binary_dilation(lines))  # closes gaps of one pixel
    outside = np.unique(np.concatenate([regions[[0, -1]].ravel(), regions[:, [0, -1]].ravel()]))
    sizes = np.bincount(regions.ravel())
    sizes[outside] = sizes[0] = 0
    count = int((sizes >= _MIN_COMPONENT_PX).sum())
    return count if count >= _MIN_ENCLOSED_REGIONS else 0


def _class_outside(plane: NDArray[Any]) -> int | None:
    """Return the class along nearly all of the border of a plane of classes without 0, as ilastik writes; else None."""
    border = np.concatenate([plane[0], plane[-1], plane[:, 0], plane[:, -1]])
    values, counts = np.unique(border, return_counts=True)
    most = int(np.argmax(counts))
    return int(values[most]) if counts[most] >= _MIN_BORDER_FRACTION * len(border) else None


def classes_of(plane: NDArray[Any]) -> list[int]:
    """Return the values of a plane of classes, ascending, without that of the background.

    This is 0, or the class that surrounds the others if nothing is 0.
    """
    values = [int(value) for value in np.unique(plane[plane >= 0])]
    outside = 0 if 0 in values else _class_outside(plane)
    return [value for value in values if value != outside]


def labels_of_colours(pixels: NDArray[Any]) -> NDArray[np.int32] | None:
    """Return the objects of an image in which each has one flat color, or one gray level in all channels.

    None for all other images. The background is black, or the most common color of the border.
    """
    if pixels.ndim != 3 or pixels.dtype not in (np.uint8, np.uint16) or pixels.shape[2] not in (3, 4):
        return None
    some = pixels[::_EVERY_ROW, :, :3]
    if pixels.shape[1] < 2 or (some[:, 1:] == some[:, :-1]).all(axis=2).mean() < _MIN_FLAT_FRACTION:
        return None  # as nearly all images
    red, green, blue = (pixels[..., channel].astype(np.int64) for channel in range(3))
    if (red == green).all() and (green == blue).all():  # perhaps the labels themselves
        content = content_of(red)
        return (
            red.astype(np.int32) if content == "labels" else objects_of_classes(red) if content == "classes" else None
        )
    codes = (red << 32) | (green << 16) | blue
    border = np.concatenate([codes[0], codes[-1], codes[:, 0], codes[:, -1]])
    values, counts = np.unique(border, return_counts=True)
    most = int(values[np.argmax(counts)])
    values, numbers = np.unique(codes, return_inverse=True)
    if not 2 < len(values) < pixels.size // (3 * _MIN_COMPONENT_PX):
        return None
    is_drawing = len(values) <= _FEW_COLOURS  # perhaps, of dark objects with a scale bar: black is not the background
    outside = most if is_drawing or not (codes == 0).any() else 0
    numbers = np.where(codes == outside, 0, numbers.reshape(codes.shape) + 1)
    if content_of(numbers) not in ("labels", "classes"):
        return None
    if is_drawing and counts.max() < _MIN_BORDER_FRACTION * len(border):
        return None
    if is_drawing and any(_encloses_others(numbers, value) for value in np.unique(numbers[numbers > 0])):
        return None  # lines around objects
    return objects_of_classes(numbers)


def refuse_grey(labels: ArrayLike, image: ArrayLike | None = None, *, remedy: str = "segment the image first") -> None:
    """Raise a ValueError for gray levels in the place of labels, above all if the image is in the place of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.recognise import refuse_grey
    >>> labels = np.kron([[1, 0], [0, 2]], np.ones((10, 10), int))
    >>> refuse_grey(labels, labels + 0.5)
    >>> refuse_grey(labels + 0.5, labels)
    Traceback (most recent call last):
    ...
    ValueError: gray levels are given as labels, and labels as the image: exchange the two
    """
    pixels = np.asarray(labels)
    if content_of(pixels) != "grey":
        return
    are_whole = pixels.dtype.kind in "iuf" and bool((pixels % 1 == 0).all())
    values, content = np.unique(pixels), "grey" if image is None else content_of(image)
    if are_whole and (_may_be_labels(pixels) or (len(values) <= _MAX_CLASS and content != "labels")):
        return  # nothing, or labels in many small pieces
    if content != "grey":
        what = "a mask" if content == "mask" else content
        raise ValueError(f"gray levels are given as labels, and {what} as the image: exchange the two")
    if are_whole:  # others are refused in other words
        raise ValueError(
            f"{len(values)} values from {values[0]:g} to {values[-1]:g} in small pieces are gray levels, not labels: "
            f"{remedy}"
        )


def _encloses_others(numbers: Index, value: int) -> bool:
    """Whether pixels of one value surround some of other values but 0."""
    inside = ndimage.binary_fill_holes(numbers == value)
    return bool((inside & (numbers != value) & (numbers > 0)).any())


def as_labels(pixels: NDArray[Any], *, insist: bool | None = None) -> tuple[NDArray[Any] | None, str]:
    """Return the labels that an image holds, None if it is to be segmented; and a note on what was recognized.

    Parameters
    ----------
    pixels : array
        Pixels of a file.
    insist : bool, optional
        Whether the user declared them as labels; by default their content is recognized.

    Raises
    ------
    ValueError
        For gray levels that are declared as labels.
    """
    if insist is None and (count := drawn_outlines(pixels)):
        raise ValueError(
            f"{count} closed colored lines are drawn on a gray image, and would be segmented with it: give the "
            "image without them, or the outlines as labels or polygons (--no-labels segments it as it is)"
        )
    content = "grey" if insist is False else content_of(pixels)
    if content == "grey" and insist is not False and (coloured := labels_of_colours(pixels)) is not None:
        return coloured, f"holds {len(np.unique(coloured)) - 1} objects in flat colors, and is not segmented"
    if content == "grey" and insist:
        if pixels.ndim != 2:
            raise ValueError("labels must be one plane of integers, not a color image")
        refuse_grey(pixels, remedy="omit --labels to segment the image")
        doubted = "holds few values in many small pieces, as a gray image does: omit --labels to segment it"
        return pixels, "" if _may_be_labels(pixels) else doubted
    if content == "mask":
        return (pixels > 0 if pixels.dtype != bool else pixels, "") if insist else (None, "")
    if content == "grey":
        return None, ""
    below = int((pixels < 0).sum())
    note = f"; {below} pixels with negative labels are treated as background" if below else ""
    if below and np.unique(pixels[pixels <= 0]).tolist() == [-1, 0]:
        note = f"; {FROM_ZERO}"
    plane = np.maximum(pixels, 0)
    if content == "classes":
        values = np.unique(plane)
        if values[0] > 0 and (outside := _class_outside(plane)) is not None:
            plane = np.where(plane == outside, 0, plane)
            note += f"; class {outside}, which surrounds them, is taken as background"
        count = len(values) - 1
        return objects_of_classes(plane), f"holds {count or 1} classes: the components of each are its objects{note}"
    return plane, f"holds labels and is not segmented{note}" if not insist or below else ""
