"""The dock *Bench*: the whole workflow from images to a robust answer, with a page for each step."""

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

from napari.components import ViewerModel
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, Qt, Signal
from qtpy.QtGui import QAction, QKeyEvent, QKeySequence, QShortcut
from qtpy.QtWidgets import (
    QApplication,
    QButtonGroup,
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from ..canvas_context import enclosing
from ..choices import PLUGIN
from ..curves.canvas_overlays import CanvasOverlays
from ..debouncing import Debouncer
from ..page_status import STATES, STATUS_OF, STEPS, PageStatus
from ..panels.widgets import FOCUS, SteadyTabs, WrappedLabel, button, column, tip
from ..session import Session
from ..tour import Tour
from .answer import AnswerPage
from .base import BENCH, Page
from .images import ImagesPage
from .inspect import InspectCurves
from .segment import SegmentCurves
from .study import LandscapePage, SmoothingPage
from .trust import TrustPage
from .why import WhyPage

#: The pages of the steps, by the titles of their tabs; a single page has no tab.
PAGES: Mapping[str, Mapping[str, Callable[[ViewerModel], QWidget]]] = {
    "Images": {"Images": ImagesPage},
    "Outlines": {"Settings and preview": partial(SegmentCurves, alone=False), "Inspect": InspectCurves},
    "Answer": {"Answer": AnswerPage},
    "Why": {"Why": WhyPage},
    "Trust": {"Overview": TrustPage, "Rank": LandscapePage, "Smoothing": SmoothingPage},
}
#: Tabs that have the form of the recipe, and that of the settings.
FORMS = {"recipe": "Settings and preview", "settings": "Answer"}
_NEXT_BUTTONS = {
    "Images": ("Look at the outlines ›", "See what will be compared, before any answer"),
    "Outlines": ("Compare ›", "Compare the outlines of the groups"),
    "Answer": ("Why? ›", "See what the difference consists of"),
    "Why": ("Can I trust it? ›", "See how sensitive the answer is to the settings"),
    "Trust": ("‹ Back to the answer", "Show the answer again"),
}
_CHOOSING = "Choosing the best recipe …"
# On Outlines, with a single image, or with labels alone.
_MAKE = "Make labels and outlines", "Add them as layers, the outlines colored by how unusual they are"
_TRACE = "Make outlines", "Add them as a layer, colored by how unusual they are"
_TOUR_PAIR = "powder"
_MIN_CANVAS_PX = 480  # minimum canvas width in pixels for a torn-off page beside the bench
_DEBOUNCE_MS = 100  # debounce of heading updates, which hash the layers, in ms


class Bench(Page):
    """A dock with the pages Images, Outlines, Answer, Why and Trust, and a heading for each with its state."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        session = Session.of(napari_viewer)
        studies = session.landscape, session.smoothing, session.trust
        tasks = session.comparison, session.explanation, *studies
        super().__init__(session, *tasks)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.viewer = napari_viewer
        self.headings = {name: Heading(name, place) for place, name in enumerate(STEPS, 1)}
        group = QButtonGroup(self)
        for place, heading in enumerate(self.headings.values()):
            group.addButton(heading, place)
            heading.torn_off.connect(self.tear_off)
        group.idClicked.connect(self.show_page)
        self.pages: dict[str, QWidget] = {}
        self._torn_off: list[weakref.ref[QDockWidget]] = []
        self.stack = QStackedWidget()
        for _ in STEPS:
            self.stack.addWidget(QWidget())
        self.next = button("", "")
        self.next.clicked.connect(self.go_to_next)
        self._next_shortcut = QShortcut(QKeySequence("Ctrl+Return"), self)
        self._next_shortcut.activated.connect(self._go_to_next_by_key)
        self.setStyleSheet(FOCUS)
        heads = QHBoxLayout()
        heads.setSpacing(2)
        for heading in self.headings.values():
            heads.addWidget(heading, 1)
        self.reason = WrappedLabel()
        column(heads, self.stack, self.reason, self.next, page=self, margins=(4, 4, 4, 4), grows=self.stack)
        self._headings_debouncer = Debouncer(self.update_headings, _DEBOUNCE_MS)
        choices, design, comparison = session.choices, session.design, session.comparison
        news = {
            "Images": (design.calibrated, design.warned),
            "Outlines": (session.segmentation.changed, session.proposing.changed, comparison.changed),
            "Answer": (comparison.changed, comparison.progressed),
            "Why": (session.explanation.changed,),
            "Trust": [study.changed for study in studies],
        }
        for name, heading in self.headings.items():
            for signal in (*news[name], choices.changed, design.changed):
                self.link(signal, heading.set_due)
            heading.due.connect(self._headings_debouncer.request)
        self.canvas_overlays = CanvasOverlays(self, session.comparison)
        self.add_close_handler(partial(_automate, session, False))
        selection = session.comparison.selection
        self.link(selection.changed, self.canvas_overlays.schedule_card)
        self.link(choices.exclusions.changed, self.canvas_overlays.update_card)
        self.link(selection.side_by_side_requested, self.canvas_overlays.schedule_card)
        self.link(session.page_requested, self.show_part)
        self.link(selection.camera_requested, self.canvas_overlays.fly_to)
        self.link(selection.drawing, self.canvas_overlays.draw)
        self.attach()
        self.show_page(0)

    # The pages.

    @property
    def step(self) -> str:
        return STEPS[self.stack.currentIndex()]

    def page(self, name: str) -> QWidget:
        """Return the page of a step, created lazily."""
        if name not in self.pages:
            place = STEPS.index(name)
            before, page = self.stack.widget(place), self._new_page(name)
            self.pages[name] = page
            self.stack.removeWidget(before)
            before.deleteLater()
            self.stack.insertWidget(place, page)
        return self.pages[name]

    def _new_page(self, name: str) -> QWidget:
        tabs = PAGES[name]
        page = TabbedPage(tabs, self.viewer) if len(tabs) > 1 else tabs[name](self.viewer)
        if isinstance(page, ImagesPage):
            page.tour_requested.connect(self.start_tour)
        elif isinstance(page, TabbedPage):
            page.currentChanged.connect(self._headings_debouncer.request)
        return page

    def show_page(self, place: int) -> None:
        """Show the page of a step, counted from 0."""
        name = STEPS[place]
        self.stack.setCurrentWidget(self.page(name))
        self.headings[name].setChecked(True)
        self._show_next()
        self.headings[name].set_due()

    def _show_next(self) -> None:
        """Update the button to the next step; on Outlines, disabled while a recipe is proposed or nothing can run."""
        waits = self.step == "Outlines" and self.session.proposing.is_choosing
        asked = self.session.comparison
        reason = asked.blocking_reason() if self.step == "Outlines" and not (asked.has_result or asked.busy) else ""
        made = _MAKE if self.session.segmentation.labels_alone is None else _TRACE
        words, tooltip = made if self._is_single else _NEXT_BUTTONS[self.step]
        inspects = self._inspects  # who inspects one image need not compare
        self.next.setText(_CHOOSING if waits else words)
        tooltip = f"{tooltip} ({self._next_shortcut.key().toString()})"
        self.next.setToolTip(tip(f"{tooltip}\n{reason}".strip() if inspects else tooltip))
        is_off = waits or (self.session.segmentation.busy if self._is_single else bool(reason))
        if self.next.hasFocus() and is_off:  # else it would move to where a key may close the dock
            self.headings[self.step].setFocus()
        self.next.setEnabled(not is_off)
        self.reason.show_text("" if inspects else reason)

    @property
    def _inspects(self) -> bool:
        """Whether the tab *Inspect* is shown."""
        page = self.pages.get("Outlines")
        return self.step == "Outlines" and isinstance(page, TabbedPage) and page.currentIndex() > 0

    @property
    def _is_single(self) -> bool:
        """Whether *Outlines* shows a single image, not of the result, which is segmented rather than compared."""
        session, compared = self.session, self.session.comparison
        if self.step != "Outlines" or not compared.blocking_reason() or compared.covers_chosen_layers():
            return False
        return len(session.design.offered_automatically()) == 1 and not session.segmentation.blocking_reason()

    def go_to_next(self) -> None:
        """Go to the next step; from Outlines, run the comparison unless its result is up to date."""
        if not self.next.isEnabled():
            return
        if self._is_single:
            self.session.segmentation.run()
        elif self.step == "Outlines":
            self.compare()
        elif self.step == "Images":
            self.show_part("Settings and preview")  # also if the other tab, *Inspect*, was shown last
        else:
            self.show_page(STEPS.index("Answer") if self.step == "Trust" else STEPS.index(self.step) + 1)

    def _go_to_next_by_key(self) -> None:
        """Go to the next step, and focus its heading, so that the shortcuts of the page work."""
        self.go_to_next()
        self.headings[self.step].setFocus()

    def compare(self) -> None:
        """Show the page *Answer*, and run the comparison unless its result is up to date."""
        self.show_answer()
        answer = self.pages["Answer"]
        assert isinstance(answer, AnswerPage)
        if answer.state in ("ready", "stale", "error"):
            answer.run()
            answer.scroll.verticalScrollBar().setValue(0)  # progress is shown at its top

    def show_answer(self) -> None:
        self.show_page(STEPS.index("Answer"))

    def show_part(self, title: str) -> None:
        """Show a page or one of its tabs by its title, or the form of the recipe or settings."""
        wanted = FORMS.get(title, title)
        name = next(name for name, tabs in PAGES.items() if wanted in (name, *tabs))
        self.show_page(STEPS.index(name))
        page = self.pages[name]
        if isinstance(page, TabbedPage) and wanted != name:
            page = page.show_tab([*PAGES[name]].index(wanted))
        if isinstance(page, AnswerPage | SegmentCurves) and title in FORMS:
            page.show_settings()

    def start_tour(self) -> None:
        """Start the tour of the pages, with a sample pair if there are no layers."""
        if not len(self.viewer.layers):
            self.viewer.open_sample(PLUGIN, _TOUR_PAIR)
        tour = Tour(self, self.session)
        tour.page_requested.connect(self.show_page)
        tour.answer_requested.connect(self.compare)
        self.add_close_handler(partial(_end_tour, weakref.ref(tour)))
        tour.start()

    def tear_off(self, name: str) -> None:
        """Show the page of a step, or its current tab, in a separate dock, if there is a window."""
        page, window = self.page(name), getattr(self.viewer, "window", None)
        if window is None:
            return
        title = f"{BENCH}: {page.tabText(page.currentIndex()) if isinstance(page, TabbedPage) else name}"
        inner = window.dock_widgets.get(title)
        if is_new := inner is None:
            inner = page.new_instance() if isinstance(page, TabbedPage) else self._new_page(name)
            window.add_dock_widget(inner, name=title, area="right")
        if (dock := enclosing(inner, QDockWidget)) is None:
            return
        if is_new:
            self._place_dock(dock)
            self._torn_off.append(weakref.ref(dock))
        dock.show()
        dock.raise_()

    def _place_dock(self, dock: QDockWidget) -> None:
        """Place a new dock beside the bench if the canvas stays wide enough, else as a tab."""
        main, frame = self.window(), enclosing(self, QDockWidget)
        if frame is None or frame.isFloating() or not isinstance(main, QMainWindow):
            return
        others = [one for ref in self._torn_off if (one := ref()) is not None and isalive(one)]
        beside = [one for one in others if one.isVisible() and not one.isFloating()]
        width = frame.width()
        if beside:
            main.tabifyDockWidget(beside[-1], dock)
        elif main.centralWidget().width() - width >= _MIN_CANVAS_PX:
            main.splitDockWidget(frame, dock, Qt.Orientation.Horizontal)
            dock.show()
            QApplication.sendPostedEvents(main, QEvent.Type.LayoutRequest)  # else both would share the width of one
            main.resizeDocks([frame, dock], [width, width], Qt.Orientation.Horizontal)
        else:
            main.tabifyDockWidget(frame, dock)

    def update_headings(self) -> None:
        for name, heading in self.headings.items():
            if heading.is_due:
                heading.show_status(STATUS_OF[name](self.session))
        self._show_next()

    def sync_with_session(self) -> None:
        """Take over the canvas, and update the headings."""
        _automate(self.session, True)
        for heading in self.headings.values():
            heading.set_due()

    # Keys.

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus by Tab in reading order; Qt's default is the order in which widgets are created."""
        for one, other in pairwise(tab_stops(self)):
            self.setTabOrder(one, other)
        if not super().focusNextPrevChild(forward):
            return False
        focused = frame = QApplication.focusWidget()
        while frame is not None and frame is not self:
            if isinstance(frame, QScrollArea):
                frame.ensureWidgetVisible(focused)
            frame = frame.parentWidget()
        return True


def _automate(session: Session, on: bool) -> None:
    """Show all images side by side, explain and check results automatically; or restore the canvas, and end that."""
    session.comparison.arrange(on, captioned=True)
    session.explanation.set_automatic(on)
    session.checking.set_automatic(on)


def _end_tour(ref: "weakref.ref[Tour]") -> None:
    if (tour := ref()) is not None and isalive(tour):
        tour.close()


def is_tab_stop(widget: QWidget) -> bool:
    """Whether a widget can receive the focus by Tab."""
    by_tab = widget.focusPolicy() & Qt.FocusPolicy.TabFocus == Qt.FocusPolicy.TabFocus
    return by_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None


def tab_stops(page: QWidget) -> list[QWidget]:
    """Return the tab stops of a page in reading order, regardless of scroll positions."""
    return sorted(filter(is_tab_stop, page.findChildren(QWidget)), key=lambda stop: reading_position(stop, page))


def reading_position(widget: QWidget, page: QWidget) -> list[tuple[int, int]]:
    """Return the (y, x) position of a widget in a page as a sort key; in a scroll area, preceded by the area's."""
    area = widget.parentWidget()
    while area is not page and not isinstance(area, QScrollArea):
        area = area.parentWidget()
    inside = area.widget() if isinstance(area, QScrollArea) else page
    center = widget.mapTo(inside, widget.rect().center())
    outside = [] if area is page else reading_position(area, page)
    return [*outside, (center.y(), center.x())]


class Heading(QPushButton):
    """A button with the name and state of a step; Alt and its number, or the arrow keys, show its page.

    Its context menu tears the page off as a separate dock.
    """

    torn_off = Signal(str)  #: str: name of the step; requests its page as a separate dock
    due = Signal()  #: the state of the step may have changed

    def __init__(self, name: str, number: int) -> None:
        super().__init__()
        self._name = name
        self.is_due = True  #: whether the state of the step may have changed
        self.setCheckable(True)
        # QPushButton's own shortcut is delayed by 0.1 s, and does not focus the button.
        self._key = QShortcut(QKeySequence(f"Alt+{number}"), self)
        self._key.activated.connect(self._pressed_by_key)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.addAction(tear := QAction("Tear off as a dock", self))
        tear.triggered.connect(self._tear_off)
        self.setAccessibleDescription("The menu key tears it off as a dock")
        self.show_status(PageStatus("open"))

    def set_due(self, _: object = None) -> None:
        """Request an update, as the state of the step may have changed."""
        self.is_due = True
        self.due.emit()

    def show_status(self, step: PageStatus) -> None:
        self.is_due = False
        self.setText(f"{self._name}\n{STATES[step.state]}")
        told = f"{self._name} ({self._key.key().toString()}){f': {step.reason}' if step.reason else ''}"
        self.setToolTip(tip(f"{told}\nRight click: tear off as a dock"))
        self.setAccessibleName(f"{self._name}: {STATES[step.state]}")

    def _tear_off(self) -> None:
        self.torn_off.emit(self._name)

    def _pressed_by_key(self) -> None:
        self.click()
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the adjacent heading by arrow keys."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        group = self.group()
        if group is None or event.key() not in steps:
            super().keyPressEvent(event)
            return
        other = group.button((group.id(self) + steps[event.key()]) % len(group.buttons()))
        other.setFocus()
        other.click()


class TabbedPage(SteadyTabs):
    """A page of several tabs, each created lazily."""

    def __init__(self, parts: Mapping[str, Callable[[ViewerModel], QWidget]], viewer: ViewerModel) -> None:
        super().__init__()
        self._parts, self._viewer = list(parts.values()), viewer
        self.setDocumentMode(True)
        for title in parts:
            self.addTab(column(), title)
        self.currentChanged.connect(self._create_tab)
        self._create_tab(0)

    def show_tab(self, place: int) -> QWidget:
        """Show a tab, and return its widget."""
        self.setCurrentIndex(place)
        return self.widget(place).layout().itemAt(0).widget()

    def new_instance(self) -> QWidget:
        return self._parts[self.currentIndex()](self._viewer)

    def _create_tab(self, place: int) -> None:
        layout = self.widget(place).layout()
        if not layout.count():
            layout.addWidget(self._parts[place](self._viewer))
