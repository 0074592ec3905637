"""Draws docs/images/dock-*.png, bench-*.png and walk.gif: pages of the bench, and both other docks, in a napari window.

Run as ``sh tools/run.sh script docs/figures/screenshots.py [--only bench] [--out FOLDER] [--size 1280x800]``; without
a screen it uses a virtual one.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import napari
import numpy as np
from napari.settings import get_settings
from PIL import Image, ImageDraw
from qtpy.QtCore import QEventLoop, QTimer
from skimage.data import coins
from skimage.draw import polygon

from napari_shape_ensembles import Outlines

IMAGES = Path(__file__).resolve().parents[1] / "images"
PLUGIN = "napari-shape-ensembles"
THEME = "dark"
GAP = 16
SIZE = [1280, 800]  # of a window


def wait(signal=None, milliseconds=600):
    """Run the event loop until a signal arrives, and a little longer."""
    loop = QEventLoop()
    if signal is not None:
        signal.connect(loop.quit)
        loop.exec()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def opened():
    """A viewer in the one theme of the pictures."""
    get_settings().appearance.theme = THEME
    viewer = napari.Viewer(title="Shape ensembles")
    viewer.theme = THEME
    viewer.window.resize(*SIZE)
    return viewer


def dock_of(viewer, name):
    """A dock of the plugin, opened as by its menu."""
    return viewer.window.add_plugin_dock_widget(PLUGIN, name)[1]


def window_picture(viewer, name, out):
    """Save the whole window as a file."""
    wait()
    viewer.screenshot(str(out / f"{name}.png"), canvas_only=False, flash=False)
    made_small(out / f"{name}.png")
    print(name)


def made_small(path):
    """Reduce to 256 colors, including rare ones of color bars: enough for a window, at a third of the size."""
    picture = Image.open(path).convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def draw_bench(out):
    """Pages of the bench, from two images to a result and its sensitivity; and the contrasts of an experiment."""
    viewer = opened()
    viewer.open_sample(PLUGIN, "powder")
    bench = dock_of(viewer, "Shape bench")
    session = bench.session

    def keep(name, viewer=viewer):
        wait()
        viewer.reset_view()  # as in the bench once the docks have their final size
        wait(milliseconds=2000)
        window_picture(viewer, f"bench-{name}", out)

    keep("images")
    bench.next.click()
    while session.proposing.result is None:
        wait(milliseconds=100)
    while not bench.next.isEnabled() or session.segmentation.previewer.busy:
        wait(milliseconds=100)
    wait(milliseconds=1500)
    keep("outlines")
    # Chosen visually in the preview, as in docs/reference/samples.md.
    session.choices.set(Outlines(method="manual", threshold=50))
    wait(milliseconds=3000)
    bench.next.click()
    while session.explanation.result is None:
        wait(milliseconds=100)
    keep("answer")
    answer = bench.pages["Answer"]
    answer.results.explore.click()
    answer.comparison.selection.pick([int(np.argmax(answer.result.distances["undulation"]))])
    wait(milliseconds=1500)
    window_picture(viewer, "dock-curves", out)
    viewer.window.remove_dock_widget(answer.curve_window.explorer)
    bench.next.click()
    keep("why")
    bench.next.click()
    trust = bench.pages["Trust"].show_tab(0)
    trust.run_button.click()
    wait(trust.finished)
    keep("trust")
    viewer.close()
    viewer = opened()
    fields(viewer)
    bench = dock_of(viewer, "Shape bench")
    bench.show_page(1)
    while not bench.next.isEnabled():
        wait(milliseconds=100)
    bench.next.click()
    while bench.session.comparison.answer is None:
        wait(milliseconds=100)
    wait(milliseconds=1500)
    keep("experiment", viewer=viewer)
    viewer.close()


def fields(viewer):
    """Three simulated fields of each of three groups; those of the last are elongated."""
    rng = np.random.default_rng(0)
    around, waves = np.linspace(0, 2 * np.pi, 200), np.arange(2, 9)
    for group, stretch in (("ctrl", 1.0), ("low", 1.1), ("high", 1.5)):
        for field in (1, 2, 3):
            image = rng.normal(0.1, 0.03, (400, 400))
            for row, column in np.ndindex(8, 8):
                form = np.sum(rng.normal(0, 0.02, 7) * np.cos(np.outer(around, waves) + rng.uniform(0, 7, 7)), axis=1)
                radius, turn = rng.uniform(9, 13) * (1 + form), rng.uniform(0, np.pi)
                centre = 50 * (row + 1j * column) + complex(*rng.uniform(23, 27, 2))  # all cover different pixels
                y, x = radius * np.sin(around) * stretch**0.5, radius * np.cos(around) / stretch**0.5
                place = centre + (y + 1j * x) * np.exp(1j * turn)
                image[polygon(place.real, place.imag, image.shape)] += 1
            viewer.add_image(image, name=f"{group}_{field}", scale=(0.5, 0.5), units=("µm", "µm"))


def draw_segment(out):
    """The live preview, and an inspection of the remaining objects."""
    viewer = opened()
    viewer.add_image(coins(), name="coins")
    dock = dock_of(viewer, "Segment curves")
    choices = dock.session.choices
    choices.set(recipe=replace(choices.recipe, background=60, smoothing=2, min_size=200, min_area=500))
    wait(dock.previewed, 1000)
    window_picture(viewer, "dock-segment", out)
    dock.run_button.click()
    wait(dock.finished)
    viewer.window.remove_dock_widget(dock)
    inspect = dock_of(viewer, "Inspect curves")
    inspect.inspection.a.choose(viewer.layers["coins labels"])
    inspect.run_button.click()
    wait(inspect.finished)
    inspect.inspection.set_reviewer("me")
    inspect.inspection.next()
    for name in ("coins labels", "coins outlines"):  # to show only the colors of the scores
        viewer.layers[name].visible = False
    window_picture(viewer, "dock-inspect", out)
    viewer.close()


def draw_walk(out):
    """walk.gif: from two images with outlines to the answer, in two clicks; the button to be clicked is ringed."""
    viewer = opened()
    viewer.open_sample(PLUGIN, "powder_outlines")
    bench = dock_of(viewer, "Shape bench")
    frames = []

    def keep(button=None):
        wait(milliseconds=1500)
        viewer.reset_view()
        wait(milliseconds=1500)
        picture = Image.fromarray(viewer.screenshot(canvas_only=False, flash=False)).convert("RGB")
        if button is not None:
            middle = button.mapTo(button.window(), button.rect().center())
            across, down = button.width() / 2 + 8, button.height() / 2 + 8
            box = (middle.x() - across, middle.y() - down, middle.x() + across, middle.y() + down)
            ImageDraw.Draw(picture).rounded_rectangle(box, radius=12, outline="#ff9f1c", width=5)
        frames.append(picture.resize((960, 960 * picture.height // picture.width), Image.Resampling.LANCZOS))

    keep(bench.next)
    bench.next.click()
    while not bench.next.isEnabled():
        wait(milliseconds=100)
    keep(bench.next)
    bench.next.click()
    while bench.session.explanation.result is None:
        wait(milliseconds=100)
    wait(milliseconds=6000)
    keep()
    viewer.close()
    first, *rest = [frame.quantize(128, dither=Image.Dither.NONE) for frame in frames]
    first.save(out / "walk.gif", save_all=True, append_images=rest, duration=[2500, 2500, 5000], loop=0, optimize=True)


DRAWN = {"bench": draw_bench, "segment": draw_segment, "walk": draw_walk}


def main():
    """Draw the requested figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=DRAWN)
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--size", default="1280x800", help="of the window, where a picture has none of its own")
    options = parser.parse_args()
    SIZE[:] = map(int, options.size.split("x"))
    options.out.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        if options.only in (None, name):
            draw(options.out)


if __name__ == "__main__":
    main()
