"""Images in cells of napari's grid, and their captions."""

import itertools

import numpy as np
import pytest
from napari.utils.notifications import notification_manager
from qtpy.QtCore import QEvent, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtWidgets import QApplication, QListView, QWidget
from scipy import ndimage

from docks import cells, ended, grid_of, set_choices
from image_makers import spots
from napari_shape_ensembles.comparison.design import GROUP
from napari_shape_ensembles.viewer.camera_flight import Flight, move_camera, view_of
from napari_shape_ensembles.viewer.curves.canvas_overlays import CanvasOverlays, Captions
from napari_shape_ensembles.viewer.curves.side_by_side import MAX_CELLS
from napari_shape_ensembles.viewer.docks.bench import Bench
from napari_shape_ensembles.viewer.inputs import OWN
from napari_shape_ensembles.viewer.layers import batched
from napari_shape_ensembles.viewer.session import Session


def test_the_grid_of_napari_is_restored(model):
    heard = []
    grid = grid_of(model)
    before = grid.stride, grid.shape, grid.spacing
    grid.events.enabled.connect(lambda event: heard.append(event.value))
    comparison = Session.of(model).comparison
    comparison.arrange(True)
    grid.enabled = not grid.enabled
    assert len(heard) == 1
    comparison.arrange(False)
    assert (grid.stride, grid.shape, grid.spacing) == before


def test_the_camera_is_restored_unless_the_user_has_moved_it(model):
    for name in ("one", "two"):
        model.add_image(np.zeros((60, 80)), name=name)
    comparison, camera = Session.of(model).comparison, model.scene.camera
    camera.center, camera.zoom = (0, 12, 34), 3.5
    comparison.arrange(True, captioned=True)
    assert camera.zoom != 3.5
    comparison.arrange(False)
    assert (camera.center, camera.zoom) == ((0, 12, 34), 3.5)
    comparison.arrange(True, captioned=True)
    camera.center = 0, 5, 6
    comparison.arrange(False)
    assert camera.center == (0, 5, 6)
    comparison.arrange(True, captioned=True)
    move_camera(model, np.array([0.0, 20.0, 30.0]), 9.0)  # to a curve that was clicked in another view
    comparison.arrange(False)
    assert camera.center == (0, 5, 6)


def test_a_flight_ends_where_the_user_moves_the_camera(model, qtbot):
    model.add_image(np.zeros((60, 80)))
    flight, camera = Flight(model), model.scene.camera
    flight.to(np.array([0.0, 20.0, 30.0]), 9.0)
    camera.center = 0, 5, 6
    qtbot.wait(400)  # longer than a flight
    assert camera.center == (0, 5, 6)
    flight.to(np.array([0.0, 20.0, 30.0]), 9.0)
    qtbot.waitUntil(lambda: camera.center == (0, 20, 30))
    assert camera.zoom == pytest.approx(9)


def test_a_3d_view_is_not_turned(model):
    for name in ("one", "two"):
        model.add_image(np.zeros((4, 60, 80)), name=name)
    comparison, camera = Session.of(model).comparison, model.scene.camera
    model.dims.ndisplay = 3
    camera.angles = 10, 20, 30
    comparison.arrange(True, captioned=True)
    assert camera.angles == (10, 20, 30)
    view_of(model, np.array([[10.0, 10.0], [20.0, 20.0]]))
    model.add_image(np.zeros((4, 90, 80)), name="three")  # the view is fitted afterwards, as its extent has changed
    comparison.arrange(False)
    assert camera.angles == (10, 20, 30)


@pytest.mark.parametrize("selected", [[], ["one"], ["one", "two"]])
def test_the_selected_layers_are_restored_unless_the_user_has_selected_others(two, model, selected):
    model.layers.selection = before = {model.layers[name] for name in selected}
    two.comparison.arrange(False)
    two.comparison.arrange(True, captioned=True)
    OWN.add(model.add_points(name="ours"))  # napari selects it
    two.comparison.arrange(False)
    assert set(model.layers.selection) == before
    two.comparison.arrange(True, captioned=True)
    model.layers.selection = [model.layers["two"]]
    two.comparison.arrange(False)
    assert list(model.layers.selection) == [model.layers["two"]]


