"""False differences where forms do not vary: ellipses or rectangles traced from labels at 40 and at 60 pixels across.

    python benchmarks/precision.py [--cells ellipses | rectangles | aligned] [--across A B] [--draws N] [--seed S]

50 and 50 outlines of one form, turned at random, or rectangles aligned with the pixels; rejections of form at the
default level (0.025), overruling withheld rows. Stated in docs/explanation/limits.md.
"""

import argparse
from functools import partial

import numpy as np

from napari_shape_ensembles import Ensemble, compare
from napari_shape_ensembles.outlines.rasterize import rasterize
from results_file import printed, share

ANGLE = 2 * np.pi * np.arange(400) / 400


def placed(rng: np.random.Generator, points: np.ndarray, turn: float) -> np.ndarray:
    """Points turned, and moved within a pixel."""
    return points @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + rng.uniform(0, 1, 2)


def ellipses(rng: np.random.Generator, count: int, across: float) -> list[np.ndarray]:
    """Dense ellipses of random size and elongation."""
    found = []
    for _ in range(count):
        rng.normal(size=(2, 19))  # of waves, which have no height here
        stretch, turn = np.exp(0.1 * rng.normal()), rng.uniform(0, 2 * np.pi)
        points = np.stack([np.cos(ANGLE) * stretch, np.sin(ANGLE) / stretch], axis=1)
        found.append(placed(rng, across / 2 * np.exp(0.15 * rng.normal()) * points, turn))
    return found


def rectangles(rng: np.random.Generator, count: int, across: float, *, turned: bool = True) -> list[np.ndarray]:
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


def traced(curves: list[np.ndarray]) -> Ensemble:
    """Outlines traced from labels beside each other."""
    corners = np.array([np.floor(curve.min(axis=0)) - 3 for curve in curves])
    ends = np.array([np.ceil(curve.max(axis=0)) + 4 for curve in curves]) - corners
    corners[:, 1] -= np.cumsum(ends[:, 1]) - ends[:, 1]
    shape = int(ends[:, 0].max()), int(ends[:, 1].sum())
    plane = rasterize([curve - corner for curve, corner in zip(curves, corners, strict=True)], shape)
    return Ensemble.from_labels(plane, scale=(1.0, 1.0), unit="µm")


def main() -> None:
    """Print the rejections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", choices=FORMS, default="ellipses")
    parser.add_argument("--across", type=float, nargs=2, default=(40.0, 60.0), help="in pixels")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--seed", type=int, default=8801)
    options = parser.parse_args()
    drawn, rejected = FORMS[options.cells], 0
    for number in range(options.draws):
        rng = np.random.default_rng([options.seed, number])
        a, b = (traced(drawn(rng, 50, across)) for across in options.across)
        rejected += compare(a, b, overrule=True, seed=number).undulation.rejected
    printed(cell=options.cells, draws=options.draws, rejected=rejected, form=share(rejected, options.draws, 3))


if __name__ == "__main__":
    main()
