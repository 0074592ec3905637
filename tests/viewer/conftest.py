"""A viewer with the dock in it, small images, and a way to run a comparison by pressing its buttons."""

import numpy as np
import pytest
from qtpy.QtCore import Qt
from skimage.draw import polygon2mask

from curve_makers import blobs

SPACING = 40


def spots(seed=0, *, size=12.0, rows=6, noise=0.05):
    """An image of bright blobs on a dark ground, far from the border and from each other."""
    rng = np.random.default_rng(seed)
    image = rng.normal(0.1, noise, (rows * SPACING + 20,) * 2)
    for index, outline in enumerate(blobs(rows * rows, 60, seed=seed, elongation=1.5)):
        outline = outline - outline.mean(axis=0)
        outline *= size / np.sqrt((outline**2).sum(axis=1).mean())
        centre = np.array(divmod(index, rows)) * SPACING + SPACING // 2 + 10
        image[polygon2mask(image.shape, outline + centre)] += 1
    return image


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def dock(viewer, qtbot):
    """The dock, opened through the manifest beside two images."""
    viewer.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    viewer.add_image(spots(2), name="two", scale=(0.5, 0.5), units=("um", "um"))
    return opened(viewer, qtbot)


def opened(viewer, qtbot):
    _, widget = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Compare shapes")
    widget.settings.controls["permutations"].setValue(300)
    widget.settings.controls["landmarks"].setValue(100)
    return widget


def press(button, qtbot):
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def run(widget, qtbot):
    """Press Run and wait for the end."""
    with qtbot.waitSignal(widget.finished, timeout=30_000):
        press(widget.run_button, qtbot)
    return widget.results.text()


def curves_of(viewer, name):
    return viewer.layers[f"{name} curves"]
