"""References from files, and files judged by a reference: both read by one recipe."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..archive import ContentError, StrPath
from ..comparison import Reference
from ..comparison.records import json_number
from ..comparison.reference import Correction
from ..outlines import Ensemble, Outlines
from ..outlines.reasons import Reason
from ..parameters import changed
from ..progress import as_part, report
from .design import read_design
from .image_parts import WHOLE
from .rerun import inputs_of, recipe_of
from .results import write_json, write_table
from .settings_file import BEST_OF_SEVERAL, SettingsFile
from .sources import Reading, distinct_names, files_of, read_images, with_one_recipe

if TYPE_CHECKING:
    import pandas as pd

#: Files that `write_judgement` writes.
JUDGEMENT = ("judgement.csv", "judgement.json", "chart.csv")


def read_folder(
    path: StrPath, *, outlines: Outlines | None = None, labels: bool | None = None, memory: float | None = None
) -> list[Ensemble]:
    """Read the outlines of every image and curve file in a folder, or of one file.

    Parameters
    ----------
    path : path
    outlines : Outlines, optional
        Recipe for images; by default the best of several for all of them.
    labels : bool, optional
        Whether the images are labels or masks; by default detected for each.
    memory : float, optional
        Memory limit in GiB per file; by default 4.

    Returns
    -------
    list of Ensemble
        One per file, sorted by name. A warning names the files that are left out, such as the labels of an image that
        is there too.

    Raises
    ------
    ValueError
        For a folder without readable files, or a file that cannot be read, segmented or traced, naming it.
    FileNotFoundError
        If there is no such file or folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from napari_shape_ensembles import samples
    >>> from napari_shape_ensembles.io import read_folder, write_curves
    >>> Path("fields").mkdir()
    >>> for name, powder in zip(("sieved", "raw"), samples.powder_outlines().ensembles()):
    ...     write_curves(f"fields/{name}.npz", powder)
    >>> [len(ensemble) for ensemble in read_folder("fields")]
    [295, 174]
    """
    reading = Reading(SettingsFile(outlines=outlines or BEST_OF_SEVERAL), labels, memory)
    paths = files_of(Path(path), groups=True, labels=bool(labels), tell=partial(warnings.warn, stacklevel=3))
    return read_images(paths, reading)[0]


def make_reference(
    place: Path, reading: Reading, *, significance: float, outlines: int | None = None
) -> tuple[Reference, list[Path]]:
    """Make a reference of the images in a folder, or of those that a table lists; return it and the files.

    The table is a design table, see `read_design`, of one group, with a column replicate if images are not
    replicates. The reference records its files and the recipe that was used.
    """
    replicates = None
    if place.is_dir():
        paths = files_of(place, groups=True, labels=bool(reading.labels), tell=reading.tell)
        parts = [WHOLE] * len(paths)
    elif place.suffix.lower() == ".csv":
        design = read_design(place)
        paths, parts = design.paths, design.parts
        reading = replace(reading, pixel_sizes={**reading.pixel_sizes, **design.pixel_sizes})
        if "group" in design.table and len(kinds := sorted(set(design.table["group"].astype(str)))) > 1:
            raise ContentError(
                f"{place.name} lists {len(kinds)} groups ({', '.join(kinds[:4])}): a reference is of one kind; keep "
                "its rows only"
            )
        if "replicate" in design.table:
            replicates = design.table["replicate"].astype(str).tolist()
    else:
        raise ContentError(f"{place}: give a folder of images, or a table (CSV) with a column image")
    ensembles, reading = read_images(paths, reading, parts)
    return Reference(
        ensembles,
        reading.settings.analysis,
        replicates=replicates,
        significance=significance,
        outlines=outlines,
        inputs=inputs_of([[path] for path in paths], reading, parts),
    ), paths


def judged_files(
    reference: Reference,
    paths: Sequence[Path],
    reading: Reading,
    *,
    correction: Correction = "none",
    in_order: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Read files as those of a reference were, and judge them; also chart them if they are `in_order`.

    The recipe of `reading` is used only if the reference records none, but for the pixel size; another
    raises a ValueError. A file that cannot be read is not judged.
    """
    if reference.inputs is not None:
        given = reading.settings.outlines
        if names := sorted({*changed(given)} - {*changed(BEST_OF_SEVERAL), "pixel_size", "unit"}):
            raise ContentError(
                f"{', '.join(names)}: images are read by the recipe of the reference; leave this out, or make another "
                "reference with it"
            )
        recipe = recipe_of(reference.inputs.recipe)
        if given.pixel_scale:
            recipe = replace(recipe, pixel_size=given.pixel_size, unit=given.unit)
        kinds = {file.labels for file in reference.inputs.files}
        labels = kinds.pop() if reading.labels is None and len(kinds) == 1 else reading.labels
        reading = replace(reading, settings=replace(reading.settings, outlines=recipe), labels=labels)
    reading, ensembles = with_one_recipe(paths, reading), []
    for place, path in enumerate(paths):
        report(path.name, place, len(paths))
        with as_part(place, len(paths), f"{path.name}: "):
            ensembles.append(_read_or_empty(path, reading, reference.unit))
    for name, ensemble in zip(distinct_names(paths, [one.name for one in ensembles]), ensembles, strict=True):
        ensemble.name = name
    return reference.judge(ensembles, correction=correction), reference.chart(ensembles) if in_order else None


def _read_or_empty(path: Path, reading: Reading, unit: str) -> Ensemble:
    """Read a file; of one that cannot be read, such as an empty image, an ensemble without outlines says why."""
    try:
        return read_images([path], reading)[0][0]
    except ValueError as error:
        reading.tell(f"note: {error}")
        why = str(error).removeprefix(f"{path.name}: ")
        return Ensemble([], name=distinct_names([path])[0], unit=unit, dropped={Reason(why): 1})


def write_judgement(
    folder: Path, reference: Reference, table: pd.DataFrame, chart: pd.DataFrame | None = None
) -> list[Path]:
    """Write the tables of `Reference.judge` and `Reference.chart` as CSV, and the answer as JSON; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in JUDGEMENT]
    write_table(paths[0], table)
    rows = [
        {name: json_number(cell) if isinstance(cell, float) else cell for name, cell in row.items()}
        for row in table.to_dict("records")
    ]
    answer = {"reference": reference.summary(), "significance": reference.significance, "images": rows}
    write_json(paths[1], {**answer, "sentences": reference.sentences(table), "versions": reference.versions})
    if chart is None:
        return paths[:2]
    write_table(paths[2], chart)
    return paths
