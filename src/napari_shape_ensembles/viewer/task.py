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
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import psygnal
from napari.layers import Layer
from napari.qt.threading import FunctionWorker, WorkerBase
from qtpy.QtCore import QCoreApplication, QObject, QTimer, Signal

from ..comparison import Settings
from ..outlines import Outlines
from ..outlines.proposals import best_recipe
from ..parameters import NOT_SET, Parameter, parameters_of
from ..progress import Progress, Stopped, reporting
from .choices import Choices
from .debouncing import Debouncer
from .inputs import (
    Excluded,
    ImageRow,
    LayersOfSides,
    Plane,
    Refs,
    Source,
    Sources,
    copy_pixels,
    fingerprint,
    plane_of,
    source_of,
)

Result = TypeVar("Result")
JobFunction: TypeAlias = Callable[[], Any]
JobSteps: TypeAlias = Generator[JobFunction | None, Any, Any]
# What is done with the outcome of a secondary job: at once, or in turns.
Steps: TypeAlias = Iterable[JobFunction | None] | None

log = logging.getLogger(__name__)

CANCELLED = "Cancelled."
# Timeout for running workers at exit, in milliseconds.
_EXIT_TIMEOUT_MS = 10_000
#: Events of a labels layer after which its pixels may differ; napari's undo and redo emit only the last one.
PIXEL_EVENTS = ("data", "paint", "labels_update", "set_data")
# Layer events that may affect its outlines; whether they do is determined by fingerprints.
_LAYER_EVENTS = (*PIXEL_EVENTS, "scale", "shear", "rotate", "affine", "units", "features")
#: Maximum number of bytes of pixels copied on the main thread at once.
MAX_SYNC_COPY_BYTES = 2**24
_DEBOUNCE_MS = 150  # debounce of layer events, in ms
_MAX_LISTED = 3  # maximum number of files named in a message
#: Remedy if a folder for results contains files that were modified, or are not ours.
OTHER_FOLDER = "choose another folder"


# Life cycle ----------------------------------------------------------------------------------------------------


class _WorkerCall(QObject):
    """A function call in a worker thread, and its outcome."""

    reported = Signal(object)  #: Progress

    functions: list[JobFunction]  # popped when run, to release it: the worker may live longer
    worker: FunctionWorker | None = None
    outcome: Any = None
    error: ValueError | None = None

    def run(self) -> None:
        worker = self.worker
        assert worker is not None
        try:
            with reporting(self.reported.emit, lambda: worker.abort_requested):
                self.outcome = self.functions.pop()()
        except (Stopped, SystemExit):  # Qt would let the latter end the process from this thread
            pass
        except Exception as error:  # noqa: BLE001 - any error is reported in the panel
            if threading.main_thread().is_alive():  # else Python is shutting down its thread pools
                if not isinstance(error, ValueError):
                    log.error("a run failed\n%s", traceback.format_exc())
                self.error = as_user_error(error)


def as_user_error(error: Exception) -> ValueError:
    """Return an error for the panel; a new one, as the traceback of the original keeps the copied images alive."""
    if isinstance(error, ValueError):
        return ValueError(str(error))
    return ValueError(f"Unexpected error ({type(error).__name__}: {error}). Please report it.")


