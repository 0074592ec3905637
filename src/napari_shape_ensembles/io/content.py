"""Bytes of foreign files, within the memory budget."""

import json
import os
import zipfile
from collections.abc import Container, Iterator
from typing import Any

from ..archive import ContentError, StrPath, opened
from ..budget import reserve, reserve_json


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


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True
