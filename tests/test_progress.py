"""Progress: who hears of a step, how steps are counted within a longer row, and how work is stopped."""

import os
import threading
from contextvars import ContextVar

import numpy as np
import pytest

from napari_shape_ensembles import progress
from napari_shape_ensembles.progress import (
    Progress,
    Stopped,
    as_part,
    cancellation_check,
    duration,
    one_processor,
    over_blocks,
    processors,
    release_memory,
    report_progress,
    reporting,
    timed,
)


def test_without_a_listener_nothing_happens():
    report_progress("alone")
    cancellation_check()()


def test_the_innermost_listener_hears_a_step_and_what_it_reports_goes_outwards():
    outer = []
    with reporting(outer.append), reporting(lambda step: report_progress(f"{step.name}, retold", step.done, 5)):
        report_progress("inside", 2, 3)
    assert outer == [Progress("inside, retold", 2, 5)]
    report_progress("outside")
    assert len(outer) == 1


def test_a_listener_left_out_leaves_the_one_around_it():
    heard = []
    with reporting(heard.append), reporting(None):
        report_progress("step")
    assert heard == [Progress("step")]


def test_steps_are_counted_as_part_of_a_longer_row_with_their_results():
    heard, result = [], object()
    with reporting(heard.append), as_part(3, 10, "first: "), as_part(1, 4):
        report_progress("step", 1, 2, result)
    assert heard == [Progress("first: step", 5, 10, result)]


def test_work_is_stopped_at_its_next_step_and_not_told_of():
    heard = []

    def work():
        for number in range(9):
            report_progress(str(number))

    with reporting(heard.append, stop=lambda: len(heard) == 2), pytest.raises(Stopped):
        work()
    assert [step.name for step in heard] == ["0", "1"]


def test_blocks_that_have_not_begun_are_dropped_once_work_is_stopped():
    done = []
    with reporting(stop=lambda: len(done) >= 5), pytest.raises(Stopped):
        over_blocks(done.append, range(1000))
    assert len(done) < 50


def test_an_error_of_a_listener_ends_the_work_and_the_listening():
    def refuse(step):
        raise KeyError(step.name)

    with pytest.raises(KeyError, match="step"), reporting(refuse):
        report_progress("step")
    report_progress("nobody hears this")


def test_the_time_that_is_left_is_told_once_the_first_block_is_done(monkeypatch):
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr("napari_shape_ensembles.progress.monotonic", lambda: next(clock))
    heard = []
    with reporting(heard.append):
        report_progress("testing scale", 6, 7)
        assert list(timed("abcd", 4)) == list("abcd")
    assert [step.name for step in heard] == [
        "testing scale", "testing scale, about 2 min left", "testing scale, about 2 min left",
        "testing scale, about 50 s left",
    ]  # fmt: skip
    assert {(step.done, step.total) for step in heard} == {(6, 7)}


def test_short_work_tells_nothing_of_the_time():
    heard = []
    with reporting(heard.append):
        report_progress("testing scale")
        over_blocks(str, range(20))
    assert [step.name for step in heard] == ["testing scale"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(12, "12 s"), (89, "89 s"), (200, "3 min"), (7200, "2 h"), (432_000, "5 days")]
)
def test_times_are_said_in_words(seconds, words):
    assert duration(seconds) == f"about {words}"


def together(size):
    """Work whose blocks wait for each other, so that each has a thread of its own, and the name of that."""
    met = threading.Barrier(size, timeout=20)
    return lambda _: met.wait() is not None and threading.get_ident()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX only")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # of threads that others started
def test_threads_serve_again_and_have_ended_where_a_process_forks(monkeypatch):
    monkeypatch.setattr(progress, "processors", lambda: 3)
    used, again = (set(over_blocks(together(3), range(3))) for _ in range(2))
    assert len(used) == 3
    assert again == used
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert not used & {thread.ident for thread in threading.enumerate()}
    assert over_blocks(lambda number: -number, range(4)) == [0, -1, -2, -3]


def test_blocks_share_out_work_themselves_and_leave_nothing_behind(monkeypatch):
    monkeypatch.setattr(progress, "processors", lambda: 2)
    found = over_blocks(lambda row: over_blocks(lambda column: (row, column), range(3)), range(5))
    assert found == [[(row, column) for column in range(3)] for row in range(5)]
    mark = ContextVar("mark", default=None)
    over_blocks(lambda number: mark.set(number), range(5))
    assert over_blocks(lambda _: mark.get(), range(5)) == [None] * 5


def test_one_processor_is_enough_for_all_blocks_where_others_are_at_work(monkeypatch):
    def inner(_):
        return over_blocks(lambda _: threading.get_ident(), range(3))

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    with one_processor():
        assert np.unique(over_blocks(inner, range(3))).tolist() == [threading.get_ident()]
        with one_processor():
            assert processors() == 1
        assert processors() == 1
    assert len(set(over_blocks(together(2), range(2)))) == 2


def test_where_the_c_library_gives_no_memory_back_nothing_happens(monkeypatch):
    release_memory()
    monkeypatch.setattr(progress.ctypes, "CDLL", lambda name: object())
    release_memory()
