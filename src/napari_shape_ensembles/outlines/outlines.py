"""The whole pipeline from an image to its outlines, as one callable object; its first half as a function."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import parameters
from .._types import Labels, Real
from ..archive import StrPath
from ..checks import unmasked
from ..parameters import documented, matters, parameters_of
from .border import window_of
from .ensemble import Ensemble
from .finders import labels_by
from .methods import labels_by_method, only_largest
from .not_image import NotImage, ignored_parts
from .proposals import best_recipe, refined
from .reasons import MASKED
from .recent import Recent
from .recipe import TRACING, Recipe
from .recognise import as_labels
from .tiling import Tiling
from .tracing import label_plane, pixel_of, traced_labels

_TABLE = "outlines"
# Size in bytes of the labels of recent images that are kept.
_MAX_KEPT_BYTES = 1e8
_recent = Recent[Labels](_MAX_KEPT_BYTES, lambda labels: labels.nbytes)


@documented
@dataclass(frozen=True, repr=False)
class Outlines(Recipe):
    """How an image becomes outlines: find objects, clean up and split, trace.

    One object holds all parameters. Calling it with an image returns an `Ensemble`; `labels` and `trace` are its two
    stages.

    Raises
    ------
    ValueError
        For a value out of range, naming it.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((60, 60))
    >>> image[10:30, 12:40] = 1
    >>> Outlines(outline_smoothing=0.5)(image)
    Ensemble('': 1 curve in pixel)
    """

    def __call__(self, image: ArrayLike, *, name: str = "") -> Ensemble:
        """Return the outlines of the objects of an image, or of the labels that it holds.

        Parameters
        ----------
        image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
            Labels and classes are recognized, see `content_of`, and are not segmented.
        name : str
            Name of the ensemble.

        Raises
        ------
        ValueError
            For an image that cannot be segmented; see `segment`.
        """
        found = None if callable(self.find) else as_labels(unmasked(image, "the image"))[0]
        if found is not None:
            return self.trace(found, name=name)
        ignored = self.ignored(image)
        return self.trace(self.labels(image, ignored=ignored), ignored=ignored, name=name)

    def ignored(self, image: ArrayLike) -> NotImage:
        """Return the parts of a picture that are not image, found or as given by `ignore`."""
        return ignored_parts(image, self.ignore)

    def labels(self, image: ArrayLike, *, ignored: NotImage | None = None) -> NDArray[np.int32]:
        """Return the labels of the objects of an image, 0 for the background; see `segment`.

        Parameters
        ----------
        image : array
        ignored : NotImage, optional
            Parts without objects; by default those of `ignored(image)`.
        """
        if ignored is None:
            ignored = self.ignored(image)
        if self.find is not None:
            labels = np.where(ignored.mask, 0, labels_by(self.find, image))
            return only_largest(labels) if self.largest else labels
        recipe: Recipe = self
        if self.method == "auto":
            recipe = best_recipe([image], self, lambda words: warnings.warn(words, stacklevel=4))
        pixels, mask = unmasked(image, "the image"), ignored.mask

        def segmented() -> Labels:
            labels = np.zeros(mask.shape, dtype=np.int32)
            picture = ignored.filled(pixels)
            found = labels_by_method(picture, recipe)
            outside = mask[ignored.window]
            refine = recipe.refine and matters(recipe, "refine")
            labels[ignored.window] = refined(picture, found, outside, recipe.channel) if refine else found
            labels[mask] = 0
            return labels

        if 4 * mask.size > _MAX_KEPT_BYTES:
            return segmented()
        about = [getattr(recipe, name) for name, one in parameters_of(Recipe).items() if one.group != TRACING]
        return _recent.of(segmented, pixels, str(ignored.window), np.packbits(mask).tobytes(), *about).copy()

    def trace(
        self,
        labels: ArrayLike,
        *,
        scale: float | Sequence[float] | None = None,
        unit: str | None = None,
        name: str = "",
        ignored: NotImage | None = None,
        region: tuple[int, int, int, int] | str | None = None,
    ) -> Ensemble:
        """Return the outlines of labels: along shared boundaries for a tiling, else one object at a time.

        Parameters
        ----------
        labels : (rows, columns) array
            Integers, 0 = background.
        scale, unit : float or (float, float), str, optional
            Size of a pixel, or its height and width, and their unit, from the image's metadata; those of the recipe
            take precedence. By default pixels.
        name : str
            Name of the ensemble.
        ignored : NotImage, optional
            Parts of the image of the labels that are not image: objects that touch them are left out like those that
            touch the border, and all are counted.
        region : (int, int, int, int) or str, optional
            Top, bottom, left and right of the part of the image outside of which there are no labels, nor objects that
            it cuts; of a part of another form any name. It is the `Ensemble.window`, which a name leaves unknown.

        Raises
        ------
        ValueError
            For labels that are not a 2D array of integers.
        """
        pixel = self.pixel_scale or (1.0 if scale is None else scale)
        unit = self.unit or unit or "pixel"
        if ignored:
            plane = label_plane(labels)
            cut = ignored.cut(plane)[: 0 if self.keep_border else None]
            ensemble = self.trace(np.where(np.isin(plane, cut), 0, plane), scale=pixel, unit=unit, name=name)
            dropped = {**ensemble.dropped, MASKED: len(cut), **ignored.reasons}
            seen = ~ignored.mask
            shape = int(seen.any(axis=1).sum()), int(seen.any(axis=0).sum())
            ensemble = ensemble.derived(ensemble.curves, dropped=dropped, window=self._window(shape, pixel))
        elif not self.is_tiling:
            ensemble = Ensemble(**traced_labels(labels, self, scale=pixel, unit=unit, name=name))
        else:
            ensemble = self._traced_tiling(labels, pixel, unit, name)
        if region is None:
            return ensemble
        shape = (0, 0) if isinstance(region, str) else (region[1] - region[0], region[3] - region[2])
        return ensemble.derived(ensemble.curves, window=self._window(shape, pixel))

    def _window(self, shape: Sequence[int], pixel: float | Sequence[float]) -> Real | None:
        return window_of(shape, pixel_of(pixel), keeps_border=self.keep_border, holes=self.holes)

    def _traced_tiling(self, labels: ArrayLike, pixel: float | Sequence[float], unit: str, name: str) -> Ensemble:
        kept: dict[str, Any] = {"holes": self.holes, "min_area": self.min_area}
        ensemble = (
            Tiling.of(labels)
            .smoothed(self.iterations)
            .ensemble(scale=pixel, unit=unit, border=self.keep_border, name=name, **kept)
        )
        tracing = {"tiling": True, "iterations": self.iterations, "keep_border": self.keep_border, **kept}
        return ensemble.derived(ensemble.curves, tracing=tracing)

    def save(self, path: StrPath) -> None:
        """Write all parameters to a TOML file atomically.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file of that name is kept.
        """
        parameters.write_tables(path, {_TABLE: self})

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read the parameters from a TOML file, which may also hold settings of a comparison.

        Raises
        ------
        ValueError
            For a file that is not TOML, an unknown option, or a value out of range.
        OSError
            If the file does not exist, or cannot be read.
        """
        with parameters.file_named(path):
            return cls.from_tables(parameters.read_tables(path))

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any]) -> Self:
        """Return the recipe in the tables of a file.

        Raises
        ------
        ValueError
            For an unknown option, or a value out of range.
        """
        return parameters.from_tree(cls, parameters.table(tables, _TABLE), f"[{_TABLE}]")


