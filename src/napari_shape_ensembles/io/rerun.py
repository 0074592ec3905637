"""A saved result run again: its files found by path or checksum, its numbers made anew and compared one by one."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, Tree, is_archive, opened, read_archive, write_archive
from ..comparison import (
    Comparison,
    Experiment,
    InputFile,
    Inputs,
    Settings,
    comparable,
    compare,
    experiment,
    records,
    software_versions,
)
from ..outlines import Ensemble, ObjectModel, Outlines
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..progress import Listener, as_part, report, reporting
from .image_parts import ImagePart
from .settings_file import SettingsFile
from .sources import Reading, distinct_names, ensemble_of_file

if TYPE_CHECKING:
    import pandas as pd

#: What a saved experiment is called, and the newest version of its layout (docs/files.md).
EXPERIMENT, LAYOUT = "shape-ensembles experiment", 1
# Numbers that differ by less than this share of the largest are equal to rounding: other processors add up differently.
_ROUNDING = 1e-9
#: How well a number agrees with the one that was saved.
SAME, ROUNDED, DIFFERS = "same", "same to rounding", "differs"


class Agreement(NamedTuple):
    """A number of a result, as it was saved and as it comes out again.

    Attributes
    ----------
    name : str
    saved, again : str
        The number itself; of an array its size.
    verdict : str
        "same", "same to rounding" or "differs".
    where : str
        Of an array that differs: at how many places, and what stands at the worst of them.

    Examples
    --------
    >>> from napari_shape_ensembles.io import Agreement
    >>> Agreement("scale.p_value", "0.005", "0.005", "same").where
    ''
    """

    name: str
    saved: str
    again: str
    verdict: str
    where: str = ""


@dataclass(frozen=True)
class Rerun:
    """What came of running a saved result again.

    Attributes
    ----------
    numbers : tuple of Agreement
        Every number of the result.
    notes : tuple of str
        Which files were found and where, what was used in place of others, and versions that are not the same.

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

    numbers: tuple[Agreement, ...]
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether all numbers come out again, but for rounding."""
        return not any(number.verdict == DIFFERS for number in self.numbers)

    def summary(self) -> str:
        """Return how many numbers come out again, as one sentence."""
        total = len(self.numbers)
        rounded, differ = (sum(one.verdict == kind for one in self.numbers) for kind in (ROUNDED, DIFFERS))
        if differ:
            return f"{differ} of {total} numbers differ from those that were saved."
        return f"All {total} numbers come out again{f', {rounded} of them to rounding' if rounded else ''}."


# ------------------------------------------------------------------------------------------- what went in, and where


def checksum(path: Path) -> str:
    """SHA-256 checksum of a file; of a folder, such as a Zarr store, of the names and checksums of all files in it."""
    if path.is_dir():
        parts = sorted(item for item in path.rglob("*") if item.is_file())
        lines = [f"{checksum(item)} {item.relative_to(path).as_posix()}\n" for item in parts]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def inputs_of(
    samples: Sequence[Sequence[Path]], reading: Reading, parts: Sequence[ImagePart] | None = None
) -> Inputs | None:
    """Note the files of a result with their checksums, and how they are read.

    Parameters
    ----------
    samples : sequence of sequences of Path
        Of a comparison the files of A and those of B; of an experiment one file per row.
    reading : Reading
    parts : sequence of ImagePart, optional
        Of the images, in their order.

    Returns
    -------
    Inputs or None
        None where a function finds the objects, which no file can keep.
    """
    recipe = recipe_tree(reading.settings.outlines)
    if recipe is None:
        return None
    files: list[InputFile] = []
    for sample, paths in enumerate(samples):
        for path in paths:
            part = {} if parts is None else parts[len(files)].given()
            known = reading.pixel_sizes.get(path.resolve())
            side = None if known is None else known[0]
            sides = side if side is None or isinstance(side, tuple) else (side, side)
            files.append(
                InputFile(
                    path=str(path.resolve()),
                    sha256=checksum(path),
                    sample=sample,
                    part=part,
                    pixel_size=sides,
                    unit="" if known is None else known[1],
                    labels=reading.labels,
                )
            )
    return Inputs(tuple(files), recipe, reading.curve_column)


def recipe_tree(recipe: Outlines) -> Tree | None:
    """The choices of a recipe as a file keeps them; None where a function finds the objects."""
    tree = tree_of(recipe)
    if isinstance(recipe.find, ObjectModel):
        tree["find"] = recipe.find.to_tree()
    return None if callable(tree["find"]) else tree


def recipe_of(tree: Mapping[str, Any]) -> Outlines:
    """Return the recipe that `recipe_tree` wrote."""
    known = dict(tree)
    if isinstance(known.get("find"), dict):
        known["find"] = ObjectModel.of_tree(known["find"])
    return from_tree(Outlines, known)


def find_inputs(inputs: Inputs, *folders: Path) -> tuple[list[Path | None], list[str]]:
    """Look for the files of a result: where they were, then by their checksum in other folders.

    Parameters
    ----------
    inputs : Inputs
    *folders : Path
        Searched with all folders in them.

    Returns
    -------
    paths : list of Path or None
        Of each file; None where none with its checksum was found.
    notes : list of str
        A sentence for every file that was not found where it was.

    Examples
    --------
    >>> from pathlib import Path
    >>> from napari_shape_ensembles.comparison import InputFile, Inputs
    >>> from napari_shape_ensembles.io import find_inputs
    >>> find_inputs(Inputs((InputFile("/data/field 1.tif", 64 * "0"),)), Path("elsewhere"))
    ([None], ['/data/field 1.tif is not there'])
    """
    checksums: dict[Path, str] = {}

    def is_it(path: Path, sha256: str) -> bool:
        if path not in checksums:
            checksums[path] = checksum(path)
        return checksums[path] == sha256

    others = [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")) if path.is_file()]
    paths, notes = [], []
    for file in inputs.files:
        before = Path(file.path)
        there = before.exists()
        found = before if there and is_it(before, file.sha256) else None
        if found is None:  # those of its name first
            alike, unlike = ([path for path in others if (path.name == before.name) is so] for so in (True, False))
            found = next((path for path in (*alike, *unlike) if is_it(path, file.sha256)), None)
            if found is not None:
                notes.append(f"{before.name} was found by its checksum: {found}")
            elif there:
                notes.append(f"{before} is not as it was: its checksum differs")
            else:
                notes.append(f"{before} is not there")
        paths.append(found)
    return paths, notes


def _traced_again(inputs: Inputs, paths: Sequence[Path], memory: float | None) -> list[Ensemble]:
    """The outlines of all files, read as they were."""
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
            ensemble = ensemble.subset(~np.isin(ensemble.ids.astype(str), file.excluded))
        if path.name != Path(file.path).name:
            ensemble = ensemble.derived(ensemble.curves)
            ensemble.name = f"{names[place]} {part}".strip()
        found.append(ensemble)
    return found


# ------------------------------------------------------------------------------------------------------ run again


def rerun(
    path: StrPath, *, folder: StrPath | None = None, memory: float | None = None, progress: Listener | None = None
) -> Rerun:
    """Run a saved comparison or experiment again, and compare every number with the one that was saved.

    Parameters
    ----------
    path : path
        A comparison that `Comparison.save`, the window or `shape-ensembles compare` wrote, or the
        `result.experiment.npz` of `shape-ensembles experiment`.
    folder : path, optional
        Searched, with all folders in it, for files that are not where they were, by their checksums.
    memory : float, optional
        GiB that reading one file may take; by default 4.
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
        When there is no such file, or it cannot be read.

    Notes
    -----
    A comparison holds its outlines: where its files are not found, or it was made of arrays, these are compared again.
    An experiment holds no outlines. Numbers are the same with the same versions on one machine; elsewhere they are
    taken to be the same within 10⁻⁹ of the largest number of their array.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.io import rerun
    >>> a, b = samples.powder_outlines().ensembles()
    >>> compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).save("powder.comparison.npz")
    >>> rerun("powder.comparison.npz").notes
    ('the file does not say what its outlines were made from: they are compared as they are in it',)
    """
    folders = [] if folder is None else [Path(folder)]
    if not all(place.is_dir() for place in folders):
        raise FileNotFoundError(f"there is no folder {folder}")
    with reporting(progress):
        if is_archive(path, EXPERIMENT):
            return read_archive(path, EXPERIMENT, LAYOUT, lambda tree: _experiment_again(tree, folders, memory), memory)
        return _comparison_again(Comparison.load(path, memory=memory), folders, memory)


def _comparison_again(saved: Comparison, folders: Sequence[Path], memory: float | None) -> Rerun:
    a, b = saved.a, saved.b
    notes: list[str] = []
    outlines: dict[str, NDArray[np.float64]] = {}
    if saved.inputs is None:
        notes.append("the file does not say what its outlines were made from: they are compared as they are in it")
    else:
        paths, notes = find_inputs(saved.inputs, *folders)
        known = [path for path in paths if path is not None]
        if len(known) < len(paths):
            notes.append("not all files were found: the outlines are compared as they are in the saved comparison")
        else:
            with as_part(0, 2):
                traced = _traced_again(saved.inputs, known, memory)
            sides: list[Any] = []
            for sample, name in ((0, saved.a.name), (1, saved.b.name)):
                own = [one for one, file in zip(traced, saved.inputs.files, strict=True) if file.sample == sample]
                sides.append(own[0] if len(own) == 1 else Ensemble.pooled(own, name=name))
            a, b = sides
            outlines = {side: one.vertices for side, one in zip("ab", comparable(a, b)[:2], strict=True)}
    with as_part(1, 2):
        again = compare(a, b, saved.settings)
    # What was learned about other archetypes later is no part of the comparison itself.
    known_later = {name: getattr(saved, name) for name in ("row_depends_on_archetype", "archetypes_agree")}
    before, after = saved.numbers(), replace(again, **known_later).numbers()
    for side, vertices in outlines.items():
        before[f"outlines.{side}"], after[f"outlines.{side}"] = getattr(saved, side).vertices, vertices
    return Rerun(agreements(before, after), (*notes, *_other_versions(saved.versions)))


def save_experiment(
    path: Path,
    result: Experiment,
    design: "pd.DataFrame",
    inputs: Inputs | None,
    numbers: Mapping[str, Any],
    view: Tree | None = None,
) -> None:
    """Write an experiment, what it was made from, and all its numbers, to one file.

    Parameters
    ----------
    path : Path
    result : Experiment
    design : DataFrame
        As it was given to `experiment`.
    inputs : Inputs, optional
        The files, one per row of the design.
    numbers : mapping
        Of `results.experiment_numbers`.
    view : dict, optional
        What a viewer needs to show it as it was.
    """
    tree = {
        **result.to_tree(),
        "control": result.design.control,
        "table": _columns_tree(design),
        "inputs": None if inputs is None else inputs.to_tree(),
        "numbers": _columns_tree(numbers),
        "versions": software_versions(),
        "view": view or {},
    }
    write_archive(path, EXPERIMENT, LAYOUT, tree)


def load_experiment(path: StrPath, memory: float | None = None) -> tuple[Experiment, Tree, Inputs | None]:
    """Read an experiment that `save_experiment` wrote, to the same digits, its view, and what it was made from.

    Raises
    ------
    ValueError
        For a file of another kind, a damaged one, one of an earlier version (which kept numbers alone), or one that
        takes more memory than it may.
    OSError
        When there is no such file, or it cannot be read.
    """

    def built(tree: Tree) -> tuple[Experiment, Tree, Inputs | None]:
        if "parts" not in tree:
            raise ContentError("written by an earlier version, which kept numbers alone: run the experiment again")
        known = tree.get("inputs") is not None
        inputs = Inputs.of_tree(records.value(tree, "inputs", dict)) if known else None
        return Experiment.of_tree(tree), records.value(tree, "view", dict), inputs

    return read_archive(path, EXPERIMENT, LAYOUT, built, memory)


def _columns_tree(columns: Any) -> Tree:
    """Named columns, of any names, under names that an archive can keep."""
    values = [_plain(columns[name]) for name in columns]
    return {"names": [str(name) for name in columns], **{f"column{i}": value for i, value in enumerate(values)}}


def _plain(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    return array.astype(np.str_) if array.dtype.kind in "OT" else array


def _columns_of(tree: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    names = records.value(tree, "names", list)
    return {str(name): records.value(tree, f"column{i}", np.ndarray) for i, name in enumerate(names)}


def _experiment_again(tree: Tree, folders: Sequence[Path], memory: float | None) -> Rerun:
    import pandas as pd

    from .results import experiment_numbers

    if tree.get("inputs") is None:
        raise ContentError("it does not say which files it was made from, so it cannot be run again")
    inputs = Inputs.of_tree(records.value(tree, "inputs", dict))
    paths, notes = find_inputs(inputs, *folders)
    known = [path for path in paths if path is not None]
    if len(known) < len(paths):
        lost = [file.path for file, path in zip(inputs.files, paths, strict=True) if path is None]
        raise ContentError(
            f"{len(lost)} of its {len(paths)} files are not found, nor others with their checksums "
            f"({'; '.join(lost)}): "
            "name the folder that they are in now (folder=, on the command line --inputs)"
        )
    with as_part(0, 2):
        traced = _traced_again(inputs, known, memory)
    columns = _columns_of(records.value(tree, "table" if "table" in tree else "design", dict))
    design = pd.DataFrame({name: column.tolist() for name, column in columns.items()})
    control = tree.get("control")
    with as_part(1, 2):
        again = experiment(
            traced,
            design,
            from_tree(Settings, records.value(tree, "settings", dict)),
            control=None if control is None else str(control),
            correction=records.value(tree, "correction", str),
        )
    before = _columns_of(records.value(tree, "numbers", dict))
    after = {name: _plain(value) for name, value in experiment_numbers(again).items()}
    versions = records.value(tree, "versions", dict)
    return Rerun(agreements(before, after), (*notes, *_other_versions(versions)))


def _other_versions(saved: Mapping[str, str]) -> list[str]:
    """What is of another version now than when a result was saved."""
    now = software_versions()
    return [
        f"{name} was {saved[name]} and is {now[name]}" for name in saved if name in now and now[name] != saved[name]
    ]


# ------------------------------------------------------------------------------------------------- number by number


def agreements(saved: Mapping[str, Any], again: Mapping[str, Any]) -> tuple[Agreement, ...]:
    """Compare two sets of named numbers; a name that one of them lacks differs.

    Numbers that the saved result does not have, as an earlier version did not know them, do not count.
    """
    return tuple(_agreement(name, saved[name], again.get(name)) for name in saved)


def _agreement(name: str, saved: Any, again: Any) -> Agreement:
    if again is None and saved is not None:
        return Agreement(name, _shown(saved), "is not there", DIFFERS)
    one, other = np.asarray(saved), np.asarray(again)
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        same = bool(np.array_equal(one, other)) if one.dtype.kind != "O" else saved == again
        return Agreement(name, _shown(saved), _shown(again), SAME if same else DIFFERS)
    if one.shape != other.shape:
        return Agreement(name, _shown(saved), _shown(again), DIFFERS)
    one, other = one.astype(np.float64), other.astype(np.float64)
    apart = (one != other) & ~(np.isnan(one) & np.isnan(other))
    if not apart.any():
        return Agreement(name, _shown(saved), _shown(again), SAME)
    finite = np.isfinite(one) & np.isfinite(other)
    largest = float(np.abs(one[finite]).max(initial=0))
    with np.errstate(invalid="ignore"):
        distance = np.where(finite, np.abs(one - other), np.where(apart, np.inf, 0))
    worst = np.unravel_index(int(distance.argmax()), distance.shape)
    verdict = ROUNDED if distance.max() <= _ROUNDING * largest else DIFFERS
    where = ""
    if one.ndim:
        place = ", ".join(map(str, worst))
        where = (
            f"{int(apart.sum())} of {one.size} values, most at [{place}]: {one[worst]:.10g}, now {other[worst]:.10g}"
        )
    return Agreement(name, _shown(saved), _shown(again), verdict, where)


def _shown(value: Any) -> str:
    """A number or a text as it is; of an array its size, or all of it where it has few values."""
    array = np.asarray(value)
    if array.ndim and array.size > 1:
        return " × ".join(map(str, array.shape)) + " values"
    plain = array.item() if array.size == 1 else value
    return f"{plain:.10g}" if isinstance(plain, float) else str(plain)
