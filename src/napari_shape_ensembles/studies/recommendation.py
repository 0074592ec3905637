"""Recommended smoothing: the range over which the result is stable, with the most curves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..comparison.verdict import INCONCLUSIVE, ROW_WORDS

Answers = Sequence[NDArray[Any] | None]


@dataclass(frozen=True)
class Recommendation:
    """A range of σ over which all cells give one result.

    Attributes
    ----------
    low, high : float
        Ends of the range in pixels, both included.
    best : float
        The σ of the range that keeps the most curves on its smaller side.
    answer : str
        The result of every cell of the range.
    reason : str
        Reason for this range, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, smoothing_study
    >>> rows, columns = np.indices((160, 160)) % 20 - 10
    >>> a, b = (np.hypot(rows, stretch * columns) < 7 for stretch in (1, 1.2))
    >>> study = smoothing_study(a, b, sigmas=[0, 1], ranks=[2], landmarks=[40], settings=Settings(permutations=199))
    >>> study.recommended.low, study.recommended.high, study.recommended.answer
    (0.0, 1.0, '0∧0')
    """

    low: float
    high: float
    best: float
    answer: str
    reason: str


def recommend(sigmas: Real, answers: Answers, sizes: Real) -> Recommendation | None:
    """Choose a range of σ with a stable result; None if no two neighboring σ, or the only one, are consistent.

    A σ is *consistent* if all its cells give the same result. Of the runs of neighboring consistent σ with the same
    result, the one with the most curves is chosen: the smaller side's number, summed over the run. So a long run at
    strong smoothing, which has merged or lost most objects, is not chosen for its length alone. Sigmas ascend, and
    answers are the results of all cells at each; None if there are none.
    """
    unanimous = [_unanimous(cells) for cells in answers]
    runs = [list(run) for answer, run in groupby(range(len(sigmas)), unanimous.__getitem__) if answer]
    runs = [run for run in runs if len(run) > 1 or len(sigmas) == 1]
    if not runs:
        return None
    fewer = np.nan_to_num(sizes.min(axis=1))
    run = max(runs, key=lambda run: fewer[run].sum())
    best = run[int(fewer[run].argmax())]
    words = _reason(sigmas, answers, sizes, run, best)
    return Recommendation(float(sigmas[run[0]]), float(sigmas[run[-1]]), float(sigmas[best]), unanimous[best], words)


def _unanimous(cells: NDArray[Any] | None) -> str:
    """The result that all cells share; empty if there is none."""
    distinct = set() if cells is None else set(cells.tolist())
    answer = str(distinct.pop()) if len(distinct) == 1 else ""
    return "" if answer == INCONCLUSIVE else answer


def _reason(sigmas: Real, answers: Answers, sizes: Real, run: list[int], best: int) -> str:
    a, b = sizes[best].astype(int)
    cells = answers[best]
    assert cells is not None
    every = f"all {len(cells)} cells" if len(cells) > 1 else "the one cell"
    words = (
        f"Smoothed by {sigmas[run[0]]:g} to {sigmas[run[-1]]:g} px: {_words(_unanimous(cells))} in {every}; "
        f"{sigmas[best]:g} px keeps the most curves ({a} and {b})."
    )
    for side, index in (("Below", run[0] - 1), ("Above", run[-1] + 1)):
        if 0 <= index < len(sigmas):
            words += f" {side}, at {sigmas[index]:g} px, {_split(answers[index])}."
    fewer, last = np.nan_to_num(sizes.min(axis=1)), run[-1]
    most = int(fewer.max())
    if fewer[last] < most / 2:
        words += (
            f" At {sigmas[last]:g} px only {fewer[last]:.0f} of {most} curves are left on the smaller side: a "
            "difference may go unnoticed there."
        )
    return words


def _split(cells: NDArray[Any] | None) -> str:
    if cells is None or not len(cells):
        return "there is no comparison"
    counts = Counter(cells.tolist()).most_common()
    if len(counts) == 1:
        return f"{_words(counts[0][0])} in {f'all {len(cells)} cells' if len(cells) > 1 else 'the one cell'}"
    return ", ".join(f"{_words(answer)} in {count}" for answer, count in counts) + f" of {len(cells)} cells"


def _words(case: str) -> str:
    return ROW_WORDS.get(case, case)
