"""The layers of a review: curves colored by score, labels without a curve, and the copies that are corrected."""

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils import Colormap
from numpy.typing import NDArray

from ..comparison.colorings import Coloring
from ..comparison.display import MARK, simplified
from ..inspection import CorrectedLabels, Review
from ..inspection.correcting import plane_at
from ..inspection.ranking import Inspection
from ..palette import EXCLUDED, OUTLINE, RANKED
from .choices import Choices
from .debouncing import Debouncer
from .inputs import MADE_FOR, OWN, PARTS, pixels_of
from .layers import OwnLayers, add_unselected, brush_for, colormap_of, name_after, outline_layer
from .overlap import common_words
from .review_files import ReviewedImage, StackPlane
from .task import PIXEL_EVENTS
from .world import world_at

#: Feature that colors suspicious curves.
SCORE = Coloring("score", "score")


class ReviewLayers:
    """The layers of a review in the viewer; those of outlines are replaced, the corrected copies are the user's.

    Attributes
    ----------
    curves, unlisted : OwnLayers
        The curves of each image, and its labels without a curve and objects without a label.
    images : list of ReviewedImage
        The images under review.
    corrected : mapping of Labels to CorrectedLabels
        All copies, also of earlier reviews.
    """

    def __init__(self, choices: Choices, strokes: Debouncer) -> None:
        self._choices, self._strokes = choices, strokes
        self.curves, self.unlisted = OwnLayers(choices), OwnLayers(choices)
        self._unlisted_images: list[int] = []
        self.images: list[ReviewedImage] = []
        self.corrected: weakref.WeakKeyDictionary[Labels, CorrectedLabels] = weakref.WeakKeyDictionary()
        self.proposals: weakref.WeakSet[Labels] = weakref.WeakSet()  # copies of a consensus: not label sets

    # Outlines.

    def replace_unlisted(self, layers: dict[int, Shapes]) -> Iterator[None]:
        self._unlisted_images = list(layers)
        yield from self.unlisted.replace(list(layers.values()))

    def show(self) -> Iterator[None]:
        yield from self.curves.show()
        yield from self.unlisted.show()

    def unlisted_of(self, image: int) -> Layer | None:
        """Return the layer of labels without a curve of an image."""
        return dict(zip(self._unlisted_images, self.unlisted.by_image(), strict=False)).get(image)

    def color(self, result: Inspection) -> None:
        for layer, score in zip(self.curves.by_image(), scores(result), strict=False):
            if layer is not None and len(score) == len(layer.features):
                fill_by_score(layer, score=score)

    def name(self) -> None:
        """Let the layers of outlines follow the names of the layers that were inspected."""
        for image, curves in enumerate(self.curves.by_image()):
            self._lay_over(image)
            if (origin := self.origin(image)) is not None:
                for role, layer in (("inspected", curves), ("without outline", self.unlisted_of(image))):
                    if layer is not None:
                        name_after(layer, origin, role)

    def _lay_over(self, image: int) -> None:
        """Let the layers of outlines lie over an inspected layer, or over its corrected copy."""
        reviewed = self.images[image]
        for layer in (*self.curves.by_image()[image : image + 1], self.unlisted_of(image)):
            if layer is not None:
                MADE_FOR[layer] = reviewed.ref if self.copy_of(image) is None else reviewed.copy or reviewed.ref

    def origin(self, image: int) -> Layer | None:
        """Return the layer of an image, after which its own layers are named; None for a consensus, or if deleted."""
        layer = None if self.images[image].is_consensus else self.images[image].ref()
        return layer if layer in self._choices.layers else None

    # Copies.

    def copy_of(self, image: int) -> Labels | None:
        """Return the layer on which the labels of an image are corrected; None before the first correction."""
        ref = self.images[image].copy if image < len(self.images) else None
        layer = None if ref is None else ref()
        return layer if layer in self.corrected and layer in self._choices.layers else None

    def copy_with(self, corrected: CorrectedLabels) -> Labels | None:
        """Return the copy in the viewer with these labels."""
        found = (layer for layer, own in self.corrected.items() if own is corrected and layer in self._choices.layers)
        return next(found, None)

    def name_of_copy(self, image: int) -> str:
        """Return the name of the corrected labels of an image, with the plane of a stack."""
        origin = self.origin(image)
        return f"{self.images[image].source.name if origin is None else origin.name} {self._role_of_copy(image)}"

    def _role_of_copy(self, image: int) -> str:
        return f"{self.images[image].source.plane} corrected".strip()

    def add_copy(self, image: int, corrected: CorrectedLabels, selected_label: int) -> Labels:
        """Add a layer on which the labels of an image are corrected; it belongs to the user."""
        reviewed = self.images[image]
        layer = Labels(corrected.labels.copy(), name=self.name_of_copy(image), opacity=0.4, **reviewed.source.placement)
        layer.preserve_labels = True  # neighbors keep their pixels
        if corrected.labels.any():
            layer.brush_size = brush_for(np.unique(corrected.labels[corrected.labels > 0], return_counts=True)[1])
        if selected_label > 0:
            layer.selected_label = selected_label
        reviewed.copy, self.corrected[layer] = weakref.ref(layer), corrected
        if reviewed.is_consensus:  # a new label set, which replaces no annotator's
            self.proposals.add(layer)
            self._choices.design.opted_out.add(layer)
        for name in PIXEL_EVENTS:
            getattr(layer.events, name).connect(self._strokes.start)
        strokes = weakref.ref(self._strokes)
        layer.mouse_drag_callbacks.append(lambda _, event: _stroke(strokes(), event))
        add_unselected(layer, self._choices.layers)
        if (origin := self.origin(image)) is not None:
            name_after(layer, origin, self._role_of_copy(image))
        self._lay_over(image)
        return layer

    def compare_in_place(self, image: int, copy: Labels) -> str:
        """Replace the original layer, or another plane of it, by corrected labels in the comparison; say which."""
        compared = list(itertools.chain(*self._choices.design.sides()))
        others = (other for other in self._other_planes(image) if other in compared)
        layer = next(others, self.origin(image))
        if layer is None:
            return ""
        self._choices.design.replace({layer: copy})
        return f"{copy.name} takes the place of {layer.name}."

    def _other_planes(self, image: int) -> list[Labels]:
        """Return the layers on which other planes of an image's stack are corrected."""
        plane, copy = self.images[image].plane, self.copy_of(image)
        planes = [] if plane is None else plane.stack.planes.values()
        return [layer for layer, own in self.corrected.items() if layer is not copy and own in planes]

    def hide_other_planes(self, image: int) -> None:
        """Hide corrected layers of other planes of the stack, which would cover this one."""
        if (copy := self.copy_of(image)) is not None and (others := self._other_planes(image)):
            copy.visible = True
            for other in others:
                other.visible = False

    def apply_strokes(
        self, paint: Callable[[int | None, CorrectedLabels, NDArray[np.integer]], object]
    ) -> tuple[bool, list[str]]:
        """Call `paint` with what was painted on each copy, and its image; return whether any was, and what failed."""
        painted, faults = False, []
        strokes: list[tuple[Labels, CorrectedLabels, NDArray[np.bool_]]] = []
        for layer, own in list(self.corrected.items()):
            if layer not in self._choices.layers:
                continue
            if np.shape(layer.data) != own.labels.shape:
                del self.corrected[layer]
                faults.append(f"{layer.name} holds labels of another shape now: a new copy will be corrected.")
            elif (differs := np.asarray(layer.data != own.labels)).any():
                strokes.append((layer, own, differs))
        for layer, own, differs in strokes:  # which may change the labels of crossing planes of a stack, too
            image = next((i for i in range(len(self.images)) if self.copy_of(i) is layer), None)
            try:
                paint(image, own, np.where(differs, layer.data, own.labels))
                painted = True
            except ValueError as error:
                faults.append(str(error))
        return painted, faults

    def show_corrected(self) -> None:
        """Update all corrected layers, also after a correction in a crossing plane."""
        for layer, own in list(self.corrected.items()):
            differs = np.nonzero(layer.data != own.labels)
            if len(differs[0]):
                layer.data_setitem(differs, own.labels[differs])


