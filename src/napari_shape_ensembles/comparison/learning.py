"""Learning from pooled curves: landmarks, registration and the shape space, as the first steps of a comparison."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..outlines import Ensemble
from ..progress import one_library_thread, report
from ..shapes import Registration, ShapeSpace, decompose, register, to_landmarks
from ..shapes.archetype import Choice, archetype_index, choose_archetype
from .parts import form_descriptors
from .precision import coordinate_precision
from .settings import Settings

Real = NDArray[np.float64]

# No outline is known to this share of its size: what varies less is rounding and interpolation, no form and no scale.
_KNOWN = 1e-8
# Pixels of the shortest wave whose amplitude is compared. What is shorter is the noise of the pixels themselves, whose
# share of an outline's size, and so its roughness, grows as outlines get smaller.
_WAVE = 8


#: Steps of a comparison, in order.
STEPS = (
    "placing landmarks",
    "choosing the archetype",
    "registering undulations",
    "registering scales",
    "learning the shape space",
    "testing undulation",
    "testing scale",
)


class Learned(NamedTuple):
    """A shape space, and the undulation (N, r) and scale (N, 3) coordinates of the curves it was learned from.

    With them how many curves have an ambiguous match, whether the archetype is ambiguous itself, the descriptors of
    form (N, k) of `form_descriptors`, and the share of its size to which an outline is known.
    """

    space: ShapeSpace
    t: Real
    l: Real
    ambiguous: int
    archetype_is_ambiguous: bool
    descriptors: Real
    known: float


def learn(ensembles: Sequence[Ensemble], settings: Settings) -> Learned:
    """Place landmarks, register and learn on the pooled curves of any number of ensembles of one unit.

    Returns
    -------
    Learned
        The space, and the coordinates of the pooled curves in the order of the ensembles.
    """
    report_step("placing landmarks")
    landmarks = np.concatenate([_landmarks(ensemble, settings) for ensemble in ensembles])
    places = np.concatenate([coordinate_precision(ensemble) for ensemble in ensembles])
    return learn_landmarks(landmarks, places, settings, min(map(most_lobes, ensembles)))


def learn_landmarks(landmarks: Real, places: Real, settings: Settings, lobes: float = np.inf) -> Learned:
    """Register and learn from landmarks (N, n, 2) known to `places` (N,): what `learn` does with them.

    Landmarks of a curve do not depend on other curves. Who compares many subsets of the same curves places them once.
    Bands of more `lobes` than the outlines' pixels hold are no descriptors.
    """
    report_step("choosing the archetype")
    undulation, scale = decompose(landmarks)
    preshapes = undulation if settings.registration == "standardized" else landmarks
    index = archetype_index(preshapes, settings.archetype, reflections=settings.reflections, seed=settings.seed)
    report_step("registering undulations")
    undulation, scale, *matches = _registered(preshapes, undulation, scale, index, settings)
    report_step("registering scales")
    if settings.registration == "standardized":
        scale, frame = _framed(landmarks, scale, index, settings)
        matches.append(frame)
    report_step("learning the shape space")
    with one_library_thread():
        space = ShapeSpace.learn(undulation, scale, settings.rank)
        t, l = space.coordinates(undulation, scale)
        known = known_share(places, scale)
        for coordinates in (t, l):
            coordinates[:, coordinates.std(axis=0) <= known] = 0
        descriptors = form_descriptors(undulation, known, lobes)
    return Learned(space, t, l, *_ambiguity(matches), descriptors, known)


def most_lobes(ensemble: Ensemble) -> float:
    """Lobes of the shortest waves that pixels hold around a median outline; any number where there are no pixels."""
    if ensemble.pixel_size is None:
        return np.inf
    return float(ensemble.features["perimeter"].median() / np.mean(ensemble.pixel_size)) / _WAVE - 1


def known_share(places: Real, scale: Real) -> float:
    """Share of its size to which an outline is known, by the last place of its coordinates; at least 10⁻⁸.

    Parameters
    ----------
    places : (N,) array
        Of `coordinate_precision`.
    scale : (N, 2, 2) array
        Of the same curves, in the same unit.

    Returns
    -------
    float
        Places known to ± δ move a form by at most √2 δ over the smaller RMS extent; the RMS of that over the curves.
    """
    moved = np.sqrt(2) * places / np.linalg.eigvalsh(scale)[:, 0]
    return float(max(_KNOWN, np.sqrt(np.mean(moved**2))))


def report_step(name: str) -> None:
    """Report one of the steps of a comparison."""
    report(name, STEPS.index(name), len(STEPS))


def _landmarks(ensemble: Ensemble, settings: Settings) -> Real:
    return to_landmarks(ensemble, settings.landmarks, interpolation=settings.interpolation, measure=settings.measure)


def _registered(
    preshapes: Real, undulation: Real, scale: Real, index: int, settings: Settings
) -> tuple[Real, Real] | tuple[Real, Real, Registration]:
    """Undulations registered, and with them the scales where one match serves both; and the match."""
    if settings.registration == "none":
        return undulation, scale
    match = register(preshapes, _archetype(preshapes, index, settings), reflections=settings.reflections)
    registered, own = decompose(match.landmarks)
    return registered, own if settings.registration == "raw" else scale, match


def _framed(landmarks: Real, scale: Real, index: int, settings: Settings) -> tuple[Real, Registration]:
    """Scales turned into the archetype's frame by the match of the raw landmarks: R* P R*ᵀ; and the match."""
    match = register(landmarks, _archetype(landmarks, index, settings), reflections=settings.reflections)
    return match.rotation @ scale @ match.rotation.swapaxes(1, 2), match


def _ambiguity(matches: list[Registration]) -> tuple[int, bool]:
    """How many curves have an ambiguous match of any kind, and whether an archetype is ambiguous itself."""
    flags = [match.ambiguous for match in matches]
    return int(np.any(flags, axis=0).sum()), any(match.archetype_is_ambiguous for match in matches)


def _archetype(preshapes: Real, index: int, settings: Settings) -> Real:
    choice: Choice = "mean" if settings.archetype == "mean" else index
    return choose_archetype(preshapes, choice, reflections=settings.reflections)
