"""Comparisons of all pairs of several images, and their distances."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, count, islice
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._types import Mask, Real
from ..checks import Sealed, several
from ..comparison import Settings
from ..comparison.compare import Images, permutation_options, sample_of
from ..comparison.learning import learn
from ..comparison.parts import Part, form_parts, scale_parts
from ..comparison.verdict import INCONCLUSIVE, inconclusive, table_row
from ..mmd import combined_mmd_test
from ..mmd.kernel import KERNELS
from ..outlines import Ensemble, at_one_pixel_size
from ..outlines.gate import reasons_of_sets
from ..palette import COLORMAP
from ..progress import Listener, Progress, report, reporting
from ..words import counted
from .jobs import run_jobs
from .marks import ink, tall_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


# Maximum number of pairs with faulty outlines in the summary.
_LISTED = 3
# Maximum number of letters of a name in a plot.
_MAX_LETTERS = 28
_OF_THESE = "Single outlines were permuted: the rows hold for these images only, not for the conditions"


@dataclass(frozen=True, eq=False)
class PairTests(Sealed):
    """One test of all pairs of k images.

    Attributes
    ----------
    mmd : (k, k) array
        As in `compare`, of the deciding part; 0 on the diagonal, NaN if not computed.
    kernel_mmd : (k, k) array
        MMD for the mean of the parts' kernels: one metric for all pairs, whichever part decides.
    p_value : (k, k) array
        Unadjusted p-value of each pair; 1 on the diagonal.
    adjusted : (k, k) array
        p-values after Holm's correction over all pairs and both tests.
    """

    mmd: Real
    kernel_mmd: Real
    p_value: Real
    adjusted: Real


@dataclass(frozen=True, eq=False)
class PairTable(Sealed):
    """Decisions for all pairs of k images, in one shape space learned from all of them.

    Attributes
    ----------
    names : tuple of k str
        Made unique by a number if names repeat.
    sizes : tuple of k int
        Numbers of curves.
    settings : Settings
        As used: the permutations may be more than requested, see `all_pairs`.
    undulation, scale : PairTests
    note : str
        Resampling of images of unequal pixel size, or why there was none.
    faults : mapping of (int, int) to str
        Pairs i < j whose row serious faults of the outlines withhold unless `settings.overrule`, with the reason; see
        `quality`.
    of_these_images : bool
        Whether single curves of several images were permuted: then the rows hold for these images alone.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, all_pairs, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> table = all_pairs([a, b], quick)
    >>> table.scale_rejected, table.complete
    (array([[False,  True],
           [ True, False]]), True)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    settings: Settings
    undulation: PairTests
    scale: PairTests
    note: str = ""
    faults: Mapping[tuple[int, int], str] = field(default_factory=dict)
    of_these_images: bool = False

    @property
    def complete(self) -> bool:
        """Whether every pair is computed; False for a study that was cancelled."""
        return not np.isnan(self.pmmd).any()

    @property
    def pmmd(self) -> Real:
        """Product MMD of every pair, (k, k)."""
        return np.hypot(self.undulation.mmd, self.scale.mmd)

    @property
    def distance(self) -> Real:
        """Product of the two kernel MMDs, (k, k): the distance of the tree."""
        return np.hypot(self.undulation.kernel_mmd, self.scale.kernel_mmd)

    @property
    def undulation_rejected(self) -> Mask:
        """Which pairs differ in undulation, (k, k), at a family-wise level of `settings.significance`."""
        return self.undulation.adjusted <= self.settings.significance

    @property
    def scale_rejected(self) -> Mask:
        """Which pairs differ in scale, (k, k), at the same family-wise level."""
        return self.scale.adjusted <= self.settings.significance

    @property
    def case(self) -> NDArray[np.str_]:
        """Row of the truth table of every pair, (k, k), after Holm's correction; "" if not computed."""
        cells = np.full(self.pmmd.shape, "", dtype="<U12")
        strictest = self.settings.significance / max(len(self.names) * (len(self.names) - 1), 1)
        for i, j in np.argwhere(~np.isnan(self.pmmd)):
            cells[i, j] = table_row(bool(self.undulation_rejected[i, j]), bool(self.scale_rejected[i, j]))
            if i != j and inconclusive(self.sizes[i], self.sizes[j], self.settings.permutations, strictest):
                cells[i, j] = INCONCLUSIVE
        for i, j in [] if self.settings.overrule else self.faults:
            if cells[i, j]:
                cells[i, j] = cells[j, i] = INCONCLUSIVE
        return cells

    @cached_property
    def linkage(self) -> Real:
        """Tree of the images by average linkage of `distance`, (k - 1, 4), as from `scipy.cluster.hierarchy.linkage`.

        Raises
        ------
        ValueError
            If pairs are missing.
        """
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform

        if not self.complete:
            raise ValueError("the tree needs every pair: run the study to completion")
        return hierarchy.linkage(squareform(self.distance, checks=False), method="average", optimal_ordering=True)

    @property
    def order(self) -> NDArray[np.int64]:
        """Indices of the images in the order of the leaves of the tree, (k,)."""
        from scipy.cluster import hierarchy

        return hierarchy.leaves_list(self.linkage).astype(np.int64)

    def table(self) -> "pd.DataFrame":
        """Table with one row per pair: names, case, product MMD; MMD, p-value and adjusted p-value of each test."""
        import pandas as pd  # slow to import, and not needed for the result

        i, j = np.triu_indices(len(self.names), 1)
        tests = {"undulation": self.undulation, "scale": self.scale}
        numbers = {
            f"{name}_{kind}": getattr(test, kind)[i, j]
            for name, test in tests.items()
            for kind in ("mmd", "p_value", "adjusted")
        }
        names = np.array(self.names)
        fixed = {"a": names[i], "b": names[j], "case": self.case[i, j], "pmmd": self.pmmd[i, j]}
        return pd.DataFrame({**fixed, **numbers})

    def plot(self, figure: "Figure | None" = None) -> "NDArray[Any]":
        """Plot the tree of the images and the matrix of their distances; see `studies.figures.plot_pairs`.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Figure for the two axes; by default a new one.

        Returns
        -------
        array of two matplotlib Axes
        """
        from scipy.cluster import hierarchy

        tree, matrix = tall_figure(figure).subplots(2, 1, height_ratios=(1, 3))
        hierarchy.dendrogram(self.linkage, ax=tree, color_threshold=0, above_threshold_color=ink(), no_labels=True)
        tree.set_ylabel("distance")
        order = self.order
        distances = self.distance[np.ix_(order, order)]
        shown = matrix.imshow(distances, cmap=COLORMAP, aspect="auto", vmin=0)
        matrix.figure.colorbar(shown, ax=[tree, matrix], label="distance", fraction=0.04, pad=0.01)
        for (i, j), case in np.ndenumerate(self.case[np.ix_(order, order)]):
            if i != j:
                color = "black" if distances[i, j] > distances.max() / 2 else "white"
                matrix.text(j, i, case, ha="center", va="center", color=color, fontsize="small")
        names = [_shortened(self.names[i]) for i in order]
        # Names of files may contain dollar signs, and are not formulas.
        matrix.set_xticks(range(len(names)), names, rotation=45, ha="right", parse_math=False)
        matrix.set_yticks(range(len(names)), names, parse_math=False)
        return np.array([tree, matrix])

    def summary(self) -> str:
        """Summarize how many pairs differ, the family-wise level, and faults of the outlines."""
        i, j = np.triu_indices(len(self.names), 1)
        answers, counts = np.unique(self.case[i, j], return_counts=True)
        shares = ", ".join(
            f"{answer or 'not computed'} {count} ×" for answer, count in zip(answers, counts, strict=True)
        )
        level = f"family-wise error rate at most {self.settings.significance:g} (Holm)"
        reasons = [
            f"{self.names[first]} and {self.names[second]}: {reason}" for (first, second), reason in self.faults.items()
        ]
        if len(reasons) > _LISTED:
            reasons[_LISTED:] = [f"Faults of the outlines in {counted(len(reasons) - _LISTED, 'more pair')}"]
        notes = "".join(f" {words}." for words in (_OF_THESE * self.of_these_images, self.note, *reasons) if words)
        return f"{len(self.names)} images, {counted(len(i), 'pair')}: {shares}; {level}.{notes}"


