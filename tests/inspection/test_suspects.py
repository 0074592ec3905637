"""Ranking of labels: simulated faults are found with the right reason, verdicts are learned from, and edge cases."""

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from PIL import Image

from fault_makers import COLUMN, EXPECTED_REASONS, ODD, ROW, faulty, render_image, scene, with_every_fault
from napari_shape_ensembles import missing_objects, rank_suspects
from napari_shape_ensembles.inspection.suspects import LIKE_WRONG, Suspects, Ticks, scale_of_score, scores, trees_of

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.mark.parametrize("kind", EXPECTED_REASONS)
def test_a_simulated_fault_ranks_first_with_its_reason(kind):
    labels, image, concerned = faulty(kind)
    ranking = rank_suspects(labels, image)
    assert sorted(ranking["label"]) == np.unique(labels[labels > 0]).tolist()
    assert (np.diff(ranking["score"]) <= 0).all()
    assert ranking["score"].between(0, 1).all()
    first = ranking.head(len(concerned))
    assert set(first["label"]) == concerned
    for said in first["reasons"]:
        assert EXPECTED_REASONS[kind] in said
        others = {words for name, words in EXPECTED_REASONS.items() if name != kind}
        assert not any(words in said for words in others), said


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reasons_are_right_with_faults_of_all_kinds_in_one_image(seed):
    labels, image, concerned = with_every_fault(seed)
    gone = labels == 36
    labels[gone] = 0
    ranking = rank_suspects(labels, image).set_index("label")["reasons"]
    expected = {
        label: EXPECTED_REASONS[kind].split(" of ")[0] for kind, all_of in concerned.items() for label in all_of
    }
    for label, said in ranking.items():
        first = said.split("; ")[0]
        assert first.startswith(expected[label]) if label in expected else not said, (label, said)
    (found,) = missing_objects(labels, image).itertuples()
    assert gone[int(found.row), int(found.column)]


@pytest.mark.parametrize("kind", ["hole", "pieces", "merge", "split"])
def test_shape_faults_are_found_without_an_image(kind):
    labels, _, concerned = faulty(kind)
    first = rank_suspects(labels).head(len(concerned))
    assert set(first["label"]) == concerned
    assert all(EXPECTED_REASONS[kind] in said for said in first["reasons"])


def test_faultless_objects_have_no_reasons():
    labels, clean = scene()
    assert (rank_suspects(labels, render_image(clean))["reasons"] == "").all()
    assert (rank_suspects(labels)["reasons"] == "").all()


