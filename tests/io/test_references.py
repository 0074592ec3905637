"""References from files, on the command line and in Python: one recipe for all images, results, exit codes."""

import json
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pandas as pd
import pytest
from skimage.draw import polygon2mask

from command_line import run
from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Reference, Settings
from napari_shape_ensembles.io import read_folder, rerun, write_curves

SPACING = 40


def write_labels(path, seed, size=11.0):
    """Nine blobs on a grid."""
    plane = np.zeros((3 * SPACING,) * 2, dtype=np.uint16)
    for index, outline in enumerate(blobs(9, 60, seed=seed, roughness=0.08, elongation=1.3)):
        outline = outline - outline.mean(axis=0)
        outline *= size / np.sqrt((outline**2).sum(axis=1).mean())
        centre = np.array(divmod(index, 3)) * SPACING + SPACING // 2
        plane[polygon2mask(plane.shape, outline + centre)] = index + 1
    imageio.imwrite(path, plane)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Nineteen accepted images, and three to judge: a usual one, one of small objects, and an empty one."""
    place = tmp_path_factory.mktemp("images")
    (place / "accepted").mkdir()
    (place / "today").mkdir()
    for seed in range(19):
        write_labels(place / "accepted" / f"field_{seed:02}.png", seed)
    write_labels(place / "today" / "usual.png", 52)  # one usual image in twenty is flagged, as that of seed 50 is
    write_labels(place / "today" / "small.png", 51, size=6.0)
    imageio.imwrite(place / "today" / "void.png", np.zeros((60, 60), np.uint16))
    options = ("--labels", "--set", "landmarks=60", "--set", "min_area=30")
    made = run("reference", "make", place / "accepted", "--out", place / "kind.reference.npz", *options)
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("19 images, 171 outlines in pixel (9 to 9 an image); least p 0.05")
    return place


def test_a_folder_is_judged_by_the_recipe_of_the_reference(folder, tmp_path):
    kind = Reference.load(folder / "kind.reference.npz")
    assert (kind.settings, len(kind.inputs.files)) == (Settings(landmarks=60), 19)
    assert kind.inputs.recipe["min_area"] == 30
    judged = run("judge", folder / "kind.reference.npz", folder / "today", "--out", tmp_path, "--in-order")
    assert judged.exit_code == 0, judged.output
    table = pd.read_csv(tmp_path / "judgement.csv").set_index("name")
    assert table["differs"].fillna("").to_dict() == {"small": "scale", "usual": "nothing", "void": ""}
    assert "small: scale differs (p = 0.05): smaller, 0.5" in judged.stdout
    assert "void: not judged: it has no usable outline" in judged.stdout
    assert "control chart: no alarm, 1 of 3 images not charted" in judged.stdout
    answer = json.loads((tmp_path / "judgement.json").read_text(encoding="utf-8"))
    assert [image["name"] for image in answer["images"]] == ["small", "usual", "void"]
    assert answer["images"][2]["p"] == "nan"
    assert pd.read_csv(tmp_path / "chart.csv")["name"].tolist() == ["small", "usual", "void"]
    again = run("judge", folder / "kind.reference.npz", folder / "today", "--out", tmp_path)
    assert again.exit_code == 0, again.output
    assert not (tmp_path / "chart.csv").exists()


@pytest.mark.parametrize(
    ("image", "answers", "code"),
    [
        ("usual.png", ["differs", "inconclusive"], 0),
        ("small.png", ["differs"], 1),
        ("small.png", ["form"], 0),
        ("small.png", ["form", "scale"], 1),
        ("void.png", ["differs"], 0),
        ("void.png", ["inconclusive"], 1),
    ],
)
def test_exit_codes_follow_fail_on(folder, tmp_path, image, answers, code):
    options = [option for answer in answers for option in ("--fail-on", answer)]
    judged = run("judge", folder / "kind.reference.npz", folder / "today" / image, "--out", tmp_path, *options)
    assert judged.exit_code == code, judged.output


def test_another_recipe_than_that_of_the_reference_is_refused(folder, tmp_path):
    arguments = ("judge", folder / "kind.reference.npz", folder / "today", "--out", tmp_path)
    judged = run(*arguments, "--set", "min_area=5")
    assert judged.exit_code == 2
    assert "min_area: images are read by the recipe of the reference" in judged.stderr
    assert "this command has no setting 'rank'" in run(*arguments, "--set", "rank=5").stderr


def test_a_table_names_replicates_and_is_of_one_group(folder, tmp_path):
    images = [f"field_{place:02}.png" for place in range(8)]
    table = pd.DataFrame({"image": [str(folder / "accepted" / one) for one in images], "replicate": [*"aabbccdd"]})
    table.to_csv(tmp_path / "kind.csv", index=False)
    made = run(
        "reference", "make", tmp_path / "kind.csv", "--out", tmp_path / "k.reference.npz", "--set", "landmarks=60"
    )
    assert made.exit_code == 0, made.output
    assert Reference.load(tmp_path / "k.reference.npz").replicates == tuple("aabbccdd")
    assert "4 replicates can show p = 0.2 at best: to show 0.05, 19 are needed." in made.stderr
    table.assign(group=[*"xxxxyyyy"]).to_csv(tmp_path / "two.csv", index=False)
    made = run("reference", "make", tmp_path / "two.csv", "--out", tmp_path / "k.npz")
    assert made.exit_code == 2
    assert "two.csv lists 2 groups (x, y): a reference is of one kind" in made.stderr
    made = run("reference", "make", folder / "accepted" / images[0], "--out", tmp_path / "k.npz")
    assert "give a folder of images, or a table" in made.stderr


def test_a_reference_is_made_again_from_its_files(folder):
    again = rerun(folder / "kind.reference.npz")
    assert again.same, [number for number in again.numbers if number.verdict == "differs"]
    assert {number.name for number in again.numbers} >= {"outlines", "p", "size", "roughness"}
    assert not again.notes


def test_a_reference_of_outlines_is_made_again_from_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    images = [Ensemble(list(blobs(5, 60, seed=seed)), name=f"image_{seed}") for seed in range(4)]
    for image in images:
        write_curves(f"{image.name}.npz", image)
    kind = Reference(read_folder("."), Settings(landmarks=60))
    assert [len(image) for image in kind.images] == [5] * 4
    kind.save("kind.reference.npz")
    again = rerun("kind.reference.npz")
    assert again.same
    assert again.notes == ("the file does not record its inputs: the saved outlines are compared",)
    assert len(read_folder(Path())) == 4  # not the reference itself


def test_other_files_are_no_references(folder, tmp_path):
    judged = run("judge", folder / "accepted" / "field_00.png", folder / "today", "--out", tmp_path)
    assert judged.exit_code == 2
    assert "field_00.png" in judged.stderr
