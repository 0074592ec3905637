"""Segmentation compared with labels drawn by hand, and false alarms of the quality control.

    python benchmarks/segmentation.py examples | transfer | methods | materials | quality [--out FILE]

F1 of objects at an intersection over union of 0.5, image by image, on the 21 images of ``segmentation`` in the shared
data; the labels are used for evaluation only. `examples`: five random objects of each image are painted completely;
F1 of the others. `transfer`: one model per type of image, trained on five objects of one image, on the other two of
the type. `methods`: by method and by proposals. ``--out`` stores F1 as JSON. `materials`: defaults, the first proposal
and settings chosen with the reference in view, on images of other sources. `quality`: findings of the checks in sets
with good outlines, by check; and, finally, in bad ones. ``--out`` of these two stores the table.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import ndimage
from skimage.draw import polygon2mask
from skimage.io import imread
from skimage.transform import resize

from napari_shape_ensembles import (
    Ensemble,
    Outlines,
    extract_curves,
    learn_objects,
    match_labels,
    propose,
    quality,
    segment,
)
from napari_shape_ensembles.outlines.learned import PixelFeatures
from results_file import DATA, parser_of

PAINTED, PER_KIND, COUNT, DRAWS, SPLITS = 5, 3, 21, 3, 20
WAYS = {"defaults": {}, "auto": {"method": "auto"}, "local": {"method": "local"}}
# Minimum F1 at IoU 0.5 for automatic outlines to count as good.
GOOD = 0.5


@dataclass(frozen=True)
class Case:
    """One raw image, its reference, and settings chosen by hand."""

    name: str
    image: np.ndarray
    reference: np.ndarray
    recipe: Outlines | None


def main() -> None:
    """Print one table, and store it."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("examples", "transfer", "methods", "materials", "quality"))
    options = parser.parse_args()
    folder = DATA / "segmentation"
    if options.what in ("materials", "quality"):
        lines = (materials if options.what == "materials" else checks)(DATA)
        text = "\n".join(print(line, flush=True) or line for line in lines)
    else:
        columns, rows = {
            "examples": lambda: ([f"draw {draw}" for draw in range(DRAWS)], by_example(folder)),
            "transfer": lambda: ([f"from {place}" for place in range(PER_KIND)], transfer(folder)),
            "methods": lambda: ((*WAYS, "together"), by_methods(folder)),
        }[options.what]()
        found = [f" {json.dumps(name)}: {json.dumps(figure)}" for name, figure in table(columns, rows).items()]
        text = "{\n" + ",\n".join(found) + "\n}"
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def read(folder: Path, numbers: Iterable[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Images and their labels."""
    return [
        (imread(folder / f"{number:02}_image.png"), imread(folder / f"{number:02}_labels.png").astype(int))
        for number in numbers
    ]


def table(columns: Iterable[str], rows: list[list[float]]) -> dict[str, object]:
    """Print rows of F1 as Markdown, with column means and the minimum of row means; returns the numbers."""
    names = list(columns)
    print("| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for index, row in enumerate(rows):
        print(f"| {index:02} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
    means = np.mean(rows, axis=0)
    print("| mean | " + " | ".join(f"{value:.3f}" for value in means) + " |")
    print(f"mean {np.mean(rows):.3f}, least mean of a row {np.mean(rows, axis=1).min():.3f}\n", flush=True)
    kinds = [rows[start : start + PER_KIND] for start in range(0, len(rows), PER_KIND)]
    found = {
        "columns": dict(zip(names, means, strict=True)),
        "rows": np.mean(rows, axis=1),
        "mean": np.mean(rows),
        "least": np.min(rows),
        "all": rows,
    }
    if len(rows) == COUNT:  # image by image
        found["each"] = {
            name: {
                "kinds": np.reshape(column, (-1, PER_KIND)).mean(axis=1),
                "even": np.mean(column[::2]),
                "odd": np.mean(column[1::2]),
                "least": np.min(column),
            }
            for name, column in zip(names, np.transpose(rows), strict=True)
        }
        found |= {
            "kinds": [np.mean(kind, axis=1) for kind in kinds],
            "least of a kind": [np.min(kind) for kind in kinds],
            "even": np.mean(rows[::2]),
            "odd": np.mean(rows[1::2]),
        }
    return plain(found)


def plain(value: object) -> object:
    """Numbers for JSON, with six digits."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | np.ndarray) else round(float(value), 6)


def by_example(folder: Path) -> list[list[float]]:
    """F1 of the objects not painted, for each random choice of painted ones."""
    rows = []
    for number, (image, truth) in enumerate(read(folder, range(COUNT))):
        features = PixelFeatures.of(image)
        painted = [drawn(truth, (number, draw)) for draw in range(DRAWS)]
        rows.append([f1(truth, learn_objects(features, one).labels(features), one) for one in painted])
    return rows


def by_methods(folder: Path) -> list[list[float]]:
    """F1 of each image by each method, and by the recipe proposed for all images of its type together."""
    rows = []
    for first in range(0, COUNT, PER_KIND):
        images = read(folder, range(first, first + PER_KIND))
        together = propose([image for image, _ in images])[0].recipe
        for image, truth in images:
            found = [*(segment(image, **way) for way in WAYS.values()), segment(image, together)]
            rows.append([f1(truth, labels) for labels in found])
    return rows


def transfer(folder: Path) -> list[list[float]]:
    """Mean F1 of the other two images of a type, for a model trained on each of the three."""
    rows = []
    for first in range(0, COUNT, PER_KIND):
        images = read(folder, range(first, first + PER_KIND))
        features = [PixelFeatures.of(image) for image, _ in images]
        row = []
        for place in range(PER_KIND):
            model = learn_objects(features[place], drawn(images[place][1], (first + place, 0)))
            others = [other for other in range(PER_KIND) if other != place]
            row.append(float(np.mean([f1(images[other][1], model.labels(features[other])) for other in others])))
        rows.append(row)
    return rows


def drawn(truth: np.ndarray, seed: tuple[int, int]) -> np.ndarray:
    """Five random objects of the reference."""
    chosen = np.random.default_rng(seed).permutation(np.unique(truth[truth > 0]))[:PAINTED]
    return np.where(np.isin(truth, chosen), truth, 0)


def f1(truth: np.ndarray, found: np.ndarray, painted: np.ndarray | None = None) -> float:
    """F1 at IoU 0.5, excluding painted objects and what was found on them."""
    known = np.unique(painted[painted > 0]) if painted is not None else np.array([], dtype=int)
    pairs = match_labels(truth, found).pairs
    on_painted = set()
    if painted is not None:
        pixels, within = np.bincount(found.ravel()), np.bincount(found[painted > 0], minlength=found.max() + 1)
        on_painted = set(np.flatnonzero(within > 0.5 * np.maximum(pixels, 1))) - {0}
    hits = sum(1 for a, b in zip(pairs["a"], pairs["b"], strict=True) if a not in known and b not in on_painted)
    wanted = len(np.unique(truth[truth > 0])) - len(known)
    given = len(np.unique(found[found > 0])) - len(on_painted)
    return 2 * hits / max(wanted + given, 1)


def materials(data: Path) -> Iterator[str]:
    """Lines of a table of F1 of objects of at least the minimum area, image by image."""
    yield "| image | defaults | first proposal | by hand | proposed |\n|---|---|---|---|---|"
    for case in [nuclei(data), *powder(data), *steel(data), *battery(data), *micrographs(data)]:
        least, best = case.recipe.min_area if case.recipe else 1, propose(case.image)[0].recipe
        reference = without_small(case.reference, least)
        recipes = [None, best, *([case.recipe] if case.recipe else [])]
        found = [f1(reference, without_small(segment(case.image, recipe), least)) for recipe in recipes]
        shown = [*(f"{value:.2f}" for value in found), "–"][:3]
        words = f"{best.method}, {best.objects}{', refined' if best.refine else ''}"
        yield f"| {case.name} | {' | '.join(shown)} | {words} |"


def checks(data: Path) -> Iterator[str]:
    """Lines of a table of the comparisons and findings of every set."""
    yield "| set | comparisons | serious | notes |\n|---|---|---|---|"
    for name, pairs in sets(data, SPLITS):
        counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        for pair in pairs:
            found = quality(*pair).findings
            for serious, count in zip((True, False), counts, strict=True):
                count.update({finding.check for finding in found if finding.serious is serious})
        words = [", ".join(f"{check} {count}" for check, count in sorted(one.items())) or "0" for one in counts]
        yield f"| {name} | {len(pairs)} | {words[0]} | {words[1]} |"


def without_small(labels: np.ndarray, least: int) -> np.ndarray:
    """Remove objects of fewer pixels."""
    values, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.where(counts >= least, values, 0)[index].reshape(labels.shape).astype(np.int64)


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


def micrographs(data: Path) -> list[Case]:
    """Electron micrographs of particles; no settings were chosen by hand."""
    paths = sorted((data / "micrographs").glob("*_image.png"))
    labels = [imread(path.with_name(path.name.replace("_image", "_labels"))).astype(int) for path in paths]
    return [
        Case(f"micrograph {path.name[:6]}", imread(path), one, None) for path, one in zip(paths, labels, strict=True)
    ]


def sets(data: Path, splits: int) -> Iterator[tuple[str, list[tuple[Ensemble, ...]]]]:
    """Pairs of samples by name of the set: the two natural sides, or random halves; and single samples."""
    rng = np.random.default_rng(0)
    drawn = np.load(data / "ampis_powder" / "polygons.npz")
    curves = np.split(drawn["xy"][:, ::-1].astype(float), drawn["offsets"][1:-1])
    sides = [
        Ensemble([curves[i] for i in np.flatnonzero((drawn["image"] == n) & (drawn["kind"] == 0))], name=f"image {n}")
        for n in (0, 1)
    ]
    yield "powder particles, drawn by hand", [(sides[0], sides[1])]
    cells = np.load(data / "osteosarcoma_cells" / "cells.npz")
    curves = np.split(cells["xy"][:, ::-1].astype(float), cells["offsets"][1:-1])
    groups = [
        Ensemble(
            [curves[i] for i in np.flatnonzero((cells["cell_line"] == n) & (cells["treatment"] == m))], name=f"{m}"
        )
        for n in (0, 1)
        for m in range(3)
    ]
    yield "osteosarcoma cells, all pairs of groups", [(a, b) for i, a in enumerate(groups) for b in groups[:i]]
    nuclei = extract_curves(imread(data / "dsb_nuclei" / "labels.png"), min_area=60)
    yield "nuclei (DSB), random halves", [halves(nuclei, rng) for _ in range(splits)]
    steel = {}
    for time in ("24H", "85H"):
        paths = sorted((data / "uhcs_spheroidite").glob(f"*-{time}-*_mask.png"))
        images = [
            extract_curves(ndimage.label(imread(path) > 0)[0], min_area=60, name=path.stem.removesuffix("_mask"))
            for path in paths
        ]
        steel[time] = Ensemble.pooled(images, name=time)
    yield "steel, 24 h and 85 h", [(steel["24H"], steel["85H"])]
    hearts = np.load(data / "replicates" / "hearts.npz")
    curves = np.split(hearts["xy"].astype(float), hearts["offsets"][1:-1])
    people = [
        Ensemble([curves[i] for i in np.flatnonzero(hearts["person"] == person)], name=f"person {person}")
        for person in np.unique(hearts["person"])
    ]
    yield "hearts, persons 4 and 4", [split(people, rng) for _ in range(splits)]
    for kind in ("wt", "ko"):
        paths = sorted((data / "replicates" / "mef_nuclei").glob(f"{kind}_*.png"))
        fields = [extract_curves(imread(path), min_area=600, name=path.name.split(".")[0]) for path in paths]
        fields = [field for field in fields if len(field)]
        yield f"fibroblast nuclei, {kind}, fields 15 and 15", [split(fields, rng) for _ in range(splits)]

    images = [
        (imread(path), imread(path.with_name(path.name.replace("image", "labels"))))
        for path in sorted((data / "segmentation").glob("*_image.png"))
    ]
    for method in ("otsu", "local", "auto"):
        found = [segment(image, method=method) for image, _ in images]
        shares = [f1(truth, labels) for labels, (_, truth) in zip(found, images, strict=True)]
        for words, good in (("good", True), ("bad", False)):
            chosen = [labels for labels, share in zip(found, shares, strict=True) if (share >= GOOD) is good]
            name = f"varied images, {method}, {words} (F1 {'≥' if good else '<'} {GOOD})"
            yield name, [(extract_curves(labels, name="A"),) for labels in chosen]


def halves(ensemble: Ensemble, rng: np.random.Generator) -> tuple[Ensemble, Ensemble]:
    """Two random halves of the curves of one image."""
    chosen = np.zeros(len(ensemble), dtype=bool)
    chosen[rng.permutation(len(ensemble))[: len(ensemble) // 2]] = True
    return ensemble[chosen], ensemble[~chosen]


def split(images: list[Ensemble], rng: np.random.Generator) -> tuple[Ensemble, Ensemble]:
    """Two random halves of the images."""
    order = rng.permutation(len(images))
    one, other = order[: len(images) // 2], order[len(images) // 2 :]
    return Ensemble.pooled([images[i] for i in one], name="A"), Ensemble.pooled([images[i] for i in other], name="B")


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


if __name__ == "__main__":
    main()
