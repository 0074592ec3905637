"""Measures the results of docs/evidence/paper.md, from the paper's data in ../shared/data.

Run as ``python benchmarks/landscape.py [paper] [carried] [battery] [smoothing] [pictures]``; by default, all but the
pictures. Results are stored in docs/results/studies.json, from which `tools/write_docs.py` makes the tables.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from skimage.io import imread

from napari_shape_ensembles import Ensemble, Settings, compare, decision_landscape, smoothing_study
from results_file import DATA

ROOT = Path(__file__).resolve().parents[1]
PAPER = DATA / "paper"
GRAINS = PAPER / "pil184_grains.npz"
RESULTS = ROOT / "docs" / "results" / "studies.json"
RANKS = [*range(4, 26), 30, 35, 40, 50, 75, 100, 125, 150, 175, *range(200, 451, 50), 500, 600, 700, 800, 900]
LANDMARKS = range(100, 851, 75)
NARROW = replace(Settings.paper(), bandwidth=0.6)


def grains(key, stretch=(1, 1)):
    """Outlines of one half of the map as (row, column), in steps of the map."""
    data = np.load(GRAINS)
    factor, *origin = data[f"{key}_to_steps"]
    vertices = (data[f"{key}_xy"] * factor + origin)[:, ::-1] * stretch
    return Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1]), name=key)


def pairs():
    """Pairs of halves of the map, which `tools/write_docs.py` compares with the defaults and the paper's settings."""
    return {
        "smooth, smooth": (grains("hlf1_smooth5"), grains("hlf2_smooth5")),
        "noisy, smooth": (grains("hlf1_noisy"), grains("hlf2_smooth5")),
        "smooth, stretched": (grains("hlf1_smooth5"), grains("hlf2_smooth5", (1.4, 1 / 1.4))),
    }


def noisy_and_smooth():
    """The same 466 grains before and after smoothing."""
    return grains("hlf1_noisy"), grains("hlf1_smooth5")


def table_of(file):
    """A table of numbers of the paper."""
    return np.genfromtxt(PAPER / file, delimiter=",", names=True)


def paper_landscape():
    """MMD of each rank, averaged over landmark counts and compared with the paper, and numbers of rejections."""
    paper = table_of("landscape_registered_unnormalised.csv")
    pair = noisy_and_smooth()
    kinds = {"paper": Settings.paper(), "narrow": NARROW, "defaults": Settings()}
    landscapes = {
        name: decision_landscape(*pair, ranks=RANKS, landmarks=LANDMARKS, settings=settings)
        for name, settings in kinds.items()
    }
    rows = []
    for j, rank in enumerate(RANKS):
        theirs = paper[paper["r"] == rank]
        row = {"rank": rank, "published": [float(theirs["mmd"].mean()), int(theirs["reject"].sum()), len(theirs)]}
        for name, landscape in landscapes.items():
            test, cells = landscape.undulation, landscape.undulation.computed[:, j]
            row[name] = [float(test.mean_mmd[j]), int(test.rejected[cells, j].sum()), int(cells.sum())]
        rows.append(row)
    means = np.array([[row[name][0] for row in rows] for name in ("published", "paper")])
    return {"rows": rows, "correlation": float(np.corrcoef(means)[0, 1])}


def carried():
    """MMD of the 466 pairs of grains, and extrapolated to the paper's 933, by kernel width.

    The biased MMD² exceeds that of the population by (1/m + 1/n)(1 - k), with the mean kernel k between two curves.
    """
    result = compare(*noisy_and_smooth(), Settings.paper())
    points, m = result.t, len(result.a)
    distances = cdist(points, points)
    median = np.median(distances[np.triu_indices(len(points), 1)])
    weights = np.where(np.arange(len(points)) < m, 1 / m, -1 / (len(points) - m))
    found = {}
    for factor in (1.0, 0.71, 0.6, 0.5):
        kernel = np.exp(-(distances**2) / (2 * (factor * median) ** 2))
        squared = weights @ kernel @ weights
        apart = 1 - kernel[np.triu_indices(len(points), 1)].mean()
        found[f"{factor:g}"] = float(np.sqrt(max(squared - 2 / m * apart, 0) + 2 / 933 * apart))
    return found


def battery(sigma, name):
    """Outlines of one image as published, in pixels."""
    data = np.load(PAPER / "battery_curves.npz")
    key = f"{name}_sigma{sigma}"
    vertices = data[f"{key}_xy"][:, ::-1].astype(float)
    return Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1]), name=name)


def batteries():
    """Battery outlines at sigma 5 and 15 on the paper's grid, compared with its decisions."""
    study, rows = table_of("battery_study_by_sigma.csv"), []
    for sigma in (5, 15):
        theirs = study[study["sigma"] == sigma][0]
        row = {
            "sigma": sigma,
            "published": {
                "curves": [int(theirs["n_new"]), int(theirs["n_used"])],
                "undulation": float(theirs["fraction_reject"]),
                "mmd": float(theirs["mean_mmd"]),
            },
        }
        pair = battery(sigma, "new"), battery(sigma, "old")
        for kind, settings in (("defaults", Settings()), ("paper", Settings.paper()), ("narrow", NARROW)):
            landscape = decision_landscape(*pair, ranks=range(5, 101, 5), landmarks=(100, 500, 1000), settings=settings)
            row[kind] = {
                "curves": list(landscape.sizes),
                "undulation": float(landscape.undulation.rejected.mean()),
                "mmd": float(landscape.undulation.mmd.mean()),
                "scale": float(landscape.scale.rejected.mean()),
                "case": compare(*pair, replace(settings, rank=50)).case,
            }
        rows.append(row)
    return rows


