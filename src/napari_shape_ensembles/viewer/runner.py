"""Work in the background: a plain function in a thread of its own, whose every error comes out in words."""

import atexit
import logging
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import psygnal
from napari.qt.threading import FunctionWorker, WorkerBase, create_worker
from qtpy.QtCore import QCoreApplication, QObject, QTimer, Signal

from ..progress import Progress, Stopped, reporting

Turn: TypeAlias = Callable[[], object]
Function: TypeAlias = Callable[[], Any]

log = logging.getLogger(__name__)

# Milliseconds that leaving the program waits for the block of work under way.
_PATIENCE = 10_000


@dataclass(frozen=True)
class Failure:
    """Why a run ended without a result, in words."""

    reason: str

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """Say what went wrong; a ValueError has its words itself."""
        if isinstance(error, ValueError):
            return cls(str(error))
        return cls(f"Unexpected error ({type(error).__name__}: {error}). Please report it.")


class Background(QObject):
    """A function for another thread, let go of when it has run: napari keeps workers as long as its window is there.

    Signals
    -------
    reported : Progress
    """

    reported = Signal(object)

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._function: list[Function] = [function]
        self._told: tuple[Any, ...] = ()
        self._worker: Callable[[], FunctionWorker | None] = lambda: None

    def worker(self) -> FunctionWorker:
        """A worker, not started, that runs the function; it is stopped by asking it to quit."""
        worker = create_worker(self.run, _start_thread=False)
        self._worker = weakref.ref(worker)
        return worker

    def _unwanted(self) -> bool:
        worker = self._worker()
        return worker is None or worker.abort_requested

    def run(self) -> Any:
        """Call the function; returns what it returns, a `Failure`, or None where it was stopped."""
        try:
            with reporting(self._report, self._unwanted):
                return self._function.pop()()
        except Stopped:
            return None
        except Exception as error:  # noqa: BLE001 - whatever went wrong is said in words
            if not threading.main_thread().is_alive():
                return None  # Python itself is shutting down, and takes its thread pools with it
            if not isinstance(error, ValueError):
                # As text: a traceback that is kept would keep the copies of the images.
                log.error("a run failed\n%s", traceback.format_exc())
            return Failure.of(error)

    def _report(self, step: Progress) -> None:
        """Tell of a step once: some are reported again for each of many blocks."""
        told = step.name, step.done, step.total, id(step.result)
        if told != self._told:
            self._told = told
            self.reported.emit(step)


class Runner:
    """Runs one piece of work at a time in a thread of its own.

    Attributes
    ----------
    turns : list of callables
        What is left to be done in turns.
    pause : int
        Milliseconds between two turns, in which the window draws.

    Signals
    -------
    progressed : Progress
    ended : whatever the work returns, or Failure
        Not sent for a run that was cancelled.
    """

    pause = 20
    progressed = psygnal.Signal(object)
    ended = psygnal.Signal(object)

    def __init__(self) -> None:
        self._job: Background | None = None
        self._waiting: Function | None = None
        self._running: list[tuple[Background, FunctionWorker]] = []
        self.turns: list[Turn] = []
        self._preparing = self._failed = False
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(finish_all)

    @property
    def working(self) -> bool:
        """Whether a run is under way, or about to be, that was not cancelled."""
        return self._job is not None or self._waiting is not None

    @property
    def busy(self) -> bool:
        """Whether a run is under way that was not cancelled, or turns are left."""
        return self.working or bool(self.turns)

    @property
    def threads(self) -> int:
        """Number of threads that have not ended yet, those of cancelled runs included."""
        return len(self._running)

    def start(self, function: Function) -> None:
        """Start a run; one that is still under way is cancelled, and its thread ends before the new one starts."""
        self.cancel()
        self._failed = False
        if self._running:
            self._waiting = function
        else:
            self._launch(function)

    def prepare(self, actions: Iterable[Turn], function: Callable[[], Function]) -> None:
        """Do things in turns before a run, and start it; cancelled meanwhile, the rest of them is left."""
        self.cancel()
        self._failed, self._preparing = False, True
        self.in_turns([*actions, lambda: self._prepared(function)])

    def _prepared(self, function: Callable[[], Function]) -> None:
        self._preparing = False
        self.start(function())

    def in_turns(self, actions: Iterable[Turn]) -> None:
        """Do things in the window's own thread one by one, and let the window draw between them."""
        self.turns = list(actions)
        self.take_turn()

    def finish_turns(self) -> bool:
        """Do at once what is left to be done in turns, unless it leads to a run; whether there was anything."""
        if self._preparing:
            self._preparing = False
            self.turns.clear()
        was_busy = bool(self.turns)
        while self.turns:
            self._take_first()
        return was_busy

    def take_turn(self) -> None:
        """Do what is next in turn, and the rest later."""
        if self.turns:
            self._take_first()
        if self.turns:
            QTimer.singleShot(0 if self._preparing else self.pause, self.take_turn)

    def _take_first(self) -> None:
        """Take a turn; one that fails is the last, and ends the work like an error in the thread."""
        try:
            self.turns.pop(0)()
        except Exception as error:
            if not isinstance(error, ValueError):
                log.exception("a turn failed")
            self.turns.clear()
            self._preparing = False
            if self._failed:  # telling of a failure failed itself
                raise
            self._failed = True
            self.ended.emit(Failure.of(error))

    def cancel(self) -> None:
        """Stop before the next block of work; nothing of the run is heard of again."""
        self.finish_turns()
        self._job = self._waiting = None
        for _, worker in self._running:
            worker.quit()

    def _launch(self, function: Function) -> None:
        job = Background(function)
        worker = job.worker()
        job.reported.connect(lambda step: self._report(job, step))
        worker.returned.connect(lambda outcome: self._end(job, outcome))
        worker.finished.connect(lambda: self._gone(job, worker))
        self._job = job
        self._running.append((job, worker))
        worker.start()

    def _report(self, job: Background, step: Progress) -> None:
        if job is self._job:
            self.progressed.emit(step)

    def _end(self, job: Background, outcome: object) -> None:
        if job is self._job:
            self._job = None
            self.ended.emit(outcome)

    def _gone(self, job: Background, worker: FunctionWorker) -> None:
        """A thread has ended: start what waits for it."""
        # The worker and what listens to it hold each other; Python may let go of such a ring in any thread, Qt may not.
        for signal in (job.reported, worker.returned, worker.finished):
            signal.disconnect()
        self._running.remove((job, worker))
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._launch(waiting)


def finish_all() -> None:
    """Ask all workers to stop and wait for them: a thread that outlives Python ends the program with a crash."""
    try:
        WorkerBase.await_workers(_PATIENCE)
    except RuntimeError:
        log.warning("a run did not stop within %d s", _PATIENCE // 1000)


atexit.register(finish_all)
