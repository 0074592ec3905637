"""A matplotlib figure in a dock, rendered in a worker thread so as not to block the event loop."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, QPoint, QSize, Qt, Signal
from qtpy.QtGui import QImage, QMouseEvent, QPainter
from qtpy.QtWidgets import QSizePolicy, QToolTip

from ..debouncing import Debouncer
from ..task import JobRunner, JobSteps
from .fonts import Drawing
from .widgets import tip

log = logging.getLogger(__name__)

#: Callable that draws on an empty matplotlib figure and returns its axes, from top to bottom.
Plot = Callable[[Any], Any]

_DPI = 100
_SETTLE_MS = 80  # debounce of resize and style events, in milliseconds
_FONT_SIZE, _FONT_SHARE = 8, 0.8  # minimum font size in points, and size relative to that of labels
_MIN_FONT_SIZE_AT = (280, 360)  # widget size for the minimum font; larger widgets scale the font up
_STYLE_EVENTS = (QEvent.Type.Resize, QEvent.Type.StyleChange, QEvent.Type.PaletteChange, QEvent.Type.FontChange)
_MIN_SIZE = (220, 260)  # minimum size to draw at: below it, labels leave no room for the axes
_CENTRED = Qt.AlignmentFlag.AlignCenter.value | Qt.TextFlag.TextWordWrap.value


@dataclass(frozen=True, eq=False)
class RenderedPlot:
    """A rendered figure."""

    image: QImage
    axes: list[Any]
    height: int  #: in widget (logical) pixels
    ratio: float  #: device pixel ratio


class PlotView(Drawing):
    """Shows a plot in the theme's colors, and emits the data coordinates of clicks."""

    #: (int, float, float): index of the clicked axes, from the top, and the position in data coordinates.
    clicked = Signal(int, float, float)
    drawn = Signal()  #: a newly rendered plot is shown

    def __init__(self) -> None:
        super().__init__()
        self._plot: Plot | None = None
        self._drawn: RenderedPlot | None = None
        self._is_outdated = False  # whether to render again once the current rendering is done
        self._render_runner = JobRunner()
        self.describe: Callable[[int, float, float], str] = lambda *_: ""
        self.failure = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._redraw_debouncer = Debouncer(self._draw, _SETTLE_MS)

    @property
    def axes(self) -> list[Any]:
        return [] if self._drawn is None else self._drawn.axes

    @property
    def busy(self) -> bool:
        return self._render_runner.busy or self._redraw_debouncer.pending

    def show_plot(self, plot: Plot) -> None:
        self._plot = plot
        self._draw()

    def _draw(self) -> None:
        """Render the current plot, after any rendering in progress."""
        self._is_outdated = True
        if not self._render_runner.busy:
            self._render_runner.begin(self._render_job())

    def _render_job(self) -> JobSteps:
        while self._is_outdated and self.width() >= _MIN_SIZE[0] and self.height() >= _MIN_SIZE[1]:
            self._is_outdated = False
            if self._plot is None:
                return
            # The theme's colors, and a font slightly smaller than that of labels, if the axes leave room for it.
            room = min(self.width() / _MIN_FONT_SIZE_AT[0], self.height() / _MIN_FONT_SIZE_AT[1])
            font_size = max(min(_FONT_SHARE * self.font().pointSizeF(), _FONT_SIZE * room), _FONT_SIZE)
            inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
            grounds = ("figure.facecolor", "axes.facecolor", "legend.facecolor")
            ink, ground = self.palette().windowText().color().name(), self.palette().window().color().name()
            style = dict.fromkeys(inks, ink) | dict.fromkeys(grounds, ground) | {"font.size": font_size}
            size = self.width(), self.height()
            drawn = yield partial(_rendered, self._plot, size, self.devicePixelRatioF(), style)
            if not isalive(self):  # widget deleted while rendering
                return
            self.failure = drawn if isinstance(drawn, str) else ""
            if isinstance(drawn, RenderedPlot):
                self._drawn = drawn
            self.update()
            self.drawn.emit()

    def place(self, axes: int, x: float, y: float) -> tuple[float, float]:
        """Return the widget coordinates of a position in data coordinates."""
        assert self._drawn is not None
        right, up = self._drawn.axes[axes].transData.transform((x, y)) / self._drawn.ratio
        return float(right), self._drawn.height - float(up)

    def _data_position(self, point: QPoint) -> tuple[int, float, float] | None:
        """Return the index of the axes at a point of this widget, and the point in data coordinates."""
        if self._drawn is None:
            return None
        pixel = self._drawn.ratio * np.array([point.x(), self._drawn.height - point.y()])
        for index, axes in enumerate(self._drawn.axes):
            if axes.bbox.contains(*pixel):
                x, y = axes.transData.inverted().transform(pixel)
                return index, float(x), float(y)
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if found := self._data_position(event.position().toPoint()):
            self.clicked.emit(*found)

    def event(self, event: QEvent) -> bool:
        """Show a tooltip for the hovered point; schedule a rendering when size, theme or font have changed."""
        if event.type() == QEvent.Type.ToolTip:
            found = self._data_position(event.pos())
            QToolTip.showText(event.globalPos(), tip(self.describe(*found)) if found else "", self)
            return True
        done = bool(super().event(event))
        if event.type() in _STYLE_EVENTS:
            self._redraw_debouncer.start()
        return done

    def draw(self, painter: QPainter) -> None:
        if self._drawn is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.rect(), self._drawn.image)
        elif self.failure:
            painter.setPen(self.palette().windowText().color())
            painter.drawText(self.rect(), _CENTRED, self.failure)

    def sizeHint(self) -> QSize:
        return QSize(*_MIN_FONT_SIZE_AT)

    minimumSizeHint = sizeHint


def _rendered(plot: Plot, size: tuple[int, int], ratio: float, style: dict[str, Any]) -> RenderedPlot | str:
    """Return the rendered figure, or an error message."""
    try:
        import matplotlib as mpl  # slow to import: done here, in the worker thread
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        width, height = size
        with mpl.rc_context(style):
            figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI * ratio, layout="constrained")
            canvas = FigureCanvasAgg(figure)
            axes = list(plot(figure))
            canvas.draw()
    except Exception as error:
        log.exception("a plot failed")
        return f"The plot could not be drawn ({type(error).__name__}: {error}). Please report it."
    pixels = np.asarray(canvas.buffer_rgba())
    rows, columns = pixels.shape[:2]
    image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)
    return RenderedPlot(image.copy(), axes, height, ratio)
