"""The comparison of the groups of the design table: its runs, the current result, and the actions on it.

Slow work is done in the background by the functions at the end: compare; write, read, explain and test a result.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Image, Labels, Layer
from numpy.typing import ArrayLike
from psygnal import Signal

from ..archive import Tree, is_archive, replacing, write_bytes
from ..comparison import Comparison, archetype_sensitivity
from ..comparison.answer import in_one_line
from ..comparison.colorings import COLORINGS, DEFAULT
from ..comparison.design import GROUP, RequestedTests, plain_name
from ..comparison.display import DEFAULT_PERCENTILE, MARK
from ..comparison.inputs import Inputs
from ..comparison.learning import COMPARISON_STEPS
from ..comparison.saved import EXPERIMENT, read_view
from ..comparison.verdict import INCONCLUSIVE
from ..explanation import Explanation, explain
from ..explanation.explain import EXPLANATION_STEPS
from ..explanation.headline import headline
from ..explanation.swaps import Swap
from ..io import CurveTable, write_curves
from ..io.outputs import recording_outputs, refuse_overwriting
from ..io.rerun import recipe_of
from ..io.results import write_table
from ..outlines import Outlines
from ..palette import lay_out
from ..progress import as_part, report
from ..words import counted, p_text
from .choices import Choices
from .curves.side_by_side import SideBySide
from .debouncing import Debouncer
from .design_files import MAX_OPENED_IMAGES, Division, Divisions, input_layers, path_of, source_in_file
from .designing import Row
from .displayed_result import DisplayedResult
from .experimenting import (
    CONTROL,
    PLAIN_TABLE,
    PROPOSAL,
    REQUESTED,
    TABLE,
    Answer,
    answer_of_tree,
    compare_groups,
    overruled_answer,
    read_experiment_file,
    withheld_words,
    write_experiment_file,
    write_experiment_paper,
    write_experiment_tables,
)
from .group_images import MAX_GROUP_IMAGES, GroupImages, outline_layers
from .inputs import Ids, Ref, Source, Sources, file_errors_named, fingerprint, own_ids, plane_of, source_of
from .layers import (
    CurveLayer,
    CurveSelection,
    OwnLayers,
    add_feature_columns,
    add_unselected,
    batched,
    curve_layers,
    is_whole,
    name_after,
    opened_comparisons,
    repaint,
    update_own_names,
)
from .report import script_of, with_files_beside, write_sources
from .splitting import NewPart, layers_of, picked_parts
from .task import CANCELLED, OTHER_FOLDER, JobSteps, RunInputs, Task, saved_message

ENDING = ".comparison.npz"
REPORTS = (".html", ".htm", ".pdf")
_PREVIOUS_SHOWN = f"{CANCELLED} This is the previous result."
_WITHHELD = "⚠ No answer until the outlines have been checked."
# Maximum number of groups for all pairwise contrasts.
_MAX_PAIRED_GROUPS = 7


@dataclass(frozen=True, eq=False)
class Outcome:
    """The comparison of all groups, if known, and the two groups shown with their layers.

    The layers may be in the viewer already, if not new. Nothing is shown of groups of which images are not open.
    """

    shown: DisplayedResult | None
    layers: list[CurveLayer]
    answer: Answer | None = None
    new: bool = True
    file: str = ""  #: name of the file it was read from

    def images(self) -> tuple[list[str], Inputs | None]:
        """Return the names of the images that a saved result needs as layers, and their files if known."""
        if self.shown is not None:
            return self.shown.image_names(), self.shown.result.inputs
        if self.answer is not None and not (self.answer.view.get("design") or {}).get("files"):  # read when needed
            return list(self.answer.view.get("images", [])), self.answer.experiment.inputs
        return [], None

    def of_layers(self, fingerprints: Sequence[str]) -> "Outcome":
        """Return the result with the fingerprints of layers made from its files, which have the same checksums."""
        shown, answer = self.shown, self.answer
        if answer is not None:
            answer = replace(answer, view={**answer.view, "prints": list(fingerprints)})
        if shown is not None and shown.used is not None:
            shown = replace(shown, used=replace(shown.used, fingerprints=tuple(fingerprints)))
        return replace(self, shown=shown, answer=answer)

    @property
    def title(self) -> str:
        """The names of the groups."""
        if self.shown is not None:
            return f"{self.shown.result.a.name} and {self.shown.result.b.name}"
        return "" if self.answer is None else ", ".join(self.answer.groups)


class ComparisonTask(Task[Comparison]):
    """Compares the groups of the design table, and shows two of them: `result` is the contrast shown."""

    #: (str, str): a message about a file or a secondary task, and the text of its tooltip.
    message_posted = Signal(str, str)
    recolored = Signal()  #: the colors of the curves have changed

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.design = choices.design
        self.answer: Answer | None = None  #: the comparison of all groups; None if a file has that of two only
        self.shown: DisplayedResult | None = None  #: the contrast shown, with its inputs and notes
        self.recoverable: Outcome | None = None  #: an unsaved result that was replaced by another
        self.last_result: Comparison | None = None  #: the last contrast shown, kept after a failed run
        self.unsaved = False  #: whether the result has not been saved
        #: The file of a result of which images were not found, and their names.
        self.missing_images: tuple[Path, list[str]] | None = None
        self.is_new_result = False  #: whether the result is new, and not yet scrolled into view
        self.color_by, self.percentile = DEFAULT, DEFAULT_PERCENTILE
        self.selection = CurveSelection()
        self.curve_explorer: Callable[[], Any] = lambda: None  #: weak reference to the window *Curves*, if opened
        self.curves = OwnLayers(choices, self.selection)
        self.side_by_side = SideBySide(choices)
        self.group_images = GroupImages(choices.layers)
        self._shown_results: weakref.WeakSet[Comparison] = weakref.WeakSet()
        self._opened_debouncer, self._link_debouncer = Debouncer(self.show_opened), Debouncer(self._link_images)
        self.divisions = Divisions(choices)
        choices.exclusions.changed.connect(self._show_excluded)
        self.selection.leave_out_requested.connect(self._leave_out_selected)
        self.selection.group_requested.connect(self.group_selected)
        self.design.comparison_opened.connect(self._opened_debouncer.start)
        self.design.changed.connect(self._update_own_names)
        self.design.changed.connect(self._link_debouncer.start)

    def _update_own_names(self) -> None:
        update_own_names(list(self.choices.layers))
        self._follow_names()

    def _follow_names(self) -> None:
        """Call a group of one image by the current name of that image, as its sentence does."""
        then, result = self.run_inputs, self.result
        if result is None or then is None or not len(then.layers) == len(then.titles) == len("AB"):
            return
        pairs = zip(then.existing(), then.titles, strict=True)
        titles = tuple(title if layer is None else layer.name for layer, title in pairs)
        if titles != then.titles:
            for ensemble, before, now in zip((result.a, result.b), then.titles, titles, strict=True):
                ensemble.name = now if ensemble.name == before else ensemble.name
            self.run_inputs = replace(then, titles=titles)
            result.outlines["sample"] = np.repeat(result.names, [len(result.a), len(result.b)])
            self.changed.emit()

    # The run.

    def blocking_reason(self) -> str:
        return self.design.blocking_reason() if self.design.is_experiment else super().blocking_reason()

    def current_inputs(self) -> RunInputs:
        """Return the layers of all groups, and the rest of the table if it is more than the groups A and B."""
        groups, more = self.design.groups(), PLAIN_TABLE
        if self.design.is_experiment:
            table = tuple(line[1:] for line in self.design.rows())
            more = {TABLE: table, CONTROL: self.control, REQUESTED: self._requested()}
        return self.inputs_of(*groups.values(), more=more, names=tuple(groups))

    @property
    def control(self) -> str:
        """The control group; if none is chosen and there are too many groups for all pairs, the first one."""
        groups = list(self.design.groups())
        chosen = self.design.control if self.design.control in groups else ""
        return chosen or (groups[0] if len(groups) > _MAX_PAIRED_GROUPS else "")

    def _requested(self) -> RequestedTests:
        """Return the requested covariates and interactions whose columns exist."""
        known = {GROUP, *self.design.extra_columns()}
        requested = self.design.requested
        return RequestedTests(
            tuple(name for name in requested.given if name in known),
            tuple(pair for pair in requested.interactions if known.issuperset(pair)),
        )

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Compare the groups, and show A and B."""
        self.is_new_result = False
        answer: Answer = yield partial(compare_groups, sources, run_inputs)
        by_name = dict(zip(run_inputs.names, sources, strict=True))
        a, b = self.design.samples
        if not {a, b} <= by_name.keys():  # the table was edited meanwhile
            a, b = run_inputs.names[:2]
        shown: Outcome | None = None
        if all(source.kind != "file" for source in (*by_name[a], *by_name[b])):
            shown = yield partial(contrast_of, answer, a, b, (by_name[a], by_name[b]), run_inputs.pair(a, b))
        self.answer, self.run_inputs, self.unsaved, self.recoverable = answer, run_inputs, True, None
        self.message, self.failed = "", False
        if shown is None:
            self.show_message("")
            self.shown = self.result = None
        else:
            yield from self._show_outcome(shown)

    @property
    def has_result(self) -> bool:
        return self.result is not None or self.answer is not None

    @property
    def inputs_shown(self) -> RunInputs | None:
        """The inputs of the contrast shown; None if its layers are not in the viewer."""
        return None if self.shown is None else self.shown.run_inputs

    @property
    def is_described(self) -> bool:
        """Whether the table, or the result, is more than two groups of images."""
        return self.design.is_experiment or (self.answer is not None and self.answer.is_described)

    def show_contrast(self, a: str, b: str) -> None:
        """Make two groups A and B, and show them: curves, explanation, files for a paper."""
        self.design.choose_pair(a, b)
        answer, run_inputs = self.answer, self.run_inputs
        if self.running or answer is None or run_inputs is None or self.changed_since():
            return  # the contrast of other images would be shown
        pair = run_inputs.pair(a, b)
        rows = pair.existing()
        if not all(isinstance(row, Layer) for row in rows):
            self.show_message("⚠ Only images that are open as layers are shown with their curves.")
            return
        copies = iter([source_of(row, self.choices.dims).calibrated(pair.recipe) for row in rows if row is not None])
        sources = tuple(tuple(itertools.islice(copies, len(refs))) for refs in pair.layers)
        self.cancel()  # another pair was chosen meanwhile
        self.start_secondary_job(partial(contrast_of, answer, a, b, sources, pair), self._show_outcome)

    def _show_outcome(self, outcome: Outcome) -> JobSteps:
        """Replace the curve layers, then show the contrast."""
        assert outcome.shown is not None
        assert outcome.shown.run_inputs is not None
        with batched(self.choices.layers):  # the curves, and their arrangement
            yield from self._add_curves(outcome.layers, outcome.shown.run_inputs)
            self.show_message("")
            yield from self.show_in_turns(outcome.shown)
        yield None
        yield from self._show_curves(outcome.layers, outcome.shown.run_inputs)
        if (self.color_by, self.percentile) != (DEFAULT, DEFAULT_PERCENTILE):  # the coloring of new layers
            self.recolor()

    def on_failed(self, reason: str) -> None:
        """Clear the result after a failed run."""
        super().on_failed(reason)
        self.message = "\n".join(filter(None, (self.message, self.leftover_message())))
        self._keep_recoverable()
        self.answer = self.shown = self.result = self.run_inputs = None
        self.unsaved, self.is_new_result = False, True
        if not self.side_by_side.captioned:  # the bench keeps the arrangement
            self.side_by_side.restore()

    def leftover_message(self) -> str:
        """Return a message if the curves of an earlier result are still in the viewer."""
        if self.last_result is None or not list(self.curves):
            return ""
        names = f"{self.last_result.a.name} and {self.last_result.b.name}"
        return f"The colored curves in the viewer are those of the previous result ({names})."

    def show_message(self, words: str, tooltip: str = "") -> None:
        """Show a message about a file or a secondary job beside the result."""
        self.message_posted.emit(words, tooltip)

    def on_secondary_job_failed(self, reason: str) -> None:
        self.show_message(f"⚠ {reason}")

    def on_cancelled(self) -> None:
        """Report a cancelled run or secondary job, and which result is shown."""
        if self.running:
            self.message = _PREVIOUS_SHOWN if self.has_result else CANCELLED
        else:
            self.show_message(CANCELLED)

    @property
    def withheld(self) -> str:
        """For what faults of the outlines withhold the answer; empty for nothing."""
        if self.answer is not None and self.answer.is_described:
            return withheld_words(self.answer.experiment)
        return _WITHHELD if self.result is not None and self.result.withheld else ""

    @property
    def unanswered(self) -> str:
        """Why the result gives no answer, or none for some contrasts; empty if it does."""
        if self.answer is not None and self.answer.is_described:
            whole = self.answer.experiment
            return self.withheld or (whole.summary() if (whole.table["case"] == INCONCLUSIVE).all() else "")
        return in_one_line(self.result) if self.result is not None and self.result.case == INCONCLUSIVE else ""

    @property
    def state(self) -> str:
        """The state of the task, with the additional state "inconclusive" of two groups."""
        state = super().state
        return INCONCLUSIVE if state == "done" and self.unanswered and not self.is_described else state

    def deactivate(self) -> None:
        super().deactivate()
        self.side_by_side.restore()
        self.curves.disconnect_events()

    def activate(self) -> None:
        """Watch whether the result goes out of date, and link the curve layers to the selection."""
        super().activate()
        self.curves.connect_events()

    # Display.

    def show_in_turns(self, shown: DisplayedResult) -> Iterator[None]:
        """Show another contrast, in two event loop turns."""
        self.shown, self.result, self.last_result = shown, shown.result, shown.result
        self.message, self.failed, self.is_new_result, self.running = "", False, True, False
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
        if self.result is not None:
            feature = COLORINGS[self.color_by]
            limits = feature.limits(feature.values(self.result), self.percentile)
            for layer in self.curves:
                repaint(layer, self.color_by, limits)
        self.recolored.emit()

    def without_curves(self) -> list[str]:
        """Return the names of the images of the result, in the viewer, whose layer of curves was deleted."""
        then = self.inputs_shown
        pairs = zip([] if then is None else then.existing(), self.curves.by_image(), strict=False)
        gone = [image for image, own in pairs if own is None]
        return [image.name for image in gone if image is not None and image in self.choices.layers]

    def redraw(self) -> None:
        """Add the curves of the result again, as some of their layers were deleted."""
        if (shown := self.shown) is not None:
            view = shown.to_view(self.color_by)
            self.start_secondary_job(partial(curve_layers, shown.result, view, shown.sources), self._on_redrawn)

    def _on_redrawn(self, layers: list[CurveLayer]) -> Iterator[None]:
        if (run_inputs := self.inputs_shown) is not None:
            with batched(self.choices.layers):
                yield from self._add_curves(layers, run_inputs)
            yield
            yield from self._show_curves(layers, run_inputs)
            self.curves.mark_excluded(self.excluded_rows())
            self.recolor()
            self.show_message("")

    def _add_curves(self, layers: list[CurveLayer], run_inputs: RunInputs) -> Iterator[None]:
        """Add layers of curves, hidden, in place of the previous ones, and name them after their images."""
        yield from self.curves.replace(layers)
        for image, own in zip(run_inputs.existing(), layers, strict=False):
            if image is not None:
                name_after(own, image, "curves")

    def _show_curves(self, layers: list[CurveLayer], run_inputs: RunInputs) -> Iterator[None]:
        """Show new layers of curves, but for those over images that are hidden as there are too many side by side."""
        pairs = zip(run_inputs.existing(), layers, strict=False)
        yield from self.curves.show(but=self.side_by_side.crowded_out(pairs))

    def set_coloring(self, column: str, percentile: int) -> None:
        if (column, percentile) != (self.color_by, self.percentile):
            self.color_by, self.percentile = column, percentile
            self.recolor()

    def arrange(self, side_by_side: bool, *, captioned: bool = False) -> None:
        """Show the images side by side, each with its curves, or restore the previous view."""
        self.side_by_side.captioned = captioned and side_by_side
        if side_by_side:
            self.side_by_side.arrange()
        else:
            self.side_by_side.restore()

    def take_checks(self, shown: DisplayedResult) -> None:
        """Show the same result with what checks found about it; selection and scroll position are kept."""
        self.shown, self.result, self.last_result = shown, shown.result, shown.result
        self.changed.emit()

    # Excluded curves.

    def exclude(self, rows: ArrayLike) -> None:
        """Exclude curves of the result from the next run, or include them again if all of them are excluded."""
        if self.result is None:
            self.show_message("⚠ No result. Run compares the layers again.")
            return
        run_inputs, exclusions = self.inputs_shown, self.choices.exclusions
        again = self.excluded_rows().issuperset(np.atleast_1d(rows).tolist())
        found = {} if run_inputs is None else self._ids_by_image(rows, run_inputs)
        layers = [] if run_inputs is None else [run_inputs.refs[number]() for number in found]
        if run_inputs is None or any(layer not in self.choices.layers for layer in layers):
            self.show_message("⚠ Curves can be excluded only from layers in the viewer. Run compares them again.")
            return
        for (number, ids), layer in zip(found.items(), layers, strict=True):
            assert layer is not None
            exclusions.put(layer, ids, run_inputs.recipe, run_inputs.planes[number], excluded=not again)
        exclusions.changed.emit()

    def _leave_out_selected(self) -> None:
        self.exclude(self.selection.rows)

    def _images_and_ids(self, run_inputs: RunInputs) -> list[tuple[int, str]]:
        """Return for every curve of the result the number of its image among all, and its id in that image."""
        assert self.result is not None
        first = len(run_inputs.layers[0])
        return [*own_ids(self.result.a), *((first + place, one) for place, one in own_ids(self.result.b))]

    def _ids_by_image(self, rows: ArrayLike, run_inputs: RunInputs) -> dict[int, set[str]]:
        """Return the ids of curves of the result by the number of their image."""
        known, found = self._images_and_ids(run_inputs), dict[int, set[str]]()
        for row in np.atleast_1d(np.asarray(rows, dtype=np.int64)).tolist():
            number, one = known[row]
            found.setdefault(number, set()).add(one)
        return found

    # Selected curves as a group.

    def group_selected(self, name: str) -> None:
        """Put the selected curves into a group of their own: as parts of their images, which these parts replace.

        Those that are excluded stay where they are, and excluded.
        """
        shown, rows, name = self.shown, self.selection.rows, plain_name(name)
        if shown is None or not len(rows) or not name:
            return
        run_inputs, dims = shown.run_inputs, self.choices.dims
        if run_inputs is None or shown.sources is None:
            self.show_message("⚠ Curves can be put into a group only from layers in the viewer: compare again.")
            return
        sources, jobs, count = [*itertools.chain(*shown.sources)], [], 0
        for number, picked in self._ids_by_image(rows, run_inputs).items():
            layer = run_inputs.refs[number]()
            if (
                layer is None
                or layer not in self.choices.layers
                or fingerprint(layer, dims) != run_inputs.fingerprints[number]
            ):
                self.show_message("⚠ Images have changed since the comparison: compare again, then select the curves.")
                return
            if self.design.cell(layer, GROUP) == name:
                self.show_message(f"⚠ These curves are in the group {name}: enter another name.")
                return
            (out,) = self.choices.exclusions.of([layer], run_inputs.recipe, [run_inputs.planes[number]])
            if kept := frozenset(picked - out):
                count += len(kept)
                work = partial(picked_parts, sources[number], run_inputs.recipe, kept, frozenset(out), name)
                jobs.append((weakref.ref(layer), frozenset(out), work))
        if not jobs:
            self.show_message("⚠ The selected curves are left out: include them again, then put them into a group.")
            return
        images = [(ref, out, run_inputs.recipe) for ref, out, _ in jobs]
        self.start_secondary_job(
            partial(_all_parts, [work for *_, work in jobs]), partial(self._add_group, name, count, images)
        )

    def _add_group(
        self, name: str, count: int, images: list[tuple[Ref, Ids, Outlines]], parts: list[list[NewPart]]
    ) -> Iterator[None]:
        """Add the parts, which replace their images in the table; excluded curves stay excluded."""
        layers, made, hidden = self.choices.layers, list[Ref](), list[Ref]()
        restore = self.design.memento()
        for (ref, out, recipe), pieces in zip(images, parts, strict=True):
            whole = ref()
            if whole is None or whole not in layers:
                continue
            new = layers_of(whole, pieces)
            if out and isinstance(new[0], Labels):
                self.choices.exclusions.put(new[0], out, recipe, plane_of(new[0], self.choices.dims))
            groups = [{GROUP: name} if piece.picked else {} for piece in pieces]
            self.design.add_parts(whole, dict(zip(new, groups, strict=True)))
            for part in new:
                add_unselected(part, layers)
                made.append(weakref.ref(part))
                yield
            if whole.visible and not isinstance(whole, Image):  # labels would lie over their parts
                whole.visible = False
                hidden.append(ref)
        words = f"{counted(count, 'selected curve')} put into the group {name}."
        self.divisions.done.append(Division(words, made, hidden, restore))
        self.selection.pick([])
        self.show_message("")

    def excluded_rows(self) -> frozenset[int]:
        """Return the pooled indices of the curves that are excluded from the next run."""
        if self.result is None or (run_inputs := self.inputs_shown) is None:
            return frozenset()
        out = self.choices.exclusions.of(run_inputs.existing(), run_inputs.recipe, run_inputs.planes)
        every = enumerate(self._images_and_ids(run_inputs))
        return frozenset(row for row, (number, one) in every if one in out[number])

    def _show_excluded(self) -> None:
        if self.curves.mark_excluded(self.excluded_rows()):
            self.recolor()

    # The images of a group.

    def show_group(self, name: str) -> None:
        """Show the images of a group with their outlines, colored by the quantity in which it differs most."""
        if self.answer is None or self.busy:
            return
        if self.run_inputs is None:  # opened from a file
            self.show_message("⚠ The images of this result are not in the viewer: open them, then the result again.")
            return
        run_inputs, result, dims = self.run_inputs, self.answer.experiment, self.choices.dims
        rows = run_inputs.existing()
        if None in rows or name not in run_inputs.names:
            self.show_message("⚠ Images of this result are no longer in the table: compare again.")
            return
        wanted = run_inputs.layers[run_inputs.names.index(name)][:MAX_GROUP_IMAGES]
        sources = {
            place: (source_of(row, dims).calibrated(run_inputs.recipe), weakref.ref(row))
            for place, row in enumerate(rows)
            if row is not None and weakref.ref(row) in wanted
        }
        self.start_secondary_job(partial(outline_layers, result, name, sources, run_inputs.recipe), self._show_outlines)

    def _show_outlines(self, opened: list[tuple[Any, Layer]]) -> Iterator[None]:
        yield from self.group_images.show(opened)
        self.show_message(str(opened[-1][1].metadata["said"]))

    # Files.

    def on_written(self, paths: list[Path], *, saved: bool = False, note: str = "") -> None:
        """Report the files written, and whether these are the whole result."""
        self.unsaved = self.unsaved and not saved
        if saved:
            self.design.unsaved = False
            self.choices.exclusions.unsaved &= bool(self.changed_since())
        words, tooltip = saved_message(paths)
        self.show_message(f"{words}{note}", tooltip)

    def save(self, path: Path) -> None:
        """Write the contrast shown, with the comparison of all groups if there are more, to one file."""
        if self.shown is not None:
            self.start_secondary_job(
                partial(write_comparison_file, self.shown, self.color_by, self._whole_tree(), path),
                partial(self.on_written, saved=True),
            )

    def _whole_tree(self) -> Tree:
        """Return what is stored with a contrast: the design table, and the comparison of more groups."""
        answer, kept = self.answer, self._kept()
        if answer is None or not answer.is_described:
            return kept
        view = answer.to_view(self.run_inputs, kept)
        return {**kept, "experiment": {**answer.experiment.to_tree(), "view": view}}

    def _kept(self) -> Tree:
        """Return what is stored with any result: the design table, and which of the proposals its recipe was."""
        run_inputs = self.run_inputs
        recipe = self.shown.recipe if self.shown is not None else None if run_inputs is None else run_inputs.recipe
        number = self.choices.proposed.get(recipe, 0)
        return {"design": self.design.to_tree(), **({PROPOSAL: number} if number else {})}

    def save_experiment(self, path: Path) -> None:
        """Write the comparison of all groups, with all its inputs, to one file."""
        if self.answer is not None:
            self.start_secondary_job(
                partial(write_experiment_file, self.answer, self.run_inputs, self._sources(), self._kept(), path),
                self._on_experiment_saved,
            )

    def _on_experiment_saved(self, outcome: tuple[list[Path], str]) -> None:
        paths, note = outcome
        self.on_written(paths, saved=True, note=note)

    def _sources(self) -> list[list[Source]]:
        """Return the sources of the result, one image per sample; empty if any has changed since."""
        if self.run_inputs is None:
            return []
        dims, rows = self.choices.dims, self.run_inputs.existing()
        alive = [row for row in rows if row is not None]
        if len(alive) < len(rows) or [fingerprint(row, dims) for row in alive] != list(self.run_inputs.fingerprints):
            return []
        return [[source_in_file(row, dims).calibrated(self.run_inputs.recipe)] for row in alive]

    def export(self, path: Path) -> None:
        if self.shown is not None:
            self.start_secondary_job(partial(export_curves, self.shown, path), self.on_written)

    def export_experiment(self, folder: Path) -> None:
        if self.answer is not None:
            self.start_secondary_job(partial(write_experiment_tables, self.answer, folder), self.on_written)

    def report(self, path: Path) -> None:
        if self.result is not None:
            self.start_secondary_job(partial(write_report, self.result, path), self.on_written)

    def export_for_paper(self, folder: Path) -> None:
        """Write everything for a paper into a folder: of all groups, or of two groups and nothing else."""
        job: Callable[[], list[Path]] | None = None
        if self.is_described and self.answer is not None:
            sources = tuple(map(tuple, self._sources()))
            job = partial(write_experiment_paper, self.answer, self.run_inputs, sources, self._whole_tree(), folder)
        elif self.shown is not None:
            job = partial(write_paper_files, self.shown, self.color_by, self._whole_tree(), folder)
        if job is not None:
            self.start_secondary_job(job, partial(self.on_written, saved=True))

    def check_robustness(self) -> None:
        if self.shown is not None:
            self.start_secondary_job(partial(checked, self.shown), self._on_checked)

    def _on_checked(self, shown: DisplayedResult) -> Iterator[None]:
        self.show_message("")
        self.unsaved = True
        return self.show_in_turns(shown)

    def overrule(self) -> None:
        """Show the cases despite serious faults of the outlines, as the user has checked them."""
        if self.has_result:
            self.start_secondary_job(partial(overrule_faults, self.shown, self.answer), self._on_overruled)

    def _on_overruled(self, results: tuple[DisplayedResult | None, Answer | None]) -> Iterator[None]:
        shown, self.answer = results
        self.unsaved = True
        self.run_inputs = self.run_inputs and replace(
            self.run_inputs, settings=replace(self.run_inputs.settings, overrule=True)
        )
        self.choices.set(settings=replace(self.choices.settings, overrule=True))
        self.show_message("")
        if shown is not None:
            yield from self.show_in_turns(shown)

    def open(self, path: Path, *folders: Path) -> None:
        """Show a saved comparison, or a saved experiment, with its images, searched in these folders if they moved."""
        self.missing_images = None
        self.start_secondary_job(partial(read_result_file, path), partial(self._on_opened, path, folders))

    def _on_opened(self, path: Path, folders: Sequence[Path], opened: Outcome) -> JobSteps:
        """Open the images of a result, unless some are open, then show it."""
        names, inputs = opened.images()
        there = {path_of(layer) for layer in self.choices.layers}
        if inputs is not None and len(names) == len(inputs.files) <= MAX_OPENED_IMAGES and not {*inputs.paths} & there:
            found, gone = yield partial(input_layers, inputs, names, folders)
            if gone:
                self.missing_images = path, gone
            else:
                with batched(self.choices.layers):
                    for layer in found:
                        add_unselected(layer, self.choices.layers)
                        yield None
                opened = opened.of_layers([fingerprint(layer, self.choices.dims) for layer in found])
            del found
        yield from self.restore_result(opened)
        self.changed.emit()

    def recover(self) -> None:
        if (kept := self.recoverable) is not None:
            self.start_secondary_job(partial(prepare_outcome, kept.shown, answer=kept.answer), self._on_recovered)

    def _on_recovered(self, opened: Outcome) -> JobSteps:
        """Show the kept result; if the current one is unsaved too, keep that instead."""
        before = self.recoverable
        yield from self.restore_result(opened)
        if self.recoverable is before:
            self.recoverable = None
        self.unsaved = True

    def _keep_recoverable(self) -> None:
        """Keep an unsaved result before it is replaced by another."""
        if self.unsaved:
            shown, answer = self.shown, self.answer
            self.recoverable = Outcome(
                shown and replace(shown, view=shown.to_view(self.color_by)),
                [],
                answer and replace(answer, view=answer.to_view(self.run_inputs, self._kept())),
            )

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
        shown, answer = opened.shown, opened.answer
        if shown is not None:
            shown = yield shown.linked(self.choices.layers, self.choices.dims).with_copies
            with batched(self.choices.layers):
                yield from self.curves.replace(opened.layers, new=opened.new)
                yield None
                self._shown_results.add(shown.result)
                whole = is_whole(shown.result, opened.layers)
                if whole:
                    self.show_message("")
                    self._take(answer)
                    add_feature_columns(opened.layers, shown.result)
                    painted = str(shown.view.get("painted"))
                    self.color_by = painted if painted in COLORINGS else DEFAULT
                    yield None
                    yield from self.show_in_turns(shown)
            yield None
            yield from self.curves.show()
            if not whole:
                self.show_message("⚠ Its layers were changed in the meantime: open the comparison again.")
                return
            self.recolor()
            yield None
            # Restore the inputs of the result, as far as known.
            self.choices.set(shown.recipe or self.choices.recipe, shown.result.settings)
            self._restore_proposal(shown.recipe, shown.view)
            self._restore_choices(shown)
            if answer is None and isinstance(table := shown.view.get("design"), dict):
                self.design.restore_tree(table)
        else:
            self._take(answer)
            self.shown = self.result = None
        if answer is not None:
            yield from self._restore_groups(answer)
            if shown is None:
                gone = "" if self.run_inputs is not None else " Its original images are not in the viewer."
                self.show_message(f"Opened from {opened.file}.{gone}" if opened.file else "")

    def _take(self, answer: Answer | None) -> None:
        """Replace the comparison of all groups by that of another result, which is saved, and keep an unsaved one."""
        self._keep_recoverable()
        self.answer, self.run_inputs, self.message = answer, None, ""
        self.unsaved = self.failed = False

    def _restore_groups(self, answer: Answer) -> Iterator[None]:
        """Restore the design table of a comparison of all groups, and link it to its images if these are unchanged."""
        view, dims = answer.view, self.choices.dims
        if isinstance(table := view.get("design"), dict):
            self.design.restore_tree(table)
        yield
        recipe = recipe_of(view["segmentation"]) if "segmentation" in view else None
        self.choices.set(recipe or self.choices.recipe, answer.experiment.settings)
        self._restore_proposal(recipe, view)
        rows: list[Row] = self.design.grouped()
        unchanged = [row.name for row in rows] == view.get("images", []) and [
            fingerprint(row, dims) for row in rows
        ] == view.get("prints", [])
        if recipe is not None and rows and unchanged and len(view.get("excluded", ())) == len(rows):
            excluded = tuple(frozenset(map(str, ids)) for ids in view["excluded"])
            self.choices.exclusions.replace_all(rows, excluded, recipe)
            planes = tuple(plane_of(row, dims) for row in rows)
            self.run_inputs = replace(self.current_inputs(), fingerprints=tuple(view["prints"]), planes=planes)

    def _restore_proposal(self, recipe: Outlines | None, view: Tree) -> None:
        """Remember which of the proposals the recipe of an opened result was."""
        if recipe is not None and isinstance(number := view.get(PROPOSAL), int) and number > 0:
            self.choices.proposed.setdefault(recipe, number)

    def _restore_choices(self, shown: DisplayedResult) -> None:
        """Choose the layers of a result as samples, and exclude the curves that it excludes."""
        sides = None if shown.run_inputs is None else shown.run_inputs.existing_sides()
        if shown.run_inputs is not None and sides is not None:
            if self.answer is None:
                self.run_inputs = shown.run_inputs
            self.design.choose(*sides)
            excluded, recipe = shown.run_inputs.excluded, shown.run_inputs.recipe
            self.choices.exclusions.replace_all(itertools.chain(*sides), excluded, recipe)

    def _link_images(self) -> None:
        """Link a result to its images if they are opened after it, unless other images are chosen."""
        if self.busy:
            self.finished.connect(self._link_debouncer.start, unique=True)
            return
        self.finished.disconnect(self._link_debouncer.start, missing_ok=True)
        if self.shown is not None and self.shown.run_inputs is None:
            shown = self.shown.linked(self.choices.layers, self.choices.dims)
            sides = None if shown.run_inputs is None else shown.run_inputs.existing_sides()
            if sides is not None and set(itertools.chain(*self.design.sides())) <= {*itertools.chain(*sides)}:
                self.start_secondary_job(shown.with_copies, self._on_linked)

    def _on_linked(self, shown: DisplayedResult) -> None:
        self.shown = shown
        self._restore_choices(shown)
        self.side_by_side.schedule_arrange()


