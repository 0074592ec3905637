"""False alarms of the quality checks: findings in sets with good outlines, by check; and, finally, in bad ones.

Prints the table of docs/evidence/segmentation.md. Run as ``python benchmarks/quality_gate.py [--data FOLDER]
[--splits N]``.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import ndimage
from skimage.io import imread

from learning import f1
from napari_shape_ensembles import Ensemble, extract_curves, quality, segment

# Minimum F1 at IoU 0.5 for automatic outlines to count as good.
_GOOD = 0.5


def main() -> None:
    """Print the numbers of comparisons and findings by set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--splits", type=int, default=20)
    options = parser.parse_args()
    print("| set | comparisons | serious | notes |\n|---|---|---|---|")
    for name, pairs in sets(options.data, options.splits):
        serious: Counter[str] = Counter()
        notes: Counter[str] = Counter()
        for pair in pairs:
            found = quality(*pair).findings
            serious.update({finding.check for finding in found if finding.serious})
            notes.update({finding.check for finding in found if not finding.serious})
        words = [", ".join(f"{check} {count}" for check, count in sorted(part.items())) for part in (serious, notes)]
        print(f"| {name} | {len(pairs)} | {words[0] or '0'} | {words[1] or '0'} |", flush=True)


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
            chosen = [labels for labels, share in zip(found, shares, strict=True) if (share >= _GOOD) is good]
            name = f"varied images, {method}, {words} (F1 {'≥' if good else '<'} {_GOOD})"
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


if __name__ == "__main__":
    main()
