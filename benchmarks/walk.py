"""Walk through the bench with real mouse and keyboard events: counts clicks, waits, words and visible controls.

Needs xdotool and a screen, possibly virtual as by ``xvfb-run -s "-screen 0 1280x800x24"``.
The powder pair is taken from two images to a folder for a paper, with ``--keys`` by keyboard only, starting at
napari's menu; with ``--experiment`` nine images of three groups from their names to the table of contrasts.
Prints a line for each action, and saves a screenshot after each with ``--out``.

Where the event loop was blocked for longer than a tenth of a second, the blocking functions are listed: the innermost
one of the plugin, and the innermost one overall; and the activity of the worker thread, as both share the GIL.
"""

import argparse
import gc
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import napari
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMainWindow,
    QSlider,
)

from napari_shape_ensembles.viewer.docks.bench import Bench

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "figures"))
from screenshots import fields

PLUGIN = "napari-shape-ensembles"
CONTROLS = (QAbstractButton, QComboBox, QAbstractSpinBox, QSlider, QLineEdit)
BEAT, LONG = 10, 0.5  # interval between checks of the event loop in milliseconds; minimum wait in seconds
STILL = 0.1  # acceptable pause in seconds
OWN = "napari_shape_ensembles"


class Watch(threading.Thread):
    """Samples the stack of the main thread whenever its event loop is blocked."""

    def __init__(self):
        super().__init__(daemon=True)
        self.last, self.window = time.perf_counter(), threading.main_thread().ident
        self.seen, self.collecting, self.collected = Counter(), 0.0, 0.0
        gc.callbacks.append(self.count)
        self.start()

    def count(self, phase, _):
        """Time a garbage collection, which traverses all objects of all packages."""
        now = time.perf_counter()
        self.collecting, self.collected = now, self.collected + (now - self.collecting) * (phase == "stop")

    def run(self):
        """Sample 200 times per second."""
        before = time.perf_counter()
        while threading.main_thread().is_alive():
            time.sleep(0.005)
            now = time.perf_counter()
            if now - self.last > 0.03:
                # A sample delayed by the GIL represents all of that time.
                self.seen[looked_at(self.window)] += now - before
            before = now

    def forget(self):
        """Reset."""
        self.seen, self.collected = Counter(), 0.0
        self.last = time.perf_counter()

    def stack(self):
        """Functions in which the event loop was blocked, with the milliseconds sampled in each."""
        own = Counter()
        for (name, _, _), seconds in self.seen.items():
            own[name] += seconds
        lines = [f"    {1000 * self.collected:4.0f} ms: garbage collection"] if self.collected > 0.01 else []
        for name, seconds in own.most_common(3):
            parts = Counter()
            for (other, inner, beside), part in self.seen.items():
                parts[f"{inner}{f' beside {beside}' if beside else ''}"] += part * (other == name)
            inside = ", ".join(f"{inner} {1000 * part:.0f}" for inner, part in parts.most_common(3))
            lines.append(f"    {1000 * seconds:4.0f} ms: {name or 'napari, Qt'} > {inside}")
        return "\n".join(lines)


