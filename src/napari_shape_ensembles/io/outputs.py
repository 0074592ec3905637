"""Output folders: files not written by a run are never overwritten, and results are not mistaken for inputs.

Each folder holds a hidden manifest of the files written there, with their checksums.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from ..archive import ContentError, all_or_none, file_checksum, remove_stale_drafts, write_bytes

#: File name of the manifest.
OUTPUT_MANIFEST = ".shape-ensembles.json"
#: Results that are inputs of other commands: extension of labels, and suffix of the stem of curve files.
LABELS, CURVES = ".labels.ome.tif", ".curves"


def with_ending(path: Path, ending: str) -> Path:
    """Return a path, with this ending added unless it has one that begins with a letter, unlike "report v1.2"."""
    return path if path.suffix[1:2].isalpha() and path.suffix[1:].isalnum() else path.with_name(path.name + ending)


def refuse_overwriting(
    paths: Iterable[Path],
    *,
    inputs: Sequence[Path] = (),
    force: bool = False,
    remedy: str = "choose another --out, or use --force to overwrite it",
) -> None:
    """Raise if an output would overwrite an input or a file that no run wrote; called before any computation.

    The ValueError names the file and the remedy. With `force`, any file may be overwritten.
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
    """Write all files of a run into a folder, or none, and record them; remove those that only an earlier run wrote.

    Yield a list, to be extended by the files that the run has written, of the `names` that it may write. `earlier` are
    wildcards for files that runs with other inputs may have written in their place, such as "trend_with_*". Files
    changed since they were written, and those that no run wrote, are kept.
    """
    before, patterns, written = _written(folder), tuple(earlier), list[Path]()
    with all_or_none() as drafts:
        yield written
        if not written:
            return
        draft_of = {target: draft for draft, target in drafts.items()}
        new = {path.name: draft_of.get(Path(os.path.realpath(path)), path) for path in written}
        planned = {*names, *(name for name in before if any(fnmatchcase(name, pattern) for pattern in patterns))}
        there = {name: checksum for name, checksum in before.items() if (folder / name).is_file()}
        outdated = [name for name in planned - {*new} if name in there and there[name] == file_checksum(folder / name)]
        files = {name: checksum for name, checksum in there.items() if name not in outdated}
        files |= {name: file_checksum(path) for name, path in new.items() if path.is_file()}
        text = json.dumps({"files": files}, indent=1, ensure_ascii=False)
        write_bytes(folder / OUTPUT_MANIFEST, f"{text}\n".encode())
    for name in outdated:
        (folder / name).unlink()
    remove_stale_drafts(folder, [*files, *planned, OUTPUT_MANIFEST])


def is_result(path: Path) -> bool:
    """Whether a file is an output of a run and not an input of others: a table of curves, a comparison."""
    name = path.name.lower()
    if name.endswith(LABELS) or path.stem.lower().endswith(CURVES):
        return False
    return name.endswith((".comparison.npz", ".reference.npz", ".log.csv")) or path.name in _written(path.parent)


def _written(folder: Path) -> dict[str, str]:
    """Return names and checksums in the manifest of a folder; empty if that cannot be read."""
    try:
        files = json.loads((folder / OUTPUT_MANIFEST).read_bytes())["files"]
        return {str(name): str(checksum) for name, checksum in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
