"""Times files: every format of curves, saved comparisons, and an EBSD map of a million points.

Run from the repository as ``python benchmarks/files.py``. Seconds are the best of three, by the clock and by the
processor; the map is the real one of ../shared/data, repeated with noise of 0.1 degrees.
"""

import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from napari_shape_ensembles import Comparison, Ensemble, compare
from napari_shape_ensembles.io import find_grains, read_curves, read_ebsd, write_curves

CURVES, VERTICES = 900, 500
SIDE = 1000
MAP = Path("../shared/data/ebsd_sdss/sdss_ferrite_austenite.ang.gz")


def best(work: Callable[[], object]) -> str:
    """Least seconds of three runs: by the clock, and of the processor."""
    walls, busy = [], []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        busy.append(time.process_time() - cpu)
    return f"{min(walls):6.2f} s ({min(busy):5.2f} s)"


def rough_circles(count: int, seed: int) -> Ensemble:
    """Outlines of many vertices."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(VERTICES) / VERTICES
    waves = np.arange(2, 12)[:, None] * u
    radius = 1 + 0.03 * (rng.normal(size=(count, 10)) @ np.cos(waves) + rng.normal(size=(count, 10)) @ np.sin(waves))
    return Ensemble(list(20 * radius[..., None] * np.stack([np.cos(u), np.sin(u)], axis=-1)), name=str(seed), unit="µm")


def time_curves(folder: Path) -> None:
    """Every format that is written and read."""
    ensemble = rough_circles(CURVES, 0)
    print(f"{CURVES} curves of {VERTICES} vertices: write, read, size")
    for ending in (".npz", ".parquet", ".zip", ".geojson", ".csv"):
        path = folder / f"x{ending}"
        writing = best(lambda path=path: write_curves(path, ensemble))
        reading = best(lambda path=path: read_curves(path))
        print(f"  {ending:9} {writing}  {reading}  {path.stat().st_size / 1e6:5.1f} MB")


def time_comparison(folder: Path) -> None:
    """A whole comparison."""
    result = compare(rough_circles(466, 1), rough_circles(467, 2))
    path = folder / "x.comparison.npz"
    writing, reading = best(lambda: result.save(path)), best(lambda: Comparison.load(path))
    print(f"comparison of 466 and 467 curves: {writing}  {reading}  {path.stat().st_size / 1e6:5.1f} MB")


def million_points(folder: Path) -> Path:
    """The real map repeated to SIDE × SIDE points."""
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


def time_map(folder: Path) -> None:
    """Read, find grains, colour."""
    path = million_points(folder)
    ebsd = read_ebsd(path)
    print(f"EBSD map of {SIDE * SIDE} points, {find_grains(ebsd).max()} grains:")
    print(f"  read    {best(lambda: read_ebsd(path))}")
    print(f"  grains  {best(lambda: find_grains(ebsd))}")
    print(f"  colours {best(ebsd.ipf_colours)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        time_curves(Path(place))
        time_comparison(Path(place))
        time_map(Path(place))
