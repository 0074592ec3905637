"""Decision landscapes: dependence of the result on the rank and on the number of landmarks.

Each number of landmarks n is one item of work: landmarks are placed, registered and learned from once, at the highest
rank; lower ranks are the leading coordinates of these, and share permutations and distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._types import Mask, Real
from ..checks import Sealed
from ..comparison import Settings
from ..comparison.design import cannot_reach
from ..comparison.engine import Groups, permutation_options
from ..comparison.learning import learn
from ..comparison.parts import FORM, OF_RANK, form_parts, sides, tests_components
from ..comparison.samples import Images, comparable, image_counts, image_numbers
from ..comparison.verdict import INCONCLUSIVE, ROW_WORDS, TRUTH_TABLE, inconclusive, table_row
from ..mmd import MMDTest
from ..mmd.nested import nested_mmd_tests
from ..mmd.replicates import least_p
from ..outlines import Ensemble, quality
from ..palette import COLORMAP, axes_of
from ..progress import Listener, report
from ..words import counted
from .jobs import run_study
from .marks import draw_frame, draw_marks, label_ranks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WholeNumbers = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decisions(Sealed):
    """One test over the grid of landmark counts (rows) and ranks (columns).

    Attributes
    ----------
    mmd, p_value, threshold : (L, R) arrays
        NaN if not computed.
    rejected : (L, R) bool array
        True: the samples differ. False also if not computed.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, decision_landscape, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> scale = decision_landscape(a, b, ranks=[2, 5], landmarks=[40, 60], settings=quick).scale
    >>> scale.rejected.tolist(), scale.ambiguity.tolist()
    ([[True, True], [True, True]], [0.0, 0.0])
    """

    mmd: Real
    p_value: Real
    threshold: Real
    rejected: Mask

    @property
    def computed(self) -> Mask:
        """Which cells have results, (L, R)."""
        return ~np.isnan(self.mmd)

    @property
    def share_not_rejected(self) -> Real:
        """Fraction q of "no difference detected" over the landmark counts, (R,); NaN if nothing is computed."""
        return _over_landmarks(self.computed & ~self.rejected, self.computed)

    @property
    def ambiguity(self) -> Real:
        """4q(1 - q) for each rank, (R,): 0 if all landmark counts agree, 1 if they are split in halves."""
        q = self.share_not_rejected
        return 4 * q * (1 - q)

    @property
    def mean_mmd(self) -> Real:
        """MMD of each rank, averaged over the landmark counts, (R,)."""
        return _over_landmarks(np.where(self.computed, self.mmd, 0), self.computed)


def _over_landmarks(values: Real | Mask, computed: Mask) -> Real:
    count = computed.sum(axis=0)
    return np.where(count > 0, values.sum(axis=0) / np.maximum(count, 1), np.nan)


@dataclass(frozen=True, eq=False)
class DecisionLandscape(Sealed):
    """Decisions over ranks and numbers of landmarks.

    Attributes
    ----------
    ranks : (R,) int array
    landmarks : (L,) int array
    settings : Settings
        Settings of all cells, except rank and landmarks.
    names, sizes : pairs
        Names and numbers of curves of the two ensembles.
    undulation, scale : Decisions
        The two tests. That of scale does not depend on the rank.
    parts : mapping of str to Decisions
        The tests of the coarse form, roughness and concavity; with coordinates "both" those of the raw and of the
        normalized undulation coordinates.
    images : (int, int), optional
        Numbers of images of the two ensembles if whole images were permuted; None if single curves were.
    of_these_images : bool
        Whether single curves of several images were permuted: then the landscape holds for these images alone.
    note : str
        Resampling of images of unequal pixel size, or why there was none, as in `compare`.
    fault : str
        Serious fault of the outlines, which withholds the row of every cell unless `settings.overrule` (see `quality`);
        "" if there is none.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, decision_landscape, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> landscape = decision_landscape(a, b, ranks=[2, 5], landmarks=[40, 60], settings=quick)
    >>> landscape.undulation.rejected
    array([[False, False],
           [False, False]])
    """

    ranks: NDArray[np.int64]
    landmarks: NDArray[np.int64]
    settings: Settings
    names: tuple[str, str]
    sizes: tuple[int, int]
    undulation: Decisions
    scale: Decisions
    parts: Mapping[str, Decisions] = field(default_factory=dict)
    images: tuple[int, int] | None = None
    of_these_images: bool = False
    note: str = ""
    fault: str = ""

    @property
    def mmd(self) -> Real:
        """MMD of the undulation test, (L, R); with coordinates "both" that of the deciding part."""
        return self.undulation.mmd

    @property
    def p_value(self) -> Real:
        """p-value of the undulation test, (L, R)."""
        return self.undulation.p_value

    @property
    def rejected(self) -> Mask:
        """Where the undulation test rejects, (L, R)."""
        return self.undulation.rejected

    @property
    def ambiguity(self) -> Real:
        """Ambiguity of the undulation test, (R,); see `Decisions.ambiguity`."""
        return self.undulation.ambiguity

    @cached_property
    def product(self) -> Decisions:
        """Product MMD and its threshold, the Euclidean norms of those of the two tests (eq. pMMD).

        It has no p-value of its own.
        """
        mmd = np.hypot(self.undulation.mmd, self.scale.mmd)
        threshold = np.hypot(self.undulation.threshold, self.scale.threshold)
        return Decisions(mmd, np.full(mmd.shape, np.nan), threshold, mmd > threshold)

    def test(self, name: str) -> Decisions:
        """Return one test by name: "undulation", "scale", "product", or a part such as "roughness" or "raw"."""
        tests = {"undulation": self.undulation, "scale": self.scale, "product": self.product, **self.parts}
        if name not in tests:
            raise ValueError(f"this landscape has no test {name!r}, only {', '.join(tests)}")
        return tests[name]

    @property
    def feasible(self) -> Mask:
        """Cells that can have a result, (L, R): N curves of n landmarks have at most N - 1 and 2(n - 2) coordinates."""
        return self.ranks <= _highest_rank(self.landmarks[:, None], sum(self.sizes))

    @property
    def counts(self) -> tuple[int, int]:
        """Number of computed cells, and of feasible ones."""
        return int(self.undulation.computed.sum()), int(self.feasible.sum())

    @property
    def complete(self) -> bool:
        """Whether every feasible cell is computed; False for a study that was cancelled."""
        return bool((self.undulation.computed == self.feasible).all())

    @property
    def done_something(self) -> bool:
        """Whether any cell is computed."""
        return bool(self.undulation.computed.any())

    @property
    def inconclusive(self) -> str | None:
        """Why no cell has a row: too few curves or permuted images, or faults of the outlines; None otherwise."""
        if self.images is not None:
            least, level = least_p(*self.images), self.settings.test_level
            reason = cannot_reach(*self.images, level, least) if least > level else None
        else:
            reason = inconclusive(*self.sizes, self.settings.permutations, self.settings.test_level)
        return reason or (None if self.settings.overrule else self.fault or None)

    @property
    def case(self) -> NDArray[np.str_]:
        """Row of the truth table in every cell, (L, R); "" where not computed."""
        rows = [
            [table_row(*pair) for pair in zip(*line, strict=True)]
            for line in zip(self.rejected, self.scale.rejected, strict=True)
        ]
        answers = np.full(self.mmd.shape, INCONCLUSIVE) if self.inconclusive else np.array(rows, dtype="<U12")
        return np.where(self.undulation.computed, answers, "")

    def settings_at(self, landmarks: int, rank: int) -> Settings:
        """Settings with which `compare` reproduces the cell of these landmarks and rank."""
        return replace(self.settings, landmarks=int(landmarks), rank=int(rank))

    def table(self) -> pd.DataFrame:
        """Table with one row per computed cell: landmarks, rank, case, and the results of each test."""
        import pandas as pd  # slow to import, and not needed for the result

        shown = self.undulation.computed
        rows, columns = np.nonzero(shown)
        tests = {"undulation": self.undulation, **self.parts, "scale": self.scale, "product": self.product}
        numbers = {
            f"{name.replace(' ', '_')}_{kind}": getattr(test, kind)[shown]
            for name, test in tests.items()
            for kind in ("mmd", "p_value", "threshold", "rejected")
        }
        grid = {"landmarks": self.landmarks[rows], "rank": self.ranks[columns], "case": self.case[shown]}
        return pd.DataFrame({**grid, **numbers}).drop(columns="product_p_value")

    def plot(self, ax: Axes | None = None, *, test: str = "undulation", current: tuple[int, int] | None = None) -> Axes:
        """Plot the grid of ranks and landmark counts: MMD as color, × where the test rejects and ○ where it does not.

        `studies.figures.plot_landscape` plots all three panels of the paper.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        test : str
            "undulation", "scale", "product", or a part such as "roughness" or "raw".
        current : (landmarks, rank), optional
            A cell to highlight, such as that of the settings in use.

        Returns
        -------
        matplotlib Axes
            Its first image is the grid, cell (i, j) at x = j, y = i; cells not computed are empty.
        """
        ax = axes_of(ax)
        decisions = self.test(test)
        known = decisions.computed
        lines, places = np.nonzero(known)
        low, high = (np.min(decisions.mmd[known]), np.max(decisions.mmd[known])) if known.any() else (0.0, 1.0)
        ax.imshow(
            decisions.mmd, cmap=COLORMAP, aspect="auto", origin="lower", interpolation="nearest", vmin=low, vmax=high
        )
        colors = np.where(decisions.mmd[known] > (low + high) / 2, "black", "white")
        draw_marks(ax, places, lines, decisions.rejected[known], colors)
        if current is not None:
            draw_frame(ax, self.landmarks, self.ranks, current)
        ax.set_ylabel("landmarks n")
        ax.set_yticks(range(len(self.landmarks)), [str(n) for n in self.landmarks])
        label_ranks(ax, self.ranks)
        return ax

    def summary(self) -> str:
        """Summarize the landscape in a few sentences, with any resampling, and faults of the outlines."""
        said = self._summary()
        return " ".join([said, *(f"{words}." for words in (self.note, self.fault) if words and words not in said)])

    def _summary(self) -> str:
        of = [f"{counted(count, 'image')}, " for count in self.images] if self.images else ["", ""]
        a, b = (
            f"{name or side} ({own}{counted(size, 'curve')})"
            for name, side, size, own in zip(self.names, "AB", self.sizes, of, strict=True)
        )
        if self.of_these_images:
            b = f"{b}, in these images only"
        if not self.feasible.any():
            most = int(_highest_rank(self.landmarks.max(), sum(self.sizes)))
            return f"{a} and {b}: no rank can be tested: they determine at most {most} coordinates of form."
        if self.inconclusive:
            return f"{a} and {b}: inconclusive: {self.inconclusive}."
        answers, counts = np.unique(self.case[self.undulation.computed], return_counts=True)
        if not len(answers):
            return f"{a} and {b}: nothing computed yet."
        if len(answers) == 1:
            cells = f"in all {counts[0]} cells" if counts[0] > 1 else "in the one cell"
            return f"{a} and {b}: {TRUTH_TABLE[answers[0]]} ({cells})."
        shares = ", ".join(f"{ROW_WORDS[answers[i]]} in {counts[i]}" for i in np.argsort(-counts, kind="stable"))
        words = f"{a} and {b}: of {counts.sum()} cells {shares}."
        split = self.ranks[np.nan_to_num(self.ambiguity) > 0]
        if not len(split):
            return f"{words} At every rank all numbers of landmarks lead to the same decision on form."
        shown = ", ".join(map(str, split[:8])) + (", …" if len(split) > 8 else "")
        return f"{words} At rank {shown} the decision on form depends on the number of landmarks."


def decision_landscape(
    a: Images,
    b: Images,
    *,
    ranks: WholeNumbers,
    landmarks: WholeNumbers,
    settings: Settings | None = None,
    executor: Any | None = None,
    progress: Listener | None = None,
) -> DecisionLandscape:
    """Compare two ensembles at every rank and number of landmarks (paper, "Decision Landscapes").

    Parameters
    ----------
    a, b : Ensemble, or a sequence of them
        The two samples. If a sample has several images, whole images are permuted, as in `compare`.
    ranks : sequence of R ints
        Numbers of undulation coordinates.
    landmarks : sequence of L ints
        Numbers of landmarks per curve.
    settings : Settings, optional
        All other settings; rank and landmarks are ignored.
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        Runs the numbers of landmarks in parallel; the result is the same.
    progress : callable, optional
        Called with the `Progress` of each step; its `result` is the study so far. An exception that it raises aborts
        the study.

    Returns
    -------
    DecisionLandscape

    Raises
    ------
    ValueError
        As `compare`, and for empty or impossible ranges.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, decision_landscape, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> landscape = decision_landscape(a, b, ranks=[2, 5, 10], landmarks=[40, 60], settings=quick)
    >>> landscape.case.tolist()
    [['1∧0', '1∧0', '1∧0'], ['1∧0', '1∧0', '1∧0']]
    """
    settings = settings or Settings()
    given, (a, b), note = comparable(a, b, border=settings.border_correction)
    permutation_options(settings)  # raises early for settings that nested tests do not support
    grid = distinct_counts("ranks", ranks, 1), distinct_counts("landmarks", landmarks, 8)
    counts = image_counts(a, b)
    by_images = not settings.permutes_curves(*counts)
    fault = quality(*given).reason or ""
    both = settings.coordinates == "both" and not isinstance(settings.bandwidth, tuple)
    parts = ("raw", "normalized") if both else FORM if tests_components(settings) else ()
    empty = np.full((len(grid[0]), 4), np.nan)

    def landscape_of(columns: Sequence[Mapping[str, Real] | None]) -> DecisionLandscape:
        known = [column or {} for column in columns]
        tests = {}
        for name in dict.fromkeys(("undulation", "scale", *parts, *chain(*known))):
            cells = np.array([column.get(name, empty) for column in known])
            mmd, p_value, threshold, rejected = np.moveaxis(cells, -1, 0).copy()
            tests[name] = Decisions(mmd, p_value, threshold, rejected == 1)
        return DecisionLandscape(
            *grid,
            settings,
            names=(a.name, b.name),
            sizes=(len(a), len(b)),
            undulation=tests.pop("undulation"),
            scale=tests.pop("scale"),
            parts=tests,
            images=counts if by_images else None,
            of_these_images=not by_images and max(counts) > 1,
            note=note,
            fault=fault,
        )

    column = partial(landmark_column, a, b, tuple(grid[0].tolist()))
    changes = {f"{n} landmarks": replace(settings, landmarks=int(n)) for n in grid[1]}
    return run_study(column, changes, landscape_of, executor, progress)


def distinct_counts(name: str, values: WholeNumbers, least: int) -> NDArray[np.int64]:
    """Return the distinct values, ascending."""
    array = np.unique(np.asarray(values))
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu" or array[0] < least:
        raise ValueError(f"{name} must be a sequence of integers of at least {least}, not {values!r}")
    return array.astype(np.int64)


def _highest_rank(landmarks: Any, curves: int) -> Any:
    return np.minimum(max(curves - 1, 1), 2 * (landmarks - 2))


def landmark_column(a: Ensemble, b: Ensemble, every: tuple[int, ...], settings: Settings) -> dict[str, Real]:
    """Learn at the highest rank, then test scale once and undulation at every rank.

    MMD, p-value, threshold and decision of each test at every rank, (R, 4); NaN if a rank is too high.
    """
    count = len(every)
    ranks = [rank for rank in every if rank <= _highest_rank(settings.landmarks, len(a) + len(b))]
    tests: dict[str, Real] = {}
    if not ranks:
        return tests
    learned = learn((a, b), replace(settings, rank=ranks[-1]))
    images = image_numbers((a, b))
    group = (np.arange(images.max() + 1) > images[: len(a)].max()).astype(np.intp)
    groups = Groups((a.name, b.name), (a, b), (a, b), images, group, settings, learned)
    _store_test(tests, "scale", slice(len(ranks)), groups.permutation_test("scale", 0, 1), count)
    for index, test in enumerate(_form_tests(groups, ranks)):
        for name, part in {"undulation": test, **test.parts}.items():
            _store_test(tests, name, index, part, count)
        report(f"rank {ranks[index]} tested", result={name: values.copy() for name, values in tests.items()})
    return tests


def _form_tests(groups: Groups, ranks: Sequence[int]) -> Iterator[MMDTest]:
    """Test form by the leading coordinates of each rank; permuted curves share distances and permutations."""
    learned, settings = groups.learned, groups.settings
    if groups.exchanged(0, 1) != "curves":
        for rank in ranks:
            yield replace(groups, learned=learned._replace(t=learned.t[:, :rank])).permutation_test("undulation", 0, 1)
        return
    of_form = form_parts(learned.t, learned.descriptors, settings, any_rank=True).tested
    samples, kernels = sides(of_form, len(groups.images[0]))
    whole = [name for name, part in of_form.items() if name not in OF_RANK]
    yield from nested_mmd_tests(samples, ranks, kernels=kernels, whole=whole, **permutation_options(settings))


def _store_test(tests: dict[str, Real], name: str, place: int | slice, test: MMDTest, count: int) -> None:
    values = tests.setdefault(name, np.full((count, 4), np.nan))
    values[place] = test.mmd, test.p_value, test.threshold, test.rejected
