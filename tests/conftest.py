"""Fixtures and process-wide settings for all tests."""

import gc
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

# Objects created during imports and collection persist, so scanning them for garbage takes a tenth of that time.
gc.disable()
# Worker processes are isolated from the user: napari neither reads nor writes the user's settings.
os.environ["NAPARI_CONFIG"] = ""
# Compiled bytecode is cached and shared between worker processes: without a cache, each would need seconds to compile.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Test output need not survive a power failure, and waiting for the disk is slow.
os.fsync = lambda _: None
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
if WORKER:
    # numba's cache is corrupted permanently if two processes fill it at once (numba/numba#10128).
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parents[1] / ".pytest_cache" / "numba" / WORKER)

REAL = Path(__file__).with_name("data")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MISSING = "not in ../shared/data beside the repository"


def pytest_addoption(parser):
    parser.addoption("--require-shared-data", action="store_true", help="tests without ../shared/data fail, not skip")


def pytest_configure(config):
    """Compile before the workers start; open a virtual display if there is none, and always one per worker.

    Windows on one display would compete for focus.
    """
    if not WORKER:
        subprocess.run([sys.executable, "-m", "napari_shape_ensembles.compiled"], check=True)
        if getattr(config.option, "numprocesses", None):
            # Workers share the processors: one thread each for linear algebra, napari's compiled loops and drawing. Set
            # before they start, as plugins of pytest import NumPy before this file.
            for threads in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "LP_NUM_THREADS"):
                os.environ.setdefault(threads, "1")
    has_screen = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if sys.platform == "linux" and shutil.which("Xvfb") and (WORKER or not has_screen):
        os.environ |= {"DISPLAY": virtual_screen(config), "QT_QPA_PLATFORM": "xcb"}


def virtual_screen(config):
    """Start a virtual display that ends with this process, however that ends, and return its name."""
    command = "Xvfb -displayfd 1 -screen 0 1600x1200x24 & exec >&-; read _; kill $!"
    pipe = subprocess.PIPE
    server = subprocess.Popen(["sh", "-c", command], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    config.add_cleanup(server.communicate)
    number = server.stdout.readline().strip()
    if not number:
        raise pytest.UsageError("Xvfb does not start")
    return f":{number}"


# Fixed examples, so that a change is judged by its own effect. `--hypothesis-profile=thorough` searches for new ones,
# and for longer in tests of malformed input, which set no number of examples.
settings.register_profile("usual", settings.default, max_examples=40, deadline=None, derandomize=True)
settings.register_profile("thorough", settings.default, max_examples=10_000, deadline=5000, derandomize=False)
settings.load_profile("usual")


@pytest.fixture(autouse=True)
def _nothing_kept():
    """Let each test compute what it needs: whether an earlier one had the same image must not matter."""
    if recent := sys.modules.get("napari_shape_ensembles.outlines.recent"):
        recent.forget()


@pytest.fixture(scope="session")
def real_data():
    """Return `tests/data`, the folder of the data included in the repository."""
    return REAL


class SharedData:
    """Data that cannot be included in the repository, in `../shared/data` beside it; a missing set skips the test."""

    def __init__(self, required):
        self.give_up = pytest.fail if required else pytest.skip

    def __truediv__(self, name):
        assert not (REAL / name).exists(), f"tests/data has {name}: take it from real_data, for clones to run the test"
        folder = SHARED / name
        if not folder.exists():
            self.give_up(f"{MISSING}: {name}")
        return folder


@pytest.fixture(scope="session")
def shared_data(pytestconfig):
    """Return the data that cannot be included in the repository; `shared_data / "paper"` is a folder."""
    return SharedData(pytestconfig.getoption("require_shared_data"))


@pytest.fixture(scope="session")
def orix():
    """Import orix without compiling it: numba would take 15 s, and the maps in the tests are small."""
    import numba

    # numba itself is imported completely first: napari uses it too, and its own functions must be compiled.
    _ = numba.typed.Dict, numba.typed.List, numba.njit(lambda value: value)(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        pytest.importorskip("orix.quaternion").Orientation  # noqa: B018 (orix imports lazily, on attribute access)


@pytest.fixture
def blank_figures(monkeypatch):
    """Replace the figures of a report, which tests/explanation/test_report.py draws, by blank ones."""
    from matplotlib.figure import Figure

    from napari_shape_ensembles.explanation import figures, report

    for module in (figures, report):
        monkeypatch.setattr(module, "figures", lambda _: {name: Figure() for name in figures.FIGURES})


@pytest.fixture(scope="session")
def blank_savefig():
    """Return a context manager in which figures are created but saved blank, as rendering takes a second for each.

    For tests of other outputs: tests/explanation/test_report.py, tests/studies/test_figures.py, tests/test_documents.py
    (tutorials) and tests/test_cli.py (`pairs`) render them.
    """

    @contextmanager
    def within():
        from matplotlib.figure import Figure

        save = Figure.savefig
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Figure, "savefig", lambda _, *where, **how: save(Figure((1, 1)), *where, **how))
            patch.setattr(Figure, "draw_without_rendering", lambda _: None)  # only their layout, which takes as long
            yield

    return within


@pytest.fixture
def blank_files(blank_savefig):
    """Save figures blank throughout a test."""
    with blank_savefig():
        yield


@pytest.fixture(autouse=True)
def _disable_qt_warnings():
    """Override napari's fixture of this name, which imports Qt for every test to silence a warning of Qt 5."""


def pytest_collection_finish():
    """Collect garbage less often, and never scan what has been imported: this took an eighth of the processor time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


def pytest_terminal_summary(terminalreporter):
    """Count the tests skipped for missing data, and explain why the repository does not include them."""
    skipped = [report for report in terminalreporter.getreports("skipped") if MISSING in str(report.longrepr)]
    if skipped:
        terminalreporter.section("data that are not here")
        terminalreporter.write_line(
            f"{len(skipped)} tests skipped: what they read is {MISSING}. Some `python tools/fetch_data.py` brings; "
            "the paper's curves and figures state no licence and cannot be copied. See docs/contributing/data.md; "
            "--require-shared-data has these tests fail."
        )


def pytest_collection_modifyitems(items):
    """Mark tests that use real data, whether included or shared."""
    for item in items:
        if {"real_data", "shared_data"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("real_data")
