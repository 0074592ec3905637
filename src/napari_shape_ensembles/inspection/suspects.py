"""Ranking of labels or outlines by how likely they are wrong, with reasons in words; it learns from verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its subpackages load lazily
from numpy.typing import ArrayLike, NDArray

from .._types import Mask, Real
from ..archive import ContentError, StrPath, exact_csv_options, write_bytes
from ..comparison import Settings
from ..outlines import Ensemble
from ..progress import report
from .curves import OUTLIER_SIGMAS, ranked_curves
from .evidence import evidence, unlabelled

if TYPE_CHECKING:
    import pandas as pd


# Statuses of a label found to be wrong, and of one found to be right.
_WRONG_STATUSES = ("wrong", "modified", "deleted", "corrected")
_RIGHT_STATUSES = ("right", "kept")
# Added to the log-odds of labels with a hole or several components, which are rarely drawn on purpose.
_TOPOLOGY_OFFSET = 4.0
# Words of the reasons that say so.
_TOPOLOGY_WORDS = "hole: ", "encloses other labels", " pieces: "
# Added to the log-odds of labels with any reason, with an image and without one, where the trees are less informed.
_REASON_OFFSET, _REASON_OFFSET_WITHOUT_IMAGE = 1.0, 2.0
# Median log-odds, without the image, of the labels of manually drawn masks of the training images: half of the masks
# have a lower one.
_TYPICAL_ODDS = -2.2
# Reasons for which trees trained on synthetic faults must reach this probability, with an image.
_CONFIRMED_REASONS = ("merge", "split", "leak", "cut", "shift", "stray")
_MIN_PROBABILITY = 0.3
# Likewise of any error, for a dent or a small size, which many good outlines have; and for what is inferred from the
# form of two parts without an image.
_MIN_ERROR, _MIN_ERROR_IN_FORM = 0.3, 0.2
# Contrast and edge strength, relative to the typical ones, below which a speck needs no confirmation by trees.
_MAX_SPECK_EVIDENCE = 0.05
# Features for learning from corrections: with twenty of them there are too few data for all features.
_CORRECTION_FEATURES = (
    *("size", "size apart", "solidity here", "ellipse_fit here", "circularity here", "neck here", "fit here"),
    *("snap_iou here", "snap_area here", "alike_otsu here", "alike_local here", "edge_share here", "no_edge here"),
    *("leak_share here", "missed_share here", "edge_offset here", "contrast here", "sharpness here", "texture here"),
    "level here",
)
# Least number and share of the labels of an image that enclose another one, or are divided by it, where that is usual.
_MIN_OVERLAPPING, _MIN_OVERLAPPING_SHARE = 3, 0.05
#: Reason of labels with a high score to which no rule applies, and the lowest such score.
LIKE_WRONG = "like objects that were wrong elsewhere"
_MIN_UNEXPLAINED = 0.2
# Minimum number of ticks of each kind for learning, and for calibration.
_MIN_TICKS, _MIN_CALIBRATING = 1, 10
# Ticks are ranked by models of the others, in this number of parts; standard deviations of the prior of the slope about
# 1, and of the offset.
_FOLDS, _SLOPE_DEVIATION, _OFFSET_DEVIATION = 5, 0.5, 3.0


@dataclass(eq=False)
class Ticks:
    """Reviewed labels of any number of images, with their evidence: the training data of the ranking.

    Attributes
    ----------
    table : DataFrame
        One row per label: image, label, wrong (bool), and its evidence; None at first.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import rank_suspects
    >>> from napari_shape_ensembles.inspection.suspects import Ticks
    >>> rows, columns = np.indices((60, 90))
    >>> labels = (np.hypot(rows % 30 - 15, columns % 30 - 15) < 10) * (rows // 30 * 3 + columns // 30 + 1)
    >>> labels[14:17, 14:17] = 0
    >>> ticks = Ticks()
    >>> ticks.add(labels, verdicts={1: "wrong", 2: "right"}, name="field 1")
    >>> len(ticks.table)
    2
    >>> rank_suspects(labels, corrections=ticks)["label"].tolist()[0]
    1
    """

    table: pd.DataFrame | None = field(default=None)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether each label is wrong, (N,)."""
        return np.empty(0, dtype=bool) if self.table is None else self.table["wrong"].to_numpy(dtype=bool)

    def add(
        self,
        labels: ArrayLike,
        image: ArrayLike | None = None,
        *,
        verdicts: Any,
        name: str = "",
        measured: pd.DataFrame | None = None,
    ) -> None:
        """Add verdicts on labels of an image; a later verdict on a label replaces an earlier one.

        Parameters
        ----------
        labels, image
            As for `rank_suspects`.
        verdicts : mapping of label to "right" or "wrong", or DataFrame with columns label and status
            As `corrections` of `rank_suspects`.
        name : str
            Name of the image.
        measured : DataFrame, optional
            Evidence of this image, if already computed.
        """
        import pandas as pd  # slow to import, and not needed for a comparison

        verdict = verdicts_of(verdicts)
        measured = Suspects.of(labels, image).table if measured is None else measured
        if unknown := [label for label in verdict if label not in measured.index]:
            raise ValueError(f"corrections contain label {unknown[0]}, which is not in the image")
        rows = measured.loc[list(verdict)].assign(wrong=list(verdict.values()), image=name)
        rows = rows.rename_axis("label").reset_index()
        before = [] if self.table is None else [self.table]
        self.table = pd.concat([*before, rows], ignore_index=True).drop_duplicates(["image", "label"], keep="last")

    def remove(self, label: int, name: str = "") -> None:
        """Remove the verdict on a label of an image."""
        if self.table is not None:
            kept = self.table[(self.table["label"] != label) | (self.table["image"] != name)]
            self.table = kept.reset_index(drop=True) if len(kept) else None

    def save(self, path: StrPath) -> None:
        """Write the ticks of a project to a CSV file."""
        if self.table is None:
            raise ValueError("nothing has been ticked yet")
        write_bytes(path, self.table.to_csv(index=False).encode())

    @classmethod
    def load(cls, path: StrPath) -> Ticks:
        """Read the ticks of a project.

        Raises
        ------
        ValueError
            For a file that holds none.
        """
        import pandas as pd  # slow to import, and not needed for a comparison

        try:
            table = pd.read_csv(path, keep_default_na=False, **exact_csv_options())
        except ValueError as error:  # not text, not a table, or empty
            raise ContentError(f"{path} is not a CSV table: {error}") from error
        if not {"image", "label", "wrong"} <= set(table.columns):
            raise ContentError(f"{path} contains no ticks: it needs the columns image, label, wrong and evidence")
        wrong = table["wrong"].astype(str).str.strip().str.lower()
        if unclear := sorted(set(wrong) - {"true", "false"}):
            raise ContentError(f"{path}: the column wrong contains {unclear[0]!r}: use True or False")
        for name, column in table.drop(columns=["image", "wrong"]).items():
            if name != "label" and (column == "").any():
                with suppress(ValueError):  # without an image, its evidence is empty
                    table[name] = column = column.replace("", "nan").astype(np.float64)
            if column.dtype.kind not in ("iu" if name == "label" else "iuf"):
                raise ContentError(f"{path}: not all values of the column {name} are numbers: save the ticks again")
        return cls(table.assign(image=table["image"].astype(str), wrong=wrong == "true"))


def rank_suspects(
    labels: ArrayLike | Ensemble, image: ArrayLike | None = None, *, corrections: Any = None
) -> pd.DataFrame:
    """Rank all labels of an image, or all outlines, by how likely they are wrong, the most suspicious first.

    Parameters
    ----------
    labels : (rows, columns) array, or Ensemble
        Integers, 0 = background; a mask is split into connected components. Outlines of which there are no labels are
        ranked by their shapes, sizes and positions alone.
    image : (rows, columns) array, or with a last axis of channels such as RGB(A), optional
        The segmented image. Without it only topology, shape, size and neighbors of the labels are used.
    corrections : optional
        Verdicts on some labels: a mapping of label to "right" or "wrong" (or to a bool: whether it was wrong), a
        DataFrame with the columns label and status ("kept", "modified", "deleted"), or `Ticks` of several images. The
        other labels are ranked again accordingly.

    Returns
    -------
    DataFrame
        One row per label, or per outline: label (for an outline, its id); score, from 0 to 1, a rank, and from ten
        corrections of each kind on the probability of being wrong; reasons, joined by "; ", or "" if there are none.

    Raises
    ------
    ValueError
        For labels that are not a 2D array of integers, labels and image in the wrong order, an image of another shape,
        with NaNs, or blank, or corrections that contradict each other or are of labels that do not exist; and for an
        image or corrections of outlines.

    See Also
    --------
    missing_objects : What looks like an object and has no label.

    Notes
    -----
    The order comes from gradient-boosted trees on features of every object relative to the others of its image; they
    were trained on masks corrected by volunteers and on automatic segmentations with a reference
    (``tools/train_inspection.py``). Labels with a hole or several components come before those without. The score is
    scaled on held-out training images (Platt 1999), but only orders the labels: on images of other kinds, scores of 0.2
    to 0.5 were of labels of which three in four were wrong, and for manually drawn masks, which have few errors, it is
    too high. Without an image, a form that most labels have is not suspicious: the log-odds of labels without a reason
    are lowered by as much as the median is above that of manually drawn masks. From the first correction of each kind
    on, a logistic regression on the same features is added, trained on this project's own corrections. From ten of each
    kind on, the score is scaled on them, each fifth being ranked by the other four: with the most probable slope and
    offset of its log-odds, given that the slope is near 1 (a normal prior of standard deviation 0.5). It is then a
    probability for labels like the corrected ones.

    Outlines are compared with the median of the ensemble: roughness, area and distance from the mean shape are
    suspicious beyond 3.5 robust standard deviations (Iglewicz and Hoaglin 1993), as are outlines that cross themselves
    or lie inside another one. Their score is w / (1 + w) for the sum w of these weights.

    References
    ----------
    Iglewicz, B. and Hoaglin, D. C. (1993). How to Detect and Handle Outliers. ASQC Quality Press.

    Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods. In: Advances in Large Margin Classifiers, MIT Press, 61-74.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, rank_suspects
    >>> rows, columns = np.indices((200, 200))
    >>> labels = (np.hypot(rows % 40 - 20, columns % 40 - 20) < 12) * (rows // 40 * 5 + columns // 40 + 1)
    >>> labels[98:103, 98:103] = 0
    >>> ranking = rank_suspects(labels)
    >>> print(*ranking.loc[0, ["label", "reasons"]])
    13 hole: 1 of 25 px, 5.7 % of the object
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> ensemble = Ensemble([20 * circle, 5 * circle], ids=["cell", "hole"])
    >>> print(*rank_suspects(ensemble).loc[0, ["label", "reasons"]])
    hole lies inside another curve
    """
    if isinstance(labels, Ensemble):
        if image is not None or corrections is not None:
            raise ValueError(
                "an image and corrections rank labels, not outlines: give the labels in place of the outlines"
            )
        return ranked_curves(labels, Settings())
    if corrections is None or isinstance(corrections, Ticks):
        return Suspects.of(labels, image).ranked(corrections)
    verdicts, ticks = verdicts_of(corrections), Ticks()
    suspects = Suspects.of(labels, image)
    ticks.add(labels, image, verdicts=verdicts, measured=suspects.table)
    return suspects.ranked(ticks, verdicts)


@dataclass(frozen=True, eq=False)
class Suspects:
    """Labels of one image with their evidence: measured once, ranked again after every verdict.

    Attributes
    ----------
    table : DataFrame
        One row per label, by number: the evidence, absolute and relative to the other labels of the image; and "odds",
        the log-odds that it is wrong, by the trees and the reasons.
    reasons : list of str
        Reasons for each label; "" if there are none.
    partners : mapping of int to int
        The neighbor that each label most likely forms one object with; none for labels without a neighbor.

    See Also
    --------
    rank_suspects : The same in one step.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.inspection.suspects import Suspects, Ticks
    >>> rows, columns = np.indices((60, 90))
    >>> labels = (np.hypot(rows % 30 - 15, columns % 30 - 15) < 10) * (rows // 30 * 3 + columns // 30 + 1)
    >>> labels[14:17, 14:17] = 0
    >>> suspects = Suspects.of(labels)
    >>> suspects.ranked()["label"].tolist()[0]
    1
    >>> suspects.ranked(verdicts={1: False})["label"].tolist()[-1]
    1
    """

    table: pd.DataFrame
    reasons: list[str]
    partners: Mapping[int, int]

    @classmethod
    def of(cls, labels: ArrayLike, image: ArrayLike | None = None) -> Suspects:
        """Measure all labels of an image; parameters and errors as for `rank_suspects`."""
        measured = evidence(labels, image)
        if not len(measured):
            return cls(measured, [], {})
        table = relative_evidence(measured, trees_of(_kind(measured)).spread)
        words = reasons(measured, table if image is not None else None)
        table["odds"] = log_odds(table) + log_odds_offset(table, words, image is not None)
        if image is None:
            # A form that all objects have, such as that of a star, cannot be told from an error in all labels without
            # the image: without a reason, the typical label is no more suspicious than that of a mask drawn by hand.
            typical = float(np.median(trees_of("labels").log_odds(table)))
            table.loc[[not word for word in words], "odds"] -= max(0.0, typical - _TYPICAL_ODDS)
        pairs = zip(measured.index.tolist(), measured["partner"].astype(int).tolist(), strict=True)
        return cls(table, words, {label: partner for label, partner in pairs if partner})

    def ranked(self, ticks: Ticks | None = None, verdicts: Mapping[int, bool] | None = None) -> pd.DataFrame:
        """Rank the labels, the most suspicious first.

        Parameters
        ----------
        ticks : Ticks, optional
            Training data, of this image and of others.
        verdicts : mapping of int to bool, optional
            Verdicts on labels of this image (True for wrong), whose score is then 1 or 0.

        Returns
        -------
        DataFrame
            As from `rank_suspects`.
        """
        import pandas as pd  # slow to import, and not needed for a comparison

        score = np.empty(0)
        if len(self.table):
            given = None if ticks is None else ticks.table
            if given is not None:
                report("learning from corrections")
            score = scores(self.table, given)
        words = [
            said or (LIKE_WRONG if likely >= _MIN_UNEXPLAINED else "")
            for said, likely in zip(self.reasons, score, strict=True)
        ]
        for label, wrong in (verdicts or {}).items():
            score[self.table.index.get_loc(label)] = float(wrong)
        labels = self.table.index.to_numpy(dtype=np.int64)
        ranking = pd.DataFrame({"label": labels, "score": score, "reasons": pd.Series(words, dtype=str)})
        return ranking.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def scale_of_score(wrong: ArrayLike) -> str:
    """Say what scores are that were learned from ticks: ranks, or probabilities, and from how many ticks.

    Parameters
    ----------
    wrong : array of bool
        Whether each ticked label is wrong.

    Examples
    --------
    >>> from napari_shape_ensembles.inspection.suspects import scale_of_score
    >>> scale_of_score([True, False, False])
    'scores are ranks, and no probabilities, until 10 labels are found right and 10 wrong: so far 2 and 1'
    >>> scale_of_score([True, False] * 12)
    'scores are probabilities of being wrong, from 12 labels found right and 12 wrong'
    """
    count, errors = np.size(wrong), np.count_nonzero(wrong)
    if _calibrates(wrong):
        return f"scores are probabilities of being wrong, from {count - errors} labels found right and {errors} wrong"
    return (
        f"scores are ranks, and no probabilities, until {_MIN_CALIBRATING} labels are found right and "
        f"{_MIN_CALIBRATING} wrong: so far {count - errors} and {errors}"
    )


def _calibrates(wrong: ArrayLike) -> bool:
    errors = np.count_nonzero(wrong)
    return bool(min(errors, np.size(wrong) - errors) >= _MIN_CALIBRATING)


def verdicts_of(corrections: Any) -> dict[int, bool]:
    """Whether each reviewed label was wrong."""
    if hasattr(corrections, "columns"):
        if not {"label", "status"} <= set(corrections.columns):
            raise ValueError(
                f"corrections must have the columns label and status, not {', '.join(corrections.columns)}"
            )
        pairs = zip(corrections["label"], corrections["status"], strict=True)
    elif hasattr(corrections, "items"):
        pairs = corrections.items()
    else:
        raise ValueError("corrections must be a mapping of label to 'right' or 'wrong', a DataFrame, or Ticks")
    verdicts = dict[int, bool]()
    for label, status in pairs:
        if not isinstance(status, bool | np.bool_) and status not in (*_RIGHT_STATUSES, *_WRONG_STATUSES):
            raise ValueError(
                f"label {label} is marked {status!r}: use one of {', '.join((*_RIGHT_STATUSES, *_WRONG_STATUSES))}"
            )
        wrong = bool(status) if isinstance(status, bool | np.bool_) else status in _WRONG_STATUSES
        if verdicts.setdefault(_label_of(label), wrong) != wrong:
            raise ValueError(f"corrections mark label {label} both right and wrong: remove one of the two")
    return verdicts


def _label_of(value: Any) -> int:
    """Return a label of a table, which may have been read as text or as a float."""
    try:
        label = int(value)
    except (TypeError, ValueError, OverflowError):
        label = None
    if label is None or not (isinstance(value, str) or label == value):
        raise ValueError(f"corrections contain the label {value!r}, which is not an integer")
    return label


# The score --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trees:
    """Gradient-boosted trees as arrays: node k of tree t is at [t, k].

    Attributes
    ----------
    columns : tuple of str
        Features used.
    column, threshold, left, right, value : (trees, nodes) arrays
        A row goes left if its feature is at most the threshold; leaves point to themselves.
    start : float
        Log-odds before the first tree.
    spread : mapping of str to float
        Typical mean absolute deviation of every feature in an image, the lower limit for other images.
    slope, offset : float
        Platt scaling: the calibrated log-odds are slope × uncalibrated ones + offset.
    """

    columns: tuple[str, ...]
    column: NDArray[np.integer]
    threshold: Real
    left: NDArray[np.integer]
    right: NDArray[np.integer]
    value: Real
    start: float
    spread: Mapping[str, float]
    slope: float = 1.0
    offset: float = 0.0

    def log_odds(self, table: pd.DataFrame) -> Real:
        """Log-odds of each row (N,)."""
        rows = table[list(self.columns)].to_numpy(dtype=np.float64)
        trees = np.arange(len(self.column))[None]
        node = np.zeros((len(rows), len(self.column)), dtype=np.int64)
        while True:
            measured = np.take_along_axis(rows, self.column[trees, node], axis=1)
            onward = np.where(measured <= self.threshold[trees, node], self.left[trees, node], self.right[trees, node])
            if (onward == node).all():
                return self.start + self.value[trees, node].sum(axis=1)
            node = onward


@cache
def trees_of(kind: str) -> Trees:
    """Load the trees shipped with the package, trained by ``tools/train_inspection.py``.

    Those of "image" and "labels" classify labels as wrong; those of a fault, such as "merge", classify that fault.
    """
    with (files(__package__) / f"trees-{kind}.npz").open("rb") as file, np.load(file, allow_pickle=False) as kept:
        spread = dict(zip(kept["measures"].tolist(), kept["spread"].tolist(), strict=True))
        arrays = {name: kept[name] for name in ("column", "threshold", "left", "right", "value")}
        start, slope, offset = (float(kept[name]) for name in ("start", "slope", "offset"))
        columns = tuple(kept["columns"].tolist())
        return Trees(columns=columns, start=start, spread=spread, slope=slope, offset=offset, **arrays)


def relative_evidence(measured: pd.DataFrame, spread: Mapping[str, float]) -> pd.DataFrame:
    """Evidence, absolute and relative to the objects of its image: columns "… here", in robust standard deviations."""
    import pandas as pd  # slow to import, and not needed for a comparison

    raw = measured[list(spread)]
    middle = raw.median()
    apart = 1.4826 * (raw - middle).abs().median() + 0.25 * pd.Series(spread)
    here = ((raw - middle) / (apart + 1e-9)).clip(-10, 10).add_suffix(" here")
    size = np.log(measured["area"])
    size -= size.median()
    sizes = pd.DataFrame(
        {
            "size": size,
            "size apart": size.abs(),
            "size apart here": size / (size.abs().median() + 0.1),
            "radius": np.sqrt(measured["area"].median()),
        }
    )
    return pd.concat([raw, here, sizes], axis=1)


def _kind(table: pd.DataFrame) -> str:
    return "image" if "contrast" in table else "labels"


def log_odds(table: pd.DataFrame, trees: Trees | None = None) -> Real:
    """Log-odds that a label is wrong according to the training images; by default with the trees of the package."""
    broken = (table["holes"] > 0) | (table["pieces"] > 1)
    return (trees or trees_of(_kind(table))).log_odds(table) + _TOPOLOGY_OFFSET * broken.to_numpy()


def log_odds_offset(table: pd.DataFrame, words: list[str], seen: bool) -> Real:
    """Offset of the log-odds for labels with a reason, and for those of a size outside the training data.

    Trees do not extrapolate: an object ten times larger than all others of its image is suspicious all the same. Those
    cut by the image border may be as small as it leaves them.
    """
    broken = (table["holes"] > 0) | (table["pieces"] > 1)
    overlapping = broken.to_numpy() & [not any(word in said for word in _TOPOLOGY_WORDS) for said in words]
    size = table["size"].to_numpy(dtype=np.float64)
    apart = (np.abs(size) > np.log(2)) & ((table["border_share"].to_numpy() == 0) | (size > 0))
    far = np.where(apart, np.clip(_unusual(size) / OUTLIER_SIGMAS - 1, 0, 3), 0)
    return (
        (_REASON_OFFSET if seen else _REASON_OFFSET_WITHOUT_IMAGE)
        * np.array([bool(reason) for reason in words], dtype=float)
        + far
        - _TOPOLOGY_OFFSET * overlapping
    )


def odds_of_corrections(table: pd.DataFrame, ticks: pd.DataFrame, trees: Trees | None = None) -> Real:
    """Log-odds learned from corrections of a project: a logistic regression on evidence relative to each image."""
    evidence_of_ticks = ticks.reindex(columns=[*trees_of(_kind(table)).columns, "odds"])
    if _kind(table) != _kind(ticks) or evidence_of_ticks.isna().any(axis=None):
        raise ValueError(
            "the corrections were made on other inputs (labels only, or with an image) or by another version: rank "
            "these labels in the same way, or tick them again"
        )
    wrong = ticks["wrong"].to_numpy(dtype=bool)
    rarer = int(min(wrong.sum(), (~wrong).sum()))
    if rarer < _MIN_TICKS:
        return np.zeros(len(table))
    from sklearn.linear_model import LogisticRegression  # slow to import, and used with corrections only

    columns = [name for name in _CORRECTION_FEATURES if name in table]

    def relative(rows: pd.DataFrame) -> Real:
        return np.column_stack([log_odds(rows, trees) / 2, rows[columns].clip(-6, 6).to_numpy(dtype=np.float64) / 3])

    model = LogisticRegression(C=0.5, class_weight="balanced", max_iter=300).fit(relative(ticks), wrong)
    # A few of the rarer kind have low weight; five of them have full weight.
    return min(1.0, rarer / 5) * model.decision_function(relative(table))


def scores(table: pd.DataFrame, ticks: pd.DataFrame | None) -> Real:
    """Scores of labels, scaled on the training images, or on the ticks if there are enough."""
    trees = trees_of(_kind(table))

    def scaled(rows: pd.DataFrame, others: pd.DataFrame | None) -> Real:
        learned = 0.0 if others is None else odds_of_corrections(rows, others)
        return trees.slope * (rows["odds"].to_numpy(dtype=np.float64) + learned) + trees.offset

    odds = scaled(table, ticks)
    if ticks is not None and _calibrates(ticks["wrong"]):
        ticks = ticks.sort_values("wrong", kind="stable", ignore_index=True)  # as many of each kind in each part
        part = np.arange(len(ticks)) % _FOLDS
        apart = np.empty(len(ticks))
        for fold in range(_FOLDS):
            apart[part == fold] = scaled(ticks[part == fold], ticks[part != fold])
        slope, offset = _calibration(apart, ticks["wrong"].to_numpy(dtype=np.float64))
        odds = slope * odds + offset
    return np.asarray(scipy.special.expit(odds))


def _calibration(odds: Real, wrong: Real) -> Real:
    """Slope and offset of log-odds: the most probable ones."""
    rows, middle = np.column_stack([odds, np.ones(len(odds))]), np.array([1.0, 0.0])
    spread = np.array([_SLOPE_DEVIATION, _OFFSET_DEVIATION])

    def surprise(chosen: Real) -> tuple[float, Real]:
        scaled, apart = rows @ chosen, (chosen - middle) / spread
        value = (np.logaddexp(0, scaled) - wrong * scaled).sum() + (apart**2).sum() / 2
        return float(value), rows.T @ (scipy.special.expit(scaled) - wrong) + apart / spread

    return np.asarray(scipy.optimize.minimize(surprise, middle, jac=True, method="BFGS").x)


# Reasons ----------------------------------------------------------------------------------------------------------


def reasons(
    measured: pd.DataFrame, seen: pd.DataFrame | None = None, confirming: Mapping[str, Trees] | None = None
) -> list[str]:
    """Reasons for each label, in words with the figures; "" if there are none.

    A systematic offset, such as outlines drawn a pixel too wide throughout, is not a reason: edges are compared with
    the median of the image. With an image, a fault is reported if its rule holds and its trees confirm it; a dent and a
    small size, of which good outlines have many, if the trees of any error do. Where several labels lie on others, as
    satellites on particles, it is no error of those below to be divided by them, or to enclose them.

    Parameters
    ----------
    measured : DataFrame
        From `evidence`.
    seen : DataFrame, optional
        The same from `relative_evidence`, with the image.
    confirming : mapping of str to Trees, optional
        Trees of the faults; by default those of the package.
    """
    table: dict[str, Real] = {str(name): measured[name].to_numpy(dtype=np.float64) for name in measured}
    beyond = {name: values - np.median(values) for name, values in table.items()}
    ratio = table["area"] / np.median(table["area"])
    size = np.log(ratio)
    far = (_unusual(size) > OUTLIER_SIGMAS) & (np.abs(size) > np.log(2))
    error = trees_of("labels" if seen is None else "image")
    odds = error.log_odds(relative_evidence(measured, error.spread) if seen is None else seen)
    likely = scipy.special.expit(error.slope * odds + error.offset)
    # A label around another one lacks the pixels of that one.
    enclosing = table["enclosed_pixels"] > 0
    dented = beyond["solidity"] < -max(0.1, OUTLIER_SIGMAS * 1.4826 * np.median(np.abs(beyond["solidity"])))
    dented &= ~enclosing & (likely > _MIN_ERROR)
    necked = (table["neck"] < 0.8) & (table["neck_share"] > 0.15) & (beyond["ellipse_fit"] < -0.02) & ~enclosing
    halved = (table["contact"] > 0.8) & (table["join_solid"] > 0.95) & (table["join_gain"] > 0.005)
    # Where objects lie on others, that is how they are.
    divided = (table["pieces"] > 1) & (table["pieces_apart"] == 1)
    overlapping = np.count_nonzero(divided | enclosing) >= max(_MIN_OVERLAPPING, _MIN_OVERLAPPING_SHARE * len(measured))
    rules: list[tuple[Mask, str]] = [
        (table["open_holes"] > 0, "hole: {open_holes:.0f} of {open_pixels:.0f} px, {hole_percent} % of the object"),
        (enclosing & ~overlapping, "encloses other labels, of {enclosed_pixels:.0f} px"),
        (
            (table["pieces"] > 1) & ~(divided & overlapping),
            "{pieces:.0f} pieces: {loose_percent} % lies off the largest",
        ),
    ]
    if seen is None:
        necked &= likely > _MIN_ERROR_IN_FORM
        halved &= likely > _MIN_ERROR_IN_FORM
    else:
        trees = confirming or {fault: trees_of(fault) for fault in _CONFIRMED_REASONS}
        sure = {fault: 1 / (1 + np.exp(-some.log_odds(seen))) > _MIN_PROBABILITY for fault, some in trees.items()}
        faults, stray = _faults_in_image(table, beyond, sure, far & (size < 0))
        rules += faults
        necked &= (beyond["leak_share"] < 0.2) & sure["merge"] & ~stray
        halved &= (table["seam"] < 0.1) & sure["split"] & ~stray
        seam = (table["valley"] > 0.1) & (table["valley_share"] > 0.2) & (beyond["ellipse_fit"] < -0.01)
        seam &= sure["merge"] & ~necked & ~stray
        rules += [(seam, "two objects in one: a seam between two parts, {valley:.2f} of the gray range below them")]
    rules += [
        (
            necked,
            "two objects in one: a neck of {neck:.2f} the width of its narrower part, which holds {neck_share:.0%} of "
            "it",
        ),
        (
            halved,
            "one object in two: with label {partner:.0f} it fills {join_solid:.0%} of an ellipse, alone "
            "{ellipse_fit:.0%}",
        ),
        (far & (size > 0), "large: {area:.0f} px, {ratio} times the median of this image"),
        (
            far & (size < 0) & (table["border_share"] == 0) & (likely > _MIN_ERROR),
            "small: {area:.0f} px, {ratio} times the median of this image",
        ),
        (
            dented,
            f"dented: it fills {{solidity:.0%}} of its convex hull, here {np.median(table['solidity']):.0%} is typical",
        ),
    ]
    # With its holes, an object has hole_pixels / hole_share pixels.
    share = table["hole_share"] * table["open_pixels"] / np.maximum(table["hole_pixels"], 1)
    in_words = {"ratio": ratio, "hole_percent": 100 * share, "loose_percent": 100 * table["loose_share"]}
    return _sentences(rules, table | {name: _two_digits(values) for name, values in in_words.items()})


def _faults_in_image(
    table: Mapping[str, Real], beyond: Mapping[str, Real], sure: Mapping[str, Mask], tiny: Mask
) -> tuple[list[tuple[Mask, str]], Mask]:
    """Rules about the image below each label, with their words; and which labels are no object at all."""
    typical = {name: float(np.median(table[name])) for name in ("area", "edge_here")}
    reach = max(1.5, 0.2 * np.sqrt(typical["area"] / np.pi))
    nothing = (table["contrast"] < _MAX_SPECK_EVIDENCE) & (table["edge_here"] < _MAX_SPECK_EVIDENCE) & tiny
    stray = (table["contrast"] < 0.25) & (table["edge_here"] < 0.4 * typical["edge_here"])
    stray &= (sure["stray"] | nothing) & (table["holes"] == 0)
    moved = (beyond["shift"] > reach) & (beyond["leak_share"] > 0.08) & (beyond["missed_share"] > 0.08)
    moved &= sure["shift"] & ~stray
    leaking = (beyond["leak_share"] > 0.15) & (beyond["no_edge"] + beyond["edge_in"] > 0.1)
    leaking &= sure["leak"] & ~moved & ~stray
    cut = (beyond["missed_share"] > 0.2) & (beyond["no_edge"] + beyond["edge_out"] > 0.1)
    cut &= sure["cut"] & ~moved & ~stray
    rules = [
        (
            stray,
            "stray: contrast {contrast:.2f} of the typical one, edge {edge_here:.2f}: nothing here looks like an "
            "object",
        ),
        (moved, "shifted: the edge of the image lies {shift:.1f} px to one side"),
        (
            leaking,
            "leak: {leak_share:.0%} of it looks like its surroundings, {no_edge:.0%} of its outline follows no edge",
        ),
        (
            cut,
            "cut: the object seems to extend beyond its outline, by {missed_share:.0%} of its area, and "
            "{no_edge:.0%} of its outline follows no edge",
        ),
    ]
    return rules, stray


def _sentences(rules: Sequence[tuple[Mask, str]], figures: Mapping[str, Real | list[str]]) -> list[str]:
    """The words of the rules that hold for each label, with its figures."""
    found: list[list[str]] = [[] for _ in rules[0][0]]
    for holds, words in rules:
        for label in np.flatnonzero(holds).tolist():
            filled = words.format(**{name: values[label] for name, values in figures.items()})
            found[label].append(filled.replace("%", " %").replace("  %", " %"))
    return ["; ".join(each) for each in found]


def _two_digits(values: Real) -> list[str]:
    """Numbers rounded to two digits, without an exponent: 100, not 1e+02."""
    return [np.format_float_positional(value, precision=2, fractional=False, trim="-") for value in values]


def _unusual(size: Real) -> Real:
    """Absolute log ratios of sizes to the median, in robust standard deviations, which are taken as 0.1 larger."""
    return np.abs(size) / (1.4826 * np.median(np.abs(size)) + 0.1)


# Objects without a label ------------------------------------------------------------------------------------------


def missing_objects(labels: ArrayLike, image: ArrayLike, *, least: float = 0.4) -> pd.DataFrame:
    """Find unlabeled objects that look like the labeled ones.

    Parameters
    ----------
    labels, image
        As for `rank_suspects`.
    least : float
        Minimum area and contrast, relative to the typical ones of the labeled objects.

    Returns
    -------
    DataFrame
        The most object-like first: row, column (centroid), area in pixels, contrast (1 is that of a typical labeled
        object), score (0 to 1, not a probability), reasons.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import missing_objects
    >>> rows, columns = np.indices((200, 200))
    >>> labels = (np.hypot(rows % 40 - 20, columns % 40 - 20) < 12) * (rows // 40 * 5 + columns // 40 + 1)
    >>> image = 100.0 * (labels > 0) + 20
    >>> labels[labels == 13] = 0
    >>> missing_objects(labels, image)[["row", "column", "area", "reasons"]].values.tolist()
    [[100.0, 100.0, 445, 'missing: 445 px without a label, contrast 0.99 of the typical one']]
    """
    return unlabelled(labels, image, least)[0]
