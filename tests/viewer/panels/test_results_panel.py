"""The results panel alone: what it shows with and without a comparison."""

from dataclasses import replace

import pytest

from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.comparison.verdict import TRUTH_TABLE
from napari_shape_ensembles.viewer import displayed_result
from napari_shape_ensembles.viewer.displayed_result import DisplayedResult
from napari_shape_ensembles.viewer.panels.results import ResultsPanel, TruthTable


@pytest.fixture
def panel(qtbot):
    widget = ResultsPanel({})
    qtbot.addWidget(widget)
    return widget


def visible(panel):
    """Names of the visible parts."""
    parts = (
        "origin",
        "warnings",
        "tests",
        "nulls",
        "details",
        "settings",
        "check",
        "message",
    )
    return {name for name in parts if getattr(panel, name).isVisibleTo(panel)}


def test_without_a_result_the_panel_is_empty(panel):
    assert visible(panel) == set()
    assert panel.text().strip() == ""


def test_a_result_is_shown_with_its_row_tests_counts_and_settings(panel, comparison):
    panel.show_result(DisplayedResult(comparison, None, {}))
    assert panel.table.marked() == [comparison.case]
    assert {"nulls", "details", "settings", "check"} <= visible(panel)
    assert f"{comparison.scale.p_value:.2g}" in panel.text()
    assert "<b>one</b>: 30 curves, in µm" in panel.details.text()
    assert "<b>two &lt;b&gt;</b>: 35 curves" in panel.details.text()
    assert "rank: 20" in panel.used.text()
    assert f"{comparison.scale.mmd:.3f}" in panel.null_plots["Scale"].caption


def test_decisions_stand_beside_their_tests(panel, comparison, shown):
    panel.show_result(DisplayedResult(comparison, None, {}))
    shown(panel)
    names = [name for name, _ in displayed_result.tests_of(comparison)]
    lines = 1 + sum(1 + name.count(" of ") + name.count(" and ") for name in names)
    assert panel.tests.height() < lines * (panel.tests.fontMetrics().height() + 8)
    assert panel.tests.text().count("detected") == len(names)


def test_notes_and_warnings_are_listed_with_a_symbol(panel, comparison):
    a, b = (Ensemble(side.curves, name=side.name) for side in (comparison.a, comparison.b))
    warned = replace(comparison, a=a, b=b)
    panel.show_result(DisplayedResult(warned, None, {}, notes=("✓ saved",)))
    assert "make sure all images have the same pixel size" in panel.warnings.text()
    lines = ["✓ saved", *(f"⚠ {warning}" for warning in warned.warnings)]
    assert panel.warnings.text() == "\n".join(lines)
    panel.show_result(DisplayedResult(comparison, None, {}))
    assert ("warnings" in visible(panel)) == bool(comparison.warnings)


def test_a_note_is_announced_once_and_hidden_if_empty(panel, qtbot):
    with qtbot.waitSignal(panel.note_shown):
        panel.show_note("Saved to <a>.npz", "/folder/<a>.npz")
    assert panel.message.toolTip() == "<qt>/folder/&lt;a&gt;.npz</qt>"
    with qtbot.assertNotEmitted(panel.note_shown):
        panel.show_note("")
    assert "message" not in visible(panel)


def test_slow_actions_are_enabled_unless_busy_or_inconclusive(panel, comparison):
    panel.show_result(DisplayedResult(comparison, None, {}))
    assert panel.check.isEnabled()
    panel.show_state(busy=True)
    assert not panel.check.isEnabled()
    assert not panel.store.isEnabled()
    panel.show_result(DisplayedResult(replace(comparison, row_depends_on_archetype=True), None, {}))
    assert panel.store.isEnabled()
    assert not panel.check.isEnabled()
    assert panel.table.marked() == []
    assert "withheld" in panel.text()


@pytest.mark.parametrize("case", TRUTH_TABLE)
def test_the_resulting_row_is_framed_in_the_text_color(shown, case):
    table = shown(TruthTable(), 380, 260)
    before = dark_rows(table)
    table.mark(case)
    assert table.marked() == [case]
    assert len(dark_rows(table) - before) > 30
    table.mark("inconclusive")
    assert table.marked() == []
    assert dark_rows(table) == before


def dark_rows(table):
    """Rows of pixels whose second pixel has the text color."""
    image = table.grab().toImage()
    ink = table.palette().windowText().color()
    return {y for y in range(image.height()) if image.pixelColor(1, y) == ink}
