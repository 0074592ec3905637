"""Screens in the window: images that stay files, a control, a heat map, and a group opened with its outlines."""

import numpy as np
import pandas as pd
import pytest
import tifffile
from napari.components import ViewerModel
from qtpy.QtWidgets import QFileDialog

from docks import ended, labels_of, press, set_choices, spots
from napari_shape_ensembles.viewer import design_files, experimenting
from napari_shape_ensembles.viewer.docks.experiment import ExperimentPage
from napari_shape_ensembles.viewer.docks.images import ImagesPage
from napari_shape_ensembles.viewer.docks.trust import TrustPage
from napari_shape_ensembles.viewer.inputs import ImageRow, is_own
from napari_shape_ensembles.viewer.session import Session

WELLS = [f"{row}{column:02d}" for row in "AB" for column in range(1, 6)]


@pytest.fixture
def plate(tmp_path):
    """A field of each of ten wells, two of A02 and of B05, in which objects are larger, as labels in files."""
    rows = []
    for well in (*WELLS, "A02", "B05"):
        name = f"{well}_f{len([row for row in rows if row['group'] == well])}.labels.ome.tif"
        plane = labels_of(len(rows), size=14.0 if well == "B05" else 10.0)
        tifffile.imwrite(tmp_path / name, plane)
        rows.append({"image": name, "group": well})
    pd.DataFrame(rows).to_csv(tmp_path / "screen.csv", index=False)
    return tmp_path


def test_a_screen_is_read_from_files_and_a_well_is_opened(model, plate, qtbot, monkeypatch):
    monkeypatch.setattr(design_files, "OPENED", 4)
    session = Session.of(model)
    images, page = ImagesPage(model), ExperimentPage(model)
    qtbot.addWidget(images)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, significance=0.05)
    session.design_work.open(plate / "screen.csv")
    ended(session.design_work, qtbot)
    assert "More than 4 images are not opened as layers" in images.said.text()
    assert not len(model.layers)
    assert all(isinstance(row, ImageRow) for row in session.design.layers())
    images.refresh()
    assert images.table.item(0, 0).text() == "A01_f0"
    page.show_state()
    assert page.control.currentData() == "A01"  # ten groups have 45 pairs
    page.control.setCurrentIndex(page.control.findData("A02"))
    page.control.activated.emit(page.control.currentIndex())
    press(page.run_button, qtbot)
    ended(session.experiment, qtbot)
    assert [row[0] for row in page.result.rows][:2] == ["A01 - A02", "A03 - A02"]
    assert "Over all 10 groups" in page.sentences.text()
    assert page.figure.itemText(0) == "Plate, form"
    wells = page.result.experiment.design.groups
    assert wells[0] == "A02"

    page._open_well(0, 4.2, 0.9)  # the plate: columns to the right, rows downwards
    ended(session.experiment, qtbot)
    assert [layer.name for layer in model.layers] == ["B05_f0 outlines", "B05_f1 outlines"]
    assert all(is_own(layer) for layer in model.layers)
    first = model.layers[0]
    assert len(first.data) == 16
    size = page.result.experiment.outlines
    quantity = first.features.columns[1]
    own = size[size["image"] == [ref().name for ref in session.experiment.basis.layers[0]].index("B05_f0")]
    np.testing.assert_allclose(sorted(first.features[quantity]), sorted(np.exp(own[quantity])))
    page.table.cellDoubleClicked.emit(0, 0)
    ended(session.experiment, qtbot)
    assert [layer.name for layer in model.layers] == ["A01_f0 outlines"]
    assert "A01: outlines filled by" in page.message.text()

    written = []
    monkeypatch.setattr(experimenting, "write_experiment", lambda *given: written.append(given) or [plate / "x"])
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(plate / "out"))
    press(page.files, qtbot)
    ended(session.experiment, qtbot)
    assert written == [(plate / "out", page.result.experiment)]
    session.design.compare_with("B05")
    assert session.experiment.changed_since() == ["the control was changed"]


def test_position_shows_beside_a_comparison_of_two_images(model, qtbot):
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed, rows=4), name=name)
    session = Session.of(model)
    page = TrustPage(model)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, permutations=99)
    session.attach(session.comparison)
    session.comparison.run()
    ended(session.comparison, qtbot)
    qtbot.waitUntil(lambda: "on position within the images" in page.position.text(), timeout=20_000)
    assert page.position.text()[0] in "⚠✓"
    session.comparison.run()
    ended(session.comparison, qtbot)
    ended(session.position, qtbot)
    assert page.position.text()
    session.detach(session.comparison)


def test_a_saved_comparison_brings_the_design_back(model, qtbot, tmp_path):
    def with_images(viewer):
        for seed, name in enumerate(("one", "two", "three")):
            viewer.add_labels(labels_of(seed), name=name)
        session = Session.of(viewer)
        session.attach(session.comparison)
        set_choices(session.choices, landmarks=40, rank=5, permutations=99)
        return session, [viewer.layers[name] for name in ("one", "two", "three")]

    session, layers = with_images(model)
    for layer, group, dose in zip(layers, ("ctrl", "drug", "other"), ("0", "3", "10"), strict=True):
        session.design.write([(layer, "group", group), (layer, "replicate", "m1"), (layer, "dose", dose)])
    rows = session.design.rows()
    session.comparison.run()
    ended(session.comparison, qtbot)
    session.comparison.save(tmp_path / "pair.comparison.npz")
    ended(session.comparison, qtbot)
    other = ViewerModel()
    again, _ = with_images(other)
    again.comparison.open(tmp_path / "pair.comparison.npz")
    ended(again.comparison, qtbot)
    assert again.design.rows() == rows
    chosen = [[[layer.name for layer in side] for side in one.choices.sides.chosen()] for one in (session, again)]
    assert chosen[0] == chosen[1]
    again.design.take_tree({"columns": 3})  # nothing of a damaged file
    assert again.design.rows() == rows
    for one in (session, again):
        one.detach(one.comparison)