def test_images_opened_in_between_are_in_view_afterwards(model):
    comparison, camera = Session.of(model).comparison, model.scene.camera
    camera.center, camera.zoom = (0, 12, 34), 3.5
    comparison.arrange(True, captioned=True)
    for name in ("one", "two"):
        model.add_image(np.zeros((60, 80)), name=name)
    comparison.arrange(True, captioned=True)
    comparison.arrange(False)
    left = camera.center, camera.zoom
    model.reset_view()
    assert left == (camera.center, camera.zoom)


# Without a screen ----------------------------------------------------------------------------------------------


@pytest.fixture
def two(model):
    """A viewer of two images at the same place, A and B, arranged side by side as in the bench."""
    for name in ("one", "two"):
        model.add_image(np.zeros((60, 80)), name=name)
    model.layers.selection = set(model.layers)
    session = Session.of(model)
    session.attach()
    session.comparison.arrange(True, captioned=True)
    yield session
    session.comparison.arrange(False)
    session.detach()


def run_quickly(session, qtbot):
    """Compare A and B, of which nothing but the layers matters."""
    for seed, name in ((1, "one"), (2, "two")):
        session.choices.layers[name].data = spots(seed, rows=3)
    compare_quickly(session, qtbot)


def compare_quickly(session, qtbot):
    """Compare the groups."""
    set_choices(session.choices, permutations=199, landmarks=50, rank=10)
    ended(session.comparison, qtbot, session.comparison.run)
    assert session.comparison.result is not None


def words(session):
    return [caption.text for caption in session.comparison.side_by_side.captions((800, 600))]


BOTH = ["A · one", "B · two"]


def in_cells(model):
    """Names of the visible layers in each cell, in order."""
    boxes = model.canvas.grid.iter_viewboxes(model.layers)
    return [[model.layers[place].name for place in places if model.layers[place].visible] for _, places in boxes]


def test_spacers_fill_cells_with_fewer_layers(two, model):
    model.layers.selection.active = model.layers["two"]
    model.add_points(ndim=2, name="marks")
    two.comparison.side_by_side.arrange()
    assert in_cells(model) == [["one"], ["two", "marks"]]
    (spacer,) = (layer for layer in model.layers if layer not in two.design.offered() and not layer.visible)
    assert model.layers.selection.active is model.layers["marks"]
    model.layers.remove(spacer)
    two.comparison.side_by_side.arrange()
    assert in_cells(model) == [["one"], ["two", "marks"]]
    two.comparison.arrange(False)
    assert [layer.name for layer in model.layers] == ["one", "two", "marks"]


def test_more_images_than_napari_shows_quickly_are_hidden_until_the_user_shows_them(model, qtbot):
    told = []
    for name in range(1, MAX_CELLS + 3):
        model.add_image(np.zeros((60, 80)), name=str(name))
    session, images = Session.of(model), list(model.layers)
    session.attach()
    session.design.write([(image, GROUP, "AB"[place > 5]) for place, image in enumerate(images)])
    with notification_manager:
        notification_manager.notification_ready.connect(told.append)
        session.comparison.arrange(True, captioned=True)
        notification_manager.notification_ready.disconnect(told.append)
    assert "2 images hidden" in told[0].message
    assert in_cells(model) == [["1"], ["2"], ["3"], ["4"], ["7"], ["8"]]
    model.layers["5"].visible = True
    qtbot.waitUntil(lambda: sorted(itertools.chain(*in_cells(model))) == list("1234578"))
    session.comparison.arrange(False)
    assert all(layer.visible for layer in model.layers)
    session.detach()


def test_hidden_images_are_shown_once_there_is_room_for_all(model, qtbot):
    for name in range(1, MAX_CELLS + 3):
        model.add_image(np.zeros((60, 80)), name=str(name))
    session, images = Session.of(model), list(model.layers)
    session.attach()
    session.design.write([(image, GROUP, "AB"[place > 3]) for place, image in enumerate(images)])
    session.comparison.arrange(True, captioned=True)
    assert [layer.name for layer in images if not layer.visible] == ["4", "8"]
    model.layers.remove("1")
    session.comparison.side_by_side.arrange()
    assert [layer.name for layer in model.layers if not layer.visible] == ["4", "8"]
    model.layers.remove("2")
    session.comparison.side_by_side.arrange()
    assert in_cells(model) == [["3"], ["4"], ["5"], ["6"], ["7"], ["8"]]
    model.layers["8"].visible = False  # by the user
    session.comparison.side_by_side.arrange()
    assert not model.layers["8"].visible
    session.detach()


