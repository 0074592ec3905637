"""Snapshots of the layers of two samples, and their conversion to outlines in any thread.

A `Source` is created from a layer on the main thread when a run starts; afterwards the layer may be renamed, rescaled
or deleted without affecting the run. Large pixel arrays are copied at the start of the worker thread.
"""

import hashlib
import itertools
import weakref
import zlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from napari.layers import Image, Labels, Layer, Shapes
from numpy.typing import NDArray

from .._types import Index, Real
from ..archive import file_checksum
from ..comparison.display import MARK
from ..comparison.inputs import InputFile, Inputs
from ..io import read_image
from ..io.image_parts import WHOLE, Box, ImagePart, objects_inside
from ..io.rerun import recipe_tree
from ..io.settings_file import SettingsFile
from ..io.sources import Reading, also_left_out, ensemble_of_file, labelled
from ..outlines import Ensemble, Outlines
from ..outlines.not_image import NotImage
from ..outlines.reasons import AT_BORDER, BY_HAND, OPEN, Reason
from ..outlines.units import conversion_factor, unit_name
from ..progress import as_part, report
from ..words import pooled_name

if TYPE_CHECKING:
    from napari.components import Dims

Kind = Literal["image", "labels", "shapes", "file"]

ACCEPTED = (Image, Labels, Shapes)
_CORNERS_PER_ELLIPSE = 200
# Tolerance of the cosine of the angle between rows and columns for rectangular pixels, far above rounding errors.
_MAX_SKEW = 1e-6

#: Excluded ids of an image, as strings; and those of all images, group by group.
Ids: TypeAlias = frozenset[str]
Excluded: TypeAlias = tuple[Ids, ...]
#: The layers of A and of B, the snapshots of groups, and weak references to a layer and to several.
LayersOfSides: TypeAlias = tuple[tuple[Layer, ...], tuple[Layer, ...]]
Sources: TypeAlias = tuple[tuple["Source", ...], ...]
Ref: TypeAlias = weakref.ref[Layer]
Refs: TypeAlias = tuple[Ref, ...]
#: The axes of a plane, and the index of the plane on the other axes; empty for what is not shown as a plane.
Plane: TypeAlias = tuple[int, ...]

# Size in bytes from which an array is folded before the checksum, and number of words it is folded to.
_FOLD_FROM_BYTES, _FOLDED_WORDS = 2**24, 4093


#: Layers created by this plugin, which are not offered for comparison; identified by object rather than by metadata,
#: as a duplicate made by the user belongs to the user.
OWN: "weakref.WeakSet[Layer]" = weakref.WeakSet()


#: Layer -> the layer that it was made for, such as an image whose outlines it shows: it lies over that one, and is
#: not compared with it unless a group is entered.
MADE_FOR: "weakref.WeakKeyDictionary[Layer, weakref.ref[Layer]]" = weakref.WeakKeyDictionary()


@contextmanager
def file_errors_named(path: Path, done: str = "written") -> Iterator[None]:
    """Convert I/O errors and missing optional libraries to a ValueError that names the file."""
    try:
        yield
    except ImportError as error:
        raise ValueError(f"{path.name} cannot be {done}: {error}") from error
    except OSError as error:
        raise ValueError(f"{path.name} cannot be {done}: {error.strerror or error}") from error


def write_file(written: Any, path: Path) -> Path:
    """Write a model or a reference, and return its path."""
    with file_errors_named(path):
        written.save(path)
    return path


@dataclass(frozen=True, eq=False)
class PartOf:
    """The part of another layer, or of a file, that a layer is."""

    whole: Layer | None
    part: ImagePart
    path: str = ""
    picked: bool = False  #: whether its outlines were picked by hand


@dataclass(frozen=True, eq=False)
class ImageRow:
    """An image of the design table, or a part of one, that is not open as a layer: read lazily."""

    name: str
    path: Path
    part: ImagePart
    pixel: tuple[float | tuple[float, float], str] | None = None  #: size and unit, overriding the file's

    def ensemble(self, recipe: Outlines) -> Ensemble:
        """Read the file, and return its outlines; a ValueError names a file that is gone or cannot be read."""
        sizes = {} if self.pixel is None else {self.path.resolve(): self.pixel}
        with file_errors_named(self.path, "opened"):
            found = ensemble_of_file(self.path, Reading(SettingsFile(outlines=recipe), pixel_sizes=sizes), self.part)
        found.name = self.name
        return found


