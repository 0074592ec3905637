"""Modes of shape variation: the altered one is found, and named only if the curves support it."""

import numpy as np
import pytest

from curve_makers import rotation
from napari_shape_ensembles import ShapeSpace, decompose
from napari_shape_ensembles.explanation.modes import along_mode, mode_tests
from napari_shape_ensembles.explanation.properties import PROPERTIES, bands, properties


def outlines(count, *, square=0.0, seed=0, n=96):
    """Circles with lobes at fixed places, so that registration keeps them; more or less square."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(n) / n
    square = 0.08 + square + 0.02 * rng.normal(size=(count, 1))
    triangle, five, nine = (size * rng.normal(size=(count, 1)) for size in (0.03, 0.01, 0.004))
    z = np.exp(1j * u) + square * np.exp(-3j * u) + 0.1 * np.exp(-2j * u)
    z = z + triangle * np.exp(-2j * u) + five * np.exp(-4j * u) + nine * np.exp(-8j * u)
    return np.stack([z.real, z.imag], axis=-1) @ rotation(0.3)


@pytest.fixture(scope="module")
def learned():
    curves = np.concatenate([outlines(80, seed=1), outlines(90, seed=2, square=0.03)])
    undulation, scale = decompose(curves)
    space = ShapeSpace.learn(undulation, scale, 8)
    t, l = space.coordinates(undulation, scale)
    return space, t, l, mode_tests(t, 80, properties(space.reconstruct(t, l)), permutations=500)


def test_the_altered_mode_is_found_and_named(learned):
    _, _, _, modes = learned
    first, second = modes.order()[:2]
    assert modes.tests.adjusted[first] <= 0.01 < modes.tests.adjusted[second]
    assert modes.named(first)[0].name == "squareness"
    assert "B's outlines are squarer" in modes.sentence(first)
    assert f"Mode {first + 1} (adjusted p = 0.002" in modes.sentence(first)


def test_a_change_of_spread_is_described_as_such():
    rng = np.random.default_rng(3)
    t = rng.normal(size=(200, 4))
    t[100:, 2] *= 2
    measured = {one: rng.normal(size=200) for one in properties(outlines(1))}
    modes = mode_tests(t, 100, measured)
    assert modes.order()[0] == 2
    assert modes.named(2) is None
    sentence = modes.sentence(2)
    assert "times A's" in sentence
    assert float(sentence.split("B's spread is ")[1].split()[0]) == pytest.approx(2, rel=0.2)


def test_curves_along_a_mode_have_the_requested_coordinates(learned):
    space, t, _, modes = learned
    mode = int(modes.order()[0])
    drawn = along_mode(space, t, mode, (-2, 0, 2))
    found, l = space.coordinates(*decompose(drawn))
    expected = np.zeros((3, t.shape[1]))
    expected[:, mode] = t[:, mode].mean() + np.array([-2, 0, 2]) * t[:, mode].std()
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(l, 0, atol=1e-10)
    squareness = properties(drawn)["squareness"]
    assert (np.diff(squareness) * modes.named(mode)[1] > 0).all()


def test_a_mode_is_named_only_if_its_property_differs_in_the_same_direction(learned):
    _, t, _, modes = learned
    mode = int(modes.order()[0])
    measured = properties(outlines(170, seed=5))
    measured["squareness"] = np.where(modes.named(mode)[1] > 0, 1, -1) * t[:, mode]
    measured["squareness"][80:] -= np.ptp(t[:, mode])
    unsupported = mode_tests(t, 80, measured, permutations=99)
    assert "squarer" not in unsupported.sentence(mode)


def test_variances_sum_to_one(learned):
    _, _, _, modes = learned
    assert modes.variance.sum() == pytest.approx(1)
    assert len(modes) == 8
    assert (np.diff(modes.variance) <= 1e-12).all()


def test_ties_do_not_separate_the_samples():
    rng = np.random.default_rng(4)
    t = rng.normal(size=(80, 2))
    t[40:, 0] += 5
    measured = {one: rng.normal(size=80) for one in properties(outlines(1))} | {"concavity": np.zeros(80)}
    modes = mode_tests(t, 40, measured, permutations=99)
    assert modes.named(0) is None
    assert "concave" not in modes.sentence(0)
    np.testing.assert_array_equal(modes.correlation[:, list(measured).index("concavity")], 0)


def test_an_insignificant_spread_is_not_reported():
    rng = np.random.default_rng(6)
    t = rng.normal(size=(20, 1))
    t /= np.where(np.arange(20) < 10, t[:10].std(), t[10:].std() / 1.3)[:, None]  # B 1.3 times as wide; ten curves
    measured = {one: rng.normal(size=20) for one in properties(outlines(1))}
    assert "varies" not in mode_tests(t, 10, measured, permutations=19).sentence(0)


@pytest.mark.parametrize(("still", "side"), [(slice(30), "A"), (slice(30, None), "B")])
def test_a_sample_without_variation_is_reported(still, side):
    rng = np.random.default_rng(7)
    t = rng.normal(size=(60, 1))
    t[still] = 0.1 + 1e-15 * rng.normal(size=(30, 1))
    measured = {one: rng.normal(size=60) for one in properties(outlines(1))}
    assert f"{side} does not vary" in mode_tests(t, 30, measured, permutations=19).sentence(0)


@pytest.mark.parametrize(
    ("lobes", "size", "name", "words"),
    [
        (3, 0.08, "triangularity", "more triangular"),
        (4, 0.08, "squareness", "squarer"),
        (5, 0.05, "asymmetry", "less symmetric"),
        (9, 0.02, "roughness", "rougher"),
    ],
)
def test_ensembles_that_differ_in_one_wave_are_described_by_its_name(lobes, size, name, words):
    rng = np.random.default_rng(lobes)
    u = 2 * np.pi * np.arange(96) / 96
    amplitude = {3: 0.01, 4: 0.01, 5: 0.01, 9: 0.004}
    heights = {k: (size if k == lobes else 0.03) + small * rng.normal(size=(120, 1)) for k, small in amplitude.items()}
    heights[lobes][60:] += size / 2
    z = np.exp(1j * u) + sum(height * np.exp(1j * (1 - k) * u) for k, height in heights.items())
    assert_described(z, name, words)


def test_a_notch_is_a_concavity_rather_than_a_wave():
    rng = np.random.default_rng(0)
    u = 2 * np.pi * np.arange(96) / 96
    depth = 0.2 + 0.04 * rng.normal(size=(120, 1))
    depth[60:] += 0.1
    radius = 1 - depth * np.exp(-((u - 2) ** 2) / 0.08) + 0.01 * rng.normal(size=(120, 1)) * np.cos(3 * u)
    assert_described(radius * np.exp(1j * u), "concavity", "more concave")


def assert_described(z, name, words):
    """The first mode of 60 curves against 60 others is named and described."""
    undulation, scale = decompose(np.stack([z.real, z.imag], axis=-1))
    space = ShapeSpace.learn(undulation, scale, 8)
    t, l = space.coordinates(undulation, scale)
    modes = mode_tests(t, 60, properties(space.reconstruct(t, l)), permutations=500)
    first = int(modes.order()[0])
    found = modes.named(first)
    assert found is not None
    assert found[0].name == name
    assert f"B's outlines are {words}" in modes.sentence(first)


# The wave that makes each property and no other (outlines are convex except for concavity): k and amplitude of e^(iku)
# on a circle, proportional to a latent number.
MADE = {
    "triangularity": (-2, 0.08),
    "squareness": (-3, 0.05),
    "asymmetry": (-4, 0.03),
    "concavity": (3, 0.25),
    "roughness": (-8, 0.006),
    "steep roughness": (-8, 0.03),
    "size": (3, 0.04),
    "elongation": (3, 0.04),
    "": (3, 0.04),
}


def ensemble_with(name, sign=1, count=100, n=96, seed=0):
    """Two samples that differ along one wave, and thereby in one property (or in none, without a name)."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(n) / n
    k, height = MADE[name]
    latent = rng.normal(size=(2 * count, 1))
    latent[count:] += 2 * sign
    triangle = 0.02j * (1 + 0.2 * rng.normal(size=(2 * count, 1))) * (name != "triangularity")
    z = np.exp(1j * u) + triangle * np.exp(-2j * u)
    z = z + height * (1 + 0.2 * latent) * np.exp(1j * k * u)
    z = z + 0.0007 * rng.normal(size=(2 * count, 4)) @ np.exp(1j * np.array([-4, -3, 3, 4])[:, None] * u)
    curves = np.stack([z.real, z.imag], axis=-1)
    size = np.exp(0.1 * rng.normal(size=(2 * count, 1, 1)) + 0.3 * latent[..., None] * (name == "size"))
    stretch = np.exp(0.2 + 0.01 * rng.normal(size=(2 * count, 1)) + 0.03 * latent * (name == "elongation"))
    return size * curves * np.stack([stretch, 1 / stretch], axis=-1)


