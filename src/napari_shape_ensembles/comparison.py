"""The comparison of two ensembles: registration, learning, two tests and one row of the truth table."""

import platform
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from . import records
from .archive import StrPath, Tree, read_archive, write_archive
from .curves import Ensemble, Interpolation, Measure, in_unit, to_landmarks
from .discrepancy import INCONCLUSIVE, TRUTH_TABLE, MMDTest, combined_mmd_test, mmd_test, row, too_few
from .painted import curve_layer_data, summary_html
from .tensors import ShapeSpace, decompose, register
from .tensors.archetype import Choice, archetype_index, choose_archetype
from .threads import one_library_thread

if TYPE_CHECKING:
    import pandas as pd

Real = NDArray[np.float64]
RegistrationKind = Literal["standardized", "raw", "none"]
Coordinates = Literal["both", "raw", "normalized"]
Images = Ensemble | Sequence[Ensemble]

# Beyond π/4 from the mean neither the mean nor the normal coordinates need be unique.
_FAR = np.pi / 4
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
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < bound:
                raise ValueError(f"{name} is a whole number of at least {bound}, not {value!r}")
        if not 0 < self.significance < 1:
            raise ValueError(f"significance is a level between 0 and 1, such as 0.01, not {self.significance!r}")

    def _check_choices(self) -> None:
        choices = {
            "measure": get_args(Measure),
            "registration": get_args(RegistrationKind),
            "coordinates": get_args(Coordinates),
            "interpolation": get_args(Interpolation),
        }
        if not isinstance(self.archetype, int | np.integer):
            choices["archetype"] = ("asymmetric", "random", "mean")
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}, not {getattr(self, name)!r}")

    @classmethod
    def paper(cls) -> "Settings":
        """Return the choices of the paper: arc length, one raw match, a random archetype, raw coordinates."""
        return cls(measure="arc-length", registration="raw", coordinates="raw", archetype="random")


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


class Learned(NamedTuple):
    """A shape space, and the undulation (N, r) and scale (N, 3) coordinates of the curves it was learned from."""

    space: ShapeSpace
    t: Real
    l: Real


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
    versions : mapping of str to str
        Versions of the software that decided the digits.
    """

    a: Ensemble
    b: Ensemble
    settings: Settings
    space: ShapeSpace
    t: Real
    l: Real
    undulation: MMDTest
    scale: MMDTest
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())

    @property
    def case(self) -> str:
        """Row of the truth table, undulation ∧ scale with 1 = no difference detected; or "inconclusive"."""
        return INCONCLUSIVE if self._too_few else row(self.undulation.rejected, self.scale.rejected)

    @property
    def _too_few(self) -> str | None:
        return too_few(len(self.a), len(self.b), self.settings.permutations, self.settings.significance)

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
        if self._too_few is None and few < _FEW:
            found.append(f"Only {few} curves on one side: a difference may have gone unnoticed.")
        far = int((np.linalg.norm(self.t, axis=1) > _FAR).sum())
        if far:
            found.append(f"{far} curve(s) lie more than π/4 from the mean undulation: look at them first.")
        return tuple(found)

    def summary(self) -> str:
        """Return the answer as one sentence."""
        names = f"{self.a.name or 'A'} ({len(self.a)} curves) and {self.b.name or 'B'} ({len(self.b)} curves)"
        if self._too_few:
            return f"{names}: inconclusive: {self._too_few}."
        numbers = f"undulation p = {self.undulation.p_value:.2g}, scale p = {self.scale.p_value:.2g}"
        return f"{names}: {TRUTH_TABLE[self.case]} ({self.case}; {numbers})."

    def save(self, path: StrPath, *, view: Tree | None = None) -> None:
        """Write the whole comparison to one file, complete or not at all.

        Parameters
        ----------
        path : path
            Such as "nuclei.comparison.npz", by which napari knows the file again.
        view : dict, optional
            What a viewer needs to show it as it was: numbers, words, lists and dicts of them, as JSON has them.

        Raises
        ------
        OSError
            When the file cannot be written; an earlier file of that name stays.
        ValueError
            For ids or a view that a file cannot hold.
        """
        write_archive(path, records.FORMAT, records.LAYOUT, records.comparison_tree(self, view or {}))

    def to_layers(self, viewer: Any) -> list[Any]:
        """Add one painted Shapes layer per image to a napari viewer, and return the two."""
        return [viewer.add_shapes(curves, **options) for curves, options, _ in curve_layer_data(self)]

    def __repr__(self) -> str:
        return f"Comparison({self.summary()})"

    def _repr_html_(self) -> str:
        return summary_html(self)

    @classmethod
    def load(cls, path: StrPath) -> "Comparison":
        """Read a comparison that `save` wrote, to the same digits. Nothing in the file is executed.

        Raises
        ------
        ValueError
            For a file of another kind, of a newer version of this software, or a damaged one.
        OSError
            When there is no such file, or it cannot be read.
        """
        return read_archive(path, records.FORMAT, records.LAYOUT, cls._of)

    @classmethod
    def _of(cls, tree: Tree) -> "Comparison":
        return cls(settings=records.choices_of(Settings, tree["settings"]), **records.comparison_parts(tree))


def software_versions() -> dict[str, str]:
    """Versions of the software that decides the digits."""
    packages = ("napari-shape-ensembles", "numpy", "scipy")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def compare(
    a: Images,
    b: Images,
    settings: Settings = Settings(),
    *,
    progress: Callable[[Step], None] | None = None,
) -> Comparison:
    """Compare the outlines of two ensembles.

    Parameters
    ----------
    a, b : Ensemble, or a sequence of them
        The two samples of curves; several images of one sample are pooled (`Ensemble.pooled`).
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
    steps = comparison_steps(a, b, settings)
    while True:
        try:
            step = next(steps)
        except StopIteration as stop:
            result: Comparison = stop.value
            return result
        if progress is not None:
            progress(step)


