"""Work on a plane in strips of rows, side by side on all processors, with the result of the whole."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..progress import over_blocks, processors

Value = TypeVar("Value", bound=np.generic)

# Rows that are worth a thread.
_FEWEST = 128


def by_strips(work: Callable[[NDArray[Any]], NDArray[Value]], plane: NDArray[np.generic], reach: int) -> NDArray[Value]:
    """Apply work whose result at a pixel depends on no pixel more than `reach` rows away."""
    rows = max(_FEWEST, -(-len(plane) // processors()))
    if 2 * reach > rows:  # strips would see more than they find
        return work(plane)

    def strip(start: int) -> NDArray[Value]:
        before = min(start, reach)
        return work(plane[start - before : start + rows + reach])[before : before + rows]

    return np.concatenate(over_blocks(strip, range(0, len(plane), rows)))


def gaussian_reach(sigma: float) -> int:
    """How far a Gaussian filter of scipy's looks: four standard deviations."""
    return int(4 * sigma + 0.5)
