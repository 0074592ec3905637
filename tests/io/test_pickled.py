"""Masks of Cellpose (`_seg.npy`): a pickle, which is read as data, and runs no code."""

import os
import pickle
import struct
from datetime import datetime
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

from napari_shape_ensembles import Outlines
from napari_shape_ensembles.budget import budget
from napari_shape_ensembles.inspection import CorrectedLabels
from napari_shape_ensembles.io import read_image, save_corrected
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file, files_of

MASKS = np.kron(np.arange(1, 5, dtype=np.uint16).reshape(2, 2), np.pad(np.ones((12, 15), np.uint16), 4))


def held(masks):
    """What Cellpose 3 keeps: also what has no meaning here, of all types."""
    return {
        "outlines": masks.astype(np.uint32) * 0,
        "colors": np.full((4, 3), 200, np.uint8),
        "masks": masks,
        "chan_choose": [0, 0],
        "img_restore": None,
        "filename": PurePosixPath("a/img.tif"),
        "flows": [np.zeros((1, 9, 3), np.uint8), [np.ones(3, np.float16)], np.float64(2.5), []],
        "ismanual": np.zeros(4, bool),
        "manual_changes": [[datetime(2024, 5, 1), "added mask", [3, (1.5, 2)]]],
        "normalize_params": {"invert": False, "percentile": [1.0, 99.0], 3: -(10**12)},
        "diameter": np.nan,
    }


def saved(path, value, protocol):
    """Write as numpy.save does, which has used the protocols 3 and 4."""
    array = np.array(value, dtype=object)
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": array.shape})
    path.write_bytes(header.getvalue() + pickle.dumps(array, protocol=protocol))
    return path


