"""Processor time and memory of the permutation test compared with hyppo, as in docs/evidence/power.md.

    python benchmarks/two_sample.py [--largest N] [--no-peer] [--out docs/results/two-sample.json]

Normal vectors, 150 coordinates, 1000 permutations, one kernel. Every size runs in a separate process. The minimum of
several runs, in processor time, which is less affected by other load than wall time. hyppo's 1000 permutations are
extrapolated from few. `--no-peer` skips hyppo, which is not needed otherwise (`pip install hyppo`).
"""

import argparse
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from napari_shape_ensembles.mmd import mmd_test
from results_file import out_option, printed, record

SIZES = {1000: 5, 2000: 5, 5605: 3, 20_000: 1}
PEER = {1000: (4, 24), 2000: (2, 12)}


def main():
    """Print one row per size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=20_000)
    parser.add_argument("--no-peer", action="store_true")
    out_option(parser)
    options = parser.parse_args()
    load, rows = os.getloadavg()[0], []
    for total in (size for size in SIZES if size <= options.largest):
        single, peak = apart(ours, total, SIZES[total])
        bins, _ = apart(ours, total, SIZES[total], {"bins": 1000})
        projected, _ = apart(ours, total, SIZES[total], {"approximate_above": 1})
        slow = apart(hyppo, total, PEER[total]) if total in PEER and not options.no_peer else None
        peer = ("", "") if slow is None else (f"{slow:.0f}", f"{slow / single:.0f}")
        times = {"single outlines": f"{single:.2f}", "1000 bins": f"{bins:.2f}", "projected": f"{projected:.2f}"}
        rows.append(printed(N=total, **times, **{"peak MiB": f"{peak:.0f}", "hyppo": peer[0], "ratio": peer[1]}))
    record(options.out, speed=rows, processors=os.cpu_count(), load=round(load, 1))


def apart(work, *arguments):
    """Run work in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def halves(total):
    """Two samples of one distribution."""
    z = np.random.default_rng(0).normal(size=(total, 150))
    return z[: total // 2], z[total // 2 :]


def ours(total, repeats, options=None):
    """Minimum processor time, and peak memory of the process in MiB."""
    x, y = halves(total)
    mmd_test(x[:300], y[:300])
    runs = []
    for _ in range(repeats):
        start = time.process_time()
        mmd_test(x, y, **(options or {"bins": 0}))
        runs.append(time.process_time() - start)
    return min(runs), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def hyppo(total, permutations):
    """Processor time of 1000 permutations, from the difference between two smaller numbers."""
    import warnings

    from hyppo.ksample import MMD

    x, y = halves(total)
    warnings.simplefilter("ignore")  # it warns about so few permutations
    MMD().test(x[:50], y[:50], reps=2, auto=False)
    each = []
    for _ in range(3):
        times = []
        for count in permutations:
            start = time.process_time()
            MMD().test(x, y, reps=count, auto=False)
            times.append(time.process_time() - start)
        each.append((times[1] - times[0]) / (permutations[1] - permutations[0]))
    return times[0] + (1000 - permutations[0]) * min(each)


if __name__ == "__main__":
    main()
