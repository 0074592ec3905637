"""The comparison of the two samples: its runs, the result that is shown, and what can be done with it."""

import itertools
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Shapes
from psygnal import Signal

from ..comparison import INCONCLUSIVE, Comparison
from ..comparison.display import MARK
from .choices import Choices
from .color_features import COLOR_FEATURES
from .curves.selection import CurveSelection, LayerLink
from .curves.side_by_side import SideBySide
from .layers import CLIPPED, OwnLayers, complete, is_whole, opened_pairs, repaint
from .runner import Turn
from .shown import Shown
from .sides import LayersOfSides, Sources, own_ids
from .soon import Soon
from .task import CANCELLED, Task
from .work import Opened, Outcome, Robustness, checking, compared, exporting, opening, restoring, saving, writing_report

_BEFORE = f"{CANCELLED} This is the result of the run before."


class ComparisonTask(Task[Comparison]):
    """Compares A and B, and keeps what is shown of the result.

    Attributes
    ----------
    shown : Shown or None
        The result with all that is known of it.
    unsaved : bool
        It can be found nowhere else.
    arrived : bool
        It is new, and has not been brought into view yet.
    kept : Shown or None
        An unsaved result that another has replaced; `bring_back` shows it again.
    color_by, percentile
        The column of `COLOR_FEATURES` by which curves are filled, and the percentile at which the colours end.
    curves : OwnLayers
        The layers of curves in the viewer.
    selection : CurveSelection

    Signals
    -------
    noted : (str, str)
        There is something to say of a file or of another task: the sentence, and more for its tooltip.
    recolored
        The curves are filled by something else, or anew.
    """

    noted = Signal(str, str)
    recolored = Signal()

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        viewer = choices.viewer
        self.shown: Shown | None = None
        self.kept: Shown | None = None
        self.unsaved = self.arrived = False
        self.color_by, self.percentile = "product", CLIPPED
        self._layers = viewer.layers
        self.curves = OwnLayers(viewer)
        self.selection = CurveSelection()
        self.link = LayerLink(viewer, self.curves, self.selection)
        self.side_by_side = SideBySide(viewer)
        self._seen: weakref.WeakSet[Comparison] = weakref.WeakSet()
        self._looking = Soon(self.look)
        choices.exclusions.changed.connect(self._show_excluded)
        choices.sides.listed.connect(self._looking.start)

    # The run.

    def why_not(self) -> str:
        """Why A and B cannot be compared; empty when they can."""
        return self.choices.sides.why_not()

    def layers(self) -> LayersOfSides:
        """The layers of A and those of B."""
        return self.choices.sides.chosen()

    def run(self) -> None:
        """Copy what the layers show, and compare it in the background."""
        self.noted.emit("", "")
        self.arrived = False
        super().run()

    @property
    def running(self) -> bool:
        """Whether a comparison is under way whose result is not there yet."""
        return super().running and not self.arrived

    def work(self, sources: Sources) -> Callable[[], Outcome]:
        """All the way from copied layers to painted curves."""
        assert self._next is not None
        return partial(compared, sources, *self.parts(), self._next.excluded)

    def arriving(self, outcome: Any) -> list[Turn]:
        """Put the curves into the viewer, one layer after another, in place of those before."""
        layers = outcome.layers if isinstance(outcome, Outcome | Opened) else []
        new = not isinstance(outcome, Opened) or outcome.new
        return [*self.curves.replacing(layers, new=new)] if layers else []

    def take(self, outcome: Outcome) -> list[Turn]:
        """Show the result of a run."""
        assert self._next is not None
        self.kept = None
        return self.showing(Shown.of_run(outcome.result, self._next, outcome.sources))

    def fail(self, reason: str) -> None:
        """A run that failed leaves no result; anything else leaves the one that is there."""
        if self._then != self.take:
            self.noted.emit(f"⚠ {reason}", "")
            return
        super().fail(reason)
        self._keep_unsaved()
        self.shown = self.result = self.basis = None
        self.arrived = True
        self.side_by_side.restore()

    def left(self) -> None:
        """Say what is shown after something was cancelled."""
        if self._then != self.take:
            self.noted.emit(CANCELLED, "")
        else:
            self.message = CANCELLED if self.result is None else _BEFORE
        self._looking.start()

    @property
    def state(self) -> str:
        """As that of any task, and inconclusive."""
        state = super().state
        inconclusive = state == "done" and self.result is not None and self.result.case == INCONCLUSIVE
        return INCONCLUSIVE if inconclusive else state

    def changed_since(self) -> list[str]:
        """What has changed since the result was found, in words."""
        return [] if self.running else super().changed_since()

    def rest(self) -> None:
        """Listen to nothing, and stop what is under way."""
        super().rest()
        self.side_by_side.restore()
        self.link.rest()

    def follow(self) -> None:
        """Tell when the result is outdated, and tie the curves in the viewer to the selection."""
        super().follow()
        self.link.link()

    def _settle(self) -> None:
        super()._settle()
        self._show_excluded()
        self._looking.start()

    # What is shown.

    def showing(self, shown: Shown, *, unsaved: bool = True) -> list[Turn]:
        """The turns that show another result, one that can be found nowhere else or one that can."""
        return [partial(self._show, shown, unsaved), self.recolor]

    def _show(self, shown: Shown, unsaved: bool) -> None:
        self.shown, self.result, self.basis = shown, shown.result, shown.basis
        self.unsaved, self.message, self.failed, self.arrived = unsaved, "", False, True
        self.selection.pick([])
        self.link.link()
        if self.side_by_side.on:
            self.arrange(True)
        self.changed.emit()

    def recolor(self) -> None:
        """Fill the curves that are still there by what is chosen."""
        if self.result is not None:
            limits = self.limits()
            for layer in self.curves:
                repaint(layer, self.color_by, limits)
        self.recolored.emit()

    def limits(self) -> tuple[float, float]:
        """The ends of the colour scale."""
        assert self.result is not None
        feature = COLOR_FEATURES[self.color_by]
        return feature.limits(feature.values(self.result), self.percentile)

    def color(self, column: str, percentile: int) -> None:
        """Fill the curves by another column."""
        if (column, percentile) != (self.color_by, self.percentile):
            self.color_by, self.percentile = column, percentile
            self.recolor()

    def arrange(self, side_by_side: bool) -> None:
        """Show A beside B, or everything as before."""
        if side_by_side and self.shown is not None:
            curves = self.curves.in_places()
            refs = [] if self.basis is None else list(itertools.chain(*self.basis.layers))
            self.side_by_side.arrange([ref() for ref in refs] or [None for _ in curves], curves)
        else:
            self.side_by_side.restore()

    # Curves left out.

    def exclude(self, row: int) -> None:
        """Leave a curve of the result out of the next run, or take it in again."""
        if self.result is None:
            self.noted.emit("⚠ There is no result any more. Run compares the layers anew.", "")
            return
        side = int(row >= len(self.result.a))
        sample, first = ((self.result.a, 0), (self.result.b, len(self.result.a)))[side]
        place, one = own_ids(sample)[row - first]
        layer = None if self.basis is None else self.basis.layers[side][place]()
        if self.basis is None or layer is None:
            words = "⚠ Curves can be left out only of layers that are in the viewer. Run compares them anew."
            self.noted.emit(words, "")
            return
        self.choices.exclusions.toggle(layer, one, self.basis.recipe)

    def excluded_rows(self) -> frozenset[int]:
        """Rows, among the pooled ones, of the curves of the result that are left out of the next run."""
        if self.result is None or self.basis is None:
            return frozenset()
        flags: list[bool] = []
        for sample, refs in zip((self.result.a, self.result.b), self.basis.layers, strict=True):
            out = self.choices.exclusions.of([ref() for ref in refs], self.basis.recipe)
            flags += [one in out[place] for place, one in own_ids(sample)]
        return frozenset(np.flatnonzero(flags).tolist())

    def _show_excluded(self) -> None:
        """Mark in the layers which curves are left out."""
        if self.curves.mark_excluded(self.excluded_rows()):
            self.recolor()

    # Files.

    def save(self, path: Path) -> None:
        """Save the result to one file."""
        if self.shown is not None:
            self.start(partial(saving, self.shown, self.color_by, path), self._saved)

    def _saved(self, paths: list[Path]) -> list[Turn]:
        self.unsaved = False
        return self.written(paths)

    def export(self, path: Path) -> None:
        """Write the curves of A and of B."""
        if self.shown is not None:
            self.start(partial(exporting, self.shown, path), self.written)

    def report(self, path: Path) -> None:
        """Explain the result, and write that."""
        if self.result is not None:
            self.start(partial(writing_report, self.result, path), self.written)

    def written(self, paths: list[Path]) -> list[Turn]:
        """Say which files were written."""
        self.noted.emit(*written(paths))
        return []

    def check(self) -> None:
        """Test how robust the result is."""
        if self.result is not None:
            self.start(partial(checking, self.result), self._judge)

    def _judge(self, found: Robustness) -> list[Turn]:
        self.noted.emit("", "")
        return [] if self.shown is None else self.showing(found.judged(self.shown))

    def open(self, path: Path) -> None:
        """Show a result out of a file."""
        self.start(partial(opening, path), self.take_up)

    def bring_back(self) -> None:
        """Show the unsaved result again that another one has replaced."""
        if self.kept is not None:
            self.start(partial(restoring, self.kept), self._brought_back)

    def _brought_back(self, opened: Opened) -> list[Turn]:
        """Show what was kept; what is shown now, if it is unsaved too, is kept in its place."""
        before, parts = self.kept, self.take_up(opened)
        if self.kept is before:
            self.kept = None
        return [*parts, self._mark_unsaved]

    def _mark_unsaved(self) -> None:
        self.unsaved = True

    def _keep_unsaved(self) -> None:
        """Keep a result that can be found nowhere else at hand, before another takes its place."""
        if self.unsaved and self.shown is not None:
            self.kept = replace(self.shown, view=self.shown.to_view(self.color_by))

    def look(self) -> None:
        """Take up a comparison whose layers, A's and B's, were opened in the viewer; each once."""
        new = [(result, pair) for result, pair in opened_pairs(self._layers).items() if result not in self._seen]
        for layer in itertools.chain.from_iterable(pair for _, pair in new):
            layer.editable = False  # or a curve could be deleted before its numbers are known
        if new and self.busy:  # it looks again when it rests
            self.noted.emit("The comparison that was opened is shown after this run.", "")
        elif new:
            self._seen.update(result for result, _ in new)
            self._restore(*new[-1])

    def _restore(self, result: Comparison, layers: list[Shapes]) -> None:
        view, path = layers[0].metadata[MARK].get("view", {}), str(layers[0].source.path or "")
        try:
            shown = Shown.of_file(result, view, path)
        except ValueError as error:
            self.noted.emit(f"⚠ {error}", "")
        else:
            self.start(partial(restoring, shown, layers), self.take_up)

    def take_up(self, opened: Opened) -> list[Turn]:
        """Show a result with its choices and its colours, in turns; its layers are in the viewer."""
        self._seen.add(opened.shown.result)
        if not is_whole(opened.shown.result, opened.layers):
            self.noted.emit("⚠ Its layers were changed meanwhile: open the comparison again.", "")
            return []
        self.noted.emit("", "")
        self._keep_unsaved()
        shown = opened.shown.tied(self.choices.viewer)
        ready = partial(self._make_ready, shown, opened.layers)
        return [ready, *self.showing(shown, unsaved=False), partial(self._choose, shown)]

    def _make_ready(self, shown: Shown, layers: list[Shapes]) -> None:
        complete(layers, shown.result)
        painted = str(shown.view.get("painted"))
        self.color_by = painted if painted in COLOR_FEATURES else "product"

    def _choose(self, shown: Shown) -> None:
        """Choose what the result was made from, as far as it is known."""
        self.choices.set(shown.recipe or self.choices.recipe, shown.result.settings)
        sides = None if shown.basis is None else shown.basis.alive()
        if shown.basis is not None and sides is not None:
            self.choices.sides.choose(*sides)
            self.choices.exclusions.put(sides, shown.excluded, shown.basis.recipe)


def written(paths: list[Path]) -> tuple[str, str]:
    """Which files were written, in words, and their whole names."""
    names, folder = " and ".join(path.name for path in paths), paths[0].absolute().parent
    return f"Saved {names} in {folder}", "\n".join(str(path.absolute()) for path in paths)
