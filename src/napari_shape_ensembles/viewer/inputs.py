"""What a layer holds, copied out of it on the main thread, and turned into outlines anywhere.

A `Source` is taken from a layer once, when a run starts. From then on the layer may be renamed, rescaled or
deleted: the run has all it needs.
"""

import itertools
import zlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from napari.layers import Image, Labels, Layer, Shapes
from numpy.typing import NDArray

from ..outlines import Ensemble, Outlines, conversion_factor
from ..progress import as_part, report

if TYPE_CHECKING:
    from napari.components import Dims

Kind = Literal["image", "labels", "shapes"]

ACCEPTED = (Image, Labels, Shapes)
_CORNERS_PER_ELLIPSE = 200


@dataclass(frozen=True)
class Source:
    """A copy of what one layer shows.

    Attributes
    ----------
    kind : {"image", "labels", "shapes"}
    data : array, or list of (m, 2) arrays for shapes
        In the layer's own coordinates, the two displayed axes.
    name : str
    scale : (2,) array
        Size of one step of the coordinates in `unit`.
    unit : str
    placement : dict
        Arguments that put a new layer of two axes where this one is.
    plane : str
        Which plane of a stack this is, in words; empty for a single plane.
    left_out : dict of str to int
        Shapes that are no closed outline.
    path : str
        The file it was opened from; empty for none.
    """

    kind: Kind
    data: Any
    name: str
    scale: NDArray[np.float64]
    unit: str
    placement: dict[str, Any]
    plane: str
    left_out: dict[str, int]
    path: str = ""

    def calibrated(self, recipe: Outlines) -> "Source":
        """The same with pixels of the size that a recipe states in place of the layer, where it states one."""
        if recipe.pixel_scale is None or self.kind == "shapes":
            return self
        return replace(self, scale=np.array(recipe.pixel_scale), unit=recipe.unit or self.unit)


def source_of(layer: Layer, dims: "Dims") -> Source:
    """Copy what a layer shows in a viewer.

    Raises
    ------
    ValueError
        For a layer that does not show a plane, saying what to do.
    """
    axes = _displayed_axes(layer, dims)
    scale, unit = _calibration(layer, axes)
    kind: Kind = "image" if isinstance(layer, Image) else "labels" if isinstance(layer, Labels) else "shapes"
    point = np.round(np.atleast_1d(layer.world_to_data(dims.point[-layer.ndim :]))).astype(int)
    left_out: dict[str, int] = {}
    data = _outlines(layer, axes, point, left_out) if kind == "shapes" else _plane(layer, axes, point)
    placement = {
        "scale": np.asarray(layer.scale)[axes],
        "translate": np.asarray(layer.translate)[axes],
        "rotate": np.asarray(layer.rotate)[np.ix_(axes, axes)],
        "units": tuple(layer.units[axis] for axis in axes),
    }
    plane, path = _plane_words(layer, axes, point), str(layer.source.path or "")
    return Source(kind, data, layer.name, scale, unit, placement, plane, left_out, path)


def _displayed_axes(layer: Layer, dims: "Dims") -> list[int]:
    """The layer's axes that the viewer shows as rows and columns."""
    if layer.ndim < 2:
        raise ValueError(f'"{layer.name}" has {layer.ndim} axis: choose an image, labels or shapes')
    axes = [axis - (dims.ndim - layer.ndim) for axis in dims.order[-2:]]
    if min(axes) < 0:
        raise ValueError(
            f'"{layer.name}" is not shown as a plane: put its rows and columns last (Ctrl+E rolls the axes)'
        )
    return axes


def _calibration(layer: Layer, axes: Sequence[int]) -> tuple[NDArray[np.float64], str]:
    """Size of a step along rows and columns, in the unit of the rows."""
    rows, columns = (symbol(layer.units[axis]) for axis in axes)
    scale = np.asarray(layer.scale, dtype=np.float64)[list(axes)]
    if rows != columns:
        scale = scale * (1.0, conversion_factor(columns, rows))
    return scale, rows


def symbol(unit: Any) -> str:
    """Short name of a layer's unit: µm rather than micrometer, but pixel in full."""
    # Versions of pint differ in which of two letters stands for micro.
    return "pixel" if str(unit) == "pixel" else f"{unit:~P}".replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")


def _plane(layer: Image | Labels, axes: Sequence[int], point: NDArray[np.int64]) -> NDArray[Any]:
    """The displayed plane, a copy; colour images keep their last axis."""
    data = layer.data[0] if getattr(layer, "multiscale", False) else layer.data
    plane = np.array(data[_place_of_plane(layer, data, axes, point)])
    return plane.swapaxes(0, 1) if axes[0] > axes[1] else plane


def _place_of_plane(layer: Layer, data: Any, axes: Sequence[int], point: NDArray[np.int64]) -> tuple[Any, ...]:
    return tuple(
        slice(None) if axis in axes else int(np.clip(point[axis], 0, data.shape[axis] - 1))
        for axis in range(layer.ndim)
    )


