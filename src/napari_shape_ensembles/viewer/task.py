"""Background tasks: their life cycle, the inputs of a result, and whether it is out of date."""

import atexit
import inspect
import itertools
import logging
import threading
import traceback
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import psygnal
from napari.layers import Layer
from napari.qt.threading import FunctionWorker, WorkerBase
from qtpy.QtCore import QCoreApplication, QObject, QTimer, Signal

from ..comparison import Settings
from ..outlines import Outlines
from ..outlines.proposals import best_recipe
from ..parameters import tree
from ..progress import Progress, Stopped, reporting
from .choices import Choices
from .inputs import Excluded, LayersOfSides, Refs, Source, Sources, copied, fingerprint, source_of

Result = TypeVar("Result")
Function: TypeAlias = Callable[[], Any]
Steps: TypeAlias = Generator[Function | None, Any, None]

log = logging.getLogger(__name__)

CANCELLED = "Cancelled."
# Timeout for running workers at exit, in milliseconds.
_PATIENCE = 10_000
# Layer events that may affect its outlines; whether they do is determined by fingerprints.
_TOLD = ("data", "set_data", "scale", "shear", "rotate", "affine", "units", "features", "paint", "labels_update")
#: Maximum number of bytes of pixels copied on the main thread at once.
AT_ONCE = 2**24
_PAUSE = 150  # debounce of layer events, in ms


class Soon:
    """Debounces a method: calls it once, some milliseconds after the last of a burst of events.

    The method is held by a weak reference, so that objects can be deleted. There is no QTimer object, which would have
    to be destroyed in the thread that created it.
    """

    def __init__(self, method: Callable[[], object], wait: int = 0) -> None:
        self._method = weakref.WeakMethod(method)
        self._wait = wait
        self._asked = 0

    def start(self, _: object = None) -> None:
        """Schedule the call; a pending one is postponed."""
        self._asked += 1
        asked, own = self._asked, weakref.ref(self)
        QTimer.singleShot(self._wait, lambda: None if (soon := own()) is None else soon._act(asked))

    def stop(self) -> None:
        self._asked += 1

    def _act(self, asked: int) -> None:
        method = self._method()
        if asked == self._asked and method is not None:
            method()


# Life cycle ----------------------------------------------------------------------------------------------------


class _Call(QObject):
    """A function call in a worker thread, and its outcome."""

    reported = Signal(object)  #: Progress

    functions: list[Function]  # popped when run, to release it: the worker may live longer
    worker: FunctionWorker | None = None
    outcome: Any = None
    error: ValueError | None = None

    def run(self) -> None:
        worker = self.worker
        assert worker is not None
        try:
            with reporting(self.reported.emit, lambda: worker.abort_requested):
                self.outcome = self.functions.pop()()
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - any error is reported in the panel
            if threading.main_thread().is_alive():  # else Python is shutting down its thread pools
                if not isinstance(error, ValueError):
                    log.error("a run failed\n%s", traceback.format_exc())
                self.error = in_words(error)


def in_words(error: Exception) -> ValueError:
    """Return an error for the panel; a new one, as the traceback of the original keeps the copied images alive."""
    if isinstance(error, ValueError):
        return ValueError(str(error))
    return ValueError(f"Unexpected error ({type(error).__name__}: {error}). Please report it.")


