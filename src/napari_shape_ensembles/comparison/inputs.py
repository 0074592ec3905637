"""Provenance of a result: input files with their checksums, and how they were read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..archive import ContentError

_CHECKSUM = 64


@dataclass(frozen=True)
class InputFile:
    """An input file of outlines.

    Attributes
    ----------
    path : str
        Absolute path at the time.
    sha256 : str
        SHA-256 checksum, hexadecimal.
    sample : int
        In a comparison: 0 for A, 1 for B. In an experiment: the row of its design, counted from 0.
    part : mapping
        Plane, region or class of the image, unless it is all of it.
    pixel_size, unit : (float, float) or None, str
        Override of the file's metadata; None and "" if the metadata were used.
    excluded : tuple of str
        Ids of manually excluded outlines.
    labels : bool, optional
        Whether the image holds labels; None if that was recognized automatically.

    Examples
    --------
    >>> from napari_shape_ensembles.comparison.inputs import InputFile
    >>> InputFile("/data/field 1.tif", 64 * "0").sample
    0
    """

    path: str
    sha256: str
    sample: int = 0
    part: Mapping[str, Any] = field(default_factory=dict)
    pixel_size: tuple[float, float] | None = None
    unit: str = ""
    excluded: tuple[str, ...] = ()
    labels: bool | None = None


@dataclass(frozen=True)
class Inputs:
    """Input files of a result, and the recipe that made outlines of them.

    Attributes
    ----------
    files : tuple of InputFile
        In the order of the images, A's before B's.
    recipe : mapping
        Parameters of `Outlines` by name.
    curve_column : str, optional
        In tables of curves: the column that identifies the curve.

    Examples
    --------
    >>> from napari_shape_ensembles.comparison.inputs import InputFile, Inputs
    >>> Inputs((InputFile("/data/field 1.tif", 64 * "0"),)).paths
    ('/data/field 1.tif',)
    """

    files: tuple[InputFile, ...]
    recipe: Mapping[str, Any] = field(default_factory=dict)
    curve_column: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the files."""
        return tuple(file.path for file in self.files)

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> "Inputs":
        """Restore the inputs from the result of `dataclasses.asdict`.

        Raises
        ------
        ValueError
            For anything else.
        """
        files, recipe = tree.get("files"), tree.get("recipe")
        if not isinstance(files, list | tuple) or not isinstance(recipe, Mapping):
            raise ContentError("its inputs are not a list of files with a recipe")
        column = tree.get("curve_column")
        return cls(tuple(map(_file, files)), dict(recipe), None if column is None else str(column))


def _file(known: Any) -> InputFile:
    try:
        size, labels = known["pixel_size"], known["labels"]
        found = InputFile(
            path=str(known["path"]),
            sha256=str(known["sha256"]),
            sample=int(known["sample"]),
            part=dict(known["part"]),
            pixel_size=None if size is None else (float(size[0]), float(size[1])),
            unit=str(known["unit"]),
            excluded=tuple(map(str, known["excluded"])),
            labels=None if labels is None else bool(labels),
        )
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise ContentError(f"one of its inputs is not a file with a checksum ({error!r})") from error
    if len(found.sha256) != _CHECKSUM or found.sample < 0:
        raise ContentError(f"{found.sha256[:80]!r} is not a SHA-256 checksum of {found.path[:200]!r}")
    return found
