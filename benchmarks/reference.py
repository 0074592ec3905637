"""False alarms and power of `Reference`, by simulation and on real images; results of docs/reference.md.

python benchmarks/reference.py levels | real | made | days | chart | discoveries | cost
    [--repetitions N] [--seed S] [--data FOLDER] [--out docs/results/reference.json]

`levels`: false alarms where the query is one more image of the kind, with equal and unequal numbers of outlines.
`real`: nuclei, hearts and vertebrae (data beside the repository: docs/data.md), held out or of another kind, by the
score of `Reference`, by others on the same outlines, and by two rivals. `made`: the same on outlines that differ in one
respect; the columns form and scale show what leaks. `days`: images of another day, and references of several days.
`chart`: false alarms of the control chart over 200 images. `discoveries`: false discovery rate over a folder.
`cost`: seconds for 1000 images of 200 outlines.
"""

import argparse
from collections import defaultdict
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np
from imageio.v3 import imread
from scipy import stats

from napari_shape_ensembles import Ensemble, Reference, Settings, extract_curves
from napari_shape_ensembles.comparison import reference as module
from napari_shape_ensembles.comparison.reference_measures import Measured, joint, measure, unlikeness
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales
from napari_shape_ensembles.shapes.conformal import conformal_p_values
from results_file import out_option, printed, record, share

LEVEL = 0.05
SQUARE = [(0, 0), (0, 1), (1, 1), (1, 0)]
# Laws of descriptors between outlines, and between images with a share of the variance.
LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape) ** 1.5 - 1.3,
    "outliers": lambda rng, shape: rng.standard_normal(shape) + 20 * (rng.random(shape[:-1]) < 0.01)[..., None],
}
BETWEEN = 0.08
NUMBERS = {
    "15 each": (lambda rng: 15, lambda rng: 15),
    "5 to 50": (lambda rng: rng.integers(5, 51), lambda rng: rng.integers(5, 51)),
    "5 to 50, query 5": (lambda rng: rng.integers(5, 51), lambda rng: 5),
    "5 to 50, query 50": (lambda rng: rng.integers(5, 51), lambda rng: 50),
}
PLANS = ((10, 0.1), (20, 0.05), (40, 0.05), (100, 0.05), (100, 0.01))


class Images:
    """Images whose outlines are measured already: stands in for `measure`."""

    def __init__(self):
        self.measured = {}

    def add(self, form, scale):
        name = str(len(self.measured))
        self.measured[name] = Measured(scale, form, np.inf, 1.0)
        return Ensemble([SQUARE], name=name)

    def __call__(self, images, settings):
        return [self.measured[image.name] for image in images]


def judged(reference, queries, **options):
    """Judge queries, pairs of descriptors of form and scale, by a reference of such."""
    module.measure = images = Images()
    made = Reference([images.add(*one) for one in reference], **options)
    return made.judge([images.add(*one) for one in queries])


def image(rng, law, count, day=0.0):
    """Descriptors of form and scale of one image."""
    draw = LAWS[law]
    points = draw(rng, (count, 13)) + BETWEEN**0.5 * draw(rng, (1, 13)) + day
    return 0.3 * points[:, :11] - 3, 0.3 * points[:, 11:]


def levels(args):
    rows = []
    for law in LAWS:
        for name, (usual, own) in NUMBERS.items():
            for n, level in PLANS:
                rng = np.random.default_rng([args.seed, n])
                hits = defaultdict(int)
                for _ in range(args.repetitions):
                    reference = [image(rng, law, int(usual(rng))) for _ in range(n)]
                    row = judged(reference, [image(rng, law, int(own(rng)))]).iloc[0]
                    for column in ("p", "p_form", "p_scale"):
                        hits[column] += row[column] <= level + 1e-9
                cells = {column: share(hits[column], args.repetitions, 3) for column in hits}
                rows.append(printed(law=law, outlines=name, images=n, level=level, **cells))
    return {"levels": rows}


def ours(parts):
    """p-values of the score of `Reference`, and of others on the same outlines; the query is last."""
    row = judged(parts[:-1], parts[-1:]).iloc[0]
    found = {"reference": row["p"], "form": row["p_form"], "scale": row["p_scale"]}
    rng, count = np.random.default_rng(0), min(len(one[0]) for one in parts)
    drawn = [[points[rows] for points in one] for one in parts for rows in [rng.permutation(len(one[0]))[:count]]]
    every = np.stack([np.concatenate(one, axis=1) for one in drawn])
    apart = (every - every.mean(axis=(0, 1))) / every.std(axis=(0, 1))
    means = apart.mean(axis=1)
    means = (means - means.mean(axis=0)) / means.std(axis=0)
    others = {
        "equally many": joint({str(test): unlikeness([one[test] for one in drawn]).scores for test in (0, 1)}),
        "squares of means": (means**2).sum(axis=1),
        "largest mean": np.abs(means).max(axis=1),
        "energy distance": energy(apart),
    }
    for name, scores in others.items():
        found[name] = conformal_p_values(scores[-1:] * (1 - 1e-12), scores[:-1])[0]
    return found


