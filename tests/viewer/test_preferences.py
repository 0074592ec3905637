"""The plugin's section in napari's preferences."""

import pytest
from napari.components import ViewerModel

from napari_shape_ensembles import Settings
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.viewer.choices import PLUGIN, PREFERRED, preferred
from napari_shape_ensembles.viewer.layers import colormap_of
from napari_shape_ensembles.viewer.session import Session

settings = pytest.importorskip("napari.settings")


@pytest.fixture
def preferences():
    if not hasattr(settings, "get_plugin_settings"):
        pytest.skip("this napari keeps no settings for plugins")
    part = settings.get_plugin_settings(PLUGIN).comparison
    before = part.model_dump()
    yield part
    for name, value in before.items():
        setattr(part, name, value)


def test_defaults_are_those_of_the_functions(preferences):
    for name in PREFERRED:
        assert getattr(preferences, name) == getattr(Settings(), name)


def test_a_session_starts_with_the_preferences(preferences):
    preferences.permutations, preferences.significance = 499, 0.05
    settings = Session.of(ViewerModel()).choices.settings
    assert (settings.permutations, settings.significance) == (499, 0.05)


def test_curves_have_the_preferred_colormap(preferences):
    preferences.colormap = "cividis"
    assert colormap_of(COLORINGS["distance_from_mean"]).name == "cividis"


def test_napari_without_plugin_preferences_uses_the_defaults(monkeypatch):
    monkeypatch.delattr(settings, "get_plugin_settings", raising=False)
    assert preferred("rank", 7) == 7
