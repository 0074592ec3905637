"""The explorer of shape space and the explanation panel, without a dock."""

from dataclasses import replace

import numpy as np
import pytest
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QColor

from docks import press
from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.explanation.shape_paths import ShapePlaces
from napari_shape_ensembles.palette import COLOR_A
from napari_shape_ensembles.viewer.panels.distributions import PairedHistogram
from napari_shape_ensembles.viewer.panels.explanation import ExplanationPanel
from napari_shape_ensembles.viewer.panels.shape_canvas import (
    ShapeCanvas,
    StyledOutline,
    Thumbnails,
    TypicalOutlines,
    radius,
)
from napari_shape_ensembles.viewer.panels.shape_explorer import ShapeExplorer
from napari_shape_ensembles.viewer.panels.verdict import ReplicateDots

SQUARE = np.array([[-1.0, -1], [-1, 1], [1, 1], [1, -1]])


@pytest.fixture
def explorer(qtbot, comparison):
    widget = ShapeExplorer()
    qtbot.addWidget(widget)
    widget.set_places(ShapePlaces(comparison))
    return widget


@pytest.fixture
def panel(qtbot, explanation):
    widget = ExplanationPanel()
    qtbot.addWidget(widget)
    widget.show_explanation(explanation)
    return widget


def test_the_canvas_draws_outlines_at_scale_with_a_scale_bar(shown):
    canvas = ShapeCanvas()
    canvas.set_scale(2.0, "µm")
    canvas.show_shapes([StyledOutline(SQUARE, "A", width=3)], "a square")
    frames = shown(canvas, 300, 300).frames
    image = canvas.grab().toImage()
    assert canvas.frames > frames
    blue = np.array([[image.pixelColor(x, y).name() == COLOR_A for x in range(300)] for y in range(300)])
    rows, columns = blue.any(axis=1).nonzero()[0], blue.any(axis=0).nonzero()[0]
    assert np.ptp(rows) == pytest.approx(np.ptp(columns), abs=3)
    assert 100 < np.ptp(rows) < 145


def test_a_click_chooses_the_typical_outline_whose_line_is_clicked_else_the_filled_one(shown, qtbot):
    """Long edges have no vertex near their middle, and the smaller outlines have no area of their own."""
    picture, chosen = TypicalOutlines(), []
    picture.chosen.connect(chosen.append)
    outlines = [SQUARE * 3, SQUARE, SQUARE * 2], [SQUARE * 3, SQUARE * 2]
    picture.show_typical([(7, 4, 5), (12, 10)], outlines, (None, None), ("one", "two"), "px")
    shown(picture, 400, 240)
    left, right = round(picture.width() / 4), round(picture.width() * 3 / 4)
    found = [picture.row_at(QPointF(left, y)) for y in range(picture.height())]
    lines = [found.index(7), found.index(5), found.index(4)]
    middle = lines[2] + (lines[2] - lines[0]) // 2  # of the smallest outline
    for x, y in ((left, lines[0]), (left, lines[1]), (left, lines[2]), (left, middle), (right, middle)):
        qtbot.mouseClick(picture, Qt.MouseButton.LeftButton, pos=QPoint(x, y))
    assert chosen == [7, 5, 4, 7, 12]
    assert picture.row_at(QPointF(picture.width() / 2, picture.height() - 30)) is None
    picture.show_typical([(7, 4, 5), (12, 10)], outlines, (None, None), ("one", "two"), "px")  # again
    qtbot.keyClick(picture, Qt.Key.Key_Right)
    assert chosen[-1] == 10
    usual = [outline.width for outline in picture.outlines]
    picture.mark(np.array([5]))
    changed = [outline for outline, before in zip(picture.outlines, usual, strict=True) if outline.width != before]
    assert [np.ptp(outline.curve) for outline in changed] == [np.ptp(picture.outlines[1].curve)]
    picture.mark(np.array([], dtype=int))
    assert [outline.width for outline in picture.outlines] == usual


