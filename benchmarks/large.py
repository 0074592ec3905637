"""Samples larger than memory: a large OME-Zarr traced in tiles, and the tests of many outlines.

    python benchmarks/large.py labels 10000 40000 [--objects 200000]
    python benchmarks/large.py whole 4000
    python benchmarks/large.py tests 1000000 [--rank 150]

Labels are generated lazily, one band of rows at a time, and never held completely. Each size runs in a separate
process, with kernels compiled beforehand: processor time (user and system, of all threads), wall time, and peak
memory.
`labels` are traced. `whole` segments and traces an image of the same objects, with noise, in memory by the main
methods, and reports bytes per pixel in addition to the image itself. `tests` are the tests of a comparison only, on
random coordinates: the last stage for that many curves. `--out docs/results/large.json` stores the results, from
which `tools/write_docs.py` makes the table of docs/evidence/speed.md.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from napari_shape_ensembles import Outlines, Settings
from napari_shape_ensembles.comparison.engine import curve_test
from napari_shape_ensembles.comparison.parts import form_parts, scale_parts
from napari_shape_ensembles.compiled import compile_kernels
from napari_shape_ensembles.io import Calibration, CurveTable, write_curves, write_ome_zarr_labels
from napari_shape_ensembles.io.ome_zarr import open_ome_zarr
from napari_shape_ensembles.outlines.tiles import outlines_by_tile
from speed import blobs, forget_peak, peak_memory

_TEMPLATES, _CELL = 64, 89
MAX_EXACT_CURVES = 100_000


class Field:
    """Labels of objects on a grid, generated when rows are read."""

    dtype = np.dtype(np.int32)

    def __init__(self, side, objects):
        self.across = int(np.sqrt(objects))
        self.cell = side // self.across
        self.shape = side, side
        templates, step = [], self.cell / _CELL
        for curve in blobs(_TEMPLATES, seed=7):
            from skimage.draw import polygon2mask

            size = np.ptp(curve, axis=0).max()
            templates.append(
                polygon2mask((self.cell,) * 2, (curve - curve.min(axis=0)) / size * (80 * step) + 4 * step)
            )
        self.templates = np.stack(templates)
        self.choice = np.random.default_rng(0).integers(_TEMPLATES, size=(self.across, self.across))

    def __getitem__(self, rows):
        found = np.zeros((rows.stop - rows.start, self.shape[1]), self.dtype)
        for row in range(rows.start // self.cell, min(-(-rows.stop // self.cell), self.across)):
            top, bottom = max(row * self.cell, rows.start), min((row + 1) * self.cell, rows.stop)
            labels = row * self.across + 1 + np.arange(self.across, dtype=np.int32)
            inside = self.templates[self.choice[row], top - row * self.cell : bottom - row * self.cell]
            strip = (inside * labels[:, None, None]).swapaxes(0, 1).reshape(bottom - top, -1)
            found[top - rows.start : bottom - rows.start, : strip.shape[1]] = strip
        return found


class Noisy(Field):
    """An image of such labels: 16 bits, foreground 900 and background 300, with noise of 100."""

    dtype = np.dtype(np.uint16)

    def __getitem__(self, rows):
        noise = np.random.default_rng(rows.start).normal(300, 100, (rows.stop - rows.start, self.shape[1]))
        return (noise + 600 * (Field.__getitem__(self, rows) > 0)).clip(0, 65_535).astype(self.dtype)


def store(side, options):
    """Path of the labels of this size, written in a separate process if missing."""
    objects = options.objects * side * side // 40_000**2
    place = Path(options.folder) / f"labels-{side}-{objects}.ome.zarr"
    if not place.exists():
        draft = place.with_name(f"draft-{place.name}")
        shutil.rmtree(draft, ignore_errors=True)
        write_ome_zarr_labels(draft, Field(side, objects), Calibration((0.5, 0.5), "µm"), levels=1)
        draft.rename(place)
    return place


def labels(side, options):
    """Trace the labels of a square plane of this side length."""
    found = open_ome_zarr(store(side, options))
    begun, count = time.process_time(), 0
    with tempfile.TemporaryDirectory() as folder:
        tiles = outlines_by_tile(found.array, Outlines(), scale=found.calibration.scale, unit="µm")
        for place, ensemble in enumerate(tiles):
            write_curves(Path(folder) / f"{place}.npz", CurveTable(ensemble))
            count += len(ensemble)
    return {"stages": {"tracing and writing": time.process_time() - begun}, "answer": f"{count} outlines"}


def whole(side, options):
    """Segment and trace an image, and trace labels, in memory: peak bytes per pixel, excluding the image."""
    objects = options.objects * side * side // 40_000**2
    image = Noisy(side, objects)[slice(0, side)]
    others = {"colors": np.repeat(image[..., None], 3, axis=2), "labels": Field(side, objects)[slice(0, side)]}
    recipes = {method: {"method": method} for method in ("otsu", "triangle", "li", "local", "hysteresis", "multi-otsu")}
    recipes |= {f"split by {way}": {"split_touching": way} for way in ("none", "intensity")}
    recipes |= {"background": {"background": 50}, "colors": {}, "labels": {}}
    found = {}
    for name, recipe in recipes.items():
        given, work = others.get(name, image), Outlines(**recipe)
        work = work.trace if name == "labels" else work
        work(given[:500, :500])  # so that lazy imports are not measured
        forget_peak()
        before = peak_memory()
        work(given)
        found[name] = (peak_memory() - before) * 2**30 / side**2
    return {"stages": {}, "answer": ", ".join(f"{name} {size:.0f}" for name, size in found.items())}


def tests(count, options):
    """Test the coordinates of this number of curves."""
    rng = np.random.default_rng(0)
    t, l = np.empty((count, options.rank)), rng.normal(0, 0.2, (count, 3))
    for start in range(0, count, 10_000):
        part = t[start : start + 10_000]
        part[:] = rng.normal(size=part.shape) * 0.1 / np.arange(1, options.rank + 1) ** 0.7
    descriptors = rng.normal(0, 0.3, (count, 11))
    begun = time.process_time()
    settings = Settings(approximate_above=MAX_EXACT_CURVES)
    parts = form_parts(t, descriptors, settings), scale_parts(l, np.eye(2), settings)
    found = [curve_test(kind, np.arange(count), count // 2, settings) for kind in parts]
    p_values = ", ".join(f"p = {test.p_value:.2g}" for test in found)
    return {"stages": {"testing": time.process_time() - begun}, "answer": p_values}


def measured(kind, size, options):
    """Run one size in this process, and print the results as JSON."""
    begun = time.perf_counter()
    found = {"labels": labels, "whole": whole, "tests": tests}[kind](size, options)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    peak = usage.ru_maxrss / (2**20 if sys.platform == "linux" else 2**30)
    print(
        json.dumps(
            {
                "kind": kind,
                "size": size,
                "clock": time.perf_counter() - begun,
                "processor": usage.ru_utime + usage.ru_stime,
                "system": usage.ru_stime,
                "GiB": peak,
                "load": os.getloadavg()[0],
                **found,
            }
        )
    )


def main():
    """Run all requested sizes, each in a separate process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["labels", "whole", "tests"])
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--rank", type=int, default=150)
    parser.add_argument("--objects", type=int, default=200_000, help="in 40 000 × 40 000 pixels, fewer in fewer")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where images are kept")
    parser.add_argument("--out", type=Path, help="keep the figures in this file, beside those of other runs")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measured(options.kind, options.sizes[0], options)
        return
    compile_kernels()
    for size in options.sizes:
        if options.kind == "labels":
            store(size, options)
        rest = [word for word in sys.argv[2:] if word not in map(str, options.sizes)]
        words = [sys.executable, __file__, options.kind, str(size), *rest, "--here"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            raise SystemExit(done.returncode)
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{size}: {found['processor']:.1f} s of processor ({found['system']:.1f} of it the system's), "
            f"{found['clock']:.1f} s on the clock (load {found['load']:.1f}), {found['GiB']:.2f} GiB; {found['answer']}"
        )
        for stage, seconds in found["stages"].items():
            print(f"    {stage}: {seconds:.2f}")
        if options.out:
            known = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
            known[f"{options.kind} {size}"] = found
            options.out.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
