"""Bytes of foreign files, within the memory budget."""

import bz2
import codecs
import gzip
import json
import lzma
import os
import re
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
# Bytes by which a compressed entry may exceed twice its content.
_MAX_OVERHEAD = 1024


def bytes_of(path: StrPath) -> bytes:
    """Return all bytes of a file, within the memory budget."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        reserve(size)
        return file.read(size)


def decoded(content: bytes) -> str:
    """Decode a text table, in Unicode or in Excel's Windows-1252, without its separator line ("sep=;")."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16")
    elif b"\0" in content:
        raise ContentError("is a binary file, not a text table: save the table as CSV")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
    first, _, rest = text.partition("\n")
    return rest if re.fullmatch(r"sep=.\r?", first) else text


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
    """Return the value in a JSON file, which may be compressed; of one with a value in each line, a list of them."""
    content = decompressed(bytes_of(path))
    if content.startswith(b"PK"):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            ((_, content),) = unpacked(archive, {*archive.namelist()})
    reserve_json(content)
    text = content.decode("utf-8-sig")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise error from None


def unpacked(archive: zipfile.ZipFile, wanted: Container[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of the wanted entries of a zip; the names are never used as paths.

    Entries whose unpacked size exceeds the memory budget are rejected before unpacking.
    """
    entries = [entry for entry in archive.infolist() if entry.filename in wanted]
    reserve(sum(entry.file_size for entry in entries))
    if any(entry.compress_size > 2 * entry.file_size + _MAX_OVERHEAD for entry in entries):
        raise ContentError("holds more than its directory says")  # and would be read into memory first
    for entry in entries:
        with archive.open(entry) as file:
            content = file.read(entry.file_size + 1)
        if len(content) > entry.file_size:
            raise ContentError(f"{entry.filename!r} holds more than its header says")
        yield entry.filename, content


def names_in_zip(path: StrPath) -> list[str]:
    """Return the names of the entries of a zip; none for another file."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            return archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return []


def number_in(text: str) -> float | None:
    """Return a number, with a decimal point or comma; None for other text, and for what may be grouped thousands."""
    word = text.strip()
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+", word):
        return None
    if re.fullmatch(r"[-+]?\d*,\d*(e[-+]?\d+)?", word, re.IGNORECASE):
        word = word.replace(",", ".")
    return float(word) if is_number(word) else None


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True