def smoothing():
    """Smoothing study of the published battery masks, those at sigma 5, smoothed further as a whole."""
    masks = [imread(PAPER / f"battery_{name}_mask_sigma5.png") > 0 for name in ("new", "old")]
    return smoothing_study(*masks, sigmas=range(9), ranks=range(10, 101, 10), landmarks=(100, 250, 500))


def smoothed():
    """The study as a table, and its recommendation."""
    study = smoothing()
    table = study.table().drop(columns="reason")
    return {"rows": json.loads(table.to_json(orient="records")), "summary": study.summary()}


# Tables of docs/evidence/paper.md

KINDS = {"defaults": "defaults", "paper": "`Settings.paper()`", "narrow": "with `bandwidth=0.6`"}
SHOWN_RANKS = (4, 6, 8, 10, 15, 20, 21, 25, 50, 100, 150, 300, 500, 900)


def table(heading, rows):
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heading, ["---"] * len(heading), *rows))


def paper_table(found):
    """Means over the landmark counts, and numbers of rejections."""
    heading = ["rank", "paper, N = 933 + 933", f"{KINDS['paper']}, 466 + 466", f"the same {KINDS['narrow']}"]
    rows = [
        [str(row["rank"]), *("{:.4f}, {} of {}".format(*row[name]) for name in ("published", "paper", "narrow"))]
        for row in found["paper"]["rows"]
        if row["rank"] in SHOWN_RANKS
    ]
    return table(heading, rows)


def paper_words(found):
    """The landscapes of the grains compared with the paper."""
    rows, carried = found["paper"]["rows"], found["carried"]
    most = {name: sum(row[name][1] for row in rows) for name in ("paper", "narrow", "defaults")}
    cells = sum(row["defaults"][2] for row in rows)
    first = {
        name: next((row["rank"] for row in rows if row[name][1] > row[name][2] / 2), None)
        for name in ("published", "paper", "narrow")
    }
    return (
        f"The correlation over the {len(rows)} ranks is {found['paper']['correlation']:.3f}. Carried from 466 to 933 "
        "curves a side (the biased MMD² has a floor of (1/m + 1/n)(1 − k̄)), MMD at r = 150, n = 500 would be "
        f"{carried['1']:.3f} at s = median, {carried['0.71']:.3f} at 0.71 and {carried['0.6']:.3f} at 0.6 of it; the "
        f"paper has {next(row['published'][0] for row in rows if row['rank'] == 150):.4f}. The paper's test rejects at "
        f"most landmark counts from r = {first['published']} on; with `bandwidth=0.6` that is so from "
        f"r = {first['narrow']} on. At s = median {most['paper']} of {cells} cells reject, at the defaults "
        f"{most['defaults']}."
    )


def battery_table(found):
    """The battery outlines at two levels of smoothing."""
    rows = []
    for row in found["battery"]:
        cells = [str(row["sigma"])]
        for name in ("published", *KINDS):
            one = row[name]
            text = f"{one['undulation']:.0%}, MMD {one['mmd']:.4f} ({one['curves'][0]} + {one['curves'][1]} curves)"
            if "case" in one:
                text += f"; scale {one['scale']:.0%}; r = 50, n = 500: `{one['case']}`"
            cells.append(text)
        rows.append(cells)
    return table(["σ", "paper, three pairs", "defaults, one pair", *list(KINDS.values())[1:]], rows)


def smoothing_table(found):
    """The published masks, smoothed further."""
    heading = ["further σ (px)", "curves", "mean MMD", "undulation rejects", "scale rejects", "mean ambiguity (range)"]
    rows = [
        [
            f"{one['sigma']:g}",
            f"{one['curves_a']:.0f} + {one['curves_b']:.0f}",
            f"{one['mean_mmd']:.4f}",
            f"{one['share_rejected']:.0%}",
            f"{one['scale_share_rejected']:.0%}",
            f"{one['mean_ambiguity']:.2f} ({one['least_ambiguity']:.2f} to {one['largest_ambiguity']:.2f})",
        ]
        for one in found["smoothing"]["rows"]
    ]
    return table(heading, rows) + f"\n\n> {found['smoothing']['summary']}"


def save_pictures():
    """Save the figures of the documentation."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from napari_shape_ensembles.studies.figures import plot_landscape, plot_study

    landscape = decision_landscape(*noisy_and_smooth(), ranks=RANKS, landmarks=LANDMARKS, settings=NARROW)
    for name, plot, result in (("landscape", plot_landscape, landscape), ("smoothing", plot_study, smoothing())):
        figure = plt.figure(figsize=(7, 9), layout="constrained")
        plot(result, figure)
        figure.savefig(ROOT / "docs" / "images" / f"{name}.png", dpi=90)


def main():
    """Run the requested measurements, and merge them into the stored results."""
    parts = {
        "paper": paper_landscape,
        "carried": carried,
        "battery": batteries,
        "smoothing": smoothed,
    }
    chosen = sys.argv[1:] or list(parts)
    if "pictures" in chosen:
        save_pictures()
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in (name for name in chosen if name != "pictures"):
        known[name] = parts[name]()
        print(name, json.dumps(known[name], indent=1, ensure_ascii=False), flush=True)
        RESULTS.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
