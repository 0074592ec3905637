"""Recipes proposed for images: several are tried on a part of each and ranked by measures of the outlines alone."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from scipy.spatial import cKDTree
from skimage.filters import threshold_otsu

from .._types import Labels, Mask, Real
from ..checks import unmasked
from ..parameters import matters, parameters_of
from ..progress import over_blocks, report
from .finders import pinned
from .learned import PixelFeatures, learn_objects
from .matching import match_labels
from .methods import (
    above_threshold,
    cleaned,
    crofton_perimeters,
    extreme_nearby,
    gray_plane,
    refuse_wider,
    separated,
    upwards,
)
from .not_image import ignored_parts, with_values
from .recipe import Recipe, Split

# The objects that a recipe finds, their measures, and the center and area of each.
_Tried: TypeAlias = tuple[Labels, dict[str, float], Real]

# Search space: methods, each for bright and dark objects, without splitting and with two ways of splitting.
_METHODS: tuple[dict[str, Any], ...] = (
    {"method": "otsu"},
    {"method": "otsu", "background": 40.0},
    {"method": "li"},
    {"method": "li", "background": 40.0},
    {"method": "local", "window": 31.0, "offset": 0.02},
    {"method": "local", "window": 31.0, "offset": 0.05},
    {"method": "local", "window": 61.0, "offset": 0.02},
    {"method": "local", "window": 121.0, "offset": 0.02},
    {"method": "multi-otsu", "classes": 3, "object_classes": 1},
    {"method": "multi-otsu", "classes": 3, "object_classes": 2},
    {"method": "multi-otsu", "classes": 4, "object_classes": 1},
    {"method": "multi-otsu", "classes": 4, "object_classes": 2},
    {"method": "hysteresis"},
    {"method": "hysteresis", "background": 40.0},
)
_SPLITS: tuple[Split, ...] = ("none", "distance", "intensity")
# In a mask, at least this fraction of pixels differ from one of two levels by less than `_FLAT` of their difference, or
# lie within `_EDGE_PX` of both.
_MIN_FLAT_FRACTION, _FLAT, _EDGE_PX = 0.99, 0.07, 3
# Number of methods whose objects are also split.
_SPLIT_COUNT = 10
_COMMON_FIELDS: dict[str, Any] = {"smoothing": 1.0, "min_size": 30}
#: Parameters that proposals set, in addition to `min_size` if the user did not set it.
PROPOSED_FIELDS = (
    *("method", "find", "objects", "split_touching", "smoothing", "background"),
    *("window", "offset", "classes", "object_classes", "refine"),
)
_PARAMETERS = parameters_of(Recipe)
# Descriptions of what distinguishes two proposals with the same objects and method; "" for what is not done.
_FIELD_DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "window": lambda width: f"window {width:g} px",
    "offset": lambda offset: f"offset {offset:g}",
    "classes": lambda count: f"{count} classes",
    "object_classes": lambda count: "1 class of objects" if count == 1 else f"{count} classes of objects",
    "background": lambda width: f"background subtracted ({width:g} px)" if width else "",
    "split_touching": lambda how: _split_words(how),
    "smoothing": lambda width: f"smoothing {width:g} px",
    "refine": lambda on: "refined by learning" if on else "",
}
# Images are downsampled until their longer side has at most this many pixels, then cropped to a window of this width.
_MAX_SIDE_PX, _WINDOW = 1300, 360
# By more than this, the widths of some recipes would exceed what a recipe allows, and windows of narrow images vanish.
_MAX_FACTOR = 32
# A higher resolution is preferred if the best recipe finds at least this many objects in a window there (any, if all
# are cut at the lowest resolution) ...
_MIN_OBJECTS = 25
# ... and its score is at most this much lower, or more than this fraction of the objects are specks at the lowest.
_SCORE_MARGIN, _MAX_SPECKS = 0.05, 0.5
# More objects than this in the window are texture, which is slow to measure.
_MAX_OBJECTS = 2500
# Of more images than this, as many are tried, evenly spaced from the first to the last.
_MAX_IMAGES = 6
# Number of gray levels that ranks tell apart.
_RANKED_LEVELS = 2**20
# Objects below this many pixels are specks.
_SPECK = 60
# Two objects are the same if the distance of their centers, in radii, and the difference of their log areas are below
# these.
_MAX_CENTRE_DISTANCE, _MAX_LOG_AREA_DIFFERENCE = 0.3, 0.4
# Increase in edge strength that multiplies a recipe's weight by e.
_EDGE_GAIN = 0.1
# Where more than this fraction of an image is empty, objects are not looked for in what it is filled with.
_MIN_EMPTY = 0.05
# Number of proposals from which candidates for examples are taken.
_CANDIDATE_RECIPES = 4
# Proposals whose objects agree by more than this (F1) are variants of one.
_VARIANT_F1 = 0.7
# Weights of the measures, from a ridge regression of F1 on images with manual labels
# (`python tools/train_segmentation.py proposals`, which also prints what they give on images left out).
_WEIGHTS = {
    "closed": 0.14,
    "covered": -0.13,
    "round": 0.27,
    "specks": -0.20,
    "largest": -0.17,
    "uneven": -0.62,
    "repeatable": 0.56,
}
# F1 expected of the best proposal, from a regression on the same images.
_EXPECTED = {"repeatable": 0.23, "round": 0.95}
_EXPECTED_OFFSET = -0.25
# Below this, the objects of the best recipe are refined, if other recipes agree with them by less than this ...
_GOOD, _DISPUTED = 0.8, 0.5
# ... unless images have more pixels, whose features would take more than 0.5 GB of memory, ...
_MAX_REFINED_PX = 4_000_000
# ... by learning from this many that look best, or from as many as there are, but not from fewer.
_EXAMPLES, _MIN_EXAMPLES = 20, 6
# Training pixels per class: fewer than for painted objects, which halves the time of learning.
_TRAINING_PIXELS = 1000
# Below this, it is doubtful: of 88 images 4 of 68 in which the first proposal has an F1 of 0.7 or more, and all 6 with
# less than 0.5.
_DOUBTFUL = 0.65
# Lead of the best recipe for bright objects over the best for dark ones, or the reverse, from which an image shows one
# kind: 0.3 to 0.7 in nine of ten images of the shared data, 0.14 in one.
_CONTRAST_LEAD = 0.2
#: What is said of a doubtful proposal.
DOUBTFUL = "these outlines are doubtful: compare them with the image, or learn from five painted objects"


@dataclass(frozen=True, eq=False)
class Proposal:
    """One recipe, and what it finds in a part of the image (of several images, in a part of the first).

    Attributes
    ----------
    recipe : Outlines or Recipe
        For the whole image at its full resolution.
    score : float
        The higher the better, averaged over the images; comparable between proposals for the same images only.
    measures : mapping of str to float
        Terms of the score, averaged over the images in which it finds something, not refined: `closed`, the fraction of
        the objects' area that does not touch the border; `covered`, the fraction of the image that objects cover;
        `round`, mean circularity; `specks`, the fraction of objects below 60 pixels; `largest`, the fraction of their
        area in the largest one; `uneven`, the mean standard deviation of the ranks of the gray levels within an object;
        `repeatable`, the agreement (F1) of its objects with those of the other recipes, weighted towards recipes whose
        outlines follow stronger edges.
    labels : (rows, columns) int32 array
        The objects in the thumbnail; of a color image, refined by its gray levels.
    thumbnail : (rows, columns) array
        The part of the image that was tried, in gray.
    finds : tuple of bool
        For each image that was tried, whether it finds an object in the part that was tried: one that does not touch
        the border, unless such objects are kept.
    scores : tuple of float
        Score in each image that was tried; where it finds nothing, the lowest of all recipes.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import propose
    >>> rows, columns = np.indices((120, 120)) % 40
    >>> best = propose(100.0 * (np.hypot(rows - 20, columns - 20) < 12))[0]
    >>> best.thumbnail.shape == best.labels.shape, int(best.labels.max())
    (True, 9)
    """

    recipe: Any
    score: float
    measures: Mapping[str, float]
    labels: Labels = field(repr=False)
    thumbnail: Real = field(repr=False)
    finds: tuple[bool, ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def expected(self) -> float:
        """F1 of its objects that may be expected, at an intersection over union of 0.5, if it is the best proposal."""
        expected = _EXPECTED_OFFSET + sum(weight * self.measures[name] for name, weight in _EXPECTED.items())
        return min(max(expected, 0.0), 1.0)

    @property
    def is_doubtful(self) -> bool:
        """Whether less than an F1 of 0.65 is expected, so that painted examples are likely better."""
        return self.expected < _DOUBTFUL


def ranked_proposals(images: Sequence[ArrayLike], start: Recipe, *, shown: bool = True) -> list[Proposal]:
    """Return the proposals of `propose` for several images, with the other parameters of a recipe.

    Unless they are to be `shown`, the labels of the first are not refined, which saves time.

    Raises
    ------
    ValueError
        For an image that cannot be segmented, identifying it if there are several.
    """
    images = [images[place] for place in places_tried(len(images))]
    planes, empty = [], []
    for number, one in enumerate(images, start=1):
        try:
            plane, blank = _plane_to_try(one, start)
            planes.append(plane)
            empty.append(blank)
        except ValueError as error:
            raise ValueError(f"image {number} of {len(images)}: {error}" if len(images) > 1 else str(error)) from None
    coarsest = min(-(-max(max(plane.shape) for plane in planes) // _MAX_SIDE_PX), _MAX_FACTOR)
    overviews = [_downsampled(plane, coarsest) for plane in planes]
    attempt = lowest = _Attempt.at(coarsest, planes, empty, overviews, coarsest)
    least = _MIN_OBJECTS if lowest.mean("closed") > 0 else 1
    for factor in itertools.takewhile(lambda factor: factor < coarsest, (2**power for power in itertools.count())):
        finer = _Attempt.at(factor, planes, empty, overviews, coarsest)
        as_good = finer.score >= lowest.score - _SCORE_MARGIN or lowest.mean("specks") > _MAX_SPECKS
        if as_good and finer.mean_count() >= least:
            attempt = finer
            break
    parts, tried, total = attempt.parts, attempt.tried, attempt.total
    proposals, seen = [], set()
    for way in sorted(total, key=lambda way: -total[way]):
        outcomes = [of_image[way] for of_image in tried if way in of_image]
        content = tuple(of_image[way][0].tobytes() if way in of_image else b"" for of_image in tried)
        if content not in seen:
            seen.add(content)
            kept = {name: value for name, value in start.changed().items() if name not in PROPOSED_FIELDS}
            scaled = way.at_resolution(attempt.factor)
            full = replace(start, **{name: getattr(scaled, name) for name in (*PROPOSED_FIELDS, "min_size")} | kept)
            measures = {name: float(np.mean([one[name] for _, one, _ in outcomes])) for name in _WEIGHTS}
            labels = tried[0][way][0] if way in tried[0] else np.zeros(parts[0].shape, dtype=np.int32)
            finds = tuple(
                way in of_image and (start.keep_border or of_image[way][1]["closed"] > 0) for of_image in tried
            )
            own = tuple(of_image.get(way, min(of_image.values(), default=0.0)) for of_image in attempt.scores)
            proposals.append(Proposal(full, total[way], measures, labels, parts[0], finds, own))
    small = attempt.factor == 1 and all(plane.size <= _MAX_REFINED_PX for plane in planes)
    best = proposals[0] if proposals else None
    if best and small and best.expected < _GOOD and best.measures["repeatable"] < _DISPUTED:
        labels = refined(parts[0], best.labels, attempt.outside[0]) if shown else best.labels
        proposals[0] = replace(best, recipe=replace(best.recipe, refine=True), labels=labels)
    return proposals


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What all recipes find in a part of every image, downsampled by a factor, and the mean score of each recipe."""

    factor: int
    parts: list[Real]
    outside: list[Mask | None]
    tried: list[dict[Recipe, _Tried]]
    scores: list[dict[Recipe, float]]
    total: dict[Recipe, float]

    @classmethod
    def at(
        cls,
        factor: int,
        planes: Sequence[NDArray[Any]],
        empty: Sequence[Mask | None],
        overviews: Sequence[Real],
        coarsest: int,
    ) -> "_Attempt":
        """Try the window that is found in the overviews, which are downsampled by `coarsest`."""
        width, parts, outside = _WINDOW * factor // coarsest, list[Real](), list[Mask | None]()
        for plane, own, overview in zip(planes, empty, overviews, strict=True):
            place = _window(plane, own, overview, width, coarsest)
            parts.append(_downsampled(plane[place], factor))
            outside.append(None if own is None else _downsampled(own[place], factor) > 0)
        methods = _METHODS[:1] if all(map(_has_two_levels, parts)) else _METHODS
        tried = []
        for number, part in enumerate(parts):
            report("proposing recipes", number, len(parts))
            tried.append(_all_tried(_Scene.of(part, outside[number]), methods))
        scores = [{way: _score(measures) for way, (_, measures, _) in outcomes.items()} for outcomes in tried]
        least = [min(of_image.values(), default=0.0) for of_image in scores]
        total = {
            way: float(np.mean([of_image.get(way, low) for of_image, low in zip(scores, least, strict=True)]))
            for way in dict.fromkeys(itertools.chain(*tried))
        }
        return cls(factor, parts, outside, tried, scores, total)

    @property
    def score(self) -> float:
        """Score of the best recipe."""
        return max(self.total.values(), default=-np.inf)

    def found_by_best(self) -> list[_Tried]:
        """What the best recipe finds in the parts in which it finds anything."""
        best = max(self.total, key=self.total.__getitem__, default=None)
        return [of_image[best] for of_image in self.tried if best in of_image]

    def mean(self, measure: str) -> float:
        """Mean of a measure of what the best recipe finds."""
        return float(np.mean([measures[measure] for _, measures, _ in self.found_by_best()] or [0]))

    def mean_count(self) -> float:
        """Mean number of objects that the best recipe finds in a part."""
        return sum(int(labels.max()) for labels, *_ in self.found_by_best()) / len(self.parts)


