"""Overlap of layers in world coordinates, and the image below each annotation layer."""

import itertools
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Points, Shapes, Tracks, Vectors

from .choices import Choices
from .inputs import is_own
from .world import drawn_extent

_OVER_IMAGES = (Labels, Points, Shapes, Tracks, Vectors)


def are_disjoint(layers: Iterable[Layer], viewer: ViewerModel | Choices) -> bool:
    """Whether the bounding boxes of two or more layers are disjoint; empty layers are ignored."""
    boxes = [box for layer in layers if (box := drawn_extent(layer, viewer)) is not None]
    return len(boxes) > 1 and all(
        ((one[1] <= other[0]) | (other[1] <= one[0])).any() for one, other in itertools.combinations(boxes, 2)
    )


def images_below(layers: Iterable[Layer], images: Iterable[Layer], choices: Choices) -> dict[Layer, Layer]:
    """Return the image below each of these layers, for annotations, outlines and labels above a unique one."""
    images = list(images)
    over = [layer for layer in layers if isinstance(layer, _OVER_IMAGES) and not is_own(layer)]
    return {layer: image for layer in over if (image := image_below(layer, images, choices)) is not None}


def image_below(layer: Layer, images: Iterable[Layer], choices: Choices) -> Layer | None:
    """Return the image below a layer, if there is only one.

    For an annotation layer, it is the image that was active before the layer was added, or else the first one that it
    overlaps. For others, it is the image that contains their bounding box; of several, as from a folder, the one whose
    name has most in common with theirs.
    """
    boxes = {one: box for one in images if isinstance(one, Image) and (box := drawn_extent(one, choices)) is not None}
    box = drawn_extent(layer, choices)
    low, high = (-np.inf, np.inf) if box is None else box  # an empty layer may be drawn on anywhere
    if (active := choices.design.image_of_annotation.get(layer)) is not None:
        under = [one for one, (top, end) in boxes.items() if (low <= end).all() and (top <= high).all()]
        before = active()
        elsewhere = before in choices.layers and before not in boxes
        under = [before] if before in under else [] if elsewhere else under[:1]
    else:
        under = [one for one, (top, end) in boxes.items() if (top <= low).all() and (high <= end).all()]
        common = [common_words(one.name, layer.name) for one in under]
        under = [one for one, words in zip(under, common, strict=True) if words == max(common)]
    return under[0] if len(under) == 1 else None


def common_words(name: str, other: str) -> tuple[int, bool]:
    """Return how many words and numbers two names of layers have in common, in the same order.

    Leading zeros of numbers are ignored. Whether napari has given both the same number, as in "nuclei [1]", comes
    second: it counts layers of one name.

    Examples
    --------
    >>> common_words("field 2 [1]", "field 2 mask"), common_words("field 1 [1]", "field 2 mask")
    ((2, False), (1, False))
    >>> common_words("field 2", "field002_mask"), common_words("field 2", "field_20")
    ((2, True), (1, True))
    """
    (words, number), (others, second) = (
        (re.findall(r"(?!0\d)\d+|[^\W\d_]+", re.sub(r" \[\d+\]$", "", one).lower()), re.findall(r" \[(\d+)\]$", one))
        for one in (name, other)
    )
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks), number == second
