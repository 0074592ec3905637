"""Validation of closed curves: repeated vertices are dropped, invalid curves left out and counted."""

from collections import Counter

import numpy as np

from .._types import Complex, Index, Mask
from .offsets import following
from .order import MAX_CIRCULARITY, MISSING_POINT, fault_of
from .polygons import blocks, centred
from .reasons import Reason

# Vertices closer than this fraction of the largest coordinate differ by rounding error only ...
_ROUNDING_TOLERANCE = 1e-12
# ... and those closer than this fraction of the outline's mean step by that of single precision; they would make double
# knots of a spline. A last vertex repeats the first if it is closer to it than this fraction of every other step, and
# this share of the curves at least has such a vertex: in others, steps may be as short by chance, wherever they start.
_SINGLE_TOLERANCE, _CLOSING_TOLERANCE, _MIN_CLOSED = 1e-6, 0.1, 0.1
# A short closing edge of fewer vertices may be a side of a polygon.
_MIN_CLOSING_VERTICES = 8
# A curve is collinear when the smaller of its two RMS extents is below a millionth of the larger ...
_MAX_FLATNESS = 1e-12
# ... and has zero area when its loops cancel to this fraction of the squared perimeter.
_MIN_RELATIVE_AREA = 1e-12
# Products of eight lengths are computed: beyond these limits, in any unit, they would overflow or underflow.
_SMALLEST, _LARGEST = 1e-30, 1e30


def cleaned(
    vertices: Complex, offsets: Index, counts: Counter[Reason], *, closed: bool | None = None
) -> tuple[Complex, Index, Index]:
    """Drop repeated vertices and invalid curves, adding to `counts`; also return the indices of the curves kept.

    Last vertices that nearly repeat the first are dropped if the curves are `closed`; by default this is found from
    their number.
    """
    parts, ending = [], 0
    for start, stop in blocks(offsets):
        ends = offsets[start : stop + 1]
        block = _Block(vertices[ends[0] : ends[-1]], ends - ends[0])
        block.keep_finite()
        ending += block.drop_repeats(closing=bool(closed))
        block.keep_outlines()
        parts.append((block, start))
    if not parts:
        return vertices, offsets, np.arange(0)
    if closed is None and ending > 0 and ending >= _MIN_CLOSED * (len(offsets) - 1):
        return cleaned(vertices, offsets, counts, closed=True)
    for block, _ in parts:
        counts.update(block.lost)
    sizes = np.concatenate([np.diff(block.offsets) for block, _ in parts])
    kept = np.concatenate([start + block.kept for block, start in parts])
    return np.concatenate([block.vertices for block, _ in parts]), np.append(0, np.cumsum(sizes)), kept


class _Block:
    """Curves that are left of a block, their places in it, and how many others were lost to each reason."""

    def __init__(self, vertices: Complex, offsets: Index) -> None:
        self.vertices, self.offsets, self.kept = vertices, offsets, np.arange(len(offsets) - 1)
        self.lost = Counter[Reason]()

    def keep(self, usable: Mask, reason: Reason) -> None:
        """Leave out curves that are not usable, for a reason."""
        if not usable.all():
            counts = np.diff(self.offsets)
            self.lost[reason] += int(np.count_nonzero(~usable))
            self.vertices = self.vertices[np.repeat(usable, counts)]
            self.offsets = np.append(0, np.cumsum(counts[usable]))
            self.kept = self.kept[usable]

    def keep_finite(self) -> None:
        """Leave out curves with missing or huge coordinates."""
        for beyond, reason in ((np.inf, Reason("not finite")), (_LARGEST, Reason("huge", _LARGEST))):
            within = np.maximum(np.abs(self.vertices.real), np.abs(self.vertices.imag)) < beyond  # NaN compares False
            outside = np.append(0, np.cumsum(~within, dtype=np.int64))[self.offsets]
            self.keep(outside[1:] == outside[:-1], reason)

    def drop_repeats(self, *, closing: bool) -> int:
        """Drop vertices that repeat the next one, and curves of fewer than three.

        Also, where `closing`, last vertices that nearly repeat the first; returns the number of such curves.
        """
        for _ in range(2):  # again after removing repeats
            self.keep(np.diff(self.offsets) >= 3, Reason("distinct", 3))
            some, counts, starts = self.vertices, np.diff(self.offsets), self.offsets[:-1]
            largest = np.maximum.reduceat(np.abs(some), starts)
            gap, last = np.abs(some[following(self.offsets)] - some), self.offsets[1:] - 1
            step = np.add.reduceat(gap, starts) / counts
            new = gap > np.repeat(np.maximum(_ROUNDING_TOLERANCE * largest, _SINGLE_TOLERANCE * step), counts)
            others = gap.copy()
            others[last] = np.inf
            others[~new] = np.inf
            close = gap[last] <= _CLOSING_TOLERANCE * np.minimum.reduceat(others, starts)
            close &= new[last] & (counts >= _MIN_CLOSING_VERTICES)
            if closing:
                new[last[close]] = False
            if new.all():
                break
            self.vertices = some[new]
            self.offsets = np.append(0, np.cumsum(new, dtype=np.int64))[self.offsets]
        return int(np.count_nonzero(close))

    def keep_outlines(self) -> None:
        """Leave out curves that are tiny, collinear or without area, and those whose vertices follow no outline."""
        some, counts, starts = self.vertices, np.diff(self.offsets), self.offsets[:-1]
        spokes, after = centred(some, self.offsets), following(self.offsets)
        # The longest extent is at half the angle of Σz²; moments along it do not suffer from cancellation.
        turn = np.exp(-0.5j * np.angle(np.add.reduceat(spokes * spokes, starts)))
        across = np.add.reduceat((spokes * np.repeat(turn, counts)).imag ** 2, starts)
        spread = across > _MAX_FLATNESS * np.add.reduceat(np.abs(spokes) ** 2, starts)
        lengths = np.add.reduceat(np.abs(some[after] - some), starts)
        areas = np.add.reduceat((spokes.conj() * spokes[after]).imag / 2, starts)
        long, encloses = lengths > _SMALLEST, np.abs(areas) > _MIN_RELATIVE_AREA * lengths**2
        self.keep(long, Reason("tiny", _SMALLEST))
        self.keep(spread[long], Reason("collinear"))
        usable = long & spread
        suspects = 4 * np.pi * np.abs(areas[usable]) <= MAX_CIRCULARITY * lengths[usable] ** 2
        suspects |= np.logical_or.reduceat(self.vertices == complex(MISSING_POINT, MISSING_POINT), self.offsets[:-1])
        faults: dict[Reason, list[int]] = {}
        for place in np.flatnonzero(suspects).tolist():
            curve = self.vertices[self.offsets[place] : self.offsets[place + 1]]
            if fault := fault_of(curve.view(np.float64).reshape(-1, 2)):
                faults.setdefault(fault, []).append(place)
        numbers = np.arange(len(suspects))
        for fault, faulty in faults.items():
            orderly = ~np.isin(numbers, faulty)
            self.keep(orderly, fault)
            numbers = numbers[orderly]
        self.keep(encloses[usable][numbers], Reason("zero area"))