#: Layers that are parts of others, which are not compared while their parts are in the viewer.
PARTS: "weakref.WeakKeyDictionary[Layer, PartOf]" = weakref.WeakKeyDictionary()


def is_own(layer: Layer) -> bool:
    """Whether a layer was created by this plugin, or belongs to a comparison opened from a file."""
    known = layer.metadata.get(MARK)
    return layer in OWN or (isinstance(known, dict) and "comparison" in known)


@dataclass(frozen=True)
class Source:
    """A snapshot of the plane that a layer shows."""

    kind: Kind
    data: Any  #: array, or list of (m, 2) arrays for shapes; displayed axes, in layer coordinates
    name: str
    scale: NDArray[np.float64]  #: (2,) pixel size in `unit`
    unit: str
    placement: dict[str, Any]  #: transform arguments for a new 2D layer at the same place
    plane: str  #: description of the plane of a stack; empty for 2D data
    left_out: dict[Reason, int]  #: reason -> number of shapes left out
    path: str = ""  #: file of the layer, or empty
    #: (2,) position of the center of the first pixel, in `unit`
    origin: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    mirrored: bool = False  #: whether the layer transform mirrors the data; outlines are not mirrored
    region: Box | str | None = None  #: region to which objects are restricted; see `ImagePart`
    part: ImagePart | None = WHOLE  #: part of the file, without the region; None if unknown
    rows: tuple[int, ...] = ()  #: of shapes, the place of each in its layer
    picked: bool = False  #: whether its outlines were picked by hand

    def calibrated(self, recipe: Outlines) -> "Source":
        """Return a copy with the pixel size of the recipe, if it sets one."""
        if recipe.pixel_scale is None or self.kind == "shapes":
            return self
        scale = np.array(recipe.pixel_scale)
        return replace(self, scale=scale, unit=recipe.unit or self.unit, origin=self.origin / self.scale * scale)


def kind_of(layer: "Layer | ImageRow") -> Kind:
    """Return what the outlines of a row of the design table come from."""
    if isinstance(layer, ImageRow):
        return "file"
    return "image" if isinstance(layer, Image) else "labels" if isinstance(layer, Labels) else "shapes"


def pixels_of(layer: Layer) -> Any:
    """Return the data of a layer; those of the highest resolution, if it has several."""
    return layer.data[0] if getattr(layer, "multiscale", False) else layer.data


def placement_of(layer: Layer) -> dict[str, Any]:
    """Return the transform of a layer and its units, as arguments for another layer at the same place."""
    return {name: getattr(layer, name) for name in ("scale", "translate", "rotate", "shear", "affine", "units")}


def axis_names(layer: Layer) -> list[str]:
    """Return the names of the axes of a layer; those that napari only counts are counted from 0."""
    return [f"axis {axis}" if name.lstrip("-").isdigit() else name for axis, name in enumerate(layer.axis_labels)]


def origins_of(layer: "Layer | ImageRow") -> list[str]:
    """Return what was given for a row of the design table: the kind of the layer it is a whole part of; and "picked".

    Outlines that were picked by hand, and the others of their image, are labels that were segmented, not given.
    """
    known = None if isinstance(layer, ImageRow) else PARTS.get(layer)
    picked = ["picked"] * (known is not None and known.picked)
    while known is not None and known.part == WHOLE and known.whole is not None:
        layer, known = known.whole, PARTS.get(known.whole)
    return [kind_of(layer), *picked]


