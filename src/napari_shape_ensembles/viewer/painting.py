"""What the curves are filled by: a choice, where the colours end, and the colour bar that belongs to them."""

from qtpy.QtWidgets import QHBoxLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from ..comparison import Comparison
from .colorbar import ColorBar
from .fonts import WholeBox
from .layers import CLIPPED, OwnLayers, repaint
from .paints import PAINTS
from .widgets import NarrowList


class Painting(QWidget):
    """Paints the plugin's own layers, both on one scale."""

    def __init__(self, curves: OwnLayers, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._curves = curves
        self._result: Comparison | None = None
        self.choice = NarrowList()
        for column, paint in PAINTS.items():
            self.choice.addItem(paint.words, column)
        self.choice.setToolTip(
            "What the curves are filled by; both images share one colour scale. Default: distance from the mean.\n"
            "Typical of A or B: the witness of the test, positive where curves of A are denser."
        )
        self.percentile = _percentile_box()
        self.colorbar = ColorBar()
        self._lay_out()
        self.choice.currentIndexChanged.connect(self.repaint_layers)
        self.percentile.valueChanged.connect(self.repaint_layers)

    def _lay_out(self) -> None:
        name, ends = QLabel("Curves filled &by"), QLabel("colours end at")
        name.setBuddy(self.choice)
        ends.setBuddy(self.percentile)
        ends.setToolTip(self.percentile.toolTip())
        row = QHBoxLayout()
        for part in (ends, self.percentile):
            row.addWidget(part)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(name)
        column.addWidget(self.choice)
        column.addLayout(row)
        column.addWidget(self.colorbar)

    def show_result(self, result: Comparison) -> None:
        """Paint by a result from now on."""
        self._result = result
        self.show()
        self.repaint_layers()

    def choose(self, column: str) -> None:
        """Paint by another of `PAINTS` from the next result on."""
        was_blocked = self.choice.blockSignals(True)
        self.choice.setCurrentIndex(self.choice.findData(column))
        self.choice.blockSignals(was_blocked)

    def repaint_layers(self) -> None:
        """Fill the curves that are still there by what is chosen."""
        if self._result is None:
            return
        column = self.choice.currentData()
        paint = PAINTS[column]
        values = paint.values(self._result)
        limits = paint.limits(values, self.percentile.value())
        for layer in self._curves:
            repaint(layer, column, limits)
        first = len(self._result.a)
        self.colorbar.show_values(paint, limits, values[:first], values[first:], paint.unit(self._result))


def _percentile_box() -> QSpinBox:
    box = WholeBox()
    box.setRange(50, 100)
    box.setValue(CLIPPED)
    box.setSuffix(" %")
    box.setToolTip(
        "Percentile of all curves at which the colours end; the few beyond share the last colour. "
        f"Default {CLIPPED} %; 100 % for none."
    )
    return box
