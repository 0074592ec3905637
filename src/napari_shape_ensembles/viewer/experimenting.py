"""All groups of the design table, compared: the answer, its description in sentences and figures, and its file.

The functions run in the worker thread.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..archive import Tree, write_bytes
from ..comparison import Experiment, experiment, position_dependence
from ..comparison.answer import ratio_words
from ..comparison.compare import LONG_SECONDS, expected_seconds
from ..comparison.design import GROUP, NO_REQUESTED_TESTS, RequestedTests, plain_name
from ..comparison.position import not_tested
from ..comparison.saved import read_view
from ..comparison.verdict import ROW_WORDS
from ..io.outputs import recording_outputs, refuse_overwriting
from ..io.rerun import recipe_of, recipe_tree
from ..io.results import EXPERIMENT, RECORD, TRENDS, trend_figures, write_experiment, write_table
from ..outlines import Ensemble
from ..progress import as_part, duration, report
from ..words import counted, p_text, pooled_name
from .designing import SIDES, frame_of, requested_tests_of, requested_tests_tree
from .inputs import (
    Source,
    Sources,
    file_errors_named,
    inputs_of_sources,
    origins_of,
    picked_words,
    trace_image,
    usable,
    with_own_ids,
)
from .report import script_of_experiment, script_of_file, with_files_beside, write_sources
from .task import OTHER_FOLDER, RunInputs

# Maximum number of contrasts listed unsorted.
_MAX_UNSORTED = 20
# Columns of the table of an experiment that hold the ratios of a contrast, and their intervals.
_RATIOS = (("scale_effect", "scale_low", "scale_high"), ("elongation", "elongation_low", "elongation_high"))
# Steps after the images are traced; those of the comparison are parts of the first.
_STEPS = 10
#: Inputs of a run besides layers, groups, recipe and settings, as named where a result is out of date.
TABLE, CONTROL, REQUESTED = "the design table", "the control", "the choice of covariates and interactions"
#: The values of these inputs for two groups of images and nothing else.
PLAIN_TABLE: Mapping[str, Any] = {TABLE: (), CONTROL: "", REQUESTED: NO_REQUESTED_TESTS}

ENDING = ".experiment.npz"
#: In a saved view, which of the proposed recipes the recipe was, from 1.
PROPOSAL = "proposal"


@dataclass(frozen=True, eq=False)
class Answer:
    """The comparison of all groups, of which any two can be shown.

    What describes all groups at once is empty for a table of two groups and nothing else, whose only contrast says it.
    """

    experiment: Experiment
    groups: tuple[str, ...]  #: names of the groups in the design table, in the order of the experiment's
    requested: RequestedTests = NO_REQUESTED_TESTS  #: covariates adjusted for, and interactions
    sentences: tuple[str, ...] = ()  #: omnibus tests and trends
    contrasts: tuple[str, ...] = ()  #: a sentence per pair of groups
    notes: tuple[str, ...] = ()
    input_notes: tuple[str, ...] = ()  #: those of the notes that are not warnings of the experiment
    rows: tuple[tuple[str, ...], ...] = ()  #: contrast, case, p of form, p of scale, size ratio
    pairs: tuple[tuple[str, str], ...] = ()  #: both groups of each row
    figures: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)  #: name -> draws on a Matplotlib figure
    wells: Mapping[str, tuple[int, int]] = field(default_factory=dict)  #: group named like a well -> row and column
    view: Tree = field(default_factory=dict)  #: the inputs as recorded in its file, if it was opened from one

    @property
    def is_described(self) -> bool:
        """Whether there is more than one contrast, or a design, to describe."""
        return bool(self.sentences)

    def to_view(self, run_inputs: RunInputs | None, kept: Tree) -> Tree:
        """Return the state that is stored with the result: the table and what else is `kept`, and its basis."""
        view = {**self.view, **kept}
        if run_inputs is None:
            return view
        rows = run_inputs.existing()
        recipe = recipe_tree(run_inputs.recipe)
        return view | {
            **({} if recipe is None else {"segmentation": recipe}),
            "images": ["" if row is None else row.name for row in rows],
            "kinds": list(dict.fromkeys(kind for row in rows if row is not None for kind in origins_of(row))),
            "prints": list(run_inputs.fingerprints),
            "excluded": [sorted(ids) for ids in run_inputs.excluded],
            "notes": list(self.input_notes),
            "asked": requested_tests_tree(self.requested),
        }


def compare_groups(sources: Sources, run_inputs: RunInputs) -> Answer:
    """Trace the images, compare their groups, and describe the result."""
    recipe, settings, more = run_inputs.recipe, run_inputs.settings, run_inputs.more
    rows, requested, control = more[TABLE], more[REQUESTED], more[CONTROL]
    assert isinstance(rows, tuple)
    assert isinstance(requested, RequestedTests)
    images = list(itertools.chain(*sources))
    total = 2 * len(images) + _STEPS
    ensembles: list[Ensemble] = []
    for place, (source, ids) in enumerate(zip(images, run_inputs.excluded, strict=True)):
        with as_part(2 * place, total):
            image = trace_image(source, recipe, ids)
            ensembles.append(usable(image, (ensembles or [image])[0].unit))
    titles = list(run_inputs.names)
    if not rows:
        titles, left = titles_of_groups(run_inputs.names, sources), iter(ensembles)
        ensembles = [one for own in sources for one in with_own_ids([*itertools.islice(left, len(own))])]
    groups = [title for title, own in zip(titles, sources, strict=True) for _ in own]
    frame = _design_frame(groups, rows or [(), *(() for _ in images)])
    with as_part(2 * len(images), total):
        if len(sources) == 2:
            _announce_duration(ensembles, len(sources[0]), run_inputs)
        result = experiment(ensembles, frame, settings, control=str(control) or None)
    notes = picked_words(sources)
    if rows and (result.table["permuted"] == "curves").all():  # unreplicated images: the test of the page Trust
        try:
            found = position_dependence(ensembles, settings)
            notes.append(f"{'' if found.rejected else '✓ '}{found.sentence()}")
        except ValueError as error:  # too few outlines
            notes.append(not_tested(error))
    names = dict(zip(map(plain_name, titles), run_inputs.names, strict=True))
    in_order = tuple(names[name] for name in result.design.groups)
    return answer_of(result, requested, notes, groups=in_order) if rows else Answer(result, in_order)


def _design_frame(groups: Sequence[str], rows: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Return the design of images in these groups, given its other columns: a header, then a row per image."""
    header, *cells = rows
    return frame_of([(GROUP, *header), *((group, *line) for group, line in zip(groups, cells, strict=True))])


