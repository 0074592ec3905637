"""What a recipe does to outlines that a file holds: it gives their pixel size, and leaves out small ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from .._types import Index
from ..archive import ContentError
from ..outlines import Ensemble, Outlines
from ..outlines.ensemble import WINDOW_COLUMNS
from ..outlines.reasons import Reason, too_small
from ..outlines.recipe import Recipe
from .columns import CHANNELS, CLASSES, FRAMES, bare_name
from .curve_table import CurveTable, feature_text

# Parameters of tracing that cannot be changed once there are outlines; how objects are found has no effect either, but
# other files may be images.
_TRACED = ("outline_smoothing", "smoothing_unit", "holes")
# In two frames objects are the same if at least half of them overlap by this much, as intersection over union.
_MIN_OVERLAP = 0.75
_MIN_SAME_FRACTION = 0.5
# Classes are few. One lies within another if at least this share of its outlines does, such as nuclei within cells.
_MAX_CLASSES, _MIN_WITHIN = 8, 0.5
# Features that identify an object in all frames.
_TRACKS = ("track", "trackid", "trackindex", "tracknumber", "particle", "particleid")  # the last ones of trackpy
# Ids stand for the same objects if the areas of at least so many correlate as much.
_MIN_MATCHED, _MIN_CORRELATION = 5, 0.9


def with_recipe(table: CurveTable, recipe: Outlines) -> Ensemble:
    """Apply the pixel size and the limits of a recipe to the outlines of a file.

    The pixel size overrides that of the file. The smallest area, length and number of vertices leave out outlines, if
    they are not the defaults. A smoothing other than that with which the outlines were traced raises a ValueError, as
    does the pixel size of outlines that are not in pixels.
    """
    ensemble = table.ensemble
    changed = recipe.changed()
    for name in _TRACED:
        if name in changed and ensemble.tracing.get(name) != changed[name]:
            raise ContentError(
                f"{name} = {changed[name]} has no effect on outlines, which a file of curves holds already: omit it, "
                "or give the image or its labels instead"
            )
    if recipe.pixel_scale is not None:
        ensemble = _calibrated(table, recipe.pixel_scale, str(recipe.unit))
    limits = {name for name in ("min_area", "min_length", "min_vertices") if name in changed}
    return _within_limits(ensemble, table.pixels, recipe) if limits else ensemble


def _calibrated(table: CurveTable, pixel: tuple[float, float], unit: str) -> Ensemble:
    ensemble = table.ensemble
    if ensemble.unit != "pixel" and ensemble.pixel_size is None and table.scale == (1.0, 1.0):
        raise ContentError(
            f"its outlines are in {ensemble.unit} already, with no pixels to which a pixel size applies: omit it"
        )
    factors, metadata = np.divide(pixel, table.scale), ensemble.metadata.copy()
    for name, factor in zip(WINDOW_COLUMNS, factors, strict=True):
        if name in metadata:
            metadata[name] *= factor
    window = None if ensemble.window is None else ensemble.window * factors
    curves = [curve * pixel for curve in table.pixels]
    return ensemble.derived(curves, unit=unit, pixel_size=pixel, window=window, metadata=metadata)


def _within_limits(ensemble: Ensemble, pixels: list[Any], recipe: Recipe) -> Ensemble:
    """Leave out the outlines that are too small, measured in pixels as in an image."""
    measured = Ensemble(pixels).features
    counts = np.diff(ensemble.offsets)
    refused = {
        too_small(recipe.min_area): measured["area"].to_numpy() < recipe.min_area,
        Reason("vertices", recipe.min_vertices): counts < recipe.min_vertices,
        Reason("length", recipe.min_length): measured["perimeter"].to_numpy() < recipe.min_length,
    }
    dropped, kept = Counter(ensemble.dropped), np.ones(len(ensemble), dtype=np.bool_)
    for reason, unusable in refused.items():
        dropped[reason] += int((kept & unusable).sum())
        kept &= ~unusable
    return ensemble[kept].derived(ensemble[kept].curves, dropped=dropped)


def one_frame(table: CurveTable) -> tuple[CurveTable, str]:
    """Treat the frames of a movie and the planes of a stack as images of their own; also return a remark on them.

    Where they show the same objects, which are not further outlines of a sample, those of one frame are kept: that with
    most objects, the first of several. Objects are the same if their outlines overlap, or by their track. So are
    channels treated, but as one image where they show different objects. Classes of which one lies within another are
    only remarked on.
    """
    table, of_channels = _seen_once(table, CHANNELS)
    table, of_frames = _seen_once(table, FRAMES)
    return table, "; ".join(filter(None, (of_channels, of_frames, _nested_classes(table))))


def _nested_classes(table: CurveTable) -> str:
    """Return a remark if the outlines of one class lie within those of another, such as nuclei within cells."""
    for name, values in table.features.items():
        kinds = values.reset_index(drop=True).map(feature_text).where(values.notna().to_numpy())
        if bare_name(name) not in CLASSES or not 1 < kinds.nunique() <= _MAX_CLASSES:
            continue
        rings = shapely.make_valid([shapely.polygons(curve) for curve in table.ensemble.curves])
        inner, outer = shapely.STRtree(rings).query(shapely.point_on_surface(rings), "within")
        images = np.asarray(table.ensemble.images)
        one, other = kinds.iloc[inner], kinds.iloc[outer]
        apart = (one.notna().to_numpy() & other.notna().to_numpy()) & (one.to_numpy() != other.to_numpy())
        apart &= images[inner] == images[outer]
        smaller = shapely.area(rings[inner]) < shapely.area(rings[outer])
        within = kinds[np.unique(inner[apart & smaller])].value_counts() / kinds.value_counts()
        if (within >= _MIN_WITHIN).any():
            kind = str(within.idxmax())
            return (
                f"holds outlines of several classes, and those of {kind} lie within others: all are compared. A column "
                f"feature of a design table chooses one, such as {name} = {kind}"
            )
    return ""


def _seen_once(table: CurveTable, kind: Sequence[str]) -> tuple[CurveTable, str]:
    """Keep the same objects in one of the frames, or channels, that columns of these names tell apart."""
    frames = frames_of(table, kind)
    several: dict[str, dict[str, Index]] = {}
    for (image, frame), rows in frames.items():
        several.setdefault(image, {})[frame] = rows
    if len(frames) == len(several):
        return table, ""
    repeated = {image: own for image, own in several.items() if len(own) > 1 and _are_same_objects(table, own)}
    used = {image: max(own, key=lambda frame: len(own[frame])) for image, own in repeated.items()}
    kept = np.sort(np.concatenate([rows for (image, one), rows in frames.items() if used.get(image, one) == one]))
    names = np.array(table.ensemble.images, dtype=object)
    for (image, frame), rows in frames.items():
        names[rows] = image if image in repeated or kind is CHANNELS else f"{image} {frame}".rstrip()
    dropped = Counter(table.ensemble.dropped) + Counter({Reason("frames"): len(table.ensemble) - len(kept)})
    chosen = table[kept]
    ensemble = chosen.ensemble.derived(chosen.ensemble.curves, dropped=dropped, images=names[kept])
    return replace(chosen, ensemble=ensemble), _remark(several, used, kind)


def _remark(several: Mapping[str, Mapping[str, Index]], used: Mapping[str, str], kind: Sequence[str]) -> str:
    """Return how the frames are treated, of the first image if there are several."""
    remarks, what = [], "channels" if kind is CHANNELS else "frames"
    if used:
        image, frame = next(iter(used.items()))
        other = next(one for one in several[image] if one != frame)
        where = f" of {image}" if len(several) > 1 else ""
        remarks.append(
            f"shows the same objects in {len(several[image])} {what}{where}: those of {frame} are used. A column "
            f"feature of a design table chooses another, such as {' = '.join(other.split(', ')[0].rsplit(' ', 1))}"
        )
    others = [len(own) for image, own in several.items() if image not in used and len(own) > 1]
    if others and kind is FRAMES:
        remarks.append(f"holds outlines of {sum(others)} frames: each counts as an image of its own")
    return "; ".join(remarks)


def frames_of(table: CurveTable, kind: Sequence[str] = FRAMES) -> dict[tuple[str, str], Index]:
    """Return the curves of each image and frame (or plane, or channel), such as ("field 1", "frame 2").

    The frame is empty where all curves of an image are of one.
    """
    # A measured time or depth of each object is not a frame.
    known = [column for name, column in table.features.items() if bare_name(name) in kind]
    names = [str(one.name) for one in known if one.dtype.kind != "f" or (one.dropna() % 1 == 0).all()]
    rows = zip(*(table.features[name].tolist() for name in names), strict=True)
    frames = [
        ", ".join(f"{name} {feature_text(value)}" for name, value in zip(names, row, strict=True) if value == value)
        for row in rows
    ] or [""] * len(table.ensemble)
    places: dict[tuple[str, str], list[int]] = {}
    for row, place in enumerate(zip(table.ensemble.images.tolist(), frames, strict=True)):
        places.setdefault(place, []).append(row)
    counts = Counter(image for image, _ in places)
    return {
        (image, frame if counts[image] > 1 else ""): np.array(rows, dtype=np.int64)
        for (image, frame), rows in places.items()
    }


def _are_same_objects(table: CurveTable, frames: Mapping[str, Index]) -> bool:
    """Whether at least half of the objects of a frame are seen again in the next one, at their place or by their id."""
    if any(_is_identity(table, name, list(frames.values())) for name in table.features):
        return True
    curves = table.ensemble.curves
    polygons = [
        shapely.make_valid(shapely.polygons([shapely.linearrings(curves[row]) for row in rows.tolist()]))
        for rows in frames.values()
    ]
    same = []
    for (earlier, before), (later, after) in pairwise(zip(polygons, frames.values(), strict=True)):
        here, there = shapely.STRtree(earlier).query(later, predicate="intersects")
        one, other = later[here], earlier[there]
        shared = shapely.area(shapely.intersection(one, other))
        overlap = shared / (shapely.area(one) + shapely.area(other) - shared)
        matched = np.unique(here[overlap >= _MIN_OVERLAP])
        same.append(len(matched) / min(len(before), len(after)))
    return bool(np.median(same) >= _MIN_SAME_FRACTION)


def _is_identity(table: CurveTable, name: Any, frames: Sequence[Index]) -> bool:
    """Whether a feature identifies objects in all frames: by its name, or as the same values go with the same areas.

    Ids that start again in each frame go with other objects.
    """
    import pandas as pd  # slow to import, and not needed to import this module

    values = table.features[name]
    if bare_name(name) in (*FRAMES, *CHANNELS) or any(values.iloc[rows].duplicated().any() for rows in frames):
        return False
    seen = [values.iloc[after].isin(values.iloc[before]) for before, after in pairwise(frames)]
    if np.median([one.mean() for one in seen]) < _MIN_SAME_FRACTION:
        return False
    if bare_name(name) in _TRACKS:
        return True
    areas = np.log(table.ensemble.features["area"].to_numpy())
    agreement = []
    for before, after in pairwise(frames):
        _, here, there = np.intersect1d(values.iloc[before].astype(str), values.iloc[after].astype(str), False, True)
        if len(here) < _MIN_MATCHED:
            return False
        one, other = areas[before[here]], areas[after[there]]
        # Objects that are numbered by size have similar areas at equal ids in any image.
        numbers = pd.to_numeric(values.iloc[before[here]], errors="coerce").rank().fillna(0)
        by_size = abs(_correlation(numbers.to_numpy(), one.argsort().argsort()))
        agreement.append(_correlation(one, other) if by_size < _MIN_CORRELATION else 0.0)
    return bool(np.median(agreement) >= _MIN_CORRELATION)


def _correlation(one: NDArray[Any], other: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.nan_to_num(np.corrcoef(one, other)[0, 1]))