def segment(image: ArrayLike, recipe: Outlines | None = None, **changes: Any) -> Labels:
    """Label the objects of an image.

    Parameters
    ----------
    image : (rows, columns) array of any real type, or with a last axis of 3 or 4 for RGB(A)
        A boolean image is taken as the mask itself.
    recipe : Outlines, optional
        All parameters together; those of tracing are ignored.
    **changes
        Single parameters that override those of `recipe`: `method="local"`, `objects="dark"`, `smoothing=2`, ...; see
        `Outlines` for all of them.

    Returns
    -------
    (rows, columns) int32 array
        1, 2, … for the objects, 0 for the background. Objects that touch the border are kept; `extract_curves` removes
        and counts them.

    Raises
    ------
    ValueError
        For an empty image, a stack, a constant image, single pixels of NaN, or parameters out of range.

    References
    ----------
    N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
    Cybernetics 9 (1979) 62-66.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import segment
    >>> rows, columns = np.indices((60, 120))
    >>> image = 1.0 * (np.hypot(rows - 30, columns - 30) < 15) + 1.0 * (np.hypot(rows - 30, columns - 85) < 20)
    >>> np.bincount(segment(image).ravel())
    array([5242,  705, 1253])
    """
    return replace(recipe or Outlines(), **changes).labels(image)


def segment_stack(stack: ArrayLike, recipe: Outlines | None = None, **changes: Any) -> Iterator[Labels]:
    """Segment the planes along the first axis of a stack one by one, in time or in depth.

    Parameters
    ----------
    stack : (planes, rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
    recipe, **changes
        As for `segment`; all planes are treated alike, each independently.

    Yields
    ------
    (rows, columns) int32 array
        Labels of one plane, numbered separately.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import segment_stack
    >>> rows, columns = np.indices((60, 60)) - 30
    >>> stack = [1.0 * (np.hypot(rows, columns) < radius) for radius in (10, 15, 20)]
    >>> [int((labels > 0).sum()) for labels in segment_stack(stack)]
    [313, 705, 1253]
    """
    for index, plane in enumerate(stack if isinstance(stack, Sequence) else unmasked(stack, "the stack")):
        try:
            yield segment(plane, recipe, **changes)
        except ValueError as error:
            raise ValueError(f"plane {index}: {error}") from error
