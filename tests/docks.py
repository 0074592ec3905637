"""Helpers that operate the docks like a user: through their own buttons, menus and dialogs."""

import contextlib
import gc
import io
import time
from dataclasses import replace
from types import SimpleNamespace

import npe2
import numpy as np
from qtpy.compat import isalive
from qtpy.QtCore import QPointF, Qt
from qtpy.QtGui import QWheelEvent
from qtpy.QtWidgets import QApplication

from image_makers import labels_of, spots
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer.displayed_result import DisplayedResult
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.layers import OwnLayers
from napari_shape_ensembles.viewer.page_status import STATUS_OF
from napari_shape_ensembles.viewer.session import Session

PLUGIN = "napari-shape-ensembles"


def set_choices(choices, **changes):
    """Change some parameters of the recipe and the settings shared by all docks."""
    parts = (choices.recipe, choices.settings)
    assert all(any(hasattr(part, name) for part in parts) for name in changes)
    choices.set(*(replace(part, **{name: v for name, v in changes.items() if hasattr(part, name)}) for part in parts))


def add_spots(viewer, *names, **options):
    """Add an image of bright spots for each name; see `spots`."""
    return [viewer.add_image(spots(seed, **options), name=name) for seed, name in enumerate(names, 1)]


def add_labels(viewer, *names, **options):
    """Add labels of the spots of an image for each name; see `labels_of`."""
    return [viewer.add_labels(labels_of(seed, **options), name=name) for seed, name in enumerate(names, 1)]


def exclude(choices, layer, one):
    """Exclude a curve of a layer, by its id."""
    choices.exclusions.put(layer, {one}, choices.recipe)
    choices.exclusions.changed.emit()


def status(session, step):
    """The state of a step of the bench, and the reason."""
    return STATUS_OF[step](session)


def open_answer(viewer, qtbot, **settings):
    """Open the page *Answer* in a window or without one, with quick settings."""
    if hasattr(viewer, "window"):
        page = in_window(viewer, AnswerPage, "Answer")
    else:
        qtbot.addWidget(page := AnswerPage(viewer))
    set_choices(page.session.choices, **{"permutations": 199, "landmarks": 50, **settings})
    return page


def in_window(viewer, page_of, name):
    """Return a page in a dock of its own, as when torn off; one that is open is returned again."""
    page = viewer.window.dock_widgets.get(name)
    if page is None:
        viewer.window.add_dock_widget(page := page_of(viewer), name=name, area="right")
    return page


def choose_several(page, a, b):
    """Enter the groups A and B of the layers of these names, and none for the others."""
    design = page.session.design
    groups = {**dict.fromkeys(a, "A"), **dict.fromkeys(b, "B")}
    design.write([(layer, "group", groups.get(layer.name, "")) for layer in design.offered()])


def chosen_names(page):
    """The names of the layers of A and of B."""
    return [[layer.name for layer in side] for side in page.session.design.sides()]


def swap(page):
    """Exchange A and B."""
    page.session.design.swap()


def toggle_side_by_side(page):
    """Arrange the images side by side, or put the view back."""
    page.comparison.arrange(not page.comparison.side_by_side.on)


def show_docks(viewer):
    """Show a window without its canvas: beside a canvas, everything is painted by OpenGL, which is slow."""
    viewer.window._qt_window.centralWidget().hide()
    viewer.window.show()


def press(button, qtbot):
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def wheel(control):
    """Turn the mouse wheel over a control."""
    where = QPointF(control.rect().center())
    everywhere = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(where, where, *[QPointF(0, -120).toPoint()] * 2, Qt.MouseButton.NoButton, *everywhere, False)
    QApplication.sendEvent(control, event)


def run(widget, qtbot):
    """Press *Run*, wait for the result and return its text."""
    with qtbot.waitSignal(widget.finished):
        press(widget.run_button, qtbot)
    return words_of(widget)


def slow(*_, **__):
    """Stand in for the work of a task, which takes ten seconds unless it is cancelled."""
    for step in range(1000):
        report("counting", step, 1000)
        time.sleep(0.01)


def words_of(page):
    """The answer with its numbers, as text."""
    return "\n".join([page.verdict.sentence.text(), page.verdict.beside.text(), page.results.text()])


def grid_of(viewer):
    return viewer.canvas.grid


def curves_of(viewer, name):
    return viewer.layers[f"{name} curves"]


def selected_rows(dock):
    return dock.comparison.selection.rows.tolist()


def selected_in_table(explorer):
    places = [index.row() for index in explorer.table.selectionModel().selectedRows()]
    return sorted(explorer.table.curves.order[places].tolist())


