"""Compiled kernels: where numba is installed the innermost loops run as machine code, elsewhere NumPy does the same.

A room keeps its loops in a module `kernels`, which nothing but `kernels` here imports. Importing numba takes as long as
comparing a thousand outlines, so that smaller work is left to NumPy, whatever is installed. To compile takes longer
still: a process of its own does it once, in the background, while NumPy serves. Its folder appears complete or not at
all, since numba's cache breaks for good where two processes fill it at once (numba/numba#10128).

Which of the two ways is taken depends on the size of the work alone, and on whether there were compiled kernels when
this process first asked. So a process gives the same digits all along; those of the two ways agree to rounding.

`SHAPE_ENSEMBLES_KERNELS=never` in the environment leaves all to NumPy, `now` compiles at once and waits for it.
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

# Numbers (pixels, coordinates, distances) from which on compiled kernels gain more than numba's import takes.
_LEAST = 1 << 19
# Seconds after which a process that was to compile has failed.
_PATIENCE = 600
# Folders of other installations and versions that stay when a new one is made.
_KEPT = 8


Way = Literal["auto", "numpy", "compiled"]

_way: ContextVar[Way] = ContextVar("way", default="auto")
_whole: ContextVar[float] = ContextVar("whole", default=0)


def kernels(package: str, size: float) -> Any:
    """Module of the compiled kernels of a package, for work on so many numbers; None where NumPy is to do it."""
    way = _way.get()
    wanted = max(size, _whole.get()) >= _LEAST and are_ready() if way == "auto" else way == "compiled"
    return _loaded(package) if wanted else None


@contextmanager
def as_part_of(size: float) -> Iterator[None]:
    """Take the way of work on so many numbers, of which what is done within is a part."""
    before = _whole.set(size)
    try:
        yield
    finally:
        _whole.reset(before)


@contextmanager
def taking(way: Way) -> Iterator[None]:
    """Take one of the two ways within, whatever the size of the work: to compare them.

    Parameters
    ----------
    way : {"auto", "numpy", "compiled"}
        Compiled kernels are compiled first where that is needed.
    """
    folder = cache_folder() if way == "compiled" else None
    if folder is not None and not folder.exists():
        compile_kernels()
    before = _way.set(way)
    try:
        yield
    finally:
        _way.reset(before)


@cache
def are_ready() -> bool:
    """Whether there are compiled kernels; if there could be, see to it that the next process finds some."""
    wish = os.environ.get("SHAPE_ENSEMBLES_KERNELS", "auto")
    if wish == "never" or (folder := cache_folder()) is None:
        return False
    if wish == "now" and not folder.exists():
        compile_kernels()
    elif not folder.exists():
        with suppress(OSError):  # such as for a home that nobody may write to
            _compile_beside(folder)
    return folder.exists()


def _compile_beside(folder: Path) -> None:
    """Start a process that compiles, unless one was started a while ago: by a worker of the same cluster, say."""
    claim = folder.with_name(f"claim-{folder.name}")
    if claim.exists() and time() - claim.stat().st_mtime < _PATIENCE:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    claim.touch()
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-m", "napari_shape_ensembles.compiled"],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # none, on Windows
        start_new_session=True,
    )
    Thread(target=process.wait, daemon=True).start()  # a process that nobody waits for would be warned of


def cache_folder() -> Path | None:
    """Where the kernels of this installation, compiled on this computer, belong; None without numba."""
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
    """Compile all kernels into their folder, unless another process is done first.

    Raises
    ------
    ImportError
        Without numba, saying how to install it.
    OSError
        When nothing can be written there.
    """
    folder = cache_folder()
    if folder is None:
        raise ImportError('there is nothing to compile with: pip install "napari-shape-ensembles[fast]" brings numba')
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as made:
        with _cached_in(made):
            for path in _sources():
                import_module(f"{__package__}.{path.parent.name}.kernels")
        if not folder.exists():
            os.replace(made, folder)
    newest = sorted(folder.parent.glob("kernels-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def _sources() -> list[Path]:
    """The modules of kernels."""
    return sorted(Path(__file__).parent.glob("*/kernels.py"))


@cache
def _loaded(package: str) -> Any:
    with _cached_in(str(cache_folder())):
        return import_module(f"{package}.kernels")


@contextmanager
def _cached_in(folder: str) -> Iterator[None]:
    """Let numba look for compiled functions in a folder, and leave new ones there."""
    import numba

    # Else numba would do so at the first function, if NUMBA_ variables were set since it was imported, and undo this.
    numba.config.reload_config()
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # whoever works meanwhile comes first
    compile_kernels()
