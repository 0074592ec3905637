"""Test whether shape depends on the position of an outline within its image.

If it does (uneven illumination, a gradient of the material, lens distortion), any two parts of an image differ, and two
images of different places differ for the same reason: a warning for comparisons of one image a side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Sealed
from ..mmd.dependence import DependenceTest, independence_test
from ..mmd.replicates import group_means
from ..outlines import Ensemble
from ..palette import axes_of
from ..words import counted, p_text
from .figures import draw_nulls
from .learning import learn
from .parts import form_parts, scale_parts
from .position_trends import centroids
from .result import Comparison
from .samples import image_numbers
from .settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With fewer outlines in every image permutations have hardly any power.
_MIN_OUTLINES = 8


@dataclass(frozen=True, eq=False)
class PositionDependence(Sealed):
    """Dependence of form and scale on position within images.

    Attributes
    ----------
    undulation, scale : DependenceTest
        Tests of the parts of the comparison against the centroids; each at half the level.
    images : int
        Number of images tested.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, position_dependence, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> found = position_dependence([a, b], Settings(landmarks=60, rank=10, permutations=199))
    >>> found.images, 0 < found.p_value <= 1
    (2, True)
    """

    undulation: DependenceTest
    scale: DependenceTest
    images: int

    @property
    def p_value(self) -> float:
        """p-value for either: twice the smaller p-value (Bonferroni)."""
        return min(2 * min(self.undulation.p_value, self.scale.p_value), 1.0)

    @property
    def rejected(self) -> bool:
        """Whether form or scale depends on position."""
        return self.undulation.rejected or self.scale.rejected

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot both tests relative to their thresholds, permuted and observed; returns the Matplotlib axes."""
        ax = axes_of(ax, height=1.9)
        rows = []
        for name, test in (("form", self.undulation), ("scale", self.scale)):
            null = np.append(test.null, test.hsic)
            threshold = float(np.quantile(null, 1 - test.significance, method="higher"))
            rows.append((name, test.null, test.hsic, threshold, test.p_value, test.rejected))
        draw_nulls(rows, ax)
        ax.set_xlabel("HSIC with position / threshold")
        return ax

    def sentence(self) -> str:
        """State the result, and its implication for a comparison of single images."""
        tests = (("form", self.undulation), ("scale", self.scale))
        numbers = ", ".join(f"{name} p = {p_text(test.p_value, test.significance)}" for name, test in tests)
        where = "the image" if self.images == 1 else "the images"
        if not self.rejected:
            return f"No dependence of shape on position within {where} was detected ({numbers})."
        names = " and ".join(name for name, test in tests if test.rejected)
        depend = "depend" if " and " in names else "depends"
        return (
            f"{names.capitalize()} {depend} on position within {where} ({numbers}): images of other places may differ "
            "for that reason alone. Compare several images of each condition."
        )


def not_tested(error: ValueError) -> str:
    """Say why `position_dependence` gave no result."""
    return f"Position within the images is not tested: {error}."


def position_dependence(
    outlines: Comparison | Ensemble | Sequence[Ensemble], settings: Settings | None = None
) -> PositionDependence:
    """Test whether shape depends on the position of an outline within its image.

    Parameters
    ----------
    outlines : Comparison, Ensemble or a sequence of them
        A result, whose coordinates are tested as they are; or the outlines of one or several images, from which a shape
        space is learned.
    settings : Settings, optional
        Its permutations, level and seed; by default those of the comparison, or `Settings()`.

    Returns
    -------
    PositionDependence

    Raises
    ------
    ValueError
        For anything else (for an experiment, pass its ensembles), or if no image has at least 8 outlines.

    See Also
    --------
    dependence_test : whether undulation and scale depend on each other; the source of the HSIC.

    Notes
    -----
    HSIC of the tested parts, with their kernels summed, against the outlines' centroids; centroids are permuted within
    each image, so images may differ from each other in any respect. The test is exact if outlines of an image are
    exchangeable. Large outlines touch the border, and are left out, more often near it: with few and large objects in
    an image that alone is a dependence.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, Settings, position_dependence
    >>> u, rng = 2 * np.pi * np.arange(40) / 40, np.random.default_rng(0)
    >>> places = rng.uniform(20, 480, size=(60, 2))
    >>> sizes = 5 + places[:, 0] / 100 + rng.normal(size=60)  # larger towards the bottom
    >>> circle = np.stack([np.sin(u), 1.5 * np.cos(u)], axis=1)
    >>> outlines = Ensemble([size * circle + place for size, place in zip(sizes, places)])
    >>> position_dependence(outlines, Settings(landmarks=40, rank=2)).scale.rejected
    True
    """
    if isinstance(outlines, Comparison):
        sides, settings = [*outlines.compared], settings or outlines.settings
        parts = outlines.form_parts(), outlines.scale_parts()
    else:
        settings = settings or Settings()
        sides = (
            [outlines] if isinstance(outlines, Ensemble) else [*outlines] if isinstance(outlines, list | tuple) else []
        )
        if not sides or not all(isinstance(side, Ensemble) for side in sides):
            raise ValueError("give a Comparison, an Ensemble or a list of ensembles; for an experiment, its ensembles")
        sides = [side.to(sides[0].unit) for side in sides]
        learned = learn(sides, settings)
        parts = (
            form_parts(learned.t, learned.descriptors, settings),
            scale_parts(learned.l, learned.space.scale_mean_, settings, learned.known),
        )
    image, places = image_numbers(sides), np.concatenate([centroids(side) for side in sides])
    counts = np.bincount(image)
    if counts.max() < _MIN_OUTLINES:
        raise ValueError(
            f"the largest of {counted(len(counts), 'image')} has {counted(int(counts.max()), 'outline')}: a test "
            f"of position needs at least {_MIN_OUTLINES} in one image"
        )
    order = np.argsort(image, kind="stable")
    places = (places - group_means(places, image)[image])[order]
    undulation, scale = (
        independence_test(
            [part.points[order] for part in kind.tested.values()],
            [places],
            counts.tolist(),
            permutations=settings.permutations,
            significance=settings.test_level,
            seed=settings.seed,
        )
        for kind in parts
    )
    return PositionDependence(undulation, scale, len(counts))
