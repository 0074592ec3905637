"""Comparison of two samples: the contrast of an experiment of two groups."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from .._types import Index
from ..archive import StrPath
from ..mmd.kernel import MOST_PERMUTATIONS
from ..mmd.permutations import EIGENVECTORS, MAX_FACTORIZED
from ..mmd.two_sample import MORE
from ..outlines import Ensemble
from ..progress import Listener, duration, one_library_thread, processors, report, reporting
from ..words import counted
from .engine import MOST_MORE, Groups
from .learning import COMPARISON_STEPS, learn
from .result import Comparison
from .samples import Images, Pair, column_numbers, comparable, image_counts, image_numbers
from .settings import Settings

# From this many seconds on, the expected duration is reported beforehand.
LONG_SECONDS = 10.0
# Multiplications per pair of curves apart from the permutations; rows of the product used to measure the speed.
_PER_PAIR, _PROBE = 100, 256


def compare(
    a: Images,
    b: Images,
    settings: Settings | None = None,
    *,
    replicate: str | None = None,
    scratch: StrPath | None = None,
    client: Any = None,
    progress: Listener | None = None,
    **changes: Any,
) -> Comparison:
    """Compare the outlines of two ensembles.

    Parameters
    ----------
    a, b : Ensemble, or a sequence of them or of (m, 2) arrays
        The two samples of curves. If a sample is several images (or a pooled ensemble of several), whole images are
        permuted, unless `settings.permute` overrides it. Arrays are the closed curves of one image, in pixels.
    settings : Settings, optional
    replicate : str, optional
        Column of the outlines' metadata that names the specimen, site or well of each: then these are the replicates,
        instead of images.
    scratch : path, optional
        Folder for a memory map of the landmarks, for more outlines than fit in memory: about 8 kB per outline at 500
        landmarks, removed afterwards. The folder is created if missing.
    client : dask.distributed.Client, optional
        Places landmarks, registers and learns on its workers.
    progress : callable, optional
        Called with the `Progress` of each step before it starts; an exception that it raises aborts the computation.
    **changes
        Single settings that override those of `settings`: `rank=50`, ...; see `Settings` for all of them.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If an ensemble has no usable curve, the units are incompatible, or a step fails; the message suggests a remedy.
    TypeError
        For an unknown setting, or a third sample.

    See Also
    --------
    experiment : several groups, replicates, blocks and covariates.

    Notes
    -----
    Images of one condition differ more than a permutation of single curves assumes, so that permuting curves rejects
    far too often. With several images the tests are those of `experiment`, on the kernel summed over pairs of images.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> result.case
    '1∧0'
    >>> round(result.scale.p_value, 4), result.undulation.rejected
    (0.0001, False)
    """
    settings = settings_of(settings, "compare takes two samples; experiment compares several groups", changes)
    given, compared, note = comparable(a, b, border=settings.border_correction)
    units = image_numbers(given) if replicate is None else column_numbers(given, replicate)
    unit = "images" if replicate is None else "replicates"
    more: dict[str, Any] = {"scratch": scratch, "client": client, "progress": progress}
    return _compared(given, compared, settings, units, unit=unit, note=note, **more)


def compare_again(result: Comparison, *, progress: Listener | None = None, **changes: Any) -> Comparison:
    """Compare the samples of a result once more with some settings changed, and exchange the same replicates."""
    settings, units = replace(result.settings, **changes), result.replicates
    if units is None:
        units = image_numbers((result.a, result.b))
    again = _compared(
        (result.a, result.b),
        result.compared,
        settings,
        units,
        note=result.note,
        blocks=result.blocks,
        unit="images" if result.permuted == "curves" else result.permuted,
        progress=progress,
    )
    return replace(again, inputs=result.inputs)


def _compared(
    given: Pair,
    compared: Pair,
    settings: Settings,
    replicate: Index,
    *,
    scratch: StrPath | None = None,
    client: Any = None,
    progress: Listener | None,
    **more: Any,
) -> Comparison:
    """Return the only contrast of two groups, given the replicate of each of their outlines, a's first."""
    a, b = given
    group = np.arange(replicate.max() + 1) > replicate[: len(a)].max()
    with reporting(progress), one_library_thread():
        expected = expected_seconds(a, b, settings)
        if expected > LONG_SECONDS:  # before the first step, while the settings can still be changed
            report(
                f"comparing {counted(len(a) + len(b), 'curve')}, expected to take {duration(expected)}",
                0,
                len(COMPARISON_STEPS),
            )
        learned, names = learn(compared, settings, scratch=scratch, client=client), (a.name, b.name)
        groups = Groups(names, given, compared, replicate, group.astype(np.intp), settings, learned, **more)
        return groups.contrast(0, 1, groups.test(0, 1))


def settings_of(settings: Settings | None, words: str, changes: dict[str, Any]) -> Settings:
    """Settings with some changed; by default those of `Settings()`. Another type raises a TypeError with the words."""
    if settings is not None and not isinstance(settings, Settings):
        raise TypeError(f"the third argument must be Settings(...), not {type(settings).__name__}: {words}")
    return replace(settings or Settings(), **changes)


def expected_seconds(a: Ensemble, b: Ensemble, settings: Settings) -> float:
    """Expected duration in seconds of a comparison on this computer, to a factor of about two.

    Nearly all of it is spent on sums of kernels over permutations, whose number of multiplications is known: with as
    many permutations as are drawn if a decision depends on them.
    """
    total, parts = len(a) + len(b), 5 if settings.coordinates == "components" else 3
    widths = len(settings.bandwidth) if isinstance(settings.bandwidth, tuple) else 1
    units = settings.bins if settings.bins and total >= 4 * settings.bins else total
    drawn = settings.null == "permutation" and settings.permutes_curves(*image_counts(a, b))
    each = units**2 / 2
    most = max(settings.permutations, min(MOST_MORE * settings.permutations, MOST_PERMUTATIONS))
    more = (most - settings.permutations) * min(each, EIGENVECTORS * units)
    if total > MAX_FACTORIZED and units == total:
        more = min(most - settings.permutations, (MORE - 1) * settings.permutations) * each
    count = parts * widths * (drawn * (settings.permutations * each + more) + _PER_PAIR * total**2)
    return _seconds_per_multiplication() * count / processors()


@cache
def _seconds_per_multiplication() -> float:
    """Seconds per multiplication in a matrix product, in one thread; cached, as measuring takes a while."""
    left, right = np.ones((_PROBE, _PROBE), np.float32), np.ones((_PROBE, 4 * _PROBE), np.float32)
    took = []
    with one_library_thread():
        for _ in range(3):
            start = perf_counter()
            left @ right
            took.append(perf_counter() - start)
    return min(took) / (4 * _PROBE**3)