def energy(points):
    """Energy distance of each image from all others, summed over the descriptors."""
    total = np.zeros(len(points))
    for values in np.moveaxis(points, 2, 0):
        grid = np.sort(values.ravel())
        shares = (values[:, :, None] <= grid[:-1]).mean(axis=1)
        others = (shares.sum(axis=0) - shares) / (len(points) - 1)
        total += (shares - others) ** 2 @ np.diff(grid)
    return total


def rivals(features):
    """p-values of two rivals, from the means of six descriptors over all outlines of each image."""
    means = np.array([one.mean(axis=0) for one in features])
    usual, own = means[:-1], means[-1]
    z = np.abs(own - usual.mean(axis=0)) / usual.std(axis=0, ddof=1)
    t = 2 * stats.t.sf(z / (1 + 1 / len(usual)) ** 0.5, len(usual) - 1)
    return {"t-tests, Holm": len(t) * t.min(), "z-scores": len(t) * 2 * stats.norm.sf(z).min()}


def described(ensemble, settings):
    """Descriptors of form and of scale of outlines, and six of their features."""
    one = measure([ensemble], settings)[0]
    return one.form, one.scale, np.log(ensemble.features.drop(columns="id").to_numpy())


def taken(population, rows):
    return tuple(values[rows] for values in population)


def power(what, kinds, draw, args):
    """Share of queries of each kind that are flagged, by each method."""
    rows = []
    for kind in kinds:
        hits, rng = defaultdict(int), np.random.default_rng(args.seed)
        for _ in range(args.repetitions):
            parts = draw(rng, kind)
            found = ours([one[:2] for one in parts]) | rivals([one[2] for one in parts])
            for name, p in found.items():
                hits[name] += p <= LEVEL + 1e-9
        cells = {name: round(count / args.repetitions, 3) for name, count in hits.items()}
        rows.append(printed(data=what, query=kind, repetitions=args.repetitions, **cells))
    return rows


def real(args):
    settings = Settings()
    fields = {
        group: [
            described(ensemble, settings)
            for path in sorted((args.data / "mef_nuclei").glob(f"{group}_*.png"))
            if len(ensemble := extract_curves(imread(path), min_area=600))
        ]
        for group in ("wt", "ko")
    }

    def nuclei(rng, kind):
        order = rng.permutation(len(fields["wt"]))
        reference = [fields["wt"][place] for place in order[:20]]
        others = [fields["wt"][place] for place in order[20:]] if kind == "held out" else fields["ko"]
        return [*reference, others[rng.integers(len(others))]]

    drawings, vertebrae = (
        {key: described(curves, settings) for key, curves in outlines_of(args.data / name, column).items()}
        for name, column in (("hearts.npz", "person"), ("vertebrae.npz", "group"))
    )

    def hearts(rng, kind):
        order = rng.permutation(list(drawings))
        images = [taken(drawings[person], rows) for person in order[:4] for rows in np.split(rng.permutation(30), 5)]
        if kind == "held out":
            return [images[place] for place in rng.permutation(len(images))]
        return [*images, taken(drawings[order[4]], rng.permutation(30)[:6])]

    def bones(rng, kind):
        order = rng.permutation(30)
        usual = [taken(vertebrae["c"], order[place : place + 1]) for place in range(25)]
        if kind == "held out":
            return [*usual, taken(vertebrae["c"], order[25:26])]
        group = vertebrae["l" if kind == "large" else "s"]
        return [*usual, taken(group, rng.integers(len(group[0]), size=1))]

    rows = power("nuclei, 20 fields", ("held out", "knock-out"), nuclei, args)
    rows += power("hearts of 4 persons, 20 × 6", ("held out", "another person"), hearts, args)
    rows += power("vertebrae, 25 × 1", ("held out", "large", "small"), bones, args)
    return {"real": rows}


def outlines_of(path, column):
    with np.load(path) as data:
        curves, groups = np.split(data["xy"], data["offsets"][1:-1]), data[column]
        return {
            group: Ensemble([curves[place] for place in np.flatnonzero(groups == group)])
            for group in np.unique(groups).tolist()
        }


@cache
def population(seed, roughness=0.05, size=10.0, elongation=1.3, spread=0.2, waves=(8, 14), count=1500):
    rng = np.random.default_rng(seed)
    forms = draw_forms(rng, count, roughness=roughness, waves=waves, vertices=128)
    scales = draw_scales(rng, count, size=size, spread=spread, elongation=elongation)
    return described(Ensemble(forms @ scales), Settings(landmarks=200))


