"""How far outlines are from the middle of all, and how unusual they are, with the reason in words.

*Unusual* needs no second group, no mean and no registration: a form is as unusual as it is far from the forms that are
nearest to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree

from .._types import Index, Real
from ..outlines import Ensemble
from ..outlines.exchange import DISTANCES, UNUSUAL
from .quantities import BENDS, LOBES, amplitudes_and_scales, geometric_median, size_and_elongation
from .settings import Settings

if TYPE_CHECKING:
    import pandas as pd

#: Nearest outlines from which an unusual form is far; with 5 to 12 planted faults were found equally well.
NEAREST = 7
# The nearest are searched in a sample of more outlines, and the geometric median is that of a sample.
_MAX_SEARCHED, _MAX_AVERAGED = 5_000, 10_000
# With fewer outlines there is no usual one.
_MIN_OUTLINES = 8
# Said to be unusual: a form from this percentile on; a size or elongation beyond so many robust standard deviations
# (Iglewicz and Hoaglin 1993) and at least this factor.
_PERCENTILE, _SIGMAS, _FACTOR = 95, 3.5, 1.1
_MAD = 1.482602218505602
# Least robust standard deviations of amplitudes and of bends, relative to the radius: of outlines of one form they are
# rounding error, and no bend inward is the usual one of convex forms.
_LEAST_SPREAD = 1e-4, 0.1


def distance_columns(t: Real, l: Real) -> dict[str, Real]:
    """Distances of outlines from the mean shape, (N,), by column of `DISTANCES`.

    distance_from_mean: from the geometric medians of t and of l, each divided by its median over the outlines,
    together: form and scale count the same, and no outlier moves the middle. undulation and scale: ‖t‖ and ‖l‖.
    paper_distance: these two, each divided by its maximum, together (the paper's coloring).
    """
    undulation, scale = np.linalg.norm(t, axis=1), np.linalg.norm(l, axis=1)
    apart = [_over_median(_from_median(coordinates)) for coordinates in (t, l)]
    most = [own / (own.max(initial=0) or 1.0) for own in (undulation, scale)]
    return dict(zip(DISTANCES, (np.hypot(*apart), undulation, scale, np.hypot(*most)), strict=True))


def unusual_columns(measured: Mapping[str, Real]) -> dict[str, Real]:
    """How unusual outlines are, by column of `UNUSUAL`; NaN for fewer than 8 outlines.

    Measured are the logarithms of size, elongation, and `LOBES` and `BENDS` of `quantities`. unusual_form: mean
    difference of amplitudes and bends, in robust standard deviations, from those of the 7 outlines nearest in them.
    unusual_size: the ratio to the median size, or its inverse if that is larger. unusual: the first, and the deviation
    of logarithms of size and elongation from their medians, each divided by its median, together.
    """
    forms = np.exp(np.stack([measured[name] for name in (*LOBES, *BENDS)], axis=1))
    if len(forms) < _MIN_OUTLINES:
        return dict.fromkeys(UNUSUAL, np.full(len(forms), np.nan))
    spread = _MAD * np.median(np.abs(forms - np.median(forms, axis=0)), axis=0)
    form = _from_nearest(forms / np.maximum(spread, np.repeat(_LEAST_SPREAD, (len(LOBES), len(BENDS)))))
    size, elongation = (np.abs(own - np.median(own)) for own in (measured["size"], measured["elongation"]))
    whole = np.hypot(_over_median(form), _over_median(np.hypot(size, elongation)))
    return dict(zip(UNUSUAL, (whole, form, np.exp(size)), strict=True))


def unusual_outlines(ensemble: Ensemble, settings: Settings | None = None) -> pd.DataFrame:
    """Tell how unusual every outline of a single sample is, and why; no second sample is needed.

    Parameters
    ----------
    ensemble : Ensemble
    settings : Settings, optional
        How landmarks are placed.

    Returns
    -------
    DataFrame
        One row per outline, in order: id; unusual; unusual_form; unusual_size (see `comparison.COLORINGS`); why, in
        words. Numbers are NaN for fewer than 8 outlines.

    Examples
    --------
    >>> from napari_shape_ensembles import samples, unusual_outlines
    >>> particles, _ = samples.powder_outlines().ensembles()
    >>> table = unusual_outlines(particles)
    >>> table.loc[table["unusual"].idxmax(), "why"]
    'Unusual: 4.4 times as elongated as usual; a form with few like it: 99th percentile.'
    """
    import pandas as pd  # slow to import, and not needed for a comparison

    measured = dict[str, Real]()
    if len(ensemble):
        lobes, scales = amplitudes_and_scales([ensemble], settings or Settings())
        measured = lobes | size_and_elongation(scales)
    columns = unusual_columns(measured) if measured else dict.fromkeys(UNUSUAL, np.empty(0))
    table = pd.DataFrame({"id": ensemble.ids, **columns})
    return table.assign(why=why_unusual(measured, columns["unusual_form"], np.arange(len(ensemble))))


def why_unusual(measured: Mapping[str, Real], form: Real, rows: Index) -> list[str]:
    """Say why some outlines are unusual, with figures; of usual ones, how large they are and where their form ranks.

    `form` is the column "unusual_form" of all outlines, and `measured` as for `unusual_columns`.
    """
    if len(form) < _MIN_OUTLINES:
        return [f"Fewer than {_MIN_OUTLINES} outlines: none is usual."] * len(rows)
    # Of the other outlines, the share whose form is less unusual.
    percent = np.floor(100 * np.searchsorted(np.sort(form), form[rows]) / len(form)).astype(int)
    found, figures = list[list[str]]([] for _ in rows), {}
    for name, adjective in (("size", "large"), ("elongation", "elongated")):
        apart = measured[name] - np.median(measured[name])
        limit = max(_SIGMAS * _MAD * float(np.median(np.abs(apart))), np.log(_FACTOR))
        times = [f"{factor:.2g}" for factor in np.exp(apart[rows])]
        figures[name] = [f"{'' if one == '1' else f'{one} times '}as {adjective} as usual" for one in times]
        for said, words, far in zip(found, figures[name], np.abs(apart[rows]) > limit, strict=True):
            said += [words] if far else []
    for said, rank in zip(found, percent.tolist(), strict=True):
        said += [f"a form with few like it: {rank}th percentile"] if rank >= _PERCENTILE else []
    return [
        f"Unusual: {'; '.join(said)}." if said else f"Not unusual: {size}, form at percentile {rank}."
        for said, size, rank in zip(found, figures["size"], percent.tolist(), strict=True)
    ]


def _from_median(points: Real) -> Real:
    """Distance of points (N, d) from their geometric median, (N,)."""
    some = points
    if len(points) > _MAX_AVERAGED:
        some = points[np.sort(np.random.default_rng(0).choice(len(points), _MAX_AVERAGED, replace=False))]
    return np.asarray(np.linalg.norm(points - geometric_median(some, np.ones(len(some))), axis=1))


def _from_nearest(points: Real) -> Real:
    """Mean distance of points (N, d) from the nearest others, (N,)."""
    searched = np.arange(len(points))
    if len(points) > _MAX_SEARCHED:
        searched = np.random.default_rng(0).choice(len(points), _MAX_SEARCHED, replace=False)
    distances = KDTree(points[searched]).query(points, NEAREST + 1)[0]
    itself = np.zeros(len(points), dtype=np.bool_)
    itself[searched] = True
    return np.where(itself, distances[:, 1:].mean(axis=1), distances[:, :-1].mean(axis=1))


def _over_median(values: Real) -> Real:
    return values / (np.median(values) or 1.0) if len(values) else values
