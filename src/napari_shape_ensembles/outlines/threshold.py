"""Masks of objects by thresholds, all with the objects upwards."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage import filters

from .plane import Grey
from .recipe import Method, Recipe

Real = NDArray[np.float64]
Mask = NDArray[np.bool_]


def mask_of(grey: Grey, settings: Recipe) -> Mask:
    """Objects by the method of the settings."""
    return _METHODS[settings.method](grey, settings)


def _above(find: Callable[[Real], float]) -> Callable[[Grey, Recipe], Mask]:
    """A method that takes what lies above one threshold found from the values."""
    return lambda grey, _: grey.values > find(grey.values)


def _manual(grey: Grey, settings: Recipe) -> Mask:
    assert settings.threshold is not None
    return grey.values > grey.level(settings.threshold)


def _local(grey: Grey, settings: Recipe) -> Mask:
    return local(grey.values, settings)


def local(values: Real, settings: Recipe) -> Mask:
    """Above the mean of the window around each pixel, by a share of the range."""
    width = 2 * int(settings.window / 2) + 1
    return values > ndimage.uniform_filter(values, width, mode="nearest") + settings.offset * np.ptp(values)


def _multi_otsu(grey: Grey, settings: Recipe) -> Mask:
    return grey.values > _otsu_levels(grey.values, settings.classes)[-settings.object_classes]


def _otsu_levels(values: Real, classes: int) -> Real:
    try:
        return filters.threshold_multiotsu(values, classes)
    except ValueError as error:
        raise ValueError(
            f"the image has too few grey levels for {classes} classes: choose fewer, or another method"
        ) from error


def _hysteresis(grey: Grey, settings: Recipe) -> Mask:
    given = [None if level is None else grey.level(level) for level in (settings.low, settings.threshold)]
    found = _otsu_levels(grey.values, 3) if None in given else (0.0, 0.0)
    low, high = sorted(found[i] if level is None else level for i, level in enumerate(given))
    return filters.apply_hysteresis_threshold(grey.values, low, high)


def _level(grey: Grey, settings: Recipe) -> Mask:
    if settings.quantile is None:
        return _manual(grey, settings)
    share = settings.quantile if settings.objects == "bright" else 1 - settings.quantile
    return grey.values > np.quantile(grey.values, share)


_METHODS: dict[Method, Callable[[Grey, Recipe], Mask]] = {
    "otsu": _above(filters.threshold_otsu),
    "li": _above(filters.threshold_li),
    "triangle": _above(filters.threshold_triangle),
    "manual": _manual,
    "local": _local,
    "multi-otsu": _multi_otsu,
    "hysteresis": _hysteresis,
    "level": _level,
}
