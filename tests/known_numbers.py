"""Comparisons of several kinds, and the numbers that may be said of each."""

import re

import numpy as np

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.comparison.answer import estimate_rows
from napari_shape_ensembles.mmd.replicates import replicates_needed
from napari_shape_ensembles.words import p_text

QUICK = Settings(landmarks=60, rank=10, permutations=199)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def sample(seed, count, size=1.0, depth=0.0, images=1):
    """Images of blobs, larger and with a lobe that all have in common."""
    forms = blobs(count * images, 60, seed=seed) * size
    around = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    forms = forms * (1 + depth * np.cos(3 * around + 0.4))[:, None]
    return [Ensemble(list(forms[i * count : (i + 1) * count]), unit="µm", name="uvwx"[i] * seed) for i in range(images)]


CASES = {
    "nothing differs": lambda: compare(sample(1, 30)[0], sample(2, 30)[0], QUICK),
    "scale differs": lambda: compare(sample(1, 30)[0], sample(2, 30, 1.5)[0], QUICK),
    "both differ": lambda: compare(sample(1, 30)[0], sample(2, 30, 0.7, 0.25)[0], QUICK),
    "unequal numbers": lambda: compare(sample(1, 12)[0], sample(2, 70, 1.4, 0.25)[0], QUICK),
    "images": lambda: compare(sample(1, 6, images=4), sample(2, 6, 1.6, 0.25, images=4), QUICK),
    "few images": lambda: compare(sample(1, 8, images=3), sample(2, 8, 1.6, 0.25, images=3), QUICK),
    "inconclusive": lambda: compare(sample(1, 8), sample(2, 8, images=4), QUICK),
}


def numbers(text):
    return set(NUMBER.findall(text))


def known(result):
    """Numbers of the table as it is shown, p-values of the tests, levels, counts, and those in the groups' names."""
    found = numbers(" ".join([*(cell for row in estimate_rows(result) for cell in row), *result.names]))
    level = result.settings.test_level
    for test in (result.undulation, result.scale):
        found |= numbers(f"{p_text(test.p_value, level)} {test.p_error:.1g} {len(test.null)}")
    counts = (len(result.a), len(result.b), *result.image_counts, *result.unit_counts)
    # The coverage of intervals, the lobes of the coarse form, and what a row and a test can show.
    reach = f"95 5 {level:g} {p_text(result.least_p, level)} {replicates_needed(level)} 2"
    return found | set(map(str, counts)) | (numbers(reach) if result.permuted != "curves" else {"95", "5"})
