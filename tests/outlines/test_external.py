"""Segmenters in other environments: a fake Python takes their place, and does what a real one may do."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from napari_shape_ensembles import Outlines, Stopped, reporting
from napari_shape_ensembles.outlines import external
from napari_shape_ensembles.outlines.external import VARIABLE, choose_pythons
from napari_shape_ensembles.outlines.finders import pinned

IMAGE = np.zeros((40, 50))
IMAGE[10:30, 12:40] = 1

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake Python is a script with a shebang")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Make a Python that runs these lines in place of the worker, with its arguments in `argv`."""

    def make(*lines, version="print('3.1.1')"):
        path = tmp_path / "python"
        beginning = f"#!{sys.executable}", "import sys, os, time", "argv = sys.argv[2:]"
        version = f"if len(argv) == 1: {version}; sys.exit()"
        path.write_text("\n".join([*beginning, version, *lines]))
        path.chmod(0o755)
        monkeypatch.setenv(VARIABLE, f"cellpose={path}")
        return path

    return make


RETURNS = "import numpy as np; image = np.load(argv[2]); np.save(argv[3], {})"


def test_labels_of_another_environment_are_outlined(fake):
    fake(RETURNS.format("(image > 0).astype('uint16')"))
    np.testing.assert_array_equal(Outlines(find="cellpose").labels(IMAGE), IMAGE)
    assert len(Outlines(find="cellpose:cyto3")(IMAGE)) == 1


def test_the_model_is_passed_on_and_the_version_recorded(fake):
    fake(RETURNS.format("(image > 0) * len(argv[1])"))
    assert Outlines(find="cellpose:cyto3").labels(IMAGE).max() == len("cyto3")
    assert pinned("cellpose:cyto3") == "cellpose:cyto3==3.1.1"
    assert Outlines(find="cellpose:cyto3==3.1.1").labels(IMAGE).max() == len("cyto3")
    with pytest.raises(ValueError, match=r"cellpose 3\.1\.1 is installed, and the recipe was made with 2\.0"):
        Outlines(find="cellpose==2.0").labels(IMAGE)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (RETURNS.format("image * 0.5"), "returned float64 of shape"),
        (RETURNS.format("image[:5].astype(int)"), "one plane of integers is expected"),
        (RETURNS.format("np.array([None])"), "it returned a file that holds no array of numbers"),
        ("open(argv[3], 'wb')", "it returned a file that holds no array of numbers"),
        ("open(argv[3], 'wb').write(bytes(range(256)))", "it returned a file that holds no array of numbers"),
        (RETURNS.format("image > 0") + "; os.truncate(argv[3], 200)", "no array of numbers, or not all of one"),
        (
            RETURNS.format("image > 0") + "; os.truncate(argv[3], 10**12)",
            r"1000000000000 bytes, too many for \(40, 50\)",
        ),
        ("os.mkdir(argv[3])", "it ended without labels"),
        ("pass", "it ended without labels$"),
        ("print('no model cyto9', file=sys.stderr)", "it ended without labels: no model cyto9"),
        ("sys.exit('no GPU: out of memory')", "its process ended with code 1: no GPU: out of memory"),
        ("os.kill(os.getpid(), 9)", r"its process ended with code -9 \(SIGKILL\)$"),
        ("raise MemoryError('x' * 20 + ' too large')", "MemoryError: x{20} too large$"),
        ("sys.stderr.buffer.write(bytes(range(256)) + b'no GPU'); sys.exit(1)", "code 1: [ -~\u00a0-\u00ff]*no GPU$"),
    ],
)
def test_what_goes_wrong_there_is_said_in_words(fake, lines, message):
    fake(lines)
    with pytest.raises(ValueError, match=message):
        Outlines(find="cellpose").labels(IMAGE)


def test_what_is_printed_before_the_version_is_left_out(fake):
    fake(version="print('Welcome to Cellpose'); print('4.0.1')")
    assert pinned("cellpose:cyto3") == "cellpose:cyto3==4.0.1"


@pytest.mark.parametrize("printed", ["pass", "print('None')", "print('3.1', 'ready')", "print('\\x00\\x01')"])
def test_a_python_without_a_version_is_refused(fake, printed):
    fake(version=printed)
    with pytest.raises(ValueError, match="prints no version of cellpose"):
        pinned("cellpose")


def test_a_process_that_hangs_is_stopped_at_the_limit(fake, monkeypatch):
    fake("time.sleep(600)")
    monkeypatch.setattr(external, "LIMIT_S", 0.2)
    with pytest.raises(ValueError, match=r"did not end within 0\.2 s, and was stopped"):
        Outlines(find="cellpose").labels(IMAGE)


def test_cancelling_ends_the_process(fake, tmp_path):
    fake(f"open({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}} ')", "time.sleep(600)")
    started = tmp_path / "pid"
    with pytest.raises(Stopped), reporting(stop=lambda: started.exists() and started.read_text().endswith(" ")):
        Outlines(find="cellpose").labels(IMAGE)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_without_a_python_the_remedy_is_said(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ValueError, match="give its path in napari's preferences, or in the environment variable"):
        Outlines(find="stardist").labels(IMAGE)
    monkeypatch.setenv(VARIABLE, "stardist=/no/python")
    with pytest.raises(ValueError, match="its Python /no/python cannot be started: No such file"):
        Outlines(find="stardist").labels(IMAGE)
    with pytest.raises(ValueError, match="the segmenters are cellpose, stardist, micro-sam"):
        choose_pythons("ilastik=/usr/bin/python")


def test_the_preference_takes_precedence(fake, monkeypatch):
    path = fake(RETURNS.format("(image > 0) * 7"))
    monkeypatch.setenv(VARIABLE, "cellpose=/no/python")
    choose_pythons(f"cellpose={path}")
    try:
        assert Outlines(find="cellpose").labels(IMAGE).max() == 7
    finally:
        choose_pythons("")


def test_the_worker_needs_nothing_of_this_package():
    source = Path(external.__file__).with_name("external_worker.py").read_text(encoding="utf-8")
    assert "napari_shape_ensembles" not in source