class JobRunner:
    """Runs one job at a time, cooperatively on the main thread and in a worker thread.

    A job is a generator, like a coroutine. `yield` returns control to the event loop. `yield function` calls the
    function in a worker thread, and resumes with its return value, or with a ValueError that explains its failure.
    While `delivering`, the worker has finished, and the generator is showing its result.
    """

    turn_pause_ms = 20  #: milliseconds between turns of the generator, for the event loop to repaint
    progressed = psygnal.Signal(Progress)

    def __init__(self) -> None:
        self.steps: JobSteps | None = None  #: the current job
        self.busy = self.delivering = False
        self.step = Progress("")
        self._finish_now = False
        self._pending_function: JobFunction | None = None
        self._calls: list[_WorkerCall] = []
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(stop_all_workers)

    @property
    def threads(self) -> int:
        """Number of threads still running, including those of cancelled jobs."""
        return len(self._calls)

    def begin(self, steps: JobSteps) -> None:
        """Start a job; one still running is cancelled, and its thread finishes first."""
        if self.busy:
            self.cancel()
        self.steps, self.busy, self.delivering, self._finish_now = steps, True, False, False
        self.step = Progress("starting")
        self.advance(steps)

    def advance(self, steps: JobSteps | None, call: _WorkerCall | None = None) -> None:
        """Resume the generator of a job, from the event loop or when the worker of a call has finished."""
        outcome, error = None, None
        if call is not None and call.worker is not None:
            # Break the reference cycle of worker and slots, which might be collected in a thread where Qt forbids it.
            for signal in (call.reported, call.worker.finished):
                signal.disconnect()
            self._calls.remove(call)
            stopped, call.worker, outcome, error = call.worker.abort_requested, None, call.outcome, call.error
            call.outcome = None
            if stopped and steps is self.steps:  # by `stop_all_workers`
                self.cancel()
            self.delivering = steps is self.steps
        while steps is not None and steps is self.steps:
            ended = True
            try:
                function = steps.send(outcome) if error is None else steps.throw(error)
                outcome, error, ended = None, None, False
            except StopIteration:
                break
            finally:
                if ended and steps is self.steps:
                    self.steps, self.busy, self.delivering = None, False, False
            if steps is not self.steps:  # cancelled during this turn
                break
            self._pending_function = function
            if function is not None:
                self.delivering = False
                break
            if not self._finish_now:  # with 0 ms, Qt posts an event, which precedes mouse and key events
                QTimer.singleShot(self.turn_pause_ms if self.delivering else 1, partial(self.advance, steps))
                break
        if self._pending_function is not None and not self._calls:
            call = _WorkerCall()
            call.functions, self._pending_function = [self._pending_function], None
            # Not `create_worker`: it ties the worker to the current window, which would keep and stop it.
            call.worker = FunctionWorker(call.run)
            self._calls.append(call)
            call.reported.connect(partial(self._on_progress, self.steps))
            call.worker.finished.connect(partial(self.advance, self.steps, call))
            call.worker.start()

    def _on_progress(self, steps: JobSteps | None, step: Progress) -> None:
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
        if self.delivering and self.steps is not None:
            self._finish_now = True
            if inspect.getgeneratorstate(self.steps) != inspect.GEN_RUNNING:
                self.advance(self.steps)
        elif self.busy:
            self.steps, self._pending_function, self.busy = None, None, False
            for call in self._calls:
                if call.worker is not None:
                    call.worker.quit()
            return True
        return False


