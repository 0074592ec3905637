"""Curves with what a file keeps beside them: features, the size of a pixel, where they come from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, Tree
from ..outlines import Ensemble
from ..outlines.extract import signed_area

if TYPE_CHECKING:
    import pandas as pd

Real = NDArray[np.float64]

#: What our own files of curves say they are, and the newest version of their layout (docs/files.md).
FORMAT, LAYOUT = "shape-ensembles curves", 1
#: Formats that count from the outer corner of the first pixel see its centre here; ours count from its centre.
CENTRE = 0.5

# A table may hold this many cells for each value in it, beside some that do not matter.
_EMPTIEST, _FEW_CELLS = 100, 10**6

_KINDS = {"b": "switch", "i": "whole", "u": "whole", "f": "number"}


@dataclass(frozen=True, eq=False)
class CurveTable:
    """Curves with a table of features, the size of a pixel and where they come from.

    Attributes
    ----------
    ensemble : Ensemble
        In its unit.
    features : DataFrame
        One row per curve, in their order, without the ids.
    scale : (float, float)
        Height and width of a pixel in the ensemble's unit: curves over scale are in pixels.
    provenance : mapping of str to str
        Where the curves come from, in words.

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
    features: "pd.DataFrame" = field(default_factory=lambda: _no_features())
    scale: tuple[float, float] = (1.0, 1.0)
    provenance: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.features.shape[1] and len(self.features) != len(self.ensemble):
            raise ValueError(f"{len(self.ensemble)} curves need as many rows of features, not {len(self.features)}")
        if not (np.isfinite(self.scale).all() and min(self.scale) > 0):
            raise ValueError(f"scale is the height and width of a pixel, two positive numbers, not {self.scale!r}")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Features of each curve, name -> value; empty where there are none."""
        records = self.features.to_dict("records") or [{}] * len(self.ensemble)
        return [{str(name): value for name, value in record.items()} for record in records]

    @property
    def pixels(self) -> list[Real]:
        """The curves in pixels, the centre of the first one at (0, 0)."""
        return [curve / self.scale for curve in self.ensemble.curves]


def _no_features() -> "pd.DataFrame":
    import pandas as pd  # heavy, and not needed to import this module

    return pd.DataFrame()


def with_features(source: "CurveTable | Ensemble") -> CurveTable:
    """Return curves alone as a table with their measured features."""
    if isinstance(source, CurveTable):
        return source
    return CurveTable(source, source.features.drop(columns="id"), source.pixel_size or (1.0, 1.0))


def plain(table: CurveTable) -> CurveTable:
    """The same table with features of the kinds that every format keeps: numbers, switches and words.

    Dates, categories and mixed columns become strings, missing categories empty strings, and integer columns
    with missing values floats. Of several images each curve's is written beside it, as the feature "image".

    Raises
    ------
    ValueError
        For two features of one name, one without a name, or one called as the metadata are.
    """
    import pandas as pd

    ensemble, features = table.ensemble, table.features
    names = [str(name) for name in features]
    doubled = [name for name, times in Counter([*names, FORMAT, ""]).items() if times > 1]
    if doubled:
        raise ContentError(f'a feature cannot be called "{doubled[0]}" here, the name is taken: rename it')
    columns = {name: _plain(features.iloc[:, place]) for place, name in enumerate(names)}
    if _is_pooled(ensemble):
        columns.setdefault("image", ensemble.images.astype(object))
    for name, column in ensemble.metadata.items():
        columns.setdefault(str(name), _plain(column))
    return CurveTable(ensemble, pd.DataFrame(columns), table.scale, table.provenance)


def _plain(column: "pd.Series") -> NDArray[Any]:
    kind, missing = column.dtype.kind, column.isna()
    if isinstance(column.dtype, np.dtype) and kind in _KINDS:
        return column.to_numpy()
    if kind in _KINDS and not missing.any():  # of pandas, with room for gaps
        return column.to_numpy(dtype=column.dtype.type)
    if kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    words = ["" if gap else str(value) for value, gap in zip(column, missing, strict=True)]
    return np.array([*words, None], dtype=object)[:-1]


def _is_pooled(ensemble: Ensemble) -> bool:
    return bool(set(ensemble.images.tolist()) - {ensemble.name})


def metadata(table: CurveTable) -> Tree:
    """All of a table but vertices, ids and features, as JSON can hold it."""
    ensemble = table.ensemble
    # That outlines were traced from pixels, which `scale` does not say: it is 1 of outlines drawn by hand, too.
    pixel = {} if ensemble.pixel_size is None else {"pixel_size": list(ensemble.pixel_size)}
    return {
        "format": FORMAT,
        "version": LAYOUT,
        "name": ensemble.name,
        "unit": ensemble.unit,
        "scale": [float(side) for side in table.scale],
        **pixel,
        "ids": _KINDS.get(ensemble.ids.dtype.kind, "text"),
        "columns": {str(name): _KINDS.get(column.dtype.kind, "text") for name, column in table.features.items()},
        "dropped": [[reason, count] for reason, count in ensemble.dropped.items()],
        "filled": ensemble.filled,
        "tracing": ensemble.tracing,
        "metadata": list(ensemble.metadata),
        "pooled": _is_pooled(ensemble) and "image" in table.features,
        "provenance": {"software": f"napari-shape-ensembles {version('napari-shape-ensembles')}", **table.provenance},
    }


@dataclass
class Found:
    """What a reader found in a file.

    Attributes
    ----------
    curves : list of (m, 2) arrays
        Rows and columns; in pixels unless `calibrated`.
    ids : sequence
        One per curve, not necessarily unique.
    features : dict of str to list
        Columns of one value per curve.
    dropped : Counter
        What is no closed outline, by reason.
    meta : dict
        `metadata` where the file is our own, else empty.
    calibrated : bool
        Whether the curves are in the unit that `meta` states rather than in pixels.
    """

    curves: list[Real] = field(default_factory=list)
    ids: Sequence[Any] | NDArray[Any] = field(default_factory=list)
    features: dict[str, list[Any]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    meta: Tree = field(default_factory=dict)
    calibrated: bool = False


def columns_of(rows: Sequence[Mapping[str, Any]], missing: Any) -> dict[str, list[Any]]:
    """Columns out of one mapping of names to values per curve, `missing` where a curve lacks a name.

    Raises
    ------
    ValueError
        For names that hardly two curves share: the table would be far larger than what it holds.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    cells, values = len(names) * len(rows), sum(map(len, rows))
    if cells > _EMPTIEST * values + _FEW_CELLS:
        raise ContentError(
            f"{len(rows)} curves have {len(names)} names of features, hardly two of them alike: leave the features out"
        )
    return {name: [row.get(name, missing) for row in rows] for name in names}


