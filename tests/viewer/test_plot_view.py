"""What a figure in a dock leaves behind."""

import gc
import time
import weakref

from docks import destroy
from napari_shape_ensembles.viewer.panels.plot_view import PlotView


class Study:
    """A plot that holds much."""

    def __call__(self, figure):
        return [figure.add_subplot()]


def test_a_plot_no_longer_shown_is_let_go(make_napari_viewer, qtbot):
    viewer = make_napari_viewer()  # its window lists every worker
    view = PlotView()
    qtbot.addWidget(view)
    view.resize(400, 500)
    study = Study()
    left = weakref.ref(study)
    with qtbot.waitSignal(view.drawn, timeout=20_000):
        view.show_plot(study)
    assert view.axes
    with qtbot.waitSignal(view.drawn, timeout=20_000):
        view.show_plot(lambda figure: [figure.add_subplot()])
    del study
    qtbot.wait(50)  # for what the worker has still to say
    gc.collect()
    assert left() is None
    assert viewer.layers is not None


def test_a_plot_that_is_closed_while_it_is_drawn_leaves_no_error(qtbot):
    view = PlotView()
    view.resize(400, 500)
    view.show()
    drawn = []

    def slowly(figure):
        time.sleep(0.2)
        drawn.append(figure)
        return [figure.add_subplot()]

    view.show_plot(slowly)
    destroy(view, qtbot)
    qtbot.waitUntil(lambda: bool(drawn), timeout=20_000)
    qtbot.wait(300)
