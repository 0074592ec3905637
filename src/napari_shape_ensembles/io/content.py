"""Bytes of foreign files, within the memory budget."""

import bz2
import gzip
import json
import lzma
import os
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping
from io import BytesIO
from typing import Any

from ..archive import ContentError, StrPath, opened
from ..budget import reserve, reserve_json

# Decompressors by magic number.
_DECOMPRESSORS: Mapping[bytes, Callable[[BytesIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
_CHUNK_BYTES = 2**20


def bytes_of(path: StrPath) -> bytes:
    """Return all bytes of a file, within the memory budget."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        reserve(size)
        return file.read(size)


def decompressed(content: bytes) -> bytes:
    """Decompress a gzip, bzip2 or xz file within the memory budget; other content is returned unchanged."""
    opener = next((opener for first, opener in _DECOMPRESSORS.items() if content.startswith(first)), None)
    if opener is None:
        return content
    pieces, file = [], opener(BytesIO(content))
    while piece := file.read(_CHUNK_BYTES):
        reserve(len(piece))
        pieces.append(piece)
    return b"".join(pieces)


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