def _plane_to_try(image: ArrayLike, recipe: Recipe) -> tuple[NDArray[Any], Mask | None]:
    """Return the gray levels of an image, and where much of it is empty; raise a ValueError if it is constant."""
    pixels = unmasked(image, "the image")
    ignored = ignored_parts(pixels, recipe.ignore)
    plane, empty = gray_plane(ignored.filled(pixels), recipe.channel), ignored.mask[ignored.window]
    lowest, highest = float(plane.min()), float(plane.max())  # in double precision, as they are segmented
    if lowest == highest:
        raise ValueError(f"every pixel is {lowest:g}: objects cannot be told from background")
    return plane, empty if empty.mean() > _MIN_EMPTY else None


def reason_not_tried(image: ArrayLike, recipe: Recipe) -> str:
    """Return the reason why nothing can be proposed for an image; empty if something can.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Outlines
    >>> from napari_shape_ensembles.outlines.proposals import reason_not_tried
    >>> reason_not_tried(np.zeros((9, 9)), Outlines())
    'every pixel is 0: objects cannot be told from background'
    """
    try:
        _plane_to_try(image, recipe)
    except ValueError as error:
        return str(error)
    return ""


def places_tried(count: int) -> list[int]:
    """Indices of the images that are tried: all, or six, evenly spaced from the first to the last."""
    return [round(place) for place in np.linspace(0, count - 1, min(count, _MAX_IMAGES))]


