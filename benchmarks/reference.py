"""False alarms and power of `Reference`, by simulation and on real images; results of docs/evidence/reference.md.

python benchmarks/reference.py levels | real | made | chart | cost
    [--repetitions N] [--seed S] [--data FOLDER] [--out docs/results/reference.json]

`levels`: queries of the reference's kind, with equal and unequal numbers of outlines. `real`: nuclei, hearts and
vertebrae (data beside the repository: docs/contributing/data.md), held out or of another kind; by `Reference`, by
other scores of
the same outlines, and by two rivals. `made`: the same on outlines that differ in one respect; what is found in form
and in scale shows what leaks. `chart`: false alarms over 200 images, and delays. `cost`: seconds for 1000 images of 200
outlines.
"""

import argparse
from collections import defaultdict
from functools import cache
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from imageio.v3 import imread
from scipy import stats

from napari_shape_ensembles import Ensemble, Reference, Settings, extract_curves
from napari_shape_ensembles.comparison import reference as module
from napari_shape_ensembles.comparison.reference_measures import Measured, measure
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales
from napari_shape_ensembles.shapes.conformal import conformal_p_values
from results_file import out_option, printed, record, share

LEVEL = 0.05
# An image is an array of outlines by columns: those of form end here, those of scale there; six features follow.
FORM, DESCRIBED = 11, 13
# How the columns follow the logarithm of size.
SIZE = np.array([0] * FORM + [1, 0] + [2, 1, 1, 0, 0, 0])
# Laws of descriptors, of outlines and of images; images have this share of the variance.
LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape) ** 1.5 - 1.3,
    "outliers": lambda rng, shape: rng.standard_normal(shape) + 20 * (rng.random(shape[:-1]) < 0.01)[..., None],
}
BETWEEN = 0.08
# Outlines of an image of the reference, at least and at most, and of the query.
NUMBERS = {"15": (15, 15, 15, 15), "5 to 50": (5, 50, 5, 50), "few": (5, 50, 5, 5), "many": (5, 50, 50, 50)}
PLANS = ((10, 0.1), (20, 0.05), (40, 0.05), (100, 0.05), (100, 0.01))
# What changes in a query, and in which share of its outlines.
CHANGES = {
    "nothing": ({}, 1),
    "size × 1.12": ({"size": 11.2}, 1),
    "elongation × 1.15": ({"elongation": 1.495}, 1),
    "spread of size × 1.6": ({"spread": 0.32}, 1),
    "roughness × 1.15": ({"roughness": 0.0575}, 1),
    "roughness × 1.6 in a third": ({"roughness": 0.08}, 1 / 3),
    "size × 1.4 in a third": ({"size": 14.0}, 1 / 3),
}


@cache
def placeholder(name):
    """An image whose outlines are measured elsewhere."""
    return Ensemble([[(0, 0), (0, 1), (1, 1)]], name=name)


def stand_in(parts):
    """Images of descriptors, which `Reference` uses in place of measuring outlines."""
    found = {str(place): Measured(one[:, FORM:DESCRIBED], one[:, :FORM], np.inf, 1) for place, one in enumerate(parts)}
    module.measure = lambda images, settings: [found[image.name] for image in images]
    return [placeholder(name) for name in found]


def judged(reference, queries, significance=LEVEL):
    """Judge queries by a reference, all as descriptors."""
    images = stand_in([*reference, *queries])
    return Reference(images[: len(reference)], significance=significance).judge(images[len(reference) :])


def drawn(rng, law, count, shift=0.0):
    """Descriptors of one image."""
    return 0.3 * (LAWS[law](rng, (count, DESCRIBED)) + BETWEEN**0.5 * LAWS[law](rng, (1, DESCRIBED)) + shift) - 3


