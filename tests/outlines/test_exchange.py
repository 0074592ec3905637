"""Outlines from and to objects of other libraries; metadata of curves."""

import importlib.util

import matplotlib.path
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Outlines, at_pixel_size, extract_curves, repair
from napari_shape_ensembles.io import read_curves, write_curves
from napari_shape_ensembles.outlines.reasons import NOT_POLYGON, PARTS

SQUARE = np.array([(0.0, 0.0), (0.0, 4.0), (2.0, 4.0), (2.0, 0.0)])  # two rows high, four columns wide


def annotated(count=6):
    columns = {"well": [f"B{i}" for i in range(count)], "replicate": np.arange(count), "dose": 0.5, "control": True}
    return Ensemble(list(blobs(count, 30)), name="field 1", unit="µm", metadata=columns, pixel_size=0.5)


def test_a_table_has_one_row_per_curve():
    table = annotated().to_dataframe()
    assert table.columns.tolist()[:6] == ["id", "image", "well", "replicate", "dose", "control"]
    assert table["image"].unique().tolist() == ["field 1"]
    pd.testing.assert_frame_equal(table[["id", "area", "solidity"]], annotated().features[["id", "area", "solidity"]])


@given(mask=st.lists(st.booleans(), min_size=6, max_size=6))
def test_metadata_follow_indexing(mask):
    ensemble = annotated()
    rows = np.flatnonzero(mask)
    for index in (mask, np.array(mask), rows, rows.tolist(), pd.Series(mask).to_numpy()):
        chosen = ensemble[index]
        assert chosen.ids.tolist() == rows.tolist()
        assert chosen.metadata["replicate"].tolist() == rows.tolist()
        assert all((a == ensemble[i]).all() for a, i in zip(chosen.curves, rows, strict=True))
    assert ensemble[::-1].metadata["well"].tolist() == ["B5", "B4", "B3", "B2", "B1", "B0"]


def test_metadata_are_kept_by_all_operations(tmp_path):
    ensemble = annotated()
    for other in (ensemble.to("nm"), at_pixel_size(ensemble, 0.55), repair(ensemble), ensemble.assign(batch=2)):
        assert other.metadata["well"].tolist() == ensemble.metadata["well"].tolist()
        assert other.name == "field 1"
    left_out = Ensemble([SQUARE, np.zeros((3, 2)), SQUARE + 9], metadata={"well": ["a", "b", "c"]})
    assert left_out.metadata["well"].tolist() == ["a", "c"]
    with_gaps = ensemble + Ensemble([SQUARE], name="other", unit="µm", metadata={"well": ["C1"], "note": ["new"]})
    assert with_gaps.metadata["well"].tolist()[-2:] == ["B5", "C1"]
    assert with_gaps.metadata["note"].tolist() == [""] * 6 + ["new"]
    assert np.isnan(with_gaps.metadata["replicate"].iloc[-1])
    for ending in ("csv", "npz", "geojson", "parquet"):
        write_curves(tmp_path / f"curves.{ending}", ensemble)
        again = read_curves(tmp_path / f"curves.{ending}").ensemble
        pd.testing.assert_frame_equal(again.metadata, ensemble.metadata)


def test_a_column_of_metadata_is_not_set_in_vain():
    ensemble = annotated()
    with pytest.raises(TypeError, match=r"ensemble\.assign\(well=\.\.\.\)"):
        ensemble.metadata["well"] = "C1"
    assert ensemble.metadata["well"].tolist() == annotated().metadata["well"].tolist()
    table = ensemble.metadata.copy()
    table["well"] = "C1"
    assert ensemble.assign(**table).metadata["well"].unique().tolist() == ["C1"]


def test_invalid_indices_are_rejected():
    ensemble = annotated()
    with pytest.raises(IndexError, match="6 curves"):
        ensemble[[True, False]]
    with pytest.raises(TypeError, match=r"\.metadata and \.features"):
        ensemble["well"]
    with pytest.raises(ValueError, match="stands for more than one curve"):
        ensemble[[1, 1]]
    with pytest.raises(TypeError):
        ensemble + 3


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"area": [1]}, "measured column has that name"),
        ({"well": ["a", "b"]}, "give 1 values, one per curve, or one"),
        ({"well": [None]}, "mixes NoneType"),
        ({"when": [np.datetime64("2020-01-01")]}, "give numbers, strings or booleans"),
        ({3: [1]}, "a column of metadata must be a string"),
    ],
)
def test_metadata_that_cannot_be_saved_are_rejected(columns, words):
    with pytest.raises(ValueError, match=words):
        Ensemble([SQUARE], metadata=columns)


def test_tracing_parameters_are_kept():
    labels = np.zeros((40, 40), int)
    labels[5:20, 5:25] = 1
    fine, coarse = (extract_curves(labels, smoothing=sigma, min_area=9, name=str(sigma)) for sigma in (1.0, 2.0))
    assert fine.tracing["outline_smoothing"] == 1.0
    assert fine.tracing["min_area"] == 9
    both = fine + coarse
    assert (both.tracing["outline_smoothing"], both.tracing["min_area"]) == ("differs", 9)
    assert Outlines(method="boundaries", keep_border=True).trace(labels + 1).tracing["tiling"] is True