def source_of(layer: "Layer | ImageRow", dims: "Dims", *, at_most: float = np.inf) -> Source:
    """Take a snapshot of the plane that a layer shows; raise a ValueError with a remedy if it shows none.

    Pixel arrays of more than `at_most` bytes are not copied yet, but by `copy_pixels`.
    """
    if isinstance(layer, ImageRow):
        return Source("file", layer, layer.name, np.ones(2), "pixel", {}, "", {}, str(layer.path))
    known = PARTS.get(layer)
    if known is not None and known.whole is not None and known.part.region:  # objects are segmented in the whole plane
        return replace(source_of(known.whole, dims, at_most=at_most), name=layer.name, region=known.part.region)
    axes, point, scale, unit, mirrored, pixels, place, missed = shown_plane(layer, dims)
    if missed is not None:
        raise ValueError(
            f'"{layer.name}" has {pixels.shape[missed]} planes, and the slider is beyond them, where the viewer shows '
            "none: move it back to one of them"
        )
    kind = kind_of(layer)
    left_out: dict[Reason, int] = {}
    rows: list[int] = []
    data: Any
    if kind == "shapes":
        data, rows, left_out = _outlines_at(layer, axes, point)
    else:  # color images keep their last axis
        data = pixels[place]
        data = data if getattr(data, "nbytes", 0) > at_most else np.array(data)
        data = data.swapaxes(0, 1) if axes[0] > axes[1] else data
    corner = np.asarray(layer.data_to_world(np.zeros(layer.ndim)))[axes]
    origin = corner * unit_factors(layer, axes, [layer.units[axes[0]]] * 2)
    hidden = [f"{name} = {point[axis]}" for axis, name in enumerate(axis_names(layer)) if axis not in axes]
    plane = f"plane {', '.join(hidden)}" if hidden else ""
    path, part = str(layer.source.path or ""), None
    if axes == [layer.ndim - 2, layer.ndim - 1]:
        part = ImagePart(plane=tuple(point[: axes[0]].tolist()))
    return Source(
        kind,
        data,
        layer.name,
        scale,
        unit,
        _placement(layer, axes, dims),
        plane,
        left_out,
        path,
        origin,
        mirrored,
        part=part,
        rows=tuple(rows),
        picked=known is not None and known.picked,
    )


def _outlines_at(layer: "Layer", axes: list[int], point: Index) -> tuple[list[Real], list[int], dict[Reason, int]]:
    """Closed outlines of a Shapes layer in the plane shown, their rows in it, and why how many others are left out."""
    other = [axis for axis in range(layer.ndim) if axis not in axes]
    found, rows, left_out = [], [], dict[Reason, int]()
    for row, (shape, form, unwanted) in enumerate(zip(layer.data, layer.shape_type, _excluded(layer), strict=True)):
        if other and not (np.round(np.asarray(shape)[:, other]) == point[other]).all():
            continue
        outline = np.asarray(shape, dtype=np.float64)[:, axes]
        if unwanted is True:
            left_out[BY_HAND] = left_out.get(BY_HAND, 0) + 1
        elif form == "line" or (form == "path" and not np.array_equal(outline[0], outline[-1])):
            left_out[OPEN] = left_out.get(OPEN, 0) + 1
        else:
            found.append(ellipse_outline(outline) if form == "ellipse" else outline)
            rows.append(row)
    return found, rows, left_out


def _placement(layer: "Layer", axes: list[int], dims: "Dims") -> dict[str, Any]:
    """Transform of the plane shown, as parameters of a new layer."""
    # The axes of a 2D layer are the last two of the viewer: transposed if these are displayed in reverse order.
    drawn = axes if dims.order.index(dims.ndim - 2) < dims.order.index(dims.ndim - 1) else axes[::-1]
    return {
        "affine": np.asarray(layer.affine.affine_matrix)[np.ix_([*drawn, layer.ndim], [*axes, layer.ndim])],
        "scale": np.asarray(layer.scale)[axes],
        "translate": np.asarray(layer.translate)[axes],
        "rotate": np.asarray(layer.rotate)[np.ix_(axes, axes)],
        "units": tuple(layer.units[axis] for axis in drawn),
    }


def copy_pixels(sources: Sequence[Source], at_most: float) -> list[Source]:
    """Copy the pixel arrays that `source_of` has not copied."""
    return [
        replace(source, data=np.array(source.data)) if getattr(source.data, "nbytes", 0) > at_most else source
        for source in sources
    ]


