"""Execution of studies: a comparison again with each of several changes, here or by an executor.

A study is a list of changes, and one function, the *job*, that turns a change into a result and reports progress.
Without an executor the jobs run sequentially and all their reports are passed on; with one they run in parallel, and
each is reported when it is complete. The numbers are the same.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from functools import partial
from time import sleep
from typing import Any, Protocol, TypeVar

from ..progress import Listener, Progress, cancellation_check, one_processor, report, reporting

Item = TypeVar("Item")
Result = TypeVar("Result")
Job = Callable[[Item], Result]

# Seconds between two checks for cancellation while workers are busy.
_POLL_S = 0.1


class Study(Protocol):
    """A study that may be incomplete."""

    @property
    def counts(self) -> tuple[int, int]:
        """Number of results so far, and of all results."""


AnyStudy = TypeVar("AnyStudy", bound=Study)


def run_study(
    job: Job[Item, Result],
    changes: Mapping[str, Item],
    study_of: Callable[[Sequence[Result | None]], AnyStudy],
    executor: Any | None = None,
    progress: Listener | None = None,
) -> AnyStudy:
    """Run a job for every change, and collect the results in a study.

    Keys of `changes` are what progress reports say of them. `study_of` makes a study of the results so far, None where
    there is none, which is also the `result` of each `Progress`. Partial results that a job reports are collected, too.
    """
    names = list(changes)
    results: list[Result | None] = [None] * len(names)

    def on_progress(index: int, step: Progress) -> None:
        if step.result is not None:
            results[index] = step.result
        study = study_of(results)
        report(f"{names[index]}: {step.name or 'done'}", *study.counts, study)

    with reporting(progress):
        run_jobs(job, list(changes.values()), on_progress, executor)
    return study_of(results)


def run_jobs(
    job: Job[Item, Result],
    items: Sequence[Item],
    on_progress: Callable[[int, Progress], object],
    executor: Any | None = None,
) -> None:
    """Run a job for every item, here or by an executor.

    Parameters
    ----------
    job : callable
        Item -> result. For processes and Dask, a module-level function.
    items : sequence
    on_progress : callable
        Called in this thread with the index of an item and a `Progress`: each one that its job reports, and finally one
        without a name that holds the result.
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        None runs here. Work lost with a worker is repeated: Dask resubmits it to another worker, and the remaining
        items of a broken process pool are processed here. When the study is stopped, or fails, items not yet started
        are cancelled.
    """
    if executor is None:
        for index, item in enumerate(items):
            on_progress(index, Progress("", result=_run_here(job, item, partial(on_progress, index))))
        return
    if not isinstance(executor, Executor):
        if not hasattr(executor, "get_executor"):
            raise ValueError(
                "executor must be None, a concurrent.futures executor or a dask.distributed.Client, not "
                f"{type(executor).__name__}"
            )
        # Each job uses only one thread of a worker, as others run there in parallel, and on the same computer.
        submit = partial(executor.submit, partial(run_on_one_processor, job), pure=False)
        finished = _finished_on_dask
    else:
        submit, finished = partial(_submitted, executor, job), _finished
    leave, waiting = cancellation_check(), {submit(item): index for index, item in enumerate(items)}
    try:
        while waiting:
            for future in sorted(finished(waiting), key=waiting.__getitem__):
                index = waiting.pop(future)
                if getattr(future, "status", "") == "cancelled":  # Dask's scheduler has forgotten it
                    waiting[submit(items[index])] = index
                    continue
                try:
                    result = future.result()
                except BrokenExecutor:
                    result = _run_here(job, items[index], partial(on_progress, index))
                on_progress(index, Progress("", result=result))
            leave()
    finally:
        for future in waiting:
            future.cancel()


def _finished(futures: Collection[Any]) -> Collection[Any]:
    return wait(futures, timeout=_POLL_S, return_when=FIRST_COMPLETED).done


def _finished_on_dask(futures: Collection[Any]) -> Collection[Any]:
    """Return the finished of Dask's own futures.

    Its concurrent.futures interface may leave a future pending for ever: that of a result lost with a worker before it
    was fetched, and recomputed.
    """
    done = [future for future in futures if future.status in ("finished", "error", "cancelled")]
    if not done:
        sleep(_POLL_S)
    return done


def _run_here(job: Job[Item, Result], item: Item, listener: Listener) -> Result:
    with reporting(listener):
        return job(item)


def run_on_one_processor(job: Job[Item, Result], item: Item) -> Result:
    """Run a job on one processor, as others run in parallel."""
    with one_processor():
        return job(item)


def _submitted(pool: Executor, job: Job[Item, Result], item: Item) -> Future[Result]:
    """Submit an item; if the pool has broken meanwhile, return a failed future."""
    try:
        return pool.submit(job, item)
    except BrokenExecutor as error:
        lost: Future[Result] = Future()
        lost.set_exception(error)
        return lost
