"""Two windows in one process: confirmation when closing one, or quitting."""

import time

import pytest
from napari.settings import get_settings
from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import QApplication, QDialog, QLabel, QPushButton

from docks import PLUGIN, grid_of, open_answer, show_docks, show_given_result
from image_makers import spots
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer import comparing
from napari_shape_ensembles.viewer.close_confirmation import OTHER_WINDOW, RUNNING, UNSAVED


def slow(*_):
    for index in range(3000):
        report("counting", index, 3000)
        time.sleep(0.01)


def elsewhere(line):
    return OTHER_WINDOW.format(line[0].lower() + line[1:-1])


@pytest.fixture
def ask_and_answer(qtbot):
    """Return a function that calls another, answers its dialogs, and returns their texts."""

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
        timer.start(60)  # until the dialog is complete
        does()
        qtbot.wait(10)
        timer.stop()
        return questions

    return ask


def test_quitting_asks_once_and_closing_a_window_leaves_the_other(
    make_napari_viewer, comparison, ask_and_answer, qtbot, monkeypatch
):
    first, second = make_napari_viewer(), make_napari_viewer()
    for viewer in (first, second):
        for seed in (1, 2):
            viewer.add_image(spots(seed), name=str(seed))
    bench = second.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    one, other = windows = [viewer.window._qt_window for viewer in (first, second)]
    for viewer in (first, second):
        show_docks(viewer)
    assert grid_of(second).enabled
    show_given_result(comparison, second)

    # napari's menu and keys ask their own question, in a window without a page, once it has the focus.
    one.activateWindow()
    qtbot.waitUntil(one.isActiveWindow)
    (question,) = ask_and_answer(lambda: one.close(quit_app=True, confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {elsewhere(UNSAVED)}")
    (question,) = ask_and_answer(lambda: one.close(confirm_need=True), "Cancel")
    assert "⚠" not in question

    dock = open_answer(first, qtbot)
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    monkeypatch.setattr(comparing, "compare_groups", slow)
    dock.run_button.click()  # while the second window is active
    qtbot.waitUntil(lambda: "Counting" in dock.step.text())
    (question,) = ask_and_answer(lambda: one.close(confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {RUNNING}")
    (question,) = ask_and_answer(lambda: other.close(quit_app=True, confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {UNSAVED}\n⚠ {elsewhere(RUNNING)}")

    # Even with confirmations disabled, a question is asked if results would be lost.
    monkeypatch.setattr(get_settings().application, "confirm_close_window", False)
    (question,) = ask_and_answer(lambda: other.close(confirm_need=True), "Cancel")
    assert question.endswith(f"\n⚠ {UNSAVED}\n⚠ {elsewhere(RUNNING)}")
    assert all(window.isVisible() for window in windows)
    assert bench.session.comparison.result is comparison
    other.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)  # the fixture closes its own viewers
    (question,) = ask_and_answer(lambda: other.close(confirm_need=True), "Close")
    assert not other.isVisible()
    # Immediately: Qt removes the canvas before the docks.
    assert not grid_of(second).enabled
    assert dock.state == "running"
    reached = dock.task.step
    qtbot.waitUntil(lambda: dock.task.step is not reached)
    dock.cancel()
