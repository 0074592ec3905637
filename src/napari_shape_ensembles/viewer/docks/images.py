"""The page *Images* of the bench: the design table, which assigns groups and pixel sizes to images."""

import re
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import takewhile

import numpy as np
from napari.components import Dims, ViewerModel
from napari.layers import Image, Labels, Layer
from qtpy.compat import isalive
from qtpy.QtCore import QAbstractItemModel, QEvent, QModelIndex, QSignalBlocker, QSize, Qt, Signal
from qtpy.QtGui import (
    QAction,
    QColor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QIcon,
    QKeySequence,
    QPixmap,
    QResizeEvent,
)
from qtpy.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QInputDialog,
    QLineEdit,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from ...comparison.design import GROUP, IMAGE
from ...io.calibration import Calibration, read_calibration
from ...outlines.units import UNIT_SYMBOLS
from ...palette import SIDE_COLORS
from ...words import counted, listed
from ..debouncing import Debouncer
from ..design_files import path_of
from ..designing import Row
from ..dialogs import Dialogs
from ..inputs import ImageRow, Ref, fingerprint, source_of
from ..overlap import image_below
from ..page_status import images_status
from ..panels.fonts import painting, with_label_font
from ..panels.shape_canvas import SIDE_MARKS
from ..panels.widgets import (
    Entries,
    Notice,
    Section,
    WrappedLabel,
    button,
    column,
    division_notice,
    menu_button,
    row,
    scrolling,
    tip,
)
from ..segmenting import content_of_objects
from ..session import Session
from ..splitting import SplitOption, split_options
from ..task import JobRunner, JobSteps
from .base import Page
from .pixel_size import PixelSize, calibrate, calibration_of

_PARTS_NOTE = (
    "Parts of one image are one replicate. To compare them within images, also enter the image in the column "
    "block. Delete the parts to restore the whole image."
)
_PATTERN_HELP = (
    "Columns in braces, with the text between them:\n"
    "{group}_{replicate}_{} reads ctrl_m3_f02 as group ctrl, replicate m3."
)
_PIXEL_COLUMN = "pixel"
_COLUMN_TOOLTIPS = {
    IMAGE: "Layers that can be compared.",
    GROUP: "Condition, such as control or drug. The first two groups are compared first; a group named A or B is the "
    "first or the second of them. Empty: not compared. Type a group to enter it in all selected rows, or drop layers "
    "from the layer list on a row of the group.",
    "replicate": (
        "Dish, animal or specimen; images of the same one are not independent. Empty: each image is a replicate."
    ),
    "block": "Pair, batch or day; groups are compared only within blocks.",
    _PIXEL_COLUMN: "Height and width of a pixel with a unit, such as 0.5 µm or 0.5 × 0.4 µm. Sets the layer's scale.",
}
_SIZE = re.compile(r"\s*([\d.,eE+-]+)\s*(?:[×x*]\s*([\d.,eE+-]+))?\s*([^\d\s].*?)?\s*")  # 0.5 or 0,5
_MAX_COLUMN_WIDTH, _MIN_NAME_WIDTH = 170, 90  # maximum column width, and minimum width of the names, in pixels
_ICON_PX = 14  # side length of the mark of a group in a cell, in pixels
_ORDINALS = {"A": "first group", "B": "second group"}
_SIDE = Qt.ItemDataRole.UserRole
_CHECK_DEBOUNCE_MS = 400  # debounce of layer list changes before images are checked, in ms


