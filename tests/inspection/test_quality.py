"""Checks for unusual curves: each fault is reported, ordinary curves are not."""

import numpy as np
import pytest

from curve_makers import blobs, load_curves
from napari_shape_ensembles import Ensemble, suspicious
from napari_shape_ensembles.inspection.quality import nested, roughness, unusual

SIZE = 200


def ordinary(count=30, **options):
    curves = blobs(count, 200, seed=1, modes=6, elongation=1.3)
    return [(curve - curve.mean(axis=0)) * 10 + (40 * i, 0) for i, curve in enumerate(curves)]


def reasons_of(odd, **options):
    """Reasons given for one unusual curve among thirty ordinary ones."""
    ensemble = Ensemble([*ordinary(), odd])
    table = suspicious(ensemble, **options).set_index("index")
    return table["reasons"].get(30, "")


def test_ordinary_curves_are_not_suspicious():
    assert len(suspicious(Ensemble(ordinary()))) <= 1


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


def test_external_measurements_are_used():
    count = 31
    distances, ambiguous = np.linspace(1, 1.5, count), np.zeros(count, dtype=bool)
    distances[30], ambiguous[30] = 9, True
    given = reasons_of(ordinary(31)[30], distances=distances, ambiguous=ambiguous)
    assert {"far from the mean shape", "ambiguous registration"} <= set(given.split("; "))


def test_the_worst_comes_first_and_weights_are_clipped_at_three():
    ensemble = Ensemble([*ordinary(), circle(300, (0, 900)), circle(12, (0, 300))])
    table = suspicious(ensemble)
    assert (np.diff(table["score"]) <= 0).all()
    assert table["index"].iloc[0] == 30
    assert (table["score"] <= 3 * (table["reasons"].str.count(";") + 1)).all()


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
    assert suspicious(Ensemble([])).columns.tolist() == ["index", "id", "score", "reasons"]


def test_measurements_of_the_wrong_length_are_rejected():
    with pytest.raises(ValueError, match="one number for each of 30 curves"):
        suspicious(Ensemble(ordinary()), distances=[1, 2])
