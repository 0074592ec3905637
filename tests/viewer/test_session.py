"""Sessions without a window: choices, runs, exclusions, files, undo, and lifetime of docks."""

import gc
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy import PYSIDE6
from qtpy.compat import isalive

from docks import (
    curves_of,
    destroy,
    in_window,
    includes_again,
    open_answer,
    press,
    run,
    show_docks,
    status,
    wait_until_idle,
    wait_until_released,
    words_of,
)
from image_makers import labels_of, spots
from napari_shape_ensembles import Settings
from napari_shape_ensembles.io.image_parts import ImagePart
from napari_shape_ensembles.outlines.reasons import BY_HAND
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.docks.bench import Bench
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves
from napari_shape_ensembles.viewer.docks.segment import SegmentCurves
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.inputs import ImageRow
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.task import CANCELLED

QUICK = Settings(landmarks=50, rank=10, permutations=99)


def with_images(viewer, names=("one", "two"), first=1):
    for seed, name in enumerate(names, first):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    return viewer


@pytest.fixture
def session(model, qapp):
    """The session of a viewer with two images, activated as by an open dock."""
    session = Session.of(with_images(model))
    session.attach()
    session.choices.set(settings=QUICK)
    yield session
    session.comparison.deactivate()
    session.detach()


@pytest.fixture
def comparison(session):
    return session.comparison


@pytest.fixture
def finished_task(comparison, qtbot):
    return compared(comparison, qtbot)


def compared(task, qtbot):
    task.run()
    return wait_until_idle(task, qtbot)


def run_again(dock, qtbot):
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)


def names(sides):
    return [[layer.name for layer in side] for side in sides]


# Choices -------------------------------------------------------------------------------------------------------


def test_a_viewer_has_one_session(model, session):
    assert Session.of(model) is session
    assert Session.of(ViewerModel()) is not session


def test_the_first_page_starts_the_compiler(model, monkeypatch):
    started = []
    monkeypatch.setattr("napari_shape_ensembles.viewer.session.begin_compiling", lambda: started.append(model))
    session = Session.of(model)
    for _ in range(2):
        session.attach(by=model)
    assert started == [model]
    for _ in range(2):
        session.detach(by=model)


def test_a_session_is_released_with_its_viewer(qapp):
    gone = weakref.ref(Session.of(with_images(ViewerModel())))
    gc.collect()
    assert gone() is None


def test_replaced_curves_and_deleted_images_are_freed(bare_dock, model, qtbot):
    bare_dock.show()
    run(bare_dock, qtbot)
    before = [weakref.ref(layer) for layer in bare_dock.comparison.curves]
    run(bare_dock, qtbot)
    wait_until_released(qtbot, *before)
    image = weakref.ref(model.layers["one"])
    del model.layers["one"]
    wait_until_released(qtbot, image)


def test_the_first_two_or_the_selected_layers_become_a_and_b(session, model):
    design = session.design
    assert names(design.sides()) == [["one"], ["two"]]
    with_images(model, ("three", "four"), 3)
    assert names(design.sides()) == [["one"], ["two"]]
    model.layers.selection = {model.layers["four"], model.layers["two"]}
    assert names(design.sides()) == [["four"], ["two"]]  # as in the table
    design.swap()
    assert names(design.sides()) == [["two"], ["four"]]
    model.layers.selection = {model.layers["two"]}  # one of them, or both
    model.layers.selection = {model.layers["two"], model.layers["four"]}
    assert names(design.sides()) == [["two"], ["four"]]
    design.swap()
    model.layers.remove("four")
    assert names(design.sides()) == [["one"], ["two"]]


def test_a_layer_removed_from_the_table_stays_removed(session, model):
    with_images(model, ("three",), 3)
    one, two, three = (model.layers[name] for name in ("one", "two", "three"))
    session.design.write([(two, "group", ""), (three, "group", "")])
    model.layers.move(0, 2)  # whatever is selected in the layer list
    model.layers.selection.active = two
    assert session.design.groups() == {"A": [one]}
    assert "at least two groups" in session.design.blocking_reason()
    assert session.comparison.blocking_reason() == "Enter two groups, each for at least one image."
    session.design.write([(two, "group", "B")])
    assert names(session.design.sides()) == [["one"], ["two"]]


