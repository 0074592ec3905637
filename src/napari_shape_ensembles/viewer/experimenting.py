"""The experiment: compares all groups of the design table, with replicates as the exchangeable units."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Layer
from napari.settings import get_settings
from psygnal import Signal

from ..archive import Tree
from ..comparison import Experiment, experiment, position_dependence, records
from ..comparison.design import GROUP, RequestedTests
from ..comparison.display import simplified
from ..comparison.inputs import Inputs
from ..comparison.saved import read_view
from ..io.outputs import recording_outputs, refuse_overwriting
from ..io.rerun import recipe_of, recipe_tree
from ..io.results import EXPERIMENT, TRENDS, trend_figures, write_experiment
from ..outlines import Outlines
from ..palette import COLORMAP
from ..progress import as_part, report
from .choices import Choices
from .design_files import layer_data, source_in_file
from .designing import Row, frame_of, requested_tests_of, requested_tests_tree
from .inputs import (
    OWN,
    ImageRow,
    Source,
    Sources,
    file_errors_named,
    fingerprint,
    inputs_of_sources,
    plane_of,
    source_of,
    trace,
)
from .layers import remove_layers
from .task import OTHER_FOLDER, JobFunction, JobSteps, ResultTask, RunInputs

# Maximum number of groups for all pairwise contrasts, of contrasts listed unsorted, and of images opened per group.
_MAX_PAIRED_GROUPS, _MAX_UNSORTED, _MAX_GROUP_IMAGES = 7, 20, 12
# Inputs of a run besides layers, recipe and settings, as named where a result is out of date.
_TABLE, _CONTROL, _REQUESTED = "the design table", "the control", "the choice of covariates and interactions"


ENDING = ".experiment.npz"


@dataclass(frozen=True, eq=False)
class ExperimentAnswer:
    """An experiment with everything that its page shows, computed in the worker thread."""

    experiment: Experiment
    requested: RequestedTests  #: covariates adjusted for, and interactions
    sentences: tuple[str, ...]  #: omnibus tests and trends
    contrasts: tuple[str, ...]  #: a sentence per pair of groups
    notes: tuple[str, ...]
    found: tuple[str, ...]  #: those of the notes that are not warnings of the experiment
    rows: tuple[tuple[str, ...], ...]  #: contrast, case, p of form, p of scale, size ratio
    pairs: tuple[tuple[str, str], ...]  #: both groups of each row
    figures: Mapping[str, Callable[[Any], Any]]  #: name -> callable that draws on an empty Matplotlib figure
    wells: Mapping[str, tuple[int, int]]  #: group named like a well -> row and column on the plate


class ExperimentTask(ResultTask[ExperimentAnswer]):
    """Compares the groups of the design table."""

    layers_changed = Signal()  #: layers of a group were added and removed, before napari handles the events

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.design = choices.design
        self._view: Tree = {}  #: for a result from a file: its inputs as recorded in the file
        self._inputs: Inputs | None = None  #: and its input files
        self._displayed_layers: list[weakref.ref[Layer]] = []  #: layers of the displayed group
        self._outlines_over: weakref.WeakKeyDictionary[Layer, weakref.ref[Layer]] = weakref.WeakKeyDictionary()
        self.design.changed.connect(self._emit_changed)

    def blocking_reason(self) -> str:
        return self.design.blocking_reason()

    def current_inputs(self) -> RunInputs:
        """Return all layers with a group, as a single sample, and the table."""
        choices, layers = self.choices, self.design.grouped()
        excluded = choices.exclusions.of(layers, choices.recipe)
        more = {
            _TABLE: self.design.rows(),
            _CONTROL: self.control,
            _REQUESTED: self._requested,
        }
        return RunInputs((tuple(map(weakref.ref, layers)), ()), choices.recipe, choices.settings, excluded, more)

    @property
    def control(self) -> str:
        """The control group; if none is chosen and there are too many groups for all pairs, the first one."""
        groups = list(self.design.groups())
        chosen = self.design.control if self.design.control in groups else ""
        return chosen or (groups[0] if len(groups) > _MAX_PAIRED_GROUPS else "")

    @property
    def _requested(self) -> RequestedTests:
        """The requested covariates and interactions whose columns exist."""
        known = {GROUP, *self.design.extra_columns()}
        requested = self.design.requested
        return RequestedTests(
            tuple(name for name in requested.given if name in known),
            tuple(pair for pair in requested.interactions if known.issuperset(pair)),
        )

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Compare the groups."""
        self.result = yield partial(compare_groups, sources, run_inputs)
        self.run_inputs = run_inputs
        self.unsaved, self._view, self._inputs = True, {}, None

    def overrule(self) -> None:
        """Show the cases despite serious faults of the outlines, as the user has checked them."""
        if self.result is not None:
            self.start_secondary_job(partial(overruled_answer, self.result), self._on_overruled)

    def _on_overruled(self, answer: ExperimentAnswer) -> Iterable[None]:
        settings = answer.experiment.settings
        self.result, self.unsaved = answer, True
        self.run_inputs = self.run_inputs and replace(self.run_inputs, settings=settings)
        self.choices.set(settings=replace(self.choices.settings, overrule=True))
        return ()

    def export(self, folder: Path) -> None:
        """Write tables and figures into a folder."""
        if self.result is not None:
            self.start_secondary_job(partial(write_experiment_tables, self.result, folder), self.on_written)

    # Files.

    def start_secondary_job(self, function: JobFunction, then: Callable[[Any], Iterable[JobFunction | None]]) -> None:
        self.message = self.message if self.busy else ""
        super().start_secondary_job(function, then)

    def show_message(self, words: str, _: str = "") -> None:
        self.message = words
        self.changed.emit()

    def save(self, path: Path) -> None:
        """Write the result with all its inputs to one file."""
        if self.result is not None:
            found, run_inputs = self.result.experiment, self.run_inputs
            self.start_secondary_job(
                partial(write_experiment_file, found, self.to_view(), run_inputs, self._sources(), self._inputs, path),
                self._on_saved,
            )

    def _sources(self) -> list[list[Source]]:
        """Return the sources of the result, one image per sample; empty if any has changed since."""
        if self.run_inputs is None:
            return []
        dims, rows = self.choices.dims, [ref() for ref in self.run_inputs.layers[0]]
        alive = [row for row in rows if row is not None]
        if len(alive) < len(rows) or [fingerprint(row, dims) for row in alive] != list(self.run_inputs.fingerprints):
            return []
        return [[source_in_file(row, dims).calibrated(self.run_inputs.recipe)] for row in alive]

    def _on_saved(self, outcome: tuple[list[Path], bool]) -> Iterable[None]:
        paths, repeatable = outcome
        self.on_written(paths, saved=True)
        if not repeatable:
            self.message += ". Not all of its images are unmodified files, so rerun compares the saved outlines."
        return ()

    def open(self, path: Path) -> None:
        """Show a saved result."""
        self.start_secondary_job(partial(read_experiment_file, path), self.restore_result)

    def to_view(self) -> Tree:
        """Return the state that is stored with the result: the table, and the basis of the result."""
        view = {**self._view, "design": self.design.to_tree()}
        if self.result is None or self.run_inputs is None:
            return view
        run_inputs = self.run_inputs
        rows = [ref() for ref in run_inputs.layers[0]]
        recipe = recipe_tree(run_inputs.recipe)
        return view | {
            **({} if recipe is None else {"segmentation": recipe}),
            "images": ["" if row is None else row.name for row in rows],
            "prints": list(run_inputs.fingerprints),
            "excluded": [sorted(ids) for ids in run_inputs.excluded],
            "notes": list(self.result.found),
            "asked": requested_tests_tree(self.result.requested),
        }

    def to_tree(self) -> Tree:
        """Return the state that is stored with a comparison: the table, and the result if there is one."""
        kept = {} if self.result is None else {**self.result.experiment.to_tree(), "view": self.to_view()}
        return {"design": self.design.to_tree(), "experiment": kept}

    def restore_tree(self, tree: Tree) -> None:
        """Restore the state that was stored with a comparison."""
        if isinstance(table := tree.get("design"), dict):
            self.design.restore_tree(table)
        if tree.get("experiment"):
            self.start_secondary_job(partial(restore_experiment, tree["experiment"]), self.restore_result)

    def restore_result(self, opened: "OpenedExperiment") -> Iterable[None]:
        """Show a result from a file, linked to the images in the viewer if these are unchanged."""
        view = opened.view
        if isinstance(table := view.get("design"), dict):
            self.design.restore_tree(table)
        yield
        recipe = recipe_of(view["segmentation"]) if "segmentation" in view else None
        self.choices.set(recipe or self.choices.recipe, opened.answer.experiment.settings)
        self.result, self.run_inputs, self._view, self._inputs = opened.answer, None, view, opened.inputs
        rows = self._rows_of(view)
        if recipe is not None and rows:
            excluded = tuple(frozenset(map(str, ids)) for ids in view["excluded"])
            self.choices.exclusions.replace_all((tuple(rows), ()), excluded, recipe)
            planes = tuple(plane_of(row, self.choices.dims) for row in rows)
            self.run_inputs = replace(self.current_inputs(), fingerprints=tuple(view["prints"]), planes=planes)
        self.failed = self.unsaved = False
        gone = "" if self.run_inputs is not None else " Its original images are not in the viewer."
        self.message = f"{opened.message}{gone}"

    def _rows_of(self, view: Tree) -> list[Row]:
        """Return the rows of the table that match the names and fingerprints of a file; empty if any does not."""
        dims, names, fingerprints = self.choices.dims, view.get("images", []), view.get("prints", [])
        chosen = self.design.grouped()
        if [row.name for row in chosen] != names or [fingerprint(row, dims) for row in chosen] != fingerprints:
            return []
        return chosen if len(view.get("excluded", ())) == len(chosen) else []

    # The images of a group.

    def show_group(self, name: str) -> None:
        """Show the images of a group with their outlines, colored by the quantity in which it differs most."""
        if self.result is None or self.busy:
            return
        if self.run_inputs is None:  # opened from a file
            self.show_message("⚠ The images of this result are not in the viewer: open them, then the result again.")
            return
        found, run_inputs = self.result.experiment, self.run_inputs
        rows = [ref() for ref in run_inputs.layers[0]]
        if None in rows or name not in found.design.groups:
            self.show_message("⚠ Images of this result are no longer in the table: compare again.")
            return
        wanted = found.design.groups.index(name)
        places = np.flatnonzero(found.design.group[found.design.of_image] == wanted)[:_MAX_GROUP_IMAGES].tolist()
        dims, sources = self.choices.dims, {}
        for place in places:
            if (row := rows[place]) is not None:
                sources[place] = source_of(row, dims).calibrated(run_inputs.recipe), weakref.ref(row)
        self.start_secondary_job(partial(outline_layers, found, name, sources, run_inputs.recipe), self._show_outlines)

    def layers_over(self, layer: Layer) -> list[Layer]:
        """Return the outlines layer over an image of the displayed group."""
        own = self._outlines_over.get(layer)
        outlines = None if own is None else own()
        return [] if outlines is None or outlines not in self.choices.layers else [outlines]

    def opened_images(self) -> list[Layer]:
        """Return images of that group that were opened for it, and outlines without an image."""
        here = [
            layer for ref in self._displayed_layers if (layer := ref()) is not None and layer in self.choices.layers
        ]
        over = {one for ref in self._outlines_over.values() if (one := ref()) is not None}
        return [layer for layer in here if layer not in over]

    def _show_outlines(self, opened: list[tuple[Layer | weakref.ref[Layer] | None, Layer]]) -> Iterator[None]:
        """Replace the previous group's images and outlines, one per event loop turn."""
        layers, gone, self._displayed_layers = self.choices.layers, self._displayed_layers, []
        with layers.batched_update():
            remove_layers(gone, layers)
            for image, outlines in opened:
                under = image() if isinstance(image, weakref.ref) else image
                for layer in [outlines] if under is None or isinstance(image, weakref.ref) else [under, outlines]:
                    self._displayed_layers.append(weakref.ref(layer))
                    layers.append(layer)
                    yield
                if under is not None:
                    self._outlines_over[under] = weakref.ref(outlines)
            self.layers_changed.emit()
        self.message = str(opened[-1][1].metadata["said"])


