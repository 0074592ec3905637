"""Level and power of the control experiment by resynthesis, as in docs/evidence/explanations.md.

Run as ``python benchmarks/resynthesis.py [--out docs/results/resynthesis.json]``. Two ensembles of small random
outlines, equal or with a known difference, go through the whole pipeline to the four swaps, many times. A part that
was kept must not differ, nor must one replaced by an equal one. Every rate has its 95 % Wilson interval.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

from calibration import SMALL, found_at, outlines, repeated
from napari_shape_ensembles import Ensemble, Settings, compare, resynthesis
from results_file import parser_of, printed, record

SETTINGS = {**SMALL, "coordinates": "components"}
COLUMNS = {
    "form kept": ("form", "kept"),
    "form replaced": ("form", "replaced"),
    "scale kept": ("scale", "kept"),
    "scale replaced": ("scale", "replaced"),
}
PAIRS = {
    "alike": {},
    "alike, large outlines rougher": {"dependent": True},
    "30 % larger": {"size": 1.3},
    "30 % larger, large outlines rougher": {"size": 1.3, "dependent": True},
    "waves 5 to 9 twice as high": {"rough": 2.0},
}


def ensemble(rng, count, *, dependent=False, **how):
    """Random outlines of one population; in `dependent` ones roughness increases with size."""
    if not dependent:
        return Ensemble(outlines(rng, count, **how))
    drawn = np.exp(rng.normal(0, 0.2, count))
    size = how.get("size", 1.0)
    return Ensemble([curve for d in drawn for curve in outlines(rng, 1, size=size * d, rough=d**2)])


def p_values(seed, m, n, *, dependent=False, **how):
    """Minimum p-value of each kind of test over the four swaps."""
    rng = np.random.default_rng([seed, 3])
    a = ensemble(rng, m, dependent=dependent)
    b = ensemble(rng, n, dependent=dependent, **how)
    found = {}
    for swap in resynthesis(compare(a, b, Settings(**SETTINGS, seed=seed)), random_state=seed):
        tests = {"form": (swap.form, swap.of_form.undulation), "scale": (swap.scale, swap.of_scale.scale)}
        for part, (source, test) in tests.items():
            kept = source == swap.against
            found[f"{part} of {source}, {'kept' if kept else 'replaced'}"] = test.p_value
    return found


def main():
    """Print one table per pair."""
    parser = parser_of(__doc__, repetitions=1000)
    parser.add_argument("--only", choices=PAIRS, help="print one table")
    options = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, how in PAIRS.items():
            if options.only not in (None, name):
                continue
            print(f"\n{name}: {options.repetitions} pairs of 30 and 50 outlines", flush=True)
            found = repeated(pool, partial(p_values, m=30, n=50, **how), options.repetitions)
            for test, p in sorted(found.items()):
                printed(test=test, **{f"level {level}": found_at(p, level) for level in (0.05, 0.01)})
            rows.append({"B against A": name} | {words: among(found, *parts) for words, parts in COLUMNS.items()})
    record(options.out, shares=rows, pairs=options.repetitions, first_draws=first_draws())


def among(found, part, how):
    """Rejection rates at 0.01 of the tests of one part that was kept or replaced, of both samples."""
    rejected = [np.mean(p <= 0.01 * (1 + 1e-9)) for test, p in found.items() if test.startswith(part) and how in test]
    return ", ".join(f"{one:.3f}" for one in rejected)


def first_draws():
    """p-values of the first draw of each pair."""
    return {name: p_values(0, 30, 50, **how) for name, how in PAIRS.items()}


if __name__ == "__main__":
    main()
