"""Output for a publication: one figure, a paragraph of methods, tables of objects and of images."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import comb
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..comparison import Comparison, Experiment, Settings
from ..comparison.answer import PART_NAMES, names_of, p_words, titles_of
from ..comparison.border import weights_in_words
from ..comparison.design import NO_REQUESTED_TESTS, RequestedTests
from ..comparison.estimates import geometric_means
from ..comparison.figures import plot_typical
from ..comparison.fragility import checks_in_words
from ..comparison.result import software_versions
from ..comparison.verdict import PERMUTATION, SMALL_SAMPLE
from ..mmd.permutations import bin_size
from ..outlines import Ensemble, Outlines
from ..outlines.reasons import BY_HAND, Reason
from ..outlines.recipe import PIXEL_SIZE, TRACING
from ..palette import COLOR_A, COLOR_B, with_log_ticks
from ..parameters import matters, parameters_of
from ..words import account_of, counted, listed
from .checklist import checklist
from .figures import style
from .headline import Headline

if TYPE_CHECKING:
    import pandas as pd


_COLORS = {"A": COLOR_A, "B": COLOR_B}
_QUANTITIES = ("size", "elongation", "roughness")
_MEASURES = {"affine": "affine arc length (that of the whitened outline)", "arc-length": "arc length"}
_SIZE = (
    "Size is the geometric mean of the RMS extents of an outline along its two principal axes (the standard deviations "
    "of its landmarks), and elongation their ratio."
)
_MMD = "the maximum mean discrepancy (Gretton et al. 2012)"
_LAUTER = "the test of Läuter, Glimm and Kropf (1998)"
# Ratios that are not those of geometric means, by what sentences call them.
_OTHER_RATIOS = {
    "mean area": "for areas of arithmetic means",
    "varied in size": "for the spread of size of standard deviations of its logarithm",
}
_PERMUTED = {
    "replicates": "whole replicates",
    "images": "whole images",
    "curves": "single outlines where neither group has replicates",
}
_MAX_DOTS = 2000  # outlines drawn of each side at most
_TICK_LETTERS = 12  # letters of a group's name in a line below an axis


def answer_figure(result: Comparison, known: Headline) -> Figure:
    """Draw typical outlines, and size, elongation and roughness of every outline and replicate, with the headline.

    Gray dots are outlines (at most 2000 a side), black circles the geometric means of replicates (of images if none
    were permuted), bars those of the sides: of the replicates' means if these were permuted. Axes are logarithmic.
    """
    parts, first = result.components, len(result.a)
    rng = np.random.default_rng(0)
    with style():
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        outline, *panels = figure.subplots(1, 1 + len(_QUANTITIES), width_ratios=[2.2, 1, 1, 1])
        names = [fill(name, _TICK_LETTERS) for name in names_of(result)]
        plot_typical(known.outlines, names, result.a.unit, outline, means=known.means)
        for axis, name in zip(panels, _QUANTITIES, strict=True):
            values, of_replicates = np.exp(parts[name]), geometric_means(result, parts[name])
            for place, (side, own) in enumerate((("A", values[:first]), ("B", values[first:]))):
                shown = own if len(own) <= _MAX_DOTS else rng.choice(own, _MAX_DOTS, replace=False)
                axis.plot(
                    place + rng.uniform(-0.3, 0.3, len(shown)), shown, ".", color="0.7", markersize=2, rasterized=True
                )
                means = [*of_replicates[place].values()]
                offsets = np.linspace(-0.2, 0.2, len(means)) if len(means) > 1 else np.zeros(1)
                if len(means) > 1:
                    axis.plot(place + offsets, means, "o", color=_COLORS[side], markeredgecolor="black", markersize=5)
                weights = np.split(result.weights, [first])[place]
                middle = (
                    np.average(np.log(own), weights=weights) if result.permuted == "curves" else np.log(means).mean()
                )
                axis.plot([place - 0.35, place + 0.35], [np.exp(middle)] * 2, color="black")
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
    notes: Sequence[str] = (),
    files: Collection[str] = (),
) -> str:
    """Write the paragraph on methods, with counts, settings and versions, then the result and a checklist.

    Parameters
    ----------
    result : Comparison
    outlines : Outlines or None
        Recipe of the outlines, if known.
    known : Headline
        Headline of this result.
    kinds : collection of {"image", "labels", "shapes", "file", "picked"}
        What the outlines come from: only images are segmented, and shapes are not traced either.
    proposal : int
        Which of the proposed recipes it is, 1 for the first; 0 if it was not proposed.
    notes : sequence of str
        Sentences on the images, such as that outlines were picked by hand.
    files : collection of str
        Names of files beside the text that hold all settings, for the checklist.
    """
    settings, said = result.settings, list(notes)
    for title, side in zip(titles_of(result), (result.a, result.b), strict=True):
        images = len(set(side.images.tolist()))
        left_out = "; ".join(account_of(side.dropped, side.filled))
        said.append(
            f"Sample {title} had {counted(len(side), 'outline')} in {counted(images, 'image')}"
            f"{f' ({left_out})' if left_out else ''}."
        )
    said.append(_pixels([result.a, result.b]))
    said += _origin(outlines, kinds, proposal)
    if result.note:
        said.append(f"{result.note}.")
    if result.settings.overrule and (faults := [one.text for one in result.quality.findings if one.serious]):
        said.append(f"The result is given despite faults of the outlines: {'; '.join(faults)}.")
    said.append(_coordinates(settings, result.space.rank_))
    said.append(
        f"Form and scale were compared by {_test_of(result)}. Each was tested at a level of {settings.test_level:g}, "
        f"so that the result has a level of {settings.significance:g} (seed {settings.seed}).{_combination(result)}"
    )
    said += [_SIZE, *filter(None, [weights_in_words(result.size_factors)])]
    if has_ratios := "times" in known.sentence:
        how = "Student's (Welch's) over the means of images"
        if result.permuted == "curves":
            how = "symmetric bootstrap-t over outlines, or Student's (Welch's) for fewer than five"
            how += ", of the spread of size with the quantile of permuted labels" * ("varied in size" in known.sentence)
            how += ", of the roughness Student's" * any(word in known.sentence for word in ("rougher", "smoother"))
        others = " and ".join(words for phrase, words in _OTHER_RATIOS.items() if phrase in known.sentence)
        but = f", but {others}" if others else ""
        said.append(f"Ratios are those of geometric means{but}; their 95 % intervals are {how}.")
    if known.missed:
        said.append("Differences that could have been missed are the ends of 95 % intervals.")
    said += checks_in_words(result)
    said.append(_software(result.versions))
    found = " ".join(words for words in (known.opening, known.sentence, known.missed, known.scope) if words)
    intervals = "; brackets hold 95 % intervals" if has_ratios else ""
    answer = f"{found} ({p_words(result)}{intervals}.)"
    used = f"All settings of the comparison: {_described(settings)}."
    by_hand = sum(side.dropped.get(BY_HAND, 0) for side in (result.a, result.b))
    checks = checklist(outlines, result.versions, kinds, by_hand, files)
    return "\n\n".join(["Methods", " ".join(said), "Result", answer, used, checks]) + "\n"


def experiment_methods(
    result: Experiment,
    outlines: Outlines | None,
    *,
    kinds: Collection[str] = ("image",),
    proposal: int = 0,
    requested: RequestedTests = NO_REQUESTED_TESTS,
    notes: Sequence[str] = (),
    files: Collection[str] = (),
) -> str:
    """Write the paragraph on methods of an experiment, followed by the results, caveats and a checklist; see `methods`.

    `requested` are covariates that were adjusted for, and interactions tested.
    """
    settings, design, groups, said = result.settings, result.design, result.groups, []
    of_image = design.group[design.of_image]
    for place, name in enumerate(design.groups):
        own = [image for image, group in zip(groups.images, of_image, strict=True) if group == place]
        replicates, dropped = int((design.group == place).sum()), Counter[Reason]()
        for image in own:
            dropped.update(image.dropped)
        left_out = "; ".join(account_of(dropped, sum(image.filled for image in own)))
        of = "" if replicates == len(own) else f" of {counted(replicates, 'replicate')}"
        said.append(
            f"Group {name} had {counted(sum(map(len, own)), 'outline')} in {counted(len(own), 'image')}{of}"
            f"{f' ({left_out})' if left_out else ''}."
        )
    said += [_pixels(groups.images), *_origin(outlines, kinds, proposal)]
    said += [f"{groups.note}."] * bool(groups.note)
    said.append(_coordinates(settings, groups.learned.space.rank_))
    said += [*_tests_of(result), _SIZE, *filter(None, [weights_in_words(groups.size_factors)])]
    columns = [f"adjusted for {', '.join(requested.given)}"] * bool(requested.given)
    columns += [f"tested for the interaction of {one} and {other}" for one, other in requested.interactions]
    said += [f"Tests of all groups and of trends were also {'; '.join(columns)}."] * bool(columns)
    said.append(
        "Ratios are those of geometric means of the replicates, with 95 % intervals. " + _software(software_versions())
    )
    answers = [*result.overall(requested.given, requested.interactions), *result.sentences()]
    caveats = [*notes, *result.warnings]
    used = f"All settings of the comparison: {_described(settings)}."
    by_hand = sum(image.dropped.get(BY_HAND, 0) for image in groups.images)
    checks = checklist(outlines, software_versions(), kinds, by_hand, files)
    parts = [
        "Methods",
        " ".join(said),
        "Results",
        "\n".join(answers),
        *(["Caveats", "\n".join(caveats)] if caveats else []),
    ]
    return "\n\n".join([*parts, used, checks]) + "\n"


def _tests_of(result: Experiment) -> list[str]:
    """Describe the tests of an experiment, and how their p-values were adjusted."""
    settings, table, design = result.settings, result.table, result.design
    units = [words for name, words in _PERMUTED.items() if (table["permuted"] == name).any()]
    blocks = " within blocks" if design.blocks is not None else ""
    said = (
        f"Groups were compared by {_MMD}, with p-values from {settings.permutations} permutations, or all if there are "
        f"fewer, of {listed(units) or 'replicates'}{blocks}"
    )
    if (table["decided_by"] == SMALL_SAMPLE).any():
        said += f"; where so few replicates cannot reach the level by permutation, by {_LAUTER}"
    against = f"all groups with {design.control}" if design.control else "all pairs of groups"
    how = "the false discovery rate (Benjamini and Hochberg)"
    if result.correction == "family":
        closed = (table["permuted"] != "curves").all() and (table["decided_by"] == PERMUTATION).all()
        how = f"the family-wise error rate ({'closed testing' if closed else 'Holm'})"
    adjusted = (
        f" The p-values of {counted(len(table), 'contrast')} ({against}) were adjusted for {how}."
        if len(table) > 1
        else ""
    )
    return [
        f"{said}. Form and scale were tested each at a level of {settings.test_level:g}, so that a row has a level of "
        f"{settings.significance:g} (seed {settings.seed}).{adjusted}"
    ]


def _coordinates(settings: Settings, rank: int) -> str:
    return (
        f"Each outline was sampled at {settings.landmarks} landmarks, equally spaced in {_MEASURES[settings.measure]}, "
        "split into form (undulation) and scale (size and elongation) as separable shape tensors (Grey et al. 2024), "
        f"and registered; {rank} coordinates of form were kept."
    )


def _software(versions: Mapping[str, str]) -> str:
    return f"Software: {', '.join(f'{name} {version}' for name, version in versions.items())}."


def _pixels(images: Sequence[Ensemble]) -> str:
    """State the pixel size if all images have the same, as they do after a comparison of images, or the unit."""
    unit, size = images[0].unit, images[0].pixel_size
    if unit == "pixel" or size is None or any(image.pixel_size != size for image in images):
        return f"Sizes are in {'pixels' if unit == 'pixel' else unit}."
    height, width = size
    return f"Outlines were compared at pixels of {height:g} × {width:g} {unit}."


def _test_of(result: Comparison) -> str:
    """Describe the test, and what its p-values are based on."""
    if result.decided_by == SMALL_SAMPLE:
        return f"{_LAUTER}, a {result.undulation.approximation}"
    return f"{_MMD}, with p-values from {_null(result)}"


def _null(result: Comparison) -> str:
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


def _origin(outlines: Outlines | None, kinds: Collection[str], proposal: int) -> list[str]:
    """Describe how the outlines were found, for each kind of source, and that the recipe was proposed."""
    if outlines is None:
        return []
    said = []
    if {"image", "file"} & {*kinds}:
        said.append(f"Objects were segmented and outlined with these parameters: {_described(outlines)}.")
        if proposal:
            said.append(
                f"This recipe was number {proposal} of those proposed: several were tried on parts of the images and "
                "ranked by measures of the outlines, without regard to groups."
            )
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
    of_images = {name: geometric_means(result, parts[name], by_image=True) for name in _QUANTITIES}
    for place, (side, ensemble) in enumerate(zip(result.names, (result.a, result.b), strict=True)):
        for image, count in Counter(ensemble.images.tolist()).items():
            means = {name: found[place][image] for name, found in of_images.items()}
            rows.append({"sample": side, "image": image, "outlines": count, "unit": ensemble.unit, **means})
    return pd.DataFrame(rows)
