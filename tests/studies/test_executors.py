"""Studies elsewhere: in threads, in processes and on Dask, with the numbers of the serial run."""

import os
import sys
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Event, get_ident

import numpy as np
import psutil
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, decision_landscape
from napari_shape_ensembles.progress import Stopped, over_blocks, report_progress, reporting
from napari_shape_ensembles.studies.jobs import run_jobs

# New processes, which know nothing of this one: where that can be, forked from one that has imported the package.
APART = get_context("spawn" if sys.platform == "win32" else "forkserver")
APART.set_forkserver_preload(["napari_shape_ensembles.studies"])

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


def test_pools_give_the_numbers_of_the_serial_run(pool, serial):
    assert_identical(decision_landscape(*pair(), settings=SETTINGS, executor=pool, **GRID), serial)


def counting(count):
    for number in range(count):
        report_progress("counting", result=number)
    return count


def updates(job, items, executor=None):
    """Index and result of all that is told of the items."""
    found = []
    run_jobs(job, items, lambda index, step: found.append((index, step.result)), executor)
    return found


def test_without_an_executor_every_partial_result_is_seen_and_with_one_the_last():
    assert updates(counting, [1, 2]) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    with ThreadPoolExecutor(1) as pool:
        assert sorted(updates(counting, [1, 2], pool)) == [(0, 1), (1, 2)]


def test_leaving_takes_back_what_has_not_started():
    started, left, taken = [], Event(), []

    def job(item):
        started.append(item)
        return item == 0 or left.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with reporting(stop=lambda: bool(taken)), pytest.raises(Stopped):
            run_jobs(job, range(50), lambda *found: taken.append(found), pool)
        assert started in ([0], [0, 1])  # left while the second is at work, not after it
        left.set()
    assert started in ([0], [0, 1])


def test_a_study_can_be_left_while_others_work():
    at_work, left = Event(), Event()

    def job(item):
        at_work.set()
        return left.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with reporting(stop=at_work.is_set), pytest.raises(Stopped):
            run_jobs(job, [2], lambda *_: None, pool)
        assert not left.is_set()  # it was left before the job ended
        left.set()


def test_an_error_elsewhere_is_raised_here():
    a, _ = pair()
    collapsing = Settings(permutations=9, archetype=99)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="archetype 99"):
        decision_landscape(a, a, settings=collapsing, executor=pool, **GRID)


def dying_once(item):
    """Take the whole process down, the first time a certain item is worked on."""
    mark, number = item
    if number == 1 and not Path(mark).exists():
        Path(mark).touch()
        os._exit(1)
    return number * 10


def test_what_a_broken_pool_leaves_behind_is_done_here(tmp_path):
    items = [(str(tmp_path / "died"), number) for number in range(5)]
    with ProcessPoolExecutor(1, mp_context=APART) as pool:
        found = dict(updates(dying_once, items, pool))
    assert found == {number: number * 10 for number in range(5)}
    assert Path(items[0][0]).exists()


def test_a_pool_that_is_broken_already_leaves_everything_to_be_done_here():
    with ProcessPoolExecutor(1, mp_context=APART) as pool:
        with pytest.raises(BrokenExecutor):
            pool.submit(os._exit, 1).result()
        assert dict(updates(counting, [3, 4], pool)) == {0: 3, 1: 4}


def test_a_job_on_a_cluster_takes_one_thread_of_its_worker(cluster):
    def threads(_):
        return {get_ident(), *over_blocks(lambda _: get_ident(), range(9))}

    found = []
    run_jobs(threads, [1, 2], lambda _, step: found.append(step.result), cluster)
    assert [len(each) for each in found] == [1, 1]


# Dask's own: sockets and loops of killed processes are closed late.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_that_loses_a_worker_half_way_gives_the_numbers_of_the_serial_run(cluster, serial):
    killed = []

    def kill_once(partial):
        if partial.done and not killed:
            assert partial.done < partial.total
            killed.append(kill_a_busy_worker(cluster))

    landscape = decision_landscape(*pair(), settings=SETTINGS, executor=cluster, progress=kill_once, **GRID)
    assert killed
    assert_identical(landscape, serial)


def kill_a_busy_worker(client):
    """End the process of the worker that has most to do, or else to hand over, the hard way."""
    busy, held = client.processing(), client.has_what()
    address = max(busy, key=lambda one: (len(busy[one]), len(held.get(one, ()))))
    assert busy[address] or held[address]
    pid = client.run(os.getpid, workers=[address])[address]
    psutil.Process(pid).kill()
    return pid
