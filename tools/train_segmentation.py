"""Fits the weights that segmentation ships, on images of ../shared/data, and prints them.

    python tools/train_segmentation.py proposals [--data FOLDER] [--out docs/results/proposals.json]
    python tools/train_segmentation.py candidates [--data FOLDER]

`proposals`: weights of the measurements of `propose`, from the F1 of recipes on ``mask_corrections``, ``segmentation``,
``micrographs``, ``uhcs_spheroidite`` and ``dsb_nuclei``, cropped to 360 × 360 pixels (`outlines/proposals.py`); and
what they give on images left out: every other one, and kinds. `candidates`: weights of the measurements of an object
learned by example, from ``mask_corrections`` (`outlines/hierarchy.py`).
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy import ndimage
from skimage.io import imread
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from napari_shape_ensembles import learn_objects, propose, segment
from napari_shape_ensembles.outlines.learned import PixelFeatures

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from results_file import parser_of, record
from segmentation import DATA, PER_KIND, drawn, f1

# Of the ridge regression, relative to the variance of each measurement.
RIDGE = 0.3
# What the F1 expected of the best proposal is learned from; below this, it is doubtful.
EXPECTED_FROM, DOUBTFUL_F1 = ("repeatable", "round"), 0.65
# Measures of the proposals for one image (proposals, measures), and their F1.
Tried: TypeAlias = tuple[np.ndarray, np.ndarray]


def main() -> None:
    """Fit, and print."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("proposals", "candidates"))
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    if options.what == "proposals":
        weights(options.data, options.out)
    else:
        print(candidates(options.data / "mask_corrections"))


def weights(data: Path, out: Path | None) -> None:
    """Print weights of the score and of the F1 expected of the best proposal; and what they give on images left out."""
    kinds: dict[str, list[Tried]] = defaultdict(list)
    # F1 of the first proposal by the present weights, without and with refining, and what it is expected to be.
    as_proposed: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    names: list[str] = []
    for kind, path, image, truth in training_images(data):
        part = fullest(truth)
        proposals = propose(image[part])
        names = list(proposals[0].measures)
        measures = np.array([[one.measures[name] for name in names] for one in proposals])
        # The score is of objects that are not refined.
        whole = [segment(image[part], proposals[0].recipe, refine=False), *(one.labels for one in proposals[1:])]
        found = np.array([f1(truth[part], labels) for labels in whole])
        kinds[kind].append((measures, found))
        again = f1(truth[part], segment(image[part], proposals[0].recipe))
        as_proposed[kind].append((found[0], again, proposals[0].expected))
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
    before, after, of_present = np.concatenate(list(as_proposed.values())).T
    figures = {
        "images": len(f1_of_first),
        "mean F1": {name: round(float(np.mean(values)), 3) for name, values in reached.items()},
        "failures": {name: int(np.sum(np.array(values) < 0.3)) for name, values in reached.items()},
        "kinds left out": {
            kind: round(float(np.mean(values)), 2) for kind, values in zip(kinds, f1_of_kinds, strict=True)
        },
        "doubtful": doubtful(f1_of_first, np.array(expected)),
        "present weights": {
            "mean F1": {"not refined": round(float(before.mean()), 3), "as proposed": round(float(after.mean()), 3)},
            "kinds": {kind: np.mean(one, axis=0)[:2].round(2).tolist() for kind, one in as_proposed.items()},
            "failures": int(np.sum(after < 0.3)),
            "doubtful": doubtful(after, of_present),
        },
        "score": coefficients(names, *ridge(tried)),
        "expected": coefficients(EXPECTED_FROM, *ridge(terms)),
    }
    print("\n".join(f"{name}: {figure}" for name, figure in figures.items()))
    record(out, **figures)


def doubtful(reached: np.ndarray, expected: np.ndarray) -> dict[str, str]:
    """How many of the good, poor and failed images are expected to be doubtful."""
    groups = {"good": reached >= 0.7, "poor": reached < 0.5, "failed": reached < 0.3}
    return {name: f"{np.sum(expected[group] < DOUBTFUL_F1)} of {group.sum()}" for name, group in groups.items()}


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


def candidates(folder: Path, draws: int = 2) -> str:
    """Coefficients of the measurements and their squares: logistic regression of whether a candidate is an object."""
    terms, right, weight, names = [], [], [], []
    for path in sorted(folder.glob("*_image.png")):
        image, truth = imread(path), imread(path.with_name(path.name.replace("_image", "_after"))).astype(int)
        features = PixelFeatures.of(image)
        for draw in range(draws):
            painted = drawn(truth, (int(path.name[:2]), draw))
            found = learn_objects(features, painted).candidates(features)
            iou, known = overlaps(found.basins, found.children, truth, painted)
            used = found.possible & ~known
            terms.append(found.terms[:, used].T)
            right.append(iou[used] > 0.5)
            weight.append(np.full(used.sum(), 1 / np.sqrt(max(used.sum(), 1))))
            names = list(found.measures)
    both = np.concatenate(terms)
    scaler = StandardScaler().fit(both := np.concatenate([both, both**2], axis=1))
    model = LogisticRegression(C=0.1, max_iter=2000)
    model.fit(scaler.transform(both), np.concatenate(right), sample_weight=np.concatenate(weight))
    slopes = model.coef_[0] / scaler.scale_
    rows = [
        f'    "{name}": ({one:.3f}, {two:.4f}),' for name, one, two in zip(names, *slopes.reshape(2, -1), strict=True)
    ]
    return "\n".join([*rows, f"constant {model.intercept_[0] - slopes @ scaler.mean_:.3f}"])


def overlaps(
    basins: np.ndarray, children: np.ndarray, truth: np.ndarray, painted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Maximum IoU of every candidate with an object of the reference; whether it overlaps a painted one."""
    count, kinds = int(basins.max()), int(truth.max()) + 1
    shared = np.zeros((len(children), kinds), dtype=np.int64)
    joint = np.bincount(basins.ravel().astype(np.int64) * kinds + truth.ravel(), minlength=(count + 1) * kinds)
    shared[:count] = joint.reshape(-1, kinds)[1:]
    for node in range(count, len(children)):
        shared[node] = shared[children[node]].sum(axis=0)
    sizes, pixels = shared.sum(axis=1, keepdims=True), np.bincount(truth.ravel())
    iou = shared[:, 1:] / (sizes + pixels[1:] - shared[:, 1:])
    return iou.max(axis=1), shared[:, np.unique(painted[painted > 0])].sum(axis=1) > 0.5 * sizes[:, 0]


if __name__ == "__main__":
    main()
