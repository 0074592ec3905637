"""Each image with its curves beside the others, in the viewer's grid; or where they lie beside each other already."""

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from napari.components.grid import GridCanvas
from napari.layers import Image, Layer, Points
from numpy.typing import NDArray
from psygnal import Signal

from ...palette import SIDE_COLORS
from ..choices import Choices
from ..inputs import OWN
from ..layers import at_once
from ..task import Soon

#: What is shown in one cell, the lowest first, and the side or another group it belongs to, "" for none.
Cell = tuple[str, Sequence[Layer]]

_NEITHER = "gray"  # captions of images that are neither A nor B
_GAP = 6  # pixels between cells
# Of a caption: its height, and how far it stands off, as shares of the width of an image times the cells beside each
# other; points.
_ROOM, _OFF, _SIZE = 0.045, 0.008, 10
_POINT = 1e-9  # of the world: larger ones would count as part of what is in view
_SETTLED, _AT_LAST = 400, 1500  # ms until docks that have just been opened have their size, and until they all have
_WORTH = 1.4  # times as large as before the images must become for them to change places
_MANY = 6  # cells that take napari seconds: it is told when docks that open with them have their size
_PAUSE = 120  # ms after a row of changes of the list until it is arranged anew: the window takes its time for each


class QuickGrid(GridCanvas):
    """napari's grid, which tells in one pass over the layers what is in each cell.

    napari asks for each layer where it is, and that anew for each cell: a second of the window's thread for 24 images,
    several times for every layer that comes or goes. Once napari finds them in one pass itself, this is to be dropped.
    """

    def iter_viewboxes(self, layers: Sequence[Layer]) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
        """Each cell, by its row and column, with the places in the list of the layers in it."""
        layers = list(layers)  # the list of a viewer takes ten times as long to go through
        found: dict[tuple[int, int], list[int]] = {}
        for place in range(len(layers)):
            found.setdefault(self.position(place, layers), []).append(place)
        for row, across in np.ndindex(self.actual_shape(layers)):
            yield (row, across), tuple(found.get((row, across), ()))


