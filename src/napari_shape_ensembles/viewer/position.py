"""A check for comparisons of single images: does shape depend on the position within the image?"""

import weakref
from functools import partial

from psygnal import Signal

from ..comparison import Comparison, PositionDependence, position_dependence
from .comparing import ComparisonTask
from .task import Background, Steps, in_words


class PositionLight(Background):
    """Tests the current comparison for position dependence, on request."""

    changed = Signal()

    def __init__(self, comparison: ComparisonTask) -> None:
        super().__init__()
        self.comparison = comparison
        self.words = ""  #: result in a sentence; empty if not tested, as for replicated images
        self._seen: weakref.ref[Comparison] | None = None

    def look(self) -> None:
        """Test the current comparison, unless already done."""
        result = self.comparison.result
        if result is None or self.comparison.busy or (self._seen is not None and self._seen() is result):
            return
        self._seen = weakref.ref(result)
        self.comparison.changed.connect(self._compared, unique=True)
        if max(result.image_counts) == 1:
            self.begin(self._tested(result))

    def _tested(self, result: Comparison) -> Steps:
        self._say("… Position within the images")
        try:
            found = yield partial(position_dependence, result)
        except ValueError as error:
            self._say(f"Position within the images is not tested: {in_words(error)}.")
        else:
            self._say(in_a_line(found))

    def _say(self, words: str) -> None:
        self.words = words
        self.changed.emit()

    def _compared(self) -> None:
        if self._seen is not None and self._seen() is not self.comparison.result:
            self.cancel()
            self._seen, self.words = None, ""
            self.changed.emit()


def in_a_line(found: PositionDependence) -> str:
    """Return the result in a line, marked by a symbol rather than a color."""
    return f"{'⚠' if found.rejected else '✓'} {found.sentence()}"
