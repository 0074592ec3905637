"""Archive format: a tree of arrays and JSON values in one file, written atomically and safe to open.

The file is a zip of NumPy's `.npy` arrays and one `manifest.json`, so NumPy (`numpy.load`) and any zip program can read
it. Entries are uncompressed and no code is ever executed: entries cannot exceed the size of the file, and object arrays
are rejected. `docs/reference/files.md` documents the names and their content.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .budget import budget, reserve, reserve_json
from .checks import ContentError as ContentError  # raised by readers
from .progress import Stopped

Tree = dict[str, Any]
StrPath = str | os.PathLike[str]
Built = TypeVar("Built")

MANIFEST = "manifest.json"
_NAME = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*\.npy")
# Booleans, integers, floats and strings: all dtypes except objects and records.
_KINDS = "biufU"
# Entries carry a fixed timestamp, so that equal content gives equal bytes.
_FIXED_TIMESTAMP = (1980, 1, 1, 0, 0, 0)

_MAX_HEADER = 12 + 10_000

# Errors of a full disk, of a quota that is used up, and of files larger than are allowed.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Names of drafts: of the file (40 characters at most) and a random number.
_DRAFT = re.compile(r"\.(.{1,40})\.[0-9a-f]{8}\.part", re.DOTALL)
# Age in seconds from which a draft is no longer that of a run that goes on.
_STALE_SECONDS = 86_400
# Files that are complete and replace others at the end of `all_or_none`.
_DRAFTS: ContextVar[dict[Path, Path] | None] = ContextVar("drafts", default=None)


@contextmanager
def replacing(path: StrPath) -> Iterator[BinaryIO]:
    """Open a temporary file for writing that replaces `path` once it is complete and synced to disk.

    An error, a full disk or a crash leaves an existing file intact.

    Raises
    ------
    OSError
        If it cannot be written, if `path` is not a regular file (a folder, a device) or is read-only.
    """
    target = Path(os.path.realpath(path))
    if target.exists():  # replacing would bypass write protection, and remove a device
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EPERM, "this is a device, not a file", str(target))
        if not (mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) and os.access(target, os.W_OK)):
            raise PermissionError(errno.EACCES, "this file is read-only", str(target))
    # Short enough to be a valid file name wherever that of the target is, in any script.
    draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # there may be no file to copy the permissions from
            shutil.copymode(target, draft)
        if (drafts := _DRAFTS.get()) is not None:
            drafts[draft] = target
        else:
            os.replace(draft, target)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL and not error.filename:
            error.filename = str(target)  # a full disk is reported without it
        raise


@contextmanager
def all_or_none() -> Iterator[Mapping[Path, Path]]:
    """Replace the files that are written within the block together, at its end; none of them after an error.

    So a full disk does not leave files of two runs side by side. A block within another ends with that one.

    Yields
    ------
    mapping of Path to Path
        Each complete draft, and the resolved path that it will replace.
    """
    if (outer_drafts := _DRAFTS.get()) is not None:
        yield outer_drafts
        return
    drafts: dict[Path, Path] = {}
    outer = _DRAFTS.set(drafts)
    try:
        yield drafts
        for draft, target in drafts.items():
            os.replace(draft, target)
    finally:
        _DRAFTS.reset(outer)
        for draft in drafts:
            draft.unlink(missing_ok=True)


def remove_stale_drafts(folder: Path, names: Iterable[str]) -> None:
    """Remove drafts of files of these names that a killed run left a day ago or earlier."""
    starts = {name[:40] for name in names}
    for draft in folder.glob(".*.part"):
        named = _DRAFT.fullmatch(draft.name)
        with suppress(OSError):  # removed by another run, or not ours to remove
            if named and named.group(1) in starts and time.time() - draft.lstat().st_mtime > _STALE_SECONDS:
                draft.unlink()


def is_written(path: StrPath) -> bool:
    """Whether there is a file, or will be at the end of `all_or_none`."""
    return Path(path).is_file() or Path(os.path.realpath(path)) in (_DRAFTS.get() or {}).values()


def write_bytes(path: StrPath, content: bytes) -> None:
    """Write a whole file atomically."""
    with replacing(path) as file:
        file.write(content)


def exact_csv_options() -> dict[str, Any]:
    """Return the options with which `pandas.read_csv` reads numbers exactly as they were written."""
    import pandas as pd  # slow to import

    return {"float_precision": "round_trip"} if pd.__version__ < "3" else {}  # deprecated: the default from 3 on


def write_archive(path: StrPath, kind: str, version: int, tree: Mapping[str, Any]) -> None:
    """Write a tree of mappings whose leaves are arrays or JSON values.

    Parameters
    ----------
    path : path
        An existing file of that name is replaced atomically.
    kind, version : str, int
        Format name of the tree, and the version of its layout; `read_archive` checks both.
    tree : mapping
        Keys on the path to an array consist of letters, digits and underscores.

    Raises
    ------
    ValueError
        For an object array, an invalid name, or a value that is not JSON-serializable.
    OSError
        If the file cannot be written; an existing file of that name is kept.
    """
    arrays: dict[str, NDArray[Any]] = {}
    manifest = {"format": kind, "version": version, "data": _without_arrays(tree, "", arrays)}
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST, _FIXED_TIMESTAMP), text.encode())
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(name, _FIXED_TIMESTAMP)
            entry.file_size = array.nbytes  # decides whether ZIP64 is needed
            with archive.open(entry, "w") as part:
                npy.write_array(part, np.asanyarray(array, order="C"), allow_pickle=False)


def _without_arrays(tree: Mapping[str, Any], prefix: str, arrays: dict[str, NDArray[Any]]) -> Tree:
    """Return the tree without its arrays, which are collected by file name."""
    plain: Tree = {}
    for key, value in tree.items():
        if isinstance(value, np.ndarray):
            name = f"{prefix}{key}.npy"
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f'an array cannot be stored under the name "{name}": use letters, digits and underscores'
                )
            if value.dtype.kind not in _KINDS:
                raise ValueError(f"{name[:-4]} holds {value.dtype} values, which cannot be saved: use numbers or text")
            arrays[name] = value
        elif isinstance(value, Mapping):
            plain[key] = _without_arrays(value, f"{prefix}{key}/", arrays)
        else:
            plain[key] = value
    return plain


def read_archive(
    path: StrPath, kind: str, version: int, build: Callable[[Tree], Built], memory: float | None = None
) -> Built:
    """Read an archive written by `write_archive`.

    Parameters
    ----------
    path : path
    kind : str
        Expected format name.
    version : int
        Newest layout version that the caller supports.
    build : callable
        Converts the tree, whose arrays are read-only, to the result. Its errors also name the file.
    memory : float, optional
        Memory limit in GiB; see `budget`.

    Returns
    -------
    The result of `build`.

    Raises
    ------
    ValueError
        For a file of another kind, of a newer version, one that exceeds the memory limit, or a damaged or malicious
        one, naming it.
    OSError
        If the file does not exist, or cannot be read.
    """
    with errors_named(path, f"{kind} file"), budget(memory), opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        reserve(2 * size)  # the raw bytes, and the objects built from them
        with zipfile.ZipFile(file) as archive:
            _refuse_bombs(archive, size)
            tree = _manifest(archive, kind, version)
            _insert_arrays(archive, tree)
        return build(tree)


@contextmanager
def errors_named(path: StrPath, kind: str) -> Iterator[None]:
    """Convert any error caused by the content of a file, or by a missing reader, into one that names the file."""
    name = Path(path).name
    try:
        yield
    except (ContentError, ImportError) as error:
        if str(error).startswith(name):  # named by an inner reader
            raise
        raise ContentError(f"{name}: {error}") from error
    except MemoryError as error:  # does not mean that the file is damaged
        raise ContentError(
            f"{name}: not enough memory to read it: close other programs, or split the file ({error or 'no memory'})"
        ) from error
    except Stopped:
        raise
    except Exception as error:  # parsers raise errors of a dozen types for malformed input
        # Libraries raise an OSError without a number for content, the system one of an invalid seek.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        if Path(path).is_file() and not Path(path).stat().st_size:
            raise ContentError(f"{name} is empty (0 bytes): export or copy it again") from error
        what = str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"
        raise ContentError(f"{name} is damaged, or not a valid {kind} ({what[:300]})") from error


def opened(path: StrPath) -> BufferedReader:
    """Open a regular file for reading; a pipe could block forever.

    Raises
    ------
    OSError
        If the file does not exist, cannot be read, or is a pipe or a device.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EPERM, "this is a pipe or a device, not a file", str(path))
    return open(path, "rb")


