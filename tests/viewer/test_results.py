"""The results in the dock: panel, text, Python code, and help."""

import numpy as np
import pytest
from qtpy.QtCore import QPoint
from qtpy.QtWidgets import QApplication
from skimage.io import imsave

from docks import execute, open_answer, press, run, same, set_choices
from image_makers import spots
from napari_shape_ensembles.comparison.verdict import TRUTH_TABLE
from napari_shape_ensembles.viewer.panels.distributions import NullPlot
from napari_shape_ensembles.viewer.panels.help import HelpWindow, help_text


def clipboard():
    return QApplication.clipboard().text()


def test_the_text_states_result_tests_counts_and_settings(bare_dock, qtbot):
    run(bare_dock, qtbot)
    press(bare_dock.results.copy_text, qtbot)
    text, result = clipboard(), bare_dock.result
    assert text.startswith(result.summary())
    for part in ("Undulation: MMD", "Scale: MMD", "A: one, 16 curves in µm", "landmarks: 50", "objects: bright"):
        assert part in text
    assert f"p = {result.scale.p_value:.2g}" in text
    assert "Out of date" not in text
    assert f"napari-shape-ensembles {result.versions['napari-shape-ensembles']}" in text


def test_the_text_of_a_stale_result_says_so(bare_dock, qtbot):
    run(bare_dock, qtbot)
    set_choices(bare_dock.session.choices, rank=3)
    press(bare_dock.results.copy_text, qtbot)
    assert "Note: Out of date: rank was 150 and is 3." in clipboard()


def test_copied_python_for_files_runs(model, qtbot, tmp_path):
    for seed, name in ((1, "one"), (2, "two")):
        path = tmp_path / f"{name}.tif"
        imsave(path, spots(seed).astype(np.float32), check_contrast=False)
        (layer,) = model.open(path, plugin="napari")
        layer.scale, layer.units = (0.5, 0.25), ("um", "um")
    dock = open_answer(model, qtbot)
    set_choices(dock.session.choices, outline_smoothing=1.5)
    run(dock, qtbot)
    press(dock.results.copy_python, qtbot)
    assert "viewer" not in clipboard()
    scope, out = execute(clipboard())
    same(scope["result"], dock.result)
    assert dock.result.summary() in out


def test_copied_python_for_layers_runs_in_the_console(bare_dock, model, qtbot, monkeypatch):
    import napari

    run(bare_dock, qtbot)
    press(bare_dock.results.copy_python, qtbot)
    monkeypatch.setattr(napari, "current_viewer", lambda: model)
    scope, _ = execute(clipboard())
    same(scope["result"], bare_dock.result)


def test_copied_python_does_not_refer_to_a_changed_file(model, qtbot, tmp_path):
    for seed, name in ((1, "one"), (2, "two")):
        imsave(tmp_path / f"{name}.tif", spots(seed).astype(np.float32), check_contrast=False)
        model.open(tmp_path / f"{name}.tif", plugin="napari")
    model.layers["one"].data = spots(5)
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    press(dock.results.copy_python, qtbot)
    assert "ensemble_of(viewer.layers['one']" in clipboard()
    assert "two.tif" in clipboard()


def test_the_null_distribution_is_drawn_with_observed_value_and_threshold(bare_dock, qtbot):
    run(bare_dock, qtbot)
    for name, test in (("Undulation", bare_dock.result.undulation), ("Scale", bare_dock.result.scale)):
        plot = bare_dock.results.null_plots[name]
        assert f"{test.mmd:.3f}" in plot.caption
        assert f"{test.threshold:.3f}" in plot.caption
        low, high = plot.span
        assert low < min(test.null.min(), test.mmd)
        assert max(test.null.max(), test.mmd, test.threshold) < high
        plot.resize(300, plot.sizeHint().height())
        picture = plot.grab().toImage()
        ratio = picture.devicePixelRatio()
        column = [picture.pixelColor(QPoint(int(plot.place(test.mmd) * ratio), y)) for y in range(picture.height())]
        assert column.count(plot.palette().windowText().color()) > 40


def test_an_unreachable_threshold_is_stated_but_not_drawn(qtbot):
    from napari_shape_ensembles import mmd_test

    plot = NullPlot("Scale")
    qtbot.addWidget(plot)
    plot.show_test(mmd_test(np.arange(3.0), np.arange(4.0), permutations=20, significance=0.01))
    assert "out of reach" in plot.caption
    assert np.isfinite(plot.span).all()
    assert not plot.grab().isNull()


@pytest.mark.parametrize("null", ["gamma", "bound"])
def test_a_test_without_permutations_is_drawn(qtbot, null):
    from napari_shape_ensembles.mmd import gretton_test

    plot = NullPlot("Scale")
    qtbot.addWidget(plot)
    plot.show_test(gretton_test({"": (np.arange(20.0), np.arange(30.0))}, null))
    assert plot.span[0] < plot.span[1]
    assert not plot.grab().isNull()


def test_the_settings_shown_are_those_of_the_run(bare_dock, qtbot):
    run(bare_dock, qtbot)
    set_choices(bare_dock.session.choices, rank=3)
    press(bare_dock.results.settings.heading, qtbot)
    assert bare_dock.results.settings.unfolded
    assert "rank: 150" in bare_dock.results.used.text()


def test_the_help_opens_at_the_resulting_row(bare_dock, qtbot):
    run(bare_dock, qtbot)
    press(bare_dock.results.help, qtbot)
    assert bare_dock.help.page.textCursor().block().text().startswith(bare_dock.result.case)


@pytest.mark.parametrize("heading", [*TRUTH_TABLE, "inconclusive", "The numbers"])
def test_every_row_has_a_section_in_the_help(qtbot, heading):
    window = HelpWindow()
    qtbot.addWidget(window)
    window.open_at(heading)
    assert window.page.textCursor().block().text().startswith(heading)
    assert "http" not in help_text()
