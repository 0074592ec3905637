"""Learning curves of the tests with defaults compared with other tests, as in docs/evidence/power.md.

    python benchmarks/power.py power --cases grains --sizes 20 40 --draws 100
    python benchmarks/power.py default --draws 100
    python benchmarks/power.py again --draws 100
    python benchmarks/power.py level --draws 2000
    python benchmarks/power.py tables
    python benchmarks/power.py draw --figure docs/images/power.png

A draw takes equal numbers of outlines of A and B, without replacement, and runs the whole of `compare` except for
placing landmarks, which is done once per outline: registration, learning and both tests, with 1000 permutations. The
other tests use the same outlines. Draws are numbered and done in batches; each batch adds its rows to the file. An
interrupted run, or one for more draws, resumes where the file ends.

The parts of the tests were selected on `CHOSEN`, using prototypes; results of most other cases had been seen by then.
Only "cells: dlm8, control, cytd" and "made: handedness" had not been looked at before. The parts of scale and the
concavity were selected again on `CHOSEN`, with other draws and other synthetic outlines than those used here; the
weights of the elongations in the registered frame were reset after a result for the hearts.

Other tests of undulation use standardized outlines, so that none can confuse elongation with undulation. The classifier
is from scikit-learn; MMDAgg and MMD-FUSE are implemented here after their papers, as the authors' packages are on no
package index. `rivals.py` adds elliptic Fourier analysis and a classifier with bands.
"""

import argparse
import csv
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import shapely
from scipy.optimize import brentq
from scipy.stats import binomtest, ks_2samp, mannwhitneyu, norm, rankdata, ttest_ind

from napari_shape_ensembles import Ensemble, Settings, decompose, extract_curves, to_landmarks
from napari_shape_ensembles.comparison.engine import curve_test
from napari_shape_ensembles.comparison.learning import coordinate_precision, learn_landmarks
from napari_shape_ensembles.comparison.parts import form_parts, scale_parts, standardized
from napari_shape_ensembles.shapes.lobes import lobes_held
from results_file import DATA, share, wilson

#: Counts of the tests; those of other commands are in files beside it.
POWER = Path(__file__).with_name("power.csv")
FILES = {"again": "power_again.csv", "level": "level.csv"}
#: Minimum number of draws of a cell that is drawn again.
MANY = 400
LEVEL = 0.05
#: Level of each test by default.
DEFAULT = Settings().significance / 2
#: Minimum power of the best other test for a pair to count as different.
SOMETHING = 0.2
SETTINGS = {"defaults": Settings(), "defaults before": Settings(coordinates="both")}
FIELDS = ("case", "test", "method", "size", "level", "draws", "rejected")
#: Cases on which the parts of the tests were selected.
CHOSEN = (
    "grains: noisy, smooth",
    "grains: stretched 1.4",
    "cells: dunn, dlm8 (cytd)",
    "cells: dunn, dlm8 (control)",
    "cells: dunn, control, jasp",
    "powder",
    "battery",
    "made: roughness",
    "made: lobes",
    "made: spread of form",
    "made: size",
    "made: elongation 30 %",
    "made: spread of size",
    "made: size and roughness",
)


def curves_of(path, key="", stretch=(1, 1)):
    """Curves of a file in (row, column) order, and the file."""
    data, prefix = np.load(path), f"{key}_" if key else ""
    vertices = data[f"{prefix}xy"].astype(float)
    if f"{prefix}to_steps" in data:
        factor, *origin = data[f"{prefix}to_steps"]
        vertices = vertices * factor + origin
    return np.split(vertices[:, ::-1] * stretch, data[f"{prefix}offsets"][1:-1]), data


def grains(key, stretch=(1, 1)):
    """Outlines of one half of the paper's map."""
    return curves_of(DATA / "paper" / "pil184_grains.npz", key, stretch)[0]


def cells(line, treatment):
    """Outlines of one line (0 dunn, 1 dlm8) under one treatment (0 control, 1 jasp, 2 cytd)."""
    curves, data = curves_of(DATA / "osteosarcoma_cells" / "cells.npz")
    return [curves[i] for i in np.flatnonzero((data["cell_line"] == line) & (data["treatment"] == treatment))]


