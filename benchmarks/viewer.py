"""Times drawing, recoloring and selecting in the window, with thousands of outlines.

Run on a screen or a virtual one:
    xvfb-run -a -s "-screen 0 1600x1200x24" python benchmarks/viewer.py [--curves 6000]

Times are the minimum of several, as wall time and as processor time of the main thread ("own"): load by other programs
affects only the former. "painted" includes the repaint of the window, which without a GPU is done by the processor.
"""

import argparse
import time
from dataclasses import replace

import napari
import numpy as np
from napari.layers import Shapes
from qtpy.QtWidgets import QApplication

from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.viewer.comparing import Outcome
from napari_shape_ensembles.viewer.displayed_result import DisplayedResult
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.inputs import Source, fingerprint
from napari_shape_ensembles.viewer.layers import curve_layers

SPACING, VERTICES = 40, 150


def outlines(count, seed):
    """Star-shaped outlines with a radius of about 13 pixels on a square grid."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(VERTICES) / VERTICES
    waves = np.arange(2, 8)
    parts = [rng.normal(size=(count, len(waves))) * 0.12 / waves**0.7 for _ in range(2)]
    radius = 13 * (1 + parts[0] @ np.cos(waves[:, None] * angle) + parts[1] @ np.sin(waves[:, None] * angle))
    points = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points *= rng.uniform(1, 1.5, (count, 1, 1)) * [1, 0.8]
    side = int(np.ceil(np.sqrt(count)))
    corners = np.stack(np.divmod(np.arange(count), side), axis=-1) * SPACING + SPACING / 2
    return points + corners[:, None]


def shapes_source(curves, name):
    """What a run copies from a Shapes layer."""
    placement = {"scale": np.ones(2), "translate": np.zeros(2), "units": ("pixel", "pixel")}
    return Source("shapes", list(curves), name, np.ones(2), "pixel", placement, "", {})


def painted():
    """Process all pending events, including painting."""
    QApplication.processEvents()


def now():
    """Wall time, and processor time of this thread."""
    return np.array([time.perf_counter(), time.thread_time()])


def timed(action, times=9):
    """Seconds of an action, and including the following repaint, several times."""
    alone, whole = [], []
    for turn in range(times):
        start = now()
        action(turn)
        alone.append(now() - start)
        painted()
        whole.append(now() - start)
    return alone, whole


def line(name, seconds):
    """Print the minimum of several."""
    clock, own = 1000 * np.min(seconds, axis=0)
    print(f"{name:52s} {clock:8.1f} ms   own {own:8.1f} ms")


def adding(dock, result, sources):
    """Add curves to the screen after a comparison has finished."""
    built, blocked, whole = [], [], []
    task = dock.comparison
    layers = [layer for side in task.choices.design.sides() for layer in side]
    fingerprints = tuple(fingerprint(layer, dock.viewer.dims) for layer in layers)
    shown = DisplayedResult.of_run(result, replace(task.current_inputs(), fingerprints=fingerprints), sources)
    for _ in range(3):
        start = now()
        layers = curve_layers(result, shown.view, sources)
        made = now()
        task.start_secondary_job(  # as if the two images had been compared
            lambda layers=layers: Outcome(shown, layers),
            task.restore_result,
        )
        while dock.busy:
            painted()
        ended = now()
        painted()
        built.append(made - start)
        blocked.append(ended - made)
        whole.append(now() - start)
    line("layers built (in the worker)", built)
    line("put into the viewer, in turns", blocked)
    line("from the comparison to the picture", whole)
    if isinstance(layers[0], Shapes):
        vertices = np.concatenate([[len(data) for data in layer.data] for layer in layers])
        print(f"shapes, vertices per curve: {vertices.mean():.1f} of {VERTICES}")
    else:
        print(f"painted labels, pixels: {', '.join(' x '.join(map(str, layer.data[0].shape)) for layer in layers)}")


def switching(dock):
    """Color by another feature."""
    choice = dock.color_by.choice
    alone, whole = timed(lambda turn: choice.setCurrentIndex((turn + 1) % choice.count()))
    line("another column chosen: call", alone)
    line("another column chosen: painted", whole)


def moving(viewer):
    """Time of a frame while zooming and panning."""
    camera = viewer.scene.camera
    frames = timed(lambda turn: setattr(camera, "zoom", camera.zoom * (1.1 if turn % 2 else 0.9)))
    line("zoom: painted", frames[1])
    for name, factor in (("all in view", 1), ("one in twenty in view", np.sqrt(20))):
        camera.zoom *= factor
        painted()
        there, step = np.array(camera.center), np.array([0, 0, 50 / camera.zoom])
        frames = timed(
            lambda turn, there=there, step=step: setattr(camera, "center", there + step * (turn % 5 - 2)), 25
        )
        line(f"pan by 50 pixels, {name}: painted", frames[1])
    viewer.reset_view()
    painted()


def picking(dock):
    """Cost of selecting curves, in all views."""
    dock.curve_window.open()
    explorer, total = dock.curve_window.explorer, len(dock.result.a) + len(dock.result.b)
    painted()
    rng = np.random.default_rng(0)
    for count in (count for count in (1, 100, 1000) if count <= total):
        rows = [rng.choice(total, count, replace=False) for _ in range(9)]
        for page, name in enumerate(("scatter", "table")):
            explorer.tabs.setCurrentIndex(page)
            painted()
            alone, whole = timed(lambda turn, rows=rows: dock.comparison.selection.pick(rows[turn]))
            line(f"{count} curves picked, {name} in front: call", alone)
            line(f"{count} curves picked, {name} in front: painted", whole)
    explorer.parentWidget().hide()
    dock.comparison.selection.pick([])


def main():
    """Print all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=6000)
    count = parser.parse_args().curves // 2
    curves = [outlines(count, seed) for seed in (1, 2)]
    sources = tuple((shapes_source(part, name),) for part, name in zip(curves, "AB", strict=True))
    ensembles = tuple(Ensemble(part, name=name) for part, name in zip(curves, "AB", strict=True))
    result = compare(*ensembles, Settings(permutations=199, landmarks=200, rank=50))
    viewer = napari.Viewer()
    viewer.window.resize(1500, 1100)
    dock = AnswerPage(viewer)
    viewer.window.add_dock_widget(dock, name="Answer")
    for name in "AB":
        viewer.add_image(np.zeros((2200, 2200), dtype=np.float32), name=name)
    painted()
    print(f"{2 * count} curves of {VERTICES} vertices, napari {napari.__version__}")
    adding(dock, result, sources)
    viewer.reset_view()
    painted()
    switching(dock)
    moving(viewer)
    picking(dock)
    viewer.close()


if __name__ == "__main__":
    main()
