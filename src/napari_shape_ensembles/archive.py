"""One file that holds a tree of arrays, numbers and words: written whole or not at all, and safe to open.

The file is a zip of NumPy's `.npy` arrays beside one `manifest.json`, so NumPy (`numpy.load`) and any zip program can
look into it. Nothing in it is compressed and nothing is ever executed: an entry cannot unpack to more than the file
holds, and arrays of Python objects are refused. `docs/files.md` describes what is kept under which name.
"""

import errno
import json
import os
import re
import secrets
import shutil
import stat
import tokenize
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO
from pathlib import Path
from threading import Lock
from typing import IO, Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .budget import budget, take, take_json
from .checks import ContentError as ContentError  # which readers raise

Tree = dict[str, Any]
StrPath = str | os.PathLike[str]
Built = TypeVar("Built")

MANIFEST = "manifest.json"
_NAME = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*\.npy")
# Booleans, whole and real numbers, words: everything but Python objects and records.
_KINDS = "biufU"
# NumPy gives the header of an array to Python's parser, which up to 3.11.7 ends in a SystemError where two threads are
# in it at once (https://github.com/python/cpython/issues/106905).
_PARSER = Lock()
# The same bytes for the same content: entries carry no time.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
# What libraries raise over bytes that are not what they should be.
_BROKEN = (
    zipfile.BadZipFile,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    RuntimeError,  # an encrypted entry
    SyntaxError,  # of the header of an array, as is the next
    tokenize.TokenError,
)


