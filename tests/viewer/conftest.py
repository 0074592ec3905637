"""Fixtures for viewer tests: a viewer with the dock, small images, and a finished comparison."""

import os
import pickle
import shutil
import sys
from functools import cache, partial
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.utils.events import EventedModel, EventEmitter
from npe2 import PluginManifest
from qtpy.QtCore import QEventLoop
from qtpy.QtWidgets import QFileDialog

from curve_makers import blobs
from docks import open_answer, run, set_choices
from image_makers import spots
from napari_shape_ensembles import Ensemble, Settings, compare, explain
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.task import JobRunner

# Access to layers from another thread and leaked widgets are errors.
os.environ["NAPARI_ENSURE_PLUGIN_MAIN_THREAD"] = "1"
os.environ["NAPARI_STRICT_QT"] = "1"


@pytest.fixture
def qtbot(qtbot):
    """Wait for up to a minute: how soon something happens depends on what else the machine does."""
    qtbot.waitUntil = partial(qtbot.waitUntil, timeout=60_000)
    qtbot.waitSignal = partial(qtbot.waitSignal, timeout=60_000)
    return qtbot


@pytest.fixture(scope="session", autouse=True)
def manifests_read_once():
    """Read the manifest of each plugin once: every napari window would discover all plugins again."""
    from_file = PluginManifest.from_file
    read = cache(lambda path: pickle.dumps(from_file(path)))  # deep-copying a manifest takes ten times as long
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PluginManifest, "from_file", lambda path: pickle.loads(read(path)))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_welcome():
    """Skip napari's welcome message, which no test shows: it is rebuilt for each of hundreds of key bindings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("napari._qt.widgets.qt_welcome.QtWelcomeWidget.refresh", lambda *_: None, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_pauses():
    """Run event loop turns without pauses: the event loop still runs between two turns, but is not left idle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobRunner, "turn_pause_ms", 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def signatures_read_once():
    """Cache function signatures: napari inspects one for each of the hundreds of callbacks connected to a layer."""
    look, known = EventEmitter._check_signature, {}

    def looked(function):
        # napari forwards events from emitter to emitter, hundreds of them for each layer.
        forwards = isinstance(function, EventEmitter)
        what = type(function).__call__ if forwards else getattr(function, "__func__", function)
        if not isinstance(what, FunctionType) or hasattr(what, "__wrapped__"):  # not its own signature
            return look(function)
        key = what.__code__, function is what  # a bound method takes one argument less
        if key not in known:
            known[key] = look(function)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EventEmitter, "_check_signature", staticmethod(looked))
        yield


@pytest.fixture(scope="session", autouse=True)
def events_read_directly():
    """Read `events` of napari's models past pydantic, which takes ten times as long, thousands of times a test."""
    name = "events"
    slow, private = getattr(EventedModel, name), f"_{name}"

    def events(model):
        try:
            return object.__getattribute__(model, "__pydantic_private__")[private]
        except (AttributeError, KeyError, TypeError):  # not yet initialized
            return slow.fget(model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EventedModel, name, property(events))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_full_gc_for_each_layer():
    """Skip the full garbage collection (0.1 s) by which napari works around a driver bug when layers are removed."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform != "win32":
            patch.setattr("napari._vispy.canvas.gc", SimpleNamespace(collect=lambda: 0), raising=False)
        yield


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def dock(viewer, qtbot):
    """The dock, opened through the manifest, with two images."""
    viewer.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    viewer.add_image(spots(2), name="two", scale=(0.5, 0.5), units=("um", "um"))
    return open_answer(viewer, qtbot)


@pytest.fixture
def model():
    """Headless viewer model, faster than a window and sufficient if nothing is drawn. Its canvas is wider than high."""
    model = ViewerModel()
    model.canvas.size = 600, 800
    return model


@pytest.fixture
def bare_dock(model, qtbot):
    """The dock without a window, with two images."""
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    return open_answer(model, qtbot)


@pytest.fixture
def answer(monkeypatch):
    """Return a function that makes file dialogs return a path."""

    def with_path(path, kind=""):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), kind))
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), kind))
        return path

    return with_path


@pytest.fixture
def finished_dock(bare_dock, qtbot):
    """The dock after a comparison of two images that differ in size."""
    set_choices(bare_dock.session.choices, rank=20)
    run(bare_dock, qtbot)
    return bare_dock


@pytest.fixture(scope="session")
def shared_file(tmp_path_factory):
    """The file of the comparison of `shared_dock`."""
    return tmp_path_factory.mktemp("shared") / "pair.comparison.npz"


@pytest.fixture(scope="session")
def shared_dock(qapp, shared_file):
    """The same in a viewer of its own, saved, for tests that only look."""
    viewer = ViewerModel()
    for seed, name in ((1, "one"), (2, "two")):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    dock = AnswerPage(viewer)
    set_choices(dock.session.choices, permutations=199, landmarks=50, rank=20)
    task, loop = dock.comparison, QEventLoop()
    for start in (task.run, lambda: task.save(shared_file)):
        start()
        while task.busy:
            loop.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    assert dock.state == "done"
    assert not task.unsaved
    yield dock
    dock.deleteLater()


@pytest.fixture
def saved(shared_dock, shared_file, tmp_path):
    """The saved comparison of `shared_dock`, in a file of its own."""
    return shutil.copy(shared_file, tmp_path / shared_file.name)


@pytest.fixture(scope="session")
def comparison():
    """A result without dock and layers. B is larger; the ids of A begin at 100."""
    a = Ensemble(list(blobs(30, 80, seed=1)), name="one", unit="µm", ids=np.arange(100, 130))
    b = Ensemble(list(blobs(35, 80, seed=2) * 1.6), name="two <b>", unit="µm")
    return compare(a, b, Settings(landmarks=100, rank=20, permutations=199))


@pytest.fixture(scope="session")
def explanation(comparison):
    return explain(comparison)


@pytest.fixture
def shown(qtbot):
    """Return a function that shows a widget at a given size."""

    def show(widget, width=420, height=600):
        qtbot.addWidget(widget)
        widget.resize(width, height)
        with qtbot.waitExposed(widget):
            widget.show()
        return widget

    return show