def looked_at(window):
    """Functions of a thread, as in `named`, and the plugin's functions in the other threads.

    References to frames are dropped before any other thread continues: locals of a frame whose function returns, such
    as painters, would otherwise be freed in the sampling thread, which crashes Qt.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        frames = sys._current_frames()
        beside = {own for one, frame in frames.items() if one != window and (own := named(frame)[0])}
        own, inner = named(frames.pop(window, None))
        frames.clear()
    finally:
        sys.setswitchinterval(interval)
    return own, inner, ", ".join(sorted(beside))


def named(frame):
    """The innermost function of the plugin in a stack, "" for none, and the innermost of napari or of any package."""
    inner, own, deep = "", "", False
    while frame is not None and not own:
        code = frame.f_code
        name = f"{'/'.join(Path(code.co_filename).parts[-2:])}:{frame.f_lineno} {code.co_qualname}"
        inner = name if not inner or ("/napari/" in code.co_filename and not deep) else inner
        deep = deep or "/napari/" in code.co_filename
        own = name if OWN in code.co_filename else ""
        frame = frame.f_back
    return own, inner


class Walk:
    """Performs the user's actions, and measures their latency."""

    bench = None

    def __init__(self, viewer, out):
        self.viewer, self.out = viewer, out
        self.clicks, self.keys, self.waits, self.stalls = 0, 0, [], []
        self.watch, self.worked = Watch(), time.thread_time()
        self.pulse = QTimer()
        self.pulse.timeout.connect(self.beat)
        self.pulse.start(BEAT)

    def beat(self):
        """Record how long the event loop was blocked, and the processor time of this thread meanwhile."""
        now, worked = time.perf_counter(), time.thread_time()
        still = now - self.watch.last - BEAT / 1000
        self.stalls.append((still, worked - self.worked, self.watch.stack() if still > STILL else ""))
        self.watch.forget()
        self.worked = worked

    def loop(self, milliseconds):
        """Run the event loop."""
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def click(self, widget, until=lambda: True, words=""):
        """Click in the center of a widget, and wait for a condition."""
        where = widget.mapToGlobal(widget.rect().center())
        self.act(words, until, "mousemove", where.x(), where.y(), "click", 1)
        self.clicks += 1

    def key(self, keys, until=lambda: True, words=""):
        """Press keys in the window, and wait for a condition."""
        self.act(words, until, "key", keys)
        self.keys += 1

    def act(self, words, until, *command):
        """Perform an action with xdotool, and print its effect."""
        self.stalls.clear()
        process = subprocess.Popen(["xdotool", *map(str, command)])
        start = time.perf_counter()
        while process.poll() is None:
            self.loop(5)
        while not until() and time.perf_counter() - start < 300:
            self.loop(10)
        waited = time.perf_counter() - start
        self.waits += [(words, waited)] if waited > LONG else []
        self.settle(words, waited)

    def settle(self, words, waited):
        """Print the effect of an action, after subsequent events."""
        self.loop(700)
        controls, count = (0, 0) if self.bench is None else seen(self.bench)
        still = max(self.stalls)[0]
        print(f"{words:32} {waited:6.2f} s, stood still {still * 1000:4.0f} ms; {controls} controls, {count} words")
        for one, worked, said in sorted(self.stalls, reverse=True)[:3]:
            if said:
                print(f"  {one * 1000:.0f} ms, of which {worked * 1000:.0f} ms of work:\n{said}")
        if self.out:
            self.viewer.screenshot(str(self.out / f"{self.clicks + self.keys:02d}.png"), canvas_only=False, flash=False)
            self.watch.forget()


def seen(page):
    """Numbers of visible controls and words."""
    parts = [one for one in page.findChildren((*CONTROLS, QLabel)) if not one.visibleRegion().isEmpty()]
    inner = [
        one for one in parts if isinstance(one, QLineEdit) and isinstance(one.parent(), QAbstractSpinBox | QComboBox)
    ]
    controls = [one for one in parts if isinstance(one, CONTROLS) and one not in inner]
    texts = [one.currentText() if isinstance(one, QComboBox) else one.text() for one in parts if hasattr(one, "text")]
    return len(controls), sum(len((text or "").split()) for text in texts)


def are_outlined(bench, images):
    """Whether this number of images is outlined, by the proposed recipe."""
    return len(bench.session.segmentation.verdict.counts) == images and bench.next.isEnabled()


def powder(walk):
    """From two images to a folder for a paper."""
    bench, session = walk.bench, walk.bench.session
    folder = tempfile.mkdtemp()
    QFileDialog.getExistingDirectory = staticmethod(lambda *_: folder)  # a dialog of the system
    walk.click(bench.next, lambda: are_outlined(bench, 2), "look at the outlines")
    walk.click(bench.next, lambda: session.comparison.result is not None, "compare: the row")
    start = time.perf_counter()
    while session.explanation.headline is None:
        walk.loop(10)
    print(f"{'the sentence, without a click':32} {time.perf_counter() - start:6.2f} s")
    page = bench.pages["Answer"].show_tab(0)
    walk.click(page.paper, lambda: not session.comparison.unsaved, "everything for a paper")
    print(sorted(path.name for path in Path(folder).iterdir()))
    walk.key("alt+4", lambda: bench.step == "Why" and session.explanation.result is not None, "why (Alt+4)")
    walk.click(bench.next, lambda: bench.step == "Trust", "trust")
    trust = bench.pages["Trust"].show_tab(0)
    walk.click(trust.run_button, lambda: session.trust.result is not None and not session.trust.busy, "other choices")
    print(trust.sentence.text(), trust.exceptions.text())