class SideBySide:
    """Each image with its curves beside the others, A's first, in the viewer's grid: pan and zoom go together there.

    While it is on, layers that come and go find their cells. `cells` says what belongs together.
    """

    left = Signal()  #: the grid was switched off by other means

    def __init__(self, choices: Choices, cells: Callable[[], Sequence[Cell]]) -> None:
        viewer, self._choices = choices.viewer, choices
        self._viewer, self._layers, self._cells = weakref.ref(viewer), viewer.layers, weakref.WeakMethod(cells)
        canvas = getattr(viewer, "canvas", viewer)
        self._grid = canvas.grid
        self._told_layers = canvas is not viewer  # since napari 0.9 a grid is told the layers, not how many there are
        self._resized = getattr(canvas.events, "size", None)  # told since napari 0.9
        self.on = self.captioned = False  #: whether the grid is arranged so, and each cell has a caption
        self._before: dict[str, object] = {}
        self._order: list[weakref.ref[Layer]] = []
        self._arranged: list[weakref.ref[Layer]] = []
        self._helpers: list[weakref.ref[Layer]] = []
        self._count, self._fitted = 0, object()
        self._shown, self._largest = 0, np.ones(2)  # number of cells in sight; height and width of the largest image
        self._shapes: dict[int, tuple[int, int]] = {}  # rows and columns by the number of cells, as they were fitted
        self._again, self._settled = Soon(self._arrange_again, _PAUSE), Soon(self._fit_settled, _SETTLED)
        self._at_last = Soon(self._fit_settled, _AT_LAST)

    def arrange(self) -> None:
        """Bring the layers to the end of the list, A's last, each cell from the end.

        The grid knows cells of one number of layers only: others are filled up by hidden layers without contents.
        """
        found = self._cells()
        wanted = [] if found is None else found()
        if not self.on:
            self.on = True
            self._before = {name: getattr(self._grid, name) for name in ("enabled", "stride", "shape", "spacing")}
            self._order = list(map(weakref.ref, self._layers))
            if self._told_layers and type(self._grid) is GridCanvas:  # the same object, to which all else is connected
                object.__setattr__(self._grid, "__class__", QuickGrid)
            self._grid.events.enabled.connect(self._switched)
            for event in (self._layers.events.inserted, self._layers.events.removed):
                event.connect(self._again.start)
            if self._resized is not None:
                self._resized.connect(self._settled.start)
            if len(wanted) > _MANY:
                self._again.start()
                return
        cells = [(side, [one for one in cell if one in self._layers]) for side, cell in wanted]
        cells = [(side, cell) for side, cell in cells if cell]
        for _, (image, *_) in cells:  # captions go where it goes; to connect twice is to connect once
            for moved in (image.events.scale, image.events.translate):
                moved.connect(self._again.start)
        # A grid shows all cells in one frame: images apart from each other would leave most of it empty.
        of_sides = all(side in SIDE_COLORS for side, _ in cells)
        apart = len(cells) < 2 or (self.captioned and of_sides and lie_apart([cell[0] for _, cell in cells]))
        size = max((len(cell) for _, cell in cells), default=1)
        known = self._alive(self._helpers)
        helpers = self._helpers_of(cells, 0 if apart else size)
        groups = [[*cell, *own] for (_, cell), own in zip(cells, helpers, strict=True)]
        last = list(itertools.chain.from_iterable(reversed(groups)))
        used = list(itertools.chain.from_iterable(helpers))
        self._helpers = list(map(weakref.ref, used))
        new, spare = [one for one in used if one not in known], [one for one in known if one not in used]
        order = [*(layer for layer in self._layers if layer not in last and layer not in spare), *last]
        stride = -(size + self.captioned)
        before = self._grid.stride, self._grid.shape
        self._largest = np.max([np.ptp(one[0].extent.world, axis=0)[-2:] for _, one in cells], axis=0, initial=1e-9)
        self._shown = len({(len(order) - 1 - place) // -stride for place, one in enumerate(order) if one.visible})
        shape = self._shapes.get(self._shown) or self._roomiest()
        planned = (before if apart else (stride, shape)), not apart
        spaced = getattr(self._grid, "spacing", _GAP) == _GAP
        if order != list(self._layers) or (before, self._grid.enabled) != planned or not spaced:
            with at_once(self._choices, removing=bool(spare)), self._grid.events.enabled.blocker(self._switched):
                selected = set(self._layers.selection)
                for layer in spare:
                    self._layers.remove(layer)
                self._layers.extend(new)
                self._layers.selection = {layer for layer in selected if layer in self._layers}
                self._reorder(order)
                (self._grid.stride, self._grid.shape), self._grid.enabled = planned
                if not spaced:
                    self._grid.spacing = _GAP
        self._arranged = list(map(weakref.ref, self._layers))
        if len(groups) != self._count:
            self._count = len(groups)
            self._fit()
        if self._place() == self._fitted:  # nobody has moved it: docks may take more room of the canvas than before
            self._settled.start()
            self._at_last.start()

    def _fit_settled(self) -> None:
        """Fit the view to the canvas as it is now, and rows and columns too, unless somebody has moved it."""
        if self._place() == self._fitted:
            if self.on and self._grid.enabled:
                best, now = self._roomiest(), self._shapes.get(self._shown)
                if now is None or self._size_in(best) > _WORTH * self._size_in(now):
                    self._grid.shape = self._shapes[self._shown] = best
            self._fit()

    def _roomiest(self) -> tuple[int, int]:
        """Rows and columns that show the cells as large as the canvas allows.

        Were it left to napari, layers that come would be shown in more cells for a moment; and napari keeps the views
        of every shape there has been.
        """
        count = max(self._shown, 1)
        return max(((-(-count // columns), columns) for columns in range(count, 0, -1)), key=self._size_in)

    def _size_in(self, shape: tuple[int, int]) -> float:
        """How large the largest image is in so many rows and columns."""
        canvas = getattr(self._viewer(), "canvas", None)
        return float((getattr(canvas, "size", (1, 1)) / self._largest / shape).min())

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

    def _helpers_of(self, cells: Sequence[Cell], size: int) -> list[list[Layer]]:
        """Layers that fill each cell up to a size, and its caption; as far as they go, those of before with new words.

        For every layer that comes or goes napari lays out its whole canvas anew.
        """
        kept = self._alive(self._helpers)
        known = [[one for one in kept if bool(len(one.data)) == caption] for caption in (False, True)]
        room = np.array([_OFF, _ROOM]) * np.ceil(np.sqrt(len(cells)))
        found: list[list[Layer]] = []
        for place, (side, cell) in enumerate(cells):
            needed = [("", f"– {place + 1}.{number + 1} –") for number in range(size - len(cell))]
            needed += [(side or _NEITHER, f"{side or '–'} · {cell[0].name}")] * self.captioned
            found.append([])
            for kind, words in needed:
                pool = known[bool(kind)]
                layer = pool.pop(0) if pool else _helper(caption=bool(kind))
                _say(layer, words, SIDE_COLORS.get(kind, _NEITHER), cell[0], room)
                found[-1].append(layer)
        return found

    def renew(self) -> None:
        """Look soon what belongs together now."""
        if self.on:
            self._again.start()

    def renew_now(self) -> None:
        """Arrange what came or went before napari hears of that: it lays the canvas out once, not twice."""
        if self.on and [ref() for ref in self._arranged] != list(self._layers):
            self.arrange()

    def _arrange_again(self) -> None:
        """Find the cells of layers that came; those that made room for others that are gone go too."""
        if self._choices.rearranging:
            self._again.start()
        elif self.on:
            self.arrange()

    def restore(self) -> None:
        """Go back to the grid as it was, and to the order of the layers, unless a person has changed that since."""
        if not self.on:
            return
        self.on, self._count = False, 0
        self._grid.events.enabled.disconnect(self._switched)
        for event in (self._layers.events.inserted, self._layers.events.removed):
            event.disconnect(self._again.start)
        if self._resized is not None:
            self._resized.disconnect(self._settled.start)
        kept = self._alive(self._arranged) == [layer for layer in self._layers if weakref.ref(layer) in self._arranged]
        helpers, self._helpers = self._alive(self._helpers), []
        with at_once(self._choices, removing=bool(helpers)):
            for name, value in self._before.items():
                setattr(self._grid, name, value)
            for layer in helpers:
                self._layers.remove(layer)
            if kept:
                first = self._alive(self._order)
                self._reorder([*first, *(layer for layer in self._layers if layer not in first)])
        if type(self._grid) is QuickGrid:
            object.__setattr__(self._grid, "__class__", GridCanvas)

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


def lies_on(layers: Sequence[Layer], images: Sequence[Layer]) -> dict[Layer, Layer]:
    """The image under outlines or labels, for those that lie on a single one of these images."""
    boxes = {image: np.asarray(image.extent.world)[:, -2:] for image in images if isinstance(image, Image)}
    found = {}
    for layer in layers:
        box = np.asarray(layer.extent.world)[:, -2:]
        under = [one for one, (low, high) in boxes.items() if (low <= box[0]).all() and (box[1] <= high).all()]
        if len(under) == 1 and not isinstance(layer, Image):
            found[layer] = under[0]
    return found


def _helper(*, caption: bool) -> Points:
    """A hidden layer without contents, or one of two points that are not seen: of the words, and of their height."""
    unseen: dict[str, Any] = {"face_color": "transparent", "border_color": "transparent", "size": _POINT}
    layer = Points(np.zeros((2 * caption, 2)), visible=caption, **unseen)
    OWN.add(layer)
    return layer


def _say(layer: Points, words: str, color: str, image: Layer, room: NDArray[np.float64]) -> None:
    """Let a caption stand over the upper left corner of an image, in so much room: from where, and to where.

    napari has overlays for names, but looks for the place of each in a grid by going over all cells and layers.
    """
    if layer.name != words:
        layer.name = words
    if tuple(layer.units) != tuple(image.units[-2:]):
        layer.units = image.units[-2:]
    if not len(layer.data):
        return
    low, high = np.asarray(image.extent.world)[:, -2:]
    place = np.stack([low[0] - room * (high[1] - low[1]), np.full(2, low[1])], axis=1)
    if not np.allclose(layer.data, place):
        layer.data = place
    if layer.metadata.get("said") != (words, color):
        layer.metadata["said"] = words, color
        layer.text = {"string": [words, ""], "color": color, "size": _SIZE, "anchor": "upper_left"}
