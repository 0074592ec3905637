"""The choice of two groups of layers, kept in step with the viewer's layer list."""

import re
from collections.abc import Sequence

from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QGridLayout, QLabel, QListWidget, QListWidgetItem, QSizePolicy, QWidget

from .layers import is_own
from .widgets import tip

_FOLLOWED = ("inserted", "removed", "reordered", "renamed")
_LINES = 4
_WIDTH = 130
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
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        for column, (name, group) in enumerate((("A", self.a), ("B", self.b))):
            grid.addWidget(QLabel(f"<b>{name}</b>"), 0, column)
            grid.addWidget(group, 1, column)
            group.itemChanged.connect(lambda _: self.changed.emit())
        self.following = False

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
        """List the layers of now; ticks stay. At first A is the first of them, and B the second."""
        a, b = self.chosen()
        candidates = self._candidates()
        if not a and not b and len(candidates) > 1:
            a, b = candidates[:1], candidates[1:2]
        self._fill(a, b)

    def _candidates(self) -> list[Layer]:
        return [layer for layer in self._layers if isinstance(layer, self._kinds) and not is_own(layer)]

    def _fill(self, a: list[Layer], b: list[Layer]) -> None:
        for group, ticked in ((self.a, a), (self.b, b)):
            was_blocked = group.blockSignals(True)
            group.clear()
            for layer in sorted(self._candidates(), key=_by_name):
                group.addItem(_item(layer, layer in ticked))
            group.blockSignals(was_blocked)
        self.changed.emit()


def _ticked_list(side: str) -> QListWidget:
    group = QListWidget()
    group.setToolTip(f"Layers of sample {side}: tick one or more.")
    group.setAccessibleName(f"Layers of sample {side}")
    group.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    group.setMinimumWidth(_WIDTH)
    group.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    group.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    group.setFixedHeight(_LINES * (group.fontMetrics().height() + 8))
    return group


def _item(layer: Layer, ticked: bool) -> QListWidgetItem:
    item = QListWidgetItem(layer.name)
    item.setToolTip(tip(layer.name))
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
    item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
    item.setData(_LAYER, layer)
    return item


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
