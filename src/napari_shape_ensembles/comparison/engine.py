"""The engine: images of several groups that are learned from together once, and the tests of any two of the groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Index, Real
from ..checks import Sealed
from ..mmd import MMDTest, gretton_test
from ..mmd.kernel import MOST_PERMUTATIONS
from ..mmd.replicates import (
    DRAWS,
    Hypothesis,
    MeanKernels,
    SmallSampleTest,
    group_means,
    mean_kernels_of_widths,
    precision_differs,
    replicate_means,
    replicate_mmd_test,
    small_sample_test,
)
from ..mmd.two_sample import Options, agreeing, pooled_mmd_test
from ..outlines import Ensemble
from ..words import p_text
from .border import size_factor, usable_weights
from .estimates import Units, ratios, resamples_of_ratios
from .learning import Learned, report_step
from .parts import MIN_LOG_SPREAD, Parts, form_parts, least_amplitude, scale_parts, sides
from .quantities import LOBES, components, lobes, resolved_lobes, unresolved
from .result import Comparison
from .settings import Settings
from .verdict import PERMUTATION, SMALL_SAMPLE, smallest_p_value

#: Of more outlines than this, equally many of each replicate enter the kernels between replicates.
MAX_KERNEL_OUTLINES = 20_000
#: The two tests.
TESTS = ("undulation", "scale")
#: Plain quantities of every outline: the components that are one number, and the bands of lobes.
MEASURED = ("size", "elongation", "roughness", *LOBES)
# Parts of both tests in the small-sample test, and the quantities by whose means these are tested.
_SMALL_SAMPLE_PARTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "undulation": {"coarse form": LOBES[:5], "roughness": ("roughness",)},
    "scale": {"mean size": ("size",), "elongation": ("elongation",)},
}
#: Largest rate of rejections at 0.025 of the small-sample test in null designs with unequal numbers of outlines, as
#: measured by `benchmarks/unequal_precision.py` and `replicates.py small`, rounded up.
HIGHEST_RATE = 0.036
#: Largest factor by which the number of permutations is raised where p-values are close to the level.
MOST_MORE = 50
# With several contrasts, so many times the permutations with which the smallest adjusted p-value reaches the level.
_SPARE_PERMUTATIONS = 3


@dataclass(frozen=True, eq=False)
class Groups(Sealed):
    """Outlines of k groups in one learned shape space: what every contrast, and every test of a design, is made of.

    Attributes
    ----------
    names : tuple of k str
    images : sequence of Ensemble
        In one unit, each of one group; their outlines in this order are the rows of the coordinates.
    compared : sequence of Ensemble
        The same images at one precision, from which was learned: `images` themselves if they are equally precise.
    replicate : (N,) array of int
        Replicate of each outline; by default replicates are images.
    group : (U,) array of int
        Group of each replicate.
    settings : Settings
    learned : Learned
    blocks : (U,) array of int, optional
        Replicates are exchanged only within a block.
    unit : {"images", "replicates"}
        What the replicates are called.
    note : str
        What was changed to bring the outlines to one precision.
    """

    names: tuple[str, ...]
    images: Sequence[Ensemble]
    compared: Sequence[Ensemble]
    replicate: Index
    group: Index
    settings: Settings
    learned: Learned
    blocks: Index | None = None
    unit: str = "images"
    note: str = ""

    @cached_property
    def parts(self) -> Mapping[str, Parts]:
        """Parts of both tests for all outlines, without the differences between blocks."""
        learned, t, descriptors, l = self.learned, self.learned.t, self.learned.descriptors, self.learned.l
        if self.blocks is not None:
            size = l[:, ::2].mean(axis=1, keepdims=True)
            t, descriptors, without = (self._without_blocks(values) for values in (t, descriptors, size))
            l = l + (without - size) * [1, 0, 1]
        return {
            "undulation": form_parts(t, descriptors, self.settings),
            "scale": scale_parts(l, learned.space.scale_mean_, self.settings, learned.known),
        }

    @cached_property
    def kernels(self) -> Mapping[str, Mapping[str, MeanKernels]]:
        """Kernels of the parts, averaged over pairs of replicates."""
        settings, drawn = self.settings, equal_draws(self.replicate, self.settings.seed)
        kernels: dict[str, dict[str, MeanKernels]] = {test: {} for test in TESTS}
        for test, parts in self.parts.items():
            for name, part in parts.tested.items():
                points = part.points if self.blocks is None else self._without_blocks(part.points)
                kernels[test] |= mean_kernels_of_widths(
                    name,
                    points if drawn is None else points[drawn],
                    self.replicate if drawn is None else self.replicate[drawn],
                    kernel=part.kernel,
                    factor=settings.bandwidth,
                    seed=settings.seed,
                )
        return kernels

    def _without_blocks(self, points: Real) -> Real:
        """Points with the block means over replicates removed.

        The kernel is local: without this, equal effects in distant blocks would not add up. Permutations within blocks
        do not change these means, so the test stays exact.
        """
        assert self.blocks is not None
        of_blocks = group_means(group_means(points, self.replicate), self.blocks)
        return np.asarray(points - of_blocks[self.blocks[self.replicate]])

    @cached_property
    def lobes(self) -> dict[str, Real]:
        """Logarithms of lobes, bends and concavity of all outlines; see `quantities.lobes`."""
        return lobes(self.compared, self.settings, self.learned.space.bands_)

    @cached_property
    def measured(self) -> Mapping[str, Real]:
        """Logarithms of the quantities `MEASURED` of all outlines, (N,) each."""
        learned = self.learned
        found = components(learned.space, learned.t, learned.l) | self.lobes
        return {name: found[name] for name in MEASURED}

    @cached_property
    def tested(self) -> Mapping[str, Sequence[str]]:
        """Quantities `measured` that correspond to each test: of the bands of lobes, those that the pixels resolve."""
        return {"undulation": resolved_lobes(self.learned.space.bands_), "scale": ("size", "elongation")}

    @cached_property
    def weights(self) -> Real:
        """`Ensemble.border_weights` of all outlines, (N,); NaN where they are unknown."""
        return np.concatenate([image.border_weights for image in self.compared])

    @property
    def size_factors(self) -> dict[str, float]:
        """How many times as large the mean size of each group is with `weights` as without.

        They are used where both groups of a ratio have known ones.
        """
        group = self.group[self.replicate]
        rows = {name: group == place for place, name in enumerate(self.names)}
        known = [name for name, own in rows.items() if np.isfinite(self.weights[own]).all()]
        return {
            name: size_factor(
                self.measured["size"][own], usable_weights(self.weights[own], self.settings), self.replicate[own]
            )
            if len(known) > 1 and name in known
            else 1.0
            for name, own in rows.items()
        }

    @cached_property
    def means(self) -> Mapping[str, tuple[Real, Real]]:
        """For each test, means over replicates of the quantities that correspond to it, and deviations within them."""
        return {test: self._means_of(names) for test, names in self.tested.items()}

    def _means_of(self, quantities: Sequence[str]) -> tuple[Real, Real]:
        """Means of some quantities over replicates; those of lobes without what is below the precision of outlines."""
        values = np.stack([self.measured[name] for name in quantities], axis=1)
        lobes = [place for place, name in enumerate(quantities) if name in LOBES]
        raised = np.logaddexp(2 * values[:, lobes], 2 * np.log(least_amplitude(self.learned.known))) / 2
        values[:, lobes] = np.where(raised.std(axis=0) > MIN_LOG_SPREAD, raised, raised.mean(axis=0))
        return replicate_means(values, self.replicate)

    @cached_property
    def counts(self) -> Index:
        """Number of outlines of each replicate, (U,)."""
        return np.bincount(self.replicate)

    def small_sample_test(
        self, test: str, hypothesis: Hypothesis, chosen: Index | None = None, quantities: Sequence[str] = ()
    ) -> SmallSampleTest:
        """Test a hypothesis on all or some replicates by `mmd.replicates.small_sample_test`.

        By the means of all quantities that correspond to a test, or of some of those `measured`.
        """
        means, within = self._means_of(quantities) if quantities else self.means[test]
        rows = slice(None) if chosen is None else chosen
        return small_sample_test(means[rows], within, hypothesis, self.counts[rows])

    # ----------------------------------------------------------------------------------------------- contrasts

    def exchanged(self, i: int, j: int) -> str:
        """What the tests of two groups exchange: "curves", or `unit`."""
        counts = (int(np.count_nonzero(self.group == one)) for one in (i, j))
        return "curves" if self.settings.permutes_curves(*counts) else self.unit

    def hypothesis(self, i: int, j: int) -> tuple[Index, Hypothesis]:
        """Replicates of two groups, and the hypothesis that the groups are equal."""
        chosen = np.flatnonzero(np.isin(self.group, (i, j)))
        return chosen, Hypothesis(self.group[chosen] == j, None if self.blocks is None else self.blocks[chosen])

    def rows(self, i: int, j: int) -> tuple[Index, int]:
        """Rows of the outlines of two groups, the first group's first, and their number in the first group."""
        group = self.group[self.replicate]
        first = np.flatnonzero(group == i)
        return np.concatenate([first, np.flatnonzero(group == j)]), len(first)

    def units(self, i: int, j: int) -> tuple[Index | None, Index | None]:
        """Replicate of each outline of two groups, numbered from the first group's, and the block of each replicate.

        None if curves are exchanged; no blocks if there are none.
        """
        if self.exchanged(i, j) == "curves":
            return None, None
        order = np.concatenate([np.flatnonzero(self.group == one) for one in (i, j)])
        numbers = np.empty(len(self.group), dtype=np.intp)
        numbers[order] = np.arange(len(order))
        rows, _ = self.rows(i, j)
        return numbers[self.replicate[rows]], None if self.blocks is None else self.blocks[order]

    def ratios(self, i: int, j: int) -> dict[str, Real]:
        """Ratio j over i of every quantity `measured`, with its interval, (3,): those of the groups' `contrast`.

        NaN of those that the pixels do not resolve.
        """
        rows, first = self.rows(i, j)
        replicate, blocks = self.units(i, j)
        counts = resamples_of_ratios(first, len(rows), self.settings.seed, replicate)
        measured = {name: values[rows] for name, values in self.measured.items()}
        units = Units(replicate, blocks, usable_weights(self.weights[rows], self.settings))
        found = ratios(measured, first, counts, units)
        return found | dict.fromkeys(unresolved(self.learned.space.bands_), np.full(3, np.nan))

    def test(self, i: int, j: int) -> tuple[MMDTest, MMDTest]:
        """Test the undulation and the scale of two groups."""
        tests = [self.test_of(name, i, j) for name in TESTS]
        return tests[0], tests[1]

    def test_of(self, name: str, i: int, j: int) -> MMDTest:
        """One of the two tests of two groups, as it decides: by permutation, or by the small-sample test."""
        report_step(f"testing {name}")
        test = self.permutation_test(name, i, j)
        return self._by_small_sample(name, test, i, j) if self.decided_by(i, j) == SMALL_SAMPLE else test

    def permutation_test(self, name: str, i: int, j: int) -> MMDTest:
        """One of the two tests of two groups by permutation, whether or not it can reach the level."""
        settings, parts = self.settings, self.parts[name]
        if self.exchanged(i, j) == "curves":
            test = curve_test(parts, *self.rows(i, j), settings)
        else:
            chosen, hypothesis = self.hypothesis(i, j)
            draws, level = max(settings.permutations, DRAWS), settings.test_level
            if hypothesis.tested.shape[1]:
                kernels = {part: kernel.subset(chosen) for part, kernel in self.kernels[name].items()}
                test = replicate_mmd_test(kernels, hypothesis, significance=level, draws=draws, seed=settings.seed)
                entered = int(next(iter(self.kernels[name].values())).counts.sum())
                if entered < (total := len(self.replicate)):
                    words = f"of {total} outlines {entered}, equally many of each replicate, enter the kernels"
                    test = replace(test, approximation=words)
            else:  # no block contains both groups
                test = MMDTest(np.nan, 1.0, np.inf, False, 1.0, np.empty(0), level)
        only = {part: test for part in parts.tested if part and parts.left_out and not test.parts}
        return replace(test, parts=test.parts or only, left_out=parts.left_out)

    def _by_small_sample(self, name: str, test: MMDTest, i: int, j: int) -> MMDTest:
        """The test of two groups with the p-values of the small-sample test; its threshold is on the scale of the MMD.

        Parts are the quantities that the small-sample test knows, each tested by its own means.
        """
        chosen, hypothesis = self.hypothesis(i, j)
        m, n = (int(np.count_nonzero(self.group == one)) for one in (i, j))
        unit, level = self.unit, test.significance
        why = f"{m} and {n} {unit} permuted cannot go below p = {p_text(self.least_p(i, j), level)}"
        if not self.exchangeable(i, j):
            first, second = (float(self.counts[self.group == one].mean()) for one in (i, j))
            why = f"{first:.3g} and {second:.3g} outlines in each are too unequal for a permutation"
        words = f"small-sample t-test of the means of {unit}, which are assumed to be roughly Gaussian ({why})"
        if np.ptp(self.counts[chosen]):
            words += f"; with unequal numbers of outlines {HIGHEST_RATE} of null designs were rejected at 0.025 at most"

        def decided(one: MMDTest, small: SmallSampleTest) -> MMDTest:
            # F grows with the square of the difference, as the squared MMD does.
            ratio = np.sqrt(small.f_at(level) / small.f) if small.f > 0 else np.inf
            rejected = small.rejected(level)
            return replace(
                one,
                p_value=small.p_value,
                threshold=agreeing(float(one.mmd * ratio), one.mmd, rejected),
                rejected=rejected,
                null=np.empty(0),
                p_error=0.0,
                parts={},
                approximation=words,
            )

        found = {}
        for part, quantities in _SMALL_SAMPLE_PARTS[name].items():
            if part not in self.parts[name].left_out:
                own = [one for one in quantities if one not in LOBES or one in self.tested[name]]
                found[part] = decided(test.parts.get(part, test), self.small_sample_test(name, hypothesis, chosen, own))
        return replace(decided(test, self.small_sample_test(name, hypothesis, chosen)), parts=found)

    def exchangeable(self, i: int, j: int) -> bool:
        """Whether the replicates of two groups are equally precise, so that they can be permuted."""
        chosen, hypothesis = self.hypothesis(i, j)
        return self.exchanged(i, j) == "curves" or not precision_differs(hypothesis, self.counts[chosen])

    def decided_by(self, i: int, j: int) -> str:
        """Which test decides between two groups: "permutation", or "small-sample" where permutations cannot."""
        if self.exchanged(i, j) == "curves" or self.small_sample(i, j) is None:
            return PERMUTATION
        within_reach = self.least_p(i, j) <= self.settings.test_level and self.exchangeable(i, j)
        return PERMUTATION if within_reach else SMALL_SAMPLE

    def least_p(self, i: int, j: int) -> float:
        """Smallest p-value that the tests of two groups can attain."""
        if self.exchanged(i, j) == "curves":
            rows, first = self.rows(i, j)
            return smallest_p_value(first, len(rows) - first, self.settings.permutations)
        return self.hypothesis(i, j)[1].least_p(max(self.settings.permutations, DRAWS))

    def small_sample(self, i: int, j: int) -> tuple[float, float] | None:
        """p-values of undulation and scale by the small-sample test; None if a group has a single replicate."""
        chosen, hypothesis = self.hypothesis(i, j)
        sizes = np.bincount(self.group[chosen] == j, minlength=2)
        if not hypothesis.tested.shape[1] or min(sizes) < 2 or len(chosen) <= hypothesis.nuisance.shape[1] + 1:
            return None
        undulation, scale = (self.small_sample_test(test, hypothesis, chosen).p_value for test in TESTS)
        return undulation, scale

    def sample(self, group: int) -> tuple[Ensemble, Ensemble]:
        """All outlines of one group, as they were given and as they were compared."""
        groups = self.group[self.replicate[np.cumsum([0, *map(len, self.images[:-1])])]]
        places = np.flatnonzero(groups == group).tolist()

        def pooled(images: Sequence[Ensemble]) -> Ensemble:
            own, name = [images[place] for place in places], self.names[group]
            return own[0] if len(own) == 1 and own[0].name == name else Ensemble.pooled(own, name=name)

        given = pooled(self.images)
        changed = any(self.compared[place] is not self.images[place] for place in places)
        return given, pooled(self.compared) if changed else given

    def contrast(self, i: int, j: int, tests: tuple[MMDTest, MMDTest], **more: Any) -> Comparison:
        """Return two groups as a comparison, given their tests."""
        learned = self.learned
        rows, first = self.rows(i, j)
        replicates, blocks = self.units(i, j)
        t, l, ambiguous, descriptors = (
            taken(values, rows) for values in (learned.t, learned.l, learned.ambiguous, learned.descriptors)
        )
        (a, at_a), (b, at_b) = self.sample(i), self.sample(j)
        assert len(a) == first
        return Comparison(
            a,
            b,
            (at_a, at_b),
            self.settings,
            learned.space,
            t,
            l,
            *tests,
            int(np.count_nonzero(ambiguous)),
            learned.archetype_is_ambiguous,
            descriptors=descriptors,
            permuted=self.exchanged(i, j),
            replicates=replicates,
            blocks=blocks,
            small_sample=None if replicates is None else self.small_sample(i, j),
            decided_by=self.decided_by(i, j),
            note=self.note,
            **more,
        )


