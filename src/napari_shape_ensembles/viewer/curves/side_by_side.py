"""Each image with its curves beside the others, in the viewer's grid; or where they lie beside each other already."""

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from napari.components.grid import GridCanvas
from napari.layers import Layer
from numpy.typing import NDArray
from psygnal import Signal

from ...palette import SIDE_COLORS
from ..choices import Choices
from ..flying import camera_of
from ..inputs import is_own
from ..layers import at_once
from ..overlap import images_below, lie_apart
from ..task import Soon
from ..world import drawn_extent

#: Height of a caption, and how far it stands off its image, in pixels of the canvas.
CAPTION, OFF = 18, 2
_NEITHER = "gray"  # captions of images that are neither A nor B
_GAP = 6  # pixels between cells
_MARGIN, _LARGEST_MARGIN = 0.05, 0.5  # of the canvas around what is shown: napari's own, and for captions at most
# Layers in a row of napari's own grid: all are in one cell of that, and it makes what else it draws in the others.
_ALL = 1000
_SETTLED, _AT_LAST = 400, 1500  # ms until docks that have just been opened have their size, and until they all have
_WORTH = 1.4  # times as large as before the images must become for them to change places
_MANY = 6  # cells that take napari a second: it is told when docks that open with them have their size
_PAUSE = 120  # ms after a row of changes of the list until it is arranged anew: the window takes its time for each


class Cell(NamedTuple):
    """What is shown in one cell, and what it is called."""

    group: str  #: the side or another group it belongs to, "" for none
    layers: Sequence[Layer]  #: the lowest first
    name: str  #: of what is compared, which may be labels that lie on an image


class Frame(NamedTuple):
    """Where the world is drawn in a cell, in rows and columns of pixels of the canvas."""

    cell: tuple[float, float, float, float]  #: its left, top, width and height
    zero: NDArray[np.float64]  #: where the origin of the world is
    steps: NDArray[np.float64]  #: of a unit down and to the right

    def on_canvas(self, world: NDArray[np.float64]) -> NDArray[np.float64]:
        """Places (n, 2) of the world as rows and columns of the canvas."""
        return self.zero + world * self.steps

    def corners(self) -> NDArray[np.float64]:
        """The four corners of the cell in the world."""
        left, top, width, height = self.cell
        ends = itertools.product((top, top + height), (left, left + width))
        return (np.array(list(ends)) - self.zero) / self.steps


class Caption(NamedTuple):
    """The words over an image, and where they stand on the canvas, in pixels from the left and the top."""

    words: str
    color: str
    corner: tuple[float, float]  #: the upper left one of the image
    far: tuple[float, float]  #: the lower right one
    cell: tuple[float, float, float, float]  #: left, top, width and height


