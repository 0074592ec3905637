"""The review queue: it lists every label; verdicts and corrections update the ranking and can be undone."""

from functools import cache

import numpy as np
import pytest

from fault_makers import EXPECTED_REASONS, ODD, STEP, faulty
from napari_shape_ensembles import Outlines
from napari_shape_ensembles.inspection import Review
from napari_shape_ensembles.inspection.ranking import Inspection, disputed
from napari_shape_ensembles.inspection.reviewing import Entry
from napari_shape_ensembles.inspection.suspects import Ticks

RECIPE = Outlines(min_area=20)


def reviewed(labels, image=None, known=None, **options):
    result = known or inspected(labels, image)
    return Review(result, (labels,), (image,), outlines=RECIPE, by="Ada", **options)


def inspected(labels, image):
    ensemble = RECIPE.trace(labels, name="field", scale=(0.5, 0.5), unit="µm")
    return Inspection.of((ensemble,), labels=(labels,), images=(image,))


@cache
def known_of(kind):
    """Evidence for labels with one fault, before a review; shared by several tests."""
    labels, image, _ = faulty(kind)
    return inspected(labels, image)


def measured(review):
    review.take(review.renewal()())


def first(review):
    one = review.table.iloc[0]
    return Entry(int(one["image"]), int(one["label"]))


def test_labels_without_a_curve_and_objects_without_a_label_are_in_the_list():
    labels, image, _ = faulty("hole")
    labels[labels == 13] = 0
    labels[0:8, 100:108] = 99
    review = reviewed(labels, image)
    table = review.table.set_index("label")
    assert set(np.unique(labels[labels > 0])) == set(table.index[table.index > 0])
    assert table.loc[99, "index"] == -1
    (missing,) = table.index[table.index < 0]
    assert table.loc[missing, "reasons"].startswith("missing: ")
    assert review.pixels(Entry(0, missing)).sum() == int(table.loc[missing, "reasons"].split()[1])
    features, outlines = review.without_curve(0)
    assert set(features["id"]) == {99, missing}
    np.testing.assert_allclose(outlines[features["id"].tolist().index(99)].max(axis=0), (7.5, 107.5))
    waiting = review.table["score"].to_numpy()
    assert (np.diff(waiting) <= 0).all()
    far = np.where(labels > 0, labels.astype(np.int64) + 2**40, 0)  # no list is as long as the largest label
    shown, places = reviewed(far, image).without_curve(0)
    assert set(shown["id"]) == {2**40 + 99, missing}
    assert sorted(map(len, places)) == sorted(map(len, outlines))


@pytest.mark.parametrize("dtype", [bool, np.uint8])
def test_pieces_of_a_mask_are_corrected_by_their_listed_numbers(dtype):
    labels, image, _ = faulty("hole")
    mask = (labels > 0).astype(dtype) * dtype(255)
    review = reviewed(mask, image)
    assert review.suggestion(first(review)) == "fill holes"
    assert review.fix(first(review), "fill holes").pixels == 25
    measured(review)
    assert review.counts()["all"] == len(np.unique(labels)) - 1
    assert (review.corrected[0].labels > 0).sum() == (mask > 0).sum() + 25


