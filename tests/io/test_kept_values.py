"""Metadata of curves round-trip: unusual strings and numbers, missing values, names, images."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.io import CurveTable, read_curves, write_curves

WRITTEN = [".csv", ".parquet", ".geojson", ".zip", ".npz"]
SQUARE = np.array([[0, 0], [4, 0], [4, 6], [0, 6]], dtype=float)


def curves(count=4, **options):
    return Ensemble([SQUARE + place for place in range(count)], **options)


def again(folder, ending, table):
    write_curves(folder / f"x{ending}", table)
    return read_curves(folder / f"x{ending}")


# Four values of a feature, and what is read where that differs.
VALUES = [
    (["two\nlines", "carriage\rreturn", "both\r\n", '"'], None),
    ([" before", "after ", "a\tb", "a  b"], None),
    (['"quoted"', '"half', "a: b", "\\n"], None),
    ([1.5, np.nan, np.inf, -np.inf], None),
    ([np.nan] * 4, None),
    (np.array([1, 2**63 + 5, 0, 2**64 - 1], np.uint64), None),
    ([1, 2**53 + 1, -(2**63), 2**63 - 1], None),
    (["a", None, np.nan, "nan"], ["a", "", "", "nan"]),
    ([1, "a", 2.5, True], ["1", "a", "2.5", "True"]),
    (pd.Series([1, 2, 3, 4], dtype=object), ["1", "2", "3", "4"]),
    (pd.Categorical([1, 2, 1, None]), ["1", "2", "1", ""]),
    (
        pd.to_datetime(["2020-01-01", "NaT", "1999-12-31", "NaT"]),
        ["2020-01-01 00:00:00", "", "1999-12-31 00:00:00", ""],
    ),
    (pd.array([1, None, 3, 4], dtype="Int64"), [1, np.nan, 3, 4]),
    (pd.array([1, 2**62, 3, 4], dtype="Int64"), None),
    (pd.array([True, None, False, True], dtype="boolean"), ["True", "", "False", "True"]),
    (pd.array([True, False, False, True], dtype="boolean"), None),
]
NAMES = ["a:b", "two\nlines", " blanks ", '"', "shape-type", "axis-2", "x", "label", "name", "=a"]


@pytest.mark.parametrize("ending", WRITTEN)
def test_values_round_trip_in_every_format(tmp_path, ending):
    table = CurveTable(curves(), pd.DataFrame({str(place): values for place, (values, _) in enumerate(VALUES)}))
    features = again(tmp_path, ending, table).features
    for place, (values, read) in enumerate(VALUES):
        found, expected = features[str(place)].tolist(), list(values) if read is None else read
        np.testing.assert_array_equal(found, expected)
        assert isinstance(found[0], str) == isinstance(expected[0], str)


@pytest.mark.parametrize("ending", WRITTEN)
def test_features_keep_their_names(tmp_path, ending):
    expected = {name: [place, 2, 3, 4] for place, name in enumerate(NAMES)}
    assert again(tmp_path, ending, CurveTable(curves(), pd.DataFrame(expected))).features.to_dict("list") == expected


@pytest.mark.parametrize("ending", WRITTEN)
@pytest.mark.parametrize(
    "ids", [["", "a", "b", "c"], np.array([2**63 + 1, 1, 2, 3], np.uint64), ["1", "a\nb", " ", "\U00010000\U00010000"]]
)
def test_ids_of_any_type_round_trip(tmp_path, ending, ids):
    assert again(tmp_path, ending, CurveTable(curves(ids=ids))).ensemble.ids.tolist() == list(ids)


@pytest.mark.parametrize("ending", WRITTEN)
def test_curves_of_several_images_keep_their_image(tmp_path, ending):
    pool = Ensemble.pooled([curves(name="one, two"), curves(3, name="ünd")])
    found = again(tmp_path, ending, pool).ensemble
    assert found.images.tolist() == pool.images.tolist()
    assert found.ids.tolist() == pool.ids.tolist()


@pytest.mark.parametrize("ending", WRITTEN)
@pytest.mark.parametrize("names", [["a", "a"], ["a", ""]])
def test_features_without_a_unique_name_are_rejected(tmp_path, ending, names):
    table = CurveTable(curves(), pd.DataFrame(np.zeros((4, 2)), columns=names))
    with pytest.raises(ValueError, match="a feature cannot be named"):
        write_curves(tmp_path / f"x{ending}", table)
    assert not list(tmp_path.iterdir())


def test_an_empty_roi_zip_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="no curves to save"):
        write_curves(tmp_path / "x.zip", curves(0))


def test_simple_properties_of_geojson_are_kept(tmp_path):
    ring = [[0, 0], [4, 0], [4, 6], [0, 0]]
    feature = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}}
    properties = {"phase": "iron", "size": 3.5, "ok": True, "name": "g1", "isLocked": False, "nested": {"a": 1}}
    content = {"type": "FeatureCollection", "features": [{**feature, "properties": properties}]}
    (tmp_path / "x.geojson").write_text(json.dumps(content))
    found = read_curves(tmp_path / "x.geojson")
    assert found.features.to_dict("list") == {"phase": ["iron"], "size": [3.5], "ok": [True]}
    assert found.ensemble.ids.tolist() == ["g1"]


def test_an_io_error_of_arrow_names_the_file(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def break_off(*_):
        raise pyarrow.ArrowException("Wrapping \ufffd failed")

    write_curves(tmp_path / "x.parquet", curves())
    monkeypatch.setattr(parquet, "ParquetFile", break_off)
    with pytest.raises(ValueError, match=r"x\.parquet is damaged.*Wrapping"):
        read_curves(tmp_path / "x.parquet")


@settings(max_examples=60)
@given(
    ending=st.sampled_from([".csv", ".parquet", ".geojson", ".zip"]),
    words=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
)
def test_any_strings_round_trip(tmp_path_factory, ending, words):
    table = CurveTable(curves(1), pd.DataFrame({"words": [words]}))
    assert again(tmp_path_factory.mktemp("x"), ending, table).features["words"].tolist() == [words]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_rows_sorted_by_another_column_are_reordered(tmp_path, ending):
    write_curves(tmp_path / f"x{ending}", curves(2))
    if ending == ".csv":
        head, *rows = (tmp_path / "x.csv").read_text().splitlines()[1:]
        (tmp_path / "x.csv").write_text("\n".join([head, *sorted(rows, key=lambda row: row.split(",")[2]), ""]))
    else:
        frame = pd.read_parquet(tmp_path / "x.parquet").sort_values("row")
        frame.to_parquet(tmp_path / "x.parquet")
    found = read_curves(tmp_path / f"x{ending}").ensemble
    by_id = dict(zip(found.ids.tolist(), found.curves, strict=True))
    for name, curve in enumerate(curves(2).curves):
        np.testing.assert_array_equal(by_id[name], curve)


@pytest.mark.parametrize("scale", ["-1", "0", "nan", "inf"])
def test_an_invalid_tps_scale_is_rejected(tmp_path, scale):
    (tmp_path / "x.tps").write_text(f"LM=0\nPOINTS=3\n1 1\n2 2\n3 1\nSCALE={scale}\n")
    with pytest.raises(ValueError, match=rf"x\.tps: specimen 1: SCALE={scale} is not a number above 0"):
        read_curves(tmp_path / "x.tps")


@pytest.mark.parametrize("word", ["=1+1", "+cmd", "-x", "@y", "\tz"])
def test_no_string_in_a_csv_file_is_a_formula(tmp_path, word):
    table = CurveTable(curves(ids=[word, "b", "c", "d"]), pd.DataFrame({word: [word] * 4}))
    write_curves(tmp_path / "x.csv", table)
    cells = pd.read_csv(tmp_path / "x.csv", skiprows=1, dtype=str, keep_default_na=False)
    assert not [cell for cell in (*cells.columns, *cells.to_numpy().ravel()) if cell.startswith(word)]
    found = read_curves(tmp_path / "x.csv")
    assert found.ensemble.ids.tolist() == [word, "b", "c", "d"]
    assert found.features.to_dict("list") == {word: [word] * 4}
