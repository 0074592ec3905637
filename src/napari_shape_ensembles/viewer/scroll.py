"""A page that scrolls up and down only, and is never narrower than its contents."""

from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtWidgets import QFrame, QScrollArea, QWidget


class _Column(QScrollArea):
    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:  # noqa: N802 - Qt's name
        """Ask for the width of the page whenever its contents have changed."""
        if event is not None and event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.StyleChange):
            page, bar = self.widget(), self.verticalScrollBar()
            if page is not None and bar is not None:
                self.setMinimumWidth(page.minimumSizeHint().width() + bar.sizeHint().width() + 4)
        return super().eventFilter(watched, event)


def scrolling(page: QWidget) -> QScrollArea:
    """Put a page into a scroll area that follows its width."""
    area = _Column()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    area.setWidget(page)
    page.installEventFilter(area)
    return area
