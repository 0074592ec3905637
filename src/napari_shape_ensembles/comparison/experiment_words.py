"""What an experiment says: a sentence a contrast, sentences on all groups, and caveats."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._types import Real
from ..words import counted, listed, p_text
from .answer import ratio_words
from .border import NOTED, weights_in_words
from .design import FEW_REPLICATES
from .engine import HIGHEST_RATE
from .hypotheses import HypothesisTests
from .verdict import INCONCLUSIVE, PERMUTATION, SMALL_SAMPLE

#: Quantities whose ratios are the effects in the table.
EFFECTS = {"undulation": "roughness", "scale": "size"}
# A replicate with fewer outlines than this gives a note that its mean is imprecise.
_MIN_OUTLINES = 10
# Maximum number of faults of outlines listed in the warnings.
_LISTED = 3


def overall(result: Any, given: Sequence[str], interactions: Sequence[tuple[str, str]]) -> list[str]:
    """Sentences on all groups, trends and interactions, and on the power of more replicates; see `Experiment`."""
    between, trend = (
        ("differs between groups", "does not differ detectably"),
        ("changes", "does not change detectably"),
    )
    groups, known = len(result.design.groups), ", ".join(given)
    said = []
    if groups > 2:
        said.append(f"Over all {groups} groups: {_joint_sentence(result, partial(result.test, 'group'), *between)}.")
    if given and groups > 1 and "group" not in given:
        adjusted = _joint_sentence(result, partial(result.test, "group", given), *between)
        said.append(f"Given {known}: {adjusted}{_adjusted_ratios(result, given)}.")
    for name in result.design.covariates:
        said.append(f"With {name}: {_joint_sentence(result, partial(result.test, name), *trend)}.")
        if given and name not in given:
            said.append(
                f"With {name}, given {known}: {_joint_sentence(result, partial(result.test, name, given), *trend)}."
            )
    for one, other in interactions:
        words = _joint_sentence(result, partial(result.interaction, one, other), "detected", "not detected", " in")
        said.append(f"Interaction {one} × {other}:{words}.")
    if groups > 1 and not result.quantities.variance["between"].isna().any():
        least = max(int(np.bincount(result.design.group).min()), FEW_REPLICATES + 1)
        plans = result.quantities.planning((least, 2 * least))
        first, more = (f"{ratio:.2f}" if ratio > 1.005 else f"{ratio:.4f}" for ratio in plans["size"])
        said.append(
            f"{least} replicates per group detect a size ratio of {first} with probability 0.8, {2 * least} one of "
            f"{more}."
        )
    return said


def _joint_sentence(
    result: Any, tested: Callable[[], HypothesisTests], differs: str, alike: str, before: str = ""
) -> str:
    if result.overall_fault:
        return f"{before and ' '}{INCONCLUSIVE} ({result.overall_fault})"
    try:
        found = tested()
    except ValueError as error:
        return f"{before and ' '}not testable ({error})"
    words, by = [], " by the small-sample test" if found.decided_by == SMALL_SAMPLE else ""
    for what, test in (("form", "undulation"), ("scale", "scale")):
        what = f"{before} {what}" if before else what
        p, level = getattr(found.p_values, test), result.settings.test_level
        words.append(f"{what} {differs if p <= level else alike} (p = {p_text(p, level)}{by})")
    return ";".join(words) if before else "; ".join(words)


def _adjusted_ratios(result: Any, given: Sequence[str]) -> str:
    """Describe the adjusted ratios of two groups."""
    if len(result.design.groups) > 2 or result.overall_fault:
        return ""
    second, words = (result.design.group == 1).astype(np.float64), ""
    try:
        hypothesis = result.design.hypothesis(second[:, None], given)
    except ValueError:  # an unknown column, already reported by the test
        return ""
    for test, quantity in EFFECTS.items():
        ratio = result.quantities.slope(quantity, second, hypothesis)
        if ratio.freedom > 0 and quantity not in result.groups.parts[test].left_out:
            low, high = (float(np.exp(end)) for end in ratio.interval())
            words += f"; {_ratio_words(quantity, float(np.exp(ratio.value)), low, high)}"
    return words


def warnings(result: Any) -> tuple[str, ...]:
    """Caveats to the table, in plain sentences."""
    found = [*result.design.notes, *(f"{words}." for words in result.design.forecast(result.settings)[:3])]
    if result.groups.note:
        found.append(f"{result.groups.note}.")
    found += [*filter(None, [weights_in_words(result.groups.size_factors, NOTED)])]
    *of_contrasts, of_all = result.all_faults
    reasons = [*filter(None, dict.fromkeys(of_contrasts))] or [*filter(None, [of_all])]
    found += [f"{reason}." for reason in reasons[:_LISTED]]
    if len(reasons) > _LISTED:
        found.append(f"{counted(len(reasons) - _LISTED, 'more contrast')} of outlines with other faults.")
    left_out = {part: reason for parts in result.groups.parts.values() for part, reason in parts.left_out.items()}
    for reason in dict.fromkeys(left_out.values()):
        parts = [part for part in left_out if left_out[part] == reason]
        found.append(f"Not tested: {', '.join(parts)} ({reason}).")
    if result.unit == "pixel":
        found.append("Sizes are compared in pixels: make sure all images have the same pixel size.")
    counts = result.groups.counts
    if (result.table["decided_by"] == SMALL_SAMPLE).any():
        unequal = f"; with unequal numbers of outlines at most {HIGHEST_RATE} of null designs were rejected at 0.025"
        found.append(
            "The small-sample test assumes that replicate means are Gaussian: one outlying replicate lowers its power"
            f"{unequal if np.ptp(counts) else ''}."
        )
    exchanged = ((result.table["decided_by"] == PERMUTATION) & (result.table["permuted"] != "curves")).any()
    equal = "Permuted replicates have equal weights, even those with few outlines"
    if (few := np.flatnonzero((counts < _MIN_OUTLINES) & (counts < np.median(counts) / 2))).size:
        names = [" of ".join(result.design.replicates[["replicate", "group"]].iloc[place]) for place in few]
        found.append(
            f"{equal if exchanged else 'Means of few outlines have less weight'}: {listed(names)} ({counts[few].max()} "
            f"at most; the median is {np.median(counts):g})."
        )
    table, level = result.table, result.settings.test_level
    if any(
        ((table[f"{test}_p_adjusted"] > level) & ((table[f"{test}_low"] > 1) | (table[f"{test}_high"] < 1))).any()
        for test in EFFECTS
    ):
        found.append(
            "Where an interval excludes 1 and no difference is detected: intervals are 95 % intervals of single "
            f"ratios, groups are compared by adjusted p-values at a level of {level:g}."
        )
    permuted = result.table["permuted"]
    if len(permuted) and (permuted == "curves").all():
        found.append("Single outlines were permuted: the rows hold for these images only, not for the conditions.")
    elif (permuted == "curves").any():
        found.append(
            "Where neither side has replicates, outlines were permuted: those rows hold for these images only."
        )
    return tuple(found)


def sentences(result: Any, margin: float) -> list[str]:
    """One sentence per contrast; see `Experiment.sentences`."""
    same, effects = result.equivalence(margin).to_dict("records"), result.effects
    elongations = effects.loc[effects["quantity"] == "elongation", ["ratio", "low", "high"]].to_numpy()
    return [
        _sentence(result, {str(name): value for name, value in row.items()}, elongation, of_same, margin, fault)
        for row, elongation, of_same, fault in zip(
            result.table.to_dict("records"), elongations, same, result.withheld, strict=True
        )
    ]


def _sentence(
    result: Any, found: Mapping[str, Any], elongation: Real, same: Mapping[Any, Any], margin: float, fault: str
) -> str:
    level = result.settings.test_level
    if fault:
        return f"{found['b']} against {found['a']}: {INCONCLUSIVE}: {fault}."
    words = []
    for test, what, within in (
        ("undulation", "form", "0.2 standard deviations of every band of lobes"),
        ("scale", "scale", f"{100 * margin:.3g} % in size and elongation"),
    ):
        p, low, high = (found[f"{test}_{name}"] for name in ("p_adjusted", "low", "high"))
        effect = _ratio_words(EFFECTS[test], found[f"{test}_effect"], low, high)
        if np.isnan(found["scale_effect"]):
            effect = "no block contains both groups"
        elif test == "scale":  # which may differ in elongation alone
            effect += f"; {_ratio_words('elongation', *elongation.tolist())}"
        elif np.isnan(found[f"{test}_effect"]) or EFFECTS[test] in result.groups.parts[test].left_out:
            effect, low = "", 0.0  # of waves that the pixels do not hold
        tested = "; ".join(filter(None, [f"p = {p_text(p, level)}", effect]))
        within_reach = found["case"] != INCONCLUSIVE
        equivalence_p = same[f"{test}_p_adjusted"]
        differs = within_reach and p <= level
        if equivalence_p <= level:
            alike = f"equivalent within {within} (equivalence p = {p_text(equivalence_p, level)}"
            words.append(f"{what} {'differs but is' if differs else 'is'} {alike}; {tested})")
        elif not within_reach:
            words.append(f"{what} not testable by permutation ({tested})")
        elif differs:
            words.append(f"{what} differs ({tested})")
        else:
            of = f"of {EFFECTS[test]} " if test == "scale" else ""
            _, least, most = ratio_words(found[f"{test}_effect"], low, high)
            farther = f"up to {most}" if high * low >= 1 else f"down to {least}"
            could = f", a ratio {of}{farther} could have been missed" if low > 0 and np.isfinite(high) else ""
            words.append(f"no difference in {what} detected ({tested}{could})")
    alone = " (for these images only)" if found["permuted"] == "curves" else ""
    if found["decided_by"] == SMALL_SAMPLE:
        alone = f" (by the small-sample test, which assumes roughly Gaussian means of {found['permuted']})"
    return f"{found['b']} against {found['a']}{alone}: {'; '.join(words)}."


def _ratio_words(quantity: str, ratio: float, low: float, high: float) -> str:
    if not np.isfinite(high):
        return f"{quantity} ratio {ratio_words(ratio)[0]}"
    words = ratio_words(ratio, low, high)
    return f"{quantity} ratio {words[0]}, 95 % interval {words[1]} to {words[2]}"
