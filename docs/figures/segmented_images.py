"""Takes every image of the real data from raw file to curves in the dock *Segment curves*, by its own controls.

Prints counts and the mean IoU against the reference, and keeps a picture of each window to be looked at.
Run as ``sh tools/run.sh script docs/figures/segmented_images.py [--only TEXT] [--data FOLDER] [--out FOLDER]``.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from screenshots import dock_of, opened, wait, window_picture

from napari_shape_ensembles import match_labels

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))
from segmentation import cases, without_small


def choose(control, value):
    """Set one control of the dock as its kind is set by hand."""
    if hasattr(control, "findData"):
        control.setCurrentIndex(control.findData(value))
        assert control.currentData() == value, (control.objectName(), value)
    elif hasattr(control, "isChecked"):
        control.setChecked(value)
    else:
        control.setValue(value)
        assert control.value() == value, (control.objectName(), value)


def segmented(viewer, case):
    """The dock after the image was opened, its controls set and the button pressed."""
    viewer.add_image(case.image, name=case.name, rgb=case.image.ndim == 3)
    dock = dock_of(viewer, "Segment curves")
    for name, value in {**case.settings.changed(), "min_area": case.min_area}.items():
        choose(dock.form.controls[name], value)
    assert dock.form.segmentation().changed() == case.settings.changed()
    wait(dock.previewed)
    dock.commit_button.click()
    wait(dock.finished)
    assert dock.committed is not None, dock.message.text()
    return dock


def sentence(case, dock):
    """Counts of objects of at least the minimum area, and the mean IoU of those that match."""
    reference, found = (without_small(labels, case.min_area) for labels in (case.reference, dock.committed.labels.data))
    counts = [len(np.unique(labels[labels > 0])) for labels in (reference, found)]
    matching = match_labels(reference, found)
    curves = sum(map(len, dock.committed.ensembles))
    return (
        f"{case.name}: reference {counts[0]}, found {counts[1]} ({counts[1] / counts[0] - 1:+.0%}), matched "
        f"{len(matching.pairs) / counts[0]:.0%}, mean IoU {matching.pairs['iou'].mean():.2f}, {curves} curves"
    )


def main():
    """Segment what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="images whose name holds this")
    parser.add_argument("--data", type=Path, default=REPOSITORY.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=Path("segmented"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for case in cases(options.data):
        if options.only in case.name:
            viewer = opened("dark")
            print(sentence(case, segmented(viewer, case)), flush=True)
            window_picture(viewer, case.name.replace(" ", "-"), options.out)
            viewer.close()


if __name__ == "__main__":
    main()
