"""What a saved comparison holds beside the comparison."""

from ..archive import StrPath, Tree, read_archive
from ..comparison import records


def read_comparison_view(path: StrPath) -> Tree:
    """Return the `view` that was given to `Comparison.save`; errors as those of `Comparison.load`.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.io import read_comparison_view
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> result.save("comparison.npz", view={"color by": "product"})
    >>> read_comparison_view("comparison.npz")
    {'color by': 'product'}
    """
    view: Tree = read_archive(path, records.FORMAT, records.LAYOUT, lambda tree: records.value(tree, "view", dict))
    return view
