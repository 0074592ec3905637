"""Groups seen through unequal windows: outlines of the larger ones as the smallest would have kept them.

Large outlines are cut by the image border, and left out, the more often the smaller the image. Under one law samples of
unequal images differ by that alone. Of the group that sees more, outlines are kept with the ratio of the two shares of
places at which they lie whole in an image: then the laws of what is kept are equal.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from .._types import Index, Mask, Real
from ..mmd.replicates import group_means
from ..outlines import Ensemble
from ..outlines.border import box_sides, inclusion
from ..outlines.ensemble import WINDOW_COLUMNS
from ..outlines.reasons import SMALLER_WINDOW
from ..words import counted, listed
from .settings import Settings

#: A change of a mean size by weights that is stated beside a result.
NOTED = 0.01


def at_one_window(groups: Sequence[Sequence[Ensemble]]) -> tuple[list[list[Ensemble]], str]:
    """Leave out so many outlines of groups with larger windows that the border has selected all groups alike.

    Return the images of each group, in one unit, whose `windows` are then those that would have kept as many, and what
    was left out; the same objects, and no words, where nothing is. Nothing is left out if a window is unknown, which is
    stated where others are known, or if this would be all of an image, such as one that is cropped around its only
    object and samples no field.

    Reciprocal sides of the windows are raised in each group until their means are those of the group in which they are
    largest: where a group has windows of one size, it is given the smallest height and width of all groups. Outlines
    are left out by systematic sampling in the order of their sizes, not by chance, so that the result does not depend
    on a seed; tests of what is left are at or below their level (`benchmarks/border.py`).
    """
    windows = [np.concatenate([image.windows for image in group]) for group in groups]
    given = [list(group) for group in groups]
    known = [np.isfinite(of).all(axis=1) for of in windows]
    if not all(each.all() for each in known):
        return given, _unknown(given) if any(each.any() for each in known) else ""
    means = [(1 / of).mean(axis=0) for of in windows]
    views = [1 / (1 / of + np.max(means, axis=0) - mean) for of, mean in zip(windows, means, strict=True)]
    shares = [_systematic(*each) for each in zip(given, windows, views, strict=True)]
    if emptied := [name for each in zip(given, shares, strict=True) for name in _emptied(*each)]:
        of_images = f" of {listed(named)}" if (named := [*filter(None, dict.fromkeys(emptied))]) else " of an image"
        return given, (
            "Images differ in size, and the border of smaller ones cuts large outlines more often: none were left out "
            f"to make up for it, as nothing{of_images} would be left"
        )
    count, names = 0, []
    for group, smaller, kept in zip(given, views, shares, strict=True):
        if kept.all():
            continue
        count += int(np.count_nonzero(~kept))
        names += [name for name in dict.fromkeys(name for image in group for name in image.images.tolist()) if name]
        ends = np.cumsum([0, *map(len, group)])
        for place, (image, start) in enumerate(zip(group, ends, strict=False)):
            rows = slice(start, start + len(image))
            group[place] = _seen_through(image, smaller[rows], kept[rows])
    if not count:
        return given, ""
    of_images = f" of {listed(names)}" if 0 < len(names) <= 3 else ""
    return given, (
        f"{counted(count, 'outline')}{of_images} {'was' if count == 1 else 'were'} left out, as many of each size as "
        "the border of smaller images would have cut"
    )


def _unknown(groups: Sequence[Sequence[Ensemble]]) -> str:
    images = [image for group in groups for image in group]
    names = [name for image in images for name in image.images[~np.isfinite(image.windows).all(axis=1)].tolist()]
    few = [*filter(None, dict.fromkeys(names))]
    whose = listed(few) if 0 < len(few) <= 3 else "some images"
    return f"The extent of {whose} is unknown: whether borders cut large outlines alike was not taken into account"


def usable_weights(weights: Real, settings: Settings) -> Real:
    """Return `Ensemble.border_weights` of some outlines if all are known and wanted; else equal ones."""
    return weights if settings.border_correction and np.isfinite(weights).all() else np.ones(len(weights))


def size_factor(size: Real, weights: Real, replicate: Index | None = None) -> float:
    """How many times as large the geometric mean size is with weights as without, from logarithms (N,) of sizes.

    Of several replicates, whose numbers are given, it is that of their means, as in ratios.
    """
    image = np.zeros(len(size), np.intp) if replicate is None else np.unique(replicate, return_inverse=True)[1]
    change = group_means(size[:, None], image, weights) - group_means(size[:, None], image)
    return float(np.exp(change.mean()))


def weights_in_words(factors: Mapping[str, float], least: float = 0.0) -> str:
    """State by how much weights change the mean size of each group; empty if they change none by more than `least`."""
    shown = sorted(factors, key=lambda name: -abs(np.log(factors[name])))[: 2 if len(factors) < 3 else 1]
    if not shown or abs(np.log(factors[shown[0]])) <= least:
        return ""
    times = " and ".join(f"{factors[name]:.3f} times in {name}" for name in factors if name in shown)
    return (
        "Ratios are weighted for outlines cut by the image border (Miles 1974; Lantuéjoul 1980), which are large ones "
        f"more often: mean sizes are {'up to ' if len(factors) > 2 else ''}{times} what they would be without weights."
    )


def _systematic(group: Sequence[Ensemble], windows: Real, smaller: Real) -> Mask:
    """Which outlines are kept: of those of similar size the share that lies whole in smaller windows, too."""
    sides = np.concatenate([box_sides(image.vertices, image.offsets) for image in group])
    lost = 1 - inclusion(sides, smaller) / np.maximum(inclusion(sides, windows), np.finfo(float).tiny)
    order = np.argsort(sides.prod(axis=1), kind="stable")
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = np.diff(np.floor(np.cumsum(lost[order]) + 0.5), prepend=0) == 0
    return kept


def _emptied(group: Sequence[Ensemble], kept: Mask) -> list[str]:
    """Name of each image of which no outline is kept."""
    found, start = [], 0
    for member in group:
        images, own = member.images, kept[start : start + len(member)]
        found += [name for name in dict.fromkeys(images.tolist()) if not own[images == name].any()]
        start += len(member)
    return found


def _seen_through(image: Ensemble, windows: Real, kept: Mask) -> Ensemble:
    """Return the outlines kept of an image, with other windows."""
    rows = np.flatnonzero(kept)
    dropped = image.dropped
    dropped[SMALLER_WINDOW] = dropped.get(SMALLER_WINDOW, 0) + len(kept) - len(rows)
    changes = {"window": windows[0]} if image.window and len(windows) else {}
    if WINDOW_COLUMNS[0] in image.metadata:
        columns = dict(zip(WINDOW_COLUMNS, windows.T, strict=True))
        changes = {"metadata": image.metadata.assign(**columns).iloc[rows]}
    return image.derived([image.curves[row] for row in rows], rows, dropped=dropped, **changes)
