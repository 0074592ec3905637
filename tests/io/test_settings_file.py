"""Settings files: round trips, and messages for invalid files."""

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from napari_shape_ensembles import Outlines, Settings
from napari_shape_ensembles.io import SettingsFile, load_settings, save_settings

choices = st.builds(
    Settings,
    landmarks=st.integers(8, 10**6),
    rank=st.integers(1, 10**6),
    significance=st.floats(0, 1, exclude_min=True, exclude_max=True),
    permutations=st.integers(1, 10_000_000),
    archetype=st.sampled_from(["asymmetric", "random", "mean"]) | st.integers(0, 10**6),
    reflections=st.booleans(),
    measure=st.sampled_from(["affine", "arc-length"]),
    registration=st.sampled_from(["standardized", "raw", "none"]),
    coordinates=st.sampled_from(["both", "raw", "normalized"]),
    interpolation=st.sampled_from(["spline", "polygon"]),
    seed=st.integers(0, 2**62),
    bandwidth=st.floats(0.1, 10) | st.lists(st.floats(0.1, 10), min_size=1, unique=True),
    null=st.sampled_from(["permutation", "gamma", "bound"]),
    approximate_above=st.integers(0, 10**6),
    bins=st.integers(0, 10_000),
)
recipes = st.builds(
    Outlines,
    method=st.sampled_from(["otsu", "local", "hysteresis", "boundaries", "superpixels"]),
    objects=st.sampled_from(["bright", "dark"]),
    outline_smoothing=st.floats(0, 10),
    threshold=st.none() | st.floats(-1e6, 1e6),
)


@hypothesis_settings(max_examples=50)
@given(chosen=choices, recipe=recipes)
def test_settings_round_trip(tmp_path_factory, chosen, recipe):
    path = tmp_path_factory.mktemp("settings") / "settings.toml"
    save_settings(path, SettingsFile(chosen, recipe))
    assert load_settings(path) == SettingsFile(chosen, recipe)
    assert Outlines.load(path) == recipe


def test_settings_and_recipe_may_be_saved_separately(tmp_path):
    save_settings(tmp_path / "s.toml", Settings.paper())
    assert load_settings(tmp_path / "s.toml") == SettingsFile(Settings.paper())
    save_settings(tmp_path / "s.toml", Outlines(method="li"))
    assert load_settings(tmp_path / "s.toml") == SettingsFile(outlines=Outlines(method="li"))


def test_missing_values_have_defaults(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text("[analysis]\nrank = 20\nsignificance = 1e-3\n")
    assert load_settings(path).analysis == Settings(rank=20, significance=0.001)
    path.write_text("")
    assert load_settings(path) == SettingsFile()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[analysis]\nrank = 0", "rank must be an integer of at least 1, not 0"),
        ("[analysis]\nrank = 2.5", r"rank must be an integer of at least 1, not 2\.5"),
        ("[analysis]\nrnak = 20", r"\[analysis\] has no option 'rnak'; the options are landmarks, rank"),
        ("[analysis]\nreflections = 1", "reflections must be True or False, not 1"),
        ("[analysis]\nmeasure = 'area'", "measure must be one of affine, arc-length, not 'area'"),
        ("[analyses]\nrank = 20", r"there is no table \[analyses\]: use \[analysis\]"),
        ("analysis = 3", r"analysis must be a table of options, \[analysis\], not 3"),
        ("[outlines]\nmethod = 3", "method must be one of otsu"),
        ("[outlines]\nsmoothing = [1]", r"smoothing must be a number between 0 and 5000 pixels, not \[1\]"),
        ("version = 3\n[outlines]\nmethod = 'otsu'", "its version is 3: this software reads version 2"),
        ("version = 1\n[outlines]\nmethod = 'otsu'", "its version is 1: this software reads version 2"),
        ("[segmentation]\nmethod = 'otsu'", r"there is no table \[segmentation\]: use \[analysis\], \[outlines\]"),
        ("version = 'x'", "its version is 'x'"),
        ("[analysis", "is not a TOML file"),
        ("a = " + "[" * 10_000, "is not a TOML file"),
    ],
)
def test_errors_name_the_file(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"mine\.toml.*{message}"):
        load_settings(path)


def test_files_without_settings_are_rejected(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not a TOML file"):
        load_settings(path)
    path.write_bytes(b"#" * (10**6 + 1))
    with pytest.raises(ValueError, match="larger than 1 MB"):
        load_settings(path)


def test_a_byte_order_mark_is_ignored(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("[analysis]\nrank = 20\n", encoding="utf-8-sig")
    assert load_settings(path).analysis.rank == 20
