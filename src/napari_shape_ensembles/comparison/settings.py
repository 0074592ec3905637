"""Settings of a comparison: every parameter with its one default, range and help."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Literal

from .. import parameters
from .._types import Real
from ..checks import RandomState, seed_of, switch
from ..mmd.kernel import PERMUTATIONS, SIGNIFICANCE
from ..outlines import Ensemble
from ..parameters import as_call, documented, parameter
from ..shapes.landmarks import LANDMARKS, Interpolation, Measure, to_landmarks
from ..shapes.registration import Choice
from ..shapes.space import RANK, RegistrationKind

Coordinates = Literal["components", "both", "raw", "normalized"]
NullKind = Literal["permutation", "gamma", "bound"]
Exchangeable = Literal["auto", "curves", "images"]

_ANALYSIS, _ADVANCED = "Analysis", "Advanced"
# Enough for levels of a millionth; catches typing errors, as more would take days.
_MAX_PERMUTATIONS = 10_000_000


@documented
@dataclass(frozen=True, repr=False)
class Settings:
    """Settings of a comparison. The defaults are the project's; `Settings.paper` gives the paper's own.

    Three shorthands: `register=False` is registration "none"; `normalize` selects the coordinates "normalized" or
    "raw"; `random_state` gives the seed, as a number or a generator.

    Raises
    ------
    ValueError
        For a value out of range, naming it.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> Settings(rank=20).rank, Settings().landmarks
    (20, 500)
    >>> Settings.paper().measure
    'arc-length'
    """

    landmarks: int = parameter(LANDMARKS, "Landmarks (points) per outline.", least=8, step=50, group=_ANALYSIS)
    rank: int = parameter(
        RANK,
        "Number of undulation coordinates kept; fewer if the curves do not determine that many. A smaller rank "
        "compares smoother forms.",
        least=1,
        step=10,
        group=_ANALYSIS,
    )
    significance: float = parameter(
        SIGNIFICANCE,
        "Significance level of the row: its family-wise error rate. Each of the two tests has half of it (Bonferroni).",
        above=0,
        below=1,
        step=0.01,
        decimals=3,
        group=_ANALYSIS,
    )
    permutations: int = parameter(
        PERMUTATIONS,
        "Number of random permutations of the group labels in each test.",
        least=1,
        most=_MAX_PERMUTATIONS,
        step=100,
        group=_ANALYSIS,
    )
    permute: Exchangeable = parameter(
        "auto",
        "Exchangeable units of the permutation tests. With whole images the result holds for the conditions, as "
        "images of one condition differ too; with single outlines, for these images only.",
        label="Permute",
        choices={
            "auto": "images, if there are several",
            "curves": "outlines: these images only",
            "images": "images",
        },
        group=_ADVANCED,
        expert=True,
    )
    archetype: Choice = parameter(
        "asymmetric",
        "Outline to which all others are registered; a number is an index into A's curves, then B's.",
        choices={
            "asymmetric": "least symmetric of the usual outlines",
            "random": "random outline (paper)",
            "mean": "mean outline",
        },
        least=0,
        group=_ADVANCED,
    )
    reflections: bool = parameter(
        True,
        "Treat an outline and its mirror image as the same; off keeps handedness as a feature.",
        label="Mirror images match",
        group=_ANALYSIS,
    )
    measure: Measure = parameter(
        "affine",
        "Arc length by which landmarks are equally spaced. Only affine arc length keeps undulation independent of "
        "linear maps: stretching an image is then a difference in scale only.",
        choices={"affine": "affine arc length", "arc-length": "arc length (paper)"},
        group=_ADVANCED,
    )
    registration: RegistrationKind = parameter(
        "standardized",
        "Curves matched to find the starting point and rotation of each outline: standardized undulations, with "
        "the frame of the scale from the raw curves; the raw curves for both; or none.",
        choices={"standardized": "standardized outlines", "raw": "raw outlines (paper)", "none": "none"},
        group=_ADVANCED,
    )
    coordinates: Coordinates = parameter(
        "components",
        "What is tested. Components: coarse form, roughness and concavity, size and elongation, jointly. Otherwise "
        "the undulation coordinates (raw ones detect coarse form, normalized ones roughness) and the scale "
        "coordinates. Thresholds without permutations use both kinds of coordinates instead of components.",
        label="Tested",
        choices={
            "components": "components, jointly",
            "both": "raw and normalized coordinates, jointly",
            "raw": "raw coordinates (paper)",
            "normalized": "normalized coordinates",
        },
        group=_ADVANCED,
    )
    interpolation: Interpolation = parameter(
        "auto",
        "Interpolation between the vertices of an outline: a smooth curve through them, straight lines, or (auto) "
        "straight lines for polygons, which turn only at a few corners, and smooth curves for all others.",
        choices={"auto": "automatic", "spline": "periodic spline", "polygon": "straight lines"},
        group=_ADVANCED,
        expert=True,
    )
    seed: int = parameter(0, "Random seed: the same seed reproduces the result.", least=0, group=_ANALYSIS)
    bandwidth: float | tuple[float, ...] = parameter(
        1.0,
        "Width s of the kernel exp(-d²/(2s²)) for coordinates, as a multiple of the median distance d. Several "
        "widths are tested on the same permutations and combined by the smallest p-value. Not used for components.",
        above=0,
        most=1e6,
        step=0.1,
        decimals=2,
        group=_ADVANCED,
        needs=({"coordinates": ("both", "raw", "normalized")}, {"null": ("gamma", "bound")}),
        expert=True,
    )
    null: NullKind = parameter(
        "permutation",
        "Null distribution of the statistics: permuted labels (exact), a gamma distribution with the same moments, "
        "or Gretton's distribution-free bound (very conservative). The last two need no permutations.",
        label="Null distribution",
        choices={"permutation": "permutations", "gamma": "gamma approximation", "bound": "Gretton's bound"},
        group=_ADVANCED,
        expert=True,
    )
    approximate_above: int = parameter(
        50_000,
        "For more curves than this, the permutation tests project the kernel onto 512 of them: faster, with the "
        "same level and slightly less power. 0 never approximates.",
        least=0,
        step=10_000,
        group=_ADVANCED,
        needs={"null": ("permutation",)},
        expert=True,
    )
    bins: int = parameter(
        1000,
        "With at least four times as many curves, the permutation tests exchange about this many random bins of "
        "curves instead of single curves: faster, with the same statistics and level. 0 always exchanges single "
        "curves.",
        least=0,
        most=10_000,
        step=100,
        group=_ADVANCED,
        needs={"null": ("permutation",)},
        expert=True,
    )
    border_correction: bool = parameter(
        True,
        "Make up for outlines cut by the image border, which are large ones more often: estimates are weighted (Miles "
        "and Lantuéjoul), and of larger images outlines are left out as smaller ones would have cut them. Without an "
        "effect on outlines from files that do not say how large their image was.",
        label="Correct for the border",
        group=_ADVANCED,
        expert=True,
    )
    overrule: bool = parameter(
        False,
        "Give a result even if the outlines have a serious fault, such as duplicates, open outlines, or an "
        "image that stands out. Inspect them first.",
        label="Answer despite faults",
        group=_ADVANCED,
    )
    register: InitVar[bool | None] = None
    normalize: InitVar[bool | None] = None
    random_state: InitVar[RandomState] = None

    __repr__ = as_call

    def __post_init__(self, register: bool | None, normalize: bool | None, random_state: RandomState) -> None:
        if random_state is not None:
            object.__setattr__(self, "seed", seed_of(random_state))
        if register is not None and not switch(register, "register"):
            object.__setattr__(self, "registration", "none")
        if normalize is not None:
            object.__setattr__(self, "coordinates", "normalized" if switch(normalize, "normalize") else "raw")
        parameters.check(self)
        if isinstance(self.bandwidth, tuple) and len(set(self.bandwidth)) < len(self.bandwidth):
            raise ValueError(f"bandwidth contains a multiple twice: {self.bandwidth!r}")

    @property
    def test_level(self) -> float:
        """Level of each of the two tests: half of `significance`, which is that of the row (Bonferroni)."""
        return self.significance / 2

    def permutes_curves(self, *replicates: int) -> bool:
        """Whether single curves are permuted between two groups with these numbers of images or replicates."""
        return self.permute == "curves" or (self.permute == "auto" and max(replicates) < 2)

    @classmethod
    def paper(cls, **changes: Any) -> "Settings":
        """Return the settings of the paper: arc length, one raw match, a random archetype, raw coordinates, level 0.02.

        Other settings may be passed by name.
        """
        choices: dict[str, Any] = {
            "measure": "arc-length",
            "registration": "raw",
            "coordinates": "raw",
            "archetype": "random",
            "interpolation": "spline",
            "significance": 0.02,
            "bins": 0,
            "approximate_above": 0,
            "border_correction": False,
        }
        return cls(**(choices | changes))


def landmarks_of(outlines: Ensemble | Sequence[Ensemble], settings: Settings) -> Real:
    """Place the landmarks (N, n, 2) of the settings on outlines."""
    return to_landmarks(outlines, settings.landmarks, interpolation=settings.interpolation, measure=settings.measure)
