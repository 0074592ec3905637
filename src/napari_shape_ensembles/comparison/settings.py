"""What a comparison does: every choice, its default and its range."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..shapes import Interpolation, Measure
from ..shapes.archetype import Choice

RegistrationKind = Literal["standardized", "raw", "none"]
Coordinates = Literal["both", "raw", "normalized"]
NullKind = Literal["permutation", "gamma", "bound"]


# Enough for levels of a millionth, and a limit for slips of the keyboard.
_MOST_PERMUTATIONS = 10_000_000


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
        if self.permutations > _MOST_PERMUTATIONS:
            raise ValueError(f"{self.permutations} permutations would take days: take at most {_MOST_PERMUTATIONS}")
        level: Any = self.significance  # whatever a file may hold
        if not isinstance(level, float | np.floating) or not 0 < level < 1:
            raise ValueError(f"significance is a level between 0 and 1, such as 0.01, not {level!r}")
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
