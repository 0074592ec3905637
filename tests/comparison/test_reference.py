"""References: exact levels by simulation, what is found and named, files, and bad input."""

from functools import cache
from itertools import count

import numpy as np
import pandas as pd
import pytest
from skimage.draw import polygon2mask

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Reference, Settings, accepted_by
from napari_shape_ensembles.comparison import reference as module
from napari_shape_ensembles.comparison.reference_measures import Measured, drawn, unlikeness
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales

QUICK = Settings(landmarks=60)


def image(rng, outlines=12, *, name="", roughness=0.05, size=10.0, vertices=64, **options):
    forms = draw_forms(rng, outlines, roughness=roughness, waves=(8, 12), vertices=vertices)
    scales = draw_scales(rng, outlines, size=size, spread=0.2, elongation=1.3)
    return Ensemble(forms @ scales, name=name, **options)


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(0)
    return Reference([image(rng, 10 + place % 5, name=f"usual {place}") for place in range(20)], QUICK)


@cache
def placeholder(name):
    return Ensemble([[(0, 0), (0, 1), (1 + int(name), 1)]], name=name)


@pytest.fixture
def measured(monkeypatch):
    """Return a function that makes images of given descriptors, which nothing has to trace or measure."""
    every, numbers = {}, count()
    monkeypatch.setattr(module, "measure", lambda images, settings: [every[one.name] for one in images])

    def images(descriptors):
        made = []
        for form, scale in descriptors:
            made.append(placeholder(f"{next(numbers) % 400}"))
            every[made[-1].name] = Measured(scale, form, np.inf)
        return made

    return images


def descriptors(rng, outlines, shift=0.0):
    """Skewed descriptors of outlines, of images that differ."""
    points = rng.exponential(size=(outlines, 7)) ** 1.5 + 0.4 * rng.exponential(size=7) + shift
    return 0.2 * points[:, :5] - 3, 0.2 * points[:, 5:]


def binomial_limit(repetitions, share):
    """Exceeded by chance in one of a thousand simulations."""
    return share + 3.1 * np.sqrt(share * (1 - share) / repetitions)


@pytest.mark.parametrize("own", [5, 40])
def test_p_values_of_one_more_image_are_uniform_for_unequal_numbers_of_outlines(measured, own):
    rng, found = np.random.default_rng(own), []
    for _ in range(300):
        usual = measured(descriptors(rng, int(rng.integers(5, 41))) for _ in range(19))
        found.append(Reference(usual).judge(measured([descriptors(rng, own)])).iloc[0])
    table = pd.DataFrame(found)
    assert table["compared"].unique().tolist() == [19]
    for name in ("p", "p_form", "p_scale"):
        p = table[name].astype(float).to_numpy()
        assert set(np.round(20 * p, 9)) <= set(range(1, 21))
        for level in (0.05, 0.1, 0.25, 0.5, 0.75):
            share = (p <= level + 1e-9).mean()
            assert 2 * level - binomial_limit(300, level) < share < binomial_limit(300, level), (name, level)


@pytest.mark.parametrize(("usual", "own", "share"), [(10, 40, 0.05), (40, 10, 0.1)])
def test_a_score_allows_for_the_number_of_outlines(usual, own, share):
    """Among means of 40 outlines, that of 10 would mostly be the outermost; no image shows more than a query."""
    rng, alarms = np.random.default_rng(0), []
    numbers = np.array([usual] * 19 + [own])
    for _ in range(200):
        scores = unlikeness(rng.normal(size=(numbers.sum(), 4)), numbers).scores
        alarms.append(scores[-1] >= scores.max())
    assert np.mean(alarms) < binomial_limit(200, share)


def test_scores_treat_all_images_alike():
    rng = np.random.default_rng(0)
    numbers, order = rng.integers(1, 9, size=9), rng.permutation(9)
    parts = [rng.gamma(1, size=(number, 3)) for number in numbers]
    found = unlikeness(np.concatenate(parts), numbers)
    again = unlikeness(np.concatenate([parts[place] for place in order]), numbers[order])
    np.testing.assert_allclose(again.scores, found.scores[order])
    terms = [(found.terms(part) - found.middle).mean(axis=0) for part in parts]
    np.testing.assert_allclose(np.einsum("ud,ud->u", terms, found.weights), found.scores)


