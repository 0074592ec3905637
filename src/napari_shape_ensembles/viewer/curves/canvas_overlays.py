"""Overlays on the canvas: captions, outlines in view, the card of the selected curve, and the lasso line."""

import weakref
from abc import abstractmethod
from typing import TypeVar

import numpy as np
from napari.layers import Labels
from numpy.typing import NDArray
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt
from qtpy.QtGui import QColor, QCursor, QPainter, QPaintEvent, QPen, QPolygonF, QTransform
from qtpy.QtWidgets import QFrame, QListView, QMainWindow, QWidget

from ...comparison import Comparison
from ..camera_flight import Flight, view_of
from ..canvas_context import canvas_of, enclosing
from ..comparing import ComparisonTask
from ..debouncing import Debouncer
from ..painting import in_pixels, rows_within
from ..panels.fonts import elided_apart, painting, with_label_font
from ..panels.widgets import button, column, row
from ..world import drawn_at, pixels_at
from .card import CurveCard
from .side_by_side import CAPTION_GAP_PX, CAPTION_HEIGHT_PX, Caption, SideBySide

Overlay = TypeVar("Overlay", bound=QWidget)

_VIEW_EXTENT = 6.0  # extent of the view relative to a curve that the camera has moved to
_WIDTH = 190
_CAPTION_PADDING_PX = 4  # padding of a caption, in pixels
MAX_POLYGONS = 300  #: maximum number of outlines in view to draw as polygons
_UNIT_PIXEL = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # a layer's origin, and one pixel down and right
_LIGHTER = 140  # lightness of the colors of A and B on the dark background of a caption, in percent


