"""The two samples of a comparison, each of one image or of several, from copied layers to curves."""

import itertools
import weakref
from collections.abc import Sequence
from typing import TypeAlias

from napari.layers import Layer

from ..outlines import Ensemble, in_unit
from ..progress import as_part
from .inputs import TRACING_STEPS, SegmentationSettings, Source, trace

#: Ids left out of an image, in words; and those of all images, A's before B's.
Ids: TypeAlias = frozenset[str]
Excluded: TypeAlias = tuple[Ids, ...]
#: What the images of A and those of B are taken from, copied from there, and weakly referred to.
LayersOfSides: TypeAlias = tuple[tuple[Layer, ...], tuple[Layer, ...]]
Sources: TypeAlias = tuple[tuple[Source, ...], tuple[Source, ...]]
Refs: TypeAlias = tuple[weakref.ref[Layer], ...]

EXCLUDED = "excluded by hand"
# Images that a sample's name spells out.
_NAMED = 2


def refs_of(sides: LayersOfSides) -> tuple[Refs, Refs]:
    """Weak references: a result must not keep a deleted layer alive."""
    a, b = (tuple(weakref.ref(layer) for layer in side) for side in sides)
    return a, b


def alive(refs: tuple[Refs, Refs]) -> LayersOfSides | None:
    """The layers referred to; None where one of them is gone."""
    a, b = (tuple(layer for ref in side if (layer := ref()) is not None) for side in refs)
    return (a, b) if (len(a), len(b)) == tuple(map(len, refs)) else None


def steps_of(sources: Sources) -> int:
    """Number of steps that `trace_sides` reports."""
    return sum(TRACING_STEPS[source.kind] for source in itertools.chain(*sources))


def trace_sides(sources: Sources, settings: SegmentationSettings, excluded: Excluded = ()) -> tuple[Ensemble, Ensemble]:
    """Find the outlines of both samples, without those of the excluded ids.

    Raises
    ------
    ValueError
        When an image cannot be segmented, or of several one cannot be pooled with the others, naming it.
    """
    left_out = itertools.chain(excluded, itertools.repeat(frozenset()))
    done, total, found = 0, steps_of(sources), []
    for side in sources:
        images = []
        for source in side:
            with as_part(done, total):
                images.append(without(trace(source, settings), next(left_out)))
            done += TRACING_STEPS[source.kind]
        found.append(_pooled(images))
    a, b = found
    return a, b


def without(image: Ensemble, ids: Ids) -> Ensemble:
    """Leave out the curves of some ids, and count them."""
    keep = [index for index, one in enumerate(image.ids.tolist()) if str(one) not in ids]
    left_out = len(image) - len(keep)
    if not left_out:
        return image
    return Ensemble(
        [image.curves[index] for index in keep],
        name=image.name,
        unit=image.unit,
        ids=image.ids[keep],
        dropped=image.dropped | {EXCLUDED: left_out},
    )


def _pooled(images: list[Ensemble]) -> Ensemble:
    """One sample; of several images every id tells of its image."""
    if len(images) == 1:
        return images[0]
    members = [_member(image, images[0].unit) for image in images]
    return Ensemble.pooled(members, name=pooled_name([image.name for image in images]))


def pooled_name(names: Sequence[str]) -> str:
    """A name for several images that is short enough for a sentence."""
    return " + ".join(names) if len(names) <= _NAMED else f"{names[0]} and {len(names) - 1} more"


def _member(image: Ensemble, unit: str) -> Ensemble:
    if not len(image):  # more likely a mistake than a finding
        reasons = "; ".join(f"{count} {reason}" for reason, count in image.dropped.items())
        raise ValueError(
            f"{image.name} has no usable outline{f' ({reasons})' if reasons else ''}: check the segmentation and the "
            "minimum size, or take the image out of its sample"
        )
    try:
        image = in_unit(image, unit)
    except ValueError as error:
        raise ValueError(f"{image.name}: {error}") from error
    ids = [f"{image.name}:{one}" for one in image.ids.tolist()]
    return Ensemble(image.curves, name=image.name, unit=unit, ids=ids, dropped=image.dropped)


def own_ids(sample: Ensemble) -> list[tuple[int, str]]:
    """For every curve the place of its image in its sample, and its id in that image."""
    places = {name: place for place, name in enumerate(dict.fromkeys(sample.images.tolist()))}
    pairs = zip(sample.images.tolist(), map(str, sample.ids.tolist()), strict=True)
    return [(places[name], one.removeprefix(f"{name}:") if len(places) > 1 else one) for name, one in pairs]
