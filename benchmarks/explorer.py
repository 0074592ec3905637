"""Frame rate of the shape explorer: in its own window, and as a dock of napari.

    xvfb-run -a python benchmarks/explorer.py        # or on a screen

In napari's window every repaint also composites the OpenGL canvas, which without a GPU takes most of the time of a
frame.
"""

import argparse
import time

import napari
import numpy as np
from qtpy.QtCore import QEventLoop, QTimer

from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.explanation.shape_paths import ShapePlaces
from napari_shape_ensembles.viewer.panels.shape_explorer import ShapeExplorer


def blobs(count, seed):
    """Star-shaped random outlines."""
    rng = np.random.default_rng(seed)
    u = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    k = np.arange(2, 14)[:, None]
    waves = rng.normal(size=(count, 12)) @ np.cos(k * u) + rng.normal(size=(count, 12)) @ np.sin(k * u)
    return list((10 + 0.3 * waves)[..., None] * np.stack([np.cos(u), 1.4 * np.sin(u)], axis=-1))


def played(explorer, tab, seconds):
    """Painted frames per second while playing, and processor milliseconds per frame over all threads."""
    explorer.tabs.setCurrentIndex(tab)
    loop = QEventLoop()
    QTimer.singleShot(int(1000 * seconds), loop.quit)
    before, started, used = explorer.canvas.frames, time.perf_counter(), time.process_time()
    explorer.play.click()
    loop.exec()
    explorer.play.click()
    frames = max(explorer.canvas.frames - before, 1)
    return frames / (time.perf_counter() - started), 1000 * (time.process_time() - used) / frames


def drawn(explorer, frames=200):
    """Processor milliseconds per frame: compute, and paint into an image. Best of five."""
    times = []
    for _ in range(5):
        started = time.process_time()
        for frame in range(frames):
            explorer.sliders[0].setValue(frame % 60 - 30)
            explorer.canvas.grab()
        times.append((time.process_time() - started) / frames)
    return 1000 * min(times)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    seconds = parser.parse_args().seconds
    result = compare(Ensemble(blobs(150, 0)), Ensemble(blobs(150, 1)), Settings(permutations=99))
    viewer = napari.Viewer()
    own, docked = ShapeExplorer(), ShapeExplorer()
    own.show()
    viewer.window.add_dock_widget(docked)
    for explorer in (own, docked):
        explorer.set_places(ShapePlaces(result))
    print(f"n = {result.settings.landmarks}, r = {result.space.rank}: {drawn(own):.2f} ms of processor time a frame")
    for name, explorer in (("own window", own), ("docked in napari", docked)):
        for tab, page in enumerate(("sliders", "path", "rank")):
            rate, used = played(explorer, tab, seconds)
            print(f"{name}, {page}: {rate:.0f} frames per second, {used:.1f} ms of processor time a frame")
    viewer.close()


if __name__ == "__main__":
    main()
