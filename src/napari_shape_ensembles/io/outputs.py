"""Folders for results: nothing is written over that a run did not write itself, and no result is taken for an input.

Each folder keeps a hidden list of the files that were written there, with a checksum of each.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..archive import ContentError, opened, write_bytes

#: The list, in the folder it is about.
LIST = ".shape-ensembles.json"
#: Results that are the input of other commands: endings of labels, and the part of a name before the ending of curves.
LABELS, CURVES = ".labels.ome.tif", ".curves"


def refuse_overwriting(
    paths: Iterable[Path],
    *,
    inputs: Sequence[Path] = (),
    force: bool = False,
    remedy: str = "choose another --out, or --force to write over it",
) -> None:
    """Refuse to write where an input lies, or a file that no run wrote; before the work.

    Parameters
    ----------
    paths : iterable of Path
        What is about to be written.
    inputs : sequence of Path
        What the work reads.
    force : bool
        Write over any file.
    remedy : str
        What to do about a file that is there already.

    Raises
    ------
    ValueError
        Naming the file and the remedy.
    """
    for path in paths:
        if force or not path.is_file():
            continue
        if any(item.exists() and path.samefile(item) for item in inputs):
            raise ContentError(f"{path} is an input, and would be written over: choose another --out, or --force")
        if _written(path.parent).get(path.name) != _checksum(path):
            raise ContentError(f"{path} is there already, not as a run left it: {remedy}")


def keep_list(paths: Iterable[Path]) -> None:
    """List files as written, each in its folder."""
    paths = list(paths)
    for folder in dict.fromkeys(path.parent for path in paths):
        files = _written(folder) | {path.name: _checksum(path) for path in paths if path.parent == folder}
        write_bytes(folder / LIST, (json.dumps({"files": files}, indent=1, ensure_ascii=False) + "\n").encode())


def is_result(path: Path) -> bool:
    """Whether a file is what a run wrote and no other reads: its table of curves, its comparison."""
    name = path.name.lower()
    if name.endswith(LABELS) or path.stem.lower().endswith(CURVES):
        return False
    return name.endswith(".comparison.npz") or path.name in _written(path.parent)


def _written(folder: Path) -> dict[str, str]:
    """Names and checksums of the files that were written to a folder; none where the list cannot be read."""
    try:
        files = json.loads((folder / LIST).read_bytes())["files"]
        return {str(name): str(checksum) for name, checksum in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _checksum(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
