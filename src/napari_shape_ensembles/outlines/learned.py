"""Objects learned from examples: a pixel classifier trained on a few painted objects, for all images of a study."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from .._types import Labels
from ..archive import ContentError, StrPath, Tree, read_archive, write_archive
from ..checks import RandomState, seed_of, unmasked
from ..progress import over_blocks, report
from ..words import counted
from .hierarchy import Candidates, object_features
from .methods import gray_plane
from .not_image import with_values
from .recognise import content_of, refuse_grey

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesClassifier

Real = NDArray[np.float32]

#: File format of a saved model.
FORMAT, LAYOUT = "object-model", 1

# Standard deviations of the Gaussian filters, in pixels; the wide ones are computed on a coarser grid.
_SCALES = (1, 2, 4, 8, 16)
_COARSE = 3
# Standard deviations of the Gaussian windows for local contrast, in pixels, and the lower limit of the contrast.
_SURROUNDINGS, _MIN_SPREAD = (8, 16), 0.02
# Percentiles of an image that are mapped to 0 and 1.
_LOW_PERCENTILE, _HIGH_PERCENTILE = 1, 99.8
# Classes of pixels: background far from and next to an object, the object's rim and its inside.
_OUTSIDE, _AROUND, _RIM, _CORE = range(4)
# Widths of the rim, and of the known background around an example, in radii of the objects.
_RIM_WIDTH, _GROUND_WIDTH = 0.25, 1.0
# Number of pixels sampled from the unpainted part of an image, relative to the maximum per class.
_BACKGROUND_SHARE = 1.2
# Number of trees of the classifier, and of pixels in a leaf: larger leaves give smoother probabilities.
_TREES, _LEAF = 30, 30
# Features of a gray image: its values, four per scale, and six per window.
_GREY_FEATURE_COUNT = 1 + 4 * len(_SCALES) + 6 * len(_SURROUNDINGS)
# Randomly sampled background counts as object where the density of examples, relative to their median, exceeds this.
_MAX_DENSITY = 0.3
# If a larger fraction of an image looks like objects, all pixels that do are excluded from its background.
_MAX_OBJECT_LIKE_FRACTION = 0.1
# Number of times doubtful background is removed and the classifier is retrained.
_ITERATIONS = 2
# Diameters of objects tried in images without painted objects, relative to the examples.
_SIZES = (1.0, 0.5, 0.71, 1.41, 2.0)
# Expected F1 that a doubling or halving of the diameter must add.
_MIN_GAIN_PER_OCTAVE = 0.02
# Pixels classified per block.
_BLOCK = 2**16
# Rows whose features are gathered at a time: as many as fit into the processor's cache.
_STACKED_ROWS = 8


@dataclass(frozen=True, eq=False)
class PixelFeatures:
    """Features of every pixel of an image; computed once for any number of trainings.

    `learn_objects` and `ObjectModel.labels` take it wherever they take an image.

    Attributes
    ----------
    values : (rows, columns, F) float32 array
        For the gray image, or each of the three colors: its values scaled between the first and the 99.8th percentile;
        then, under Gaussian filters of 1, 2, 4, 8 and 16 pixels, the filtered values, the magnitude of their gradient
        and the two eigenvalues of their Hessian matrix; then, for dim objects, the finest of these in units of the
        standard deviation under Gaussian windows of 8 and of 16 pixels, and this standard deviation.
    digest : str
        SHA-256 of the image, by which a model recognizes its training images.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.learned import PixelFeatures
    >>> PixelFeatures.of(np.eye(64)).values.shape
    (64, 64, 33)
    """

    values: Real
    digest: str

    @classmethod
    def of(cls, image: ArrayLike | PixelFeatures) -> PixelFeatures:
        """Compute the features of an image; features are returned unchanged.

        Parameters
        ----------
        image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)

        Raises
        ------
        ValueError
            For anything but an image of finite numbers, or a constant image.
        """
        if isinstance(image, PixelFeatures):
            return image
        pixels = with_values(unmasked(image, "the image"))
        if pixels.dtype == bool:
            pixels = pixels.astype(np.uint8)
        if pixels.ndim == 3 and pixels.shape[-1] in (3, 4):
            pixels = pixels[..., :3]
            if (pixels == pixels[..., :1]).all():  # gray, stored as color
                pixels = pixels[..., 0]
        colours = range(3) if pixels.ndim == 3 else ("luminance",)
        planes = [gray_plane(pixels, channel) for channel in colours]
        if all(plane.min() == plane.max() for plane in planes):
            raise ValueError(f"every pixel is {planes[0].flat[0]}: objects cannot be told from background")
        report("features of pixels")
        channels = [channel for plane in planes for channel in _filtered(plane)]
        values = np.empty((*channels[0].shape, len(channels)), dtype=np.float32)
        for start in range(0, len(values), _STACKED_ROWS):
            rows = np.s_[start : start + _STACKED_ROWS]
            np.stack([channel[rows] for channel in channels], axis=-1, out=values[rows])
        digest = hashlib.sha256(str((pixels.shape, pixels.dtype)).encode() + np.ascontiguousarray(pixels).tobytes())
        return cls(values, digest.hexdigest())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image."""
        return self.values.shape[0], self.values.shape[1]

    @cached_property
    def levels_and_edges(self) -> tuple[Real, Real]:
        """The mean of the channels, and the magnitude of its gradient under the narrowest filter."""
        levels, smooth = (self.values[..., place::_GREY_FEATURE_COUNT].mean(axis=-1) for place in (0, 1))
        return levels, np.hypot(_slope(smooth, 0), _slope(smooth, 1))