def powder(image):
    """Particles of one image not cut by its border."""
    curves, data = curves_of(DATA / "ampis_powder" / "polygons.npz")
    chosen = np.flatnonzero((data["image"] == image) & (data["kind"] == 0))
    return [curves[i] for i in chosen if (curves[i] > 1).all() and (curves[i] < (1022, 1534)).all()]


def labelled(paths, least, masks=False):
    """Outlines of label images or masks, in pixels."""
    from skimage.io import imread
    from skimage.measure import label

    found = []
    for path in sorted(paths):
        labels = label(imread(path) > 0) if masks else imread(path)
        labels = np.where(np.bincount(labels.ravel())[labels] >= least, labels, 0)
        found += extract_curves(labels, smoothing=1.0).curves
    return Ensemble(found, pixel_size=(1.0, 1.0))


def hearts(persons):
    """Hearts drawn by some of eight people."""
    curves, data = curves_of(DATA / "replicates" / "hearts.npz")
    names = np.unique(data["person"])[persons]
    return [curves[i] for i in np.flatnonzero(np.isin(data["person"], names))]


def synthetic_outlines(
    seed, count=600, *, size=1.0, stretch=1.0, rough=1.0, lobes=0.0, wider=1.0, spread=1.0, minority=0.0, hand=0.0
):
    """Synthetic outlines: Fourier modes of 2 to 30 lobes; size and elongation vary by 20 %, in random directions.

    Those of B differ by a factor of size or of elongation; of the modes above 9; by three lobes; by a factor of the
    spread of log size, or of that of the amplitude of all modes; by a fraction of outlines whose modes above 4 are
    amplified 2.5 times; or by two modes that together have a handedness.
    """
    rng, u, waves = np.random.default_rng(seed), 2 * np.pi * np.arange(200) / 200, np.arange(2, 31)
    found = []
    for _ in range(count):
        heights = 0.25 / waves**1.2 * np.where(waves > 9, rough, 1) * np.exp(rng.normal(0, 0.25 * spread))
        heights = heights * np.where((waves > 4) & (rng.random() < minority), 2.5, 1)
        phases = rng.uniform(0, 2 * np.pi, (len(waves), 1))
        radius = 1 + (rng.normal(size=len(waves)) * heights) @ np.cos(waves[:, None] * u + phases)
        radius += lobes * np.cos(3 * u + rng.uniform(0, 2 * np.pi)) + 0.2 * abs(hand) * np.cos(2 * u)
        radius += 0.2 * hand * np.sin(3 * u + 0.5)
        drawn, extent = np.exp(rng.normal(0, 0.2)) * stretch, np.exp(rng.normal(0, 0.2 * wider)) * size * 20
        z = np.maximum(radius, 0.15) * (drawn**0.5 * np.cos(u) + 1j * np.sin(u) / drawn**0.5)
        z *= extent * np.exp(1j * rng.uniform(0, 2 * np.pi))
        found.append(np.stack([z.real, z.imag], axis=-1))
    return found


def synthetic_pair(**change):
    """Outlines of one population, and others with the given difference."""
    return lambda: (synthetic_outlines(1), synthetic_outlines(2, **change))