def press_on_canvas(model, *positions, modifiers=()):
    """Simulate pressing the mouse on the canvas, dragging and releasing it."""
    event = SimpleNamespace(position=positions[0], type="mouse_press", modifiers=modifiers)
    steps = [callback(model, event) for callback in own_callbacks(model.mouse_drag_callbacks)]
    for kind, position in zip(["mouse_press", *["mouse_move"] * (len(positions) - 1)], positions, strict=True):
        event.type, event.position = kind, position
        for step in steps:
            next(step, None)
    event.type = "mouse_release"
    for step in steps:
        next(step, None)


def move_on_canvas(model, position):
    """Simulate moving the mouse."""
    for callback in own_callbacks(model.mouse_move_callbacks):
        callback(model, SimpleNamespace(position=position, type="mouse_move", modifiers=()))


def own_callbacks(callbacks):
    return [one for one in callbacks if isinstance(getattr(one, "__self__", None), OwnLayers)]


def position_inside(layer, index):
    """World coordinates of a point inside a curve."""
    from shapely import Polygon

    place = Polygon(layer.data[index]).representative_point()
    return layer.data_to_world((place.x, place.y))


def choose_menu_entry(button, words, qtbot, wait=True):
    """Trigger the menu entry that contains this text, and wait for its task to finish."""
    (entry,) = [entry for entry in button.menu().actions() if words in entry.text().replace("&", "")]
    dock = button
    while not isinstance(dock, AnswerPage):
        dock = dock.parentWidget()
    entry.trigger()
    if wait:
        qtbot.waitUntil(lambda: not dock.busy)
    return dock.results.message.text()


def choose_for_selected(card, words):
    """Choose an entry of the menu of the selected curves."""
    (entry,) = [entry for entry in card.menu.actions() if words in entry.text().replace("&", "")]
    assert card.actions.isEnabled()
    assert card.actions.menu() is card.menu
    assert entry.isEnabled()
    entry.trigger()


def includes_again(card):
    """Whether the menu of the selected curves includes them again, as all of them are left out."""
    return card.menu.leave_out.text().replace("&", "") == "Include again"


def save_as(dock, answer, path, qtbot):
    answer(path)
    said = choose_menu_entry(dock.results.store, "Save comparison", qtbot)
    assert said.startswith("Saved"), said
    return path


def reopen(viewer, path, qtbot):
    """Open a file in another viewer, and return the dock there."""
    npe2.PluginManager.instance().discover()
    dock = open_answer(viewer, qtbot)
    with qtbot.waitSignal(dock.finished):
        viewer.open(path, plugin=PLUGIN)
    return dock


def cells(viewer):
    """Names of the visible layers in each cell of the grid."""
    found = {}
    for place, layer in enumerate(viewer.layers):
        if layer.visible:
            found.setdefault(grid_of(viewer).position(place, viewer.layers), set()).add(layer.name)
    return found


def listeners(viewer, layers):
    """Numbers of callbacks connected to each event of the layer list, the selection, the sliders and these layers."""
    groups = [viewer.layers.events, viewer.layers.selection.events, viewer.dims.events]
    groups += [layer.events for layer in layers]
    return [len(emitter.callbacks) for group in groups for emitter in (group, *group.emitters.values())]


def out_of_date(page):
    """What a page says is out of date; empty if nothing is."""
    return "" if page.stale.isHidden() else page.stale.label.text()


def ended(task, qtbot, start):
    """Start a task, and wait until it is idle."""
    start()
    qtbot.waitUntil(lambda: not task.busy)


def execute(code, **names):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, scope := {"__name__": "__main__", **names})
    return scope, out.getvalue()


def same(one, other):
    assert one.case == other.case
    np.testing.assert_array_equal(one.t, other.t)
    np.testing.assert_array_equal(one.undulation.null, other.undulation.null)
    assert one.scale.p_value == other.scale.p_value


def show_given_result(result, viewer):
    """Show a result computed elsewhere in a viewer's session."""
    task = Session.of(viewer).comparison
    for _ in task.show_in_turns(DisplayedResult(result, None, {})):
        pass
    task.unsaved = True


def wait_until_idle(task, qtbot):
    """Wait until a task is idle."""
    qtbot.waitUntil(lambda: not task.busy)
    return task


def destroy(widget, qtbot):
    """Delete a widget; with PySide6, pytest-qt cannot wait for its `destroyed` signal, as it is disconnected first."""
    widget.deleteLater()
    qtbot.waitUntil(lambda: not isalive(widget))


def wait_until_released(qtbot, *refs):
    """Wait until these weak references are dead, collecting garbage rarely, as this takes a quarter of a second."""
    for turn in range(1000):
        if not any(ref() for ref in refs):
            return
        qtbot.wait(20)
        if turn % 5 == 4:
            gc.collect()
    raise AssertionError([ref() for ref in refs])