class ImagesPage(Page):
    """A table of images with their group, replicate, block, covariates and pixel size."""

    tour_requested = Signal()

    def __init__(self, napari_viewer: ViewerModel) -> None:
        super().__init__(Session.of(napari_viewer))
        self._refresh_debouncer = Debouncer(self.refresh)
        self._check_debouncer = Debouncer(self.check_images, _CHECK_DEBOUNCE_MS)
        self._check_runner = JobRunner()
        self.add_close_handler(self._check_runner.cancel)
        self.design = self.session.design
        self.table = DesignView()
        self.table.itemChanged.connect(self._write_item)
        self.table.filled.connect(self._write)
        self.table.pasted.connect(self._paste)
        self.table.layers_dropped.connect(self._group_with)
        self.tour = button("Take a to&ur", "Walk through the five pages with a sample pair, in two minutes")
        self.tour.clicked.connect(self.tour_requested)
        self.dialogs = Dialogs(self, self.session, self.session.design_work.post_message)
        self.split = button(
            "Spl&it into …", "Make rows from the planes, regions, classes or kinds of objects of one image"
        )
        self.split.setMenu(QMenu(self.split))
        self.split.menu().aboutToShow.connect(self._fill_split_menu)
        self.split.menu().triggered.connect(self._split)
        self.split.setStyleSheet("padding: 3px 18px 3px 6px;")
        own: Entries = {
            "Fill from &names …": (self._fill_from_names, "Fill columns from the names of the layers by a pattern"),
            "S&wap the first two groups": (self.design.swap, "The first group becomes the second"),
            "A&dd column …": (self._add, "Add a covariate, such as dose or day; numbers are tested as a trend"),
        }
        judged: Entries = {"Compare with a &reference …": (self.dialogs.open, "Judge each image by a saved reference")}
        tour = {"&Take a tour": (self.tour_requested.emit, "Walk through the five pages")}
        tooltip = "Fill the table from names or a file, save it, swap the first two groups, add a column; take a tour"
        self.table_menu = menu_button("Ta&ble", tooltip, {**own, **self.dialogs.table_entries(), **judged, **tour})
        self.reason, self.warnings, self.message = WrappedLabel(), WrappedLabel(), WrappedLabel()
        self.warnings.hide()  # until there is one: an empty label takes the height of a line
        self.grouped = Notice("Undo", "Take back the grouping by names, and enter groups yourself")
        self.grouped.button.clicked.connect(self.design.undo_grouping)
        self.divided = division_notice()
        self.divided.button.clicked.connect(self.session.comparison.divisions.undo)
        self.pooled = Notice("Split", "Give each of them a row, as a replicate; outlines of one are not independent")
        self.pooled.button.clicked.connect(self._split_by_replicates)
        self.mask = Notice("Inspect it", "Lay the labels over the image, and review them one after the other")
        self.mask.button.clicked.connect(self._inspect_mask)
        self.as_labels = Notice("Use as labels", "Treat each value as an object instead of segmenting")
        self.as_labels.button.clicked.connect(self._use_as_labels)
        self.in_files = Notice("Use", "Give every image the pixel size of its file")
        self.in_files.button.clicked.connect(self._use_sizes)
        self._waits_for: Callable[[], Layer | None] = _none  # a mask that is to be inspected once it is converted
        self._pair: tuple[Ref, Ref] | None = None  # an image, and its mask or labels
        self._contents: list[Ref] = []  # images that contain labels
        self._sizes: list[tuple[Ref, Calibration]] = []  # layers without a pixel size, and those of their files
        self.pixels = Section("Pixel size from a file", column())
        self.pixels.toggled.connect(self._create_pixel_size)
        notices = self.grouped, self.divided, self.pooled, self.mask, self.as_labels, self.in_files
        said = *notices, self.reason, self.message, self.warnings
        buttons = row(self.split, self.table_menu)
        scrolling(self, self.table, buttons, *said, self.pixels, self.tour, grows=self.table)
        for signal in (self.design.changed, self.design.calibrated):
            self.link(signal, self._refresh_debouncer.start)
        self.link(self.session.design_work.message_posted, self._show_message)
        self.link(self.session.segmentation.converted, self._show_mask)
        self.attach()

    def _create_pixel_size(self, unfolded: bool) -> None:
        """Create the form when it is first unfolded: it takes a third of the time to open the bench."""
        layout = self.pixels.content.layout()
        if unfolded and not layout.count():
            layout.addWidget(PixelSize(self.session.choices.viewer))

    def sync_with_session(self) -> None:
        self.refresh()

    def showEvent(self, event: QEvent | None) -> None:
        """Refresh the table: the displayed axes, which have the pixel size, may have changed."""
        super().showEvent(event)
        self.refresh()

    def _show_message(self, words: str) -> None:
        self.message.setText(words)
        self._refresh_debouncer.start()

    def refresh(self) -> None:
        """Refresh the table, and show why nothing can be compared."""
        design = self.design
        columns = [IMAGE, *design.columns, _PIXEL_COLUMN]
        layers = design.layers()
        first_two = {name: side for name, side in zip(design.samples, "AB", strict=True) if name in design.groups()}
        cells = []
        for layer in layers:
            try:
                pixels = _pixels_of(layer, self.session.choices.dims)
            except ValueError as error:
                pixels = f"⚠ {error}"
            cells.append([layer.name, *(design.cell(layer, name) for name in design.columns), pixels])
        self.table.show_cells(columns, cells, layers, first_two)
        named = " and ".join(f"{SIDE_MARKS[side]} {group}" for group, side in first_two.items())
        paired = f"Compared first: {named}." if design.is_experiment and named else ""
        reason, step = self.session.comparison.blocking_reason(), images_status(self.session)
        notes = [paired, f"⚠ {step.reason}" if step.state == "look" else ""]
        lines = [*([reason] if reason else notes), _PARTS_NOTE * design.has_parts]
        self.reason.show_text("\n".join(filter(None, lines)))
        self.tour.setVisible(not layers)
        counts = ", ".join(f"{name} ({len(own)})" for name, own in design.groups().items())
        self.grouped.set_message(f"Grouped by names: {counts}." if design.grouped_by else "")
        self.divided.set_message(self.session.comparison.divisions.sentence())
        self.pooled.set_message(_pooled_words(design.pooled()))
        self.message.setVisible(bool(self.message.text()))
        self._check_debouncer.start()

    def check_images(self) -> None:
        """Check in the background for duplicate images, label images opened as images, and labels of listed images."""
        self._check_runner.begin(self._check_job([weakref.ref(layer) for layer in self.design.open_layers()]))

    def _check_job(self, refs: "list[weakref.ref[Layer]]") -> JobSteps:
        dims, words, fingerprints = self.session.choices.dims, list[str](), dict[str, str]()
        contents: list[Ref] = []
        sizes: list[tuple[Ref, Calibration]] = []
        for ref in refs:
            layer = data = None  # keep no strong reference across the yield
            yield None
            if (layer := ref()) is None:
                continue
            name, mark = layer.name, fingerprint(layer, dims)
            if mark in fingerprints:
                words.append(f"⚠ {fingerprints[mark]} and {name} show the same image.")
            fingerprints.setdefault(mark, name)
            path = path_of(layer)
            if path and _has_no_size(layer, dims):
                layer = None
                if (size := (yield partial(_size_in_file, path))) is not None:
                    sizes.append((ref, size))
            if isinstance(layer := ref(), Image) and isinstance(layer.data, np.ndarray) and not layer.rgb:
                try:
                    data = layer.data if layer.ndim == 2 else source_of(layer, dims).data
                except ValueError:  # it shows no plane, as the table says
                    continue
                layer = None
                if (yield partial(content_of_objects, data)) != "grey":
                    contents.append(ref)
        layer = data = None
        self._contents, self._sizes, self._pair = contents, sizes, self._find_pair(refs, contents)
        pair = [layer.name for ref in self._pair or () if (layer := ref()) is not None]
        of_labels = [layer.name for ref in contents if (layer := ref()) is not None]
        said = f"{pair[1]} may be labels of {pair[0]}." if len(pair) == 2 else ""
        rest = (
            "" if said or not of_labels else f"{listed(of_labels)} hold{'s' * (len(of_labels) == 1)} labels or a mask."
        )
        words = [*([f"⚠ {said or rest}"] if said or rest else []), *words]
        self.design.warn(words)
        if isalive(self):
            self.mask.set_message(said)
            self.as_labels.set_message(rest)
            known = sorted({str(size) for _, size in sizes})
            where = f"Pixel size in {counted(len(sizes), 'file')}: {', '.join(known[:2])}."
            self.in_files.set_message(where if sizes else "")
            self.warnings.show_text("\n".join(words[bool(said or rest) :]))

    def _find_pair(self, refs: Iterable[Ref], contents: Collection[Ref]) -> tuple[Ref, Ref] | None:
        """Return an image in the table of which a mask or labels are listed as well, and these."""
        layers = [layer for ref in refs if (layer := ref()) is not None]
        masks = [one for one in layers if isinstance(one, Labels) or weakref.ref(one) in contents]
        images = [one for one in layers if one not in masks]
        pairs = ((image, mask) for mask in masks if (image := image_below(mask, images, self.session.choices)))
        return next(((weakref.ref(image), weakref.ref(mask)) for image, mask in pairs), None)

    def _use_as_labels(self) -> None:
        self.session.segmentation.convert([layer for ref in self._contents if (layer := ref()) is not None])

    def _use_sizes(self) -> None:
        for ref, size in self._sizes:
            if (layer := ref()) is not None:
                calibrate(layer, size, self.session.choices.dims)
        self._sizes = []
        self._refresh_debouncer.start()

    def _inspect_mask(self) -> None:
        """Lay the labels over their image, and inspect them."""
        image, mask = (ref() for ref in self._pair or (_none, _none))
        if isinstance(mask, Image):
            self._waits_for = weakref.ref(mask)
            self.session.segmentation.convert([mask])
        elif image is not None and mask is not None:
            self._inspect(image, mask)

    def _show_mask(self) -> None:
        """Inspect the labels that were made of the mask, once they are."""
        image, mask = (ref() for ref in self._pair or (_none, _none))
        labels = self.design.replacement_of(mask)
        if image is not None and labels is not None and self._waits_for() is mask:
            self._waits_for = _none
            self._inspect(image, labels)

    def _inspect(self, image: Layer, labels: Layer) -> None:
        self.design.write([(image, GROUP, "")])  # so that the labels lie over it
        self.request_page("Inspect")
        self.session.inspection.inspect(labels)

    # User edits.

    def _write_item(self, item: QTableWidgetItem) -> None:
        self._write([item.row()], item.column(), item.text())

    def _write(self, rows: list[int], place: int, text: str) -> None:
        """Set the cells of a column in some rows."""
        name = self.table.heading(place)
        layers = [layer for row in rows if (layer := self.table.layer(row)) is not None]
        if not layers:
            return
        self.message.setText("")
        if name == _PIXEL_COLUMN:
            for layer in layers:
                if isinstance(layer, Layer):
                    self._calibrate(layer, text)
            self._refresh_debouncer.start()
        else:
            self.design.write([(layer, name, text) for layer in layers])

    def _group_with(self, row: int) -> None:
        """Move the layers selected in the layer list, which were dropped on a row, to its group."""
        target, listed = self.table.layer(row), self.design.layers()
        group = "" if target is None else self.design.cell(target, GROUP)
        layers = [layer for layer in self.session.choices.layers.selection if layer in listed]
        if group and layers:
            self.message.setText("")
            self.design.write([(layer, GROUP, group) for layer in layers])
        else:
            self.message.setText("Drop images, labels or shapes on a row that has a group.")
        self._refresh_debouncer.start()

    def _calibrate(self, layer: Layer, text: str) -> None:
        match = _SIZE.fullmatch(text)
        try:
            if match is None:
                raise ValueError(f"{text!r} is not a pixel size: enter, for example, 0.5 µm or 0.5 × 0.4 µm")
            height, width = (float(side.replace(",", ".")) for side in (match[1], match[2] or match[1]))
            calibrate(layer, Calibration((height, width), match[3] or "pixel", "set"), self.session.choices.dims)
        except ValueError as error:
            self.message.setText(f"⚠ {error}")

    def _paste(self, text: str, first: int, place: int) -> None:
        self._run_action(partial(self.design.paste, text, first, max(place - 1, 0)))

    def _fill_from_names(self) -> None:
        pattern, chosen = QInputDialog.getText(self, "Fill from names", _PATTERN_HELP, text=self.design.pattern)
        if chosen:
            self._run_action(partial(self.design.fill, pattern))

    def _run_action(self, action: "partial[None]") -> None:
        self.message.setText("")
        try:
            action()
        except ValueError as error:
            self.message.setText(f"⚠ {error}")
        self._refresh_debouncer.start()

    def _split_options(self) -> list[SplitOption]:
        """Return the ways in which the image of the current row can be split; a ValueError if it shows no plane."""
        layer, choices = self.table.layer(self._row_to_split()), self.session.choices
        return split_options(layer, choices.layers, choices.dims) if isinstance(layer, Layer) else []

    def _row_to_split(self) -> int:
        """Return the current row, or the only one; -1 for none."""
        return 0 if self.table.rowCount() == 1 else self.table.currentRow()

    def _fill_split_menu(self) -> None:
        """Fill the menu; its actions hold only text, so that they keep no layer alive."""
        menu, chosen = self.split.menu(), self._row_to_split() >= 0
        words = "Nothing to split: no stack, classes or regions" if chosen else "Select a row of the table first"
        try:
            titles = [way.title for way in self._split_options()]
        except ValueError as error:
            titles, words = [], f"⚠ {error}"
        menu.clear()
        for text in titles or [words]:
            menu.addAction(text.replace("&", "&&")).setEnabled(bool(titles))

    def _split(self, entry: QAction) -> None:
        self._run_action(partial(self._split_as, entry.text().replace("&&", "&")))

    def _split_as(self, title: str) -> None:
        layer = self.table.layer(self._row_to_split())
        for way in self._split_options():
            if way.title == title and isinstance(layer, Layer):
                self.session.design_work.split(layer, way)
                return

    def _split_by_replicates(self) -> None:
        if (found := self.design.pooled()) is not None:
            column, counts = found
            self.session.design_work.split_by_replicates(counts, column)

    def _add(self) -> None:
        name, chosen = QInputDialog.getText(self, "Add column", "Name, such as dose")
        if chosen:
            self.design.add_column(name.strip())


