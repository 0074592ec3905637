"""A matplotlib figure in a dock, drawn in a thread of its own: it takes longer than a window may stand still."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, QPoint, QSize, Qt, Signal
from qtpy.QtGui import QImage, QMouseEvent, QPainter
from qtpy.QtWidgets import QSizePolicy, QToolTip, QWidget

from ..task import Background, Steps
from .fonts import Drawing
from .widgets import once, tip

log = logging.getLogger(__name__)

#: Draws on an empty matplotlib figure and returns its axes, from top to bottom.
Plot = Callable[[Any], Any]

_DPI = 100
_SETTLED = 80  # milliseconds without a change of size before it is drawn anew
_FONT_SIZE, _FONT_SHARE = 8, 0.8  # points at least, and of the size of labels
_READABLE = (280, 360)  # what the least font needs; a larger one needs more
_RESTYLED = (QEvent.Type.Resize, QEvent.Type.StyleChange, QEvent.Type.PaletteChange, QEvent.Type.FontChange)
_LEAST = (220, 260)  # below this the labels leave no room for the panels
_CENTRED = Qt.AlignmentFlag.AlignCenter.value | Qt.TextFlag.TextWordWrap.value


@dataclass(frozen=True, eq=False)
class RenderedPlot:
    """A finished picture."""

    image: QImage
    axes: list[Any]
    height: int  #: in the widget
    ratio: float  #: how many pixels make one of the widget's


class PlotView(Drawing):
    """Shows a plot in the theme's colours, and tells where it is clicked."""

    #: (int, float, float): which axes, from the top, and the place in their coordinates.
    clicked = Signal(int, float, float)
    drawn = Signal()  #: the picture on show is new

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plot: Plot | None = None
        self._drawn: RenderedPlot | None = None
        self._wanted = False  # a picture, once the one under way is drawn
        self._drawing = Background()
        self.describe: Callable[[int, float, float], str] = lambda *_: ""
        self.failure = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._settled = once(self, self._draw)
        self._settled.setInterval(_SETTLED)

    @property
    def axes(self) -> list[Any]:
        return [] if self._drawn is None else self._drawn.axes

    @property
    def busy(self) -> bool:
        return self._drawing.busy or self._settled.isActive()

    def show_plot(self, plot: Plot) -> None:
        self._plot = plot
        self._draw()

    def _draw(self) -> None:
        """Draw what is to be shown now, after a picture that is being drawn."""
        self._wanted = True
        if not self._drawing.busy:
            self._drawing.begin(self._pictures())

    def _pictures(self) -> Steps:
        while self._wanted and self.width() >= _LEAST[0] and self.height() >= _LEAST[1]:
            self._wanted = False
            if self._plot is None:
                return
            # The theme's colors, and a font a little smaller than that of labels, as far as the panels have room.
            room = min(self.width() / _READABLE[0], self.height() / _READABLE[1])
            font_size = max(min(_FONT_SHARE * self.font().pointSizeF(), _FONT_SIZE * room), _FONT_SIZE)
            inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
            grounds = ("figure.facecolor", "axes.facecolor", "legend.facecolor")
            ink, ground = self.palette().windowText().color().name(), self.palette().window().color().name()
            style = dict.fromkeys(inks, ink) | dict.fromkeys(grounds, ground) | {"font.size": font_size}
            size = self.width(), self.height()
            drawn = yield partial(_rendered, self._plot, size, self.devicePixelRatioF(), style)
            if not isalive(self):  # closed while it was drawn
                return
            self.failure = drawn if isinstance(drawn, str) else ""
            if isinstance(drawn, RenderedPlot):
                self._drawn = drawn
            self.update()
            self.drawn.emit()

    def place(self, axes: int, x: float, y: float) -> tuple[float, float]:
        """Where in this widget a place of some axes lies."""
        assert self._drawn is not None
        right, up = self._drawn.axes[axes].transData.transform((x, y)) / self._drawn.ratio
        return float(right), self._drawn.height - float(up)

    def _found(self, point: QPoint) -> tuple[int, float, float] | None:
        """The axes at a point of this widget, and the place in their coordinates."""
        if self._drawn is None:
            return None
        pixel = self._drawn.ratio * np.array([point.x(), self._drawn.height - point.y()])
        for index, axes in enumerate(self._drawn.axes):
            if axes.bbox.contains(*pixel):
                x, y = axes.transData.inverted().transform(pixel)
                return index, float(x), float(y)
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if found := self._found(event.position().toPoint()):
            self.clicked.emit(*found)

    def event(self, event: QEvent) -> bool:
        """Describe what is under a mouse that rests; draw anew once the size, the theme or its font has settled."""
        if event.type() == QEvent.Type.ToolTip:
            found = self._found(event.pos())
            QToolTip.showText(event.globalPos(), tip(self.describe(*found)) if found else "", self)
            return True
        done = bool(super().event(event))
        if event.type() in _RESTYLED:
            self._settled.start()
        return done

    def draw(self, painter: QPainter) -> None:
        if self._drawn is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.rect(), self._drawn.image)
        elif self.failure:
            painter.setPen(self.palette().windowText().color())
            painter.drawText(self.rect(), _CENTRED, self.failure)

    def sizeHint(self) -> QSize:
        return QSize(*_READABLE)

    minimumSizeHint = sizeHint


def _rendered(plot: Plot, size: tuple[int, int], ratio: float, style: dict[str, Any]) -> RenderedPlot | str:
    """The picture, or why it cannot be drawn."""
    try:
        import matplotlib as mpl  # takes a while: here it keeps no dock waiting
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
