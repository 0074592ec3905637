"""Parts of images: a plane of a stack, a region of a plane, the objects of one class."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..archive import ContentError


@dataclass(frozen=True)
class ImagePart:
    """What of an image is one row of a design; by default all of it.

    Attributes
    ----------
    plane : tuple of int
        Of a stack: the place along each axis before rows and columns, counted from 0. Empty for an image of one plane.
    region : (int, int, int, int), optional
        Top, bottom, left and right in pixels, of which bottom and right are the first left out, as in slices of arrays.
    value : int, optional
        The image is a mask of classes: value of the class whose connected components are the objects.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io.image_parts import ImagePart
    >>> part = ImagePart(region=(0, 2, 1, 4))
    >>> str(part), part.cut(np.zeros((5, 5))).shape
    ('region 0:2, 1:4', (2, 3))
    """

    plane: tuple[int, ...] = ()
    region: tuple[int, int, int, int] | None = None
    value: int | None = None

    def __str__(self) -> str:
        said = [f"plane {','.join(map(str, self.plane))}"] if self.plane else []
        if self.region is not None:
            top, bottom, left, right = self.region
            said.append(f"region {top}:{bottom}, {left}:{right}")
        return ", ".join([*said, *([] if self.value is None else [f"class {self.value}"])])

    def __bool__(self) -> bool:
        return self != WHOLE

    def cut(self, plane: NDArray[Any]) -> NDArray[Any]:
        """The region of a plane.

        Raises
        ------
        ValueError
            For a region that is not within the plane.
        """
        if self.region is None:
            return plane
        top, bottom, left, right = self.region
        rows, columns = plane.shape[:2]
        if bottom > rows or right > columns:
            raise ContentError(f"region {top}:{bottom}, {left}:{right} reaches beyond its {rows} × {columns} pixels")
        return plane[top:bottom, left:right]


#: All of an image.
WHOLE = ImagePart()


def plane_of(pixels: NDArray[Any], plane: tuple[int, ...], colours: tuple[int, ...] = (3, 4)) -> NDArray[Any]:
    """One plane of a stack, whose axes of length 1 do not count; without `plane` the image has to be a single plane.

    Raises
    ------
    ValueError
        For a stack without `plane`, or one that has no such plane, with what there is.
    """
    while pixels.ndim > 2 and 1 in pixels.shape:  # some formats put axes of length 1 around a plane
        pixels = pixels.squeeze(pixels.shape.index(1))
    last = 3 if pixels.ndim > 2 and pixels.shape[-1] in colours else 2
    axes = pixels.shape[: max(pixels.ndim - last, 0)]
    if pixels.ndim < 2 or (axes and not plane):
        raise ContentError(
            f"holds an image of shape {pixels.shape}: save one plane, in grey or in color; in a table of a design a "
            "column plane tells which of a stack"
        )
    if len(plane) != len(axes) or any(not 0 <= place < size for place, size in zip(plane, axes, strict=True)):
        planes = " × ".join(map(str, axes))
        raise ContentError(
            f"has no plane {','.join(map(str, plane))}: "
            + (f"it is a stack of {planes} planes, counted from 0" if axes else "it is no stack")
        )
    return pixels[plane]
