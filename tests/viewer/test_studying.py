"""Study tasks without a dock: inputs, runs, and results after failure or cancellation."""

import numpy as np
import pytest
from napari.components import ViewerModel

from docks import exclude, set_choices
from image_makers import labels_of, spots
from napari_shape_ensembles import decision_landscape, extract_curves
from napari_shape_ensembles.progress import report, reporting
from napari_shape_ensembles.viewer import studying
from napari_shape_ensembles.viewer.session import Session

CHANGED = " was changed"


@pytest.fixture
def model():
    """A headless viewer model, with two label layers and an image."""
    viewer = ViewerModel()
    viewer.add_labels(labels_of(1), name="one")
    viewer.add_labels(labels_of(2, size=15.0), name="two")
    viewer.add_image(spots(3, rows=4), name="three")
    return viewer


@pytest.fixture
def session(model, qtbot):
    """The session of that viewer, activated as by a dock, with settings for quick runs."""
    session = Session.of(model)
    session.attach()
    session.design.choose([model.layers["one"]], [model.layers["two"]])
    set_choices(session.choices, permutations=99, significance=0.05, landmarks=40, rank=5)
    for task in (session.landscape, session.smoothing):
        task.write("ranks", "2, 5-15:5")
        task.write("landmarks", "24, 40")
    session.smoothing.write("sigmas", "0, 1")
    yield session
    for task in (session.landscape, session.smoothing):
        task.deactivate()
    session.detach()


@pytest.fixture
def landscape(session):
    return session.landscape


@pytest.fixture
def smoothing(session):
    return session.smoothing


def run(task, qtbot):
    task.run()
    qtbot.waitUntil(lambda: not task.busy)
    return task.result


def endless(task):
    """A study that soon has partial results, but would run for hours."""
    task.write("ranks", "1-28")
    task.write("landmarks", "100-2000:50")
    set_choices(task.choices, permutations=5000)


# Choices -------------------------------------------------------------------------------------------------------


def test_ranges_are_validated():
    swept = studying.Range("Ranks", "8-10", "Numbers.", least=8)
    assert swept.read(swept.default) == [8, 9, 10]
    assert swept.read("8:12:2") == [8, 10, 12]
    assert all(type(value) is int for value in swept.read("8-10"))
    for text, words in (
        ("7", "7 is too small: use at least 8"),
        ("8.5", r"8\.5 is not an integer"),
        ("8-9000000000", "too many for one study: use at most 500"),
    ):
        with pytest.raises(ValueError, match=words):
            swept.read(text)
    assert studying.Range("σ", "0-1", "Numbers.", least=0, whole=False).read("0-1:0.5") == [0, 0.5, 1]


def test_invalid_ranges_are_reported(landscape):
    assert landscape.state == "ready"
    for name, text, words in (
        ("landmarks", "4", "Landmarks: 4 is too small: use at least 20"),
        ("ranks", "2, many", 'Ranks: "many" is not a number'),
    ):
        before = landscape.texts[name]
        landscape.write(name, text)
        assert words in landscape.blocking_reason()
        assert landscape.state == "empty"
        landscape.run()
        assert not landscape.busy
        landscape.write(name, before)


def test_studies_share_samples_but_not_ranges(session, model):
    session.design.choose([model.layers["one"], model.layers["three"]], [model.layers["two"]])
    assert session.landscape.current_inputs().layers == session.smoothing.current_inputs().layers
    session.landscape.write("ranks", "3")
    assert session.smoothing.texts["ranks"] == "2, 5-15:5"


def test_a_smoothing_study_rejects_finished_outlines_and_shared_boundaries(session, model):
    set_choices(session.choices, method="boundaries")
    assert "share a boundary" in session.smoothing.blocking_reason()
    assert session.landscape.blocking_reason() == ""
    set_choices(session.choices, method="otsu")
    shapes = model.add_shapes([np.array([[0, 0], [0, 9], [9, 9]])], shape_type="polygon", name="drawn")
    session.design.choose([shapes], [model.layers["two"]])
    assert '"drawn" holds finished outlines' in session.smoothing.blocking_reason()
    assert session.landscape.blocking_reason() == ""


