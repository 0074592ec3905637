"""Headline of a comparison: direction, effect size and interval, and the scope of the result."""

from dataclasses import dataclass

import numpy as np

from .._types import Real
from ..checks import Sealed
from ..comparison import Comparison, detectable_differences
from ..comparison.verdict import INCONCLUSIVE
from ..mmd.contrasts import bootstrap_counts, difference_of_means, welch_interval
from .components import TEST_QUANTITIES, components, differences_named, ratio_words
from .shape_paths import ShapePlaces

_WORDS = {
    "size": ("smaller", "larger"),
    "elongation": ("less elongated", "more elongated"),
    "roughness": ("smoother", "rougher"),
}
_OF_TEST = {"scale": ("size", "elongation"), "undulation": ("roughness",)}


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

    Parameters
    ----------
    result : Comparison

    Returns
    -------
    Headline

    Notes
    -----
    Ratios are those of geometric means, B over A: of size, of elongation (ratio of the RMS extents) and of roughness
    (RMS amplitude of waves finer than the coarse form). If single outlines were permuted, intervals are symmetric
    bootstrap-t over outlines; if whole images were, Student's (Welch's) over the means of images.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> headline(result).sentence
    "B's outlines are smaller: 0.81 times A's (0.69 to 0.96). No difference in form was detected."
    """
    places, first = ShapePlaces(result), len(result.a)
    mean_a, mean_b = (places.draw(places.mean(side)) for side in "AB")
    parts = components(result.space, result.t, result.l)
    images = [side.images for side in (result.a, result.b)]
    size = np.exp(parts["size"])
    sizes = tuple(
        {str(name): float(np.exp(np.log(own[names == name]).mean())) for name in dict.fromkeys(names.tolist())}
        for names, own in zip(images, (size[:first], size[first:]), strict=True)
    )
    if result.case == INCONCLUSIVE or min(first, len(result.b)) < 2:
        said = f"No answer yet: {result.summary().partition('inconclusive: ')[2] or result.summary()}"
        missed, scope = "", ""
    else:
        ratios = _ratios(parts, result)
        said, missed, scope = _answer(result, ratios), _missed(result, ratios), _scope(result)
    return Headline(said, missed, scope, mean_a, mean_b, (sizes[0], sizes[1]))


def _scope(result: Comparison) -> str:
    """State whether the result holds for the conditions or for these images alone."""
    if result.permuted != "curves":
        counts = result.image_counts
        permuted = f"whole images were permuted ({counts[0]} and {counts[1]})"
        if min(counts) > 1:
            return f"It holds for the conditions if all images are independent: {permuted}."
        single, other = ("A", "B") if counts[0] == 1 else ("B", "A")
        return f"It holds for the one image of {single}, compared with the condition of {other}: {permuted}."
    if max(result.image_counts) > 1:
        return "It holds for these images only: single outlines were permuted."
    return "It holds for these two images, not for the conditions: there are no replicates."


def _ratios(parts: dict[str, Real], result: Comparison) -> dict[str, Real]:
    """Ratio of B over A with its 95 % interval, (3,), for each of `_WORDS`; over images if these were permuted."""
    first, values = len(result.a), np.stack([parts[name] for name in _WORDS], axis=1)
    if result.permuted == "curves":
        found = difference_of_means(values, first, bootstrap_counts(first, len(values), seed=result.settings.seed))
    else:
        means = []
        for side, own in ((result.a, values[:first]), (result.b, values[first:])):
            names = dict.fromkeys(side.images.tolist())
            means.append(np.stack([own[side.images == name].mean(axis=0) for name in names]))
        found = welch_interval(means[0], means[1])
    with np.errstate(over="ignore"):
        return dict(zip(_WORDS, np.exp(np.stack(found)).T, strict=True))


def _answer(result: Comparison, ratios: dict[str, Real]) -> str:
    """State what differs, in which direction and how much, the scale first."""
    level, directed, undirected, not_found = result.settings.significance, [], [], []
    for test, found in (("scale", result.scale), ("undulation", result.undulation)):
        if not found.rejected:
            not_found.append(f"No difference in {TEST_QUANTITIES[test]} was detected.")
            continue
        names, parts = differences_named(found, {name: ratios[name][1:] for name in _OF_TEST[test]}, level)
        for name in names:
            ratio, low, high = ratio_words(*ratios[name].tolist())
            directed.append(f"{_WORDS[name][int(ratios[name][0] > 1)]}: {ratio} times A's ({low} to {high})")
        if parts or not names:
            listed = f": {', '.join(parts)}" if parts else ""
            undirected.append(f"{TEST_QUANTITIES[test].capitalize()} {'also ' if names else ''}differs{listed}.")
    ratios_said = f"B's outlines are {'; '.join(directed)}." if directed else ""
    return " ".join([*([ratios_said] if directed else []), *undirected, *not_found])


def _missed(result: Comparison, ratios: dict[str, Real]) -> str:
    """State how large a difference could have been missed by tests that did not reject."""
    missed = []
    if result.permuted != "curves":
        for test, found in (("scale", result.scale), ("undulation", result.undulation)):
            for name in () if found.rejected else _OF_TEST[test]:
                largest = max(ratios[name][2], 1 / max(ratios[name][1], np.finfo(float).tiny))
                if np.isfinite(largest):
                    missed.append(f"a ratio of {name} up to {ratio_words(largest)[0]}")
    elif len(result.undulation.null) and not (result.undulation.rejected and result.scale.rejected):
        mean = result.space.scale_mean
        tests = result.undulation, result.scale
        least = detectable_differences(result.t, result.l, len(result.a), *tests, scale_mean=mean)
        if not result.scale.rejected:
            detectable = {"size": least.size_ratio, "elongation": least.elongation_ratio}
            missed += [
                f"a ratio of {name} below {ratio_words(ratio)[0]}"
                for name, ratio in detectable.items()
                if 1 < ratio < np.inf
            ]
        if not result.undulation.rejected and np.isfinite(least.form_shift):
            missed.append(f"a shift of form below {least.form_shift:.2f} standard deviations")
    return f"Could have been missed: {', '.join(missed)}." if missed else ""
