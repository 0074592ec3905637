"""A check for comparisons of single images: does shape depend on the position within the image?"""

import weakref
from functools import partial

from psygnal import Signal

from ..comparison import Comparison, position_dependence
from ..comparison.position import PositionDependence, not_tested
from .comparing import ComparisonTask
from .task import JobRunner, JobSteps


class PositionCheck(JobRunner):
    """Tests the current comparison for position dependence, on request."""

    changed = Signal()

    def __init__(self, comparison: ComparisonTask) -> None:
        super().__init__()
        self.comparison = comparison
        self.sentence = ""  #: result in a sentence; empty if not tested, as for replicated images
        self._tested_result: weakref.ref[Comparison] | None = None

    def run_once(self) -> None:
        """Test the current comparison, unless already done."""
        result = self.comparison.result
        if (
            result is None
            or self.comparison.busy
            or (self._tested_result is not None and self._tested_result() is result)
        ):
            return
        self._tested_result = weakref.ref(result)
        self.comparison.changed.connect(self._on_comparison_changed, unique=True)
        if max(result.image_counts) == 1:
            self.begin(self._test_job(result))

    def _test_job(self, result: Comparison) -> JobSteps:
        self._set_sentence("… Position within the images")
        try:
            found: PositionDependence = yield partial(position_dependence, result)
        except ValueError as error:
            self._set_sentence(not_tested(error))
        else:
            self._set_sentence(f"{'⚠' if found.rejected else '✓'} {found.sentence()}")

    def _set_sentence(self, words: str) -> None:
        self.sentence = words
        self.changed.emit()

    def _on_comparison_changed(self) -> None:
        if self._tested_result is not None and self._tested_result() is not self.comparison.result:
            self.cancel()
            self._tested_result, self.sentence = None, ""
            self.changed.emit()
