"""Compares and explains every real and simulated pair of ensembles; draws the figures of the gallery.

Results are stored in docs/results/gallery.json, from which `tools/write_docs.py` makes the pages.
"""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
from real_data import PAIRS, steel
from theme import BOTH

from napari_shape_ensembles import compare, explain, resynthesis
from napari_shape_ensembles.comparison.answer import differing, estimate_headings, estimate_rows, in_one_line
from napari_shape_ensembles.comparison.quantities import COMPONENTS
from napari_shape_ensembles.explanation.figures import figures, style
from napari_shape_ensembles.samples import simulated_fields, simulated_rolling, simulated_sieving, simulated_treatment

DOCS = Path(__file__).resolve().parents[1]
SEEDS = 10
LEVEL = 0.01
GALLERY = """# Gallery of real pairs

Real images, compared with the defaults and explained by `explain`; this page is generated, remarks included. The curves
shown are those most typical of one side and not of the other. Form and scale are then exchanged
(`resynthesis`): new curves should differ in what was exchanged only.
"""
PUT_IN = {
    simulated_fields: "nothing",
    simulated_sieving: "size, and spread of size and elongation",
    simulated_treatment: "roughness (6 to 14 waves)",
    simulated_rolling: "elongation, waviness of the boundaries",
}


def picture(heading):
    """File name of a pair's figure, relative to docs."""
    return f"images/why-{re.sub('[^a-z0-9]+', '-', heading.lower()).strip('-')}.png"


def measured_pair(pair, *, drawn):
    """Everything the gallery shows of one pair; with `drawn`, also draw its figure."""
    result = compare(*pair.load())
    found = explain(result)
    if drawn:
        with style(), plt.rc_context(BOTH):
            figures(found, ["typical"])["typical"].savefig(DOCS / picture(pair.heading), dpi=80)
        plt.close("all")
    parts = differing_quantities(result)
    descriptors = found.descriptors.tests
    within = [(a, b) for side in pair.single for a, b in combinations(side, 2)]
    return {
        "case": result.case,
        "summary": in_one_line(result),
        "undulation": result.undulation.p_value,
        "scale": result.scale.p_value,
        "parts": {name: part.p_value for name, part in {**result.undulation.parts, **result.scale.parts}.items()},
        "sentences": list(found.sentences()),
        "estimates": [list(row) for row in (estimate_headings(result), *estimate_rows(result))],
        "shares": dict(zip(COMPONENTS, map(float, found.components.share), strict=True)) if parts else {},
        "descriptors": dict(zip(descriptors.names, map(float, descriptors.adjusted), strict=True)),
        "swaps": [
            {
                "form": swap.form,
                "scale": swap.scale,
                "against": swap.against,
                "case": swap.case,
                "found": list(swap.found()),
                "expected": list(swap.expected(result)),
            }
            for swap in resynthesis(result)
        ],
        "within": {
            "pairs": len(within),
            "differ": sum(compare(steel([a], a), steel([b], b)).case != "1∧1" for a, b in within),
        },
    }


def measured_simulations(seeds=SEEDS):
    """Rows of the simulated pairs for every seed, and how often each component is reported."""
    found = {}
    for sample, put_in in PUT_IN.items():
        compared = [compare(*sample(seed).ensembles()) for seed in range(seeds)]
        named = Counter(part for result in compared for part in differing_quantities(result))
        title = sample(0).title.removeprefix("Simulated: ")
        found[title] = {"sample": sample.__name__, "put in": put_in, "seeds": seeds}
        found[title] |= {"rows": [result.case for result in compared]} | {part: named[part] for part in COMPONENTS}
    return found


def differing_quantities(result):
    """Quantities that differ by the parts of the two tests."""
    return (*differing(result.scale), *differing(result.undulation))


