"""Conversion of outlines from and to other libraries: polygons, contours, paths, masks, GeoPandas and AnnData.

Importing functions return the parameters of an `Ensemble`. (x, y) becomes (row, column).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

from .reasons import NOT_POLYGON, PARTS, Reason

Options = dict[str, Any]

_EMPTY, _OPEN = Reason("empty masks"), Reason("not a closed path")
#: Attributes of an `Ensemble` that are a height and a width in its unit, or None.
SIDES = ("pixel_size", "window")
#: Key of the outlines in AnnData's `uns`.
KEY = "shape_ensembles"
#: Columns of `Ensemble.features`, and all names reserved for measured columns in tables of results.
MEASURED = ("area", "perimeter", "equivalent_diameter", "circularity", "aspect_ratio", "solidity")
DISTANCES = ("distance_from_mean", "undulation", "scale", "paper_distance")
UNUSUAL = ("unusual", "unusual_form", "unusual_size")
RESERVED_COLUMNS = frozenset(("id", "image", "sample", "geometry", "outline", *MEASURED, *DISTANCES, *UNUSUAL))


class Outlined(Protocol):
    """Attributes of an `Ensemble` used here, without importing it."""

    name: str
    unit: str
    pixel_size: tuple[float, float] | None
    window: tuple[float, float] | None
    vertices: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @property
    def curves(self) -> tuple[NDArray[np.float64], ...]:
        """The curves, each an (m, 2) array."""

    @property
    def images(self) -> NDArray[np.str_]:
        """Name of the image of each curve."""

    @property
    def dropped(self) -> dict[Reason, int]:
        """Rejected objects by reason."""

    @property
    def tracing(self) -> dict[str, Any]:
        """Tracing parameters of the outlines."""


def needed(package: str, extra: str, what: str) -> Any:
    """Import an optional package.

    Raises
    ------
    ImportError
        With instructions to install it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f'{what} needs {package}: pip install "napari-shape-ensembles[{extra}]"') from error


def rows_first(curves: Sequence[ArrayLike], order: str) -> list[NDArray[Any]]:
    """Convert curves to (row, column) order."""
    if order not in ("xy", "rc"):
        raise ValueError(f'order must be "xy" (column, row) or "rc" (row, column), not {order!r}')
    arrays = [np.asarray(curve) for curve in curves]
    for place, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(f"outline {place} has shape {array.shape}: give (m, 2) arrays of vertices")
    return [array[:, ::-1] for array in arrays] if order == "xy" else arrays


def of_masks(
    masks: Any, trace: Callable[[NDArray[np.bool_]], Outlined], metadata: Mapping[str, Any], *, name: str
) -> Options:
    """Parameters of an ensemble of one object per mask, each traced separately."""
    planes = [np.asarray(mask) for mask in masks]
    if not planes or any(plane.ndim != 2 for plane in planes):
        raise ValueError("masks must be planes of pixels, one per object, in a list or an (N, rows, columns) array")
    dropped: Counter[Reason] = Counter()
    curves, kept, traced = [], [], None
    for place, plane in enumerate(planes):
        inside = plane.astype(bool)
        if not inside.any():
            dropped[_EMPTY] += 1
            continue
        traced = trace(inside)
        if traced.curves:
            curves.append(max(traced.curves, key=lambda curve: shapely.Polygon(curve).area))
            kept.append(place)
            dropped[PARTS] += len(traced.curves) - 1
        dropped.update(traced.dropped)
    kept_alike = ("unit", "pixel_size", "window", "tracing")
    common = {} if traced is None else {each: getattr(traced, each) for each in kept_alike}
    columns = {name: np.asarray(value)[kept] if np.ndim(value) else value for name, value in metadata.items()}
    return {"curves": curves, "ids": kept, "dropped": dropped, "metadata": columns, "name": name, **common}