def test_a_third_group_replaces_a_deleted_sample(session, model):
    with_images(model, ("three", "four", "five", "six"), 3)
    for group, pair in {"ko": ("one", "two"), "drug": ("three", "four"), "wt": ("five", "six")}.items():
        session.design.write([(model.layers[name], "group", group) for name in pair])
    assert list(session.design.groups()) == ["ko", "drug", "wt"]
    for name in ("three", "four"):
        model.layers.remove(name)
    assert names(session.design.sides()) == [["one", "two"], ["five", "six"]]
    assert session.comparison.blocking_reason() == ""
    assert list(session.design.groups()) == ["ko", "wt"]


def test_opening_a_layer_keeps_the_groups_of_images_not_open(session, model):
    wells = [f"{group}{i}" for group in ("ko", "wt", "drug") for i in range(2)]
    files = [ImageRow(name, Path(f"{name}.tif"), ImagePart()) for name in wells]
    session.design.replace_rows([(row, {"group": row.name[:-1]}) for row in files])
    with_images(model, ("three",), 3)
    assert session.design.grouped() == files


def test_groups_of_an_experiment_are_kept_when_choosing_samples(session, model):
    with_images(model, ("x1", "x2"), 3)
    entered = {"one": "ko", "two": "wt", "x1": "drug", "x2": "drug"}
    session.design.write([(model.layers[name], "group", group) for name, group in entered.items()])
    model.layers.selection = {model.layers["x1"], model.layers["x2"]}
    assert names(session.design.sides()) == [["one"], ["two"]]
    session.design.choose([model.layers["x1"], model.layers["x2"]], [model.layers["two"]])
    assert list(session.design.groups()) == ["drug", "wt", "ko"]
    session.design.choose([model.layers["one"]], [model.layers["two"]])
    assert {row.name: session.design.cell(row, "group") for row in session.design.layers()} == entered


def test_a_sample_is_notified_of_a_replacement_layer(session, model):
    other = model.add_image(spots(3), name="three")
    model.layers.remove(other)
    heard = []
    session.design.changed.connect(lambda: heard.append(names(session.design.sides())))
    model.layers[0] = other
    assert heard[-1] == names(session.design.sides()) == [["three"], ["two"]]


def test_two_layers_of_the_same_type_are_chosen(model, qapp):
    with_images(model)
    box = [[0, 0], [0, 9], [9, 9], [9, 0]]
    for name in ("drawn one", "drawn two"):
        model.add_shapes([box], name=name)
    session = Session.of(model)
    session.attach()
    assert names(session.design.sides()) == [["drawn one"], ["drawn two"]]
    model.layers.remove("drawn one")
    model.layers.remove("drawn two")
    assert names(session.design.sides()) == [["one"], ["two"]]
    session.detach()


def test_without_two_layers_the_remedy_is_shown(session, model):
    model.layers.remove("one")
    assert "Open two images" in session.comparison.blocking_reason()
    assert session.comparison.state == "empty"
    session.comparison.run()
    assert not session.comparison.busy


def test_choices_notify_once_per_change(session):
    told = []
    session.choices.changed.connect(lambda: told.append(session.choices.settings.rank))
    session.choices.set(settings=replace(QUICK, rank=9))
    session.choices.set(settings=replace(QUICK, rank=9))
    assert told == [9]


def test_without_a_dock_the_session_is_disconnected(finished_task, session, model):
    counts = [len(events.callbacks) for events in (model.layers.events, model.layers["one"].events.data)]
    finished_task.activate()
    session.detach()
    after = [len(events.callbacks) for events in (model.layers.events, model.layers["one"].events.data)]
    assert all(now < before for now, before in zip(after, counts, strict=True))
    session.attach()
    finished_task.activate()
    assert [len(events.callbacks) for events in (model.layers.events, model.layers["one"].events.data)] == counts


# Runs ----------------------------------------------------------------------------------------------------------


def test_a_run_gives_a_result_and_curve_layers(comparison, model, qtbot):
    states, steps = [], []
    comparison.changed.connect(lambda: states.append(comparison.state))
    comparison.progressed.connect(lambda step: steps.append(step.name))
    assert comparison.state == "ready"
    compared(comparison, qtbot)
    assert states[0] == "running"
    assert states[-1] == comparison.state
    assert comparison.state in ("done", "inconclusive")
    assert len(set(steps)) > 3
    assert comparison.unsaved
    assert comparison.result.settings == QUICK
    assert len(curves_of(model, "one").data) == len(comparison.result.a)


