"""Parts of images: planes of stacks, regions, the objects of a class or phase, curves by a feature."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from .._types import Mask
from ..archive import ContentError

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class ImagePart:
    """The part of an image that one row of a design describes; by default all of it.

    Attributes
    ----------
    plane : tuple of int
        For a stack, the index along each leading axis. Empty for an image of one plane.
    region : (int, int, int, int) or str, optional
        Top, bottom, left and right in pixels, with bottom and right exclusive, as in array slices. Or a polygon as
        well-known text (WKT), x the column and y the row, with the center of the first pixel at (0, 0).
    value : int, optional
        For a mask of classes: value of the class whose connected components are the objects.
    phase : str, optional
        For an orientation map: name of the phase whose grains are the objects.
    feature : (str, str), optional
        For a file of curves: select those whose feature of this name has this value.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io.image_parts import ImagePart
    >>> part = ImagePart(region=(0, 2, 1, 4))
    >>> str(part), part.cut(np.zeros((5, 5))).shape
    ('region 0:2, 1:4', (2, 3))
    """

    plane: tuple[int, ...] = ()
    region: Box | str | None = None
    value: int | None = None
    phase: str | None = None
    feature: tuple[str, str] | None = None

    def __str__(self) -> str:
        said = [f"plane {','.join(map(str, self.plane))}"] if self.plane else []
        if isinstance(self.region, str):
            left, top, right, bottom = shapely.bounds(polygon_of(self.region)).round().astype(int).tolist()
            said.append(f"region within {top}:{bottom + 1}, {left}:{right + 1}")
        elif self.region is not None:
            top, bottom, left, right = self.region
            said.append(f"region {top}:{bottom}, {left}:{right}")
        said += [] if self.value is None else [f"class {self.value}"]
        said += [] if self.phase is None else [f"phase {self.phase}"]
        return ", ".join([*said, *([] if self.feature is None else [f"{self.feature[0]} = {self.feature[1]}"])])

    def given(self) -> dict[str, Any]:
        """Return the attributes that are set, by name."""
        return {name: value for name, value in vars(self).items() if value not in ((), None)}

    def cut(self, plane: NDArray[Any]) -> NDArray[Any]:
        """Crop a plane to the region, if that is given by rows and columns; else return it unchanged.

        Raises
        ------
        ValueError
            For a region that exceeds the plane.
        """
        if self.region is None or isinstance(self.region, str):
            return plane
        top, bottom, left, right = self.region
        rows, columns = plane.shape[:2]
        if bottom > rows or right > columns:
            raise ContentError(f"region {top}:{bottom}, {left}:{right} reaches beyond its {rows} × {columns} pixels")
        return plane[top:bottom, left:right]


def polygon_of(text: str) -> shapely.Geometry:
    """Parse a polygon or multipolygon from well-known text.

    Raises
    ------
    ValueError
        If the text is not a valid polygon.
    """
    try:
        found = shapely.from_wkt(text)
    except shapely.errors.GEOSException as error:
        raise ContentError(f"region {text!r} is not a polygon: {error}") from error
    if found.geom_type not in ("Polygon", "MultiPolygon") or not shapely.is_valid(found) or not found.area:
        raise ContentError(f"region {text!r} is not a polygon, or intersects itself")
    return found


def objects_inside(labels: NDArray[Any], region: Box | str, *, keep_cut: bool) -> tuple[NDArray[Any], int]:
    """Return the labels of the objects in a region, 0 elsewhere; and the number of objects that its border cuts.

    A pixel belongs to a polygon if its center does; a rectangle cuts objects that touch its outermost rows and columns,
    as the image border does. With `keep_cut`, the parts inside of the objects that the border cuts are kept. A region
    (see `ImagePart`) that contains no pixels raises a ValueError.
    """
    inside = _inside(labels.shape, region)
    if not inside.any():
        raise ContentError(f"the region lies outside its {labels.shape[0]} × {labels.shape[1]} pixels")
    found = np.where(inside, labels, 0)
    outside = labels[~inside]
    if not isinstance(region, str):
        top, bottom, left, right = region
        edges = np.zeros_like(inside)
        edges[[top, bottom - 1], left:right] = edges[top:bottom, [left, right - 1]] = True
        outside = labels[edges]
    cut = np.setdiff1d(np.intersect1d(found, outside), 0)
    if len(cut) and not keep_cut:
        found[np.isin(found, cut)] = 0
    return found, 0 if keep_cut else len(cut)


def _inside(shape: tuple[int, ...], region: Box | str) -> Mask:
    if isinstance(region, str):
        polygon = polygon_of(region)
        shapely.prepare(polygon)
        rows, columns = np.indices(shape)
        return np.asarray(shapely.intersects_xy(polygon, columns, rows), dtype=np.bool_)
    found = np.zeros(shape, dtype=np.bool_)
    found[region[0] : region[1], region[2] : region[3]] = True
    return found


#: The whole image.
WHOLE = ImagePart()


def plane_of_stack(pixels: Any, plane: tuple[int, ...], colours: tuple[int, ...] = (3, 4)) -> NDArray[Any]:
    """Return one plane of a stack, all that is read of a Zarr array; see `shape_of_plane`.

    Axes of length 1 are ignored. Without `plane` the image must be a single plane.
    """
    shape, places = shape_of_plane(pixels.shape, plane, colours), iter(plane)
    index = tuple(0 if side == 1 else next(places, slice(None)) for side in pixels.shape)
    return np.asarray(pixels[index]).reshape(shape)


def shape_of_plane(
    shape: tuple[int, ...], plane: tuple[int, ...], colours: tuple[int, ...] = (3, 4)
) -> tuple[int, ...]:
    """Return the shape of one plane of an image that has not been read yet.

    `plane` is the index along each leading axis of a stack, axes of length 1 excluded; without it, or out of range, a
    ValueError says which planes there are. `colours` are lengths of a last axis that holds colors.
    """
    sides = list(shape)
    while len(sides) > 2 and 1 in sides:  # axes that some formats add to a plane
        sides.remove(1)
    last = 3 if len(sides) > 2 and sides[-1] in colours else 2
    axes = sides[: max(len(sides) - last, 0)]
    if len(sides) < 2 or (axes and not plane):
        raise ContentError(
            f"holds an image of shape {tuple(sides)}: save one plane, grayscale or color; in a design table, a column "
            "plane selects a plane of a stack"
        )
    if len(plane) != len(axes) or any(not 0 <= place < size for place, size in zip(plane, axes, strict=True)):
        planes = " × ".join(map(str, axes))
        raise ContentError(
            f"has no plane {','.join(map(str, plane))}: "
            + (f"it is a stack of {planes} planes, counted from 0" if axes else "it is not a stack")
        )
    return tuple(sides[len(axes) :])
