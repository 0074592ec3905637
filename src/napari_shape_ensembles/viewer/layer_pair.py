"""The choice of the two layers, kept in step with the viewer's layer list."""

from napari.components import ViewerModel
from napari.layers import Layer
from napari.utils.events import Event
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QComboBox, QGridLayout, QLabel, QWidget

from .inputs import ACCEPTED
from .layers import is_own
from .panels.widgets import NarrowList

_FOLLOWED = ("inserted", "removed", "reordered")


class LayerPair(QWidget):
    """Two lists of the layers that can be compared, A and B."""

    changed = Signal()

    def __init__(self, viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layers = viewer.layers
        self._events = [getattr(self._layers.events, name) for name in _FOLLOWED]
        self._all_events = viewer.layers.events
        self._choosing = viewer.layers.selection.events.changed
        self.a = _layer_list("Image, labels or shapes whose outlines are sample A.")
        self.b = _layer_list("Image, labels or shapes whose outlines are sample B.")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        for row, (name, combo) in enumerate((("A", self.a), ("B", self.b))):
            grid.addWidget(QLabel(f"<b>{name}</b>"), row, 0)
            grid.addWidget(combo, row, 1)
            combo.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.following = False

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self.following:
            for event in self._events:
                event.connect(self.refresh)
            self._all_events.connect(self._follow_name)
            self._choosing.connect(self.follow_selection)
            self.following = True
        self.refresh()

    def rest(self) -> None:
        """Stop following, so that a closed dock leaves nothing behind."""
        if self.following:
            for event in self._events:
                event.disconnect(self.refresh)
            self._all_events.disconnect(self._follow_name)
            self._choosing.disconnect(self.follow_selection)
            self.following = False

    def chosen(self) -> tuple[Layer | None, Layer | None]:
        """The layers A and B, as far as there are any."""
        return self.a.currentData(), self.b.currentData()

    def choose(self, *layers: Layer | None) -> None:
        """Choose A and B; what is not in the list is passed over."""
        for combo, layer in zip((self.a, self.b), layers, strict=True):
            listed = [combo.itemData(index) for index in range(combo.count())]
            if layer in listed:
                combo.setCurrentIndex(listed.index(layer))

    def forget(self) -> None:
        """Let go of all layers."""
        for combo in (self.a, self.b):
            _fill(combo, [], None)

    def refresh(self) -> None:
        """List the layers of now, keeping what is chosen where it is still there."""
        candidates = self._candidates()
        self._choose(*_pair(self.chosen(), self._selected(candidates), candidates))

    def follow_selection(self) -> None:
        """Two layers selected in the viewer's list become A and B, in the list's order."""
        selected = self._selected(self._candidates())
        if len(selected) == 2 and set(selected) != set(self.chosen()):
            self._choose(*selected)

    def _follow_name(self, event: Event) -> None:
        """Only newer napari tells of a renaming by an event of the list itself."""
        if event.type == "name":
            self.refresh()

    def _choose(self, a: Layer | None, b: Layer | None) -> None:
        candidates = self._candidates()
        for combo, layer in ((self.a, a), (self.b, b)):
            _fill(combo, candidates, layer)
        self.changed.emit()

    def _candidates(self) -> list[Layer]:
        return [layer for layer in self._layers if isinstance(layer, ACCEPTED) and not is_own(layer)]

    def _selected(self, candidates: list[Layer]) -> list[Layer]:
        return [layer for layer in candidates if layer in self._layers.selection]

    def swap(self) -> None:
        """Make B of A, and A of B."""
        a, b = self.a.currentIndex(), self.b.currentIndex()
        self.a.setCurrentIndex(b)
        self.b.setCurrentIndex(a)


def _pair(
    before: tuple[Layer | None, Layer | None], selected: list[Layer], candidates: list[Layer]
) -> tuple[Layer | None, Layer | None]:
    """What was chosen stays; empty places are filled from the selection, then from all, in the list's order."""
    a, b = (layer if layer in candidates else None for layer in before)
    others = [layer for layer in dict.fromkeys([*selected, *candidates]) if layer is not a and layer is not b]
    vacant = (a is None) + (b is None)
    fill = iter(sorted(others[:vacant], key=candidates.index))
    return a if a is not None else next(fill, None), b if b is not None else next(fill, None)


def _layer_list(tooltip: str) -> QComboBox:
    combo = NarrowList()
    combo.setToolTip(tooltip)
    return combo


def _fill(combo: QComboBox, layers: list[Layer], chosen: Layer | None) -> None:
    was_blocked = combo.blockSignals(True)
    combo.clear()
    for layer in layers:
        combo.addItem(layer.name, layer)
    combo.setCurrentIndex(layers.index(chosen) if chosen is not None else -1)
    combo.blockSignals(was_blocked)


def why_not(a: Layer | None, b: Layer | None) -> str:
    """Why two choices cannot be compared; empty when they can."""
    if a is None or b is None:
        return "Open two images (or labels, or shapes) to compare."
    if a is b:
        return "Choose two different layers."
    return ""
