"""Compare the outlines in two images: the same, or different in scale or in undulation?

Subpackages, in the order of the data flow: `outlines`, `shapes`, `mmd`, `comparison`, `explanation`, `inspection`,
`studies`, `io`, `samples`; `viewer` provides the napari interface and is the only one that depends on a GUI. Names are
imported lazily, so importing the package is fast.
"""

from importlib import import_module
from threading import RLock
from typing import Any

import lazy_loader as lazy

_SUBPACKAGES = ("comparison", "explanation", "inspection", "io", "mmd", "outlines", "samples", "shapes", "studies")
_attribute, _names, __all__ = lazy.attach_stub(__name__, __file__)
# Python takes a subpackage that another thread is still importing for a circular import, which fails.
_importing = RLock()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("napari-shape-ensembles")
    with _importing:
        return import_module(f"{__name__}.{name}") if name in _SUBPACKAGES else _attribute(name)


def __dir__() -> list[str]:
    return [*_names(), *_SUBPACKAGES]
