"""What is said of made outlines whose difference is known, as in docs/evidence/power.md.

    python benchmarks/sentences.py [--draws 25] [--coverage 0] [--first 5000] [--out docs/results/sentences.json]

Pairs of 60 and 60 outlines: lobes of random phase, which have no common form, or of one phase, which have one; with
fine waves of random phase. B's lobes, fine waves or their variation are larger by a factor. Then the coverage of the
intervals of `estimates` over pairs of 40 and 40 outlines of random phase, one side 1.1 times as large.
"""

import numpy as np

from napari_shape_ensembles import Ensemble, compare, explain
from napari_shape_ensembles.comparison.answer import formless, statements
from results_file import parser_of, printed, record

#: Adjusted p-value at which a quantity is named: half of the default level of the row.
LEVEL = 0.025
OPTIONS = {"landmarks": 120, "rank": 30, "permutations": 499}
#: Phrases that are counted.
PHRASES = ("mean form differs", "more lobed", "rougher", "more varied in form", "larger")
#: Changes of B; what is to be said is named first, or nothing.
KINDS = {
    "no difference": {},
    "more lobed: lobes × 1.5": {"lobes": 1.5},
    "rougher: fine waves × 1.6": {"fine": 1.6},
    "more varied in form: variation × 2.5": {"spread": 2.5},
    "mean form differs: three common lobes × 1.3": {"common": True, "third": 1.3},
    "rougher, common form: fine waves × 1.6": {"common": True, "fine": 1.6},
}
ANGLE = 2 * np.pi * np.arange(240) / 240


def outlines(rng, count, *, common=False, lobes=1.0, third=1.0, fine=1.0, spread=1.0, size=1.0):
    """Outlines of 2 to 5 lobes, with waves of 7 to 14 lobes, of random sizes, starting points and directions."""
    found = []
    for _ in range(count):
        radius, vary = np.ones(len(ANGLE)), np.exp(0.15 * spread * rng.normal())
        for wave in range(2, 6):
            height = 0.06 / np.sqrt(wave - 1) * lobes * vary * (third if wave == 3 else 1.0)
            height *= np.exp(0.2 * rng.normal())
            phase = 1.3 * wave**2 if common else rng.uniform(0, 2 * np.pi)
            radius += height * np.cos(wave * ANGLE + phase)
        for wave in range(7, 15):
            radius += 0.006 * fine * np.exp(0.3 * rng.normal()) * np.cos(wave * ANGLE + rng.uniform(0, 2 * np.pi))
        z = radius * np.exp(1j * ANGLE) * size * np.exp(0.2 * rng.normal() + 1j * rng.uniform(0, 2 * np.pi))
        z = np.roll(z, rng.integers(len(z)))
        found.append(np.stack([z.real, z.imag], axis=-1))
    return found


def said(kind, draws, first):
    """How often each phrase is said of pairs of a kind, and the mean ratios of lobes and roughness."""
    change, counts, ratios = KINDS[kind], dict.fromkeys(PHRASES, 0), []
    common = change.get("common", False)
    for seed in range(first, first + draws):
        rng = np.random.default_rng(seed)
        a, b = Ensemble(outlines(rng, 60, common=common)), Ensemble(outlines(rng, 60, **change))
        result = compare(a, b, **OPTIONS, overrule=True)
        words = " ".join(one.text for one in statements(result))
        if result.undulation.rejected and not formless(result):
            words = " ".join(explain(result).sentences())
        for phrase in PHRASES:
            counts[phrase] += phrase in words
        ratios.append(result.ratios.set_index("quantity").loc[["lobes", "roughness", "spread of form"], "estimate"])
    lobed, rough, spread = (f"{value:.2f}" for value in np.exp(np.log(np.array(ratios, dtype=float)).mean(axis=0)))
    return {
        "difference": kind,
        **{phrase: f"{count} of {draws}" for phrase, count in counts.items()},
        "lobes": lobed,
        "roughness": rough,
        "spread of form": spread,
    }


def covered(draws, first):
    """Share of the 95 % intervals that hold the true ratio: of all pairs, and of those in which the quantity is named.

    An area is named with its size.
    """
    truth = {"size": 1.1, "area": 1.21}
    names = ("size", "area", "spread of size", "elongation", "spread of form", "lobes", "roughness", "concavity")
    inside, named = np.zeros((2, draws, len(names)), dtype=bool)
    for draw in range(draws):
        rng = np.random.default_rng(first + draw)
        a, b = Ensemble(outlines(rng, 40)), Ensemble(outlines(rng, 40, size=1.1))
        result = compare(a, b, landmarks=100, rank=20, permutations=199, seed=first + draw)
        table = result.estimates.set_index("quantity")
        for column, name in enumerate(names):
            low, high = table.loc[name, ["low", "high"]]
            inside[draw, column] = low <= truth.get(name, 1.0) <= high
            named[draw, column] = table.loc["size" if name == "area" else name, "p_adjusted"] <= LEVEL
    shares = {name: f"{share:.3f}" for name, share in zip(names, inside.mean(axis=0), strict=True)}
    among = (inside & named).sum(axis=0)
    return [
        printed(intervals="all", pairs=draws, **shares),
        printed(
            intervals="where named",
            pairs="",
            **{n: f"{k} of {of}" for n, k, of in zip(names, among, named.sum(axis=0), strict=True)},
        ),
    ]


def main():
    """Print the tables, and store them."""
    options = parser_of(__doc__, draws=25, coverage=0, first=5000).parse_args()
    if options.draws:
        rows = [printed(**said(kind, options.draws, options.first)) for kind in KINDS]
        record(options.out, sentences=rows)
    if options.coverage:
        record(options.out, coverage=covered(options.coverage, options.first + 100_000))


if __name__ == "__main__":
    main()