def test_curves_over_images_that_are_hidden_as_too_many_stay_hidden_with_them(model, qtbot):
    for name in range(MAX_CELLS + 2):
        model.add_image(spots(name), name=str(name))
    session, images = Session.of(model), list(model.layers)
    session.attach()
    session.design.write([(image, GROUP, "AB"[place % 2]) for place, image in enumerate(images)])
    session.comparison.arrange(True, captioned=True)
    compare_quickly(session, qtbot)
    assert [layer.visible for layer in session.comparison.curves] == [
        image.visible for image in images[::2] + images[1::2]
    ]
    assert sum(layer.visible for layer in session.comparison.curves) == MAX_CELLS
    hidden = next(image for image in images if not image.visible)
    hidden.visible = True  # its curves come with it, and stay
    qtbot.waitUntil(lambda: sum(layer.visible for layer in session.comparison.curves) == MAX_CELLS + 1)
    session.comparison.side_by_side.arrange()
    assert hidden.visible
    assert sum(image.visible for image in images) == MAX_CELLS + 1
    curves = session.comparison.curves
    row = next(first for layer, first in curves.with_first_rows() if not layer.visible)
    overlays = CanvasOverlays(page := QWidget(), session.comparison)
    qtbot.addWidget(page)
    overlays.fly_to(row)  # to a typical outline of the other hidden image
    assert curves.layer_of(row).visible
    assert all(image.visible for image in images)
    session.comparison.arrange(False)
    assert all(layer.visible for layer in session.comparison.curves)
    session.detach()


def test_an_image_that_was_shown_for_one_of_its_curves_is_hidden_again(model, qtbot):
    """Else a walk through a gallery ends with more images than napari shows quickly."""
    for name in range(MAX_CELLS + 3):
        model.add_image(spots(name), name=str(name))
    session, images = Session.of(model), list(model.layers)
    session.attach()
    session.design.write([(image, GROUP, "AB"[place % 2]) for place, image in enumerate(images)])
    session.comparison.arrange(True, captioned=True)
    compare_quickly(session, qtbot)
    before = [image.visible for image in images]
    curves = session.comparison.curves
    rows = [first for layer, first in curves.with_first_rows() if not layer.visible]
    assert len(rows) == 3
    overlays = CanvasOverlays(page := QWidget(), session.comparison)
    qtbot.addWidget(page)
    for row in [*rows, rows[0]]:
        overlays.fly_to(row)
        assert curves.layer_of(row).visible
        session.comparison.side_by_side.arrange()
        assert sum(image.visible for image in images) == MAX_CELLS + 1
        assert sum(layer.visible for layer in curves) == MAX_CELLS + 1
    assert all(image.visible for image, shown in zip(images, before, strict=True) if shown)
    session.detach()


def test_curves_of_a_deleted_image_are_captioned_by_its_group(model, qtbot):
    for name in range(4):
        model.add_image(spots(name), name=str(name))
    session, images = Session.of(model), list(model.layers)
    session.attach()
    session.design.write([(image, GROUP, "ko" if place < 2 else "wt") for place, image in enumerate(images)])
    session.comparison.arrange(True, captioned=True)
    compare_quickly(session, qtbot)
    model.layers.remove("0")
    qtbot.waitUntil(lambda: "ko · 0 curves" in words(session))
    assert words(session)[1:] == ["ko · 1", "wt · 2", "wt · 3"]
    session.detach()


def test_batches_of_layers_nest(model):
    told = []
    model.layers.events.begin_batch.connect(lambda _: told.append("begin"))
    model.layers.events.end_batch.connect(lambda _: told.append("end"))
    with batched(model.layers):
        with batched(model.layers):
            pass
        assert told == ["begin"]
    assert told == ["begin", "begin", "end"]  # announced again before its end, for CanvasContext


def test_the_view_is_fitted_to_all_replaced_images(two, model, qtbot):
    """By itself, napari fits the view to the first of them, here the smaller; the user has not moved the camera."""
    model.layers.clear()
    for name, side in (("small", 3), ("large", 300)):
        model.add_image(np.zeros((side, side)), name=name)
    model.layers.selection = set(model.layers)
    qtbot.waitUntil(lambda: words(two) == ["A · small", "B · large"])
    zoom = model.scene.camera.zoom
    two.comparison.arrange(False)
    two.comparison.arrange(True, captioned=True)
    assert zoom == pytest.approx(model.scene.camera.zoom)


