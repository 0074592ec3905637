"""Compare the outlines in two images: the same, or different in scale or in undulation?

Subpackages, in the order of the data flow: `outlines`, `shapes`, `mmd`, `comparison`, `explanation`, `inspection`,
`studies`, `io`, `samples`; `viewer` provides the napari interface and is the only one that depends on a GUI. Names are
imported lazily, so importing the package is fast.
"""

from typing import Any

import lazy_loader as lazy

_attribute, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("napari-shape-ensembles")
    return _attribute(name)
