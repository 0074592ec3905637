"""The choice of the two samples: a layer each, or several images each."""

from collections.abc import Sequence

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QCheckBox, QGridLayout, QPushButton, QWidget

from . import layer_groups, layer_pair
from .inputs import ACCEPTED
from .layer_groups import LayerGroups
from .layer_pair import LayerPair
from .sides import LayersOfSides


class LayerSides(QWidget):
    """Two lists to choose from, or to tick in, and a button that swaps A and B.

    Signals
    -------
    changed
        Other layers are chosen, or one has another name.
    """

    changed = Signal()

    def __init__(self, viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pair = LayerPair(viewer)
        self.groups = LayerGroups(viewer, ACCEPTED)
        self.several = QCheckBox("Several images per sample")
        self.several.setToolTip(
            "On: tick images; their curves are pooled, and count as independent.\nOff: one layer each. Default off."
        )
        self.swap = QPushButton("⇅")
        self.swap.setToolTip("Swap A and B")
        self.swap.setFixedWidth(32)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(self.pair, 0, 0)
        grid.addWidget(self.groups, 1, 0)
        self.pair.changed.connect(self.changed)
        self.groups.changed.connect(self.changed)
        grid.addWidget(self.swap, 0, 1, 2, 1)
        grid.addWidget(self.several, 2, 0, 1, 2)
        self.groups.hide()
        self.several.toggled.connect(self._change_over)
        self.swap.clicked.connect(lambda: self._used().swap())

    def _used(self) -> LayerPair | LayerGroups:
        return self.groups if self.several.isChecked() else self.pair

    @property
    def following(self) -> bool:
        """Whether it is kept in step with the layer list."""
        return self._used().following

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        self._used().follow()

    def rest(self) -> None:
        """Stop following, so that a closed dock leaves nothing behind."""
        self.pair.rest()
        self.groups.rest()

    def chosen(self) -> LayersOfSides:
        """The layers of A and those of B."""
        if self.several.isChecked():
            a, b = self.groups.chosen()
            return tuple(a), tuple(b)
        one, other = self.pair.chosen()
        return () if one is None else (one,), () if other is None else (other,)

    def choose(self, a: Sequence[Layer], b: Sequence[Layer]) -> None:
        """Choose the layers of A and of B; what is not in the viewer is passed over."""
        self.several.setChecked(max(len(a), len(b)) > 1)
        if self.several.isChecked():
            self.groups.tick(a, b)
        else:
            self.pair.choose(next(iter(a), None), next(iter(b), None))

    def why_not(self) -> str:
        """Why what is chosen cannot be compared; empty when it can."""
        if self.several.isChecked():
            return layer_groups.why_not(*self.groups.chosen())
        return layer_pair.why_not(*self.pair.chosen())

    def _change_over(self, several: bool) -> None:
        """Show the other lists, with what was chosen in those before as far as they can have it."""
        following = self.pair.following or self.groups.following
        self.rest()
        if several:
            a, b = ([] if layer is None else [layer] for layer in self.pair.chosen())
            self.groups.tick(a, b)
            self.pair.forget()
        else:
            self.pair.refresh()
            self.pair.choose(*(next(iter(group), None) for group in self.groups.chosen()))
            self.groups.forget()
        self.groups.setVisible(several)
        self.pair.setVisible(not several)
        if following:
            self.follow()
