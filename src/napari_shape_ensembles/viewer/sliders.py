"""Ranges of napari's sliders for stacks whose planes do not lie along the first axes."""

from .choices import Choices


class SliderRanges:
    """Keeps planes, such as previews and outlines, out of the ranges of napari's sliders.

    napari takes the two axes of a plane for the last two of the viewer, although it draws them along the displayed
    ones. Over a stack of axes (row, column, time), the slider for the time would get a step for each column of a plane.
    """

    def __init__(self, choices: Choices) -> None:
        self._layers, self._dims = choices.layers, choices.dims
        events = choices.dims.events
        self._events = events.range, events.order, events.ndisplay

    def connect_events(self) -> None:
        for event in self._events:
            event.connect(self._update)
        self._update()

    def disconnect_events(self) -> None:
        for event in self._events:
            event.disconnect(self._update)

    def _update(self, _: object = None) -> None:
        """Set the range of each axis: of all layers if it is displayed, else of the stacks."""
        stacks = [layer for layer in self._layers if layer.ndim > 2]
        if len(stacks) in (0, len(self._layers)):
            return
        extents = self._layers.extent, self._layers.get_extent(stacks)
        found = []
        for axis in range(self._dims.ndim):
            extent = extents[axis not in self._dims.displayed]
            found.append((extent.world[0][axis], extent.world[1][axis], extent.step[axis]))
        if found != [tuple(known) for known in self._dims.range]:
            self._dims.range = tuple(found)
