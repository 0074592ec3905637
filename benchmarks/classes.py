"""Classify cells by treatment, or as none of the known ones: shape coordinates versus plain descriptors.

    python benchmarks/classes.py

Balanced accuracy of a logistic regression over repeated five-fold cross-validation, with the shape space learned from
the training cells only (stored in docs/results/classes.json); then the prediction sets of `ConformalClassifier`,
trained on two classes, for cells of these and of an unseen class. Cells of one class are from one data set without
image identifiers, so single cells are split.
"""

import json
import warnings
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from napari_shape_ensembles import ConformalClassifier, Ensemble, ShapeSpace

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "classes.json"
LINES, TREATMENTS = ("DUNN", "DLM8"), ("control", "jasplakinolide", "cytochalasin D")
CASES = (
    ("DUNN against DLM8, cytochalasin D", lambda line, drug: (drug == 2, line)),
    ("control against cytochalasin D, DUNN", lambda line, drug: ((line == 0) & (drug != 1), drug)),
    ("control against jasplakinolide, DUNN", lambda line, drug: ((line == 0) & (drug != 2), drug)),
)


def cells():
    """All 650 outlines with cell line and treatment."""
    path = files("napari_shape_ensembles.samples").joinpath("data", "osteosarcoma_cells", "cells.npz")
    with path.open("rb") as file:
        data = dict(np.load(file))
    curves = np.split(data["xy"][:, ::-1].astype(float), data["offsets"][1:-1])
    ensemble = Ensemble(curves, metadata={"line": data["cell_line"], "treatment": data["treatment"]})
    return ensemble, *(ensemble.metadata[name].to_numpy() for name in ("line", "treatment"))


def descriptors(curves):
    """Logarithms of the six plain descriptors."""
    table = Ensemble(curves).features.drop(columns="id") if isinstance(curves, list) else curves.features.iloc[:, 1:]
    return np.log(table.to_numpy())


def features(rank):
    """Transformers of curves by name."""
    space = {"rank": rank, "landmarks": 200}
    return {
        "six descriptors": FunctionTransformer(descriptors),
        "t and l": ShapeSpace(**space),
        "t, l and bands": ShapeSpace(**space, bands=True),
    }


def main():
    """Print both tables."""
    warnings.simplefilter("ignore")
    ensemble, line, drug = cells()
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    kept = {}
    for title, chosen in CASES:
        rows, label = chosen(line, drug)
        curves, y = ensemble[rows], label[rows]
        print(f"{title} ({', '.join(map(str, np.bincount(y)[np.bincount(y) > 0]))} cells), balanced accuracy:")
        for name, transformer in features(rank=20).items():
            model = make_pipeline(
                transformer, StandardScaler(), LogisticRegression(max_iter=2000, class_weight="balanced")
            )
            scores = cross_val_score(model, curves, y, cv=folds, scoring="balanced_accuracy").reshape(2, 5).mean(axis=1)
            print(f"  {name:16s} {scores.mean():.3f}", flush=True)
            kept.setdefault(title, {})[name] = round(scores.mean(), 6)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print("prediction sets at alpha = 0.1, DUNN: trained on control and cytochalasin D; 10 divisions")
    rows = line == 0
    for name, transformer in features(rank=8).items():
        found = []
        for seed in range(10):
            known = np.flatnonzero(rows & (drug != 1))
            train, test = train_test_split(known, test_size=0.3, stratify=drug[known], random_state=seed)
            model = ConformalClassifier(alpha=0.1, random_state=seed)
            fitted = make_pipeline(transformer, model).fit(ensemble[train], drug[train])
            points = fitted[:-1].transform(ensemble[test])
            sets = fitted[-1].predict_set(points)
            covered = sets[np.arange(len(test)), np.searchsorted(model.classes_, drug[test])]
            unseen = fitted[-1].predict_set(fitted[:-1].transform(ensemble[rows & (drug == 1)]))
            found.append(
                [
                    covered.mean(),
                    (sets.sum(axis=1) == 1).mean(),
                    (~sets.any(axis=1)).mean(),
                    (~unseen.any(axis=1)).mean(),
                ]
            )
        covered, single, none, unseen = np.mean(found, axis=0)
        print(
            f"  {name:16s} covered {covered:.3f}, one class {single:.2f}, none {none:.2f}; "
            f"unseen jasplakinolide: none {unseen:.2f}"
        )


if __name__ == "__main__":
    main()
