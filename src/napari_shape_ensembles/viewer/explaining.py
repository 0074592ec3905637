"""The explanation of the comparison: why A and B differ, found in the background and kept for the same data."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Shapes

from ..comparison import Comparison
from ..comparison.display import MARK
from ..explanation import Explanation, explain
from ..explanation.headline import Headline, headline
from .choices import Choices
from .comparing import ComparisonTask, saving_report
from .inputs import Sources
from .task import CANCELLED, Soon, Steps, Task

# Milliseconds after a comparison in which nothing else has begun.
_IDLE = 300

NO_COMPARISON = "A and B have not been compared yet."


class ExplanationTask(Task[Explanation]):
    """Explains the last comparison that has succeeded, which a run that fails after it outdates and does not remove."""

    def __init__(self, choices: Choices, comparison: ComparisonTask) -> None:
        super().__init__(choices)
        self.comparison = comparison
        self.explored: Comparison | None = None
        self.headline: Headline | None = None  #: the answer in a sentence, known before the explanation
        self.unasked = False  #: it is run as soon as there is a comparison and nothing else is under way
        self._idle = Soon(self._begin_unasked, _IDLE)

    def why_not(self) -> str:
        return "" if self.explored is not None else NO_COMPARISON

    def work(self, sources: Sources = ((), ())) -> Callable[[], Explanation]:
        """Explain what the comparison has learned; the layers are not looked at again."""
        assert self.explored is not None
        return partial(explain, self.explored)

    def steps_of_run(self) -> Steps:
        if self.headline is None and self.explored is not None:
            self.headline = yield partial(headline, self.explored)
            self.changed.emit()
        outcome = yield self.work()
        yield from self.take(outcome)

    def explain_unasked(self, unasked: bool) -> None:
        """Explain every comparison without being asked, or only when asked."""
        self.unasked = unasked
        self._idle.start()

    def _begin_unasked(self) -> None:
        known = self.result is not None or self.failed or self.message == CANCELLED
        if self.unasked and self._following and not (known or self.comparison.busy):
            self.run()

    def take(self, outcome: Explanation) -> Iterable[None]:
        """Keep the explanation, of what is known of the comparison by now."""
        assert self.explored is not None
        self.result = replace(outcome, comparison=self.explored)
        return ()

    def fail_beside(self, reason: str) -> None:
        """Take note why there is no report; the explanation stays."""
        self.message = f"⚠ {reason}"

    def save_report(self, path: Path) -> None:
        if self.result is not None and not self.busy:
            self.message = ""
            self.start(partial(saving_report, self.result, path), self._saved)

    def _saved(self, path: Path) -> Iterable[None]:
        self.message = f"Report saved: {path.name}"
        return ()

    def changed_since(self) -> list[str]:
        """What has changed since the comparison was made, in words; nothing while it is made anew."""
        if self.explored is None or self.comparison.running:
            return []
        if self.comparison.result is not self.explored:
            return ["the run after it has failed"]
        basis, layers = self.comparison.basis, self.choices.viewer.layers
        if basis is not None and any(ref() not in layers for ref in itertools.chain(*basis.layers)):
            return ["a layer was deleted"]
        return self.comparison.changed_since()

    def follow(self) -> None:
        """Tell when the layers of the comparison are changed, whether or not its own dock is open."""
        if not self._following:
            self._following = True
            self.comparison.changed.connect(self._compared)
            self._compared()
        super().follow()

    def rest(self) -> None:
        super().rest()
        self.comparison.changed.disconnect(self._compared, missing_ok=True)

    def _watch(self) -> None:
        self.basis = self.comparison.basis
        super()._watch()

    def selected_row(self) -> int | None:
        """Row, among the pooled ones, of the one curve that is selected in the viewer; None where there is none."""
        layer, explored = self.choices.viewer.layers.selection.active, self.explored
        if explored is None:
            return None
        if not (isinstance(layer, Shapes) and len(layer.selected_data) == 1 and MARK in layer.metadata):
            picked = self.comparison.selection.rows
            return int(picked[0]) if len(picked) == 1 and self.comparison.result is explored else None
        if not {"id", "source"} <= set(layer.features):
            return None
        features = layer.features.iloc[next(iter(layer.selected_data))]
        known: Any = layer.metadata[MARK]
        side = known.get("source") if isinstance(known, dict) else None
        for letter, ensemble, first in (("A", explored.a, 0), ("B", explored.b, len(explored.a))):
            found = np.flatnonzero(ensemble.ids == features["id"])
            if len(found) and (side == letter if side else features["source"] == ensemble.name):
                return first + int(found[0])
        return None

    def _compared(self) -> None:
        found, before = self.comparison.last, self.explored
        if found is not None and found is not before:
            self.explored = found
            if before is None or not same_data(before, found):
                self.cancel()
                self.result, self.headline, self.message, self.failed = None, None, "", False
            elif self.result is not None:
                self.result = replace(self.result, comparison=found)
            if self._following:
                self._watch()
        if self.unasked:
            if self.comparison.running:  # the processor is wanted there
                self.cancel()
                self.message = ""
            else:
                self._idle.start()
        self.changed.emit()


def same_data(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons have curves, settings and coordinates in common, whatever else is known of them."""
    return all(getattr(one, name) is getattr(other, name) for name in ("a", "b", "settings", "space", "t", "l"))