def test_annotation_layers_are_in_the_cell_of_their_image(two, model, qtbot):
    def in_cells(one, other):
        wanted = [{"one", *one}, {"two", *other}]
        qtbot.waitUntil(lambda: sorted(cells(model).values(), key=lambda cell: "two" in cell) == wanted)
        assert words(two) == BOTH

    model.layers.selection.active = model.layers["one"]
    first = model.add_points(ndim=2, name="first")
    in_cells({"first"}, set())
    model.layers.selection.active = model.layers["two"]
    painted = model.add_labels(np.zeros((60, 80), dtype=int), name="painted")
    drawn = model.add_shapes(ndim=2, name="drawn")
    in_cells({"first"}, {"painted", "drawn"})
    model.layers.selection.active = first
    model.add_vectors(np.ones((1, 2, 2)), name="arrows")
    in_cells({"first", "arrows"}, {"painted", "drawn"})
    painted.data_setitem(np.nonzero(np.pad(np.ones((4, 4)), ((5, 51), (5, 71)))), 1)
    drawn.add_rectangles([[5, 5], [9, 9]])
    model.layers["two"].name = "2"
    model.layers["2"].name = "two"
    in_cells({"first", "arrows"}, {"painted", "drawn"})
    assert [layer.name for layer in model.layers] == ["one", "first", "arrows", "two", "painted", "drawn"]
    assert list(two.design.groups().values()) == [[model.layers["one"]], [model.layers["two"]]]
    two.choices.design.choose([model.layers["one"]], [painted])
    qtbot.waitUntil(lambda: {"two", "painted", "drawn"} in cells(model).values())
    two.choices.design.choose([model.layers["two"]], [painted])
    qtbot.waitUntil(lambda: words(two) == ["A · two", "B · painted", "– · one"])
    two.choices.design.choose([model.layers["one"]], [model.layers["two"]])
    model.layers.remove("two")  # and the painted layer does not take its place
    assert two.choices.design.sides()[1] == ()


def test_a_fitted_view_changes_only_with_the_canvas_or_images(two, model, qtbot):
    told = []
    model.scene.camera.events.connect(told.append)
    two.comparison.side_by_side.schedule_arrange()
    qtbot.wait(700)  # until the view would be fitted again, once docks have their final size
    assert not told
    model.canvas.size = 300, 800
    qtbot.waitUntil(lambda: bool(told))
    told.clear()
    model.layers["two"].translate = (0, 40)
    qtbot.waitUntil(lambda: bool(told))


def test_earlier_annotation_layers_are_in_the_cell_of_the_first_image(model):
    for name in ("one", "two"):
        model.add_image(np.zeros((60, 80)), name=name)
    model.add_points([[5, 5], [70, 9]], name="marks")  # one of them beside the images
    model.add_labels(np.zeros((60, 80), dtype=int), name="one - Labels")
    session = Session.of(model)
    session.attach()
    session.comparison.arrange(True, captioned=True)
    assert {"one", "marks", "one - Labels"} in cells(model).values()
    session.design.fill("{group}")
    assert list(session.design.groups()) == ["one", "two"]
    session.comparison.arrange(False)
    session.detach()


def test_labels_over_several_images_get_a_cell_of_their_own(two, model, qtbot):
    model.add_labels(np.ones((60, 80), dtype=int), name="labels")
    qtbot.waitUntil(lambda: words(two) == [*BOTH, "– · labels"])
    model.layers["two"].translate = model.layers["labels"].translate = 0, 50
    qtbot.waitUntil(lambda: words(two) == BOTH and {"two", "labels"} in cells(model).values())


def test_labels_are_in_the_cell_of_the_image_with_the_same_name(two, model, qtbot):
    model.add_labels(np.ones((60, 80), dtype=int), name="two_mask")
    qtbot.waitUntil(lambda: words(two) == BOTH and {"two", "two_mask"} in cells(model).values())


def test_a_hidden_image_has_its_own_cell_again_when_it_is_shown(two, model, qtbot):
    apart = {(0, 0), (1, 0)}
    assert set(cells(model)) == apart
    model.layers["one"].visible = False
    model.layers["two"].name = "alone"  # arranged anew, as large as the canvas allows
    qtbot.waitUntil(lambda: words(two) == ["B · alone"])
    model.layers["one"].visible = True
    qtbot.waitUntil(lambda: set(cells(model)) == apart)
    assert words(two) == ["A · one", "B · alone"]


