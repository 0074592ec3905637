"""What the curves are filled by: a choice, and the colour bar that belongs to it."""

from qtpy.QtWidgets import QComboBox, QLabel, QVBoxLayout, QWidget

from ..comparison import Comparison
from .colorbar import ColorBar
from .layers import COLORMAP, PAINTED, OwnLayers, limits, repaint


class Painting(QWidget):
    """Paints the plugin's own layers, both on one scale."""

    def __init__(self, curves: OwnLayers, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._curves = curves
        self._result: Comparison | None = None
        self.choice = QComboBox()
        for column, words in PAINTED.items():
            self.choice.addItem(words, column)
        self.choice.setToolTip("What the curves are filled by; without unit. Both images share one colour scale.")
        self.choice.currentIndexChanged.connect(self.repaint_layers)
        self.colorbar = ColorBar(COLORMAP)
        column_ = QVBoxLayout(self)
        column_.setContentsMargins(0, 0, 0, 0)
        for part in (QLabel("Curves filled by"), self.choice, self.colorbar):
            column_.addWidget(part)

    def show_result(self, result: Comparison) -> None:
        """Paint by a result from now on."""
        self._result = result
        self.show()
        self.repaint_layers()

    def repaint_layers(self) -> None:
        """Fill the curves that are still there by what is chosen."""
        if self._result is None:
            return
        column = self.choice.currentData()
        low, high = limits(self._result, column)
        for layer in self._curves:
            repaint(layer, column, (low, high))
        self.colorbar.show_limits(low, high, clipped=bool(self._result.distances[column].max() > high))
