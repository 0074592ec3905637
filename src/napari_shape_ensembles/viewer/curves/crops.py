"""Selected curves side by side: the picture of each with its outline, all at one scale."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from qtpy.QtGui import QImage, QPixmap
from qtpy.QtWidgets import QGridLayout

from ..._types import Index, Real
from ...outlines.units import conversion_factor
from ...words import counted
from ..comparing import ComparisonTask
from ..inputs import Source, own_ids, source_of
from ..overlap import image_below
from ..panels.fonts import NamedLine
from ..panels.shape_canvas import SIDE_MARKS, OutlineButtons, radius
from ..panels.widgets import WrappedLabel, clear_layout, column, tip

_HINT = "Select curves, and choose Open side by side in their menu."
MAX_SHOWN = 60  #: maximum number of curves shown
_SIZE, _COLUMNS = 128, 6
_SURROUNDINGS = 1.3  # half the side of a picture, relative to the radius of the largest outline
_SATURATED = 0.5  # percent of the pixels that are black, and that are white
_MAX_SAMPLED = 10**6  # maximum number of pixels from which the contrast is determined


class CurveCrops(OutlineButtons):
    """Clickable pictures of some curves, with their outlines; outlines alone if their images are not in the viewer."""

    def __init__(self) -> None:
        super().__init__()
        self.heading = WrappedLabel(_HINT)
        self._grid = QGridLayout()
        column(self.heading, self._grid, page=self, margins=(9, 9, 9, 9)).layout().addStretch(1)
        self._grid.setColumnStretch(_COLUMNS, 1)

    def clear(self) -> None:
        """Show no curves, but how to open some."""
        clear_layout(self._grid)
        self.buttons = []
        self.heading.setText(_HINT)

    def show_curves(self, comparison: ComparisonTask, rows: Index) -> None:
        """Show these curves of the result, at most `MAX_SHOWN`."""
        self.clear()
        result, shown = comparison.result, comparison.shown
        if result is None:
            return
        left = f", of which the first {MAX_SHOWN} are shown" if len(rows) > MAX_SHOWN else ""
        self.heading.setText(f"{counted(len(rows), 'selected curve')}, at one scale{left}:")
        samples, first = (result.a, result.b), len(result.a)
        places = [own_ids(sample) for sample in samples]
        curves = {row: samples[row >= first][row - first * (row >= first)] for row in rows[:MAX_SHOWN].tolist()}
        reach = _SURROUNDINGS * radius([curve - _middle(curve) for curve in curves.values()])
        pictures: dict[tuple[bool, int], Picture | None] = {}
        for number, (row, curve) in enumerate(curves.items()):
            side = row >= first
            place, one = places[side][row - first * side]
            if (side, place) not in pictures:
                source = None if shown is None or shown.sources is None else shown.sources[side][place]
                pictures[side, place] = None if source is None else picture_of(comparison, source, side, place)
            picture, name = pictures[side, place], str(samples[side].images[row - first * side])
            button = self.new_button(row, "AB"[side], name, curve - _middle(curve), reach, _SIZE)
            if picture is not None:
                button.set_picture(picture.around(_middle(curve), reach, result.a.unit))
            caption = NamedLine(f"{SIDE_MARKS['AB'[side]]} ", name, f" {one}")
            caption.setToolTip(tip(f"{name}, curve {one}"))
            caption.setFixedWidth(_SIZE)
            self._grid.addWidget(column(button, caption), *divmod(number, _COLUMNS))


@dataclass(frozen=True, eq=False)
class Picture:
    """An image with its pixel size, and the values shown as black and white."""

    pixels: NDArray[np.generic]
    scale: Real
    unit: str
    limits: tuple[float, float]

    def around(self, centre: Real, reach: float, unit: str) -> QPixmap:
        """Return the square of half a side of `reach` around a position, both in a unit; black beyond the image."""
        factor = conversion_factor(unit, self.unit) / self.scale
        low = np.round(centre * factor - reach * factor).astype(int)
        high = np.maximum(np.round(centre * factor + reach * factor).astype(int), low) + 1
        start, stop = np.maximum(low, 0), np.minimum(high, self.pixels.shape[:2])
        square = np.zeros((*(high - low), *self.pixels.shape[2:]), dtype=np.uint8)
        if (stop > start).all():
            black, white = self.limits
            values = self.pixels[start[0] : stop[0], start[1] : stop[1]].astype(np.float64)
            shown = 255 * (values - black) / max(white - black, 1e-12)
            (top, left), (bottom, right) = start - low, stop - low
            square[top:bottom, left:right] = np.clip(np.nan_to_num(shown), 0, 255)
        form = QImage.Format.Format_Grayscale8 if square.ndim == 2 else QImage.Format.Format_RGB888
        square = np.ascontiguousarray(square[..., :3] if square.ndim == 3 else square)
        height, width = square.shape[:2]
        picture = QImage(square.tobytes(), width, height, square.strides[0], form)
        return QPixmap.fromImage(picture)  # a copy, as the bytes are freed


def picture_of(comparison: ComparisonTask, source: Source, side: int, place: int) -> Picture | None:
    """Return the picture of an image of the result; of labels, the image below them, None if there is none."""
    pixels = source.data if source.kind == "image" else None
    run_inputs, choices = comparison.inputs_shown, comparison.choices
    layer = None if run_inputs is None else run_inputs.layers[side][place]()
    is_over = source.kind == "labels" and layer is not None and layer in choices.layers
    if is_over and (below := image_below(layer, choices.layers, choices)) is not None:
        known = source_of(below, choices.dims).data
        pixels = known if known.shape[:2] == source.data.shape else None
    if pixels is None:
        return None
    pixels = np.asarray(pixels)
    step = max(int(np.sqrt(pixels.size / _MAX_SAMPLED)), 1)
    low, high = np.nanpercentile(pixels[::step, ::step], (_SATURATED, 100 - _SATURATED))
    return Picture(pixels, source.scale, source.unit, (float(low), float(high)))


def _middle(curve: Real) -> Real:
    return (curve.min(axis=0) + curve.max(axis=0)) / 2
