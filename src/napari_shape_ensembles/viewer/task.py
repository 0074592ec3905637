"""Work on layers in the background: its run, its result, and whether that still holds."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

from napari.layers import Layer
from psygnal import Signal

from ..comparison import Settings
from ..outlines import Outlines
from ..progress import Progress
from .basis import Basis, Copies, Prints, Watch, changes
from .choices import Choices
from .inputs import fingerprint
from .runner import Failure, Runner, Turn
from .sides import Excluded, LayersOfSides, Sources, refs_of

Result = TypeVar("Result")

CANCELLED = "Cancelled."


class Task(ABC, Generic[Result]):
    """One kind of work on the chosen layers. It knows no widget; docks show it and ask it to run.

    Parameters
    ----------
    choices : Choices

    Attributes
    ----------
    result : object or None
    basis : Basis or None
        What the result rests on; None where that is not in the viewer.
    step : Progress
        The step under way.
    message : str
        What became of the last run where it did not end with a result: why it failed, or that it was cancelled.

    Signals
    -------
    changed
        Something is to be shown anew: the result, whether it holds, what is under way, the message.
    progressed : Progress
    finished
        What was under way has ended: with a result, with an error, or by being cancelled.
    """

    changed = Signal()
    progressed = Signal(Progress)
    finished = Signal()

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.runner = Runner()
        self.result: Result | None = None
        self.basis: Basis | None = None
        self.step = Progress("")
        self.message = ""
        self.failed = False
        self._next: Basis | None = None
        self._then: Callable[[Any], list[Turn]] | None = None
        self._watch = Watch(choices.viewer)
        self.runner.progressed.connect(self._progress)
        self.runner.ended.connect(self._end)
        self._watch.told.connect(self._look)
        choices.changed.connect(self._look)
        choices.exclusions.changed.connect(self._look)
        choices.sides.changed.connect(self._sides_changed)
        self._chosen: list[set[Layer]] = []
        self._following = False

    # What a kind of work has of its own.

    @abstractmethod
    def why_not(self) -> str:
        """Why it cannot be run; empty when it can."""

    @abstractmethod
    def layers(self) -> LayersOfSides:
        """The layers that are chosen for it."""

    @abstractmethod
    def work(self, sources: Sources) -> Callable[[], Any]:
        """The function that does the work, from copies of the layers, in another thread."""

    def complete(self, sides: LayersOfSides) -> bool:
        """Whether all layers are chosen that a run needs."""
        return all(sides)

    def more(self) -> dict[str, Hashable]:
        """Choices beside the recipe and the settings that the result rests on, by the words for them."""
        return {}

    def parts(self) -> tuple[Outlines, Settings]:
        """The recipe and the settings as far as the result rests on them."""
        return self.choices.recipe, self.choices.settings

    def excluded(self, sides: LayersOfSides) -> Excluded:
        """The curves left out by hand of each of these layers."""
        return self.choices.exclusions.of(itertools.chain(*sides), self.parts()[0])

    def take(self, outcome: Any) -> list[Turn]:
        """The turns that make what the work has returned the result."""
        return [partial(self._put, outcome)]

    def fail(self, reason: str) -> None:
        """Take note that a run has failed; the result before it stays."""
        self.message, self.failed = f"⚠ {reason}", True

    def progress(self, step: Progress) -> None:
        """Take what is known so far."""

    # What all have.

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return self.runner.busy

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
        if self.busy or self.why_not():
            return
        copies = Copies(self.choices.viewer, self.layers())
        self.message, self.failed, self._then = "", False, self.take
        self.step = Progress("starting")
        self.runner.prepare(copies.turns(), partial(self._begin, copies))
        self.changed.emit()

    def _begin(self, copies: Copies) -> Callable[[], Any]:
        sources, prints = copies.by_side()
        self._next = self._basis(copies.chosen, prints)
        return self.work(sources)

    def now(self) -> Basis | None:
        """What a run of what is chosen now would rest on; None where something is missing."""
        sides, dims = self.layers(), self.choices.viewer.dims
        if not self.complete(sides):
            return None
        a, b = (tuple(fingerprint(layer, dims) for layer in side) for side in sides)
        return self._basis(sides, (a, b))

    def _basis(self, sides: LayersOfSides, prints: Prints) -> Basis:
        return Basis(refs_of(sides), prints, *self.parts(), self.excluded(sides), self.more())

    def start(self, function: Callable[[], Any], then: Callable[[Any], list[Turn]]) -> None:
        """Do something else in the background, such as write a file; `then` takes what it returns."""
        if not self.busy:
            self._then, self.step = then, Progress("starting")
            self.runner.start(function)
            self.changed.emit()

    @property
    def running(self) -> bool:
        """Whether the work itself is under way, rather than something else with its result."""
        return self.busy and self._then == self.take

    def cancel(self) -> None:
        """Stop what is under way; the result before it stays.

        A result whose layers are on their way into the viewer is shown in full: nothing is left to be stopped.
        """
        if self.busy and not self.runner.finish_turns():
            self.runner.cancel()
            self._next = None
            self.left()
            self._then = None
            self.changed.emit()
            self.finished.emit()

    def left(self) -> None:
        """Take note that what was under way has been cancelled."""
        self.message = CANCELLED

    def changed_since(self) -> list[str]:
        """What has changed since the result was found, in words."""
        if self.result is None or self.basis is None:
            return []
        try:
            return changes(self.basis, self.now())
        except ValueError as error:  # choices that no run can have
            return [str(error)]

    def follow(self) -> None:
        """Tell when the layers that the result rests on are changed."""
        self._following = True
        self._watch.follow([] if self.result is None or self.basis is None else self.basis.there())

    def rest(self) -> None:
        """Listen to nothing, and stop what is under way."""
        self.cancel()
        self._following = False
        self._watch.rest()

    def _look(self) -> None:
        self.changed.emit()

    def _sides_changed(self) -> None:
        """Look what other layers mean for the result; the same ones in another order mean nothing, and are many."""
        chosen = [set(side) for side in self.layers()]
        if chosen != self._chosen:
            self._chosen = chosen
            if self._following:
                self.follow()
            self.changed.emit()

    def _progress(self, step: Progress) -> None:
        self.step = step
        self.progress(step)
        self.progressed.emit(step)

    def _end(self, outcome: Any) -> None:
        self.runner.in_turns([*self.arriving(outcome), partial(self._conclude, outcome)])

    def arriving(self, outcome: Any) -> list[Turn]:
        """The turns that put the layers of an outcome into the viewer."""
        return []

    def _conclude(self, outcome: Any) -> None:
        then = self._then
        parts: list[Turn] = []
        if isinstance(outcome, Failure):
            self.fail(outcome.reason)
        elif then is not None:
            parts = then(outcome)
        self.runner.in_turns([*parts, self._settle])

    def _settle(self) -> None:
        """The last turn: tell that all is at rest."""
        self._then = None
        self.follow()
        self.changed.emit()
        self.finished.emit()

    def _put(self, result: Result) -> None:
        self.result, self.basis = result, self._next