def test_a_cancelled_run_keeps_the_previous_state(finished_task, model, qtbot):
    before, layers = finished_task.result, list(model.layers)
    finished_task.run()
    qtbot.waitUntil(lambda: finished_task.threads > 0)
    finished_task.cancel()
    assert not finished_task.busy
    assert finished_task.message.startswith("Cancelled. This is the previous result.")
    assert finished_task.result is before
    assert list(model.layers) == layers
    qtbot.waitUntil(lambda: not finished_task.threads)


def test_a_pixel_size_in_the_recipe_does_not_move_the_curves(finished_task, session, model, tmp_path, qtbot):
    pixels, before = finished_task.result, curves_of(model, "one").data
    model.layers["one"].translate = (10, 20)
    session.choices.set(recipe=replace(session.choices.recipe, pixel_size=2.0, unit="nm"))
    compared(finished_task, qtbot)
    curves = curves_of(model, "one")
    np.testing.assert_allclose(curves.data[3], before[3], atol=1e-3)
    np.testing.assert_array_equal(curves.translate, (10, 20))
    assert finished_task.result.a.unit == "nm"
    np.testing.assert_allclose(finished_task.result.a.features["area"], pixels.a.features["area"] * 16)
    finished_task.save(tmp_path / "x.comparison.npz")
    wait_until_idle(finished_task, qtbot)
    (layer, *_) = ViewerModel().open(tmp_path / "x.comparison.npz", plugin="napari-shape-ensembles")
    np.testing.assert_allclose(layer.scale, (2, 2))
    np.testing.assert_allclose(layer.translate, (40, 80))


def test_a_pixel_size_in_the_recipe_applies_to_uncalibrated_images(session, comparison, model, qtbot):
    for layer in model.layers:
        layer.scale, layer.units = (1, 1), ("pixel", "pixel")
    session.choices.set(recipe=replace(session.choices.recipe, pixel_size=2.0, unit="nm"))
    compared(comparison, qtbot)
    assert not comparison.message
    assert comparison.result.a.unit == "nm"


def test_an_image_deleted_at_the_start_of_a_run_is_not_replaced(model, qtbot):
    session = Session.of(with_images(model, ("a1", "a2", "b1", "b2")))
    session.attach()
    session.choices.set(settings=QUICK)
    layers = list(model.layers)
    session.design.choose(layers[:2], layers[2:])
    del layers
    session.comparison.run()
    assert session.comparison.busy
    del model.layers["a2"]
    gc.collect()
    wait_until_idle(session.comparison, qtbot)
    assert "deleted" in session.comparison.message
    assert session.comparison.result is None
    session.detach()


def test_a_failed_run_reports_the_reason_without_result(finished_task, model, qtbot):
    model.layers["two"].units = ("pixel", "pixel")
    compared(finished_task, qtbot)
    assert finished_task.state == "error"
    assert "pixel" in finished_task.message
    assert finished_task.result is None
    assert finished_task.recoverable is not None


def test_another_displayed_plane_is_reported_as_a_possible_change(qtbot):
    model = ViewerModel()
    for name in ("one", "two"):
        model.add_labels(np.stack([labels_of(1), labels_of(2)]), name=name)
    session = Session.of(model)
    session.attach(session.comparison)
    session.choices.set(settings=QUICK)
    model.dims.set_point(0, 0)
    compared(session.comparison, qtbot)
    told = []
    session.comparison.changed.connect(lambda: told.append(session.comparison.changed_since()))
    model.dims.set_point(0, 1)
    words = " was changed or shows another plane"
    qtbot.waitUntil(lambda: told[-1:] == [[f"one{words}", f"two{words}"]])
    model.dims.set_point(0, 0)
    qtbot.waitUntil(lambda: told[-1] == [])
    session.detach(session.comparison)