class CanvasOverlays:
    """Manages the canvas overlays of a comparison in the window that contains a page."""

    def __init__(self, page: QWidget, comparison: ComparisonTask) -> None:
        self._page, self._comparison = weakref.ref(page), comparison
        self._flight = Flight(comparison.choices.viewer)
        self._camera_moved = False
        self.card: FloatingCard | None = None
        self.line: LassoLine | None = None
        self.captions: Captions | None = None
        self.outlines: OutlinesInView | None = None
        self._captions_debouncer = Debouncer(self.show_captions)
        camera = comparison.choices.viewer.scene.camera
        for event in (camera.events.center, camera.events.zoom):
            event.connect(self._on_camera_moved)
        comparison.choices.layers.events.connect(self._captions_debouncer.request)
        comparison.side_by_side.arranged.connect(self._captions_debouncer.request, check_nargs=False)
        self._card_debouncer = Debouncer(self.show_card)

    def fly_to(self, row: int) -> None:
        """Move the camera to a curve that was selected in another view, and show its image if that was hidden."""
        outline, canvas = self._comparison.curves.outline(row), self._canvas()
        if outline is not None:
            if (layer := self._comparison.curves.layer_of(row)) is not None:
                self._comparison.side_by_side.reveal(layer)
            centre, zoom = view_of(self._comparison.choices.viewer, outline, _VIEW_EXTENT)
            if canvas is not None:
                zoom = self._cell_center_and_size(canvas, row)[1] / max(float(np.ptp(outline, axis=0).max()), 1e-9)
            self._camera_moved = True
            self._flight.to(centre, zoom)
            self._card_debouncer.start()

    def _cell_center_and_size(self, canvas: QWidget, row: int) -> tuple[QPoint, float]:
        """Return the center of a curve's grid cell, and the curve's size in pixels once the camera has moved to it."""
        layer = self._comparison.curves.layer_of(row)
        frames = self._comparison.side_by_side.frames((canvas.width(), canvas.height()))
        left, top, width, height = frames[layer].cell if layer in frames else (0, 0, canvas.width(), canvas.height())
        return QPoint(round(left + width / 2), round(top + height / 2)), min(width, height) / _VIEW_EXTENT

    def schedule_card(self) -> None:
        self._card_debouncer.start()

    def show_card(self) -> None:
        """Show the card away from the curves, unless the window *Curves*, which has a card, is visible."""
        comparison, canvas, rows = self._comparison, self._canvas(), self._selected_rows()
        result, flown, self._camera_moved = comparison.result, self._camera_moved, False
        explorer = comparison.curve_explorer()
        elsewhere = explorer is not None and isalive(explorer) and explorer.isVisible()
        if canvas is None or result is None or not rows or elsewhere:
            self._hide_card()
            return
        if self.card is None or not isalive(self.card):
            self.card = self._deleted_with_page(FloatingCard(canvas, comparison))
        self.card.show_selected()
        place = self._cell_center_and_size(canvas, rows[0])[0] if flown else canvas.mapFromGlobal(QCursor.pos())
        self.card.move_away_from(place)

    def update_card(self) -> None:
        """Show on a visible card whether its curves are excluded."""
        if self.card is not None and isalive(self.card) and self.card.isVisible():
            self.card.show_selected()

    def _selected_rows(self) -> list[int]:
        """Return the selected curves if the layer of the first one exists."""
        rows = self._comparison.selection.rows.tolist()
        return rows if rows and self._comparison.curves.layer_of(rows[0]) is not None else []

    def _hide_card(self) -> None:
        if self.card is not None and isalive(self.card):
            self.card.hide()

    def draw(self, drawing: bool) -> None:
        """Extend the lasso line to the mouse position, or remove it."""
        canvas = self._canvas()
        if self.line is None or not isalive(self.line):
            self.line = None if canvas is None else self._deleted_with_page(LassoLine(canvas))
        if self.line is not None:
            self.line.draw(drawing)

    def _on_camera_moved(self, _: object = None) -> None:
        for part in (self.outlines, self.captions):
            if part is not None and isalive(part):
                part.update_overlay()

    def show_captions(self) -> None:
        """Show captions and outlines if there is a window, and hide the card of a curve that no longer exists."""
        canvas = self._canvas()
        self._hide_spacers()
        if not self._selected_rows():
            self._hide_card()
        if canvas is not None and (self.captions is None or not isalive(self.captions)):
            self.outlines = self._deleted_with_page(OutlinesInView(canvas, self._comparison))
            self.captions = self._deleted_with_page(Captions(canvas, self._comparison.side_by_side))
        self._on_camera_moved()

    def _hide_spacers(self) -> None:
        """Hide the rows of layers that only fill up the grid from lists of layers, as there is nothing to do with them.

        Such a list holds the layer of a row as its user data; where it does not, the rows stay.
        """
        window, spacers = self._window(), self._comparison.side_by_side.spacers()
        for view in [] if window is None or not spacers else window.findChildren(QListView):
            for place in range(view.model().rowCount()):
                listed = view.model().index(place, 0).data(Qt.ItemDataRole.UserRole)
                if any(listed is spacer for spacer in spacers):
                    view.setRowHidden(place, True)

    def _deleted_with_page(self, overlay: Overlay) -> Overlay:
        """Delete an overlay, which is a child of the canvas, together with the page."""
        page = self._page()
        if page is not None:
            page.destroyed.connect(overlay.deleteLater)
        return overlay

    def _window(self) -> QMainWindow | None:
        """Return the main window of the page, an ancestor of floating docks, too."""
        page = self._page()
        return enclosing(page, QMainWindow) if page is not None and isalive(page) else None

    def _canvas(self) -> QWidget | None:
        window = self._window()
        return None if window is None else canvas_of(window)


def outline_of(result: Comparison, row: int) -> NDArray[np.float64]:
    """Return the vertices (m, 2) of a curve by its index into the pooled sample."""
    first = len(result.a)
    return result.a.curves[row] if row < first else result.b.curves[row - first]


