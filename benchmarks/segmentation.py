"""Segment every image of the real data with documented settings and compare with the reference.

Prints the tables of docs/evidence/segmentation.md: counts found and in the reference, mean IoU of matched objects,
fraction of reference objects matched; then the time of a preview and of tracing 5000 labels.
With ``--examples``: segmentation by example, with five painted objects per image, compared with documented settings.
Run as ``python benchmarks/segmentation.py [--data FOLDER] [--quick] [--examples] [--draws N]``.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import ndimage
from skimage.draw import polygon2mask
from skimage.io import imread
from skimage.transform import resize

from learning import PAINTED, drawn, f1
from napari_shape_ensembles import Outlines, extract_curves, learn_objects, match_labels, segment
from napari_shape_ensembles.outlines.learned import PixelFeatures
from napari_shape_ensembles.outlines.tiling import Tiling


@dataclass(frozen=True)
class Case:
    """One raw image, its segmentation, and which of its objects are counted."""

    name: str
    image: np.ndarray
    reference: np.ndarray
    recipe: Outlines
    tiling: bool = False


HEADINGS = """\
| image | settings | min. area | reference | found | difference | matched | mean IoU | curves |
|---|---|---|---|---|---|---|---|---|"""

BESIDE = """\
| image | objects not painted | settings: matched | F1 | five painted: matched | F1 |
|---|---|---|---|---|---|"""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--quick", action="store_true", help="leave the timings out")
    parser.add_argument("--examples", action="store_true", help="by example beside the documented settings")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    if options.examples:
        print(BESIDE)
        for case in [*powder(options.data), *steel(options.data), *battery(options.data)]:
            print(beside(case, options.draws), flush=True)
        return
    print(HEADINGS)
    for case in cases(options.data):
        print(by_functions(case), flush=True)
    print("\n" + "\n".join(splitting_alone(case) for case in powder(options.data)))
    if not options.quick:
        print("\n" + "\n".join(timings()))


def by_functions(case: Case) -> str:
    """One line of the table, with the library functions."""
    labels = segment(case.image, case.recipe)
    if case.tiling:
        return row(case, labels, len(Tiling.of(labels).smoothed(5).ensemble(min_area=case.recipe.min_area)))
    return row(case, labels, len(extract_curves(labels, min_area=case.recipe.min_area)))


def beside(case: Case, draws: int) -> str:
    """One line: objects that were not painted, with the documented settings and with five painted objects."""
    least = case.recipe.min_area
    reference = without_small(case.reference, least)
    by_settings = without_small(segment(case.image, case.recipe), least)
    features = PixelFeatures.of(case.image)
    found = []
    for draw in range(draws):
        painted = drawn(reference, (len(case.name), draw))
        by_example = without_small(learn_objects(features, painted).labels(features), least)
        rest = set(np.unique(reference[(reference > 0) & (painted == 0)]).tolist())
        for labels in (by_settings, by_example):
            matched = len(rest & set(match_labels(reference, labels).pairs["a"].tolist())) / len(rest)
            found.append((matched, f1(reference, labels, painted)))
    shares = np.array(found).reshape(draws, 2, 2)  # draw, method, matched and F1
    (old, old_f1), (new, new_f1) = shares.mean(axis=0)
    low, high = shares[:, 1, 0].min(), shares[:, 1, 0].max()
    count = len(np.unique(reference)) - 1
    return (
        f"| {case.name} | {count - PAINTED} | {old:.0%} | {old_f1:.2f} | {new:.0%} ({low:.0%} to {high:.0%}) "
        f"| {new_f1:.2f} |"
    )


def row(case: Case, labels: np.ndarray, curves: int) -> str:
    """One line of the table: objects of at least the minimum area, including those at the border."""
    found, reference = (without_small(both, case.recipe.min_area) for both in (labels, case.reference))
    counts = [len(np.unique(both[both > 0])) for both in (reference, found)]
    difference = counts[1] / counts[0] - 1
    matching = match_labels(reference, found)
    changed = {name: value for name, value in case.recipe.changed().items() if name != "min_area"}
    settings = ", ".join(f"{name} {value}" for name, value in changed.items()) or "defaults"
    return (
        f"| {case.name} | {settings} | {case.recipe.min_area} | {counts[0]} | {counts[1]} | {difference:+.0%} "
        f"| {len(matching.pairs) / counts[0]:.0%} | {matching.pairs['iou'].mean():.2f} | {curves} |"
    )


def splitting_alone(case: Case) -> str:
    """Loss of splitting touching objects by their outline only: the reference objects as one mask."""
    drawn = without_small(case.reference, case.recipe.min_area)
    found = without_small(segment(drawn > 0, neck=case.recipe.neck), case.recipe.min_area)
    counts = [len(np.unique(labels[labels > 0])) for labels in (drawn, found)]
    matched = len(match_labels(drawn, found).pairs) / counts[0]
    return f"{case.name}, the reference as a mask, split: {counts[1]} of {counts[0]} found, {matched:.0%} matched"


def without_small(labels: np.ndarray, least: int) -> np.ndarray:
    """Remove objects of fewer pixels."""
    values, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.where(counts >= least, values, 0)[index].reshape(labels.shape).astype(np.int64)


def cases(data: Path) -> list[Case]:
    """Every image with a reference, and its settings."""
    return [*powder(data), nuclei(data), *steel(data), *battery(data), *maps(data)]


def powder(data: Path) -> list[Case]:
    """Powder: manual polygons; a particle is the part not covered by polygons drawn later."""
    folder = data / "ampis_powder"
    drawn = np.load(folder / "polygons.npz")
    outlines = np.split(drawn["xy"][:, ::-1].astype(float), drawn["offsets"][1:-1])
    found = []
    for number in (0, 1):
        image = imread(folder / f"Sc1Tile_001-00{number + 1}-000.png")
        labels = np.zeros(image.shape, dtype=np.int32)
        chosen = [i for i in range(len(outlines)) if drawn["image"][i] == number and drawn["kind"][i] == 0]
        for label, index in enumerate(chosen, start=1):
            labels[polygon2mask(image.shape, outlines[index])] = label
        found.append(Case(f"powder {number}", image, labels, POWDER))
    return found


def nuclei(data: Path) -> Case:
    """Fluorescent nuclei."""
    image, labels = (imread(data / "dsb_nuclei" / name) for name in ("image.png", "labels.png"))
    return Case("nuclei", image, labels, NUCLEI)


def steel(data: Path) -> list[Case]:
    """Spheroidized steel; touching particles are one component of the reference."""
    found = []
    for path in sorted((data / "uhcs_spheroidite").glob("*_image.png")):
        mask = imread(path.with_name(path.name.replace("_image", "_mask"))) > 0
        name = path.name.removesuffix("_image.png")
        recipe = Outlines(method="manual", threshold=STEEL[name], split_touching="none", min_area=60)
        found.append(Case(name, imread(path), ndimage.label(mask)[0], recipe))
    return found


def battery(data: Path) -> list[Case]:
    """Battery sections in false color; the reference is the mask of the paper, at the resolution of the image."""
    found = []
    for kind in ("new", "old"):
        image = imread(data / "paper" / f"battery_{kind}_falsecolour.jpg")
        mask = imread(data / "paper" / f"battery_{kind}_mask_sigma5.png") > 0
        small = resize(mask.astype(float), image.shape[:2], order=1, anti_aliasing=True) > 0.5
        region = ndimage.find_objects(small.astype(int))[0]  # the paper used a part of the image only
        found.append(Case(f"battery {kind}", image[region], ndimage.label(small[region])[0], BATTERY))
    return found


def maps(data: Path) -> list[Case]:
    """A map of two phases, and a line drawing of grains made from the boundaries of the labels."""
    phase = imread(data / "ebsd_sdss" / "phase.png")
    components = sum(
        np.where(phase == value, ndimage.label(phase == value)[0] + offset, 0) for value, offset in ((1, 0), (2, 10**6))
    )
    austenite = np.where(components < 10**6, components, 0)
    drawing = imread(data / "paper" / "grain_boundary_map.png")
    grey = drawing[..., :3].mean(axis=-1) if drawing.ndim == 3 else drawing
    cells = ndimage.label(grey > 128)[0]
    return [
        Case("duplex steel, austenite", phase, austenite, PHASE),
        Case("grain drawing", drawing, cells, DRAWING, tiling=True),
    ]


def timings() -> list[str]:
    """Processor and elapsed times, the minimum of five, of a preview and of tracing 5000 labels."""
    image = spots(1024, 30)
    labels = many_labels()
    work = {
        "segmentation of 1024 × 1024, Otsu, not split": lambda: segment(image, split_touching="none"),
        "segmentation of 1024 × 1024, Otsu, split at necks": lambda: segment(image),
        "the same at half the resolution (the draft)": lambda: segment(image[::2, ::2]),
        f"outlines of {len(np.unique(labels)) - 1} labels in 4096 × 4096": lambda: extract_curves(labels, border=True),
        "boundary network of the same": lambda: Tiling.of(labels).smoothed(5).ensemble(border=True),
    }
    return [f"{name}: {'{:.3f} s elapsed, {:.3f} s processor'.format(*best(run))}" for name, run in work.items()]


def best(run: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Minimum elapsed and processor times."""
    spent = []
    for _ in range(times):
        elapsed, processor = time.perf_counter(), time.process_time()
        run()
        spent.append((time.perf_counter() - elapsed, time.process_time() - processor))
    return min(one for one, _ in spent), min(other for _, other in spent)


