"""Parts of a comparison as trees of arrays and strings for `archive`, and back to the same digits.

Every pair of functions defines one piece of the layout in `docs/reference/files.md`. Reading validates its input: an
invalid tree raises `ValueError`.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..archive import ContentError, Tree
from ..budget import reserve_curves
from ..checks import seal
from ..mmd import MMDTest
from ..outlines import Ensemble
from ..outlines.exchange import SIDES
from ..outlines.reasons import of_rows, rows_of
from ..shapes import ShapeSpace

_LEARNED, _ARCHETYPES = ("undulation_mean", "basis", "singular_values", "scale_mean"), ("archetype", "scale_archetype")
_NUMBERS = ("mmd", "p_value", "threshold", "bandwidth", "significance", "p_error")


def ensemble_tree(ensemble: Ensemble) -> Tree:
    """Vertices of all curves in one array, offsets, ids, and strings; images if there are several."""
    more: Tree = {"images": ensemble.images} if set(ensemble.images) - {ensemble.name} else {}
    more |= {each: list(known) for each in SIDES if (known := getattr(ensemble, each)) is not None}
    if ensemble.tracing:
        more["tracing"] = ensemble.tracing
    if len(ensemble.metadata.columns):
        more["metadata"] = columns_tree(ensemble.metadata)
    return {
        **more,
        "name": ensemble.name,
        "unit": ensemble.unit,
        "dropped": rows_of(ensemble.dropped),
        "filled": ensemble.filled,
        "vertices": ensemble.vertices,
        "offsets": ensemble.offsets,
        "ids": ensemble.ids,
    }


def ensemble_of_tree(tree: Mapping[str, Any]) -> Ensemble:
    """Restore an ensemble from `ensemble_tree`, with exactly the same curves, or raise."""
    vertices = real(tree, "vertices", (None, 2))
    offsets = array(tree, "offsets", "iu", (None,)).astype(np.int64)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(vertices) or (np.diff(offsets) < 3).any():
        raise ContentError("the offsets of its curves do not fit its vertices")
    ids = array(tree, "ids", "biufU", (len(offsets) - 1,))
    reserve_curves(len(vertices), len(ids))
    curves = np.split(vertices, offsets[1:-1]) if len(offsets) > 1 else []
    images = array(tree, "images", "U", (len(ids),)) if "images" in tree else None
    ensemble = Ensemble(
        curves,
        metadata=columns_of_tree(value(tree, "metadata", dict), (len(ids),)) if "metadata" in tree else None,
        tracing={str(name): found for name, found in tree.get("tracing", {}).items()},
        name=value(tree, "name", str),
        unit=value(tree, "unit", str),
        ids=ids,
        dropped=of_rows(value(tree, "dropped", list)),
        filled=value(tree, "filled", int) if "filled" in tree else 0,
        images=images,
        **{each: value(tree, each, list) for each in SIDES if each in tree},
    )
    if not np.array_equal(ensemble.offsets, offsets):
        raise ContentError("it contains invalid curves")
    return ensemble


def changed_tree(given: Sequence[Ensemble], compared: Sequence[Ensemble]) -> Tree:
    """Those ensembles that were compared otherwise than given, by their place."""
    pairs = enumerate(zip(given, compared, strict=True))
    return {f"image{place}": ensemble_tree(own) for place, (image, own) in pairs if own is not image}


def changed_of_tree(tree: Mapping[str, Any], given: Sequence[Ensemble]) -> list[Ensemble]:
    """Restore the ensembles compared from `changed_tree`: those given where nothing was changed."""
    compared = list(given)
    for place, image in enumerate(given):
        if (key := f"image{place}") in tree:
            compared[place] = ensemble_of_tree(value(tree, key, dict))
            if not np.array_equal(compared[place].ids, image.ids):
                raise ContentError("the outlines compared are not those given")
    return compared


def space_tree(space: ShapeSpace) -> Tree:
    """Means, basis and singular values of a shape space; archetypes and parameters if it can register curves."""
    learned = {name: getattr(space, f"{name}_") for name in _LEARNED}
    if not hasattr(space, "archetype_"):
        return learned
    kept = {name: getattr(space, f"{name}_") for name in _ARCHETYPES}
    return {
        **learned,
        **{name: archetype for name, archetype in kept.items() if archetype is not None},
        "parameters": space.get_params(),
        "unit": space.unit_,
        "bands": [list(band) for band in space.bands_],
    }


def space_of(tree: Mapping[str, Any]) -> ShapeSpace:
    """Restore a shape space from `space_tree`; one that was fitted to undulations has no archetype."""
    mean = real(tree, "undulation_mean", (None, 2))
    n = len(mean)
    basis = real(tree, "basis", (None, n, 2))
    space = ShapeSpace(len(basis), landmarks=n)
    space.undulation_mean_, space.basis_ = _planar(mean), _planar(basis)
    space.singular_values_ = real(tree, "singular_values", (None,))
    space.scale_mean_ = real(tree, "scale_mean", (2, 2))
    if "parameters" in tree:
        space.set_params(**value(tree, "parameters", dict))
        for name in _ARCHETYPES:
            setattr(space, f"{name}_", _planar(real(tree, name, (n, 2))) if name in tree else None)
        unit, bands = tree.get("unit"), value(tree, "bands", list)
        space.unit_ = None if unit is None else str(unit)
        space.bands_ = tuple((int(low), int(high)) for low, high in bands)
    seal(space)
    return space


def _planar(points: Real) -> Real:
    """The same values with each coordinate contiguous in memory, as computed: sums then round identically."""
    return np.ascontiguousarray(points.swapaxes(-1, -2)).swapaxes(-1, -2)


def mmd_test_tree(test: MMDTest) -> Tree:
    """Numbers, null distribution and parts of a test; non-finite numbers are stored as strings."""
    numbers = {name: getattr(test, name) for name in _NUMBERS}
    return {
        **{name: json_number(number) for name, number in numbers.items()},
        "rejected": bool(test.rejected),
        "null": test.null,
        "parts": {
            _key(i, name): {"name": name, **mmd_test_tree(part)} for i, (name, part) in enumerate(test.parts.items())
        },
        "approximation": test.approximation,
        "left_out": dict(test.left_out),
    }


def _key(place: int, name: str) -> str:
    """Key of a part: its name, or its index if the name is not valid in a path."""
    return name if name.isascii() and name.isidentifier() else f"part_{place}"


def mmd_test_of(tree: Mapping[str, Any]) -> MMDTest:
    """Restore a test from `mmd_test_tree`."""
    numbers = {name: _number(tree, name) for name in _NUMBERS}
    kept = value(tree, "parts", dict)
    parts = {str(value(kept, key, dict).get("name", key)): mmd_test_of(kept[key]) for key in kept}
    return MMDTest(
        rejected=value(tree, "rejected", bool),
        null=real(tree, "null", (None,)),
        parts=parts,
        approximation=value(tree, "approximation", str),
        left_out={str(name): str(reason) for name, reason in tree.get("left_out", {}).items()},
        **numbers,
    )


def pair(tree: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """Return an optional pair of numbers."""
    if name not in tree:
        return None
    first, second = value(tree, name, list)
    return float(first), float(second)


def json_number(number: float) -> float | str:
    """Return a number in JSON: non-finite ones as the string "inf", "-inf" or "nan"."""
    return float(number) if isfinite(number) else str(float(number))


def flattened(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten a tree to its leaves, with names joined by points."""
    found: dict[str, Any] = {}
    for key, leaf in tree.items():
        if isinstance(leaf, Mapping):
            found |= flattened(leaf, f"{prefix}{leaf.get('name', key)}.")
        else:
            found[f"{prefix}{key}"] = leaf
    return found


