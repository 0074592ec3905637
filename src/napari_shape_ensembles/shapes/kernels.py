"""Compiled loops over curves: landmarks, registration, decomposition and convex hulls, one curve at a time.

See `compiled`. Splines are periodic and cubic: segment i runs from vertex i to the next one of its curve, with a local
parameter u from 0 to 1 and x(u) = c₀ + c₁u + c₂u² + c₃u³.
"""

import numpy as np
from numba import njit, types
from numpy.polynomial.legendre import leggauss

from .landmarks import MAX_ITERATIONS

# A polygon has at most this many corners, of at least this angle, that make up at least this fraction of its total
# turning. Smooth curves turn at all vertices, pixel steps at far more of them.
_MAX_CORNERS, _MIN_CORNER_ANGLE, _MIN_CORNER_SHARE = 24, np.deg2rad(20), 0.95
# Three Gauss-Legendre nodes give lengths to seventh order in the chord: more accurate than the spline itself.
_NODES, _WEIGHTS = (leggauss(3)[0] + 1) / 2, leggauss(3)[1] / 2
_AT, _BY = tuple(_NODES.tolist()), tuple(_WEIGHTS.tolist())
# Antiderivatives of the Lagrange polynomials on the nodes: node speeds -> coefficients of u, u², u³ of length.
_PRIMITIVE = np.linalg.inv(np.vander(_NODES, increasing=True)) / np.arange(1, 4)[:, None]
_L1, _L2, _L3 = (tuple(row) for row in _PRIMITIVE.tolist())
# Convergence of the affine measure. On a circle the plain fixed-point iteration overshoots by a quarter of the error;
# the relaxation factor compensates.
_TOLERANCE, _RELAXATION = 1e-13, 0.8
# Fourier modes of the squared radius tried for the first landmark, and the minimum amplitude of a mode relative to the
# mean; Newton iterations for a landmark's position within its segment.
_MODES, _FLOOR, _NEWTON = 8, 1e-6, 4
# Newton iterations for the sub-sample shift, and the step size at which they stop: the next would be its square.
_SHIFT_ITERATIONS, _SHIFT_TOLERANCE = 6, 1e-7
# Input may be read-only, such as an array that a result holds, or a memory map.
_given = types.Array(types.float64, 2, "C", readonly=True)
_given_blocks = types.Array(types.float64, 3, "C", readonly=True)
_given_waves = types.Array(types.complex128, 2, "C", readonly=True)
_given_scores = types.Array(types.complex128, 3, "C", readonly=True)
_given_line = types.Array(types.float64, 1, "C", readonly=True)
_ends = types.Array(types.int64, 1, "C", readonly=True)
# Allow reassociation of sums and fused multiply-add, and ignore signed zeros.
_FAST_MATH_FLAGS = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def _inverse_root(xx, xy, yy):
    """M^(-½) = [[p, q], [q, r]] of a symmetric matrix."""
    root = np.sqrt(xx * yy - xy * xy)
    scale = 1 / (root * np.sqrt(xx + yy + 2 * root))
    return scale * (yy + root), -scale * xy, scale * (xx + root)


@njit(cache=True, nogil=True)
def _oriented(given, x, y):
    """Write the vertices of a curve in the order of positive area to x and y; the first vertex stays first."""
    m = len(given)
    area = 0.0
    for i in range(m):
        j = i + 1 if i + 1 < m else 0
        area += given[i, 0] * given[j, 1] - given[i, 1] * given[j, 0]
    for i in range(m):
        j = i if area >= 0 or i == 0 else m - i
        x[i], y[i] = given[j, 0], given[j, 1]


@njit(cache=True, nogil=True)
def _fan_moment(x, y):
    """Center of the vertices, and second moment of the triangle fan around it, which is equivariant under linear maps.

    Triangles count by absolute area, so that the moment of a self-intersecting curve is positive too; one with corners
    (0, p, q) has second moment (pp + qq + (p + q)(p + q)) / 12 per unit of area.
    """
    m = len(x)
    cx, cy = 0.0, 0.0
    for i in range(m):
        cx += x[i]
        cy += y[i]
    cx, cy = cx / m, cy / m
    total, xx, xy, yy = 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        j = i + 1 if i + 1 < m else 0
        px, py, qx, qy = x[i] - cx, y[i] - cy, x[j] - cx, y[j] - cy
        sx, sy = px + qx, py + qy
        weight = abs(px * qy - py * qx)
        total += weight
        xx += weight * (px * px + qx * qx + sx * sx)
        xy += weight * (px * py + qx * qy + sx * sy)
        yy += weight * (py * py + qy * qy + sy * sy)
    return cx, cy, xx / (12 * total), xy / (12 * total), yy / (12 * total)