def fingerprint(layer: "Layer | ImageRow", dims: "Dims") -> str:
    """Return a hash of everything that determines a layer's outlines.

    Pixels enter as a fast checksum (Adler-32), as this runs in the event loop; lazy arrays by identity. Large arrays
    are folded first, which takes a fifth of the time: words of 8 bytes are summed into a prime number of columns, so
    that shifted content ends up in different columns.
    """
    if isinstance(layer, ImageRow):
        stat = layer.path.stat() if layer.path.exists() else None
        return f"{layer.path} {layer.part} {stat and (stat.st_mtime_ns, stat.st_size)}"
    known = PARTS.get(layer)
    if known is not None and known.whole is not None and known.part.region:
        return f"{fingerprint(known.whole, dims)} {known.part.region}"
    try:
        axes, point, scale, unit, mirrored, data, place, missed = shown_plane(layer, dims)
    except ValueError as error:
        return str(error)
    shown: Hashable
    # Labels can be painted in a Zarr or Dask array, too; the shown plane of them is in memory anyway.
    if isinstance(layer, Shapes | Labels) or isinstance(data, np.ndarray):
        parts = data if isinstance(layer, Shapes) else [data[place]]
        arrays = [np.ascontiguousarray(part) for part in parts]
        sums = []
        for array in arrays:
            content = array.view(np.uint8).reshape(-1) if array.size else np.empty(0, np.uint8)
            if content.size >= _FOLD_FROM_BYTES:
                whole = content.size // (8 * _FOLDED_WORDS) * (8 * _FOLDED_WORDS)
                columns = np.add.reduce(content[:whole].view(np.uint64).reshape(-1, _FOLDED_WORDS), axis=0)
                content = np.concatenate([columns.view(np.uint8), content[whole:]])
            sums.append(zlib.adler32(content.data) if content.size else 0)
        if isinstance(layer, Shapes):
            unwanted = [row for row, flag in enumerate(_excluded(layer)) if flag is True]
            shown = (tuple(layer.shape_type), *sums, *([tuple(unwanted)] if unwanted else []))
        else:
            shown = (arrays[0].shape, arrays[0].dtype.str, sums[0])
    else:
        shown = id(data)
    hidden = tuple((axis, int(point[axis])) for axis in range(layer.ndim) if axis not in axes)
    turned = (*(["mirrored"] if mirrored else []), *(["not shown"] if missed is not None else []))
    return hashlib.sha256(repr((tuple(axes), hidden, tuple(scale.tolist()), unit, shown, *turned)).encode()).hexdigest()


def is_unchanged_in_file(path: Path, part: ImagePart, source: Source) -> bool:
    """Whether a file contains exactly the data that a layer shows, found by reading the file."""
    try:
        if source.kind == "shapes":
            curves = ensemble_of_file(path, Reading(), part)
            same = Ensemble([outline * source.scale for outline in source.data], unit=source.unit)
            return curves.unit == same.unit and len(curves) == len(same) and np.allclose(curves.vertices, same.vertices)
        if source.kind == "image":
            return np.array_equal(read_image(path, plane=part.plane).pixels, source.data)
        return np.array_equal(labelled(path, Reading(labels=True), part).labels, source.data)
    except (ValueError, OSError):  # missing, unsupported or different
        return False


def inputs_of_sources(samples: Sequence[Sequence[Source]], recipe: Outlines, excluded: Excluded) -> Inputs | None:
    """Return the files of the samples, with their checksums; None if one of them is not in a file.

    For an experiment, every image is a sample.
    """
    kept, left_out = recipe_tree(recipe), itertools.chain(excluded, itertools.repeat(frozenset[str]()))
    places = [(sample, source) for sample, images in enumerate(samples) for source in images]
    files = [_input_file(source, sample, next(left_out), recipe) for sample, source in places]
    known = [file for file in files if file is not None]
    return None if kept is None or len(known) < len(files) else Inputs(tuple(known), kept)