def compare_groups(sources: Sources, run_inputs: RunInputs) -> ExperimentAnswer:
    """Trace the images, compare their groups, and describe the result."""
    recipe, settings, more = run_inputs.recipe, run_inputs.settings, run_inputs.more
    rows, requested = more[_TABLE], more[_REQUESTED]
    assert isinstance(rows, tuple)
    assert isinstance(requested, RequestedTests)
    images, ensembles, total = list(chain(*sources)), [], 2 * len(list(chain(*sources))) + 10
    for place, (source, ids) in enumerate(zip(images, run_inputs.excluded, strict=True)):
        with as_part(2 * place, total):
            found = trace(source, recipe)
        ensembles.append(found[np.array([str(one) not in ids for one in found.ids.tolist()], dtype=bool)])
    with as_part(2 * len(images), total):
        result = experiment(ensembles, frame_of(rows), settings, control=str(more[_CONTROL]) or None)
    notes = []
    if (result.table["permuted"] == "curves").all():  # unreplicated images: the test of the page Trust
        try:
            notes.append(position_dependence(ensembles, settings).sentence())
        except ValueError as error:  # too few outlines
            notes.append(f"Position within the images is not tested: {error}.")
    return answer_of(result, requested, notes)


def answer_of(result: Experiment, requested: RequestedTests, notes: Sequence[str]) -> ExperimentAnswer:
    """Describe an experiment in sentences, with notes on its inputs."""
    table, order = result.table, ranked(result.table)
    said, contrasts = result.overall(requested.given, requested.interactions), result.sentences()
    lines = tuple(
        (
            str(one["contrast"]),
            str(one["case"]),
            f"{one['undulation_p_adjusted']:.2g}",
            f"{one['scale_p_adjusted']:.2g}",
            f"{one['scale_effect']:.2f}",
        )
        for one in order.to_dict("records")
    )
    said = said if len(table) > 1 else [*contrasts, *said]
    from ..studies.superplot import figures_of, plate_of  # imports Matplotlib, here in the worker thread

    figures, wells = figures_of(result), plate_of(result.design.groups) or {}
    pairs = tuple(zip(order["a"], order["b"], strict=True))
    found, notes = tuple(notes), (*notes, *result.warnings)
    return ExperimentAnswer(
        result, requested, tuple(said), tuple(contrasts), notes, found, lines, pairs, figures, wells
    )


