"""Two windows in one process: what closing one, or quitting, asks about, and what it leaves alone."""

import time

import pytest
from napari.settings import get_settings
from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import QApplication, QDialog, QLabel, QPushButton

from docks import PLUGIN, grid_of, open_compare_dock, show_given_result, spots
from napari_shape_ensembles.progress import report_progress
from napari_shape_ensembles.viewer import comparing
from napari_shape_ensembles.viewer.close_confirmation import OTHER_WINDOW, RUNNING, UNSAVED


def slow(*_):
    for index in range(3000):
        report_progress("counting", index, 3000)
        time.sleep(0.01)


def elsewhere(line):
    return OTHER_WINDOW.format(line[0].lower() + line[1:-1])


@pytest.fixture
def ask_and_answer(qtbot):
    """A function that does what asks, answers as it is told, and returns what was asked, a text for each question."""

    def ask(does, answer):
        questions, since = [], time.monotonic()
        timer = QTimer()

        def look():
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, QDialog) and dialog.isVisible() and time.monotonic() < since + 20:
                words = [label.text() for label in dialog.findChildren(QLabel)]
                buttons = {button.text().replace("&", ""): button for button in dialog.findChildren(QPushButton)}
                questions.append("\n".join(words))
                buttons[answer].click()

        timer.timeout.connect(look)
        timer.start(60)  # the question has been completed by then
        does()
        qtbot.wait(10)
        timer.stop()
        return questions

    return ask


def test_leaving_asks_once_for_all_windows_and_closing_one_leaves_the_other_alone(
    make_napari_viewer, comparison, ask_and_answer, qtbot, monkeypatch
):
    first, second = make_napari_viewer(), make_napari_viewer()
    for viewer in (first, second):
        for seed in (1, 2):
            viewer.add_image(spots(seed), name=str(seed))
    bench = second.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    one, other = windows = [viewer.window._qt_window for viewer in (first, second)]
    for window in windows:
        window.show()
    assert grid_of(second).enabled
    show_given_result(comparison, second)

    # What napari's menu and keys do, with its own question: in a window without a page, once that has the focus.
    one.activateWindow()
    qtbot.waitUntil(one.isActiveWindow, timeout=5000)
    (question,) = ask_and_answer(lambda: one.close(quit_app=True, confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {elsewhere(UNSAVED)}")
    (question,) = ask_and_answer(lambda: one.close(confirm_need=True), "Cancel")
    assert "⚠" not in question

    dock = open_compare_dock(first, qtbot)
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow, timeout=5000)
    monkeypatch.setattr(comparing, "compare", slow)
    dock.run_button.click()  # while the second window is in front
    qtbot.waitUntil(lambda: "Counting" in dock.step.text(), timeout=20_000)
    (question,) = ask_and_answer(lambda: one.close(confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {RUNNING}")
    (question,) = ask_and_answer(lambda: other.close(quit_app=True, confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {UNSAVED}\n⚠ {elsewhere(RUNNING)}")

    # Where a person wants no questions, one is asked where something would be lost.
    monkeypatch.setattr(get_settings().application, "confirm_close_window", False)
    (question,) = ask_and_answer(lambda: other.close(confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {UNSAVED}\n⚠ {elsewhere(RUNNING)}")
    assert all(window.isVisible() for window in windows)
    assert bench.session.comparison.result is comparison
    other.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)  # the fixture closes what it has made
    (question,) = ask_and_answer(lambda: other.close(confirm_need=True), "Close")
    assert not other.isVisible()
    # At once: Qt takes the canvas away before the docks.
    assert not grid_of(second).enabled
    assert dock.state == "running"
    reached = dock.task.step
    qtbot.waitUntil(lambda: dock.task.step is not reached, timeout=5000)
    dock.cancel()