#: Ways in which a query differs, and the share of its outlines that do.
CHANGES = {
    "nothing": ({}, 1),
    "size × 1.12": ({"size": 11.2}, 1),
    "elongation × 1.15": ({"elongation": 1.495}, 1),
    "spread of size × 1.6": ({"spread": 0.32}, 1),
    "roughness × 1.15": ({"roughness": 0.0575}, 1),
    "roughness × 1.6 in a third": ({"roughness": 0.08}, 1 / 3),
    "size × 1.4 in a third": ({"size": 14.0}, 1 / 3),
}


def made(args):
    def draw(rng, kind):
        changes, part = CHANGES[kind]

        def one(query=False):
            count = int(rng.integers(8, 31))
            changed = round(count * part) if query else 0
            groups = (
                (population(1, 0.05 * rng.choice([0.92, 1.0, 1.08])), count - changed),
                (population(2, **changes), changed),
            )
            form, scale, features = (
                np.concatenate(values)
                for values in zip(*(taken(some, rng.integers(len(some[0]), size=k)) for some, k in groups), strict=True)
            )
            shift = rng.normal(0, 0.04)  # of the log size of an image
            return form, scale + [shift, 0], features + np.array([2, 1, 1, 0, 0, 0]) * shift

        return [*(one() for _ in range(40)), one(query=True)]

    return {"made": power("made, 40 × 8 to 30", CHANGES, draw, args)}


def days(args):
    rows = []
    plans = {
        "20 images of one day": (1, 20),
        "4 images of each of 5 days": (5, 4),
        "1 image of each of 20 days": (20, 1),
    }
    for name, (count, each) in plans.items():
        hits, rng = defaultdict(int), np.random.default_rng(args.seed)
        for _ in range(args.repetitions):
            effects = rng.normal(0, 0.5, (count + 1, 13))
            reference = [image(rng, "normal", 15, effects[day]) for day in range(count) for _ in range(each)]
            queries = [image(rng, "normal", 15, effects[day]) for day in (0, count)]
            queries += [image(rng, "normal", 15, effects[count] + 1.0)]
            for kind, p in zip(("same day", "another day", "unlike"), judged(reference, queries)["p"], strict=True):
                hits[kind] += p <= LEVEL + 1e-9
        rows.append(printed(reference=name, **{kind: round(hit / args.repetitions, 3) for kind, hit in hits.items()}))
    return {"days": rows}


def chart(args):
    rows = []
    for n in (20, 100):
        for shift in (0.0, 1.0):
            rng, alarms, delays = np.random.default_rng(args.seed), 0, []
            for _ in range(args.repetitions):
                module.measure = images = Images()
                made_of = Reference([images.add(*image(rng, "skewed", 10)) for _ in range(n)])
                later = [image(rng, "skewed", 10, shift * (place >= 50)) for place in range(200 if not shift else 80)]
                alarm = made_of.chart([images.add(*one) for one in later])["alarm"].to_numpy()
                alarms += alarm.any()
                delays += [alarm.argmax() - 49] if alarm.any() and alarm.argmax() >= 50 else []
            delay = float(np.median(delays)) if delays and shift else None
            rows.append(printed(images=n, shift=shift, alarm=share(alarms, args.repetitions, 3), delay=delay))
    return {"chart": rows}


def discoveries(args):
    rows = []
    for n, unlike in ((100, 0), (100, 5), (100, 20), (400, 5)):
        rng, rates, powers = np.random.default_rng(args.seed), [], []
        for _ in range(args.repetitions // 5):
            reference = [image(rng, "skewed", 10) for _ in range(n)]
            table = judged(reference, [image(rng, "skewed", 10, 1.5 * (place < unlike)) for place in range(50)])
            hits = table["p_adjusted"].to_numpy() <= 0.1
            rates.append(hits[unlike:].sum() / max(hits.sum(), 1))
            powers.append(hits[:unlike].mean() if unlike else np.nan)
        found = {"rate": round(float(np.mean(rates)), 3), "found": round(float(np.mean(powers)), 3) if unlike else None}
        rows.append(printed(images=n, unlike=f"{unlike} of 50", **found))
    return {"discoveries": rows}


def cost(args):
    rng = np.random.default_rng(args.seed)

    def drawn(name):
        scales = draw_scales(rng, 200, size=10, spread=0.2, elongation=1.3)
        return Ensemble(draw_forms(rng, 200, roughness=0.05, waves=(8, 14), vertices=96) @ scales, name=name)

    images = [drawn(f"{place}") for place in range(50)]
    module.measure = measure
    start = perf_counter()
    reference = Reference([drawn(f"reference {place}") for place in range(100)])
    made_in = perf_counter() - start
    start = perf_counter()
    reference.judge([images[place % 50] for place in range(1000)])
    return {"cost": [printed(reference=round(made_in, 1), judged=round(perf_counter() - start, 1))]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("levels", "real", "made", "days", "chart", "discoveries", "cost"))
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path("../data/replicates"))
    out_option(parser)
    args = parser.parse_args()
    record(args.out, **globals()[args.what](args))


if __name__ == "__main__":
    main()