def _input_file(source: Source, sample: int, excluded: Ids, recipe: Outlines) -> InputFile | None:
    ids = tuple(sorted(excluded))
    if isinstance(row := source.data, ImageRow):
        size, unit = row.pixel or (None, "")
        sides = size if size is None or isinstance(size, tuple) else (size, size)
        return InputFile(str(row.path.resolve()), file_checksum(row.path), sample, row.part.given(), sides, unit, ids)
    path, part = Path(source.path), source.part
    if not source.path or part is None or not is_unchanged_in_file(path, part, source):
        return None
    part = part if source.region is None else replace(part, region=source.region)
    sides, unit = None, ""
    if recipe.pixel_scale is None and source.kind != "shapes":  # pixels too: overrides file metadata
        sides, unit = (float(source.scale[0]), float(source.scale[1])), source.unit
    labels = None if source.kind == "shapes" else source.kind == "labels"
    return InputFile(str(path.resolve()), file_checksum(path), sample, part.given(), sides, unit, ids, labels)


class ShownPlane(NamedTuple):
    """The plane of a layer that a viewer shows."""

    axes: list[int]  #: data axes displayed as rows and columns
    point: NDArray[np.int64]  #: data index of the current slice on all axes
    scale: NDArray[np.float64]  #: pixel size along rows and columns, in `unit`
    unit: str
    mirrored: bool
    data: Any
    place: tuple[Any, ...]  #: index of the plane in the data; the nearest, if the slider is beyond all planes
    missed: int | None = None  #: axis on which the slider is beyond all of several planes, so that none is drawn


def shown_plane(layer: Layer, dims: "Dims") -> ShownPlane:
    """Return the plane of a layer that a viewer shows.

    Raise a ValueError with a remedy if that is not a plane of rectangular pixels.
    """
    if layer.ndim < 2:
        raise ValueError(f'"{layer.name}" has {layer.ndim} axis: choose an image, labels or shapes')
    axes = [axis - (dims.ndim - layer.ndim) for axis in dims.order[-2:]]
    if min(axes) < 0:
        raise ValueError(
            f'"{layer.name}" is not shown as a plane: put its rows and columns last (Ctrl+E rolls the axes)'
        )
    scale, unit = pixel_size_of(layer, axes)
    corner, *ends = (np.asarray(layer.data_to_world(end)) for end in [np.zeros(layer.ndim), *np.eye(layer.ndim)[axes]])
    mirrored = bool(np.linalg.det(np.stack([end - corner for end in ends])[:, axes]) < 0)
    units = dims.units or layer.units
    counted = np.asarray(dims.point[-layer.ndim :]) / unit_factors(layer, range(layer.ndim), units[-layer.ndim :])
    point = np.round(np.atleast_1d(layer.world_to_data(counted))).astype(int)
    data = pixels_of(layer)
    if isinstance(layer, Shapes):
        return ShownPlane(axes, point, scale, unit, mirrored, data, ())
    shape = np.array(data.shape[: layer.ndim])
    beyond = ((point < 0) | (point >= shape)) & (shape > 1)  # halves are rounded as by napari, which draws none there
    missed = next((axis for axis in np.flatnonzero(beyond).tolist() if axis not in axes), None)
    point = np.clip(point, 0, shape - 1)
    place = tuple(slice(None) if axis in axes else int(point[axis]) for axis in range(layer.ndim))
    return ShownPlane(axes, point, scale, unit, mirrored, data, place, missed)


def plane_of(layer: "Layer | ImageRow", dims: "Dims") -> Plane:
    """Return which plane of a layer a viewer shows; empty if none, or if the layer is not in a viewer."""
    known = PARTS.get(layer) if isinstance(layer, Layer) else None
    whole = known.whole if known is not None and known.whole is not None and known.part.region else layer
    if isinstance(whole, ImageRow):
        return ()
    try:
        axes, point, *_, missed = shown_plane(whole, dims)
    except ValueError:
        return ()
    return () if missed is not None else (*axes, *(int(point[axis]) for axis in range(whole.ndim) if axis not in axes))