# In the worker thread ------------------------------------------------------------------------------------------


def _all_parts(images: Sequence[Callable[[], list[NewPart]]]) -> list[list[NewPart]]:
    report("finding the selected curves")
    return [work() for work in images]


def contrast_of(answer: Answer, a: str, b: str, sources: Sources, run_inputs: RunInputs) -> Outcome:
    """Return two groups as a comparison, with its curve layers."""
    report("finding typical curves", 0, 2)
    names = dict(zip(answer.groups, answer.experiment.design.groups, strict=True))
    result = answer.experiment.contrast(names[a], names[b])
    shown = prepared(DisplayedResult.of_run(result, run_inputs, sources))
    report("drawing curves", 1, 2)
    return Outcome(shown, curve_layers(shown.result, shown.view, sources))


def prepared(shown: DisplayedResult) -> DisplayedResult:
    """Compute the cached properties of a result that are too slow for the main thread, and return it."""
    _ = shown.result.witnesses, shown.result.warnings
    return shown


def prepared_again(shown: DisplayedResult) -> DisplayedResult:
    """Compute the cached properties of a copy of a result that the page *Why* may show already, and return it."""
    _ = shown.result.ratios
    return prepared(shown)


def read_result_file(path: Path) -> Outcome:
    """Read a saved comparison, and create its layers; or read a saved experiment."""
    report(f"opening {path.name}", 0, 3)
    if is_archive(path, EXPERIMENT):
        return Outcome(None, [], read_experiment_file(path), file=path.name)
    with file_errors_named(path, "opened"):
        result, view = Comparison.load(path), read_view(path)
    return prepare_outcome(DisplayedResult.of_file(result, view, str(path)))


