"""The comparison of the two samples: its runs, the current result, and the actions on it.

Slow work is done in the background by the functions at the end: compare; write, read, explain and test a result.
"""

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Layer
from psygnal import Signal

from ..archive import replacing, write_bytes
from ..comparison import Comparison, Experiment, archetype_sensitivity, compare
from ..comparison.display import MARK
from ..comparison.learning import COMPARISON_STEPS
from ..comparison.saved import read_view
from ..comparison.sensitivity import ArchetypeSensitivity
from ..comparison.verdict import INCONCLUSIVE
from ..explanation import Explanation, explain
from ..explanation.explain import EXPLANATION_STEPS
from ..explanation.headline import headline
from ..explanation.swaps import Swap
from ..io import CurveTable, write_curves
from ..io.outputs import recording_outputs, refuse_overwriting
from ..mmd.dependence import DependenceTest
from ..progress import as_part, report
from .choices import Choices
from .curves.side_by_side import SideBySide
from .displayed_result import DisplayedResult
from .experimenting import ExperimentAnswer, ExperimentTask
from .inputs import Sources, file_errors_named, own_ids, source_of, trace_sides
from .layers import (
    COLOR_FEATURES,
    DEFAULT_PERCENTILE,
    CurveLayer,
    CurveSelection,
    OwnLayers,
    add_feature_columns,
    curve_layers,
    is_whole,
    name_after,
    opened_comparisons,
    repaint,
    update_own_names,
)
from .report import script_of
from .task import CANCELLED, OTHER_FOLDER, Debouncer, JobSteps, ResultTask, RunInputs

ENDING = ".comparison.npz"
REPORTS = (".html", ".htm", ".pdf")
_PREVIOUS_SHOWN = f"{CANCELLED} This is the previous result."


@dataclass(frozen=True, eq=False)
class Outcome:
    """A comparison with its inputs, and its layers, which may be in the viewer already if not new."""

    shown: DisplayedResult
    layers: list[CurveLayer]
    new: bool = True


@dataclass(frozen=True, eq=False)
class Robustness:
    """Robustness checks of a result beyond its two tests."""

    dependence: DependenceTest  #: between undulation and scale, within the images
    sensitivity: ArchetypeSensitivity

    def sentences(self) -> tuple[str, str]:
        """Return both findings as sentences, with a check mark if they support the result."""
        test = self.dependence
        if test.rejected:
            words = (
                f"Undulation and scale depend on each other within the images (p = {test.p_value:.2g}): a "
                "difference in one may be due to the other, and neither test detects a difference in their pairing "
                "alone."
            )
        else:
            words = f"✓ No dependence of undulation and scale was detected within the images (p = {test.p_value:.2g})."
        return words, ("✓ " if self.sensitivity.stable else "") + self.sensitivity.summary()

    def judged(self, shown: DisplayedResult) -> DisplayedResult:
        """Return the result with these findings as notes; inconclusive if the case depends on the archetype."""
        notes = tuple(dict.fromkeys((*shown.notes, *self.sentences())))  # each once, also if checked again
        return replace(shown, result=self.sensitivity.judged(shown.result), notes=notes)