def test_polygons_contours_paths_and_masks_give_the_same_outline():
    xy = SQUARE[:, ::-1]
    made = {
        "polygon": Ensemble.from_polygons([shapely.Polygon(xy)]),
        "ring": Ensemble.from_polygons([shapely.LinearRing(xy)]),
        "single": Ensemble.from_polygons(shapely.Polygon(xy)),
        "contour": Ensemble.from_contours([xy.astype(np.int32)[:, None]]),
        "path": Ensemble.from_paths([matplotlib.path.Path(np.vstack([xy, xy[:1]]), closed=True)]),
        "rows": Ensemble.from_contours([SQUARE], order="rc"),
    }
    for name, ensemble in made.items():
        np.testing.assert_array_equal(ensemble[0], SQUARE, err_msg=name)
    mask = np.zeros((20, 20), bool)
    mask[5:12, 3:17] = True
    np.testing.assert_array_equal(Ensemble.from_masks([mask])[0], Ensemble.from_labels(mask)[0])


def test_invalid_outlines_are_counted():
    box = shapely.box(0, 0, 9, 9)
    pieces = shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(3, 3, 8, 8)])
    hole = shapely.Polygon(box.exterior, [shapely.box(2, 2, 4, 4).exterior])
    found = Ensemble.from_polygons([box, None, shapely.Point(1, 1), pieces, hole], metadata={"well": list("abcde")})
    assert found.dropped == {NOT_POLYGON: 2, PARTS: 1}
    assert (found.filled, found.ids.tolist(), found.metadata["well"].tolist()) == (1, [0, 3, 4], ["a", "d", "e"])
    assert found.features["area"].tolist() == [81, 25, 81]
    with pytest.raises(ValueError, match='order must be "xy"'):
        Ensemble.from_polygons([box], order="yx")
    with pytest.raises(ValueError, match="path 0 is a list"):
        Ensemble.from_paths([[1, 2]])
    with pytest.raises(ValueError, match="one per object"):
        Ensemble.from_masks(np.zeros((5, 5), bool))


def test_a_geodataframe_round_trips():
    pytest.importorskip("geopandas")
    ensemble = annotated()
    frame = ensemble.to_geodataframe()
    assert frame.geometry.area.to_numpy() == pytest.approx(ensemble.features["area"].to_numpy())
    again = Ensemble.from_polygons(frame[frame["replicate"] > 1])
    pd.testing.assert_frame_equal(again.metadata, ensemble[2:].metadata)
    assert (again.unit, again.name, again.pixel_size) == ("µm", "field 1", (0.5, 0.5))
    assert again.vertices.tobytes() == ensemble[2:].vertices.tobytes()
    assert len(Ensemble.from_polygons(frame.geometry)) == 6


@pytest.mark.filterwarnings("ignore")  # of anndata itself
def test_tracing_parameters_are_kept_in_tables(tmp_path):
    labels = np.zeros((40, 40), np.uint8)
    labels[5:15, 5:15] = labels[20:35, 20:35] = 1
    ensemble = extract_curves(labels, smoothing=1.5)
    assert ensemble.tracing["outline_smoothing"] == 1.5
    if importlib.util.find_spec("geopandas"):
        assert Ensemble.from_polygons(ensemble.to_geodataframe()).tracing == ensemble.tracing
    anndata = pytest.importorskip("anndata")
    ensemble.to_anndata().write_h5ad(tmp_path / "x.h5ad")
    assert Ensemble.from_anndata(anndata.read_h5ad(tmp_path / "x.h5ad")).tracing == ensemble.tracing


@pytest.mark.filterwarnings("ignore")  # of anndata itself
def test_anndata_round_trips():
    pytest.importorskip("anndata")
    ensemble = annotated()
    data = ensemble.to_anndata()
    assert (data.shape, data.var_names[0]) == ((6, 6), "area")
    np.testing.assert_allclose(data.obsm["spatial"][0], ensemble[0].mean(axis=0)[::-1])
    again = Ensemble.from_anndata(data[[4, 1]])
    pd.testing.assert_frame_equal(again.metadata, ensemble[[4, 1]].metadata)
    assert again.vertices.tobytes() == ensemble[[4, 1]].vertices.tobytes()
    data.uns.clear()
    with pytest.raises(ValueError, match="contain no outlines"):
        Ensemble.from_anndata(data)


@pytest.mark.parametrize(("method", "package"), [("to_geodataframe", "geopandas"), ("to_anndata", "anndata")])
def test_a_missing_package_is_reported(method, package, monkeypatch):
    real = importlib.import_module
    absent = {package}

    def without(name, *rest):
        if name in absent:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr("napari_shape_ensembles.outlines.exchange.import_module", without)
    with pytest.raises(ImportError, match=rf"{method} needs {package}: pip install"):
        getattr(annotated(), method)()