def prepare_outcome(
    shown: DisplayedResult | None, layers: list[CurveLayer] | None = None, answer: Answer | None = None
) -> Outcome:
    """Compute what the file of a result does not contain, and create its layers if there are none yet."""
    if shown is None:
        return Outcome(None, [], answer)
    report("finding typical curves", 1, 3)
    answer, shown = answer or answer_of_tree(shown.view), prepared(shown).with_files()
    report("drawing curves", 2, 3)
    return Outcome(shown, layers or curve_layers(shown.result, shown.view), answer, new=not layers)


def write_comparison_file(shown: DisplayedResult, painted: str, whole: Tree, path: Path) -> list[Path]:
    """Write a contrast, and what is stored with it, to one file."""
    report(f"saving {path.name}")
    if path.suffix != ".npz":  # napari would not recognize it
        raise ValueError(f"{path.name}: save a comparison under a name ending in {ENDING}")
    with file_errors_named(path):
        replace(shown.result, inputs=shown.inputs()).save(path, view={**shown.to_view(painted), **whole})
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
    """Return the curves of A or B with their rows of the table of outlines, witnesses and provenance."""
    result = shown.result
    ensemble, other = (result.a, result.b) if side == "A" else (result.b, result.a)
    whole = pd.concat([result.outlines, result.witnesses.drop(columns=["sample", "id"])], axis=1)
    own = whole[: len(result.a)] if side == "A" else whole[len(result.a) :]
    known = ["id", *ensemble.metadata, *(["image"] if len(set(ensemble.images.tolist())) == 1 else [])]
    features = own.drop(columns=known).reset_index(drop=True)
    provenance = {"side": side, "compared with": other.name, "answer": in_one_line(result)}
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


