"""Manually excluded curves, and ensembles that become empty."""

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.inspection.curves import ranked_curves
from napari_shape_ensembles.inspection.ranking import Inspection
from napari_shape_ensembles.outlines.reasons import AT_BORDER, BY_HAND


def test_remaining_curves_keep_their_images_and_ids():
    images = [Ensemble(list(blobs(3, 40, seed=seed)), name=name) for seed, name in enumerate("uv")]
    pooled = Ensemble.pooled(images, name="group")
    (kept,) = Inspection.of((pooled,)).without(([True, False, False, False, True, False],))
    assert kept.images.tolist() == ["u", "u", "v", "v"]
    assert kept.ids.tolist() == [pooled.ids[i] for i in (1, 2, 3, 5)]
    assert kept.dropped == {BY_HAND: 2}
    assert kept.name == "group"


@pytest.mark.parametrize("others", [(), (Ensemble(list(blobs(9, 40))),)], ids=["alone", "of two"])
def test_an_empty_ensemble_is_rejected_with_the_exclusion_counts(others):
    empty = Ensemble([], name="field", dropped={AT_BORDER: 3})
    with pytest.raises(ValueError, match=r"field has no usable outline \(3 touching the image border\)"):
        Inspection.of((*others, empty))


def test_curves_of_two_ensembles_are_ranked_by_their_distances_from_the_common_mean():
    first, second = (Ensemble(list(blobs(12, 60, seed=seed)), name="cells") for seed in (1, 2))
    settings = Settings(landmarks=60, rank=5, permutations=99)
    ranking = Inspection.of((first, second), settings).ranking
    distances = compare(first, second, settings).distances["distance_from_mean"].to_numpy()
    for source, ensemble, part in zip("AB", (first, second), np.split(distances, 2), strict=True):
        expected = ranked_curves(ensemble, settings, part)["score"].to_numpy()
        own = ranking[ranking["source"] == source]
        assert sorted(own["score"]) == sorted(expected[expected > 0])