def modes_of(curves, first, rank):
    undulation, scale = decompose(curves)
    space = ShapeSpace.learn(undulation, scale, rank)
    t, l = space.coordinates(undulation, scale)
    measured = properties(space.reconstruct(t, l))
    return mode_tests(t, first, measured, bands=bands(space.undulation_mean_, space.basis_), permutations=300)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", [one.name for one in PROPERTIES])
def test_every_property_that_differs_names_the_mode_that_carries_it(name, sign):
    modes = modes_of(ensemble_with(name, sign), 100, 6)
    mode = int(modes.order()[0])
    assert modes.tests.adjusted[mode] <= 0.01
    assert modes.named(mode)[0].name == name
    one = next(one for one in PROPERTIES if one.name == name)
    assert f"B's outlines are {one.more if sign > 0 else one.less}" in modes.sentence(mode)
    assert modes.label(mode).startswith(f"{name} (")


def test_waves_steep_enough_to_make_the_outline_concave_are_roughness():
    modes = modes_of(ensemble_with("steep roughness"), 100, 6)
    mode = int(modes.order()[0])
    correlation = dict(zip([one.name for one in PROPERTIES], np.abs(modes.correlation[mode]), strict=True))
    assert min(correlation["concavity"], correlation["roughness"]) > 0.9
    assert modes.named(mode)[0].name == "roughness"