def stop_all_workers() -> None:
    """Stop all workers and wait for them: a thread that outlives the interpreter crashes the process."""
    try:
        WorkerBase.await_workers(_EXIT_TIMEOUT_MS)
    except RuntimeError:
        log.warning("a run did not stop within %d s", _EXIT_TIMEOUT_MS // 1000)


atexit.register(stop_all_workers)


# Inputs of a result --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunInputs:
    """The inputs of a result."""

    layers: tuple[Refs, ...]  #: those of each group; weak references: a result must not keep a deleted layer alive
    recipe: Outlines
    settings: Settings
    excluded: Excluded  #: manually excluded ids of each layer, group by group
    more: Mapping[str, Hashable] = field(default_factory=dict)  #: description -> further inputs
    fingerprints: tuple[str, ...] = ()  #: fingerprints of the layers; empty before they are copied
    planes: tuple[Plane, ...] = ()  #: planes of the layers; empty before they are copied
    names: tuple[str, ...] = ()  #: names of the groups; empty if unknown
    titles: tuple[str, ...] = ()  #: names of the layers; empty before they are copied

    @property
    def refs(self) -> Refs:
        """The layers of all groups."""
        return tuple(itertools.chain(*self.layers))

    def existing(self) -> list[Layer | None]:
        """Return the layers of all groups, None for those that were deleted."""
        return [ref() for ref in self.refs]

    def existing_sides(self) -> LayersOfSides | None:
        """Return the layers of two groups if all still exist."""
        a, b = (tuple(layer for ref in side if (layer := ref()) is not None) for side in self.layers)
        return (a, b) if (len(a), len(b)) == tuple(map(len, self.layers)) else None

    def pair(self, a: str, b: str) -> "RunInputs":
        """Return the inputs of two of the groups."""
        ends = [0, *itertools.accumulate(map(len, self.layers))]
        chosen = [self.names.index(name) for name in (a, b)]
        places = [place for group in chosen for place in range(ends[group], ends[group + 1])]
        return replace(
            self,
            layers=tuple(self.layers[group] for group in chosen),
            excluded=tuple(self.excluded[place] for place in places),
            more={},
            fingerprints=tuple(self.fingerprints[place] for place in places),
            planes=tuple(self.planes[place] for place in places),
            names=(a, b),
        )


class Task(JobRunner, ABC, Generic[Result]):
    """A task on the chosen layers, independent of widgets; docks are its views."""

    changed = psygnal.Signal()  #: the result, whether it is out of date, the state, or the message has changed
    finished = psygnal.Signal()  #: the task has completed, failed or been cancelled

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self.choices = choices
        self.result: Result | None = None
        self.run_inputs: RunInputs | None = None  #: the inputs of the result; None if they are not in the viewer
        self.message = ""  #: why the last run failed, or that it was cancelled
        self.failed = self.running = False  #: running: a run, not a secondary job
        self._last_layers: list[set[weakref.ref[Layer]]] = []
        self._active = False
        self._watched_events: list[Any] = []
        self._change_debouncer = Debouncer(self._emit_changed, _DEBOUNCE_MS)
        choices.changed.connect(self._emit_changed)
        choices.exclusions.changed.connect(self._emit_changed)
        choices.design.changed.connect(self._sides_changed)

    # For subclasses.

    def blocking_reason(self) -> str:
        """Return why the task cannot be run; empty if it can."""
        design = self.choices.design
        if all(design.sides()):
            return ""
        if design.several or len(design.offered_automatically()) > 1:
            return "Enter two groups, each for at least one image."
        return "Open two images (or labels, or shapes) to compare."

    @abstractmethod
    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Do the work on snapshots of the layers: `yield` a function for the worker thread, then show its outcome.

        Keep no layer in a local variable while the function runs: the user may delete it meanwhile.
        """

    def current_inputs(self) -> RunInputs:
        """Return the inputs of a run with the current choices."""
        return self.inputs_of(*self.choices.design.sides())

    def on_failed(self, reason: str) -> None:
        """Record that a run has failed; the previous result is kept."""
        self.message, self.failed = f"⚠ {reason}", True

    def leftover_message(self) -> str:
        """Return the message to keep when the layers of a failed run are no longer chosen."""
        return ""

    def on_secondary_job_failed(self, reason: str) -> None:
        """Record that a secondary job has failed."""
        self.on_failed(reason)

    def on_cancelled(self) -> None:
        """Record that the job was cancelled."""
        self.message = CANCELLED

    # Common to all tasks.

    def inputs_of(self, *groups: Iterable[Layer | ImageRow], whole: bool = False, **more: Any) -> RunInputs:
        """Return the inputs of a run with these groups of layers; without excluding curves if they are `whole`."""
        recipe, refs = self.choices.recipe, tuple(tuple(map(weakref.ref, group)) for group in groups)
        rows = [ref() for ref in itertools.chain(*refs)]
        excluded = (frozenset[str](),) * len(rows) if whole else self.choices.exclusions.of(rows, recipe)
        return RunInputs(refs, recipe, self.choices.settings, excluded, **more)

    @property
    def has_result(self) -> bool:
        return self.result is not None

    @property
    def state(self) -> str:
        """The state: empty, ready, running, done, stale or error."""
        if self.busy:
            return "running"
        if self.failed:
            return "error"
        if not self.has_result:
            return "empty" if self.blocking_reason() else "ready"
        return "stale" if self.changed_since() else "done"

    def run(self) -> None:
        """Copy the data of the layers, and start the work in the background."""
        if not (self.busy or self.blocking_reason()):
            self.message, self.failed, self.running = "", False, True
            self.begin(self._supervised(self.main_job(), self.on_failed))

    def main_job(self) -> JobSteps:
        """Copy the layers, one per turn and large ones in the background, then do the work."""
        run_inputs, dims = self.current_inputs(), self.choices.dims
        copies: list[Source] = []
        fingerprints: list[str] = []
        planes: list[Plane] = []
        for ref in run_inputs.refs:
            layer = ref()
            if layer is None:
                raise ValueError("A layer was deleted before it was read: run again without it")
            fingerprints.append(fingerprint(layer, dims))  # before the copy: edits in between make the result stale
            planes.append(plane_of(layer, dims))
            copies.append(source_of(layer, dims, at_most=MAX_SYNC_COPY_BYTES).calibrated(run_inputs.recipe))
            layer = None
            yield None  # each may be slow for large images
        turned = next((one.name for one in copies if one.mirrored), "")
        if turned and not run_inputs.settings.reflections and not all(one.mirrored for one in copies):
            raise ValueError(
                f'"{turned}" is shown mirrored (by a negative scale, or its affine) and another layer is not: '
                "without reflections their outlines would be treated as different forms. Make its scale positive, "
                'or turn on "Mirror images match"'
            )
        if any(getattr(one.data, "nbytes", 0) > MAX_SYNC_COPY_BYTES for one in copies):
            copies = yield partial(copy_pixels, copies, MAX_SYNC_COPY_BYTES)
        if run_inputs.recipe.method == "auto":
            images = [one.data for one in copies if one.kind == "image"]
            run_inputs = replace(run_inputs, recipe=(yield partial(best_recipe, images, run_inputs.recipe)))
            self.choices.set(recipe=run_inputs.recipe)
        left = iter(copies)
        sources = tuple(tuple(itertools.islice(left, len(refs))) for refs in run_inputs.layers)
        run_inputs = replace(run_inputs, fingerprints=tuple(fingerprints), planes=tuple(planes))
        yield from self.work(sources, replace(run_inputs, titles=tuple(one.name for one in copies)))

    def start_secondary_job(self, function: JobFunction, then: Callable[[Any], Steps]) -> None:
        """Start a secondary job, such as writing a file; `then` is called with its return value, maybe in turns."""
        if not self.busy:
            self.begin(self._supervised(self._secondary_job(function, then), self.on_secondary_job_failed))

    def _secondary_job(self, function: JobFunction, then: Callable[[Any], Steps]) -> JobSteps:
        outcome = yield function
        yield from then(outcome) or ()

    def _supervised(self, steps: JobSteps, fail: Callable[[str], None]) -> JobSteps:
        """Run a job, and handle its errors and its end."""
        self.changed.emit()
        try:
            yield from steps
        except Exception as error:
            if not isinstance(error, ValueError):
                log.exception("a turn failed")
            self.running = False
            fail(str(as_user_error(error)))
        self.busy = self.delivering = self.running = False
        self._watch_layers()
        self.changed.emit()
        self.finished.emit()

    def cancel(self) -> bool:
        """Cancel the job; the previous result is kept."""
        given_up = super().cancel()
        if given_up:
            self.on_cancelled()
            self.running = False
            self.changed.emit()
            self.finished.emit()
        return given_up

    def covers_chosen_layers(self) -> bool:
        """Whether the result is of all layers chosen now, even if as other samples."""
        if not self.has_result or self.run_inputs is None:
            return self.has_result
        try:
            now = set(self.current_inputs().refs)
        except ValueError:  # invalid choices
            return True
        return bool(now) and now.issubset(self.run_inputs.refs)

    def changed_since(self) -> list[str]:
        """Describe what has changed since the result was computed."""
        if not self.has_result or self.run_inputs is None:
            return []
        then, words = self.run_inputs, []
        try:
            now = self.current_inputs()
        except ValueError as error:  # invalid choices
            return [str(error)]
        if list(map(set, then.layers)) != list(map(set, now.layers)):
            listed = self.choices.layers
            gone = any(one is None or (isinstance(one, Layer) and one not in listed) for one in then.existing())
            return ["a layer was deleted" if gone else "other layers are chosen"]
        before = dict(zip(then.refs, then.fingerprints, strict=True))
        moved: set[weakref.ref[Layer]] = set()  # layers that show another plane, where other curves are excluded
        for ref, plane in zip(then.refs, then.planes, strict=True):
            if (layer := ref()) is not None and plane_of(layer, self.choices.dims) != plane:
                moved.add(ref)
        for ref in now.refs:
            layer = ref()
            if layer is not None and fingerprint(layer, self.choices.dims) != before[ref]:
                of_stack = isinstance(layer, Layer) and layer.ndim > 2
                words.append(f"{layer.name} was changed{' or shows another plane' if of_stack else ''}")
        for old, new in ((then.recipe, now.recipe), (then.settings, now.settings)):
            for name, declared in parameters_of(type(old)).items():
                pair = getattr(old, name), getattr(new, name)
                if pair[0] != pair[1]:
                    one, other = (_shown(declared, value) for value in pair)
                    words.append(f"{name.replace('_', ' ')} was {one} and is {other}")
        left_out = [
            {ref: ids for ref, ids in zip(one.refs, one.excluded, strict=True) if ref not in moved}
            for one in (then, now)
        ]
        words += ["the choice of excluded curves was changed"] if left_out[0] != left_out[1] else []
        words += ["a group was renamed"] if then.names not in ((), now.names) else []
        return words + [f"{name} was changed" for name, value in then.more.items() if value != now.more.get(name)]

    def activate(self) -> None:
        self._watch_layers()

    def _watch_layers(self) -> None:
        """Connect to the events of the result's layers."""
        for event in self._watched_events:
            event.disconnect(self._change_debouncer.start)
        self._active = True
        refs = () if self.run_inputs is None else self.run_inputs.refs
        layers = dict.fromkeys(layer for ref in refs if isinstance(layer := ref(), Layer))
        dims = self.choices.dims.events
        self._watched_events = [dims.point, dims.order] if layers else []
        for events in (layer.events for layer in layers):
            self._watched_events += [getattr(events, name) for name in _LAYER_EVENTS if hasattr(events, name)]
        for event in self._watched_events:
            event.connect(self._change_debouncer.start)

    def deactivate(self) -> None:
        """Disconnect from all events, and cancel the job."""
        self.cancel()
        self._active = False
        self._change_debouncer.stop()
        for event in self._watched_events:
            event.disconnect(self._change_debouncer.start)
        self._watched_events = []

    def _emit_changed(self) -> None:
        self.changed.emit()

    def _sides_changed(self) -> None:
        """Update after a change of the samples; ignore mere reordering, which is frequent."""
        try:
            chosen = [set(side) for side in self.current_inputs().layers]
        except ValueError:  # invalid choices
            chosen = []
        if chosen != self._last_layers:
            self._last_layers = chosen
            if self.failed and not self.busy:  # the error was about other layers
                self.message, self.failed = self.leftover_message(), False
            if self._active:
                self._watch_layers()
            self.changed.emit()


def saved_message(paths: list[Path]) -> tuple[str, str]:
    """Return a message on the files written, and their full paths."""
    names, folder = " and ".join(path.name for path in paths), paths[0].absolute().parent
    names = names if len(paths) <= _MAX_LISTED else f"{len(paths)} files"
    return f"Saved {names} in {folder}", "\n".join(str(path.absolute()) for path in paths)


def _shown(declared: Parameter, value: Any) -> str:
    """Return a value as in the forms; the text of a choice, which may contain commas, in quotes."""
    if value is None:
        return NOT_SET
    return f'"{declared.shown(value)}"' if declared.choices else declared.shown(value)
