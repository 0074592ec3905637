"""Review of labels, one after the other: verdicts, corrections, and the order of review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.measure import find_contours

from ..checks import expect
from ..outlines import Ensemble, Outlines
from ..outlines.recognise import numbered
from .correcting import Change, CorrectedLabels, Mark, UnequalParts, numbered_pieces
from .evidence import unlabelled
from .ranking import Inspection
from .suspects import Suspects, Ticks

if TYPE_CHECKING:
    import pandas as pd

#: Descriptions of the corrections; the last one is done by painting.
FIXES = {
    "fill holes": "fill the holes",
    "split": "split it",
    "merge": "merge it with its neighbor",
    "delete": "delete it",
    "add": "add it as a label",
    "redraw": "redraw it",
}
# Correction suggested by the first words of a reason; otherwise the label is redrawn.
_SUGGESTED_FIXES = (
    ("hole", "fill holes"),
    ("two objects in one", "split"),
    ("one object in two", "merge"),
    ("stray", "delete"),
    ("missing", "add"),
)


class Entry(NamedTuple):
    """An entry of a review: a label of one of the images, or an unlabeled region, whose number is negative.

    Examples
    --------
    >>> from napari_shape_ensembles.inspection.reviewing import Entry
    >>> Entry(image=1, label=7)  # label 7 of B
    Entry(image=1, label=7)
    """

    image: int  #: 0 for A, 1 for B
    label: int


@dataclass(frozen=True, eq=False)
class Renewed:
    """New measurements of one image after a correction."""

    suspects: Suspects | None
    ensemble: Ensemble
    missing: pd.DataFrame
    regions: NDArray[np.integer]


class Review:
    """Labels of one or two images, ordered by suspicion, with verdicts and corrections.

    Copies of the labels are corrected. A corrected label counts as wrong, with the evidence before its correction.

    Parameters
    ----------
    inspection : Inspection
        Inspection of the images; its ranking is the list.
    labels, images : sequences of arrays or None
        The labels that each image's curves were traced from, and the segmented images, as for `Inspection.of`.
    outlines : Outlines
        Recipe that the labels were traced with.
    ticks : Ticks, optional
        Ticks of the project, including other images; new ones are added to it.
    by : str
        The reviewer, for the logs.
    corrected : sequence of CorrectedLabels or None, optional
        Labels whose review is resumed, instead of new copies: their marks are kept, and changes can be undone, too.

    Attributes
    ----------
    inspection : Inspection
        As of the last verdict, and the last correction that was measured.
    corrected : list of CorrectedLabels or None
        The corrected copy of the labels of each image, with a mask's components numbered; None without labels.
    table : DataFrame
        One row per label and per unlabeled region, in the order of review: image (0 or 1), label (negative for an
        unlabeled region), index (of its curve in its ensemble, -1 for none), score, mark ("", "right", "wrong" or
        "corrected") and reasons. Unreviewed entries come first, the most suspicious at the top.
    verdicts : list of dict
        Verdicts given on each image: label -> whether it is wrong. Those implied by corrections are not among them.
        Those on labels are marks of the corrected copy, too, and in its log.
    by : str

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Outlines
    >>> from napari_shape_ensembles.inspection import Review
    >>> from napari_shape_ensembles.inspection.reviewing import Entry
    >>> from napari_shape_ensembles.inspection.ranking import Inspection
    >>> rows, columns = np.indices((120, 160))
    >>> labels = (np.hypot(rows % 40 - 20, columns % 40 - 20) < 12) * (rows // 40 * 4 + columns // 40 + 1)
    >>> labels[18:22, 18:22] = 0
    >>> result = Inspection.of((Outlines().trace(labels),), labels=(labels,))
    >>> review = Review(result, (labels,), by="me")
    >>> print(*review.table.loc[0, ["label", "reasons"]])
    1 hole: 1 of 16 px, 3.7 % of the object
    >>> review.tick(Entry(0, 2), wrong=False)
    >>> review.suggestion(Entry(0, 1))
    'fill holes'
    >>> review.fix(Entry(0, 1), "fill holes").pixels
    16
    >>> review.take(review.renewal()())
    >>> review.counts()
    {'all': 12, 'right': 1, 'wrong': 0, 'corrected': 1}
    """

    def __init__(
        self,
        inspection: Inspection,
        labels: Sequence[ArrayLike | None] = (),
        images: Sequence[ArrayLike | None] = (),
        *,
        outlines: Outlines = Outlines(),
        ticks: Ticks | None = None,
        by: str = "",
        corrected: Sequence[CorrectedLabels | None] = (),
    ) -> None:
        expect(inspection, Inspection, "a review takes the Inspection of one image or two")
        count = len(inspection.ensembles)
        planes = [*labels, *[None] * count][:count]
        going_on = [*corrected, *[None] * count][:count]
        self.images = [*images, *[None] * count][:count]
        self.by, self._outlines = by, outlines
        self.ticks = Ticks() if ticks is None else ticks
        self.corrected = [
            before if before is not None or plane is None else CorrectedLabels(numbered_pieces(plane), by=by)
            for before, plane in zip(going_on, planes, strict=True)
        ]
        # Earlier corrections are already included in the outlines.
        self._traced = [
            None if copy is None else (copy.labels.copy(), ensemble)
            for copy, ensemble in zip(self.corrected, inspection.ensembles, strict=True)
        ]
        self.verdicts = [
            {} if copy is None else {label: mark.wrong for label, mark in dict(copy.marks).items()}
            for copy in self.corrected
        ]
        self._implied: list[set[int]] = [set() for _ in range(count)]  # labels that are wrong as they were corrected
        # Verdicts by their entry, and corrections by their image, each with what undoes it.
        self._history: list[tuple[Entry | int, Callable[[], None]]] = []
        self._asked: Entry | None = None  # whose parts would be unequal
        resumed = [
            (change.number, image, change.labels)
            for image, copy in enumerate(self.corrected)
            if copy is not None
            for change in copy.changes
        ]
        for _, image, changed in sorted(resumed):
            self._history.append((image, partial(self._undo_change, image, self._imply_wrong(image, changed))))
        self._unmeasured: dict[int, set[int]] = {}  # image -> labels changed since they were measured
        self.regions = [
            (None, None) if copy is None or image is None else unlabelled(copy.labels, image)
            for copy, image in zip(self.corrected, self.images, strict=True)
        ]
        self.inspection = inspection
        self._rank()

    # List of entries.

    def _listed(self) -> pd.DataFrame:
        import pandas as pd  # slow to import, and not needed for a comparison

        ranking = self.inspection.ranking
        table = pd.DataFrame(
            {
                "image": (ranking["source"] == "B").astype(int),
                "label": ranking["id"],
                "index": ranking["index"],
                "score": ranking["score"].astype(float),
                "reasons": ranking["reasons"],
            }
        )
        places = [
            pd.DataFrame(
                {
                    "image": image,
                    "label": self._numbers(image),
                    "index": -1,
                    "score": missing["score"].astype(float),
                    "reasons": missing["reasons"],
                }
            )
            for image, (missing, _) in enumerate(self.regions)
            if missing is not None and len(missing)
        ]
        if places:
            table = pd.concat([table, *places], ignore_index=True)
        touched = [set(self._touched(image)) for image in range(len(self.corrected))]
        verdicts = [self._all_verdicts(image) for image in range(len(self.corrected))]
        marks = {True: "wrong", False: "right", None: ""}
        table["mark"] = [
            "corrected" if label in touched[image] else marks[verdicts[image].get(label)]
            for image, label in zip(table["image"].tolist(), table["label"].tolist(), strict=True)
        ]
        seen = (table["mark"] != "").to_numpy()
        return table.iloc[np.lexsort((-table["score"].to_numpy(), seen))].reset_index(drop=True)

    def reasons(self, entry: Entry) -> str:
        """Reasons why a label is suspicious."""
        table = self.table
        rows = table[(table["image"] == entry.image) & (table["label"] == entry.label)]
        return str(rows["reasons"].iloc[0]) if len(rows) else ""

    def without_curve(self, image: int) -> tuple[pd.DataFrame, list[NDArray[np.float64]]]:
        """Id, score and reasons of entries without a curve in an image, and the outline (m, 2) of each in pixels."""
        table, corrected = self.table, self.corrected[image]
        rows = table[(table["image"] == image) & (table["index"] < 0)].rename(columns={"label": "id"})
        rows = rows[["id", "score", "reasons"]].reset_index(drop=True)
        if corrected is None or not len(rows):
            return rows.iloc[:0], []
        missing, regions = self.regions[image]
        numbers = {} if missing is None else {number: k + 1 for k, number in enumerate(self._numbers(image).tolist())}
        boxes = _boxes_of(corrected.labels)
        places = {} if regions is None else dict(enumerate(ndimage.find_objects(regions), start=1))
        outlines = []
        for number in rows["id"].tolist():
            plane, value = (corrected.labels, number) if number > 0 else (regions, numbers[number])
            box = boxes[number] if number > 0 else places[value]
            pixels = np.pad(np.asarray(plane)[box] == value, 1)
            corner = np.array([side.start for side in box]) - 1
            outlines.append(max(find_contours(pixels, 0.5), key=len)[:-1] + corner)
        return rows, outlines

    def counts(self) -> dict[str, int]:
        """Numbers of labels, and of those right, wrong, and corrected, including deleted ones."""
        marks = self.table["mark"].value_counts().to_dict()
        gone = sum(
            len(np.setdiff1d(self._touched(image), corrected.labels))
            for image, corrected in enumerate(self.corrected)
            if corrected is not None
        )
        marks["corrected"] = marks.get("corrected", 0) + gone
        return {"all": sum(marks.values())} | {mark: marks.get(mark, 0) for mark in ("right", "wrong", "corrected")}

    def pixels(self, entry: Entry) -> NDArray[np.bool_]:
        """Mask of a label, or of an unlabeled region, in its image."""
        corrected = self._labels(entry.image)
        if entry.label > 0:
            return corrected.labels == entry.label
        _, regions = self.regions[entry.image]
        numbers = self._numbers(entry.image).tolist()
        if regions is None or entry.label not in numbers:
            return np.zeros(corrected.labels.shape, dtype=bool)
        return np.asarray(regions == numbers.index(entry.label) + 1)

    # Verdicts and corrections.

    def tick(self, entry: Entry, wrong: bool) -> None:
        """Record whether a label is wrong, and rank all others again, in all images."""
        copy, before = self.corrected[entry.image], self.verdicts[entry.image].get(entry.label)
        mark = None if copy is None else copy.marks.get(entry.label)
        self._history.append((entry, partial(self._set_verdict, entry, before, mark)))
        if copy is not None:
            copy.by = self.by
            mark = copy.mark(entry.label, wrong)
        self._set_verdict(entry, wrong, mark)
        self._rank()

    def suggestion(self, entry: Entry) -> str:
        """The correction of `FIXES` that the first reason suggests."""
        reasons = self.reasons(entry)
        if " pieces: " in reasons.split(";")[0]:
            return "split"
        return next((action for words, action in _SUGGESTED_FIXES if reasons.startswith(words)), "redraw")

    def fix(self, entry: Entry, action: str, other: int | None = None) -> Change:
        """Correct a label on the copy.

        Parameters
        ----------
        entry : Entry
        action : str
            One of `FIXES` except "redraw", which is painted.
        other : int, optional
            The label to merge with; by default the most likely neighbor.

        Raises
        ------
        ValueError
            If nothing would change, with the reason.
        """
        corrected = self._labels(entry.image)
        corrected.by = self.by
        if entry.label < 0 and action != "add":
            raise ValueError("there is no label here yet: add it first")
        if entry.label > 0 and action == "add":
            raise ValueError(f"label {entry.label} already exists")
        if action == "merge":
            suspects = self.inspection.suspects[entry.image]
            other = other if other is not None or suspects is None else suspects.partners.get(entry.label)
            if other is None:
                raise ValueError(f"label {entry.label} touches no other: pick the label to merge it with")
        steps: dict[str, Callable[[], Change]] = {
            "fill holes": lambda: corrected.fill_holes(entry.label),
            "split": lambda: corrected.split(entry.label, unequal=self._asked == entry),
            "merge": lambda: corrected.merge(entry.label, int(other or 0)),
            "delete": lambda: corrected.delete(entry.label),
            "add": lambda: corrected.redraw(0, self.pixels(entry)),
        }
        if action not in steps:
            raise ValueError(f"{action!r} is not one of the corrections: {', '.join(steps)}")
        try:
            change = steps[action]()
        except UnequalParts:
            self._asked = entry  # asked for again, it is done
            raise
        self._asked = None
        return self._record_change(entry.image, change)

    def paint(self, image: int, plane: ArrayLike) -> Change | None:
        """Record what was painted on the copy of an image; None if nothing was."""
        corrected = self._labels(image)
        if np.array_equal(corrected.labels, plane):
            return None
        corrected.by = self.by
        return self._record_change(image, corrected.paint(plane))

    def undo(self) -> Entry | int:
        """Undo the last verdict or correction; returns the entry concerned, or the number of the corrected image."""
        if not self._history:
            raise ValueError("there is nothing to undo")
        concerned, undo = self._history.pop()
        undo()
        self._rank()
        return concerned

    # Measuring corrected images again.

    @property
    def unmeasured(self) -> bool:
        """Whether there are corrections that have not been measured yet."""
        return bool(self._unmeasured)

    def is_measured(self, entry: Entry) -> bool:
        """Whether the reasons of a label are those of its current pixels."""
        return entry.label not in self._unmeasured.get(entry.image, ())

    def renewal(self) -> Callable[[], dict[int, Renewed]]:
        """Return a function for another thread that measures and traces the corrected images; see `take`."""
        jobs = {}
        for image in sorted(self._unmeasured):
            corrected, traced = self._labels(image), self._traced[image]
            assert traced is not None
            copy = CorrectedLabels(traced[0])
            copy.labels = corrected.labels.copy()
            ranked = self.inspection.suspects[image] is not None
            jobs[image] = copy, traced[1], self.images[image], ranked
        return partial(_renewed, jobs, self._outlines)

    def take(self, renewed: dict[int, Renewed]) -> None:
        """Rank with new measurements."""
        for image, new in renewed.items():
            labels = self._labels(image).labels
            self.inspection = self.inspection.renewed(image, new.ensemble, new.suspects, labels)
            if self.images[image] is not None:
                self.regions[image] = new.missing, new.regions
            self._unmeasured.pop(image, None)
        self._rank()

    def to_save(self, image: int) -> bool:
        """Whether the labels of an image have no file: they were corrected or marked, or are a consensus.

        Labels that were saved once have to be saved again even if all is undone, as the file still holds the changes.
        """
        corrected = self.corrected[image]
        return corrected is not None and (
            bool(corrected.changes or corrected.marks) or corrected.saved or self.inspection.suspects[image] is None
        )

    # Helpers.

    def _labels(self, image: int) -> CorrectedLabels:
        corrected = self.corrected[image]
        if corrected is None:
            raise ValueError("only labels can be corrected here: edit shapes in their own layer")
        return corrected

    def _touched(self, image: int) -> tuple[int, ...]:
        corrected = self.corrected[image]
        return () if corrected is None or not corrected.changes else corrected.touched

    def _numbers(self, image: int) -> pd.Series:
        """Stable numbers of the unlabeled regions: those of their central pixels."""
        missing, regions = self.regions[image]
        assert missing is not None
        assert regions is not None
        return -(missing["row"].astype(int) * regions.shape[1] + missing["column"].astype(int) + 1)

    def _record_change(self, image: int, change: Change) -> Change:
        suspects = self.inspection.suspects[image]
        measured = () if suspects is None else suspects.table.index
        wrong = self._imply_wrong(image, [label for label in change.labels if label in measured])
        for entry in wrong:
            self._update_tick(entry)
        self._history.append((image, partial(self._undo_change, image, wrong)))
        self._mark_unmeasured(image, change)
        self._rank()
        return change

    def _mark_unmeasured(self, image: int, change: Change) -> None:
        self._unmeasured.setdefault(image, set()).update(change.labels)

    def _undo_change(self, image: int, implied: Sequence[Entry]) -> None:
        self._mark_unmeasured(image, self._labels(image).undo())
        for entry in implied:
            self._implied[image].discard(entry.label)
            self._update_tick(entry)

    def _imply_wrong(self, image: int, labels: Sequence[int]) -> list[Entry]:
        """Mark corrected labels as wrong; returns those without a verdict so far."""
        wrong = [Entry(image, label) for label in labels if label not in self._all_verdicts(image)]
        self._implied[image].update(entry.label for entry in wrong)
        return wrong

    def _all_verdicts(self, image: int) -> dict[int, bool]:
        """The verdicts on an image, given or implied by corrections."""
        return dict.fromkeys(self._implied[image], True) | self.verdicts[image]

    def _set_verdict(self, entry: Entry, wrong: bool | None, mark: Mark | None) -> None:
        copy = self.corrected[entry.image]
        given: list[tuple[dict[int, Any], Any]] = [(self.verdicts[entry.image], wrong)]
        for verdicts, verdict in given if copy is None else [*given, (copy.marks, mark)]:
            verdicts.pop(entry.label, None)
            if verdict is not None:
                verdicts[entry.label] = verdict
        self._update_tick(entry)

    def _update_tick(self, entry: Entry) -> None:
        """Update the tick of the project on a label to its verdict."""
        suspects = self.inspection.suspects[entry.image]
        name = self.inspection.ensembles[entry.image].name
        verdict = self._all_verdicts(entry.image).get(entry.label)
        if verdict is None:
            self.ticks.remove(entry.label, name)
        elif suspects is not None and entry.label in suspects.table.index:
            given = {entry.label: verdict}
            self.ticks.add(self._labels(entry.image).labels, verdicts=given, name=name, measured=suspects.table)

    def _rank(self) -> None:
        """Rank all images again by the verdicts, and list them."""
        given = []
        for image, verdicts in enumerate(map(self._all_verdicts, range(len(self.verdicts)))):
            suspects, touched = self.inspection.suspects[image], self._touched(image)
            listed = set() if suspects is None else {*suspects.table.index} - {*touched}
            given.append({label: wrong for label, wrong in verdicts.items() if label in listed})
        self.inspection = self.inspection.ranked(self.ticks, given)
        self.table = self._listed()


def _boxes_of(labels: NDArray[np.integer]) -> dict[int, Any]:
    """Bounding box of each label, without a list as long as the largest label."""
    values, index = numbered(np.maximum(labels, 0))
    return dict(zip(values.tolist(), ndimage.find_objects(index + 1), strict=True))


def _renewed(
    jobs: dict[int, tuple[CorrectedLabels, Ensemble, ArrayLike | None, bool]], outlines: Outlines
) -> dict[int, Renewed]:
    renewed = {}
    for image, (corrected, traced, seen, ranked) in jobs.items():
        missing: Any = (None, None) if seen is None else unlabelled(corrected.labels, seen)
        suspects = Suspects.of(corrected.labels, seen) if ranked else None
        renewed[image] = Renewed(suspects, corrected.retrace(traced, outlines), *missing)
    return renewed
