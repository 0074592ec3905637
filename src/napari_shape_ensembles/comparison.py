"""The comparison of two ensembles: registration, learning, two tests and one row of the truth table."""

import platform
from collections.abc import Callable, Generator, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from .curves import Ensemble, Interpolation, Measure, in_unit, to_landmarks
from .discrepancy import INCONCLUSIVE, TRUTH_TABLE, MMDTest, combined_mmd_steps, gretton_steps, inconclusive, row
from .tensors import Registration, ShapeSpace, decompose, register
from .tensors.archetype import Choice, archetype_index, choose_archetype
from .threads import one_library_thread

if TYPE_CHECKING:
    import pandas as pd

Real = NDArray[np.float64]
Returned = TypeVar("Returned")
RegistrationKind = Literal["standardized", "raw", "none"]
Coordinates = Literal["both", "raw", "normalized"]
NullKind = Literal["permutation", "gamma", "bound"]

# Beyond π/4 from the mean neither the mean nor the normal coordinates need be unique.
_FAR = np.pi / 4
# Above this share of ambiguous matches the choice of archetype colours the result.
_MANY = 0.5
# Below this many curves on one side a missed difference says little.
_FEW = 30


@dataclass(frozen=True)
class Settings:
    """What a comparison does. The defaults are the project's; `Settings.paper` gives the paper's own.

    Attributes
    ----------
    landmarks : int
        Landmarks n per curve.
    rank : int
        Undulation coordinates r kept; fewer where the curves cannot fix so many.
    significance : float
        Level of each of the two tests. The row as a whole errs at most twice as often.
    permutations : int
        Random relabellings B per test.
    archetype : {"asymmetric", "random", "mean"} or int
        The curve all others are registered against; an index counts through A's curves, then B's.
    reflections : bool
        A curve and its mirror image count as the same; False keeps handedness as a feature.
    measure : {"affine", "arc-length"}
        Which length the landmarks divide equally. Only the affine one keeps undulation free of linear maps.
    registration : {"standardized", "raw", "none"}
        "standardized" matches undulations with each other and takes the frame of the scale from matching the
        raw curves; "raw" uses that one match for both; "none" leaves curves as they are.
    coordinates : {"both", "raw", "normalized"}
        Undulation coordinates tested: raw ones see coarse form, normalized ones fine roughness.
    interpolation : {"spline", "polygon"}
        Between the vertices of an outline.
    bandwidth : float or tuple of floats
        Width s of the tests' kernel exp(-d²/(2s²)) over the median distance d. Several are tested on the same
        permutations and combined by the smallest p-value.
    null : {"permutation", "gamma", "bound"}
        What the statistics are held against: permuted labels (exact), a gamma distribution with their moments, or
        Gretton's distribution-free bound (very conservative). The last two draw no permutations.
    approximate_above : int, optional
        For more curves than this the permutation tests project the kernel on 512 of them: quicker, with the same
        level and somewhat less power. By default never.
    seed : int
        Of every random draw.
    register, normalize : bool, optional
        Shorthands: `register=False` is registration "none"; `normalize` picks the coordinates "normalized" or
        "raw".

    Raises
    ------
    ValueError
        For a value out of range, naming it.
    """

    landmarks: int = 500
    rank: int = 150
    significance: float = 0.01
    permutations: int = 1000
    archetype: Choice = "asymmetric"
    reflections: bool = True
    measure: Measure = "affine"
    registration: RegistrationKind = "standardized"
    coordinates: Coordinates = "both"
    interpolation: Interpolation = "spline"
    seed: int = 0
    bandwidth: float | tuple[float, ...] = 1.0
    null: NullKind = "permutation"
    approximate_above: int | None = None
    register: InitVar[bool | None] = None
    normalize: InitVar[bool | None] = None

    def __post_init__(self, register: bool | None, normalize: bool | None) -> None:
        if register is False:
            object.__setattr__(self, "registration", "none")
        if normalize is not None:
            object.__setattr__(self, "coordinates", "normalized" if normalize else "raw")
        self._check_numbers()
        self._check_choices()

    def _check_numbers(self) -> None:
        least = {"landmarks": 8, "rank": 1, "permutations": 1, "seed": 0}
        if self.approximate_above is not None:
            least["approximate_above"] = 1
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < bound:
                raise ValueError(f"{name} is a whole number of at least {bound}, not {value!r}")
        if not 0 < self.significance < 1:
            raise ValueError(f"significance is a level between 0 and 1, such as 0.01, not {self.significance!r}")
        self._check_bandwidth()

    def _check_bandwidth(self) -> None:
        if isinstance(self.bandwidth, Sequence):  # a list, as it comes out of a file
            object.__setattr__(self, "bandwidth", tuple(self.bandwidth))
        factors = self.bandwidth if isinstance(self.bandwidth, tuple) else (self.bandwidth,)
        if not factors or not all(isinstance(factor, int | float) and 0 < factor < np.inf for factor in factors):
            raise ValueError(f"bandwidth is a positive multiple of the median distance, or several, not {factors!r}")
        if len(set(factors)) < len(factors):
            raise ValueError(f"bandwidth names a multiple twice: {factors!r}")

    def _check_choices(self) -> None:
        choices = {
            "measure": get_args(Measure),
            "registration": get_args(RegistrationKind),
            "coordinates": get_args(Coordinates),
            "interpolation": get_args(Interpolation),
            "null": get_args(NullKind),
        }
        if not isinstance(self.archetype, int | np.integer):
            choices["archetype"] = ("asymmetric", "random", "mean")
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}, not {getattr(self, name)!r}")

    @classmethod
    def paper(cls, **changes: Any) -> "Settings":
        """Return the choices of the paper: arc length, one raw match, a random archetype, raw coordinates.

        Other settings may be given by name.
        """
        choices = {"measure": "arc-length", "registration": "raw", "coordinates": "raw", "archetype": "random"}
        return cls(**(choices | changes))