def spots(side: int, spacing: int) -> np.ndarray:
    """Bright disks of different sizes with noise, uint8."""
    rng = np.random.default_rng(0)
    rows, columns = np.indices((side, side))
    radius = rng.uniform(0.3, 0.55, (side // spacing + 1,) * 2)[rows // spacing, columns // spacing] * spacing
    apart = np.hypot(rows % spacing - spacing / 2, columns % spacing - spacing / 2)
    return np.clip(80 + 90 * (apart < radius) + rng.normal(0, 10, rows.shape), 0, 255).astype(np.uint8)


def many_labels(side: int = 4096, across: int = 71) -> np.ndarray:
    """About 5000 irregular objects on a grid."""
    field = ndimage.zoom(ndimage.gaussian_filter(np.random.default_rng(0).normal(size=(side // 4,) * 2), 3), 4, order=1)
    step = side / across
    rows, columns = np.indices((side, side), dtype=np.float32)
    apart = np.hypot(rows % step - step / 2, columns % step - step / 2)
    number = (rows // step).astype(np.int32) * across + (columns // step).astype(np.int32) + 1
    return np.where(apart < 17 + 4 * field / field.std(), number, 0).astype(np.int32)


# The smallest particles are lowest and dimmest, and touch others over much of their width; what looks like a hole is
# background enclosed by particles.
POWDER = Outlines(method="manual", threshold=50, min_size=60, neck=0.99, fill_holes=False, min_area=100)
NUCLEI = Outlines(method="local", window=41, offset=0.02, min_size=30, neck=0.95, min_area=30)
# Gray value between matrix and particles; images become brighter from 24 h to 85 h.
STEEL = {
    "800C-24H-Q-2": 140,
    "800C-24H-Q-4": 169,
    "800C-24H-Q-6": 156,
    "800C-85H-Q-1": 175,
    "800C-85H-Q-5": 171,
    "800C-85H-Q-6": 161,
}
BATTERY = Outlines(
    method="local", objects="dark", channel=0, window=201, opening=2.5, split_touching="none", min_area=40
)
PHASE = Outlines(
    method="manual", threshold=1.5, objects="dark", smoothing=0, split_touching="none", fill_holes=False, min_area=5
)
DRAWING = Outlines(
    method="boundaries", smoothing=0.5, window=9, offset=0.15, split_touching="none", min_size=10, min_area=10
)


if __name__ == "__main__":
    main()
