"""False positives of the tests of replicates where these have unequal numbers of outlines, or are few.

Two or more groups, a trend (the groups are doses), and two groups in blocks. The small-sample test of every design, and
the permutation test of those that the program permutes.

Means of replicates are simulated directly: nine components as for form, or two as for scale, of variance σ_b² + 1/n,
with an intraclass correlation σ_b² / (σ_b² + 1) of 0, 0.1 and 0.3. They are Gaussian, Gaussian with a component that
all share, skewed (exponential between and within replicates), or have one deviant replicate. For every design the
twelve cells are screened, and the one with the largest rate at 0.025 is simulated again, 12 times as often: the largest
of twelve noisy rates would be too large.

    python benchmarks/unequal_precision.py [--designs 500] [--out docs/results/unequal-precision.json]

With `--out` the rates are stored (designs already there are skipped), from which tools/write_docs.py makes the table of
docs/evidence/experiments.md; the largest of the small-sample test is what the answer states (`engine.HIGHEST_RATE`,
compared in the tests).
"""

import json
from collections.abc import Iterator

import numpy as np

from napari_shape_ensembles.mmd.replicates import (
    Hypothesis,
    mean_kernels,
    precision_differs,
    replicate_test,
    small_sample_test,
)
from results_file import parser_of, record

LEVEL, AGAIN = 0.025, 12
# Permutations that are not enumerated; 1/400 divides the level.
DRAWS = 399
# Replicates, and outlines in each, of every group; a range of outlines is spread evenly in their logarithms.
GROUPS: tuple[tuple[tuple[int, int | tuple[int, int]], ...], ...] = (
    ((2, 30), (2, 30)),
    ((3, 30), (3, 30)),
    ((4, 30), (4, 30)),
    ((6, 30), (6, 30)),
    ((2, 30), (7, 30)),
    ((3, (3, 40)), (3, (3, 40))),
    ((4, (3, 40)), (4, (3, 40))),
    ((3, (5, 20)), (4, (10, 40))),
    ((6, (3, 40)), (6, (3, 40))),
    ((6, 10), (6, 20)),
    ((15, 10), (15, 20)),
    ((6, (10, 40)), (12, (10, 40))),
    ((4, (3, 10)), (8, (10, 40))),
    ((3, 5), (3, 50)),
    ((6, 4), (6, 40)),
    ((3, 5), (6, 50)),
    ((5, 3), (15, 30)),
    ((6, 4), (20, 12)),
    ((15, 3), (5, 30)),
    ((3, 3), (20, 40)),
    ((3, 30), (20, 3)),
    ((4, 3), (4, 30), (4, 30)),
    ((3, 3), (8, 30), (8, 30)),
    ((8, 3), (4, 30), (4, 30)),
)
# The same at doses.
TRENDS = (
    ((0, 1, 2), ((3, 30), (3, 30), (3, 3))),
    ((0, 1, 2, 3), ((4, 30), (4, 20), (4, 10), (4, 3))),
    ((0, 1, 2, 3), ((8, 30), (8, 30), (8, 30), (3, 3))),
    ((0, 1, 3, 10), ((4, 30), (4, 30), (4, 12), (2, 4))),
    ((0, 1, 10), ((6, 20), (6, 20), (3, 3))),
    ((0, 1, 5), ((5, 30), (5, 30), (1, 4))),
)
# Number of blocks, each with these groups.
BLOCKED = ((4, ((1, 3), (1, 30))), (8, ((1, 3), (1, 40))), (3, ((2, 4), (2, 40))), (2, ((4, 3), (4, 30))))
# Few replicates of few and of many outlines, where the weights are estimated worst.
FEW = (((4, 5), (4, 45)), ((5, 5), (5, 45)), ((6, 5), (6, 45)), ((4, 5), (12, 22)), ((4, 40), (12, 4)))
KINDS = ("Gaussian", "shared", "skewed", "deviant")


def spread(count: int, outlines: int | tuple[int, int]) -> list[int]:
    """Numbers of outlines of the replicates of one group."""
    return np.rint(np.geomspace(*np.broadcast_to(outlines, 2), count)).astype(int).tolist()


def named(count: int, outlines: int | tuple[int, int]) -> str:
    """Name of one group."""
    return f"{count} of {outlines if isinstance(outlines, int) else f'{outlines[0]}–{outlines[1]}'}"


