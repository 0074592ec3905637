"""Compares and explains every pair of real ensembles, and the simulated ones; draws and writes both galleries.

What was measured is kept in docs/results/gallery.json: `tools/write_docs.py` makes the pages of it, and compares.
"""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from real_data import PAIRS, steel
from theme import BOTH, GREY

from napari_shape_ensembles import compare, explain, resynthesis
from napari_shape_ensembles.explanation.components import COMPONENTS
from napari_shape_ensembles.explanation.figures import figures, style
from napari_shape_ensembles.samples import simulated_fields, simulated_rolling, simulated_sieving, simulated_treatment

DOCS = Path(__file__).resolve().parents[1]
SHOWN = 60
SEEDS = 8
LEVEL = 0.01
GALLERY = """# Gallery of real pairs

Real images, each compared with the default settings. Curves are filled by their distance from the common mean shape;
both sides share one scale. This page is made by `python tools/write_docs.py`, of
[results](data.md#what-is-made-by-which-script) that the same command measures.
[Why they differ](why-gallery.md) explains each pair.
"""
WHY = """# Why they differ: real and synthetic pairs

Every pair of the [gallery](gallery.md), explained by `explain`, with the control experiment of `resynthesis`. This page
is made like the gallery, the remarks included; [Explanations](explanations.md) says what the numbers mean. The curves
shown are those with the largest witness function: typical of one side and not of the other.
"""
PUT_IN = {
    simulated_fields: "nothing",
    simulated_sieving: "size, and spread of size and elongation",
    simulated_treatment: "roughness (6 to 14 waves)",
    simulated_rolling: "elongation, waviness of the boundaries",
}


def picture(kind, heading):
    """Name of a picture of a pair, beside the pages."""
    return f"images/{kind}-{re.sub('[^a-z0-9]+', '-', heading.lower()).strip('-')}.png"


def measured_pair(pair, *, drawn):
    """All that both galleries say of one pair; with `drawn`, its two pictures as well."""
    result = compare(*pair.load())
    found = explain(result)
    if drawn:
        with plt.rc_context(BOTH):
            draw(result, DOCS / picture("gallery", pair.heading))
        with style(), plt.rc_context(BOTH):
            figures(found, ["typical"])["typical"].savefig(DOCS / picture("why", pair.heading), dpi=80)
        plt.close("all")
    differing = found.components.differing()
    descriptors = found.descriptors.tests
    within = [(a, b) for side in pair.single for a, b in combinations(side, 2)]
    return {
        "case": result.case,
        "summary": result.summary(),
        "undulation": result.undulation.p_value,
        "scale": result.scale.p_value,
        "parts": {name: part.p_value for name, part in {**result.undulation.parts, **result.scale.parts}.items()},
        "sentences": list(found.sentences()),
        "shares": dict(zip(COMPONENTS, map(float, found.components.share), strict=True)) if differing else {},
        "descriptors": dict(zip(descriptors.names, map(float, descriptors.adjusted), strict=True)),
        "swaps": [
            {
                "form": swap.form,
                "scale": swap.scale,
                "against": swap.against,
                "case": swap.case,
                "found": list(swap.found()),
                "expected": list(swap.expected(differing)),
            }
            for swap in resynthesis(result)
        ],
        "within": {
            "pairs": len(within),
            "differ": sum(compare(steel([a], a), steel([b], b)).case != "1∧1" for a, b in within),
        },
    }


def measured_simulations(seeds=SEEDS):
    """How often each component is named in the simulated pairs."""
    found = {}
    for sample, put_in in PUT_IN.items():
        explained = (explain(compare(*sample(seed).ensembles())) for seed in range(seeds))
        named = Counter(part for one in explained for part in one.components.differing())
        title = sample(0).title.removeprefix("Simulated: ")
        found[title] = {"put in": put_in, "seeds": seeds} | {part: named[part] for part in COMPONENTS}
    return found