def test_scores_of_single_outlines_are_mahalanobis_distances():
    points = np.random.default_rng(0).normal(size=(12, 2))
    found = unlikeness(points, np.full(12, 1))
    means = found.terms(points)
    apart = (means - means.mean(axis=0)) / means.std(axis=0)
    correlation = 0.2 * np.corrcoef(means.T) + 0.8 * np.eye(4)
    np.testing.assert_allclose(found.scores, np.sum(apart @ np.linalg.inv(correlation) * apart, axis=1))


def test_what_contradicts_the_correlation_of_outlines_is_unlike():
    """Means of images that differ by chance alone are correlated as their outlines are."""
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(19, 40, 1)) + 0.3 * rng.normal(size=(19, 40, 2))
    along, across = (usual[:1] + np.array(shift) - usual[:1].mean(axis=1) for shift in ((0.3, 0.3), (0.3, -0.3)))
    scores = [
        unlikeness(np.concatenate([usual, one]).reshape(-1, 2), np.full(20, 40)).scores for one in (along, across)
    ]
    assert scores[1][-1] > 2 * scores[0][-1]


def test_the_spread_of_the_first_descriptors_alone_can_count():
    points, numbers = np.random.default_rng(0).normal(size=(40, 2)), np.full(8, 5)
    found = unlikeness(points, numbers, 1)
    assert found.weights.shape == (8, 3)
    np.testing.assert_allclose(found.terms(points)[:, 2], np.abs(found.terms(points)[:, 0]))


def test_constant_descriptors_say_nothing():
    points, numbers = np.random.default_rng(0).normal(size=(40, 2)), np.full(8, 5)
    with_constant = np.concatenate([points, np.full((40, 1), 0.3)], axis=1)
    np.testing.assert_allclose(unlikeness(with_constant, numbers).scores, unlikeness(points, numbers).scores)


def test_fewer_draws_are_a_part_of_more():
    one = Measured(np.arange(20.0).reshape(10, 2), np.zeros((10, 4)), np.inf)
    few, more = (drawn(one, number, [0, 1]).scale[:, 0].tolist() for number in (3, 7))
    assert len(set(more)) == 7
    assert more[:3] == few


def test_what_differs_is_found_named_and_sized(reference):
    rng = np.random.default_rng(1)
    queries = [
        image(rng, name="usual"),
        image(rng, roughness=0.12, name="rough"),
        image(rng, size=20, name="large"),
        image(rng, roughness=0.12, size=20, name="both"),
    ]
    table = reference.judge(queries).set_index("name")
    assert table["differs"].to_dict() == {"usual": "nothing", "rough": "form", "large": "scale", "both": "both"}
    assert table.loc["large", "size"] == pytest.approx(2, rel=0.15)
    assert table.loc["rough", "roughness"] == pytest.approx(2.4, rel=0.25)
    assert "larger, " in table.loc["large", "what"]
    assert "rougher, " in table.loc["rough", "what"]
    assert "larger" not in table.loc["rough", "what"]
    assert table.loc["usual", "what"] == ""
    assert (table["least_p"] == 1 / (1 + table["compared"])).all()
    sentences = reference.sentences(reference.judge(queries))
    assert sentences[0].startswith("rough: form differs (p = 0.048): ")
    assert sentences[-2:] == [
        "3 of 4 images differ from the reference.",
        "For a false discovery rate of 0.05 over 4 images, 4 of them must show the least p-value, 0.048.",
    ]
    assert reference.sentences(reference.judge([Ensemble([], name="blank")]))[-1] == "No image was judged."


def test_form_and_scale_do_not_leak_into_each_other(reference):
    rng = np.random.default_rng(2)
    rough = reference.judge([image(rng, roughness=0.1, name=f"{place}") for place in range(40)])
    large = reference.judge([image(rng, size=14, name=f"{place}") for place in range(40)])
    assert (rough["p_form"] <= 0.05).mean() > 0.9
    assert (large["p_scale"] <= 0.05).mean() > 0.9
    assert (rough["p_scale"] <= 0.05).mean() < 0.2  # one reference for all queries: correlated
    assert (large["p_form"] <= 0.05).mean() < 0.2


