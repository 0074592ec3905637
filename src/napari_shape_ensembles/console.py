"""Console input and output: options from parameters, results, progress, and errors in one sentence."""

import inspect
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .archive import ContentError
from .parameters import Parameter, matters, parameters_of, when_words
from .progress import Progress as Step
from .progress import as_part, report_progress, reporting

Choices = TypeVar("Choices")

_ERROR = 2
# Maximum number of choices listed in the metavar; longer lists are in the help text.
_MAX_LISTED = 4
# Exceptions about the input, and others that are also reported in one sentence.
_EXPECTED_ERRORS = (ValueError, OSError, ImportError)
_REPORTED_ERRORS = (
    *_EXPECTED_ERRORS,
    MemoryError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
)


def option_of(declared: Parameter) -> inspect.Parameter:
    """Return the option for a declared parameter, with its help, unit, range and default; None if not given."""
    flag = option_name(declared)
    words: dict[str, Any] = {
        "help": declared.plain_description,
        "rich_help_panel": declared.group,
        "show_default": False,
    }
    kind: Any
    if declared.kind is bool:
        kind = Annotated[bool | None, typer.Option(f"{flag}/--no-{flag[2:]}", **words)]
    else:
        names = "|".join(map(str, declared.choices)) if len(declared.choices) <= _MAX_LISTED else "NAME"
        metavar = names or {int: "INTEGER", float: "NUMBER"}.get(declared.kind, "TEXT")
        kind = Annotated[str | None, typer.Option(flag, metavar=metavar, **words)]
    return inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def option_name(declared: Parameter) -> str:
    """Return the command line option of a parameter."""
    return f"--{declared.name.replace('_', '-')}"


def with_options(choices: Choices, given: Mapping[str, str | bool | None]) -> Choices:
    """Override the values of a dataclass with those given on the command line.

    Raises
    ------
    ValueError
        For an invalid value, or an option that has no effect with the others, naming the option.
    """
    options = {name: one for name, one in parameters_of(type(choices)).items() if given.get(name) is not None}
    known: Any = choices
    chosen = replace(known, **{name: one.read(given[name], option_name(one)) for name, one in options.items()})
    for name, one in options.items():
        if not matters(chosen, name):
            raise ValueError(
                f"{option_name(one)} has no effect with these settings, it is {when_words(type(choices), name)}: "
                "omit it, or change the settings"
            )
    return chosen


def check_folder(folder: Path) -> None:
    """Raise if a folder is not writable, before any computation and without creating it."""
    place = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not place.is_dir():
        raise ContentError(f"{place} is a file: give a folder for the results")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"the folder {place} is not writable")


@contextmanager
def progress_bar(title: str) -> Iterator[None]:
    """Show a progress bar for all that is reported within the context; only on a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)

        def show(step: Step) -> None:
            progress.update(task, description=step.name, completed=step.done, total=step.total or None)

        with reporting(show):
            yield


@contextmanager
def reading_file(path: Path, index: int, total: int) -> Iterator[None]:
    """Count everything reported for one of several files as one step."""
    report_progress(path.name, index, total)
    with as_part(index, total, f"{path.name}: "):
        yield


def echo_written(paths: Sequence[Path | None]) -> None:
    """Print which files were written."""
    echo_error("written: " + ", ".join(str(path) for path in paths if path is not None))


def echo(text: str, *, to: TextIO | None = None) -> None:
    """Print to standard output."""
    stream = to or sys.stdout
    try:
        print(_shown(text), file=stream, flush=True)
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does: work and exit code are unaffected
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def echo_error(text: str) -> None:
    """Print to standard error."""
    echo(text, to=sys.stderr)


def _shown(text: str) -> str:
    """Replace non-printable characters, such as terminal escapes and line breaks in file names."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


@contextmanager
def errors_as_messages(*, debug: bool = False) -> Iterator[None]:
    """Turn expected errors into one sentence and exit code 2; with `debug`, print the traceback first."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except _REPORTED_ERRORS as error:
        if debug:
            traceback.print_exception(error)
        echo_error(f"error: {_words_of(error)}")
        raise typer.Exit(_ERROR) from error


def _words_of(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:  # from the operating system
        return f"there is no file or folder {error.filename}: check the path"
    if isinstance(error, IsADirectoryError) and error.filename:
        return f"{error.filename} is a folder: give a file"
    if isinstance(error, _EXPECTED_ERRORS):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory: use fewer landmarks, curves or permutations ({error})"
    return f"unexpected {type(error).__name__}: {error}"
