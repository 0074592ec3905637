"""Times a comparison from vertices to row, stage by stage: median of five runs.

    python benchmarks/speed.py [--largest N] [--runs 5] [--peers] [--floors] [--out docs/results/speed.json]

Stages are in processor time over all threads, which is least affected by other load. Each case runs in a separate
process, whose peak memory is reported. `--out` stores the table, from which `tools/write_docs.py` makes that of
docs/evidence/speed.md and the sentence of the README.
The outlines are star-shaped Fourier blobs of 60 to 400 vertices with noisy harmonics, random rotation and start;
timings do not depend on their differences. Kernels are compiled beforehand. `--largest 100000` adds the largest case.

`--peers` times alternatives in the same run, stored separately in peers.json: a NumPy loop over curves
that follows the paper; loops over labels with scikit-image and, if installed, OpenCV and rasterio; and geomstats, if
installed, on the same undulations.

`--floors` times the minimum arithmetic of every stage at N = 20 000 compared with the stage, and stores it in
peers.json, too: the transforms, products and roots in its formulas, each by the fastest library, on arrays that fit
into the processor's cache if the formulas allow that.
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
from scipy.interpolate import CubicSpline
from scipy.ndimage import find_objects, gaussian_filter
from scipy.spatial.distance import cdist, pdist
from skimage.measure import find_contours, regionprops

from napari_shape_ensembles import Ensemble, Settings, compare, extract_curves, mmd_test, to_landmarks
from napari_shape_ensembles.progress import one_library_thread
from results_file import printed, record

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


def loop(curves, first, n=500, rank=50, permutations=1000):
    """p-values of both tests in straightforward NumPy: a loop over curves, then linear algebra."""
    shapes, scales = np.empty((len(curves), n, 2)), np.empty((len(curves), 2, 2))
    target = None
    for i, curve in enumerate(curves):
        closed = np.vstack([curve, curve[:1]])
        chord = np.r_[0, np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))]
        spline = CubicSpline(chord, closed, bc_type="periodic")
        fine = np.linspace(0, chord[-1], 8 * n + 1)
        length = np.r_[0, np.cumsum(np.linalg.norm(np.diff(spline(fine), axis=0), axis=1))]
        points = spline(np.interp(np.arange(n) / n * length[-1], length, fine))
        points -= points.mean(axis=0)
        z = points @ [1, 1j]
        if target is None:
            target, aim = z, np.fft.fft(z)
        best = 0.0
        for candidate in (z, np.conj(z[::-1])):
            scores = np.fft.ifft(np.fft.fft(candidate) * aim.conj())
            shift = np.abs(scores).argmax()
            if np.abs(scores[shift]) > best:
                best = np.abs(scores[shift])
                matched = np.roll(candidate, -shift) * np.exp(-1j * np.angle(scores[shift]))
        u, s, vt = np.linalg.svd(np.stack([matched.real, matched.imag], axis=1) / np.sqrt(n), full_matrices=False)
        shapes[i], scales[i] = u @ vt, vt.T * s @ vt
    mean = shapes[0]
    for _ in range(10):
        tangents = logarithms(mean, shapes)
        u, s, vt = np.linalg.svd(tangents.mean(axis=0), full_matrices=False)
        mean = mean @ vt.T * np.cos(s) @ vt + u * np.sin(s) @ vt
    flat = logarithms(mean, shapes).reshape(len(shapes), -1)
    t = flat @ np.linalg.svd(flat, full_matrices=False)[2][:rank].T
    w, v = np.linalg.eigh(scales)
    logs = np.einsum("nij,nj,nkj->nik", v, np.log(w), v)[:, [0, 0, 1], [0, 1, 1]]
    return [permutation_test(points, first, permutations) for points in (t, logs)]


def logarithms(mean, shapes):
    """Tangent vectors at the mean, curve by curve."""
    found = np.empty_like(shapes)
    for i, shape in enumerate(shapes):
        product = mean.T @ shape
        u, s, vt = np.linalg.svd((shape - mean @ product) @ np.linalg.inv(product), full_matrices=False)
        found[i] = u * np.arctan(s) @ vt
    return found


def permutation_test(points, first, permutations):
    """p-value of the MMD with the median distance as kernel width."""
    rng, squared = np.random.default_rng(0), cdist(points, points, "sqeuclidean")
    kernel = np.exp(-squared / (2 * np.median(squared[np.triu_indices(len(points), 1)])))
    weights = np.r_[np.full(first, 1 / first), np.full(len(points) - first, -1 / (len(points) - first))]
    values = [weights @ kernel @ weights]
    for _ in range(permutations):
        shuffled = rng.permutation(weights)
        values.append(shuffled @ kernel @ shuffled)
    return np.mean(values >= values[0])


def peer_loop(count=2000):
    """Processor time of a NumPy loop relative to ours, with the paper's settings and rank 50."""
    a, b = samples(count)
    compare(a, b, Settings.paper(rank=50))
    tables = [stages(a, b, Settings.paper(rank=50, seed=seed)) for seed in range(5)]
    own = statistics.median(sum(table.values()) for table, _ in tables), statistics.median(clock for _, clock in tables)
    begun = time.process_time(), time.perf_counter()
    loop([*a.curves, *b.curves], len(a))
    theirs = time.process_time() - begun[0], time.perf_counter() - begun[1]
    print(f"\n{count} curves, the paper's choices, r = 50, seconds of processor time (on the clock)")
    print(f"  a NumPy loop {theirs[0]:.2f} ({theirs[1]:.2f}), ours {own[0]:.2f} ({own[1]:.2f})")
    return theirs[0] / own[0]