def test_an_image_is_judged_alone_and_the_same_again(reference):
    rng = np.random.default_rng(3)
    queries = [image(rng, 5 + 3 * place, roughness=0.07, name=f"{place}") for place in range(4)]
    together, alone = reference.judge(queries), pd.concat([reference.judge(one) for one in queries], ignore_index=True)
    columns = [name for name in together if name != "p_adjusted"]
    pd.testing.assert_frame_equal(together[columns], alone[columns])
    assert together["drawn"].tolist() == [5, 8, 11, 14]


def test_half_of_many_images_have_a_quarter_of_the_outlines_drawn(measured):
    rng = np.random.default_rng(3)
    usual = measured(descriptors(rng, number) for number in range(5, 65))
    rows = Reference(usual).judge(measured(descriptors(rng, number) for number in (3, 20, 80, 200)))
    assert rows["drawn"].tolist() == [3, 20, 80, 140]
    assert rows["compared"].tolist() == [60, 60, 45, 30]
    rows = Reference(usual, outlines=10).judge(measured(descriptors(rng, number) for number in (3, 20, 80)))
    assert rows["drawn"].tolist() == [3, 10, 10]
    assert rows["compared"].tolist() == [60, 55, 55]


def test_corrections_for_several_images(reference):
    rng = np.random.default_rng(4)
    queries = [image(rng, roughness=0.15 if place < 2 else 0.05, name=f"{place}") for place in range(6)]
    plain = reference.judge(queries)
    assert (plain["p_adjusted"] >= plain["p"]).all()
    assert plain["differs"].tolist()[:2] == ["form", "form"]
    for correction in ("fdr", "family"):  # 20 images cannot show it
        assert set(reference.judge(queries, correction=correction)["differs"]) == {"nothing"}
    with pytest.raises(ValueError, match="correction must be none, fdr or family"):
        reference.judge(queries, correction="holm")


def test_images_of_a_pooled_ensemble_are_judged_one_by_one(reference):
    rng = np.random.default_rng(5)
    images = [image(rng, name="one"), image(rng, size=30, name="two")]
    assert reference.judge(Ensemble.pooled(images))["differs"].tolist() == reference.judge(images)["differs"].tolist()
    assert len(Reference(Ensemble.pooled([image(rng, name=f"{place}") for place in range(4)]), QUICK)) == 4


def test_replicates_are_exchangeable_not_their_images(measured):
    rng = np.random.default_rng(6)
    usual = measured(descriptors(rng, 8) for _ in range(20))
    kind = Reference(usual, replicates=np.repeat([*"abcde"], 4).tolist())
    row = kind.judge(measured([descriptors(rng, 8, 9.0)])).iloc[0]
    assert (len(kind), row["compared"], row["p"]) == (5, 5, pytest.approx(1 / 6))
    assert row["differs"] is None
    assert row["reason"] == "5 images with 8 outlines can show p = 0.17 at best"
    assert "19 are needed" in kind.warnings[0]


def test_replicates_are_given_by_ensemble_or_by_image():
    images = [image(np.random.default_rng(place), 3, name=f"{place}") for place in range(6)]
    days = ["a", "a", "b", "b", "c", "c"]
    by_ensemble = Reference(
        [sum(images[2 * place + 1 : 2 * place + 2], images[2 * place]) for place in range(3)], QUICK, replicates="abc"
    )
    pooled = Reference(sum(images[1:], images[0]), QUICK, replicates=days)
    assert by_ensemble.replicates == pooled.replicates == tuple(days)
    assert len(pooled) == 3


def test_an_image_of_the_reference_is_remarked_when_it_is_judged(reference):
    table = reference.judge([reference.images[3], image(np.random.default_rng(1))])
    assert "has the outlines of usual 3" in table["remarks"][0]
    assert not table["remarks"][1]


def test_unusual_quantities_are_named_of_what_differs(reference):
    query = image(np.random.default_rng(0), 2, size=20, name="two")
    row = reference.judge([query]).iloc[0]
    assert row["differs"] == "scale"
    assert row["what"].startswith("larger")
    assert "lobes" not in row["what"]