class CanvasOverlay(QWidget):
    """Base class of overlays: as large as the canvas, and transparent for mouse events."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        canvas.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the size of the canvas."""
        if event.type() == QEvent.Type.Resize:
            self.update_overlay()
        return super().eventFilter(watched, event)

    def update_overlay(self) -> None:
        """Update the geometry, and hide the overlay if there is nothing to paint."""
        self.setGeometry(self.parentWidget().rect())
        self.setVisible(self.compute((self.width(), self.height())))

    @abstractmethod
    def compute(self, size: tuple[int, int]) -> bool:
        """Compute what to paint on a canvas of this size, and repaint if it changed; return whether there is any."""


class Captions(CanvasOverlay):
    """Captions above the images, which stay visible while an image is partly out of view."""

    def __init__(self, canvas: QWidget, side_by_side: SideBySide) -> None:
        super().__init__(canvas)
        self._side_by_side = side_by_side
        self.shown: list[tuple[Caption, QRect]] = []  #: with the rectangle of each in this widget
        with_label_font(self)

    def compute(self, size: tuple[int, int]) -> bool:
        found = [(one, self._caption_rect(one)) for one in self._side_by_side.captions(size)]
        before, self.shown = self.shown, [(one, room) for one, room in found if not room.isEmpty()]
        seen = [[(one.text, one.color, room) for one, room in shown] for shown in (before, self.shown)]
        if seen[0] != seen[1]:
            self.setAccessibleName(", ".join(one.text for one, _ in self.shown))
            self.update()
        return bool(self.shown)

    def changeEvent(self, event: QEvent) -> None:
        """Measure the captions again in another font: napari's style sheet sets it after the first captions."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.update_overlay()

    def _caption_rect(self, caption: Caption) -> QRect:
        """Return the rectangle of a caption: above its image, clamped to its grid cell."""
        left, top, width, height = caption.cell
        (x, y), (right, bottom) = caption.top_left, caption.bottom_right
        if right <= left or x >= left + width or bottom <= top or y >= top + height:
            return QRect()
        x, y = max(x, left), max(y - CAPTION_HEIGHT_PX - CAPTION_GAP_PX, top)
        across = self.fontMetrics().horizontalAdvance(caption.text) + 2 * _CAPTION_PADDING_PX
        return QRect(round(x), round(y), round(min(across, left + width - x)), CAPTION_HEIGHT_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            inside = [room.adjusted(_CAPTION_PADDING_PX, 0, 0, 0) for _, room in self.shown]
            texts = [caption.text for caption, _ in self.shown]
            shown = elided_apart(painter.fontMetrics(), texts, [inner.width() for inner in inside])
            for (caption, room), inner, words in zip(self.shown, inside, shown, strict=True):
                painter.fillRect(room, QColor(0, 0, 0, 225))
                painter.setPen(QColor(caption.color).lighter(_LIGHTER))
                painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter, words)


class OutlinesInView(CanvasOverlay):
    """Outlines drawn as vector graphics over those rasterized into Labels layers, if few are in view."""

    def __init__(self, canvas: QWidget, comparison: ComparisonTask) -> None:
        super().__init__(canvas)
        self._comparison = comparison
        self.shown: dict[int, tuple[QRectF, QTransform]] = {}  #: pooled index -> grid cell, layer-to-canvas transform
        self._polygons: tuple[Comparison | None, dict[int, QPolygonF]] = None, {}  # cached per result, in layer pixels

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Clear the selection on Esc, as a click on the background does, and the highlight when the mouse leaves.

        napari receives the events too.
        """
        if event.type() == QEvent.Type.Leave:
            self._comparison.selection.hover(-1)
        if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
            self._comparison.selection.pick([])
        return super().eventFilter(watched, event)

    def compute(self, size: tuple[int, int]) -> bool:
        comparison, result = self._comparison, self._comparison.result
        if self._polygons[0] is not result:
            self._polygons = result, {}
        before, self.shown, known = self.shown, {}, self._polygons[1]
        frames = comparison.side_by_side.frames(size) if result is not None else {}
        for layer, first in comparison.curves.with_first_rows():
            if result is not None and isinstance(layer, Labels) and layer in frames:
                frame = frames[layer]
                rows = rows_within(layer, pixels_at(layer, frame.corners(), comparison.choices))
                if len(rows) + len(self.shown) > MAX_POLYGONS:
                    self.shown = {}
                    break
                corner = drawn_at(layer, _UNIT_PIXEL, comparison.choices)
                (y, x), (down_y, down_x), (right_y, right_x) = frame.on_canvas(corner)
                drawn = QTransform(right_x - x, right_y - y, down_x - x, down_y - y, x, y)
                for row in rows.tolist():
                    self.shown[first + row] = QRectF(*frame.cell), drawn
                    if first + row not in known:
                        curve = in_pixels(layer, row, outline_of(result, first + row))
                        known[first + row] = QPolygonF([QPointF(x, y) for y, x in curve.tolist()])
        if before != self.shown:
            self.update()
        return bool(self.shown)

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            pen = QPen(Qt.GlobalColor.white, 1)
            pen.setCosmetic(True)  # same width at every zoom
            painter.setPen(pen)
            for row, (cell, drawn) in self.shown.items():
                painter.resetTransform()
                painter.setClipRect(cell)
                painter.setTransform(drawn)
                painter.drawPolygon(self._polygons[1][row])


