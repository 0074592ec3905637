"""Quality control before a test: are the outlines of two samples fit for it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import pdtrc

from .._types import Mask, Real
from ..checks import expect
from ..palette import axes_of
from ..parameters import parameters_of
from ..words import counted
from .ensemble import Ensemble
from .offsets import following
from .precision import MIN_CLICKED_VERTICES
from .reasons import SMALLER_WINDOW, too_small
from .recipe import Recipe
from .tracing import RECORDED_FIELDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


# In the order of docs/how-to/quality-control.md; potentially serious ones first.
_CHECKS = (
    *("few curves", "duplicates", "tracing", "open", "stands out", "specks", "gaps", "merged", "cut", "vertices"),
    *("pixels", "windows"),
)
# With fewer curves on a side only large differences are detected; without any there is nothing to compare.
_MIN_CURVES = 10
# Curves of less than this fraction of the median area of their side are specks.
_SPECK = 0.05
# Curves above this multiple of the median area, with a solidity lower than the median by this, may be several objects.
_MERGED_AREA, _MERGED_SOLIDITY = 1.6, 0.06
# Gaps between objects, or groups of objects, are less circular than this in the median, differ more in area than this
# (median deviation of the logarithm), and reach the border more often than this.
_MAX_GAP_CIRCULARITY, _MIN_GAP_SPREAD, _MIN_GAPS_CUT = 0.7, 0.5, 0.1
# Among fewer outlines than this, none of the three is known.
_MIN_GAPS = 5
# Outlines with this fraction of their length in one run along a row or column were probably cut.
_MIN_STRAIGHT_FRACTION = 0.2
# Outlines whose closing edge exceeds these multiples of their median edge, and of their longest other edge, were open.
_MAX_MEDIAN_GAP, _MAX_LONGEST_GAP = 10.0, 2.0
# Outlines with fewer vertices may coincide by chance, and are not searched for duplicates.
_MIN_COMPARED_VERTICES = 40
# Fractions of such curves in an image (of duplicates, in a sample) that are not worth a finding.
_MAX_SPECK_FRACTION, _MAX_MERGED_FRACTION, _MAX_CUT_FRACTION = 0.3, 0.2, 0.15
_MAX_OPEN_FRACTION, _MAX_DUPLICATE_FRACTION = 0.1, 0.02
# Largest probability, over all pairs of images, with which as many small outlines are equal by chance as are in one.
_MAX_CHANCE = 0.01
# Among fewer images than this, none stands out.
_MIN_IMAGES = 5
# Distances of an image from the median of its side, in robust standard deviations, that are reported and serious.
_REPORTED_DISTANCE, _SERIOUS_DISTANCE = 5.0, 8.0
# These standard deviations are not taken as smaller than this, as images that agree by chance would make others stand
# out: logarithms, except that of circularity.
_MIN_SPREAD = {"number of curves": 0.25, "median area": 0.1, "median circularity": 0.02}
# Medians of the numbers of vertices may differ by this ratio between sides.
_MAX_VERTEX_RATIO = 1.25
# Fraction of a side left out to make up for smaller images that is worth a finding.
_MAX_WINDOW_FRACTION = 0.5
# Minimum median diameter of the objects in pixels.
_MIN_DIAMETER_PX = 10.0


@dataclass(frozen=True)
class Finding:
    """One defect, or possible defect, of the outlines.

    Attributes
    ----------
    check : str
        "few curves", "duplicates", "tracing", "open", "stands out", "specks", "gaps", "merged", "cut", "vertices",
        "pixels" or "windows".
    where : str
        The image, or the side or sides, concerned.
    serious : bool
        Whether the row of the truth table is withheld until someone has inspected the outlines.
    text : str
        A sentence without its period.
    limit : float, optional
        What the outlines exceed or fall below: a number, a fraction, a ratio, pixels or standard deviations.

    Examples
    --------
    >>> from napari_shape_ensembles import quality, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> few = quality(a, b[[i < 4 for i in range(len(b))]]).findings[0]
    >>> few.check, few.limit, few.where
    ('few curves', 10, 'Powder, field 2, drawn by hand')
    """

    check: str
    where: str
    serious: bool
    text: str
    limit: float | None = None


@dataclass(frozen=True)
class Quality:
    """Findings of the quality gate in two samples; falsy if there are none.

    Attributes
    ----------
    findings : tuple of Finding
        The serious ones first.

    Examples
    --------
    >>> from napari_shape_ensembles import quality, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> [finding.check for finding in quality(a, a).serious]
    ['duplicates']
    """

    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return bool(self.findings)

    @property
    def serious(self) -> tuple[Finding, ...]:
        """Findings to be inspected before there is a row."""
        return tuple(finding for finding in self.findings if finding.serious)

    @property
    def reason(self) -> str | None:
        """Reason why there is no row; None if nothing is serious."""
        if not self.serious:
            return None
        remedy = "trace all of them alike" if self.serious[0].check == "tracing" else "look at the outlines first"
        return f"{self.serious[0].text}: {remedy}"

    def to_dataframe(self) -> pd.DataFrame:
        """Table with one row per finding: check, where, serious, text, limit."""
        import pandas as pd  # slow to import, and not needed for the result

        rows = [vars(finding) for finding in self.findings]
        return pd.DataFrame(rows, columns=["check", "where", "serious", "text", "limit"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot which check found something where, filled if serious; returns the Matplotlib axes."""
        where = sorted({finding.where for finding in self.findings})
        ax = axes_of(ax, height=3.2)
        for finding in self.findings:
            mark, color, style = ("s", "C3", "full") if finding.serious else ("o", "C1", "none")
            place = where.index(finding.where), len(_CHECKS) - 1 - _CHECKS.index(finding.check)
            ax.plot(*place, mark, color=color, markersize=11, fillstyle=style)
        ax.set_xticks(range(len(where)), [fill(name, 24) for name in where], parse_math=False)
        ax.tick_params(axis="x", rotation=90 if len(where) > 4 else 0)
        ax.set_yticks(range(len(_CHECKS)), list(reversed(_CHECKS)))
        ax.set(xlim=(-0.5, max(len(where), 1) - 0.5), ylim=(-0.5, len(_CHECKS) - 0.5))
        ax.grid(axis="y", color="0.9")
        ax.set_axisbelow(True)
        notes = len(self.findings) - len(self.serious)
        words = f"{counted(len(self.serious), 'serious finding')} (squares), {counted(notes, 'note')} (circles)"
        ax.set_title(words if self else "nothing found", loc="left", fontsize="medium")
        return ax


