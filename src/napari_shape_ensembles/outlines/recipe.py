"""The recipe: every parameter from an image to its outlines, each with its one default, range, unit and help."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import parameters
from ..parameters import documented, parameter, parameters_of
from .ensemble import length_unit

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


@runtime_checkable
class Finder(Protocol):
    """Detector of objects in an image: a model learned from examples, or any function from an image to labels."""

    def __call__(self, image: Any) -> NDArray[Any]:
        """Return (rows, columns) integers, 0 = background."""
        ...


#: Methods that partition the whole plane between neighbours, without background.
TILINGS: tuple[Method, ...] = ("boundaries", "superpixels")

_FIND, _CLEAN, _TRACE, _PIXEL = "Find", "Clean up and split", "Trace", "Pixel size"
_THRESHOLDS: tuple[Method, ...] = tuple(method for method in get_args(Method) if method not in TILINGS)
_TILING = ({"method": ("boundaries",)}, {"method": ("superpixels",), "all_regions": (True,)})
_NO_TILING = ({"method": _THRESHOLDS}, {"method": ("superpixels",), "all_regions": (False,)})
# Upper limit in pixels: longer than anything in an image, with filters of this width still fitting in memory.
_LONGEST = 5_000
# Number of iterations after which boundaries no longer become smoother.
_MOST_STEPS = 10_000


@documented
@dataclass(frozen=True)
class Recipe:
    """All parameters from an image to its outlines, without the methods of `Outlines`; taken by the single steps.

    Raises
    ------
    ValueError
        For a value out of range, naming it.
    """

    method: Method = parameter(
        "otsu",
        "Thresholding method, or another kind of segmentation: one threshold for the image, found from its grey "
        "levels (otsu, li, triangle) or given (manual); the best of several recipes, ranked without a reference, "
        "which also chooses bright or dark, smoothing, background and how to split (auto); above the mean of the "
        "neighbourhood (local); the brightest of several classes (multi-otsu); above one threshold and connected to "
        "something above another (hysteresis); the level set of a field at a value or a quantile (level); cells "
        "between dark lines, neighbours flush (boundaries); SLIC regions, merged where their colors are alike "
        "(superpixels).",
        choices={
            "otsu": "Otsu threshold",
            "auto": "the best of several",
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
        "In place of a method and of cleaning up: a model learned from painted objects, as such or as the path of its "
        "file; the name of an installed segmenter; or a function from an image to labels.",
        label="Model",
        group=_FIND,
    )
    objects: Objects = parameter(
        "bright",
        "Which side of a threshold is foreground; bright cells have dark lines between them.",
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
        most=_LONGEST,
        step=0.5,
        decimals=1,
        group=_FIND,
    )
    background: float = parameter(
        0.0,
        "Background subtraction (white top-hat): half width of the window, wider than the widest object; 0 for none. "
        "Thresholds then count from the background.",
        unit="px",
        least=0,
        most=_LONGEST,
        step=1,
        decimals=0,
        group=_FIND,
    )
    threshold: float | None = parameter(
        None,
        "Grey value between background and objects, in the image's own values; by hysteresis, where left out, by "
        "three-class Otsu.",
        group=_FIND,
        needs={"method": ("manual", "hysteresis", "level")},
    )
    low: float | None = parameter(
        None,
        "Objects reach as far as this grey value, where they hold some of `threshold`; by three-class Otsu where left "
        "out.",
        label="Low threshold",
        group=_FIND,
        needs={"method": ("hysteresis",)},
    )
    quantile: float | None = parameter(
        None,
        "Fraction of the pixels below the level, in place of `threshold`.",
        least=0,
        most=1,
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("level",)},
    )
    window: float = parameter(
        51.0,
        "Width of the neighbourhood each pixel is compared with.",
        unit="px",
        least=3,
        most=_LONGEST,
        step=2,
        decimals=0,
        group=_FIND,
        needs={"method": ("local", "boundaries")},
    )
    offset: float = parameter(
        0.05,
        "How far beyond the mean of its neighbourhood a pixel has to be, as a fraction of the image's range.",
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("local", "boundaries")},
    )
    classes: int = parameter(
        3,
        "Number of grey-level classes of multi-Otsu.",
        least=2,
        most=5,
        group=_FIND,
        needs={"method": ("multi-otsu",)},
    )
    object_classes: int = parameter(
        1,
        "How many of the classes are objects, counted from the objects' side.",
        least=1,
        most=4,
        group=_FIND,
        needs={"method": ("multi-otsu",)},
    )
    superpixels: int = parameter(
        500,
        "Approximate number of regions before those of like color are merged.",
        least=2,
        step=50,
        group=_FIND,
        needs={"method": ("superpixels",)},
    )
    compactness: float = parameter(
        0.05,
        "Larger makes squarer superpixels, smaller ones follow the grey levels.",
        above=0,
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("superpixels",)},
    )
    merge: float = parameter(
        0.1,
        "Neighbouring superpixels closer in color than this fraction of the range are merged.",
        label="Merge below",
        least=0,
        most=1,
        step=0.01,
        decimals=3,
        group=_FIND,
        needs={"method": ("superpixels",)},
    )
    all_regions: bool = parameter(
        False,
        "Keep every merged superpixel, as a tiling; else those on the objects' side of Otsu's threshold of their "
        "means.",
        label="Keep all regions",
        group=_FIND,
        needs={"method": ("superpixels",)},
    )
    opening: float = parameter(
        0.0,
        "Radius of a disc: parts of objects that it does not fit into are removed; 0 for none.",
        unit="px",
        least=0,
        most=_LONGEST,
        step=1,
        decimals=1,
        group=_CLEAN,
        needs={"method": _THRESHOLDS},
    )
    closing: float = parameter(
        0.0,
        "Radius of a disc: gaps that it does not fit into are filled; 0 for none.",
        unit="px",
        least=0,
        most=_LONGEST,
        step=1,
        decimals=1,
        group=_CLEAN,
        needs={"method": _THRESHOLDS},
    )
    fill_holes: bool = parameter(True, "Fill holes inside objects.", group=_CLEAN, needs={"method": _THRESHOLDS})
    min_size: int = parameter(
        0,
        "Components of fewer pixels are removed as noise before objects are split and numbered; 0 for none.",
        label="Noise below",
        unit="px²",
        least=0,
        group=_CLEAN,
        needs=({"method": (*_THRESHOLDS, "boundaries")}, {"method": ("superpixels",), "all_regions": (False,)}),
    )
    split_touching: Split | bool = parameter(
        "distance",
        "Separate touching objects by a watershed of the distance to their edge, or of the image; True is distance.",
        choices={"none": "no", "distance": "at necks", "intensity": "at dim saddles"},
        group=_CLEAN,
        needs={"method": (*_THRESHOLDS, "boundaries")},
    )
    neck: float = parameter(
        0.85,
        "How narrow (or dim) a neck must be, as a fraction of the lesser object beside it; smaller splits less.",
        least=0,
        most=1,
        step=0.05,
        decimals=2,
        group=_CLEAN,
        needs={"method": (*_THRESHOLDS, "boundaries"), "split_touching": ("distance", "intensity")},
    )
    largest: bool = parameter(
        False,
        "Keep only the largest object of each image: for one object per picture, such as an otolith or a leaf.",
        label="Largest object only",
        group=_CLEAN,
        needs=_NO_TILING,
    )
    outline_smoothing: float = parameter(
        1.0,
        "Standard deviation of a Gaussian filter that takes the pixel steps off each outline; 0 for none. Use the same "
        "for images to be compared: it decides how much fine roughness is left.",
        unit="px",
        least=0,
        step=0.5,
        decimals=1,
        group=_TRACE,
        needs=_NO_TILING,
    )
    smoothing_unit: SmoothingUnit = parameter(
        "pixel",
        "Unit of `outline_smoothing`: pixels; the image's unit, so that pixels of unequal sides smooth alike in both "
        "directions; or the paper's σ, pixels with the filter truncated to a window of 2⌊σ/2⌋ + 1 of them.",
        label="Smoothing is in",
        choices={"pixel": "pixels", "physical": "the image's unit", "window": "the paper's σ (a window)"},
        group=_TRACE,
        needs=_NO_TILING,
    )
    iterations: int = parameter(
        5,
        "How often the boundaries shared by neighbours are smoothed, junctions fixed.",
        label="Smoothing steps",
        least=0,
        most=_MOST_STEPS,
        group=_TRACE,
        needs=_TILING,
    )
    min_area: float = parameter(
        16,
        "Objects and holes of fewer pixels are left out and counted.",
        label="Smallest object",
        unit="px²",
        least=0,
        step=1,
        decimals=0,
        group=_TRACE,
    )
    keep_border: bool = parameter(
        False,
        "Keep objects cut by the image border, closed along it; else they are left out and counted, as their outlines "
        "are incomplete.",
        label="Keep border objects",
        group=_TRACE,
    )
    holes: bool = parameter(False, "Holes become curves of their own.", label="Trace holes", group=_TRACE)
    min_vertices: int = parameter(
        3,
        "Outlines of fewer vertices are left out and counted; marching squares set about 1.3 per pixel of length.",
        label="Fewest vertices",
        least=0,
        group=_TRACE,
        needs=_NO_TILING,
    )
    min_length: float = parameter(
        0.0,
        "Shorter outlines are left out and counted (the paper's batteries: 20).",
        label="Shortest outline",
        unit="px",
        least=0,
        step=1,
        decimals=1,
        group=_TRACE,
        needs=_NO_TILING,
    )
    pixel_size: float | tuple[float, float] | None = parameter(
        None,
        "Side, or height and width, of a pixel in `unit`; overrides the image's metadata.",
        above=0,
        group=_PIXEL,
    )
    unit: str | None = parameter(
        None, "Unit of the pixel size and of the outlines, such as µm or nm; given with it.", group=_PIXEL
    )

    def __post_init__(self) -> None:
        if isinstance(self.split_touching, bool | np.bool_):
            object.__setattr__(self, "split_touching", "distance" if self.split_touching else "none")
        parameters.check(self)
        if self.object_classes >= self.classes:
            raise ValueError(f"object_classes is 1 to {self.classes - 1} of {self.classes} classes")
        if self.method == "manual" and self.threshold is None:
            raise ValueError('method "manual" needs a threshold, in the values of the image')
        if self.method == "level" and (self.threshold is None) == (self.quantile is None):
            raise ValueError('method "level" needs either a threshold, in the values of the field, or a quantile')
        if (self.pixel_size is None) != (self.unit is None):
            raise ValueError("pixel_size and unit go together: give both, or neither")
        if self.unit is not None:
            length_unit(self.unit)

    @property
    def is_tiling(self) -> bool:
        """Whether the labels partition the plane between neighbours, with shared boundaries."""
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

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from the defaults, for a readable record."""
        return parameters.changed(self)
