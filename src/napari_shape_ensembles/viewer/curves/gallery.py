"""The gallery: clickable outlines of the curves of both groups nearest to the mean shape, and farthest from it."""

import numpy as np
from qtpy.QtWidgets import QGridLayout

from ...comparison import Comparison
from ...comparison.answer import titles_of
from ...explanation.single_curves import aligned, nearest_and_farthest
from ..panels.fonts import NamedLine
from ..panels.shape_canvas import SIDE_MARKS, OutlineButtons, radius
from ..panels.widgets import clear_layout, tip

_SIZE, _GAP = 72, 24


class CurveGallery(OutlineButtons):
    """The most typical and the most unusual curves of each group, aligned and at a common scale."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)

    def show_result(self, result: Comparison, count: int = 6) -> None:
        clear_layout(self._grid)
        self.buttons = []
        sides = nearest_and_farthest(result, count)
        rows = np.concatenate([group for side in sides for group in side])
        outlines = aligned(result, rows)
        reach, pictures = radius(outlines), zip(rows.tolist(), outlines, strict=True)
        for line, (letter, name, side) in enumerate(zip("AB", titles_of(result), sides, strict=True)):
            for left, words, group in zip((0, count + 1), ("most typical", "most unusual"), side, strict=True):
                heading = NamedLine(f"{SIDE_MARKS[letter]} ", name, f": {words}")
                heading.setToolTip(tip(name))
                self._grid.addWidget(heading, 2 * line, left, 1, count)
                for place, (row, outline) in zip(range(left, left + len(group)), pictures, strict=False):
                    button = self.new_button(row, letter, name, outline, reach, _SIZE)
                    self._grid.addWidget(button, 2 * line + 1, place)
        self._grid.setColumnMinimumWidth(count, _GAP)
        self._grid.setRowStretch(4, 1)
        self._grid.setColumnStretch(2 * count + 2, 1)