def test_drawings_of_groups_are_gray_while_disabled(shown):
    canvas, dots, histogram, thumbnails = ShapeCanvas(), ReplicateDots(), PairedHistogram(), Thumbnails()
    canvas.show_shapes([StyledOutline(SQUARE, "A", filled=True), StyledOutline(SQUARE / 2, "B", dashed=True)])
    dots.show_means(({"one": 1.0}, {"two": 2.0}), "size", "px")
    histogram.show_samples(np.arange(9.0), np.arange(9.0) + 3)
    thumbnails.show_curves([(0, SQUARE)], [(1, SQUARE)], ("one", "two"))
    for drawing in (canvas, dots, histogram, thumbnails):
        shown(drawing, 200, 200)
        for enabled in (True, False):
            drawing.setEnabled(enabled)
            image = drawing.grab().toImage()
            seen = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
            assert any(QColor(one).saturation() > 100 for one in seen) == enabled, drawing


def test_a_painting_error_is_reported_and_painting_resumes(shown, qtbot):
    """A QPainter that is still active then aborts the process, with PySide6 immediately."""
    canvas = shown(ShapeCanvas(), 300, 300)
    frames = canvas.frames
    with qtbot.capture_exceptions() as errors:
        canvas.show_shapes([StyledOutline(np.array([["no", "number"]]))])
        try:
            canvas.grab()
        except TypeError as error:  # PySide6 passes the error on
            errors.append(error)
        canvas.show_shapes([StyledOutline(SQUARE, "A")])
    assert errors
    assert not canvas.paintingActive()
    assert canvas.frames == frames
    canvas.grab()
    assert canvas.frames > frames


def test_the_radius_without_outlines_is_one():
    assert radius([]) == 1
    assert radius([SQUARE, 3 * SQUARE]) == pytest.approx(3 * np.sqrt(2))


def test_clicking_a_thumbnail_emits_its_row(shown, qtbot):
    thumbnails = Thumbnails()
    thumbnails.show_curves([(3, SQUARE)], [(40, SQUARE), (41, 2 * SQUARE)])
    chosen = []
    thumbnails.picked.connect(chosen.append)
    shown(thumbnails, 300, 130)
    for place in (2, 0):
        qtbot.mouseClick(thumbnails.buttons[place], Qt.MouseButton.LeftButton)
    qtbot.mouseClick(thumbnails, Qt.MouseButton.LeftButton, pos=QPoint(290, 5))
    assert chosen == [41, 3]
    assert typical(thumbnails) == [[3], [40, 41]]
    assert len({button.y() for button in thumbnails.buttons}) == 2


def typical(thumbnails):
    """Row indices of the curves shown, of A and of B."""
    return [[button.row for button in thumbnails.buttons if button.side == side] for side in "AB"]


def test_nothing_is_drawn_without_a_shape_space(qtbot):
    explorer = ShapeExplorer()
    qtbot.addWidget(explorer)
    explorer.sliders[0].setValue(4)
    explorer.tabs.setCurrentIndex(2)
    assert explorer.shape is None
    assert explorer.canvas.outlines == ()


def test_every_page_draws_its_shape_over_the_reference(explorer):
    for page, (name, behind) in enumerate(
        (("mean of all curves", 1), ("mean of one → mean of two <b>", 2), ("one · 100", 1))
    ):
        explorer.tabs.setCurrentIndex(page)
        *others, shape = explorer.canvas.outlines
        assert explorer.shape[1].startswith(name)
        assert len(others) == behind
        assert all(outline.dashed for outline in others)
        np.testing.assert_array_equal(shape.curve, explorer.shape[0])


def test_a_newly_chosen_path_starts_at_its_beginning(explorer, comparison):
    explorer.tabs.setCurrentIndex(1)
    explorer.choose(explorer.ends[0], 31)
    assert explorer.ends[0].currentText() == f"two <b> · {comparison.b.ids[1]}"
    places = ShapePlaces(comparison)
    expected = places.draw(places.curve(31)[0])
    np.testing.assert_allclose(explorer.shape[0], expected, atol=1e-9)


def test_modes_control_the_first_sliders_and_add_up(explorer):
    explorer.choose_modes([6, 6])
    for slider in explorer.sliders[:2]:
        slider.setValue(10)
    assert explorer.shape[1] == "mode 7 +2.0 sd"
    explorer.reset.click()
    assert explorer.shape[1] == "mean of all curves"


def test_another_comparison_resets_all_choices(explorer, comparison):
    explorer.tabs.setCurrentIndex(2)
    explorer.show_curve(50)
    explorer.set_places(ShapePlaces(comparison))
    assert explorer.curve.currentIndex() == 0
    assert explorer.rank.value() == explorer.rank.maximum() == 20
    assert explorer.shape[1] == "one · 100, rank 20"


