"""Deprecated names of earlier versions."""

from collections.abc import Generator

from .comparison import Comparison, Settings, compare
from .comparison.samples import Images
from .outlines import Outlines as Segmentation
from .progress import Progress as Step

__all__ = ["Segmentation", "Step", "comparison_steps"]


def comparison_steps(a: Images, b: Images, settings: Settings = Settings()) -> Generator[Step, None, Comparison]:
    """Compare, then yield the steps; use `compare(..., progress=...)` to receive them as they start."""
    steps: list[Step] = []
    result = compare(a, b, settings, progress=steps.append)
    yield from steps
    return result
