"""Stages, each applied to one piece at a time, locally or on a cluster, with arrays kept in the folder.

Sums over curves are computed per block of a piece, in order and in double precision; the sums of the pieces are added
in the order of the pieces. Results are therefore bitwise independent of the number and assignment of workers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..comparison import Settings, records
from ..comparison.learning import is_single
from ..comparison.parts import form_descriptors
from ..comparison.quantities import Quantities, quantities_of_landmarks
from ..outlines import Ensemble, at_pixel_size
from ..outlines.offsets import following
from ..outlines.reasons import rows_of
from ..progress import one_library_thread
from ..shapes import decompose, grassmann, register, to_landmarks
from ..shapes.registration import distinctness
from .pieces import Piece, Rows
from .store import Store

#: Names of the arrays and archives of a piece.
LANDMARKS, UNDULATION = "landmarks", "undulation"
ARCHETYPES, MEAN = "archetypes", "mean"
MEASURES, OUTLINES, PLACED, REGISTERED = "measures", "outlines", "placed", "registered"


@dataclass(frozen=True)
class PieceTask:
    """A piece, with the parameters common to all pieces."""

    store: Store
    settings: Settings
    index: int
    piece: Piece | None = None
    unit: str = ""
    pixel: float | None = None
    several: bool = False


class Measures(NamedTuple):
    """Properties of a piece needed before processing: number of curves, unit, pixel size, image names."""

    curves: int
    unit: str
    pixel_size: tuple[float, float] | None
    images: tuple[str, ...]


def read_outlines(task: PieceTask) -> Measures:
    """Read the outlines of a piece, and cache them on disk unless they are in memory."""
    assert task.piece is not None
    known = task.store.load(task.index, MEASURES)
    if known is None:
        ensemble = task.piece.load()
        images = list(dict.fromkeys(ensemble.images.tolist()))
        size = ensemble.pixel_size
        known = {"curves": len(ensemble), "unit": ensemble.unit, "images": images}
        known["pixel_size"] = None if size is None else list(size)
        if not isinstance(task.piece, Rows):
            task.store.save(task.index, OUTLINES, records.ensemble_tree(ensemble))
        task.store.save(task.index, MEASURES, known)
    size = known["pixel_size"]
    pixel_size = None if size is None else (size[0], size[1])
    return Measures(known["curves"], known["unit"], pixel_size, tuple(known["images"]))


def place_piece(task: PieceTask) -> None:
    """Place the landmarks of a piece, and save other properties of each of its N curves.

    `distinct` refers to the registered shapes, `raw_distinct` to the landmarks: both are empty if the choice of the
    archetype does not need them.
    """
    if task.store.load(task.index, PLACED) is not None:
        return
    assert task.piece is not None
    store, settings, index = task.store, task.settings, task.index
    kept = None if isinstance(task.piece, Rows) else store.load(index, OUTLINES)
    ensemble = (task.piece.load() if kept is None else records.ensemble_of_tree(kept)).to(task.unit)
    if task.pixel is not None:
        ensemble = at_pixel_size(ensemble, task.pixel)
    chosen = settings.archetype in ("asymmetric", "mean") and settings.registration != "none"
    distinct: list[Real] = [np.empty(0)]
    raw_distinct: list[Real] = [np.empty(0)]
    measured: list[Real] = []

    def landmarks() -> Iterator[Real]:
        for start in range(0, len(ensemble), store.rows):
            part = ensemble if len(ensemble) <= store.rows else ensemble[start : start + store.rows]
            found = to_landmarks(
                part, settings.landmarks, interpolation=settings.interpolation, measure=settings.measure
            )
            if chosen:
                preshapes = decompose(found)[0] if settings.registration == "standardized" else found
                distinct.append(distinctness(preshapes, reflections=settings.reflections))
            if chosen and settings.archetype == "mean" and settings.registration == "standardized":
                raw_distinct.append(distinctness(found, reflections=settings.reflections))
            if task.several:
                measured.append(np.column_stack(quantities_of_landmarks(found)))
            yield found.swapaxes(1, 2)

    store.write_rows(index, LANDMARKS, (len(ensemble), 2, settings.landmarks), landmarks())
    empty = not len(ensemble)
    vertices = np.empty(0) if empty else np.abs(ensemble.vertices).max(axis=1)
    areas, perimeters = _areas(ensemble)
    known = {
        "ids": ensemble.ids,
        "images": ensemble.images,
        "area": areas,
        "perimeter": perimeters,
        "largest": np.empty(0) if empty else np.maximum.reduceat(vertices, ensemble.offsets[:-1]),
        "distinct": np.concatenate(distinct),
        "raw_distinct": np.concatenate(raw_distinct),
        "measured": np.concatenate(measured) if measured else np.empty((len(ensemble), 0)),
        "single": bool(is_single(ensemble)) if len(ensemble) else True,
        "dropped": rows_of(ensemble.dropped),
        "filled": int(ensemble.filled),
    }
    store.save(index, PLACED, known)
    store.forget(index, OUTLINES)


def _areas(ensemble: Ensemble) -> tuple[Real, Real]:
    """Return area and perimeter of each outline; `Ensemble.features` is slower than placing landmarks."""
    if not len(ensemble):
        return np.empty(0), np.empty(0)
    starts, after = ensemble.offsets[:-1], following(ensemble.offsets)
    vertices = ensemble.vertices.view(np.complex128)[:, 0]
    here = vertices - np.repeat(vertices[starts], np.diff(ensemble.offsets))
    areas = np.abs(np.add.reduceat((here.conj() * here[after]).imag, starts)) / 2
    return areas, np.add.reduceat(np.abs(vertices[after] - vertices), starts)


def quantities_of(measured: Real) -> Quantities:
    """Unpack the columns that `place_piece` saved as `measured`: size, elongation, lobes, roughness."""
    return Quantities(measured[:, 0], measured[:, 1], measured[:, 2:-1], measured[:, -1])


class Matched(NamedTuple):
    """One iteration of a mean archetype: shift of each curve, whether it was reversed, and the sum of all curves."""

    shift: Real
    reversed: NDArray[np.bool_]
    total: Real


def match_piece(task: PieceTask, archetype: Real, standardized: bool) -> Matched:
    """Register the curves of a piece with the current mean archetype, and sum them at unit size."""
    shifts, flags, total = [np.empty(0)], [np.empty(0, np.bool_)], np.zeros(archetype.shape)
    for block in task.store.blocks(task.index, LANDMARKS):
        landmarks = block.swapaxes(1, 2)
        preshapes = decompose(landmarks)[0] if standardized else landmarks
        found = register(preshapes, archetype, reflections=task.settings.reflections)
        sizes = np.linalg.norm(found.landmarks, axis=(1, 2), keepdims=True)
        total += (found.landmarks / sizes).sum(axis=0)
        shifts.append(found.shift)
        flags.append(found.reversed)
    return Matched(np.concatenate(shifts), np.concatenate(flags), total)


def register_piece(task: PieceTask, archetype: Real | None, scale_archetype: Real | None) -> None:
    """Register the curves of a piece: their undulations replace their landmarks in the folder.

    As in `ShapeSpace`: undulations with the archetype, scales in the frame of the other archetype's match. Scales,
    ambiguous matches and residuals are saved.
    """
    if task.store.load(task.index, REGISTERED) is not None:
        return
    store, index, reflections = task.store, task.index, task.settings.reflections
    scales, ambiguous = [np.empty((0, 2, 2))], [np.empty(0, np.bool_)]
    residuals: list[Real] = []
    own: list[float] = []
    n = task.settings.landmarks

    def undulations() -> Iterator[Real]:
        for block in store.blocks(index, LANDMARKS):
            landmarks = block.swapaxes(1, 2)
            undulation, scale = decompose(landmarks)
            matches = []
            if archetype is not None:
                preshapes = landmarks if scale_archetype is None else undulation
                matches.append(register(preshapes, archetype, reflections=reflections))
                undulation, of_match = decompose(matches[0].landmarks)
                if scale_archetype is None:  # the same match is used for both
                    scale = of_match
            if scale_archetype is not None:
                matches.append(register(landmarks, scale_archetype, reflections=reflections))
                scale = matches[1].rotation @ scale @ matches[1].rotation.swapaxes(1, 2)
            scales.append(scale)
            none = np.zeros(len(scale), np.bool_)
            ambiguous.append(np.any([none, *(one.ambiguous for one in matches)], axis=0))
            residuals.append(np.array([one.residual for one in matches]).reshape(len(matches), len(scale)))
            own[:] = [one.archetype_distinctness for one in matches]
            yield undulation.swapaxes(1, 2)

    count = store.shape(index, LANDMARKS)[0]
    store.write_rows(index, UNDULATION, (count, 2, n), undulations())
    together = np.concatenate(residuals, axis=1) if residuals else np.empty((0, 0))
    known = {"scale": np.concatenate(scales), "ambiguous": np.concatenate(ambiguous), "residuals": together}
    store.save(index, REGISTERED, known | {"archetype_distinctness": np.array(own)})
    store.drop(index, LANDMARKS)


def tangent_sum(task: PieceTask, mean: Real) -> Real:
    """Return the sum of the tangent vectors from a mean to the undulations of a piece."""
    total = np.zeros(mean.shape)
    with one_library_thread():
        for block in task.store.blocks(task.index, UNDULATION):
            total += grassmann.log(mean, block.swapaxes(1, 2)).sum(axis=0)
    return total


class Spread(NamedTuple):
    """Gram matrix (2n, 2n) of the tangent vectors of a piece, and its form descriptors."""

    gram: Real
    descriptors: Real


def spread(task: PieceTask, mean: Real, known: float, lobes: float, described: bool) -> Spread:
    """Sum the outer products of the tangent vectors of a piece, and compute its form descriptors."""
    size = mean.size
    gram, descriptors = np.zeros((size, size)), []
    with one_library_thread():
        for block in task.store.blocks(task.index, UNDULATION):
            undulation = block.swapaxes(1, 2)
            rows = grassmann.log(mean, undulation).swapaxes(1, 2).reshape(len(block), size)
            gram += rows.T @ rows
            if described:
                descriptors.append(form_descriptors(undulation, known, lobes))
    found = np.concatenate(descriptors) if descriptors else np.empty((0, 0))
    return Spread(gram, found)


def project_piece(task: PieceTask, mean: Real, basis: Real) -> Real:
    """Return the undulation coordinates (N, r) of a piece."""
    flat = np.ascontiguousarray(basis.swapaxes(1, 2)).reshape(len(basis), -1)
    found = [np.empty((0, len(basis)))]
    with one_library_thread():
        for block in task.store.blocks(task.index, UNDULATION):
            rows = grassmann.log(mean, block.swapaxes(1, 2)).swapaxes(1, 2).reshape(len(block), -1)
            found.append(rows @ flat.T)
    return np.concatenate(found)
