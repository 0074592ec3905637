"""ShapeSpace as an estimator: agreement with `compare`, transforming new curves, and scikit-learn's protocol."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from curve_makers import blobs, ragged_blobs, randomly_moved
from napari_shape_ensembles import Comparison, Ensemble, ShapeSpace, compare, decompose, to_landmarks

QUICK = {"rank": 6, "landmarks": 40}


@pytest.fixture(scope="module")
def samples():
    curves = ragged_blobs(60, seed=3, fewest=40, most=80)
    return Ensemble(curves[:25], name="a", unit="µm"), Ensemble(curves[25:], name="b", unit="µm")


@pytest.mark.parametrize("registration", ["standardized", "raw", "none"])
@pytest.mark.parametrize("archetype", ["asymmetric", "mean", 7])
def test_fit_agrees_with_compare(samples, registration, archetype):
    choices = {"registration": registration, "archetype": archetype}
    result = compare(*samples, permutations=9, **QUICK, **choices)
    space = ShapeSpace(**QUICK, **choices)
    coordinates = np.concatenate([result.t, result.l], axis=1)
    np.testing.assert_allclose(space.fit_transform(list(samples)), coordinates, atol=1e-7)
    np.testing.assert_allclose(result.space.transform(list(samples)), coordinates, atol=1e-7)


def test_a_saved_comparison_transforms_new_curves(samples, tmp_path):
    result = compare(*samples, permutations=9, **QUICK)
    new = Ensemble(ragged_blobs(5, seed=9), unit="µm")
    expected = result.space.transform(new)
    result.save(tmp_path / "new.npz")
    again = Comparison.load(tmp_path / "new.npz").space
    assert again.transform(new).tobytes() == expected.tobytes()
    assert again.get_params() == result.space.get_params()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).transform(new), expected)
    of_undulations = ShapeSpace.learn(*decompose(to_landmarks(new, 40)), 3)
    with pytest.raises(ValueError, match="has no archetype"):
        of_undulations.transform(new)
    assert of_undulations.get_feature_names_out().tolist() == ["t1", "t2", "t3", "l1", "l2", "l3"]


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), mirror=st.booleans())
def test_coordinates_are_invariant_to_pose_and_other_curves(samples, seed, mirror):
    space = ShapeSpace(**QUICK, bands=True).fit(samples[0])
    rng = np.random.default_rng(seed)
    curves = [samples[1][i] for i in rng.permutation(len(samples[1]))[:6]]
    together = space.transform(curves)
    alone = space.transform([randomly_moved(curves[2], rng, mirror=mirror)])
    np.testing.assert_allclose(alone[0], together[2], atol=1e-6)


def test_units_of_new_curves_are_converted(samples):
    space = ShapeSpace(**QUICK).fit(samples[0])
    nanometres = samples[1].to("nm")
    np.testing.assert_allclose(space.transform(nanometres), space.transform(samples[1]), atol=1e-9)
    with pytest.raises(ValueError, match="cannot be compared with lengths"):
        space.transform(Ensemble(samples[1].curves))
    assert space.transform(list(samples[1].curves)) == pytest.approx(space.transform(samples[1]))


def test_inverse_transform(samples):
    space = ShapeSpace(rank=100, landmarks=40).fit(samples[0])
    points = space.transform(samples[0])
    curves = space.inverse_transform(points)
    assert curves.shape == (25, 40, 2)
    t, l = space.coordinates(*decompose(curves))
    np.testing.assert_allclose(np.concatenate([t, l], axis=1), points, atol=1e-8)
    with pytest.raises(ValueError, match="2 coordinates per curve, but the space has 27"):
        space.inverse_transform(np.zeros((1, 2)))


def test_explained_variance_ratios_decrease_and_sum_to_one(samples):
    share = ShapeSpace(rank=100, landmarks=40).fit(samples[0]).explained_variance_ratio_
    assert (np.diff(share) <= 0).all()
    assert share.sum() == pytest.approx(1)


def test_bands_have_column_names(samples):
    space = ShapeSpace(**QUICK, bands=True).fit(samples[0])
    names = space.get_feature_names_out()
    assert names[9:].tolist() == ["lobes 1", "lobes 2", "lobes 3", "lobes 4", "lobes 5", "lobes 6-8", "lobes 9-13"]
    table = space.set_output(transform="pandas").transform(samples[0])
    assert table.columns.tolist() == names.tolist()
    coarse = Ensemble(samples[0].curves, unit="µm", pixel_size=0.2)  # a wave of 8 pixels is 1.6 µm long
    assert max(high for _, high in ShapeSpace(**QUICK).fit(coarse).bands_) < 13


def test_cross_validation_does_not_leak_the_test_fold(samples):
    curves, y = samples[0] + samples[1], np.arange(60) % 2
    model = make_pipeline(ShapeSpace(**QUICK), StandardScaler(), LogisticRegression())
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, curves, y, cv=folds)
    by_hand = []
    for train, test in folds.split(curves):
        space = ShapeSpace(**QUICK).fit(curves[train])
        fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(space.transform(curves[train]), y[train])
        by_hand.append(fitted.score(space.transform(curves[test]), y[test]))
    assert scores.tolist() == by_hand
    assert cross_val_score(model, list(curves.curves), y, cv=folds).tolist() == by_hand


def test_parameters_follow_scikit_learn():
    space = ShapeSpace(3, archetype="mean")
    assert repr(clone(space)) == "ShapeSpace(rank=3, archetype='mean')"
    assert space.set_params(rank=5).get_params()["rank"] == 5
    with pytest.raises(ValueError, match="no parameter 'ranks'"):
        space.set_params(ranks=5)
    with pytest.raises(NotFittedError, match="call fit"):
        space.transform([])
    for states in ((1, 1), (np.random.default_rng(1), np.random.default_rng(1)), (None, None)):
        one, other = (ShapeSpace(archetype="random", random_state=state, **QUICK).fit(blobs(9, 60)) for state in states)
        assert states[0] is None or np.array_equal(one.archetype_, other.archetype_)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "at least 2"),
        ("a.tif", "list of them"),
        (np.zeros((5, 4)), r"curves must be \(m, 2\) arrays"),
        ([np.zeros((5, 2)), *blobs(3, 30)], "1 of 4 curves cannot be used"),
    ],
)
def test_input_other_than_curves_is_rejected(given, words):
    with pytest.raises(ValueError, match=words):
        ShapeSpace(**QUICK).fit(given)
    with pytest.raises(ValueError, match='"standardized", "raw" or "none"'):
        ShapeSpace(registration="affine").fit(blobs(4, 30))


class CurvesOfTables(TransformerMixin, BaseEstimator):
    """One outline per row of numbers, so that scikit-learn's checks, which use tables only, can test ShapeSpace."""

    def fit(self, X, y=None):
        validate_data(self, X, ensure_min_samples=2)
        return self

    def get_feature_names_out(self, input_features=None):
        return np.array(["outline"], dtype=object)

    def transform(self, X):
        rows = np.tanh(validate_data(self, X, reset=False, dtype=float) / 10)
        u = 2 * np.pi * np.arange(40) / 40
        k = np.arange(2, rows.shape[1] + 2)
        radius = 1 + (rows @ np.cos(k[:, None] * u + k[:, None])) / (2 * rows.shape[1])
        return list(radius[..., None] * np.stack([np.cos(u) + 0.2 * np.cos(2 * u), 2 * np.sin(u)], axis=-1))


# Pipeline fits the steps passed to it, which are among its parameters; scikit-learn's own pipelines fail, too.
OF_PIPELINES = {
    "check_estimators_overwrite_params": "the steps of a pipeline are fitted in place",
    "check_dont_overwrite_parameters": "the steps of a pipeline are fitted in place",
}


def test_it_passes_the_scikit_learn_checks():
    """Behind a transformer from tables to outlines; the checks of a bare ShapeSpace would be skipped."""
    model = make_pipeline(CurvesOfTables(), ShapeSpace(rank=2, landmarks=24))
    found = check_estimator(model, expected_failed_checks=OF_PIPELINES, on_fail=None, on_skip=None)
    failed = {check["check_name"]: str(check["exception"]) for check in found if check["status"] == "failed"}
    assert not failed
    assert sum(check["status"] == "passed" for check in found) > 35
