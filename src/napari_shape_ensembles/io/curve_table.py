"""Curves with associated data: features, pixel size and provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from struct import error as struct_error
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import Real
from ..archive import ContentError, Tree
from ..budget import OverBudgetError
from ..outlines import Ensemble
from ..outlines.exchange import SIDES
from ..outlines.extract import signed_area
from ..outlines.reasons import NOT_POLYGON, PARTS, UNREADABLE, Reason, of_rows, rows_of
from .outline_order import refuse_no_outlines

if TYPE_CHECKING:
    import pandas as pd


#: Format name in our own curve files, and the newest version of their layout (docs/reference/files.md).
FORMAT, LAYOUT = "shape-ensembles curves", 1
#: Center of the first pixel in formats whose origin is its outer corner; our origin is its center.
CENTRE = 0.5

# Maximum number of table cells per value present, beyond a negligible number of cells.
_MAX_CELLS_PER_VALUE, _FEW_CELLS = 100, 10**6

# Errors in reading an entry that is not as its format says.
_MALFORMED = (AttributeError, KeyError, OverflowError, SyntaxError, TypeError, ValueError, struct_error)
_KINDS = {"b": "switch", "i": "whole", "u": "whole", "f": "number"}


@dataclass(frozen=True, eq=False)
class CurveTable:
    """Curves with a table of features, the pixel size and their provenance.

    Attributes
    ----------
    ensemble : Ensemble
        Curves in the ensemble's unit.
    features : DataFrame
        One row per curve, in the same order, without ids.
    scale : (float, float)
        Pixel height and width in the ensemble's unit: curves divided by scale are in pixels.
    provenance : mapping of str to str
        Where the curves come from, as text.

    Examples
    --------
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.io import CurveTable
    >>> square = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], unit="µm")
    >>> table = CurveTable(square, scale=(0.5, 0.5))
    >>> table.pixels[0]
    array([[0., 0.],
           [0., 4.],
           [4., 4.],
           [4., 0.]])
    """

    ensemble: Ensemble
    features: pd.DataFrame = field(default_factory=lambda: _no_features())
    scale: tuple[float, float] = (1.0, 1.0)
    provenance: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.features.shape[1] and len(self.features) != len(self.ensemble):
            raise ValueError(f"{len(self.ensemble)} curves need as many rows of features, not {len(self.features)}")
        if not (np.isfinite(self.scale).all() and min(self.scale) > 0):
            raise ValueError(f"scale must be the height and width of a pixel, two positive numbers, not {self.scale!r}")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Features of each curve as a dict; empty dicts if there are none."""
        records = self.features.to_dict("records") or [{}] * len(self.ensemble)
        return [{str(name): value for name, value in record.items()} for record in records]

    @property
    def pixels(self) -> list[Real]:
        """The curves in pixels, with the center of the first pixel at (0, 0)."""
        return [curve / self.scale for curve in self.ensemble.curves]

    def __getitem__(self, chosen: int | slice | ArrayLike) -> CurveTable:
        """Return some of the curves, or one of them, by a mask or by their places."""
        if not isinstance(chosen, slice):
            chosen = np.atleast_1d(chosen)
        features = self.features
        if features.shape[1]:
            features = features.iloc[chosen].reset_index(drop=True)
        return CurveTable(self.ensemble[chosen], features, self.scale, self.provenance)


def _no_features() -> pd.DataFrame:
    import pandas as pd  # slow to import, and not needed to import this module

    return pd.DataFrame()


def with_features(source: CurveTable | Ensemble) -> CurveTable:
    """Return an ensemble as a table with its measured features; a table is returned as is."""
    if isinstance(source, CurveTable):
        return source
    return CurveTable(source, source.features.drop(columns="id"), source.pixel_size or (1.0, 1.0))


def plain(table: CurveTable) -> CurveTable:
    """Return the table with features converted to types that every format supports: numbers, booleans and strings.

    Dates, categories and mixed columns become strings, missing categories empty strings, and integer columns with
    missing values floats. For an ensemble of several images, the image of each curve is added as feature "image".

    Raises
    ------
    ValueError
        For duplicate feature names, an empty one, or one reserved for the metadata.
    """
    import pandas as pd

    ensemble, features = table.ensemble, table.features
    names = [str(name) for name in features]
    doubled = [name for name, times in Counter([*names, FORMAT, ""]).items() if times > 1]
    if doubled:
        raise ContentError(f'a feature cannot be named "{doubled[0]}" here, as that name is reserved: rename it')
    columns = {name: _plain(features.iloc[:, place]) for place, name in enumerate(names)}
    if _is_pooled(ensemble):
        columns.setdefault("image", ensemble.images.astype(object))
    for name, column in ensemble.metadata.items():
        columns.setdefault(str(name), _plain(column))
    return CurveTable(ensemble, pd.DataFrame(columns), table.scale, table.provenance)


