"""The choice of two groups of layers, kept in step with the viewer's layer list."""

import re
from collections.abc import Sequence
from itertools import takewhile

from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer
from qtpy.QtCore import QEvent, QObject, Qt, Signal
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import QGridLayout, QLabel, QListWidget, QListWidgetItem, QSizePolicy, QWidget

from .layers import is_own
from .panels.widgets import once, tip, with_clear_boxes

_FOLLOWED = ("inserted", "removed", "reordered", "renamed")
_LINES = 4
_WIDTH = 110
_BESIDE, _GAP = 50, 6  # pixels: tick and scroll bar beside a name; between the lists
_PART_OF_WORD = re.compile(r"\w*$")
_DIGITS = re.compile(r"([0-9]+)")
_LAYER = Qt.ItemDataRole.UserRole


class LayerGroups(QWidget):
    """Two lists of layers, with a tick for each that belongs to the group.

    Parameters
    ----------
    viewer : ViewerModel
    kinds : tuple of types
        What is listed; by default what can be segmented.
    """

    changed = Signal()

    def __init__(
        self, viewer: ViewerModel, kinds: tuple[type[Layer], ...] = (Image, Labels), parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._layers, self._kinds = viewer.layers, kinds
        self._events = [getattr(self._layers.events, name) for name in _FOLLOWED]
        self.a, self.b = _ticked_list("A"), _ticked_list("B")
        self._headings = QLabel("<b>A</b>"), QLabel("<b>B</b>")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._later = once(self, self._fit)
        for group in (self.a, self.b):
            group.itemChanged.connect(self._tick_changed)
        self._arrange(stacked=False)
        self.a.installEventFilter(self)
        self.following = self._touched = False

    def _tick_changed(self) -> None:
        self._touched = True
        self.changed.emit()

    def forget(self) -> None:
        """Let go of all layers."""
        for group in (self.a, self.b):
            _cleared(group)

    def _arrange(self, *, stacked: bool) -> None:
        """Put the lists beside each other, or one above the other."""
        for side, (heading, group) in enumerate(zip(self._headings, (self.a, self.b), strict=True)):
            self._grid.addWidget(heading, *((side, 0) if stacked else (0, side)))
            self._grid.addWidget(group, *((side, 1) if stacked else (1, side)))
        self._grid.setColumnStretch(0, int(not stacked))
        self._grid.setColumnStretch(1, 1)

    def _fit(self) -> None:
        """Make room for the names; where there is too little, leave out what they begin and end with alike."""
        names = [self.a.item(row).data(_LAYER).name for row in range(self.a.count())]
        metrics = self.a.fontMetrics()
        widest = max(map(metrics.horizontalAdvance, names), default=0) + _BESIDE
        self._arrange(stacked=widest > (self.width() - _GAP) / 2)
        shown = names if widest <= self.width() - self._headings[0].width() - _GAP else what_differs(names)
        for group in (self.a, self.b):
            group.setFixedHeight(_LINES * (metrics.height() + 8))
            was_blocked = group.blockSignals(True)
            for row in range(min(group.count(), len(shown))):
                group.item(row).setText(shown[row])
            group.blockSignals(was_blocked)

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Names need more lines, or fewer."""
        super().resizeEvent(event)
        self._later.start()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:  # noqa: N802 - Qt's name
        """In another font as well."""
        if event is not None and event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._later.start()
        return super().eventFilter(watched, event)

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self.following:
            for event in self._events:
                event.connect(self.refresh)
            self.following = True
        self.refresh()

    def rest(self) -> None:
        """Stop following, so that a closed dock leaves nothing behind."""
        if self.following:
            for event in self._events:
                event.disconnect(self.refresh)
            self.following = False

    def chosen(self) -> tuple[list[Layer], list[Layer]]:
        """The layers ticked in A and in B, by name: the order of the viewer's list changes with every arrangement."""
        return sorted(_ticked(self.a), key=_by_name), sorted(_ticked(self.b), key=_by_name)

    def swap(self) -> None:
        """Make B of A, and A of B."""
        a, b = self.chosen()
        self.tick(b, a)

    def tick(self, a: Sequence[Layer], b: Sequence[Layer]) -> None:
        """Tick these layers and no others."""
        self._fill(list(a), list(b))

    def refresh(self) -> None:
        """List the layers of now; ticks stay. Until one is set A is the first of them, and B the second."""
        a, b = self.chosen()
        candidates = self._candidates()
        if not (a or b or self._touched) and len(candidates) > 1:
            a, b = candidates[:1], candidates[1:2]
        self._fill(a, b)

    def _candidates(self) -> list[Layer]:
        return [layer for layer in self._layers if isinstance(layer, self._kinds) and not is_own(layer)]

    def _fill(self, a: list[Layer], b: list[Layer]) -> None:
        for group, ticked in ((self.a, a), (self.b, b)):
            _cleared(group)
            was_blocked = group.blockSignals(True)
            for layer in sorted(self._candidates(), key=_by_name):
                group.addItem(_item(layer, layer in ticked))
            group.blockSignals(was_blocked)
        self._later.start()
        self.changed.emit()


def _ticked_list(side: str) -> QListWidget:
    group = QListWidget()
    with_clear_boxes(group)
    group.setToolTip(f"Layers of sample {side}: tick one or more.")
    group.setAccessibleName(f"Layers of sample {side}")
    group.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    group.setMinimumWidth(_WIDTH)
    group.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    group.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    return group


def _cleared(group: QListWidget) -> None:
    was_blocked = group.blockSignals(True)
    group.clear()
    group.blockSignals(was_blocked)


def _item(layer: Layer, ticked: bool) -> QListWidgetItem:
    item = QListWidgetItem(layer.name)
    item.setToolTip(tip(layer.name))
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
    item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
    item.setData(_LAYER, layer)
    return item


def what_differs(names: Sequence[str]) -> list[str]:
    """Names without the words with which all of them begin and end."""
    first = _common_words(names)
    rest = [name[len(first) :] for name in names]
    last = _common_words([name[::-1] for name in rest])
    start, end = "…" if first else "", "…" if last else ""
    return [f"{start}{name[: len(name) - len(last)]}{end}" for name in rest]


def _common_words(names: Sequence[str]) -> str:
    """What all names begin with, up to the end of a word."""
    low, high = min(names, default=""), max(names, default="")
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
    return _PART_OF_WORD.sub("", "".join(letter for letter, _ in alike))


def _ticked(group: QListWidget) -> list[Layer]:
    items = [group.item(row) for row in range(group.count())]
    return [item.data(_LAYER) for item in items if item.checkState() == Qt.CheckState.Checked]


def _by_name(layer: Layer) -> list[tuple[bool, int, str]]:
    """Sorts image 2 before image 10."""
    parts = _DIGITS.split(layer.name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def why_not(a: list[Layer], b: list[Layer]) -> str:
    """Why two groups cannot be compared; empty when they can."""
    if not a or not b:
        return "Tick at least one layer in A and one in B."
    both = [layer.name for layer in a if layer in b]
    return f'"{both[0]}" is in both groups: take it out of one.' if both else ""
