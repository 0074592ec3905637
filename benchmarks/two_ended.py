"""Elongated outlines with two different ends: what registration without their elongation finds, and what each leaks.

Power: draws from the groups of mouse vertebrae, and of made seeds, whose ends differ in width (a taper of .1) and whose
outlines are wavy; B's taper is twice as large, or one of its ends has a hump. Registered are the standardized outlines
(the defaults), these to their mean, the raw ones, and, of seeds, the standardized ones to the true form, which nobody
knows: no registration that is unchanged by linear maps can be expected to find clearly more.

Leaks: halves of one group, every outline of one half stretched by 1.25 along its own longest axis.

    python benchmarks/two_ended.py [--draws 100] [--out docs/results/two-ended.json]
"""

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare
from power import cells, curves_of, grains, hearts, labelled
from results_file import DATA, parser_of, printed, record

OPTIONS = {"permutations": 399, "landmarks": 128, "rank": 40, "overrule": True}
KINDS = {"defaults": {}, "mean": {"archetype": "mean"}, "raw": {"registration": "raw"}, "true form": {"archetype": 0}}
LEVEL = Settings().test_level
TURN = 2 * np.pi * np.arange(160) / 160


def seed_outline(rng, *, taper=0.1, hump=0.0, waves=0.03):
    """Outline of a seed about three times as long as wide, of random size, direction, starting point and side."""
    taper, phases = taper * np.exp(0.2 * rng.normal() * (waves > 0)), rng.uniform(0, 2 * np.pi, 8)
    height = hump * np.exp(-(((TURN - 0.7 + np.pi) % (2 * np.pi) - np.pi) ** 2) / 0.35**2)
    for k in range(2, 8):
        height = height + waves / np.sqrt(k - 1) * rng.normal() * np.cos(k * TURN + phases[k])
    x = np.cos(TURN) * (1 + height)
    y = np.sin(TURN) * (1 + taper * np.cos(TURN) + height)
    long = np.sqrt(3 * np.exp(0.08 * rng.normal()))
    z = (x * long + 1j * y / long) * np.exp(0.15 * rng.normal() + 1j * rng.uniform(0, 2 * np.pi))
    z = np.roll(z if rng.random() < 0.5 else z.conj()[::-1], rng.integers(len(z)))
    return np.stack([z.real, z.imag], axis=-1)


def vertebrae(group):
    """Outlines of vertebrae: c control, l selected for large, s for small mice."""
    curves, data = curves_of(DATA / "replicates" / "vertebrae.npz")
    return [curves[i] for i in np.flatnonzero(data["group"] == group)]


def rejected(a, b, **change):
    """Whether coarse form, and whether form, is rejected."""
    result = compare(Ensemble(a), Ensemble(b), **OPTIONS, **change).undulation
    return np.array([result.parts["coarse form"].p_value <= LEVEL, result.p_value <= LEVEL])


def some(rng, curves, count):
    """Curves at random."""
    return [curves[i] for i in rng.choice(len(curves), count, replace=False)]


def stretched(curve, factor=1.25):
    """Curve stretched along its longest axis."""
    centered = curve - curve.mean(axis=0)
    axis = np.linalg.svd(centered, full_matrices=False)[2][0]
    return centered + (factor - 1) * np.outer(centered @ axis, axis)


def pairs():
    """Name, outlines a side, and a function that draws a pair, and the true form where it is known."""
    for one, two in ("cl", "cs", "ls"):
        for count in (8, 12):
            groups = vertebrae(one), vertebrae(two)
            yield f"vertebrae {one}, {two}", count, lambda rng, g=groups, n=count: (*(some(rng, h, n) for h in g), None)
    for name, change in (("taper × 2", {"taper": 0.2}), ("hump of .06", {"hump": 0.06}), ("hump of .1", {"hump": 0.1})):
        middle = {"taper": 0.15} if "taper" in change else {"hump": change["hump"] / 2}
        for count in (20, 40):

            def made(rng, n=count, change=change, middle=middle):
                a, b = ([seed_outline(rng, **now) for _ in range(n)] for now in ({}, change))
                return a, b, seed_outline(np.random.default_rng(1), waves=0.0, **middle)

            yield f"seeds, {name}", count, made


def power(draws):
    """Rows of the table of power: coarse form, and form, by every registration."""
    for name, count, draw in pairs():
        hits = {kind: np.zeros(2, dtype=int) for kind in KINDS}
        for seed in range(draws):
            a, b, true = draw(np.random.default_rng([seed, count, 5]))
            for kind, change in KINDS.items():
                if kind != "true form":
                    hits[kind] += rejected(a, b, **change)
                elif true is not None:
                    hits[kind] += rejected([true, *a], b, **change)
        if "seeds" not in name:
            hits["true form"] = ("–", "–")
        yield printed(difference=name, a_side=count, **{kind: f"{one}, {whole}" for kind, (one, whole) in hits.items()})


def leaks(draws):
    """Rows of the table of stretched halves: rejections of form."""
    rng = np.random.default_rng(3)
    sets = {
        "vertebrae, control": vertebrae("c"),
        "seeds": [seed_outline(rng) for _ in range(400)],
        "hearts of two persons": hearts([0, 1]),
        "cells": cells(0, 0),
        "grains": grains("hlf1_smooth5"),
        "nuclei": labelled((DATA / "replicates" / "mef_nuclei").glob("wt_0*.png"), 600).curves,
    }
    for name, curves in sets.items():
        half, hits = min(len(curves) // 2, 30), {kind: 0 for kind in KINDS if kind != "true form"}
        for seed in range(draws):
            drawn = some(np.random.default_rng([seed, 6]), curves, 2 * half)
            for kind in hits:
                hits[kind] += int(rejected(drawn[:half], [*map(stretched, drawn[half:])], **KINDS[kind])[1])
        yield printed(set=name, a_side=half, **hits)


def main():
    """Print the tables, and store them."""
    options = parser_of(__doc__, draws=100).parse_args()
    record(options.out, draws=options.draws, leaks=list(leaks(options.draws)))
    record(options.out, power=list(power(options.draws)))


if __name__ == "__main__":
    main()