def test_a_smaller_field_of_view_is_compared_with_as_small_ones():
    """Large outlines are cut by the border of small fields, and missing there."""

    def field(rng, side, name):
        outlines = image(rng, 60, window=(side, side), name=name)
        boxes = np.array([np.ptp(curve, axis=0) for curve in outlines.curves])
        return outlines[np.flatnonzero(rng.random(60) < (1 - boxes / side).clip(0).prod(axis=1))]

    rng = np.random.default_rng(0)
    reference = Reference([field(rng, 400, f"{place}") for place in range(20)], QUICK)
    queries = [field(rng, 60, f"small {place}") for place in range(40)]
    table = reference.judge(queries)
    assert table["remarks"].str.contains("as the border of smaller images would have cut").all()
    assert (table["p_scale"] <= 0.05).mean() < 0.2
    assert abs(np.log(table["size"]).mean()) < 0.03
    open_fields = [one.derived(one.curves, window=None) for one in queries]
    assert np.log(reference.judge(open_fields)["size"]).mean() < -0.05


def test_outlines_that_make_an_image_unlike_come_first(reference):
    rng = np.random.default_rng(7)
    rough, usual = image(rng, 3, roughness=0.3), image(rng, 12)
    mixed = Ensemble([*rough.curves, *usual.curves], ids=[f"rough {i}" for i in range(3)] + [f"{i}" for i in range(12)])
    table = reference.unlike(mixed)
    assert set(table.nlargest(3, "form")["id"]) == {"rough 0", "rough 1", "rough 2"}
    assert table["score"].is_monotonic_decreasing
    assert table["form"].sum() == pytest.approx(1)


def test_a_chart_raises_few_false_alarms_and_notices_a_change(measured):
    rng, alarms = np.random.default_rng(8), []
    for _ in range(50):  # in 200: docs/results/reference.json
        usual, later = (measured(descriptors(rng, 6) for _ in range(images)) for images in (10, 30))
        alarms.append(Reference(usual).chart(later)["alarm"].any())
    assert np.mean(alarms) <= 0.05
    usual = measured(descriptors(rng, 6) for _ in range(40))
    later = measured([*(descriptors(rng, 6) for _ in range(10)), *(descriptors(rng, 6, 4.0) for _ in range(20))])
    chart = Reference(usual).chart([*later, *measured([descriptors(rng, 2)])])
    assert 10 <= int(chart["alarm"].argmax()) < 20
    assert chart["alarm"].iloc[-1]
    assert chart["remarks"].iloc[-1] == "not charted: it has 2 outlines, 6 are drawn"


def test_of_several_references_one_none_or_several_accept(reference):
    rng = np.random.default_rng(9)
    large = Reference([image(rng, size=20, name=f"{place}") for place in range(20)], QUICK)
    queries = [image(rng, name="a"), image(rng, size=20, name="b"), image(rng, size=80, name="c")]
    table = accepted_by({"usual": reference, "large": large, "again": reference}, queries)
    assert table["accepted"].tolist() == [("usual", "again"), ("large",), ()]
    with pytest.raises(ValueError, match="at least one reference"):
        accepted_by({}, queries)
    with pytest.raises(ValueError, match="a column of the table is called name"):
        accepted_by({"name": reference}, queries)


def test_a_saved_reference_judges_to_the_same_digits(reference, tmp_path):
    path = tmp_path / "usual.reference.npz"
    reference.save(path)
    again, query = Reference.load(path), image(np.random.default_rng(10), name="query")
    pd.testing.assert_frame_equal(again.judge(query), reference.judge(query))
    pd.testing.assert_frame_equal(again.to_dataframe(), reference.to_dataframe())
    assert (again.summary(), again.versions, again.settings) == (
        reference.summary(),
        reference.versions,
        reference.settings,
    )
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"usual\.reference\.npz is damaged, or not a valid shape-ensembles reference"):
        Reference.load(path)


def test_the_table_of_a_reference_shows_an_image_that_is_unlike_the_others():
    rng = np.random.default_rng(11)
    odd = image(rng, size=30, name="odd")
    table = Reference([*(image(rng, name=f"{place}") for place in range(12)), odd], QUICK).to_dataframe()
    assert table["name"][table["p_scale"].idxmin()] == "odd"
    assert table["p_scale"].min() == pytest.approx(1 / 13)
    assert table["size"].iloc[-1] > 2


