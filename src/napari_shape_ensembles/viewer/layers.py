"""The plugin's own layers of curves: how they are made, colored, put into the viewer, and picked in."""

import gc
import itertools
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Shapes
from napari.settings import get_settings
from napari.utils import Colormap
from napari.utils.colormaps import ensure_colormap
from numpy.typing import ArrayLike, NDArray
from psygnal import Signal
from skimage.measure import points_in_poly

from ..archive import Tree
from ..comparison import Comparison
from ..comparison.display import MARK, LayerData
from ..explanation import witnesses
from ..outlines.ensemble import UNIT_SYMBOLS
from ..palette import COLOR_A, COLOR_B, NEUTRAL
from .choices import Choices, preferred
from .inputs import OWN, Sources
from .painting import MOST_SHAPES, fill, label_layer, mark, row_under
from .world import drawn_at, pixels_at, rows_and_columns

if TYPE_CHECKING:
    from collections.abc import Generator

Real = NDArray[np.float64]
Index = NDArray[np.int64]

#: Shapes, or where they are too many for that, painted labels; see `painting`.
CurveLayer: TypeAlias = Shapes | Labels

COLORMAP = "viridis"
#: Percentile at which colours end: the few most unusual curves would leave one colour to all others.
CLIPPED = 99
# Up to so many curves everything is computed, and shown, at once.
QUICK = 1000


# Features that curves can be colored by ------------------------------------------------------------------------


@dataclass(frozen=True)
class ColorFeature:
    """A feature that curves can be colored by."""

    column: str  #: its name in the features of a layer
    label: str
    table: Literal["distances", "measures", "witnesses", "sides"] = "distances"  #: where its values come from
    unit: str = ""  #: what becomes of a unit of length: "{}²" for an area; empty for plain numbers
    from_zero: bool = True  #: the scale starts at 0
    #: For two categories: what 0 and 1 stand for. For a diverging scale: what its two sides mean.
    ends: tuple[str, str] | None = None
    diverging: bool = False  #: the scale reaches as far to both sides of 0, which has a neutral color

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, not categories."""
        return self.ends is None or self.diverging

    def title(self, result: Comparison) -> str:
        unit = UNIT_SYMBOLS.get(result.a.unit, result.a.unit)
        return f"{self.label} ({self.unit.format(unit)})" if self.unit else self.label

    def values(self, result: Comparison) -> Real:
        """One number per pooled curve, A's first; NaN leaves a curve unfilled."""
        if self.table == "sides":
            return np.repeat([0.0, 1.0], [len(result.a), len(result.b)])
        if self.table == "measures":
            return np.concatenate([side.features[self.column] for side in (result.a, result.b)]).astype(np.float64)
        if self.table == "witnesses":
            return witness_values(result)[self.column.removeprefix("witness_")].to_numpy(np.float64)
        return result.distances[self.column].to_numpy(np.float64)

    @property
    def colormap(self) -> Colormap:
        """From small to large values."""
        if self.ends is None:
            return ensure_colormap(preferred("colormap", COLORMAP))
        if self.diverging:
            return Colormap([COLOR_B, NEUTRAL, COLOR_A], name="B to A")
        return Colormap([COLOR_A, COLOR_B], name="A, B", interpolation="zero")

    def limits(self, values: Real, percentile: float) -> tuple[float, float]:
        """Limits of the color scale: beyond the percentile, curves share the last color."""
        finite = values[np.isfinite(values)]
        if not len(finite) or (self.ends is not None and not self.diverging):
            return 0.0, 1.0
        if self.diverging:
            far = float(np.percentile(np.abs(finite), percentile)) or 1.0
            return -far, far
        low = min(0.0, float(finite.min())) if self.from_zero else float(np.percentile(finite, 100 - percentile))
        high = float(np.percentile(finite, percentile))
        return low, high if high > low else low + 1.0


_witness_values: "weakref.WeakKeyDictionary[Comparison, pd.DataFrame]" = weakref.WeakKeyDictionary()


def witness_values(result: Comparison) -> pd.DataFrame:
    """Witness values of all curves, remembered as long as the result lives; NaN where a side has a single curve."""
    if result not in _witness_values:
        few = min(len(result.a), len(result.b)) < 2
        _witness_values[result] = result.distances[["undulation", "scale"]] * np.nan if few else witnesses(result)
    return _witness_values[result]


