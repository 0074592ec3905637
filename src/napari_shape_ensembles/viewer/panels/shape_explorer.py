"""The shape space explorer: sliders along its coordinates, geodesics between curves, and low-rank reconstructions."""

from functools import partial

import numpy as np
from qtpy.QtCore import Qt, QTimer, Signal
from qtpy.QtWidgets import QComboBox, QGridLayout, QLabel, QPushButton, QSlider, QWidget

from ..._types import Real
from ...explanation.shape_paths import SCALE_AXES, Geodesic, Place, ShapePlaces, lipschitz
from ...outlines.units import UNIT_SYMBOLS
from .fonts import SteadyLabel, WholeBox
from .shape_canvas import ShapeCanvas, StyledOutline, radius
from .widgets import NarrowList, SteadyTabs, WrappedLabel, button, column, pass_wheel, row

_MODES = 4
# Sliders step by 0.1 standard deviations from −3 to 3; paths by hundredths of their length.
_STEPS_PER_SIGMA, _SIGMAS, _STEPS_PER_PATH = 10, 3, 100
_FRAME_MS, _PERIOD = 16, 180  # milliseconds per animation frame, and frames per period
_MIN_SLIDER_PX = 50  # minimum slider width in pixels


class ShapeExplorer(QWidget):
    """Draws a shape live as sliders move."""

    #: QComboBox: requests that this combo box be set to the curve selected in the viewer.
    wants_selected = Signal(object)
    wants_layer = Signal()  #: *Add to viewer* was pressed

    def __init__(self) -> None:
        super().__init__()
        self.places: ShapePlaces | None = None  #: shape space of the comparison explored
        self.moved = False  #: whether the user has moved a slider or reassigned its mode
        self.shape: tuple[Real, str] | None = None  #: the outline shown (n, 2), centered, and its caption
        self._path: tuple[tuple[int, ...], Geodesic] | None = None  # cached, keyed by the indices of its ends
        self._curve: tuple[int, Place, Real] | None = None  # cached, keyed by its row
        self._mean: Real = np.zeros((3, 2))
        self._frame = self._last_slider = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._advance)
        self.canvas = ShapeCanvas()
        self.pick_buttons: list[QPushButton] = []
        self.tabs = SteadyTabs()
        grid = self._page("Sliders")
        self.mode_boxes, self.sliders = [WholeBox() for _ in range(_MODES)], []
        for place, box in enumerate(self.mode_boxes, 1):
            box.setAccessibleName(f"Mode of slider {place}")
            box.setPrefix("mode ")
            pass_wheel(box)
            box.setToolTip("Mode of undulation that this slider moves; 1 has the largest variance")
            box.valueChanged.connect(self._redraw)
            box.valueChanged.connect(self._on_moved)
        for place, head in enumerate((*self.mode_boxes, *map(QLabel, SCALE_AXES))):
            end = _STEPS_PER_SIGMA * _SIGMAS
            name = head.text() if isinstance(head, QLabel) else f"Mode slider {place + 1}"
            slider = self._slider(name, -end, end, "Standard deviations from the mean of all curves")
            value = SteadyLabel("0.0 sd", longest="−3.0 sd ")
            slider.valueChanged.connect(
                lambda tenths, value=value: value.setText(f"{tenths / _STEPS_PER_SIGMA:.1f} sd")
            )
            slider.valueChanged.connect(partial(self._on_slider_moved, place))
            self.sliders.append(slider)
            for part, widget in enumerate((head, slider, value)):
                grid.addWidget(widget, place, part)
        self.reset = button("&Reset", "Back to the mean of all curves")
        self.reset.clicked.connect(self.reset_sliders)
        grid.addWidget(self.reset, len(self.sliders), 0, 1, 3)
        grid = self._page("Path")
        self.ends = [
            self._curve_list(grid, row, words, f"Path {words}: a mean, or a curve by its image and id")
            for row, words in enumerate(("from", "to"))
        ]
        self.time = self._slider(
            "Position on the path", 0, _STEPS_PER_PATH, "Position on the geodesic, in hundredths of its length"
        )
        grid.addWidget(self.time, 2, 0, 1, 3)
        grid.setRowStretch(3, 1)
        grid = self._page("Rank")
        tooltip = "Curve to reconstruct from few undulation coordinates, by its image and id"
        self.curve = self._curve_list(grid, 0, "curve", tooltip)
        self.rank = self._slider("Rank", 1, 1, "Number of undulation coordinates used; fewer give a smoother curve")
        self.lipschitz = WrappedLabel()
        self.lipschitz.setToolTip(
            "Maximum speed along the outline divided by the mean speed; 1 for a circle. Dimensionless."
        )
        grid.addWidget(QLabel("rank"), 1, 0)
        grid.addWidget(self.rank, 1, 1, 1, 2)
        grid.addWidget(self.lipschitz, 2, 0, 1, 3)
        grid.setRowStretch(3, 1)
        self.tabs.currentChanged.connect(self._redraw)
        self.play = button("▶ Pla&y", "Animate the slider used last", checkable=True)
        self.play.toggled.connect(self._toggle_play)
        self.add = button("A&dd to viewer", "Add the outline shown as a Shapes layer, in the unit of the comparison")
        self.add.clicked.connect(self.wants_layer)
        column(self.canvas, self.tabs, row(self.play, self.add), page=self, grows=self.canvas)

    def _page(self, title: str) -> QGridLayout:
        page = QWidget()
        grid = QGridLayout(page)
        grid.setContentsMargins(4, 6, 4, 4)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(1, 1)
        self.tabs.addTab(page, title)
        return grid

    def _slider(self, name: str, low: int, high: int, tooltip: str) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(low, high)
        slider.setAccessibleName(name)
        slider.setToolTip(tooltip)
        pass_wheel(slider)
        slider.setMinimumWidth(_MIN_SLIDER_PX)
        slider.valueChanged.connect(self._redraw)
        return slider

    def _on_slider_moved(self, slider: int, _: int) -> None:
        self._last_slider = slider
        self._on_moved()

    def _on_moved(self) -> None:
        self.moved = True

    def _curve_list(self, grid: QGridLayout, place: int, words: str, tooltip: str) -> QComboBox:
        """Add a row with a combo box of curves and a button that picks the curve selected in the viewer."""
        combo = NarrowList(tooltip)
        combo.setAccessibleName(words.capitalize())
        take = button("Selected", "Use the curve selected in the viewer's curve layers")
        combo.currentIndexChanged.connect(self._redraw)
        take.clicked.connect(lambda: self.wants_selected.emit(combo))
        self.pick_buttons.append(take)
        for part, widget in enumerate((QLabel(words), combo, take)):
            grid.addWidget(widget, place, part)
        return combo

    def set_places(self, places: ShapePlaces) -> None:
        """Explore another comparison, starting at its mean."""
        self.places = None  # suppress redraws until all controls are set
        rank = places.space.rank_
        for place, box in enumerate(self.mode_boxes):
            box.setRange(1, rank)
            box.setValue(min(place + 1, rank))
            box.fit()
        means, curves = [places.mean(side).name for side in "AB"], places.curve_names()
        for combo in (*self.ends, self.curve):
            combo.clear()
            combo.addItems(curves if combo is self.curve else [*means, *curves])
        self.ends[1].setCurrentIndex(1)
        self.rank.setRange(1, rank)
        self.rank.setValue(rank)
        self.places, self._path, self._curve, self.moved = places, None, None, False
        self._mean = places.draw(places.mean(""))
        self._redraw()

    def choose_modes(self, modes: list[int]) -> None:
        """Assign these modes (from 0) to the sliders."""
        moved = self.moved
        for box, mode in zip(self.mode_boxes, modes, strict=False):
            box.setValue(mode + 1)
        self.moved = moved

    def show_curve(self, row: int) -> None:
        """Show a curve of the pooled sample on the page *Rank*."""
        self.curve.setCurrentIndex(row)
        self.tabs.setCurrentIndex(2)

    def choose(self, combo: QComboBox, row: int) -> None:
        """Select a curve of the pooled sample in one of the combo boxes."""
        combo.setCurrentIndex(row + (0 if combo is self.curve else 2))

    def reset_sliders(self) -> None:
        for slider in self.sliders:
            slider.setValue(0)

    def _redraw(self, *_: object) -> None:
        if self.places is not None:
            (self._draw_sliders, self._draw_path, self._draw_rank)[self.tabs.currentIndex()](self.places)

    def _draw_sliders(self, places: ShapePlaces) -> None:
        deviations = [slider.value() / _STEPS_PER_SIGMA for slider in self.sliders]
        modes: dict[int, float] = {}
        for box, sd in zip(self.mode_boxes, deviations, strict=False):
            modes[box.value() - 1] = modes.get(box.value() - 1, 0) + sd
        place = places.moved(modes, dict(zip(SCALE_AXES, deviations[_MODES:], strict=True)))
        mean = StyledOutline(self._mean, dashed=True, width=1.5)
        self._draw([mean], places.draw(place), place.name, least=1.6 * radius([self._mean]))

    def _draw_path(self, places: ShapePlaces) -> None:
        ends = tuple(max(combo.currentIndex(), 0) for combo in self.ends)
        if self._path is None or self._path[0] != ends:
            start, end = (places.mean("AB"[i]) if i < 2 else places.curve(i - 2)[0] for i in ends)
            self._path = ends, Geodesic(places, start, end)
        path, time = self._path[1], self.time.value() / _STEPS_PER_PATH
        behind = [StyledOutline(path.at(end), side, dashed=True, width=1.5) for side, end in (("A", 0.0), ("B", 1.0))]
        self._draw(behind, path.at(time), f"{path.start.name} → {path.end.name}, {time:.0%}")

    def _draw_rank(self, places: ShapePlaces) -> None:
        row, rank, unit = self.curve.currentIndex(), self.rank.value(), places.comparison.a.unit
        if row < 0:
            return
        if self._curve is None or self._curve[0] != row:
            self._curve = (row, *places.curve(row))
        _, place, outline = self._curve
        drawn = places.draw(place, rank)
        away = np.sqrt(((drawn - outline) ** 2).sum(axis=1).mean())
        self.lipschitz.setText(
            f"Lipschitz constant {lipschitz(drawn):.2f} at rank {rank}, {lipschitz(outline):.2f} of the traced "
            f"outline; RMS distance {away:.3g} {UNIT_SYMBOLS.get(unit, unit)}"
        )
        traced = StyledOutline(outline, places.origin(row)[0], dashed=True, width=1.5)
        self._draw([traced], drawn, f"{place.name}, rank {rank}")

    def _draw(self, behind: list[StyledOutline], shape: Real, name: str, least: float = 0.0) -> None:
        assert self.places is not None
        self.shape = shape, name
        reach = 1.08 * radius([shape, *(outline.curve for outline in behind)])
        self.canvas.set_scale(max(least, reach), self.places.comparison.a.unit)
        self.canvas.show_shapes([*behind, StyledOutline(shape, filled=True)], name)

    def _toggle_play(self, on: bool) -> None:
        self.play.setText("❚❚ Pa&use" if on else "▶ Pla&y")
        self._frame = 0
        (self._timer.start if on else self._timer.stop)()

    def _advance(self) -> None:
        """Advance the animation by one frame: the slider oscillates sinusoidally."""
        if self.places is None or not self.isVisible():
            return
        self._frame += 1
        page = self.tabs.currentIndex()
        slider = (self.sliders[self._last_slider], self.time, self.rank)[page]
        phase = 2 * np.pi * self._frame / _PERIOD
        share = (1 + (np.sin(phase) if page == 0 else -np.cos(phase))) / 2
        slider.setValue(round(slider.minimum() + share * (slider.maximum() - slider.minimum())))

    def stop(self) -> None:
        self.play.setChecked(False)
