"""The same digits on other processors' arithmetic, and files that outlive a killed process."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from curve_makers import ragged_blobs
from napari_shape_ensembles import Comparison, Ensemble, Settings, compare

QUICK = {"landmarks": 60, "rank": 20, "permutations": 200}
OPENBLAS = any(info["internal_api"] == "openblas" and "architecture" in info for info in threadpool_info())


def made():
    curves = ragged_blobs(80, seed=1, fewest=30, most=60)
    return compare(Ensemble(curves[:40]), Ensemble(curves[40:]), Settings(**QUICK))


KERNEL = """
import sys
import numpy as np
from threadpoolctl import threadpool_info
from test_repeatability import made
result = made()
architectures = {info.get("architecture") for info in threadpool_info() if info["internal_api"] == "openblas"}
p = [part.p_value for test in (result.undulation, result.scale) for part in (test, *test.parts.values())]
np.savez(sys.argv[1], t=result.t, l=result.l, p=p, architecture=" ".join(sorted(architectures)))
"""


def with_kernel(kernel, path):
    """The comparison made with OpenBLAS's arithmetic for one kind of processor, in a process of its own."""
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"OPENBLAS_CORETYPE": kernel, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", KERNEL, path], env=environment, check=True)
    return np.load(path)


@pytest.mark.skipif(not OPENBLAS, reason="NumPy here computes with another library than OpenBLAS")
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
