"""The files of a review: where labels were read from, the stacks they are planes of, and what is to be saved."""

import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from napari.layers import Labels, Layer
from numpy.typing import NDArray

from ..inspection import CorrectedLabels, Review
from ..inspection.correcting import MARKS, CorrectedStack
from ..io import Calibration, read_image
from ..io.corrected import read_log, write_corrected
from ..progress import report
from .inputs import PARTS, Source, file_errors_named, pixel_size_of, shown_plane, symbol

if TYPE_CHECKING:
    from napari.components import Dims


@dataclass(eq=False)
class LabelsFile:
    """The file from which labels were read."""

    path: str  #: or empty

    @cached_property
    def log(self) -> pd.DataFrame | None:
        """The log file next to it, cached before it is overwritten, or None."""
        return read_log(self.path) if self.path else None


@dataclass(frozen=True, eq=False)
class StackPlane:
    """The position of a plane in a stack of labels, and properties of the stack."""

    stack: CorrectedStack
    place: tuple[int, ...]  #: index along the axes that are not displayed
    axes: tuple[int, int]  #: axes displayed as rows and columns
    name: str
    file: LabelsFile
    size: Calibration  #: pixel size of its last two axes, regardless of those displayed
    steps: dict[int, tuple[float, str]]  #: axis -> spacing of the planes, and its unit


@dataclass(frozen=True, eq=False)
class Resumed:
    """Corrections found in a file beside the labels."""

    path: Path
    labels: NDArray[np.integer]
    log: pd.DataFrame


@dataclass(eq=False)
class ReviewedImage:
    """An image under review: the layer that was inspected, and the one on which its labels are corrected."""

    ref: "weakref.ref[Layer]"  #: of a consensus, the first of its label sets
    source: Source
    plane: StackPlane | None = None
    file: LabelsFile = field(default_factory=lambda: LabelsFile(""))
    is_consensus: bool = False
    beside: str = ""  #: file beside which corrections are saved by themselves; empty for none
    resumed: Resumed | None = None  #: corrections from such a file with which the inspection began
    copy: "weakref.ref[Labels] | None" = None


class ReviewFiles:
    """Knows which file, and which stack, the labels of a layer are from; also those of corrected copies."""

    def __init__(self) -> None:
        self._files: weakref.WeakKeyDictionary[Layer, LabelsFile] = weakref.WeakKeyDictionary()
        self._stacks: weakref.WeakKeyDictionary[Layer, CorrectedStack] = weakref.WeakKeyDictionary()
        self._planes: weakref.WeakKeyDictionary[Layer, StackPlane] = weakref.WeakKeyDictionary()  # of copies

    def file_of(self, layer: Layer | None, path: str) -> LabelsFile:
        """Return the file of a layer, always the same one, or one of this path if it is unknown."""
        if layer is None or (layer not in self._files and not path):
            return LabelsFile(path)
        return self._files.setdefault(layer, LabelsFile(path))

    def inherit(self, copy: Labels, image: ReviewedImage) -> None:
        """Let a corrected copy have the file, or the stack, of the labels that it is a copy of."""
        if image.plane is not None:
            self._planes[copy] = image.plane
        else:
            self._files[copy] = image.file

    def plane_of(self, layer: Layer | None, dims: "Dims") -> StackPlane | None:
        """Return the position in a stack of the plane of labels that a layer shows; None for a 2D layer."""
        if not isinstance(layer, Labels) or layer in self._planes:
            return self._planes.get(layer) if layer is not None else None
        whole, part = layer, PARTS.get(layer)
        if part is not None and isinstance(part.whole, Labels) and part.part.plane:
            whole, place, axes = part.whole, part.part.plane, (part.whole.ndim - 2, part.whole.ndim - 1)
            data = whole.data
            if whole.multiscale or not np.array_equal(layer.data, data[place]):  # a modified copy
                return None
        elif layer.ndim > 2 and not layer.multiscale:
            shown = shown_plane(layer, dims)
            axes, data = (shown.axes[0], shown.axes[1]), shown.data
            place = tuple(int(shown.point[axis]) for axis in range(layer.ndim) if axis not in axes)
        else:
            return None
        stack = self._stacks.get(whole)
        if stack is None or stack.original is not data:
            stack = self._stacks[whole] = CorrectedStack(data)
        steps = {axis: (float(whole.scale[axis]), symbol(whole.units[axis])) for axis in range(whole.ndim - 2)}
        file = self._files.setdefault(whole, LabelsFile(str(whole.source.path or "")))
        scale, unit = pixel_size_of(whole, (whole.ndim - 2, whole.ndim - 1))
        size = Calibration((float(scale[0]), float(scale[1])), unit, "layer")
        return StackPlane(stack, place, axes, whole.name, file, size, steps)


