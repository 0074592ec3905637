"""Checks of an answer in the background: suspects, single outlines and other choices, and what is left out."""

import pytest

from docks import set_choices, status
from fault_makers import ODD, faulty
from image_makers import segmented
from napari_shape_ensembles.comparison.fragility import checks_in_words
from napari_shape_ensembles.viewer.session import Session


@pytest.fixture
def session(model, qtbot, monkeypatch):
    """A session with the labels of two images, one of which has a hole, compared and checked with two other choices."""
    monkeypatch.setattr("napari_shape_ensembles.viewer.studying.CHOICES", {"rank": (5, 8)})
    model.add_labels(faulty("hole")[0], name="one")
    model.add_labels(segmented(2), name="two")
    session = Session.of(model)
    set_choices(session.choices, permutations=199, landmarks=50, rank=10)
    session.attach(session.comparison, session.trust)
    session.checking.set_automatic(True)
    session.comparison.run()
    qtbot.waitUntil(lambda: not session.comparison.busy)
    assert session.comparison.result is not None, session.comparison.message
    qtbot.waitUntil(lambda: session.comparison.result.checks.tried > 0)
    yield session
    session.checking.set_automatic(False)
    session.detach(session.comparison, session.trust)


def test_suspects_are_found_told_and_left_out(session, qtbot):
    comparison = session.comparison
    checks, before = comparison.result.checks, comparison.result.case
    assert len(checks.without) == 3
    assert checks.tried == 2
    assert "ratios" in vars(comparison.result)  # else the page *Why* would compute them in the event loop
    assert len(session.checking.suspects) == 2
    total = sum(map(len, session.checking.suspects))
    assert total == sum(count for _, _, count in checks.suspects)
    assert session.checking.suspects[0][str(ODD)] == "with holes"
    assert status(session, "Outlines").reason == checks_in_words(comparison.result)[0]
    assert status(session, "Answer").state in ("look", "fragile")
    assert status(session, "Answer").reason == " ".join(checks_in_words(comparison.result))
    session.checking.leave_out()
    assert sum(map(len, comparison.current_inputs().excluded)) == total
    assert comparison.changed_since() == ["the choice of excluded curves was changed"]
    comparison.run()
    qtbot.waitUntil(lambda: not comparison.busy and comparison.result.checks.tried > 0)
    assert comparison.result.checks.suspects == ()
    assert comparison.result.checks.earlier == ((before, 0),)