class ComparisonTask(ResultTask[Comparison]):
    """Compares A and B, or shows two groups of the experiment; keeps the result and how it is displayed."""

    #: (str, str): a message about a file or a secondary task, and the text of its tooltip.
    message_posted = Signal(str, str)
    recolored = Signal()  #: the colors of the curves have changed

    def __init__(self, choices: Choices, experiment: ExperimentTask) -> None:
        super().__init__(choices)
        self.experiment = experiment
        self._answer: ExperimentAnswer | None = None  # the result of which a contrast was shown
        self.shown: DisplayedResult | None = None  #: the result with its inputs and notes
        self.recoverable: DisplayedResult | None = None  #: an unsaved result that was replaced by another
        self.last_result: Comparison | None = None  #: the last result, kept after a failed run
        self.is_new_result = False  #: whether the result is new, and not yet scrolled into view
        self.color_by, self.percentile = "product", DEFAULT_PERCENTILE
        self.selection = CurveSelection()
        self.curve_explorer: Callable[[], Any] = lambda: None  #: weak reference to the window *Curves*, if opened
        self.curves = OwnLayers(choices, self.selection)
        self.side_by_side = SideBySide(choices)
        self._shown_results: weakref.WeakSet[Comparison] = weakref.WeakSet()
        self._opened_debouncer, self._link_debouncer = Debouncer(self.show_opened), Debouncer(self._link_images)
        choices.exclusions.changed.connect(self._show_excluded)
        choices.design.comparison_opened.connect(self._opened_debouncer.start)
        choices.design.changed.connect(self.side_by_side.schedule_arrange)
        choices.design.changed.connect(self._update_own_names)
        choices.design.changed.connect(self._link_debouncer.start)
        experiment.finished.connect(self._on_experiment_finished)

    def _update_own_names(self) -> None:
        update_own_names(list(self.choices.layers))

    # The run.

    def current_inputs(self) -> RunInputs:
        return replace(super().current_inputs(), names=self.choices.design.given_names)

    def blocking_reason(self) -> str:
        return self.experiment.blocking_reason() if self.choices.design.is_experiment else super().blocking_reason()

    def run(self) -> None:
        """Compare A and B; if the table asks for more, compare all groups, of which A and B are shown."""
        if not self.choices.design.is_experiment:
            super().run()
        elif self.experiment.state == "done":
            self.show_contrast(*self.choices.design.samples)
        else:
            self.experiment.run()

    def changed_since(self) -> list[str]:
        words, then, design = super().changed_since(), self.run_inputs, self.choices.design
        if words or then is None:
            return words
        if then.names not in ((), design.given_names):
            return ["a group was renamed"]
        return self.experiment.changed_since() if design.is_experiment else []

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Compare A and B, and show the answer."""
        self.is_new_result = False
        outcome: Outcome = yield partial(run_comparison, sources, run_inputs)
        yield from self._show_outcome(outcome)

    def show_contrast(self, a: str, b: str) -> None:
        """Make two groups A and B, and show them from the experiment: curves, explanation, files for a paper."""
        self.choices.design.choose_pair(a, b)
        answer, found = self.experiment.result, self.experiment.run_inputs
        if answer is None or found is None or self.experiment.changed_since():
            return  # the comparison of other images would be shown
        design, pairs = answer.experiment.design, tuple[list[int], list[int]](([], []))
        for name, own in zip((a, b), pairs, strict=True):
            if name not in design.groups:
                return
            own += np.flatnonzero(design.group[design.of_image] == design.groups.index(name)).tolist()
        places = [*pairs[0], *pairs[1]]
        rows = [found.layers[0][place]() for place in places]
        if not all(isinstance(row, Layer) for row in rows):
            self.show_message("⚠ Only images that are open as layers are shown with their curves.")
            return
        dims, first = self.choices.dims, len(pairs[0])
        copies = [source_of(row, dims).calibrated(found.recipe) for row in rows if row is not None]
        refs = tuple(weakref.ref(row) for row in rows if row is not None)
        run_inputs = replace(
            found,
            layers=(refs[:first], refs[first:]),
            excluded=tuple(found.excluded[place] for place in places),
            more={},
            fingerprints=tuple(found.fingerprints[place] for place in places),
            planes=tuple(found.planes[place] for place in places),
            names=self.choices.design.given_names,
        )
        sources = tuple(copies[:first]), tuple(copies[first:])
        self._keep_recoverable()
        self.cancel()  # another pair was chosen meanwhile
        self.start_secondary_job(
            partial(contrast_of, answer.experiment, a, b, sources, run_inputs),
            partial(self._show_outcome, unsaved=False),  # the experiment has it
        )

    def _on_experiment_finished(self) -> None:
        """Show A and B from a new result, if all their images are open."""
        answer, design = self.experiment.result, self.choices.design
        if answer is self._answer or not self.experiment.unsaved:
            return
        self._answer = answer
        groups = design.groups()
        if not self.busy and all(isinstance(row, Layer) for name in design.samples for row in groups.get(name, [])):
            self.show_contrast(*design.samples)

    def _show_outcome(self, outcome: Outcome, *, unsaved: bool = True) -> JobSteps:
        """Replace the curve layers, then show the answer."""
        assert outcome.shown.run_inputs is not None
        with self.choices.layers.batched_update():  # the curves, and their arrangement
            yield from self.curves.replace(outcome.layers, shown=False)
            for ref, own in zip(itertools.chain(*outcome.shown.run_inputs.layers), outcome.layers, strict=False):
                if (image := ref()) is not None:
                    name_after(own, image, "curves")
            self.recoverable = None if self.running else self.recoverable
            self.show_message("")
            yield from self.show_in_turns(outcome.shown, unsaved=unsaved)
        yield None
        yield from self.curves.replace(outcome.layers, new=False)
        if (self.color_by, self.percentile) != ("product", DEFAULT_PERCENTILE):  # the coloring of new layers
            self.recolor()

    def on_failed(self, reason: str) -> None:
        """Clear the result after a failed run."""
        super().on_failed(reason)
        self.message = "\n".join(filter(None, (self.message, self.leftover_message())))
        self._keep_recoverable()
        self.shown = self.result = self.run_inputs = None
        self.is_new_result = True
        if not self.side_by_side.captioned:  # the bench keeps the arrangement
            self.side_by_side.restore()

    def leftover_message(self) -> str:
        """Return a message if the curves of an earlier result are still in the viewer."""
        if self.last_result is None or not list(self.curves):
            return ""
        names = f"{self.last_result.a.name} and {self.last_result.b.name}"
        return f"The colored curves in the viewer are those of the previous result ({names})."

    def show_message(self, words: str, tooltip: str = "") -> None:
        self.message_posted.emit(words, tooltip)

    def on_cancelled(self) -> None:
        """Report a cancelled run or secondary job, and which result is shown."""
        if self.running:
            self.message = CANCELLED if self.result is None else _PREVIOUS_SHOWN
        else:
            self.show_message(CANCELLED)

    @property
    def state(self) -> str:
        """The state of the task, with the additional state "inconclusive"."""
        state = super().state
        inconclusive = state == "done" and self.result is not None and self.result.case == INCONCLUSIVE
        return INCONCLUSIVE if inconclusive else state

    def deactivate(self) -> None:
        super().deactivate()
        self.side_by_side.restore()
        self.curves.disconnect_events()

    def activate(self) -> None:
        """Watch whether the result goes out of date, and link the curve layers to the selection."""
        super().activate()
        self.curves.connect_events()

    # Display.

    def show_in_turns(self, shown: DisplayedResult, *, unsaved: bool = True) -> Iterator[None]:
        """Show another result, in two event loop turns."""
        self.shown, self.result, self.last_result, self.run_inputs = shown, shown.result, shown.result, shown.run_inputs
        self.unsaved, self.message, self.failed, self.is_new_result, self.running = unsaved, "", False, True, False
        if len(self.selection.rows):
            self.selection.pick([])
        self.curves.connect_events()
        if self.side_by_side.on:
            self.side_by_side.arrange()
        self.changed.emit()
        yield
        if any(self.current_inputs().excluded):
            self._show_excluded()

    def recolor(self) -> None:
        """Color the existing curve layers by the chosen feature."""
        if self.result is not None:
            feature = COLOR_FEATURES[self.color_by]
            limits = feature.limits(feature.values(self.result), self.percentile)
            for layer in self.curves:
                repaint(layer, self.color_by, limits)
        self.recolored.emit()

    def set_coloring(self, column: str, percentile: int) -> None:
        if (column, percentile) != (self.color_by, self.percentile):
            self.color_by, self.percentile = column, percentile
            self.recolor()

    def arrange(self, side_by_side: bool, *, captioned: bool = False) -> None:
        """Show the images side by side, each with its curves, or restore the previous view."""
        self.side_by_side.captioned = captioned
        if side_by_side:
            self.side_by_side.arrange()
        else:
            self.side_by_side.restore()

    # Excluded curves.

    def exclude(self, row: int) -> None:
        """Exclude a curve of the result from the next run, or include it again."""
        if self.result is None:
            self.show_message("⚠ No result. Run compares the layers again.")
            return
        side = int(row >= len(self.result.a))
        sample, first = ((self.result.a, 0), (self.result.b, len(self.result.a)))[side]
        place, one = own_ids(sample)[row - first]
        layer = None if self.run_inputs is None else self.run_inputs.layers[side][place]()
        if self.run_inputs is None or layer is None:
            words = "⚠ Curves can be excluded only from layers in the viewer. Run compares them again."
            self.show_message(words)
            return
        plane = self.run_inputs.planes[place + side * len(self.run_inputs.layers[0])]
        self.choices.exclusions.toggle(layer, one, self.run_inputs.recipe, plane)

    def excluded_rows(self) -> frozenset[int]:
        """Return the pooled indices of the curves that are excluded from the next run."""
        if self.result is None or self.run_inputs is None:
            return frozenset()
        flags: list[bool] = []
        planes = iter(self.run_inputs.planes)
        for sample, refs in zip((self.result.a, self.result.b), self.run_inputs.layers, strict=True):
            own = list(itertools.islice(planes, len(refs)))
            out = self.choices.exclusions.of([ref() for ref in refs], self.run_inputs.recipe, own)
            flags += [one in out[place] for place, one in own_ids(sample)]
        return frozenset(np.flatnonzero(flags).tolist())

    def _show_excluded(self) -> None:
        """Show in the layers which curves are excluded."""
        if self.curves.mark_excluded(self.excluded_rows()):
            self.recolor()

    # Files.

    def save(self, path: Path) -> None:
        if self.shown is not None:
            self.shown.view.update(self.experiment.to_tree())
            self.start_secondary_job(
                partial(write_comparison_file, self.shown, self.color_by, path), partial(self.on_written, saved=True)
            )

    def export(self, path: Path) -> None:
        if self.shown is not None:
            self.start_secondary_job(partial(export_curves, self.shown, path), self.on_written)

    def report(self, path: Path) -> None:
        if self.result is not None:
            self.start_secondary_job(partial(write_report, self.result, path), self.on_written)

    def export_for_paper(self, folder: Path) -> None:
        """Write everything for a paper into a folder."""
        if self.shown is not None:
            self.shown.view.update(self.experiment.to_tree())
            self.start_secondary_job(
                partial(write_paper_files, self.shown, self.color_by, folder), partial(self.on_written, saved=True)
            )

    def check_robustness(self) -> None:
        if self.shown is not None:
            self.start_secondary_job(partial(checked, self.shown), self._on_checked)

    def _on_checked(self, shown: DisplayedResult) -> Iterator[None]:
        self.show_message("")
        return self.show_in_turns(shown)

    def overrule(self) -> None:
        """Show the case despite serious faults of the outlines, as the user has checked them."""
        if self.shown is not None:
            self.start_secondary_job(partial(overruled_result, self.shown), self._on_overruled)

    def _on_overruled(self, shown: DisplayedResult) -> Iterator[None]:
        self.choices.set(settings=replace(self.choices.settings, overrule=True))
        self.show_message("")
        yield from self.show_in_turns(shown)

    def open(self, path: Path) -> None:
        self.start_secondary_job(partial(read_comparison_file, path), self.restore_result)

    def recover(self) -> None:
        """Show the replaced unsaved result again."""
        if self.recoverable is not None:
            self.start_secondary_job(partial(prepare_outcome, self.recoverable), self._on_recovered)

    def _on_recovered(self, opened: Outcome) -> JobSteps:
        """Show the kept result; if the current one is unsaved too, keep that instead."""
        before = self.recoverable
        yield from self.restore_result(opened)
        if self.recoverable is before:
            self.recoverable = None
        self.unsaved = True

    def _keep_recoverable(self) -> None:
        """Keep an unsaved result before it is replaced by another."""
        if self.unsaved and self.shown is not None:
            self.recoverable = replace(self.shown, view=self.shown.to_view(self.color_by))

    def show_opened(self) -> None:
        """Show comparisons whose layers were opened in the viewer, each once."""
        new = [
            (result, pair)
            for result, pair in opened_comparisons(self.choices.layers).items()
            if result not in self._shown_results
        ]
        for layer in itertools.chain.from_iterable(pair for _, pair in new):
            layer.editable = False  # else a curve could be deleted before its features are computed
        if new and self.busy:
            self.show_message("The opened comparison is shown after this run.")
            self.finished.connect(self._opened_debouncer.start, unique=True)
        elif new:
            self.finished.disconnect(self._opened_debouncer.start, missing_ok=True)
            self._shown_results.update(result for result, _ in new)
            result, layers = new[-1]
            view, path = layers[0].metadata[MARK].get("view", {}), str(layers[0].source.path or "")
            try:
                self.start_secondary_job(
                    partial(prepare_outcome, DisplayedResult.of_file(result, view, path), layers), self.restore_result
                )
            except ValueError as error:
                self.show_message(f"⚠ {error}")

    def restore_result(self, opened: Outcome) -> JobSteps:
        """Show a result, and restore its colors and choices, in turns; its layers may be in the viewer already."""
        shown = yield opened.shown.linked(self.choices.layers, self.choices.dims).with_copies
        with self.choices.layers.batched_update():
            yield from self.curves.replace(opened.layers, new=opened.new, shown=False)
            yield None
            self._shown_results.add(opened.shown.result)
            whole = is_whole(opened.shown.result, opened.layers)
            if whole:
                self.show_message("")
                self._keep_recoverable()
                add_feature_columns(opened.layers, shown.result)
                painted = str(shown.view.get("painted"))
                self.color_by = painted if painted in COLOR_FEATURES else "product"
                yield None
                yield from self.show_in_turns(shown, unsaved=False)
        yield None
        yield from self.curves.replace(opened.layers, new=False)
        if not whole:
            self.show_message("⚠ Its layers were changed in the meantime: open the comparison again.")
            return
        self.recolor()
        yield None
        # Restore the inputs of the result, as far as known.
        self.choices.set(shown.recipe or self.choices.recipe, shown.result.settings)
        self._restore_choices(shown)
        self.experiment.restore_tree(shown.view)

    def _restore_choices(self, shown: DisplayedResult) -> None:
        """Choose the layers of a result as samples, and exclude the curves that it excludes."""
        sides = None if shown.run_inputs is None else shown.run_inputs.existing_layers()
        if shown.run_inputs is not None and sides is not None:
            self.choices.design.choose(*sides)
            self.choices.exclusions.replace_all(sides, shown.excluded, shown.run_inputs.recipe)

    def _link_images(self) -> None:
        """Link a result to its images if they are opened after it, unless other images are chosen."""
        if self.busy:
            self.finished.connect(self._link_debouncer.start, unique=True)
            return
        self.finished.disconnect(self._link_debouncer.start, missing_ok=True)
        if self.shown is not None and self.run_inputs is None:
            shown = self.shown.linked(self.choices.layers, self.choices.dims)
            sides = None if shown.run_inputs is None else shown.run_inputs.existing_layers()
            if sides is not None and set(itertools.chain(*self.choices.design.sides())) <= {*itertools.chain(*sides)}:
                self.start_secondary_job(shown.with_copies, self._on_linked)

    def _on_linked(self, shown: DisplayedResult) -> Iterable[None]:
        self.shown, self.run_inputs = shown, shown.run_inputs
        self._restore_choices(shown)
        self.side_by_side.schedule_arrange()
        return ()


# In the worker thread ------------------------------------------------------------------------------------------


def run_comparison(sources: Sources, run_inputs: RunInputs) -> Outcome:
    """Trace the snapshots without the excluded ids, compare them, and create the colored curve layers."""
    tracing = sum({"image": 2, "labels": 1, "shapes": 0}[source.kind] for side in sources for source in side)
    total = tracing + len(COMPARISON_STEPS) + 2
    with as_part(0, total):
        a, b, note = trace_sides(sources, run_inputs.recipe, run_inputs.excluded, run_inputs.names)
    with as_part(tracing, total):
        result = compare(a, b, run_inputs.settings)
    result = replace(result, note=note or result.note)
    report("finding typical curves", total - 2, total)
    shown = prepared(DisplayedResult.of_run(result, run_inputs, sources))
    report("drawing curves", total - 1, total)
    return Outcome(shown, curve_layers(result, shown.view, sources))


def contrast_of(result: Experiment, a: str, b: str, sources: Sources, run_inputs: RunInputs) -> Outcome:
    """Return two groups of an experiment as a comparison, with its curve layers."""
    report("finding typical curves", 0, 2)
    shown = prepared(DisplayedResult.of_run(result.contrast(a, b), run_inputs, sources))
    report("drawing curves", 1, 2)
    return Outcome(shown, curve_layers(shown.result, shown.view, sources))


def prepared(shown: DisplayedResult) -> DisplayedResult:
    """Compute the cached properties of a result that are too slow for the main thread, and return it."""
    _ = shown.result.witnesses, shown.result.warnings
    return shown


def read_comparison_file(path: Path) -> Outcome:
    """Read a saved comparison, and create its layers."""
    report(f"opening {path.name}", 0, 3)
    with file_errors_named(path, "opened"):
        result, view = Comparison.load(path), read_view(path)
    return prepare_outcome(DisplayedResult.of_file(result, view, str(path)))


def prepare_outcome(shown: DisplayedResult, layers: list[CurveLayer] | None = None) -> Outcome:
    """Compute what the file of a result does not contain, and create its layers if there are none yet."""
    report("finding typical curves", 1, 3)
    shown = prepared(shown).with_files()
    report("drawing curves", 2, 3)
    return Outcome(shown, layers or curve_layers(shown.result, shown.view), new=not layers)


def write_comparison_file(shown: DisplayedResult, painted: str, path: Path) -> list[Path]:
    """Write a result to one file."""
    report(f"saving {path.name}")
    if path.suffix != ".npz":  # napari would not recognize it
        raise ValueError(f"{path.name}: save a comparison under a name ending in {ENDING}")
    with file_errors_named(path):
        replace(shown.result, inputs=shown.inputs()).save(path, view=shown.to_view(painted))
    return [path]


def export_curves(shown: DisplayedResult, path: Path) -> list[Path]:
    """Write the curves of A and B with distances and measures, to a file each."""
    paths = list(paths_of_sides(path))
    for side, place in zip("AB", paths, strict=True):
        report(f"writing {place.name}")
        with file_errors_named(place):
            write_curves(place, curve_table(shown, side))
    return paths


def paths_of_sides(path: Path) -> tuple[Path, Path]:
    """Return the file names of A and B: pair.csv becomes pair.A.curves.csv, which napari recognizes as curves."""
    stem = path.stem.removesuffix(".curves")
    ending = ".curves.csv" if path.suffix.lower() == ".csv" else path.suffix
    a, b = (path.with_name(f"{stem}.{side}{ending}") for side in "AB")
    return a, b


def curve_table(shown: DisplayedResult, side: str) -> CurveTable:
    """Return the curves of A or B with all numeric color features, measures, sample and provenance."""
    result = shown.result
    ensemble, other = (result.a, result.b) if side == "A" else (result.b, result.a)
    rows = slice(len(result.a)) if side == "A" else slice(len(result.a), None)
    columns = {name: paint.values(result)[rows] for name, paint in COLOR_FEATURES.items() if paint.numeric}
    measures = ensemble.features.drop(columns="id").reset_index(drop=True)
    features = pd.concat([measures.drop(columns=list(columns), errors="ignore"), pd.DataFrame(columns)], axis=1)
    features.insert(0, "sample", result.names["AB".index(side)])
    if len(set(ensemble.images.tolist())) > 1:
        features.insert(1, "image", ensemble.images)
    provenance = {"side": side, "compared with": other.name, "answer": result.summary()}
    height, width = shown.view.get(side.lower(), {}).get("scale", (1.0, 1.0))  # 1 if missing in the view
    return CurveTable(ensemble, features, (float(height), float(width)), provenance)


def write_report(result: Comparison, path: Path) -> list[Path]:
    """Explain a result, and write the report."""
    if path.suffix.lower() not in REPORTS:  # fail before the work
        raise ValueError(f"{path.name}: save a report as .html or .pdf")
    if not path.parent.is_dir():
        raise ValueError(f"{path.name} cannot be written: there is no folder {path.parent}")
    with as_part(0, len(EXPLANATION_STEPS) + 1):
        explanation = explain(result)
    return [write_explanation_report(explanation, path)]


def write_explanation_report(explanation: Explanation, path: Path, swaps: tuple[Swap, ...] = ()) -> Path:
    """Write the report of an explanation, and of its control experiment if there was one."""
    from ..explanation.report import save_report  # imports Matplotlib, which is slow

    report("saving the report", len(EXPLANATION_STEPS), len(EXPLANATION_STEPS) + 1)
    with file_errors_named(path):
        save_report(explanation, path, swaps=swaps)
    return path


def write_paper_files(shown: DisplayedResult, painted: str, folder: Path) -> list[Path]:
    """Write figure, methods, tables, script and the comparison into a folder."""
    from ..explanation.figures import style
    from ..explanation.paper import answer_figure, image_table, methods

    report("measuring the difference", 0, 5)
    result, known = shown.result, headline(shown.result)
    paths = [folder / name for name in ("figure.svg", "figure.png", "methods.txt", "objects.csv", "images.csv")]
    code, whole = folder / "compare.py", folder / f"pair{ENDING}"
    every = [*paths, code, whole]
    refuse_overwriting(every, remedy=OTHER_FOLDER)
    with recording_outputs(folder, [path.name for path in every]) as written:
        with file_errors_named(paths[0]):
            report("drawing the figure", 1, 5)
            figure = answer_figure(result, known)
            folder.mkdir(parents=True, exist_ok=True)  # as late as this: a cancelled export leaves no empty folder
            for path in paths[:2]:
                with style(), replacing(path) as file:
                    figure.savefig(file, format=path.suffix[1:], dpi=300)
            report("writing the tables", 2, 5)
            write_bytes(paths[2], methods(result, shown.recipe, known, kinds=shown.kinds).encode())
            write_bytes(paths[3], result.outlines.to_csv(index=False).encode())
            write_bytes(paths[4], image_table(result).to_csv(index=False).encode())
            written += paths
        report("saving the comparison", 3, 5)
        written += write_comparison_file(shown, painted, whole)
        report("writing the script", 4, 5)
        with file_errors_named(code):
            # Without its inputs, it loads the comparison of this folder, not the file that was opened.
            write_bytes(code, script_of(replace(shown, path=str(whole.absolute()))).encode())
            written.append(code)
    return written


def checked(shown: DisplayedResult) -> DisplayedResult:
    """Return a result with the findings of `robustness_of` as notes."""
    return prepared(robustness_of(shown.result).judged(shown))


def overruled_result(shown: DisplayedResult) -> DisplayedResult:
    """Return a result whose case is shown despite serious faults of the outlines."""
    report("showing the answer")
    settings = replace(shown.result.settings, overrule=True)
    run_inputs = shown.run_inputs and replace(shown.run_inputs, settings=settings)
    return prepared(replace(shown, result=replace(shown.result, settings=settings), run_inputs=run_inputs))


def robustness_of(result: Comparison, archetypes: int = 5) -> Robustness:
    """Test the dependence of undulation and scale, and repeat the comparison with several archetypes."""
    total = archetypes * len(COMPARISON_STEPS) + 1
    report("testing dependence", 0, total)
    with as_part(0, total):
        test = result.dependence()
    with as_part(1, total):
        return Robustness(test, archetype_sensitivity(result, archetypes))
