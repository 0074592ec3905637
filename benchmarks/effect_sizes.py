"""How large differences are in real data of ../shared/data, as in docs/evidence/power.md.

python benchmarks/effect_sizes.py [--out docs/results/effect-sizes.json]
"""

import argparse
from pathlib import Path

import numpy as np

from napari_shape_ensembles import (
    Ensemble,
    archetype_sensitivity,
    compare,
    dependence_test,
)
from napari_shape_ensembles.comparison.quantities import COMPONENTS
from napari_shape_ensembles.explanation.components import component_shares
from results_file import out_option, printed, record

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT.parent / "shared" / "data" / "paper"


def grains(key, stretch=(1, 1)):
    """Outlines of one half of the paper's map, in steps of the map."""
    data = np.load(PAPER / "pil184_grains.npz")
    factor, *origin = data[f"{key}_to_steps"]
    vertices = (data[f"{key}_xy"] * factor + origin)[:, ::-1] * stretch
    return Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1]), name=key)


def cells(treatment, line=0):
    """Outlines of cells of one line (0 dunn, 1 dlm8) under one treatment (0 control, 2 cytochalasin D)."""
    data = np.load(ROOT / "tests" / "data" / "osteosarcoma_cells" / "cells.npz")
    curves = np.split(data["xy"][:, ::-1].astype(float), data["offsets"][1:-1])
    chosen = (data["cell_line"] == line) & (data["treatment"] == treatment)
    return Ensemble([curves[i] for i in np.flatnonzero(chosen)], name=("control", "jasp", "cytd")[treatment])


def text(value, low, high):
    """A value with its interval."""
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def row(pair):
    """Estimates and shares of a comparison of real outlines."""
    result = compare(*pair)
    table, least, dependence = result.estimates.set_index("quantity"), result.detectable(), dependence_test(result)
    found = component_shares(result.components, len(result.a))
    # Shares are meaningless if no difference was found.
    shares = [] if result.case == "1∧1" else zip(COMPONENTS, found.share, *found.interval, strict=True)
    leading = [f"{name} {text(share, low, high)}" for name, share, low, high in shares if low > 0.1]
    sensitivity = archetype_sensitivity(result)
    return {
        "row": result.case,
        **{
            name: text(*table.loc[name, ["estimate", "low", "high"]])
            for name in ("size", "elongation", "coarse form", "roughness")
        },
        "shares above 0.1": "; ".join(leading) or "-",
        "could have shown": f"{least.size_ratio - 1:.0%} in length, {least.elongation_ratio - 1:.0%} in elongation, "
        f"form by {least.form_shift:.2f} sd".replace("%", " %"),
        "dependence": f"{dependence.normalized:.2f} (p = {dependence.p_value:.2g})",
        "archetypes agree": "yes" if sensitivity.stable else "no",
    }


def measured():
    """Rows of all pairs."""
    smooth, other = grains("hlf1_smooth5"), grains("hlf2_smooth5")
    pairs = {
        "ice grains, smooth halves": (smooth, other),
        "noisy half, smooth half": (grains("hlf1_noisy"), other),
        "smooth half, other half stretched 1.4 : 1/1.4": (smooth, grains("hlf2_smooth5", (1.4, 1 / 1.4))),
        "bone cancer cells, control and cytochalasin D": (cells(0), cells(2)),
    }
    return [printed(pair=name, **row(pair)) for name, pair in pairs.items()]


def main():
    """Print the table, and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    out_option(parser)
    record(parser.parse_args().out, pairs=measured())


if __name__ == "__main__":
    main()