def test_an_error_is_not_shown_for_other_layers(session, model, qtbot):
    comparison, design = session.comparison, session.design
    nothing = model.add_image(np.zeros((120, 120)), name="nothing", scale=(0.5, 0.5), units=("um", "um"))
    one, two = (model.layers[name] for name in ("one", "two"))
    design.choose([nothing], [two])
    compared(comparison, qtbot)
    assert "nothing: every pixel is 0" in comparison.message
    assert status(session, "Answer").state == "look"
    design.choose([one], [two])
    assert (comparison.state, comparison.message) == ("ready", "")
    assert status(session, "Answer").state == "open"


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        (np.zeros((120, 120)), "nothing: every pixel is 0"),
        (np.full((120, 120), np.nan), "nothing: 14400 of 14400 pixels are NaN"),
        (np.pad(np.ones((40, 40)), (40, len(spots()) - 80)), "1 and 16 curves cannot reach p ≤ 0.0125"),
    ],
)
def test_an_image_without_outlines_is_not_confused_with_the_old_result(
    finished_task, session, model, qtbot, pixels, words
):
    layer = model.add_image(pixels, name="nothing", scale=(0.5, 0.5), units=("um", "um"))
    session.design.choose([layer], [model.layers["two"]])
    assert finished_task.changed_since() == ["other layers are chosen"]
    compared(finished_task, qtbot)
    if finished_task.result is None:
        assert finished_task.state == "error"
        assert words in finished_task.message
        assert "curves in the viewer are those of the previous result (one and two)" in finished_task.message
    else:
        assert finished_task.state == "inconclusive"
        assert words in finished_task.result.summary()
        assert finished_task.result.a.name == "nothing"


def test_changed_inputs_outdate_a_result_until_restored(finished_task, session, model, qtbot):
    told, image = [], model.layers["one"]
    finished_task.changed.connect(lambda: told.append(finished_task.changed_since()))
    pixels, image.data = image.data, spots(7)
    qtbot.waitUntil(lambda: told[-1:] == [["one was changed"]])
    assert finished_task.state == "stale"
    image.data = pixels
    qtbot.waitUntil(lambda: told[-1:] == [[]])
    session.choices.set(settings=replace(QUICK, rank=9))
    assert told[-1] == ["rank was 10 and is 9"]
    session.choices.set(settings=QUICK)
    recipe = session.choices.recipe
    session.choices.set(recipe=replace(recipe, min_area=30))
    assert told[-1] == ["min area was 16 and is 30"]
    session.choices.set(
        replace(recipe, method="manual", threshold=300.0, smoothing=2.5, keep_border=True),
        replace(QUICK, bandwidth=(1.0, 2.0), permute="curves"),
    )
    assert told[-1] == [
        'method was "Otsu threshold" and is "manual threshold"',
        "smoothing was 1 and is 2.5",
        "threshold was not set and is 300",
        "keep border was off and is on",
        'permute was "images, if there are several" and is "outlines: these images only"',
        "bandwidth was 1 and is 1, 2",
    ]
    session.choices.set(recipe, QUICK)
    session.design.choose([model.layers["two"]], [model.layers["one"]])
    assert told[-1] == ["other layers are chosen"]


# Exclusions ----------------------------------------------------------------------------------------------------


def test_an_excluded_curve_outdates_the_result_and_is_not_in_the_next(finished_task, session, qtbot):
    count, recipe = len(finished_task.result.a), session.choices.recipe
    finished_task.exclude(3)
    session.choices.set(recipe=replace(recipe, min_area=30))  # whose outlines are others
    assert session.comparison.current_inputs().excluded == (frozenset(), frozenset())
    session.choices.set(recipe=recipe)
    assert sum(map(len, session.comparison.current_inputs().excluded)) == 1
    assert finished_task.excluded_rows() == {3}
    assert finished_task.changed_since() == ["the choice of excluded curves was changed"]
    compared(finished_task, qtbot)
    assert len(finished_task.result.a) == count - 1
    assert finished_task.result.a.dropped[BY_HAND] == 1
    assert finished_task.changed_since() == []
    session.choices.exclusions.clear()
    assert finished_task.changed_since() == ["the choice of excluded curves was changed"]


