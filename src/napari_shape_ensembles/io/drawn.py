"""What a recipe does to outlines that a file holds: it gives their pixel size, and leaves out small ones."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import shapely

from .._types import Index
from ..archive import ContentError
from ..outlines import Ensemble, Outlines
from ..outlines.reasons import Reason, too_small
from ..outlines.recipe import Recipe
from .columns import FRAMES, bare_name
from .curve_table import CurveTable, feature_text

# Parameters of tracing that cannot be changed once there are outlines; how objects are found has no effect either, but
# other files may be images.
_TRACED = ("outline_smoothing", "smoothing_unit", "holes")
# In two frames objects are the same if at least half of them overlap by this much, as intersection over union.
_MIN_OVERLAP = 0.75
_MIN_SAME_FRACTION = 0.5


def with_recipe(table: CurveTable, recipe: Outlines) -> Ensemble:
    """Apply the pixel size and the limits of a recipe to the outlines of a file.

    Parameters
    ----------
    table : CurveTable
    recipe : Outlines
        Its pixel size overrides that of the file. Its smallest area, length and number of vertices leave out outlines,
        if they are not the defaults.

    Raises
    ------
    ValueError
        For a smoothing other than that with which the outlines were traced, and for the pixel size of outlines that are
        not in pixels.
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
    curves = [curve * pixel for curve in table.pixels]
    return ensemble.derived(curves, unit=unit, pixel_size=pixel)


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
    """Of objects that are seen again in several frames, keep those of one frame; also return a remark on frames.

    The frames of a movie or the planes of a stack show the same objects if their outlines overlap. That with most
    objects is kept, the first of several.
    """
    name, rows = frames_of(table)
    if not name:
        return table, ""
    if not _are_same_objects(table.ensemble, list(rows.values())):
        return table, f"holds outlines of {len(rows)} values of {name}: they count as those of one image"
    value = max(rows, key=lambda value: len(rows[value]))
    other = next(one for one in rows if one != value)
    kept = rows[value]
    dropped = Counter(table.ensemble.dropped) + Counter({Reason("frames"): len(table.ensemble) - len(kept)})
    chosen = table.ensemble[kept]
    ensemble = chosen.derived(chosen.curves, dropped=dropped)
    features = table.features.iloc[kept].reset_index(drop=True)
    remark = (
        f"shows the same objects in {len(rows)} values of {name}: those of {name} {feature_text(value)} are used. A "
        f"column feature of a design table chooses another, such as {name} = {feature_text(other)}"
    )
    return CurveTable(ensemble, features, table.scale, table.provenance), remark


def frames_of(table: CurveTable) -> tuple[str, dict[Any, Index]]:
    """Return the feature that tells the frame or the slice of each curve, and the curves of each of its values.

    Both are empty if there are not several.
    """
    name = next(
        (name for name in table.features if bare_name(name) in FRAMES and table.features[name].nunique() > 1), None
    )
    if name is None:
        return "", {}
    frames = table.features[name]
    return str(name), {value: np.flatnonzero(frames == value) for value in dict.fromkeys(frames.dropna())}


def _are_same_objects(ensemble: Ensemble, rows: list[Any]) -> bool:
    polygons = shapely.make_valid(shapely.polygons([shapely.linearrings(curve) for curve in ensemble.curves]))
    same = []
    for before, after in pairwise(rows):
        tree = shapely.STRtree(polygons[before])
        here, there = tree.query(polygons[after], predicate="intersects")
        one, other = polygons[after][here], polygons[before][there]
        shared = shapely.area(shapely.intersection(one, other))
        overlap = shared / (shapely.area(one) + shapely.area(other) - shared)
        matched = np.unique(here[overlap >= _MIN_OVERLAP])
        same.append(len(matched) / min(len(before), len(after)))
    return bool(np.median(same) >= _MIN_SAME_FRACTION)
