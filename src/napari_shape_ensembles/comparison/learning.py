"""Learning from pooled curves: landmarks, registration and the shape space, the first steps of a comparison."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from .._types import Mask, Real
from ..archive import StrPath
from ..outlines import Ensemble
from ..outlines.polygons import areas_and_perimeters
from ..outlines.precision import precision_of, simulated_error
from ..progress import one_library_thread, report
from ..shapes import ShapeSpace, spd
from ..shapes.decomposition import check_landmarks, curve_blocks, planes
from ..shapes.held import Held, HeldByWorkers
from ..shapes.lobes import lobes_held
from ..shapes.space import project
from .parts import form_descriptors, tests_components
from .settings import Settings, landmarks_of

#: Lower limit of the relative precision of outlines: smaller variation is rounding and interpolation error.
KNOWN = 1e-8
# Multiples of 1/16 of a pixel are exact in single precision, and tell nothing of the type they were stored in.
_GRID = 16
_EPS = np.finfo(np.float64).eps
#: Curves per chunk that is written to a file, or sent to a worker.
CHUNK = 2048
# Vertices examined per block.
_BLOCK = 1 << 14
_FACTORS = tuple(10.0**power for power in (0, -3, 3, -6, 6))

#: Steps of a comparison, in order.
COMPARISON_STEPS = (
    "placing landmarks",
    "choosing the archetype",
    "registering scales",
    "registering undulations",
    "learning the shape space",
    "testing undulation",
    "testing scale",
)


class Learned(NamedTuple):
    """A shape space, and the undulation (N, r) and scale (N, 3) coordinates of the curves it was learned from.

    Also whether the match of each curve is ambiguous (N,), whether the archetype itself is, the descriptors of form
    (N, k) of `form_descriptors`, and the relative precision of the outlines.
    """

    space: ShapeSpace
    t: Real
    l: Real
    ambiguous: Mask
    archetype_is_ambiguous: bool
    descriptors: Real
    known: float


class _Measures(NamedTuple):
    """What is needed of the outlines of one ensemble besides their landmarks.

    Precision (N,) of the coordinates, or of simulated pixels; perimeters (N,) in pixels or none; and the unit.
    """

    places: Real
    around: Real
    unit: str


def learn(
    ensembles: Iterable[Ensemble], settings: Settings, *, scratch: StrPath | None = None, client: Any = None
) -> Learned:
    """Place landmarks, register and learn on the pooled curves of several ensembles in one unit.

    Parameters
    ----------
    ensembles : iterable of Ensemble
        With `scratch` or `client` they may be loaded one by one, and are not kept.
    settings : Settings
    scratch : path, optional
        Folder for a memory map of the landmarks, 8 kB per curve at 500 landmarks, which is deleted again: for more
        curves than fit in memory. Created if missing.
    client : dask.distributed.Client, optional
        Its workers hold the landmarks, and do the work.

    Returns
    -------
    Learned
        The space, and the coordinates of the pooled curves in the order of the ensembles: equal wherever the
        landmarks lie, up to rounding.
    """
    report_step("placing landmarks")
    if scratch is not None:
        Path(scratch).mkdir(parents=True, exist_ok=True)
    held: Held | HeldByWorkers
    measures: list[_Measures] = []
    with (
        nullcontext("")
        if scratch is None
        else TemporaryDirectory(prefix="shape-ensembles-", dir=scratch, ignore_cleanup_errors=True) as folder
    ):
        if client is not None:
            held = HeldByWorkers(client, partial(_placed, settings=settings), _chunks(ensembles))
            measures = held.placed
        elif scratch is not None:
            held = Held(_mapped(ensembles, settings, Path(folder) / "landmarks", measures))
        else:
            ensembles = list(ensembles)
            measures = [_measures(ensemble) for ensemble in ensembles]
            held = Held(landmarks_of(ensembles, settings).swapaxes(1, 2))
        lobes = lobes_held(np.concatenate([one.around for one in measures]))
        learned = _learned(held, np.concatenate([one.places for one in measures]), settings, lobes)
    learned.space.unit_ = measures[0].unit
    return learned


def _measures(ensemble: Ensemble) -> _Measures:
    pixel = precision_of(ensemble).pixel.mean(axis=1)
    _, perimeter = areas_and_perimeters(ensemble.vertices, ensemble.offsets)
    around = perimeter[pixel > 0] / pixel[pixel > 0]
    places = np.maximum(coordinate_precision(ensemble), simulated_error(ensemble))
    return _Measures(places, around, ensemble.unit)


def _placed(ensemble: Ensemble, *, settings: Settings) -> tuple[Real, _Measures]:
    """Landmarks (N, 2, n) of some outlines, and what else is needed of them."""
    return landmarks_of(ensemble, settings).swapaxes(1, 2), _measures(ensemble)


def _chunks(ensembles: Iterable[Ensemble]) -> Iterator[Ensemble]:
    for ensemble in ensembles:
        for start in range(0, len(ensemble), CHUNK):
            yield ensemble if len(ensemble) <= CHUNK else ensemble[start : start + CHUNK]


def _mapped(ensembles: Iterable[Ensemble], settings: Settings, path: Path, measures: list[_Measures]) -> Real:
    """Write the landmarks to a file, chunk by chunk, and return its memory map (N, 2, n); append the `measures`."""
    with path.open("wb") as file:
        for ensemble in _chunks(ensembles):
            points, measured = _placed(ensemble, settings=settings)
            points.tofile(file)
            measures.append(measured)
    count = sum(len(one.places) for one in measures)
    return np.asarray(np.memmap(path, np.float64, "r+", shape=(count, 2, settings.landmarks)))


def learn_landmarks(landmarks: Real, places: Real, settings: Settings, lobes: float = np.inf) -> Learned:
    """Register and learn from landmarks (N, n, 2) with a precision of `places` (N,): the second part of `learn`.

    Landmarks of a curve do not depend on other curves, so comparisons of many subsets of the same curves place them
    once. Bands of more `lobes` than the outlines' pixels resolve are not used as descriptors.
    """
    check_landmarks(landmarks)
    return _learned(Held(planes(landmarks).copy()), places, settings, lobes)


def _learned(held: Held | HeldByWorkers, places: Real, settings: Settings, lobes: float) -> Learned:
    """Register and learn; overwrites the landmarks."""
    space = ShapeSpace(
        settings.rank,
        landmarks=held.landmarks,
        measure=settings.measure,
        interpolation=settings.interpolation,
        registration=settings.registration,
        archetype=settings.archetype,
        reflections=settings.reflections,
        random_state=settings.seed,
    )
    scale, matches = space.fit_held(held, report_step)
    ambiguous = np.any([np.zeros(len(held), np.bool_), *(match.ambiguous for match in matches)], axis=0)
    no_archetype = any(match.archetype_is_ambiguous for match in matches)
    del matches
    space.bands_ = tuple(band for band in space.bands_ if band[1] <= lobes)
    with one_library_thread():
        known = relative_precision(places, scale)
        # Only the named components use descriptors.
        descriptors = np.empty((len(scale), 0))
        if tests_components(settings):
            descriptors = np.concatenate(held.joined(_described, known=known, lobes=lobes))
        t = np.concatenate(held.joined(project, mean=space.undulation_mean_, basis=space.basis_))
        l = spd.coordinates(space.scale_mean_, scale)
        clear_constant(t, known)
        clear_constant(l, known)
    return Learned(space, t, l, ambiguous, no_archetype, descriptors, known)


def _described(points: Real, *, known: float, lobes: float) -> Real:
    return form_descriptors(points.swapaxes(1, 2), known, lobes)


def coordinate_precision(ensemble: Ensemble) -> Real:
    """Half a unit in the last place of the coordinates of every curve, (N,), in the ensemble's unit.

    Coordinates that were once stored in single precision have 7 digits, whatever type they have now: they are
    recognized as numbers representable in single precision, possibly times the pixel size or a power of ten.

    Parameters
    ----------
    ensemble : Ensemble

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.comparison.learning import coordinate_precision
    >>> u = 2 * np.pi * np.arange(50) / 50
    >>> far = np.stack([np.cos(u), np.sin(u)], axis=-1) + 60_000
    >>> [f"{coordinate_precision(Ensemble([curve]))[0]:.0e}" for curve in (far, far.astype(np.float32))]
    ['7e-12', '4e-03']
    """
    if not len(ensemble):
        return np.empty(0)
    numbers, starts = ensemble.vertices.ravel(), 2 * ensemble.offsets[:-1]
    largest = np.maximum(np.maximum.reduceat(numbers, starts), -np.minimum.reduceat(numbers, starts))
    return largest * np.finfo(np.float32 if is_single(ensemble) else np.float64).eps / 2


def is_single(ensemble: Ensemble) -> bool:
    """Whether all coordinates are representable in single precision, in the unit in which they were stored."""
    pixel, given = np.asarray(ensemble.pixel_size or (1.0, 1.0)), ensemble.vertices
    parts = [slice(start, start + _BLOCK) for start in range(0, len(given), _BLOCK)]  # usually decided by the first few

    for unit in {tuple(size * factor) for size, factor in product((np.ones(2), pixel), _FACTORS)}:
        by = np.array(unit)
        places = (given[part] / by * _GRID for part in parts)
        if all(np.array_equal(some, np.rint(some)) for some in places):
            continue  # integers and simple fractions are exact in any precision
        places = (given[part] / by for part in parts)
        with np.errstate(over="ignore"):
            if all((np.abs(some.astype(np.float32) - some) <= 4 * _EPS * np.abs(some)).all() for some in places):
                return True
    return False


def clear_constant(coordinates: Real, known: float) -> None:
    """Set coordinates (N, d) to 0 in place that vary by no more than the precision of the outlines.

    These are all columns if none varies by more, or else those that together vary by no more: many columns of small
    variance are fine detail.
    """
    middle = coordinates.mean(axis=0)
    squares = [np.square(coordinates[part] - middle).sum(axis=0) for part in curve_blocks(len(coordinates))]
    variances = np.sum(squares, axis=0) / len(coordinates)
    order = np.argsort(variances)
    constant = (np.cumsum(variances[order]) <= known**2) | (variances.max(initial=0) <= known**2)
    coordinates[:, order[constant]] = 0


def relative_precision(places: Real, scale: Real) -> float:
    """Relative precision of the outlines, from `coordinate_precision` and their scales in that unit; at least 10⁻⁸.

    An error of ± δ in the coordinates changes a form by at most √2 δ over the smaller RMS extent; the RMS over the
    curves.
    """
    moved = np.sqrt(2) * places / np.linalg.eigvalsh(scale)[:, 0]
    return float(max(KNOWN, np.sqrt(np.mean(moved**2))))


def report_step(name: str) -> None:
    """Report one of the steps of a comparison."""
    report(name, COMPARISON_STEPS.index(name), len(COMPARISON_STEPS))
