"""Outlines in R data files: structures of Momocs and other packages, with every compression of R."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pandas as pd
import pytest

from curve_makers import blobs
from napari_shape_ensembles.io import read_curves
from napari_shape_ensembles.outlines.reasons import OPEN

rdata = pytest.importorskip("rdata", reason="reads files of R")
to_r = pytest.importorskip("rdata.conversion.to_r", reason="writes files of R")

CURVES = blobs(4, 40)  # (row, column)
OF_R = [curve[:, ::-1] * (1, -1) for curve in CURVES]  # x to the right, y up
# saveRDS(array(…, dimnames=list(NULL, c("x", "y"), c("a", "b"))), ascii=TRUE, compress=FALSE)
OF_R_ITSELF = """A 3 262658 197888 5 UTF-8 526 16 0 6 6 0 0 0 -4 -4 0 3 3 0 0 0 -8 -8 1026 1 262153 3 dim 13 3 4 2 2
1026 1 262153 8 dimnames 19 3 254 16 2 262153 1 x 262153 1 y 16 2 262153 1 a 262153 1 b 254"""
NAMES = ["whisky", "beer", "brahma", "caney"]


class Out:
    """A named list with a class, as Momocs saves sets of outlines."""

    kind = ("Out", "Coo")

    def __init__(self, **held):
        self.held = held


class Opn(Out):
    kind = ("Opn", "Coo")


def _with_class(data, converter):
    made = converter.convert_to_r_object(data.held)
    made.info.object = True
    names, kind = np.array(list(data.held)), np.array(data.kind)
    made.attributes = converter.convert_to_r_attributes({"names": names, "class": kind})
    return made


def saved(path, **held):
    """Write an R file, uncompressed."""
    known = {**to_r.DEFAULT_CLASS_MAP, Out: _with_class, Opn: _with_class}
    made = to_r.ConverterFromPythonToR(constructor_dict=known).convert_to_r_data(held, file_type="rda")
    rdata.unparser.unparse_file(path, made, file_type="rda", file_format="xdr", compression="gzip")
    path.write_bytes(gzip.decompress(path.read_bytes()))
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_momocs_outlines_are_read_with_any_compression(tmp_path, pack):
    factors = pd.DataFrame({"type": pd.Categorical(["w", "b", "b", "w"]), "volume": [0.7, 0.33, 0.5, 1.0]})
    path = saved(tmp_path / "bot.rda", bot=Out(coo=dict(zip(NAMES, OF_R, strict=True)), fac=factors))
    path.write_bytes(pack(path.read_bytes()))
    table = read_curves(path)
    assert table.ensemble.ids.tolist() == NAMES
    np.testing.assert_allclose(table.ensemble[2], CURVES[2])
    assert table.features["type"].tolist() == ["w", "b", "b", "w"]
    assert table.features["volume"].tolist() == [0.7, 0.33, 0.5, 1.0]


def test_lists_of_matrices_and_landmark_arrays_are_read(tmp_path):
    np.testing.assert_allclose(read_curves(saved(tmp_path / "a.rda", cells=OF_R)).ensemble[3], CURVES[3])
    stacked = np.stack(OF_R, axis=2)
    found = read_curves(saved(tmp_path / "b.RData", wings=stacked)).ensemble
    assert found.ids.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(found[1], CURVES[1])
    (tmp_path / "c.rds").write_text("\n".join(OF_R_ITSELF.split()) + "\n", encoding="utf-8")
    found = read_curves(tmp_path / "c.rds").ensemble
    assert (found.ids.tolist(), found.features["area"].tolist()) == (["a", "b"], [24.0, 24.0])


def test_open_curves_of_momocs_are_counted(tmp_path):
    path = saved(tmp_path / "x.rda", leaves=Opn(coo=dict(zip(NAMES, OF_R, strict=True))))
    assert read_curves(path).ensemble.dropped == {OPEN: 4}


def test_an_object_without_outlines_is_rejected_with_alternatives(tmp_path):
    for words, held in (
        ("holds no outlines; outlines must be lists of matrices of two columns", {"n": np.arange(5.0)}),
        ("holds 2 sets of outlines (a, b): save one per file", {"a": OF_R, "b": OF_R}),
    ):
        with pytest.raises(ValueError, match=r"^x\.rda: ") as said:
            read_curves(saved(tmp_path / "x.rda", **held))
        assert words in str(said.value)
    path = saved(tmp_path / "x.rda", cells=OF_R)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ValueError, match=r"^x\.rda is damaged"):
        read_curves(path)


def test_a_compression_bomb_is_rejected(tmp_path):
    (tmp_path / "x.rda").write_bytes(gzip.compress(bytes(2**26), compresslevel=1))
    with pytest.raises(ValueError, match=r"x\.rda: would take .* GiB of memory"):
        read_curves(tmp_path / "x.rda")


def test_a_missing_library_is_reported_with_the_remedy(tmp_path, monkeypatch):
    path = saved(tmp_path / "x.rda", cells=OF_R)
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(ValueError, match=r'needs rdata: pip install "napari-shape-ensembles\[r\]"'):
        read_curves(path)