def withheld_words(result: Experiment) -> str:
    """State for what faults of the outlines withhold the answer; empty for nothing."""
    count, total = sum(map(bool, result.withheld)), len(result.table)
    if not (count or result.overall_fault):
        return ""
    where = f" for {count} of {total} contrasts" if count and total > 1 else "" if count else " over all groups"
    return f"⚠ No answer{where} until the outlines have been checked."


def overruled_answer(answer: ExperimentAnswer) -> ExperimentAnswer:
    """Describe an experiment with the cases that faults of the outlines withheld."""
    report("answering anyway")
    return answer_of(answer.experiment.overruled(), answer.requested, answer.found)


def ranked(table: pd.DataFrame) -> pd.DataFrame:
    """Return the contrasts, sorted by p-value if there are many."""
    if len(table) <= _MAX_UNSORTED:
        return table
    smallest = table[["undulation_p_adjusted", "scale_p_adjusted"]].min(axis=1)
    return table.assign(smallest=smallest).sort_values(["smallest", "undulation_p", "scale_p"], kind="stable")


@dataclass(frozen=True, eq=False)
class OpenedExperiment:
    """A result from a file, with its recorded inputs."""

    answer: ExperimentAnswer
    view: Tree
    message: str
    inputs: Inputs | None = None  #: its input files, if known