def sets_finding(recipe: Recipe) -> bool:
    """Whether any parameter that proposals set differs from its default, so that a proposal would override a choice."""
    changed = {name for name in recipe.changed() if name != "method" or recipe.method != "auto"}
    return recipe.find is not None or any(name in changed for name in PROPOSED_FIELDS)


def describe_finding(recipe: Recipe) -> str:
    """Describe in a few words how a recipe finds objects."""
    split = "" if recipe.split_touching == "none" else f", {_split_words(recipe.split_touching)}"
    more = _FIELD_DESCRIPTIONS["refine"](recipe.refine)
    return f"{_method_words(recipe)}{split}{more and f', {more}'}"


def _method_words(recipe: Recipe) -> str:
    return f"{_PARAMETERS['method'].shown(recipe.method)}, {recipe.objects}"


def _split_words(how: Any) -> str:
    return "not split" if how == "none" else f"split {_PARAMETERS['split_touching'].shown(how)}"


def distinguishing_descriptions(recipes: Sequence[Recipe]) -> list[str]:
    """Describe how each of several recipes finds objects, with all relevant settings in which some differ.

    Examples
    --------
    >>> from napari_shape_ensembles import Outlines
    >>> from napari_shape_ensembles.outlines.proposals import distinguishing_descriptions
    >>> distinguishing_descriptions([Outlines(), Outlines(method="li", split_touching="none")])
    ['Otsu threshold, bright, split at necks', 'Li threshold, bright, not split']
    """
    words = [_method_words(recipe) for recipe in recipes]
    for name, describe in _FIELD_DESCRIPTIONS.items():
        values = [getattr(recipe, name) if matters(recipe, name) else None for recipe in recipes]
        if len({value for value in values if value is not None}) > 1:
            more = ["" if value is None else describe(value) for value in values]
            words = [", ".join(filter(None, both)) for both in zip(words, more, strict=True)]
    return words


