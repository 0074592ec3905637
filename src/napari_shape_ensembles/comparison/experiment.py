"""Experiments: several images of several groups, compared with replicates as exchangeable units."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr, stdtr, stdtrit

from .._types import Index, Real
from ..archive import ContentError, Tree
from ..checks import several
from ..mmd import combined_mmd_test
from ..mmd.contrasts import welch
from ..mmd.kernel import Kernel
from ..mmd.replicates import (
    DRAWS,
    Hypothesis,
    MeanKernels,
    ReplicateTest,
    SmallSampleTest,
    closed_p_values,
    least_p,
    mean_kernels,
    replicate_test,
    small_sample_test,
)
from ..outlines import Ensemble, at_one_pixel_size
from ..outlines.gate import reasons_of_sets
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..progress import Listener, as_part, report, reporting
from ..shapes.lobes import band_name
from ..words import counted
from . import records
from .compare import permutation_options, sample_of
from .design import FEW_REPLICATES, Design, cannot_reach, checked_design, numbers_below
from .figures import plot_experiment
from .learning import COMPARISON_STEPS, learn
from .parts import form_parts, scale_parts, tests_components
from .quantities import LOBES, Quantities, quantities
from .settings import Settings
from .verdict import INCONCLUSIVE, ROUNDING, smallest_p_value, table_row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


#: The two tests, and the plain quantities that correspond to each.
TESTS = {"undulation": tuple(band_name(*band) for band in LOBES), "scale": ("size", "elongation")}
#: Quantities whose ratios are the effects in the table.
EFFECTS = {"undulation": "roughness", "scale": "size"}
# From this many contrasts on, a table is a screen: the false discovery rate is controlled.
_MIN_SCREEN_CONTRASTS = 20
# Of more outlines than this, equally many of each replicate are drawn for learning the shape space.
MAX_LEARNED_OUTLINES = 20_000
# A replicate with fewer outlines than this gives a note that its mean is imprecise.
_MIN_OUTLINES = 10
_STEPS = (*COMPARISON_STEPS[:-2], "measuring outlines", "computing kernels between replicates", "done")
_COVERAGE = 0.95
# Quantiles of a standard deviation over which a power is averaged.
_QUANTILES = 100_000
# Maximum number of faults of outlines listed in the warnings.
_LISTED = 3
# Columns that identify an outline.
_ID_COLUMNS = ("id", "image", "replicate")
# Array attributes of mean kernels.
_KERNEL_ARRAYS = ("between", "counts", "own")
_P_VALUE_COLUMNS = ("p", "p_adjusted", "small_sample_p", "small_sample_p_adjusted")
_NUMBERS = (*_P_VALUE_COLUMNS, "statistic", "effect", "low", "high", "n_replicates", "least_p")
_COLUMNS = (
    *("contrast", "a", "b", "case", "small_sample_case", "permuted"),
    *(f"{test}_{number}" for test in TESTS for number in _NUMBERS),
)


class _Options(TypedDict):
    draws: int
    seed: int


class Points(NamedTuple):
    """A description of outlines (N, d), the replicate of each (N,), and the kernel it is tested with."""

    values: Real
    replicate: Index
    kernel: Kernel = "gaussian"


class Joint(NamedTuple):
    """p-values of the two tests."""

    undulation: float
    scale: float


class HypothesisTests(NamedTuple):
    """Both tests of one hypothesis, by permutation and by the small-sample test."""

    undulation: ReplicateTest
    scale: ReplicateTest
    undulation_small_sample: SmallSampleTest
    scale_small_sample: SmallSampleTest

    @property
    def p_values(self) -> Joint:
        """p-values of the permutation tests."""
        return Joint(self.undulation.p_value, self.scale.p_value)


class Difference(NamedTuple):
    """Difference of two means of replicates, with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self, coverage: float = _COVERAGE) -> tuple[float, float]:
        """Student's interval; infinite without replication."""
        if not self.freedom > 0:
            return -np.inf, np.inf
        reach = float(stdtrit(self.freedom, (1 + coverage) / 2)) * self.error
        return self.value - reach, self.value + reach

    def equivalence_p(self, margin: float) -> float:
        """p-value of the null "at least as far apart as the margin": two one-sided t-tests (TOST)."""
        if not self.freedom > 0:
            return 1.0
        error = max(self.error, np.finfo(float).tiny)
        return float(stdtr(self.freedom, (abs(self.value) - margin) / error))


