"""False differences between samples of one law acquired at unequal precision, and the power left to real ones.

Each cell draws pairs of samples of star-shaped outlines of one law (40 to 60 a side), acquires each side in its own
way, and counts rejections of form and scale at the default level (0.025 each), overruling withheld rows.
Run as ``python benchmarks/precision.py [--draws N] [--cells WORD] [--seconds S] [--out docs/results/precision.json]``.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from napari_shape_ensembles import Ensemble, compare
from napari_shape_ensembles.outlines.rasterize import rasterize
from results_file import out_option, printed, record, share

Outline = np.ndarray
Acquire = Callable[[list[Outline], np.random.Generator], Ensemble]
ANGLE = 2 * np.pi * np.arange(400) / 400


def outlines(rng: np.random.Generator, count: int, across: float, roughness: float, top: int = 20) -> list[Outline]:
    """Dense outlines of random size, elongation, turn and place; `roughness` is the RMS of their relative radius."""
    found, waves = [], np.arange(2, top + 1)
    amplitude = roughness / np.sqrt((1 / waves**2).sum()) / waves
    for _ in range(count):
        a, b = rng.normal(size=(2, len(waves))) * amplitude
        radius = 1 + a @ np.cos(waves[:, None] * ANGLE) + b @ np.sin(waves[:, None] * ANGLE)
        stretch, turn = np.exp(0.1 * rng.normal()), rng.uniform(0, 2 * np.pi)
        points = np.stack([radius * np.cos(ANGLE) * stretch, radius * np.sin(ANGLE) / stretch], axis=1)
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        found.append(across / 2 * np.exp(0.15 * rng.normal()) * points @ rotation.T + rng.uniform(0, 1, 2))
    return found


def rectangles(rng: np.random.Generator, count: int, across: float) -> list[Outline]:
    """Sharp rectangles of all directions, whose forms are equal."""
    found = []
    for _ in range(count):
        height, width = across * np.exp(0.1 * rng.normal(size=2)) * (1.0, 1.5) / 2
        turn = rng.uniform(0, 2 * np.pi)
        corners = np.array([[-height, -width], [-height, width], [height, width], [height, -width]])
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        found.append(corners @ rotation.T + rng.uniform(0, 1, 2))
    return found


def labels(curves: list[Outline], pixel: tuple[float, float] = (1.0, 1.0), **options: object) -> Ensemble:
    """Outlines traced from labels at this pixel size."""
    scaled = [curve / pixel for curve in curves]
    corners = np.array([np.floor(curve.min(axis=0)) - 3 for curve in scaled])
    ends = np.array([np.ceil(curve.max(axis=0)) + 4 for curve in scaled]) - corners
    corners[:, 1] -= np.cumsum(ends[:, 1]) - ends[:, 1]  # beside each other
    shape = int(ends[:, 0].max()), int(ends[:, 1].sum())
    plane = rasterize([curve - corner for curve, corner in zip(scaled, corners, strict=True)], shape)
    return Ensemble.from_labels(plane, scale=pixel, unit="µm", **options)


def contours(curves: list[Outline], step: float = 1.0) -> Ensemble:
    """The edges of pixels around each object, as ImageJ's wand returns them."""
    found = []
    for curve in curves:
        corner = np.floor(curve.min(axis=0) / step) - 2
        shape = tuple((np.ceil(curve.max(axis=0) / step) - corner + 3).astype(int))
        mask = rasterize([curve / step - corner], shape) > 0
        # A binary mask doubled four times is traced at its pixels' edges.
        found.append((_edges(mask) + corner) * step)
    return Ensemble(found)


def _edges(mask: np.ndarray) -> Outline:
    """Vertices along the edges of the pixels of a mask, the longest loop."""
    after: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for row, column in np.argwhere(mask):
        for (dr, dc), start, end in (
            ((-1, 0), (-0.5, -0.5), (-0.5, 0.5)),
            ((0, 1), (-0.5, 0.5), (0.5, 0.5)),
            ((1, 0), (0.5, 0.5), (0.5, -0.5)),
            ((0, -1), (0.5, -0.5), (-0.5, -0.5)),
        ):
            if not mask[row + dr, column + dc]:
                here = (row + start[0], column + start[1])
                after.setdefault(here, []).append((row + end[0], column + end[1]))
    loops = []
    while after:
        place = next(iter(after))
        loop = [place]
        while ways := after.get(place):
            place = ways.pop()
            if not ways:
                del after[loop[-1]]
            loop.append(place)
        loops.append(np.array(loop[:-1]))
    loop = max(loops, key=len)
    turns = ~np.all(np.diff(loop, axis=0, append=loop[:1]) == np.diff(loop, axis=0, prepend=loop[-1:]), axis=1)
    return loop[turns]


def vertices(curves: list[Outline], count: int, step: float = 0.0) -> Ensemble:
    """Polygons of some vertices, on whole multiples of a step."""
    chosen = [curve[np.rint(np.arange(count) * len(curve) / count).astype(int)] for curve in curves]
    return Ensemble([np.rint(curve / step) * step for curve in chosen] if step else chosen)


def half_dropped(curves: list[Outline], count: int, rng: np.random.Generator) -> Ensemble:
    """Polygons of which half have half of the vertices."""
    full = vertices(curves, count).curves
    return Ensemble([curve[::2] if rng.random() < 0.5 else curve for curve in full])


