"""Prints the table of docs/evidence/paper.md, from the paper's grains in ../shared/data."""

from pathlib import Path

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "paper" / "pil184_grains.npz"


def grains(key, stretch=(1, 1)):
    """Outlines of one half of the map as (row, column), in steps of the map."""
    data = np.load(DATA)
    factor, *origin = data[f"{key}_to_steps"]
    vertices = (data[f"{key}_xy"] * factor + origin)[:, ::-1] * stretch
    return Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1]), name=key)


def pairs():
    """The three pairs of the page, by name."""
    return {
        "smooth, smooth": (grains("hlf1_smooth5"), grains("hlf2_smooth5")),
        "noisy, smooth": (grains("hlf1_noisy"), grains("hlf2_smooth5")),
        "smooth, stretched": (grains("hlf1_smooth5"), grains("hlf2_smooth5", (1.4, 1 / 1.4))),
    }


def main():
    """Compare every pair with both settings."""
    for name, pair in pairs().items():
        for kind, settings in (("defaults", Settings()), ("paper", Settings.paper())):
            result = compare(*pair, settings)
            print(
                f"{name:20s} {kind:9s} {result.case}  undulation p = {result.undulation.p_value:.4f}  "
                f"scale p = {result.scale.p_value:.4f}"
            )


if __name__ == "__main__":
    main()