def test_a_mode_correlated_with_no_property_has_no_name():
    modes = modes_of(ensemble_with(""), 100, 6)
    mode = int(modes.order()[0])
    assert modes.tests.adjusted[mode] <= 0.01
    assert modes.named(mode) is None
    assert modes.label(mode) == ""
    assert "outlines are" not in modes.sentence(mode)
    assert "B lies" in modes.sentence(mode)


@pytest.mark.parametrize(("factor", "word"), [(2.0, "rougher"), (0.5, "smoother")])
def test_fine_waves_of_random_phase_are_described_by_lobes_and_roughness(factor, word):
    """Waves of random phase do not move the mean: they appear in the spread of two modes, and in the roughness."""
    rng = np.random.default_rng(8)
    u = 2 * np.pi * np.arange(96) / 96
    fine = 0.02 * (rng.normal(size=(300, 1)) + 1j * rng.normal(size=(300, 1)))
    fine[150:] *= factor
    z = np.exp(1j * u) + 0.1 * np.exp(-2j * u) + 0.003 * rng.normal(size=(300, 1)) * np.exp(-3j * u)
    z = z + fine * np.exp(-7j * u)
    modes = modes_of(np.stack([z.real, z.imag], axis=-1), 150, 3)
    for mode in modes.order()[:2].tolist():
        assert modes.tests.adjusted[mode] <= 0.01
        assert modes.named(mode) is None
        assert modes.label(mode) == "waves of 8 lobes"
        sentence = modes.sentence(mode)
        assert "consists of waves of 8 lobes: " in sentence
        assert f"B's outlines are {word}; B's spread is " in sentence


def test_fine_waves_are_not_called_rough_if_roughness_does_not_differ():
    rng = np.random.default_rng(9)
    t = rng.normal(size=(200, 2))
    t[100:, 0] *= 2
    measured = {one.name: rng.normal(size=200) for one in PROPERTIES}
    modes = mode_tests(t, 100, measured, bands=np.array([[6, 9], [2, 3]]), permutations=99)
    assert "consists of waves of 6 to 9 lobes: B's spread is " in modes.sentence(0)
    assert modes.label(1) == ""


def test_modes_without_visible_effect_get_no_slider():
    rng = np.random.default_rng(3)
    t = rng.normal(size=(200, 4)) * [1.0, 0.8, 0.001, 0.6]
    t[100:, 2] += 0.002
    modes = mode_tests(t, 100, {one: rng.normal(size=200) for one in properties(outlines(1))})
    assert modes.order()[0] == 2
    assert f"{modes.variance[2]:.1%}" == "0.0%"
    assert sorted(modes.visible_first()[:3]) == [0, 1, 3]
    assert modes.visible_first()[3] == 2
