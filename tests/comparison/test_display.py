"""Notebook display and napari layers of a comparison, without a viewer."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare, experiment
from napari_shape_ensembles.comparison.answer import in_one_line
from napari_shape_ensembles.comparison.display import MARK


def made(count=20, name="<script>alert(1)</script>", stretch=1.0):
    a = Ensemble(list(blobs(count, 60, seed=1)), name=name)
    b = Ensemble(list(blobs(count, 60, seed=3) * stretch), name="two & three")
    return compare(a, b, Settings(landmarks=60, rank=10, permutations=300))


class Reader(HTMLParser):
    """Collects the tags, and the text of each cell."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.cells = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag in ("td", "th", "p", "li"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def test_the_notebook_shows_the_numbers_and_highlights_the_row():
    result = made(stretch=1.6)
    page = Reader(result._repr_html_())
    assert not page.open
    assert page.cells[0] == in_one_line(result)
    marked = page.cells[page.cells.index("►") + 1]
    assert marked == result.case == "1∧0"
    assert page.cells.count("►") == 1
    assert f"{result.scale.p_value:.2g}" in page.cells


def test_the_notebook_shows_the_contrasts_of_an_experiment_with_escaped_names():
    both = made()
    halves = [side[np.arange(len(side)) % 2 == part] for side in (both.a, both.b) for part in (0, 1)]
    design = pd.DataFrame({"group": ["<b>x</b>", "<b>x</b>", "y", "y"]})
    page = experiment(halves, design, both.settings)._repr_html_()
    assert "y - &lt;b&gt;x&lt;/b&gt;" in page or "&lt;b&gt;x&lt;/b&gt; - y" in page
    assert "<b>x" not in page


def test_an_experiment_from_files_is_refused_with_the_way_to_read_them():
    with pytest.raises(TypeError, match=r"experiment\(\*io\.read_experiment\(path\)\)"):
        experiment("design.csv")


def test_names_are_escaped():
    page = Reader(made()._repr_html_())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.cells[0]


def test_an_inconclusive_result_highlights_no_row():
    page = Reader(made(3)._repr_html_())
    assert "►" not in page.cells
    assert "too few curves" in page.cells


def test_the_notebook_gives_the_reason_for_no_decision():
    few, many = made(3), made()
    twice = compare(many.a, many.a, many.settings)
    images = [many.a, [many.b[np.arange(len(many.b)) % 2 == part] for part in range(2)]]
    depends = replace(many, row_depends_on_archetype=True)
    permutations = compare(many.a, many.b, many.settings, permutations=19)
    for result, words in (
        (few, "too few curves"),
        (compare(*images, many.settings), "too few images"),
        (permutations, "too few permutations"),
        (twice, "withheld"),
        (depends, "withheld"),
    ):
        assert result.undecided == words
        assert words in Reader(result._repr_html_()).cells
    assert many.undecided == ""


@pytest.mark.parametrize("painted", ["distance_from_mean", "undulation", "scale"])
def test_layers_are_colored_by_distance_with_common_limits(painted):
    result = made(name="one")
    (curves, a, kind), (_, b, _) = result.layer_data({"painted": painted, "a": {"scale": [0.5, 0.25]}})
    assert kind == "shapes"
    assert len(curves) == len(result.a)
    assert [*a["features"]["painted"], *b["features"]["painted"]] == result.distances[painted].tolist()
    assert a["face_contrast_limits"] == b["face_contrast_limits"]
    np.testing.assert_allclose(curves[0].max(axis=0) * (0.5, 0.25), result.a[0].max(axis=0), atol=0.01)


def test_an_unknown_coloring_is_rejected():
    with pytest.raises(ValueError, match=r"colored by distance_from_mean, unusual, .*, not 'mood'"):
        made().layer_data({"painted": "mood"})


def pooled():
    parts = [Ensemble(list(blobs(count, 60, seed=count)), name=name) for count, name in ((12, "one"), (9, "three"))]
    b = Ensemble(list(blobs(20, 60, seed=2)), name="two")
    return compare(parts, b, Settings(landmarks=60, rank=10, permutations=99))


PLACES = [{"name": "one", "scale": [0.5, 0.5], "translate": [3, 4]}, {"name": "three", "scale": [0.1, 0.1]}]


def test_every_image_of_a_side_can_have_a_layer():
    result = pooled()
    assert [options["name"] for _, options, _ in result.layer_data()] == ["one + three curves", "two curves"]
    layers = result.layer_data({"a": {"images": PLACES}})
    assert [options["name"] for _, options, _ in layers] == ["one curves", "three curves", "two curves"]
    assert [options["scale"] for _, options, _ in layers] == [(0.5, 0.5), (0.1, 0.1), (1.0, 1.0)]
    assert [options["translate"] for _, options, _ in layers] == [(3, 4), (0, 0), (0, 0)]
    assert [len(curves) for curves, _, _ in layers] == [12, 9, 20]
    features = [options["features"] for _, options, _ in layers]
    assert [one for part in features for one in part["id"]] == result.distances["id"].tolist()
    assert [value for part in features for value in part["painted"]] == result.distances["distance_from_mean"].tolist()
    assert [options["metadata"][MARK]["part"] for _, options, _ in layers] == [0, 1, 0]
    first = result.a.curves[12]
    np.testing.assert_allclose(np.ptp(layers[1][0][0] * 0.1, axis=0), np.ptp(first, axis=0), rtol=0.02)


@pytest.mark.parametrize(
    "place",
    [
        [],
        {"images": 3},
        {"images": ["one", "three"]},
        {"images": [{"scale": [1, 1]}]},
        {"images": PLACES[:1]},
        {"images": PLACES[::-1]},
        {"images": [*PLACES, {"name": "four"}]},
        {"images": [PLACES[0], {"name": "three", "scale": [0, 1]}]},
        {"images": [PLACES[0], {"name": "three", "scale": "large"}]},
        {"images": [PLACES[0], {"name": "three", "scale": [1e-300, 1]}]},
        {"images": PLACES, "scale": None},
        {"images": PLACES, "scale": ["x", "y"]},
    ],
)
def test_invalid_image_positions_are_rejected(place):
    with pytest.raises(ValueError, match="of A in the saved view"):
        pooled().layer_data({"a": place})


def test_images_with_interleaved_curves_have_no_separate_layers():
    a = Ensemble(list(blobs(6, 60, seed=1)), name="both", images=["one", "three"] * 3)
    result = compare(a, Ensemble(list(blobs(6, 60, seed=2))), Settings(landmarks=60, rank=4, permutations=19))
    with pytest.raises(ValueError, match="the images of A in the saved view"):
        result.layer_data({"a": {"images": PLACES}})