def levels(args):
    """Share of p-values at the level or below."""
    rows = []
    for law, (name, (least, most, own_least, own_most)), (n, level) in (
        (law, numbers, plan) for law in LAWS for numbers in NUMBERS.items() for plan in PLANS
    ):
        rng, hits = np.random.default_rng([args.seed, n]), defaultdict(int)
        for _ in range(args.repetitions):
            parts = [drawn(rng, law, int(rng.integers(least, most + 1))) for _ in range(n)]
            query = drawn(rng, law, int(rng.integers(own_least, own_most + 1)))
            row = judged(parts, [query], level).iloc[0]
            for column in ("p", "p_form", "p_scale"):
                hits[column] += row[column] <= level + 1e-9
        cells = {column: share(count, args.repetitions, 3) for column, count in hits.items()}
        rows.append(printed(law=law, outlines=name, images=n, level=level, **cells))
    return rows


def energy(points):
    """Energy distance of each image (U, m, d) from all others, summed over the descriptors."""
    total = np.zeros(len(points))
    for values in np.moveaxis(points, 2, 0):
        grid = np.sort(values.ravel())
        shares = (values[:, :, None] <= grid[:-1]).mean(axis=1)
        total += (shares - (shares.sum(axis=0) - shares) / (len(points) - 1)) ** 2 @ np.diff(grid)
    return total


def p_values(parts):
    """p-values of the last of some images, by every method."""
    row = judged(parts[:-1], parts[-1:]).iloc[0]
    found = {"Reference": row["p"], "form": row["p_form"], "scale": row["p_scale"]}
    count, rng = min(map(len, parts)), np.random.default_rng(0)
    every = np.stack([one[rng.permutation(len(one))[:count], :DESCRIBED] for one in parts])
    means = (every.mean(axis=1) - every.mean(axis=(0, 1))) / every.mean(axis=1).std(axis=0)
    features = np.array([one[:, DESCRIBED:].mean(axis=0) for one in parts])
    for name, scores in {
        "squares of means": (means**2).sum(axis=1),
        "energy distance": energy(every / every.std(axis=(0, 1))),
    }.items():
        found[name] = conformal_p_values(scores[-1:] * (1 - 1e-12), scores[:-1])[0]
    z = np.abs(features[-1] - features[:-1].mean(axis=0)) / features[:-1].std(axis=0, ddof=1)
    t = stats.t.sf(z / (1 + 1 / (len(parts) - 1)) ** 0.5, len(parts) - 2)
    return found | {"t-tests, Holm": 2 * len(z) * t.min(), "z-scores": 2 * len(z) * stats.norm.sf(z).min()}


def power(data, kinds, draw, args):
    """Share of queries of each kind that are flagged, by every method."""
    rows = []
    for kind in kinds:
        rng, hits = np.random.default_rng(args.seed), defaultdict(int)
        for _ in range(args.repetitions):
            for name, p in p_values(draw(rng, kind)).items():
                hits[name] += p <= LEVEL + 1e-9
        cells = {name: round(count / args.repetitions, 3) for name, count in hits.items()}
        rows.append(printed(data=data, query=kind, repetitions=args.repetitions, **cells))
    return rows


def described(ensemble, **settings):
    """Descriptors of form and of scale, and the logarithms of six features, of the outlines of an ensemble."""
    one = measure([ensemble], Settings(**settings))[0]
    return np.hstack([one.form, one.scale, np.log(ensemble.features.drop(columns="id").to_numpy())])


