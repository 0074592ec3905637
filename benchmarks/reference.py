"""False alarms and power of `Reference`, by simulation and on real images; results of docs/evidence/reference.md.

python benchmarks/reference.py levels | real | made | days | discoveries | chart | acquired | cost
    [--repetitions N] [--seed S] [--laws LAW ...] [--images N ...] [--out docs/results/reference.json]

`levels`: queries of the reference's kind, with equal and unequal numbers of outlines. `real`: nuclei, hearts,
vertebrae, cells, powder, steel and battery particles (data beside the repository: docs/contributing/data.md), held out
or of another kind; by `Reference` and by rivals. `made`: the same on made outlines, on which the score was chosen. What
is found in form and in scale shows what leaks. `days`: another day, and references of several days. `discoveries`: the
false discovery rate over 40 queries. `chart`: false alarms over 200 images, and delays. `acquired`: outlines
acquired as the reference or otherwise. `cost`: seconds for 1000 images of 200 outlines.
"""

from collections import defaultdict
from functools import cache, partial
from time import perf_counter, process_time

import numpy as np
from imageio.v3 import imread
from scipy import stats

from napari_shape_ensembles import Ensemble, Reference, Settings, decompose, extract_curves, to_landmarks
from napari_shape_ensembles.comparison import reference as module
from napari_shape_ensembles.comparison.reference_measures import Measured, measure
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales, whiten
from precision import edges, ellipses, outermost, plane_of, rounded, traced, unevenly_clicked
from results_file import DATA, parser_of, printed, record, share

LEVEL = 0.05
# An image is an array of outlines by columns: those of form end here, those of scale there; six features follow.
FORM, DESCRIBED = 11, 13
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
# How outlines are acquired.
WAYS = {
    "traced": traced,
    "smoothed": partial(traced, smoothing=2.0),
    "coarser": lambda curves: Ensemble.from_labels(plane_of([curve / 1.6 for curve in curves]), scale=1.6, unit="µm"),
    "exact": partial(Ensemble, unit="µm"),
    "whole pixels": lambda curves: Ensemble(rounded(curves).curves, unit="µm"),
    "outermost": outermost,
    "edges": edges,
    "clicked": unevenly_clicked,
}
# What changes in a query, by which factor, and in which share of its outlines.
CHANGES = {
    "nothing": {},
    "size × 1.14": {"size": 1.14},
    "elongation × 1.13": {"elongation": 1.13},
    "spread of size × 1.5": {"spread": 1.5},
    "roughness × 1.2": {"roughness": 1.2},
    "coarse form × 1.25": {"coarse form": 1.25},
    "finer waves": {"waves": (9, 16)},
    "all by 1.06 to 1.1": {"size": 1.08, "elongation": 1.06, "roughness": 1.1, "coarse form": 1.1},
    "roughness × 1.6 in a third": {"roughness": 1.6, "part": 1 / 3},
    "size × 1.4 in a third": {"size": 1.4, "part": 1 / 3},
    "coarse form × 1.9 in a third": {"coarse form": 1.9, "part": 1 / 3},
}


@cache
def placeholder(name):
    """An image whose outlines are measured elsewhere."""
    return Ensemble([[(0, 0), (0, 1), (1 + int(name), 1)]], name=name)


def stand_in(parts):
    """Images of descriptors, which `Reference` uses in place of measuring outlines."""
    found = {str(place): Measured(one[:, FORM:DESCRIBED], one[:, :FORM], np.inf) for place, one in enumerate(parts)}
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
        (law, numbers, plan) for plan in PLANS for law in args.laws for numbers in NUMBERS.items()
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


def rivals(reference, query):
    """Statistics of what an engineer would use: the larger, the more unlike the query is.

    The largest z-score of the means of six features over the images; and of the share of outlines of which any feature
    is more than two standard deviations from the mean of all.
    """
    means = np.array([one[:, DESCRIBED:].mean(axis=0) for one in [*reference, query]])
    every = np.concatenate([one[:, DESCRIBED:] for one in reference])
    centre, spread = every.mean(axis=0), every.std(axis=0)
    parts = [(np.abs((one[:, DESCRIBED:] - centre) / spread) > 2).any(axis=1).mean() for one in [*reference, query]]
    found = {}
    for name, values in (("means", means), ("shares", np.array(parts)[:, None])):
        usual = np.maximum(values[:-1].std(axis=0, ddof=1), 1e-9)
        found[name] = float((np.abs(values[-1] - values[:-1].mean(axis=0)) / usual).max())
    return found


