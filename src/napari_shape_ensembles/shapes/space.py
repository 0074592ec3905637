"""The learned product submanifold: mean, principal directions and normal coordinates of an ensemble."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import seal
from ..progress import each_block
from . import grassmann, spd
from .decomposition import planes

Real = NDArray[np.float64]

# Rows of a Gram matrix that are multiplied together.
_ROWS = 1024


@dataclass(frozen=True)
class ShapeSpace:
    """Space of shapes learned from curves: mean undulation, mean scale, and normal coordinates around them.

    Attributes
    ----------
    undulation_mean : (n, 2) array
        Fréchet mean on Gr(2, n), orthonormal columns.
    basis : (r, n, 2) array
        Orthonormal tangent directions at the mean, by falling variance; the largest entry of each is positive.
    singular_values : (min(N, 2n),) array
        Of the N tangent vectors: the squares divided by N are the variances along all principal directions.
    scale_mean : (2, 2) array
        Fréchet mean on S²₊₊, in the ensemble's unit.

    References
    ----------
    Z. Grey, O. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import ShapeSpace, decompose
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> undulation, scale = decompose(draw_forms(np.random.default_rng(0), 30, roughness=0.03, waves=(6, 10)))
    >>> space = ShapeSpace.learn(undulation, scale, rank=5)
    >>> t, l = space.coordinates(undulation, scale)
    >>> t.shape, l.shape
    ((30, 5), (30, 3))
    >>> space.reconstruct(t, l).shape
    (30, 256, 2)
    """

    undulation_mean: Real
    basis: Real
    singular_values: Real
    scale_mean: Real

    def __post_init__(self) -> None:
        seal(self)

    @property
    def rank(self) -> int:
        """Number r of undulation coordinates."""
        return len(self.basis)

    @classmethod
    def learn(cls, undulation: Real, scale: Real, rank: int) -> "ShapeSpace":
        """Fit means and tangent principal directions.

        Parameters
        ----------
        undulation : (N, n, 2) array
            Orthonormal columns, registered.
        scale : (N, 2, 2) array
            Symmetric positive definite.
        rank : int
            Undulation coordinates wanted; N - 1 and 2(n - 2) bound what N curves of n landmarks can fix.

        Returns
        -------
        ShapeSpace

        Raises
        ------
        ValueError
            For an empty ensemble, a rank below 1, or a mean that does not settle.
        """
        if not len(undulation) or len(undulation) != len(scale):
            raise ValueError(f"{len(undulation)} undulations and {len(scale)} scales: give one of each per curve")
        if rank < 1:
            raise ValueError(f"rank {rank}: take at least 1 undulation coordinate (150 is the default)")
        mean = grassmann.frechet_mean(undulation)
        tangents = planes(grassmann.log(mean, undulation)).reshape(len(undulation), -1)
        rank = min(rank, max(len(undulation) - 1, 1), 2 * (len(mean) - 2))
        # Singular values and the first right singular vectors (rank, 2n) through the smaller Gram matrix.
        wide = len(tangents) < tangents.shape[1]
        if wide:
            gram = tangents @ tangents.T
        else:  # in blocks side by side, added in their order whatever the threads
            gram = np.zeros((tangents.shape[1],) * 2)
            blocks = np.split(tangents, range(_ROWS, len(tangents), _ROWS))
            for part in each_block(lambda rows: rows.T @ rows, blocks):
                gram += part
        # np.linalg rather than scipy.linalg: it lets other threads, such as a window's, go on meanwhile.
        squared, vectors = np.linalg.eigh(gram)
        values = np.sqrt(np.maximum(squared[::-1], 0))
        directions = vectors[:, : -rank - 1 : -1].T
        if wide:  # nearly orthogonal: made orthonormal, vanishing ones in arbitrary directions
            q, r = np.linalg.qr((directions @ tangents).T)
            directions = (q * np.where(np.diag(r) < 0, -1, 1)).T
        strongest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
        directions = directions * np.sign(strongest)[:, None]
        basis = directions.reshape(len(directions), 2, -1).swapaxes(1, 2)
        return cls(mean, basis, values, spd.frechet_mean(scale))

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
            Scale, without unit; see `spd.coordinates`.
        """
        tangents = planes(grassmann.log(self.undulation_mean, undulation)).reshape(len(undulation), -1)
        return tangents @ planes(self.basis).reshape(self.rank, -1).T, spd.coordinates(self.scale_mean, scale)

    def reconstruct(self, t: Real, l: Real) -> Real:
        """Curves of given coordinates: landmarks √n · X̃(t) P(l), centred at the origin.

        Parameters
        ----------
        t : (N, r') array
            Undulation coordinates, r' ≤ r; missing ones count as zero, which smooths the curve.
        l : (N, 3) array
            Scale coordinates.

        Returns
        -------
        (N, n, 2) array
            Landmarks at equal weights, in the ensemble's unit. X̃(t) is the representative aligned with the
            mean undulation.
        """
        t = np.atleast_2d(t)
        if t.shape[1] > self.rank:
            raise ValueError(f"{t.shape[1]} undulation coordinates, but the space was learned with {self.rank}")
        n = len(self.undulation_mean)
        flat = planes(self.basis).reshape(self.rank, -1)
        tangents = (t @ flat[: t.shape[1]]).reshape(len(t), 2, n).swapaxes(1, 2)
        undulation = grassmann.exp(self.undulation_mean, tangents)
        return np.sqrt(n) * undulation @ spd.from_coordinates(self.scale_mean, np.atleast_2d(l))
