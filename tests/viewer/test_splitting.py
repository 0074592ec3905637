"""Parts of a layer as rows of the design table, and the table as a file; without a window."""

import imageio.v3 as iio
import napari
import numpy as np
import pandas as pd
import pytest
import tifffile
from napari.layers import Shapes
from typer.testing import CliRunner

from docks import ended, execute, same, set_choices, wait_until_idle
from image_makers import labels_of, spots
from napari_shape_ensembles import Settings, archetype_sensitivity, compare
from napari_shape_ensembles.cli import app
from napari_shape_ensembles.io import load_settings
from napari_shape_ensembles.io.design import read_design
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file
from napari_shape_ensembles.outlines.reasons import AT_BORDER
from napari_shape_ensembles.viewer.docks.images import ImagesPage
from napari_shape_ensembles.viewer.inputs import ensemble_of
from napari_shape_ensembles.viewer.report import script_of
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.splitting import split_options


@pytest.fixture
def session(model):
    session = Session.of(model)
    session.attach()
    yield session
    session.detach()


def split(session, layer, title, qtbot):
    """Split a layer by the method whose title starts with this text, and return the layers of the parts."""
    model = session.choices.viewer
    (way,) = [one for one in split_options(layer, model.layers, model.dims) if one.title.startswith(title)]
    before = list(model.layers)
    session.design_work.split(layer, way)
    wait_until_idle(session.design_work, qtbot)
    return [one for one in model.layers if one not in before]


def outlines(session, layer):
    return ensemble_of(layer, session.choices.dims, session.choices.recipe)


def test_planes_of_a_stack_replace_its_row(session, model, qtbot):
    planes = np.stack([spots(1, rows=3, size=9.0), spots(2, rows=3)])
    stack = model.add_image(planes, name="dish  1", scale=(1, 0.5, 0.5), units=("pixel", "um", "um"))
    first, second = split(session, stack, "Planes along axis 0 (2)", qtbot)
    assert [first.name, second.name] == ["dish  1 plane 0", "dish  1 plane 1"]
    assert session.design.layers() == [first, second]
    assert session.design.rows() == (
        ("group", "replicate"),
        ("plane 0", "dish 1"),
        ("plane 1", "dish 1"),
    )
    assert list(map(list, session.design.sides())) == [[first], [second]]
    assert session.design.has_parts
    np.testing.assert_allclose(second.scale, (0.5, 0.5))
    model.dims.set_current_step(0, 1)
    assert outlines(session, second).curves[0].tolist() == outlines(session, stack).curves[0].tolist()
    stack.data[1] = 0  # a view: changes of the whole layer also change the part
    assert not second.data.any()
    model.layers.remove(first)
    model.layers.remove(second)
    assert session.design.layers() == [stack]
    assert session.design.groups() == {"A": [stack]}


@pytest.mark.parametrize("group", ["B", "cells"])
def test_a_layer_of_regions_is_no_sample_unless_it_has_a_group_of_its_own(session, model, qtbot, group):
    image = model.add_image(spots(1, rows=4), name="slide")
    box = np.array([[-0.5, -0.5], [-0.5, 90], [181, 90], [181, -0.5]])
    drawn = model.add_shapes([box, box + np.array([0, 90.5])], name="zones", shape_type="polygon")  # of a file
    session.design.write([(drawn, "group", group)])
    first, second = split(session, image, "Regions of zones", qtbot)
    own = {"cells": [drawn]} if group == "cells" else {}
    assert session.design.groups() == {**own, "region 1": [first], "region 2": [second]}
    if not own:
        assert list(map(list, session.design.sides())) == [[first], [second]]


def test_objects_of_a_region_are_segmented_in_the_whole_plane(session, model, qtbot):
    plane = spots(1, rows=4)
    plane[:, 90:] *= 0.5  # its own threshold would find more objects on the right
    image = model.add_image(plane, name="slide", scale=(0.5, 0.5), units=("um", "um"))
    whole = outlines(session, image)
    box = np.array([[-0.5, -0.5], [-0.5, 90], [181, 90], [181, -0.5]])
    drawn = model.add_shapes([box / 2, box / 2 + (0, 45.25)], name="zones", scale=(1, 1), units=("um", "um"))
    left, right = split(session, image, "Regions of zones", qtbot)
    np.testing.assert_allclose(right.translate, (0, 45.0))
    assert right.data.base is not None
    found = outlines(session, left)
    kept = {one for one, curve in zip(whole.ids.tolist(), whole.curves, strict=True) if curve[:, 1].max() < 45}
    assert set(found.ids.tolist()) == kept
    cut = len(whole) - len(found) - len(outlines(session, right))
    assert cut == 0 or found.dropped[AT_BORDER] >= cut
    assert drawn in session.design.layers()
    zones = model.add_labels(np.repeat(np.repeat([[0, 3]], 180, axis=0), 90, axis=1), name="side", scale=(0.5, 0.5),
                             units=("um", "um"))  # fmt: skip
    model.layers.remove(left)
    model.layers.remove(right)
    (part,) = split(session, image, "Regions of side", qtbot)
    assert part.name == "slide region 3"
    assert set(outlines(session, part).ids.tolist()) == {
        one for one, curve in zip(whole.ids.tolist(), whole.curves, strict=True) if curve[:, 1].min() > 44.75
    }
    assert zones.visible