def written(path, content):
    """Write bytes in the place of the pickle."""
    saved(path, {}, 4)
    head = path.read_bytes()[:128]
    path.write_bytes(head[: head.index(b"\n") + 1] + content)
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("change", [np.asarray, np.asfortranarray, lambda m: m.astype(">i4"), lambda m: m.astype(bool)])
def test_masks_are_read_as_they_were_saved(tmp_path, protocol, change):
    path = saved(tmp_path / "img_seg.npy", held(change(MASKS)), protocol)
    assert protocol > 3 or b"numpy" in path.read_bytes()
    if protocol == 2:  # without bytes: these are a call of a codec, and not read
        with pytest.raises(ValueError, match=r"img_seg\.npy: holds Python objects, which are not"):
            read_image(path)
        return
    for module in (b"numpy.core", b"numpy._core"):  # of NumPy 1 and 2
        content = path.read_bytes()
        if protocol == 3:  # names are lines of text
            path.write_bytes(content.replace(b"numpy._core", b"numpy.core").replace(b"numpy.core", module))
        np.testing.assert_array_equal(read_image(path).pixels, change(MASKS))
    ensemble = ensemble_of_file(path, Reading())
    assert len(ensemble) == 4
    if change(MASKS).dtype != bool:
        for one, other in zip(ensemble.curves, Outlines()(MASKS).curves, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_plane_of_a_stack_is_chosen(tmp_path):
    path = saved(tmp_path / "img_seg.npy", held(np.stack([MASKS, MASKS * 0, MASKS])), 4)
    with pytest.raises(ValueError, match=r"shape \(3, 40, 46\): save one plane"):
        read_image(path)
    np.testing.assert_array_equal(read_image(path, plane=(2,)).pixels, MASKS)


def test_an_image_beside_its_masks_counts_once_and_masks_alone_are_read(tmp_path):
    saved(tmp_path / "img_seg.npy", held(MASKS), 4)
    assert [path.name for path in files_of(tmp_path, groups=True)] == ["img_seg.npy"]
    (tmp_path / "img.tif").touch()
    said = []
    assert [path.name for path in files_of(tmp_path, groups=True, tell=said.append)] == ["img.tif"]
    assert "img_seg.npy" in said[0]
    assert [path.name for path in files_of(tmp_path, groups=True, labels=True)] == ["img_seg.npy"]


def test_corrections_are_not_written_over_what_cellpose_keeps(tmp_path):
    path = saved(tmp_path / "img_seg.npy", held(MASKS), 4)
    before, corrected = path.read_bytes(), CorrectedLabels(read_image(path).pixels)
    corrected.delete(2)
    with pytest.raises(ValueError, match=r"img_seg\.npy: Cellpose keeps more .*: save them as \.tif or \.png"):
        save_corrected(path, corrected, original=path)
    assert path.read_bytes() == before
    assert set(np.unique(read_image(save_corrected(tmp_path / "img_cp_masks.tif", corrected)[0]).pixels)) == {
        0,
        1,
        3,
        4,
    }


class Calls:
    """Is pickled as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_no_code_of_a_file_is_run(tmp_path):
    path, touched = tmp_path / "img_seg.npy", tmp_path / "touched"
    for evil in (
        Calls(os.system, f"touch {touched}"),
        Calls(eval, f"open({str(touched)!r}, 'w')"),
        Calls(getattr, Calls(__import__, "os"), "system"),
        Calls(Path.touch, touched),
        Calls(np.load, str(touched)),
        Calls(np.dtype, Calls(eval, "1/0")),
    ):
        with pytest.raises(ValueError, match=r"img_seg\.npy: holds Python objects, which are not"):
            read_image(saved(path, {"masks": evil}, 4))
        # Beside masks it has no effect.
        np.testing.assert_array_equal(read_image(saved(path, {"filename": evil, "masks": MASKS}, 4)).pixels, MASKS)
        assert not touched.exists()


def frame(masks):
    """The pickle of an object array that holds a dictionary with these pickled masks."""
    head = b"\x80\x03cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01)cnumpy\ndtype\n"
    return head + b"X\x02\x00\x00\x00O8K\x00K\x01\x87R\x89]}X\x05\x00\x00\x00masks" + masks + b"satb."


def array(shape, content, dtype=b"u2", order=b"<"):
    """A pickled array that claims this shape and dtype."""
    sides = b"(" + b"".join(b"J" + struct.pack("<i", side) for side in shape) + b"t"
    text = lambda word: b"X" + struct.pack("<I", len(word)) + word  # noqa: E731
    kind = (
        b"cnumpy\ndtype\n"
        + text(dtype)
        + b"K\x00K\x01\x87R(K\x03"
        + text(order)
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    return made + b"(K\x01" + sides + kind + b"\x89" + b"B" + struct.pack("<I", len(content)) + content + b"tb"


def test_arrays_are_of_numbers_and_of_the_size_that_they_claim(tmp_path):
    path, plane = tmp_path / "img_seg.npy", MASKS.astype("<u2")
    np.testing.assert_array_equal(read_image(written(path, frame(array(plane.shape, plane.tobytes())))).pixels, plane)
    for shape in ((2**31 - 1, 2**31 - 1, 9), (-1, -1840), (40, 45), (0,)):
        with pytest.raises(ValueError, match=r"img_seg\.npy.*does not match its content|img_seg\.npy: holds an image"):
            read_image(written(path, frame(array(shape, plane.tobytes() if len(shape) > 1 else b""))))
    for dtype, order in ((b"O8", b"<"), (b"(900,900)u2", b"<"), (b"V2", b"<"), (b"u2", b"x"), (b"M8", b"<")):
        with pytest.raises(ValueError, match=r"img_seg\.npy: holds Python objects, which are not"):
            read_image(written(path, frame(array(plane.shape, plane.tobytes(), dtype, order))))


def test_what_has_no_end_when_unfolded_takes_no_time_and_memory(tmp_path):
    path, levels = tmp_path / "img_seg.npy", 60
    pairs = b"".join(b"h%ch%c\x86q%c" % (level, level, level + 1) for level in range(levels))
    nested = b"(" + b")q\x00" + pairs + b"t"  # each holds the one before twice
    code, last = b"X\x02\x00\x00\x00u2\x85", b"h%c" % levels
    long = b"\x8a\xff" + b"\x7f" * 255 + b"q\x64" + b"h\x64" * 20_000  # their product has 40 million bits
    for shape, kind in (
        (last, code),
        (last + b"\x85", code),
        (b"K\x02\x85", last + b"\x85"),
        (b"(" + long + b"t", code),
    ):
        made = b"cnumpy.core.multiarray\n_reconstruct\n" + nested + b"R(K\x01" + shape + b"cnumpy\ndtype\n" + kind
        made += b"R(K\x03X\x01\x00\x00\x00<NNNNtb\x89C\x00tb"
        with pytest.raises(ValueError, match=r"img_seg\.npy: holds Python objects, which are not"):
            read_image(written(path, frame(made)))
    text = b"X" + struct.pack("<I", 10**6) + b"a" * 10**6 + b"q\x00"
    with budget(0.1), pytest.raises(ValueError, match="of memory"):
        read_image(written(path, b"\x80\x04" + text + b"h\x00h\x00\x93" * 100 + b"."))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x80\x04" + b"]" * 300_000 + b".", "holds more than 250000 Python objects"),
        (b"\x80\x04" + b"(" * 200_000, "damaged"),
        (b"\x80\x04]\x94" + b"h\x00a" * 3 + b".", "damaged|holds Python objects"),
        (b"\x80\x04]r\xff\xff\xff\x7f.", "holds Python objects, which are not"),
        (b"\x80\x04\x8e" + struct.pack("<Q", 2**62), "damaged"),
        (b"\x80\x05\x96" + struct.pack("<Q", 2**40), "damaged|unknown kind"),
        (b"\x80\x04}(K\x01u.", "damaged"),
        (b"\x80\x04}K\x01R.", "damaged: a dict is in the place of a Call"),
        (b"I" + b"9" * 100_000 + b"\n.", "damaged|unknown kind"),
        (b"cos\nsystem\n(S'true'\ntR.", "unknown kind"),
        (b"\x80\x04)\x94" + b"h\x00h\x00\x86q\x00" * 100 + b"\x93.", "damaged: a tuple is in the place of a str"),
        (b"", "damaged|empty"),
    ],
)
def test_damaged_and_hostile_pickles_are_refused(tmp_path, content, words):
    with pytest.raises(ValueError, match=rf"img_seg\.npy.*({words})"):
        read_image(written(tmp_path / "img_seg.npy", content))


def test_a_truncated_file_is_refused(tmp_path):
    path = saved(tmp_path / "img_seg.npy", held(MASKS), 4)
    content = path.read_bytes()
    for end in range(130, len(content), 97):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"img_seg\.npy"):
            read_image(path)
