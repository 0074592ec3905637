"""Shows the images side by side in napari's grid, each with its curves, unless they do not overlap anyway.

napari's grid cuts the layer list into cells of `stride` layers each, hidden ones included, so only layers can fill up a
cell that has fewer: spacers, empty and hidden layers of ours.
"""

import itertools
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from napari.layers import Layer, Points
from napari.utils.notifications import show_info
from numpy.typing import NDArray
from psygnal import Signal

from ...palette import SIDE_COLORS
from ...words import counted
from ..camera_flight import is_where_moved
from ..choices import Choices
from ..debouncing import Debouncer
from ..inputs import OWN, is_own
from ..layers import CurveLayer, add_unselected, batched, existing
from ..overlap import are_disjoint, images_below
from ..world import drawn_extent

#: Height of a caption, and its distance from the image, in canvas pixels.
CAPTION_HEIGHT_PX, CAPTION_GAP_PX = 18, 2
#: Maximum number of images shown at once: napari lays out a grid in a time cubic in the number of layers, 0.2 s for
#: 6 images with curves and 1 s for 12, whenever a layer is added, moved, shown or hidden.
MAX_CELLS = 6
_OTHER_COLOR = "gray"  # caption color of images in neither A nor B
_SPACING = 6  # between grid cells, in pixels
_MARGIN, _LARGEST_MARGIN = 0.05, 0.5  # fraction of the canvas: napari's default, and the maximum with captions
_RESIZED_MS = 400  # until docks have reached their size
_MIN_GAIN = 1.4  # minimum magnification that justifies another shape: napari keeps the view boxes of all past shapes
_DEBOUNCE_MS = 120


class Cell(NamedTuple):
    """The layers of a grid cell, and their caption."""

    side: str  #: "A" or "B" if the image is compared, else ""
    group: str  #: its name in the caption; "" for none
    layers: list[Layer]  #: from bottom to top
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