def _plain(column: pd.Series) -> NDArray[Any]:
    kind, missing = column.dtype.kind, column.isna()
    if isinstance(column.dtype, np.dtype) and kind in _KINDS:
        return column.to_numpy()
    if kind in _KINDS and not missing.any():  # nullable pandas dtype without gaps
        return column.to_numpy(dtype=column.dtype.type)
    if kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    words = ["" if gap else str(value) for value, gap in zip(column, missing, strict=True)]
    return np.array([*words, None], dtype=object)[:-1]


def _is_pooled(ensemble: Ensemble) -> bool:
    return bool(set(ensemble.images.tolist()) - {ensemble.name})


def metadata(table: CurveTable) -> Tree:
    """Return everything in a table except vertices, ids and features, as a JSON-compatible tree."""
    ensemble = table.ensemble
    # `scale` cannot tell that outlines were traced from pixels: it is 1 for hand-drawn outlines, too.
    sides = {each: list(known) for each in SIDES if (known := getattr(ensemble, each)) is not None}
    return {
        "format": FORMAT,
        "version": LAYOUT,
        "name": ensemble.name,
        "unit": ensemble.unit,
        "scale": [float(side) for side in table.scale],
        **sides,
        "ids": _KINDS.get(ensemble.ids.dtype.kind, "text"),
        "columns": {str(name): _KINDS.get(column.dtype.kind, "text") for name, column in table.features.items()},
        "dropped": rows_of(ensemble.dropped),
        "filled": ensemble.filled,
        "tracing": ensemble.tracing,
        "metadata": list(ensemble.metadata),
        "pooled": _is_pooled(ensemble) and "image" in table.features,
        "provenance": {"software": f"napari-shape-ensembles {version('napari-shape-ensembles')}", **table.provenance},
    }


@dataclass
class Found:
    """Content of a curve file, as found by a reader.

    Attributes
    ----------
    curves : list of (m, 2) arrays
        Rows and columns; in pixels unless `calibrated`.
    ids : sequence
        One per curve, not necessarily unique.
    features : dict of str to list
        Columns of one value per curve.
    dropped : Counter
        Number of items that are not closed outlines, by reason.
    meta : dict
        `metadata` if the file is our own, else empty.
    calibrated : bool
        Whether the curves are in the unit that `meta` states, rather than in pixels.
    unit : str
        Unit of calibrated curves without `meta`.
    traced : int
        Number of curves that were traced from masks of pixels.
    tracing : mapping
        How these were traced; see `Ensemble`.
    error : Exception, optional
        Why an entry cannot be read; see `entry`.
    rows : list of dict
        The features by curve, where there are no columns of them.
    """

    curves: list[Real] = field(default_factory=list)
    ids: Any = field(default_factory=list)
    features: dict[str, list[Any]] = field(default_factory=dict)
    dropped: Counter[Reason] = field(default_factory=Counter)
    meta: Tree = field(default_factory=dict)
    calibrated: bool = False
    unit: str = ""
    traced: int = 0
    tracing: Tree = field(default_factory=dict)
    error: Exception | None = None
    rows: list[Tree] = field(default_factory=list)

    @contextmanager
    def entry(self, *errors: type[Exception]) -> Iterator[None]:
        """Count an entry of the file that cannot be read; if none can, its error is raised for the file.

        Errors are those of malformed entries, and the given ones.
        """
        expected: tuple[type[Exception], ...] = (*_MALFORMED, *errors)
        try:
            yield
        except OverBudgetError:
            raise
        except expected as error:
            self.dropped[UNREADABLE] += 1
            self.error = error

    def add(self, outline: Real | None, name: Any, row: Tree) -> None:
        """Add the outline of an object, with its id and features, unless there is none."""
        if outline is not None:
            self.curves.append(outline)
            self.ids.append(name)
            self.rows.append(row)

    def outline_of(self, rings: Sequence[Real], *, none: Reason = NOT_POLYGON) -> Real | None:
        """Return the ring of largest area among the parts of one object, and count the others as dropped.

        Without rings it is None, and the object is counted by the reason `none`.
        """
        self.dropped[PARTS if rings else none] += len(rings) - 1 if rings else 1
        return max(rings, key=lambda ring: abs(signed_area(ring)), default=None)


