"""A line to write ranges of numbers into."""

import pytest

from napari_shape_ensembles.viewer.ranges import NumbersEdit


def test_a_line_knows_what_it_may_hold(qtbot):
    edit = NumbersEdit("8-10", "Numbers.", least=8)
    qtbot.addWidget(edit)
    assert edit.whole_values() == [8, 9, 10]
    edit.setText("8:12:2")
    assert edit.whole_values() == [8, 10, 12]
    edit.setText("7")
    with pytest.raises(ValueError, match="7 is too small: take at least 8"):
        edit.values()
    edit.setText("8.5")
    with pytest.raises(ValueError, match=r"8\.5 is no whole number"):
        edit.values()