def power(data, draw, args, n):
    """Share of queries of each kind that are flagged, by `Reference` and by rivals.

    `draw` returns the images of a reference, and queries by kind, of which the first is one more image of the kind.
    Tests of means are at their nominal level (t-tests with Holm's correction), and at the false alarms that `Reference`
    has by design, which is the quantile of their statistic over the repetitions without a difference.
    """
    rng, hits, statistics = np.random.default_rng([args.seed, n]), {}, {}
    level = int(LEVEL * (n + 1) + 1e-9) / (n + 1) or 1 / (n + 1)
    for _ in range(args.repetitions):
        reference, queries = draw(rng)
        table = judged(reference, [*queries.values()], max(LEVEL, level))
        for (kind, query), row in zip(queries.items(), table.to_dict("records"), strict=True):
            for name, column in (("Reference", "p"), ("form", "p_form"), ("scale", "p_scale")):
                hits.setdefault((kind, name), []).append(row[column] <= max(LEVEL, level) + 1e-9)
            for name, value in rivals(reference, query).items():
                statistics.setdefault((kind, name), []).append(value)
    usual, rows = next(iter(queries)), []
    least = {name: np.quantile(statistics[usual, name], 1 - level) for name in ("means", "shares")}
    t = stats.t.isf(level / 12, n - 1) * (1 + 1 / n) ** 0.5
    for kind in queries:
        found = {name: np.mean(hits[kind, name]) for name in ("Reference", "form", "scale")}
        found["t-tests, Holm"] = np.mean(np.array(statistics[kind, "means"]) > t)
        found |= {f"{name}, equal alarms": np.mean(np.array(statistics[kind, name]) > least[name]) for name in least}
        cells = {name: round(float(value), 3) for name, value in found.items()}
        rows.append(printed(data=data, query=kind, repetitions=args.repetitions, **cells))
    return rows


def described(ensemble, **settings):
    """Descriptors of form and of scale, and the logarithms of six features, of the outlines of an ensemble."""
    one = measure([ensemble], Settings(**settings))[0]
    return np.hstack([one.form, one.scale, np.log(ensemble.features.drop(columns="id").to_numpy())])


def swapped(rng, forms, scales):
    """As many outlines as `scales` has, with the forms of others."""
    rows = rng.choice(len(forms), len(scales), replace=len(forms) < len(scales))
    form, _ = decompose(to_landmarks(forms[rows], 500))
    _, extents = decompose(to_landmarks(scales, 500))
    return Ensemble(whiten(form) @ extents)


