"""False rejections between random halves of one population, one of them at a lower resolution, its unit stated.

Grains of the paper's map and nuclei of wild-type fibroblasts; one half is traced from labels of which every second, or
fourth, row and column is kept. Prints the share of rejections, with and without bringing both to the same pixel size.
Run as ``python benchmarks/resolution.py [--data FOLDER] [--splits N] [--factor 2] [--only grains]``.
"""

import argparse
from pathlib import Path

import numpy as np
from skimage.io import imread

from napari_shape_ensembles import Ensemble, Settings, at_pixel_size, compare, extract_curves

# Splits that are also compared as they are, which shows at once that it goes wrong.
FEW = 10
SETTINGS = Settings(landmarks=100, rank=30, permutations=300)


def main() -> None:
    """Print a table of rejections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--factor", type=int, choices=(2, 4))
    parser.add_argument("--only", choices=("grains", "nuclei"))
    options = parser.parse_args()
    print("| set | pixels | splits | curves | as they are: form, scale | at one pixel size: form, scale |")
    print("|---|---|---|---|---|---|")
    for name, planes in populations(options.data).items():
        if options.only in (None, name):
            for factor in (2, 4) if options.factor is None else (options.factor,):
                print(row(name, planes, factor, options.splits), flush=True)


def populations(data: Path) -> dict[str, list[np.ndarray]]:
    """Label images of two populations."""
    nuclei = []
    for path in sorted((data / "replicates" / "mef_nuclei").glob("wt_*.png")):
        labels = imread(path)
        small = np.bincount(labels.ravel()) < 600
        nuclei.append(np.where(small[labels], 0, labels).astype(int))
    return {"grains": [imread(data / "paper" / "pil184_hlf1_noisy_labels.png").astype(int)], "nuclei": nuclei}


def row(name: str, planes: list[np.ndarray], factor: int, splits: int) -> str:
    """Rejections of form and of scale."""
    fine = pooled(planes, 1)
    coarse = pooled(planes, factor)
    brought = at_pixel_size(fine, float(factor))
    rejected, done = np.zeros((2, 2)), np.zeros(2, dtype=int)
    for split in range(splits):
        rng = np.random.default_rng(split)
        sides = rng.permutation(len(fine)) % 2 == 0
        for which, one in enumerate((without_pixel_size(fine), brought)):
            if which == 0 and split >= FEW:
                continue
            # A curve is on one side only, whichever resolution lost it.
            side = dict(zip(fine.ids.tolist(), sides, strict=True))
            a = one.subset([side[label] for label in one.ids.tolist()])
            b = coarse.subset([not side.get(label, True) for label in coarse.ids.tolist()])
            result = compare(a, b, SETTINGS, seed=split)
            rejected[which] += result.undulation.rejected, result.scale.rejected
            done[which] += 1
    shares = [f"{form:.0f}, {scale:.0f} of {count}" for (form, scale), count in zip(rejected, done, strict=True)]
    return f"| {name} | 1 : {factor} | {splits} | {len(fine)}, {len(coarse)} | {shares[0]} | {shares[1]} |"


def pooled(planes: list[np.ndarray], factor: int) -> Ensemble:
    """All objects of all images, at every `factor`-th row and column."""
    return Ensemble.pooled(
        [
            extract_curves(plane[::factor, ::factor], scale=(factor, factor), unit="µm", name=f"{index}")
            for index, plane in enumerate(planes)
        ],
        name="all",
    )


def without_pixel_size(ensemble: Ensemble) -> Ensemble:
    """The same curves, of which a comparison does not know how large their pixels are."""
    return Ensemble(ensemble.curves, name=ensemble.name, unit=ensemble.unit, ids=ensemble.ids)


if __name__ == "__main__":
    main()
