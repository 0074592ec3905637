"""Saved comparisons: exact round trips, and rejection of invalid files."""

import json
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curve_makers import blobs, ragged_blobs
from napari_shape_ensembles import Comparison, Ensemble, Settings, ShapeSpace, compare
from napari_shape_ensembles.comparison.records import mmd_test_of, mmd_test_tree
from napari_shape_ensembles.outlines.reasons import Reason
from napari_shape_ensembles.parameters import from_tree

QUICK = {"landmarks": 40, "rank": 8, "permutations": 50}


def run_comparison(count=6, *, settings=None, **options):
    a = Ensemble(
        ragged_blobs(count, seed=1, fewest=30, most=60),
        name="one <µm>",
        unit="µm",
        dropped={Reason("small", 15.0): 3, Reason("border"): 1},
        pixel_size=(0.5, 0.25),
        metadata={"well": "B2", "passage": np.arange(count)},
        tracing={"outline_smoothing": 1.5, "min_area": 16, "keep_border": False, "smoothing_unit": "pixel"},
    )
    b = Ensemble(list(blobs(count + 1, 40, seed=2)), name="two", unit="µm", **options)
    return compare(a, b, settings or Settings(**QUICK))


def assert_same(one, other, where="comparison"):
    if isinstance(one, float):  # NumPy's float64 is a float, too
        assert repr(float(one)) == repr(float(other)), where
        return
    assert type(one) is type(other), where
    if is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, ShapeSpace):
        assert_same(vars(one), vars(other), where)
    elif isinstance(one, Ensemble):
        assert one.metadata.equals(other.metadata), where
        for name in ("vertices", "offsets", "ids", "name", "unit", "dropped", "images", "pixel_size", "tracing"):
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        assert one.tobytes() == other.tobytes(), where
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for place, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{place}]")
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key}]")
    else:
        assert one == other, where


def reopened(result, path):
    result.save(path)
    return Comparison.load(path)


def test_a_comparison_round_trips_exactly(tmp_path):
    result = run_comparison()
    again = reopened(result, tmp_path / "one.comparison.npz")
    assert_same(result, again)
    assert again.summary() == result.summary()
    assert again.warnings == result.warnings
    assert again.distances.equals(result.distances)
    rebuilt = again.space.reconstruct(again.t, again.l)
    assert rebuilt.tobytes() == result.space.reconstruct(result.t, result.l).tobytes()


@settings(max_examples=25)
@given(
    count=st.integers(1, 4),
    archetype=st.sampled_from(["asymmetric", "random", "mean", 0]),
    coordinates=st.sampled_from(["both", "raw", "normalized"]),
    registration=st.sampled_from(["standardized", "raw", "none"]),
    ids=st.sampled_from([None, "text", "large", "real"]),
    seed=st.integers(0, 2**31),
)
def test_every_kind_of_comparison_round_trips(tmp_path_factory, count, archetype, coordinates, registration, ids, seed):
    chosen = Settings(**QUICK, archetype=archetype, coordinates=coordinates, registration=registration, seed=seed)
    numbers = np.arange(count + 1)
    kinds = {"text": numbers.astype(str), "large": numbers - 2**60, "real": numbers / 3}
    result = run_comparison(count, settings=chosen, ids=kinds.get(ids))
    assert_same(result, reopened(result, tmp_path_factory.mktemp("saved") / "x"))


def test_images_of_one_sample_remain_separate(tmp_path):
    one, two, three = (Ensemble(list(blobs(5, 40, seed=seed)), name=f"image {seed}") for seed in (1, 2, 3))
    result = compare([one, two], three, Settings(**QUICK))
    again = reopened(result, tmp_path / "x")
    assert again.a.images.tolist() == ["image 1"] * 5 + ["image 2"] * 5
    assert_same(result, again)


def test_versions_are_those_of_the_computation(tmp_path):
    result = run_comparison()
    object.__setattr__(result, "versions", {"numpy": "0.1"})
    assert reopened(result, tmp_path / "x").versions == {"numpy": "0.1"}


def test_numpy_numbers_in_settings_are_saved(tmp_path):
    result = run_comparison(settings=Settings(**QUICK | {"rank": np.int64(8)}, archetype=np.int64(3)))
    assert reopened(result, tmp_path / "x").settings.archetype == 3


