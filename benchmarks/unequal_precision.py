"""False positives of the small-sample test where replicates have unequal numbers of outlines, or are few.

Two or more groups, a trend (the groups are doses), and two groups in blocks.

Means of replicates are simulated directly: nine components as for form, or two as for scale, of variance σ_b² + 1/n,
with an intraclass correlation σ_b² / (σ_b² + 1) of 0, 0.1 and 0.3. They are Gaussian, Gaussian with a component that
all share, skewed (exponential between and within replicates), or have one deviant replicate. For every design the
twelve cells are screened, and the one with the largest rate at 0.025 is simulated again, 12 times as often: the largest
of twelve noisy rates would be too large.

    python benchmarks/unequal_precision.py [--designs 500]
"""

import argparse
from collections.abc import Iterator

import numpy as np

from napari_shape_ensembles.mmd.replicates import Hypothesis, precision_differs, small_sample_test

LEVEL, AGAIN = 0.025, 12
# Replicates, and outlines in each, of every group.
GROUPS = (
    ((2, 30), (2, 30)),
    ((3, 30), (3, 30)),
    ((4, 30), (4, 30)),
    ((6, 30), (6, 30)),
    ((2, 30), (7, 30)),
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
TRENDS = (((3, 30), (3, 30), (3, 3)), ((4, 30), (4, 20), (4, 10), (4, 3)), ((8, 30), (8, 30), (8, 30), (3, 3)))
# Number of blocks, each with these groups.
BLOCKED = ((4, ((1, 3), (1, 30))), (3, ((2, 4), (2, 40))), (2, ((4, 3), (4, 30))))
KINDS = ("Gaussian", "shared", "skewed", "deviant")


def designs() -> Iterator[tuple[str, np.ndarray, Hypothesis]]:
    """Yield the name, numbers of outlines and hypothesis of every design."""
    for groups in (*GROUPS, *TRENDS):
        group = np.repeat(np.arange(len(groups)), [count for count, _ in groups])
        columns = group[:, None] if groups in TRENDS else group[:, None] == np.arange(1, len(groups))
        name = ", ".join(f"{count} of {outlines}" for count, outlines in groups)
        counts = np.repeat([outlines for _, outlines in groups], [count for count, _ in groups])
        yield f"trend: {name}" if groups in TRENDS else name, counts, Hypothesis(columns)
    for blocks, groups in BLOCKED:
        group = np.tile(np.repeat(np.arange(2), [count for count, _ in groups]), blocks)
        name = ", ".join(f"{count} of {outlines}" for count, outlines in groups)
        counts = np.array([outlines for _, outlines in groups])[group]
        block = np.repeat(np.arange(blocks), len(group) // blocks)
        yield f"{blocks} blocks: {name}", counts, Hypothesis(group[:, None] == 1, block)


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


def rate(
    counts: np.ndarray,
    hypothesis: Hypothesis,
    components: int,
    kind: str,
    icc: float,
    number: int,
    seed: tuple[int, int],
) -> float:
    """Fraction of null designs of one kind that are rejected."""
    rng = np.random.default_rng([seed[0], components, KINDS.index(kind), int(10 * icc), seed[1]])
    drawn = (means(rng, counts, components, icc, kind) for _ in range(number))
    tests = (small_sample_test(x, np.ones(components), hypothesis, counts) for x in drawn)
    return float(np.mean([test.rejected(LEVEL) for test in tests]))


def main() -> None:
    """Print a row of the table for every design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=500)
    number = parser.parse_args().designs
    print("| design | permutable | form | scale |", "|---|---|---|---|", sep="\n")
    for seed, (name, counts, hypothesis) in enumerate(designs()):
        cells = []
        for components in (9, 2):
            tested = counts, hypothesis, components
            rates = {
                (kind, icc): rate(*tested, kind, icc, number, (seed, 0)) for kind in KINDS for icc in (0.0, 0.1, 0.3)
            }
            kind, icc = max(rates, key=lambda cell: rates[cell])
            again = rate(*tested, kind, icc, AGAIN * number, (seed, 1))
            cells.append(f".{1000 * again:03.0f} ({kind}, {icc:g})")
        permutable = "no" if precision_differs(hypothesis, counts) else "yes"
        print(f"| {name} | {permutable} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
