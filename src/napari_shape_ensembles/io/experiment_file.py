"""A saved experiment: its result, inputs and numbers in one file, without loss."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..archive import StrPath, Tree, read_archive, write_archive
from ..comparison import Experiment, Inputs, records
from ..comparison.compare import software_versions

if TYPE_CHECKING:
    import pandas as pd

#: Format name of a saved experiment, and the newest version of its layout (docs/files.md).
EXPERIMENT, LAYOUT = "shape-ensembles experiment", 1


def save_experiment(
    path: Path,
    result: Experiment,
    design: "pd.DataFrame",
    inputs: Inputs | None,
    numbers: Mapping[str, Any],
    view: Tree | None = None,
) -> None:
    """Write an experiment with its inputs and all its numbers to one file.

    Parameters
    ----------
    path : Path
    result : Experiment
    design : DataFrame
        As passed to `experiment`.
    inputs : Inputs, optional
        The files, one per row of the design.
    numbers : mapping
        Result of `results.experiment_numbers`.
    view : dict, optional
        State that a viewer needs to restore the display.
    """
    tree = {
        **result.to_tree(),
        "control": result.design.control,
        "table": _columns_tree(design),
        "inputs": None if inputs is None else inputs.to_tree(),
        "numbers": _columns_tree(numbers),
        "versions": software_versions(),
        "view": view or {},
    }
    write_archive(path, EXPERIMENT, LAYOUT, tree)


def load_experiment(path: StrPath, memory: float | None = None) -> tuple[Experiment, Tree, Inputs | None]:
    """Read an experiment written by `save_experiment`, without loss, with its view and its inputs.

    Raises
    ------
    ValueError
        For a file of another kind, a damaged one, or one that exceeds the memory limit.
    OSError
        If the file does not exist, or cannot be read.
    """

    def built(tree: Tree) -> tuple[Experiment, Tree, Inputs | None]:
        known = tree.get("inputs") is not None
        inputs = Inputs.of_tree(records.value(tree, "inputs", dict)) if known else None
        return Experiment.of_tree(tree), records.value(tree, "view", dict), inputs

    return read_archive(path, EXPERIMENT, LAYOUT, built, memory)


def _columns_tree(columns: Any) -> Tree:
    """Convert columns of arbitrary names to a tree with names that are valid in an archive."""
    values = [plain_array(columns[name]) for name in columns]
    return {"names": [str(name) for name in columns], **{f"column{i}": value for i, value in enumerate(values)}}


def plain_array(values: Any) -> NDArray[Any]:
    """Convert values to an array that an archive can store: anything but numbers becomes strings."""
    array = np.asarray(values)
    return array.astype(np.str_) if array.dtype.kind in "OT" else array


def columns_of_tree(tree: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the columns in a tree that `save_experiment` wrote, by name."""
    names = records.value(tree, "names", list)
    return {str(name): records.value(tree, f"column{i}", np.ndarray) for i, name in enumerate(names)}