def of_polygons(polygons: Any, order: str, options: Options) -> Options:
    """Parameters of an ensemble of shapely polygons, or of a GeoSeries or GeoDataFrame of them."""
    attributes: Options = {"metadata": {}}
    frame = polygons if hasattr(polygons, "columns") and hasattr(polygons, "geometry") else None
    if frame is not None:
        attributes |= {name: frame.attrs[name] for name in ("name", "unit", *SIDES, "tracing") if frame.attrs.get(name)}
        attributes |= {
            key: frame[name].to_numpy() for name, key in (("id", "ids"), ("image", "images")) if name in frame
        }
        if {"ids", "images"} <= attributes.keys():
            attributes["ids"] = _made_unique(attributes["ids"], attributes["images"])
        further = [name for name in frame.columns if name not in RESERVED_COLUMNS and name != frame.geometry.name]
        if "sample" in frame:  # of a comparison, whose distances and coordinates are not metadata
            further = [name for name in further if not re.fullmatch(r"[tl]\d+", str(name))]
        attributes["metadata"] = {str(name): _without_gaps(frame[name]).to_numpy() for name in further}
    elif hasattr(polygons, "geom_type") and not hasattr(polygons, "index"):
        polygons = [polygons]  # a single geometry
    dropped: Counter[Reason] = Counter(options.pop("dropped", {}))
    curves, kept, filled = [], [], 0
    for place, geometry in enumerate(frame.geometry if frame is not None else polygons):
        parts = [] if geometry is None else shapely.get_parts(geometry).tolist()
        rings = [part for part in parts if part.geom_type in ("Polygon", "LinearRing") and not part.is_empty]
        if not rings:
            dropped[NOT_POLYGON] += 1
            continue
        dropped[PARTS] += len(parts) - 1
        ring = max(rings, key=lambda one: shapely.area(shapely.Polygon(one.coords) if _is_ring(one) else one))
        filled += not _is_ring(ring) and len(ring.interiors) > 0
        curves.append(np.asarray((ring if _is_ring(ring) else ring.exterior).coords)[:-1, :2])
        kept.append(place)
    attributes = attributes | options
    attributes["filled"] = filled
    return _selected({**attributes, "curves": rows_first(curves, order), "dropped": dropped}, kept)


def _is_ring(geometry: Any) -> bool:
    return bool(geometry.geom_type == "LinearRing")


def of_paths(paths: Sequence[Any], order: str, options: Options) -> Options:
    """Parameters of an ensemble of Matplotlib paths."""
    dropped: Counter[Reason] = Counter(options.pop("dropped", {}))
    curves, kept = [], []
    for place, path in enumerate(paths):
        if not hasattr(path, "to_polygons"):
            raise ValueError(f"path {place} is a {type(path).__name__}, not a matplotlib.path.Path")
        rings = [ring for ring in path.to_polygons(closed_only=True) if len(ring) > 3]
        if not rings:
            dropped[_OPEN] += 1
            continue
        dropped[PARTS] += len(rings) - 1
        curves.append(max(rings, key=lambda ring: shapely.area(shapely.Polygon(ring)))[:-1])
        kept.append(place)
    return _selected({**options, "curves": rows_first(curves, order), "dropped": dropped}, kept)


def _selected(attributes: Options, kept: list[int]) -> Options:
    """Select the objects kept in all parameters that have one value per object."""
    columns = attributes.get("metadata", {})
    cut = {name: np.asarray(values)[kept] if np.ndim(values) else values for name, values in columns.items()}
    ids = np.asarray(attributes["ids"])[kept] if attributes.get("ids") is not None else np.array(kept, dtype=np.intp)
    images = attributes.get("images")
    images = None if images is None else [str(name) for name in np.asarray(images)[kept]]
    ids = ids.astype(np.str_) if ids.dtype.kind in "OT" and all(isinstance(one, str) for one in ids) else ids
    return {**attributes, "metadata": cut, "ids": ids, "images": images}


def geodataframe(table: "pd.DataFrame", ensemble: Outlined) -> Any:
    """Add the polygons of the curves to a table, as a GeoDataFrame."""
    geopandas = needed("geopandas", "geo", "to_geodataframe")
    polygons = [shapely.Polygon(curve[:, ::-1]) for curve in ensemble.curves]
    frame = geopandas.GeoDataFrame(table, geometry=polygons)
    frame.attrs |= {"name": ensemble.name, "unit": ensemble.unit}
    frame.attrs |= {each: getattr(ensemble, each) for each in SIDES}
    frame.attrs |= {"tracing": ensemble.tracing} if ensemble.tracing else {}
    return frame


def anndata(
    values: "pd.DataFrame",
    annotations: "pd.DataFrame",
    ensemble: Outlined,
    obsm: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    **more: Any,
) -> Any:
    """AnnData of the features and annotations of every curve, its center, and the outlines.

    Parameters
    ----------
    values, annotations : DataFrame
        X and obs, one row per curve each.
    ensemble : Ensemble
        The curves.
    obsm : mapping of str to (N, d) arrays
        In addition to "spatial", the centers.
    **more
        Further entries of `uns["shape_ensembles"]`: arrays, numbers and strings.
    """
    package = needed("anndata", "anndata", "to_anndata")
    obs = annotations.assign(outline=np.arange(len(annotations)))
    obs.index = obs.index.astype(str)
    var = values.iloc[:0].T
    x = values.to_numpy(dtype=np.float64)
    outlines = {"vertices": np.array(ensemble.vertices), "offsets": np.array(ensemble.offsets)}
    words = {"name": ensemble.name, "unit": ensemble.unit}
    sides = {each: np.array(known) for each in SIDES if (known := getattr(ensemble, each)) is not None}
    centres = np.array([curve.mean(axis=0)[::-1] for curve in ensemble.curves]).reshape(-1, 2)
    # Serialized to JSON, as AnnData files support only some of the types in it.
    traced = {"tracing": json.dumps(ensemble.tracing)} if ensemble.tracing else {}
    uns = {KEY: {**outlines, **words, **sides, **traced, **more}}
    return package.AnnData(X=x, obs=obs, var=var, obsm={"spatial": centres, **obsm}, uns=uns)


