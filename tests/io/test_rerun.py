"""Rerunning saved results: inputs are found by path or checksum, and every number is compared."""

import json
import shutil
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
import tifffile
from skimage.draw import disk, ellipse

from command_line import run
from curve_makers import blobs
from napari_shape_ensembles import Comparison, Ensemble, Outlines, Settings, compare
from napari_shape_ensembles.io import read_image, rerun, save_settings, write_curves
from napari_shape_ensembles.io.rerun import find_inputs

QUICK = Settings(landmarks=40, rank=6, permutations=99)


def image(seed, *, stretch=1.0):
    """Twenty-five bright ellipses on a dark background."""
    rng, plane = np.random.default_rng(seed), np.zeros((210, 210), np.uint8)
    for row in range(5):
        for column in range(5):
            size = rng.uniform(8, 11)
            centre = 25 + 40 * row, 25 + 40 * column
            plane[ellipse(*centre, size * stretch, size, rotation=rng.uniform(0, 3))] = 200
            plane[disk((centre[0] + size * 0.8, centre[1]), size / 2)] = 200
    return plane


@pytest.fixture(scope="module")
def folder(tmp_path_factory, blank_savefig):
    """Two images, their comparison by the command line, and an experiment of six images."""
    place = tmp_path_factory.mktemp("rerun")
    save_settings(place / "s.toml", QUICK)
    (place / "images").mkdir()
    for number in range(6):
        plane = image(number, stretch=1 + 0.3 * (number > 2))
        tifffile.imwrite(place / "images" / f"{number}.tif", plane)
    images = [place / "images" / f"{number}.tif" for number in (0, 5)]
    done = run("compare", *images, "--settings", place / "s.toml", "--out", place / "pair")
    assert done.exit_code == 0, done.stderr
    rows = [{"image": f"images/{number}.tif", "group": "ab"[number > 2], "dose": number} for number in range(6)]
    pd.DataFrame(rows).to_csv(place / "design.csv", index=False)
    with blank_savefig():
        done = run("experiment", place / "design.csv", "--settings", place / "s.toml", "--out", place / "all")
    assert done.exit_code == 0, done.stderr
    return place


@pytest.fixture
def copied(folder, tmp_path):
    """A copy whose files can be moved and changed; its results refer to the original location."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_comparison_is_reproduced_from_its_images(folder):
    done = run("rerun", folder / "pair" / "result.comparison.npz")
    assert done.exit_code == 0, done.output
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("case: same: ")
    assert any(line.startswith("outlines.a: same: ") for line in lines)
    assert any(line.startswith("undulation.parts.coarse form.p_value: same: ") for line in lines)
    assert lines[-1] == f"All {len(lines) - 1} numbers are reproduced."
    assert done.stderr == ""


def test_inputs_are_stored_with_checksums_recipe_and_versions(folder):
    result = Comparison.load(folder / "pair" / "result.comparison.npz")
    assert [file.sample for file in result.inputs.files] == [0, 1]
    assert result.inputs.recipe["method"] != "auto"  # the one that it found
    assert {"numpy", "scipy", "scikit-image", "napari-shape-ensembles"} <= set(result.versions)
    found, notes = find_inputs(result.inputs)
    assert [path.name for path in found] == ["0.tif", "5.tif"]
    assert notes == []


def test_moved_images_are_found_by_checksum_and_missing_ones_reported(copied, folder):
    saved = copied / "pair" / "result.comparison.npz"
    result = Comparison.load(saved)
    moved = folder.with_name("moved")
    folder.rename(moved)
    try:
        (copied / "images" / "0.tif").rename(copied / "images" / "renamed.tif")
        again = rerun(saved, folder=copied / "images")
        assert again.same
        assert f"0.tif was found by its checksum: {copied / 'images' / 'renamed.tif'}" in again.notes
        (copied / "images" / "renamed.tif").unlink()
        found, notes = find_inputs(result.inputs, copied)
        assert found[0] is None
        assert notes[0] == f"{folder / 'images' / '0.tif'} was not found"
        again = rerun(saved, folder=copied)
        assert again.same  # from the outlines stored in the file
        assert "the saved outlines are compared" in again.notes[-1]
        done = run("rerun", copied / "all" / "result.experiment.npz", "--inputs", copied)
        assert done.exit_code == 0, done.output
        assert "0.tif was not found" in done.output
        assert "the saved outlines are compared" in done.output
    finally:
        moved.rename(folder)


def test_a_changed_image_is_detected(folder, copied):
    path = folder / "images" / "5.tif"
    kept = path.read_bytes()
    try:
        tifffile.imwrite(path, image(77))
        again = rerun(folder / "pair" / "result.comparison.npz")
        assert any("its checksum differs" in note for note in again.notes)
        assert again.same
        assert again.inputs_changed
        assert "reproduced from the saved outlines, but not from the files" in again.summary()
        assert run("rerun", folder / "pair" / "result.comparison.npz").exit_code == 1
    finally:
        path.write_bytes(kept)


def test_an_experiment_is_reproduced_from_its_design_and_images(folder):
    done = run("rerun", folder / "all" / "result.experiment.npz")
    assert done.exit_code == 0, done.output
    assert "table.undulation_p: same: " in done.stdout
    assert "test of dose.scale.p: same: " in done.stdout


def edited(path, name, change):
    """Change an array in an archive."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    entries[name] = change(entries[name])
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)