def quality(a: Ensemble, b: Ensemble | None = None) -> Quality:
    """Check the outlines of two samples before they are compared, or those of one.

    Parameters
    ----------
    a : Ensemble
    b : Ensemble, optional
        Of one image each, or pooled (`Ensemble.pooled`); their `images` give the image of each curve.

    Returns
    -------
    Quality
        Serious are a side without curves, duplicate curves, unequal parameters of tracing, outlines that were open,
        more than 30 % of the objects rejected as too small by the default, outlines as irregular and unequal as gaps
        between objects, of which many reach the border, and images that differ from the others of their side by
        more than eight robust standard deviations in the number of curves, the median area or the median
        circularity. The rest are notes: fewer than ten curves on a side, specks among the curves, merged and
        cut objects, images that differ by five, polygons of few and unequal vertices, objects of too few pixels, and
        sides that lose more than half of their outlines to make up for smaller images of the other.

    References
    ----------
    B. Iglewicz, D. C. Hoaglin, "How to Detect and Handle Outliers", ASQC Quality Press (1993).

    Examples
    --------
    >>> from napari_shape_ensembles import quality, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quality(a, b).serious
    ()
    >>> quality(a[[i < 4 for i in range(len(a))]], b).findings[0].text
    'Powder, field 1, drawn by hand has only 4 curves: only large differences can be detected'
    """
    expect(a, Ensemble, "quality takes one ensemble or two")
    sides = [_checked(a.name or "A", a)]
    if b is not None:
        expect(b, Ensemble, "quality takes one ensemble or two")
        sides.append(_checked(b.name if b.name and b.name != a.name else "B", b))
    return _joined(sides)


