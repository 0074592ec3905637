"""Archives of arrays and strings: atomic writing, exact round trips, and malicious files."""

import errno
import io
import json
import os
import stat
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from napari_shape_ensembles.archive import (
    MANIFEST,
    all_or_none,
    is_archive,
    read_archive,
    replacing,
    write_archive,
    write_bytes,
)

KIND = "test tree"


def read(path, version=1):
    return read_archive(path, KIND, version, lambda tree: tree)


def write_zip(path, entries, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)


def manifest(data=None, version=1, kind=KIND):
    return MANIFEST, json.dumps({"format": kind, "version": version, "data": data or {}})


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


names = st.text("abcXYZ019_", min_size=1, max_size=8)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | hnp.arrays(st.sampled_from([np.float64, np.int32, np.uint8, np.bool_, "U5"]), hnp.array_shapes(min_side=0))
)
trees = st.dictionaries(
    names, st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3)), max_size=5
)


def same(one, other):
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


@settings(max_examples=60)
@given(tree=trees)
def test_round_trip_is_exact(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("archive") / "tree.npz"
    write_archive(path, KIND, 1, tree)
    assert same(tree, read(path))
    assert is_archive(path, KIND)


def test_numpy_and_zip_programs_can_open_it(tmp_path):
    path = tmp_path / "tree.npz"
    write_archive(path, KIND, 1, {"part": {"values": np.arange(3.0)}})
    assert np.load(path)["part/values"].tolist() == [0, 1, 2]


def test_the_same_tree_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_archive(tmp_path / name, KIND, 1, {"values": np.arange(3), "word": "µ∧"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_write_keeps_the_old_file_and_no_temporary_file(tmp_path):
    path = tmp_path / "tree.npz"
    write_archive(path, KIND, 1, {"word": "old"})
    with pytest.raises(ValueError, match="holds object values"):
        write_archive(path, KIND, 1, {"values": np.array([{}, []], dtype=object)})
    with pytest.raises(ValueError, match="cannot be stored under the name"):
        write_archive(path, KIND, 1, {"../evil": np.zeros(1)})
    with pytest.raises(ValueError):
        write_archive(path, KIND, 1, {"number": float("nan")})
    assert read(path) == {"word": "old"}
    assert os.listdir(tmp_path) == ["tree.npz"]


def test_a_crash_while_writing_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def crash():
        with replacing(path) as file:
            file.write(b"half of the new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crash()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("code", [errno.EDQUOT, errno.EFBIG])
def test_a_file_beyond_a_quota_or_a_limit_is_named(tmp_path, monkeypatch, code):
    def refuse(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=r"results\.csv"):
        write_bytes(tmp_path / "results.csv", b"1")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")
def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def refuse(handle):
        os.write(os.open("/dev/full", os.O_WRONLY), b"x")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=r"No space left on device: .*file"), replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
def test_permissions_are_kept_and_symlinks_followed(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_unicode_file_names_up_to_the_system_limit(tmp_path):
    path = tmp_path / ("漢" * 84)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"), replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only POSIX has files that are none")
def test_devices_and_folders_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, message in (("pipe", "not a file"), ("folder", "directory")):
        with pytest.raises(OSError, match=message), replacing(tmp_path / name) as file:
            file.write(b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def header(text):
    """Return a .npy entry with this header and no data."""
    line = text.encode().ljust(53) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line


def letters(points):
    return np.array(points, dtype="<u4").view("<U1")


HOSTILE = {
    "brackets without end": ([manifest(), ("x.npy", header("(" * 9000))], "damaged"),
    "signs without end": ([manifest(), ("x.npy", header("-" * 9000 + "1"))], "damaged"),
    "a type that is none": ([manifest(), ("x.npy", header("{'descr':',,,','fortran_order':False,'shape':(1,)}"))], "d"),
    "letters beyond Unicode": ([manifest(), ("x.npy", npy(letters([0xFFFFFFFF])))], "contains invalid text"),
    "half letters": ([manifest(), ("x.npy", npy(letters([0xD800])))], "contains invalid text"),
    "pickled objects": ([manifest(), ("x.npy", npy(np.array([{}], dtype=object), allow_pickle=True))], "holds object"),
    "records": ([manifest(), ("x.npy", npy(np.zeros(2, [("a", int)])))], "numbers and text can be"),
    "a path out of the file": ([manifest(), ("../x.npy", npy(np.zeros(1)))], "unexpected entry '../x.npy'"),
    "an absolute path": ([manifest(), ("/etc/x.npy", npy(np.zeros(1)))], "unexpected entry"),
    "another kind of entry": ([manifest(), ("run.py", b"print()")], "unexpected entry"),
    "an array over a value": ([manifest({"x": 1}), ("x.npy", npy(np.zeros(1)))], "twice"),
    "an array below a value": ([manifest({"x": 1}), ("x/y.npy", npy(np.zeros(1)))], "conflicts with"),
    "no manifest": ([("x.npy", npy(np.zeros(1)))], "not a valid test tree file"),
    "another kind": ([manifest(kind="something else")], "not a valid test tree file"),
    "a newer version": ([manifest(version=2)], r"newer version of this software \(layout 2; this one reads up to 1\)"),
    "no version": ([(MANIFEST, json.dumps({"format": KIND, "data": {}}))], "no version"),
    "a list for a manifest": ([(MANIFEST, "[]")], "not a valid test tree file"),
    "no JSON": ([(MANIFEST, "{")], "damaged"),
    "JSON nested deeply": ([(MANIFEST, "[" * 100_000)], "damaged"),
    "a cut array": ([manifest(), ("x.npy", npy(np.zeros(100))[:-1])], "not match its content"),
    "a cut header": ([manifest(), ("x.npy", npy(np.zeros(100))[:20])], "damaged"),
    "code in a header": (
        [manifest(), ("x.npy", b"\x93NUMPY\x01\x00\x40\x00" + b"__import__('os').abort()".ljust(0x40))],
        "damaged",
    ),
}


@pytest.mark.parametrize(("entries", "message"), HOSTILE.values(), ids=HOSTILE)
def test_malicious_files_are_rejected_with_their_name(tmp_path, entries, message):
    path = tmp_path / "evil.npz"
    write_zip(path, entries)
    with pytest.raises(ValueError, match=rf"evil\.npz.*{message}"):
        read(path)


def test_a_header_that_claims_ten_gigabytes_is_rejected_before_allocation(tmp_path):
    content = npy(np.zeros(1))
    claim = content.replace(b"(1,), }         ", b"(1342177280,), }")
    assert len(claim) == len(content)
    assert claim != content
    write_zip(tmp_path / "evil.npz", [manifest(), ("x.npy", claim)])
    with pytest.raises(ValueError, match="claims"):
        read(tmp_path / "evil.npz")


def test_a_zip_bomb_is_rejected_unread(tmp_path):
    path = tmp_path / "bomb.npz"
    write_zip(path, [manifest(), ("x.npy", npy(np.zeros(10**7)))], zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match="compressed"):
        read(path)
    assert not is_archive(path, KIND)


def test_a_directory_that_claims_a_gigabyte_for_an_entry_is_rejected_unread(tmp_path):
    write_zip(tmp_path / "evil.npz", [manifest(), ("x.npy", npy(np.zeros(1)))])
    content = bytearray((tmp_path / "evil.npz").read_bytes())
    at = content.index(b"PK\x01\x02") + 20  # the compressed size of the first entry
    content[at : at + 4] = (2**30).to_bytes(4, "little")
    (tmp_path / "evil.npz").write_bytes(content)
    with pytest.raises(ValueError, match="entries have other sizes than its directory says"):
        read(tmp_path / "evil.npz")


# End-of-central-directory record that claims a start before the file, found by fuzzing.
EARLY = b"PK\x05\x06" + bytes(8) + b"\x2e\x00\x00\x00\xff\xff\xff\x7f\x00\x00"


@pytest.mark.parametrize("content", [b"PK\x05\x06", b"no zip at all" * 100, EARLY])
def test_files_that_are_not_zip_are_rejected(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="damaged, or not a valid test tree file"):
        read(tmp_path / "file")


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"^file is empty \(0 bytes\): export or copy it again$"):
        read(tmp_path / "file")


def test_a_missing_file_raises_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")


@settings(max_examples=200)
@given(data=st.data())
def test_changed_bytes_are_detected_or_harmless(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("archive") / "tree.npz"
    write_archive(path, KIND, 1, {"part": {"values": np.arange(5.0), "name": "a"}})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    part = None
    with suppress(ValueError):
        part = read(path)["part"]
    assert part is None or (part["name"], part["values"].tolist()) == ("a", [0, 1, 2, 3, 4])


def test_files_written_together_are_replaced_together_or_not_at_all(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(b"before")

    def write(last):
        with all_or_none():
            write_bytes(tmp_path / "a", b"after")
            assert (tmp_path / "a").read_bytes() == b"before"
            if not last:
                raise OSError("no space left on device")
            write_bytes(tmp_path / "b", b"after")

    with pytest.raises(OSError, match="no space"):
        write(last=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"before", "b": b"before"}
    write(last=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"after", "b": b"after"}