def real(args):
    """Power on real images."""
    rng = np.random.default_rng(args.seed)
    paths = {kind: sorted((DATA / "replicates" / "mef_nuclei").glob(f"{kind}_*.png")) for kind in ("wt", "ko")}
    traced = {kind: [extract_curves(imread(path), min_area=600) for path in some] for kind, some in paths.items()}
    traced = {kind: [field for field in some if len(field)] for kind, some in traced.items()}
    fields = {kind: [described(field) for field in some] for kind, some in traced.items()}
    wild, other = traced["wt"], [traced["ko"][place % len(traced["ko"])] for place in range(len(traced["wt"]))]
    pooled = {kind: pool(some) for kind, some in traced.items()}
    swaps = {
        "form of knock-out": [described(swapped(rng, pooled["ko"], field)) for field in wild],
        "form of wild type": [described(swapped(rng, pooled["wt"], field)) for field in wild],
        "scale of knock-out": [described(swapped(rng, pooled["wt"], field)) for field in other],
    }

    def nuclei(n):
        def draw(rng):
            order = rng.permutation(len(fields["wt"]))
            held, unlike = order[-1], fields["ko"][rng.integers(len(fields["ko"]))]
            queries = {"held out": fields["wt"][held], "knock-out": unlike}
            return [fields["wt"][place] for place in order[:n]], queries | {
                name: some[held] for name, some in swaps.items()
            }

        return draw

    with np.load(DATA / "replicates" / "hearts.npz") as data:
        every = described(Ensemble(np.split(data["xy"], data["offsets"][1:-1])))
        persons = {person: every[data["person"] == person] for person in np.unique(data["person"]).tolist()}

    def hearts(rng):
        order = rng.permutation(list(persons))
        images = [persons[one][rows] for one in order[:4] for rows in np.split(rng.permutation(30), 5)]
        images = [images[place] for place in rng.permutation(len(images))]
        return images[:-1], {"held out": images[-1], "another person": persons[order[4]][rng.permutation(30)[:6]]}

    with np.load(DATA / "replicates" / "vertebrae.npz") as data:
        every = described(Ensemble(np.split(data["xy"], data["offsets"][1:-1])))
        bones = {group: every[data["group"] == group] for group in "cls"}

    def vertebrae(rng):
        *usual, held = (bones["c"][[row]] for row in rng.permutation(30)[:26])
        unlike = {name: bones[name[0]][rng.integers(len(bones[name[0]]), size=1)] for name in ("large", "small")}
        return usual, {"held out": held} | unlike

    with np.load(DATA / "osteosarcoma_cells" / "cells.npz") as data:
        cells, label = np.split(data["xy"], data["offsets"][1:-1]), 3 * data["cell_line"] + data["treatment"]
    groups = {place: described(Ensemble([cells[row] for row in np.flatnonzero(label == place)])) for place in range(6)}
    cells = {"another line": groups[3], "jasplakinolide": groups[1], "cytochalasin": groups[2]}
    with np.load(DATA / "ampis_powder" / "polygons.npz") as data:
        polygons, label = np.split(data["xy"], data["offsets"][1:-1]), 2 * data["image"] + data["kind"]
    powder = [described(Ensemble([polygons[row] for row in np.flatnonzero(label == place)])) for place in range(4)]
    steel = {
        hours: [
            described(extract_curves(imread(path) > 0, min_area=60))
            for path in sorted((DATA / "uhcs_spheroidite").glob(f"800C-{hours}H-*_mask.png"))
        ]
        for hours in (24, 85)
    }
    ages = {f"micrograph {place} of 85 h": one for place, one in enumerate(steel[85], 1)}
    with np.load(DATA / "paper" / "battery_curves.npz") as data:
        battery = [
            described(Ensemble(np.split(data[f"{name}_sigma5_xy"], data[f"{name}_sigma5_offsets"][1:-1])))
            for name in ("new", "old")
        ]
    fields_and_satellites = {"another field": powder[0], "satellites": powder[3]}
    return [
        *(row for n in (10, 20) for row in power(f"nuclei, {n} fields", nuclei(n), args, n)),
        *power("hearts, 4 persons, 19 images", hearts, args, 19),
        *power("vertebrae, 25 images of one bone", vertebrae, args, 25),
        *power("cells, 19 images", parts(groups[0], cells, 19), args, 19),
        *power("powder, 19 images", parts(powder[2], fields_and_satellites, 19), args, 19),
        *power("steel at 24 h, 19 images", parts(np.concatenate(steel[24]), ages, 19), args, 19),
        *power("battery particles, 40 images", parts(battery[0], {"cycled": battery[1]}, 40), args, 40),
    ]


def pool(images):
    """All outlines of some images."""
    return Ensemble([curve for image in images for curve in image.curves])


def parts(usual, others, n):
    """A function for `power` that draws images from pools, of 5 to 50 outlines if the pool of usual ones has enough."""

    def draw(rng):
        ends = np.cumsum(rng.integers(5, 51, n + 1))
        ends = np.maximum(ends * min(len(usual) / ends[-1], 1), 3 * np.arange(1, n + 2)).astype(int)
        images = np.split(rng.permutation(usual), ends)[:-1]
        count = len(images[-1])
        queries = {name: one[rng.permutation(len(one))[:count]] for name, one in others.items()}
        return images[:-1], {"held out": images[-1]} | queries

    return draw


@cache
def population(kind):
    """Outlines of images in 40 states, described: (40, 120, …)."""
    change, states, found = dict(CHANGES[kind]), np.random.default_rng(7), []
    part, rng = change.pop("part", 1), np.random.default_rng(sum(map(ord, kind)))
    for _ in range(40):
        rough, coarse, elongated, varied, large = np.exp(states.normal(0, [0.08, 0.06, 0.03, 0.1, 0.04]))
        for count, own in ((round(120 * part), change), (120 - round(120 * part), {})):
            factor = defaultdict(lambda: 1, own)
            forms = draw_forms(
                rng,
                count,
                roughness=0.05 * rough * factor["roughness"],
                coarse=0.075 * coarse * factor["coarse form"],
                waves=own.get("waves", (8, 14)),
                vertices=128,
            )
            scales = draw_scales(
                rng,
                count,
                size=10 * large * factor["size"],
                spread=0.2 * varied * factor["spread"],
                elongation=(1 + 0.3 * elongated) * factor["elongation"],
            )
            found.append(forms @ scales)
    return described(Ensemble(np.concatenate(found)), landmarks=200).reshape(40, 120, -1)