CASES = {
    "grains: noisy, smooth": lambda: (grains("hlf1_noisy"), grains("hlf2_smooth5")),
    "grains: smooth halves": lambda: (grains("hlf1_smooth5"), grains("hlf2_smooth5")),
    "grains: stretched 1.4": lambda: (grains("hlf1_smooth5"), grains("hlf2_smooth5", (1.4, 1 / 1.4))),
    "grains: stretched 1.2": lambda: (grains("hlf1_smooth5"), grains("hlf2_smooth5", (1.2, 1 / 1.2))),
    "cells: dunn, dlm8 (cytd)": lambda: (cells(0, 2), cells(1, 2)),
    "cells: dunn, dlm8 (control)": lambda: (cells(0, 0), cells(1, 0)),
    "cells: dunn, control, jasp": lambda: (cells(0, 0), cells(0, 1)),
    "cells: dlm8, control, cytd": lambda: (cells(1, 0), cells(1, 2)),
    "powder": lambda: (powder(0), powder(1)),
    "battery": lambda: tuple(
        curves_of(DATA / "paper" / "battery_curves.npz", f"{k}_sigma5")[0] for k in ("new", "old")
    ),
    "carbides": lambda: tuple(
        labelled((DATA / "uhcs_spheroidite").glob(f"800C-{hours}H*_mask.png"), 60, masks=True) for hours in (24, 85)
    ),
    "nuclei: wild type, knock-out": lambda: tuple(
        labelled((DATA / "replicates" / "mef_nuclei").glob(f"{kind}_*.png"), 600) for kind in ("wt", "ko")
    ),
    "hearts: two and two persons": lambda: (hearts([0, 1]), hearts([2, 3])),
    "made: size": synthetic_pair(size=1.1),
    "made: elongation 15 %": synthetic_pair(stretch=1.15),
    "made: elongation 30 %": synthetic_pair(stretch=1.3),
    "made: lobes": synthetic_pair(lobes=0.08),
    "made: roughness": synthetic_pair(rough=1.3),
    "made: spread of form": synthetic_pair(spread=2.0),
    "made: spread of size": synthetic_pair(wider=1.5),
    "made: minority of 15 %": synthetic_pair(minority=0.15),
    "made: handedness": lambda: (synthetic_outlines(1, hand=1.0), synthetic_outlines(2, hand=-1.0)),
    "made: size and roughness": synthetic_pair(size=1.08, rough=1.2),
}
#: Populations from which both samples are drawn, and sample sizes.
NULLS = {
    "grains": (lambda: grains("hlf1_smooth5") + grains("hlf2_smooth5"), ("20, 20", "40, 40", "76, 76", "10, 300")),
    "cells": (lambda: cells(0, 0), ("40, 40",)),
    "made": (lambda: synthetic_outlines(1, 1200), ("20, 20", "40, 40", "76, 76")),
    "ties: each outline eight times": (lambda: synthetic_outlines(1, 20) * 8, ("40, 40",)),
    "ordered by size": (lambda: synthetic_outlines(1, 1200), ("40, 40",)),
}
NULL_SIZES = {"20, 20": (20, 20), "40, 40": (40, 40), "76, 76": (76, 76), "10, 300": (10, 300)}


@dataclass(frozen=True, eq=False)
class Population:
    """Precomputed results for outlines that do not depend on the comparison."""

    landmarks: np.ndarray
    places: np.ndarray
    around: np.ndarray
    size: np.ndarray
    elongation: np.ndarray
    area: np.ndarray
    aspect: np.ndarray
    concavity: np.ndarray


@cache
def population(case, side):
    """Outlines of one side of a case, or of a null case."""
    curves = NULLS[case][0]() if side is None else CASES[case]()[side]
    ensemble = curves if isinstance(curves, Ensemble) else Ensemble(list(curves))
    landmarks = to_landmarks(ensemble, Settings().landmarks, measure=Settings().measure)
    undulation, scale = decompose(landmarks)
    extents = np.linalg.eigvalsh(scale)
    outlines = shapely.polygons(np.sqrt(landmarks.shape[1]) * undulation)
    hulls, area, length = shapely.convex_hull(outlines), shapely.area(outlines), shapely.length(outlines)
    concavity = np.stack(
        [area / shapely.area(hulls), shapely.length(hulls) / length, 4 * np.pi * area / length**2], axis=1
    )
    features = ensemble.features
    return Population(
        landmarks,
        coordinate_precision(ensemble),
        np.asarray(ensemble.features["perimeter"]) * (ensemble.pixel_size is not None),
        np.log(extents).mean(axis=1),
        np.log(extents[:, 1] / extents[:, 0]),
        features["area"].to_numpy(),
        features["aspect_ratio"].to_numpy(),
        concavity,
    )


def drawn(parts):
    """Rows of populations, concatenated."""
    return Population(*(np.concatenate([getattr(p, name)[rows] for p, rows in parts]) for name in FIELDS_OF))


FIELDS_OF = tuple(Population.__dataclass_fields__)


def learned_from(some):
    """What `compare` learns from drawn outlines with its defaults; the tested coordinates are not used."""
    return learn_landmarks(some.landmarks, some.places, Settings(), lobes_held(some.around[some.around > 0]))


def distances(x):
    """Distances between the rows of x."""
    x = x - x.mean(axis=0)
    square = np.einsum("id,id->i", x, x)
    return np.sqrt(np.maximum(square[:, None] + square - 2 * x @ x.T, 0))