def reasons_of_sets(samples: Sequence[Ensemble], sets: Iterable[Sequence[int]]) -> list[str | None]:
    """Return `quality(...).reason` of sets of samples of distinct names, by index; each sample is checked once."""
    sides = [_checked(sample.name, sample) for sample in samples]
    return [_joined([sides[place] for place in places]).reason for places in sets]


class _Checked(NamedTuple):
    """What is found in one sample, and what is compared with another."""

    name: str
    findings: list[Finding]
    keys: list[tuple[bytes, str]]  # of each outline of enough vertices, equal for duplicates, and where it is
    vertices: float  # median number per outline; 0 without outlines, and for traced ones
    tracing: Mapping[str, object]  # parameters by which they were traced


def _checked(name: str, ensemble: Ensemble) -> _Checked:
    """Check one sample by itself."""
    findings = []
    if len(ensemble) < _MIN_CURVES:
        few = f"only {counted(len(ensemble), 'curve')}: only large differences can be detected"
        text = f"{name} has {few if len(ensemble) else 'no curves'}"
        findings.append(Finding("few curves", name, not len(ensemble), text, _MIN_CURVES))
    if not len(ensemble):
        return _Checked(name, findings, [], 0.0, {})
    findings += _of_side(name, ensemble)
    # A key of each outline of enough vertices: without its position, but with its first vertex and its direction.
    starts, counts = ensemble.offsets[:-1], np.diff(ensemble.offsets)
    least, most = (extreme.reduceat(ensemble.vertices, starts) for extreme in (np.minimum, np.maximum))
    sizes = (most - least).max(axis=1)
    placed = (ensemble.vertices - np.repeat(least, counts, axis=0)) / np.repeat(sizes, counts)[:, None]
    shapes = np.split(np.round(placed * 1e6).astype("i8"), starts[1:])
    keys = [
        (f"{size:.6g}".encode() + shape.tobytes(), f"{image} ({name})" if image and image != name else name)
        for shape, size, image in zip(shapes, sizes.tolist(), ensemble.images.tolist(), strict=True)
        if len(shape) >= _MIN_COMPARED_VERTICES
    ]
    vertices = 0.0 if ensemble.tracing else float(np.median(counts))
    return _Checked(name, findings, keys, vertices, ensemble.tracing)


def _joined(sides: Sequence[_Checked]) -> Quality:
    """Combine the findings of samples, with their duplicates, and for two with few and unequal vertices."""
    findings = [finding for side in sides for finding in side.findings]
    # Duplicate outlines at any position: within an image, between images, between sides.
    owners: dict[bytes, list[str]] = {}
    for key, owner in (pair for side in sides for pair in side.keys):
        owners.setdefault(key, []).append(owner)
    totals = Counter(owner for places in owners.values() for owner in places)
    pairs = Counter((places[0], places[1]) for places in owners.values() if len(places) > 1)
    for (one, other), count in pairs.items():
        few = count <= max(1, _MAX_DUPLICATE_FRACTION * min(totals[one], totals[other]))
        if not few and not _may_be_chance(pairs, totals, (one, other)):
            where = f"in {one}" if one == other else f"in {one} and in {other}"
            text = f"{counted(count, 'outline')} occur twice, {where}"
            findings.append(Finding("duplicates", one, True, text, _MAX_DUPLICATE_FRACTION))
    for name in RECORDED_FIELDS:
        values = {side.name: side.tracing[name] for side in sides if name in side.tracing}
        if len(set(values.values())) > 1:
            how = " and ".join(f"{value} in {side}" for side, value in values.items())
            text = f"outlines were traced with unequal {parameters_of(Recipe)[name].label.lower()}: {how}"
            findings.append(Finding("tracing", ", ".join(values), True, text))
    if len(sides) == 2 and all(side.vertices for side in sides):
        a, b = sides
        low, high = sorted((a.vertices, b.vertices))
        # Polygons of more vertices are compared at one density; corners stay as they are.
        if low < MIN_CLICKED_VERTICES and high > _MAX_VERTEX_RATIO * low:
            text = (
                f"outlines have {a.vertices:g} vertices in {a.name} and {b.vertices:g} in {b.name}, in the median: a "
                "difference in roughness may come from how densely they were drawn"
            )
            findings.append(Finding("vertices", f"{a.name}, {b.name}", False, text, _MAX_VERTEX_RATIO))
    return Quality(tuple(sorted(findings, key=lambda finding: not finding.serious)))


