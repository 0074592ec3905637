"""Recipes proposed for an image: several are tried on a part of it and ranked by what the outlines themselves tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ..checks import unmasked
from ..progress import over_blocks, report
from .matching import match_labels
from .recipe import Recipe
from .segment import NEIGHBOURS, plane_of, segment

Real = NDArray[np.float64]
Labels = NDArray[np.int32]

# What is tried: every way to find objects, bright and dark, not split and split in two ways.
_WAYS: tuple[dict[str, Any], ...] = (
    {"method": "otsu"},
    {"method": "otsu", "background": 40.0},
    {"method": "local", "window": 31.0, "offset": 0.05},
    {"method": "local", "window": 61.0, "offset": 0.02},
    {"method": "multi-otsu", "classes": 3, "object_classes": 1},
    {"method": "multi-otsu", "classes": 3, "object_classes": 2},
    {"method": "hysteresis"},
)
_ALWAYS: dict[str, Any] = {"smoothing": 1.0, "min_size": 30}
# What proposals say, beside `min_size` where a person said nothing.
_PROPOSED = (
    *("method", "find", "objects", "split_touching", "smoothing", "background"),
    *("window", "offset", "classes", "object_classes"),
)
# Images are shrunk until their longer side has at most this many pixels; of what is left, a window of this width.
_LARGEST, _WINDOW = 1300, 360
# How many of the best are also tried with other smoothing.
_REPEATED = 8
# Objects below this many pixels are specks.
_SPECK = 60
# Weights of the measures, from a ridge regression of F1 on 16 images of corrected masks; the figures of
# docs/segmentation.md are of other images.
_WEIGHTS = {
    "closed": 0.22,
    "largest": -0.17,
    "covered": -0.17,
    "contrast": 0.31,
    "edge": 0.38,
    "round": 0.23,
    "specks": -0.18,
    "repeatable": 0.07,
}


@dataclass(frozen=True, eq=False)
class Proposal:
    """One recipe, and what it finds in a part of the image.

    Attributes
    ----------
    recipe : Outlines or Recipe
        For the whole image at its full resolution.
    score : float
        The higher the better; comparable between the proposals for one image only.
    measures : mapping of str to float
        What the score is made of: `closed`, the share of the objects' area that does not touch the border; `largest`,
        that of the largest object; `covered`, the share of the image that objects cover; `contrast`, the share of the
        variance of grey values that lies between objects and background; `edge`, the mean rank of the gradient along
        the outlines; `round`, mean circularity; `specks`, the share of objects below 60 pixels; `repeatable`, how well
        labels agree (F1 weighted by IoU) with those under more smoothing, 0 where it was not tried.
    labels : (rows, columns) int32 array
        The objects in the thumbnail.
    thumbnail : (rows, columns) array
        The part of the image that was tried, in grey.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import propose
    >>> rows, columns = np.indices((120, 120)) % 40
    >>> best = propose(100.0 * (np.hypot(rows - 20, columns - 20) < 12))[0]
    >>> best.thumbnail.shape == best.labels.shape, int(best.labels.max())
    (True, 9)
    """

    recipe: Any
    score: float
    measures: Mapping[str, float]
    labels: Labels
    thumbnail: Real


def propose(image: ArrayLike, recipe: Any = None) -> list[Proposal]:
    """Try several recipes on a part of an image, and rank them without a reference.

    Methods, bright and dark objects, and ways to split them are tried on the window of the image with the strongest
    edges. What is preferred are outlines that are closed, contrasting, round and repeatable under another smoothing.

    Parameters
    ----------
    image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
    recipe : Outlines, optional
        What it says about tracing, cleaning up and the size of pixels is kept in the proposals.

    Returns
    -------
    list of Proposal
        The best first; those that find the same objects only once.

    Raises
    ------
    ValueError
        For an image that cannot be segmented; see `segment`.

    Notes
    -----
    The weights of the score are a ridge regression of F1, at an intersection over union of 0.5, on 16 images of nuclei
    whose masks people corrected. For a study, choose one proposal and use it for all images: a choice per image can
    make a difference between groups out of nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import propose
    >>> rows, columns = np.indices((120, 120)) % 40
    >>> image = 200 - 100.0 * (np.hypot(rows - 20, columns - 20) < 12)
    >>> best = propose(image)[0]
    >>> best.recipe.objects, int(best.labels.max())
    ('dark', 9)
    """
    start = recipe or Recipe()
    plane = plane_of(unmasked(image, "the image"), start.channel).astype(np.float64)
    if plane.min() == plane.max():
        raise ValueError(f"every pixel is {plane.flat[0]:g}: there is nothing to tell objects from background")
    factor = max(1, -(-max(plane.shape) // _LARGEST))
    part = _window(_shrunk(plane, factor))
    report("proposing recipes")
    tried = [found for found in over_blocks(lambda way: _tried(part, way), list(_candidates())) if found is not None]
    ranked = sorted(tried, key=lambda item: -_score(item[2]))
    for way, labels, measures in ranked[:_REPEATED]:
        again = segment(part, replace(way, smoothing=1.5 * way.smoothing + 0.3))
        measures["repeatable"] = _agreement(labels, again)
    proposals: list[Proposal] = []
    for way, labels, measures in sorted(ranked, key=lambda item: -_score(item[2])):
        if not any(np.array_equal(labels, known.labels) for known in proposals):
            kept = {name: value for name, value in start.changed().items() if name not in _PROPOSED}
            scaled = way.at_resolution(factor)
            full = replace(start, **{name: getattr(scaled, name) for name in (*_PROPOSED, "min_size")} | kept)
            proposals.append(Proposal(full, _score(measures), measures, labels, part))
    return proposals


def best_recipe(image: ArrayLike, recipe: Any) -> Any:
    """The first of the proposals for an image; of a mask, or where none finds anything, the recipe by Otsu's method."""
    if np.asarray(image).dtype == bool:
        return replace(recipe, method="otsu")
    found = propose(image, recipe)
    return found[0].recipe if found else replace(recipe, method="otsu")


