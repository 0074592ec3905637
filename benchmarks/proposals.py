"""The first proposed recipe: weights of its score, and accuracy on images of other types.

``weights`` fits the weights of the measurements of `propose` to the F1 of recipes on images of the shared data:
``mask_corrections``, ``segmentation``, ``micrographs``, ``uhcs_spheroidite`` and ``dsb_nuclei``, cropped to 360 × 360
pixels; and prints what they give on images left out: every other one, and kinds.
``materials`` prints the F1 of the first proposal, of the defaults and of manual settings on the images of
benchmarks/segmentation.py. ``micrographs`` prints, for the images of that folder, F1 of Otsu's method, of the first
proposal with and without the masks of what is not image, and of five painted objects. ``drawn`` draws bars, letters and
frames on images without any (of ``segmentation``, ``mask_corrections`` and others), and counts what is found; and what
is found where nothing is drawn.
For the images of ``segmentation`` see benchmarks/learning.py (``--only methods``). ``large`` prints the mean F1 of
proposals for these images enlarged to 2700 pixels: tiled by reflection, so that the objects remain as small; and
magnified, with noise added.
Run as ``python benchmarks/proposals.py weights|materials|large|micrographs|drawn [--data FOLDER] [--out FILE]``; the
file keeps the figures of ``weights``.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage
from skimage.color import rgb2gray
from skimage.exposure import rescale_intensity
from skimage.io import imread
from skimage.transform import rotate

from learning import drawn, f1
from napari_shape_ensembles import learn_objects, propose, segment
from napari_shape_ensembles.outlines import not_image
from results_file import out_option, record
from segmentation import battery, nuclei, powder, steel, without_small

PER_KIND = 3
# Random choices of five painted objects.
DRAWS = 3
# Minimum longer side of a large image in pixels, and standard deviation of the noise in a magnified one, as a fraction
# of its range of gray levels.
LARGE, NOISE = 2700, 0.04
# Of the ridge regression, relative to the variance of each measurement.
RIDGE = 0.3
# What the F1 expected of the best proposal is learned from; below this, it is doubtful.
EXPECTED_FROM, DOUBTFUL_F1 = ("repeatable", "round"), 0.65
# Measures of the proposals for one image (proposals, measures), and their F1.
Tried: TypeAlias = tuple[np.ndarray, np.ndarray]


def main() -> None:
    """Print the requested table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("weights", "materials", "large", "micrographs", "drawn"))
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    out_option(parser)
    options = parser.parse_args()
    if options.what == "weights":
        weights(options.data, options.out)
    elif options.what == "materials":
        materials(options.data)
    elif options.what == "micrographs":
        micrographs(options.data / "micrographs")
    elif options.what == "drawn":
        drawn_parts(options.data)
    else:
        print(large(options.data / "segmentation"))


def weights(data: Path, out: Path | None) -> None:
    """Print weights of the score and of the F1 expected of the best proposal; and what they give on images left out."""
    kinds: dict[str, list[Tried]] = defaultdict(list)
    names: list[str] = []
    for kind, path, image, truth in training_images(data):
        part = fullest(truth)
        proposals = propose(image[part])
        names = list(proposals[0].measures)
        measures = np.array([[one.measures[name] for name in names] for one in proposals])
        found = np.array([f1(truth[part], one.labels) for one in proposals])
        kinds[kind].append((measures, found))
        print(kind, path.name, len(found), f"{found[0]:.2f} of {found.max():.2f}", flush=True)
    tried = list(kinds.values())
    reached = {"best recipe in hindsight": [found.max() for images in tried for _, found in images]}
    even, odd = ([images[half::2] for images in tried] for half in (0, 1))
    for name, own, others in (("even images left out", even, odd), ("odd images left out", odd, even)):
        slopes, _ = ridge(others)
        reached[name] = [best(one, slopes)[1][0] for images in own for one in images]
    # The best proposals of each kind by weights learned from the others, and then what is expected of them.
    first = [
        [best(one, slopes) for one in images]
        for place, images in enumerate(tried)
        for slopes in [ridge(tried[:place] + tried[place + 1 :])[0]]
    ]
    f1_of_kinds = [[found[0] for _, found in images] for images in first]
    f1_of_first = np.concatenate(f1_of_kinds)
    reached["kind left out"] = list(f1_of_first)
    places = [names.index(name) for name in EXPECTED_FROM]
    terms = [[(measures[:, places], found) for measures, found in images] for images in first]
    expected = []
    for place, images in enumerate(terms):
        slopes, offset = ridge(terms[:place] + terms[place + 1 :])
        expected += [offset + float(measures[0] @ slopes) for measures, _ in images]
    groups = {"good": f1_of_first >= 0.7, "poor": f1_of_first < 0.5, "failed": f1_of_first < 0.3}
    doubtful = {
        name: f"{np.sum(np.array(expected)[group] < DOUBTFUL_F1)} of {group.sum()}" for name, group in groups.items()
    }
    figures = {
        "images": len(f1_of_first),
        "mean F1": {name: round(float(np.mean(values)), 3) for name, values in reached.items()},
        "failures": {name: int(np.sum(np.array(values) < 0.3)) for name, values in reached.items()},
        "kinds left out": {
            kind: round(float(np.mean(values)), 2) for kind, values in zip(kinds, f1_of_kinds, strict=True)
        },
        "doubtful": doubtful,
        "score": coefficients(names, *ridge(tried)),
        "expected": coefficients(EXPECTED_FROM, *ridge(terms)),
    }
    print("\n".join(f"{name}: {figure}" for name, figure in figures.items()))
    record(out, **figures)