def objects(size=4096, count=4900):
    """Labels of `count` wavy disks in rows."""
    rng = np.random.default_rng(0)
    side = int(np.sqrt(count))
    step = size // side
    rows, columns = np.indices((step, step)) - step / 2
    angle, away = np.arctan2(rows, columns), np.hypot(rows, columns)
    labels = np.zeros((size, size), np.int32)
    for number in range(side * side):
        sizes, phases = rng.normal(0, [[0.06], [3]], (2, 4))
        waves = sum(a * np.cos(k * angle + p) for k, a, p in zip((2, 3, 4, 5), sizes, phases, strict=True))
        row, column = step * (number // side), step * (number % side)
        labels[row : row + step, column : column + step][away < 0.38 * step * (1 + waves)] = number + 1
    return labels


def peer_outlines():
    """Rows of the times of outlining labels: ours, and straightforward loops over labels."""
    labels = objects()
    ways = {"extract_curves": lambda: extract_curves(labels), "scikit-image": lambda: by_skimage(labels)}
    with suppress(ImportError):
        import cv2

        ways["OpenCV, no smoothing"] = lambda: by_opencv(labels, cv2)
    with suppress(ImportError):
        from rasterio import features

        ways["rasterio, no smoothing"] = lambda: [shape for shape, value in features.shapes(labels, labels > 0)]
    print(f"\noutlines of {labels.max()} labels in {labels.shape[0]} × {labels.shape[1]}")
    rows = []
    for name, way in ways.items():
        way()
        taken = []
        for _ in range(3):
            begun = time.process_time(), time.perf_counter()
            found = len(way())
            taken.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
        processor, _ = np.median(taken, axis=0)
        rows.append(printed(**{"outlines of labels by": name, "processor time, s": f"{processor:.2f}", "found": found}))
    return rows


def by_skimage(labels):
    """The 0.5 level set of every object's mask, smoothed by one pixel."""
    found = []
    for region in regionprops(labels):
        mask = np.pad(region.image.astype(float), 5)
        contours = find_contours(gaussian_filter(mask, 1), 0.5)
        found.append(max(contours, key=len) + np.array(region.bbox[:2]) - 5)
    return found


def by_opencv(labels, cv2):
    """The outermost pixels of every object."""
    found = []
    for label, box in enumerate(find_objects(labels), start=1):
        mask = (labels[box] == label).astype(np.uint8)
        found.append(max(cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0], key=len))
    return found


