"""False differences between outlines of one law that are known to unequal precision.

    python benchmarks/precision.py [--forms ellipses rectangles aligned] [--doors labels rounded …] [--across 40:60 …]
        [--roughness .03 .12 …] [--stretch 1.5] [--count N] [--images N] [--draws N] [--seed S]

Outlines of one law on both sides in every draw, in an image or several a side: ellipses with waves of random phase,
sharp rectangles, or rectangles aligned with the pixels; those of the second side stretched in random directions, if
asked for. A door is how both sides are acquired; across are their sizes in pixels. One line a cell: rejections of form
and of scale at the default level (0.025 each), overruling withheld rows, of form at 0.01, and how often roughness was
not tested. Cells share their outlines. Stated in docs/explanation/limits.md.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np
import shapely
from scipy.ndimage import find_objects
from skimage.measure import find_contours

from napari_shape_ensembles import Ensemble, Outlines, Settings, compare
from napari_shape_ensembles.outlines.rasterize import rasterize
from results_file import printed, share

ANGLE = 2 * np.pi * np.arange(400) / 400
WAVES = np.arange(2, 21)


def placed(rng: np.random.Generator, points: np.ndarray, turn: float) -> np.ndarray:
    """Points turned, and moved within a pixel."""
    return points @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + rng.uniform(0, 1, 2)


def ellipses(rng: np.random.Generator, count: int, across: float, roughness: float) -> list[np.ndarray]:
    """Dense ellipses of random size and elongation, with waves of random height and phase."""
    found = []
    for _ in range(count):
        cosines, sines = rng.normal(size=(2, 19)) / WAVES
        waves = cosines @ np.cos(np.outer(WAVES, ANGLE)) + sines @ np.sin(np.outer(WAVES, ANGLE))
        stretch, turn = np.exp(0.1 * rng.normal()), rng.uniform(0, 2 * np.pi)
        points = np.stack([np.cos(ANGLE) * stretch, np.sin(ANGLE) / stretch], axis=1) * (1 + roughness * waves)[:, None]
        found.append(placed(rng, across / 2 * np.exp(0.15 * rng.normal()) * points, turn))
    return found


def rectangles(
    rng: np.random.Generator, count: int, across: float, _roughness: float, *, turned: bool = True
) -> list[np.ndarray]:
    """Sharp rectangles of random size and elongation."""
    found = []
    for _ in range(count):
        height, width = across * np.exp(0.1 * rng.normal(size=2)) * (1.0, 1.5) / 2
        turn = rng.uniform(0, 2 * np.pi) if turned else 0.0
        found.append(
            placed(rng, np.array([[-height, -width], [-height, width], [height, width], [height, -width]]), turn)
        )
    return found


FORMS = {"ellipses": ellipses, "rectangles": rectangles, "aligned": partial(rectangles, turned=False)}


def plane_of(curves: Sequence[np.ndarray]) -> np.ndarray:
    """Labels of curves beside each other."""
    corners = np.array([np.floor(curve.min(axis=0)) - 3 for curve in curves])
    ends = np.array([np.ceil(curve.max(axis=0)) + 4 for curve in curves]) - corners
    corners[:, 1] -= np.cumsum(ends[:, 1]) - ends[:, 1]
    shape = int(ends[:, 0].max()), int(ends[:, 1].sum())
    return rasterize([curve - corner for curve, corner in zip(curves, corners, strict=True)], shape)


def traced(curves: Sequence[np.ndarray], smoothing: float = 1.0, columns: int = 1) -> Ensemble:
    """Outlines traced from labels whose pixels are so many columns wide."""
    plane = plane_of([curve / (1, columns) for curve in curves])
    return Ensemble.from_labels(plane, scale=(1.0, float(columns)), unit="µm", smoothing=smoothing)


def segmented(curves: Sequence[np.ndarray]) -> Ensemble:
    """Outlines of a gray image with noise, by Otsu's threshold."""
    plane = plane_of(curves)
    recipe, rng = Outlines(method="otsu", split_touching="none"), np.random.default_rng(len(plane))
    labels = recipe.labels((plane > 0) + rng.normal(0, 0.03, plane.shape))
    return recipe.trace(labels, scale=(1.0, 1.0), unit="µm")


def stretched(rng: np.random.Generator, curves: Sequence[np.ndarray], by: float) -> list[np.ndarray]:
    """Curves that are so many times longer in a random direction, with the same area."""
    turns = np.exp(1j * rng.uniform(0, 2 * np.pi, len(curves)))
    found = []
    for curve, turn in zip(curves, turns, strict=True):
        along = (curve @ (1, 1j)) * turn
        along = (along.real * by**0.5 + 1j * along.imag * by**-0.5) / turn
        found.append(np.stack([along.real, along.imag], axis=1))
    return found


def rounded(curves: Sequence[np.ndarray]) -> Ensemble:
    """Vertices on whole pixels."""
    return Ensemble([np.round(curve) for curve in curves])


