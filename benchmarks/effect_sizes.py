"""Prints the effect sizes in docs/two-sample-tests.md from the real data in ../shared/data."""

from pathlib import Path

import numpy as np

from napari_shape_ensembles import (
    Ensemble,
    archetype_sensitivity,
    compare,
    dependence_test,
    detectable_differences,
    effect_sizes,
)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def grains(key, stretch=(1, 1)):
    """Outlines of one half of the paper's map, in steps of the map."""
    data = np.load(DATA / "paper" / "pil184_grains.npz")
    factor, *origin = data[f"{key}_to_steps"]
    vertices = (data[f"{key}_xy"] * factor + origin)[:, ::-1] * stretch
    return Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1]), name=key)


def cells(treatment, line=0):
    """Outlines of cells of one line (0 dunn, 1 dlm8) under one treatment (0 control, 2 cytochalasin D)."""
    data = np.load(DATA / "osteosarcoma_cells" / "cells.npz")
    curves = np.split(data["xy"][:, ::-1].astype(float), data["offsets"][1:-1])
    chosen = (data["cell_line"] == line) & (data["treatment"] == treatment)
    return Ensemble([curves[i] for i in np.flatnonzero(chosen)], name=("control", "jasp", "cytd")[treatment])


def text(estimate):
    """A value with its interval."""
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def main():
    """Print everything there is to say about four pairs."""
    pairs = {
        "smooth halves": (grains("hlf1_smooth5"), grains("hlf2_smooth5")),
        "noisy, smooth": (grains("hlf1_noisy"), grains("hlf2_smooth5")),
        "smooth, stretched 1.4 : 1/1.4": (grains("hlf1_smooth5"), grains("hlf2_smooth5", (1.4, 1 / 1.4))),
        "cells: control, cytochalasin D": (cells(0), cells(2)),
    }
    for name, pair in pairs.items():
        result = compare(*pair)
        t, l, first = result.t, result.l, len(result.a)
        effects = effect_sizes(t, l, first)
        least = detectable_differences(t, l, first, result.undulation, result.scale)
        dependence = dependence_test(t, l, first)
        print(f"\n{name}: {len(result.a)} and {len(result.b)} curves, {result.case}")
        for kind in ("undulation", "scale"):
            print(f"  {kind}: MMD {text(effects.mmd[kind])}, standardized {text(effects.standardized[kind])}")
        for aspect, share in effects.shares.items():
            print(f"  {aspect}: share {text(share)}, standardized {text(effects.standardized[aspect])}")
        print(f"  size ratio {text(effects.size_ratio)}")
        print(
            f"  detectable: size ratio {least.size_ratio:.3f}, elongation ratio {least.elongation_ratio:.3f}, "
            f"form shift {least.form_shift:.2f} sd"
        )
        print(f"  dependence: normalized {dependence.normalized:.3f}, p = {dependence.p_value:.3f}")
        print(f"  {archetype_sensitivity(*pair).summary()}")


if __name__ == "__main__":
    main()