def drawn_in_a_grid(radii, stretch=1.0):
    """Labels of objects with a radius by direction each, turned at random."""
    rng, side = np.random.default_rng(0), int(2.6 * stretch * np.max(radii))
    rows, columns = np.indices((side, side)) - side / 2
    labels = np.zeros((4 * side, 4 * side), dtype=int)
    for place, radius in enumerate(radii):
        turn = rng.uniform(0, 2 * np.pi)
        y, x = rows * np.cos(turn) - columns * np.sin(turn), rows * np.sin(turn) + columns * np.cos(turn)
        y, x = y * stretch, x / stretch
        around = np.interp(np.arctan2(y, x), np.linspace(-np.pi, np.pi, 361), radius)
        labels[place // 4 * side :, place % 4 * side :][:side, :side][np.hypot(y, x) < around] = place + 1
    return labels


def alike(lobes, height):
    """Sixteen radii by direction, of one form and nearly one size about 1."""
    around = np.linspace(-np.pi, np.pi, 361)
    return [(0.9 + 0.02 * k) * (1 + height * np.cos(lobes * around)) for k in range(16)]


@pytest.mark.parametrize(
    ("lobes", "height", "stretch"), [(3, 0, 1), (3, 0, 2), (3, 0.25, 1), (5, 0.35, 1), (2, 0.4, 1)]
)
def test_without_an_image_a_form_that_all_objects_have_is_not_suspicious(lobes, height, stretch):
    radii = np.stack(alike(lobes, height))
    score = [rank_suspects(drawn_in_a_grid(size * radii, stretch))["score"] for size in (4, 8, 16, 40)]
    assert (np.concatenate(score) >= 0.5).mean() <= 0.05


@pytest.mark.parametrize("size", [16, 40])
def test_without_an_image_one_of_another_form_is(size):
    radii = size * np.stack(alike(3, 0.25))
    radii[6] *= 1 - 0.6 * np.exp(-(np.linspace(-np.pi, np.pi, 361) ** 2) / 0.1)
    assert rank_suspects(drawn_in_a_grid(radii))["label"][0] == 7


@pytest.mark.parametrize("dtype", [float, np.uint8, np.uint16])
@pytest.mark.parametrize("function", [rank_suspects, missing_objects, partial(Ticks().add, verdicts={1: "wrong"})])
def test_labels_and_image_in_the_wrong_order_are_refused(function, dtype):
    labels, clean = scene()
    image = render_image(clean).astype(dtype)
    with pytest.raises(ValueError, match="gray levels are given as labels, and labels as the image: exchange the two"):
        function(image, labels)
    with pytest.raises(ValueError, match="gray levels are given as labels, and a mask as the image: exchange the two"):
        function(image, labels > 0)
    with pytest.raises(ValueError, match="gray levels, not labels: segment the image first"):
        function(image, image)


def test_no_label_ranks_high_without_a_reason():
    measured = Suspects.of(scene()[0])
    odds = np.linspace(-9, 9, len(measured.table))
    ranking = replace(measured, reasons=[""] * len(odds), table=measured.table.assign(odds=odds)).ranked()
    high = ranking["score"] >= 0.2
    assert 0 < high.sum() < len(high)
    assert set(ranking["reasons"][high]) == {"like objects that were wrong elsewhere"}
    assert set(ranking["reasons"][~high]) == {""}


def test_scores_are_probabilities_from_ten_verdicts_of_each_kind_on():
    """The log-odds of the trees are drawn too low by 2: the labels are wrong more often than they say."""
    rng = np.random.default_rng(0)
    measured = Suspects.of(scene()[0])
    table = pd.concat([measured.table] * 40, ignore_index=True).rename_axis("label")
    likely = rng.uniform(0.02, 0.98, len(table))
    trees = trees_of("labels")
    table["odds"] = (np.log(likely / (1 - likely)) - 2 - trees.offset) / trees.slope
    wrong, chosen = rng.random(len(table)) < likely, rng.choice(len(table), 200, replace=False)
    before = scores(table, None)
    after = scores(table, table.iloc[chosen].assign(wrong=wrong[chosen]))
    assert np.abs(before - likely).mean() > 0.2
    assert np.abs(after - likely).mean() < 0.08
    few = np.concatenate([np.flatnonzero(wrong)[:9], np.flatnonzero(~wrong)[:30]])
    assert "are ranks" in scale_of_score(wrong[few])
    assert scores(table, table.iloc[few].assign(wrong=wrong[few])).mean() < likely.mean() - 0.15  # not scaled


def test_a_missing_object_is_located():
    labels, clean = scene()
    image = render_image(clean)
    assert len(missing_objects(labels, image)) == 0
    area = (labels == ODD).sum()
    labels[labels == ODD] = 0
    (found,) = missing_objects(labels, image).itertuples()
    assert abs(found.row - ROW) < 1
    assert abs(found.column - COLUMN) < 1
    assert found.area == pytest.approx(area, rel=0.15)
    assert found.reasons.startswith("missing")


def test_uneven_illumination_neither_fakes_nor_hides_objects():
    labels, clean = scene()
    rows, columns = np.indices(labels.shape) / labels.shape[0] - 0.5
    image = render_image(clean) + 150 * columns - 100 * (rows**2 + columns**2)
    assert len(missing_objects(labels, image)) == 0
    gone = [1, 8, ODD, 33, 64]
    found = missing_objects(np.where(np.isin(labels, gone), 0, labels), image)
    assert sorted(labels[int(row), int(column)] for row, column in found[["row", "column"]].to_numpy()) == gone


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_corner_with_little_background_is_not_extrapolated(seed):
    rows, columns = np.indices((400, 400))
    labels = rows // 20 * 20 + columns // 20 + 1
    labels[:40, :40] = 0
    missing = np.hypot(rows - 30, columns - 30) < 8
    image = np.random.default_rng(seed).normal(20, 4, labels.shape) + 60.0 * ((labels > 0) | missing)
    (found,) = missing_objects(labels, image).itertuples()
    assert missing[int(found.row), int(found.column)]


@pytest.mark.parametrize("labelled", ["object", "background"])
def test_a_single_pixel_is_ranked_with_zero_variance(labelled):
    labels = np.full((20, 20), labelled == "background", dtype=int)
    labels[5, 5] = labelled == "object"
    image = np.random.default_rng(0).normal(20, 4, labels.shape) + 60 * labels
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(rank_suspects(labels, image)["score"]).all()


@pytest.mark.parametrize("kind", ["hole", "leak", "cut"])
def test_ranking_is_invariant_to_bit_depth_polarity_color_and_rotation(kind):
    labels, image, _ = faulty(kind)
    expected = rank_suspects(labels, image)
    for changed in (image.astype(np.uint16) * 200 + 7, 255.0 - image, np.stack([image, 255 - image, image], axis=-1)):
        ranking = rank_suspects(labels, changed)
        assert ranking["label"].iloc[0] == ODD
        assert ranking["reasons"].iloc[0].split(":")[0] == expected["reasons"].iloc[0].split(":")[0]
    turned = rank_suspects(labels.T, image.T)
    assert turned["label"].iloc[0] == ODD


def test_verdicts_affect_similar_labels_and_settle_their_own():
    labels, clean = scene()
    odd = np.random.default_rng(3).choice(np.arange(1, 65), 24, replace=False)
    clean[np.isin(labels, odd)] = 85  # slightly dimmer, which is no fault unless the user says so
    image = render_image(clean)
    ticks = {int(n): "wrong" for n in odd[:8]} | {int(n): "right" for n in np.setdiff1d(np.arange(1, 65), odd)[:8]}
    rest = np.setdiff1d(np.arange(1, 65), list(ticks))

    def mean_rank(ranking):
        place = ranking.reset_index().set_index("label")["index"]
        return place[[n for n in rest if n in odd]].mean() - place[[n for n in rest if n not in odd]].mean()

    before, after = rank_suspects(labels, image), rank_suspects(labels, image, corrections=ticks)
    assert mean_rank(after) < mean_rank(before)
    score = after.set_index("label")["score"]
    assert (score[[n for n, said in ticks.items() if said == "wrong"]] == 1).all()
    assert (score[[n for n, said in ticks.items() if said == "right"]] == 0).all()


def test_verdicts_apply_to_other_images_and_are_saved(tmp_path):
    labels, image, _ = faulty("hole")
    ticks = Ticks()
    ticks.add(labels, image, verdicts={ODD: "wrong", 10: "right", 11: "right"}, name="one")
    ticks.add(labels, image, verdicts={11: "wrong"}, name="one")
    ticks.save(tmp_path / "ticks.csv")
    kept = Ticks.load(tmp_path / "ticks.csv")
    assert kept.table.set_index("label")["wrong"].to_dict() == {ODD: True, 10: False, 11: True}
    a, b = (rank_suspects(labels, image, corrections=one) for one in (ticks, kept))
    np.testing.assert_allclose(a["score"], b["score"], atol=1e-9)
    assert_frame_equal(kept.table, ticks.table.reset_index(drop=True), check_exact=True, check_dtype=False)


def test_verdicts_with_and_without_an_image_are_saved(tmp_path):
    labels, image, _ = faulty("hole")
    ticks = Ticks()
    ticks.add(labels, verdicts={ODD: "wrong"}, name="one")
    ticks.add(labels, image, verdicts={10: "right"}, name="two")
    ticks.save(tmp_path / "ticks.csv")
    kept = Ticks.load(tmp_path / "ticks.csv")
    assert_frame_equal(kept.table, ticks.table.reset_index(drop=True), check_exact=True, check_dtype=False)
    with pytest.raises(ValueError, match="made on other inputs"):
        rank_suspects(labels, image, corrections=kept)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a CSV table"),
        (bytes(range(256)), "is not a CSV table"),
        (b"a,b\n1,2\n", "contains no ticks"),
        (b"image,label,wrong,solidity\none,1,True,x\n", "column solidity"),
        (b"image,label,wrong,solidity\none,1.5,True,0.9\n", "column label"),
    ],
)
def test_files_without_verdicts_are_rejected_with_their_name(tmp_path, content, words):
    (tmp_path / "ticks.csv").write_bytes(content)
    with pytest.raises(ValueError, match=f"ticks.csv.*{words}"):
        Ticks.load(tmp_path / "ticks.csv")


