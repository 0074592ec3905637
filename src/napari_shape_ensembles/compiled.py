"""Compiled loops: numba turns the innermost loops into machine code, once per installation.

A subpackage keeps its loops in a module `kernels`, which is imported only by `kernels` here, as importing numba takes
half a second. Compiling takes about 70 s of processor time, in a process of its own: the calling program stays
responsive meanwhile, and can stop waiting. One process at a time fills the cache, in a folder that is created
atomically: numba's cache is corrupted permanently if two processes fill it at once (numba/numba#10128).
"""

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any

from .progress import cancellation_check, waiting_for

# Number of folders of other installations and versions to keep when a new one is created.
_MAX_OTHER_FOLDERS = 8
# Interval in seconds between checks for cancellation while waiting for the compiler.
_POLL_INTERVAL_S = 0.1

#: What is said while someone waits for the compiler.
WAITING = "compiling once for this installation"
_loading, _starting = Lock(), Lock()
_compilers: "list[subprocess.Popen[bytes]]" = []  # the one that runs, if any


@cache
def kernels(package: str) -> Any:
    """Return the compiled kernels of a package; the first call of an installation waits until they are compiled.

    Raises
    ------
    Stopped
        If the work was cancelled meanwhile. Compiling continues for the next call.
    """
    folder = cache_folder()
    if (process := begin_compiling()) is not None:
        leave_if_stopped = cancellation_check()
        with waiting_for(WAITING):
            while process.poll() is None:
                leave_if_stopped()
                time.sleep(_POLL_INTERVAL_S)
    # Without permission to write there is no folder, and each process compiles for itself.
    with _loading, nullcontext(str(folder)) if folder.exists() else TemporaryDirectory() as place, _cached_in(place):
        return import_module(f"{package}.kernels")


def begin_compiling() -> "subprocess.Popen[bytes] | None":
    """Start to compile all kernels in a process of its own, and return that; None if they are compiled already.

    The process that runs already is returned to all threads.
    """
    if cache_folder().exists():
        return None
    with _starting:
        if not _compilers or _compilers[0].poll() is not None:
            _compilers[:] = [_new_compiler()]
        return _compilers[0]


def _new_compiler() -> "subprocess.Popen[bytes]":
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # no console window on Windows
        start_new_session=True,
    )
    Thread(target=process.wait, daemon=True).start()  # reap the child, to avoid a ResourceWarning
    return process


def cache_folder() -> Path:
    """Return the cache folder for the kernels of this installation on this computer."""
    versions = [version(name) for name in ("numba", "llvmlite", "numpy")]
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in _sources()]
    installation = repr((versions, sys.implementation.cache_tag, platform.machine(), platform.node(), files))
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "napari-shape-ensembles" / f"kernels-{sha256(installation.encode()).hexdigest()[:16]}"


def compile_kernels() -> None:
    """Compile all kernels into their folder, unless another process has done so.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder = cache_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _one_process_at_a_time(folder.parent / "lock"):
        if folder.exists():
            return
        with TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as made:
            with _cached_in(made):
                for path in _sources():
                    import_module(f"{__package__}.{path.parent.name}.kernels")
            os.replace(made, folder)
    newest = sorted(folder.parent.glob("kernels-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest[_MAX_OTHER_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)


def _sources() -> list[Path]:
    """Return the paths of the modules of kernels."""
    return sorted(Path(__file__).parent.glob("*/kernels.py"))


@contextmanager
def _one_process_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock, which the system releases if the process dies."""
    with path.open("a") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                with suppress(OSError):  # raised after waiting for 10 s
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
        else:
            import fcntl

            with suppress(OSError):  # some network folders have no locks: then several processes may compile
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
    compile_kernels()
