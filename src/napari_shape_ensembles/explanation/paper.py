"""Output for a publication: one figure, a paragraph of methods, tables of objects and of images."""

from collections.abc import Collection
from math import comb
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..comparison import Comparison
from ..comparison.answer import PART_NAMES, names_of, p_words, titles_of
from ..comparison.figures import plot_typical
from ..comparison.fragility import checks_in_words
from ..comparison.verdict import SMALL_SAMPLE
from ..mmd.permutations import bin_size
from ..outlines import Outlines
from ..outlines.recipe import PIXEL_SIZE, TRACING
from ..palette import COLOR_A, COLOR_B, with_log_ticks
from ..parameters import matters, parameters_of
from ..words import account_of, counted
from .figures import style
from .headline import Headline

if TYPE_CHECKING:
    import pandas as pd


_COLORS = {"A": COLOR_A, "B": COLOR_B}
_QUANTITIES = ("size", "elongation", "roughness")
_MEASURES = {"affine": "affine arc length (that of the whitened outline)", "arc-length": "arc length"}
_MAX_DOTS = 2000  # outlines drawn of each side at most
_TICK_LETTERS = 12  # letters of a group's name in a line below an axis


def answer_figure(result: Comparison, known: Headline) -> Figure:
    """Draw typical outlines, and size, elongation and roughness of every outline and image.

    Parameters
    ----------
    result : Comparison
    known : Headline
        Headline of this result.

    Returns
    -------
    matplotlib Figure
        Gray dots are outlines (at most 2000 a side), black circles the geometric means of images, bars those of the
        sides: of the images' means if images were permuted. Axes are logarithmic.
    """
    parts, first = result.components, len(result.a)
    rng = np.random.default_rng(0)
    with style():
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        outline, *panels = figure.subplots(1, 1 + len(_QUANTITIES), width_ratios=[2.2, 1, 1, 1])
        names = [fill(name, _TICK_LETTERS) for name in names_of(result)]
        plot_typical(known.outlines, names, result.a.unit, outline, means=known.means)
        for axis, name in zip(panels, _QUANTITIES, strict=True):
            values = np.exp(parts[name])
            for place, (side, own, images) in enumerate(
                (("A", values[:first], result.a.images), ("B", values[first:], result.b.images))
            ):
                shown = own if len(own) <= _MAX_DOTS else rng.choice(own, _MAX_DOTS, replace=False)
                axis.plot(
                    place + rng.uniform(-0.3, 0.3, len(shown)), shown, ".", color="0.7", markersize=2, rasterized=True
                )
                means = [np.exp(np.log(own[images == image]).mean()) for image in dict.fromkeys(images.tolist())]
                offsets = np.linspace(-0.2, 0.2, len(means)) if len(means) > 1 else np.zeros(1)
                if len(means) > 1:
                    axis.plot(place + offsets, means, "o", color=_COLORS[side], markeredgecolor="black", markersize=5)
                weighed = means if result.permuted != "curves" else own
                axis.plot([place - 0.35, place + 0.35], [np.exp(np.log(weighed).mean())] * 2, color="black")
            with_log_ticks(axis)
            axis.set(xlim=(-0.6, 1.6), title=f"{name}, {result.a.unit}" if name == "size" else name)
            axis.set_xticks([0, 1], names)
            axis.spines[["top", "right"]].set_visible(False)
    return figure


def methods(
    result: Comparison,
    outlines: Outlines | None,
    known: Headline,
    *,
    kinds: Collection[str] = ("image",),
    proposal: int = 0,
) -> str:
    """Write the paragraph on methods, with counts, settings and versions, followed by the result.

    Parameters
    ----------
    result : Comparison
    outlines : Outlines or None
        Recipe of the outlines, if known.
    known : Headline
        Headline of this result.
    kinds : collection of {"image", "labels", "shapes"}
        What the outlines come from: only images are segmented, and shapes are not traced either.
    proposal : int
        Which of the proposed recipes it is, 1 for the first; 0 if it was not proposed.
    """
    settings, said = result.settings, []
    for title, side in zip(titles_of(result), (result.a, result.b), strict=True):
        images = len(set(side.images.tolist()))
        left_out = "; ".join(account_of(side.dropped, side.filled))
        said.append(
            f"Sample {title} had {counted(len(side), 'outline')} in {counted(images, 'image')}"
            f"{f' ({left_out})' if left_out else ''}."
        )
    said.append(_pixels(result))
    if outlines is not None:
        said += _origin(outlines, kinds)
        if proposal and "image" in kinds:
            said.append(
                f"This recipe was number {proposal} of those proposed: several were tried on parts of the images and "
                "ranked by measures of the outlines, without regard to groups."
            )
    if result.note:
        said.append(f"{result.note}.")
    if result.settings.overrule and (faults := [one.text for one in result.quality.findings if one.serious]):
        said.append(f"The result is given despite faults of the outlines: {'; '.join(faults)}.")
    said.append(
        f"Each outline was sampled at {settings.landmarks} landmarks, equally spaced in {_MEASURES[settings.measure]}, "
        "split into form (undulation) and scale (size and elongation) as separable shape tensors (Grey et al. 2024), "
        f"and registered; {result.space.rank_} coordinates of form were kept."
    )
    said.append(
        f"Both were compared by the maximum mean discrepancy (Gretton et al. 2012), with p-values from "
        f"{_null(result)}, each at a level of {settings.test_level:g}, so that the result has a level of "
        f"{settings.significance:g} (seed {settings.seed}).{_combination(result)}"
    )
    said.append(
        "Size is the geometric mean of the RMS extents of an outline along its two principal axes (the standard "
        "deviations of its landmarks), and elongation their ratio."
    )
    if has_ratios := "times" in known.sentence:
        how = "Student's (Welch's) over the means of images"
        if result.permuted == "curves":
            how = "symmetric bootstrap-t over outlines, or Student's (Welch's) for fewer than five"
        said.append(f"Ratios are those of geometric means; their 95 % intervals are {how}.")
    if known.missed:
        said.append("Differences that could have been missed are the ends of 95 % intervals.")
    said += checks_in_words(result)
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    said.append(f"Software: {versions}.")
    found = " ".join(words for words in (known.opening, known.sentence, known.missed, known.scope) if words)
    intervals = "; brackets hold 95 % intervals" if has_ratios else ""
    answer = f"{found} ({p_words(result)}{intervals}.)"
    used = f"All settings of the comparison: {_described(settings)}."
    return "\n\n".join(["Methods", " ".join(said), "Result", answer, used]) + "\n"