def _may_be_chance(pairs: Counter[tuple[str, str]], totals: Counter[str], pair: tuple[str, str]) -> bool:
    """Whether two images have no more equal outlines than others let expect, as small ones are equal by chance."""

    def chances(one: str, other: str) -> float:
        return totals[one] * totals[other] / (2 if one == other else 1)

    elsewhere = sum(totals.values()) ** 2 / 2 - chances(*pair)
    expected = (pairs.total() - pairs[pair]) * chances(*pair) / elsewhere if elsewhere else 0.0
    of_pairs = len(totals) * (len(totals) + 1) / 2
    return bool(pdtrc(pairs[pair] - 1, expected) * of_pairs > _MAX_CHANCE)  # of as many or more


def _of_side(name: str, ensemble: Ensemble) -> Iterator[Finding]:
    """Checks of one sample, image by image."""
    yield from _left_out(name, ensemble)
    yield from _gaps(name, ensemble)
    yield from _windows(name, ensemble)
    images = list(dict.fromkeys(ensemble.images.tolist()))
    yield from _faults(name, ensemble, images)
    yield from _few_pixels(name, ensemble)
    if len(images) >= _MIN_IMAGES:
        yield from _unlike_others(name, ensemble, images)


def _left_out(name: str, ensemble: Ensemble) -> Iterator[Finding]:
    """Many objects below the default minimum area, which are usually fragments or background."""
    # Whoever raises it has chosen what is left out; what is too small for coarser pixels was an object in its image.
    limits = {
        reason.limit: count
        for reason, count in ensemble.dropped.items()
        if reason.key == "small" and reason.limit is not None and reason.limit <= Recipe.min_area and not reason.pixel
    }
    small = sum(limits.values())
    if small > max(1, _MAX_SPECK_FRACTION * (small + len(ensemble))):
        text = (
            f"{small} of {small + len(ensemble)} objects of {name} are {too_small(max(limits))}: specks, "
            "or fragments of objects"
        )
        yield Finding("specks", name, True, text, _MAX_SPECK_FRACTION)


def _gaps(name: str, ensemble: Ensemble) -> Iterator[Finding]:
    """Outlines as irregular and unequal as gaps between objects, of which many reach the border."""
    circularity, area = (ensemble.features[of].to_numpy() for of in ("circularity", "area"))
    reaching = sum(count for reason, count in ensemble.dropped.items() if reason.key in ("border", "masked"))
    spread = float(np.median(np.abs(np.log(area / np.median(area)))))
    irregular = float(np.median(circularity)) < _MAX_GAP_CIRCULARITY and spread > _MIN_GAP_SPREAD
    if len(ensemble) >= _MIN_GAPS and irregular and reaching > _MIN_GAPS_CUT * (reaching + len(ensemble)):
        text = (
            f"outlines of {name} are irregular (median circularity {np.median(circularity):.2f}) and of very unequal "
            "size: these may be the gaps between objects, or groups of them; invert bright and dark, or paint five "
            "objects"
        )
        yield Finding("gaps", name, True, text, _MAX_GAP_CIRCULARITY)


def _windows(name: str, ensemble: Ensemble) -> Iterator[Finding]:
    """Many outlines left out as the border of smaller images would have cut them."""
    beyond = ensemble.dropped.get(SMALLER_WINDOW, 0)
    if beyond > _MAX_WINDOW_FRACTION * (beyond + len(ensemble)):
        text = (
            f"{beyond} of {beyond + len(ensemble)} outlines of {name} were left out, as the border of much smaller "
            "images would have cut them: leave the smallest images out, or do not correct for the border"
        )
        yield Finding("windows", name, False, text, _MAX_WINDOW_FRACTION)


