"""napari writer of Shapes layers as files of curves."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Shapes

from ..io import CurveTable, write_curves
from ..io.layouts import ending_of
from ..outlines import Ensemble
from ..outlines.reasons import OPEN
from .inputs import ellipse_outline, pixel_size_of

# Shape types that are not closed.
_OPEN = ("line", "path")


def write_shapes(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write a Shapes layer as a file of curves, in its unit; the suffix determines the format.

    A layer that was read from annotations keeps the format of that file, and all else in it; see `write_curves`. Other
    layers are written as COCO where several formats share the suffix.

    Raises an OSError for shapes of more than two axes, unsupported formats and unwritable files: napari would
    interpret a ValueError as "no matching writer", and discard its message.
    """
    try:
        shapes = [np.asarray(vertices, dtype=np.float64) for vertices in data]
        if any(vertices.shape[1] != 2 for vertices in shapes):
            raise ValueError(f'"{attributes["name"]}" has more than two axes: show one plane and copy its shapes')
        kinds = attributes.get("shape_type", ["polygon"] * len(shapes))
        pairs = enumerate(zip(kinds, shapes, strict=True))
        kept = [row for row, (kind, one) in pairs if kind not in _OPEN or np.array_equal(one[0], one[-1])]
        closed = [ellipse_outline(shapes[row]) if kinds[row] == "ellipse" else shapes[row] for row in kept]
        names = ("name", "scale", "translate", "rotate", "shear", "affine", "units")
        placed = Shapes(ndim=2, **{name: attributes[name] for name in names if name in attributes})
        (height, width), unit = pixel_size_of(placed, (0, 1))
        scale = float(height), float(width)
        features = pd.DataFrame(attributes.get("features")).iloc[kept].reset_index(drop=True)
        ids = _distinct(features["id"]) if "id" in features else pd.Series(range(len(kept)))
        curves, dropped = [shape * scale for shape in closed], {OPEN: len(shapes) - len(kept)}
        ensemble = Ensemble(curves, name=str(attributes["name"]), unit=unit, ids=ids, dropped=dropped)
        features = features.drop(columns="id", errors="ignore")
        features = features.iloc[pd.Index(ids).get_indexer(pd.Index(ensemble.ids))].reset_index(drop=True)
        original = (attributes.get("metadata") or {}).get("file", "")
        annotated = Path(original).is_file() and ending_of(original) == Path(path).suffix.lower()
        layout = "COCO" if Path(path).suffix.lower() == ".json" and not annotated else ""
        table = CurveTable(ensemble, features, scale)
        write_curves(path, table, layout=layout, original=original if annotated else None)
    except ValueError as error:
        raise OSError(str(error)) from error
    return [path]


def _distinct(ids: pd.Series) -> pd.Series:
    """Return ids that are unique: napari gives a new shape the features, and so the id, of an earlier one."""
    repeated = ids.duplicated() | ids.isna()
    if not repeated.any():
        return ids
    numbers = pd.api.types.is_numeric_dtype(ids)
    first = 0 if ids.isna().all() else int(ids.max()) + 1 if numbers else 1
    new = iter(range(first, first + len(ids)))
    return pd.Series(
        [
            one if not again else next(new) if numbers else f"new {next(new)}"
            for one, again in zip(ids, repeated, strict=True)
        ]
    )