@dataclass(frozen=True, eq=False)
class Experiment:
    """Comparison of several groups of images: a row for each contrast, tests of all groups at once, and effects.

    Attributes
    ----------
    design : Design
        Groups, replicates, blocks and covariates.
    settings : Settings
    coordinates : mapping of str to mapping of str to Points
        Descriptions of the outlines by the parts of "undulation" and "scale".
    kernels : mapping of str to mapping of str to MeanKernels
        Kernels of these parts, averaged over pairs of replicates.
    outlines : DataFrame
        One row per outline: its id, image and replicate (indices), and the logarithms of its quantities.
    correction : {"family", "fdr"}
        Adjustment of the contrasts' p-values.
    unit : str
        Unit of the outlines.
    note : str
        Resampling of images of unequal pixel size, or why there was none.
    left_out : mapping of str to str
        Parts of the tests without any power on these data, which were not tested, with the reason.
    faults : tuple of str
        Serious faults of the outlines of each contrast, in the order of the table, which withhold its row unless
        `settings.overrule` (see `quality`); "" if there are none.
    overall_fault : str
        The same of the outlines of all groups, which withholds the answers of `overall`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from napari_shape_ensembles import Ensemble, Settings, experiment, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> images = [side.subset(np.arange(len(side)) % 6 == i) for side in (a, b) for i in range(6)]
    >>> design = pd.DataFrame({"group": ["sieved"] * 6 + ["raw"] * 6})
    >>> result = experiment(images, design, Settings(landmarks=60, rank=10, significance=0.05))
    >>> result.table[["contrast", "case", "scale_least_p"]].round(3).values.tolist()
    [['raw - sieved', '1∧0', 0.002]]
    """

    design: Design
    settings: Settings
    coordinates: Mapping[str, Mapping[str, Points]]
    kernels: Mapping[str, Mapping[str, MeanKernels]]
    outlines: "pd.DataFrame"
    correction: str
    unit: str
    note: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    overall_fault: str = ""

    # ------------------------------------------------------------------------------------------- tests

    def test(self, column: str = "group", given: Sequence[str] = ()) -> HypothesisTests:
        """Test the effect of a column of the design, adjusted for others.

        Parameters
        ----------
        column : str
            The group, another factor, or a covariate (as a linear and a monotone trend).
        given : sequence of str
            Columns to adjust for (allometry: form given size). Then means of named quantities are tested (bands of
            lobes; size and elongation) instead of whole distributions, and the permutation test is approximate.

        Returns
        -------
        HypothesisTests
        """
        columns = [self.design.column(column)]
        if column in self.design.covariates:
            columns.append(_ranks(columns[0]))
        return self._tests([self.design.hypothesis(one, given) for one in columns])

    def overall(self, given: Sequence[str] = (), interactions: Sequence[tuple[str, str]] = ()) -> list[str]:
        """Sentences on all groups at once, on the trend with every covariate, and on the power of more replicates.

        Tests that are impossible with so few replicates, or such a design, are reported as such, and faults of the
        outlines in place of the answers that they withhold.

        Parameters
        ----------
        given : sequence of str
            Columns that tests of groups and trends are adjusted for (see `test`), in addition to the unadjusted tests.
        interactions : sequence of (str, str)
            Pairs of columns to be tested for an interaction; see `interaction`.
        """
        between, trend = (
            ("differs between groups", "does not differ detectably"),
            ("changes", "does not change detectably"),
        )
        groups, known = len(self.design.groups), ", ".join(given)
        said = []
        if groups > 2:
            said.append(f"Over all {groups} groups: {self._joint_sentence(partial(self.test, 'group'), *between)}.")
        if given and groups > 1 and "group" not in given:
            adjusted = self._joint_sentence(partial(self.test, "group", given), *between)
            said.append(f"Given {known}: {adjusted}{self._adjusted_ratios(given)}.")
        for name in self.design.covariates:
            said.append(f"With {name}: {self._joint_sentence(partial(self.test, name), *trend)}.")
            if given and name not in given:
                said.append(
                    f"With {name}, given {known}: {self._joint_sentence(partial(self.test, name, given), *trend)}."
                )
        for one, other in interactions:
            words = self._joint_sentence(partial(self.interaction, one, other), "detected", "not detected", " in")
            said.append(f"Interaction {one} × {other}:{words}.")
        if groups > 1 and not self.variance["between"].isna().any():
            least = max(int(np.bincount(self.design.group).min()), FEW_REPLICATES + 1)
            plans = self.planning((least, 2 * least))
            first, more = (f"{ratio:.2f}" if ratio > 1.005 else f"{ratio:.4f}" for ratio in plans["size"])
            said.append(
                f"{least} replicates per group detect a size ratio of {first} with probability 0.8, {2 * least} one of "
                f"{more}."
            )
        return said

    def _joint_sentence(self, tested: Callable[[], HypothesisTests], differs: str, alike: str, before: str = "") -> str:
        if self.overall_fault and not self.settings.overrule:
            return f"{before and ' '}{INCONCLUSIVE} ({self.overall_fault})"
        try:
            found = tested()
        except ValueError as error:
            return f"{before and ' '}not testable ({error})"
        words = []
        for what, test in (("form", found.undulation), ("scale", found.scale)):
            what = f"{before} {what}" if before else what
            if test.least_p > self.settings.significance:
                words.append(f"{what} not testable by permutation (p = {test.p_value:.2g})")
            else:
                rejected = test.p_value <= self.settings.significance
                words.append(f"{what} {differs if rejected else alike} (p = {test.p_value:.2g})")
        return ";".join(words) if before else "; ".join(words)

    def _adjusted_ratios(self, given: Sequence[str]) -> str:
        """Describe the adjusted ratios of two groups."""
        if len(self.design.groups) > 2 or (self.overall_fault and not self.settings.overrule):
            return ""
        second, words = (self.design.group == 1).astype(np.float64), ""
        try:
            hypothesis = self.design.hypothesis(second[:, None], given)
        except ValueError:  # an unknown column, already reported by the test
            return ""
        for quantity in EFFECTS.values():
            ratio = _slope(second, self.means[quantity].to_numpy(), hypothesis)
            if ratio.freedom > 0:
                low, high = (float(np.exp(end)) for end in ratio.interval())
                words += f"; {quantity} ratio {np.exp(ratio.value):.3g}, 95 % interval {low:.3g} to {high:.3g}"
        return words

    @property
    def omnibus(self) -> Joint:
        """Omnibus p-values of the undulation and the scale test: whether any of the groups differ."""
        return self.test().p_values

    def trend(self, column: str, given: Sequence[str] = ()) -> Joint:
        """p-values of the undulation and the scale test of a trend with a covariate, such as a dose.

        A linear and a monotone trend (in the ranks) are tested on the same permutations and combined. See `slopes` for
        the effect size, and `test` for details.
        """
        if column not in self.design.covariates:
            known = ", ".join(self.design.covariates) or "none"
            raise ValueError(f"a trend needs a numeric column, which {column!r} is not; the design has {known}")
        return self.test(column, given).p_values

    def interaction(self, first: str, second: str) -> HypothesisTests:
        """Test the interaction of two factors or covariates, adjusted for both main effects.

        As `test` with `given`, based on means of named quantities, in which additive effects are not an interaction.
        """
        one, other = self.design.column(first), self.design.column(second)
        if {first, second} <= set(self.design.factors):
            empty = np.argwhere(one.T @ other == 0)
            levels = [np.unique(self.design.replicates[name].to_numpy(dtype=str)) for name in (first, second)]
            if len(empty) and (one.shape[1] - 1) * (other.shape[1] - 1) <= len(empty):
                missing = f"{levels[0][empty[0][0]]} with {levels[1][empty[0][1]]}"
                raise ValueError(
                    f"whether the effect of {first} depends on {second} cannot be tested: no replicate is {missing}"
                )
        products = np.einsum("ui,uj->uij", one - one.mean(axis=0), other - other.mean(axis=0)).reshape(len(one), -1)
        hypothesis = self.design.hypothesis(products, (first, second))
        if not hypothesis.tested.shape[1]:
            raise ValueError(
                f"whether the effect of {first} depends on {second} cannot be tested: each must vary while the "
                "other is fixed, for at least two of its values"
            )
        return self._tests([hypothesis])

    def _tests(self, hypotheses: Sequence[Hypothesis]) -> HypothesisTests:
        taken_out = any(one.covariates is not None for one in hypotheses)
        kernels = {test: self._kernel_of_means(test) for test in TESTS} if taken_out else self.kernels
        return HypothesisTests(
            replicate_test(kernels["undulation"], *hypotheses, **self._options),
            replicate_test(kernels["scale"], *hypotheses, **self._options),
            self._small_sample("undulation", hypotheses[0]),
            self._small_sample("scale", hypotheses[0]),
        )

    def _kernel_of_means(self, test: str) -> dict[str, MeanKernels]:
        """Inner products of the replicates' means in the quantities of a test, in standard deviations of outlines.

        Effects that are additive in these means are not so in embeddings of whole distributions: a kernel of outlines
        would report two additive effects as an interaction.
        """
        names = list(TESTS[test])
        within = np.asarray(self._within[names], dtype=np.float64)
        values = self.means[names].to_numpy() / np.where(within > 0, within, 1)
        gram = (values - values.mean(axis=0)) @ (values - values.mean(axis=0)).T
        return {"means": MeanKernels(gram, np.ones(len(gram), dtype=np.intp), 1.0, np.diag(gram))}

    def _small_sample(self, test: str, hypothesis: Hypothesis, chosen: Index | slice = slice(None)) -> SmallSampleTest:
        names = list(TESTS[test])
        means = self.means[names].to_numpy()[chosen]
        return small_sample_test(means, np.asarray(self._within[names], dtype=np.float64), hypothesis)

    # ----------------------------------------------------------------------------------------- contrasts

    @cached_property
    def table(self) -> "pd.DataFrame":
        """Table with one row per contrast: all pairs of groups, or all against the control.

        Columns: contrast ("b - a"), a, b, case (row of the truth table by the adjusted p-values, or "inconclusive"),
        small_sample_case, permuted ("replicates"; "curves" if neither side has replicates: then the row holds for these
        images alone). For undulation and scale each, as `undulation_p`, ...:

        - p, p_adjusted: by permuting replicates; closed family-wise, or false discovery rate in a screen;
        - small_sample_p, small_sample_p_adjusted: see `small_sample_test`; Holm's method, or false discovery rate;
        - statistic: MMD of the mean embeddings, of the part with the smallest p-value;
        - effect, low, high: ratio b over a of the roughness, and of the size, with its 95 % interval;
        - n_replicates: of both groups together;
        - least_p: the smallest p-value attainable with this number of replicates.
        """
        import pandas as pd  # slow to import, and not needed for the tests

        rows: list[dict[str, Any]] = []
        for place, (i, j) in enumerate(self.design.pairs):
            report("contrasts", place, len(self.design.pairs))
            rows.append(self._contrast(i, j))
        table, level = pd.DataFrame(rows, columns=_COLUMNS), self.settings.significance
        for test in TESTS:
            p_values, small = (table[f"{test}_{kind}"].to_numpy(dtype=float) for kind in ("p", "small_sample_p"))
            if self.correction == "family" and rows and (table["permuted"] == "replicates").all():
                contrasts = self.design.group, self.design.pairs, p_values, self.design.blocks
                adjusted = closed_p_values(self.kernels[test], *contrasts, **self._options)
            else:
                adjusted = _adjusted(p_values, self.correction)
            table[f"{test}_p_adjusted"] = adjusted
            table[f"{test}_small_sample_p_adjusted"] = _adjusted(small, self.correction)
        clear = np.array([not reason for reason in self._withheld], dtype=np.bool_)
        least = table[[f"{test}_least_p" for test in TESTS]].max(axis=1).astype(float)
        for name, kind, reachable in (
            ("case", "p_adjusted", self._reachable(least, table["permuted"])),
            ("small_sample_case", "small_sample_p_adjusted", least >= 0),
        ):
            undulation, scale = (table[f"{test}_{kind}"] for test in TESTS)
            known = reachable & ~undulation.isna() & ~scale.isna() & clear
            cells = zip(undulation <= level, scale <= level, known, strict=True)
            table[name] = [table_row(u, s) if answered else INCONCLUSIVE for u, s, answered in cells]
        return table

    @property
    def _options(self) -> _Options:
        """Options of drawing labelings. They are cheap: at least ten thousand, including the observed one."""
        return {"draws": max(self.settings.permutations, DRAWS), "seed": self.settings.seed}

    def _contrast(self, i: int, j: int) -> dict[str, Any]:
        """One row of the table, unadjusted."""
        design = self.design
        chosen = np.flatnonzero(np.isin(design.group, (i, j)))
        sizes = [int((design.group == g).sum()) for g in (i, j)]
        by_curves = self.settings.permute == "curves" or (self.settings.permute == "auto" and max(sizes) < 2)
        a, b = design.groups[i], design.groups[j]
        found: dict[str, Any] = {"contrast": f"{b} - {a}", "a": a, "b": b}
        found["permuted"] = "curves" if by_curves else "replicates"
        blocks = None if design.blocks is None else design.blocks[chosen]
        hypothesis = Hypothesis(design.group[chosen] == j, blocks)
        # False for two groups that share no block.
        enough = hypothesis.tested.shape[1] > 0 and len(chosen) > hypothesis.nuisance.shape[1] + 1
        for test in TESTS:
            if by_curves:
                p_value, statistic, least = self._curve_test(test, i, j)
            elif not enough:
                p_value, statistic, least = 1.0, np.nan, 1.0
            else:
                kernels = {name: kernel.subset(chosen) for name, kernel in self.kernels[test].items()}
                permuted = replicate_test(kernels, hypothesis, **self._options)
                p_value, statistic, least = permuted.p_value, permuted.statistic, permuted.least_p
                statistic *= np.sqrt(1 / sizes[0] + 1 / sizes[1])
            ratio = self._difference(EFFECTS[test], i, j)
            low, high = ratio.interval()
            values = {
                "p": p_value,
                "small_sample_p": self._small_sample(test, hypothesis, chosen).p_value if enough else np.nan,
                "statistic": statistic,
                "effect": np.exp(ratio.value),
                "low": np.exp(low),
                "high": np.exp(high),
                "n_replicates": len(chosen),
                "least_p": least,
            }
            found |= {f"{test}_{name}": value for name, value in values.items()}
        return found

    def _curve_test(self, test: str, i: int, j: int) -> tuple[float, float, float]:
        """p-value, MMD and least p-value with single outlines exchangeable: for these images alone."""
        samples = {}
        for name, points in self.coordinates[test].items():
            group = self.design.group[points.replicate]
            samples[name] = points.values[group == i], points.values[group == j]
        kernels = {name: points.kernel for name, points in self.coordinates[test].items()}
        found = combined_mmd_test(samples, kernels=kernels, **permutation_options(self.settings))
        a, b = next(iter(samples.values()))
        return found.p_value, found.mmd, smallest_p_value(len(a), len(b), self.settings.permutations)

    @property
    def _withheld(self) -> Sequence[str]:
        """For each contrast, why faults of its outlines withhold its row; "" if they do not."""
        return self.faults if self.faults and not self.settings.overrule else [""] * len(self.design.pairs)

    @property
    def withheld(self) -> tuple[str, ...]:
        """For each contrast, the faults of its outlines that withhold its row; "" if none do, or too few replicates."""
        least, permuted = (self.table[f"{test}_least_p"] for test in TESTS), self.table["permuted"]
        reachable = np.all([self._reachable(one, permuted) for one in least], axis=0)
        return tuple(reason if within else "" for reason, within in zip(self._withheld, reachable, strict=True))

    def _reachable(self, least: Any, permuted: Any) -> Any:
        """Whether least p-values reach the level; those of outlines half of it, as they vary with the draw."""
        return least <= np.where(permuted == "curves", 0.5, 1) * self.settings.significance * (1 + ROUNDING)

    # ------------------------------------------------------------------------------------- plain quantities

    @cached_property
    def means(self) -> "pd.DataFrame":
        """Mean logarithm of each quantity over the outlines of every replicate, one row per replicate."""
        return self.outlines.drop(columns=["id", "image"]).groupby("replicate", sort=True).mean()

    @cached_property
    def _within(self) -> "pd.Series[float]":
        """Standard deviation of each quantity between the outlines of one replicate."""
        import pandas as pd

        values = self.outlines.drop(columns=list(_ID_COLUMNS))
        left = values.to_numpy() - self.means.to_numpy()[self.outlines["replicate"]]
        freedom = max(len(values) - len(self.means), 1)
        return pd.Series(np.sqrt((left**2).sum(axis=0) / freedom), values.columns)

    def _difference(self, quantity: str, i: int, j: int) -> Difference:
        """Mean of group j minus mean of group i, at the level of replicates.

        By Welch's method if both groups have at least two replicates and there are no blocks, else by least squares
        with one residual variance.
        """
        group, values = self.design.group, self.means[quantity].to_numpy()
        a, b = values[group == i], values[group == j]
        if self.design.blocks is None and min(len(a), len(b)) > 1:
            return Difference(*map(float, welch(a, b)))
        chosen = np.flatnonzero(np.isin(group, (i, j)))
        blocks = None if self.design.blocks is None else self.design.blocks[chosen]
        return _slope((group[chosen] == j).astype(float), values[chosen], Hypothesis(group[chosen] == j, blocks))

    @cached_property
    def effects(self) -> "pd.DataFrame":
        """Ratio b over a of every plain quantity of every contrast, with its 95 % interval over replicates.

        Columns: contrast, quantity, ratio, low, high; difference, in standard deviations of the outlines of one
        replicate.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for i, j in self.design.pairs:
            for quantity in map(str, self.means):
                found = self._difference(quantity, i, j)
                low, high = found.interval()
                rows.append(
                    {
                        "contrast": f"{self.design.groups[j]} - {self.design.groups[i]}",
                        "quantity": quantity,
                        "ratio": np.exp(found.value),
                        "low": np.exp(low),
                        "high": np.exp(high),
                        "difference": found.value / self._within[quantity] if self._within[quantity] else 0.0,
                    }
                )
        return pd.DataFrame(rows, columns=["contrast", "quantity", "ratio", "low", "high", "difference"])

    def slopes(self, column: str, given: Sequence[str] = ()) -> "pd.DataFrame":
        """Ratio of every plain quantity per unit of a covariate, with its 95 % interval over replicates."""
        import pandas as pd

        hypothesis = self.design.hypothesis(self.design.column(column), given)
        rows = []
        for quantity in map(str, self.means):
            found = _slope(self.design.column(column)[:, 0], self.means[quantity].to_numpy(), hypothesis)
            low, high = found.interval()
            ratios = {"ratio": np.exp(found.value), "low": np.exp(low), "high": np.exp(high)}
            rows.append({"quantity": quantity, **ratios})
        return pd.DataFrame(rows)

    @cached_property
    def variance(self) -> "pd.DataFrame":
        """Variance components of the replicates of one group and the outlines within them; one row per quantity.

        Columns: quantity; within, between: standard deviations (of logarithms) of outlines within a replicate, and of
        replicates of one group beyond the sampling error of their outlines; icc, the intraclass correlation, is the
        share of the variance between replicates; outlines, their mean number per replicate; design_effect, 1 +
        (outlines - 1)·icc; worth, the effective number of independent outlines per replicate.
        """
        import pandas as pd

        counts = np.bincount(self.outlines["replicate"])
        nuisance = self.design.hypothesis(self.design.column("group")).nuisance
        group = _basis(np.concatenate([nuisance, self.design.column("group")], axis=1))
        freedom = len(counts) - group.shape[1]
        rows = []
        for quantity in map(str, self.means):
            values = self.means[quantity].to_numpy()
            rest = values - group @ (group.T @ values)
            within = float(self._within[quantity])
            between = max((rest**2).sum() / freedom - within**2 * (1 / counts).mean(), 0) if freedom > 0 else np.nan
            icc = between / (between + within**2) if within or between else 0.0
            effect = 1 + (counts.mean() - 1) * icc
            sizes = {"outlines": counts.mean(), "design_effect": effect, "worth": counts.mean() / effect}
            rows.append({"quantity": quantity, "within": within, "between": between**0.5, "icc": icc, **sizes})
        return pd.DataFrame(rows)

    def equivalence(
        self, margin: float = 0.1, *, form: float = 0.2, of_replicates: float | None = None
    ) -> "pd.DataFrame":
        """Test whether groups are equivalent within a margin; one row per contrast.

        Parameters
        ----------
        margin : float
            Margin of size and elongation, as a fraction: 0.1 is a ratio between 1/1.1 and 1.1.
        form : float
            Margin of the log amplitude of each band of lobes, in standard deviations of the outlines of one replicate.
        of_replicates : float, optional
            Overrides both: margin in standard deviations of replicates' means, for all quantities.

        Returns
        -------
        DataFrame
            contrast; case, with "=" for equivalence within the margin, "0" for a difference and "1" if neither was
            detected, or "inconclusive" where faults of the outlines withhold the row of the table; undulation_p,
            scale_p: largest p-value over the quantities of the test, each of the null "at least as far apart as the
            margin"; undulation_p_adjusted, scale_p_adjusted: by Holm's method, or the false discovery rate in a screen.

        Notes
        -----
        Two one-sided t-tests of the means of replicates for each quantity (Schuirmann 1987), all of which must reject
        (Berger 1982), so no further adjustment is needed within a row. With `of_replicates` the F test with a
        noncentral null (Wellek 2010, section 6.1). Equivalence is shown for the means of these quantities only.

        References
        ----------
        D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", Journal of
        Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680.
        """
        import pandas as pd

        margins: dict[str, Any] = {"margin": margin, "form": form}
        margins |= {} if of_replicates is None else {"of_replicates": of_replicates}
        for name, value in margins.items():
            if not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
                raise ValueError(f"{name} {value!r}: give a positive margin, such as 0.1")
        rows = []
        for i, j in self.design.pairs:
            found: dict[str, Any] = {"contrast": f"{self.design.groups[j]} - {self.design.groups[i]}"}
            for test, names in TESTS.items():
                within = self._within[list(names)] * form if test == "undulation" else np.log1p(margin)
                limits = np.broadcast_to(np.asarray(within, dtype=float), len(names))
                differences = [self._difference(name, i, j) for name in names]
                found[f"{test}_p"] = max(
                    one.equivalence_p(limit) if of_replicates is None else self._relative_p(one, i, j, of_replicates)
                    for one, limit in zip(differences, limits, strict=True)
                )
            rows.append(found)
        table = pd.DataFrame(rows, columns=["contrast", *(f"{test}_p" for test in TESTS)])
        cells = []
        for test in TESTS:
            table[f"{test}_p_adjusted"] = _adjusted(table[f"{test}_p"].to_numpy(dtype=float), self.correction)
            differs = self.table[f"{test}_p_adjusted"] <= self.settings.significance
            same = table[f"{test}_p_adjusted"] <= self.settings.significance
            cells.append(np.where(same, "=", np.where(differs, "0", "1")))
        cases = [f"{u}∧{s}" for u, s in zip(*cells, strict=True)]
        cases = [INCONCLUSIVE if reason else case for case, reason in zip(cases, self._withheld, strict=True)]
        table.insert(1, "case", cases)
        return table

    def _relative_p(self, found: Difference, i: int, j: int, margin: float) -> float:
        """p-value of a standardized difference of at least `margin`, given the t statistic: noncentral F."""
        from scipy.stats import ncf  # slow to import

        if not found.freedom > 0:
            return 1.0
        sizes = [(self.design.group == g).sum() for g in (i, j)]
        t = found.value / max(found.error, np.finfo(float).tiny)
        return float(ncf.cdf(t**2, 1, found.freedom, margin**2 / (1 / sizes[0] + 1 / sizes[1])))

    def power(self, ratio: float, replicates: int, quantity: str = "size") -> float:
        """Probability that a given number of replicates per side detects a ratio of a quantity.

        Parameters
        ----------
        ratio : float
            Ratio of the means of two groups, such as 1.15.
        replicates : int
            Number of replicates a side, each with as many outlines as here.
        quantity : str
            One of the quantities of `variance`.

        Returns
        -------
        float
            Power of a two-sided t-test of replicates at the level of the settings, with the variance between replicates
            estimated here.
        """
        spread = self._spread_of_means(quantity)
        if not ratio > 0 or replicates < 2:
            raise ValueError(f"ratio {ratio}, {replicates} replicates: give a positive ratio and at least 2 per side")
        return t_test_power(abs(float(np.log(ratio))) / max(spread, 1e-12), replicates, self.settings.significance)

    def planning(self, replicates: Sequence[int] = (3, 4, 5, 6, 8, 10, 12, 20), power: float = 0.8) -> "pd.DataFrame":
        """Smallest ratio of each quantity that a given number of replicates per side detects with a given probability.

        Returns
        -------
        DataFrame
            One row per number of replicates a side: replicates, least_p by permutation, and a column for each quantity.
            The variance between replicates is estimated here (see `variance`).

        Raises
        ------
        ValueError
            For fewer than 2 replicates a side, or a power that is not between the level and 1.
        """
        import pandas as pd
        from scipy.optimize import brentq

        if not self.settings.significance < power < 1:
            raise ValueError(
                f"power {power}: give a probability between the level {self.settings.significance:g} and 1, such as 0.8"
            )
        if odd := [count for count in replicates if count != int(count) or count < 2]:
            raise ValueError(f"{odd[0]} replicates: give integers of at least 2 per side")
        replicates = [int(count) for count in replicates]
        rows = []
        for count in replicates:
            found: dict[str, float] = {"replicates": count, "least_p": least_p(count, count)}
            # The difference in standard deviations of replicates' means is the same for all quantities.
            most = 200.0
            while t_test_power(most, count, self.settings.significance) < power:
                most *= 10
            shift = brentq(lambda x, n=count: t_test_power(x, n, self.settings.significance) - power, 0, most)
            found |= {str(name): float(np.exp(shift * self._spread_of_means(str(name)))) for name in self.means}
            rows.append(found)
        return pd.DataFrame(rows)

    def _spread_of_means(self, quantity: str) -> float:
        """Standard deviation of the means of replicates of one group."""
        if quantity not in self.means:
            raise ValueError(f"{quantity!r} is not one of the quantities: {', '.join(map(str, self.means))}")
        one = self.variance.set_index("quantity").loc[quantity]
        counts = np.bincount(self.outlines["replicate"])
        if np.isnan(one["between"]):
            raise ValueError("no group has two replicates: the variation between replicates is unknown")
        return float(np.sqrt(one["between"] ** 2 + one["within"] ** 2 * (1 / counts).mean()))

    @cached_property
    def distance(self) -> "pd.DataFrame":
        """Distance matrix of all pairs of groups.

        The norm of the MMDs of undulation and scale, each for the mean of its parts' kernels.
        """
        import pandas as pd

        k, group = len(self.design.groups), self.design.group
        squares = np.zeros((k, k))
        share = (group[:, None] == np.arange(k)) / np.bincount(group, minlength=k)
        for kernels in self.kernels.values():
            inner = share.T @ np.mean([one.between for one in kernels.values()], axis=0) @ share
            squares += np.diag(inner)[:, None] + np.diag(inner) - 2 * inner
        return pd.DataFrame(np.sqrt(np.maximum(squares, 0)), self.design.groups, self.design.groups)

    # ------------------------------------------------------------------------------------------------ words

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats to the table, in plain sentences."""
        by_curves = self.settings.permute == "curves"
        found = [*self.design.notes]
        if not by_curves:
            found += [f"{words}." for words in self.design.forecast(self.settings.significance)[:3]]
        if self.note:
            found.append(f"{self.note}.")
        reasons = [reason for reason in dict.fromkeys(self.faults) if reason] or [*filter(None, [self.overall_fault])]
        found += [f"{reason}." for reason in reasons[:_LISTED]]
        if len(reasons) > _LISTED:
            found.append(f"{counted(len(reasons) - _LISTED, 'more contrast')} of outlines with other faults.")
        if isinstance(self.settings.bandwidth, tuple) and not tests_components(self.settings):
            found.append(f"Of the kernel widths only the first, {_factor(self.settings):g} × median, was used.")
        for reason in dict.fromkeys(self.left_out.values()):
            parts = [part for part in self.left_out if self.left_out[part] == reason]
            found.append(f"Not tested: {', '.join(parts)} ({reason}).")
        if self.unit == "pixel":
            found.append("Sizes are compared in pixels: make sure all images have the same pixel size.")
        sizes = np.bincount(self.design.group)
        if 2 <= sizes.min() < FEW_REPLICATES:
            found.append(
                "The small-sample test assumes that replicate means are Gaussian: one outlying replicate lowers "
                "its power, and unequal numbers of outlines slightly distort its level."
            )
        counts = np.bincount(self.outlines["replicate"])
        if (few := np.flatnonzero((counts < _MIN_OUTLINES) & (counts < np.median(counts) / 2))).size:
            names = [" of ".join(self.design.replicates[["replicate", "group"]].iloc[place]) for place in few[:3]]
            listed = f"{', '.join(names)}{' ...' if len(few) > 3 else ''}"
            found.append(
                f"Each replicate has the same weight, even those with few outlines: {listed} ({counts[few].max()} "
                f"at most; the median is {np.median(counts):g})."
            )
        table, level = self.table, self.settings.significance
        if any(
            ((table[f"{test}_p_adjusted"] > level) & ((table[f"{test}_low"] > 1) | (table[f"{test}_high"] < 1))).any()
            for test in EFFECTS
        ):
            found.append(
                "Where an interval excludes 1 and no difference is detected: intervals are 95 % intervals of single "
                f"ratios, groups are compared by adjusted p-values at a level of {level:g}."
            )
        if by_curves:
            found.append("Single outlines were permuted: the rows hold for these images only, not for the conditions.")
        elif (self.table["permuted"] == "curves").any():
            found.append(
                "Where neither side has replicates, outlines were permuted: those rows hold for these images only."
            )
        return tuple(found)

    def sentences(self, margin: float = 0.1) -> list[str]:
        """Return one sentence per contrast.

        Parameters
        ----------
        margin : float
            Ratio of size that counts as equivalent, as in `equivalence`.

        Returns
        -------
        list of str
            For form and scale each: that it differs; that it is equivalent within the margin; or that no difference was
            detected, with the largest ratio that could have been missed. Where faults of the outlines withhold the row,
            those.
        """
        same = self.equivalence(margin).to_dict("records")
        return [
            self._sentence({str(name): value for name, value in found.items()}, of_same, margin, fault)
            for found, of_same, fault in zip(self.table.to_dict("records"), same, self.withheld, strict=True)
        ]

    def _sentence(self, found: Mapping[str, Any], same: Mapping[Any, Any], margin: float, fault: str) -> str:
        level = self.settings.significance
        if fault:
            return f"{found['b']} against {found['a']}: {INCONCLUSIVE}: {fault}."
        words = []
        for test, what, within in (
            ("undulation", "form", "0.2 standard deviations of every band of lobes"),
            ("scale", "scale", f"{100 * margin:.3g} % in size and elongation"),
        ):
            p, low, high = (found[f"{test}_{name}"] for name in ("p_adjusted", "low", "high"))
            effect = _ratio_words(EFFECTS[test], found[f"{test}_effect"], low, high)
            if np.isnan(found[f"{test}_effect"]):
                effect = "no block contains both groups"
            elif test == "scale":  # which may differ in elongation alone
                groups = list(self.design.groups)
                ratio = self._difference("elongation", groups.index(found["a"]), groups.index(found["b"]))
                effect += f"; {_ratio_words('elongation', *np.exp([ratio.value, *ratio.interval()]).tolist())}"
            small = found[f"{test}_small_sample_p_adjusted"]
            beside = f"; small-sample test p = {small:.2g}" if found["case"] == INCONCLUSIVE and small == small else ""
            reachable = self._reachable(found[f"{test}_least_p"], found["permuted"])
            equivalence_p = same[f"{test}_p_adjusted"]
            differs = reachable and p <= level
            if equivalence_p <= level:
                alike = f"equivalent within {within} (equivalence p = {equivalence_p:.2g}"
                tested = f"p = {p:.2g}{beside}; {effect})"
                words.append(f"{what} differs but is {alike}; {tested}" if differs else f"{what} is {alike}; {tested}")
            elif not reachable:
                words.append(f"{what} not testable by permutation (p = {p:.2g}{beside}; {effect})")
            elif differs:
                words.append(f"{what} differs (p = {p:.2g}; {effect})")
            else:
                missed = max(high, 1 / low) if low > 0 else np.inf
                of = f"of {EFFECTS[test]} " if test == "scale" else ""
                could = f", a ratio {of}up to {missed:.3g} could have been missed" if np.isfinite(missed) else ""
                words.append(f"no difference in {what} detected (p = {p:.2g}; {effect}{could})")
        alone = " (for these images only)" if found["permuted"] == "curves" else ""
        return f"{found['b']} against {found['a']}{alone}: {'; '.join(words)}."

    def summary(self) -> str:
        """Summarize groups, replicates and the rows of the table."""
        sizes = np.bincount(self.design.group)
        groups = ", ".join(f"{name} ({size})" for name, size in zip(self.design.groups, sizes, strict=True))
        cases = self.table["case"].value_counts(sort=False)
        rows = ", ".join(f"{case} {count} ×" for case, count in cases.items())
        kind = "family-wise" if self.correction == "family" else "false discovery rate"
        head = f"{counted(len(sizes), 'group')} of replicates: {groups}"
        if self.table.empty:
            return f"{head}; 0 contrasts."
        return f"{head}; {counted(len(self.table), 'contrast')}: {rows} ({self.settings.significance:g}, {kind})."

    def to_dataframe(self) -> "pd.DataFrame":
        """Table with one row per outline: id, image, replicate, the design of its replicate, and its plain quantities.

        Columns: id; image and replicate, their indices from 0; group, block, covariates and factors of the
        design; size (in the unit of the outlines), elongation, roughness, and the amplitudes of the bands of lobes.
        """
        import pandas as pd

        design = self.design.replicates.drop(columns=["replicate", "images"], errors="ignore")
        rows = design.iloc[self.outlines["replicate"]].reset_index(drop=True)
        known, measured = self.outlines[list(_ID_COLUMNS)], self.outlines.drop(columns=list(_ID_COLUMNS))
        rows = rows.rename(columns={name: f"{name} of the design" for name in rows if name in self.outlines})
        return pd.concat([known, rows, pd.DataFrame(np.exp(measured))], axis=1)

    def to_tree(self) -> Tree:
        """Return the whole result as arrays, numbers and strings, for `archive` (docs/files.md)."""
        outlines = self.outlines
        quantities = [name for name in outlines if name not in _ID_COLUMNS]
        return {
            "design": self.design.to_tree(),
            "settings": tree_of(self.settings),
            "parts": {
                test: {
                    f"part_{place}": {
                        "name": name,
                        "kernel": points.kernel,
                        "values": points.values,
                        "replicate": points.replicate,
                        **{kept: getattr(self.kernels[test][name], kept) for kept in _KERNEL_ARRAYS},
                        "bandwidth": self.kernels[test][name].bandwidth,
                    }
                    for place, (name, points) in enumerate(parts.items())
                }
                for test, parts in self.coordinates.items()
            },
            "outlines": {
                "quantities": quantities,
                "values": outlines[quantities].to_numpy(dtype=np.float64),
                **{name: np.asarray(outlines[name].tolist()) for name in _ID_COLUMNS},
            },
            "correction": self.correction,
            "unit": self.unit,
            "note": self.note,
            "left_out": dict(self.left_out),
            "faults": list(self.faults),
            "overall_fault": self.overall_fault,
        }

    @classmethod
    def of_tree(cls, tree: Tree) -> "Experiment":
        """Restore a result from `to_tree`, to the same digits; raises ValueError for invalid data."""
        import pandas as pd

        design = Design.of_tree(records.value(tree, "design", dict))
        kept, total = records.value(tree, "outlines", dict), len(design.replicates)
        names = [str(name) for name in records.value(kept, "quantities", list)]
        values = records.real(kept, "values", (None, len(names)))
        outlines = pd.DataFrame(values, columns=names)
        outlines.insert(0, "replicate", numbers_below(kept, "replicate", total, len(values)))
        outlines.insert(0, "image", numbers_below(kept, "image", len(design.of_image), len(values)))
        outlines.insert(0, "id", records.array(kept, "id", "biufU", (len(values),)).tolist())
        if not set(chain(*TESTS.values(), EFFECTS.values())) <= set(names):
            raise ContentError("its quantities are not those of an experiment")
        coordinates: dict[str, dict[str, Points]] = {}
        kernels: dict[str, dict[str, MeanKernels]] = {}
        parts = records.value(tree, "parts", dict)
        for test in TESTS:
            for part in records.value(parts, test, dict).values():
                points, name = records.real(part, "values", (None, None)), records.value(part, "name", str)
                if (kernel := part.get("kernel")) not in get_args(Kernel):
                    raise ContentError(f"there is no kernel {kernel!r}")
                replicate = numbers_below(part, "replicate", total, len(points))
                coordinates.setdefault(test, {})[name] = Points(points, replicate, kernel)
                counts = records.array(part, "counts", "iu", (total,)).astype(np.intp)
                between, own = records.real(part, "between", (total, total)), records.real(part, "own", (total,))
                bandwidth = float(records.value(part, "bandwidth", float))
                kernels.setdefault(test, {})[name] = MeanKernels(between, counts, bandwidth, own)
        correction = records.value(tree, "correction", str)
        if set(kernels) != set(TESTS) or correction not in ("family", "fdr"):
            raise ContentError("parts of its tests or of their adjustment are missing")
        settings = from_tree(Settings, records.value(tree, "settings", dict))
        unit, note = records.value(tree, "unit", str), str(tree.get("note", ""))
        left_out = records.value(tree, "left_out", dict) if "left_out" in tree else {}
        left_out = {str(part): str(reason) for part, reason in left_out.items()}
        faults = tuple(map(str, records.value(tree, "faults", list) if "faults" in tree else ()))
        if len(faults) not in (0, len(design.pairs)):
            raise ContentError(f"it names faults of {len(faults)} contrasts, and has {len(design.pairs)}")
        of_all = records.value(tree, "overall_fault", str)
        return cls(design, settings, coordinates, kernels, outlines, correction, unit, note, left_out, faults, of_all)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the ratios of size and roughness of every contrast with their intervals.

        `studies.superplot.superplot` plots the replicates over their outlines.

        Raises
        ------
        ValueError
            For a single group, which has no contrasts.
        """
        if not self.design.pairs:
            raise ValueError("there is only one group, so no contrast to plot: see trend and slopes")
        return plot_experiment(self.table, self.effects, ax)

    def __repr__(self) -> str:
        return f"Experiment({self.summary()})"


def experiment(
    ensembles: Sequence[Ensemble],
    design: "pd.DataFrame",
    settings: Settings = Settings(),
    *,
    control: str | None = None,
    correction: str = "auto",
    progress: Listener | None = None,
    **changes: Any,
) -> Experiment:
    """Compare groups of images, with replicates as exchangeable units.

    Parameters
    ----------
    ensembles : sequence of Ensemble
        One per image, in the order of the design's rows.
    design : DataFrame
        One row per image. Columns: group; and optionally replicate (dish, animal, specimen; by default each image is
        one), block (pair, batch, day: permuted only within), numeric covariates such as a dose, and further factors.
    settings : Settings
        Its number of permutations is used, but at least 9999, if there are more than 20 000 labelings.
    control : str, optional
        Group that all others are compared with; by default all pairs are compared.
    correction : {"auto", "family", "fdr"}
        Adjustment of the contrasts' p-values: family-wise by closed testing, or the false discovery rate (Benjamini and
        Hochberg). "auto" selects the latter for more than 20 contrasts.
    progress : callable, optional
        Called with the `Progress` of each step before it starts; an exception that it raises aborts the computation.
    **changes
        Single settings that override those of `settings`.

    Returns
    -------
    Experiment

    Raises
    ------
    ValueError
        For a design that does not match the images, images without outlines, incompatible units.

    See Also
    --------
    compare : two samples; several images of each are permuted whole too.
    design_from_names : a design from the names of files.

    Notes
    -----
    Undulation and scale are tested by the same parts as in `compare`. The kernel of all outlines is summed over pairs
    of replicates once, then replicates are permuted; parts are combined by their smallest p-value on the same
    permutations. Up to 20 000 labelings are enumerated. Replicates have equal weights. Of more than 20 000 outlines, a
    random sample of that size enters the tests, with equally many of each replicate; all outlines enter the plain
    quantities.

    References
    ----------
    J. Läuter, "Exact t and F tests for analyzing studies with multiple endpoints", Biometrics 52 (1996) 964-970.
    R. Marcus, E. Peritz, K. R. Gabriel, "On closed testing procedures with special reference to ordered analysis of
    variance", Biometrika 63 (1976) 655-660.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from napari_shape_ensembles import Settings, experiment, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> images = [side.subset(np.arange(len(side)) % 6 == i) for side in (a, b) for i in range(6)]
    >>> design = pd.DataFrame({"group": ["sieved"] * 6 + ["raw"] * 6})
    >>> result = experiment(images, design, Settings(landmarks=60, rank=10, significance=0.05))
    >>> result.omnibus.scale < 0.05, result.omnibus.undulation < 0.05
    (True, False)
    """
    settings = replace(settings, **changes)
    if correction not in ("auto", "family", "fdr"):
        raise ValueError(f'correction must be "auto", "family" or "fdr", not {correction!r}')
    ensembles = several(ensembles, "experiment takes a list of ensembles, one per image")  # it may be a generator
    checked = checked_design(design, len(ensembles), control)
    ensembles, _, note = at_one_pixel_size(_usable(ensembles), [])
    if note:  # outlines that are too small for the largest pixels are left out
        ensembles = _usable(ensembles)
    with reporting(progress):
        for sentence in checked.forecast(settings.significance)[: settings.permute != "curves"]:
            report(f"note: {sentence}", 0, len(_STEPS))
        image = np.repeat(np.arange(len(ensembles)), [len(ensemble) for ensemble in ensembles])
        replicate = checked.of_image[image]
        chosen = equal_draws(replicate, settings.seed)
        with as_part(0, len(_STEPS)):
            learned = learn(_subsampled(ensembles, image, chosen), settings)
        report(_STEPS[-3], len(_STEPS) - 3, len(_STEPS))
        measured = quantities(ensembles, settings)
        *faults, of_all = _faults(ensembles, checked)
        t, descriptors, size = (
            _without_blocks(values, replicate[chosen], checked.blocks)
            for values in (learned.t, learned.descriptors, learned.l[:, ::2].mean(axis=1, keepdims=True))
        )
        l = learned.l + (size - learned.l[:, ::2].mean(axis=1, keepdims=True)) * [1, 0, 1]
        parts_of_tests = {
            "undulation": form_parts(t, descriptors, settings),
            "scale": scale_parts(l, learned.space.scale_mean, settings, learned.known),
        }
        coordinates = {
            test: {name: Points(part.points, replicate[chosen], part.kernel) for name, part in parts.tested.items()}
            for test, parts in parts_of_tests.items()
        }
        report(_STEPS[-2], len(_STEPS) - 2, len(_STEPS))
        kernels = {
            test: {name: _kernels(points, checked.blocks, settings) for name, points in parts.items()}
            for test, parts in coordinates.items()
        }
    if correction == "auto":
        correction = "fdr" if len(checked.pairs) > _MIN_SCREEN_CONTRASTS else "family"
    places = {"id": [name for one in ensembles for name in one.ids.tolist()], "image": image, "replicate": replicate}
    outlines = _outline_table(places, measured)
    left_out = {part: reason for parts in parts_of_tests.values() for part, reason in parts.left_out.items()}
    unit = ensembles[0].unit
    found = checked, settings, coordinates, kernels, outlines, correction, unit, note, left_out
    return Experiment(*found, tuple(faults), of_all)


def _faults(ensembles: Sequence[Ensemble], design: Design) -> list[str]:
    """For each contrast, then for all groups, the serious fault of their outlines, as in `compare`; "" without any."""
    of_group: list[list[Ensemble]] = [[] for _ in design.groups]
    for one, group in zip(ensembles, design.group[design.of_image].tolist(), strict=True):
        of_group[group].append(one)
    pooled = [Ensemble.pooled(own, name=name) for own, name in zip(of_group, design.groups, strict=True)]
    return [reason or "" for reason in reasons_of_sets(pooled, [*design.pairs, range(len(pooled))])]


@lru_cache(maxsize=1024)  # tables and sentences ask for the same plans
def t_test_power(shift: float, replicates: int, significance: float) -> float:
    """Power of a two-sided t-test at given replicates per side; `shift` in standard deviations of their means."""
    from scipy.stats import nct  # slow to import

    freedom, apart = 2 * replicates - 2, shift / np.sqrt(2 / replicates)
    cut = float(stdtrit(freedom, 1 - significance / 2))
    power = float(nct.sf(cut, freedom, apart) + nct.cdf(-cut, freedom, apart))
    if np.isnan(power):  # SciPy's series fail at low levels: the mean over the quantiles of the standard deviation
        spread = _deviation_quantiles(freedom)
        power = float((ndtr(apart - cut * spread) + ndtr(-apart - cut * spread)).mean())
    return power


@lru_cache(maxsize=16)  # slow, and the same for every shift and level
def _deviation_quantiles(freedom: int) -> Real:
    """Quantiles of the estimated standard deviation, as fractions of the true one."""
    quantiles = np.sqrt(chdtri(freedom, (np.arange(_QUANTILES) + 0.5) / _QUANTILES) / freedom)
    quantiles.flags.writeable = False
    return quantiles


def _usable(ensembles: Sequence[Ensemble]) -> list[Ensemble]:
    """Convert all ensembles to the unit of the first; raises if any have no outlines, or for other types."""
    ensembles = [sample_of(one) for one in ensembles]
    empty = [one.name or f"image {i}" for i, one in enumerate(ensembles, start=1) if not len(one)]
    if empty:
        raise ValueError(
            f"{len(empty)} of {len(ensembles)} images have no usable outline ({', '.join(empty)}): remove them and "
            "their rows of the design, or check the segmentation and the minimum size"
        )
    seen: dict[bytes, int] = {}
    for place, one in enumerate(ensembles, start=1):
        first = seen.setdefault(hashlib.sha256(one.vertices.tobytes()).digest(), place)
        if first != place:
            names = f"{ensembles[first - 1].name or f'image {first}'} and {one.name or f'image {place}'}"
            raise ValueError(f"{names} (rows {first} and {place}) contain the same outlines: give each image once")
    return [_in_unit(one, ensembles[0].unit, place) for place, one in enumerate(ensembles, start=1)]


def _in_unit(one: Ensemble, unit: str, place: int) -> Ensemble:
    """Convert an image to another unit; the error message names it."""
    try:
        return one.to(unit)
    except ValueError as error:
        raise ValueError(f"{one.name or 'image'} (row {place}): {error}") from error


def equal_draws(replicate: Index, seed: int) -> NDArray[np.bool_]:
    """Select the outlines the shape space is learned from: all, or if very many, equally many of each replicate."""
    counts = np.bincount(replicate)
    if len(replicate) <= MAX_LEARNED_OUTLINES:
        return np.ones(len(replicate), dtype=np.bool_)
    order = np.random.default_rng(seed).permutation(len(replicate))
    order = order[np.argsort(replicate[order], kind="stable")]
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = np.zeros(len(replicate), dtype=np.bool_)
    chosen[order[place < max(MAX_LEARNED_OUTLINES // len(counts), 2)]] = True
    return chosen


def _subsampled(ensembles: Sequence[Ensemble], image: Index, chosen: NDArray[np.bool_]) -> list[Ensemble]:
    if chosen.all():
        return list(ensembles)
    return [one.subset(chosen[image == place]) for place, one in enumerate(ensembles)]


def _kernels(points: Points, blocks: Index | None, settings: Settings) -> MeanKernels:
    values = _without_blocks(points.values, points.replicate, blocks)
    return mean_kernels(values, points.replicate, kernel=points.kernel, factor=_factor(settings), seed=settings.seed)


def _without_blocks(points: Real, replicate: Index, blocks: Index | None) -> Real:
    """Points with the block means over replicates removed, if there are blocks.

    The kernel is local: without this, equal effects in distant blocks would not add up. Permutations within blocks do
    not change these means, so the test stays exact.
    """
    if blocks is None:
        return points
    counts = np.bincount(replicate)
    means = np.stack([np.bincount(replicate, column) / counts for column in points.T], axis=1)
    of_blocks = np.stack([np.bincount(blocks, column) / np.bincount(blocks) for column in means.T], axis=1)
    return points - of_blocks[blocks[replicate]]


def _outline_table(places: Mapping[str, Any], measured: Quantities) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({**places, **measured.named()})


def _factor(settings: Settings) -> float:
    return settings.bandwidth[0] if isinstance(settings.bandwidth, tuple) else settings.bandwidth


def _ranks(columns: Real) -> Real:
    """Ranks of one column, averaged over ties, (U, 1)."""
    values, place, counts = np.unique(columns[:, 0], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[place.ravel()][:, None]) if len(values) else columns


def _basis(columns: Real) -> Real:
    u, values, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, values > 1e-8 * values.max(initial=1)]


def _ratio_words(quantity: str, ratio: float, low: float, high: float) -> str:
    """State a ratio, with its interval if it is finite."""
    interval = f", 95 % interval {low:.3g} to {high:.3g}" if np.isfinite(high) else ""
    return f"{quantity} ratio {ratio:.3g}{interval}"


def _slope(x: Real, y: Real, hypothesis: Hypothesis) -> Difference:
    """Least squares slope of y on x, both adjusted for the nuisance columns of the hypothesis."""
    nuisance = hypothesis.nuisance
    x, y = (values - nuisance @ (nuisance.T @ values) for values in (x, y))
    square = float(x @ x)
    if square < 1e-20:
        return Difference(np.nan, np.nan, 0)
    slope, freedom = float(x @ y) / square, len(y) - nuisance.shape[1] - 1
    rest = float(((y - slope * x) ** 2).sum())
    return Difference(slope, float(np.sqrt(rest / freedom / square)) if freedom > 0 else np.nan, freedom)


def _adjusted(p_values: Real, correction: str) -> Real:
    """Holm's family-wise p-values, or those of Benjamini and Hochberg; NaN is kept and not counted."""
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    count = len(order)
    if correction == "family":
        adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(count, 0, -1)), 1)
    else:
        steps = p_values[order] * count / np.arange(1, count + 1)
        adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1)
    return adjusted


__all__ = ["EFFECTS", "TESTS", "Difference", "Experiment", "HypothesisTests", "Joint", "cannot_reach", "experiment"]
