"""Prediction sets: coverage for any distribution, and the empty set for novel classes."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from napari_shape_ensembles import ConformalClassifier
from napari_shape_ensembles.shapes.ranks import conformal_p_values

# The check has three samples per class: too few, which is not the error message about features that it expects.
EXPECTED = {"check_fit2d_1feature": "its classes have three samples: too few to calibrate with"}


def clouds(rng, count, kind):
    """Skewed, correlated and isotropic clouds that overlap."""
    x = rng.normal(size=(count, 3))
    return {"skewed": np.exp(x / 2), "flat": x @ np.diag([3, 1, 0.1]) + 2, "round": x - 2}[kind]


def test_the_miss_rate_of_a_class_is_alpha():
    """Over 200 splits: the miss rate of a class is at most alpha, and at least alpha - 1 / (m + 1)."""
    rng, kinds = np.random.default_rng(0), ("flat", "round", "skewed")
    missed = []
    for seed in range(200):
        X = np.concatenate([clouds(rng, 38, kind) for kind in kinds])
        model = ConformalClassifier(alpha=0.2, random_state=seed).fit(X, np.repeat(kinds, 38))
        missed.append([1 - model.predict_set(clouds(rng, 20, kind))[:, i].mean() for i, kind in enumerate(kinds)])
    rate, error = np.mean(missed, axis=0), np.std(missed, axis=0) / np.sqrt(200)
    assert (rate <= 0.2 + 3 * error).all()
    assert (rate >= 0.2 - 1 / 20 - 3 * error).all()


def test_novel_samples_have_the_empty_set_and_most_others_one_class():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 8])
    model = ConformalClassifier(alpha=0.05).fit(X, ["near"] * 100 + ["far"] * 100)
    assert not model.predict_set([[4, -20], [100, 100]]).any()
    assert model.predict_set([[0, 0], [8, 8]]).tolist() == [[False, True], [True, False]]  # classes in their order
    assert model.predict([[1, 0], [9, 8]]).tolist() == ["near", "far"]
    assert model.p_values([[0, 0]]).max() <= 1


def test_groups_are_not_split_for_calibration():
    """Ten images per class that differ as wholes: only groups give coverage for classes in new images."""
    rng = np.random.default_rng(2)
    covered = {True: [], False: []}
    for seed in range(30):
        centres = rng.normal(size=(2, 20, 4)) * 3
        X = (centres[:, :, None] + rng.normal(size=(2, 20, 15, 4))).reshape(-1, 4)
        y, image = np.repeat([0, 1], 300), np.repeat(np.arange(40), 15)
        for grouped in covered:
            model = ConformalClassifier(alpha=0.2, random_state=seed)
            model.fit(X, y, groups=image if grouped else None)
            new = rng.normal(size=(40, 1, 4)) * 3 + rng.normal(size=(40, 15, 4))
            covered[grouped].append(model.predict_set(new.reshape(-1, 4))[:, 0].mean())
    assert np.mean(covered[True]) > 0.75
    assert np.mean(covered[True]) > np.mean(covered[False]) - 0.02


def test_too_few_samples_and_invalid_fractions_are_rejected():
    with pytest.raises(ValueError, match="class 'b' has 2 samples"):
        ConformalClassifier().fit(np.random.default_rng(0).normal(size=(10, 2)), list("aaaaaaaabb"))
    with pytest.raises(ValueError, match="between 0 and 1"):
        ConformalClassifier(alpha=1.5).fit(np.eye(8), list("aaaabbbb"))


def test_it_passes_the_scikit_learn_checks():
    found = check_estimator(ConformalClassifier(), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    failed = {check["check_name"]: str(check["exception"]) for check in found if check["status"] == "failed"}
    assert not failed
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(EXPECTED)


def test_conformal_p_values_are_ranks_with_ties_counted_against_the_sample():
    calibration = np.array([3.0, 1.0, 2.0, 2.0])
    scores = np.array([0.0, 1.0, 2.0, 2.5, 9.0])
    np.testing.assert_array_equal(conformal_p_values(scores, calibration), np.array([5, 5, 4, 2, 1]) / 5)
