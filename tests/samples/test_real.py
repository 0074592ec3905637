"""The bundled real pairs: content, licences, and results with default settings."""

from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from skimage.draw import polygon

from napari_shape_ensembles import Settings, compare, extract_curves, samples, segment

DATA = files("napari_shape_ensembles.samples").joinpath("data")
# Rows with the default settings, as listed in docs/reference/samples.md.
ROWS = {
    samples.powder: "inconclusive",  # a third of the objects found by the default threshold are specks
    samples.powder_outlines: "1∧0",
    samples.nuclei: "0∧1",
    samples.nuclei_labels: "1∧1",
    samples.cells: "0∧0",
}
COUNTS = {
    samples.powder: (183, 326),
    samples.powder_outlines: (174, 295),
    samples.nuclei: (45, 40),
    samples.nuclei_labels: (60, 47),
    samples.cells: (318, 175),
}
# Module scope keeps the tests of a sample together, so that a single worker process loads it.
each_sample = pytest.mark.parametrize("sample", ROWS, ids=lambda sample: sample.__name__, scope="module")


@cache
def read(sample):
    return sample()


@cache
def outlines(sample):
    return read(sample).ensembles()


def test_every_data_set_has_a_licence_and_source_file():
    folders = [folder for folder in DATA.iterdir() if folder.is_dir()]
    assert len(folders) == 3
    for folder in folders:
        assert (
            "WITHOUT WARRANTY" in folder.joinpath("LICENSE.txt").read_text()
            or "AS IS" in folder.joinpath("LICENSE.txt").read_text()
        )
        assert "Source: " in folder.joinpath("README.md").read_text()


def test_bundled_data_are_smaller_than_3_mb():
    assert (
        sum(len(file.read_bytes()) for folder in DATA.iterdir() if folder.is_dir() for file in folder.iterdir()) < 3e6
    )


@each_sample
def test_a_pair_states_its_source_and_a_permissive_licence(sample):
    pair = read(sample)
    assert pair.licence in ("MIT", "BSD-3-Clause")
    assert pair.source != "simulated"
    assert "Simulated" not in pair.title


@each_sample
def test_units_are_pixels_if_the_pixel_size_is_unknown(sample):
    pair = read(sample)
    assert (pair.unit, pair.pixel_size) == ("pixel", 1.0)


@each_sample
def test_both_sides_are_within_the_stated_width(sample):
    pair = read(sample)
    for side in (pair.a, pair.b):
        last = max(curve[:, 1].max() for curve in side) if pair.kind == "curves" else side.shape[1] - 1
        assert 0.8 * pair.width < last < pair.width + 1000 * (sample is samples.cells)


@each_sample
def test_the_default_settings_give_the_documented_row(sample):
    assert tuple(map(len, outlines(sample))) == COUNTS[sample]
    assert compare(*outlines(sample)).case == ROWS[sample]


@pytest.mark.parametrize(
    "settings", [Settings(seed=1), Settings(landmarks=100, seed=3, archetype="mean")], ids=["seed", "archetype"]
)
@pytest.mark.parametrize("sample", [samples.powder_outlines, samples.cells], ids=lambda sample: sample.__name__)
def test_the_row_of_manual_outlines_is_independent_of_seed_and_archetype(sample, settings):
    assert compare(*outlines(sample), settings).case == ROWS[sample]


def test_a_manual_threshold_gives_the_row_of_manual_outlines():
    pair = read(samples.powder)
    found = [extract_curves(segment(image, method="manual", threshold=50)) for image in (pair.a, pair.b)]
    assert compare(*found).case == "1∧0"


def test_manual_outlines_match_the_particles_in_the_micrographs():
    images, drawn = read(samples.powder), read(samples.powder_outlines)
    for image, curves in ((images.a, drawn.a), (images.b, drawn.b)):
        inside = np.zeros(image.shape, bool)
        for curve in curves:
            inside[polygon(*curve.T)] = True
        assert np.median(image[inside]) > 2 * np.median(image[~inside])


def test_cells_are_laid_out_side_by_side():
    for side in (read(samples.cells).a, read(samples.cells).b):
        corners = np.array([[*curve.min(axis=0), *curve.max(axis=0)] for curve in side])
        low, high = corners[:, None, :2], corners[:, None, 2:]
        meet = ((low < corners[None, :, 2:]) & (high > corners[None, :, :2])).all(axis=-1)
        np.testing.assert_array_equal(meet, np.eye(len(side), dtype=bool))
