"""Adds the elastic metric of geomstats to benchmarks/power.csv, one more test of undulation beside those of `power.py`.

    python benchmarks/elastic.py --sizes 20 40 80 --draws 80

geomstats 2.8.0 needs NumPy before 2.4: use a separate environment. The draws are those of `power.py`. Outlines are
standardized and registered as for the other tests of undulation, as geomstats cannot register the starting points of
closed curves; distances are those of its square-root velocity metric (Srivastava et al. 2011), and the test is
PERMANOVA (Anderson 2001) with 400 permutations. Cases already in the file are skipped.
"""

import argparse
from pathlib import Path

import numpy as np
from geomstats.geometry.discrete_curves import DiscreteCurvesStartingAtOrigin

from napari_shape_ensembles import decompose, register
from power import CASES, LEVEL, drawn, learned_from, permuted_p, population, rows_of, write

METHOD = "square-root velocity (geomstats), PERMANOVA"
POINTS = 100


def kernel(outlines):
    """Centered Gram matrix (N, N) of the geodesic distances between outlines (N, POINTS, 2)."""
    space = DiscreteCurvesStartingAtOrigin(ambient_dim=2, k_sampling_points=POINTS)
    curves = space.projection(outlines)
    i, j = np.triu_indices(len(curves), 1)
    squares = np.zeros((len(curves), len(curves)))
    squares[i, j] = squares[j, i] = space.metric.squared_dist(curves[i], curves[j])
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    return -centred / 2


def p_value(some, first, seed):
    """p-value of one draw whose first `first` outlines are A's."""
    undulation, _ = decompose(some.landmarks)
    registered = register(undulation, learned_from(some).space.archetype_).landmarks
    step = registered.shape[1] // POINTS
    labels = np.tile(np.arange(len(registered)) < first, (400, 1))
    np.random.default_rng([seed, 6]).permuted(labels[1:], axis=1, out=labels[1:])
    weights = labels - first / labels.shape[1]
    return permuted_p(kernel(registered[:, ::step] * np.sqrt(registered.shape[1])), weights)


def main():
    """Draw from the pairs, and add the rejections to the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", default=[""], help="only cases in whose name one of these words stands")
    parser.add_argument("--sizes", nargs="*", type=int, default=[20, 40, 80])
    parser.add_argument("--draws", type=int, default=80)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("power.csv"))
    options = parser.parse_args()
    for size in options.sizes:
        for case in (name for name in CASES if any(part in name for part in options.cases)):
            if any(
                (row["case"], row["size"], row["method"]) == (case, str(size), METHOD) for row in rows_of(options.out)
            ):
                continue
            sides, found = [population(case, side) for side in (0, 1)], []
            if size > 0.9 * min(len(side.size) for side in sides):
                continue
            for draw in range(options.draws):
                rng = np.random.default_rng([draw, size, 3])
                parts = [(side, rng.choice(len(side.size), size, replace=False)) for side in sides]
                found.append({("form", METHOD): p_value(drawn(parts), size, draw)})
            write(options.out, case, size, found, (LEVEL,))


if __name__ == "__main__":
    main()
