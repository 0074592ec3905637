"""Learned product submanifold: mean, principal directions and normal coordinates of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh_tridiagonal, lapack

from .._types import Complex, Mask, Real
from ..checks import RandomState, seal, seed_of
from ..outlines import Ensemble
from ..outlines.polygons import areas_and_perimeters
from ..progress import RELEASE_FROM_BYTES, each_block, one_library_thread, over_blocks, release_memory
from . import grassmann, spd
from .decomposition import check_landmarks, curve_blocks, planes, separate
from .held import Held, HeldByWorkers
from .landmarks import LANDMARKS, Interpolation, Measure, to_landmarks
from .lobes import BANDS, band_amplitudes, band_name, lobes_held
from .registration import (
    Choice,
    Registration,
    archetype_index,
    distinct_and_levels,
    least_symmetric,
    match_blocks,
    match_spectra,
    mean_archetype,
    posed,
)

if TYPE_CHECKING:
    from sklearn.utils import Tags

RegistrationKind = Literal["standardized", "raw", "none"]
#: Default number of undulation coordinates.
RANK = 150
Curves = Ensemble | Sequence[Ensemble] | Sequence[ArrayLike]

_PARAMETERS = (
    *("rank", "landmarks", "measure", "interpolation", "registration", "archetype", "reflections", "bands"),
    "random_state",
)
# Block size for LAPACK; matrix size up to which SciPy's routines, which hold the GIL, do not freeze a window.
_LAPACK_BLOCK, _MAX_SCIPY_SIZE = 64, 1000
# Curves projected onto the basis per block: few, as their tangent vectors add to the memory of all undulations and
# coordinates.
_PROJECTION_BLOCK = 128
# Amplitudes below this fraction of an outline's size are rounding and interpolation error.
_MIN_AMPLITUDE = 1e-4


class ShapeSpace:
    """Space of shapes learned from curves: mean undulation, mean scale, and normal coordinates around them.

    A scikit-learn transformer: `fit` learns from curves, `transform` gives the coordinates of other curves in the same
    space, so that a `Pipeline` in `cross_val_score` learns from the training curves alone. `compare` keeps the space
    it learned as `Comparison.space`.

    Parameters
    ----------
    rank : int
        Number of undulation coordinates requested; N curves of n landmarks determine at most N - 1 and 2(n - 2).
    landmarks : int
        Landmarks n per curve.
    measure, interpolation
        As in `to_landmarks`.
    registration : {"standardized", "raw", "none"}
        What is registered to the archetype: undulations, with the frame of the scale from the raw landmarks; the raw
        landmarks, for both; or nothing.
    archetype : {"asymmetric", "random", "mean"} or int
        The curve that all others are registered against; see `shapes.registration.choose_archetype`.
    reflections : bool
        Whether registration tries mirror images.
    bands : bool
        Append the log amplitudes of bands of Fourier modes, which describe roughness, to the coordinates.
    random_state : int, Generator or RandomState
        Seed for a random archetype.

    Attributes
    ----------
    undulation_mean_ : (n, 2) array
        Fréchet mean on Gr(2, n), orthonormal columns.
    basis_ : (r, n, 2) array
        Orthonormal tangent directions at the mean, by decreasing variance; the largest entry of each is positive.
    singular_values_ : (min(N, 2n),) array
        Singular values of the N tangent vectors: squares divided by N are the variances along all principal directions.
    scale_mean_ : (2, 2) array
        Fréchet mean on S²₊₊, in the ensemble's unit.
    rank_ : int
        Number r of undulation coordinates.
    explained_variance_ratio_ : (r,) array
        Share of each undulation coordinate in the variance of the undulation.
    archetype_, scale_archetype_ : (n, 2) arrays or None
        Curves that new ones are registered to: for the undulation, and for the frame of the scale where that is
        registered separately. None in a space made by `learn`.
    unit_ : str or None
        Unit of the curves, if any.
    bands_ : tuple of (int, int)
        Minimum and maximum lobes of the bands of Fourier modes that the landmarks and the pixels resolve.

    See Also
    --------
    compare : its `space` is learned from both samples.
    ConformalClassifier : which class a curve belongs to, or none.

    Notes
    -----
    Coordinates of a curve depend on the curve and on the fitted space alone. `fit` does what `compare` does first,
    except that it does not resample images of different pixel sizes (`at_pixel_size`).

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from napari_shape_ensembles import Ensemble, ShapeSpace, decompose
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> rng = np.random.default_rng(0)
    >>> smooth, rough = (draw_forms(rng, 40, roughness=size, waves=(6, 10)) for size in (0.02, 0.08))
    >>> curves = Ensemble([*smooth, *rough])
    >>> space = ShapeSpace(rank=5, landmarks=60).fit(curves)
    >>> space.transform(curves).shape, space.get_feature_names_out()[-4:].tolist()
    ((80, 8), ['t5', 'l1', 'l2', 'l3'])
    >>> space.inverse_transform(space.transform(curves)).shape
    (80, 60, 2)
    >>> model = make_pipeline(ShapeSpace(rank=5, landmarks=60, bands=True), LogisticRegression())
    >>> bool(cross_val_score(model, curves, ["smooth"] * 40 + ["rough"] * 40).mean() > 0.9)
    True

    From landmarks that are registered already:

    >>> undulation, scale = decompose(rough)
    >>> space = ShapeSpace.learn(undulation, scale, rank=5)
    >>> t, l = space.coordinates(undulation, scale)
    >>> t.shape, l.shape, space.reconstruct(t, l).shape
    ((40, 5), (40, 3), (40, 256, 2))
    """

    undulation_mean_: Real
    basis_: Real
    singular_values_: Real
    scale_mean_: Real
    archetype_: Real | None
    scale_archetype_: Real | None
    unit_: str | None
    bands_: tuple[tuple[int, int], ...]

    def __init__(
        self,
        rank: int = RANK,
        *,
        landmarks: int = LANDMARKS,
        measure: Measure = "affine",
        interpolation: Interpolation = "auto",
        registration: RegistrationKind = "standardized",
        archetype: Choice = "asymmetric",
        reflections: bool = True,
        bands: bool = False,
        random_state: RandomState = 0,
    ) -> None:
        self.rank = rank
        self.landmarks = landmarks
        self.measure = measure
        self.interpolation = interpolation
        self.registration = registration
        self.archetype = archetype
        self.reflections = reflections
        self.bands = bands
        self.random_state = random_state

    @classmethod
    def learn(cls, undulation: Real, scale: Real, rank: int) -> ShapeSpace:
        """Learn means and tangent principal directions from registered curves.

        Parameters
        ----------
        undulation : (N, n, 2) array
            Orthonormal columns, registered.
        scale : (N, 2, 2) array
            Symmetric positive definite.
        rank : int
            Number of undulation coordinates requested; N curves of n landmarks determine at most N - 1 and 2(n - 2).

        Returns
        -------
        ShapeSpace
            Without an archetype: it has coordinates of undulations and scales, but cannot register new curves.

        Raises
        ------
        ValueError
            For an empty ensemble, a rank below 1, or a mean that does not converge.
        """
        space = cls(rank, landmarks=undulation.shape[1] if undulation.ndim == 3 else cls().landmarks)
        if not len(undulation) or len(undulation) != len(scale):
            raise ValueError(f"{len(undulation)} undulations and {len(scale)} scales: give one of each per curve")
        space._learn(Held(planes(undulation)), scale)
        return space

    # --------------------------------------------------------------------------------------------- fitting

    def fit(self, X: Curves, y: Any = None) -> Self:
        """Learn from curves: landmarks, archetype, registration, means and principal directions.

        Parameters
        ----------
        X : Ensemble, or a sequence of them or of (m, 2) arrays
            At least two curves. Several ensembles are pooled, in the unit of the first.
        y : None
            Not used.

        Returns
        -------
        ShapeSpace
            The fitted estimator.

        Raises
        ------
        ValueError
            For fewer than two curves, curves that cannot be used, or parameters out of range.
        """
        if self.registration not in ("standardized", "raw", "none"):
            raise ValueError(f'registration must be "standardized", "raw" or "none", not {self.registration!r}')
        curves = _pooled(X)
        if len(curves) < 2:
            raise ValueError(f"{len(curves)} curves: a shape space needs at least 2")
        self.fit_landmarks(self._landmarks(curves), overwrite=True)
        self.unit_ = curves.unit if curves is X or isinstance(X[0], Ensemble) else None
        if self.unit_ is not None and curves.pixel_size is not None:
            _, perimeter = areas_and_perimeters(curves.vertices, curves.offsets)
            most = lobes_held(perimeter / np.mean(curves.pixel_size))
            self.bands_ = tuple(band for band in self.bands_ if band[1] <= most)
        return self

    def fit_landmarks(self, landmarks: Real, *, overwrite: bool = False) -> tuple[Real, Real, list[Registration]]:
        """Learn from landmarks (N, n, 2) at equal weights: the common part of `fit` and `compare`.

        Return the registered undulations, which may `overwrite` the landmarks, and scales; and the matches of the
        undulations, and, without landmarks, of the scales where they are registered separately.
        """
        check_landmarks(landmarks)
        points = planes(landmarks)
        held = Held(points if overwrite else points.copy())
        scale, matches = self.fit_held(held)
        return held.points.swapaxes(1, 2), scale, matches

    def fit_held(
        self, held: Held | HeldByWorkers, tell: Callable[[str], None] = lambda step: None
    ) -> tuple[Real, list[Registration]]:
        """Learn from landmarks wherever they lie, as `fit_landmarks`; undulations overwrite them.

        Each step's name is told before it starts.
        """
        tell("choosing the archetype")
        scale = self._standardized(held)
        self.archetype_ = self.scale_archetype_ = None
        if self.registration != "none":
            self._choose_archetypes(held, scale)
        scale, matches = self._registered(held, scale, tell)
        tell("learning the shape space")
        with one_library_thread():
            self._learn(held, scale)
        self.bands_ = tuple(band for band in BANDS if 2 * (band[1] + 1) < held.landmarks)
        return scale, matches

    def _standardized(self, held: Held | HeldByWorkers) -> Real | None:
        """Overwrite landmarks with what is registered: undulations, whose scales are returned; else leave them."""
        return np.concatenate(held.changed(_separate)) if self.registration == "standardized" else None

    def _choose_archetypes(self, held: Held | HeldByWorkers, scale: Real | None) -> None:
        reflections = self.reflections
        if self.archetype == "mean":
            self.archetype_ = _mean_archetype(held, reflections)
            if scale is not None:
                self.scale_archetype_ = _mean_archetype(held, reflections, scale)
            return
        if self.archetype == "asymmetric":
            index = _least_symmetric(held, reflections)
        else:
            seed = seed_of(self.random_state) if self.archetype == "random" else 0
            index = archetype_index(np.empty((len(held), 0, 2)), self.archetype, seed=seed)
        points = held.row(index)
        self.archetype_ = posed(points[0].T, reflections)
        if scale is not None:
            self.scale_archetype_ = posed(_scaled(points, scale[[index]])[0].T, reflections)

    def _registered(
        self, held: Held | HeldByWorkers, scale: Real | None, tell: Callable[[str], None] = lambda step: None
    ) -> tuple[Real, list[Registration]]:
        """Register the curves to the archetypes; undulations overwrite them, and the scales are returned."""
        matches = []
        tell("registering scales")
        if scale is not None and self.scale_archetype_ is not None:
            # Scales are rotated into the archetype's frame by the registration of the raw landmarks: R* P R*ᵀ.
            raw = Registration.joined(
                held.joined(_match_raw, scale, archetype=self.scale_archetype_, reflections=self.reflections)
            )
            scale = raw.rotation @ scale @ raw.rotation.swapaxes(1, 2)
            matches.append(raw)
        tell("registering undulations")
        if self.archetype_ is not None:
            matches.append(
                Registration.joined(held.changed(_match, archetype=self.archetype_, reflections=self.reflections))
            )
        separated = np.concatenate(held.changed(_separate))
        return separated if scale is None else scale, matches

    def _learn(self, held: Held | HeldByWorkers, scale: Real) -> None:
        if self.rank < 1:
            raise ValueError(f"rank {self.rank}: use at least 1 undulation coordinate (150 is the default)")
        count, size = len(held), 2 * held.landmarks
        mean = grassmann.mean_of_sums(
            lambda mean: held.summed(grassmann.summed_logs, mean=mean), held.row(0)[0].T, count
        )
        rank = min(self.rank, max(count - 1, 1), size - 4)
        # Singular values and the first right singular vectors (rank, 2n) through the smaller Gram matrix.
        wide = count < size
        if wide:
            rows = np.concatenate(held.joined(_tangents, mean=mean))
            gram = rows @ rows.T
        else:
            gram = held.summed(_gram, mean=mean)
        if wide or size > _MAX_SCIPY_SIZE:
            squared, vectors = np.linalg.eigh(gram)  # releases the GIL for other threads, such as a window's
            squared, directions = squared[::-1], vectors[:, : -rank - 1 : -1].T
        else:
            squared, directions = principal(gram, rank)
        values = np.sqrt(np.maximum(squared, 0))
        if wide:  # nearly orthogonal: orthonormalized; arbitrary directions for zero singular values
            q, r = np.linalg.qr((directions @ rows).T)
            directions = (q * np.where(np.diag(r) < 0, -1, 1)).T
        strongest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
        directions = directions * np.sign(strongest)[:, None]
        self.undulation_mean_, self.singular_values_ = mean, values
        self.basis_ = directions.reshape(len(directions), 2, -1).swapaxes(1, 2)
        self.scale_mean_ = spd.frechet_mean(scale)
        seal(self)

    # ------------------------------------------------------------------------------------- using what was learned

    @property
    def rank_(self) -> int:
        """Number r of undulation coordinates."""
        return len(self.basis_)

    @property
    def explained_variance_ratio_(self) -> Real:
        """Share of each undulation coordinate in the variance of the undulation, (r,)."""
        variances = self.singular_values_**2
        return np.asarray(variances[: self.rank_] / max(variances.sum(), np.finfo(float).tiny))

    def place(self, landmarks: Real) -> tuple[Real, Real]:
        """Register landmarks of any curves to the archetypes of the space.

        Parameters
        ----------
        landmarks : (N, n, 2) array
            From `to_landmarks` with the parameters of the space, in its unit.

        Returns
        -------
        undulation, scale : (N, n, 2) and (N, 2, 2) arrays
            Input of `coordinates`.

        Raises
        ------
        ValueError
            For a space without an archetype: one made by `learn`.
        """
        self._require_fit()
        check_landmarks(landmarks)
        held = Held(planes(landmarks).copy())
        scale, _ = self._registered(held, self._standardized(held))
        return held.points.swapaxes(1, 2), scale

    def transform(self, X: Curves) -> Any:
        """Coordinates of curves in the learned space.

        Parameters
        ----------
        X : Ensemble, or a sequence of them or of (m, 2) arrays
            Ensembles are converted to the unit of the fitted ones; arrays are assumed to be in it.

        Returns
        -------
        (N, r + 3) array
            Undulation coordinates t, scale coordinates l, and with `bands` the log amplitudes of `bands_`; a DataFrame
            after `set_output(transform="pandas")`.

        Raises
        ------
        ValueError
            For curves that cannot be used, another unit, or a space that is not fitted to curves.
        """
        self._require_fit()
        curves = _pooled(X)
        if self.unit_ is not None and (curves is X or isinstance(X[0], Ensemble)):
            curves = curves.to(self.unit_)
        undulation, scale = self.place(self._landmarks(curves))
        parts = [*self.coordinates(undulation, scale)]
        if self.bands:
            parts.append(np.log(np.hypot(band_amplitudes(undulation, self.bands_), _MIN_AMPLITUDE)))
        coordinates = np.concatenate(parts, axis=1)
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return coordinates
        import pandas as pd  # slow to import, rarely needed

        return pd.DataFrame(coordinates, columns=self.get_feature_names_out())

    def fit_transform(self, X: Curves, y: Any = None) -> Any:
        """Fit to curves and return their coordinates; see `fit` and `transform`."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, X: ArrayLike) -> Real:
        """Curves with given coordinates.

        Parameters
        ----------
        X : (N, r + 3) array
            From `transform`; band amplitudes are ignored.

        Returns
        -------
        (N, n, 2) array
            Landmarks of the nearest curves of rank r, registered, centered at the origin; see `reconstruct`.
        """
        self._require_fit(archetype=False)
        points = np.atleast_2d(np.asarray(X, dtype=np.float64))
        names = self.get_feature_names_out()
        if points.shape[1] != len(names):
            raise ValueError(f"{points.shape[1]} coordinates per curve, but the space has {len(names)}: t, then l")
        return self.reconstruct(points[:, : self.rank_], points[:, self.rank_ : self.rank_ + 3])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the coordinates: "t1", "t2", ..., "l1", "l2", "l3", and with `bands` "lobes 1" and so on."""
        self._require_fit(archetype=False)
        bands = [band_name(*band) for band in self.bands_] if self.bands else []
        names = [*(f"t{i + 1}" for i in range(self.rank_)), "l1", "l2", "l3", *bands]
        return np.array(names, dtype=object)

    def coordinates(self, undulation: Real, scale: Real) -> tuple[Real, Real]:
        """Normal coordinates of curves.

        Parameters
        ----------
        undulation : (N, n, 2) array
            Orthonormal columns.
        scale : (N, 2, 2) array
            Symmetric positive definite, in the unit of the learned ensemble.

        Returns
        -------
        t : (N, r) array
            Undulation, in radians of the Grassmannian.
        l : (N, 3) array
            Scale, dimensionless; see `spd.coordinates`.
        """
        t = project(planes(undulation), mean=self.undulation_mean_, basis=self.basis_)
        return t, spd.coordinates(self.scale_mean_, scale)

    def reconstruct(self, t: Real, l: Real) -> Real:
        """Curves with given coordinates: landmarks √n · X̃(t) P(l), centered at the origin.

        Parameters
        ----------
        t : (N, r') array
            Undulation coordinates, r' ≤ r; missing ones are set to zero, which smooths the curve.
        l : (N, 3) array
            Scale coordinates.

        Returns
        -------
        (N, n, 2) array
            Landmarks at equal weights, in the ensemble's unit. X̃(t) is the representative aligned with the
            mean undulation.
        """
        t = np.atleast_2d(t)
        if t.shape[1] > self.rank_:
            raise ValueError(f"{t.shape[1]} undulation coordinates, but the space was fitted with {self.rank_}")
        n = len(self.undulation_mean_)
        flat = planes(self.basis_).reshape(self.rank_, -1)
        tangents = (t @ flat[: t.shape[1]]).reshape(len(t), 2, n).swapaxes(1, 2)
        undulation = grassmann.exp(self.undulation_mean_, tangents)
        return np.sqrt(n) * undulation @ spd.from_coordinates(self.scale_mean_, np.atleast_2d(l))

    def undulations(self, t: Real) -> Real:
        """Return the representatives (N, n, 2), aligned with the mean, of coordinates (N, r'), r' ≤ r."""
        tangents = np.tensordot(t, self.basis_[: t.shape[1]], axes=1)
        return grassmann.exp(self.undulation_mean_, tangents)

    def _landmarks(self, curves: Ensemble) -> Real:
        return to_landmarks(curves, self.landmarks, interpolation=self.interpolation, measure=self.measure)

    def _require_fit(self, *, archetype: bool = True) -> None:
        if not hasattr(self, "basis_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("This ShapeSpace is not fitted yet: call fit with curves first")
        if archetype and not hasattr(self, "archetype_"):
            raise ValueError(
                "this space has no archetype to register curves to: it was fitted to undulations. Fit it to curves"
            )

    # ------------------------------------------------------------------- scikit-learn's protocol for estimators
    #
    # Implemented here instead of inherited: importing scikit-learn takes longer than comparing a thousand curves, and a
    # comparison that uses this class does not need it.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `fit` again to use them."""
        if unknown := sorted(set(params) - set(_PARAMETERS)):
            raise ValueError(f"ShapeSpace has no parameter {unknown[0]!r}; the parameters are {', '.join(_PARAMETERS)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` returns: "default" for arrays, "pandas" for a DataFrame."""
        if transform not in (None, "default", "pandas"):
            raise ValueError(f'output must be "default" or "pandas", not {transform!r}')
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "basis_")

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=False, three_d_array=True),
            no_validation=True,
        )

    def __repr__(self) -> str:
        default = type(self)().get_params()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name]]
        return f"ShapeSpace({', '.join(changed)})"