def cells() -> Iterator[tuple[str, Callable[[np.random.Generator, int, float], tuple[Ensemble, Ensemble]], float]]:
    """Name of each cell, function that draws a pair of samples, and roughness."""

    def pair(a: Callable, b: Callable, across: float = 40.0, ratio: float = 1.0) -> Callable:
        def draw(rng: np.random.Generator, count: int, rough: float) -> tuple[Ensemble, Ensemble]:
            return a(outlines(rng, count, across, rough)), b(outlines(rng, count, across * ratio, rough))

        return draw

    for rough in (0.03, 0.12):
        for across in (40, 80):
            yield (
                f"whole pixels against sub-pixel, {across} px",
                pair(lambda c: vertices(c, 40, 1), lambda c: vertices(c, 40), across),
                rough,
            )
            yield (
                f"rounded dense against sub-pixel, {across} px",
                pair(lambda c: vertices(c, 400, 1), lambda c: vertices(c, 400), across),
                rough,
            )
            for ratio in (1.2, 1.5, 3):
                yield (f"labels, {across} against {across * ratio:g} px", pair(labels, labels, across, ratio), rough)
            yield (
                f"whole pixels, {across} against {across * 1.5:g} px",
                pair(lambda c: vertices(c, 40, 1), lambda c: vertices(c, 40, 1), across, 1.5),
                rough,
            )
            yield (f"pixel edges, {across} against {across * 1.5:g} px", pair(contours, contours, across, 1.5), rough)
        yield ("labels, pixels 1 against 2", pair(labels, lambda c: labels(c, (2.0, 2.0)), 80), rough)
        yield ("labels, pixels 1 x 1 against 1 x 3", pair(labels, lambda c: labels(c, (1.0, 3.0)), 120), rough)
        yield ("labels, smoothing 1 against 2", pair(labels, lambda c: labels(c, smoothing=2.0), 60), rough)

        def dropped(rng: np.random.Generator, count: int, rough: float) -> tuple[Ensemble, Ensemble]:
            a, b = outlines(rng, count, 60, rough), outlines(rng, count, 60, rough)
            return vertices(a, 40), half_dropped(b, 40, rng)

        yield "half of the vertices of half of the polygons of B", dropped, rough
        yield ("closing vertex repeated to single precision", pair(lambda c: vertices(c, 100), closed), rough)
    yield ("labels of ellipses, 40 against 60 px", pair(labels, labels, 40, 1.5), 0.0)
    yield ("pixel edges of ellipses, 40 against 60 px", pair(contours, contours, 40, 1.5), 0.0)

    def sharp(rng: np.random.Generator, count: int, _: float) -> tuple[Ensemble, Ensemble]:
        return labels(rectangles(rng, count, 40)), labels(rectangles(rng, count, 60))

    yield "labels of rectangles, 40 against 60 px", sharp, 0.0


def closed(curves: list[Outline]) -> Ensemble:
    """Polygons with a last vertex that repeats the first to single precision."""
    full = vertices(curves, 100).curves
    return Ensemble([np.concatenate([curve, curve[:1].astype(np.float32) * (1 + 1e-7)]) for curve in full])


def powers() -> Iterator[tuple[str, Callable, Callable]]:
    """Name, and pairs that differ in roughness, acquired unequally and equally (at the coarser of both)."""

    def pair(a: Callable, b: Callable, across: float = 60.0, ratio: float = 1.0) -> Callable:
        def draw(rng: np.random.Generator, count: int) -> tuple[Ensemble, Ensemble]:
            return a(outlines(rng, count, across, 0.06)), b(outlines(rng, count, across * ratio, 0.045))

        return draw

    whole = lambda c: vertices(c, 40, 1)  # noqa: E731
    large = lambda c: labels(c, (2.0, 2.0))  # noqa: E731
    yield "power: one side rounded to whole pixels", pair(whole, lambda c: vertices(c, 40)), pair(whole, whole)
    yield "power: half the pixels", pair(labels, large, 80), pair(large, large, 80)
    yield "power: 1.5 times as large", pair(labels, labels, 40, 1.5), pair(labels, labels, 40)


def main() -> None:
    """Print a table of rejections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--cells", default="")
    parser.add_argument("--seconds", type=float, default=20.0, help="processor time of a cell, then no draw starts")
    parser.add_argument("--seed", type=int, default=0)
    out_option(parser)
    options = parser.parse_args()
    rows, total = [], np.zeros((2, 2), dtype=int)
    for name, draw, rough in cells():
        if options.cells in name:
            counts, tries = rejections(lambda rng, draw=draw, rough=rough: draw(rng, 50, rough), options)
            total += [counts, [tries, tries]]
            if tries:
                rows.append(
                    printed(cell=name, roughness=rough, draws=tries, form=share(counts[0], tries, 3), scale=counts[1])
                )
    if total[1, 0]:
        rows.append(printed(cell="all", draws=int(total[1, 0]), form=share(int(total[0, 0]), int(total[1, 0]), 3)))
    for name, unequal, equal in powers():
        if options.cells in name:
            found = [rejections(lambda rng, one=one: one(rng, 50), options) for one in (unequal, equal)]
            rows.append(
                printed(
                    cell=name,
                    **{
                        kind: f"{counts[0]} of {tries}"
                        for kind, (counts, tries) in zip(("unequal", "equal"), found, strict=True)
                    },
                )
            )
    record(options.out, rejections=rows)


def rejections(draw: Callable, options: argparse.Namespace) -> tuple[list[int], int]:
    """Numbers of rejections of form and of scale, and of draws."""
    counts, tries, start = [0, 0], 0, time.process_time()
    for number in range(options.draws):
        if time.process_time() - start > options.seconds:
            break
        a, b = draw(np.random.default_rng([options.seed, number]))
        result = compare(a, b, overrule=True, seed=number)
        counts[0] += result.undulation.rejected
        counts[1] += result.scale.rejected
        tries += 1
    return counts, tries


if __name__ == "__main__":
    main()
