"""Container of a pair of samples, with source and license."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from ..outlines import Ensemble, extract_curves, segment


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Two samples to compare, with their source and license.

    Attributes
    ----------
    title : str
        Title for display.
    names : (str, str)
        Names of A and B.
    kind : {"image", "labels", "curves"}
        Gray images, label images, or closed outlines.
    a, b : array, or sequence of (m, 2) arrays
        According to `kind`; curves are in pixels, in (row, column) order.
    width : int
        Number of columns of the field of view of A, in pixels.
    source, licence : str
        Origin and terms of use of the data; "simulated" and "" for data drawn by this package.
    pixel_size : float
        Side of a pixel in `unit`.
    unit : str
        "pixel" if the pixel size is unknown.
    height : int, optional
        Number of rows of the field of view of A, if not square.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> pair = samples.powder()
    >>> pair.kind, pair.unit, pair.names
    ('image', 'pixel', ('Powder, field 1', 'Powder, field 2'))
    """

    title: str
    names: tuple[str, str]
    kind: Literal["image", "labels", "curves"]
    a: NDArray[Any] | Sequence[NDArray[Any]]
    b: NDArray[Any] | Sequence[NDArray[Any]]
    width: int
    source: str
    licence: str
    pixel_size: float = 1.0
    unit: str = "pixel"
    height: int | None = None

    def ensembles(self) -> tuple[Ensemble, Ensemble]:
        """Return the outlines of A and B, with the default settings of `segment` and `extract_curves`.

        Examples
        --------
        >>> from napari_shape_ensembles import samples
        >>> [len(ensemble) for ensemble in samples.powder_outlines().ensembles()]
        [174, 295]
        """
        a, b = (self._ensemble(data, name) for data, name in zip((self.a, self.b), self.names, strict=True))
        return a, b

    def _ensemble(self, data: Any, name: str) -> Ensemble:
        if self.kind == "curves":
            return Ensemble([curve * self.pixel_size for curve in data], unit=self.unit, name=name)
        labels = segment(data) if self.kind == "image" else data
        return extract_curves(labels, scale=(self.pixel_size, self.pixel_size), unit=self.unit, name=name)