# ------------------------------------------------------------------------------------- steps on chunks of curves


def _separate(points: Real) -> Real:
    return separate(points, points)


def _scaled(points: Real, *scale: Real) -> Real:
    """Curves √n X̃ P, as planes √n P X̃ᵀ since P is symmetric; without scales, the curves themselves."""
    return np.sqrt(points.shape[2]) * scale[0] @ points if scale else points


def _mean_archetype(held: Held | HeldByWorkers, reflections: bool, *scale: Real) -> Real:
    index = _least_symmetric(held, reflections, *scale)
    start = posed(_scaled(held.row(index), *(one[[index]] for one in scale))[0].T, reflections)
    return mean_archetype(partial(held.joined, _match_spectra, *scale, reflections=reflections), start)


def _match_spectra(points: Real, *scale: Real, **options: Any) -> tuple[Complex, Real, Mask]:
    return match_spectra(lambda part: _scaled(points[part], *(one[part] for one in scale)), len(points), **options)


def _least_symmetric(held: Held | HeldByWorkers, reflections: bool, *scale: Real) -> int:
    found = zip(*held.joined(_distinct_and_levels, *scale, reflections=reflections), strict=True)
    return least_symmetric(*map(np.concatenate, found))


def _distinct_and_levels(points: Real, *scale: Real, reflections: bool) -> tuple[Real, Real]:
    return distinct_and_levels(_scaled(points, *scale), reflections)


