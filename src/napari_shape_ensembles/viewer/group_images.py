"""The images of a group of the design table, shown with their outlines colored by what differs most."""

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from napari.components import LayerList
from napari.layers import Layer
from napari.settings import get_settings
from psygnal import Signal

from ..comparison import Experiment
from ..comparison.display import simplified
from ..outlines import Outlines
from ..palette import COLORMAP
from ..progress import report
from .design_files import layer_data
from .inputs import MADE_FOR, OWN, ImageRow, Source, trace
from .layers import add_unselected, batched, existing, outline_layer, remove_layers

#: Maximum number of images opened for a group.
MAX_GROUP_IMAGES = 12


class GroupImages:
    """The layers of the displayed group."""

    changed = Signal()  #: layers were added and removed, before napari handles the events

    def __init__(self, layers: LayerList) -> None:
        self._layers = layers
        self._displayed: list[weakref.ref[Layer]] = []

    def opened_images(self) -> list[Layer]:
        """Return images of the group that were opened for it, and outlines without an image."""
        return [layer for layer in existing(self._displayed, self._layers) if layer not in MADE_FOR]

    def show(self, opened: list[tuple[Layer | weakref.ref[Layer] | None, Layer]]) -> Iterator[None]:
        """Replace the previous group's images and outlines, one per event loop turn."""
        gone, self._displayed = self._displayed, []
        with batched(self._layers):
            remove_layers(gone, self._layers)
            for image, outlines in opened:
                under = image() if isinstance(image, weakref.ref) else image
                if under is not None:  # before it is added, as an arrangement may be due in the next turn
                    MADE_FOR[outlines] = weakref.ref(under)
                for layer in [outlines] if under is None or isinstance(image, weakref.ref) else [under, outlines]:
                    self._displayed.append(weakref.ref(layer))
                    add_unselected(layer, self._layers)
                    yield
            self.changed.emit()


def outline_layers(
    result: Experiment, group: str, sources: Mapping[int, tuple[Source, Any]], recipe: Outlines
) -> list[tuple[Any, Layer]]:
    """Return layers of outlines, colored by the quantity that differs most, for images by their index in an experiment.

    Each is paired with a weak reference to the layer of its image, or a new layer.
    """
    get_settings()  # until loaded, napari uses its Python triangulation, a hundred times slower
    effects = result.effects[result.effects["contrast"].str.split(" - ").str[0] == group]
    effects = effects if len(effects) else result.effects
    quantity = "size"
    if len(effects):
        quantity = str(effects["quantity"].iloc[int(effects["difference"].abs().to_numpy().argmax())])
    every = result.quantities.outlines[quantity]
    limits = tuple(np.exp(np.percentile(every, [1, 99])).tolist())
    limits = limits if limits[1] > limits[0] else (limits[0], limits[0] + 1)
    found: list[tuple[Any, Layer]] = []
    for place, (image, (source, under)) in enumerate(sources.items()):
        report(f"opening {source.name}", place, len(sources))
        curves = trace(source, recipe)
        own = result.quantities.outlines[result.quantities.outlines["image"] == image]
        values = dict(zip(map(str, own["id"]), np.exp(own[quantity]), strict=True))
        options: dict[str, Any] = dict(source.placement)
        shapes = [curve / source.scale for curve in curves.curves]
        if isinstance(source.data, ImageRow):
            under = None
            picture = layer_data(replace(source.data, part=replace(source.data.part, region=None)))
            options = {"scale": picture[1].get("scale", (1.0, 1.0)), "units": (curves.unit,) * 2}
            corner = np.zeros(2)
            if isinstance(source.data.part.region, tuple):
                corner = np.array(source.data.part.region)[[0, 2]]
            shapes = [curve / options["scale"] + corner for curve in curves.curves]
            if picture[2] == "image":
                under = Layer.create(picture[0], {**picture[1], "name": source.name}, picture[2])
                OWN.add(under)
        painted = np.array([values.get(str(one), np.nan) for one in curves.ids.tolist()])
        said = f"{group}: outlines colored by {quantity}."
        features = pd.DataFrame({"id": curves.ids, quantity: painted})
        look = {"edge_color": "white", "edge_width": 0.5, "opacity": 0.8, "metadata": {"said": said}}
        colored = {"face_colormap": COLORMAP, "face_contrast_limits": limits, "face_color": quantity}
        colored = colored if np.isfinite(painted).any() else {"face_color": "transparent"}
        outlines = outline_layer(f"{source.name} outlines", simplified(shapes), features, **look, **colored, **options)
        found.append((under, outlines))
    return found
