"""One-at-a-time sensitivity analysis: each parameter is varied separately, with all others unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison import Comparison, Settings, compare
from ..comparison.verdict import INCONCLUSIVE, ROW_WORDS
from ..outlines import Ensemble, Outlines, at_pixel_size
from ..palette import axes_of
from ..parameters import Parameter, matters, parameters_of
from ..progress import Listener, report, reporting
from .jobs import run_study
from .marks import ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Name of the choice of larger pixels, whose values are multiples of the pixel size.
COARSENING = "coarsening"
#: Field of the recipe or of the settings, or `COARSENING` -> values to try in addition to the one in use.
CHOICES: Mapping[str, Sequence[Any]] = {
    "method": ("otsu", "li", "triangle", "local"),
    "smoothing": (0.0, 1.0, 2.0, 3.0),
    "split_touching": ("none", "distance", "intensity"),
    "min_area": (4, 16, 64, 144),
    "outline_smoothing": (0.0, 0.5, 1.0, 2.0, 3.0),
    "landmarks": (100, 200, 500),
    "rank": (20, 50, 100, 150),
    "archetype": ("asymmetric", "mean", 0, 1),
    COARSENING: (1.5, 2.0, 3.0),
}
_NAMES = {"undulation": "form", "scale": "size or elongation"}
_MAX_LISTED = 4


@dataclass(frozen=True)
class Choice:
    """One comparison of a study, which differs in one field from the one in use.

    Attributes
    ----------
    name, value : str and object
        The field of the recipe or of the settings, or "coarsening"; and its value.
    case : str
        Row of the truth table; "inconclusive" also if there is no result.
    undulation_p, scale_p : float
        NaN if there is no result.
    reason : str
        Reason why there is no result, or no row.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, samples
    >>> from napari_shape_ensembles.studies import choice_study
    >>> pair = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> study = choice_study(lambda recipe: pair, settings=quick, choices={"rank": (5, 20)})
    >>> [(choice.name, choice.label, choice.case) for choice in study.choices]
    [('rank', '5', '1∧0'), ('rank', '20', '1∧0')]
    """

    name: str
    value: Any
    case: str
    undulation_p: float = float("nan")
    scale_p: float = float("nan")
    reason: str = ""

    @property
    def label(self) -> str:
        """The value as shown in forms."""
        if self.name == COARSENING:
            return f"× {self.value:g}"
        field = FIELDS[self.name]
        if isinstance(self.value, str) and field.choices:
            return field.choices.get(self.value, self.value)
        return f"outline {self.value}" if self.name == "archetype" else f"{self.value:g}"

    @property
    def field_label(self) -> str:
        """The field as shown in forms, with its unit."""
        field = FIELDS[self.name]
        return f"{field.label}, {field.unit}" if field.unit else field.label


_COARSENING = Parameter(
    COARSENING, (float,), 1.0, "Multiple of the pixel size at which outlines are compared.", label="Pixel size"
)
#: What can be chosen, by name.
FIELDS = {**parameters_of(Outlines), **parameters_of(Settings), COARSENING: _COARSENING}


@dataclass(frozen=True, eq=False)
class ChoiceStudy:
    """Result of `choice_study`.

    Attributes
    ----------
    used : Choice
        The comparison with all values in use; its name is empty.
    choices : tuple of Choice
        The others, by field in the order of `CHOICES`, by value within a field.
    values : mapping of str to object
        Value in use of each field.
    note : str
        Resampling of images of unequal pixel size, or why there was none, as in `compare`.
    missing : int
        Number of choices not compared, in a study that is running or was cancelled.

    Examples
    --------
    >>> from napari_shape_ensembles import Outlines, Settings, samples
    >>> from napari_shape_ensembles.studies import choice_study
    >>> pair = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> study = choice_study(lambda recipe: pair, settings=quick, choices={"rank": (5, 10, 20)})
    >>> study.summary().partition(". ")[0]
    'scale differs in 3 of 3 choices'
    """

    used: Choice
    choices: tuple[Choice, ...]
    values: Mapping[str, Any]
    note: str = ""
    missing: int = 0

    @property
    def counts(self) -> tuple[int, int]:
        """Number of comparisons done, and of all, with the one in use."""
        return 1 + len(self.choices), 1 + len(self.choices) + self.missing

    @property
    def done_something(self) -> bool:
        """Whether any comparison other than the one in use is done."""
        return bool(self.choices)

    def rows(self) -> dict[str, list[Choice]]:
        """The choices of each field by value, including the one in use."""
        found: dict[str, list[Choice]] = {}
        for one in self.choices:
            found.setdefault(one.name, []).append(one)
        for name, own in found.items():
            own.append(replace(self.used, name=name, value=self.values[name]))
            if not FIELDS[name].choices:
                own.sort(key=lambda one: one.value)
            elif name != "archetype":
                own.sort(key=lambda one: list(FIELDS[one.name].choices or ()).index(one.value))
        return found

    def summary(self) -> str:
        """Summarize in how many choices the row is unchanged, where each decision changes, and any resampling."""
        said = f"{'; '.join(self.statements())}."
        return f"{said} {self.note}." if self.note else said

    def statements(self) -> list[str]:
        """Return the parts of the summary, without resampling: the number of unchanged rows first."""
        every = [self.used, *self.choices]
        counts = {case: [one.case for one in every].count(case) for case in dict.fromkeys(one.case for one in every)}
        said = [f"{ROW_WORDS[self.used.case]} in {counts[self.used.case]} of {len(every)} choices"]
        if self.missing:
            said[0] += f" ({self.missing} more not compared)"
        if self.used.case == INCONCLUSIVE:
            return [f"{said[0]}{f': {self.used.reason}' if self.used.reason else ''}"]
        said += [words for place, test in enumerate(_NAMES) if (words := self._exceptions(test, 2 * place))]
        if unanswered := [one for one in self.choices if one.case == INCONCLUSIVE]:
            said.append(f"no answer with {_listed(unanswered)}")
        return said

    def judged(self, comparison: Comparison) -> Comparison:
        """Return the comparison in use with what the other choices say about its row, as `Comparison.checks`."""
        answered = [one for one in self.choices if one.case != INCONCLUSIVE]
        same = sum(one.case == comparison.case for one in answered)
        known = replace(
            comparison.checks,
            same=same,
            tried=len(answered),
            exceptions=tuple(self.statements()[1:]) if answered else (),
        )
        return replace(comparison, checks=known)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the row for every choice: one line per field, a box for each of its values; returns the axes.

        Boxes with the same row as the choices in use are filled, others dashed; the value in use has a bold frame.
        """
        lines = self.rows()
        ax = axes_of(ax, height=0.6 + 0.6 * max(len(lines), 1))
        for place, (name, own) in enumerate(lines.items()):
            for column, one in enumerate(own):
                same = one.case == self.used.case
                box = {
                    "boxstyle": "round",
                    "edgecolor": ink(),
                    "facecolor": (0.5, 0.5, 0.5, 0.3 if same else 0.0),
                    "linestyle": "-" if same else "--",
                    "linewidth": 2 if one.value == self.values[name] else 0.8,
                }
                words = f"{one.label}\n{ROW_WORDS[one.case]}"
                ax.text(column, place, words, ha="center", va="center", fontsize="small", color=ink(), bbox=box)
        longest = max(map(len, lines.values()), default=1)
        labels = [next(iter(own)).field_label for own in lines.values()]
        ax.set(xlim=(-0.6, longest - 0.4), ylim=(len(lines) - 0.4, -0.6), xticks=[])
        ax.set_yticks(range(len(lines)), labels)
        ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
        ax.tick_params(length=0)
        return ax

    def _exceptions(self, test: str, sign: int) -> str:
        """Describe where one of the two decisions (a digit of the case) differs from that in use."""
        answered = [one for one in self.choices if one.case != INCONCLUSIVE]
        others = [one for one in answered if one.case[sign] != self.used.case[sign]]
        if not others:
            return ""
        differs = self.used.case[sign] == "1"
        found = f"{_NAMES[test]} differs" if differs else f"no difference in {_NAMES[test]} is detected"
        names = {one.name for one in others}
        name = next(iter(names))
        if len(names) == 1 and not FIELDS[name].choices:
            row = [one for one in self.rows()[name] if one.case != INCONCLUSIVE]
            flags = [one.case[sign] != self.used.case[sign] for one in row]
            field, turn = FIELDS[name], flags.index(not flags[0])
            if flags == [flags[0]] * turn + [not flags[0]] * (len(flags) - turn):  # a single threshold on the values
                side, edge = ("up to", row[turn - 1]) if flags[0] else ("from", row[turn])
                where = f"{side} {field.label.lower()} {edge.label} {field.unit}".rstrip()
                return f"{found} {'only ' if differs else ''}{where}"
        return f"{found} with {_listed(others)}"


