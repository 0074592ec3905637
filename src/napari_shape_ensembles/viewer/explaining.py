"""The explanation of a comparison: why A and B differ, computed in the background and cached for the same data."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Shapes

from ..comparison import Comparison
from ..comparison.display import MARK
from ..explanation import Explanation, explain, resynthesis
from ..explanation.headline import Headline, headline
from ..explanation.swaps import Swap
from .choices import Choices
from .comparing import ComparisonTask, write_explanation_report
from .debouncing import Debouncer
from .inputs import Sources
from .task import CANCELLED, JobSteps, RunInputs, Task

# Idle time after a comparison before the explanation starts, in milliseconds.
_IDLE_MS = 300

NO_COMPARISON = "The groups have not been compared yet."


class ExplanationTask(Task[Explanation]):
    """Explains the last successful comparison; a later run that fails marks it as out of date, but keeps it."""

    def __init__(self, choices: Choices, comparison: ComparisonTask) -> None:
        super().__init__(choices)
        self.comparison = comparison
        self.explained_comparison: Comparison | None = None
        self.swaps: tuple[Swap, ...] = ()  #: the control experiment, if it was requested
        self.headline: Headline | None = None  #: the answer in a sentence, computed before the explanation
        self._names = ("", "")  # of the groups in the headline
        self.automatic = False  #: whether to run automatically after each comparison, when idle
        self._idle_debouncer = Debouncer(self._begin_automatically, _IDLE_MS)

    def blocking_reason(self) -> str:
        if self.explained_comparison is not None:
            return ""
        return f"{NO_COMPARISON} {self.comparison.blocking_reason()}".strip()

    def main_job(self) -> JobSteps:
        """Do the work without copying the layers: the comparison has their outlines."""
        return self.work(((), ()), self.current_inputs())

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Find the headline if it is not known, then the explanation."""
        assert self.explained_comparison is not None
        if self.headline is None:
            yield from self._find_headline()
        outcome: Explanation = yield partial(explain, self.explained_comparison)
        self.result = replace(outcome, comparison=self.explained_comparison)  # which may have gained results by now
        if self._names != self.explained_comparison.names:  # an image was renamed meanwhile
            yield from self._find_headline()

    def _find_headline(self) -> JobSteps:
        assert self.explained_comparison is not None
        self._names = self.explained_comparison.names
        self.headline = yield partial(headline, self.explained_comparison)
        self.changed.emit()

    def set_automatic(self, automatic: bool) -> None:
        self.automatic = automatic
        self._idle_debouncer.start()

    def _begin_automatically(self) -> None:
        known = self.result is not None or self.failed or self.message == CANCELLED
        explained = self.explained_comparison
        if not (self.automatic and self._active) or self.comparison.busy:
            return
        if not known:
            self.run()
        elif explained is not None and self.headline is not None and self._names != explained.names and not self.busy:
            self.begin(self._supervised(self._find_headline(), self.on_secondary_job_failed))

    def on_secondary_job_failed(self, reason: str) -> None:
        """Report why there is no report file; the explanation is kept."""
        self.message = f"⚠ {reason}"

    def save_report(self, path: Path) -> None:
        if self.result is not None and not self.busy:
            self.message = ""
            self.start_secondary_job(partial(write_explanation_report, self.result, path, self.swaps), self._on_saved)

    def run_control(self) -> None:
        if self.explained_comparison is not None and not self.busy:
            self.message = ""
            self.start_secondary_job(partial(resynthesis, self.explained_comparison), self._on_swapped)

    def _on_swapped(self, swaps: tuple[Swap, ...]) -> None:
        self.swaps = swaps

    def _on_saved(self, path: Path) -> None:
        self.message = f"Report saved: {path.name}"

    def changed_since(self) -> list[str]:
        """Describe what has changed since the comparison; empty while it is being repeated."""
        if self.explained_comparison is None or self.comparison.running:
            return []
        if self.comparison.result is not self.explained_comparison:
            return ["the later run failed"]
        return self.comparison.changed_since()

    def activate(self) -> None:
        """Follow changes of the comparison's layers, even if its own dock is closed."""
        if not self._active:
            self._active = True
            self.comparison.changed.connect(self._on_comparison_changed)
            self._on_comparison_changed()
        super().activate()

    def deactivate(self) -> None:
        super().deactivate()
        self.comparison.changed.disconnect(self._on_comparison_changed, missing_ok=True)

    def _watch_layers(self) -> None:
        self.run_inputs = self.comparison.inputs_shown
        super()._watch_layers()

    def selected_row(self) -> int | None:
        """Return the pooled index of the single curve selected in the viewer, or None."""
        layer, explored = self.choices.viewer.layers.selection.active, self.explained_comparison
        if explored is None:
            return None
        if not (isinstance(layer, Shapes) and len(layer.selected_data) == 1 and MARK in layer.metadata):
            picked = self.comparison.selection.rows
            return int(picked[0]) if len(picked) == 1 and self.comparison.result is explored else None
        if not {"id", "sample"} <= set(layer.features):
            return None
        features = layer.features.iloc[next(iter(layer.selected_data))]
        known: Any = layer.metadata[MARK]
        side = known.get("source") if isinstance(known, dict) else None
        for letter, ensemble, first in (("A", explored.a, 0), ("B", explored.b, len(explored.a))):
            found = np.flatnonzero(ensemble.ids == features["id"])
            if len(found) and (side == letter if side else features["sample"] == ensemble.name):
                return first + int(found[0])
        return None

    def _on_comparison_changed(self) -> None:
        found, before = self.comparison.last_result, self.explained_comparison
        if found is not None and found is not before:
            self.explained_comparison = found
            if before is None or not same_data(before, found):
                self.cancel()
                self.result, self.headline, self.swaps, self.message, self.failed = None, None, (), "", False
            elif self.result is not None:
                self.result = replace(self.result, comparison=found)
            if self._active:
                self._watch_layers()
        if self.automatic:
            if self.comparison.running:  # leave it the processor
                self.cancel()
                self.message = ""
            else:
                self._idle_debouncer.start()
        self.changed.emit()


def same_data(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons share curves, settings and coordinates, regardless of further results."""
    return all(getattr(one, name) is getattr(other, name) for name in ("a", "b", "settings", "space", "t", "l"))
