"""Files that napari opens and saves through this plugin: curves of many formats, and whole comparisons."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..archive import is_archive
from ..comparison import Comparison
from ..comparison.compare import FORMAT
from ..comparison.display import LayerData
from ..io import CurveTable, read_comparison_view, read_curves, write_curves
from ..io.annotations import is_annotated
from ..io.content import json_of
from ..outlines import Ensemble, conversion_factor
from ..palette import OUTLINE
from .inputs import ellipse_outline, symbol
from .layers import painted_data

Reader = Callable[[str | Sequence[str]], list[LayerData]]

# Shapes that enclose nothing.
_OPEN = ("line", "path")


def curves_reader(path: str | Sequence[str]) -> Reader | None:
    """Return the function that opens these files as layers, or None where they hold neither curves nor a comparison."""
    return read_curve_layers if all(_known(Path(name)) for name in paths_of(path)) else None


def paths_of(path: str | Sequence[str]) -> list[str]:
    """One path or several, as a list; napari hands over either."""
    return [path] if isinstance(path, str) else list(path)


def _known(path: Path) -> bool:
    """Whether a file of an ending that others use too is one of ours."""
    if path.suffix.lower() != ".json":
        return True
    try:
        return is_annotated(json_of(path))
    except (OSError, ValueError, RecursionError):
        return False


def read_curve_layers(path: str | Sequence[str]) -> list[LayerData]:
    """Open files of curves as Shapes layers, and saved comparisons as their two painted layers."""
    return [layer for name in paths_of(path) for layer in _layers(name)]


def _layers(path: str) -> Iterator[LayerData]:
    if is_archive(path, FORMAT):
        yield from painted_data(Comparison.load(path), read_comparison_view(path))
    else:
        table = read_curves(path)
        for name, rows in _images(table):
            yield _curve_layer(table, name, rows)


def _images(table: CurveTable) -> list[tuple[str, np.ndarray]]:
    """The curves of each image, where the file tells several images apart."""
    everything = [(table.ensemble.name, np.arange(len(table.ensemble)))]
    if "image" not in table.features:
        return everything
    images = table.features["image"].astype(str)
    parted = [(name, np.flatnonzero(images == name)) for name in dict.fromkeys(images)]
    return parted if len(parted) > 1 else everything


def _curve_layer(table: CurveTable, name: str, rows: np.ndarray) -> LayerData:
    pixels = table.pixels
    features = table.features.iloc[rows].reset_index(drop=True) if table.features.shape[1] else table.features
    options = {
        "name": name,
        "shape_type": "polygon",
        "features": features.assign(id=table.ensemble.ids[rows]),
        "scale": table.scale,
        "units": (table.ensemble.unit,) * 2,
        "face_color": "transparent",
        "edge_color": OUTLINE,
        "edge_width": max(_typical_size([pixels[row] for row in rows]) / 40, 0.1),
        "metadata": {"provenance": dict(table.provenance), "left out": table.ensemble.dropped},
    }
    return [pixels[row] for row in rows], options, "shapes"


def _typical_size(curves: list[np.ndarray]) -> float:
    return float(np.median([np.ptp(curve, axis=0).mean() for curve in curves])) if curves else 1.0


def write_shapes(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write a Shapes layer as a file of curves, in its unit; the ending of the name decides on the format.

    Raises
    ------
    OSError
        For shapes of more than two axes, a format that cannot be written, or a file that cannot. napari would take
        a ValueError to mean that no writer fits, and keep its words to itself.
    """
    try:
        write_curves(path, _table([np.asarray(vertices, dtype=np.float64) for vertices in data], attributes))
    except ValueError as error:
        raise OSError(str(error)) from error
    return [path]


def _table(shapes: list[np.ndarray], attributes: dict[str, Any]) -> CurveTable:
    """The closed shapes of a layer with its features; the open ones are counted."""
    if any(vertices.shape[1] != 2 for vertices in shapes):
        raise ValueError(f'"{attributes["name"]}" has more than two axes: show one plane and copy its shapes')
    kinds = attributes.get("shape_type", ["polygon"] * len(shapes))
    kept = [row for row, kind in enumerate(kinds) if not _is_open(kind, shapes[row])]
    unit, scale = _calibration(attributes)
    features = pd.DataFrame(attributes.get("features")).iloc[kept].reset_index(drop=True)
    ids = features["id"] if "id" in features and features["id"].is_unique else pd.Series(range(len(kept)))
    ensemble = Ensemble(
        [_outline(kinds[row], shapes[row]) * scale for row in kept],
        name=str(attributes["name"]),
        unit=unit,
        ids=ids,
        dropped={"open": len(shapes) - len(kept)},
    )
    rows = features.drop(columns="id", errors="ignore").iloc[pd.Index(ids).get_indexer(pd.Index(ensemble.ids))]
    return CurveTable(ensemble, rows.reset_index(drop=True), scale)


def _outline(kind: str, vertices: np.ndarray) -> np.ndarray:
    """Vertices of a shape; an ellipse is kept by napari as the corners of its box."""
    return ellipse_outline(vertices) if kind == "ellipse" else vertices


def _is_open(kind: str, vertices: np.ndarray) -> bool:
    return kind in _OPEN and not np.array_equal(vertices[0], vertices[-1])


def _calibration(attributes: dict[str, Any]) -> tuple[str, tuple[float, float]]:
    """Unit of the rows, and size of a pixel in it."""
    rows, columns = (symbol(unit) for unit in attributes["units"])
    height, width = (float(size) for size in attributes["scale"])
    return rows, (height, width if rows == columns else width * conversion_factor(columns, rows))