def changed(path, change):
    """The same file with modified manifest or arrays."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(entries["manifest.json"])
    change(manifest["data"], entries)
    entries["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def removed(name):
    return lambda data, entries: entries.pop(name)


def swapped(one, other):
    return lambda data, entries: entries.update({one: entries[other]})


def replaced(name, value):
    def change(data, entries):
        *way, last = name.split("/")
        for part in way:
            data = data[part]
        data[last] = value

    return change


def poisoned(name):
    """Replace the last number by NaN."""

    def change(data, entries):
        entries[name] = entries[name][:-8] + np.array(np.nan).tobytes()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (removed("a/vertices.npy"), "vertices is missing"),
        (swapped("a/offsets.npy", "b/offsets.npy"), "offsets of its curves do not fit"),
        (swapped("coordinates/t.npy", "coordinates/l.npy"), "t holds float64 values of shape"),
        (swapped("a/ids.npy", "b/ids.npy"), "ids holds"),
        (replaced("settings/landmarks", 2), "landmarks must be an integer of at least 8"),
        (replaced("settings/landmarks", "many"), "landmarks must be an integer of at least 8, not 'many'"),
        (replaced("settings/reflections", "no"), "reflections must be True or False"),
        (replaced("settings/colour", 1), "Settings has no option 'colour'; the options are landmarks"),
        (replaced("undulation/p_value", "small"), "p_value is not a number: 'small'"),
        (replaced("undulation/rejected", 1), "rejected is missing, or not a bool"),
        (replaced("settings", []), "settings is missing, or not a dict"),
        (replaced("scale/parts", {"raw": 1}), "raw is missing, or not a dict"),
        (poisoned("coordinates/t.npy"), "1 t are NaN or infinite"),
        (poisoned("space/scale_mean.npy"), "1 scale_mean are NaN or infinite"),
        (poisoned("scale/null.npy"), "1 null are NaN or infinite"),
        (replaced("a", []), "conflicts with"),
        (replaced("a/dropped", [3]), "damaged"),
        (replaced("a/unit", 3), "unit is missing, or not a str"),
    ],
)
def test_a_file_that_no_comparison_can_have_written_is_rejected(tmp_path, change, message):
    path = tmp_path / "odd.comparison.npz"
    run_comparison().save(path)
    changed(path, change)
    with pytest.raises(ValueError, match=rf"odd\.comparison\.npz.*{message}"):
        Comparison.load(path)


def test_curves_of_nan_are_rejected(tmp_path):
    path = tmp_path / "odd"
    run_comparison().save(path)

    def poison(data, entries):
        entries["a/vertices.npy"] = entries["a/vertices.npy"][:-8] + np.array(np.nan).tobytes()

    changed(path, poison)
    with pytest.raises(ValueError, match="1 vertices are NaN or infinite"):
        Comparison.load(path)


def test_a_result_is_not_saved_under_the_name_of_a_table(tmp_path):
    with pytest.raises(ValueError, match=r"x\.csv: a result is saved as \.npz"):
        run_comparison().save(tmp_path / "x.csv")
    assert not [*tmp_path.iterdir()]


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "x"
    result = run_comparison()
    result.save(path)
    with pytest.raises(ValueError, match=r"view.* holds object values"):
        run_comparison().save(path, view={"odd": np.array([None])})
    assert_same(Comparison.load(path), result)


@pytest.mark.parametrize("null", ["permutation", "gamma"])
@pytest.mark.parametrize("coordinates", ["both", "raw"])
def test_several_kernel_widths_are_saved_with_part_names(tmp_path, coordinates, null):
    result = run_comparison(settings=Settings(**QUICK, bandwidth=(0.5, 1.0), coordinates=coordinates, null=null))
    again = reopened(result, tmp_path / "one.comparison.npz")
    assert "raw, s = 0.5 × median" in again.undulation.parts
    assert_same(result, again)


def test_parts_of_older_files_are_named_by_their_key():
    tree = mmd_test_tree(run_comparison(settings=Settings(**QUICK, coordinates="both")).undulation)
    for part in tree["parts"].values():
        del part["name"]
    assert list(mmd_test_of(tree).parts) == ["raw", "normalized"]


def test_settings_that_are_not_a_table_are_rejected():
    with pytest.raises(ValueError, match="Settings must be a table of names and values, not 3"):
        from_tree(Settings, 3)
