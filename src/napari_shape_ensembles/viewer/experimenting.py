"""The experiment: all groups of the design table compared, with the replicate as what is exchangeable."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Layer

from ..comparison import Experiment, Settings, experiment, position_dependence
from ..comparison.display import LayerData, simplified
from ..io.results import write_experiment
from ..outlines import Outlines
from ..outlines.extract import at_one_pixel_size
from ..progress import as_part, report
from .choices import Choices
from .design_files import layer_data
from .designing import DesignTable, frame_of
from .inputs import OWN, Excluded, ImageRow, Source, Sources, source_of, trace
from .task import Basis, Task

# Groups whose pairs are all compared; contrasts that are a screen; images of a group that are opened at once.
_ALL_PAIRS, _SCREEN, _IMAGES = 7, 20, 12


@dataclass(frozen=True, eq=False)
class ExperimentAnswer:
    """An experiment with what the page shows of it: finding it takes longer than a window may stand still."""

    experiment: Experiment
    sentences: tuple[str, ...]  #: whether groups differ at all, and trends
    contrasts: tuple[str, ...]  #: a sentence for each pair of groups
    notes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  #: contrast, row of the truth table, p of form and of scale, ratio of size
    groups: tuple[str, ...]  #: of each row, the one that is compared
    figures: Mapping[str, Callable[[Any], Any]]  #: by their names; each draws on an empty Matplotlib figure
    wells: Mapping[str, tuple[int, int]]  #: row and column of each group that is named as a well


class ExperimentTask(Task[ExperimentAnswer]):
    """Compares the groups of the design table."""

    def __init__(self, choices: Choices, design: DesignTable) -> None:
        super().__init__(choices)
        self.design = design
        self._painted: list[weakref.ref[Layer]] = []  #: layers of the group that is shown
        self._over: weakref.WeakKeyDictionary[Layer, weakref.ref[Layer]] = weakref.WeakKeyDictionary()
        design.changed.connect(self._look)

    def why_not(self) -> str:
        return self.design.why_not()

    def chosen(self) -> Basis:
        """All layers that have a group, as if of one sample, and the table."""
        choices, layers = self.choices, [layer for own in self.design.groups().values() for layer in own]
        excluded = choices.exclusions.of(layers, choices.recipe)
        more = {"the design table": self.design.rows(), "the control": self.control}
        return Basis((tuple(map(weakref.ref, layers)), ()), choices.recipe, choices.settings, excluded, more)

    @property
    def control(self) -> str:
        """The group that all others are compared with; the first one, unless chosen, where all pairs are too many."""
        groups = list(self.design.groups())
        chosen = self.design.control if self.design.control in groups else ""
        return chosen or (groups[0] if len(groups) > _ALL_PAIRS else "")

    def work(self, sources: Sources) -> Callable[[], ExperimentAnswer]:
        assert self._next is not None
        rows = self._next.more["the design table"]
        assert isinstance(rows, tuple)
        control = str(self._next.more["the control"]) or None
        return partial(
            experimented, sources, self._next.recipe, self._next.settings, self._next.excluded, rows, control
        )

    def take(self, outcome: ExperimentAnswer) -> Iterable[None]:
        self._put(outcome)
        return ()

    def fail_beside(self, reason: str) -> None:
        """Take note that something else has failed; the result stays."""
        self.message = f"⚠ {reason}"

    def export(self, folder: Path) -> None:
        """Write tables and figures into a folder."""
        if self.result is not None:
            self.message = ""
            self.start(partial(exported, self.result.experiment, folder), self._exported)

    def _exported(self, paths: list[Path]) -> Iterable[None]:
        self.message = f"Saved {len(paths)} files in {paths[0].absolute().parent}"
        return ()

    # The images of a group.

    def show_group(self, name: str) -> None:
        """Show the images of a group with their outlines, filled by the quantity in which it differs most."""
        if self.result is None or self.basis is None or self.busy:
            return
        found, basis = self.result.experiment, self.basis
        rows = [ref() for ref in basis.layers[0]]
        if None in rows or name not in found.design.groups:
            self.message = "⚠ Images of this result are not in the table any more: compare again."
            self.changed.emit()
            return
        wanted = found.design.groups.index(name)
        places = np.flatnonzero(found.design.group[found.design.of_image] == wanted)[:_IMAGES].tolist()
        dims, sources = self.choices.dims, {}
        for place in places:
            if (row := rows[place]) is not None:
                sources[place] = source_of(row, dims).calibrated(basis.recipe), weakref.ref(row)
        self.message = ""
        self.start(partial(outlined, found, name, sources, basis.recipe), self._shown)

    def over(self, layer: Layer) -> list[Layer]:
        """The outlines of the group that is shown over one of its images."""
        own = self._over.get(layer)
        outlines = None if own is None else own()
        return [] if outlines is None or outlines not in self.choices.layers else [outlines]

    def opened(self) -> list[Layer]:
        """Images of that group that were opened for it, and outlines of those that cannot be."""
        here = [layer for ref in self._painted if (layer := ref()) is not None and layer in self.choices.layers]
        over = {one for ref in self._over.values() if (one := ref()) is not None}
        return [layer for layer in here if layer not in over]

    def _shown(self, layers: list[tuple[LayerData | weakref.ref[Layer] | None, LayerData]]) -> Iterator[None]:
        viewer = self.choices.viewer
        for before in [ref() for ref in self._painted]:
            if before is not None and before in viewer.layers:
                viewer.layers.remove(before)
        self._painted = []
        for image, outlines in layers:
            under = image() if isinstance(image, weakref.ref) else None
            for data in (image, outlines):
                if not isinstance(data, tuple):
                    continue
                layer = Layer.create(*data)
                OWN.add(layer)
                self._painted.append(weakref.ref(layer))
                if data is outlines and under is not None:
                    self._over[under] = weakref.ref(layer)
                under = layer
                viewer.add_layer(layer)
                yield
        self.message = str(layers[-1][1][1]["metadata"]["said"])


def experimented(
    sources: Sources,
    recipe: Outlines,
    settings: Settings,
    excluded: Excluded,
    rows: tuple[tuple[str, ...], ...],
    control: str | None = None,
) -> ExperimentAnswer:
    """Trace the copied images, compare their groups, and put into words what was found."""
    images, ensembles, total = list(chain(*sources)), [], 2 * len(list(chain(*sources))) + 10
    for place, (source, ids) in enumerate(zip(images, excluded, strict=True)):
        with as_part(2 * place, total):
            found = trace(source, recipe)
        ensembles.append(found.subset(np.array([str(one) not in ids for one in found.ids.tolist()], dtype=bool)))
    first, rest, note = at_one_pixel_size(ensembles[:1], ensembles[1:])
    ensembles = [*first, *rest]
    with as_part(2 * len(images), total):
        result = experiment(ensembles, frame_of(rows), settings, control=control)
        table = result.table
    notes = [*([f"{note}."] if note else []), *result.warnings]
    if (table["permuted"] == "curves").all():  # of single images: the light of the page Trust
        try:
            notes.append(position_dependence(ensembles, settings).sentence())
        except ValueError as error:  # too few outlines
            notes.append(f"Position within the images is not tested: {error}.")
    said, contrasts = result.overall(), result.sentences()
    lines = tuple(
        (
            str(one["contrast"]),
            str(one["case"]),
            f"{one['undulation_p_adjusted']:.2g}",
            f"{one['scale_p_adjusted']:.2g}",
            f"{one['scale_effect']:.2f}",
        )
        for one in ranked(table).to_dict("records")
    )
    said = said if len(table) > 1 else [*contrasts, *said]
    from ..studies.superplot import figures_of, plate_of  # loads Matplotlib, here in a thread of its own

    figures, wells = figures_of(result), plate_of(result.design.groups) or {}
    order = tuple(ranked(table)["b"])
    return ExperimentAnswer(result, tuple(said), tuple(contrasts), tuple(notes), lines, order, figures, wells)


def ranked(table: pd.DataFrame) -> pd.DataFrame:
    """The contrasts of a screen by their p-values; few of them as they are."""
    if len(table) <= _SCREEN:
        return table
    smallest = table[["undulation_p_adjusted", "scale_p_adjusted"]].min(axis=1)
    return table.assign(smallest=smallest).sort_values(["smallest", "undulation_p", "scale_p"], kind="stable")


def exported(result: Experiment, folder: Path) -> list[Path]:
    """Write tables and figures of an experiment."""
    report("writing tables and figures")
    return write_experiment(folder, result)


def outlined(
    result: Experiment, group: str, sources: Mapping[int, tuple[Source, Any]], recipe: Outlines
) -> list[tuple[Any, LayerData]]:
    """Outlines of images, by their places in an experiment, filled by what differs most.

    Each with the layer of its image, weakly, or the data of one to be made.
    """
    effects = result.effects[result.effects["contrast"].str.split(" - ").str[0] == group]
    effects = effects if len(effects) else result.effects
    quantity = "size"
    if len(effects):
        quantity = str(effects["quantity"].iloc[int(effects["difference"].abs().to_numpy().argmax())])
    every = result.outlines[quantity]
    limits = tuple(np.exp(np.percentile(every, [1, 99])).tolist())
    limits = limits if limits[1] > limits[0] else (limits[0], limits[0] + 1)
    found: list[tuple[Any, LayerData]] = []
    for place, (image, (source, under)) in enumerate(sources.items()):
        report(f"opening {source.name}", place, len(sources))
        curves = trace(source, recipe)
        own = result.outlines[result.outlines["image"] == image]
        values = dict(zip(map(str, own["id"]), np.exp(own[quantity]), strict=True))
        options: dict[str, Any] = dict(source.placement)
        shapes = [curve / source.scale for curve in curves.curves]
        if isinstance(source.data, ImageRow):
            under = None
            picture = layer_data(replace(source.data, part=replace(source.data.part, region=None)))
            options = {"scale": picture[1].get("scale", (1.0, 1.0)), "units": (curves.unit,) * 2}
            corner = np.zeros(2)
            if isinstance(source.data.part.region, tuple):
                corner = np.array(source.data.part.region)[[0, 2]]
            shapes = [curve / options["scale"] + corner for curve in curves.curves]
            if picture[2] == "image":
                under = picture[0], {**picture[1], "name": source.name}, picture[2]
        painted = np.array([values.get(str(one), np.nan) for one in curves.ids.tolist()])
        said = f"{group}: outlines filled by {quantity}."
        look = {
            "name": f"{source.name} outlines",
            "shape_type": "polygon",
            "features": pd.DataFrame({"id": curves.ids, quantity: painted}),
            "face_color": quantity,
            "face_colormap": "viridis",
            "face_contrast_limits": limits,
            "edge_color": "white",
            "edge_width": 0.5,
            "opacity": 0.8,
            "metadata": {"said": said},
        }
        if not np.isfinite(painted).any():
            look |= {"face_color": "transparent"}
        found.append((under, (simplified(shapes), {**look, **options}, "shapes")))
    return found