def spatialdata(data: Any, table: "pd.DataFrame", ensemble: Outlined) -> Any:
    """SpatialData: the polygons of every image as a shapes element, and annotated data as their common table.

    Parameters
    ----------
    data : AnnData
        From `anndata`, one row per curve.
    table : DataFrame
        Columns of the shapes.
    ensemble : Ensemble

    Returns
    -------
    SpatialData
        Shapes are in the ensemble's unit, which is the coordinate system "global"; if the pixel size is known they have
        another one, "pixels", with the origin at the outer corner of the first pixel, as in SpatialData.
    """
    package = needed("spatialdata", "spatialdata", "to_spatialdata")
    models, transformations = package.models, package.transformations
    systems: Options = {"global": transformations.Identity()}
    if ensemble.pixel_size is not None:
        height, width = ensemble.pixel_size
        to_pixels = transformations.Scale([1 / width, 1 / height], axes=("x", "y"))
        corner = transformations.Translation([0.5, 0.5], axes=("x", "y"))
        systems["pixels"] = transformations.Sequence([to_pixels, corner])
    images = ensemble.images
    regions = _region_names(list(dict.fromkeys(images.tolist())))
    frame = geodataframe(table, ensemble)
    shapes = {
        region: models.ShapesModel.parse(frame[images == image], transformations=dict(systems))
        for image, region in regions.items()
    }
    data.obs["region"] = np.array([regions[image] for image in images.tolist()])
    data.obs["region"] = data.obs["region"].astype("category")
    data.obs["instance"] = np.arange(len(ensemble.curves))
    annotated = models.TableModel.parse(
        data, region=list(regions.values()), region_key="region", instance_key="instance"
    )
    return package.SpatialData(shapes=shapes, tables={"outlines": annotated})


def _region_names(images: list[str]) -> dict[str, str]:
    """Make names of images valid in SpatialData: letters, digits, points, hyphens and underscores."""
    names: dict[str, str] = {}
    for place, image in enumerate(images):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", image).strip("_.") or "outlines"
        lower = {name.lower() for name in names.values()}
        names[image] = plain if plain.lower() not in (*lower, "outlines") or not place else f"{plain}_{place}"
    return names


def of_anndata(data: Any) -> Options:
    """Parameters of the ensemble of the observations in AnnData."""
    kept = getattr(data, "uns", {}).get(KEY)
    if kept is None or "outline" not in data.obs:
        raise ValueError("these data contain no outlines: use data from Ensemble.to_anndata or Comparison.to_anndata")
    rows = data.obs["outline"].to_numpy().astype(int)
    curves = np.split(np.asarray(kept["vertices"]), np.asarray(kept["offsets"])[1:-1])
    images = [str(name) for name in data.obs["image"]]
    made = ("outline", "region", "instance")
    left_out = {*RESERVED_COLUMNS, *made}
    further = [str(name) for name in data.obs if name not in left_out]
    return {
        "curves": [curves[row] for row in rows],
        "ids": _made_unique(_plain(data.obs["id"]), images),
        "images": images,
        "name": str(kept["name"]),
        "unit": str(kept["unit"]),
        **{each: [float(side) for side in kept[each]] for each in SIDES if each in kept},
        "metadata": {name: _plain(data.obs[name]) for name in further},
        "tracing": json.loads(str(kept["tracing"])) if "tracing" in kept else None,
    }


def _plain(column: "pd.Series") -> NDArray[Any]:
    """Column as a NumPy array; AnnData converts strings to categories."""
    return column.to_numpy() if column.dtype.kind in "biuf" else _without_gaps(column).astype(str).to_numpy()


def _without_gaps(column: "pd.Series") -> "pd.Series":
    """Replace missing strings by empty ones, as in the metadata of pooled ensembles."""
    return column if column.dtype.kind in "biuf" else column.astype(object).where(column.notna(), "")


def _made_unique(ids: NDArray[Any], images: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
    """Prefix ids with their images if they repeat, as both samples may count from 0; else number them."""
    if len(set(ids.tolist())) == len(ids):
        return ids
    named = [f"{image}:{value}" for image, value in zip(images, ids.tolist(), strict=True)]
    return np.array(named) if len(set(named)) == len(named) else np.arange(len(ids))