def best(image: Tried, slopes: np.ndarray) -> Tried:
    """The proposal with the highest score."""
    measures, found = image
    place = int((measures @ slopes).argmax())
    return measures[[place]], found[[place]]


def coefficients(names: Sequence[str], slopes: np.ndarray, offset: float) -> dict[str, float]:
    """Rounded, by name."""
    return {name: round(float(slope), 2) for name, slope in zip([*names, "offset"], [*slopes, offset], strict=True)}


def training_images(data: Path) -> Iterator[tuple[str, Path, np.ndarray, np.ndarray]]:
    """Kind, path, image and labels."""
    for path in sorted((data / "mask_corrections").glob("*_image.png")):
        image, truth = imread(path), imread(path.with_name(path.name.replace("_image", "_after")))
        yield f"corrected, {image.shape[:2]}", path, image, truth.astype(int)
    for folder in ("segmentation", "micrographs", "uhcs_spheroidite"):
        for number, path in enumerate(sorted((data / folder).glob("*_image.png"))):
            ending = "_mask" if folder == "uhcs_spheroidite" else "_labels"
            truth = imread(path.with_name(path.name.replace("_image", ending)))
            kind = f"{folder} {number // PER_KIND}" if folder == "segmentation" else folder
            yield kind, path, imread(path), ndimage.label(truth)[0] if ending == "_mask" else truth.astype(int)
    folder = data / "dsb_nuclei"
    image, truth = imread(folder / "image.png"), imread(folder / "labels.png").astype(int)
    for half in (np.s_[:, : image.shape[1] // 2], np.s_[:, image.shape[1] // 2 :]):  # the sample
        yield "nuclei", folder / "image.png", image[half], truth[half]


def fullest(truth: np.ndarray, side: int = 360) -> tuple[slice, slice]:
    """The window with the largest area of objects."""
    covered = ndimage.uniform_filter((truth > 0).astype(float), side, mode="constant")
    place = np.array(np.unravel_index(covered.argmax(), covered.shape)) - side // 2
    rows, columns = np.clip(place, 0, np.maximum(np.array(truth.shape) - side, 0))
    return np.s_[rows : rows + side, columns : columns + side]


def ridge(kinds: list[list[Tried]]) -> tuple[np.ndarray, float]:
    """Coefficients for F1, and the constant; images have equal weight, and kinds the square root of their number."""
    images = [(*image, 1 / np.sqrt(len(own))) for own in kinds for image in own]
    measures, found = (np.concatenate([image[place] for image in images]) for place in (0, 1))
    weight = np.concatenate([np.full(len(found), weight / len(found)) for _, found, weight in images])
    weight /= weight.sum()
    middle = weight @ measures
    spread = np.sqrt(weight @ (measures - middle) ** 2)
    scaled, wanted = (measures - middle) / spread, weight * (found - weight @ found)
    slopes = np.linalg.solve((scaled.T * weight) @ scaled + RIDGE * np.eye(len(middle)), scaled.T @ wanted) / spread
    return slopes, float(weight @ found - middle @ slopes)


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


def micrographs(folder: Path) -> None:
    """Print F1 and what was masked, image by image, and the means."""
    print("| image | otsu | auto, nothing masked | auto | expected | five painted | masked |\n|---" + 6 * "|---" + "|")
    rows = []
    for path in sorted(folder.glob("*_image.png")):
        image, truth = imread(path), imread(path.with_name(path.name.replace("_image", "_labels"))).astype(int)
        best = propose(image)[0]
        found = [
            segment(image, method="otsu"),
            segment(image, method="auto", ignore="none"),
            segment(image, best.recipe),
        ]
        learned = []
        for draw in range(DRAWS):
            painted = drawn(truth, (draw,))
            learned.append(f1(truth, segment(image, find=learn_objects(image, painted)), painted))
        rows.append([*(f1(truth, labels) for labels in found), best.expected, float(np.mean(learned))])
        masked = ", ".join(map(str, not_image(image).reasons))
        print(f"| {path.name} | " + " | ".join(f"{value:.2f}" for value in rows[-1]) + f" | {masked} |", flush=True)
    print("| mean | " + " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0)) + " | |")


def drawn_parts(data: Path) -> None:
    """Print how often parts that are not image are found, after they were drawn, and where there are none."""
    paths = [
        *sorted((data / "segmentation").glob("*_image.png")),
        *sorted((data / "mask_corrections").glob("*_image.png")),
    ]
    paths += [data / "dsb_nuclei" / "image.png", *sorted((data / "ampis_powder").glob("*.png"))]
    paths += sorted((data / "uhcs_spheroidite").glob("*_image.png"))
    planes = [rgb2gray(pixels) * 255 if (pixels := imread(path)[..., :3]).ndim == 3 and pixels.shape[-1] == 3 else
              imread(path) for path in paths]  # fmt: skip
    images = [rescale_intensity(plane.astype(float), out_range=(12, 243)).astype(np.uint8) for plane in planes]
    print(f"nothing drawn: {sum(bool(not_image(imread(path))) for path in paths)} of {len(paths)} images masked")
    for name, part in PARTS.items():
        found, covered = [], []
        for image in images:
            picture = np.pad(image, [(0, max(0, 200 - side)) for side in image.shape], mode="reflect")
            changed, where = part(picture)
            masked = not_image(changed).mask
            found.append(masked[where].mean())
            covered.append(masked[~where].mean())
        print(f"{name}: {np.mean(np.array(found) > 0.8):.0%} found, {np.mean(covered):.1%} of the image masked with it")


def bar(image: np.ndarray, color: int) -> tuple[np.ndarray, np.ndarray]:
    """Append an information bar."""
    height = max(24, len(image) // 12)
    strip = written(
        np.full((height, image.shape[1]), color, np.uint8), "10.0 kV 5 µm", (6, 4), 255 - color, height // 2
    )
    return np.concatenate([image, strip]), np.repeat([False, True], [len(image), height])[:, None].repeat(
        image.shape[1], axis=1
    )


def letters(image: np.ndarray, color: int) -> tuple[np.ndarray, np.ndarray]:
    """Write a length and its scale bar in a corner."""
    size = max(12, len(image) // 20)
    changed = written(image, "200 nm", (8, len(image) - 2 * size - 8), color, size)
    changed[-10:-6, 8 : 8 + 4 * size] = color
    return changed, changed != image


def frame(image: np.ndarray, color: int) -> tuple[np.ndarray, np.ndarray]:
    """Surround the image."""
    inside = np.pad(np.ones(image.shape, dtype=bool), 8)
    return np.pad(image, 8, constant_values=color), ~inside


def turned(image: np.ndarray, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Rotate the image, with black corners."""
    changed, inside = (rotate(one, degrees, resize=True, order=0) for one in (image / 255, np.ones(image.shape)))
    return (changed * 255).astype(np.uint8), inside < 0.5


def written(image: np.ndarray, words: str, place: tuple[int, int], color: int, size: int) -> np.ndarray:
    """Write on an image, with the upper left corner at x, y."""
    picture = Image.fromarray(image)
    ImageDraw.Draw(picture).text(place, words, fill=color, font=ImageFont.load_default(size))
    return np.array(picture)


PARTS = {
    "black bar": partial(bar, color=0),
    "white bar": partial(bar, color=255),
    "white letters": partial(letters, color=255),
    "black letters": partial(letters, color=0),
    "white frame": partial(frame, color=255),
    "black corners": partial(turned, degrees=7),
}


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