class SideBySide:
    """Shows each image with its curves in a cell of napari's grid, the first group first, with linked pan and zoom.

    While on, added and removed layers are arranged too; points, labels and shapes that the user adds on an image share
    its cell. The other cells are those of `follow`. The arrangement is suspended while the user has the grid switched
    off.
    """

    arranged = Signal()  #: the arrangement or the captions may have changed

    def __init__(self, choices: Choices) -> None:
        viewer = choices.viewer
        self._viewer, self._choices, self._layers = weakref.ref(viewer), choices, choices.layers
        self._canvas, self._grid, self._camera = viewer.canvas, viewer.canvas.grid, viewer.scene.camera
        self._find_cells: Callable[[], Callable[[], Sequence[Cell]] | None] = lambda: None
        self.on = self.captioned = False  #: whether side by side is on, and with captions
        self._is_suspended = self._needs_no_grid = False  # the user, or `arrange` (no overlap), switched the grid off
        self._cells: list[tuple[str, str, list[weakref.ref[Layer]]]] = []  # caption, color and layers
        self._spacers: list[weakref.ref[Layer]] = []
        self._crowded_out: weakref.WeakSet[Layer] = weakref.WeakSet()  # hidden, as there are too many cells
        self._wanted: weakref.WeakSet[Layer] = weakref.WeakSet()  # images of these that the user has shown
        self._revealed: Callable[[], Layer | None] = lambda: None  # an image that was shown to fly to a curve
        self._grid_before: dict[str, object] = {}
        self._order_before: list[weakref.ref[Layer]] = []
        self._selected_before: list[weakref.ref[Layer]] = []
        self._view_before: tuple[bytes, tuple[float, ...], float] = b"", (), 1  # extent of the layers; center and zoom
        self._arranged_order: list[weakref.ref[Layer]] = []
        self._fitted_camera: object = None
        self._fitted_to: tuple[object, ...] = ()
        self._largest_extent = np.ones(2)
        self._arrange_debouncer = Debouncer(self._arrange_settled, _DEBOUNCE_MS)
        self._fit_debouncer = Debouncer(self._fit_resized, _RESIZED_MS)

    def follow(self, cells: Callable[[], Sequence[Cell]]) -> None:
        """Set the method that returns the cells; it is held by a weak reference."""
        self._find_cells = weakref.WeakMethod(cells)

    # Arranging.

    def arrange(self) -> None:
        """Move the layers of each image next to each other in the layer list, A's first, and let the grid show them."""
        if self._is_suspended:
            return
        if not self.on:
            self._take_over()
        cells = self._current_cells()
        self._watch(cells)
        self._limit(cells)
        first = [cell.layers[0] for cell in cells]
        # All cells share a camera: images far from each other would leave most of each cell empty.
        of_sides = all(cell.side for cell in cells)
        self._needs_no_grid = len(cells) < 2 or (self.captioned and of_sides and are_disjoint(first, self._choices))
        boxes = [box for layer in first if (box := drawn_extent(layer, self._choices)) is not None]
        self._largest_extent = np.max([np.ptp(box, axis=0) for box in boxes], axis=0, initial=1e-9)
        known = {ref for _, _, layers in self._cells for ref in layers}
        is_new = len(cells) != len(self._cells) or not any(weakref.ref(layer) in known for layer in first)
        alone = len({cell.group for cell in cells}) == 1  # a letter would tell nothing apart
        self._cells = [
            (
                name if not name or (alone and group in SIDE_COLORS) else f"{group or '–'} · {name}",
                SIDE_COLORS.get(side, _OTHER_COLOR),
                [*map(weakref.ref, own)],
            )
            for side, group, own, name in cells
        ]
        self._lay_out([cell.layers for cell in cells], anew=is_new)
        self._arranged_order = list(map(weakref.ref, self._layers))
        if is_new or self._camera_state() == self._fitted_camera:  # napari fits the view to the first image alone
            self._fit()
        self.arranged.emit()

    def _current_cells(self) -> list[Cell]:
        """Return the cells with layers in the viewer, those of annotation layers of the user included."""
        found = self._find_cells()
        wanted: Sequence[Cell] = [] if found is None else found()
        cells = [
            Cell(side, group, [one for one in layers if one in self._layers], name)
            for side, group, layers, name in wanted
        ]
        cells = [cell for cell in cells if cell.layers]
        placed = set(itertools.chain.from_iterable(cell.layers for cell in cells))
        placed.update(self.spacers())
        others = [layer for layer in self._layers if layer not in placed]
        images = [*(cell.layers[0] for cell in cells), *(layer for layer in others if not is_own(layer))]
        for layer, image in images_below(others, images, self._choices).items():
            over = next((cell.layers for cell in cells if image in cell.layers), None)
            if over is not None:  # labels must not lie over their corrected copy
                over.insert(over.index(image) + 1 if self._choices.design.replacement_of(layer) else len(over), layer)
                others.remove(layer)
        return cells + [Cell("", "", [layer], "") for layer in others if layer.visible]

    def _watch(self, cells: Sequence[Cell]) -> None:
        """Arrange again if layers are moved, shown or hidden; connecting again is a no-op."""
        for layer in itertools.chain.from_iterable(cell.layers for cell in cells):
            layer.events.visible.connect(self.schedule_arrange)
        for image in (cell.layers[0] for cell in cells):
            for moved in (image.events.scale, image.events.translate, image.events.units):
                moved.connect(self.schedule_arrange)

    def _limit(self, cells: Sequence[Cell]) -> None:
        """Hide the images beyond the maximum, of all groups equally, and say so; not again if the user shows them.

        They are shown again once so many were deleted that there is room for all.
        """
        counts, ranks = Counter[str](), list[int]()
        for cell in cells:
            ranks.append(counts[cell.group])
            counts[cell.group] += 1
        images = [place for place, cell in enumerate(cells) if not is_own(cell.layers[0])]
        placed = set(itertools.chain.from_iterable(cell.layers for cell in cells))
        elsewhere = [layer for layer in self._crowded_out if layer in self._layers and layer not in placed]
        if len(images) + len(elsewhere) <= MAX_CELLS:
            self._show_again(list(self._crowded_out))
        for cell in cells:  # the user has shown an image: its curves come with it
            if cell.layers[0] in self._crowded_out and cell.layers[0].visible:
                self._wanted.add(cell.layers[0])
                self._show_again([layer for layer in cell.layers if layer in self._crowded_out])
        shown = [
            place
            for place in images
            if cells[place].layers[0] not in self._wanted and any(layer.visible for layer in cells[place].layers)
        ]
        hidden, crowded = 0, list[Layer]()
        for place in sorted(shown, key=ranks.__getitem__)[MAX_CELLS:]:
            layers = [one for one in cells[place].layers if one.visible]
            hidden += cells[place].layers[0] in layers
            crowded += layers
        self._crowded_out.update(crowded)
        if crowded:
            with batched(self._layers):  # napari lays out its grid again for each event
                for layer in crowded:
                    layer.visible = False
        if hidden:
            show_info(
                f"{counted(hidden, 'image')} hidden: napari is slow with more than {MAX_CELLS} side by side. Show them "
                "by their eyes in the layer list."
            )

    def crowded_out(self, curves: Iterable[tuple[object, CurveLayer]]) -> list[CurveLayer]:
        """Count layers of curves over images that are hidden among these, too; return them."""
        hidden = [layer for layer in self._crowded_out if not layer.visible]
        over = [own for image, own in curves if image in hidden]
        self._crowded_out.update(over)
        return over

    def reveal(self, curves: Layer) -> None:
        """Show the image below a layer of curves, and these with it, if it was hidden as one too many.

        One that was shown by this before is hidden again.
        """
        before = self._revealed()
        cells = [own for _, _, refs in self._cells if (own := existing(refs, self._layers))]
        for own in cells:
            if curves in own and own[0] in self._crowded_out and not own[0].visible:
                for layer in next((one for one in cells if one[0] is before), []):
                    if layer.visible:
                        self._crowded_out.add(layer)
                        layer.visible = False
                if before is not None:
                    self._wanted.discard(before)
                self._revealed = weakref.ref(own[0])
                own[0].visible = True
                self.arrange()
                return

    def _show_again(self, layers: Sequence[Layer]) -> None:
        """Show layers that were hidden as too many."""
        self._crowded_out.difference_update(layers)
        if layers:
            with batched(self._layers):
                for layer in layers:
                    layer.visible = True

    def _lay_out(self, groups: Sequence[list[Layer]], *, anew: bool) -> None:
        """Order the layers, with spacers, and set up the grid, unless all is as it should be."""
        shown = [own for own in groups if any(layer.visible for layer in own)]
        stride = 1 if self._needs_no_grid else max(map(len, shown), default=1)
        missing = [0 if self._needs_no_grid else stride - len(own) for own in shown]
        missing[-1:] = []  # the last cell may be incomplete
        grid = {
            "stride": stride,
            "shape": self._grid.shape if self._needs_no_grid else (-1, self._best_columns(len(shown), anew=anew)),
            "spacing": _SPACING,
            "enabled": not self._needs_no_grid,
        }
        spacers = self.spacers()
        order = _in_blocks(shown, missing, spacers)
        is_right = len(spacers) == sum(missing) and order == list(self._layers)[: len(order)]
        if not is_right or any(getattr(self._grid, name) != value for name, value in grid.items()):
            with batched(self._layers), self._grid.events.enabled.blocker(self._on_grid_switched):
                for spacer in spacers[sum(missing) :]:
                    self._layers.remove(spacer)
                spacers += [self._new_spacer(shown[0][0]) for _ in range(sum(missing) - len(spacers))]
                self._reorder(_in_blocks(shown, missing, spacers))
                for name, value in grid.items():
                    setattr(self._grid, name, value)

    def _new_spacer(self, image: Layer) -> Layer:
        spacer = Points(ndim=image.ndim, scale=image.scale, units=image.units, name="spacer", visible=False)
        OWN.add(spacer)
        self._spacers.append(weakref.ref(spacer))
        add_unselected(spacer, self._layers)
        return spacer

    def spacers(self) -> list[Layer]:
        """Return the layers that only fill up cells of the grid."""
        return existing(self._spacers, self._layers)

    def _reorder(self, first: Sequence[Layer]) -> None:
        """Move these layers to the start of the list, with a single `reordered` event, as napari lays out for each."""
        reordered = self._layers.events.reordered
        with reordered.blocker():
            for place, layer in enumerate(first):
                if self._layers[place] is not layer:
                    self._layers.move(self._layers.index(layer), place)
        reordered(value=self._layers)

    def schedule_arrange(self, _: object = None) -> None:
        if self.on:
            self._arrange_debouncer.start()

    def _arrange_settled(self) -> None:
        if self.on:
            self.arrange()

    def arrange_now(self) -> None:
        """Arrange added or removed layers before napari draws them."""
        if self.on and [ref() for ref in self._arranged_order] != list(self._layers):
            self.arrange()

    # The grid and the camera of the viewer.

    def _take_over(self) -> None:
        self.on = True
        self._grid_before = {name: getattr(self._grid, name) for name in ("enabled", "stride", "shape", "spacing")}
        self._order_before = list(map(weakref.ref, self._layers))
        self._selected_before = list(map(weakref.ref, self._layers.selection))
        self._view_before = self._layers.extent.world.tobytes(), self._camera.center, self._camera.zoom
        for event in self._watched():
            event.connect(self.schedule_arrange)
        self._grid.events.enabled.connect(self._on_grid_switched)
        self._canvas.events.size.connect(self._fit_debouncer.start)

    def _watched(self) -> tuple[Any, ...]:
        return self._layers.events.inserted, self._layers.events.removed, self._layers.events.reordered

    def restore(self) -> None:
        """Restore the previous grid; unless the user has changed them since, layer order, camera and selection too."""
        if not self.on:
            return
        viewer = self._viewer()
        is_camera_ours = self._camera_state() == self._fitted_camera or (viewer is not None and is_where_moved(viewer))
        is_order_ours = existing(self._arranged_order, self._layers) == [
            layer for layer in self._layers if weakref.ref(layer) in self._arranged_order
        ]
        self._grid_before["enabled"] = self._grid_before["enabled"] and not self._is_suspended
        self.on, self._is_suspended, self._cells = False, False, []
        for event in self._watched():
            event.disconnect(self.schedule_arrange)
        self._grid.events.enabled.disconnect(self._on_grid_switched)
        self._canvas.events.size.disconnect(self._fit_debouncer.start)
        with batched(self._layers):
            for spacer in self.spacers():
                self._layers.remove(spacer)
            for name, value in self._grid_before.items():
                setattr(self._grid, name, value)
            if is_order_ours:
                self._reorder(existing(self._order_before, self._layers))
            self._show_again(list(self._crowded_out))
        self._spacers.clear()
        self._wanted.clear()
        if is_camera_ours:
            self._restore_camera()
        selected = self._layers.selection
        if selected and all(map(is_own, selected)):  # napari has selected our layers as they were added
            self._layers.selection = existing(self._selected_before, self._layers)
        self.arranged.emit()

    def _restore_camera(self) -> None:
        """Restore the previous view, of the same images only: else fit the camera to what is there now."""
        extent, center, zoom = self._view_before
        if extent == self._layers.extent.world.tobytes():
            self._camera.center, self._camera.zoom = center, zoom
        elif (viewer := self._viewer()) is not None:
            viewer.reset_view(reset_camera_angle=False)

    def _on_grid_switched(self, event: object = None) -> None:
        """Suspend the arrangement when the user switches the grid off, until it is switched on again."""
        if self._grid.enabled and self._is_suspended:
            self._is_suspended, self._cells = False, []  # forces a new fit
            self._arrange_debouncer.start()
        elif not (self._grid.enabled or self._needs_no_grid):
            self._is_suspended = True
            self._fit_debouncer.start()
            self.arranged.emit()

    def _camera_state(self) -> object:
        return tuple(self._camera.center), self._camera.zoom

    def _best_columns(self, count: int, *, anew: bool) -> int:
        """Return the number of columns that shows the images as large as the canvas allows."""
        height_width, count = np.asarray(self._canvas.size, dtype=np.float64), max(count, 1)

        def magnification(columns: int) -> float:
            return float((height_width / self._largest_extent / (-(-count // columns), columns)).min())

        best, now = max(range(count, 0, -1), key=magnification), self._grid.shape[1]
        is_kept = not anew and 0 < now <= count and magnification(best) <= _MIN_GAIN * magnification(now)
        return int(now if is_kept else best)

    def _fit_resized(self) -> None:
        """Fit to another size of the canvas, unless the user has moved the camera."""
        if self.on and self._camera_state() == self._fitted_camera:
            if self._grid.enabled:
                self.arrange()
            self._fit()

    def _fit(self) -> None:
        """Fit the camera to the largest image, with room for a caption."""
        room = (CAPTION_HEIGHT_PX + 2 * CAPTION_GAP_PX) * (self.captioned and not self._is_suspended)
        if (viewer := self._viewer()) is None:
            return
        shape, size = self._grid.actual_shape(self._layers), self._canvas.size
        extent, dims = self._layers.extent.world.tobytes(), (tuple(viewer.dims.order), viewer.dims.ndisplay)
        fitted_to = room, shape, size, extent, dims, self._camera_state()
        if fitted_to != self._fitted_to:
            margin = min(max(_MARGIN, 2 * room * shape[0] / size[0]), _LARGEST_MARGIN)
            viewer.reset_view(margin=margin, reset_camera_angle=False)
            self._fitted_camera = self._camera_state()
            self._fitted_to = *fitted_to[:-1], self._fitted_camera

    # Where things are on the canvas.

    def frames(self, size: tuple[float, float]) -> dict[Layer, Frame]:
        """Return the world-to-canvas transform of each visible layer, for a canvas of size (width, height)."""
        if self._choices.dims.ndisplay != 2:
            return {}
        rows, columns = self._grid.actual_shape(self._layers)
        gap = self._grid.spacing if self._grid.enabled else 0
        width, height = (size[0] - gap * (columns - 1)) / columns, (size[1] - gap * (rows - 1)) / rows
        down, right = (str(way) for way in self._camera.orientation[-2:])
        signs = np.array([-1 if down == "up" else 1, -1 if right == "left" else 1])
        steps, found = signs * float(self._camera.zoom), {}
        for place, layer in enumerate(self._layers):
            row, column = self._grid.position(place, self._layers)
            if layer.visible and row >= 0:
                left, top = column * (width + gap), row * (height + gap)
                zero = np.array([top + height / 2, left + width / 2]) - steps * np.asarray(self._camera.center)[-2:]
                found[layer] = Frame((left, top, width, height), zero, steps)
        return found

    def captions(self, size: tuple[float, float]) -> list[Caption]:
        """Return the captions of the visible images, for a canvas of size (width, height)."""
        if not (self.on and self.captioned) or self._is_suspended:
            return []
        frames, found = self.frames(size), []
        for text, color, refs in self._cells:
            own = existing(refs, self._layers)
            frame = next((frames[layer] for layer in own if layer in frames), None)
            box = drawn_extent(own[0], self._choices) if own else None
            if text and frame is not None and box is not None:
                ends = frame.on_canvas(box)
                (top, left), (bottom, right) = ends.min(axis=0), ends.max(axis=0)
                found.append(Caption(text, color, (left, top), (right, bottom), frame.cell))
        return found


def _in_blocks(cells: Sequence[list[Layer]], missing: Sequence[int], spacers: Iterable[Layer]) -> list[Layer]:
    """Return the layers of the cells, each but the last followed by as many spacers as it lacks layers."""
    left, order = iter(spacers), list[Layer]()
    for own, count in zip(cells, [*missing, 0], strict=False):
        order += [*own, *itertools.islice(left, count)]
    return order