def _faults(name: str, ensemble: Ensemble, images: Sequence[str]) -> Iterator[Finding]:
    """Specks, merged, cut and open outlines of each image."""
    area, solidity = (ensemble.features[of].to_numpy() for of in ("area", "solidity"))
    usual = float(np.median(area))
    straight, gaping = _straight_and_gaping(ensemble)
    merged = (area > _MERGED_AREA * usual) & (solidity < np.median(solidity) - _MERGED_SOLIDITY)
    open_words = "were open: their closing edge is many times as long as the others"
    cut_words = "run straight along a row or column, as if cut off there"
    faults: Mapping[str, tuple[Mask, float, bool, str]] = {
        "specks": (
            area < _SPECK * usual,
            _MAX_SPECK_FRACTION,
            False,
            "are specks, smaller than a twentieth of the median area",
        ),
        "merged": (merged, _MAX_MERGED_FRACTION, False, "look like several objects in one"),
        "cut": (straight > _MIN_STRAIGHT_FRACTION, _MAX_CUT_FRACTION, False, cut_words),
        "open": (gaping, _MAX_OPEN_FRACTION, True, open_words),
    }
    for image in images:
        here, where = ensemble.images == image, image or name
        for check, (flags, most, serious, words) in faults.items():
            count = int(flags[here].sum())
            if count > max(1, most * here.sum()):
                yield Finding(check, where, serious, f"{count} of {here.sum()} outlines of {where} {words}", most)


def _straight_and_gaping(ensemble: Ensemble) -> tuple[Real, Mask]:
    """Share of each outline in its longest run along a row or column; whether its closing edge is far too long."""
    offsets = ensemble.offsets
    edges = ensemble.vertices[following(offsets)] - ensemble.vertices  # a curve's closing edge is its last
    curve, length = np.repeat(np.arange(len(ensemble)), np.diff(offsets)), np.linalg.norm(edges, axis=1)
    longest = np.zeros(len(ensemble))
    for axis in (0, 1):
        along = np.abs(edges[:, axis]) <= 1e-9 * length
        starts = np.flatnonzero(np.diff(np.concatenate([[-1], np.where(along, curve, -1 - np.arange(len(along)))])))
        np.maximum.at(longest, curve[starts], np.add.reduceat(np.where(along, length, 0), starts))
    closing, others = length[offsets[1:] - 1], length.copy()
    others[offsets[1:] - 1] = 0
    gaping = closing > _MAX_LONGEST_GAP * np.maximum.reduceat(others, offsets[:-1])
    for index in np.flatnonzero(gaping):
        gaping[index] = closing[index] > _MAX_MEDIAN_GAP * np.median(length[offsets[index] : offsets[index + 1] - 1])
    return longest / np.bincount(curve, length, minlength=len(ensemble)), gaping


def _few_pixels(name: str, ensemble: Ensemble) -> Iterator[Finding]:
    """Objects of so few pixels across that only coarse waves are resolved."""
    if ensemble.pixel_size is None:
        return
    across = float(np.median(ensemble.features["equivalent_diameter"])) / max(ensemble.pixel_size)
    if across < _MIN_DIAMETER_PX:
        text = (
            f"objects of {name} are {across:.1f} pixels across in the median: only the "
            f"{max(2, int(across * np.pi / 8))} coarsest waves are resolved; finer ones may be pixel steps"
        )
        yield Finding("pixels", name, False, text, _MIN_DIAMETER_PX)


def _unlike_others(name: str, ensemble: Ensemble, images: Sequence[str]) -> Iterator[Finding]:
    """Images that stand out from the others of their sample."""
    area, circularity = (ensemble.features[of].to_numpy() for of in ("area", "circularity"))
    here = [ensemble.images == image for image in images]
    measured = {
        "number of curves": np.log([np.count_nonzero(rows) for rows in here]),
        "median area": np.log([np.median(area[rows]) for rows in here]),
        "median circularity": np.array([np.median(circularity[rows]) for rows in here]),
    }
    for what, values in measured.items():
        apart = values - np.median(values)
        spread = max(1.4826 * float(np.median(np.abs(apart))), _MIN_SPREAD[what])
        for image, distance in zip(images, apart / spread, strict=True):
            if abs(distance) > _REPORTED_DISTANCE:
                text = (
                    f"{image} stands out from the other images of {name}: its {what} lies {abs(distance):.1f} robust "
                    f"standard deviations {'above' if distance > 0 else 'below'} theirs"
                )
                yield Finding("stands out", image, abs(distance) > _SERIOUS_DISTANCE, text, _REPORTED_DISTANCE)
