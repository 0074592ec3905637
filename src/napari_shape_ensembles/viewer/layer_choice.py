"""Widgets to choose layers: a single layer, and the two samples of a comparison.

They are views of a choice, without a state of their own, and forward the user's changes to it.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from napari.layers import Layer
from qtpy.QtCore import QEvent, QObject, QSignalBlocker, Qt
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QWidget,
)

from .choices import ChosenLayer, Sides, sorted_by_name
from .inputs import LayersOfSides
from .panels.fonts import with_label_font
from .panels.widgets import NarrowList, button, single_shot_timer, tip, with_visible_check_boxes

_LINES = 4
_WIDTH = 110
_CHECK_BOX_WIDTH, _GAP = 50, 6  # pixels: width of check box and scroll bar, spacing of the lists
_PART_OF_WORD = re.compile(r"\w*$")
_LAYER = Qt.ItemDataRole.UserRole


class LayerChoice(NarrowList):
    """A combo box of layers; if `nothing` is given, it is the first entry, for "no layer"."""

    def __init__(self, layer: ChosenLayer, tooltip: str, *, nothing: str = "") -> None:
        super().__init__(tooltip)
        self._layer, self._nothing = layer, nothing
        self.currentIndexChanged.connect(lambda _: layer.choose(self.currentData()))

    def refresh(self) -> None:
        _fill(self, self._layer.offered(), self._layer.chosen(), self._nothing)


class SidesChoice(QWidget):
    """Two combo boxes for A and B, or two check lists for several layers each, and a swap button."""

    def __init__(self, sides: Sides) -> None:
        super().__init__()
        self._sides = sides
        self.pair, self.groups = PairLists(sides), TickLists(sides)
        self.several = QCheckBox("Several images per sample")
        self.several.setToolTip(
            "On: tick images; whole images are permuted, not single curves.\nOff: one layer each. Default off."
        )
        self.swap = button("⇅", "Swap A and B")
        self.swap.setAccessibleName("Swap A and B")
        self.swap.setFixedWidth(32)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(self.pair, 0, 0)
        grid.addWidget(self.groups, 1, 0)
        grid.addWidget(self.swap, 0, 1, 2, 1)
        grid.addWidget(self.several, 2, 0, 1, 2)
        self.several.toggled.connect(lambda on: sides.allow_several(on))
        self.swap.clicked.connect(sides.swap)

    def refresh(self) -> None:
        several = self._sides.several
        with QSignalBlocker(self.several):
            self.several.setChecked(several)
        offered, chosen = self._sides.offered(), self._sides.chosen()
        for lists, shown in ((self.groups, several), (self.pair, not several)):
            lists.setVisible(shown)
            lists.show_layers(*((offered, chosen) if shown else ([], ((), ()))))  # hidden lists keep no layer alive


class PairLists(QWidget):
    """Combo boxes for A and B."""

    def __init__(self, sides: Sides) -> None:
        super().__init__()
        self._sides = sides
        self.a, self.b = (
            NarrowList(f"Image, labels or shapes whose outlines are sample {side}.") for side in ("A", "B")
        )
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        for row, (name, combo) in enumerate((("A", self.a), ("B", self.b))):
            combo.setAccessibleName(f"Sample {name}")
            grid.addWidget(QLabel(f"<b>{name}</b>"), row, 0)
            grid.addWidget(combo, row, 1)
            combo.currentIndexChanged.connect(self._choose)

    def chosen(self) -> tuple[Layer | None, Layer | None]:
        """Return the layers currently selected as A and as B."""
        return self.a.currentData(), self.b.currentData()

    def _choose(self) -> None:
        self._sides.choose(*([] if layer is None else [layer] for layer in self.chosen()))

    def show_layers(self, offered: list[Layer], sides: LayersOfSides) -> None:
        for combo, side in zip((self.a, self.b), sides, strict=True):
            _fill(combo, offered, next(iter(side), None))


def _fill(combo: QComboBox, layers: Sequence[Layer], chosen: Layer | None, nothing: str = "") -> None:
    """Fill a combo box with layer names, unless unchanged: it must not be modified during its own signal."""
    entries = [*([(nothing, None)] if nothing else []), *((layer.name, layer) for layer in layers)]
    listed = [(combo.itemText(row), combo.itemData(row)) for row in range(combo.count())]
    if listed != entries or combo.currentData() != chosen:
        with QSignalBlocker(combo):
            combo.clear()
            for name, layer in entries:
                combo.addItem(name, layer)
            combo.setCurrentIndex(next((row for row, (_, layer) in enumerate(entries) if layer == chosen), -1))


class TickLists(QWidget):
    """Check lists of the layers of A and of B."""

    def __init__(self, sides: Sides) -> None:
        super().__init__()
        self.a, self.b = TickList("A"), TickList("B")
        self._headings = QLabel("<b>A</b>"), QLabel("<b>B</b>")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setColumnStretch(1, 1)
        self._fit_timer = single_shot_timer(self, self._fit)
        for group in (self.a, self.b):
            group.itemChanged.connect(lambda _: sides.choose_several(self.a.checked(), self.b.checked()))
        self.a.installEventFilter(self)
        self._fit()

    def _fit(self) -> None:
        """Lay out the lists for the widest name; if the width is too small, omit the common words of all names."""
        names = [self.a.item(row).data(_LAYER).name for row in range(self.a.count())]
        metrics = self.a.fontMetrics()
        widest = max(map(metrics.horizontalAdvance, names), default=0) + _CHECK_BOX_WIDTH
        stacked = widest > (self.width() - _GAP) / 2
        for side, (heading, group) in enumerate(zip(self._headings, (self.a, self.b), strict=True)):
            self._grid.addWidget(heading, *((side, 0) if stacked else (0, side)))
            self._grid.addWidget(group, *((side, 1) if stacked else (1, side)))
        self._grid.setColumnStretch(0, int(not stacked))
        shown = names if widest <= self.width() - self._headings[0].width() - _GAP else distinguishing_parts(names)
        for group in (self.a, self.b):
            group.setFixedHeight(_LINES * (metrics.height() + 8))
            with QSignalBlocker(group):
                for row in range(min(group.count(), len(shown))):
                    group.item(row).setText(shown[row])

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit_timer.start()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if event is not None and event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit_timer.start()
        return super().eventFilter(watched, event)

    def show_layers(self, offered: list[Layer], sides: LayersOfSides) -> None:
        """Update both lists."""
        for group, ticked in zip((self.a, self.b), sides, strict=True):
            group.show_layers(sorted_by_name(offered), ticked)
        self._fit_timer.start()


class TickList(QListWidget):
    """A check list of layers, with those of a sample checked."""

    def __init__(self, side: str) -> None:
        super().__init__()
        with_label_font(self)
        with_visible_check_boxes(self)
        self.setToolTip(f"Layers of sample {side}: tick one or more.")
        self.setAccessibleName(f"Layers of sample {side}")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(_WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)

    def checked(self) -> list[Layer]:
        items = map(self.item, range(self.count()))
        return [item.data(_LAYER) for item in items if item.checkState() == Qt.CheckState.Checked]

    def show_layers(self, layers: Sequence[Layer], ticked: Sequence[Layer]) -> None:
        """Fill the list, unless unchanged."""
        listed = [(item.data(_LAYER), item.toolTip()) for item in map(self.item, range(self.count()))]
        if listed == [(layer, tip(layer.name)) for layer in layers] and set(self.checked()) == set(ticked):
            return
        with QSignalBlocker(self):
            self.clear()
            for layer in layers:
                item = QListWidgetItem(layer.name, self)
                item.setToolTip(tip(layer.name))
                item.setCheckState(Qt.CheckState.Checked if layer in ticked else Qt.CheckState.Unchecked)
                item.setData(_LAYER, layer)


def distinguishing_parts(names: Sequence[str]) -> list[str]:
    """Return the names without their common first and last words."""
    first = _common_words(names)
    rest = [name[len(first) :] for name in names]
    last = _common_words([name[::-1] for name in rest])
    start, end = "…" if first else "", "…" if last else ""
    return [f"{start}{name[: len(name) - len(last)]}{end}" for name in rest]


def _common_words(names: Sequence[str]) -> str:
    """Return the common prefix of all names, up to a word boundary."""
    pairs = zip(min(names, default=""), max(names, default=""), strict=False)
    return _PART_OF_WORD.sub("", "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
