"""Compiled kernels: written atomically, and compiled without blocking."""

import os
import subprocess
import sys

import pytest

from napari_shape_ensembles import compiled
from napari_shape_ensembles.compiled import as_part_of, forced, kernels

CODE = """
import sys
import numpy as np
from napari_shape_ensembles import Ensemble, compiled, to_landmarks
angle = np.linspace(0, 6, 90)
curves = Ensemble([np.stack([np.cos(angle), (1 + i / 99) * np.sin(angle)], axis=1) for i in range(1100)])
assert "numba" not in sys.modules
to_landmarks(curves[:10])
assert "numba" not in sys.modules
to_landmarks(curves)
print("numba" in sys.modules, compiled.cache_folder().exists())
"""


def run(folder, wish="auto"):
    caches = {"XDG_CACHE_HOME": str(folder), "LOCALAPPDATA": str(folder), "HOME": str(folder)}
    environment = os.environ | caches | {"SHAPE_ENSEMBLES_KERNELS": wish}
    return subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)


def test_never_neither_imports_numba_nor_compiles(tmp_path):
    pytest.importorskip("numba")
    assert run(tmp_path, "never").stdout.split() == ["False", "False"]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("kernels")
def test_part_of_a_large_problem_uses_the_kernels_of_the_whole(monkeypatch):
    room = "napari_shape_ensembles.mmd"
    with forced("compiled"):
        loaded = kernels(room, 0)
    monkeypatch.setattr(compiled, "are_ready", lambda: True)
    assert kernels(room, 100) is None
    with as_part_of(1 << 20):
        assert kernels(room, 100) is loaded is not None
    with as_part_of(200):
        assert kernels(room, 100) is None
    assert kernels(room, 1 << 20) is loaded
