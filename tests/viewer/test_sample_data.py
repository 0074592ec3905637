"""*File > Open Sample*: entries and the layers they open."""

from functools import cache
from importlib import import_module

import numpy as np
import pytest
from napari.layers import Image, Labels, Layer, Shapes
from npe2 import PluginManager, PluginManifest
from qtpy.QtCore import QTimer

from napari_shape_ensembles import samples
from napari_shape_ensembles.viewer import sample_data

PLUGIN = "napari-shape-ensembles"
KINDS = {
    "powder": Image,
    "powder_outlines": Shapes,
    "nuclei": Image,
    "nuclei_labels": Labels,
    "cells": Shapes,
    "simulated_fields": Image,
    "simulated_sieving": Image,
    "simulated_treatment": Image,
    "simulated_rolling": Image,
}


@pytest.fixture(autouse=True)
def plugins():
    """Register the samples for viewers without a window."""
    PluginManager.instance().discover()


@cache
def contributions():
    return PluginManifest.from_distribution(PLUGIN).contributions


def imported(python_name):
    module, name = python_name.split(":")
    return getattr(import_module(module), name)


def test_the_menu_lists_every_sample_by_its_title():
    manifest = contributions()
    commands = {command.id: command for command in manifest.commands}
    assert [entry.key for entry in manifest.sample_data] == list(KINDS)
    assert {entry.key for entry in manifest.sample_data} == {*samples.__all__} - {"SamplePair"}
    for entry in manifest.sample_data:
        assert entry.display_name == commands[entry.command].title
        assert imported(commands[entry.command].python_name) is getattr(sample_data, entry.key)


@pytest.mark.parametrize("key", KINDS)
def test_a_pair_becomes_two_layers_side_by_side(key):
    pair = getattr(samples, key)(**({"side": 256} if key.startswith("simulated") else {}))
    assert pair.title == {entry.key: entry.display_name for entry in contributions().sample_data}[key]
    first, second = layers = [Layer.create(*data) for data in sample_data.pair_layers(pair)]
    assert all(type(layer) is KINDS[key] for layer in layers)
    assert (first.name, second.name) == pair.names
    for layer in layers:
        assert layer.ndim == 2
        assert tuple(layer.scale) == (pair.pixel_size, pair.pixel_size)
        assert {str(unit) for unit in layer.units} == {"micrometer" if pair.unit == "µm" else "pixel"}
        assert layer.metadata == {"source": pair.source, "licence": pair.licence}
    below = int(key.startswith("powder"))  # fields wider than high
    assert second.extent.world[0, 1 - below] > first.extent.world[1, 1 - below]


def test_manual_outlines_are_over_their_micrographs(model):
    images, drawn = (model.open_sample(PLUGIN, key) for key in ("powder", "powder_outlines"))
    for image, shapes in zip(images, drawn, strict=True):
        np.testing.assert_array_equal(image.translate, shapes.translate)
        np.testing.assert_array_less(image.extent.world[0], shapes.extent.world[0] + 1)
        np.testing.assert_array_less(shapes.extent.world[1], image.extent.world[1] + 1)


def test_simulating_a_sample_does_not_block_the_event_loop(model, qtbot):
    seen = []
    timer = QTimer()
    timer.timeout.connect(lambda: seen.append(len(model.layers)))
    timer.start(20)
    layers = model.open_sample(PLUGIN, "simulated_fields", side=512)
    assert len(seen) > 10
    assert set(seen) == {0}
    np.testing.assert_array_equal(layers[0].data, samples.simulated_fields(side=512).a)


def test_an_error_while_simulating_is_raised_to_the_caller(model, qtbot):
    with pytest.raises(ValueError, match="negative"):
        model.open_sample(PLUGIN, "simulated_fields", seed=-1)
