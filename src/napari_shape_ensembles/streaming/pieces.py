"""Pieces of a sample: units that can be read, traced and registered independently."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from ..archive import ContentError, file_checksum
from ..io.calibration import Calibration
from ..io.image_parts import WHOLE, ImagePart
from ..io.lazy_images import LazyImage
from ..io.sources import Reading, ensemble_of_file, named
from ..outlines import Ensemble, Outlines
from ..outlines.large_images import ObjectWindow, object_windows
from ..outlines.tiles import TILE, Boxes, Window, boxes_in, tiles_of, trace_window, windows_of
from ..parameters import tree
from ..progress import each_block
from ..studies.jobs import run_jobs

Sample = Ensemble | str | Path | Sequence[Any]


class Piece(Protocol):
    """A subset of the outlines of a sample; must be picklable.

    Attributes
    ----------
    name : str
        Name of the source, for messages.
    key : str
        Checksum of everything that its outlines depend on.
    source : int
        Number of the image or file within the sample, common to all its pieces.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> from napari_shape_ensembles.streaming import pieces_of
    >>> a, b = samples.powder_outlines().ensembles()
    >>> first, second = pieces_of(a, rows=100)
    >>> first.source, len(first.load()), len(second.load())
    (0, 100, 74)
    """

    @property
    def name(self) -> str:
        """Name of the source."""

    @property
    def key(self) -> str:
        """Checksum of everything that its outlines depend on."""

    @property
    def source(self) -> int:
        """Number of the image or file within the sample."""

    def load(self) -> Ensemble:
        """Return the outlines."""


class Rows:
    """A range of the curves of an ensemble."""

    def __init__(self, ensemble: Ensemble, start: int, stop: int, source: int = 0) -> None:
        self.ensemble, self.start, self.stop, self.source = ensemble, start, stop, source
        self.name = ensemble.name
        first, last = ensemble.offsets[[start, stop]]
        content = hashlib.sha256(ensemble.vertices[first:last].tobytes())
        content.update(f"{ensemble.name} {ensemble.unit} {ensemble.pixel_size} {start} {stop}".encode())
        content.update(str(ensemble.ids[start:stop].tolist()).encode())
        self.key = content.hexdigest()

    def load(self) -> Ensemble:
        """Return the outlines."""
        return self.ensemble if (self.start, self.stop) == (0, len(self.ensemble)) else self._own()

    def _own(self) -> Ensemble:
        """Return these curves as an ensemble; dropped items of the whole are counted in its first piece only."""
        own = self.ensemble[self.start : self.stop]
        return own if not self.start else own.derived(own.curves, dropped={}, filled=0)

    def __reduce__(self) -> Any:
        own = self.load()  # pickle only these curves
        return Rows, (own, 0, len(own), self.source)


@dataclass(frozen=True)
class File:
    """All outlines of a file, or of a part of an image."""

    path: Path
    reading: Reading
    part: ImagePart = WHOLE
    source: int = 0

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def key(self) -> str:
        """Checksum of the file and of the reading options."""
        reading = self.reading.of(self.path)
        words = f"{file_checksum(self.path)} {self.part} {_reading_key(reading)}"
        return hashlib.sha256(words.encode()).hexdigest()

    def load(self) -> Ensemble:
        """Return the outlines."""
        return ensemble_of_file(self.path, self.reading, self.part)


@dataclass(frozen=True, eq=False)
class TilePiece(ABC):
    """The objects of one tile of a large file."""

    path: Path
    reading: Reading
    window: Window | ObjectWindow
    key: str
    source: int

    @property
    def name(self) -> str:
        """Name of the file, and position of the tile."""
        return f"{self.path.name} at {self.window.box[0]}, {self.window.box[1]}"

    @abstractmethod
    def load(self) -> Ensemble:
        """Return the outlines."""

    def _pixels(self, own: Calibration) -> dict[str, Any]:
        """Return pixel size and unit: those of the recipe, else those of the file."""
        recipe = self.reading.settings.outlines
        return {"scale": recipe.pixel_scale or own.scale, "unit": recipe.unit or own.unit}


@dataclass(frozen=True, eq=False)
class LabelWindow(TilePiece):
    """The objects of one tile of a large label image."""

    window: Window

    def load(self) -> Ensemble:
        """Return the outlines."""
        found = _opened(self.path, self.reading)
        recipe, pixels = self.reading.settings.outlines, self._pixels(found.calibration)
        return trace_window(found.array, self.window, recipe, name=found.name, **pixels)


@dataclass(frozen=True, eq=False)
class ImageWindow(TilePiece):
    """The objects of one tile of a large image."""

    window: ObjectWindow
    image: LazyImage

    def load(self) -> Ensemble:
        """Return the outlines."""
        return self.window.trace(name=self.image.name, **self._pixels(self.image.calibration))


def _reading_key(reading: Reading) -> str:
    """Return the reading options that affect the outlines, as a string."""
    return f"{sorted(tree(reading.settings.outlines).items(), key=str)} {reading.labels} {reading.curve_column}"


def _opened(path: Path, reading: Reading) -> Any:
    found = reading.lazy_labels(path)
    if found is None:
        raise ContentError(f"{path.name} can no longer be read in tiles: it was changed in the meantime")
    return found


def pieces_of(
    sample: Sample, *, rows: int = 8192, reading: Reading | None = None, tile: int = TILE, executor: Any | None = None
) -> list[Piece]:
    """Split a sample into pieces.

    Parameters
    ----------
    sample : Ensemble, path, or a sequence of them
        An ensemble is split into pieces of `rows` curves; a file is one piece, except that of labels in OME-Zarr, and
        of labels or grayscale images that exceed the memory limit, every tile is one.
    rows : int
        Number of curves per piece of an ensemble.
    reading : Reading, optional
        Options for converting files to outlines.
    tile : int
        Maximum side of a tile in pixels.
    executor : optional
        Executor that locates the objects in the tiles; see `compare_in_pieces`.

    Raises
    ------
    ValueError
        For an unsupported type, or an empty sample.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> from napari_shape_ensembles.streaming import pieces_of
    >>> a, b = samples.powder_outlines().ensembles()
    >>> [len(piece.load()) for piece in pieces_of(a, rows=100)]
    [100, 74]
    """
    reading = reading or Reading()
    parts = list(sample) if isinstance(sample, list | tuple) else [sample]
    found: list[Piece] = []
    for source, part in enumerate(parts):
        if isinstance(part, Ensemble):
            starts = range(0, max(len(part), 1), rows)
            found += [Rows(part, start, min(start + rows, len(part)), source) for start in starts]
        elif isinstance(part, str | Path):
            path = Path(part)
            own = reading.of(path)
            if (lazy := own.lazy_labels(path)) is not None:
                found += _windows(path, own, lazy.array, tile, executor, source)
            elif (large := own.large_image(path)) is not None:
                found += _image_windows(path, own, large, tile, executor, source)
            else:
                found.append(File(path, reading, source=source))
        elif all(hasattr(part, name) for name in ("load", "key", "name", "source")):
            found.append(cast("Piece", part))
        else:
            raise ValueError(f"a sample must be an ensemble, a path, or a list of them, not {type(part).__name__}")
    if not found:
        raise ValueError("a sample needs at least one outline: it is empty")
    return found


@dataclass(frozen=True)
class _FindLabels:
    """Picklable function that finds the labels in a tile of a file."""

    path: Path
    reading: Reading

    def __call__(self, tile: tuple[int, int, int, int]) -> Boxes:
        return boxes_in(_opened(self.path, self.reading).array, tile)


def _windows(path: Path, reading: Reading, array: Any, tile: int, executor: Any | None, source: int) -> list[Piece]:
    recipe: Outlines = reading.settings.outlines
    boxes = _results(executor, _FindLabels(path, reading), tiles_of(array.shape, tile))
    windows = windows_of(Boxes.joined(boxes), array.shape, recipe, tile)
    whole = f"{file_checksum(path)} {_reading_key(reading)}"
    keys = [hashlib.sha256(f"{whole} {one.box} {one.values.tolist()}".encode()).hexdigest() for one in windows]
    return [LabelWindow(path, reading, window, key, source) for window, key in zip(windows, keys, strict=True)]


def _image_windows(
    path: Path, reading: Reading, large: LazyImage, tile: int, executor: Any | None, source: int
) -> list[Piece]:
    over = each_block if executor is None else partial(_results, executor)
    with named(path.name):
        windows = object_windows(large.array, reading.settings.outlines, tile=tile, memory=reading.memory, over=over)
    image = LazyImage(None, large.calibration, large.name)
    whole = f"{file_checksum(path)} {_reading_key(reading)}"
    return [
        ImageWindow(path, reading, window, hashlib.sha256(f"{whole} {window.core}".encode()).hexdigest(), source, image)
        for window in windows
    ]


def _results(executor: Any | None, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Map `work` over all items, locally or by an executor."""
    found: list[Any] = [None] * len(items)

    def on_result(index: int, step: Any) -> None:
        if not step.name:
            found[index] = step.result

    run_jobs(work, items, on_result, executor)
    return found