def _match_raw(points: Real, scale: Real, *, archetype: Real, reflections: bool) -> Registration:
    """Match the raw landmarks of undulations and scales; discards the registered curves."""
    return match_blocks(
        lambda part: _scaled(points[part], scale[part]), len(points), archetype, reflections=reflections, out=None
    )


def _match(points: Real, *, archetype: Real, reflections: bool) -> Registration:
    """Overwrite curves with the registered ones, which the result does not repeat."""
    matched = match_blocks(lambda part: points[part], len(points), archetype, reflections=reflections, out=points)
    return replace(matched, landmarks=np.empty((0, points.shape[2], 2)))


def _tangents(points: Real, *, mean: Real) -> Real:
    return grassmann.Tangents(mean, points.swapaxes(1, 2))[:].reshape(len(points), -1)


def _gram(points: Real, *, mean: Real) -> Real:
    """Sum of the outer products (2n, 2n) of tangent vectors, by blocks in a fixed order for any number of threads."""
    tangents, size = grassmann.Tangents(mean, points.swapaxes(1, 2)), mean.size

    def products(run: slice) -> Real:
        rows = tangents[run].reshape(-1, size)
        return rows.T @ rows

    parts = each_block(products, curve_blocks(len(points), grassmann.GRAM_BLOCK))
    gram = next(parts, np.zeros((size, size)))
    for part in parts:
        gram += part
    return gram


