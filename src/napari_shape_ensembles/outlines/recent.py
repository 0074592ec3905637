"""Results that the search for a recipe, previews, comparisons and checks ask for again, of the same images."""

from collections.abc import Callable, Hashable
from hashlib import blake2b
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from ..progress import cancellation_check

# Interval in seconds between checks for cancellation while another thread computes the same.
_POLL_INTERVAL_S = 0.1

T = TypeVar("T")
_all = WeakSet["Recent[Any]"]()


class Recent(Generic[T]):
    """The last results computed of images, by their content: computed once also if several threads ask at once.

    Parameters
    ----------
    most : float
        Size in bytes of all results that are kept; the last one always is.
    size_of : callable
        Result -> its size in bytes.
    """

    def __init__(self, most: float, size_of: Callable[[T], int]) -> None:
        self._most, self._size_of = most, size_of
        self._kept: dict[Hashable, tuple[T]] = {}
        self._locks: dict[Hashable, Lock] = {}  # of those being computed
        _all.add(self)

    def of(self, compute: Callable[[], T], image: NDArray[Any], *about: Hashable) -> T:
        """Return what `compute` returned for this image, and for what else it depends on."""
        if image.dtype.hasobject:
            return compute()
        digest = blake2b(np.ascontiguousarray(image).view(np.uint8).data).digest()
        key = image.shape, image.dtype.str, digest, *about
        lock, leave_if_stopped = self._locks.setdefault(key, Lock()), cancellation_check()
        while not lock.acquire(timeout=_POLL_INTERVAL_S):
            leave_if_stopped()
        try:
            kept = self._kept.pop(key, None)  # another thread may have removed it
            found = self._kept[key] = (compute(),) if kept is None else kept
        finally:
            self._locks.pop(key, None)
            lock.release()
        for oldest in list(self._kept)[:-1]:
            if sum(self._size_of(one) for (one,) in list(self._kept.values())) <= self._most:
                break
            self._kept.pop(oldest, None)
        return found[0]


def forget() -> None:
    """Release all results that are kept."""
    for one in list(_all):
        one._kept.clear()
