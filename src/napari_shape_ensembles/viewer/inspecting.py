"""Inspection of outlines: which deserve a second look, and what the comparison says without them."""

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from napari.layers import Image, Shapes
from napari.utils import Colormap
from numpy.typing import NDArray

from ..comparison import Comparison, Settings, compare
from ..comparison.display import MARK, simplified
from ..inspection import Inspection, disagreement, inspect_curves
from ..outlines import Outlines
from ..palette import EXCLUDED, RANKED
from .choices import Choices, ChosenLayer
from .inputs import ACCEPTED, OWN, Source, Sources, is_own, trace
from .layers import ColorFeature, OwnLayers
from .task import Basis, Task

#: The questions, in words.
SUSPICIOUS, AGREE = "suspicious", "agree"
QUESTIONS = {SUSPICIOUS: "Which curves are suspicious?", AGREE: "Do two segmentations agree?"}
#: How suspicious curves are filled.
SCORE = ColorFeature("score", "score")
# A curve is shown with this many times its size around it.
_AROUND = 3.0


class InspectionTask(Task[Inspection]):
    """Ranks the curves of one or two layers, marks those that are excluded, and compares again without them.

    Attributes
    ----------
    a, b : ChosenLayer
        The layers to inspect; B is optional.
    question : str
        One of `QUESTIONS`.
    curves : OwnLayers
        The layers of curves in the viewer, filled by score.
    excluded_curves : list of (N,) bool arrays
        The curves of each ensemble of the result that are excluded.
    again : Comparison or None
        Without the excluded curves.
    """

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.a, self.b = (
            ChosenLayer(choices.viewer, lambda one: isinstance(one, ACCEPTED) and not is_own(one), optional=optional)
            for optional in (False, True)
        )
        self.curves = OwnLayers(choices.viewer)
        self.excluded_curves: list[NDArray[np.bool_]] = []
        self.again: Comparison | None = None
        self.question = SUSPICIOUS
        for layer in (self.a, self.b):
            layer.changed.connect(self._sides_changed)

    def ask(self, question: str) -> None:
        self.question = question
        self.changed.emit()

    # The run.

    def chosen(self) -> Basis:
        """A and B, where they are chosen, and the question; all curves are inspected, those too that are left out."""
        a, b = (() if (layer := one.chosen()) is None else (weakref.ref(layer),) for one in (self.a, self.b))
        choices, more = self.choices, {"the question": self.question}
        return Basis((a, b), choices.recipe, choices.settings, (frozenset(),) * len(a + b), more)

    def why_not(self) -> str:
        a, b = self.a.chosen(), self.b.chosen()
        if a is None:
            return "Open an image, labels or shapes to inspect."
        if a == b:
            return "Choose two different layers, or none for B."
        if self.question == AGREE and (b is None or isinstance(a, Shapes) or isinstance(b, Shapes)):
            return "Choose two labels layers (or images) of the same scene."
        return ""

    def work(self, sources: Sources) -> "Callable[[], Inspected]":
        assert self._next is not None
        both = tuple(itertools.chain(*sources))
        chosen = both, self._next.recipe, self._next.settings
        if self.question != SUSPICIOUS:
            return partial(disagreed, *chosen)
        return partial(inspected, *chosen, [self._image_under(source) for source in both])

    def _image_under(self, source: Source) -> Any:
        """A copy of the topmost visible image of the plane of labels, in the same place; None where there is none."""
        for layer in reversed(self.choices.viewer.layers):
            if source.kind != "labels" or not isinstance(layer, Image) or layer.multiscale or layer.ndim != 2:
                continue
            if layer.visible and layer.data.shape[:2] == source.data.shape and np.allclose(layer.scale, source.scale):
                return np.array(layer.data)
        return None

    def take(self, outcome: "Inspected") -> Iterator[None]:
        """Put the curves into the viewer, in place of those before; nothing of them is excluded yet."""
        yield from self.curves.replace(outcome.layers)
        self._put(outcome.result)
        self.excluded_curves = [np.zeros(len(ensemble), dtype=bool) for ensemble in outcome.result.ensembles]
        self.again = None

    def follow(self) -> None:
        """Keep in step with the layer list, and with the layers that the result rests on."""
        super().follow()
        for layer in (self.a, self.b):
            if not layer.following:
                layer.follow()

    def rest(self) -> None:
        super().rest()
        self.a.rest()
        self.b.rest()

    # What can be done with the result.

    def _place(self, row: int) -> tuple[int, int]:
        """Ensemble, and place in it, of the curve in a row of the ranking."""
        assert self.result is not None
        entry = self.result.ranking.iloc[row]
        return "AB".index(entry["source"]), int(entry["index"])

    def is_excluded(self, row: int) -> bool:
        side, index = self._place(row)
        return bool(self.excluded_curves[side][index])

    def exclude(self, row: int, excluded: bool) -> None:
        """Exclude the curve in a row of the ranking, or include it again; nothing is deleted."""
        side, index = self._place(row)
        self.excluded_curves[side][index] = excluded
        self.again = None
        layer = self.curves.in_places()[side]
        if layer is not None:
            layer.features = layer.features.assign(excluded=self.excluded_curves[side])
            fill_by_score(layer)
        self.changed.emit()

    def compare_again(self) -> None:
        """Compare the two ensembles without the curves that are excluded."""
        if self.result is not None and self.result.comparison is not None:
            a, b = self.result.without(tuple(self.excluded_curves))
            self.message = ""
            self.start(partial(compare, a, b, self.result.comparison.settings), self._compared)

    def _compared(self, comparison: Comparison) -> Iterable[None]:
        self.again, self.failed = comparison, False
        return ()

    def zoom(self, row: int) -> None:
        """Bring the curve in a row of the ranking into view, and select it; not where its layer was deleted."""
        if self.result is None or not 0 <= row < len(self.result.ranking):
            return
        side, index = self._place(row)
        layer, viewer = self.curves.in_places()[side], self.choices.viewer
        if layer is None:
            return
        world = np.array([layer.data_to_world(point) for point in layer.data[index]])[:, -2:]
        viewer.reset_view()
        whole = np.ptp(np.asarray(viewer.layers.extent.world)[:, -2:], axis=0)
        size = np.maximum(np.ptp(world, axis=0), 1e-9)
        camera = getattr(viewer, "scene", viewer).camera  # in the scene since napari 0.9
        camera.center = (0.0, *((world.min(axis=0) + world.max(axis=0)) / 2))
        camera.zoom *= max(float((whole / (_AROUND * size)).min()), 1.0)
        viewer.layers.selection.active = layer
        layer.selected_data = {index}