def write_paper_files(shown: DisplayedResult, painted: str, whole: Tree, folder: Path) -> list[Path]:
    """Write figure, methods, tables, script and the comparison into a folder."""
    from ..explanation.figures import style
    from ..explanation.paper import answer_figure, image_table, methods

    report("measuring the difference", 0, 5)
    result, known = shown.result, headline(shown.result)
    paths = [folder / name for name in ("figure.svg", "figure.png", "methods.txt", "objects.csv", "images.csv")]
    code, file_of_pair = folder / "compare.py", folder / f"pair{ENDING}"
    # Without its inputs, the script loads the comparison of this folder, not the file that was opened.
    own, beside = replace(shown, path=str(file_of_pair.absolute())), dict[Path, Source]()
    if shown.sources is not None:
        sources, beside = with_files_beside(shown.sources, folder)
        own = replace(own, sources=sources)
    every = [*paths, code, file_of_pair, *beside]
    refuse_overwriting(every, remedy=OTHER_FOLDER)
    copies = write_sources(beside, folder)
    with recording_outputs(folder, [path.name for path in every if path not in beside]) as written:
        with file_errors_named(paths[0]):
            report("drawing the figure", 1, 5)
            figure = answer_figure(result, known)
            lay_out(figure)
            folder.mkdir(parents=True, exist_ok=True)  # as late as this: a cancelled export leaves no empty folder
            for path in paths[:2]:
                with style(), replacing(path) as file:
                    figure.savefig(file, format=path.suffix[1:], dpi=300)
            report("writing the tables", 2, 5)
            said = methods(
                result,
                shown.recipe,
                known,
                kinds=shown.kinds,
                proposal=int(whole.get(PROPOSAL, 0)),
                notes=[note.removeprefix("✓ ") for note in shown.notes],
                files=(code.name, file_of_pair.name),
            )
            write_bytes(paths[2], said.encode())
            write_table(paths[3], result.outlines)
            write_table(paths[4], image_table(result))
            written += paths
        report("saving the comparison", 3, 5)
        written += write_comparison_file(shown, painted, whole, file_of_pair)
        report("writing the script", 4, 5)
        with file_errors_named(code):
            write_bytes(code, script_of(own, folder).encode())
            written.append(code)
    return [*written, *copies]


