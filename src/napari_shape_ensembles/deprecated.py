"""Names of earlier versions, each with the one that takes its place."""

from collections.abc import Generator

from .comparison import Comparison, Images, Settings, compare
from .outlines import Outlines as Segmentation
from .progress import Progress as Step

__all__ = ["Segmentation", "Step", "comparison_steps"]


def comparison_steps(a: Images, b: Images, settings: Settings = Settings()) -> Generator[Step, None, Comparison]:
    """Compare, and only then yield the steps: `compare(..., progress=...)` tells of them as they start."""
    steps: list[Step] = []
    result = compare(a, b, settings, progress=steps.append)
    yield from steps
    return result
