"""Compiled loops over pairs of points; see `compiled`."""

import numpy as np
from numba import njit, types

# Input may be read-only.
_real, _groups = types.Array(types.float64, 1, "C", readonly=True), types.Array(types.int64, 1, "C", readonly=True)
_points = types.Array(types.float64, 2, "C", readonly=True)


@njit(
    types.void(_points, _real, _real, _groups, _groups, types.boolean, types.float64[:, ::1]),
    cache=True,
    nogil=True,
)
def add_distances(products, rows, columns, down, across, square, sums):
    """Add the distances between the points of a tile to the sums over pairs of groups; see `kernel.group_sums`.

    Parameters
    ----------
    products : (a, b) array
        Inner products of the points of the rows with those of the columns.
    rows, columns : (a,) and (b,) arrays
        Squares of the points' norms.
    down, across : (a,) and (b,) arrays of int
        Index in `sums` of the group of each point; groups are contiguous.
    square : bool
        Rows and columns are the same points: each distance counts half, as it occurs twice, and self-distances are 0.
    sums : (U, V) array
    """
    total = np.zeros(len(columns))  # over the rows of one group, so that the inner loop runs over contiguous columns
    for i in range(len(rows)):
        for j in range(len(columns)):
            total[j] += np.sqrt(max(rows[i] + columns[j] - 2 * products[i, j], 0.0))
        if square:
            total[i] -= np.sqrt(max(rows[i] + columns[i] - 2 * products[i, i], 0.0))
        if i + 1 == len(rows) or down[i + 1] != down[i]:
            share = 0.5 if square else 1.0
            for j in range(len(columns)):
                sums[down[i], across[j]] += share * total[j]
                total[j] = 0.0


@njit(
    types.void(_points, _points, _groups, _groups, types.boolean, types.float64[:, ::1]),
    cache=True,
    nogil=True,
)
def add_flat_distances(rows, columns, down, across, square, sums):
    """As `add_distances`, for points with few coordinates: those of the rows (a, d), those of the columns (d, b)."""
    total, squared = np.zeros(columns.shape[1]), np.empty(columns.shape[1])
    for i in range(len(rows)):
        squared[:] = 0.0
        last = len(columns) - 1
        for k in range(last):
            place, others = rows[i, k], columns[k]
            for j in range(len(others)):
                squared[j] += (others[j] - place) * (others[j] - place)
        place, others = rows[i, last], columns[last]
        for j in range(len(total)):
            total[j] += np.sqrt(squared[j] + (others[j] - place) * (others[j] - place))
        if i + 1 == len(rows) or down[i + 1] != down[i]:
            share = 0.5 if square else 1.0
            for j in range(len(total)):
                sums[down[i], across[j]] += share * total[j]
                total[j] = 0.0


@njit(types.uint64(types.uint64[::1]), cache=True, nogil=True)
def _next(state):
    """Next 64 random bits of the generator xoshiro256++ (Blackman and Vigna 2021)."""
    both = state[0] + state[3]
    bits = ((both << np.uint64(23)) | (both >> np.uint64(41))) + state[0]
    shifted = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << np.uint64(45)) | (state[3] >> np.uint64(19))
    return bits


@njit(types.void(types.uint64[::1], types.int64, types.int64, types.uint8[:, ::1]), cache=True, nogil=True)
def draw_labellings(state, first, total, bits):
    """Draw independent labelings: each a uniform choice of `first` of `total` points, as packed bits.

    Every point is chosen with the same probability, about m/N; then points drawn at random are added, or taken away.
    All points are treated alike throughout, so all choices of m are equally probable.

    Parameters
    ----------
    state : (4,) array of uint64
        State of the generator; changed.
    first, total : int
        Sizes m of the first sample and N of both.
    bits : (B, ⌈N/8⌉) array of uint8
        Receives the indicators of the first sample.
    """
    share = np.int64(round(256 * first / total))  # probability in units of 1/256: up to eight random bits decide
    last = 0  # binary digits of the probability from here on are zero: no bit has to be drawn for these
    while last < 8 and not share >> last & 1:
        last += 1
    for row in bits:
        count = 0
        for start in range(0, total, 64):
            chosen = np.uint64(0)
            if share == 256:
                chosen = ~chosen
            for digit in range(last, 8):  # from the last binary digit of the probability to the first
                drawn = _next(state)
                chosen = chosen | drawn if share >> digit & 1 else chosen & drawn
            for place in range(start, min(start + 64, total), 8):
                byte = np.uint8((chosen >> np.uint64(place - start)) & np.uint64(255))
                if place + 8 > total:
                    byte &= np.uint8(0xFF << (place + 8 - total) & 0xFF)
                row[place >> 3] = byte
                pairs = (byte & 0x55) + (byte >> 1 & 0x55)
                fours = (pairs & 0x33) + (pairs >> 2 & 0x33)
                count += (fours & 0x0F) + (fours >> 4)
        surplus = count > first
        while count != first:
            place = np.int64(((_next(state) >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32))
            mask = np.uint8(128 >> (place & 7))
            if (row[place >> 3] & mask != 0) == surplus:
                row[place >> 3] ^= mask
                count += -1 if surplus else 1


@njit(
    [
        types.void(real[:, :, ::1], real[::1], types.uint8[:, ::1], types.float64[::1])
        for real in (types.float32, types.float64)
    ],
    cache=True,
    nogil=True,
)
def add_squared_sums(tables, offset, bits, squares):
    """Add the squared norm of a sum of features over a set of points, less an offset, for every set.

    Parameters
    ----------
    tables : (P, 16, q) array
        Sums of the features of four points each, for all their subsets: two rows per byte of `bits`.
    offset : (q,) array
    bits : (B, ⌈N/8⌉) array of uint8
        Packed indicators of the sets.
    squares : (B,) array
        Is added to.
    """
    columns = len(offset)
    # So many sets that their sums fit in the cache with the tables of a byte, which are thus read once for all of them.
    totals = np.empty((32, columns), tables.dtype)
    for start in range(0, len(bits), len(totals)):
        some = min(len(totals), len(bits) - start)
        for row in range(some):
            for j in range(columns):
                totals[row, j] = -offset[j]
        for place in range(0, bits.shape[1] - 1, 2):  # two bytes at once take half as many passes over the sums
            for row in range(some):
                one, two = bits[start + row, place], bits[start + row, place + 1]
                total, a, b = totals[row], tables[2 * place, one >> 4], tables[2 * place + 1, one & 15]
                c, d = tables[2 * place + 2, two >> 4], tables[2 * place + 3, two & 15]
                for j in range(columns):
                    total[j] += (a[j] + b[j]) + (c[j] + d[j])
        if bits.shape[1] % 2:
            last = bits.shape[1] - 1
            for row in range(some):
                byte = bits[start + row, last]
                total, a, b = totals[row], tables[2 * last, byte >> 4], tables[2 * last + 1, byte & 15]
                for j in range(columns):
                    total[j] += a[j] + b[j]
        for row in range(some):
            square = 0.0
            for j in range(columns):
                square += totals[row, j] * totals[row, j]
            squares[start + row] += square