def _filtered(plane: NDArray[Any]) -> list[Real]:
    """The plane and its responses to all filters, by scale."""
    low, high = np.percentile(plane, [_LOW_PERCENTILE, _HIGH_PERCENTILE])
    if high <= low:  # objects only among the brightest pixels
        low, high = plane.min(), plane.max()
    values = ((plane - low) / ((high - low) or 1.0)).astype(np.float32)

    def responses(sigma: int) -> list[Real]:
        step = max(1, sigma // _COARSE)
        coarse = _binned(values, step)
        width = sigma / step
        smooth = ndimage.gaussian_filter(coarse, width, truncate=3)
        by_row, by_column = _slope(smooth, 0), _slope(smooth, 1)
        rows, mixed, columns = _slope(by_row, 0), _slope(by_row, 1), _slope(by_column, 1)
        mean = (rows + columns) / 2 * width**2
        apart = np.hypot((rows - columns) / 2, mixed) * width**2
        stacked = smooth, np.hypot(by_row, by_column) * width, mean + apart, mean - apart
        return [_stretched(response, step, values.shape) for response in stacked]

    def in_surroundings(sigma: int) -> list[Real]:
        step = max(1, sigma // _COARSE)
        coarse, width = _binned(values, step), sigma / step
        mean = ndimage.gaussian_filter(coarse, width, truncate=3)
        variance = np.maximum(ndimage.gaussian_filter(coarse**2, width, truncate=3) - mean**2, 0)
        mean, spread = (_stretched(one, step, values.shape) for one in (mean, np.sqrt(variance)))
        spread = spread + _MIN_SPREAD
        (finest, *_), (fine, *slopes) = filtered[:2]
        return [(finest - mean) / spread, (fine - mean) / spread, *(slope / spread for slope in slopes), spread]

    filtered = over_blocks(responses, _SCALES)
    local = over_blocks(in_surroundings, _SURROUNDINGS)
    return [values, *(response for scale in (*filtered, *local) for response in scale)]


def _slope(values: Real, axis: int) -> Real:
    """Central differences; 0 across an axis of one pixel."""
    return np.gradient(values, axis=axis) if values.shape[axis] > 1 else np.zeros_like(values)


def _binned(values: Real, step: int) -> Real:
    """Block means of `step` × `step` pixels, with edge padding."""
    if step == 1:
        return values
    rows, columns = (-(-side // step) for side in values.shape)
    whole = np.pad(values, ((0, rows * step - values.shape[0]), (0, columns * step - values.shape[1])), mode="edge")
    return whole.reshape(rows, step, columns, step).mean(axis=(1, 3))


def _stretched(values: NDArray[Any], step: int, shape: tuple[int, ...]) -> Real:
    """Linear interpolation between the centers of blocks; SciPy's `zoom`, in half the time."""
    if step == 1:
        return values
    for axis in (1, 0):
        last = values.shape[axis] - 1
        place = np.clip((np.arange(shape[axis]) + 0.5) / step - 0.5, 0, last)
        before = place.astype(np.intp)
        weight = (place - before).astype(np.float32)
        low, high = (np.take(values, np.minimum(before + more, last), axis=axis) for more in (0, 1))
        values = low + (high - low) * (weight if axis else weight[:, None])
    return values


@dataclass(frozen=True)
class TrainingImage:
    """One training image of a model.

    Attributes
    ----------
    name : str
    shape : (int, int)
        Rows and columns.
    objects : int
        Number of painted objects.
    digest : str
        SHA-256 of the image.
    """

    name: str
    shape: tuple[int, int]
    objects: int
    digest: str


@dataclass(frozen=True, eq=False)
class ObjectModel:
    """Detector of objects that look like the painted ones; made by `learn_objects`, used as ``Outlines(find=model)``.

    A model stores its training pixels and retrains its classifier when it is loaded: the file holds numbers and
    strings, from which nothing is executed. The same version of scikit-learn gives the same labels; `versions` records
    it.

    Attributes
    ----------
    features : (N, F) float32 array
        Features of the training pixels.
    classes : (N,) int array
        Their classes: 0 outside, 1 just outside, 2 just inside, 3 inside.
    areas : (K,) array
        Areas of the painted objects, in pixels.
    looks : (K, 3) array
        For each painted object one minus its solidity, the standard deviation of its gray levels, and the mean gradient
        along its boundary.
    sources : tuple of TrainingImage
        The training images.
    seed : int
    versions : mapping of str to str
        Versions of the libraries it was trained with.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Outlines, learn_objects
    >>> rows, columns = np.indices((120, 120)) % 40
    >>> image = 40.0 * (np.hypot(rows - 20, columns - 20) < 9)
    >>> painted = np.zeros(image.shape, dtype=int)
    >>> painted[:40, :40] = image[:40, :40] > 0
    >>> model = learn_objects(image, painted)
    >>> len(Outlines(find=model)(image))
    9
    """

    features: Real
    classes: NDArray[np.int8]
    areas: NDArray[np.float64]
    looks: NDArray[np.float64]
    sources: tuple[TrainingImage, ...]
    seed: int = 0
    versions: dict[str, str] = field(default_factory=lambda: _versions())

    def labels(self, image: ArrayLike | PixelFeatures, *, step: int = 1) -> Labels:
        """Return the labels of the objects of an image, 0 for the background.

        Parameters
        ----------
        image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A); or its PixelFeatures
        step : int
            Classify only every `step`-th row and column, for a draft: 2 takes about a quarter of the time.

        Raises
        ------
        ValueError
            For an image that `PixelFeatures` rejects, or a gray one if the model was trained on color.
        """
        features = PixelFeatures.of(image)
        labels = self.candidates(features, step=step).objects()
        if step > 1:
            labels = np.repeat(np.repeat(labels, step, axis=0), step, axis=1)[: features.shape[0], : features.shape[1]]
        return labels.astype(np.int32)

    def candidates(self, image: ArrayLike | PixelFeatures, *, step: int = 1) -> Candidates:
        """Return candidate objects before the selection; parameters and errors are those of `labels`."""
        pixel_features = PixelFeatures.of(image)
        if pixel_features.values.shape[-1] != self.features.shape[1]:
            kinds = {_GREY_FEATURE_COUNT: "gray", 3 * _GREY_FEATURE_COUNT: "color"}
            learned, given = (
                kinds.get(n, f"{n} features") for n in (self.features.shape[1], pixel_features.values.shape[-1])
            )
            raise ValueError(
                f"the model was learned from {learned} images, and this one is {given}: learn another model"
            )
        if not isinstance(step, int | np.integer) or step < 1:
            raise ValueError(f"step must be an integer of 1 or more, not {step!r}")
        report("classifying pixels")
        pixels = pixel_features.values[::step, ::step]
        rows, columns = pixels.shape[:2]
        height = max(1, _BLOCK // columns)

        def probabilities(start: int) -> Real:
            # Tree by tree: `predict_proba` of the forest resets the warning filters of all threads while it runs.
            block = np.ascontiguousarray(pixels[start : start + height]).reshape(-1, pixels.shape[-1])
            votes = sum(tree.predict_proba(block, check_input=False) for tree in self._classifier.estimators_)
            return np.asarray(votes / _TREES, dtype=np.float32)

        likely = np.concatenate(over_blocks(probabilities, range(0, rows, height))).reshape(rows, columns, -1)
        of = dict(zip(self._classifier.classes_.tolist(), np.moveaxis(likely, -1, 0), strict=True))
        inside = of[_RIM] + of.get(_CORE, 0)
        core = of.get(_CORE, 0) + 0.5 * of[_RIM] - 0.5 * of[_AROUND]
        report("separating objects")
        levels, edges = pixel_features.levels_and_edges
        planes = inside, core, levels[::step, ::step], edges[::step, ::step]
        sizes = (1.0,) if any(pixel_features.digest == source.digest for source in self.sources) else _SIZES
        examples = [np.column_stack([self.areas * size**2 / step**2, self.looks]) for size in sizes]
        tried = over_blocks(lambda scaled: Candidates.of(*planes, scaled), examples)
        worth = [
            one.expected_f1 - _MIN_GAIN_PER_OCTAVE * abs(np.log2(size)) for one, size in zip(tried, sizes, strict=True)
        ]
        return tried[int(np.argmax(worth))]

    __call__ = labels

    @cached_property
    def _classifier(self) -> ExtraTreesClassifier:
        return _trained(self.features, self.classes, self.seed, judging=False)

    def save(self, path: StrPath) -> None:
        """Write the model to a file atomically.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file of that name is kept.
        """
        write_archive(path, FORMAT, LAYOUT, self.to_tree())

    def to_tree(self) -> Tree:
        """Return the model as arrays, numbers and strings, for `of_tree` and for files that hold more."""
        return {
            "features": self.features,
            "classes": self.classes,
            "areas": self.areas,
            "looks": self.looks,
            "seed": self.seed,
            "sources": [[item.name, list(item.shape), item.objects, item.digest] for item in self.sources],
            "versions": dict(self.versions),
        }

    @classmethod
    def load(cls, path: StrPath, *, memory: float | None = None) -> ObjectModel:
        """Read a model written by `save`. Nothing in the file is executed.

        Parameters
        ----------
        path : path
        memory : float, optional
            Memory limit in GiB; by default 4.

        Raises
        ------
        ValueError
            For a file of another kind, of a newer version of this software, a damaged one, or one that exceeds the
            memory limit.
        OSError
            If the file does not exist, or cannot be read.
        """
        return read_archive(path, FORMAT, LAYOUT, cls.of_tree, memory)

    @classmethod
    def of_tree(cls, tree: Tree) -> ObjectModel:
        """Restore a model from the result of `to_tree`.

        Raises
        ------
        ValueError
            For data that no model can have been trained on.
        """
        features, classes, areas = (tree[name] for name in ("features", "classes", "areas"))
        looks = tree.get("looks")
        fits = (
            features.dtype == np.float32
            and features.ndim == 2
            and np.isfinite(features).all()
            and classes.shape == features.shape[:1]
            and classes.dtype.kind in "iu"
            and {_OUTSIDE, _AROUND, _RIM} <= set(np.unique(classes).tolist()) <= set(range(4))
            and areas.ndim == 1
            and areas.dtype.kind == "f"
            and len(areas)
            and (areas >= 1).all()
            and (looks is None or (looks.shape == (len(areas), 3) and np.isfinite(looks).all()))
        )
        if not fits:
            raise ContentError("its examples are not valid training examples")
        if features.shape[1] not in (_GREY_FEATURE_COUNT, 3 * _GREY_FEATURE_COUNT) or looks is None:
            raise ContentError("it was learned by another version with different features: learn it again")
        sources = tuple(
            TrainingImage(str(name), (int(shape[0]), int(shape[1])), int(objects), str(digest))
            for name, shape, objects, digest in tree["sources"]
        )
        versions = {str(name): str(version) for name, version in tree["versions"].items()}
        return cls(features, classes, areas, looks, sources, int(tree["seed"]), versions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectModel) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> str:
        """Hash that is equal for models that find the same objects."""
        content = b"".join(array.tobytes() for array in (self.features, self.classes, self.areas, self.looks))
        return hashlib.sha256(content + str(self.seed).encode()).hexdigest()

    def __str__(self) -> str:
        objects = sum(source.objects for source in self.sources)
        images = sum(source.objects > 0 for source in self.sources)
        return f"learned from {counted(objects, 'object')} in {counted(images, 'image')}"

    def __repr__(self) -> str:
        return f"ObjectModel({self})"


def learn_objects(
    images: Any,
    painted: Any,
    *,
    background: Any = None,
    names: Sequence[str] | None = None,
    max_pixels: int = 2500,
    random_state: RandomState = 0,
) -> ObjectModel:
    """Learn the appearance of the objects of a study from a few painted ones.

    Paint some objects completely, about five that differ from each other. Unpainted pixels are unknown, except for a
    ring around each painted object, which is background or a neighbor: pixels there that look like objects are
    excluded, and the model is retrained. Use one model for all images of a study. With one model per group, differences
    in what was painted would become differences between the groups.

    Parameters
    ----------
    images : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A), or a list of them
        Or their `PixelFeatures`, to avoid recomputing them when retraining with more painted objects.
    painted : (rows, columns) array of int, or a list of them
        0 where unknown; each other value is one object, painted completely.
    background : (rows, columns) array of bool, or a list of them, or None
        Where there is certainly no object.
    names : sequence of str, optional
        Names of the images, for the record.
    max_pixels : int
        Maximum number of training pixels per class and image; fewer take less time.
    random_state : int, Generator or RandomState
        Seed of all random draws.

    Returns
    -------
    ObjectModel

    Raises
    ------
    ValueError
        If numbers or shapes of images and painted labels differ, nothing was painted, an object is painted as
        background too, the objects leave no background, or `max_pixels` is not positive.

    Notes
    -----
    Pixels are described by `PixelFeatures` and classified by extremely randomized trees, as outside, just outside, just
    inside and inside. Objects are nodes of a tree of watershed basins. The probability that a node is an object, given
    its size, shape, edge and probabilities and those of the examples, was learned from other images.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006) 3-42.
    S. Berg et al., "ilastik: interactive machine learning for (bio)image analysis", Nature Methods 16 (2019)
    1226-1232.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import learn_objects, match_labels
    >>> rows, columns = np.indices((120, 120))
    >>> truth = (rows // 40) * 3 + columns // 40 + 1
    >>> truth[np.hypot(rows % 40 - 20, columns % 40 - 20) > 9] = 0
    >>> image = 40.0 * (truth > 0) + np.random.default_rng(0).normal(size=truth.shape)
    >>> painted = np.where(truth <= 3, truth, 0)
    >>> model = learn_objects(image, painted)
    >>> len(match_labels(truth, model.labels(image)).pairs)
    9
    """
    seed = seed_of(random_state)
    if not isinstance(max_pixels, int | np.integer) or max_pixels < 1:
        raise ValueError(f"max_pixels must be an integer of 1 or more, not {max_pixels!r}")
    if not isinstance(images, list | tuple):
        images, painted, background = [images], [painted], [background]
    seen, masks = list(images), list(painted)
    grounds = [None] * len(seen) if background is None else list(background)
    if len(seen) != len(masks) or len(seen) != len(grounds) or (names is not None and len(names) != len(seen)):
        raise ValueError(
            f"{len(seen)} images need as many planes of painted objects, planes of background, and names, not "
            f"{len(masks)}, {len(grounds)} and {len(seen if names is None else names)}"
        )
    rng = np.random.default_rng(seed)
    features, classes, examples, sources = [], [], [], []
    for number, (image, mask, ground) in enumerate(zip(seen, masks, grounds, strict=True)):
        name = names[number] if names is not None else f"image {number + 1}" if len(seen) > 1 else "image"
        if not isinstance(image, PixelFeatures) and content_of(image) != "grey":
            refuse_grey(mask, image)
        plane = _painted(mask, name)
        of_image = PixelFeatures.of(image)
        for what, other in (("painted labels", plane), ("background", ground)):
            if other is not None and other.shape != of_image.shape:
                raise ValueError(f"{name}: {what} of shape {other.shape} on an image of {of_image.shape}")
        values = np.unique(plane[plane > 0])
        if ground is not None and (ground & (plane > 0)).any():
            raise ValueError(f"{name}: {(ground & (plane > 0)).sum()} pixels are painted as object and as background")
        if len(values) or (ground is not None and ground.any()):
            places, kinds = _examples(plane, values, ground, max_pixels, rng)
            features.append(of_image.values.reshape(-1, of_image.values.shape[-1])[places])
            classes.append(kinds)
            examples.append(object_features(plane, *of_image.levels_and_edges))
        sources.append(TrainingImage(str(name), of_image.shape, len(values), of_image.digest))
    if not sum(map(len, examples)):
        raise ValueError("no object is painted: paint about five whole objects, each with its own label")
    if not {_AROUND, _RIM} <= {kind for kinds in classes for kind in np.unique(kinds).tolist()}:
        raise ValueError("no background is left beside the painted objects: leave some of the image unpainted")
    if len({block.shape[1] for block in features}) > 1:
        raise ValueError("some images are grayscale and some color: learn one model for each kind")
    report("learning")
    kept, kinds, forest = _without_object_like(np.concatenate(features), np.concatenate(classes), seed)
    areas, *looks = np.concatenate(examples).T
    model = ObjectModel(kept, kinds, areas.copy(), np.column_stack(looks), tuple(sources), seed)
    if forest is not None:
        vars(model)["_classifier"] = forest  # trained on these very pixels
    return model


def _painted(mask: ArrayLike, name: str) -> NDArray[np.int64]:
    plane = np.asarray(mask)
    if plane.ndim != 2 or not (np.issubdtype(plane.dtype, np.integer) or plane.dtype == bool):
        raise ValueError(f"{name}: painted objects must be a plane of integers, not {plane.dtype} of {plane.shape}")
    if plane.dtype == bool:
        return ndimage.label(plane)[0].astype(np.int64)
    return np.maximum(plane, 0).astype(np.int64)


def _examples(
    plane: NDArray[np.int64],
    values: NDArray[np.int64],
    ground: NDArray[np.bool_] | None,
    max_pixels: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Indices of training pixels, and their classes; -1 for randomly sampled pixels, -2 for painted background."""
    kind = np.full(plane.shape, -1, dtype=np.int8)
    if len(values):
        apart = ndimage.distance_transform_edt(plane == 0)
        radius = float(np.sqrt(np.median(np.bincount(plane.ravel())[values]) / np.pi))
        width = max(1.0, _RIM_WIDTH * radius)
        kind[(apart > 0) & (apart <= width)] = _AROUND
        kind[(apart > width) & (apart <= width + _GROUND_WIDTH * radius)] = _OUTSIDE
    for value, box in enumerate(ndimage.find_objects(plane), start=1):
        if box is not None:
            mask = plane[box] == value
            # The image border is not an edge of the object.
            open_sides = [(side.start > 0, side.stop < length) for side, length in zip(box, plane.shape, strict=True)]
            padded = np.pad(mask, 1, mode="edge")
            for axis, (first, last) in enumerate(open_sides):
                sides = np.moveaxis(padded, axis, 0)
                sides[0] &= not first
                sides[-1] &= not last
            depth = ndimage.distance_transform_edt(padded)[1:-1, 1:-1]
            rim = depth <= max(1.0, _RIM_WIDTH * np.sqrt(mask.sum() / np.pi))
            kind[box][mask] = np.where(rim, _RIM, _CORE)[mask]
    if ground is not None:
        kind[ground & (plane == 0) & (kind != _AROUND)] = -2  # pixels just outside an object keep their class
    kinds = kind.ravel()
    drawn = []
    for wanted in (_OUTSIDE, _AROUND, _RIM, _CORE, -2):
        places = np.flatnonzero(kinds == wanted)
        few_strokes = wanted == -2 and 0 < len(places) < max_pixels  # painted pixels weigh more than random ones
        drawn.append(
            rng.choice(places, max_pixels, replace=few_strokes) if few_strokes or len(places) > max_pixels else places
        )
    unknown = np.flatnonzero(kinds == -1)
    if len(values) and len(unknown):
        drawn.append(rng.choice(unknown, min(round(_BACKGROUND_SHARE * max_pixels), len(unknown)), replace=False))
    places = np.concatenate(drawn)
    return places, kinds[places]


def _without_object_like(
    values: Real, kinds: NDArray[np.int8], seed: int
) -> tuple[Real, NDArray[np.int8], ExtraTreesClassifier | None]:
    """Exclude background that looks like objects, according to out-of-bag predictions; also the forest, if converged.

    Randomly sampled pixels include objects, in an unknown proportion. Trees that discriminate them from the examples
    estimate the density ratio, which is the same over all objects and lower elsewhere (C. Elkan, K. Noto, "Learning
    classifiers from only positive and unlabeled data", KDD 2008).
    """
    unsure, anywhere, inside = kinds == _OUTSIDE, kinds == -1, (kinds == _RIM) | (kinds == _CORE)
    classes = np.where(kinds < 0, _OUTSIDE, kinds).astype(np.int8)
    like_objects = np.zeros(len(kinds), dtype=bool)
    if anywhere.any() and inside.any():
        both = inside | anywhere
        forest = _trained(values[both], inside[both].astype(np.int8), seed)
        share = np.nan_to_num(forest.oob_decision_function_[:, 1], nan=0.5)
        density = share / np.maximum(1 - share, 1e-3)
        like_objects[both] = density > _MAX_DENSITY * np.median(density[inside[both]])
    used = ~anywhere
    for _ in range(_ITERATIONS):
        forest = _trained(values[used], classes[used], seed)
        unseen = forest.oob_decision_function_
        likely = np.empty((len(values), len(forest.classes_)))
        likely[used] = np.where(np.isnan(unseen), 1 / len(forest.classes_), unseen)
        if not used.all():
            likely[~used] = forest.predict_proba(values[~used])
        of = dict(zip(forest.classes_.tolist(), likely.T, strict=True))
        object_like = of.get(_RIM, 0) + of.get(_CORE, 0) > 0.5
        doubtful = like_objects | (of.get(_AROUND, np.zeros(len(values))) > 0.5)
        if object_like[anywhere].mean() > _MAX_OBJECT_LIKE_FRACTION if anywhere.any() else False:
            doubtful = object_like | (of.get(_OUTSIDE, np.zeros(len(values))) < 0.5)
        before, used = used, ~((unsure & object_like) | (anywhere & doubtful))
        if (used == before).all():
            return values[used], classes[used], forest
    return values[used], classes[used], None


def _trained(values: Real, classes: NDArray[np.int8], seed: int, *, judging: bool = True) -> ExtraTreesClassifier:
    """Train a forest; with `judging` also out-of-bag predictions, which do not affect the trees."""
    import warnings

    from sklearn.ensemble import ExtraTreesClassifier  # slow to import, and needed only here

    forest = ExtraTreesClassifier(
        _TREES,
        min_samples_leaf=_LEAF,
        bootstrap=True,
        oob_score=judging,
        class_weight="balanced",
        random_state=seed,
    )
    with warnings.catch_warnings():  # a pixel without out-of-bag prediction counts as undecided
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        return forest.fit(values, classes)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("napari-shape-ensembles", "scikit-learn", "numpy", "scipy")}
