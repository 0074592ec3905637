"""The OpenGL context of napari's canvas, and layers that are removed."""

from typing import TypeVar

from napari.components import LayerList
from qtpy.compat import isalive
from qtpy.QtCore import QObject
from qtpy.QtOpenGLWidgets import QOpenGLWidget
from qtpy.QtWidgets import QMainWindow, QWidget

Frame = TypeVar("Frame", bound=QWidget)


class CanvasContext(QObject):
    """Makes the context of a window's canvas current whenever napari frees what it drew a removed layer with.

    napari frees it in the context that happens to be current, often the one in which Qt composes the window. The
    canvas then draws with buffers freed elsewhere, which crashes some OpenGL drivers, among them Mesa's llvmpipe.
    """

    def __init__(self, window: QMainWindow, layers: LayerList) -> None:
        super().__init__(window)
        # napari frees at "removed", and at the end of a batch, before anyone else is told of either.
        layers.events.removing.connect(self.make_current)
        layers.events.begin_batch.connect(self.make_current)

    @classmethod
    def watch(cls, page: QWidget, layers: LayerList) -> None:
        """Watch the layers of the window that a page belongs to, each window once."""
        window = enclosing(page, QMainWindow)
        if window is not None and window.findChild(cls) is None:
            cls(window, layers)

    def make_current(self) -> None:
        """Make the context of the canvas current, if it still exists."""
        window = self.parent() if isalive(self) else None
        canvas = canvas_of(window) if isinstance(window, QMainWindow) else None
        if canvas is not None:
            canvas.makeCurrent()


def enclosing(widget: QWidget | None, kind: type[Frame]) -> Frame | None:
    """Return the dock, or the main window, that a widget belongs to, also if it floats in a window of its own."""
    while widget is not None and not isinstance(widget, kind):
        widget = widget.parentWidget()
    return widget


def canvas_of(window: QMainWindow) -> QOpenGLWidget | None:
    """Return napari's canvas widget, without the dims sliders; None in a window without one."""
    centre = window.centralWidget()
    return None if centre is None else centre.findChild(QOpenGLWidget)