@dataclass(frozen=True, eq=False)
class Inspected:
    """What a run leads to: a ranking, and its layers, not yet in a viewer."""

    result: Inspection
    layers: list[Shapes]


def inspected(
    sources: tuple[Source, ...], recipe: Outlines, settings: Settings, images: Sequence[Any] = (None, None)
) -> Inspected:
    """Rank the curves of one or two layers by how suspicious they are; labels with the image they lie on, if any."""
    planes = tuple(
        None if one.kind == "shapes" else recipe.labels(one.data) if one.kind == "image" else one.data
        for one in sources
    )
    pictures = tuple(one.data if one.kind == "image" else seen for one, seen in zip(sources, images, strict=False))
    traced = [
        source if plane is None else replace(source, kind="labels", data=plane)
        for source, plane in zip(sources, planes, strict=True)
    ]
    ensembles = tuple(trace(source, recipe) for source in traced)
    result = inspect_curves(ensembles, settings, labels=planes, images=pictures)
    return Inspected(result, inspected_layers(result, sources))


def disagreed(sources: tuple[Source, ...], recipe: Outlines, settings: Settings) -> Inspected:
    """Rank the objects of two segmentations of one image by how little they agree."""
    one, other = (recipe.labels(source.data) if source.kind == "image" else source.data for source in sources)
    scale, unit = tuple(sources[0].scale), sources[0].unit
    result = disagreement((one, other), settings, outlines=recipe, scale=scale, unit=unit)
    return Inspected(result, inspected_layers(result, sources))


def score_limits(result: Inspection) -> tuple[float, float]:
    """Ends of the color scale of all layers: no suspicion, and the worst score."""
    return SCORE.limits(result.ranking["score"].to_numpy(dtype=np.float64), 100)


def scores(result: Inspection) -> list[NDArray[np.float64]]:
    """The score of every curve of each ensemble; 0 for those that are not listed."""
    every = [np.zeros(len(ensemble)) for ensemble in result.ensembles]
    for values, source in zip(every, "AB", strict=False):
        listed = result.ranking[result.ranking["source"] == source]
        values[listed["index"].to_numpy()] = listed["score"].to_numpy()
    return every


def inspected_layers(result: Inspection, sources: tuple[Source, ...]) -> list[Shapes]:
    """One Shapes layer per ensemble, filled by score; not yet in a viewer.

    Feature columns: id and the measures of the curve, score, reasons, excluded.
    """
    layers = []
    for side, source, ensemble, score in zip("AB", sources, result.ensembles, scores(result), strict=False):
        features = ensemble.features.assign(score=score, reasons="", excluded=False)
        listed = result.ranking[result.ranking["source"] == side]
        features.loc[listed["index"].to_numpy(), "reasons"] = listed["reasons"].to_numpy()
        layer = Shapes(
            simplified([curve / source.scale for curve in ensemble.curves]),
            ndim=2,
            shape_type="polygon",
            name=f"{source.name} inspected",
            features=features,
            face_color="transparent",
            edge_color=RANKED,
            edge_width=0.5,
            opacity=0.9,
            metadata={MARK: {"highest score": score_limits(result)[1]}},
            **source.placement,
        )
        layer.editable = False
        OWN.add(layer)
        fill_by_score(layer)
        layers.append(layer)
    return layers


def fill_by_score(layer: Shapes) -> None:
    """Fill suspicious curves by their score; excluded ones are empty, with a line of their own color."""
    score, excluded = layer.features["score"].to_numpy(dtype=float), layer.features["excluded"].to_numpy(dtype=bool)
    faces = SCORE.colormap.map(score / layer.metadata[MARK]["highest score"]).astype(float)
    faces[:, 3] = np.where((score > 0) & ~excluded, 0.6, 0)
    layer.face_color = faces
    layer.edge_color = Colormap([RANKED, EXCLUDED]).map(excluded.astype(float))
