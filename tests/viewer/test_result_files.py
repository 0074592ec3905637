"""Saving and opening results through the dock's own menus, with patched file dialogs."""

import weakref
from dataclasses import replace
from typing import get_args

import npe2
import numpy as np
import pandas as pd
import pytest
import tifffile
from matplotlib.colors import to_rgba_array
from napari.components import ViewerModel
from napari.errors import ReaderPluginError
from napari.settings import get_settings
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication, QMessageBox
from skimage import measure

from curve_makers import ellipse
from docks import (
    choose_menu_entry,
    chosen_names,
    curves_of,
    execute,
    in_window,
    open_answer,
    press,
    reopen,
    run,
    save_as,
    set_choices,
    show_docks,
    slow,
    words_of,
)
from image_makers import labels_of, spots
from napari_shape_ensembles import Comparison, Ensemble, Outlines, Settings
from napari_shape_ensembles.archive import write_archive
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.comparison.display import MARK
from napari_shape_ensembles.comparison.saved import REFERENCE
from napari_shape_ensembles.comparison.sensitivity import ArchetypeSensitivity
from napari_shape_ensembles.io import (
    CurveTable,
    SettingsFile,
    load_settings,
    read_curves,
    rerun,
    save_settings,
    write_curves,
)
from napari_shape_ensembles.outlines.recipe import Method
from napari_shape_ensembles.palette import COLOR_A, COLOR_B
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer import comparing, inputs, layers
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.experimenting import PLAIN_TABLE
from napari_shape_ensembles.viewer.report import text_of
from napari_shape_ensembles.viewer.task import RunInputs

PLUGIN = "napari-shape-ensembles"


# Save, open ----------------------------------------------------------------------------------------------------


def test_a_saved_result_opens_with_text_settings_colors_and_positions(finished_dock, model, qtbot, tmp_path, answer):
    finished_dock.color_by.choice.setCurrentIndex(finished_dock.color_by.choice.findData("area"))
    before, result, text = finished_dock.results.used.text(), finished_dock.result, finished_dock.results.text()
    colours = np.array(curves_of(model, "two").face_color)
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    model.layers.clear()
    by_button = open_answer(ViewerModel(), qtbot)
    assert choose_menu_entry(by_button.files, "Open", qtbot) == ""
    dropped = reopen(ViewerModel(), path, qtbot)
    for dock in (by_button, dropped):
        viewer = dock.viewer
        assert dock.results.text() == text
        assert dock.results.used.text() == before
        assert dock.results.table.marked() == [result.case]
        assert dock.state == "done"
        assert dock.settings_form.value == result.settings
        assert dock.color_by.choice.currentData() == "area"
        assert [layer.name for layer in viewer.layers] == ["one curves", "two curves"]
        np.testing.assert_allclose(curves_of(viewer, "two").face_color, colours, atol=1 / 255)
        assert curves_of(viewer, "one").scale.tolist() == [0.5, 0.5]
        np.testing.assert_array_equal(dock.result.t, result.t)
        assert dock.results.null_plots["Scale"].caption


def test_a_reopened_result_reports_missing_images_without_being_stale(shared_dock, saved, qtbot):
    dock = reopen(ViewerModel(), saved, qtbot)
    assert "Opened from pair.comparison.npz" in dock.results.origin.text()
    assert "not in the viewer" in dock.results.origin.text()
    assert dock.stale.isHidden()
    assert not dock.run_button.isEnabled()
    assert dock.reason.isHidden()  # no run is offered
    press(dock.results.copy_python, qtbot)
    scope, printed = execute(QApplication.clipboard().text())
    assert printed.strip() == shared_dock.result.summary()
    np.testing.assert_array_equal(scope["result"].t, shared_dock.result.t)
    press(dock.results.copy_text, qtbot)
    assert "Opened from pair.comparison.npz" in QApplication.clipboard().text()
    saved.unlink()  # a result without layers and file has no script
    QApplication.clipboard().setText("before")
    press(dock.results.copy_python, qtbot)
    assert "No script" in dock.results.message.text()
    assert QApplication.clipboard().text() == "before"


def open_pair(viewer):
    """Open the two images of the saved comparison, in another order."""
    for seed, name in ((2, "two"), (1, "one")):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))


