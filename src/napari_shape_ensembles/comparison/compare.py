"""Comparison of two ensembles: registration, learning, two tests and one row of the truth table."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import version
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import Real
from ..archive import StrPath, Tree, read_archive, write_archive
from ..checks import RandomState, Sealed
from ..mmd import MMDTest, gretton_test
from ..mmd.replicates import (
    DRAWS,
    Hypothesis,
    MeanKernels,
    least_p,
    mean_kernels_of_widths,
    replicate_means,
    replicate_mmd_test,
    small_sample_test,
)
from ..mmd.two_sample import FEATURES, pooled_mmd_test
from ..mmd.witness import witness
from ..outlines import Ensemble, Quality, at_one_pixel_size, exchange, quality
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..progress import Listener, duration, one_library_thread, processors, report, reporting
from ..shapes import ShapeSpace
from ..words import counted
from . import answer, records
from .design import cannot_reach
from .detectable import Detectable, detectable_differences, planned_power, require_curves_permuted
from .display import MARK, LayerData, curve_layer_data, summary_html
from .estimates import estimates, image_numbers
from .figures import plot_comparison
from .inputs import Inputs
from .learning import COMPARISON_STEPS, Learned, learn, report_step
from .parts import Parts, form_parts, scale_parts, sides
from .quantities import Quantities, components, quantities
from .settings import Settings
from .verdict import DEPENDS_ON_ARCHETYPE, INCONCLUSIVE, inconclusive, table_row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Images = Ensemble | Sequence[Ensemble] | Sequence[ArrayLike]

#: Format name of a saved comparison, and the newest version of its layout (docs/files.md).
FORMAT, LAYOUT = "shape-ensembles comparison", 1

_PARTS = ("a", "b", "settings", "space", "coordinates", "undulation", "scale", "matches", "versions")
_FLAGS = ("archetype_is_ambiguous", "row_depends_on_archetype", "archetypes_agree")
# From this many seconds on, the expected duration is reported beforehand.
LONG_SECONDS = 10.0
# Multiplications per pair of curves apart from the permutations; rows of the product used to measure the speed.
_PER_PAIR, _PROBE = 100, 256
# So many permutations that they do not limit a p-value.
_MANY_PERMUTATIONS = 10**9


# Cached, as reading the metadata of a package takes as long as comparing twenty curves.
_version = cache(version)


def software_versions() -> dict[str, str]:
    """Versions of the software that affects the digits of the result."""
    packages = ("napari-shape-ensembles", "numpy", "scipy", "scikit-image")
    return {"python": platform.python_version()} | {name: _version(name) for name in packages}


@dataclass(frozen=True, eq=False)
class Comparison(Sealed):
    """Result of `compare`: the row of the truth table, both tests, and the underlying coordinates.

    Attributes
    ----------
    a, b : Ensemble
        The curves compared, b in a's unit.
    settings : Settings
    space : ShapeSpace
        Learned from the pooled curves.
    t : (N, r) array
        Undulation coordinates of the pooled curves, a's rows first.
    l : (N, 3) array
        Their scale coordinates.
    undulation, scale : MMDTest
        The two tests. By default the undulation's has the parts "coarse form", "roughness" and "concavity", and the
        scale's "mean size", "size", "elongation" and "size and elongation"; with coordinates "both" the undulation's
        has "raw" and "normalized".
    ambiguous : int
        Curves whose best match with the archetype is hardly better than the second best; see `Registration`.
    archetype_is_ambiguous : bool
        Whether the archetype is (nearly) symmetric, so that matches with it are not unique.
    row_depends_on_archetype : bool
        Whether the row is known to change with the archetype (`archetype_sensitivity`); it is then inconclusive.
    archetypes_agree : bool
        Whether the row is known to be the same with other archetypes (`archetype_sensitivity`).
    versions : mapping of str to str
        Versions of the software that affects the digits of the result.
    descriptors : (N, k) array
        Numbers by which roughness and concavity were tested; see `parts.form_descriptors`. Empty (k = 0) if the
        settings select other parts.
    small_sample : (float, float), optional
        If images were permuted: p-values of undulation and scale by the small-sample test
        (`mmd.replicates.small_sample_test`), for few images.
    note : str
        Preprocessing of the outlines: those of smaller pixels resampled at the size of the larger, or why not.
    inputs : Inputs, optional
        Files that the outlines came from, with their checksums, and how they were read, if known.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> result.t.shape, result.l.shape
    ((469, 10), (469, 3))
    >>> result.scale.p_value, result.scale.threshold < result.scale.mmd
    (0.005, True)
    """

    a: Ensemble
    b: Ensemble
    settings: Settings
    space: ShapeSpace
    t: Real
    l: Real
    undulation: MMDTest
    scale: MMDTest
    ambiguous: int = 0
    archetype_is_ambiguous: bool = False
    row_depends_on_archetype: bool = False
    archetypes_agree: bool = False
    versions: Mapping[str, str] = field(default_factory=software_versions)
    descriptors: Real = field(default_factory=lambda: np.empty((0, 0)))
    small_sample: tuple[float, float] | None = None
    note: str = ""
    inputs: Inputs | None = None

    @property
    def case(self) -> str:
        """Row of the truth table, undulation ∧ scale with 1 = no difference detected; or "inconclusive"."""
        return INCONCLUSIVE if self.inconclusive else table_row(self.undulation.rejected, self.scale.rejected)

    @cached_property
    def permuted(self) -> str:
        """Exchangeable units of the two samples: "images", or "curves" (see `Settings.permute`)."""
        return "curves" if exchangeable_images(self.a, self.b, self.settings) is None else "images"

    @cached_property
    def image_counts(self) -> tuple[int, int]:
        """Numbers of images of a and of b."""
        return len(set(self.a.images.tolist())), len(set(self.b.images.tolist()))

    @property
    def withheld(self) -> str:
        """Serious faults of the outlines that withhold the row; "" if there are none, or none without them either."""
        return "" if self.settings.overrule or self._out_of_reach else (self.quality.reason or "")

    @property
    def inconclusive(self) -> str | None:
        """Why there is no row: few curves or images, faults of the outlines, or the archetype; None if there is one."""
        return self._out_of_reach or self.withheld or (DEPENDS_ON_ARCHETYPE if self.row_depends_on_archetype else None)

    @property
    def _out_of_reach(self) -> str | None:
        """Why the p-values cannot reach the significance level; None if they can."""
        settings = self.settings
        if self.permuted == "images":
            least = least_p(*self.image_counts)
            too_large = least > settings.significance
            return cannot_reach(*self.image_counts, settings.significance, least) if too_large else None
        return inconclusive(len(self.a), len(self.b), settings.permutations, settings.significance, null=settings.null)

    @property
    def undecided(self) -> str:
        """Why the tests have no decision, in two words: "too few curves", "withheld" and so on; "" if they have one."""
        if not self._out_of_reach:
            return "withheld" if self.inconclusive else ""
        if self.permuted == "images":
            return "too few images"
        settings, counts = self.settings, (len(self.a), len(self.b))
        with_more = inconclusive(*counts, _MANY_PERMUTATIONS, settings.significance, null=settings.null)
        return "too few curves" if with_more else "too few permutations"

    @cached_property
    def quality(self) -> Quality:
        """Defects, or possible defects, of the outlines; serious ones withhold the row unless `settings.overrule`."""
        return quality(self.a, self.b)

    @property
    def pmmd(self) -> float:
        """Product MMD: the Euclidean norm of the two MMDs (paper, eq. pMMD)."""
        return float(np.hypot(self.undulation.mmd, self.scale.mmd))

    @property
    def pmmd_threshold(self) -> float:
        """The same norm of the two thresholds."""
        return float(np.hypot(self.undulation.threshold, self.scale.threshold))

    def form_parts(self) -> Parts:
        """Parts of the undulation test, from the coordinates and the descriptors."""
        return form_parts(self.t, self.descriptors, self.settings)

    def scale_parts(self) -> Parts:
        """Parts of the scale test."""
        return scale_parts(self.l, self.space.scale_mean, self.settings)

    @property
    def distances(self) -> "pd.DataFrame":
        """Distance of every curve from the mean shape: one row per curve, a's first.

        Columns: source ("A" or "B"), id, then product ‖(t, ℓ)‖, undulation ‖t‖ and scale ‖ℓ‖, and each divided by its
        maximum (`..._normalized`, 0 to 1).
        """
        return self._distances.copy()

    @property
    def witnesses(self) -> "pd.DataFrame":
        """Witness values of every curve: columns source ("A" or "B"), id, undulation and scale, a's curves first.

        Positive values are typical of A, negative ones of B; NaN if a side has a single curve. The witness uses a
        Gaussian kernel on the deciding part of each test; if the tests project their kernel for this number of curves,
        this one is projected as well.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> means = result.witnesses.groupby("source")["scale"].mean()
        >>> bool(means["A"] > means["B"])
        True
        """
        return self._witnesses.copy()

    def to_dataframe(self) -> "pd.DataFrame":
        """Table with one row per curve, a's first, of everything known about it.

        Columns: id, image, sample ("A" or "B"), the metadata of the ensembles, their features, the distances from the
        mean shape as in `distances`, then the coordinates t1, ..., tr and l1, l2, l3.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> a, b = a.assign(batch="old"), b.assign(batch="new")
        >>> table = compare(a, b, Settings(landmarks=60, rank=2, permutations=199)).to_dataframe()
        >>> table.columns.tolist()[:5], table.columns.tolist()[-5:]
        (['id', 'image', 'sample', 'batch', 'area'], ['t1', 't2', 'l1', 'l2', 'l3'])
        >>> table.groupby("batch")["area"].median().round().to_dict()
        {'new': 863.0, 'old': 2624.0}
        """
        import pandas as pd

        known = pd.concat([self.a.to_dataframe(), self.b.to_dataframe()], ignore_index=True)
        if self.a.metadata.shape[1] or self.b.metadata.shape[1]:  # in one place, even if only one side has them
            own = list(dict.fromkeys([*self.a.metadata, *self.b.metadata]))
            known = known[["id", "image", *own, *(name for name in known if name not in ("id", "image", *own))]]
        known.insert(2, "sample", self._distances["source"])
        coordinates = pd.DataFrame(np.concatenate([self.t, self.l], axis=1), columns=self._names)
        return pd.concat([known, self._distances.drop(columns=["source", "id"]), coordinates], axis=1)

    @property
    def _names(self) -> list[str]:
        """Names of the coordinates."""
        return [str(name) for name in self.space.get_feature_names_out()[: self.t.shape[1] + 3]]

    def to_geodataframe(self) -> Any:
        """GeoDataFrame of polygons with the columns of `to_dataframe`; see `Ensemble.to_geodataframe`."""
        return exchange.geodataframe(self.to_dataframe(), self._both)

    def to_anndata(self) -> Any:
        """AnnData for scanpy and squidpy: coordinates as X, all other properties of the curves as obs.

        obs holds id, image, sample and group (the name of the sample), features and distances; `obsm["undulation"]` and
        `obsm["scale"]` hold the coordinates t and l, `obsm["spatial"]` the centers (x, y); `uns["shape_ensembles"]`
        also case, p_undulation and p_scale; see `Ensemble.to_anndata`.
        """
        table, names = self.to_dataframe(), self._names
        answer: dict[str, Any] = {
            "case": self.case,
            "p_undulation": self.undulation.p_value,
            "p_scale": self.scale.p_value,
        }
        known = table.drop(columns=names)
        if "group" not in known:
            groups = [side.name or letter for side, letter in ((self.a, "A"), (self.b, "B"))]
            known.insert(3, "group", np.repeat(groups, [len(self.a), len(self.b)]).astype(object))
            answer["grouped"] = True  # the column is made here, and is not metadata of the curves
        coordinates = {"undulation": np.array(self.t), "scale": np.array(self.l)}
        return exchange.anndata(table[names], known, self._both, coordinates, **answer)

    def to_spatialdata(self) -> Any:
        """SpatialData: the polygons of each image, with `to_anndata` as their table; see `Ensemble.to_spatialdata`."""
        return exchange.spatialdata(self.to_anndata(), self.to_dataframe(), self._both)

    @property
    def _both(self) -> Ensemble:
        """The curves of both samples, b in a's unit."""
        return Ensemble.pooled([self.a, self.b])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot both tests and their parts, observed and under permuted labels.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> ax = compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).plot()
        >>> ax.get_title(loc="left")
        '1∧0'
        """
        return plot_comparison(self.undulation, self.scale, self.case, ax)

    @cached_property
    def components(self) -> dict[str, Real]:
        """Size, elongation, coarse form and roughness of every curve; see `quantities.components`."""
        return components(self.space, self.t, self.l)

    @property
    def estimates(self) -> "pd.DataFrame":
        """How large the difference is in each quantity, one row each, with the p-value of the part that tests it.

        Columns: quantity; estimate; kind: a "ratio" (B over A, of geometric means; of standard deviations of the
        logarithm for the spread of size), or a "distance" in standard deviations within the samples (see
        `estimates.standardized_distance`); low and high, the ends of its pointwise 95 % interval; p, of the part of the
        test, and p_adjusted, for the other parts of the same test (`MMDTest.adjusted`). NaN where a quantity was not
        measured, or not tested alone.

        Notes
        -----
        Intervals are symmetric bootstrap-t over curves (percentiles for distances), and if images were permuted
        Student's (Welch) over the means of images. They are conditional on the coordinates: they ignore that the shape
        space was itself learned from these curves.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> size = result.estimates.set_index("quantity").loc["size"]
        >>> size["kind"], [round(float(size[name]), 2) for name in ("estimate", "low", "high")]
        ('ratio', [0.81, 0.69, 0.96])
        """
        return self._estimates.copy()

    @cached_property
    def _estimates(self) -> "pd.DataFrame":
        return estimates(self)

    @cached_property
    def ratios(self) -> "pd.DataFrame":
        """Those rows of `estimates` that are ratios, which take no time."""
        return estimates(self, distances=False)

    def detectable(self, *, power: float = 0.8, random_state: RandomState = 0) -> Detectable:
        """Smallest differences that would be detected with as many curves.

        Parameters
        ----------
        power : float
            Probability of detecting the difference, between 0.5 and 1.
        random_state : int, Generator or RandomState
            Seed of the subset of 500 curves that represents the population, and of the simulated tests.

        Returns
        -------
        Detectable

        Raises
        ------
        ValueError
            For tests without permutations, a comparison that permuted images, or a power out of range.

        Notes
        -----
        For tests that permuted curves; for the number of images see `Experiment.planning`.

        The thresholds are those of the tests' own null. For components of scale, outlines are resampled without the
        difference between the samples, one sample is scaled or stretched, and all parts are tested, 200 times. Form,
        and coordinates instead of components: the normal limit of the MMD of two samples of which one is shifted
        (Gretton et al. 2012, asymptotic distribution under the alternative), by the coarse form or the raw coordinates,
        at the level that a combined test leaves to them. Thresholds from 1000 permutations vary, and with them the
        power, by about 0.1; `benchmarks/calibration.py` checks coordinates by simulation,
        `tests/comparison/test_parts.py` the parts.

        References
        ----------
        A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
        Learning Research 13 (2012) 723-773.

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = (drawn.subset(np.arange(len(drawn)) < 100) for drawn in samples.powder_outlines().ensembles())
        >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
        >>> round(result.detectable().size_ratio, 1)
        1.4
        """
        require_curves_permuted(self)
        return detectable_differences(
            self.t,
            self.l,
            len(self.a),
            self.undulation,
            self.scale,
            power=power,
            random_state=random_state,
            scale_mean=self.space.scale_mean,
        )

    def planned_power(
        self,
        count: int | tuple[int, int],
        *,
        size_ratio: float = 1.0,
        elongation_ratio: float = 1.0,
        draws: int = 200,
        random_state: RandomState = 0,
    ) -> float:
        """Probability that the test of scale detects a given difference at given numbers of curves.

        Parameters
        ----------
        count : int or (int, int)
            Number of outlines planned on each side.
        size_ratio, elongation_ratio : float
            Ratio of the lengths of B's outlines to A's; ratio of their elongations (length to width).
        draws : int
            Number of simulated experiments: 200 estimate a probability of one half to ± 0.07.
        random_state : int, Generator or RandomState
            Seed of the draws.

        Raises
        ------
        ValueError
            For ratios that are not positive, fewer than two outlines or one draw, or a comparison that permuted images.

        Notes
        -----
        Bootstrap: outlines are resampled with replacement after removing the difference between the samples; B's are
        scaled, and stretched along their own axes; the whole test is done with permutations. This is the power for
        outlines that are drawn independently: if images or animals are replicated, see `Experiment.planning`.

        Examples
        --------
        >>> import numpy as np
        >>> from napari_shape_ensembles import compare, samples
        >>> a, b = (drawn.subset(np.arange(len(drawn)) < 100) for drawn in samples.powder_outlines().ensembles())
        >>> result = compare(a, b, landmarks=60, rank=10, permutations=199, significance=0.05)
        >>> few, many = (result.planned_power(count, elongation_ratio=1.1, draws=50) for count in (20, 80))
        >>> few < 0.5 < many
        True
        """
        ratios = {"size_ratio": size_ratio, "elongation_ratio": elongation_ratio}
        return planned_power(self, count, **ratios, draws=draws, random_state=random_state)

    @cached_property
    def _distances(self) -> "pd.DataFrame":
        import pandas as pd  # slow to import, and not needed for the result

        sizes = {
            "product": np.hypot(np.linalg.norm(self.t, axis=1), np.linalg.norm(self.l, axis=1)),
            "undulation": np.linalg.norm(self.t, axis=1),
            "scale": np.linalg.norm(self.l, axis=1),
        }
        shares = {f"{name}_normalized": size / (size.max() or 1.0) for name, size in sizes.items()}
        source = np.repeat(["A", "B"], [len(self.a), len(self.b)])
        ids = [*self.a.ids.tolist(), *self.b.ids.tolist()]  # numbers and strings stay distinct, as in the ensembles
        return pd.DataFrame({"source": source, "id": ids, **sizes, **shares})

    @cached_property
    def _witnesses(self) -> "pd.DataFrame":
        table = self._distances[["source", "id"]].copy()
        first, settings = len(self.a), self.settings
        if min(first, len(self.b)) < 2:
            return table.assign(undulation=np.nan, scale=np.nan)
        features = FEATURES if 0 < settings.approximate_above < len(table) else None
        for name, test, parts in (
            ("undulation", self.undulation, self.form_parts()),
            ("scale", self.scale, self.scale_parts()),
        ):
            # The part with the smallest p-value, without its width; none if the test has no parts.
            deciding = min(test.parts, key=lambda part: test.parts[part].p_value, default="").split(", s = ")[0]
            part = parts.tested.get(deciding, next(iter(parts.tested.values())))
            width = test.bandwidth if part.kernel == "gaussian" else None
            table[name] = witness(part.points, first, width, features=features, seed=settings.seed)
        return table

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Caveats to the row, in plain sentences."""
        return answer.caveats(self)

    def summary(self) -> str:
        """Return the result as one sentence."""
        return answer.summary(self)

    def save(self, path: StrPath, *, view: Tree | None = None) -> None:
        """Write the whole comparison to a file atomically.

        Parameters
        ----------
        path : path
            Such as "nuclei.comparison.npz", which napari recognizes.
        view : dict, optional
            State of a viewer, to be restored: JSON-compatible numbers, strings, lists and dicts of them.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file of that name is kept.
        ValueError
            For ids or a view that cannot be stored.
        """
        write_archive(path, FORMAT, LAYOUT, {**self._tree(), "view": view or {}})

    def numbers(self) -> dict[str, Any]:
        """Return every number of the result by name: shape space, coordinates, and both tests with their parts.

        Returns
        -------
        dict
            Numbers, strings and arrays, such as "undulation.parts.roughness.p_value".

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> numbers = compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).numbers()
        >>> numbers["case"], numbers["scale.p_value"], numbers["coordinates.t"].shape
        ('1∧0', 0.005, (469, 10))
        """
        tree = self._tree()
        known = ("space", "coordinates", "undulation", "scale", "matches")
        small = {"small_sample": np.array(tree.get("small_sample", []))}
        return {"case": self.case} | records.flattened({name: tree[name] for name in known} | small)

    def to_layers(self, viewer: Any) -> list[Any]:
        """Add one colored Shapes layer per image to a napari viewer, and return the layers."""
        return [viewer.add_shapes(curves, **options) for curves, options, _ in self.layer_data()]

    def layer_data(
        self,
        view: Tree | None = None,
        columns: "pd.DataFrame | None" = None,
        *,
        by_pixels: bool = False,
        thin: bool = True,
    ) -> list[LayerData]:
        """Layer data of Shapes layers that hold a reference to this comparison; see `display.curve_layer_data`."""
        layers = curve_layer_data(self.a, self.b, self.distances, view, columns, by_pixels=by_pixels, thin=thin)
        for _, options, _ in layers:
            options["metadata"][MARK]["comparison"] = self
        return layers

    def __repr__(self) -> str:
        return f"Comparison({self.summary()})"

    def _repr_html_(self) -> str:
        tests = {"undulation": self.undulation, "scale": self.scale}
        return summary_html(self.summary(), self.case, tests, self.warnings, self.undecided)

    @classmethod
    def load(cls, path: StrPath, *, memory: float | None = None) -> "Comparison":
        """Read a comparison written by `save`, to the same digits. Nothing in the file is executed.

        Parameters
        ----------
        path : path
        memory : float, optional
            Memory limit in GiB; by default 4.

        Raises
        ------
        ValueError
            For a file of another kind, of a newer version of this software, a damaged one, or one that exceeds the
            memory limit.
        OSError
            If the file does not exist, or cannot be read.
        """
        return read_archive(path, FORMAT, LAYOUT, cls._of, memory)

    def _tree(self) -> Tree:
        """Tree of a saved comparison (docs/files.md), without its view."""
        return {
            "a": records.ensemble_tree(self.a),
            "b": records.ensemble_tree(self.b),
            "settings": tree_of(self.settings),
            "space": records.space_tree(self.space),
            "coordinates": {"t": self.t, "l": self.l, "descriptors": self.descriptors},
            "undulation": records.mmd_test_tree(self.undulation),
            "scale": records.mmd_test_tree(self.scale),
            "matches": {name: getattr(self, name) for name in ("ambiguous", *_FLAGS)},
            "versions": dict(self.versions),
            **({} if self.small_sample is None else {"small_sample": list(self.small_sample)}),
            "note": self.note,
            **({} if self.inputs is None else {"inputs": self.inputs.to_tree()}),
        }

    @classmethod
    def _of(cls, tree: Tree) -> "Comparison":
        """Restore the comparison from the result of `_tree`."""
        parts = {name: records.value(tree, name, dict) for name in _PARTS}
        a, b = records.ensemble_of_tree(parts["a"]), records.ensemble_of_tree(parts["b"])
        small = records.value(tree, "small_sample", list) if "small_sample" in tree else None
        space, count = records.space_of(parts["space"]), len(a) + len(b)
        return cls(
            a,
            b,
            from_tree(Settings, parts["settings"]),
            space,
            records.real(parts["coordinates"], "t", (count, space.rank_)),
            records.real(parts["coordinates"], "l", (count, 3)),
            records.mmd_test_of(parts["undulation"]),
            records.mmd_test_of(parts["scale"]),
            records.value(parts["matches"], "ambiguous", int),
            versions={str(name): str(version) for name, version in parts["versions"].items()},
            descriptors=records.real(parts["coordinates"], "descriptors", (count, None)),
            small_sample=None if small is None else (float(small[0]), float(small[1])),
            note=str(tree.get("note", "")),
            inputs=Inputs.of_tree(records.value(tree, "inputs", dict)) if "inputs" in tree else None,
            **{name: records.value(parts["matches"], name, bool) for name in _FLAGS},
        )