def test_the_button_requests_the_selected_curve(explorer, qtbot):
    for take, combo in zip(explorer.pick_buttons, (*explorer.ends, explorer.curve), strict=True):
        with qtbot.waitSignal(explorer.wants_selected) as asked:
            take.click()
        assert asked.args == [combo]


def test_an_explanation_fills_each_tab_when_it_is_shown_and_selects_the_most_different_mode(panel, explanation):
    top = explanation.modes.by_relevance(explanation.comparison.settings.significance)[0]
    assert not panel.isHidden()
    assert panel.table.mode() is None
    assert typical(panel.gallery) == [[], []]
    panel.setCurrentIndex(1)
    assert panel.table.mode() == top
    assert panel.table.rowCount() == len(explanation.modes)
    told = panel.sentences.text(), panel.others.text()
    assert sum(words.count("•") + words.count("►") for words in told) == len(explanation.sentences())
    assert len(told[0].split()) <= 90
    assert panel.further.isVisibleTo(panel) == bool(told[1])
    panel.setCurrentIndex(2)
    of_a, of_b = typical(panel.gallery)
    assert max(of_a) < 30 <= min(of_b)


@pytest.fixture
def many(explanation):
    """An explanation with a sentence of every kind."""
    result = explanation.comparison
    return replace(
        explanation,
        comparison=with_names(replace(result, undulation=rejected(result.undulation), scale=rejected(result.scale))),
        modes=replace(explanation.modes, tests=all_rejected(explanation.modes.tests)),
        form=replace(explanation.form, effect_threshold=0.0, spread_threshold=0.0),
    )


def with_names(result):
    """The result as if four quantities differed, and the groups had common forms."""
    differ = "size", "elongation", "coarse form", "roughness"
    vars(result)["quantity_p_values"] = {
        name: (0.005, 0.005 if name in differ else 1.0) for name in result.quantity_p_values
    }
    vars(result)["has_common_form"] = True, True
    return result


def rejected(test):
    parts = {name: replace(part, mmd=10.0, p_value=0.005) for name, part in test.parts.items()}
    return replace(test, p_value=0.005, rejected=True, parts=parts)


def all_rejected(tests):
    return replace(tests, adjusted=np.full(len(tests.names), 0.001))


def test_every_sentence_shows_itself(panel, many, qtbot):
    panel.show_explanation(many)
    labels = [*panel.sentences.labels, *panel.others.labels]
    said = many.statements()
    assert [one.about for one in said if one.about][:4] == ["size", "elongation", "coarse form", "roughness"]
    assert panel.picture.isVisibleTo(panel)
    assert labels[0].text().startswith("►")
    drawn = set()
    for label, one in zip(labels, said, strict=True):
        if one.about:
            qtbot.mouseClick(label, Qt.MouseButton.LeftButton)
            assert [other.text()[0] == "►" for other in labels] == [other is label for other in labels]
            drawn.add(panel.picture.title)
    starts = "Outlines of average", "Mode", "Mean forms"
    assert [sum(title.startswith(start) for title in drawn) for start in starts] == [4, 1, 2]
    labels[0].setFocus()
    qtbot.keyClick(labels[0], Qt.Key.Key_Space)
    assert "average size" in panel.picture.title


def test_the_outlines_of_average_size_are_drawn_at_their_size(panel, explanation):
    comparison = explanation.comparison
    of_a, of_b = ([np.ptp(one.curve, axis=0) for one in panel.picture.outlines if one.side == side] for side in "AB")
    assert len(of_a) == len(of_b) == 3
    extents = [np.ptp(curve, axis=0).tolist() for curve in (*comparison.a.curves, *comparison.b.curves)]
    for one in (*of_a, *of_b):
        assert np.abs(np.array(extents) - one).max(axis=1).min() == pytest.approx(0, abs=1e-9)
    ratio = np.exp(np.log(of_b).mean() - np.log(of_a).mean())
    assert ratio == pytest.approx(comparison.estimates["estimate"][0], rel=0.15)


