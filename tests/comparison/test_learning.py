"""Learning from landmarks in memory, in a memory map, and on Dask workers: the same results up to rounding."""

import os

import numpy as np
import psutil
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, reporting
from napari_shape_ensembles.comparison import learning
from napari_shape_ensembles.comparison.learning import learn

SETTINGS = Settings(landmarks=40, rank=12)


def samples(count=60):
    a = Ensemble(list(blobs(count, 50, seed=1)), unit="µm", pixel_size=0.02)
    b = Ensemble(list(blobs(count + 20, 50, seed=2, roughness=0.25)), unit="µm", pixel_size=0.02)
    return a, b


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(learning, "CHUNK", 40)


def assert_same(one, other):
    np.testing.assert_allclose(other.t, one.t, atol=1e-9)
    np.testing.assert_allclose(other.l, one.l, atol=1e-9)
    np.testing.assert_allclose(other.descriptors, one.descriptors, atol=1e-9)
    np.testing.assert_allclose(other.space.basis_, one.space.basis_, atol=1e-8)
    assert other.space.unit_ == one.space.unit_ == "µm"
    assert other.space.bands_ == one.space.bands_
    np.testing.assert_array_equal(other.ambiguous, one.ambiguous)
    assert (other.archetype_is_ambiguous, other.known) == (one.archetype_is_ambiguous, pytest.approx(one.known))


CHOICES = [
    {},
    {"registration": "raw", "archetype": "random"},
    {"registration": "none"},
    {"archetype": 100},
    {"archetype": "mean"},
]


@pytest.mark.parametrize("changes", CHOICES)
def test_a_memory_map_gives_the_numbers_of_memory(tmp_path, small_chunks, changes):
    settings = Settings(landmarks=40, rank=12, **changes)
    loaded = (ensemble for ensemble in samples())  # one by one
    assert_same(learn(samples(), settings), learn(loaded, settings, scratch=tmp_path))
    assert not list(tmp_path.iterdir())


def test_few_curves_in_a_memory_map(tmp_path):
    assert_same(learn(samples(6), SETTINGS), learn(samples(6), SETTINGS, scratch=tmp_path))


@pytest.mark.parametrize("changes", CHOICES)
def test_workers_give_the_numbers_of_memory(cluster, small_chunks, changes):
    settings = Settings(landmarks=40, rank=12, **changes)
    assert_same(learn(samples(), settings), learn(iter(samples()), settings, client=cluster))


def test_few_curves_on_workers(cluster):
    assert_same(learn(samples(6), SETTINGS), learn(samples(6), SETTINGS, client=cluster))


# Dask closes sockets and event loops of killed processes late.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_work_lost_with_a_worker_is_done_again(cluster, small_chunks):
    def kill_one(step):
        if step.name == "learning the shape space":
            psutil.Process(next(iter(cluster.run(os.getpid).values()))).kill()

    with reporting(kill_one):
        found = learn(samples(), SETTINGS, client=cluster)
    assert_same(learn(samples(), SETTINGS), found)
