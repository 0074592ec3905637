"""The card of a curve: its measurements, its outline over the mean, its nearest neighbors, and the menu of actions."""

from html import escape

import numpy as np
from qtpy.QtCore import QSize
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import QGridLayout, QInputDialog, QMenu, QWidget

from ..._types import Index
from ...comparison import Comparison
from ...comparison.answer import titles_of
from ...comparison.colorings import COLORINGS, with_names
from ...explanation.single_curves import aligned, mean_outline, nearest_curves
from ...outlines.units import UNIT_SYMBOLS
from ...words import counted, shortened_apart
from ..layers import CurveSelection
from ..panels.shape_canvas import SIDE_MARKS, OutlineButtons, ShapeCanvas, StyledOutline, radius
from ..panels.widgets import WrappedLabel, clear_layout, column, menu_button

_NARROW, _GAP, _MARGINS = 230, 3, 20  # pixels
_MAX_NAME_LETTERS = 80
_DEFAULT_GROUP = "selected"
_SHORT_LABELS = {
    "distance_from_mean": "distance from the mean",
    "equivalent_diameter": "diameter",
    "circularity": "circularity",
}


class SelectionMenu(QMenu):
    """What can be done with all selected curves at once, whether selected by lasso, in the gallery or in the table."""

    def __init__(self, selection: CurveSelection, parent: QWidget) -> None:
        super().__init__(parent)
        self._selection = selection
        self.setToolTipsVisible(True)
        self.leave_out = self.addAction("")
        self.leave_out.setToolTip("From the next run, or include them again; no image is changed")
        self.group = self.addAction("&Put into a group …")
        self.group.setToolTip("A sample of its own in the table of images, to be compared; undone by one click")
        self.side_by_side = self.addAction("&Open side by side")
        self.side_by_side.setToolTip("Their pictures with their outlines, at one scale, in the window Curves")
        self.leave_out.triggered.connect(lambda: selection.leave_out_requested.emit())
        self.group.triggered.connect(self._ask_for_group)
        self.side_by_side.triggered.connect(lambda: selection.side_by_side_requested.emit())
        self.update_entries(all_excluded=False)

    def update_entries(self, *, all_excluded: bool) -> None:
        """Update the entries for the curves that are selected; whether all of these are excluded already."""
        for entry in self.actions():
            entry.setEnabled(len(self._selection.rows) > 0)
        self.leave_out.setText("&Include again" if all_excluded else "&Leave out")

    def _ask_for_group(self) -> None:
        words = f"Group of the {counted(len(self._selection.rows), 'selected curve')}:"
        name, accepted = QInputDialog.getText(self.parentWidget(), "Put into a group", words, text=_DEFAULT_GROUP)
        if accepted and name.strip():
            self._selection.group_requested.emit(name)


class CurveCard(OutlineButtons):
    """Shows the selected curve, or how many are selected, or a hint how to select one."""

    def __init__(self, selection: CurveSelection, *, brief: bool = False) -> None:
        super().__init__()
        self.row = -1
        self._brief = brief  # few measurements, no neighbors
        self.numbers = WrappedLabel(rich=True)
        self.outline = ShapeCanvas()
        self.outline.setMinimumSize(120, 90 if brief else 140)
        if brief:
            self.outline.setMaximumHeight(110)
        self.outline.setToolTip("Solid: this curve. Dashed: the mean shape. Aligned, same scale.")
        self.actions = menu_button("", "Leave the selected curves out, put them into a group, or open them", {})
        self.menu = SelectionMenu(selection, self.actions)
        self.actions.setMenu(self.menu)
        self._nearest = QGridLayout()
        self._nearest.setHorizontalSpacing(_GAP)
        self._legend = WrappedLabel()
        # On a small screen, only the upper part is in view: what is done with the curve, and how it looks.
        parts = self.actions, self.outline, self.numbers, self._legend, self._nearest
        column(*parts, page=self, margins=(9, 9, 9, 9)).layout().addStretch(1)

    def show_curve(self, result: Comparison, rows: Index, excluded: frozenset[int]) -> None:
        """Show the curve if `rows` has a single one; otherwise, show how many are selected."""
        self.row = int(rows[0]) if len(rows) == 1 else -1
        out = len(rows) > 0 and excluded.issuperset(rows.tolist())
        self.menu.update_entries(all_excluded=out)
        self.actions.setEnabled(len(rows) > 0)
        whole = f"With all {len(rows)}" if len(rows) > 1 else "With this curve"
        self.actions.setText(f"{whole}{' (left out)' if out else ''}")
        self.outline.setVisible(self.row >= 0)
        clear_layout(self._nearest)
        self.buttons = []
        self._legend.setVisible(self.row >= 0 and not self._brief)
        if self.row < 0:
            several = f"{len(rows)} curves selected." if len(rows) else "Click a curve to see its card."
            self.numbers.setText(several)
            self.outline.show_shapes([])
        else:
            titles, first = titles_of(result), len(result.a)
            # A title may be joined from those of several images.
            name = shortened_apart(titles, _MAX_NAME_LETTERS)[self.row >= first]
            lines = [f"<b>{escape(name)}</b>, curve {escape(str(result.distances['id'].iloc[self.row]))}"]
            lines.append(escape(result.why_unusual(self.row)))
            symbol = UNIT_SYMBOLS.get(result.a.unit, result.a.unit)
            for feature in COLORINGS.values():
                if feature.numeric and (feature.name in _SHORT_LABELS or not self._brief):
                    value, unit = feature.values(result)[self.row], escape(feature.unit.format(symbol))
                    label = _SHORT_LABELS[feature.name] if self._brief else with_names(feature.label, result.names)
                    lines.append(f"{escape(label)}: {value:.4g} {unit}".strip())
            self.numbers.setText("<br>".join(lines))
            others = () if self._brief else nearest_curves(result, self.row)
            rows = np.concatenate([[self.row], *others])
            outlines, mean = aligned(result, rows), mean_outline(result)
            reach = radius(outlines)
            for row, outline in list(zip(rows.tolist(), outlines, strict=True))[1:]:
                self.new_button(row, "AB"[row >= first], titles[row >= first], outline, reach)
            a, b = shortened_apart(result.names)
            self._legend.setText(f"Nearest of {SIDE_MARKS['A']} {a}, and of {SIDE_MARKS['B']} {b}")
            self._arrange()
            own = StyledOutline(outlines[0], "AB"[self.row >= first], filled=True)
            self.outline.set_scale(1.05 * radius([outlines[0], mean]), result.a.unit)
            self.outline.show_shapes([own, StyledOutline(mean, dashed=True, width=1.0)])

    def _arrange(self) -> None:
        width = sum(one.width() + _GAP for one in self.buttons)
        beside = width <= self.contentsRect().width() - _MARGINS
        first = sum(one.side == "A" for one in self.buttons)
        for place, one in enumerate(self.buttons):
            above = beside or place < first
            self._nearest.addWidget(one, 0 if above else 1, place if above else place - first)

    def minimumSizeHint(self) -> QSize:
        """Allow less width than one row of neighbors needs: `_arrange` wraps them into two."""
        return QSize(_NARROW, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()
