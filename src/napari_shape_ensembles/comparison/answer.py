"""The answer of a comparison in words: the row, what differs in which direction and by how much, and caveats.

All sentences about a result are made here; window, report, methods text and command line show them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Real
from ..mmd import MMDTest
from ..outlines.reasons import AT_BORDER, SMALLER_WINDOW
from ..shapes import spd
from ..words import counted, listed, p_text
from .border import NOTED, weights_in_words
from .estimates import MIN_UNITS, QUANTITIES, described
from .fragility import checks_in_words
from .learning import coordinate_precision, relative_precision
from .position_trends import position_trends
from .verdict import INCONCLUSIVE, PERMUTATION, SMALL_SAMPLE, TRUTH_TABLE

if TYPE_CHECKING:
    import pandas as pd

# A `Comparison` has the functions of this module as methods, so its class cannot be imported here.
Comparison = Any

#: The two tests in the order of sentences: name, what it is about, and its components.
TESTS = {"scale": ("size or elongation", ("size", "elongation")), "undulation": ("form", ("coarse form", "roughness"))}
#: Names of parts of a test whose own names are ambiguous; see `comparison.parts`.
PART_NAMES = {"size": "size (mean and spread)", "size and elongation": "size and elongation together"}
# Longer names, such as those of several pooled images, make sentences unreadable.
_MAX_NAME = 30
# Less and more of each quantity that is given with its ratio.
_WORDS = {
    "size": ("smaller", "larger"),
    "spread of size": ("less varied in size", "more varied in size"),
    "elongation": ("less elongated", "more elongated"),
    "spread of form": ("less varied in form", "more varied in form"),
    "lobes": ("less lobed", "more lobed"),
    "roughness": ("smoother", "rougher"),
    "concavity": ("less concave", "more concave"),
}
# Quantities of each test of which a missed ratio is stated.
_MISSED = {"scale": ("size", "elongation"), "undulation": ("lobes", "roughness")}
# Relative width of an interval below which the quantity does not vary, so that nothing can have been missed.
_NO_WIDTH = 1e-6
# Columns of a row of the table of estimates that are written together.
_INTERVAL = ("estimate", "low", "high")
# What a picture of a quantity shows, if not the quantity itself.
_PICTURED = {
    "spread of size": "size",
    "spread of form": "",
    "lobes": "coarse form",
    "concavity": "",
    "direction of elongation": "",
}
# What distances are of.
_WHAT_IS = {
    "coarse form": "waves of up to 5 lobes around the outline",
    "direction of elongation": "which way the form is stretched",
}
# Ratios from here to there are written without an exponent.
_MIN_FIXED, _MAX_FIXED = 0.01, 1e5
# Beyond π/4 from the mean, neither the mean nor the normal coordinates are guaranteed to be unique.
_UNIQUENESS_RADIUS = np.pi / 4
# Above this fraction of ambiguous matches the choice of archetype influences the result.
_MAX_AMBIGUOUS_FRACTION = 0.5
# A relative precision of the coordinates worse than this gives a warning.
_LOW_PRECISION = 1e-5
# Distance from the level, in Monte-Carlo errors of the p-value, up to which the decision may depend on the draw.
_CLOSE = 3
# Level at which a trend with the position within images, or another coupling of scale and form, is reported.
_OWN_LEVEL = 0.01
# Words in the names of columns that tell specimens apart, whose outlines are not independent.
# fmt: off
_REPLICATES = frozenset((
    "replicate", "rep", "specimen", "individual", "subject", "animal", "mouse", "rat", "fish", "embryo", "patient",
    "litter", "clutch", "brood", "cage", "tank", "vial", "biopsy",
    "donor", "person", "participant", "plant", "tree", "leaf", "fruit", "pod", "colony", "nest", "site", "plot",
    "station", "locality", "core", "tray", "pot", "dish", "well", "slide", "section", "field", "fov", "tile", "frame",
    "image", "position", "plate", "batch",
))
# fmt: on
_PLURALS = (("s$", ""), ("es$", ""), ("ies$", "y"), ("leaves", "leaf"), ("mice", "mouse"))
_WORD = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+")
# With fewer curves than this on one side, a missed difference means little.
_MIN_CURVES_FOR_POWER = 30


@dataclass(frozen=True)
class Statement:
    """A sentence, and what a picture of it shows.

    Attributes
    ----------
    text : str
    about : str
        One of `quantities.COMPONENTS`, a mode ("mode 1"), "mean form" or "variability" along the outline, or
        empty.
    """

    text: str
    about: str = ""


def names_of(comparison: Comparison) -> tuple[str, str]:
    """Names of the two groups as they are used in sentences; "A" and "B" if they have none, long or equal ones."""
    a, b = comparison.a.name, comparison.b.name
    usable = a != b and all(0 < len(name) <= _MAX_NAME and not set(name) & set(",;:+") for name in (a, b))
    return (a, b) if usable else ("A", "B")


def titles_of(comparison: Comparison) -> tuple[str, str]:
    """Full names of the two groups; those that sentences cannot use are preceded by the letter that these use."""
    pairs = zip(names_of(comparison), (comparison.a.name, comparison.b.name), strict=True)
    a, b = (f"{used}: {full}" if full and full != used else used for used, full in pairs)
    return a, b


# ------------------------------------------------------------------------------------------------------ the row


def summary_lines(comparison: Comparison) -> list[str]:
    """Return the result in words: the answer, the table of estimates in aligned columns, and what it holds for."""
    lines = [in_one_line(comparison)]
    if min(len(comparison.a), len(comparison.b)) > 1:
        table = [estimate_headings(comparison), *estimate_rows(comparison)]
        widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
        lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        lines += empty_cells(comparison)
    if comparison.case != INCONCLUSIVE:
        lines += [f"{words}." for words in unnamed(comparison).values()]
    return [*lines, *filter(None, [scope(comparison)])]


def in_one_line(comparison: Comparison) -> str:
    """Return the answer in a line: what it holds for, groups, counts, what differs, and p-values."""
    c = comparison
    unit = c.permuted.removesuffix("s")
    units = ["" if unit == "curve" else f"{counted(count, unit)}, " for count in c.unit_counts]
    groups = " and ".join(
        f"{title} ({own}{counted(len(ensemble), 'curve')})"
        for title, ensemble, own in zip(titles_of(c), (c.a, c.b), units, strict=True)
    )
    if c.inconclusive:
        return f"{groups}: inconclusive: {c.inconclusive}."
    return f"{opening(c)} {groups}: {TRUTH_TABLE[c.case]} ({p_words(c)}).".lstrip()


def p_words(comparison: Comparison) -> str:
    """State the p-values of the two tests by which the row is decided."""
    tests = comparison.undulation, comparison.scale
    level = comparison.settings.test_level
    form, scale = (p_text(p, level) for p in comparison.p_adjusted or [test.p_value for test in tests])
    if not comparison.p_adjusted:
        form, scale = map(_with_error, tests)
    adjusted = ", adjusted for all contrasts" if comparison.p_adjusted else ""
    by = " by the small-sample test" if comparison.decided_by == SMALL_SAMPLE else ""
    return f"form p = {form}, scale p = {scale}{by}{adjusted}"


def _with_error(test: MMDTest) -> str:
    """State a p-value; if the decision may depend on the draw of permutations, with its error and their number."""
    close = abs(test.p_value - test.significance) <= _CLOSE * test.p_error
    error = f" ± {test.p_error:.1g} from {len(test.null)} permutations" if close else ""
    return f"{p_text(test.p_value, test.significance)}{error}"


def sentence(comparison: Comparison) -> str:
    """State what differs, in which direction and how much, the scale first; or why there is no answer."""
    if comparison.case == INCONCLUSIVE or min(len(comparison.a), len(comparison.b)) < 2:
        words = in_one_line(comparison)
        return f"No answer yet: {words.partition('inconclusive: ')[2] or words}"
    (a, b), directed, undirected, undetected = names_of(comparison), [], [], []
    ratios, quantities = _ratios(comparison), named(comparison)
    for name, (what, _) in TESTS.items():
        if not getattr(comparison, name).rejected:
            undetected.append(f"No difference in {what} was detected.")
            continue
        differ = quantities[name]
        stated = [one for one in differ if one in _WORDS and _words_of(ratios[one])[0] != "–"]
        for one in stated:
            ratio, low, high = _words_of(ratios[one])
            directed.append(f"{_direction(ratios[one])}: {_times(one, ratio, a)} ({low} to {high}){_area(one, ratios)}")
        if others := [one for one in differ if one not in stated]:
            undirected.append(f"{what.capitalize()} {'also ' if stated else ''}differs: {', '.join(others)}.")
        elif not stated:
            undirected.append(f"{unnamed(comparison)[name]}.")
    return " ".join([*([f"{b}'s outlines are {'; '.join(directed)}."] if directed else []), *undirected, *undetected])


def differing(test: MMDTest) -> tuple[str, ...]:
    """Quantities in which a test finds a difference, by its own parts: none if the test as a whole does not.

    Parts on the mean size, or on size and elongation together, count as one of their quantities where these differ.
    """
    if not test.rejected:
        return ()
    found = dict.fromkeys(
        "size" if (name := described(part)) == "mean size" else name
        for part, p in test.adjusted.items()
        if p <= test.significance
    )
    return tuple(name for name in found if name and not any(one != name and one in name for one in found))


def named(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """Quantities in which each test finds a difference: by their p-values adjusted for the others of the test.

    Names of rows of the table of estimates, by test; none if the test as a whole finds no difference.
    """
    found, tested = {}, comparison.quantity_p_values
    for name in TESTS:
        test: MMDTest = getattr(comparison, name)
        own = [one for one, of in QUANTITIES.items() if of == name and one in tested]
        found[name] = tuple(one for one in own if test.rejected and tested[one][1] <= test.significance)
    return found


def unnamed(comparison: Comparison) -> dict[str, str]:
    """Say of each test that finds a difference, but in no single quantity, what differs as a whole."""
    found = {}
    for name, names in named(comparison).items():
        test: MMDTest = getattr(comparison, name)
        if test.rejected and not names:
            *others, last = [*differing(test)] or [""]
            if others:
                what = f"The distributions of {', '.join(others)} and {last} differ"
            else:
                what = f"{f'The distribution of {last}' if last else TESTS[name][0].capitalize()} differs"
            found[name] = f"{what}, but no single quantity can be named"
    return found


def formless(comparison: Comparison) -> str:
    """Say of which groups no mean outline is drawn, as their outlines have no common form; empty if of none."""
    names = zip(names_of(comparison), comparison.has_common_form, strict=True)
    if not (without := [name for name, has_form in names if not has_form]):
        return ""
    return f"The outlines of {' and of '.join(without)} have no common form: a mean outline would not be one of them."


def _ratios(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Rows of the table of estimates that are ratios, by quantity."""
    rows = comparison.ratios.to_dict("records")
    return {row["quantity"]: {str(name): value for name, value in row.items()} for row in rows}


