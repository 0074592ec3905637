"""Which layers lie over each other, and over which image those that a person marks, paints or draws in."""

import itertools
from collections.abc import Iterable

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Points, Shapes, Tracks, Vectors

from .choices import Choices
from .inputs import is_own
from .world import drawn_extent

_OVER_IMAGES = (Labels, Points, Shapes, Tracks, Vectors)


def lie_apart(layers: Iterable[Layer], viewer: ViewerModel | Choices) -> bool:
    """Whether two layers or more cover no common part of the world; empty ones cover none."""
    boxes = [box for layer in layers if (box := drawn_extent(layer, viewer)) is not None]
    return len(boxes) > 1 and all(
        ((one[1] <= other[0]) | (other[1] <= one[0])).any() for one, other in itertools.combinations(boxes, 2)
    )


def images_below(layers: Iterable[Layer], images: Iterable[Layer], choices: Choices) -> dict[Layer, Layer]:
    """The image that each of these layers lies over, for those that lie over one.

    What a person marks, paints or draws in lies over the image that was active before it came, or else over the first
    of those that it touches. Outlines and labels from elsewhere lie over an image where they fit on a single one.
    """
    boxes = {one: box for one in images if isinstance(one, Image) and (box := drawn_extent(one, choices)) is not None}
    begun, found = choices.sides.begun, {}
    for layer in layers:
        if isinstance(layer, _OVER_IMAGES) and not is_own(layer):
            box = drawn_extent(layer, choices)
            low, high = (-np.inf, np.inf) if box is None else box  # what is empty may come to lie anywhere
            if layer in begun:
                under = [one for one, (top, end) in boxes.items() if (low <= end).all() and (top <= high).all()]
                before = begun[layer]()
                elsewhere = before in choices.layers and before not in boxes
                under = [before] if before in under else [] if elsewhere else under[:1]
            else:
                under = [one for one, (top, end) in boxes.items() if (top <= low).all() and (high <= end).all()]
            if len(under) == 1:
                found[layer] = under[0]
    return found
