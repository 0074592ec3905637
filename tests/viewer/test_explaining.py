"""The explanation task without a widget: run, cancel, keep, outdate, save."""

import time
from dataclasses import replace

import pytest

from docks import ended, show_given_result, wait_until_idle
from image_makers import spots
from napari_shape_ensembles import Settings, compare
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer import explaining
from napari_shape_ensembles.viewer.session import Session

QUICK = Settings(landmarks=50, rank=10, permutations=99)


@pytest.fixture
def task(model, qapp):
    """The task, activated as by an open dock."""
    task = Session.of(model).explanation
    task.activate()
    yield task
    task.deactivate()


@pytest.fixture
def ready(task, comparison, model):
    show_given_result(comparison, model)
    return task


@pytest.fixture
def explained_task(ready, qtbot):
    ready.run()
    return wait_until_idle(ready, qtbot)


@pytest.fixture
def compared(model, qtbot):
    """The task after a run on two layers, activated as by an open dock."""
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    session = Session.of(model)
    session.attach()
    session.choices.set(settings=QUICK)
    ended(session.comparison, qtbot, session.comparison.run)
    session.explanation.activate()
    return session.explanation


def run_anew(task, qtbot):
    ended(task.comparison, qtbot, task.comparison.run)


def test_without_a_comparison_there_is_nothing_to_explain(task):
    assert "have not been compared" in task.blocking_reason()
    task.run()
    assert not task.busy
    assert (task.state, task.changed_since(), task.selected_row()) == ("empty", [], None)


def test_the_comparison_is_explained(ready, comparison, qtbot):
    assert ready.state == "ready"
    steps, ends = [], []
    ready.progressed.connect(lambda step: steps.append(step.name))
    ready.finished.connect(lambda: ends.append(ready.state))
    ready.run()
    assert ready.state == "running"
    wait_until_idle(ready, qtbot)
    assert ends == ["done"]
    assert ready.result.comparison is comparison
    assert any("two <b>'s outlines are larger" in sentence for sentence in ready.result.sentences())
    assert len(set(steps)) > 2


def test_a_run_can_be_cancelled(ready, qtbot, monkeypatch):
    def slow(_):
        for step in range(1000):
            report("counting", step, 1000)
            time.sleep(0.01)

    monkeypatch.setattr(explaining, "explain", slow)
    ready.run()
    qtbot.waitUntil(lambda: ready.step.name == "counting")
    ready.cancel()
    assert (ready.busy, ready.message, ready.result) == (False, "Cancelled.", None)
    qtbot.waitUntil(lambda: not ready.threads)


def test_an_error_is_reported_and_keeps_the_previous_explanation(explained_task, qtbot, monkeypatch):
    def failing(_):
        raise RuntimeError("the reason")

    before = explained_task.result
    monkeypatch.setattr(explaining, "explain", failing)
    ended(explained_task, qtbot, explained_task.run)
    assert explained_task.state == "error"
    assert "the reason" in explained_task.message
    assert explained_task.result is before


def test_another_comparison_drops_the_explanation(explained_task, comparison, model):
    show_given_result(compare(comparison.b, comparison.a, comparison.settings), model)
    assert explained_task.result is None
    assert explained_task.state == "ready"


def test_another_comparison_cancels_the_running_explanation(ready, comparison, model):
    ready.run()
    show_given_result(compare(comparison.b, comparison.a, comparison.settings), model)
    assert not ready.busy
    assert (ready.message, ready.result) == ("", None)


def test_a_new_verdict_on_the_same_data_is_adopted(explained_task, comparison, model):
    modes, judged = explained_task.result.modes, replace(comparison, row_depends_on_archetype=True)
    show_given_result(judged, model)
    assert explained_task.result.comparison is judged
    assert explained_task.result.modes is modes
    assert any("inconclusive" in sentence for sentence in explained_task.result.sentences())


def test_a_verdict_that_arrives_during_a_run_is_adopted(ready, comparison, model, qtbot):
    judged = replace(comparison, row_depends_on_archetype=True)
    ready.run()
    show_given_result(judged, model)
    assert wait_until_idle(ready, qtbot).result.comparison is judged


def test_changes_since_the_comparison_are_reported(compared, model, qtbot):
    told = []
    compared.changed.connect(lambda: told.append(compared.changed_since()))
    pixels = model.layers["one"].data
    model.layers["one"].data = spots(7)
    qtbot.waitUntil(lambda: told[-1:] == [["one was changed"]])
    model.layers["one"].data = pixels
    qtbot.waitUntil(lambda: told[-1:] == [[]])
    compared.choices.set(settings=replace(QUICK, rank=9))
    assert told[-1] == ["rank was 10 and is 9"]
    run_anew(compared, qtbot)
    assert told[-1] == []
    assert compared.explained_comparison is compared.comparison.result


def test_a_failed_run_outdates_the_explanation_but_keeps_it(compared, model, qtbot):
    before = compared.explained_comparison
    model.layers["two"].units = ("pixel", "pixel")
    run_anew(compared, qtbot)
    assert compared.comparison.state == "error"
    assert compared.explained_comparison is before
    assert compared.changed_since() == ["the later run failed"]
    model.layers["two"].units = ("um", "um")
    run_anew(compared, qtbot)
    assert compared.explained_comparison is not before
    assert compared.changed_since() == []


@pytest.mark.parametrize("when", ["explained", "while explaining"])
def test_the_headline_calls_a_renamed_image_by_its_new_name(compared, model, qtbot, when):
    compared.set_automatic(True)
    qtbot.waitUntil(lambda: compared.result is not None if when == "explained" else compared.headline is not None)
    assert "two over one" in compared.headline.estimates[0]
    before = compared.result
    assert (before is not None) == (when == "explained")
    model.layers["one"].name = "first"
    qtbot.waitUntil(lambda: "two over first" in compared.headline.estimates[0])
    wait_until_idle(compared, qtbot)
    assert compared.result is before if when == "explained" else compared.result is not None
    assert not compared.failed


def test_a_deleted_layer_is_reported(compared, model):
    told = []
    compared.changed.connect(lambda: told.append(compared.changed_since()))
    model.layers.remove("two")
    assert told[-1] == ["a layer was deleted"]


def test_an_inactive_task_is_disconnected_from_layers(compared, model):
    data = model.layers["one"].events.data
    before = len(data.callbacks)
    compared.deactivate()
    assert len(data.callbacks) == before - 1
    compared.activate()
    assert len(data.callbacks) == before


def test_the_selected_curve_is_from_the_active_layer_or_the_selection(compared, model):
    assert compared.selected_row() is None
    model.layers.selection.active = layer = model.layers["two curves"]
    layer.selected_data = {4}
    assert compared.selected_row() == len(compared.explained_comparison.a) + 4
    layer.selected_data = {4, 5}
    assert compared.selected_row() is None
    model.layers.selection.active = model.layers["one"]
    compared.comparison.selection.pick([3])
    assert compared.selected_row() == 3


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("why.html", "Report saved: why.html"),
        ("why.doc", "save a report as .html or .pdf"),
        ("nowhere/why.html", "why.html cannot be written: No such file"),
    ],
)
def test_the_report_is_saved_or_the_failure_reported(explained_task, qtbot, tmp_path, name, words):
    explained_task.save_report(tmp_path / name)
    wait_until_idle(explained_task, qtbot)
    assert words in explained_task.message
    assert explained_task.state == "done"
    assert (tmp_path / name).exists() == (name == "why.html")