def file_checksum(path: Path) -> str:
    """Return the SHA-256 of a file, or for a folder (a Zarr store) of the names and checksums of its files."""
    if path.is_dir():
        parts = sorted(item for item in path.rglob("*") if item.is_file())
        lines = [f"{file_checksum(item)} {item.relative_to(path).as_posix()}\n" for item in parts]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_archive(path: StrPath, kind: str) -> bool:
    """Whether a file is an archive of this kind, judged by its manifest alone."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            _refuse_bombs(archive, os.fstat(file.fileno()).st_size)
            return bool(_json(archive)["format"] == kind)
    except Exception:  # noqa: BLE001 - of any type, for malformed input
        return False


def _refuse_bombs(archive: zipfile.ZipFile, size: int) -> None:
    """Raise if entries claim more than the file holds, or are compressed, which `write_archive` never does."""
    entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ContentError("its entries are compressed, so it was not written by this software")
    if any(entry.compress_size != entry.file_size for entry in entries):  # it would be read into memory first
        raise ContentError("its entries have other sizes than its directory says")
    claimed = sum(entry.file_size for entry in entries)
    if claimed > size:
        raise ContentError(f"its entries declare {claimed} bytes, but the file has {size}")
    if len({entry.filename for entry in entries}) != len(entries):
        raise ContentError("it contains two entries of the same name")


def _manifest(archive: zipfile.ZipFile, kind: str, version: int) -> Tree:
    if MANIFEST not in archive.namelist():
        raise ContentError(f"not a valid {kind} file (it contains no {MANIFEST})")
    manifest = _json(archive)
    if not isinstance(manifest, dict) or manifest.get("format") != kind:
        other = manifest.get("format") if isinstance(manifest, dict) else None
        of_this = isinstance(other, str) and other.startswith("shape-ensembles ")
        raise ContentError(f"not a valid {kind} file" + (f", but a {other} file" if of_this else ""))
    found, tree = manifest.get("version"), manifest.get("data")
    if not isinstance(found, int) or not isinstance(tree, dict):
        raise ContentError("its manifest has no version or no data")
    if found > version:
        raise ContentError(
            f"written by a newer version of this software (layout {found}; this one reads up to {version}): update "
            "napari-shape-ensembles to open it"
        )
    return tree


def _json(archive: zipfile.ZipFile) -> Any:
    """Parse the manifest, within the memory budget."""
    reserve(archive.getinfo(MANIFEST).file_size)
    content = archive.read(MANIFEST)
    reserve_json(content)
    return json.loads(content)


def _insert_arrays(archive: zipfile.ZipFile, tree: Tree) -> None:
    for name in archive.namelist():
        if name == MANIFEST:
            continue
        if not _NAME.fullmatch(name):
            raise ContentError(f"it contains an unexpected entry {name!r}")
        *folders, last = name.removesuffix(".npy").split("/")
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
            if not isinstance(branch, dict):
                raise ContentError(f"{name} conflicts with another entry")
        if last in branch:
            raise ContentError(f"{name} occurs twice")
        branch[last] = array_of(archive.read(name), name)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, Fortran order and dtype from the header of a `.npy` file."""
    start = file.tell()
    head = BytesIO(file.read(_MAX_HEADER))  # as long as NumPy accepts: it may claim 4 GiB, which would be set aside
    major = npy.read_magic(head)[0]
    try:
        header = npy.read_array_header_1_0(head) if major == 1 else npy.read_array_header_2_0(head)
    except MemoryError as error:  # raised by Python's parser for excessive nesting
        raise ValueError("the header of an array is damaged") from error
    file.seek(start + head.tell())
    return header


def array_of(content: bytes, name: str) -> NDArray[Any]:
    """Return the array in the bytes of a `.npy` file, after validating its header against their length."""
    file = BytesIO(content)
    shape, fortran, dtype = npy_header(file)
    if dtype.kind not in _KINDS:
        raise ContentError(f"{name} holds {dtype} values: only numbers and text can be read")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - file.tell():
        raise ContentError(f"{name} claims {shape} values of {dtype}, which does not match its content")
    flat: NDArray[Any] = np.frombuffer(content, dtype, count, file.tell()) if count else np.empty(0, dtype)
    if dtype.kind == "U" and not _is_text(flat):
        raise ContentError(f"{name} contains invalid text")
    array = flat.reshape(shape, order="F" if fortran else "C")
    array.flags.writeable = False
    return array


def _is_text(words: NDArray[Any]) -> bool:
    """Whether all code points are valid Unicode; NumPy accepts any, and Python crashes on invalid ones."""
    signs = words.view(f"{words.dtype.byteorder}u4")
    return bool(((signs < 0xD800) | ((signs > 0xDFFF) & (signs <= 0x10FFFF))).all())
