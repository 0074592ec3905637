"""Lines with a button: there when there is something to say."""

from types import SimpleNamespace

import pytest

from docks import press
from napari_shape_ensembles.viewer.panels.notices import ExclusionNotice, ReplacedNotice, StaleNotice


@pytest.mark.parametrize("kind", [StaleNotice, ReplacedNotice, ExclusionNotice])
def test_a_notice_begins_hidden_and_its_button_says_what_it_does(qtbot, kind):
    notice = kind()
    qtbot.addWidget(notice)
    assert notice.isHidden()
    assert notice.button.toolTip()
    notice.say("something")
    assert not notice.isHidden()
    notice.say("")
    assert notice.isHidden()
    with qtbot.waitSignal(notice.button.clicked):
        press(notice.button, qtbot)


def test_what_changed_is_listed_up_to_three_with_names_as_they_are(qtbot):
    notice = StaleNotice()
    qtbot.addWidget(notice)
    notice.show_changes(["<b> was changed", "two", "three", "four", "five"], can_run=False)
    assert notice.words.text().endswith("&lt;b&gt; was changed, two, three, and 2 more.")
    assert not notice.button.isEnabled()
    notice.show_changes([], can_run=True)
    assert notice.isHidden()


def test_a_replaced_result_is_named(qtbot):
    notice = ReplacedNotice()
    qtbot.addWidget(notice)
    named = [SimpleNamespace(name=name) for name in ("one", "two")]
    notice.show_kept(SimpleNamespace(result=SimpleNamespace(a=named[0], b=named[1])))
    assert "(one and two)" in notice.words.text()
    notice.show_kept(None)
    assert notice.isHidden()


@pytest.mark.parametrize(("count", "words"), [(1, "1 curve left"), (7, "7 curves left")])
def test_excluded_curves_are_counted(qtbot, count, words):
    notice = ExclusionNotice()
    qtbot.addWidget(notice)
    notice.show_count(count)
    assert words in notice.words.text()
    notice.show_count(0)
    assert notice.isHidden()
