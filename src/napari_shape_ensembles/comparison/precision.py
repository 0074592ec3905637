"""Outlines of several groups at the precision that all of them have: finer ones as the coarser would have shown them.

What pixels, smoothing or few vertices hide is a share of an outline, so precision is relative to its size. Groups are
matched rank by rank: equal quantiles of their relative precision are brought to the coarsest of these. That keeps what
the better outlines of all groups show, and changes nothing where groups are equally precise.

Form is free of elongation, its errors are not: in the form of an ellipse pixels are narrower along the major axis than
along the minor one. Errors of pixels lengthen an outline where they are large across it, which moves landmarks along
it. Where one group is more elongated than another, outlines are smoothed along their principal axes, so that the
smoothing in the form is alike too.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from .._types import Real
from ..outlines import Ensemble
from ..outlines.acquisition import acquired_at, spacings_of, without_small
from ..outlines.precision import TOLERANCE, Precision, pixels_of, precision_of, principal_axes, was_traced_again
from ..words import counted, listed

# Groups are equally precise if Kolmogorov and Smirnov's test of their relative precisions exceeds this p-value.
_ALIKE = 0.25
# They are equally elongated, and follow pixels alike, above this one: leveling costs fine detail of all outlines.
_ALIKE_ENOUGH = 0.01
# Pixels of unequal sides are simulated by larger ones.
_OBLONG = 2.0
# Smoothing where groups are unequally elongated, relative to that of the coarsest.
_LEVELED = 1.5
# Decimals, relative to the largest, in which equal values agree.
_DIGITS = 9


def at_one_precision(groups: Sequence[Sequence[Ensemble]]) -> tuple[list[list[Ensemble]], list[list[Ensemble]], str]:
    """Bring the images of several groups, in one unit, to one precision.

    Returns
    -------
    given, compared : lists of lists of Ensemble
        The images without outlines that a lower precision cannot show, as they were given and at one precision; the
        same objects where nothing changes.
    note : str
        What was changed or left out; empty if nothing was.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.comparison.precision import at_one_precision
    >>> u = 2 * np.pi * np.arange(40) / 40
    >>> circles = [r * np.stack([np.cos(u), np.sin(u)], axis=1) for r in np.linspace(20, 30, 20)]
    >>> fine, whole = Ensemble(circles, name="fine"), Ensemble(np.round(circles), name="whole")
    >>> given, ((brought,), (same,)), note = at_one_precision([[fine], [whole]])
    >>> given[0][0] is fine, brought is fine, same is whole
    (True, False, True)
    >>> note.partition(":")[0]
    '20 outlines of fine were brought to the coarser precision of the others'
    """
    given, left_out = _of_equal_limits(groups)
    compared = [list(images) for images in given]
    own = [[precision_of(image) for image in images] for images in given]
    elongated = _unequally_elongated(given, own)
    axes = [
        [
            one.size[:, None, None] * (principal_axes(image) if elongated else np.eye(2))
            for image, one in zip(images, known, strict=True)
        ]
        for images, known in zip(given, own, strict=True)
    ]
    known = [_joined(of) for of in own]
    wanted = _matched(known, [np.concatenate(of) for of in axes], elongated=elongated)
    spacings: list[Real] = []
    if any((to.vertices < of.vertices).any() for of, to in zip(known, wanted, strict=True)):
        for images, precisions in zip(given, own, strict=True):
            spacings += itertools.chain(*map(spacings_of, images, precisions))
    finer: list[str] = []
    count = 0
    for images, brought, precisions, target, along in zip(given, compared, own, wanted, axes, strict=True):
        ends = np.cumsum([0, *map(len, images)])
        for place, (image, precision) in enumerate(zip(images, precisions, strict=True)):
            here = target.rows(slice(ends[place], ends[place + 1]))
            new = acquired_at(image, precision, here, along[place], spacings)
            if new is not image:
                old = dict(zip(image.ids.tolist(), image.curves, strict=True))
                pairs = zip(new.ids.tolist(), new.curves, strict=True)
                count += len(image) - sum(np.array_equal(old[name], curve) for name, curve in pairs)
                finer += [name for name in dict.fromkeys(image.images.tolist()) if name]
                brought[place] = new
                if len(new) < len(image):
                    kept = np.flatnonzero(np.isin(image.ids, new.ids))
                    images[place] = image.derived([image.curves[row] for row in kept], kept, dropped=new.dropped)
    if not count:
        return given, compared, left_out
    of = f" of {listed(list(dict.fromkeys(finer)))}" if 0 < len(set(finer)) <= 3 else ""
    words = (
        f"{counted(count, 'outline')}{of} {'was' if count == 1 else 'were'} brought to the coarser precision of the "
        "others: finer detail is not compared"
    )
    return given, compared, "; ".join(filter(None, [words, left_out]))


def _of_equal_limits(groups: Sequence[Sequence[Ensemble]]) -> tuple[list[list[Ensemble]], str]:
    """Leave out of smaller pixels what is too small for the largest ones, where these have sides of known length."""
    images = [image for group in groups for image in group]
    pixels = np.concatenate([np.zeros((0, 2)), *map(pixels_of, images)])
    pixels = pixels[pixels.all(axis=1)]
    limit = pixels.prod(axis=1).max(initial=0) / TOLERANCE**2
    if not len(pixels) or images[0].unit == "pixel" or pixels.prod(axis=1).min() >= limit:
        return [list(group) for group in groups], ""
    largest = pixels.max(axis=0)

    def fitting(image: Ensemble) -> Ensemble:
        area = pixels_of(image).prod(axis=1)
        return without_small(image, largest, (area > 0) & (area < limit))

    kept = [[fitting(image) for image in group] for group in groups]
    lost = sum(len(image) for image in images) - sum(len(image) for group in kept for image in group)
    verb = "was" if lost == 1 else "were"
    return kept, f"{counted(lost, 'outline')} too small for the largest pixels {verb} left out" if lost else ""


def _joined(parts: Sequence[Precision]) -> Precision:
    return Precision(*(np.concatenate(of) for of in zip(*parts, strict=True)))


def _matched(groups: Sequence[Precision], axes: Sequence[Real], *, elongated: bool) -> list[Precision]:
    """Precision to which the outlines of each group are brought; pixels and smoothing along the axes (N, 2, 2)."""
    sizes, along = [of.size for of in groups], [of.along(side) for of, side in zip(groups, axes, strict=True)]

    def coarsest(values: Sequence[Real]) -> list[Real]:
        """Match relative values that are larger for coarser outlines, (N, 2) each."""
        columns = [_to_coarsest([of[:, axis] for of in values], sizes) for axis in (0, 1)]
        return [np.stack(both, axis=1) for both in zip(*columns, strict=True)]

    smoothing = coarsest([of.smoothing for of in along])
    if elongated:
        # Variances of errors of pixels along an outline depend on their area only, in the mean.
        sides = [np.sqrt(of.pixel.prod(axis=1)) for of in along]
        larger = zip(_to_coarsest(sides, sizes), sides, along, strict=True)
        pixel = [
            wanted[:, None] * np.where(side[:, None] > 0, of.pixel / np.where(side > 0, side, 1)[:, None], 1)
            for wanted, side, of in larger
        ]
    else:
        pixel = coarsest([of.pixel for of in along])
        if any(_turned(wanted, of.pixel) for wanted, of in zip(pixel, along, strict=True)):
            # Errors along one side of a pixel are smoothed along the other: all outlines have to be traced again.
            pixel, smoothing = ([_OBLONG * wanted for wanted in values] for values in (pixel, smoothing))
    # What follows the boundary of pixels is not smoothed, and goes around corners in several ways; simulated pixels
    # are smoothed, so that all are alike.
    unequal = elongated or any((wanted > TOLERANCE * of.pixel).any() for wanted, of in zip(pixel, along, strict=True))
    unequal |= any((wanted > TOLERANCE * of.smoothing).any() for wanted, of in zip(smoothing, along, strict=True))
    edges = [of.edge[of.edge > 0] for of in groups if of.edge.any()]
    unequal |= len(edges) > 1 and _differ(edges, _ALIKE_ENOUGH)
    if unequal and any((of.pixel.any(axis=1) & ~of.smoothing.any(axis=1)).any() for of in groups):
        smoothing = [np.maximum(wanted, side) for wanted, side in zip(smoothing, pixel, strict=True)]
    if elongated:
        smoothing = [_LEVELED * wanted for wanted in smoothing]
    relative = coarsest([of.step / of.size[:, None] for of in groups])
    steps = [step * size[:, None] for step, size in zip(relative, sizes, strict=True)]
    fewest = _to_coarsest([1 / of.vertices for of in groups], sizes)
    with np.errstate(divide="ignore"):
        vertices = [1 / of for of in fewest]
    edges = [of.edge for of in groups]
    return [Precision(*of) for of in zip(sizes, pixel, smoothing, steps, vertices, edges, strict=True)]


def _turned(wanted: Real, own: Real) -> bool:
    """Whether some pixels are to become larger in one direction only."""
    known = own.all(axis=1)
    larger = wanted[known] / own[known]
    return bool((larger.max(axis=1, initial=0) > TOLERANCE * larger.min(axis=1, initial=np.inf)).any())


def _unequally_elongated(groups: Sequence[Sequence[Ensemble]], known: Sequence[Sequence[Precision]]) -> bool:
    """Whether outlines that were traced from square pixels are more elongated in some groups than in others."""
    pixels = [np.concatenate([one.pixel for one in of]) for of in known]
    oblong = any((of.max(axis=1) > TOLERANCE * of.min(axis=1)).any() for of in pixels)
    images = [image for group in groups for image in group]
    if oblong or len(groups) < 2 or not all(of.any() for of in pixels) or any(map(was_traced_again, images)):
        return False
    lengths = [np.concatenate([np.linalg.norm(principal_axes(image)[..., 0], axis=1) for image in of]) for of in groups]
    return _differ([length[of.any(axis=1)] for length, of in zip(lengths, pixels, strict=True)], _ALIKE_ENOUGH)


def _differ(values: Sequence[Real], alike: float = _ALIKE) -> bool:
    """Whether values of some group are distributed unlike those of all others."""
    from scipy.stats import ks_2samp  # slow to import

    values = _agreeing(values)
    for place, of in enumerate(values):
        others = np.concatenate([one for other, one in enumerate(values) if other != place])
        # The asymptotic distribution is undefined for one outline against one.
        if len(of) + len(others) > 2 and ks_2samp(of, others, method="asymp").pvalue <= alike:
            return True
    return False


def _to_coarsest(values: Sequence[Real], sizes: Sequence[Real]) -> list[Real]:
    """Largest of the groups' quantiles at the rank of each value in its group; the values themselves if they are alike.

    Equal values are ranked by size, the largest outlines first.
    """
    filled = [of for of in values if len(of)]
    if len(filled) < 2 or not any(of.any() for of in filled) or not _differ(filled):
        return list(values)
    found = []
    for of, key, size in zip(values, _agreeing(values), _agreeing(sizes), strict=True):
        # Equal outlines have equal ranks, and stay equal.
        _, place, counts = np.unique([key, -size], axis=1, return_inverse=True, return_counts=True)
        rank = ((np.cumsum(counts) - counts / 2) / max(len(of), 1))[place]
        quantiles = [np.interp(rank, (np.arange(len(one)) + 0.5) / len(one), np.sort(one)) for one in filled]
        found.append(np.max([of, *quantiles], axis=0))
    return found


def _agreeing(values: Sequence[Real]) -> list[Real]:
    """Values relative to the largest; those that are equal but for rounding errors, as of other units, agree."""
    largest = max((float(of.max(initial=0)) for of in values), default=0.0)
    return [np.asarray(np.round(of / (largest or 1.0), _DIGITS)) for of in values]
