"""Duration of the bench's steps, and blocking of its event loop, with many images side by side.

Run on a screen or a virtual one:
    xvfb-run -a -s "-screen 0 1280x800x24" python benchmarks/many_images.py [--images 24]

From opening the bench, through groups from names and outlines, to the result, and another recipe after it. Pauses are
given as wall time and as processor time of the main thread: load by other programs affects only the former.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import napari
from qtpy.QtCore import QEventLoop, QTimer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from docks import PLUGIN, spots

BEAT, STILL = 10, 0.1  # interval between checks of the event loop in milliseconds; acceptable pause in seconds


def loop(milliseconds):
    """Run the event loop."""
    inner = QEventLoop()
    QTimer.singleShot(milliseconds, inner.quit)
    inner.exec()


class Meter:
    """Durations of steps, and the longest pauses of the event loop in each."""

    def __init__(self):
        self.last, self.stalls, self.pulse = self.now(), [], QTimer()
        self.pulse.timeout.connect(self.beat)
        self.pulse.start(BEAT)

    def now(self):
        """Wall time, and processor time of this thread and of all threads."""
        return time.perf_counter(), time.thread_time(), time.process_time()

    def beat(self):
        """Record how long the event loop was blocked, and the processor time of this thread meanwhile."""
        now = self.now()
        still, worked = now[0] - self.last[0] - BEAT / 1000, now[1] - self.last[1]
        if still > STILL:
            self.stalls.append((still, worked))
        self.last = now

    def step(self, name, action, until=lambda: True):
        """Run an action, wait for a condition, and print the durations; returns processor seconds."""
        self.stalls.clear()
        start = self.now()
        action()
        while not until():
            loop(20)
        clock = self.now()[0] - start[0]
        loop(1500)
        worked = self.now()[2] - start[2]
        longest = ", ".join(f"{still:.1f} s (own {own:.1f})" for still, own in sorted(self.stalls, reverse=True)[:3])
        print(f"{name:12} {clock:6.1f} s, processor {worked:6.1f} s; longest stalls: {longest or 'none'}", flush=True)
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
    viewer.close()


if __name__ == "__main__":
    main()