@njit(cache=True, nogil=True)
def _is_polygonal(x, y):
    """Whether nearly all turning is at a few corners, however many vertices lie on the edges between them."""
    m = len(x)
    near = np.cos(0.99 * _MIN_CORNER_ANGLE)
    corners, sharp, rest = 0, 0.0, 0.0
    for exact in (False, True):  # arctan2 is slow: the first pass bounds turns below a corner by their sine
        corners, sharp, rest = 0, 0.0, 0.0
        for i in range(m):
            j = i + 1 if i + 1 < m else 0
            k = j + 1 if j + 1 < m else 0
            ax, ay, bx, by = x[j] - x[i], y[j] - y[i], x[k] - x[j], y[k] - y[j]
            dot, cross = ax * bx + ay * by, ax * by - ay * bx
            size = np.sqrt((ax * ax + ay * ay) * (bx * bx + by * by))
            if not exact and dot > near * size:
                rest += abs(cross) / size
                continue
            turn = abs(np.arctan2(cross, dot))
            if turn > _MIN_CORNER_ANGLE:
                corners += 1
                sharp += turn
            else:
                rest += turn
        if corners > _MAX_CORNERS or sharp < _MIN_CORNER_SHARE * (sharp + rest):
            return False
    return True


@njit(cache=True, nogil=True)
def _second_derivatives(x, y, length, diagonal, q, u, v):
    """Second derivatives (u, v) of the periodic cubic spline at the vertices, over the chord length.

    They solve a cyclic tridiagonal system. Its corner entry h is split off as h·(e₀ + e₋₁)(e₀ + e₋₁)ᵀ, which leaves a
    positive definite tridiagonal matrix for Gaussian elimination, of both coordinates and the column q = e₀ + e₋₁; the
    Sherman-Morrison formula restores it.
    """
    m = len(x)
    for i in range(m):
        j = i + 1 if i + 1 < m else 0
        length[i] = np.sqrt((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2)
    corner = length[m - 1]
    bx, by = (x[0] - x[m - 1]) / corner, (y[0] - y[m - 1]) / corner
    before = corner
    for i in range(m):
        j = i + 1 if i + 1 < m else 0
        ax, ay = (x[j] - x[i]) / length[i], (y[j] - y[i]) / length[i]
        u[i], v[i] = 6 * (ax - bx), 6 * (ay - by)
        diagonal[i] = 2 * (length[i] + before)
        q[i] = 0.0
        bx, by, before = ax, ay, length[i]
    q[0] = q[m - 1] = 1.0
    diagonal[0] -= corner
    diagonal[m - 1] -= corner
    for i in range(1, m):
        share = length[i - 1] / diagonal[i - 1]
        diagonal[i] -= share * length[i - 1]
        u[i] -= share * u[i - 1]
        v[i] -= share * v[i - 1]
        q[i] -= share * q[i - 1]
    for i in range(m - 1, -1, -1):
        back = length[i] if i + 1 < m else 0.0
        j = i + 1 if i + 1 < m else 0
        u[i] = (u[i] - back * u[j]) / diagonal[i]
        v[i] = (v[i] - back * v[j]) / diagonal[i]
        q[i] = (q[i] - back * q[j]) / diagonal[i]
    share = corner / (1 + corner * (q[0] + q[m - 1]))
    su, sv = share * (u[0] + u[m - 1]), share * (v[0] + v[m - 1])
    for i in range(m):
        u[i] -= su * q[i]
        v[i] -= sv * q[i]


@njit(cache=True, nogil=True)
def _coefficients(x, y, kind, work, c):
    """Coefficients c (8, m), x's four and then y's, of the curve through the vertices.

    `kind` is 0 for automatic, 1 for a spline, 2 for a polygon.
    """
    m = len(x)
    length, u, v = work[0], work[3], work[4]
    straight = kind == 2 or (kind == 0 and _is_polygonal(x, y))
    if straight:
        length[:], u[:], v[:] = 0.0, 0.0, 0.0
    else:
        _second_derivatives(x, y, length, work[1], work[2], u, v)
    for i in range(m):
        j = i + 1 if i + 1 < m else 0
        quarter = length[i] * length[i] / 6
        c[0, i], c[4, i] = x[i], y[i]
        c[2, i], c[6, i] = 3 * quarter * u[i], 3 * quarter * v[i]
        c[3, i], c[7, i] = quarter * (u[j] - u[i]), quarter * (v[j] - v[i])
        c[1, i], c[5, i] = x[j] - x[i] - c[2, i] - c[3, i], y[j] - y[i] - c[6, i] - c[7, i]


@njit(cache=True, nogil=True)
def _at_nodes(c, f):
    """Values at the nodes, f (5, 3 m): x, y, then the weighted products of the derivatives, xx, xy and yy."""
    m = c.shape[1]
    for k in range(3):
        t, weight = _AT[k], _BY[k]
        for i in range(m):
            place = k * m + i
            f[0, place] = ((c[3, i] * t + c[2, i]) * t + c[1, i]) * t + c[0, i]
            f[1, place] = ((c[7, i] * t + c[6, i]) * t + c[5, i]) * t + c[4, i]
            dx = (3 * c[3, i] * t + 2 * c[2, i]) * t + c[1, i]
            dy = (3 * c[7, i] * t + 2 * c[6, i]) * t + c[5, i]
            f[2, place] = weight * weight * dx * dx
            f[3, place] = weight * weight * dx * dy
            f[4, place] = weight * weight * dy * dy


@njit(cache=True, nogil=True, fastmath=_FAST_MATH_FLAGS)
def _residual(f, xx, xy, yy):
    """Second central moment, weighted by length in the metric moment⁻¹, minus the moment."""
    total, sx, sy, sxx, sxy, syy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(f.shape[1]):
        x, y = f[0, i], f[1, i]
        length = np.sqrt(yy * f[2, i] - 2 * xy * f[3, i] + xx * f[4, i])
        total += length
        sx += length * x
        sy += length * y
        sxx += length * x * x
        sxy += length * x * y
        syy += length * y * y
    sx, sy = sx / total, sy / total
    return sxx / total - sx * sx - xx, sxy / total - sx * sy - xy, syy / total - sy * sy - yy


@njit(cache=True, nogil=True)
def _fixed_point(f):
    """Second moment of a curve under the arc-length measure of M^(-½) applied to it; whether it has converged.

    Broyden's method: a plain iteration gains one digit per step, this one doubles the gain from step to step.
    """
    moment, residual = np.array([1.0, 0.0, 1.0]), np.empty(3)
    step, mapped, row, change = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    inverse = _RELAXATION * np.eye(3)
    residual[0], residual[1], residual[2] = _residual(f, 1.0, 0.0, 1.0)
    for _ in range(MAX_ITERATIONS):
        if max(abs(residual[0]), abs(residual[1]), abs(residual[2])) <= _TOLERANCE:
            return moment[0] + residual[0], moment[1] + residual[1], moment[2] + residual[2], True
        for i in range(3):
            step[i] = inverse[i, 0] * residual[0] + inverse[i, 1] * residual[1] + inverse[i, 2] * residual[2]
        xx, xy, yy = moment[0] + step[0], moment[1] + step[1], moment[2] + step[2]
        if not (xx > 0 and xx * yy > xy * xy):  # would not be positive definite
            for i in range(3):
                step[i] = _RELAXATION * residual[i]
        for i in range(3):
            moment[i] += step[i]
            change[i] = residual[i]
        residual[0], residual[1], residual[2] = _residual(f, moment[0], moment[1], moment[2])
        scale = 0.0
        for i in range(3):
            change[i] -= residual[i]
        for i in range(3):
            row[i] = step[0] * inverse[0, i] + step[1] * inverse[1, i] + step[2] * inverse[2, i]
            mapped[i] = inverse[i, 0] * change[0] + inverse[i, 1] * change[1] + inverse[i, 2] * change[2]
            scale += row[i] * change[i]
        if scale != 0:
            for i in range(3):
                for j in range(3):
                    inverse[i, j] += (step[i] - mapped[i]) * row[j] / scale
    return moment[0], moment[1], moment[2], False


@njit(cache=True, nogil=True)
def _lengths(c, lengths, before):
    """Coefficients (3, m) of u, u² and u³ of the length along each segment; the length before it; the total length."""
    m = c.shape[1]
    s = np.empty(3)
    total = 0.0
    for i in range(m):
        for k in range(3):
            t = _AT[k]
            dx = (3 * c[3, i] * t + 2 * c[2, i]) * t + c[1, i]
            dy = (3 * c[7, i] * t + 2 * c[6, i]) * t + c[5, i]
            s[k] = np.sqrt(dx * dx + dy * dy)
        lengths[0, i] = _L1[0] * s[0] + _L1[1] * s[1] + _L1[2] * s[2]
        lengths[1, i] = _L2[0] * s[0] + _L2[1] * s[1] + _L2[2] * s[2]
        lengths[2, i] = _L3[0] * s[0] + _L3[1] * s[1] + _L3[2] * s[2]
        before[i] = total
        total += lengths[0, i] + lengths[1, i] + lengths[2, i]
    return total


@njit(cache=True, nogil=True)
def _first_place(c, lengths, before, total):
    """Position of the first landmark, as a fraction of the length: the phase of a Fourier mode of the squared radius.

    The phase rotates with the curve and does not depend on the first vertex. A curve whose radius has m-fold symmetry
    (an ellipse: m = 2) has no first mode; its m-th one marks m equivalent places.
    """
    m = c.shape[1]
    weight = np.empty(m)
    cx, cy = 0.0, 0.0
    last = total - before[m - 1]
    for i in range(m):
        length = lengths[0, i] + lengths[1, i] + lengths[2, i]
        weight[i] = (length + last) / (2 * total)
        last = length
        cx += weight[i] * c[0, i]
        cy += weight[i] * c[4, i]
    whole = 0.0
    wave, turn = np.empty(m, dtype=np.complex128), np.empty(m, dtype=np.complex128)
    for i in range(m):
        radius = weight[i] * ((c[0, i] - cx) ** 2 + (c[4, i] - cy) ** 2)
        angle = 2 * np.pi * before[i] / total
        turn[i] = complex(np.cos(angle), np.sin(angle))
        wave[i] = radius
        whole += radius
    for order in range(1, _MODES + 1):
        mode = 0j
        for i in range(m):
            wave[i] *= turn[i]
            mode += wave[i]
        if abs(mode) > _FLOOR * whole:
            return np.arctan2(mode.imag, mode.real) / (2 * np.pi * order)
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _equally_spaced(c, lengths, before, total, first, work, x, y):
    """Points at equal arc lengths. `work` (12, n) is scratch memory.

    The local parameter at which the length polynomial of a segment reaches its target is found by Newton's method.
    """
    m, n = c.shape[1], len(x)
    segment = -1
    for i in range(n):
        target = total * ((first + i / n) % 1.0)
        if segment < 0 or target < before[segment]:
            segment = 0
        while segment + 1 < m and before[segment + 1] <= target:
            segment += 1
        for k in range(3):
            work[k, i] = lengths[k, segment]
        work[3, i] = target - before[segment]
        for k in range(8):
            work[4 + k, i] = c[k, segment]
    for i in range(n):
        l1, l2, l3, rest = work[0, i], work[1, i], work[2, i], work[3, i]
        u = rest / (l1 + l2 + l3)
        for _ in range(_NEWTON):
            excess = ((l3 * u + l2) * u + l1) * u - rest
            speed = (3 * l3 * u + 2 * l2) * u + l1
            u = min(max(u - excess / speed, 0.0), 1.0)
        x[i] = ((work[7, i] * u + work[6, i]) * u + work[5, i]) * u + work[4, i]
        y[i] = ((work[11, i] * u + work[10, i]) * u + work[9, i]) * u + work[8, i]


@njit(
    types.void(_given, _ends, types.int64, types.boolean, types.float64[:, :, ::1], types.boolean[::1]),
    cache=True,
    nogil=True,
)
def place_landmarks(vertices, offsets, kind, affine, landmarks, settled):
    """Landmarks (N, 2, n) of N curves, and whether the affine measure of each has converged.

    `vertices` (M, 2) are split into curves at `offsets` (N + 1,); `kind` as in `_coefficients`.
    """
    most = 0
    for q in range(len(offsets) - 1):
        most = max(most, offsets[q + 1] - offsets[q])
    n = landmarks.shape[2]
    flat, nodes, points = np.empty(15 * most), np.empty(15 * most), np.empty((12, n))
    for q in range(len(offsets) - 1):
        given = vertices[offsets[q] : offsets[q + 1]]
        m = len(given)
        # Rows as long as the curve, contiguous whatever the length of the longest curve.
        work = flat[: 7 * m].reshape(7, m)
        c = flat[7 * most : 7 * most + 8 * m].reshape(8, m)
        x, y = work[5], work[6]
        _oriented(given, x, y)
        settled[q] = True
        cx, cy, xx, xy, yy = _fan_moment(x, y)
        p, r, s = _inverse_root(xx, xy, yy) if affine else (1.0, 0.0, 1.0)
        for i in range(m):
            a, b = x[i] - cx, y[i] - cy
            x[i], y[i] = p * a + r * b, r * a + s * b
        _coefficients(x, y, kind, work, c)
        # The composed map from the given curve to the whitened one: A = M^(-½) of the second moment, times the first
        # map.
        a11, a12, a21, a22 = p, r, r, s
        if affine:
            f = nodes[: 15 * m].reshape(5, 3 * m)
            _at_nodes(c, f)
            xx, xy, yy, settled[q] = _fixed_point(f)
            t, u, v = _inverse_root(xx, xy, yy)
            for k in range(4):
                for i in range(m):
                    a, b = c[k, i], c[4 + k, i]
                    c[k, i], c[4 + k, i] = t * a + u * b, u * a + v * b
            a11, a12, a21, a22 = t * p + u * r, t * r + u * s, u * p + v * r, u * r + v * s
        lengths, before = work[0:3], work[3]
        total = _lengths(c, lengths, before)
        first = _first_place(c, lengths, before, total)
        ox, oy = landmarks[q, 0], landmarks[q, 1]
        _equally_spaced(c, lengths, before, total, first, points, ox, oy)
        scale = 1 / (a11 * a22 - a12 * a21)
        for i in range(n):
            a, b = ox[i], oy[i]
            ox[i] = scale * (a22 * a - a12 * b) + cx
            oy[i] = scale * (a11 * b - a21 * a) + cy


_block, _waves = types.float64[:, :, ::1], types.complex128[:, ::1]


@njit(cache=True, nogil=True, fastmath=_FAST_MATH_FLAGS, error_model="numpy")
def _polar(u, v, scale):
    """Replace the two columns of a matrix (n, 2) by those of its orthonormal polar factor; write the symmetric one.

    By Gram-Schmidt orthogonalization, and the rotation nearest to the triangular factor R.
    """
    n = len(u)
    r11 = 0.0
    for i in range(n):
        r11 += u[i] * u[i]
    r11 = np.sqrt(r11)
    unit = 1 / r11 if r11 > 0 else 1.0
    r12 = 0.0
    for i in range(n):
        u[i] *= unit
        r12 += u[i] * v[i]
    # One pass leaves an overlap of aspect ratio · rounding error; the second removes it.
    slip = 0.0
    for i in range(n):
        v[i] -= r12 * u[i]
        slip += u[i] * v[i]
    r22 = 0.0
    for i in range(n):
        v[i] -= slip * u[i]
        r22 += v[i] * v[i]
    r12, r22 = r12 + slip, np.sqrt(r22)
    unit = 1 / r22 if r22 > 0 else 1.0
    size = np.sqrt((r11 + r22) ** 2 + r12 * r12)
    size = size if size > 0 else 1.0
    c, s = (r11 + r22) / size, -r12 / size
    for i in range(n):
        first, second = u[i], v[i] * unit
        u[i] = first * c + second * s
        v[i] = second * c - first * s
    scale[0, 0], scale[1, 1] = c * r11, c * r22 - s * r12
    scale[0, 1] = scale[1, 0] = c * r12 + s * r22


_scales = types.float64[:, :, ::1]


@njit(types.void(_given_blocks, _given, _block, _scales), cache=True, nogil=True, fastmath=_FAST_MATH_FLAGS)
def separate(points, weights, undulation, scale):
    """Center curves (N, 2, n) and separate them into undulation (N, 2, n) and scale (N, 2, 2).

    Weights (1 or N, n) sum to 1. The undulation may be the points themselves.
    """
    n = points.shape[2]
    for q in range(len(points)):
        mu = weights[q if len(weights) > 1 else 0]
        x, y, u, v = points[q, 0], points[q, 1], undulation[q, 0], undulation[q, 1]
        cx, cy = 0.0, 0.0
        for i in range(n):
            cx += mu[i] * x[i]
            cy += mu[i] * y[i]
        for i in range(n):
            root = np.sqrt(mu[i])
            u[i] = (x[i] - cx) * root
            v[i] = (y[i] - cy) * root
        _polar(u, v, scale[q])


@njit(types.void(_block, _scales), cache=True, nogil=True)
def polar(points, scale):
    """Replace matrices (N, 2, n) by their orthonormal polar factors, and write the symmetric ones (N, 2, 2)."""
    for q in range(len(points)):
        _polar(points[q, 0], points[q, 1], scale[q])


@njit(
    types.void(_given_blocks, _given_line, _waves, types.boolean[::1]),
    cache=True,
    nogil=True,
    fastmath=_FAST_MATH_FLAGS,
)
def centre(points, direction, z, against):
    """Curves (N, 2, n) as complex z (N, n), centered; reversed, with the same first landmark, if `against` a direction.

    The direction (1 or N) is any number with the sign of the target's area, or 0 for none.
    """
    n = points.shape[2]
    for q in range(len(points)):
        x, y = points[q, 0], points[q, 1]
        cx, cy = 0.0, 0.0
        for i in range(n):
            cx += x[i]
            cy += y[i]
        cx, cy = cx / n, cy / n
        area = (x[n - 1] - cx) * (y[0] - cy) - (y[n - 1] - cy) * (x[0] - cx)
        for i in range(n - 1):
            area += (x[i] - cx) * (y[i + 1] - cy) - (y[i] - cy) * (x[i + 1] - cx)
        against[q] = area * direction[q if len(direction) > 1 else 0] < 0
        for i in range(n):
            j = n - i if against[q] and i > 0 else i
            z[q, i] = complex(x[j] - cx, y[j] - cy)


@njit(
    types.void(_given_waves, _given_waves, types.complex128[:, :, ::1]),
    cache=True,
    nogil=True,
    fastmath=_FAST_MATH_FLAGS,
)
def multiply(spectra, aims, products):
    """Products of spectra (N, n) with conjugated and plain targets (1 or N, n)."""
    for q in range(len(spectra)):
        aim = aims[q if len(aims) > 1 else 0]
        for way in range(products.shape[1]):
            sign = 2.0 * way - 1
            for k in range(spectra.shape[1]):
                z, w = spectra[q, k], aim[k]
                products[q, way, k] = complex(
                    z.real * w.real - sign * z.imag * w.imag, z.imag * w.real + sign * z.real * w.imag
                )


@njit(types.float64(types.float64[:, ::1], types.int64), cache=True, nogil=True)
def _peak_height(scores, place):
    """Height of the parabola through a sample and its two neighbors."""
    n = scores.shape[1]
    way, shift = place // n, place % n
    at = scores[way, shift]
    before, after = scores[way, shift - 1], scores[way, shift + 1 if shift + 1 < n else 0]
    bend = 2 * at - before - after
    return at + (after - before) ** 2 / (8 * bend) if bend > 0 else at


@njit(
    types.void(_given_scores, types.int64[::1], types.int64[::1], types.float64[::1]),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def two_best(waves, first, second, margin):
    """Positions of the two highest peaks of the squared scores, and their distinctness."""
    ways, n = waves.shape[1], waves.shape[2]
    scores = np.empty((ways, n))
    for q in range(len(waves)):
        for way in range(ways):
            for i in range(n):
                scores[way, i] = waves[q, way, i].real ** 2 + waves[q, way, i].imag ** 2
        places = (-1, -1)
        for best in range(2):
            highest, peak = 0.0, -1
            for way in range(ways):
                for i in range(n):
                    score = scores[way, i]
                    if score <= highest:
                        continue
                    place = way * n + i
                    apart = abs(place - places[0])
                    if best == 1 and place // n == places[0] // n and (apart <= 1 or apart == n - 1):
                        continue  # a neighbor of the best shift is not a separate match
                    if score >= scores[way, i - 1] and score >= scores[way, i + 1 if i + 1 < n else 0]:
                        highest, peak = score, place
            places = (peak, -1) if best == 0 else (places[0], peak)
        first[q], second[q] = max(places[0], 0), max(places[1], 0)
        ratio = _peak_height(scores, second[q]) if places[1] >= 0 else 0.0
        ratio /= _peak_height(scores, first[q])
        margin[q] = 1 - np.sqrt(min(ratio, 1.0))


@njit(cache=True, nogil=True, fastmath=_FAST_MATH_FLAGS)
def _phases(angle, cosine, sine):
    """Cosine and sine of k·angle for all k, by repeated doubling."""
    cosine[0], sine[0] = 1.0, 0.0
    c, s, done = np.cos(angle), np.sin(angle), 1
    while done < len(cosine):
        for k in range(min(done, len(cosine) - done)):
            cosine[done + k] = cosine[k] * c - sine[k] * s
            sine[done + k] = sine[k] * c + cosine[k] * s
        c, s, done = c * c - s * s, 2 * c * s, 2 * done


@njit(cache=True, nogil=True, fastmath=_FAST_MATH_FLAGS)
def _waved(sums, cosine, sine, rate):
    """Value and first two derivatives of Σ S cos + i D sin over the modes; `sums` holds S and D as four real rows."""
    a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(cosine)):
        x = sums[0, k] * cosine[k] - sums[3, k] * sine[k]
        y = sums[1, k] * cosine[k] + sums[2, k] * sine[k]
        a += x
        b += y
        c -= rate[k] * (sums[3, k] * cosine[k] + sums[0, k] * sine[k])
        d += rate[k] * (sums[2, k] * cosine[k] - sums[1, k] * sine[k])
        e -= rate[k] * rate[k] * x
        f -= rate[k] * rate[k] * y
    return complex(a, b), complex(c, d), complex(e, f)


@njit(
    types.void(
        _given_waves,
        _given_waves,
        _ends,
        _waves,
        types.float64[::1],
        types.complex128[::1],
        types.boolean[::1],
        types.float64[::1],
    ),
    cache=True,
    nogil=True,
    fastmath=_FAST_MATH_FLAGS,
)
def align(spectra, aims, place, moved, shift, turn, mirrored, residual):
    """Move spectra (N, n) to their places, refine the shift by Newton's method, and turn them to the aims (1 or N, n).

    Spectra of mirrored curves are conjugate. The turn is the complex factor of the curve or its mirror image. The
    residual, between unit norms, is computed from the spectra, which saves transforming the curves back.
    """
    n = spectra.shape[1]
    half, pairs = n // 2 + 1, (n + 1) // 2  # modes k and -k together; the Nyquist mode of even n has no partner
    rate = np.arange(half) * (2 * np.pi / n)
    sums, cosine, sine = np.zeros((4, half)), np.empty(half), np.empty(half)
    for q in range(len(spectra)):
        aim, square = aims[q if len(aims) > 1 else 0], 0.0
        for k in range(n):
            square += aim[k].real ** 2 + aim[k].imag ** 2
        size = 1 / np.sqrt(square)
        shift[q], mirrored[q] = place[q] % n, place[q] >= n
        sign = 1.0 if mirrored[q] else -1.0
        for k in range(half):
            z, w = spectra[q, k], aim[k]
            x, y = (z.real * w.real - sign * z.imag * w.imag) / n, (z.imag * w.real + sign * z.real * w.imag) / n
            sums[0, k], sums[1, k], sums[2, k], sums[3, k] = x, y, x, y
        for k in range(1, pairs):
            z, w = spectra[q, n - k], aim[n - k]
            x, y = (z.real * w.real - sign * z.imag * w.imag) / n, (z.imag * w.real + sign * z.real * w.imag) / n
            sums[0, k] += x
            sums[1, k] += y
            sums[2, k] -= x
            sums[3, k] -= y
        if n % 2 == 0:  # Nyquist mode: a cosine
            sums[2, half - 1] = sums[3, half - 1] = 0.0
        whole = shift[q]
        for _ in range(_SHIFT_ITERATIONS):
            _phases(rate[1] * shift[q], cosine, sine)
            value, first, second = _waved(sums, cosine, sine, rate)
            slope = value.real * first.real + value.imag * first.imag
            bend = value.real * second.real + value.imag * second.imag + first.real**2 + first.imag**2
            before = shift[q]
            if bend < 0:
                shift[q] = min(max(shift[q] - slope / bend, whole - 1), whole + 1)
            if abs(shift[q] - before) < _SHIFT_TOLERANCE:
                break
        _phases(rate[1] * shift[q], cosine, sine)
        score = _waved(sums, cosine, sine, rate)[0]  # Σ aim · spectrum · phases, whose phase is that of the turn
        modulus = np.sqrt(score.real**2 + score.imag**2)
        a, b = score.real / modulus, sign * score.imag / modulus
        turn[q] = complex(a, b)
        if n % 2 == 0:
            sine[half - 1] = 0.0
        square = 0.0
        for k in range(n):
            square += spectra[q, k].real ** 2 + spectra[q, k].imag ** 2
        unit, misfit = 1 / np.sqrt(square), 0.0
        for k in range(half):
            z, w, c, s = spectra[q, k], aim[k], cosine[k], sine[k]
            x, y = z.real * c - z.imag * s, -sign * (z.imag * c + z.real * s)
            x, y = a * x - b * y, a * y + b * x
            moved[q, k] = complex(x, y)
            misfit += (x * unit - w.real * size) ** 2 + (y * unit - w.imag * size) ** 2
        for k in range(1, pairs):
            z, w, c, s = spectra[q, n - k], aim[n - k], cosine[k], sine[k]
            x, y = z.real * c + z.imag * s, -sign * (z.imag * c - z.real * s)
            x, y = a * x - b * y, a * y + b * x
            moved[q, n - k] = complex(x, y)
            misfit += (x * unit - w.real * size) ** 2 + (y * unit - w.imag * size) ** 2
        residual[q] = np.sqrt(misfit)


@njit(types.void(_given_blocks, types.float64[:, ::1]), cache=True, nogil=True)
def hull_measures(points, measures):
    """Area, area of the convex hull, and perimeter of closed curves (N, 2, n): (N, 3).

    Graham scan around the mean point, with an insertion sort, as the points of an outline are nearly sorted by angle.
    """
    n = points.shape[2]
    angle, order, stack = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    for q in range(len(points)):
        x, y = points[q, 0], points[q, 1]
        cx, cy, area, length = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            j = i + 1 if i + 1 < n else 0
            cx += x[i]
            cy += y[i]
            area += x[i] * y[j] - y[i] * x[j]
            length += np.sqrt((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2)
        cx, cy = cx / n, cy / n
        top, farthest = 0, -1.0
        for i in range(n):
            away = (x[i] - cx) ** 2 + (y[i] - cy) ** 2
            if away > farthest:
                top, farthest = i, away
        fx, fy = x[top] - cx, y[top] - cy
        for i in range(n):  # start at the farthest point, which is a vertex of the hull
            k = top + i if area >= 0 else top - i
            k += n if k < 0 else -n if k >= n else 0
            px, py = x[k] - cx, y[k] - cy
            dot, cross = fx * px + fy * py, fx * py - fy * px
            size = abs(dot) + abs(cross)
            turn = 0.0 if size == 0 or i == 0 else 1 - dot / size
            turn = 4 - turn if cross < 0 else turn
            j = i
            while j > 0 and angle[j - 1] > turn:
                angle[j], order[j] = angle[j - 1], order[j - 1]
                j -= 1
            angle[j], order[j] = turn, k
        height = 0
        for i in range(n + 1):
            k = order[i] if i < n else top
            while height > 1:
                a, b = stack[height - 2], stack[height - 1]
                if (x[b] - x[a]) * (y[k] - y[b]) - (y[b] - y[a]) * (x[k] - x[b]) > 0:
                    break
                height -= 1
            stack[height] = k
            height += 1
        hull = 0.0
        for i in range(height - 1):
            a, b = stack[i], stack[i + 1]
            hull += (x[a] - cx) * (y[b] - cy) - (y[a] - cy) * (x[b] - cx)
        measures[q, 0], measures[q, 1], measures[q, 2] = abs(area) / 2, hull / 2, length
