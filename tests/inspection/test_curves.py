"""Checks for unusual curves: each fault is reported, ordinary curves are not."""

import numpy as np
import pytest

from curve_makers import blobs, load_curves
from napari_shape_ensembles import Ensemble, rank_suspects
from napari_shape_ensembles.inspection.curves import nested, roughness, unusual, weights

SIZE = 200


def ordinary(count=30):
    curves = blobs(count, 200, seed=1, modes=6, elongation=1.3)
    return [(curve - curve.mean(axis=0)) * 10 + (40 * i, 0) for i, curve in enumerate(curves)]


def reasons_of(odd):
    """Reasons given for one unusual curve among thirty ordinary ones."""
    return rank_suspects(Ensemble([*ordinary(), odd])).set_index("label")["reasons"][30]


def test_ordinary_curves_are_not_suspicious():
    found = weights(Ensemble(ordinary()), np.ones(30))
    assert (np.max(list(found.values()), axis=0) >= 1).sum() <= 1
    assert sorted(rank_suspects(Ensemble(ordinary()))["label"]) == list(range(30))


def circle(radius, centre, n=200):
    u = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(u), np.sin(u)], axis=-1) * radius + centre


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (circle(3, (40, 0)), "lies inside another curve"),
        (circle(300, (0, 900)), "unusually large"),
        (circle(12, (0, 300)), "unusually smooth"),
        (np.array([[0, 300], [0, 320], [20, 300], [20, 330]], dtype=float), "touches or crosses itself"),
    ],
)
def test_each_fault_is_reported(odd, reason):
    assert reason in reasons_of(odd)


def test_a_jagged_outline_is_unusually_rough():
    rng = np.random.default_rng(0)
    radius = 12 * (1 + 0.12 * rng.normal(size=200))
    assert "unusually rough" in reasons_of(circle(radius[:, None], (0, 300)))


def test_the_position_in_shape_space_is_a_reason():
    assert "far from the mean shape" in reasons_of(circle(12, (0, 300)) * (8, 1))


def test_an_outline_that_can_be_turned_in_several_ways_is_not_suspicious():
    three = (1 + 0.2 * np.cos(3 * 2 * np.pi * np.arange(200) / 200))[:, None]  # equal after a third of a turn
    sizes = np.random.default_rng(0).uniform(10, 14, 12)
    ensemble = Ensemble([circle(size * three, (0, 50 * place)) for place, size in enumerate(sizes)])
    assert set(weights(ensemble, np.ones(12))) == {
        *("touches or crosses itself", "lies inside another curve", "unusually rough", "unusually smooth"),
        *("unusually large", "far from the mean shape"),
    }
    assert not rank_suspects(ensemble)["reasons"].str.contains("registration").any()


def test_the_worst_comes_first_and_no_reason_weighs_more_than_three():
    ensemble = Ensemble([*ordinary(), circle(300, (0, 900)), circle(12, (0, 300))])
    table = rank_suspects(ensemble)
    assert (np.diff(table["score"]) <= 0).all()
    assert table["label"].iloc[0] == 30
    weight = table["score"] / (1 - table["score"])
    assert (weight <= 3 * (table["reasons"].str.count(";") + 1)).all()


def test_checks_are_invariant_to_translation_scale_and_rotation():
    ensemble = Ensemble(ordinary())
    moved = Ensemble([curve[::-1] @ [[0, 3], [3, 0]] + 1000 for curve in ensemble.curves])
    np.testing.assert_allclose(roughness(moved), roughness(ensemble), rtol=1e-6)


def test_outlier_detection_is_robust_and_off_for_few_curves():
    values = np.random.default_rng(0).normal(size=500)
    assert (unusual(values) >= 1).mean() < 0.005
    values[:100] = 50
    assert (unusual(values)[:100] >= 1).all()
    assert not unusual(np.array([0.0, 0, 0, 99])).any()


def test_holes_of_the_battery_are_the_nested_ones(shared_data):
    path = shared_data / "paper" / "battery_curves.npz"
    ensembles = [Ensemble(load_curves(path, f"{key}_sigma5")) for key in ("new", "old")]
    assert [nested(ensemble).sum() for ensemble in ensembles] == [44, 90]


def test_an_empty_ensemble_has_no_suspects():
    assert rank_suspects(Ensemble([])).columns.tolist() == ["label", "score", "reasons"]


def test_outlines_have_no_image_and_no_corrections():
    for options in ({"image": np.zeros((9, 9))}, {"corrections": {1: "wrong"}}):
        with pytest.raises(ValueError, match="rank labels, not outlines"):
            rank_suspects(Ensemble(ordinary()), **options)