def test_a_differing_number_is_reported_with_its_location(copied):
    saved = copied / "pair" / "result.comparison.npz"

    def another(content):
        return content[:-8] + np.array(7.5).tobytes()

    edited(saved, "coordinates/l.npy", another)
    done = run("rerun", saved)
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("coordinates.l")]
    assert "coordinates.l: differs: " in line
    assert "1 of 150 values, most at [49, 2]: 7.5, now" in line
    assert done.stdout.strip().endswith("numbers differ from those that were saved.")

    def rounded(content):
        values = np.load(BytesIO(content)) * (1 + 1e-12)
        np.save(changed := BytesIO(), values)
        return changed.getvalue()

    edited(saved, "coordinates/t.npy", rounded)
    verdicts = {number.name: number.verdict for number in rerun(saved).numbers}
    assert verdicts["coordinates.t"] == "same to rounding"


def test_differing_versions_are_reported(copied):
    saved = copied / "pair" / "result.comparison.npz"

    def older(content):
        manifest = json.loads(content)
        manifest["data"]["versions"]["numpy"] = "1.0"
        return json.dumps(manifest).encode()

    edited(saved, "manifest.json", older)
    assert any(note.startswith("numpy was 1.0 and is ") for note in rerun(saved).notes)


def test_arrays_and_folders_of_curves_are_reproduced(tmp_path):
    a, b = (Ensemble(list(blobs(12, 40, seed=seed)), unit="µm") for seed in (1, 2))
    compare(a, b, QUICK).save(tmp_path / "one.comparison.npz")
    again = rerun(tmp_path / "one.comparison.npz")
    assert again.same
    assert "does not record its inputs" in again.notes[0]
    for side, seeds in (("a", (1, 2)), ("b", (3, 4))):
        (tmp_path / side).mkdir()
        for seed in seeds:
            write_curves(tmp_path / side / f"{seed}.csv", Ensemble(list(blobs(12, 40, seed=seed)), unit="µm"))
    save_settings(tmp_path / "s.toml", QUICK)
    done = run("compare", tmp_path / "a", tmp_path / "b", "--groups", "--settings", tmp_path / "s.toml",
               "-o", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert rerun(tmp_path / "r" / "result.comparison.npz").same


def outlines_of(path):
    read, recipe = read_image(path), Outlines(method="otsu")
    labels, size = recipe.labels(read.pixels), read.calibration
    return recipe.trace(labels, scale=size.scale, unit=size.unit, name=read.name)


def test_rerunning_resamples_images_of_unequal_pixel_size(tmp_path):
    for number, (side, every) in enumerate([("a", 1), ("a", 2), ("b", 1), ("b", 1)]):
        (tmp_path / side).mkdir(exist_ok=True)
        place, per_um = tmp_path / side / f"{number}.tif", (2 / every, 2 / every)
        plane = image(number)[::every, ::every]
        tifffile.imwrite(place, plane, imagej=True, resolution=per_um, metadata={"unit": "um"})
    save_settings(tmp_path / "s.toml", QUICK)
    done = run("compare", tmp_path / "a", tmp_path / "b", "--groups", "--settings", tmp_path / "s.toml",
               "--set", "method=otsu", "-o", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "were brought to the coarser precision of the others: finer detail is not compared" in done.stderr
    saved = tmp_path / "r" / "result.comparison.npz"
    expected = compare(*([outlines_of(path) for path in sorted((tmp_path / side).iterdir())] for side in "ab"), QUICK)
    assert Comparison.load(saved).note == expected.note
    assert Comparison.load(saved).scale.mmd == pytest.approx(expected.scale.mmd, rel=1e-9)
    assert rerun(saved).same


def test_a_file_without_a_result_is_rejected(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"nothing")
    done = run("rerun", tmp_path / "x.npz")
    assert done.exit_code == 2
    assert "x.npz" in done.stderr
