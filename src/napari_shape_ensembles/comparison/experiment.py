"""Experiments: several images of several groups, compared with replicates as exchangeable units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath, Tree
from ..checks import several
from ..mmd import MMDTest
from ..mmd.replicates import DRAWS, MeanKernels, adjusted, closed_p_values
from ..outlines import Ensemble
from ..outlines.gate import reasons_of_sets
from ..palette import axes_of
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..progress import Listener, as_part, report, reporting
from ..words import counted
from . import experiment_words, hypotheses, records
from .compare import settings_of
from .design import Design, checked_design, plain_name
from .engine import MEASURED, TESTS, Groups, enough_permutations
from .experiment_words import EFFECTS
from .figures import draw_ratios
from .hypotheses import HypothesisTests, Joint
from .inputs import Inputs
from .learning import COMPARISON_STEPS, Learned, learn
from .outline_table import outline_table
from .replicate_quantities import ReplicateQuantities
from .result import Comparison, software_versions
from .samples import alike, require_given_once, sample_of
from .saved import EXPERIMENT, Saved
from .settings import Settings
from .verdict import DIFFERS, INCONCLUSIVE, PERMUTATION, ROW_WORDS, SMALL_SAMPLE, reachable, table_row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# From this many contrasts on, a table is a screen: the false discovery rate is controlled, and null distributions,
# of several megabytes each, are not kept.
_MIN_SCREEN_CONTRASTS = 20
# Quantities of which the ratios are plotted, and their markers.
_PLOTTED = (("size", "o"), ("roughness", "s"))
_STEPS = (*COMPARISON_STEPS[:-2], "measuring outlines", "computing kernels between replicates", "done")
_P_VALUE_COLUMNS = ("p", "p_adjusted", "small_sample_p", "small_sample_p_adjusted")
_NUMBERS = (*_P_VALUE_COLUMNS, "statistic", "effect", "low", "high", "n_replicates", "least_p")
_COLUMNS = (
    *("contrast", "a", "b", "differs", "case", "decided_by", "permuted"),
    *(f"{test}_{number}" for test in TESTS for number in _NUMBERS),
    *("elongation", "elongation_low", "elongation_high"),
)


@dataclass(frozen=True, eq=False)
class Experiment(Saved):
    """Comparison of several groups of images: a row for each contrast, tests of all groups at once, and effects.

    Attributes
    ----------
    groups : Groups
        The images, and what was learned from all of them once: of this every contrast is made.
    design : Design
        Groups, replicates, blocks and covariates.
    correction : {"family", "fdr"}
        Adjustment of the contrasts' p-values.
    inputs : Inputs, optional
        Files that the outlines came from, one for each row of the design, if known.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from napari_shape_ensembles import Ensemble, Settings, experiment, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> images = [side[np.arange(len(side)) % 6 == i] for side in (a, b) for i in range(6)]
    >>> design = pd.DataFrame({"group": ["one"] * 6 + ["other"] * 6})  # parts of two images stand in for images
    >>> result = experiment(images, design, Settings(landmarks=60, rank=10))
    >>> result.table[["contrast", "differs", "case", "scale_least_p"]].round(3).values.tolist()
    [['other - one', 'scale', '1∧0', 0.002]]
    >>> bool(result.contrast("one", "other").scale.p_value == result.table["scale_p"][0])
    True
    """

    FORMAT = EXPERIMENT

    groups: Groups
    design: Design
    correction: str
    inputs: Inputs | None = None

    @property
    def settings(self) -> Settings:
        """Settings of every contrast."""
        return self.groups.settings

    @property
    def unit(self) -> str:
        """Unit of the outlines."""
        return self.groups.images[0].unit

    @cached_property
    def quantities(self) -> ReplicateQuantities:
        """Plain quantities of all outlines, and effects, variance components and plans from them."""
        import pandas as pd  # slow to import, and not needed for the tests

        groups = self.groups
        places = {
            "id": [name for one in groups.images for name in one.ids.tolist()],
            "image": np.repeat(np.arange(len(groups.images)), [len(one) for one in groups.images]),
            "replicate": groups.replicate,
        }
        outlines = pd.DataFrame({**places, **groups.measured})
        return ReplicateQuantities(outlines, self.design, self.settings.test_level)

    @cached_property
    def _ratios(self) -> Mapping[tuple[int, int], Mapping[str, Real]]:
        """Ratios of all plain quantities of every contrast."""
        return {(i, j): self.groups.ratios(i, j) for i, j in self.design.pairs}

    @cached_property
    def effects(self) -> pd.DataFrame:
        """Ratio b over a of every plain quantity of every contrast, with its 95 % interval.

        Columns: contrast; quantity, those of `Comparison.estimates` that are measured on single outlines, and the bands
        of lobes; ratio, low and high, as in `Comparison.estimates`; difference, in standard deviations of the outlines
        of one replicate.
        """
        import pandas as pd

        within = self.quantities.within
        rows = [
            (self.design.contrast(*pair), name, *ratio, np.log(ratio[0]) / within[name] if within[name] else 0.0)
            for pair, ratios in self._ratios.items()
            for name, ratio in ratios.items()
        ]
        return pd.DataFrame(rows, columns=["contrast", "quantity", "ratio", "low", "high", "difference"])

    # ----------------------------------------------------------------------------------------- contrasts

    @cached_property
    def _tests(self) -> Mapping[tuple[int, int], tuple[MMDTest, MMDTest]]:
        """Both tests of every contrast."""
        pairs, tests = self.design.pairs, {}
        for place, (i, j) in enumerate(pairs):
            report("contrasts", place, len(pairs))
            with as_part(place, len(pairs)):
                both = self.groups.test(i, j)
            tests[i, j] = (
                both if len(pairs) <= _MIN_SCREEN_CONTRASTS else (_without_null(both[0]), _without_null(both[1]))
            )
        return tests

    def contrast(self, a: str | None = None, b: str | None = None) -> Comparison:
        """Return two groups as a comparison, made of what was learned from all groups.

        Parameters
        ----------
        a, b : str, optional
            Names of the groups; by default those of the first row of the table.

        Returns
        -------
        Comparison
            Its p-values are those of its row of the table, and decide adjusted for all contrasts. A pair that is not in
            the table (neither group is the control) is tested by itself.

        Raises
        ------
        ValueError
            For an unknown group, or twice the same.
        """
        names = self.design.groups
        if a is None or b is None:
            if len(names) < 2:
                raise ValueError("there is only one group, so no contrast: see trend and quantities.slopes")
            a, b = (names[group] for group in self.design.pairs[0])
        a, b = plain_name(a), plain_name(b)
        for name in (a, b):
            if name not in names:
                raise ValueError(f"{name!r} is not one of the groups: {', '.join(names)}")
        if a == b:
            raise ValueError(f"{a!r} is compared with itself: name two groups")
        i, j = names.index(a), names.index(b)
        pair = (i, j) if (i, j) in self._tests else (j, i)
        if pair not in self._tests:
            return self.groups.contrast(i, j, self.groups.test(i, j))
        undulation, scale = self._tests[pair]
        if not len(undulation.null) and self.settings.null == "permutation":
            undulation, scale = self.groups.test(*pair)
        if len(self.design.pairs) == 1:
            return self.groups.contrast(i, j, (undulation, scale))
        row = self.table.iloc[self.design.pairs.index(pair)]
        p_adjusted = float(row["undulation_p_adjusted"]), float(row["scale_p_adjusted"])
        tests = _decided(undulation, p_adjusted[0]), _decided(scale, p_adjusted[1])
        return self.groups.contrast(i, j, tests, p_adjusted=p_adjusted)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table with one row per contrast: all pairs of groups, or all against the control.

        Columns: contrast ("b - a"), a, b, differs ("nothing", "form", "scale", "both", or None if inconclusive), case
        (row of the truth table by the adjusted p-values, or "inconclusive"), decided_by ("permutation"; "small-sample"
        where permutations cannot decide, see `Comparison.decided_by`), permuted ("images" or "replicates"; "curves" if
        neither side has replicates: then the row holds for these images alone). For each of undulation and scale, as
        `undulation_p`, ...:

        - p, p_adjusted: those of `contrast`, by the test that decides; closed family-wise (Holm's method if the
          small-sample test decides any contrast), or false discovery rate in a screen; each at half the level;
        - small_sample_p, small_sample_p_adjusted: see `small_sample_test`; Holm's method, or false discovery rate;
        - statistic: MMD of the mean embeddings, of the part with the smallest p-value;
        - effect, low, high: ratio b over a of the roughness, and of the size, with its 95 % interval: those of
          `contrast(a, b).estimates`, NaN of a roughness that the pixels do not resolve;
        - n_replicates: of both groups together;
        - least_p: the smallest p-value attainable with this number of replicates.

        Last, elongation, elongation_low and elongation_high: those of the elongation, as scale may differ in it alone.
        """
        import pandas as pd  # slow to import, and not needed for the tests

        level = self.settings.test_level
        table = pd.DataFrame([self._row(*pair) for pair in self.design.pairs], columns=_COLUMNS)
        for test in TESTS:
            p_values, small = (table[f"{test}_{kind}"].to_numpy(dtype=float) for kind in ("p", "small_sample_p"))
            table[f"{test}_p_adjusted"] = self._adjusted(test, p_values, table)
            table[f"{test}_small_sample_p_adjusted"] = adjusted(small, self.correction)
        undulation, scale = (table[f"{test}_p_adjusted"] <= level for test in TESTS)
        cells = zip(undulation, scale, self.decidable, self.faults, strict=True)
        table["case"] = [table_row(u, s) if known and not fault else INCONCLUSIVE for u, s, known, fault in cells]
        table["differs"] = [DIFFERS.get(case) for case in table["case"]]
        return table

    @cached_property
    def decidable(self) -> tuple[bool, ...]:
        """Whether a test can decide each contrast: permutations that reach the level, or the small-sample test."""
        groups = self.groups
        return tuple(
            groups.decided_by(*pair) == SMALL_SAMPLE
            or bool(
                reachable(self.settings, groups.least_p(*pair), groups.exchanged(*pair)) and groups.exchangeable(*pair)
            )
            for pair in self.design.pairs
        )

    def _row(self, i: int, j: int) -> dict[str, Any]:
        """One row of the table, unadjusted."""
        names, groups = self.design.groups, self.groups
        chosen, _ = groups.hypothesis(i, j)
        exchanged = groups.exchanged(i, j)
        row: dict[str, Any] = {
            "contrast": self.design.contrast(i, j),
            "a": names[i],
            "b": names[j],
            "decided_by": groups.decided_by(i, j),
            "permuted": exchanged,
        }
        least = groups.least_p(i, j)
        small = groups.small_sample(i, j) or (np.nan, np.nan)
        for name, test, small_p in zip(TESTS, self._tests[i, j], small, strict=True):
            effect, low, high = self._ratios[i, j][EFFECTS[name]].tolist()
            values = {
                "p": test.p_value,
                "small_sample_p": small_p,
                "statistic": test.mmd,
                "effect": effect,
                "low": low,
                "high": high,
                "n_replicates": len(chosen),
                "least_p": least,
            }
            row |= {f"{name}_{kind}": value for kind, value in values.items()}
        elongation = self._ratios[i, j]["elongation"].tolist()
        return row | dict(zip(("elongation", "elongation_low", "elongation_high"), elongation, strict=True))

    def _adjusted(self, test: str, p_values: Real, table: pd.DataFrame) -> Real:
        """Adjust the p-values of one test for all contrasts."""
        design, settings = self.design, self.settings
        closed = (table["permuted"] != "curves") & (table["decided_by"] == PERMUTATION)
        if self.correction == "fdr" or not len(p_values) or not closed.all():
            return adjusted(p_values, self.correction)
        draws, kernels = max(settings.permutations, DRAWS), self.groups.kernels[test]
        return closed_p_values(
            kernels, design.group, design.pairs, p_values, design.blocks, draws=draws, seed=settings.seed
        )

    @cached_property
    def all_faults(self) -> tuple[str, ...]:
        """Serious faults of the outlines of each contrast, and last those of all groups; "" if there are none."""
        pooled = [self.groups.sample(group)[0] for group in range(len(self.design.groups))]
        return tuple(reason or "" for reason in reasons_of_sets(pooled, [*self.design.pairs, range(len(pooled))]))

    @property
    def faults(self) -> tuple[str, ...]:
        """Faults that count against each contrast, in the order of the table: none if they are overruled."""
        return ("",) * len(self.design.pairs) if self.settings.overrule else self.all_faults[:-1]

    @property
    def overall_fault(self) -> str:
        """The same of the outlines of all groups, which withholds the answers of `overall`."""
        return "" if self.settings.overrule else self.all_faults[-1]

    @property
    def withheld(self) -> tuple[str, ...]:
        """For each contrast, the faults of its outlines that withhold its row; "" if none do, or too few replicates."""
        return tuple(reason if ok else "" for reason, ok in zip(self.faults, self.decidable, strict=True))

    def overruled(self) -> Experiment:
        """Return the same result with the cases that faults of the outlines withheld."""
        result, groups = copy(self), copy(self.groups)  # with all that has been computed
        object.__setattr__(groups, "settings", replace(self.settings, overrule=True))
        object.__setattr__(result, "groups", groups)
        result.__dict__.pop("table", None)
        return result

    # ------------------------------------------------------------------------------- tests of the whole design

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
        return hypotheses.of_column(self, column, given)

    @property
    def omnibus(self) -> Joint:
        """Omnibus p-values of the undulation and the scale test: whether any of the groups differ."""
        return self.test().p_values

    def trend(self, column: str, given: Sequence[str] = ()) -> Joint:
        """p-values of the undulation and the scale test of a trend with a covariate, such as a dose.

        A linear and a monotone trend (in the ranks) are tested on the same permutations and combined. See
        `quantities.slopes` for the effect size, and `test` for details.
        """
        if column not in self.design.covariates:
            known = ", ".join(self.design.covariates) or "none"
            raise ValueError(f"a trend needs a numeric column, which {column!r} is not; the design has {known}")
        return self.test(column, given).p_values

    def interaction(self, first: str, second: str) -> HypothesisTests:
        """Test the interaction of two factors or covariates, adjusted for both main effects.

        As `test` with `given`, based on means of named quantities, in which additive effects are not an interaction.
        """
        return hypotheses.of_interaction(self, first, second)

    def equivalence(
        self, margin: float = 0.1, *, form: float = 0.2, of_replicates: float | None = None
    ) -> pd.DataFrame:
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
            detected, or "inconclusive" where the row of the table is; undulation_p,
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
        return hypotheses.equivalence(self, margin, form, of_replicates)

    # ------------------------------------------------------------------------------------ distances of groups

    @cached_property
    def distance(self) -> pd.DataFrame:
        """Distance matrix of all pairs of groups: one metric for all, also where different parts decide.

        The norm of the MMDs of undulation and scale, each for the mean of its parts' kernels.
        """
        import pandas as pd

        k, group = len(self.design.groups), self.design.group
        squares = np.zeros((k, k))
        share = (group[:, None] == np.arange(k)) / np.bincount(group, minlength=k)
        for kernels in self.groups.kernels.values():
            inner = share.T @ np.mean([one.between for one in kernels.values()], axis=0) @ share
            squares += np.diag(inner)[:, None] + np.diag(inner) - 2 * inner
        return pd.DataFrame(np.sqrt(np.maximum(squares, 0)), self.design.groups, self.design.groups)

    @cached_property
    def linkage(self) -> Real:
        """Tree of the groups by average linkage of `distance`, (k - 1, 4), as of `scipy.cluster.hierarchy.linkage`."""
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform

        distances = squareform(self.distance.to_numpy(), checks=False)
        return np.asarray(hierarchy.linkage(distances, method="average", optimal_ordering=True))

    # ------------------------------------------------------------------------------------------------ words

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats to the table, in plain sentences."""
        return experiment_words.warnings(self)

    def overall(self, given: Sequence[str] = (), interactions: Sequence[tuple[str, str]] = ()) -> list[str]:
        """Sentences on all groups at once, on the trend with every covariate, and on the power of more replicates.

        Tests of groups and trends are also adjusted for the columns `given` (see `test`), and pairs of columns tested
        for an interaction (see `interaction`). Tests that are impossible with so few replicates, or such a design, are
        reported as such, and faults of the outlines in place of the answers that they withhold.
        """
        return experiment_words.overall(self, given, interactions)

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
        return experiment_words.sentences(self, margin)

    def summary(self) -> str:
        """Summarize groups, replicates and the rows of the table."""
        sizes = np.bincount(self.design.group)
        groups = ", ".join(f"{name} ({size})" for name, size in zip(self.design.groups, sizes, strict=True))
        cases = self.table["case"].value_counts(sort=False)
        rows = ", ".join(f"{ROW_WORDS[str(case)]} {count} ×" for case, count in cases.items())
        kind = "family-wise" if self.correction == "family" else "false discovery rate"
        head = f"{counted(len(sizes), 'group')} of replicates: {groups}"
        if self.table.empty:
            return f"{head}; 0 contrasts."
        return f"{head}; {counted(len(self.table), 'contrast')}: {rows} ({self.settings.significance:g}, {kind})."

    def to_dataframe(self) -> pd.DataFrame:
        """Table with one row per outline, as that of `Comparison.to_dataframe`, with the design of its replicate.

        Columns: id, image, sample (its group), metadata and features of the ensembles, and the distances from the mean
        shape; replicate, block, covariates and factors of the design; and size (in the unit of the outlines),
        elongation, roughness and the amplitudes of the bands of lobes, as they were compared: at one precision.
        """
        import pandas as pd

        groups, outlines = self.groups, self.quantities.outlines
        names = np.array(groups.names, dtype=object)[self.design.group[self.design.of_image]]
        described = {**groups.measured, **groups.lobes}
        table = outline_table(groups.images, names.tolist(), groups.learned.t, groups.learned.l, described)
        measured: Any = np.exp(outlines.drop(columns=["id", "image", "replicate"]))
        rows = self.design.replicates.drop(columns=["group", "images"]).iloc[groups.replicate].reset_index(drop=True)
        taken = {*table, *measured}
        rows = rows.rename(columns={name: f"{name} of the design" for name in rows if name in taken})
        return pd.concat([table, rows, measured], axis=1)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the ratios of size and roughness of every contrast with their intervals, if there are replicates.

        Markers are filled where the row of the contrast holds a difference (in scale for the size, in undulation for
        the roughness).

        `studies.superplot` plots the replicates over their outlines, and the tree and distances of the groups.

        Raises
        ------
        ValueError
            For a single group, which has no contrasts.
        """
        if not self.design.pairs:
            raise ValueError("there is only one group, so no contrast to plot: see trend and quantities.slopes")
        contrasts = self.table["contrast"].tolist()
        ax = axes_of(ax, height=1.2 + 0.5 * len(contrasts))
        effects, ratios = self.effects.set_index(["quantity", "contrast"]), {}
        for (quantity, mark), sign in zip(_PLOTTED, (-1, 0), strict=True):
            differs = [case[sign] == "0" for case in self.table["case"]]
            ratios[quantity, mark] = effects.loc[quantity].loc[contrasts].assign(differs=differs)
        draw_ratios(ax, ratios)
        ax.set_xlabel("ratio (bars: 95 % intervals over replicates)")
        ax.legend(frameon=False, fontsize="small")
        return ax

    def __repr__(self) -> str:
        return f"Experiment({self.summary()})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary())}</p>{self.table.to_html(index=False, float_format='{:.3g}'.format)}"

    # ------------------------------------------------------------------------------------------------ files

    def numbers(self) -> dict[str, Any]:
        """Return every number of the result by name: columns of the tables, and p-values of the tests."""
        quantities = self.quantities
        tables = {
            "table": self.table,
            "effects": self.effects,
            "equivalence": self.equivalence(),
            "variance": quantities.variance,
            "means": quantities.means,
        }
        found = {f"{name}.{column}": table[column] for name, table in tables.items() for column in table}
        tests = ["group"] if len(self.design.groups) > 1 else []
        for column in [*tests, *self.design.covariates]:
            try:
                test = self.test(column)
            except ValueError:  # a column that cannot be tested
                continue
            for name in TESTS:
                permuted = getattr(test, name)
                found[f"test of {column}.{name}.p"] = permuted.p_value
                found |= {f"test of {column}.{name}.parts.{part}": value for part, value in permuted.parts.items()}
                found[f"test of {column}.{name}.small sample"] = getattr(test, f"{name}_small_sample").p_value
        return found

    def _archived(self) -> Tree:
        return {**self.to_tree(), "numbers": records.columns_tree(self.numbers())}

    def to_tree(self) -> Tree:
        """Return the whole experiment as arrays, numbers and strings."""
        groups, learned = self.groups, self.groups.learned
        return {
            "design": self.design.to_tree(),
            "settings": tree_of(self.settings),
            "images": {f"image{place}": records.ensemble_tree(one) for place, one in enumerate(groups.images)},
            "compared": records.changed_tree(groups.images, groups.compared),
            "space": records.space_tree(learned.space),
            "coordinates": {"t": learned.t, "l": learned.l, "descriptors": learned.descriptors},
            "matches": {"ambiguous": learned.ambiguous, "archetype_is_ambiguous": learned.archetype_is_ambiguous},
            "known": learned.known,
            "kernels": {
                test: {f"part_{place}": _kernel_tree(name, one) for place, (name, one) in enumerate(parts.items())}
                for test, parts in groups.kernels.items()
            },
            "measured": records.columns_tree(groups.measured),
            "correction": self.correction,
            "note": groups.note,
            "versions": software_versions(),
            **({} if self.inputs is None else {"inputs": asdict(self.inputs)}),
        }

    @classmethod
    def of_tree(cls, tree: Tree) -> Experiment:
        """Restore an experiment from `to_tree`, to the same digits; raises ValueError for invalid data."""
        design = Design.of_tree(records.value(tree, "design", dict))
        kept = {
            name: records.value(tree, name, dict)
            for name in ("settings", "images", "compared", "space", "coordinates", "matches", "kernels", "measured")
        }
        images = [records.ensemble_of_tree(kept["images"][f"image{place}"]) for place in range(len(kept["images"]))]
        if len(images) != len(design.of_image) or not all(map(len, images)):
            raise ContentError(f"it has {len(images)} images with outlines, and its design {len(design.of_image)}")
        space, total = records.space_of(kept["space"]), sum(map(len, images))
        learned = Learned(
            space,
            records.real(kept["coordinates"], "t", (total, space.rank_)),
            records.real(kept["coordinates"], "l", (total, 3)),
            records.array(kept["matches"], "ambiguous", "b", (total,)),
            records.value(kept["matches"], "archetype_is_ambiguous", bool),
            records.real(kept["coordinates"], "descriptors", (total, None)),
            records.value(tree, "known", float),
        )
        correction = records.value(tree, "correction", str)
        if correction not in ("family", "fdr"):
            raise ContentError(f"there is no correction {correction!r}")
        groups = Groups(
            design.groups,
            images,
            records.changed_of_tree(kept["compared"], images),
            np.repeat(design.of_image, list(map(len, images))),
            design.group,
            from_tree(Settings, kept["settings"]),
            learned,
            design.blocks,
            design.unit,
            records.value(tree, "note", str),
        )
        replicates, measured = len(design.replicates), records.columns_of_tree(kept["measured"])
        # Sums over all pairs of outlines take long: they are read, not repeated.
        groups.__dict__["kernels"] = {
            test: dict(_kernel_of(part, replicates) for part in records.value(kept["kernels"], test, dict).values())
            for test in TESTS
        }
        groups.__dict__["measured"] = {name: records.real(measured, name, (total,)) for name in MEASURED}
        inputs = Inputs.of_tree(records.value(tree, "inputs", dict)) if "inputs" in tree else None
        return cls(groups, design, correction, inputs)