@pytest.mark.parametrize(
    ("kind", "action"),
    [("hole", "fill holes"), ("merge", "split"), ("split", "merge"), ("stray", "delete"), ("leak", "redraw")],
)
def test_the_suggested_correction_fixes_a_simulated_fault(kind, action):
    labels, image, concerned = faulty(kind)
    review = reviewed(labels, image, known_of(kind))
    entry = first(review)
    assert entry.label in concerned
    assert review.suggestion(entry) == action
    if action == "redraw":
        plane = labels.copy()
        rows, columns = np.indices(labels.shape)
        plane[(labels == ODD) & (np.hypot(rows - 2.5 * STEP, columns - 2.5 * STEP) > 13)] = 0
        assert review.paint(0, plane).action == "paint"
        assert review.paint(0, plane) is None
    else:
        assert review.fix(entry, action).action == action
    measured(review)
    now = review.table
    assert not now["reasons"].str.startswith(EXPECTED_REASONS[kind]).any()
    assert set(now.loc[now["mark"] == "corrected", "label"]) <= concerned | {labels.max() + 1}
    assert (review.corrected[0].log["by"] == "Ada").all()
    whole = RECIPE.trace(review.corrected[0].labels, scale=(0.5, 0.5), unit="µm")
    ensemble = review.inspection.ensembles[0]
    assert ensemble.ids.tolist() == whole.ids.tolist()
    for one, other in zip(ensemble.curves, whole.curves, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_missing_object_is_added_as_a_label():
    labels, image, _ = faulty("hole")
    gone = labels == 13
    labels[gone] = 0
    review = reviewed(labels, image)
    (missing,) = review.table.loc[review.table["label"] < 0, "label"]
    assert review.suggestion(Entry(0, missing)) == "add"
    review.tick(Entry(0, missing), wrong=False)  # rejected by the user
    assert review.table.set_index("label").loc[missing, "mark"] == "right"
    review.fix(Entry(0, missing), "add")
    measured(review)
    assert not (review.table["label"] < 0).any()
    added = review.corrected[0].labels == labels.max() + 1
    assert (added & gone).sum() / (added | gone).sum() > 0.85


def test_verdicts_update_the_ranking_of_all_images_and_can_be_undone():
    labels, image, _ = faulty("leak")
    other, other_image, _ = faulty("cut")
    ticks = Ticks()
    ensembles = tuple(RECIPE.trace(plane, name=name) for plane, name in ((labels, "one"), (other, "two")))
    result = Inspection.of(ensembles, None, labels=(labels, other), images=(image, other_image))
    review = Review(result, (labels, other), (image, other_image), outlines=RECIPE, ticks=ticks)
    before = review.table
    review.tick(Entry(0, ODD), wrong=True)
    for label in (10, 11, 12):
        review.tick(Entry(0, label), wrong=False)
    after = review.table
    assert after["mark"].value_counts().to_dict() == {"": 46, "right": 3, "wrong": 1}
    assert set(after["label"].tail(4)) == {ODD, 10, 11, 12}  # reviewed labels rank below unreviewed ones
    scores = [table[table["image"] == 1].set_index("label")["score"].sort_index() for table in (before, after)]
    assert not np.allclose(*scores)
    assert len(ticks.table) == 4
    for entry in [(0, 12), (0, 11), (0, 10), (0, ODD)]:
        assert review.undo() == Entry(*entry)
    assert ticks.table is None
    assert review.table["score"].tolist() == before["score"].tolist()
    with pytest.raises(ValueError, match="nothing to undo"):
        review.undo()


def test_undoing_a_correction_restores_labels_outlines_and_ranking():
    labels, image, _ = faulty("hole")
    review = reviewed(labels, image, known_of("hole"))
    before, curves = review.table, review.inspection.ensembles[0].curves
    review.fix(Entry(0, ODD), "fill holes")
    measured(review)
    assert review.counts()["corrected"] == 1
    assert review.undo() == 0
    measured(review)
    np.testing.assert_array_equal(review.corrected[0].labels, labels)
    assert review.table["label"].tolist() == before["label"].tolist()
    assert review.counts() == {"all": 25, "right": 0, "wrong": 0, "corrected": 0}
    for one, other in zip(review.inspection.ensembles[0].curves, curves, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_consensus_is_reviewed_in_order_of_disagreement():
    labels, _, _ = faulty("hole")
    fewer, larger = labels.copy(), np.maximum(labels, np.roll(labels, 4, axis=0))
    fewer[fewer == 13] = 0
    result, plane = disputed({"Ada": labels, "Ben": fewer, "Cem": larger}, outlines=RECIPE)
    review = Review(result, (plane,), outlines=RECIPE)
    assert review.table["reasons"].iloc[0].startswith("marked by 2 of 3: Ada, Cem")
    (single,) = np.unique(plane[labels == 13])
    assert review.table["label"].iloc[0] == single
    before = review.table.set_index("label")["score"]
    review.fix(Entry(0, int(single)), "delete")
    review.tick(Entry(0, int(before.index[1])), wrong=False)
    measured(review)
    assert single not in review.table["label"].tolist()
    now = review.table.set_index("label")["score"]
    assert now.to_dict() == before.drop(single).to_dict()
    assert review.counts() == {"all": 25, "right": 1, "wrong": 0, "corrected": 1}
    assert review.to_save(0)


def test_corrections_resume_from_their_log():
    labels, image, _ = faulty("hole")
    review = reviewed(labels, image, known_of("hole"))
    review.fix(Entry(0, ODD), "fill holes")
    own = review.corrected[0]
    again = reviewed(own.labels.copy(), image, corrected=(own,))
    again.fix(Entry(0, 14), "delete")
    measured(again)
    assert own.log["action"].tolist() == ["fill holes", "delete"]
    assert 14 not in again.inspection.ensembles[0].ids
    # The image still shows the object whose label was deleted, so it is listed as missing.
    assert again.counts() == {"all": 26, "right": 0, "wrong": 0, "corrected": 2}


def test_impossible_corrections_are_rejected():
    labels, image, _ = faulty("hole")
    review = reviewed(labels, image, known_of("hole"))
    for entry, action, message in (
        (Entry(0, 10), "fill holes", "label 10 has no hole"),
        (Entry(0, 10), "merge", "touches no other: pick the label"),
        (Entry(0, 10), "melt", "not one of the corrections"),
        (Entry(0, 10), "add", "label 10 already exists"),
        (Entry(0, -5), "delete", "no label here yet: add it"),
    ):
        with pytest.raises(ValueError, match=message):
            review.fix(entry, action)
    assert not review.corrected[0].changes
    labels[200:210, 150:240] = ODD + 100
    shapes = Review(Inspection.of((RECIPE.trace(labels),)))
    with pytest.raises(ValueError, match="edit shapes in their own layer"):
        shapes.fix(Entry(0, 10), "delete")
    shapes.tick(first(shapes), wrong=True)
    assert shapes.counts()["wrong"] == 1