class FloatingCard(QFrame):
    """The card of the selected curves as an overlay on the canvas."""

    def __init__(self, canvas: QWidget, comparison: ComparisonTask) -> None:
        super().__init__(canvas)
        self._comparison = comparison
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setFixedWidth(_WIDTH)
        self.card = CurveCard(comparison.selection, brief=True)
        self.close_button = button("✕", "Close the card and deselect the curve (Esc)")
        self.close_button.setAccessibleName("Close the card")
        self.close_button.setFixedWidth(28)
        self.close_button.clicked.connect(self._close)
        above = row(self.close_button)
        above.insertStretch(0)
        column(above, self.card, page=self, margins=(2, 2, 2, 2)).layout().setSpacing(0)

    def _close(self) -> None:
        self._comparison.selection.pick([])

    def show_selected(self) -> None:
        comparison = self._comparison
        if comparison.result is not None:
            self.card.show_curve(comparison.result, comparison.selection.rows, comparison.excluded_rows())

    def move_away_from(self, place: QPoint) -> None:
        """Move to the corner of the canvas that is farthest from a point, to leave its surroundings visible."""
        self.ensurePolished()
        self.layout().activate()
        self.resize(_WIDTH, self.layout().totalHeightForWidth(_WIDTH))  # `adjustSize` assumes a greater width
        canvas = self.parentWidget()
        left = canvas.width() - self.width() if place.x() < canvas.width() / 2 else 0
        top = canvas.height() - self.height() if place.y() < canvas.height() / 2 else 0
        self.move(max(left, 0), max(top, 0))
        self.show()
        self.raise_()


class LassoLine(CanvasOverlay):
    """The lasso line, which follows the mouse."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas)
        self.points: list[QPointF] = []

    def draw(self, drawing: bool) -> None:
        """Append the mouse position, or end the line."""
        if drawing:
            self.points.append(QPointF(self.parentWidget().mapFromGlobal(QCursor.pos())))
        else:
            self.points.clear()
        self.update_overlay()
        self.raise_()
        self.update()

    def compute(self, size: tuple[int, int]) -> bool:
        return bool(self.points)

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for color, style in (
                (Qt.GlobalColor.black, Qt.PenStyle.SolidLine),
                (Qt.GlobalColor.white, Qt.PenStyle.DashLine),
            ):
                painter.setPen(QPen(color, 2, style))
                painter.drawPolygon(QPolygonF(self.points))
