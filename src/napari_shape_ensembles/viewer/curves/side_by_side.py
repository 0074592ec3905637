"""Each image with its curves beside the others, in the viewer's grid; or where they lie beside each other already."""

import itertools
import weakref
from collections.abc import Callable, Sequence

import numpy as np
from napari.components import ViewerModel
from napari.layers import Layer, Points
from psygnal import Signal

from ...palette import SIDE_COLORS
from ..inputs import OWN
from ..task import Soon

#: What is shown in one cell, the lowest first, and the side it belongs to, "" for none.
Cell = tuple[str, Sequence[Layer]]

_NEITHER = "gray"  # captions of images that are neither A nor B
_GAP = 6  # pixels between cells
_SETTLED = 400  # ms until docks that have just been opened have their size
_PAUSE = 60  # ms after a row of changes of the list until it is arranged anew: the window takes its time for each


class SideBySide:
    """Each image with its curves beside the others, A's first, in the viewer's grid: pan and zoom go together there.

    While it is on, layers that come and go find their cells. `cells` says what belongs together.
    """

    left = Signal()  #: the grid was switched off by other means

    def __init__(self, viewer: ViewerModel, cells: Callable[[], Sequence[Cell]]) -> None:
        self._viewer, self._layers, self._cells = weakref.ref(viewer), viewer.layers, weakref.WeakMethod(cells)
        self._grid = getattr(viewer, "canvas", viewer).grid
        self.on = self.captioned = False  #: whether the grid is arranged so, and each cell has a caption
        self._before: dict[str, object] = {}
        self._order: list[weakref.ref[Layer]] = []
        self._arranged: list[weakref.ref[Layer]] = []
        self._helpers: list[weakref.ref[Layer]] = []
        self._count, self._fitted = 0, object()
        self._again, self._settled = Soon(self._arrange_again, _PAUSE), Soon(self._fit, _SETTLED)

    def arrange(self) -> None:
        """Bring the layers to the end of the list, A's last, each cell from the end.

        The grid knows cells of one number of layers only: others are filled up by hidden layers without contents.
        """
        found = self._cells()
        wanted = [] if found is None else found()
        if not self.on:
            self.on = True
            self._before = {name: getattr(self._grid, name) for name in ("enabled", "stride", "spacing")}
            self._order = list(map(weakref.ref, self._layers))
            self._grid.events.enabled.connect(self._switched)
            for event in (self._layers.events.inserted, self._layers.events.removed):
                event.connect(self._again.start)
        cells = [(side, [one for one in cell if one in self._layers]) for side, cell in wanted]
        cells = [(side, cell) for side, cell in cells if cell]
        # A grid shows all cells in one frame: images apart from each other would leave most of it empty.
        apart = self.captioned and all(side for side, _ in cells) and lie_apart([cell[0] for _, cell in cells])
        size = max((len(cell) for _, cell in cells), default=1) + self.captioned
        needed = [(side, cell, int(self.captioned) if apart else size - len(cell)) for side, cell in cells]
        helpers = self._with_helpers(needed, apart)
        groups = [[*cell, *helpers[place]] for place, (_, cell, _) in enumerate(needed)]
        last = list(itertools.chain.from_iterable(reversed(groups)))
        self._reorder([*(layer for layer in self._layers if layer not in last), *last])
        self._arranged = list(map(weakref.ref, self._layers))
        if apart:
            with self._grid.events.enabled.blocker(self._switched):
                self._grid.enabled = False
        elif (self._grid.stride, self._grid.enabled) != (-size, True):
            self._grid.stride = -size
            self._grid.enabled = True
        if hasattr(self._grid, "spacing"):
            self._grid.spacing = _GAP
        if len(groups) != self._count:
            self._count = len(groups)
            self._fit()
        if self._place() == self._fitted:  # nobody has moved it: docks may take more room of the canvas than before
            self._settled.start()

    def _fit(self) -> None:
        """Show all of every cell."""
        if self.on and (viewer := self._viewer()) is not None:
            viewer.reset_view()
            self._fitted = self._place()

    def _place(self) -> object:
        """What of the world is in view."""
        viewer = self._viewer()
        camera = None if viewer is None else getattr(viewer, "scene", viewer).camera  # in the scene since napari 0.9
        return None if camera is None else (tuple(camera.center), camera.zoom)

    def _with_helpers(self, needed: Sequence[tuple[str, list[Layer], int]], apart: bool) -> list[list[Layer]]:
        """Layers without contents that fill up each cell, the last of them its caption; those of before are used.

        Where images lie apart, the captions of A are on the left and those of B on the right of the one cell.
        """
        kept = {layer.name: layer for layer in self._alive(self._helpers)}
        found: list[list[Layer]] = []
        used = []
        for place, (side, cell, missing) in enumerate(needed):
            found.append([])
            for number in range(missing):
                caption = self.captioned and number == missing - 1
                name = " · ".join(filter(None, [side, cell[0].name])) if caption else f"– {place + 1}.{number + 1} –"
                layer = kept.pop(name, None)
                if layer is None:
                    layer = _helper(name, SIDE_COLORS.get(side, _NEITHER) if caption else "", cell[0])
                    selected = set(self._layers.selection)
                    self._layers.append(layer)
                    self._layers.selection = selected
                if caption and hasattr(layer, "name_overlay"):
                    layer.name_overlay.position = "top_right" if apart and side == "B" else "top_left"
                found[-1].append(layer)
                used.append(layer)
        for layer in kept.values():
            self._layers.remove(layer)
        self._helpers = list(map(weakref.ref, used))
        return found

    def renew(self) -> None:
        """Look soon what belongs together now."""
        if self.on:
            self._again.start()

    def _arrange_again(self) -> None:
        """Find the cells of layers that came; those that made room for others that are gone go too."""
        if self.on:
            self.arrange()

    def restore(self) -> None:
        """Go back to the grid as it was, and to the order of the layers, unless a person has changed that since."""
        if not self.on:
            return
        self.on, self._count = False, 0
        self._grid.events.enabled.disconnect(self._switched)
        for event in (self._layers.events.inserted, self._layers.events.removed):
            event.disconnect(self._again.start)
        for name, value in self._before.items():
            setattr(self._grid, name, value)
        kept = self._alive(self._arranged) == [layer for layer in self._layers if weakref.ref(layer) in self._arranged]
        for layer in self._alive(self._helpers):
            self._layers.remove(layer)
        self._helpers = []
        if kept:
            first = self._alive(self._order)
            self._reorder([*first, *(layer for layer in self._layers if layer not in first)])

    def _reorder(self, layers: Sequence[Layer]) -> None:
        """Tell of it once: the window takes tens of milliseconds each time."""
        if list(layers) == list(self._layers):
            return
        reordered = self._layers.events.reordered
        with reordered.blocker():
            for place, layer in enumerate(layers):
                if self._layers[place] != layer:
                    self._layers.move(self._layers.index(layer), place)
        reordered(value=self._layers)

    def _alive(self, refs: list["weakref.ref[Layer]"]) -> list[Layer]:
        return [layer for ref in refs if (layer := ref()) is not None and layer in self._layers]

    def _switched(self, event: object = None) -> None:
        if self.on and not self._grid.enabled:
            self._before["enabled"] = False
            self.left.emit()


def lie_apart(layers: Sequence[Layer]) -> bool:
    """Whether two layers or more cover no common part of the world."""
    boxes = [np.asarray(layer.extent.world)[:, -2:] for layer in layers]
    return len(boxes) > 1 and all(
        ((one[1] <= other[0]) | (other[1] <= one[0])).any() for one, other in itertools.combinations(boxes, 2)
    )


def _helper(name: str, color: str, image: Layer) -> Points:
    """A layer without contents in the units of an image: hidden, or one whose name is a caption in some color."""
    layer = Points(np.empty((0, 2)), name=name, visible=bool(color), units=image.units[-2:])
    if color and hasattr(layer, "name_overlay"):
        layer.name_overlay.color = color
        layer.name_overlay.visible = True
    OWN.add(layer)
    return layer