def _without_null(test: MMDTest) -> MMDTest:
    parts = {name: replace(part, null=np.empty(0)) for name, part in test.parts.items()}
    return replace(test, null=np.empty(0), parts=parts)


def _decided(test: MMDTest, p_adjusted: float) -> MMDTest:
    """Decide a test by its adjusted p-value."""
    rejected = bool(p_adjusted <= test.significance)
    if rejected == test.rejected:
        return test
    return replace(test, rejected=rejected, threshold=max(test.threshold, test.mmd))


def _kernel_tree(name: str, kernels: MeanKernels) -> Tree:
    arrays = {kept: getattr(kernels, kept) for kept in ("between", "counts", "own")}
    return {"name": name, "bandwidth": float(kernels.bandwidth), **arrays}


def _kernel_of(tree: Tree, replicates: int) -> tuple[str, MeanKernels]:
    kernels = MeanKernels(
        records.real(tree, "between", (replicates, replicates)),
        records.array(tree, "counts", "iu", (replicates,)).astype(np.intp),
        records.value(tree, "bandwidth", float),
        records.real(tree, "own", (replicates,)),
    )
    return records.value(tree, "name", str), kernels


def experiment(
    ensembles: Sequence[Ensemble] | Mapping[str, Sequence[Ensemble]],
    design: pd.DataFrame | None = None,
    settings: Settings | None = None,
    *,
    control: str | None = None,
    correction: str = "auto",
    scratch: StrPath | None = None,
    client: Any = None,
    progress: Listener | None = None,
    **changes: Any,
) -> Experiment:
    """Compare groups of images, with replicates as exchangeable units.

    Parameters
    ----------
    ensembles : sequence of Ensemble, or mapping of str to sequences
        One per image, in the order of the design's rows; or those of each group by its name, without a design.
    design : DataFrame, optional
        One row per image. Columns: group; and optionally replicate (dish, animal, specimen; by default each image is
        one), block (pair, batch, day: permuted only within), numeric covariates such as a dose, and further factors.
    settings : Settings, optional
        Its number of permutations is used, but at least 24 999, if there are more than 20 000 labelings; five times as
        many where the decision depends on the draw. If outlines are permuted in several contrasts, as many as the
        adjusted p-values need to reach the level.
    control : str, optional
        Group that all others are compared with; by default all pairs are compared.
    correction : {"auto", "family", "fdr"}
        Adjustment of the contrasts' p-values: family-wise by closed testing, or the false discovery rate (Benjamini and
        Hochberg). "auto" selects the latter for more than 20 contrasts.
    scratch, client
        As in `compare`.
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
    compare : two samples, as an experiment of two groups.
    design_from_names : a design from the names of files.

    Notes
    -----
    Undulation and scale are tested by the same parts as in `compare`. The kernel of all outlines is summed over pairs
    of replicates once, then replicates are permuted; parts are combined by their smallest p-value on the same
    permutations. Up to 20 000 labelings are enumerated. Replicates have equal weights. Of more than 20 000 outlines, a
    random sample of that size enters the kernel, with equally many of each replicate. Where neither group of a contrast
    has replicates, outlines are permuted, and the row holds for these images alone: all pairs of several images are an
    experiment of one image a group.

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
    >>> images = [side[np.arange(len(side)) % 6 == i] for side in (a, b) for i in range(6)]
    >>> design = pd.DataFrame({"group": ["sieved"] * 6 + ["raw"] * 6})
    >>> result = experiment(images, design, Settings(landmarks=60, rank=10))
    >>> result.omnibus.scale < 0.05, result.omnibus.undulation < 0.05
    (True, False)

    The same without a table:

    >>> again = experiment({"sieved": images[:6], "raw": images[6:]}, settings=Settings(landmarks=60, rank=10))
    >>> again.omnibus.scale == result.omnibus.scale
    True
    """
    if isinstance(ensembles, Mapping) and design is None:
        import pandas as pd

        by_name = {name: several(group, f"{name!r} must be a list of ensembles") for name, group in ensembles.items()}
        if empty := [name for name, group in by_name.items() if not group]:
            raise ValueError(f"{empty[0]!r} has no ensembles: give those of its images, or leave the group out")
        design = pd.DataFrame({"group": [name for name, group in by_name.items() for _ in group]})
        ensembles = [one for group in by_name.values() for one in group]
    if design is None or isinstance(ensembles, str | PathLike | Mapping):
        raise TypeError(
            "experiment takes a list of ensembles and a design table, or a dict of the ensembles of each group; "
            "experiment(*io.read_experiment(path)) reads them from a design file, or with pattern= from a folder"
        )
    settings = settings_of(settings, "experiment takes ensembles and a design", changes)
    if correction not in ("auto", "family", "fdr"):
        raise ValueError(f'correction must be "auto", "family" or "fdr", not {correction!r}')
    ensembles = several(ensembles, "experiment takes a list of ensembles, one per image")  # it may be a generator
    checked = checked_design(design, len(ensembles), control)
    ensembles = _usable(ensembles)
    if len(checked.groups) < len(ensembles):  # else they replicate nothing, and the gate for outlines reports them
        require_given_once(ensembles)
    group = checked.group[checked.of_image]
    of_groups = [[ensembles[i] for i in np.flatnonzero(group == g)] for g in np.unique(group)]
    *sides, note = alike(of_groups, border=settings.border_correction)
    order = np.argsort(np.argsort(group, kind="stable"))
    given, compared = ([[one for images in side for one in images][place] for place in order] for side in sides)
    if correction == "auto":
        correction = "fdr" if len(checked.pairs) > _MIN_SCREEN_CONTRASTS else "family"
    if correction == "family":
        settings = enough_permutations(settings, len(checked.pairs))
    more: dict[str, Any] = {"scratch": scratch, "client": client, "progress": progress}
    # Outlines that are too small for the largest pixels are left out.
    return _compared(_usable(given), compared, checked, settings, correction, note, **more)