def read_view(path: StrPath) -> Tree:
    """Return the `view` that was passed to `Comparison.save`; errors as those of `Comparison.load`.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.io import read_comparison_view
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> result.save("comparison.npz", view={"color by": "product"})
    >>> read_comparison_view("comparison.npz")
    {'color by': 'product'}
    """
    view: Tree = read_archive(path, FORMAT, LAYOUT, lambda tree: records.value(tree, "view", dict))
    return view


def compare(
    a: Images,
    b: Images,
    settings: Settings = Settings(),
    *,
    progress: Listener | None = None,
    **changes: Any,
) -> Comparison:
    """Compare the outlines of two ensembles.

    Parameters
    ----------
    a, b : Ensemble, or a sequence of them or of (m, 2) arrays
        The two samples of curves. If a sample is several images (or a pooled ensemble of several), whole images are
        permuted, unless `settings.permute` overrides it. Arrays are the closed curves of one image, in pixels.
    settings : Settings
    progress : callable, optional
        Called with the `Progress` of each step before it starts; an exception that it raises aborts the computation.
    **changes
        Single settings that override those of `settings`: `rank=50`, ...; see `Settings` for all of them.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If an ensemble has no usable curve, the units are incompatible, or a step fails; the message suggests a remedy.
    TypeError
        For an unknown setting, or a third sample.

    See Also
    --------
    experiment : several groups, replicates, blocks and covariates.

    Notes
    -----
    Images of one condition differ more than a permutation of single curves assumes, so that permuting curves rejects
    far too often. With several images the tests are those of `experiment`, on the kernel summed over pairs of images.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> result.case
    '1∧0'
    >>> result.scale.p_value, result.undulation.rejected
    (0.005, False)
    """
    if not isinstance(settings, Settings):
        raise TypeError(
            f"the third argument must be Settings(...), not {type(settings).__name__}: compare takes two samples; "
            "experiment compares several groups"
        )
    settings = replace(settings, **changes) if changes else settings
    a, b, note = comparable(a, b)
    with reporting(progress), one_library_thread():
        expected = expected_seconds(a, b, settings)
        if expected > LONG_SECONDS:  # before the first step, while the settings can still be changed
            report(
                f"comparing {counted(len(a) + len(b), 'curve')}, expected to take {duration(expected)}",
                0,
                len(COMPARISON_STEPS),
            )
        learned = learn((a, b), settings)
        images = exchangeable_images(a, b, settings)
        undulation, scale = tests_of_learned(learned, len(a), settings, images)
        small_sample = None if images is None else small_sample_p_values(quantities((a, b), settings), images, len(a))
    return Comparison(
        a,
        b,
        settings,
        learned.space,
        learned.t,
        learned.l,
        undulation,
        scale,
        learned.ambiguous,
        learned.archetype_is_ambiguous,
        descriptors=learned.descriptors,
        small_sample=small_sample,
        note=note,
    )


