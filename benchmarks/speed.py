"""Times a comparison from vertices to row, stage by stage: median of five runs.

    python benchmarks/speed.py [--largest N] [--runs 5] [--peer] [--out docs/results/speed.json]

Stages are told in processor time, of all threads together: that is what a busy machine changes least. `--out` keeps the
table from which `tools/write_docs.py` makes that of docs/speed.md and the sentence of the README.
The outlines are star-shaped Fourier blobs of 60 to 400 vertices with noise on their harmonics, turned and started at
random; what is measured does not depend on how they differ. `--peer` times geomstats (install it first) on the same
undulations.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare

CASES = {
    "paper settings, r = 50": (2000, Settings.paper(rank=50)),
    "defaults": (2000, Settings()),
    "defaults, N of the paper's largest": (5605, Settings()),
    "defaults, N = 20 000": (20_000, Settings()),
}


def blobs(count, seed=0):
    """`count` ragged closed curves of 60 to 400 vertices, the same for the same seed."""
    rng = np.random.default_rng(seed)
    order = np.arange(2, 13)
    curves = []
    for vertices in rng.integers(60, 401, count):
        angle = np.sort(rng.uniform(0, 2 * np.pi) + np.arange(vertices) * 2 * np.pi / vertices)
        waves = rng.normal(0, 0.25, (2, len(order), 1)) / order[:, None] ** 1.3
        radius = 1 + (waves[0] * np.cos(order[:, None] * angle) + waves[1] * np.sin(order[:, None] * angle)).sum(axis=0)
        aspect, turn = np.exp(rng.normal(0, 0.25)), np.exp(1j * rng.uniform(0, 2 * np.pi))
        z = 30 * turn * radius * (aspect * np.cos(angle) + 1j * np.sin(angle) / aspect)
        curves.append(np.stack([z.real, z.imag], axis=-1))
    return curves


def samples(count):
    """Two ensembles of blobs, half of `count` each, and nothing else."""
    curves = blobs(count)
    first = Ensemble(curves[: count // 2])
    del curves[: count // 2]
    return first, Ensemble(curves)


def stages(a, b, settings):
    """Seconds of processor time of every stage of one comparison, and seconds on the clock of the whole."""
    begun = time.perf_counter()
    starts = [("checking", time.process_time())]
    compare(a, b, settings, progress=lambda step: starts.append((step.name, time.process_time())))
    ends = [start for _, start in starts[1:]] + [time.process_time()]
    taken = Counter()
    for (name, start), end in zip(starts, ends, strict=True):
        taken[name.split(",")[0]] += end - start  # a step that takes long adds how long it still will
    return taken, time.perf_counter() - begun


def peak_memory():
    """Largest memory this process has held, in GiB; None where the system does not say."""
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "linux" else 1 << 30)


def timed(count, settings, runs):
    """Medians over the runs: processor time per stage and of the whole, seconds on the clock."""
    a, b = samples(count)
    # Other random numbers in each run: the labels that a test draws are kept for the next one of the same numbers.
    tables = [stages(a, b, replace(settings, seed=seed)) for seed in range(runs)]
    medians = {name: statistics.median(table[name] for table, _ in tables) for name in tables[0][0]}
    return (
        medians,
        statistics.median(sum(table.values()) for table, _ in tables),
        statistics.median(clock for _, clock in tables),
    )


def start():
    """Print the time to import the package and that of the first comparison beside the second."""
    code = """
import time
start = time.perf_counter()
import napari_shape_ensembles as n
loaded = time.perf_counter()
import numpy as np
u = np.linspace(0, 6.2, 100)
curves = [np.stack([30 * np.cos(u), (20 + i % 7) * np.sin(u) + 5 * np.cos(2 * u + i)], axis=-1) for i in range(400)]
a, b = n.Ensemble(curves[:200]), n.Ensemble(curves[200:])
marks = [time.perf_counter()]
for _ in range(2):
    n.compare(a, b)
    marks.append(time.perf_counter())
print(loaded - start, marks[1] - marks[0], marks[2] - marks[1])
"""
    lines = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    values = np.median([[float(word) for word in line.stdout.split()] for line in lines], axis=0)
    print(f"import {values[0]:.3f} s; first comparison of 400 curves {values[1]:.2f} s, second {values[2]:.2f} s")


def peer():
    """Print the times of geomstats and ours for mean and tangent coordinates of the same few, coarse undulations."""
    os.environ["GEOMSTATS_BACKEND"] = "numpy"
    from geomstats.geometry.grassmannian import Grassmannian
    from geomstats.learning.frechet_mean import FrechetMean
    from geomstats.learning.pca import TangentPCA

    from napari_shape_ensembles import ShapeSpace, decompose, to_landmarks

    count, n = 2000, 100
    undulation, scale = decompose(to_landmarks(Ensemble(blobs(count)), n))
    space = Grassmannian(n, 2)
    begun = time.perf_counter()
    projectors = undulation @ undulation.swapaxes(1, 2)
    mean = FrechetMean(space).fit(projectors).estimate_
    TangentPCA(space).fit_transform(projectors, base_point=mean)
    theirs = time.perf_counter() - begun
    ours = []
    for _ in range(5):
        begun = time.perf_counter()
        ShapeSpace.learn(undulation, scale, count).coordinates(undulation, scale)
        ours.append(time.perf_counter() - begun)
    own = statistics.median(ours)
    print(f"\nmean and coordinates of {count} curves of {n} landmarks: geomstats {theirs:.2f} s, ours {own:.4f} s")
    print(f"  {theirs / own:.0f} times as long")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--out", type=Path, help="keep the table in this file")
    options = parser.parse_args()
    start()
    cases = []
    for name, (count, settings) in CASES.items():
        if count <= options.largest:
            parts, total, clock = timed(count, settings, options.runs if count < 10_000 else min(options.runs, 3))
            memory = peak_memory() or float("nan")
            print(f"\n{name}: N = {count}, {total:.2f} s of processor time, {clock:.2f} s on the clock")
            print(f"  largest memory so far {memory:.2f} GiB")
            print("\n".join(f"  {stage:28s} {seconds:7.3f}" for stage, seconds in parts.items()))
            cases.append(
                {"settings": name.partition(", N")[0], "count": count, "processor": total, "seconds": clock}
                | {"memory": memory, "stages": parts}
            )
    if options.out:
        about = {"machine": platform.machine(), "processors": os.cpu_count(), "python": platform.python_version()}
        options.out.write_text(json.dumps(about | {"cases": cases}, indent=1) + "\n", encoding="utf-8")
    if options.peer:
        peer()


if __name__ == "__main__":
    main()
