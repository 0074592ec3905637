"""Work in the background: its one life cycle, what its result rests on, and whether that still holds."""

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
# Milliseconds that leaving the program waits for the block of work under way.
_PATIENCE = 10_000
# What a layer tells when something changes that outlines rest on; which of it matters is seen by looking.
_TOLD = ("data", "set_data", "scale", "shear", "rotate", "affine", "units", "features", "paint", "labels_update")
#: Bytes of pixels that are copied in a turn.
AT_ONCE = 2**24
_PAUSE = 150  # ms, to look once after a row of events


class Soon:
    """Calls a method once after a row of events, so many milliseconds after the last one.

    Held weakly, so that nothing is called of an object that is gone; without a timer of its own, which could be
    destroyed only in the thread that made it.
    """

    def __init__(self, method: Callable[[], object], wait: int = 0) -> None:
        self._method = weakref.WeakMethod(method)
        self._wait = wait
        self._asked = 0

    def start(self, _: object = None) -> None:
        """Call it soon; asked again meanwhile, it is called later."""
        self._asked += 1
        asked, own = self._asked, weakref.ref(self)
        QTimer.singleShot(self._wait, lambda: None if (soon := own()) is None else soon._act(asked))

    def stop(self) -> None:
        self._asked += 1

    def _act(self, asked: int) -> None:
        method = self._method()
        if asked == self._asked and method is not None:
            method()


# A life cycle --------------------------------------------------------------------------------------------------


class _Call(QObject):
    """A function called in another thread, and what came of it."""

    reported = Signal(object)  #: Progress

    functions: list[Function]  # let go of when it has run: a worker may stay for a while
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
        except Exception as error:  # noqa: BLE001 - whatever went wrong is said in words
            if threading.main_thread().is_alive():  # else Python is shutting down, and takes its thread pools with it
                if not isinstance(error, ValueError):
                    log.error("a run failed\n%s", traceback.format_exc())
                self.error = in_words(error)


def in_words(error: Exception) -> ValueError:
    """What went wrong, for the panel; a new error, as the traceback of the old one keeps the copies of the images."""
    if isinstance(error, ValueError):
        return ValueError(str(error))
    return ValueError(f"Unexpected error ({type(error).__name__}: {error}). Please report it.")


