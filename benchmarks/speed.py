"""Times a comparison from vertices to row, stage by stage: median of five runs.

    python benchmarks/speed.py [--largest N] [--runs 5] [--out docs/results/speed.json]

Stages are in processor time over all threads, which is least affected by other load. Each case runs in a separate
process, whose peak memory is reported. `--out` stores the table, from which `tools/write_docs.py` makes that of
docs/evidence/speed.md and the sentence of the README.
The outlines are star-shaped Fourier blobs of 60 to 400 vertices with noisy harmonics, random rotation and start;
timings do not depend on their differences. Kernels are compiled beforehand. `--largest 100000` adds the largest case.
"""

import argparse
import ctypes
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import scipy.fft

from napari_shape_ensembles import Ensemble, Settings, compare

CASES = {
    "paper settings, r = 50": (2000, Settings.paper(rank=50)),
    "defaults": (2000, Settings()),
    "defaults, N of the paper's largest": (5605, Settings()),
    "defaults, N = 20 000": (20_000, Settings()),
    "defaults, N = 100 000": (100_000, Settings()),
}


def blobs(count, seed=0):
    """`count` ragged closed curves of 60 to 400 vertices, reproducible by the seed.

    Radius 1 + Σ a cos kθ + b sin kθ at equal steps of θ, stretched to an aspect ratio and rotated: Fourier series of
    few modes, so that one transform gives all vertices of a curve.
    """
    rng = np.random.default_rng(seed)
    order, sizes, drawn = np.arange(2, 13), rng.integers(60, 401, count), np.empty((count, 25))
    for row in drawn:
        row[0] = rng.random()
        rng.standard_normal(out=row[1:-1])
        row[-1] = rng.random()
    start, turn, normal = 2 * np.pi * drawn[:, 0], np.exp(2j * np.pi * drawn[:, -1]), 0.25 * drawn[:, 1:-1]
    aspect, waves = np.exp(normal[:, -1]), (normal[:, :11] - 1j * normal[:, 11:22]) / (2 * order**1.3)
    radius = np.zeros((count, 29), complex)  # modes -14 to 14
    radius[:, 14], radius[:, 14 + order], radius[:, 14 - order] = 1, waves, waves.conj()
    # Multiplication by 30 turn (aspect cos θ + i sin θ / aspect).
    with_, against = (15 * turn * (aspect + sign / aspect) for sign in (1, -1))
    modes = with_[:, None] * radius[:, :-2] + against[:, None] * radius[:, 2:]
    modes *= np.exp(1j * np.arange(-13, 14) * start[:, None])
    for vertices, mode in zip(sizes.tolist(), modes, strict=True):
        z = np.zeros(vertices, complex)
        z[-13:], z[:14] = mode[:13], mode[13:]
        yield scipy.fft.ifft(z, norm="forward", overwrite_x=True).view(float).reshape(-1, 2)


def samples(count):
    """Two ensembles of blobs, half of `count` each."""
    curves = blobs(count)
    return Ensemble(list(islice(curves, count // 2))), Ensemble(list(curves))


def stages(a, b, settings):
    """Processor seconds of every stage of one comparison, and wall time in total."""
    begun = time.perf_counter()
    starts = [("checking", time.process_time())]
    compare(a, b, settings, progress=lambda step: starts.append((step.name, time.process_time())))
    ends = [start for _, start in starts[1:]] + [time.process_time()]
    taken = Counter()
    for (name, start), end in zip(starts, ends, strict=True):
        taken[name.split(",")[0]] += end - start  # slow steps append the remaining time
    return taken, time.perf_counter() - begun


def peak_memory():
    """Peak memory of this process since `forget_peak`, in GiB; NaN if unavailable."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return int(status.partition("VmHWM:")[2].split()[0]) / (1 << 20)


def forget_peak():
    """Reset the peak memory, if possible, to exclude memory freed after generating the outlines."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def timed(name, runs):
    """Medians over the runs of a case: processor time per stage and in total, wall time, and memory."""
    count, settings = CASES[name]
    a, b = samples(count)
    forget_peak()
    # Each run has its own seed, as the labels drawn by a test are cached for the next one with the same seed.
    tables = [stages(a, b, replace(settings, seed=seed)) for seed in range(runs)]
    medians = {name: statistics.median(table[name] for table, _ in tables) for name in tables[0][0]}
    return {
        "settings": name.partition(", N")[0],
        "count": count,
        "processor": statistics.median(sum(table.values()) for table, _ in tables),
        "seconds": statistics.median(clock for _, clock in tables),
        "memory": peak_memory(),
        "stages": medians,
    }


def start():
    """Print the import time of the package, and the times of the first and the second comparison."""
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


def own_process(name, runs):
    """Run `timed` in a separate process; returns its result as text."""
    words = [sys.executable, __file__, "--case", name, "--runs", str(runs)]
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, help="keep the table in this file")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(timed(options.case, options.runs)))
        return
    # In a separate process, as compiling needs memory.
    subprocess.run([sys.executable, "-m", "napari_shape_ensembles.compiled"], check=True)
    start()
    cases = []
    for name, (count, _) in CASES.items():
        if count <= options.largest:
            runs = options.runs if count < 10_000 else min(options.runs, 3)
            case = json.loads(own_process(name, runs))
            print(f"\n{name}: N = {count}, {case['processor']:.2f} s of processor time")
            print(f"  {case['seconds']:.2f} s on the clock")
            print(f"  largest memory {case['memory']:.2f} GiB")
            print("\n".join(f"  {stage:28s} {seconds:7.3f}" for stage, seconds in case["stages"].items()))
            cases.append(case)
    if options.out and cases:
        about = {"machine": platform.machine(), "processors": os.cpu_count(), "python": platform.python_version()}
        options.out.write_text(json.dumps(about | {"cases": cases}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
