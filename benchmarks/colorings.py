"""How well colorings show planted faults, and how they agree with the paper's, as in docs/explanations.md.

python benchmarks/colorings.py [--seeds 3] [--out docs/results/colorings.json]

In six real sets of ../shared/data 6 % of the outlines get a fault: merged with another, a bite, a spike, half or
double size, or one half shifted. AUC: the probability that a fault ranks above another outline. Then the rank
correlation with the colors of the paper's own figure of 933 grains.
"""

import argparse
from pathlib import Path

import numpy as np
import shapely
from scipy.stats import rankdata, spearmanr
from skimage.io import imread

from napari_shape_ensembles import Ensemble, Settings, compare, extract_curves
from napari_shape_ensembles.outlines.exchange import DISTANCES, UNUSUAL
from results_file import out_option, printed, record

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
FAULTS = ("merged pair", "bite", "spike", "half size", "double size", "shift")
SHARE, MOST = 0.06, 240


def saved(path, prefix="", chosen=None):
    """Curves of a file, possibly some of them."""
    data = np.load(SHARED / path)
    curves = np.split(data[f"{prefix}xy"][:, ::-1].astype(float), data[f"{prefix}offsets"][1:-1])
    if chosen is None:
        return curves
    return [curves[i] for i in np.flatnonzero(np.all([data[name] == value for name, value in chosen.items()], axis=0))]


def grains(key):
    """Outlines of one half of the paper's map, in steps of the map."""
    data = np.load(SHARED / "paper" / "pil184_grains.npz")
    factor, *origin = data[f"{key}_to_steps"]
    return [(curve[:, ::-1] * factor + origin)[:, ::-1] for curve in saved("paper/pil184_grains.npz", f"{key}_")]


def traced(path, least=0):
    """Curves of labels or a mask."""
    found = extract_curves(imread(SHARED / path))
    return [curve for curve, area in zip(found.curves, found.features["area"], strict=True) if area > least]


SETS = {
    "grains": lambda: grains("hlf1_smooth5"),
    "powder": lambda: [
        curve
        for curve in saved("ampis_powder/polygons.npz", chosen={"image": 1, "kind": 0})
        if len(curve) > 7 and curve.min() > 1 and (curve.max(axis=0) < (1022, 1534)).all()
    ],
    "nuclei": lambda: traced("dsb_nuclei/labels.png"),
    "cells": lambda: saved("osteosarcoma_cells/cells.npz", chosen={"cell_line": 0, "treatment": 0}),
    "carbides": lambda: traced("uhcs_spheroidite/800C-24H-Q-2_mask.png", least=100),
    "hearts": lambda: saved("replicates/hearts.npz"),
}


def with_fault(kind, curve, other, rng):
    """Insert a fault into a curve."""
    shape = shapely.make_valid(shapely.Polygon(curve)).buffer(0)
    shape = max(getattr(shape, "geoms", [shape]), key=lambda part: part.area)
    radius, middle = np.sqrt(shape.area / np.pi), np.asarray(shape.centroid.coords)[0]
    ring = np.asarray(shape.exterior.coords)[:-1]
    place, angle = ring[rng.integers(len(ring))], rng.uniform(0, 2 * np.pi)
    if kind in ("half size", "double size"):
        return middle + (curve - middle) * (0.5 if kind == "half size" else 2)
    if kind == "shift":
        found = np.asarray(shape.segmentize(radius / 10).exterior.coords)[:-1].copy()
        found[found[:, 0] > middle[0], 1] += 0.4 * radius
        return found
    if kind == "bite":
        found = shape.difference(shapely.Point(place).buffer(0.5 * radius))
    elif kind == "spike":
        along = (place - middle) / np.linalg.norm(place - middle)
        base, beside = place - 0.3 * radius * along, 0.15 * radius * np.array([-along[1], along[0]])
        found = shape.union(shapely.Polygon([base + beside, place + 0.8 * radius * along, base - beside]))
    else:
        second, along = shapely.Polygon(other).buffer(0), np.array([np.cos(angle), np.sin(angle)])
        points, center = shapely.get_coordinates(second), np.asarray(second.centroid.coords)[0]
        apart = ((ring - middle) @ along).max() + ((center - points) @ along).max()
        moved = middle + 0.9 * apart * along - center
        found = shape.union(shapely.transform(second, lambda one: one + moved))
        found = found.buffer(0.05 * radius).buffer(-0.05 * radius)
    found = max(getattr(found, "geoms", [found]), key=lambda part: part.area)
    return np.asarray(found.exterior.coords)[:-1]


