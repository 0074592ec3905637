"""Compiled kernels: if numba is installed, the innermost loops run as machine code, else in NumPy.

A subpackage keeps its loops in a module `kernels`, which is imported only by `kernels` here. Importing numba takes as
long as comparing a thousand outlines, so small problems always use NumPy. Compiling takes longer still: a separate
process does it once, in the background, while NumPy is used. Its folder is created atomically, since numba's cache is
corrupted permanently if two processes fill it at once (numba/numba#10128).

The choice between the two implementations depends only on the problem size, and on whether compiled kernels existed
when this process first asked. Results are therefore reproducible within a process; those of the two implementations
agree up to rounding error.

`SHAPE_ENSEMBLES_KERNELS=never` in the environment forces NumPy, `now` compiles immediately and waits for it.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import time
from typing import Any, Literal

# Problem size (pixels, coordinates, distances) above which compiled kernels outweigh the time to import numba.
_MIN_COMPILED_SIZE = 1 << 19
# Timeout in seconds after which a compiling process is considered failed.
_COMPILE_TIMEOUT_S = 600
# Number of folders of other installations and versions to keep when a new one is created.
_MAX_OTHER_FOLDERS = 8


Implementation = Literal["auto", "numpy", "compiled"]

_implementation: ContextVar[Implementation] = ContextVar("implementation", default="auto")
_whole_size: ContextVar[float] = ContextVar("whole_size", default=0)


def kernels(package: str, size: float) -> Any:
    """Return a package's module of compiled kernels for a problem of this size; None if NumPy should be used."""
    implementation = _implementation.get()
    wanted = (
        max(size, _whole_size.get()) >= _MIN_COMPILED_SIZE and are_ready()
        if implementation == "auto"
        else implementation == "compiled"
    )
    return _loaded(package) if wanted else None


@contextmanager
def as_part_of(size: float) -> Iterator[None]:
    """Choose the implementation for a problem of this size, of which the work within the context is a part."""
    before = _whole_size.set(size)
    try:
        yield
    finally:
        _whole_size.reset(before)


@contextmanager
def forced(implementation: Implementation) -> Iterator[None]:
    """Force one of the two implementations within the context, whatever the problem size, to compare them.

    Parameters
    ----------
    implementation : {"auto", "numpy", "compiled"}
        With "compiled", kernels are compiled first if necessary.
    """
    folder = cache_folder() if implementation == "compiled" else None
    if folder is not None and not folder.exists():
        compile_kernels()
    before = _implementation.set(implementation)
    try:
        yield
    finally:
        _implementation.reset(before)


@cache
def are_ready() -> bool:
    """Whether there are compiled kernels; if not, start compiling them for the next process if possible."""
    wish = os.environ.get("SHAPE_ENSEMBLES_KERNELS", "auto")
    if wish == "never" or (folder := cache_folder()) is None:
        return False
    if wish == "now" and not folder.exists():
        compile_kernels()
    elif not folder.exists():
        with suppress(OSError):  # such as a home directory without write permission
            _compile_in_background(folder)
    return folder.exists()


def _compile_in_background(folder: Path) -> None:
    """Start a compiling process, unless one was started recently, for instance by a worker of the same cluster."""
    claim = folder.with_name(f"claim-{folder.name}")
    if claim.exists() and time() - claim.stat().st_mtime < _COMPILE_TIMEOUT_S:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    claim.touch()
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-m", "napari_shape_ensembles.compiled"],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # no console window on Windows
        start_new_session=True,
    )
    Thread(target=process.wait, daemon=True).start()  # reap the child, to avoid a ResourceWarning


def cache_folder() -> Path | None:
    """Return the cache folder for the kernels of this installation on this computer; None without numba."""
    try:
        versions = [version(name) for name in ("numba", "llvmlite", "numpy")]
    except PackageNotFoundError:
        return None
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in _sources()]
    found = repr((versions, sys.implementation.cache_tag, platform.machine(), platform.node(), files))
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "napari-shape-ensembles" / f"kernels-{sha256(found.encode()).hexdigest()[:16]}"


def compile_kernels() -> None:
    """Compile all kernels into their folder, unless another process finishes first.

    Raises
    ------
    ImportError
        If numba is not installed, with instructions.
    OSError
        If the folder cannot be written.
    """
    folder = cache_folder()
    if folder is None:
        raise ImportError('numba is not installed: pip install "napari-shape-ensembles[fast]"')
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as made:
        with _cached_in(made):
            for path in _sources():
                import_module(f"{__package__}.{path.parent.name}.kernels")
        if not folder.exists():
            os.replace(made, folder)
    newest = sorted(folder.parent.glob("kernels-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest[_MAX_OTHER_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)


def _sources() -> list[Path]:
    """Return the paths of the modules of kernels."""
    return sorted(Path(__file__).parent.glob("*/kernels.py"))


@cache
def _loaded(package: str) -> Any:
    with _cached_in(str(cache_folder())):
        return import_module(f"{package}.kernels")


@contextmanager
def _cached_in(folder: str) -> Iterator[None]:
    """Let numba read and write its cache in a folder."""
    import numba

    # Otherwise numba would reload at the first function if NUMBA_ variables have changed since import, undoing this.
    numba.config.reload_config()
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # run at low priority
    compile_kernels()
