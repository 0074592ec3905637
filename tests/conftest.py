"""Fixtures that tests in every room use, and what every process that runs tests needs of its own."""

import gc
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

# What is imported until all tests are collected stays: to search it for garbage would take a tenth of that time.
gc.disable()
# Each process that runs tests keeps to itself. No settings of a person's own napari are read, and none are written.
os.environ["NAPARI_CONFIG"] = ""
# Processes share what they have compiled: each would need seconds to do so again, where it may not keep it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# What is large enough for compiled kernels is computed by NumPy all the same, but where a test asks for both.
os.environ.setdefault("SHAPE_ENSEMBLES_KERNELS", "never")
# Processes of Dask's are forked from one that has imported it: each would take a second to do so itself.
if sys.platform != "win32":
    os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
# Nothing that tests write has to outlast a power failure, and waiting for the disk takes long.
os.fsync = lambda _: None
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
if WORKER:
    # Workers share the processors, so that each has one thread for linear algebra.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # numba's cache breaks for good when two processes fill it at once (numba/numba#10128).
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parents[1] / ".pytest_cache" / "numba" / WORKER)

REAL = Path(__file__).with_name("data")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MISSING = "not in ../shared/data beside the repository"


def pytest_addoption(parser):
    parser.addoption("--require-shared-data", action="store_true", help="tests without ../shared/data fail, not skip")


def pytest_configure(config):
    """Open a virtual screen where there is none, and one for each worker: windows on one screen share one focus."""
    has_screen = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if sys.platform == "linux" and shutil.which("Xvfb") and (WORKER or not has_screen):
        os.environ |= {"DISPLAY": virtual_screen(config), "QT_QPA_PLATFORM": "xcb"}


def virtual_screen(config):
    """Start a virtual screen that ends with this process, in whatever way that ends, and return its name."""
    command = "Xvfb -displayfd 1 -screen 0 1600x1200x24 & exec >&-; read _; kill $!"
    pipe = subprocess.PIPE
    server = subprocess.Popen(["sh", "-c", command], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    config.add_cleanup(server.communicate)
    number = server.stdout.readline().strip()
    if not number:
        raise pytest.UsageError("Xvfb does not start")
    return f":{number}"


# The same examples every time, so that a change is judged by what it changes. `--hypothesis-profile=thorough` searches
# for new ones, and longer where a test sets no number of examples: the tests of bad input.
settings.register_profile("usual", settings.default, deadline=None, derandomize=True)
settings.register_profile("thorough", settings.default, max_examples=10_000, deadline=5000, derandomize=False)
settings.load_profile("usual")


@pytest.fixture(scope="session")
def real_data():
    """Return the folder of the data that the repository holds, `tests/data`."""
    return REAL


class SharedData:
    """The data that the repository cannot hold, `../shared/data` beside it; a set that is not there skips the test."""

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
    """Return the data that the repository cannot hold; `shared_data / "paper"` is a folder."""
    return SharedData(pytestconfig.getoption("require_shared_data"))


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """Compile the kernels where they are not yet: one worker does so, which takes half a minute, and others wait."""
    pytest.importorskip("numba")
    from napari_shape_ensembles.compiled import forced

    shared = tmp_path_factory.getbasetemp().parent if WORKER else tmp_path_factory.getbasetemp()
    with FileLock(shared / "kernels.lock"), forced("compiled"):
        pass


@pytest.fixture(scope="session")
def both_ways(kernels):
    """Return what calls a function twice, by NumPy and with compiled kernels, and returns both results."""
    from napari_shape_ensembles.compiled import forced

    def call(function):
        results = []
        for way in ("numpy", "compiled"):
            with forced(way):
                results.append(function())
        return results

    return call


@pytest.fixture(scope="session")
def orix():
    """Import orix to be interpreted: numba would compile it for 15 s, and the maps of tests are small."""
    numba = pytest.importorskip("numba")
    # numba itself, which napari uses too, is not to be interpreted: it is imported whole before.
    _ = numba.typed.Dict, numba.typed.List, numba.njit(lambda value: value)(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        pytest.importorskip("orix.quaternion").Orientation  # noqa: B018 (it imports what it needs when it is asked for)


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own, on this machine only, without a web page."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def blank_figures(monkeypatch):
    """Let reports be drawn with blank figures, in a tenth of the time, where a test is not about what they show."""
    from matplotlib.figure import Figure

    from napari_shape_ensembles.explanation import figures, report

    for module in (figures, report):
        monkeypatch.setattr(module, "figures", lambda _: {name: Figure() for name in figures.FIGURES})


@pytest.fixture(scope="session")
def saved_blank():
    """Return a context where figures are made but saved blank: for what is not about them, as rendering takes long."""

    @contextmanager
    def within():
        from matplotlib.figure import Figure

        save = Figure.savefig
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Figure, "savefig", lambda _, *where, **how: save(Figure((1, 1)), *where, **how))
            yield

    return within


@pytest.fixture
def blank_files(saved_blank):
    """Let figures be saved blank throughout a test."""
    with saved_blank():
        yield


@pytest.fixture(autouse=True)
def _disable_qt_warnings():
    """Import no Qt for tests that need none, as napari's fixture of this name does, for a warning of Qt 5."""


def pytest_collection_finish():
    """Search for garbage less often, and not in what is imported by now: it took an eighth of the processor time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


def pytest_terminal_summary(terminalreporter):
    """Count the tests that were skipped for want of data, and say why the repository does not hold them."""
    skipped = [report for report in terminalreporter.getreports("skipped") if MISSING in str(report.longrepr)]
    if skipped:
        terminalreporter.section("data that are not here")
        terminalreporter.write_line(
            f"{len(skipped)} tests skipped: what they read is {MISSING}. Some `python tools/fetch_data.py` brings; "
            "the paper's curves and figures state no licence and cannot be copied. See docs/data.md; "
            "--require-shared-data has these tests fail."
        )


def pytest_collection_modifyitems(items):
    """Mark what uses real data, wherever they lie."""
    for item in items:
        if {"real_data", "shared_data"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("real_data")
