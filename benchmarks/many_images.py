"""Duration of the bench's steps, and blocking of its event loop, with many images side by side.

Run on a screen or a virtual one:
    xvfb-run -a -s "-screen 0 1280x800x24" python benchmarks/many_images.py [--images 24]

From opening the bench over groups from names and outlines to the answer; after it another recipe, the page *Why*, and
an inspection of the first image. Below each step are the three longest stalls of the event loop, and whose code they
were spent in (see `stalls.py`).
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import napari
from qtpy.QtCore import QEventLoop, QTimer

from stalls import StallMeter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from docks import PLUGIN
from image_makers import spots


def loop(milliseconds):
    """Run the event loop."""
    inner = QEventLoop()
    QTimer.singleShot(milliseconds, inner.quit)
    inner.exec()


class Meter:
    """Times of steps, and of the longest stalls of the event loop in each."""

    def __init__(self):
        self.stalls = StallMeter()

    def step(self, name, action, until=lambda: True):
        """Run an action, wait for a condition, and print the durations; returns processor seconds."""
        self.stalls.restart()
        start = time.perf_counter(), time.process_time()
        action()
        while not until():
            loop(20)
        clock = time.perf_counter() - start[0]
        loop(1500)
        worked = time.process_time() - start[1]
        print(f"{name}: {clock:.1f} s, processor {worked:.1f} s", flush=True)
        for stall in self.stalls.longest():
            print(f"    {stall}", flush=True)
        return worked


def main():
    """Run the whole workflow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=24)
    count = parser.parse_args().images
    viewer = napari.Viewer()
    viewer.window.resize(1280, 800)
    for place in range(count):
        image = spots(place, rows=8, size=12 + 2 * (place % 2))
        viewer.add_image(image, name=f"{'ab'[place % 2]}_{place // 2:02d}")
    loop(500)
    meter, opened = Meter(), []
    total = meter.step(
        "open", lambda: opened.append(viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]), lambda: True
    )
    (bench,) = opened
    session = bench.session
    counts, comparison = session.segmentation.verdict, session.comparison

    def are_outlined():
        return len(session.segmentation.verdict.counts) == count and bench.next.isEnabled()

    def settled():
        return session.segmentation.verdict is not counts and not session.segmentation.is_preview_pending

    def renewed():
        session.choices.set(recipe=replace(session.choices.recipe, min_area=session.choices.recipe.min_area + 1))
        bench.show_page(1)

    total += meter.step("groups", bench.pages["Images"].fill.click, lambda: len(session.design.groups()) == 2)
    total += meter.step("outlines", lambda: bench.show_page(1), are_outlined)
    session.choices.set(settings=replace(session.choices.settings, permutations=300, landmarks=100, rank=30))
    total += meter.step("compare", bench.go_to_next, lambda: comparison.result is not None and not comparison.busy)
    print(f"{count} images, to the answer: processor {total:.1f} s")
    counts = session.segmentation.verdict
    meter.step("new recipe", renewed, settled)
    meter.step("why", lambda: bench.show_page(3), lambda: session.explanation.result is not None)
    bench.show_page(1)
    inspection = bench.pages["Outlines"].show_tab(1)
    task = session.inspection
    task.a.choose(viewer.layers["a_00"])
    task.b.choose(None)
    meter.step("inspect", inspection.run, lambda: task.result is not None and not task.busy)
    viewer.close()


if __name__ == "__main__":
    main()
