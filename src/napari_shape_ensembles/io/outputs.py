"""Output folders: files not written by a run are never overwritten, and results are not mistaken for inputs.

Each folder holds a hidden manifest of the files written there, with their checksums.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from ..archive import ContentError, file_checksum, write_bytes

#: File name of the manifest.
OUTPUT_MANIFEST = ".shape-ensembles.json"
#: Results that are inputs of other commands: extension of labels, and suffix of the stem of curve files.
LABELS, CURVES = ".labels.ome.tif", ".curves"


def refuse_overwriting(
    paths: Iterable[Path],
    *,
    inputs: Sequence[Path] = (),
    force: bool = False,
    remedy: str = "choose another --out, or use --force to overwrite it",
) -> None:
    """Raise if an output would overwrite an input or a file that no run wrote; called before any computation.

    Parameters
    ----------
    paths : iterable of Path
        Files about to be written.
    inputs : sequence of Path
        Files that the run reads.
    force : bool
        Overwrite any file.
    remedy : str
        Advice in the error.

    Raises
    ------
    ValueError
        Naming the file and the remedy.
    """
    for path in paths:
        if force or not path.is_file():
            continue
        if any(item.exists() and path.samefile(item) for item in inputs):
            raise ContentError(f"{path} is an input and would be overwritten: {remedy}")
        if _written(path.parent).get(path.name) != file_checksum(path):
            raise ContentError(f"{path} already exists and is not as a run left it: {remedy}")


@contextmanager
def recording_outputs(folder: Path, names: Iterable[str], earlier: Iterable[str] = ()) -> Iterator[list[Path]]:
    """Record the files that a run writes into a folder, and remove those that only an earlier run has written.

    A run that is aborted is recorded too, so that a later one may overwrite its files, but removes none. Files changed
    since they were written, and those that no run wrote, are kept.

    Parameters
    ----------
    folder : Path
    names : iterable of str
        Files that the run may write.
    earlier : iterable of str
        Wildcards for files that runs with other inputs may have written in their place, such as "trend_with_*".

    Yields
    ------
    list of Path
        To be extended by the files that the run has written.
    """
    before, patterns = _written(folder), tuple(earlier)
    names = {*names, *(name for name in before if any(fnmatchcase(name, pattern) for pattern in patterns))}
    states = _states(folder, names)
    written: list[Path] = []
    try:
        yield written
    except BaseException:
        written += [folder / name for name, state in _states(folder, names).items() if state != states.get(name)]
        raise
    else:
        own = {path.name for path in written}
        for name in states:
            if name not in own and before.get(name) == file_checksum(folder / name):
                (folder / name).unlink()
    finally:
        if kept := [path for path in written if path.is_file()]:
            files = {name: checksum for name, checksum in _written(folder).items() if (folder / name).is_file()}
            files |= {path.name: file_checksum(path) for path in kept}
            text = json.dumps({"files": files}, indent=1, ensure_ascii=False)
            write_bytes(folder / OUTPUT_MANIFEST, f"{text}\n".encode())


def is_result(path: Path) -> bool:
    """Whether a file is an output of a run and not an input of others: a table of curves, a comparison."""
    name = path.name.lower()
    if name.endswith(LABELS) or path.stem.lower().endswith(CURVES):
        return False
    return name.endswith((".comparison.npz", ".reference.npz")) or path.name in _written(path.parent)


def _written(folder: Path) -> dict[str, str]:
    """Return names and checksums in the manifest of a folder; empty if that cannot be read."""
    try:
        files = json.loads((folder / OUTPUT_MANIFEST).read_bytes())["files"]
        return {str(name): str(checksum) for name, checksum in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _states(folder: Path, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return for each of these files that exists what changes when it is written: its number and its time."""
    found = {name: (folder / name).stat() for name in names if (folder / name).is_file()}
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in found.items()}