def test_a_reopened_result_is_linked_to_images_that_are_open_or_opened_later(finished_dock, qtbot, tmp_path, answer):
    finished_dock.comparison.exclude(3)
    run(finished_dock, qtbot)
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    for is_open in (True, False):
        viewer = ViewerModel()
        if is_open:
            open_pair(viewer)
        dock = reopen(viewer, path, qtbot)
        text = words_of(dock)
        if not is_open:
            assert "not in the viewer" in dock.results.origin.text()
            open_pair(viewer)
            qtbot.waitUntil(lambda dock=dock: "not in the viewer" not in dock.results.origin.text())
        assert dock.results.origin.text() == "Opened from pair.comparison.npz."
        assert chosen_names(dock) == [["one"], ["two"]]
        assert dock.state == "done"
        assert "1 curve excluded manually" in dock.excluded.label.text()
        viewer.layers["two"].data = spots(7)
        qtbot.waitUntil(lambda dock=dock: dock.state == "stale" and not dock.stale.isHidden())
        viewer.layers["two"].data = spots(2)
        assert run(dock, qtbot) == text
        assert dock.results.origin.isHidden()
        assert len(dock.result.a) == len(finished_dock.result.a)


def test_a_reopened_result_is_linked_to_images_opened_during_a_check(saved, qtbot, monkeypatch):
    monkeypatch.setattr(comparing, "checked", slow)
    viewer = ViewerModel()
    dock = reopen(viewer, saved, qtbot)
    press(dock.results.check, qtbot)
    open_pair(viewer)
    qtbot.wait(100)
    assert dock.busy
    assert "not in the viewer" in dock.results.origin.text()
    press(dock.cancel_button, qtbot)
    qtbot.waitUntil(lambda: dock.results.origin.text() == "Opened from pair.comparison.npz.")
    assert chosen_names(dock) == [["one"], ["two"]]
    assert dock.state == "done"


def test_a_result_given_on_the_command_line_opens_in_the_bench(saved, make_napari_viewer, qtbot):
    viewer = make_napari_viewer()  # its window is not shown before the files are read
    npe2.PluginManager.instance().discover()
    viewer.open(saved, plugin=PLUGIN)
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    qtbot.waitUntil(lambda: bench.session.comparison.result is not None and not bench.session.comparison.busy)
    assert bench.step == "Answer"
    assert "Opened from pair.comparison.npz" in bench.pages["Answer"].results.origin.text()
    assert get_settings().plugins.extension2reader["*.comparison.npz"] == PLUGIN  # chosen once, napari asks no more


def test_settings_open_in_the_bench_by_drag_menu_and_command_line(make_napari_viewer, tmp_path):
    npe2.PluginManager.instance().discover()
    viewer, recipe = make_napari_viewer(), Outlines(method="local", window=31)
    save_settings(tmp_path / "mine.toml", SettingsFile(Settings(rank=20), recipe))
    viewer.open(tmp_path / "mine.toml", plugin=None)  # by the only reader of such files
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    assert (bench.session.choices.recipe, bench.session.choices.settings.rank) == (recipe, 20)
    assert bench.step == "Outlines"
    assert not viewer.layers
    (tmp_path / "other.toml").write_text("[tool]\nx = 1")
    with pytest.raises(ReaderPluginError, match="failed") as failure:
        viewer.open(tmp_path / "other.toml", plugin=None)
    assert "there is no table [tool]" in str(failure.value.__cause__)
    assert bench.session.choices.recipe == recipe


def test_opening_a_result_keeps_other_chosen_images(saved, qtbot):
    viewer = ViewerModel()
    for seed in (3, 4):
        viewer.add_image(spots(seed), name=f"other {seed}")
    dock = reopen(viewer, saved, qtbot)
    chosen = chosen_names(dock)
    for seed, name in ((1, "one"), (2, "two")):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    qtbot.wait(300)
    assert chosen_names(dock) == chosen
    assert "not in the viewer" in dock.results.origin.text()