def varied(proposals: Sequence[Proposal], count: int) -> list[Proposal]:
    """Return the first proposals that find other objects than those before them, then others, in order."""
    first: list[Proposal] = []
    for proposal in proposals:
        if len(first) < count and all(_f1(proposal.labels, earlier.labels) < _VARIANT_F1 for earlier in first):
            first.append(proposal)
    more = (proposal for proposal in proposals if proposal not in first)
    return [*first, *itertools.islice(more, count - len(first))]


def _f1(one: Labels, other: Labels) -> float:
    """F1 score: fraction of the objects in both that have a partner in the other; 1 where there is none in either."""
    total = int(one.max()) + int(other.max())
    return 2 * len(match_labels(one, other).pairs) / total if total else 1.0


def opposite_contrast(proposals: Sequence[Proposal], names: Sequence[str]) -> str:
    """Say which images have bright objects and which dark ones, if one recipe cannot find both; "" otherwise.

    Parameters
    ----------
    proposals : sequence of Proposal
    names : sequence of str
        Of all images for which the recipes were proposed.
    """
    sides = {side: [one.scores for one in proposals if one.recipe.objects == side] for side in ("bright", "dark")}
    if not all(sides.values()):
        return ""
    found = np.any([one.finds for one in proposals], axis=0)  # elsewhere, all scores are of nothing
    lead = np.where(found, np.max(sides["bright"], axis=0) - np.max(sides["dark"], axis=0), 0)
    tried = [names[place] for place in places_tried(len(names))]
    bright, dark = ([tried[place] for place in np.flatnonzero(way * lead > _CONTRAST_LEAD)] for way in (1, -1))
    if not (bright and dark):
        return ""
    return (
        f"objects are bright in {', '.join(bright)}, but dark in {', '.join(dark)}: one recipe does not find both; "
        "invert the gray levels of some, or segment them apart and compare the labels"
    )


