"""Files of results: comparisons, experiments and references, as `docs/reference/files.md` describes them."""

from pathlib import Path
from typing import ClassVar, Self

from ..archive import StrPath, Tree, read_archive, write_archive
from . import records

#: Format names of a saved comparison, experiment and reference, and the newest version of the layout of all.
COMPARISON, EXPERIMENT, LAYOUT = "shape-ensembles comparison", "shape-ensembles experiment", 1
REFERENCE = "shape-ensembles reference"


class Saved:
    """A result that can be saved whole, and loaded to the same digits."""

    FORMAT: ClassVar[str]

    def to_tree(self) -> Tree:
        """Return the whole result as arrays, numbers and strings."""
        raise NotImplementedError

    @classmethod
    def of_tree(cls, tree: Tree) -> Self:
        """Restore a result from `to_tree`; raises ValueError for invalid data."""
        raise NotImplementedError

    def _archived(self) -> Tree:
        return self.to_tree()

    def save(self, path: StrPath, *, view: Tree | None = None) -> None:
        """Write the whole result to a file atomically.

        Parameters
        ----------
        path : path
            Such as "nuclei.comparison.npz" or "doses.experiment.npz", which napari recognizes, or
            "nuclei.reference.npz".
        view : dict, optional
            State of a viewer, to be restored: JSON-compatible numbers, strings, lists and dicts of them.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file of that name is kept.
        ValueError
            For the ending of another format, and for ids or a view that cannot be stored.
        """
        if Path(path).suffix.lower() not in ("", ".npz"):
            raise ValueError(
                f"{Path(path).name}: a result is saved as .npz, such as {Path(path).stem}.comparison.npz; "
                "to_dataframe().to_csv(...) writes a table"
            )
        write_archive(path, self.FORMAT, LAYOUT, {**self._archived(), "view": view or {}})

    @classmethod
    def load(cls, path: StrPath, *, memory: float | None = None) -> Self:
        """Read a result written by `save`, to the same digits. Nothing in the file is executed.

        Parameters
        ----------
        path : path
        memory : float, optional
            Memory limit in GiB; by default 4.

        Raises
        ------
        ValueError
            For a file of another kind, of a newer version of this software, a damaged one, or one that exceeds the
            memory limit.
        OSError
            If the file does not exist, or cannot be read.
        """
        return read_archive(path, cls.FORMAT, LAYOUT, cls.of_tree, memory)


def read_view(path: StrPath, kind: str = COMPARISON) -> Tree:
    """Return the `view` that was passed to `save` of a comparison, or of an experiment; errors as those of `load`.

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
    view: Tree = read_archive(path, kind, LAYOUT, lambda tree: records.value(tree, "view", dict))
    return view
