"""Malformed outlines and label images: the core returns a finite result or raises a `ValueError` with the reason.

`--hypothesis-profile=thorough` runs many more examples.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from napari_shape_ensembles import Ensemble, Settings, compare, extract_curves, to_landmarks

PAIRS = arrays(float, 2, elements=st.floats(-1, 1))
MEASURES = st.sampled_from(["affine", "arc-length"])


def powers(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


def vertices(elements, least=1):
    return arrays(float, st.tuples(st.integers(least, 40), st.just(2)), elements=elements)


@st.composite
def stars(draw):
    """Random star-shaped polygons: far from the origin or tiny, and possibly as thin as a needle."""
    radii = draw(arrays(float, st.integers(3, 60), elements=st.floats(0.1, 10)))
    angles = np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    points = np.stack([radii * np.sin(angles), radii * np.cos(angles)], axis=-1)
    shift = draw(PAIRS) * draw(powers(-3, 8))
    return shift + draw(powers(-8, 8)) * points * (1, draw(st.just(1.0) | powers(-12, 0)))


@st.composite
def lines(draw):
    """Collinear or coincident points."""
    along = draw(arrays(float, st.tuples(st.integers(1, 30), st.just(1)), elements=st.floats(-10, 10)))
    return along * draw(PAIRS) + draw(PAIRS)


OUTLINES = st.one_of(
    stars(),
    vertices(st.floats(-100, 100)),  # self-intersecting
    vertices(st.integers(-3, 3).map(float)),  # repeated vertices, collinear runs
    vertices(st.floats()),  # NaN, infinite, very large
    lines(),
)


def outcome(function, *arguments, **options):
    """Return (result, None), or (None, message of the ValueError)."""
    try:
        return function(*arguments, **options), None
    except ValueError as error:
        return None, str(error)


def result(function, *arguments, **options):
    """Return the result, or None if a ValueError was raised."""
    found, said = outcome(function, *arguments, **options)
    assert said is None or len(said.split()) > 3, said
    return found


@given(
    curves=st.lists(OUTLINES, min_size=1, max_size=20),
    n=st.integers(8, 60),
    measure=MEASURES,
    interpolation=st.sampled_from(["spline", "polygon"]),
)
def test_every_outline_is_kept_or_counted_and_the_kept_have_landmarks(curves, n, measure, interpolation):
    ensemble = Ensemble(curves)
    assert len(ensemble) + sum(ensemble.dropped.values()) == len(curves)
    landmarks = result(to_landmarks, ensemble, n, measure=measure, interpolation=interpolation)
    assert landmarks is None or (landmarks.shape == (len(ensemble), n, 2) and np.isfinite(landmarks).all())


@given(
    labels=arrays(
        st.sampled_from(["uint8", "int32", "uint32", "float64", "int64"]),
        st.tuples(st.integers(1, 40), st.integers(1, 40)),
        elements=st.integers(0, 30),
    ),
    zoom=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    smoothing=st.sampled_from([0, 0.5, 1, 3]),
    scale=st.tuples(powers(-3, 3), powers(-3, 3)),
    holes=st.booleans(),
    border=st.booleans(),
    min_area=st.integers(0, 30),
)
def test_every_label_image_is_traced(labels, zoom, **options):
    labels = np.kron(labels, np.ones(zoom, dtype=labels.dtype))
    ensemble = result(extract_curves, labels, **options)
    landmarks = None if ensemble is None else result(to_landmarks, ensemble, 16)
    assert landmarks is None or np.isfinite(landmarks).all()


@given(
    a=st.lists(OUTLINES, min_size=1, max_size=30),
    b=st.lists(OUTLINES, min_size=1, max_size=30),
    landmarks=st.integers(8, 40),
    rank=st.integers(1, 60),
    archetype=st.sampled_from(["asymmetric", "random", "mean"]),
    measure=MEASURES,
    registration=st.sampled_from(["standardized", "raw", "none"]),
    reflections=st.booleans(),
)
def test_every_pair_gets_a_row_or_a_sentence(a, b, **changes):
    found = result(compare, Ensemble(a), Ensemble(b), Settings(permutations=20, **changes))
    if found is not None:
        assert found.summary()
        for numbers in (found.t, found.l, found.undulation.p_value, found.scale.p_value):
            assert np.isfinite(numbers).all()