def test_the_mode_of_a_sentence_moves_and_comes_to_rest(panel, many, qtbot):
    panel.show_explanation(many)
    place, one = next((place, one) for place, one in enumerate(many.statements()) if one.about.startswith("mode"))
    label = next(label for label in (*panel.sentences.labels, *panel.others.labels) if label.place == place)
    panel.setCurrentIndex(1)
    panel.table.selectRow(5)
    panel.setCurrentIndex(0)
    qtbot.mouseClick(label, Qt.MouseButton.LeftButton)
    assert f"mode {panel.table.mode() + 1}" == one.about
    at_rest = panel.picture.outlines[-1].curve
    qtbot.waitUntil(lambda: not np.allclose(panel.picture.outlines[-1].curve, at_rest))
    panel.animation.setInterval(0)
    qtbot.waitUntil(lambda: not panel.animation.isActive())
    np.testing.assert_allclose(panel.picture.outlines[-1].curve, at_rest, atol=1e-9)


def test_the_picture_stays_at_the_chosen_sentence_when_the_sentences_are_updated(panel, many, qtbot):
    panel.show_explanation(many)
    qtbot.mouseClick(panel.sentences.labels[1], Qt.MouseButton.LeftButton)
    changed = with_names(replace(many.comparison, row_depends_on_archetype=True))
    panel.show_explanation(replace(many, comparison=changed))
    assert "average elongation" in panel.picture.title


def test_a_sentence_on_a_mode_selects_it_in_a_table_that_was_not_shown_yet(panel, many, qtbot):
    panel.show_explanation(many)
    place, one = next((place, one) for place, one in enumerate(many.statements()) if one.about.startswith("mode"))
    label = next(label for label in (*panel.sentences.labels, *panel.others.labels) if label.place == place)
    assert panel.table.mode() is None
    qtbot.mouseClick(label, Qt.MouseButton.LeftButton)
    assert f"mode {panel.table.mode() + 1}" == one.about


def test_choosing_a_mode_draws_it_and_emits_a_signal(panel, qtbot):
    panel.setCurrentIndex(1)
    with qtbot.waitSignal(panel.mode_chosen) as told:
        panel.table.selectRow(3)
    assert told.args == [panel.table.mode()]
    assert f"Mode {panel.table.mode() + 1} " in panel.mode_sentence.text()
    assert [outline.dashed for outline in panel.mode_canvas.outlines] == [True, False, False]


def test_a_panel_without_an_explanation_is_hidden_and_shows_the_next_one(panel, many, explanation):
    for tab in range(panel.count()):
        panel.setCurrentIndex(tab)
    panel.show_explanation(None)
    assert panel.isHidden()
    assert not panel.animation.isActive()
    panel.kind.setCurrentIndex(1)
    for one in (many, explanation):
        panel.show_explanation(one)
        assert not panel.isHidden()
        for tab in range(panel.count()):
            panel.setCurrentIndex(tab)
        assert panel.table.rowCount() == len(one.modes)
        rows = [button.row for button in panel.gallery.buttons]
        assert max(rows) < len(one.comparison.a) + len(one.comparison.b)


def test_a_narrow_table_moves_columns_to_the_text_below(shown, panel):
    headings = [panel.table.horizontalHeaderItem(place).text() for place in range(panel.table.columnCount())]
    panel.setCurrentIndex(1)
    shown(panel, 900, 500)
    assert not any(panel.table.isColumnHidden(place) for place in range(len(headings)))
    panel.table.resize(12 * panel.table.fontMetrics().height(), 150)
    hidden = [heading for place, heading in enumerate(headings) if panel.table.isColumnHidden(place)]
    assert hidden == ["sd ratio", "var."]


def test_play_stops_on_request(explorer, qtbot):
    press(explorer.play, qtbot)
    assert explorer.play.isChecked()
    explorer.stop()
    assert not explorer.play.isChecked()
    assert explorer.play.text() == "▶ Pla&y"


def test_typical_curves_by_undulation_are_drawn_large_enough(qtbot, explanation):
    panel = ExplanationPanel()
    qtbot.addWidget(panel)
    small = replace(explanation.comparison, b=Ensemble([curve / 100 for curve in explanation.comparison.b.curves]))
    panel.show_explanation(replace(explanation, comparison=small))
    panel.setCurrentIndex(2)
    drawn = [radius([button.outline.curve]) for button in panel.gallery.buttons]
    assert max(drawn) == pytest.approx(min(drawn))
    assert "own size" in panel.gallery.toolTip()
    panel.kind.setCurrentIndex(1)
    sizes = [radius([button.outline.curve]) for button in panel.gallery.buttons]
    assert max(sizes) > 20 * min(sizes)
    assert "the same scale" in panel.gallery.toolTip()
