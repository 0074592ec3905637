"""A comparison that runs quickly. As a script, it writes its results to the given file."""

import os
import sys
import time

import numpy as np
from threadpoolctl import threadpool_info

from curve_makers import ragged_blobs
from napari_shape_ensembles import Ensemble, Settings, compare


def run_comparison():
    curves = ragged_blobs(80, seed=1, fewest=30, most=60)
    settings = Settings(landmarks=60, rank=20, permutations=200)
    return compare(Ensemble(curves[:40]), Ensemble(curves[40:]), settings)


def blas_architectures():
    """CPU architectures of the OpenBLAS kernels in use; empty if NumPy uses another library."""
    libraries = [info for info in threadpool_info() if info["internal_api"] == "openblas"]
    return {info["architecture"] for info in libraries if "architecture" in info}


def save_without_end(result, path, written):
    """Save a comparison in a process of its own, which stops for good before the file is replaced."""

    def replace(*_):
        written.set()
        time.sleep(600)

    os.replace = replace
    result.save(path)


if __name__ == "__main__":
    result = run_comparison()
    p = [part.p_value for test in (result.undulation, result.scale) for part in (test, *test.parts.values())]
    np.savez(sys.argv[1], t=result.t, l=result.l, p=p, architecture=" ".join(sorted(blas_architectures())))
