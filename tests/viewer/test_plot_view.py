"""Plots in docks do not leak."""

import gc
import time
import weakref

from docks import destroy
from napari_shape_ensembles.viewer.panels.plot_view import PlotView


class Study:
    """A plot that holds a large object."""

    def __call__(self, figure):
        return [figure.add_subplot()]


def test_a_replaced_plot_is_released(make_napari_viewer, qtbot):
    viewer = make_napari_viewer()  # its window lists every worker
    view = PlotView()
    qtbot.addWidget(view)
    view.resize(400, 500)
    study = Study()
    left = weakref.ref(study)
    with qtbot.waitSignal(view.drawn):
        view.show_plot(study)
    assert view.axes
    with qtbot.waitSignal(view.drawn):
        view.show_plot(lambda figure: [figure.add_subplot()])
    del study
    qtbot.wait(50)  # for pending signals of the worker
    gc.collect()
    assert left() is None
    assert viewer.layers is not None


def test_closing_a_plot_while_it_is_drawn_raises_no_error(qtbot):
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
    qtbot.waitUntil(lambda: bool(drawn))
    qtbot.wait(300)
