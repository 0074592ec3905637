"""Arranges the images, each with its curves, side by side in the viewer's grid, unless they do not overlap anyway."""

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
from ..camera_flight import camera_of, is_where_moved
from ..choices import Choices
from ..inputs import is_own
from ..layers import batched_changes
from ..overlap import are_disjoint, images_below
from ..task import Debouncer
from ..world import drawn_extent

#: Height of a caption, and its distance from the image, in canvas pixels.
CAPTION_HEIGHT_PX, CAPTION_GAP_PX = 18, 2
_OTHER_COLOR = "gray"  # caption color of images in neither A nor B
_GAP = 6  # spacing between grid cells, in pixels
_MARGIN, _LARGEST_MARGIN = 0.05, 0.5  # fraction of the canvas: napari's default, and the maximum with captions
# Stride of napari's own grid. All layers share its first cell, while overlays are still created in every cell.
_GRID_STRIDE = 1000
_SETTLE_MS, _LATE_SETTLE_MS = 400, 1500  # ms until new docks have usually, and at last, reached their size
_MIN_GAIN = 1.4  # minimum magnification of the images that justifies a new grid shape
_MANY_CELLS = 6  # number of cells that takes napari a second to create: deferred until opening docks have their size
_DEBOUNCE_MS = 120  # debounce of layer list changes, in ms: each new arrangement is slow


class Cell(NamedTuple):
    """The layers of a grid cell, and their caption."""

    group: str  #: side ("A", "B") or name of another group; "" for none
    layers: Sequence[Layer]  #: from bottom to top
    name: str  #: of the compared layer, which may be labels on top of an image


