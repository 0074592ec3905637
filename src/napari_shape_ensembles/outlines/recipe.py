"""The recipe: every parameter from an image to its outlines, each with its one default, range, unit and help."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import parameters
from ..parameters import as_call, documented, parameter, parameters_of
from .units import length_unit

Objects = Literal["bright", "dark"]
Method = Literal[
    "otsu",
    "auto",
    "li",
    "triangle",
    "manual",
    "local",
    "multi-otsu",
    "hysteresis",
    "level",
    "boundaries",
    "superpixels",
]
Split = Literal["none", "distance", "intensity"]
SmoothingUnit = Literal["pixel", "physical", "window"]
#: Rows and columns of a rectangle.
Place: TypeAlias = tuple[slice, slice]


@runtime_checkable
class Finder(Protocol):
    """Detector of objects in an image: a model learned from examples, or any function from an image to labels."""

    def __call__(self, image: Any) -> NDArray[Any]:
        """Return (rows, columns) integers, 0 = background."""
        ...


#: Methods that partition the whole plane between neighbors, without background.
TILINGS: tuple[Method, ...] = ("boundaries", "superpixels")

_FIND, _CLEAN = "Find", "Clean up and split"
#: Groups of the parameters that apply to labels, too, which are only traced.
TRACING, PIXEL_SIZE = "Trace", "Pixel size"
_THRESHOLDS: tuple[Method, ...] = tuple(method for method in get_args(Method) if method not in TILINGS)
_TILING = ({"method": ("boundaries",)}, {"method": ("superpixels",), "all_regions": (True,)})
_NO_TILING = ({"method": _THRESHOLDS}, {"method": ("superpixels",), "all_regions": (False,)})
# Upper limit in pixels: longer than anything in an image, with filters of this width still fitting in memory.
_MAX_LENGTH_PX = 5_000
# Number of iterations after which boundaries no longer become smoother.
_MAX_ITERATIONS = 10_000


@documented
@dataclass(frozen=True, repr=False)
class Recipe:
    """All parameters from an image to its outlines, without the methods of `Outlines`; taken by the single steps.

    Raises
    ------
    ValueError
        For a value out of range, naming it.
    """

    method: Method = parameter(
        "otsu",
        "Segmentation method; of images read from files, auto unless another is given. One threshold for the image, "
        "computed from its gray levels (otsu, li, triangle) or "
        "given (manual); the best of several recipes, ranked without ground truth, which also sets bright or dark, "
        "smoothing, background, splitting and refining (auto); above the local mean (local); the brightest of several "
        "classes (multi-otsu); above a low threshold and connected to pixels above a high one (hysteresis); the "
        "level set of a field at a value or a quantile (level); cells between dark lines, with shared boundaries "
        "(boundaries); SLIC regions, merged where similar in color (superpixels).",
        choices={
            "otsu": "Otsu threshold",
            "auto": "best of several",
            "li": "Li threshold",
            "triangle": "triangle threshold",
            "manual": "manual threshold",
            "local": "local threshold",
            "multi-otsu": "multi-Otsu classes",
            "hysteresis": "hysteresis",
            "level": "level set of a field",
            "boundaries": "cells between lines",
            "superpixels": "superpixels",
        },
        group=_FIND,
    )
    find: Finder | str | None = parameter(
        None,
        "Replaces method and clean-up: a model learned from painted objects, or the path of its file; the name of "
        "an installed segmenter, or of one in a Python of its own (cellpose, stardist, micro-sam; cellpose:cyto3 for "
        "one of its models); or a function from an image to labels.",
        label="Model",
        group=_FIND,
    )
    objects: Objects = parameter(
        "bright",
        "Whether the foreground is brighter or darker than the threshold; bright cells have dark lines between them.",
        label="Objects are",
        group=_FIND,
    )
    channel: Literal["luminance", 0, 1, 2] = parameter(
        "luminance",
        "Channel of a color image to segment: its luminance, or red (0), green (1), blue (2).",
        choices={"luminance": "luminance", 0: "red", 1: "green", 2: "blue"},
        group=_FIND,
    )
    smoothing: float = parameter(
        1.0,
        "Standard deviation of a Gaussian filter applied to the image first; 0 for none.",
        label="Image smoothing",
        unit="px",
        least=0,
        most=_MAX_LENGTH_PX,
        step=0.5,
        decimals=1,
        group=_FIND,
    )
    background: float = parameter(
        0.0,
        "Background subtraction (white top-hat): half width of the window, wider than the widest object; 0 for "
        "none. Thresholds then apply to the difference from the background.",
        unit="px",
        least=0,
        most=_MAX_LENGTH_PX,
        step=1,
        decimals=0,
        group=_FIND,
    )
    ignore: str = parameter(
        "auto",
        "Parts of the picture that are not image, which are masked before thresholds are computed: found (auto: "
        "information bars, frames, letters, scale bars, regions without data), none, or rows and columns in pixels, "
        'such as "448:512, :; 0:40, 0:200".',
        group=_FIND,
        expert=True,
    )
    threshold: float | None = parameter(
        None,
        "Gray value between background and objects, in the values of the image; if omitted, hysteresis uses "
        "three-class Otsu.",
        group=_FIND,
        needs={"method": ("manual", "hysteresis", "level")},
    )
    low: float | None = parameter(
        None,
        "Objects extend down to this gray value where connected to pixels above `threshold`; three-class Otsu if "
        "omitted.",
        label="Low threshold",
        group=_FIND,
        needs={"method": ("hysteresis",)},
    )
    quantile: float | None = parameter(
        None,
        "Fraction of the pixels below the level, instead of `threshold`.",
        least=0,
        most=1,
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("level",)},
        expert=True,
    )
    window: float = parameter(
        51.0,
        "Width of the neighborhood with which each pixel is compared.",
        unit="px",
        least=3,
        most=_MAX_LENGTH_PX,
        step=2,
        decimals=0,
        group=_FIND,
        needs={"method": ("local", "boundaries")},
    )
    offset: float = parameter(
        0.05,
        "Minimum difference of a pixel from the mean of its neighborhood, as a fraction of the image's range.",
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("local", "boundaries")},
    )
    classes: int = parameter(
        3,
        "Number of gray-level classes for multi-Otsu.",
        least=2,
        most=5,
        group=_FIND,
        needs={"method": ("multi-otsu",)},
    )
    object_classes: int = parameter(
        1,
        "Number of classes that are objects, counted from the brightest, or the darkest if objects are dark.",
        least=1,
        most=4,
        group=_FIND,
        needs={"method": ("multi-otsu",)},
    )
    superpixels: int = parameter(
        500,
        "Approximate number of regions before merging.",
        least=2,
        step=50,
        group=_FIND,
        needs={"method": ("superpixels",)},
    )
    compactness: float = parameter(
        0.05,
        "Larger values give squarer superpixels; smaller ones follow the gray levels.",
        above=0,
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("superpixels",)},
        expert=True,
    )
    merge: float = parameter(
        0.1,
        "Neighboring superpixels are merged if their colors differ by less than this fraction of the range.",
        label="Merge below",
        least=0,
        most=1,
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("superpixels",)},
        expert=True,
    )
    all_regions: bool = parameter(
        False,
        "Keep all merged superpixels, as a tiling; otherwise only the foreground ones, by Otsu's threshold of "
        "their means.",
        label="Keep all regions",
        group=_FIND,
        needs={"method": ("superpixels",)},
        expert=True,
    )
    opening: float = parameter(
        0.0,
        "Morphological opening with a disk of this radius: removes thin parts of objects; 0 for none.",
        unit="px",
        least=0,
        most=_MAX_LENGTH_PX,
        step=1,
        decimals=1,
        group=_CLEAN,
        needs={"method": _THRESHOLDS},
        expert=True,
    )
    closing: float = parameter(
        0.0,
        "Morphological closing with a disk of this radius: fills narrow gaps; 0 for none.",
        unit="px",
        least=0,
        most=_MAX_LENGTH_PX,
        step=1,
        decimals=1,
        group=_CLEAN,
        needs={"method": _THRESHOLDS},
        expert=True,
    )
    fill_holes: bool = parameter(True, "Fill holes inside objects.", group=_CLEAN, needs={"method": _THRESHOLDS})
    min_size: int = parameter(
        0,
        "Connected components with fewer pixels are removed as noise before objects are split; 0 for none.",
        label="Noise below",
        unit="px²",
        least=0,
        group=_CLEAN,
        needs=({"method": (*_THRESHOLDS, "boundaries")}, {"method": ("superpixels",), "all_regions": (False,)}),
    )
    split_touching: Split | bool = parameter(
        "distance",
        "Separate touching objects by a watershed of the distance transform, or of the image; True means distance.",
        choices={"none": "no", "distance": "at necks", "intensity": "at dim saddles"},
        group=_CLEAN,
        needs={"method": (*_THRESHOLDS, "boundaries")},
    )
    neck: float = parameter(
        0.85,
        "How narrow (or dim) a neck must be to split, as a fraction of the smaller object beside it; smaller "
        "values split less.",
        least=0,
        most=1,
        step=0.05,
        decimals=2,
        group=_CLEAN,
        needs={"method": (*_THRESHOLDS, "boundaries"), "split_touching": ("distance", "intensity")},
        expert=True,
    )
    refine: bool = parameter(
        False,
        "Learn from the 20 objects of the method that look best what objects look like, and find all of them anew by "
        "that, as if these were painted. Of images with fewer than 6 whole objects, those of the method are kept.",
        label="Refine by learning",
        group=_CLEAN,
        needs={"method": _THRESHOLDS},
        expert=True,
    )
    largest: bool = parameter(
        False,
        "Keep only the largest object of each image; for images of a single object, such as an otolith or a leaf.",
        label="Largest object only",
        group=_CLEAN,
        needs=_NO_TILING,
    )
    outline_smoothing: float = parameter(
        1.0,
        "Standard deviation of a Gaussian filter that removes the pixel steps of each outline; 0 for none. Use the "
        "same value for images to be compared: it determines how much fine roughness remains.",
        unit="px",
        least=0,
        step=0.5,
        decimals=1,
        group=TRACING,
        needs=_NO_TILING,
    )
    smoothing_unit: SmoothingUnit = parameter(
        "pixel",
        "Unit of `outline_smoothing`: pixels; the image's unit, for equal smoothing in both directions where "
        "pixels are not square; or the paper's σ, in pixels, with the filter truncated to a window of 2⌊σ/2⌋ + 1 "
        "pixels.",
        label="Smoothing unit",
        choices={"pixel": "pixels", "physical": "the image's unit", "window": "the paper's filter (a window)"},
        group=TRACING,
        needs=_NO_TILING,
    )
    iterations: int = parameter(
        5,
        "Number of smoothing steps of the boundaries shared by neighbors; junctions stay fixed.",
        label="Smoothing steps",
        least=0,
        most=_MAX_ITERATIONS,
        group=TRACING,
        needs=_TILING,
        expert=True,
    )
    min_area: float = parameter(
        16,
        "Objects and holes with fewer pixels are left out and counted.",
        label="Smallest object",
        unit="px²",
        least=0,
        step=1,
        decimals=0,
        group=TRACING,
    )
    keep_border: bool = parameter(
        False,
        "Keep objects cut by the image border, closed along it; otherwise they are left out and counted, as their "
        "outlines are incomplete.",
        label="Keep border objects",
        group=TRACING,
    )
    holes: bool = parameter(False, "Trace holes as separate curves.", label="Trace holes", group=TRACING)
    min_vertices: int = parameter(
        3,
        "Outlines with fewer vertices are left out and counted; marching squares gives about 1.3 vertices per "
        "pixel of length.",
        label="Fewest vertices",
        least=0,
        group=TRACING,
        needs=_NO_TILING,
        expert=True,
    )
    min_length: float = parameter(
        0.0,
        "Shorter outlines are left out and counted (20 for the paper's test batteries).",
        label="Shortest outline",
        unit="px",
        least=0,
        step=1,
        decimals=1,
        group=TRACING,
        needs=_NO_TILING,
        expert=True,
    )
    pixel_size: float | tuple[float, float] | None = parameter(
        None,
        "Side of a pixel, or its height and width, in `unit`; overrides the image's metadata.",
        above=0,
        group=PIXEL_SIZE,
    )
    unit: str | None = parameter(
        None, "Unit of the pixel size and of the outlines, such as µm or nm; give both or neither.", group=PIXEL_SIZE
    )

    def __post_init__(self) -> None:
        if isinstance(self.split_touching, bool | np.bool_):
            object.__setattr__(self, "split_touching", "distance" if self.split_touching else "none")
        parameters.check(self)
        if self.object_classes >= self.classes:
            raise ValueError(f"object_classes must be between 1 and {self.classes - 1} with {self.classes} classes")
        if self.method == "manual" and self.threshold is None:
            raise ValueError('method "manual" needs a threshold, in the values of the image')
        if self.method == "level" and (self.threshold is None) == (self.quantile is None):
            raise ValueError('method "level" needs either a threshold, in the values of the field, or a quantile')
        if (self.pixel_size is None) != (self.unit is None):
            raise ValueError(
                "pixel_size and unit go together: give both (on the command line --pixel-size and --unit), or neither"
            )
        if self.ignore not in ("auto", "none"):
            regions_of(self.ignore)
        if self.unit is not None:
            length_unit(self.unit)

    @property
    def is_tiling(self) -> bool:
        """Whether the labels partition the plane between neighbors, with shared boundaries."""
        return self.method == "boundaries" or (self.method == "superpixels" and self.all_regions)

    @property
    def pixel_scale(self) -> tuple[float, float] | None:
        """Height and width of a pixel, if set in the recipe."""
        size = self.pixel_size
        return (size, size) if isinstance(size, int | float) else size

    def at_resolution(self, factor: float) -> Self:
        """Return the recipe for an image with `factor` times as many pixels per length."""
        powers = {"px": 1, "px²": 2}
        declared = [item for item in parameters_of(type(self)).values() if item.unit in powers]
        changes: dict[str, Any] = {
            item.name: getattr(self, item.name) * factor ** powers[item.unit] for item in declared
        }
        changes["window"] = max(3.0, changes["window"])
        changes["min_size"] = int(np.ceil(changes["min_size"]))
        if self.smoothing_unit == "physical":
            del changes["outline_smoothing"]
        if (pixel := self.pixel_scale) is not None:
            changes["pixel_size"] = pixel[0] / factor, pixel[1] / factor
        return replace(self, **changes)

    __repr__ = as_call

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from the defaults, for a readable record."""
        return parameters.changed(self)


def regions_of(text: str) -> list[Place]:
    """Parse regions such as "448:512, :; 0:40, 0:200": rows and columns as in array slices, separated by semicolons.

    Raises
    ------
    ValueError
        For anything else.
    """
    regions = []
    for part in text.split(";"):
        try:
            rows, columns = (
                slice(*(int(end) if end.strip() else None for end in side.split(":"))) for side in part.split(",")
            )
            if part.count(":") != 2:
                raise ValueError
        except ValueError:
            raise ValueError(
                f'ignore must be "auto", "none", or rows and columns such as "448:512, :; 0:40, 0:200", not {text!r}'
            ) from None
        regions.append((rows, columns))
    return regions
