"""Trains the trees by which labels are ranked and reasons confirmed, on images of ../shared/data.

    python tools/train_inspection.py [--cache FOLDER]

Trees are trained on the development images of `benchmarks/inspection.py` (label sets as there; references with small
simulated annotation errors; and segmentations by further recipes), and written into the package. Scores are calibrated
by the predictions for development images left out of training. Trees that confirm reasons are trained on references
with faults in a quarter of their objects.
"""

import argparse
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import ndimage
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from napari_shape_ensembles.inspection import suspects

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from inspection import (
    FAULTS,
    METHODS,
    NAMED,
    Case,
    annotated,
    automatic,
    made,
    measured,
    ranked_as_shipped,
    references,
    relative,
    segmented,
    test_images,
    with_faults,
    within,
)
from results_file import DATA

PACKAGE = Path(suspects.__file__).parent
# Recipes of label sets for training only; "at" is a threshold between the background, 0, and Otsu's, 1.
MORE_METHODS = {
    "li, none": {"method": "li", "split_touching": "none"},
    "triangle, distance": {"method": "triangle", "split_touching": "distance"},
    "low": {"at": 0.6, "method": "manual", "split_touching": "distance"},
    "high": {"at": 1.5, "method": "manual", "split_touching": "intensity"},
    "local, intensity": {"method": "local", "split_touching": "intensity", "smoothing": 2.0},
    "local, none": {"method": "local", "split_touching": "none"},
    "li, distance": {"method": "li", "split_touching": "distance"},
}
# Columns that contain the position of an object, its size in pixels, or the content of its holes.
PLACES = (
    *("row", "column", "area", "perimeter", "hole_pixels", "partner"),
    *("open_holes", "open_pixels", "enclosed_pixels", "pieces_apart"),
)
LABELS_ONLY = (
    *("holes", "hole_share", "pieces", "loose_share", "circularity", "solidity", "ellipse_fit", "elongation", "width"),
    *("border_share", "neck", "neck_share", "contact", "join_gain", "join_solid", "contacts", "partner_size", "sliver"),
    *("spurs", "crevices", "gaps", "spurs_wide", "crevices_wide", "gaps_wide", "thickness", "dent", "dent2"),
)
# Maximum number of training labels per set, and weights of the kinds of sets.
MOST = 200
WEIGHTS = {"annotated": 2.0, "slips": 0.5, "automatic": 0.4, "varied": 0.4}
BOOSTING = {"l2_regularization": 5, "max_features": 0.2, "max_bins": 64, "early_stopping": False, "random_state": 0}


