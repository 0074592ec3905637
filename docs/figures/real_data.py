"""Pairs of real ensembles from the folder `shared/data` beside the repository; docs/data.md says what is in it."""

from pathlib import Path

import numpy as np
from skimage.io import imread

from napari_shape_ensembles import Ensemble, extract_curves
from napari_shape_ensembles.outlines import segment

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def curves(file, key=""):
    """Closed curves (m, 2) as (row, column), and the file they come from."""
    data = np.load(DATA / file)
    prefix = f"{key}_" if key else ""
    vertices = data[f"{prefix}xy"][:, ::-1].astype(float)
    return np.split(vertices, data[f"{prefix}offsets"][1:-1]), data


def grains(key, name):
    """Ice grains of the paper, in steps of their map."""
    outlines, data = curves("paper/pil184_grains.npz", key)
    factor, *origin = data[f"{key}_to_steps"]
    return Ensemble([outline * factor + origin[::-1] for outline in outlines], name=name)


def powder(image, name):
    """Particles of one micrograph that its border does not cut."""
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
    """Carbide particles in masks of spheroidised steel, all images together."""
    outlines = [
        outline
        for file in files
        for outline in extract_curves(
            segment(imread(DATA / "uhcs_spheroidite" / f"{file}_mask.png", as_gray=True)), min_area=60
        ).curves
    ]
    return Ensemble(outlines, name=name)


def pairs():
    """Heading, remark and two ensembles of every pair in the gallery."""
    yield (
        "Ice grains, as mapped and smoothed",
        "Two halves of one orientation map (EBSD) of ice. A keeps the steps of the measuring grid, B was smoothed: the "
        "same kind of grain, but rougher outlines.",
        grains("hlf1_noisy", "half 1, unsmoothed"),
        grains("hlf2_smooth5", "half 2, smoothed"),
    )
    yield (
        "Ice grains, two halves alike",
        "The two halves of the same map, both smoothed. No difference is expected.",
        grains("hlf1_smooth5", "half 1, smoothed"),
        grains("hlf2_smooth5", "half 2, smoothed"),
    )
    yield (
        "Metal powder",
        "Hand-drawn particles in two micrographs of one powder. The particles are nearly round in both, "
        "the images show different size fractions.",
        powder(0, "image 1"),
        powder(1, "image 2"),
    )
    yield (
        "Osteosarcoma cells, a drug against control",
        "Cytochalasin D takes the actin skeleton apart: the body of the cell draws in and leaves branched processes.",
        cells(0, 0, "control"),
        cells(0, 2, "cytochalasin D"),
    )
    yield (
        "Osteosarcoma cells, two lines under the drug",
        "Two related lines, both under cytochalasin D.",
        cells(0, 2, "DUNN"),
        cells(1, 2, "DLM8"),
    )
    yield (
        "Carbides in steel, 24 h against 85 h at 800 °C",
        "Three images per ageing time. The images' magnification was not recorded, so the scale test compares pixels.",
        steel(("800C-24H-Q-2", "800C-24H-Q-4", "800C-24H-Q-6"), "24 h"),
        steel(("800C-85H-Q-1", "800C-85H-Q-5", "800C-85H-Q-6"), "85 h"),
    )
