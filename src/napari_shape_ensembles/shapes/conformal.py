"""Conformal classification of curves: prediction sets with guaranteed coverage, empty where no class fits."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.covariance import LedoitWolf
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from .._types import Real
from ..checks import RandomState, seed_of
from .ranks import conformal_p_values

# Minimum samples per class: two to fit, two to calibrate.
_MIN_CLASS_SIZE = 4


class ConformalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Class-conditional split conformal classifier: returns sets of classes, which may be empty.

    One part of each class gives its mean and covariance, the other calibrates the distances of its samples from it. A
    new sample has a p-value for each class: the fraction of the calibration samples that lie at least as far out. Its
    prediction set holds the classes with a p-value above `alpha`. For any distribution, the set misses the class of a
    sample with probability `alpha` at most; a sample that is unlike all classes has the empty set.

    Parameters
    ----------
    alpha : float
        Miscoverage level: highest probability that the set misses the class of a sample.
    calibration : float
        Fraction of each class used for calibration.
    random_state : int, Generator or RandomState
        Seed for splitting each class.

    Attributes
    ----------
    classes_ : (k,) array
    means_ : (k, d) array
        Means of the classes.
    covariances_ : list of k (d, d) arrays
        Ledoit-Wolf estimates of the covariances of the classes.
    calibration_scores_ : list of k sorted arrays
        Squared Mahalanobis distances of the calibration samples from their own class.

    Notes
    -----
    The guarantee assumes that samples of a class are exchangeable. Outlines of one image are correlated: if new curves
    come from other images than the known ones, pass `groups` to `fit`, with several images per class, and measure the
    coverage on held-out images. With m calibration samples the smallest p-value is 1 / (m + 1), so no set is ever empty
    at a smaller `alpha`. Libraries of conformal prediction such as MAPIE start from class probabilities, which sum to
    one over the known classes and cannot express that none fits.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", Springer (2005).
    L. Guan, R. Tibshirani, "Prediction and outlier detection in classification problems", Journal of the Royal
    Statistical Society B 84 (2022) 524-546.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from napari_shape_ensembles import ConformalClassifier, Ensemble, ShapeSpace
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> rng = np.random.default_rng(0)
    >>> known = [draw_forms(rng, 80, roughness=0.05, waves=waves) for waves in ((3, 4), (8, 12))]
    >>> space = ShapeSpace(rank=4, landmarks=60, bands=True)
    >>> X = space.fit_transform(Ensemble([curve for kind in known for curve in kind]))
    >>> model = ConformalClassifier(alpha=0.05).fit(X, ["lobed"] * 80 + ["rough"] * 80)
    >>> lobed = draw_forms(rng, 50, roughness=0.05, waves=(3, 4))
    >>> spiked = draw_forms(rng, 50, roughness=0.3, waves=(9, 9))
    >>> sets = model.predict_set(space.transform(Ensemble(lobed)))
    >>> bool(sets[:, 0].mean() > 0.85)
    True
    >>> bool((~model.predict_set(space.transform(Ensemble(spiked)))).all(axis=1).mean() > 0.9)
    True
    """

    def __init__(self, *, alpha: float = 0.1, calibration: float = 0.5, random_state: RandomState = 0) -> None:
        self.alpha = alpha
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit and calibrate the classes.

        Parameters
        ----------
        X : (N, d) array
            Features, such as the coordinates of `ShapeSpace.transform`, or descriptors.
        y : (N,) array
            Class of each sample.
        groups : (N,) array, optional
            Such as the image of each curve: all samples of a group are used either for fitting or for calibration.

        Returns
        -------
        ConformalClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            For a class of fewer than four samples or fewer than two groups; parameters out of range.
        """
        if not 0 < self.alpha < 1 or not 0 < self.calibration < 1:
            raise ValueError(f"alpha and calibration must be between 0 and 1, not {self.alpha}, {self.calibration}")
        points, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_ = unique_labels(labels)
        owners = np.arange(len(points)) if groups is None else np.asarray(groups)
        rng = np.random.default_rng(seed_of(self.random_state))
        self.means_ = np.empty((len(self.classes_), points.shape[1]))
        self.covariances_, self.calibration_scores_ = [], []
        for place, name in enumerate(self.classes_):
            rows = np.flatnonzero(labels == name)
            units = np.unique(owners[rows])
            if len(rows) < _MIN_CLASS_SIZE or len(units) < 2:
                raise ValueError(
                    f"class {self.classes_.tolist()[place]!r} has {len(rows)} samples in {len(units)} groups: at "
                    f"least {_MIN_CLASS_SIZE}, of two groups, are needed for training and calibration"
                )
            least = 1 if groups is not None else 2
            count = int(np.clip(round(self.calibration * len(units)), least, len(units) - least))
            calibrates = np.isin(owners[rows], rng.permutation(units)[:count])
            learned = LedoitWolf().fit(points[rows[~calibrates]])
            self.means_[place] = learned.location_
            self.covariances_.append(learned.covariance_)
            self.calibration_scores_.append(np.sort(self._score(points[rows[calibrates]], place)))
        return self

    def p_values(self, X: ArrayLike) -> Real:
        """Conformal p-values of samples for each class, (N, k): super-uniform for samples of that class."""
        points = self._points(X)
        scores = enumerate(self.calibration_scores_)
        return np.stack([conformal_p_values(self._score(points, place), kept) for place, kept in scores], axis=1)

    def predict_set(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Prediction sets as a mask (N, k), in the order of `classes_`; all False where no class fits."""
        return np.asarray(self.p_values(X) > self.alpha)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most likely class of each sample, (N,): quadratic discriminant analysis with equal priors."""
        points = self._points(X)
        likelihood = [
            -self._score(points, place) - np.linalg.slogdet(covariance)[1]
            for place, covariance in enumerate(self.covariances_)
        ]
        return np.asarray(self.classes_[np.argmax(likelihood, axis=0)])

    def _points(self, X: ArrayLike) -> Real:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _score(self, points: Real, place: int) -> Real:
        """Squared Mahalanobis distances from a class."""
        apart = points - self.means_[place]
        inverse = np.linalg.pinv(self.covariances_[place], hermitian=True)
        return np.asarray(np.einsum("ni,ij,nj->n", apart, inverse, apart))
