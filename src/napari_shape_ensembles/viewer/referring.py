"""Images judged by a reference: one is made of a group, or opened; each other image is one more of its kind, or not.

The functions below run in the worker thread.
"""

import weakref
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from psygnal import Signal

from ..comparison import Reference
from ..comparison.design import REPLICATE
from ..comparison.reference import by_image
from ..io.references import judged_files
from ..io.rerun import recipe_of
from ..io.settings_file import SettingsFile
from ..io.sources import Reading, files_of
from ..outlines import Ensemble, Outlines
from ..palette import COLOR_A, COLOR_B
from ..progress import as_part, report
from ..words import p_text
from .choices import Choices
from .inputs import MADE_FOR, Source, Sources, file_errors_named, inputs_of_sources, trace_image, write_file
from .layers import CurveLayer, OwnLayers, name_after, outline_layer
from .task import JobSteps, RunInputs, Task, saved_message

ENDING = ".reference.npz"
# Inputs of a run besides layers, recipe and settings.
_MAKING, _REFERENCE, _REPLICATES = "the group of the reference", "the reference", "the replicates"
# Unlike outlines are painted in at most so many images.
_MAX_PAINTED = 20
#: Columns of the table of images.
COLUMNS = ("image", "unlike in", "p", "what")


@dataclass(frozen=True, eq=False)
class Judgement:
    """Images judged by a reference, the least usual first."""

    table: pd.DataFrame  #: of `Reference.judge`
    sentences: tuple[str, ...]
    usual: pd.DataFrame  #: of `Reference.to_dataframe`
    unlike: dict[int, tuple[Ensemble, pd.DataFrame]] = field(default_factory=dict)  #: image -> `Reference.unlike`

    @property
    def ranked(self) -> list[int]:
        """Rows of the table, by p-value; those that are not judged come last."""
        return np.argsort(self.table["p"].to_numpy(), kind="stable").tolist()  # that of pandas gives -1 for NaN

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Cells of `COLUMNS` in the order of `ranked`."""
        chosen = self.table.iloc[self.ranked].to_dict("records")
        return [
            (one["name"], one["differs"] or "not judged", "" if one["p"] != one["p"] else p_text(one["p"]),
             one["what"] or one["reason"] or one["remarks"])
            for one in chosen
        ]  # fmt: skip

    def draw(self, figure: Any) -> Any:
        """Draw each image as a dot among those of the reference: size and roughness, as ratios to its mean."""
        from matplotlib.ticker import MaxNLocator, NullLocator  # slow to import: here in the worker thread

        axes = figure.subplots()
        form = "roughness" if np.isfinite(self.table["roughness"]).any() else "coarse form"
        unlike = self.table["differs"].isin(["form", "scale", "both"])
        dots = (
            ("reference", self.usual, {"marker": "o", "color": "0.6"}),
            ("like it", self.table[~unlike], {"marker": "o", "facecolors": "none", "edgecolors": COLOR_A}),
            ("unlike", self.table[unlike], {"marker": "D", "color": COLOR_B}),
        )
        for label, table, style in dots:
            axes.scatter(table["size"], table[form], label=label, s=28, **style)
        for row in self.ranked[: int(unlike.sum())][:5]:
            place = self.table["size"][row], self.table[form][row]
            axes.annotate(self.table["name"][row], place, (4, 4), textcoords="offset points", parse_math=False)
        axes.set(xscale="log", yscale="log", xlabel="size, relative to the reference", ylabel=form)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        axes.legend(fontsize="small")
        return [axes]


class ReferenceTask(Task[Judgement]):
    """Makes a reference of a group, and judges the images of the other groups by it."""

    message_posted = Signal(str, str)  #: (str, str): a message about a file, and the text of its tooltip
    opened = Signal()  #: there is a reference

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.reference: Reference | None = None
        self.name = ""  #: of the reference: its group or its file
        self.unsaved = False  #: whether the reference was made here, and not saved
        self.curves = OwnLayers(choices)
        self._group = ""  # of which the reference was made
        self._making = ""
        self._recipe: Outlines | None = None  # by which its images were read

    @property
    def title(self) -> str:
        return "" if self.reference is None else f"{self.name}: {self.reference.summary()}."

    def queries(self) -> list[Any]:
        """Return the images to judge: those of all other groups."""
        return [row for name, own in self.choices.design.groups().items() if name != self._group for row in own]

    def blocking_reason(self) -> str:
        if self._making:
            return ""
        if self.reference is None:
            return "Make a reference of a group of images of the accepted kind, or open one."
        return "" if self.queries() else "Open images, and enter a group for those to be judged."

    def current_inputs(self) -> RunInputs:
        """Return the images to judge, or those of the group that becomes the reference."""
        choices, design = self.choices, self.choices.design
        rows = design.groups().get(self._making, []) if self._making else self.queries()
        recipe = choices.recipe if self._making or self._recipe is None else self._recipe
        excluded = choices.exclusions.of(rows, recipe)
        more: dict[str, Hashable] = {_MAKING: self._making, _REFERENCE: self.name, _REPLICATES: ()}
        if self._making and any(design.cell(row, REPLICATE) for row in rows):
            more[_REPLICATES] = tuple(design.cell(row, REPLICATE) or row.name for row in rows)
        return RunInputs((tuple(map(weakref.ref, rows)),), recipe, choices.settings, excluded, more)

    def make(self, group: str) -> None:
        if not self.busy:
            self._making = group
            self.run()

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Make the reference, or judge the images."""
        group, self._making = str(run_inputs.more[_MAKING]), ""
        (images,) = sources
        if group:
            reference = yield partial(reference_of, images, run_inputs)
            self._set(reference, f"group {group}", group, run_inputs.recipe)
            self.unsaved = True
            return
        assert self.reference is not None
        judged, layers = yield partial(judge, self.reference, images, run_inputs)
        self.result, self.run_inputs = judged, run_inputs
        for place, layer in layers:
            if (image := run_inputs.layers[0][place]()) is not None:
                name_after(layer, image, "unlike")
                MADE_FOR[layer] = run_inputs.layers[0][place]
        yield from self.curves.replace([layer for _, layer in layers])
        yield from self.curves.show()

    def on_failed(self, reason: str) -> None:
        super().on_failed(reason)
        self._making = ""

    def on_cancelled(self) -> None:
        super().on_cancelled()
        self._making = ""

    def judge_folder(self, folder: Path) -> None:
        if self.reference is not None:
            recipe = self._recipe if self.reference.inputs is None else None
            self.start_secondary_job(partial(judge_folder, self.reference, folder, recipe), self._on_judged)

    def _on_judged(self, judged: Judgement) -> Iterable[None]:
        self.result, self.run_inputs, self.message, self.failed = judged, None, "", False
        yield from self.curves.replace([])

    def open(self, path: Path) -> None:
        work = file_errors_named(path, "opened")(partial(Reference.load, path))
        self.start_secondary_job(work, partial(self._on_opened, path))

    def _on_opened(self, path: Path, reference: Reference) -> None:
        recipe = None if reference.inputs is None else recipe_of(reference.inputs.recipe)
        self._set(reference, path.name, "", recipe)

    def _set(self, reference: Reference, name: str, group: str, recipe: Outlines | None) -> None:
        self.reference, self.name, self._group, self._recipe = reference, name, group, recipe
        self.result = self.run_inputs = None
        self.message, self.failed, self.unsaved = "", False, False
        self.opened.emit()

    def save(self, path: Path) -> None:
        if self.reference is not None:
            self.start_secondary_job(partial(write_file, self.reference, path), self._on_saved)

    def _on_saved(self, path: Path) -> None:
        self.unsaved = False
        self.message_posted.emit(*saved_message([path]))


