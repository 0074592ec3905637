"""Manual correction of labels: each change is logged with its author and time, and can be undone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.draw import polygon2mask
from skimage.segmentation import watershed

from .._types import Mask
from ..outlines import Ensemble, Outlines
from ..outlines.methods import passes
from ..outlines.tracing import label_plane

if TYPE_CHECKING:
    import pandas as pd

#: Index of a plane along the other axes, and its own axes.
Plane: TypeAlias = tuple[tuple[int, ...], tuple[int, int]]
#: Columns of a log; that of a stack begins with the plane.
_LOG_COLUMNS = ("action", "label", "pixels", "when", "by")
#: The action of a mark in a log, by whether it is wrong.
MARKS = ("right", "wrong")
# The box of a whole plane.
_WHOLE = slice(0, None), slice(0, None)
# A part of less than this fraction of an object may be a bump of its outline rather than another object.
_MIN_PART = 0.2


# The order of all changes and marks: several are made within a second.
_count = itertools.count()


class UnequalParts(ValueError):  # noqa: N818 - a question rather than an error
    """A split would cut off a small part, which is to be confirmed."""


@dataclass(frozen=True, eq=False)
class Change:
    """One change of labels, with the data to undo it.

    Attributes
    ----------
    action : str
        "fill holes", "split", "merge", "delete", "redraw", "add" or "paint".
    labels : tuple of int
        All labels that lost or gained pixels, including removed and added ones.
    pixels : int
        Number of pixels with a changed label.
    when : str
        Date and time (UTC, ISO 8601).
    by : str
        Its author.
    number : int
        The order of all changes: several are made within a second.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.inspection import CorrectedLabels
    >>> labels = np.zeros((20, 20), int)
    >>> labels[5:15, 5:15] = 7
    >>> change = CorrectedLabels(labels, by="me").delete(7)
    >>> change.action, change.labels, change.pixels, change.by
    ('delete', (7,), 100, 'me')
    """

    action: str
    labels: tuple[int, ...]
    pixels: int
    when: str
    by: str
    _box: tuple[slice, ...]
    _before: NDArray[Any]
    _differs: Mask  # changed pixels within the box, restored by undo
    number: int = field(default_factory=partial(next, _count))


class Mark(NamedTuple):
    """A person's verdict on a label."""

    wrong: bool
    when: str
    by: str
    number: int  #: as of a `Change`