def in_front(widget):
    """Activate a widget's window, so that it receives key events."""
    widget.window().move(0, 0)
    widget.window().activateWindow()
    subprocess.run(["xdotool", "windowfocus", str(int(widget.window().winId()))], check=True)


def opened_by_keys(walk):
    """Open the bench from napari's menu *Plugins*."""
    in_front(next(one for one in QApplication.topLevelWidgets() if isinstance(one, QMainWindow)))
    walk.key("alt+p", lambda: QApplication.activePopupWidget() is not None, "menu Plugins (Alt+P)")
    menu = QApplication.activePopupWidget()
    while menu.activeAction() is None or PLUGIN not in menu.activeAction().text():
        walk.key("Down", words="Down")
    walk.key("Right", lambda: QApplication.activePopupWidget() is not menu, "Right")
    while "Shape bench" not in QApplication.activePopupWidget().activeAction().text():
        walk.key("Down", words="Down")
    walk.key("Return", lambda: any(isinstance(one, Bench) for one in QApplication.allWidgets()), "Shape bench (Enter)")
    walk.bench = next(one for one in QApplication.allWidgets() if isinstance(one, Bench))


def by_keys(walk):
    """From two images to a folder for a paper without the mouse; the focused widget is always visible."""
    session, folder = walk.bench.session, tempfile.mkdtemp()
    QFileDialog.getExistingDirectory = staticmethod(lambda *_: folder)  # a dialog of the system
    walk.key("ctrl+Return", lambda: are_outlined(walk.bench, 2), "look at the outlines (Ctrl+Enter)")
    walk.key("ctrl+Return", lambda: session.comparison.result is not None, "compare: the row (Ctrl+Enter)")
    while session.explanation.headline is None:
        walk.loop(10)
    paper = walk.bench.pages["Answer"].show_tab(0).paper
    while not paper.hasFocus():
        walk.key("Tab", words="Tab")
        focused = QApplication.focusWidget()
        assert not focused.visibleRegion().isEmpty()
        print(f"    {type(focused).__name__} {focused.accessibleName() or getattr(focused, 'text', str)()}")
    walk.key("space", lambda: not session.comparison.unsaved, "everything for a paper (Space)")
    print(sorted(path.name for path in Path(folder).iterdir()))
    walk.key("alt+4", lambda: walk.bench.step == "Why" and session.explanation.result is not None, "why (Alt+4)")
    walk.key("alt+5", lambda: walk.bench.step == "Trust", "trust (Alt+5)")
    walk.key("alt+y", lambda: session.trust.result is not None and not session.trust.busy, "other choices (Alt+Y)")
    trust = walk.bench.pages["Trust"].show_tab(0)
    print(trust.sentence.text(), trust.exceptions.text())


def experiment(walk):
    """From nine images to the table of contrasts."""
    bench, session = walk.bench, walk.bench.session
    page = bench.pages["Images"]
    fold = next(one for one in page.findChildren(QAbstractButton) if "columns from names" in one.text())
    walk.click(fold, words="unfold")
    walk.click(page.fill, lambda: len(session.design.groups()) == 3, "fill from names")
    walk.key("alt+2", lambda: are_outlined(bench, 9), "outlines (Alt+2)")
    walk.click(bench.next, lambda: session.comparison.answer is not None, "compare all groups")
    print("\n".join(session.comparison.answer.sentences))


def main():
    """Walk, and summarize."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", action="store_true")
    parser.add_argument("--keys", action="store_true", help="without the mouse")
    parser.add_argument("--out", type=Path, help="folder for a picture after each action")
    options = parser.parse_args()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    viewer = napari.Viewer(title="Shape ensembles")
    viewer.window.resize(1280, 800)
    fields(viewer) if options.experiment else viewer.open_sample(PLUGIN, "powder")
    walk = Walk(viewer, options.out)
    walk.loop(500)
    if options.keys:
        opened_by_keys(walk)
    else:
        start = time.perf_counter()
        walk.stalls.clear()
        walk.bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
        in_front(walk.bench)
        walk.settle("open the bench", time.perf_counter() - start)
    (by_keys if options.keys else experiment if options.experiment else powder)(walk)
    print(f"{walk.clicks} clicks, {walk.keys} keys; waits above {LONG} s: {len(walk.waits)}")
    for words, waited in walk.waits:
        print(f"  {words}: {waited:.1f} s")
    viewer.close()


if __name__ == "__main__":
    main()