def candidate_examples(image: ArrayLike, proposals: Sequence[Proposal], count: int = 5) -> Labels:
    """Return objects of an image that look whole in several proposals: candidates for examples to learn from.

    Parameters
    ----------
    image : array
        One of those for which the recipes were proposed.
    proposals : sequence of Proposal
    count : int
        Number of candidates; fewer if fewer objects lie off the border.

    Returns
    -------
    (rows, columns) int32 array
        1 to `count` for the candidates, the best first.
    """
    pixels = with_values(unmasked(image, "the image"))
    scene = _Scene.of(gray_plane(pixels, proposals[0].recipe.channel).astype(np.float64))
    found: list[tuple[float, Labels, int]] = []
    tried = [proposal.recipe.labels(image) for proposal in varied(proposals, _CANDIDATE_RECIPES)]
    for place, labels in enumerate(tried):
        if not labels.any():
            continue
        worth = _worth(scene, labels)
        for other in (*tried[:place], *tried[place + 1 :]):
            pairs = match_labels(labels, other).pairs
            worth[pairs["a"].to_numpy(dtype=np.intp) - 1] += 1 / len(tried)
        found += [(float(worth[place]), labels, place + 1) for place in np.flatnonzero(worth > -np.inf).tolist()]
    chosen = np.zeros(scene.part.shape, dtype=np.int32)
    for _, labels, number in sorted(found, key=lambda one: -one[0]):
        own = labels == number
        if not chosen[own].any():
            chosen[own] = chosen.max() + 1
        if chosen.max() == count:
            break
    return chosen


