"""What a figure in a dock leaves behind."""

import gc
import weakref

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