def test_large_images_of_a_reopened_result_may_be_painted_in(qtbot, tmp_path, answer):
    viewer = ViewerModel()
    for seed, name in ((1, "one"), (2, "two")):
        pixels = np.zeros((1500, 1500), dtype=np.int64)  # more than is copied in one event loop turn
        small = labels_of(seed)
        pixels[: len(small), : len(small)] = small
        viewer.add_labels(pixels, name=name)
    dock = open_answer(viewer, qtbot)
    run(dock, qtbot)
    path = save_as(dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    reopen(viewer, path, qtbot)
    assert dock.comparison.shown.path == str(path)
    for (source,), name in zip(dock.comparison.shown.sources, ("one", "two"), strict=True):
        np.testing.assert_array_equal(source.data, viewer.layers[name].data)
        assert not np.shares_memory(source.data, viewer.layers[name].data)


def test_changed_images_are_not_linked(saved, qtbot):
    viewer = ViewerModel()
    for seed, name in ((1, "one"), (5, "two")):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    dock = reopen(viewer, saved, qtbot)
    assert "not in the viewer" in dock.results.origin.text()
    assert dock.stale.isHidden()
    dock.comparison.exclude(2)
    assert "only from layers in the viewer" in dock.results.message.text()
    run(dock, qtbot)
    assert [layer.name for layer in viewer.layers] == ["one", "two", "one curves", "two curves"]


def test_opened_curves_behave_like_those_of_a_run(saved, qtbot):
    viewer = ViewerModel()
    dock = reopen(viewer, saved, qtbot)
    for column in COLORINGS:
        dock.color_by.choice.setCurrentIndex(dock.color_by.choice.findData(column))
        own = COLORINGS[column].values(dock.result)[: len(dock.result.a)]
        np.testing.assert_allclose(curves_of(viewer, "one").features["painted"], own)
    curves_of(viewer, "two").selected_data = {4}
    assert dock.comparison.selection.rows.tolist() == [len(dock.result.a) + 4]
    press(dock.results.explore, qtbot)
    qtbot.addWidget(dock.curve_window.explorer)
    assert dock.curve_window.explorer.table is not None
    assert not curves_of(viewer, "one").editable


def test_pages_opened_after_a_file_show_it(shared_dock, saved, qtbot, answer, viewer):
    viewer.open(saved, plugin=PLUGIN)
    dock = open_answer(viewer, qtbot)
    qtbot.waitUntil(lambda: dock.result is not None and not dock.busy)
    assert dock.results.text() == shared_dock.results.text()
    why, before = in_window(viewer, WhyPage, "Why"), dock.result
    answer(saved)
    choose_menu_entry(dock.files, "Open", qtbot)
    assert dock.result is not before
    assert why.explanation.explained_comparison is dock.result
    assert dock.result.summary() == shared_dock.result.summary()


def test_a_dropped_file_is_shown_by_every_dock_of_its_viewer_once(shared_dock, saved, qtbot):
    npe2.PluginManager.instance().discover()
    viewer = ViewerModel()
    docks = [open_answer(viewer, qtbot) for _ in range(2)]
    with qtbot.waitSignal(docks[0].finished):
        viewer.open(saved, plugin=PLUGIN)
    docks.append(open_answer(viewer, qtbot))
    assert len({id(dock.result) for dock in docks}) == 1
    assert {dock.results.text() for dock in docks} == {shared_dock.results.text()}
    assert len(viewer.layers) == 2


def test_an_unsaved_result_replaced_by_a_file_can_be_restored(finished_dock, model, qtbot, tmp_path, answer):
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    choose_menu_entry(finished_dock.files, "Open", qtbot)
    assert finished_dock.recover_notice.isHidden()  # the result was saved
    set_choices(finished_dock.session.choices, rank=10)
    run(finished_dock, qtbot)
    finished_dock.comparison.set_coloring("area", 99)
    result, text = finished_dock.result, finished_dock.results.text()
    assert finished_dock.recover_notice.isHidden()
    npe2.PluginManager.instance().discover()
    for open_file in (
        lambda: choose_menu_entry(finished_dock.files, "Open", qtbot, wait=False),
        lambda: model.open(path, plugin=PLUGIN),
    ):
        with qtbot.waitSignal(finished_dock.finished):
            open_file()
        assert finished_dock.result is not result
        assert not finished_dock.recover_notice.isHidden()
        assert "one and two" in finished_dock.recover_notice.label.text()
        with qtbot.waitSignal(finished_dock.finished):
            press(finished_dock.recover_notice.button, qtbot)
        assert finished_dock.result is result
        assert finished_dock.results.text() == text
        assert finished_dock.results.origin.text() == ""  # not added from outside
        assert finished_dock.settings_form.value.rank == 10
        assert finished_dock.color_by.choice.currentData() == "area"
        assert finished_dock.state == "done"
        assert finished_dock.comparison.unsaved
        assert finished_dock.recover_notice.isHidden()
        assert [layer.name for layer in model.layers] == ["one", "two", "one curves", "two curves"]
    choose_menu_entry(finished_dock.files, "Open", qtbot)
    assert not finished_dock.recover_notice.isHidden()
    run(finished_dock, qtbot)  # a new run discards what could be restored
    assert finished_dock.recover_notice.isHidden()
    assert finished_dock.comparison.recoverable is None


def test_a_result_from_a_notebook_is_shown(finished_dock, qtbot):
    viewer = ViewerModel()
    dock = open_answer(viewer, qtbot)
    with qtbot.waitSignal(dock.finished):
        finished_dock.result.to_layers(viewer)
    assert dock.result is finished_dock.result
    assert "outside the dock" in dock.results.origin.text()
    assert "outlines: unknown" in dock.results.used.text()
    assert "excluded" in curves_of(viewer, "one").features


def test_during_a_run_nothing_is_written_and_an_opened_file_waits(
    finished_dock, model, qtbot, tmp_path, answer, monkeypatch
):
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    monkeypatch.setattr(comparing, "compare_groups", slow)
    press(finished_dock.run_button, qtbot)
    assert not finished_dock.results.store.isEnabled()
    assert not finished_dock.files.isEnabled()
    answer(tmp_path / "another.comparison.npz")
    finished_dock.dialogs.save()
    npe2.PluginManager.instance().discover()
    model.open(path, plugin=PLUGIN)
    qtbot.waitUntil(lambda: "after this run" in finished_dock.results.message.text())
    assert finished_dock.busy
    before = finished_dock.result
    press(finished_dock.cancel_button, qtbot)
    qtbot.waitUntil(lambda: finished_dock.result is not before and not finished_dock.busy)
    assert finished_dock.result.summary() == before.summary()
    assert finished_dock.state == "done"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be_opened_are_reported_and_keep_the_result(finished_dock, qtbot, tmp_path, answer):
    text, result = finished_dock.results.text(), finished_dock.result

    def opened(path):
        answer(path)
        said = choose_menu_entry(finished_dock.files, "Open", qtbot)
        assert said.startswith("⚠")
        assert "Unexpected" not in said
        assert finished_dock.results.text() == text
        return said

    assert "cannot be opened: No such file" in opened(tmp_path / "gone.comparison.npz")
    (tmp_path / "bad.comparison.npz").write_bytes(b"PK nonsense")
    assert "bad.comparison.npz" in opened(tmp_path / "bad.comparison.npz")
    views = [{"segmentation": {"nonsense": 1}}, {"excluded": [1]}, {"excluded": [[[1]], []]}, {"notes": [3]}]
    views += [{"painted": "mood"}, {"painted": ["distance_from_mean"]}, {"a": 3}, {"a": {"scale": [0, 1]}}]
    for view in [*views, {"b": {"scale": [1]}}]:
        result.save(tmp_path / "odd.comparison.npz", view=view)
        opened(tmp_path / "odd.comparison.npz")


def test_open_tells_files_apart_by_their_content(bare_dock, qtbot, tmp_path, answer, monkeypatch):
    session, opened = bare_dock.session, []
    for owner in (session.learning, session.design_work, session.referring):
        method = "load" if owner is session.learning else "open"
        monkeypatch.setattr(owner, method, lambda path, owner=owner: opened.append((owner, path.name)))
    write_archive(tmp_path / "a.npz", "object-model", 1, {})
    write_archive(tmp_path / "b.npz", REFERENCE, 1, {})
    (tmp_path / "c.csv").write_text("\ufeffimage,group\none.png,a\n")
    write_curves(tmp_path / "d.csv", CurveTable(Ensemble([ellipse(8, 5, 40)], name="d"), scale=(1, 1)))
    for name in "a.npz", "b.npz", "c.csv", "d.csv":
        answer(tmp_path / name)
        said = choose_menu_entry(bare_dock.files, "Open", qtbot)
    assert opened == [(session.learning, "a.npz"), (session.referring, "b.npz"), (session.design_work, "c.csv")]
    assert said.startswith("⚠ d.csv is not a file of the bench")


# Writing -------------------------------------------------------------------------------------------------------

PLACES = {
    "Save comparison": ("pair.comparison.npz", "pair.xyz"),
    "Export curves": ("pair.csv", "pair.xyz"),
    "Write report": ("pair.html", "pair.xyz"),
}


def test_write_errors_are_reported_and_a_cancelled_dialog_does_nothing(finished_dock, qtbot, tmp_path, answer):
    text = finished_dock.results.text()
    answer("")
    for entry in PLACES:
        assert choose_menu_entry(finished_dock.results.store, entry, qtbot) == ""
    for entry, (good, unknown) in PLACES.items():
        for path in (tmp_path / "nowhere" / good, tmp_path / unknown):
            answer(path)
            said = choose_menu_entry(finished_dock.results.store, entry, qtbot)
            assert said.startswith("⚠"), said
            assert path.stem in said
            assert "Unexpected" not in said
    assert finished_dock.results.text() == text
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_without_suffix_gets_the_default_one(finished_dock, qtbot, tmp_path, answer, monkeypatch):
    folder = tmp_path / "<b>bold"
    folder.mkdir()
    save_as(finished_dock, answer, folder / "pair", qtbot)
    assert (folder / "pair.comparison.npz").is_file()
    assert str(folder) in finished_dock.results.message.text()
    assert finished_dock.results.message.textFormat() == Qt.TextFormat.PlainText
    before = (folder / "pair.comparison.npz").stat().st_mtime_ns
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.No)
    choose_menu_entry(finished_dock.results.store, "Save comparison", qtbot)
    assert (folder / "pair.comparison.npz").stat().st_mtime_ns == before


