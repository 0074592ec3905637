"""Level and power of the tests of replicates, by simulation; results of docs/evidence/experiments.md.

python benchmarks/replicates.py levels | given | small | power | family | equivalence | position | real
    [--designs N] [--seed S] [--only NAME] [--out benchmarks/replicates.csv]

`levels`: permutation tests and Läuter's test on null designs of each kind, with variation between replicates.
`given`: covariates regressed out, interactions, and images within replicates. `small`: Läuter's test where its
assumption fails. `power`: compared with an oracle's t-test of the shifted component.
`family`: family-wise error of several contrasts. `equivalence`: how often groups that differ by exactly the margin are
declared equivalent. `position`: dependence of shape on position, without and with a gradient. `real`: random subsets
of real fields and people, of one condition and of two (data beside the repository: docs/contributing/data.md). With
`--out` the counts are stored in a file, from which tools/write_docs.py makes the tables; cells already there with the
same seed are skipped.
"""

import argparse
import zlib
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from imageio.v3 import imread
from scipy import stats
from scipy.stats import rankdata

from napari_shape_ensembles import Outlines, Settings, experiment, position_dependence
from napari_shape_ensembles.comparison import hypotheses
from napari_shape_ensembles.comparison.design import checked_design
from napari_shape_ensembles.comparison.engine import TESTS
from napari_shape_ensembles.comparison.quantities import LOBES
from napari_shape_ensembles.comparison.replicate_quantities import ReplicateQuantities
from napari_shape_ensembles.mmd.replicates import (
    Hypothesis,
    closed_p_values,
    least_p,
    mean_kernels,
    replicate_means,
    replicate_test,
    small_sample_test,
)
from napari_shape_ensembles.outlines import Ensemble
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales
from results_file import DATA, record, wilson

ICC = [0.0, 0.05, 0.2]
# Of each test: the default, half of the row's 0.05; and the paper's.
LEVELS = (0.025, 0.01)
# Outlines per replicate, components, and number of permutations if they are not enumerated: 1/400 divides both levels.
OUTLINES, COMPONENTS, DRAWS = 10, 4, 399
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "replicates.json"
# Of equivalence: replicates, and outlines in each, of the two groups.
EQUIVALENT = (
    *((f"{m} and {m}", (m, 40), (m, 40)) for m in (3, 6, 12)),
    ("5 of 5 and 15 of 40", (5, 5), (15, 40)),
    ("5 of 40 and 15 of 5", (5, 40), (15, 5)),
    ("6 of 5 and 6 of 40", (6, 5), (6, 40)),
)
# Replicates, and outlines in each, of both groups, whose power is compared with that of Welch's test.
UNEQUAL = ((5, 3, 15, 30), (5, 30, 15, 3), (6, 4, 6, 40), (4, 5, 12, 22), (4, 40, 12, 4))
# File of the counts, and its columns.
KEPT: dict = {"out": None, "what": "", "seed": 1}
# Tables with a difference.
FOUND = ("power", "position", "real")
COUNTS = ["what", "name", "icc", "test", "level", "seed", "designs", "rejected"]


def two(m, n):
    """Two groups."""
    return np.arange(m + n) >= m, None


def several(k, size):
    """Several groups of equal size."""
    return np.eye(k)[np.repeat(np.arange(k), size)], None


def pairs(count):
    """Two groups in blocks of one replicate each."""
    return np.tile([0, 1], count), np.repeat(np.arange(count), 2)