def listed(names):
    """Names joined as part of a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def remark(found):
    """Comment on an explanation, derived from the result."""
    said = []
    if found["shares"]:
        largest = max(found["shares"], key=found["shares"].get)
        said.append(f"{largest.capitalize()} accounts for {found['shares'][largest]:.0%} of the difference.")
    else:
        said.append("No component differs significantly.")
    seen = [name.replace("_", " ") for name, p in found["descriptors"].items() if p <= LEVEL]
    others = [name.replace("_", " ") for name, p in found["descriptors"].items() if p > LEVEL]
    if seen:
        verb, do = ("differ" if len(seen) > 1 else "differs"), ("do" if len(others) > 1 else "does")
        said.append(
            f"Of the simple descriptors, {listed(seen)} {verb}" + (f"; {listed(others)} {do} not." if others else ".")
        )
    else:
        said.append("No simple descriptor differs.")
    odd = [swap for swap in found["swaps"] if not as_expected(swap, found["case"])]
    if not odd:
        said.append("Each exchange changed the row, and the quantities, that it should.")
    for swap in odd:
        row = expected_row(swap, found["case"])
        said.append(
            f"With the form of {swap['form']} and the scale of {swap['scale']}, compared with {swap['against']}, the "
            f"row is {swap['case']}, expected {row}, and {' and '.join(swap['found']) or 'nothing'} "
            f"{'differ' if len(swap['found']) > 1 else 'differs'}, expected "
            f"{' and '.join(swap['expected']) or 'nothing'}: the exchange failed here, or there are too few curves."
        )
    if found["within"]["pairs"]:
        said.append(
            f"Of the {found['within']['pairs']} pairs of images of *one* side {found['within']['differ']} also "
            "differ. With outlines pooled over images this is pseudoreplication: the difference between the sides is "
            "not evidence of a treatment effect."
        )
    return " ".join(said)


def expected_row(swap, case):
    """Row of new curves, if form and scale are separated: what both share does not differ, the rest as in the pair."""
    form, scale = case.split("∧")
    return f"{'1' if swap['form'] == swap['against'] else form}∧{'1' if swap['scale'] == swap['against'] else scale}"


def as_expected(swap, case):
    """Whether the row and the quantities of an exchange are those expected."""
    return swap["case"] == expected_row(swap, case) and swap["found"] == swap["expected"]


def gallery_page(measured, simulated):
    """docs/evidence/gallery.md."""
    parts = [GALLERY.strip()]
    for pair in PAIRS:
        found = measured[pair.heading]
        shares = ", ".join(f"{part} {share:.0%}" for part, share in found["shares"].items())
        swaps = [
            f"| form of {swap['form']}, scale of {swap['scale']} | {swap['against']} | {swap['case']} "
            f"| {expected_row(swap, found['case'])} | {', '.join(swap['found']) or 'nothing'} |"
            for swap in found["swaps"]
        ]
        parts += [
            f"## {pair.heading}",
            pair.remark,
            f"![Typical curves of both sides](../{picture(pair.heading)})",
            found["summary"],
            "\n".join(f"- {sentence}" for sentence in found["sentences"]),
            *([f"Shares: {shares}."] if shares else []),
            "\n".join(["| new curves | against | row | expected | differ in |", "|---|---|---|---|---|", *swaps]),
            remark(found),
        ]
    rows = [
        f"| {title} | {found['put in']} | "
        + " | ".join(f"{found[part]} of {found['seeds']}" for part in COMPONENTS)
        + " |"
        for title, found in simulated.items()
    ]
    parts += [
        "## The four simulated pairs",
        f"Each drawn with {SEEDS} seeds, segmented and traced with the defaults: number of seeds in which each "
        "component was significant.",
        "\n".join(
            [
                "| pair | simulated difference | " + " | ".join(COMPONENTS) + " |",
                "|---" * (2 + len(COMPONENTS)) + "|",
                *rows,
            ]
        ),
    ]
    return "\n\n".join(parts) + "\n"
