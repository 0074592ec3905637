"""What studies have in common: partial results as they come, and work handed to an executor.

A study is a list of items, and one generator function, the *job*, that turns an item into results, each more
complete than the one before. Without an executor the jobs run one after the other and every partial result is seen;
with one they run elsewhere, side by side, and each is seen when it is complete. The numbers are the same.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Job = Callable[[Item], Iterator[Result]]

# Seconds between two signs of life while others work, so that a run can be cancelled.
_PULSE = 0.1


@dataclass(frozen=True, eq=False)
class Partial(Generic[Result]):
    """Where a study stands.

    Attributes
    ----------
    name : str
        What is being done.
    done, total : int
        Parts finished, and parts in all.
    result : DecisionLandscape, SmoothingStudy or PairTable
        All that is known so far.
    """

    name: str
    done: int
    total: int
    result: Result


def finished(
    steps: Generator[Partial[Result], None, Result], progress: Callable[[Partial[Result]], None] | None
) -> Result:
    """Run a study to its end, reporting every partial result."""
    while True:
        try:
            partial = next(steps)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        if progress is not None:
            progress(partial)


def run_jobs(
    job: Job[Item, Result], items: Sequence[Item], executor: Any | None = None
) -> Iterator[tuple[int, Result] | None]:
    """Do a job for every item, here or by an executor.

    Parameters
    ----------
    job : callable
        Item -> iterator of results, the last one complete. For processes and Dask a function of a module.
    items : sequence
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        None runs here. Work lost with a worker is done again: Dask sends it to another worker, and what a
        broken process pool leaves behind is done here.

    Yields
    ------
    (index, result)
        Of an item, whenever there is more of it; None as a sign of life while others work. Closing the
        generator takes back what has not started yet.
    """
    if executor is None:
        for index, item in enumerate(items):
            for result in job(item):
                yield index, result
        return
    pool = _as_executor(executor)
    waiting = {_submitted(pool, job, item): index for index, item in enumerate(items)}
    try:
        while waiting:
            done, _ = wait(waiting, timeout=_PULSE, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=waiting.__getitem__):
                index = waiting.pop(future)
                yield index, _result(future, job, items[index])
            yield None
    finally:
        for future in waiting:
            future.cancel()


def _as_executor(executor: Any) -> Executor:
    """A Dask client offers itself as an executor of the standard library."""
    if isinstance(executor, Executor):
        return executor
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False)
    raise ValueError(
        f"executor is None, a concurrent.futures executor or a dask.distributed.Client, not {type(executor).__name__}"
    )


def _submitted(pool: Executor, job: Job[Item, Result], item: Item) -> Future[Result]:
    """Hand over an item; to a pool that broke meanwhile, as an item that is lost."""
    try:
        return pool.submit(_last, job, item)
    except BrokenExecutor as error:
        lost: Future[Result] = Future()
        lost.set_exception(error)
        return lost


def _last(job: Job[Item, Result], item: Item) -> Result:
    return deque(job(item), maxlen=1)[0]


def _result(future: Future[Result], job: Job[Item, Result], item: Item) -> Result:
    try:
        return future.result()
    except BrokenExecutor:
        return _last(job, item)
