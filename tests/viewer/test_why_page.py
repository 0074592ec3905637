"""The page *Why* as a user operates it: use a comparison, move sliders, play, explain, add, save."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from curve_makers import blobs
from docks import (
    destroy,
    in_window,
    open_answer,
    out_of_date,
    press,
    run,
    set_choices,
    show_docks,
    show_given_result,
    slow,
    wait_until_idle,
)
from image_makers import spots
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.explanation.shape_paths import ShapePlaces
from napari_shape_ensembles.viewer import explaining
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.panels.distributions import PairedHistogram, ShareBar
from napari_shape_ensembles.viewer.panels.shape_canvas import round_length

QUICK = Settings(landmarks=100, rank=20, permutations=199)


@pytest.fixture(scope="module")
def result():
    a = Ensemble(list(blobs(30, 80, seed=1)), name="one", unit="µm", ids=np.arange(100, 130))
    b = Ensemble(list(blobs(35, 80, seed=2) * 1.6), name="two", unit="µm")
    return compare(a, b, QUICK)


def opened_space(viewer):
    return in_window(viewer, WhyPage, "Why")


def bare_space(model, qtbot):
    """The dock without a window."""
    widget = WhyPage(model)
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def space(model, qtbot, result):
    widget = bare_space(model, qtbot)
    show_given_result(result, model)
    assert widget.explorer.places is None  # while folded, it would only delay the page
    press(widget.folded_explorer.heading, qtbot)
    return widget


@pytest.fixture
def explained(space, qtbot):
    return explain(space, qtbot)


def explain(space, qtbot):
    with qtbot.waitSignal(space.finished):
        press(space.run_button, qtbot)
    return space


def shown(space):
    return space.explorer.shape[0]


def test_without_a_comparison_the_remedy_is_shown(model, qtbot):
    space = bare_space(model, qtbot)
    assert "have not been compared" in space.reason.text()
    assert "Open two images" in space.reason.text()
    assert space.folded_explorer.isHidden()
    for seed in (1, 2):
        model.add_image(spots(seed), name=str(seed))
    set_choices(space.session.choices, permutations=199, landmarks=50)
    press(space.compare, qtbot)
    wait_until_idle(space.session.comparison, qtbot)
    assert space.explanation.explained_comparison is space.session.comparison.result
    assert not space.folded_explorer.isHidden()


def test_a_compare_dock_opened_later_is_found(model, qtbot):
    space = bare_space(model, qtbot)
    space.show()
    for seed in (1, 2):
        model.add_image(spots(seed), name=str(seed))
    compare_dock = open_answer(model, qtbot)
    run(compare_dock, qtbot)
    assert space.explanation.explained_comparison is compare_dock.result


def test_sliders_change_the_shape_along_their_coordinate_until_reset(space, qtbot, result):
    explorer, places = space.explorer, ShapePlaces(result)
    mean = places.draw(places.mean(""))
    np.testing.assert_allclose(shown(space), mean, atol=1e-10)
    explorer.mode_boxes[1].setValue(7)
    explorer.sliders[1].setValue(20)
    expected = places.draw(places.moved({6: 2.0}, {}))
    np.testing.assert_allclose(shown(space), expected, atol=1e-10)
    assert "mode 7 +2.0 sd" in explorer.shape[1]
    explorer.sliders[4].setValue(10)
    size = np.linalg.norm(shown(space)) / np.linalg.norm(expected)
    l = result.l @ [np.sqrt(0.5), 0, np.sqrt(0.5)]
    assert size == pytest.approx(np.exp(l.std() / np.sqrt(2)), rel=1e-6)
    for slider in explorer.sliders:
        slider.setValue(9)
    press(explorer.reset, qtbot)
    np.testing.assert_allclose(shown(space), mean, atol=1e-10)


def test_the_path_connects_the_two_means(space, result):
    places = ShapePlaces(result)
    space.explorer.tabs.setCurrentIndex(1)
    np.testing.assert_allclose(shown(space), places.draw(places.mean("A")), atol=1e-9)
    space.explorer.time.setValue(100)
    np.testing.assert_allclose(np.linalg.norm(shown(space)), np.linalg.norm(places.draw(places.mean("B"))), rtol=1e-9)
    a, b = result.names
    assert f"mean of {a} → mean of {b}, 100%" in space.explorer.shape[1]


def test_the_reconstruction_converges_to_the_outline_with_rank(space, result):
    explorer = space.explorer
    explorer.show_curve(40)
    _, outline = ShapePlaces(result).curve(40)
    away = []
    for rank in (1, 5, 20):
        explorer.rank.setValue(rank)
        away.append(np.sqrt(((shown(space) - outline) ** 2).sum(axis=1).mean()))
        assert f"at rank {rank}" in explorer.lipschitz.text()
        assert f"{away[-1]:.3g} µm" in explorer.lipschitz.text()
    assert away[0] > away[1] > away[2]
    assert pdist(outline).max() == pytest.approx(pdist(result.b.curves[10]).max(), rel=0.01)


def test_play_animates_the_last_used_slider_until_pressed_again(space, qtbot):
    explorer = space.explorer
    explorer.isVisible = lambda: True
    for tab, slider in enumerate((explorer.sliders[0], explorer.time, explorer.rank)):
        explorer.tabs.setCurrentIndex(tab)
        seen = set()
        slider.valueChanged.connect(seen.add)
        press(explorer.play, qtbot)
        qtbot.waitUntil(lambda seen=seen: len(seen) >= 4)
        press(explorer.play, qtbot)
        count = len(seen)
        qtbot.wait(80)
        assert len(seen) == count
        assert explorer.play.text() == "▶ Pla&y"


def test_explaining_fills_the_pages_until_another_comparison(explained, result, model, qtbot):
    panel = explained.panel
    assert not panel.isHidden()
    assert "two's outlines are larger" in panel.sentences.text()
    assert panel.shares.lines[0].startswith("size ")
    panel.setCurrentIndex(1)
    assert panel.table.rowCount() == len(panel.explanation.modes) == 20
    modes = panel.explanation.modes.by_relevance(0.01)
    top = modes[0]
    assert panel.table.item(0, 0).text() == f"{top + 1}"
    labels = [panel.table.item(row, panel.table.columnCount() - 1).text() for row in range(20)]
    assert labels == [panel.explanation.modes.label(mode) for mode in modes]
    assert explained.explorer.mode_boxes[0].value() == top + 1
    assert f"Mode {top + 1} " in panel.mode_sentence.text()
    assert len(panel.mode_canvas.outlines) == 3
    panel.setCurrentIndex(2)
    of_a, of_b = typical(panel.gallery)
    assert max(of_a) < 30 <= min(of_b)

    before = panel.mode_canvas.outlines[2].curve
    panel.table.selectRow(4)  # which draws the mode, and sets the first slider
    mode = int(panel.table.item(4, 0).text())
    assert f"Mode {mode} " in panel.mode_sentence.text()
    assert explained.explorer.mode_boxes[0].value() == mode
    assert not np.allclose(panel.mode_canvas.outlines[2].curve, before)
    np.testing.assert_allclose([bars.sum() for bars in panel.densities.shares()], 1)

    by_form = typical(panel.gallery)
    panel.kind.setCurrentIndex(1)
    by_scale = typical(panel.gallery)
    assert by_form != by_scale
    row = by_scale[1][2]
    (button,) = (button for button in panel.gallery.buttons if button.row == row)
    press(button, qtbot)
    assert explained.explorer.curve.currentIndex() == row
    assert explained.explorer.tabs.currentIndex() == 2
    assert explained.explorer.shape[1].startswith(f"two · {row - 30}")

    show_given_result(replace(result, row_depends_on_archetype=True), model)
    assert "The comparison is inconclusive" in panel.sentences.text()
    show_given_result(compare(result.b, result.a, QUICK), model)  # another comparison drops the explanation
    assert panel.explanation is None
    assert panel.isHidden()
    assert explained.save_report.isHidden()


def typical(thumbnails):
    """Rows of the curves shown, of A and of B."""
    return [[button.row for button in thumbnails.buttons if button.side == side] for side in "AB"]


def test_the_box_is_as_high_as_its_content(explained, shown):
    panel = explained.panel
    panel.setParent(None)
    shown(panel)
    heights = []
    for place in range(panel.count()):
        panel.setCurrentIndex(place)
        heights.append(panel.heightForWidth(350) if panel.hasHeightForWidth() else panel.sizeHint().height())
    few, modes, typical = heights
    assert few < modes - 100
    assert typical < modes


def test_cancel_stops_an_explanation(space, qtbot, monkeypatch):
    monkeypatch.setattr(explaining, "explain", slow)
    press(space.run_button, qtbot)
    assert not space.run_button.isEnabled()
    qtbot.waitUntil(lambda: "Counting" in space.step.text())
    press(space.cancel_button, qtbot)
    assert space.status.text() == "Cancelled."
    assert space.run_button.isEnabled()
    assert space.panel.explanation is None


@pytest.fixture
def beside(finished_dock, model, qtbot):
    """The dock with the result of *Compare shapes*, and the explorer unfolded."""
    widget = bare_space(model, qtbot)
    press(widget.folded_explorer.heading, qtbot)
    return widget


def test_an_existing_result_is_used_reported_as_outdated_and_renewed(beside, finished_dock, qtbot):
    first = beside.explanation.explained_comparison
    assert first is finished_dock.result
    run(finished_dock, qtbot)
    assert beside.explanation.explained_comparison is finished_dock.result is not first
    set_choices(finished_dock.session.choices, rank=21)
    assert "rank was 20 and is 21" in out_of_date(beside)
    before = beside.explanation.explained_comparison
    with qtbot.waitSignal(finished_dock.finished):
        press(beside.stale.button, qtbot)
    assert beside.explanation.explained_comparison is finished_dock.result is not before
    assert not out_of_date(beside)


def test_an_explanation_is_gray_while_it_is_out_of_date(explained, monkeypatch):
    panel, explorer = explained.panel, explained.explorer
    said = panel.sentences, panel.picture, panel.shares, panel.table, panel.gallery, explorer.canvas, explorer.reset
    for changed in (["rank was 20 and is 21"], []):
        monkeypatch.setattr(explained.task, "changed_since", lambda words=changed: words)
        explained.show_state()
        assert bool(out_of_date(explained)) is bool(changed)
        assert [one.isEnabled() for one in said] == [not changed] * len(said)


def test_changes_are_reported_while_compare_shapes_is_closed(dock, viewer, qtbot):
    set_choices(dock.session.choices, rank=20)
    run(dock, qtbot)
    beside = opened_space(viewer)
    show_docks(viewer)
    beside.parentWidget().show()
    data = viewer.layers["two"].events.data
    both = len(data.callbacks)
    dock.parentWidget().close()
    qtbot.waitUntil(lambda: len(data.callbacks) < both)
    viewer.layers["two"].data = spots(7)
    qtbot.waitUntil(lambda: "two was changed" in out_of_date(beside))
    press(beside.stale.button, qtbot)
    wait_until_idle(beside.session.comparison, qtbot)
    assert not out_of_date(beside)
    viewer.layers.remove("two")
    qtbot.waitUntil(lambda: "a layer was deleted" in out_of_date(beside))


def test_a_closed_dock_is_disconnected_from_layers(dock, viewer, qtbot):
    run(dock, qtbot)
    data = viewer.layers["one"].events.data
    before = len(data.callbacks)
    space = opened_space(viewer)
    show_docks(viewer)
    space.parentWidget().show()
    assert len(data.callbacks) == before + 1
    space.parentWidget().close()
    qtbot.waitUntil(lambda: len(data.callbacks) == before)
    space.parentWidget().show()
    assert len(data.callbacks) == before + 1


def test_the_selected_curve_of_a_layer_can_be_used_and_a_check_keeps_the_explanation(
    beside, finished_dock, model, qtbot
):
    beside.explorer.tabs.setCurrentIndex(1)
    press(beside.explorer.pick_buttons[0], qtbot)
    assert "Select one curve" in beside.status.text()
    layer = model.layers["two curves"]
    model.layers.selection.active = layer
    layer.selected_data = {4}
    press(beside.explorer.pick_buttons[0], qtbot)
    name = f"two · {layer.features['id'].iloc[4]}"
    assert beside.explorer.ends[0].currentText() == name
    assert beside.explorer.shape[1].startswith(f"{name} → mean of two")
    assert "Select one curve" not in beside.status.text()
    explain(beside, qtbot)
    beside.panel.setCurrentIndex(1)
    beside.panel.table.selectRow(3)
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.results.check, qtbot)
    assert beside.explanation.explained_comparison is finished_dock.result
    assert beside.panel.explanation.comparison is finished_dock.result
    assert beside.panel.table.currentRow() == 3
    assert not beside.save_report.isHidden()


def test_sentences_and_tabs_call_a_renamed_image_by_its_new_name(beside, finished_dock, model, qtbot):
    model.layers["two"].data = spots(2, size=16)
    run(finished_dock, qtbot)
    panel = explain(beside, qtbot).panel
    panel.setCurrentIndex(2)
    panel.setCurrentIndex(1)
    panel.table.selectRow(3)
    for tab, name in ((1, "first"), (2, "again")):  # the tab that is looked at meanwhile
        panel.setCurrentIndex(tab)
        model.layers["one" if tab == 1 else "first"].name = name
        qtbot.waitUntil(lambda name=name: finished_dock.result.a.name == name)
        assert f"{name}'s" in panel.sentences.text()
        panel.setCurrentIndex(2)
        assert name in panel.gallery.buttons[0].toolTip()
        panel.setCurrentIndex(1)
        assert name in panel.table.horizontalHeaderItem(2).toolTip()
        assert panel.table.currentRow() == 3


def test_add_to_viewer_adds_the_outline_in_its_unit(space, model, qtbot):
    space.explorer.sliders[0].setValue(15)
    press(space.explorer.add, qtbot)
    layer = model.layers[-1]
    np.testing.assert_allclose(layer.data[0], shown(space), atol=1e-5)
    assert layer.name == "mode 1 +1.5 sd"
    assert [str(unit) for unit in layer.units] == ["micrometer", "micrometer"]


def test_the_why_page_reports_that_no_curve_is_selected(model, qtbot, result):
    """The page shows its status only if there is a message, so the button had no visible effect."""
    page = WhyPage(model)
    qtbot.addWidget(page)
    show_given_result(result, model)
    page.folded_explorer.heading.click()
    press(page.explorer.pick_buttons[2], qtbot)
    assert not page.status.isHidden()
    assert page.status.text() == "⚠ Select one curve in a curve layer of the comparison first."


@pytest.mark.usefixtures("blank_figures")
def test_form_and_scale_are_exchanged_on_request(explained, result, model, qtbot, tmp_path, answer):
    explained.folded_control.heading.click()
    assert explained.controlled.isHidden()
    with qtbot.waitSignal(explained.finished):
        press(explained.control, qtbot)
    lines = explained.controlled.text().splitlines()
    assert lines[0] == "✓ Curves with one part exchanged differ in no other part: form and scale are separated."
    a, b = result.names
    assert lines[1:] == [
        f"Form of {form}, scale of {scale}: {first} against {a}; {second} against {b}."
        for form, scale, first, second in (
            (a, b, "scale differs", "no difference"),
            (b, a, "no difference", "scale differs"),
        )
    ]
    path = answer(tmp_path / "why.html")
    with qtbot.waitSignal(explained.finished):
        press(explained.save_report, qtbot)
    assert explained.status.text() == "Report saved: why.html"
    assert "Control experiment: forms and scales exchanged" in path.read_text()
    show_given_result(compare(result.b, result.a, QUICK), model)
    assert explained.controlled.isHidden()


def test_the_page_stays_where_form_and_scale_are_exchanged(explained, qtbot, shown):
    page = shown(explained, 420, 500)
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    press(page.folded_control.heading, qtbot)
    for _ in range(2):
        page.scroll.ensureWidgetVisible(page.control)
        page.control.setFocus()
        with qtbot.waitSignal(page.finished):
            press(page.control, qtbot)
        qtbot.wait(50)
        assert page.scroll.verticalScrollBar().value() > 0
        assert not page.controlled.visibleRegion().isEmpty()
        assert page.focusWidget() is page.control


def test_all_drawings_paint_in_both_themes(viewer, result, qtbot):
    space = opened_space(viewer)
    show_given_result(result, viewer)
    explain(space, qtbot)
    press(space.folded_explorer.heading, qtbot)
    for tab in range(space.panel.count()):
        space.panel.setCurrentIndex(tab)
    for theme in ("dark", "light"):
        viewer.theme = theme
        for widget in (space.explorer.canvas, space.panel.mode_canvas, space.panel.gallery):
            widget.resize(300, 220)
            picture = widget.grab().toImage()
            colours = {picture.pixel(x, y) for x in range(0, 300, 3) for y in range(0, picture.height(), 3)}
            assert len(colours) > 5


def test_bars_and_lengths(qtbot):
    assert [round_length(x) for x in (0.19, 2.1, 9.9, 100)] == pytest.approx([0.1, 2, 5, 100])
    bar, densities = ShareBar(), PairedHistogram()
    for widget in (bar, densities):
        qtbot.addWidget(widget)
    bar.show_shares([0.25, 0.75], ["size 25%", "form 75%"])
    densities.show_samples(np.zeros(5), np.zeros(3))
    assert bar.grab().width() > 0
    assert densities.grab().width() > 0


def test_a_reopened_dock_shows_the_explanation_without_recomputing(viewer, result, qtbot, monkeypatch):
    explained = opened_space(viewer)
    show_given_result(result, viewer)
    explain(explained, qtbot)
    monkeypatch.setattr(explaining, "explain", pytest.fail)
    show_docks(viewer)
    sentences, modes = explained.panel.sentences.text(), explained.panel.table.rowCount()
    frame = explained.parentWidget()
    frame.close()
    qtbot.wait(50)
    frame.show()
    assert explained.panel.sentences.text() == sentences
    press(frame.title.close_button, qtbot)
    assert opened_space(viewer) is not explained
    destroy(explained, qtbot)
    again = opened_space(viewer)
    assert again.panel.sentences.text() == sentences
    assert again.panel.table.rowCount() == modes
    assert not again.save_report.isHidden()
