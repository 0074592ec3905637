"""What a reference measures of an image, and how unlike the others it makes each image of a set.

Everything here treats all images of a set alike, a query and those of the reference: that makes them exchangeable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._types import Index, Real
from ..outlines import Ensemble
from ..outlines.offsets import following
from ..progress import one_library_thread, over_blocks
from ..shapes import decompose, to_landmarks
from ..shapes.lobes import BANDS, lobes_held
from .parts import MIN_CONCAVITY_LOBES, form_descriptors
from .quantities import COARSE
from .settings import Settings

#: Quantities of an image, the test that concerns each, and the words for less and more of it.
QUANTITIES = {
    "size": ("scale", "smaller", "larger"),
    "spread of size": ("scale", "less varied in size", "more varied in size"),
    "elongation": ("scale", "less elongated", "more elongated"),
    "coarse form": ("form", "with weaker lobes", "with stronger lobes"),
    "roughness": ("form", "smoother", "rougher"),
    "concavity": ("form", "less concave", "more concave"),
}
# Values further from the mean than this many standard deviations count as this far: a few merged or cut objects would
# hide a difference between all others.
_LIMIT = 3.0
# Logarithms that vary by less (0.1 %) are equal, but for interpolation and rounding.
_MIN_SPREAD = 1e-3
# Share of the correlation between descriptors that is taken for chance; docs/evidence/reference.md compares others.
_SHRINKAGE = 0.8
# Deviations of scores below are zero.
_ROUNDING = 1e-12
# Outlines measured at once.
_BLOCK = 2000


@dataclass(frozen=True, eq=False)
class Measured:
    """Descriptors of the N outlines of one image.

    Attributes
    ----------
    scale : (N, 2) array
        Logarithms of size (geometric mean of the RMS extents) and elongation (their ratio).
    form : (N, k + 2) array
        From `form_descriptors`, for all bands that the landmarks resolve.
    lobes : float
        Largest number of lobes that its pixels resolve; infinite if their size is unknown.
    spacing : float
        Mean distance of neighboring vertices.
    """

    scale: Real
    form: Real
    lobes: float
    spacing: float

    def __len__(self) -> int:
        return len(self.scale)


def measure(images: Sequence[Ensemble], settings: Settings) -> list[Measured]:
    """Measure the outlines of each image; none depends on another."""
    options: dict[str, Any] = {"interpolation": settings.interpolation, "measure": settings.measure}

    @one_library_thread()
    def measured(image: Ensemble) -> Measured:
        if not len(image):
            return Measured(np.empty((0, 2)), np.empty((0, 2)), np.inf, np.nan)
        blocks = [image[start : start + _BLOCK] for start in range(0, len(image), _BLOCK)]
        scale, form = [], []
        for block in blocks if len(blocks) > 1 else [image]:
            undulation, extents = decompose(to_landmarks(block, settings.landmarks, **options))
            short, long = np.linalg.eigvalsh(extents).T
            scale.append(np.stack([np.log(short * long) / 2, np.log(long / short)], axis=1))
            form.append(form_descriptors(undulation, 0))
        edges = np.linalg.norm(image.vertices[following(image.offsets)] - image.vertices, axis=1)
        around = np.add.reduceat(edges, image.offsets[:-1])
        pixels = None if image.pixel_size is None else around / np.mean(image.pixel_size)
        return Measured(np.concatenate(scale), np.concatenate(form), lobes_held(pixels), float(edges.mean()))

    return over_blocks(measured, images)


def drawn(image: Measured, count: int, seed: Sequence[int]) -> Measured:
    """Draw `count` of its outlines, without replacement."""
    rows = np.random.default_rng(seed).permutation(len(image))[:count]
    return replace(image, scale=image.scale[rows], form=image.form[rows])


def resolved(lobes: float, columns: int) -> Index:
    """Columns of the descriptors of form that pixels resolve which show up to so many lobes."""
    bands = [place for place in range(columns - 2) if BANDS[place][1] <= lobes]
    return np.array([*bands, *([columns - 2, columns - 1] if lobes >= MIN_CONCAVITY_LOBES else [])], dtype=np.intp)


def quantities(scale: Real, form: Real, kept: Index) -> dict[str, Real]:
    """Values of the quantities of `QUANTITIES` from descriptors (…, N, d): means over the N outlines.

    Those that the pixels do not resolve, or a single outline does not have, are NaN.
    """
    bands = [place for place in kept if place < form.shape[-1] - 2]
    power = np.exp(2 * form[..., bands])
    coarse = np.array([BANDS[place][1] <= COARSE for place in bands], dtype=np.bool_)
    missing = np.full(scale.shape[:-1], np.nan)

    def amplitude(which: Any) -> Real:
        return np.asarray(np.log(power[..., which].sum(axis=-1)) / 2) if which.any() else missing

    values = {
        "size": scale[..., 0],
        "elongation": scale[..., 1],
        "coarse form": amplitude(coarse),
        "roughness": amplitude(~coarse),
        "concavity": form[..., -2] if len(kept) > len(bands) else missing,
    }
    means = {name: np.asarray(value.mean(axis=-1)) for name, value in values.items()}
    spread = scale[..., 0].std(axis=-1)
    means["spread of size"] = np.log(np.where(spread > _MIN_SPREAD, spread, np.nan))
    return {name: means[name] for name in QUANTITIES}


class Unlikeness(NamedTuple):
    """How unlike the others each of U images is, by d descriptors of their outlines.

    Attributes
    ----------
    scores : (U,) array
    weights : (U, 2 d) array
        The score of an image is the mean, over its outlines, of (`terms` - middle) · weights.
    middle : (2 d,) array
        Mean terms of all images.
    centre, spread : (d,) arrays
        By which descriptors are standardized.
    """

    scores: Real
    weights: Real
    middle: Real
    centre: Real
    spread: Real

    def terms(self, outlines: Real) -> Real:
        """Standardized descriptors (…, d), limited to 3 standard deviations, and their absolute values: (…, 2 d)."""
        return _terms(outlines, self.centre, self.spread)


def unlikeness(points: Real) -> Unlikeness:
    """Score images by their means of `Unlikeness.terms`.

    Parameters
    ----------
    points : (U, m, d) array
        Descriptors of m outlines of each of U images.

    Returns
    -------
    Unlikeness
        Exchangeable images have exchangeable scores, whatever their distribution, as every step treats all images
        alike. The score is a squared Mahalanobis distance from the mean of all images, with a correlation between
        descriptors that is shrunk towards none.
    """
    pooled = points.reshape(-1, points.shape[-1])
    centre, spread = pooled.mean(axis=0), pooled.std(axis=0)
    spread = np.where(spread > _MIN_SPREAD, spread, np.inf)
    means = _terms(points, centre, spread).mean(axis=1)
    middle, deviation = means.mean(axis=0), means.std(axis=0)
    deviation = np.where(deviation > _ROUNDING, deviation, np.inf)
    apart = (means - middle) / deviation
    correlation = (1 - _SHRINKAGE) * apart.T @ apart / len(apart) + _SHRINKAGE * np.eye(apart.shape[1])
    pull = np.linalg.solve(correlation, apart.T).T
    return Unlikeness(np.einsum("ud,ud->u", apart, pull), pull / deviation, middle, centre, spread)


def _terms(outlines: Real, centre: Real, spread: Real) -> Real:
    apart = np.clip((outlines - centre) / spread, -_LIMIT, _LIMIT)
    return np.concatenate([apart, np.abs(apart)], axis=-1)


def joint(scores: Mapping[str, Real]) -> Real:
    """One score of the tests together, (U,): the largest of their scores, brought to one distribution.

    Cube roots of sums of squares are nearly Gaussian, whatever the number of terms; they are standardized over the
    images. An image that stands out in the joint score stands out at least as much in one of the tests.
    """
    roots = [np.cbrt(score) for score in scores.values()]
    return np.max([(root - root.mean()) / max(float(root.std()), _ROUNDING) for root in roots], axis=0)
