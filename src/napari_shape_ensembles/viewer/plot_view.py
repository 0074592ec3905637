"""A figure in a dock: drawn in a thread of its own, since matplotlib takes longer than a window may stand still."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal
from qtpy.QtGui import QHelpEvent, QImage, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from qtpy.QtWidgets import QSizePolicy, QToolTip, QWidget

from .fonts import Drawing
from .widgets import tip
from .worker import Background

log = logging.getLogger(__name__)

#: Draws on an empty matplotlib figure and returns its axes, from top to bottom.
Plot = Callable[[Any], Any]

_DPI = 100
_SETTLED = 80  # milliseconds without a change of size before it is drawn anew
_FONT_SIZE, _FONT_SHARE = 8, 0.8  # points at least, and of the size of labels
_READABLE = (280, 360)  # what the least font needs; a larger one needs more
_RESTYLED = (QEvent.Type.StyleChange, QEvent.Type.PaletteChange, QEvent.Type.FontChange)
_LEAST = (220, 260)  # below this the labels leave no room for the panels
_CENTRED = Qt.AlignmentFlag.AlignCenter.value | Qt.TextFlag.TextWordWrap.value


@dataclass(frozen=True)
class Look:
    """How a figure fits into its dock: size in points of the screen, their sharpness, the theme's colours, its font."""

    width: int
    height: int
    ratio: float
    ink: str
    ground: str
    font_size: float = _FONT_SIZE


@dataclass(frozen=True, eq=False)
class Drawn:
    """A finished picture (rows, columns, RGBA), and the axes it shows."""

    pixels: NDArray[np.uint8]
    axes: list[Any]
    look: Look


class PlotView(Drawing):
    """Shows a plot in the theme's colours, and tells where it is clicked.

    Signals
    -------
    clicked : (int, float, float)
        Which axes, from the top, and the place in their coordinates.
    drawn
        The picture on show is new.
    """

    clicked = Signal(int, float, float)
    drawn = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plot: Plot | None = None
        self._drawn: Drawn | None = None
        self._image = QImage()
        self._busy = False
        self._again = False
        self.describe: Callable[[int, float, float], str] = lambda *_: ""
        self.failure = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(_SETTLED)
        self._settled.timeout.connect(self._draw)

    @property
    def axes(self) -> list[Any]:
        """The matplotlib axes on show."""
        return [] if self._drawn is None else self._drawn.axes

    @property
    def busy(self) -> bool:
        """Whether a picture is being drawn, or about to be."""
        return self._busy or self._settled.isActive()

    def show_plot(self, plot: Plot | None) -> None:
        """Show another plot, as soon as it is drawn; None for nothing."""
        self._plot = plot
        if plot is None:
            self._drawn, self._image = None, QImage()
            self.update()
        else:
            self._draw()

    def _draw(self) -> None:
        """Start drawing what is to be shown now; while a picture is being drawn, remember to."""
        if self._busy:
            self._again = True
        elif self._plot is not None and self.width() >= _LEAST[0] and self.height() >= _LEAST[1]:
            self._busy, self._again = True, False
            worker = Background(partial(_safely_rendered, self._plot, self._look())).worker()
            worker.returned.connect(self._show)
            worker.start()

    def _look(self) -> Look:
        palette = self.palette()
        ink, ground = palette.windowText().color().name(), palette.window().color().name()
        return Look(self.width(), self.height(), self.devicePixelRatioF(), ink, ground, self._font_size())

    def _font_size(self) -> float:
        """That of labels, a little smaller, as far as the words leave room for the panels."""
        room = min(self.width() / _READABLE[0], self.height() / _READABLE[1])
        return max(min(_FONT_SHARE * self.font().pointSizeF(), _FONT_SIZE * room), _FONT_SIZE)

    def _show(self, drawn: Drawn | str) -> None:
        self._busy = False
        self.failure = drawn if isinstance(drawn, str) else ""
        if isinstance(drawn, Drawn) and self._plot is not None:
            rows, columns = drawn.pixels.shape[:2]
            self._image = QImage(
                drawn.pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888
            ).copy()
            self._drawn = drawn
        self.update()
        if self._again:
            self._draw()
        self.drawn.emit()

    def place(self, axes: int, x: float, y: float) -> tuple[float, float]:
        """Where in this widget a place of some axes lies."""
        assert self._drawn is not None
        right, up = self._drawn.axes[axes].transData.transform((x, y)) / self._drawn.look.ratio
        return float(right), self._drawn.look.height - float(up)

    def _found(self, point: QPoint) -> tuple[int, float, float] | None:
        """The axes at a point of this widget, and the place in their coordinates."""
        if self._drawn is None:
            return None
        ratio = self._drawn.look.ratio
        pixel = (point.x() * ratio, (self._drawn.look.height - point.y()) * ratio)
        for index, axes in enumerate(self._drawn.axes):
            if axes.bbox.contains(*pixel):
                x, y = axes.transData.inverted().transform(pixel)
                return index, float(x), float(y)
        return None

    def mousePressEvent(self, event: QMouseEvent | None) -> None:  # noqa: N802 - Qt's name
        """Tell where the plot was clicked."""
        found = self._found(event.position().toPoint()) if event is not None else None
        if found is not None:
            self.clicked.emit(*found)

    def event(self, event: QEvent | None) -> bool:
        """Describe what is under the mouse when it rests."""
        if event is not None and event.type() == QEvent.Type.ToolTip:
            assert isinstance(event, QHelpEvent)
            found = self._found(event.pos())
            QToolTip.showText(event.globalPos(), tip(self.describe(*found)) if found else "", self)
            return True
        return bool(super().event(event))

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw anew when the size has settled; until then the old picture is stretched."""
        super().resizeEvent(event)
        self._settled.start()

    def changeEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the theme and its font."""
        super().changeEvent(event)
        if event is not None and event.type() in _RESTYLED:
            self._settled.start()

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Show the picture, or why there is none."""
        painter = QPainter(self)
        if not self._image.isNull():
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.rect(), self._image)
        elif self.failure:
            painter.setPen(self.palette().windowText().color())
            painter.drawText(self.rect(), _CENTRED, self.failure)
        painter.end()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for three panels."""
        return QSize(380, 560)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Enough to read the axes."""
        return QSize(*_READABLE)


def _safely_rendered(plot: Plot, look: Look) -> Drawn | str:
    """The picture, or why it cannot be drawn."""
    try:
        return _rendered(plot, look)
    except Exception as error:
        log.exception("a plot failed")
        return f"The plot could not be drawn ({type(error).__name__}: {error}). Please report it."


def _rendered(plot: Plot, look: Look) -> Drawn:
    import matplotlib as mpl  # takes a while: here it keeps no dock waiting
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_style(look)):
        dpi = _DPI * look.ratio
        size = look.width / _DPI, look.height / _DPI
        canvas = FigureCanvasAgg(Figure(figsize=size, dpi=dpi, layout="constrained"))
        axes = list(plot(canvas.figure))
        canvas.draw()
        return Drawn(np.array(canvas.buffer_rgba()), axes, look)


def _style(look: Look) -> dict[str, Any]:
    inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    grounds = ("figure.facecolor", "axes.facecolor", "legend.facecolor")
    return dict.fromkeys(inks, look.ink) | dict.fromkeys(grounds, look.ground) | {"font.size": look.font_size}
