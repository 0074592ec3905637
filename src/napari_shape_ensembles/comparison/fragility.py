"""What was learned about a row by repeating its comparison: with other choices, and without single outlines."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..archive import ContentError, Tree
from ..words import counted, listed
from .verdict import INCONCLUSIVE, ROW_WORDS, TRUTH_TABLE

#: A row that fewer than this share of the other choices give is fragile.
LEAST_SHARE = 0.75

# A `Comparison` has the functions of this module as methods, so its class cannot be imported here.
Comparison = Any


class Without(NamedTuple):
    """An outline that was left out of a repeated comparison, and the row without it."""

    image: str
    id: str
    case: str


@dataclass(frozen=True)
class Checks:
    """Results of repeated comparisons, and of an inspection of the outlines.

    Attributes
    ----------
    same, tried : int
        Number of other choices of recipe and settings with the same row, and of all that have a row.
    exceptions : tuple of str
        Which choices change the row, as `ChoiceStudy.statements` says it.
    without : tuple of Without
        The outlines farthest from the mean shape, each with the row without it; see `influence`.
    suspects : tuple of (str, str, int)
        Name of a sample, reason, and number of its outlines that look wrong for it.
    earlier : tuple of (str, int)
        Rows before outlines were excluded by hand, each with the number of outlines excluded then.

    Examples
    --------
    >>> from napari_shape_ensembles.comparison.fragility import Checks
    >>> Checks(same=15, tried=26, exceptions=("form differs only up to rank 50",)).tried
    26
    """

    same: int = 0
    tried: int = 0
    exceptions: tuple[str, ...] = ()
    without: tuple[Without, ...] = ()
    suspects: tuple[tuple[str, str, int], ...] = ()
    earlier: tuple[tuple[str, int], ...] = ()

    def to_tree(self) -> Tree:
        """Return all as numbers, strings and lists."""
        return {
            name: list(map(list, own)) if own and isinstance(own, tuple) and not isinstance(own[0], str) else own
            for name, own in asdict(self).items()
        }

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> "Checks":
        """Restore from `to_tree`; raises ValueError for invalid data."""
        try:
            return cls(
                int(tree["same"]),
                int(tree["tried"]),
                tuple(map(str, tree["exceptions"])),
                tuple(Without(*map(str, one)) for one in tree["without"]),
                tuple((str(name), str(reason), int(count)) for name, reason, count in tree["suspects"]),
                tuple((str(case), int(count)) for case, count in tree["earlier"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ContentError("its checks are not those of a comparison") from error


def is_fragile(comparison: Comparison) -> bool:
    """Whether the row is known to change without a single outline, or with more than a quarter of other choices."""
    checks: Checks = comparison.checks
    if comparison.case == INCONCLUSIVE:
        return False
    few = checks.tried > 0 and checks.same < LEAST_SHARE * checks.tried
    return few or any(one.case not in (comparison.case, INCONCLUSIVE) for one in checks.without)


def checks_in_words(comparison: Comparison, *, briefly: bool = False) -> tuple[str, ...]:
    """State what the checks found: suspects, influence and other choices, earlier rows.

    Briefly, in fewer words, and without naming the choices.
    """
    checks, said = comparison.checks, []
    if checks.suspects:
        reasons, samples = Counter[str](), Counter[str]()
        for name, reason, count in checks.suspects:
            reasons[reason] += count
            samples[name] += count
        of = listed([f"{count} of {name}" for name, count in samples.items()])
        looks = "looks" if samples.total() == 1 else "look"
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        said.append(f"{counted(samples.total(), 'outline')} {looks} wrong: {why} ({of}).")
    if comparison.case == INCONCLUSIVE:
        return tuple(said)
    changed, same = [one for one in checks.without if one.case not in (comparison.case, INCONCLUSIVE)], []
    for one in changed:
        found = TRUTH_TABLE.get(one.case, one.case)
        said.append(f"Without outline {one.id} of {one.image} the answer is: {found}.")
    if checks.without and not changed:
        which = "farthest outlines" if briefly else "outlines farthest from the mean"
        same.append(f"without any of the {len(checks.without)} {which}")
    if checks.tried:
        where = f" ({'; '.join(checks.exceptions)})" if checks.exceptions else ""
        what = "" if briefly else f" of recipe and settings{where}"
        same.append(f"with {checks.same} of {checks.tried} other choices{what}")
    if same:
        said.append(
            f"{'Same answer' if briefly else 'The answer is the same'} {(', ' if briefly else ', and ').join(same)}."
        )
    if is_fragile(comparison):
        said.append("The answer is fragile.")
    for case, count in checks.earlier:
        before = f"with {counted(count, 'outline')} excluded" if count else "before any outline was excluded by hand"
        said.append(f"The answer was {ROW_WORDS.get(case, case)!r} {before}.")
    return tuple(said)