def expected_seconds(a: Ensemble, b: Ensemble, settings: Settings) -> float:
    """Expected duration in seconds of a comparison on this computer, to a factor of about two.

    Nearly all of it is spent on sums of kernels over permutations, whose number of multiplications is known.
    """
    total, parts = len(a) + len(b), 5 if settings.coordinates == "components" else 3
    widths = len(settings.bandwidth) if isinstance(settings.bandwidth, tuple) else 1
    units = settings.bins if settings.bins and total >= 4 * settings.bins else total
    drawn = 0 if exchangeable_images(a, b, settings) is not None or settings.null != "permutation" else 1
    count = parts * widths * (drawn * settings.permutations * units**2 / 2 + _PER_PAIR * total**2)
    return _seconds_per_multiplication() * count / processors()


@cache
def _seconds_per_multiplication() -> float:
    """Seconds per multiplication in a matrix product, in one thread; cached, as measuring takes a while."""
    left, right = np.ones((_PROBE, _PROBE), np.float32), np.ones((_PROBE, 4 * _PROBE), np.float32)
    took = []
    with one_library_thread():
        for _ in range(3):
            start = perf_counter()
            left @ right
            took.append(perf_counter() - start)
    return min(took) / (4 * _PROBE**3)


def exchangeable_images(a: Ensemble, b: Ensemble, settings: Settings) -> NDArray[np.intp] | None:
    """Image of each pooled curve, a's images first, (N,), if images are permuted; None if curves are."""
    several = max(len(set(side.images.tolist())) for side in (a, b)) > 1
    if settings.permute == "curves" or (settings.permute == "auto" and not several):
        return None
    return image_numbers((a, b))


