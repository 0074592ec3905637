"""Layer transforms and outlines: applied completely, or rejected."""

from dataclasses import replace

import numpy as np
import pytest
from napari.layers import Shapes
from skimage.draw import polygon2mask
from skimage.measure import label

from curve_makers import blobs, rotation
from docks import move_on_canvas, open_answer, press_on_canvas, run, selected_rows
from image_makers import labels_of, spots
from napari_shape_ensembles import Settings, compare
from napari_shape_ensembles.io import Calibration, read_curves
from napari_shape_ensembles.viewer import layers as own_layers
from napari_shape_ensembles.viewer.camera_flight import view_of
from napari_shape_ensembles.viewer.docks.pixel_size import calibrate, calibration_of
from napari_shape_ensembles.viewer.inputs import ensemble_of, fingerprint, plane_of, source_of
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.shapes_writer import write_shapes
from napari_shape_ensembles.viewer.world import drawn_at, pixels_at

DOUBLE = np.diag([2.0, 2.0, 1.0])
TURN = np.block([[rotation(0.4), np.zeros((2, 1))], [np.array([[0, 0, 1.0]])]])
SHEAR = np.array([[1.0, 0.4, 0], [0, 1, 0], [0, 0, 1]])


def layers(model, **transform):
    """The same blobs as an image, as labels and as shapes, all with one transform."""
    curves = [curve * 8 + 100 for curve in blobs(6, 80, elongation=1.5)]
    return (
        model.add_image(spots(1), name="image", **transform),
        model.add_labels(label(spots(1, noise=0) > 0.5), name="labels", **transform),
        model.add_shapes(curves, shape_type="polygon", name="shapes", **transform),
    )


def areas(layer, model):
    return ensemble_of(layer, model.dims).features["area"].to_numpy()


@pytest.mark.parametrize(
    ("transform", "factor"),
    [
        ({"affine": DOUBLE}, 4),
        ({"affine": TURN}, 1),
        ({"affine": TURN @ DOUBLE}, 4),
        ({"affine": DOUBLE, "scale": (0.5, 0.5)}, 1),
        ({"affine": np.diag([2.0, 1.0, 1.0]), "scale": (1, 3)}, 6),
        ({"scale": (-2, 2)}, 4),
        ({"affine": np.diag([-1.0, 1.0, 1.0])}, 1),
        ({"rotate": 30, "scale": (2, 1)}, 2),
        ({"translate": (5000, 20000)}, 1),
    ],
    ids=str,
)
def test_the_whole_transform_is_applied(model, transform, factor):
    for plain, moved in zip(layers(model), layers(model, **transform), strict=True):
        np.testing.assert_allclose(areas(moved, model), factor * areas(plain, model), rtol=1e-9)


@pytest.mark.parametrize(
    "transform",
    [{"affine": SHEAR}, {"shear": [0.4]}, {"rotate": 30, "affine": np.diag([2.0, 1.0, 1.0])}],
    ids=["affine", "shear", "stretched askew"],
)
def test_a_sheared_layer_is_rejected(model, transform):
    for layer in layers(model, **transform):
        with pytest.raises(ValueError, match=r"is sheared.*reset its shear and affine transform, or resample it"):
            ensemble_of(layer, model.dims)


