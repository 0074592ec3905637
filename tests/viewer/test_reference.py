"""Images judged by a reference on the page *Answer*: made of a group, saved, opened, and used for a folder."""

import numpy as np
import pandas as pd
import pytest
import tifffile
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QFileDialog, QHeaderView

from docks import out_of_date, press, set_choices, wait_until_idle
from napari_shape_ensembles.comparison import Reference
from napari_shape_ensembles.outlines.rasterize import rasterize
from napari_shape_ensembles.samples.synthetic import draw_forms
from napari_shape_ensembles.viewer.close_confirmation import loss_warnings
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.files import reader
from napari_shape_ensembles.viewer.referring import Judgement

USUAL = 19


@pytest.fixture(scope="module")
def planes():
    """Labels of nineteen images of a kind, one more of it, and one of rougher outlines."""
    generator = np.random.default_rng(0)
    places = [(30 + 60 * (number // 2), 30 + 60 * (number % 2)) for number in range(4)]

    def plane(roughness):
        forms = draw_forms(generator, len(places), roughness=roughness, waves=(8, 12))
        return rasterize(
            [15 * form / form.std() + place for form, place in zip(forms, places, strict=True)], (120, 120)
        )

    return [*(plane(0.04) for _ in range(USUAL + 1)), plane(0.13)]


@pytest.fixture
def page(model, planes, qtbot):
    for number, plane in enumerate(planes):
        model.add_labels(plane, name=f"image {number}", scale=(0.5, 0.5), units=("um", "um"))
    qtbot.addWidget(page := AnswerPage(model))
    set_choices(page.session.choices, landmarks=60)
    names = {layer.name: "usual" if int(layer.name.split()[1]) < USUAL else "query" for layer in model.layers}
    page.session.design.write([(layer, "group", names[layer.name]) for layer in model.layers])
    page.of_reference.fold(False)
    return page


def made(page, qtbot):
    panel = page.reference
    panel.group.setCurrentIndex(panel.group.findText("usual"))
    press(panel.make, qtbot)
    wait_until_idle(panel.task, qtbot)
    return panel


def test_images_of_other_groups_are_judged_and_unlike_outlines_painted(page, model, qtbot):
    panel = page.reference
    assert not panel.run_button.isEnabled()
    assert "Make a reference of a group" in panel.reason.text()
    made(page, qtbot)
    assert panel.about.text().startswith("group usual: 19 images, 76 outlines in µm")
    assert loss_warnings(page.session) == [
        "The table of groups is not saved: it would be lost.",
        "The reference is not saved: it would be lost.",
    ]
    press(panel.run_button, qtbot)
    wait_until_idle(panel.task, qtbot)
    cells = [[panel.table.item(row, column).text() for column in range(3)] for row in range(2)]
    assert cells[0] == ["image 20", "both", "0.05"]
    assert cells[1][:2] == ["image 19", "nothing"]
    assert "1 of 2 images differs from the reference" in panel.sentences.text()
    assert panel.table.wordWrap()
    assert panel.table.verticalHeader().sectionResizeMode(0) == QHeaderView.ResizeMode.ResizeToContents
    (layer,) = [one for one in model.layers if one.name == "image 20 unlike"]
    assert [model.layers["image 20"], layer] in [cell.layers for cell in page.session.image_cells.cells()]
    outlines = page.session.referring.result.unlike[1][0]
    shown = [0.5 * curve.mean(axis=0) for curve in layer.data]  # single precision
    np.testing.assert_allclose(shown, [curve.mean(axis=0) for curve in outlines], rtol=1e-5)
    assert layer.features["score"].sum() == pytest.approx(1)

    before = panel.task.result
    model.layers["image 20"].data = model.layers["image 19"].data  # the image is replaced
    qtbot.waitUntil(lambda: "image 20 was changed" in out_of_date(panel))
    press(panel.run_button, qtbot)
    wait_until_idle(panel.task, qtbot)
    assert panel.task.result is not before
    assert "image 20 unlike" not in model.layers


def test_outlines_too_small_for_the_pixels_of_the_reference_are_not_painted(page, model, planes, qtbot):
    fine = np.kron(planes[-1], np.ones((2, 2), int))
    fine[:6, :6] = 9
    model.layers["image 20"].data = fine
    model.layers["image 20"].scale = 0.25, 0.25
    set_choices(page.session.choices, min_area=20, keep_border=True)
    panel = made(page, qtbot)
    press(panel.run_button, qtbot)
    wait_until_idle(panel.task, qtbot)
    row = page.session.referring.result.table.set_index("name").loc["image 20"]
    assert (row["differs"], row["outlines"]) == ("both", 4)
    assert len(model.layers["image 20 unlike"].data) == 4


def test_enter_on_the_part_about_the_reference_judges_images_rather_than_compare(page, qtbot, shown):
    shown(page)
    panel = made(page, qtbot)
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    for _ in range(2):  # whichever of both pages Qt asks first
        panel.referring.result = None
        panel.group.setFocus()
        qtbot.keyClick(panel.group, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: panel.referring.result is not None and not panel.referring.busy)
    assert page.comparison.result is None
    assert not page.comparison.busy


def test_a_reference_is_saved_opened_and_judges_a_folder(page, model, planes, tmp_path, qtbot, monkeypatch):
    panel = made(page, qtbot)
    path, folder = tmp_path / "usual.reference.npz", tmp_path / "folder"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    panel.dialogs.save_reference()
    wait_until_idle(panel.task, qtbot)
    assert loss_warnings(page.session) == ["The table of groups is not saved: it would be lost."]
    assert len(Reference.load(path)) == USUAL
    folder.mkdir()
    for name, plane in (("rough", planes[-1]), ("like", planes[-2])):
        metadata = {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
        tifffile.imwrite(folder / f"{name}.ome.tif", plane.astype(np.uint16), metadata=metadata)
    tifffile.imwrite(folder / "like_masks.tif", np.zeros((8, 8), np.uint8))
    monkeypatch.setattr("napari.current_viewer", lambda: model)
    assert reader(str(path))(str(path)) == [(None,)]
    wait_until_idle(panel.task, qtbot)
    assert panel.about.text().startswith("usual.reference.npz: 19 images")
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    press(panel.folder, qtbot)
    wait_until_idle(panel.task, qtbot)
    assert [panel.table.item(row, 0).text() for row in range(2)] == ["rough", "like"]
    assert [panel.table.item(row, 1).text() for row in range(2)] == ["both", "nothing"]
    assert "are left out (like_masks.tif)" in panel.sentences.text()


def test_too_few_images_are_refused_with_what_is_needed(page, model, qtbot):
    page.session.design.write([(layer, "group", "usual" if place < 2 else "query")
                               for place, layer in enumerate(model.layers)])  # fmt: skip
    panel = made(page, qtbot)
    assert "a reference needs at least 3 images of the accepted kind, not 2" in panel.message.text()
    assert panel.referring.reference is None
    assert panel.make.isEnabled()


def test_images_without_a_p_value_are_listed_once_after_the_others():
    assert Judgement(pd.DataFrame({"p": [np.nan, 0.5, np.nan, 0.05]}), (), pd.DataFrame()).ranked == [3, 1, 0, 2]