def test_what_cannot_be_judged_says_why(reference):
    empty = Ensemble([[(0, 0), (1, 1)]], name="empty")
    few = image(np.random.default_rng(12), 2, name="few")
    table = reference.judge([empty, few]).set_index("name")
    assert table.loc["empty", "differs"] is None
    assert table.loc["empty", "reason"] == "it has no usable outline (1 fewer than 3 distinct vertices)"
    assert np.isnan(table.loc["empty", "p"])
    assert table.loc["few", "remarks"] == "only 2 outlines of each image are compared"
    assert reference.sentences(reference.judge(empty))[0].startswith("empty: not judged: it has no usable outline")
    with pytest.raises(ValueError, match="empty is not judged: it has no usable outline"):
        reference.unlike(empty)


def test_outlines_traced_by_another_recipe_are_not_judged():
    rng = np.random.default_rng(13)
    reference = Reference([image(rng, name=f"{place}", tracing={"holes": "fill"}) for place in range(20)], QUICK)
    other = image(rng, name="other", tracing={"holes": "keep"})
    reason = "it was traced with holes = keep, the reference with fill: trace it by the same recipe"
    table = reference.judge(other)
    assert (table["differs"][0], table["reason"][0]) == (None, reason)
    with pytest.raises(ValueError, match=f"other is not judged: {reason}"):
        reference.unlike(other)
    chart = reference.chart([other])
    assert (chart["remarks"][0], chart["p"].isna()[0]) == (f"not charted: {reason}", True)


ACQUIRED = {
    "traced": lambda curves, **given: Ensemble.from_labels(plane_of(curves), unit="µm", scale=1.0, **given),
    "smoothed": lambda curves, **given: ACQUIRED["traced"](curves, smoothing=2.0, **given),
    "coarse": lambda curves, **given: Ensemble.from_labels(
        plane_of([curve / 1.6 for curve in curves]), unit="µm", scale=1.6, **given
    ),
    "exact": lambda curves, **given: Ensemble(curves, unit="µm", **given),
    "whole pixels": lambda curves, **given: Ensemble([np.round(curve) for curve in curves], unit="µm", **given),
    "clicked": lambda curves, **given: Ensemble([curve[::16] for curve in curves], unit="µm", **given),
}


def plane_of(curves):
    """Labels of outlines beside each other."""
    places = [curve - curve.min(axis=0) + 3 for curve in curves]
    tiles = [polygon2mask(np.ceil(place.max(axis=0)).astype(int) + 3, place) for place in places]
    plane = np.zeros((max(map(len, tiles)), sum(tile.shape[1] for tile in tiles)), int)
    ends = np.cumsum([tile.shape[1] for tile in tiles])
    for label, (tile, end) in enumerate(zip(tiles, ends, strict=True), 1):
        plane[: len(tile), end - tile.shape[1] : end][tile] = label
    return plane


@pytest.fixture(scope="module")
def acquired():
    """Images of one kind, and rougher ones, acquired in several ways."""
    rng = np.random.default_rng(19)

    def images(number, roughness):
        drawn = [image(rng, size=15, vertices=320, roughness=roughness).curves for _ in range(number)]
        return {
            way: [acquire(curves, name=f"{roughness} {place}") for place, curves in enumerate(drawn)]
            for way, acquire in ACQUIRED.items()
        }

    return images(40, 0.05), images(6, 0.12)


@pytest.mark.parametrize("usual", ["traced", "clicked"])
@pytest.mark.parametrize("way", ACQUIRED)
def test_outlines_acquired_otherwise_are_compared_at_the_coarser_precision(usual, way, acquired):
    """Unchanged, they would be called rougher, or smoother, in nearly all images."""
    alike, rough = acquired
    reference = Reference(alike[usual][:20], QUICK)
    table = reference.judge([*alike[way][20:], *rough[way]])
    assert (table["reason"] == "").all()
    assert table["remarks"].str.contains("acquired otherwise").all() == (way != usual)
    assert (table["differs"][:20] == "nothing").sum() >= 17
    assert (table["differs"][20:] != "nothing").sum() >= 5
    one = reference.unlike(rough[way][0])
    assert one["form"].sum() == pytest.approx(1)


