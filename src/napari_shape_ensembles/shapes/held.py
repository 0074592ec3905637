"""Where curves lie while a shape space is learned from them: in this process, or in chunks on the workers of Dask.

Learning is a sequence of steps. A step is a function of the curves (k, 2, n) of a chunk, of further arrays with a row
for each of them, and of what all chunks have in common; its results are joined or summed over the chunks. Curves in
this process are one chunk, in memory or in a memory map.
"""

import operator
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from .._types import Real
from ..progress import cancellation_check, one_library_thread, one_processor

Step = Callable[..., Any]
# Seconds between two checks for cancellation while workers are busy.
_POLL_S = 0.1


class Held:
    """Curves (N, 2, n) in this process."""

    def __init__(self, points: Real) -> None:
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    @property
    def landmarks(self) -> int:
        """Number n of landmarks per curve."""
        return self.points.shape[2]

    def row(self, index: int) -> Real:
        """One curve, (1, 2, n)."""
        return self.points[index : index + 1]

    def joined(self, step: Step, *rows: Real, **common: Any) -> list[Any]:
        """Results of a step, one for each chunk."""
        return [step(self.points, *rows, **common)]

    def changed(self, step: Step, *rows: Real, **common: Any) -> list[Any]:
        """Results of a step that overwrites the curves."""
        return [step(self.points, *rows, **common)]

    def summed(self, step: Step, **common: Any) -> Real:
        """Sum of the results of a step."""
        total: Real = step(self.points, **common)
        return total


class HeldByWorkers:
    """Curves in chunks that are results of tasks of Dask, which computes them again if a worker is lost.

    Parameters
    ----------
    client : dask.distributed.Client
    place : callable
        Chunk of the input -> its curves (k, 2, n), and further results.
    parts : iterable
        Chunks of the input.
    """

    def __init__(self, client: Any, place: Step, parts: Iterable[Any]) -> None:
        self.client = client
        futures = [client.submit(_alone, place, part, pure=False) for part in parts]
        self.chunks, self.placed = self._apart(futures)
        shapes = self._gathered([client.submit(np.shape, one) for one in self.chunks])
        self.ends = np.cumsum([0, *(shape[0] for shape in shapes)])
        self.n = int(shapes[0][2])

    def __len__(self) -> int:
        return int(self.ends[-1])

    @property
    def landmarks(self) -> int:
        """Number n of landmarks per curve."""
        return self.n

    def row(self, index: int) -> Real:
        """One curve, (1, 2, n)."""
        place = int(np.searchsorted(self.ends, index, side="right")) - 1
        row: Real = self.client.submit(operator.getitem, self.chunks[place], [index - int(self.ends[place])]).result()
        return row

    def joined(self, step: Step, *rows: Real, **common: Any) -> list[Any]:
        """Results of a step, one for each chunk."""
        return self._gathered(self._submitted(_alone, step, *rows, **common))

    def changed(self, step: Step, *rows: Real, **common: Any) -> list[Any]:
        """Results of a step that overwrites the curves."""
        self.chunks, results = self._apart(self._submitted(_overwriting, step, *rows, **common))
        return results

    def summed(self, step: Step, **common: Any) -> Real:
        """Sum of the results of a step, in the same order whatever the number of workers."""
        parts = self._submitted(_alone, step, **common)
        while len(parts) > 1:  # in pairs on the workers: a sum may be as large as many curves
            odd = parts[len(parts) // 2 * 2 :]
            parts = [self.client.submit(operator.add, *two) for two in zip(parts[::2], parts[1::2], strict=False)] + odd
        total: Real = self._gathered(parts)[0]
        return total

    def _submitted(self, call: Step, step: Step, *rows: Real, **common: Any) -> list[Any]:
        parts = [[array[start:stop] for array in rows] for start, stop in pairwise(self.ends)]
        return [
            self.client.submit(call, step, chunk, *part, pure=False, **common)
            for chunk, part in zip(self.chunks, parts, strict=True)
        ]

    def _apart(self, futures: list[Any]) -> tuple[list[Any], list[Any]]:
        """Curves, which stay with the workers, and the other results of tasks that return both."""
        first, second = ([self.client.submit(operator.getitem, one, i) for one in futures] for i in (0, 1))
        return first, self._gathered(second)

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Results of tasks in order; the tasks are cancelled if this one is."""
        leave = cancellation_check()
        try:
            while not all(future.done() for future in futures):
                leave()
                _wait(futures)
        except BaseException:
            self.client.cancel(futures)
            raise
        results: list[Any] = self.client.gather(futures)
        return results


def _wait(futures: list[Any]) -> None:
    from distributed import TimeoutError as Late
    from distributed import wait

    try:
        wait(futures, timeout=_POLL_S)  # type: ignore[no-untyped-call]
    except Late:
        return


def _alone(step: Step, *arguments: Any, **common: Any) -> Any:
    """A step with one thread, as other workers run on the same computer."""
    with one_processor(), one_library_thread():
        return step(*arguments, **common)


def _overwriting(step: Step, points: Real, *rows: Real, **common: Any) -> tuple[Real, Any]:
    """A step that overwrites its curves: a copy of them, as Dask may need the others to repeat a task."""
    points = points.copy()
    return points, _alone(step, points, *rows, **common)
