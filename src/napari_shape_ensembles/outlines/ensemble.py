"""An ensemble: the closed curves of one image, cleaned once, with a count of what had to be left out."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .features import aspect_ratios, centred, per_curve, perimeters, signed_areas, solidities
from .spline import Complex, Index, Real, following
from .units import conversion_factor

if TYPE_CHECKING:
    import pandas as pd

Mask = NDArray[np.bool_]

# Vertices nearer than this share of the largest coordinate differ by rounding only.
_SAME = 1e-12
# A curve is collinear when the smaller of its two RMS extents is below a millionth of the larger ...
_FLAT = 1e-12
# ... and encloses nothing when its loops cancel to this share of the squared perimeter.
_NOTHING = 1e-12
# Products of eight lengths are taken; beyond these sizes, in any unit, they would overflow or vanish.
_SMALLEST, _LARGEST = 1e-30, 1e30


class Ensemble:
    """Closed curves of one image.

    Vertices that repeat the next one (a repeated first vertex included) are dropped. Curves that cannot be
    used are left out and counted by reason: "NaN or infinite vertices" (or beyond 1e30), "fewer than 3 distinct
    vertices", "collinear", "zero area" (loops that cancel, or shorter than 1e-30). The direction of traversal stays as
    it is.

    Parameters
    ----------
    curves : sequence of (m, 2) arrays
        Vertices as (row, column), in `unit`. Closed; the first vertex need not be repeated.
    name : str
        Of the image, for messages and tables.
    unit : str
        Of the coordinates: "pixel", or a unit of length such as "µm".
    ids : sequence, optional
        One unique id per curve; by default the place of each curve in `curves`, counted from 0.
    dropped : mapping of str to int, optional
        Objects left out by earlier steps: reason -> count.
    images : sequence of str, optional
        Name of the image each curve comes from, where there are several; by default `name`. See `pooled`.
    pixel_size : float or (float, float), optional
        Side, or height and width, of a pixel of the image in `unit`, where it is known.

    Attributes
    ----------
    vertices : (M, 2) float array
        All vertices, one curve after the other; read-only.
    offsets : (N + 1,) int array
        Curve i is `vertices[offsets[i]:offsets[i + 1]]`; read-only.
    ids : (N,) array
        Ids of the curves kept; read-only.
    pixel_size : (float, float) or None
        Height and width of a pixel in `unit`.

    Raises
    ------
    ValueError
        For a curve that is not an (m, 2) array of numbers, ids that do not match the curves one to one, an
        empty unit or a negative count.

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
    """

    vertices: Real
    offsets: Index
    ids: NDArray[Any]

    def __init__(
        self,
        curves: Sequence[ArrayLike] | Real,
        *,
        name: str = "",
        unit: str = "pixel",
        ids: ArrayLike | None = None,
        dropped: Mapping[str, int] | None = None,
        images: Sequence[str] | NDArray[np.str_] | None = None,
        pixel_size: float | Sequence[float] | Real | None = None,
    ) -> None:
        if not isinstance(unit, str) or not unit.strip():
            raise ValueError(f'unit is "pixel" or a unit of length such as "µm", not {unit!r}')
        arrays = [_vertices(index, curve) for index, curve in enumerate(curves)]
        counts = _counts(dropped or {})
        vertices, offsets, kept = _cleaned(*_joined(arrays), counts)
        self.name, self.unit = name, unit
        self.pixel_size = _pixel(pixel_size)
        self._dropped = {reason: count for reason, count in counts.items() if count}
        self.vertices = _read_only(vertices.view(np.float64).reshape(-1, 2))
        self.offsets = _read_only(offsets)
        self.ids = _read_only(_ids(ids, len(arrays))[kept])
        self._images = None if images is None else _read_only(_image_names(images, len(arrays))[kept])

    @classmethod
    def pooled(cls, ensembles: Sequence["Ensemble"], *, name: str = "") -> "Ensemble":
        """Pool the curves of several images of one sample.

        Parameters
        ----------
        ensembles : sequence of Ensemble
            Expressed in the unit of the first.
        name : str
            Of the whole; by default the names of the images, joined by " + ".

        Returns
        -------
        Ensemble
            Its `images` tell where each curve comes from. Ids stay as they are where they are of one kind and
            unique over all images, else they become "image:id". What was left out is added up by reason.

        Raises
        ------
        ValueError
            For no ensemble, or units that cannot be converted.
        """
        if not ensembles:
            raise ValueError("a sample needs at least one image: give one or more ensembles")
        if len(ensembles) == 1 and not name:
            return ensembles[0]
        members = [ensemble.to(ensembles[0].unit) for ensemble in ensembles]
        names = _distinct([member.name for member in members])
        return cls(
            [curve for member in members for curve in member.curves],
            name=name or " + ".join(names),
            unit=members[0].unit,
            ids=_pooled_ids([member.ids for member in members], names),
            dropped=sum((Counter(member.dropped) for member in members), Counter()),
            images=_pooled_images([member.images for member in members]),
            pixel_size=_common([member.pixel_size for member in members]),
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
    def dropped(self) -> dict[str, int]:
        """What was left out: reason -> count, no zeros."""
        return dict(self._dropped)

    @property
    def features(self) -> "pd.DataFrame":
        """One row per curve, in the ensemble's unit.

        Columns: id; area of the polygon (loops that run the other way round count negative); perimeter;
        equivalent_diameter, that of a circle of this area; circularity 4π·area/perimeter²; aspect_ratio of the
        ellipse with the same second moments of area; solidity, area over the area of the convex hull.
        """
        return self._features.copy()

    @cached_property
    def _features(self) -> "pd.DataFrame":
        import pandas as pd  # heavy, and not needed for a comparison

        vertices = self.vertices.view(np.complex128)[:, 0]
        area = np.abs(signed_areas(vertices, self.offsets))
        perimeter = perimeters(vertices, self.offsets)
        return pd.DataFrame(
            {
                "id": self.ids,
                "area": area,
                "perimeter": perimeter,
                "equivalent_diameter": np.sqrt(4 * area / np.pi),
                "circularity": 4 * np.pi * area / perimeter**2,
                "aspect_ratio": aspect_ratios(vertices, self.offsets),
                "solidity": solidities(vertices, self.offsets),
            }
        )

    def subset(self, mask: ArrayLike) -> "Ensemble":
        """Return the curves where `mask` (N booleans) is true, with their ids; `dropped` stays as it is.

        Raises
        ------
        ValueError
            When the mask does not hold one boolean per curve.
        """
        chosen = np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise ValueError(
                f"a mask for {len(self)} curves holds as many booleans, not {chosen.dtype} of shape {chosen.shape}"
            )
        curves = [self.curves[i] for i in np.flatnonzero(chosen)]
        return Ensemble(
            curves,
            name=self.name,
            unit=self.unit,
            ids=self.ids[chosen],
            dropped=self._dropped,
            images=None if self._images is None else self._images[chosen],
            pixel_size=self.pixel_size,
        )

    def to(self, unit: str) -> "Ensemble":
        """Return the ensemble in another unit of length.

        Parameters
        ----------
        unit : str
            Any length that pint knows ("um", "µm", "nm", "mm", ...) or the ensemble's own.

        Returns
        -------
        Ensemble
            The ensemble itself where nothing changes.

        Raises
        ------
        ValueError
            Where no factor leads from one unit to the other, such as from pixels to µm.
        """
        if unit == self.unit:
            return self
        factor = conversion_factor(self.unit, unit)
        return Ensemble(
            [curve * factor for curve in self.curves],
            name=self.name,
            unit=unit,
            ids=self.ids,
            dropped=self.dropped,
            images=self._images,
            pixel_size=None if self.pixel_size is None else [side * factor for side in self.pixel_size],
        )

    def __getstate__(self) -> dict[str, Any]:
        # What is derived from the rest is left behind: it would double what is sent to another process.
        return {name: value for name, value in vars(self).items() if name not in ("curves", "_features")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.vertices, self.offsets, self.ids):
            _read_only(array)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Real:
        return self.curves[index]

    def __repr__(self) -> str:
        left_out = f", {sum(self._dropped.values())} left out" if self._dropped else ""
        return f"Ensemble({self.name!r}: {counted(len(self), 'curve')} in {self.unit}{left_out})"


def _vertices(index: int, curve: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(curve)
    except ValueError as error:
        raise ValueError(f"curve {index} is not an (m, 2) array of vertices: {error}") from error
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"curve {index} has shape {array.shape}: curves are a sequence of (m, 2) arrays, rows and columns of "
            "their vertices"
        )
    if array.dtype.kind not in "iuf":
        raise ValueError(f"curve {index} holds {array.dtype} values: vertices are real numbers")
    return array


def _counts(dropped: Mapping[str, int]) -> Counter[str]:
    for reason, count in dropped.items():
        if not isinstance(count, int | np.integer) or count < 0:
            raise ValueError(f'dropped holds numbers of objects, not {count!r} for "{reason}"')
    return Counter({reason: int(count) for reason, count in dropped.items()})


def _ids(ids: ArrayLike | None, count: int) -> NDArray[Any]:
    if ids is None:
        return np.arange(count)
    array = np.array(ids)
    if array.shape != (count,):
        raise ValueError(f"{count} curves need {count} ids in one sequence, not ids of shape {array.shape}")
    repeated = [value for value, times in Counter(array.tolist()).items() if times > 1]
    if repeated:
        raise ValueError(f"ids must be unique: {repeated[0]!r} stands for more than one curve")
    return array


def _pixel(size: float | Sequence[float] | Real | None) -> tuple[float, float] | None:
    """Height and width of a pixel."""
    if size is None:
        return None
    sides = np.atleast_1d(np.asarray(size, dtype=np.float64))
    if sides.shape not in ((1,), (2,)) or not (np.isfinite(sides).all() and (sides > 0).all()):
        raise ValueError(f"pixel_size is the height and width of a pixel, two positive numbers, not {size!r}")
    return float(sides[0]), float(sides[-1])


def _common(sizes: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """The pixel size that several images share; None where they differ, but for rounding, or one is not known."""
    known = [size for size in sizes if size is not None]
    alike = len(known) == len(sizes) and np.allclose(known, known[:1], rtol=1e-9, atol=0)
    return known[0] if alike else None


def _image_names(images: Sequence[str] | NDArray[np.str_], count: int) -> NDArray[np.str_]:
    array = np.array(images, dtype=np.str_)
    if array.shape != (count,):
        raise ValueError(f"{count} curves need {count} names of images, not names of shape {array.shape}")
    return array


def _distinct(names: list[str]) -> list[str]:
    """Names made different from one another by a number that makes no name of another."""
    whole = [name or "image" for name in names]
    taken, found = set(whole), set[str]()
    distinct = []
    for name in whole:
        if name in found:
            name = next(new for new in (f"{name} ({number})" for number in itertools.count(2)) if new not in taken)
            taken.add(name)
        found.add(name)
        distinct.append(name)
    return distinct


def _pooled_images(images: Sequence[NDArray[np.str_]]) -> NDArray[np.str_]:
    """Names of the images of several ensembles, each of which stands for images of its own."""
    own = [list(dict.fromkeys(names.tolist())) for names in images]
    distinct = iter(_distinct([name for names in own for name in names]))
    renamed = [{name: next(distinct) for name in names} for names in own]
    return np.array([new[name] for new, names in zip(renamed, images, strict=True) for name in names.tolist()], np.str_)


def _pooled_ids(ids: Sequence[NDArray[Any]], names: list[str]) -> NDArray[Any]:
    """Ids of one kind that are unique; else in words with the image, and a number where even these clash."""
    together = [value for group in ids for value in group.tolist()]
    alike = len({array.dtype.kind for array in ids if len(array)}) <= 1
    if alike and len(set(together)) == len(together):
        return np.array(together)
    groups = zip(ids, names, strict=True)
    return np.array(_distinct([f"{name}:{value}" for group, name in groups for value in group.tolist()]))


def _joined(arrays: Iterable[NDArray[Any]]) -> tuple[Complex, Index]:
    """All vertices as row + 1j * column, and where each curve starts."""
    arrays = [np.empty((0, 2)), *arrays]
    offsets = np.cumsum([len(array) for array in arrays])
    vertices = np.concatenate(arrays, dtype=np.float64)
    return vertices.view(np.complex128)[:, 0], offsets.astype(np.int64)


def _cleaned(vertices: Complex, offsets: Index, counts: Counter[str]) -> tuple[Complex, Index, Index]:
    """Leave out what cannot be used, adding to `counts`; also return the places of the curves kept."""
    kept = np.arange(len(offsets) - 1)
    for reason, usable in (
        ("NaN or infinite vertices", _finite),
        ("fewer than 3 distinct vertices", _three),
        ("fewer than 3 distinct vertices", _three),  # again, now without repeats
        ("collinear", _spread),
        ("zero area", _enclosing),
    ):
        keep = usable(vertices, offsets)
        if not keep.all():
            counts[reason] += int(np.count_nonzero(~keep))
            vertices = vertices[np.repeat(keep, np.diff(offsets))]
            offsets = _running(np.diff(offsets)[keep])
            kept = kept[keep]
        if usable is _three:
            vertices, offsets = _without_repeats(vertices, offsets)
    return vertices, offsets, kept


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 curve", "2 curves"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _without_repeats(vertices: Complex, offsets: Index) -> tuple[Complex, Index]:
    """Drop each vertex that the next one of its closed curve repeats."""
    largest = np.maximum.reduceat(np.abs(vertices), offsets[:-1])
    gap = np.abs(vertices[following(offsets)] - vertices)
    new = gap > _SAME * np.repeat(largest, np.diff(offsets))
    return vertices[new], _running(new)[offsets]


def _running(values: NDArray[np.generic]) -> Index:
    """Sum of the values before each place, and of all."""
    return np.concatenate([[0], np.cumsum(values)]).astype(np.int64)


def _finite(vertices: Complex, offsets: Index) -> Mask:
    within = np.maximum(np.abs(vertices.real), np.abs(vertices.imag)) < _LARGEST
    lost_before = _running(~within)[offsets]
    return lost_before[1:] == lost_before[:-1]


def _three(vertices: Complex, offsets: Index) -> Mask:
    return np.diff(offsets) >= 3


def _spread(vertices: Complex, offsets: Index) -> Mask:
    spokes = centred(vertices, offsets)
    # Twice the angle of the longest extent is that of Σz²; moments along it lose no digits to cancellation.
    turn = np.exp(-0.5j * np.angle(per_curve(spokes * spokes, offsets)))
    across = (spokes * np.repeat(turn, np.diff(offsets))).imag
    return per_curve(across**2, offsets) > _FLAT * per_curve(np.abs(spokes) ** 2, offsets)


def _enclosing(vertices: Complex, offsets: Index) -> Mask:
    lengths = perimeters(vertices, offsets)
    return (lengths > _SMALLEST) & (np.abs(signed_areas(vertices, offsets)) > _NOTHING * lengths**2)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def in_unit(ensemble: Ensemble, unit: str) -> Ensemble:
    """Return an ensemble in another unit of length; see `Ensemble.to`."""
    return ensemble.to(unit)
