"""Samples compared in pieces: agreement with `compare` for any pieces, and resuming after interruption."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tifffile

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.io.sources import Reading
from napari_shape_ensembles.progress import reporting
from napari_shape_ensembles.streaming import compare_in_pieces, pieces_of

SETTINGS = Settings(landmarks=40, rank=12, permutations=99, significance=0.05)


def samples(count=150, **options):
    a = Ensemble(list(blobs(count, 50, seed=1)), name="a", unit="µm", **options)
    b = Ensemble(list(blobs(count + 20, 50, seed=2, roughness=0.25)), name="b", unit="µm", **options)
    return a, b


def assert_same_numbers(whole, streamed, *, without=()):
    """Agreement to 1e-9 of the maximum of each array."""
    known, found = whole.numbers(), streamed.numbers()
    kept = [
        name for name in known if not name.startswith(("space.parameters", "matches.row", "matches.archetypes_agree"))
    ]
    for name in kept:
        if name in without:
            continue
        one, other = np.asarray(known[name]), np.asarray(found[name])
        if name == "space.singular_values":  # variances are accurate to rounding error
            one, other = one**2, other**2
        if one.dtype.kind == "f":
            scale = max(np.abs(one[np.isfinite(one)]).max(initial=0), 1e-30)
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * scale, err_msg=name)
        else:
            assert one.tolist() == other.tolist(), name


def assert_same_summary(whole, streamed):
    """Agreement except for names: those of a sample in pieces are given."""
    counts = r"\((?:\d+ images?, )?\d+ curves?\)"
    one, other = (result.summary() for result in (whole, streamed))
    assert re.findall(counts, other) == re.findall(counts, one)
    assert re.split(counts, other)[-1] == re.split(counts, one)[-1]


@pytest.fixture(scope="module")
def whole():
    return compare(*samples(pixel_size=0.02), SETTINGS)


@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_results_do_not_depend_on_the_pieces(whole, pieces):
    streamed = compare_in_pieces(*samples(pixel_size=0.02), SETTINGS, rows=-(-170 // pieces))
    assert_same_numbers(whole, streamed)
    assert streamed.case == whole.case


CHOICES = {
    "raw": {"registration": "raw", "archetype": "random"},
    "mean": {"archetype": "mean"},
    "none": {"registration": "none", "coordinates": "both"},
    "index": {"archetype": 100, "reflections": False, "measure": "arc-length"},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_other_settings(choice):
    settings = Settings(landmarks=32, rank=6, permutations=49, **CHOICES[choice])
    a, b = samples(60)
    assert_same_numbers(compare(a, b, settings), compare_in_pieces(a, b, settings, rows=35))


def test_images_are_permuted_and_resampled_to_one_pixel_size():
    curves = list(blobs(96, 60, seed=4) * 12)
    images = [
        Ensemble(curves[12 * place : 12 * place + 12], name="image", unit="µm", pixel_size=0.5 if place < 7 else 1.0)
        for place in range(8)
    ]
    settings = Settings(landmarks=40, rank=6, permutations=99)
    one, other = compare(images[:4], images[4:], settings), compare_in_pieces(images[:4], images[4:], settings, rows=9)
    assert other.permuted == "images"
    assert one.note == other.note
    assert one.image_counts == other.image_counts
    assert_same_numbers(one, other)
    assert_same_summary(one, other)
    one, other = (
        how(images[:4], images[4:], settings, permute="curves", significance=0.05)
        for how in (compare, compare_in_pieces)
    )
    assert "in these images only, " in other.summary()
    assert_same_summary(one, other)


def test_caveats_match_a_comparison_in_memory():
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    radius = 1 + 0.02 * rng.normal(size=(45, 60))
    radius[3, -4:] *= 1.3  # the archetype, which nearly round curves match in several ways
    curves = list(np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=-1))
    samples = (Ensemble(curves[:20], name="a", unit="µm"), Ensemble(curves[20:], name="b", unit="µm"))
    one, other = (how(*samples, SETTINGS, overrule=True) for how in (compare, compare_in_pieces))
    for words in ("Only 20 curves on one side", "almost equally well in two ways"):
        (caveat,) = (said for said in one.warnings if words in said)
        assert caveat in other.warnings


def test_many_curves_are_tested_by_the_projected_kernel(monkeypatch):
    a, b = samples(60)
    expected = compare(a, b, SETTINGS, approximate_above=20)
    found = compare_in_pieces(a, b, SETTINGS, approximate_above=20, rows=35)
    assert_same_numbers(expected, found)
    assert "kernel projected" in " ".join(found.warnings)


def test_the_table_lists_every_curve_and_progress_the_remaining_time():
    a, b = samples(40)
    names = []
    result = compare_in_pieces(a, b, SETTINGS, rows=20, names=("a", "b"), progress=lambda step: names.append(step.name))
    table = result.to_dataframe()
    assert table["sample"].tolist() == ["A"] * 40 + ["B"] * 60
    for name in ("area", "perimeter"):
        np.testing.assert_allclose(table[name], np.concatenate([a.features[name], b.features[name]]), rtol=1e-12)
    assert {"reading outlines", "placing landmarks", "registering", "computing the mean"} <= set(names)
    assert any(name.startswith("registering, about ") and name.endswith(" left") for name in names)
    assert result.summary().startswith("a (40 curves) and b (60 curves): ")
    axes = result.plot()
    parts = len(result.undulation.parts) + len(result.scale.parts)
    assert (len(axes.get_yticklabels()), axes.get_title("left")) == (2 + parts, result.case)


def test_a_cancelled_run_resumes(whole, tmp_path):
    class EnoughError(Exception):
        pass

    def stop(step):
        if step.name.startswith("registering, ") and step.done == 3:
            raise EnoughError

    folder = tmp_path / "run"
    with pytest.raises(EnoughError):
        compare_in_pieces(*samples(pixel_size=0.02), SETTINGS, rows=40, folder=folder, progress=stop)
    placed = {path: path.stat().st_mtime_ns for path in folder.glob("*.placed.npz")}
    registered = {path: path.stat().st_mtime_ns for path in folder.glob("*.registered.npz")}
    assert len(placed) == 9
    assert 3 <= len(registered) < 9
    with pytest.raises(ValueError, match="a run of other inputs, settings"):
        compare_in_pieces(*samples(pixel_size=0.02), SETTINGS, rows=40, folder=folder, rank=7)

    def look(step):
        if step.name.startswith("computing the mean"):
            assert all(path.stat().st_mtime_ns == known for path, known in (placed | registered).items())

    again = compare_in_pieces(*samples(pixel_size=0.02), SETTINGS, rows=40, folder=folder, progress=look)
    assert_same_numbers(whole, again)
    assert not folder.exists()


def test_a_cancelled_run_on_intensity_images_in_tiles_resumes(tmp_path):
    pytest.importorskip("zarr")
    reading = Reading(memory=0.0028)  # GiB, less than they need
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        rows, columns = np.indices((28, 28)) - 13.5
        cells = [
            [np.hypot(rows / rng.uniform(5, 9), columns / rng.uniform(5, 9)) < 1 for _ in range(9)] for _ in "abcdef"
        ]
        image = 90 * np.block(cells) + rng.normal(60, 5, (168, 252))
        tifffile.imwrite(tmp_path / f"{seed}.tif", image.astype(np.uint8), tile=(64, 64))

    def compared(folder, tell):
        pieces = [pieces_of(tmp_path / name, reading=reading) for name in ("1.tif", "2.tif")]
        assert min(map(len, pieces)) > 5
        return compare_in_pieces(*pieces, SETTINGS, folder=tmp_path / folder, progress=tell)

    class EnoughError(Exception):
        pass

    def stop(step):
        if step.name.startswith("registering, ") and step.done == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        compared("stopped", stop)
    known = {path: path.stat().st_mtime_ns for path in (tmp_path / "stopped").glob("*.*ed.npz")}
    assert known

    def look(step):
        if step.name.startswith("computing the mean"):
            assert all(path.stat().st_mtime_ns == time for path, time in known.items())

    result = compared("stopped", look)
    assert_same_numbers(compared("whole", None), result)
    assert len(result.t) > 80


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from streaming.test_streaming import SETTINGS, samples
from napari_shape_ensembles.streaming import compare_in_pieces
compare_in_pieces(*samples(pixel_size=0.02), SETTINGS, rows=10, folder={folder!r})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed otherwise there")
def test_a_run_resumes_after_its_process_was_killed(whole, tmp_path):
    tests = os.path.dirname(os.path.dirname(__file__))
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", KILLED.format(tests=tests, folder=str(folder))])
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*.placed.npz"))) < 5 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    placed = {path: path.stat().st_mtime_ns for path in folder.glob("*.placed.npz")}
    assert len(placed) >= 5

    def look(step):
        if step.name == "registering":
            assert all(path.stat().st_mtime_ns == known for path, known in placed.items())

    with reporting(look):
        again = compare_in_pieces(*samples(pixel_size=0.02), SETTINGS, rows=10, folder=folder)
    assert_same_numbers(whole, again)


def test_a_folder_of_other_files_is_rejected(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ValueError, match="holds other files"):
        compare_in_pieces(*samples(20), SETTINGS, folder=tmp_path)
    assert (tmp_path / "mine.txt").exists()


def test_an_empty_sample_is_reported():
    a, _ = samples(20)
    with pytest.raises(ValueError, match="B has no usable outline"):
        compare_in_pieces(a, Ensemble([], unit="µm"), SETTINGS)