def _none() -> None:
    """A reference to no layer."""


def _pooled_words(found: tuple[str, Mapping[Layer, int]] | None) -> str:
    """Return a sentence on a feature that seems to name replicates; empty for none."""
    if found is None:
        return ""
    column, counts = found
    many = " and ".join(map(str, counts.values())) if len(counts) <= 2 else str(sum(counts.values()))
    return f"Column {column}: {many} replicates?"


def _has_no_size(layer: Layer, dims: Dims) -> bool:
    try:
        return calibration_of(layer, dims).unit == "pixel"
    except ValueError:
        return False


def _size_in_file(path: str) -> Calibration | None:
    try:
        found = read_calibration(path)
    except (ValueError, OSError):
        return None
    return found if found.unit != "pixel" else None


def _pixels_of(row: Row, dims: Dims) -> str:
    """Return the pixel size of a row as text; for an image that is not open, the one stated in the table."""
    if isinstance(row, ImageRow):
        if row.pixel is None:
            return "as in the file"
        sides, unit = row.pixel
        height, width = sides if isinstance(sides, tuple) else (sides, sides)
    else:
        calibration = calibration_of(row, dims)
        (height, width), unit = calibration.scale, calibration.unit
    unit = UNIT_SYMBOLS.get(unit, unit)
    return f"{height:g} {unit}" if height == width else f"{height:g} × {width:g} {unit}"


