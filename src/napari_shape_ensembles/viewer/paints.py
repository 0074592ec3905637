"""What curves can be filled by: for each column its words, its values, its unit and its colours."""

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
from .preferences import preferred

if TYPE_CHECKING:
    import pandas as pd

Real = NDArray[np.float64]

COLORMAP = "viridis"
# Blue and orange are told apart by all kinds of colour vision, and by lightness too.
BLUE, ORANGE = (0.0, 0.45, 0.70, 1.0), (0.90, 0.62, 0.0, 1.0)
PALE = (0.94, 0.94, 0.94, 1.0)


@dataclass(frozen=True)
class Paint:
    """A column that curves can be filled by.

    Attributes
    ----------
    words : str
        For people.
    values : function of a Comparison, or of what else a layer shows
        One number per pooled curve, A's first; NaN leaves a curve unfilled.
    unit : function of a Comparison
        Unit of the values; empty for plain numbers.
    from_zero : bool
        The scale starts at 0.
    ends : (str, str) or None
        For two kinds: what 0 and 1 stand for. For a scale with a middle: what its two sides mean.
    centred : bool
        The scale reaches as far to both sides of 0, which has a pale colour.
    slow : bool
        Not to be computed by the window's own thread where there are thousands of curves.
    """

    words: str
    values: Callable[[Any], Real]
    unit: Callable[[Comparison], str] = lambda result: ""
    from_zero: bool = True
    ends: tuple[str, str] | None = None
    centred: bool = False
    slow: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, not kinds."""
        return self.ends is None or self.centred

    @property
    def colormap(self) -> Colormap:
        """From small to large values."""
        if self.ends is None:
            return ensure_colormap(preferred("colormap", COLORMAP))
        if self.centred:
            return Colormap([ORANGE, PALE, BLUE], name="B to A")
        return Colormap([BLUE, ORANGE], name="A, B", interpolation="zero")

    def limits(self, values: Real, percentile: float) -> tuple[float, float]:
        """Ends of the colour scale: beyond the percentile, curves share the last colour."""
        finite = values[np.isfinite(values)]
        if not self.numeric or not len(finite):
            return 0.0, 1.0
        if self.centred:
            far = float(np.percentile(np.abs(finite), percentile)) or 1.0
            return -far, far
        low = min(0.0, float(finite.min())) if self.from_zero else float(np.percentile(finite, 100 - percentile))
        high = float(np.percentile(finite, percentile))
        return low, high if high > low else low + 1.0


def _distance(name: str) -> Callable[[Comparison], Real]:
    return lambda result: result.distances[name].to_numpy(np.float64)


def _measure(name: str) -> Callable[[Comparison], Real]:
    return lambda result: np.concatenate([side.features[name] for side in (result.a, result.b)]).astype(np.float64)


def _source(result: Comparison) -> Real:
    return np.repeat([0.0, 1.0], [len(result.a), len(result.b)])


def typical(result: Comparison) -> "pd.DataFrame":
    """Witness values of all curves, remembered as long as the result lives; NaN where a side has a single curve."""
    if result not in _typical:
        few = min(len(result.a), len(result.b)) < 2
        _typical[result] = result.distances[["undulation", "scale"]] * np.nan if few else witnesses(result)
    return _typical[result]


def _witness(name: str) -> Callable[[Comparison], Real]:
    return lambda result: typical(result)[name].to_numpy(np.float64)


_typical: "weakref.WeakKeyDictionary[Comparison, pd.DataFrame]" = weakref.WeakKeyDictionary()
_SIDES = ("typical of B", "typical of A")

#: Feature column -> how to paint by it.
PAINTS: dict[str, Paint] = {
    "product": Paint("distance from the mean shape", _distance("product")),
    "undulation": Paint("undulation distance from the mean", _distance("undulation")),
    "scale": Paint("scale distance from the mean", _distance("scale")),
    "area": Paint("area", _measure("area"), lambda result: f"{result.a.unit}²"),
    "perimeter": Paint("perimeter", _measure("perimeter"), lambda result: result.a.unit),
    "equivalent_diameter": Paint("equivalent diameter", _measure("equivalent_diameter"), lambda result: result.a.unit),
    "circularity": Paint("circularity", _measure("circularity"), from_zero=False),
    "witness_undulation": Paint(
        "typical of A or B, by undulation", _witness("undulation"), ends=_SIDES, centred=True, slow=True
    ),
    "witness_scale": Paint("typical of A or B, by scale", _witness("scale"), ends=_SIDES, centred=True, slow=True),
    "image": Paint("image, A or B", _source, ends=("A", "B")),
}