def experiment_again(result: Experiment) -> Experiment:
    """Learn from the outlines of a result, and test them, once more."""
    groups = result.groups
    again = _compared(
        groups.images,
        groups.compared,
        result.design,
        result.settings,
        result.correction,
        groups.note,
    )
    return replace(again, inputs=result.inputs)


def _compared(
    images: Sequence[Ensemble],
    compared: Sequence[Ensemble],
    design: Design,
    settings: Settings,
    correction: str,
    note: str,
    *,
    scratch: StrPath | None = None,
    client: Any = None,
    progress: Listener | None = None,
) -> Experiment:
    with reporting(progress):
        for sentence in design.forecast(settings):
            report(f"note: {sentence}", 0, len(_STEPS))
        with as_part(0, len(_STEPS)):
            learned = learn(compared, settings, scratch=scratch, client=client)
        replicate = np.repeat(design.of_image, list(map(len, images)))
        units = design.blocks, design.unit
        groups = Groups(design.groups, images, compared, replicate, design.group, settings, learned, *units, note)
        result = Experiment(groups, design, correction)
        report(_STEPS[-3], len(_STEPS) - 3, len(_STEPS))
        _ = groups.measured
        if any(groups.exchanged(i, j) != "curves" for i, j in design.pairs):
            report(_STEPS[-2], len(_STEPS) - 2, len(_STEPS))
            _ = groups.kernels
        with as_part(len(_STEPS) - 1, len(_STEPS)):
            _ = result.table
    return result


def _usable(ensembles: Sequence[Ensemble]) -> list[Ensemble]:
    """Convert all ensembles to the unit of the first; raises if any have no outlines, or for other types."""
    ensembles = [sample_of(one) for one in ensembles]
    empty = [one.name or f"image {i}" for i, one in enumerate(ensembles, start=1) if not len(one)]
    if empty:
        raise ValueError(
            f"{len(empty)} of {len(ensembles)} images have no usable outline ({', '.join(empty)}): remove them and "
            "their rows of the design, or check the segmentation and the minimum size"
        )
    return [_in_unit(one, ensembles[0].unit, place) for place, one in enumerate(ensembles, start=1)]


def _in_unit(one: Ensemble, unit: str, place: int) -> Ensemble:
    try:
        return one.to(unit)
    except ValueError as error:
        raise ValueError(f"{one.name or 'image'} (row {place}): {error}") from error


__all__ = ["Experiment", "HypothesisTests", "Joint", "experiment"]