def _shortened(name: str) -> str:
    """Abbreviate a name to one line that leaves room for the figure."""
    line = " ".join(name.split())
    return line if len(line) <= _MAX_LETTERS else f"{line[: _MAX_LETTERS - 9]}…{line[-8:]}"


def all_pairs(
    images: Sequence[Images],
    settings: Settings = Settings(),
    *,
    executor: Any | None = None,
    progress: Listener | None = None,
) -> PairTable:
    """Compare every image with every other.

    All images are registered and learned from together, and share the kernels' bandwidths. So `PairTable.distance` is
    one metric for all pairs, which makes the tree meaningful. For two images the tests are those of `compare`.

    Parameters
    ----------
    images : sequence of k Ensemble, or of sequences of Ensemble
        At least two; an entry of several images is pooled, and single curves are permuted (`experiment` permutes
        images). Converted to the unit of the first, and where pixel sizes
        are known and differ, all are brought to the largest, as in `compare`.
    settings : Settings
        `significance` is the family-wise level of all decisions: Holm's correction over the two tests of all pairs. It
        can reject only if single p-values get small enough, so at least 3 · tests / significance permutations are
        drawn, even if the settings ask for fewer; `PairTable.settings` gives the number.
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        Tests the pairs in parallel; the result is the same.
    progress : callable, optional
        Called with the `Progress` of each step; its `result` is the study so far. An exception that it raises aborts
        the study.

    Returns
    -------
    PairTable

    Raises
    ------
    ValueError
        As `compare`, and for fewer than two images.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979)
    65-70.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, all_pairs, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> all_pairs([a, b], quick).case.tolist()
    [['1∧1', '1∧0'], ['1∧0', '1∧1']]
    """
    images = several(images, "all_pairs takes a list of images")  # it may be a generator
    if len(images) < 2:
        raise ValueError(f"all pairs need at least two images, not {len(images)}")
    members, note = _at_one_pixel_size(images)
    pooled = [sample_of(image) for image in members]
    empty = [ensemble.name or f"image {i}" for i, ensemble in enumerate(pooled, start=1) if not len(ensemble)]
    if empty:
        raise ValueError(
            f"{len(empty)} of {len(images)} images have no usable outline ({', '.join(empty)}): remove them, or "
            "check the segmentation and the minimum size"
        )
    ensembles = [ensemble.to(pooled[0].unit) for ensemble in pooled]
    pairs = list(combinations(range(len(images)), 2))
    # Enough for the smallest p-value, times the number of tests, to be a third of the level.
    enough = ceil(6 * len(pairs) / settings.significance)
    settings = replace(settings, permutations=max(settings.permutations, enough))
    found = np.full((len(pairs), 2, 3), np.nan)
    names = _distinct([ensemble.name or f"image {i}" for i, ensemble in enumerate(ensembles, start=1)])
    faults: dict[tuple[int, int], str] = {}
    several_images = any(len(set(one.images.tolist())) > 1 for one in ensembles)
    fixed = (names, tuple(map(len, ensembles)), settings, note, faults, several_images)

    def learning(step: Progress) -> None:
        report(step.name, 0, len(pairs), _table(fixed, pairs, found))

    def on_progress(index: int, step: Progress) -> None:
        if step.result is not None:
            found[index] = step.result
        done = int((~np.isnan(found[:, 0, 0])).sum())
        report(f"{done} of {len(pairs)} pairs tested", done, len(pairs), _table(fixed, pairs, found))

    with reporting(progress):
        with reporting(learning):
            learned = learn(ensembles, settings)
        faults |= _faults(ensembles, names, pairs)
        parts = (
            form_parts(learned.t, learned.descriptors, settings).tested,
            scale_parts(learned.l, learned.space.scale_mean, settings, learned.known).tested,
        )
        samples = _samples(parts, fixed[1], settings.seed)
        run_jobs(tested_pair, [PairItem(samples[i], samples[j], settings) for i, j in pairs], on_progress, executor)
    return _table(fixed, pairs, found)


