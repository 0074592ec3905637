"""Progress reports, cancellation, and parallel processing of blocks in threads.

A long function calls `report` at each step and is otherwise independent of its caller. To receive the steps,
or to cancel the work, call the function within `reporting`.

Multithreaded library calls that take about a millisecond are slower than single-threaded ones, and far slower when the
machine is busy (a 0.1 s eigenproblem was seen to take 9 s). Therefore the libraries are limited to one thread, and long
work is split into blocks that run in parallel here.
"""

from __future__ import annotations

import ctypes
import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass
from functools import cache
from threading import Lock, get_ident
from time import monotonic
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")
Item = TypeVar("Item")

#: Minimum array size in bytes for which free memory is returned to the system first.
RELEASE_FROM_BYTES = 1 << 26

# Minimum remaining time in seconds that is reported, and minimum interval between such reports.
_MIN_REMAINING_S, _REPORT_INTERVAL_S = 10.0, 1.0


@dataclass(frozen=True)
class Progress:
    """A step of a long function, reported when it starts.

    Attributes
    ----------
    name : str
        Description of the step.
    done, total : int
        Number of completed steps, and of all steps; a total of 0 means unknown.
    result : object
        Intermediate result of a study; None otherwise.

    Examples
    --------
    >>> from napari_shape_ensembles import Progress
    >>> Progress("testing scale", done=3, total=5)
    Progress(name='testing scale', done=3, total=5, result=None)
    """

    name: str
    done: int = 0
    total: int = 0
    result: Any = None

    @property
    def text(self) -> str:
        """The step for display: "Testing scale …"."""
        first = self.name[:1]  # do not capitalize a σ
        return f"{first.upper() if first.isascii() else first}{self.name[1:]} …"


Listener = Callable[[Progress], object]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())  # the innermost last
_last: ContextVar[Progress | None] = ContextVar("last", default=None)  # as reported to the innermost listener
_stop_requested: ContextVar[Callable[[], bool] | None] = ContextVar("stop_asked", default=None)
_alone: ContextVar[bool] = ContextVar("alone", default=False)


class Stopped(Exception):  # noqa: N818 - not an error
    """Raised by work that was cancelled.

    Examples
    --------
    >>> from napari_shape_ensembles import Ensemble, Stopped, compare, reporting
    >>> square = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]])
    >>> try:
    ...     with reporting(stop=lambda: True):
    ...         compare(square, square)
    ... except Stopped:
    ...     print("stopped")
    stopped
    """


@contextmanager
def reporting(listener: Listener | None = None, stop: Callable[[], bool] | None = None) -> Iterator[None]:
    """Receive the progress of functions called within the context, and cancel them.

    Parameters
    ----------
    listener : callable, optional
        Called with each `Progress`, in the thread of the function; an exception that it raises aborts the computation.
        Steps that the listener itself reports go to the enclosing `reporting`. By default the listener of the enclosing
        one.
    stop : callable, optional
        Called at each step and before each block of work; once it returns True, `Stopped` is raised there. By default
        that of the enclosing `reporting`.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, reporting, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> with reporting(lambda step: print(step.name)):
    ...     result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    placing landmarks
    choosing the archetype
    registering scales
    registering undulations
    learning the shape space
    testing undulation
    testing scale
    """
    listeners = _listeners.get()
    listening = _listeners.set(listeners if listener is None else (*listeners, listener))
    stopping = _stop_requested.set(stop or _stop_requested.get())
    before = _last.set(_last.get() if listener is None else None)
    try:
        yield
    finally:
        _last.reset(before)
        _listeners.reset(listening)
        _stop_requested.reset(stopping)


def report(name: str, done: int = 0, total: int = 0, result: Any = None) -> None:
    """Report the start of a step, with the number of completed steps and of all steps.

    Raises
    ------
    Stopped
        If the work was cancelled.
    """
    cancellation_check()()
    if listeners := _listeners.get():
        enclosing = _listeners.set(listeners[:-1])  # hear the steps that the listener itself reports
        try:
            listeners[-1](Progress(name, done, total, result))
        finally:
            _listeners.reset(enclosing)
    _last.set(Progress(name, done, total))  # not before: the listener itself may report


@contextmanager
def waiting_for(words: str) -> Iterator[None]:
    """Report the current step with what it waits for within the context, and then without."""
    step = _last.get() or Progress("")
    report(f"{step.name}, {words}" if step.name else words, step.done, step.total)
    yield
    if step.name:
        report(step.name, step.done, step.total)