def read_experiment_file(path: Path) -> OpenedExperiment:
    """Read a saved experiment, and describe it in sentences."""
    report(f"opening {path.name}", 0, 2)
    with file_errors_named(path, "opened"):
        result, view = Experiment.load(path), read_view(path, Experiment.FORMAT)
    return opened_experiment(result, view, f"Opened from {path.name}.")


def restore_experiment(tree: Tree) -> OpenedExperiment:
    """Restore an experiment that was stored with a comparison."""
    report("restoring the experiment", 0, 2)
    return opened_experiment(Experiment.of_tree(tree), records.value(tree, "view", dict), "Opened with the comparison.")


def opened_experiment(result: Experiment, view: Tree, said: str) -> OpenedExperiment:
    """Describe an experiment from a file in sentences."""
    notes = tuple(map(str, view.get("notes", [])))
    return OpenedExperiment(answer_of(result, requested_tests_of(view.get("asked")), notes), view, said, result.inputs)


def write_experiment_file(
    result: Experiment,
    view: Tree,
    run_inputs: RunInputs | None,
    sources: list[list[Source]],
    inputs: Inputs | None,
    path: Path,
) -> tuple[list[Path], bool]:
    """Write an experiment to one file, as the command line does; return whether it can be rerun from its input files.

    These are the files of the layers, or `inputs` for a result from a file whose images are not in the viewer.
    """
    report(f"saving {path.name}")
    if run_inputs is not None:
        inputs = inputs_of_sources(sources, run_inputs.recipe, run_inputs.excluded) if sources else None
    with file_errors_named(path):
        replace(result, inputs=inputs).save(path, view=view)
    return [path], inputs is not None