def refined(
    image: NDArray[Any], labels: Labels, outside: Mask | None = None, channel: str | int = "luminance"
) -> Labels:
    """Learn from the objects of an image that look best, and find all anew, none `outside`.

    Those of a mask, and those of which few are whole, are returned unchanged.
    """
    plane = gray_plane(image, channel)
    worth = _worth(_Scene.of(plane.astype(np.float64), outside), labels) if labels.any() else np.empty(0)
    best = np.argsort(-worth, kind="stable")[: min(_EXAMPLES, int(np.sum(worth > -np.inf)))]
    if len(best) < _MIN_EXAMPLES or bool(np.isin(plane, (plane.min(), plane.max())).all()):
        return labels
    number = np.zeros(len(worth) + 1, dtype=np.int32)
    number[best + 1] = np.arange(1, len(best) + 1)
    features = PixelFeatures.of(image if channel == "luminance" else plane)
    found = learn_objects(features, number[labels], max_pixels=_TRAINING_PIXELS).labels(features)
    return found if outside is None else np.where(outside, 0, found)


def best_recipe(images: Sequence[ArrayLike], recipe: Any, warn: Callable[[str], object] = lambda _: None) -> Any:
    """One recipe for all images, the first proposal; for masks, or if nothing is found, Otsu's method.

    `warn` is called with a sentence if it is doubtful. Images that cannot be segmented by any recipe, such as blank
    ones, are ignored.
    """
    if recipe.find is not None:
        return replace(recipe, method="otsu", find=pinned(recipe.find))  # the method is ignored
    images = [image for image in images if np.asarray(image).dtype != bool]
    reasons = over_blocks(lambda image: reason_not_tried(image, recipe), images)
    grey = [image for image, reason in zip(images, reasons, strict=True) if not reason]
    proposals = ranked_proposals(grey, recipe, shown=False) if grey else []
    if words := opposite_contrast(proposals, [f"image {number}" for number in range(1, len(grey) + 1)]):
        warn(words)
    if proposals and proposals[0].is_doubtful:
        warn(DOUBTFUL)
    return proposals[0].recipe if proposals else replace(recipe, method="otsu")


def _all_tried(scene: "_Scene", methods: Sequence[dict[str, Any]]) -> dict[Recipe, _Tried]:
    """Objects that the recipes find in a scene, and their measures; recipes that find nothing are omitted.

    Only those that do best without splitting are split, which takes most of the time.
    """
    ways = [Recipe(objects=side, **_COMMON_FIELDS, **way) for way in methods for side in ("bright", "dark")]
    # Smoothing and subtracting the background are common to many ways.
    common = {(way.objects, way.background): way for way in ways}
    heights = dict(zip(common, over_blocks(lambda way: _heights(scene, way), common.values()), strict=True))
    found = dict(
        zip(ways, over_blocks(lambda way: _mask(scene, heights[way.objects, way.background], way), ways), strict=True)
    )
    whole = [(replace(way, split_touching="none"), *mask) for way, mask in found.items() if mask is not None]
    tried = _measured(scene, whole, {})
    best = sorted(tried, key=lambda way: -_score(tried[way][1]))[:_SPLIT_COUNT]
    parts = [
        (replace(way, split_touching=how), values, mask)
        for way, values, mask in whole
        if way in best
        for how in _SPLITS
        if how != "none"
    ]
    return _measured(scene, parts, tried)


def _has_two_levels(part: Real) -> bool:
    """Whether pixels have one of two gray levels, except on the edges between them: a mask, perhaps a compressed one.

    More classes would be parts of these edges, and their objects too small or too large.
    """
    values = (part - part.min()) / (np.ptp(part) or 1.0)
    bright = values > threshold_otsu(values)
    if not bright.any():  # a single gray level
        return False
    low, high = (float(np.median(values[side])) for side in (~bright, bright))
    flat = [np.abs(values - level) <= _FLAT * (high - low) for level in (low, high)]
    edges = np.logical_and(*(ndimage.binary_dilation(level, iterations=_EDGE_PX) for level in flat))
    other = ~(flat[0] | flat[1] | edges)
    if other.mean() > 1 - _MIN_FLAT_FRACTION:
        return False
    pieces = np.bincount(ndimage.label(other)[0].ravel())[1:]
    return bool(pieces.max(initial=0) < _COMMON_FIELDS["min_size"])  # no object has a third level


def _heights(scene: "_Scene", way: Recipe) -> tuple[Real, float, float] | None:
    try:
        return upwards(scene.part, way)
    except ValueError:  # a single gray level
        return None


