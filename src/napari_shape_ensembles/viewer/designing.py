"""The design table of a viewer: group, replicate, block and covariates of every image.

Rows are layers, parts of layers that are layers themselves (`splitting`), and images that are read lazily.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from napari.components import ViewerModel
from napari.layers import Layer
from napari.utils.events import Event
from psygnal import Signal

from ..archive import Tree
from ..comparison import design_from_names, records
from ..comparison.answer import replicate_columns
from ..comparison.design import (
    BLOCK,
    GROUP,
    IMAGE,
    NO_REQUESTED_TESTS,
    REPLICATE,
    RequestedTests,
    plain_name,
    with_numbers,
)
from ..io.design import cells_of, part_of
from .inputs import PARTS, ImageRow, LayersOfSides
from .offered import ComparedLayers, sorted_by_name
from .splitting import features_of, root_of

if TYPE_CHECKING:
    import pandas as pd

#: Columns that always exist, in addition to the image.
OWN_COLUMNS = (GROUP, REPLICATE, BLOCK)
#: Names of groups that are called A and B only.
SIDES = ("A", "B")
#: Patterns by which names are grouped without being asked, if one fits all of them.
PATTERNS = ("{group}_{replicate}", "{group}-{replicate}", "{group} {replicate}")

Row: TypeAlias = Layer | ImageRow
# What the table knows besides its cells, files and requests.
_STATE = ("names", "_pair", "several", "unsaved", "is_named_by_hand", "grouped_by")


class DesignTable(ComparedLayers):
    """The cells of every layer that can be compared; the first two groups are the samples A and B.

    A group named A or B is that sample, regardless of the order. A layer without a group is not compared; while the
    table has at most one image a group, one is filled in for a missing sample. A table with three groups, blocks,
    covariates or replicates of several images is an experiment.
    """

    warned = Signal()  #: `warnings` have changed

    def __init__(self, viewer: ViewerModel) -> None:
        super().__init__(viewer)
        self._cells: weakref.WeakKeyDictionary[Row, dict[str, str]] = weakref.WeakKeyDictionary()
        self.files: list[ImageRow] = []  #: images that are not open as layers
        self.columns: list[str] = list(OWN_COLUMNS)
        self.pattern = "{group}_{replicate}"  #: pattern by which names were last parsed
        self.names = list(SIDES)  #: names of the groups A and B
        self._pair: list[str] = []  # a pair chosen among more than two groups
        self.requested = NO_REQUESTED_TESTS  #: covariates to adjust for, and interactions to test
        self.control = ""  #: the control group; empty for all pairs
        self.warnings: list[str] = []  #: on duplicate images, and labels that are listed as images
        self.grouped_by = ""  #: the pattern by which images were grouped without being asked, or empty
        self.is_named_by_hand = False  #: whether groups were entered, or the grouping by names was undone
        self.several = False  #: whether groups are filled by hand, as they may have several images
        self.unsaved = False  #: whether cells were entered that no saved table or result has
        self._last_offered: set[tuple[int, str, str]] = set()

    def layers(self) -> list[Row]:
        """Return all rows: layers sorted by name (list order changes), then files."""
        return [*sorted_by_name(self.offered()), *self.files]

    def cell(self, layer: Row, column: str) -> str:
        return self._cells.get(layer, {}).get(column, "")

    def groups(self) -> dict[str, list[Row]]:
        """Return the rows of each group: A, B, then the others in order of appearance."""
        found: dict[str, list[Row]] = {name: [] for name in self.names}
        for layer in self.layers():
            if name := self.cell(layer, GROUP):
                found.setdefault(name, []).append(layer)
        return {name: own for name, own in found.items() if own}

    def grouped(self) -> list[Row]:
        """Return the rows of all groups, which are compared."""
        return [row for own in self.groups().values() for row in own]

    def open_layers(self) -> list[Layer]:
        """Return the rows of all groups that are open as layers."""
        return [row for row in self.grouped() if isinstance(row, Layer)]

    def write(self, rows: Iterable[tuple[Row, str, str]]) -> None:
        """Set cells, given as (layer, column, text); new columns are added."""
        for layer, column, text in rows:
            if column not in self.columns:
                self.columns.append(column)
            self._cells.setdefault(layer, {})[column] = plain_name(text)
            if column == GROUP and isinstance(layer, Layer):
                (self.opted_out.discard if text.strip() else self.opted_out.add)(layer)
        self.names = _with_letters_in_place(list(self.groups()))[:2]
        self.several |= self._has_several()
        self.unsaved, self.is_named_by_hand, self.grouped_by = True, True, ""
        self._notify()

    def paste(self, text: str, first: int, column: int) -> None:
        """Paste tab-separated cells of a spreadsheet, starting at a row and column of the table.

        If the first line is a header, columns are matched by name, and rows by a column named image.
        """
        lines = [line.split("\t") for line in text.replace("\r", "").split("\n") if line.strip()]
        heads = [word.strip().lower() for word in lines[0]] if lines else []
        layers, rows = self.layers(), []
        headed = GROUP in heads or IMAGE in heads
        if headed:
            named = {layer.name: layer for layer in layers}
            for place, line in enumerate(lines[1:]):
                cells = dict(zip(heads, line, strict=False))
                layer = named.get(cells.get(IMAGE, "").strip()) if IMAGE in cells else None
                if layer is None and IMAGE in cells:
                    raise ValueError(f"there is no layer {cells[IMAGE].strip()!r}: enter the name of a layer")
                layer = layers[first + place] if layer is None and first + place < len(layers) else layer
                rows += [(layer, name, cell) for name, cell in cells.items() if layer is not None and name != IMAGE]
        else:
            for place, line in enumerate(lines[: max(len(layers) - first, 0)]):
                names = self.columns[column : column + len(line)]
                rows += [(layers[first + place], name, cell) for name, cell in zip(names, line, strict=False)]
        if headed:  # only after everything was validated
            self.names = []
        self.write(rows)

    def fill(self, pattern: str) -> None:
        """Fill columns from the names of all layers; a ValueError names one that does not match the pattern.

        Annotation layers without a group are skipped.
        """
        free, self.pattern = self.offered_automatically(), pattern
        layers = [row for row in self.layers() if isinstance(row, ImageRow) or row in free or self.cell(row, GROUP)]
        table = design_from_names([layer.name for layer in layers], pattern)
        names = [str(name) for name in table if name != IMAGE]
        self.names = []
        self.write(
            (layer, name, str(value))
            for name in names
            for layer, value in zip(layers, table[name].tolist(), strict=True)
        )

    def replace_by_parts(
        self, whole: Layer, labels: Sequence[str], parts: Sequence[Layer], regions: Layer | None = None
    ) -> None:
        """Replace a layer by its parts: each in its own group, or in the group that the user gave to the layer.

        As parts are not independent, the image is their replicate. A part named A or B is renamed if an image has
        that group already. The layer of the regions is no sample, unless the user gave it a group.
        """
        if regions is not None and self.cell(regions, GROUP) in SIDES:
            self.write([(regions, GROUP, "")])
        given = self.cell(whole, GROUP)
        taken = {self.cell(row, GROUP) for row in self.layers() if row not in PARTS} & {*SIDES}
        labels = [plain_name(f"{whole.name} {label}" if label in taken else label) for label in labels]
        if given in SIDES:
            given = ""
            if whole not in self.layers():  # when its parts are deleted, it gets a letter again
                self._cells[whole][GROUP] = ""
        self.names = [*(name for name in self.names if name not in SIDES), *labels]
        self._write_parts(whole, {part: {GROUP: given or label} for label, part in zip(labels, parts, strict=True)})

    def add_parts(self, whole: Layer, parts: Mapping[Layer, Mapping[str, str]]) -> None:
        """Enter parts of a layer, which are about to be added, with its cells, except for those given of each.

        The layer keeps its cells, for when its parts are removed.
        """
        self._write_parts(whole, parts)
        self.several = True  # no image joins a group because others leave it

    def _write_parts(self, whole: Layer, parts: Mapping[Layer, Mapping[str, str]]) -> None:
        cells = {name: self.cell(whole, name) for name in self.columns}
        cells[REPLICATE] = cells[REPLICATE] or root_of(whole)[0].name  # parts of an image are not independent
        self.write((part, name, text) for part, own in parts.items() for name, text in {**cells, **own}.items())

    def memento(self) -> Callable[[], None]:
        """Return a function that restores what the table knows besides its cells."""
        kept = {name: copy(getattr(self, name)) for name in _STATE}

        def restore() -> None:
            for name, value in kept.items():
                setattr(self, name, value)
            self._notify()

        return restore

    def restore_whole(self) -> None:
        """Follow the removal of all parts of layers, which have their own rows again."""
        self.several = self._has_several()
        self._notify()

    def replace_rows(self, rows: Sequence[tuple[Row, Mapping[str, str]]]) -> None:
        """Replace the whole table, given as rows with their cells by column."""
        self.files = [row for row, _ in rows if isinstance(row, ImageRow)]
        self._cells.clear()
        self.columns, self.names = list(OWN_COLUMNS), list(dict.fromkeys(cells.get(GROUP, "") for _, cells in rows))
        self.write((row, name, text) for row, cells in rows for name, text in cells.items())
        self.unsaved = False

    def to_tree(self) -> Tree:
        """Serialize the table, with layers by name."""
        layers = [layer for layer in self.layers() if isinstance(layer, Layer)]
        cells = [[layer.name, *(self.cell(layer, name) for name in self.columns)] for layer in layers]
        files = [
            {
                "name": row.name,
                "path": str(row.path),
                "part": cells_of(row.part),
                "pixel": row.pixel and [row.pixel[0], row.pixel[1]],
                "cells": [self.cell(row, name) for name in self.columns],
            }
            for row in self.files
        ]
        chosen = {"groups": list(self.groups()), "control": self.control, "asked": requested_tests_tree(self.requested)}
        return {"columns": self.columns, "rows": cells, "files": files, **chosen}

    def restore_tree(self, tree: Tree) -> None:
        """Restore a serialized table for the existing layers; ignore an invalid one.

        Other layers are taken out of their groups, unless none of the table's images is known.
        """
        kept = [tree.get(name) for name in ("columns", "rows", "groups")]
        columns, rows, groups = (one if isinstance(one, list) else [] for one in kept)
        if not columns or not all(isinstance(row, list) and len(row) == len(columns) + 1 for row in rows):
            return
        named = {layer.name: layer for layer in self.layers() if isinstance(layer, Layer)}
        self.columns = [*OWN_COLUMNS, *(str(name) for name in columns if name not in OWN_COLUMNS)]
        self.names, self.control = [str(name) for name in groups], str(tree.get("control", ""))
        self.requested = requested_tests_of(tree.get("asked"))
        found = [(named[name], cells) for name, *cells in rows if name in named]
        files = [(row, cells) for row, cells in map(_file_of, tree.get("files", [])) if len(cells) == len(columns)]
        if found or files:
            self.files = [row for row, _ in files]
            self._cells.clear()
        others = [row for row in self.layers() if row not in dict([*found, *files])] if found or files else []
        self.write(
            [
                *((row, GROUP, "") for row in others),
                *(
                    (row, str(column), str(text))
                    for row, cells in [*found, *files]
                    for column, text in zip(columns, cells, strict=True)
                ),
            ]
        )
        self.unsaved = False

    def set_control(self, control: str) -> None:
        """Set the control group; empty for all pairs."""
        if control != self.control:
            self.control = control
            self.changed.emit()

    def request_tests(self, requested: RequestedTests) -> None:
        if requested != self.requested:
            self.requested = requested
            self.changed.emit()

    def extra_columns(self) -> list[str]:
        """Return the covariates and factors: additional columns that are not empty."""
        layers = self.grouped()
        more = (name for name in self.columns if name not in OWN_COLUMNS)
        return [name for name in more if any(self.cell(layer, name) for layer in layers)]

    def add_column(self, name: str) -> None:
        if name and name not in (*self.columns, IMAGE):
            self.columns.append(name)
            self.changed.emit()

    def warn(self, warnings: list[str]) -> None:
        if warnings != self.warnings:
            self.warnings = warnings
            self.warned.emit()

    # Derived state.

    @property
    def has_parts(self) -> bool:
        """Whether parts of the same image are rows without a block, so that they are not compared within the image."""
        rows = [row for row in self._one_replicate_each() if row in PARTS and not self.cell(row, BLOCK)]
        return len({root_of(row)[0] for row in rows}) < len(rows)

    def _one_replicate_each(self) -> list[Layer]:
        """Return the compared layers of which no replicate is entered but the image."""
        rows = self.open_layers()
        return [row for row in rows if self.cell(row, REPLICATE) in ("", plain_name(root_of(row)[0].name))]

    def pooled(self) -> tuple[str, dict[Layer, int]] | None:
        """Return a feature of the outlines that seems to name replicates, and the number of these in every layer.

        All compared layers have it, and no replicate of them is entered; else None.
        """
        layers = self._one_replicate_each()
        found = replicate_columns(*map(features_of, layers)) if len(layers) == len(self.grouped()) else []
        return (found[0][0], dict(zip(layers, found[0][1], strict=True))) if found else None

    @property
    def is_experiment(self) -> bool:
        """Whether the table specifies more than the images of A and B."""
        groups = self.groups()
        layers = [layer for own in groups.values() for layer in own]
        more = any(self.cell(layer, name) for layer in layers for name in self.columns if name not in OWN_COLUMNS)
        blocks = any(self.cell(layer, BLOCK) for layer in layers)
        replicates = [(self.cell(layer, GROUP), name) for layer in layers if (name := self.cell(layer, REPLICATE))]
        files = any(isinstance(layer, ImageRow) for layer in layers)
        return len(groups) > 2 or blocks or more or files or len(set(replicates)) < len(replicates)

    def blocking_reason(self) -> str:
        """Return why the groups cannot be compared; empty if they can."""
        groups = self.groups()
        if len(groups) < 2:
            return "Enter at least two groups in the table."
        layers = [layer for own in groups.values() for layer in own]
        for name in (name for name in self.columns if name != REPLICATE):
            empty = [layer.name for layer in layers if not self.cell(layer, name)]
            if empty and len(empty) < len(layers):
                return f'"{empty[0]}" has no {name}: fill the column, or leave it empty for all.'
        return ""

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Return the nonempty columns as text: a header, then a row per layer with a group."""
        layers = self.grouped()
        used = [name for name in self.columns if any(self.cell(layer, name) for layer in layers)]
        images = [layer.name if isinstance(layer, ImageRow) else root_of(layer)[0].name for layer in layers]
        if REPLICATE in used:  # empty cells default to the image
            own = {
                layer: {REPLICATE: self.cell(layer, REPLICATE) or name}
                for layer, name in zip(layers, images, strict=True)
            }
        elif any(layer in PARTS for layer in layers) and len(set(images)) < len(images):
            used.insert(1, REPLICATE)
            own = {layer: {REPLICATE: name} for layer, name in zip(layers, images, strict=True)}
        else:
            own = {}
        lines = (tuple(own.get(layer, {}).get(name) or self.cell(layer, name) for name in used) for layer in layers)
        return (tuple(used), *lines)

    # A and B.

    @property
    def samples(self) -> list[str]:
        """Names of the groups A and B: the first two, unless another pair is chosen."""
        return self._pair if self._pair and set(self._pair) <= self.groups().keys() else self.names

    def sides(self) -> LayersOfSides:
        """Return the open layers of the groups A and B."""
        groups = self.groups()
        a, b = (tuple(row for row in groups.get(name, []) if isinstance(row, Layer)) for name in self.samples)
        return a, b

    def choose(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Make layers the groups A and B, with the groups' names if these have any; others are taken out of them."""
        sides = [layer for layer in a if layer in self._layers], [layer for layer in b if layer in self._layers]
        names = []
        for side, own, before in zip(SIDES, sides, self.names, strict=True):
            given = [name for layer in own if (name := self.cell(layer, GROUP)) and name not in SIDES]
            names.append([*given, before, side][0])
        names = names if names[0] != names[1] else list(SIDES)
        for layer in self.offered():
            if self.cell(layer, GROUP) in names:
                self._cells[layer][GROUP] = ""
        for name, own in zip(names, sides, strict=True):
            for layer in own:
                self._cells.setdefault(layer, {})[GROUP] = name
        self.names, self._pair = names, []
        self.several = self._has_several()
        self._notify()

    def _has_several(self) -> bool:
        """Whether a layer joins a group only where that is entered: beside several images, groups, or files."""
        groups = self.groups()
        return bool(self.files) or len(groups) > 2 or any(len(own) > 1 for own in groups.values())

    def choose_pair(self, a: str, b: str) -> None:
        """Make two of the groups A and B, whatever their order in the table."""
        if [a, b] != self.samples:
            self._pair = [a, b]
            self._notify()

    def swap(self) -> None:
        """Exchange A and B: the first group becomes the second."""
        if self.samples is not self.names:
            self._pair.reverse()
        elif {*self.names}.isdisjoint(SIDES):
            self.names.reverse()
        else:  # a letter says which group is the first
            groups = self.groups()
            first, second = (groups.get(name, []) for name in self.names)
            for name, rows in zip(SIDES, (second, first), strict=True):
                for row in rows:
                    self._cells[row][GROUP] = name
            self.names = list(SIDES)
        self._notify()

    def _move(self, places: Mapping[Layer, Layer]) -> None:
        for before, after in places.items():
            if before in self._cells:
                self._cells[after] = self._cells.pop(before)
        self._notify()

    def _fill(self, event: Event | None, selected: list[Layer]) -> None:
        """Fill empty samples; two layers selected in the layer list become A and B, in the order of the table.

        The order of the layer list changes with the arrangement of the canvas.
        """
        sides = self.sides()
        if event is not None and event.source is self._layers.selection:
            if not self.several and len(selected) == 2 and set(selected) != {*sides[0], *sides[1]}:
                first, second = sorted_by_name(selected)
                self.choose([first], [second])
            return
        groups = self.groups()
        # Images are there before the bench is opened, or come one after the other.
        has_news = not (groups or self.is_named_by_hand) if event is None else event.type == "inserted"
        self.several &= bool(self.layers())  # begin anew once all images are replaced
        if not groups:
            self.names, self.grouped_by = list(SIDES), ""  # forget the names of removed images
            self.unsaved = self.is_named_by_hand = False
        elif len(groups) > 1 and not all(name in groups for name in self.names):
            self.names = _with_letters_in_place(list(groups))[:2]  # the next group takes the place of a removed one
        if not self.is_named_by_hand and has_news:
            self._group_by_names()
        if not (self.several or all(self.sides())):
            for name, own in zip(self.names, _completed_pair(self.sides(), selected, self.free()), strict=True):
                for layer in own:
                    self._cells.setdefault(layer, {})[GROUP] = name
        offered = {(id(layer), layer.name, self.cell(layer, GROUP)) for layer in self.offered()}
        if offered != self._last_offered:
            self._notify()

    def _group_by_names(self) -> None:
        """Group the images by their names, if a pattern fits all of them and gives groups of two images or more."""
        layers = self.free()
        names = [layer.name for layer in layers]
        for pattern in PATTERNS if len(names) >= 2 * len(SIDES) else ():
            try:
                table = design_from_names(names, pattern)
            except ValueError:
                continue
            counts = table[GROUP].value_counts()
            if len(counts) < 2 or counts.min() < 2 or table.duplicated([GROUP, REPLICATE]).any():
                continue
            self.fill(pattern)
            self.unsaved, self.is_named_by_hand, self.grouped_by = False, False, pattern
            return

    def undo_grouping(self) -> None:
        """Take back the grouping by names: two images are A and B, as without names that fit a pattern."""
        for layer in self.layers():
            self._cells.pop(layer, None)
        self.names, self.several, self.grouped_by = list(SIDES), False, ""
        self.is_named_by_hand = True
        self._fill(None, [])
        self.unsaved, self.is_named_by_hand = False, True
        self._notify()

    def _notify(self) -> None:
        self._last_offered = {(id(layer), layer.name, self.cell(layer, GROUP)) for layer in self.offered()}
        self.changed.emit()


def _completed_pair(before: LayersOfSides, selected: Sequence[Layer], offered: Sequence[Layer]) -> LayersOfSides:
    """Keep chosen layers; fill an empty side from the selection, then with layers of the same type, in list order."""
    a, b = before
    selected = [layer for layer in selected if layer in offered]
    others = [layer for layer in dict.fromkeys([*selected, *offered]) if layer not in (*a, *b)]
    first = next(iter((*a, *b, *others)), None)
    others.sort(key=lambda layer: (layer not in selected, layer.__class__ is not first.__class__))
    fill = tuple(sorted(others[: (not a) + (not b)], key=offered.index))
    if not a:
        a, fill = fill[:1], fill[1:]
    return a, b or fill[:1]


def _with_letters_in_place(names: list[str]) -> list[str]:
    """Return group names with A and B in their places: a group named A must not become sample B.

    With fewer than two groups, missing ones are filled in as A or B: a single group B is sample B.
    """
    others = [name for name in names if name not in SIDES]
    first = [side if side in names or not others else others.pop(0) for side in SIDES]
    return [*first, *others]


def _file_of(tree: Tree) -> tuple[ImageRow, list[str]]:
    """Restore an image that is not open, and its cells, from `to_tree`; raise a ValueError for invalid content."""
    part = part_of({str(name): str(cell) for name, cell in records.value(tree, "part", dict).items()})
    pixel: tuple[float | tuple[float, float], str] | None = None
    if tree.get("pixel") is not None:
        sides, unit = tree["pixel"]
        pixel = (float(sides[0]), float(sides[1])) if isinstance(sides, list) else float(sides), str(unit)
    path = Path(records.value(tree, "path", str))
    return ImageRow(records.value(tree, "name", str), path, part, pixel), records.value(tree, "cells", list)


def requested_tests_tree(requested: RequestedTests) -> Tree:
    """Serialize the covariates and interactions."""
    return {"given": list(requested.given), "interactions": [list(pair) for pair in requested.interactions]}


def requested_tests_of(tree: Any) -> RequestedTests:
    """Restore serialized covariates and interactions, empty if missing."""
    given, pairs = ((tree or {}).get(name, []) for name in ("given", "interactions"))
    return RequestedTests(tuple(map(str, given)), tuple((str(one), str(other)) for one, other in pairs))


def frame_of(rows: Sequence[Sequence[str]]) -> "pd.DataFrame":
    """Return rows of text, the first one the header, as a table; numeric columns but `OWN_COLUMNS` are converted."""
    import pandas as pd

    names, *cells = rows
    table = pd.DataFrame(cells, columns=list(names))
    for name in names:
        if name not in OWN_COLUMNS:
            table[name] = with_numbers(table[name])
    return table