class CellGrid(GridCanvas):
    """napari's grid with any number of layers in each cell: `cells_of_layers` says in which, -1 where in none.

    napari's own has the same number of layers in all cells. It asks for the place of every layer, and that anew for
    each cell: with 24 images a tenth of a second for every move of the mouse.
    """

    def _cells(self) -> list[int]:
        """For each layer of the viewer the place of its cell among those with something to see, -1 for none."""
        cells: list[int] = self.cells_of_layers()  # set together with the class
        places = {cell: place for place, cell in enumerate(sorted({cell for cell in cells if cell >= 0}))}
        return [places.get(cell, -1) for cell in cells]

    def actual_shape(self, layers: Any) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._shape_of(self._cells())

    def _shape_of(self, cells: list[int]) -> tuple[int, int]:
        count, (rows, columns) = max(cells, default=-1) + 1, self.shape
        if not (self.enabled and count):
            return 1, 1
        if columns == -1:
            columns = int(np.ceil(np.sqrt(count))) if rows == -1 else -(-count // rows)
        return int(-(-count // columns) if rows == -1 else rows), int(columns)

    def position(self, index: int, layers: Any) -> tuple[int, int]:
        """Row and column of a layer, -1 and -1 where it is in no cell."""
        if not self.enabled:
            return 0, 0
        cells = self._cells()
        place, (rows, columns) = cells[index], self._shape_of(cells)
        return (-1, -1) if place < 0 else (place % (rows * columns) // columns, place % columns)

    def contents_at(self, position: tuple[int, int], layers: Any) -> tuple[int, ...]:
        """Places in the list of the layers in a cell."""
        return dict(self.iter_viewboxes(layers)).get(position, ())

    def iter_viewboxes(self, layers: Any) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
        """Each cell, by its row and column, with the places in the list of the layers in it."""
        cells = self._cells()
        rows, columns = shape = self._shape_of(cells)
        found: list[list[int]] = [[] for _ in range(rows * columns)]
        for index, place in enumerate(cells):
            if not self.enabled or place >= 0:
                found[place % len(found)].append(index)
        for cell, own in zip(np.ndindex(shape), found, strict=True):
            yield cell, tuple(own)


class SideBySide:
    """Each image with its curves beside the others, A's first, in the viewer's grid: pan and zoom go together there.

    While it is on, layers that come and go find their cells, and what a person marks, paints or draws on an image lies
    in the cell of that. `cells` says what else belongs together. It rests while the grid is switched off by hand.
    """

    left = Signal()  #: the grid was switched off by other means
    arranged = Signal()  #: what is where may be new, and so may captions

    def __init__(self, choices: Choices, cells: Callable[[], Sequence[Cell]]) -> None:
        viewer, self._choices = choices.viewer, choices
        self._viewer, self._layers, self._cells = weakref.ref(viewer), viewer.layers, weakref.WeakMethod(cells)
        canvas = getattr(viewer, "canvas", viewer)
        self._grid = canvas.grid
        self._resized = getattr(canvas.events, "size", None)  # told since napari 0.9
        self.on = self.captioned = False  #: whether the grid is arranged so, and each image has a caption
        self._resting = self._apart = False  # whether the grid is switched off by hand; or is, as images lie apart
        self._before: dict[str, object] = {}
        self._order: list[weakref.ref[Layer]] = []
        self._arranged: list[weakref.ref[Layer]] = []
        self._cell_of: weakref.WeakKeyDictionary[Layer, int] = weakref.WeakKeyDictionary()
        self._said: list[tuple[str, str, list[weakref.ref[Layer]]]] = []  # words, color, and the layers below them
        self._count, self._fitted = 0, object()
        self._fitted_to: tuple[object, ...] = ()  # what decides on the view: canvas, rows and columns, images
        self._shown, self._largest = 0, np.ones(2)  # number of cells in sight; height and width of the largest image
        self._shapes: dict[int, tuple[int, int]] = {}  # rows and columns by the number of cells, as they were fitted
        self._again, self._settled = Soon(self._arrange_again, _PAUSE), Soon(self._fit_settled, _SETTLED)
        self._at_last = Soon(self._fit_settled, _AT_LAST)

    def arrange(self) -> None:
        """Bring the layers to the end of the list, A's last, and each to its cell."""
        found = self._cells()
        wanted: Sequence[Cell] = [] if found is None else found()
        if self._resting:
            return
        if not self.on:
            self._begin()
            if len(wanted) > _MANY:
                self._again.start()
                return
        cells = [cell._replace(layers=[one for one in cell.layers if one in self._layers]) for cell in wanted]
        cells = [cell for cell in cells if cell.layers]
        for _, (image, *_), _ in cells:  # to connect twice is to connect once
            for moved in (image.events.scale, image.events.translate, image.events.units):
                moved.connect(self._again.start)
        # A grid shows all cells in one frame: images apart from each other would leave most of it empty.
        of_sides = all(side in SIDE_COLORS for side, _, _ in cells)
        groups, first = [list(cell.layers) for cell in cells], [cell.layers[0] for cell in cells]
        self._apart = len(cells) < 2 or (self.captioned and of_sides and lie_apart(first, self._choices))
        known = set(itertools.chain.from_iterable(groups))
        others = [layer for layer in self._layers if layer not in known]
        images = [*first, *(layer for layer in others if not is_own(layer))]
        replaced = [ref() for ref in self._choices.sides.instead.values()]
        for layer, image in images_below(others, images, self._choices).items():
            cell = next((cell for cell in groups if image in cell), None)
            if cell is not None:  # labels must not lie over their corrected copy
                cell.insert(cell.index(image) + 1 if layer in replaced else len(cell), layer)
                others.remove(layer)
        last = list(itertools.chain.from_iterable(reversed(groups)))
        order, cell_of = [*others, *last], dict(zip(others, itertools.count(len(cells)), strict=False))
        cell_of |= {layer: place for place, cell in enumerate(groups) for layer in cell}
        boxes = [box for layer in first if (box := drawn_extent(layer, self._choices)) is not None]
        self._largest = np.max([np.ptp(box, axis=0) for box in boxes], axis=0, initial=1e-9)
        unseen = self._choices.unseen
        seen = [place for layer, place in cell_of.items() if layer.visible or layer in unseen or self._resized is None]
        self._shown = len(set(seen))
        shape = self._grid.shape if self._apart else self._shapes.get(self._shown) or self._roomiest()
        planned = shape, not self._apart
        spaced = getattr(self._grid, "spacing", _GAP) == _GAP
        now = (self._grid.shape, self._grid.enabled), dict(self._cell_of)
        colors = [SIDE_COLORS.get(side, _NEITHER) for side, _, _ in cells]
        words = [f"{side or '–'} · {name}" for side, _, name in cells]
        said = zip(words, colors, [list(map(weakref.ref, cell)) for cell in groups], strict=True)
        self._said = list(said) if self.captioned else []
        # Rows and columns of before need no layout of the canvas but that which the list itself brings.
        once = at_once(self._choices) if now[0] != planned or not spaced else nullcontext()
        with once, self._grid.events.enabled.blocker(self._switched):
            if order != list(self._layers) or now != (planned, cell_of) or not spaced:
                self._cell_of = weakref.WeakKeyDictionary(cell_of)
                self._reorder(order)
                self._grid.shape, self._grid.enabled = planned
                if not spaced:
                    self._grid.spacing = _GAP
            if len(groups) != self._count:  # before new cells are made, each of which has a camera to be told
                self._count = len(groups)
                self._fit()
        self._arranged = list(map(weakref.ref, self._layers))
        if self._place() == self._fitted:  # nobody has moved it: docks may take more room of the canvas than before
            self._settled.start()
            self._at_last.start()
        self.arranged.emit()

    def _begin(self) -> None:
        """Take the grid over: the same object, to which all else is connected."""
        self.on = True
        self._before = {name: getattr(self._grid, name) for name in ("enabled", "stride", "shape", "spacing")}
        self._order = list(map(weakref.ref, self._layers))
        object.__setattr__(self._grid, "cells_of_layers", self._cells_of_layers)
        object.__setattr__(self._grid, "__class__", CellGrid)
        self._grid.stride = _ALL
        self._grid.events.enabled.connect(self._switched)
        for event in (self._layers.events.inserted, self._layers.events.removed):
            event.connect(self._again.start)
        if self._resized is not None:
            self._resized.connect(self._settled.start)

    def _cells_of_layers(self) -> list[int]:
        # Before 0.9 napari does not look up the cell of a layer that becomes visible: hidden ones have theirs, too.
        hidden = self._resized is not None
        return [-1 if hidden and not layer.visible else self._cell_of.get(layer, -1) for layer in self._layers]

    def frames(self, size: tuple[float, float]) -> dict[Layer, Frame]:
        """Where the layers in sight are drawn on a canvas of so many pixels, its width and its height."""
        viewer = self._viewer()
        if not self.on or viewer is None or viewer.dims.ndisplay != 2:
            return {}
        rows, columns = self._grid.actual_shape(self._layers)
        gap = _GAP if self._grid.enabled else 0
        width, height = (size[0] - gap * (columns - 1)) / columns, (size[1] - gap * (rows - 1)) / rows
        camera, layers, found = camera_of(viewer), list(self._layers), {}
        steps = np.array(_ways(camera)) * float(camera.zoom)
        for (row, column), own in self._grid.iter_viewboxes(self._layers):
            left, top = column * (width + gap), row * (height + gap)
            zero = np.array([top + height / 2, left + width / 2]) - steps * np.asarray(camera.center)[-2:]
            frame = Frame((left, top, width, height), zero, steps)
            found.update({layers[index]: frame for index in own if layers[index].visible})
        return found

    def captions(self, size: tuple[float, float]) -> list[Caption]:
        """The captions of the images that are shown on a canvas of so many pixels, its width and its height."""
        frames, found = self.frames(size), []
        for words, color, refs in self._said if frames and not self._resting else ():
            own = [layer for ref in refs if (layer := ref()) is not None and layer in self._layers]
            frame = next((frames[layer] for layer in own if layer in frames), None)
            box = drawn_extent(own[0], self._choices) if own else None
            if frame is not None and box is not None:
                ends = frame.on_canvas(box)
                (top, left), (bottom, right) = ends.min(axis=0), ends.max(axis=0)
                found.append(Caption(words, color, (left, top), (right, bottom), frame.cell))
        return found

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
        """Show all of every cell, with room for a caption above."""
        if self.on and (viewer := self._viewer()) is not None:
            camera, room = camera_of(viewer), (CAPTION + 2 * OFF) * bool(self._said and not self._resting)
            height, width = getattr(getattr(viewer, "canvas", None), "size", (np.inf, np.inf))
            shape, dims = self._grid.actual_shape(self._layers), viewer.dims
            extent = np.asarray(viewer.layers.extent.world).tobytes()
            fitted_to = height, width, shape, room, extent, tuple(dims.order), dims.ndisplay, tuple(camera.orientation)
            if fitted_to == self._fitted_to and self._place() == self._fitted:
                return  # napari takes a while to tell the cameras of all cells
            margin = min(max(_MARGIN, room * shape[0] / height), _LARGEST_MARGIN)
            with camera.events.center.blocker():
                viewer.reset_view(margin=margin)
                depth, row, column = camera.center
                camera.center = depth, row - _ways(camera)[0] * room / 2 / camera.zoom, column
            camera.events.center(value=camera.center)  # once, as the cameras of all cells hear of it
            self._fitted, self._fitted_to = self._place(), fitted_to

    def _place(self) -> object:
        """What of the world is in view."""
        viewer = self._viewer()
        camera = None if viewer is None else camera_of(viewer)
        return None if camera is None else (tuple(camera.center), camera.zoom)

    def renew(self) -> None:
        """Look soon what belongs together now."""
        if self.on:
            self._again.start()

    def renew_now(self) -> None:
        """Arrange what came or went before napari hears of that: it lays the canvas out once, not twice."""
        if self.on and [ref() for ref in self._arranged] != list(self._layers):
            self.arrange()

    def _arrange_again(self) -> None:
        """Find the cells of layers that came."""
        if self._choices.rearranging:
            self._again.start()
        elif self.on:
            self.arrange()

    def restore(self) -> None:
        """Go back to the grid as it was, and to the order of the layers, unless a person has changed that since."""
        if not self.on:
            return
        self._before["enabled"] = self._before["enabled"] and not self._resting
        self.on, self._count, self._resting = False, 0, False
        self._grid.events.enabled.disconnect(self._switched)
        for event in (self._layers.events.inserted, self._layers.events.removed):
            event.disconnect(self._again.start)
        if self._resized is not None:
            self._resized.disconnect(self._settled.start)
        kept = self._alive(self._arranged) == [layer for layer in self._layers if weakref.ref(layer) in self._arranged]
        self._said = []
        self._cell_of.clear()
        object.__setattr__(self._grid, "__class__", GridCanvas)
        object.__delattr__(self._grid, "cells_of_layers")
        with at_once(self._choices):
            for name, value in self._before.items():
                setattr(self._grid, name, value)
            if kept:
                first = self._alive(self._order)
                self._reorder([*first, *(layer for layer in self._layers if layer not in first)])
        self.arranged.emit()

    def _reorder(self, layers: Sequence[Layer]) -> None:
        """Tell of it once: the window takes tens of milliseconds each time. What is where may be new in any case."""
        reordered = self._layers.events.reordered
        with reordered.blocker():
            for place, layer in enumerate(layers):
                if self._layers[place] != layer:
                    self._layers.move(self._layers.index(layer), place)
        reordered(value=self._layers)

    def _alive(self, refs: list["weakref.ref[Layer]"]) -> list[Layer]:
        return [layer for ref in refs if (layer := ref()) is not None and layer in self._layers]

    def _switched(self, event: object = None) -> None:
        """Rest where a person has switched the grid off, until it is switched on again."""
        if self.on and self._grid.enabled and self._resting:
            self._resting, self._count = False, 0  # to be fitted again
            self._again.start()
        elif self.on and not (self._grid.enabled or self._apart):
            self._resting = True
            self._settled.start()
            self.arranged.emit()
            self.left.emit()


def _ways(camera: Any) -> tuple[int, int]:
    """Whether rows and columns go down and to the right, 1, or the other way, -1."""
    down, right = (str(way) for way in camera.orientation[-2:])
    return -1 if down == "up" else 1, -1 if right == "left" else 1
