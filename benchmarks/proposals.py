"""The first proposed recipe: weights of its score, and accuracy on images of other types.

``weights`` fits the weights of the measurements of `propose` to the F1 of recipes on images of ``mask_corrections`` in
the shared data, the first three of every size, cropped to 360 × 360 pixels. ``materials`` prints the F1 of the first
proposal, of the defaults and of manual settings on the images of benchmarks/segmentation.py.
For the images of ``segmentation`` see benchmarks/learning.py (``--only methods``). ``large`` prints the mean F1 of
proposals for these images enlarged to 2700 pixels: tiled by reflection, so that the objects remain as small; and
magnified, with noise added.
Run as ``python benchmarks/proposals.py weights|materials|large [--data FOLDER]``.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import ndimage
from skimage.io import imread

from learning import f1
from napari_shape_ensembles import propose, segment
from segmentation import battery, nuclei, powder, steel, without_small

PER_SIZE = 3
# Minimum longer side of a large image in pixels, and standard deviation of the noise in a magnified one, as a fraction
# of its range of gray levels.
LARGE, NOISE = 2700, 0.04
# Of the ridge regression, relative to the variance of each measurement.
RIDGE = 0.1


def main() -> None:
    """Print the requested table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("weights", "materials", "large"))
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    options = parser.parse_args()
    if options.what == "weights":
        print(weights(options.data / "mask_corrections"))
    elif options.what == "materials":
        materials(options.data)
    else:
        print(large(options.data / "segmentation"))


def weights(folder: Path) -> str:
    """Weights by ridge regression; F1 of the first proposal for each size, with weights from the other sizes."""
    sizes: dict[tuple[int, ...], list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
    names: list[str] = []
    for path in sorted(folder.glob("*_image.png")):
        image, truth = imread(path), imread(path.with_name(path.name.replace("_image", "_after"))).astype(int)
        if len(sizes[image.shape]) < PER_SIZE:
            part = fullest(truth)
            proposals = propose(image[part])  # all of such a small image is tried
            names = list(proposals[0].measures)
            measures = np.array([[one.measures[name] for name in names] for one in proposals])
            found = np.array([f1(truth[part], one.labels) for one in proposals])
            sizes[image.shape].append((measures, found))
            print(path.name, len(found), f"{found[0]:.2f} of {found.max():.2f}", flush=True)
    left_out = []
    for size, own in sizes.items():
        slopes = ridge([images for other, images in sizes.items() if other != size])
        left_out.append([found[(measures @ slopes).argmax()] for measures, found in own])
        print(size, np.round(left_out[-1], 2))
    slopes = ridge(list(sizes.values()))
    rows = [f'    "{name}": {slope:.2f},' for name, slope in zip(names, slopes, strict=True)]
    inside = [found[(measures @ slopes).argmax()] for own in sizes.values() for measures, found in own]
    best = [found.max() for own in sizes.values() for _, found in own]
    each = np.concatenate(left_out).mean(), np.mean(inside), np.mean(best)
    return "\n".join([*rows, "F1, size left out {:.3f}, all in {:.3f}, best {:.3f}".format(*each)])


def fullest(truth: np.ndarray, side: int = 360) -> tuple[slice, slice]:
    """The window with the largest area of objects."""
    covered = ndimage.uniform_filter((truth > 0).astype(float), side, mode="constant")
    place = np.array(np.unravel_index(covered.argmax(), covered.shape)) - side // 2
    rows, columns = np.clip(place, 0, np.maximum(np.array(truth.shape) - side, 0))
    return np.s_[rows : rows + side, columns : columns + side]


def ridge(sizes: list[list[tuple[np.ndarray, np.ndarray]]]) -> np.ndarray:
    """Coefficients for F1; images have equal weight, and sizes the square root of their number."""
    images = [(*image, 1 / np.sqrt(len(own))) for own in sizes for image in own]
    measures, found = (np.concatenate([image[place] for image in images]) for place in (0, 1))
    weight = np.concatenate([np.full(len(found), weight / len(found)) for _, found, weight in images])
    weight /= weight.sum()
    middle = weight @ measures
    spread = np.sqrt(weight @ (measures - middle) ** 2)
    scaled, wanted = (measures - middle) / spread, weight * (found - weight @ found)
    return np.linalg.solve((scaled.T * weight) @ scaled + RIDGE * np.eye(len(middle)), scaled.T @ wanted) / spread


def materials(data: Path) -> None:
    """Print F1 of objects of at least the minimum area, image by image."""
    print("| image | defaults | first proposal | by hand | proposed |\n|---|---|---|---|---|")
    for case in [nuclei(data), *powder(data), *steel(data), *battery(data)]:
        least, best = case.recipe.min_area, propose(case.image)[0].recipe
        reference = without_small(case.reference, least)
        found = [
            f1(reference, without_small(segment(case.image, recipe), least)) for recipe in (None, best, case.recipe)
        ]
        words = f"{best.method}, {best.objects}, split {best.split_touching}"
        print(f"| {case.name} | " + " | ".join(f"{value:.2f}" for value in found) + f" | {words} |", flush=True)


def large(folder: Path) -> str:
    """Table of the mean F1 in the original images, tiled to large ones, and magnified to large ones."""
    found: dict[str, list[float]] = defaultdict(list)
    noise = np.random.default_rng(0)
    for path in sorted(folder.glob("*_image.png")):
        image, truth = imread(path), imread(path.with_name(path.name.replace("_image", "_labels"))).astype(int)
        times = -(-LARGE // max(truth.shape))
        grey = image[..., :3].mean(axis=-1) if image.ndim == 3 else image.astype(float)
        repeated = np.pad(
            image, [(0, (times - 1) * side) for side in truth.shape] + [(0, 0)] * (image.ndim - 2), "symmetric"
        )
        magnified = ndimage.zoom(grey, times, order=1)
        magnified += noise.normal(0, NOISE * np.subtract(*np.percentile(grey, [99, 1])), magnified.shape)
        same = np.kron(truth, np.ones((times, times), dtype=int))
        for name, own, reference in (
            ("as it is", image, truth),
            ("repeated", repeated, truth),
            ("magnified", magnified, same),
        ):
            recipe = propose(own)[0].recipe
            segmented = segment(image if name == "repeated" else own, recipe)
            found[name].append(f1(reference, segmented))
        print(path.name, *(f"{name} {values[-1]:.2f}" for name, values in found.items()), flush=True)
    return "\n".join(
        f"{name}: {np.mean(values):.3f}, odd images {np.mean(values[1::2]):.3f}" for name, values in found.items()
    )


if __name__ == "__main__":
    main()