def test_a_failed_save_of_verdicts_keeps_the_old_file(tmp_path, monkeypatch):
    labels, image, _ = faulty("hole")
    ticks = Ticks()
    ticks.add(labels, image, verdicts={ODD: "wrong"}, name="one")
    (tmp_path / "ticks.csv").write_text("old")
    monkeypatch.setattr("napari_shape_ensembles.archive.os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        ticks.save(tmp_path / "ticks.csv")
    assert (tmp_path / "ticks.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("corrections", "message"),
    [
        ({999: "wrong"}, "label 999"),
        ({1: "maybe"}, "maybe"),
        (["wrong"], "mapping"),
        ({1.7: "wrong"}, "label 1.7, which is not an integer"),
        ({"one": "wrong"}, "label 'one', which is not an integer"),
        (pd.DataFrame({"label": [1, np.nan], "status": ["wrong", "right"]}), "label nan"),
        (pd.DataFrame({"label": [1, 2, 1], "status": ["wrong", "right", "kept"]}), "label 1 both right and wrong"),
    ],
)
def test_invalid_verdicts_are_rejected(corrections, message):
    labels, clean = scene()
    with pytest.raises(ValueError, match=message):
        rank_suspects(labels, clean, corrections=corrections)


def test_verdicts_with_other_features_are_rejected():
    labels, image, _ = faulty("hole")
    ticks = Ticks()
    ticks.add(labels, image, verdicts={ODD: "wrong", 10: "right"}, name="one")
    ticks.table = ticks.table.drop(columns="solidity")
    with pytest.raises(ValueError, match="tick them again"):
        rank_suspects(labels, image, corrections=ticks)


def test_verdicts_that_are_not_boolean_are_rejected(tmp_path):
    labels, image, _ = faulty("hole")
    ticks = Ticks()
    ticks.add(labels, image, verdicts={ODD: "wrong", 10: "right"}, name="one")
    ticks.table["wrong"] = ["yes", "no"]
    ticks.save(tmp_path / "ticks.csv")
    with pytest.raises(ValueError, match="column wrong contains 'no'"):
        Ticks.load(tmp_path / "ticks.csv")


def test_all_channels_are_used():
    labels, image, _ = faulty("leak")
    expected = rank_suspects(labels, image)
    noise = np.random.default_rng(0).normal(0, 50, (3, *image.shape))
    found = rank_suspects(labels, np.stack([*noise, image, 255.0 - image], axis=-1))
    assert found["label"].iloc[0] == ODD
    assert [said.split(":")[0] for said in found["reasons"]] == [said.split(":")[0] for said in expected["reasons"]]


def test_a_label_around_another_encloses_it_without_a_hole():
    labels, _ = scene()
    rows, columns = np.indices(labels.shape)
    distance = np.hypot(rows - ROW, columns - COLUMN)
    labels[distance < 4] = 100
    said = rank_suspects(labels).set_index("label")["reasons"]
    area = (labels == 100).sum()
    assert f"encloses other labels, of {area} px" in said[ODD]
    assert "hole" not in said[ODD]
    assert "dented" not in said[ODD]
    labels[distance < 2] = 0  # a hole of the inner label is not a hole of the outer one
    said = rank_suspects(labels).set_index("label")["reasons"]
    assert "hole" not in said[ODD]
    assert said[100].startswith(f"hole: 1 of {(distance < 2).sum()} px")


def test_objects_cut_by_the_border_are_not_called_small():
    labels, clean = scene()
    image = render_image(clean)
    # Only slivers of the first row of objects remain.
    top = np.flatnonzero(((labels > 0) & (labels <= 8)).any(axis=1)).max() - 2
    labels, image = labels[top:], image[top:]
    cut = np.unique(labels[0, labels[0] > 0])
    assert len(cut) >= 4
    ranking = rank_suspects(labels, image).set_index("label")
    assert not ranking.loc[cut, "reasons"].str.contains("small").any()


def test_images_of_another_shape_are_rejected():
    labels, clean = scene()
    with pytest.raises(ValueError, match="shape"):
        rank_suspects(labels, clean[1:])
    with pytest.raises(ValueError, match="masked"):
        rank_suspects(labels, np.ma.masked_array(clean, labels > 0))
    with pytest.raises(ValueError, match="complex128"):
        rank_suspects(labels, clean + 1j)
    with pytest.raises(ValueError, match="blank"):
        rank_suspects(labels, np.full_like(clean, 7))
    with pytest.raises(ValueError, match="one pixel wide"):
        rank_suspects(labels[:1] + 1, clean[:1])
    clean[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        rank_suspects(labels, clean)


@pytest.mark.parametrize(
    "labels", [np.zeros((20, 20), int), np.ones((20, 20), int), np.eye(9, dtype=int) * 3 + np.eye(9, k=1, dtype=int)]
)
def test_unusual_label_images_are_ranked(labels):
    image = np.random.default_rng(0).normal(size=labels.shape)
    for ranking in (rank_suspects(labels), rank_suspects(labels, image)):
        assert sorted(ranking["label"]) == np.unique(labels[labels > 0]).tolist()
        assert np.isfinite(ranking["score"]).all()


def test_a_thousand_objects_are_all_ranked():
    rows, columns = np.indices((512, 512))
    near = np.hypot(rows % 16 - 8, columns % 16 - 8) < 6
    labels = near * (rows // 16 * 32 + columns // 16 + 1)
    ranking = rank_suspects(labels, render_image(20 + 80.0 * near))
    assert sorted(ranking["label"]) == list(range(1, 1025))


def test_shares_near_one_are_formatted_without_exponent():
    labels = np.zeros((60, 60), np.int32)
    labels[:40:2, ::2] = 1  # 600 isolated pixels
    labels[45:55, 20:30] = 2
    reasons = rank_suspects(labels).set_index("label")["reasons"]
    assert "600 pieces: 100 % lies off the largest" in reasons[1]


def test_good_outlines_of_a_real_image_raise_few_alarms():
    labels, image = (np.array(Image.open(DATA / "dsb_nuclei" / name)) for name in ("labels.png", "image.png"))
    for seen in ((labels, image), (labels,)):
        said = rank_suspects(*seen)["reasons"]
        assert (~said.isin(["", LIKE_WRONG])).mean() < 0.06


def test_small_particles_on_larger_ones_are_no_errors_of_these():
    labels, image, (own,) = faulty("pieces")
    rows, columns = np.indices(labels.shape)
    others = [label for label in np.unique(labels[labels > 0]) if label != own][:4]
    for number, label in enumerate(others):
        row, column = (places.mean() for places in np.nonzero(labels == label))
        radius = np.sqrt((labels == label).sum() / np.pi)
        far = np.abs(columns - column) < (0.2 if number % 2 else 1.4) * radius
        labels[(np.abs(rows - row) < 0.2 * radius) & far & (labels == label)] = 900 + number  # within, and across
    said = rank_suspects(labels, image).set_index("label")["reasons"]
    assert "pieces" in said[own]
    for words in ("pieces", "encloses"):
        assert not any(words in said[label] for label in others)
    # A single one is.
    single = np.where(labels > 901, others[2], labels)
    single[labels == 903] = others[3]
    single[labels == 900] = others[0]
    assert "encloses" in rank_suspects(single, image).set_index("label")["reasons"][others[1]]
