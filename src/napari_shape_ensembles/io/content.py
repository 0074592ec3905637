"""Bytes of foreign files, taken in with care: bounded, and with every error named after its file."""

import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..archive import ContentError, StrPath, about_content

#: Bytes that a file may hold, packed or unpacked.
MOST_BYTES = 2**30
# What libraries raise over bytes that are not what they should be.
_BROKEN = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    ArithmeticError,
    SyntaxError,  # of XML, and of the header of an array, as is the next
    tokenize.TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def errors_named(path: StrPath, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong over the content of a file into a `ValueError` that names it."""
    name = Path(path).name
    try:
        yield
    except ContentError as error:
        raise ContentError(f"{name}: {error}") from error
    except OSError as error:
        if not about_content(error):
            raise
        raise ContentError(f"{name} is damaged, or no {kind} ({str(error)[:300]})") from error
    except _BROKEN as error:
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
        raise ContentError(f"{name} is damaged, or no {kind} ({what[:300]})") from error


def content_of(path: StrPath) -> bytes:
    """Return all bytes of a file of bearable size."""
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ContentError(f"larger than {MOST_BYTES // 2**20} MiB: split it")
    return content


def json_of(path: StrPath) -> Any:
    """Return the value in a JSON file."""
    return json.loads(content_of(path).decode("utf-8-sig"))


def unpacked(archive: zipfile.ZipFile, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the entries of a zip that end in `suffix`; the names are never used as paths.

    What unpacks to more than bearable is refused before it is unpacked.
    """
    entries = [entry for entry in archive.infolist() if entry.filename.lower().endswith(suffix)]
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise ContentError(f"unpacks to more than {MOST_BYTES // 2**20} MiB")
    for entry in entries:
        with archive.open(entry) as file:
            content = file.read(entry.file_size + 1)
        if len(content) > entry.file_size:
            raise ContentError(f"{entry.filename!r} holds more than its header says")
        yield entry.filename, content
