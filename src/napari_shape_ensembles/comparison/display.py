"""Display of a comparison without a viewer: curves as layer data, results as an HTML table for notebooks."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..archive import ContentError, Tree
from ..mmd import MMDTest
from ..outlines import Ensemble
from ..palette import COLORMAP
from ..words import p_text
from .colorings import COLORINGS, DEFAULT
from .verdict import TRUTH_TABLE

LayerData = tuple[Any, dict[str, Any], str]

#: Metadata key of layers made by the plugin.
MARK = "napari-shape-ensembles"

_TEST_HEADINGS = ("test", "MMD", "threshold", "p", "difference")
#: Percentile at which the color scale ends, so that a few extreme curves do not compress it for all others.
DEFAULT_PERCENTILE = 99
# Outlines are simplified for display only, by at most this much of a pixel, or this fraction of the typical diameter.
_SIMPLIFY_PX, _SIMPLIFY_TOLERANCE = 0.25, 0.002
# Plausible pixel sizes in any unit; beyond them a file is damaged, and coordinates in pixels would overflow.
_SMALLEST, _LARGEST = 1e-12, 1e12
# From this many curves on, edges and sub-pixel detail cost more time than they are worth.
_FAST_DISPLAY_FROM = 2000


def curve_layer_data(
    result: Any,
    view: Tree | None = None,
    names: Collection[str] = (),
    *,
    by_pixels: bool = False,
    thin: bool = True,
) -> list[LayerData]:
    """One Shapes layer per side of a comparison, or per image, with faces colored by one of `COLORINGS`.

    Parameters
    ----------
    result : Comparison
    view : dict, optional
        "painted": the name of a coloring; "a" and "b": {"scale": size of a pixel in the
        comparison's unit, "translate": (row, column)}. If a side is several images with layers of their own, "images"
        in it is a list of their names with a scale and a translate each. Defaults: pixels of one unit, at the origin,
        colored by the distance from the mean shape.
    names : collection of str
        Colorings that are features of the layers in any case; all others are if they take no time.
    by_pixels : bool
        Simplify curves by a quarter of a pixel, thousands of them by half a pixel, if its size is known, instead of by
        a fraction of their diameter: fewer vertices, without visible differences.
    thin : bool
        Whether to simplify the curves.

    Returns
    -------
    list of (curves, options, "shapes")
        A's before B's, as napari's readers return them. All share one color scale, which ends at the 99th percentile of
        all curves.
    """
    import pandas as pd  # slow to import, and not needed for a comparison

    view = view or {}
    painted = str(view.get("painted", DEFAULT))
    if painted not in COLORINGS:
        raise ContentError(f"curves can be colored by {', '.join(COLORINGS)}, not {painted!r}")
    known = [one for one in COLORINGS.values() if not one.slow or one.name in names or one.name == painted]
    table = pd.DataFrame({one.name: one.values(result) for one in known})
    table["painted"] = table[painted]
    limits = COLORINGS[painted].limits(table["painted"].to_numpy(), DEFAULT_PERCENTILE)
    layers, first = [], len(result.a)
    for side, ensemble, rows in (("A", result.a, table[:first]), ("B", result.b, table[first:])):
        given, names = view.get(side.lower(), {}), image_names(view, side)
        images = [(_layer_placement(given, side), ensemble, np.ones(len(ensemble), dtype=np.bool_))]
        if names:
            if names != [name for name, _ in itertools.groupby(ensemble.images.tolist())]:
                raise ContentError(f"the images of {side} in the saved view do not match those of its curves")
            images = []
            for name, stated in zip(names, given["images"], strict=True):
                own = ensemble.images == name
                some = ensemble[own]
                some = Ensemble(some.curves, name=name, unit=some.unit, ids=some.ids)
                images.append((_layer_placement(stated, side), some, own))
        for part, (place, image, own) in enumerate(images):
            pixel = tuple(place.get("scale", (1.0, 1.0)))
            curves = [curve / pixel for curve in image.curves]
            measures = image.features
            tolerance = _SIMPLIFY_PX * (1 + (len(image) > _FAST_DISPLAY_FROM))
            if not by_pixels or "scale" not in place:
                tolerance = _SIMPLIFY_TOLERANCE * float(measures["equivalent_diameter"].median()) / max(pixel)
            further = rows[own].reset_index(drop=True)
            further = further.drop(columns=["sample", "id", "area", "perimeter"], errors="ignore")
            features = measures[["id", "area", "perimeter"]].assign(**further)
            options = {
                "name": f"{image.name or 'image'} curves",
                "shape_type": "polygon",
                "face_color": "painted",
                "face_colormap": COLORMAP,
                "edge_color": "white",
                "edge_width": edge_width(image, place),
                "opacity": 0.8,
                "scale": pixel,
                "translate": tuple(place.get("translate", (0.0, 0.0))),
                "units": (image.unit,) * 2,
                "features": features.assign(sample=image.name or side, excluded=False),
                "face_contrast_limits": limits,
                "metadata": {MARK: {"source": side, "part": part, "view": view}},
            }
            layers.append((simplified(curves, tolerance) if thin else curves, options, "shapes"))
    return layers


def image_names(view: Tree, side: str) -> list[str]:
    """Names of the images of A or B that have layers of their own; empty if the side is one layer."""
    place = view.get(side.lower(), {})
    places = place.get("images", []) if isinstance(place, dict) else None
    if not isinstance(places, list) or not all(isinstance(one, dict) and "name" in one for one in places):
        raise ContentError(f"the images of {side} in the saved view are not a list of named places")
    return [str(one["name"]) for one in places]


def _layer_placement(place: Tree, side: str) -> Tree:
    """Pixel size and position of a layer, if given; validated, as they come from files."""
    try:
        pairs: Tree = {name: [float(part) for part in place[name]] for name in ("scale", "translate") if name in place}
    except (TypeError, ValueError) as error:
        raise ContentError(f"the place of {side} in the saved view is invalid: {place!r}") from error
    plausible = all(_SMALLEST <= size <= _LARGEST for size in pairs.get("scale", ()))
    if not plausible or not all(len(pair) == 2 and np.isfinite(pair).all() for pair in pairs.values()):
        raise ContentError(f"the place of {side} in the saved view is invalid: {place!r}")
    return pairs


def edge_width(ensemble: Ensemble, place: Tree) -> float:
    """Edge width in the layer's own pixels: thin, so that small curves keep their color; zero for thousands."""
    if len(ensemble) > _FAST_DISPLAY_FROM:
        return 0.0
    width = float(ensemble.features["equivalent_diameter"].median()) / 40 / float(np.mean(place.get("scale", 1.0)))
    return float(np.clip(width, 0.1, 2.0)) if "scale" in place else max(width, 1e-9)


def simplified(curves: Sequence[np.ndarray], tolerance: float = _SIMPLIFY_PX) -> list[np.ndarray]:
    """Simplify curves for display, each by at most a tolerance: for curves in pixels, a quarter of a pixel.

    Vectorized, as a call per curve takes ten times as long. The few that would self-intersect are simplified again with
    preserved topology.
    """
    import shapely

    if not curves:
        return []
    closed = [np.concatenate([curve, curve[:1]]) for curve in curves]
    place = np.repeat(np.arange(len(closed)), [len(curve) for curve in closed])
    # Lines rather than rings: simplifying a ring may also remove its first vertex, and exceed the tolerance.
    rings = shapely.linestrings(np.concatenate(closed), indices=place)
    thinned = shapely.simplify(rings, tolerance, preserve_topology=False)
    doubtful = (shapely.get_num_coordinates(thinned) < 4) | ~shapely.is_simple(thinned)
    thinned[doubtful] = shapely.simplify(rings[doubtful], tolerance, preserve_topology=True)
    vertices, place = shapely.get_coordinates(thinned, return_index=True)
    parts = np.split(vertices, np.flatnonzero(np.diff(place)) + 1)
    return [part[:-1] for part in parts]


def summary_html(
    summary: str, case: str, tests: Mapping[str, MMDTest], warnings: Sequence[str], undecided: str = ""
) -> str:
    """HTML of a result: the truth table with its row marked, and the tests by name; names are escaped.

    `undecided` says why the tests have no decision, if they have none.
    """
    rows = "".join(_row_html(row, words, row == case) for row, words in TRUTH_TABLE.items())
    lines = "".join(_test_html(name, test, undecided) for name, test in tests.items())
    notes = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    tables = _table_html(("", "undulation ∧ scale", "meaning"), rows) + _table_html(_TEST_HEADINGS, lines)
    return f"<div><p><b>{escape(summary)}</b></p>{tables}{f'<ul>{notes}</ul>' if notes else ''}</div>"


def _table_html(headings: tuple[str, ...], rows: str) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row_html(case: str, words: str, holds: bool) -> str:
    sign, tag = ("►", "b") if holds else ("", "span")
    return f"<tr><td>{sign}</td><td><{tag}>{case}</{tag}></td><td><{tag}>{escape(words)}</{tag}></td></tr>"


def _test_html(name: str, test: MMDTest, undecided: str) -> str:
    decision = undecided or ("detected" if test.rejected else "not detected")
    cells = (name, f"{test.mmd:.3g}", f"{test.threshold:.3g}", p_text(test.p_value, test.significance), decision)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