class Background:
    """Runs one job at a time, cooperatively on the main thread and in a worker thread.

    A job is a generator, like a coroutine. `yield` returns control to the event loop. `yield function` calls the
    function in a worker thread, and resumes with its return value, or with a ValueError that explains its failure.
    While `arriving`, the worker has finished, and the generator is showing its result.
    """

    pause = 20  #: milliseconds between turns of the generator, for the event loop to repaint
    progressed = psygnal.Signal(Progress)

    def __init__(self) -> None:
        self.steps: Steps | None = None  #: the current job
        self.busy = self.arriving = False
        self.step = Progress("")
        self._hurried = False
        self._waiting: Function | None = None
        self._calls: list[_Call] = []
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(finish_all)

    @property
    def threads(self) -> int:
        """Number of threads still running, including those of cancelled jobs."""
        return len(self._calls)

    def begin(self, steps: Steps) -> None:
        """Start a job; one still running is cancelled, and its thread finishes first."""
        if self.busy:
            self.cancel()
        self.steps, self.busy, self.arriving, self._hurried = steps, True, False, False
        self.step = Progress("starting")
        self.advance(steps)

    def advance(self, steps: Steps | None, call: _Call | None = None) -> None:
        """Resume the generator of a job, from the event loop or when the worker of a call has finished."""
        outcome, error = None, None
        if call is not None and call.worker is not None:
            # Break the reference cycle of worker and slots, which might be collected in a thread where Qt forbids it.
            for signal in (call.reported, call.worker.finished):
                signal.disconnect()
            self._calls.remove(call)
            stopped, call.worker, outcome, error = call.worker.abort_requested, None, call.outcome, call.error
            call.outcome = None
            if stopped and steps is self.steps:  # by `finish_all`
                self.cancel()
            self.arriving = steps is self.steps
        while steps is not None and steps is self.steps:
            ended = True
            try:
                function = steps.send(outcome) if error is None else steps.throw(error)
                outcome, error, ended = None, None, False
            except StopIteration:
                break
            finally:
                if ended and steps is self.steps:
                    self.steps, self.busy, self.arriving = None, False, False
            if steps is not self.steps:  # cancelled during this turn
                break
            self._waiting = function
            if function is not None:
                self.arriving = False
                break
            if not self._hurried:  # with 0 ms, Qt posts an event, which precedes mouse and key events
                QTimer.singleShot(self.pause if self.arriving else 1, partial(self.advance, steps))
                break
        if self._waiting is not None and not self._calls:
            call = _Call()
            call.functions, self._waiting = [self._waiting], None
            # Not `create_worker`: it ties the worker to the current window, which would keep and stop it.
            call.worker = FunctionWorker(call.run)
            self._calls.append(call)
            call.reported.connect(partial(self._hear, self.steps))
            call.worker.finished.connect(partial(self.advance, self.steps, call))
            call.worker.start()

    def _hear(self, steps: Steps | None, step: Progress) -> None:
        """Emit each step once: some are reported repeatedly for many blocks."""
        before = self.step
        news = (step.name, step.done, step.total) != (before.name, before.done, before.total)
        if steps is self.steps and (news or step.result is not before.result):
            self.step = step
            self.progressed.emit(step)

    def cancel(self) -> bool:
        """Cancel the job before the next block of its work, and discard its outcome; return whether it was cancelled.

        If the worker has already finished, its result is shown in full instead.
        """
        if self.arriving and self.steps is not None:
            self._hurried = True
            if inspect.getgeneratorstate(self.steps) != inspect.GEN_RUNNING:
                self.advance(self.steps)
        elif self.busy:
            self.steps, self._waiting, self.busy = None, None, False
            for call in self._calls:
                if call.worker is not None:
                    call.worker.quit()
            return True
        return False


