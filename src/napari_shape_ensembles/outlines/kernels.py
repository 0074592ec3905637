"""Compiled loops over the pixels of labels; see `compiled`."""

import numpy as np
from numba import njit, types

# Marching squares: the corners of a cell above the level count 1, 2 (upper ones), 4 and 8 (lower ones), and their sum
# gives one segment or two, each from an edge of the cell to another, with the high side to its left. Diagonal corners
# are not connected.
_TOP, _LEFT, _BOTTOM, _RIGHT, _NONE = range(5)
_SEGMENTS = np.array(
    [
        (_NONE, _NONE, _NONE, _NONE),
        (_TOP, _LEFT, _NONE, _NONE),
        (_RIGHT, _TOP, _NONE, _NONE),
        (_RIGHT, _LEFT, _NONE, _NONE),
        (_LEFT, _BOTTOM, _NONE, _NONE),
        (_TOP, _BOTTOM, _NONE, _NONE),
        (_RIGHT, _TOP, _LEFT, _BOTTOM),
        (_RIGHT, _BOTTOM, _NONE, _NONE),
        (_BOTTOM, _RIGHT, _NONE, _NONE),
        (_TOP, _LEFT, _BOTTOM, _RIGHT),
        (_BOTTOM, _TOP, _NONE, _NONE),
        (_BOTTOM, _LEFT, _NONE, _NONE),
        (_LEFT, _RIGHT, _NONE, _NONE),
        (_TOP, _RIGHT, _NONE, _NONE),
        (_LEFT, _TOP, _NONE, _NONE),
        (_NONE, _NONE, _NONE, _NONE),
    ]
)
# Input may be read-only.
_plane, _index = types.Array(types.int32, 2, "C", readonly=True), types.Array(types.int64, 1, "C", readonly=True)
_boxes, _weights = types.Array(types.int64, 2, "C", readonly=True), types.Array(types.float64, 1, "C", readonly=True)
_vertices = types.Array(types.float64, 2, "C", readonly=True)
_widths, _radii = types.Array(types.float64, 3, "C", readonly=True), types.Array(types.int64, 3, "C", readonly=True)
# Shares of a pixel below this are rounding errors.
_ROUNDING = 1e-9


@njit(types.void(_plane, types.int64[::1], types.int64[:, ::1]), cache=True, nogil=True)
def survey(plane, areas, boxes):
    """Area of every label, (1 + K,), and its bounding box (1 + K, 4): first row, first column, and exclusive ends.

    Both are zero initially. Runs of one label in a row are counted at once.
    """
    rows, columns = plane.shape
    for i in range(rows):
        start = 0
        while start < columns:
            label = plane[i, start]
            stop = start + 1
            while stop < columns and plane[i, stop] == label:
                stop += 1
            if label > 0:
                box = boxes[label]
                if areas[label] == 0:
                    box[0], box[1] = i, start
                box[1], box[2], box[3] = min(box[1], start), i + 1, max(box[3], stop)
                areas[label] += stop - start
            start = stop


@njit(types.float64[::1](types.float64, types.int64), cache=True, nogil=True)
def gaussian(sigma, radius):
    """Weights of a Gaussian filter, (2 radius + 1,), of which the sum is 1."""
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return weights / weights.sum()