def real(args):
    """Power on real images."""
    paths = {kind: sorted((args.data / "mef_nuclei").glob(f"{kind}_*.png")) for kind in ("wt", "ko")}
    traced = {kind: [extract_curves(imread(path), min_area=600) for path in some] for kind, some in paths.items()}
    fields = {kind: [described(field) for field in some if len(field)] for kind, some in traced.items()}
    sets = {}
    for name, column in (("hearts", "person"), ("vertebrae", "group")):
        with np.load(args.data / f"{name}.npz") as data:
            every = described(Ensemble(np.split(data["xy"], data["offsets"][1:-1])))
            sets[name] = {group: every[data[column] == group] for group in np.unique(data[column]).tolist()}

    def nuclei(rng, kind):
        order = rng.permutation(len(fields["wt"]))
        others = [fields["wt"][place] for place in order[20:]] if kind == "held out" else fields["ko"]
        return [*(fields["wt"][place] for place in order[:20]), others[rng.integers(len(others))]]

    def hearts(rng, kind):
        persons = rng.permutation(list(sets["hearts"]))
        images = [sets["hearts"][one][rows] for one in persons[:4] for rows in np.split(rng.permutation(30), 5)]
        images = [images[place] for place in rng.permutation(len(images))]
        return images if kind == "held out" else [*images, sets["hearts"][persons[4]][rng.permutation(30)[:6]]]

    def bones(rng, kind):
        order, others = rng.permutation(30), sets["vertebrae"][kind[0]]
        rows = order[25:26] if kind == "control" else rng.integers(len(others), size=1)
        return [*(sets["vertebrae"]["c"][order[place : place + 1]] for place in range(25)), others[rows]]

    return [
        *power("nuclei, 20 fields", ("held out", "knock-out"), nuclei, args),
        *power("hearts, 4 persons × 5 images", ("held out", "another person"), hearts, args),
        *power("vertebrae, 25 bones", ("control", "large", "small"), bones, args),
    ]


@cache
def population(seed, roughness=0.05, size=10.0, elongation=1.3, spread=0.2):
    """Outlines of one law, described."""
    rng = np.random.default_rng(seed)
    forms = draw_forms(rng, 1500, roughness=roughness, waves=(8, 14), vertices=128)
    scales = draw_scales(rng, 1500, size=size, spread=spread, elongation=elongation)
    return described(Ensemble(forms @ scales), landmarks=200)


def made(args):
    """Power on made outlines: 40 images of 8 to 30, which differ in size (4 %) and roughness (8 %)."""

    def image(rng, changes, part):
        count = int(rng.integers(8, 31))
        changed = round(count * part)
        usual = {"roughness": 0.05 * rng.choice([0.92, 1.0, 1.08])}
        groups = ((population(1, **usual), count - changed), (population(2, **(usual | changes)), changed))
        outlines = np.concatenate([one[rng.integers(len(one), size=number)] for one, number in groups])
        return outlines + rng.normal(0, 0.04) * SIZE

    def draw(rng, kind):
        return [*(image(rng, {}, 0) for _ in range(40)), image(rng, *CHANGES[kind])]

    return power("made, 40 images", CHANGES, draw, args)


def chart(args):
    """Alarms over 200 images, and the delay of an alarm after a change at image 50."""
    rows = []
    for n, shift, length in ((20, 0, 200), (100, 0, 200), (20, 1, 80), (100, 1, 80)):
        rng, first = np.random.default_rng(args.seed), []
        for _ in range(args.repetitions):
            later = [drawn(rng, "normal", 10, shift * (place >= 50)) for place in range(length)]
            images = stand_in([*(drawn(rng, "normal", 10) for _ in range(n)), *later])
            alarm = Reference(images[:n]).chart(images[n:])["alarm"].to_numpy()
            first += [int(alarm.argmax())] if alarm.any() else []
        delay = float(np.median([place - 49 for place in first if place >= 50])) if shift and first else None
        rows.append(printed(images=n, shift=shift, alarms=share(len(first), args.repetitions, 3), delay=delay))
    return rows


def cost(args):
    """Seconds, from outlines to the table."""
    rng = np.random.default_rng(args.seed)

    def image(place):
        scales = draw_scales(rng, 200, size=10, spread=0.2, elongation=1.3)
        return Ensemble(draw_forms(rng, 200, roughness=0.05, waves=(8, 14), vertices=96) @ scales, name=f"{place}")

    images, start = [image(place) for place in range(100)], perf_counter()
    reference, made_at, used = Reference(images), perf_counter(), process_time()
    reference.judge([images[place % 100] for place in range(1000)])
    judged_in, processor = perf_counter() - made_at, process_time() - used
    return [printed(reference=round(made_at - start, 1), judged=round(judged_in, 1), processor=round(processor, 1))]


def main():
    """Run one of the simulations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("levels", "real", "made", "chart", "cost"))
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path("../data/replicates"))
    out_option(parser)
    args = parser.parse_args()
    record(args.out, **{args.what: globals()[args.what](args)})


if __name__ == "__main__":
    main()