def edges(curves: Sequence[np.ndarray]) -> Ensemble:
    """Corners of the edges of pixels, as ImageJ's wand selects them."""
    plane, found = plane_of(curves), []
    for label, (rows, columns) in enumerate(find_objects(plane), 1):
        low = np.argwhere(plane[rows, columns] == label) - 0.5
        region = shapely.coverage_union_all(shapely.box(*low.T, *(low + 1).T)).simplify(0)
        largest = max(shapely.get_parts(region), key=shapely.area)
        found.append(np.asarray(largest.exterior.coords)[:-1])
    return Ensemble(found, unit="µm")


def outermost(curves: Sequence[np.ndarray]) -> Ensemble:
    """Centers of the outermost pixels of masks, as OpenCV finds them."""
    plane, found = plane_of(curves), []
    for label, (rows, columns) in enumerate(find_objects(plane), 1):
        mask = np.pad(plane[rows, columns] == label, 1).astype(float)
        centers = np.round(max(find_contours(mask, 0.999), key=len)[:-1])
        found.append(centers[(centers != np.roll(centers, 1, axis=0)).any(axis=1)])
    return Ensemble(found, unit="µm")


def clicked(curves: Sequence[np.ndarray], *, thinned: bool = False) -> Ensemble:
    """Polygons of 40 vertices; half of every other one's, if `thinned`."""
    polygons = [curve[:: 20 if thinned and place % 2 else 10] for place, curve in enumerate(curves)]
    return Ensemble(polygons, unit="µm")


def unevenly_clicked(curves: Sequence[np.ndarray]) -> Ensemble:
    """Polygons of 12 to 30 vertices at unequal distances."""
    rng, polygons = np.random.default_rng(len(curves)), []
    for curve in curves:
        count = int(rng.integers(12, 31))
        places = (np.arange(count) + rng.uniform(-0.3, 0.3, count)) * len(curve) / count
        polygons.append(curve[np.unique(places.astype(int) % len(curve))])
    return Ensemble(polygons, unit="µm")


# How each side is acquired.
Acquisition = Callable[[Sequence[np.ndarray]], Ensemble]
DOORS: dict[str, tuple[Acquisition, Acquisition]] = {
    "exact": (Ensemble, Ensemble),
    "labels": (traced, traced),
    "images": (segmented, segmented),
    "rounded": (rounded, rounded),
    "edges": (edges, edges),
    "rounded, dense": (rounded, Ensemble),
    "edges, dense": (edges, partial(Ensemble, unit="µm")),
    "clicked": (clicked, partial(clicked, thinned=True)),
    "outermost, labels": (outermost, traced),
    "outermost, edges": (outermost, edges),
    "clicked, labels": (unevenly_clicked, traced),
    "clicked, dense": (unevenly_clicked, partial(Ensemble, unit="µm")),
    "clicked, outermost": (unevenly_clicked, outermost),
    "smoothing": (traced, partial(traced, smoothing=2.0)),
    "oblong": (traced, partial(traced, columns=3)),
}


def main() -> None:
    """Print the rejections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", choices=FORMS, nargs="+", default=["ellipses"])
    parser.add_argument("--doors", choices=DOORS, nargs="+", default=["labels"])
    parser.add_argument("--across", nargs="+", default=["40:60"], metavar="A:B", help="in pixels")
    parser.add_argument("--roughness", type=float, nargs="+", default=[0.0])
    parser.add_argument("--stretch", type=float, default=1.0, help="of the second side")
    parser.add_argument("--count", type=int, default=50, help="outlines of an image")
    parser.add_argument("--images", type=int, default=1, help="of a side")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--seed", type=int, default=8801)
    options = parser.parse_args()
    for form, door, across, roughness in product(options.forms, options.doors, options.across, options.roughness):
        rejected = np.zeros(4, dtype=int)
        for number in range(options.draws):
            rng = np.random.default_rng([options.seed, number])
            sides: list[list[Ensemble]] = []
            for acquire, size, by in zip(DOORS[door], across.split(":"), (1.0, options.stretch), strict=True):
                drawn = [FORMS[form](rng, options.count, float(size), roughness) for _ in range(options.images)]
                sides.append([acquire(stretched(rng, curves, by) if by != 1 else curves) for curves in drawn])
            # Images of unequal extent: the correction of the border would leave few of the larger outlines.
            found = compare(*sides, Settings(border_correction=False, seed=number), overrule=True)
            form_test = found.undulation
            at_01, untested = form_test.p_value <= 0.01, "roughness" not in form_test.parts
            rejected += form_test.rejected, found.scale.rejected, at_01, untested
        cell = f"{form}, {door}, {across}, {roughness:g}"
        printed(cell=cell, draws=options.draws, form=share(rejected[0], options.draws, 3), rejected=rejected.tolist())


if __name__ == "__main__":
    main()
