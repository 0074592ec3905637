"""Objects found by other means than a method of the recipe: a learned model, or an installed segmenter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..progress import Stopped, report
from .external import PACKAGES, External
from .learned import ObjectModel
from .not_image import with_values
from .recipe import Finder

#: Group of the entry points under which packages offer functions from an image to labels.
GROUP = "napari_shape_ensembles.segmenters"


def segmenters() -> Mapping[str, EntryPoint]:
    """Return the installed segmenters by name, without loading them.

    A package registers one by an entry point of the group ``napari_shape_ensembles.segmenters``: a function that takes
    an image, (rows, columns) or with a last axis of colors, and returns (rows, columns) labels, 0 = background.

    Examples
    --------
    >>> from napari_shape_ensembles import segmenters
    >>> sorted(segmenters())
    []
    """
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def labels_by(find: Finder | str, image: ArrayLike) -> NDArray[np.int32]:
    """Return the validated labels of a model or a segmenter.

    Raises
    ------
    ValueError
        For an unknown name, listing the installed ones; for a segmenter that cannot be loaded, fails, or returns
        anything but labels of the image.
    """
    name = find if isinstance(find, str) else getattr(find, "__name__", type(find).__name__)
    finder = _named(find) if isinstance(find, str) else find
    if isinstance(finder, ObjectModel):
        return finder.labels(image)
    report(f"segmenting with {name}")
    pixels = with_values(np.asarray(image))
    try:
        labels = np.asarray(finder(pixels))
    except Stopped:
        raise
    except Exception as error:
        kind = "" if isinstance(finder, External) else f"{type(error).__name__}: "
        raise ValueError(f"the segmenter {name} failed: {kind}{error}") from error
    if labels.shape != pixels.shape[:2] or labels.dtype.kind not in "biu":
        raise ValueError(
            f"the segmenter {name} returned {labels.dtype} of shape {labels.shape} for an image of shape "
            f"{pixels.shape}: one plane of integers is expected"
        )
    if labels.min(initial=0) < 0 or labels.max(initial=0) > np.iinfo(np.int32).max:
        raise ValueError(
            f"the segmenter {name} returned labels from {labels.min()} to {labels.max()}: they must lie "
            "between 0 and 2³¹ - 1"
        )
    return labels.astype(np.int32)


def model_of(find: Finder | str | None) -> ObjectModel | None:
    """Learned model that a recipe uses, given or loaded from a file; None for anything else.

    Raises
    ------
    ValueError
        If a file does not hold a model.
    """
    if isinstance(find, str) and os.path.isfile(find):
        find = _named(find)
    return find if isinstance(find, ObjectModel) else None


def _named(find: str) -> Finder:
    """Load the model in a file, or the segmenter of this name."""
    if os.path.isfile(find):
        state = os.stat(find)
        return _model(str(Path(find).resolve()), state.st_mtime_ns, state.st_size)
    available = segmenters()
    if (external := _external(find)) is not None:
        return external
    if find not in available:
        installed = f"installed are {', '.join(sorted(available))}" if available else "none is installed"
        raise ValueError(
            f"{find!r} is neither the file of a model nor a segmenter: {installed}, and {', '.join(PACKAGES)} run in a "
            "Python of their own"
        )
    try:
        loaded: Any = available[find].load()
    except Exception as error:
        raise ValueError(f"the segmenter {find} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise ValueError(f"the segmenter {find} is {type(loaded).__name__}, not a function from an image to labels")
    return loaded


def _external(find: str) -> External | None:
    """Segmenter in another environment; an installed one of this name takes precedence."""
    return None if find in segmenters() else External.named(find)


def pinned(find: Any) -> Any:
    """Return the name of an external segmenter with its version, for the record; anything else unchanged.

    Raises
    ------
    ValueError
        If the version cannot be found.
    """
    external = _external(find) if isinstance(find, str) and not os.path.isfile(find) else None
    if external is None or external.version:
        return find
    try:
        return str(External(external.package, external.model, external.installed(), external.python))
    except Stopped:
        raise
    except ValueError as error:
        raise ValueError(f"the segmenter {external} failed: {error}") from error


@lru_cache(maxsize=4)
def _model(path: str, changed: int, size: int) -> ObjectModel:
    """Load a model; cached for all images of a study as long as its file does not change."""
    return ObjectModel.load(path)