def comparison_steps(
    a: Images,
    b: Images,
    settings: Settings = Settings(),
) -> Generator[Step, None, Comparison]:
    """Compare as `compare` does, stopping before each step: close the generator to cancel.

    Yields
    ------
    Step
        The step that comes next.

    Returns
    -------
    Comparison
    """
    a, b = comparable(a, b)
    space, t, l = yield from learning_steps((a, b), settings)
    yield _step("testing undulation")
    undulation_test = combined_mmd_test(_samples(undulation_descriptions(t, settings), len(a)), **levels(settings))
    yield _step("testing scale")
    scale_test = mmd_test(l[: len(a)], l[len(a) :], **levels(settings))
    return Comparison(a, b, settings, space, t, l, undulation_test, scale_test)


def learning_steps(ensembles: Sequence[Ensemble], settings: Settings) -> Generator[Step, None, Learned]:
    """Place landmarks, register and learn on the pooled curves of any number of ensembles of one unit.

    Yields
    ------
    Step
        The step that comes next, of those of a comparison.

    Returns
    -------
    Learned
        The space, and the coordinates of the pooled curves in the order of the ensembles.
    """
    yield _step("placing landmarks")
    landmarks = np.concatenate([_landmarks(ensemble, settings) for ensemble in ensembles])
    yield _step("choosing the archetype")
    undulation, scale = decompose(landmarks)
    preshapes = undulation if settings.registration == "standardized" else landmarks
    index = archetype_index(preshapes, settings.archetype, reflections=settings.reflections, seed=settings.seed)
    yield _step("registering undulations")
    undulation, scale = _registered(preshapes, undulation, scale, index, settings)
    yield _step("registering scales")
    if settings.registration == "standardized":
        scale = _framed(landmarks, scale, index, settings)
    yield _step("learning the shape space")
    with one_library_thread():
        space = ShapeSpace.learn(undulation, scale, settings.rank)
        t, l = space.coordinates(undulation, scale)
    return Learned(space, t, l)


def _step(name: str) -> Step:
    return Step(name, STEPS.index(name), len(STEPS))


def comparable(a: Images, b: Images) -> tuple[Ensemble, Ensemble]:
    """Pool the images of each side; return b in a's unit; refuse ensembles without curves."""
    a, b = (side if isinstance(side, Ensemble) else Ensemble.pooled(side) for side in (a, b))
    for side, ensemble in (("A", a), ("B", b)):
        if not len(ensemble):
            reasons = "; ".join(f"{count} {reason}" for reason, count in ensemble.dropped.items())
            raise ValueError(
                f"{ensemble.name or side} has no usable outline"
                + (f" ({reasons})" if reasons else "")
                + ": check the segmentation and the minimum size"
            )
    return a, in_unit(b, a.unit)


def _landmarks(ensemble: Ensemble, settings: Settings) -> Real:
    return to_landmarks(ensemble, settings.landmarks, interpolation=settings.interpolation, measure=settings.measure)


def _registered(preshapes: Real, undulation: Real, scale: Real, index: int, settings: Settings) -> tuple[Real, Real]:
    """Undulations registered, and with them the scales where one match serves both."""
    if settings.registration == "none":
        return undulation, scale
    match = register(preshapes, _archetype(preshapes, index, settings), reflections=settings.reflections)
    registered, own = decompose(match.landmarks)
    return registered, own if settings.registration == "raw" else scale


def _framed(landmarks: Real, scale: Real, index: int, settings: Settings) -> Real:
    """Scales turned into the archetype's frame by the match of the raw landmarks: R* P R*ᵀ."""
    match = register(landmarks, _archetype(landmarks, index, settings), reflections=settings.reflections)
    return match.rotation @ scale @ match.rotation.swapaxes(1, 2)


def _archetype(preshapes: Real, index: int, settings: Settings) -> Real:
    choice: Choice = "mean" if settings.archetype == "mean" else index
    return choose_archetype(preshapes, choice, reflections=settings.reflections)


def undulation_descriptions(t: Real, settings: Settings) -> dict[str, Real]:
    """Undulation coordinates as the settings have them tested: raw, normalized by their pooled deviation, or both."""
    spread = t.std(axis=0)
    kinds = {"raw": t, "normalized": t / np.where(spread > 0, spread, 1)}
    return kinds if settings.coordinates == "both" else {settings.coordinates: kinds[settings.coordinates]}


def _samples(descriptions: dict[str, Real], first: int) -> dict[str, tuple[Real, Real]]:
    return {name: (values[:first], values[first:]) for name, values in descriptions.items()}


def levels(settings: Settings) -> dict[str, Any]:
    """What the two-sample tests take of the settings."""
    return {
        "permutations": settings.permutations,
        "significance": settings.significance,
        "seed": settings.seed,
    }