def permuted_p(kernel, weights):
    """p-value of wᵀKw among permutations, of which the first row is the observed labeling."""
    values = np.einsum("bi,bi->b", weights @ kernel, weights)
    return np.mean(values >= values[0] - 1e-12 * abs(values[0]))


def linear(x):
    """Kernel of the distance between means: PERMANOVA of two groups on Euclidean distances."""
    x = x - x.mean(axis=0)
    return x @ x.T


def hotelling(x):
    """Kernel of Hotelling's T² of two groups."""
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return linear(u[:, s > 1e-9 * s[0]])


def aggregated(d, weights):
    """p-value of MMDs at nine widths, aggregated by the smallest p-value (as MMDAgg; Schrab et al. 2023)."""
    median = np.median(d[np.triu_indices(len(d), 1)])
    values = [
        np.einsum("bi,bi->b", weights @ k, weights)
        for k in (np.exp(-((d / median) ** 2) / 2 * 4.0**j) for j in range(-4, 5))
    ]
    smallest = np.min([rankdata(-np.array(v), method="max") for v in values], axis=0)
    return np.mean(smallest <= smallest[0])


def fused(d, weights):
    """p-value of MMDs at ten widths of two kernels, fused (MMD-FUSE; Biggs, Schrab, Gretton 2023)."""
    n = len(d)
    low, high = np.quantile(d[np.triu_indices(n, 1)], [0.05, 0.95])
    a, values = weights > 0, []
    m = a[0].sum()
    for width in np.linspace(low / 2, 2 * high, 10):
        for kernel in (np.exp(-((d / width) ** 2) / 2), np.exp(-d / width)):
            kernel = kernel - np.diag(np.diag(kernel))
            to_a = a @ kernel
            in_a, across = np.einsum("bi,bi->b", to_a, a), np.einsum("bi,bi->b", to_a, ~a)
            in_b = kernel.sum() - in_a - 2 * across
            squared = in_a / (m * (m - 1)) + in_b / ((n - m) * (n - m - 1)) - 2 * across / (m * (n - m))
            values.append(squared / np.sqrt((kernel**2).sum() / (n * (n - 1))))
    exponent = np.sqrt(m * (m - 1)) * np.array(values)
    largest = exponent.max(axis=0)
    joint = np.log(np.exp(exponent - largest).mean(axis=0)) + largest
    return np.mean(joint >= joint[0] - 1e-12)


def classified(x, first, seed):
    """p-value of a classifier's accuracy on unseen outlines (C2ST; Lopez-Paz and Oquab 2017)."""
    from sklearn.linear_model import LogisticRegression

    labels = np.arange(len(x)) < first
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[::2], order[1::2]
    if labels[train].all() or not labels[train].any():
        return 1.0
    right = LogisticRegression(max_iter=300).fit(x[train], labels[train]).predict(x[test]) == labels[test]
    return binomtest(int(right.sum()), len(right), max(labels.mean(), 1 - labels.mean()), alternative="greater").pvalue


def ranked(x, first):
    """Minimum p-value of Mann-Whitney tests of the columns, by Holm's method."""
    found = [mannwhitneyu(column[:first], column[first:]).pvalue for column in x.T if np.ptp(column) > 0]
    return min(1.0, len(found) * min(found, default=1.0))


