"""Prints the level and the power of the tests, as in docs/two-sample-tests.md: `python benchmarks/calibration.py`.

The level: ensembles of small random outlines, both of one kind, go the whole way from vertices to the truth table,
many times; what is rejected is rejected wrongly. The power: the same with a known difference. Every share comes
with its Wilson interval of 95 %. `--repetitions` and `--power` change how often; `--only` picks one table.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare, dependence_test, detectable_differences, mmd_test
from napari_shape_ensembles.mmd import combined_mmd_test, gretton_test

# Not the defaults: small enough for ten thousand repetitions. `benchmarks/power.py` measures the defaults.
SMALL = {"landmarks": 48, "rank": 10, "permutations": 199, "significance": 0.05, "coordinates": "both"}
KINDS = {
    "both coordinates, rank 10": Settings(**SMALL),
    "three widths": Settings(**SMALL, bandwidth=(0.5, 0.71, 1.0)),
    "paper's choices": Settings(
        **SMALL | {"measure": "arc-length", "registration": "raw", "coordinates": "raw", "archetype": "random"}
    ),
}
LEVELS = (0.05, 0.01)


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--power", type=int, default=1000)
    parser.add_argument("--only", choices=TABLES, help="print one table")
    options = parser.parse_args()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, table in TABLES.items():
            if options.only in (None, name):
                table(pool, options)


def outlines(rng, count, *, size=1.0, stretch=1.0, rough=1.0):
    """Random outlines of 40 vertices: waves 2 to 9 of falling height, random size, elongation and direction."""
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
    """p-values of one comparison by test."""
    rng = np.random.default_rng([seed, 1])  # not the numbers that the permutations come from
    a, b = (Ensemble(outlines(rng, count, **how)) for count, how in ((m, {}), (n, change)))
    result = compare(a, b, replace(KINDS[kind], seed=seed))
    parts = {f"undulation, {name}": part.p_value for name, part in result.undulation.parts.items()}
    scale = {f"scale, {name}": part.p_value for name, part in result.scale.parts.items()}
    found = parts | {"undulation": result.undulation.p_value} | scale | {"scale": result.scale.p_value}
    return found | {"the table": min(result.undulation.p_value, result.scale.p_value)}


def many(work, seeds):
    """Run a batch of repetitions in one process."""
    return [work(seed) for seed in seeds]


def repeated(pool, work, count, first=0):
    """p-values (count,) by test, over independent repetitions on all processors."""
    batches = [range(start, min(start + 50, first + count)) for start in range(first, first + count, 50)]
    found = pool.map(partial(many, work), batches)
    rows = [row for rows in found for row in rows]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def wilson(hits, count):
    """95 % interval of a share."""
    z = 1.959964
    share = hits / count
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return middle - half, middle + half


def shares(p, level):
    """Share of rejections with its interval, as text."""
    hits = int((p <= level * (1 + 1e-9)).sum())
    low, high = wilson(hits, len(p))
    return f"{hits / len(p):.4f} ({low:.4f} to {high:.4f})", low, high


def level_table(pool, options):
    """Rejections where there is nothing to find, whole way."""
    print(f"\nLevel: {options.repetitions} comparisons of two ensembles of one kind, vertices to table, B = 199")
    for kind, m, n in (
        ("both coordinates, rank 10", 20, 20),
        ("both coordinates, rank 10", 15, 40),
        ("three widths", 20, 20),
        ("paper's choices", 20, 20),
    ):
        found = repeated(pool, partial(p_values, kind=kind, m=m, n=n), options.repetitions)
        for name, p in found.items():
            cells = []
            for level in LEVELS:
                text, low, high = shares(p, level)
                place = "below" if high < level else "ABOVE" if low > level else "inside"
                verdict = f"at most {2 * level:g}" if name == "the table" else place
                cells.append(f"{level:g}: {text} {verdict}")
            print(f"| {kind} | {m}, {n} | {name} | {' | '.join(cells)} |", flush=True)


CHANGES = {
    "10 % larger": {"size": 1.1},
    "20 % larger": {"size": 1.2},
    "elongated by 15 %": {"stretch": 1.15},
    "elongated by 30 %": {"stretch": 1.3},
    "Fourier modes 5–9, amplitude + 50 %": {"rough": 1.5},
    "Fourier modes 5–9, amplitude + 100 %": {"rough": 2.0},
}


def power_table(pool, options):
    """Rejections of known differences, whole way."""
    print(f"\nPower at level 0.05: {options.power} comparisons of 40 and 40 outlines each, B = 199")
    for change, how in CHANGES.items():
        for kind in KINDS:
            found = repeated(pool, partial(p_values, kind=kind, m=40, n=40, **how), options.power, 10**6)
            chosen = ("undulation", "scale")
            print(f"| {change} | {kind} | {' | '.join(shares(found[name], 0.05)[0] for name in chosen)} |", flush=True)


def vectors(seed, m, n, d, shift=0.0):
    """Two samples of normal vectors whose means lie `shift` apart along the first coordinate."""
    z = np.random.default_rng([seed, 1]).normal(size=(m + n, d))
    z[m:, 0] += shift
    return z[:m], z[m:]


def option_p_values(seed, m, n, d, shift=0.0):
    """p-values of every kind of threshold for one pair of samples."""
    x, y = vectors(seed, m, n, d, shift)
    levels = {"permutations": 199, "seed": seed}
    return {
        "permutations": mmd_test(x, y, **levels).p_value,
        "permutations, s = ½, 0.71, 1 median": mmd_test(x, y, factor=(0.5, 0.71, 1), **levels).p_value,
        "projected kernel": mmd_test(x, y, approximate_above=1, **levels).p_value,
        "gamma": gretton_test({"": (x, y)}, "gamma").p_value,
        "bound": gretton_test({"": (x, y)}, "bound").p_value,
        "raw and cubes, joint": combined_mmd_test({"a": (x, y), "b": (x**3, y**3)}, **levels).p_value,
        "dependence (HSIC)": dependence_test(*_unrelated(x, y, seed), **levels).p_value,
    }


def _unrelated(x, y, seed):
    """Both samples with scales that have nothing to do with them."""
    z = np.concatenate([x, y])
    return z, np.random.default_rng([seed, 2]).normal(size=(len(z), 3)), len(x)


def option_table(pool, options):
    """Level and power of every kind of threshold on plain vectors."""
    print(f"\nKinds of threshold on normal vectors: {options.repetitions} repetitions without a difference")
    for m, n, d in ((25, 25, 3), (20, 80, 3), (50, 50, 150)):
        found = repeated(pool, partial(option_p_values, m=m, n=n, d=d), options.repetitions)
        for name, p in found.items():
            print(f"| {m}, {n}, {d} | {name} | {' | '.join(shares(p, level)[0] for level in LEVELS)} |", flush=True)
    print(f"\nThe same with a difference, level 0.05: {options.power} repetitions")
    for m, n, d, shift in ((50, 50, 3, 0.6), (50, 50, 150, 1.5), (700, 700, 50, 0.3)):
        found = repeated(pool, partial(option_p_values, m=m, n=n, d=d, shift=shift), options.power, 10**6)
        for name, p in found.items():
            print(f"| {m}, {n}, {d}, {shift} | {name} | {shares(p, 0.05)[0]} |", flush=True)


def detectable_p_value(seed, ratio, shift):
    """p-values for outlines whose coordinates differ by what is called detectable."""
    t, l, first = _coordinates(seed)
    l[first:] += np.log(ratio) * np.array([1, 0, 1])
    t[first:, 0] += shift
    return {
        "size": mmd_test(l[:first], l[first:], permutations=999, seed=seed).p_value,
        "form": mmd_test(t[:first], t[first:], permutations=999, seed=seed).p_value,
    }


def _coordinates(seed):
    rng = np.random.default_rng([seed, 1])
    return rng.normal(size=(150, 20)) * 0.7 ** np.arange(20), rng.normal(size=(150, 3)) * 0.3, 60


def bins_p_values(seed, shift=0.0):
    """p-values of one pair of samples with single vectors permuted, and random bins of four."""
    x, y = vectors(seed, 200, 200, 4, shift)
    return {
        name: mmd_test(x, y, permutations=199, bins=bins, seed=seed).p_value
        for name, bins in (("single vectors", 0), ("100 bins", 100))
    }


def bins_table(pool, options):
    """Level and power where bins of vectors are permuted in place of single ones."""
    print("\nPermuting bins: 200 and 200 normal vectors of 4 coordinates")
    for shift, count, base in ((0.0, options.repetitions, 0), (0.25, options.power, 10**6)):
        found = repeated(pool, partial(bins_p_values, shift=shift), count, base)
        for name, p in found.items():
            print(f"| {shift} | {name} | {' | '.join(shares(p, level)[0] for level in LEVELS)} |", flush=True)


def detectable_table(pool, options):
    """How often differences of the size called detectable are found; the claim is averaged over 20 samples."""
    print(f"\nDifferences called detectable, level 0.01: {options.power} pairs of 60 and 90 curves")
    for power in (0.5, 0.8, 0.95):
        found = list(pool.map(partial(claimed, power=power), range(20)))
        ratio, shift = np.exp(np.mean(np.log(found), axis=0))
        work = partial(detectable_p_value, ratio=ratio, shift=shift)
        hits = repeated(pool, work, options.power, 10**6)
        print(
            f"| {power} | size ratio {ratio:.3f} | {shares(hits['size'], 0.01)[0]} "
            f"| form shift {shift:.2f} | {shares(hits['form'], 0.01)[0]} |",
            flush=True,
        )


def claimed(seed, power):
    """Size ratio and form shift that one pair of samples calls detectable."""
    t, l, first = _coordinates(seed)
    tests = [mmd_test(z[:first], z[first:], permutations=999, seed=seed) for z in (t, l)]
    least = detectable_differences(t, l, first, *tests, power=power)
    return least.size_ratio, least.form_shift * t[:, 0].std()


TABLES = {
    "level": level_table,
    "options": option_table,
    "power": power_table,
    "detectable": detectable_table,
    "bins": bins_table,
}

if __name__ == "__main__":
    main()
