"""Progress reports: who receives a step, how nested steps are counted, and how work is cancelled."""

import os
import threading
from contextvars import ContextVar
from types import SimpleNamespace

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
    report,
    reporting,
    timed,
)


def test_without_a_listener_nothing_happens():
    report("alone")
    cancellation_check()()


def test_the_innermost_listener_receives_a_step_and_may_pass_it_on():
    outer = []
    with reporting(outer.append), reporting(lambda step: report(f"{step.name}, retold", step.done, 5)):
        report("inside", 2, 3)
    assert outer == [Progress("inside, retold", 2, 5)]
    report("outside")
    assert len(outer) == 1


def test_without_a_new_listener_the_outer_one_remains():
    heard = []
    with reporting(heard.append), reporting(None):
        report("step")
    assert heard == [Progress("step")]


def test_nested_steps_count_as_part_of_the_outer_steps():
    heard, result = [], object()
    with reporting(heard.append), as_part(3, 10, "first: "), as_part(1, 4):
        report("step", 1, 2, result)
    assert heard == [Progress("first: step", 5, 10, result)]


def test_cancelled_work_stops_at_its_next_step():
    heard = []

    def work():
        for number in range(9):
            report(str(number))

    with reporting(heard.append, stop=lambda: len(heard) == 2), pytest.raises(Stopped):
        work()
    assert [step.name for step in heard] == ["0", "1"]


def test_blocks_not_yet_started_are_dropped_on_cancel():
    done = []
    with reporting(stop=lambda: len(done) >= 5), pytest.raises(Stopped):
        over_blocks(done.append, range(1000))
    assert len(done) < 50


def test_a_block_in_another_thread_stops_at_its_next_step(monkeypatch):
    monkeypatch.setattr(progress, "processors", lambda: 2)
    begun, ended = [], []

    def block(number):
        begun.append(number)
        report("step")
        ended.append(number)

    with reporting(stop=lambda: len(begun) > 0), pytest.raises(Stopped):
        over_blocks(block, range(9))
    assert not ended


def test_an_error_in_a_listener_ends_the_work():
    def refuse(step):
        raise KeyError(step.name)

    with pytest.raises(KeyError, match="step"), reporting(refuse):
        report("step")
    report("nobody hears this")


def test_remaining_time_is_reported_after_the_first_block(monkeypatch):
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr("napari_shape_ensembles.progress.monotonic", lambda: next(clock))
    heard = []
    with reporting(heard.append):
        report("testing scale", 6, 7)
        assert list(timed("abcd", 4)) == list("abcd")
    assert [step.name for step in heard] == [
        "testing scale", "testing scale, about 2 min left", "testing scale, about 2 min left",
        "testing scale, about 50 s left",
    ]  # fmt: skip
    assert {(step.done, step.total) for step in heard} == {(6, 7)}


def test_the_remaining_time_of_a_part_has_one_prefix_and_keeps_its_place(monkeypatch):
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr("napari_shape_ensembles.progress.monotonic", lambda: next(clock))
    heard = []
    with reporting(heard.append):
        report("smoothing", 0, 20)
        with as_part(5, 20, "smoothing 0 px: "), as_part(2, 7, "B: "):
            assert list(timed("ab", 2)) == ["a", "b"]  # before the part has said what it does
            report("testing undulation", 1, 3)
            assert list(timed("abcd", 4)) == list("abcd")
        assert list(timed("ab", 2)) == ["a", "b"]
    name = "smoothing 0 px: B: testing undulation"
    assert heard == [
        Progress("smoothing", 0, 20),
        *(Progress(f"{name}{left}", 8, 20) for left in ("", *(f", about {s} s left" for s in (60, 40, 20)))),
        Progress("smoothing, about 20 s left", 0, 20),
    ]


def test_short_work_reports_no_remaining_time():
    heard = []
    with reporting(heard.append):
        report("testing scale")
        over_blocks(str, range(20))
    assert [step.name for step in heard] == ["testing scale"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(12, "12 s"), (89, "89 s"), (200, "3 min"), (7200, "2 h"), (432_000, "5 days")]
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == f"about {words}"


def barrier_blocks(size):
    """Return a function whose blocks wait for each other, so that each runs in its own thread; returns the thread."""
    met = threading.Barrier(size, timeout=20)
    return lambda _: met.wait() is not None and threading.get_ident()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX only")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # of threads started elsewhere
def test_threads_are_reused_and_end_before_a_fork(monkeypatch):
    monkeypatch.setattr(progress, "processors", lambda: 3)
    used, again = (set(over_blocks(barrier_blocks(3), range(3))) for _ in range(2))
    assert len(used) == 3
    assert again == used
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert not used & {thread.ident for thread in threading.enumerate()}
    assert over_blocks(lambda number: -number, range(4)) == [0, -1, -2, -3]


def test_nested_blocks_and_isolated_context_variables(monkeypatch):
    monkeypatch.setattr(progress, "processors", lambda: 2)
    found = over_blocks(lambda row: over_blocks(lambda column: (row, column), range(3)), range(5))
    assert found == [[(row, column) for column in range(3)] for row in range(5)]
    mark = ContextVar("mark", default=None)
    over_blocks(lambda number: mark.set(number), range(5))
    assert over_blocks(lambda _: mark.get(), range(5)) == [None] * 5


def test_one_processor_runs_all_blocks_in_one_thread(monkeypatch):
    def inner(_):
        return over_blocks(lambda _: threading.get_ident(), range(3))

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    with one_processor():
        assert np.unique(over_blocks(inner, range(3))).tolist() == [threading.get_ident()]
        with one_processor():
            assert processors() == 1
        assert processors() == 1
    assert len(set(over_blocks(barrier_blocks(2), range(2)))) == 2


def test_memory_is_released_if_the_c_library_supports_it(monkeypatch):
    trimmed = []
    monkeypatch.setattr(progress.ctypes, "CDLL", lambda name: SimpleNamespace(malloc_trim=trimmed.append))
    release_memory()
    assert trimmed == [0]
    monkeypatch.setattr(progress.ctypes, "CDLL", lambda name: object())
    release_memory()
    assert trimmed == [0]
