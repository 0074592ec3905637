"""Reruns of saved results: locate inputs by path or checksum, recompute, and compare number by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, Tree, file_checksum, is_archive, read_archive
from ..comparison import Comparison, Experiment, Reference, compare, experiment, records
from ..comparison.compare import compare_again
from ..comparison.experiment import experiment_again
from ..comparison.inputs import InputFile, Inputs
from ..comparison.result import software_versions
from ..comparison.samples import comparable
from ..comparison.saved import EXPERIMENT, LAYOUT, REFERENCE
from ..outlines import Ensemble, ObjectModel, Outlines
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..progress import Listener, as_part, report, reporting
from .image_parts import ImagePart
from .settings_file import SettingsFile
from .sources import Reading, distinct_names, ensemble_of_file

# Relative tolerance with respect to the largest number: the order of summation differs between processors.
_ROUNDING_TOLERANCE = 1e-9
#: Verdicts on the agreement of a number with the saved one.
SAME, ROUNDED, DIFFERS = "same", "same to rounding", "differs"
_CHANGED = "has changed: its checksum differs"


class SavedNumber(NamedTuple):
    """A saved number of a result and its value in the rerun.

    Attributes
    ----------
    name : str
    saved, again : str
        The number; for an array, its size.
    verdict : str
        "same", "same to rounding" or "differs".
    where : str
        For an array that differs: the number of differing elements, and the values at the largest difference.
    """

    name: str
    saved: str
    again: str
    verdict: str
    where: str = ""


@dataclass(frozen=True)
class Rerun:
    """Outcome of the rerun of a saved result.

    Attributes
    ----------
    numbers : tuple of SavedNumber
        All numbers of the result.
    notes : tuple of str
        Where files were found, what was used instead of missing ones, and software versions that differ.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.io import rerun
    >>> a, b = samples.powder_outlines().ensembles()
    >>> compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).save("powder.comparison.npz")
    >>> again = rerun("powder.comparison.npz")
    >>> again.same, again.numbers[0].name, again.numbers[0].again
    (True, 'case', '1∧0')
    """

    numbers: tuple[SavedNumber, ...]
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether all numbers are reproduced, up to rounding error."""
        return not any(number.verdict == DIFFERS for number in self.numbers)

    @property
    def inputs_changed(self) -> bool:
        """Whether an input file has changed, so that only the saved outlines could be compared again."""
        return any(note.endswith(_CHANGED) for note in self.notes)

    def summary(self) -> str:
        """Return the number of reproduced numbers, as one sentence."""
        total = len(self.numbers)
        rounded, differ = (sum(one.verdict == kind for one in self.numbers) for kind in (ROUNDED, DIFFERS))
        if differ:
            return f"{differ} of {total} numbers differ from those that were saved."
        source = " from the saved outlines, but not from the files, which have changed" if self.inputs_changed else ""
        return f"All {total} numbers are reproduced{source}{f', {rounded} of them up to rounding' if rounded else ''}."


def inputs_of(samples: Sequence[Sequence[Path]], reading: Reading, parts: Sequence[ImagePart] = ()) -> Inputs | None:
    """Record the input files of a result with their checksums, and how they were read.

    `samples` are the files of A and those of B, or of an experiment one file per row; `parts` those of the images, in
    the same order. None if a function finds the objects, as that cannot be saved.
    """
    recipe = recipe_tree(reading.settings.outlines)
    if recipe is None:
        return None
    files: list[InputFile] = []
    for sample, paths in enumerate(samples):
        for path in paths:
            part = parts[len(files)].given() if parts else {}
            size, unit = reading.pixel_sizes.get(path.resolve(), (None, ""))
            sides = size if size is None or isinstance(size, tuple) else (size, size)
            place = str(path.resolve())
            files.append(InputFile(place, file_checksum(path), sample, part, sides, unit, labels=reading.labels))
    return Inputs(tuple(files), recipe, reading.curve_column)


def recipe_tree(recipe: Outlines) -> Tree | None:
    """Convert a recipe to a tree; None if a function finds the objects."""
    tree = tree_of(recipe)
    if isinstance(recipe.find, ObjectModel):
        tree["find"] = recipe.find.to_tree()
    return None if callable(tree["find"]) else tree


def recipe_of(tree: Mapping[str, Any]) -> Outlines:
    """Restore a recipe from the result of `recipe_tree`."""
    known = dict(tree)
    if isinstance(known.get("find"), dict):
        known["find"] = ObjectModel.of_tree(known["find"])
    return from_tree(Outlines, known)


