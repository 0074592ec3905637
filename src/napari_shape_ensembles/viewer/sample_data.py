"""Sample pairs as layers, for *File > Open Sample*. B is placed to the right of A, or below a wide A.

They are loaded or simulated in a worker thread. As napari expects the layers as return value, the call blocks in a
nested event loop meanwhile, which excludes user input, so that the window is not closed before the layers are added.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from napari.utils import progress
from qtpy.QtCore import QCoreApplication, QEventLoop, QTimer

from .. import samples
from ..comparison.display import LayerData
from ..samples.pair import SamplePair

_BESIDE, _BELOW = 1.04, 1.1  # offset of B, in widths or heights of A; below A, with room for a caption
_POLL = 20  # ms
_SHAPES = {"shape_type": "polygon", "face_color": "transparent", "edge_color": "yellow", "edge_width": 2}


class _Curves(list[Any]):
    """List of curves with a short repr: napari formats an error message with the data of every layer."""

    def __repr__(self) -> str:
        return f"{len(self)} curves"


def pair_layers(pair: SamplePair) -> list[LayerData]:
    """Return layer data of A and B."""
    data: tuple[Any, Any] = (pair.a, pair.b)
    kind: str = pair.kind
    look: dict[str, Any] = {}
    if kind == "image":
        look = {"contrast_limits": (min(map(np.min, data)), max(map(np.max, data)))}
    elif kind == "curves":
        kind, look, data = "shapes", _SHAPES, (_Curves(pair.a), _Curves(pair.b))
    step = (0, _BESIDE * pair.width) if pair.height is None else (_BELOW * pair.height, 0)
    place = {"scale": (pair.pixel_size,) * 2, "units": (pair.unit,) * 2}
    metadata = {"source": pair.source, "licence": pair.licence}
    named = zip(data, pair.names, ((0, 0), tuple(pair.pixel_size * side for side in step)), strict=True)
    return [
        (side, {"name": name, "translate": corner, "metadata": dict(metadata), **place, **look}, kind)
        for side, name, corner in named
    ]


def _made(make: Callable[..., SamplePair], **options: int) -> list[LayerData]:
    if QCoreApplication.instance() is None:
        return pair_layers(make(**options))
    loop, timer = QEventLoop(), QTimer()
    with progress(desc="Opening a sample"), ThreadPoolExecutor(1) as pool:
        drawing = pool.submit(make, **options)
        timer.timeout.connect(lambda: drawing.done() and loop.quit())
        timer.start(_POLL)
        loop.exec(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
        return pair_layers(drawing.result())


powder = partial(_made, samples.powder)
powder_outlines = partial(_made, samples.powder_outlines)
nuclei = partial(_made, samples.nuclei)
nuclei_labels = partial(_made, samples.nuclei_labels)
cells = partial(_made, samples.cells)
simulated_fields = partial(_made, samples.simulated_fields)
simulated_sieving = partial(_made, samples.simulated_sieving)
simulated_treatment = partial(_made, samples.simulated_treatment)
simulated_rolling = partial(_made, samples.simulated_rolling)
