"""Uses the bench as on a busy day, and prints whether anything leaks: callbacks, windows, layers, memory.

    xvfb-run -a -s "-screen 0 1600x1200x24" python benchmarks/soak.py [--minutes 30]

Each round opens the bench on two images, looks at the outlines, compares, changes the coloring, selects curves, visits
every page, cancels a run, deletes a layer, compares again and closes the bench. The first rounds fill caches; growth
is counted from the fifth on.

Memory grows by 3 to 4 MB a round as napari 0.9.2 keeps the cells of a grid that it has drawn, with or without this
package: nine cells a round, of 3600 Python objects each. Two images in bare napari, whose grid changes its shape three
times a round, take 5 MB a round; none as long as it keeps its shape.
"""

import argparse
import gc
import time
from dataclasses import replace

import napari
import psutil
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

PLUGIN = "napari-shape-ensembles"
WARM = 5


def wait(milliseconds):
    """Run the event loop: only then are deleted objects freed."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def until(condition):
    """Run the event loop until a condition holds."""
    start = time.monotonic()
    while not condition() and time.monotonic() < start + 300:
        wait(20)
    assert condition()


def one_round(viewer, images):
    """Open, look, compare, look around, cancel, delete, compare again, close."""
    for name, pixels in images.items():
        viewer.add_image(pixels, name=name)
    frame, bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")
    session = bench.session
    choices, task = session.choices, session.comparison
    choices.set(settings=replace(choices.settings, permutations=199, landmarks=100))
    bench.next.click()
    until(lambda: len(session.segmentation.verdict.counts) == 2 and bench.next.isEnabled())  # a recipe is chosen
    bench.next.click()
    until(lambda: task.result is not None and not task.busy and session.explanation.result is not None)
    page = bench.pages["Answer"]
    page.results.explore.click()
    for index in range(page.color_by.choice.count()):
        page.color_by.choice.setCurrentIndex(index)
        task.selection.hover(index + 1)
        (task.selection.select_and_center if index % 2 else task.selection.pick)([index])
        wait(20)
    for place in range(5):
        bench.show_page(place)
        wait(20)
    bench.show_page(2)
    page.run()
    wait(50)
    page.cancel()
    until(lambda: not task.threads)
    viewer.layers.remove(viewer.layers["one"])
    wait(200)
    viewer.add_image(images["one"], name="one")
    wait(200)
    page.run()
    until(lambda: not task.busy and task.result is not None)
    frame.close()
    wait(50)
    viewer.window.remove_dock_widget("all")
    viewer.layers.clear()
    wait(200)
    gc.collect()


def listeners(viewer):
    """Number of callbacks connected to the layer list, the selection and the sliders.

    Not those of objects that no longer exist, such as cameras of the grid: napari drops them as it emits the event.
    """
    groups = (viewer.layers.events, viewer.layers.selection.events, viewer.dims.events)
    callbacks = (one for group in groups for emitter in (group, *group.emitters.values()) for one in emitter.callbacks)
    return sum(not isinstance(one, tuple) or one[0]() is not None for one in callbacks)


def main():
    """Print a line per five rounds, and the growth at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    viewer, process, first, rounds = napari.Viewer(), psutil.Process(), None, 0
    start = time.monotonic()
    viewer.open_sample(PLUGIN, "simulated_treatment")
    images = dict(zip(("one", "two"), [layer.data[:400, :400].copy() for layer in viewer.layers], strict=True))
    viewer.layers.clear()
    while time.monotonic() < start + 60 * options.minutes or rounds <= WARM:
        one_round(viewer, images)
        rounds += 1
        memory, windows = process.memory_info().rss / 2**20, len(QApplication.topLevelWidgets())
        state = (listeners(viewer), windows, memory)
        first = state if rounds == WARM else first
        if rounds % 5 == 0:
            so_far = f"{(time.monotonic() - start) / 60:4.1f} min, round {rounds}"
            print(f"{so_far}: {state[0]} listeners, {windows} windows, {memory:.0f} MB", flush=True)
    growth = [now - then for now, then in zip(state, first, strict=True)]
    print(f"{rounds} rounds; growth: {growth[0]} listeners, {growth[1]} windows, {growth[2]:.0f} MB")
    viewer.close()


if __name__ == "__main__":
    main()