def _common_prefix_length(names: Iterable[str]) -> int:
    return len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))))


def _side_icon(side: str) -> QIcon:
    """Return the mark of one of the first two groups in its color."""
    picture = QPixmap(2 * _ICON_PX, 2 * _ICON_PX)  # twice the size, for screens with a high resolution
    picture.fill(Qt.GlobalColor.transparent)
    with painting(picture) as painter:
        font = painter.font()
        font.setPixelSize(2 * _ICON_PX)
        painter.setFont(font)
        painter.setPen(QColor(SIDE_COLORS[side]))
        painter.drawText(picture.rect(), Qt.AlignmentFlag.AlignCenter, SIDE_MARKS[side])
    icon = QIcon(picture)
    icon.addPixmap(picture, QIcon.Mode.Selected)  # else tinted in a selected cell
    return icon


class CellView(QStyledItemDelegate):
    """Delegate that elides texts in the middle, except for names, which follow the table's elide mode."""

    committed = Signal(int, int, str)  #: (int, int, str): row and column of an edited cell, and the text entered

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if index.column():
            option.textElideMode = Qt.TextElideMode.ElideMiddle

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, _: QModelIndex) -> None:
        """Give the editor the whole cell: beside the mark of its group, few letters would be visible."""
        editor.setGeometry(option.rect)

    def setModelData(self, editor: QLineEdit, _: QAbstractItemModel, index: QModelIndex) -> None:
        """Leave it to the view to enter the text, maybe in several rows."""
        self.committed.emit(index.row(), index.column(), editor.text())