def main() -> None:
    """Train, and write the trees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="folder that keeps the evidence between runs")
    options = parser.parse_args()
    kinds = {"annotated": annotated, "automatic": automatic, "varied": varied}
    kinds |= {"made": made, "slips": slips, "faults": faults}
    table = measured(DATA, options.cache, kinds=kinds)
    table = table[~table["source"].isin(test_images(DATA))].reset_index(drop=True)
    made_known = table["kind"] == "faults"
    of_faults, table = (table[part].reset_index(drop=True) for part in (made_known, ~made_known))
    for kind in ("image", "labels"):
        trees = calibrated(table, of_faults, kind)
        write(trees, PACKAGE / f"trees-{kind}.npz")
        for fault, own in confirming(of_faults, trees, kind).items():
            write(own, PACKAGE / f"trees-{fault}.npz")


def varied(data: Path, _only: set[str] | None) -> Iterator[Case]:
    """Automatic segmentations by further recipes, for training only."""
    test = test_images(data)
    for name, image, reference in references(data):
        if name not in test:
            # The others are among the automatic segmentations.
            known = () if name[0] == "c" else METHODS
            methods = {method: choices for method, choices in MORE_METHODS.items() if method not in known}
            yield from segmented(name, image, reference, methods)


def slips(data: Path, _only: set[str] | None) -> Iterator[Case]:
    """References with small simulated annotation errors, for training only, and which labels are affected."""
    test = test_images(data)
    for name, image, reference in references(data):
        if name in test:
            continue
        for repeat in range(2):
            labels, touched = with_slips(reference, np.random.default_rng([zlib.crc32(name.encode()), repeat]))
            own = np.unique(labels[labels > 0])
            yield f"{name}/slips {repeat}", image, labels, pd.Series(np.isin(own, touched).astype(float), index=own)


def faults(data: Path, _only: set[str] | None, most: int = 400_000) -> Iterator[Case]:
    """References with faults in a quarter of their objects, for training only, and the fault of each label.

    Faults are numbered from 1; 0 is none. Labels that only lost pixels to a fault are omitted.
    """
    test, numbers = test_images(data), {"other": np.nan} | {fault: n for n, fault in enumerate(FAULTS, start=1)}
    for name, image, reference in references(data):
        if name in test or reference.size > most:
            continue
        # Where objects are isolated there is little to merge: once more, with merges only.
        for repeat, kinds in enumerate((*[FAULTS] * 4, ("merge",))):
            rng = np.random.default_rng([zlib.crc32(name.encode()), repeat])
            labels, concerned = with_faults(reference, rng, 0.25, kinds)
            own = np.unique(labels[labels > 0])
            target = pd.Series([numbers[concerned[label]] if label in concerned else 0 for label in own], own, float)
            yield f"{name}/faults {repeat}", image, labels, target


def with_slips(reference: np.ndarray, rng: np.random.Generator, share: float = 0.08) -> tuple[np.ndarray, list[int]]:
    """Simulate annotation errors, as corrected later, in a fraction of the objects; returns also the affected labels.

    Holes, bites and spurs, detached specks, slivers as separate labels, strips of a neighbor, and strips along the
    image border.
    """
    found, number, touched = reference.copy(), int(reference.max()) + 1, []
    rows, columns = np.indices(reference.shape)
    objects = np.unique(reference[reference > 0])
    bordering = np.unique(np.concatenate([reference[0], reference[-1], reference[:, 0], reference[:, -1]]))
    chosen = rng.permutation(objects)[: max(3, int(share * len(objects)))]
    for label in np.unique([*chosen, *rng.permutation(bordering[bordering > 0])[:2]]):
        own = found == label
        if own.sum() < 30:
            continue
        edge = np.argwhere(own & (ndimage.distance_transform_edt(np.pad(own, 1))[1:-1, 1:-1] <= 1))
        radius, angle = np.sqrt(own.sum() / np.pi), rng.uniform(0, 2 * np.pi)
        row, column = rng.choice(edge)
        near = np.hypot(rows - row, columns - column) < max(1.5, radius * rng.uniform(0.1, 0.4))
        slip = (
            "strip"
            if label in bordering and rng.random() < 0.5
            else rng.choice(["hole", "bite", "spur", "speck", "sliver", "neighbor"])
        )
        before = found.copy()
        if slip == "strip":
            width = rng.integers(1, 4)
            strip = own & (np.minimum.reduce([rows, columns, rows[::-1], columns[:, ::-1]]) < width)
            found[strip] = number if rng.random() < 0.6 else 0
        elif slip == "hole":
            row, column = rng.choice(np.argwhere(own))
            found[own & (np.hypot(rows - row, columns - column) < max(1, radius * rng.uniform(0.05, 0.3)))] = 0
        elif slip == "bite":
            found[own & near] = 0
        elif slip == "spur":
            found[near & (found == 0)] = label
        elif slip == "speck":
            by = radius * rng.uniform(1.2, 1.6) * np.array([np.cos(angle), np.sin(angle)])
            centre = np.argwhere(own).mean(axis=0) + by
            found[(np.hypot(rows - centre[0], columns - centre[1]) < rng.uniform(1, 3)) & (found == 0)] = label
        elif slip == "sliver":
            side = rows * np.cos(angle) + columns * np.sin(angle)
            found[own & (side > side[own].max() - rng.uniform(1, 3))] = number
        else:
            grown = ndimage.binary_dilation(own, iterations=int(rng.integers(1, 4)))
            found[grown & (found > 0)] = label
        number += int((found == number).any())
        changed = found != before
        touched += np.unique(np.concatenate([found[changed], before[changed]])).tolist()
    return found, touched


def trained(table: pd.DataFrame, kind: str) -> suspects.Trees:
    """Boosted trees on the evidence of label sets; each set is weighted by the square root of its number of labels."""
    meta = {"label", "set", "kind", "target", "source", "wrong", "soft", *PLACES}
    names = [name for name in table if name not in meta]
    names = [name for name in names if name in LABELS_ONLY] if kind == "labels" else names
    apart = (table[names] - table.groupby(["kind", "set"])[names].transform("median")).abs()
    spread = apart.mean().to_dict()
    sets = table.groupby(["kind", "set"])["label"]
    size = sets.transform("size")
    # Large sets are subsampled.
    drawn = pd.Series(np.random.default_rng(0).random(len(table))).groupby([table["kind"], table["set"]]).rank()
    weight = np.maximum(size / MOST, 1) / np.sqrt(size) * table["kind"].map(WEIGHTS).fillna(1.0)
    weight = weight.where(drawn <= MOST, 0).to_numpy()
    soft = table["soft"].to_numpy()
    doubled, share = np.concatenate([weight * soft, weight * (1 - soft)]), 0.02 * weight[weight > 0].mean()
    used = doubled > share
    rows = relative(table, spread)
    model = HistGradientBoostingClassifier(
        max_iter=250, learning_rate=0.05, max_leaf_nodes=12, min_samples_leaf=40, **BOOSTING
    ).fit(
        np.concatenate([rows.to_numpy()] * 2)[used],
        np.repeat([1, 0], len(rows))[used],
        doubled[used] / doubled[used].mean(),
    )
    return as_arrays(model, tuple(rows.columns), spread)


def confirming(table: pd.DataFrame, trees: suspects.Trees, kind: str) -> dict[str, suspects.Trees]:
    """Trees that separate each fault with a reason from everything else; none without an image."""
    if kind == "labels":
        return {}
    spread, found = dict(trees.spread), {}
    rows = relative(table, spread)
    for named in NAMED.values():
        if named != ("hole",):  # it is counted instead
            own = table["target"].isin([FAULTS.index(fault) + 1 for fault in named])
            model = HistGradientBoostingClassifier(
                max_iter=80, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=15, **BOOSTING
            ).fit(rows.to_numpy(), own)
            found[named[0]] = as_arrays(model, tuple(rows.columns), spread)
    return found


def calibrated(table: pd.DataFrame, faults: pd.DataFrame, kind: str, folds: int = 3) -> suspects.Trees:
    """Trees of all images, with Platt scaling fitted to out-of-fold predictions for each image."""
    images = sorted(table["source"].unique())
    order = np.random.default_rng(1).permutation(len(images)) % folds
    fold, fold_of_faults = (one["source"].map(dict(zip(images, order, strict=True))) for one in (table, faults))
    odds = np.zeros(len(table))
    for number in range(folds):
        other, own = (table[part].reset_index(drop=True) for part in (fold != number, fold == number))
        trees = trained(other, kind)
        named = confirming(faults[fold_of_faults != number], trees, kind)
        odds[fold == number], _ = ranked_as_shipped(own, relative(own, dict(trees.spread)), trees, kind, named)
    judged = table["kind"].isin(["annotated", "automatic", "made"]).to_numpy()
    print(f"\nTraining images, each by trees of the others, {kind}")
    parts = {"corrected masks": "annotated", "automatic": "automatic", "made faults": "made"}
    for words, name in parts.items():
        print(f"{words}: {within(table[table['kind'] == name], odds).mean():.3f}")
    whole = (table["kind"] == "annotated") & (table["holes"] == 0) & (table["pieces"] == 1)
    print(f"corrected, without holes: {within(table[whole], odds).mean():.3f}", flush=True)
    weight = (1 / np.sqrt(table.groupby(["kind", "set"])["label"].transform("size"))).to_numpy()
    scaling = LogisticRegression(C=1e6).fit(odds[judged, None], table["wrong"][judged], weight[judged])
    return replace(trained(table, kind), slope=float(scaling.coef_[0, 0]), offset=float(scaling.intercept_[0]))


def as_arrays(
    model: HistGradientBoostingClassifier, columns: tuple[str, ...], spread: dict[str, float]
) -> suspects.Trees:
    """Arrays of a model's trees, without the model; scikit-learn has no public API for their nodes."""
    nodes = [tree.nodes for (tree,) in model._predictors]
    shape = len(nodes), max(map(len, nodes))
    column, left, right = (np.zeros(shape, dtype=np.int16) for _ in range(3))
    threshold, value = np.zeros(shape), np.zeros(shape)
    for tree, own in enumerate(nodes):
        here, leaf = np.arange(len(own)), own["is_leaf"].astype(bool)
        column[tree, : len(own)] = np.where(leaf, 0, own["feature_idx"])
        threshold[tree, : len(own)] = np.where(leaf, 0, own["num_threshold"])
        left[tree, : len(own)] = np.where(leaf, here, own["left"])
        right[tree, : len(own)] = np.where(leaf, here, own["right"])
        value[tree, : len(own)] = np.where(leaf, own["value"], 0)
    return suspects.Trees(
        columns, column, threshold, left, right, value, float(model._baseline_prediction.ravel()[0]), spread
    )


def write(trees: suspects.Trees, path: Path) -> None:
    """Write trees in the bundled format."""
    np.savez_compressed(
        path,
        columns=np.array(trees.columns),
        column=trees.column,
        threshold=trees.threshold,
        left=trees.left,
        right=trees.right,
        value=trees.value.astype(np.float32),
        start=trees.start,
        slope=trees.slope,
        offset=trees.offset,
        measures=np.array(list(trees.spread)),
        spread=np.array(list(trees.spread.values())),
    )


if __name__ == "__main__":
    main()