class Background:
    """Does one piece of work at a time, in turns with the window and in a thread of its own.

    A piece of work is a generator that reads from top to bottom. At a `yield` the window draws. At `yield function`
    the function is called in a thread, and the generator goes on with what it returns, or with a ValueError that says
    in words why it failed. While it is `arriving`, the thread has ended, and what it has found is put into the window.
    """

    pause = 20  #: milliseconds between two turns, in which the window draws
    progressed = psygnal.Signal(Progress)

    def __init__(self) -> None:
        self.steps: Steps | None = None  #: the piece of work under way
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
        """Number of threads that have not ended yet, those of cancelled work included."""
        return len(self._calls)

    def begin(self, steps: Steps) -> None:
        """Begin a piece of work; one that is still under way is cancelled, and its thread ends first."""
        if self.busy:
            self.cancel()
        self.steps, self.busy, self.arriving, self._hurried = steps, True, False, False
        self.step = Progress("starting")
        self.advance(steps)

    def advance(self, steps: Steps | None, call: _Call | None = None) -> None:
        """Take the next turn of a piece of work: the window has drawn, or the thread of a call has ended."""
        outcome, error = None, None
        if call is not None and call.worker is not None:
            # A worker and what listens to it hold each other; Python may let go of such a ring in any thread, Qt not.
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
            if steps is not self.steps:  # cancelled in this very turn
                break
            self._waiting = function
            if function is not None:
                self.arriving = False
                break
            if not self._hurried:  # of 0 ms Qt makes an event, which comes before the mouse and the keys
                QTimer.singleShot(self.pause if self.arriving else 1, partial(self.advance, steps))
                break
        if self._waiting is not None and not self._calls:
            call = _Call()
            call.functions, self._waiting = [self._waiting], None
            # One of `create_worker` is stopped, and kept, by whatever window is in front now.
            call.worker = FunctionWorker(call.run)
            self._calls.append(call)
            call.reported.connect(partial(self._hear, self.steps))
            call.worker.finished.connect(partial(self.advance, self.steps, call))
            call.worker.start()

    def _hear(self, steps: Steps | None, step: Progress) -> None:
        """Tell of a step once: some are reported again for each of many blocks."""
        before = self.step
        news = (step.name, step.done, step.total) != (before.name, before.done, before.total)
        if steps is self.steps and (news or step.result is not before.result):
            self.step = step
            self.progressed.emit(step)

    def cancel(self) -> bool:
        """Stop before the next block of work, and hear nothing of it again; whether anything was given up.

        What has been found and is on its way into the window is shown in full: nothing is left to be stopped.
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
    """Ask all workers to stop and wait for them: a thread that outlives Python ends the program with a crash."""
    try:
        WorkerBase.await_workers(_PATIENCE)
    except RuntimeError:
        log.warning("a run did not stop within %d s", _PATIENCE // 1000)


atexit.register(finish_all)


# What a result rests on ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Basis:
    """What a result rests on."""

    layers: tuple[Refs, Refs]  #: weakly: a result must not keep a deleted layer alive
    recipe: Outlines
    settings: Settings
    excluded: Excluded  #: ids left out by hand of each layer, A's before B's
    more: Mapping[str, Hashable] = field(default_factory=dict)  #: further choices, by the words for them
    prints: tuple[str, ...] = ()  #: of the layers, A's before B's; none as long as nothing was copied

    def alive(self) -> LayersOfSides | None:
        """The layers, as long as all are there."""
        a, b = (tuple(layer for ref in side if (layer := ref()) is not None) for side in self.layers)
        return (a, b) if (len(a), len(b)) == tuple(map(len, self.layers)) else None


class Task(Background, ABC, Generic[Result]):
    """One kind of work on the chosen layers. It knows no widget; docks show it and ask it to run."""

    changed = psygnal.Signal()  #: the result, whether it holds, what is under way, or the message
    finished = psygnal.Signal()  #: what was under way has ended: with a result, with an error, or by being cancelled

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self.choices = choices
        self.result: Result | None = None
        self.basis: Basis | None = None  #: what the result rests on; None where that is not in the viewer
        self.message = ""  #: why the last run has failed, or that it was cancelled
        self.failed = self.running = False  #: the work itself runs, rather than something else with its result
        self._next: Basis | None = None
        self._chosen: list[set[weakref.ref[Layer]]] = []
        self._following = False
        self._watched: list[Any] = []
        self._looking = Soon(self._look, _PAUSE)
        choices.changed.connect(self._look)
        choices.exclusions.changed.connect(self._look)
        choices.sides.changed.connect(self._sides_changed)

    # What a kind of work has of its own.

    def why_not(self) -> str:
        """Why it cannot be run; empty when it can."""
        sides = self.choices.sides
        a, b = sides.chosen()
        if not a or not b:
            if sides.several or len(sides.unasked()) > 1:
                return "Choose at least one layer for A and one for B."
            return "Open two images (or labels, or shapes) to compare."
        if sides.several:
            both = [layer.name for layer in a if layer in b]
            return f'"{both[0]}" is in both groups: take it out of one.' if both else ""
        return "Choose two different layers." if a == b else ""

    @abstractmethod
    def work(self, sources: Sources) -> Function:
        """The function that does the work, from copies of the layers, in another thread."""

    @abstractmethod
    def take(self, outcome: Any) -> Iterable[None]:
        """Make what the work has returned the result, in turns."""

    def chosen(self) -> Basis:
        """What a run of what is chosen now would rest on."""
        choices = self.choices
        sides = choices.sides.chosen()
        a, b = (tuple(map(weakref.ref, side)) for side in sides)
        excluded = choices.exclusions.of(itertools.chain(*sides), choices.recipe)
        return Basis((a, b), choices.recipe, choices.settings, excluded)

    def fail(self, reason: str) -> None:
        """Take note that a run has failed; the result before it stays."""
        self.message, self.failed = f"⚠ {reason}", True

    def left_over(self) -> str:
        """What to say, if anything, once other layers are chosen than those of a run that failed."""
        return ""

    def fail_beside(self, reason: str) -> None:
        """Take note that something else with the result has failed."""
        self.fail(reason)

    def left(self) -> None:
        """Take note that what was under way has been cancelled."""
        self.message = CANCELLED

    # What all have.

    @property
    def state(self) -> str:
        """What there is to show: empty, ready, running, done, stale or error."""
        if self.busy:
            return "running"
        if self.failed:
            return "error"
        if self.result is None:
            return "empty" if self.why_not() else "ready"
        return "stale" if self.changed_since() else "done"

    def run(self) -> None:
        """Copy what the layers show, and work on it in the background."""
        if not (self.busy or self.why_not()):
            self.message, self.failed, self.running = "", False, True
            self.begin(self._life(self.steps_of_run(), self.fail))

    def steps_of_run(self) -> Steps:
        """Copy the layers, one in each turn, large ones in the background; work; take what comes of it."""
        basis, dims = self.chosen(), self.choices.dims
        copies: list[Source] = []
        prints: list[str] = []
        for ref in itertools.chain(*basis.layers):
            layer = ref()
            if layer is not None:
                prints.append(fingerprint(layer, dims))  # first: what is painted meanwhile makes the result stale
                copies.append(source_of(layer, dims, at_most=AT_ONCE).calibrated(basis.recipe))
                yield None  # of large images each takes a while
        turned = next((one.name for one in copies if one.mirrored), "")
        if turned and not basis.settings.reflections and not all(one.mirrored for one in copies):
            raise ValueError(
                f'"{turned}" is shown mirrored (by a negative scale, or its affine) and another layer is not: '
                "without reflections their outlines would count as different forms. Set its scale above 0, or "
                'switch "Mirror images match" on'
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
        """Do something else in the background, such as write a file; `then` takes what it returns."""
        if not self.busy:
            self.begin(self._life(self._beside(function, then), self.fail_beside))

    def _beside(self, function: Function, then: Callable[[Any], Iterable[Function | None]]) -> Steps:
        outcome = yield function
        yield from then(outcome)

    def _life(self, steps: Steps, fail: Callable[[str], None]) -> Steps:
        """A piece of work from its start to its end, whichever that is."""
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
        """Stop what is under way; the result before it stays."""
        given_up = super().cancel()
        if given_up:
            self.left()
            self.running, self._next = False, None
            self.changed.emit()
            self.finished.emit()
        return given_up

    def changed_since(self) -> list[str]:
        """What has changed since the result was found, in words."""
        if self.result is None or self.basis is None:
            return []
        then, words = self.basis, []
        try:
            now = self.chosen()
        except ValueError as error:  # choices that no run can have
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
        """Tell when the layers that the result rests on are changed."""
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
        """Listen to nothing, and stop what is under way."""
        self.cancel()
        self._following = False
        self._looking.stop()
        for event in self._watched:
            event.disconnect(self._looking.start)
        self._watched = []

    def _look(self) -> None:
        self.changed.emit()

    def _sides_changed(self) -> None:
        """Look what other layers mean for the result; the same ones in another order mean nothing, and are many."""
        try:
            chosen = [set(side) for side in self.chosen().layers]
        except ValueError:  # choices that no run can have
            chosen = []
        if chosen != self._chosen:
            self._chosen = chosen
            if self.failed and self.result is None and not self.busy:  # of these layers nothing is known
                self.message, self.failed = self.left_over(), False
            if self._following:
                self._watch()
            self.changed.emit()

    def _put(self, result: Result) -> None:
        self.result, self.basis = result, self._next