def _outlines(
    layer: Shapes, axes: Sequence[int], point: NDArray[np.int64], left_out: dict[str, int]
) -> list[NDArray[np.float64]]:
    """Vertices of the closed shapes on the displayed plane; lines and open paths are counted."""
    hidden = [axis for axis in range(layer.ndim) if axis not in axes]
    found = []
    for vertices, kind, unwanted in zip(layer.data, layer.shape_type, _excluded(layer), strict=True):
        if hidden and not (np.round(np.asarray(vertices)[:, hidden]) == point[hidden]).all():
            continue
        if unwanted is True:
            left_out["excluded by hand"] = left_out.get("excluded by hand", 0) + 1
            continue
        outline = np.asarray(vertices, dtype=np.float64)[:, list(axes)]
        if kind == "line" or (kind == "path" and not np.array_equal(outline[0], outline[-1])):
            left_out["open"] = left_out.get("open", 0) + 1
        else:
            found.append(ellipse_outline(outline) if kind == "ellipse" else outline)
    return found


def _excluded(layer: Shapes) -> list[object]:
    """Which shapes a copy of the plugin's own curves says are left out."""
    return layer.features["excluded"].tolist() if "excluded" in layer.features else [False] * len(layer.data)


def ellipse_outline(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vertices of the ellipse in a box of four corners."""
    angle = 2 * np.pi * np.arange(_CORNERS_PER_ELLIPSE) / _CORNERS_PER_ELLIPSE
    one, other = (corners[1] - corners[0]) / 2, (corners[3] - corners[0]) / 2
    return corners.mean(axis=0) + np.cos(angle)[:, None] * one + np.sin(angle)[:, None] * other


def _plane_words(layer: Layer, axes: Sequence[int], point: NDArray[np.int64]) -> str:
    hidden = [axis for axis in range(layer.ndim) if axis not in axes]
    places = ", ".join(f"{_axis_name(layer, axis)} = {point[axis]}" for axis in hidden)
    return f"plane {places}" if places else ""


def _axis_name(layer: Layer, axis: int) -> str:
    """The axis's label, or its number where napari has only a number for it too."""
    label = layer.axis_labels[axis]
    return f"axis {axis}" if label.lstrip("-").isdigit() else label


def fingerprint(layer: Layer, dims: "Dims") -> Hashable:
    """What decides the outlines that a layer gives: the same as long as nothing changed, or was changed back.

    Pixels are told apart by a checksum, those of arrays that are not in memory by the array alone.
    """
    try:
        axes = _displayed_axes(layer, dims)
    except ValueError as error:
        return str(error)
    scale, unit = _calibration(layer, axes)
    point = np.round(np.atleast_1d(layer.world_to_data(dims.point[-layer.ndim :]))).astype(int)
    place = tuple((axis, int(point[axis])) for axis in range(layer.ndim) if axis not in axes)
    return (tuple(axes), place, tuple(scale.tolist()), unit, _checksum(layer, axes, point))


def _checksum(layer: Layer, axes: Sequence[int], point: NDArray[np.int64]) -> Hashable:
    if isinstance(layer, Shapes):
        unwanted = [row for row, flag in enumerate(_excluded(layer)) if flag is True]
        prints = (_adler(np.asarray(vertices)) for vertices in layer.data)
        return (tuple(layer.shape_type), *prints, *([tuple(unwanted)] if unwanted else []))
    data = layer.data[0] if getattr(layer, "multiscale", False) else layer.data
    if not isinstance(data, np.ndarray):
        return id(data)
    plane = data[_place_of_plane(layer, data, axes, point)]
    return (plane.shape, plane.dtype.str, _adler(plane))


def _adler(values: NDArray[Any]) -> int:
    """The quickest checksum at hand, as checks run between two events of the window."""
    return zlib.adler32(np.ascontiguousarray(values).view(np.uint8).data) if values.size else 0


def trace(source: Source, recipe: Outlines, steps: Iterator[int] | None = None) -> Ensemble:
    """Find the outlines of a source.

    Parameters
    ----------
    source : Source
    recipe : Outlines
        Of labels only how they are traced plays a part, of shapes nothing.
    steps : iterator of int, optional
        Numbers of the steps that are reported.

    Raises
    ------
    ValueError
        When the image cannot be segmented, naming it.
    """
    steps = steps or itertools.count()
    try:
        if source.kind == "shapes":
            curves = [outline * source.scale for outline in source.data]
            return Ensemble(curves, name=source.name, unit=source.unit, dropped=source.left_out)
        labels = source.data
        if source.kind == "image":
            with as_part(next(steps), 0, f"segmenting {source.name}: "):
                labels = recipe.labels(source.data)
        report(f"tracing {source.name}", next(steps))
        return recipe.trace(labels, scale=tuple(source.scale), unit=source.unit, name=source.name)
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error


def ensemble_of(layer: Layer, dims: "Dims", recipe: Outlines | None = None) -> Ensemble:
    """The outlines of what a layer shows, as the docks take them.

    Raises
    ------
    ValueError
        When there is nothing to trace, saying what to do.
    """
    return trace(source_of(layer, dims), recipe or Outlines())