def _listed(choices: Sequence[Choice]) -> str:
    """Describe choices in words, grouped by field."""
    values: dict[str, list[str]] = {}
    for one in choices[:_MAX_LISTED]:
        label = '"no"' if one.label == "no" else one.label
        values.setdefault(FIELDS[one.name].label.lower(), []).append(label)
    named = [f"{name} {' or '.join(labels)}" for name, labels in values.items()]
    more = f" and {len(choices) - _MAX_LISTED} more" if len(choices) > _MAX_LISTED else ""
    return f"{', '.join(named)}{more}"


def choice_study(
    trace: Callable[[Outlines], tuple[Ensemble, Ensemble]],
    outlines: Outlines | None = None,
    settings: Settings | None = None,
    *,
    choices: Mapping[str, Sequence[Any]] = CHOICES,
    progress: Listener | None = None,
) -> ChoiceStudy:
    """Repeat a comparison with one parameter changed at a time (one-at-a-time sensitivity analysis).

    Parameters
    ----------
    trace : callable
        Recipe -> outlines of A and of B; called once for each recipe.
    outlines : Outlines, optional
        The recipe in use.
    settings : Settings, optional
        The settings in use.
    choices : mapping of str to sequence
        Field of the recipe or the settings -> its values; "coarsening" -> multiples of the pixel size, at which the
        outlines are compared as they would appear in images of lower resolution (see `at_pixel_size`). Fields that
        are irrelevant given the others, and values in use, are skipped.
    progress : callable, optional
        Called with the `Progress` of each step, whose result is the study so far; an exception aborts the computation.

    Returns
    -------
    ChoiceStudy

    Raises
    ------
    ValueError
        If the comparison in use has no result at all, or for an unknown field.

    Notes
    -----
    A choice without a result (an image without outlines, say) is "inconclusive", with its reason. The fraction of
    choices that keep the row is not a probability: the choices were not drawn from a distribution.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, samples
    >>> from napari_shape_ensembles.studies import choice_study
    >>> pair = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> study = choice_study(lambda recipe: pair, settings=quick, choices={"rank": (5, 20), "landmarks": (100,)})
    >>> study.summary().partition(". ")[0]
    'scale differs in 4 of 4 choices'
    """
    outlines, settings = outlines or Outlines(), settings or Settings()
    known = {**vars(outlines), **vars(settings), COARSENING: 1.0}
    if unknown := [name for name in choices if name not in FIELDS]:
        raise ValueError(f"there is no setting {unknown[0]!r}: use fields of Outlines and Settings, or {COARSENING!r}")
    parts = (outlines, settings)
    items = [
        (name, value)
        for name, values in choices.items()
        if name == COARSENING or any(hasattr(part, name) and matters(part, name) for part in parts)
        for value in values
        if value != known[name]
    ]
    with reporting(progress), reporting(lambda step: report(f"unchanged: {step.name}", 0, 1 + len(items))):
        pair = trace(outlines)
        used, note = _compared("", None, pair, settings)

    def again(change: tuple[str, Any]) -> Choice:
        name, value = change
        try:
            if name == COARSENING:
                return _compared(name, value, _coarsened(pair, value, outlines), settings)[0]
            if hasattr(settings, name):
                return _compared(name, value, pair, replace(settings, **{name: value}))[0]
            return _compared(name, value, trace(replace(outlines, **{name: value})), settings)[0]
        except ValueError as error:
            return Choice(name, value, INCONCLUSIVE, reason=str(error))

    def study_of(results: Sequence[Choice | None]) -> ChoiceStudy:
        found = tuple(one for one in results if one is not None)
        return ChoiceStudy(used, found, {name: known[name] for name in choices}, note, len(items) - len(found))

    changes = {f"{FIELDS[name].label.lower()} {Choice(name, value, '').label}": (name, value) for name, value in items}
    return run_study(again, changes, study_of, progress=progress)


def _coarsened(pair: tuple[Ensemble, Ensemble], factor: float, recipe: Outlines) -> tuple[Ensemble, Ensemble]:
    """Return both samples as they would appear with pixels larger by this factor than the largest of theirs."""
    a, b = pair[0], pair[1].to(pair[0].unit)
    sizes = [float(np.sqrt(np.prod(side.pixel_size or 1))) for side in (a, b)]
    smoothing = 0.0 if recipe.smoothing_unit == "physical" else recipe.outline_smoothing
    coarse = [at_pixel_size(side, factor * max(sizes), smoothing=smoothing) for side in (a, b)]
    return coarse[0], coarse[1]


def _compared(name: str, value: Any, pair: tuple[Ensemble, Ensemble], settings: Settings) -> tuple[Choice, str]:
    result = compare(*pair, settings)
    numbers = result.undulation.p_value, result.scale.p_value
    return Choice(name, value, result.case, *numbers, result.inconclusive or ""), result.note
