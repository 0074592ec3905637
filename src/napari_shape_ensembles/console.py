"""What the command line takes and says: numbers from words, answers, progress, and errors in one sentence."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .archive import ContentError
from .progress import Progress as Step
from .progress import as_part, report, reporting

_ERROR = 2
# Numbers in a range.
_LONGEST = 10_000


def sequence_of(text: str) -> list[float]:
    """Numbers of a list "1,2,5" or a range "first:last:step", its last included.

    Raises
    ------
    ValueError
        For anything else, or a range without end.
    """
    words = "give numbers such as 5,10,20, or first:last:step"
    if ":" not in text:
        return numbers_of(text.split(","), words)
    parts = [*numbers_of(text.split(":"), words), 1.0]
    first, last, step = parts[:3]
    if len(parts) > 4 or not (step > 0 and 0 <= last - first <= _LONGEST * step):
        raise ContentError(f"{text!r} is no range: {words}, the step above 0")
    return [first + step * place for place in range(int((last - first) / step * (1 + 1e-12)) + 1)]


def whole_numbers_of(option: str, text: str) -> list[int]:
    """Whole numbers of a list or a range, given by an option that errors name."""
    values = sequence_of(text)
    if any(value != int(value) for value in values):
        raise ContentError(f"{option} are whole numbers, not {text!r}")
    return [int(value) for value in values]


def numbers_of(words: Sequence[str], remedy: str) -> list[float]:
    """Finite numbers, or an error that says what to give instead."""
    try:
        values = [float(word) for word in words]
    except ValueError as error:
        raise ContentError(f"{remedy}, not {':'.join(words)!r}") from error
    if not np.isfinite(values).all():
        raise ContentError(f"{remedy}, not {':'.join(words)!r}")
    return values


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the work and without making it."""
    place = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not place.is_dir():
        raise ContentError(f"{place} is a file: give a folder for the results")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"nothing can be written to the folder {place}")


@contextmanager
def progress_bar(title: str) -> Iterator[None]:
    """A progress bar on a terminal, of all that is reported within; nothing where there is none."""
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
    """Count all that is done with one of several files as one step."""
    report(path.name, index, total)
    with as_part(index, total, f"{path.name}: "):
        yield


def say_written(paths: Sequence[Path | None]) -> None:
    """Say which files were written."""
    say_beside("written: " + ", ".join(str(path) for path in paths if path is not None))


def say(text: str) -> None:
    """Say the answer."""
    print(_shown(text))


def say_beside(text: str) -> None:
    """Say something that is not the answer."""
    print(_shown(text), file=sys.stderr)


def _shown(text: str) -> str:
    """A line without what a terminal would obey: names of files may hold line breaks and control characters."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


@contextmanager
def spoken_errors() -> Iterator[None]:
    """Turn errors over what was given into one sentence and exit code 2."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except (ValueError, OSError, ImportError) as error:
        words = str(error)
    except MemoryError as error:
        words = f"this takes more memory than there is: fewer landmarks, curves or permutations take less ({error})"
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError) as error:
        words = f"unexpected {type(error).__name__}: {error}"
    else:
        return
    say_beside(f"error: {words}")
    raise typer.Exit(_ERROR)
