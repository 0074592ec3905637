"""What a sample is: two sides that can be compared, where they come from, and on what terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from ..outlines import Ensemble, extract_curves, segment


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Two samples to compare, with their source and licence.

    Attributes
    ----------
    title : str
        What is shown.
    names : (str, str)
        Names of A and B.
    kind : {"image", "labels", "curves"}
        Grey images, label images, or closed outlines.
    a, b : array, or sequence of (m, 2) arrays
        As `kind` says; curves are in pixels, in (row, column) order.
    width : int
        Columns of the field of view of A, in pixels.
    source, licence : str
        Where the data come from and what they may be used for; "simulated" and "" for data drawn by this package.
    pixel_size : float
        Size of one pixel in `unit`.
    unit : str
        "pixel" where the size of a pixel is not known.
    height : int, optional
        Rows of the field of view of A, where it is wider than high.

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
        """Outlines of A and B, by the defaults of `segment` and `extract_curves`.

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