_TYPICAL: Any = {"table": "witnesses", "ends": ("typical of B", "typical of A"), "diverging": True}
#: Feature column -> how to color by it.
COLOR_FEATURES: dict[str, ColorFeature] = {
    feature.column: feature
    for feature in (
        ColorFeature("product", "distance from the mean shape"),
        ColorFeature("undulation", "undulation distance from the mean"),
        ColorFeature("scale", "scale distance from the mean"),
        ColorFeature("area", "area", "measures", "{}²"),
        ColorFeature("perimeter", "perimeter", "measures", "{}"),
        ColorFeature("equivalent_diameter", "equivalent diameter", "measures", "{}"),
        ColorFeature("circularity", "circularity", "measures", from_zero=False),
        ColorFeature("witness_undulation", "typical of A or B, by undulation", **_TYPICAL),
        ColorFeature("witness_scale", "typical of A or B, by scale", **_TYPICAL),
        ColorFeature("image", "image, A or B", "sides", ends=("A", "B")),
    )
}


# Layers in the viewer ------------------------------------------------------------------------------------------

# Metadata under MARK: {"source": "A" or "B", "curves": the Ensemble in full, in the source's unit}; of layers out of
# a file "comparison", "view" and "part", the image's place among those of its side, instead of the curves.


class CurveSelection:
    """The pooled rows picked, A's first, sorted; and the one under the mouse, in whatever view."""

    changed = Signal()
    lit = Signal()  #: another curve is under the mouse, or none
    sought = Signal(int)  #: a single curve was picked where its place in the image is not seen: its row
    drawing = Signal(bool)  #: a lasso is drawn on the canvas: at each of its points, and False at its end

    def __init__(self) -> None:
        self.rows: Index = np.empty(0, dtype=np.int64)
        self.under_mouse = -1

    def hover(self, row: int) -> None:
        """Light up a curve in all views; -1 for none."""
        if row != self.under_mouse:
            self.under_mouse = row
            self.lit.emit()

    def seek(self, rows: ArrayLike) -> None:
        """Pick curves in a view beside the images; of a single one, its place in the image is wanted."""
        self.pick(rows)
        if len(self.rows) == 1:
            self.sought.emit(int(self.rows[0]))

    def pick(self, rows: ArrayLike) -> None:
        """Pick these curves and no others."""
        new = np.unique(np.asarray(rows, dtype=np.int64))
        if not np.array_equal(new, self.rows):
            self.rows = new
            self.changed.emit()


@contextmanager
def at_once(choices: Choices) -> Iterator[None]:
    """Make several changes to the layer list, of which the canvas is told once.

    napari lays the canvas out anew for every layer that comes or goes, in a time that grows with the cube of their
    number in a grid, and then collects garbage. Here it does so once, after the last of several changes that go on in
    turns; Python collects none on its own meanwhile.
    """
    choices.rearranging += 1
    if choices.rearranging == 1:
        if gc.isenabled():
            gc.disable()
            choices.batch.callback(gc.enable)
        choices.batch.callback(choices.rearranges.emit, False)
        choices.batch.enter_context(getattr(choices.layers, "batched_update", nullcontext)())  # since napari 0.9
        choices.rearranges.emit(True)
    try:
        yield
    finally:
        try:
            if choices.rearranging == 1:
                choices.batch.close()
        finally:
            choices.rearranging -= 1


def take_away(refs: "Iterable[weakref.ref[Layer]]", choices: Choices) -> Iterator[None]:
    """Take layers away, each in a turn of its own; none is held while the window draws."""
    with at_once(choices):
        for ref in refs:
            if (layer := ref()) is not None and layer in choices.layers:
                choices.layers.remove(layer)
            layer = None
            yield


#: Layers of ours with the layer that each is named after, what it is of that, and the name that it was given so.
NAMED: "weakref.WeakKeyDictionary[Layer, tuple[weakref.ref[Layer], str, str]]" = weakref.WeakKeyDictionary()


def name_after(own: Layer, layer: Layer, role: str) -> None:
    """Name a layer of ours after the one that it belongs to, such as "field 1 curves"."""
    own.name = f"{layer.name} {role}"
    NAMED[own] = weakref.ref(layer), role, own.name


def follow_names(layers: Iterable[Layer]) -> None:
    """Name layers of ours anew after those that were renamed; not those that a person has named."""
    for own in layers:
        if own in NAMED:
            ref, role, given = NAMED[own]
            layer = ref()
            if layer is not None and own.name == given != f"{layer.name} {role}":
                name_after(own, layer, role)