class DesignView(QTableWidget):
    """Editable table widget; Ctrl+V pastes from a spreadsheet, Delete clears the selected cells.

    What is entered while several rows are selected is entered in all of them. Layers can be dropped on a row.
    """

    filled = Signal(list, int, str)  #: (list, int, str): rows, and the column in which the text was entered
    layers_dropped = Signal(int)  #: int: the row on which the layers selected in the layer list were dropped
    pasted = Signal(str, int, int)  #: (str, int, int): text, and the row and column where it was pasted

    def __init__(self) -> None:
        super().__init__(0, 0)
        with_label_font(self)
        self.verticalHeader().hide()
        self.setItemDelegate(cells := CellView(self))
        cells.committed.connect(self._fill)
        self.setWordWrap(False)
        # As in a spreadsheet, typing edits the current cell; Tab moves the focus out of the table.
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DropOnly)
        self.setIconSize(QSize(_ICON_PX, _ICON_PX))
        self.setMinimumHeight(150)
        self.setAccessibleName("Design table")
        self.setToolTip(
            "The images and their groups. What is typed with several rows selected is entered in all of them; Ctrl+V "
            "pastes from a spreadsheet, Delete empties the selected cells."
        )
        self._headings: list[str] = []
        self._layers: list[weakref.ref[Row]] = []

    def heading(self, place: int) -> str:
        return self._headings[place]

    def layer(self, row: int) -> Row | None:
        return self._layers[row]() if 0 <= row < len(self._layers) else None

    def show_cells(
        self, headings: list[str], cells: list[list[str]], layers: list[Row], sides: Mapping[str, str]
    ) -> None:
        """Replace the texts, and mark the first two groups, without emitting signals.

        Unchanged cells are left alone, as one may be in edit mode.
        """
        with QSignalBlocker(self):
            self._layers = list(map(weakref.ref, layers))
            names, ends = [layer.name for layer in layers], Qt.TextElideMode
            # Elide long names at the end that they have in common.
            first, last = (_common_prefix_length(some) for some in (names, [name[::-1] for name in names]))
            self.setTextElideMode(ends.ElideLeft if first > last else ends.ElideRight)
            if headings != self._headings:
                self._headings = headings
                self.setColumnCount(len(headings))
                self.setHorizontalHeaderLabels(headings)
                for place, name in enumerate(headings):
                    self.horizontalHeaderItem(place).setToolTip(_COLUMN_TOOLTIPS.get(name, f"A covariate: {name}"))
                self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
                self.horizontalHeader().setMinimumSectionSize(44)
                self.horizontalHeader().setMaximumSectionSize(_MAX_COLUMN_WIDTH)
            self.setRowCount(len(cells))
            for row_, texts in enumerate(cells):
                for place, text in enumerate(texts):
                    item = self.item(row_, place)
                    if item is None:
                        item = QTableWidgetItem()
                        self.setItem(row_, place, item)
                        if not place:
                            item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
                    if item.text() != text:
                        item.setText(text)
                    if item.toolTip() != tip(text):  # checked separately: an edited cell already has the text
                        item.setToolTip(tip(text))
                    side = sides.get(text, "") if headings[place] == GROUP else ""
                    if (item.data(_SIDE) or "") != side:
                        item.setData(_SIDE, side)
                        item.setIcon(_side_icon(side) if side else QIcon())
                        item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, _ORDINALS.get(side, ""))
        self.fit()

    def fit(self) -> None:
        """Give the names the remaining width, and shrink wide columns so that all stay visible."""
        heads = self.horizontalHeader()
        if not heads.count():
            return
        least = [heads.sectionSizeHint(place) for place in range(heads.count())]
        widths = [
            min(max(self.sizeHintForColumn(place), least[place]), _MAX_COLUMN_WIDTH) for place in range(heads.count())
        ]
        widths[0] = min(self.sizeHintForColumn(0), _MIN_NAME_WIDTH)
        excess = sum(widths) - self.viewport().width()
        while excess > 0 and (wide := [place for place in range(1, len(widths)) if widths[place] > least[place]]):
            widest = max(wide, key=lambda place: widths[place])  # its full text is in the tooltip
            widths[widest] -= 1
            excess -= 1
        widths[0] = max(widths[0], self.viewport().width() - sum(widths[1:]))
        for place, width in enumerate(widths):
            heads.resizeSection(place, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def edit(self, index: QModelIndex, trigger: QAbstractItemView.EditTrigger, event: QEvent | None) -> bool:
        """Edit a cell; what is typed on a name is the group of the image."""
        if trigger == QAbstractItemView.EditTrigger.AnyKeyPressed and self._headings[index.column()] == IMAGE:
            index = index.siblingAtColumn(self._headings.index(GROUP))
        return bool(super().edit(index, trigger, event))

    def _fill(self, row: int, column: int, text: str) -> None:
        """Enter a text in a cell, or in this column of all selected rows."""
        rows = sorted({one.row() for one in self.selectedIndexes()})
        rows = rows if row in rows else [row]
        if any(self.item(one, column).text() != text for one in rows):
            self.filled.emit(rows, column, text)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept layers of the layer list; what is dragged is its selection."""
        if isinstance(event.source(), QAbstractItemView):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Select the row on which the layers would be dropped."""
        self.selectRow(self.rowAt(int(event.position().y())))
        event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.layers_dropped.emit(self.rowAt(int(event.position().y())))
        event.acceptProposedAction()

    def keyPressEvent(self, event: QEvent) -> None:
        """Paste into or clear cells; Enter is not passed on to the page."""
        if event.matches(QKeySequence.StandardKey.Paste):
            self.pasted.emit(QApplication.clipboard().text(), max(self.currentRow(), 0), max(self.currentColumn(), 0))
        elif event.matches(QKeySequence.StandardKey.Delete):
            chosen = [(one.row(), one.column()) for one in self.selectedIndexes()]
            for place in sorted({column for _, column in chosen}):
                if self.heading(place) not in (IMAGE, _PIXEL_COLUMN):
                    self.filled.emit([row for row, column in chosen if column == place], place, "")
        else:
            super().keyPressEvent(event)
