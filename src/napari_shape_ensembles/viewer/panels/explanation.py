"""The explanation of a difference in the dock *Shape space*: sentences, components, modes and typical curves."""

import itertools
import re
from collections.abc import Sequence

import numpy as np
from qtpy.QtCore import QSignalBlocker, Qt, QTimer, Signal
from qtpy.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QResizeEvent
from qtpy.QtWidgets import QSizePolicy, QWidget

from ..._types import Real
from ...comparison.answer import names_of, titles_of
from ...comparison.quantities import COMPONENTS
from ...explanation import Explanation
from ...explanation.modes import Modes, along_mode, exaggeration
from ...mmd.witness import most_typical
from ...words import counted, p_text
from .distributions import PairedHistogram, ShareBar
from .shape_canvas import ShapeCanvas, StyledOutline, Thumbnails, radius
from .widgets import NarrowList, PickTable, Section, SteadyTabs, WrappedLabel, clear_layout, column, tip

_HEADINGS = {
    "mode": "Modes of form, numbered by decreasing variance",
    "p": "Adjusted p-value: joint over all modes (step-down max-T)",
    "shift": "Mean of {b} minus mean of {a}, in standard deviations",
    "sd ratio": "Standard deviation of {b} divided by that of {a}",
    "var.": "Share of the variance of all modes",
    "related to": "Property with a rank correlation of at least 0.6 with the mode; for fine waves, how many lobes",
}
_MODES, _TYPICAL_CURVES = 1, 2  # places of the tabs
_MAX_THUMBNAILS = 8
_MAX_WORDS = 75  # shown at once; weaker findings go into a collapsed section
_INTERVAL = re.compile(r", 95 % interval (\S+) to ([\d.]+\d)")
_PER_SIDE = 3  # outlines of each side drawn for a component
# Frames of an animated mode: it ends after two periods, so that nothing moves beside the text for long.
_PERIOD, _FRAMES, _FRAME_MS = 40, 80, 50
_TYPICAL = "The curves most typical of each side and not of the other. Click one to see it above."
_WIDE_TABLE_COLUMNS = {"var.": 23, "sd ratio": 16}  # columns hidden in tables narrower than this many line heights


