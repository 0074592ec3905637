"""Headline of a comparison: its sentences, with the mean outlines and the sizes of images to draw beside them."""

from dataclasses import dataclass

import numpy as np

from .._types import Real
from ..checks import Sealed
from ..comparison import Comparison, answer
from .shape_paths import ShapePlaces


@dataclass(frozen=True, eq=False)
class Headline(Sealed):
    """Headline of a comparison.

    Attributes
    ----------
    sentence : str
        What differs, in which direction and how much, with 95 % intervals; or that nothing was detected.
    missed : str
        Largest difference that could have been missed; empty if both tests detected one.
    scope : str
        Whether the result holds for the conditions or for these images alone; empty without a result.
    mean_a, mean_b : (n, 2) arrays
        Mean outlines of A and of B, centered, each at its own mean scale, in the unit of the comparison.
    image_sizes : tuple of two dicts of str to float
        For A and B, the geometric mean size (RMS extent) of the outlines of every image.
    """

    sentence: str
    missed: str
    scope: str
    mean_a: Real
    mean_b: Real
    image_sizes: tuple[dict[str, float], dict[str, float]]


def headline(result: Comparison) -> Headline:
    """State the result of a comparison in a sentence with direction, effect size and interval.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> headline(result).sentence
    "B's outlines are smaller: 0.81 times A's (0.69 to 0.96). No difference in form was detected."
    """
    places, size = ShapePlaces(result), result.components["size"]
    mean_a, mean_b = (places.draw(places.mean(side)) for side in "AB")
    sizes = tuple(
        {str(name): float(np.exp(own[side.images == name].mean())) for name in dict.fromkeys(side.images.tolist())}
        for side, own in zip((result.a, result.b), np.split(size, [len(result.a)]), strict=True)
    )
    words = answer.headline(result), answer.missed(result), answer.scope(result)
    return Headline(*words, mean_a, mean_b, (sizes[0], sizes[1]))
