"""Export of a result as text for a lab notebook, and as a Python script that reproduces it."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..archive import is_written
from ..comparison import Settings
from ..comparison.design import NO_REQUESTED_TESTS, RequestedTests
from ..io.calibration import Calibration
from ..io.outputs import recording_outputs
from ..io.segmented import write_plane
from ..outlines import ObjectModel, Outlines
from ..outlines.units import UNIT_SYMBOLS
from ..words import counted, p_text, pooled_name
from .displayed_result import DisplayedResult, count_lines, settings_lines, tests_of
from .inputs import Excluded, Ids, ImageRow, Source, Sources, file_errors_named


def text_of(shown: DisplayedResult, changed: Sequence[str] = ()) -> str:
    """Return the contents of the results panel as lines of text, with what has changed since."""
    result = shown.result
    stale = [f"Out of date: {', '.join(changed)}."] if changed else []
    notes = [*stale, *([shown.origin] if shown.origin else []), *shown.notes, *result.warnings]
    lines = [result.summary(), *(f"Note: {note}" for note in notes), ""]
    for name, test in tests_of(result):
        decision = "a difference is detected" if test.rejected else "no difference detected"
        if result.undecided:
            decision = result.undecided
        numbers = f"MMD {test.mmd:.4f}, threshold {test.threshold:.4f}, p = {p_text(test.p_value, test.significance)}"
        lines.append(f"{name}: {numbers}: {decision}")
    lines.append("")
    for side, ensemble in (("A", result.a), ("B", result.b)):
        curves = f"{counted(len(ensemble), 'curve')} in {UNIT_SYMBOLS.get(ensemble.unit, ensemble.unit)}"
        lines.append(f"{side}: {ensemble.name}, {'; '.join([curves, *count_lines(ensemble)])}")
    lines += ["", *settings_lines(shown.recipe, result.settings)]
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return "\n".join([*lines, versions])


def with_files_beside(sources: Sources, folder: Path) -> tuple[Sources, dict[Path, Source]]:
    """Name a file in a folder, for a script, for each compared image that is in no file; return what to write as well.

    See `write_sources`.
    """
    to_write: dict[Path, Source] = {}

    def in_file(source: Source) -> Source:
        if source.kind not in ("image", "labels") or _file_of(source) or source.data.dtype.kind not in "biuf":
            return source
        name = re.sub(r"[^\w.+-]+", "_", source.name).strip("_.") or "image"
        path = folder / f"{name}.tif"
        for number in itertools.count(2):
            if path not in to_write:
                break
            path = folder / f"{name}_{number}.tif"
        pixels = source.data
        if source.kind == "labels" and pixels.max(initial=0) < 2**16:
            pixels = pixels.astype(np.uint16)
        elif pixels.dtype == bool:
            pixels = pixels.astype(np.uint8)
        to_write[path] = replace(source, path=str(path), plane="", data=pixels)
        return to_write[path]

    return tuple(tuple(map(in_file, group)) for group in sources), to_write


def write_sources(beside: Mapping[Path, Source], folder: Path) -> list[Path]:
    """Write images and labels with their pixel size, before a script that reads them; return the paths."""
    with recording_outputs(folder, [path.name for path in beside]) as written:
        for path, source in beside.items():
            size = float(source.scale[0]), float(source.scale[1])
            with file_errors_named(path):
                folder.mkdir(parents=True, exist_ok=True)
                write_plane(path, source.data, Calibration(size, source.unit))
            written.append(path)
    return written


def script_of(shown: DisplayedResult, folder: Path | None = None) -> str:
    """Return a script that reproduces a comparison, or else loads its file; empty if neither is possible.

    With a folder, in which the script will be, files in it are found from there.
    """
    if shown.run_inputs is not None and shown.sources is not None:
        sides = []
        for side, refs in zip(shown.sources, shown.run_inputs.layers, strict=True):  # by the layers' current names
            now = ((source, ref()) for source, ref in zip(side, refs, strict=True))
            sides.append(tuple(one if layer is None else replace(one, name=layer.name) for one, layer in now))
        run_inputs, result = shown.run_inputs, shown.result
        return script(
            (sides[0], sides[1]),
            run_inputs.recipe,
            run_inputs.settings,
            run_inputs.excluded,
            names=(result.a.name, result.b.name),
            archetypes=result.row_depends_on_archetype,
            folder=folder,
        )
    if not is_written(shown.path):
        return ""
    return script_of_file("Comparison", Path(shown.path), folder)


def script_of_file(kind: str, path: Path, folder: Path | None) -> str:
    """Return a script that loads a saved result of this class."""
    place, lines = _place(str(path), folder)
    lines += [
        f"# The saved {kind.lower()}; its inputs were not available.",
        f"from napari_shape_ensembles import {kind}",
    ]
    return "\n".join([*lines, "", f"result = {kind}.load({place})", "print(result.summary())", ""])


def script(
    sources: Sources,
    recipe: Outlines,
    settings: Settings,
    excluded: Excluded,
    *,
    names: Sequence[str] = (),
    archetypes: bool = False,
    folder: Path | None = None,
) -> str:
    """Return a script that repeats a comparison: from files if they have the compared data, else in napari's console.

    If it was withheld as other `archetypes` lead to another row, it is repeated with these, too.
    """
    wholes = names or [pooled_name([source.name for source in side]) for side in sources]
    named = [len(side) > 1 or side[0].name != whole for side, whole in zip(sources, wholes, strict=True)]
    pooled = ["Ensemble"] if any(named) else []
    used = [*pooled, "Outlines", "Settings", *(["archetype_sensitivity"] if archetypes else []), "compare"]
    every = list(itertools.chain(*sources))
    files = {source.name: _file_of(source) for source in every}
    lines = _preamble(every, files, recipe, excluded, used, folder)
    left_out = iter(excluded)
    for name, side in zip("ab", sources, strict=True):
        parts = [name] if len(side) == 1 else [f"{name}_{number}" for number in range(1, len(side) + 1)]
        for part, source in zip(parts, side, strict=True):
            lines += _image_lines(part, source, files[source.name], next(left_out), folder)
        if len(side) > 1:
            lines.append(f"{name} = [{', '.join(parts)}]")
    for name, side, whole, is_named in zip("ab", sources, wholes, named, strict=True):
        if is_named:
            images = name if len(side) > 1 else f"[{name}]"
            lines.append(f"{name} = Ensemble.pooled({images}, name={whole!r})")
    call = _call("Settings", asdict(settings).items())
    lines += [f"result = compare(a, b, {call})"]
    lines += ["result = archetype_sensitivity(result).comparison"] if archetypes else []
    return "\n".join([*lines, "print(result.summary())", ""])


def script_of_experiment(
    sources: Sources,
    recipe: Outlines,
    settings: Settings,
    excluded: Excluded,
    design: Mapping[str, Sequence[Any]],
    *,
    control: str = "",
    requested: RequestedTests = NO_REQUESTED_TESTS,
    folder: Path | None = None,
) -> str:
    """Return a script that repeats the comparison of all groups, given the cells of the design by column."""
    images = list(itertools.chain(*sources))
    files = {source.name: _file_of(source) for source in images}
    lines = _preamble(images, files, recipe, excluded, ["Outlines", "Settings", "experiment"], folder)
    lines.insert(lines.index(""), "import pandas as pd")
    lines.append("images = []")
    for source, ids in zip(images, excluded, strict=True):
        lines += [*_image_lines("image", source, files[source.name], ids, folder), "images.append(image)"]
    lines.append(f"design = pd.DataFrame({ {name: list(cells) for name, cells in design.items()}!r})")
    call = _call("Settings", asdict(settings).items())
    lines.append(f"result = experiment(images, design, {call}{f', control={control!r}' if control else ''})")
    tests = f"{requested.given!r}, {requested.interactions!r}" if requested != NO_REQUESTED_TESTS else ""
    lines += ["print(result.summary())", f'print("\\n".join([*result.overall({tests}), *result.sentences()]))', ""]
    return "\n".join(lines)


def _preamble(
    images: Sequence[Source],
    files: Mapping[str, str | None],
    recipe: Outlines,
    excluded: Excluded,
    used: Sequence[str],
    folder: Path | None,
) -> list[str]:
    """Return what a script imports, and its recipe."""
    rows = any(source.kind == "file" for source in images)
    beside = any(_place(file, folder)[1] for file in files.values() if file)
    lines = [
        *(["from pathlib import Path"] if beside or rows else []),
        *(["import numpy as np"] if any(excluded) else []),
        *(["from skimage.io import imread"] if any(files[one.name] for one in images if one.kind != "file") else []),
        f"from napari_shape_ensembles import {', '.join(used)}",
    ]
    if any(source.region is not None and files[source.name] for source in images):
        lines.append("from napari_shape_ensembles.io.image_parts import objects_inside")
    if rows:
        lines += [
            "from napari_shape_ensembles.io.image_parts import ImagePart",
            "from napari_shape_ensembles.io.settings_file import SettingsFile",
            "from napari_shape_ensembles.io.sources import Reading, ensemble_of_file",
        ]
    if not all(files.values()):
        lines += [
            "import napari  # run this in napari's console: a compared layer is not a file",
            "from napari_shape_ensembles.viewer.inputs import ensemble_of",
            "viewer = napari.current_viewer()",
        ]
    lines += [""]
    if isinstance(recipe.find, ObjectModel):
        lines += ["# the model has not been saved: save it in Segment curves, and enter the path of its file here"]
        recipe = replace(recipe, find="model.npz")
    return [*lines, f"outlines = {recipe!r}"]


def _image_lines(part: str, source: Source, file: str | None, ids: Ids, folder: Path | None) -> list[str]:
    """Return the lines that assign the outlines of an image, without the excluded ones, to a variable."""
    if file and source.kind == "file":
        row: ImageRow = source.data
        path = f"Path({str(Path(file).absolute())!r})"
        sizes = "" if row.pixel is None else f", pixel_sizes={{{path}.resolve(): {row.pixel!r}}}"
        of_file = _call("ImagePart", row.part.given().items())
        lines = [f"{part} = ensemble_of_file({path}, Reading(SettingsFile(outlines=outlines){sizes}), {of_file})"]
        lines.append(f"{part}.name = {source.name!r}")
    elif file:
        read = f"imread({_place(file, folder)[0]})"
        labels = f"outlines.labels({read})" if source.kind == "image" else read
        if source.region is not None:
            labels = f"objects_inside({labels}, {source.region!r}, keep_cut=outlines.keep_border)[0]"
        region = {} if source.region is None else {"region": source.region}
        options = {"scale": tuple(source.scale.tolist()), "unit": source.unit, "name": source.name, **region}
        lines = [f"{part} = {_call('outlines.trace', options.items(), labels)}"]
    else:
        lines = [f"# with the sliders of {source.name!r} at {source.plane}"] if source.plane else []
        lines.append(f"{part} = ensemble_of(viewer.layers[{source.name!r}], viewer.dims, outlines)")
    if ids:
        lines.append(f"{part} = {part}[~np.isin({part}.ids.astype(str), {sorted(ids)!r})]")
    return lines


def _place(path: str, folder: Path | None) -> tuple[str, list[str]]:
    """Return an expression for a path, from the folder of the script if it is in there, and what that has to import."""
    full = Path(path).absolute()
    if folder is not None and full.parent == folder.absolute():
        return f"Path(__file__).parent / {full.name!r}", ["from pathlib import Path"]
    return repr(str(full)), []


def _file_of(source: Source) -> str | None:
    """Return the file with exactly the compared pixels if one can be read without a viewer, else None."""
    from skimage.io import imread

    if source.kind == "file":
        return source.path
    if source.kind == "shapes" or source.plane or not Path(source.path).is_file():
        return None
    try:
        pixels = imread(source.path)
    except (OSError, ValueError, SyntaxError, ImportError):  # raised by format readers
        return None
    return source.path if np.array_equal(pixels, source.data) else None


def _call(name: str, options: Iterable[tuple[str, Any]], first: str | None = None) -> str:
    """Return the source code of a call, one argument per line."""
    plain = [(option, value.item() if isinstance(value, np.generic) else value) for option, value in options]
    lines = [*([first] if first else []), *(f"{option}={value!r}" for option, value in plain)]
    if not lines:
        return f"{name}()"
    inside = ",\n".join(lines).replace("\n", "\n    ")
    return f"{name}(\n    {inside},\n)"