def _stroke(strokes: Debouncer | None, event: Any) -> Iterator[None]:
    """Let the pressed button hold strokes back, so that each is one change, however slow or quick."""
    if strokes is None:
        return
    strokes.flush()
    strokes.is_held = True
    yield
    while event.type == "mouse_move":
        yield
    strokes.is_held = False
    if strokes.pending:
        strokes.start()


# The image of labels.


class LayerPlane(NamedTuple):
    """A plane of a layer."""

    layer: Layer
    data: Any
    place: tuple[int, ...]  #: index along the axes that are not its rows and columns
    axes: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[self.axes[0]], self.data.shape[self.axes[1]]

    def pixels(self) -> NDArray[Any]:
        """Read its pixels, which may be many, or not in memory."""
        return np.array(plane_at(self.data, self.place, self.axes))

    def corners(self) -> NDArray[np.float64]:
        """Return its first pixel, and the ends of the first column and row, (3, d), in pixels of the layer."""
        corners = np.zeros((3, self.layer.ndim))
        corners[:, [axis for axis in range(self.layer.ndim) if axis not in self.axes]] = self.place
        corners[[1, 2], self.axes] = self.shape
        return corners


def image_under(labels: Layer | None, of_stack: StackPlane | None, choices: Choices) -> LayerPlane | None:
    """Return the visible image whose pixels are drawn below those of labels, or None.

    Of several, it is the one whose name has most in common with theirs, or else the topmost. For labels in a stack, it
    may be the same plane of an image stack.
    """
    if not isinstance(labels, Labels):
        return None
    known, name = PARTS.get(labels), labels.name if of_stack is None else of_stack.name
    if known is not None and known.whole is not None and known.part.region:  # inspected in the whole plane
        labels = known.whole
    plane = _only_plane(labels, of_stack)
    below = (
        _only_plane(layer, of_stack)
        for layer in reversed(choices.layers)
        if isinstance(layer, Image)
        and layer.visible
        and layer not in OWN
        and not choices.design.replacement_of(layer)  # a picture of these labels
    )
    found = [own for own in below if own and plane and _coincide(plane, own, choices)]
    return max(found, key=lambda one: common_words(one.layer.name, name), default=None)