def reference_of(images: Sequence[Source], run_inputs: RunInputs) -> Reference:
    """Trace the images of a group, and make a reference of them."""
    ensembles = _traced(images, run_inputs)
    replicates: Any = run_inputs.more[_REPLICATES]
    inputs = inputs_of_sources([[source] for source in images], run_inputs.recipe, run_inputs.excluded)
    return Reference(ensembles, run_inputs.settings, replicates=replicates or None, inputs=inputs)


def judge(
    reference: Reference, images: Sequence[Source], run_inputs: RunInputs
) -> tuple[Judgement, list[tuple[int, CurveLayer]]]:
    """Trace images and judge them; also return layers of unlike outlines, each with the place of its image."""
    ensembles = _traced(images, run_inputs)
    judged = _judged(reference, ensembles, reference.judge(ensembles))
    places = [place for place, one in enumerate(ensembles) for _ in by_image(one)]
    painted = [row for row in judged.ranked if row in judged.unlike and images[places[row]].kind != "file"]
    report("painting outlines", len(images), len(images) + 1)
    return judged, [(places[row], _layer(images[places[row]], *judged.unlike[row])) for row in painted[:_MAX_PAINTED]]


def judge_folder(reference: Reference, folder: Path, recipe: Outlines | None) -> Judgement:
    """Judge all files in a folder, read as the reference was."""
    reading = Reading(SettingsFile(outlines=recipe or Outlines()))
    with file_errors_named(folder, "opened"):
        left_out: list[str] = []
        table, _ = judged_files(reference, files_of(folder, groups=True, tell=left_out.append), reading)
    return Judgement(table, (*reference.sentences(table), *left_out), reference.to_dataframe())


def _traced(images: Sequence[Source], run_inputs: RunInputs) -> list[Ensemble]:
    ensembles = []
    for place, (source, ids) in enumerate(zip(images, run_inputs.excluded, strict=True)):
        with as_part(place, len(images) + 1):
            ensembles.append(trace_image(source, run_inputs.recipe, ids))
    return ensembles


def _judged(reference: Reference, ensembles: Sequence[Ensemble], table: pd.DataFrame) -> Judgement:
    parts = [part for one in ensembles for part in by_image(one)]
    unlike = {row: (parts[row], reference.unlike(parts[row])) for row in np.flatnonzero(table["what"] != "").tolist()}
    return Judgement(table, tuple(reference.sentences(table)), reference.to_dataframe(), unlike)


def _layer(source: Source, ensemble: Ensemble, scores: pd.DataFrame) -> CurveLayer:
    """Return a layer of the outlines of an image, colored by how far they make it unlike the reference."""
    ensemble = ensemble[np.isin(ensemble.ids, scores["id"])]  # some may be too small for the pixels of the reference
    features = scores.set_index("id").loc[ensemble.ids].reset_index()
    high = max(float(features["score"].max()), np.finfo(np.float32).tiny)
    painted = {"face_color": "score", "face_colormap": "inferno", "face_contrast_limits": (0.0, high)}
    look = source.placement | {"edge_width": 0, "opacity": 0.7}
    outlines = [curve / source.scale for curve in ensemble.curves]
    return outline_layer(f"{source.name} unlike", outlines, features, **look, **painted)
