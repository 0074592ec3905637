"""Parts of a comparison as trees of arrays and words for `archive`, and back to the same digits.

Every pair of functions states one piece of the layout that `docs/files.md` documents. Reading checks what it gets:
a tree that could not have been written raises `ValueError`.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, Tree
from ..mmd import MMDTest
from ..outlines import Ensemble
from ..shapes import ShapeSpace

Real = NDArray[np.float64]
Choices = TypeVar("Choices")

#: What a saved comparison is called, and the newest version of its layout (docs/files.md).
FORMAT, LAYOUT = "shape-ensembles comparison", 1

_FLAGS = ("archetype_is_ambiguous", "row_depends_on_archetype")
_NUMBERS = ("mmd", "p_value", "threshold", "bandwidth", "significance")


def comparison_tree(result: Any, view: Tree) -> Tree:
    """The layout of a saved `Comparison`; this room stands above the one that knows the class."""
    return {
        "a": ensemble_tree(result.a),
        "b": ensemble_tree(result.b),
        "settings": choices_tree(result.settings),
        "space": space_tree(result.space),
        "coordinates": {"t": result.t, "l": result.l},
        "undulation": mmd_test_tree(result.undulation),
        "scale": mmd_test_tree(result.scale),
        "matches": {name: getattr(result, name) for name in ("ambiguous", *_FLAGS)},
        "versions": dict(result.versions),
        "view": view,
    }


def comparison_parts(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that `comparison_tree` wrote but the settings and the view."""
    a, b = ensemble_of(value(tree, "a", dict)), ensemble_of(value(tree, "b", dict))
    space = space_of(value(tree, "space", dict))
    coordinates = value(tree, "coordinates", dict)
    matches = value(tree, "matches", dict)
    return {
        "a": a,
        "b": b,
        "space": space,
        "t": real(coordinates, "t", (len(a) + len(b), space.rank)),
        "l": real(coordinates, "l", (len(a) + len(b), 3)),
        "undulation": mmd_test_of(value(tree, "undulation", dict)),
        "scale": mmd_test_of(value(tree, "scale", dict)),
        "ambiguous": value(matches, "ambiguous", int),
        **{name: value(matches, name, bool) for name in _FLAGS},
        "versions": {str(name): str(version) for name, version in value(tree, "versions", dict).items()},
    }


def ensemble_tree(ensemble: Ensemble) -> Tree:
    """Vertices of all curves in one array, where each curve starts, ids, and the words; images where there are many."""
    pooled = {"images": ensemble.images} if set(ensemble.images) - {ensemble.name} else {}
    return {
        **pooled,
        "name": ensemble.name,
        "unit": ensemble.unit,
        "dropped": [[reason, count] for reason, count in ensemble.dropped.items()],
        "vertices": ensemble.vertices,
        "offsets": ensemble.offsets,
        "ids": ensemble.ids,
    }


def ensemble_of(tree: Mapping[str, Any]) -> Ensemble:
    """Return the ensemble that `ensemble_tree` wrote; exactly its curves or an error."""
    vertices = real(tree, "vertices", (None, 2))
    offsets = array(tree, "offsets", "iu", (None,)).astype(np.int64)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(vertices) or (np.diff(offsets) < 3).any():
        raise ContentError("the offsets of its curves do not fit its vertices")
    ids = array(tree, "ids", "biufU", (len(offsets) - 1,))
    dropped = {str(reason): count for reason, count in value(tree, "dropped", list)}
    curves = np.split(vertices, offsets[1:-1]) if len(offsets) > 1 else []
    images = array(tree, "images", "U", (len(ids),)) if "images" in tree else None
    ensemble = Ensemble(
        curves, name=value(tree, "name", str), unit=value(tree, "unit", str), ids=ids, dropped=dropped, images=images
    )
    if not np.array_equal(ensemble.offsets, offsets):
        raise ContentError("it holds curves that no comparison can have used")
    return ensemble


def space_tree(space: ShapeSpace) -> Tree:
    """Means, basis and singular values of a shape space."""
    return {
        "undulation_mean": space.undulation_mean,
        "basis": space.basis,
        "singular_values": space.singular_values,
        "scale_mean": space.scale_mean,
    }


def space_of(tree: Mapping[str, Any]) -> ShapeSpace:
    """Return the shape space that `space_tree` wrote."""
    mean = real(tree, "undulation_mean", (None, 2))
    basis = real(tree, "basis", (None, len(mean), 2))
    return ShapeSpace(
        _planar(mean), _planar(basis), real(tree, "singular_values", (None,)), real(tree, "scale_mean", (2, 2))
    )