def find_inputs(inputs: Inputs, *folders: Path) -> tuple[list[Path | None], list[str]]:
    """Locate the input files of a result: at their original paths, else by checksum in other folders.

    Parameters
    ----------
    inputs : Inputs
    *folders : Path
        Searched recursively.

    Returns
    -------
    paths : list of Path or None
        Path of each file; None if no file with its checksum was found.
    notes : list of str
        One sentence for each file that was not found at its original path.

    Examples
    --------
    >>> from pathlib import Path
    >>> from napari_shape_ensembles.comparison.inputs import InputFile, Inputs
    >>> from napari_shape_ensembles.io.rerun import find_inputs
    >>> find_inputs(Inputs((InputFile("/data/field 1.tif", 64 * "0"),)), Path("elsewhere"))
    ([None], ['/data/field 1.tif was not found'])
    """
    checksum = cache(file_checksum)
    others = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    paths, notes = [], []
    for file in inputs.files:
        before = Path(file.path)
        candidates = [before] if before.exists() else []
        candidates += sorted(others, key=lambda path: path.name != before.name)
        found = next((path for path in candidates if checksum(path) == file.sha256), None)
        if found is None:
            notes.append(f"{before} {_CHANGED}" if before.exists() else f"{before} was not found")
        elif found != before:
            notes.append(f"{before.name} was found by its checksum: {found}")
        paths.append(found)
    return paths, notes


def _traced_again(
    inputs: Inputs | None, folders: Sequence[Path], memory: float | None
) -> tuple[list[Ensemble], list[str]]:
    """Retrace the outlines of all files with their original settings; none if a file is missing. And notes on that."""
    if inputs is None:
        return [], ["the file does not record its inputs: the saved outlines are compared"]
    located, notes = find_inputs(inputs, *folders)
    paths = [path for path in located if path is not None]
    if len(paths) < len(located):
        return [], [*notes, "not all files were found: the saved outlines are compared"]
    recipe, found = recipe_of(inputs.recipe), []
    names = distinct_names([Path(file.path) for file in inputs.files])
    for place, (file, path) in enumerate(zip(inputs.files, paths, strict=True)):
        report(path.name, place, len(paths))
        own = recipe if file.pixel_size is None else replace(recipe, pixel_size=file.pixel_size, unit=file.unit)
        reading = Reading(SettingsFile(outlines=own), file.labels, memory, inputs.curve_column)
        kept: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in file.part.items()}
        part = ImagePart(**kept)
        ensemble = ensemble_of_file(path, reading, part)
        if file.excluded:
            ensemble = ensemble[~np.isin(ensemble.ids.astype(str), file.excluded)]
        if path.name != Path(file.path).name:
            ensemble = ensemble.derived(ensemble.curves)
            ensemble.name = f"{names[place]} {part}".strip()
        found.append(ensemble)
    return found, notes


def rerun(
    path: StrPath, *, folder: StrPath | None = None, memory: float | None = None, progress: Listener | None = None
) -> Rerun:
    """Rerun a saved comparison, experiment or reference, and compare every number with the saved one.

    Parameters
    ----------
    path : path
        A comparison written by `Comparison.save`, the window or `shape-ensembles compare`, or the
        `result.experiment.npz` of `shape-ensembles experiment`.
    folder : path, optional
        Searched recursively, by checksum, for files that are not at their original paths.
    memory : float, optional
        Memory limit in GiB per file; by default 4.
    progress : callable, optional
        Called with the `Progress` of each step before it starts.

    Returns
    -------
    Rerun

    Raises
    ------
    ValueError
        For a file of another kind or a damaged one; for an experiment whose files are not found, naming them.
    OSError
        If the file does not exist, or cannot be read.

    Notes
    -----
    A result contains its outlines: if its files are not found, or it was computed from arrays, these are used. Numbers
    are identical with the same versions on one machine; elsewhere they agree if they are within 10⁻⁹ of the largest
    number of their array.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.io import rerun
    >>> a, b = samples.powder_outlines().ensembles()
    >>> compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).save("powder.comparison.npz")
    >>> rerun("powder.comparison.npz").notes
    ('the file does not record its inputs: the saved outlines are compared',)
    """
    folders = [] if folder is None else [Path(folder)]
    if not all(place.is_dir() for place in folders):
        raise FileNotFoundError(f"there is no folder {folder}")
    with reporting(progress):
        if is_archive(path, EXPERIMENT):
            return read_archive(path, EXPERIMENT, LAYOUT, lambda tree: _experiment_again(tree, folders, memory), memory)
        if is_archive(path, REFERENCE):
            return read_archive(path, REFERENCE, LAYOUT, lambda tree: _reference_again(tree, folders, memory), memory)
        return _comparison_again(Comparison.load(path, memory=memory), folders, memory)


