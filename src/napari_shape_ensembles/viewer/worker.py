"""A run in the background: steps come out as they start, and every error comes out in words."""

import itertools
import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from napari.layers import Shapes
from napari.qt.threading import GeneratorWorker, create_worker
from qtpy.QtCore import QObject, Signal

from ..comparison import STEPS, Comparison, Settings, comparison_steps
from .inputs import SegmentationSettings, Source, trace
from .layers import curve_layers

Yielded = TypeVar("Yielded")
Returned = TypeVar("Returned")

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leads to.

    Attributes
    ----------
    result : Comparison
    layers : list of two Shapes
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
    sources: tuple[Source, Source], segmentation: SegmentationSettings, settings: Settings
) -> Generator[Progress, None, Outcome]:
    """Go all the way from two copied layers to painted curves."""
    tracing = sum({"image": 2, "labels": 1, "shapes": 0}[source.kind] for source in sources)
    total = tracing + len(STEPS) + 1
    count = itertools.count()
    traced = []
    for source in sources:
        for name in (steps := Kept(trace(source, segmentation))):
            yield Progress(name, next(count), total)
        traced.append(steps.value)
    a, b = traced
    for step in (comparing := Kept(comparison_steps(a, b, settings))):
        yield Progress(step.name, tracing + step.index, total)
    yield Progress("drawing curves", total - 1, total)
    result = comparing.value
    return Outcome(result, curve_layers(result, sources, (a, b)))


def guarded(
    steps: Generator[Yielded, None, Returned],
) -> Generator[Yielded, None, Returned | Failure]:
    """Turn every error into a `Failure`: a generator worker would swallow some kinds without a sign."""
    try:
        return (yield from steps)
    except ValueError as error:
        return Failure(str(error))
    except Exception as error:
        log.exception("a comparison failed")
        return Failure(f"Something unforeseen went wrong ({type(error).__name__}: {error}). Please report it.")


class Runner(QObject):
    """Runs one comparison or study at a time in a thread of its own.

    Signals
    -------
    progressed : Progress, or Partial of a study
    ended : Outcome, result of a study, or Failure
        Not sent for a run that was cancelled.
    """

    progressed = Signal(object)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._worker: GeneratorWorker | None = None

    @property
    def busy(self) -> bool:
        """Whether a run is under way that was not cancelled."""
        return self._worker is not None

    def start(self, steps: Generator[Any, None, Any]) -> None:
        """Start a run; one that is still under way is cancelled."""
        self.cancel()
        worker = create_worker(guarded, steps, _start_thread=False)
        worker.yielded.connect(lambda progress: self._progress(worker, progress))
        worker.returned.connect(lambda outcome: self._end(worker, outcome))
        self._worker = worker
        worker.start()

    def cancel(self) -> None:
        """Stop at the next step; nothing of the run is heard of again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.quit()

    def _progress(self, worker: GeneratorWorker, progress: Any) -> None:
        if worker is self._worker:
            self.progressed.emit(progress)

    def _end(self, worker: GeneratorWorker, outcome: Any) -> None:
        if worker is self._worker:
            self._worker = None
            self.ended.emit(outcome)
