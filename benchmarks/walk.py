"""Walks through the bench with real mouse and keyboard events: counts clicks, waits, words and visible controls.

Needs xdotool and a screen, possibly virtual as by ``xvfb-run -s "-screen 0 1280x800x24"``; run as
``python benchmarks/walk.py powder|keys|groups|replicates|single|mask|many [--theme light] [--out FOLDER]``:

- ``powder``: two images of 1.6 megapixels, to a folder for a paper; ``keys``: by keyboard only, from napari's menu;
- ``replicates``: three images of each of two groups, grouped by their names; ``groups``: of each of three groups;
  ``many``: twelve of each of two;
- ``single``: one image, to its unusual outlines as layers;
- ``mask``: a mask beside its image, to the queue of objects to review.

Prints a line for each action, and saves a screenshot after each with ``--out``. Stalls of the event loop are those of
`stalls`: the longest of each action, by the work of the window's thread.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import napari
import numpy as np
from qtpy.QtCore import QEventLoop, Qt, QTimer
from qtpy.QtGui import QTextDocumentFragment
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMainWindow,
    QScrollArea,
    QSlider,
    QWidget,
)

from napari_shape_ensembles import samples
from napari_shape_ensembles.viewer.docks.bench import Bench
from stalls import StallMeter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "figures"))
from screenshots import fields

PLUGIN = "napari-shape-ensembles"
CONTROLS = (QAbstractButton, QComboBox, QAbstractSpinBox, QSlider, QLineEdit)
REACTION = 250  # time from seeing a control to clicking on it, in milliseconds
LONG = 0.5  # minimum wait in seconds that counts as one


class Walk:
    """Performs the user's actions, and measures their latency."""

    bench = None

    def __init__(self, viewer, out):
        self.viewer, self.out = viewer, out
        self.clicks, self.keys, self.scrolls, self.waits, self.worst = 0, 0, 0, [], []
        self.controls, self.words = 0, 0  # most on a page
        self.meter = StallMeter()

    def loop(self, milliseconds):
        """Run the event loop."""
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def click(self, widget, until=lambda: True, words=""):
        """Click in the center of a widget, scrolling to it if necessary, and wait for a condition."""
        area = widget.parent()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parent()
        if area is not None and not widget.visibleRegion().contains(widget.rect().center()):
            area.ensureWidgetVisible(widget)
            self.loop(50)
            self.scrolls += 1
        self.clicks += 1
        self.aim(widget)
        self.act(words, until, "click", 1)

    def aim(self, widget):
        """Move the pointer to the center of a widget, again if the page has moved it meanwhile, as a person would."""
        where = None
        while where != (where := widget.mapToGlobal(widget.rect().center())) or not widget.isEnabled():
            subprocess.run(["xdotool", "mousemove", str(where.x()), str(where.y())], check=True)
            self.loop(REACTION)
            if (now := widget.mapToGlobal(widget.rect().center())) != where:
                print(f"    the page moved under the pointer, by {(now - where).x()}, {(now - where).y()} pixels")

    def key(self, keys, until=lambda: True, words=""):
        """Press keys in the window, and wait for a condition."""
        self.keys += 1
        self.act(words, until, "key", keys)

    def act(self, words, until, *command):
        """Perform an action with xdotool, and print its effect."""
        self.meter.restart()
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
        self.controls, self.words = max(self.controls, controls), max(self.words, count)
        stalls = self.meter.longest(1)
        self.worst += stalls
        print(f"{words:32} {waited:6.2f} s; {controls} controls, {count} words{f'; {stalls[0]}' if stalls else ''}")
        if self.out:
            self.viewer.screenshot(str(self.out / f"{self.clicks + self.keys:02d}.png"), canvas_only=False, flash=False)
            self.meter.restart()


def seen(page):
    """Numbers of visible controls and words; numbers alone are no words."""
    every = page.findChildren(QWidget)
    parts = [one for one in every if isinstance(one, (*CONTROLS, QLabel)) and not one.visibleRegion().isEmpty()]
    inner = [
        one for one in parts if isinstance(one, QLineEdit) and isinstance(one.parent(), QAbstractSpinBox | QComboBox)
    ]
    controls = [one for one in parts if isinstance(one, CONTROLS) and one not in inner]
    texts = [one.currentText() if isinstance(one, QComboBox) else one.text() for one in parts if hasattr(one, "text")]
    words = [word for text in texts for word in plain(text or "").split() if any(map(str.isalpha, word))]
    return len(controls), len(words)


def plain(text):
    """The text of a label without its markup."""
    return QTextDocumentFragment.fromHtml(text).toPlainText() if Qt.mightBeRichText(text) else text


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
    while session.explanation.headline is None or session.comparison.busy:
        walk.loop(10)
    print(f"{'the sentence, without a click':32} {time.perf_counter() - start:6.2f} s")
    page = bench.pages["Answer"]
    walk.click(page.paper, lambda: not session.comparison.unsaved, "everything for a paper")
    print(sorted(path.name for path in Path(folder).iterdir()))
    walk.key("alt+4", lambda: bench.step == "Why" and session.explanation.result is not None, "why (Alt+4)")
    walk.click(bench.next, lambda: bench.step == "Trust", "trust")
    trust = bench.pages["Trust"].show_tab(0)
    walk.click(trust.run_button, lambda: session.trust.result is not None and not session.trust.busy, "other choices")
    print(trust.sentence.text(), trust.exceptions.text())
    checked(walk)