DESIGNS = {
    **{
        f"{m} and {n}": two(m, n)
        for m, n in ((2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (10, 10), (15, 15), (3, 9), (5, 10))
    },
    "6 pairs": pairs(6),
    "10 pairs": pairs(10),
    "3 blocks of 2 and 2": (np.tile([0, 0, 1, 1], 3), np.repeat(np.arange(3), 4)),
    "3 groups of 5": several(3, 5),
    "5 groups of 4": several(5, 4),
    "trend of 8": (np.arange(8.0), None),
    "trend of 12, 4 doses": (np.repeat([0.0, 1, 3, 10], 3), None),
}


def covariate(m):
    """Two groups, and a covariate that differs between them and affects every component."""
    length = np.random.default_rng(0).normal(size=2 * m) + 0.5 * (np.arange(2 * m) >= m)
    return np.arange(2 * m) >= m, length


def interaction(m):
    """Two crossed factors, m replicates of each combination, both of which affect every component."""
    one, other = np.repeat([0.0, 0, 1, 1], m), np.repeat([0.0, 1, 0, 1], m)
    return (one - 0.5) * (other - 0.5), np.stack([one, other], axis=1)


# Columns to test, and covariates to regress out first.
GIVEN = {
    "8 and 8, given a length": covariate(8),
    "5 and 5, given a length": covariate(5),
    "interaction, 4 of 5": interaction(5),
    "interaction, 4 of 3": interaction(3),
}


def drawn(rng, blocks, total, icc, shift=None, counts=None, draw=None):
    """Components of outlines, and the replicate of each; blocks add variation of their own."""
    counts = np.full(total, OUTLINES) if counts is None else counts
    replicate = np.repeat(np.arange(total), counts)
    draw = draw or rng.standard_normal
    means = np.sqrt(icc) * draw((total, COMPONENTS))
    if blocks is not None:
        means += 0.3 * rng.standard_normal((blocks.max() + 1, COMPONENTS))[blocks]
    if shift is not None:
        means = means + shift
    return means[replicate] + np.sqrt(1 - icc) * rng.standard_normal((len(replicate), COMPONENTS)), replicate


def stream(name, icc):
    """Random generator of one cell, independent of all others."""
    return np.random.default_rng([KEPT["seed"], zlib.crc32(f"{KEPT['what']} {name} {icc:g}".encode())])


def is_kept(name, icc):
    """Whether the file has the counts of a cell already."""
    if KEPT["out"] is None or not KEPT["out"].exists():
        return False
    known = pd.read_csv(KEPT["out"])
    mine = (known["what"] == KEPT["what"]) & (known["name"] == name) & (known["seed"] == KEPT["seed"])
    return bool((mine & np.isclose(known["icc"], icc)).any())


def cells(names, correlations=ICC):
    """Names and intraclass correlations of the cells that are still to be drawn."""
    return ((name, icc) for name in names for icc in correlations if not is_kept(name, icc))


def tested(points, replicate, hypothesis, blocks, seed):
    """p-values by permutation and by Läuter's test; with covariates, of means.

    A trend is tested with the dose and with its ranks, as in `Experiment.trend`.
    """
    means, within = replicate_means(points, replicate)
    if blocks is not None:
        points = (
            points
            - np.stack([np.bincount(blocks, x) / np.bincount(blocks) for x in means.T], axis=1)[blocks[replicate]]
        )
    # Widths close to the median distance, whose exact value would cost more than the test.
    if hypothesis.covariates is not None:
        kernels = {"means": mean_kernels(means / within, np.arange(len(means)), kernel="mean")}
    else:
        kernels = {
            "all": mean_kernels(points, replicate, bandwidth=2.7),
            "first": mean_kernels(points[:, :1], replicate, bandwidth=1.0),
        }
    columns = np.asarray(hypothesis.columns)
    ranks = [] if columns.ndim > 1 or len(np.unique(columns)) < 3 else [replace(hypothesis, columns=rankdata(columns))]
    permuted = replicate_test(kernels, hypothesis, *ranks, draws=DRAWS, seed=seed)
    return permuted.p_value, small_sample_test(means, within, hypothesis).p_value, permuted.least_p


def print_row(name, icc, p_values, least):
    """Print rejection rates with Wilson intervals, and store the counts."""
    cells, counts = [], []
    for level in LEVELS:
        for kind, values in p_values.items():
            count = int(np.sum(np.asarray(values) <= level + 1e-12))
            counts.append((KEPT["what"], name, icc, kind, level, KEPT["seed"], len(values), count))
            low, high = wilson(count, len(values))
            cells.append(f"{kind} {level:g}: {count / len(values):.3f} ({low:.3f}-{high:.3f})")
    print(f"| {name} | {icc:g} | {least:.2g} | {' | '.join(cells)} |", flush=True)
    if (path := KEPT["out"]) is not None:
        pd.DataFrame(counts, columns=COUNTS).to_csv(path, mode="a", header=not path.exists(), index=False)


def table_of(path, what):
    """A table of docs/evidence/experiments.md from the counts of all seeds: one row per design, rates by correlation.

    ↑ and ↓ mark rates whose Wilson interval is above, or below, the level, in null designs.
    """
    known = pd.read_csv(path)
    known = known[known["what"] == what]
    tests = [(test, level) for test in known["test"].unique() for level in known["level"].unique()]
    lines = ["| design | designs | " + " | ".join(f"{test}, {level:g}" for test, level in tests) + " |"]
    lines.append("|---" * (len(tests) + 2) + "|")
    counts = defaultdict(list)
    sums = known.groupby(["name", "test", "level", "icc"])[["designs", "rejected"]].sum()
    for (*key, _), *both in sums.itertuples():
        counts[*key].append(both)
    for name in known["name"].unique():
        cells, sizes = [], set()
        for test, level in tests:
            shares = []
            for designs, rejected in counts[name, test, level]:
                low, high = wilson(rejected, designs)
                mark = "" if what in FOUND else "↑" if low > level else "↓" if high < level else ""
                shares.append(f"{rejected / designs:.3f}".removeprefix("0") + mark)
                sizes.add(designs)
            cells.append(" / ".join(shares))
        lines.append(f"| {name} | {' or '.join(map(str, sorted(sizes)))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def above_of(path):
    """How many cells of the null designs `levels` have an interval above their level, in a sentence."""
    known = pd.read_csv(path)
    known = known[known["what"] == "levels"].groupby(["test", "name", "icc", "level"])[["designs", "rejected"]].sum()
    above = [wilson(rejected, designs)[0] > level for (*_, level), designs, rejected in known.itertuples()]
    counts = pd.Series(above).groupby(known.index.get_level_values("test").to_numpy()).agg(["size", "sum"])
    permuted, small = (counts.loc[test] for test in ("permuted", "small sample"))
    return (
        f"These designs have ten outlines in every replicate. Of {permuted['size']} cells of the permutation test "
        f"{permuted['sum']} have an interval above their level, of as many of the small-sample test {small['sum']}; "
        f"one in forty, {permuted['size'] / 40:.0f} each, is expected by chance where the level is exact."
    )


def words_of(path):
    """Rejection rate of the permutation test in null designs, in a sentence."""
    known = pd.read_csv(path)
    own = known[(known["what"] == "levels") & (known["test"] == "permuted")]
    level = own["level"].max()
    own = own[own["level"] == level]
    shares = own["rejected"] / own["designs"]
    return (
        f"In {own['designs'].min()} simulated null designs of each of {own['name'].nunique()} kinds, with intraclass "
        f"correlations of {own['icc'].min():g} to {own['icc'].max():g}, the permutation test of replicates rejected in "
        f"{shares.min():.3f} to {shares.max():.3f} of the designs at level {level:g}."
    )


def levels(designs, only):
    """Rejection rates in null designs."""
    for name, icc in cells(name for name in DESIGNS if only in ("", name)):
        permuted, small, least = level_p_values(designs, name, icc)
        print_row(name, icc, {"permuted": permuted, "small sample": small}, least[0])


def level_p_values(designs, name, icc):
    """p-values of null designs of one kind, by both tests, and the smallest possible one."""
    columns, blocks = DESIGNS[name]
    rng, hypothesis = stream(name, icc), Hypothesis(columns, blocks)
    return np.array(
        [tested(*drawn(rng, blocks, len(columns), icc), hypothesis, blocks, seed) for seed in range(designs)]
    ).T


def given(designs, only):
    """Rejection rates in null designs with covariates regressed out (Freedman and Lane), and with nested images."""
    for name, icc in cells(name for name in GIVEN if only in ("", name)):
        columns, known = GIVEN[name]
        rng, hypothesis = stream(name, icc), Hypothesis(columns, None, known)
        shift = known.reshape(len(columns), -1).sum(axis=1, keepdims=True) * np.ones(COMPONENTS)
        found = [
            tested(*drawn(rng, None, len(columns), icc, 0.5 * shift), hypothesis, None, seed) for seed in range(designs)
        ]
        permuted, small_sample, least = np.array(found).T
        print_row(name, icc, {"permuted": permuted, "small sample": small_sample}, least[0])
    if only and not only.startswith("nested"):
        return
    # Images of a replicate vary as much as replicates do.
    for nested, icc in cells(["nested: 5 and 5 replicates of 3 images"]):
        rng, found = stream(nested, icc), {"permuted": [], "images permuted": []}
        for seed in range(designs):
            image = np.repeat(np.arange(30), OUTLINES)
            points, replicate = drawn(rng, None, 10, icc, counts=np.full(10, 3 * OUTLINES))
            points += np.sqrt(icc) * rng.standard_normal((30, COMPONENTS))[image]
            found["permuted"].append(tested(points, replicate, Hypothesis(two(5, 5)[0]), None, seed)[0])
            found["images permuted"].append(tested(points, image, Hypothesis(two(15, 15)[0]), None, seed)[0])
        print_row(nested, icc, found, least_p(5, 5))


def small(designs, only):
    """Läuter's test for replicates that are not Gaussian or of unequal size, where this test decides.

    With `--only` and a design of `levels`, for Gaussian replicates of that design.
    """
    if only in DESIGNS:
        columns, blocks = DESIGNS[only]
        for icc in ICC:
            rng, p_values = stream(only, icc), []
            for _ in range(designs):
                means, within = replicate_means(*drawn(rng, blocks, len(columns), icc))
                p_values.append(small_sample_test(means, within, Hypothesis(columns, blocks)).p_value)
            print_row(only, icc, {"small sample": p_values}, 0)
        return
    kinds = {
        "Gaussian": {},
        "skewed (log-normal)": {"draw": lambda rng, size: (np.exp(rng.standard_normal(size)) - np.exp(0.5)) / 2.16},
        "heavy tails (t, 3 df)": {"draw": lambda rng, size: rng.standard_t(3, size) / np.sqrt(3)},
        "one deviant replicate": {"deviant": True},
        "unequal numbers 5 to 45": {"unequal": True},
        "5 against 45 outlines": {"unequal": "sides"},
    }
    every = {f"{m} and {m}, {name}": (m, options) for m in (3, 4) for name, options in kinds.items()}
    every["3 and 3, two values"] = 3, {"draw": lambda rng, size: rng.choice([-1.0, 1.0], size)}
    every["15 and 15, 5 against 45 outlines"] = 15, kinds["5 against 45 outlines"]
    for cell, icc in cells(cell for cell in every if cell.endswith(f", {only}" if only else "")):
        m, options = every[cell]
        print_row(cell, icc, {"small sample": small_p_values(designs, m, cell, icc, options)}, 0)


def small_gaussian(designs, name, icc):
    """As `level_p_values` for 3 and 3 replicates, of `small`."""
    p_values = np.array(small_p_values(designs, 3, name, icc, {}))
    return p_values, p_values


def small_p_values(designs, m, name, icc, options):
    """Läuter's p-values of null designs of m and m replicates of one kind."""
    rng, p_values, hypothesis = stream(name, icc), [], Hypothesis(np.arange(2 * m) >= m)
    draw = partial(options["draw"], rng) if "draw" in options else None
    for _ in range(designs):
        counts = None
        if options.get("unequal") == "sides":
            counts = np.repeat([5, 45], m)
        elif options.get("unequal"):
            counts = rng.permutation(np.linspace(5, 45, 2 * m).astype(int))
        shift = None
        if options.get("deviant"):
            shift = np.zeros((2 * m, COMPONENTS))
            shift[rng.integers(2 * m)] = rng.standard_normal(COMPONENTS)
        points, replicate = drawn(rng, None, 2 * m, icc, shift, counts, draw)
        means, within = replicate_means(points, replicate)
        p_values.append(small_sample_test(means, within, hypothesis, np.bincount(replicate)).p_value)
    return p_values


# Two fast cells: `tools/write_docs.py --check --measure` repeats them and compares their counts.
AGAIN = {("levels", "3 and 3"): level_p_values, ("small", "3 and 3, Gaussian"): small_gaussian}


def kept_counts():
    """Rejections by each test in the cells of `AGAIN`, as in replicates.csv."""
    known = pd.read_csv(Path(__file__).with_name("replicates.csv"))
    own = known[(known["icc"] == 0) & (known["seed"] == 1)]
    own = own[[cell in AGAIN for cell in zip(own["what"], own["name"], strict=True)]]
    return [
        {"what": row.what, "name": row.name, "test": row.test, "level": row.level}
        | {"designs": row.designs, "rejected": row.rejected}
        for row in own.itertuples(index=False)
    ]


def drawn_again():
    """The same counts, drawn again."""
    found = []
    for row in kept_counts():
        KEPT["what"] = row["what"]
        work = AGAIN[row["what"], row["name"]]
        p_values = dict(zip(("permuted", "small sample"), work(row["designs"], row["name"], 0.0), strict=False))
        found.append(row | {"rejected": int((p_values[row["test"]] <= row["level"] + 1e-12).sum())})
    return found


def power(designs, only):
    """Power for a shift of one component, and of all four, compared with the oracle's t-test of the first.

    With unequal numbers of outlines, of the second of two components, of which the first varies twice as much between
    replicates, compared with Welch's test of the second.
    """
    for m, shift in ((3, 1.0), (6, 0.6), (12, 0.4)):
        group = np.arange(2 * m) >= m
        for name, direction in (("one", np.eye(COMPONENTS)[0]), ("all", np.full(COMPONENTS, COMPONENTS**-0.5))):
            if is_kept(cell := f"{m} and {m}, {name} of {COMPONENTS} components by {shift} sd", 0.1):
                continue
            rng, found = stream(cell, 0.1), []
            for seed in range(designs):
                points, replicate = drawn(rng, None, 2 * m, 0.1, shift * group[:, None] * direction)
                means = np.bincount(replicate, points[:, 0]) / OUTLINES
                oracle = stats.ttest_ind(means[group], means[~group]).pvalue
                found.append((*tested(points, replicate, Hypothesis(group), None, seed)[:2], oracle))
            print_row(cell, 0.1, dict(zip(("permuted", "small sample", "oracle"), np.transpose(found), strict=True)), 0)
    for m, outlines, n, others in UNEQUAL:
        counts, group = np.repeat([outlines, others], [m, n]), np.arange(m + n) >= m
        if is_kept(cell := f"{m} of {outlines} and {n} of {others}: elongation", 0.1):
            continue
        rng, found = stream(cell, 0.1), []
        variances = np.array([4, 1]) / 9 + 1 / counts[:, None]
        error = np.sqrt(sum(variances[group == one, 1].mean() / np.sum(group == one) for one in (0, 1)))
        for _ in range(designs):
            means = rng.normal(size=(m + n, 2)) * np.sqrt(variances)
            means[group, 1] += 3.6 * error
            oracle = stats.ttest_ind(means[group, 1], means[~group, 1], equal_var=False).pvalue
            found.append((small_sample_test(means, np.ones(2), Hypothesis(group), counts).p_value, oracle))
        print_row(cell, 0.1, dict(zip(("small sample", "oracle"), np.transpose(found), strict=True)), 0)


def family(designs, only):
    """Family-wise error of closed testing if none, or one, of four groups differs."""
    group, every = np.repeat(np.arange(4), 5), [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for cell, icc in cells(f"4 groups of 5, {differing} differs" for differing in ("none", "one")):
        name = cell.removeprefix("4 groups of 5, ")
        differs = 2.0 * (name == "one differs")
        rng, wrong = stream(name, icc), []
        for seed in range(designs):
            points, replicate = drawn(rng, None, 20, icc, differs * (group == 3)[:, None])
            kernel = mean_kernels(points, replicate)
            alone = [
                replicate_test({"": kernel.subset(np.flatnonzero(np.isin(group, pair)))}, Hypothesis(two(5, 5)[0]))
                for pair in every
            ]
            p_values = np.array([test.p_value for test in alone])
            adjusted = closed_p_values({"": kernel}, group, every, p_values, draws=DRAWS, seed=seed)
            true = [p for p, (_, j) in zip(adjusted, every, strict=True) if not differs or j != 3]
            wrong.append(min(true))
        print_row(cell, icc, {"any wrong": wrong}, least_p(5, 5))


def equivalence(designs, only):
    """Rate of declared equivalence if one quantity differs by exactly the margin.

    "alone": the replicates' means of all other quantities agree, so that the one at the margin decides, where the level
    is highest; "all": all quantities vary equally.
    """
    spreads = {"size": 0.15, "elongation": 0.15, **dict.fromkeys((*LOBES, "roughness"), 0.3)}
    tested = SimpleNamespace(tested={"undulation": LOBES, "scale": ("size", "elongation")})
    none = pd.DataFrame({"case": ["1∧1"], **{f"{test}_p_adjusted": [1.0] for test in TESTS}})
    for name, (m, outlines), (n, others) in EQUIVALENT:
        if only and only != name:
            continue
        design = checked_design(pd.DataFrame({"group": np.repeat(["a", "b"], [m, n])}), m + n)
        counts = np.repeat([outlines, others], [m, n])
        replicate = np.repeat(np.arange(m + n), counts)
        second = replicate >= m
        for cell, icc in cells(
            f"{name}, {varies}" for varies in (("alone", "all") if outlines == others else ("alone",))
        ):
            rng, found = stream(cell, icc), []
            for _ in range(designs):
                columns = {"id": np.arange(len(replicate)), "image": replicate, "replicate": replicate}
                for quantity, spread in spreads.items():
                    values = np.sqrt(1 - icc) * rng.standard_normal(len(replicate))
                    values += np.sqrt(icc) * rng.standard_normal(m + n)[replicate]
                    if cell.endswith("alone") and quantity not in ("size", LOBES[0]):
                        values -= (np.bincount(replicate, values) / counts)[replicate]
                    columns[quantity] = spread * values
                columns["size"] += np.log(1.1) * second
                columns[LOBES[0]] += 0.2 * spreads[LOBES[0]] * np.sqrt(1 - icc) * second
                measured = ReplicateQuantities(pd.DataFrame(columns), design, Settings().significance)
                # Detection by permutation is irrelevant here.
                made = SimpleNamespace(design=design, groups=tested, quantities=measured, settings=Settings(),
                                       table=none, correction="family", faults=[""])  # fmt: skip
                row = hypotheses.equivalence(made, 0.1, 0.2, None).iloc[0]
                found.append((row["undulation_p"], row["scale_p"]))
            form, scale = np.transpose(found)
            print_row(cell, icc, {"form": form, "scale": scale}, 0)


def position(designs, only):
    """Dependence of shape on position in one image: without, and with gradients of size and undulation."""
    quick = Settings(landmarks=60, rank=10, permutations=199, significance=0.05)
    for count in (40, 100, 300):
        for name, size, rough in (("none", 0, 0), ("size", 0.5, 0), ("form", 0, 0.5)):
            if only and only != name:
                continue
            if is_kept(cell := f"{count} outlines, gradient of {name}", 0):
                continue
            rng, found = stream(cell, 0), []
            for _ in range(designs):
                places = rng.uniform(-1, 1, (count, 2))  # the standard deviation along each axis is 1/√3
                along = np.sqrt(3) * places[:, :1]
                forms = draw_forms(rng, count, roughness=0.03, waves=(6, 10), vertices=60)
                plain = draw_forms(rng, count, roughness=1e-6, waves=(6, 10), vertices=60)
                forms = plain + (forms - plain) * np.exp(rough * (along + rng.standard_normal((count, 1))))[..., None]
                scales = draw_scales(rng, count, size=10, spread=0.15, elongation=1.4)
                scales = scales * np.exp(size * 0.15 * along)[..., None]
                one = Ensemble(forms @ scales + 1000 * places[:, None], unit="µm")
                test = position_dependence(one, quick)
                found.append((test.undulation.p_value, test.scale.p_value))
            form, scale = np.transpose(found)
            print_row(cell, 0, {"form": form, "scale": scale, "either": np.minimum(form, scale)}, 0)


def real(designs, only):
    """Random subsets of m and m real fields and people: of one condition, and of two."""
    folder = DATA / "replicates"
    with np.load(folder / "hearts.npz") as data:
        curves = np.split(data["xy"].astype(float), data["offsets"][1:-1])
        person = data["person"]
    hearts = [
        Ensemble([c for c, p in zip(curves, person, strict=True) if p == one], name=str(one))
        for one in np.unique(person)
    ]
    outlines = Outlines(min_area=600)
    fields, group = [], []
    for kind in ("wt", "ko"):
        for path in sorted((folder / "mef_nuclei").glob(f"{kind}_*.png")):
            found = outlines.trace(imread(path), name=path.stem)
            if len(found) > 1:
                fields.append(found)
                group.append(kind)
    for name, images, of in (("hearts", hearts, ["person"] * 8), ("nuclei", fields, group)):
        # A single group is rejected unless a trend in a numeric column could be tested.
        result = experiment(images, pd.DataFrame({"group": of, "number": np.arange(len(of))}))
        if len(result.table):
            row, sizes = result.table.iloc[0], np.bincount(result.design.group)
            p = {test: float(row[f"{test}_p"]) for test in TESTS}
            print(f"all {sizes[0]} and {sizes[1]} of {row['contrast']}: {row['case']}, {p}", flush=True)
            record(RESULTS if KEPT["out"] else None, all_fields={"sizes": sizes.tolist(), "row": row["case"], **p})
        groups, rng = np.array(of), np.random.default_rng(6)
        kinds = [(kind, kind) for kind in np.unique(groups)] + ([("wt", "ko")] if name == "nuclei" else [])
        for a, b in kinds:
            for m in (3, 4) if name == "hearts" else (3, 4, 5, 6, 10, 15):
                if a == b and 2 * m > np.sum(groups == a):
                    continue
                if is_kept(cell := f"{name}: {m} {a} and {m} {b}", 0):
                    continue
                p_values = {f"{test}{kind}": [] for test in ("form", "scale") for kind in ("", ", small sample")}
                if every := [(0, *rest) for rest in combinations(range(1, 8), 3)] if (name, m) == ("hearts", 4) else []:
                    draws = [np.array([*four, *(set(range(8)) - set(four))]) for four in every]  # all there are
                else:
                    draws = [rng.permutation(np.flatnonzero(groups == a)) for _ in range(designs)]
                for seed, order in enumerate(draws):
                    other = order[m : 2 * m] if a == b else rng.permutation(np.flatnonzero(groups == b))[:m]
                    chosen = np.concatenate([order[:m], other])
                    hypothesis = Hypothesis(two(m, m)[0])
                    for test, words in (("undulation", "form"), ("scale", "scale")):
                        kernels = {part: one.subset(chosen) for part, one in result.groups.kernels[test].items()}
                        p_values[words].append(replicate_test(kernels, hypothesis, draws=DRAWS, seed=seed).p_value)
                        small_p = result.groups.small_sample_test(test, hypothesis, chosen).p_value
                        p_values[f"{words}, small sample"].append(small_p)
                p_values["row"] = np.minimum(p_values["form"], p_values["scale"])
                print_row(cell, 0, p_values, least_p(m, m))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what",
        choices=[*("levels", "given", "small", "power", "family", "equivalence", "position", "real")],
    )
    parser.add_argument("--designs", type=int, default=2000)
    parser.add_argument("--only", default="", help="name of one kind of design")
    parser.add_argument("--seed", type=int, default=1, help="of the designs of levels, given and family")
    parser.add_argument("--out", type=Path, help="file the counts are kept in, such as benchmarks/replicates.csv")
    chosen = parser.parse_args()
    KEPT.update(out=chosen.out, what=chosen.what, seed=chosen.seed)
    globals()[chosen.what](chosen.designs, chosen.only)
    if chosen.out:
        record(RESULTS, counts=kept_counts())
