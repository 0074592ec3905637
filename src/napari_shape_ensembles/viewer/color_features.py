"""The features that curves can be colored by: of each its label, values, unit and color scale."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from napari.utils import Colormap
from napari.utils.colormaps import ensure_colormap
from numpy.typing import NDArray

from ..comparison import Comparison
from ..explanation import witnesses
from ..palette import COLOR_A, COLOR_B, NEUTRAL
from .preferences import preferred

if TYPE_CHECKING:
    import pandas as pd

Real = NDArray[np.float64]

COLORMAP = "viridis"


@dataclass(frozen=True)
class ColorFeature:
    """A feature that curves can be colored by."""

    label: str
    #: Of a Comparison, or of what else a layer shows: one number per pooled curve, A's first; NaN leaves it unfilled.
    values: Callable[[Any], Real]
    unit: Callable[[Comparison], str] = lambda result: ""  #: empty for plain numbers
    from_zero: bool = True  #: the scale starts at 0
    #: For two categories, what 0 and 1 stand for; for a diverging scale, what its two sides mean.
    ends: tuple[str, str] | None = None
    diverging: bool = False  #: the scale reaches as far to both sides of 0, which has a neutral color
    slow: bool = False  #: not to be computed by the window's own thread where there are thousands of curves

    def title(self, result: Comparison) -> str:
        """The label with the unit."""
        unit = self.unit(result)
        return f"{self.label} ({unit})" if unit else self.label

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, not categories."""
        return self.ends is None or self.diverging

    @property
    def colormap(self) -> Colormap:
        """From small to large values."""
        if self.ends is None:
            return ensure_colormap(preferred("colormap", COLORMAP))
        if self.diverging:
            return Colormap([COLOR_B, NEUTRAL, COLOR_A], name="B to A")
        return Colormap([COLOR_A, COLOR_B], name="A, B", interpolation="zero")

    def limits(self, values: Real, percentile: float) -> tuple[float, float]:
        """Limits of the color scale: beyond the percentile, curves share the last color."""
        finite = values[np.isfinite(values)]
        if not self.numeric or not len(finite):
            return 0.0, 1.0
        if self.diverging:
            far = float(np.percentile(np.abs(finite), percentile)) or 1.0
            return -far, far
        low = min(0.0, float(finite.min())) if self.from_zero else float(np.percentile(finite, 100 - percentile))
        high = float(np.percentile(finite, percentile))
        return low, high if high > low else low + 1.0


def _distance(name: str) -> Callable[[Comparison], Real]:
    return lambda result: result.distances[name].to_numpy(np.float64)


def _measure(name: str) -> Callable[[Comparison], Real]:
    return lambda result: np.concatenate([side.features[name] for side in (result.a, result.b)]).astype(np.float64)


def witness_values(result: Comparison) -> "pd.DataFrame":
    """Witness values of all curves, remembered as long as the result lives; NaN where a side has a single curve."""
    if result not in _witness_values:
        few = min(len(result.a), len(result.b)) < 2
        _witness_values[result] = result.distances[["undulation", "scale"]] * np.nan if few else witnesses(result)
    return _witness_values[result]


def _witness(name: str) -> Callable[[Comparison], Real]:
    return lambda result: witness_values(result)[name].to_numpy(np.float64)


_witness_values: "weakref.WeakKeyDictionary[Comparison, pd.DataFrame]" = weakref.WeakKeyDictionary()
_SIDES = ("typical of B", "typical of A")

#: Feature column -> how to color by it.
COLOR_FEATURES: dict[str, ColorFeature] = {
    "product": ColorFeature("distance from the mean shape", _distance("product")),
    "undulation": ColorFeature("undulation distance from the mean", _distance("undulation")),
    "scale": ColorFeature("scale distance from the mean", _distance("scale")),
    "area": ColorFeature("area", _measure("area"), lambda result: f"{result.a.unit}²"),
    "perimeter": ColorFeature("perimeter", _measure("perimeter"), lambda result: result.a.unit),
    "equivalent_diameter": ColorFeature(
        "equivalent diameter", _measure("equivalent_diameter"), lambda result: result.a.unit
    ),
    "circularity": ColorFeature("circularity", _measure("circularity"), from_zero=False),
    "witness_undulation": ColorFeature(
        "typical of A or B, by undulation", _witness("undulation"), ends=_SIDES, diverging=True, slow=True
    ),
    "witness_scale": ColorFeature(
        "typical of A or B, by scale", _witness("scale"), ends=_SIDES, diverging=True, slow=True
    ),
    "image": ColorFeature(
        "image, A or B", lambda result: np.repeat([0.0, 1.0], [len(result.a), len(result.b)]), ends=("A", "B")
    ),
}
