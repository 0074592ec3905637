"""Open napari with the Shape bench, compare two images, and show or save the result.

Run as ``python tools/demo.py [--a ONE --b TWO] [--out PICTURE]``.
"""

import argparse
import sys
from pathlib import Path

import napari
from qtpy.QtCore import QEventLoop, QTimer

from napari_shape_ensembles.comparison import Comparison
from napari_shape_ensembles.words import counted

PLUGIN = "napari-shape-ensembles"
IMAGES, OUTLINES = "powder", "powder_outlines"
_WINDOW = (1500, 900)


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; returns 0 for any answer and 1 for an error, which is printed."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--a", type=Path, help="first image; if omitted, a sample pair is compared")
    parser.add_argument("--b", type=Path, help="second image")
    parser.add_argument("--out", type=Path, help="save a screenshot of the window to this file and exit")
    options = parser.parse_args(arguments)
    viewer = napari.Viewer(title="Shape ensembles")
    viewer.window.resize(*_WINDOW)
    try:
        if (options.a is None) != (options.b is None):
            raise ValueError("give both images, --a and --b, or neither")
        if options.a is None:
            viewer.open_sample(PLUGIN, IMAGES)
            # Two selected layers become A and B: the hand-drawn outlines, rather than a segmentation.
            viewer.layers.selection = set(viewer.open_sample(PLUGIN, OUTLINES))
        else:
            for path in (options.a, options.b):
                if not path.is_file():
                    raise ValueError(f"there is no file {path}")
                viewer.open(path)
        result = _run_comparison(viewer)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        viewer.close()
        return 1
    _wait(1000)  # let the bench widen for the answer, which resizes the canvas
    viewer.reset_view()
    print(result.summary())
    for side, ensemble in (("A", result.a), ("B", result.b)):
        print(f"{side}: {ensemble.name}, {counted(len(ensemble), 'curve')}")
    if options.out is None:
        napari.run()
    else:
        _wait(500)
        viewer.screenshot(str(options.out), canvas_only=False, flash=False)
        print(f"picture: {options.out}")
        viewer.close()
    return 0


def _run_comparison(viewer: napari.Viewer) -> Comparison:
    """Run the comparison in the bench, as a user would, and wait for the result."""
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    task, explanation = bench.session.comparison, bench.session.explanation
    if reason := task.blocking_reason():
        raise ValueError(reason)
    bench.compare()
    while task.busy:
        _wait(50)
    if task.result is None:
        raise ValueError(task.message.removeprefix("⚠ "))
    while explanation.headline is None and not explanation.failed:
        _wait(50)
    return task.result


def _wait(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


if __name__ == "__main__":
    sys.exit(main())