def made(args):
    """Power on made outlines: images of 5 to 50, which differ in size, elongation, coarse form and roughness."""

    def image(rng, kind):
        states = population(kind)
        return rng.permutation(states[rng.integers(len(states))])[: rng.integers(5, 51)]

    def draw(n):
        return lambda rng: (
            [image(rng, "nothing") for _ in range(n)],
            {kind: image(rng, kind) for kind in CHANGES},
        )

    return [row for n in args.images for row in power(f"made, {n} images", draw(n), args, n)]


def days(args):
    """Share flagged of images of a day of the reference, of another day, and of another kind."""
    rows = []
    for count, each in ((1, 20), (5, 4), (20, 1)):
        rng, hits = np.random.default_rng(args.seed), np.zeros(3)
        for _ in range(args.repetitions):
            shifts = rng.normal(0, 0.5, (count + 1, 13))
            reference = [drawn(rng, "normal", 15, shifts[day]) for day in range(count) for _ in range(each)]
            queries = [drawn(rng, "normal", 15, shift) for shift in (shifts[0], shifts[-1], shifts[-1] + 1.5)]
            hits += judged(reference, queries)["p"] <= LEVEL + 1e-9
        same, another, unlike = (hits / args.repetitions).round(3).tolist()
        rows.append(printed(days=count, images_of_each=each, same_day=same, another_day=another, unlike=unlike))
    return rows


def discoveries(args):
    """False discovery rate over 40 queries of which some are unlike, and the share of these that is found."""
    rows = []
    for law, number in ((law, number) for law in args.laws for number in (0, 4, 20)):
        rng, false, found = np.random.default_rng([args.seed, number]), [], []
        for _ in range(args.repetitions):
            reference = [drawn(rng, law, int(rng.integers(5, 51))) for _ in range(100)]
            queries = [drawn(rng, law, int(rng.integers(5, 51)), 1.0 * (place < number)) for place in range(40)]
            images = stand_in([*reference, *queries])
            table = Reference(images[:100], significance=LEVEL).judge(images[100:], correction="fdr")
            flagged = (table["p_adjusted"] <= LEVEL + 1e-9).to_numpy()
            false.append(flagged[number:].sum() / max(flagged.sum(), 1))
            found.append(flagged[:number].mean() if number else 0.0)
        rate, error = float(np.mean(false)), float(np.std(false) / args.repetitions**0.5)
        of_unlike = f"{np.mean(found):.2f}" if number else "–"
        rows.append(printed(law=law, unlike=number, false_discoveries=f"{rate:.3f} ± {error:.3f}", found=of_unlike))
    return rows


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


def acquired(args):
    """Share flagged of images of one law, and of a rougher one, acquired as the reference was, or otherwise.

    Each reference of 20 traced images, and each of images acquired as the queries are, judges five of both.
    """
    rng, hits = np.random.default_rng(args.seed), defaultdict(list)

    def image(roughness):
        across = 40 * np.exp(0.04 * rng.normal())
        return ellipses(rng, int(rng.integers(8, 21)), across, roughness * np.exp(0.08 * rng.normal()))

    for _ in range(args.repetitions):
        usual, queries = [image(0.12) for _ in range(20)], [image(0.12 if place < 5 else 0.16) for place in range(10)]
        of_traced = Reference([traced(curves) for curves in usual], Settings(landmarks=200))
        for way, acquire in WAYS.items():
            of_equal = Reference([acquire(curves) for curves in usual], of_traced.settings)
            own = [acquire(query) for query in queries]
            for name, reference in (("", of_traced), (", equal", of_equal)):
                flagged = (reference.judge(own)["p"] <= LEVEL + 1e-9).to_numpy()
                hits[way, f"one more{name}"].append(flagged[:5].mean())
                hits[way, f"rougher{name}"].append(flagged[5:].mean())
    rows = {way: {} for way in WAYS}
    for (way, name), shares in hits.items():
        rows[way][name] = round(float(np.mean(shares)), 3)
    return [printed(acquired=way, **cells) for way, cells in rows.items()]


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
    parser = parser_of(__doc__, repetitions=500, seed=0)
    parser.add_argument("what", choices=("levels", "real", "made", "days", "discoveries", "chart", "acquired", "cost"))
    parser.add_argument("--laws", choices=LAWS, nargs="+", default=[*LAWS])
    parser.add_argument("--images", type=int, nargs="+", default=[10, 20, 40, 100])
    args = parser.parse_args()
    record(args.out, **{args.what: globals()[args.what](args)})


if __name__ == "__main__":
    main()
