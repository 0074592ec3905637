"""Result of a comparison: two tests, one row of the truth table, and what is known of every outline."""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Index, Real
from ..archive import Tree
from ..checks import RandomState, Sealed
from ..mmd import MMDTest, dependence_test
from ..mmd.dependence import DependenceTest
from ..mmd.replicates import DRAWS, Hypothesis, precision_differs
from ..outlines import Ensemble, Quality, exchange, quality
from ..outlines.exchange import DISTANCES
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..shapes import ShapeSpace
from . import answer, records
from .border import size_factor, usable_weights
from .common_form import COMMON, unexplained
from .coupling import coupling
from .design import cannot_reach, numbers_below, unequal_precision
from .detectable import Detectable, detectable_differences, planned_power, require_curves_permuted
from .display import MARK, LayerData, curve_layer_data, summary_html
from .estimates import estimates, permuted_spread, quantity_p_values
from .figures import plot_comparison, plot_typical
from .fragility import Checks, is_fragile
from .inputs import Inputs
from .mean_outline import mean_outlines
from .outline_table import outline_table, witness_columns
from .parts import Parts, form_parts, scale_parts
from .quantities import components, lobes
from .quantity_tests import PermutedDifferences
from .samples import Pair, image_counts
from .saved import COMPARISON, Saved
from .settings import Settings
from .typical import typical, typical_outlines, typical_rows
from .unusual import why_unusual
from .verdict import (
    DEPENDS_ON_ARCHETYPE,
    DIFFERS,
    INCONCLUSIVE,
    PERMUTATION,
    SMALL_SAMPLE,
    inconclusive,
    smallest_p_value,
    table_row,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_PARTS = ("a", "b", "compared", "settings", "space", "coordinates", "undulation", "scale", "matches", "versions")
_FLAGS = ("archetype_is_ambiguous", "row_depends_on_archetype", "archetypes_agree")
# So many permutations that they do not limit a p-value.
_MANY_PERMUTATIONS = 10**9


# Cached, as reading the metadata of a package takes as long as comparing twenty curves.
_version = cache(version)


def software_versions() -> dict[str, str]:
    """Versions of the software that affects the digits of the result."""
    packages = ("napari-shape-ensembles", "numpy", "scipy", "scikit-image")
    return {"python": platform.python_version()} | {name: _version(name) for name in packages}


@dataclass(frozen=True, eq=False)
class Comparison(Sealed, Saved):
    """Result of `compare`, and a contrast of an `experiment`: the row of the truth table, both tests, the coordinates.

    Attributes
    ----------
    a, b : Ensemble
        The curves as they were given, b in a's unit, without those left out of the comparison.
    compared : (Ensemble, Ensemble)
        The same curves at one precision, from which everything was learned, tested and estimated: a and b themselves if
        they are equally precise.
    settings : Settings
    space : ShapeSpace
        Learned from the pooled curves.
    t : (N, r) array
        Undulation coordinates of the pooled curves, a's rows first.
    l : (N, 3) array
        Their scale coordinates.
    undulation, scale : MMDTest
        The two tests. By default the undulation's has the parts "coarse form", "roughness" and "concavity", and the
        scale's "mean size", "size", "elongation" and "size and elongation"; with coordinates "both" the undulation's
        has "raw" and "normalized".
    ambiguous : int
        Curves whose best match with the archetype is hardly better than the second best; see `Registration`.
    archetype_is_ambiguous : bool
        Whether the archetype is (nearly) symmetric, so that matches with it are not unique.
    row_depends_on_archetype : bool
        Whether the row is known to change with the archetype (`archetype_sensitivity`); it is then inconclusive.
    archetypes_agree : bool
        Whether the row is known to be the same with other archetypes (`archetype_sensitivity`).
    versions : mapping of str to str
        Versions of the software that affects the digits of the result.
    descriptors : (N, k) array
        Numbers by which roughness and concavity were tested; see `parts.form_descriptors`. Empty (k = 0) if the
        settings select other parts.
    permuted : {"curves", "images", "replicates"}
        What both tests exchanged between the samples: single curves (the result holds for these images only), whole
        images, or replicates of several images; see `Settings.permute`.
    replicates : (N,) array of int, optional
        Image or replicate of each curve, numbered with a's first; None if curves were permuted.
    blocks : array of int, optional
        Block of each replicate, within which they were permuted.
    p_adjusted : (float, float), optional
        In an experiment of several contrasts: the p-values of undulation and scale adjusted for all contrasts, by which
        the row is decided.
    small_sample : (float, float), optional
        If images were permuted: p-values of undulation and scale by the small-sample test
        (`mmd.replicates.small_sample_test`), for few images.
    decided_by : {"permutation", "small-sample"}
        What decides: the small-sample test where permutations of images or replicates cannot, because there are too few
        of them, or because those of one sample have far fewer outlines. `undulation` and `scale` are then that test.
    note : str
        What was changed to bring the outlines to one precision.
    inputs : Inputs, optional
        Files that the outlines came from, with their checksums, and how they were read, if known.
    checks : Checks
        What is known from comparisons with other choices, and without single outlines; empty if they were not repeated.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> result.t.shape, result.l.shape
    ((469, 10), (469, 3))
    >>> round(result.scale.p_value, 4), result.scale.threshold < result.scale.mmd
    (0.0001, True)
    """

    FORMAT = COMPARISON

    a: Ensemble
    b: Ensemble
    compared: Pair
    settings: Settings
    space: ShapeSpace
    t: Real
    l: Real
    undulation: MMDTest
    scale: MMDTest
    ambiguous: int = 0
    archetype_is_ambiguous: bool = False
    row_depends_on_archetype: bool = False
    archetypes_agree: bool = False
    versions: Mapping[str, str] = field(default_factory=software_versions)
    descriptors: Real = field(default_factory=lambda: np.empty((0, 0)))
    permuted: str = "curves"
    replicates: Index | None = None
    blocks: Index | None = None
    p_adjusted: tuple[float, float] | None = None
    small_sample: tuple[float, float] | None = None
    decided_by: str = PERMUTATION
    note: str = ""
    inputs: Inputs | None = None
    checks: Checks = field(default_factory=Checks)

    @property
    def fragile(self) -> bool:
        """Whether the row is known to change without a single outline, or with more than a quarter of other choices."""
        return is_fragile(self)

    @property
    def case(self) -> str:
        """Row of the truth table, undulation ∧ scale with 1 = no difference detected; or "inconclusive"."""
        return INCONCLUSIVE if self.inconclusive else table_row(self.undulation.rejected, self.scale.rejected)

    @property
    def differs(self) -> str | None:
        """Where a difference was detected: "nothing", "form", "scale" or "both"; None if inconclusive."""
        return DIFFERS.get(self.case)

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two samples in tables and figures: those of the ensembles; "A" and "B" if these have none."""
        first, second = self.a.name or "A", self.b.name or "B"
        return ("A", "B") if first == second else (first, second)

    @cached_property
    def image_counts(self) -> tuple[int, int]:
        """Numbers of images of a and of b."""
        return image_counts(self.a, self.b)

    @cached_property
    def unit_counts(self) -> tuple[int, int]:
        """Numbers of what was permuted, of a and of b: curves, images or replicates."""
        if self.replicates is None:
            return len(self.a), len(self.b)
        first = int(self.replicates[: len(self.a)].max()) + 1
        return first, int(self.replicates.max()) + 1 - first

    @cached_property
    def least_p(self) -> float:
        """Smallest p-value that both tests can attain, with what was permuted."""
        m, n = self.unit_counts
        if self.replicates is None:
            return smallest_p_value(m, n, self.settings.permutations)
        return self._hypothesis.least_p(max(self.settings.permutations, DRAWS))

    @property
    def _hypothesis(self) -> Hypothesis:
        """The hypothesis that the replicates of both samples are equal."""
        m, n = self.unit_counts
        return Hypothesis(np.arange(m + n) >= m, self.blocks)

    @property
    def withheld(self) -> str:
        """Serious faults of the outlines that withhold the row; "" if there are none, or none without them either."""
        return "" if self.settings.overrule or self._out_of_reach else (self.quality.reason or "")

    @property
    def inconclusive(self) -> str | None:
        """Why there is no row: few curves or images, faults of the outlines, or the archetype; None if there is one."""
        return self._out_of_reach or self.withheld or (DEPENDS_ON_ARCHETYPE if self.row_depends_on_archetype else None)

    @property
    def _out_of_reach(self) -> str | None:
        """Why the p-values cannot reach the significance level; None if they can."""
        settings = self.settings
        if self.replicates is not None:
            if self.decided_by == SMALL_SAMPLE:
                return None
            if precision_differs(self._hypothesis, counts := np.bincount(self.replicates)):
                first = np.arange(len(counts)) < self.unit_counts[0]
                return unequal_precision(float(counts[first].mean()), float(counts[~first].mean()), self.permuted)
            if self.least_p <= settings.test_level:
                return None
            blocked = self.blocks is not None
            return cannot_reach(*self.unit_counts, settings.test_level, self.least_p, self.permuted, blocked=blocked)
        return inconclusive(len(self.a), len(self.b), settings.permutations, settings.test_level, null=settings.null)

    @property
    def undecided(self) -> str:
        """Why the tests have no decision, in two words: "too few curves", "withheld" and so on; "" if they have one."""
        if not self._out_of_reach:
            return "withheld" if self.inconclusive else ""
        if self.replicates is not None:
            return f"too few {self.permuted}"
        settings, counts = self.settings, (len(self.a), len(self.b))
        with_more = inconclusive(*counts, _MANY_PERMUTATIONS, settings.test_level, null=settings.null)
        return "too few curves" if with_more else "too few permutations"

    @cached_property
    def quality(self) -> Quality:
        """Defects, or possible defects, of the outlines; serious ones withhold the row unless `settings.overrule`."""
        return quality(self.a, self.b)

    @property
    def pmmd(self) -> float:
        """Product MMD: the Euclidean norm of the two MMDs (paper, eq. pMMD)."""
        return float(np.hypot(self.undulation.mmd, self.scale.mmd))

    @property
    def pmmd_threshold(self) -> float:
        """The same norm of the two thresholds."""
        return float(np.hypot(self.undulation.threshold, self.scale.threshold))

    def form_parts(self) -> Parts:
        """Parts of the undulation test, from the coordinates and the descriptors."""
        return form_parts(self.t, self.descriptors, self.settings)

    def scale_parts(self) -> Parts:
        """Parts of the scale test."""
        return scale_parts(self.l, self.space.scale_mean_, self.settings)

    @property
    def distances(self) -> pd.DataFrame:
        """Distance of every curve from the mean shape: one row per curve, a's first.

        Columns: sample (its name); id; distance_from_mean, from the geometric medians of t and ℓ, each over its median,
        together; undulation ‖t‖ and scale ‖ℓ‖; paper_distance, these two over their maxima, together.
        """
        return self.outlines[["sample", "id", *DISTANCES]]

    @property
    def witnesses(self) -> pd.DataFrame:
        """Witness values of every curve: columns sample, id, witness_undulation and witness_scale, a's curves first.

        Positive values are typical of a, negative ones of b; NaN if a side has a single curve. The witness uses a
        Gaussian kernel on the deciding part of each test; if the tests project their kernel for this number of curves,
        this one is projected as well.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> means = result.witnesses.groupby("sample")["witness_scale"].mean()
        >>> bool(means[a.name] > means[b.name])
        True
        """
        return self.outlines[["sample", "id"]].assign(**self._witnesses)

    def to_dataframe(self, *, coordinates: bool = False) -> pd.DataFrame:
        """Table with one row per curve, a's first.

        Columns: id, image, sample (the name of a or b), the metadata of the ensembles, their features, the distances
        from the mean shape as in `distances`, and how unusual each is (unusual, unusual_form, unusual_size; see
        `comparison.COLORINGS`); with `coordinates` also t1, ..., tr of form and l1, l2, l3 of scale.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> a, b = a.assign(batch="old"), b.assign(batch="new")
        >>> result = compare(a, b, Settings(landmarks=60, rank=2, permutations=199))
        >>> table = result.to_dataframe(coordinates=True)
        >>> table.columns.tolist()[:5], table.columns.tolist()[-5:]
        (['id', 'image', 'sample', 'batch', 'area'], ['t1', 't2', 'l1', 'l2', 'l3'])
        >>> table.groupby("batch")["area"].median().round().to_dict()
        {'new': 863.0, 'old': 2624.0}
        """
        if not coordinates:
            return self.outlines.copy()
        import pandas as pd

        names = map(str, self.space.get_feature_names_out()[: self.t.shape[1] + 3])
        places = pd.DataFrame(np.concatenate([self.t, self.l], axis=1), columns=list(names))
        return pd.concat([self.outlines, places], axis=1)

    @cached_property
    def outlines(self) -> pd.DataFrame:
        """Table with one row per curve, a's first; see `outline_table`."""
        return outline_table((self.a, self.b), self.names, self.t, self.l, self.measured)

    @cached_property
    def measured(self) -> dict[str, Real]:
        """Logarithms of the size, the elongation, the lobes and the bends of every curve, (N,) each."""
        return {name: self.components[name] for name in ("size", "elongation")} | self.lobes

    def why_unusual(self, row: int) -> str:
        """Say in words why a curve is unusual among all, by its row in `outlines`."""
        return why_unusual(self.measured, self.outlines["unusual_form"].to_numpy(), np.array([row]))[0]

    @cached_property
    def _witnesses(self) -> dict[str, Real]:
        return witness_columns(self)

    def to_geodataframe(self) -> Any:
        """GeoDataFrame of polygons with all columns of `to_dataframe`; see `Ensemble.to_geodataframe`."""
        return exchange.geodataframe(self.to_dataframe(coordinates=True), self._both)

    def to_anndata(self) -> Any:
        """AnnData for scanpy and squidpy: coordinates as X, all other properties of the curves as obs.

        obs holds id, image, sample (its name), features and distances; `obsm["undulation"]` and `obsm["scale"]` hold
        the coordinates t and l, `obsm["spatial"]` the centers (x, y); `uns["shape_ensembles"]` also case, p_undulation
        and p_scale; see `Ensemble.to_anndata`.
        """
        table = self.to_dataframe(coordinates=True)
        names = list(table.columns[-self.t.shape[1] - 3 :])
        answer = {"case": self.case, "p_undulation": self.undulation.p_value, "p_scale": self.scale.p_value}
        coordinates = {"undulation": np.array(self.t), "scale": np.array(self.l)}
        return exchange.anndata(table[names], table.drop(columns=names), self._both, coordinates, **answer)

    def to_spatialdata(self) -> Any:
        """SpatialData: the polygons of each image, with `to_anndata` as their table; see `Ensemble.to_spatialdata`."""
        return exchange.spatialdata(self.to_anndata(), self.to_dataframe(coordinates=True), self._both)

    @property
    def _both(self) -> Ensemble:
        """The curves of both samples, b in a's unit."""
        return Ensemble.pooled([self.a, self.b])

    def typical(self, n: int = 3) -> pd.DataFrame:
        """Outlines nearest to the middle of each sample in the quantities that differ: real ones, the medoid first.

        Parameters
        ----------
        n : int
            Outlines of each sample; fewer if it has fewer.

        Returns
        -------
        DataFrame
            Columns sample, id, and rank from 1; a's first.

        Raises
        ------
        ValueError
            For no outlines.

        Notes
        -----
        The medoid has the smallest mean distance to the others of its sample. Of the quarter of a sample that is most
        typical in size, elongation and form together, these are the most typical in the quantities that differ, or in
        all if none does. Form is described by the amplitudes of its lobes and its concavity, which do not depend on
        the registration.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> result.typical(2)["rank"].tolist()
        [1, 2, 1, 2]
        """
        return typical(self, n)

    @cached_property
    def common_form(self) -> tuple[float, float]:
        """Share of the form of a and of b that their means leave unexplained, relative to a control; see `unexplained`.

        About 1 without a common form. Below 0.75 the mean outline of a sample is a picture of its outlines.
        """
        return unexplained(self)

    @cached_property
    def has_common_form(self) -> tuple[bool, bool]:
        """Whether the outlines of a, and of b, have a common form, so that a mean outline is a picture of them."""
        a, b = self.common_form
        return a < COMMON, b < COMMON

    def equivalence(self, margin: float = 0.1) -> pd.DataFrame:
        """Tell in which quantities the samples are equivalent: the 95 % interval of the ratio lies inside a margin.

        Parameters
        ----------
        margin : float
            Of 0.1: between 1/1.1 and 1.1.

        Returns
        -------
        DataFrame
            One row per quantity that is a ratio: quantity, low, high, and equivalent; equivalent to two one-sided tests
            at 0.025. False without an interval.

        Raises
        ------
        ValueError
            For a margin that is not positive.
        """
        if not (isinstance(margin, int | float | np.number) and 0 < margin < np.inf):
            raise ValueError(f"margin {margin!r}: give a positive margin, such as 0.1")
        table = self.ratios[["quantity", "low", "high"]]
        return table.assign(equivalent=(table["low"] > 1 / (1 + margin)) & (table["high"] < 1 + margin))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot typical outlines of both samples beside each other at one scale, the first of each stronger.

        The mean outline of a sample that has a common form is dashed, in a band that holds the middle half of the
        forms at every point.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> ax = compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).plot()
        >>> ax.get_title(loc="left")
        'typical outlines'
        """
        outlines = typical_outlines(self, typical_rows(self))
        means = mean_outlines(self, (outlines[0][0], outlines[1][0]))
        return plot_typical(outlines, answer.titles_of(self), self.a.unit, ax, means=means)

    def plot_tests(self, ax: Axes | None = None) -> Axes:
        """Plot both tests and their parts, observed and under permuted labels.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> ax = compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).plot_tests()
        >>> ax.get_title(loc="left")
        '1∧0'
        """
        return plot_comparison(self.undulation, self.scale, self.case, ax)

    @cached_property
    def components(self) -> dict[str, Real]:
        """Size, elongation, coarse form and roughness of every curve; see `quantities.components`."""
        return components(self.space, self.t, self.l)

    @cached_property
    def lobes(self) -> dict[str, Real]:
        """Logarithms of the lobes, bends and concavity of every curve; see `quantities.lobes`."""
        return lobes(self.compared, self.settings, self.space.bands_)

    @property
    def estimates(self) -> pd.DataFrame:
        """How large the difference is in each quantity, one row each, with the p-value of the part that tests it.

        Columns: quantity; estimate; kind: a "ratio" (B over A, of geometric means; of standard deviations of the
        logarithm for the spread of size; of distances from the median of a sample in the amplitudes of all lobes for
        the spread of form; of arithmetic means for the area), or a "distance" in standard deviations within the
        samples (see `estimates.standardized_distance`); low and high, the ends of its pointwise 95 % interval; p, of a
        permutation test of just this quantity; and p_adjusted, for the other quantities of the same test, by which a
        quantity is named as differing. Lobes are waves of up to 5 around the outline; roughness is that of finer waves
        beyond what the lobes imply; concavity is the share of the convex hull that an outline does not fill. NaN where
        a quantity was not measured or not tested, or has a distance without an interval: fewer than four images, or
        outlines, of a sample have none.

        Notes
        -----
        Intervals are symmetric bootstrap-t over curves, with the quantile of permuted labels for the spread of size of
        at least ten curves a side; of more than 20 000 curves normal; if images were permuted Student's (Welch) over
        the means of images. Those of distances are from random halves of the samples, see `standardized_distance`, of
        more than 4000 curves from at most 2000 of each sample, drawn at random. Ratios, neither distances nor p-values,
        are weighted for outlines cut by the border, see `weights`. All are conditional on the coordinates: they ignore
        that the shape space was itself learned from these curves.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> size = result.estimates.set_index("quantity").loc["size"]
        >>> size["kind"], [round(float(size[name]), 2) for name in ("estimate", "low", "high")]
        ('ratio', [0.81, 0.69, 0.96])
        """
        return self._estimates.copy()

    @cached_property
    def weights(self) -> Real:
        """Weights of the curves in ratios of `estimates`, (N,): their `Ensemble.border_weights`.

        Equal ones if a `window` is unknown, or without `Settings.border_correction`.
        """
        return usable_weights(np.concatenate([side.border_weights for side in self.compared]), self.settings)

    @property
    def size_factors(self) -> dict[str, float]:
        """How many times as large the mean size of a and of b is with `weights` as without, by name in sentences."""
        image = np.zeros(len(self.weights), np.intp) if self.replicates is None else self.replicates
        sides = (np.split(values, [len(self.a)]) for values in (self.components["size"], self.weights, image))
        return {
            name: size_factor(*side) for name, side in zip(answer.names_of(self), zip(*sides, strict=True), strict=True)
        }

    @cached_property
    def _estimates(self) -> pd.DataFrame:
        return estimates(self)

    @cached_property
    def quantity_p_values(self) -> dict[str, tuple[float, float]]:
        """p-value of each quantity of `estimates`, and the adjusted one."""
        return quantity_p_values(self)

    @cached_property
    def permuted_spread(self) -> PermutedDifferences | None:
        """Difference of the spreads of size for every labeling; see `estimates.permuted_spread`."""
        return permuted_spread(self)

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """Those rows of `estimates` that are ratios, which take no time."""
        return estimates(self, distances=False)

    def detectable(self, *, power: float = 0.8, random_state: RandomState = 0) -> Detectable:
        """Smallest differences that would be detected with as many curves.

        Parameters
        ----------
        power : float
            Probability of detecting the difference, between 0.5 and 1.
        random_state : int, Generator or RandomState
            Seed of the subset of 500 curves that represents the population, and of the simulated tests.

        Returns
        -------
        Detectable

        Raises
        ------
        ValueError
            For tests without permutations, a comparison that permuted images, or a power out of range.

        Notes
        -----
        For tests that permuted curves; for the number of images see `ReplicateQuantities.planning`.

        The thresholds are those of the tests' own null. For components of scale, outlines are resampled without the
        difference between the samples, one sample is scaled or stretched, and all parts are tested, 200 times. Form,
        and coordinates instead of components: the normal limit of the MMD of two samples of which one is shifted
        (Gretton et al. 2012, asymptotic distribution under the alternative), by the coarse form or the raw coordinates,
        at the level that a combined test leaves to them. Thresholds from 1000 permutations vary, and with them the
        power, by about 0.1; `benchmarks/calibration.py` checks coordinates by simulation,
        `tests/comparison/test_parts.py` the parts.

        References
        ----------
        A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
        Learning Research 13 (2012) 723-773.

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = (drawn[np.arange(len(drawn)) < 100] for drawn in samples.powder_outlines().ensembles())
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> round(result.detectable().size_ratio, 1)
        1.4
        """
        require_curves_permuted(self)
        return detectable_differences(
            self.t,
            self.l,
            len(self.a),
            self.undulation,
            self.scale,
            power=power,
            random_state=random_state,
            scale_mean=self.space.scale_mean_,
        )

    planned_power = planned_power

    def dependence(self) -> DependenceTest:
        """Test whether undulation and scale depend on each other within the samples; see `dependence_test`."""
        settings = self.settings
        return dependence_test(
            self.t,
            self.l,
            len(self.a),
            permutations=settings.permutations,
            significance=settings.significance,
            random_state=settings.seed,
        )

    @cached_property
    def coupling(self) -> pd.DataFrame:
        """Whether scale and form go together otherwise in b than in a, which the row does not show: approximate tests.

        Columns: scale ("size" or "elongation"); form ("roughness" or "lobes"); correlation_a, correlation_b: Spearman's
        in a sample, or mean over its replicates; p of their difference; p_adjusted for all pairs (Holm).
        """
        return coupling(self)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Caveats to the row, in plain sentences."""
        return answer.caveats(self)

    def summary(self) -> str:
        """Return the result in words: the answer, the table of estimates, and what they hold for.

        For thousands of curves this takes seconds, as `estimates` does.
        """
        return "\n".join(answer.summary_lines(self))

    def numbers(self) -> dict[str, Any]:
        """Return every number of the result by name: shape space, coordinates, and both tests with their parts.

        Returns
        -------
        dict
            Numbers, strings and arrays, such as "undulation.parts.roughness.p_value".

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> numbers = compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).numbers()
        >>> numbers["case"], round(numbers["scale.p_value"], 4), numbers["coordinates.t"].shape
        ('1∧0', 0.0001, (469, 10))
        """
        tree = self.to_tree()
        known = ("space", "coordinates", "undulation", "scale", "matches")
        small = {"small_sample": np.array(tree.get("small_sample", []))}
        return {"case": self.case} | records.flattened({name: tree[name] for name in known} | small)

    def to_layers(self, viewer: Any) -> list[Any]:
        """Add one colored Shapes layer per image to a napari viewer, and return the layers."""
        return [viewer.add_shapes(curves, **options) for curves, options, _ in self.layer_data()]

    def layer_data(
        self,
        view: Tree | None = None,
        names: Collection[str] = (),
        *,
        by_pixels: bool = False,
        thin: bool = True,
    ) -> list[LayerData]:
        """Layer data of Shapes layers that hold a reference to this comparison; see `display.curve_layer_data`."""
        layers = curve_layer_data(self, view, names, by_pixels=by_pixels, thin=thin)
        for _, options, _ in layers:
            options["metadata"][MARK]["comparison"] = self
        return layers

    def __repr__(self) -> str:
        return f"Comparison({answer.in_one_line(self)})"

    def _repr_html_(self) -> str:
        tests = {"undulation": self.undulation, "scale": self.scale}
        return summary_html(answer.in_one_line(self), self.case, tests, self.warnings, self.undecided)

    def to_tree(self) -> Tree:
        """Return the whole comparison as arrays, numbers and strings."""
        return {
            "a": records.ensemble_tree(self.a),
            "b": records.ensemble_tree(self.b),
            "compared": records.changed_tree((self.a, self.b), self.compared),
            "settings": tree_of(self.settings),
            "space": records.space_tree(self.space),
            "coordinates": {"t": self.t, "l": self.l, "descriptors": self.descriptors},
            "undulation": records.mmd_test_tree(self.undulation),
            "scale": records.mmd_test_tree(self.scale),
            "matches": {name: getattr(self, name) for name in ("ambiguous", *_FLAGS)},
            "versions": dict(self.versions),
            "permuted": self.permuted,
            "decided_by": self.decided_by,
            **{name: kept for name in ("replicates", "blocks") if (kept := getattr(self, name)) is not None},
            **({} if self.p_adjusted is None else {"p_adjusted": list(self.p_adjusted)}),
            **({} if self.small_sample is None else {"small_sample": list(self.small_sample)}),
            "note": self.note,
            **({} if self.inputs is None else {"inputs": asdict(self.inputs)}),
            **({} if self.checks == Checks() else {"checks": self.checks.to_tree()}),
        }

    @classmethod
    def of_tree(cls, tree: Tree) -> Comparison:
        """Restore a comparison from `to_tree`, to the same digits; raises ValueError for invalid data."""
        parts = {name: records.value(tree, name, dict) for name in _PARTS}
        a, b = records.ensemble_of_tree(parts["a"]), records.ensemble_of_tree(parts["b"])
        space, count = records.space_of(parts["space"]), len(a) + len(b)
        replicates = numbers_below(tree, "replicates", count, count) if "replicates" in tree else None
        total = 0 if replicates is None else int(replicates.max()) + 1
        at_a, at_b = records.changed_of_tree(parts["compared"], (a, b))
        return cls(
            a,
            b,
            (at_a, at_b),
            from_tree(Settings, parts["settings"]),
            space,
            records.real(parts["coordinates"], "t", (count, space.rank_)),
            records.real(parts["coordinates"], "l", (count, 3)),
            records.mmd_test_of(parts["undulation"]),
            records.mmd_test_of(parts["scale"]),
            records.value(parts["matches"], "ambiguous", int),
            versions={str(name): str(version) for name, version in parts["versions"].items()},
            descriptors=records.real(parts["coordinates"], "descriptors", (count, None)),
            permuted=records.value(tree, "permuted", str),
            replicates=replicates,
            blocks=numbers_below(tree, "blocks", total, total) if "blocks" in tree else None,
            p_adjusted=records.pair(tree, "p_adjusted"),
            small_sample=records.pair(tree, "small_sample"),
            decided_by=records.value(tree, "decided_by", str),
            note=records.value(tree, "note", str),
            inputs=Inputs.of_tree(records.value(tree, "inputs", dict)) if "inputs" in tree else None,
            checks=Checks.of_tree(records.value(tree, "checks", dict)) if "checks" in tree else Checks(),
            **{name: records.value(parts["matches"], name, bool) for name in _FLAGS},
        )
