"""Boxes to tick in lists and tables that can be seen in any theme."""

from qtpy.QtCore import QModelIndex, QPersistentModelIndex
from qtpy.QtGui import QPalette
from qtpy.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem


class _Boxes(QStyledItemDelegate):
    """Draws items as usual, but the boxes in the colour of words: in a shade of the ground they are unseen on dark."""

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view

    def initStyleOption(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem | None, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Give the style the colours it makes boxes and ticks of."""
        super().initStyleOption(option, index)
        if option is not None:
            palette, ink = option.palette, self._view.palette().windowText().color()
            for role in (QPalette.ColorRole.Window, QPalette.ColorRole.Text):
                palette.setColor(role, ink)
            palette.setColor(QPalette.ColorRole.Base, self._view.palette().window().color())


def with_clear_boxes(view: QAbstractItemView) -> None:
    """Draw the boxes of a list or a table in the colour of words, from now on."""
    view.setItemDelegate(_Boxes(view))
