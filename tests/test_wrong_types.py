"""Arguments of a wrong type: every public function reports what it accepts."""

import numpy as np
import pandas as pd
import pytest

import napari_shape_ensembles as package
from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, experiment
from napari_shape_ensembles.inspection import Review
from napari_shape_ensembles.inspection.ranking import Inspection, disagreement
from napari_shape_ensembles.io import find_grains, write_objects
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test

GRID = {"ranks": [2], "landmarks": [20]}


@pytest.mark.parametrize("wrong", [None, 3.5, object()])
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (package.annotators, "takes a list or a dict of label images"),
        (lambda given: package.at_pixel_size(given, 1.0), "takes an Ensemble"),
        (lambda given: package.design_from_names(given, "{group}"), "takes a list of file names"),
        (lambda given: package.experiment(given, pd.DataFrame({"group": []})), "takes a list of ensembles"),
        (package.quality, "takes one ensemble or two"),
        (package.repair, "give an Ensemble"),
        (package.resynthesis, "takes the Comparison that compare returns"),
        (lambda given: package.smoothing_study(given, given, sigmas=[1.0], **GRID), "takes a mask or a list of masks"),
        (Review, "takes the Inspection"),
        (disagreement, "takes two label images"),
        (Inspection.of, "takes a list of one ensemble or two"),
        (find_grains, "takes the EBSDMap"),
        (lambda given: write_objects("x.csv", given), "takes a Comparison, an Experiment or an Ensemble"),
        (combined_mmd_test, "takes a dict of pairs of samples"),
    ],
)
def test_errors_say_what_a_function_accepts(call, words, wrong):
    with pytest.raises(TypeError, match=f"{words}.*, not {type(wrong).__name__}"):
        call(wrong)


@pytest.mark.parametrize("margins", [{"margin": None}, {"form": None}, {"margin": "0.1"}, {"of_replicates": np.nan}])
def test_an_equivalence_margin_is_a_positive_number(margins):
    images = [Ensemble(list(blobs(4, 40, seed=seed))) for seed in range(4)]
    result = experiment(images, pd.DataFrame({"group": list("aabb")}), Settings(landmarks=30, rank=2, permutations=19))
    (name,) = margins
    with pytest.raises(ValueError, match=f"{name} .*: give a positive margin, such as 0.1"):
        result.equivalence(**margins)


def test_a_table_of_outlines_accepts_a_path_as_str(tmp_path):
    ensemble = Ensemble(list(blobs(3, 40)))
    assert len(pd.read_csv(write_objects(str(tmp_path / "outlines.csv"), ensemble))) == 3