def test_curves_are_exported_with_distances_and_measurements(finished_dock, qtbot, tmp_path, answer, monkeypatch):
    (tmp_path / "pair.B.geojson").write_text("mine")  # which is not overwritten without asking
    answer(tmp_path / "pair.geojson")
    asked = []
    monkeypatch.setattr(QMessageBox, "question", lambda *_: asked.append(_) or QMessageBox.StandardButton.No)
    assert choose_menu_entry(finished_dock.results.store, "Export curves", qtbot) == ""
    assert (tmp_path / "pair.B.geojson").read_text() == "mine"
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
    choose_menu_entry(finished_dock.results.store, "Export curves", qtbot)
    assert len(read_curves(tmp_path / "pair.B.geojson").ensemble) == len(finished_dock.result.b)
    assert len(asked) == 1

    columns = [name for name, paint in COLORINGS.items() if paint.numeric]
    result, first = finished_dock.result, len(finished_dock.result.a)
    for ending in (".csv", ".geojson", ".zip", ".npz", ".parquet"):
        answer(tmp_path / f"pair{ending}")
        assert choose_menu_entry(finished_dock.results.store, "Export curves", qtbot).startswith("Saved pair.A")
        middle = ".curves.csv" if ending == ".csv" else ending
        for side, ensemble, rows in (("A", result.a, slice(0, first)), ("B", result.b, slice(first, None))):
            table = read_curves(tmp_path / f"pair.{side}{middle}")
            assert table.ensemble.name == ensemble.name
            assert (table.ensemble.unit, table.scale) == ("µm", (0.5, 0.5))
            assert table.ensemble.ids.tolist() == ensemble.ids.tolist()
            assert set(table.features["sample"]) == {ensemble.name}
            np.testing.assert_allclose(table.ensemble.vertices, ensemble.vertices, rtol=1e-5)
            expected = pd.DataFrame({name: COLORINGS[name].values(result)[rows] for name in columns})
            np.testing.assert_allclose(table.features[columns].astype(float), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("blank_figures", "blank_files")
def test_a_name_with_a_version_gets_the_ending_of_its_kind(finished_dock, qtbot, tmp_path, answer, monkeypatch):
    store = finished_dock.results.store
    for menu, entry, kind, ending in (
        (store, "Save comparison", "", ".comparison.npz"),
        (store, "Write report", "PDF (*.pdf)", ".pdf"),
        (finished_dock.files, "Save settings", "", ".toml"),
    ):
        answer(tmp_path / "mouse v1.2", kind)
        choose_menu_entry(menu, entry, qtbot)
        assert (tmp_path / f"mouse v1.2{ending}").is_file()
    # The name with its ending was not in the dialog, which has not asked.
    asked = []
    monkeypatch.setattr(QMessageBox, "question", lambda *_: asked.append(_) or QMessageBox.StandardButton.No)
    choose_menu_entry(store, "Save comparison", qtbot)
    assert len(asked) == 1


@pytest.mark.usefixtures("blank_figures", "blank_files")
def test_a_report_is_written_in_the_background(finished_dock, qtbot, tmp_path, answer):
    for ending, start in ((".html", b"<!DOCTYPE html"), (".pdf", b"%PDF")):
        path = answer(tmp_path / f"report{ending}")
        choose_menu_entry(finished_dock.results.store, "Write report", qtbot, wait=False)
        assert finished_dock.busy
        assert not finished_dock.run_button.isEnabled()
        assert not finished_dock.results.store.isEnabled()
        qtbot.waitUntil(lambda: not finished_dock.busy)
        assert "Saved report" in finished_dock.results.message.text()
        assert path.read_bytes()[:200].startswith(start)
        assert finished_dock.results.store.isEnabled()


# Settings ------------------------------------------------------------------------------------------------------


def test_settings_round_trip_through_a_file(bare_dock, qtbot, tmp_path, answer):
    choices = bare_dock.session.choices
    segmentation = Outlines(smoothing=2.5, split_touching="none", outline_smoothing=0.5, keep_border=True)
    choices.set(segmentation, replace(choices.settings, rank=77, archetype="mean"))
    analysis = bare_dock.settings_form.value
    path = answer(tmp_path / "mine.toml")
    assert "Saved mine.toml" in choose_menu_entry(bare_dock.files, "Save settings", qtbot)
    file = load_settings(path)
    assert file.analysis == analysis
    assert file.outlines == segmentation
    assert (analysis.rank, analysis.archetype) == (77, "mean")
    other = open_answer(ViewerModel(), qtbot)
    assert "Settings of mine.toml loaded." in choose_menu_entry(other.files, "Open", qtbot)
    assert (other.settings_form.value, other.session.choices.recipe) == (analysis, segmentation)


def test_whatever_a_file_sets_is_used_and_saved_again(bare_dock, qtbot, tmp_path, answer):
    wanted = Settings(bandwidth=(0.5, 1.0), archetype=5, landmarks=60, permutations=199)
    recipe = Outlines(method="local", window=31, background=20, holes=True)
    save_settings(answer(tmp_path / "more.toml"), SettingsFile(wanted, recipe))
    choose_menu_entry(bare_dock.files, "Open", qtbot)
    assert (bare_dock.settings_form.value, bare_dock.session.choices.recipe) == (wanted, recipe)
    run(bare_dock, qtbot)
    assert bare_dock.result.settings == wanted
    assert bare_dock.comparison.shown.recipe == recipe
    choose_menu_entry(bare_dock.files, "Save settings", qtbot)
    assert load_settings(tmp_path / "more.toml") == SettingsFile(wanted, recipe)


def test_files_of_every_method_are_loaded_completely(bare_dock, qtbot, tmp_path, answer):
    answer(tmp_path / "other.toml")
    for method in get_args(Method):
        needed = {"manual": {"threshold": 0.5}, "level": {"quantile": 0.6}}.get(method, {})
        recipe = Outlines(method=method, split_touching="intensity", **needed)
        save_settings(tmp_path / "other.toml", SettingsFile(Settings(landmarks=10), recipe))
        assert choose_menu_entry(bare_dock.files, "Open", qtbot) == "Settings of other.toml loaded."
        assert bare_dock.session.choices.recipe == recipe
        assert bare_dock.settings_form.value.landmarks == 10


def test_invalid_settings_change_nothing_and_failing_files_are_reported(bare_dock, qtbot, tmp_path, answer):
    before = bare_dock.session.choices.recipe, bare_dock.settings_form.value
    for content in ("[analysis]\nrank = -1", "nonsense", "[outlines]\nx = 1"):
        answer(tmp_path / "bad.toml").write_text(content)
        assert choose_menu_entry(bare_dock.files, "Open", qtbot).startswith("⚠")
        assert (bare_dock.session.choices.recipe, bare_dock.settings_form.value) == before
    answer(tmp_path / "nowhere" / "mine.toml")
    assert "mine.toml cannot be written" in choose_menu_entry(bare_dock.files, "Save settings", qtbot)
    assert "mine.toml cannot be read" in choose_menu_entry(bare_dock.files, "Open", qtbot)


# The witness ---------------------------------------------------------------------------------------------------


def test_curves_are_colored_by_the_witness(model, qtbot):
    for name, size in (("small", 9.0), ("large", 14.0)):
        model.add_image(spots(3, size=size), name=name)
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    dock.color_by.choice.setCurrentIndex(dock.color_by.choice.findData("witness_scale"))
    small, large = (curves_of(model, name) for name in ("small", "large"))
    low, high = small.face_contrast_limits
    assert low == -high == large.face_contrast_limits[0]
    assert small.features["painted"].mean() > 0 > large.features["painted"].mean()
    np.testing.assert_allclose(small.features["painted"], dock.result.witnesses["witness_scale"][: len(dock.result.a)])
    np.testing.assert_allclose(small.face_colormap.map([0.0, 1.0]), to_rgba_array([COLOR_B, COLOR_A]), atol=1e-6)
    assert dock.color_by.colorbar.labels == ["typical of large", "0", "typical of small"]


def test_the_witness_of_thousands_of_curves_is_computed_on_demand(finished_dock, qtbot, tmp_path, answer, monkeypatch):
    finished_dock.comparison.set_coloring("witness_undulation", 99)
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    monkeypatch.setattr(layers, "MAX_SYNC_CURVES", 10)
    npe2.PluginManager.instance().discover()
    viewer = ViewerModel()
    viewer.open(path, plugin=PLUGIN)
    layer = curves_of(viewer, "one")
    np.testing.assert_allclose(layer.features["painted"], layer.features["distance_from_mean"])
    dock = open_answer(viewer, qtbot)
    with qtbot.waitSignal(dock.finished):
        pass
    np.testing.assert_allclose(
        layer.features["painted"], dock.result.witnesses["witness_undulation"][: len(dock.result.a)]
    )
    assert dock.color_by.choice.currentData() == "witness_undulation"


def test_a_sample_of_one_curve_has_no_witness(model, qtbot):
    model.add_image(spots(1), name="many")
    model.add_image(np.pad(spots(2)[10:50, 10:50], 30), name="single")
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    assert dock.result is not None
    dock.color_by.choice.setCurrentIndex(dock.color_by.choice.findData("witness_scale"))
    assert curves_of(model, "many").features["painted"].isna().all()


# Robustness ----------------------------------------------------------------------------------------------------


def test_robustness_is_checked_on_demand_and_summarized(finished_dock, qtbot, tmp_path, answer):
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.results.check, qtbot)
    text = finished_dock.results.text()
    assert "dependence of form and scale" in text or "depend on each other" in text
    assert "5 archetypes lead to" in text or "depends on the archetype" in text
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.results.check, qtbot)
    assert finished_dock.results.text() == text
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    assert reopen(ViewerModel(), path, qtbot).results.text() == text
    finished_dock.result.save(answer(tmp_path / "plain.comparison.npz"))  # without a view
    dock = open_answer(ViewerModel(), qtbot)
    assert choose_menu_entry(dock.files, "Open", qtbot) == ""
    assert dock.result.summary() == finished_dock.result.summary()
    assert isinstance(dock.result, Comparison)
    assert all(MARK in layer.metadata for layer in dock.comparison.curves)
    assert "archetype" not in run(finished_dock, qtbot)  # the check belongs to the first result


