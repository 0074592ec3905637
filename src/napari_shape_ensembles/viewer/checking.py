"""Checks of an answer in the background: suspect outlines, outlines that decide, other choices, and the position."""

import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import chain

from napari.layers import Layer
from psygnal import Signal

from ..comparison import Comparison, position_dependence
from ..comparison.answer import names_of
from ..comparison.fragility import Without
from ..comparison.position import PositionDependence, not_tested
from ..comparison.sensitivity import influence
from ..comparison.verdict import INCONCLUSIVE
from ..inspection import rank_suspects
from ..outlines import Outlines
from ..outlines.tracing import label_plane
from ..progress import report
from .comparing import ComparisonTask, prepared_again
from .debouncing import Debouncer
from .displayed_result import DisplayedResult
from .inputs import Source, trace
from .studying import ChoiceTask
from .task import JobRunner, JobSteps

# Idle time after a comparison and its explanation before the checks begin, in milliseconds.
_IDLE_MS = 1000
# Reasons, by their first words, for which an outline looks wrong, and how they are said in a count.
_WRONG = {
    "cut": "cut",
    "dented": "dented",
    "two objects in one": "merged",
    "one object in two": "split",
    "hole": "with holes",
    "stray": "stray",
    "leak": "leaking",
}
# Score from which a suspect is counted.
_LEAST_SCORE = 0.5


class CheckingTask(JobRunner):
    """Checks each new answer when idle, and adds what it finds to the result: `Comparison.checks`.

    Attributes
    ----------
    suspects : list of dict
        For each compared image, A's before B's: the suspect outlines by id, with their reason.
    """

    def __init__(self, comparison: ComparisonTask, choices_task: ChoiceTask) -> None:
        super().__init__()
        self._comparison, self._trust = comparison, choices_task
        self.automatic = False  #: whether to run after each comparison
        self.suspects: list[dict[str, str]] = []
        self._checked: Comparison | None = None  # the result with the checks done so far
        self._earlier: tuple[tuple[str, int], ...] = ()
        self._idle_debouncer = Debouncer(self._begin_automatically, _IDLE_MS)
        comparison.changed.connect(self._on_comparison_changed)
        choices_task.changed.connect(self._take_choices)

    def set_automatic(self, automatic: bool) -> None:
        self.automatic = automatic
        if automatic:
            self._idle_debouncer.start()
        else:
            self.cancel()

    def _on_comparison_changed(self) -> None:
        if self._comparison.running:  # leave it the processor
            self.cancel()
        elif self.automatic and self._comparison.result is not self._checked:
            self._idle_debouncer.start()

    def _begin_automatically(self) -> None:
        shown = self._comparison.shown
        if self.busy or not self.automatic or self._comparison.busy or shown is None:
            return
        if shown.result is self._checked:
            return
        if shown.sources is None or shown.recipe is None or shown.result.checks.without:  # opened, or checked
            self._checked = shown.result
            return
        self.begin(self._job(shown, shown.recipe))

    def _job(self, shown: DisplayedResult, recipe: Outlines) -> JobSteps:
        """Find the suspects first, which are quick; then leave out single outlines; then try other choices."""
        assert shown.sources is not None
        try:
            self.suspects = yield partial(suspects_of, [*chain(*shown.sources)], recipe, shown.result)
            counts = tuple(self._counted(shown))
            known = replace(shown.result.checks, suspects=counts, earlier=self._before(shown))
            self._checked = shown.result  # so that the next steps are not begun twice
            shown = yield from self._take(shown, replace(shown.result, checks=known))
            if shown.result.case == INCONCLUSIVE:
                return
            without: tuple[Without, ...] = yield partial(influence, shown.result)
            known = replace(shown.result.checks, without=without)
            yield from self._take(shown, replace(shown.result, checks=known))
        except ValueError:  # an image that cannot be inspected, or a comparison without a result: nothing is known
            return
        if self.automatic and not self._trust.busy and not self._trust.blocking_reason():
            self._trust.run()

    def _take(self, shown: DisplayedResult, result: Comparison) -> JobSteps:
        """Show the result with its checks, unless another one is shown by now."""
        shown = yield partial(prepared_again, replace(shown, result=result))
        if self._comparison.result is self._checked:
            self._checked = shown.result
            self._comparison.take_checks(shown)
        return shown

    def _counted(self, shown: DisplayedResult) -> Iterable[tuple[str, str, int]]:
        assert shown.sources is not None
        first = len(shown.sources[0])
        for name, own in zip(names_of(shown.result), (self.suspects[:first], self.suspects[first:]), strict=True):
            counts = Counter(chain.from_iterable(one.values() for one in own))
            yield from ((name, reason, count) for reason, count in counts.most_common())

    def _before(self, shown: DisplayedResult) -> tuple[tuple[str, int], ...]:
        """Return the rows of earlier answers with fewer outlines excluded by hand, oldest first; and keep this one."""
        count = 0 if shown.used is None else sum(map(len, shown.used.excluded))
        earlier = tuple(one for one in self._earlier if one[1] < count)
        self._earlier = (*earlier, (shown.result.case, count))
        return earlier if count else ()

    def _take_choices(self) -> None:
        """Add the finished study of other choices to the result of the same inputs."""
        study, shown = self._trust.result, self._comparison.shown
        if study is None or shown is None or self._trust.busy or self._trust.changed_since() or study.missing:
            return
        if self._comparison.busy or shown.result.case != study.used.case:
            return
        judged = study.judged(shown.result)
        if judged.checks != shown.result.checks and not self.busy:
            self._checked = shown.result
            self.begin(self._take(shown, judged))

    def leave_out(self) -> None:
        """Exclude all suspect outlines, of all images alike, from the next run."""
        if (used := self._comparison.inputs_shown) is None:
            return
        exclusions = self._comparison.choices.exclusions
        for ref, own, out, plane in zip(used.refs, self.suspects, used.excluded, used.planes, strict=False):
            if isinstance(layer := ref(), Layer):
                exclusions.put(layer, {*own} - out, used.recipe, plane)
        exclusions.changed.emit()


