"""The result in a sentence: direction, size, interval, detectable differences, and scope."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import shapely

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Outlines, Settings, compare, experiment, explain
from napari_shape_ensembles.comparison.answer import PART_NAMES, p_words, ratio_sentence, ratio_words, statements
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.explanation.paper import answer_figure, image_table, methods
from napari_shape_ensembles.explanation.shape_paths import ShapePlaces

QUICK = Settings(landmarks=60, rank=10, permutations=199)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]\d+)?")


def sample(seed, factor=1.0, count=40, name=""):
    return Ensemble(list(blobs(count, 80, seed=seed) * factor), name=name, unit="µm")


@pytest.fixture(scope="module")
def larger():
    """B's outlines are 1.4 times as large, with the same undulation."""
    return compare(sample(1, name="one"), sample(2, 1.4, name="two"), QUICK)


@pytest.fixture(scope="module")
def images():
    """Six images per sample; those of B are 1.3 times as large."""
    a, b = ([sample(10 * side + i, 1.3**side, 12, f"{'ab'[side]}{i}") for i in range(6)] for side in (0, 1))
    return compare(a, b, QUICK)


def test_the_headline_states_direction_and_size(larger):
    found = headline(larger)
    assert found.sentence.startswith("two's outlines are larger: 1.")
    assert found.sentence.endswith("No difference in form was detected.")
    ratio = r"a ratio of {} (up|down) to \d\.\d+"
    assert re.match(f"Could have been missed: {ratio.format('lobes')}, {ratio.format('roughness')}", found.missed)
    assert "One image a side cannot show a difference between conditions." in found.scope
    assert found.opening == "These two images differ."
    (a, *_), (b, *_) = found.outlines
    assert np.abs(b).max() / np.abs(a).max() == pytest.approx(1.4, rel=0.2)


def test_a_quantity_is_named_only_by_its_own_adjusted_p_value(larger):
    """A 95 % interval may exclude 1 although no quantity differs at the level of the test."""
    unnamed = replace(larger, scale=replace(larger.scale, p_value=0.03))
    assert unnamed.scale.rejected
    assert unnamed.estimates["low"][0] > 1
    assert headline(unnamed).sentence.startswith("Size or elongation differs, but no single quantity can be named.")
    no_parts = replace(larger, scale=replace(larger.scale, parts={}))
    assert headline(no_parts).sentence.startswith("two's outlines are larger: 1.")


def test_an_untested_quantity_is_not_named(larger):
    left_out = dict.fromkeys(("mean size", "size", "size and elongation"), "too few pixels")
    untested = replace(larger, scale=replace(larger.scale, left_out=left_out))
    assert headline(untested).sentence.startswith("The distribution of size differs, but no single quantity can be ")
    assert np.isnan(untested.estimates["p"][0])


@pytest.mark.parametrize("bandwidth", [1.0, (0.5, 1.0)])
def test_coordinates_and_kernel_widths_are_described_for_a_paper(bandwidth):
    a, b = (Ensemble(list(blobs(40, 80, seed=1, roughness=rough)), unit="µm") for rough in (0.05, 0.3))
    result = compare(a, b, QUICK, coordinates="both", bandwidth=bandwidth)
    assert result.undulation.rejected
    said = headline(result).sentence
    assert "coarse form" in said
    assert not re.search("raw|normalized|s =|median", said)
    assert "a ratio of size " in headline(result).missed


def test_exchanging_samples_inverts_the_statement(larger):
    other = compare(larger.b, larger.a, QUICK)
    there, back = (headline(result).sentence.partition(":")[2].split()[0] for result in (larger, other))
    assert headline(other).sentence.startswith("one's outlines are smaller")
    assert float(there) * float(back) == pytest.approx(1, abs=0.02)


def test_intervals_are_over_images_if_there_are_several(images):
    found = headline(images)
    assert "whole images were permuted (6 and 6)" in found.scope
    assert [len(side) for side in found.replicate_means] == [6, 6]
    means = [np.log(list(side.values())) for side in found.replicate_means]
    ratio = np.exp(means[1].mean() - means[0].mean())
    assert f"larger: {ratio:.2f} times A's in length" in found.sentence
    from scipy.stats import ttest_ind

    interval = ttest_ind(means[1], means[0], equal_var=False).confidence_interval()
    assert f"({np.exp(interval.low):.2f} to {np.exp(interval.high):.2f})" in found.sentence