class OwnLayers:
    """The layers that one dock has put into the viewer, as far as they are still there.

    Held weakly: what the user deletes is gone. Curves can be picked, not moved: the layers are not editable. While
    they are tied to a selection, a click on the canvas picks a curve there, a line drawn with Shift several; and what
    is picked or under the mouse in any view is marked in the layers.
    """

    def __init__(self, choices: Choices, selection: CurveSelection | None = None) -> None:
        self._choices, self._layers, self._viewer = choices, choices.layers, weakref.ref(choices.viewer)
        self._refs: list[tuple[weakref.ref[CurveLayer], int]] = []
        self._tied: weakref.WeakSet[Shapes] = weakref.WeakSet()
        self._silent = False
        self._selection = selection or CurveSelection()
        self._selection.changed.connect(self._show)
        self._selection.lit.connect(self._show)

    def __iter__(self) -> Iterator[CurveLayer]:
        return iter([layer for layer, _ in self.with_first_rows()])

    def with_first_rows(self) -> list[tuple[CurveLayer, int]]:
        """Each layer with the row, among those of all layers, of its first curve."""
        alive = ((ref(), row) for ref, row in self._refs)
        return [(layer, row) for layer, row in alive if layer is not None and layer in self._layers]

    def in_places(self) -> list[CurveLayer | None]:
        """The layer of each image; None where it was deleted."""
        here = (ref() for ref, _ in self._refs)
        return [layer if layer is not None and layer in self._layers else None for layer in here]

    def mark_excluded(self, rows: Collection[int]) -> bool:
        """Mark the curves of these rows as left out of the next run; whether that was news to a layer."""
        news = False
        for layer, start in self.with_first_rows():
            inside = np.isin(np.arange(len(layer.features)) + start, list(rows))
            if not np.array_equal(layer.features["excluded"], inside):
                layer.features["excluded"] = inside  # to set all features would check every column anew
                news = True
        return news

    def replace(
        self, layers: Sequence[CurveLayer], *, new: bool = True, shown: bool = True, over: Sequence[Layer | None] = ()
    ) -> "Generator[None]":
        """Put layers where those before them were, in turns that the window can draw between.

        Each layer is taken away, put in and shown in turns of its own: to draw curves for the first time takes napari
        a tenth of a second. Within `at_once` nothing is drawn: they are not to be `shown` there, but after it. Layers
        that are not new are in the viewer, unless they were deleted. New ones come to the end of the list, or right
        `over` those given for each: to be moved there would take the list of a window as long as to come.
        """
        gone = [ref for ref, _ in self._refs if (layer := ref()) is not None and layer not in layers]
        if gone:
            yield from take_away(gone, self._choices)
        first_rows = itertools.accumulate((len(layer.features) for layer in layers), initial=0)
        self._refs = [(weakref.ref(layer), row) for layer, row in zip(layers, first_rows, strict=False)]
        coming = [layer for layer in layers if new and layer not in self._layers]
        if coming:
            with at_once(self._choices):
                for layer, below in itertools.zip_longest(coming, over[: len(coming)]):
                    layer.visible = False
                    self._choices.unseen.add(layer)
                    place = self._layers.index(below) + 1 if below in self._layers else len(self._layers)
                    selected, selecting = set(self._layers.selection), self._layers.selection.events
                    # napari activates a layer that comes, and takes as long again to show its controls: only the last.
                    with nullcontext() if layer is coming[-1] else selecting.blocker_all():
                        self._layers.insert(place, layer)
                        if layer is not coming[-1]:
                            self._layers.selection = selected
                    yield
        for layer in [one for one in layers if shown and one in self._choices.unseen]:
            self._choices.unseen.remove(layer)
            layer.visible = True
            yield

    def tie(self) -> None:
        for layer in [ref() for ref, _ in self._refs]:
            if isinstance(layer, Shapes) and layer not in self._tied:
                self._tied.add(layer)
                layer.selected_data.events.items_changed.connect(self._layer_changed)
        viewer = self._viewer()
        if viewer is not None and self._refs and self._moved not in viewer.mouse_move_callbacks:
            viewer.mouse_move_callbacks.append(self._moved)
            viewer.mouse_drag_callbacks.append(self._pressed)
            self._layers.selection.events.active.connect(self._show_marks, position="last")

    def untie(self) -> None:
        for layer in list(self._tied):
            layer.selected_data.events.items_changed.disconnect(self._layer_changed)
        self._tied.clear()
        viewer = self._viewer()
        if viewer is not None and self._moved in viewer.mouse_move_callbacks:
            viewer.mouse_move_callbacks.remove(self._moved)
            viewer.mouse_drag_callbacks.remove(self._pressed)
            self._layers.selection.events.active.disconnect(self._show_marks)

    def outline(self, row: int) -> Real | None:
        """Vertices (n, 2) of a curve, rows and columns as they are drawn; None where its layer was deleted.

        Of a painted one the corners of its box.
        """
        for layer, start in self.with_first_rows():
            if start <= row < start + len(layer.features):
                if isinstance(layer, Labels):
                    top, left, bottom, right = layer.metadata[MARK]["boxes"][row - start]
                    corners = np.array([[top, left], [top, right], [bottom, right], [bottom, left]])
                    return drawn_at(layer, corners, self._choices)
                return drawn_at(layer, np.asarray(layer.data[row - start]), self._choices)
        return None

    def cell_of(self, row: int) -> tuple[float, float, float, float]:
        """The part of the canvas that the image of a curve is shown in: top, left, bottom and right, from 0 to 1."""
        viewer = self._viewer()
        for layer, start in self.with_first_rows():
            if viewer is not None and start <= row < start + len(layer.features):
                (down, across), (rows, columns) = self._cell(viewer, layer)
                return down / rows, across / columns, (down + 1) / rows, (across + 1) / columns
        return 0.0, 0.0, 1.0, 1.0

    def _cell(self, viewer: ViewerModel, layer: Layer) -> tuple[tuple[int, int], tuple[int, int]]:
        """Row and column of a layer in the grid, and the numbers of rows and columns."""
        grid, layers = getattr(viewer, "canvas", viewer).grid, viewer.layers
        # What napari asks for: the layers, in older versions their number.
        several = layers if hasattr(grid, "iter_viewboxes") and hasattr(viewer, "canvas") else len(layers)
        down, across = grid.position(layers.index(layer), several)
        return (int(down), int(across)), grid.actual_shape(several)

    def _show(self) -> None:
        self._silent = True
        lit = self._selection.under_mouse
        wanted = np.union1d(self._selection.rows, [] if lit < 0 else [lit])
        for layer, start in self.with_first_rows():
            inside = wanted - start
            rows = set(inside[(inside >= 0) & (inside < len(layer.features))].astype(int).tolist())
            if picked_in(layer) != rows:
                select(layer, rows)
        self._silent = False

    def _show_marks(self, _: object = None) -> None:
        """Keep curves marked where another layer became the active one: napari hides marks on all others."""
        for layer, _row in self.with_first_rows():
            if isinstance(layer, Shapes) and layer.selected_data:
                layer.update_highlight_visibility(True)

    def _layer_changed(self, *_: Any) -> None:
        if not self._silent:
            self._selection.pick([row + start for layer, start in self.with_first_rows() for row in picked_in(layer)])

    def _reads(self, viewer: ViewerModel) -> bool:
        """Whether the mouse on the canvas means curves: not while something else is painted or edited."""
        active = viewer.layers.selection.active
        return active is None or isinstance(active, Image) or active in OWN

    def _moved(self, viewer: ViewerModel, event: Any) -> None:
        """Light up the curve under the mouse."""
        row = self._row_at(event.position) if self._reads(viewer) else None
        self._selection.hover(-1 if row is None else row)

    def _pressed(self, viewer: ViewerModel, event: Any) -> Iterator[None]:
        """Pick the curve under the mouse, or with Shift those that a line is drawn around; a drag moves the view.

        With Shift and a click one is added, or taken out.
        """
        line, shift = [event.position], "Shift" in event.modifiers
        if not self._reads(viewer):
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
        """The curves whose centre is drawn within a line (n, 2) of rows and columns."""
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
        """The visible layers, the topmost first; in a grid only those in the cell that the mouse is in."""
        viewer = self._viewer()
        for layer, start in reversed(self.with_first_rows()):
            if viewer is not None and layer.visible:
                grid, (cell, _) = getattr(viewer, "canvas", viewer).grid, self._cell(viewer, layer)
                if not grid.enabled or tuple(getattr(viewer.cursor, "viewbox", None) or cell) == cell:
                    yield layer, start

    def _row_at(self, position: Sequence[float]) -> int | None:
        """The topmost visible curve at a place of the viewer."""
        drawn = rows_and_columns([position], self._choices.dims)
        for layer, start in self._under_mouse():
            (place,) = pixels_at(layer, drawn, self._choices)
            row = row_under(layer, place) if isinstance(layer, Labels) else (layer.get_value(place) or (None,))[0]
            if row is not None:
                return int(row) + start
        return None