def test_a_row_that_depends_on_the_archetype_is_inconclusive(finished_dock, qtbot, monkeypatch):
    monkeypatch.setattr(ArchetypeSensitivity, "stable", property(lambda self: False))
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.results.check, qtbot)
    assert finished_dock.state == "inconclusive"
    assert finished_dock.results.table.marked() == []
    assert not finished_dock.results.check.isEnabled()
    assert "withheld" in finished_dock.results.tests.text()
    assert ": withheld\n" in text_of(finished_dock.comparison.shown)


def test_the_check_can_be_cancelled_or_fail(finished_dock, qtbot, monkeypatch):
    def failing(*_):
        report("failing", 0, 1)
        raise RuntimeError("the reason")

    monkeypatch.setattr(comparing, "checked", slow)
    text = finished_dock.results.text()
    press(finished_dock.results.check, qtbot)
    qtbot.waitUntil(lambda: "Counting" in finished_dock.step.text())
    press(finished_dock.cancel_button, qtbot)
    assert finished_dock.results.message.text() == "Cancelled."
    assert (finished_dock.results.text(), finished_dock.state) == (text, "done")
    assert finished_dock.run_button.isEnabled()
    monkeypatch.setattr(comparing, "checked", failing)
    press(finished_dock.results.check, qtbot)
    qtbot.waitUntil(lambda: "the reason" in finished_dock.results.message.text())
    assert finished_dock.state == "done"


