"""Walk through the bench with a real mouse and keyboard: clicks, waits, words and controls on the screen.

Needs xdotool and a screen; without one a virtual one, as of ``xvfb-run -s "-screen 0 1280x800x24"``.
The powder pair goes from two images to a folder for a paper; with ``--experiment`` nine images of three groups from
their names to the table of contrasts. Prints a line for each action, and saves a picture after each with ``--out``.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import napari
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QSlider,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "figures"))
from screenshots import fields

PLUGIN = "napari-shape-ensembles"
CONTROLS = (QAbstractButton, QComboBox, QAbstractSpinBox, QSlider, QLineEdit)
BEAT, LONG = 10, 0.5  # milliseconds between two looks at the event loop; seconds that count as a wait


class Walk:
    """Presses what a person would press, and measures what a person would feel."""

    def __init__(self, viewer, bench, out):
        self.viewer, self.bench, self.out = viewer, bench, out
        self.clicks, self.keys, self.waits, self.worst = 0, 0, [], 0.0
        self.last = time.perf_counter()
        self.pulse = QTimer()
        self.pulse.timeout.connect(self.beat)
        self.pulse.start(BEAT)

    def beat(self):
        """Note how long the event loop has stood still."""
        now = time.perf_counter()
        self.worst, self.last = max(self.worst, now - self.last - BEAT / 1000), now

    def loop(self, milliseconds):
        """Let the window work."""
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def click(self, widget, until=lambda: True, words=""):
        """Click in the middle of a widget, and wait until something holds."""
        where = widget.mapToGlobal(widget.rect().center())
        self.act(words, until, "mousemove", where.x(), where.y(), "click", 1)
        self.clicks += 1

    def key(self, keys, until=lambda: True, words=""):
        """Press keys in the window, and wait until something holds."""
        self.act(words, until, "key", keys)
        self.keys += 1

    def act(self, words, until, *command):
        """Do something by xdotool; print what came of it."""
        self.worst, self.last = 0.0, time.perf_counter()
        process = subprocess.Popen(["xdotool", *map(str, command)])
        start = time.perf_counter()
        while process.poll() is None:
            self.loop(5)
        while not until() and time.perf_counter() - start < 300:
            self.loop(10)
        waited = time.perf_counter() - start
        self.waits += [(words, waited)] if waited > LONG else []
        self.loop(700)
        controls, count = seen(self.bench)
        print(
            f"{words:32} {waited:6.2f} s, stood still {self.worst * 1000:4.0f} ms; {controls} controls, {count} words"
        )
        if self.out:
            self.viewer.screenshot(str(self.out / f"{self.clicks + self.keys:02d}.png"), canvas_only=False, flash=False)


def seen(page):
    """Numbers of controls and of words in sight."""
    parts = [one for one in page.findChildren((*CONTROLS, QLabel)) if not one.visibleRegion().isEmpty()]
    inner = [
        one for one in parts if isinstance(one, QLineEdit) and isinstance(one.parent(), QAbstractSpinBox | QComboBox)
    ]
    controls = [one for one in parts if isinstance(one, CONTROLS) and one not in inner]
    texts = [one.currentText() if isinstance(one, QComboBox) else one.text() for one in parts if hasattr(one, "text")]
    return len(controls), sum(len((text or "").split()) for text in texts)


def powder(walk):
    """From two images to a folder for a paper."""
    bench, session = walk.bench, walk.bench.session
    folder = tempfile.mkdtemp()
    QFileDialog.getExistingDirectory = staticmethod(lambda *_: folder)  # a dialog of the system
    print(f"images: {seen(bench)}")
    previews = lambda: sum(layer.name.endswith("preview") for layer in walk.viewer.layers) == 2  # noqa: E731
    walk.click(bench.next, previews, "look at the outlines")
    walk.click(bench.next, lambda: session.comparison.result is not None, "compare: the row")
    start = time.perf_counter()
    while session.explanation.headline is None:
        walk.loop(10)
    print(f"{'the sentence, without a click':32} {time.perf_counter() - start:6.2f} s")
    page = bench.pages["Answer"].turn(0)
    walk.click(page.paper, lambda: not session.comparison.unsaved, "everything for a paper")
    print(sorted(path.name for path in Path(folder).iterdir()))
    walk.key("alt+4", lambda: bench.step == "Why" and session.explanation.result is not None, "why (Alt+4)")
    walk.click(bench.next, lambda: bench.step == "Trust", "trust")
    trust = bench.pages["Trust"].turn(0)
    walk.click(trust.run_button, lambda: session.trust.result is not None and not session.trust.busy, "other choices")
    print(trust.sentence.text())


def experiment(walk):
    """From nine images to the table of contrasts."""
    bench, session = walk.bench, walk.bench.session
    page = bench.pages["Images"]
    fold = next(one for one in page.findChildren(QAbstractButton) if "Fill in" in one.text())
    walk.click(fold, words="unfold")
    walk.click(page.fill, lambda: len(session.design.groups()) == 3, "fill from names")
    walk.key("alt+2", lambda: bench.step == "Outlines", "outlines (Alt+2)")
    walk.click(bench.next, lambda: session.experiment.result is not None, "compare all groups")
    print("\n".join(session.experiment.result.sentences))


def main():
    """Walk, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", action="store_true")
    parser.add_argument("--out", type=Path, help="folder for a picture after each action")
    options = parser.parse_args()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    viewer = napari.Viewer(title="Shape ensembles")
    viewer.window.resize(1280, 800)
    fields(viewer) if options.experiment else viewer.open_sample(PLUGIN, "powder")
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    bench.window().move(0, 0)
    bench.window().activateWindow()
    walk = Walk(viewer, bench, options.out)
    walk.loop(2000)
    subprocess.run(["xdotool", "windowfocus", str(int(bench.window().winId()))], check=True)
    (experiment if options.experiment else powder)(walk)
    print(f"{walk.clicks} clicks, {walk.keys} keys; waits above {LONG} s: {len(walk.waits)}")
    for words, waited in walk.waits:
        print(f"  {words}: {waited:.1f} s")
    viewer.close()


if __name__ == "__main__":
    main()
