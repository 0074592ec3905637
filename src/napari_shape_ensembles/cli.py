"""The command line: what the docks do, for scripts and clusters. Answers go to standard output, all else beside it.

Exit codes: 0 for every answer, 1 when the answer is one that `--fail-on` names, 2 for an error.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .archive import ContentError
from .console import (
    check_folder,
    numbers_of,
    progress_bar,
    reading_file,
    say,
    say_beside,
    say_written,
    sequence_of,
    spoken_errors,
    whole_numbers_of,
)
from .io.calibration import Calibration
from .io.settings_file import SettingsFile, load_settings
from .io.sources import Reading, ensemble_of_file, files_of, labelled, traced
from .outlines import counted

app = typer.Typer(
    name="shape-ensembles",
    help="Are the outlines in this image the same as in that one, or do they differ in scale or in undulation?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DIFFERS = 1


class Answer(StrEnum):
    """What `--fail-on` can name."""

    differs = "differs"
    undulation = "undulation"
    scale = "scale"
    inconclusive = "inconclusive"


A = Annotated[Path, typer.Argument(help="Image, or file of curves; with --groups a folder of them.")]
B = Annotated[Path, typer.Argument(help="The same, to compare with.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; made where there is none.")]
SettingsPath = Annotated[Path | None, typer.Option("--settings", help="TOML file, the same as the docks save.")]
Groups = Annotated[bool, typer.Option("--groups", help="A and B are folders, each one sample of several images.")]
Labels = Annotated[bool, typer.Option("--labels", help="Images hold labels or masks: they are not segmented.")]
PixelSize = Annotated[
    str | None,
    typer.Option("--pixel-size", help="Height[,width] of a pixel, in place of what the files state; needs --unit."),
]
Unit = Annotated[str | None, typer.Option("--unit", help="Of the pixel size, such as µm or nm.")]
FailOn = Annotated[
    list[Answer] | None,
    typer.Option("--fail-on", help="Exit with 1 for this answer; may be given several times."),
]
Dask = Annotated[str | None, typer.Option("--dask", help="Address of a Dask scheduler that does the work.")]
Ranks = Annotated[str, typer.Option(help="Ranks: 5,10,20 or first:last:step.")]
Landmarks = Annotated[str, typer.Option(help="Landmarks per curve: 100,200 or first:last:step.")]


@app.command()
def compare(
    a: A,
    b: B,
    out: Out,
    settings: SettingsPath = None,
    groups: Groups = False,
    labels: Labels = False,
    pixel_size: PixelSize = None,
    unit: Unit = None,
    fail_on: FailOn = None,
) -> None:
    """Compare the outlines of two images, or of two folders of images, and print the verdict."""
    from .comparison import compare as compare_ensembles
    from .io.results import write_comparison

    with spoken_errors():
        reading = _reading(settings, labels, pixel_size, unit, out)
        samples = _samples((a, b), reading, groups)
        with progress_bar("comparing"):
            result = compare_ensembles(*samples, reading.settings.analysis)
        say_written(write_comparison(out, result))
        say(result.summary())
        for warning in result.warnings:
            say_beside(f"note: {warning}")
        code = _DIFFERS if _hit(result.case, fail_on or []) else 0
    raise typer.Exit(code)


@app.command()
def report(
    comparison: Annotated[Path, typer.Argument(help="A saved comparison, as compare writes it (.npz).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The report: .html or .pdf.")],
    figures: Annotated[Path | None, typer.Option(help="Folder for all figures as SVG and PNG.")] = None,
    dpi: Annotated[int, typer.Option(min=1, help="Dots per inch of the PNG figures.")] = 300,
    proof: Annotated[bool, typer.Option("--proof", help="Also swap forms and scales, and compare again.")] = False,
) -> None:
    """Explain a saved comparison: what differs, by how much, with figures and sentences in one file."""
    from .comparison import Comparison
    from .explanation import explain, resynthesis
    from .explanation.figures import save_figures
    from .explanation.report import report_kind, save_report

    with spoken_errors():
        report_kind(out)
        for folder in (out.parent, figures or out.parent):
            check_folder(folder)
        result = Comparison.load(comparison)
        with progress_bar("explaining"):
            explanation = explain(result)
        out.parent.mkdir(parents=True, exist_ok=True)
        save_report(explanation, out, swaps=resynthesis(result) if proof else ())
        say_written([out, *(save_figures(explanation, figures, dpi=dpi) if figures else [])])
        for sentence in explanation.sentences():
            say(sentence)


def _hit(case: str, fail_on: Sequence[Answer]) -> bool:
    """Whether an answer is one of those to fail on."""
    from .comparison import INCONCLUSIVE

    if case == INCONCLUSIVE:
        return Answer.inconclusive in fail_on
    undulation, scale = case[0] == "0", case[-1] == "0"
    found = {Answer.undulation: undulation, Answer.scale: scale, Answer.differs: undulation or scale}
    return any(found.get(answer, False) for answer in fail_on)


@app.command()
def segment(
    images: Annotated[list[Path], typer.Argument(help="Images, or folders of them.")],
    out: Out,
    settings: SettingsPath = None,
    labels: Labels = False,
    pixel_size: PixelSize = None,
    unit: Unit = None,
    form: Annotated[str, typer.Option("--format", help="Of the curves: csv, parquet, geojson, zip or npz.")] = "csv",
) -> None:
    """Segment images: labels as TIFF, and their outlines as files of curves."""
    from .io.segmented import write_segmented

    with spoken_errors():
        reading = _reading(settings, labels, pixel_size, unit, out)
        paths = [path for place in images for path in files_of(place, groups=True)]
        with progress_bar("segmenting"):
            for index, path in enumerate(paths):
                with reading_file(path, index, len(paths)):
                    found = labelled(path, reading)
                    ensemble = traced(found, reading)
                write_segmented(out, found, ensemble, form)
                say(f"{path.name}: {_counted(ensemble)}; {found.calibration}")
        say_beside(f"written to {out}")


@app.command()
def pairs(
    folder: Annotated[Path, typer.Argument(help="Folder of images or files of curves, at least two.")],
    out: Out,
    settings: SettingsPath = None,
    labels: Labels = False,
    pixel_size: PixelSize = None,
    unit: Unit = None,
    dask: Dask = None,
) -> None:
    """Compare every image of a folder with every other."""
    from .io.results import write_study
    from .studies import all_pairs
    from .studies.figures import plot_pairs

    with spoken_errors(), _executor(dask) as executor:
        reading = _reading(settings, labels, pixel_size, unit, out)
        ensembles = _ensembles(files_of(folder, groups=True), reading)
        with progress_bar("all pairs"):
            table = all_pairs(ensembles, reading.settings.analysis, executor=executor)
        sizes = dict(zip(table.names, table.sizes, strict=True))
        say_written(write_study(out, "pairs", table, plot_pairs, {"curves": sizes}))
        say(table.summary())


@app.command()
def landscape(
    a: A,
    b: B,
    out: Out,
    ranks: Ranks = "5:150:5",
    landmarks: Landmarks = "100:500:100",
    settings: SettingsPath = None,
    groups: Groups = False,
    labels: Labels = False,
    pixel_size: PixelSize = None,
    unit: Unit = None,
    dask: Dask = None,
) -> None:
    """Decision landscape: the answer at every rank and number of landmarks."""
    from .io.results import write_study
    from .studies import decision_landscape
    from .studies.figures import plot_landscape

    with spoken_errors(), _executor(dask) as executor:
        grid = whole_numbers_of("--ranks", ranks), whole_numbers_of("--landmarks", landmarks)
        reading = _reading(settings, labels, pixel_size, unit, out)
        samples = _samples((a, b), reading, groups)
        with progress_bar("landscape"):
            found = decision_landscape(
                *samples,
                ranks=grid[0],
                landmarks=grid[1],
                settings=reading.settings.analysis,
                executor=executor,
            )
        sizes = dict(zip("ab", found.sizes, strict=True))
        say_written(write_study(out, "landscape", found, plot_landscape, {"curves": sizes}))
        say(found.summary())


@app.command()
def smoothing(
    a: A,
    b: B,
    out: Out,
    sigmas: Annotated[str, typer.Option(help="Gaussian σ in pixels: 0,1,2 or first:last:step.")] = "0:5:0.5",
    ranks: Ranks = "5:150:5",
    landmarks: Landmarks = "100:500:100",
    settings: SettingsPath = None,
    groups: Groups = False,
    labels: Labels = False,
    pixel_size: PixelSize = None,
    unit: Unit = None,
    dask: Dask = None,
) -> None:
    """Smoothing study: a decision landscape at every smoothing of the outlines, and the range to trust."""
    from .io.results import write_study
    from .studies import smoothing_study
    from .studies.figures import plot_study

    with spoken_errors(), _executor(dask) as executor:
        grid = whole_numbers_of("--ranks", ranks), whole_numbers_of("--landmarks", landmarks)
        sweep = sequence_of(sigmas)
        reading = _reading(settings, labels, pixel_size, unit, out)
        masks, outlines = _masks((a, b), reading, groups)
        with progress_bar("smoothing study"):
            study = smoothing_study(
                *masks,
                sigmas=sweep,
                ranks=grid[0],
                landmarks=grid[1],
                settings=reading.settings.analysis,
                outlines=outlines,
                executor=executor,
            )
        say_written(write_study(out, "smoothing", study, plot_study, {}))
        say(study.summary())


def _reading(settings: Path | None, labels: bool, pixel_size: str | None, unit: str | None, out: Path) -> Reading:
    check_folder(out)
    chosen = load_settings(settings) if settings else SettingsFile()
    if (pixel_size is None) != (unit is None):
        raise ContentError("--pixel-size and --unit go together: give both, or neither")
    stated = None if pixel_size is None else Calibration(_pixel(pixel_size), str(unit), "--pixel-size")
    return Reading(chosen, labels, stated)


def _pixel(text: str) -> tuple[float, float]:
    sizes = numbers_of(text.split(","), "--pixel-size is a height, or height,width")
    if len(sizes) > 2:
        raise ContentError(f"--pixel-size is a height, or height,width, not {text!r}")
    return sizes[0], sizes[-1]


def _samples(places: tuple[Path, Path], reading: Reading, groups: bool) -> tuple[Any, Any]:
    """One ensemble per sample; that of a folder is called after it."""
    from .outlines import Ensemble

    found = [_ensembles(files_of(place, groups=groups), reading) for place in places]
    if not groups:
        return found[0][0], found[1][0]
    say_beside("note: curves of all images of a folder are pooled and count as independent")
    one, other = (place.resolve().name if place.is_dir() else place.stem for place in places)
    return Ensemble.pooled(found[0], name=one), Ensemble.pooled(found[1], name=other)


def _ensembles(paths: Sequence[Path], reading: Reading) -> list[Any]:
    """Curves of files, one file in memory at a time."""
    found = []
    with progress_bar("reading"):
        for index, path in enumerate(paths):
            with reading_file(path, index, len(paths)):
                found.append(ensemble_of_file(path, reading))
            say_beside(f"{path.name}: {_counted(found[-1])} in {found[-1].unit}")
    return found


def _masks(places: tuple[Path, Path], reading: Reading, groups: bool) -> tuple[tuple[Any, Any], Any]:
    """Labels of the two samples, and how all of them are traced."""
    found = [[labelled(path, reading) for path in files_of(place, groups=groups)] for place in places]
    first = found[0][0]
    other = next((item for sample in found for item in sample if item.calibration != first.calibration), None)
    if other is not None:
        raise ContentError(
            f"{first.name} has {first.calibration} and {other.name} {other.calibration}: a smoothing study needs one "
            "pixel size; give --pixel-size and --unit"
        )
    outlines = replace(reading.settings.outlines, pixel_size=first.calibration.scale, unit=first.calibration.unit)
    return ([item.labels for item in found[0]], [item.labels for item in found[1]]), outlines


def _counted(ensemble: Any) -> str:
    left_out = "; ".join(f"{count} {reason}" for reason, count in ensemble.dropped.items())
    return counted(len(ensemble), "curve") + (f" (left out: {left_out})" if left_out else "")


@contextmanager
def _executor(address: str | None) -> Iterator[Any]:
    """A client of a Dask scheduler, or None to work here."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ContentError('--dask needs distributed: pip install "napari-shape-ensembles[dask]"') from error
    with Client(address, timeout="10s") as client:  # type: ignore[no-untyped-call]
        yield client


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # pipes on Windows may not know ∧ and µ
            stream.reconfigure(errors="replace")
    app()
