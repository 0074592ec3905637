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
_shares = types.Array(types.float64, 2, "C", readonly=True)


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


@njit(cache=True, nogil=True)
def _add(target, source, weight):
    for j in range(len(target)):
        target[j] += weight * source[j]


@njit(cache=True, nogil=True)
def _blurred(plane, shares, label, box, down, across, first, level):
    """Mask of a label with a margin, filtered along the columns and then along the rows: `level` (H, W).

    `first` is scratch memory of the same size.
    """
    r, c = len(down) // 2, len(across) // 2
    height, width = box[2] - box[0], box[3] - box[1]
    level[:], first[:] = 0.0, 0.0
    mask = np.empty(width)
    for k in range(height):  # adds to the rows that are at most r away: row k of the mask is row k + r + 1 of the level
        row = plane[box[0] + k, box[1] : box[3]]
        for j in range(width):
            mask[j] = 1.0 if row[j] == label else 0.0
        if len(shares):
            mask *= shares[box[0] + k, box[1] : box[3]]
        for tap in range(2 * r + 1):
            _add(first[k + 1 + tap, c + 1 : c + 1 + width], mask, down[tap])
    for i in range(1, len(level) - 1):
        for tap in range(2 * c + 1):
            _add(level[i, 1 + tap : 1 + tap + width], first[i, c + 1 : c + 1 + width], across[tap])


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
    count = 0
    for i in range(rows - 1):
        for j in range(columns - 1):
            a, b, c, d = level[i, j], level[i, j + 1], level[i + 1, j], level[i + 1, j + 1]
            case = (a > 0.5) + 2 * (b > 0.5) + 4 * (c > 0.5) + 8 * (d > 0.5)
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


@njit(types.void(_shares, _index, types.float64[:, ::1]), cache=True, nogil=True)
def cover(vertices, offsets, steps):
    """Add to `steps` (H, W) by how much the covered share of each pixel differs from that of the pixel before it.

    Pixel (i, j) extends from (i, j) to (i + 1, j + 1). Every edge covers, with a sign, what lies after it in its rows.
    """
    for q in range(len(offsets) - 1):
        for start in range(offsets[q], offsets[q + 1]):
            end = start + 1 if start + 1 < offsets[q + 1] else offsets[q]
            upper, lower, sign = start, end, 1.0
            if vertices[start, 0] > vertices[end, 0]:
                upper, lower, sign = end, start, -1.0
            top, bottom = vertices[upper, 0], vertices[lower, 0]
            if top == bottom:
                continue
            slope = (vertices[lower, 1] - vertices[upper, 1]) / (bottom - top)
            for i in range(int(np.floor(top)), int(np.ceil(bottom))):
                high, low = max(top, float(i)), min(bottom, i + 1.0)
                one, other = vertices[upper, 1] + slope * (high - top), vertices[upper, 1] + slope * (low - top)
                left, right = min(one, other), max(one, other)
                height, before = sign * (low - high), 0.0
                for j in range(int(np.floor(left)), int(np.floor(right)) + 1):
                    # Mean over the edge of the share of this pixel, in these rows, that lies after it.
                    if right <= j + 1 and left >= j:
                        after = j + 1 - (left + right) / 2
                    else:
                        # The edge within this pixel, and what of it lies in pixels before, which covers all of it.
                        a, b = max(left, float(j)), min(right, j + 1.0)
                        after = ((b - a) * (j + 1 - (a + b) / 2) + max(a - left, 0.0)) / (right - left)
                    steps[i, j] += height * (after - before)
                    before = after
                steps[i, int(np.floor(right)) + 1] += height * (1.0 - before)


@njit((_plane, _shares, _index, _boxes, _weights, _weights), cache=True, nogil=True)
def trace_contours(plane, shares, labels, boxes, down, across):
    """Contours at 0.5 of the smoothed masks of labels, as from scikit-image's `find_contours`, but open.

    Parameters
    ----------
    plane : (rows, columns) array of int32
    shares : (rows, columns) array
        Share of each pixel that its label covers; empty for whole pixels.
    labels, boxes : (K,) and (K, 4) arrays
        From `survey`.
    down, across : arrays of odd length
        Filter weights along the columns, and along the rows.

    Returns
    -------
    vertices : (M, 2) array
        Vertices of all contours, in pixels of the plane; each contour starts at the end of the last of its segments, in
        the order of the cells.
    counts : (C,) array
        Number of vertices of each contour.
    owners : (C,) array
        Index in `labels`.
    hollow : (K,) bool array
        Whether the mask has holes, before filtering.
    """
    r, c = len(down) // 2, len(across) // 2
    most = 0
    for box in boxes:
        most = max(most, (box[2] - box[0] + 2 * r + 2) * (box[3] - box[1] + 2 * c + 2))
    first, second, starting = np.empty(most), np.empty(most), np.empty(2 * most, dtype=np.int64)
    begins, ends, seen = np.empty(2 * most, np.int64), np.empty(2 * most, np.int64), np.empty(most, dtype=np.bool_)
    vertices = np.empty((256 * len(labels) + 2 * most, 2))
    offsets, owners = np.zeros(4 * len(labels) + 2 * most + 1, np.int64), np.empty(4 * len(labels) + 2 * most, np.int64)
    hollow = np.zeros(len(labels), dtype=np.bool_)
    count = 0
    for q in range(len(labels)):
        box = boxes[q]
        rows, columns = box[2] - box[0] + 2 * r + 2, box[3] - box[1] + 2 * c + 2
        size = rows * columns
        level = second[:size].reshape(rows, columns)
        _blurred(plane, shares, labels[q], box, down, across, first[:size].reshape(rows, columns), level)
        hollow[q] = _has_holes(plane, labels[q], box, seen, starting)
        segments = _segments(level, begins, ends, starting)
        if offsets[count] + segments > len(vertices):
            vertices = np.concatenate((vertices, np.empty((len(vertices) + segments, 2))))
        if count + segments > len(owners):
            more = np.empty(len(owners) + segments, np.int64)
            offsets, owners = np.concatenate((offsets, more)), np.concatenate((owners, more))
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
                i, j = (edge // 2) // columns, (edge // 2) % columns
                down_edge = edge % 2
                here, there = level[i, j], level[i + 1, j] if down_edge else level[i, j + 1]
                share = (0.5 - here) / (there - here)
                vertices[at, 0] = box[0] + (i + share * down_edge - (r + 1))
                vertices[at, 1] = box[1] + (j + share * (1 - down_edge) - (c + 1))
                at += _differs(vertices, at, at - 1) if at > offsets[count] else 1
                place = starting[edge]
                if place == last:
                    break
            while at > offsets[count] + 1 and not _differs(vertices, at - 1, offsets[count]):
                at -= 1
            if at > offsets[count] + 2:  # else pixels of exactly 0.5 left a point or a line
                owners[count] = q
                count += 1
                offsets[count] = at
    return vertices[: offsets[count]], np.diff(offsets[: count + 1]), owners[:count], hollow