@pytest.mark.parametrize("moved_first", [False, True])
def test_a_curve_is_excluded_from_its_own_plane_of_a_stack(model, qtbot, moved_first):
    for seed, name in enumerate(("one", "two"), 1):
        model.add_image(np.stack([spots(seed), spots(seed + 2)]), name=name)
    model.dims.set_current_step(0, 0)
    session = Session.of(model)
    session.attach()
    task = session.comparison
    task.choices.set(settings=QUICK)
    compared(task, qtbot)
    if moved_first:  # the result is still of the first plane
        model.dims.set_current_step(0, 1)
    task.exclude(3)
    assert task.excluded_rows() == {3}
    model.dims.set_current_step(0, 0)
    assert task.changed_since() == ["the choice of excluded curves was changed"]
    model.dims.set_current_step(0, 1)
    other_plane = [f"{name} was changed or shows another plane" for name in ("one", "two")]
    assert task.changed_since() == other_plane
    assert task.current_inputs().excluded == (frozenset(), frozenset())
    assert task.excluded_rows() == {3}
    compared(task, qtbot)
    assert BY_HAND not in task.result.a.dropped
    assert task.excluded_rows() == frozenset()
    model.dims.set_current_step(0, 0)
    assert task.changed_since() == other_plane
    assert list(map(len, task.current_inputs().excluded)) == [1, 0]
    session.detach()


def test_without_a_result_nothing_can_be_excluded(comparison):
    noted = []
    comparison.message_posted.connect(lambda words, _: noted.append(words))
    comparison.exclude(0)
    assert "No result." in noted[-1]


# Files and undo ------------------------------------------------------------------------------------------------


def saved(task, path, qtbot):
    task.save(path)
    wait_until_idle(task, qtbot)
    return path


def test_a_result_is_saved_and_opened_with_its_inputs(finished_task, session, model, tmp_path, qtbot):
    noted = []
    finished_task.message_posted.connect(lambda words, _: noted.append(words))
    finished_task.exclude(3)
    compared(finished_task, qtbot)
    saved(finished_task, tmp_path / "nowhere" / "pair.comparison.npz", qtbot)
    assert "cannot be written" in noted[-1]
    assert finished_task.unsaved
    assert finished_task.state != "error"
    path = saved(finished_task, tmp_path / "pair.comparison.npz", qtbot)
    assert not finished_task.unsaved
    before = finished_task.result
    session.choices.set(settings=replace(QUICK, rank=9))
    session.choices.exclusions.clear()
    finished_task.open(path)
    wait_until_idle(finished_task, qtbot)
    assert finished_task.result is not before
    assert finished_task.result.summary() == before.summary()
    assert session.choices.settings == QUICK
    assert sum(map(len, session.comparison.current_inputs().excluded)) == 1
    assert finished_task.changed_since() == []
    assert not finished_task.unsaved
    assert finished_task.recoverable is None


def test_a_result_is_shown_unchanged_in_another_viewer(finished_task, session, model, tmp_path, qtbot):
    more = model.add_image(spots(3), name="more", scale=(0.5, 0.5), units=("um", "um"))
    session.design.choose([model.layers["one"], more], [model.layers["two"]])
    path = saved(compared(finished_task, qtbot), tmp_path / "pair.comparison.npz", qtbot)
    other = ViewerModel()
    session = Session.of(other)
    session.attach()
    session.comparison.open(path)
    wait_until_idle(session.comparison, qtbot)
    assert session.comparison.result.summary() == finished_task.result.summary()
    assert session.comparison.run_inputs is None
    assert "Its original layers are not in the viewer" in session.comparison.shown.origin
    assert [layer.name for layer in other.layers] == ["more curves", "one curves", "two curves"]
    assert [cell.group for cell in session.image_cells.cells()] == ["A", "A", "B"]
    session.detach()


# Several images ------------------------------------------------------------------------------------------------


def test_several_images_are_pooled_and_a_replaced_one_found_again(session, comparison, model, qtbot):
    with_images(model, ("image 10", "image 9"), 3)
    session.design.choose([model.layers["one"]], [model.layers["image 10"], model.layers["image 9"]])
    assert names(session.design.sides()) == [["one"], ["image 9", "image 10"]]
    compared(comparison, qtbot)
    result = comparison.result
    assert result.b.name == "image 9 + image 10"
    row = len(result.a) + len(result.b) - 1
    comparison.exclude(row)
    layers = [model.layers["one"], model.layers["image 9"], model.layers["image 10"]]
    assert list(map(len, session.choices.exclusions.of(layers, session.choices.recipe))) == [0, 0, 1]
    assert comparison.excluded_rows() == {row}
    compared(comparison, qtbot)
    assert len(comparison.result.b) == len(result.b) - 1