def test_scaling_by_affine_and_by_scale_is_equivalent(model):
    one = model.add_labels(labels_of(1), name="one")
    rows = []
    for options in ({"affine": DOUBLE}, {"scale": (2, 2)}):
        other = model.add_labels(labels_of(2), name="two", **options)
        pair = (ensemble_of(layer, model.dims) for layer in (one, other))
        rows.append(compare(*pair, Settings(landmarks=60, rank=5, permutations=300)).case)
    assert rows == ["1∧0", "1∧0"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("affine", DOUBLE),
        ("shear", [0.4]),
        ("scale", (3, 3)),
        ("scale", (-1, 1)),
        ("affine", np.diag([1.0, -1.0, 1.0])),
        ("affine", SHEAR),
    ],
    ids=str,
)
def test_editing_the_transform_is_a_change(model, name, value):
    for layer in layers(model):
        before = fingerprint(layer, model.dims)
        as_before = getattr(layer, name)
        setattr(layer, name, value)
        assert fingerprint(layer, model.dims) != before
        setattr(layer, name, as_before)
        assert fingerprint(layer, model.dims) == before


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_editing_a_few_pixels_of_a_large_image_is_a_change(model, dtype):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 200, (4200, 4101)).astype(dtype)
    layer = model.add_labels(pixels)
    seen = {fingerprint(layer, model.dims)}
    edits = [
        (slice(-1, None), slice(-1, None), 1),  # the last pixel
        (slice(7, 8), slice(3, 4), 201),
        (slice(100, 140), slice(200, 230), 202),
        (slice(100, 140), slice(200, 230), 203),  # another label
    ]
    for rows, columns, value in edits:
        pixels[rows, columns] = value
        seen.add(fingerprint(layer, model.dims))
    patch = pixels[1000:1100, 1000:1100].copy()
    for place in ((2000, 2000), (2001, 2000), (2000, 2001), (3000, 2000), (2000, 2008)):  # an object that is moved
        there = slice(place[0], place[0] + 100), slice(place[1], place[1] + 100)
        before = pixels[there].copy()
        pixels[there] = patch
        pixels[1000:1100, 1000:1100] = before
        seen.add(fingerprint(layer, model.dims))
        pixels[there], pixels[1000:1100, 1000:1100] = before, patch
    assert len(seen) == 1 + len(edits) + 5
    pixels[100:101, 200:201] = 204
    changed = fingerprint(layer, model.dims)
    pixels[100:101, 200:201] = 203
    assert fingerprint(layer, model.dims) in seen
    assert changed not in seen


def test_a_layer_rotated_out_of_its_plane_is_rejected(model):
    affine = np.eye(4)
    affine[0, 2] = 0.5
    layer = model.add_image(np.zeros((3, 20, 20)), affine=affine)
    with pytest.raises(ValueError, match="rotated out of the displayed plane"):
        source_of(layer, model.dims)


def test_plugin_layers_are_aligned_with_their_layer(model):
    layer = model.add_labels(labels_of(1), affine=TURN @ DOUBLE, scale=(1, 3), translate=(4, 5))
    source = source_of(layer, model.dims)
    copy = Shapes(list(ensemble_of(layer, model.dims).curves), shape_type="polygon", **source.placement)
    for point in np.random.default_rng(0).uniform(0, 100, (5, 2)):
        np.testing.assert_allclose(copy.data_to_world(point), layer.data_to_world(point))


VIEWS = {
    "µm and nm": ({"scale": (0.5, 0.5), "units": ("um", "um")}, {"scale": (200, 200), "units": ("nm", "nm")}, None),
    "transposed": ({"scale": (1, 2)}, {"translate": (9, 30)}, (1, 0)),
    "a stack from the side": ({"scale": (1, 5, 1)}, {"scale": (1, 5, 1), "translate": (9, 0, 30)}, (1, 0, 2)),
    "a stack from the side, transposed": ({"scale": (5, 1, 2)}, {"scale": (5, 1, 1)}, (0, 2, 1)),
}


