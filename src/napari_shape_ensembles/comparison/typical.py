"""Typical outlines of a comparison: real ones near the middle of their group, rather than a mean that none resembles.

Nothing here depends on the registration: form is described by the amplitudes of its lobes and its concavity.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Index, Real
from ..outlines import Ensemble
from ..outlines.polygons import areas_and_perimeters
from ..progress import one_library_thread
from ..shapes import register, to_landmarks
from ..shapes.lobes import BANDS
from .answer import named
from .estimates import QUANTITIES
from .learning import KNOWN
from .parts import form_descriptors
from .quantities import COARSE

if TYPE_CHECKING:
    import pandas as pd

# A `Comparison` has the functions of this module as methods, so its class cannot be imported here.
Comparison = Any

#: Typical outlines of each group that are drawn.
DRAWN = 3
# The middle of a larger group is that of a random sample of this size.
_MAX_COMPARED = 1000
# Typical outlines are among this share of their group: those that are not unusual in any quantity.
_CENTRAL_SHARE = 0.25
# Outlines whose area changed by more than this share at a lower precision, such as two objects that came apart, look
# otherwise than they were compared.
_MAX_CHANGE = 0.2
# Landmarks of outlines that are drawn: enough for figures of a few centimeters.
_LANDMARKS = 200
# What typical outlines are chosen by if a quantity differs that is not one of their own.
_CHOSEN_BY = {"spread of size": "size", "spread of form": "coarse form", "lobes": "coarse form"}
# Median absolute deviations per standard deviation of a normal distribution.
_MAD = 1.482602218505602


def typical(comparison: Comparison, n: int = DRAWN) -> "pd.DataFrame":
    """Table of the n most typical outlines of each group; see `Comparison.typical`."""
    import pandas as pd

    if not (isinstance(n, int | np.integer) and n >= 1):
        raise ValueError(f"{n!r} typical outlines: give a positive integer, such as 3")
    parts = []
    sides = zip(comparison.names, (comparison.a, comparison.b), typical_rows(comparison, int(n)), strict=True)
    for start, (name, side, rows) in zip((0, len(comparison.a)), sides, strict=True):
        own = {"sample": name, "id": side.ids[rows - start], "rank": np.arange(1, len(rows) + 1)}
        parts.append(pd.DataFrame(own))
    return pd.concat(parts, ignore_index=True)


def typical_rows(comparison: Comparison, count: int = DRAWN) -> tuple[Index, Index]:
    """Rows of the most typical outlines of A and of B among the pooled ones, up to `count`, the medoid of each first.

    An outline is as typical as its mean distance to the others of its group is small: robust to outliers, and an
    outline of the sample. Of the quarter of a group that is most typical in all quantities, these are the most typical
    in those that differ: in the named ones, or in all of a test that rejects if none is named. A quantity counts as one
    whatever its number of columns, each in robust standard deviations within the groups. If images were permuted, these
    have equal weights. Outlines that were cut when they were brought to one precision come last.
    """
    first, total = len(comparison.a), len(comparison.t)
    quantities = _standardized(_described(comparison), first)
    differ = set[str]()
    for test, names in named(comparison).items():
        # Where a test rejects and no quantity can be named, all of that test.
        every = [name for name, of in QUANTITIES.items() if of == test and getattr(comparison, test).rejected]
        differ |= {_CHOSEN_BY.get(name, name) for name in names or every}
    compared = {name: quantities[name] for name in quantities if name in differ} or quantities
    weights = replicate_weights(comparison)
    pairs, found = zip((comparison.a, comparison.b), comparison.compared, strict=True), []
    for rows, (given, at_one) in zip((np.arange(first), np.arange(first, total)), pairs, strict=True):
        by_all = _mean_distances(quantities, rows, rows, weights, comparison.settings.seed)
        now, before = (areas_and_perimeters(side.vertices, side.offsets)[0] for side in (at_one, given))
        cut = np.abs(now / before - 1) > _MAX_CHANGE
        central = rows[np.lexsort((by_all, cut))][: max(int(np.ceil(_CENTRAL_SHARE * len(rows))), count)]
        away = _mean_distances(compared, central, rows, weights, comparison.settings.seed)
        found.append(central[np.argsort(away, kind="stable")][:count])
    return found[0], found[1]


def typical_outlines(comparison: Comparison, rows: tuple[Index, Index]) -> tuple[list[Real], list[Real]]:
    """Outlines (n, 2) of some rows of A and of B, centered, in the unit.

    All are turned, and mirrored where that makes no difference to the comparison, like the first of their group, and
    B's first like A's.
    """
    curves = Ensemble.pooled([comparison.a, comparison.b]).curves
    options = {"reflections": comparison.settings.reflections}
    a, b = (
        to_landmarks(Ensemble([curves[row] for row in side.tolist()]), _LANDMARKS, interpolation="polygon")
        for side in rows
    )
    first = register(a[:1], a[0], **options).landmarks[0]
    second = register(b[:1], first, **options).landmarks[0]
    return [*register(a, first, **options).landmarks], [*register(b, second, **options).landmarks]


def replicate_weights(comparison: Comparison) -> Real:
    """Weights of the pooled curves, (N,), by which images count the same if they were permuted; else equal ones."""
    image = comparison.replicates
    return np.ones(len(comparison.t)) if image is None else np.asarray(1 / np.bincount(image)[image])


@one_library_thread()
def undulations(comparison: Comparison, rows: Index) -> Real:
    """Registered forms of some of the pooled curves, (k, n, 2), from all their coordinates."""
    return np.asarray(comparison.space.undulations(comparison.t[rows]))


def _described(comparison: Comparison) -> dict[str, Real]:
    """Every quantity of the pooled outlines that typical outlines are chosen by, (N, d) each."""
    descriptors = comparison.descriptors
    if not descriptors.shape[1]:  # the paper's coordinates were tested
        every = np.arange(len(comparison.t))
        descriptors = np.concatenate(
            [
                form_descriptors(undulations(comparison, rows), KNOWN)
                for rows in np.array_split(every, max(len(every) // _MAX_COMPARED, 1))
            ]
        )
    coarse = sum(band[1] <= COARSE for band in BANDS)
    bands = descriptors[:, :-2]
    return {
        "size": comparison.components["size"][:, None],
        "elongation": comparison.components["elongation"][:, None],
        "coarse form": bands[:, :coarse],
        "roughness": bands[:, coarse:],
        "concavity": descriptors[:, -2:],
    }


def _standardized(quantities: Mapping[str, Real], first: int) -> dict[str, Real]:
    """Quantities in robust standard deviations within the groups; those that do not vary are left out."""
    found = {}
    for name, values in quantities.items():
        apart = [np.abs(side - np.median(side, axis=0)) for side in (values[:first], values[first:])]
        spread = _MAD * np.median(np.concatenate(apart), axis=0)
        varies = spread > KNOWN
        if varies.any():
            found[name] = values[:, varies] / spread[varies] / np.sqrt(np.count_nonzero(varies))
    return found or {"size": quantities["size"]}


def _mean_distances(quantities: Mapping[str, Real], rows: Index, group: Index, weights: Real, seed: int) -> Real:
    """Weighted mean distance of some rows to those of a group, over all of some quantities."""
    points = np.concatenate([*quantities.values()], axis=1)
    if len(group) > _MAX_COMPARED:
        group = np.random.default_rng(seed).choice(group, _MAX_COMPARED, replace=False)
    found = np.empty(len(rows))
    for start in range(0, len(rows), _MAX_COMPARED):
        part = points[rows[start : start + _MAX_COMPARED]]
        away = np.sqrt(sum((part[:, None, column] - points[group, column]) ** 2 for column in range(points.shape[1])))
        found[start : start + _MAX_COMPARED] = away @ (weights[group] / weights[group].sum())
    return found
