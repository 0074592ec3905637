"""The table of outlines: one row per outline, and one name for every column wherever it is shown or written."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Real
from ..mmd.two_sample import FEATURES
from ..mmd.witness import witness
from ..outlines import Ensemble
from .unusual import distance_columns, unusual_columns

if TYPE_CHECKING:
    import pandas as pd


def outline_table(
    ensembles: Sequence[Ensemble], samples: Sequence[str], t: Real, l: Real, measured: Mapping[str, Real]
) -> "pd.DataFrame":
    """Table with one row per outline of several ensembles, in order.

    Parameters
    ----------
    ensembles : sequence of Ensemble
    samples : sequence of str
        The sample of each ensemble, such as its group.
    t, l : (N, r) and (N, 3) arrays
        Undulation and scale coordinates of the outlines.
    measured : mapping of str to (N,) array
        Logarithms of their size, elongation, lobes and bends.

    Returns
    -------
    DataFrame
        Columns: id; image; sample; metadata and features of the ensembles; the distances from the mean shape and how
        unusual the outlines are: distance_from_mean, undulation, scale, paper_distance, unusual, unusual_form and
        unusual_size; see `COLORINGS`.

    Examples
    --------
    >>> from napari_shape_ensembles import compare, samples
    >>> from napari_shape_ensembles.comparison.outline_table import outline_table
    >>> result = compare(*samples.powder_outlines().ensembles(), landmarks=60, rank=10, permutations=199)
    >>> table = outline_table([result.a, result.b], ["sieved", "raw"], result.t, result.l, result.measured)
    >>> table.columns.tolist()[:5], table["sample"].value_counts().to_dict()
    (['id', 'image', 'sample', 'area', 'perimeter'], {'raw': 295, 'sieved': 174})
    """
    import pandas as pd  # slow to import, and not needed for a result

    table = pd.concat([one.to_dataframe() for one in ensembles], ignore_index=True)
    metadata = list(dict.fromkeys(name for one in ensembles for name in one.metadata))
    sample = np.repeat(np.array(samples, dtype=object), [len(one) for one in ensembles])
    computed = distance_columns(t, l) | unusual_columns(measured)
    known = table[["id", "image"]].assign(sample=sample)
    features = table.drop(columns=["id", "image", *metadata])
    return pd.concat([known, table[metadata], features, pd.DataFrame(computed)], axis=1)


def witness_columns(result: Any) -> dict[str, Real]:
    """Witness values of the deciding part of each test, by column; NaN if a side has a single curve."""
    first, settings = len(result.a), result.settings
    total, columns = first + len(result.b), dict[str, Real]()
    features = FEATURES if 0 < settings.approximate_above < total else None
    for name, test, parts in (
        ("witness_undulation", result.undulation, result.form_parts()),
        ("witness_scale", result.scale, result.scale_parts()),
    ):
        if min(first, total - first) < 2:
            columns[name] = np.full(total, np.nan)
            continue
        # The part with the smallest p-value, without its width; none if the test has no parts.
        deciding = min(test.parts, key=lambda part: test.parts[part].p_value, default="").split(", s = ")[0]
        part = parts.tested.get(deciding, next(iter(parts.tested.values())))
        width = test.bandwidth if part.kernel == "gaussian" else None
        columns[name] = witness(part.points, first, width, features=features, seed=settings.seed)
    return columns
