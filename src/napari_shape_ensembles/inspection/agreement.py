"""Agreement of two segmentations of one image, such as two annotators, or an annotator and a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import Sealed
from ..comparison import Comparison, Settings, compare
from ..comparison.answer import in_one_line
from ..outlines import Ensemble, Outlines, match_labels
from ..outlines.matching import Matching, boundary_distances
from ..palette import axes_of
from ..progress import report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Number of pairs annotated: those with the smallest overlap.
_MAX_ANNOTATED_PAIRS = 3


@dataclass(frozen=True, eq=False)
class Agreement(Sealed):
    """Agreement of two segmentations of one image.

    Attributes
    ----------
    matching : Matching
        Matching of all objects, by their pixels.
    objects : DataFrame
        One row per matched pair with a curve on both sides: a, b, iou; boundary and hausdorff, the mean and maximum
        distance of the outlines in their unit; shape, undulation and scale, the distances of their coordinates in the
        common shape space.
    comparison : Comparison
        Comparison of the two ensembles. Curves of the same image are not independent, so "no difference detected" is
        weaker than between two images.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, agreement
    >>> one, other = np.zeros((2, 60, 60), int)
    >>> for i, corner in enumerate([5, 25, 45], 1):
    ...     one[corner:corner + 10, 10:20], other[corner:corner + 9, 10:20] = i, i
    >>> found = agreement(one, other, Settings(landmarks=40, rank=2, permutations=99))
    >>> len(found.matching.pairs), found.comparison.case
    (3, 'inconclusive')
    """

    matching: Matching
    objects: pd.DataFrame
    comparison: Comparison

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the overlap of matched objects against the distance of their outlines; returns the Matplotlib axes."""
        objects, matching = self.objects, self.matching
        ax = axes_of(ax, height=4.0)
        ax.plot(objects["boundary"], objects["iou"], "o", color="C0", alpha=0.6, markersize=5)
        a, b = self.comparison.names
        options: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": "x-small"}
        for pair in objects.nsmallest(_MAX_ANNOTATED_PAIRS, "iou").itertuples():
            ax.annotate(f"{pair.a} in {a}, {pair.b} in {b}", (pair.boundary, pair.iou), (-6, 0), **options)
        ax.set(xlabel=f"mean distance of the outlines ({self.comparison.a.unit})", ylabel="IoU", xlim=(0, None))
        drawn = "" if len(objects) == len(matching.pairs) else f" ({len(objects)} with outlines on both sides)"
        alone = f"{len(matching.only_a)} only in {a}, {len(matching.only_b)} only in {b}"
        ax.set_title(f"{len(matching.pairs)} matched{drawn}, {alone}", loc="left", fontsize="medium")
        return ax

    def summary(self) -> str:
        """Summarize in two sentences."""
        apart = ""
        if len(self.objects):
            median = self.objects["boundary"].median()
            apart = f"; outlines of matched objects are {median:.2g} {self.comparison.a.unit} apart (median)"
        names = self.comparison.names
        without = [f"{count} of {name}" for name, count in zip(names, self.without_outline, strict=True) if count]
        left_out = f" Without a usable outline, hence not listed: {' and '.join(without)}." if without else ""
        return f"{self.matching.summary(names)}{apart}.{left_out} {in_one_line(self.comparison)}"

    @property
    def without_outline(self) -> tuple[int, int]:
        """Numbers of matched objects of a and of b without a usable outline, such as those at the border."""
        matched, alone = len(self.matching.pairs), (self.matching.only_a, self.matching.only_b)
        curves = self.comparison.a, self.comparison.b
        a, b = (matched + len(unmatched) - len(side) for unmatched, side in zip(alone, curves, strict=True))
        return a, b


def agreement(
    labels_a: ArrayLike,
    labels_b: ArrayLike,
    settings: Settings | None = None,
    *,
    outlines: Outlines | None = None,
    min_iou: float = 0.5,
    scale: Sequence[float] | None = None,
    unit: str | None = None,
    names: tuple[str, str] = ("A", "B"),
) -> Agreement:
    """Compare two segmentations of one image, object by object and as ensembles.

    Parameters
    ----------
    labels_a, labels_b : (rows, columns) arrays
        Labels of one shape.
    settings : Settings, optional
        Settings of the comparison.
    outlines : Outlines, optional
        How the labels are traced.
    min_iou : float
        Objects with a smaller IoU are not matched.
    scale, unit : (float, float), str, optional
        Height and width of a pixel and their unit, if not given in `outlines`.
    names : (str, str)
        Names of the two segmentations, such as of their annotators.

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        For labels of different shapes, or input that `Outlines.trace` and `compare` reject.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, agreement
    >>> one, other = np.zeros((2, 60, 60), int)
    >>> for i, corner in enumerate([5, 25, 45], 1):
    ...     one[corner:corner + 10, 10:20], other[corner:corner + 9, 10:20] = i, i
    >>> found = agreement(one, other, Settings(landmarks=40, rank=2, permutations=99))
    >>> found.objects[["a", "b", "iou"]]
       a  b  iou
    0  1  1  0.9
    1  2  2  0.9
    2  3  3  0.9
    """
    report("matching objects")
    matching = match_labels(labels_a, labels_b, min_iou=min_iou)
    report("tracing outlines")
    outlines = outlines or Outlines()
    a = outlines.trace(labels_a, scale=scale, unit=unit, name=names[0])
    b = outlines.trace(labels_b, scale=scale, unit=unit, name=names[1])
    # Two segmentations of one image may have identical outlines, which the quality check reports as duplicates.
    comparison = compare(a, b, settings or Settings(), overrule=True)
    report("measuring distances")
    return Agreement(matching, _objects(matching, comparison), comparison)


def _objects(matching: Matching, comparison: Comparison) -> pd.DataFrame:
    a, b = comparison.a, comparison.b
    at_a, at_b = _places(a), _places(b)
    kept = [i for i, pair in enumerate(matching.pairs.itertuples()) if pair.a in at_a and pair.b in at_b]
    pairs = matching.pairs.iloc[kept].reset_index(drop=True)
    i = np.array([at_a[label] for label in pairs["a"]], dtype=int)
    j = np.array([at_b[label] for label in pairs["b"]], dtype=int)
    distances = boundary_distances(_chosen(a, i), _chosen(b, j))
    t = np.linalg.norm(comparison.t[i] - comparison.t[len(a) + j], axis=1)
    l = np.linalg.norm(comparison.l[i] - comparison.l[len(a) + j], axis=1)
    return pairs.assign(
        boundary=distances[:, 0], hausdorff=distances[:, 1], shape=np.hypot(t, l), undulation=t, scale=l
    )


def _places(ensemble: Ensemble) -> dict[int, int]:
    return {label: place for place, label in enumerate(ensemble.ids.tolist())}


def _chosen(ensemble: Ensemble, places: NDArray[np.integer]) -> Ensemble:
    return Ensemble([ensemble[place] for place in places], unit=ensemble.unit, ids=ensemble.ids[places])
