"""Points and paths in a comparison's shape space: free coordinates, and geodesics between two curves."""

from dataclasses import dataclass

import numpy as np

from .._types import Real
from ..comparison import Comparison
from ..comparison.settings import landmarks_of
from ..comparison.typical import replicate_weights
from ..outlines import Ensemble
from ..shapes import decompose, product, register, spd
from ..words import shortened_apart

#: Interpretable directions in the scale coordinates (a, √2·b, c).
SCALE_AXES = {
    "size": np.array([1.0, 0.0, 1.0]) / np.sqrt(2),
    "stretch": np.array([1.0, 0.0, -1.0]) / np.sqrt(2),
    "diagonal stretch": np.array([0.0, 1.0, 0.0]),
}


@dataclass(frozen=True, eq=False)
class Place:
    """A point of shape space: undulation coordinates t (r,), scale P (2, 2), and its name."""

    t: Real
    scale: Real
    name: str


class ShapePlaces:
    """Named points of a comparison's shape space: its means, its curves, and points set by sliders."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.space = comparison.space
        self._weights = replicate_weights(comparison)
        self.t_spread = comparison.t.std(axis=0)
        self._groups = dict(zip(("A", "B", ""), (*shortened_apart(comparison.names), "all curves"), strict=True))
        self.l_spread = {name: float((comparison.l @ axis).std()) for name, axis in SCALE_AXES.items()}

    def mean(self, side: str) -> Place:
        """Mean coordinates of "A", of "B", or of all curves ("").

        Those of the sides differ as the result says: images have equal weights if they were permuted.
        """
        first = len(self.comparison.a)
        rows = {"A": slice(None, first), "B": slice(first, None), "": slice(None)}[side]
        weights = self._weights[rows] if side else None
        t, l = (np.average(points[rows], axis=0, weights=weights) for points in (self.comparison.t, self.comparison.l))
        return Place(t, self._scale(l), f"mean of {self._groups[side]}")

    def _scale(self, l: Real) -> Real:
        return spd.from_coordinates(self.space.scale_mean_, l[None])[0]

    def curve(self, row: int) -> tuple[Place, Real]:
        """One of the pooled curves, and its traced outline (n, 2) in the same pose.

        Undulations and scales may have been registered separately. To draw them together, the scale is expressed in the
        frame of the curve's own undulation.
        """
        side, ensemble, index = self.origin(row)
        settings = self.comparison.settings
        only = ensemble[[index]]
        t = self.comparison.t[row]
        standardized, extents = decompose(landmarks_of(only, settings))
        match = register(standardized, self.undulation(t), reflections=settings.reflections)
        own = match.rotation @ extents @ match.rotation.swapaxes(1, 2)
        undulation, scale = product.align(self.space.undulation_mean_, (match.landmarks, own))
        return Place(t, scale[0], f"{self._groups[side]} · {ensemble.ids[index]}"), product.compose(
            (undulation, scale)
        )[0]

    def undulation(self, t: Real) -> Real:
        """Representative (n, 2) of undulation coordinates (r',), aligned with the mean."""
        return self.space.undulations(t[None])[0]

    def origin(self, row: int) -> tuple[str, Ensemble, int]:
        """Side, ensemble compared and index in it of one of the pooled curves."""
        first = len(self.comparison.a)
        a, b = self.comparison.compared
        return ("A", a, row) if row < first else ("B", b, row - first)

    def curve_names(self) -> list[str]:
        """Names of the pooled curves: group and id."""
        sides = (("A", self.comparison.a), ("B", self.comparison.b))
        return [f"{self._groups[side]} · {name}" for side, ensemble in sides for name in ensemble.ids]

    def moved(self, modes: dict[int, float], scales: dict[str, float]) -> Place:
        """The overall mean, shifted by standard deviations along modes (from 0) and `SCALE_AXES`."""
        mean = self.mean("")
        t, l = mean.t.copy(), self.comparison.l.mean(axis=0)
        for mode, deviations in modes.items():
            t[mode] += deviations * self.t_spread[mode]
        for name, deviations in scales.items():
            l += deviations * self.l_spread[name] * SCALE_AXES[name]
        words = [f"mode {mode + 1} {sd:+.1f} sd" for mode, sd in modes.items() if sd]
        words += [f"{name} {sd:+.1f} sd" for name, sd in scales.items() if sd]
        return Place(t, self._scale(l), ", ".join(words) or mean.name)

    def draw(self, place: Place, rank: int | None = None) -> Real:
        """Outline (n, 2) of a place, from its first `rank` undulation coordinates."""
        return product.compose((self.undulation(place.t[:rank]), place.scale))

    def reach(self) -> float:
        """Radius around the center that holds nearly all curves."""
        mean = self.draw(self.mean(""))
        largest = np.exp(np.quantile(self.comparison.l @ SCALE_AXES["size"], 0.9) / np.sqrt(2))
        return float(np.linalg.norm(mean, axis=1).max() * max(largest, 1) * 1.35)


class Geodesic:
    """Shortest geodesic between two places, precomputed for evaluation at any time between 0 and 1.

    The end is aligned with the start, as in `shapes.product.geodesic`.
    """

    def __init__(self, places: ShapePlaces, start: Place, end: Place) -> None:
        self.start, self.end = start, end
        self._from, to = ((places.undulation(place.t), place.scale) for place in (start, end))
        faced = product.align(self._from[0], (to[0][None], to[1][None]))
        self._undulation, self._scale = product.log(self._from, faced)

    def at(self, time: float) -> Real:
        """Outline (n, 2) at a time from 0 to 1."""
        point = product.exp(self._from, (time * self._undulation, time * self._scale))
        return product.compose(point)[0]


def lipschitz(curve: Real, finer: int = 8) -> float:
    """Lipschitz constant of a closed curve (n, 2) over its mean speed, dimensionless: 1 for a circle.

    The maximum speed of the Fourier series through the landmarks on a grid `finer` times as dense: fast enough for
    interactive use, while `shapes.expansion.TrigonometricExpansion.lipschitz` is exact but slow.
    """
    n = len(curve)
    spectrum = np.fft.fft(curve[:, 0] + 1j * curve[:, 1])
    modes = np.fft.fftfreq(n, 1 / n)
    if n % 2 == 0:
        spectrum[n // 2] = 0
    padded = np.zeros(finer * n, dtype=np.complex128)
    padded[np.rint(modes).astype(int)] = 1j * modes * spectrum
    speed = np.abs(np.fft.ifft(padded))
    return float(speed.max() / speed.mean())