def test_a_dot_is_a_replicate_which_may_have_several_images():
    images = [sample(i, (1.0, 1.3)[i // 6], 12, f"{'ab'[i // 6]}{i % 6}") for i in range(12)]
    design = pd.DataFrame({"group": ["a"] * 6 + ["b"] * 6, "replicate": ["x", "x", "x", "y", "y", "z"] * 2})
    result = experiment(images, design, QUICK).contrast()
    known = headline(result)
    assert [[*side] for side in known.replicate_means] == [[f"{g}0 + 2 more", f"{g}3 + {g}4", f"{g}5"] for g in "ab"]
    means = [np.log(list(side.values())).mean() for side in known.replicate_means]
    assert known.drawn == "size"
    assert result.ratios.set_index("quantity").loc["size", "estimate"] == pytest.approx(np.exp(means[1] - means[0]))
    bars = [line.get_ydata() for line in answer_figure(result, known).axes[1].lines if len(line.get_ydata()) == 2]
    np.testing.assert_allclose([bar[0] for bar in bars], np.exp(means))


def test_the_dots_are_of_the_named_quantity_also_if_it_is_a_spread():
    images = []
    for i in range(12):
        scales = np.exp(np.linspace(-1, 1, 12) * (0.05, 0.4)[i // 6])
        curves = [curve * scale for curve, scale in zip(blobs(12, 40, seed=i), scales, strict=True)]
        images.append(Ensemble(curves, name=f"{'ab'[i // 6]}{i % 6}", unit="µm"))
    result = compare(images[:6], images[6:], QUICK)
    known = headline(result)
    assert known.drawn == "spread of size"
    means = [np.log(list(side.values())).mean() for side in known.replicate_means]
    ratios = result.ratios.set_index("quantity")["estimate"]
    assert ratios["spread of size"] == pytest.approx(np.exp(means[1] - means[0]))


def test_missed_ratios_are_stated_for_images_without_a_difference():
    a, b = ([sample(10 * side + i, 1.0, 12, f"{'ab'[side]}{i}") for i in range(6)] for side in (0, 1))
    said = headline(compare(a, b, QUICK)).missed
    assert re.match(
        r"Could have been missed: a ratio of size (up|down) to \d\.\d+, a ratio of elongation (up|down) to \d\.\d+",
        said,
    )


def test_figures_of_images_with_unequal_counts_agree_with_the_sentence():
    """The large image of A and the small image of B have most outlines: pooled, B would appear smaller."""
    sizes, counts = (1.5, 1.0, 1.1, 1.05, 1.0), (80, 8, 8, 8, 8)
    a = [sample(i, size, n, f"a{i}") for i, (size, n) in enumerate(zip(sizes, counts, strict=True))]
    b = [sample(9 + i, 1.4 / size, n, f"b{i}") for i, (size, n) in enumerate(zip(sizes, counts, strict=True))]
    result = compare(a, b, QUICK, significance=0.05)
    known = headline(result)
    means = [np.log(list(side.values())).mean() for side in known.replicate_means]
    places = ShapePlaces(result)
    drawn = [np.sqrt(np.linalg.eigvalsh(places.mean(side).scale @ places.mean(side).scale)).prod() for side in "AB"]
    assert np.sqrt(drawn[1] / drawn[0]) == pytest.approx(np.exp(means[1] - means[0]), rel=1e-6)
    bars = [line.get_ydata() for line in answer_figure(result, known).axes[1].lines if len(line.get_ydata()) == 2]
    np.testing.assert_allclose([bar[0] for bar in bars], np.exp(means))


def test_each_differing_part_is_stated_once():
    """Sizes with more spread about the same mean, which no ratio shows."""
    spread = [outline * (0.5, 2.0)[place % 2] for place, outline in enumerate(blobs(40, 80, seed=1))]
    result = compare(sample(1), Ensemble(spread, unit="µm"), QUICK)
    assert {"size", "size and elongation"} <= {
        name for name, part in result.scale.parts.items() if part.p_value <= result.settings.test_level
    }
    assert re.match(r"B's outlines are more varied in size: \d\.\d\d times A's \(", headline(result).sentence)


def test_identical_undulations_have_no_detectable_shift():
    """Identical outlines that vary in size only: shifts of undulation have no unit."""
    one = blobs(1, 80, seed=1)[0]
    a, b = (Ensemble([one * size for size in np.linspace(1, 2, 25) * f], unit="µm") for f in (1, 1.01))
    result = compare(a, b, QUICK, overrule=True)
    assert result.detectable().form_shift == np.inf
    assert re.match(r"Could have been missed: a ratio of size (up|down) to \d\.\d\d", headline(result).missed)


def test_an_inconclusive_result_states_the_reason():
    few = compare(sample(1, count=5), sample(2, count=5), QUICK)
    found = headline(few)
    assert found.sentence.startswith("No answer yet: ")
    assert found.missed == found.scope == ""
    words = methods(few, None, found)
    assert f"{found.sentence} (form p = " in words
    assert "brackets" not in words


@pytest.mark.parametrize(
    ("images", "changes", "words"),
    [
        (
            3,
            {},
            "by the test of Läuter, Glimm and Kropf (1998), a small-sample t-test of the means of images",
        ),
        (9, {}, "p-values from 24999 random permutations of whole images. Each was tested at"),
        (1, {}, "p-values from 199 random permutations of single outlines. Each was tested at"),
        (
            20,
            {"permute": "curves", "bins": 100},
            "p-values from 199 random permutations of random bins of 4 outlines. Each was tested at",
        ),
        (
            1,
            {"approximate_above": 10},
            "p-values from 199 random permutations of single outlines (kernel projected on 512 of 20 points). Each was",
        ),
        (1, {"null": "gamma"}, "p-values from a null approximated by a gamma distribution. Each was tested at"),
    ],
)
def test_text_for_a_paper_states_the_basis_of_p_values(images, changes, words):
    a, b = ([sample(10 * side + i, count=10, name=f"{side}{i}") for i in range(images)] for side in (0, 1))
    result = compare(a, b, QUICK, **changes)
    assert words in methods(result, None, headline(result))


def test_text_for_a_paper_has_every_number(images):
    known = headline(images)
    words = methods(images, Outlines(), known)
    for part in (
        "60 landmarks",
        "whole images",
        "all 924 permutations of whole images",
        "Otsu threshold",
        "numpy",
        "72 outlines in 6 images",
        known.sentence,
    ):
        assert part in words
    objects, table = images.outlines, image_table(images)
    assert len(objects) == 144
    assert objects["sample"].value_counts().to_dict() == dict.fromkeys(images.names, 72)
    np.testing.assert_allclose(objects["scale"], images.distances["scale"])
    assert table["outlines"].tolist() == [12] * 12
    sizes = [size for side in known.replicate_means for size in side.values()]
    np.testing.assert_allclose(table["size"], sizes)
    figure = answer_figure(images, known)
    assert figure.axes[0].get_title(loc="left").startswith("typical outlines")
    assert [axis.get_title() for axis in figure.axes] == ["", "size, µm", "elongation", "roughness"]
    figure.draw_without_rendering()
    ticks = [tick.get_text() for axis in figure.axes[1:] for tick in axis.get_yticklabels()]
    assert all(not text or float(text) for text in ticks)  # no scientific notation, for a range below one
    boxes = [box.get_tightbbox() for box in (*figure.axes, *figure.legends)]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.parametrize(
    ("kinds", "said", "unsaid"),
    [
        (
            ("image",),
            ("Objects were segmented", "method: Otsu threshold", "smallest object"),
            ("labels", "as they are"),
        ),
        (("labels",), ("Given labels were not segmented", "smallest object"), ("Otsu", "neck", "Objects were")),
        (("shapes",), ("Given outlines were used as they are",), ("Otsu", "smallest object", "segmented")),
        (("labels", "image"), ("Objects were segmented", "Given labels were not segmented"), ("as they are",)),
    ],
)
def test_text_for_a_paper_describes_only_the_steps_applied(larger, kinds, said, unsaid):
    words = methods(larger, Outlines(), headline(larger), kinds=kinds)
    assert all(part in words for part in said)
    assert not any(part in words for part in unsaid)


def test_text_for_a_paper_states_resampling_faults_and_combined_parts():
    a, b = (Ensemble(list(blobs(12, 80, seed=side)), unit="µm", name="ab"[side]) for side in (0, 1))
    twice = Ensemble([*a.curves[:6], *a.curves[:6]], unit="µm", name="a")
    few = compare(twice, b, QUICK, overrule=True, significance=0.1)
    words = methods(replace(few, note="All outlines were brought to the largest pixels"), None, headline(few))
    assert " All outlines were brought to the largest pixels. " in words
    assert "despite faults of the outlines: 6 outlines occur twice, in a." in words
    for test in (few.undulation, few.scale):
        assert all(PART_NAMES.get(part, part) in words for part in test.parts)
    assert "combined by their smallest p-value on the same permutations (min-p)." in words
    gamma = compare(a, b, QUICK, null="gamma", significance=0.1)
    assert "(undulation: raw, normalized) were combined by their smallest p-value with Bonf" in methods(
        gamma, None, headline(gamma)
    )
    raw = compare(a, b, QUICK, coordinates="raw", significance=0.1)
    assert "combined by their smallest p-value" not in methods(raw, None, headline(raw))
    assert "despite faults of the outlines" not in methods(raw, None, headline(raw))


def test_a_ratio_has_the_same_interval_everywhere(larger):
    pattern = r"larger: ([\d.]+) times one's in length \(([\d.]+) to ([\d.]+)\), mean area × ([\d.]+)\."
    *stated, area = re.search(pattern, headline(larger).sentence).groups()
    size = larger.estimates.loc[0]
    assert stated == ratio_words(size["estimate"], size["low"], size["high"])
    assert [area] == ratio_words(larger.estimates["estimate"][1])
    assert "Ratios are those of geometric means, but for areas of arithmetic means; their" in methods(
        larger, None, headline(larger)
    )
    areas = [np.mean([shapely.Polygon(curve).area for curve in side.curves]) for side in (larger.a, larger.b)]
    assert larger.estimates["estimate"][1] == pytest.approx(areas[1] / areas[0], rel=1e-6)
    words = f"{stated[0]} times one's in length, 95 % interval {stated[1]} to {stated[2]}, mean area × {area}"
    assert words in explain(larger).sentences()[0]


def test_the_scope_of_one_image_against_several():
    """1 against 20 images attain the level of each test: 1/21."""
    one = sample(1, 1.5, 12, "a0")
    others = [sample(20 + i, 1, 12, f"b{i}") for i in range(20)]
    scope = headline(compare([one], others, replace(QUICK, significance=0.1))).scope
    assert scope.startswith("It holds for the one image of A, compared with the condition of B: whole images were per")
    scope = headline(compare(others, [one], replace(QUICK, significance=0.1))).scope
    assert scope.startswith("It holds for the one image of B, compared with the condition of A")


def test_text_for_a_paper_states_what_a_referee_asks_for(larger):
    words = methods(larger, Outlines(fill_holes=False, split_touching="distance"), headline(larger))
    assert "fill holes: off; noise below:" in words
    assert "; split touching: at necks;" in words
    assert "landmarks, equally spaced in affine arc length" in words
    assert "their 95 % intervals are symmetric bootstrap-t over outlines" in words
    assert "brackets hold 95 % intervals" in words
    assert "Differences that could have been missed are the ends of 95 % intervals." in words
    for options, said in (
        ({"unit": "µm", "pixel_size": (0.25, 0.5)}, "Outlines were compared at pixels of 0.25 × 0.5 µm."),
        ({"unit": "µm"}, "Sizes are in µm."),
        ({}, "Sizes are in pixels."),
    ):
        alike = compare(*[Ensemble(side.curves, **options) for side in (larger.a, larger.a)], QUICK)
        words = methods(alike, None, headline(alike))
        assert f" {said} " in words
        assert "intervals" not in words


@pytest.mark.parametrize("spread", [0.1, 0.8, 3.0])
def test_tick_labels_of_the_figure_do_not_overlap(spread):
    sizes = np.exp(spread * np.random.default_rng(0).normal(size=(2, 30)))
    a, b = (
        Ensemble([curve * size for curve, size in zip(blobs(30, 80, seed=side), own, strict=True)], unit="µm")
        for side, own in enumerate(sizes)
    )
    result = compare(a, b, QUICK)
    figure = answer_figure(result, headline(result))
    figure.draw_without_rendering()
    for axis in figure.axes[1:]:
        low, high = axis.get_ylim()
        shown = [label for label in axis.get_yticklabels() if low <= label.get_position()[1] <= high]
        boxes = [label.get_window_extent() for label in shown if label.get_text()]
        assert boxes
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_every_number_of_the_answer_stands_in_the_table_of_estimates(larger, images):
    """Of headline, sentences and methods text: ratios, intervals and p-values of quantities."""
    a, b = (Ensemble(list(blobs(40, 80, seed=1, roughness=rough)), unit="µm") for rough in (0.05, 0.3))
    for result in (larger, images, compare(a, b, QUICK)):
        known = headline(result)
        table = {number for row in known.estimates[1:] for cell in row[1:] for number in NUMBER.findall(cell)}
        tests = set(NUMBER.findall(p_words(result)))
        said = " ".join(
            [known.sentence, known.missed, *(one.text for one in statements(result)), ratio_sentence(result)]
        )
        found = set(NUMBER.findall(said.replace("95 %", "").replace("up to 5 lobes", "")))
        assert found
        assert found <= table | tests
        assert f"{known.opening} {known.sentence}" in methods(result, None, known)
    assert headline(images).opening == "A and B differ: 6 and 6 images."
