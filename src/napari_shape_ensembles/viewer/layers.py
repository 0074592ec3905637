"""The plugin's own curve layers: creation, coloring, insertion into the viewer, and selection."""

import itertools
import weakref
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from napari.components import LayerList, ViewerModel
from napari.layers import Image, Labels, Layer, Shapes
from napari.settings import get_settings
from napari.utils import Colormap
from napari.utils.colormaps import ensure_colormap
from numpy.typing import ArrayLike
from psygnal import Signal
from skimage.measure import points_in_poly

from .._types import Index, Real
from ..archive import Tree
from ..comparison import Comparison
from ..comparison.colorings import COLORINGS, DEFAULT, Coloring
from ..comparison.display import MARK, LayerData
from ..palette import COLOR_A, COLOR_B, COLORMAP, NEUTRAL
from .choices import Choices, preferred
from .inputs import MADE_FOR, OWN, Sources
from .painting import MAX_SHAPES, fill, label_layer, mark, row_under
from .world import drawn_at, is_under_pointer, pixels_at, rows_and_columns

if TYPE_CHECKING:
    from collections.abc import Generator


#: Shapes, or Labels for large numbers of curves; see `painting`.
CurveLayer: TypeAlias = Shapes | Labels

# Maximum number of curves for computations on the main thread.
MAX_SYNC_CURVES = 1000
# New layers are shown in at most so many turns of the event loop, one or several at once; all at once among many
# layers, as napari lays out its grid again in each turn, which then takes longer than the first draw of a layer.
_TURNS, MANY_LAYERS = 6, 30


def colormap_of(coloring: Coloring) -> Colormap:
    """Return the colormap of a coloring, from small to large values."""
    if coloring.ends is None:
        return ensure_colormap(preferred("colormap", COLORMAP))
    if coloring.diverging:
        return Colormap([COLOR_B, NEUTRAL, COLOR_A], name="second to first group")
    return Colormap([COLOR_A, COLOR_B], name="groups", interpolation="zero")


# Own layers ----------------------------------------------------------------------------------------------------


def outline_layer(name: str, outlines: list[Real], features: pd.DataFrame, **options: Any) -> Shapes:
    """Return an own layer of outlines (in pixels), not editable and not yet in a viewer."""
    layer = Shapes(outlines, ndim=2, shape_type="polygon", name=name, features=features, **options)
    layer.editable = False
    OWN.add(layer)
    return layer


# Metadata under MARK: {"source": "A" or "B", "curves": the full Ensemble, in the source's unit}; for layers from a
# file, "comparison", "view" and "part" (index of the image on its side) instead of "curves".


class CurveSelection:
    """The selected and the hovered curves, as indices into the pooled sample, shared by all linked views.

    Whatever they were selected in, the same is done with all of them at once: each view requests it here.
    """

    changed = Signal()
    hover_changed = Signal()  #: the hovered curve has changed
    camera_requested = Signal(int)  #: int: a single curve that was selected outside of the canvas
    drawing = Signal(bool)  #: bool: True for each point added to a lasso on the canvas, False at its end
    leave_out_requested = Signal()  #: requests to exclude the curves, or to include them again if all are excluded
    group_requested = Signal(str)  #: str: name of the group to put the curves into
    side_by_side_requested = Signal()

    def __init__(self) -> None:
        self.rows: Index = np.empty(0, dtype=np.int64)
        self.hovered_row = -1

    def hover(self, row: int) -> None:
        """Highlight a curve in all views; -1 for none."""
        if row != self.hovered_row:
            self.hovered_row = row
            self.hover_changed.emit()

    def select_and_center(self, rows: ArrayLike) -> None:
        """Select curves in a view other than the canvas; for a single one, request to move the camera to it."""
        self.pick(rows)
        if len(self.rows) == 1:
            self.camera_requested.emit(int(self.rows[0]))

    def pick(self, rows: ArrayLike) -> None:
        new = np.unique(np.asarray(rows, dtype=np.int64))
        if not np.array_equal(new, self.rows):
            self.rows = new
            self.changed.emit()


def add_unselected(layer: Layer, layers: LayerList, place: int | None = None) -> None:
    """Insert a layer, by default on top, without selecting it: the tool of the active layer stays in the hand.

    Selection events are blocked, as napari would briefly show the controls of the inserted layer, which is slow.
    """
    selected = set(layers.selection)
    with layers.selection.events.blocker_all():
        layers.insert(len(layers) if place is None else place, layer)
        layers.selection = selected


