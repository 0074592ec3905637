"""Notices with a button: shown only with a message, and their text in a dock."""

from types import SimpleNamespace

import pytest
from qtpy.QtCore import QPoint, Qt
from qtpy.QtGui import QCursor
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QPushButton

from docks import exclude, press
from napari_shape_ensembles.viewer.comparing import Outcome
from napari_shape_ensembles.viewer.panels.widgets import Notice, ScrollColumn, column, excluded_notice


@pytest.mark.parametrize("kind", [excluded_notice, lambda: Notice("Undo", "Show the previous result again")])
def test_a_notice_is_hidden_at_first_and_its_button_is_labeled(qtbot, kind):
    notice = kind()
    qtbot.addWidget(notice)
    assert notice.isHidden()
    assert notice.button.toolTip()
    notice.set_message("something")
    assert not notice.isHidden()
    notice.set_message("")
    assert notice.isHidden()
    with qtbot.waitSignal(notice.button.clicked):
        press(notice.button, qtbot)


def test_what_is_out_of_date_is_gray_with_up_to_three_changes_and_why_nothing_can_be_run(bare_dock, model, monkeypatch):
    changed = ["<b> was changed", "two", "three", "four", "five"]
    monkeypatch.setattr(bare_dock.task, "changed_since", lambda: changed)
    monkeypatch.setattr(bare_dock.task, "blocking_reason", lambda: "Open two images.")
    bare_dock.show_state()
    assert bare_dock.stale.label.text().endswith("&lt;b&gt; was changed, two, three, and 2 more. Open two images.")
    assert bare_dock.reason.isHidden()
    assert not any(part.isEnabled() for part in bare_dock.findings)
    assert not bare_dock.stale.button.isEnabled()
    changed.clear()
    bare_dock.show_state()
    assert bare_dock.stale.isHidden()
    assert not bare_dock.reason.isHidden()
    assert all(part.isEnabled() for part in bare_dock.findings)


def test_a_replaced_result_is_named(bare_dock):
    named = [SimpleNamespace(name=name) for name in ("one", "two")]
    shown = SimpleNamespace(result=SimpleNamespace(a=named[0], b=named[1]))
    bare_dock.comparison.recoverable = Outcome(shown, [])
    bare_dock.show_state()
    assert "(one and two)" in bare_dock.recover_notice.label.text()
    bare_dock.comparison.recoverable = None
    bare_dock.show_state()
    assert bare_dock.recover_notice.isHidden()


@pytest.mark.parametrize(("count", "words"), [(1, "1 curve excluded"), (7, "7 curves excluded")])
def test_excluded_curves_are_counted(bare_dock, count, words):
    choices, image = bare_dock.session.choices, bare_dock.viewer.layers["one"]
    for one in range(count):
        exclude(choices, image, str(one))
    assert words in bare_dock.excluded.label.text()
    bare_dock.excluded.button.click()
    assert bare_dock.excluded.isHidden()


def test_a_click_never_hits_what_a_late_notice_has_moved_under_the_pointer(qtbot):
    notice, first, second = Notice("Undo", "Undo"), QPushButton("first"), QPushButton("second")
    area = ScrollColumn(page := column(notice, first, second))
    page.layout().addStretch()
    qtbot.addWidget(area)
    area.resize(400, 300)
    area.show()
    qtbot.waitExposed(area)
    notice.setFixedHeight(second.y() - first.y() - page.layout().spacing())
    clicked = []
    first.clicked.connect(lambda: clicked.append("first"))
    second.clicked.connect(lambda: clicked.append("second"))

    def click():  # as by the mouse, on whatever is there now
        QTest.mouseClick(area.windowHandle(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)

    place = second.mapTo(area, second.rect().center())
    QCursor.setPos(area.mapToGlobal(place))
    click()
    notice.set_message("arrives late")
    qtbot.waitUntil(lambda: first.mapTo(area, QPoint()).y() <= place.y() <= first.mapTo(area, QPoint(0, 99)).y())
    click()
    assert clicked == ["second"]
    qtbot.waitUntil(lambda: click() or len(clicked) > 1)  # once it is at rest
    assert clicked == ["second", "first"]