def test_curves_of_a_deleted_image_lie_over_the_one_that_is_opened_again(two, model, qtbot):
    run_quickly(two, qtbot)
    before = cells(model)
    (image,) = (layer for layer in model.layers if layer.name == "one")
    model.layers.remove(image)
    qtbot.waitUntil(lambda: words(two) == ["A · one curves", "B · two"])
    model.add_image(image.data, name="one")
    qtbot.waitUntil(lambda: words(two) == BOTH)
    assert cells(model) == before
    model.layers["one"].name = "another"
    model.layers.remove("another")
    model.add_image(image.data, name="third")  # of another name, thus perhaps of another scene
    qtbot.waitUntil(lambda: len(words(two)) == 3)
    assert {"third"} in cells(model).values()


def test_a_grid_disabled_by_the_user_stays_disabled(two, model, qtbot):
    heard, grid = [], grid_of(model)
    assert words(two) == BOTH
    before = model.scene.camera.zoom
    grid.enabled = False
    assert words(two) == []
    grid.events.enabled.connect(lambda event: heard.append(event.value))
    model.layers["two"].name = "other"
    model.add_image(np.zeros((60, 80)), name="third")
    qtbot.wait(300)  # longer than arranging takes
    qtbot.waitUntil(lambda: model.scene.camera.zoom > 1.2 * before)  # there is room for one again
    assert heard == []
    assert words(two) == []
    grid.enabled = True
    three = ["A · one", "B · other", "– · third"]
    qtbot.waitUntil(lambda: words(two) == three and len(cells(model)) == 3)
    grid.enabled = False
    two.comparison.arrange(False)
    assert not grid.enabled


def test_captions_follow_the_unit_and_displayed_axes(model, qtbot):
    coarse = model.add_image(np.zeros((50, 100)), name="one", scale=(0.5, 0.5), units=("um", "um"))
    fine = model.add_image(np.zeros((50, 100)), name="two", scale=(250, 250), units=("nm", "nm"))
    session = Session.of(model)
    session.attach()
    session.comparison.arrange(True, captioned=True)

    def sizes():
        captions = session.comparison.side_by_side.captions((800, 600))
        return np.array([np.subtract(one.bottom_right, one.top_left) for one in captions])

    assert sizes() == pytest.approx(sizes()[0] * [[1], [0.5]], rel=0.02)
    assert sizes().max() > 350  # the larger image fills its cell of 800 × 300
    coarse.units, fine.units = ("pixel",) * 2, ("pixel",) * 2
    coarse.scale = fine.scale = 1, 1
    model.layers.remove(fine)
    model.layers.remove(coarse)
    for name in ("one", "two"):
        model.add_image(np.zeros((4, 50, 100)), name=name)
    model.dims.order = 2, 0, 1
    model.reset_view()
    qtbot.waitUntil(lambda: len(sizes()) == 2)
    assert sizes()[:, 1] * 49 == pytest.approx(sizes()[:, 0] * 3)
    session.comparison.arrange(False)
    session.detach()


# On the screen -------------------------------------------------------------------------------------------------


def boxes(viewer):
    """Bounding boxes of the images on the canvas (top, left, bottom, right), by their uniform brightness."""
    seen = np.asarray(viewer.screenshot(canvas_only=True, flash=False))[..., 0]
    found = {}
    for value in (100, 200):
        labels, _ = ndimage.label(np.abs(seen.astype(int) - value) < 5)
        (rows, columns) = ndimage.find_objects(np.where(labels == np.argmax(np.bincount(labels.flat)[1:]) + 1, 1, 0))[0]
        found[value] = rows.start, columns.start, rows.stop, columns.stop
    return found


def is_above(captions, box, words):
    """Whether a caption is right above an image with this bounding box, aligned with its left edge."""
    top, left, _, _ = box
    rooms = [room for caption, room in captions.shown if caption.text == words]
    return any(abs(room.bottom() - top) <= 4 and abs(room.left() - left) <= 3 for room in rooms)


