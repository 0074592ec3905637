"""Segment and trace every image of the real data in the dock *Segment curves*, through its controls.

Prints the results of the dock compared with the reference, as benchmarks/segmentation.py does without a window, and
saves a screenshot of each window for inspection. Run as
``sh tools/run.sh script benchmarks/segmentation_dock.py [--data FOLDER] [--only NAME] [--out FOLDER]``.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import napari
from qtpy.QtCore import QEventLoop, QTimer

from napari_shape_ensembles.parameters import tree
from segmentation import HEADINGS, cases, row, spots


def main():
    """Print the table and save the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--only", default="", help="images whose name holds this")
    parser.add_argument("--out", type=Path, help="folder for the pictures")
    options = parser.parse_args()
    print(HEADINGS)
    for case in cases(options.data):
        if options.only in case.name:
            print(through_the_dock(case, options.out), flush=True)
    if not options.only:
        print("\n" + latency())


def through_the_dock(case, out):
    """One line of the table, with the labels and the number of curves that the dock adds to the viewer."""
    viewer = napari.Viewer(title=case.name)
    viewer.window.resize(1500, 1000)
    viewer.add_image(case.image, name=case.name)
    dock = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Segment curves")[1]
    wait(dock.previewed)
    set_controls(dock, case)
    wait(dock.previewed)
    assert dock.form.value == case.recipe, dock.form.value
    seen = len(dock.segmentation.preview.diameters)
    dock.run_button.click()
    wait(dock.finished)
    labels, outlines = (viewer.layers[f"{case.name} {kind}"] for kind in ("labels", "outlines"))
    assert len(outlines.data) == seen, f"{seen} objects in the preview, {len(outlines.data)} outlines made"
    if out is not None:
        keep_picture(viewer, out / f"{case.name}.png")
    line = row(case, labels.data, len(outlines.data))
    viewer.close()
    return line


def latency(times=15):
    """Latency from changing a control to outlines in the viewer, 1024 × 1024: draft, exact, and without splitting."""
    viewer = napari.Viewer(title="latency")
    viewer.add_image(spots(1024, 30), name="spots")
    dock = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Segment curves")[1]
    wait(dock.previewed)
    split = seconds_to(dock, times)
    dock.form.controls["split_touching"].show_value("none")
    wait(milliseconds=1500)
    kinds = {
        "draft": split["draft"],
        "exact": split["exact"],
        "exact without a split": seconds_to(dock, times)["exact"],
    }
    viewer.close()
    return "\n".join(
        f"from a change of a control to the outlines, {kind}: {min(spent):.3f} s at best, {median(spent):.3f} s median"
        for kind, spent in kinds.items()
    )


def seconds_to(dock, times):
    """Seconds from each of many changes of a control until the draft, and the exact outlines, are shown."""
    spent, start = {"draft": [], "exact": []}, 0.0
    task = dock.segmentation

    def shown():
        if task.preview is not None and task.preview.draft:
            spent["draft"].append(time.perf_counter() - start)

    task.changed.connect(shown)
    dock.previewed.connect(lambda: spent["exact"].append(time.perf_counter() - start))
    for index in range(times):
        start = time.perf_counter()
        dock.form.controls["smoothing"].show_value(1.2 if index % 2 == 0 else 1.0)
        wait(milliseconds=1000)
    return spent


def set_controls(dock, case):
    """Set every parameter of a recipe by its control; the method first, as the others depend on it."""
    for name, value in tree(case.recipe).items():
        if value is not None and name in dock.form.controls:
            dock.form.controls[name].show_value(value)


def keep_picture(viewer, path):
    """Save the whole window as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    viewer.reset_view()
    wait(milliseconds=800)
    viewer.screenshot(str(path), canvas_only=False, flash=False)


def wait(signal=None, milliseconds=50):
    """Run the event loop until a signal arrives, and a little longer."""
    loop = QEventLoop()
    if signal is not None:
        signal.connect(loop.quit)
        loop.exec()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


if __name__ == "__main__":
    main()