def test_the_keyboard_starts_the_check_and_escape_cancels_it(make_napari_viewer, qtbot, monkeypatch):
    viewer = make_napari_viewer()
    for seed in (1, 2):
        viewer.add_image(spots(seed), name=str(seed))
    dock = open_answer(viewer, qtbot)
    show_docks(viewer)
    run(dock, qtbot)

    monkeypatch.setattr(comparing, "checked", slow)
    dock.window().activateWindow()
    qtbot.waitUntil(dock.isActiveWindow)
    dock.results.check.setFocus()
    qtbot.keyClick(dock.results.check, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: "Counting … Esc cancels." in dock.results.message.text())
    qtbot.waitUntil(dock.cancel_button.hasFocus)
    qtbot.keyClick(dock.cancel_button, Qt.Key.Key_Escape)
    assert not dock.busy
    assert dock.results.message.text() == "Cancelled."


def write_pair(sources, run_inputs, path):
    """Compare two groups and write the file, in this thread."""
    answer = comparing.compare_groups(sources, run_inputs)
    outcome = comparing.contrast_of(answer, "A", "B", sources, run_inputs)
    comparing.write_comparison_file(outcome.shown, "distance_from_mean", {}, path)


def test_the_plane_of_a_stack_is_saved_and_a_modified_layer_has_no_file(tmp_path):
    viewer, path = ViewerModel(), tmp_path / "pair.comparison.npz"
    for name, seeds in (("one", (0, 1, 2)), ("two", (3, 4, 5))):
        planes = [measure.label(spots(seed) > 0.5).astype(np.uint16) for seed in seeds]
        tifffile.imwrite(tmp_path / f"{name}.tif", np.stack(planes), imagej=True)
        viewer.open(tmp_path / f"{name}.tif", plugin="napari", layer_type="labels")
    viewer.dims.set_point(0, 1)
    refs = tuple((weakref.ref(layer),) for layer in viewer.layers)
    settings = Settings(landmarks=40, rank=5, permutations=99)
    run_inputs = RunInputs(refs, Outlines(), settings, (frozenset(), frozenset()), PLAIN_TABLE, names=("A", "B"))

    def save_as():
        sources = tuple((inputs.source_of(layer, viewer.dims),) for layer in viewer.layers)
        write_pair(sources, run_inputs, path)
        return Comparison.load(path).inputs

    assert [file.part for file in save_as().files] == [{"plane": [1]}] * 2
    again = rerun(path)
    assert (again.same, again.notes) == (True, ())
    viewer.layers[0].data[1, :20] = 0
    assert save_as() is None