def _comparison_again(saved: Comparison, folders: Sequence[Path], memory: float | None) -> Rerun:
    if saved.p_adjusted is not None:
        raise ContentError("it is one contrast of an experiment of several: save the experiment, and rerun that")
    given, compared = (saved.a, saved.b), saved.compared
    outlines: dict[str, NDArray[np.float64]] = {}
    with as_part(0, 2):
        traced, notes = _traced_again(saved.inputs, folders, memory)
    if saved.inputs is not None and traced:
        sides: list[list[Ensemble]] = [[], []]
        for one, file in zip(traced, saved.inputs.files, strict=True):
            sides[file.sample].append(one)
        pooled = (
            own[0] if len(own) == 1 else Ensemble.pooled(own, name=name)
            for own, name in zip(sides, (saved.a.name, saved.b.name), strict=True)
        )
        given, compared, _ = comparable(*pooled, border=saved.settings.border_correction)
        outlines = {side: own.vertices for side, own in zip("ab", given, strict=True)}
    a, b = given
    with as_part(1, 2):
        if (len(a), len(b)) == (len(saved.a), len(saved.b)):  # of the same replicates
            again = compare_again(replace(saved, a=a, b=b, compared=compared))
        else:
            again = compare(a, b, saved.settings)
    # What was learned later about other archetypes is not part of the comparison itself.
    known_later = {name: getattr(saved, name) for name in ("row_depends_on_archetype", "archetypes_agree", "checks")}
    before, after = saved.numbers(), replace(again, **known_later).numbers()
    for side, vertices in outlines.items():
        before[f"outlines.{side}"], after[f"outlines.{side}"] = getattr(saved, side).vertices, vertices
    return Rerun(saved_numbers(before, after), (*notes, *_other_versions(saved.versions)))


def _experiment_again(tree: Tree, folders: Sequence[Path], memory: float | None) -> Rerun:
    saved = Experiment.of_tree(tree)
    with as_part(0, 2):
        images, notes = _traced_again(saved.inputs, folders, memory)
    with as_part(1, 2):
        again = (
            experiment(
                images,
                saved.design.table,
                saved.settings,
                control=saved.design.control,
                correction=saved.correction,
            )
            if images
            else experiment_again(saved)
        )
    return _compared_with(tree, again, notes)


def _reference_again(tree: Tree, folders: Sequence[Path], memory: float | None) -> Rerun:
    saved = Reference.of_tree(tree)
    images, notes = _traced_again(saved.inputs, folders, memory)
    return _compared_with(tree, saved.of_images(images) if images else saved, notes)


def _compared_with(tree: Tree, again: Experiment | Reference, notes: Sequence[str]) -> Rerun:
    """Compare the numbers in the file of an experiment or a reference with those of its rerun."""
    before = records.columns_of_tree(records.value(tree, "numbers", dict))
    after = {name: records.plain_array(value) for name, value in again.numbers().items()}
    return Rerun(saved_numbers(before, after), (*notes, *_other_versions(records.value(tree, "versions", dict))))


def _other_versions(saved: Mapping[str, str]) -> list[str]:
    now = software_versions()
    return [
        f"{name} was {saved[name]} and is {now[name]}" for name in saved if name in now and now[name] != saved[name]
    ]


def saved_numbers(saved: Mapping[str, Any], again: Mapping[str, Any]) -> tuple[SavedNumber, ...]:
    """Compare two sets of named numbers; a name missing from the rerun differs."""
    return tuple(_saved_number(name, saved[name], again.get(name)) for name in saved)


def _saved_number(name: str, saved: Any, again: Any) -> SavedNumber:
    if again is None and saved is not None:
        return SavedNumber(name, _shown(saved), "is missing", DIFFERS)
    shown = _shown(saved), _shown(again)
    one, other = np.asarray(saved), np.asarray(again)
    if one.shape != other.shape or not {one.dtype.kind, other.dtype.kind} <= {*"biuf"}:
        same = saved == again if one.dtype.kind == "O" else np.array_equal(one, other)
        return SavedNumber(name, *shown, SAME if same else DIFFERS)
    one, other = one.astype(np.float64), other.astype(np.float64)
    apart = (one != other) & ~(np.isnan(one) & np.isnan(other))
    if not apart.any():
        return SavedNumber(name, *shown, SAME)
    finite = np.isfinite(one) & np.isfinite(other)
    with np.errstate(invalid="ignore"):
        distance = np.where(finite, np.abs(one - other), np.where(apart, np.inf, 0))
    largest = np.abs(one[finite]).max(initial=0)
    verdict = ROUNDED if distance.max() <= _ROUNDING_TOLERANCE * largest else DIFFERS
    worst = np.unravel_index(int(distance.argmax()), distance.shape)
    place = ", ".join(map(str, worst))
    where = f"{apart.sum()} of {one.size} values, most at [{place}]: {one[worst]:.10g}, now {other[worst]:.10g}"
    return SavedNumber(name, *shown, verdict, where if one.ndim else "")


def _shown(value: Any) -> str:
    """Format a number or a string; for an array of several values, its shape."""
    array = np.asarray(value)
    if array.ndim and array.size > 1:
        return " × ".join(map(str, array.shape)) + " values"
    plain = array.item() if array.size == 1 else value
    return f"{plain:.10g}" if isinstance(plain, float) else str(plain)