def others(some, learned, first, seed):
    """p-values of the other tests: test, method → p."""
    rng = np.random.default_rng([seed, 5])
    labels = np.tile(np.arange(len(some.size)) < first, (400, 1))
    rng.permuted(labels[1:], axis=1, out=labels[1:])
    weights = labels - first / labels.shape[1]
    t, l = learned.t, learned.l
    leading = t[:, : max(1, min(10, len(t) // 4))]
    apart, apart_l = distances(t), distances(l)
    both = np.stack([some.size, some.elongation], axis=1)
    shape = np.stack([some.area, some.aspect], axis=1)
    found = {
        ("form", "shape factors, Mann-Whitney, Holm"): ranked(some.concavity, first),
        ("form", "shape factors, Hotelling"): permuted_p(hotelling(some.concavity), weights),
        ("form", "aligned landmarks, PERMANOVA"): permuted_p(linear(t), weights),
        ("form", "energy distance"): permuted_p(-apart, weights),
        ("form", "leading components, Hotelling"): permuted_p(hotelling(leading), weights),
        ("form", "MMDAgg"): aggregated(apart, weights),
        ("form", "MMD-FUSE"): fused(apart, weights),
        ("scale", "area, aspect ratio, Mann-Whitney, Holm"): ranked(shape, first),
        ("scale", "area, Kolmogorov-Smirnov"): ks_2samp(some.area[:first], some.area[first:]).pvalue,
        ("scale", "log elongation, t-test"): ttest_ind(some.elongation[:first], some.elongation[first:]).pvalue,
        ("scale", "size, elongation, Hotelling"): permuted_p(hotelling(both), weights),
        ("scale", "size, elongation, energy"): permuted_p(-distances(standardized(both)), weights),
        ("scale", "energy distance"): permuted_p(-apart_l, weights),
        ("scale", "size, Levene"): permuted_p(linear(np.abs(some.size - np.median(some.size))[:, None]), weights),
        ("scale", "MMDAgg"): aggregated(apart_l, weights),
        ("scale", "MMD-FUSE"): fused(apart_l, weights),
    }
    try:
        found["form", "classifier"] = classified(standardized(leading), first, seed)
        found["scale", "classifier"] = classified(standardized(l), first, seed)
    except ImportError:
        pass
    return found


def one_draw(some, first, seed, *, rivals=True):
    """p-values of one draw by test and method."""
    learned, found = learned_from(some), {}
    for name, settings in SETTINGS.items():
        if name != "defaults" and not rivals:
            continue
        changed = replace(settings, seed=seed)
        parts = (
            form_parts(learned.t, learned.descriptors, changed),
            scale_parts(learned.l, learned.space.scale_mean_, changed, learned.known),
        )
        both = [curve_test(kind, np.arange(len(learned.t)), first, changed) for kind in parts]
        for test, result in zip(("form", "scale"), both, strict=True):
            found[test, name] = result.p_value
            if name == "defaults":
                found |= {(test, f"part: {part}"): one.p_value for part, one in result.parts.items()}
    return found | (others(some, learned, first, seed) if rivals else {})


def batches(options, case, size, batch, level):
    """Numbers of the draws of a cell still to be done, in batches, until the time is up."""
    cell = ("defaults", "form", case, str(size), f"{level:g}")
    keys = ("method", "test", "case", "size", "level")
    done = sum(int(row["draws"]) for row in rows_of(options.out) if tuple(row[key] for key in keys) == cell)
    for start in range(done, options.draws, batch):
        if time.monotonic() > options.until:
            raise SystemExit(3)
        yield range(start, min(start + batch, options.draws))


def again(options):
    """Power of the present tests in cells of the file, in random order, without the other tests."""
    cells = sorted({(row["case"], int(row["size"])) for row in rows_of(POWER) if int(row["draws"]) >= MANY})
    for place in np.random.default_rng(1).permutation(len(cells)):
        case, size = cells[place]
        options.sizes = (size,)
        draw_from([case], options, LEVEL, rivals=False)


def default(options):
    """Power for two differences at the default level of a test, without the other tests."""
    options.sizes = (20, 40, 80)
    draw_from(("made: size", "made: roughness"), options, DEFAULT, rivals=False)


def power(options):
    """Power of all tests."""
    draw_from([name for name in CASES if any(part in name for part in options.cases)], options, LEVEL)


def draw_from(cases, options, level, *, rivals=True):
    """Draw from the pairs, and add the rejections to the file."""
    for size in options.sizes:
        for case in cases:
            for draws in batches(options, case, size, 20, level):
                sides = [population(case, side) for side in (0, 1)]
                if size > 0.9 * min(len(side.size) for side in sides):
                    break
                found = []
                for draw in draws:
                    rng = np.random.default_rng([draw, size, 3])
                    parts = [(side, rng.choice(len(side.size), size, replace=False)) for side in sides]
                    found.append(one_draw(drawn(parts), size, draw, rivals=rivals))
                write(options.out, case, size, found, level)


def level(options):
    """Draw both samples from one population, and add the rejections to the file."""
    for case in (name for name in NULLS if any(part in name for part in options.cases)):
        for name, (m, n) in NULL_SIZES.items():
            if name not in NULLS[case][1] or (options.only and name not in options.only):
                continue
            for draws in batches(options, case, name, 250, DEFAULT):
                whole, found = population(case, None), []
                for draw in draws:
                    rows = np.random.default_rng([draw, m, n, 4]).choice(len(whole.size), m + n, replace=False)
                    if case.startswith("ordered"):  # each sample from the smallest outline to the largest
                        rows = np.concatenate([side[np.argsort(whole.size[side])] for side in (rows[:m], rows[m:])])
                    found.append(one_draw(drawn([(whole, rows)]), m, draw, rivals=False))
                write(options.out, case, name, found, DEFAULT)


def rows_of(path):
    """Rows of the file, if it exists."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, case, size, found, level):
    """Add the counts of a batch of draws to those in the file."""
    keys = dict.fromkeys(key for one in found for key in one)
    # A part omitted in a draw counts as not rejected.
    new = [
        (case, *key, size, level, len(found), sum(one.get(key, 1) <= level * (1 + 1e-9) for one in found))
        for key in keys
    ]
    counts = {}
    for *key, draws, rejected in [tuple(row[name] for name in FIELDS) for row in rows_of(path)] + new:
        before = counts.get(tuple(map(str, key)), (0, 0))
        counts[tuple(map(str, key))] = before[0] + int(draws), before[1] + int(rejected)
    with path.with_suffix(".part").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows([*key, *both] for key, both in counts.items())
    path.with_suffix(".part").replace(path)
    print(case, size, len(found), flush=True)


def shares(path):
    """(case, test, size) → method → fraction of draws rejected at level 0.05."""
    counts = {}
    for row in rows_of(path):
        if float(row["level"]) == LEVEL:
            cell = counts.setdefault((row["case"], row["test"], int(row["size"])), {})
            before = cell.get(row["method"], (0, 0))
            cell[row["method"]] = before[0] + int(row["rejected"]), before[1] + int(row["draws"])
    return {key: {method: hits / draws for method, (hits, draws) in cell.items()} for key, cell in counts.items()}


def found_by(cell):
    """Best of the other tests, and its rejection rate."""
    others = {m: p for m, p in cell.items() if not m.startswith(("defaults", "part"))}
    best = max(others, key=others.get)
    return best, others[best]


def lost(known, test, chosen, least):
    """Cells in which a test has power, and the loss of the defaults there, in decreasing order."""
    rows = []
    for (case, of, size), cell in known.items():
        best, share = found_by(cell)
        if of == test and (case in CHOSEN) == chosen and size in (20, 40, 80) and share >= least:
            rows.append((share - cell["defaults"], cell["defaults before"] - cell["defaults"], case, size, best, cell))
    return sorted(rows, key=lambda row: -row[0])


def regret_table(known, least=SOMETHING):
    """Loss of power of the defaults relative to the best other test, wherever one has power."""
    lines = ["| test | pairs | cells | at most | on average | below the defaults before by at most |"]
    lines.append("|---" * 6 + "|")
    for test in ("form", "scale"):
        for chosen, words in ((True, "searched on"), (False, "starred")):
            rows = lost(known, test, chosen, least)
            if rows:
                most, below = rows[0], max(rows, key=lambda row: row[1])
                mean = np.mean([row[0] for row in rows]) + 0.0
                named = f" (*{below[2]}*, {below[3]})" if below[1] > 0.005 else ""
                lines.append(
                    f"| {test} | {words} | {len(rows)} | {most[0]:.2f} (*{most[2]}*, {most[3]}) | {mean:.3f} | "
                    f"{max(below[1], 0):.2f}{named} |"
                )
    return "\n".join(lines)


def lost_among_three(share):
    """Loss of the minimum of three independent p-values relative to the only informative one, at its power."""
    alone, jointly = norm.isf([LEVEL / 2, (1 - (1 - LEVEL) ** (1 / 3)) / 2])
    shift = brentq(lambda x: norm.sf(alone - x) + norm.sf(alone + x) - min(share, 1 - 1e-6), 0, 9)
    missed = (norm.cdf(jointly - shift) - norm.cdf(-jointly - shift)) * (1 - LEVEL) ** (2 / 3)
    return max(0.0, share - 1 + missed)


def bound(known, least=SOMETHING):
    """The same at the power of the best other test of scale in every cell, in words."""
    words = []
    for chosen, pairs in ((True, "the pairs searched on"), (False, "the starred pairs")):
        rows = lost(known, "scale", chosen, least)
        losses = [lost_among_three(found_by(cell)[1]) for *_, cell in rows]
        if losses:
            words.append(f"{np.mean(losses):.3f} on average and {max(losses):.2f} at most on {pairs}")
    return "Three independent parts would lose\n" + ",\nand ".join(words) + "."


def found_by_default(rows):
    """How often two differences are found at the default level of a test, in words."""
    shares = {}
    for row in rows:
        if float(row["level"]) == DEFAULT and row["method"] == "defaults":
            hits, draws = int(row["rejected"]), int(row["draws"])
            shares[row["case"], row["test"], int(row["size"])] = f"{100 * hits / draws:.0f}"
    size, rough = (
        listed([shares[case, test, size] for size in (20, 40, 80)])
        for case, test in (("made: size", "scale"), ("made: roughness", "form"))
    )
    return (
        f"In synthetic outlines whose sizes vary by 20 %, a difference of 10 % in size is found in {size} of 100 "
        f"draws of 20, 40 and 80 outlines a side, 30 % more roughness in {rough}."
    )


def compared(known, anew):
    """How the rates of the file compare with those of the present tests in cells drawn again, in words."""
    gains = {key: cell["defaults"] - known[key]["defaults"] for key, cell in anew.items()}
    low, high = min(gains, key=gains.get), max(gains, key=gains.get)
    named = [f"{gains[key]:+.2f} (*{key[0]}*, {key[1]}, {key[2]})" for key in (low, high)]
    form, scale = (np.mean([gain for key, gain in gains.items() if key[1] == test]) for test in ("form", "scale"))
    return (
        f"In {len(gains)} of the file's cells that were drawn again with the present tests, rates differ by "
        f"{form:+.2f} on average for form and {round(scale, 2) + 0.0:+.2f} for scale, at most by {listed(named)}."
    )


def listed(words):
    """Words separated by commas and "and"."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def power_table(known, least=SOMETHING):
    """Power for 40 outlines per sample, wherever some test has power."""
    lines = ["| pair | test | found | each part by itself |", "|---" * 4 + "|"]
    for (case, test, size), cell in sorted(known.items(), key=lambda one: (one[0][1], list(CASES).index(one[0][0]))):
        if size == 40 and max(found_by(cell)[1], cell["defaults"]) >= least:
            parts = "; ".join(f"{m[6:]} {p:.2f}" for m, p in cell.items() if m.startswith("part"))
            name = case + ("" if case in CHOSEN else " *")
            lines.append(f"| {name} | {test} | {cell['defaults']:.2f} | {parts} |")
    return "\n".join(lines)


def level_table(rows):
    """Rejection rates without a difference at the default level, with Wilson intervals."""
    lines = [f"| nothing differs | m, n | runs | test | level {DEFAULT:g} |", "|---" * 5 + "|"]
    for row in rows:
        if row["method"] == "defaults":
            hits, draws = int(row["rejected"]), int(row["draws"])
            low, high = wilson(hits, draws)
            mark = " **above**" if low > DEFAULT else " **below**" if high < DEFAULT else ""
            rate = share(hits, draws) + mark
            lines.append(f"| {row['case']} | {row['size']} | {draws} | {row['test']} | {rate} |")
    return "\n".join(lines)


def numbers_of_draws(path):
    """Numbers of draws for each sample size, in words."""
    counts = {}
    for row in rows_of(path):
        if row["method"] == "defaults" and float(row["level"]) == LEVEL:
            counts.setdefault(int(row["size"]), set()).add(int(row["draws"]))
    words = [
        f"{' to '.join(map(str, sorted({min(draws), max(draws)})))} at {size}" for size, draws in sorted(counts.items())
    ]
    return f"Draws of each pair, by outlines a side: {', '.join(words)}. A share of 400 is known to ± 0.05."


def tables_of(folder):
    """Blocks of docs/evidence/power.md by name, from power.csv and level.csv."""
    known = shares(folder / "power.csv")
    # Cases were named before the standard term was adopted.
    return {
        "power-draws": numbers_of_draws(folder / "power.csv"),
        "power": power_table(known).replace("made: ", "synthetic: "),
        "power-regret": regret_table(known).replace("made: ", "synthetic: "),
        "power-bound": bound(known),
        "power-default": found_by_default(rows_of(folder / "power.csv")),
        "power-again": compared(known, shares(folder / "power_again.csv")).replace("made: ", "synthetic: "),
        "power-level": level_table(rows_of(folder / "level.csv")),
    }


def tables(options):
    """Print the tables of docs/evidence/power.md, as written by tools/write_docs.py."""
    print("\n\n".join(tables_of(options.out.parent).values()))


#: Learning curves in the figure; the file has all.
DRAWN = (
    ("form", "grains: noisy, smooth"),
    ("form", "cells: dunn, dlm8 (control)"),
    ("form", "nuclei: wild type, knock-out"),
    ("form", "made: lobes"),
    ("form", "made: roughness"),
    ("form", "made: minority of 15 %"),
    ("scale", "grains: stretched 1.2"),
    ("scale", "cells: dunn, dlm8 (cytd)"),
    ("scale", "powder"),
    ("scale", "made: size"),
    ("scale", "made: elongation 30 %"),
    ("scale", "made: spread of size"),
)


def draw(options):
    """Draw learning curves, readable at 680 pixels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    known = shares(options.out)
    measured = sorted({size for _, _, size in known})
    ink, grey, red = "0.1", "0.6", "#c0392b"
    plt.rcParams.update({"font.size": 9, "text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": grey})
    figure, axes = plt.subplots(4, 3, figsize=(6.8, 7.6), sharex=True, sharey=True)
    for axis, (test, case) in zip(axes.flat, DRAWN, strict=True):
        cells = {size: cell for (name, of, size), cell in sorted(known.items()) if (name, of) == (case, test)}
        sizes = list(cells)
        for method in dict.fromkeys(m for cell in cells.values() for m in cell if not m.startswith(("def", "part"))):
            axis.plot(sizes, [cell.get(method, np.nan) for cell in cells.values()], color=grey, lw=0.7, alpha=0.8)
        for method, style in (("defaults before", ":"), ("defaults", "-")):
            values = [cell[method] for cell in cells.values()]
            axis.plot(sizes, values, style, color=red, lw=2, marker="o" if style == "-" else None, ms=4)
        axis.axhline(LEVEL, color=ink, lw=0.6, ls="--")
        axis.set(xscale="log", xlim=(0.9 * measured[0], 1.1 * measured[-1]), ylim=(0, 1.04), yticks=[0, 0.5, 1])
        axis.set_xticks(measured, map(str, measured))
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
        kind, _, detail = case.partition(": ")
        axis.set_title(f"{test}: {kind}\n{detail or 'two fields'}", fontsize=9)
    lines = [
        mpl.lines.Line2D([], [], color=red, lw=2, marker="o", ms=4),
        mpl.lines.Line2D([], [], color=red, lw=2, ls=":"),
        mpl.lines.Line2D([], [], color=grey, lw=0.9),
        mpl.lines.Line2D([], [], color=ink, lw=0.6, ls="--"),
    ]
    figure.legend(lines, ["defaults", "defaults before", "other tests", "level 0.05"], loc="upper center", ncols=4)
    figure.supxlabel("outlines a side", fontsize=10)
    figure.supylabel("share of draws in which the difference is found", fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.965))
    figure.savefig(options.figure, dpi=110)


def main():
    """Run the requested command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("power", "default", "again", "level", "tables", "draw"))
    parser.add_argument("--cases", nargs="*", default=[""], help="parts of names of cases")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10, 20, 40, 80, 160])
    parser.add_argument("--only", nargs="*", help="sizes of nulls, such as '20, 20'")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=np.inf, help="end after so many, with code 3")
    parser.add_argument("--out", type=Path, help="power.csv, power_again.csv or level.csv beside this file")
    parser.add_argument("--figure", type=Path, default=Path("power.png"))
    options = parser.parse_args()
    options.out = options.out or POWER.with_name(FILES.get(options.what, POWER.name))
    options.until = time.monotonic() + options.seconds
    {"power": power, "default": default, "again": again, "level": level, "tables": tables, "draw": draw}[options.what](
        options
    )


if __name__ == "__main__":
    main()