class Frame(NamedTuple):
    """World-to-canvas transform of a grid cell, in (row, column) canvas pixels."""

    cell: tuple[float, float, float, float]  #: left, top, width and height
    origin: NDArray[np.float64]  #: canvas position of the world origin
    pixels_per_unit: NDArray[np.float64]  #: canvas pixels per world unit, along rows and columns

    def on_canvas(self, world: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform world coordinates (n, 2) to (row, column) canvas pixels."""
        return self.origin + world * self.pixels_per_unit

    def corners(self) -> NDArray[np.float64]:
        """Return the four corners of the cell in world coordinates."""
        left, top, width, height = self.cell
        ends = itertools.product((top, top + height), (left, left + width))
        return (np.array(list(ends)) - self.origin) / self.pixels_per_unit


class Caption(NamedTuple):
    """The caption of an image and its position, as (x, y) canvas pixels."""

    text: str
    color: str
    top_left: tuple[float, float]  #: upper left corner of the image
    bottom_right: tuple[float, float]  #: lower right corner
    cell: tuple[float, float, float, float]  #: left, top, width and height


class CellGrid(GridCanvas):
    """napari's grid with any number of layers per cell: `cells_of_layers` returns the cell of each layer, or -1.

    napari's own grid has the same number of layers in all cells. It computes the position of every layer once per
    cell, which takes 0.1 s per mouse move with 24 images.
    """

    def _cells(self) -> list[int]:
        """Return for each layer the index of its cell among the nonempty cells, or -1."""
        cells: list[int] = self.cells_of_layers()  # attribute set when the class is swapped
        places = {cell: place for place, cell in enumerate(sorted({cell for cell in cells if cell >= 0}))}
        return [places.get(cell, -1) for cell in cells]

    def actual_shape(self, layers: Any) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        return self._shape_of(self._cells())

    def _shape_of(self, cells: list[int]) -> tuple[int, int]:
        # A grid without visible layers keeps its shape: napari creates all view boxes anew for another one.
        count, (rows, columns) = max([0, *cells]) + 1, self.shape
        if not self.enabled:
            return 1, 1
        if columns == -1:
            columns = int(np.ceil(np.sqrt(count))) if rows == -1 else -(-count // rows)
        return int(-(-count // columns) if rows == -1 else rows), int(columns)

    def position(self, index: int, layers: Any) -> tuple[int, int]:
        """Return the row and column of a layer, (-1, -1) if it is in no cell."""
        if not self.enabled:
            return 0, 0
        cells = self._cells()
        place, (rows, columns) = cells[index], self._shape_of(cells)
        return (-1, -1) if place < 0 else (place % (rows * columns) // columns, place % columns)

    def contents_at(self, position: tuple[int, int], layers: Any) -> tuple[int, ...]:
        """Return the indices of the layers in a cell."""
        return dict(self.iter_viewboxes(layers)).get(position, ())

    def iter_viewboxes(self, layers: Any) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
        """Yield the row and column of each cell, with the indices of its layers."""
        cells = self._cells()
        rows, columns = shape = self._shape_of(cells)
        found: list[list[int]] = [[] for _ in range(rows * columns)]
        for index, place in enumerate(cells):
            if not self.enabled or place >= 0:
                found[place % len(found)].append(index)
        for cell, own in zip(np.ndindex(shape), found, strict=True):
            yield cell, tuple(own)


class SideBySide:
    """Shows each image with its curves in a cell of the viewer's grid, A's first, with linked pan and zoom.

    While on, added and removed layers are arranged too; points, labels and shapes that the user adds on an image share
    its cell. The other cells are those of `follow`. The arrangement is suspended while the user has the grid switched
    off.
    """

    switched_off = Signal()  #: the user switched the grid off
    arranged = Signal()  #: the arrangement or the captions may have changed

    def __init__(self, choices: Choices) -> None:
        viewer, self._choices = choices.viewer, choices
        self._viewer, self._layers = weakref.ref(viewer), viewer.layers
        self._cells: Callable[[], Callable[[], Sequence[Cell]] | None] = lambda: None
        canvas = getattr(viewer, "canvas", viewer)
        self._grid = canvas.grid
        self._resized = getattr(canvas.events, "size", None)  # napari >= 0.9 emits canvas.events.size
        self._known_size: tuple[int, int] = 1, 1  # of the canvas, (height, width), in older versions
        self.on = self.captioned = False  #: whether side by side is on, and with captions
        self._is_suspended = self._needs_no_grid = False  # the user, or `arrange` (no overlap), switched the grid off
        self._grid_before: dict[str, object] = {}
        self._order_before: list[weakref.ref[Layer]] = []
        self._selected_before: list[weakref.ref[Layer]] = []
        self._arranged_order: list[weakref.ref[Layer]] = []
        self._cell_of: weakref.WeakKeyDictionary[Layer, int] = weakref.WeakKeyDictionary()
        self._captions: list[tuple[str, str, list[weakref.ref[Layer]]]] = []  # captions: text, color, and layers
        self._cell_count, self._fitted_camera = 0, object()
        self._view_before: tuple[bytes, Any, float] | None = None  # extent of the layers; center and zoom of the camera
        self._fit_key: tuple[object, ...] = ()  # cache key of `_fit`: canvas size, grid shape, extent of the images
        self._shown_cell_count, self._largest_extent = 0, np.ones(2)  # nonempty cells; size of the largest image
        self._fitted_shapes: dict[int, tuple[int, int]] = {}  # number of cells -> fitted grid shape
        self._arrange_debouncer, self._fit_debouncer = (
            Debouncer(self._arrange_settled, _DEBOUNCE_MS),
            Debouncer(self._fit_settled, _SETTLE_MS),
        )
        self._late_fit_debouncer = Debouncer(self._fit_settled, _LATE_SETTLE_MS)

    def follow(self, cells: Callable[[], Sequence[Cell]]) -> None:
        """Set the method that returns the cells; it is held by a weak reference."""
        self._cells = weakref.WeakMethod(cells)

    def arrange(self) -> None:
        """Assign the layers to cells, and move them to the end of the layer list, A's last."""
        found = self._cells()
        wanted: Sequence[Cell] = [] if found is None else found()
        if self._is_suspended:
            return
        if not self.on:
            self._take_over_grid()
            if len(wanted) > _MANY_CELLS:
                self._arrange_debouncer.start()
                return
        cells = [cell._replace(layers=[one for one in cell.layers if one in self._layers]) for cell in wanted]
        cells = [cell for cell in cells if cell.layers]
        for _, (image, *_), _ in cells:  # connecting again is a no-op
            for moved in (image.events.scale, image.events.translate, image.events.units):
                moved.connect(self._arrange_debouncer.start)
            image.events.visible.connect(self._on_shown)
        # All cells share a camera: images far from each other would leave most of each cell empty.
        of_sides = all(side in SIDE_COLORS for side, _, _ in cells)
        groups, first = [list(cell.layers) for cell in cells], [cell.layers[0] for cell in cells]
        self._needs_no_grid = len(cells) < 2 or (self.captioned and of_sides and are_disjoint(first, self._choices))
        known = set(itertools.chain.from_iterable(groups))
        others = [layer for layer in self._layers if layer not in known]
        images = [*first, *(layer for layer in others if not is_own(layer))]
        replaced = [ref() for ref in self._choices.design.originals.values()]
        for layer, image in images_below(others, images, self._choices).items():
            cell = next((cell for cell in groups if image in cell), None)
            if cell is not None:  # labels must not lie over their corrected copy
                cell.insert(cell.index(image) + 1 if layer in replaced else len(cell), layer)
                others.remove(layer)
        last = list(itertools.chain.from_iterable(reversed(groups)))
        order, cell_of = [*others, *last], dict(zip(others, itertools.count(len(cells)), strict=False))
        cell_of |= {layer: place for place, cell in enumerate(groups) for layer in cell}
        boxes = [box for layer in first if (box := drawn_extent(layer, self._choices)) is not None]
        self._largest_extent = np.max([np.ptp(box, axis=0) for box in boxes], axis=0, initial=1e-9)
        unseen = self._choices.to_be_shown
        seen = [place for layer, place in cell_of.items() if layer.visible or layer in unseen or self._resized is None]
        self._shown_cell_count = len(set(seen))
        shape = (
            self._grid.shape
            if self._needs_no_grid
            else self._fitted_shapes.get(self._shown_cell_count) or self._best_shape()
        )
        planned = shape, not self._needs_no_grid
        spaced = getattr(self._grid, "spacing", _GAP) == _GAP
        now = (self._grid.shape, self._grid.enabled), dict(self._cell_of)
        colors = [SIDE_COLORS.get(side, _OTHER_COLOR) for side, _, _ in cells]
        words = [f"{side or '–'} · {name}" for side, _, name in cells]
        said = zip(words, colors, [list(map(weakref.ref, cell)) for cell in groups], strict=True)
        self._captions = list(said) if self.captioned else []
        # With an unchanged grid shape, the layout triggered by the layer list itself is enough.
        once = batched_changes(self._choices) if now[0] != planned or not spaced else nullcontext()
        with once, self._grid.events.enabled.blocker(self._on_grid_switched):
            if order != list(self._layers) or now != (planned, cell_of) or not spaced:
                self._cell_of = weakref.WeakKeyDictionary(cell_of)
                self._reorder(order)
                self._grid.shape, self._grid.enabled = planned
                if not spaced:
                    self._grid.spacing = _GAP
            replaced_all = bool(groups) and not self._existing(
                self._arranged_order
            )  # napari has fitted the first image alone
            if (
                len(groups) != self._cell_count or replaced_all
            ):  # before new cells are created: each has a camera to update
                self._cell_count = len(groups)
                self._fit()
        self._arranged_order = list(map(weakref.ref, self._layers))
        if self._camera_state() == self._fitted_camera:  # not moved by the user: new docks may have resized the canvas
            self._fit_debouncer.start()
            self._late_fit_debouncer.start()
        self.arranged.emit()

    def _take_over_grid(self) -> None:
        """Take over the grid by swapping the class of the existing object, to keep its event connections."""
        self.on = True
        self._grid_before = {name: getattr(self._grid, name) for name in ("enabled", "stride", "shape", "spacing")}
        self._order_before = list(map(weakref.ref, self._layers))
        self._selected_before = list(map(weakref.ref, self._layers.selection))
        if (viewer := self._viewer()) is not None:
            camera = camera_of(viewer)
            self._view_before = self._layers.extent.world.tobytes(), camera.center, camera.zoom
        object.__setattr__(self._grid, "cells_of_layers", self._cells_of_layers)
        object.__setattr__(self._grid, "__class__", CellGrid)
        self._grid.stride = _GRID_STRIDE
        self._grid.events.enabled.connect(self._on_grid_switched)
        for event in (self._layers.events.inserted, self._layers.events.removed):
            event.connect(self._arrange_debouncer.start)
        if self._resized is not None:
            self._resized.connect(self._fit_debouncer.start)

    def _cells_of_layers(self) -> list[int]:
        # Before 0.9, napari does not update the cell of a layer when it is shown, so hidden layers keep their cell.
        hidden = self._resized is not None
        return [-1 if hidden and not layer.visible else self._cell_of.get(layer, -1) for layer in self._layers]

    def frames(self, size: tuple[float, float]) -> dict[Layer, Frame]:
        """Return the world-to-canvas transform of each visible layer, for a canvas of size (width, height)."""
        viewer = self._viewer()
        if not self.on or viewer is None or viewer.dims.ndisplay != 2:
            return {}
        rows, columns = self._grid.actual_shape(self._layers)
        gap = _GAP if self._grid.enabled else 0
        width, height = (size[0] - gap * (columns - 1)) / columns, (size[1] - gap * (rows - 1)) / rows
        camera, layers, found = camera_of(viewer), list(self._layers), {}
        steps = np.array(_axis_signs(camera)) * float(camera.zoom)
        for (row, column), own in self._grid.iter_viewboxes(self._layers):
            left, top = column * (width + gap), row * (height + gap)
            zero = np.array([top + height / 2, left + width / 2]) - steps * np.asarray(camera.center)[-2:]
            frame = Frame((left, top, width, height), zero, steps)
            found.update({layers[index]: frame for index in own if layers[index].visible})
        return found

    def captions(self, size: tuple[float, float]) -> list[Caption]:
        """Return the captions of the visible images, for a canvas of size (width, height)."""
        frames, found = self.frames(size), []
        for words, color, refs in self._captions if frames and not self._is_suspended else ():
            own = [layer for ref in refs if (layer := ref()) is not None and layer in self._layers]
            frame = next((frames[layer] for layer in own if layer in frames), None)
            box = drawn_extent(own[0], self._choices) if own else None
            if frame is not None and box is not None:
                ends = frame.on_canvas(box)
                (top, left), (bottom, right) = ends.min(axis=0), ends.max(axis=0)
                found.append(Caption(words, color, (left, top), (right, bottom), frame.cell))
        return found

    def _fit_settled(self) -> None:
        """Fit the grid shape and the camera to the current canvas, unless the user has moved the camera."""
        if self._camera_state() == self._fitted_camera:
            if self.on and self._grid.enabled:
                best, now = self._best_shape(), self._fitted_shapes.get(self._shown_cell_count)
                if now is None or self._magnification_in(best) > _MIN_GAIN * self._magnification_in(now):
                    self._grid.shape = self._fitted_shapes[self._shown_cell_count] = best
            self._fit()

    def _best_shape(self) -> tuple[int, int]:
        """Return the grid shape that shows the images as large as the canvas allows.

        With napari's automatic shape, added layers would briefly appear in more cells, and napari keeps the view boxes
        of all past shapes.
        """
        count = max(self._shown_cell_count, 1)
        return max(((-(-count // columns), columns) for columns in range(count, 0, -1)), key=self._magnification_in)

    def _magnification_in(self, shape: tuple[int, int]) -> float:
        """Return the magnification of the largest image in a grid of this shape."""
        return float((self._canvas_size() / self._largest_extent / shape).min())

    def _canvas_size(self) -> NDArray[np.float64]:
        """Return the height and width of the canvas in pixels."""
        canvas = getattr(self._viewer(), "canvas", None)
        return np.asarray(getattr(canvas, "size", self._known_size), dtype=np.float64)

    def on_canvas_resized(self, size: tuple[int, int]) -> None:
        """Fit to a canvas of another (width, height): before 0.9, napari does not tell its size."""
        if self._resized is None and (size[1], size[0]) != self._known_size:
            self._known_size = size[1], size[0]
            self._fit_debouncer.start()

    def _fit(self) -> None:
        """Fit the camera to the contents of all cells, with room for a caption at the top."""
        if self.on and (viewer := self._viewer()) is not None:
            camera, room = (
                camera_of(viewer),
                (CAPTION_HEIGHT_PX + 2 * CAPTION_GAP_PX) * bool(self._captions and not self._is_suspended),
            )
            height, width = self._canvas_size()
            shape, dims = self._grid.actual_shape(self._layers), viewer.dims
            extent = np.asarray(viewer.layers.extent.world).tobytes()
            fitted_to = height, width, shape, room, extent, tuple(dims.order), dims.ndisplay, tuple(camera.orientation)
            if fitted_to == self._fit_key and self._camera_state() == self._fitted_camera:
                return  # updating the cameras of all cells is slow
            margin = min(max(_MARGIN, room * shape[0] / height), _LARGEST_MARGIN)
            with camera.events.center.blocker():
                viewer.reset_view(margin=margin, reset_camera_angle=False)
                depth, row, column = camera.center
                camera.center = depth, row - _axis_signs(camera)[0] * room / 2 / camera.zoom, column
            camera.events.center(value=camera.center)  # emitted once, as it updates the cameras of all cells
            self._fitted_camera, self._fit_key = self._camera_state(), fitted_to

    def _camera_state(self) -> object:
        """Return center and zoom of the camera, to detect movements."""
        viewer = self._viewer()
        camera = None if viewer is None else camera_of(viewer)
        return None if camera is None else (tuple(camera.center), camera.zoom)

    def schedule_arrange(self) -> None:
        """Schedule a new arrangement."""
        if self.on:
            self._arrange_debouncer.start()

    def arrange_now(self) -> None:
        """Arrange added or removed layers before napari handles the event, so that it lays out the canvas only once."""
        if self.on and [ref() for ref in self._arranged_order] != list(self._layers):
            self.arrange()

    def _arrange_settled(self) -> None:
        """Arrange after the layer list has settled."""
        if self._choices.batch_depth:
            self._arrange_debouncer.start()
        elif self.on:
            self.arrange()

    def restore(self) -> None:
        """Restore the previous grid; unless the user has changed them since, layer order, camera and selection too."""
        if not self.on:
            return
        viewer = self._viewer()
        is_camera_ours = self._camera_state() == self._fitted_camera or (viewer is not None and is_where_moved(viewer))
        self._grid_before["enabled"] = self._grid_before["enabled"] and not self._is_suspended
        self.on, self._cell_count, self._is_suspended = False, 0, False
        self._grid.events.enabled.disconnect(self._on_grid_switched)
        for event in (self._layers.events.inserted, self._layers.events.removed):
            event.disconnect(self._arrange_debouncer.start)
        if self._resized is not None:
            self._resized.disconnect(self._fit_debouncer.start)
        kept = self._existing(self._arranged_order) == [
            layer for layer in self._layers if weakref.ref(layer) in self._arranged_order
        ]
        self._captions = []
        self._cell_of.clear()
        object.__setattr__(self._grid, "__class__", GridCanvas)
        object.__delattr__(self._grid, "cells_of_layers")
        with batched_changes(self._choices):
            for name, value in self._grid_before.items():
                setattr(self._grid, name, value)
            if kept:
                first = self._existing(self._order_before)
                self._reorder([*first, *(layer for layer in self._layers if layer not in first)])
        if is_camera_ours:
            self._restore_camera()
        selected = self._layers.selection
        if selected and all(map(is_own, selected)):  # napari has selected our layers as they were added
            self._layers.selection = self._existing(self._selected_before)
        self.arranged.emit()

    def _restore_camera(self) -> None:
        """Restore the previous view, of the same images only: else fit the camera to what is there now."""
        viewer = self._viewer()
        if viewer is None or self._view_before is None:
            return
        extent, center, zoom = self._view_before
        if extent == self._layers.extent.world.tobytes():
            camera_of(viewer).center, camera_of(viewer).zoom = center, zoom
        else:
            viewer.reset_view(reset_camera_angle=False)

    def _reorder(self, layers: Sequence[Layer]) -> None:
        """Reorder the layers, with a single `reordered` event: each takes tens of milliseconds.

        It is emitted even if the order is the same, as the cells may have changed.
        """
        reordered = self._layers.events.reordered
        with reordered.blocker():
            for place, layer in enumerate(layers):
                if self._layers[place] != layer:
                    self._layers.move(self._layers.index(layer), place)
        reordered(value=self._layers)

    def _on_shown(self, event: object = None) -> None:
        """Arrange again if there are more visible cells than when the shape of the grid was chosen.

        Hidden images leave it as it is, as napari keeps the view boxes of all past shapes.
        """
        if self.on and len({cell for cell in self._cells_of_layers() if cell >= 0}) > self._shown_cell_count:
            self._arrange_debouncer.start()

    def _existing(self, refs: list["weakref.ref[Layer]"]) -> list[Layer]:
        return [layer for ref in refs if (layer := ref()) is not None and layer in self._layers]

    def _on_grid_switched(self, event: object = None) -> None:
        """Suspend the arrangement when the user switches the grid off, until it is switched on again."""
        if self.on and self._grid.enabled and self._is_suspended:
            self._is_suspended, self._cell_count = False, 0  # forces a new fit
            self._arrange_debouncer.start()
        elif self.on and not (self._grid.enabled or self._needs_no_grid):
            self._is_suspended = True
            self._fit_debouncer.start()
            self.arranged.emit()
            self.switched_off.emit()


def _axis_signs(camera: Any) -> tuple[int, int]:
    """Return the signs of the row and column axes on the canvas: 1 for down and right, otherwise -1."""
    down, right = (str(way) for way in camera.orientation[-2:])
    return -1 if down == "up" else 1, -1 if right == "left" else 1
