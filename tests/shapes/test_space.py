"""The learned shape space: principal directions versus a full decomposition, and reconstruction of curves."""

import tracemalloc

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import ShapeSpace, decompose, progress, register
from napari_shape_ensembles.shapes import grassmann, spd
from napari_shape_ensembles.shapes.space import principal


@pytest.fixture
def registered():
    curves = blobs(60, 64, seed=1)
    return decompose(register(curves, curves[0]).landmarks)


@pytest.mark.parametrize("count", [20, 200])
def test_principal_directions_agree_with_a_full_singular_value_decomposition(count):
    undulation, scale = decompose(blobs(count, 48, seed=2))
    space = ShapeSpace.learn(undulation, scale, 10)
    tangents = grassmann.log(space.undulation_mean_, undulation).swapaxes(1, 2).reshape(count, -1)
    _, values, directions = np.linalg.svd(tangents, full_matrices=False)
    np.testing.assert_allclose(space.singular_values_[:15], values[:15], rtol=1e-9)
    overlap = space.basis_.swapaxes(1, 2).reshape(10, -1) @ directions[:10].T
    np.testing.assert_allclose(np.abs(overlap), np.eye(10), atol=1e-7)


def test_coordinates_are_centered_and_uncorrelated(registered):
    space = ShapeSpace.learn(*registered, 12)
    t, l = space.coordinates(*registered)
    np.testing.assert_allclose(t.mean(axis=0), 0, atol=1e-11)
    np.testing.assert_allclose(l.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(t.T @ t, np.diag(space.singular_values_[:12] ** 2), atol=1e-11)


def test_norms_of_all_coordinates_are_geodesic_distances(registered):
    space = ShapeSpace.learn(*registered, 1000)
    t, l = space.coordinates(*registered)
    expected = grassmann.dist(space.undulation_mean_, registered[0])
    np.testing.assert_allclose(np.linalg.norm(t, axis=1), expected, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(l, axis=1), spd.dist(space.scale_mean_, registered[1]), atol=1e-11)


def test_reconstruction_at_full_rank_is_exact(registered):
    space = ShapeSpace.learn(*registered, 1000)
    undulation, scale = decompose(space.reconstruct(*space.coordinates(*registered)))
    assert grassmann.dist(undulation, registered[0]).max() < 1e-9
    np.testing.assert_allclose(scale, registered[1], rtol=1e-9, atol=1e-11)


def test_reconstructions_of_lower_rank_are_smoother(registered):
    space = ShapeSpace.learn(*registered, 40)
    t, l = space.coordinates(*registered)
    errors = [grassmann.dist(decompose(space.reconstruct(t[:, :r], l))[0], registered[0]).mean() for r in (2, 10, 40)]
    assert errors[0] > errors[1] > errors[2]


def test_the_origin_is_the_mean_shape(registered):
    space = ShapeSpace.learn(*registered, 5)
    mean = space.reconstruct(np.zeros(5), np.zeros(3))[0]
    np.testing.assert_allclose(mean, np.sqrt(64) * space.undulation_mean_ @ space.scale_mean_, atol=1e-12)


def test_the_rank_is_limited_by_the_curves():
    assert ShapeSpace.learn(*decompose(blobs(7, 64)), 150).rank_ == 6
    assert ShapeSpace.learn(*decompose(blobs(200, 16)), 150).rank_ == 28


def test_the_largest_entry_of_every_direction_is_positive(registered):
    basis = ShapeSpace.learn(*registered, 10).basis_.reshape(10, -1)
    assert (basis[np.arange(10), np.abs(basis).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize(("count", "rank", "message"), [(0, 5, "0 undulations"), (3, 0, "rank 0")])
def test_empty_samples_and_rank_zero_are_rejected(count, rank, message):
    undulation, scale = decompose(blobs(3, 16))
    with pytest.raises(ValueError, match=message):
        ShapeSpace.learn(undulation[:count], scale[:count], rank)


def test_more_coordinates_than_learned_are_rejected(registered):
    space = ShapeSpace.learn(*registered, 5)
    with pytest.raises(ValueError, match="6 undulation coordinates"):
        space.reconstruct(np.zeros((1, 6)), np.zeros((1, 3)))


@pytest.mark.parametrize("rank", [1, 12, 39])
@pytest.mark.parametrize("varying", [40, 5, 0])
def test_leading_eigenvectors_match_a_full_decomposition(rank, varying):
    factors = np.random.default_rng(0).normal(size=(200, 40)) * np.where(
        np.arange(40) < varying, 0.8 ** np.arange(40), 0
    )
    gram = factors.T @ factors
    values, vectors = principal(gram, rank)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(gram)[::-1], atol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(gram @ vectors.T, vectors.T * values[:rank], atol=1e-12)


def test_landmarks_may_be_overwritten_to_save_memory(monkeypatch):
    monkeypatch.setattr(progress, "processors", lambda: 2)  # each thread has its own blocks
    landmarks = np.ascontiguousarray(np.tile(blobs(500, 60).swapaxes(1, 2), (20, 1, 1))).swapaxes(1, 2)
    space = ShapeSpace(rank=5)
    decompose(landmarks[:1])  # importing numba needs memory
    tracemalloc.start()
    undulation, scale, _ = space.fit_landmarks(landmarks, overwrite=True)
    t, _ = space.coordinates(undulation, scale)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.shares_memory(undulation, landmarks)
    assert len(t) == len(landmarks)
    assert peak < 0.85 * landmarks.nbytes
