"""Prints the figures of docs/studies.md, from the paper's data in ../shared/data.

Run as ``python benchmarks/landscape.py [time] [paper] [carried] [battery] [smoothing] [pictures]``; without a word, all
but the pictures.
"""

import os
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from skimage.io import imread

from napari_shape_ensembles import Ensemble, Settings, compare, decision_landscape, reporting, smoothing_study
from paper_settings import grains

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT.parent / "shared" / "data" / "paper"
RANKS = [*range(4, 26), 30, 35, 40, 50, 75, 100, 125, 150, 175, *range(200, 451, 50), 500, 600, 700, 800, 900]
LANDMARKS = range(100, 851, 75)
NARROW = replace(Settings.paper(), bandwidth=0.6)


def noisy_and_smooth():
    """The same 466 grains before and after smoothing."""
    return grains("hlf1_noisy"), grains("hlf1_smooth5")


def print_times():
    """Seconds, memory, and the longest wait for a sign that a run could be cancelled."""
    pair = noisy_and_smooth()
    for name, settings in (("defaults", Settings()), ("paper", Settings.paper())):
        asked, before = [time.perf_counter()], time.process_time()
        with reporting(stop=lambda asked=asked: asked.append(time.perf_counter())):
            found = decision_landscape(*pair, ranks=RANKS, landmarks=LANDMARKS, settings=settings)
        asked.append(time.perf_counter())
        print(
            f"{name:9s} {found.feasible.sum()} cells of {len(RANKS)} ranks x {len(LANDMARKS)} landmark counts, B = "
            f"{settings.permutations}: {asked[-1] - asked[0]:.0f} s ({time.process_time() - before:.0f} s of processor "
            f"time), longest block {np.diff(asked).max():.2f} s, peak {peak():.2f} GiB, load {os.getloadavg()[0]:.1f}"
        )


def peak():
    """Largest memory of this process so far, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def table_of(file):
    """A table of the paper's numbers."""
    return np.genfromtxt(PAPER / file, delimiter=",", names=True)


def print_paper_landscape():
    """MMD of each rank, averaged over landmark counts, beside the paper's."""
    paper = table_of("landscape_registered_unnormalised.csv")
    pair = noisy_and_smooth()
    kinds = {"s = median": Settings.paper(), "s = 0.6 median": NARROW}
    found = {
        name: decision_landscape(*pair, ranks=RANKS, landmarks=LANDMARKS, settings=settings)
        for name, settings in kinds.items()
    }
    print(f"{'rank':>5s} {'paper':>8s} " + " ".join(f"{name:>24s}" for name in found))
    for j, rank in enumerate(RANKS):
        theirs = paper[paper["r"] == rank]
        line = f"{rank:5d} {theirs['mmd'].mean():8.4f} {int(theirs['reject'].sum()):3d}/{len(theirs):<3d}"
        for landscape in found.values():
            test = landscape.undulation
            cells = test.computed[:, j]
            line += f" {test.mean_mmd[j]:12.4f} {test.rejected[cells, j].sum():4d}/{cells.sum():<4d}"
        print(line)
    theirs = np.array([paper["mmd"][paper["r"] == rank].mean() for rank in RANKS])
    for name, landscape in found.items():
        mean = landscape.undulation.mean_mmd
        print(f"{name}: correlation with the paper's over the ranks {np.corrcoef(mean, theirs)[0, 1]:.4f}")


def print_carried():
    """MMD of the 466 pairs of grains, and what it would be for the paper's 933, by the width of the kernel.

    The biased MMD² lies above the population's by (1/m + 1/n)(1 - k), k being the mean kernel between two curves.
    """
    result = compare(*noisy_and_smooth(), Settings.paper())
    points, m = result.t, len(result.a)
    distances = cdist(points, points)
    median = np.median(distances[np.triu_indices(len(points), 1)])
    weights = np.where(np.arange(len(points)) < m, 1 / m, -1 / (len(points) - m))
    for factor in (1.0, 0.707, 0.6, 0.5):
        kernel = np.exp(-(distances**2) / (2 * (factor * median) ** 2))
        squared = weights @ kernel @ weights
        apart = 1 - kernel[np.triu_indices(len(points), 1)].mean()
        carried = np.sqrt(max(squared - 2 / m * apart, 0) + 2 / 933 * apart)
        print(
            f"s = {factor:5.3f} median: MMD {np.sqrt(squared):.4f} of 466 and 466, {carried:.4f} carried to 933 and 933"
        )


def battery(sigma, name):
    """Outlines of one image as published, in pixels."""
    data = np.load(PAPER / "battery_curves.npz")
    key = f"{name}_sigma{sigma}"
    vertices = data[f"{key}_xy"][:, ::-1].astype(float)
    return Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1]), name=name)


def print_battery():
    """Battery outlines at sigma 5 and 15 over the paper's own grid, beside the paper's decisions."""
    study = table_of("battery_study_by_sigma.csv")
    for sigma in (5, 15):
        theirs = study[study["sigma"] == sigma][0]
        print(
            f"sigma {sigma:2d}  paper, 3 image pairs: {theirs['n_new']:.0f} and {theirs['n_used']:.0f} curves, "
            f"rejects in {theirs['fraction_reject']:.0%}, MMD {theirs['mean_mmd']:.4f}"
        )
        pair = battery(sigma, "new"), battery(sigma, "old")
        for kind, settings in (("defaults", Settings()), ("paper", Settings.paper()), ("paper, s = 0.6", NARROW)):
            landscape = decision_landscape(*pair, ranks=range(5, 101, 5), landmarks=(100, 500, 1000), settings=settings)
            und, scale = landscape.undulation, landscape.scale
            single = compare(*pair, replace(settings, rank=50))
            print(
                f"          {kind:15s} 1 pair: {landscape.sizes[0]} and {landscape.sizes[1]} curves, rejects in "
                f"{und.rejected.mean():.0%}, MMD {und.mmd.mean():.4f}, threshold {und.threshold.mean():.4f}; scale "
                f"rejects in {scale.rejected.mean():.0%}; r = 50, n = 500: {single.case}, p = "
                f"{single.undulation.p_value:.4f} and {single.scale.p_value:.4f}"
            )


def smoothing():
    """Sweep of the battery masks that were published, those at sigma 5, smoothed further as a whole."""
    masks = [imread(PAPER / f"battery_{name}_mask_sigma5.png") > 0 for name in ("new", "old")]
    return smoothing_study(*masks, sigmas=range(9), ranks=range(10, 101, 10), landmarks=(100, 250, 500))


def print_smoothing():
    """The sweep as a table, and what it recommends."""
    study = smoothing()
    print(study.table().drop(columns="reason").round(4).to_string(index=False))
    print(study.summary())


def save_pictures():
    """Figures of the documentation."""
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
    """Print what is asked for."""
    parts = {
        "time": print_times,
        "paper": print_paper_landscape,
        "carried": print_carried,
        "battery": print_battery,
        "smoothing": print_smoothing,
        "pictures": save_pictures,
    }
    for name in sys.argv[1:] or [name for name in parts if name != "pictures"]:
        print(f"# {name}")
        parts[name]()


if __name__ == "__main__":
    main()
