"""Comparison of two samples of any size: `compare` piece by piece, resumable, locally or on a cluster."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..archive import StrPath
from ..budget import DEFAULT_MEMORY_GIB
from ..checks import Sealed, seal
from ..comparison import Settings, records
from ..comparison.answer import caveats_of_few, caveats_of_positions, small_sample_words
from ..comparison.engine import Groups, equal_draws
from ..comparison.figures import plot_comparison
from ..comparison.learning import Learned, clear_constant, relative_precision
from ..comparison.parts import tests_components
from ..comparison.result import software_versions
from ..comparison.verdict import INCONCLUSIVE, TRUTH_TABLE, inconclusive, table_row
from ..io.sources import Reading
from ..mmd import MMDTest
from ..outlines import Ensemble, at_one_pixel_size
from ..outlines.reasons import Reason, of_rows
from ..parameters import tree as tree_of
from ..progress import Listener, duration, one_library_thread, processors, report, reporting
from ..shapes import Registration, ShapeSpace, choose_archetype, decompose, grassmann, spd
from ..shapes.lobes import BANDS, lobes_held
from ..shapes.registration import MAX_ITERATIONS, archetype_index
from ..shapes.space import principal
from ..studies.jobs import run_jobs, run_on_one_processor
from ..words import counted, distinct
from . import stages
from .pieces import Piece, Sample, pieces_of
from .stages import ARCHETYPES, LANDMARKS, MEAN, PLACED, REGISTERED, UNDULATION, PieceTask
from .store import Store, key_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


#: If whole images are permuted, samples of more curves than this are subsampled equally per image for the tests.
MAX_EXACT_CURVES = 100_000
# Memory in bytes per landmark including copies in registration, and maximum fraction of the memory limit per block.
_BYTES_PER_LANDMARK, _SHARE = 160, 16
_MIN_ROWS, _MAX_ROWS = 64, 1024
# As in `grassmann.frechet_mean`, whose iteration is distributed over pieces here.
_TOLERANCE, _MAX_MEAN_ITERATIONS = 1e-11, 100
# Relative cost per curve of each stage, estimated, for the remaining time.
_STAGE_COSTS = {"reading outlines": 3.0, "placing landmarks": 10.0, "computing the mean archetype": 3.0,
            "registering": 6.0, "computing the mean": 0.6, "learning the shape space": 2.0,
            "projecting onto the shape space": 1.0}  # fmt: skip
_EXPECTED_ITERATIONS = {"computing the mean": 7, "computing the mean archetype": 4}


@dataclass(frozen=True, eq=False)
class StreamedComparison(Sealed):
    """Result of `compare_in_pieces`: like `Comparison`, but without the outlines.

    Attributes
    ----------
    names, counts : (str, str), (int, int)
        Names and numbers of curves of the two samples.
    settings : Settings
    space : ShapeSpace
        Fitted to the pooled curves.
    t, l : (N, r) and (N, 3) arrays
        Undulation and scale coordinates, rows of A first.
    undulation, scale : MMDTest
        The two tests.
    curves : DataFrame
        One row per curve: id, image, sample, area, perimeter.
    unit : str
        Unit of all lengths.
    dropped : mapping of Reason to int
        Number of items dropped from both samples, by reason.
    descriptors : (N, k) array
        As in `Comparison`.
    ambiguous : int
        Number of curves with an ambiguous match.
    archetype_is_ambiguous : bool
    permuted : str
        "curves" or "images".
    small_sample, note
        As in `Comparison`.
    versions : mapping of str to str

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, samples
    >>> from napari_shape_ensembles.streaming import compare_in_pieces
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare_in_pieces(a, b, Settings(landmarks=60, rank=10, permutations=199), rows=100)
    >>> result.case, result.counts, len(result.curves)
    ('1∧0', (174, 295), 469)
    """

    names: tuple[str, str]
    counts: tuple[int, int]
    settings: Settings
    space: ShapeSpace
    t: Real
    l: Real
    undulation: MMDTest
    scale: MMDTest
    curves: "pd.DataFrame"
    unit: str
    dropped: Mapping[Reason, int]
    descriptors: Real
    ambiguous: int = 0
    archetype_is_ambiguous: bool = False
    permuted: str = "curves"
    small_sample: tuple[float, float] | None = None
    note: str = ""
    versions: Mapping[str, str] = field(default_factory=software_versions)

    @property
    def case(self) -> str:
        """Row of the truth table, as in `Comparison.case`; outlines are not checked for artifacts."""
        return INCONCLUSIVE if self._inconclusive else table_row(self.undulation.rejected, self.scale.rejected)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot both tests and their parts against the null distributions; returns the Matplotlib axes."""
        return plot_comparison(self.undulation, self.scale, self.case, ax)

    @property
    def _inconclusive(self) -> str | None:
        settings = self.settings
        if self.permuted == "images":
            from ..comparison.design import cannot_reach
            from ..mmd.replicates import least_p

            images = self.image_counts
            least = least_p(*images)
            return cannot_reach(*images, settings.significance, least) if least > settings.significance else None
        return inconclusive(*self.counts, settings.permutations, settings.significance, null=settings.null)

    @property
    def image_counts(self) -> tuple[int, int]:
        """Number of images of A and of B."""
        counts = self.curves.groupby("sample", observed=True)["image"].nunique()
        return int(counts["A"]), int(counts["B"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats about the result, in plain sentences."""
        found = [f"{self.note}."] if self.note else []
        found.append("Unlike in a comparison in memory, the outlines were not checked for faults.")
        if self.unit == "pixel":
            found.append("Sizes are compared in pixels: make sure all images have the same pixel size.")
        if self.permuted == "curves" and max(self.image_counts) > 1:
            found.append(
                "Single outlines were permuted: the result holds for these images only, not for the conditions."
            )
        if self._inconclusive is None:
            found += caveats_of_few(*self.counts)
        for test in (self.undulation, self.scale):
            for reason in dict.fromkeys(test.left_out.values()):
                parts = [part for part in test.left_out if test.left_out[part] == reason]
                found.append(f"Not tested: {', '.join(parts)} ({reason}).")
        if self.undulation.approximation:
            found.append(f"The tests are approximate: {self.undulation.approximation}.")
        found += caveats_of_positions(self.t, self.ambiguous, self.archetype_is_ambiguous)
        return tuple(found)

    def summary(self) -> str:
        """Return the answer as one sentence."""
        images = [f"{counted(count, 'image')}, " if self.permuted == "images" else "" for count in self.image_counts]
        names = " and ".join(
            f"{name or side} ({own}{counted(count, 'curve')})"
            for name, side, count, own in zip(self.names, "AB", self.counts, images, strict=True)
        )
        if self._inconclusive:
            return f"{names}: inconclusive: {self._inconclusive}{small_sample_words(self.small_sample)}."
        numbers = f"undulation p = {self.undulation.p_value:.2g}, scale p = {self.scale.p_value:.2g}"
        alone = "in these images only, " if self.permuted == "curves" and max(self.image_counts) > 1 else ""
        return f"{names}: {alone}{TRUTH_TABLE[self.case]} ({self.case}; {numbers})."

    def numbers(self) -> dict[str, Any]:
        """Return every number of the result by name, as in `Comparison.numbers`."""
        tree = {
            "space": records.space_tree(self.space),
            "coordinates": {"t": self.t, "l": self.l, "descriptors": self.descriptors},
            "undulation": records.mmd_test_tree(self.undulation),
            "scale": records.mmd_test_tree(self.scale),
            "matches": {"ambiguous": self.ambiguous, "archetype_is_ambiguous": self.archetype_is_ambiguous},
            "small_sample": np.array([] if self.small_sample is None else self.small_sample),
        }
        return {"case": self.case} | records.flattened(tree)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return one row per curve: id, image, sample, area, perimeter, distances from the mean, scale coordinates."""
        form, scale = np.linalg.norm(self.t, axis=1), np.linalg.norm(self.l, axis=1)
        return self.curves.assign(
            product=np.hypot(form, scale),
            undulation=form,
            scale=scale,
            l1=self.l[:, 0],
            l2=self.l[:, 1],
            l3=self.l[:, 2],
        )

    def __repr__(self) -> str:
        return f"StreamedComparison({self.summary()})"


def compare_in_pieces(
    a: Sample | Sequence[Piece],
    b: Sample | Sequence[Piece],
    settings: Settings = Settings(),
    *,
    reading: Reading | None = None,
    folder: StrPath | None = None,
    memory: float = DEFAULT_MEMORY_GIB,
    rows: int = 8192,
    executor: Any | None = None,
    progress: Listener | None = None,
    names: tuple[str, str] = ("", ""),
    **changes: Any,
) -> StreamedComparison:
    """Compare two samples of any size: the results of `compare`, independent of the number of pieces and workers.

    Parameters
    ----------
    a, b : Ensemble, path, sequence of them, or of pieces
        A path is an image, a curve file, or labels in OME-Zarr, which are read by tile. See `pieces_of`.
    settings : Settings
    reading : Reading, optional
        Options for converting files to outlines.
    folder : path, optional
        Folder for intermediate arrays, kept until the run has finished: about 8 kB per curve at 500 landmarks. An
        interrupted run is resumed when given the same folder, inputs and settings. With an `executor` the folder must
        be accessible to all workers. By default a temporary one.
    memory : float
        Limit of the total memory in GiB for the arrays of a piece.
    rows : int
        Number of curves per piece of an ensemble.
    executor : None, concurrent.futures.Executor or dask.distributed.Client
        With None the work is done locally. Work lost with a worker is redone by another.
    progress : callable, optional
        Called with the `Progress` of each step; its name includes the estimated remaining time.
    names : (str, str)
        Names of the samples.
    **changes
        Individual settings that override those of `settings`.

    Returns
    -------
    StreamedComparison

    Raises
    ------
    ValueError
        As in `compare`; also for a folder that holds another run.

    See Also
    --------
    compare : the same with all outlines in memory; also looks for faults of the outlines.

    Notes
    -----
    Each piece is read, traced, and its landmarks are placed; the archetype is chosen; each piece is registered. The
    Fréchet mean takes one pass over all pieces per iteration, the principal directions one for the sum of their Gram
    matrices, the coordinates another. Only sums and coordinates leave a piece. The archetype "mean" takes further
    passes.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.streaming import compare_in_pieces
    >>> a, b = samples.powder_outlines().ensembles()
    >>> settings = Settings(landmarks=60, rank=10, permutations=199)
    >>> streamed = compare_in_pieces(a, b, settings, rows=100)
    >>> streamed.case == compare(a, b, settings).case, streamed.t.shape
    (True, (469, 10))
    """
    settings = replace(settings, **changes)
    reading = reading or Reading()
    with reporting(progress), tempfile.TemporaryDirectory(prefix="shape-ensembles-") as temporary:
        report("checking the inputs")
        sides = [pieces_of(side, rows=rows, reading=reading, executor=executor) for side in (a, b)]
        block = int(memory * 2**30 / _SHARE / (settings.landmarks * _BYTES_PER_LANDMARK))
        store = Store(Path(folder or temporary), max(_MIN_ROWS, min(block, _MAX_ROWS)))
        key = {
            "pieces": [[piece.key for piece in side] for side in sides],
            "settings": tree_of(settings),
            "versions": software_versions(),
        }
        pieces = [piece for side in sides for piece in side]
        store.begin(key_of(key), len(pieces))
        alone = executor is None and len(pieces) >= processors()  # fewer pieces are each parallelized internally
        with ThreadPoolExecutor(processors()) if executor is None else nullcontext(executor) as workers:
            result = _Run(store, settings, pieces, len(sides[0]), workers, alone).result(names)
        if folder is not None:
            shutil.rmtree(store.folder)
    return result


class _Run:
    """One run over all pieces, with one processor per piece if `alone`: executes the stages in sequence."""

    def __init__(
        self, store: Store, settings: Settings, pieces: Sequence[Piece], first: int, executor: Any | None, alone: bool
    ) -> None:
        self.store, self.settings, self.pieces, self.first = store, settings, pieces, first
        self.executor, self.alone = executor, alone
        self.begun, self.done = monotonic(), 0.0
        self.count = 0  # number of curves in all pieces, known after reading
        self.planned = Counter({name: _EXPECTED_ITERATIONS.get(name, 1) for name in _STAGE_COSTS})
        if settings.archetype != "mean":
            del self.planned["computing the mean archetype"]

    def run_stage(
        self, name: str, stage: Callable[[PieceTask], Any], fold: Callable[[Any], object], **task: Any
    ) -> None:
        """Run a stage on all pieces, locally or by the executor, and pass its results to `fold` in order."""
        early: dict[int, Any] = {}  # results that arrived out of order
        weight = _STAGE_COSTS[name] / len(self.pieces)
        if self.planned[name]:
            self.planned[name] -= 1
        rest = sum(_STAGE_COSTS[stage] * times for stage, times in self.planned.items()) + _STAGE_COSTS[name]
        count = folded = 0

        def on_result(index: int, step: Any) -> None:
            nonlocal count, folded
            if step.name:
                return
            early[index] = step.result
            while folded in early:
                fold(early.pop(folded))
                folded += 1
            count += 1
            self.done += weight
            left = (monotonic() - self.begun) / self.done * (rest - count * weight)
            report(f"{name}, {duration(left)} left", count, len(self.pieces))

        report(name, 0, len(self.pieces))
        tasks = [PieceTask(self.store, self.settings, index, **task) for index in range(len(self.pieces))]
        if stage in (stages.read_outlines, stages.place_piece):
            tasks = [replace(one, piece=piece) for one, piece in zip(tasks, self.pieces, strict=True)]
        job = stage
        run_jobs(partial(run_on_one_processor, job) if self.alone else job, tasks, on_result, self.executor)

    def result(self, names: tuple[str, str]) -> StreamedComparison:
        """Run all stages."""
        settings = self.settings
        measures: list[stages.Measures] = []
        self.run_stage("reading outlines", stages.read_outlines, measures.append)
        self.count = sum(one.curves for one in measures)
        common = _common(self.pieces, measures, self.first, settings)
        unit, several = common.unit, common.several
        self.run_stage(
            "placing landmarks", stages.place_piece, _ignore_result, unit=unit, pixel=common.pixel, several=several
        )
        placed = _joined(self.store, PLACED, len(self.pieces))
        counts = placed.counts
        total, first = int(counts.sum()), int(counts[: self.first].sum())
        for side, count in zip("AB", (first, total - first), strict=True):
            if not count:
                words = "; ".join(f"{count} {reason}" for reason, count in placed.dropped.items())
                raise ValueError(f"{side} has no usable outline" + (f" ({words})" if words else ""))
        space = self._space(placed, total)
        self.run_stage(
            "registering",
            partial(stages.register_piece, archetype=space.archetype_, scale_archetype=space.scale_archetype_),
            _ignore_result,
        )
        registered = _joined(self.store, REGISTERED, len(self.pieces))
        scale = registered.arrays["scale"]
        eps = np.where(_by_side(placed, self.first), np.finfo(np.float32).eps, np.finfo(np.float64).eps)
        known = relative_precision(placed.arrays["largest"] * eps / 2, scale)
        around = placed.arrays["perimeter"] / np.repeat(common.pixels, [first, total - first])
        lobes = lobes_held(around[~np.isnan(around)])
        space.unit_ = unit
        t, descriptors = self._learn(space, scale, total, known, lobes)
        with one_library_thread():
            l = spd.coordinates(space.scale_mean_, scale)
        clear_constant(t, known)
        clear_constant(l, known)
        report("testing", 0, 2)
        names_of = _image_names(self.pieces, placed, common.images, self.first)
        images = _image_numbers(names_of, first) if several else None
        learned = Learned(space, t, l, registered.arrays["ambiguous"], _ambiguous(registered), descriptors, known)
        if images is not None and total > MAX_EXACT_CURVES:  # the kernel between images sums all pairs of curves
            chosen = equal_draws(images, settings.seed)
            assert chosen is not None
            drawn, where = learned._replace(t=t[chosen], l=l[chosen], descriptors=descriptors[chosen]), images[chosen]
            undulation, of_scale = _groups_of(drawn, int(chosen[:first].sum()), settings, where).test(0, 1)
            words = f"of {total} curves {counted(int(chosen.sum()), 'curve')}, equally many of each image, are compared"
            undulation, of_scale = (replace(test, approximation=words) for test in (undulation, of_scale))
        else:
            undulation, of_scale = _groups_of(learned, first, settings, images).test(0, 1)
        small = None
        if images is not None:
            groups = _groups_of(learned, first, settings, images)
            groups.__dict__["measured"] = stages.quantities_of(placed.arrays["measured"])
            small = groups.small_sample(0, 1)
        return StreamedComparison(
            names,
            (first, total - first),
            settings,
            space,
            t,
            l,
            undulation,
            of_scale,
            _table(placed, names_of, first),
            unit,
            dict(placed.dropped),
            descriptors,
            int(learned.ambiguous.sum()),
            learned.archetype_is_ambiguous,
            "images" if several else "curves",
            small,
            common.note,
        )

    def _space(self, placed: "_Joined", total: int) -> ShapeSpace:
        """Return a shape space with its archetypes, chosen as in `ShapeSpace.fit_landmarks`."""
        settings = self.settings
        space = ShapeSpace(
            settings.rank,
            landmarks=settings.landmarks,
            measure=settings.measure,
            interpolation=settings.interpolation,
            registration=settings.registration,
            archetype=settings.archetype,
            reflections=settings.reflections,
            random_state=settings.seed,
        )
        space.archetype_ = space.scale_archetype_ = None
        if settings.registration == "none":
            return space
        if (kept := self.store.load(0, ARCHETYPES)) is not None:
            space.archetype_, space.scale_archetype_ = kept.get("archetype"), kept.get("scale_archetype")
            return space
        standardized, options = settings.registration == "standardized", {"reflections": settings.reflections}
        if settings.archetype == "mean":
            space.archetype_ = self._mean_archetype(placed.arrays["distinct"], placed.counts, standardized)
            if standardized:
                space.scale_archetype_ = self._mean_archetype(placed.arrays["raw_distinct"], placed.counts, False)
        else:
            index = self._archetype_index(placed, total)
            landmarks = self._landmarks_of(index, placed.counts)
            preshapes = decompose(landmarks)[0] if standardized else landmarks
            space.archetype_ = choose_archetype(preshapes, 0, **options)
            if standardized:
                space.scale_archetype_ = choose_archetype(landmarks, 0, **options)
        kept = {"archetype": space.archetype_, "scale_archetype": space.scale_archetype_}
        self.store.save(0, ARCHETYPES, {name: array for name, array in kept.items() if array is not None})
        return space

    def _archetype_index(self, placed: "_Joined", total: int) -> int:
        if self.settings.archetype == "asymmetric":
            return int(np.argmax(placed.arrays["distinct"]))
        return archetype_index(np.empty((total, 0, 2)), self.settings.archetype, seed=self.settings.seed)

    def _landmarks_of(self, index: int, counts: NDArray[np.intp]) -> Real:
        """Return the landmarks (1, n, 2) of a curve by its global index."""
        ends = np.cumsum(counts)
        piece = int(np.searchsorted(ends, index, side="right"))
        return self.store.row(piece, LANDMARKS, index - int(ends[piece] - counts[piece])).T[None]

    def _mean_archetype(self, distinct: Real, counts: NDArray[np.intp], standardized: bool) -> Real:
        """Compute the mean archetype like `choose_archetype`, with one pass over all pieces per iteration."""
        landmarks = self._landmarks_of(int(np.argmax(distinct)), counts)
        preshape = decompose(landmarks)[0] if standardized else landmarks
        archetype = choose_archetype(preshape, 0, reflections=self.settings.reflections)
        before: tuple[Real, NDArray[np.bool_]] | None = None
        n = self.settings.landmarks
        for _ in range(MAX_ITERATIONS):
            found: list[stages.Matched] = []
            stage = partial(stages.match_piece, archetype=archetype, standardized=standardized)
            self.run_stage("computing the mean archetype", stage, found.append)
            shift, reverse = (np.concatenate([getattr(one, name) for one in found]) for name in ("shift", "reversed"))
            if before is not None:
                moved = np.abs((before[0] - shift + n / 2) % n - n / 2)
                if (before[1] == reverse).all() and (moved < 0.5).all():
                    return archetype
            before = shift, reverse
            archetype = np.sum([one.total for one in found], axis=0) / len(shift)
        raise ValueError(
            f"the mean archetype did not converge in {MAX_ITERATIONS} iterations: "
            'use archetype="asymmetric" for these curves'
        )

    def _mean(self, total: int) -> Real:
        """Compute the Fréchet mean of the undulations like `grassmann.frechet_mean`, one pass per iteration."""
        if (known := self.store.load(0, MEAN)) is not None:
            return np.array(known["mean"])
        first = next(index for index in range(len(self.pieces)) if self.store.shape(index, UNDULATION)[0])
        mean = self.store.row(first, UNDULATION, 0).T
        for _ in range(_MAX_MEAN_ITERATIONS):
            pulled: list[Real] = []
            self.run_stage("computing the mean", partial(stages.tangent_sum, mean=mean), pulled.append)
            gradient: Real = np.sum(pulled, axis=0) / total
            size = float(np.linalg.norm(gradient))
            if size <= _TOLERANCE:
                self.store.save(0, MEAN, {"mean": mean})
                return mean
            point = grassmann.exp(mean, gradient[None])[0]
            mean = point @ (1.5 * np.eye(2) - 0.5 * point.T @ point)
        raise ValueError(
            f"the mean undulation did not converge in {_MAX_MEAN_ITERATIONS} iterations (remaining step {size:.1e}): "
            "the outlines are too dispersed; look for outliers and leave them out"
        )

    def _learn(self, space: ShapeSpace, scale: Real, total: int, known: float, lobes: float) -> tuple[Real, Real]:
        """Fit mean and principal directions, and return the coordinates (N, r) and the descriptors (N, k)."""
        mean = self._mean(total)
        n = len(mean)
        described = tests_components(self.settings)
        stage = partial(stages.spread, mean=mean, known=known, lobes=lobes, described=described)
        gram, described_ones = np.zeros((2 * n, 2 * n)), [np.empty((0, 0))]

        def add(found: stages.Spread) -> None:
            np.add(gram, found.gram, out=gram)
            if len(found.descriptors):
                described_ones.append(found.descriptors)

        self.run_stage("learning the shape space", stage, add)
        descriptors = np.concatenate(described_ones[1:]) if len(described_ones) > 1 else np.empty((total, 0))
        rank = min(self.settings.rank, max(total - 1, 1), 2 * (n - 2))
        with one_library_thread():
            squared, directions = principal(gram, rank)
            space.scale_mean_ = spd.frechet_mean(scale)
        strongest = directions[np.arange(rank), np.abs(directions).argmax(axis=1)]
        directions = directions * np.sign(strongest)[:, None]
        space.undulation_mean_ = mean
        space.singular_values_ = np.sqrt(np.maximum(squared, 0))[: min(total, 2 * n)]
        space.basis_ = directions.reshape(rank, 2, n).swapaxes(1, 2)
        space.bands_ = tuple(band for band in BANDS if 2 * (band[1] + 1) < n and band[1] <= lobes)
        space.rank = rank
        t, filled = np.empty((total, rank)), 0

        def fill(found: Real) -> None:
            nonlocal filled
            t[filled : filled + len(found)] = found
            filled += len(found)

        self.run_stage(
            "projecting onto the shape space", partial(stages.project_piece, mean=mean, basis=space.basis_), fill
        )
        seal(space)
        return t, descriptors


def _ignore_result(_: object) -> None:
    """Ignore the result of a stage that writes to the folder."""


# --------------------------------------------------------------------------------------- what pieces have in common


@dataclass(frozen=True, eq=False)
class _Joined:
    """Concatenated saved arrays of all pieces, with the number of curves of each piece."""

    arrays: dict[str, NDArray[Any]]
    counts: NDArray[np.intp]
    trees: list[Mapping[str, Any]]

    @property
    def dropped(self) -> Counter[Reason]:
        """Number of dropped items, by reason."""
        found: Counter[Reason] = Counter()
        for tree in self.trees:
            found.update(of_rows(tree["dropped"]))
        return found


def _joined(store: Store, name: str, count: int) -> _Joined:
    trees = [records.value({"tree": store.load(index, name)}, "tree", dict) for index in range(count)]
    columns = ("scale", "ambiguous") if name == REGISTERED else (
        "ids", "images", "area", "perimeter", "largest", "distinct", "raw_distinct", "measured")  # fmt: skip
    counts = np.array([len(tree[columns[0]]) for tree in trees], dtype=np.intp)
    kept = [tree for tree, size in zip(trees, counts, strict=True) if size]
    arrays = {}
    for column in columns:
        parts = [tree[column] for tree in kept]
        if column == "ids" and len({part.dtype.kind for part in parts}) > 1:
            parts = [part.astype(np.str_) for part in parts]
        arrays[column] = np.concatenate(parts) if parts else np.empty(0)
    if name == REGISTERED:
        matched = [tree["residuals"] for tree in kept if tree["residuals"].size]
        arrays["residuals"] = np.concatenate(matched, axis=1) if matched else np.empty((0, 0))
        arrays["archetype_distinctness"] = kept[0]["archetype_distinctness"] if kept else np.empty(0)
    return _Joined(arrays, counts, trees)


@dataclass(frozen=True, eq=False)
class _Common:
    """Units and exchangeability common to all pieces: see `_common`."""

    unit: str
    pixel: float | None
    pixels: tuple[float, float]
    note: str
    several: bool
    images: list[tuple[str, ...]]


def _common(pieces: Sequence[Piece], measures: Sequence[stages.Measures], first: int, settings: Settings) -> _Common:
    """Return the common unit, pixel size and exchangeable units, by the rules of `compare` for whole ensembles."""
    sides = []
    for some in (slice(0, first), slice(first, None)):
        members = {piece.source: one for piece, one in zip(pieces[some], measures[some], strict=True)}
        sides.append(
            [
                Ensemble([], name=one.images[0] if one.images else "", unit=one.unit, pixel_size=one.pixel_size)
                for one in members.values()
            ]
        )
    a, b, note = at_one_pixel_size(*sides)
    unit = a[0].unit
    pooled = [Ensemble.pooled([one.to(unit) for one in side]).pixel_size for side in (a, b)]
    sizes = [np.nan if size is None else float(np.mean(size)) for size in pooled]
    pixel = None if a is sides[0] else float(a[0].pixel_size[0])
    images = [one.images for one in measures]
    counts = [
        len({(piece.source, name) for piece, names in zip(pieces[some], images[some], strict=True) for name in names})
        for some in (slice(0, first), slice(first, None))
    ]
    several = settings.permute == "images" or (settings.permute == "auto" and max(counts) > 1)
    return _Common(unit, pixel, (sizes[0], sizes[1]), note, several, images)


def _image_names(
    pieces: Sequence[Piece], placed: _Joined, images: Sequence[tuple[str, ...]], first: int
) -> NDArray[np.str_]:
    """Return the image name of each curve; duplicate names are made unique as in `Ensemble.pooled`."""
    found = []
    ends = np.concatenate([[0], np.cumsum(placed.counts)])
    for some in (range(first), range(first, len(pieces))):
        own = list(dict.fromkeys((pieces[index].source, name) for index in some for name in images[index]))
        names = (
            distinct([name for _, name in own]) if len({source for source, _ in own}) > 1 else [one for _, one in own]
        )
        new = dict(zip(own, names, strict=True))
        for index in some:
            part = placed.arrays["images"][ends[index] : ends[index + 1]]
            values, place = np.unique(part, return_inverse=True)
            renamed = np.array([new[pieces[index].source, str(value)] for value in values], np.str_)
            found.append(renamed[place] if len(part) else part.astype(np.str_))
    return np.concatenate(found)


def _by_side(placed: _Joined, first: int) -> NDArray[np.bool_]:
    """Whether each curve is of single precision: true if all pieces of its sample are."""
    single = [bool(tree["single"]) for tree in placed.trees]
    return np.repeat(np.repeat([all(single[:first]), all(single[first:])], [first, len(single) - first]), placed.counts)


def _ambiguous(registered: _Joined) -> bool:
    """Whether an archetype is ambiguous; see `Registration.archetype_is_ambiguous`."""
    none, flags = np.empty(0), np.empty(0, np.bool_)
    empty = np.empty((0, 2, 2))
    return any(
        Registration(empty, none, empty, flags, residual, none, flags, float(own)).archetype_is_ambiguous
        for residual, own in zip(
            registered.arrays["residuals"], registered.arrays["archetype_distinctness"], strict=True
        )
    )


def _table(placed: _Joined, images: NDArray[np.str_], first: int) -> "pd.DataFrame":
    import pandas as pd

    arrays, total = placed.arrays, int(placed.counts.sum())
    table = pd.DataFrame({"id": arrays["ids"], "image": pd.Categorical(images)})
    table["sample"] = pd.Categorical(np.where(np.arange(total) < first, "A", "B"))
    return table.assign(area=arrays["area"], perimeter=arrays["perimeter"])


def _groups_of(learned: Learned, first: int, settings: Settings, images: NDArray[np.intp] | None) -> Groups:
    """Return two groups of learned outlines, given the image of each; without, single outlines are permuted."""
    replicate = images if images is not None else (np.arange(len(learned.t)) >= first).astype(np.intp)
    group = (np.arange(replicate.max() + 1) > replicate[:first].max()).astype(np.intp)
    permute: Any = "curves" if images is None else "images"
    return Groups(("", ""), (), replicate, group, replace(settings, permute=permute), learned)


def _image_numbers(names: NDArray[np.str_], first: int) -> NDArray[np.intp]:
    """Return the image number of each outline, over both samples, as in `effects.image_numbers`."""
    numbers, count = [], 0
    for side in (names[:first], names[first:]):
        own, place = np.unique(side, return_inverse=True)
        numbers.append(count + place)
        count += len(own)
    return np.concatenate(numbers).astype(np.intp)
