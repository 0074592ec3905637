"""Times file formats: every curve format, saved comparisons, and an EBSD map of a million points.

Run from the repository as ``python benchmarks/files.py [--out docs/results/files.json]``. Processor seconds, the
minimum of three runs; the map is the real one of ../shared/data, tiled, with noise of 0.1 degrees.
"""

import argparse
import gzip
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from napari_shape_ensembles import Comparison, Ensemble, compare
from napari_shape_ensembles.io import find_grains, read_curves, read_ebsd, write_curves
from results_file import out_option, printed, record

CURVES, VERTICES = 900, 500
SIDE = 1000
MAP = Path("../shared/data/ebsd_sdss/sdss_ferrite_austenite.ang.gz")


def best(work: Callable[[], object]) -> str:
    """Minimum processor seconds of three runs."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return f"{min(taken):.2f} s"


def rough_circles(count: int, seed: int) -> Ensemble:
    """Outlines of many vertices."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(VERTICES) / VERTICES
    waves = np.arange(2, 12)[:, None] * u
    radius = 1 + 0.03 * (rng.normal(size=(count, 10)) @ np.cos(waves) + rng.normal(size=(count, 10)) @ np.sin(waves))
    return Ensemble(list(20 * radius[..., None] * np.stack([np.cos(u), np.sin(u)], axis=-1)), name=str(seed), unit="µm")


def time_curves(folder: Path) -> list[dict[str, str]]:
    """Every format that is written and read, and a whole comparison."""
    ensemble, rows = rough_circles(CURVES, 0), []

    def row(name: str, path: Path, write: Callable[[], object], read: Callable[[], object]) -> None:
        times = {"write": best(write), "read": best(read)}
        size = f"{path.stat().st_size / 1e6:.1f} MB"
        rows.append(printed(**{f"{CURVES} curves of {VERTICES} vertices": name}, **times, size=size))

    for ending in (".npz", ".parquet", ".zip", ".geojson", ".csv"):
        path = folder / f"x{ending}"
        name = f"`{ending}`" + (" (ImageJ)" if ending == ".zip" else "")
        row(name, path, partial(write_curves, path, ensemble), partial(read_curves, path))
    result, path = compare(rough_circles(466, 1), rough_circles(467, 2)), folder / "x.comparison.npz"
    row("a comparison of 466 and 467 such curves", path, partial(result.save, path), partial(Comparison.load, path))
    return rows


def million_points(folder: Path) -> Path:
    """The real map, tiled to SIDE × SIDE points."""
    lines = gzip.decompress(MAP.read_bytes()).decode().splitlines()
    rows = np.array([line.split() for line in lines if not line.startswith("#")], dtype=float).reshape(100, 117, 8)
    tiled = np.tile(rows, (SIDE // 100, SIDE // 117 + 1, 1))[:SIDE, :SIDE]
    tiled[..., 4], tiled[..., 3] = np.indices((SIDE, SIDE)) * 1.5
    tiled[..., :3] += np.random.default_rng(0).normal(0, 0.002, (SIDE, SIDE, 3))
    path = folder / "map.ang"
    with path.open("w", encoding="utf-8") as file:
        file.write("\n".join(line for line in lines if line.startswith("#")).replace("117", str(SIDE)) + "\n")
        np.savetxt(file, tiled.reshape(-1, 8), fmt="%.5f %.5f %.5f %.5f %.5f %.1f %.3f %d")
    return path


def time_map(folder: Path) -> dict[str, str]:
    """Read, find grains, color."""
    path = million_points(folder)
    ebsd = read_ebsd(path)
    works = {"read": partial(read_ebsd, path), "grains": partial(find_grains, ebsd), "colours": ebsd.ipf_colours}
    return printed(**{name: best(work) for name, work in works.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    out_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = {"curves": time_curves(Path(place)), "map": time_map(Path(place))}
    record(options.out, **found, load=round(os.getloadavg()[0], 1))