def _mask(scene: "_Scene", heights: tuple[Real, float, float] | None, way: Recipe) -> tuple[Real, Mask] | None:
    if heights is None:
        return None
    values, zero, unit = heights
    try:
        refuse_wider(way, values.shape)
        mask = cleaned(above_threshold(values, zero, unit, way), way)
        return values, mask if scene.outside is None else mask & ~scene.outside
    except ValueError:  # too few pixels, or gray levels for several classes
        return None


def _measured(
    scene: "_Scene", masks: Sequence[tuple[Recipe, Real, Mask]], before: Mapping[Recipe, _Tried]
) -> dict[Recipe, _Tried]:
    """Separate and measure the objects in masks; with those of earlier recipes, with which they are compared."""
    sides = np.indices(scene.part.shape, dtype=np.float64).reshape(2, -1)

    def measured(one: tuple[Recipe, Real, Mask]) -> tuple[Recipe, _Tried] | None:
        way, values, mask = one
        labels = separated(values, mask, way)
        if not 0 < labels.max() <= _MAX_OBJECTS:  # nothing, or texture
            return None
        # Where nothing touches, splitting changes nothing.
        whole = before.get(replace(way, split_touching="none"))
        if whole is not None and np.array_equal(labels, whole[0]):
            return way, (labels, dict(whole[1]), whole[2])
        return way, (labels, _measures(scene, labels), _centres_and_areas(labels.ravel(), sides))

    outcomes = [one for one in over_blocks(measured, masks) if one is not None]
    tried = {**before, **dict(outcomes)}
    for (_, measures, _), repeatable in zip(tried.values(), _agreement(list(tried.values())), strict=True):
        measures["repeatable"] = float(repeatable)
    return tried


def _score(measures: Mapping[str, float]) -> float:
    return sum(weight * measures[name] for name, weight in _WEIGHTS.items())


