"""Landmarks: n points on every curve, at equal weights of the arc-length measure.

`measure="affine"` measures length on the *whitened* curve: the fixed point of "standardize the curve by its second
moment, measure arc length on the result". Landmarks are then equivariant under linear maps, so the undulation captures
exactly what no linear map can produce. `"arc-length"` is the paper's measure, invariant to rigid motions only.

The result depends on the closed curve alone, not on its first vertex or its direction: curves are first oriented to
positive signed area in (row, column) axes, and the first landmark is placed by the phase of the lowest non-vanishing
Fourier mode of the squared radius.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from .._types import Complex, Index, Real
from ..checks import whole
from ..compiled import kernels
from ..outlines import Ensemble
from ..outlines.spline import NODES, WEIGHTS, RaggedSpline, following, interpolate
from ..progress import RELEASE_FROM_BYTES, over_blocks, release_memory

Interpolation = Literal["auto", "spline", "polygon"]
Measure = Literal["affine", "arc-length"]
#: Default number of landmarks per curve.
LANDMARKS = 500

# Vertices and landmarks per block: enough that threads rarely wait for the GIL, few enough for the CPU caches.
_BLOCK = 1 << 16
MAX_ITERATIONS = 60
TOLERANCE = 1e-13
# On a circle the plain fixed-point iteration overshoots by a quarter of the error; this relaxation factor compensates.
RELAXATION = 0.8
# Fourier modes of the squared radius tried for the first landmark, and the minimum amplitude of a mode relative to the
# mean; Newton iterations for a landmark's position within its segment.
MODES, FLOOR, NEWTON = 8, 1e-6, 4
# Antiderivatives of the Lagrange polynomials on the nodes: node speeds -> coefficients of u, u², u³ of length.
PRIMITIVE = np.linalg.inv(np.vander(NODES, increasing=True)) / np.arange(1, 4)[:, None]


def to_landmarks(
    ensemble: Ensemble | Sequence[Ensemble],
    n: int = LANDMARKS,
    *,
    interpolation: Interpolation = "auto",
    measure: Measure = "affine",
) -> NDArray[np.float64]:
    """Place n landmarks on every curve at equal weights of its arc-length measure.

    Parameters
    ----------
    ensemble : Ensemble or sequence of them
        N closed curves; several ensembles are concatenated.
    n : int
        Landmarks per curve, at least 8. Products of 2, 3 and 5 make the later Fourier transforms fast.
    interpolation : {"auto", "spline", "polygon"}
        Periodic cubic spline over the chord-length parameter; straight segments; or chosen per curve: a polygon where
        at most 24 corners (20° or more) make up 95 % of its total turning, else a spline.
    measure : {"affine", "arc-length"}
        Length that is divided equally; see the module docstring.

    Returns
    -------
    (N, n, 2) float array
        Landmarks as (row, column) in the ensemble's unit, in the order of positive signed area.

    Raises
    ------
    ValueError
        For fewer than 8 landmarks, an unknown option, or a curve whose affine measure does not converge.

    Notes
    -----
    Paper, sections "Arc-length reparametrization" and "Nyström's Method for Curves": landmarks at equal weights have
    quadrature weights W = I/n.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, to_landmarks
    >>> square = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]])
    >>> landmarks = to_landmarks(square, 8, interpolation="polygon")
    >>> landmarks.shape
    (1, 8, 2)
    >>> np.linalg.norm(np.diff(landmarks[0], axis=0), axis=1)
    array([1., 1., 1., 1., 1., 1., 1.])
    """
    n = whole(n, "n, the number of landmarks,", least=8)
    if interpolation not in get_args(Interpolation):
        raise ValueError(f'interpolation must be "auto", "spline" or "polygon", not {interpolation!r}')
    if measure not in ("affine", "arc-length"):
        raise ValueError(f'measure must be "affine" or "arc-length", not {measure!r}')
    ensembles = [ensemble] if isinstance(ensemble, Ensemble) or not isinstance(ensemble, Iterable) else list(ensemble)
    for one in ensembles:
        if not isinstance(one, Ensemble):
            raise ValueError(
                f"to_landmarks takes an Ensemble or several, not {type(one).__name__}: use Ensemble(curves)"
            )
    ends = np.cumsum([0, *map(len, ensembles)])
    if 16 * n * ends[-1] > RELEASE_FROM_BYTES:
        release_memory()
    landmarks = np.empty((ends[-1], 2, n))
    kind, affine = get_args(Interpolation).index(interpolation), measure == "affine"
    fast = kernels(__package__, landmarks.size)
    place = _placed if fast is None else fast.place_landmarks

    def place_block(block: tuple[Ensemble, int, slice]) -> None:
        of, start, part = block
        offsets = of.offsets[part.start : part.stop + 1]
        settled = np.ones(len(offsets) - 1, dtype=bool)
        vertices, placed = of.vertices[offsets[0] : offsets[-1]], landmarks[start + part.start : start + part.stop]
        place(vertices, offsets - offsets[0], kind, affine, placed, settled)
        if not settled.all():
            stuck = of.ids[part][~settled]
            raise ValueError(
                f"the affine measure of {len(stuck)} curve(s) did not converge in {MAX_ITERATIONS} iterations (ids "
                f'{stuck[:5].tolist()}): leave them out, or use measure="arc-length"'
            )

    blocks = []  # runs of whole curves with about equal work
    for of, start in zip(ensembles, ends, strict=False):
        block = np.cumsum(np.diff(of.offsets) + n) // _BLOCK
        cuts = [*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), len(block)]
        blocks += [(of, start, slice(*part)) for part in pairwise(cuts)]
    over_blocks(place_block, blocks)
    return landmarks.swapaxes(1, 2)


def _placed(given: Real, offsets: Index, kind: int, affine: bool, landmarks: Real, settled: NDArray[np.bool_]) -> None:
    """Place landmarks (N, 2, n) of a block of curves, vectorized; mark converged affine measures in `settled`.

    NumPy equivalent of `kernels.place_landmarks`.
    """
    n, counts = landmarks.shape[2], np.diff(offsets)
    vertices = given[:, 0] + 1j * given[:, 1]
    # Curves of negative signed area are reversed, keeping their first vertex.
    cross = (vertices.conj() * vertices[following(offsets)]).imag
    backwards = np.repeat(np.add.reduceat(cross, offsets[:-1]) < 0, counts)
    index = np.arange(len(vertices))
    start, stop = np.repeat(offsets[:-1], counts), np.repeat(offsets[1:], counts)
    vertices = vertices[np.where(backwards & (index != start), start + stop - index, index)]
    interpolation = get_args(Interpolation)[kind]
    centre = cast("Complex", np.add.reduceat(vertices, offsets[:-1])) / counts
    spoke = vertices - np.repeat(centre, counts)
    if not affine:
        # At unit size: lengths are summed cumulatively over all curves, where long ones would cost short ones
        # precision.
        size = np.sqrt(np.add.reduceat(np.abs(spoke) ** 2, offsets[:-1]) / counts)
        placed = _equally_spaced(interpolate(spoke / np.repeat(size, counts), offsets, interpolation), n)
        placed *= size[:, None]
    else:
        # The iteration starts from the second moment of each polygon's triangle fan, which is equivariant under linear
        # maps. Triangles count by absolute area, so that the moment of a self-intersecting curve is positive too; one
        # with corners (0, p, q) has second moment (pp + qq + (p + q)(p + q)) / 12 per unit of area.
        other = spoke[following(offsets)]
        weight = np.abs((spoke.conj() * other).imag)
        terms = [_products(part) for part in (spoke, other, spoke + other)]
        moment = np.add.reduceat(weight * sum(terms), offsets[:-1], axis=-1)
        first = inverse_root(moment / (12 * np.add.reduceat(weight, offsets[:-1])))
        # The chord-length parameter must be equivariant too: the spline is fitted after whitening.
        a, b = (np.repeat(factor, counts) for factor in first)
        curve = interpolate(a * spoke + b * spoke.conj(), offsets, interpolation)
        moment, settled[:] = _fixed_point(curve)
        second = inverse_root(moment)
        a, b = (curve.per_segment(factor) for factor in second)
        whitened = RaggedSpline(a * curve.coefficients + b * curve.coefficients.conj(), offsets)
        placed = _equally_spaced(whitened, n)
        for a, b in (second, first):  # invert z -> a·z + b·z̄
            a, b = a[:, None], b[:, None]
            placed = (a.conj() * placed - b * placed.conj()) / (np.abs(a) ** 2 - np.abs(b) ** 2)
    placed = placed + centre[:, None]
    landmarks[:, 0], landmarks[:, 1] = placed.real, placed.imag


def inverse_root(moment: Real) -> tuple[Complex, Complex]:
    """M^(-½) of symmetric 2 × 2 moments (3, N) = (xx, xy, yy), as a map z -> a·z + b·z̄ of complex numbers."""
    xx, xy, yy = moment
    root = np.sqrt(xx * yy - xy**2)
    scale = 1 / (root * np.sqrt(xx + yy + 2 * root))
    a = scale * ((xx + yy) / 2 + root)
    b = scale * ((yy - xx) / 2 - 1j * xy)
    return a.astype(np.complex128), b


def _products(z: Complex) -> Real:
    """Components xx, xy, yy of the outer product of z with itself."""
    return np.stack([z.real * z.real, z.real * z.imag, z.imag * z.imag])


def _fixed_point(curve: RaggedSpline) -> tuple[Real, NDArray[np.bool_]]:
    """Second moment M (3, N) of each curve under the arc-length measure of M^(-½) applied to it; which have converged.

    Broyden's method: a plain iteration gains one digit per step, this one doubles the gain from step to step.
    """
    position, derivative = curve.at_nodes()
    speeds, starts = _products(derivative), curve.offsets[:-1]
    x, y = position.real, position.imag
    features = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    moment = np.repeat(np.array([[1.0], [0.0], [1.0]]), len(starts), axis=1)
    inverse = np.repeat(RELAXATION * np.eye(3)[:, :, None], len(starts), axis=2)
    step = before = np.zeros_like(moment)
    for done in range(MAX_ITERATIONS + 1):
        # The residual: the second central moment, weighted by length in the metric moment⁻¹, minus the moment.
        xx, xy, yy = curve.per_segment(moment)[:, None]
        length = np.sqrt(yy * speeds[0] - 2 * xy * speeds[1] + xx * speeds[2]) * WEIGHTS[:, None]
        total, x, y, *second = np.add.reduceat(np.einsum("km,fkm->fm", length, features), starts, axis=1)
        x, y = x / total, y / total
        measured = [second[0] / total - x * x, second[1] / total - x * y, second[2] / total - y * y]
        residual = np.stack(measured) - moment
        # Broyden's update: the smallest correction such that the inverse maps the change of the residual to the last
        # step.
        change = before - residual
        row = np.einsum("iq,ijq->jq", step, inverse)
        scale = (row * change).sum(axis=0)
        mapped = np.einsum("ijq,jq->iq", inverse, change)
        inverse += (step - mapped)[:, None] * (row / np.where(scale != 0, scale, np.inf))
        settled = np.abs(residual).max(axis=0) <= TOLERANCE
        if done == MAX_ITERATIONS or settled.all():
            break
        step = np.einsum("ijq,jq->iq", inverse, residual)
        xx, xy, yy = moment + step
        step = np.where((xx > 0) & (xx * yy > xy * xy), step, RELAXATION * residual)  # stays positive definite
        step[:, settled] = 0  # updates from rounding error alone would make converged curves diverge
        moment, before = moment + step, residual
    return moment + residual, settled


def _equally_spaced(curve: RaggedSpline, n: int) -> Complex:
    """N points at equal arc lengths on each curve, (N, n)."""
    lengths = PRIMITIVE @ np.abs(curve.at_nodes()[1])
    segment = lengths.sum(axis=0)
    after = np.cumsum(segment)
    before = after - segment
    total = np.add.reduceat(segment, curve.offsets[:-1])
    start = before[curve.offsets[:-1]]
    # The first landmark is placed by the phase of the first Fourier mode of the squared radius, which rotates with the
    # curve and does not depend on the first vertex. A curve whose radius has m-fold symmetry (an ellipse: m = 2) has no
    # first mode; its m-th one marks m equivalent places.
    place = (before - curve.per_segment(start)) / curve.per_segment(total)
    vertex = curve.coefficients[0]
    weight = segment.copy()
    weight[following(curve.offsets)] += segment
    weight /= curve.per_segment(2 * total)
    centre = np.add.reduceat(weight * vertex, curve.offsets[:-1])
    radius = weight * np.abs(vertex - curve.per_segment(centre)) ** 2
    floor = FLOOR * np.add.reduceat(radius, curve.offsets[:-1])
    first = np.zeros(len(total))
    open_ = np.ones(len(total), dtype=bool)
    turn = np.exp(2j * np.pi * place)
    wave = radius.astype(np.complex128)
    for m in range(1, MODES + 1):
        wave = wave * turn
        mode = np.add.reduceat(wave, curve.offsets[:-1])
        clear = open_ & (np.abs(mode) > floor)
        first[clear] = np.angle(mode[clear]) / (2 * np.pi * m)
        open_ &= ~clear
        if not open_.any():
            break
    target = start[:, None] + total[:, None] * ((first[:, None] + np.arange(n) / n) % 1.0)
    found = np.searchsorted(after, target, side="right")
    found = np.clip(found, curve.offsets[:-1, None], curve.offsets[1:, None] - 1)
    # The local parameter u at which the length polynomial of a segment reaches its target, by Newton's method.
    l1, l2, l3 = lengths[:, found]
    rest = target - before[found]
    u = rest / (l1 + l2 + l3)
    for _ in range(NEWTON):
        excess = ((l3 * u + l2) * u + l1) * u - rest
        speed = (3 * l3 * u + 2 * l2) * u + l1
        u = np.clip(u - excess / speed, 0.0, 1.0)
    c0, c1, c2, c3 = curve.coefficients[:, found]
    return ((c3 * u + c2) * u + c1) * u + c0