def columns_of(rows: Sequence[Mapping[str, Any]], missing: Any) -> dict[str, list[Any]]:
    """Convert one mapping per curve into columns, with `missing` where a curve lacks a name.

    Raises
    ------
    ValueError
        For names that are shared by hardly any two curves: the table would be far larger than its content.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    cells, values = len(names) * len(rows), sum(map(len, rows))
    if cells > _MAX_CELLS_PER_VALUE * values + _FEW_CELLS:
        raise ContentError(
            f"{len(rows)} curves have {len(names)} names of features, nearly all different: remove the features"
        )
    return {name: [row.get(name, missing) for row in rows] for name in names}


def assembled(found: Found, name: str) -> CurveTable:
    """Build a table from the content found by a reader; `name` is that of the file.

    All curves of files pass here: those with missing vertices, and those of other programs whose vertices do not follow
    an outline, are left out and counted.

    Raises
    ------
    ValueError
        If that holds for most curves, or for inconsistent metadata.
    """
    import pandas as pd

    if found.error is not None and not found.curves and found.dropped.total() == found.dropped[UNREADABLE]:
        raise found.error
    unit, scale = _calibration(found.meta)
    unit = found.unit or unit
    _refuse_if_all_bad(found)
    curves = found.curves if found.calibrated else [curve * scale for curve in found.curves]
    dropped = found.dropped + Counter(of_rows(found.meta.get("dropped", [])))
    ids, features = _typed_ids(found.ids, found.meta), pd.DataFrame(found.features or columns_of(found.rows, ""))
    if len(set(ids.tolist())) < len(ids):  # duplicate ids become names, and the curves are numbered
        features.insert(0, "name", [str(value) for value in ids], allow_duplicates=True)
        ids, features = np.arange(1, len(ids) + 1), features.loc[:, ~features.columns.duplicated()]
    named = [str(image) for image in features["image"]] if "image" in features else []
    images = named if found.meta.get("pooled", not found.meta and len(set(named)) > 1) else None
    called = str(found.meta.get("name") or name)
    traced: dict[str, Any] = {
        **{each: found.meta.get(each) for each in SIDES},
        "filled": int(found.meta.get("filled", 0)),
        "tracing": {str(choice): value for choice, value in dict(found.meta.get("tracing", {})).items()},
    }
    if found.traced and found.traced == len(found.curves):
        traced |= {"pixel_size": (1.0, 1.0), "tracing": found.tracing}
    kept = Ensemble(curves, name=called, unit=unit, ids=ids, dropped=dropped, images=images, **traced)
    if not found.meta:
        refuse_no_outlines(kept, curves, ids.tolist())
    place = pd.Index(ids).get_indexer(kept.ids)
    features = _typed(features.iloc[place].reset_index(drop=True) if features.shape[1] else _no_features(), found.meta)
    own = {str(name): features[name].to_numpy() for name in found.meta.get("metadata", ()) if name in features}
    if own:
        kept = kept.derived(kept.curves, metadata=own)
    provenance = {str(key): str(words) for key, words in found.meta.get("provenance", {}).items()}
    return CurveTable(kept, features, scale, provenance or {"file": name})


def _refuse_if_all_bad(found: Found) -> None:
    bad = [index for index, curve in enumerate(found.curves) if not np.isfinite(curve).all()]
    if bad and len(bad) == len(found.curves):
        raise ContentError(
            f"{len(bad)} of {len(found.curves)} curves have NaN or infinite vertices (first: curve {bad[0]})"
        )


def _calibration(meta: Tree) -> tuple[str, tuple[float, float]]:
    if not meta:
        return "pixel", (1.0, 1.0)
    if meta.get("format") != FORMAT or not isinstance(meta.get("version"), int):
        raise ContentError(f"its metadata do not match {FORMAT}")
    if meta["version"] > LAYOUT:
        raise ContentError(
            f"written by a newer version of this software (layout {meta['version']}; this one reads up to {LAYOUT}): "
            "update napari-shape-ensembles to open it"
        )
    row, column = meta["scale"]
    return meta["unit"], (float(row), float(column))


def _typed_ids(ids: Sequence[Any] | NDArray[Any], meta: Tree) -> NDArray[Any]:
    kind = meta.get("ids")
    if kind in ("whole", "number"):
        return _whole(ids) if kind == "whole" else np.array([float(value) for value in ids])
    array = np.array([str(value) for value in ids]) if kind == "text" else np.array(ids)
    return array if array.dtype.kind in "iufU" and array.ndim == 1 else np.array([str(value) for value in ids])


def _typed(features: pd.DataFrame, meta: Tree) -> pd.DataFrame:
    """Cast columns to the types with which they were written."""
    columns = {name: kind for name, kind in meta.get("columns", {}).items() if name in features}
    typed = features[[*columns, *(name for name in features if name not in columns)]].copy()
    for name, kind in columns.items():
        if kind == "switch":
            typed[name] = typed[name].map(lambda value: str(value) in ("True", "1", "1.0")).astype(bool)
        elif kind == "text":
            typed[name] = [value if isinstance(value, str) else "" for value in typed[name]]
        elif kind in ("whole", "number"):
            typed[name] = _whole(typed[name]) if kind == "whole" else typed[name].astype(np.float64)
    return typed


def _whole(values: Iterable[Any]) -> NDArray[Any]:
    """Parse integers exactly, including those from 2⁶³ on."""
    exact = [int(value) for value in values]
    return np.array(exact, dtype=np.uint64 if max(exact, default=0) > np.iinfo(np.int64).max else np.int64)


def positions(points: Any) -> Real:
    """Convert a list of points (x, y, …) to vertices as rows and columns.

    Raises
    ------
    ValueError
        For points with fewer than two coordinates.
    """
    array = np.array(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ContentError(f"an outline of shape {array.shape}: points must have two coordinates")
    return array[:, 1::-1]


def feature_text(value: object) -> str:
    """Return a feature value as text: integers without their ".0"."""
    return f"{value:g}" if isinstance(value, float) else str(value).strip()