@pytest.mark.parametrize("most", [0, 5000], ids=["painted", "shapes"])
@pytest.mark.parametrize("case", VIEWS)
def test_outlines_match_their_objects_in_every_view(model, qtbot, monkeypatch, case, most):
    monkeypatch.setattr(own_layers, "MAX_SHAPES", most)
    *options, order = VIEWS[case]
    across = len(options[0]["scale"]) - 2 and order[0]  # the axis of the planes
    images = []
    for seed, name, place in zip((1, 2), ("one", "two"), options, strict=True):
        pixels = labels_of(seed)[:, :140]
        if order is not None and len(order) > 2:
            pixels = np.stack([pixels] * 3, axis=across)
        images.append(model.add_labels(pixels, name=name, **place))
    if order is not None:
        model.dims.order = order
    units = model.layers.extent.units
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    result, curves, selection = dock.result, dock.comparison.curves, dock.comparison.selection
    shown = list(model.dims.displayed)
    for image, ensemble, first in zip(images, (result.a, result.b), (0, len(result.a)), strict=True):
        for layer in curves:
            layer.visible = layer.name.startswith(image.name)
        for row in (0, 5):
            pixels = np.argwhere(image.data == int(ensemble.ids[row]))
            world = np.array([image.data_to_world(pixel) for pixel in pixels])
            world *= 1000 if units is not None and "micrometer" in str(image.units[0]) else 1
            low, high = world.min(axis=0)[shown], world.max(axis=0)[shown]
            size = high - low
            outline = curves.outline(first + row)
            np.testing.assert_allclose([outline.min(axis=0), outline.max(axis=0)], [low, high], atol=0.1 * size.max())

            move_on_canvas(model, world[np.linalg.norm(world - np.median(world, axis=0), axis=1).argmin()])
            assert selection.hovered_row == first + row
            beyond = np.array(model.dims.point)
            beyond[shown] = low - size / 2
            move_on_canvas(model, beyond)
            assert selection.hovered_row == -1

            around = []
            for corner in (low, (low[0], high[1]), high, (high[0], low[1])):
                beyond[shown] = corner
                around.append(beyond.copy())
            selection.pick([])
            press_on_canvas(model, *around, modifiers=("Shift",))
            assert selected_rows(dock) == [first + row]

            centre, zoom = view_of(model, outline)
            assert ((low <= centre[1:]) & (centre[1:] <= high)).all()
            assert 100 < zoom * np.ptp(outline, axis=0).max() < 600  # of the canvas, which is 600 pixels high

            layer = next(one for one in curves if one.visible)
            there = pixels_at(layer, outline, model)
            np.testing.assert_allclose(drawn_at(layer, there, model), outline)
            if most:
                np.testing.assert_allclose(there, layer.data[row])


def test_the_displayed_plane_is_compared_for_stacks_in_other_units(model):
    stack = np.stack([np.full((20, 20), plane) for plane in range(4)])
    coarse = model.add_labels(stack, scale=(2, 0.5, 0.5), units=("um",) * 3)
    fine = model.add_labels(stack, scale=(2000, 500, 500), units=("nm",) * 3)
    for place in (1, 2):
        model.dims.set_current_step(0, place)
        for layer in (coarse, fine):
            assert source_of(layer, model.dims).plane == f"plane axis 0 = {place}"
            assert (source_of(layer, model.dims).data == place).all()


def test_the_reported_plane_is_the_one_used(model):
    stack = np.stack([labels_of(1), 0 * labels_of(1)])
    model.add_image(np.zeros((6, 20, 20)))
    layer = model.add_labels(stack, name="two planes")
    model.dims.set_point(0, 1.4)  # of which napari displays the nearest
    source = source_of(layer, model.dims)
    assert source.plane.endswith("= 1")
    np.testing.assert_array_equal(source.data, stack[1])


def test_the_unit_px_means_pixels(model):
    layer = model.add_labels(labels_of(1), units=("px", "px"))
    assert ensemble_of(layer, model.dims).unit == "pixel"


def test_shapes_are_saved_with_the_whole_transform(tmp_path, model):
    shapes = layers(model, affine=TURN @ DOUBLE, scale=(0.5, 1))[2]
    data, attributes, _ = shapes.as_layer_data_tuple()
    write_shapes(str(tmp_path / "x.csv"), data, attributes)
    expected = areas(shapes, model)
    np.testing.assert_allclose(read_curves(tmp_path / "x.csv").ensemble.features["area"], expected)
    sheared = layers(model, affine=SHEAR)[2]
    data, attributes, _ = sheared.as_layer_data_tuple()
    with pytest.raises(OSError, match="is sheared"):
        write_shapes(str(tmp_path / "y.csv"), data, attributes)


@pytest.mark.parametrize(
    "transform", [{"affine": DOUBLE}, {"scale": (-3, 3)}, {"affine": TURN, "scale": (2, 1)}], ids=str
)
def test_the_pixel_size_set_is_the_one_measured(model, transform):
    for layer in layers(model, **transform):
        calibrate(layer, Calibration((0.25, 0.5), "µm"), model.dims)
        found = calibration_of(layer, model.dims)
        assert found.scale == pytest.approx((0.25, 0.5))
        assert found.unit == "µm"


