"""Several label sets of one image: their agreement, a consensus, and systematic differences between annotators."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its subpackages load lazily: stats alone takes longer to import than a small comparison
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from .._types import Real
from ..checks import Sealed, several
from ..comparison.figures import draw_ratios
from ..mmd.replicates import adjusted
from ..outlines import match_labels
from ..palette import axes_of
from ..progress import report
from .evidence import Plane, shape

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


# Measures with the column of `shape` that gives them, which is also their name in a plot, and their marker there.
_MEASURES = (("size", "area", "o"), ("smoothness", "circularity", "s"))
# Significance level of a tendency, for adjusted p-values.
_LEVEL = 0.05
# Columns of the table of objects, besides one per annotator.
_OBJECT_COLUMNS = ("label", "votes", "iou")
# Objects with at least this IoU are not distinguished in words, nor are areas with a smaller ratio.
_MIN_REPORTED_IOU, _MIN_AREA_RATIO = 0.8, 1.25


@dataclass(frozen=True, eq=False)
class Annotators(Sealed):
    """Agreement of several annotators of one image.

    Attributes
    ----------
    names : tuple of str
    pairs : DataFrame
        One row per pair of annotators: a, b, matched, only_a, only_b, iou (mean of matched objects), f1.
    objects : DataFrame
        One row per object marked by anyone: label (in `consensus`; 0 without a majority), votes, iou (mean over all
        pairs of annotators who marked it; NaN for one), and one column per annotator with their label, 0 for none.
    tendencies : DataFrame
        One row per annotator and measure ("size", "smoothness", "splits"): effect, low, high, objects, p, p_adjusted
        (Holm, over all rows), words. Each object is compared with the same object of the others: size is the ratio of
        areas, smoothness that of circularities (both medians of paired ratios with 95 % intervals, Wilcoxon's
        signed-rank test); for splits the effect is the fraction of disagreements (an object of one side matches several
        pieces of the other) in which this annotator splits (exact sign test, Clopper-Pearson interval).
    consensus : (rows, columns) int32 array
        Proposed labels: objects marked by more than half of the annotators, each with the pixels that more than half of
        those who marked it assigned to it.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import annotators
    >>> one = np.zeros((20, 20), int)
    >>> one[5:15, 5:15] = 1
    >>> found = annotators([one, one, np.roll(one, 1, axis=0)])
    >>> found.objects["votes"].tolist(), int((found.consensus > 0).sum())
    ([3], 100)
    """

    names: tuple[str, ...]
    pairs: pd.DataFrame
    objects: pd.DataFrame
    tendencies: pd.DataFrame
    consensus: NDArray[np.int32]
    _planes: Mapping[str, NDArray[np.integer]]

    def differences(self) -> tuple[NDArray[np.int32], pd.DataFrame]:
        """Labels of all objects marked by anyone, and the disagreement of the annotators about each.

        Returns
        -------
        labels : (rows, columns) int32 array
            The consensus and, where it leaves space, the objects without a majority, with higher numbers.
        table : DataFrame
            One row per label, the most disputed first: label, score (1 - mean IoU over all pairs of annotators, 0 if
            one of them has no such object), reasons. A minority object that lies mostly on other labels has no label of
            its own and is named in their reasons.

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import annotators
        >>> one = np.zeros((20, 40), int)
        >>> one[5:15, 5:15] = 1
        >>> two = one.copy()
        >>> two[5:15, 25:35] = 2
        >>> labels, table = annotators({"Ada": one, "Ben": one, "Cem": two}).differences()
        >>> table.values.tolist()
        [[2, 1.0, 'marked by 1 of 3: Cem'], [1, 0.0, '']]
        """
        import pandas as pd  # slow to import, and not needed for a comparison

        labels, number, count = self.consensus.copy(), int(self.consensus.max(initial=0)), len(self.names)
        disputes, notes = dict[int, tuple[float, list[str]]](), dict[int, list[str]]()
        for box, row in self._by_weight():
            masks = {name: self._planes[name][box] == row[name] for name in self.names if row[name]}
            words = [f"marked by {row['votes']} of {count}: {', '.join(masks)}"] if row["votes"] < count else []
            label = int(row["label"])
            if not label:
                marked = sum(mask.astype(np.uint8) for mask in masks.values()) * 2 > row["votes"]
                under, pixels = np.unique(labels[box][marked], return_counts=True)
                if pixels[under > 0].sum() * 2 > marked.sum():
                    other = int(under[under > 0][pixels[under > 0].argmax()])
                    notes.setdefault(other, []).append(f"{', '.join(masks)} split or outlined it differently")
                    continue
                label = number = number + 1
                labels[box][marked & (labels[box] == 0)] = label
            iou = float(np.nan_to_num(row["iou"]))
            if row["votes"] > 1:
                words += [f"mean IoU {iou:.2f}"] if iou < _MIN_REPORTED_IOU else []
                areas = {name: float(mask.sum()) for name, mask in masks.items()}
                for name, area in areas.items():
                    others = np.median([value for other, value in areas.items() if other != name])
                    if row["votes"] > 2 and abs(np.log(area / others)) > np.log(_MIN_AREA_RATIO):
                        words.append(f"{name} outlines {area / others:.2g} times the area of the others")
            share = row["votes"] * (row["votes"] - 1) / (count * (count - 1))
            disputes[label] = 1 - share * iou, words
        there = {*np.unique(labels).tolist()}
        rows = [
            (label, score, "; ".join([*dict.fromkeys(notes.get(label, [])), *words]))
            for label, (score, words) in disputes.items()
            if label in there
        ]
        table = pd.DataFrame(sorted(rows), columns=["label", "score", "reasons"])
        return labels, table.sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def _by_weight(self) -> list[tuple[tuple[slice, ...], dict[Any, Any]]]:
        """Rows of `objects` with their bounding boxes.

        In order of votes, total area and place, so that results do not depend on the annotators' order.
        """
        where = {}
        for name, plane in self._planes.items():
            values, first, index, areas = np.unique(plane, return_index=True, return_inverse=True, return_counts=True)
            boxes = ndimage.find_objects(index.reshape(plane.shape) + 1)
            where[name] = dict(
                zip(values.tolist(), zip(areas.tolist(), first.tolist(), boxes, strict=True), strict=True)
            )
        weighted = []
        for row in self.objects.to_dict("records"):
            areas, firsts, boxes = zip(*(where[name][row[name]] for name in self.names if row[name]), strict=True)
            box = tuple(
                slice(min(side.start for side in sides), max(side.stop for side in sides))
                for sides in zip(*boxes, strict=True)
            )
            weighted.append(((-row["votes"], -sum(areas), min(firsts)), box, row))
        weighted.sort(key=lambda one: one[0])
        return [(box, row) for _, box, row in weighted]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot areas and circularities of each annotator relative to the others; returns the Matplotlib axes."""
        ax = axes_of(ax, height=1.4 + 0.5 * len(self.names))
        rows = self.tendencies.assign(ratio=self.tendencies["effect"], differs=self.tendencies["p_adjusted"] < _LEVEL)
        of_measure = dict(iter(rows.set_index("annotator").groupby("measure")))
        draw_ratios(ax, {(words, mark): of_measure[measure].loc[[*self.names]] for measure, words, mark in _MEASURES})
        ax.set_xlabel("ratio to the other annotators (bars: 95 % intervals)")
        ax.set_title(f"mean F1 {self.pairs['f1'].mean():.2f}", loc="left", fontsize="medium")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize="x-small")
        return ax

    def summary(self) -> str:
        """Summarize in a few sentences."""
        if not len(self.objects):
            return f"{len(self.names)} annotators, none of whom marked an object."
        shared, everyone = int((self.objects["label"] > 0).sum()), int((self.objects["votes"] == len(self.names)).sum())
        iou = self.pairs["iou"].mean()
        overlap = f"mean IoU of matched objects {iou:.2f}" if self.pairs["matched"].any() else "no matched objects"
        words = (
            f"{len(self.names)} annotators, mean F1 {self.pairs['f1'].mean():.2f}, {overlap}. {shared} of "
            f"{len(self.objects)} objects are marked by a majority, {everyone} by all."
        )
        clear = self.tendencies[self.tendencies["p_adjusted"] < _LEVEL]
        consistent = [f"{row.annotator} {row.words}" for row in clear.itertuples()]
        return f"{words} {'; '.join(consistent) or 'No annotator differs consistently from the others'}."


