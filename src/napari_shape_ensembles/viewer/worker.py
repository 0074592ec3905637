"""A run in the background: steps come out as they start, and every error comes out in words."""

import atexit
import logging
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from napari.layers import Shapes
from napari.qt.threading import FunctionWorker, create_worker
from qtpy.compat import isalive
from qtpy.QtCore import QCoreApplication, QObject, QTimer, Signal
from superqt.utils import WorkerBase

from ..comparison import STEPS, Comparison, Settings, compare
from ..progress import Progress, Stopped, as_part, report, reporting
from .inputs import SegmentationSettings
from .layers import curve_layers
from .paints import typical
from .sides import Excluded, Sources, steps_of, trace_sides

Work: TypeAlias = Callable[[], Any]
Turn: TypeAlias = Callable[[], object]

log = logging.getLogger(__name__)

# Milliseconds between two turns, in which the window draws.
_PAUSE = 20
# Milliseconds that leaving the program waits for the block of work under way.
_PATIENCE = 10_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leads to.

    Attributes
    ----------
    result : Comparison
    layers : list of Shapes
        Not yet in a viewer.
    """

    result: Comparison
    layers: list[Shapes]


@dataclass(frozen=True)
class Failure:
    """Why a run ended without a result, in words."""

    reason: str


def run(
    sources: Sources,
    segmentation: SegmentationSettings,
    settings: Settings,
    excluded: Excluded = (),
) -> Outcome:
    """Go all the way from copied layers to painted curves, without the curves of the excluded ids."""
    tracing = steps_of(sources)
    total = tracing + len(STEPS) + 2
    with as_part(0, total):
        a, b = trace_sides(sources, segmentation, excluded)
    with as_part(tracing, total):
        result = compare(a, b, settings)
    report("finding typical curves", total - 2, total)
    typical(result)
    report("drawing curves", total - 1, total)
    return Outcome(result, curve_layers(result, sources))


class Background(QObject):
    """Work for a thread of its own.

    Signals
    -------
    progressed : Progress
        What the work reports, in the window's thread; a step that is reported again for each block only once.
    """

    progressed = Signal(object)

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._left = [work]
        self._worker: Callable[[], FunctionWorker | None] = lambda: None

    def worker(self) -> FunctionWorker:
        """Return a worker, not started, that returns what the work returns, or a `Failure`; None if it is stopped."""
        worker = create_worker(self._outcome, _start_thread=False)
        self._worker = weakref.ref(worker)  # which refers to this
        return worker

    def _stop_asked(self) -> bool:
        return (worker := self._worker()) is None or worker.abort_requested

    def _outcome(self) -> Any:
        """Do the work, and turn every error into a `Failure`.

        napari lists workers as long as its window is there: the work, and the copies of images that it holds, go.
        """
        work, told = self._left.pop(), Progress("")

        def tell(step: Progress) -> None:
            nonlocal told
            if step != told:
                told = step
                self.progressed.emit(step)

        try:
            with reporting(tell, self._stop_asked):
                return None if self._stop_asked() else work()
        except Stopped:
            return None
        except ValueError as error:
            return _failure(error)
        except Exception as error:  # noqa: BLE001 - every kind is told in the panel
            if not threading.main_thread().is_alive():
                return None  # Python itself is shutting down, and takes its thread pools with it
            # As text: a record with the traceback itself, kept by whatever handles it, would keep the copies of images.
            log.error("a run failed\n%s", traceback.format_exc())
            return _failure(error)


def _failure(error: Exception) -> Failure:
    """In words; a ValueError has them itself."""
    if isinstance(error, ValueError):
        return Failure(str(error))
    return Failure(f"Something unforeseen went wrong ({type(error).__name__}: {error}). Please report it.")


class Runner(QObject):
    """Runs one piece of work at a time in a thread of its own.

    Signals
    -------
    progressed : Progress
    ended : Outcome (whatever the work returns) or Failure
        Not sent for a run that was cancelled.
    """

    progressed = Signal(object)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._worker: FunctionWorker | None = None
        self._waiting: Work | None = None
        self._running: list[FunctionWorker] = []
        self._turns: list[Turn] = []
        self._preparing = self._failed = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._take_turn)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(finish_all)

    @property
    def busy(self) -> bool:
        """Whether a run is under way that was not cancelled, or turns are left."""
        return self._worker is not None or self._waiting is not None or bool(self._turns)

    def start(self, work: Work) -> None:
        """Start a run; one that is still under way is cancelled, and its thread ends before the new one starts."""
        self.cancel()
        self._failed = False
        if self._running:
            self._waiting = work
        else:
            self._launch(work)

    def prepare(self, actions: Iterable[Turn], then: Callable[[], Work]) -> None:
        """Do things in turns before a run, and start what they lead to; cancelled meanwhile, the rest is left."""
        self.cancel()
        self._preparing = True
        self.in_turns([*actions, partial(self._prepared, then)])

    def _prepared(self, then: Callable[[], Work]) -> None:
        self._preparing = False
        self.start(then())

    def in_turns(self, actions: Iterable[Turn]) -> None:
        """Do things in the window's own thread one by one, and let the window draw between them."""
        self._turns = list(actions)
        self._take_turn()

    def finish_turns(self) -> bool:
        """Do at once what is left to be done in turns, unless it leads to a run; whether there was anything."""
        if self._preparing:
            self._preparing = False
            self._turns.clear()
        was_busy = bool(self._turns)
        while self._turns:
            self._take_first()
        return was_busy

    def _take_turn(self) -> None:
        if self._turns:
            self._take_first()
        if self._turns:
            self._pause.start(0 if self._preparing else _PAUSE)

    def _take_first(self) -> None:
        """Take a turn; one that fails is the last, and ends the work like an error in the thread."""
        try:
            self._turns.pop(0)()
        except Exception as error:
            if not isinstance(error, ValueError):
                log.exception("a turn failed")
            self._turns.clear()
            self._preparing = False
            if self._failed:  # telling of a failure failed itself
                raise
            self._failed = True
            self.ended.emit(_failure(error))

    def cancel(self) -> None:
        """Stop before the next block of work; nothing of the run is heard of again."""
        self.finish_turns()
        self._worker = self._waiting = None
        for worker in self._running:
            worker.quit()

    def _launch(self, work: Work) -> None:
        background = Background(work)
        worker = background.worker()
        background.progressed.connect(lambda progress: self._progress(worker, progress))
        worker.returned.connect(lambda outcome: self._end(worker, outcome))
        worker.finished.connect(lambda: self._gone(worker, background))
        self._worker = worker
        self._running.append(worker)
        worker.start()

    def _progress(self, worker: FunctionWorker, progress: Progress) -> None:
        if not isalive(self):  # the window took this object with it while the thread worked on
            worker.quit()
        elif worker is self._worker:
            self.progressed.emit(progress)

    def _end(self, worker: FunctionWorker, outcome: object) -> None:
        if isalive(self) and worker is self._worker:
            self._worker = None
            self.ended.emit(outcome)

    def _gone(self, worker: FunctionWorker, background: Background) -> None:
        """A thread has ended: start what waits for it."""
        # The worker and what listens to it hold each other; Python may let go of such a ring in any thread, Qt may not.
        for signal in (background.progressed, worker.returned, worker.finished):
            signal.disconnect()
        self._running.remove(worker)
        waiting, self._waiting = self._waiting, None
        if waiting is not None and isalive(self):
            self._launch(waiting)


def finish_all() -> None:
    """Ask all workers to stop and wait for them: a thread that outlives Python ends the program with a crash."""
    try:
        WorkerBase.await_workers(_PATIENCE)
    except RuntimeError:
        log.warning("a run did not stop within %d s", _PATIENCE // 1000)


atexit.register(finish_all)