def _direction(row: dict[str, Any]) -> str:
    return _WORDS[row["quantity"]][int(row["estimate"] > 1)]


def _times(name: str, ratio: str, a: str) -> str:
    return f"{ratio} times {a}'s in length" if name == "size" else f"{ratio} times {a}'s"


def _area(name: str, rows: dict[str, dict[str, Any]]) -> str:
    """The ratio of mean areas, beside that of lengths."""
    area = rows["area"]
    return f", mean area × {_words_of(area)[0]}" if name == "size" and _words_of(area)[0] != "–" else ""


def _words_of(row: dict[str, Any]) -> list[str]:
    """The estimate of a row of the table, and the ends of its interval, as they are written everywhere."""
    values = [row[column] for column in _INTERVAL]
    if not all(map(isfinite, values)):  # an estimate without an interval would seem to be known
        return ["–"] * len(values)
    return ratio_words(*values) if row["kind"] == "ratio" else [f"{value:.2f}" for value in values]


def estimate_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The table of estimates in words, one row a quantity; the sentences take their numbers from it."""
    differ, found = {name for names in named(comparison).values() for name in names}, []
    for row in comparison.estimates.to_dict("records"):
        value, low, high = _words_of(row)
        interval = f"{low} to {high}" if high != "–" else high
        p_values = [p_text(row[name], comparison.settings.test_level) for name in ("p", "p_adjusted")]
        decided = "–" if comparison.case == INCONCLUSIVE or p_values[1] == "–" else "not detected"
        decision = "differs" if row["quantity"] in differ and decided != "–" else decided
        unit = " sd" if row["kind"] == "distance" and value != "–" else ""
        found.append((row["quantity"], value + unit, interval, *p_values, decision))
    return found


def empty_cells(comparison: Comparison) -> list[str]:
    """Say why cells of the table of estimates are empty.

    Except those of quantities that were not tested, as `caveats` say, and of the area, which is tested as the size.
    """
    c, reasons = comparison, dict[str, list[str]]()
    few, units = min(c.unit_counts), "outlines" if c.permuted == "curves" else c.permuted
    left_out = {**c.undulation.left_out, **c.scale.left_out}
    for row in estimate_rows(c):
        name, value, p = row[0], row[1], row[3]
        if name == "area" or name in left_out or "–" not in (value, p):
            continue
        if name == "direction of elongation" and c.decided_by == SMALL_SAMPLE:
            why = "not a part of the small-sample test"
        elif value == "–" and few < (MIN_UNITS if name in _WHAT_IS else 2):
            why = f"too few {units} for an interval"
        elif value != "–" and name == "spread of size":
            why = "too few outlines for a test"
        else:
            why = "not defined for these outlines"
        reasons.setdefault(why, []).append(name)
    return [f"–: {', '.join(names)} ({why})." for why, names in reasons.items()]


def estimate_headings(comparison: Comparison) -> tuple[str, ...]:
    """Headings of `estimate_rows`."""
    a, b = names_of(comparison)
    return ("quantity", f"{b} over {a}", "95 % interval", "p", "adjusted p", "")


def ratio_words(*ratios: float) -> list[str]:
    """Format a ratio, or one and the ends of its interval, with as few digits as tell on which side of 1 each end lies.

    With two to five decimals; with two if no number of them tells. Small and large ratios have three digits: 1.03e-08;
    one without a value is "–".
    """
    ends = [ratio for ratio in ratios[1:] or ratios if isfinite(ratio)]
    for digits in (2, 3, 4, 5, 2):
        if all(float(f"{end:.{digits}f}") != 1 for end in ends):
            break
    formats = (f".{digits}f" if _MIN_FIXED <= ratio < _MAX_FIXED else ".3g" for ratio in ratios)
    return ["–" if isnan(ratio) else f"{ratio:{form}}" for ratio, form in zip(ratios, formats, strict=True)]


# --------------------------------------------------------------------------------------- what limits the answer


def opening(comparison: Comparison) -> str:
    """State in a few words which samples differ, and what that holds for; empty without a result."""
    if comparison.case == INCONCLUSIVE or min(len(comparison.a), len(comparison.b)) < 2:
        return ""
    differ = "differ" if comparison.undulation.rejected or comparison.scale.rejected else "were not found to differ"
    if comparison.permuted == "curves":
        return f"These {'two ' if max(comparison.image_counts) == 1 else ''}images {differ}."
    a, b = names_of(comparison)
    return f"{a} and {b} {differ}: {' and '.join(map(str, comparison.unit_counts))} {comparison.permuted}."


def scope(comparison: Comparison) -> str:
    """State whether the result holds for the conditions or for these images alone; empty without a result."""
    if comparison.case == INCONCLUSIVE:
        return ""
    counts, names = comparison.image_counts, names_of(comparison)
    if comparison.permuted != "curves":
        counts = comparison.unit_counts
        how = "were permuted" if comparison.decided_by == PERMUTATION else "were compared by the small-sample test"
        permuted = f"whole {comparison.permuted} {how} ({counts[0]} and {counts[1]})"
        if min(counts) > 1:
            return f"It holds for the conditions if {comparison.permuted} are independent: {permuted}."
        single, other = names if counts[0] == 1 else names[::-1]
        unit = comparison.permuted.removesuffix("s")
        return f"It holds for the one {unit} of {single}, compared with the condition of {other}: {permuted}."
    if max(counts) > 1:
        return "It holds for these images only: single outlines were permuted."
    return "One image a side cannot show a difference between conditions."


def border_words(comparison: Comparison, *, briefly: bool = False) -> str:
    """State how many outlines the image border has left out, or would have in the smallest images; empty if none.

    Briefly, without naming the groups.
    """
    sides = zip(names_of(comparison), (comparison.a, comparison.b), comparison.compared, strict=True)
    counts = [
        (given.dropped.get(AT_BORDER, 0) + seen.dropped.get(SMALLER_WINDOW, 0), name) for name, given, seen in sides
    ]
    if briefly and any(count for count, _ in counts):
        return f"Left out at border: {', '.join(str(count) for count, _ in counts)}."
    words = ", ".join(f"{count} of {name}" for count, name in counts if count)
    return f"Left out at the border: {words}." if words else ""


def missed(comparison: Comparison) -> str:
    """State how large a difference could have been missed by tests that did not reject; empty if both did.

    The end of the 95 % interval of a ratio that is farther from 1.
    """
    if comparison.case == INCONCLUSIVE or min(len(comparison.a), len(comparison.b)) < 2:
        return ""
    ratios, found = _ratios(comparison), []
    for test, own in _MISSED.items():
        for name in () if getattr(comparison, test).rejected else own:
            row = ratios[name]
            if row["high"] > row["low"] * (1 + _NO_WIDTH) > 0 and isfinite(row["high"]):
                _, low, high = _words_of(row)
                farther = f"up to {high}" if row["high"] * row["low"] >= 1 else f"down to {low}"
                found.append(f"a ratio of {name} {farther}")
    return f"Could have been missed: {', '.join(found)}." if found else ""


def caveats(comparison: Comparison) -> tuple[str, ...]:
    """Caveats to the row, in plain sentences."""
    c = comparison
    found = [f"{words}." for words in (c.note, *(finding.text for finding in c.quality.findings)) if words]
    found += [*filter(None, [weights_in_words(c.size_factors, NOTED)])]
    if c.a.unit == "pixel":
        found.append("Sizes are compared in pixels: make sure all images have the same pixel size.")
    if max(c.image_counts) > 1 and c.permuted == "curves":
        found.append("Single outlines were permuted: the result holds for these images only, not for the conditions.")
    if c.permuted == "curves":
        found += [_replicate_caveat(*column) for column in replicate_columns(c.a.metadata, c.b.metadata)]
    if c.permuted == "curves" and max(c.image_counts) == 1:
        found += _position_caveat(c)
    found += _coupling_caveats(c)
    if c.permuted != "curves" and c.settings.null != "permutation":
        found.append(
            f"Whole {c.permuted} were permuted: the null distribution {c.settings.null!r} is for single outlines, and "
            "was not used."
        )
    few = min(len(c.a), len(c.b))
    missed = c.permuted == "curves" and c.inconclusive is None and not (c.undulation.rejected and c.scale.rejected)
    noted = any(finding.check == "few curves" for finding in c.quality.findings)
    if missed and few < _MIN_CURVES_FOR_POWER and not noted:
        where = "either" if len(c.a) == len(c.b) else "one"
        found.append(f"Only {counted(few, 'curve')} on {where} side: a difference may have gone unnoticed.")
    scales = spd.from_coordinates(c.space.scale_mean_, c.l)
    known = relative_precision(np.concatenate([coordinate_precision(side) for side in c.compared]), scales)
    if known > _LOW_PRECISION:
        found.append(
            f"This far from the origin, single-precision coordinates resolve only {known:.0e} of an outline's size: "
            "smaller differences are neither tested nor normalized."
        )
    for test in (c.undulation, c.scale):
        for reason in dict.fromkeys(test.left_out.values()):
            parts = [part for part in test.left_out if test.left_out[part] == reason]
            found.append(f"Not tested: {', '.join(parts)} ({reason}).")
    if c.undulation.approximation:
        found.append(f"The tests are approximate: {c.undulation.approximation}.")
    ambiguous = 0 if c.archetypes_agree else c.ambiguous
    return (*found, *checks_in_words(c), *caveats_of_positions(c.t, ambiguous, c.archetype_is_ambiguous))


def replicate_columns(*tables: "pd.DataFrame") -> list[tuple[str, list[int]]]:
    """Columns that seem to name replicates (specimens, sites, wells), with the number of these in every table.

    All tables of outlines have the column, with several values, each of several outlines.
    """
    found = []
    for name in tables[0].columns if tables else ():
        words = {re.sub(plural, one, word.lower()) for word in _WORD.findall(str(name)) for plural, one in _PLURALS}
        if words & _REPLICATES and all(name in table for table in tables):
            counts = [int(table[name].nunique()) for table in tables]
            if all(1 < count <= len(table) / 2 for count, table in zip(counts, tables, strict=True)):
                found.append((str(name), counts))
    return found


def _replicate_caveat(name: str, counts: Sequence[int]) -> str:
    return (
        f"The outlines have a column {name!r} with {' and '.join(map(str, counts))} values. If outlines of one {name} "
        "resemble each other, single outlines are no replicates, and differences are found too often: compare(a, b, "
        f"replicate={name!r}), on the command line --replicate {name!r}, permutes whole ones."
    )


def _coupling_caveats(comparison: Comparison) -> list[str]:
    a, b = names_of(comparison)
    return [
        f"Outside the row: {one['scale']} and {one['form']} of the outlines are related differently (rank correlation "
        f"{one['correlation_a']:.2f} in {a}, {one['correlation_b']:.2f} in {b}; adjusted p = "
        f"{p_text(one['p_adjusted'])}, approximate)."
        for one in comparison.coupling.to_dict("records")
        if one["p_adjusted"] <= _OWN_LEVEL
    ]


def _position_caveat(comparison: Comparison) -> list[str]:
    trends = {
        name: p for name, p in position_trends(comparison.compared, comparison.components).items() if p <= _OWN_LEVEL
    }
    if not trends:
        return []
    depend = f"{listed([*trends]).capitalize()} {'depend' if len(trends) > 1 else 'depends'}"
    return [
        f"{depend} on position within the images (p = {p_text(min(trends.values()))}): images of other places may "
        "differ for that reason alone."
    ]


def caveats_of_positions(t: Real, ambiguous: int, symmetric: bool) -> list[str]:
    """Caveats of curves far from the mean, and of ambiguous matches with a (nearly symmetric) archetype."""
    found = []
    far = int((np.linalg.norm(t, axis=1) > _UNIQUENESS_RADIUS).sum())
    if far:
        lie = "lies" if far == 1 else "lie"
        found.append(
            f"{counted(far, 'curve')} {lie} so far from the mean form that it may not be unique: check for outliers."
        )
    if ambiguous > _MAX_AMBIGUOUS_FRACTION * len(t):
        archetype = "nearly symmetric archetype" if symmetric else "archetype"
        found.append(
            f"{ambiguous} of {len(t)} curves match the {archetype} almost equally well in two ways: check whether the "
            "result holds with another archetype."
        )
    return found


# ------------------------------------------------------------------------------------------ quantity by quantity


def statements(comparison: Comparison) -> list[Statement]:
    """Say of each quantity of the table in which a test finds a difference how it differs, with its p-value.

    A difference that a test finds in none of the quantities alone is stated of the test as a whole.
    """
    rows, as_a_whole, said = _ratios(comparison), unnamed(comparison), []
    for name, found in named(comparison).items():
        said += [Statement(_quantity_sentence(comparison, one, rows), _PICTURED.get(one, one)) for one in found]
        if name in as_a_whole:
            test: MMDTest = getattr(comparison, name)
            said.append(Statement(f"{as_a_whole[name]} (p = {p_text(test.p_value, test.significance)})."))
    return said


def ratio_sentence(comparison: Comparison) -> str:
    """Give the ratios of all scalar components, without a statement on whether they differ; empty without intervals."""
    listed = []
    for name, row in _ratios(comparison).items():
        ratio, low, high = _words_of(row)
        if name in (*_MISSED["scale"], "roughness") and ratio != "–":
            listed.append(f"{name} {ratio} ({low} to {high})")
    a, b = names_of(comparison)
    means = f"Ratios of the means of images, {b} over {a}, with 95 % intervals"
    return f"{means}: {', '.join(listed)}." if listed else ""


def _quantity_sentence(comparison: Comparison, name: str, rows: dict[str, dict[str, Any]]) -> str:
    (a, b), level = names_of(comparison), comparison.settings.test_level
    if name not in rows:
        _, p = comparison.quantity_p_values[name]
        return f"The {name} differs ({_WHAT_IS[name]}; adjusted p = {p_text(p, level)})."
    row = rows[name]
    ratio, low, high = _words_of(row)
    if row["estimate"] in (0, np.inf):
        words = f"{b if not row['estimate'] else a}'s {name.removeprefix('spread of ')} does not vary"
    elif ratio == "–":
        words = f"{b}'s outlines are {_direction(row)}, by a ratio without an interval"
    else:
        words = f"{b}'s outlines are {_direction(row)}: {_times(name, ratio, a)}, 95 % interval {low} to {high}"
        words += _area(name, rows)
    return f"{words} (adjusted p = {p_text(row['p_adjusted'], level)})."
