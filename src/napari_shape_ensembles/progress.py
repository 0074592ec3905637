"""Progress of long functions, whether they should stop, and work shared out over blocks and threads.

A long function calls `report` at each of its steps and otherwise knows nothing of who called it. Who wants to hear of
the steps, or to stop the work, calls the function within `reporting`.

Library threads that fork and join within a millisecond cost more than they give, and far more when the machine
is busy (a 0.1 s eigenproblem was seen to take 9 s). So the libraries get one thread, and long work is cut into
blocks that run side by side here.
"""

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

#: Bytes of an array before which it is worth giving back what is free.
LARGE = 1 << 26

# Seconds: a rest that is longer is told, at most this often.
_LONG, _EVERY = 10.0, 1.0


@dataclass(frozen=True)
class Progress:
    """A step of a long function that is about to start.

    Attributes
    ----------
    name : str
        What is done next, in words.
    done, total : int
        How many steps of how many came before it; a total of 0 where their number is not known.
    result : object
        Of a study, all that is known so far; None otherwise.

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


Listener = Callable[[Progress], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_last: ContextVar[Progress | None] = ContextVar("last", default=None)
_stop_asked: ContextVar[Callable[[], bool] | None] = ContextVar("stop_asked", default=None)
_alone: ContextVar[bool] = ContextVar("alone", default=False)


class Stopped(Exception):  # noqa: N818 - not an error
    """Raised by work that is no longer wanted.

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
    """Hear of the steps of the functions called within, and stop them.

    Parameters
    ----------
    listener : callable, optional
        Called with each `Progress`, in the thread of the function; an exception that it raises ends the work. What it
        reports itself goes to the surrounding `reporting`. Left out, the surrounding one hears the steps.
    stop : callable, optional
        Asked at each step and before each block of work; once it returns True, `Stopped` is raised there. Left out,
        that of the surrounding `reporting` stays.

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
    outer = _listener.get()

    def hear(step: Progress) -> None:
        inner = _listener.set(outer)
        try:
            if listener is not None:
                listener(step)
        finally:
            _listener.reset(inner)

    heard = _listener.set(outer if listener is None else hear)
    stopping = _stop_asked.set(stop or _stop_asked.get())
    try:
        yield
    finally:
        _listener.reset(heard)
        _stop_asked.reset(stopping)


def report(name: str, done: int = 0, total: int = 0, result: Any = None) -> None:
    """Say which step starts, and how many of how many came before it.

    Raises
    ------
    Stopped
        When the work is no longer wanted.
    """
    leaver()()
    _last.set(Progress(name, done, total))
    listener = _listener.get()
    if listener is not None:
        listener(Progress(name, done, total, result))


def timed(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Hand out the blocks of a step, or their results, and say how long the rest takes once that is long.

    The last step is reported again with the time left in its name, as soon as the first of `count` blocks is done.
    """
    step, start = _last.get(), monotonic()
    told = -_EVERY
    for number, item in enumerate(items, start=1):
        yield item
        passed = monotonic() - start
        left = passed / number * (count - number)
        if step and left > _LONG and passed - told > _EVERY:
            told = passed
            report(f"{step.name}, {duration(left)} left", step.done, step.total)
            _last.set(step)


def duration(seconds: float) -> str:
    """A time in words, to one digit or two: "about 40 s"."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"


@contextmanager
def as_part(done: int, total: int, prefix: str = "") -> Iterator[None]:
    """Count the steps reported within as part of a longer row of steps.

    Parameters
    ----------
    done, total : int
        Steps of the whole before those reported within, and its steps in all.
    prefix : str
        Put before the name of each step.
    """
    with reporting(lambda step: report(f"{prefix}{step.name}", done + step.done, total, step.result)):
        yield


#: What limits the threads of linear algebra libraries; it looks through all that are loaded, so only once.
controller = cache(ThreadpoolController)


class _Limit:
    """The limit of the libraries: set and lifted by one thread, as another could not lift it, and of use to all."""

    def __init__(self) -> None:
        self.lock, self.limiter = Lock(), ExitStack()
        self.owner, self.depth = 0, 0


_limit = _Limit()


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Keep linear algebra libraries to one thread; runs side by side may overlap in it.

    A thread that still needs the limit when it is lifted sets it again with its next work.
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
    """Apply `work` to every block, on all processors this process may use; results in the blocks' order."""
    return list(each_block(work, blocks))


def each_block(work: Callable[[Block], Result], blocks: Iterable[Block]) -> Iterator[Result]:
    """As `over_blocks`, but hand out each result as it is ready; closing the iterator drops what has not begun.

    At most two blocks per processor are under way at a time, so results that nobody fetched do not pile up.
    """
    leave = leaver()  # of this thread; the work goes on in others

    def step(block: Block) -> Result:
        leave()
        return work(block)

    blocks = list(blocks)
    with one_library_thread():
        if len(blocks) < 2 or processors() == 1:  # not worth a thread
            yield from timed(map(step, blocks), len(blocks))
            return
        yield from timed(_side_by_side(step, blocks), len(blocks))


# Pools of threads that are not in use, by their size: to start threads takes longer than a small block of work. Blocks
# that share out work themselves take another pool, whose threads do not wait for them.
_idle: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)


def _end_idle() -> None:
    """End the threads of pools that are not in use: a process that forks is to have none but its own."""
    while _idle:
        for pool in _idle.popitem()[1]:
            pool.shutdown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_end_idle)


def _side_by_side(work: Callable[[Block], Result], blocks: list[Block]) -> Iterator[Result]:
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
    finally:
        wait([future for future in waiting if not future.cancel()])
        _idle[threads].append(pool)


def leaver() -> Callable[[], None]:
    """Return what raises `Stopped` once that is asked for.

    For long blocks of work to call now and then, in whatever thread: only the thread that asks here knows of it.
    """
    asked = _stop_asked.get()

    def leave() -> None:
        if asked is not None and asked():
            raise Stopped

    return leave


def give_back() -> None:
    """Return memory that is free to the system, before a large array takes more; nothing where the C library cannot.

    glibc keeps up to 64 MiB of what each thread has freed, and does not hand it out for large arrays.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def one_processor() -> Iterator[None]:
    """Do all blocks within in this thread: others work beside it, in threads or processes of their own."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def processors() -> int:
    """Number of processors this thread may use."""
    if _alone.get():
        return 1
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1
