"""Command line: verdicts, files, exit codes, and error messages instead of tracebacks."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache

import imageio.v3 as imageio
import numpy as np
import pandas as pd
import pytest
import tifffile
from skimage.draw import polygon2mask

import napari_shape_ensembles
from command_line import COMMAND, run
from curve_makers import blobs
from napari_shape_ensembles import Comparison, Ensemble, Outlines, Settings, cli, compare, content_of
from napari_shape_ensembles.archive import write_archive, write_bytes
from napari_shape_ensembles.comparison.answer import in_one_line
from napari_shape_ensembles.console import echo, echo_error
from napari_shape_ensembles.io import (
    Calibration,
    read_curves,
    read_image,
    save_settings,
    write_curves,
    write_ome_zarr_labels,
)
from napari_shape_ensembles.io.outputs import OUTPUT_MANIFEST, recording_outputs, refuse_overwriting
from napari_shape_ensembles.parameters import parameters_of

SPACING = 36


def labels(seed, **options):
    """Labels of blobs on a grid; a new array each time."""
    return drawn_labels(seed, **options).copy()


@cache
def drawn_labels(seed, *, size=9.0, rows=4, stretch=1.0):
    plane = np.zeros((rows * SPACING + 20,) * 2, dtype=np.uint16)
    for index, outline in enumerate(blobs(rows * rows, 60, seed=seed, elongation=1.5)):
        outline = outline - outline.mean(axis=0)
        outline *= size * stretch / np.sqrt((outline**2).sum(axis=1).mean())
        centre = np.array(divmod(index, rows)) * SPACING + SPACING // 2 + 10
        plane[polygon2mask(plane.shape, outline + centre)] = index + 1
    return plane


@pytest.fixture
def quick(tmp_path):
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(landmarks=60, rank=10, permutations=300))
    return path


@pytest.fixture
def images(tmp_path):
    """Two calibrated images of the same kind of blobs, and one of larger blobs."""
    folder = tmp_path / "images"
    folder.mkdir()
    resolution = {"metadata": {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}}
    for name, options in {"one": {}, "two": {}, "large": {"size": 13}}.items():
        image = (labels(len(name) + ord(name[0]), **options) > 0) * 180.0 + np.random.default_rng(0).normal(20, 3)
        tifffile.imwrite(folder / f"{name}.ome.tif", image.astype(np.uint8), ome=True, **resolution)
    return folder


def test_compare_prints_the_verdict_and_writes_the_files(tmp_path, images, quick):
    done = run(
        "compare", images / "one.ome.tif", images / "large.ome.tif", "--settings", quick, "--out", tmp_path / "r"
    )
    assert done.exit_code == 0, done.stderr
    answer = json.loads((tmp_path / "r" / "comparison.json").read_text(encoding="utf-8"))
    first, heading, *rows, last = done.stdout.strip().splitlines()
    assert first == answer["summary"]
    assert heading.split() == ["quantity", "large", "over", "one", "95", "%", "interval", "p", "adjusted", "p"]
    assert [row["quantity"] for row in answer["estimates"]] == [row.split("  ")[0] for row in rows]
    assert last.startswith("One image a side cannot show")
    assert answer["case"] == "1∧0"
    assert answer["scale"]["parts"].keys() == {
        "mean size",
        "size",
        "elongation",
        "direction of elongation",
        "size and elongation",
    }
    # Pixels hide more of the smaller ones; as much is hidden of the larger.
    assert "16 outlines of large were brought to the coarser precision of the others" in " ".join(answer["warnings"])
    assert (answer["a"]["name"], answer["a"]["unit"], answer["a"]["curves"]) == ("one", "µm", 16)
    table = pd.read_csv(tmp_path / "r" / "curves.csv")
    assert table["sample"].tolist() == ["one"] * 16 + ["large"] * 16
    saved = Comparison.load(tmp_path / "r" / "result.comparison.npz")
    assert in_one_line(saved) == answer["summary"]
    assert saved.settings == Settings(landmarks=60, rank=10, permutations=300)
    np.testing.assert_allclose(table["distance_from_mean"], saved.distances["distance_from_mean"])
    assert "one.ome.tif: 16 curves" in done.stderr


@pytest.mark.parametrize(
    ("other", "fail_on", "code"),
    [
        ("large", [], 0),
        ("large", ["differs"], 1),
        ("large", ["scale"], 1),
        ("two", ["undulation"], 0),
        ("large", ["undulation", "scale"], 1),
        ("two", ["differs"], 0),
    ],
)
def test_the_exit_code_follows_fail_on(tmp_path, images, quick, other, fail_on, code):
    options = [part for answer in fail_on for part in ("--fail-on", answer)]
    done = run(
        "compare", images / "one.ome.tif", images / f"{other}.ome.tif", "--settings", quick, "-o", tmp_path, *options
    )
    assert done.exit_code == code, done.output


def test_fail_on_inconclusive_covers_too_few_curves(tmp_path, quick):
    for name, seed in (("a", 1), ("b", 2)):
        write_curves(tmp_path / f"{name}.npz", Ensemble(list(blobs(3, 40, seed=seed))))
    arguments = ("compare", tmp_path / "a.npz", tmp_path / "b.npz", "--settings", quick, "--out", tmp_path / "r")
    assert run(*arguments).exit_code == 0
    assert run(*arguments, "--fail-on", "differs").exit_code == 0
    done = run(*arguments, "--fail-on", "inconclusive")
    assert done.exit_code == 1
    assert "inconclusive" in done.stdout


def test_whole_replicates_of_a_column_are_permuted_and_again_in_a_rerun(tmp_path, quick):
    for name, seed in (("a", 1), ("b", 2)):
        plants = np.repeat(["x", "y", "z"], 4)
        write_curves(tmp_path / f"{name}.csv", Ensemble(list(blobs(12, 40, seed=seed)), unit="µm").assign(plant=plants))
    arguments = "compare", tmp_path / "a.csv", tmp_path / "b.csv", "--settings", quick
    done = run(*arguments)
    assert "compare(a, b, replicate='plant'), on the command line --replicate 'plant'" in done.stderr
    done = run(*arguments, "--replicate", "plant", "-o", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert "a (3 replicates, 12 curves) and b (3 replicates, 12 curves)" in done.stdout
    saved = Comparison.load(tmp_path / "r" / "result.comparison.npz")
    assert (saved.permuted, saved.replicates.tolist()) == ("replicates", np.repeat(np.arange(6), 4).tolist())
    assert run("rerun", tmp_path / "r" / "result.comparison.npz").exit_code == 0
    assert "no column 'site'" in run(*arguments, "--replicate", "site").stderr


def test_folders_are_samples_of_several_images(tmp_path, quick):
    for folder, seeds in (("control", (1, 2)), ("treated", (3, 4))):
        (tmp_path / folder).mkdir()
        for seed in seeds:
            write_curves(tmp_path / folder / f"{seed}.csv", Ensemble(list(blobs(12, 40, seed=seed)), unit="µm"))
        (tmp_path / folder / "notes.txt").write_text("nothing to read")
    done = run(
        "compare", tmp_path / "control", tmp_path / "treated", "--groups", "--settings", quick, "-o", tmp_path / "r"
    )
    assert done.exit_code == 0, done.stderr
    assert "control (2 images, 24 curves) and treated (2 images, 24 curves)" in done.stdout
    assert "by the small-sample test)" in done.stdout
    assert "whole images are permuted" in done.stderr
    assert set(pd.read_csv(tmp_path / "r" / "curves.csv")["image"].astype(str)) == {"1", "2", "3", "4"}


def test_labels_are_used_as_they_are_with_the_given_pixel_size(tmp_path, quick):
    for name, seed in (("a", 1), ("b", 2)):
        imageio.imwrite(tmp_path / f"{name}.png", labels(seed))
    done = run("compare", tmp_path / "a.png", tmp_path / "b.png", "--labels", "--pixel-size", "250,500", "--unit", "nm",
               "--settings", quick, "-o", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    saved = Comparison.load(tmp_path / "r" / "result.comparison.npz")
    assert saved.a.unit == "nm"
    assert saved.a.features["area"].median() == pytest.approx(
        np.median(np.bincount(labels(1).ravel())[1:]) * 125_000, rel=0.05
    )


def test_the_settings_file_sets_segmentation_and_outlines(tmp_path, images):
    (tmp_path / "s.toml").write_text(
        "[analysis]\nlandmarks = 60\nrank = 10\npermutations = 300\n[outlines]\nobjects = 'dark'\nkeep_border = true\n"
    )
    done = run("segment", images / "one.ome.tif", "--settings", tmp_path / "s.toml", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert "one.ome.tif: 1 curve" in done.stdout  # the dark background, which touches the border


@pytest.mark.parametrize("form", ["csv", "geojson"])
def test_segment_writes_labels_and_curves_with_their_scale(tmp_path, images, form):
    done = run("segment", images, "--out", tmp_path / "r", "--format", form)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("16 curves") == 3
    assert "0.5 µm per pixel (OME-TIFF)" in done.stdout
    table = read_curves(tmp_path / "r" / f"one.curves.{form}")
    assert (len(table.ensemble), table.ensemble.unit, table.scale) == (16, "µm", (0.5, 0.5))
    assert table.provenance["image"] == "one"
    written = (tmp_path / "r" / "one.labels.ome.tif", tmp_path / "r" / f"one.curves.{form}")
    again = run("compare", *written, "--labels", "-o", tmp_path / "again")
    assert again.exit_code == 0, again.stderr
    assert "inconclusive: 16 outlines occur twice" in again.stdout
    overruled = run("compare", *written, "--labels", "--set", "overrule=true", "-o", tmp_path / "overruled")
    assert "no difference was detected" in overruled.stdout


@pytest.mark.parametrize("form", ["bogus", "rda"])
def test_an_unknown_curve_format_is_rejected_before_processing(tmp_path, images, form):
    done = run("segment", images, "--out", tmp_path / "r", "--format", form)
    assert done.exit_code != 0
    assert "curves can be saved as .csv, .parquet, .geojson, .geoparquet, .zip, .npz" in " ".join(done.stderr.split())
    assert not list(tmp_path.glob("r/*"))


def test_pairs_compares_all_images_in_a_folder(tmp_path, images, quick):
    done = run("pairs", images, "--settings", quick, "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "r" / "experiment.csv")
    assert len(table) == 3
    cases = {frozenset((a, b)): case for a, b, case in zip(table["a"], table["b"], table["case"], strict=True)}
    assert cases[frozenset(("one", "two"))] == "1∧1"
    assert cases[frozenset(("one", "large"))].endswith("0")  # larger; of form, see tests of precision
    answer = json.loads((tmp_path / "r" / "experiment.json").read_text(encoding="utf-8"))
    assert [one["group"] for one in answer["replicates"]] == ["large", "one", "two"]
    assert answer["summary"] in done.stdout
    assert "large.ome.tif: 16 curves" in done.stderr
    assert (tmp_path / "r" / "superplot.png").stat().st_size > 10_000
    done = run("rerun", tmp_path / "r" / "result.experiment.npz")
    assert done.exit_code == 0, done.stderr


@pytest.mark.usefixtures("blank_files")
def test_landscape_covers_the_given_ranges_in_the_syntax_of_the_docks(tmp_path, images, quick):
    done = run("landscape", images / "one.ome.tif", images / "large.ome.tif", "--ranks", "2:4:2, 6-8:2, 9",
               "--landmarks", "40,60", "--settings", quick, "--out", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "r" / "landscape.csv")
    assert sorted(set(table["rank"])) == [2, 4, 6, 8, 9]
    assert sorted(set(table["landmarks"])) == [40, 60]
    assert (tmp_path / "r" / "landscape.png").exists()


@pytest.mark.usefixtures("blank_files")
def test_smoothing_sweeps_sigma_for_labels(tmp_path, quick):
    for name, seed in (("a", 1), ("b", 2)):
        imageio.imwrite(tmp_path / f"{name}.png", labels(seed))
    done = run("smoothing", tmp_path / "a.png", tmp_path / "b.png", "--labels", "--sigmas", "0:2:1", "--ranks", "4,8",
               "--landmarks", "40", "--settings", quick, "--out", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert sorted(set(pd.read_csv(tmp_path / "r" / "smoothing.csv")["sigma"])) == [0, 1, 2]


def test_a_smoothing_study_rejects_images_of_different_pixel_size(tmp_path, images, quick):
    imageio.imwrite(tmp_path / "plain.png", labels(1).astype(np.uint8) * 5)
    done = run("smoothing", images / "one.ome.tif", tmp_path / "plain.png", "-o", tmp_path / "r")
    assert done.exit_code == 2
    assert "needs one pixel size; give --pixel-size and --unit" in done.stderr


ERRORS = {
    "no file": (["{tmp}/none.png", "{tmp}/none.png"], "there is no file or folder"),
    "a folder": (["{tmp}", "{tmp}"], "with --groups each folder is one sample"),
    "an empty folder": (["{tmp}/empty", "{tmp}/empty", "--groups"], "holds no images and no curves"),
    "pixel size without unit": (["{a}", "{a}", "--pixel-size", "1"], "(on the command line --pixel-size and --unit)"),
    "pixel size of words": (
        ["{a}", "{a}", "--pixel-size", "small", "--unit", "nm"],
        "--pixel-size must be a number above",
    ),
    "pixel size of 0": (["{a}", "{a}", "--pixel-size", "0", "--unit", "nm"], "--pixel-size must be a number above"),
    "a unit of time": (["{a}", "{a}", "--pixel-size", "1", "--unit", "second"], 'of length such as "µm", not "second"'),
    "no settings file": (["{a}", "{a}", "--settings", "{tmp}/none.toml"], "none.toml: check the path"),
    "a bad setting": (["{a}", "{a}", "--settings", "{tmp}/bad.toml"], "rank must be an integer"),
    "an unknown option": (["{a}", "{a}", "--settings", "{tmp}/odd.toml"], "[outlines] has no option 'smooth'"),
    "an option that is none of the file's": (["{a}", "{a}", "--settings", "{tmp}/name.toml"], "has no option 'name'"),
    "an option of a wrong type": (
        ["{a}", "{a}", "--settings", "{tmp}/type.toml"],
        "smoothing must be a number between 0",
    ),
    "a limit of memory that is none": (["{a}", "{a}", "--memory", "-1"], ": memory must be a number of GiB above 0"),
    "too much memory": (["{a}", "{a}", "--settings", "{tmp}/huge.toml"], "not enough memory"),
    "a pixel size without end": (
        ["{a}", "{a}", "--pixel-size", "inf", "--unit", "nm"],
        "--pixel-size must be a number",
    ),
    "a value out of range": (["{a}", "{a}", "--set", "neck=2"], "--set neck must be a number between 0 and 1, not 2.0"),
    "a level that is none": (
        ["{a}", "{a}", "--set", "significance=5"],
        "--set significance must be a number strictly between 0",
    ),
    "a rank that is none": (["{a}", "{a}", "--set", "rank=2.5"], "rank must be an integer of at least 1, not '2.5'"),
    "a switch that is none": (["{a}", "{a}", "--set", "holes=2"], "--set holes must be True or False, not '2'"),
    "an unknown setting": (["{a}", "{a}", "--set", "ranks=3"], "has no setting 'ranks'; do you mean rank?"),
    "a setting without a value": (["{a}", "{a}", "--set", "rank"], "--set rank: write name=value, such as rank=20"),
    "a method that is none": (["{a}", "{a}", "--method", "magic"], "--method must be one of otsu, auto, li"),
    "a method without its threshold": (["{a}", "{a}", "--method", "manual"], 'method "manual" needs a threshold'),
    "a damaged image": (["{tmp}/bad.png", "{a}"], "bad.png is damaged, or not a valid image"),
    "an image of one value": (["{tmp}/flat.png", "{a}"], "flat.png: "),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_print_one_sentence_and_exit_with_2(tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    imageio.imwrite(tmp_path / "a.png", (labels(1) > 0).astype(np.uint8) * 200)
    imageio.imwrite(tmp_path / "flat.png", np.zeros((50, 50), np.uint8))
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "bad.toml").write_text("[analysis]\nrank = 0\n")
    (tmp_path / "name.toml").write_text("[outlines]\nname = 'x'\n")
    (tmp_path / "type.toml").write_text("[outlines]\nsmoothing = [1]\n")
    (tmp_path / "huge.toml").write_text("[analysis]\nlandmarks = 10000000000000\n")
    (tmp_path / "odd.toml").write_text("[outlines]\nsmooth = 1\n")
    filled = [argument.format(tmp=tmp_path, a=tmp_path / "a.png") for argument in arguments]
    done = run("compare", *filled, "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert message in last
    assert not (tmp_path / "r").exists()


def test_landmarks_in_a_file_give_the_same_answer(tmp_path, images, quick):
    pair = ("compare", images / "one.ome.tif", images / "two.ome.tif", "--settings", quick)
    done = run(*pair, "--scratch", tmp_path / "new")  # created, as the folder of --out
    assert done.exit_code == 0, done.stderr
    assert not list((tmp_path / "new").iterdir())
    assert done.stdout == run(*pair).stdout


def test_missing_dask_is_reported_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run("pairs", tmp_path, "--dask", "tcp://nowhere:1", "-o", tmp_path)
    assert done.exit_code == 2
    assert "pip install" in done.stderr


def test_python_m_runs_and_help_lists_every_command():
    done = subprocess.run(
        [sys.executable, "-m", "napari_shape_ensembles", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    for command in ("compare", "segment", "pairs", "landscape", "smoothing"):
        assert command in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal that it can handle")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the child process only ends
def test_a_terminated_run_removes_its_temporary_folders(tmp_path, monkeypatch):
    def terminated():
        with tempfile.TemporaryDirectory(dir=tmp_path):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(cli, "app", terminated)
    if not (child := os.fork()):
        try:
            cli.main()
        except SystemExit as end:
            os._exit(end.code)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + 15
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("blank_files", "blank_figures")
def test_report_explains_a_saved_comparison(tmp_path):
    a, b = (Ensemble(list(blobs(30, 60, seed=seed) * seed), name=str(seed)) for seed in (1, 2))
    saved = tmp_path / "saved.npz"
    compare(a, b, Settings(landmarks=60, rank=10, permutations=300)).save(saved)
    done = run(
        "report", saved, "--out", tmp_path / "why.html", "--figures", tmp_path / "figures", "--dpi", 40, "--proof"
    )
    assert done.exit_code == 0, done.output
    assert "2's outlines are larger" in done.stdout
    assert "Control experiment" in (tmp_path / "why.html").read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "shares.png").exists()
    (tmp_path / "figures" / "shares.png").write_bytes(b"drawn by hand")
    given = ("report", saved, "--out", tmp_path / "why.html", "--figures", tmp_path / "figures")
    refused = run(*given)
    assert refused.exit_code == 2
    assert "shares.png already exists" in refused.stderr
    assert (tmp_path / "figures" / "shares.png").read_bytes() == b"drawn by hand"
    assert run(*given, "--force").exit_code == 0
    assert (tmp_path / "figures" / "shares.png").read_bytes() != b"drawn by hand"
    named = run("report", saved, "--out", tmp_path / "why v1.2")
    assert named.exit_code == 0
    assert (tmp_path / "why v1.2.html").is_file()
    refused = run("report", saved, "--out", tmp_path / "why.txt")
    assert refused.exit_code == 2
    assert "save a report as .html or .pdf" in refused.stderr


@pytest.mark.parametrize("command", ["compare", "landscape", "smoothing", "pairs", "segment", "report"])
def test_an_output_path_that_cannot_be_written_is_rejected_first(tmp_path, command):
    (tmp_path / "file").write_text("x")
    place = tmp_path / "file" / "below" / ("why.html" if command == "report" else "")
    given = {"compare": 2, "landscape": 2, "smoothing": 2}.get(command, 1) * [tmp_path / "none"]
    done = run(command, *given, "--out", place)
    assert done.exit_code == 2
    assert f"{tmp_path / 'file'} is a file: give a folder" in done.stderr
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    done = run(command, *given, "--out", tmp_path / "link" / ("why.html" if command == "report" else ""))
    assert (done.exit_code, "link is a link to a folder that does not exist" in done.stderr) == (2, True)


@pytest.mark.parametrize("ranks", ["inf", "nan", "2.5", "1,inf", "2:3:0.5"])
def test_ranks_are_integers_and_checked_before_reading_files(tmp_path, ranks):
    done = run("landscape", tmp_path / "none", tmp_path / "none", "--ranks", ranks, "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert "error: there is no file" not in done.stderr
    assert isinstance(done.exception, SystemExit)


def test_control_characters_in_file_names_do_not_reach_the_terminal(tmp_path, quick):
    paths = [tmp_path / f"two\nlines \x1b[31m{side}.csv" for side in "ab"]
    for seed, path in enumerate(paths):
        write_curves(path, Ensemble(list(blobs(9, 40, seed=seed)), unit="µm"))
    done = run("compare", *paths, "--settings", quick, "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    # The answer, the table of estimates, why a cell is empty, and what they hold for.
    assert len(done.stdout.splitlines()) == 1 + 1 + 10 + 1 + 1
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep names of files as text")
def test_a_file_name_that_is_not_valid_unicode_is_rejected(tmp_path, quick):
    path = tmp_path / "n\udcff.csv"
    write_curves(path, Ensemble(list(blobs(9, 40)), unit="µm"))
    done = run("compare", path, path, "--settings", quick, "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert "rename it" in done.stderr


@pytest.mark.usefixtures("blank_files")
def test_pairs_tells_images_with_the_same_name_apart(tmp_path, quick):
    (tmp_path / "all").mkdir()
    for seed, name in enumerate(("same.tif", "same.ome.tif")):
        tifffile.imwrite(tmp_path / "all" / name, labels(seed))
    done = run("pairs", tmp_path / "all", "--settings", quick, "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "r" / "replicates.csv")
    assert table["group"].tolist() == ["same.ome.tif", "same.tif"]


def test_pairs_requires_two_images_before_reading_any(tmp_path):
    (tmp_path / "one").mkdir()
    imageio.imwrite(tmp_path / "one" / "a.png", (labels(1) > 0).astype(np.uint8) * 200)
    done = run("pairs", tmp_path / "one", "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert done.stderr == f"error: {tmp_path / 'one'}: all pairs need at least two images, not 1\n"


@pytest.mark.usefixtures("blank_files")
def test_a_landscape_of_folders_permutes_images(tmp_path, quick):
    for side, seed in (("a", 0), ("b", 4)):
        (tmp_path / side).mkdir()
        for number in range(4):
            outlines = Ensemble(list(blobs(12, 40, seed=seed + number)), unit="µm")
            write_curves(tmp_path / side / f"{number}.csv", outlines)
    options = ["--groups", "--ranks", "4", "--landmarks", "40", "--settings", quick, "--set", "significance=0.05"]
    done = run("landscape", tmp_path / "a", tmp_path / "b", *options, "--out", tmp_path / "r")
    assert "note: whole images are permuted" in done.stderr
    (p_value,) = pd.read_csv(tmp_path / "r" / "landscape.csv")["undulation_p_value"]
    assert p_value * 70 == pytest.approx(round(p_value * 70))  # 4 and 4 images can be divided in 70 ways
    done = run("landscape", tmp_path / "a", tmp_path / "b", *options, "--set", "permute=curves", "--out",
               tmp_path / "r")  # fmt: skip
    assert "note: outlines are permuted: the result holds for these images only" in done.stderr


def test_rerun_and_report_say_what_they_got_instead_of_a_comparison(tmp_path):
    done = run("rerun", tmp_path)
    assert done.exit_code == 2
    assert done.stderr == f"error: {tmp_path} is a folder: give a file\n"
    write_archive(tmp_path / "x.npz", "shape-ensembles experiment", 1, {})
    done = run("report", tmp_path / "x.npz", "--out", tmp_path / "r.html")
    assert done.exit_code == 2
    assert "not a valid shape-ensembles comparison file, but a shape-ensembles experiment file" in done.stderr


def test_invalid_experiment_options_are_rejected_before_reading_images(tmp_path):
    design = tmp_path / "design.csv"
    design.write_text("image,group\na.png,a\nb.png,b\n")
    done = run("experiment", design, "--pattern", "{group}_{field}", "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert done.stderr == f"error: {design} is not a folder: with --pattern, give the folder of the images\n"
    done = run("experiment", design, "--correction", "best", "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert "'best' is not one of" in done.stderr


def test_an_existing_table_is_kept_and_the_error_names_the_option(tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        imageio.imwrite(tmp_path / f"{name}.png", labels(seed))
    (tmp_path / "mine.csv").write_text("mine")
    done = run("compare", tmp_path / "a.png", tmp_path / "b.png", "--table", tmp_path / "mine.csv")
    assert done.exit_code == 2
    assert "choose another --table, or use --force" in done.stderr
    assert (tmp_path / "mine.csv").read_text() == "mine"
    done = run("compare", *tmp_path.glob("*.png"), "--out", tmp_path / "r", "--table", tmp_path / "r" / "curves.csv")
    assert done.exit_code == 2
    assert "curves.csv is a file of --out: choose another --table" in done.stderr


@pytest.mark.usefixtures("blank_files")
def test_ranks_that_cannot_be_tested_are_reported(tmp_path, quick):
    path = tmp_path / "a.csv"
    write_curves(path, Ensemble(list(blobs(12, 40)), unit="µm"))
    options = ["--landmarks", "40", "--settings", quick, "--out", tmp_path / "r"]
    done = run("landscape", path, path, "--ranks", "100,200", *options)
    assert "no rank can be tested: they determine at most 23 coordinates of form" in done.stdout


def options_of(command):
    shown = [parameter for parameter in COMMAND.commands[command].params if not parameter.hidden]
    return {option for parameter in shown for option in parameter.opts if option[0] == "-"}


def test_help_is_short_and_help_all_lists_every_setting():
    assert sum(len(options_of(command)) + 1 for command in COMMAND.commands) <= 150
    done = run("compare", "--help")
    assert len(done.stdout.splitlines()) <= 60
    assert "--debug" not in done.stdout
    everything = run("compare", "--help-all").stdout
    assert "--debug" in everything
    for name in (*parameters_of(Outlines), *parameters_of(Settings)):
        assert f"\n  {name}: " in everything
    assert "--debug" not in run("compare", "--help").stdout
    assert "\n  rank: " not in run("landscape", "--help-all").stdout  # which has --ranks


def test_a_command_refuses_settings_that_it_does_not_use(tmp_path):
    for command, places, name in (("segment", 1, "rank"), ("landscape", 2, "rank"), ("smoothing", 2, "landmarks")):
        done = run(command, *[tmp_path / "none.tif"] * places, "--set", f"{name}=9", "--out", tmp_path / "r")
        assert done.exit_code == 2
        assert f"this command has no setting {name!r}" in done.stderr


def test_options_override_the_settings_file(tmp_path, images, quick):
    done = run(
        "compare", images / "one.ome.tif", images / "two.ome.tif", "--settings", quick, "--set", "significance=0.05",
        "--set", "rank=7", "--set", "reflections=false", "--set", "coordinates=raw", "--set", "bandwidth=0.5,1",
        "--set", "archetype=3",
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    saved = Comparison.load(tmp_path / "r" / "result.comparison.npz")
    assert saved.settings == Settings(
        landmarks=60,
        rank=7,
        permutations=300,
        significance=0.05,
        reflections=False,
        coordinates="raw",
        bandwidth=(0.5, 1.0),
        archetype=3,
    )


def test_an_option_without_effect_is_rejected(tmp_path, images):
    pair = images / "one.ome.tif", images / "two.ome.tif"
    done = run("compare", *pair, "--set", "threshold=50")
    assert done.exit_code == 2
    assert "threshold has no effect with these settings, it is for method manual, hysteresis, level: " in done.stderr
    (tmp_path / "manual.toml").write_text('[outlines]\nmethod = "manual"\nthreshold = 90\n', encoding="utf-8")
    given = "--settings", tmp_path / "manual.toml", "--set", "threshold=60", "--out", tmp_path / "r"
    done = run("segment", pair[0], *given)
    assert done.exit_code == 0, done.stderr
    done = run("compare", *pair, "--set", "bandwidth=0.5")
    assert "bandwidth has no effect with these settings, it is for any coordinates except components" in done.stderr


def test_the_recipe_can_be_given_by_options_alone(tmp_path, images):
    given = "threshold=60", "split-touching=none", "objects=dark", "keep_border=true"
    settings = [part for setting in given for part in ("--set", setting)]
    done = run("segment", images / "one.ome.tif", "--method", "manual", *settings, "--pixel-size", "2,3",
               "--unit", "nm", "--out", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "one.ome.tif: 1 curve" in done.stdout  # the dark background
    assert read_curves(tmp_path / "r" / "one.curves.csv").scale == (2, 3)


def test_the_automatic_method_uses_one_recipe_for_all_images(tmp_path, images):
    """Dark blobs, also under uneven illumination: the groups share one recipe, and the file records it."""
    for name, light in (("one", 0), ("two", 60)):
        dark = 255.0 - read_image(images / f"{name}.ome.tif").pixels
        uneven = np.clip(dark * 0.7 + np.linspace(0, light, dark.shape[1]), 0, 255).astype(np.uint8)
        tifffile.imwrite(tmp_path / f"{name}.tif", uneven)
    pair = tmp_path / "one.tif", tmp_path / "two.tif"
    done = run("compare", *pair, "--method", "auto", "--set", "permutations=99", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    said = next(line for line in done.stderr.splitlines() if "one recipe" in line)
    assert "the best of several tried on 2 images" in said
    assert "dark" in said
    assert all(f"{name}.tif: 16 curves" in done.stderr for name in ("one", "two")), done.stderr
    recipe = Comparison.load(tmp_path / "r" / "result.comparison.npz").inputs.recipe
    assert recipe["objects"] == "dark"
    assert parameters_of(Outlines)["method"].shown(recipe["method"]) in said
    again = run("rerun", tmp_path / "r" / "result.comparison.npz")
    assert again.exit_code == 0, again.stdout
    # Outlines that exist already need no recipe.
    done = run("compare", tmp_path / "r" / "curves.csv", tmp_path / "r" / "curves.csv", "--method", "auto")
    assert "one recipe" not in done.stderr
    # An image for which no recipe finds outlines is reported.
    tifffile.imwrite(tmp_path / "blank.tif", np.zeros((50, 50), np.uint8))
    done = run("compare", tmp_path / "one.tif", tmp_path / "blank.tif", "--method", "auto", "--out", tmp_path / "no")
    assert "blank.tif: every pixel is 0: objects cannot be told from background" in done.stderr


def test_one_recipe_for_all_images_is_the_default_and_another_can_be_given(images, quick):
    pair = images / "one.ome.tif", images / "two.ome.tif"
    for options, found in (((), True), (("--method", "otsu"), False)):
        done = run("compare", *pair, "--settings", quick, *options)
        assert ("note: one recipe for all images, the best of several" in done.stderr) == found


def test_debug_shows_the_traceback(tmp_path):
    arguments = ("compare", tmp_path / "none.png", tmp_path / "none.png", "--out", tmp_path / "r")
    assert "Traceback" not in run(*arguments).stderr
    done = run(*arguments, "--debug")
    assert done.exit_code == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert "files_of" in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("error: there is no file")


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--ranks", "8-3", 'error: --ranks: "8-3" is an empty range'),
        ("--landmarks", "4,50", "error: --landmarks: 4 is too small: use at least 8"),
        ("--sigmas", "a", 'error: --sigmas: "a" is not a number or range'),
    ],
)
def test_an_invalid_range_is_reported_with_its_option(tmp_path, option, text, words):
    done = run("smoothing", tmp_path / "none", tmp_path / "none", option, text, "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert words in done.stderr


def some_curves(path, seed=1, **options):
    write_curves(path, Ensemble(list(blobs(12, 40, seed=seed)), unit="µm", **options))
    return path


@pytest.mark.parametrize("command", ["compare", "landscape", "pairs"])
def test_results_are_not_written_over_the_inputs(tmp_path, quick, command):
    name = {"compare": "curves.csv", "landscape": "landscape.csv", "pairs": "experiment.csv"}[command]
    places = [tmp_path] if command == "pairs" else [tmp_path / name, tmp_path / "other.csv"]
    for seed, path in enumerate((tmp_path / name, tmp_path / "other.csv")):
        some_curves(path, seed)
    before = (tmp_path / name).read_bytes()
    done = run(command, *places, "--out", tmp_path)
    assert done.exit_code == 2
    assert f"{name} is an input and would be overwritten: choose another --out, or use --force" in done.stderr
    assert (tmp_path / name).read_bytes() == before
    if command == "compare":
        assert run(command, *places, "--out", tmp_path, "--settings", quick, "--force").exit_code == 0
        assert (tmp_path / name).read_bytes() != before


def test_only_unmodified_outputs_are_overwritten(tmp_path, quick):
    a, b, out = some_curves(tmp_path / "a.csv", 1), some_curves(tmp_path / "b.csv", 2), tmp_path / "r"
    arguments = ("compare", a, b, "--settings", quick, "--out", out)
    assert run(*arguments).exit_code == run(*arguments).exit_code == 0
    table = out / "curves.csv"
    table.write_text(table.read_text(encoding="utf-8") + "a note of mine\n", encoding="utf-8")
    done = run(*arguments)
    assert done.exit_code == 2
    assert "curves.csv already exists and is not as a run left it" in done.stderr
    assert "a note of mine" in table.read_text(encoding="utf-8")
    assert run(*arguments, "--force").exit_code == 0
    (tmp_path / "precious.html").write_text("mine")
    done = run("report", out / "result.comparison.npz", "--out", tmp_path / "precious.html")
    assert done.exit_code == 2
    assert (tmp_path / "precious.html").read_text() == "mine"


def test_images_with_the_same_name_get_separate_output_files(tmp_path):
    (tmp_path / "images").mkdir()
    for name in ("cell.tif", "cell.png", "cell.ome.tif", "other.png"):
        imageio.imwrite(tmp_path / "images" / name, (labels(1) > 0).astype(np.uint8) * 200)
    done = run("segment", tmp_path / "images", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    stems = {path.name.removesuffix(".curves.csv") for path in (tmp_path / "r").glob("*.curves.csv")}
    assert stems == {"cell.tif", "cell.ome.tif", "other"}
    assert "left out (cell.png)" in done.stderr  # the same image in another format
    (tmp_path / "more").mkdir()
    imageio.imwrite(tmp_path / "more" / "other.png", (labels(2) > 0).astype(np.uint8) * 200)
    done = run("segment", tmp_path / "images" / "other.png", tmp_path / "more" / "other.png", "--out", tmp_path / "s")
    assert {path.name for path in (tmp_path / "s").glob("*.csv")} == {
        "images-other.curves.csv", "more-other.curves.csv"
    }  # fmt: skip


@pytest.mark.usefixtures("blank_files")
def test_outputs_are_not_used_as_inputs_of_the_next_run(tmp_path, quick):
    for seed in (1, 2):
        imageio.imwrite(tmp_path / f"{seed}.png", (labels(seed) > 0).astype(np.uint8) * 200)
    first = run("segment", tmp_path, "--out", tmp_path)
    again = run("segment", tmp_path, "--out", tmp_path)
    assert first.exit_code == again.exit_code == 0, again.stderr
    assert first.stdout == again.stdout
    for _ in range(2):
        done = run("pairs", tmp_path, "--settings", quick, "--out", tmp_path)
        assert done.exit_code == 0, done.stderr
        assert pd.read_csv(tmp_path / "replicates.csv")["group"].tolist() == [1, 2]


def test_labels_and_curves_of_one_image_are_compared_once(tmp_path, quick):
    for side, seed in (("a", 1), ("b", 2)):
        (tmp_path / side).mkdir()
        imageio.imwrite(tmp_path / f"{side}.png", (labels(seed) > 0).astype(np.uint8) * 200)
        assert run("segment", tmp_path / f"{side}.png", "--out", tmp_path / side).exit_code == 0
    for options in ([], ["--labels"]):
        done = run("compare", tmp_path / "a", tmp_path / "b", "--groups", "--settings", quick, *options, "-o",
                   tmp_path / "r")  # fmt: skip
        assert "a (16 curves) and b (16 curves)" in done.stdout, done.stderr


def test_files_with_the_same_name_are_distinguished_by_folder(tmp_path, quick):
    for folder in ("wild", "mutant"):
        (tmp_path / folder).mkdir()
        some_curves(tmp_path / folder / "xy001c1.csv", len(folder), name="xy001c1")
    places = tmp_path / "wild" / "xy001c1.csv", tmp_path / "mutant" / "xy001c1.csv"
    done = run("compare", *places, "--settings", quick, "--out", tmp_path / "r")
    assert "wild-xy001c1 (12 curves) and mutant-xy001c1 (12 curves)" in done.stdout


def test_labels_written_for_a_mask_match_the_curve_ids(tmp_path):
    plane = np.zeros((60, 120), np.uint8)
    for place in range(3):
        plane[20:50, 10 + 35 * place : 35 + 35 * place] = 255
    imageio.imwrite(tmp_path / "x.png", plane)
    done = run("segment", tmp_path / "x.png", "--labels", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    written = tifffile.imread(tmp_path / "r" / "x.labels.ome.tif")
    ensemble = read_curves(tmp_path / "r" / "x.curves.csv").ensemble
    centres = [tuple(curve.mean(axis=0).round().astype(int)) for curve in ensemble.curves]
    assert [int(written[centre]) for centre in centres] == ensemble.ids.tolist() == [1, 2, 3]


def test_labels_in_ome_zarr_are_inspected_and_compared(tmp_path):
    pytest.importorskip("zarr")
    plane, size = labels(3).astype(np.int32), Calibration((0.5, 0.25), "µm")
    photo = np.clip((plane > 0) * 150.0 + np.random.default_rng(0).normal(20, 3, plane.shape), 0, 255).astype(np.uint8)
    write_ome_zarr_labels(tmp_path / "a.ome.zarr", plane, size)
    write_ome_zarr_labels(tmp_path / "b.ome.zarr", np.roll(plane, 1, axis=0), size)
    imageio.imwrite(tmp_path / "photo.png", photo)
    out = tmp_path / "r"
    done = run("inspect", tmp_path / "a.ome.zarr", "--image", tmp_path / "photo.png", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert sorted(pd.read_csv(out / "a.suspects.csv")["label"]) == np.unique(plane[plane > 0]).tolist()
    done = run("annotators", tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert read_image(out / "consensus.tif").calibration.scale == size.scale


def test_labels_beyond_32_bits_keep_their_ids(tmp_path):
    plane = np.zeros((80, 120), np.int64)
    values = [5, 5 + 2**32, 2**40]
    for place, value in enumerate(values):
        plane[20:50, 10 + 35 * place : 35 + 35 * place] = value
    np.save(tmp_path / "x.npy", plane)
    done = run("segment", tmp_path / "x.npy", "--labels", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    written = tifffile.imread(tmp_path / "r" / "x.labels.ome.tif")
    table = pd.read_csv(tmp_path / "r" / "x.ids.csv")
    assert table["id"].tolist() == values
    renumbered = dict(zip(table["label"], table["id"], strict=True)) | {0: 0}
    np.testing.assert_array_equal(np.vectorize(renumbered.get)(written), plane)
    assert read_curves(tmp_path / "r" / "x.curves.csv").ensemble.ids.tolist() == values


def test_the_memory_limit_can_be_raised(tmp_path, quick):
    a = some_curves(tmp_path / "a.csv")
    arguments = ("compare", a, a, "--settings", quick, "--out", tmp_path / "r")
    done = run(*arguments, "--memory", "0.0001")
    assert done.exit_code == 2
    assert "a.csv: would take" in done.stderr
    assert "--memory" in done.stderr
    assert run(*arguments, "--memory", "1").exit_code == 0


def test_names_in_tables_are_not_formulas(tmp_path, quick):
    bad = '=HYPERLINK("x")'
    for side, seed in (("a", 1), ("b", 2)):
        some_curves(tmp_path / f"{side}.csv", seed, name=bad, ids=[f"+{i}x" for i in range(12)])
    run("compare", tmp_path / "a.csv", tmp_path / "b.csv", "--settings", quick, "--out", tmp_path / "r")
    cells = pd.read_csv(tmp_path / "r" / "curves.csv", dtype=str).to_numpy().ravel()
    assert not [cell for cell in cells if str(cell)[0] in "=+@" or (str(cell)[0] == "-" and str(cell)[1:2].isalpha())]


def design_files(folder, **columns):
    """Curves of six images, and a table of their design."""
    for seed in range(6):
        one = Ensemble([(1 + (seed > 2)) * curve for curve in blobs(12, 40, seed=seed)], unit="µm")
        write_curves(folder / f"{'drug' if seed > 2 else 'ctrl'}_{seed}.csv", one)
    table = pd.DataFrame({"image": sorted(path.name for path in folder.glob("*.csv")), **columns})
    table.to_csv(folder / "design.csv", index=False)
    return folder / "design.csv"


@pytest.mark.usefixtures("blank_files")
def test_an_experiment_is_written_as_tables_figures_and_json(tmp_path, quick):
    design = design_files(tmp_path, group=["a"] * 3 + ["b"] * 3, dose=[0, 1, 2, 5, 6, 7])
    done = run("experiment", design, "--settings", quick, "--out", tmp_path / "r", "--control", "a")
    assert done.exit_code == 0, done.stderr
    assert "note: a and b: 3 and 3 images cannot reach p ≤ 0.025 by permutation" in done.stderr
    assert "b against a (by the small-sample test" in done.stdout
    assert {path.name for path in (tmp_path / "r").iterdir() if path.name[0] != "."} == {
        *("experiment.csv", "effects.csv", "variance.csv", "planning.csv", "replicates.csv", "experiment.json"),
        *("superplot.png", "superplot.svg", "trend_with_dose.png", "trend_with_dose.svg", "result.experiment.npz"),
    }
    assert "With dose: " in done.stdout
    assert "with probability 0.8" in done.stdout
    row = pd.read_csv(tmp_path / "r" / "experiment.csv").iloc[0]
    assert (row["case"], row["decided_by"], row["scale_least_p"]) == ("1∧0", "small-sample", pytest.approx(0.1))
    assert row["scale_low"] < 2 < row["scale_high"]
    answer = json.loads((tmp_path / "r" / "experiment.json").read_text(encoding="utf-8"))
    assert set(answer["tests"]) == {"omnibus", "trend with dose"}
    assert answer["table"][0]["scale_p"] == pytest.approx(row["scale_p"])


@pytest.mark.parametrize("command", ["report", "rerun", "inspect"])
def test_a_missing_file_is_reported_in_one_sentence(tmp_path, command):
    np.save(tmp_path / "labels.npy", labels(1))
    missing = tmp_path / "missing.comparison.npz"
    arguments = {
        "report": (missing, "--out", tmp_path / "r.html"),
        "rerun": (missing,),
        "inspect": (tmp_path / "labels.npy", "--ticks", missing, "--out", tmp_path / "r"),
    }
    done = run(command, *arguments[command])
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"error: there is no file or folder {missing}: check the path"


@pytest.mark.parametrize("content", [b"PK\x03\x04\x14\x00\x06\x00", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"])
def test_a_binary_file_is_rejected_as_design_or_pixel_sizes(tmp_path, content):
    (tmp_path / "design.xlsx").write_bytes(content)
    a = some_curves(tmp_path / "a.csv")
    for arguments in (
        ("experiment", tmp_path / "design.xlsx"),
        ("compare", a, a, "--pixel-sizes", tmp_path / "design.xlsx"),
    ):
        done = run(*arguments, "--out", tmp_path / "r")
        assert done.exit_code == 2
        assert done.stderr == "error: design.xlsx is a binary file, not a text table: save the table as CSV\n"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ending", ["tif", "npy"])
def test_complex_images_are_rejected(tmp_path, ending):
    path, plane = tmp_path / f"field.{ending}", (labels(1) * (1 + 1j)).astype(np.complex64)
    np.save(path, plane) if ending == "npy" else tifffile.imwrite(path, plane)
    for arguments in (("compare", path, path), ("segment", path), ("segment", path, "--labels"), ("inspect", path)):
        done = run(*arguments, "--out", tmp_path / "r")
        assert done.exit_code == 2
        assert "field." + ending + ": its pixels are complex numbers: save their magnitude" in done.stderr
    assert content_of(plane) == "grey"


@pytest.mark.usefixtures("blank_files")
def test_outputs_of_an_earlier_design_are_removed_but_no_other_files(tmp_path, quick):
    design = design_files(tmp_path, group=["a", "a", "b", "b", "c", "c"], dose=range(6), time=range(6))
    out = tmp_path / "r"
    arguments = ("experiment", design, "--settings", quick, "--out", out)
    assert run(*arguments).exit_code == 0
    earlier = {"distance.csv", "distances.png", "distances.svg", "trend_with_time.png", "trend_with_time.svg"}
    assert earlier < {path.name for path in out.iterdir()}
    (out / "trend_with_time.svg").write_text("<svg>redrawn</svg>")
    (out / "trend_with_me.txt").write_text("mine")
    pd.read_csv(design).assign(group=["a"] * 3 + ["b"] * 3).drop(columns="time").to_csv(design, index=False)
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    left = {path.name for path in out.iterdir()}
    assert left & earlier == {"trend_with_time.svg"}  # which was altered, and is therefore kept
    assert {"trend_with_me.txt", "trend_with_dose.png", "superplot.png", "planning.csv"} < left
    assert "distance.csv" not in json.loads((out / OUTPUT_MANIFEST).read_text(encoding="utf-8"))["files"]


@pytest.mark.usefixtures("blank_files")
def test_a_forced_run_does_not_claim_files_it_did_not_write(tmp_path, quick):
    design, out = design_files(tmp_path, group=["a"] * 3 + ["b"] * 3), tmp_path / "r"
    out.mkdir()
    (out / "distance.csv").write_text("mine")
    for _ in range(2):
        done = run("experiment", design, "--settings", quick, "--out", out, "--force")
        assert done.exit_code == 0, done.stderr
        assert (out / "distance.csv").read_text() == "mine"
    assert "distance.csv" not in json.loads((out / OUTPUT_MANIFEST).read_text(encoding="utf-8"))["files"]


def test_curves_of_an_earlier_run_in_another_format_are_removed(tmp_path):
    np.save(tmp_path / "x.npy", (labels(1) > 0) * np.uint8(200))
    np.save(tmp_path / "y.npy", (labels(2) > 0) * np.uint8(200))
    out = tmp_path / "r"
    assert run("segment", tmp_path / "x.npy", tmp_path / "y.npy", "--out", out).exit_code == 0
    (out / "x.curves.zip").write_text("mine")
    assert run("segment", tmp_path / "x.npy", "--out", out, "--format", "geojson").exit_code == 0
    kept = {path.name for path in out.glob("*.curves.*")}
    assert kept == {"x.curves.geojson", "x.curves.zip", "y.curves.csv"}


def test_the_list_of_missing_objects_of_an_earlier_run_is_removed(tmp_path):
    np.save(tmp_path / "x.npy", labels(1).astype(np.uint16))
    arguments = ("inspect", tmp_path / "x.npy", "--out", tmp_path / "r")
    np.save(tmp_path / "seen.npy", (labels(1) > 0) * np.uint8(200))
    assert run(*arguments, "--image", tmp_path / "seen.npy").exit_code == 0
    assert (tmp_path / "r" / "x.missing.csv").is_file()
    assert run(*arguments).exit_code == 0
    assert {path.name for path in (tmp_path / "r").glob("*.csv")} == {"x.suspects.csv"}


def test_an_aborted_run_leaves_the_files_of_the_run_before(tmp_path):
    def write(folder, content, fails=False):
        with recording_outputs(folder, ["a.csv", "b.csv", "mine.csv"]) as written:
            write_bytes(folder / "a.csv", content)
            if fails:
                raise OSError("the disk is full")
            write_bytes(folder / "b.csv", content)
            written += [folder / "a.csv", folder / "b.csv"]

    (tmp_path / "mine.csv").write_text("mine")
    write(tmp_path, b"before")
    names = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(OSError, match="disk"):
        write(tmp_path, b"after", fails=True)
    assert {path.name for path in tmp_path.iterdir()} == names == {"a.csv", "b.csv", "mine.csv", OUTPUT_MANIFEST}
    assert (tmp_path / "a.csv").read_bytes() == b"before"
    refuse_overwriting([tmp_path / "a.csv", tmp_path / "b.csv"])
    write(tmp_path, b"after")
    refuse_overwriting([tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(ValueError, match=r"mine\.csv already exists"):
        refuse_overwriting([tmp_path / "mine.csv"])
    # What a killed run left: removed once it is a day old, if it is of a file of these runs.
    drafts = [tmp_path / f".{name}.0123abcd.part" for name in ("a.csv", "b.csv", "other.csv")]
    for draft in drafts:
        draft.write_text("half")
    for draft in drafts[1:]:
        os.utime(draft, (0, 0))
    write(tmp_path, b"again")
    assert [draft.name for draft in drafts if draft.exists()] == [".a.csv.0123abcd.part", ".other.csv.0123abcd.part"]


@pytest.mark.usefixtures("blank_files")
def test_an_experiment_reads_its_design_from_file_names(tmp_path, quick):
    design_files(tmp_path).unlink()
    done = run("experiment", tmp_path, "--pattern", "{group}_{replicate}", "--settings", quick, "-o", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert pd.read_csv(tmp_path / "r" / "experiment.csv")["contrast"].tolist() == ["drug - ctrl"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"condition": "a"}, "no column 'group'"),
        ({"group": ["a", None, "b", "b", "b", "b"]}, "column 'group' of the design is empty in row 2"),
        ({"group": "a", "image": [f"{i}.csv" for i in range(6)]}, "6 images not found, such as"),
        ({"group": "a", "image": ["ctrl_0.csv"] * 6}, "ctrl_0.csv is in more than one row"),
    ],
)
def test_an_invalid_design_is_reported(tmp_path, quick, columns, words):
    done = run("experiment", design_files(tmp_path, **columns), "--settings", quick, "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert words in done.stderr


@pytest.mark.usefixtures("blank_files")
@pytest.mark.parametrize(
    ("command", "stopped_at"),
    [
        ("compare", "napari_shape_ensembles.io.results.write_table"),
        ("landscape", "napari_shape_ensembles.studies.figures.plot_landscape"),
        ("segment", "napari_shape_ensembles.io.segmented.write_bytes"),
        ("annotators", "napari_shape_ensembles.io.corrected.write_labels"),
    ],
)
def test_a_run_interrupted_while_writing_leaves_nothing(tmp_path, images, monkeypatch, command, stopped_at):
    quick = {
        "compare": ["--set", "landmarks=50", "--set", "permutations=99"],
        "landscape": ["--landmarks", "50", "--ranks", "5", "--set", "permutations=99"],
    }.get(command, [])
    files = [images / "one.ome.tif", images / "two.ome.tif"]
    if command == "annotators":
        files = [tmp_path / f"{name}.png" for name in ("one", "two")]
        for path in files:
            imageio.imwrite(path, labels(3))
    given = [command, *files, "--out", tmp_path / "r", *quick]

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(stopped_at, interrupt)
        assert run(*given).exit_code != 0
    assert not [*(tmp_path / "r").glob("*")]  # the files of a run are written together
    done = run(*given)
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "count", "left"), [("inspect", 1, "one.suspects.csv"), ("annotators", 2, "pairs.csv")]
)
def test_a_failed_write_keeps_the_previous_table(tmp_path, monkeypatch, command, count, left):
    files = [tmp_path / f"{name}.png" for name in ("one", "two")[:count]]
    for path in files:
        imageio.imwrite(path, labels(3))
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / left).write_text("old")
    monkeypatch.setattr("napari_shape_ensembles.archive.os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    done = run(command, *files, "--out", tmp_path / "r", "--force")
    assert done.exit_code == 2
    assert (tmp_path / "r" / left).read_text() == "old"


@pytest.mark.parametrize("margin", ["-1", "0", "nan"])
def test_an_invalid_margin_is_rejected_before_writing(tmp_path, quick, margin):
    design = design_files(tmp_path, group=["a"] * 3 + ["b"] * 3)
    done = run("experiment", design, "--settings", quick, "--out", tmp_path / "r", "--margin", margin)
    assert done.exit_code == 2
    assert f"--margin {margin}: give a positive ratio" in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_closed_output_pipe_is_ignored(monkeypatch, name):
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, name, stream)
        for _ in range(3):
            (echo if name == "stdout" else echo_error)("a line")


@pytest.mark.usefixtures("blank_files")
def test_an_experiment_compares_two_time_points_of_stacks(tmp_path, quick):
    for dish in range(3):
        stack = np.stack([labels(dish), labels(dish, size=12)])
        tifffile.imwrite(tmp_path / f"dish{dish}.tif", stack, photometric="minisblack")
    rows = [f"dish{dish}.tif,{time},{'ab'[time]},dish{dish}" for dish in range(3) for time in range(2)]
    (tmp_path / "design.csv").write_text("\n".join(["image,plane,group,block", *rows]), encoding="utf-8")
    given = ("--labels", "--settings", quick, "--out", tmp_path / "r")
    done = run("experiment", tmp_path / "design.csv", *given)
    assert done.exit_code == 0, done.stderr
    assert "dish0.tif plane 1: " in done.stderr
    row = pd.read_csv(tmp_path / "r" / "experiment.csv").iloc[0]
    assert (row["scale_n_replicates"], row["scale_least_p"]) == (6, pytest.approx(0.25))


def test_an_intensity_image_given_as_labels_gets_a_note(tmp_path):
    image = np.random.default_rng(0).normal(100, 20, (60, 60)).clip(0, 255).astype(np.uint8)
    imageio.imwrite(tmp_path / "photo.png", image)
    imageio.imwrite(tmp_path / "mask.png", labels(3))
    noted = run("inspect", tmp_path / "photo.png", "--out", tmp_path / "r")
    assert "note: photo.png looks like an intensity image: is it the image instead of the labels?" in noted.stderr
    assert (noted.exit_code, "gray levels, not labels: segment the image first" in noted.stderr) == (2, True)
    assert "note: " not in run("inspect", tmp_path / "mask.png", "--out", tmp_path / "r").stderr


def test_labels_cannot_be_inspected_with_themselves_as_image(tmp_path):
    imageio.imwrite(tmp_path / "labels.png", labels(3))
    done = run("inspect", tmp_path / "labels.png", "--image", tmp_path / "labels.png", "--out", tmp_path / "r")
    assert done.exit_code == 2
    assert "is given as labels and as image: give the image that was segmented, or omit it" in done.stderr


def test_files_without_labels_are_reported(tmp_path):
    imageio.imwrite(tmp_path / "empty.png", 0 * labels(3))
    imageio.imwrite(tmp_path / "labels.png", labels(3))
    for command in (("inspect",), ("annotators", tmp_path / "labels.png")):
        done = run(*command, tmp_path / "empty.png", "--out", tmp_path / command[0])
        assert done.exit_code == 0
        assert "note: empty.png has no labels: every pixel is 0" in done.stderr


def test_empty_labels_are_not_mistaken_for_an_intensity_image(tmp_path):
    plane = labels(3)
    imageio.imwrite(tmp_path / "empty.png", 0 * plane)
    imageio.imwrite(tmp_path / "photo.png", (plane > 0).astype(np.uint8) * 200)
    done = run("inspect", tmp_path / "empty.png", "--image", tmp_path / "photo.png", "--out", tmp_path / "r")
    assert done.exit_code == 0
    assert "without a label" not in done.stdout
    assert "looks like an intensity image" not in done.stderr
    assert "note: objects without a label are recognized by those with one: there are none" in done.stderr


def test_inspect_ranks_labels_lists_missing_objects_and_learns_from_ticks(tmp_path):
    plane = labels(3, rows=6)
    image = np.clip((plane > 0) * 150.0 + np.random.default_rng(0).normal(20, 3, plane.shape), 0, 255).astype(np.uint8)
    rows, columns = (int(places.mean()) for places in np.nonzero(plane == 8))
    plane[rows - 1 : rows + 2, columns - 1 : columns + 2] = 0
    plane[plane == 20] = 0
    imageio.imwrite(tmp_path / "mask.png", plane)
    imageio.imwrite(tmp_path / "photo.png", image)
    pd.DataFrame({"label": [8, 1], "status": ["right", "wrong"]}).to_csv(tmp_path / "ticks.csv", index=False)
    done = run("inspect", tmp_path / "mask.png", "--image", tmp_path / "photo.png", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert "8: " in done.stdout.splitlines()[1]
    assert "hole: 1 of 9 px" in done.stdout
    assert "1 object without a label" in done.stdout
    table = pd.read_csv(tmp_path / "r" / "mask.suspects.csv", keep_default_na=False)
    assert sorted(table["label"]) == np.unique(plane[plane > 0]).tolist()
    assert len(pd.read_csv(tmp_path / "r" / "mask.missing.csv")) == 1
    assert "scores are ranks, and no probabilities, until 10" in done.stdout
    swapped = run("inspect", tmp_path / "photo.png", "--image", tmp_path / "mask.png", "--out", tmp_path / "w")
    assert (swapped.exit_code, "exchange the two" in swapped.stderr) == (2, True)
    again = run("inspect", tmp_path / "mask.png", "--ticks", tmp_path / "ticks.csv", "--out", tmp_path / "s")
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines()[0].endswith("so far 1 and 1")
    table = pd.read_csv(tmp_path / "s" / "mask.suspects.csv", keep_default_na=False)
    assert (table["label"].iloc[0], table["label"].iloc[-1]) == (1, 8)
    (tmp_path / "ticks.csv").write_bytes(b"label;status\r\n8;right\r\n1;wrong\r\n")  # as saved by Excel
    run("inspect", tmp_path / "mask.png", "--ticks", tmp_path / "ticks.csv", "--out", tmp_path / "e")
    assert (tmp_path / "e" / "mask.suspects.csv").read_bytes() == (tmp_path / "s" / "mask.suspects.csv").read_bytes()
    tifffile.imwrite(tmp_path / "negative.tif", np.where(plane == 8, -1, plane.astype(np.int16)))
    noted = run("inspect", tmp_path / "negative.tif", "--out", tmp_path / "n")
    assert f"{(plane == 8).sum()} pixels with negative labels are treated as background" in noted.stderr
    for content, words in (
        (b"", "ticks.csv is not a CSV table"),
        (b"label,status\n8,maybe\n", "with ticks.csv: label 8 is"),
    ):
        (tmp_path / "ticks.csv").write_bytes(content)
        refused = run("inspect", tmp_path / "mask.png", "--ticks", tmp_path / "ticks.csv", "--out", tmp_path / "t")
        assert refused.exit_code == 2
        assert words in refused.stderr


def test_annotators_are_compared_and_a_consensus_is_written(tmp_path):
    plane = labels(3)
    fewer, larger = plane.copy(), plane.copy()
    fewer[plane == 8] = 0
    row, column = (int(places.min()) for places in np.nonzero(plane == 8))
    larger[row - 1 : row + 8, column - 1 : column + 8] = 8
    for name, one in (("ada", plane), ("ben", fewer), ("cem", larger)):
        tifffile.imwrite(
            tmp_path / f"{name}.tif", one.astype(np.uint16), resolution=(2, 2), metadata={"unit": "um"}, imagej=True
        )
    files = [tmp_path / f"{name}.tif" for name in ("ada", "ben", "cem")]
    done = run("annotators", *files, "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert "3 annotators" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[1].startswith("8: ")
    assert "marked by 2 of 3: ada, cem" in done.stdout.splitlines()[1]
    consensus = read_image(tmp_path / "r" / "consensus.tif")
    assert len(np.unique(consensus.pixels)) == len(np.unique(plane))
    assert (consensus.calibration.scale, consensus.calibration.unit) == ((0.5, 0.5), "µm")
    objects = pd.read_csv(tmp_path / "r" / "objects.csv")
    assert objects.loc[objects["ada"] == 8, "ben"].tolist() == [0]
    for table in ("pairs", "tendencies", "disputed"):
        assert len(pd.read_csv(tmp_path / "r" / f"{table}.csv"))
    imageio.imwrite(tmp_path / "eva.png", plane)
    tifffile.imwrite(
        tmp_path / "fay.tif", plane.astype(np.uint16), resolution=(4, 4), metadata={"unit": "um"}, imagej=True
    )
    done = run("annotators", tmp_path / "eva.png", tmp_path / "fay.tif", files[0], "--out", tmp_path / "t")
    assert read_image(tmp_path / "t" / "consensus.tif").calibration.scale == (0.25, 0.25)
    assert "state different pixel sizes: the consensus has 0.25 µm per pixel" in done.stderr
    imageio.imwrite(tmp_path / "dan.png", plane[:-1])
    for given, words in (
        ([files[0]], "two label sets or more, not 1"),
        ([files[0], files[0]], "ada.tif is given twice: give one file per annotator"),
        ([files[0], tmp_path / "dan.png"], "(dan) and "),
    ):
        refused = run("annotators", *given, "--out", tmp_path / "s")
        assert refused.exit_code == 2
        assert words in refused.stderr


def test_labels_are_recognized_and_intensity_images_rejected_as_labels(tmp_path, real_data):
    labels = next(path for path in sorted(real_data.rglob("*label*.png")))
    grey = tmp_path / "grey.tif"
    tifffile.imwrite(grey, np.random.default_rng(0).integers(0, 255, (60, 60), np.uint8))
    said = run("segment", labels, "--out", tmp_path / "a")
    assert "holds labels and is not segmented" in said.stderr
    refused = run("segment", grey, "--labels", "--out", tmp_path / "b")
    assert refused.exit_code == 2
    assert "gray levels, not labels: omit --labels" in refused.stderr


def test_labels_in_an_archive_are_used_as_labels(tmp_path, quick):
    for name, seed in (("a", 1), ("b", 2)):
        np.savez_compressed(tmp_path / f"{name}.npz", labels=labels(seed))
    done = run("compare", tmp_path / "a.npz", tmp_path / "b.npz", "--labels", "--settings", quick, "-o", tmp_path / "r")
    assert "a (16 curves) and b (16 curves)" in done.stdout, done.stderr
    np.savez(tmp_path / "two.npz", one=labels(1), other=labels(2))
    done = run("segment", tmp_path / "two.npz", "--labels", "--out", tmp_path / "s")
    assert done.exit_code == 2
    assert "two.npz: holds 2 planes of labels: save one per file" in done.stderr


def test_labels_in_an_archive_are_recognized_without_the_option(tmp_path, quick):
    for name, seed in (("a", 1), ("b", 2)):
        np.savez(tmp_path / f"{name}.npz", masks=labels(seed), ids=np.arange(3))
    done = run("compare", tmp_path / "a.npz", tmp_path / "b.npz", "--settings", quick, "-o", tmp_path / "r")
    assert "a (16 curves) and b (16 curves)" in done.stdout, done.stderr
    assert "a.npz holds labels and is not segmented" in done.stderr


def test_an_unsupported_file_error_lists_the_supported_formats(tmp_path):
    (tmp_path / "x.doc").write_text("")
    said = run("compare", tmp_path / "x.doc", tmp_path / "x.doc", "-o", tmp_path / "r").stderr
    for ending in (".tif", ".npy", ".ang.gz", ".h5", ".csv", ".rda", ".npz"):
        assert ending in said
    said = run("segment", tmp_path / "x.doc", "-o", tmp_path / "r").stderr
    assert ".ang.gz" in said
    assert ".tif" in said
    assert ".csv" not in said  # which `segment` does not read
    (tmp_path / "maps").mkdir()
    said = run("segment", tmp_path / "maps", "-o", tmp_path / "r").stderr
    assert "holds no images (.tif" in said
    assert ".ang.gz" in said
    assert ".h5)" not in said


@pytest.mark.usefixtures("orix")
def test_a_folder_of_maps_is_segmented_into_grains(tmp_path, real_data):
    (tmp_path / "maps").mkdir()
    shutil.copy(real_data / "ebsd_sdss" / "sdss_ferrite_austenite.ang.gz", tmp_path / "maps" / "m.ang.gz")
    done = run("segment", tmp_path / "maps", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert "m.ang.gz: " in done.stdout
    assert len(read_curves(tmp_path / "r" / "m.curves.csv").ensemble) > 5


def test_without_out_the_verdict_is_printed_and_nothing_written(tmp_path, quick, monkeypatch):
    for name, seed in (("a", 1), ("b", 2)):
        write_curves(tmp_path / f"{name}.npz", Ensemble(list(blobs(12, 40, seed=seed)), name=name))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = run("compare", "a.npz", "b.npz", "--settings", quick)
    assert done.exit_code == 0
    assert " a (12 curves) and b (12 curves): " in done.stdout.splitlines()[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_version():
    done = run("--version")
    assert (done.exit_code, done.stdout.strip()) == (0, napari_shape_ensembles.__version__)
    assert run().exit_code == 2  # help, as above