def _number(tree: Mapping[str, Any], name: str) -> float:
    found = tree.get(name)
    if isinstance(found, bool) or not (isinstance(found, int | float) or found in ("inf", "-inf", "nan")):
        raise ContentError(f"{name} is not a number: {found!r}")
    return float(found)


def value(tree: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return an entry of a tree, validating its type."""
    found = tree.get(name) if isinstance(tree, Mapping) else None
    if not isinstance(found, kind):
        raise ContentError(f"{name} is missing, or not a {kind.__name__}")
    return found


def real(tree: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> Real:
    """Return a float64 array of finite numbers, validating its shape; None is any length."""
    found = array(tree, name, "f", shape)
    if found.dtype != np.float64:
        raise ContentError(f"{name} holds {found.dtype} values, not float64")
    bad = ~np.isfinite(found)
    if bad.any():
        raise ContentError(f"{bad.reshape(len(bad), -1).any(axis=1).sum()} {name} are NaN or infinite")
    return found


def array(tree: Mapping[str, Any], name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array, validating its kind (NumPy's letters) and shape."""
    found = value(tree, name, np.ndarray)
    fits = found.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
    if found.dtype.kind not in kinds or not fits:
        wanted = "×".join("any" if n is None else str(n) for n in shape)
        raise ContentError(f"{name} holds {found.dtype} values of shape {found.shape}, not {wanted} values as expected")
    return found


def columns_tree(columns: Any) -> Tree:
    """Convert columns of arbitrary names to a tree with names that are valid in an archive."""
    values = [plain_array(columns[name]) for name in columns]
    return {"names": [str(name) for name in columns], **{f"column{i}": value for i, value in enumerate(values)}}


def plain_array(values: Any) -> NDArray[Any]:
    """Convert values to an array that an archive can store: anything but numbers becomes strings."""
    array = np.asarray(values)
    return array.astype(np.str_) if array.dtype.kind in "OT" else array


def columns_of_tree(tree: Mapping[str, Any], shape: tuple[int | None, ...] | None = None) -> dict[str, NDArray[Any]]:
    """Return the columns in a tree that `columns_tree` wrote, by name, validating their shape if one is given."""
    columns = {str(name): f"column{i}" for i, name in enumerate(value(tree, "names", list))}
    if shape is None:
        return {name: value(tree, column, np.ndarray) for name, column in columns.items()}
    return {name: array(tree, column, "biufU", shape) for name, column in columns.items()}