def finish_all() -> None:
    """Stop all workers and wait for them: a thread that outlives the interpreter crashes the process."""
    try:
        WorkerBase.await_workers(_PATIENCE)
    except RuntimeError:
        log.warning("a run did not stop within %d s", _PATIENCE // 1000)


atexit.register(finish_all)


# Inputs of a result --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Basis:
    """The inputs of a result."""

    layers: tuple[Refs, Refs]  #: weak references: a result must not keep a deleted layer alive
    recipe: Outlines
    settings: Settings
    excluded: Excluded  #: manually excluded ids of each layer, A's before B's
    more: Mapping[str, Hashable] = field(default_factory=dict)  #: description -> further inputs
    prints: tuple[str, ...] = ()  #: fingerprints of the layers, A's before B's; empty before they are copied

    def alive(self) -> LayersOfSides | None:
        """Return the layers if all still exist."""
        a, b = (tuple(layer for ref in side if (layer := ref()) is not None) for side in self.layers)
        return (a, b) if (len(a), len(b)) == tuple(map(len, self.layers)) else None


class Task(Background, ABC, Generic[Result]):
    """A task on the chosen layers, independent of widgets; docks are its views."""

    changed = psygnal.Signal()  #: the result, whether it is out of date, the state, or the message has changed
    finished = psygnal.Signal()  #: the task has completed, failed or been cancelled

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self.choices = choices
        self.result: Result | None = None
        self.basis: Basis | None = None  #: the inputs of the result; None if they are not in the viewer
        self.message = ""  #: why the last run failed, or that it was cancelled
        self.failed = self.running = False  #: running: a run, not a secondary job
        self._next: Basis | None = None
        self._chosen: list[set[weakref.ref[Layer]]] = []
        self._following = False
        self._watched: list[Any] = []
        self._looking = Soon(self._look, _PAUSE)
        choices.changed.connect(self._look)
        choices.exclusions.changed.connect(self._look)
        choices.sides.changed.connect(self._sides_changed)

    # For subclasses.

    def why_not(self) -> str:
        """Return why the task cannot be run; empty if it can."""
        sides = self.choices.sides
        a, b = sides.chosen()
        if not a or not b:
            if sides.several or len(sides.unasked()) > 1:
                return "Choose at least one layer for A and one for B."
            return "Open two images (or labels, or shapes) to compare."
        if sides.several:
            both = [layer.name for layer in a if layer in b]
            return f'"{both[0]}" is in both groups: remove it from one.' if both else ""
        return "Choose two different layers." if a == b else ""

    @abstractmethod
    def work(self, sources: Sources) -> Function:
        """Return the function that does the work on copies of the layers, in a worker thread."""

    @abstractmethod
    def take(self, outcome: Any) -> Iterable[None]:
        """Store and show the outcome of the work, in turns with the event loop."""

    def chosen(self) -> Basis:
        """Return the inputs of a run with the current choices."""
        choices = self.choices
        sides = choices.sides.chosen()
        a, b = (tuple(map(weakref.ref, side)) for side in sides)
        excluded = choices.exclusions.of(itertools.chain(*sides), choices.recipe)
        return Basis((a, b), choices.recipe, choices.settings, excluded)

    def fail(self, reason: str) -> None:
        """Record that a run has failed; the previous result is kept."""
        self.message, self.failed = f"⚠ {reason}", True

    def left_over(self) -> str:
        """Return the message to keep when the layers of a failed run are no longer chosen."""
        return ""

    def fail_beside(self, reason: str) -> None:
        """Record that a secondary job has failed."""
        self.fail(reason)

    def left(self) -> None:
        """Record that the job was cancelled."""
        self.message = CANCELLED

    # Common to all tasks.

    @property
    def state(self) -> str:
        """The state: empty, ready, running, done, stale or error."""
        if self.busy:
            return "running"
        if self.failed:
            return "error"
        if self.result is None:
            return "empty" if self.why_not() else "ready"
        return "stale" if self.changed_since() else "done"

    def run(self) -> None:
        """Copy the data of the layers, and start the work in the background."""
        if not (self.busy or self.why_not()):
            self.message, self.failed, self.running = "", False, True
            self.begin(self._life(self.steps_of_run(), self.fail))

    def steps_of_run(self) -> Steps:
        """Copy the layers, one per turn and large ones in the background; do the work; take its outcome."""
        basis, dims = self.chosen(), self.choices.dims
        copies: list[Source] = []
        prints: list[str] = []
        for ref in itertools.chain(*basis.layers):
            layer = ref()
            if layer is not None:
                prints.append(fingerprint(layer, dims))  # before the copy: edits in between make the result stale
                copies.append(source_of(layer, dims, at_most=AT_ONCE).calibrated(basis.recipe))
                yield None  # each may be slow for large images
        turned = next((one.name for one in copies if one.mirrored), "")
        if turned and not basis.settings.reflections and not all(one.mirrored for one in copies):
            raise ValueError(
                f'"{turned}" is shown mirrored (by a negative scale, or its affine) and another layer is not: '
                "without reflections their outlines would be treated as different forms. Make its scale positive, "
                'or turn on "Mirror images match"'
            )
        if any(getattr(one.data, "nbytes", 0) > AT_ONCE for one in copies):
            copies = yield partial(copied, copies, AT_ONCE)
        if basis.recipe.method == "auto":
            images = [one.data for one in copies if one.kind == "image"]
            basis = replace(basis, recipe=(yield partial(best_recipe, images, basis.recipe)))
            self.choices.set(recipe=basis.recipe)
        first = len(basis.layers[0])
        self._next = replace(basis, prints=tuple(prints))
        outcome = yield self.work((tuple(copies[:first]), tuple(copies[first:])))
        yield from self.take(outcome)

    def start(self, function: Function, then: Callable[[Any], Iterable[Function | None]]) -> None:
        """Start a secondary job, such as writing a file; `then` is called with its return value."""
        if not self.busy:
            self.begin(self._life(self._beside(function, then), self.fail_beside))

    def _beside(self, function: Function, then: Callable[[Any], Iterable[Function | None]]) -> Steps:
        outcome = yield function
        yield from then(outcome)

    def _life(self, steps: Steps, fail: Callable[[str], None]) -> Steps:
        """Run a job, and handle its errors and its end."""
        self.changed.emit()
        try:
            yield from steps
        except Exception as error:
            if not isinstance(error, ValueError):
                log.exception("a turn failed")
            self.running = False
            fail(str(in_words(error)))
        self.busy = self.arriving = self.running = False
        self._watch()
        self.changed.emit()
        self.finished.emit()

    def cancel(self) -> bool:
        """Cancel the job; the previous result is kept."""
        given_up = super().cancel()
        if given_up:
            self.left()
            self.running, self._next = False, None
            self.changed.emit()
            self.finished.emit()
        return given_up

    def changed_since(self) -> list[str]:
        """Describe what has changed since the result was computed."""
        if self.result is None or self.basis is None:
            return []
        then, words = self.basis, []
        try:
            now = self.chosen()
        except ValueError as error:  # invalid choices
            return [str(error)]
        if list(map(set, then.layers)) != list(map(set, now.layers)):
            return ["other layers are chosen"]
        before = dict(zip(itertools.chain(*then.layers), then.prints, strict=True))
        for ref in itertools.chain(*now.layers):
            layer = ref()
            if layer is not None and fingerprint(layer, self.choices.dims) != before[ref]:
                of_stack = isinstance(layer, Layer) and layer.ndim > 2
                words.append(f"{layer.name} was changed{' or shows another plane' if of_stack else ''}")
        switch = {"True": "on", "False": "off"}
        for old, new in ((tree(then.recipe), tree(now.recipe)), (tree(then.settings), tree(now.settings))):
            for name in (name for name in old if old[name] != new[name]):
                one, other = (switch.get(str(choice), str(choice)) for choice in (old[name], new[name]))
                words.append(f"{name.replace('_', ' ')} was {one} and is {other}")
        left_out = [dict(zip(itertools.chain(*one.layers), one.excluded, strict=True)) for one in (then, now)]
        words += ["the choice of excluded curves was changed"] if left_out[0] != left_out[1] else []
        return words + [f"{name} was changed" for name, value in then.more.items() if value != now.more.get(name)]

    def follow(self) -> None:
        self._watch()

    def _watch(self) -> None:
        """Connect to the events of the result's layers."""
        for event in self._watched:
            event.disconnect(self._looking.start)
        self._following = True
        refs = () if self.basis is None else itertools.chain(*self.basis.layers)
        layers = dict.fromkeys(layer for ref in refs if isinstance(layer := ref(), Layer))
        dims = self.choices.dims.events
        self._watched = [dims.point, dims.order] if layers else []
        for events in (layer.events for layer in layers):
            self._watched += [getattr(events, name) for name in _TOLD if hasattr(events, name)]
        for event in self._watched:
            event.connect(self._looking.start)

    def rest(self) -> None:
        """Disconnect from all events, and cancel the job."""
        self.cancel()
        self._following = False
        self._looking.stop()
        for event in self._watched:
            event.disconnect(self._looking.start)
        self._watched = []

    def _look(self) -> None:
        self.changed.emit()

    def _sides_changed(self) -> None:
        """Update after a change of the samples; ignore mere reordering, which is frequent."""
        try:
            chosen = [set(side) for side in self.chosen().layers]
        except ValueError:  # invalid choices
            chosen = []
        if chosen != self._chosen:
            self._chosen = chosen
            if self.failed and self.result is None and not self.busy:  # the error was about other layers
                self.message, self.failed = self.left_over(), False
            if self._following:
                self._watch()
            self.changed.emit()

    def _put(self, result: Result) -> None:
        self.result, self.basis = result, self._next
