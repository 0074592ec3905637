"""What a saved comparison holds beside the comparison."""

from ..archive import StrPath, Tree, read_archive
from ..comparison import records


def read_comparison_view(path: StrPath) -> Tree:
    """Return the `view` that was given to `Comparison.save`; errors as those of `Comparison.load`."""
    view: Tree = read_archive(path, records.FORMAT, records.LAYOUT, lambda tree: records.value(tree, "view", dict))
    return view