def test_a_clicked_query_is_judged_alone_and_the_same_again(acquired):
    alike, _ = acquired
    reference = Reference(alike["traced"][:20], QUICK)
    queries = [*alike["clicked"][20:24], *alike["coarse"][24:26]]
    together, alone = reference.judge(queries), pd.concat([reference.judge(one) for one in queries], ignore_index=True)
    pd.testing.assert_frame_equal(together.drop(columns="p_adjusted"), alone.drop(columns="p_adjusted"))


def test_pixels_of_other_proportions_are_not_judged(acquired):
    alike, _ = acquired
    halves = [curve / (1, 2) for curve in alike["exact"][0].curves]
    oblong = Ensemble.from_labels(plane_of(halves), scale=(1, 2), unit="µm")
    table = Reference(alike["traced"][:20], QUICK).judge(oblong)
    assert table["differs"][0] is None
    assert table["reason"][0].startswith("its pixels have other proportions than those")


def test_a_chart_takes_finer_outlines_and_says_which_are_coarser(acquired):
    alike, _ = acquired
    chart = Reference(alike["traced"][:20], QUICK).chart([alike[way][20] for way in ("exact", "clicked", "coarse")])
    assert chart["p"].isna().tolist() == [False, True, True]
    assert "acquired otherwise" in chart["remarks"][0]
    assert chart["remarks"].str.startswith("not charted: its outlines are coarser than").tolist() == [False, True, True]


def test_images_acquired_in_several_ways_make_a_reference_of_the_coarsest(acquired, tmp_path):
    alike, _ = acquired
    mixed = [*alike["traced"][:10], *alike["coarse"][10:20]]
    reference = Reference(mixed, QUICK)
    assert {one.pixel_size for one in reference.images} == {(1.6, 1.6)}
    assert "all were brought to the coarsest" in reference.warnings[0]
    table = reference.judge(alike["traced"][20:])
    assert (table["differs"] == "nothing").sum() >= 17
    path = tmp_path / "mixed.reference.npz"
    reference.save(path)
    pd.testing.assert_frame_equal(Reference.load(path).judge(alike["traced"][20:]), table)


def test_of_pixels_too_large_for_all_outlines_is_said_so(acquired):
    alike, _ = acquired
    kind = Reference(alike["traced"][:3], QUICK)
    huge = image(np.random.default_rng(14), 8, name="huge", size=20_000, vertices=320, pixel_size=500.0, unit="µm")
    assert kind.judge(huge)["reason"][0] == "at its pixels, of 500 µm, no outline of the reference is left"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda images: Reference(images[:2]), "at least 3 images of the accepted kind, not 2"),
        (lambda images: Reference(images, replicates=["a", "a", "b", "b"]), "at least 3 replicates"),
        (lambda images: Reference([*images, images[0]]), "images 1 and 5. contain the same outlines"),
        (lambda images: Reference(images, replicates=["a"]), "4 images need as many replicates, not 1"),
        (lambda images: Reference([*images, Ensemble([], name="blank")]), "blank: no usable outline"),
        (lambda images: Reference([*images, Ensemble(images[0].curves, name="x", unit="µm")]), 'x: lengths in "µm"'),
        (lambda images: Reference(images).judge(Ensemble(images[0].curves, unit="nm")), 'an image: lengths in "nm"'),
        (lambda images: Reference(images).judge([]), "give at least one image"),
        (lambda images: Reference(images).judge("folder"), "use io.read_curves"),
        (lambda images: Reference(images).judge(np.zeros((50, 50), int)), "extract_curves"),
        (lambda images: Reference(images, significance=5), "significance must be between 0 and 1, not 5"),
        (lambda images: Reference(images, outlines=5), "0 images of the reference have 5 outlines: draw fewer"),
        (lambda images: Reference(images, outlines=0), "outlines must be an integer of at least 1"),
    ],
)
def test_bad_input_says_what_is_wrong(make, message):
    images = [Ensemble(list(blobs(4, 40, seed=seed)), name=f"image {seed}") for seed in range(4)]
    with pytest.raises(ValueError, match=message):
        make(images)
