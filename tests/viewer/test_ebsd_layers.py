"""EBSD orientation maps in napari: opened by name, as layers of one size and unit."""

import gzip

import npe2
import pytest
from napari.components import ViewerModel

from napari_shape_ensembles.viewer.files import reader
from napari_shape_ensembles.viewer.inputs import symbol
from napari_shape_ensembles.viewer.splitting import split_options

pytestmark = pytest.mark.usefixtures("orix")


@pytest.fixture
def viewer():
    npe2.PluginManager.instance().discover()
    return ViewerModel()


def test_a_map_opens_as_colors_quality_phases_and_grains(tmp_path, viewer, real_data):
    path = tmp_path / "sdss.ang"
    path.write_bytes(gzip.decompress((real_data / "ebsd_sdss" / "sdss_ferrite_austenite.ang.gz").read_bytes()))
    layers = viewer.open(path, plugin="napari-shape-ensembles")
    assert [layer.name for layer in layers] == ["sdss IPF z", "sdss iq", "sdss phases", "sdss grains"]
    for layer in layers:
        assert layer.scale.tolist() == [1.5, 1.5]
        assert {symbol(unit) for unit in layer.units} == {"µm"}
    assert layers[0].rgb
    assert layers[3].data.max() == 113
    titles = [way.title for way in split_options(layers[3], viewer.layers, viewer.dims)]
    assert "Values of phase (2)" in titles


def test_other_files_are_left_to_other_readers():
    assert reader("x.tif") is None
    assert reader(["x.ang", "x.tif"]) is None


def test_an_invalid_map_adds_no_layer(tmp_path, viewer):
    (tmp_path / "x.ang").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"x\.ang is damaged"):
        viewer.open(tmp_path / "x.ang", plugin="napari-shape-ensembles")
    assert not viewer.layers