def floors(count=20_000, n=500, rank=150):
    """Rows of the minimum processor time of every stage with defaults, of the actual time, and of their ratio."""
    a, b = samples(count)
    pairs = count * count // 2
    nodes = 3 * (len(a.vertices) + len(b.vertices))  # of the arc-length quadrature
    rng = np.random.default_rng(0)
    curves, points, basis = (rng.normal(size=size) for size in ((count, 2 * n), (count, rank), (2 * n, rank)))
    gram = curves[: 4 * n].T @ curves[: 4 * n]
    some, powers = rng.uniform(1, 2, (9, 4096)), np.empty((256, n), np.complex128)

    def roots(number):
        for _ in range(number // 4096):
            np.sqrt(some[0], out=some[0])

    def transforms(times, write=False):
        """Fourier transform of every curve as complex numbers, read once."""
        planes = curves.view(np.complex128)
        for start in range(0, count, len(powers)):
            z = powers[: count - start]
            z[:] = planes[start : start + len(z)]
            for _ in range(times):
                z = scipy.fft.fft(z, norm="ortho", overwrite_x=True)
            if write:
                planes[start : start + len(z)] = z

    def landmarks(rounds=9):
        """Lengths, and the moments they weigh, in every fixed-point iteration; quotients of Newton's method."""
        for _ in range(rounds * nodes // 4096):
            some[3:] @ np.sqrt(np.ones(3) @ some[:3])
        for _ in range(4 * n * count // 4096):
            np.divide(some[0], some[1], out=some[2])

    def learning():
        """Product with the mean, Gram matrix, its eigenvalues, coordinates, one transform for the bands."""
        curves.reshape(-1, n) @ basis[:n, :2]
        curves.T @ curves
        np.linalg.eigvalsh(gram)
        curves @ basis
        transforms(1)

    def distances():
        """Distances between all pairs of points, by matrix products."""
        for start in range(0, count, 512):
            points[start : start + 512] @ points[start:].T
        roots(pairs)

    least = {
        "placing landmarks": landmarks,
        "choosing the archetype": lambda: transforms(3),
        "registering scales": lambda: transforms(3),
        "registering undulations": lambda: transforms(4, write=True),
        "learning the shape space": learning,
        "testing undulation": lambda: (distances(), roots(pairs)),  # of coordinates; of amplitudes
        "testing scale": lambda: roots(pairs),  # of sizes and elongations
    }
    found = json.loads(own_process("defaults, N = 20 000", 3))["stages"]
    print(f"\nleast processor time of every stage, that of ours, and the ratio, N = {count}")
    rows = []
    with one_library_thread():
        for stage, work in least.items():
            taken = []
            for _ in range(3):
                begun = time.process_time()
                work()
                taken.append(time.process_time() - begun)
            floor, ours = statistics.median(taken), found[stage]
            row = {"floor, s": f"{floor:.2f}", "ours, s": f"{ours:.2f}", "ratio": f"{ours / floor:.1f}"}
            rows.append(printed(stage=stage, **row))
    return rows


def own_process(name, runs):
    """Run `timed` in a separate process; returns its result as text."""
    words = [sys.executable, __file__, "--case", name, "--runs", str(runs)]
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout


def peers(out):
    """Time the alternatives, in the same run."""
    found = {"loop": peer_loop(), "outlines": peer_outlines()}
    with suppress(ImportError):
        found["hyppo"] = peer_hyppo()
    record(out, **found, load=round(os.getloadavg()[0], 1))
    with suppress(ImportError):
        peer_geomstats()


def peer_geomstats():
    """Print the times of geomstats and ours for mean and tangent coordinates of the same few, coarse undulations."""
    os.environ["GEOMSTATS_BACKEND"] = "numpy"
    from geomstats.geometry.grassmannian import Grassmannian
    from geomstats.learning.frechet_mean import FrechetMean
    from geomstats.learning.pca import TangentPCA

    from napari_shape_ensembles import ShapeSpace, decompose

    count, n = 2000, 100
    undulation, scale = decompose(to_landmarks(Ensemble(list(blobs(count))), n))
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


def peer_hyppo(counts=(200, 1000), permutations=1000):
    """Rows of the processor times of hyppo and ours for MMD and p-value of the same undulation coordinates."""
    from hyppo.ksample import MMD

    print()
    rows = []
    for count in counts:
        result = compare(*samples(count), Settings.paper(rank=50))
        first = len(result.a)
        x, y = np.array(result.t[:first]), np.array(result.t[first:])
        theirs = MMD(gamma=0.5 / np.median(pdist(result.t)) ** 2)  # our kernel width
        theirs.test(x[:10], y[:10], reps=1000, workers=1, auto=False)  # compiles its loops
        ways = (
            lambda x=x, y=y, theirs=theirs: theirs.test(x, y, reps=permutations, workers=1, auto=False)[1],
            lambda x=x, y=y: mmd_test(x, y, permutations=permutations).p_value,
        )
        taken, found = [], []
        for way in ways:
            begun = time.process_time()
            found.append(way())
            taken.append(time.process_time() - begun)
        row = {"outlines": count, "hyppo, s": f"{taken[0]:.2f}", "ours, s": f"{taken[1]:.3f}"}
        rows.append(printed(**row, **{"p, hyppo": f"{found[0]:.2f}", "p, ours": f"{found[1]:.2f}"}))
    return rows


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--floors", action="store_true")
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
    beside = options.out and options.out.with_name("peers.json")
    if options.peers:
        peers(beside)
    if options.floors:
        record(beside, floors=floors())


if __name__ == "__main__":
    main()
