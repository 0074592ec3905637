"""A viewer with the dock in it, small images, and a way to run a comparison by pressing its buttons."""

import os

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import Qt
from skimage.draw import polygon2mask

from curve_makers import blobs
from napari_shape_ensembles.viewer.compare_dock import CompareShapes

# Layers touched from another thread, and widgets left behind, are errors.
os.environ["NAPARI_ENSURE_PLUGIN_MAIN_THREAD"] = "1"
os.environ["NAPARI_STRICT_QT"] = "1"

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


@pytest.fixture
def model():
    """A viewer without a window: quick, and enough for all that is not drawn."""
    return ViewerModel()


@pytest.fixture
def bare_dock(model, qtbot):
    """The dock beside two images, without a window around it."""
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    return bare(model, qtbot)


def bare(viewer, qtbot):
    widget = CompareShapes(viewer)
    qtbot.addWidget(widget)
    widget.settings.controls["permutations"].setValue(199)
    widget.settings.controls["landmarks"].setValue(50)
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