def checked(walk):
    """Show the answer after the checks in the background."""
    bench, session = walk.bench, walk.bench.session
    while session.checking.busy or session.trust.busy or not session.comparison.result.checks.tried:
        walk.loop(10)
    walk.key("alt+3", lambda: bench.step == "Answer", "the answer after its checks (Alt+3)")
    print(bench.pages["Answer"].suspects.label.text(), bench.pages["Answer"].checks.text())


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
    paper = walk.bench.pages["Answer"].paper
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


def replicates(walk):
    """From images that are grouped by their names to the answer."""
    bench, session = walk.bench, walk.bench.session
    count = sum(map(len, session.design.groups().values()))
    walk.click(bench.next, lambda: are_outlined(bench, count), f"look at the outlines of {count}")
    walk.click(bench.next, lambda: has_answer(session.comparison), "compare")
    print(session.comparison.unanswered or session.comparison.result.summary().splitlines()[0])
    if session.comparison.result is not None:
        checked(walk)


def has_answer(comparison):
    """Whether there is an answer, or the reason why there is none."""
    return not comparison.busy and (comparison.result is not None or bool(comparison.unanswered))


def single(walk):
    """From one image to its outlines as layers."""
    bench, segmentation = walk.bench, walk.bench.session.segmentation
    walk.click(bench.next, lambda: bench.next.isEnabled() and "Make" in bench.next.text(), "look at the outlines")
    walk.click(bench.next, lambda: segmentation.has_result and not segmentation.busy, "make layers")


def mask(walk):
    """From a mask beside its image to the queue."""
    page, inspection = walk.bench.pages["Images"], walk.bench.session.inspection
    while page.mask.isHidden():
        walk.loop(10)
    walk.click(page.mask.button, lambda: inspection.result is not None and not inspection.busy, "inspect it")


def simulated(viewer, count):
    """Images of two groups with names that tell them apart, of 64 objects each."""
    rng = np.random.default_rng(0)
    rows, columns = np.indices((400, 400))
    for group, stretch in (("wt", 1.0), ("ko", 1.4)):
        for number in range(1, count + 1):
            image = rng.normal(0.1, 0.03, rows.shape)
            for row, column in np.ndindex(8, 8):
                y, x = rows - 50 * row - rng.uniform(23, 27), columns - 50 * column - rng.uniform(23, 27)
                image[np.hypot(y * stretch, x) < rng.uniform(10, 15)] += 1
            viewer.add_image(image, name=f"{group}_{number:02d}")


def with_mask(viewer):
    """An image, and its mask opened as an image."""
    image, found = (pair().a for pair in (samples.nuclei, samples.nuclei_labels))
    viewer.add_image(image, name="image")
    viewer.add_image(found.astype(np.uint16), name="mask")


#: For each walk, its images, and its actions.
WALKS = {
    "powder": (lambda viewer: viewer.open_sample(PLUGIN, "powder"), powder),
    "keys": (lambda viewer: viewer.open_sample(PLUGIN, "powder"), by_keys),
    "groups": (fields, replicates),
    "replicates": (lambda viewer: simulated(viewer, 3), replicates),
    "many": (lambda viewer: simulated(viewer, 12), replicates),
    "single": (lambda viewer: viewer.add_image(samples.nuclei().a, name="image"), single),
    "mask": (with_mask, mask),
}


def main():
    """Walk, and summarize."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("walk", choices=WALKS)
    parser.add_argument("--theme", choices=("dark", "light"), default="dark", help="napari's theme")
    parser.add_argument("--out", type=Path, help="folder for a picture after each action")
    options = parser.parse_args()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    viewer = napari.Viewer(title="Shape ensembles")
    viewer.theme = options.theme
    viewer.window.resize(1280, 800)
    images, actions = WALKS[options.walk]
    images(viewer)
    walk = Walk(viewer, options.out)
    walk.loop(500)
    if options.walk == "keys":
        opened_by_keys(walk)
    else:
        start = time.perf_counter()
        walk.meter.restart()
        walk.bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
        in_front(walk.bench)
        walk.settle("open the bench", time.perf_counter() - start)
    actions(walk)
    print(
        f"{walk.clicks} clicks, {walk.keys} keys, {walk.scrolls} scrolls; "
        f"at most {walk.controls} controls and {walk.words} words; "
        f"processor time {time.process_time():.0f} s; waits above {LONG} s: {len(walk.waits)}"
    )
    for words, waited in walk.waits:
        print(f"  {words}: {waited:.1f} s")
    if walk.worst:
        print(f"longest stall: {max(walk.worst, key=lambda stall: stall.own)}")
    walk.meter.stop()
    viewer.close()


if __name__ == "__main__":
    main()
