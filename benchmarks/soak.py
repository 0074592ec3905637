"""Uses the dock as a busy day would, and prints whether anything grows: listeners, windows, memory.

    xvfb-run -a -s "-screen 0 1600x1200x24" python benchmarks/soak.py [--minutes 30]

Each round opens the dock, runs, switches what is painted, picks curves, cancels, deletes layers, runs again and closes
the dock. The first rounds fill caches; growth is counted from the fifth on.
"""

import argparse
import gc
import time

import napari
import psutil
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

PLUGIN = "napari-shape-ensembles"
WARM = 5


def wait(milliseconds):
    """Let the event loop run: only then are deleted objects freed."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def compared(dock):
    """Press Run and wait for the end."""
    loop = QEventLoop()
    dock.finished.connect(loop.quit)
    dock.run_button.click()
    if dock.busy:
        loop.exec()
    dock.finished.disconnect(loop.quit)


def one_round(viewer, images):
    """Open, run, look around, cancel, delete, run again, close."""
    for name, pixels in images.items():
        viewer.add_image(pixels, name=name)
    frame, dock = viewer.window.add_plugin_dock_widget(PLUGIN, "Compare shapes")
    dock.controls["permutations"].setValue(199)
    dock.controls["landmarks"].setValue(100)
    compared(dock)
    dock.results.explore.click()
    for index in range(dock.color_by.choice.count()):
        dock.color_by.choice.setCurrentIndex(index)
        dock.comparison.selection.pick([index])
        wait(20)
    dock.run_button.click()
    wait(50)
    dock.cancel_button.click()
    viewer.layers.remove(viewer.layers[0])
    wait(20)
    viewer.add_image(images["one"], name="one")
    compared(dock)
    frame.close()
    wait(50)
    viewer.window.remove_dock_widget("all")
    viewer.layers.clear()
    wait(200)
    gc.collect()


def listeners(viewer):
    """How many listen to the layer list, the selection and the sliders."""
    groups = (viewer.layers.events, viewer.layers.selection.events, viewer.dims.events)
    return sum(len(emitter.callbacks) for group in groups for emitter in (group, *group.emitters.values()))


def main():
    """Print a line per ten rounds, and the growth at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    viewer, process, first, rounds = napari.Viewer(), psutil.Process(), None, 0
    viewer.open_sample(PLUGIN, "simulated_treatment")
    images = dict(zip(("one", "two"), [layer.data[:400, :400].copy() for layer in viewer.layers], strict=True))
    viewer.layers.clear()
    while time.monotonic() < end or rounds <= WARM:
        one_round(viewer, images)
        rounds += 1
        memory, windows = process.memory_info().rss / 2**20, len(QApplication.topLevelWidgets())
        state = (listeners(viewer), windows, memory)
        first = state if rounds == WARM else first
        if rounds % 10 == 0 or rounds == WARM:
            print(f"round {rounds}: {state[0]} listeners, {windows} windows, {memory:.0f} MB", flush=True)
    growth = [now - then for now, then in zip(state, first, strict=True)]
    print(f"{rounds} rounds; growth: {growth[0]} listeners, {growth[1]} windows, {growth[2]:.0f} MB")
    viewer.close()


if __name__ == "__main__":
    main()