def assembled(found: Found, name: str) -> CurveTable:
    """Make a table of what a reader found; `name` is that of the file.

    Raises
    ------
    ValueError
        For vertices that are NaN or infinite, or metadata that do not hold together.
    """
    import pandas as pd

    unit, scale = _calibration(found.meta)
    if bad := [index for index, curve in enumerate(found.curves) if not np.isfinite(curve).all()]:
        raise ContentError(
            f"{len(bad)} of {len(found.curves)} curves have NaN or infinite vertices (first: curve {bad[0]})"
        )
    curves = found.curves if found.calibrated else [curve * scale for curve in found.curves]
    dropped = found.dropped + Counter({str(reason): count for reason, count in found.meta.get("dropped", [])})
    ids, features = _typed_ids(found.ids, found.meta), pd.DataFrame(found.features)
    if len(set(ids.tolist())) < len(ids):  # where two are alike the curves are numbered and the ids become names
        features.insert(0, "name", [str(value) for value in ids], allow_duplicates=True)
        ids, features = np.arange(1, len(ids) + 1), features.loc[:, ~features.columns.duplicated()]
    named = [str(image) for image in features["image"]] if "image" in features else []
    images = named if found.meta.get("pooled", not found.meta and len(set(named)) > 1) else None
    called = str(found.meta.get("name") or name)
    traced: dict[str, Any] = {
        "pixel_size": found.meta.get("pixel_size"),
        "filled": int(found.meta.get("filled", 0)),
        "tracing": {str(choice): value for choice, value in dict(found.meta.get("tracing", {})).items()},
    }
    kept = Ensemble(curves, name=called, unit=unit, ids=ids, dropped=dropped, images=images, **traced)
    place = pd.Index(ids).get_indexer(kept.ids)
    features = _typed(features.iloc[place].reset_index(drop=True) if features.shape[1] else _no_features(), found.meta)
    own = {str(name): features[name].to_numpy() for name in found.meta.get("metadata", ()) if name in features}
    if own:
        kept = kept.derived(kept.curves, metadata=own)
    provenance = {str(key): str(words) for key, words in found.meta.get("provenance", {}).items()}
    return CurveTable(kept, features, scale, provenance or {"file": name})


def _calibration(meta: Tree) -> tuple[str, tuple[float, float]]:
    if not meta:
        return "pixel", (1.0, 1.0)
    if meta.get("format") != FORMAT or not isinstance(meta.get("version"), int):
        raise ContentError(f"its metadata are not those of {FORMAT}")
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


def _typed(features: "pd.DataFrame", meta: Tree) -> "pd.DataFrame":
    """Columns with the kind of values they were written with."""
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
    """Whole numbers to the last digit, those from 2⁶³ on too."""
    exact = [int(value) for value in values]
    return np.array(exact, dtype=np.uint64 if max(exact, default=0) > np.iinfo(np.int64).max else np.int64)


def largest_ring(rings: Sequence[Real]) -> Real:
    """The ring of the largest area among the pieces of one object."""
    return max(rings, key=lambda ring: abs(signed_area(ring)))


def positions(points: Any, *, swap: bool = True) -> Real:
    """Vertices from a list of points (x, y, …) as rows and columns.

    Raises
    ------
    ValueError
        When they are not points of two numbers or more.
    """
    array = np.array(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ContentError(f"an outline of shape {array.shape}: points have two coordinates")
    return array[:, 1::-1] if swap else array[:, :2]
