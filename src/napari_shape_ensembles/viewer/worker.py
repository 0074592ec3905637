"""A run in the background: steps come out as they start, and every error comes out in words."""

import atexit
import logging
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from napari.layers import Shapes
from napari.qt.threading import GeneratorWorker, WorkerBase, create_worker
from qtpy.compat import isalive
from qtpy.QtCore import QCoreApplication, QObject, QTimer, Signal

from ..comparison import STEPS, Comparison, Settings, comparison_steps
from ..progress import Stopped, reporting
from .inputs import SegmentationSettings
from .layers import curve_layers
from .paints import typical
from .sides import Excluded, Sources, trace_sides

Yielded = TypeVar("Yielded")
Returned = TypeVar("Returned")
Steps: TypeAlias = Generator[Any, None, Any]
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


@dataclass(frozen=True)
class Progress:
    """The step that starts: its name, and how many of how many came before it."""

    name: str
    done: int
    total: int


class Kept(Generic[Yielded, Returned]):
    """Iterates over a generator and keeps what it returns in `value`."""

    value: Returned

    def __init__(self, steps: Generator[Yielded, None, Returned]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[Yielded]:
        self.value = yield from self._steps


def run(
    sources: Sources,
    segmentation: SegmentationSettings,
    settings: Settings,
    excluded: Excluded = (),
) -> Generator[Progress, None, Outcome]:
    """Go all the way from copied layers to painted curves, without the curves of the excluded ids."""
    tracing = sum({"image": 2, "labels": 1, "shapes": 0}[source.kind] for side in sources for source in side)
    total = tracing + len(STEPS) + 2
    for done, name in enumerate(traced := Kept(trace_sides(sources, segmentation, excluded))):
        yield Progress(name, done, total)
    for step in (comparing := Kept(comparison_steps(*traced.value, settings))):
        yield Progress(step.name, tracing + step.index, total)
    result = comparing.value
    yield Progress("finding typical curves", total - 2, total)
    typical(result)
    yield Progress("drawing curves", total - 1, total)
    return Outcome(result, curve_layers(result, sources))


def guarded(
    steps: Generator[Yielded, None, Returned], stop_asked: Callable[[], bool] = lambda: False
) -> Generator[Yielded, None, Returned | Failure | None]:
    """Turn every error into a `Failure`: a generator worker would swallow some kinds without a sign.

    Returns None for work that was stopped half way through a step.
    """
    while True:
        try:
            with reporting(stop=stop_asked):
                step = next(steps)
        except StopIteration as end:
            return end.value
        except Stopped:
            return None
        except ValueError as error:
            return _failure(error)
        except Exception as error:
            if not threading.main_thread().is_alive():
                return None  # Python itself is shutting down, and takes its thread pools with it
            log.exception("a run failed")
            return _failure(error)
        yield step


def _failure(error: Exception) -> Failure:
    """In words; a ValueError has them itself."""
    if isinstance(error, ValueError):
        return Failure(str(error))
    return Failure(f"Something unforeseen went wrong ({type(error).__name__}: {error}). Please report it.")


class Runner(QObject):
    """Runs one piece of work at a time in a thread of its own.

    Signals
    -------
    progressed : Progress, or Partial of a study
    ended : Outcome (whatever the work returns) or Failure
        Not sent for a run that was cancelled.
    """

    progressed = Signal(object)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._worker: GeneratorWorker | None = None
        self._waiting: Steps | None = None
        self._running: list[GeneratorWorker] = []
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

    def start(self, steps: Steps) -> None:
        """Start a run; one that is still under way is cancelled, and its thread ends before the new one starts."""
        self.cancel()
        self._failed = False
        if self._running:
            self._waiting = steps
        else:
            self._launch(steps)

    def prepare(self, actions: Iterable[Turn], steps: Callable[[], Steps]) -> None:
        """Do things in turns before a run, and start it; cancelled meanwhile, the rest of them is left."""
        self.cancel()
        self._preparing = True
        self.in_turns([*actions, lambda: self._prepared(steps)])

    def _prepared(self, steps: Callable[[], Steps]) -> None:
        self._preparing = False
        self.start(steps())

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

    def _launch(self, steps: Steps) -> None:
        worker = _worker(steps)
        worker.yielded.connect(lambda progress: self._progress(worker, progress))
        worker.returned.connect(lambda outcome: self._end(worker, outcome))
        worker.finished.connect(lambda: self._gone(worker, steps))
        self._worker = worker
        self._running.append(worker)
        worker.start()

    def _progress(self, worker: GeneratorWorker, progress: object) -> None:
        if not isalive(self):  # the window took this object with it while the thread worked on
            worker.quit()
        elif worker is self._worker:
            self.progressed.emit(progress)

    def _end(self, worker: GeneratorWorker, outcome: object) -> None:
        if isalive(self) and worker is self._worker:
            self._worker = None
            self.ended.emit(outcome)

    def _gone(self, worker: GeneratorWorker, steps: Steps) -> None:
        """A thread has ended: start what waits for it."""
        # napari lists workers as long as its window is there; what was cancelled would keep its copies of the images.
        steps.close()
        # The worker and what listens to it hold each other; Python may let go of such a ring in any thread, Qt may not.
        for signal in (worker.yielded, worker.returned, worker.finished):
            signal.disconnect()
        self._running.remove(worker)
        waiting, self._waiting = self._waiting, None
        if waiting is not None and isalive(self):
            self._launch(waiting)


def _worker(steps: Steps) -> GeneratorWorker:
    """A worker, not started, whose steps also look up from long blocks of work when it is asked to quit."""
    asked: list[Callable[[], bool]] = [lambda: False]
    worker = create_worker(guarded, steps, lambda: asked[0](), _start_thread=False)
    own = weakref.ref(worker)
    asked[0] = lambda: (alive := own()) is None or alive.abort_requested
    return worker


def finish_all() -> None:
    """Ask all workers to stop and wait for them: a thread that outlives Python ends the program with a crash."""
    try:
        WorkerBase.await_workers(_PATIENCE)
    except RuntimeError:
        log.warning("a run did not stop within %d s", _PATIENCE // 1000)


atexit.register(finish_all)
