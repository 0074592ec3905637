"""Output files of a comparison in pieces: the answer as JSON, and a table with one row per curve."""

from pathlib import Path

from ..archive import Tree
from ..comparison.inputs import Inputs
from ..io.results import test_json, write_json, write_table
from ..parameters import tree as tree_of
from .compare import StreamedComparison

#: Files written by `write_streamed`.
FILES = ("comparison.json", "curves.csv")


def streamed_json(result: StreamedComparison, inputs: Inputs | None = None) -> Tree:
    """Return the answer and its evidence."""
    return {
        "case": result.case,
        "summary": result.summary(),
        "warnings": list(result.warnings),
        "undulation": test_json(result.undulation),
        "scale": test_json(result.scale),
        "curves": dict(zip("ab", result.counts, strict=True)),
        "left out": {str(reason): count for reason, count in result.dropped.items()},
        "unit": result.unit,
        "settings": tree_of(result.settings),
        "versions": dict(result.versions),
        "inputs": None if inputs is None else inputs.to_tree(),
    }


def write_streamed(folder: Path, result: StreamedComparison, inputs: Inputs | None = None) -> list[Path]:
    """Write comparison.json and curves.csv; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in FILES]
    write_json(paths[0], streamed_json(result, inputs))
    write_table(paths[1], result.to_dataframe())
    return paths
