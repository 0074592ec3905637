"""Prints the speed and memory of the permutation test beside hyppo's: `python benchmarks/two_sample.py`.

Normal vectors, 150 coordinates, 1000 permutations, one kernel. Every size runs in a process of its own. Wall time is
the best of several, processor time that of the same run: on a busy machine the second is the steadier, and the
ratio is one of processor times. hyppo's 1000 permutations are extrapolated from few. `--no-peer` leaves it out; it
is not needed for anything else (`pip install hyppo`).
"""

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

import numpy as np

from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.progress import Stopped, reporting

SIZES = {1000: 5, 2000: 7, 5605: 3, 20_000: 1, 50_000: 1}
PEER = {1000: (4, 44), 2000: (2, 22), 5605: (1, 11)}


def main():
    """Print one row per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=20_000)
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    print("| N | wall s | processor s | peak MiB | projected: wall s | leaves within s | hyppo: processor s | ratio |")
    for total in (size for size in SIZES if size <= options.largest):
        wall, cpu, peak = apart(ours, total, SIZES[total])
        projected, _, _ = apart(ours, total, SIZES[total], 1)
        leaving = apart(left, total)
        row = f"| {total} | {wall:.3f} | {cpu:.3f} | {peak:.0f} | {projected:.3f} | {leaving:.2f} |"
        if total in PEER and not options.no_peer:
            slow = apart(hyppo, total, PEER[total])
            row += f" {slow:.0f} | {slow / cpu:.0f} |"
        print(row, flush=True)


def apart(work, *arguments):
    """Result of work in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def halves(total):
    """Two samples of one distribution."""
    z = np.random.default_rng(0).normal(size=(total, 150))
    return z[: total // 2], z[total // 2 :]


def ours(total, repeats, approximate_above=None):
    """Best wall time, its processor time, and the largest memory of the process in MiB."""
    x, y = halves(total)
    mmd_test(x[:300], y[:300])
    runs = []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        mmd_test(x, y, approximate_above=approximate_above)
        runs.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return *min(runs), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def left(total):
    """Longest wait for a test that is cancelled some time after its start, over ten of them."""
    x, y = halves(total)
    start = time.perf_counter()
    mmd_test(x, y)
    whole, waits = time.perf_counter() - start, []
    for share in np.linspace(0.05, 0.95, 10):
        cancelled = time.perf_counter() + share * whole
        with reporting(stop=lambda: time.perf_counter() > cancelled), suppress(Stopped):  # noqa: B023 - asked within
            mmd_test(x, y)
            continue  # it ended before
        waits.append(time.perf_counter() - cancelled)
    return max(waits, default=0.0)


def hyppo(total, permutations):
    """Processor time of 1000 permutations, from the difference between two smaller numbers."""
    import warnings

    from hyppo.ksample import MMD

    x, y = halves(total)
    warnings.simplefilter("ignore")  # so few permutations are not for use
    MMD().test(x[:50], y[:50], reps=2, auto=False)
    times = []
    for count in permutations:
        start = time.process_time()
        MMD().test(x, y, reps=count, auto=False)
        times.append(time.process_time() - start)
    each = (times[1] - times[0]) / (permutations[1] - permutations[0])
    return times[0] + (1000 - permutations[0]) * each


if __name__ == "__main__":
    main()
