"""One plane of numbers out of whatever an image is, smoothed and freed of uneven illumination."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .recipe import Recipe
from .strips import by_strips, gaussian_reach

Real = NDArray[np.float64]

# What red, green and blue contribute to brightness (Rec. 709, as scikit-image has it).
_WEIGHTS = np.array([0.2125, 0.7154, 0.0721])


def plane_of(image: NDArray[Any], channel: str | int = "luminance") -> NDArray[Any]:
    """Reduce an image to one checked plane: colours to luminance or to one channel.

    Raises
    ------
    ValueError
        For an empty image, a stack, NaNs, or values that are no real numbers.
    """
    if image.size == 0:
        raise ValueError(f"the image is empty (shape {image.shape}): choose another one")
    if is_colour(image):
        image = _luminance(image[..., :3]) if channel == "luminance" else image[..., int(channel)]
    if image.ndim != 2:
        raise ValueError(f"the image has shape {image.shape}: give one plane (rows, columns), not a stack")
    if np.iscomplexobj(image) or not (np.issubdtype(image.dtype, np.number) or image.dtype == bool):
        raise ValueError(f"the image holds {image.dtype} values: give real numbers")
    bad = image.size - np.count_nonzero(np.isfinite(image))
    if bad:
        raise ValueError(f"{bad} of {image.size} pixels are NaN or infinite: fill them in or crop the image")
    return image


def _luminance(colours: NDArray[Any]) -> NDArray[Any]:
    """Brightness in the image's own values, whatever their range; what is no number stays to be refused."""
    if colours.dtype.kind not in "biuf":
        return colours[..., 0]
    return colours.astype(np.float64) @ _WEIGHTS


def is_colour(image: NDArray[Any]) -> bool:
    """Whether the last axis of an image holds red, green, blue (and opacity)."""
    return image.ndim == 3 and image.shape[-1] in (3, 4)


@dataclass(frozen=True, eq=False)
class Grey:
    """Values with the objects upwards, in a range of about 1, and what the image's own values are among them.

    Attributes
    ----------
    values : (rows, columns) array
    zero, unit : float
        The image's value v is at (v - zero) / unit.
    """

    values: Real
    zero: float
    unit: float

    def level(self, value: float) -> float:
        """Where one of the image's own values lies among `values`."""
        return (value - self.zero) / self.unit


def oriented(plane: NDArray[Any], settings: Recipe) -> Grey:
    """Smoothed values, objects upwards and the background taken off.

    Raises
    ------
    ValueError
        For a plane of one value.
    """
    grey = plane.astype(np.float64)
    lowest, highest = float(grey.min()), float(grey.max())
    span = highest - lowest
    if span == 0:
        raise ValueError(f"every pixel is {lowest:g}: there is nothing to tell objects from background")
    if span == np.inf:
        raise ValueError(f"the pixels lie between {lowest:g} and {highest:g}, too far apart: scale the image down")
    sign = 1.0 if settings.objects == "bright" else -1.0
    upwards = np.subtract(grey, lowest, out=grey)
    upwards /= sign * span
    smooth = _smoothed(upwards, settings.smoothing) if settings.smoothing else upwards
    if settings.background:
        return Grey(smooth - background(smooth, settings.background), 0.0, sign * span)
    return Grey(smooth, lowest, sign * span)


def _smoothed(values: Real, sigma: float) -> Real:
    return by_strips(lambda strip: ndimage.gaussian_filter(strip, sigma), values, gaussian_reach(sigma))


def background(values: Real, half_width: float) -> Real:
    """Opening by a square window, smoothed: what is left when everything narrower than the window is taken off."""
    width = 2 * int(np.ceil(half_width)) + 1
    lowest = ndimage.minimum_filter(values, width, mode="nearest")
    floor = ndimage.maximum_filter(lowest, width, mode="nearest")
    smooth: Real = ndimage.uniform_filter(floor, width, mode="nearest")
    return smooth