def pixel_size_of(layer: Layer, axes: Sequence[int]) -> tuple[NDArray[np.float64], str]:
    """Return height and width of a pixel from the full transform of a layer, and the unit (of the rows).

    Scale, rotation, shear and affine transform are composed. Mirroring is ignored, and outlines are those of the
    unmirrored data: this is irrelevant if reflections are matched, and otherwise the layers of a run are required to
    be all mirrored or all unmirrored (`Task.main_job`).

    Raises
    ------
    ValueError
        For pixels that are not rectangular in the plane of these axes, with the remedy in the message.
    """
    corner = np.asarray(layer.data_to_world(np.zeros(layer.ndim)))
    steps = np.stack(
        [np.asarray(layer.data_to_world(step)) - corner for step in np.eye(layer.ndim)[list(axes)]], axis=1
    )
    on_plane = steps[list(axes)] * unit_factors(layer, axes, [layer.units[axes[0]]] * 2)[:, None]
    sizes = np.linalg.norm(on_plane, axis=0)
    hidden = [axis for axis in range(layer.ndim) if axis not in axes]
    if np.abs(steps[hidden]).max(initial=0) > _MAX_SKEW * sizes.max():
        raise ValueError(f'"{layer.name}" is rotated out of the displayed plane: reset its affine transform')
    if not (np.isfinite(sizes).all() and sizes.min() > 0):
        raise ValueError(f'"{layer.name}" has pixels of {sizes[0]:g} × {sizes[1]:g}: set its scale (widget Pixel size)')
    if abs(on_plane[:, 0] @ on_plane[:, 1]) > _MAX_SKEW * sizes[0] * sizes[1]:
        raise ValueError(
            f'"{layer.name}" is sheared, so its pixels are not rectangular and its outlines would be distorted: '
            "reset its shear and affine transform, or resample it"
        )
    return sizes, symbol(layer.units[axes[0]])


def unit_factors(layer: Layer, axes: Sequence[int], units: Sequence[Any]) -> NDArray[np.float64]:
    """Return the conversion factors from a layer's units to `units`, for each of these axes."""
    pairs = zip((layer.units[axis] for axis in axes), units, strict=True)
    return np.array([1.0 if own == unit else conversion_factor(symbol(own), symbol(unit)) for own, unit in pairs])


def symbol(unit: Any) -> str:
    """Return the symbol of a layer's unit: µm rather than micrometer, but pixel in full."""
    # The Unicode character for micro depends on the version of pint.
    return unit_name(f"{unit:~P}".replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}"))


def _excluded(layer: Shapes) -> list[object]:
    """Return the exclusion flags of the shapes, set in duplicates of the plugin's own curve layers."""
    return layer.features["excluded"].tolist() if "excluded" in layer.features else [False] * len(layer.data)