@dataclass(frozen=True)
class Step:
    """A step of a comparison that is about to start: its name, its place and the number of steps."""

    name: str
    index: int
    total: int


STEPS = (
    "placing landmarks",
    "choosing the archetype",
    "registering undulations",
    "registering scales",
    "learning the shape space",
    "testing undulation",
    "testing scale",
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The answer, and what it rests on.

    Attributes
    ----------
    a, b : Ensemble
        The curves compared, b in a's unit.
    settings : Settings
    space : ShapeSpace
        Learned from the pooled curves.
    t : (N, r) array
        Undulation coordinates of the pooled curves, a's rows first.
    l : (N, 3) array
        Their scale coordinates.
    undulation, scale : MMDTest
        The two tests. With coordinates "both" the undulation's has the parts "raw" and "normalized".
    ambiguous : int
        Curves whose best match with the archetype is hardly better than the second best; see `Registration`.
    archetype_is_ambiguous : bool
        Whether the archetype (nearly) repeats itself, so that matches with it are not unique.
    row_depends_on_archetype : bool
        Whether the row is known to change with the archetype (`archetype_sensitivity`); it is then no answer.
    """

    a: Ensemble
    b: Ensemble
    settings: Settings
    space: ShapeSpace
    t: Real
    l: Real
    undulation: MMDTest
    scale: MMDTest
    ambiguous: int = 0
    archetype_is_ambiguous: bool = False
    row_depends_on_archetype: bool = False

    @property
    def case(self) -> str:
        """Row of the truth table, undulation ∧ scale with 1 = no difference detected; or "inconclusive"."""
        return INCONCLUSIVE if self._inconclusive else row(self.undulation.rejected, self.scale.rejected)

    @property
    def _inconclusive(self) -> str | None:
        return inconclusive(
            len(self.a),
            len(self.b),
            self.settings.permutations,
            self.settings.significance,
            null=self.settings.null,
            row_depends_on_archetype=self.row_depends_on_archetype,
        )

    @property
    def pmmd(self) -> float:
        """Product MMD: the Euclidean norm of the two MMDs (paper, eq. pMMD)."""
        return float(np.hypot(self.undulation.mmd, self.scale.mmd))

    @property
    def pmmd_threshold(self) -> float:
        """The same norm of the two thresholds."""
        return float(np.hypot(self.undulation.threshold, self.scale.threshold))

    @cached_property
    def distances(self) -> "pd.DataFrame":
        """Distance of every curve from the mean shape: one row per curve, a's first.

        Columns: source ("A" or "B"), id, then product ‖(t, ℓ)‖, undulation ‖t‖ and scale ‖ℓ‖, and each over
        its largest (`..._normalised`, 0 to 1).
        """
        import pandas as pd  # heavy, and not needed for the answer

        sizes = {
            "product": np.hypot(np.linalg.norm(self.t, axis=1), np.linalg.norm(self.l, axis=1)),
            "undulation": np.linalg.norm(self.t, axis=1),
            "scale": np.linalg.norm(self.l, axis=1),
        }
        shares = {f"{name}_normalised": size / (size.max() or 1.0) for name, size in sizes.items()}
        source = np.repeat(["A", "B"], [len(self.a), len(self.b)])
        ids = np.concatenate([self.a.ids, self.b.ids])
        return pd.DataFrame({"source": source, "id": ids, **sizes, **shares})

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the row, in plain sentences."""
        found = []
        if self.a.unit == "pixel":
            found.append("Sizes are compared in pixels: make sure both images have the same pixel size.")
        few = min(len(self.a), len(self.b))
        if self._inconclusive is None and few < _FEW:
            found.append(f"Only {few} curves on one side: a difference may have gone unnoticed.")
        if self.undulation.approximation:
            found.append(f"The tests are approximate: {self.undulation.approximation}.")
        far = int((np.linalg.norm(self.t, axis=1) > _FAR).sum())
        if far:
            found.append(f"{far} curve(s) lie more than π/4 from the mean undulation: look at them first.")
        if self.ambiguous > _MANY * len(self.t):
            archetype = "archetype, nearly symmetric itself," if self.archetype_is_ambiguous else "archetype"
            found.append(
                f"{self.ambiguous} of {len(self.t)} curves match the {archetype} almost as well in a second way: "
                "see whether the row stays with another archetype."
            )
        return tuple(found)

    def summary(self) -> str:
        """Return the answer as one sentence."""
        names = f"{self.a.name or 'A'} ({len(self.a)} curves) and {self.b.name or 'B'} ({len(self.b)} curves)"
        if self._inconclusive:
            return f"{names}: inconclusive: {self._inconclusive}."
        numbers = f"undulation p = {self.undulation.p_value:.2g}, scale p = {self.scale.p_value:.2g}"
        return f"{names}: {TRUTH_TABLE[self.case]} ({self.case}; {numbers})."

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the software that decides the digits."""
        packages = ("napari-shape-ensembles", "numpy", "scipy")
        return {"python": platform.python_version()} | {name: version(name) for name in packages}


def compare(
    a: Ensemble,
    b: Ensemble,
    settings: Settings = Settings(),
    *,
    progress: Callable[[Step], None] | None = None,
) -> Comparison:
    """Compare the outlines of two ensembles.

    Parameters
    ----------
    a, b : Ensemble
        The two samples of curves.
    settings : Settings
    progress : callable, optional
        Called with each `Step` before it starts.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        When an ensemble has no usable curve, the units do not fit together, or a step fails; the message
        says what to do.
    """
    return run_through(comparison_steps(a, b, settings), progress)


def run_through(steps: Generator[Step, None, Returned], progress: Callable[[Step], None] | None) -> Returned:
    """Run steps to their end; tell `progress` of each before it starts."""
    started: Step | None = None
    while True:
        try:
            step = next(steps)
        except StopIteration as stop:
            return stop.value
        if progress is not None and step != started:
            progress(step)
        started = step


def comparison_steps(
    a: Ensemble,
    b: Ensemble,
    settings: Settings = Settings(),
) -> Generator[Step, None, Comparison]:
    """Compare as `compare` does, stopping before each step: close the generator to cancel.

    Yields
    ------
    Step
        The step that comes next. A long one is yielded again, as the same object, after each block of its work.

    Returns
    -------
    Comparison
    """
    b = _comparable(a, b)
    steps = (Step(name, index, len(STEPS)) for index, name in enumerate(STEPS))
    yield next(steps)
    landmarks = np.concatenate([_landmarks(a, settings), _landmarks(b, settings)])
    yield next(steps)
    undulation, scale = decompose(landmarks)
    preshapes = undulation if settings.registration == "standardized" else landmarks
    index = archetype_index(preshapes, settings.archetype, reflections=settings.reflections, seed=settings.seed)
    yield next(steps)
    undulation, scale, *matches = _registered(preshapes, undulation, scale, index, settings)
    yield next(steps)
    if settings.registration == "standardized":
        scale, frame = _framed(landmarks, scale, index, settings)
        matches.append(frame)
    yield next(steps)
    with one_library_thread():
        space = ShapeSpace.learn(undulation, scale, settings.rank)
        t, l = space.coordinates(undulation, scale)
    undulation_test = yield from _within(next(steps), _undulation_test(t, len(a), settings))
    scale_test = yield from _within(next(steps), _test({"": l}, len(a), settings))
    return Comparison(a, b, settings, space, t, l, undulation_test, scale_test, *_ambiguity(matches))


def _comparable(a: Ensemble, b: Ensemble) -> Ensemble:
    """Return b in a's unit; refuse ensembles without curves."""
    for side, ensemble in (("A", a), ("B", b)):
        if not len(ensemble):
            reasons = "; ".join(f"{count} {reason}" for reason, count in ensemble.dropped.items())
            raise ValueError(
                f"{ensemble.name or side} has no usable outline"
                + (f" ({reasons})" if reasons else "")
                + ": check the segmentation and the minimum size"
            )
    return in_unit(b, a.unit)


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


def _within(step: Step, work: Generator[None, None, Returned]) -> Generator[Step, None, Returned]:
    """Work of one step, yielding the step before it starts and whenever it may be left."""
    while True:
        yield step
        try:
            next(work)
        except StopIteration as stop:
            return stop.value


def _undulation_test(t: Real, first: int, settings: Settings) -> Generator[None, None, MMDTest]:
    """Test of the undulation coordinates, raw, normalized by their pooled deviation, or both."""
    spread = t.std(axis=0)
    kinds: dict[str, Real] = {"raw": t, "normalized": t / np.where(spread > 0, spread, 1)}
    chosen = list(kinds) if settings.coordinates == "both" else [settings.coordinates]
    return _test({name: kinds[name] for name in chosen}, first, settings)


def _test(descriptions: dict[str, Real], first: int, settings: Settings) -> Generator[None, None, MMDTest]:
    samples = {name: (values[:first], values[first:]) for name, values in descriptions.items()}
    common: dict[str, Any] = {
        "significance": settings.significance,
        "factor": settings.bandwidth,
        "seed": settings.seed,
    }
    if settings.null != "permutation":
        return gretton_steps(samples, settings.null, **common)
    return combined_mmd_steps(
        samples, permutations=settings.permutations, approximate_above=settings.approximate_above, **common
    )
