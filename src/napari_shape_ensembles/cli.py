"""The command line interface: the features of the docks, for scripts and clusters.

Results go to standard output, all other messages to standard error. Exit codes: 0 for every result, 1 if the result is
one that `--fail-on` names, 2 for an error.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import StrEnum
from inspect import Parameter, Signature, signature
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from .archive import ContentError
from .budget import DEFAULT_MEMORY_GIB
from .comparison import Settings
from .console import (
    assignments,
    check_folder,
    echo,
    echo_error,
    errors_as_messages,
    progress_bar,
    settings_help,
    with_settings,
)
from .io.image_parts import WHOLE
from .io.images import is_ome_zarr, read_image
from .io.outputs import is_result, recording_outputs, refuse_overwriting, with_ending
from .io.settings_file import SettingsFile, load_settings
from .io.sources import (
    Reading,
    counts_of,
    distinct_names,
    files_of,
    holds_curves,
    images_in,
    labelled,
    naming,
    read_images,
    traced,
    traced_in_tiles,
    with_one_recipe,
)
from .outlines import Outlines
from .outlines.exchange import needed
from .parameters import nearest, parameters_of
from .progress import as_part, duration
from .progress import report as report_step
from .studies import ranges
from .words import counted

app = typer.Typer(
    name="shape-ensembles",
    help="Compare ensembles of outlines from images: do they differ in size or elongation, in form, or not at all?",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

references = typer.Typer(
    name="reference",
    help="Make references, by which images are judged.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(references)

_EXIT_DIFFERS = 1


class Correction(StrEnum):
    """Corrections for several contrasts that `--correction` accepts."""

    auto = "auto"
    family = "family"
    fdr = "fdr"


class FailingResult(StrEnum):
    """Results that `--fail-on` accepts."""

    differs = "differs"
    undulation = "undulation"
    scale = "scale"
    inconclusive = "inconclusive"
    quality = "quality"


class Unlike(StrEnum):
    """Judgements that `--fail-on` accepts."""

    differs = "differs"
    form = "form"
    scale = "scale"
    inconclusive = "inconclusive"


class Errors(StrEnum):
    """What judgements of several images keep below the level."""

    none = "none"
    fdr = "fdr"
    family = "family"


A = Annotated[Path, typer.Argument(help="Image or curve file of sample A; with --groups, a folder of them.")]
B = Annotated[Path, typer.Argument(help="Image or curve file of sample B; with --groups, a folder of them.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; created if missing.")]
SettingsPath = Annotated[
    Path | None, typer.Option("--settings", metavar="FILE", help="Settings file (TOML), as saved in the window.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting, such as rank=20 or min_area=30; can be repeated. --help-all lists them.",
    ),
]


Method = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="How objects are found: otsu, local, auto (the best of several), …"),
]
PixelSize = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Side of a pixel, or height,width; overrides that of the files.")
]
Unit = Annotated[str | None, typer.Option(metavar="UNIT", help="Unit of --pixel-size, such as µm or nm.")]
Reflections = Annotated[
    bool | None,
    typer.Option(
        "--reflections/--no-reflections",
        help="Whether an outline and its mirror image count as one form; by default they do.",
        show_default=False,
        hidden=True,
    ),
]
Groups = Annotated[bool, typer.Option("--groups", help="A and B are folders; each is one sample of several images.")]
Labels = Annotated[
    bool | None,
    typer.Option(
        "--labels/--no-labels",
        help="Treat inputs as label images or masks (not segmented), or as intensity images; detected by default.",
        show_default=False,
    ),
]
FailOn = Annotated[
    list[FailingResult] | None,
    typer.Option(
        "--fail-on",
        metavar="RESULT",
        help="Exit with code 1 for this result: differs, undulation, scale, inconclusive, or quality (outlines with a "
        "serious fault); can be repeated.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite inputs and files that no earlier run wrote.")]
Memory = Annotated[
    float | None,
    typer.Option(
        "--memory",
        metavar="GIB",
        help=f"Memory limit for reading one file, in GiB. Default: {DEFAULT_MEMORY_GIB:g}.",
        hidden=True,
    ),
]
CurveColumn = Annotated[
    str | None,
    typer.Option("--curve-column", metavar="NAME", help="Column of a table that identifies the curves.", hidden=True),
]
PixelSizes = Annotated[
    Path | None,
    typer.Option(
        "--pixel-sizes",
        metavar="TABLE",
        help="Table (CSV) of pixel sizes per image, with columns image, pixel_size and unit.",
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(
        "--table",
        help="Write a table of outlines: .csv, .parquet, .geoparquet, .geojson (QuPath), .h5ad (AnnData), .zarr "
        "(SpatialData).",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", help='Address of the Dask scheduler to run on; "local" starts one on this computer.'),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        metavar="FOLDER",
        help="Keep landmarks in a file in FOLDER during the comparison, for more outlines than fit in memory.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", hidden=True)]
Ranks = Annotated[str, typer.Option(help="Ranks: numbers and ranges, such as 5,10,20 or 2-20:2 or '2 to 20 by 2'.")]
Landmarks = Annotated[str, typer.Option(help="Landmarks per curve: numbers and ranges.")]
Sigmas = Annotated[str, typer.Option(help="Smoothing in pixels: numbers and ranges.")]

#: Settings that have an option of their own: those that depend on the images more than on the study.
_SINGLE = {"method": Method, "pixel_size": PixelSize, "unit": Unit, "reflections": Reflections}
#: Options of every command that reads images: name -> type and default.
_READING: dict[str, tuple[Any, Any]] = {
    "settings": (SettingsPath, None),
    "set_": (Set, None),
    **{name: (kind, None) for name, kind in _SINGLE.items()},
    "labels": (Labels, None),
    "pixel_sizes": (PixelSizes, None),
    "curve_column": (CurveColumn, None),
    "memory": (Memory, None),
}


def command(
    *kinds: type[Any], without: Sequence[str] = (), to: typer.Typer = app
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command, whose errors become one sentence.

    If there are kinds, the command takes the options of `_READING`, and the function a `Reading` made from them.

    Parameters
    ----------
    kinds : type
        Dataclasses of parameters that can be set.
    without : sequence of str
        Names of parameters that the command sets itself.
    to : Typer
        The application, or a group of commands.
    """
    settings = {name: one for kind in kinds for name, one in parameters_of(kind).items() if name not in without}

    def show_all(context: typer.Context, value: bool) -> None:
        """Show the help with the hidden options and all settings."""
        if not value:
            return
        hidden = [option for option in context.command.params if getattr(option, "hidden", False)]
        for option in hidden:
            option.hidden = False  # type: ignore[attr-defined]
        print(context.get_help())
        for option in hidden:
            option.hidden = True  # type: ignore[attr-defined]
        if settings:
            print(settings_help(settings))
        raise typer.Exit

    what = "options and settings" if settings else "options"
    help_all = typer.Option("--help-all", is_eager=True, callback=show_all, help=f"Show all {what}.")

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(*, debug: bool, help_all: bool, **given: Any) -> None:
            with errors_as_messages(debug=debug):
                if given.get("dask"):
                    needed("distributed", "dask", "--dask")  # before any file is read
                if kinds:
                    if given.get("out") is not None:
                        check_folder(given["out"])
                    given["reading"] = _reading({name: given.pop(name) for name in _READING}, settings)
                function(**given)

        own = [item for name, item in signature(function).parameters.items() if name != "reading"]
        common = {**(_READING if kinds else {}), "debug": (Debug, False)}
        common["help_all"] = Annotated[bool, help_all], False
        taken = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in own]
        for name, (kind, default) in common.items():
            taken.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        whole = Signature(taken)
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = whole  # type: ignore[attr-defined]
        run.__annotations__ = {name: item.annotation for name, item in whole.parameters.items()}
        to.command(function.__name__.rstrip("_"))(run)
        return run

    return register


