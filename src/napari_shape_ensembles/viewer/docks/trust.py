"""The page *Trust* of the bench: one-at-a-time sensitivity analysis, as a plot and a sentence."""

from napari.components import ViewerModel

from ..displayed_result import doubts_of
from ..panels.choices import ChoicePicture
from ..panels.widgets import WrappedLabel, headline_label, scrolling
from ..session import Session
from .base import ChoicesLine, PairChoice, TaskPage

_WHAT = "About thirty comparisons of the two groups, each with one choice changed."


class TrustPage(TaskPage):
    """Shows how often the truth-table row is unchanged when one setting (smoothing, method, rank, …) is changed."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = Session.of(napari_viewer).trust
        super().__init__(
            napari_viewer,
            task,
            "Tr&y other choices",
            run="Compare again with one choice changed at a time; takes about thirty comparisons",
            run_again="Try the choices again, on the current samples",
        )
        self.sentence, self.exceptions = headline_label(), WrappedLabel()
        self.message, self.notes = WrappedLabel(), WrappedLabel()
        self.picture = ChoicePicture()
        self.position = WrappedLabel()
        self.position.setToolTip("Where shape depends on position, images of two places differ for that reason alone.")
        self.comparison = self.session.comparison
        self.link(self.session.position.changed, self._show_position)
        self.link(self.comparison.changed, self.show_result)
        self.pair = PairChoice(self)
        state = self.pair, self.reason, self.step, self.progress, self.stale, self.message
        said = self.sentence, self.exceptions
        self.findings = *said, self.picture
        self.line = ChoicesLine(self, "recipe", "settings")
        scrolling(self, *said, self.buttons(), *state, self.picture, self.position, self.notes, self.line)
        self.attach()

    def _show_position(self) -> None:
        self.position.show_text(self.session.position.sentence)

    def show_result(self) -> None:
        self.session.position.run_once()
        self._show_position()
        result = self.result
        first, *others = [""] if result is None else [*result.statements(), *filter(None, [result.note])]
        self.sentence.setText(f"{first[:1].upper()}{first[1:]}.")
        self.sentence.setVisible(result is not None)
        self.exceptions.show_text("\n".join(f"• {words[0].upper()}{words[1:]}." for words in others))
        self.message.show_text("" if self.busy else self.task.message or (_WHAT if result is None else ""))
        self.picture.show_study(result)
        self.picture.setVisible(result is not None)
        # Not beside *Run again*, but after a cancelled run, which leaves a partial result.
        self.run_button.setVisible(self.stale.isHidden() and (self.state != "done" or bool(self.task.message)))
        shown = self.comparison.result
        doubts = [] if shown is None else doubts_of(shown)
        archetypes = [] if result is None else [one.case for one in result.choices if one.name == "archetype"]
        if result is not None and archetypes and {*archetypes} == {result.used.case}:  # tried, with the same row
            doubts = [words for words in doubts if "in two ways" not in words]
        self.notes.show_text("\n".join(doubts))
        for part in (self.position, self.notes):  # they are about the answer, which may be out of date
            part.setEnabled(self.comparison.state != "stale")