class CorrectedLabels:
    """A copy of labels that is corrected step by step; the original is never modified.

    Parameters
    ----------
    labels : (rows, columns) integer array
        0 = background. Data type and values are kept.
    by : str
        Author of the corrections, for the log.
    highest : int, or function that returns it
        New labels are numbered above this one too, such as the highest of the stack that a plane is from.

    Attributes
    ----------
    labels : (rows, columns) array
        Corrected labels, of the given type.
    original : (rows, columns) array
        Labels as given.
    changes : list of Change
        Changes in order, without undone ones.
    marks : dict of int to Mark
        Verdicts on labels; negative numbers are those of regions without a label in a `Review`.
    saved : bool
        Whether they were saved, so that a file holds changes that may have been undone since.

    Raises
    ------
    ValueError
        For labels that are not a 2D array of integers; by each correction for a label that does not exist, and if
        nothing would change, with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.inspection import CorrectedLabels
    >>> labels = np.zeros((20, 20), np.uint16)
    >>> labels[5:15, 5:15] = 7
    >>> labels[9:11, 9:11] = 0
    >>> corrected = CorrectedLabels(labels, by="me")
    >>> corrected.fill_holes(7).pixels
    4
    >>> int((corrected.labels == 7).sum()), corrected.labels.dtype
    (100, dtype('uint16'))
    >>> corrected.log[["action", "label", "pixels", "by"]].values.tolist()
    [['fill holes', '7', 4, 'me']]
    >>> undone = corrected.undo()
    >>> int((corrected.labels == 7).sum())
    96
    """

    def __init__(self, labels: ArrayLike, *, by: str = "", highest: int | Callable[[], int] = 0) -> None:
        self.original = np.asarray(labels)
        if self.original.ndim != 2 or self.original.dtype.kind not in "iu":
            raise ValueError(
                f"labels to correct must be a plane of integers, not {self.original.dtype} of shape "
                f"{self.original.shape}: give one plane, and label a mask first"
            )
        self.labels = self.original.copy()
        self.by, self.highest = by, highest
        self.changes: list[Change] = []
        self.marks: dict[int, Mark] = {}
        self.saved = False
        self._propagate = _ignore_change  # propagates changes to intersecting planes

    def fill_holes(self, label: int) -> Change:
        """Assign the background enclosed by a label to it; other objects in its holes are kept, with their holes."""
        box = self._box(label)
        here = self.labels[box]
        mask = here == label
        hole = ndimage.binary_fill_holes(mask) & ~mask
        for other in np.unique(here[hole & (here != 0)]):
            hole &= ~ndimage.binary_fill_holes(hole & (here == other))
        return self._apply_change("fill holes", box, np.where(hole, label, here), f"label {label} has no hole")

    def delete(self, label: int) -> Change:
        """Replace a label by background."""
        box = self._box(label)
        return self._apply_change("delete", box, np.where(self.labels[box] == label, 0, self.labels[box]), "")

    def merge(self, *labels: int) -> Change:
        """Assign all pixels of several labels to the first, and close gaps of up to two pixels between them."""
        if len(set(labels)) < 2:
            raise ValueError("a merge needs two or more different labels")
        boxes = [self._box(label) for label in labels]
        margin = 2
        box = tuple(
            slice(max(min(b[axis].start for b in boxes) - margin, 0), max(b[axis].stop for b in boxes) + margin)
            for axis in (0, 1)
        )
        here = self.labels[box]
        each = [np.pad(here == label, margin) for label in labels]
        together = np.logical_or.reduce(each)
        square = np.ones((3, 3), dtype=bool)
        gap = ndimage.binary_closing(together, square, iterations=margin)
        for mask in each:  # only between the labels, not in concavities of one of them
            gap &= ~ndimage.binary_closing(mask, square, iterations=margin)
        gap = gap[margin:-margin, margin:-margin] & (here == 0)
        return self._apply_change("merge", box, np.where(np.isin(here, labels) | gap, labels[0], here), "")

    def split(self, label: int, line: ArrayLike | None = None, *, unequal: bool = False) -> Change:
        """Split a label in two; the smaller part gets the next number above the highest label.

        Parameters
        ----------
        label : int
        line : (m, 2) array, optional
            Points (row, column) of a line across the object, in pixels. By default separate components become labels of
            their own; a connected object is cut at its narrowest neck.
        unequal : bool
            Cut at the neck even if one part is smaller than a fifth of the object.

        Raises
        ------
        UnequalParts
            If one would be, and `unequal` is false.
        ValueError
            If there is nothing to cut.
        """
        box = self._box(label)
        mask = self.labels[box] == label
        if line is None:
            pieces, count = ndimage.label(mask, np.ones((3, 3)))
            parts = pieces if count > 1 else _cut_at_neck(mask)
            failed = f"label {label} has no neck: draw the line of the cut, or erase one across it"
        else:
            corner = [side.start for side in box]
            parts = _cut_along_line(mask, np.asarray(line, dtype=np.float64) - corner)
            failed = f"the line does not cut label {label} in two: draw it all the way across"
        sizes = np.bincount(parts[mask])[1:]
        if len(sizes) < 2:
            raise ValueError(failed)
        smaller = sizes.min() / sizes.sum()
        if line is None and count == 1 and smaller < _MIN_PART and not unequal:
            raise UnequalParts(
                f"the narrowest neck of label {label} cuts off only {100 * smaller:.0f} % of it: split it again to "
                "cut there, or draw the line of the cut"
            )
        keep = int(sizes.argmax()) + 1
        new = self.labels[box].copy()
        number = self._new_label(len(sizes) - 1)
        for part in range(1, len(sizes) + 1):
            if part != keep:
                new[mask & (parts == part)] = number
                number += 1
        return self._apply_change("split", box, new, failed)

    def redraw(self, label: int, outline: ArrayLike) -> Change:
        """Replace the outline of a label, or add a new label; other objects are not overwritten.

        Parameters
        ----------
        label : int
            0 for a new object, which gets the next number above the highest label.
        outline : (rows, columns) bool array, or (m, 2) array
            The mask of the object, or the vertices (row, column) of its outline in pixels.
        """
        drawn = np.asarray(outline)
        if label:
            self._box(label)  # which must exist
        if drawn.dtype == bool and drawn.shape != self.labels.shape:
            raise ValueError(f"a mask of shape {drawn.shape} does not fit labels of shape {self.labels.shape}")
        if drawn.dtype != bool:
            if drawn.ndim != 2 or len(drawn) < 3 or drawn.shape[1] != 2 or not np.isfinite(drawn).all():
                raise ValueError(
                    f"an outline must have three or more vertices, rows and columns, not shape {drawn.shape}; a mask "
                    "must hold booleans"
                )
            drawn = polygon2mask(self.labels.shape, drawn)
        drawn = drawn & ((self.labels == 0) | (self.labels == label))
        if not drawn.any():
            raise ValueError("the new outline contains no free pixel: draw it over background, or delete the label")
        number = label or self._new_label()
        new = np.where(self.labels == label, 0, self.labels) if label else self.labels.copy()
        new[drawn] = number
        return self._apply_change("redraw" if label else "add", _WHOLE, new, f"label {label} already has this outline")

    def paint(self, plane: ArrayLike) -> Change:
        """Record what was painted, erased or filled elsewhere, such as in a viewer.

        Parameters
        ----------
        plane : (rows, columns) array
            The new labels.
        """
        drawn = np.asarray(plane)
        if drawn.shape != self.labels.shape:
            raise ValueError(f"labels of shape {drawn.shape} do not fit those of shape {self.labels.shape}")
        with np.errstate(invalid="ignore"):
            new = drawn.astype(self.labels.dtype)
        if other := np.count_nonzero(new != drawn):
            raise ValueError(f"{self.labels.dtype} labels cannot hold the values of {other} painted pixels")
        return self._apply_change("paint", _WHOLE, new, "nothing was painted")

    def undo(self) -> Change:
        """Undo the last change, and return it.

        Raises
        ------
        ValueError
            If there is none.
        """
        if not self.changes:
            raise ValueError("there is no correction to undo")
        change = self.changes.pop()
        self.labels[change._box][change._differs] = change._before[change._differs]
        self._propagate(change)
        return change

    def mark(self, label: int, wrong: bool) -> Mark:
        """Record whether a label is wrong, in place of an earlier verdict on it."""
        self.marks[label] = mark = Mark(wrong, _now(), self.by, next(_count))
        return mark

    def resume(self, labels: ArrayLike, log: pd.DataFrame) -> pd.DataFrame:
        """Continue from saved labels, as one change, and the marks in their log; returns the other rows of the log."""
        if not np.array_equal(self.labels, labels):
            self.changes[-1:] = [replace(self.paint(labels), action="continue")]
        is_mark = log["action"].isin(MARKS) & log["label"].str.fullmatch(r"-?\d+")
        for action, label, when, by in log.loc[is_mark, ["action", "label", "when", "by"]].values.tolist():
            self.marks[int(label)] = Mark(action == MARKS[1], when, by, next(_count))
        self.saved = True
        return log[~is_mark]

    @property
    def logged(self) -> list[tuple[int, str, str, int, str, str]]:
        """The rows of the log, each after its number in the order of all changes and marks."""
        rows = [(c.number, c.action, ", ".join(map(str, c.labels)), c.pixels, c.when, c.by) for c in self.changes]
        marks = [(m.number, MARKS[m.wrong], str(label), 0, m.when, m.by) for label, m in self.marks.items()]
        return sorted(rows + marks)

    @property
    def log(self) -> pd.DataFrame:
        """Table of the changes in effect and the marks ("right", "wrong"), in order.

        Columns: action, label (all that changed, as a string), pixels, when, by.
        """
        import pandas as pd  # slow to import, and not needed for corrections

        return pd.DataFrame([row for _, *row in self.logged], columns=list(_LOG_COLUMNS))

    @property
    def touched(self) -> tuple[int, ...]:
        """Labels whose pixels differ from the original."""
        differs = self.labels != self.original
        both = np.concatenate([self.labels[differs], self.original[differs]])
        return tuple(int(label) for label in np.unique(both) if label)

    def retrace(self, ensemble: Ensemble, outlines: Outlines = Outlines()) -> Ensemble:
        """Retrace the labels that were changed; all other curves of `ensemble` are kept, bit for bit.

        Parameters
        ----------
        ensemble : Ensemble
            Outlines of `original`, with the labels as ids.
        outlines : Outlines
            The recipe it was traced with.

        Returns
        -------
        Ensemble
            In the order of the labels. `dropped` counts the rejected objects of the whole corrected image.
        """
        touched = self.touched
        if not touched:
            return ensemble
        options: dict[str, Any] = {"unit": ensemble.unit, "name": ensemble.name}
        scale = ensemble.pixel_size or (1.0, 1.0)
        if outlines.holes:  # hole ids depend on all holes of the image
            return outlines.trace(self.labels, scale=scale, **options)
        # With an unchanged label, as a single label with several components would be treated as a mask.
        others = self.original[(self.original > 0) & ~np.isin(self.original, touched)][:1].tolist()
        was, now = (
            outlines.trace(np.where(np.isin(plane, [*touched, *others]), plane, 0), scale=scale, **options)
            for plane in (self.original, self.labels)
        )
        stays = ~np.isin(ensemble.ids, touched) & ~np.isin(ensemble.ids, now.ids)
        ids = np.concatenate([ensemble.ids[stays], now.ids])
        curves = [*(ensemble.curves[i] for i in np.flatnonzero(stays)), *now.curves]
        order = np.argsort(ids, kind="stable")
        reasons = {*ensemble.dropped, *now.dropped}
        dropped = {
            reason: max(ensemble.dropped.get(reason, 0) - was.dropped.get(reason, 0), 0) + now.dropped.get(reason, 0)
            for reason in reasons
        }
        options |= {"pixel_size": ensemble.pixel_size, "filled": ensemble.filled - was.filled + now.filled}
        return Ensemble([curves[i] for i in order], ids=ids[order], dropped=dropped, **options)

    def _box(self, label: int) -> tuple[slice, ...]:
        mask = self.labels == label
        if label <= 0 or not mask.any():
            raise ValueError(f"there is no label {label}")
        rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
        return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)

    def _new_label(self, count: int = 1) -> int:
        """Return the first of some numbers above the highest label."""
        highest = self.highest() if callable(self.highest) else self.highest
        number = max(int(self.labels.max()), highest) + 1
        if (last := number + count - 1) > np.iinfo(self.labels.dtype).max:
            raise ValueError(f"{self.labels.dtype} labels cannot hold {last}: convert them to a wider type")
        return number

    def _apply_change(self, action: str, box: tuple[slice, ...], new: NDArray[Any], nothing: str) -> Change:
        before = self.labels[box].copy()
        differs = new != before
        if not differs.any():
            raise ValueError(nothing)
        rows, columns = (np.flatnonzero(differs.any(axis=axis)) for axis in (1, 0))
        inner = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        corner = [side.start for side in box]
        place = tuple(slice(c + side.start, c + side.stop) for c, side in zip(corner, inner, strict=True))
        labels = np.unique(np.concatenate([before[differs], new[differs]]))
        change = Change(
            action,
            tuple(int(label) for label in labels if label),
            int(differs.sum()),
            _now(),
            self.by,
            place,
            before[inner],
            differs[inner],
        )
        self.labels[place] = new[inner]
        self.changes.append(change)
        self._propagate(change)
        return change