def curve_layers(result: Comparison, view: Tree, sources: Sources | None = None) -> list[CurveLayer]:
    """Make one layer per image, A's before B's, its curves filled as a view says; not yet in a viewer.

    `sources` are left out for a result whose images are not there. Feature columns are id, those of
    `COLOR_FEATURES`, source, excluded, and painted, the one that is shown.
    """
    data = painted_data(result, view, COLOR_FEATURES, sources)
    get_settings()  # before it is read, napari triangulates in Python, a hundred times more slowly
    layers = [Layer.create(*one) for one in data]
    for layer in layers:
        layer.editable = False
        OWN.add(layer)
    return layers


def complete(layers: Sequence[CurveLayer], result: Comparison) -> None:
    """Make layers that napari read from a file like those of a run: with all columns, and nothing to edit."""
    columns = pd.DataFrame({name: paint.values(result) for name, paint in COLOR_FEATURES.items()})
    ends = itertools.accumulate(len(layer.features) for layer in layers)
    for layer, end in zip(layers, ends, strict=True):
        own = columns.iloc[end - len(layer.features) : end].reset_index(drop=True)
        layer.features = layer.features.assign(**own)
        layer.editable = False
        OWN.add(layer)


def opened_pairs(layers: Iterable[Layer]) -> dict[Comparison, list[CurveLayer]]:
    """Comparisons whose layers, A's and B's, have been read from a file or added by `Comparison.to_layers`."""
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
    """Whether all layers of a comparison are there, and nothing was added to them or deleted."""
    counts = Counter[str]()
    for layer in layers:
        counts[str(layer.metadata[MARK].get("source"))] += len(layer.features)
    return counts == {"A": len(result.a), "B": len(result.b)}


