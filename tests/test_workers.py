"""Studies on executors, and learning from a memory map or on workers, give the results of a serial run in memory."""

import os
import sys
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from threading import Event, get_ident

import numpy as np
import psutil
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, decision_landscape
from napari_shape_ensembles.comparison import learning
from napari_shape_ensembles.comparison.learning import learn
from napari_shape_ensembles.progress import Stopped, over_blocks, report, reporting
from napari_shape_ensembles.studies.jobs import run_jobs

# Clean worker processes, of Dask as well; forked, if supported, from one that has imported the package.
METHOD = "spawn" if sys.platform == "win32" else "forkserver"
APART = get_context(METHOD)
APART.set_forkserver_preload(["napari_shape_ensembles.studies", "distributed"])

SETTINGS = Settings(permutations=99, significance=0.05)
GRID = {"ranks": [2, 8, 30], "landmarks": [24, 32, 40, 48, 60, 72]}


def pair():
    return Ensemble(list(blobs(25, 60, seed=1))), Ensemble(list(blobs(30, 60, seed=2, roughness=0.25)))


@pytest.fixture(scope="module")
def serial():
    return decision_landscape(*pair(), settings=SETTINGS, **GRID)


def assert_identical(landscape, expected):
    assert landscape.complete
    for test, other in zip(
        (landscape.undulation, landscape.scale, *landscape.parts.values()),
        (expected.undulation, expected.scale, *expected.parts.values()),
        strict=True,
    ):
        np.testing.assert_array_equal(test.mmd, other.mmd)
        np.testing.assert_array_equal(test.p_value, other.p_value)
        np.testing.assert_array_equal(test.threshold, other.threshold)
        np.testing.assert_array_equal(test.rejected, other.rejected)


@pytest.fixture(params=["threads", "processes"])
def pool(request):
    with ThreadPoolExecutor(3) if request.param == "threads" else ProcessPoolExecutor(2, mp_context=APART) as pool:
        yield pool


def test_pools_give_the_results_of_the_serial_run(pool, serial):
    assert_identical(decision_landscape(*pair(), settings=SETTINGS, executor=pool, **GRID), serial)


def counting(count):
    for number in range(count):
        report("counting", result=number)
    return count


def updates(job, items, executor=None):
    """Index and result of all reports about the items."""
    found = []
    run_jobs(job, items, lambda index, step: found.append((index, step.result)), executor)
    return found


def test_partial_results_are_reported_only_without_executor():
    assert updates(counting, [1, 2]) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    with ThreadPoolExecutor(1) as pool:
        assert sorted(updates(counting, [1, 2], pool)) == [(0, 1), (1, 2)]


def test_cancelling_drops_jobs_not_yet_started():
    started, left, taken = [], Event(), []

    def job(item):
        started.append(item)
        return item == 0 or left.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with reporting(stop=lambda: bool(taken)), pytest.raises(Stopped):
            run_jobs(job, range(50), lambda *found: taken.append(found), pool)
        assert started in ([0], [0, 1])  # cancelled while the second item is processed, not afterwards
        left.set()
    assert started in ([0], [0, 1])


def test_a_study_can_be_cancelled_while_workers_are_busy():
    at_work, left = Event(), Event()

    def job(item):
        at_work.set()
        return left.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with reporting(stop=at_work.is_set), pytest.raises(Stopped):
            run_jobs(job, [2], lambda *_: None, pool)
        assert not left.is_set()  # cancelled before the job ended
        left.set()


def test_errors_in_workers_are_raised_by_the_caller():
    a, _ = pair()
    collapsing = Settings(permutations=9, archetype=99)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="archetype 99"):
        decision_landscape(a, a, settings=collapsing, executor=pool, **GRID)


def dying_once(item):
    """Kill the worker process the first time a certain item is processed."""
    mark, number = item
    if number == 1 and not Path(mark).exists():
        Path(mark).touch()
        os._exit(1)
    return number * 10


def test_jobs_of_a_pool_that_breaks_are_done_locally(tmp_path):
    items = [(str(tmp_path / "died"), number) for number in range(5)]
    with ProcessPoolExecutor(1, mp_context=APART) as pool:
        found = dict(updates(dying_once, items, pool))
    assert found == {number: number * 10 for number in range(5)}
    assert Path(items[0][0]).exists()


def test_jobs_of_a_broken_pool_are_done_locally():
    with ProcessPoolExecutor(1, mp_context=APART) as pool:
        with pytest.raises(BrokenExecutor):
            pool.submit(os._exit, 1).result()
        assert dict(updates(counting, [3, 4], pool)) == {0: 3, 1: 4}


# Learning ------------------------------------------------------------------------------------------------------

LEARNING = Settings(landmarks=40, rank=12)


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
    settings = replace(LEARNING, **changes)
    loaded = (ensemble for ensemble in samples())  # one by one
    assert_same(learn(samples(), settings), learn(loaded, settings, scratch=tmp_path))
    assert not list(tmp_path.iterdir())


def test_few_curves_in_a_memory_map(tmp_path):
    assert_same(learn(samples(6), LEARNING), learn(samples(6), LEARNING, scratch=tmp_path))


# On Dask workers: one cluster for all, as starting it takes seconds -----------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """Dask client of a local cluster of two worker processes, without dashboard."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": METHOD}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("changes", CHOICES)
def test_workers_give_the_numbers_of_memory(cluster, small_chunks, changes):
    settings = replace(LEARNING, **changes)
    assert_same(learn(samples(), settings), learn(iter(samples()), settings, client=cluster))


def test_few_curves_on_workers(cluster):
    assert_same(learn(samples(6), LEARNING), learn(samples(6), LEARNING, client=cluster))


# Dask closes sockets and event loops of killed processes late.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_work_lost_with_a_worker_is_done_again(cluster, small_chunks):
    def kill_one(step):
        if step.name == "learning the shape space":
            psutil.Process(next(iter(cluster.run(os.getpid).values()))).kill()

    with reporting(kill_one):
        found = learn(samples(), LEARNING, client=cluster)
    assert_same(learn(samples(), LEARNING), found)


def test_a_job_on_a_cluster_uses_one_thread(cluster):
    def threads(_):
        return {get_ident(), *over_blocks(lambda _: get_ident(), range(9))}

    found = []
    run_jobs(threads, [1, 2], lambda _, step: found.append(step.result), cluster)
    assert [len(each) for each in found] == [1, 1]


# Dask closes sockets and event loops of killed processes late.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_that_loses_a_worker_gives_the_serial_results(cluster, serial):
    killed = []

    def kill_once(partial):
        if partial.done and not killed:
            assert partial.done < partial.total
            killed.append(kill_a_busy_worker(cluster))

    landscape = decision_landscape(*pair(), settings=SETTINGS, executor=cluster, progress=kill_once, **GRID)
    assert killed
    assert_identical(landscape, serial)


def kill_a_busy_worker(client):
    """Kill the worker process with most tasks to process, or else to transfer."""
    busy, held = client.processing(), client.has_what()
    address = max(busy, key=lambda one: (len(busy[one]), len(held.get(one, ()))))
    assert busy[address] or held[address]
    pid = client.run(os.getpid, workers=[address])[address]
    psutil.Process(pid).kill()
    return pid
