"""Smoothing studies: dependence of the result on the smoothing of the segmentation (paper, "Segmentation Efficacy")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import Real
from ..checks import Sealed, several
from ..comparison import Settings
from ..comparison.engine import permutation_options
from ..outlines import Ensemble, Outlines, extract_curves, trace_mask
from ..palette import axes_of
from ..progress import Listener, report, reporting
from .jobs import run_study
from .landscape import DecisionLandscape, Decisions, WholeNumbers, decision_landscape, distinct_counts
from .marks import NOT_REJECTED, REJECTED, draw_marks, ink, label_sigmas
from .recommendation import Recommendation, recommend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Masks = ArrayLike | Sequence[ArrayLike]
Planes = tuple[NDArray[Any], ...]


class Smoothed(NamedTuple):
    """Result at one σ.

    Attributes
    ----------
    sizes : pair of int or None
        Curves in A and B; None while tracing.
    landscape : DecisionLandscape or None
    reason : str
        Why there is no landscape; empty if there is one.
    done : bool
        Whether this σ is finished.
    """

    sizes: tuple[int, int] | None = None
    landscape: DecisionLandscape | None = None
    reason: str = ""
    done: bool = False


@dataclass(frozen=True, eq=False)
class SmoothingStudy(Sealed):
    """Decision landscapes over the smoothing of the segmentation.

    Attributes
    ----------
    sigmas : (S,) array
        Standard deviations of the Gaussian filter in pixels.
    ranks : (R,) int array
    landmarks : (L,) int array
    settings : Settings
    steps : tuple of S Smoothed
        Result at each σ.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, smoothing_study
    >>> rows, columns = np.indices((160, 160)) % 20 - 10
    >>> a, b = (np.hypot(rows, stretch * columns) < 7 for stretch in (1, 1.4))
    >>> study = smoothing_study(a, b, sigmas=[0, 1], ranks=[2], landmarks=[40], settings=Settings(permutations=199))
    >>> study.mean_mmd().shape, study.complete
    ((2,), True)
    """

    sigmas: Real
    ranks: NDArray[np.int64]
    landmarks: NDArray[np.int64]
    settings: Settings
    steps: tuple[Smoothed, ...]

    @property
    def landscapes(self) -> tuple[DecisionLandscape | None, ...]:
        """Decision landscape of each σ; None if there is none (yet)."""
        return tuple(step.landscape for step in self.steps)

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two groups, once a landscape has been computed."""
        return next((landscape.names for landscape in self.landscapes if landscape is not None), ("A", "B"))

    @property
    def sizes(self) -> Real:
        """Curves of both groups at each σ, (S, 2); NaN if not traced (yet)."""
        return np.array([step.sizes or (np.nan, np.nan) for step in self.steps], dtype=np.float64)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a σ has no landscape, or none of its cells a row; empty otherwise."""
        return tuple(
            step.reason if step.landscape is None else step.landscape.inconclusive or "" for step in self.steps
        )

    def tests(self, name: str = "undulation") -> tuple[Decisions | None, ...]:
        """One test at every σ: "undulation", "scale", "product", or a part such as "roughness" or "raw"."""
        return tuple(None if landscape is None else landscape.test(name) for landscape in self.landscapes)

    def mmd(self, name: str = "undulation") -> Real:
        """MMDs of a test, (S, L, R); NaN if not computed."""
        empty = np.full((len(self.landmarks), len(self.ranks)), np.nan)
        return np.array([empty if test is None else test.mmd for test in self.tests(name)])

    def mean_mmd(self, name: str = "undulation") -> Real:
        """MMD averaged over ranks and landmark counts, (S,)."""
        return _mean(self.mmd(name))

    def ambiguity(self, name: str = "undulation") -> Real:
        """Ambiguity of each rank, (S, R); see `Decisions.ambiguity`."""
        empty = np.full(len(self.ranks), np.nan)
        return np.array([empty if test is None else test.ambiguity for test in self.tests(name)])

    def mean_ambiguity(self, name: str = "undulation") -> Real:
        """Ambiguity averaged over the ranks, (S,)."""
        return _mean(self.ambiguity(name))

    def ambiguity_band(self, name: str = "undulation") -> Real:
        """Minimum and maximum ambiguity over the ranks, (S, 2)."""
        known = [values[~np.isnan(values)] for values in self.ambiguity(name)]
        return np.array([(values.min(), values.max()) if len(values) else (np.nan, np.nan) for values in known])

    def share_rejected(self, name: str = "undulation") -> Real:
        """Fraction of the cells of each σ in which a test rejects, (S,)."""
        return np.array(
            [
                test.rejected[test.computed].mean() if test is not None and test.computed.any() else np.nan
                for test in self.tests(name)
            ]
        )

    @property
    def recommended(self) -> Recommendation | None:
        """Range of σ over which the result is stable and most curves are kept; None if there is none."""
        answers = [None if land is None else land.case[land.undulation.computed] for land in self.landscapes]
        return recommend(self.sigmas, answers, self.sizes)

    @property
    def counts(self) -> tuple[int, int]:
        """Number of σ that are done, and of all."""
        return sum(step.done for step in self.steps), len(self.steps)

    @property
    def complete(self) -> bool:
        """Whether every σ is done; False for a study that was cancelled."""
        return all(step.done for step in self.steps)

    @property
    def done_something(self) -> bool:
        """Whether there are results for any σ."""
        return any(step.sizes is not None for step in self.steps)

    def table(self) -> pd.DataFrame:
        """Table with one row per σ: sizes, mean MMD, fraction rejected, mean ambiguity and its band, and reason."""
        import pandas as pd  # slow to import, and not needed for the result

        low, high = self.ambiguity_band().T
        return pd.DataFrame(
            {
                "sigma": self.sigmas,
                "curves_a": self.sizes[:, 0],
                "curves_b": self.sizes[:, 1],
                "mean_mmd": self.mean_mmd(),
                "share_rejected": self.share_rejected(),
                "scale_share_rejected": self.share_rejected("scale"),
                "mean_ambiguity": self.mean_ambiguity(),
                "least_ambiguity": low,
                "largest_ambiguity": high,
                "reason": self.reasons,
            }
        )

    def plot(self, ax: Axes | None = None, *, test: str = "undulation") -> Axes:
        """Plot MMD over σ: one mark per cell (× rejects, ○ does not) and their mean.

        `studies.figures.plot_study` plots all panels.
        """
        ax = axes_of(ax)
        for sigma, decisions in zip(self.sigmas, self.tests(test), strict=True):
            if decisions is not None:
                known = decisions.computed
                mmd, rejected = decisions.mmd[known], decisions.rejected[known]
                draw_marks(ax, np.full(len(mmd), sigma), mmd, rejected, np.full(len(mmd), "C0"))
        ax.plot(self.sigmas, self.mean_mmd(test), color=ink(), linewidth=1.2, label="mean over cells")
        ax.plot([], [], REJECTED, color="C0", markersize=4, label="rejects")
        ax.plot([], [], NOT_REJECTED, color="C0", markersize=4, fillstyle="none", label="does not")
        ax.legend(loc="best", fontsize="small", framealpha=0.6)
        ax.set_ylabel(f"MMD ({test})")
        return label_sigmas(ax, self.recommended)

    def summary(self) -> str:
        """Return the recommended range and its reason, or why there is none."""
        found = self.recommended
        if found is not None:
            return found.reason
        known = [landscape for landscape in self.landscapes if landscape is not None]
        if not known:
            missing = [(sigma, why) for sigma, why in zip(self.sigmas, self.reasons, strict=True) if why]
            return "No smoothing led to a comparison" + "".join(f"; {s:g} px: {r}" for s, r in missing[:3]) + "."
        if all(landscape.inconclusive for landscape in known):
            return f"Inconclusive at every smoothing: {known[0].inconclusive}."
        if len(known) == 1:
            sigma = next(s for s, one in zip(self.sigmas, self.landscapes, strict=True) if one is not None)
            return f"Only smoothing by {sigma:g} px led to a comparison: a range needs two neighboring values."
        return "No two neighboring values of smoothing give the same result in all cells: no range can be recommended."


def _mean(values: Real) -> Real:
    """Mean of known values over all axes but the first; NaN if there are none."""
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    count = known.sum(axis=1)
    return np.where(count > 0, np.where(known, flat, 0).sum(axis=1) / np.maximum(count, 1), np.nan)


def smoothing_study(
    masks_a: Masks,
    masks_b: Masks,
    *,
    sigmas: Sequence[float],
    ranks: WholeNumbers,
    landmarks: WholeNumbers,
    settings: Settings | None = None,
    outlines: Outlines | None = None,
    names: tuple[str, str] = ("A", "B"),
    executor: Any | None = None,
    progress: Listener | None = None,
) -> SmoothingStudy:
    """Sweep the smoothing of two groups of segmented images, with a decision landscape at every σ.

    Parameters
    ----------
    masks_a, masks_b : (rows, columns) array, or a sequence of them
        The images of each sample. A mask (booleans, or one value besides 0) is smoothed as a whole, so that neighbors
        merge, as in the paper; of labels each object is smoothed separately and keeps its identity.
    sigmas : sequence of S floats
        Standard deviations of the Gaussian filter in pixels; 0 for none.
    ranks, landmarks : sequences of ints
        The landscape at every σ; see `decision_landscape`.
    settings : Settings, optional
        Settings of the comparisons.
    outlines : Outlines, optional
        Pixel size, unit, and criteria for outlines; the same for all images. `outline_smoothing` is ignored.
    names : (str, str)
        Names of the two groups.
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        Runs the σ in parallel; the result is the same.
    progress : callable, optional
        Called with the `Progress` of each step; its `result` is the study so far. An exception that it raises aborts
        the study.

    Returns
    -------
    SmoothingStudy
        A σ without a comparison, for example because all objects vanish, or whose outlines have faults that withhold
        the row (see `quality`), has a reason in `reasons`.

    Raises
    ------
    ValueError
        For empty or impossible ranges, or masks that are not 2D.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, smoothing_study
    >>> rows, columns = np.indices((160, 160)) % 20 - 10
    >>> a, b = (np.hypot(rows, stretch * columns) < 7 for stretch in (1, 1.4))
    >>> study = smoothing_study(a, b, sigmas=[0, 1], ranks=[2], landmarks=[40], settings=Settings(permutations=199))
    >>> study.sizes
    array([[64., 64.],
           [64., 64.]])
    """
    sweep = np.unique(np.asarray(sigmas, dtype=np.float64))
    if sweep.ndim != 1 or not len(sweep) or not (np.isfinite(sweep) & (sweep >= 0)).all():
        raise ValueError(f"sigmas must be a sequence of standard deviations in pixels, 0 or more, not {sigmas!r}")
    settings, outlines = settings or Settings(), outlines or Outlines()
    permutation_options(settings)  # raises early for settings that nested tests do not support
    groups = {name: _planes(name, masks) for name, masks in zip(names, (masks_a, masks_b), strict=True)}
    if len(groups) < 2:
        raise ValueError(f"the two groups must have different names, not both {names[0]!r}")
    grid = distinct_counts("ranks", ranks, 1), distinct_counts("landmarks", landmarks, 8)

    def study_of(steps: Sequence[Smoothed | None]) -> SmoothingStudy:
        return SmoothingStudy(sweep, *grid, settings, tuple(step or Smoothed() for step in steps))

    job = partial(smoothed_landscape, groups, outlines, {"ranks": grid[0], "landmarks": grid[1], "settings": settings})
    return run_study(job, {f"smoothing {sigma:g} px": float(sigma) for sigma in sweep}, study_of, executor, progress)


def _planes(group: str, masks: Masks) -> Planes:
    """The images of one group."""
    one = isinstance(masks, np.ndarray) and masks.ndim == 2
    planes = [masks] if one else several(masks, "smoothing_study takes a mask or a list of masks for each group")
    arrays = tuple(np.asarray(plane) for plane in planes)
    if not arrays or any(array.ndim != 2 for array in arrays):
        shapes = [array.shape for array in arrays]
        raise ValueError(f"group {group} holds images of shapes {shapes}: give one or more planes (rows, columns)")
    return arrays


def smoothed_landscape(
    groups: Mapping[str, Planes], outlines: Outlines, options: dict[str, Any], sigma: float
) -> Smoothed:
    """Trace both groups at one σ, then compare them over ranks and landmarks."""
    report("tracing outlines")
    a, b = (_traced(name, planes, outlines, sigma) for name, planes in groups.items())
    sizes = len(a), len(b)
    try:
        with reporting(lambda step: report(step.name, result=Smoothed(sizes, step.result))):
            return Smoothed(sizes, decision_landscape(a, b, **options), done=True)
    except ValueError as error:
        # A wide filter may leave too little; that is a result of the study, not an error.
        return Smoothed(sizes, None, str(error), done=True)


def _traced(group: str, planes: Planes, chosen: Outlines, sigma: float) -> Ensemble:
    options: dict[str, Any] = {
        "smoothing": sigma,
        "scale": chosen.pixel_scale or (1.0, 1.0),
        "unit": chosen.unit or "pixel",
        "holes": chosen.holes,
        "border": chosen.keep_border,
        "min_area": chosen.min_area,
    }
    finer: dict[str, Any] = {"min_vertices": chosen.min_vertices, "min_length": chosen.min_length}  # of labels only
    traced = []
    for number, plane in enumerate(planes, start=1):
        name = group if len(planes) == 1 else f"{group} {number}"
        is_mask = plane.dtype == bool or not np.any((plane != 0) & (plane != plane.max()))
        traced.append(
            trace_mask(plane, name=name, **options) if is_mask else extract_curves(plane, name=name, **options, **finer)
        )
    return Ensemble.pooled(traced, name=group)
