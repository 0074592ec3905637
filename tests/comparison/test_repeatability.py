"""The same digits on other processors' arithmetic, and files that outlive a killed process."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import small_comparison
from napari_shape_ensembles import Comparison
from small_comparison import blas_architectures, made


def with_kernel(kernel, path):
    """The comparison made with OpenBLAS's arithmetic for one kind of processor, in a process of its own."""
    environment = os.environ | {"OPENBLAS_CORETYPE": kernel}
    subprocess.run([sys.executable, small_comparison.__file__, path], env=environment, check=True)
    return np.load(path)


@pytest.mark.skipif(not blas_architectures(), reason="NumPy here computes with another library than OpenBLAS")
def test_other_processors_arithmetic_changes_no_p_value_and_the_coordinates_by_rounding(tmp_path):
    made_by = [with_kernel(kernel, tmp_path / f"{kernel}.npz") for kernel in ("Prescott", "Nehalem", "Haswell")]
    if len({str(one["architecture"]) for one in made_by}) == 1:
        pytest.skip("this build of OpenBLAS has one kernel only")
    here = made()
    for other in made_by:
        np.testing.assert_allclose(other["t"], here.t, atol=1e-11)
        np.testing.assert_allclose(other["l"], here.l, atol=1e-11)
        assert other["p"][0] == here.undulation.p_value
        assert (other["p"] == made_by[0]["p"]).all()


ENDLESS = """
import sys
from napari_shape_ensembles import Comparison
result = Comparison.load(sys.argv[1])
print("saving", flush=True)
while True:
    result.save(sys.argv[1])
"""


@pytest.mark.parametrize("after", [0.02, 0.11, 0.23])
def test_a_process_killed_while_saving_leaves_a_whole_file(tmp_path, after):
    path = tmp_path / "kept.comparison.npz"
    result = made()
    result.save(path)
    with subprocess.Popen([sys.executable, "-c", ENDLESS, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "saving"
        time.sleep(after)
        process.kill()
    kept = Comparison.load(path)
    assert kept.t.tobytes() == result.t.tobytes()
    assert kept.summary() == result.summary()
