"""How often rows are called fragile, for pairs without a difference and with one of size.

    python benchmarks/fragility.py --pairs 40

Outlines are smooth random blobs; each comparison is repeated with other ranks, landmarks, archetypes and pixel sizes,
and without each of the three outlines farthest from the mean.
"""

import argparse
from collections import Counter

import numpy as np

from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.comparison.sensitivity import influence
from napari_shape_ensembles.studies import choice_study
from napari_shape_ensembles.studies.choices import CHOICES

_QUICK = Settings(landmarks=100, rank=20, permutations=499)
_ASKED = {name: CHOICES[name] for name in ("rank", "archetype")} | {"landmarks": (60, 100, 200)}


def blobs(count: int, rng: np.random.Generator, size: float) -> Ensemble:
    """Return blobs with random low harmonics, of log-normal size."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    waves = np.arange(2, 7)
    amplitudes = rng.normal(0, 0.25 / waves, (count, len(waves))), rng.normal(0, 0.25 / waves, (count, len(waves)))
    radius = 1 + amplitudes[0] @ np.cos(np.outer(waves, angle)) + amplitudes[1] @ np.sin(np.outer(waves, angle))
    scale = size * np.exp(rng.normal(0, 0.3, count))
    return Ensemble(
        [s * np.stack([r * np.sin(angle), r * np.cos(angle)], 1) for s, r in zip(scale, radius, strict=True)]
    )


def main() -> None:
    """Print a line for each size ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--outlines", type=int, default=40)
    chosen = parser.parse_args()
    for ratio in (1.0, 1.15, 1.3, 1.6):
        rng, fragile, rows = np.random.default_rng(0), 0, Counter[str]()
        why = Counter[str]()
        for _ in range(chosen.pairs):
            pair = blobs(chosen.outlines, rng, 10), blobs(chosen.outlines, rng, 10 * ratio)
            result = compare(*pair, _QUICK)
            study = choice_study(lambda _, pair=pair: pair, settings=_QUICK, choices=_ASKED)
            judged = study.judged(result)
            alone = influence(result)
            why["one outline"] += any(one.case != result.case for one in alone)
            why["choices"] += judged.fragile
            fragile += judged.fragile or any(one.case != result.case for one in alone)
            rows[result.case] += 1
        print(f"size ratio {ratio}: fragile {fragile} of {chosen.pairs} {dict(why)}; rows {dict(rows)}", flush=True)


if __name__ == "__main__":
    main()