def enough_permutations(settings: Settings, contrasts: int) -> Settings:
    """Settings with so many permutations that p-values adjusted for several contrasts can reach the level."""
    if contrasts < 2 or settings.null != "permutation":
        return settings
    enough = ceil(_SPARE_PERMUTATIONS * contrasts / settings.test_level)
    return replace(settings, permutations=max(settings.permutations, enough))


def curve_test(parts: Parts, rows: Index, first: int, settings: Settings) -> MMDTest:
    """Test the first of some rows against the others by exchanging single curves: for these images alone."""
    points = {name: taken(part.points, rows) for name, part in parts.tested.items()}
    kernels = {name: part.kernel for name, part in parts.tested.items()}
    if settings.null == "permutation":
        return pooled_mmd_test(points, first, kernels=kernels, **permutation_options(settings))
    samples, _ = sides({name: replace(part, points=points[name]) for name, part in parts.tested.items()}, first)
    level, seed = settings.test_level, settings.seed
    return gretton_test(samples, settings.null, significance=level, factor=settings.bandwidth, seed=seed)


def permutation_options(settings: Settings) -> Options:
    """Options of the permutation tests from the settings; raises if these select another null."""
    if settings.null != "permutation":
        raise ValueError(f"null {settings.null!r} is for single comparisons only: use null='permutation' here")
    return {
        "permutations": settings.permutations,
        "significance": settings.test_level,
        "factor": settings.bandwidth,
        "approximate_above": settings.approximate_above or None,
        "bins": settings.bins,
        "seed": settings.seed,
        "most": max(settings.permutations, min(MOST_MORE * settings.permutations, MOST_PERMUTATIONS)),
    }


def taken(values: NDArray[Any], rows: Index) -> NDArray[Any]:
    """Rows of an array, without a copy if these are all of them in order."""
    return values if len(rows) == len(values) and (np.diff(rows) == 1).all() else values[rows]


def equal_draws(replicate: Index, seed: int) -> NDArray[np.bool_] | None:
    """Select equally many outlines of each replicate if there are very many; None for all."""
    counts = np.bincount(replicate)
    if len(replicate) <= MAX_KERNEL_OUTLINES:
        return None
    order = np.random.default_rng(seed).permutation(len(replicate))
    order = order[np.argsort(replicate[order], kind="stable")]
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = np.zeros(len(replicate), dtype=np.bool_)
    chosen[order[place < max(MAX_KERNEL_OUTLINES // len(counts), 2)]] = True
    return chosen