def titles_of_groups(names: Sequence[str], sources: Sources) -> list[str]:
    """Return names of two groups: those of their images for groups called A and B only."""
    titles = [
        pooled_name([source.name for source in own]) if name in SIDES else name
        for name, own in zip(names, sources, strict=True)
    ]
    return titles if len(set(map(plain_name, titles))) == len(titles) else list(names)


def _announce_duration(images: Sequence[Ensemble], first: int, run_inputs: RunInputs) -> None:
    """Report how long the comparison will take, while the settings can still be changed."""
    sides = [Ensemble.pooled(own, name=name) for own, name in ((images[:first], "A"), (images[first:], "B"))]
    if (expected := expected_seconds(sides[0], sides[1], run_inputs.settings)) > LONG_SECONDS:
        report(f"comparing {counted(sum(map(len, images)), 'curve')}, expected to take {duration(expected)}", 0, _STEPS)


def answer_of(
    result: Experiment,
    requested: RequestedTests,
    notes: Sequence[str],
    *,
    groups: tuple[str, ...] = (),
    view: Tree | None = None,
) -> Answer:
    """Describe an experiment in sentences, with notes on its inputs."""
    table, order = result.table, ranked(result.table)
    overall, contrasts = result.overall(requested.given, requested.interactions), result.sentences()
    lines = tuple(
        (
            str(one["contrast"]),
            ROW_WORDS[one["case"]],
            p_text(one["undulation_p_adjusted"], result.settings.test_level),
            p_text(one["scale_p_adjusted"], result.settings.test_level),
            *(ratio_words(*(one[name] for name in names))[0] for names in _RATIOS),
        )
        for one in order.to_dict("records")
    )
    from ..studies.superplot import figures_of, plate_of  # imports Matplotlib, here in the worker thread

    return Answer(
        result,
        groups or result.design.groups,
        requested,
        tuple(overall if len(table) > 1 else [*contrasts, *overall]),
        tuple(contrasts),
        (*notes, *result.warnings),
        tuple(notes),
        lines,
        tuple(zip(order["a"], order["b"], strict=True)),
        figures_of(result),
        plate_of(result.design.groups) or {},
        view or {},
    )


def withheld_words(result: Experiment) -> str:
    """State for what faults of the outlines withhold the answer; empty for nothing."""
    count, total = sum(map(bool, result.withheld)), len(result.table)
    if not (count or result.overall_fault):
        return ""
    where = f" for {count} of {total} contrasts" if count and total > 1 else "" if count else " over all groups"
    return f"⚠ No answer{where} until the outlines have been checked."


def overruled_answer(answer: Answer) -> Answer:
    """Return the comparison of all groups with the cases that faults of the outlines withheld."""
    result = answer.experiment.overruled()
    if not answer.is_described:
        return replace(answer, experiment=result)
    return answer_of(result, answer.requested, answer.input_notes, groups=answer.groups, view=answer.view)


def ranked(table: pd.DataFrame) -> pd.DataFrame:
    """Return the contrasts, sorted by p-value if there are many."""
    if len(table) <= _MAX_UNSORTED:
        return table
    smallest = table[["undulation_p_adjusted", "scale_p_adjusted"]].min(axis=1)
    return table.assign(smallest=smallest).sort_values(["smallest", "undulation_p", "scale_p"], kind="stable")