def chiral_labels(seed, sign=1):
    """Labels of chiral outlines, like commas, all of the same handedness."""
    rng, u = np.random.default_rng(seed), 2 * np.pi * np.arange(80) / 80
    plane = np.zeros((240, 240), int)
    for place in range(16):
        z = np.exp(1j * u) + 0.25 * np.exp(-2j * u) + rng.normal(0.2, 0.02) * np.exp(1j * (0.9 - 3 * u))
        z = 13 * z * np.exp(2j * np.pi * rng.random())
        corners = np.stack([z.real, sign * z.imag], axis=-1) + 60 * np.array(divmod(place, 4)) + 30
        plane[polygon2mask(plane.shape, corners)] = place + 1
    return plane


def test_one_mirrored_layer_is_rejected_without_reflections(model, qapp, qtbot):
    """Outlines are traced in data coordinates, so that two mirrored layers are as similar as two unmirrored ones."""
    one, other = (model.add_labels(chiral_labels(seed), name=name) for seed, name in ((1, "one"), (2, "two")))
    session = Session.of(model)
    session.attach()
    quick = Settings(landmarks=60, rank=10, permutations=300)
    flipped = np.diag([1.0, -1.0, 1.0])

    def said(**changes):
        session.choices.set(settings=replace(quick, **changes))
        task = session.comparison
        with qtbot.waitSignal(task.finished):
            task.run()
        return task.message if task.result is None else task.result.case

    assert said() == said(reflections=False) == "1∧1"
    other.affine = flipped
    assert session.comparison.changed_since() == ["two was changed"]
    assert said() == "1∧1"  # mirror images match
    assert session.comparison.state == "done"
    assert '"two" is shown mirrored' in said(reflections=False)
    one.scale = (-1, 1)
    assert said(reflections=False) == "1∧1"
    other.affine, one.scale, other.data = np.eye(3), (1, 1), chiral_labels(2, -1)
    assert said(reflections=False)[0] == "0"
    assert said() == "1∧1"
    session.detach()


def test_a_stack_is_not_used_if_the_slider_is_beyond_its_planes(model):
    """The viewer draws nothing of it there."""
    model.add_image(np.zeros((5, 30, 30)), name="deep", scale=(2, 1, 1))
    flat = model.add_image(np.zeros((3, 30, 30)), name="flat", scale=(2, 1, 1))
    single = model.add_image(np.zeros((1, 30, 30)), name="single", scale=(2, 1, 1))
    model.dims.set_current_step(0, 2)
    assert source_of(flat, model.dims).plane == "plane axis 0 = 2"
    last = fingerprint(flat, model.dims)
    model.dims.set_current_step(0, 3)
    with pytest.raises(ValueError, match='"flat" has 3 planes, and the slider is beyond them'):
        source_of(flat, model.dims)
    assert fingerprint(flat, model.dims) != last
    assert plane_of(flat, model.dims) == ()  # nor the last plane, whose exclusions would then apply
    assert source_of(single, model.dims).data.shape == (30, 30)  # no other plane can be meant
    model.dims.set_current_step(0, 2)
    assert fingerprint(flat, model.dims) == last


def test_plane_indices_are_rounded_like_in_napari(model):
    model.add_image(np.zeros((12, 30, 30)), name="fine", scale=(0.5, 1, 1))
    even, odd = (model.add_image(np.zeros((count, 30, 30)), name=f"{count} planes") for count in (4, 3))
    model.dims.set_current_step(0, 7)
    with pytest.raises(ValueError, match='"4 planes" has 4 planes, and the slider is beyond them'):
        source_of(even, model.dims)
    model.dims.set_current_step(0, 5)
    assert source_of(odd, model.dims).plane == "plane axis 0 = 2"


def test_painting_labels_in_a_lazy_array_is_a_change(model, tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.open(str(tmp_path / "labels.zarr"), mode="w", shape=(3, 40, 40), dtype="i4", chunks=(1, 40, 40))
    array[1, 5:15, 5:15] = 1
    layer = model.add_labels(array)
    model.dims.set_point(0, 1)
    before = fingerprint(layer, model.dims)
    assert fingerprint(layer, model.dims) == before
    array[1, 20:30, 20:30] = 2
    assert fingerprint(layer, model.dims) != before