def draw(result, path):
    """Show some curves of both ensembles, filled by distance from the mean shape."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    distances = result.distances["product"].to_numpy()
    top = np.quantile(distances, 0.98)
    parts = ((result.a, distances[: len(result.a)]), (result.b, distances[len(result.a) :]))
    for axis, (ensemble, values) in zip(axes, parts, strict=True):
        chosen = np.random.default_rng(0).permutation(len(ensemble))[:SHOWN]
        boxes = np.array([np.ptp(ensemble.curves[i], axis=0) for i in chosen])
        cell = np.quantile(boxes, 0.95) * 1.15
        polygons = [
            (ensemble.curves[i] - ensemble.curves[i].mean(axis=0))[:, ::-1] + np.array(divmod(place, 6)) * cell
            for place, i in enumerate(chosen)
        ]
        fill = PolyCollection(polygons, array=values[chosen], cmap="viridis", clim=(0, top), ec=GREY, lw=0.4)
        axis.add_collection(fill)
        axis.autoscale()
        axis.set_aspect("equal")
        axis.axis("off")
        axis.set_title(f"{ensemble.name}: {len(ensemble)} curves, {len(chosen)} shown", fontsize=10)
    figure.colorbar(fill, ax=axes, label="distance from the mean shape", shrink=0.8)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def listed(names):
    """Names as a part of a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def remark(found):
    """What to make of an explanation, said by the result itself."""
    said = []
    if found["shares"]:
        largest = max(found["shares"], key=found["shares"].get)
        said.append(f"{largest.capitalize()} carries {found['shares'][largest]:.0%} of the difference.")
    else:
        said.append("No component is named.")
    seen = [name.replace("_", " ") for name, p in found["descriptors"].items() if p <= LEVEL]
    others = [name.replace("_", " ") for name, p in found["descriptors"].items() if p > LEVEL]
    if seen:
        verb = "differ" if len(seen) > 1 else "differs"
        said.append(f"Of the plain descriptors {listed(seen)} {verb}" + (f", {listed(others)} not." if others else "."))
    else:
        said.append("No plain descriptor differs.")
    odd = [swap for swap in found["swaps"] if swap["found"] != swap["expected"]]
    if not odd:
        said.append("In each exchange what differs is what was exchanged.")
    said += [
        f"With the form of {swap['form']} and the scale of {swap['scale']}, compared with {swap['against']}, "
        f"{' and '.join(swap['found']) or 'nothing'} differs in place of "
        f"{' and '.join(swap['expected']) or 'nothing'}: there the separation does not hold, or the curves do not "
        "suffice to see it."
        for swap in odd
    ]
    if found["within"]["pairs"]:
        said.append(
            f"Of the {found['within']['pairs']} pairs of images of *one* side {found['within']['differ']} differ as "
            "well. With outlines pooled over images this is pseudoreplication: the difference between the sides is no "
            "evidence about what was done to them."
        )
    return " ".join(said)


def gallery_page(measured):
    """docs/gallery.md."""
    parts = [GALLERY]
    for pair in PAIRS:
        found = measured[pair.heading]
        tested = "; ".join(f"{name} p = {p:.2g}" for name, p in found["parts"].items())
        parts.append(
            f"## {pair.heading}\n\n{pair.remark}\n\n![Outlines of both ensembles]({picture('gallery', pair.heading)})"
            f"\n\n**{found['case']}**: {found['summary']} Parts: {tested}.\n"
        )
    return "\n".join(parts)


def why_page(measured, simulated):
    """docs/why-gallery.md."""
    parts = [WHY.strip()]
    for pair in PAIRS:
        found = measured[pair.heading]
        shares = ", ".join(f"{part} {share:.0%}" for part, share in found["shares"].items())
        swaps = [
            f"| form of {swap['form']}, scale of {swap['scale']} | {swap['against']} | {swap['case']} "
            f"| {', '.join(swap['found']) or 'nothing'} | {', '.join(swap['expected']) or 'nothing'} |"
            for swap in found["swaps"]
        ]
        parts += [
            f"## {pair.heading}",
            pair.remark,
            f"![Typical curves of both sides]({picture('why', pair.heading)})",
            found["summary"],
            "\n".join(f"- {sentence}" for sentence in found["sentences"]),
            *([f"Shares: {shares}."] if shares else []),
            "\n".join(["| new curves | against | row | differ in | expected |", "|---|---|---|---|---|", *swaps]),
            f"*What to make of it.* {remark(found)}",
        ]
    rows = [
        f"| {title} | {found['put in']} | "
        + " | ".join(f"{found[part]} of {found['seeds']}" for part in COMPONENTS)
        + " |"
        for title, found in simulated.items()
    ]
    parts += [
        "## The four simulated pairs",
        f"Each drawn with {SEEDS} seeds, segmented and traced with the defaults: in how many of them each component "
        "was named at a family-wise error rate of 1 %.",
        "\n".join(["| pair | put in | " + " | ".join(COMPONENTS) + " |", "|---" * (2 + len(COMPONENTS)) + "|", *rows]),
    ]
    return "\n\n".join(parts) + "\n"