def annotators(labels: Mapping[str, ArrayLike] | Sequence[ArrayLike], *, min_iou: float = 0.5) -> Annotators:
    """Compare several label sets of one image object by object, and propose a consensus.

    Parameters
    ----------
    labels : mapping of str to (rows, columns) array, or sequence of arrays
        At least two label sets of one shape; those of a sequence are named "1", "2", …
    min_iou : float
        Objects with a smaller IoU are not the same object.

    Returns
    -------
    Annotators
        Its tests assume that objects of one image are independent: they hold for these objects, not for an annotator's
        work on other images.

    Raises
    ------
    ValueError
        For fewer than two label sets, different shapes, or an annotator named as a column of `Annotators.objects`.

    References
    ----------
    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945) 80-83. S. Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979) 65-70.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import annotators
    >>> rows, columns = np.indices((200, 200))
    >>> def drawn(radius):
    ...     near = np.hypot(rows % 40 - 20, columns % 40 - 20) < radius
    ...     return near * (rows // 40 * 5 + columns // 40 + 1)
    >>> found = annotators({"Ada": drawn(10), "Ben": drawn(10), "Cem": drawn(12)})
    >>> size = found.tendencies[found.tendencies["measure"] == "size"]
    >>> size["words"].tolist()
    ['marks objects 16 % smaller', 'marks objects 16 % smaller', 'marks objects 43 % larger']
    """
    import pandas as pd  # slow to import, and not needed for a comparison

    if not isinstance(labels, Mapping):
        every = several(labels, "annotators takes a list or a dict of label images")
        labels = {str(i): item for i, item in enumerate(every, start=1)}
    named = {str(name): item for name, item in labels.items()}
    if taken := sorted({*named} & {*_OBJECT_COLUMNS}):
        raise ValueError(
            f"an annotator cannot be named {taken[0]!r}, which is a column of the table of objects: use another name"
        )
    if len(named) < 2:
        raise ValueError(f"agreement needs two label sets or more, not {len(named)}")
    planes = {}
    for name, item in named.items():
        try:
            planes[name] = Plane.of(item)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    shapes = {plane.labels.shape: name for name, plane in planes.items()}
    if len(shapes) > 1:
        sizes = " and ".join(f"{shape} ({name})" for shape, name in sorted(shapes.items()))
        raise ValueError(f"label sets of one image must have the same shape, not {sizes}")
    names = tuple(planes)
    pairs, overlaps, divided = [], [], []
    for done, (a, b) in enumerate(itertools.combinations(range(len(names)), 2)):
        report("matching objects", done, len(names) * (len(names) - 1) // 2)
        one, other = planes[names[a]], planes[names[b]]
        matching = match_labels(one.labels, other.labels, min_iou=min_iou)
        matched = matching.pairs
        overlaps += [(a, i, b, j, iou) for i, j, iou in matched.to_numpy().tolist()]
        # If an object of one holds several of the other, the other splits.
        divided.append((a, b, len(matching.merges), len(matching.splits)))
        pairs.append(
            (names[a], names[b], len(matched), len(matching.only_a), len(matching.only_b), matched["iou"].mean())
        )
    table = pd.DataFrame(pairs, columns=["a", "b", "matched", "only_a", "only_b", "iou"])
    table["f1"] = 2 * table["matched"] / (2 * table["matched"] + table["only_a"] + table["only_b"])
    groups = _groups(list(planes.values()), overlaps)
    consensus, numbers, votes = _consensus(list(planes.values()), groups)
    members = {
        name: np.append(0, planes[name].values)[groups[:, place]] if len(groups) else np.empty(0, int)
        for place, name in enumerate(names)
    }
    columns = dict(zip(_OBJECT_COLUMNS, (numbers, votes, _mean_iou(groups, overlaps)), strict=True))
    objects = pd.DataFrame(columns | members)
    tendencies = _tendencies(names, list(planes.values()), groups, divided)
    given = {name: np.append(0, plane.values)[plane.labels] for name, plane in planes.items()}
    return Annotators(names, table, objects, tendencies, consensus, given)


def _groups(planes: list[Plane], overlaps: list[tuple[int, int, int, int, float]]) -> NDArray[np.int64]:
    """Groups of matching objects, (groups, annotators): the index of each annotator's object, 0 for none.

    Pairs are joined in order of decreasing overlap; no group holds two objects of one annotator.
    """
    group_of: dict[tuple[int, int], list[int]] = {}
    for place, plane in enumerate(planes):
        for number in range(1, len(plane) + 1):
            row = [0] * len(planes)
            row[place] = number
            group_of[place, number] = row
    for a, one, b, other, _ in sorted(overlaps, key=lambda pair: -pair[4]):
        left, right = group_of[a, int(one)], group_of[b, int(other)]
        if left is right or any(x and y for x, y in zip(left, right, strict=True)):
            continue
        for place, number in enumerate(right):
            if number:
                left[place] = number
                group_of[place, number] = left
    distinct = {id(row): row for row in group_of.values()}
    return np.array(list(distinct.values()), dtype=np.int64).reshape(-1, len(planes))


def _consensus(
    planes: list[Plane], groups: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Majority labels, their numbers by group (0 for none), and the votes of each group.

    A pixel that as many annotators assign to one object as to another belongs to the larger.
    """
    votes = (groups > 0).sum(axis=1)
    majority = votes * 2 > len(planes)
    numbers = np.where(majority, np.cumsum(majority), 0)
    shape = planes[0].labels.shape
    given = np.zeros((len(planes), *shape), dtype=np.int64)
    for place, plane in enumerate(planes):
        number_of = np.zeros(len(plane) + 1, dtype=np.int64)
        number_of[groups[:, place]] = numbers
        number_of[0] = 0
        given[place] = number_of[plane.labels]
    best, most = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    areas = np.bincount(given.ravel(), minlength=majority.sum() + 1)
    for assigned in given:
        count = (given == assigned).sum(axis=0) * (assigned > 0)
        better = (count > most) | ((count == most) & (areas[assigned] > areas[best]) & (assigned > 0))
        best[better], most[better] = assigned[better], count[better]
    needed = np.append(0, votes[majority])[best]
    return np.where(2 * most > needed, best, 0).astype(np.int32), numbers, votes


def _mean_iou(groups: NDArray[np.int64], overlaps: list[tuple[int, int, int, int, float]]) -> Real:
    where = {
        (place, number): index
        for index, row in enumerate(groups.tolist())
        for place, number in enumerate(row)
        if number
    }
    total, count = np.zeros(len(groups)), np.zeros(len(groups))
    for a, one, b, other, iou in overlaps:
        if (index := where[a, int(one)]) == where[b, int(other)]:
            total[index] += iou
            count[index] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _tendencies(
    names: tuple[str, ...], planes: list[Plane], groups: NDArray[np.int64], divided: list[tuple[int, int, int, int]]
) -> pd.DataFrame:
    """Compare each annotator with the mean of the others, object by object."""
    import pandas as pd  # slow to import, and not needed for a comparison

    measured = [shape(plane) if len(plane) else {} for plane in planes]
    values = {}
    for measure, key, _ in _MEASURES:
        table = np.full(groups.shape, np.nan)
        for place, measures in enumerate(measured):
            if measures:
                table[:, place] = np.append(np.nan, np.log(measures[key]))[groups[:, place]]
        values[measure] = table
    rows = []
    for place, name in enumerate(names):
        others = [i for i in range(len(names)) if i != place]
        for measure, table in values.items():
            both = ~np.isnan(table[:, place]) & (~np.isnan(table[:, others])).any(axis=1)
            apart = table[both, place] - np.nanmean(table[both][:, others], axis=1)
            rows.append((name, measure, *_paired(apart), len(apart)))
        splits = sum(s if a == place else m for a, b, s, m in divided if place in (a, b))
        merges = sum(m if a == place else s for a, b, s, m in divided if place in (a, b))
        rows.append((name, "splits", *_signs(merges, splits), splits + merges))
    tested = pd.DataFrame(rows, columns=["annotator", "measure", "effect", "low", "high", "p", "objects"])
    tested["p_adjusted"] = adjusted(tested["p"].to_numpy(), "family")
    tested["words"] = [_words(measure, effect) for _, measure, effect, *_ in rows]
    return tested[["annotator", "measure", "effect", "low", "high", "objects", "p", "p_adjusted", "words"]]


def _paired(apart: Real) -> tuple[float, float, float, float]:
    """Median ratio with a 95 % interval (order statistics), and Wilcoxon's p-value, from differences of logarithms."""
    if not len(apart):
        return 1.0, 0.0, np.inf, 1.0
    least = int(scipy.stats.binom.ppf(0.025, len(apart), 0.5))
    ordered = np.sort(apart)
    low, high = (ordered[least - 1], ordered[-least]) if least > 0 else (-np.inf, np.inf)
    changed = apart[np.abs(apart) > 1e-9]
    p = float(scipy.stats.wilcoxon(changed).pvalue) if len(changed) else 1.0
    return float(np.exp(np.median(apart))), float(np.exp(low)), float(np.exp(high)), p


def _signs(merges: int, splits: int) -> tuple[float, float, float, float]:
    """Fraction of splits with its exact interval, and the p-value of the sign test."""
    if not merges + splits:
        return 0.5, 0.0, 1.0, 1.0
    test = scipy.stats.binomtest(splits, merges + splits)
    interval = test.proportion_ci()
    return splits / (merges + splits), float(interval.low), float(interval.high), float(test.pvalue)


def _words(measure: str, effect: float) -> str:
    alike = abs(effect - 1) < 0.005  # would be rounded to 0 %, or × 1.00
    if measure == "size":
        more = f"{abs(effect - 1):.0%} {'larger' if effect > 1 else 'smaller'}".replace("%", " %")
        return f"marks objects {'equally large' if alike else more}"
    if measure == "smoothness":
        more = "equally smooth" if alike else "smoother" if effect > 1 else "rougher"
        return f"draws {more} outlines (circularity × {effect:.2f})"
    return f"{'splits' if effect > 0.5 else 'merges'} more (in {max(effect, 1 - effect):.0%} of disagreements)".replace(
        "%", " %"
    )
