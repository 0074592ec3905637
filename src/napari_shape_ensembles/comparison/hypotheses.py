"""Tests of a whole design: of all groups, of trends, of interactions, and of equivalence."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._types import Index, Real
from ..mmd.replicates import (
    DRAWS,
    Hypothesis,
    MeanKernels,
    ReplicateTest,
    SmallSampleTest,
    adjusted,
    precision_differs,
    ranks,
    replicate_test,
)
from .engine import TESTS, Groups
from .replicate_quantities import Difference
from .verdict import INCONCLUSIVE, PERMUTATION, SMALL_SAMPLE

if TYPE_CHECKING:
    import pandas as pd


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
    decided_by: str = PERMUTATION

    @property
    def p_values(self) -> Joint:
        """p-values of the tests that decide: permutations, or the small-sample test where these cannot."""
        if self.decided_by == SMALL_SAMPLE:
            return Joint(self.undulation_small_sample.p_value, self.scale_small_sample.p_value)
        return Joint(self.undulation.p_value, self.scale.p_value)


def of_column(experiment: Any, column: str, given: Sequence[str]) -> HypothesisTests:
    """Test the effect of a column of the design; see `Experiment.test`."""
    design = experiment.design
    columns = [design.column(column)]
    if column in design.covariates:
        columns.append(ranks(columns[0]))
    return _tests(experiment.groups, [design.hypothesis(one, given) for one in columns])


def of_interaction(experiment: Any, first: str, second: str) -> HypothesisTests:
    """Test the interaction of two columns of the design; see `Experiment.interaction`."""
    design = experiment.design
    one, other = design.column(first), design.column(second)
    if {first, second} <= set(design.factors):
        empty = np.argwhere(one.T @ other == 0)
        levels = [np.unique(design.replicates[name].to_numpy(dtype=str)) for name in (first, second)]
        if len(empty) and (one.shape[1] - 1) * (other.shape[1] - 1) <= len(empty):
            missing = f"{levels[0][empty[0][0]]} with {levels[1][empty[0][1]]}"
            raise ValueError(
                f"whether the effect of {first} depends on {second} cannot be tested: no replicate is {missing}"
            )
    products = np.einsum("ui,uj->uij", one - one.mean(axis=0), other - other.mean(axis=0)).reshape(len(one), -1)
    hypothesis = design.hypothesis(products, (first, second))
    if not hypothesis.tested.shape[1]:
        raise ValueError(
            f"whether the effect of {first} depends on {second} cannot be tested: each must vary while the "
            "other is fixed, for at least two of its values"
        )
    return _tests(experiment.groups, [hypothesis])


def _tests(groups: Groups, hypotheses: Sequence[Hypothesis]) -> HypothesisTests:
    """Test a hypothesis, combined with further columns for it."""
    kernels: Mapping[str, Mapping[str, MeanKernels]] = groups.kernels
    if any(one.covariates is not None for one in hypotheses):
        kernels = {test: _kernel_of_means(*groups.means[test]) for test in TESTS}
    settings = groups.settings
    options: Any = {"draws": max(settings.permutations, DRAWS), "seed": settings.seed}
    undulation, scale = (
        replicate_test(kernels[test], *hypotheses, significance=settings.test_level, **options) for test in TESTS
    )
    # Each test has the same labelings, and the same least p-value.
    permutable = undulation.least_p <= groups.settings.test_level and not precision_differs(
        hypotheses[0], groups.counts
    )
    return HypothesisTests(
        undulation,
        scale,
        groups.small_sample_test("undulation", hypotheses[0]),
        groups.small_sample_test("scale", hypotheses[0]),
        PERMUTATION if permutable else SMALL_SAMPLE,
    )


def _kernel_of_means(means: Real, within: Real) -> Mapping[str, MeanKernels]:
    """Inner products of the replicates' means in the quantities of a test, in standard deviations of outlines.

    Effects that are additive in these means are not so in embeddings of whole distributions: a kernel of outlines
    would report two additive effects as an interaction.
    """
    values = means / np.where(within > 0, within, 1)
    gram = (values - values.mean(axis=0)) @ (values - values.mean(axis=0)).T
    return {"means": MeanKernels(gram, np.ones(len(gram), dtype=np.intp), 1.0, np.diag(gram))}


def equivalence(experiment: Any, margin: float, form: float, of_replicates: float | None) -> "pd.DataFrame":
    """Test whether groups are equivalent; see `Experiment.equivalence`."""
    import pandas as pd

    margins: dict[str, Any] = {"margin": margin, "form": form}
    margins |= {} if of_replicates is None else {"of_replicates": of_replicates}
    for name, value in margins.items():
        if not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
            raise ValueError(f"{name} {value!r}: give a positive margin, such as 0.1")
    design, quantities, level = experiment.design, experiment.quantities, experiment.settings.test_level
    rows = []
    for i, j in design.pairs:
        row: dict[str, Any] = {"contrast": design.contrast(i, j)}
        for test, names in experiment.groups.tested.items():
            within = quantities.within[list(names)] * form if test == "undulation" else np.log1p(margin)
            limits = np.broadcast_to(np.asarray(within, dtype=float), len(names))
            differences = [quantities.difference(name, i, j) for name in names]
            row[f"{test}_p"] = max(
                one.equivalence_p(limit)
                if of_replicates is None
                else relative_p(design.group, one, i, j, of_replicates)
                for one, limit in zip(differences, limits, strict=True)
            )
        rows.append(row)
    table = pd.DataFrame(rows, columns=["contrast", *(f"{test}_p" for test in TESTS)])
    cells = []
    for test in TESTS:
        table[f"{test}_p_adjusted"] = adjusted(table[f"{test}_p"].to_numpy(dtype=float), experiment.correction)
        differs = experiment.table[f"{test}_p_adjusted"] <= level
        same = table[f"{test}_p_adjusted"] <= level
        cells.append(np.where(same, "=", np.where(differs, "0", "1")))
    cases = [f"{u}∧{s}" for u, s in zip(*cells, strict=True)]
    of_table = experiment.table["case"]
    cases = [INCONCLUSIVE if row == INCONCLUSIVE else case for case, row in zip(cases, of_table, strict=True)]
    table.insert(1, "case", cases)
    return table


def relative_p(group: Index, difference: Difference, i: int, j: int, margin: float) -> float:
    """p-value of a standardized difference of at least `margin`, given the t statistic: noncentral F."""
    from scipy.stats import ncf  # slow to import

    if not difference.freedom > 0:
        return 1.0
    sizes = [np.count_nonzero(group == one) for one in (i, j)]
    t = difference.value / max(difference.error, np.finfo(float).tiny)
    return float(ncf.cdf(t**2, 1, difference.freedom, margin**2 / (1 / sizes[0] + 1 / sizes[1])))
