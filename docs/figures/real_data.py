"""Pairs of real ensembles from `tests/data`, and from the folder `shared/data` beside the repository.

They are described in docs/contributing/data.md.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from skimage.io import imread

from napari_shape_ensembles import Ensemble, extract_curves
from napari_shape_ensembles.outlines import segment

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


class Pair(NamedTuple):
    """Two ensembles and what is known about them in advance."""

    heading: str
    remark: str
    files: tuple[str, ...]
    load: Callable[[], tuple[Ensemble, Ensemble]]
    single: tuple[tuple[str, ...], ...] = ()  # the images of each side, if it is pooled from several

    def available(self):
        """Whether its data are available."""
        return all(path_of(file).exists() for file in self.files)


def path_of(file):
    """Path of a file: in the repository if it may be included, else beside it."""
    inside = ROOT / "tests" / "data" / file
    return inside if inside.exists() else DATA / file


def curves(file, key=""):
    """Closed curves (m, 2) as (row, column), and their file."""
    data = np.load(path_of(file))
    prefix = f"{key}_" if key else ""
    vertices = data[f"{prefix}xy"][:, ::-1].astype(float)
    return np.split(vertices, data[f"{prefix}offsets"][1:-1]), data


def grains(key, name):
    """Ice grains of the paper, in steps of their map."""
    outlines, data = curves("paper/pil184_grains.npz", key)
    factor, *origin = data[f"{key}_to_steps"]
    return Ensemble([outline * factor + origin[::-1] for outline in outlines], name=name)


def powder(image, name):
    """Particles of one micrograph not cut by its border."""
    outlines, data = curves("ampis_powder/polygons.npz")
    inside = [(outline > 1).all() and (outline < (1022, 1534)).all() for outline in outlines]
    chosen = (data["image"] == image) & (data["kind"] == 0) & inside
    return Ensemble([outline for outline, keep in zip(outlines, chosen, strict=True) if keep], name=name)


def cells(line, treatment, name):
    """Outlines of osteosarcoma cells of one line under one treatment."""
    outlines, data = curves("osteosarcoma_cells/cells.npz")
    chosen = (data["cell_line"] == line) & (data["treatment"] == treatment)
    return Ensemble([outline for outline, keep in zip(outlines, chosen, strict=True) if keep], name=name)


def steel(files, name):
    """Carbide particles in masks of spheroidized steel, all images together."""
    outlines = [
        outline
        for file in files
        for outline in extract_curves(
            segment(imread(DATA / "uhcs_spheroidite" / f"{file}_mask.png", as_gray=True)), min_area=60
        ).curves
    ]
    return Ensemble(outlines, name=name)


def battery(name):
    """Particles of the paper's battery images at σ = 15."""
    return Ensemble(curves("paper/battery_curves.npz", f"{name}_sigma15")[0], name=name)


GRAINS, POWDER, CELLS = "paper/pil184_grains.npz", "ampis_powder/polygons.npz", "osteosarcoma_cells/cells.npz"
AGED_24 = ("800C-24H-Q-2", "800C-24H-Q-4", "800C-24H-Q-6")
AGED_85 = ("800C-85H-Q-1", "800C-85H-Q-5", "800C-85H-Q-6")
UNLICENSED = "The data state no license: an outsider cannot repeat this pair."
PAIRS = (
    Pair(
        "Ice grains, as mapped and smoothed",
        "Two halves of one orientation map (EBSD) of ice. A keeps the steps of the measuring grid, B was smoothed: A's "
        f"outlines are rougher for that reason alone. {UNLICENSED}",
        (GRAINS,),
        lambda: (grains("hlf1_noisy", "half 1, unsmoothed"), grains("hlf2_smooth5", "half 2, smoothed")),
    ),
    Pair(
        "Ice grains, two halves alike",
        f"The two halves of the same map, both smoothed. No difference is expected. {UNLICENSED}",
        (GRAINS,),
        lambda: (grains("hlf1_smooth5", "half 1, smoothed"), grains("hlf2_smooth5", "half 2, smoothed")),
    ),
    Pair(
        "Metal powder",
        "Particles drawn by hand in two tiles of one scan of one powder. Nothing is known of a difference.",
        (POWDER,),
        lambda: (powder(0, "image 1"), powder(1, "image 2")),
    ),
    Pair(
        "Battery particles, new and old",
        "Cathode particles before and after cycling, at the stronger smoothing. The paper reports that their "
        f"shapes differ. {UNLICENSED}",
        ("paper/battery_curves.npz",),
        lambda: (battery("new"), battery("old")),
    ),
    Pair(
        "Osteosarcoma cells, a drug against control",
        "Cytochalasin D breaks up the actin skeleton, which holds a cell in form.",
        (CELLS,),
        lambda: (cells(0, 0, "control"), cells(0, 2, "cytochalasin D")),
    ),
    Pair(
        "Osteosarcoma cells, two lines under the drug",
        "Two related lines, both under cytochalasin D.",
        (CELLS,),
        lambda: (cells(0, 2, "DUNN"), cells(1, 2, "DLM8")),
    ),
    Pair(
        "Carbides in steel, 24 h against 85 h at 800 °C",
        "Three images per aging time, their outlines pooled. The magnification of the images was not recorded, so "
        "sizes are compared in pixels. The images are under the MIT license (`tools/fetch_data.py`).",
        tuple(f"uhcs_spheroidite/{name}_mask.png" for name in (*AGED_24, *AGED_85)),
        lambda: (steel(AGED_24, "24 h"), steel(AGED_85, "85 h")),
        (AGED_24, AGED_85),
    ),
)