def designs() -> Iterator[tuple[str, np.ndarray, Hypothesis]]:
    """Yield the name, numbers of outlines and hypothesis of every design."""
    for doses, groups in (*((None, groups) for groups in GROUPS), *TRENDS):
        group = np.repeat(np.arange(len(groups)), [count for count, _ in groups])
        columns = group[:, None] == np.arange(1, len(groups)) if doses is None else np.array(doses)[group, None]
        name = ", ".join(named(*one) for one in groups)
        counts = np.concatenate([spread(*one) for one in groups])
        at = "" if doses is None else f"doses {', '.join(map(str, doses))}: "
        yield at + name, counts, Hypothesis(columns)
    for blocks, groups in (*BLOCKED, *((1, groups) for groups in FEW)):
        group = np.tile(np.repeat(np.arange(2), [count for count, _ in groups]), blocks)
        name = ", ".join(named(*one) for one in groups)
        counts = np.array([outlines for _, outlines in groups])[group]
        block = np.repeat(np.arange(blocks), len(group) // blocks)
        kind = f"{blocks} blocks: {name}" if blocks > 1 else name
        yield kind, counts, Hypothesis(group[:, None] == 1, block if blocks > 1 else None)


def means(rng: np.random.Generator, counts: np.ndarray, components: int, icc: float, kind: str) -> np.ndarray:
    """Means of the replicates of one design, (U, c), without a difference between groups."""
    shape, between = (len(counts), components), np.sqrt(icc / (1 - icc))
    if kind == "skewed":
        size = counts[:, None].astype(float)
        return between * (rng.exponential(size=shape) - 1) + rng.gamma(size, size=shape) / size - 1
    effects = rng.normal(size=shape)
    if kind == "shared":
        effects = np.sqrt(0.7) * rng.normal(size=(len(counts), 1)) + np.sqrt(0.3) * effects
    found = between * effects + rng.normal(size=shape) / np.sqrt(counts)[:, None]
    if kind == "deviant":
        spread = np.sqrt(between**2 + 1 / counts.mean())
        found[rng.integers(len(counts))] += 4 * spread * rng.normal(size=components)
    return found


def permuted_p(x: np.ndarray, hypothesis: Hypothesis, seed: int) -> float:
    """p-value of the permutation test of the differences between means."""
    if hypothesis.blocks is not None:
        x = (
            x
            - np.stack([np.bincount(hypothesis.blocks, c) / np.bincount(hypothesis.blocks) for c in x.T], 1)[
                hypothesis.blocks
            ]
        )
    kernel = mean_kernels(x, np.arange(len(x)), kernel="mean")
    return replicate_test({"": kernel}, hypothesis, draws=DRAWS, seed=seed).p_value


def rate(
    counts: np.ndarray,
    hypothesis: Hypothesis,
    components: int,
    kind: str,
    icc: float,
    number: int,
    seed: tuple[int, int],
    *,
    permuted: bool = False,
) -> float:
    """Fraction of null designs of one kind that are rejected."""
    rng = np.random.default_rng([seed[0], components, KINDS.index(kind), int(10 * icc), seed[1]])
    drawn = (means(rng, counts, components, icc, kind) for _ in range(number))
    if permuted:
        p_values = [permuted_p(x, hypothesis, place) for place, x in enumerate(drawn)]
    else:
        tests = (small_sample_test(x, np.ones(components), hypothesis, counts) for x in drawn)
        p_values = [test.p_value for test in tests]
    return float(np.mean(np.array(p_values) <= LEVEL + 1e-12))


def largest(
    counts: np.ndarray, hypothesis: Hypothesis, components: int, number: int, seed: int, *, permuted: bool
) -> tuple[float, str]:
    """Rate of the cell with the largest rate, drawn again, and the name of the cell."""
    tested = counts, hypothesis, components
    rates = {
        (kind, icc): rate(*tested, kind, icc, number, (seed, 0), permuted=permuted)
        for kind in KINDS
        for icc in (0.0, 0.1, 0.3)
    }
    kind, icc = max(rates, key=lambda cell: rates[cell])
    return rate(*tested, kind, icc, AGAIN * number, (seed, 1), permuted=permuted), f"{kind}, {icc:g}"


def main() -> None:
    """Print a row of the table for every design."""
    options = parser_of(__doc__, designs=500).parse_args()
    kept = json.loads(options.out.read_text(encoding="utf-8"))["rates"] if options.out and options.out.exists() else []
    rows: list[dict[str, str]] = []
    highest = {"small sample, equal": 0.0, "small sample, unequal": 0.0, "permuted": 0.0}
    numbers = {"screened": options.designs, "again": AGAIN * options.designs}
    for seed, (name, counts, hypothesis) in enumerate(designs()):
        known = [row for row in kept if row["design"] == name]
        rows.append(known[0] if known else rates_of(name, counts, hypothesis, options.designs, seed))
        kind = f"small sample, {'unequal' if np.ptp(counts) else 'equal'}"
        for key, test in ((kind, "form"), (kind, "scale"), ("permuted", "permuted")):
            highest[key] = max(highest[key], float(rows[-1][test].split()[0] if rows[-1][test] else 0))
        print("| " + " | ".join(rows[-1].values()) + " |", flush=True)
        record(options.out, rates=[*rows, *kept[len(rows) :]], highest=highest, designs=numbers)


def rates_of(name: str, counts: np.ndarray, hypothesis: Hypothesis, number: int, seed: int) -> dict[str, str]:
    """Row of the table for one design."""
    exchanged = not precision_differs(hypothesis, counts)
    row = {"design": name, "exchanged": "yes" if exchanged else "no"}
    permutable = exchanged and np.ptp(counts) and hypothesis.least_p(DRAWS) <= LEVEL
    for test, components, permuted in (("form", 9, False), ("scale", 2, False), ("permuted", 2, True)):
        row[test] = ""
        if not permuted or permutable:
            designs = number // 2 if permuted else number
            found, cell = largest(counts, hypothesis, components, designs, seed, permuted=permuted)
            row[test] = f"{found:.3f} ({cell})".removeprefix("0")
    return row


if __name__ == "__main__":
    main()
