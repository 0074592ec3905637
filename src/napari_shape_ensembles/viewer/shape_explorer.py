"""The explorer: sliders through shape space, paths between curves, and what the rank leaves of a curve."""

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import Qt, QTimer, Signal
from qtpy.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSlider,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from .fonts import SteadyLabel, WholeBox, fit_text
from .shape_canvas import Drawn, ShapeCanvas
from .shape_path import SCALE_AXES, Geodesic, Place, ShapePlaces, lipschitz
from .widgets import NarrowList, wrapped

Real = NDArray[np.float64]

_MODES = 4
# Sliders run in tenths of a standard deviation, up to three of them; paths in hundredths.
_TENTHS, _SIGMAS, _HUNDREDTHS = 10, 3, 100
_FRAME = 16  # milliseconds
_SHORTEST = 50  # pixels of a slider in a narrow dock
# A slider goes once to and fro in this many frames.
_PERIOD = 180


class ShapeExplorer(QWidget):
    """Draws one shape live.

    Signals
    -------
    wants_selected : QComboBox
        A button asks for the curve that is selected in the viewer, for this list.
    wants_layer
        *Add to viewer* was pressed; `shape` has the outline and its name.
    """

    wants_selected = Signal(object)
    wants_layer = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.places: ShapePlaces | None = None
        self._shape: tuple[Real, str] | None = None
        self._geodesic: Geodesic | None = None
        self._chosen: tuple[int, Place, Real] | None = None
        self._mean: Real = np.zeros((3, 2))
        self._base = 1.0
        self._frame = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME)
        self._timer.timeout.connect(self._advance)
        self.canvas = ShapeCanvas()
        self.tabs = QTabWidget()
        self.tabs.addTab(self._slider_page(), "Sliders")
        self.tabs.addTab(self._path_page(), "Path")
        self.tabs.addTab(self._rank_page(), "Rank")
        self.tabs.currentChanged.connect(lambda _: self._show_tab())
        self.play = QPushButton("▶ Pla&y")
        self.play.setCheckable(True)
        self.play.setToolTip("Move the slider used last to and fro")
        self.play.toggled.connect(self._toggle_play)
        self.add = QPushButton("A&dd to viewer")
        self.add.setToolTip("Add the outline shown as a Shapes layer, in the unit of the comparison")
        self.add.clicked.connect(self.wants_layer)
        self._lay_out()

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self.play)
        buttons.addWidget(self.add)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.canvas, 1)
        column.addWidget(self.tabs)
        column.addLayout(buttons)

    def _slider_page(self) -> QWidget:
        page, grid = _page()
        self.mode_boxes: list[QSpinBox] = []
        self.sliders: list[QSlider] = []
        self._last = 0
        for row in range(_MODES):
            box = WholeBox()
            box.setPrefix("mode ")
            box.setToolTip("Which mode of undulation this slider moves, 1 = the one that varies most")
            box.valueChanged.connect(lambda _: self._show_sliders())
            self.mode_boxes.append(box)
            self._add_slider(grid, row, box)
        for row, name in enumerate(SCALE_AXES, _MODES):
            self._add_slider(grid, row, QLabel(name))
        self.reset = QPushButton("&Reset")
        self.reset.setToolTip("Back to the mean of all curves")
        self.reset.clicked.connect(self.reset_sliders)
        grid.addWidget(self.reset, _MODES + len(SCALE_AXES), 0, 1, 3)
        return page

    def _add_slider(self, grid: QGridLayout, row: int, head: QWidget) -> None:
        slider = _slider(-_TENTHS * _SIGMAS, _TENTHS * _SIGMAS, "Standard deviations from the mean of all curves")
        value = SteadyLabel("0.0 sd", longest="−3.0 sd ")
        slider.valueChanged.connect(lambda tenths: value.setText(f"{tenths / _TENTHS:.1f} sd"))
        slider.valueChanged.connect(lambda _, row=row: self._moved(row))
        self.sliders.append(slider)
        for column, part in enumerate((head, slider, value)):
            grid.addWidget(part, row, column)
        grid.setColumnStretch(1, 1)

    def _path_page(self) -> QWidget:
        page, grid = _page()
        self.ends = []
        for row, words in enumerate(("from", "to")):
            combo = _curve_list(f"Where the path goes {words}: a mean, or a curve by its image and id")
            combo.currentIndexChanged.connect(lambda _: self._new_path())
            take = _take_button()
            take.clicked.connect(lambda _, combo=combo: self.wants_selected.emit(combo))
            self.ends.append(combo)
            for column, part in enumerate((QLabel(words), combo, take)):
                grid.addWidget(part, row, column)
        self.takes = [grid.itemAtPosition(row, 2).widget() for row in range(2)]
        self.time = _slider(0, _HUNDREDTHS, "Place on the shortest path, in hundredths of its length")
        self.time.valueChanged.connect(lambda _: self._show_path())
        grid.addWidget(self.time, 2, 0, 1, 3)
        grid.setRowStretch(3, 1)
        grid.setColumnStretch(1, 1)
        return page

    def _rank_page(self) -> QWidget:
        page, grid = _page()
        self.curve = _curve_list("The curve to draw from few undulation coordinates, by its image and id")
        self.curve.currentIndexChanged.connect(lambda _: self._new_curve())
        take = _take_button()
        take.clicked.connect(lambda: self.wants_selected.emit(self.curve))
        self.rank = _slider(1, 1, "Undulation coordinates used; fewer make a smoother curve")
        self.rank.valueChanged.connect(lambda _: self._show_rank())
        self.lipschitz = wrapped()
        self.lipschitz.setToolTip("Greatest speed along the outline over the mean speed; 1 for a circle. Without unit.")
        for column, part in enumerate((QLabel("curve"), self.curve, take)):
            grid.addWidget(part, 0, column)
        grid.addWidget(QLabel("rank"), 1, 0)
        grid.addWidget(self.rank, 1, 1, 1, 2)
        grid.addWidget(self.lipschitz, 2, 0, 1, 3)
        grid.setRowStretch(3, 1)
        grid.setColumnStretch(1, 1)
        return page

    def set_places(self, places: ShapePlaces) -> None:
        """Explore another comparison, from its mean."""
        self.places = places
        self._chosen = None
        self._mean = places.draw(places.mean(""))
        self._base = 1.6 * float(np.linalg.norm(self._mean, axis=1).max())
        rank = places.space.rank
        for place, box in enumerate(self.mode_boxes):
            box.setRange(1, rank)
            box.setValue(min(place + 1, rank))
            fit_text(box)
        curves = [
            f"{side} · {name}" for side, e in (("A", places.comparison.a), ("B", places.comparison.b)) for name in e.ids
        ]
        for combo, means in zip((*self.ends, self.curve), (["mean of A", "mean of B"],) * 2 + ([],), strict=True):
            combo.blockSignals(True)
            combo.clear()
            combo.addItems([*means, *curves])
            combo.blockSignals(False)
        self.ends[1].setCurrentIndex(1)
        self.rank.setRange(1, rank)
        self.rank.setValue(rank)
        self._new_path()
        self._show_tab()

    def choose_modes(self, modes: list[int]) -> None:
        """Let the sliders move these modes (from 0)."""
        for box, mode in zip(self.mode_boxes, modes, strict=False):
            box.setValue(mode + 1)

    def show_curve(self, row: int) -> None:
        """Show one of the pooled curves on the page *Rank*."""
        self.curve.setCurrentIndex(row)
        self.tabs.setCurrentIndex(2)
        self._show_tab()

    def choose(self, combo: QComboBox, row: int) -> None:
        """Choose one of the pooled curves in one of the lists."""
        combo.setCurrentIndex(row + (0 if combo is self.curve else 2))

    def shape(self) -> tuple[Real, str] | None:
        """The outline (n, 2) shown, centred, and words for it."""
        return self._shape

    def reset_sliders(self) -> None:
        """Back to the mean."""
        for slider in self.sliders:
            slider.setValue(0)

    def _show_tab(self) -> None:
        if self.places is not None:
            (self._show_sliders, self._show_path, self._new_curve)[self.tabs.currentIndex()]()

    def _moved(self, row: int) -> None:
        self._last = row
        self._show_sliders()

    def _show_sliders(self) -> None:
        if self.places is None or self.tabs.currentIndex() != 0:
            return
        deviations = [slider.value() / _TENTHS for slider in self.sliders]
        modes: dict[int, float] = {}
        for box, sd in zip(self.mode_boxes, deviations, strict=False):
            modes[box.value() - 1] = modes.get(box.value() - 1, 0) + sd
        place = self.places.moved(modes, dict(zip(SCALE_AXES, deviations[_MODES:], strict=True)))
        self._draw([Drawn(self._mean, dashed=True, width=1.5)], Drawn(self.places.draw(place), filled=True), place.name)

    def _new_path(self) -> None:
        if self.places is not None:
            self._geodesic = Geodesic(self.places, *(self._end(combo) for combo in self.ends))
            self._show_path()

    def _end(self, combo: QComboBox) -> Place:
        assert self.places is not None
        index = max(combo.currentIndex(), 0)
        return self.places.mean("AB"[index]) if index < 2 else self.places.curve(index - 2)[0]

    def _show_path(self) -> None:
        if self._geodesic is None or self.tabs.currentIndex() != 1:
            return
        time = self.time.value() / _HUNDREDTHS
        ends = [Drawn(self._geodesic.at(end), side, dashed=True, width=1.5) for end, side in ((0.0, "A"), (1.0, "B"))]
        name = f"{self._geodesic.start.name} → {self._geodesic.end.name}, {time:.0%}"
        self._draw(ends, Drawn(self._geodesic.at(time), filled=True), name)

    def _new_curve(self) -> None:
        row = self.curve.currentIndex()
        if self.places is None or row < 0 or self.tabs.currentIndex() != 2:
            return
        if self._chosen is None or self._chosen[0] != row:
            self._chosen = (row, *self.places.curve(row))
        self._show_rank()

    def _show_rank(self) -> None:
        if self.places is None or self._chosen is None or self.tabs.currentIndex() != 2:
            return
        _, place, outline = self._chosen
        rank = self.rank.value()
        drawn = self.places.draw(place, rank)
        away = np.sqrt(((drawn - outline) ** 2).sum(axis=1).mean())
        unit = self.places.comparison.a.unit
        self.lipschitz.setText(
            f"Lipschitz constant {lipschitz(drawn):.2f} at rank {rank}, {lipschitz(outline):.2f} of the traced "
            f"outline; RMS distance {away:.3g} {unit}"
        )
        traced = Drawn(outline, place.name[0], dashed=True, width=1.5)
        self._draw([traced], Drawn(drawn, filled=True), f"{place.name}, rank {rank}")

    def _draw(self, behind: list[Drawn], shape: Drawn, name: str) -> None:
        assert self.places is not None
        self._shape = shape.curve, name
        radius = max(float(np.linalg.norm(one.curve, axis=1).max()) for one in (*behind, shape))
        least = self._base if self.tabs.currentIndex() == 0 else 0.0
        self.canvas.set_scale(max(least, 1.08 * radius), self.places.comparison.a.unit)
        self.canvas.show_shapes([*behind, shape], name)

    def _toggle_play(self, on: bool) -> None:
        self.play.setText("❚❚ Pa&use" if on else "▶ Pla&y")
        self._frame = 0
        (self._timer.start if on else self._timer.stop)()

    def _advance(self) -> None:
        """One frame: the slider goes to and fro, slower at its ends."""
        if self.places is None or not self.isVisible():
            return
        self._frame += 1
        slider = (self.sliders[self._last], self.time, self.rank)[self.tabs.currentIndex()]
        phase = 2 * np.pi * self._frame / _PERIOD
        share = (1 + np.sin(phase)) / 2 if self.tabs.currentIndex() == 0 else (1 - np.cos(phase)) / 2
        slider.setValue(round(slider.minimum() + share * (slider.maximum() - slider.minimum())))

    def stop(self) -> None:
        """Stop playing."""
        self.play.setChecked(False)


def _page() -> tuple[QWidget, QGridLayout]:
    page = QWidget()
    grid = QGridLayout(page)
    grid.setContentsMargins(4, 6, 4, 4)
    grid.setVerticalSpacing(3)
    return page, grid


def _slider(low: int, high: int, tooltip: str) -> QSlider:
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setRange(low, high)
    slider.setToolTip(tooltip)
    slider.setMinimumWidth(_SHORTEST)
    return slider


def _curve_list(tooltip: str) -> QComboBox:
    combo = NarrowList()
    combo.setToolTip(tooltip)
    return combo


def _take_button() -> QPushButton:
    button = QPushButton("Selected")
    button.setToolTip("Take the curve that is selected in the viewer's curve layers")
    return button
