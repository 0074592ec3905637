"""Threads: how many the linear algebra may use, and work shared out over blocks.

Library threads that fork and join within a millisecond cost more than they give, and far more when the machine
is busy (a 0.1 s eigenproblem was seen to take 9 s). So the libraries get one thread, and long work is cut into
blocks that run side by side here.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")

# Asked before each block; set for one call at a time by whoever may want to stop it.
_stop_asked: ContextVar[Callable[[], bool] | None] = ContextVar("stop_asked", default=None)


class Stopped(Exception):  # noqa: N818 - not an error
    """Raised between two blocks of work that is no longer wanted."""


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Let `over_blocks` raise `Stopped` before the next block once `asked()` is true."""
    token = _stop_asked.set(asked)
    try:
        yield
    finally:
        _stop_asked.reset(token)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, so only once


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Keep linear algebra libraries to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def over_blocks(work: Callable[[Block], Result], blocks: Iterable[Block]) -> list[Result]:
    """Apply `work` to every block, on all processors this process may use; results in the blocks' order."""
    with one_library_thread(), ThreadPoolExecutor(processors()) as pool:
        return list(pool.map(_leavable(work), blocks))


def _leavable(work: Callable[[Block], Result]) -> Callable[[Block], Result]:
    """The same work, given up before the next block once that is asked for by `stoppable`."""
    asked = _stop_asked.get()

    def step(block: Block) -> Result:
        if asked is not None and asked():
            raise Stopped
        return work(block)

    return step


def processors() -> int:
    """Number of processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1
