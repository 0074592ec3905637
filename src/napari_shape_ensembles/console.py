"""Console input and output: settings as text, results, progress, and errors in one sentence."""

import os
import sys
import textwrap
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .archive import ContentError
from .parameters import Parameter, matters, parameters_of, when_words
from .progress import Progress as Step
from .progress import reporting

Choices = TypeVar("Choices")

_ERROR = 2
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


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """Return the names and values in texts such as "rank=20"; hyphens in names count as underscores.

    Raises
    ------
    ValueError
        For other texts.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set {text}: write name=value, such as rank=20")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def with_settings(choices: Choices, given: Mapping[str, str], options: Mapping[str, str]) -> Choices:
    """Override the values of a dataclass with those given on the command line; names of other settings are ignored.

    Parameters
    ----------
    choices : dataclass of declared parameters
    given : mapping of str to str
        Name -> value as text.
    options : mapping of str to str
        Name -> how it was given, for error messages.

    Raises
    ------
    ValueError
        For an invalid value, or a setting that has no effect with the others, naming it.
    """
    declared = {name: one for name, one in parameters_of(type(choices)).items() if name in given}
    known: Any = choices
    chosen = replace(known, **{name: one.read(given[name], options[name]) for name, one in declared.items()})
    for name in declared:
        if not matters(chosen, name):
            raise ValueError(
                f"{options[name]} has no effect with these settings, it is {when_words(type(choices), name)}: "
                "omit it, or change the settings"
            )
    return chosen


def settings_help(declared: Mapping[str, Parameter]) -> str:
    """List the settings that `--set` accepts, with help, range and default."""
    lines, group = ["Settings, given as --set name=value or in the file of --settings:"], ""
    for name, one in declared.items():
        if one.group != group:
            group = one.group
            lines += ["", group]
        listed = f" One of {', '.join(map(str, one.choices))}." if one.choices else ""
        words = f"{name}: {one.plain_description}{listed}"
        lines += textwrap.wrap(words, 100, initial_indent="  ", subsequent_indent="      ")
    return "\n".join(lines)


def check_folder(folder: Path) -> None:
    """Raise if a folder is not writable, before any computation and without creating it."""
    place = next(place for place in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(place))
    if not place.exists():
        raise ContentError(f"{place} is a link to a folder that does not exist: create that, or remove the link")
    if not place.is_dir():
        raise ContentError(f"{place} is a file: give a folder for the results")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"the folder {place} is not writable")


@contextmanager
def progress_bar(title: str) -> Iterator[None]:
    """Show a progress bar for all that is reported within the context; only on a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def show(step: Step) -> None:
            progress.update(task, description=step.name, completed=step.done, total=step.total or None)

        with reporting(show):
            yield


def echo(text: str, *, to: TextIO | None = None) -> None:
    """Print to standard output."""
    stream = to or sys.stdout
    try:
        # Not terminal escapes and line breaks, as in file names.
        shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
        print(shown, file=stream, flush=True)
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does: work and exit code are unaffected
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def echo_error(text: str) -> None:
    """Print to standard error."""
    echo(text, to=sys.stderr)


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
