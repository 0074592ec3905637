"""Real images through the dock: opened, compared by its button, and read from its panel."""

import numpy as np
from skimage.io import imread

from docks import run
from napari_shape_ensembles.viewer.docks.answer import AnswerPage


def powder(real_data, image):
    """Polygons of the particles of one micrograph not cut by its border, as (row, column)."""
    data = np.load(real_data / "ampis_powder" / "polygons.npz")
    outlines = np.split(data["xy"][:, ::-1].astype(float), data["offsets"][1:-1])
    inside = [(outline > 1).all() and (outline < (1022, 1534)).all() for outline in outlines]
    return [outlines[k] for k in np.flatnonzero((data["image"] == image) & (data["kind"] == 0) & inside)]


def test_raw_and_smoothed_grains_differ_in_undulation_only(shared_data, model, qtbot):
    for name in ("hlf1_noisy", "hlf2_smooth5"):
        model.add_labels(imread(shared_data / "paper" / f"pil184_{name}_labels.png"), name=name)
    dock = whole(model, qtbot)
    assert "form differs;" in run(dock, qtbot)
    assert min(len(dock.result.a), len(dock.result.b)) > 400


def test_two_fields_of_a_powder_differ_in_size_only(real_data, model, qtbot):
    for image in (0, 1):
        model.add_shapes(powder(real_data, image), shape_type="polygon", name=f"field {image}")
    dock = whole(model, qtbot)
    assert "size or elongation differs;" in run(dock, qtbot)
    assert (len(dock.result.a), len(dock.result.b)) == (174, 295)


def whole(model, qtbot):
    """The dock with its default settings."""
    dock = AnswerPage(model)
    qtbot.addWidget(dock)
    return dock
