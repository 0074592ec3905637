"""A comparison to look at, without a viewer: its curves as layer data, its answer as a table for a notebook."""

from html import escape
from typing import Any

import numpy as np

from .archive import Tree
from .curves import Ensemble
from .discrepancy import TRUTH_TABLE

LayerData = tuple[list[np.ndarray], dict[str, Any], str]

#: Key in a layer's metadata by which the plugin knows the layers it made.
MARK = "napari-shape-ensembles"
COLORMAP = "viridis"
PAINTED = ("product", "undulation", "scale")

_TEST_HEADINGS = ("test", "MMD", "threshold", "p", "difference")
# The few most unusual curves may share the last colour, or they would leave one colour to all others.
_CLIPPED = 99
# Outlines are thinned for display only, by at most this share of a curve's typical diameter.
_THINNED = 0.002


def curve_layer_data(result: Any, view: Tree | None = None) -> list[LayerData]:
    """One Shapes layer per side of a `Comparison`, its curves filled by their distance from the mean shape.

    Parameters
    ----------
    result : Comparison
    view : dict, optional
        "painted": "product", "undulation" or "scale"; "a" and "b": {"scale": size of a pixel in the comparison's unit,
        "translate": (row, column)}. What is left out has pixels of one unit, at the origin, painted by product.

    Returns
    -------
    list of two (curves, options, "shapes")
        As napari's readers return them. Both share one colour scale, from 0 to the 99th percentile of all curves.
    """
    view = view or {}
    painted = view.get("painted", PAINTED[0])
    if painted not in PAINTED:
        raise ValueError(f"curves are painted by {', '.join(PAINTED)}, not {painted!r}")
    high = float(np.percentile(result.distances[painted], _CLIPPED)) or 1.0
    shared = {"face_contrast_limits": (0.0, high), "metadata": {MARK: {"comparison": result, "painted": painted}}}
    return [
        _layer(result, side, ensemble, painted, {**shared, **_placement(view.get(key, {}), ensemble)})
        for side, key, ensemble in (("A", "a", result.a), ("B", "b", result.b))
    ]


def _placement(place: Tree, ensemble: Ensemble) -> dict[str, Any]:
    return {
        "scale": tuple(float(size) for size in place.get("scale", (1, 1))),
        "translate": tuple(float(shift) for shift in place.get("translate", (0, 0))),
        "units": (ensemble.unit,) * 2,
    }


def _layer(result: Any, side: str, ensemble: Ensemble, painted: str, options: dict[str, Any]) -> LayerData:
    import pandas as pd  # heavy, and not needed for a comparison

    table = result.distances[result.distances["source"] == side].reset_index(drop=True)
    measures = ensemble.features
    diameter = float(measures["equivalent_diameter"].median())
    name = ensemble.name or side
    features = pd.DataFrame(
        {
            **{column: measures[column] for column in ("id", "area", "perimeter")},
            **{column: table[column].astype(float) for column in PAINTED},
            "source": name,
            "painted": table[painted].astype(float),
        }
    )
    curves = [_thinned(curve, diameter * _THINNED) / options["scale"] for curve in ensemble.curves]
    return (
        curves,
        {
            "name": f"{name} curves",
            "shape_type": "polygon",
            "features": features,
            "face_color": "painted",
            "face_colormap": COLORMAP,
            "edge_color": "white",
            "edge_width": max(diameter / 40 / float(np.mean(options["scale"])), 1e-9),
            "opacity": 0.8,
            **options,
        },
        "shapes",
    )


def _thinned(curve: np.ndarray, tolerance: float) -> np.ndarray:
    import shapely

    ring = shapely.simplify(shapely.Polygon(curve), tolerance, preserve_topology=True)
    thinned = shapely.get_coordinates(ring)[:-1]
    return thinned if len(thinned) >= 3 else np.array(curve)


def summary_html(result: Any) -> str:
    """The answer of a `Comparison` with the truth table, its row marked, and the two tests; names are escaped."""
    rows = "".join(_row_html(case, words, case == result.case) for case, words in TRUTH_TABLE.items())
    decided = result.case in TRUTH_TABLE
    tests = "".join(
        _test_html(name, test, decided) for name, test in (("undulation", result.undulation), ("scale", result.scale))
    )
    warnings = "".join(f"<li>{escape(text)}</li>" for text in result.warnings)
    tables = _table_html(("", "undulation ∧ scale", "in words"), rows) + _table_html(_TEST_HEADINGS, tests)
    return f"<div><p><b>{escape(result.summary())}</b></p>{tables}{f'<ul>{warnings}</ul>' if warnings else ''}</div>"


def _table_html(headings: tuple[str, ...], rows: str) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row_html(case: str, words: str, holds: bool) -> str:
    sign, tag = ("►", "b") if holds else ("", "span")
    return f"<tr><td>{sign}</td><td><{tag}>{case}</{tag}></td><td><{tag}>{escape(words)}</{tag}></td></tr>"


def _test_html(name: str, test: Any, decided: bool) -> str:
    decision = ("detected" if test.rejected else "not detected") if decided else "too few curves"
    cells = (name, f"{test.mmd:.3g}", f"{test.threshold:.3g}", f"{test.p_value:.2g}", decision)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
