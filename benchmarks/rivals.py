"""Adds elliptic Fourier analysis, a classifier with bands and a kernel of distance profiles to benchmarks/power.csv.

    python benchmarks/rivals.py [--sizes 20 40 80] [--cases WORDS] [--draws 100]

Elliptic Fourier coefficients (20 harmonics) are from pyefd; `--check` compares them with those of ktch. They are not
normalized by the first harmonic, which the standardization of the outlines has made a circle, so that it says nothing
of their orientation. Either the outlines are aligned first (all of both samples, to one archetype), or only the
amplitude of each harmonic is used, which needs no alignment, as a logarithm. Each is tested by PERMANOVA of the
standardized numbers, and by Hotelling's test of the leading principal components (a MANOVA of two groups), with 400
permutations. The classifier is that of `power.py`, with the amplitudes of this package's bands of lobes as features.
The kernel is that of Zhao, Sutherland and Dao Duc (2026), as its abstract describes it: an outline is a cloud of
points, here 100; the distances from each point to all are sorted, and those of equal rank are sorted over the points.
The differences of the sorted distances give a distance between outlines, a Gaussian kernel of its median, and the MMD.
The draws are those of `power.py`; methods that a cell of the file already has are skipped.
"""

import argparse
from pathlib import Path

import numpy as np

from napari_shape_ensembles import decompose, register
from napari_shape_ensembles.comparison.parts import form_descriptors, standardized
from napari_shape_ensembles.shapes.lobes import lobes_held
from napari_shape_ensembles.shapes.registration import choose_archetype, distinctness
from power import CASES, LEVEL, classified, distances, hotelling, linear, permuted_p, population, rows_of, write

HARMONICS = 20
EFA = "elliptic Fourier (pyefd)"
PROFILES = "stratified Wasserstein, MMD"


def coefficients(outlines):
    """Elliptic Fourier coefficients (N, HARMONICS, 4), not normalized."""
    import pyefd

    return np.stack([pyefd.elliptic_fourier_descriptors(one, order=HARMONICS) for one in outlines])


def forms(case):
    """Standardized outlines of both sides of a case."""
    return decompose(np.concatenate([population(case, side).landmarks for side in (0, 1)]))[0]


def leading(x):
    """Scores of the leading principal components, at most ten and a quarter of the outlines."""
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return (u * s)[:, : max(1, min(10, len(x) // 4))]


def elliptic(case):
    """Tests of coefficients and bands, for the rows of a draw."""
    undulation = forms(case)
    archetype = choose_archetype(undulation, int(np.argmax(distinctness(undulation))))
    aligned = register(undulation, archetype).landmarks[:, ::5] * np.sqrt(undulation.shape[1])
    found = coefficients(aligned)
    amplitudes = np.log(np.maximum(np.sqrt((found[:, 1:] ** 2).sum(axis=2) / 2), 1e-6))
    around = np.concatenate([population(case, side).around for side in (0, 1)])
    bands = form_descriptors(undulation, 1e-8, lobes_held(around[around > 0]))

    def tests(rows, weights, seed):
        own, flat, first = amplitudes[rows], found[rows].reshape(len(rows), -1), len(rows) // 2
        lobes = standardized(bands[rows][:, np.ptp(bands[rows], axis=0) > 0])
        return {
            f"{EFA}, log amplitudes, PERMANOVA": permuted_p(linear(standardized(own)), weights),
            f"{EFA}, log amplitudes, Hotelling": permuted_p(hotelling(leading(own)), weights),
            f"{EFA}, aligned, PERMANOVA": permuted_p(linear(flat), weights),
            f"{EFA}, aligned, Hotelling": permuted_p(hotelling(leading(flat)), weights),
            "classifier with bands": classified(lobes, first, seed),
        }

    return tests


def profiles(case):
    """The test of distance profiles, for the rows of a draw."""
    points = (forms(case)[:, ::5] @ [1, 1j]).astype(np.complex64)
    apart = np.abs(points[:, :, None] - points[:, None])
    every = distances(np.sort(np.sort(apart, axis=2), axis=1).reshape(len(points), -1))

    def tests(rows, weights, seed):
        d = every[np.ix_(rows, rows)]
        median = np.median(d[np.triu_indices(len(d), 1)])
        return {PROFILES: permuted_p(np.exp(-((d / median) ** 2) / 2), weights)}

    return tests


def check():
    """Largest difference of the coefficients from those of ktch, relative to the first harmonic."""
    from ktch.harmonic import EllipticFourierAnalysis

    outlines = population("made: roughness", 0).landmarks[:50, ::5]
    ours = coefficients(outlines)
    closed = [np.concatenate([one, one[:1]]) for one in outlines]
    theirs = EllipticFourierAnalysis(n_harmonics=HARMONICS, norm=False).fit_transform(closed)
    theirs = theirs.reshape(len(ours), 4, HARMONICS + 1)[:, :, 1:].swapaxes(1, 2)
    print(f"largest difference from ktch: {np.abs(ours - theirs).max() / np.abs(ours[:, 0]).max():.1e}")


def main():
    """Draw from the pairs, and add the rejections to the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[""], help="parts of names of cases")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10, 20, 40, 80, 160])
    parser.add_argument("--draws", type=int, default=400, help="at most so many, and no more than of the others")
    parser.add_argument("--check", action="store_true", help="only compare the coefficients with those of ktch")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("power.csv"))
    options = parser.parse_args()
    if options.check:
        return check()
    for case in (name for name in CASES if any(part in name for part in options.cases)):
        for method, prepared in ((EFA, elliptic), (PROFILES, profiles)):
            tests = None
            for size in options.sizes:
                known = [row for row in rows_of(options.out) if (row["case"], row["size"]) == (case, str(size))]
                draws = max((int(row["draws"]) for row in known if row["method"] == "defaults"), default=0)
                draws = min(draws, options.draws)
                if not draws or any(row["method"].startswith(method) for row in known):
                    continue
                tests = tests or prepared(case)
                counts, found = [len(population(case, side).size) for side in (0, 1)], []
                for draw in range(draws):
                    rng = np.random.default_rng([draw, size, 3])
                    rows = [rng.choice(count, size, replace=False) for count in counts]
                    labels = np.tile(np.arange(2 * size) < size, (400, 1))
                    np.random.default_rng([draw, 6]).permuted(labels[1:], axis=1, out=labels[1:])
                    p_values = tests(np.concatenate([rows[0], counts[0] + rows[1]]), labels - 0.5, draw)
                    found.append({("form", name): p for name, p in p_values.items()})
                write(options.out, case, size, found, (LEVEL,))
    return None


if __name__ == "__main__":
    main()