def checked(shown: DisplayedResult, archetypes: int = 5) -> DisplayedResult:
    """Return a result with notes on the dependence of form and scale, and on the comparison with several archetypes.

    It is inconclusive if the case depends on the archetype. A check mark says that a finding supports the result.
    """
    total = archetypes * len(COMPARISON_STEPS) + 1
    report("testing dependence", 0, total)
    with as_part(0, total):
        test = shown.result.dependence()
    with as_part(1, total):
        sensitivity = archetype_sensitivity(shown.result, archetypes)
    p = p_text(test.p_value, test.significance)
    words = f"✓ No dependence of form and scale was detected within the images (p = {p})."
    if test.rejected:
        words = (
            f"Form and scale depend on each other within the images (p = {p}): a difference in one may be due to the "
            "other, and neither test detects a difference in their pairing alone."
        )
    found = words, ("✓ " if sensitivity.stable else "") + sensitivity.summary()
    notes = tuple(dict.fromkeys((*shown.notes, *found)))  # each once, also if checked again
    return prepared_again(replace(shown, result=sensitivity.judged(shown.result), notes=notes))


def overrule_faults(
    shown: DisplayedResult | None, answer: Answer | None
) -> tuple[DisplayedResult | None, Answer | None]:
    """Return a result whose cases are shown despite serious faults of the outlines."""
    report("showing the answer")
    answer = answer and overruled_answer(answer)
    if shown is not None:
        settings = replace(shown.result.settings, overrule=True)
        used = shown.used and replace(shown.used, settings=settings)
        shown = prepared_again(replace(shown, result=replace(shown.result, settings=settings), used=used))
    return shown, answer