def write_experiment_tables(answer: ExperimentAnswer, folder: Path) -> list[Path]:
    """Write the tables and figures of an experiment, with the requested tests."""
    report("writing tables and figures")
    names = (*EXPERIMENT, *trend_figures(answer.experiment.design.covariates))
    refuse_overwriting([folder / name for name in names], remedy=OTHER_FOLDER)
    with file_errors_named(folder), recording_outputs(folder, names, [TRENDS]) as written:
        written += write_experiment(folder, answer.experiment, requested=answer.requested)
    return written


def outline_layers(
    result: Experiment, group: str, sources: Mapping[int, tuple[Source, Any]], recipe: Outlines
) -> list[tuple[Any, Layer]]:
    """Return layers of outlines, colored by the quantity that differs most, for images by their index in an experiment.

    Each is paired with a weak reference to the layer of its image, or a new layer.
    """
    get_settings()  # until loaded, napari uses its Python triangulation, a hundred times slower
    effects = result.effects[result.effects["contrast"].str.split(" - ").str[0] == group]
    effects = effects if len(effects) else result.effects
    quantity = "size"
    if len(effects):
        quantity = str(effects["quantity"].iloc[int(effects["difference"].abs().to_numpy().argmax())])
    every = result.quantities.outlines[quantity]
    limits = tuple(np.exp(np.percentile(every, [1, 99])).tolist())
    limits = limits if limits[1] > limits[0] else (limits[0], limits[0] + 1)
    found: list[tuple[Any, Layer]] = []
    for place, (image, (source, under)) in enumerate(sources.items()):
        report(f"opening {source.name}", place, len(sources))
        curves = trace(source, recipe)
        own = result.quantities.outlines[result.quantities.outlines["image"] == image]
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
                under = Layer.create(picture[0], {**picture[1], "name": source.name}, picture[2])
                OWN.add(under)
        painted = np.array([values.get(str(one), np.nan) for one in curves.ids.tolist()])
        said = f"{group}: outlines colored by {quantity}."
        look = {
            "name": f"{source.name} outlines",
            "shape_type": "polygon",
            "features": pd.DataFrame({"id": curves.ids, quantity: painted}),
            "face_color": quantity,
            "face_colormap": COLORMAP,
            "face_contrast_limits": limits,
            "edge_color": "white",
            "edge_width": 0.5,
            "opacity": 0.8,
            "metadata": {"said": said},
        }
        if not np.isfinite(painted).any():
            look |= {"face_color": "transparent"}
        outlines = Layer.create(simplified(shapes), {**look, **options}, "shapes")
        OWN.add(outlines)
        found.append((under, outlines))
    return found
