"""Settings of a comparison: every parameter with its one default, range and help."""

from dataclasses import InitVar, dataclass
from typing import Any, Literal, cast

from .. import parameters
from ..checks import RandomState, seed_of, switch
from ..mmd import PERMUTATIONS, SIGNIFICANCE
from ..parameters import documented, parameter
from ..shapes import Interpolation, Measure
from ..shapes.registration import Choice

RegistrationKind = Literal["standardized", "raw", "none"]
Coordinates = Literal["components", "both", "raw", "normalized"]
NullKind = Literal["permutation", "gamma", "bound"]
Exchangeable = Literal["auto", "curves", "images"]

_ANALYSIS, _ADVANCED = "Analysis", "Advanced"
# Enough for levels of a millionth; catches typing errors, as more would take days.
_MOST_PERMUTATIONS = 10_000_000


@documented
@dataclass(frozen=True)
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
    Z. Grey, O. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> Settings(rank=20).rank, Settings().landmarks
    (20, 500)
    >>> Settings.paper().measure
    'arc-length'
    """

    landmarks: int = parameter(500, "Landmarks (points) per outline.", least=8, step=50, group=_ANALYSIS)
    rank: int = parameter(
        150,
        "Number of undulation coordinates kept; fewer where the curves cannot determine so many. A smaller rank sees "
        "smoother forms.",
        least=1,
        step=10,
        group=_ANALYSIS,
    )
    significance: float = parameter(
        SIGNIFICANCE,
        "Significance level of each of the two tests; the row as a whole errs at most twice as often.",
        above=0,
        below=1,
        step=0.01,
        decimals=3,
        group=_ANALYSIS,
    )
    permutations: int = parameter(
        PERMUTATIONS,
        "Number of random permutations of the labels A and B in each test.",
        least=1,
        most=_MOST_PERMUTATIONS,
        step=100,
        group=_ANALYSIS,
    )
    permute: Exchangeable = parameter(
        "auto",
        "What is exchangeable between A and B. With whole images the result holds for the conditions, as images of one "
        "condition differ too; with single outlines for these images alone.",
        label="Permute",
        choices={
            "auto": "images, where there are several",
            "curves": "outlines: these images alone",
            "images": "images",
        },
        group=_ADVANCED,
    )
    archetype: Choice = parameter(
        "asymmetric",
        "The outline all others are registered against; a number counts through A's curves, then B's.",
        choices={
            "asymmetric": "least symmetric outline",
            "random": "random outline (paper)",
            "mean": "mean outline",
        },
        least=0,
        group=_ADVANCED,
    )
    reflections: bool = parameter(
        True,
        "An outline and its mirror image count as the same; off keeps handedness as a feature.",
        label="Mirror images match",
        group=_ANALYSIS,
    )
    measure: Measure = parameter(
        "affine",
        "Which length the landmarks divide equally. Only the affine one keeps undulation independent of linear maps: "
        "stretching an image is then a difference in scale only.",
        choices={"affine": "affine arc length", "arc-length": "arc length (paper)"},
        group=_ADVANCED,
    )
    registration: RegistrationKind = parameter(
        "standardized",
        "What is matched to find where each outline starts and how it is rotated: standardized undulations, with the "
        "frame of the scale from the raw curves; one match of the raw curves for both; or none.",
        choices={"standardized": "standardized outlines", "raw": "raw outlines (paper)", "none": "none"},
        group=_ADVANCED,
    )
    coordinates: Coordinates = parameter(
        "components",
        "What is tested. Components: coarse form, roughness and concavity, size and elongation, jointly. Otherwise "
        "undulation by its coordinates, of which raw ones see coarse form and normalized ones roughness, and scale by "
        "its coordinates. Thresholds without permutations take both kinds of coordinates for the components.",
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
        "straight lines for polygons, which turn at a few corners alone, and smooth curves for all others.",
        choices={"auto": "as each outline is", "spline": "periodic spline", "polygon": "straight lines"},
        group=_ADVANCED,
    )
    seed: int = parameter(0, "Random seed of every draw: the same seed repeats the result.", least=0, group=_ANALYSIS)
    bandwidth: float | tuple[float, ...] = parameter(
        1.0,
        "Width s of the kernel exp(-d²/(2s²)) with which coordinates are tested, as a multiple of the median distance "
        "d. Several are tested on the same permutations and combined by the smallest p-value. Components need none.",
        above=0,
        most=1e6,
        step=0.1,
        decimals=2,
        group=_ADVANCED,
        needs=({"coordinates": ("both", "raw", "normalized")}, {"null": ("gamma", "bound")}),
    )
    null: NullKind = parameter(
        "permutation",
        "Null distribution of the statistics: permuted labels (exact), a gamma distribution with their moments, or "
        "Gretton's distribution-free bound (very conservative). The last two draw no permutations.",
        label="Null distribution",
        choices={"permutation": "permutations", "gamma": "gamma approximation", "bound": "Gretton's bound"},
        group=_ADVANCED,
    )
    approximate_above: int = parameter(
        50_000,
        "For more curves than this the permutation tests project the kernel on 512 of them: faster, with the same "
        "level and somewhat less power. 0 does so never.",
        least=0,
        step=10_000,
        group=_ADVANCED,
        needs={"null": ("permutation",)},
    )
    bins: int = parameter(
        1000,
        "With four times as many curves or more, the permutation tests exchange about this many random bins of curves "
        "in place of single curves: faster, the same statistics, the same level. 0 exchanges single curves always.",
        least=0,
        most=10_000,
        step=100,
        group=_ADVANCED,
        needs={"null": ("permutation",)},
    )
    overrule: bool = parameter(
        False,
        "Give a row even where the outlines have a serious fault, such as duplicates, open outlines, fewer than ten "
        "curves on a side, or an image that stands out: after a look at them.",
        label="Answer in spite of faults",
        group=_ADVANCED,
    )
    register: InitVar[bool | None] = None
    normalize: InitVar[bool | None] = None
    random_state: InitVar[RandomState] = None

    def __post_init__(self, register: bool | None, normalize: bool | None, random_state: RandomState) -> None:
        if random_state is not None:
            object.__setattr__(self, "seed", seed_of(random_state))
        if register is not None and not switch(register, "register"):
            object.__setattr__(self, "registration", "none")
        if normalize is not None:
            object.__setattr__(self, "coordinates", "normalized" if switch(normalize, "normalize") else "raw")
        if cast("int | None", self.approximate_above) is None:  # "never" in older files and scripts
            object.__setattr__(self, "approximate_above", 0)
        parameters.check(self)
        if isinstance(self.bandwidth, tuple) and len(set(self.bandwidth)) < len(self.bandwidth):
            raise ValueError(f"bandwidth names a multiple twice: {self.bandwidth!r}")

    @classmethod
    def paper(cls, **changes: Any) -> "Settings":
        """Return the settings of the paper: arc length, one raw match, a random archetype, raw coordinates.

        Other settings may be passed by name.
        """
        choices: dict[str, Any] = {
            "measure": "arc-length",
            "registration": "raw",
            "coordinates": "raw",
            "archetype": "random",
            "interpolation": "spline",
            "bins": 0,
            "approximate_above": 0,
        }
        return cls(**(choices | changes))