def project(points: Real, *, mean: Real, basis: Real) -> Real:
    """Undulation coordinates (N, r) of undulations (N, 2, n) at a mean (n, 2) along a basis (r, n, 2)."""
    tangents = grassmann.Tangents(mean, points.swapaxes(1, 2))
    flat = planes(basis).reshape(len(basis), -1)
    if 8 * len(points) * len(flat) > RELEASE_FROM_BYTES:
        release_memory()
    t = np.empty((len(points), len(flat)))

    def fill(part: slice) -> None:
        np.matmul(tangents[part].reshape(-1, flat.shape[1]), flat.T, out=t[part])

    over_blocks(fill, curve_blocks(len(t), _PROJECTION_BLOCK))
    return t


def principal(gram: Real, rank: int) -> tuple[Real, Real]:
    """All eigenvalues (n,) of a symmetric matrix, in descending order, and the eigenvectors (rank, n) of the largest.

    Calls the steps of LAPACK one by one to back-transform only `rank` eigenvectors: half the time of all of them. For
    the tridiagonal matrix all eigenvectors are faster than a subset. SciPy holds the GIL meanwhile.
    """
    size = len(gram)
    reduced, diagonal, off, factors, _ = lapack.dsytrd(gram, lower=1, lwork=_LAPACK_BLOCK * size)
    squared, eigenvectors = eigh_tridiagonal(diagonal, off)
    chosen = eigenvectors[:, size - rank :]
    turned, _, _ = lapack.dormqr("L", "N", reduced[1:, :-1], factors, chosen[1:], lwork=_LAPACK_BLOCK * rank)
    vectors = np.concatenate([chosen[:1], turned])
    return squared[::-1], vectors[:, ::-1].T


def _pooled(curves: Curves) -> Ensemble:
    """Pool all curves in one ensemble; raise if arrays would be dropped, as rows would shift."""
    if isinstance(curves, Ensemble):
        return curves
    if isinstance(curves, str) or not hasattr(curves, "__len__"):
        raise ValueError(f"curves must be an Ensemble, or a list of them or of (m, 2) arrays, not {curves!r}")
    parts: list[Any] = list(curves)
    if parts and all(isinstance(part, Ensemble) for part in parts):
        return Ensemble.pooled(parts)
    pooled = Ensemble(parts)
    if pooled.dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in pooled.dropped.items())
        raise ValueError(
            f"{len(parts) - len(pooled)} of {len(parts)} curves cannot be used ({reasons}): leave them out first, as "
            "Ensemble(curves) does"
        )
    return pooled
