"""The explanation of a difference in the dock *Shape space*: sentences, components, modes and typical curves."""

import itertools
import re

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QSignalBlocker, Qt, Signal
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import QSizePolicy, QWidget

from ...explanation import Explanation
from ...explanation.components import COMPONENTS
from ...explanation.modes import Modes, along_mode, exaggeration
from ...mmd.witness import most_typical
from ...outlines.ensemble import counted
from .distributions import PairedHistogram, ShareBar
from .shape_canvas import ShapeCanvas, StyledOutline, Thumbnails, radius
from .widgets import NarrowList, PickTable, Section, SteadyTabs, column, wrapped_label

Real = NDArray[np.float64]

_HEADINGS = {
    "mode": "Modes of undulation, numbered by decreasing variance",
    "p": "Adjusted p-value: joint over all modes (step-down max-T)",
    "B − A": "Mean of B minus mean of A, in standard deviations",
    "sd B/A": "Standard deviation of B divided by that of A",
    "var.": "Share of the variance of all modes",
    "related to": "Property with a rank correlation of at least 0.6 with the mode; for fine waves, how many lobes",
}
_MAX_THUMBNAILS = 8
_MAX_WORDS = 75  # shown at once; weaker findings go into a collapsed section
_INTERVAL = re.compile(r", 95 % interval (\S+) to ([\d.]+\d)")
_TYPICAL = "The curves most typical of each side and not of the other. Click one to see it above."
_WIDE_TABLE_COLUMNS = {"var.": 23, "sd B/A": 16}  # columns hidden in tables narrower than this many line heights


