"""Coverage of the bootstrap intervals, as in docs/evidence/power.md.

    python benchmarks/intervals.py [--only TABLE] [--out docs/results/intervals.json]

Ratios and spreads: samples of numbers from five distributions, both from one population, so that both ratios are 1;
the intervals in use are compared with plain percentiles of the same resamples. Distances and shares: normal coordinates
with a known difference; true values are from samples of 5000.
"""

import numpy as np

from napari_shape_ensembles.comparison.estimates import standardized_distance
from napari_shape_ensembles.comparison.quantities import COMPONENTS
from napari_shape_ensembles.comparison.quantity_tests import label_orders, quantile_of, spread_difference
from napari_shape_ensembles.explanation.components import component_shares
from napari_shape_ensembles.mmd.contrasts import bootstrap_counts, difference_of_means, spread_interval
from results_file import parser_of, printed, record, share

KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.normal(size=n) * np.exp(0.5 * rng.normal(size=n)),
    "skewed": lambda rng, n: np.log(rng.gamma(2, size=n)),
    "half normal": lambda rng, n: np.abs(rng.normal(size=n)),
    "one in ten off": lambda rng, n: rng.normal(size=n) + 3 * (rng.random(n) < 0.1),
}
SIZES = ((10, 10), (25, 50), (40, 40), (150, 150))


def covered(low, high, truth):
    """Whether an interval covers the true value."""
    return bool(low <= truth <= high)


def of_numbers(kind, m, n, seed):
    """Four intervals for one pair of samples: of the logarithm of a ratio, and of a spread."""
    rng = np.random.default_rng([seed, 1])
    values = np.concatenate([KINDS[kind](rng, m), KINDS[kind](rng, n)])
    counts = bootstrap_counts(m, m + n, 500, seed)
    _, low, high = difference_of_means(values[:, None], m, counts)
    quantile = quantile_of(spread_difference(values, label_orders(m, None, None, m + n, 499, seed)))
    means, spreads = [], []
    for side in (slice(m), slice(m, None)):
        share = counts[:, side] / counts[:, side].sum(axis=1, keepdims=True)
        means.append(share @ values[side])
        spreads.append(np.sqrt(share @ values[side] ** 2 - means[-1] ** 2))
    ends = {
        "ratio: percentiles": np.quantile(means[1] - means[0], [0.025, 0.975]),
        "ratio: in use": (low[0], high[0]),
        "spread: percentiles": np.quantile(spreads[1] / spreads[0], [0.025, 0.975]),
        "spread: in use": spread_interval(values[:, None], m, counts, quantile=quantile)[:, 0],
    }
    return {name: [float(low), float(high)] for name, (low, high) in ends.items()}


def of_effects(m, n, seed, resamples=400):
    """Distances and shares of normal coordinates that differ in size and undulation, each with its interval."""
    rng = np.random.default_rng([seed, 2])
    t = rng.normal(size=(m + n, 10)) * 0.5 ** np.arange(10)
    l = rng.normal(size=(m + n, 3)) * 0.3
    l[m:] += [0.15, 0, 0.15]
    t[m:, 0] += 0.8
    t[m:, 5:] *= 1.5
    size, elongation = l[:, 0] + l[:, 2], l[:, 0] - l[:, 2]
    parts = dict(zip(COMPONENTS, (size, elongation, t[:, :5], np.log(np.hypot.reduce(t[:, 5:], axis=1))), strict=True))
    shares = component_shares(parts, m, resamples=resamples, seed=seed)
    found = {f"share, {name}": one for name, *one in zip(COMPONENTS, shares.share, *shares.interval, strict=True)}
    for name, points in parts.items():
        found[f"distance, {name}"] = standardized_distance(points, m, resamples=resamples, seed=seed).tolist()
    return found


def main():
    """Print the requested tables."""
    parser = parser_of(__doc__, repetitions=2000)
    parser.add_argument("--only", choices=("ratios", "effects"), help="print one table")
    options = parser.parse_args()
    if options.only != "effects":
        record(options.out, **ratio_table(options.repetitions), first_draws=first_draws())
    if options.only != "ratios":
        record(options.out, **effect_table(options.repetitions // 2), first_draws=first_draws())


def first_draws():
    """Intervals of the first draws."""
    found = of_effects(40, 40, 0)
    return {
        **{kind: of_numbers(kind, 25, 50, 0) for kind in KINDS},
        "effects": found,
    }


def ratio_table(repetitions):
    """Ratios and spreads, compared with plain percentiles."""
    rows = []
    for kind in KINDS:
        for m, n in SIZES:
            found = [of_numbers(kind, m, n, seed) for seed in range(repetitions)]
            truths = {name: float(name.startswith("spread")) for name in found[0]}
            cells = {
                name: f"{np.mean([covered(*one[name], truth) for one in found]):.3f}" for name, truth in truths.items()
            }
            rows.append(printed(numbers=kind, **{"m, n": f"{m}, {n}"}, **cells))
    return {"ratios": rows, "ratios repetitions": repetitions}


def effect_table(repetitions):
    """Distances and shares; the minimum and maximum coverage are stored."""
    large = [of_effects(2500, 2500, 10**6 + seed, resamples=20) for seed in range(8)]
    covers = {}
    for m, n in ((40, 40), (25, 50)):
        found = [of_effects(m, n, seed) for seed in range(repetitions)]
        for name in large[0]:
            truth = np.mean([one[name][0] for one in large])
            hits = sum(covered(*one[name][1:], truth) for one in found)
            printed(sizes=f"{m}, {n}", name=name, found=share(hits, repetitions, 3))
            covers.setdefault("share" if name.startswith("share") else "other", []).append(hits / repetitions)
    ends = {name: [min(values), max(values)] for name, values in covers.items()}
    return {"effects": ends, "effects repetitions": repetitions}


if __name__ == "__main__":
    main()