# Results -------------------------------------------------------------------------------------------------------


def test_a_run_gives_the_landscape_of_the_two_layers_without_excluded_curves(landscape, session, model, qtbot):
    layer, choices = model.layers["one"], landscape.choices
    before = len(layer.events.data.callbacks)
    result = run(landscape, qtbot)
    a, b = (extract_curves(model.layers[name].data) for name in ("one", "two"))
    expected = decision_landscape(a, b, ranks=[2, 5, 10, 15], landmarks=[24, 40], settings=choices.settings)
    np.testing.assert_array_equal(result.mmd, expected.mmd)
    assert result.complete
    assert landscape.state == "done"
    assert landscape.answer == result.summary()
    assert len(layer.events.data.callbacks) > before
    landscape.deactivate()
    session.design.swap()
    session.design.swap()
    assert len(layer.events.data.callbacks) == before
    landscape.activate()
    assert len(layer.events.data.callbacks) > before
    exclude(choices, layer, "3")
    assert landscape.changed_since() == ["the choice of excluded curves was changed"]
    assert run(landscape, qtbot).sizes == (15, 16)
    assert landscape.state == "done"


def test_a_landscape_reports_resampling_to_one_pixel_size(landscape, model, qtbot):
    layers = [
        model.add_labels(labels_of(seed)[::every, ::every], name=f"{seed}", scale=(every / 4,) * 2, units=("um", "um"))
        for seed, every in ((3, 1), (4, 1), (5, 2))
    ]
    landscape.choices.design.choose(layers[:2], layers[2:])
    result = run(landscape, qtbot)
    assert "were brought to the coarser precision of the others: finer detail is not compared" in result.note
    assert landscape.answer.endswith(f"{result.note}.")


def test_a_study_of_choices_reports_resampling_to_one_pixel_size(session, model, qtbot, monkeypatch):
    layers = [
        model.add_labels(labels_of(seed)[::every, ::every], name=f"{seed}", scale=(every / 4,) * 2, units=("um", "um"))
        for seed, every in ((3, 1), (4, 1), (5, 2))
    ]
    session.design.choose(layers[:2], layers[2:])
    set_choices(session.choices, permute="curves")
    monkeypatch.setattr(studying, "CHOICES", {"rank": (5,)})
    run(session.trust, qtbot)
    assert "were brought to the coarser precision of the others: finer detail is" in session.trust.result.summary()


@pytest.mark.parametrize("drawn", [False, True])
def test_a_study_of_choices_has_larger_pixels_unless_outlines_are_drawn(session, model, qtbot, monkeypatch, drawn):
    if drawn:
        corners = np.array([[0, 0], [0, 8], [5, 9], [9, 3]])
        shapes = model.add_shapes([corners + 20 * place for place in range(6)], shape_type="polygon")
        session.design.choose([model.layers["one"]], [shapes])
    monkeypatch.setattr(studying, "CHOICES", {"coarsening": (2.0,), "landmarks": (30,)})
    run(session.trust, qtbot)
    assert [one.name for one in session.trust.result.choices] == ["coarsening", "landmarks"][drawn:]


def test_a_smoothing_study_of_groups_gives_a_recommendation(smoothing, model, qtbot):
    smoothing.choices.design.choose([model.layers["one"], model.layers["three"]], [model.layers["two"]])
    smoothing.write("sigmas", "0-3")
    result = run(smoothing, qtbot)
    assert result.complete
    assert result.sigmas.tolist() == [0, 1, 2, 3]
    assert result.sizes[:, 0].tolist() == [32] * 4
    assert smoothing.answer == result.summary()


def test_objects_merge_if_images_are_smoothed_as_a_whole(smoothing, model, qtbot):
    crowded = np.zeros((120, 120), dtype=np.int32)
    for index in range(16):
        row, column = divmod(index, 4)
        crowded[10 + row * 25 : 30 + row * 25, 10 + column * 24 : 32 + column * 24] = index + 1
    model.layers["one"].data = crowded
    smoothing.write("sigmas", "3")
    apart = run(smoothing, qtbot).sizes[0, 0]
    smoothing.set_merge(True)
    assert run(smoothing, qtbot).sizes[0, 0] < apart == 16