def test_a_result_from_files_stores_their_paths_and_can_be_rerun(tmp_path):
    viewer, paths = ViewerModel(), [tmp_path / f"{name}.tif" for name in ("one", "two")]
    for seed, path in enumerate(paths):
        labels = measure.label(spots(seed) > 0.5).astype(np.uint16)
        # Half a micrometer, which napari ignores: the layer is in pixels, and so is the comparison.
        tifffile.imwrite(path, labels, imagej=True, resolution=(2, 2), metadata={"unit": "um"})
        viewer.open(path, plugin="napari", layer_type="labels")
    layers = list(viewer.layers)
    sources = tuple((inputs.source_of(layer, viewer.dims),) for layer in layers)
    refs = tuple((weakref.ref(layer),) for layer in layers)
    first = str(inputs.trace(sources[0][0], Outlines()).ids[0])
    left_out = frozenset([first]), frozenset[str]()
    settings = Settings(landmarks=40, rank=5, permutations=99)
    run_inputs = RunInputs(refs, Outlines(), settings, left_out, PLAIN_TABLE, names=("A", "B"))
    path = tmp_path / "pair.comparison.npz"
    write_pair(sources, run_inputs, path)
    assert [file.excluded for file in Comparison.load(path).inputs.files] == [(first,), ()]
    again = rerun(path)
    assert (again.same, again.notes) == (True, ())
    assert "Its files are still in place: one.tif, two.tif." in comparing.read_result_file(path).shown.origin
    paths[0].unlink()
    origin = comparing.read_result_file(path).shown.origin
    assert "Its files are still in place: two.tif." in origin
    assert f"{paths[0]} was not found." in origin
