"""Settings as a file: the same choices back, and sentences for what is wrong."""

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from napari_shape_ensembles import Settings
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
)


@hypothesis_settings(max_examples=50, deadline=None)
@given(chosen=choices, smoothing=st.floats(0, 10), objects=st.sampled_from(["bright", "dark"]))
def test_settings_come_back_as_they_were(tmp_path_factory, chosen, smoothing, objects):
    path = tmp_path_factory.mktemp("settings") / "settings.toml"
    written = SettingsFile(chosen, {"objects": objects, "threshold": None}, {"smoothing": smoothing})
    save_settings(path, written)
    assert load_settings(path) == SettingsFile(chosen, {"objects": objects}, {"smoothing": smoothing})


def test_settings_alone_are_the_analysis(tmp_path):
    save_settings(tmp_path / "s.toml", Settings.paper())
    assert load_settings(tmp_path / "s.toml") == SettingsFile(Settings.paper())


def test_what_is_left_out_has_its_default(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text("[analysis]\nrank = 20\nsignificance = 1e-3\n")
    assert load_settings(path).analysis == Settings(rank=20, significance=0.001)
    path.write_text("")
    assert load_settings(path) == SettingsFile()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[analysis]\nrank = 0", "rank is a whole number of at least 1, not 0"),
        ("[analysis]\nrank = 2.5", "rank is int such as 150, not 2.5"),
        ("[analysis]\nrnak = 20", "Settings has no rnak; there are landmarks, rank"),
        ("[analysis]\nreflections = 1", "reflections is bool"),
        ("[analysis]\nmeasure = 'area'", "measure is one of affine, arc-length, not 'area'"),
        ("[analyses]\nrank = 20", r"there is no table \[analyses\]: use \[analysis\]"),
        ("analysis = 3", r"analysis is a table of options, \[analysis\], not 3"),
        ("[analysis", "is no TOML file"),
        ("a = " + "[" * 10_000, "is no TOML file"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"mine\.toml.*{message}"):
        load_settings(path)


def test_files_that_are_no_settings_are_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is no TOML file"):
        load_settings(path)
    path.write_bytes(b"#" * (10**6 + 1))
    with pytest.raises(ValueError, match="larger than 1 MB"):
        load_settings(path)