class ExplanationPanel(SteadyTabs):
    """Tab widget that shows an `Explanation` on three pages."""

    mode_chosen = Signal(int)  #: int: index of the mode selected in the table, from 0
    curve_chosen = Signal(int)  #: int: index of the clicked curve into the pooled sample

    def __init__(self) -> None:
        super().__init__()
        self.explanation: Explanation | None = None
        self.mode_sentence, self.picture = WrappedLabel(), ShapeCanvas()
        self.sentences, self.others = SentenceList(), SentenceList()
        for listed in (self.sentences, self.others):
            listed.chosen.connect(self._choose_statement)
        self.further = Section("", self.others)
        self.picture.setMinimumHeight(150)
        self.picture.setMaximumHeight(190)
        self._about, self._moving, self._frame = "", np.empty((0, 0, 2)), 0
        self._due: set[int] = set()  # tabs that are filled once they are looked at: all at once would delay the page
        self._names = ("", "")  # of the groups in sentences and on the tabs
        self.animation = QTimer(self)  #: moves the mode that the picture shows
        self.animation.setInterval(_FRAME_MS)
        self.animation.timeout.connect(self._advance)
        self.shares, self.densities, self.gallery = ShareBar(), PairedHistogram(), Thumbnails()
        self.table = ModeTable()
        self.table.itemSelectionChanged.connect(self._choose_mode)
        self.mode_canvas = ShapeCanvas()
        self.mode_canvas.setMinimumHeight(130)
        kinds = {"undulation": "by form", "scale": "by size and elongation"}
        self.kind = NarrowList("Which of the two tests' witness functions ranks the curves", kinds)
        self.kind.setAccessibleName("Typical by")
        self.kind.currentIndexChanged.connect(lambda _: self._show_typical())
        self.gallery.picked.connect(self.curve_chosen)
        for title, parts in (
            ("Why", (self.sentences, self.picture, self.shares, self.further)),
            ("Modes", (self.table, self.mode_sentence, self.densities, self.mode_canvas)),
            ("Typical curves", (self.kind, self.gallery)),
        ):
            self.addTab(column(column(*parts, margins=(4, 6, 4, 4))), title)
            self.widget(self.count() - 1).layout().addStretch(1)
        #: What the tabs show.
        self.pages = [self.widget(place).layout().itemAt(0).widget() for place in range(self.count())]
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.currentChanged.connect(self._fit_to_tab)
        self._fit_to_tab(0)
        self.hide()

    def _fit_to_tab(self, current: int) -> None:
        """Be as high as the current tab, rather than the highest: only its contents are laid out."""
        for place, page in enumerate(self.pages):
            page.setVisible(place == current)
        self._fill(current)

    def _fill(self, tab: int) -> None:
        """Show the explanation on the tab of modes or that of typical curves, unless it does already."""
        if self.explanation is None or tab not in self._due:
            return
        self._due.remove(tab)
        if tab == _MODES:
            modes, result = self.explanation.modes, self.explanation.comparison
            self.table.show_modes(modes, result.settings.test_level)
            self.table.name_groups(*result.names)
            self._show_mode()
        else:
            self._show_typical()

    def show_explanation(self, explanation: Explanation | None) -> None:
        """Show an explanation, or nothing; of the same comparison, only what was found since, or renamed."""
        before, self.explanation = self.explanation, explanation
        self.setVisible(explanation is not None)
        if explanation is None:
            self.animation.stop()
            return
        result, names = explanation.comparison, self._names
        if explanation is before and result.names == names:
            return
        is_new = before is None or before.modes is not explanation.modes
        if is_new:
            self._about = ""
            self.table.setRowCount(0)
            found = explanation.components
            lines = [f"{name} {words}" for name, words in zip(COMPONENTS, found.in_words(), strict=True)]
            self.shares.show_shares(found.share.tolist(), lines)
            self.shares.setVisible(result.undulation.rejected or result.scale.rejected)
        self._names = result.names
        if is_new or result.names != names:
            self._due = {_MODES, _TYPICAL_CURVES}
            self._fill(self.currentIndex())
        said = explanation.statements()
        brief = [_INTERVAL.sub(r" (\1 to \2)", one.text).replace("adjusted p", "p") for one in said]
        words = itertools.accumulate(len(sentence.split()) for sentence in brief)
        first = max(sum(total <= _MAX_WORDS for total in words), 1)
        shown = [(place, text, bool(one.about)) for place, (text, one) in enumerate(zip(brief, said, strict=True))]
        self.sentences.show_sentences(shown[:first])
        self.others.show_sentences(shown[first:])
        self.further.rename(f"{counted(len(brief) - first, 'further finding')}")
        self.further.setVisible(first < len(brief))
        pictured = {one.about: place for place, one in reversed(list(enumerate(said))) if one.about}
        self._show_statement(pictured.get(self._about, min(pictured.values(), default=-1)))

    def _choose_statement(self, place: int) -> None:
        """Show the picture of a sentence; a mode is set in motion, and shown in the table and by the explorer."""
        self._show_statement(place)
        if self.explanation is not None and len(self._moving):
            self._fill(_MODES)
            number = self.explanation.statements()[place].about.split()[-1]
            self.table.select_mode(int(number) - 1)
            self._frame = 0
            self.animation.start()

    def _show_statement(self, place: int) -> None:
        """Draw what the sentence at this place is about, and mark it; -1 draws nothing."""
        assert self.explanation is not None
        self.animation.stop()
        self._moving = np.empty((0, 0, 2))
        for listed in (self.sentences, self.others):
            listed.mark(place)
        self.picture.setVisible(place >= 0)
        if place < 0:
            return
        about = self._about = self.explanation.statements()[place].about
        if about in COMPONENTS:
            self._draw_component(about)
        elif about.startswith("mode "):
            self._draw_mode(self.picture, int(about.split()[-1]) - 1)
        else:
            self._draw_place(about)

    def _draw_component(self, name: str) -> None:
        """Draw outlines of each group whose value of a component is closest to the group's mean."""
        assert self.explanation is not None
        comparison, first = self.explanation.comparison, len(self.explanation.comparison.a)
        values, curves = comparison.components[name], [*comparison.a.curves, *comparison.b.curves]
        rows = []
        for side in (slice(first), slice(first, None)):
            own = values[side].reshape(len(values[side]), -1)
            away = np.linalg.norm(own - own.mean(axis=0), axis=1)
            rows.append((np.argsort(away, kind="stable")[:_PER_SIDE] + (side.start or 0)).tolist())
        to_scale = name == "size"
        drawn = []
        for of_side in rows:
            centered = (curves[row] - (curves[row].min(axis=0) + curves[row].max(axis=0)) / 2 for row in of_side)
            drawn.append([curve if to_scale else curve / radius([curve]) for curve in centered])
        step = 2.1 * radius([curve for side in drawn for curve in side])
        styled = [
            StyledOutline(curve + step * np.array([line - 0.5, place - (len(side) - 1) / 2]), letter, filled=True)
            for line, (letter, side) in enumerate(zip("AB", drawn, strict=True))
            for place, curve in enumerate(side)
        ]
        self.picture.set_scale(step, comparison.a.unit if to_scale else "")
        a, b = names_of(comparison)
        size = "at the same scale" if to_scale else "each at its own size"
        self.picture.show_shapes(styled, f"Outlines of average {name}, {a} above {b}, {size}")

    def _draw_mode(self, canvas: ShapeCanvas, mode: int) -> None:
        """Draw the outline along a mode; on the picture of the sentences it can be set in motion."""
        assert self.explanation is not None
        comparison = self.explanation.comparison
        times = exaggeration(comparison.space, comparison.t, mode)
        low, mean, high = along_mode(comparison.space, comparison.t, mode, (-2 * times, 0, 2 * times))
        canvas.set_scale(1.1 * radius([low, mean, high]), comparison.a.unit)
        styled = StyledOutline(low, dashed=True, width=1.5), StyledOutline(mean, width=0.7), StyledOutline(high)
        enlarged = f"; {times} × enlarged" if times > 1 else ""
        canvas.show_shapes(styled, f"Mode {mode + 1}: −2 sd dashed, +2 bold{enlarged}")
        if canvas is self.picture:
            turns = 2 * times * np.sin(2 * np.pi * np.arange(_PERIOD) / _PERIOD)
            self._moving = along_mode(comparison.space, comparison.t, mode, tuple(turns))

    def _draw_place(self, about: str) -> None:
        """Draw both mean forms with dots where along the outline these, or the variabilities, differ."""
        assert self.explanation is not None
        form = self.explanation.form
        where = self.explanation.mean_differs if about == "mean form" else form.spread
        self.picture.set_scale(1.1 * radius([form.mean_a, form.mean_b]), self.explanation.comparison.a.unit)
        styled = StyledOutline(form.mean_a, "A", filled=True), StyledOutline(form.mean_b, "B", dashed=True)
        a, b = names_of(self.explanation.comparison)
        title = f"Mean forms at one size, {a} filled, {b} dashed; dots: the {about} differs"
        self.picture.show_shapes(styled, title, form.mean[where])

    def _advance(self) -> None:
        """Draw the next frame of the moving mode; at the end, its resting picture."""
        self._frame += 1
        still, mean, _ = self.picture.outlines
        if self._frame > _FRAMES:
            self.animation.stop()
            moved = self._moving[_PERIOD // 4]
        else:
            moved = self._moving[self._frame % _PERIOD]
        self.picture.show_shapes((still, mean, StyledOutline(moved)), self.picture.title)

    def hideEvent(self, event: QHideEvent) -> None:
        self.animation.stop()
        super().hideEvent(event)

    def _choose_mode(self) -> None:
        self._show_mode()
        if (mode := self.table.mode()) is not None:
            self.mode_chosen.emit(mode)

    def _show_mode(self) -> None:
        mode = self.table.mode()
        if self.explanation is None or mode is None:
            return
        comparison, modes = self.explanation.comparison, self.explanation.modes
        self._draw_mode(self.mode_canvas, mode)
        values, first = comparison.t[:, mode], len(comparison.a)
        self.densities.show_samples(values[:first], values[first:], comparison.names)
        self.mode_sentence.setText(modes.sentence(mode))

    def _show_typical(self) -> None:
        if self.explanation is None:
            return
        comparison = self.explanation.comparison
        values = self.explanation.witness[f"witness_{self.kind.currentData()}"].to_numpy()
        curves = [*comparison.a.curves, *comparison.b.curves]
        of_form = self.kind.currentData() == "undulation"
        typical: list[list[tuple[int, Real]]] = []
        for side in most_typical(values, len(comparison.a), _MAX_THUMBNAILS):
            drawn = ((row, curves[row]) for row in side.tolist())
            centred = [(row, curve - (curve.min(axis=0) + curve.max(axis=0)) / 2) for row, curve in drawn]
            # At a common scale, small curves would be dots without visible form.
            typical.append([(row, curve / radius([curve]) if of_form else curve) for row, curve in centred])
        self.gallery.show_curves(typical[0], typical[1], titles_of(comparison))
        self.gallery.setToolTip(f"{_TYPICAL} {'Each at its own size.' if of_form else 'All at the same scale.'}")


class ModeTable(PickTable):
    """One row per mode. Columns that the sentence below repeats for the selected mode are hidden in a narrow dock."""

    def __init__(self) -> None:
        super().__init__(*_HEADINGS)
        self.name_groups("the first group", "the second")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(150)
        self.setAccessibleName("Modes of form")
        self.setToolTip("Choose a mode to see it below, and on the first slider above")

    def name_groups(self, a: str, b: str) -> None:
        """Name the groups in the tooltips of the headings."""
        for place, tooltip in enumerate(_HEADINGS.values()):
            self.horizontalHeaderItem(place).setToolTip(tip(tooltip.format(a=a, b=b)))

    def show_modes(self, modes: Modes, significance: float) -> None:
        """List the modes, those that differ and are visible first; select the first one unless one is selected."""
        before = self.mode()
        rows = [
            (
                f"{mode + 1}",
                p_text(modes.tests.adjusted[mode], significance),
                f"{modes.mean_difference[mode]:+.2f}",
                f"{modes.spread_ratio[mode]:.2f}",
                f"{modes.variance[mode]:.1%}",
                modes.label(mode),
            )
            for mode in modes.by_relevance(significance)
        ]
        self.show_rows(rows)
        with QSignalBlocker(self):
            self.resizeColumnsToContents()
            self.selectRow(0)
            if before is not None:
                self.select_mode(before)

    def mode(self) -> int | None:
        items = self.selectedItems()
        return int(self.item(items[0].row(), 0).text()) - 1 if items else None

    def select_mode(self, mode: int) -> None:
        """Select a mode, from 0."""
        for row in range(self.rowCount()):
            if self.item(row, 0).text() == f"{mode + 1}":
                self.selectRow(row)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        lines = self.width() / self.fontMetrics().height()
        for heading, needed in _WIDE_TABLE_COLUMNS.items():
            self.setColumnHidden(list(_HEADINGS).index(heading), lines < needed)


class SentenceList(QWidget):
    """Sentences, one of which is marked; a click or the space bar chooses one that can be shown."""

    chosen = Signal(int)  #: int: place of the sentence

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[_Sentence] = []
        self._layout = column(page=self).layout()
        self._layout.setSpacing(4)

    def show_sentences(self, said: Sequence[tuple[int, str, bool]]) -> None:
        """List sentences, each with its place and whether it can be shown."""
        clear_layout(self._layout)
        self.labels = [_Sentence(place, text, shows=shows) for place, text, shows in said]
        for label in self.labels:
            label.pressed.connect(self.chosen)
            self._layout.addWidget(label)

    def mark(self, place: int) -> None:
        """Mark the sentence at this place, if it is in the list."""
        for label in self.labels:
            label.mark(label.place == place)

    def text(self) -> str:
        return "\n".join(label.text() for label in self.labels)


class _Sentence(WrappedLabel):
    """A sentence, with a triangle instead of the bullet while its picture is shown."""

    pressed = Signal(int)  #: int: its place

    def __init__(self, place: int, sentence: str, *, shows: bool) -> None:
        super().__init__(f"• {sentence}")
        self.place, self._sentence, self._shows = place, sentence, shows
        bracket = "In brackets: 95 % intervals. p: adjusted for multiple testing."
        self.setToolTip(f"Click to see it. {bracket}" if shows else bracket)
        self.setAccessibleName(sentence)
        if shows:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.setStyleSheet("QLabel:focus { border: 1px solid #a864d6; }")  # as in `FOCUS`

    def mark(self, marked: bool) -> None:
        self.setText(f"{'►' if marked else '•'} {self._sentence}")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if self._shows and event.button() == Qt.MouseButton.LeftButton and not self.selectedText():
            self.pressed.emit(self.place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._shows and event.key() == Qt.Key.Key_Space:  # Enter runs the dock's task
            self.pressed.emit(self.place)
        else:
            super().keyPressEvent(event)
