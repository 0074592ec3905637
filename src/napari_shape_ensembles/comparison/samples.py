"""Samples of a comparison: what is accepted as one, in one unit and at one precision."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Index
from ..outlines import Ensemble
from .border import at_one_window
from .precision import at_one_precision

Images = Ensemble | Sequence[Ensemble] | Sequence[ArrayLike]
Pair = tuple[Ensemble, Ensemble]


def comparable(a: Images, b: Images, *, border: bool = True) -> tuple[Pair, Pair, str]:
    """Pool the images of each side, b in a's unit: as given, and at one precision; also a note if these differ.

    With `border` the side with larger images loses what the border of smaller ones would have cut. Raises for ensembles
    without curves.
    """
    a, b = sample_of(a), sample_of(b)
    require_curves((a, b))
    given, compared, note = alike([[a], [b.to(a.unit)]], border=border)
    ((a,), (b,)), ((at_a,), (at_b,)) = given, compared
    require_curves((a, b))
    return (a, b), (at_a, at_b), note


def alike(
    groups: Sequence[Sequence[Ensemble]], *, border: bool
) -> tuple[list[list[Ensemble]], list[list[Ensemble]], str]:
    """Bring the images of groups to one window, if `border`, and to one precision; see `at_one_precision`."""
    seen, left_out = at_one_window(groups) if border else (groups, "")
    given, compared, note = at_one_precision(seen)
    return given, compared, "; ".join(filter(None, [left_out, note]))


def sample_of(side: Images) -> Ensemble:
    """Return one sample: pools several images, and takes arrays of vertices as the curves of one image.

    Raises
    ------
    ValueError
        For anything else, or a mixture of these.
    """
    if isinstance(side, Ensemble):
        return side
    given: Any = side
    usable = isinstance(given, str | bytes | PathLike | Iterable) and not isinstance(given, Mapping)
    if not usable or hasattr(given, "columns"):
        raise ValueError(
            f"a sample must be an ensemble, or a list of ensembles or of (m, 2) arrays, not {type(given).__name__}"
        )
    plane = isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] != 2
    one = plane or isinstance(given, str | bytes | PathLike)
    parts: list[Any] = [given] if one else list(given)
    for part in parts:
        if isinstance(part, str | bytes | PathLike):
            raise ValueError(
                f"a sample must be an Ensemble, not the path {str(part)!r}: use io.read_curves(path).ensemble to "
                "read outlines, or Outlines()(io.read_image(path).pixels) to trace an image"
            )
        if isinstance(part, np.ndarray) and part.ndim > 1 and part.shape[1:] != (2,):
            raise ValueError(
                f"a sample must be an Ensemble of outlines, not an array of shape {np.shape(given)}: use "
                "extract_curves(labels) to trace labels or a mask, or Outlines()(image) to trace an image"
            )
    images = [part for part in parts if isinstance(part, Ensemble)]
    if images and len(images) < len(parts):
        raise ValueError("a sample mixes ensembles and arrays: wrap the arrays in an Ensemble, which has a unit")
    return Ensemble.pooled(images) if images or not parts else Ensemble(parts)


def require_curves(ensembles: Sequence[Ensemble]) -> None:
    """Raise for ensembles without curves, listing what was left out of them."""
    for side, ensemble in zip("AB", ensembles, strict=False):
        if not len(ensemble):
            reasons = "; ".join(f"{count} {reason}" for reason, count in ensemble.dropped.items())
            raise ValueError(
                f"{ensemble.name or side} has no usable outline"
                + (f" ({reasons})" if reasons else "")
                + ": check the segmentation and the minimum size"
            )


def require_given_once(ensembles: Sequence[Ensemble]) -> None:
    """Raise for images with the same outlines, which are no independent replicates."""
    seen: dict[bytes, int] = {}
    for place, one in enumerate(ensembles, start=1):
        first = seen.setdefault(hashlib.sha256(one.vertices.tobytes()).digest(), place)
        if first != place:
            names = f"{ensembles[first - 1].name or f'image {first}'} and {one.name or f'image {place}'}"
            raise ValueError(f"{names} (images {first} and {place}) contain the same outlines: give each image once")


def image_counts(a: Ensemble, b: Ensemble) -> tuple[int, int]:
    """Numbers of images of two samples."""
    return len(set(a.images.tolist())), len(set(b.images.tolist()))


def image_numbers(sides: Sequence[Ensemble]) -> Index:
    """Image of each outline, (N,), numbered over all sides."""
    numbers, count = [], 0
    for side in sides:
        names, own = np.unique(side.images, return_inverse=True)
        numbers.append(count + own)
        count += len(names)
    return np.concatenate(numbers).astype(np.intp)


def column_numbers(sides: Sequence[Ensemble], column: str) -> Index:
    """Number of the value of each outline in a column of metadata, (N,), numbered over all sides.

    Equal values on two sides are different replicates. Raises if a side has no such column, or values are missing.
    """
    numbers, count = [], 0
    for side, letter in zip(sides, "AB", strict=False):
        table = side.metadata
        if column not in table:
            known = ", ".join(map(repr, table)) or "none"
            raise ValueError(f"the outlines of {side.name or letter} have no column {column!r}; they have {known}")
        if missing := int((table[column].isna() | (table[column].astype(str).str.strip() == "")).sum()):
            raise ValueError(
                f"{missing} of {len(table)} outlines of {side.name or letter} have no {column}: fill the column, or "
                "leave these outlines out"
            )
        own = table.groupby(column, sort=True).ngroup().to_numpy()
        numbers.append(count + own)
        count += int(own.max()) + 1
    return np.concatenate(numbers).astype(np.intp)
