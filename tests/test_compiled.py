"""Compiled loops: loaded when first needed, and compiled by one process, once for an installation."""

import os
import subprocess
import sys

from napari_shape_ensembles import compiled

TRACE = """
import sys
import numpy as np
from napari_shape_ensembles import Stopped, compiled, extract_curves, reporting
labels = np.zeros((40, 40), int)
labels[9:30, 9:30] = 1
steps = []
assert "numba" not in sys.modules
with reporting(lambda step: steps.append(step.name)):
    assert len(extract_curves(labels)) == 1
print(*steps, sep="\\n")
"""
# Compiling itself takes too long for a test: here a process that stands in for it makes the folder.
PRETEND = """
import subprocess, sys
from napari_shape_ensembles import compiled
made = [sys.executable, "-c", "import sys, time; time.sleep(0.3); open(sys.argv[1], 'x')", {gone!r}]
compiled.begin_compiling = lambda: subprocess.Popen(made)
"""


def run(code, caches):
    places = dict.fromkeys(("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"), str(caches))
    environment = os.environ | places | {"NUMBA_DISABLE_JIT": "1"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


def test_who_waits_for_the_compiler_is_told(tmp_path):
    said = run(PRETEND.format(gone=str(tmp_path / "made")) + TRACE, tmp_path).stdout
    assert said.splitlines() == ["compiling once for this installation"]


def test_everyone_who_waits_for_the_compiler_is_told(tmp_path):
    several = """
from threading import Thread
def traced():
    with reporting(lambda step: told.append(step.name)):
        extract_curves(labels)
told = []
both = [Thread(target=traced) for _ in range(2)]
for one in both:
    one.start()
for one in both:
    one.join()
print(len(told))
"""
    code = TRACE.partition("steps = []")[0] + several
    assert run(PRETEND.format(gone=str(tmp_path / "made")) + code, tmp_path).stdout == "2\n"


def test_a_read_only_home_compiles_for_the_process_alone(tmp_path):
    (tmp_path / "file").touch()
    assert run(TRACE, tmp_path / "file").returncode == 0


def test_compiled_once_the_compiler_does_not_start_again():
    assert compiled.cache_folder().exists()
    assert compiled.begin_compiling() is None


def test_two_processes_fill_the_cache_one_after_the_other(tmp_path):
    code = "from napari_shape_ensembles.compiled import cache_folder, compile_kernels as c; c(); print(cache_folder())"
    places = dict.fromkeys(("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"), str(tmp_path))
    environment = os.environ | places | {"NUMBA_DISABLE_JIT": "1"}  # the folder stays empty, and is made as usual
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) for _ in range(2)]
    (one, error), (other, another) = (process.communicate() for process in both)
    assert (error, another) == ("", "")
    assert one == other
    folders = list((tmp_path / "napari-shape-ensembles").glob("kernels-*"))
    if sys.platform.startswith("linux"):
        assert [str(folder) for folder in folders] == [one.strip()]
