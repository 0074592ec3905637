"""Comparisons in pieces on Dask: identical results, even if a worker is lost, and the command line."""

import json
import os
import sys

import numpy as np
import pandas as pd
import psutil
import pytest

from command_line import run
from curve_makers import blobs
from napari_shape_ensembles import Comparison, Ensemble, Settings
from napari_shape_ensembles.io import Calibration, save_settings, write_curves
from napari_shape_ensembles.streaming import compare_in_pieces

SETTINGS = Settings(landmarks=40, rank=12, permutations=99, significance=0.05)


def samples(count=150):
    a = Ensemble(list(blobs(count, 50, seed=1)), name="a", unit="µm")
    b = Ensemble(list(blobs(count + 20, 50, seed=2, roughness=0.25)), name="b", unit="µm")
    return a, b


@pytest.fixture
def folders(tmp_path):
    save_settings(tmp_path / "s.toml", SETTINGS)
    for side, seeds in (("a", (1, 2)), ("b", (3, 4))):
        (tmp_path / side).mkdir()
        for seed in seeds:
            curves = list(blobs(20, 40, seed=seed, roughness=0.1 * (side == "b")))
            write_curves(tmp_path / side / f"{seed}.npz", Ensemble(curves, unit="µm"))
    return tmp_path


def test_the_command_line_gives_the_same_result_in_pieces(folders, tmp_path):
    given = (
        "compare",
        folders / "a",
        folders / "b",
        "--groups",
        "--set",
        "permute=curves",
        "--settings",
        folders / "s.toml",
    )
    whole = run(*given, "--out", tmp_path / "whole")
    pieces = run(*given, "--out", tmp_path / "r", "--pieces", tmp_path / "run", "--table", tmp_path / "t.parquet")
    assert (whole.exit_code, pieces.exit_code) == (0, 0), pieces.output
    answer = json.loads((tmp_path / "r" / "comparison.json").read_text(encoding="utf-8"))
    saved = Comparison.load(tmp_path / "whole" / "result.comparison.npz")
    assert answer["case"] == saved.case
    assert answer["undulation"]["mmd"] == pytest.approx(saved.undulation.mmd, rel=1e-9)
    assert [file["sample"] for file in answer["inputs"]["files"]] == [0, 0, 1, 1]
    assert len(pd.read_csv(tmp_path / "r" / "curves.csv")) == 80
    assert sorted(set(pd.read_parquet(tmp_path / "t.parquet")["image"])) == ["1", "2", "3", "4"]
    assert not (tmp_path / "run").exists()


def test_labels_in_ome_zarr_are_compared_tile_by_tile(tmp_path):
    pytest.importorskip("zarr")
    from napari_shape_ensembles.io import write_ome_zarr_labels

    rng = np.random.default_rng(0)
    for name in "ab":
        plane = np.zeros((300, 300), np.int32)
        for place in range(36):
            row, column = 25 + 50 * (place // 6), 25 + 50 * (place % 6)
            height, width = rng.integers(8, 20, 2)
            plane[row - height : row + height, column - width : column + 9] = place + 1
        write_ome_zarr_labels(tmp_path / f"{name}.ome.zarr", plane, Calibration((0.5, 0.5), "µm"))
    save_settings(tmp_path / "s.toml", SETTINGS)
    given = ("compare", tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", "--labels", "--settings", tmp_path / "s.toml")
    done = run(*given, "--pieces", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert "(36 curves) and " in done.stdout
    assert done.stdout == run(*given, "--set", "overrule=true").stdout  # duplicates are detected only here


REFUSED = {
    "dask without pieces": (["--dask", "local"], "--dask needs --pieces"),
    "position": (["--pieces", "{tmp}/run", "--position"], "--position needs all outlines in memory"),
    "polygons of what is not in memory": (["--pieces", "{tmp}/run", "--table", "{tmp}/x.geojson"], "use .csv or"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_incompatible_options_are_rejected(folders, tmp_path, what):
    options, words = REFUSED[what]
    done = run("compare", folders / "a" / "1.npz", folders / "b" / "3.npz", "--settings", folders / "s.toml",
               *(option.format(tmp=tmp_path) for option in options))  # fmt: skip
    assert done.exit_code == 2
    assert words in done.stderr


def test_missing_dask_is_reported(folders, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run(
        "compare", folders / "a" / "1.npz", folders / "b" / "3.npz", "--pieces", tmp_path / "run", "--dask", "local"
    )
    assert done.exit_code == 2
    assert "pip install" in done.stderr


# Dask closes sockets and event loops of killed processes late.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_cluster_that_loses_a_worker_gives_identical_results(cluster, tmp_path):
    here = compare_in_pieces(*samples(60), SETTINGS, rows=12)
    killed = []

    def kill_once(step):
        if step.name.startswith("registering, ") and not killed:
            address, tasks = max(cluster.processing().items(), key=lambda pair: len(pair[1]))
            killed.append(tasks)
            psutil.Process(cluster.run(os.getpid, workers=[address])[address]).kill()

    there = compare_in_pieces(
        *samples(60), SETTINGS, rows=12, folder=tmp_path / "run", executor=cluster, progress=kill_once
    )
    assert killed
    one, other = here.numbers(), there.numbers()
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(np.asarray(one[name]), np.asarray(other[name]), err_msg=name)
