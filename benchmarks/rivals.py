"""Adds elliptic Fourier analysis, as morphometricians run it, and a classifier with bands to benchmarks/power.csv.

    python benchmarks/rivals.py [--sizes 20 40 80] [--cases WORDS] [--draws 100]

Elliptic Fourier coefficients (20 harmonics) are from pyefd; `--check` compares them with those of ktch. They are not
normalized by the first harmonic, which the standardization of the outlines has made a circle, so that it says nothing
of their orientation. Either the outlines are aligned first (all of both samples, to one archetype), or only the
amplitude of each harmonic is used, which needs no alignment, as a logarithm. Each is tested by PERMANOVA of the
standardized numbers, and by Hotelling's test of the leading principal components (a MANOVA of two groups), with 400
permutations. The classifier is that of `power.py`, with the amplitudes of this package's bands of lobes as features.
The draws are those of `power.py`; methods that a cell of the file already has are skipped.
"""

import argparse
from pathlib import Path

import numpy as np
import pyefd

from napari_shape_ensembles import decompose, register
from napari_shape_ensembles.comparison.parts import form_descriptors, standardized
from napari_shape_ensembles.shapes.lobes import lobes_held
from napari_shape_ensembles.shapes.registration import choose_archetype, distinctness
from power import CASES, LEVEL, classified, hotelling, linear, permuted_p, population, rows_of, write

HARMONICS = 20
EFA = "elliptic Fourier (pyefd)"


def coefficients(outlines):
    """Elliptic Fourier coefficients (N, HARMONICS, 4), not normalized."""
    return np.stack([pyefd.elliptic_fourier_descriptors(one, order=HARMONICS) for one in outlines])


def features(case):
    """For both sides of a case: amplitudes, aligned coefficients and bands of every outline."""
    sides = [population(case, side) for side in (0, 1)]
    undulation, _ = decompose(np.concatenate([side.landmarks for side in sides]))
    archetype = choose_archetype(undulation, int(np.argmax(distinctness(undulation))))
    aligned = register(undulation, archetype).landmarks[:, ::5] * np.sqrt(undulation.shape[1])
    found = coefficients(aligned)
    amplitudes = np.log(np.maximum(np.sqrt((found[:, 1:] ** 2).sum(axis=2) / 2), 1e-6))
    around = np.concatenate([side.around for side in sides])
    bands = form_descriptors(undulation, 1e-8, lobes_held(around[around > 0]))
    every = amplitudes, found.reshape(len(found), -1), bands
    first = len(sides[0].size)
    return [tuple(one[:first] for one in every), tuple(one[first:] for one in every)]


def leading(x):
    """Scores of the leading principal components, at most ten and a quarter of the outlines."""
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return (u * s)[:, : max(1, min(10, len(x) // 4))]


def p_values(parts, first, seed):
    """p-values of one draw by test and method."""
    labels = np.tile(np.arange(2 * first) < first, (400, 1))
    np.random.default_rng([seed, 6]).permuted(labels[1:], axis=1, out=labels[1:])
    weights = labels - 0.5
    amplitudes, aligned, bands = (np.concatenate(both) for both in zip(*parts, strict=True))
    return {
        ("form", f"{EFA}, log amplitudes, PERMANOVA"): permuted_p(linear(standardized(amplitudes)), weights),
        ("form", f"{EFA}, log amplitudes, Hotelling"): permuted_p(hotelling(leading(amplitudes)), weights),
        ("form", f"{EFA}, aligned, PERMANOVA"): permuted_p(linear(aligned), weights),
        ("form", f"{EFA}, aligned, Hotelling"): permuted_p(hotelling(leading(aligned)), weights),
        ("form", "classifier with bands"): classified(standardized(bands[:, np.ptp(bands, axis=0) > 0]), first, seed),
    }


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
        sides = features(case)
        for size in options.sizes:
            known = [row for row in rows_of(options.out) if (row["case"], row["size"]) == (case, str(size))]
            draws = max((int(row["draws"]) for row in known if row["method"] == "defaults"), default=0)
            draws = min(draws, options.draws)
            if not draws or any(row["method"].startswith(EFA) for row in known):
                continue
            found = []
            for draw in range(draws):
                rng = np.random.default_rng([draw, size, 3])
                rows = [rng.choice(len(side[0]), size, replace=False) for side in sides]
                parts = [tuple(one[some] for one in side) for side, some in zip(sides, rows, strict=True)]
                found.append(p_values(parts, size, draw))
            write(options.out, case, size, found, (LEVEL,))
    return None


if __name__ == "__main__":
    main()