@contextmanager
def replacing(path: StrPath) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` only once it is complete and on disk.

    An error, a full disk or a crash leaves what was there before.

    Raises
    ------
    OSError
        When it cannot be written, when `path` is no file (a folder, a device) or is protected against writing.
    """
    target = Path(os.path.realpath(path))
    if target.exists():  # a new file in its place would pass by its protection, and end a device
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EPERM, "this is a device, no file", str(target))
        if not (mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) and os.access(target, os.W_OK)):
            raise PermissionError(errno.EACCES, "this file is protected against writing", str(target))
    # Short enough to be a name wherever the target's own is one, in any alphabet.
    draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # there may be nothing to take the permissions from
            shutil.copymode(target, draft)
        os.replace(draft, target)
        if hasattr(os, "O_DIRECTORY"):  # put the new name on disk too, where the system knows how
            handle = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_bytes(path: StrPath, content: bytes) -> None:
    """Write a whole file as `replacing` does."""
    with replacing(path) as file:
        file.write(content)


def write_archive(path: StrPath, kind: str, version: int, tree: Mapping[str, Any]) -> None:
    """Write a tree of mappings whose leaves are arrays or what JSON knows.

    Parameters
    ----------
    path : path
        An earlier file of that name is replaced, but only by a complete one.
    kind, version : str, int
        What the tree is, and the version of its layout; `read_archive` asks for both.
    tree : mapping
        Keys of letters, digits and underscores on the way to an array.

    Raises
    ------
    ValueError
        For an array of Python objects, a name that cannot be kept, or a value that JSON does not know.
    OSError
        When the file cannot be written; what was there before stays.
    """
    arrays: dict[str, NDArray[Any]] = {}
    manifest = {"format": kind, "version": version, "data": _without_arrays(tree, "", arrays)}
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST, _NO_TIME), text.encode())
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.file_size = array.nbytes  # tells whether the place of its size in the file has to be a large one
            with archive.open(entry, "w") as part:
                npy.write_array(part, np.asanyarray(array, order="C"), allow_pickle=False)


def _without_arrays(tree: Mapping[str, Any], prefix: str, arrays: dict[str, NDArray[Any]]) -> Tree:
    """The tree without its arrays, which are collected under their file names."""
    plain: Tree = {}
    for key, value in tree.items():
        if isinstance(value, np.ndarray):
            name = f"{prefix}{key}.npy"
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f'an array cannot be kept under the name "{name}": use letters, digits and underscores'
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
    """Read what `write_archive` wrote.

    Parameters
    ----------
    path : path
    kind : str
        What is expected.
    version : int
        Newest layout that the caller understands.
    build : callable
        Makes the result of the tree, whose arrays are read-only. Its errors, too, name the file.
    memory : float, optional
        GiB that all of this may take; see `budget`.

    Returns
    -------
    Whatever `build` returns.

    Raises
    ------
    ValueError
        For a file of another kind, a newer one, one that takes more memory than it may, or a damaged or hostile one,
        naming it.
    OSError
        When there is no such file, or it cannot be read.
    """
    with budget(memory), opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            take(2 * size)  # its bytes, and what is made of them
            with zipfile.ZipFile(file) as archive:
                _refuse_bombs(archive, size)
                tree = _manifest(archive, kind, version)
                _insert_arrays(archive, tree)
            return build(tree)
        except ContentError as error:
            raise ValueError(f"{Path(path).name}: {error}") from error
        except (OSError, *_BROKEN) as error:
            if isinstance(error, OSError) and not about_content(error):
                raise
            raise ValueError(f"{Path(path).name} is damaged, or no {kind} file ({error})") from error
        except MemoryError as error:
            raise ValueError(f"{Path(path).name}: {too_large(error)}") from error


def opened(path: StrPath) -> BufferedReader:
    """Open a file for reading; a pipe would be waited for without end.

    Raises
    ------
    OSError
        When there is no such file, it cannot be read, or it is none but a pipe or a device.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EPERM, "this is a pipe or a device, no file", str(path))
    return open(path, "rb")


def too_large(error: MemoryError) -> str:
    """What to say where the memory did not suffice, which is no damage of the file."""
    return f"reading it takes more memory than there is: close other programs, or split it ({error or 'no memory'})"


def about_content(error: OSError) -> bool:
    """Whether an error of the system is about what a file holds: a library's own, or a place no file can have."""
    return error.errno in (None, errno.EINVAL)


def is_archive(path: StrPath, kind: str) -> bool:
    """Whether a file looks like an archive of this kind; no more than its manifest is read."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            _refuse_bombs(archive, os.fstat(file.fileno()).st_size)
            return bool(_json(archive)["format"] == kind)
    except (OSError, *_BROKEN):
        return False


def _refuse_bombs(archive: zipfile.ZipFile, size: int) -> None:
    """Entries as the archive writes them cannot claim more than the file has."""
    entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ContentError(
            "its entries are compressed, which this format never is; it was not written by this software"
        )
    claimed = sum(entry.file_size for entry in entries)
    if claimed > size:
        raise ContentError(f"its entries claim {claimed} bytes, but the file has {size}")
    if len({entry.filename for entry in entries}) != len(entries):
        raise ContentError("it holds two entries of one name")


def _manifest(archive: zipfile.ZipFile, kind: str, version: int) -> Tree:
    if MANIFEST not in archive.namelist():
        raise ContentError(f"no {kind} file (there is no {MANIFEST} in it)")
    manifest = _json(archive)
    if not isinstance(manifest, dict) or manifest.get("format") != kind:
        raise ContentError(f"no {kind} file")
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
    """What the manifest holds, as far as the budget allows."""
    take(archive.getinfo(MANIFEST).file_size)
    content = archive.read(MANIFEST)
    take_json(content)
    return json.loads(content)


def _insert_arrays(archive: zipfile.ZipFile, tree: Tree) -> None:
    for name in archive.namelist():
        if name == MANIFEST:
            continue
        if not _NAME.fullmatch(name):
            raise ContentError(f"it holds an entry of the unexpected name {name!r}")
        *folders, last = name.removesuffix(".npy").split("/")
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
            if not isinstance(branch, dict):
                raise ContentError(f"{name} stands where a value stands already")
        if last in branch:
            raise ContentError(f"{name} is there twice")
        branch[last] = array_of(archive.read(name), name)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran's order, and type of the array in a `.npy` file; no more than its header is read."""
    major = npy.read_magic(file)[0]
    try:
        with _PARSER:
            return npy.read_array_header_1_0(file) if major == 1 else npy.read_array_header_2_0(file)
    except MemoryError as error:  # of Python's parser, over signs without end
        raise ValueError("the header of an array is damaged") from error


def array_of(content: bytes, name: str) -> NDArray[Any]:
    """The array in the bytes of a `.npy` file, after its header has been checked against them."""
    file = BytesIO(content)
    shape, fortran, dtype = npy_header(file)
    if dtype.kind not in _KINDS:
        raise ContentError(f"{name} holds {dtype} values: numbers and text are all that is read")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - file.tell():
        raise ContentError(f"{name} claims {shape} values of {dtype}, which is not what it holds")
    flat: NDArray[Any] = np.frombuffer(content, dtype, count, file.tell()) if count else np.empty(0, dtype)
    if dtype.kind == "U" and not _is_text(flat):
        raise ContentError(f"{name} holds words that are no text")
    array = flat.reshape(shape, order="F" if fortran else "C")
    array.flags.writeable = False
    return array


def _is_text(words: NDArray[Any]) -> bool:
    """Whether all words are made of signs that Unicode has; NumPy believes any number, and Python ends over it."""
    signs = words.view(f"{words.dtype.byteorder}u4")
    return bool(((signs < 0xD800) | ((signs > 0xDFFF) & (signs <= 0x10FFFF))).all())