def small_sample_p_values(measured: Quantities, images: NDArray[np.intp], first: int) -> tuple[float, float] | None:
    """p-values of undulation and scale by the small-sample test; None for two images."""
    count = int(images[:first].max()) + 1
    group = np.arange(images.max() + 1) >= count
    if len(group) < 3:
        return None
    columns = {"undulation": measured.lobes, "scale": np.stack([measured.size, measured.elongation], axis=1)}
    found = (small_sample_test(*replicate_means(values, images), Hypothesis(group)) for values in columns.values())
    undulation, scale = (test.p_value for test in found)
    return undulation, scale


def comparable(a: Images, b: Images) -> tuple[Ensemble, Ensemble, str]:
    """Pool the images of each side at one pixel size, b in a's unit; also return a note if pixel sizes had to change.

    Raises for ensembles without curves.
    """
    a, b, note = at_one_pixel_size(a, b)
    a, b = sample_of(a), sample_of(b)
    require_curves((a, b))
    return a, b.to(a.unit), note


def sample_of(side: Images) -> Ensemble:
    """Return one sample: pools several images, and takes arrays of vertices as the curves of one image.

    Raises
    ------
    ValueError
        For anything else, or a mixture of these.
    """
    if isinstance(side, Ensemble):
        return side
    given: Any = side
    usable = isinstance(given, str | bytes | PathLike | Iterable) and not isinstance(given, Mapping)
    if not usable or hasattr(given, "columns"):
        raise ValueError(
            f"a sample must be an ensemble, or a list of ensembles or of (m, 2) arrays, not {type(given).__name__}"
        )
    plane = isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] != 2
    one = plane or isinstance(given, str | bytes | PathLike)
    parts: list[Any] = [given] if one else list(given)
    for part in parts:
        if isinstance(part, str | bytes | PathLike):
            raise ValueError(
                f"a sample must be an Ensemble, not the path {str(part)!r}: use io.read_curves(path).ensemble to "
                "read outlines, or Outlines()(io.read_image(path).pixels) to trace an image"
            )
        if isinstance(part, np.ndarray) and part.ndim > 1 and part.shape[1:] != (2,):
            raise ValueError(
                f"a sample must be an Ensemble of outlines, not an array of shape {np.shape(given)}: use "
                "extract_curves(labels) to trace labels or a mask, or Outlines()(image) to trace an image"
            )
    images = [part for part in parts if isinstance(part, Ensemble)]
    if images and len(images) < len(parts):
        raise ValueError("a sample mixes ensembles and arrays: wrap the arrays in an Ensemble, which has a unit")
    return Ensemble.pooled(images) if images or not parts else Ensemble(parts)


