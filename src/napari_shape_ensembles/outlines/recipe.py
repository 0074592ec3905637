"""What a segmentation is made of: one frozen set of choices, checked when it is made."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

Objects = Literal["bright", "dark"]
Method = Literal[
    "otsu",
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

#: Methods that divide the whole plane between neighbours, without background.
TILINGS: tuple[Method, ...] = ("boundaries", "superpixels")

# What scales with the size of a pixel, and with which power.
_LENGTHS = ("smoothing", "background", "window", "opening", "closing")
_AREAS = ("min_size",)
_NOT_NEGATIVE = ("background", "opening", "closing", "min_size")
_FINITE = ("threshold", "low", "offset", "classes", "superpixels")
_WHOLE = ("classes", "object_classes", "superpixels")
# Pixels: longer than anything in an image, and short enough for the memory that a filter of this width takes.
_LONGEST = 5_000
_SHARES = ("neck", "merge", "quantile")


@dataclass(frozen=True)
class Segmentation:
    """How objects are found in an image. Lengths and areas are in pixels.

    Attributes
    ----------
    method : str
        "otsu", "li", "triangle": one threshold for the image, found from its grey levels. "manual": `threshold`.
        "local": brighter than the mean of a `window` around, by `offset`. "multi-otsu": the `object_classes`
        brightest of `classes`. "hysteresis": above `low`, and connected to something above `threshold`. "level":
        the level set of a field at `threshold`, or at `quantile`. "boundaries": cells between dark lines, neighbours
        flush. "superpixels": SLIC regions, merged where their colours are alike.
    objects : {"bright", "dark"}
        Which side of a threshold is objects; for "boundaries", bright cells have dark lines.
    channel : "luminance" or int
        Of an RGB image: its luminance, or the channel of that index.
    smoothing : float
        Standard deviation of a Gaussian filter applied first; 0 for none.
    background : float
        Uneven illumination is taken off by an opening with a window of this half width, larger than the objects are
        wide; 0 for none. Thresholds then count from the background.
    threshold, low : float, optional
        In the image's own values; the two of "hysteresis" in either order, by three-class Otsu where left out.
    quantile : float, optional
        For "level": the share of pixels below the level.
    window : float
        For "local" and "boundaries": full width of the neighbourhood.
    offset : float
        For "local" and "boundaries": how far beyond the local mean, as a share of the image's range.
    classes, object_classes : int
        For "multi-otsu".
    superpixels : int
        For "superpixels": about how many regions before merging.
    compactness : float
        Of superpixels: larger is squarer, smaller follows the grey levels.
    merge : float
        Neighbouring superpixels closer in colour than this share of the range become one.
    all_regions : bool
        Keep every merged superpixel; else those on the objects' side of Otsu's threshold of their means.
    opening, closing : float
        Radius of a disc that takes off what is thinner, or closes gaps that are narrower; 0 for none.
    fill_holes : bool
        Fill holes inside objects.
    min_size : int
        Components of fewer pixels are taken for noise before objects are split and numbered; 0 for none.
    split_touching : {"distance", "intensity", "none"} or bool
        Cut touching objects where the distance to their edge, or the grey level, passes a saddle. True is "distance".
    neck : float
        How low the saddle must be, as a share of the lower of the two peaks; smaller cuts less.

    Raises
    ------
    ValueError
        For a value out of range, naming it.

    Examples
    --------
    >>> from napari_shape_ensembles import Segmentation
    >>> Segmentation(method="local", window=31).changed()
    {'method': 'local', 'window': 31}
    """

    method: Method = "otsu"
    objects: Objects = "bright"
    channel: Literal["luminance"] | int = "luminance"
    smoothing: float = 1.0
    background: float = 0.0
    threshold: float | None = None
    low: float | None = None
    quantile: float | None = None
    window: float = 51.0
    offset: float = 0.05
    classes: int = 3
    object_classes: int = 1
    superpixels: int = 500
    compactness: float = 0.05
    merge: float = 0.1
    all_regions: bool = False
    opening: float = 0.0
    closing: float = 0.0
    fill_holes: bool = True
    min_size: int = 0
    split_touching: Split | bool = "distance"
    neck: float = 0.85

    def __post_init__(self) -> None:
        if isinstance(self.split_touching, bool | np.bool_):
            object.__setattr__(self, "split_touching", "distance" if self.split_touching else "none")
        self._check_choices()
        self._check_numbers()
        self._check_needs()

    def _check_choices(self) -> None:
        for name, allowed in (("method", Method), ("objects", Objects), ("split_touching", Split)):
            if getattr(self, name) not in get_args(allowed):
                raise ValueError(f"{name} is one of {', '.join(get_args(allowed))}, not {getattr(self, name)!r}")
        if self.channel != "luminance" and self.channel not in (0, 1, 2):
            raise ValueError(f'channel is "luminance", 0, 1 or 2, not {self.channel!r}')

    def _check_numbers(self) -> None:
        if not 0 <= self.smoothing < np.inf:
            raise ValueError(f"smoothing is a standard deviation in pixels, 0 or more, not {self.smoothing!r}")
        for name in _NOT_NEGATIVE:
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} is a number of 0 or more, not {getattr(self, name)!r}")
        for name in _LENGTHS:
            if not getattr(self, name) <= _LONGEST:
                raise ValueError(f"{name} is a length of at most {_LONGEST} pixels, not {getattr(self, name)!r}")
        for name in _FINITE:
            value = getattr(self, name)
            if value is not None and not np.isfinite(value):
                raise ValueError(f"{name} is a finite number, not {value!r}")
        for name in _WHOLE:
            if not isinstance(getattr(self, name), int | np.integer):
                raise ValueError(f"{name} is a whole number, not {getattr(self, name)!r}")
        if not 0 < self.compactness < np.inf:
            raise ValueError(f"compactness is a number above 0, not {self.compactness!r}")
        for name in _SHARES:
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} is a share between 0 and 1, not {value!r}")
        if not self.window >= 3:
            raise ValueError(f"window is a width of at least 3 pixels, not {self.window!r}")
        if not 2 <= self.classes <= 5:
            raise ValueError(f"classes is 2 to 5 for multi-Otsu, not {self.classes!r}")
        if not 1 <= self.object_classes < self.classes:
            raise ValueError(f"object_classes is 1 to {self.classes - 1} of {self.classes} classes")
        if not self.superpixels >= 2:
            raise ValueError(f"superpixels is a number of at least 2, not {self.superpixels!r}")

    def _check_needs(self) -> None:
        if self.method == "manual" and self.threshold is None:
            raise ValueError('method "manual" needs a threshold, in the values of the image')
        if self.method == "level" and (self.threshold is None) == (self.quantile is None):
            raise ValueError('method "level" needs either a threshold, in the values of the field, or a quantile')

    def at_resolution(self, factor: float) -> "Segmentation":
        """Return the same choices for an image of `factor` times as many pixels per length."""
        lengths = {name: getattr(self, name) * factor for name in _LENGTHS}
        areas = {name: int(np.ceil(getattr(self, name) * factor**2)) for name in _AREAS}
        return replace(self, **(lengths | areas | {"window": max(3.0, lengths["window"])}))

    def changed(self) -> dict[str, Any]:
        """What differs from the defaults, for a record that can be read."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