def _planar(points: Real) -> Real:
    """The same values, each coordinate in one run of memory, as `tensors` lays them out: sums round alike."""
    return np.ascontiguousarray(points.swapaxes(-1, -2)).swapaxes(-1, -2)


def mmd_test_tree(test: MMDTest) -> Tree:
    """Numbers, null distribution and parts of a test; numbers that JSON lacks are written as words."""
    numbers = {name: getattr(test, name) for name in _NUMBERS}
    return {
        **{name: json_number(number) for name, number in numbers.items()},
        "rejected": bool(test.rejected),
        "null": test.null,
        "parts": {
            _key(i, name): {"name": name, **mmd_test_tree(part)} for i, (name, part) in enumerate(test.parts.items())
        },
        "approximation": test.approximation,
    }


def _key(place: int, name: str) -> str:
    """Where a part is kept: under its name, or its place where the name cannot stand in a path."""
    return name if name.isascii() and name.isidentifier() else f"part_{place}"


def mmd_test_of(tree: Mapping[str, Any]) -> MMDTest:
    """Return the test that `mmd_test_tree` wrote."""
    numbers = {name: _number(tree, name) for name in _NUMBERS}
    kept = value(tree, "parts", dict)
    parts = {str(value(kept, key, dict).get("name", key)): mmd_test_of(kept[key]) for key in kept}
    return MMDTest(
        rejected=value(tree, "rejected", bool),
        null=real(tree, "null", (None,)),
        parts=parts,
        approximation=value(tree, "approximation", str),
        **numbers,
    )


def json_number(number: float) -> float | str:
    """A number as JSON has it, or the word "inf", "-inf" or "nan"."""
    return float(number) if isfinite(number) else str(float(number))


def _number(tree: Mapping[str, Any], name: str) -> float:
    found = tree.get(name)
    if isinstance(found, bool) or not (isinstance(found, int | float) or found in ("inf", "-inf", "nan")):
        raise ContentError(f"{name} is no number: {found!r}")
    return float(found)


def choices_tree(choices: Any) -> Tree:
    """Fields of a flat dataclass of numbers, words and switches, such as `Settings`."""
    found = {field.name: getattr(choices, field.name) for field in fields(choices)}
    return {name: item.item() if isinstance(item, np.generic) else item for name, item in found.items()}


def choices_of(kind: type[Choices], tree: Mapping[str, Any]) -> Choices:
    """Return the dataclass of these fields; those left out keep their defaults.

    Raises
    ------
    ValueError
        For a field that does not exist, or a value of another type than its default, naming it.
    """
    if not isinstance(tree, Mapping):
        raise ContentError(f"{kind.__name__} is a table of names and values, not {tree!r}")
    known = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]  # it is a dataclass
    unknown = sorted(set(tree) - set(known))
    if unknown:
        raise ContentError(f"{kind.__name__} has no {', '.join(unknown)}; there are {', '.join(known)}")
    for name, item in tree.items():
        if not _alike(item, known[name]):
            raise ContentError(f"{name} is {type(known[name]).__name__} such as {known[name]!r}, not {item!r}")
    return kind(**tree)


def _alike(item: Any, default: Any) -> bool:
    """Whether a value can stand in the place of a default: a whole number names an archetype, a list many widths."""
    if default is MISSING or default is None:
        return True
    if isinstance(default, bool) or isinstance(item, bool):
        return isinstance(default, bool) and isinstance(item, bool)
    if isinstance(default, float):
        items = item if isinstance(item, list | tuple) else [item]
        return all(isinstance(one, int | float) and not isinstance(one, bool) for one in items)
    return isinstance(item, int | type(default))


def value(tree: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return an entry of a tree that must be of a kind."""
    found = tree.get(name) if isinstance(tree, Mapping) else None
    if not isinstance(found, kind):
        raise ContentError(f"{name} is missing, or no {kind.__name__}")
    return found


def real(tree: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> Real:
    """Return a float64 array of finite numbers and a given shape; None stands for any length."""
    found = array(tree, name, "f", shape)
    if found.dtype != np.float64:
        raise ContentError(f"{name} holds {found.dtype} values, not float64")
    bad = ~np.isfinite(found)
    if bad.any():
        raise ContentError(f"{bad.reshape(len(bad), -1).any(axis=1).sum()} {name} are NaN or infinite")
    return found


def array(tree: Mapping[str, Any], name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array of given kinds of values (NumPy's letters) and a given shape."""
    found = value(tree, name, np.ndarray)
    fits = found.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
    if found.dtype.kind not in kinds or not fits:
        wanted = "×".join("any" if n is None else str(n) for n in shape)
        raise ContentError(f"{name} holds {found.dtype} values of shape {found.shape}, not {wanted} values as expected")
    return found