def require_curves(ensembles: Sequence[Ensemble]) -> None:
    """Raise for ensembles without curves, listing what was left out of them."""
    for side, ensemble in zip("AB", ensembles, strict=False):
        if not len(ensemble):
            reasons = "; ".join(f"{count} {reason}" for reason, count in ensemble.dropped.items())
            raise ValueError(
                f"{ensemble.name or side} has no usable outline"
                + (f" ({reasons})" if reasons else "")
                + ": check the segmentation and the minimum size"
            )


def tests_of_learned(
    learned: Learned, first: int, settings: Settings, images: NDArray[np.intp] | None
) -> tuple[MMDTest, MMDTest]:
    """Test the undulation and the scale of learned curves, the `first` of which are A's.

    If `images` gives the image of each curve (`exchangeable_images`), whole images are exchangeable.
    """
    tests = []
    for name, parts in (
        ("testing undulation", form_parts(learned.t, learned.descriptors, settings)),
        ("testing scale", scale_parts(learned.l, learned.space.scale_mean, settings, learned.known)),
    ):
        report_step(name)
        level, seed, bandwidth = settings.significance, settings.seed, settings.bandwidth
        if images is not None:  # whole images are exchangeable
            means: dict[str, MeanKernels] = {}
            for part_name, part in parts.tested.items():
                means |= mean_kernels_of_widths(
                    part_name, part.points, images, kernel=part.kernel, factor=bandwidth, seed=seed
                )
            count, draws = int(images[:first].max()) + 1, max(settings.permutations, DRAWS)
            test = replicate_mmd_test(means, count, significance=level, draws=draws, seed=seed)
        elif settings.null != "permutation":
            samples, _ = sides(parts.tested, first)
            test = gretton_test(samples, settings.null, significance=level, factor=bandwidth, seed=seed)
        else:
            points = {name: part.points for name, part in parts.tested.items()}
            kernels = {name: part.kernel for name, part in parts.tested.items()}
            test = pooled_mmd_test(points, first, kernels=kernels, **permutation_options(settings))
        only = {part: test for part in parts.tested if part and parts.left_out and not test.parts}
        tests.append(replace(test, parts=test.parts or only, left_out=parts.left_out))
    return tests[0], tests[1]


def permutation_options(settings: Settings) -> dict[str, Any]:
    """Options of the permutation tests from the settings; raises if these select another null."""
    if settings.null != "permutation":
        raise ValueError(f"null {settings.null!r} is for single comparisons only: use null='permutation' here")
    return {
        "permutations": settings.permutations,
        "significance": settings.significance,
        "factor": settings.bandwidth,
        "approximate_above": settings.approximate_above or None,
        "bins": settings.bins,
        "seed": settings.seed,
    }
