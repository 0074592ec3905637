"""Outlines in R data files: those of Momocs (`Out`), lists of vertex matrices, and landmark arrays."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..archive import ContentError, StrPath
from ..budget import reserve, reserve_curves
from ..outlines.exchange import needed
from ..outlines.reasons import Reason
from .content import bytes_of, decompressed
from .curve_table import Found, positions

# Memory in bytes per byte of the file: the smallest R value, of four bytes, becomes a Python object.
_BYTES_PER_BYTE = 80
# Momocs classes of points that are not closed outlines.
_OPEN_CLASSES = {"Opn": "open", "Ldk": "landmarks"}


def read_rda(path: StrPath) -> Found:
    """Read the only set of outlines in an R data file (.rda, .RData, .rds), x rightwards and y upwards."""
    rdata = needed("rdata", "r", "a file of R")
    content = decompressed(bytes_of(path))
    reserve(len(content) * _BYTES_PER_BYTE)
    classes = {name: lambda coo, _, why=why: {"coo": coo, "class": why} for name, why in _OPEN_CLASSES.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unknown R classes
        held = rdata.conversion.convert(
            rdata.parser.parse_data(content), {**rdata.conversion.DEFAULT_CLASS_MAP, **classes}
        )
    sets = list(_sets(held, ""))
    if len(sets) != 1:
        names = ", ".join(name or "unnamed" for name, *_ in sets[:8])
        what = f"{len(sets)} sets of outlines ({names}): save one per file" if sets else "no outlines"
        raise ContentError(f"holds {what}; outlines must be lists of matrices of two columns, x and y")
    ((_, curves, ids, features, why),) = sets
    reserve_curves(sum(map(len, curves)), len(curves))
    if why:
        return Found(dropped=Counter({Reason(why): len(curves)}))
    return Found([positions(curve * (1, -1)) for curve in curves], ids, features)


def _sets(held: Any, name: str) -> Iterator[tuple[str, list[Any], list[Any], dict[str, list[Any]], str]]:
    """Yield sets of outlines at any depth: name, curves, ids, features, and the reason if they are not closed."""
    if isinstance(held, Mapping) and "coo" in held:  # Momocs: coordinates, with a table of factors
        factors: Any = held.get("fac")
        why = str(held.get("class", ""))
        for _, curves, ids, _, inner in _sets(held["coo"], name):
            fits = hasattr(factors, "columns") and len(factors) == len(curves)
            columns = {str(column): values.tolist() for column, values in factors.items()} if fits else {}
            yield name, curves, ids, columns, why or inner
        return
    if getattr(held, "ndim", 0) == 3 and held.shape[1] == 2 and held.dtype.kind in "iuf":
        curves = list(np.moveaxis(np.asarray(held, dtype=np.float64), 2, 0))
        names = getattr(held, "coords", {}).get("dim_2", range(1, len(curves) + 1))  # of an array with dimnames
        yield name, curves, np.asarray(names).tolist(), {}, ""
        return
    if not isinstance(held, Mapping | list):
        return
    items = list(held.items()) if isinstance(held, Mapping) else list(enumerate(held, start=1))
    tables = [np.asarray(value) for _, value in items if getattr(value, "ndim", 0) == 2]
    if items and len(tables) == len(items) and all(one.shape[1] == 2 and one.dtype.kind in "iuf" for one in tables):
        ids = [key if isinstance(key, int) else str(key) for key, _ in items]
        yield name, [one.astype(np.float64) for one in tables], ids, {}, ""
        return
    for key, value in items:
        yield from _sets(value, str(key))