# The batch of a layer list that napari was told of, and how many are open within it.
_BATCHES: "weakref.WeakKeyDictionary[LayerList, tuple[ExitStack, int]]" = weakref.WeakKeyDictionary()


@contextmanager
def batched(layers: LayerList) -> Iterator[None]:
    """Batch changes of a layer list, for each of which napari would lay out its grid again; may be nested.

    `LayerList.batched_update` may not: napari would end the outer batch with the inner one.
    """
    stack, depth = _BATCHES.get(layers, (ExitStack(), 0))
    if not depth:
        stack.enter_context(layers.batched_update())
    _BATCHES[layers] = stack, depth + 1
    try:
        yield
    finally:
        _, depth = _BATCHES.pop(layers)
        if depth > 1:
            _BATCHES[layers] = stack, depth - 1
        else:
            layers.events.begin_batch()  # as CanvasContext has to act again if events were processed since
            stack.close()


def brush_for(sizes: ArrayLike) -> int:
    """Return a brush size for objects of these numbers of pixels: a third of their median diameter."""
    sizes = np.asarray(sizes)
    return max(1, round(float(np.sqrt(4 * np.median(sizes[sizes > 0]) / np.pi)) / 3))


def existing(refs: "Iterable[weakref.ref[Layer]]", layers: LayerList) -> list[Layer]:
    """Return those of these layers that are still in the list."""
    return [layer for ref in refs if (layer := ref()) is not None and layer in layers]


def remove_layers(refs: "Iterable[weakref.ref[Layer]]", layers: LayerList) -> None:
    """Remove those of these layers that still exist."""
    for layer in existing(refs, layers):
        layers.remove(layer)


def layers_over(layer: Layer, layers: LayerList) -> list[Layer]:
    """Return the layers that were made for this one, in list order."""
    return [one for one in layers if one in MADE_FOR and MADE_FOR[one]() is layer]


#: Own layer -> the layer it is named after and its name then, its role, and the generated name.
NAMED_AFTER: "weakref.WeakKeyDictionary[Layer, tuple[weakref.ref[Layer], str, str, str]]" = weakref.WeakKeyDictionary()


def name_after(own: Layer, layer: Layer, role: str) -> None:
    """Name an own layer after the layer it belongs to, such as "field 1 curves"."""
    own.name = f"{layer.name} {role}"  # napari appends a number if there is such a layer
    NAMED_AFTER[own] = weakref.ref(layer), layer.name, role, own.name


def update_own_names(layers: Iterable[Layer]) -> None:
    """Rename own layers after those they belong to were renamed, unless the user has named them."""
    for own in layers:
        if own in NAMED_AFTER:
            ref, before, role, given = NAMED_AFTER[own]
            layer = ref()
            if layer is not None and own.name == given and layer.name != before:
                name_after(own, layer, role)


