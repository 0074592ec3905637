"""Curves left out by hand."""

import numpy as np

from curve_makers import blobs
from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.inspection.ranking import left


def test_curves_that_stay_keep_their_images_and_ids():
    images = [Ensemble(list(blobs(3, 40, seed=seed)), name=name) for seed, name in enumerate("uv")]
    pooled = Ensemble.pooled(images, name="group")
    kept = left(pooled, np.array([True, False, False, False, True, False]))
    assert kept.images.tolist() == ["u", "u", "v", "v"]
    assert kept.ids.tolist() == [pooled.ids[i] for i in (1, 2, 3, 5)]
    assert kept.dropped == {"excluded by hand": 2}
    assert kept.name == "group"
