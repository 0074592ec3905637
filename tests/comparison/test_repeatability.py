"""Reproducibility on other CPU architectures, and atomic saving."""

import os
import subprocess
import sys
from multiprocessing import get_context

import numpy as np
import pytest

import small_comparison
from napari_shape_ensembles import Comparison
from small_comparison import blas_architectures, run_comparison, save_without_end


def with_kernel(kernel, path):
    """Run the comparison in a separate process with OpenBLAS's kernels for the given CPU architecture."""
    environment = os.environ | {"OPENBLAS_CORETYPE": kernel}
    subprocess.run([sys.executable, small_comparison.__file__, path], env=environment, check=True)
    return np.load(path)


@pytest.mark.skipif(not blas_architectures(), reason="NumPy here computes with another library than OpenBLAS")
def test_p_values_are_identical_on_other_cpu_architectures(tmp_path):
    made_by = [with_kernel(kernel, tmp_path / f"{kernel}.npz") for kernel in ("Prescott", "Haswell")]
    if len({str(one["architecture"]) for one in made_by}) == 1:
        pytest.skip("this build of OpenBLAS has one kernel only")
    here = run_comparison()
    for other in made_by:
        np.testing.assert_allclose(other["t"], here.t, atol=1e-11)
        np.testing.assert_allclose(other["l"], here.l, atol=1e-11)
        assert other["p"][0] == here.undulation.p_value
        assert (other["p"] == made_by[0]["p"]).all()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the child process only saves
def test_a_process_killed_while_saving_leaves_a_complete_file(tmp_path):
    """Killed when all is written: earlier, too, the file is as it was, as it is replaced only then."""
    path = tmp_path / "kept.comparison.npz"
    result = run_comparison()
    result.save(path)
    apart = get_context("spawn" if sys.platform == "win32" else "fork")
    written = apart.Event()
    process = apart.Process(target=save_without_end, args=(result, path, written))
    process.start()
    assert written.wait(60)
    process.kill()
    process.join()
    kept = Comparison.load(path)
    assert kept.t.tobytes() == result.t.tobytes()
    assert kept.summary() == result.summary()