def corrections_of(beside: str, labels: NDArray[np.integer]) -> Resumed | None:
    """Return corrections of labels that were saved by themselves, or None, as for labels that were changed since."""
    path = _path_beside(beside)
    log = read_log(path) if path.is_file() else None
    if log is None or path.stat().st_mtime < Path(beside).stat().st_mtime:
        return None
    try:
        saved = np.asarray(read_image(path).pixels)
    except (ValueError, OSError):
        return None
    fits = saved.shape == labels.shape and saved.dtype.kind in "iu"
    differs = log["action"].isin(MARKS).any() or not np.array_equal(saved, labels)
    return Resumed(path, saved, log) if fits and differs else None


def _path_beside(beside: str) -> Path:
    """Return the file for corrections beside a file of labels, or of their image."""
    path = Path(beside)
    return path.with_name(f"{path.name.removesuffix(path.suffix).removesuffix('.ome')}.corrected.tif")


def autosave_path(image: ReviewedImage, taken: Collection[Path]) -> Path:
    """Return the file to which the corrections of an image are saved: one that holds none of other labels."""
    path = _path_beside(image.beside)
    if image.resumed is not None and image.resumed.path == path:
        return path
    free, number = path, 2
    while free.exists() or free in taken:
        free, number = path.with_name(f"{path.stem} {number}{path.suffix}"), number + 1
    return free


def images_to_save(review: Review, images: Sequence[ReviewedImage], name_of: Callable[[int], str]) -> dict[int, str]:
    """Return the corrected images that can be saved, with their names; planes of a stack are saved as one stack."""
    names: dict[int, str] = {}
    stacks: set[CorrectedStack] = set()
    for place, image in enumerate(images):
        if (plane := image.plane) is None:
            if review.to_save(place):
                names[place] = name_of(place)
        elif plane.stack not in stacks and any(
            own.changes or own.marks or own.saved for own in plane.stack.planes.values()
        ):
            stacks.add(plane.stack)
            names[place] = f"{plane.name} corrected"
    return names


def write_corrected_files(
    jobs: Sequence[tuple[Path, ReviewedImage, CorrectedLabels]],
) -> list[tuple[Path, Path, str]]:
    """Write corrected labels of images, or the whole stacks that they are planes of, and their logs.

    The pixel size is that of the layer, or else of the original file. Returns the paths of both, and a sentence on
    metadata that the format cannot store.
    """
    written = []
    for path, image, own in jobs:
        report(f"saving {path.name}")
        plane, file, source = image.plane, image.file, image.source
        size = Calibration(tuple(source.scale.tolist()), source.unit, "layer") if plane is None else plane.size
        original = file.path if file.path and Path(file.path).is_file() else None
        known = None if size.unit == "pixel" and original is not None else size
        corrected, steps = (own, {}) if plane is None else (plane.stack, plane.steps)
        with file_errors_named(path):
            earlier = file.log if image.resumed is None else image.resumed.log
            written.append(write_corrected(path, corrected, original, known, steps, earlier))
        # A file holds these corrections now, also if they are undone.
        for one in [own] if plane is None else plane.stack.planes.values():
            one.saved = one.saved or bool(one.changes or one.marks) or plane is None
    return written
