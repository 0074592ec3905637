"""Level and power of the tests with settings other than the defaults, as in docs/evidence/power.md.

    python benchmarks/calibration.py [--only TABLE] [--out docs/results/calibration.json]

Level: two ensembles of small random outlines from one population go through the whole pipeline, from vertices to the
truth table, many times; every rejection is a false positive. Power: the same with a known difference. Every rate has
its 95 % Wilson interval. `--repetitions` and `--power` set the numbers of repetitions; `--only` selects one table.
`--out` stores the tables, and the p-values of the first draws, which `tools/write_docs.py --check --measure` repeats.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare, mmd_test
from napari_shape_ensembles.comparison.detectable import detectable_differences
from results_file import parser_of, printed, record, share, wilson

# Not the defaults: fast enough for ten thousand repetitions. `benchmarks/power.py` measures the defaults.
SMALL = {"landmarks": 48, "rank": 10, "permutations": 199, "significance": 0.05, "coordinates": "both"}
BOTH = "both coordinates, rank 10"
KINDS = {
    BOTH: Settings(**SMALL),
    "three widths": Settings(**SMALL, bandwidth=(0.5, 0.71, 1.0)),
    "paper's choices": Settings(
        **SMALL | {"measure": "arc-length", "registration": "raw", "coordinates": "raw", "archetype": "random"}
    ),
}
# Of each test: the default, half of the row's 0.05; and the paper's.
LEVELS = (0.025, 0.01)


def main():
    """Print the requested tables."""
    parser = parser_of(__doc__, repetitions=10_000, power=1000)
    parser.add_argument("--only", choices=TABLES, help="print one table")
    parser.add_argument("--processes", type=int, help="by default one per processor")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        for name, table in TABLES.items():
            if options.only in (None, name):
                print(f"\n{table.__doc__}")
                record(options.out, **table(pool, options), first_draws=first_draws())


def first_draws():
    """p-values of the first draws of every table."""
    return {
        **{kind: p_values(0, kind, 20, 20) for kind in KINDS},
        "larger": p_values(10**6, BOTH, 40, 40, size=1.1),
        "detectable": detectable_p_value(10**6, 1.1, 0.5),
        "bins": bins_p_values(0),
    }


def outlines(rng, count, *, size=1.0, stretch=1.0, rough=1.0):
    """Random outlines of 40 vertices: Fourier modes 2 to 9 of decreasing amplitude; random size and elongation."""
    waves = np.arange(2, 10)
    heights = 0.25 / waves * np.where(waves > 4, rough, 1)
    u = 2 * np.pi * np.arange(40) / 40
    curves = []
    for _ in range(count):
        phases = rng.uniform(0, 2 * np.pi, len(waves))
        radius = 1 + (rng.normal(size=len(waves)) * heights) @ np.cos(np.outer(waves, u) + phases[:, None])
        drawn = np.exp(rng.normal(0, 0.2)) * stretch
        extent = np.exp(rng.normal(0, 0.2)) * size * 20
        turn = np.exp(1j * rng.uniform(0, 2 * np.pi))
        z = turn * extent * np.maximum(radius, 0.2) * (drawn**0.5 * np.cos(u) + 1j * np.sin(u) / drawn**0.5)
        curves.append(np.stack([z.real, z.imag], axis=-1))
    return curves


def p_values(seed, kind, m, n, **change):
    """p-values of one comparison, by test."""
    rng = np.random.default_rng([seed, 1])  # different from the seeds of the permutations
    a, b = (Ensemble(outlines(rng, count, **how)) for count, how in ((m, {}), (n, change)))
    result = compare(a, b, replace(KINDS[kind], seed=seed))
    parts = {f"undulation, {name}": part.p_value for name, part in result.undulation.parts.items()}
    scale = {f"scale, {name}": part.p_value for name, part in result.scale.parts.items()}
    found = parts | {"undulation": result.undulation.p_value} | scale | {"scale": result.scale.p_value}
    return found | {"the row": min(result.undulation.p_value, result.scale.p_value)}


def run_batch(work, seeds):
    """Run a batch of repetitions in one process."""
    return [work(seed) for seed in seeds]


def repeated(pool, work, count, first=0):
    """p-values (count,) by test, over independent repetitions on all processors."""
    batches = [range(start, min(start + 50, first + count)) for start in range(first, first + count, 50)]
    found = pool.map(partial(run_batch, work), batches)
    rows = [row for rows in found for row in rows]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def found_at(p, level, digits=4):
    """Rejection rate with its interval, as text."""
    return share((p <= level * (1 + 1e-9)).sum(), len(p), digits)


def interval_mark(p, level):
    """A mark if the interval excludes the level."""
    low, high = wilson((p <= level * (1 + 1e-9)).sum(), len(p))
    return " **below**" if high < level else " **above**" if low > level else ""


def level_table(pool, options):
    """Level: comparisons of two ensembles from one population, from vertices to the row."""
    rows, single = [], {"intervals": 0, "above": 0, "below": 0}
    for kind, m, n in ((BOTH, 20, 20), (BOTH, 15, 40), ("three widths", 20, 20), ("paper's choices", 20, 20)):
        found = repeated(pool, partial(p_values, kind=kind, m=m, n=n), options.repetitions)
        for name, p in found.items():
            if name not in ("undulation", "scale", "the row"):
                marks = [interval_mark(p, level) for level in LEVELS]
                single["intervals"] += len(marks)
                single["above"] += sum("above" in mark for mark in marks)
                single["below"] += sum("below" in mark for mark in marks)
                continue
            # For the row only an upper bound is known, twice the level.
            cells = {
                f"level {level:g}": found_at(p, level) + (interval_mark(p, level) if name != "the row" else "")
                for level in LEVELS
            }
            rows.append(printed(settings=kind, **{"m, n": f"{m}, {n}"}, test=name, **cells))
    print(single)
    return {"level": rows, "level of parts": single, "level repetitions": options.repetitions}


CHANGES = {
    "10 % larger": {"size": 1.1},
    "20 % larger": {"size": 1.2},
    "elongated by 15 %": {"stretch": 1.15},
    "elongated by 30 %": {"stretch": 1.3},
    "Fourier modes 5–9, amplitude + 50 %": {"rough": 1.5},
    "Fourier modes 5–9, amplitude + 100 %": {"rough": 2.0},
}


def power_table(pool, options):
    """Power at level 0.025: comparisons of 40 and 40 outlines; B is larger, more elongated or rougher than A."""
    rows = []
    for change, how in CHANGES.items():
        for kind in KINDS:
            found = repeated(pool, partial(p_values, kind=kind, m=40, n=40, **how), options.power, 10**6)
            cells = {f"{test} rejects": found_at(found[test], LEVELS[0]) for test in ("undulation", "scale")}
            rows.append(printed(**{"B against A": change}, settings=kind, **cells))
    return {"power": rows, "power repetitions": options.power}


def vectors(seed, m, n, d, shift=0.0):
    """Two samples of normal vectors whose means differ by `shift` in the first coordinate."""
    z = np.random.default_rng([seed, 1]).normal(size=(m + n, d))
    z[m:, 0] += shift
    return z[:m], z[m:]


def detectable_p_value(seed, ratio, shift):
    """p-values for outlines whose coordinates differ by the detectable effect size."""
    t, l, first = _coordinates(seed)
    l[first:] += np.log(ratio) * np.array([1, 0, 1])
    t[first:, 0] += shift
    return {
        "size": mmd_test(l[:first], l[first:], permutations=999, random_state=seed).p_value,
        "form": mmd_test(t[:first], t[first:], permutations=999, random_state=seed).p_value,
    }


def _coordinates(seed):
    rng = np.random.default_rng([seed, 1])
    return rng.normal(size=(150, 20)) * 0.7 ** np.arange(20), rng.normal(size=(150, 3)) * 0.3, 60


def bins_p_values(seed, shift=0.0):
    """p-values of one pair of samples, permuting single vectors, and random bins of four."""
    x, y = vectors(seed, 200, 200, 4, shift)
    return {
        name: mmd_test(x, y, permutations=199, bins=bins, random_state=seed).p_value
        for name, bins in (("single vectors", 0), ("100 bins", 100))
    }


def bins_table(pool, options):
    """Level and power if bins of vectors are permuted instead of single ones: 200 and 200 vectors of 4 coordinates."""
    rows = []
    for shift in (0.0, 0.25):
        first = 10**6 if shift else 0
        found = repeated(pool, partial(bins_p_values, shift=shift), options.repetitions, first)
        for name, p in found.items():
            cells = {f"found at {level:g}": found_at(p, level) for level in LEVELS}
            rows.append(printed(difference=shift or "none", permuted=name, **cells))
    return {"bins": rows, "bins repetitions": options.repetitions}


def detectable_table(pool, options):
    """Detection rate of detectable differences at 0.025, 60 and 90 curves; effect sizes are averaged over 20 draws."""
    rows = []
    for power in (0.5, 0.8, 0.95):
        found = list(pool.map(partial(claimed, power=power), range(20)))
        ratio, shift = np.exp(np.mean(np.log(found), axis=0))
        work = partial(detectable_p_value, ratio=ratio, shift=shift)
        hits = repeated(pool, work, options.power, 10**6)
        size, form = (found_at(hits[part], LEVELS[0], 3) for part in ("size", "form"))
        rows.append(
            printed(claimed_power=power, size_ratio=f"{ratio:.3f}", found=size, form_shift=f"{shift:.2f}", found_=form)
        )
    return {"detectable": rows, "detectable repetitions": options.power}


def claimed(seed, power):
    """Size ratio and shift of undulation that one pair of samples reports as detectable."""
    t, l, first = _coordinates(seed)
    tests = [
        mmd_test(z[:first], z[first:], significance=LEVELS[0], permutations=999, random_state=seed) for z in (t, l)
    ]
    least = detectable_differences(t, l, first, *tests, power=power)
    return least.size_ratio, least.form_shift * t[:, 0].std()


TABLES = {
    "level": level_table,
    "power": power_table,
    "detectable": detectable_table,
    "bins": bins_table,
}

if __name__ == "__main__":
    main()