def _pixels(result: Comparison) -> str:
    """State the pixel size if both samples have the same, as they do after a comparison of images, or the unit."""
    unit, size = result.a.unit, result.a.pixel_size
    if unit == "pixel" or size is None or size != result.b.pixel_size:
        return f"Sizes are in {'pixels' if unit == 'pixel' else unit}."
    height, width = size
    return f"Outlines were compared at pixels of {height:g} × {width:g} {unit}."


def _null(result: Comparison) -> str:
    """Describe what the p-values are based on."""
    test, (a, b) = result.undulation, result.image_counts
    if not len(test.null):
        return f"a {test.approximation}"
    if result.permuted == "curves":
        first, total = len(result.a), len(result.a) + len(result.b)
        size = bin_size(first, total, result.settings.bins)
        units = "single outlines" if size == 1 else f"random bins of {size} outlines"
        approximate = f" ({test.approximation})" if test.approximation else ""
        return f"{len(test.null)} random permutations of {units}{approximate}"
    every = len(test.null) + 1 == comb(a + b, a)
    return (
        f"all {comb(a + b, a)} permutations of whole images"
        if every
        else (f"{len(test.null)} random permutations of whole images")
    )


def _origin(outlines: Outlines, kinds: Collection[str]) -> list[str]:
    """Describe how the outlines were found, for each kind of source."""
    said = []
    if "image" in kinds:
        said.append(f"Objects were segmented and outlined with these parameters: {_described(outlines)}.")
    if "labels" in kinds:
        tracing = _described(outlines, (TRACING, PIXEL_SIZE))
        said.append(f"Given labels were not segmented, but traced with these parameters: {tracing}.")
    if "shapes" in kinds:
        said.append("Given outlines were used as they are.")
    return said


def _combination(result: Comparison) -> str:
    """Describe which parts the tests combine, and how."""
    tests = {"undulation": result.undulation, "scale": result.scale}
    if max(len(test.parts) for test in tests.values()) < 2 or result.decided_by == SMALL_SAMPLE:
        return ""
    parts = {name: [PART_NAMES.get(part, part) for part in test.parts] for name, test in tests.items() if test.parts}
    listed = "; ".join(f"{name}: {', '.join(own)}" for name, own in parts.items())
    how = "their smallest p-value on the same permutations (min-p)"
    if not len(result.undulation.null):
        how = "their smallest p-value with Bonferroni's correction"
    return f" The parts of each test ({listed}) were combined by {how}."


def _described(choices: Outlines | object, groups: Collection[str] = ()) -> str:
    """List every relevant parameter, with its unit; only those of some groups, if any are given."""
    fields = {
        name: declared
        for name, declared in parameters_of(type(choices)).items()
        if declared.group in (groups or (declared.group,))
    }
    values = {name: getattr(choices, name) for name in fields if matters(choices, name)}
    return "; ".join(
        f"{fields[name].label.lower()}: {fields[name].shown(value)} {fields[name].unit}".rstrip()
        for name, value in values.items()
        if value is not None
    )


def image_table(result: Comparison) -> "pd.DataFrame":
    """Table with one row per image: its outlines, and the geometric means of size, elongation and roughness."""
    import pandas as pd

    parts, rows = result.components, []
    sides = np.repeat(result.names, [len(result.a), len(result.b)])
    images = np.concatenate([result.a.images, result.b.images])
    for side, ensemble in zip(result.names, (result.a, result.b), strict=True):
        for image in dict.fromkeys(ensemble.images.tolist()):
            own = (sides == side) & (images == image)
            means = {name: float(np.exp(parts[name][own].mean())) for name in _QUANTITIES}
            rows.append({"sample": side, "image": image, "outlines": int(own.sum()), "unit": ensemble.unit, **means})
    return pd.DataFrame(rows)
