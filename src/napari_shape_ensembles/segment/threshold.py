"""From an image to labels: threshold, clean, and split what touches."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.color import rgb2gray
from skimage.feature import peak_local_max
from skimage.filters import threshold_otsu
from skimage.segmentation import watershed

Objects = Literal["bright", "dark"]
Labels = NDArray[np.int32]

# A neck is cut where the object is narrower there than this share of the smaller half's radius.
_NECK = 0.85


def segment(
    image: ArrayLike,
    *,
    method: Literal["otsu"] = "otsu",
    objects: Objects = "bright",
    smoothing: float = 1.0,
    fill_holes: bool = True,
    split_touching: bool = True,
) -> Labels:
    """Label the objects of an image.

    Parameters
    ----------
    image : (rows, columns) array of any number type, or with a last axis of 3 or 4 for RGB(A)
        Colour images are reduced to luminance, whatever their opacity; a boolean image is taken as the mask itself.
    method : {"otsu"}
        How the threshold between objects and background is found.
    objects : {"bright", "dark"}
        Which side of the threshold is objects.
    smoothing : float
        Standard deviation in pixels of the Gaussian filter applied before the threshold; 0 for none.
    fill_holes : bool
        Fill holes inside objects.
    split_touching : bool
        Cut objects at necks, by a watershed of the distance to their edge.

    Returns
    -------
    (rows, columns) int32 array
        1, 2, … for the objects, 0 for the background. Nothing is removed for its size or for touching the
        border; `extract_curves` does that, and counts it.

    Raises
    ------
    ValueError
        For an empty image, a stack, NaNs, an image of one value, or unknown options.
    """
    if method != "otsu":
        raise ValueError(f'method is "otsu", not {method!r}')
    if objects not in ("bright", "dark"):
        raise ValueError(f'objects is "bright" or "dark", not {objects!r}')
    if not smoothing >= 0:
        raise ValueError(f"smoothing is a standard deviation in pixels, 0 or more, not {smoothing!r}")
    mask = _mask(_plane(np.asarray(image)), objects, smoothing)
    if fill_holes:
        mask = ndimage.binary_fill_holes(mask)
    labels = _split(mask) if split_touching else ndimage.label(mask)[0]
    return labels.astype(np.int32)


def _plane(image: NDArray[np.generic]) -> NDArray[np.generic]:
    """One grey plane, checked."""
    if image.size == 0:
        raise ValueError(f"the image is empty (shape {image.shape}): choose another one")
    if image.ndim == 3 and image.shape[-1] in (3, 4):
        image = rgb2gray(image[..., :3])
    if image.ndim != 2:
        raise ValueError(f"the image has shape {image.shape}: give one plane (rows, columns), not a stack")
    if np.iscomplexobj(image) or not (np.issubdtype(image.dtype, np.number) or image.dtype == bool):
        raise ValueError(f"the image holds {image.dtype} values: give real numbers")
    bad = image.size - np.count_nonzero(np.isfinite(image))
    if bad:
        raise ValueError(f"{bad} of {image.size} pixels are NaN or infinite: fill them in or crop the image")
    return image


def _mask(image: NDArray[np.generic], objects: Objects, smoothing: float) -> NDArray[np.bool_]:
    if image.dtype == bool:
        mask = image.astype(bool)
        return mask if objects == "bright" else ~mask
    grey = image.astype(np.float64)
    lowest, span = grey.min(), np.ptp(grey)
    if span == 0:
        raise ValueError(f"every pixel is {lowest:g}: there is nothing to tell objects from background")
    grey = (grey - lowest) / span
    bright = grey if objects == "bright" else -grey
    smooth = ndimage.gaussian_filter(bright, smoothing) if smoothing else bright
    return smooth > threshold_otsu(smooth)


def _split(mask: NDArray[np.bool_]) -> NDArray[np.integer]:
    """Watershed of the distance to the edge, from the maxima that a real neck separates."""
    distance = ndimage.distance_transform_edt(mask)
    components, _ = ndimage.label(mask)
    smooth = ndimage.gaussian_filter(distance, 1.0)
    peaks = peak_local_max(smooth, min_distance=3, threshold_abs=0, labels=components, exclude_border=False)
    markers = np.zeros(mask.shape, dtype=np.int32)
    markers[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    basins = watershed(-smooth, markers, mask=mask)
    return _joined_without_neck(basins, smooth, peaks)


def _joined_without_neck(
    basins: NDArray[np.integer], distance: NDArray[np.float64], peaks: NDArray[np.integer]
) -> NDArray[np.integer]:
    """Join neighbouring basins again unless the pass between them is clearly lower than both of their peaks."""
    height = np.concatenate([[0.0], distance[tuple(peaks.T)]])
    pairs, passes = _passes(basins, distance)
    parent = np.arange(len(height))
    for (one, other), level in sorted(zip(pairs.tolist(), passes.tolist(), strict=True), key=lambda item: -item[1]):
        one, other = _root(parent, one), _root(parent, other)
        if one != other and level > _NECK * min(height[one], height[other]):
            low, high = sorted((one, other), key=lambda basin: height[basin])
            parent[low] = high
    roots = np.array([_root(parent, basin) for basin in range(len(parent))])
    _, merged = np.unique(roots, return_inverse=True)
    return merged[basins]


def _root(parent: NDArray[np.integer], basin: int) -> int:
    while parent[basin] != basin:
        basin = int(parent[basin])
    return basin


def _passes(
    basins: NDArray[np.integer], distance: NDArray[np.float64]
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Pairs of basins that touch, and the highest distance on the line between them."""
    found, levels = [], []
    for here, there in (
        ((slice(None), slice(1, None)), (slice(None), slice(None, -1))),
        ((slice(1, None), slice(None)), (slice(None, -1), slice(None))),
    ):
        a, b = basins[here], basins[there]
        touching = (a != b) & (a > 0) & (b > 0)
        found.append(np.sort(np.stack([a[touching], b[touching]], axis=1), axis=1))
        levels.append(np.minimum(distance[here], distance[there])[touching])
    pairs, index = np.unique(np.concatenate(found), axis=0, return_inverse=True)
    highest = np.zeros(len(pairs))
    np.maximum.at(highest, index.ravel(), np.concatenate(levels))
    return pairs, highest