# Docks that come and go ----------------------------------------------------------------------------------------


def test_a_reopened_dock_shows_the_previous_state(dock, viewer, qtbot, tmp_path):
    show_docks(viewer)
    comparison = dock.comparison
    run(dock, qtbot)
    path = saved(comparison, tmp_path / "pair.comparison.npz", qtbot)
    run(dock, qtbot)
    unsaved = dock.result
    comparison.open(path)
    wait_until_idle(comparison, qtbot)
    comparison.exclude(3)
    words, excluded = dock.results.text(), dock.excluded.label.text()
    press(dock.parentWidget().title.close_button, qtbot)
    destroy(dock, qtbot)
    again = open_answer(viewer, qtbot)
    assert again is not dock
    assert again.results.text() == words
    assert again.excluded.label.text() == excluded != ""
    assert not again.stale.isHidden()
    assert not again.recover_notice.isHidden()
    press(again.recover_notice.button, qtbot)
    wait_until_idle(comparison, qtbot)
    assert again.result is unsaved
    assert again.recover_notice.isHidden()


def test_the_curves_window_follows_a_reopened_dock(dock, viewer, qtbot):
    run(dock, qtbot)
    press(dock.results.explore, qtbot)
    explorer = dock.curve_window.explorer
    viewer.window.remove_dock_widget(dock)
    destroy(dock, qtbot)
    again = open_answer(viewer, qtbot)
    assert again.curve_window.explorer is explorer
    again.comparison.exclude(3)
    again.comparison.selection.pick([3])
    assert includes_again(explorer.card)
    press(again.results.explore, qtbot)
    assert again.curve_window.explorer is explorer
    qtbot.wait(50)  # the card deletes its previous buttons


def test_closing_a_dock_cancels_its_run_and_disconnects(dock, viewer, qtbot):
    show_docks(viewer)
    before = len(viewer.layers.events.callbacks)
    comparison = dock.comparison
    press(dock.run_button, qtbot)
    press(dock.parentWidget().title.close_button, qtbot)
    qtbot.waitUntil(lambda: not comparison.busy)
    qtbot.waitUntil(lambda: len(viewer.layers.events.callbacks) < before)
    again = open_answer(viewer, qtbot)
    assert again.state == "ready"
    assert "Cancelled" in words_of(again)
    run(again, qtbot)
    assert again.result is not None
    assert not isalive(dock)


def test_a_closed_dock_is_released(viewer, qtbot):
    with_images(viewer)
    show_docks(viewer)
    Session.of(viewer).choices.set(settings=QUICK)
    Session.of(viewer).choices.design.connect_events()
    compared(Session.of(viewer).comparison, qtbot)
    for page in (AnswerPage, WhyPage, Bench, SegmentCurves, InspectCurves):
        dock = in_window(viewer, page, page.__name__)
        frame = dock.parentWidget()
        if page in (AnswerPage, WhyPage):
            run_again(dock, qtbot)
        gone = weakref.ref(dock)
        button = frame.title.close_button
        del dock, frame
        press(button, qtbot)
        wait_until_released(qtbot, gone)


@pytest.mark.skipif(PYSIDE6, reason="PySide destroys widgets in the thread that collects them")
@pytest.mark.parametrize("widget", [AnswerPage, Bench])
def test_a_page_collected_in_a_worker_thread_cancels_its_work(session, qtbot, widget):
    page = widget(session.choices.viewer)
    page.itself = page  # freed only by the garbage collector
    session.detach()  # the page keeps the session connected
    session.comparison.run()
    gone = weakref.ref(page)
    del page
    collector = threading.Thread(target=gc.collect)
    collector.start()
    collector.join()
    assert gone() is None
    assert session.comparison.busy  # Qt destroys widgets in the main thread
    qtbot.waitUntil(lambda: not session.comparison.busy)
    assert session.comparison.message == CANCELLED
    session.attach()


def test_a_page_removed_from_its_dock_is_deleted_without_gc(viewer, qtbot):
    dock = in_window(viewer, AnswerPage, "Answer")
    viewer.window.remove_dock_widget(dock.parentWidget())
    qtbot.waitUntil(lambda: not isalive(dock))