@pytest.mark.parametrize("apart", [False, True])
def test_captions_are_above_their_images_and_move_with_them(make_napari_viewer, qtbot, apart):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1100, 700)
    options = {"contrast_limits": (0, 255)}
    viewer.add_image(np.full((60, 80), 100.0), name="one", **options)
    viewer.add_image(np.full((60, 80), 200.0), name="two", translate=(0, 100 * apart), **options)
    viewer.layers.selection = set(viewer.layers)
    bench = Bench(viewer)
    viewer.window.add_dock_widget(bench)
    qtbot.waitUntil(lambda: len(viewer.window._qt_window.findChildren(Captions)) == 1)
    (captions,) = viewer.window._qt_window.findChildren(Captions)
    both = {100: "A · one", 200: "B · two"}

    def right():
        if len(captions.shown) != 2:
            return False
        found = boxes(viewer)
        return all(is_above(captions, found[value], words) for value, words in both.items())

    qtbot.waitUntil(lambda: grid_of(viewer).enabled is not apart)
    qtbot.waitUntil(right)
    assert captions.isVisible()
    assert captions.accessibleName() == "A · one, B · two"
    font = captions.font()
    font.setPointSizeF(1.5 * font.pointSizeF())
    captions.setFont(font)  # as set by the style sheet after the first captions: none is cut off
    for caption, room in captions.shown:
        assert room.width() > captions.fontMetrics().horizontalAdvance(caption.text)
    viewer.scene.camera.zoom *= 0.7
    viewer.scene.camera.center = 0, 10, 20 + 50 * apart
    qtbot.waitUntil(right)
    viewer.layers["one"].name = "first"
    both[100] = "A · first"
    qtbot.waitUntil(right)
    bench.session.design.swap()
    both.update({100: "B · first", 200: "A · two"})
    qtbot.waitUntil(right)
    viewer.layers["two"].visible = False
    qtbot.waitUntil(lambda: [one.text for one, _ in captions.shown] == ["B · first"])
    viewer.scene.camera.zoom *= 8  # its upper edge is outside the view
    ((_, room),) = captions.shown
    assert room.top() >= 0
    viewer.scene.camera.center = 0, 1e4, 0
    assert not captions.isVisible()
    viewer.layers["two"].visible = True
    viewer.reset_view()
    qtbot.waitUntil(lambda: len(captions.shown) == 2)
    viewer.add_shapes(ndim=2)  # as by a click on napari's grid button: it has no extent yet
    viewer.scene.camera.zoom *= 0.9
    if not apart:
        canvas = captions.parentWidget()
        viewer.layers.selection.active = viewer.layers["two"]
        marks = viewer.add_points(ndim=2)
        qtbot.waitUntil(lambda: right() and len(cells(viewer)) == 2)
        marks.mode = "add"
        for value in (100, 200):  # in both cells
            top, left, bottom, _ = boxes(viewer)[value]
            pixel = (bottom - top) / 60
            place = QPointF(left + 20.5 * pixel, top + 10.5 * pixel)
            for kind in (QEvent.Type.MouseMove, QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
                held = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseMove else Qt.MouseButton.LeftButton
                everywhere = canvas.mapToGlobal(place)
                event = QMouseEvent(kind, place, everywhere, held, held, Qt.KeyboardModifier.NoModifier)
                QApplication.sendEvent(canvas, event)
        assert marks.data == pytest.approx(np.array([[10, 20]] * 2), abs=0.5)
    assert len(captions.shown) == 2
    bench.session.comparison.arrange(False)
    viewer.reset_view()
    qtbot.waitUntil(lambda: not captions.isVisible())


def test_spacers_have_no_row_in_the_layer_list(viewer, qtbot):
    for name in ("one", "two"):
        viewer.add_image(spots(1), name=name)
    bench = Bench(viewer)
    viewer.window.add_dock_widget(bench, name="Shape bench")
    viewer.layers.selection.active = viewer.layers["two"]
    viewer.add_points(ndim=2, name="marks")
    spacers = bench.session.comparison.side_by_side.spacers
    qtbot.waitUntil(lambda: len(spacers()) == 1)

    def hidden():
        views = bench.window().findChildren(QListView)
        places = [(view, row) for view in views for row in range(view.model().rowCount()) if view.isRowHidden(row)]
        return [view.model().index(row, 0).data(Qt.ItemDataRole.UserRole) for view, row in places]

    qtbot.waitUntil(lambda: hidden() == spacers())


@pytest.mark.filterwarnings("error")
def test_images_may_all_be_hidden(two, model):
    two.comparison.arrange(True)
    for layer in model.layers:
        layer.visible = False
    two.comparison.side_by_side.arrange()
    assert not any(in_cells(model))