def _downsampled(plane: NDArray[Any], factor: int) -> Real:
    """Means of factor × factor blocks; the plane itself if it is narrower than a block."""
    rows, columns = (side // factor * factor for side in plane.shape)
    if factor == 1 or not rows or not columns:
        return plane.astype(np.float64)
    blocks = plane[:rows, :columns].reshape(rows // factor, factor, columns // factor, factor)
    return blocks.mean(axis=(1, 3), dtype=np.float64)


def _window(plane: NDArray[Any], empty: Mask | None, overview: Real, width: int, factor: int) -> tuple[slice, slice]:
    """Window with the strongest edges where it is not empty, clipped so that no single edge dominates.

    It is found in an overview, the plane downsampled by `factor`; its width is in pixels of the overview.
    """
    factor = 1 if overview.shape == plane.shape else factor
    height, width = (min(side, width) for side in overview.shape)
    if (height, width) == overview.shape:
        return np.s_[:, :]
    edges = ndimage.gaussian_gradient_magnitude(overview, 2.0)
    if empty is not None:
        edges[_downsampled(empty, factor) > 0] = 0
    sums = np.pad(np.minimum(edges, np.percentile(edges, 99)).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    within = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    row, column = (int(place) * factor for place in np.unravel_index(within.argmax(), within.shape))
    return np.s_[row : row + height * factor, column : column + width * factor]


@dataclass(frozen=True, eq=False)
class _Scene:
    """Part of an image that recipes are tried on.

    `levels` are the normalized ranks of its gray levels, `squares` their squares, `edges` those of the gradient, and
    `outside` is where it is empty.
    """

    part: Real
    levels: Real
    squares: Real
    edges: Real
    outside: Mask | None = None

    @classmethod
    def of(cls, part: Real, outside: Mask | None = None) -> "_Scene":
        values = (part - part.min()) / (np.ptp(part) or 1.0)
        levels = _ranks(ndimage.gaussian_filter(values, 1.0))
        # Of the ranks, whose edges are as strong around dim objects as around bright ones.
        return cls(part, levels, levels**2, _ranks(ndimage.gaussian_gradient_magnitude(levels, 2.0)), outside)


def _ranks(values: Real) -> Real:
    """Normalized ranks from 0 to 1, averaged over ties, which are closer than a millionth of the range."""
    lowest, width = values.min(), np.ptp(values) or 1.0
    places = ((values - lowest) * (_RANKED_LEVELS / width)).astype(np.int32)
    counts = np.bincount(places.ravel())
    ranks: Real = ((np.cumsum(counts) - counts / 2) / values.size)[places]
    return ranks


def _measures(scene: _Scene, labels: Labels) -> dict[str, float]:
    """Compute `Proposal.measures`."""
    each = _object_measures(scene, labels)
    areas = each["area"]
    return {
        "closed": 1 - float(areas[each["at border"] > 0].sum() / areas.sum()),
        "covered": float(np.mean(labels > 0)),
        **{name: float(each[name].mean()) for name in ("round", "edge", "uneven")},
        "specks": float((areas < _SPECK).mean()),
        "largest": float(areas.max() / areas.sum()),
    }


def _object_measures(scene: _Scene, labels: Labels) -> dict[str, Real]:
    """Measures of each object (N,)."""
    count = int(labels.max())
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:].astype(np.float64)
    lengths = np.maximum(crofton_perimeters(labels, count), 1.0)
    at_border = np.zeros(count + 1, dtype=bool)
    for side in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        at_border[side] = True
    if scene.outside is not None:
        at_border[labels[extreme_nearby(scene.outside, 1)]] = True
    next_to = extreme_nearby(labels, 1)  # background pixels are assigned to one of the objects next to them
    rim = np.flatnonzero(next_to != extreme_nearby(labels, 1, np.minimum))
    inside = labels.ravel()[rim]
    owners = np.where(inside == 0, next_to.ravel()[rim], inside)

    def mean(values: Real, owners: NDArray[np.integer]) -> Real:
        pixels = np.bincount(owners, minlength=count + 1)[1:]
        return np.bincount(owners, values, minlength=count + 1)[1:] / np.maximum(pixels, 1)

    level, square = (mean(values.ravel(), labels.ravel()) for values in (scene.levels, scene.squares))
    return {
        "area": areas,
        "at border": at_border[1:].astype(np.float64),
        "edge": mean(scene.edges.ravel()[rim], owners),
        "round": np.minimum(4 * np.pi * areas / lengths**2, 1.2),
        "uneven": np.sqrt(np.maximum(square - level**2, 0)),
    }


def _agreement(tried: Sequence[_Tried]) -> Real:
    """Mean F1 of each set of labels with all others, weighted by how well the outlines of these follow edges."""
    counts = np.array([len(objects) for *_, objects in tried])
    if len(tried) < 2:
        return np.zeros(len(tried))
    objects = np.concatenate([own for *_, own in tried])
    owner, radius = np.repeat(np.arange(len(tried)), counts), np.sqrt(objects[:, 2] / np.pi)
    near = cKDTree(objects[:, :2]).query_ball_point(
        objects[:, :2], _MAX_CENTRE_DISTANCE * radius + 0.5, return_sorted=False
    )
    one = np.repeat(np.arange(len(objects)), list(map(len, near)))
    other = np.concatenate(near).astype(np.int64)
    alike = np.abs(np.log(objects[one, 2] / objects[other, 2])) < _MAX_LOG_AREA_DIFFERENCE
    one, whose = np.divmod(np.unique(one[alike] * len(tried) + owner[other[alike]]), len(tried))
    matched = np.zeros((len(tried), len(tried)))
    np.add.at(matched, (owner[one], whose), 1)
    f1 = (matched + matched.T) / (counts[:, None] + counts)
    edge = np.array([measures["edge"] for _, measures, _ in tried])
    weight = np.exp((edge - edge.max()) / _EDGE_GAIN) * (1 - np.eye(len(tried)))
    return (f1 * weight).sum(axis=1) / weight.sum(axis=1)


def _worth(scene: _Scene, labels: Labels) -> Real:
    """How good an example each object is (N,); minus infinity for those that are cut by the border, or small."""
    each = _object_measures(scene, labels)
    small = each["area"] < max(_SPECK, 0.2 * np.median(each["area"]))
    worth: Real = each["edge"] + np.minimum(each["round"], 1) - each["uneven"]
    return np.where((each["at border"] > 0) | small, -np.inf, worth)


def _centres_and_areas(labels: Labels, sides: Real) -> Real:
    area, *sums = (np.bincount(labels, weights)[1:] for weights in (None, *sides))
    return np.column_stack([*(total / area for total in sums), area])
