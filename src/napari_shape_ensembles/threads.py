"""Threads: how many the linear algebra may use, and work shared out over blocks.

Library threads that fork and join within a millisecond cost more than they give, and far more when the machine
is busy (a 0.1 s eigenproblem was seen to take 9 s). So the libraries get one thread, and long work is cut into
blocks that run side by side here.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")


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
        return list(pool.map(work, blocks))


def processors() -> int:
    """Number of processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1