def timed(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield the blocks of a step, or their results, and report the remaining time if it is long.

    The last step is reported again with the remaining time appended to its name, once the first of `count` blocks is
    done.
    """
    step, start = _last.get(), monotonic()
    told = -_REPORT_INTERVAL_S
    for number, item in enumerate(items, start=1):
        yield item
        passed = monotonic() - start
        left = passed / number * (count - number)
        if step and left > _MIN_REMAINING_S and passed - told > _REPORT_INTERVAL_S:
            told = passed
            report(f"{step.name}, {duration(left)} left", step.done, step.total)
            _last.set(step)


def duration(seconds: float) -> str:
    """Format a duration with one or two digits: "about 40 s"."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"


@contextmanager
def as_part(done: int, total: int, prefix: str = "") -> Iterator[None]:
    """Report the steps within the context as part of a longer sequence of steps.

    Parameters
    ----------
    done, total : int
        Number of steps completed before those within, and of all steps.
    prefix : str
        Prefix for the name of each step.
    """
    with reporting(lambda step: report(f"{prefix}{step.name}", done + step.done, total, step.result)):
        yield


#: Controls the threads of linear algebra libraries; cached, as it inspects all loaded libraries.
controller = cache(ThreadpoolController)


class _Limit:
    """Shared thread limit of the libraries: it must be set and lifted by the same thread, but affects all."""

    def __init__(self) -> None:
        self.lock, self.limiter = Lock(), ExitStack()
        self.owner, self.depth = 0, 0


_limit = _Limit()


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Limit linear algebra libraries to one thread; may be entered concurrently.

    A thread that still needs the limit when another lifts it sets it again with its next block of work.
    """
    with _limit.lock:
        if not _limit.depth:
            _limit.limiter.enter_context(controller().limit(limits=1, user_api="blas"))
            _limit.owner = get_ident()
        _limit.depth += _limit.owner == get_ident()
    try:
        yield
    finally:
        with _limit.lock:
            if _limit.depth and _limit.owner == get_ident():
                _limit.depth -= 1
                if not _limit.depth:
                    _limit.limiter.close()


def over_blocks(work: Callable[[Block], Result], blocks: Iterable[Block]) -> list[Result]:
    """Apply `work` to every block in parallel; returns the results in the order of the blocks."""
    return list(each_block(work, blocks))


def each_block(work: Callable[[Block], Result], blocks: Iterable[Block]) -> Iterator[Result]:
    """Lazy variant of `over_blocks`, yielding each result as it is ready; closing it cancels pending blocks.

    At most two blocks per processor are in progress at a time, so that unconsumed results do not accumulate.
    """
    stop = _stop_requested.get()

    def step(block: Block) -> Result:
        _stop_requested.set(stop)  # in the thread of this block, so that the steps and blocks in it stop, too
        cancellation_check()()
        return work(block)

    blocks = list(blocks)
    with one_library_thread():
        if len(blocks) < 2 or processors() == 1:  # not worth a thread
            yield from timed(map(step, blocks), len(blocks))
            return
        yield from timed(_in_parallel(step, blocks), len(blocks))


# Idle thread pools by size: starting threads takes longer than a small block of work. Blocks that are themselves
# parallel take another pool, which avoids deadlocks.
_idle: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)


def _shut_down_idle_pools() -> None:
    """Shut down idle thread pools before a fork: the child process must not inherit them."""
    while _idle:
        for pool in _idle.popitem()[1]:
            pool.shutdown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_shut_down_idle_pools)


def _in_parallel(work: Callable[[Block], Result], blocks: list[Block]) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    threads = processors()
    try:
        pool = _idle[threads].pop()
    except IndexError:
        pool = ThreadPoolExecutor(threads)
    try:
        for block in blocks:
            waiting.append(pool.submit(Context().run, work, block))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except RuntimeError as error:
        if "shutdown" not in str(error):  # of the interpreter, or of a pool that it has shut down
            raise
        raise SystemExit from None  # ends a daemon thread without a traceback, whose output would abort the exit
    finally:
        wait([future for future in waiting if not future.cancel()])
        _idle[threads].append(pool)


def cancellation_check() -> Callable[[], None]:
    """Return a function that raises `Stopped` once cancellation is requested.

    Long blocks of work should call it regularly, from any thread; `cancellation_check` itself must be called in the
    requesting context.
    """
    asked = _stop_requested.get()

    def leave() -> None:
        if asked is not None and asked():
            raise Stopped

    return leave


def release_memory() -> None:
    """Return free memory to the system before a large allocation, if the C library supports it.

    glibc retains up to 64 MiB of memory freed by each thread, and does not reuse it for large arrays.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def one_processor() -> Iterator[None]:
    """Process all blocks within the context in the current thread, as other work runs in parallel."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def processors() -> int:
    """Return the number of processors available to this thread."""
    if _alone.get():
        return 1
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1