def planted(name, seed):
    """Up to 240 curves of a set in random order, of which 6 % have a fault; and the kind of each, if any."""
    rng, every = np.random.default_rng(seed), SETS[name]()
    curves = [every[i] for i in rng.permutation(len(every))[:MOST]]
    count = max(round(SHARE * len(curves) / len(FAULTS)), 1) * len(FAULTS)
    kinds, found = np.full(len(curves), "", dtype=object), list(curves)
    for place, row in enumerate(rng.choice(len(curves), count, replace=False)):
        kinds[row] = FAULTS[place % len(FAULTS)]
        found[row] = with_fault(kinds[row], curves[row], curves[rng.integers(len(curves))], rng)
    return found, kinds


def area_under(values, faulty):
    """AUC of values for faulty outlines."""
    ranks, count = rankdata(values), np.count_nonzero(faulty)
    return (ranks[faulty].sum() - count * (count + 1) / 2) / (count * np.count_nonzero(~faulty))


def faults(seeds):
    """AUC of every coloring in every set, and for every fault, over all sets."""
    found = {}
    for name in SETS:
        for seed in range(seeds):
            curves, kinds = planted(name, 1000 + seed)
            first = len(curves) // 2
            pair = Ensemble(curves[:first], name="a"), Ensemble(curves[first:], name="b")
            table = compare(*pair, landmarks=200, rank=50, permutations=19, overrule=True).outlines
            for column in (*DISTANCES, *UNUSUAL):
                values = table[column].to_numpy()
                own = found.setdefault(column, {})
                own.setdefault(name, []).append(area_under(values, kinds != ""))
                for kind in FAULTS:
                    kept = (kinds == kind) | (kinds == "")
                    own.setdefault(kind, []).append(area_under(values[kept], (kinds == kind)[kept]))
    rows = []
    for column, areas in found.items():
        means = {name: float(np.mean(own)) for name, own in areas.items()}
        whole = np.mean([means[name] for name in SETS])
        each = {name: f"{means[name]:.2f}" for name in (*SETS, *FAULTS)}
        rows.append(printed(coloring=column, all=f"{whole:.3f}", **each))
    return rows


def correlations():
    """Rank correlation of the colorings of the paper's grains with its colors, by its settings and the defaults."""
    data, rows = np.load(SHARED / "paper" / "pil184_grains.npz"), []
    for key in ("hlf1_smooth5", "hlf1_noisy"):
        colors = np.concatenate([data[f"{one}_colour_value"] for one in (key, "hlf2_smooth5")])
        pair = Ensemble(grains(key), name="a"), Ensemble(grains("hlf2_smooth5"), name="b")
        for name, settings in (("paper", Settings.paper), ("default", Settings)):
            table = compare(*pair, settings(permutations=19, overrule=True)).outlines
            own = {column: f"{spearmanr(table[column], colors)[0]:.3f}" for column in (*DISTANCES, *UNUSUAL)}
            rows.append(printed(grains=key, settings=name, **own))
    return rows


def main():
    """Print both tables, and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="draws of faults for every set")
    out_option(parser)
    chosen = parser.parse_args()
    record(chosen.out, faults=faults(chosen.seeds), correlations=correlations())


if __name__ == "__main__":
    main()