class PositionCheck(JobRunner):
    """Tests, on request, whether shape depends on the position within the images: of single images, not of several."""

    changed = Signal()

    def __init__(self, comparison: ComparisonTask) -> None:
        super().__init__()
        self._comparison = comparison
        self.sentence = ""  #: result in a sentence; empty if not tested, as for replicated images
        self._tested: Callable[[], Comparison | None] = lambda: None

    def run_once(self) -> None:
        """Test the current comparison, unless already done."""
        result = self._comparison.result
        if result is self._tested() or self._comparison.busy:
            return
        self.cancel()
        self._set_sentence("")
        self._tested = (lambda: None) if result is None else weakref.ref(result)
        if result is not None and max(result.image_counts) == 1:
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


def suspects_of(sources: list[Source], recipe: Outlines, result: Comparison) -> list[dict[str, str]]:
    """Return the suspect outlines of each image by id, with their reason; found without regard to groups or answer."""
    compared = [
        set(own.ids[own.images == one].astype(str).tolist())
        for own in (result.a, result.b)
        for one in dict.fromkeys(own.images.tolist())
    ]
    found = []
    for place, source in enumerate(sources):
        report(f"inspecting {source.name}", place, len(sources))
        if source.kind == "image":
            ranking = rank_suspects(recipe.labels(source.data), source.data)
        elif source.kind == "labels":
            ranking = rank_suspects(label_plane(source.data))
        else:
            ranking = rank_suspects(trace(source, recipe))
        own = compared[place] if len(compared) == len(sources) else None
        rows = zip(ranking["label"].astype(str), ranking["score"], ranking["reasons"], strict=True)
        named = {
            label: word
            for label, score, reasons in rows
            if score >= _LEAST_SCORE
            and (own is None or label in own)
            and (word := next((word for start, word in _WRONG.items() if reasons.startswith(start)), ""))
        }
        found.append(named)
    return found