def _at_one_pixel_size(images: Sequence[Images]) -> tuple[list[Images], str]:
    """Bring all ensembles, also those of entries of several, to one pixel size, with a note if this changes any."""
    entries = [list(image) if isinstance(image, list | tuple) else [image] for image in images]
    brought, _, note = at_one_pixel_size(list(chain.from_iterable(entries)), [])
    if not note:
        return list(images), ""
    rest = iter(brought)
    return [list(islice(rest, len(entry))) for entry in entries], note


def _faults(
    ensembles: Sequence[Ensemble], names: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """Return the pairs whose outlines have serious faults, as in `compare`, with the first of these."""
    named = [copy(ensemble) for ensemble in ensembles]
    for one, name in zip(named, names, strict=True):
        one.name = name
    found = zip(pairs, reasons_of_sets(named, pairs), strict=True)
    return {pair: reason for pair, reason in found if reason}


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Make names unique by numbers."""
    found: list[str] = []
    for name in names:
        tries = (name if again == 1 else f"{name} ({again})" for again in count(1))
        found.append(next(one for one in tries if one not in found))
    return tuple(found)


def _samples(tests: Sequence[Mapping[str, Part]], sizes: tuple[int, ...], seed: int) -> list[list[dict[str, Part]]]:
    """Parts of each test for every image, in units of the width shared by all pairs."""
    ends = np.cumsum(sizes)[:-1]
    found: list[list[dict[str, Part]]] = [[{} for _ in tests] for _ in sizes]
    for place, parts in enumerate(tests):
        for name, part in parts.items():
            width = KERNELS[part.kernel](part.points).median(seed)
            for image, points in zip(found, np.split(part.points / width, ends), strict=True):
                image[place][name] = Part(points, part.kernel)
    return found


@dataclass(frozen=True, eq=False)
class PairItem:
    """Parts of both tests of a pair of images."""

    a: list[dict[str, Part]]
    b: list[dict[str, Part]]
    settings: Settings


def tested_pair(item: PairItem) -> Real:
    """MMD, kernel MMD and p-value of undulation and of scale, (2, 3)."""
    # The points are in units of their width, so factors are widths here.
    options = permutation_options(item.settings) | {"bandwidth": item.settings.bandwidth}
    tests = []
    for a, b in zip(item.a, item.b, strict=True):
        samples = {name: (a[name].points, b[name].points) for name in a}
        tests.append(combined_mmd_test(samples, kernels={name: part.kernel for name, part in a.items()}, **options))
    # MMD for the mean of the parts' kernels: the squares average.
    kernel = [np.sqrt(np.mean([part.mmd**2 for part in (test.parts or {"": test}).values()])) for test in tests]
    return np.array([(test.mmd, mmd, test.p_value) for test, mmd in zip(tests, kernel, strict=True)])


def _table(
    fixed: tuple[tuple[str, ...], tuple[int, ...], Settings, str, Mapping[tuple[int, int], str], bool],
    pairs: list[tuple[int, int]],
    found: Real,
) -> PairTable:
    adjusted = holm(found[:, :, 2])
    undulation, scale = (
        PairTests(
            _square(found[:, test, 0], pairs, 0),
            _square(found[:, test, 1], pairs, 0),
            _square(found[:, test, 2], pairs, 1),
            _square(adjusted[:, test], pairs, 1),
        )
        for test in (0, 1)
    )
    names, sizes, settings, note, faults, of_these = fixed
    return PairTable(names, sizes, settings, undulation, scale, note, faults, of_these)


def _square(values: Real, pairs: list[tuple[int, int]], diagonal: float) -> Real:
    i, j = np.array(pairs).T
    square = np.diag(np.full(int(j.max()) + 1, float(diagonal)))
    square[i, j] = square[j, i] = values
    return square


def holm(p_values: Real) -> Real:
    """Adjust p-values by Holm's method (1979), which controls the family-wise error rate.

    Parameters
    ----------
    p_values : array
        p-values of all tests of the family; NaN for tests not done yet, which count as members.

    Returns
    -------
    array of the same shape
    """
    flat = np.ravel(p_values)
    order = np.argsort(flat)  # NaNs last
    steps = flat[order] * np.arange(len(flat), 0, -1)
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted.reshape(np.shape(p_values))