@njit(cache=True, nogil=True, fastmath={"contract"})
def _weighted_sum(target, source, stride, weights):
    """Set target[j] to the sum of weights[k] source[j + k stride] over k, four terms at a time."""
    count, step = len(target), 4
    target[:] = 0.0
    for k in range(0, len(weights) - step + 1, step):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        one, two = source[k * stride :][:count], source[(k + 1) * stride :][:count]
        three, four = source[(k + 2) * stride :][:count], source[(k + 3) * stride :][:count]
        for j in range(count):
            target[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
    for k in range(len(weights) // step * step, len(weights)):
        weight, rest = weights[k], source[k * stride :][:count]
        for j in range(count):
            target[j] += weight * rest[j]


@njit(cache=True, nogil=True)
def _blurred(mask, down, across, level):
    """Filter a mask (H, W) along the columns and the rows: `level`, with a margin in which it becomes zero."""
    r, c = len(down) // 2, len(across) // 2
    height, width = mask.shape
    level[0], level[-1] = 0.0, 0.0
    level[:, 0], level[:, -1] = 0.0, 0.0
    pixels, row = mask.reshape(-1), np.zeros(width + 4 * c)
    for i in range(height + 2 * r):
        first, last = max(i - 2 * r, 0), min(i + 1, height)  # rows of the mask that are at most r away
        _weighted_sum(
            row[2 * c : 2 * c + width], pixels[first * width :], width, down[first - i + 2 * r : last - i + 2 * r]
        )
        _weighted_sum(level[i + 1, 1:-1], row, 1, across)


@njit(cache=True, nogil=True)
def _has_holes(plane, label, box, seen, stack):
    """Whether 4-connected background is enclosed."""
    rows, columns = box[2] - box[0] + 2, box[3] - box[1] + 2
    outside = 0
    for place in range(rows * columns):
        i, j = place // columns, place % columns
        inside = 0 < i < rows - 1 and 0 < j < columns - 1 and plane[box[0] + i - 1, box[1] + j - 1] == label
        seen[place] = inside
        outside += not inside
    stack[0], seen[0], height = 0, True, 1
    while height:
        height -= 1
        outside -= 1
        place = stack[height]
        i, j = place // columns, place % columns
        for beside, other in (
            (i > 0, place - columns),
            (i < rows - 1, place + columns),
            (j > 0, place - 1),
            (j < columns - 1, place + 1),
        ):
            if beside and not seen[other]:
                seen[other] = True
                stack[height] = other
                height += 1
    return outside > 0


@njit((_plane, _index, _boxes), cache=True, nogil=True)
def has_holes(plane, labels, boxes):
    """Whether each label encloses background: (K,) bool array; arguments as in `trace_contours`."""
    most = 0
    for box in boxes:
        most = max(most, (box[2] - box[0] + 2) * (box[3] - box[1] + 2))
    seen, stack = np.empty(most, dtype=np.bool_), np.empty(most, np.int64)
    hollow = np.zeros(len(labels), dtype=np.bool_)
    for q in range(len(labels)):
        hollow[q] = _has_holes(plane, labels[q], boxes[q], seen, stack)
    return hollow


@njit(cache=True, nogil=True)
def _segments(level, begins, ends, starting):
    """Marching squares at 0.5: the edges that every segment leads from and to, in the order of the cells.

    Edge 2(i·W + j) lies between a pixel and the one to its right, edge 2(i·W + j) + 1 between it and the one below.
    `starting` maps an edge to the segment that starts there.
    """
    rows, columns = level.shape
    count, cases = 0, np.empty(columns - 1, np.uint8)
    for i in range(rows - 1):
        a, b, c, d = level[i, :-1], level[i, 1:], level[i + 1, :-1], level[i + 1, 1:]
        for j in range(columns - 1):
            cases[j] = (a[j] > 0.5) | (b[j] > 0.5) << 1 | (c[j] > 0.5) << 2 | (d[j] > 0.5) << 3
        for j in range(columns - 1):
            case = cases[j]
            if case == 0 or case == 15:
                continue
            first = 2 * (i * columns + j)
            edges = first, first + 1, first + 2 * columns, first + 3  # top, left, bottom, right
            for k in (0, 2):
                if _SEGMENTS[case, k] == _NONE:
                    break
                begins[count], ends[count] = edges[_SEGMENTS[case, k]], edges[_SEGMENTS[case, k + 1]]
                starting[begins[count]] = count
                count += 1
    return count


@njit(cache=True, nogil=True)
def _differs(vertices, at, other):
    """Whether two vertices differ; they coincide where a pixel is exactly 0.5."""
    return vertices[at, 0] != vertices[other, 0] or vertices[at, 1] != vertices[other, 1]


@njit(cache=True, nogil=True)
def _contours(mask, down, across, top, left, scratch, vertices, offsets, count):
    """Append the contours at 0.5 of a mask, of which the first pixel is (top, left), after filtering.

    Each contour starts at the end of the last of its segments, in the order of the cells. `offsets[count]` is the end
    of the contours so far. Returns both arrays, which may have grown, and the number of contours.
    """
    levels, starting, begins, ends = scratch
    r, c = len(down) // 2, len(across) // 2
    rows, columns = mask.shape[0] + 2 * r + 2, mask.shape[1] + 2 * c + 2
    level = levels[: rows * columns].reshape(rows, columns)
    _blurred(mask, down, across, level)
    segments = _segments(level, begins, ends, starting)
    if offsets[count] + segments > len(vertices):
        vertices = np.concatenate((vertices, np.empty((len(vertices) + segments, 2))))
    if count + segments >= len(offsets):
        offsets = np.concatenate((offsets, np.empty(len(offsets) + segments, np.int64)))
    for segment in range(segments):
        if begins[segment] < 0:
            continue
        last, place = segment, segment
        while begins[place] >= 0:  # traverse the contour once
            begins[place] = -1
            place = starting[ends[place]]
            last = max(last, place)
        at, place = offsets[count], last
        while True:
            edge = ends[place]
            pixel, down_edge = edge >> 1, edge & 1
            i = pixel // columns
            j = pixel - i * columns
            here, there = levels[pixel], levels[pixel + (columns if down_edge else 1)]
            share = (0.5 - here) / (there - here)
            vertices[at, 0] = top + (i + share * down_edge - (r + 1))
            vertices[at, 1] = left + (j + share * (1 - down_edge) - (c + 1))
            at += _differs(vertices, at, at - 1) if at > offsets[count] else 1
            place = starting[edge]
            if place == last:
                break
        while at > offsets[count] + 1 and not _differs(vertices, at - 1, offsets[count]):
            at -= 1
        if at > offsets[count] + 2:  # else pixels of exactly 0.5 left a point or a line
            count += 1
            offsets[count] = at
    return vertices, offsets, count


@njit(cache=True, nogil=True)
def _scratch(most):
    """Memory for the contours of masks of at most so many pixels, with the margin of the filter."""
    return (
        np.empty(most),
        np.empty(2 * most, np.int64),
        np.empty(2 * most, np.int64),
        np.empty(2 * most, np.int64),
    )


@njit((_plane, _index, _boxes, _weights, _weights), cache=True, nogil=True)
def trace_contours(plane, labels, boxes, down, across):
    """Contours at 0.5 of the smoothed masks of labels, as from scikit-image's `find_contours`, but open.

    Parameters
    ----------
    plane : (rows, columns) array of int32
    labels, boxes : (K,) and (K, 4) arrays
        From `survey`.
    down, across : arrays of odd length
        Filter weights along the columns, and along the rows.

    Returns
    -------
    vertices : (M, 2) array
        Vertices of all contours, in pixels of the plane.
    counts : (C,) array
        Number of vertices of each contour.
    owners : (C,) array
        Index in `labels`.
    hollow : (K,) bool array
        Whether the mask has holes, before filtering.
    """
    r, c = len(down) // 2, len(across) // 2
    most, largest = 0, 0
    for box in boxes:
        most = max(most, (box[2] - box[0] + 2 * r + 2) * (box[3] - box[1] + 2 * c + 2))
        largest = max(largest, (box[2] - box[0]) * (box[3] - box[1]))
    scratch, seen, masks = _scratch(most), np.empty(most, dtype=np.bool_), np.empty(largest)
    vertices, offsets = np.empty((256 * len(labels) + 2 * most, 2)), np.zeros(4 * len(labels) + 2 * most + 1, np.int64)
    ends, hollow = np.zeros(len(labels) + 1, np.int64), np.zeros(len(labels), dtype=np.bool_)
    for q in range(len(labels)):
        box = boxes[q]
        rows, columns = box[2] - box[0], box[3] - box[1]
        mask = masks[: rows * columns].reshape(rows, columns)
        for i in range(rows):
            for j in range(columns):
                mask[i, j] = plane[box[0] + i, box[1] + j] == labels[q]
        hollow[q] = _has_holes(plane, labels[q], box, seen, scratch[1])
        vertices, offsets, ends[q + 1] = _contours(
            mask, down, across, box[0], box[1], scratch, vertices, offsets, ends[q]
        )
    count = ends[-1]
    owners = np.repeat(np.arange(len(labels)), np.diff(ends))
    return vertices[: offsets[count]], np.diff(offsets[: count + 1]), owners, hollow


@njit(cache=True, nogil=True)
def _within(value, most):
    """Integer from 0 to `most` that is nearest to a whole number."""
    return int(min(max(value, 0.0), float(most)))


@njit(cache=True, nogil=True)
def _fill(curve, label, image):
    """Set the pixels in a curve to a label.

    Every edge toggles, in each row that it crosses, whether the pixels after it are inside.
    """
    height, width = image.shape
    top, bottom = _within(np.ceil(curve[:, 0].min()), height), _within(np.ceil(curve[:, 0].max()), height)
    left, right = _within(np.ceil(curve[:, 1].min()), width), _within(np.ceil(curve[:, 1].max()), width)
    crossed = np.zeros((bottom - top, right - left + 1), dtype=np.bool_)
    for place in range(len(curve)):
        start, end = curve[place], curve[place + 1 if place + 1 < len(curve) else 0]
        # Rows from the first at or below the upper end to the last above the lower end.
        row, below = _within(np.ceil(start[0]), height), _within(np.ceil(end[0]), height)
        if row == below:
            continue
        slope = (end[1] - start[1]) / (end[0] - start[0])
        at_zero = start[1] - slope * start[0]
        for i in range(min(row, below), max(row, below)):
            j = min(max(_within(np.ceil(at_zero + slope * i), width), left), right) - left
            crossed[i - top, j] = not crossed[i - top, j]
    for i in range(bottom - top):
        inside = False
        for j in range(right - left):
            inside ^= crossed[i, j]
            if inside:
                image[top + i, left + j] = label


@njit(types.void(_vertices, _index, types.int32[:, ::1]), cache=True, nogil=True)
def fill(vertices, offsets, image):
    """Set the pixels in curve q to q + 1; see `rasterize`."""
    for q in range(len(offsets) - 1):
        if offsets[q + 1] > offsets[q]:
            _fill(vertices[offsets[q] : offsets[q + 1]], q + 1, image)


@njit(types.void(_vertices, types.float64[:, ::1]), cache=True, nogil=True)
def cover(curve, shares):
    """Set `shares` (H, W), initially zero, to the share of each pixel that a curve covers, which crosses nothing.

    Pixel (i, j) extends from (i, j) to (i + 1, j + 1). Every edge covers, with a sign, what lies after it in its rows;
    first, each pixel holds by how much it differs from the one before it.
    """
    width = shares.shape[1]
    for start in range(len(curve)):
        after = start + 1 if start + 1 < len(curve) else 0
        upper, lower, sign = start, after, 1.0
        if curve[start, 0] > curve[after, 0]:
            upper, lower, sign = after, start, -1.0
        top, bottom = curve[upper, 0], curve[lower, 0]
        if top == bottom:
            continue
        slope = (curve[lower, 1] - curve[upper, 1]) / (bottom - top)
        for i in range(int(np.floor(top)), int(np.ceil(bottom))):
            high, low = max(top, float(i)), min(bottom, i + 1.0)
            one, other = curve[upper, 1] + slope * (high - top), curve[upper, 1] + slope * (low - top)
            left, right = min(one, other), max(one, other)
            height, before = sign * (low - high), 0.0
            end = min(int(np.floor(right)) + 1, width)  # by rounding, the last edge may touch the side of the raster
            for j in range(int(np.floor(left)), end):
                # Mean over the edge of the share of this pixel, in these rows, that lies after it.
                if right <= j + 1 and left >= j:
                    share = j + 1 - (left + right) / 2
                else:
                    # The edge within this pixel, and what of it lies in pixels before, which covers all of it.
                    a, b = max(left, float(j)), min(right, j + 1.0)
                    share = ((b - a) * (j + 1 - (a + b) / 2) + max(a - left, 0.0)) / (right - left)
                shares[i, j] += height * (share - before)
                before = share
            if end < width:
                shares[i, end] += height * (1.0 - before)
    for i in range(len(shares)):
        total = 0.0
        for j in range(width):
            total += shares[i, j]
            covered = min(abs(total), 1.0)
            shares[i, j] = covered if covered >= _ROUNDING else 0.0


@njit(cache=True, nogil=True)
def _twice_signed_area(curve):
    total, (row, column) = 0.0, curve[0]
    for place in range(1, len(curve) - 1):
        here, after = curve[place], curve[place + 1]
        total += (here[0] - row) * (after[1] - column) - (after[0] - row) * (here[1] - column)
    return total


@njit(cache=True, nogil=True)
def _fill_along(curve, label, image):
    """Set the pixels with a center on the edges of a curve, which run along rows, columns and diagonals."""
    for place in range(len(curve)):
        here, after = curve[place], curve[(place + 1) % len(curve)]
        steps = int(np.rint(max(abs(after[0] - here[0]), abs(after[1] - here[1]))))
        for step in range(steps):
            row = here[0] + (after[0] - here[0]) * step / steps
            column = here[1] + (after[1] - here[1]) * step / steps
            image[int(np.rint(row)), int(np.rint(column))] = label


@njit((_vertices, _index, _index, _weights, _widths, _radii, types.boolean), cache=True, nogil=True)
def retrace(vertices, offsets, parts, weights, sigma, radius, through_centers):
    """Trace curves again from their pixels: covered shares, and a share of the errors of whole pixels, after filtering.

    Parameters
    ----------
    vertices, offsets : (M, 2) and (N + 1,) arrays
        Curves in pixels with centers at integers.
    parts : (N,) array of int
        Number of parts of each side of a pixel, in the raster that is filtered.
    weights : (N,) array
        Weight of the errors: the difference between whole pixels, those with a center in the curve, and covered shares
        of parts.
    sigma, radius : (2, N, 2) arrays
        Standard deviation of the Gaussian filters of the errors alone, and of all, and where they are truncated, in
        parts. Errors are not filtered alone where the deviation is 0.
    through_centers : bool
        Whether curves pass through the centers of pixels that belong to them, along rows, columns and diagonals.

    Returns
    -------
    vertices, counts : (M', 2) and (N,) arrays
        The largest contour of each curve at 0.5, like those of `trace_contours` but in the opposite direction; a curve
        of which nothing is left has no vertices.
    """
    boxes, most, largest = np.empty((len(parts), 4), np.int64), 0, 0
    for q in range(len(parts)):
        curve, n = vertices[offsets[q] : offsets[q + 1]], parts[q]
        margin = (radius[0, q].max() + 2 * n - 1) // (2 * n)  # for what filtered errors add outside
        for axis in range(2):
            boxes[q, axis] = int(np.floor(curve[:, axis].min() + 0.5)) - margin
            last = int(np.floor(curve[:, axis].max() + 0.5)) + margin
            boxes[q, 2 + axis] = last + 1 - boxes[q, axis]  # number of pixels
        rows, columns = n * boxes[q, 2], n * boxes[q, 3]
        largest = max(largest, rows * columns)
        wide = radius[0, q] + radius[1, q]
        most = max(most, (rows + 2 * wide[0] + 2) * (columns + 2 * wide[1] + 2))
    scratch, masks, errors = _scratch(most), np.empty(largest), np.empty(largest)
    found, ends = np.empty((256 * len(parts) + 2 * most, 2)), np.zeros(len(parts) + 2 * most + 1, np.int64)
    for q in range(len(parts)):
        curve, n, weight = vertices[offsets[q] : offsets[q + 1]].copy(), parts[q], weights[q]
        curve[:, 0] -= boxes[q, 0]
        curve[:, 1] -= boxes[q, 1]
        rows, columns = boxes[q, 2], boxes[q, 3]
        mask = masks[: n * n * rows * columns].reshape(n * rows, n * columns)
        mask[:] = 0.0
        if weight != 1 or sigma[0, q].any():
            cover(n * (curve + 0.5), mask)
        if weight > 0:
            whole = np.zeros((rows, columns), np.int32)
            _fill(curve, 1, whole)
            if through_centers:
                _fill_along(curve, 1, whole)
            error = errors[: mask.size].reshape(mask.shape)
            for i in range(n * rows):
                for j in range(n * columns):
                    error[i, j] = weight * (whole[i // n, j // n] - mask[i, j])
            if sigma[0, q].any():
                r, c = radius[0, q]
                level = scratch[0][: (n * rows + 2 * r + 2) * (n * columns + 2 * c + 2)]
                level = level.reshape(n * rows + 2 * r + 2, n * columns + 2 * c + 2)
                _blurred(error, gaussian(sigma[0, q, 0], r), gaussian(sigma[0, q, 1], c), level)
                error = level[r + 1 : r + 1 + n * rows, c + 1 : c + 1 + n * columns]
            mask += error
        down, across = gaussian(sigma[1, q, 0], radius[1, q, 0]), gaussian(sigma[1, q, 1], radius[1, q, 1])
        found, ends, count = _contours(mask, down, across, 0, 0, scratch, found, ends, q)
        start, size, twice = ends[q], 0, -1.0
        for contour in range(q, count):
            area = abs(_twice_signed_area(found[ends[contour] : ends[contour + 1]]))
            if area > twice:
                start, size, twice = ends[contour], ends[contour + 1] - ends[contour], area
        kept = found[start : start + size][::-1].copy()
        for axis in range(2):
            kept[:, axis] = (kept[:, axis] - (n - 1) / 2) / n + boxes[q, axis]
        found[ends[q] : ends[q] + size] = kept
        ends[q + 1] = ends[q] + size
    return found[: ends[len(parts)]], np.diff(ends[: len(parts) + 1])
