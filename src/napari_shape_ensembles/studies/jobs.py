"""What studies have in common: many items of work, done here or by an executor.

A study is a list of items, and one function, the *job*, that turns an item into a result and reports what it knows on
the way. Without an executor the jobs run one after the other and all that they report is seen; with one they run
elsewhere, side by side, and each is seen when it is complete. The numbers are the same.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from functools import partial
from time import sleep
from typing import Any, TypeVar

from ..progress import Listener, Progress, leaver, one_processor, reporting

Item = TypeVar("Item")
Result = TypeVar("Result")
Job = Callable[[Item], Result]

# Seconds between two looks, while others work, whether the study is still wanted.
_PULSE = 0.1


def run_jobs(
    job: Job[Item, Result], items: Sequence[Item], take: Callable[[int, Progress], object], executor: Any | None = None
) -> None:
    """Do a job for every item, here or by an executor.

    Parameters
    ----------
    job : callable
        Item -> result. For processes and Dask a function of a module.
    items : sequence
    take : callable
        Called in this thread with the index of an item and a `Progress`: each that its job reports, and at its end
        one without a name that holds the result.
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        None runs here. Work lost with a worker is done again: Dask sends it to another worker, and what a
        broken process pool leaves behind is done here. When the study is stopped, or an error ends it, what has not
        started yet is taken back.
    """
    if executor is None:
        for index, item in enumerate(items):
            take(index, Progress("", result=_done_here(job, item, partial(take, index))))
        return
    if not isinstance(executor, Executor):
        if not hasattr(executor, "get_executor"):
            raise ValueError(
                "executor is None, a concurrent.futures executor or a dask.distributed.Client, not "
                f"{type(executor).__name__}"
            )
        _run_on_dask(job, items, take, executor)
        return
    leave = leaver()
    waiting = {_submitted(executor, job, item): index for index, item in enumerate(items)}
    try:
        while waiting:
            done, _ = wait(waiting, timeout=_PULSE, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=waiting.__getitem__):
                index = waiting.pop(future)
                try:
                    result = future.result()
                except BrokenExecutor:
                    result = _done_here(job, items[index], partial(take, index))
                take(index, Progress("", result=result))
            leave()
    finally:
        for future in waiting:
            future.cancel()


def _run_on_dask(
    job: Job[Item, Result], items: Sequence[Item], take: Callable[[int, Progress], object], client: Any
) -> None:
    """Do the jobs on a Dask cluster, and look at its own futures.

    Of those that it offers as futures of the standard library one can stay open for ever: that of a result which was
    lost with a worker before it was fetched, and is made again. Each job takes one of the threads of a worker, and no
    more: as many are at work there, and other workers on the same computer.
    """
    leave, job = leaver(), partial(done_alone, job)
    waiting = {client.submit(job, item, pure=False): index for index, item in enumerate(items)}
    try:
        while waiting:
            done = [future for future in waiting if future.status in ("finished", "error", "cancelled")]
            for future in sorted(done, key=waiting.__getitem__):
                index = waiting.pop(future)
                if future.status == "cancelled":  # with the scheduler's memory of it
                    waiting[client.submit(job, items[index], pure=False)] = index
                else:
                    take(index, Progress("", result=future.result()))
            leave()
            if not done:
                sleep(_PULSE)
    finally:
        for future in waiting:
            future.cancel()


def _done_here(job: Job[Item, Result], item: Item, listener: Listener) -> Result:
    with reporting(listener):
        return job(item)


def done_alone(job: Job[Item, Result], item: Item) -> Result:
    """Do a job by one processor, as others are at work beside it."""
    with one_processor():
        return job(item)


def _submitted(pool: Executor, job: Job[Item, Result], item: Item) -> Future[Result]:
    """Hand over an item; to a pool that broke meanwhile, as an item that is lost."""
    try:
        return pool.submit(job, item)
    except BrokenExecutor as error:
        lost: Future[Result] = Future()
        lost.set_exception(error)
        return lost
