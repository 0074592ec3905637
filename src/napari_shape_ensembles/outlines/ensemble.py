"""An ensemble: the closed curves of one image, validated once, with a count of the rejected ones."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from .._types import Index, Real
from ..checks import seal, text
from ..words import counted, distinct, pooled_name
from . import border, exchange
from .cleaning import cleaned
from .polygons import areas_and_perimeters, moments_of_area
from .reasons import Reason, checked_counts
from .tracing import traced_labels, tracing_recipe
from .units import conversion_factor, length_unit, unit_name

if TYPE_CHECKING:
    import pandas as pd


#: Tracing parameter of pooled images for which it is not the same.
DIFFERS = "differs"
#: Metadata of outlines in unequal pixels: height and width of the pixel that each was traced from.
PIXEL_COLUMNS = ("pixel_height", "pixel_width")
#: Metadata of outlines in unequal windows: height and width of the window in which each lies whole.
WINDOW_COLUMNS = ("window_height", "window_width")


class Ensemble:
    """Closed curves of one image.

    Vertices that repeat the next one (a repeated first vertex included) are dropped, also where they differ by rounding
    to single precision, and a last vertex that is much closer to the first than any others are, where a tenth
    of the curves have one. Invalid curves are left out and counted by reason: "NaN or infinite vertices" (or masked
    ones), "vertices beyond 1e+30", "shorter than 1e-30", "fewer than 3 distinct vertices", "collinear", "zero area"
    (loops that cancel), and curves whose vertices do not follow an outline: "crossing themselves everywhere", several
    outlines in one, and missing points entered as (-1, -1). The direction of traversal is kept.

    Parameters
    ----------
    curves : sequence of (m, 2) arrays
        Vertices as (row, column), in `unit`. Closed; the first vertex need not be repeated.
    name : str
        Name of the image, for messages and tables.
    unit : str
        Unit of the coordinates: "pixel" (also "px", "pix", "pixels"), or a unit of length such as "µm".
    ids : sequence, optional
        One unique id per curve, numbers or strings; by default the index of each curve in `curves`.
    dropped : mapping of Reason to int, optional
        Numbers of objects rejected by earlier steps.
    images : sequence of str, optional
        Name of the image each curve comes from, if there are several; by default `name`. See `pooled`.
    pixel_size : float or (float, float), optional
        Side, or height and width, of a pixel of the image in `unit`, if known.
    window : (float, float), optional
        Height and width in `unit` of the part of the image in which outlines were kept only if they lie whole in it:
        from the centers of its first pixels to those of the last. By default unknown, as it is if outlines cut by the
        border were kept.
    filled : int
        Number of objects with holes that their outlines ignore.
    metadata : DataFrame or mapping of str to values, optional
        Annotations of the curves such as condition, well or replicate: per column N numbers, strings or booleans, or
        one value for all. They are kept by selection, pooling, files and results.
    tracing : mapping of str to number, text or bool, optional
        Tracing parameters of the outlines: smoothing, minimum area and so on, as recorded by `extract_curves`.

    Attributes
    ----------
    vertices : (M, 2) float array
        Vertices of all curves, concatenated; read-only.
    offsets : (N + 1,) int array
        Curve i is `vertices[offsets[i]:offsets[i + 1]]`; read-only.
    ids : (N,) array
        Ids of the curves kept; read-only.
    pixel_size : (float, float) or None
        Height and width of a pixel in `unit`.
    window : (float, float) or None
        See above.

    Raises
    ------
    ValueError
        For a curve that is not an (m, 2) array of numbers, ids or metadata that do not match the curves one to one, a
        unit that is not a length, a negative count, or strings that cannot be written to a file.

    See Also
    --------
    extract_curves : outlines of labels.
    Ensemble.from_masks, Ensemble.from_polygons, Ensemble.from_contours, Ensemble.from_paths : other sources.

    Notes
    -----
    `ensemble[i]` is one curve; `ensemble[mask]`, `ensemble[2:5]` and `ensemble[[4, 0]]` are ensembles; `a + b` pools
    two, as `pooled` does.

    Examples
    --------
    >>> from napari_shape_ensembles import Ensemble
    >>> square = [(0, 0), (0, 2), (2, 2), (2, 0)]
    >>> ensemble = Ensemble([square, [(0, 0), (1, 1)]], name="field 1", unit="µm")
    >>> ensemble
    Ensemble('field 1': 1 curve in µm, 1 left out)
    >>> ensemble.features[["area", "perimeter"]]
       area  perimeter
    0   4.0        8.0
    >>> both = ensemble.assign(condition="drug") + ensemble.assign(condition="control")
    >>> both[both.metadata["condition"] == "drug"].metadata
      condition
    0      drug
    """

    vertices: Real
    offsets: Index
    ids: NDArray[Any]
    pixel_size: tuple[float, float] | None
    window: tuple[float, float] | None
    _images: NDArray[np.str_] | None

    def __init__(
        self,
        curves: Sequence[ArrayLike] | Real,
        *,
        name: str = "",
        unit: str = "pixel",
        ids: ArrayLike | None = None,
        dropped: Mapping[Reason, int] | None = None,
        images: Sequence[str] | NDArray[np.str_] | None = None,
        pixel_size: float | Sequence[float] | Real | None = None,
        window: Sequence[float] | Real | None = None,
        filled: int = 0,
        metadata: pd.DataFrame | Mapping[str, Any] | None = None,
        tracing: Mapping[str, Any] | None = None,
    ) -> None:
        arrays = _arrays(curves)
        counts = Counter(checked_counts(dropped or {}))
        offsets = np.cumsum([0, *(len(array) for array in arrays)], dtype=np.int64)
        vertices = np.concatenate([np.empty((0, 2)), *arrays], dtype=np.float64).view(np.complex128)[:, 0]
        # Contours of pixels do not repeat their first vertex.
        closed = False if tracing or isinstance(curves, _OfEnsemble) else None
        vertices, offsets, kept = cleaned(vertices, offsets, counts, closed=closed)
        self.name, self.unit = text(name, "the name of an ensemble"), length_unit(unit)
        self.pixel_size = None if pixel_size is None else _height_and_width(pixel_size, "pixel_size", "a pixel")
        self.window = None if window is None else _height_and_width(window, "window", "a part of an image")
        names = np.arange(len(arrays)) if ids is None else _unique_ids(ids, len(arrays))
        self._images = None
        if images is not None:
            self._images = np.array(images, dtype=np.str_)
            if self._images.shape != (len(arrays),):
                raise ValueError(
                    f"{len(arrays)} curves need {len(arrays)} names of images, not names of shape {self._images.shape}"
                )
            text("".join(self._images.tolist()), "a name of an image")
            self._images = self._images[kept]
        self._metadata: dict[str, NDArray[Any]] = {}
        columns: Any = {} if metadata is None else metadata
        for column in columns:
            values = _column(text(column, "a column of metadata"), columns[column], len(arrays))[kept]
            values.flags.writeable = False
            self._metadata[column] = values
        self._tracing = dict(tracing or {})
        self.filled = filled
        self._dropped = dict(counts)
        self.vertices, self.offsets, self.ids = vertices.view(np.float64).reshape(-1, 2), offsets, names[kept]
        self._features: pd.DataFrame | None = None
        seal(self)

    @classmethod
    def pooled(cls, ensembles: Sequence[Ensemble], *, name: str = "") -> Ensemble:
        """Pool the curves of several images of one sample.

        Parameters
        ----------
        ensembles : sequence of Ensemble
            Converted to the unit of the first.
        name : str
            Name of the pooled ensemble; by default those of two images joined by " + ", or the first of more with
            the number of the others.

        Returns
        -------
        Ensemble
            Its `images` give the image of each curve. Ids are kept if they have one type and are unique over all
            images, else they become "image:id". Counts of rejected objects are added up by reason. Of images with
            unequal pixels, the metadata pixel_height and pixel_width hold those of each curve; window_height and
            window_width, of images with unequal windows.

        Raises
        ------
        ValueError
            For no ensemble, or units that cannot be converted.
        """
        ensembles = list(ensembles)  # it may be a generator
        if not ensembles:
            raise ValueError("a sample needs at least one image: give one or more ensembles")
        if len(ensembles) == 1 and not name:
            return ensembles[0]
        members = [ensemble.to(ensembles[0].unit) for ensemble in ensembles]
        members, size = _spread(members, "pixel_size", PIXEL_COLUMNS)
        members, window = _spread(members, "window", WINDOW_COLUMNS)
        names = distinct([member.name for member in members])
        return cls(
            _OfEnsemble(curve for member in members for curve in member.curves),
            name=name or pooled_name(names),
            unit=members[0].unit,
            ids=_pooled_ids([member.ids for member in members], names),
            dropped=sum((Counter(member.dropped) for member in members), Counter()),
            filled=sum(member.filled for member in members),
            images=_pooled_images([member.images for member in members]),
            pixel_size=size,
            window=window,
            metadata=_pooled_columns(members),
            tracing={
                key: members[0].tracing[key] if all(one.tracing.get(key) == value for one in members) else DIFFERS
                for member in members
                for key, value in member.tracing.items()
            }
            | ({} if size or not any(member.pixel_size for member in members) else {"pixel_size": DIFFERS}),
        )

    @property
    def images(self) -> NDArray[np.str_]:
        """Name of the image that each curve comes from, (N,)."""
        return np.full(len(self), self.name) if self._images is None else self._images

    @cached_property
    def curves(self) -> tuple[Real, ...]:
        """The curves, each an (m, 2) read-only view of `vertices`."""
        ends = self.offsets.tolist()
        return tuple(self.vertices[start:stop] for start, stop in itertools.pairwise(ends))

    @property
    def dropped(self) -> dict[Reason, int]:
        """Numbers of rejected objects by `Reason`, without zeros."""
        return dict(self._dropped)

    @property
    def metadata(self) -> pd.DataFrame:
        """Annotations of the curves, one row each: the columns that were given, or none.

        `assign` returns an ensemble with other ones; a column set here would change nothing, and raises TypeError.
        """
        return _type_of_metadata()(self._metadata, index=range(len(self)))

    @property
    def tracing(self) -> dict[str, Any]:
        """Tracing parameters of the outlines, such as {"outline_smoothing": 1.0, "min_area": 16}; empty if unknown.

        "differs" marks parameters in which pooled images differ.
        """
        return dict(self._tracing)

    @property
    def windows(self) -> Real:
        """Height and width of the `window` of each curve, (N, 2); NaN where it is unknown."""
        if set(WINDOW_COLUMNS) <= set(self._metadata):
            return border.extents([self._metadata[name] for name in WINDOW_COLUMNS])
        return np.tile(np.array(self.window or (np.nan, np.nan)), (len(self), 1))

    @property
    def border_weights(self) -> Real:
        """Weight of each curve that makes up for equal ones cut by the image border, (N,); NaN if `window` is unknown.

        HW / ((H - h)(W - w)) for a bounding box h × w in a window H × W; at most 10.

        References
        ----------
        R. E. Miles, "On the elimination of edge effects in planar sampling", in Stochastic Geometry, Wiley (1974)
        228-247.
        C. Lantuéjoul, "On the estimation of mean values in individual analysis of particles", Microscopica Acta,
        Suppl. 4 (1980) 266-273.

        Examples
        --------
        >>> from napari_shape_ensembles import Ensemble
        >>> squares = [[(1, 1), (1, 1 + side), (1 + side, 1 + side), (1 + side, 1)] for side in (1, 5)]
        >>> Ensemble(squares, window=(10, 10)).border_weights.round(2)
        array([1.23, 4.  ])
        """
        return border.weights_of(border.box_sides(self.vertices, self.offsets), self.windows)

    @property
    def features(self) -> pd.DataFrame:
        """Features of the curves, one row each, in the ensemble's unit.

        Columns: id; area of the polygon (loops of opposite orientation count negative); perimeter; equivalent_diameter,
        that of a circle of this area; circularity 4π·area/perimeter²; aspect_ratio of the ellipse with the same second
        moments of area; solidity, area over the area of the convex hull.
        """
        if self._features is None:
            import pandas as pd  # slow to import, and not needed for a comparison

            counts, (total, stretch) = np.diff(self.offsets), moments_of_area(self.vertices, self.offsets)
            elongation = np.abs(stretch)
            area, perimeter = areas_and_perimeters(self.vertices, self.offsets)
            rings = shapely.linearrings(self.vertices, indices=np.repeat(np.arange(len(self)), counts))
            with np.errstate(divide="ignore", invalid="ignore"):  # infinite where loops cancel the shorter moment
                aspect_ratio = np.sqrt((total + elongation) / np.maximum(total - elongation, 0))
            self._features = pd.DataFrame(
                {
                    "id": self.ids,
                    "area": area,
                    "perimeter": perimeter,
                    "equivalent_diameter": np.sqrt(4 * area / np.pi),
                    "circularity": 4 * np.pi * area / perimeter**2,
                    "aspect_ratio": aspect_ratio,
                    "solidity": area / shapely.area(shapely.convex_hull(rings)),
                }
            )
        return self._features.copy()

    def derived(self, curves: Sequence[ArrayLike], kept: Index | None = None, **changes: Any) -> Ensemble:
        """Return other curves with all other attributes of this ensemble.

        Parameters
        ----------
        curves : sequence of (m, 2) arrays
        kept : array of int, optional
            Index in this ensemble of each curve; by default one for one.
        **changes
            Parameters of `Ensemble` to override, such as `dropped`.

        Examples
        --------
        >>> from napari_shape_ensembles import Ensemble
        >>> ensemble = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], unit="µm", metadata={"well": "B2"})
        >>> ensemble.derived([2 * curve for curve in ensemble.curves]).to_dataframe()[["well", "area"]]
          well  area
        0   B2  16.0
        """
        rows = slice(None) if kept is None else kept
        attributes: dict[str, Any] = {
            "name": self.name,
            "unit": self.unit,
            "ids": self.ids[rows],
            "dropped": self._dropped,
            "filled": self.filled,
            "images": None if self._images is None else self._images[rows],
            "pixel_size": self.pixel_size,
            "window": self.window,
            "metadata": {name: values[rows] for name, values in self._metadata.items()},
            "tracing": self._tracing,
        }
        return Ensemble(curves if kept is None else _OfEnsemble(curves), **(attributes | changes))

    def assign(self, **columns: Any) -> Ensemble:
        """Return the ensemble with columns of metadata added or replaced, as `pandas.DataFrame.assign` does.

        Parameters
        ----------
        **columns
            N values per column, or a scalar.

        Examples
        --------
        >>> from napari_shape_ensembles import Ensemble
        >>> square = [(0, 0), (0, 2), (2, 2), (2, 0)]
        >>> Ensemble([square]).assign(condition="control", replicate=1).metadata
          condition  replicate
        0   control          1
        """
        return self.derived(self.curves, metadata=self._metadata | columns)

    def to(self, unit: str) -> Ensemble:
        """Return the ensemble in another unit of length.

        Parameters
        ----------
        unit : str
            Any length known to pint ("um", "µm", "nm", "mm", ...) or the ensemble's own.

        Returns
        -------
        Ensemble
            The ensemble itself if nothing changes.

        Raises
        ------
        ValueError
            If the units cannot be converted, such as pixels to µm.
        """
        unit = unit_name(unit)
        if unit == self.unit:
            return self
        factor = conversion_factor(self.unit, unit)
        lengths: dict[str, Any] = {
            name: None if sides is None else [side * factor for side in sides]
            for name, sides in ((name, getattr(self, name)) for name in exchange.SIDES)
        }
        columns = [name for name in (*PIXEL_COLUMNS, *WINDOW_COLUMNS) if name in self._metadata]
        metadata = self._metadata | {name: self._metadata[name] * factor for name in columns}
        return self.derived([curve * factor for curve in self.curves], unit=unit, metadata=metadata, **lengths)

    # ------------------------------------------------------------------------------------- other libraries' objects

    def to_dataframe(self) -> pd.DataFrame:
        """Table with one row per curve: id, image, the columns of `metadata`, and those of `features`.

        Examples
        --------
        >>> from napari_shape_ensembles import Ensemble
        >>> squares = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], name="field 1", metadata={"well": "B2"})
        >>> squares.to_dataframe()[["id", "image", "well", "area"]]
           id    image well  area
        0   0  field 1   B2   4.0
        """
        import pandas as pd

        images = pd.Series(self.images.tolist(), name="image", dtype="str")
        features = self.features
        return pd.concat([features[["id"]], images, self.metadata, features.drop(columns="id")], axis=1)

    def to_geodataframe(self) -> Any:
        """GeoDataFrame of polygons, x = column and y = row, with the columns of `to_dataframe`.

        `attrs` hold name, unit and pixel size. `from_polygons` is the inverse.

        Raises
        ------
        ImportError
            If GeoPandas is not installed, with instructions.
        """
        return exchange.geodataframe(self.to_dataframe(), self)

    def to_anndata(self) -> Any:
        """AnnData for scanpy and squidpy: features as X, id, image and metadata as obs.

        `obsm["spatial"]` holds the centers (x, y), `uns["shape_ensembles"]` the outlines, which `from_anndata`
        restores.

        Raises
        ------
        ImportError
            If anndata is not installed, with instructions.
        """
        table = self.to_dataframe()
        measured = list(exchange.MEASURED)
        return exchange.anndata(table[measured], table.drop(columns=measured), self)

    def to_spatialdata(self) -> Any:
        """SpatialData: the polygons of each image as a shapes element, annotated by a table as in `to_anndata`.

        Shapes are in the ensemble's unit, the coordinate system "global", and if the pixel size is known also in
        "pixels", with the origin at the outer corner of the first pixel.

        Raises
        ------
        ImportError
            If spatialdata is not installed, with instructions.
        """
        return exchange.spatialdata(self.to_anndata(), self.to_dataframe(), self)

    @classmethod
    def from_anndata(cls, data: Any) -> Ensemble:
        """Restore the outlines of the observations that `to_anndata` wrote, or of a subset of them.

        Parameters
        ----------
        data : AnnData

        Raises
        ------
        ValueError
            If the data hold no outlines.
        """
        return cls(**exchange.of_anndata(data))

    @classmethod
    def from_labels(
        cls,
        labels: ArrayLike,
        *,
        metadata: Mapping[str, Any] | None = None,
        scale: Sequence[float] = (1, 1),
        unit: str = "pixel",
        name: str = "",
        **options: Any,
    ) -> Ensemble:
        """Trace the outlines of labels or of a binary mask, as `extract_curves` does.

        Parameters
        ----------
        labels : (rows, columns) array
        metadata : mapping, optional
            One value per column, or one per curve.
        scale, unit, name, **options
            Parameters of `extract_curves`; the others are smoothing, border, min_area, ...

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import Ensemble
        >>> labels = np.zeros((40, 40), int)
        >>> labels[10:30, 5:25] = 7
        >>> Ensemble.from_labels(labels, scale=(0.5, 0.5), unit="µm", metadata={"well": "B2"}).ids
        array([7])
        """
        traced = cls(**traced_labels(labels, tracing_recipe(**options), scale=scale, unit=unit, name=name))
        return traced.assign(**(metadata or {}))

    @classmethod
    def from_masks(
        cls, masks: Sequence[ArrayLike] | NDArray[Any], *, metadata: Mapping[str, Any] | None = None, **options: Any
    ) -> Ensemble:
        """Trace one object per mask, as instance segmentation returns them; masks may overlap.

        Parameters
        ----------
        masks : sequence of (rows, columns) arrays, or (N, rows, columns) array
            If a mask has several connected components, the largest is used.
        metadata : mapping, optional
            One value per column, or one per mask.
        **options
            Parameters of `extract_curves`.

        Returns
        -------
        Ensemble
            Ids are the indices of the masks.

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import Ensemble
        >>> masks = np.zeros((3, 40, 40), bool)
        >>> masks[0, 5:20, 5:20], masks[1, 10:30, 10:30] = True, True
        >>> found = Ensemble.from_masks(masks, metadata={"score": [0.9, 0.8, 0.1]})
        >>> found.ids, found.dropped, found.metadata["score"].tolist()
        (array([0, 1]), {Reason('empty masks'): 1}, [0.9, 0.8])
        """

        def trace(mask: NDArray[np.bool_]) -> Ensemble:
            return cls.from_labels(mask, **options)

        return cls(**exchange.of_masks(masks, trace, metadata or {}, name=options.get("name", "")))

    @classmethod
    def from_polygons(cls, polygons: Any, *, order: str = "xy", **options: Any) -> Ensemble:
        """Create an ensemble from shapely polygons, a GeoSeries or a GeoDataFrame.

        Parameters
        ----------
        polygons : sequence of shapely geometries, GeoSeries or GeoDataFrame
            Of a multipolygon the largest part is used; holes are ignored and counted in `filled`. Of a GeoDataFrame the
            columns id and image are used, further ones become metadata, and `attrs` may hold name and unit.
        order : {"xy", "rc"}
            Whether the first coordinate is x (the column) or the row.
        **options
            Parameters of `Ensemble`: name, unit, ids, pixel_size, metadata.

        Examples
        --------
        >>> import shapely
        >>> from napari_shape_ensembles import Ensemble
        >>> ensemble = Ensemble.from_polygons([shapely.box(0, 0, 4, 1), shapely.Point(0, 0)], unit="µm")
        >>> ensemble, ensemble.dropped
        (Ensemble('': 1 curve in µm, 1 left out), {Reason('not a polygon'): 1})
        >>> ensemble[0].max(axis=0)
        array([1., 4.])
        """
        return cls(**exchange.of_polygons(polygons, order, options))

    @classmethod
    def from_contours(cls, contours: Sequence[ArrayLike], *, order: str = "xy", **options: Any) -> Ensemble:
        """Create an ensemble from contours as OpenCV's `findContours` returns them, (m, 1, 2) arrays of x and y.

        OpenCV's contours run through the centers of the outermost pixels, half a pixel inside the boundary.

        Parameters
        ----------
        contours : sequence of (m, 1, 2) or (m, 2) arrays
        order : {"xy", "rc"}
            Whether the first coordinate is x (the column) or the row.
        **options
            Parameters of `Ensemble`.

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import Ensemble
        >>> contour = np.array([[[0, 0]], [[0, 5]], [[9, 5]], [[9, 0]]], dtype=np.int32)
        >>> Ensemble.from_contours([contour])[0].max(axis=0)
        array([5., 9.])
        """
        return cls(
            exchange.rows_first(
                [np.squeeze(np.asarray(one), axis=1) if np.ndim(one) == 3 else one for one in contours], order
            ),
            **options,
        )

    @classmethod
    def from_paths(cls, paths: Sequence[Any], *, order: str = "xy", **options: Any) -> Ensemble:
        """Create an ensemble from Matplotlib paths, such as those of a contour plot or a lasso.

        Parameters
        ----------
        paths : sequence of matplotlib.path.Path
            Bézier curves are flattened. If a path has several rings, the largest is used.
        order : {"xy", "rc"}
            Whether the first coordinate is x (the column) or the row.
        **options
            Parameters of `Ensemble`.

        Examples
        --------
        >>> from matplotlib.path import Path
        >>> from napari_shape_ensembles import Ensemble
        >>> Ensemble.from_paths([Path.unit_circle()], unit="mm").features["area"].round(2).tolist()
        [3.14]
        """
        return cls(**exchange.of_paths(paths, order, options))

    def __getstate__(self) -> dict[str, Any]:
        # Derived attributes are not pickled: they would double what is sent to another process.
        return {name: value for name, value in vars(self).items() if name != "curves"} | {"_features": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        seal(self)
        for array in self._metadata.values():
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int | np.integer) -> Real: ...

    @overload
    def __getitem__(self, index: slice | ArrayLike) -> Ensemble: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            raise TypeError(f"an ensemble has no column {index!r}: its columns are in .metadata and .features")
        if not isinstance(index, slice):
            places = np.asarray(index)
            if places.ndim == 0 and places.dtype.kind in "iu":
                return self.curves[int(index)]
            if places.dtype == np.bool_:
                if places.shape != (len(self),):
                    raise IndexError(f"a mask for {len(self)} curves must hold as many booleans, not {places.shape}")
            elif places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
                raise IndexError(
                    f"curves are selected by integers, a slice, or a mask of {len(self)} booleans, not {index!r}"
                )
            index = places if places.size else places.astype(np.intp)  # an empty list is an array of floats
        kept = np.arange(len(self))[index]
        return self.derived([self.curves[i] for i in kept], kept)

    def __add__(self, other: Ensemble) -> Ensemble:
        return Ensemble.pooled([self, other]) if isinstance(other, Ensemble) else NotImplemented

    def __repr__(self) -> str:
        left_out = f", {sum(self._dropped.values())} left out" if self._dropped else ""
        return f"Ensemble({self.name!r}: {counted(len(self), 'curve')} in {self.unit}{left_out})"


class _OfEnsemble(list[ArrayLike]):
    """Some curves of ensembles, which no longer repeat their first vertex; too few of them would tell otherwise."""


def _height_and_width(given: Any, name: str, of: str) -> tuple[float, float]:
    """Validate the height and width of something; one number is both."""
    sides = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if sides.shape not in ((1,), (2,)) or not (np.isfinite(sides).all() and (sides > 0).all()):
        raise ValueError(f"{name} must be the height and width of {of}, two positive numbers, not {given!r}")
    return float(sides[0]), float(sides[-1])


def _spread(
    members: Sequence[Ensemble], attribute: str, columns: Sequence[str]
) -> tuple[list[Ensemble], tuple[float, float] | None]:
    """Height and width that all members share; where they do not, members with those of each outline as metadata."""
    values: list[tuple[float, float] | None] = [getattr(member, attribute) for member in members]
    known = [value for value in values if value is not None]
    if not known or (len(known) == len(values) and np.allclose(known, known[:1], rtol=1e-9, atol=0)):
        return list(members), values[0]
    return [
        member
        if columns[0] in member._metadata
        else member.assign(**dict(zip(columns, value or (np.nan, np.nan), strict=True)))
        for member, value in zip(members, values, strict=True)
    ], None


def _pooled_images(images: Sequence[NDArray[np.str_]]) -> NDArray[np.str_]:
    """Names of the images of several ensembles, made unique: equal names in two ensembles are different images."""
    unique = [list(dict.fromkeys(names.tolist())) for names in images]
    apart = iter(distinct([name for names in unique for name in names]))
    renamed = [{name: next(apart) for name in names} for names in unique]
    return np.array([new[name] for new, names in zip(renamed, images, strict=True) for name in names.tolist()], np.str_)


def _column(name: str, given: Any, count: int) -> NDArray[Any]:
    """Broadcast N values, or a scalar, to one value per curve, (N,)."""
    if name in exchange.RESERVED_COLUMNS:
        raise ValueError(f"metadata cannot be named {name!r}, as a measured column has that name: rename it")
    values = np.asarray(given)
    if values.dtype.kind in "OT":  # strings, or numbers with missing values
        kinds = {type(value) for value in values.ravel().tolist()}
        if not kinds <= {str} and not kinds <= {int, float, bool}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"metadata {name!r} mixes {names}: give numbers, strings or booleans, without gaps")
        values = values.astype(np.str_ if kinds <= {str} else np.float64)
    if values.dtype.kind not in "biufU":
        raise ValueError(f"metadata {name!r} holds {values.dtype} values: give numbers, strings or booleans")
    if values.ndim == 0:
        values = np.full(count, values)
    if values.shape != (count,):
        raise ValueError(f"metadata {name!r} has shape {values.shape}: give {count} values, one per curve, or one")
    if values.dtype.kind == "U":
        text("".join(values.tolist()), f"metadata {name!r}")
    return np.array(values)


@cache
def _type_of_metadata() -> type[pd.DataFrame]:
    """Return the type of `Ensemble.metadata`: a table in which no column can be set; its copies are ordinary ones."""
    import pandas as pd  # slow to import, and not needed for an ensemble

    class Metadata(pd.DataFrame):
        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return pd.DataFrame

        def __setitem__(self, key: Any, value: Any) -> None:
            raise TypeError(
                f"the metadata of an ensemble cannot be changed: ensemble = ensemble.assign({key}=...) returns one "
                "with that column"
            )

    return Metadata


def _pooled_columns(members: Sequence[Ensemble]) -> dict[str, NDArray[Any]]:
    """Concatenate columns of metadata; NaN or an empty string where a member has none."""
    tables = [one._metadata for one in members]
    pooled = {}
    for name in dict.fromkeys(name for table in tables for name in table):
        kinds = {table[name].dtype.kind if name in table else None for table in tables}
        columns = []
        for table, member in zip(tables, members, strict=True):
            if name in table and (kinds <= set("b") or kinds <= {*"iuf", None} or kinds <= {"U", None}):
                columns.append(table[name])
            elif name in table:
                columns.append(table[name].astype(np.str_))
            else:
                columns.append(np.full(len(member), np.nan if kinds <= {*"iuf", None} else ""))
        pooled[name] = np.concatenate(columns)
    return pooled


def _pooled_ids(ids: Sequence[NDArray[Any]], names: list[str]) -> NDArray[Any]:
    """Pool ids if they are unique and of one type; else prefix the image, and number those that still clash."""
    together = [value for group in ids for value in group.tolist()]
    alike = len({array.dtype.kind for array in ids if len(array)}) <= 1
    if alike and len(set(together)) == len(together):
        return np.array(together)
    groups = zip(ids, names, strict=True)
    return np.array(distinct([f"{name}:{value}" for group, name in groups for value in group.tolist()]))


def _arrays(curves: Sequence[ArrayLike] | Real | Ensemble) -> list[NDArray[Any]]:
    """Convert curves to arrays of vertices; raise for anything else."""
    if isinstance(curves, Ensemble):
        raise ValueError(
            "the curves are an Ensemble already: select some with ensemble[rows], join two with one + other, or give "
            "list(ensemble) to make another of them, without their unit, images and ids"
        )
    if not isinstance(curves, Iterable):
        raise ValueError(
            f"curves must be a sequence of (m, 2) arrays, rows and columns of their vertices, not {curves!r}"
        )
    arrays: list[NDArray[Any]] = []
    for index, curve in enumerate(curves):
        try:
            array = np.asarray(curve)
        except ValueError as error:
            raise ValueError(f"curve {index} is not an (m, 2) array of vertices: {error}") from error
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"curve {index} has shape {array.shape}: curves must be (m, 2) arrays, rows and columns of their "
                "vertices (Ensemble.from_labels traces labels, io.read_curves reads a file)"
            )
        if array.dtype.kind not in "iuf":
            raise ValueError(f"curve {index} holds {array.dtype} values: vertices must be real numbers")
        if isinstance(curve, np.ma.MaskedArray):  # a masked vertex is unknown, like NaN
            array = np.ma.filled(curve.astype(np.float64), np.nan)
        arrays.append(array)
    return arrays


def _unique_ids(ids: ArrayLike, count: int) -> NDArray[Any]:
    """Validate the ids of `count` curves: unique numbers or strings."""
    names = np.array(ids)
    if names.dtype.kind in "OT" and all(isinstance(name, str) for name in names.ravel()):  # texts of pandas
        names = names.astype(np.str_)
    if names.shape != (count,):
        raise ValueError(f"{count} curves need {count} ids in one sequence, not ids of shape {names.shape}")
    if len(names) and names.dtype.kind not in "iufU":
        raise ValueError(f"ids must be numbers or strings, not {names.dtype} values such as {names[0]!r}")
    if names.dtype.kind == "f" and not np.isfinite(names).all():
        raise ValueError("ids must be finite: one of them is NaN or infinite")
    if names.dtype.kind == "U":
        text("".join(map(str, names)), "ids")
    if repeated := [value for value, times in Counter(names.tolist()).items() if times > 1]:
        raise ValueError(f"ids must be unique: {repeated[0]!r} stands for more than one curve")
    return names
