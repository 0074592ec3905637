"""Explains every pair of real ensembles and the sample pairs, draws docs/images/why-*.png, writes docs/why-gallery.md.

Run as ``python docs/figures/explanations.py [--seeds 8]``.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

from real_data import curves, pairs

from napari_shape_ensembles import Ensemble, compare, explain, resynthesis
from napari_shape_ensembles.explanation.components import COMPONENTS
from napari_shape_ensembles.explanation.figures import figures, style
from napari_shape_ensembles.samples import simulated_fields, simulated_rolling, simulated_sieving, simulated_treatment

DOCS = Path(__file__).resolve().parents[1]
HEAD = """# Why they differ: real and simulated pairs

Every pair of the [gallery](gallery.md), explained by `explain`, with the control experiment of `resynthesis`. This page
and its pictures are written by `python docs/figures/explanations.py`; [explanations.md](explanations.md) says what the
numbers mean. The curves shown are those with the largest witness function: typical of one side and not of the other.
"""
# What to make of each explanation, by heading.
READING = {
    "Ice grains, as mapped and smoothed": "The steps of the measuring grid are fine waves, so roughness carries nearly "
    "all of the difference. Circularity sees it too; area does not. The coarse form differs a little because smoothing "
    "also rounds corners.",
    "Ice grains, two halves alike": "Nothing is named, as it should be.",
    "Metal powder": "Another size fraction of the same particles: size alone is named, and in the swaps it goes with "
    "the scale.",
    "Battery particles, new and old": "The paper reports other shapes after cycling. In this pair of images, at the "
    "stronger smoothing, the old particles are smaller; no difference of form is detected. In the last swap the scale "
    "differs, and size by itself lies just above its joint level.",
    "Osteosarcoma cells, a drug against control": "Branched processes make outlines concave and rough; cells that have "
    "drawn in are smaller.",
    "Osteosarcoma cells, two lines under the drug": "Two lines that answer to the drug with processes of another kind. "
    "Their scales are near the level in the comparison itself (p = 0.012), and beyond it in the first swap.",
    "Carbides in steel, 24 h against 85 h at 800 °C": "Ageing coarsens carbides. The magnification is not recorded, so "
    "a difference in size is one in pixels.",
}


def battery():
    """Particles of the paper's battery images at σ = 15."""
    for name in ("new", "old"):
        outlines, _ = curves("paper/battery_curves.npz", f"{name}_sigma15")
        yield Ensemble(outlines, name=name)


def section(heading, remark, a, b):
    """Text and picture of one pair."""
    result = compare(a, b)
    found = explain(result)
    name = "why-" + re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") + ".png"
    with style():
        figures(found, ["typical"])["typical"].savefig(DOCS / "images" / name, dpi=80)
    shares = ", ".join(f"{part} {share:.0%}" for part, share in zip(COMPONENTS, found.components.share, strict=True))
    lines = [
        f"## {heading}",
        remark,
        f"![Typical curves of both sides](images/{name})",
        result.summary(),
        "\n".join(f"- {sentence}" for sentence in found.sentences()),
        f"Shares: {shares}." if found.components.differing() else "",
        proof(result, found),
        f"*What to make of it.* {READING[heading]}",
    ]
    return "\n\n".join(line for line in lines if line)


def proof(result, found):
    """The rows and components of the four swaps."""
    lines = ["| new curves | against | row | differ in | expected |", "|---|---|---|---|---|"]
    for swap in resynthesis(result):
        differ, expected = (
            ", ".join(names) or "nothing" for names in (swap.found(), swap.expected(found.components.differing()))
        )
        lines.append(
            f"| form of {swap.form}, scale of {swap.scale} | {swap.against} | {swap.case} | {differ} | {expected} |"
        )
    return "\n".join(lines)


def samples(seeds):
    """How often each component is named in the simulated pairs."""
    lines = [
        "## The four simulated pairs",
        f"Each drawn with {seeds} seeds, segmented and traced with the defaults: in how many of them each component "
        "was named at 1 % family-wise.",
        "| pair | put in | " + " | ".join(COMPONENTS) + " |",
        "|---" * (2 + len(COMPONENTS)) + "|",
    ]
    put_in = {
        simulated_fields: "nothing",
        simulated_sieving: "size, and spread of size and elongation",
        simulated_treatment: "roughness (6 to 14 waves)",
        simulated_rolling: "elongation, waviness of the boundaries",
    }
    for sample, words in put_in.items():
        title = sample(0).title.removeprefix("Simulated: ")
        explained = (explain(compare(*sample(seed).ensembles())) for seed in range(seeds))
        named = Counter(part for found in explained for part in found.components.differing())
        lines.append(f"| {title} | {words} | " + " | ".join(f"{named[part]} of {seeds}" for part in COMPONENTS) + " |")
        print(lines[-1], flush=True)
    return "\n\n".join([*lines[:2], "\n".join(lines[2:])])


def main():
    """Explain, draw and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    seeds = parser.parse_args().seeds
    parts = [HEAD.strip()]
    cases = [*pairs()]
    cases.insert(3, ("Battery particles, new and old", "Cathode particles before and after cycling.", *battery()))
    for case in cases:
        parts.append(section(*case))
        print(parts[-1], flush=True)
    parts.append(samples(seeds))
    (DOCS / "why-gallery.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
