"""Safe reading of foreign files: bounded memory, and errors that name the file."""

import json
import os
import zipfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..archive import ContentError, StrPath, about_content, opened, too_large
from ..budget import reserve, reserve_json
from ..progress import Stopped


@contextmanager
def errors_named(path: StrPath, kind: str) -> Iterator[None]:
    """Convert any error caused by the content of a file into a `ValueError` that names the file."""
    name = Path(path).name
    try:
        yield
    except ContentError as error:
        raise ContentError(f"{name}: {error}") from error
    except OSError as error:
        if not about_content(error):
            raise
        raise ContentError(f"{name} is damaged, or not a valid {kind} ({str(error)[:300]})") from error
    except MemoryError as error:
        raise ContentError(f"{name}: {too_large(error)}") from error
    except Stopped:
        raise
    except Exception as error:  # parsers raise errors of a dozen types for malformed input
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
        raise ContentError(f"{name} is damaged, or not a valid {kind} ({what[:300]})") from error


def bytes_of(path: StrPath) -> bytes:
    """Return all bytes of a file, within the memory budget."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        reserve(size)
        return file.read(size)


def json_of(path: StrPath) -> Any:
    """Return the value in a JSON file."""
    content = bytes_of(path)
    reserve_json(content)
    return json.loads(content.decode("utf-8-sig"))


def unpacked(archive: zipfile.ZipFile, wanted: Container[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of the wanted entries of a zip; the names are never used as paths.

    Entries whose unpacked size exceeds the memory budget are rejected before unpacking.
    """
    entries = [entry for entry in archive.infolist() if entry.filename in wanted]
    reserve(sum(entry.file_size for entry in entries))
    for entry in entries:
        with archive.open(entry) as file:
            content = file.read(entry.file_size + 1)
        if len(content) > entry.file_size:
            raise ContentError(f"{entry.filename!r} holds more than its header says")
        yield entry.filename, content