def painted_data(
    result: Comparison, view: Tree, names: Collection[str] = (), sources: Sources | None = None
) -> list[LayerData]:
    """Data of the layers of a comparison, painted as a view says; a ValueError for a painting that does not exist.

    By distance where what it says takes too long: the dock, if it is there, will paint as soon as it is known. The
    columns of `COLOR_FEATURES` that are named are had whatever they cost. Layers lie where those of the sources do.
    Up to `MOST_SHAPES` curves are shapes, more are painted labels.
    """
    painted = str(view.get("painted", "product"))
    slow = {name for name, feature in COLOR_FEATURES.items() if feature.table == "witnesses"} - set(names)
    if painted in slow and len(result.distances) > QUICK:
        painted = "product"
    known = {name: feature for name, feature in COLOR_FEATURES.items() if name == painted or name not in slow}
    columns = pd.DataFrame({name: paint.values(result) for name, paint in known.items()})
    many = len(columns) > MOST_SHAPES
    data = result.layer_data({**view, "painted": painted}, columns, by_pixels=True, thin=not many)
    limits = COLOR_FEATURES[painted].limits(columns[painted].to_numpy(), CLIPPED)
    for _, options, _ in data:
        options |= {"face_contrast_limits": limits, "face_colormap": COLOR_FEATURES[painted].colormap}
        options["metadata"][MARK]["view"] = view
    made = iter(data if sources is not None else ())
    for side, ensemble, images in zip("AB", (result.a, result.b), sources or ((), ()), strict=True):
        for source in images:
            own = ensemble if len(images) == 1 else ensemble.subset(ensemble.images == source.name)
            _, options, _ = next(made)
            options |= source.placement | {"name": f"{source.name} curves"}
            options["features"]["source"] = source.name
            options["metadata"] = {MARK: {"source": side, "curves": own.to(source.unit)}}
    return [label_layer(*one) for one in data] if many else data


def repaint(layer: CurveLayer, column: str, low_high: tuple[float, float]) -> None:
    """Fill the curves of an own layer by another feature; those excluded or without a number stay unfilled.

    Setting `face_color` to a column would fit the limits to this layer alone and upload everything twice; setting
    `features` would check all the columns anew. What is painted like that already is left alone.
    """
    features, colormap = layer.features, COLOR_FEATURES[column].colormap
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
    """Mark curves of an own layer, and no others.

    napari also tells that the line width of shapes changed, at which the whole mesh would be uploaded again.
    """
    if isinstance(layer, Labels):
        mark(layer, rows)
        return
    with layer.events.edge_width.blocker():
        layer.selected_data = set(rows)
    layer.update_highlight_visibility(True)  # which napari has for the active layer alone


def picked_in(layer: CurveLayer) -> set[int]:
    """The rows of the curves that are marked in an own layer."""
    return set(layer.metadata[MARK]["picked"] if isinstance(layer, Labels) else layer.selected_data)