class OwnLayers:
    """The curve layers that a task has added to the viewer and that still exist.

    They are held by weak references, so that the user can delete them, and are not editable. While tied to a
    selection, a click on the canvas selects a curve, a lasso drawn with Shift several, and the selected and hovered
    curves are highlighted in the layers.
    """

    def __init__(self, choices: Choices, selection: CurveSelection | None = None) -> None:
        self._choices, self._layers, self._viewer = choices, choices.layers, weakref.ref(choices.viewer)
        self._refs: list[tuple[weakref.ref[CurveLayer], int]] = []
        self._hidden: weakref.WeakSet[CurveLayer] = weakref.WeakSet()  # until they are arranged
        self._veiled: weakref.WeakSet[CurveLayer] | None = None  # hidden by `veil`; None while it is off
        self._connected_layers: weakref.WeakSet[Shapes] = weakref.WeakSet()
        self._is_updating = False
        self._selection = selection or CurveSelection()
        self._selection.changed.connect(self._show)
        self._selection.hover_changed.connect(self._show)

    def __iter__(self) -> Iterator[CurveLayer]:
        return iter([layer for layer, _ in self.with_first_rows()])

    def with_first_rows(self) -> list[tuple[CurveLayer, int]]:
        """Return each layer with the pooled index of its first curve."""
        alive = ((ref(), row) for ref, row in self._refs)
        return [(layer, row) for layer, row in alive if layer is not None and layer in self._layers]

    def by_image(self) -> list[CurveLayer | None]:
        """Return the layer of each image, None if deleted."""
        here = (ref() for ref, _ in self._refs)
        return [layer if layer is not None and layer in self._layers else None for layer in here]

    def mark_excluded(self, rows: Collection[int]) -> bool:
        """Flag the curves of these rows as excluded from the next run; return whether any flag has changed."""
        news = False
        for layer, start in self.with_first_rows():
            inside = np.isin(np.arange(len(layer.features)) + start, list(rows))
            if not np.array_equal(layer.features["excluded"], inside):
                layer.features["excluded"] = inside  # in place: the setter would validate every column
                news = True
        return news

    def replace(self, layers: Sequence[CurveLayer], *, new: bool = True) -> "Generator[None]":
        """Replace the previous layers, in turns with the event loop: each insertion and first draw takes 0.1 s.

        New layers are appended to the list, hidden until `show`, before the previous ones are removed. Those that are
        not `new` are in the list unless they were deleted meanwhile.
        """
        names = {layer: layer.name for layer in layers if new and layer not in self._layers}
        for layer in names:
            layer.visible = False
            self._hidden.add(layer)
            add_unselected(layer, self._layers)
            yield
        gone = [ref for ref, _ in self._refs if ref() not in layers]
        was_active = self._layers.selection.active in [ref() for ref in gone]
        remove_layers(gone, self._layers)
        first_rows = itertools.accumulate((len(layer.features) for layer in layers), initial=0)
        self._refs = [(weakref.ref(layer), row) for layer, row in zip(layers, first_rows, strict=False)]
        for layer, name in names.items():
            layer.name = name  # napari had appended a number if a previous layer had the same name
        if was_active and layers:
            self._layers.selection.active = layers[-1]

    def veil(self, on: bool) -> None:
        """Hide all layers, as long as other outlines lie over the same images, or show those again that were hidden."""
        if on == (self._veiled is not None):
            return
        layers = [layer for layer in self if (layer.visible if self._veiled is None else layer in self._veiled)]
        self._veiled = weakref.WeakSet(layers) if on else None
        with batched(self._layers):
            for layer in layers:
                layer.visible = not on

    def show(self, but: Container[CurveLayer] = ()) -> Iterator[None]:
        """Show the new layers, but for some."""
        hidden = [layer for layer in self if layer in self._hidden and layer not in but]
        self._hidden.clear()
        turns = _TURNS if len(self._layers) <= MANY_LAYERS else 1
        for start in range(0, len(hidden), at_once := -(-len(hidden) // turns) or 1):
            with batched(self._layers) if at_once > 1 else nullcontext():
                for layer in hidden[start : start + at_once]:
                    layer.visible = True
            yield

    def connect_events(self) -> None:
        for layer in [ref() for ref, _ in self._refs]:
            if isinstance(layer, Shapes) and layer not in self._connected_layers:
                self._connected_layers.add(layer)
                layer.selected_data.events.items_changed.connect(self._on_highlight_changed)
        viewer = self._viewer()
        if viewer is not None and self._refs and self._on_mouse_move not in viewer.mouse_move_callbacks:
            viewer.mouse_move_callbacks.append(self._on_mouse_move)
            viewer.mouse_drag_callbacks.append(self._on_mouse_press)
            self._layers.selection.events.active.connect(self._show_marks, position="last")

    def disconnect_events(self) -> None:
        for layer in list(self._connected_layers):
            layer.selected_data.events.items_changed.disconnect(self._on_highlight_changed)
        self._connected_layers.clear()
        viewer = self._viewer()
        if viewer is not None and self._on_mouse_move in viewer.mouse_move_callbacks:
            viewer.mouse_move_callbacks.remove(self._on_mouse_move)
            viewer.mouse_drag_callbacks.remove(self._on_mouse_press)
            self._layers.selection.events.active.disconnect(self._show_marks)

    def layer_of(self, row: int) -> CurveLayer | None:
        """Return the layer of a curve; None if it was deleted."""
        here = (layer for layer, start in self.with_first_rows() if start <= row < start + len(layer.features))
        return next(here, None)

    def outline(self, row: int) -> Real | None:
        """Return the vertices (n, 2) of a curve, as drawn; None if its layer was deleted.

        For a curve in a Labels layer, these are the corners of its bounding box.
        """
        for layer, start in self.with_first_rows():
            if start <= row < start + len(layer.features):
                if isinstance(layer, Labels):
                    top, left, bottom, right = layer.metadata[MARK]["boxes"][row - start]
                    corners = np.array([[top, left], [top, right], [bottom, right], [bottom, left]])
                    return drawn_at(layer, corners, self._choices)
                return drawn_at(layer, np.asarray(layer.data[row - start]), self._choices)
        return None

    def _show(self) -> None:
        self._is_updating = True
        hovered = self._selection.hovered_row
        wanted = np.union1d(self._selection.rows, [] if hovered < 0 else [hovered])
        for layer, start in self.with_first_rows():
            inside = wanted - start
            rows = set(inside[(inside >= 0) & (inside < len(layer.features))].astype(int).tolist())
            if highlighted_rows(layer) != rows:
                select(layer, rows)
        self._is_updating = False

    def _show_marks(self, _: object = None) -> None:
        """Keep the highlight of selected curves visible: napari hides it on inactive layers."""
        for layer, _row in self.with_first_rows():
            if isinstance(layer, Shapes) and layer.selected_data:
                layer.update_highlight_visibility(True)

    def _on_highlight_changed(self, *_: Any) -> None:
        if not self._is_updating:
            self._selection.pick(
                [row + start for layer, start in self.with_first_rows() for row in highlighted_rows(layer)]
            )

    def _selects_curves(self, viewer: ViewerModel) -> bool:
        """Whether mouse events on the canvas select curves: not while another layer is painted or edited."""
        active = viewer.layers.selection.active
        if active is None or isinstance(active, Image) or str(active.mode) == "pan_zoom":
            return True
        return active in OWN and not isinstance(active, Labels)  # such as examples, under the brush

    def _on_mouse_move(self, viewer: ViewerModel, event: Any) -> None:
        row = self._row_at(event.position) if self._selects_curves(viewer) else None
        self._selection.hover(-1 if row is None else row)

    def _on_mouse_press(self, viewer: ViewerModel, event: Any) -> Iterator[None]:
        """Select the curve under the mouse; with Shift, toggle it, or select the curves within a lasso.

        A drag without Shift pans the camera.
        """
        line, shift = [event.position], "Shift" in event.modifiers
        if not self._selects_curves(viewer):
            return
        yield
        while event.type == "mouse_move":
            line.append(event.position)
            if shift:
                self._selection.drawing.emit(True)
            yield
        picked = self._selection.rows
        if len(line) == 1:
            row = self._row_at(line[0])
            rows = np.array([] if row is None else [row])
            self._selection.pick(np.setxor1d(picked, rows) if shift else rows)
        elif shift:
            self._selection.drawing.emit(False)
            self._selection.pick(np.union1d(picked, self._rows_in(rows_and_columns(line, viewer.dims))))

    def _rows_in(self, lasso: Real) -> list[int]:
        """Return the curves whose centers are drawn within a lasso (n, 2) of rows and columns."""
        found: list[int] = []
        for layer, start in self._under_mouse():
            if isinstance(layer, Labels):
                centres = layer.metadata[MARK]["boxes"].reshape(-1, 2, 2).mean(axis=1)
            else:
                centres = np.array([np.mean(shape, axis=0) for shape in layer.data])
            inside = points_in_poly(drawn_at(layer, centres, self._choices), lasso)
            found += (np.flatnonzero(inside) + start).tolist()
        return found

    def _under_mouse(self) -> Iterator[tuple[CurveLayer, int]]:
        """Yield the visible layers, the topmost first; in a grid, only those in the cell under the mouse."""
        viewer = self._viewer()
        for layer, start in reversed(self.with_first_rows()):
            if viewer is not None and layer.visible and is_under_pointer(layer, viewer):
                yield layer, start

    def _row_at(self, position: Sequence[float]) -> int | None:
        """Return the topmost visible curve at a world position, or None."""
        drawn = rows_and_columns([position], self._choices.dims)
        for layer, start in self._under_mouse():
            (place,) = pixels_at(layer, drawn, self._choices)
            row = row_under(layer, place) if isinstance(layer, Labels) else (layer.get_value(place) or (None,))[0]
            if row is not None:
                return int(row) + start
        return None


def curve_layers(result: Comparison, view: Tree, sources: Sources | None = None) -> list[CurveLayer]:
    """Create a layer per image, A's before B's, with the curves colored as a view specifies; not yet in a viewer.

    `sources` is None for a result whose images are not in the viewer. Feature columns are id, those of
    `COLORINGS`, sample, excluded, and painted, the values displayed.
    """
    data = comparison_layer_data(result, view, COLORINGS, sources)
    get_settings()  # until loaded, napari uses its Python triangulation, a hundred times slower
    layers = [Layer.create(*one) for one in data]
    for layer in layers:
        layer.editable = False
        OWN.add(layer)
    return layers


def add_feature_columns(layers: Sequence[CurveLayer], result: Comparison) -> None:
    """Add all feature columns to layers that napari has read from a file, and make them not editable."""
    columns = pd.DataFrame({name: coloring.values(result) for name, coloring in COLORINGS.items()})
    ends = itertools.accumulate(len(layer.features) for layer in layers)
    for layer, end in zip(layers, ends, strict=True):
        own = columns.iloc[end - len(layer.features) : end].reset_index(drop=True)
        layer.features = layer.features.assign(**own)
        layer.editable = False
        OWN.add(layer)


def opened_comparisons(layers: Iterable[Layer]) -> dict[Comparison, list[CurveLayer]]:
    """Return comparisons all of whose layers were read from a file or added by `Comparison.to_layers`."""
    found: dict[Comparison, dict[tuple[str, int], CurveLayer]] = {}
    for layer in layers:
        known = layer.metadata.get(MARK)
        result = known.get("comparison") if isinstance(known, dict) else None
        if isinstance(layer, Shapes | Labels) and isinstance(known, dict) and isinstance(result, Comparison):
            place = str(known.get("source")), int(known.get("part", 0))
            found.setdefault(result, {}).setdefault(place, layer)
    sorted_ = {result: [parts[key] for key in sorted(parts)] for result, parts in found.items()}
    return {result: own for result, own in sorted_.items() if is_whole(result, own)}


def is_whole(result: Comparison, layers: Sequence[CurveLayer]) -> bool:
    """Whether all layers of a comparison exist, with the original number of curves."""
    counts = Counter[str]()
    for layer in layers:
        counts[str(layer.metadata[MARK].get("source"))] += len(layer.features)
    return counts == {"A": len(result.a), "B": len(result.b)}


def comparison_layer_data(
    result: Comparison, view: Tree, names: Collection[str] = (), sources: Sources | None = None
) -> list[LayerData]:
    """Return layer data of a comparison, colored as a view specifies; a ValueError for an unknown coloring.

    If that one is slow to compute, the curves are colored by distance; a dock recolors them later. The colorings
    `names` are always features of the layers. Layers have the placement of the sources. Up to `MAX_SHAPES` curves are
    Shapes layers, more are Labels layers.
    """
    painted = str(view.get("painted", DEFAULT))
    slow = painted in COLORINGS and COLORINGS[painted].slow and painted not in names
    if slow and len(result.a) + len(result.b) > MAX_SYNC_CURVES:
        painted = DEFAULT
    many = len(result.a) + len(result.b) > MAX_SHAPES
    data = result.layer_data({**view, "painted": painted}, names, by_pixels=True, thin=not many)
    for _, options, _ in data:
        options |= {"face_colormap": colormap_of(COLORINGS[painted])}
        options["metadata"][MARK]["view"] = view
    made = iter(data if sources is not None else ())
    for side, ensemble, images in zip("AB", (result.a, result.b), sources or ((), ()), strict=True):
        for source in images:
            own = ensemble if len(images) == 1 else ensemble[ensemble.images == source.name]
            _, options, _ = next(made)
            options |= source.placement | {"name": f"{source.name} curves"}
            options["features"]["sample"] = source.name
            options["metadata"] = {MARK: {"source": side, "curves": own.to(source.unit)}}
    return [label_layer(*one) for one in data] if many else data


def repaint(layer: CurveLayer, column: str, low_high: tuple[float, float]) -> None:
    """Color the curves of an own layer by one of `COLORINGS`, unless unchanged; excluded curves and NaN are not filled.

    Setting `face_color` to a column would set the limits from this layer alone, and upload the mesh twice; setting
    `features` would validate all columns.
    """
    features, colormap = layer.features, colormap_of(COLORINGS[column])
    values = features[column].astype(float).mask(features["excluded"].astype(bool))
    if isinstance(layer, Labels):
        fill(layer, values, colormap, low_high)
        return
    alike = layer.face_contrast_limits == low_high and layer.face_colormap == colormap
    if alike and np.array_equal(values, features["painted"], equal_nan=True):
        return
    features["painted"] = values
    layer.face_colormap = colormap
    layer.face_contrast_limits = low_high
    layer.refresh_colors(update_color_mapping=False)


def select(layer: CurveLayer, rows: Collection[int]) -> None:
    """Highlight exactly these curves of an own layer.

    napari's `edge_width` event is blocked, as it would upload the whole mesh again.
    """
    if isinstance(layer, Labels):
        mark(layer, rows)
        return
    with layer.events.edge_width.blocker():
        layer.selected_data = set(rows)
    layer.update_highlight_visibility(True)  # napari does so for the active layer only


def highlighted_rows(layer: CurveLayer) -> set[int]:
    """Return the rows of the highlighted curves of an own layer."""
    return set(layer.metadata[MARK]["picked"] if isinstance(layer, Labels) else layer.selected_data)