def _reading(given: dict[str, Any], settings: Mapping[str, Any]) -> Reading:
    """Make the `Reading` of the options `_READING`; settings given singly override those of the file."""
    chosen = assignments(given["set_"] or ())
    options = {name: f"--set {name}" for name in chosen}
    for name in _SINGLE:
        if (value := given[name]) is not None:
            chosen[name] = value if isinstance(value, str) else str(value).lower()
            options[name] = f"--{name.replace('_', '-')}"
    if unknown := next((name for name in chosen if name not in settings), None):
        more = nearest(unknown, settings) or ": --help-all lists all settings"
        raise ContentError(f"{options[unknown]}: this command has no setting {unknown!r}{more}")
    file = load_settings(given["settings"]) if given["settings"] else SettingsFile()
    file = SettingsFile(with_settings(file.analysis, chosen, options), with_settings(file.outlines, chosen, options))
    sizes = {}
    if given["pixel_sizes"]:
        from .io.design import read_design

        sizes = read_design(given["pixel_sizes"]).pixel_sizes
        if not sizes:
            raise ContentError(f"{given['pixel_sizes'].name} has no pixel sizes: add a column pixel_size")
    return Reading(file, given["labels"], given["memory"], given["curve_column"], sizes, echo_error)


@app.callback()
def common(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Take options that come before a command."""
    if version:
        from . import __version__

        echo(__version__)
        raise typer.Exit


@command(Outlines, Settings)
def compare(
    a: A,
    b: B,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results; without it, nothing is written.")
    ] = None,
    *,
    reading: Reading,
    groups: Groups = False,
    replicate: Annotated[
        str | None,
        typer.Option(
            "--replicate",
            metavar="COLUMN",
            help="Column of the table of curves that names the specimen, site or well of each: these are permuted.",
        ),
    ] = None,
    position: Annotated[
        bool, typer.Option("--position", help="Also test whether shape depends on position within the images.")
    ] = False,
    table: Table = None,
    scratch: Scratch = None,
    dask: Dask = None,
    fail_on: FailOn = None,
    force: Force = False,
) -> None:
    """Compare the outlines of two images or folders of images."""
    from .comparison import compare as compare_ensembles
    from .comparison import position_dependence
    from .comparison.compare import LONG_SECONDS, expected_seconds
    from .io.rerun import inputs_of
    from .io.results import COMPARISON, write_comparison

    _check_outputs(out or Path(), COMPARISON if out else (), (a, b), force, table)
    if scratch is not None:
        check_folder(scratch)
    with _running("comparing", dask) as client:
        samples, files, reading = _samples((a, b), reading, groups)
        if (expected := expected_seconds(*samples, reading.settings.analysis)) > LONG_SECONDS:
            _note(f"the comparison is expected to take {duration(expected)}")
        result = compare_ensembles(
            *samples, reading.settings.analysis, replicate=replicate, scratch=scratch, client=client
        )
    if out is not None:
        with _writing(out, COMPARISON) as written:
            written += write_comparison(out, replace(result, inputs=inputs_of(files, reading)))
    _write_table(table, result)
    _tell(result)
    if position:
        _note(position_dependence(result).sentence())
    raise typer.Exit(_EXIT_DIFFERS if fail_on and hit(result, fail_on) else 0)


@command(Outlines, Settings)
def experiment(
    design: Annotated[
        Path,
        typer.Argument(
            help="Design table (CSV), one row per image: columns image and group; optionally replicate, "
            "block, covariates, pixel_size and unit."
        ),
    ],
    out: Out,
    *,
    reading: Reading,
    control: Annotated[str | None, typer.Option(help="Control group, with which all others are compared.")] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="Read the design from file names, such as {group}_{replicate}_{field}; DESIGN is then a folder."
        ),
    ] = None,
    correction: Annotated[
        Correction, typer.Option(help="Correction for several contrasts: auto, family or fdr.", show_default=False)
    ] = Correction.auto,
    margin: Annotated[float, typer.Option(help="Equivalence margin, as a ratio of sizes: 0.1 is 10 %.")] = 0.1,
    given: Annotated[
        list[str] | None,
        typer.Option(help="Covariate or factor to adjust the groups and trends for; can be repeated."),
    ] = None,
    interaction: Annotated[
        list[str] | None,
        typer.Option(help="Interaction of two columns to test, such as group:sex; can be repeated."),
    ] = None,
    table: Table = None,
    dask: Dask = None,
    force: Force = False,
) -> None:
    """Compare groups of images by a design table.

    Replicates are permuted.
    """
    from .io.design import images_of_design

    if not (isfinite(margin) and margin > 0):
        raise ContentError(f"--margin {margin:g}: give a positive ratio, such as 0.1 for 10 %")
    images = images_of_design(design, pattern, labels=bool(reading.labels), tell=_note)
    options: dict[str, Any] = {"given": given or (), "interactions": interaction or (), "margin": margin}
    options |= {"control": control, "correction": str(correction), "dask": dask, "table": table, "force": force}
    _run_experiment(images, reading, out, [design, *images.paths], **options)


@command(Outlines, Settings)
def pairs(
    folder: Annotated[Path, typer.Argument(help="Folder of images or curve files, at least two.")],
    out: Out,
    *,
    reading: Reading,
    table: Table = None,
    dask: Dask = None,
    force: Force = False,
) -> None:
    """Compare every image in a folder with every other.

    An experiment with one image per group.
    """
    import pandas as pd

    from .io.design import DesignImages

    paths = files_of(folder, groups=True, labels=bool(reading.labels), tell=_note)
    if len(paths) < 2:
        raise ContentError(f"{folder}: all pairs need at least two images, not {len(paths)}")
    images = DesignImages(paths, pd.DataFrame({"group": distinct_names(paths)}), [], {})
    _run_experiment(images, reading, out, [folder], correction="family", dask=dask, table=table, force=force)


def _run_experiment(
    images: Any,
    reading: Reading,
    out: Path,
    inputs: Sequence[Path],
    *,
    control: str | None = None,
    correction: str,
    margin: float = 0.1,
    given: Sequence[str] = (),
    interactions: Sequence[str] = (),
    dask: str | None,
    table: Path | None,
    force: bool,
) -> None:
    """Read the images of a design, compare the groups, write the results, and print them."""
    from .comparison import experiment as run_experiment
    from .comparison.design import RequestedTests, checked_design
    from .io.rerun import inputs_of
    from .io.results import EXPERIMENT, TRENDS, trend_figures, write_experiment
    from .outlines import Ensemble

    checked = checked_design(images.table, len(images.paths), control)
    asked = RequestedTests.of_names(checked, given, interactions)
    names = (*EXPERIMENT, *trend_figures(checked.covariates))
    _check_outputs(out, names, inputs, force, table)
    before = (*checked.notes, *checked.forecast(reading.settings.analysis))
    for sentence in before:
        _note(sentence)
    reading = replace(reading, pixel_sizes={**reading.pixel_sizes, **images.pixel_sizes})
    with _running("experiment", dask) as client:
        ensembles, reading = read_images(images.paths, reading, images.parts)
        result = run_experiment(
            ensembles, images.table, reading.settings.analysis, control=control, correction=correction, client=client
        )
        result = replace(result, inputs=inputs_of([[path] for path in images.paths], reading, images.parts))
        with _writing(out, names, [TRENDS]) as written:
            written += write_experiment(out, result, margin, asked)
    if table is not None:
        _write_table(table, Ensemble.pooled(result.groups.images), result.to_dataframe())
    _tell(result, [*result.overall(asked.given, asked.interactions), *result.sentences(margin)], before)


@command()
def rerun(
    result: Annotated[
        Path,
        typer.Argument(help="A saved comparison (.comparison.npz), or the result.experiment.npz of an experiment."),
    ],
    inputs: Annotated[
        Path | None,
        typer.Option(help="Folder to search, by checksum, for input files that were moved."),
    ] = None,
    memory: Memory = None,
) -> None:
    """Rerun a saved result and report whether it is reproduced.

    Every number is compared; exits with 1 if one is not, or if an input file has changed.
    """
    from .io.rerun import DIFFERS
    from .io.rerun import rerun as run_again

    with _running("rerunning"):
        found = run_again(result, folder=inputs, memory=memory)
    for note in found.notes:
        _note(note)
    for number in found.numbers:
        now = f", now {number.again}" if number.verdict == DIFFERS else ""
        where = f" ({number.where})" if number.where else ""
        echo(f"{number.name}: {number.verdict}: {number.saved}{now}{where}")
    echo(found.summary())
    raise typer.Exit(0 if found.same and not found.inputs_changed else _EXIT_DIFFERS)


@command()
def report(
    comparison: Annotated[Path, typer.Argument(help="Saved comparison (.npz), as written by compare.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Report file: .html or .pdf.")],
    figures: Annotated[Path | None, typer.Option(help="Folder for all figures as SVG and PNG.")] = None,
    dpi: Annotated[int, typer.Option(min=1, help="Resolution of the PNG figures, in dots per inch.")] = 300,
    proof: Annotated[
        bool, typer.Option("--proof", help="Also exchange forms and scales and compare again (control experiment).")
    ] = False,
    memory: Memory = None,
    force: Force = False,
) -> None:
    """Explain a saved comparison with figures and text in one file.

    What differs, which way and by how much.
    """
    from .comparison import Comparison
    from .explanation import explain, resynthesis
    from .explanation.figures import figure_paths, save_figures
    from .explanation.report import report_kind, save_report

    report_kind(out := with_ending(out, ".html"))
    for folder in (out.parent, figures or out.parent):
        check_folder(folder)
    _check_outputs(out.parent, [out.name], (comparison,), force)
    drawn = figure_paths(figures) if figures else []
    refuse_overwriting(drawn, inputs=(comparison,), force=force)
    result = Comparison.load(comparison, memory=memory)
    with _running("explaining"):
        explanation = explain(result)
    with _writing(out.parent, [out.name]) as written:
        written.append(save_report(explanation, out, swaps=resynthesis(result) if proof else ()))
    if figures:
        with _writing(figures, [path.name for path in drawn]) as written:
            written += save_figures(explanation, figures, dpi=dpi)
    for sentence in explanation.sentences():
        echo(sentence)


def hit(result: Any, fail_on: Sequence[FailingResult]) -> bool:
    """Whether a result is one of those to fail on."""
    hits = {
        FailingResult.differs: result.differs in ("form", "scale", "both"),
        FailingResult.undulation: result.differs in ("form", "both"),
        FailingResult.scale: result.differs in ("scale", "both"),
        FailingResult.inconclusive: result.differs is None,
        FailingResult.quality: bool(result.quality.serious),
    }
    return any(hits[answer] for answer in fail_on)


@command(Outlines)
def segment(
    images: Annotated[list[Path], typer.Argument(help="Images, or folders of images.")],
    out: Out,
    *,
    reading: Reading,
    form: Annotated[
        str, typer.Option("--format", help="File format of the curves: csv, parquet, geojson, geoparquet, zip or npz.")
    ] = "csv",
    table: Table = None,
    force: Force = False,
) -> None:
    """Segment images; write labels and outlines.

    Labels are TIFF files, of images that fit in memory; outlines are curve files.
    """
    from .io.segmented import earlier_files, segmented_files, write_outlines, write_segmented

    paths = [
        path
        for place in images
        for path in files_of(place, groups=True, labels=bool(reading.labels), images=True, tell=_note)
    ]
    paths = list(dict.fromkeys(paths))
    found_in = [(path, name, part) for path, name in zip(paths, distinct_names(paths), strict=True)
                for part in images_in(path)]  # fmt: skip
    names = [name if part == WHOLE else f"{name} {part}" for _, name, part in found_in]
    names = [name.replace("/", "-").replace("\\", "-") for name in names]
    every = [path.name for name in names for path in segmented_files(out, name, form)]
    _check_outputs(out, every, paths, force, table)
    ensembles = []
    with _running("segmenting"):
        reading = with_one_recipe(paths, reading)
        for place, (path, _, part) in enumerate(found_in):
            report_step(names[place], place, len(found_in))
            with as_part(place, len(found_in), f"{names[place]}: "):
                ensemble, found = traced_in_tiles(path, reading) if part == WHOLE else None, None
                if ensemble is None:
                    found = labelled(path, reading, part)
                    ensemble = traced(found, reading)
            with recording_outputs(out, [planned.name for planned in earlier_files(out, names[place])]) as written:
                if found is None:
                    pixel = ensemble.pixel_size or (1.0, 1.0)
                    written += write_outlines(out, ensemble, form, names[place], pixel, ensemble.name)
                else:
                    written += write_segmented(out, found, ensemble, form, names[place])
            of_labels = "larger than memory, so no labels are written" if found is None else found.calibration
            where = path.name if part == WHOLE else f"{path.name} {part}"
            echo(f"{where}: {counts_of(ensemble)}; {of_labels}")
            ensembles += [ensemble] if table else []
    for name, ensemble in zip(names, ensembles, strict=False):
        ensemble.name = name
    _write_table(table, ensembles)
    echo_error(f"written to {out}")


@command()
def inspect(
    labels: Annotated[Path, typer.Argument(help="Label image to inspect, or a file of outlines.")],
    out: Out,
    image: Annotated[
        Path | None, typer.Option(help="Image that was segmented; without it, fewer faults are detected.")
    ] = None,
    ticks: Annotated[
        Path | None,
        typer.Option(
            help="CSV with the columns label and status (right or wrong); the other labels are ranked again. Of a file "
            "of outlines, a copy without the wrong ones is written, in its format."
        ),
    ] = None,
    first: Annotated[int, typer.Option(min=0, help="Number of labels to print.")] = 10,
    memory: Memory = None,
    force: Force = False,
) -> None:
    """Rank labels by how likely they are wrong, with reasons.

    With the image, objects without a label are listed, too.
    """
    from .inspection import missing_objects, rank_suspects
    from .inspection.suspects import scale_of_score, verdicts_of
    from .io.design import read_small_table
    from .io.results import write_table

    if holds_curves(labels):
        if image is not None:
            raise ContentError(f"{labels.name} holds outlines, which are ranked without an image: omit --image")
        _inspect_outlines(labels, out, ticks, first, memory, force)
        return
    if image is not None and image.exists() and labels.exists() and image.samefile(labels):
        raise ContentError(f"{image} is given as labels and as image: give the image that was segmented, or omit it")
    plane = _image_file(labels, memory, labels=True)
    _warn_of_unusual_values(labels, plane.pixels)
    seen = _image_file(image, memory, labels=False).pixels if image else None
    names = [f"{plane.name}.{ending}" for ending in ("suspects.csv", *(["missing.csv"] if image else []))]
    check_folder(out)
    inputs = [path for path in (labels, image, ticks) if path]
    _check_outputs(out, names, inputs, force)
    said = read_small_table(ticks) if ticks else None
    with _running("inspecting"), naming(f"{labels.name} with {ticks.name}" if ticks else labels.name):
        tables = [rank_suspects(plane.pixels, seen, corrections=said)]
        if seen is not None:
            tables.append(missing_objects(plane.pixels, seen))
    with _writing(out, [*names, f"{plane.name}.missing.csv"]) as written:
        for name, table in zip(names, tables, strict=True):
            write_table(out / name, table)
            written.append(out / name)
    ranking = tables[0]
    noted = int((ranking["reasons"] != "").sum())
    scale = scale_of_score([] if said is None else [*verdicts_of(said).values()])
    echo(f"{plane.name}: {counted(len(ranking), 'label')}, {noted} flagged for review; {scale}")
    for label, score, reasons in ranking.head(first).itertuples(index=False):
        echo(f"{label}: {score:.2f} {reasons}".rstrip())
    if seen is not None and len(ranking):
        echo(f"{counted(len(tables[1]), 'object')} without a label")
    elif seen is not None:
        _note("objects without a label are recognized by those with one: there are none")


def _inspect_outlines(path: Path, out: Path, ticks: Path | None, first: int, memory: float | None, force: bool) -> None:
    """Rank the outlines of a file; those said to be wrong are left out of a copy in its format."""
    from .inspection import rank_suspects
    from .io.curve_files import read_curves, without, write_curves
    from .io.design import read_small_table
    from .io.layouts import ending_of
    from .io.results import write_table

    check_folder(out)
    annotated = ending_of(path)
    ending = annotated or path.suffix
    names = [f"{path.stem}.suspects.csv", *([f"{path.stem}.corrected{ending}"] if ticks else [])]
    _check_outputs(out, names, [one for one in (path, ticks) if one], force)
    table = read_curves(path, memory=memory)
    with _running("inspecting"), naming(path.name):
        ranking = rank_suspects(table.ensemble)
    corrected = without(table, read_small_table(ticks)) if ticks else table
    with _writing(out, names) as written:
        write_table(out / names[0], ranking)
        if ticks:
            write_curves(out / names[1], corrected, original=path if annotated else None)
        written += [out / name for name in names]
    noted = int((ranking["reasons"] != "").sum())
    echo(f"{path.name}: {counted(len(ranking), 'outline')}, {noted} flagged for review")
    for label, score, reasons in ranking.head(first).itertuples(index=False):
        echo(f"{label}: {score:.2f} {reasons}".rstrip())
    if ticks:
        gone = len(table.ensemble) - len(corrected.ensemble)
        echo(f"{names[1]}: without {counted(gone, 'outline')} said to be wrong")


def _image_file(path: Path, memory: float | None, *, labels: bool) -> Any:
    if is_ome_zarr(path):
        from .io.ome_zarr import read_ome_zarr

        return read_ome_zarr(path, labels=labels, memory=memory)
    return read_image(path, memory=memory)


def _warn_of_unusual_values(path: Path, pixels: Any) -> None:
    """Warn of gray levels in place of labels, and of negative labels."""
    from .outlines import content_of

    if not pixels.any():
        _note(f"{path.name} has no labels: every pixel is 0")
    elif content_of(pixels) == "grey":
        _note(f"{path.name} looks like an intensity image: is it the image instead of the labels?")
    if below := int((pixels < 0).sum()):
        _note(f"{path.name}: {counted(below, 'pixel')} with negative labels are treated as background")


@command()
def annotators(
    labels: Annotated[
        list[Path], typer.Argument(help="Label images of the same image, one file per annotator, at least two.")
    ],
    out: Out,
    min_iou: Annotated[float, typer.Option(help="Minimum overlap (IoU) for two objects to count as the same.")] = 0.5,
    first: Annotated[int, typer.Option(min=0, help="Number of disputed objects to print.")] = 10,
    memory: Memory = None,
    force: Force = False,
) -> None:
    """Compare several annotators' labels of one image.

    Agreement, consensus, and how each annotator deviates.
    """
    import numpy as np

    from .inspection import annotators as compared
    from .io.corrected import write_labels
    from .io.results import write_table

    names = "pairs.csv", "objects.csv", "tendencies.csv", "disputed.csv", "consensus.tif"
    check_folder(out)
    _check_outputs(out, names, labels, force)
    if twice := next((path for path in labels if labels.count(path) > 1), None):
        raise ContentError(f"{twice} is given twice: give one file per annotator")
    planes = [_image_file(path, memory, labels=True) for path in labels]
    for path, one in zip(labels, planes, strict=True):
        _warn_of_unusual_values(path, one.pixels)
    stated = [one.calibration for one in planes if one.calibration.unit != "pixel"]
    size = next(iter(stated), planes[0].calibration)
    if len({(one.scale, one.unit) for one in stated}) > 1:
        _note(f"the files state different pixel sizes: the consensus has {size}")
    with _running("comparing annotators"):
        found = compared(
            dict(zip(distinct_names(labels), [one.pixels for one in planes], strict=True)), min_iou=min_iou
        )
        _, disputed = found.differences()
    out.mkdir(parents=True, exist_ok=True)
    smallest = np.uint16 if found.consensus.max(initial=0) < 2**16 else np.uint32
    with _writing(out, names) as written:
        for name, table in zip(names, (found.pairs, found.objects, found.tendencies, disputed), strict=False):
            write_table(out / name, table)
        write_labels(out / names[-1], found.consensus.astype(smallest), size)
        written += [out / name for name in names]
    echo(found.summary())
    for label, score, reasons in disputed.head(first).itertuples(index=False):
        if score > 0:
            echo(f"{label}: {score:.2f} {reasons}".rstrip())


@command(Outlines, Settings, without=("rank", "landmarks"))
def landscape(
    a: A,
    b: B,
    out: Out,
    ranks: Ranks = ranges.LANDSCAPE["ranks"],
    landmarks: Landmarks = ranges.LANDSCAPE["landmarks"],
    *,
    reading: Reading,
    groups: Groups = False,
    table: Table = None,
    dask: Dask = None,
    force: Force = False,
) -> None:
    """Repeat a comparison at every rank and number of landmarks."""
    from .studies import decision_landscape
    from .studies.figures import plot_landscape

    grid = _grid(ranks, landmarks)
    names = _study_files(out, "landscape", (a, b), force, table)
    with _running("landscape", dask) as executor:
        samples, _, reading = _samples((a, b), reading, groups)
        found = decision_landscape(*samples, **grid, settings=reading.settings.analysis, executor=executor)
    _write_study(out, names, found, plot_landscape, {"curves": dict(zip("ab", found.sizes, strict=True))})
    _write_table(table, samples)
    echo(found.summary())


@command(Outlines, Settings, without=("rank", "landmarks", "outline_smoothing", "smoothing_unit"))
def smoothing(
    a: A,
    b: B,
    out: Out,
    sigmas: Sigmas = ranges.SMOOTHING["sigmas"],
    ranks: Ranks = ranges.SMOOTHING["ranks"],
    landmarks: Landmarks = ranges.SMOOTHING["landmarks"],
    *,
    reading: Reading,
    groups: Groups = False,
    dask: Dask = None,
    force: Force = False,
) -> None:
    """Repeat a comparison for every outline smoothing.

    A decision landscape for each, and the range to trust.
    """
    from .studies import smoothing_study
    from .studies.figures import plot_study

    grid = _grid(ranks, landmarks)
    with naming("--sigmas"):
        sweep = ranges.numbers(sigmas)
    names = _study_files(out, "smoothing", (a, b), force)
    with _running("smoothing study", dask) as executor:
        masks, outlines, settings = _masks((a, b), reading, groups)
        study = smoothing_study(
            *masks,
            sigmas=sweep,
            **grid,
            settings=settings,
            outlines=outlines,
            names=_names_of((a, b)),
            executor=executor,
        )
    _write_study(out, names, study, plot_study)
    echo(study.summary())


#: Settings of a comparison that a reference does not use.
_NOT_OF_REFERENCES = tuple({*parameters_of(Settings)} - {"landmarks", "measure", "interpolation", "seed"})


@command(Outlines, Settings, without=_NOT_OF_REFERENCES, to=references)
def make(
    images: Annotated[
        Path,
        typer.Argument(
            help="Folder of images or curve files of the accepted kind; or a table (CSV) with the column image, and "
            "replicate if some images are of one dish, animal or day."
        ),
    ],
    file: Annotated[Path, typer.Option("--out", "-o", help="File of the reference, such as nuclei.reference.npz.")],
    *,
    reading: Reading,
    level: Annotated[float, typer.Option(help="Probability of a false alarm for an image.")] = 0.05,
    outlines: Annotated[
        int | None,
        typer.Option(min=1, help="Number of outlines drawn from each image; images with fewer are left out."),
    ] = None,
    force: Force = False,
) -> None:
    """Make a reference of images of one accepted kind."""
    from .io.references import make_reference

    file = with_ending(file, ".reference.npz")
    check_folder(file.parent)
    _check_outputs(file.parent, [file.name], [images], force)
    with _running("reference"):
        reference, _ = make_reference(images, reading, significance=level, outlines=outlines)
        with _writing(file.parent, [file.name]) as written:
            reference.save(file)
            written.append(file)
    _tell(reference)


@command(Outlines)
def judge(
    reference: Annotated[Path, typer.Argument(help="Reference, as written by reference make.")],
    images: Annotated[list[Path], typer.Argument(help="Images or curve files, or folders of them.")],
    out: Out,
    *,
    reading: Reading,
    correction: Annotated[
        Errors,
        typer.Option(
            help="What is kept below the level: for each image, the probability of a false alarm (none); over all, the "
            "false discovery rate (fdr) or the probability of any false alarm (family)."
        ),
    ] = Errors.none,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="Also chart the images in the order given, and by name in a folder.")
    ] = False,
    fail_on: Annotated[
        list[Unlike] | None,
        typer.Option(
            metavar="RESULT",
            help="Exit with code 1 if an image differs: differs, form, scale; or inconclusive; can be repeated.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Judge whether images are of a reference's kind.

    Images are read by its recipe.
    """
    from .comparison import Reference
    from .io.references import JUDGEMENT, judged_files, write_judgement

    paths = [path for place in images for path in files_of(place, groups=True, labels=bool(reading.labels), tell=_note)]
    _check_outputs(out, JUDGEMENT, [reference, *paths], force)
    with _running("judging"):
        kind = Reference.load(reference, memory=reading.memory)
        table, chart = judged_files(kind, paths, reading, correction=correction.value, in_order=in_order)
    with _writing(out, JUDGEMENT) as written:
        written += write_judgement(out, kind, table, chart)
    for sentence in kind.sentences(table):
        echo(sentence)
    if chart is not None:
        alarms, missing = chart["name"][chart["alarm"]], int(chart["p"].isna().sum())
        without = f", {missing} of {counted(len(chart), 'image')} not charted" if missing else ""
        echo(f"control chart: {f'alarm from {alarms.iloc[0]} on' if len(alarms) else 'no alarm'}{without}")
    for warning in kind.warnings:
        _note(warning)
    verdicts = {*table["differs"].fillna(Unlike.inconclusive)}
    hits = {Unlike.differs: {"form", "scale", "both"}, Unlike.form: {"form", "both"}, Unlike.scale: {"scale", "both"}}
    failed = any(verdicts & hits.get(answer, {answer.value}) for answer in fail_on or ())
    raise typer.Exit(_EXIT_DIFFERS if failed else 0)


def _grid(ranks: str, landmarks: str) -> dict[str, Any]:
    with naming("--ranks"):
        of_ranks = ranges.whole_numbers(ranks, least=1)
    with naming("--landmarks"):
        return {"ranks": of_ranks, "landmarks": ranges.whole_numbers(landmarks, least=8)}


def _check_outputs(
    out: Path, names: Iterable[str], inputs: Sequence[Path], force: bool, table: Path | None = None
) -> None:
    """Raise before any computation if the outputs or the table of outlines cannot be written.

    For folders, the files in them are inputs.
    """
    files = [file for place in inputs for file in (place.iterdir() if place.is_dir() else [place])]
    files = [file for file in files if file in inputs or (file.is_file() and not is_result(file))]
    refuse_overwriting([out / name for name in names], inputs=files, force=force)
    if table is not None:
        from .io.object_table import check_ending

        check_folder(table.parent)
        check_ending(table)
        if os.path.realpath(table) in {os.path.realpath(out / name) for name in names}:
            raise ContentError(f"{table} is a file of --out: choose another --table")
        remedy = "choose another --table, or use --force to overwrite it"
        refuse_overwriting([table], inputs=files, force=force, remedy=remedy)


def _study_files(
    out: Path, name: str, inputs: Sequence[Path], force: bool, table: Path | None = None
) -> tuple[str, ...]:
    """Return the files that a study writes, or raise if they cannot be written."""
    names = tuple(f"{name}.{ending}" for ending in ("csv", "json", "png"))
    _check_outputs(out, names, inputs, force, table)
    return names


def _write_study(out: Path, names: Sequence[str], study: Any, draw: Any, more: Mapping[str, Any] | None = None) -> None:
    from .io.results import write_study

    with _writing(out, names) as written:
        written += write_study([out / name for name in names], study, draw, more or {})


@contextmanager
def _writing(folder: Path, names: Iterable[str], earlier: Iterable[str] = ()) -> Iterator[list[Path]]:
    """Record the files that are written into a folder, as `recording_outputs` does, and print which."""
    folder.mkdir(parents=True, exist_ok=True)
    with recording_outputs(folder, names, earlier) as written:
        yield written
    echo_error("written: " + ", ".join(map(str, written)))


def _write_table(table: Path | None, source: Any, rows: Any = None) -> None:
    """Write the table of outlines if requested: of a comparison, an ensemble, or several ensembles."""
    if table is not None:
        from .io.object_table import write_objects
        from .outlines import Ensemble

        if isinstance(source, Sequence):
            ids = [name for ensemble in source for name in ensemble.ids.tolist()]
            source = Ensemble.pooled(source)
            rows = source.to_dataframe().assign(id=ids)
        with _writing(table.parent, [table.name]) as written:
            written.append(write_objects(table, source, rows))


def _note(words: str) -> None:
    echo_error(f"note: {words}")


def _tell(result: Any, sentences: Sequence[str] = (), before: Sequence[str] = ()) -> None:
    """Print a result, its estimates, and its warnings except those that were printed before the run."""
    from .comparison import Comparison
    from .comparison.answer import summary_lines

    # Line by line, as a name may have control characters.
    for line in (*(summary_lines(result) if isinstance(result, Comparison) else [result.summary()]), *sentences):
        echo(line)
    for warning in result.warnings:
        if warning not in before:
            _note(warning)


def _samples(
    places: tuple[Path, Path], reading: Reading, groups: bool
) -> tuple[tuple[Any, Any], list[list[Path]], Reading]:
    """Read one ensemble per sample; that of a folder is named after it, made unique by parent folder.

    Returns
    -------
    samples : (Ensemble, Ensemble)
    files : list of list of Path
        Of each sample.
    reading : Reading
        With the recipe that was used.
    """
    files = [files_of(place, groups=groups, labels=bool(reading.labels), tell=_note) for place in places]
    ensembles, reading = read_images([*files[0], *files[1]], reading)
    if not groups:
        return (ensembles[0], ensembles[1]), files, reading
    from .outlines import Ensemble

    one, other = _names_of(places)
    first = len(files[0])
    samples = Ensemble.pooled(ensembles[:first], name=one), Ensemble.pooled(ensembles[first:], name=other)
    if max(len(set(sample.images)) for sample in samples) > 1:
        of_curves = reading.settings.analysis.permute == "curves"
        of_these = "outlines are permuted: the result holds for these images only"
        _note(of_these if of_curves else "whole images are permuted")
    return samples, files, reading


def _names_of(places: tuple[Path, Path]) -> tuple[str, str]:
    folders = [place.is_dir() and not is_ome_zarr(place) for place in places]
    own = [
        place.resolve().name if folder else distinct_names([place])[0]
        for place, folder in zip(places, folders, strict=True)
    ]
    one, other = distinct_names([place.resolve() for place in places], own)
    return one, other


def _masks(places: tuple[Path, Path], reading: Reading, groups: bool) -> tuple[list[list[Any]], Outlines, Settings]:
    """Return the labels of the two samples, the common recipe for tracing, and the settings."""
    files = [files_of(place, groups=groups, labels=bool(reading.labels), tell=_note) for place in places]
    reading = with_one_recipe([path for sample in files for path in sample], reading)
    found = [[labelled(path, reading) for path in sample] for sample in files]
    first = found[0][0]
    other = next((item for sample in found for item in sample if item.calibration != first.calibration), None)
    if other is not None:
        raise ContentError(
            f"{first.name} has {first.calibration} and {other.name} {other.calibration}: a smoothing study needs one "
            "pixel size; give --pixel-size and --unit"
        )
    outlines = replace(reading.settings.outlines, pixel_size=first.calibration.scale, unit=first.calibration.unit)
    return [[item.labels for item in sample] for sample in found], outlines, reading.settings.analysis


@contextmanager
def _running(title: str, dask: str | None = None) -> Iterator[Any]:
    """Show the progress of a run; yields a client of the Dask scheduler at an address, or None to work locally."""
    with nullcontext() if dask is None else _dask_client(dask) as client, progress_bar(title):
        yield client


@contextmanager
def _dask_client(address: str) -> Iterator[Any]:
    """Yield a client of a Dask scheduler; "local" starts one on this computer."""
    distributed = needed("distributed", "dask", "--dask")
    if address == "local":
        # One thread per worker process: with more, the GIL would serialize the Python parts of the pieces.
        local = distributed.LocalCluster(processes=True, threads_per_worker=1, dashboard_address=":0")
        with local as cluster, distributed.Client(cluster) as client:
            yield client
        return
    with distributed.Client(address, timeout="10s") as client:
        yield client


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # pipes on Windows may not support ∧ and µ
            stream.reconfigure(errors="replace")
    # Leave as after Ctrl+C, so that temporary folders are removed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    app()