def read_experiment_file(path: Path) -> Answer:
    """Read a saved experiment, and describe it in sentences."""
    report(f"opening {path.name}", 0, 2)
    with file_errors_named(path, "opened"):
        return _answer_of_file(Experiment.load(path), read_view(path, Experiment.FORMAT))


def answer_of_tree(tree: Tree) -> Answer | None:
    """Return the comparison of all groups that was stored with that of two; None if there was none."""
    kept = tree.get("experiment")
    return _answer_of_file(Experiment.of_tree(kept), kept.get("view", {})) if isinstance(kept, dict) and kept else None


def _answer_of_file(result: Experiment, view: Tree) -> Answer:
    return answer_of(result, requested_tests_of(view.get("asked")), [*map(str, view.get("notes", []))], view=view)


def write_experiment_file(
    answer: Answer, run_inputs: RunInputs | None, sources: Sequence[Sequence[Source]], kept: Tree, path: Path
) -> tuple[list[Path], str]:
    """Write an experiment to one file, as the command line does; also return why it cannot be rerun from its inputs.

    These are the files of the layers, or those recorded for a result from a file whose images are not in the viewer.
    """
    report(f"saving {path.name}")
    inputs = answer.experiment.inputs
    if run_inputs is not None:
        inputs = inputs_of_sources(sources, run_inputs.recipe, run_inputs.excluded) if sources else None
    with file_errors_named(path):
        replace(answer.experiment, inputs=inputs).save(path, view=answer.to_view(run_inputs, kept))
    words = "" if inputs else ". Not all of its images are unmodified files, so rerun compares the saved outlines."
    return [path], words


def write_experiment_tables(answer: Answer, folder: Path) -> list[Path]:
    """Write the tables and figures of an experiment, with the requested tests."""
    report("writing tables and figures")
    names = (*EXPERIMENT, *trend_figures(answer.experiment.design.covariates))
    refuse_overwriting([folder / name for name in names], remedy=OTHER_FOLDER)
    with file_errors_named(folder), recording_outputs(folder, names, [TRENDS]) as written:
        written += write_experiment(folder, answer.experiment, requested=answer.requested)
    return written


def write_experiment_paper(
    answer: Answer, run_inputs: RunInputs | None, sources: Sources, whole: Tree, folder: Path
) -> list[Path]:
    """Write tables, figures, methods, a table of all outlines, the script and the experiment into a folder.

    The script repeats the experiment from the files of its images, or from copies beside it; if images have changed
    or are not in the viewer, it loads the experiment.
    """
    from ..explanation.paper import experiment_methods

    report("writing tables and figures", 0, 4)
    kept = {name: value for name, value in whole.items() if name != "experiment"}
    result, view = answer.experiment, answer.to_view(run_inputs, kept)
    names = ("methods.txt", "objects.csv", "compare.py")
    placed, beside = with_files_beside(sources, folder)
    every = [folder / name for name in (*names, *EXPERIMENT, *trend_figures(result.design.covariates))]
    refuse_overwriting([*every, *beside], remedy=OTHER_FOLDER)
    copies = write_sources(beside, folder)
    with file_errors_named(folder), recording_outputs(folder, [path.name for path in every], [TRENDS]) as made:
        made += write_experiment(folder, result, requested=answer.requested)
        write_experiment_file(answer, run_inputs, sources, kept, folder / RECORD)
        report("writing the methods", 1, 4)
        recipe = recipe_of(view["segmentation"]) if "segmentation" in view else None
        said = experiment_methods(
            result,
            recipe if run_inputs is None else run_inputs.recipe,
            kinds=[str(kind) for kind in view.get("kinds", ["image"])],
            proposal=int(view.get(PROPOSAL, 0)),
            requested=answer.requested,
            notes=[note.removeprefix("✓ ") for note in answer.input_notes],
            files=("compare.py", RECORD),
        )
        write_bytes(every[0], said.encode())
        report("writing the table of outlines", 2, 4)
        write_table(every[1], result.to_dataframe())
        report("writing the script", 3, 4)
        write_bytes(every[2], _script(answer, run_inputs, placed, folder).encode())
        made += every[:3]
    return [*made, *copies]


def _script(answer: Answer, run_inputs: RunInputs | None, sources: Sources, folder: Path) -> str:
    if run_inputs is None or not sources:
        return script_of_file("Experiment", folder / RECORD, folder)
    rows = run_inputs.more[TABLE]
    assert isinstance(rows, tuple)
    groups = [name for name, refs in zip(run_inputs.names, run_inputs.layers, strict=True) for _ in refs]
    frame = _design_frame(groups, rows)
    return script_of_experiment(
        sources,
        run_inputs.recipe,
        run_inputs.settings,
        run_inputs.excluded,
        {str(name): frame[name].tolist() for name in frame},
        control=str(run_inputs.more[CONTROL]),
        requested=answer.requested,
        folder=folder,
    )
