"""False positives between random halves of one population, one of them at a lower resolution with known pixel size.

Grains of the paper's map and nuclei of wild-type fibroblasts; one half is traced from labels subsampled to every
second, or fourth, row and column. Counts rejections with unknown and with known pixel size, and with a true difference:
the curves with large pixels are stretched by half, and given three lobes. For the nuclei, which are from 30 fields,
images are permuted.
Run as ``python benchmarks/resolution.py [--data FOLDER] [--splits N] [--out docs/results/resolution.json]``.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from skimage.io import imread

from napari_shape_ensembles import Comparison, Ensemble, Settings, compare, extract_curves
from results_file import out_option, printed, record

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PAPER = DATA / "paper"
# Number of splits also compared without resampling, and with a difference, as both effects are obvious.
FEW = 10
STRETCH, LOBES = 1.5, 0.15
SETTINGS = Settings(landmarks=100, rank=30, permutations=300)


def main() -> None:
    """Print a table of rejections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--splits", type=int, default=50)
    out_option(parser)
    options = parser.parse_args()
    rows = [
        row(name, planes, factor, options.splits)
        for name, planes in populations(options.data).items()
        for factor in (2, 4)
    ]
    record(options.out, rejections=rows, splits=options.splits, first_draws=first_draws(options.data))


def first_draws(data: Path = DATA) -> dict[str, float]:
    """p-values of the first split of the grains at a quarter of the resolution, brought to one precision."""
    planes = populations(data)["grains"]
    fine = pooled(planes, 1)
    result = halves(fine, fine, pooled(planes, 4), 0)
    return {"form": result.undulation.p_value, "scale": result.scale.p_value}


def populations(data: Path) -> dict[str, list[np.ndarray]]:
    """Label images of two populations."""
    nuclei = []
    for path in sorted((data / "replicates" / "mef_nuclei").glob("wt_*.png")):
        labels = imread(path)
        small = np.bincount(labels.ravel()) < 600
        nuclei.append(np.where(small[labels], 0, labels).astype(int))
    return {"grains": [imread(data / "paper" / "pil184_hlf1_noisy_labels.png").astype(int)], "nuclei": nuclei}


def row(name: str, planes: list[np.ndarray], factor: int, splits: int) -> dict[str, object]:
    """Rejections of undulation and scale at level 0.01."""
    fine, coarse, different = pooled(planes, 1), pooled(planes, factor), pooled(planes, factor, changed)
    unsized = pooled(planes, 1, without_pixel_size)
    rejected, done = np.zeros((3, 2)), np.zeros(3, dtype=int)
    for split in range(splits):
        for which, (one, two) in enumerate(((unsized, coarse), (fine, coarse), (fine, different))):
            if which != 1 and split >= FEW:
                continue
            result = halves(fine, one, two, split)
            rejected[which] += result.undulation.rejected, result.scale.rejected
            done[which] += 1
    shares = [f"{form:.0f}, {scale:.0f} of {count}" for (form, scale), count in zip(rejected, done, strict=True)]
    columns = ("as they are: form, scale", "at one precision", "where they differ")
    cells = {"pixels": f"1 : {factor}", "curves": f"{len(fine)}, {len(coarse)}"}
    return printed(set=name, **cells, **dict(zip(columns, shares, strict=True)))


def halves(fine: Ensemble, one: Ensemble, two: Ensemble, split: int) -> Comparison:
    """One half as in `one` against the other as in `two`; no curve is in both, whichever resolution lost it."""
    sides = np.random.default_rng(split).permutation(len(fine)) % 2 == 0
    side = dict(zip(fine.ids.tolist(), sides, strict=True))
    a = one[[side[label] for label in one.ids.tolist()]]
    b = two[[not side.get(label, True) for label in two.ids.tolist()]]
    return compare(a, b, SETTINGS, seed=split)


def pooled(planes: list[np.ndarray], factor: int, change: Callable[[Ensemble], Ensemble] | None = None) -> Ensemble:
    """All objects of all images, from every `factor`-th row and column; modified on request."""
    images = [
        extract_curves(plane[::factor, ::factor], scale=(factor, factor), unit="µm", name=f"{index}")
        for index, plane in enumerate(planes)
    ]
    return Ensemble.pooled(images if change is None else [change(image) for image in images], name="all")


def changed(ensemble: Ensemble) -> Ensemble:
    """The same curves, elongated and with three lobes."""
    curves = []
    for curve in ensemble.curves:
        center = curve.mean(axis=0)
        around = curve - center
        lobes = 1 + LOBES * np.cos(3 * np.arctan2(*around.T))
        curves.append(center + around * lobes[:, None] * (STRETCH**0.5, STRETCH**-0.5))
    return Ensemble(curves, name=ensemble.name, unit=ensemble.unit, ids=ensemble.ids, pixel_size=ensemble.pixel_size)


def without_pixel_size(ensemble: Ensemble) -> Ensemble:
    """The same curves without known pixel size."""
    return Ensemble(ensemble.curves, name=ensemble.name, unit=ensemble.unit, ids=ensemble.ids)


if __name__ == "__main__":
    main()
