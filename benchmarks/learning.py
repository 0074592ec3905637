"""Segmentation accuracy on images with manual labels: by example, by proposals, and with defaults.

F1 of objects at an intersection over union of 0.5, image by image, on the 21 images of ``segmentation`` in the shared
data; the labels are used for evaluation only. By example: five random objects of each image are painted completely;
F1 of the others. Then one model per type of image, trained on five objects of one image, on the other two of the type.
``--only weights`` prints the weights of the candidates' measurements, fitted to the images of ``mask_corrections``;
``--only time`` the processor time of a draft of 1024 × 1024 pixels.
Run as ``python benchmarks/learning.py [--data FOLDER] [--draws N] [--images 0,1,…] [--only WHAT] [--out FILE]``; the
file stores F1 as JSON, from which ``tools/write_docs.py`` fills docs/evidence/segmentation.md.
"""

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from skimage.io import imread

from napari_shape_ensembles import learn_objects, match_labels, propose, segment
from napari_shape_ensembles.outlines.learned import PixelFeatures

PAINTED = 5
PER_KIND = 3
COUNT = 21
WAYS = {"defaults": {}, "auto": {"method": "auto"}, "local": {"method": "local"}}


def main() -> None:
    """Print one row per image, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--images", default=",".join(map(str, range(COUNT))))
    parser.add_argument("--only", choices=("methods", "examples", "transfer", "time", "weights"))
    parser.add_argument("--out", type=Path, help="keep the figures of one table (--only) as JSON")
    options = parser.parse_args()
    folder, numbers = options.data / "segmentation", [int(number) for number in options.images.split(",")]
    found = {}
    if options.only in (None, "methods"):
        found |= table((*WAYS, "together"), by_methods(folder, numbers))
    if options.only in (None, "examples"):
        rows = by_example(folder, numbers, options.draws)
        found |= table([f"draw {draw}" for draw in range(options.draws)], rows)
    if options.only in (None, "transfer"):
        kinds = sorted({number // PER_KIND for number in numbers})
        found |= table([f"from {place}" for place in range(PER_KIND)], transfer(folder, kinds))
    if options.only in (None, "time"):
        print(draft_time(folder))
    if options.only == "weights":
        print(weights(options.data / "mask_corrections"))
    if options.out:
        lines = [f" {json.dumps(name)}: {json.dumps(figure)}" for name, figure in found.items()]
        options.out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read(folder: Path, numbers: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
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


def by_example(folder: Path, numbers: list[int], draws: int) -> list[list[float]]:
    """F1 of the objects not painted, for each random choice of painted ones."""
    rows, spent = [], np.zeros(3)
    for number, (image, truth) in zip(numbers, read(folder, numbers), strict=True):
        marks = [time.process_time()]
        features = PixelFeatures.of(image)
        marks.append(time.process_time())
        row = []
        for draw in range(draws):
            painted = drawn(truth, (number, draw))
            start = time.process_time()
            model = learn_objects(features, painted)
            middle = time.process_time()
            row.append(f1(truth, model.labels(features), painted))
            spent += [0, middle - start, time.process_time() - middle]
        spent[0] += marks[1] - marks[0]
        rows.append(row)
    per_draw = spent / len(numbers) / np.array([1, draws, draws])
    print("processor time per image: features {:.2f} s, learning {:.2f} s, labels {:.2f} s".format(*per_draw))
    return rows


def by_methods(folder: Path, numbers: list[int]) -> list[list[float]]:
    """F1 of each image by each method, and by the recipe proposed for all images of its type together."""
    rows = []
    for kind in sorted({number // PER_KIND for number in numbers}):
        images = read(folder, [number for number in numbers if number // PER_KIND == kind])
        together = propose([image for image, _ in images])[0].recipe
        for image, truth in images:
            found = [*(segment(image, **way) for way in WAYS.values()), segment(image, together)]
            rows.append([f1(truth, labels) for labels in found])
    return rows


def transfer(folder: Path, kinds: list[int]) -> list[list[float]]:
    """Mean F1 of the other two images of a type, for a model trained on each of the three."""
    rows = []
    for kind in kinds:
        numbers = [PER_KIND * kind + place for place in range(PER_KIND)]
        images = read(folder, numbers)
        features = [PixelFeatures.of(image) for image, _ in images]
        row = []
        for place in range(PER_KIND):
            model = learn_objects(features[place], drawn(images[place][1], (numbers[place], 0)))
            others = [other for other in range(PER_KIND) if other != place]
            row.append(float(np.mean([f1(images[other][1], model.labels(features[other])) for other in others])))
        rows.append(row)
    return rows


def draft_time(folder: Path, times: int = 5) -> str:
    """Minimum time from a stroke to a draft of 1024 × 1024 pixels, with cached features; and to the exact labels."""
    (image, truth), *_ = read(folder, [12])
    features, painted = PixelFeatures.of(image), drawn(truth, (12, 0))
    spent = []
    for _ in range(times):
        marks = [(time.perf_counter(), time.process_time())]
        model = learn_objects(features, painted)
        for step in (3, 1):
            model.labels(features, step=step)
            marks.append((time.perf_counter(), time.process_time()))
        spent.append(np.diff(marks, axis=0).cumsum(axis=0))
    draft, exact = np.min(spent, axis=0)
    return "draft {:.2f} s elapsed, {:.2f} s processor; exact {:.2f} s, {:.2f} s".format(*draft, *exact)


def weights(folder: Path, draws: int = 2) -> str:
    """Coefficients of the measurements and their squares: logistic regression of whether a candidate is an object."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

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


if __name__ == "__main__":
    main()