def _only_plane(layer: Layer, of_stack: "StackPlane | None") -> "LayerPlane | None":
    """Return the only plane of a layer, or, for one of the shape of a stack, the same plane as of this."""
    data, count = pixels_of(layer), layer.ndim
    if of_stack is not None and data.shape[:count] == of_stack.stack.original.shape:
        return LayerPlane(layer, data, of_stack.place, of_stack.axes)
    single = count > 1 and set(data.shape[: count - 2]) <= {1}
    return LayerPlane(layer, data, (0,) * (count - 2), (count - 2, count - 1)) if single else None


def _coincide(one: LayerPlane, other: LayerPlane, choices: Choices) -> bool:
    """Whether two planes have the same pixels: of the same number, drawn less than one pixel apart."""
    if one.shape != other.shape:
        return False
    apart, across = (world_at(plane.layer, plane.corners(), choices) for plane in (one, other))
    first, *steps = world_at(one.layer, np.eye(one.layer.ndim + 1, one.layer.ndim, -1), choices)
    pixel = np.abs(np.subtract(steps, first)).max(axis=0)
    if one.layer.ndim == other.layer.ndim:
        return bool((np.abs(apart - across) < pixel).all())
    # The depth of one of them is unknown, and a copy of a plane may be drawn with rows and columns exchanged.
    apart, pixel, orders = apart[:, one.axes], pixel[[*one.axes]], (other.axes, other.axes[::-1])
    return any((np.abs(apart - across[:, order]) < pixel).all() for order in orders)


# The outlines.


def both_layers(review: Review, images: Sequence[ReviewedImage]) -> tuple[list[Shapes], dict[int, Shapes]]:
    """Return layers of the curves, colored by score, and of labels without a curve and objects without a label.

    They are not yet in a viewer. Feature columns of curves: id and measures, score, reasons, excluded.
    """
    result, curves, unlisted = review.inspection, [], {}
    for image, (ensemble, score) in enumerate(zip(result.ensembles, scores(result), strict=True)):
        source, listed = images[image].source, _listed_curves(result, image)
        features = ensemble.features.assign(score=score, reasons="", excluded=False)
        features.loc[listed["index"].to_numpy(), "reasons"] = listed["reasons"].to_numpy()
        outlines = simplified([curve / source.scale for curve in ensemble.curves])
        highest = {MARK: {"highest score": score_limits(result)[1]}}
        look = source.placement | {"face_color": "transparent", "edge_width": 0.5}
        colored = {"edge_color": RANKED, "opacity": 0.9, "metadata": highest}
        curves.append(outline_layer(f"{source.name} inspected", outlines, features, **look, **colored))
        fill_by_score(curves[-1])
        features, outlines = review.without_curve(image)
        if outlines:
            name = f"{source.name} without outline"
            unlisted[image] = outline_layer(name, outlines, features, **look, edge_color=OUTLINE)
    return curves, unlisted


def score_limits(result: Inspection) -> tuple[float, float]:
    """Return the contrast limits of all layers: no suspicion, and the highest score."""
    return SCORE.limits(result.ranking["score"].to_numpy(dtype=np.float64), 100)


def scores(result: Inspection) -> list[NDArray[np.float64]]:
    """Return the scores of the curves of each ensemble; 0 for those that are not listed."""
    every = [np.zeros(len(ensemble)) for ensemble in result.ensembles]
    for image, values in enumerate(every):
        listed = _listed_curves(result, image)
        values[listed["index"].to_numpy()] = listed["score"].to_numpy()
    return every


def _listed_curves(result: Inspection, image: int) -> pd.DataFrame:
    """Return the rows of the ranking that are curves of an image, not labels without one."""
    return result.ranking[(result.ranking["source"] == "AB"[image]) & (result.ranking["index"] >= 0)]


def fill_by_score(layer: Shapes, **columns: NDArray[Any]) -> None:
    """Fill suspicious curves by their score; excluded ones are not filled, and have another edge color.

    The columns of features are changed first.
    """
    if columns:
        layer.features = layer.features.assign(**columns)
    score, excluded = layer.features["score"].to_numpy(dtype=float), layer.features["excluded"].to_numpy(dtype=bool)
    faces = colormap_of(SCORE).map(score / layer.metadata[MARK]["highest score"]).astype(float)
    faces[:, 3] = np.where((score > 0) & ~excluded, 0.6, 0)
    layer.face_color = faces
    layer.edge_color = Colormap([RANKED, EXCLUDED]).map(excluded.astype(float))
