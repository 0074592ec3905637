"""The two samples of a comparison, each of one image or of several, from copied layers to curves."""

import weakref
from collections.abc import Generator
from typing import Any, TypeAlias

from napari.layers import Layer

from ..curves import Ensemble
from .inputs import SegmentationSettings, Source, trace

Ids: TypeAlias = frozenset[Any]
#: What the images of A and those of B are taken from, copied from there, and weakly referred to.
LayersOfSides: TypeAlias = tuple[tuple[Layer, ...], tuple[Layer, ...]]
Sources: TypeAlias = tuple[tuple[Source, ...], tuple[Source, ...]]
Refs: TypeAlias = tuple[weakref.ref[Layer], ...]

EXCLUDED = "excluded by hand"


def refs_of(sides: LayersOfSides) -> tuple[Refs, Refs]:
    """Weak references: a result must not keep a deleted layer alive."""
    a, b = (tuple(weakref.ref(layer) for layer in side) for side in sides)
    return a, b


def alive(refs: tuple[Refs, Refs]) -> LayersOfSides | None:
    """The layers referred to; None where one of them is gone."""
    a, b = (tuple(layer for ref in side if (layer := ref()) is not None) for side in refs)
    return (a, b) if (len(a), len(b)) == tuple(map(len, refs)) else None


def trace_sides(
    sources: Sources, settings: SegmentationSettings, excluded: tuple[Ids, Ids] = (frozenset(), frozenset())
) -> Generator[str, None, tuple[Ensemble, Ensemble]]:
    """Find the outlines of both samples, without those of the excluded ids: yields the name of each step before it.

    Raises
    ------
    ValueError
        When an image cannot be segmented, or of several one has no outline, naming it.
    """
    found = []
    for side, ids in zip(sources, excluded, strict=True):
        images = []
        for source in side:
            image = yield from trace(source, settings)
            images.append(image)
        found.append(_pooled(images, ids))
    a, b = found
    return a, b


def _pooled(images: list[Ensemble], ids: Ids) -> Ensemble:
    """One sample of several images; an image without curves is more likely a mistake than a finding."""
    whole = without(Ensemble.pooled(images), ids)
    if len(images) > 1:
        for image in images:
            if image.name not in whole.images:
                reasons = "; ".join(f"{count} {reason}" for reason, count in image.dropped.items())
                raise ValueError(
                    f"{image.name} has no usable outline{f' ({reasons})' if reasons else ''}: check the segmentation "
                    "and the minimum size, or take the image out of its sample"
                )
    return whole


def without(ensemble: Ensemble, ids: Ids) -> Ensemble:
    """Leave out the curves of some ids, and count them."""
    keep = [index for index, one in enumerate(ensemble.ids.tolist()) if one not in ids]
    left_out = len(ensemble) - len(keep)
    if not left_out:
        return ensemble
    return Ensemble(
        [ensemble.curves[index] for index in keep],
        name=ensemble.name,
        unit=ensemble.unit,
        ids=ensemble.ids[keep],
        dropped=ensemble.dropped | {EXCLUDED: left_out},
        images=ensemble.images[keep],
    )
