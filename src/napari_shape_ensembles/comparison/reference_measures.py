"""What a reference measures of an image, and how unlike the others it makes each image of a set.

Everything here treats all images of a set alike, a query and those of the reference: that makes them exchangeable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._types import Index, Real
from ..outlines import Ensemble
from ..outlines.polygons import areas_and_perimeters
from ..outlines.precision import precision_of
from ..progress import one_library_thread, over_blocks
from ..shapes import decompose
from ..shapes.lobes import BANDS, lobes_held
from .parts import MIN_CONCAVITY_LOBES, form_descriptors
from .quantities import COARSE
from .settings import Settings, landmarks_of

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
# Share of the correlation between means of images that is taken for chance; and share of the variances between images,
# relative to those within, that is taken as common to all terms: the variance of a few images is often estimated as 0
# by chance, and then images of many outlines would seem unlike.
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
    """

    scale: Real
    form: Real
    lobes: float

    def __len__(self) -> int:
        return len(self.scale)


def measure(images: Sequence[Ensemble], settings: Settings) -> list[Measured]:
    """Measure the outlines of each image; none depends on another."""

    @one_library_thread()
    def measured(image: Ensemble) -> Measured:
        if not len(image):
            return Measured(np.empty((0, 2)), np.empty((0, 2)), np.inf)
        blocks = [image[start : start + _BLOCK] for start in range(0, len(image), _BLOCK)]
        scale, form = [], []
        for block in blocks if len(blocks) > 1 else [image]:
            undulation, extents = decompose(landmarks_of(block, settings))
            short, long = np.linalg.eigvalsh(extents).T
            scale.append(np.stack([np.log(short * long) / 2, np.log(long / short)], axis=1))
            form.append(form_descriptors(undulation, 0))
        pixel = precision_of(image).pixel.mean(axis=1)
        _, around = areas_and_perimeters(image.vertices, image.offsets)
        held = lobes_held(around[pixel > 0] / pixel[pixel > 0])
        return Measured(np.concatenate(scale), np.concatenate(form), held)

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
    weights : (U, d + e) array
        The score of an image is the mean, over its outlines, of (`terms` - middle) · weights.
    middle : (d + e,) array
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
        """Standardized descriptors (…, d), limited to 3 standard deviations, and absolute values of the first e."""
        return _terms(outlines, self.centre, self.spread, len(self.middle) - outlines.shape[-1])


def unlikeness(outlines: Real, numbers: Index, absolute: int | None = None) -> Unlikeness:
    """Score images by their means of `Unlikeness.terms`.

    Parameters
    ----------
    outlines : (N, d) array
        Descriptors of the outlines of all images, one image after the other.
    numbers : (U,) array
        Number of outlines of each image, summing to N.
    absolute : int, optional
        Number e of descriptors, the first ones, whose spread within images counts too; by default of all.

    Returns
    -------
    Unlikeness
        The score is a squared Mahalanobis distance from the mean of all images. The covariance of a mean of n outlines
        is that between images, and 1 / n of that within images. Within images, the many outlines show it well: its
        correlation is shrunk towards none the less there are; between images, the correlation of the means is shrunk
        by a fixed share, and the variances, those of the method of moments, by the same towards a common ratio to those
        within images. Exchangeable images of equal numbers have exchangeable scores, whatever their distribution, as
        every step treats all images alike; those of unequal numbers nearly so.
    """
    units, firsts = len(numbers), np.cumsum(numbers) - numbers
    share = np.repeat(1 / (units * numbers), numbers)
    centre = share @ outlines
    spread = np.sqrt(share @ (outlines - centre) ** 2)
    spread = np.where(spread > _MIN_SPREAD, spread, np.inf)
    terms = _terms(outlines, centre, spread, outlines.shape[1] if absolute is None else absolute)
    count, free = numbers[:, None], len(outlines) - units
    means = np.add.reduceat(terms, firsts) / count
    products = terms.T @ terms - (count * means).T @ means
    varying = int((terms.var(axis=0) > _ROUNDING).sum())
    alone = np.maximum(np.diag(products), 0) / max(free, 1)
    within = (free * products / max(free, 1) + varying * np.diag(alone)) / max(free + varying, 1)
    between = means.var(axis=0, ddof=1) - alone * np.mean(1 / numbers)
    if (varied := alone > _ROUNDING).any():
        common = max(float((between[varied] / alone[varied]).mean()), 0) * alone
        between = np.where(varied, (1 - _SHRINKAGE) * between + _SHRINKAGE * common, between)
    between = np.maximum(between, 0)
    variance = np.maximum(between + alone / count, _ROUNDING**2)
    weight = 1 / variance
    middle = (means * weight).sum(axis=0) / weight.sum(axis=0)
    deviation = np.sqrt(variance - 1 / weight.sum(axis=0))  # of the difference from the middle
    deviation = np.where(deviation > _ROUNDING, deviation, np.inf)
    apart = (means - middle) / deviation
    of_means = (1 - _SHRINKAGE) * _correlation(np.cov(means.T)) + _SHRINKAGE * np.eye(means.shape[1])
    covariance = of_means * np.sqrt(np.outer(between, between)) + within / count[:, :, None]
    pull = np.linalg.solve(_correlation(covariance), apart[..., None])[..., 0]
    return Unlikeness(np.einsum("ud,ud->u", apart, pull), pull / deviation, middle, centre, spread)


def by_test(images: Sequence[Measured], kept: Index) -> dict[str, Unlikeness]:
    """Score images by the descriptors that each test concerns, those of form that `resolved` gives."""
    numbers = np.array([len(one) for one in images])
    outlines = {
        "form": np.concatenate([one.form[:, kept] for one in images]),
        "scale": np.concatenate([one.scale for one in images]),
    }
    # The spread of elongations is not one of the quantities, and would dilute them.
    return {
        test: unlikeness(some, numbers, 1 if test == "scale" else None) for test, some in outlines.items() if some.size
    }


def _terms(outlines: Real, centre: Real, spread: Real, absolute: int) -> Real:
    apart = np.clip((outlines - centre) / spread, -_LIMIT, _LIMIT)
    return np.concatenate([apart, np.abs(apart[..., :absolute])], axis=-1)


def _correlation(covariance: Real) -> Real:
    """Correlation matrices (…, d, d); constants correlate with nothing."""
    found = np.atleast_2d(covariance).copy()
    deviation = np.sqrt(np.diagonal(found, axis1=-2, axis2=-1))
    deviation = np.where(deviation > _ROUNDING, deviation, np.inf)
    found /= deviation[..., :, None] * deviation[..., None, :]
    places = np.arange(found.shape[-1])
    found[..., places, places] = 1
    return found


def joint(tests: Mapping[str, Unlikeness]) -> Real:
    """One score of the tests together, (U,): the largest of their scores, brought to one distribution.

    Cube roots of sums of squares are nearly Gaussian, whatever the number of terms; they are standardized over the
    images. An image that stands out in the joint score stands out at least as much in one of the tests.
    """
    roots = [np.cbrt(test.scores) for test in tests.values()]
    return np.max([(root - root.mean()) / max(float(root.std()), _ROUNDING) for root in roots], axis=0)