class CorrectedStack:
    """Labels of a stack, of which single planes are corrected; the original is never modified.

    Parameters
    ----------
    labels : integer or bool array of three axes or more
        0 = background. Any array that planes can be taken of, such as a Dask array. Its data type and values are kept;
        a mask becomes labels, with the components of each plane numbered.
    by : str
        Author of the corrections, for the log.

    Attributes
    ----------
    original : array
        The stack as given.
    planes : dict
        The `CorrectedLabels` of each plane requested so far, by its indices along the other axes and its own axes.

    Raises
    ------
    ValueError
        For labels that are neither a stack of integers nor one of masks.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.inspection.correcting import CorrectedStack
    >>> labels = np.zeros((3, 20, 20), np.uint16)
    >>> labels[:, 5:15, 5:15] = 7
    >>> stack = CorrectedStack(labels, by="me")
    >>> change = stack.plane(1).delete(7)
    >>> (stack.labels == 7).sum(axis=(1, 2)).tolist(), stack.labels.dtype
    ([100, 0, 100], dtype('uint16'))
    >>> stack.log[["plane", "action", "label", "by"]].values.tolist()
    [['axis 0 = 1', 'delete', '7', 'me']]
    """

    def __init__(self, labels: Any, *, by: str = "") -> None:
        self.original = labels if hasattr(labels, "dtype") else np.asarray(labels)
        if self.original.ndim < 3 or self.original.dtype.kind not in "iub":
            raise ValueError(
                f"a stack of labels must have three or more axes and integers, not {self.original.dtype} of shape "
                f"{self.original.shape}: give a single plane to CorrectedLabels"
            )
        self.by = by
        self.planes: dict[Plane, CorrectedLabels] = {}
        self._pieces: set[CorrectedLabels] = set()  # in which the components of the only label are numbered

    def plane(self, *place: int, axes: tuple[int, int] = (-2, -1)) -> CorrectedLabels:
        """Correct one plane, resuming earlier corrections of it unless the original has changed since.

        Intersecting planes share corrections along their intersection, except those of masks, which are labeled
        separately in each plane.

        Parameters
        ----------
        *place : int
            Its index along each of the other axes, counted from 0.
        axes : (int, int)
            The axes of its rows and columns.
        """
        count = self.original.ndim
        if not (len({axis % count for axis in axes}) == 2 and all(-count <= axis < count for axis in axes)):
            raise ValueError(f"the rows and columns of a plane must be two of {count} axes, counted from 0, not {axes}")
        rows, columns = (axis % count for axis in axes)
        others = [self.original.shape[axis] for axis in range(count) if axis not in (rows, columns)]
        if len(place) != len(others) or not all(-most <= at < most for at, most in zip(place, others, strict=True)):
            raise ValueError(f"there is no plane {place} in a stack of {tuple(others)} planes: count from 0")
        # One key per plane, also if it is counted from the end.
        key = tuple(index(at) % most for at, most in zip(place, others, strict=True)), (rows, columns)
        given = np.array(plane_at(self.original, *key))  # a copy, as the array may be painted on in the meantime
        corrected = self.planes.get(key)
        numbered = numbered_pieces(given)
        if corrected is None or not np.array_equal(corrected.original, numbered):
            if corrected is not None:
                corrected._propagate = _ignore_change
            self.planes[key] = corrected = CorrectedLabels(numbered, by=self.by, highest=self._highest_of_all)
            if numbered is not given:
                self._pieces.add(corrected)
            corrected._propagate = partial(self._propagate_change, key)
            for other, crossing in self.planes.items():
                self._propagate_pixels(other, crossing.labels != crossing.original, to=[key])
        return corrected

    def _propagate_change(self, key: Plane, change: Change) -> None:
        """Propagate the pixels of a change, made or undone, to intersecting planes."""
        touched = np.zeros(self.planes[key].labels.shape, dtype=bool)
        touched[change._box] = change._differs
        self._propagate_pixels(key, touched, to=list(self.planes))

    def _propagate_pixels(self, key: Plane, which: Mask, to: list[Plane]) -> None:
        """Copy pixels of a plane to intersecting ones, except in masks, which are labeled separately in each plane."""
        source = self.planes[key]
        for other in to:
            crossing = self.planes[other]
            if other == key or {source, crossing} & self._pieces:
                continue
            here, there = _at_places(key, other), _at_places(other, key)
            if here is None or there is None:
                continue
            chosen, given, taken = which[here], source.labels[here], crossing.labels[there]
            if any(key[1][place] == other[1][1 - place] for place in (0, 1)):  # rows of one are columns of the other
                chosen, given = chosen.T, given.T
            taken[chosen] = given[chosen]

    @property
    def labels(self) -> NDArray[np.integer]:
        """The whole stack, including the corrected planes."""
        whole = np.array(self.original)
        pieces = self._pieces.intersection(self.planes.values())
        if (pieces or whole.dtype == bool) and self._is_mask:
            last = whole.ndim - 2, whole.ndim - 1
            axes = next((axes for (_, axes), corrected in self.planes.items() if corrected in pieces), last)
            others = [length for axis, length in enumerate(whole.shape) if axis not in axes]
            mask, whole = whole, np.zeros(whole.shape, dtype=np.int32)
            for place in np.ndindex(*others):
                plane_at(whole, place, axes)[...] = numbered_pieces(plane_at(mask, place, axes))
        for key, corrected in self.planes.items():
            plane, differs = plane_at(whole, *key), corrected.labels != corrected.original
            new = corrected.labels[differs]
            if corrected in pieces and not self._is_mask:  # components have the number of their label here
                new = np.where((new > 0) & (new <= corrected.original.max()), plane.max(), new)
            if new.max(initial=0) > np.iinfo(whole.dtype).max:
                raise ValueError(f"{whole.dtype} labels cannot hold {new.max()}: convert them to a wider type")
            plane[differs] = new
        return whole

    @property
    def changes(self) -> list[Change]:
        """Changes of all planes, without undone ones."""
        return list(itertools.chain.from_iterable(corrected.changes for corrected in self.planes.values()))

    @property
    def log(self) -> pd.DataFrame:
        """Log as in `CorrectedLabels`, of all planes in chronological order; each row begins with its plane."""
        import pandas as pd  # slow to import, and not needed for corrections

        rows = []
        for (place, axes), corrected in self.planes.items():
            others = (axis for axis in range(self.original.ndim) if axis not in axes)
            words = ", ".join(f"axis {axis} = {at}" for axis, at in zip(others, place, strict=True))
            rows += [(number, words, *row) for number, *row in corrected.logged]
        return pd.DataFrame([row for _, *row in sorted(rows)], columns=["plane", *_LOG_COLUMNS])

    def _highest_of_all(self) -> int:
        """The highest corrected label of any plane: one number in two planes is one object."""
        return max([self._highest, *(int(corrected.labels.max()) for corrected in [*self.planes.values()])])

    @cached_property
    def _highest(self) -> int:
        return int(np.max(self.original))

    @cached_property
    def _is_mask(self) -> bool:
        """Whether all objects have the same number."""
        return not bool(np.any((self.original > 0) & (self.original != self._highest)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ignore_change(change: Change) -> None:
    """Ignore a change: the plane is not part of a stack."""


def _at_places(key: Plane, other: Plane) -> tuple[slice, ...] | None:
    """Return the slices of one plane along its intersection with another; None if they do not intersect."""
    count = len(key[0]) + 2
    fixed, crossing = (
        dict(zip((axis for axis in range(count) if axis not in axes), place, strict=True))
        for place, axes in (key, other)
    )
    if any(crossing.get(axis, at) != at for axis, at in fixed.items()):
        return None
    # Slices of length 1 instead of integers keep the result a 2D view.
    return tuple(slice(crossing[axis], crossing[axis] + 1) if axis in crossing else slice(None) for axis in key[1])


def plane_at(stack: Any, place: tuple[int, ...], axes: tuple[int, int]) -> Any:
    """Return a plane of a stack, which may have further axes, as of colors; for an array in memory, a view.

    Nothing else is read of an array that is not in memory.
    """
    along = iter(place)
    plane = stack[tuple(slice(None) if axis in axes else next(along) for axis in range(len(place) + 2))]
    return plane if axes[0] < axes[1] else np.swapaxes(plane, 0, 1)


def numbered_pieces(plane: ArrayLike) -> NDArray[np.integer]:
    """Return labels unchanged; number the components of a mask, as these are what is inspected."""
    given, numbered = np.asarray(plane), label_plane(plane)
    return given if given.dtype.kind in "iu" and np.array_equal(numbered, given.clip(min=0)) else numbered


def _cut_at_neck(mask: Mask) -> NDArray[np.integer]:
    """Cut an object at the narrowest place between its two widest; returns one part if it has no neck."""
    depth = ndimage.gaussian_filter(ndimage.distance_transform_edt(np.pad(mask, 1)), 1.0)[1:-1, 1:-1] * mask
    peaks, count = ndimage.label((depth == ndimage.maximum_filter(depth, 5)) & mask, np.ones((3, 3)))
    if count < 2:
        return mask.astype(np.int64)
    heights = ndimage.maximum(depth, peaks, np.arange(1, count + 1))
    basins = watershed(-depth, peaks, mask=mask)
    # Merge the basin with the shallowest saddle into its neighbor until two are left.
    while count > 2:
        low, into = _shallowest(basins, depth, heights)
        basins[basins == low] = into
        count -= 1
    return np.unique(basins, return_inverse=True)[1].reshape(mask.shape) + (0 if (basins == 0).any() else 1)


def _shallowest(basins: NDArray[np.integer], depth: NDArray[np.float64], heights: Any) -> tuple[int, int]:
    """Two basins with the shallowest neck between them, the one of the lower peak first."""
    necks = passes(basins, depth)
    if not necks:  # they meet at corners only: merge the smallest with another
        values, counts = np.unique(basins[basins > 0], return_counts=True)
        smallest, other, *_ = values[np.argsort(counts)].tolist()
        return smallest, other
    low, high, _ = max(necks, key=lambda neck: neck[2] / min(heights[neck[0] - 1], heights[neck[1] - 1]))
    return (low, high) if heights[low - 1] <= heights[high - 1] else (high, low)


def _cut_along_line(mask: Mask, line: NDArray[np.float64]) -> NDArray[np.integer]:
    """Parts of an object on the two sides of a line; pixels on the line are assigned to the nearer part."""
    if line.ndim != 2 or line.shape[0] < 2 or line.shape[1] != 2 or not np.isfinite(line).all():
        raise ValueError(f"a line must have two or more points, finite rows and columns, not shape {line.shape}")
    steps = [np.linspace(a, b, int(4 * np.abs(b - a).max()) + 2) for a, b in itertools.pairwise(line)]
    points = np.round(np.concatenate(steps)).astype(int)
    inside = ((points >= 0) & (points < mask.shape)).all(axis=1)
    cut = np.zeros(mask.shape, dtype=bool)
    cut[tuple(points[inside].T)] = True
    # A diagonal line of pixels still separates 4-connected parts.
    parts, count = ndimage.label(mask & ~cut)
    if count < 2:
        return mask.astype(np.int64)
    return watershed(np.zeros(mask.shape), parts, mask=mask)