def test_the_script_for_two_regions_of_a_file_compares_them(session, model, tmp_path, qtbot):
    tifffile.imwrite(tmp_path / "slide.tif", spots(1, rows=6))
    image = model.open(tmp_path / "slide.tif", plugin="napari")[0]
    rows, columns = image.data.shape
    half = np.array([[0, 0], [0, columns // 2 - 1], [rows, columns // 2 - 1], [rows, 0]])
    model.add_shapes([half, half + np.array([0, columns // 2])], name="zones")
    left, right = split(session, image, "Regions of zones", qtbot)
    set_choices(session.choices, landmarks=60, rank=5, permutations=99, significance=0.1)
    session.design.choose([left], [right])
    ended(session.comparison, qtbot, session.comparison.run)
    result = session.comparison.result
    assert len(result.a) + len(result.b) <= len(outlines(session, image))
    code = script_of(session.comparison.shown)
    assert "viewer" not in code
    model.layers.clear()
    same(execute(code)[0]["result"], result)


def test_classes_of_masks_and_curves_are_rows(session, model, qtbot):
    classes = (labels_of(1) > 0).astype(np.uint8)
    classes[:, 90:] *= 2
    mask = model.add_labels(classes, name="steel", metadata={"phases": {1: "ferrite"}})
    ferrite, other = split(session, mask, "Classes (2)", qtbot)
    assert [ferrite.name, other.name] == ["steel ferrite", "steel class 2"]
    assert list(session.design.groups()) == ["ferrite", "class 2"]
    assert ferrite.data.max() == 8
    squares = [np.array([[0, 0], [0, 4], [4, 4], [4, 0]]) + 9 * i for i in range(6)]
    cells = model.add_shapes(squares, shape_type="polygon", features={"kind": list("ababab"), "area": np.arange(6.0)})
    titles = [one.title for one in split_options(cells, [], model.dims)]
    assert titles == ["Values of kind (2)", "Replicates by kind (2)"]
    a, b = split(session, cells, "Values of kind", qtbot)
    assert (len(a.data), len(b.data)) == (3, 3)
    assert b.features["kind"].tolist() == ["b"] * 3
    assert isinstance(b, Shapes)


@pytest.fixture
def leaves(model):
    """Outlines of two groups, of which a column names the plant."""
    square = np.array([[0, 0], [0, 4], [4, 4], [4, 0]])
    return [
        model.add_shapes(
            [square + 9 * i for i in range(12)],
            shape_type="polygon",
            name=name,
            features={"plant": np.repeat(range(1, plants + 1), 12 // plants), "area": np.arange(12) / 8},
        )
        for name, plants in (("control", 4), ("mutant", 3))
    ]


def test_pooled_outlines_are_split_by_a_column_of_replicates_and_together_again(session, model, leaves, qtbot):
    control, mutant = leaves
    session.design.write([(control, "group", "control"), (mutant, "group", "mutant")])
    qtbot.addWidget(page := ImagesPage(model))
    page.refresh()
    assert page.pooled.label.text() == "Column plant: 4 and 3 replicates?"
    before = session.design.to_tree()
    page.pooled.button.click()
    wait_until_idle(session.design_work, qtbot)
    page.refresh()
    assert page.divided.label.text() == "Split by plant into 4 and 3 replicates."
    assert page.pooled.isHidden()
    assert not page.message.text()
    assert "one replicate" not in page.reason.text()
    assert session.design.rows() == (
        ("group", "replicate"),
        *(("control", f"plant {plant}") for plant in (1, 2, 3, 4)),
        *(("mutant", f"plant {plant}") for plant in (1, 2, 3)),
    )
    a, b = session.design.sides()
    assert [layer.name for layer in a[:2]] == ["control plant 1", "control plant 2"]
    assert ([len(layer.data) for layer in a], [len(layer.data) for layer in b]) == ([3] * 4, [4] * 3)
    assert not control.visible
    model.layers.selection = {a[0], b[0]}  # does not choose a pair of images
    assert session.design.sides() == (a, b)

    page.divided.button.click()
    page.refresh()
    assert list(model.layers) == leaves
    assert session.design.to_tree() == before
    assert control.visible
    assert mutant.visible
    assert page.divided.isHidden()
    assert not page.pooled.isHidden()


def test_replicates_by_any_column_keep_the_groups_and_missing_ones_are_counted(session, model, leaves, qtbot):
    control, mutant = leaves
    session.design.write([(control, "group", "A"), (mutant, "group", "B")])
    control.features = {"pot": ["x", "x", "y", "y"] * 3}
    assert session.design.pooled() is None  # a name that tells nothing, and only one has the column
    parts = split(session, control, "Replicates by pot (2)", qtbot)
    assert [session.design.cell(part, "replicate") for part in parts] == ["x", "y"]
    assert list(map(list, session.design.sides())) == [parts, [mutant]]
    said = []
    session.design_work.message_posted.connect(said.append)
    mutant.features = {"pot": ["x"] * 5 + ["y"] * 5 + [None] * 2}
    split(session, mutant, "Replicates by pot", qtbot)
    assert said[-1] == '⚠ 2 of 12 outlines of "mutant" have no pot: fill the column, or delete them'


def test_no_layer_is_split_if_one_of_them_lacks_replicates(session, model, leaves, qtbot):
    control, mutant = leaves
    session.design.write([(control, "group", "control"), (mutant, "group", "mutant")])
    qtbot.addWidget(page := ImagesPage(model))
    for missing in (None, "", " "):
        mutant.features = {"plant": [*"aaaaabbbbb", missing, missing]}
        page.message.clear()
        page.refresh()
        page.pooled.button.click()
        wait_until_idle(session.design_work, qtbot)
        assert list(model.layers) == leaves
        assert control.visible
        said = '⚠ 2 of 12 outlines of "mutant" have no plant: fill the column, or delete them'
        assert page.message.text() == said


def test_a_column_is_not_offered_where_replicates_are_entered(session, model, leaves, qtbot):
    control, mutant = leaves
    session.design.write([(control, "group", "A"), (mutant, "group", "B")])
    assert session.design.pooled() == ("plant", {control: 4, mutant: 3})
    session.design.write([(control, "replicate", "garden")])
    assert session.design.pooled() is None


def test_the_background_of_labels_is_no_value(session, model, qtbot):
    labels = model.add_labels(labels_of(2), name="cells")
    count = int(labels.data.max())
    labels.features = pd.DataFrame({"index": range(count + 1), "well": ["none"] + ["B2", "C3"] * (count // 2)})
    titles = [way.title for way in split_options(labels, [], model.dims)]
    assert titles[1:] == ["Values of well (2)", "Replicates by well (2)"]
    parts = split(session, labels, "Replicates", qtbot)
    assert [part.name for part in parts] == ["cells B2", "cells C3"]
    assert [int(np.count_nonzero(np.unique(part.data))) for part in parts] == [count // 2] * 2


@pytest.fixture
def folder(tmp_path):
    """A stack, a mask of classes, and curves with one class each."""
    tifffile.imwrite(tmp_path / "stack.tif", np.stack([spots(1, rows=3), spots(2, rows=3)]).astype(np.float32))
    classes = (labels_of(1) > 0).astype(np.uint8)
    classes[:, 90:] *= 2
    iio.imwrite(tmp_path / "steel.png", classes)
    return tmp_path


@pytest.mark.usefixtures("blank_files")
def test_a_table_is_saved_run_on_the_command_line_and_reopened(session, model, folder, qtbot):
    stack = model.open(folder / "stack.tif", plugin="napari")[0]
    stack.scale, stack.units = (1, 0.5, 0.5), ("pixel", "um", "um")
    planes = split(session, stack, "Planes", qtbot)
    painted = model.add_labels(labels_of(3, size=15.0), name="painted one", scale=(0.5, 0.25), units=("um", "um"))
    um = {"scale": (0.5, 0.5), "units": ("um", "um")}
    image = model.add_image(spots(4, rows=4), name="memory", **um)
    model.add_shapes([[[0, 0], [0, 89], [179, 89], [179, 0]]], name="zone", shape_type="polygon", **um)
    (part,) = split(session, image, "Regions of zone", qtbot)
    for row, group in ((planes[0], "a"), (planes[1], "a"), (painted, "b"), (part, "b")):
        session.design.write([(row, "group", group), (row, "dose", "1.5")])
    session.design.write([(model.layers["zone"], "group", "")])
    rows = session.design.rows()
    said = []
    session.design_work.message_posted.connect(said.append)
    session.design_work.save(folder / "design.csv")
    wait_until_idle(session.design_work, qtbot)
    assert said[-1].startswith(
        "Saved 4 rows in design.csv; 1 image without a group left out, the settings in design.toml"
    )
    table = pd.read_csv(folder / "design.csv")
    assert table["image"].tolist() == [
        "stack.tif", "stack.tif", "design_images/memory.ome.tif", "design_images/painted_one.labels.ome.tif",
    ]  # fmt: skip
    assert table["plane"].tolist()[:2] == [0, 1]
    paths, _, parts, sizes = read_design(folder / "design.csv")
    layers, reading = session.design.grouped(), Reading(load_settings(folder / "design.toml"), pixel_sizes=sizes)
    for path, own, layer in zip(paths, parts, layers, strict=True):
        one, other = ensemble_of_file(path, reading, own), outlines(session, layer)
        assert all(np.allclose(x, y) for x, y in zip(one.curves, other.curves, strict=True))
    given = ["experiment", folder / "design.csv", "--out", folder / "out", "--settings", folder / "design.toml"]
    completed = CliRunner().invoke(app, [*map(str, given), "--set", "landmarks=60", "--set", "rank=5"])
    assert completed.exit_code == 0, completed.output
    assert (folder / "out" / "experiment.csv").is_file()

    model.layers.clear()
    session.design_work.open(folder / "design.csv")
    wait_until_idle(session.design_work, qtbot)
    assert said[-1] == "design.csv: 4 rows."
    assert session.design.rows() == rows
    again = session.design.grouped()
    for path, own, layer in zip(paths, parts, again, strict=True):
        one, other = ensemble_of_file(path, reading, own), outlines(session, layer)
        assert all(np.allclose(x, y) for x, y in zip(one.curves, other.curves, strict=True))
    before = list(model.layers)
    session.design_work.open(folder / "design.csv")
    wait_until_idle(session.design_work, qtbot)
    assert list(model.layers) == before


def test_the_menu_of_a_row_splits_its_image(session, model, qtbot):
    page = ImagesPage(model)
    qtbot.addWidget(page)
    model.add_image(np.stack([spots(1, rows=3), spots(2, rows=3)]), name="dish")
    page.refresh()
    menu = page.split.menu()
    menu.aboutToShow.emit()
    assert [entry.text() for entry in menu.actions()] == ["Planes along axis 0 (2)"]  # a single row needs no selection
    other = model.add_image(spots(3, rows=3), name="other")
    page.refresh()
    page.table.setCurrentCell(-1, -1)
    menu.aboutToShow.emit()
    assert [entry.text() for entry in menu.actions()] == ["Select a row of the table first"]
    model.layers.remove(other)
    page.refresh()
    page.table.setCurrentCell(0, 0)
    deeper = model.add_points(np.array([[0, 1, 1], [4, 1, 1]]))
    model.dims.set_point(0, 4)
    menu.aboutToShow.emit()
    (entry,) = menu.actions()
    assert entry.text().startswith('⚠ "dish" has 2 planes, and the slider is beyond them')
    assert not entry.isEnabled()
    model.layers.remove(deeper)
    menu.aboutToShow.emit()
    (entry,) = menu.actions()
    entry.trigger()
    wait_until_idle(session.design_work, qtbot)
    page.refresh()
    assert [page.table.item(row, 0).text() for row in range(page.table.rowCount())] == ["dish plane 0", "dish plane 1"]
    assert "Parts of one image are one replicate" in page.reason.text()
    # The note refers to parts that exist: not if the block says it already, nor for deleted parts.
    parts = list(session.design.layers())
    session.design.write([(part, "block", "dish") for part in parts])
    page.refresh()
    assert "one replicate" not in page.reason.text()
    session.design.write([(part, "block", "") for part in parts])
    page.refresh()
    assert "one replicate" in page.reason.text()
    for part in parts:
        model.layers.remove(part)
    page.refresh()
    assert "one replicate" not in page.reason.text() + page.message.text()


def test_splitting_a_layer_keeps_group_a_as_sample_a(session, model, qtbot):
    """The canvas calls the table's group A "A", and no part is taken for an image of that group."""
    one = model.add_image(spots(1, rows=3), name="one")
    stack = model.add_image(np.stack([spots(2, rows=3), spots(3, rows=3)]), name="dish")
    session.design.write([(one, "group", "A"), (stack, "group", "B")])
    first, second = split(session, stack, "Planes", qtbot)
    assert list(map(list, session.design.sides())) == [[one], [first]]
    assert session.design.groups() == {
        "A": [one],
        "plane 0": [first],
        "plane 1": [second],
    }


def test_classes_named_a_and_b_are_not_images_of_group_a(session, model, qtbot):
    one = model.add_image(spots(1, rows=3), name="one")
    kinds = model.add_labels(labels_of(2), name="cells")
    count = int(kinds.data.max())
    kinds.features = pd.DataFrame(
        {"index": range(count + 1), "kind": [""] + ["A", "B"] * (count // 2) + ["A"] * (count % 2)}
    )
    session.design.write([(one, "group", "A"), (kinds, "group", "B")])
    split(session, kinds, "Values of kind", qtbot)
    assert {name: [row.name for row in own] for name, own in session.design.groups().items()} == {
        "A": ["one"],
        "B": ["cells B"],
        "cells A": ["cells A"],
    }


def test_a_group_b_alone_is_the_sample_b(session, model):
    one = model.add_image(spots(1, rows=3), name="one")
    two = model.add_image(spots(2, rows=3), name="two")
    session.design.write([(one, "group", ""), (two, "group", "B")])
    assert list(map(list, session.design.sides())) == [[], [two]]
    assert session.design.cell(two, "group") == "B"
    assert session.image_cells.cells()[0].group == "B"
    session.design.write([(one, "group", "A")])
    assert list(map(list, session.design.sides())) == [[one], [two]]


@pytest.mark.usefixtures("blank_files")
def test_a_folder_for_a_paper_of_labels_mentions_no_segmentation_and_overwrites_no_image(
    session, model, tmp_path, qtbot
):
    one, two = (model.add_labels(labels_of(seed), name=f"field {seed}") for seed in (1, 2))
    set_choices(session.choices, landmarks=60, rank=5, permutations=99, significance=0.1)
    session.design.choose([one], [two])
    ended(session.comparison, qtbot, session.comparison.run)
    users = tmp_path / "users" / "field_1.tif"
    users.parent.mkdir()
    tifffile.imwrite(users, np.arange(16, dtype=np.uint8).reshape(4, 4))
    given, told = users.read_bytes(), []
    session.comparison.message_posted.connect(lambda words, _: told.append(words))
    session.comparison.export_for_paper(users.parent)
    wait_until_idle(session.comparison, qtbot)
    assert told[-1].startswith("⚠")
    assert "field_1.tif" in told[-1]
    assert users.read_bytes() == given
    assert list(users.parent.iterdir()) == [users]
    session.comparison.export_for_paper(tmp_path / "first")
    wait_until_idle(session.comparison, qtbot)
    said = (tmp_path / "first" / "methods.txt").read_text()
    assert "Given labels were not segmented" in said
    assert "Otsu" not in said

    model.layers.clear()
    session.comparison.open(tmp_path / "first" / "pair.comparison.npz")
    wait_until_idle(session.comparison, qtbot)
    session.comparison.export_for_paper(tmp_path / "again")
    wait_until_idle(session.comparison, qtbot)
    assert (tmp_path / "again" / "methods.txt").read_text() == said
    code = (tmp_path / "again" / "compare.py").read_text()  # the layers are gone
    assert "Path(__file__).parent / 'pair.comparison.npz'" in code
    for table in ("objects.csv", "images.csv"):
        assert (tmp_path / "again" / table).read_text() == (tmp_path / "first" / table).read_text()


def test_the_script_withholds_a_row_that_depends_on_the_archetype(session, model, qtbot, monkeypatch):
    one, two = (model.add_labels(labels_of(seed), name=f"field {seed}") for seed in (1, 3))
    quick = {"landmarks": 40, "rank": 5, "permutations": 199, "coordinates": "raw"}
    found = archetype_sensitivity(compare(outlines(session, one), outlines(session, two), Settings(**quick)))
    low, high = max((found.p_values(test) for test in ("undulation", "scale")), key=np.ptp)
    set_choices(session.choices, **quick, significance=low + high)  # each test at half the level
    session.design.choose([one], [two])
    ended(session.comparison, qtbot, session.comparison.run)
    session.comparison.check_robustness()
    wait_until_idle(session.comparison, qtbot)
    result = session.comparison.shown.result
    assert result.row_depends_on_archetype
    monkeypatch.setattr(napari, "current_viewer", lambda: model)
    again = execute(script_of(session.comparison.shown))[0]["result"]
    same(again, result)
    assert again.summary() == result.summary()
