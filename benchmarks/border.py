"""Selection by the image border: what it does to sizes and to the level of the tests, and what the corrections leave.

Outlines of lognormal size (standard deviation 0.4 of the logarithm), elongation (0.3) and number of lobes, which are
stronger on larger ones, lie at random in square windows; those that the border cuts are left out. Sizes: the geometric
mean of those kept over the true one, as they are and weighted. Tests: samples of one law in windows of unequal size.

    python benchmarks/border.py [--draws 400] [--out docs/results/border.json]
"""

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare
from results_file import parser_of, printed, record, share

LEVEL = 0.025
#: Outlines from which mean sizes are taken.
MANY = 100_000
#: Diameter over the side of the window.
DIAMETERS = (0.05, 0.1, 0.2, 0.3)
#: Side of A's windows in those of B's; images a side, and outlines in each of A and of B.
DESIGNS = ((1, (1, 60, 60)), (2, (1, 60, 60)), (3, (1, 60, 60)), (3, (1, 200, 60)), (3, (6, 12, 12)))
#: Mean diameter in the tests, over the side of the smaller window.
TESTED = 0.3
_TURN = 2 * np.pi * np.arange(60) / 60


def drawn(rng: np.random.Generator, count: int, side: float, diameter: float) -> list[np.ndarray]:
    """Outlines that lie whole in a square window."""
    found: list[np.ndarray] = []
    while len(found) < count:
        size, elongation, phase, turn = rng.normal(0, 0.4), rng.normal(0, 0.3), *rng.uniform(0, 2 * np.pi, 2)
        lobed = 1 + min(0.05 * np.exp(size), 0.3) * np.cos(rng.integers(2, 6) * _TURN + phase)
        round_ = lobed * np.exp(1j * _TURN)
        long = round_.real * np.exp(elongation / 2) + 1j * round_.imag * np.exp(-elongation / 2)
        curve = diameter / 2 * np.exp(size) * long * np.exp(1j * turn) + complex(*rng.uniform(0, side, 2))
        points = np.stack([curve.real, curve.imag], axis=1)
        if points.min() > 0 and points.max() < side:
            found.append(points)
    return found


def mean_sizes(diameter: float, rng: np.random.Generator) -> dict[str, float]:
    """Geometric mean diameter of the discs kept in a window of side 1 over that of all, unweighted and weighted."""
    size = rng.normal(0, 0.4, MANY)
    across = diameter * np.exp(size)
    places = rng.uniform(size=(MANY, 2))
    kept = ((places > across[:, None] / 2) & (places < 1 - across[:, None] / 2)).all(axis=1)
    squares = [np.array([(0, 0), (0, d), (d, d), (d, 0)]) for d in across[kept]]
    weights = Ensemble(squares, window=(1, 1)).border_weights
    return {
        "unweighted": float(np.exp(size[kept].mean())),
        "weighted": float(np.exp(np.average(size[kept], weights=weights))),
    }


def rejections(ratio: int, images: int, counts: tuple[int, int], number: int, *, corrected: bool) -> dict[str, int]:
    """Numbers of draws of one law that the two tests reject."""
    hits = {"form": 0, "scale": 0}
    for seed in range(number):
        rng = np.random.default_rng([seed, ratio, images, *counts])
        sides = [
            [
                Ensemble(drawn(rng, count, side, TESTED), name=f"{name} {place}", unit="µm", window=(side, side))
                for place in range(images)
            ]
            for name, count, side in zip("AB", counts, (float(ratio), 1.0), strict=True)
        ]
        settings = Settings(landmarks=60, rank=10, permutations=399, seed=seed, border_correction=corrected)
        result = compare(*sides, settings)
        hits["form"] += result.undulation.p_value <= LEVEL
        hits["scale"] += result.scale.p_value <= LEVEL
    return hits


def main() -> None:
    """Print both tables."""
    options = parser_of(__doc__, draws=400).parse_args()
    rng = np.random.default_rng(0)
    sizes = {f"{diameter:g}": mean_sizes(diameter, rng) for diameter in DIAMETERS}
    for diameter, of in sizes.items():
        printed(diameter=diameter, **{name: f"{value:.3f}" for name, value in of.items()})
    rows = []
    for ratio, (images, *counts) in DESIGNS:
        row = {
            "windows": f"{ratio} : 1",
            "images": f"{images} and {images}",
            "outlines": " and ".join(map(str, counts)),
        }
        for corrected in (False, True):
            hits = rejections(ratio, images, (counts[0], counts[1]), options.draws, corrected=corrected)
            for test, count in hits.items():
                row[f"{test}, {'corrected' if corrected else 'as they are'}"] = share(count, options.draws, 3)
        rows.append(printed(**row))
        record(options.out, sizes=sizes, rates=rows, draws=options.draws)


if __name__ == "__main__":
    main()
