"""The experiment: all groups of the design table compared, with the replicate as what is exchangeable."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from ..comparison import Experiment, Settings, experiment
from ..outlines import Outlines
from ..outlines.extract import at_one_pixel_size
from ..progress import as_part
from .choices import Choices
from .designing import DesignTable, frame_of
from .inputs import Excluded, Sources, trace
from .task import Basis, Task


@dataclass(frozen=True, eq=False)
class ExperimentAnswer:
    """An experiment with what the page shows of it: finding it takes longer than a window may stand still."""

    experiment: Experiment
    sentences: tuple[str, ...]  #: whether groups differ at all, and trends
    contrasts: tuple[str, ...]  #: a sentence for each pair of groups
    notes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  #: contrast, row of the truth table, p of form and of scale, ratio of size


class ExperimentTask(Task[ExperimentAnswer]):
    """Compares the groups of the design table."""

    def __init__(self, choices: Choices, design: DesignTable) -> None:
        super().__init__(choices)
        self.design = design
        design.changed.connect(self._look)

    def why_not(self) -> str:
        return self.design.why_not()

    def chosen(self) -> Basis:
        """All layers that have a group, as if of one sample, and the table."""
        choices, layers = self.choices, [layer for own in self.design.groups().values() for layer in own]
        excluded = choices.exclusions.of(layers, choices.recipe)
        more = {"the design table": self.design.rows()}
        return Basis((tuple(map(weakref.ref, layers)), ()), choices.recipe, choices.settings, excluded, more)

    def work(self, sources: Sources) -> Callable[[], ExperimentAnswer]:
        assert self._next is not None
        rows = self._next.more["the design table"]
        assert isinstance(rows, tuple)
        return partial(experimented, sources, self._next.recipe, self._next.settings, self._next.excluded, rows)

    def take(self, outcome: ExperimentAnswer) -> Iterable[None]:
        self._put(outcome)
        return ()


def experimented(
    sources: Sources, recipe: Outlines, settings: Settings, excluded: Excluded, rows: tuple[tuple[str, ...], ...]
) -> ExperimentAnswer:
    """Trace the copied images, compare their groups, and put into words what was found."""
    images, ensembles, total = list(chain(*sources)), [], 2 * len(list(chain(*sources))) + 10
    for place, (source, ids) in enumerate(zip(images, excluded, strict=True)):
        with as_part(2 * place, total):
            found = trace(source, recipe)
        ensembles.append(found.subset(np.array([str(one) not in ids for one in found.ids.tolist()], dtype=bool)))
    first, rest, note = at_one_pixel_size(ensembles[:1], ensembles[1:])
    ensembles = [*first, *rest]
    with as_part(2 * len(images), total):
        result = experiment(ensembles, frame_of(rows), settings)
        table = result.table
    notes = (*([f"{note}."] if note else []), *result.warnings)
    level = settings.significance
    joint = result.omnibus
    said = []
    if len(result.design.groups) > 2:
        words = [
            f"{what} {'differs between groups' if p <= level else 'does not differ detectably'} (p = {p:.2g})"
            for what, p in (("form", joint.undulation), ("scale", joint.scale))
        ]
        said.append(f"Over all {len(result.design.groups)} groups: {'; '.join(words)}.")
    contrasts = result.sentences()
    for name in result.design.covariates:
        trend = result.trend(name)
        words = [
            f"{what} {'changes' if p <= level else 'does not change detectably'} (p = {p:.2g})"
            for what, p in (("form", trend.undulation), ("scale", trend.scale))
        ]
        said.append(f"With {name}: {'; '.join(words)}.")
    lines = tuple(
        (
            str(one["contrast"]),
            str(one["case"]),
            f"{one['undulation_p_adjusted']:.2g}",
            f"{one['scale_p_adjusted']:.2g}",
            f"{one['scale_effect']:.2f}",
        )
        for one in table.to_dict("records")
    )
    return ExperimentAnswer(result, tuple(said or contrasts), tuple(contrasts), notes, lines)
