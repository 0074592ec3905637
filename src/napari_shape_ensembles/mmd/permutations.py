"""Statistics of all permutations of the labels at once, exact wherever a decision depends on them.

With label weights w (1/m on the first sample, -1/n on the second) the biased statistic is MMD² = wᵀKw, so all
permutations are one product of the kernel matrix with a matrix of weights. Most of it is computed in single precision;
values within its error of a threshold are recomputed in double precision, so ranks and p-values are those of double
precision.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._types import Index, Real
from ..checks import whole
from ..compiled import kernels
from ..progress import cancellation_check, each_block, one_library_thread, over_blocks, timed
from .kernel import Distances, MeanDistances, Single, group_sums, quadratic_forms, row_blocks, squared_distances, tiles

# Squared statistics closer than this are equal up to rounding error.
TIE = 1e-13
# Below this many points, or values of weights, double precision costs hardly more.
SINGLE_PRECISION_FROM, _SINGLE_PRECISION_WEIGHTS = 1000, 2_000_000
# Elements per chunk of weights: 256 MiB in single precision.
CHUNK = 2**26
# Minimum number of bins in the smaller sample: at most a fiftieth of it is left over and keeps its label.
_MIN_BINS = 50
# With fewer points than this times the number of bins, binning saves nothing.
_MIN_POINTS_PER_BIN = 4
# So many labelings are drawn by NumPy; further ones by compiled code, whose draws cost less than their statistics.
SHUFFLED = 1000
# With so many labelings the kernel of up to so many points is replaced by its leading eigenvectors, of this number; the
# safety factor on the standard deviation of the rest, and its largest share of that of the whole.
MAX_FACTORIZED, EIGENVECTORS, _SAFETY_OF_REST, _MAX_REST = 5000, 64, 6, 0.2
# Further directions of the subspace iteration, which make those that are kept more accurate; and its steps.
_MORE_DIRECTIONS, _ITERATIONS = 16, 3
# Features that are summed at once: tables of their sums over four points fit in the cache.
_FEATURES_AT_ONCE = 64
# All subsets of four points, (16, 4).
_SUBSETS = np.arange(16)[:, None] >> np.arange(3, -1, -1) & 1
# Permutations computed in both precisions, and the safety factor on the largest difference between these.
PROBES, _SAFETY = 15, 32


@dataclass(frozen=True, eq=False)
class Labellings:
    """The observed labels and B random permutations of them, as packed bits.

    Attributes
    ----------
    bits : (1 + B, ⌈U/8⌉) array of uint8
        Packed indicators of the first sample, one per bin; row 0 is the observed labeling.
    first, total : int
        Sizes m of the first sample and N of both.
    sizes : (U,) array of int, optional
        Numbers of points in the bins, which share their labels; None if every point is its own bin.
    order : (N,) array of int, optional
        Points in the order of the bins: the first sample's, then the second's, each shuffled.
    """

    bits: NDArray[np.uint8]
    first: int
    total: int
    sizes: Index | None = None
    order: Index | None = None

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def starts(self) -> Index:
        """Start of each bin in `order`: (U,)."""
        sizes = np.ones(self.total, np.intp) if self.sizes is None else self.sizes
        return np.cumsum(sizes) - sizes

    def indicators(self, which: slice | Index) -> NDArray[np.uint8]:
        """Indicators of the first sample for every bin: (number, U)."""
        return np.unpackbits(self.bits[which], axis=1, count=self.total if self.sizes is None else len(self.sizes))

    def weights(self, which: slice | Index) -> Real:
        """Label weights of every bin over 1/m + 1/n: indicators minus m/N, which avoids cancellation."""
        weights = self.indicators(which).astype(np.float64)
        weights -= self.first / self.total
        return weights

    def single_weights(self, which: slice | Index) -> Single:
        """The same in single precision."""
        return self.indicators(which) - np.float32(self.first / self.total)


# The labelings drawn last, shared by the tests of a comparison: fewer of them are the first of these.
drawn: dict[tuple[int, int, int, int], Labellings] = {}


def bin_size(first: int, total: int, bins: int) -> int:
    """Number of points per bin that `permuted_labels` permutes as one; 1 if it permutes single points."""
    if not bins or total < _MIN_POINTS_PER_BIN * bins:
        return 1
    size = min(total // bins, min(first, total - first) // _MIN_BINS)
    return size if size >= 2 and total // size <= 2 * bins else 1


def permuted_labels(first: int, total: int, permutations: int, seed: int, bins: int = 0) -> Labellings:
    """Draw random labelings of m of N points in chunks; the draws do not depend on the chunk size.

    If there are at least four times as many points as `bins`, about so many bins are permuted instead of single points.
    Bins hold equal numbers of points of one sample, drawn at random; points left over keep their label. The
    permutations of the bins are a subgroup of those of the points, so the level of the test is exact.
    """
    permutations = whole(permutations, "permutations", least=1)
    key = first, total, seed, bins
    known = drawn.get(key)
    if known is not None and len(known) > permutations:
        return replace(known, bits=known.bits[: 1 + permutations])
    # The observed labeling, with the bins that are permuted.
    labels = Labellings(np.packbits(np.arange(total)[None] < first, axis=1), first, total)
    movable: slice | Index = slice(None)
    if (size := bin_size(first, total, bins)) > 1:
        rng = np.random.default_rng([seed, 2])  # a separate stream from those of the permutations and the subsets
        order = np.concatenate([rng.permutation(first), first + rng.permutation(total - first)])
        numbers = [[size] * (count // size) + [count % size] * (count % size > 0) for count in (first, total - first)]
        bits = np.packbits(np.arange(sum(map(len, numbers)))[None] < len(numbers[0]), axis=1)
        labels = Labellings(bits, first, total, np.concatenate(numbers), order)
        movable = np.flatnonzero(labels.sizes == size)
    shuffled = permutations if labels.sizes is not None else min(permutations, SHUFFLED)
    if known is not None and len(known) > shuffled:
        packed = [known.bits[: 1 + shuffled]]
    else:
        packed = [labels.bits, _shuffled(labels, movable, shuffled, seed)]
    if permutations > shuffled:
        more = np.zeros((permutations - shuffled, labels.bits.shape[1]), np.uint8)
        state = np.random.SeedSequence([seed, 3]).generate_state(4, np.uint64)
        compiled, leave = kernels(__package__), cancellation_check()
        for some in chunks(len(more), total):
            leave()
            compiled.draw_labellings(state, first, total, more[some])
        packed.append(more)
    labels = replace(labels, bits=np.concatenate(packed))
    drawn.clear()
    drawn[key] = labels
    return labels


def _shuffled(labels: Labellings, movable: slice | Index, permutations: int, seed: int) -> NDArray[np.uint8]:
    """Random permutations of the observed labels, in which only some bins move."""
    rng, leave = np.random.default_rng(seed), cancellation_check()
    observed = labels.indicators(slice(None)).astype(np.intp)  # NumPy shuffles words faster than bytes
    parts = chunks(permutations, observed.shape[1])
    packed = []
    for some in timed(parts, len(parts)):
        leave()
        shuffled = np.repeat(observed, some.stop - some.start, axis=0)
        shuffled[:, movable] = rng.permuted(shuffled[:, movable], axis=1)
        packed.append(np.packbits(shuffled.astype(np.uint8), axis=1))
    return np.concatenate(packed)


def chunks(count: int, total: int, numbers: int = 2**17) -> list[slice]:
    """Split `count` rows of length `total` into chunks of about `numbers` elements, which fit the caches."""
    size = max(1, numbers // total)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


class Statistics:
    """Squared MMD of every labeling, (1 + B,), for one kernel, from wᵀKw of the weights of `Labellings`.

    The first `exact` of them, by default all, are in double precision, the others off by up to `error`. Values within
    `tolerance` of the observed one are recomputed exactly, and those near a threshold by `settle` or `settle_rank`:
    in single precision first, if there are many.
    """

    def __init__(
        self,
        distances: Distances,
        labels: Labellings,
        bandwidth: float,
        forms: Real,
        *,
        exact: int | None = None,
        error: float = 0.0,
    ) -> None:
        self._distances, self._labels, self._bandwidth = distances, labels, bandwidth
        self._scale = (1 / labels.first + 1 / (labels.total - labels.first)) ** 2
        self.values, self.tolerance = forms * self._scale, np.full(len(forms), error * self._scale)
        self.exact = np.arange(len(forms)) < (len(forms) if exact is None else exact)
        self.settle(self.values[0])

    def settle(self, cut: float) -> None:
        """Recompute the values near a threshold exactly, and make equal those that differ by rounding error only."""
        near = self._near(cut)
        if len(near) > _SAFETY * PROBES:
            for chunk in chunks(len(near), self._labels.total, CHUNK):
                some = near[chunk]
                (quick,), (slow,) = quadratic_forms(
                    self._distances,
                    [self._bandwidth],
                    self._labels.single_weights(some),
                    self._labels.weights(some[:PROBES]),
                )
                self.values[some] = quick * self._scale
                self.tolerance[some] = precision_error(quick, slow) * self._scale
            near = self._near(cut)
        for chunk in chunks(len(near), self._labels.total, CHUNK // 2):
            some = near[chunk]
            weights = self._labels.weights(some)
            none = np.empty((0, self._labels.total), np.float32)
            _, (values,) = quadratic_forms(self._distances, [self._bandwidth], none, weights)
            self.values[some] = values * self._scale
            self.exact[some] = True
        # A permutation may repeat the observed labeling; rounding must not break that tie.
        self.values[np.abs(self.values - cut) <= TIE] = cut

    def _near(self, cut: float) -> Index:
        return np.flatnonzero(~self.exact & (np.abs(self.values - cut) <= self.tolerance))

    def settle_rank(self, rank: int) -> None:
        """Make the set of the `rank` largest values exact."""
        settled: list[float] = []
        # If the gap exceeds the errors at both its ends, the ranks are exact already.
        while settled != (cuts := np.sort(self.values)[::-1][rank - 1 : rank + 1].tolist()):
            if cuts[0] - cuts[-1] > 2 * self.tolerance.max():
                break
            settled = cuts
            for cut in cuts:
                self.settle(cut)


def permuted_statistics(distances: Distances, labels: Labellings, bandwidths: Sequence[float]) -> list[Statistics]:
    """Squared MMD of all labelings, exact near the observed value, for several widths of the kernel."""
    if isinstance(distances, MeanDistances):
        squares = _squared_sums(labels, distances.points)
        return [Statistics(distances, labels, s, squares / s**2) for s in bandwidths]
    if labels.sizes is not None:
        sums_of = group_sums(distances, bandwidths, labels.starts)
        return [
            Statistics(distances, labels, s, _forms(labels, sums)) for s, sums in zip(bandwidths, sums_of, strict=True)
        ]
    if len(labels) > 1 + SHUFFLED and 2 * EIGENVECTORS < len(distances) <= MAX_FACTORIZED:
        factorized = [_factorized_statistics(distances, labels, s) for s in bandwidths]
        if None not in factorized:
            return [one for one in factorized if one is not None]
    count = len(labels)
    many = count * len(distances) >= _SINGLE_PRECISION_WEIGHTS
    single = len(distances) >= SINGLE_PRECISION_FROM or many
    probes = np.arange(min(1 + PROBES, count) if single else 0)
    approximate, exact = [], []
    parts = chunks(count, labels.total, CHUNK if single else CHUNK // 2)
    for which in timed(parts, len(parts)):
        if single:
            fast, precise = labels.single_weights(which), labels.weights(probes if which.start == 0 else probes[:0])
        else:
            fast, precise = np.empty((0, labels.total), np.float32), labels.weights(which)
        a, e = quadratic_forms(distances, bandwidths, fast, precise)
        approximate.append(a)
        exact.append(e)
    found = []
    forms = np.concatenate(approximate, axis=1), np.concatenate(exact, axis=1)
    for s, quick, slow in zip(bandwidths, *forms, strict=True):
        if not single:
            found.append(Statistics(distances, labels, s, slow))
            continue
        error = precision_error(quick, slow)
        quick[: len(slow)] = slow
        found.append(Statistics(distances, labels, s, quick, exact=len(slow), error=error))
    return found


def precision_error(single: Real, double: Real) -> float:
    """Largest error of values in single precision, of which the first are given in double precision as well."""
    return float(_SAFETY * max(np.abs(single[: len(double)] - double).max(), 1e-12))


def _factorized_statistics(distances: Distances, labels: Labellings, bandwidth: float) -> Statistics | None:
    """Statistics of very many labelings from the leading eigenvectors of the kernel; None if these do not suffice.

    The rest R of the centered kernel adds wᵀRw, whose mean and standard deviation over all labelings are known: what
    lies within several of the latter of a threshold is computed exactly.
    """
    if bandwidth not in distances.factors:
        distances.factors[bandwidth] = _factors(distances, bandwidth)
    features, trace, squares, own = distances.factors[bandwidth]
    m, total = labels.first, labels.total
    share, fraction = m * (total - m) / (total * (total - 1)), m / total
    # Squares of weights take two values, which are equal for samples of equal size: then the diagonal does not vary.
    unequal = (1 - 2 * fraction) ** 2 / (fraction * (1 - fraction)) * own
    spread = share * float(np.sqrt(2 * squares + unequal))
    if spread > _MAX_REST * share * np.sqrt(2) * float(np.linalg.norm(features.T @ features)):
        return None

    forms = _squared_sums(labels, features)
    forms += trace * share
    none = np.empty((0, total), np.float32)
    forms[:1] = quadratic_forms(distances, [bandwidth], none, labels.weights(slice(1)))[1][0]
    return Statistics(distances, labels, bandwidth, forms, exact=1, error=_SAFETY_OF_REST * spread)


def _factors(distances: Distances, bandwidth: float) -> tuple[Single, float, float, float]:
    """Leading eigenvectors of the centered kernel, times the roots of the eigenvalues, (N, q), and what is left of it.

    Its trace, the sum of squares off the diagonal, and that of the deviations on it.
    """
    with one_library_thread():
        kernel = distances.kind.kernel(squared_distances(distances.points, distances.points), bandwidth)
        np.fill_diagonal(kernel, distances.kind.kernel(np.zeros(1), bandwidth)[0])
        kernel -= kernel.mean(axis=0)
        kernel -= kernel.mean(axis=1, keepdims=True)
        span = np.random.default_rng(0).normal(size=(len(kernel), EIGENVECTORS + _MORE_DIRECTIONS))
        for _ in range(_ITERATIONS):
            span = np.linalg.qr(kernel @ span)[0]
        values, vectors = np.linalg.eigh(span.T @ kernel @ span)
        values, vectors = values[_MORE_DIRECTIONS:], vectors[:, _MORE_DIRECTIONS:]
        features = np.ascontiguousarray(span @ (vectors * np.sqrt(np.maximum(values, 0))), dtype=np.float32)
        kernel -= features @ features.T
    own = np.diag(kernel).copy()
    np.fill_diagonal(kernel, 0)
    return features, float(own.sum()), float(np.linalg.norm(kernel) ** 2), float(((own - own.mean()) ** 2).sum())


def nystrom_statistics(
    distances: Distances, labels: Labellings, bandwidths: Sequence[float], features: int, seed: int
) -> list[Statistics]:
    """As `permuted_statistics`, for the Nyström approximation of the kernel.

    The statistic is ‖Σ w φ‖² with the Nyström features φ of `features` pooled points drawn independently of the labels.
    It differs from the MMD and is never larger, but is the same for all permutations, so the level is exact; the cost
    is O(N) instead of O(N²).
    """
    if isinstance(distances, MeanDistances):
        return permuted_statistics(distances, labels, bandwidths)
    found = []
    for s in bandwidths:
        kernel, root = projection(distances.some, len(distances), s, features, seed, distances.kind)
        if labels.sizes is None:
            projected = _projected(distances.some, len(distances), kernel, root)
        else:
            projected = _binned(distances, kernel, labels.starts) @ root
        found.append(Statistics(distances, labels, s, _squared_sums(labels, projected)))
    return found


def _binned(distances: Distances, kernel: Callable[[Real], Real], starts: Index) -> Real:
    """Sums of a kernel over bins, (U, q), without holding the values of all points in memory."""
    ends = np.append(starts[1:], len(distances))

    def share(rows: slice) -> tuple[int, Real]:
        own = np.flatnonzero((starts < rows.stop) & (ends > rows.start))
        inside = np.maximum(starts[own] - rows.start, 0)
        return int(own[0]), np.add.reduceat(kernel(distances.some(rows)), inside, axis=0)

    total: Real = np.empty((0, 0))
    for first, sums in each_block(share, row_blocks(len(distances))):
        if not total.size:
            total = np.zeros((len(starts), sums.shape[1]))
        total[first : first + len(sums)] += sums
    return total


def _squared_sums(labels: Labellings, features: Real | Single) -> Real:
    """‖Σ w φ‖² of every labeling, (1 + B,), for features φ (N, q) or their sums over bins (U, q)."""
    of_points = labels.sizes is not None and len(features) == labels.total
    sums = np.add.reduceat(features, labels.starts) if of_points else features
    compiled, squares = kernels(__package__), np.zeros(len(labels))
    fours = np.zeros((2 * labels.bits.shape[1], 4, sums.shape[1]), sums.dtype)
    fours.reshape(-1, sums.shape[1])[: len(sums)] = sums
    offset = sums.sum(axis=0) * sums.dtype.type(labels.first / labels.total)
    parts = chunks(len(labels), len(sums), 2**20)
    for start in range(0, sums.shape[1], _FEATURES_AT_ONCE):
        columns = slice(start, start + _FEATURES_AT_ONCE)
        tables = np.einsum("sf,pfq->psq", _SUBSETS.astype(sums.dtype), fours[:, :, columns], order="C")
        few = np.ascontiguousarray(offset[columns])
        over_blocks(lambda some: compiled.add_squared_sums(tables, few, labels.bits[some], squares[some]), parts)  # noqa: B023
    return squares


def _forms(labels: Labellings, sums: Real) -> Real:
    """wᵀSw of every labeling, (1 + B,), for sums of the kernel between bins, (U, U)."""
    # The weights of all points sum to 0, so subtracting a constant from the kernel changes nothing but rounding errors.
    sizes = np.diff(labels.starts, append=labels.total)
    sums = sums - np.outer(sizes, sizes) * (sums.sum() / labels.total**2)
    # S is symmetric: only its upper triangle is used, with off-diagonal entries doubled.
    sums = 2 * np.triu(sums) - np.diag(np.diag(sums))

    def share(some: slice) -> Real:
        weights, forms = labels.weights(some), np.zeros(some.stop - some.start)
        for columns in tiles(0, len(sums)):
            left = weights[:, : columns.stop] @ sums[: columns.stop, columns]
            forms += np.einsum("bu,bu->b", left, weights[:, columns])
        return forms

    return np.concatenate(over_blocks(share, chunks(len(labels), len(sums))))


def nystrom_features(
    points: Real, bandwidth: float, features: int, seed: int, kind: type[Distances] = Distances
) -> Real:
    """Nyström features (N, q) with φφᵀ = K projected on the span of q ≤ `features` seeded points; exact if q = N.

    A kernel such as -d, which is only conditionally positive definite, is first centered at one of those points.
    """
    kernel, root = projection(lambda rows: points[rows], len(points), bandwidth, features, seed, kind)
    return _projected(lambda rows: points[rows], len(points), kernel, root)


def _projected(points: Callable[[slice | Index], Real], count: int, kernel: Callable[[Real], Real], root: Real) -> Real:
    return np.concatenate(over_blocks(lambda rows: kernel(points(rows)) @ root, row_blocks(count)))


def projection(
    points: Callable[[slice | Index], Real],
    count: int,
    bandwidth: float,
    features: int,
    seed: int,
    kind: type[Distances] = Distances,
) -> tuple[Callable[[Real], Real], Real]:
    """The kernel between any points and the seeded ones, and the matrix that maps it to `nystrom_features`.

    `points` returns points by their rows.
    """
    # A separate stream: the permutations use the seed itself.
    rows = np.random.default_rng([seed, 1]).choice(count, features, replace=False) if count > features else slice(None)
    chosen = points(rows)

    def kernel(some: Real) -> Real:
        found = kind.kernel(squared_distances(some, chosen), bandwidth)
        if kind is not Distances:
            found -= origin + kind.kernel(squared_distances(some, chosen[:1]), bandwidth)
        return found

    origin = kind.kernel(squared_distances(chosen[:1], chosen), bandwidth)
    with one_library_thread():
        values, vectors = np.linalg.eigh(kernel(chosen))
        kept = values > 1e-12 * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
    return kernel, root