def test_unequal_pixel_sizes_are_rejected_unless_the_recipe_sets_one(smoothing, model, qtbot):
    model.layers["two"].scale = (0.5, 0.5)
    assert run(smoothing, qtbot) is None
    assert "The pixel sizes differ (one: 1 × 1 pixel, two: 0.5 × 0.5 pixel)" in smoothing.answer
    set_choices(smoothing.choices, pixel_size=0.2, unit="nm")
    assert run(smoothing, qtbot).complete


def test_errors_are_reported(landscape, model, qtbot):
    model.layers["two"].data = np.zeros((50, 50), dtype=np.int32)
    run(landscape, qtbot)
    assert "⚠ two has no usable outline" in landscape.answer
    assert landscape.state == "error"


def test_an_image_that_cannot_be_segmented_is_reported(smoothing, model, qtbot):
    model.layers["three"].data = np.full((50, 50), np.nan)
    smoothing.choices.design.choose([model.layers["three"]], [model.layers["two"]])
    run(smoothing, qtbot)
    assert smoothing.answer.startswith("⚠ three: ")


def test_parts_are_drawn_only_if_there_are_any(landscape, qtbot):
    landscape.draw("roughness")
    run(landscape, qtbot)
    assert landscape.drawn == "roughness"
    set_choices(landscape.choices, coordinates="normalized")
    run(landscape, qtbot)
    assert landscape.drawn == "undulation"


# Validity of results -------------------------------------------------------------------------------------------


def test_changes_outdate_a_landscape_until_undone(landscape, session, model, qtbot):
    choices = session.choices
    first = run(landscape, qtbot)
    written = landscape.texts["ranks"]
    pixels = model.layers["one"].data
    for change, back, words in (
        (
            lambda: landscape.write("ranks", "2, 5"),
            lambda: landscape.write("ranks", written.replace(" ", "")),
            f'the range "Ranks"{CHANGED}',
        ),
        (
            lambda: landscape.write("ranks", "many"),
            lambda: landscape.write("ranks", written),
            "not a number or range",
        ),
        (
            lambda: set_choices(choices, permutations=199),
            lambda: set_choices(choices, permutations=99),
            "permutations was 99 and is 199",
        ),
        (choices.design.swap, choices.design.swap, "other layers are chosen"),
        (
            lambda: setattr(model.layers["one"], "data", labels_of(7)),
            lambda: setattr(model.layers["one"], "data", pixels),
            f"one{CHANGED}",
        ),
    ):
        told = []
        landscape.changed.connect(lambda told=told: told.append(landscape.changed_since()))
        change()
        qtbot.waitUntil(lambda told=told: bool(told))
        assert words in "".join(told[-1])
        back()
        qtbot.waitUntil(lambda told=told: told[-1] == [])
    assert landscape.result is first
    assert landscape.state == "done"


def test_swept_settings_do_not_outdate_the_result(landscape, smoothing, session, qtbot):
    for task in (landscape, smoothing):
        run(task, qtbot)
    set_choices(session.choices, rank=7, landmarks=77)
    assert landscape.state == smoothing.state == "done"
    set_choices(session.choices, outline_smoothing=3.0)
    assert smoothing.state == "done"
    assert landscape.changed_since() == ["outline smoothing was 1 and is 3"]


def test_merging_and_other_layers_but_no_exclusions_make_a_smoothing_study_stale(smoothing, model, qtbot):
    run(smoothing, qtbot)
    exclude(smoothing.choices, model.layers["one"], "3")
    assert smoothing.state == "done"
    smoothing.set_merge(True)
    assert smoothing.changed_since() == [f'"Smooth each image as a whole"{CHANGED}']
    smoothing.choices.design.choose([model.layers["one"], model.layers["three"]], [model.layers["two"]])
    assert smoothing.changed_since() == ["other layers are chosen"]