def _candidates() -> Iterator[Recipe]:
    for way in _WAYS:
        for objects in ("bright", "dark"):
            for split in ("none", "distance", "intensity"):
                yield Recipe(objects=objects, split_touching=split, **_ALWAYS, **way)


def _tried(part: Real, way: Recipe) -> tuple[Recipe, Labels, dict[str, float]] | None:
    """A recipe, its labels and their measures; None where it finds nothing, or cannot be used."""
    try:
        labels = segment(part, way)
    except ValueError:  # too few grey levels for several classes
        return None
    return (way, labels, _measures(part, labels)) if labels.any() else None


def _shrunk(plane: Real, factor: int) -> Real:
    if factor == 1:
        return plane
    rows, columns = (side // factor * factor for side in plane.shape)
    if not rows or not columns:
        return plane
    return plane[:rows, :columns].reshape(rows // factor, factor, columns // factor, factor).mean(axis=(1, 3))


def _window(plane: Real) -> Real:
    """The window with the strongest edges, no single one of which counts for much."""
    height, width = (min(side, _WINDOW) for side in plane.shape)
    if (height, width) == plane.shape:
        return plane
    edges = ndimage.gaussian_gradient_magnitude(plane, 2.0)
    sums = np.pad(np.minimum(edges, np.percentile(edges, 99)).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    within = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    row, column = np.unravel_index(within.argmax(), within.shape)
    return plane[row : row + height, column : column + width]


def _score(measures: Mapping[str, float]) -> float:
    return sum(weight * measures[name] for name, weight in _WEIGHTS.items())


def _measures(part: Real, labels: Labels) -> dict[str, float]:
    """See `Proposal.measures`."""
    count = int(labels.max())
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:].astype(np.float64)
    share = areas / areas.sum()
    steps = np.zeros(count + 1)
    outline = np.zeros(labels.shape, dtype=bool)
    diagonal = ((slice(1, None), slice(1, None)), (slice(None, -1), slice(None, -1)))
    other = ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)))
    for (here, there), weight in zip((*NEIGHBOURS, diagonal, other), (1, 1, 0.5**0.5, 0.5**0.5), strict=True):
        a, b = labels[here], labels[there]
        differ = a != b
        outline[here] |= differ
        outline[there] |= differ
        steps += weight * (np.bincount(a[differ], minlength=count + 1) + np.bincount(b[differ], minlength=count + 1))
    lengths = np.maximum(steps[1:] * np.pi / 8, 1.0)  # the formula of Cauchy and Crofton in four directions
    at_border = np.zeros(count + 1, dtype=bool)
    for side in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        at_border[side] = True
    rank = np.argsort(np.argsort(ndimage.gaussian_gradient_magnitude(part, 1.0).ravel())).reshape(part.shape)
    inside = labels > 0
    between = 0.0
    if not inside.all():
        covered = inside.mean()
        between = (part[inside].mean() - part[~inside].mean()) ** 2 * covered * (1 - covered) / part.var()
    return {
        "closed": 1 - float(share[at_border[1:]].sum()),
        "largest": float(share.max()),
        "covered": float(inside.mean()),
        "contrast": float(between),
        "edge": float(rank[outline].mean() / part.size) if outline.any() else 0.0,
        "round": float(np.minimum(4 * np.pi * areas / lengths**2, 1.2).mean()),
        "specks": float((areas < _SPECK).mean()),
        "repeatable": 0.0,
    }


def _agreement(one: Labels, other: Labels) -> float:
    """Twice the sum of the IoU of matched objects over the number of objects in both."""
    pairs = match_labels(one, other).pairs
    count = sum(len(np.unique(labels[labels > 0])) for labels in (one, other))
    return float(2 * pairs["iou"].sum() / max(count, 1))
