"""The permutation engine: single precision without effect on p-values, chunks, threads, and cancellation."""

import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import chi2

from napari_shape_ensembles import progress as threads
from napari_shape_ensembles.mmd import kernel, mmd_test, permutations
from napari_shape_ensembles.mmd.kernel import Distances, quadratic_forms
from napari_shape_ensembles.mmd.permutations import permuted_labels, permuted_statistics
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test
from napari_shape_ensembles.progress import Stopped, reporting


def points(total, d=4, seed=0, shift=0.0):
    z = np.random.default_rng(seed).normal(size=(total, d))
    z[: total // 2] += shift
    return z


def halves(z, first=None):
    first = len(z) // 2 if first is None else first
    return z[:first], z[first:]


@pytest.fixture
def double(monkeypatch):
    """Return a function that repeats a call entirely in double precision."""

    def call(function, *arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(permutations, "SINGLE_PRECISION_FROM", 10**9)
            return function(*arguments, **options)

    return call


@pytest.fixture
def single(monkeypatch):
    """Use single precision for any number of points."""
    monkeypatch.setattr(permutations, "SINGLE_PRECISION_FROM", 0)


def test_permutations_keep_the_sizes_and_start_with_the_observed_labels():
    labels = permuted_labels(5, 12, 50, 0).indicators(slice(None))
    assert labels.shape == (51, 12)
    assert (labels.sum(axis=1) == 5).all()
    assert labels[0, :5].all()
    assert len({tuple(row) for row in labels}) > 40


def test_all_labelings_are_equally_likely():
    labels = permuted_labels(2, 5, 20_000, 1).indicators(slice(1, None))
    _, counts = np.unique(labels, axis=0, return_counts=True)
    assert len(counts) == 10
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(20_000 * 0.1 * 0.9)


@pytest.mark.parametrize("numbers", [1, 500, 7777, 2**22])
def test_draws_do_not_depend_on_the_chunks(monkeypatch, numbers):
    whole = permuted_labels(30, 77, 200, 3).bits
    sizes = permutations.chunks
    monkeypatch.setattr(permutations, "chunks", lambda count, total: sizes(count, total, numbers))
    permutations.drawn.clear()
    assert (permuted_labels(30, 77, 200, 3).bits == whole).all()


@pytest.mark.parametrize("total", [300, 700])
def test_quadratic_forms_agree_with_the_whole_kernel(total):
    z, rng = points(total), np.random.default_rng(1)
    fast, precise = rng.normal(size=(5, total)).astype(np.float32), rng.normal(size=(3, total))
    one, other = quadratic_forms(Distances(z), [0.7, 2.0], fast, precise)
    for s, quick, exact in zip([0.7, 2.0], one, other, strict=True):
        k = np.exp(-(cdist(z, z) ** 2) / (2 * s**2))
        np.testing.assert_allclose(exact, np.einsum("bi,ij,bj->b", precise, k, precise), rtol=1e-11)
        np.testing.assert_allclose(quick, np.einsum("bi,ij,bj->b", fast, k, fast), rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("total", "d", "shift"), [(60, 2, 0.0), (61, 150, 0.05), (400, 20, 0.02), (1200, 3, 0.01)])
def test_single_precision_changes_no_p_value(single, double, seed, total, d, shift):
    samples = halves(points(total, d, seed, shift), total // 3)
    one = mmd_test(*samples, random_state=seed)
    other = double(mmd_test, *samples, random_state=seed)
    assert (one.p_value, one.rejected, one.mmd) == (other.p_value, other.rejected, pytest.approx(other.mmd, abs=1e-14))
    np.testing.assert_allclose(one.null**2, other.null**2, atol=1e-5 * other.null.max() ** 2)


@pytest.mark.parametrize("seed", range(8))
def test_single_precision_changes_no_p_value_where_statistics_repeat(single, double, seed):
    z = np.random.default_rng(seed).integers(0, 2, size=(40, 1)).astype(float)
    one, other = mmd_test(*halves(z)), double(mmd_test, *halves(z))
    assert len(np.unique(other.null.round(9))) < 25
    assert one.p_value == other.p_value


@pytest.mark.parametrize("seed", range(12))
def test_single_precision_changes_no_joint_p_value(single, double, seed):
    z = points(300, 3, seed, 0.1)
    parts = {"raw": halves(z), "cubes": halves(z**3), "coarse": halves(z.round())}
    one = combined_mmd_test(parts, factor=[0.5, 1], seed=seed, significance=0.05)
    other = double(combined_mmd_test, parts, factor=[0.5, 1], seed=seed, significance=0.05)
    assert (one.p_value, one.rejected) == (other.p_value, other.rejected)
    assert [part.p_value for part in one.parts.values()] == [part.p_value for part in other.parts.values()]


def test_values_near_a_threshold_are_recomputed_in_double_precision(single):
    z = points(500, 3)
    labels = permuted_labels(250, 500, 300, 0)
    (statistics,) = permuted_statistics(Distances(z), labels, [1.0])
    k = np.exp(-(cdist(z, z) ** 2) / 2)
    weights = labels.weights(slice(None)) * (1 / 250 + 1 / 250)
    exact = np.einsum("bi,ij,bj->b", weights, k, weights)
    assert statistics.values[0] == pytest.approx(exact[0], abs=1e-14)
    cut = statistics.values[100]
    statistics.tolerance = 1e-3
    statistics.settle(cut)
    near = np.abs(exact - cut) < 9e-4
    assert 20 < near.sum() < 290
    np.testing.assert_allclose(statistics.values[near], exact[near], atol=1e-14)


def test_the_tolerance_covers_the_errors_of_single_precision(single):
    z = points(1500, 150)
    labels = permuted_labels(700, 1500, 400, 0)
    (statistics,) = permuted_statistics(Distances(z), labels, [17.0])
    weights = labels.weights(slice(None)) * (1 / 700 + 1 / 800)
    exact = np.einsum("bi,bi->b", weights @ kernel.gaussian(z, z, 17.0), weights)
    assert 0 < np.abs(statistics.values - exact).max() < statistics.tolerance.min() / 4
    assert statistics.tolerance.max() < 1e-3 * exact.std()


@pytest.mark.parametrize("total", [300, 700])
def test_statistics_do_not_cancel_against_the_kernel_mean(total):
    z = points(total, 150)
    labels = permuted_labels(total // 3, total, 50, 0)
    fast, precise = labels.single_weights(slice(None)), labels.weights(slice(None))
    (one,), (other,) = quadratic_forms(Distances(z), [17.0], fast, precise)
    plain = np.einsum("bi,ij,bj->b", fast, kernel.gaussian(z, z, 17.0).astype(np.float32), fast)
    assert np.abs(one - other).max() < 0.1 * np.abs(plain - other).max()


def test_ranks_unaffected_by_rounding_are_not_recomputed(monkeypatch, single):
    z = points(500, 3, shift=0.3)
    labels = permuted_labels(250, 500, 300, 0)
    (statistics,) = permuted_statistics(Distances(z), labels, [1.0])
    monkeypatch.setattr(statistics, "settle", lambda cut: pytest.fail(f"settled at {cut}"))
    falling = np.sort(statistics.values)[::-1]
    gaps = -np.diff(falling)
    statistics.settle_rank(1 + int(gaps.argmax()))
    monkeypatch.undo()
    rank = 1 + int(gaps.argmin())
    statistics.tolerance = 2 * gaps.min()
    statistics.settle_rank(rank)
    assert statistics.exact.sum() > permutations.PROBES


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_results_are_identical_for_any_number_of_threads(monkeypatch, count):
    samples = halves(points(1300, 5))
    usual = mmd_test(*samples, permutations=200)
    monkeypatch.setattr(threads, "processors", lambda: count)
    test = mmd_test(*samples, permutations=200)
    assert (test.null == usual.null).all()
    assert test.bandwidth == usual.bandwidth


def test_chunks_of_permutations_change_no_p_value(monkeypatch):
    samples = halves(points(1500, 3, shift=0.05))
    whole = mmd_test(*samples, permutations=600)
    monkeypatch.setattr(permutations, "CHUNK", 1500 * 100)
    pieces = mmd_test(*samples, permutations=600)
    assert pieces.p_value == whole.p_value
    np.testing.assert_allclose(pieces.null, whole.null, rtol=1e-5)


def test_memory_stays_far_below_that_of_the_kernel_matrix():
    samples = halves(points(8000, 3))
    tracemalloc.start()
    mmd_test(*samples, permutations=50)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 160 * 2**20  # the kernel matrix alone is 490 MiB


def test_cancelled_work_starts_no_further_blocks(monkeypatch):
    begun, block, before = [], Distances.block, []
    monkeypatch.setattr(threads, "processors", lambda: 2)
    monkeypatch.setattr(Distances, "block", lambda self, rows: begun.append(rows) or block(self, rows))

    def stop():
        if len(begun) >= 10 and not before:
            before.append(len(begun))
        return bool(before)

    with reporting(stop=stop), pytest.raises(Stopped):
        combined_mmd_test({"": halves(points(20_000, 3))}, permutations=400)
    assert len(begun) <= before[0] + 5  # of 79


def test_nested_runs_restore_the_thread_limits():
    limits = [info["num_threads"] for info in threads.controller().info() if info["user_api"] == "blas"]
    both_inside = threading.Barrier(2, timeout=20)

    def cancelled_midway(total):
        asked = count()

        def stop():
            times = next(asked)
            if times == 3:
                both_inside.wait()
            return times >= 3

        with reporting(stop=stop), pytest.raises(Stopped):
            mmd_test(*halves(points(total)), permutations=50)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(cancelled_midway, (1100, 1200)))
    assert not both_inside.broken
    assert [info["num_threads"] for info in threads.controller().info() if info["user_api"] == "blas"] == limits


EXIT = """
import sys, threading, time, numpy as np
from napari_shape_ensembles.mmd.two_sample import mmd_test
from napari_shape_ensembles.progress import reporting
z = np.random.default_rng(0).normal(size=(6000, 20))
{how}
"""


@pytest.mark.parametrize(
    "how",
    [
        "asked = []; reporting(stop=lambda: asked.append(1) or len(asked) > 8 and sys.exit()).__enter__(); "
        "mmd_test(z[:3000], z[3000:])",
        "threading.Thread(target=mmd_test, args=(z[:3000], z[3000:])).start(); time.sleep(0.3)",
        "threading.Thread(target=mmd_test, args=(z[:3000], z[3000:]), daemon=True).start(); time.sleep(0.3)",
    ],
    ids=["left", "thread", "daemon"],
)
def test_the_process_exits_cleanly_during_a_test(how):
    done = subprocess.run([sys.executable, "-c", EXIT.format(how=how)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("total", [2, 3, 4, 10, 101, 900])
def test_the_median_is_exact_with_and_without_the_bracket(total):
    for z in (points(total, 2), points(total, 2).round(), np.ones((total, 1)) * np.arange(total)[:, None] ** 4):
        expected = np.median(pdist(z))
        assert kernel.median_distance(z) == pytest.approx(expected if expected > 0 else 1.0, rel=1e-9)


def test_the_median_survives_a_misleading_bracket():
    values = np.tile([0.0, 1.0, 2.0, 3.0], 50_000)  # every probe hits the same number
    assert kernel.median_of(values) == pytest.approx((1 + np.sqrt(2)) / 2, rel=1e-12)


@pytest.fixture
def noisy(monkeypatch, single):
    """Make single precision a thousand times less accurate."""
    exact = permutations.quadratic_forms

    def forms(distances, bandwidths, fast, precise):
        one, other = exact(distances, bandwidths, fast, precise)
        noise = np.random.default_rng(fast.shape[0]).uniform(-1, 1, one.shape)
        return one + 0.02 * np.abs(one[:, :1]) * noise, other

    monkeypatch.setattr(permutations, "quadratic_forms", forms)


@pytest.mark.parametrize("seed", range(6))
def test_p_values_are_exact_even_if_single_precision_is_poor(noisy, double, seed):
    z = points(120, 3, seed, 0.1)
    parts = {"raw": halves(z), "cubes": halves(z**3), "coarse": halves(z.round())}
    one, other = combined_mmd_test(parts, seed=seed), double(combined_mmd_test, parts, seed=seed)
    assert np.abs(one.null - other.null).max() > 1e-4
    assert one.p_value == other.p_value
    assert [part.p_value for part in one.parts.values()] == [part.p_value for part in other.parts.values()]


def test_labelings_equivalent_to_the_observed_one_tie_exactly():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        kind = rng.permutation(np.repeat(np.arange(4), 4))  # four locations with four points each
        z = rng.normal(size=(4, 3))[kind]
        labels = permuted_labels(8, 16, 2000, seed)
        (statistics,) = permuted_statistics(Distances(z), labels, [0.8])
        drawn = labels.indicators(slice(None)) @ (kind[:, None] == np.arange(4))
        same = (drawn == drawn[0]).all(axis=1)
        assert (statistics.values[same] == statistics.values[0]).all()
        assert same.sum() > 10


@pytest.mark.parametrize("kind", ["gaussian", "energy", "mean"])
def test_permutations_of_bins_agree_with_a_direct_computation(kind):
    x, y = halves(points(431, 3, shift=0.3), 180)
    options = {"permutations": 60, "significance": 0.1, "seed": 5}
    test = combined_mmd_test({"": (x, y)}, kernels={"": kind}, bins=100, **options)
    alone = combined_mmd_test({"": (x, y)}, kernels={"": kind}, **options)
    assert (test.mmd, test.bandwidth) == pytest.approx((alone.mmd, alone.bandwidth), abs=1e-13)
    labels = permuted_labels(180, 431, 60, 5, 100)
    # 180 // 50 = 3 points in a bin: 60 bins of the first sample, and 83 bins and two remaining points of the second.
    assert labels.sizes.tolist() == [3] * 143 + [2]
    of_points = np.repeat(labels.indicators(slice(None)), labels.sizes, axis=1).astype(bool)
    assert (of_points.sum(axis=1) == 180).all()
    assert not of_points[:, -2:].any()
    assert sorted(labels.order[:180]) == list(range(180))
    z = np.concatenate([x, y])[labels.order]
    d, s = cdist(z, z), test.bandwidth
    k = {"gaussian": np.exp(-(d**2) / (2 * s**2)), "energy": -d / s, "mean": -(d**2) / (2 * s**2)}[kind]
    w = np.where(of_points, 1 / 180, -1 / 251)
    expected = np.sqrt(np.einsum("bi,ij,bj->b", w, k, w))
    np.testing.assert_allclose(np.append(test.mmd, test.null), expected, atol=1e-12)


def test_single_points_are_permuted_if_bins_do_not_help():
    assert permuted_labels(400, 1599, 10, 0, 400).sizes is None  # sums over bins would save nothing
    assert permuted_labels(60, 4000, 10, 0, 100).sizes is None  # fewer than 50 bins of the smaller sample
    assert permuted_labels(150, 6000, 10, 0, 100).sizes is None  # bins so small that there are too many
    assert len(permuted_labels(3000, 6000, 10, 0, 100).sizes) == 100


@pytest.mark.parametrize("arranged", ["at random", "in order"])
def test_the_level_holds_with_bins(arranged):
    rng, wrong = np.random.default_rng(1), 0
    for seed in range(200):
        z = rng.normal(size=(200, 2))
        if arranged == "in order":  # as for objects sorted by size
            halved = rng.permutation(200) < 100
            z = np.concatenate([z[halved][np.argsort(z[halved][:, 0])], z[~halved][np.argsort(z[~halved][:, 0])]])
        x, y = halves(z, 100 if arranged == "at random" else int(halved.sum()))
        test = combined_mmd_test(
            {"a": (x, y), "b": (x[:, 1:], y[:, 1:])},
            kernels={"b": "mean"}, bins=50, permutations=99, significance=0.1, seed=seed,
        )  # fmt: skip
        wrong += test.p_value <= 0.1
    assert 5 <= wrong <= 35  # 20 ± 3.7 standard deviations


def test_labelings_drawn_by_compiled_code_are_equally_likely():
    """Of 4 of 9 points, and of 60 of 70, whose first 6 hold all or all but one or two of the others in most cases."""
    counts = permuted_labels(4, 9, 30_000, 0).indicators(slice(5001, None)) @ (1 << np.arange(9))
    _, found = np.unique(counts, return_counts=True)
    assert len(found) == 126
    assert chi2.sf(((found - found.mean()) ** 2 / found.mean()).sum(), 125) > 0.001
    drawn = permuted_labels(60, 70, 30_000, 0).indicators(slice(5001, None))
    assert (drawn.sum(axis=1) == 60).all()
    share = drawn.mean(axis=0)
    assert np.abs(share - 6 / 7).max() < 5 * np.sqrt(6 / 49 / len(drawn))
    together = drawn.T.astype(float) @ drawn / len(drawn)
    assert np.abs(together[~np.eye(70, dtype=bool)] - 60 * 59 / (70 * 69)).max() < 0.015


@pytest.mark.parametrize(("first", "kind"), [(100, "energy"), (50, "gaussian")])
def test_very_many_permutations_have_the_p_value_of_the_whole_kernel(monkeypatch, first, kind):
    z = points(200, d=6, seed=4)
    z[:first] += 0.12
    z = np.concatenate([z, np.abs(z)], axis=1)
    parts = {"one": halves(z[:, :6], first), "other": halves(z[:, 6:], first)}
    monkeypatch.setattr(permutations, "SHUFFLED", 500)
    options = {"kernels": dict.fromkeys(parts, kind), "permutations": 4000}
    fast = combined_mmd_test(parts, **options)
    distances, labels = kernel.KERNELS[kind](z[:, :6]), permuted_labels(first, 200, 4000, 0)
    (quick,) = permuted_statistics(distances, labels, [3.0])
    monkeypatch.setattr(permutations, "MAX_FACTORIZED", 0)
    (exact,) = permuted_statistics(distances, labels, [3.0])
    assert not quick.exact.all()
    assert np.abs(quick.values - exact.values).max() <= quick.tolerance.max()
    assert quick.values[quick.exact] == pytest.approx(exact.values[quick.exact], rel=1e-9)
    whole = combined_mmd_test(parts, **options)
    assert fast.p_value == whole.p_value
    for name, part in whole.parts.items():
        assert fast.parts[name].p_value == part.p_value