def test_a_layer_edited_during_a_study_makes_its_result_stale(landscape, model, qtbot):
    landscape.run()
    qtbot.waitUntil(lambda: "landmarks: " in landscape.step.name)
    model.layers["one"].data = labels_of(7)
    qtbot.waitUntil(lambda: not landscape.busy)
    assert landscape.changed_since() == [f"one{CHANGED}"]


# Cancelling and failing ----------------------------------------------------------------------------------------


def test_partial_results_are_kept_on_cancel_and_layers_monitored(landscape, model, qtbot):
    endless(landscape)
    landscape.run()
    qtbot.waitUntil(lambda: landscape.result is not None)
    assert landscape.busy
    assert landscape.answer == ""
    landscape.cancel()
    kept = landscape.result
    assert not landscape.busy
    assert kept.done_something
    assert not kept.complete
    assert landscape.answer.startswith("Cancelled. So far: one (16 curves) and two (16 curves)")
    qtbot.wait(300)
    assert landscape.result is kept
    told = []
    landscape.changed.connect(lambda: told.append(landscape.changed_since()))
    model.layers["one"].data = labels_of(7)
    qtbot.waitUntil(lambda: [f"one{CHANGED}"] in told)


def test_a_first_run_cancelled_at_once_has_no_result(landscape):
    landscape.run()
    landscape.cancel()
    assert landscape.result is None
    assert landscape.answer == "Cancelled."


def failing(works, *, late=True):
    """A study that fails, before or after it has partial results."""

    def fail_half_way(step):
        report(step.name, step.done, step.total, step.result)
        if step.result is not None and step.result.done_something:
            raise ValueError("the reason")

    def work(*args, **named):
        if late:
            with reporting(fail_half_way):
                works(*args, **named)
        raise ValueError("the reason")

    return work


def test_a_failed_or_cancelled_run_keeps_the_previous_study(landscape, qtbot, monkeypatch):
    before, works = run(landscape, qtbot), studying.landscape_of
    for late in (False, True):  # at once, and half way
        seen = []
        landscape.progressed.connect(lambda _, seen=seen: seen.append(landscape.result is before))
        monkeypatch.setattr(studying, "landscape_of", failing(works, late=late))
        run(landscape, qtbot)
        assert (False in seen) == late
        assert landscape.result is before
        assert landscape.answer == f"⚠ the reason\nThis is the previous result. {before.summary()}"
        assert landscape.changed_since() == []
    landscape.write("landmarks", "100-2000:50")
    landscape.run()
    assert landscape.answer == "This is the previous result."
    landscape.cancel()
    assert landscape.result is before
    assert landscape.answer == f"Cancelled. This is the previous result. {before.summary()}"
    assert landscape.changed_since() == [f'the range "Landmarks"{CHANGED}']


def test_a_first_run_that_fails_midway_keeps_partial_results(landscape, qtbot, monkeypatch):
    monkeypatch.setattr(studying, "landscape_of", failing(studying.landscape_of))
    assert run(landscape, qtbot).done_something
    assert not landscape.result.complete
    assert landscape.answer == "⚠ the reason"


# Applying a cell of a result -----------------------------------------------------------------------------------


def test_a_cell_is_applied_to_the_choices_of_all_docks(landscape, qtbot):
    set_choices(landscape.choices, measure="arc-length", outline_smoothing=2.0)
    result = run(landscape, qtbot)
    set_choices(landscape.choices, measure="affine")
    landscape.load((0, 2))
    assert landscape.choices.settings == result.settings_at(24, 10)
    assert landscape.choices.settings.measure == "arc-length"
    assert landscape.choices.recipe.outline_smoothing == 2.0
    assert landscape.state == "done"


def test_a_sigma_is_applied_to_the_choices_of_all_docks_in_pixels(smoothing, qtbot):
    smoothing.write("sigmas", "0, 2.5")
    set_choices(smoothing.choices, smoothing_unit="window")
    assert smoothing.sigma is None
    run(smoothing, qtbot)
    smoothing.load(1)
    assert smoothing.choices.recipe.outline_smoothing == smoothing.sigma == 2.5
    assert smoothing.state == "done"
