"""Feeds hostile outlines, label images and pairs to the core, and counts what comes back.

    python benchmarks/fuzz.py [--polygons 100000] [--images 5000] [--pairs 2000] [--seed 0]

Every input must end in a result whose numbers are finite, or in a `ValueError`; anything else stops the run with the
input's seed. A warning of numpy counts as a failure too.
"""

import argparse
import time
import warnings
from collections import Counter

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare, extract_curves, to_landmarks


def star(rng):
    """A rough star, far from the origin or tiny."""
    angle = np.linspace(0, 2 * np.pi, rng.integers(3, 60), endpoint=False)
    radius = rng.lognormal(0, 1, len(angle))
    shift, size = rng.normal(0, 10 ** rng.uniform(-3, 8), 2), 10 ** rng.uniform(-8, 8)
    return shift + size * np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=-1)


def scatter(rng):
    """Random vertices: an outline that crosses itself."""
    return rng.standard_cauchy((rng.integers(1, 40), 2))


def needle(rng):
    """Thinner and thinner."""
    return star(rng) * (1, 10 ** rng.uniform(-12, 0))


def steps(rng):
    """Integer vertices with repeats, runs on a line and a closing vertex."""
    points = np.cumsum(rng.integers(-1, 2, (rng.integers(1, 80), 2)), axis=0)
    return np.vstack([points, points[:1]]) if rng.random() < 0.5 else points


def broken(rng):
    """NaN, infinite and enormous values."""
    points = star(rng)
    points[rng.integers(len(points)), rng.integers(2)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 1e-308, 1e154])
    return points


def line(rng):
    """All on one line, or all in one place."""
    return rng.normal(size=(rng.integers(1, 30), 1)) * rng.normal(size=2) + rng.normal(size=2)


POLYGONS = (star, scatter, needle, steps, broken, line)


def polygon(rng):
    """One hostile outline."""
    return POLYGONS[rng.integers(len(POLYGONS))](rng)


def landmarks_of(rng, many):
    """Clean many outlines and place landmarks on those that are left."""
    ensemble = Ensemble([polygon(rng) for _ in range(many)])
    if len(ensemble) + sum(ensemble.dropped.values()) != many:
        raise AssertionError("an outline was neither kept nor counted")
    measure = rng.choice(["affine", "arc-length"])
    kind = rng.choice(["spline", "polygon"])
    return to_landmarks(ensemble, int(rng.integers(8, 60)), measure=measure, interpolation=kind)


def curves_of(rng):
    """Trace a hostile label image."""
    shape = rng.integers(1, 40, 2)
    labels = rng.integers(0, rng.integers(1, 30), shape)
    if rng.random() < 0.5:
        labels = np.kron(labels, np.ones((rng.integers(1, 6), rng.integers(1, 6)), dtype=int))
    labels = labels.astype(rng.choice(["uint8", "int32", "uint32", "float64", "int64"]))
    ensemble = extract_curves(
        labels,
        smoothing=float(rng.choice([0, 0.5, 1, 3])),
        scale=tuple(10 ** rng.uniform(-3, 3, 2)),
        holes=bool(rng.random() < 0.5),
        border=bool(rng.random() < 0.5),
        min_area=int(rng.integers(0, 30)),
    )
    return to_landmarks(ensemble, 16)


def compared(rng):
    """Compare two small hostile ensembles."""
    sides = [Ensemble([polygon(rng) for _ in range(rng.integers(1, 30))]) for _ in range(2)]
    settings = Settings(
        landmarks=int(rng.integers(8, 40)),
        rank=int(rng.integers(1, 60)),
        permutations=20,
        archetype=str(rng.choice(["asymmetric", "random", "mean"])),
        measure=str(rng.choice(["affine", "arc-length"])),
        registration=str(rng.choice(["standardized", "raw", "none"])),
        reflections=bool(rng.random() < 0.5),
    )
    result = compare(*sides, settings)
    result.summary()
    return np.concatenate([result.t.ravel(), result.l.ravel(), [result.undulation.p_value, result.scale.p_value]])


def outcome(work, seed, *arguments):
    """What one input came to: "result", or the first words of the error."""
    try:
        numbers = work(np.random.default_rng(seed), *arguments)
    except ValueError as error:
        return "error: " + " ".join(str(error).lstrip("0123456789 ").split()[:7])
    except BaseException:
        print(f"{work.__name__} broke at seed {seed}", flush=True)
        raise
    if not np.isfinite(numbers).all():
        raise AssertionError(f"{work.__name__} gave a number that is not finite at seed {seed}")
    return "result"


def main():
    """Run and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polygons", type=int, default=100_000)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    many = 50
    for name, work, count, arguments in (
        (f"polygons, {many} at a time", landmarks_of, options.polygons // many, (many,)),
        ("label images", curves_of, options.images, ()),
        ("pairs", compared, options.pairs, ()),
    ):
        start = time.perf_counter()
        counts = Counter(outcome(work, options.seed + index, *arguments) for index in range(count))
        print(f"{name}: {count} in {time.perf_counter() - start:.0f} s")
        print("\n".join(f"  {number:6d} {what}" for what, number in counts.most_common()))


if __name__ == "__main__":
    main()