def ellipse_outline(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vertices of the ellipse inscribed in a box of four corners."""
    angle = 2 * np.pi * np.arange(_CORNERS_PER_ELLIPSE) / _CORNERS_PER_ELLIPSE
    one, other = (corners[1] - corners[0]) / 2, (corners[3] - corners[0]) / 2
    return corners.mean(axis=0) + np.cos(angle)[:, None] * one + np.sin(angle)[:, None] * other


def trace(source: Source, recipe: Outlines, steps: Iterator[int] | None = None) -> Ensemble:
    """Return the outlines of a source; a ValueError names an image that cannot be segmented.

    For labels, only the tracing parameters of the recipe apply; for shapes, none. `steps` yields the step numbers of
    the progress reports.
    """
    steps = steps or itertools.count()
    try:
        if source.kind == "file":
            report(f"reading {source.name}", next(steps))
            return source.data.ensemble(recipe)
        if source.kind == "shapes":
            curves = [outline * source.scale for outline in source.data]
            return Ensemble(curves, name=source.name, unit=source.unit, dropped=source.left_out)
        with as_part(next(steps) if source.kind == "image" else 0, 0, f"segmenting {source.name}: "):
            labels, ignored, cut = labels_of(source, recipe)
        report(f"tracing {source.name}", next(steps))
        options: dict[str, Any] = {"scale": tuple(source.scale), "unit": source.unit, "name": source.name}
        found = recipe.trace(labels, ignored=ignored, region=source.region, **options)
        return also_left_out(found, AT_BORDER, cut) if cut else found
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error


def labels_of(source: Source, recipe: Outlines) -> tuple[NDArray[Any], NotImage | None, int]:
    """Return the labels of an image or labels, what of it is not image, and how many objects its region cuts."""
    labels, ignored, cut = source.data, None, 0
    if source.kind == "image":
        ignored = recipe.ignored(source.data)
        labels = recipe.labels(source.data, ignored=ignored)
    if source.region is not None:
        labels, cut = objects_inside(labels, source.region, keep_cut=recipe.keep_border)
    return labels, ignored, cut


def trace_image(source: Source, recipe: Outlines, excluded: Ids, steps: Iterator[int] | None = None) -> Ensemble:
    """Return the outlines of a source without the excluded ids, which are counted as left out."""
    image = trace(source, recipe, steps)
    keep = np.array([str(one) not in excluded for one in image.ids.tolist()], dtype=bool)
    if keep.all():
        return image
    left, gone = image[keep], {BY_HAND: int((~keep).sum())}
    return left.derived(left.curves, dropped=image.dropped | gone)


def ensemble_of(layer: Layer, dims: "Dims", recipe: Outlines | None = None) -> Ensemble:
    """Return the outlines of the plane that a layer shows, as in the docks; raise a ValueError if there is none."""
    return trace(source_of(layer, dims), recipe or Outlines())


def trace_sides(
    sources: Sources, recipe: Outlines, excluded: Excluded = (), names: Sequence[str] = ()
) -> tuple[Ensemble, Ensemble]:
    """Return the outlines of both samples without the excluded ids.

    The samples have these names, or by default those of their images.
    A ValueError names an image that cannot be segmented, or cannot be pooled with the others.
    """
    left_out, steps = itertools.chain(excluded, itertools.repeat(frozenset[str]())), itertools.count()
    sides: list[list[Ensemble]] = [[], []]
    for images, side in zip(sides, sources, strict=True):
        images += [trace_image(source, recipe, next(left_out), steps) for source in side]
    a, b = (
        images[0].derived(images[0].curves, name=name or images[0].name) if len(images) == 1 else _pooled(images, name)
        for images, name in zip(sides, names or ("", ""), strict=True)
    )
    return a, b


def _pooled(images: Sequence[Ensemble], name: str) -> Ensemble:
    """Pool images to one sample; ids of several are prefixed by image names."""
    members = with_own_ids([usable(image, images[0].unit) for image in images])
    return Ensemble.pooled(members, name=name or pooled_name([image.name for image in images]))


def usable(image: Ensemble, unit: str) -> Ensemble:
    """Return an image in a unit; a ValueError names one without outlines, or in another kind of unit."""
    if not len(image):  # more likely an error than a finding
        reasons = "; ".join(f"{count} {reason}" for reason, count in image.dropped.items())
        raise ValueError(
            f"{image.name} has no usable outline{f' ({reasons})' if reasons else ''}: check the segmentation "
            "and the minimum size, or remove the image from its sample"
        )
    try:
        return image.to(unit)
    except ValueError as error:
        raise ValueError(f"{image.name}: {error}") from error


def with_own_ids(images: Sequence[Ensemble]) -> list[Ensemble]:
    """Return the images of a group with ids that are distinct in it: those of several get the name of their image."""
    if len(images) == 1:
        return list(images)
    return [
        image.derived(image.curves, name=image.name, ids=[f"{image.name}:{one}" for one in image.ids.tolist()])
        for image in images
    ]


def picked_words(sources: Sources) -> list[str]:
    """Return a warning if outlines of these images were picked by hand: a test cannot know by what."""
    names = [source.name for source in itertools.chain(*sources) if source.picked]
    if not names:
        return []
    return [
        f"The outlines of {', '.join(names)} were picked by hand: if by their size or form, a difference in it shows "
        "the choice, not a finding."
    ]


def own_ids(sample: Ensemble) -> list[tuple[int, str]]:
    """Return for every curve the index of its image in the sample, and its id in that image."""
    places = {name: place for place, name in enumerate(dict.fromkeys(sample.images.tolist()))}
    pairs = zip(sample.images.tolist(), map(str, sample.ids.tolist()), strict=True)
    return [(places[name], one.removeprefix(f"{name}:") if len(places) > 1 else one) for name, one in pairs]
