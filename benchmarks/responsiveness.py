"""Blocking of the event loop during a comparison, and time to cancel.

Run on a screen or a virtual one:
    sh tools/run.sh script benchmarks/responsiveness.py [--curves 600]

Pauses should be below 100 ms, and a cancelled run should end within 1 s. A busy machine delays single turns of the
event loop, so pauses are given for each of several runs, minus the time taken by other programs.
"""

import argparse
import gc
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
from napari.components import ViewerModel
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

from napari_shape_ensembles import Settings
from napari_shape_ensembles.progress import Stopped, reporting
from napari_shape_ensembles.studies.jobs import run_jobs
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.docks.study import LandscapePage
from viewer import outlines

LATER = (0.1, 0.3, 1.0, 2.0)


def moment():
    """Wall time, processor time of all threads, and time this thread waited for a processor, if known."""
    schedule = Path("/proc/thread-self/schedstat")
    waited = int(schedule.read_text().split()[1]) / 1e9 if schedule.exists() else 0.0
    return time.perf_counter(), time.process_time(), waited


def to_the_end(dock, start):
    """Start something, and run the event loop until the dock has finished."""
    loop = QEventLoop()
    dock.finished.connect(loop.quit)
    start()
    loop.exec()
    dock.finished.disconnect(loop.quit)


def pauses(dock):
    """Longest pauses in ms of the event loop during a run, and at its end, when layers are added.

    Minus the time taken by other programs: time spent waiting for a processor while no thread of this process ran.
    """
    ticks, busy, timer = [moment()], [], QTimer()
    timer.timeout.connect(lambda: (ticks.append(moment()), busy.append(dock.busy)))
    timer.start(5)
    to_the_end(dock, dock.run_button.click)
    QApplication.processEvents()
    timer.stop()
    clock, worked, waited = np.diff(ticks, axis=0).T
    taken, during = 1000 * np.maximum(np.minimum(clock, worked), clock - waited), np.array(busy)
    return taken[during].max(), taken[~during].max(initial=0)


def ends_within(dock, after):
    """Seconds from pressing *Cancel*, some seconds after *Run*, to the end."""
    pressed = []
    QTimer.singleShot(int(1000 * after), lambda: (pressed.append(time.perf_counter()), dock.cancel_button.click()))
    to_the_end(dock, dock.run_button.click)
    return time.perf_counter() - pressed[0] if pressed else None


def left_within():
    """Seconds to cancel a study on an executor while an item of 0.2 s is processed."""
    ended = []
    with ThreadPoolExecutor(1) as pool, suppress(Stopped), reporting(stop=lambda: bool(ended)):
        run_jobs(_slow, range(50), lambda index, step: ended.append(time.perf_counter()), pool)
    return time.perf_counter() - ended[0]


def _slow(item):
    time.sleep(0.2)
    return item


def cancelled(name, dock):
    """Print the time to cancel a run, early and late."""
    for after in LATER:
        seconds = ends_within(dock, after)
        print(f"{name} cancelled {after} s after Run: " + ("had ended" if seconds is None else f"{seconds:.2f} s"))


def main():
    """Print all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=600, help="in each of the two layers")
    count = parser.parse_args().curves
    model = ViewerModel()
    layers = [
        model.add_shapes(list(outlines(count, seed)), shape_type="polygon", name=name) for seed, name in enumerate("AB")
    ]
    dock = AnswerPage(model)
    dock.session.choices.set(settings=Settings(landmarks=300, permutations=1000))
    gc.collect()
    for _ in range(3):
        during, after = pauses(dock)
        print(f"longest pause of the window: {during:.0f} ms during the run, {after:.0f} ms at its end")
    cancelled("comparison", dock)
    dock.close()
    dock = LandscapePage(model)
    dock.session.design.choose(*([layer] for layer in layers))
    dock.ranges["ranks"].setText("1-28")
    dock.ranges["landmarks"].setText("100-2000:50")
    dock.session.choices.set(settings=Settings(permutations=5000))
    cancelled("landscape", dock)
    print(f"study on an executor left: {left_within():.3f} s")


if __name__ == "__main__":
    application = QApplication([])  # until the process exits, which waits for workers
    application.setQuitOnLastWindowClosed(False)
    main()
