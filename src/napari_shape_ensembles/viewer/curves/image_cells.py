"""The grid cells of the images shown side by side, each with everything that lies over its image."""

from itertools import chain

from napari.layers import Layer

from ...comparison.answer import names_of
from ...comparison.design import GROUP
from ...comparison.display import MARK
from ...io.image_parts import WHOLE
from ...palette import SIDE_COLORS
from ..comparing import ComparisonTask
from ..inputs import PARTS, is_own
from ..inspecting import InspectionTask
from ..layers import NAMED_AFTER, CurveLayer, layers_over
from ..learning import LearningTask
from ..offered import sorted_by_name
from ..overlap import are_disjoint, images_below
from ..segmenting import SegmentationTask
from .side_by_side import Cell


class ImageCells:
    """Finds the cells from the tasks of a session, whose layers lie over the images, and has them arranged."""

    def __init__(
        self,
        comparison: ComparisonTask,
        segmentation: SegmentationTask,
        learning: LearningTask,
        inspection: InspectionTask,
    ) -> None:
        self._comparison, self._choices = comparison, comparison.choices
        self._design, self._group_images = comparison.design, comparison.group_images
        side_by_side = comparison.side_by_side
        side_by_side.follow(self.cells)
        self._design.changed.connect(side_by_side.schedule_arrange)
        for changed in (
            segmentation.layers_changed,
            self._group_images.changed,
            inspection.layers_changed,
            learning.layers_changed,
        ):
            changed.connect(side_by_side.arrange_now)

    def cells(self) -> list[Cell]:
        """Return the cells: each image of the result, and each chosen one, with the layers over it."""
        found, choices, below = self.compared(), self._choices, dict[Layer, Layer]()
        if self._comparison.side_by_side.captioned:  # the bench has cells for images that are not compared, too
            known = [layer for _, layer, _ in found if layer is not None]
            shown = [*known, *(over for layer in known for over in self._layers_over(layer))]
            # The hidden picture of labels that are in the viewer, often of the same name, is not the image below them.
            others = [
                layer
                for layer in sorted_by_name(choices.design.offered())
                if layer not in shown and (layer.visible or not choices.design.replacement_of(layer))
            ]
            # An image of which outlines were picked lies below the parts that replace it.
            parts = (PARTS[layer] for layer in choices.design.offered() if layer in PARTS)
            picked = dict.fromkeys(part.whole for part in parts if part.picked)
            wholes = [layer for layer in picked if layer is not None and layer in choices.layers and layer.visible]
            below = images_below(known, [*others, *wholes], choices)
            others = [layer for layer in (*others, *self._group_images.opened_images()) if layer not in below.values()]
            above = images_below(others, [*known, *below.values(), *others], choices)
            # A layer with outlines over it, such as a corrected consensus, has its own cell.
            own_cell = [layer for layer in others if layer not in above or self._layers_over(layer)]
            found += [("", layer, None) for layer in own_cell]
        cells, placed = [], set[Layer]()
        for side, layer, curves in found:
            lowest = None if layer is None else below.pop(layer, None)
            below = {one: image for one, image in below.items() if image is not lowest}  # show it in a single cell
            over = [other for one in (lowest, layer) if one is not None for other in self._layers_over(one)]
            named = layer if layer is not None else curves
            over += [] if named is None else self._left_behind(named)
            over += [] if curves is None else self._parts_over(layer)
            # A layer has one place, also if it lies over two images or is on both sides.
            here = dict.fromkeys(one for one in (lowest, layer, *over, curves) if one is not None and one not in placed)
            placed.update(here)
            group = self._group_of_result(side) if layer is None else self._design.cell(layer, GROUP)
            group = side if side and group in ("", *SIDE_COLORS) else group  # a letter may be that of the next run
            cells.append(Cell(side, group, list(here), "" if named is None else named.name))
        return cells

    def _group_of_result(self, side: str) -> str:
        """Return the name of a group of the result whose image is not in the viewer; its letter if it has none."""
        result = self._comparison.result
        if result is None or not side:
            return side
        place = "AB".index(side)
        name = names_of(result)[place]
        return side if name in (result.a, result.b)[place].images else name

    def compared(self) -> list[tuple[str, Layer | None, CurveLayer | None]]:
        """Return side, image and curves of each image of the result, then of each chosen one that is not in it."""
        comparison, layers = self._comparison, self._choices.layers
        curves, found = comparison.curves.by_image(), list[tuple[str, Layer | None, CurveLayer | None]]()
        run_inputs = comparison.inputs_shown
        if run_inputs is not None:
            refs = [(side, ref) for side, own in zip("AB", run_inputs.layers, strict=True) for ref in own]
            over = curves if len(curves) == len(refs) else [None for _ in refs]
            chosen = dict(zip("AB", self._choices.design.sides(), strict=True))
            for (side, ref), own in zip(refs, over, strict=True):
                layer = ref()
                # A deleted layer may be kept alive elsewhere; its units may be incompatible with the current layers.
                if layer not in layers:
                    layer = next((one for one in chosen[side] if own in self._left_behind(one)), None)
                found.append((side, layer, own))
        elif comparison.result is not None:
            found = [(own.metadata[MARK]["source"], None, own) for own in curves if own is not None]
        known = [layer for _, layer, _ in found]
        sides = zip("AB", self._choices.design.sides(), strict=True)
        return found + [(side, layer, None) for side, own in sides for layer in own if layer not in known]

    def _layers_over(self, image: Layer) -> list[Layer]:
        """Return the layers over an image, but not those that are compared, which have cells of their own."""
        compared = {*chain(*self._design.sides())}
        return [layer for layer in layers_over(image, self._choices.layers) if layer not in compared]

    def _parts_over(self, image: Layer | None) -> list[Layer]:
        """Return parts of an image of the result, as of selected outlines, which replace it in the next run."""
        parts = [layer for layer in self._design.offered() if layer in PARTS]
        return [part for part in parts if image is PARTS[part].whole and PARTS[part].part == WHOLE]

    def _left_behind(self, layer: Layer) -> list[Layer]:
        """Return own layers of a deleted image which lie on this one of the same name, or on other layers of that one.

        In a cell of their own, they would change the shape of the grid until the next run, when they are replaced.
        """
        layers, name = self._choices.layers, NAMED_AFTER[layer][1] if layer in NAMED_AFTER else layer.name
        named = [(one, *NAMED_AFTER[one][:2]) for one in layers if one in NAMED_AFTER and is_own(one)]
        found = [one for one, image, before in named if before == name and image() not in layers]
        return [one for one in found if not are_disjoint([layer, one], self._choices)]
