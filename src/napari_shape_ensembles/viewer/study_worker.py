"""Studies in the background: from copied layers to partial results that can be shown as they come."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..comparison import Settings
from ..outlines import Outlines
from ..progress import as_part
from ..studies import DecisionLandscape, SmoothingStudy, decision_landscape, smoothing_study
from .inputs import SegmentationSettings, Source
from .sides import Sources, trace_sides


@dataclass(frozen=True)
class Ranges:
    """What a study sweeps; σ only in a smoothing study."""

    ranks: tuple[int, ...]
    landmarks: tuple[int, ...]
    sigmas: tuple[float, ...] = ()


def run_landscape(
    sources: Sources, segmentation: SegmentationSettings, settings: Settings, ranges: Ranges
) -> DecisionLandscape:
    """Trace two copied samples, then compare them over ranks and numbers of landmarks."""
    with as_part(0, 0):
        a, b = trace_sides(sources, segmentation)
    return decision_landscape(a, b, ranks=ranges.ranks, landmarks=ranges.landmarks, settings=settings)


def run_smoothing(
    groups: tuple[Sequence[Source], Sequence[Source]],
    segmentation: SegmentationSettings,
    settings: Settings,
    ranges: Ranges,
    merge: bool,
) -> SmoothingStudy:
    """Segment the copied images of two groups, then sweep the smoothing of their outlines.

    With `merge` all objects of an image are smoothed together, as one mask.
    """
    outlines = common_tracing([*groups[0], *groups[1]], segmentation)
    planes: list[list[NDArray[Any]]] = []
    for sources in groups:
        planes.append([])
        for source in sources:
            with as_part(0, 0, f"segmenting {source.name}: "):
                labels = _labels(source, segmentation)
            planes[-1].append(labels > 0 if merge else labels)
    return smoothing_study(
        *planes,
        sigmas=ranges.sigmas,
        ranks=ranges.ranks,
        landmarks=ranges.landmarks,
        settings=settings,
        outlines=outlines,
    )


def common_tracing(sources: Sequence[Source], segmentation: SegmentationSettings) -> Outlines:
    """How all images of a study are traced.

    Raises
    ------
    ValueError
        Where their pixel sizes differ: a σ in pixels would then mean different lengths.
    """
    first = sources[0]
    for source in sources:
        if source.unit != first.unit or not np.allclose(source.scale, first.scale):
            sizes = ", ".join(f"{s.name}: {s.scale[0]:g} × {s.scale[1]:g} {s.unit}" for s in (first, source))
            raise ValueError(
                f"The pixel sizes differ ({sizes}): a σ in pixels would not be the same smoothing for both."
            )
    scale = float(first.scale[0]), float(first.scale[1])
    return replace(segmentation, pixel_size=scale, unit=first.unit)


def _labels(source: Source, settings: SegmentationSettings) -> NDArray[Any]:
    if source.kind == "labels":
        return np.asarray(source.data)
    try:
        return settings.labels(source.data)
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error