class ExplanationPanel(SteadyTabs):
    """Tab widget that shows an `Explanation` on three pages."""

    mode_chosen = Signal(int)  #: int: index of the mode selected in the table, from 0
    curve_chosen = Signal(int)  #: int: index of the clicked curve into the pooled sample

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.explanation: Explanation | None = None
        self.sentences, self.mode_sentence = wrapped_label(), wrapped_label()
        self.sentences.setToolTip("In brackets: 95 % intervals. p: adjusted for multiple testing.")
        self.others = wrapped_label()
        self.further = Section("", self.others)
        self.shares, self.densities, self.gallery = ShareBar(), PairedHistogram(), Thumbnails()
        self.table = ModeTable()
        self.table.itemSelectionChanged.connect(self._choose_mode)
        self.mode_canvas = ShapeCanvas()
        self.mode_canvas.setMinimumHeight(130)
        kinds = {"undulation": "by form (undulation)", "scale": "by size and elongation (scale)"}
        self.kind = NarrowList("Which of the two tests' witness functions ranks the curves", kinds)
        self.kind.setAccessibleName("Typical by")
        self.kind.currentIndexChanged.connect(lambda _: self._show_typical())
        self.gallery.chosen.connect(self.curve_chosen)
        for title, parts in (
            ("Why", (self.sentences, self.shares, self.further)),
            ("Modes", (self.table, self.mode_sentence, self.densities, self.mode_canvas)),
            ("Typical curves", (self.kind, self.gallery)),
        ):
            self.addTab(column(column(*parts, margins=(4, 6, 4, 4))), title)
            self.widget(self.count() - 1).layout().addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.currentChanged.connect(self._fit_to_tab)
        self._fit_to_tab(0)
        self.setEnabled(False)

    def _fit_to_tab(self, current: int) -> None:
        """Be as high as the current tab, rather than the highest: only its contents are laid out."""
        for place in range(self.count()):
            self.widget(place).layout().itemAt(0).widget().setVisible(place == current)

    def show_explanation(self, explanation: Explanation) -> None:
        self.setEnabled(True)
        self.update_sentences(explanation)
        found = explanation.components
        parts = zip(COMPONENTS, found.share, found.share_interval.T, strict=True)
        self.shares.show_shares([(name, float(share), (float(i[0]), float(i[1]))) for name, share, i in parts])
        self.shares.setVisible(bool(found.differing(explanation.comparison.settings.significance)))
        self.table.show_modes(explanation.modes)
        self._show_mode()
        self._show_typical()

    def update_sentences(self, explanation: Explanation) -> None:
        """Update the sentences for the same comparison, after further results have become available."""
        self.explanation = explanation
        brief = [_INTERVAL.sub(r" (\1 to \2)", one).replace("adjusted p", "p") for one in explanation.sentences()]
        words = itertools.accumulate(len(sentence.split()) for sentence in brief)
        first = max(sum(total <= _MAX_WORDS for total in words), 1)
        for label, part in ((self.sentences, brief[:first]), (self.others, brief[first:])):
            label.setText("\n".join(f"• {sentence}" for sentence in part))
        self.further.rename(f"{counted(len(brief) - first, 'further finding')}")
        self.further.setVisible(first < len(brief))

    def clear_explanation(self) -> None:
        """Clear the panel: the comparison it explains has been replaced."""
        self.explanation = None
        self.setEnabled(False)
        self.sentences.setText("")
        self.others.setText("")
        self.further.hide()
        self.shares.show_shares([])
        self.table.setRowCount(0)
        self.mode_canvas.show_shapes([])
        self.densities.show_samples(np.zeros(1), np.zeros(1))
        self.mode_sentence.setText("")
        self.gallery.show_curves([], [])

    def _choose_mode(self) -> None:
        self._show_mode()
        if (mode := self.table.mode()) is not None:
            self.mode_chosen.emit(mode)

    def _show_mode(self) -> None:
        mode = self.table.mode()
        if self.explanation is None or mode is None:
            return
        comparison, modes = self.explanation.comparison, self.explanation.modes
        times = exaggeration(comparison.space, comparison.t, mode)
        low, mean, high = along_mode(comparison.space, comparison.t, mode, (-2 * times, 0, 2 * times))
        self.mode_canvas.set_scale(1.1 * radius([low, mean, high]), comparison.a.unit)
        styled = StyledOutline(low, dashed=True, width=1.5), StyledOutline(mean, width=0.7), StyledOutline(high)
        self.mode_canvas.show_shapes(styled, f"−2 sd dashed, +2 bold{f'; {times} × enlarged' if times > 1 else ''}")
        values, first = comparison.t[:, mode], len(comparison.a)
        self.densities.show_samples(values[:first], values[first:])
        self.mode_sentence.setText(modes.sentence(mode))

    def _show_typical(self) -> None:
        if self.explanation is None:
            return
        comparison = self.explanation.comparison
        values = self.explanation.witness[self.kind.currentData()].to_numpy()
        curves = [*comparison.a.curves, *comparison.b.curves]
        of_form = self.kind.currentData() == "undulation"
        typical: list[list[tuple[int, Real]]] = []
        for side in most_typical(values, len(comparison.a), _MAX_THUMBNAILS):
            drawn = ((row, curves[row]) for row in side.tolist())
            centred = [(row, curve - (curve.min(axis=0) + curve.max(axis=0)) / 2) for row, curve in drawn]
            # At a common scale, small curves would be dots without visible form.
            typical.append([(row, curve / radius([curve]) if of_form else curve) for row, curve in centred])
        self.gallery.show_curves(*typical)
        self.gallery.setToolTip(f"{_TYPICAL} {'Each at its own size.' if of_form else 'All at the same scale.'}")


class ModeTable(PickTable):
    """One row per mode. Columns that the sentence below repeats for the selected mode are hidden in a narrow dock."""

    def __init__(self) -> None:
        super().__init__(*_HEADINGS)
        for place, tooltip in enumerate(_HEADINGS.values()):
            self.horizontalHeaderItem(place).setToolTip(tooltip)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(150)
        self.setAccessibleName("Modes of undulation")
        self.setToolTip("Choose a mode to see it below, and on the first slider above")

    def show_modes(self, modes: Modes) -> None:
        """List the modes, the most different first, and select that one."""
        rows = [
            (
                f"{mode + 1}",
                f"{modes.tests.adjusted[mode]:.2g}",
                f"{modes.mean_difference[mode]:+.2f}",
                f"{modes.spread_ratio[mode]:.2f}",
                f"{modes.variance[mode]:.1%}",
                modes.label(mode),
            )
            for mode in modes.order().tolist()
        ]
        self.show_rows(rows)
        with QSignalBlocker(self):
            self.resizeColumnsToContents()
            self.selectRow(0)

    def mode(self) -> int | None:
        items = self.selectedItems()
        return int(self.item(items[0].row(), 0).text()) - 1 if items else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        lines = self.width() / self.fontMetrics().height()
        for heading, needed in _WIDE_TABLE_COLUMNS.items():
            self.setColumnHidden(list(_HEADINGS).index(heading), lines < needed)
