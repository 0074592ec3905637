"""A reference: many images of the accepted kind, by which others are judged: one more of this kind, or unlike them?

The image, or the replicate, is what is exchangeable, not the outline. A query joins the images of the reference,
equally many outlines are drawn from each, and each gets a score of how unlike the others it is. If the query is one
more image of the kind, every rank of its score is equally probable, whatever the distribution: this is full conformal
inference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import ceil, inf, isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._types import Index, Real
from ..archive import ContentError, Tree
from ..checks import whole
from ..mmd.replicates import adjusted
from ..mmd.sequential import martingale
from ..outlines import Ensemble
from ..outlines.acquisition import Acquisition, acquired_as
from ..parameters import from_tree
from ..parameters import tree as tree_of
from ..progress import Listener, over_blocks, report, reporting
from ..shapes.ranks import conformal_p_values
from ..words import counted, distinct, listed, p_text
from . import records
from .border import at_one_window
from .compare import settings_of
from .inputs import Inputs
from .reference_measures import (
    QUANTITIES,
    Measured,
    Unlikeness,
    by_test,
    drawn,
    joint,
    measure,
    quantities,
    resolved,
)
from .reference_words import acquisition, folder_sentences, what_differs
from .result import software_versions
from .samples import require_given_once, sample_of
from .saved import REFERENCE, Saved
from .settings import Settings

if TYPE_CHECKING:
    import pandas as pd

#: The two tests, as `differs` names them.
TESTS = ("form", "scale")
#: Level of the judgement of one image.
LEVEL = 0.05
Correction = Literal["none", "fdr", "family"]

# With fewer images nothing can be said of how images of the kind vary.
_MIN_IMAGES = 3
# Share of the reference images that are compared, at least, even if more outlines could be drawn of the others.
_COMPARED = 0.5
# Images with as many outlines as are drawn from the query, divided by this, are compared: with fewer, descriptors of a
# skewed distribution give scores of another distribution. docs/evidence/reference.md has the false alarms.
_RATIO = 4
# Scores that differ by less are equal.
_ROUNDING = 1e-12
# Sides of the field of view that are larger by less.
_SAME_WINDOW = 1.05
_OTHER_SIDES = "its pixels have other proportions than those of the reference: trace both from pixels of equal ones"
# Seeds of the draws from a query, from the images of a reference, and from those of a chart.
_QUERY, _REFERENCE, _CHART = 0, 1, 2


class _View(NamedTuple):
    """Acquisition and field of view at which a query is compared, if they are not those of the reference."""

    acquired: Acquisition | None = None
    polygons: Ensemble | None = None  # by which its vertices are spaced
    window: tuple[float, float] | None = None


class _Query(NamedTuple):
    """An image as it is compared with the reference, why it cannot be, and what was changed or left out for that."""

    image: Ensemble
    view: _View
    measured: Measured
    reason: str
    notes: list[str]


class _Compared(NamedTuple):
    """Images of the reference with the outlines drawn from each, as a query is compared with them."""

    images: Sequence[Measured]
    quantities: Mapping[str, Real]  # name -> (U,)
    usual: Mapping[str, float]  # name -> mean over all images, of all their outlines


class Reference(Saved):
    """Images of one accepted kind; each other image is judged to be one more of them, or not.

    Parameters
    ----------
    ensembles : Ensemble, or sequence of Ensemble
        The images, at least three; one ensemble may hold several (`Ensemble.images`). Brought to one precision.
    settings : Settings, optional
        How landmarks are placed; and the seed of the draws.
    replicates : sequence of str, optional
        Replicate of each ensemble, or of each of its images, such as the dish or the day, if images of one are more
        alike than others: then replicates are exchangeable, and one image of each is drawn. By default each image is a
        replicate.
    significance : float
        Level of the judgement of one image. (`Settings.significance` is that of the tests of a comparison.)
    outlines : int, optional
        Number of outlines drawn from each image (of a query of fewer, all); images of fewer than are drawn from the
        query are not compared, and p-values are exact. By default as many as the query has, at most; images with less
        than a quarter of it are not compared, unless less than half of the images, or too few for the level, would
        remain: then fewer are drawn from the query.
    inputs : Inputs, optional
        Files and recipe that the outlines were made of, for the record.

    Attributes
    ----------
    images : tuple of Ensemble
    replicates : tuple of str

    Raises
    ------
    ValueError
        For fewer than three images or replicates, an image without outlines or given twice, or units that cannot be
        converted.

    Notes
    -----
    With n images, the query makes n + 1, and all of them are treated alike: descriptors are standardized over their
    outlines, and their means and mean absolute values over the images; the score of an image is its squared
    Mahalanobis distance from the middle. The p-value, (1 + number of reference images of at least the query's score) /
    (n + 1), is p or less with a probability of at most p if the query is one more image of the kind, for any
    distribution. The least one is 1 / (n + 1): 0.05 needs 19 images, and 0.01 needs 99.

    The mean of few outlines scatters more than that of many. Scores allow for it (`reference_measures.unlikeness`), and
    no image shows more outlines than the query: one that has more is drawn from, by the seed. With equal numbers, as
    with `outlines`, p-values are exact, given the numbers, if these say nothing of the shapes; with unequal ones they
    are approximate, as the mean of fewer outlines is also more skewed. The false alarms that were simulated are not
    above the level beyond chance (docs/evidence/reference.md).

    A query of coarser outlines (of larger pixels, smoothed more, clicked, on whole pixels), or of a smaller field of
    view, is compared with what the images of the reference would be if acquired so (`outlines.precision`, `border`);
    one of finer outlines or a larger field, as if acquired like the reference. Then p-values are approximate.

    `differs` is a closed test: it is decided by one score of form and scale together, and names that of the two that is
    also unlike by itself, so that a wrong name is at most as probable as the level.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", Springer (2005).
    S. Bates, E. Candès, L. Lei, Y. Romano, M. Sesia, "Testing for outliers with conformal p-values", Annals of
    Statistics 51 (2023) 149-178: the false discovery rate over several queries.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, Reference, Settings
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> rng = np.random.default_rng(0)
    >>> usual = [Ensemble(draw_forms(rng, 12, roughness=0.05, waves=(8, 12)), name=f"day {i}") for i in range(20)]
    >>> rough = Ensemble(1.5 * draw_forms(rng, 12, roughness=0.15, waves=(8, 12)), name="query")
    >>> reference = Reference(usual, Settings(landmarks=100))
    >>> table = reference.judge([rough])
    >>> table[["name", "differs", "p_form", "least_p"]].round(3).values.tolist()
    [['query', 'both', 0.048, 0.048]]
    >>> print(table["what"][0])
    larger, 1.5 times; rougher, 2.94 times; more concave, 3.6 times
    """

    FORMAT = REFERENCE

    def __init__(
        self,
        ensembles: Ensemble | Sequence[Ensemble],
        settings: Settings | None = None,
        *,
        replicates: Sequence[str] | None = None,
        significance: float = LEVEL,
        outlines: int | None = None,
        inputs: Inputs | None = None,
    ) -> None:
        self.settings = settings_of(settings, "pass the other images in one list", {})
        if not 0 < significance < 1:
            raise ValueError(f"significance must be between 0 and 1, not {significance!r}")
        self.significance = float(significance)
        self.outlines = None if outlines is None else whole(outlines, "outlines", least=1)
        self.inputs = inputs
        self.versions = software_versions()
        given = _ensembles(ensembles)
        parts = [by_image(ensemble) for ensemble in given]
        if replicates is not None and len(replicates) == len(given):
            replicates = [label for label, part in zip(replicates, parts, strict=True) for _ in part]
        images = [_in_unit(image, given[0].unit) for part in parts for image in part]
        if empty := [image.name or "an image" for image in images if not len(image)]:
            raise ValueError(f"{listed(empty)}: no usable outline: check the segmentation, or leave the image out")
        images, self.note = _at_one_precision(images)
        names = distinct([image.name for image in images])
        self.images = tuple(_named(image, name) for image, name in zip(images, names, strict=True))
        require_given_once(self.images)
        if replicates is not None and len(replicates) != len(images):
            raise ValueError(f"{counted(len(images), 'image')} need as many replicates, not {len(replicates)}")
        self.replicates = tuple(names if replicates is None else map(str, replicates))
        units = len(set(self.replicates))
        if units < _MIN_IMAGES:
            what = "images" if replicates is None else "replicates"
            raise ValueError(
                f"a reference needs at least {_MIN_IMAGES} {what} of the accepted kind, not {units}: add some; to show "
                f"p = {self.significance:g} it needs {self._needed}"
            )
        self._acquired = [Acquisition.of(image) for image in self.images]
        self._seen: dict[_View, Sequence[Ensemble]] = {_View(): self.images}
        self._at: dict[_View, list[Measured]] = {_View(): measure(self.images, self.settings)}
        self._compared: dict[tuple[Any, ...], _Compared] = {}
        if (many := len(self._chosen(_View(), self.outlines or 1))) < _MIN_IMAGES:
            raise ValueError(
                f"{counted(many, 'image')} of the reference {'has' if many == 1 else 'have'} {self.outlines} outlines: "
                "draw fewer from each"
            )

    def __len__(self) -> int:
        return len(set(self.replicates))

    def __repr__(self) -> str:
        return f"Reference({self.summary()})"

    @property
    def unit(self) -> str:
        """Unit of the outlines."""
        return self.images[0].unit

    @property
    def least_p(self) -> float:
        """Least p-value that the reference can show."""
        return 1 / (len(self) + 1)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats, in sentences."""
        said = [f"{self.note}."] if self.note else []
        if self.least_p > self.significance:
            said.append(
                f"{self._units} can show p = {p_text(self.least_p, self.significance)} at best: to show "
                f"{self.significance:g}, {self._needed} are needed."
            )
        if self.unit == "pixel":
            said.append("Sizes are compared in pixels: make sure all images have the same pixel size.")
        return tuple(said)

    def summary(self) -> str:
        """What the reference is made of, as one sentence."""
        total = sum(map(len, self.images))
        count = "" if len(self) == len(self.images) else f"{counted(len(self.images), 'image')} of "
        least, most = (extreme(map(len, self.images)) for extreme in (min, max))
        return (
            f"{count}{self._units}, {counted(total, 'outline')} in {self.unit} ({least} to {most} an image); "
            f"least p {p_text(self.least_p, self.significance)}"
        )

    @property
    def _units(self) -> str:
        return counted(len(self), "image" if len(self) == len(self.images) else "replicate")

    @property
    def _needed(self) -> int:
        """Number of images with which a p-value can reach the level."""
        return ceil(1 / self.significance - 1e-9) - 1

    # ------------------------------------------------------------------------------------------------ judging

    def judge(
        self,
        images: Ensemble | Sequence[Ensemble],
        *,
        correction: Correction = "none",
        progress: Listener | None = None,
    ) -> pd.DataFrame:
        """Judge whether each image is one more of the reference's kind.

        Parameters
        ----------
        images : Ensemble, or sequence of Ensemble
            Such as `io.read_folder` returns; one ensemble may hold several images.
        correction : {"none", "fdr", "family"}
            What `differs` keeps below the level: for each image, the probability of a false alarm; over all of them,
            the false discovery rate (Benjamini and Hochberg); or the probability of any false alarm (Holm).
        progress : callable, optional
            Called with the `Progress` of each step before it starts.

        Returns
        -------
        DataFrame
            One row an image:

            - name; outlines, their number; drawn, the largest number drawn from an image; compared, the number of
              reference images.
            - p_form, p_scale; p, that of both together; p_adjusted, for all images, by the false discovery rate unless
              the correction is "family"; least_p, the least p-value with so many images.
            - differs: "nothing", "form", "scale", "both", or None, with a reason.
            - what: the quantities of what differs that are unusual, with their ratio to the reference.
            - size, spread of size, elongation, coarse form, roughness, concavity: ratio to the reference's mean, of
              geometric means over all outlines; of the spread, of standard deviations of log size.
            - remarks: on its precision, its number of outlines, its field of view, and whether the reference has it.

        Raises
        ------
        ValueError
            For no image, or units that cannot be converted.
        """
        import pandas as pd

        if correction not in ("none", "fdr", "family"):
            raise ValueError(f"correction must be none, fdr or family, not {correction!r}")
        queries = [image for ensemble in _ensembles(images) for image in by_image(ensemble)]
        with reporting(progress):
            report("comparing images", 0, 1)
            rows = over_blocks(self._row, queries)
        names = distinct([one.name for one in queries])
        table = pd.DataFrame([{"name": name, **row} for name, row in zip(names, rows, strict=True)])
        p_adjusted = adjusted(table["p"].to_numpy(), "family" if correction == "family" else "fdr")
        table.insert(list(table).index("p") + 1, "p_adjusted", p_adjusted)
        deciding = table["p" if correction == "none" else "p_adjusted"]
        table["differs"] = [
            None if reason else self._differs(p, of_form, of_scale)
            for reason, p, of_form, of_scale in zip(
                table["reason"], deciding, table["p_form"], table["p_scale"], strict=True
            )
        ]
        table["what"] = [self._what(row) for row in table.to_dict("records")]
        return table

    def _differs(self, p: float, of_form: float, of_scale: float) -> str:
        if p > self.significance:
            return "nothing"
        form, scale = (own <= self.significance for own in (of_form, of_scale))
        return "both" if form and scale else "form" if form else "scale"

    def _what(self, row: Mapping[Hashable, Any]) -> str:
        if row["differs"] in ("nothing", None):
            return ""
        unusual = [name for name in row["what"] if row["differs"] in ("both", QUANTITIES[name][0])]
        return what_differs({name: row[name] for name in QUANTITIES}, unusual)

    def sentences(self, table: pd.DataFrame) -> list[str]:
        """State in words what `judge` returned: a sentence an image that is unlike, and one on all of them."""
        return folder_sentences(table, self.significance)

    def _row(self, image: Ensemble) -> dict[str, Any]:
        """A row of `judge`, but for what depends on other images."""
        query = self._prepared(image)
        view, measured = query.view, query.measured
        count = self._count(view, len(measured))
        reason, remarks = self._acquisition(query, count)
        row: dict[str, Any] = {
            "outlines": len(measured),
            "drawn": count,
            "compared": 0,
            **dict.fromkeys((*(f"p_{test}" for test in TESTS), "p"), np.nan),
            "least_p": 1.0,
            "differs": None,
            "reason": reason,
            "what": [],
            **dict.fromkeys(QUANTITIES, np.nan),
            "remarks": "; ".join(remarks),
        }
        if not count:
            self._forget(view)
            return row
        compared, tests, kept = self._judged(measured, view, count)
        self._forget(view)
        units = len(compared.images)
        row |= {"compared": units, "least_p": 1 / (units + 1), "p": _rank(joint(tests))}
        row |= {f"p_{test}": _rank(unlike.scores) for test, unlike in tests.items()}
        if not reason and row["least_p"] > self.significance:
            what = f"{counted(units, 'image')} with {counted(count, 'outline')}"
            row["reason"] = f"{what} can show p = {p_text(row['least_p'], self.significance)} at best"
        every = quantities(measured.scale, measured.form, kept)
        ratios = {name: float(np.exp(every[name] - compared.usual[name])) for name in QUANTITIES}
        part = drawn(measured, count, [self.settings.seed, _QUERY])
        own = quantities(part.scale, part.form, kept)
        unusual = [name for name in QUANTITIES if self._is_unusual(compared.quantities[name], float(own[name]))]
        return row | ratios | {"what": unusual}

    def _is_unusual(self, usual: Real, value: float) -> bool:
        values = np.append(usual, value)
        apart = np.abs(values - values.mean())
        return bool(np.isfinite(apart).all()) and _rank(apart) <= self.significance

    def _prepared(self, query: Ensemble) -> _Query:
        """Bring a query, or the reference, to the coarser acquisition and the smaller field of view of both."""
        query, notes, view = _in_unit(query, self.unit), [], _View()
        own = Acquisition.of(query)
        reason = "" if own.has_sides_of(self._acquired) else _OTHER_SIDES
        if len(query) and not reason and not own.is_among(self._acquired):
            wanted = Acquisition.coarsest([own, *self._acquired])
            polygons = query if wanted.vertices < min(one.vertices for one in self._acquired) else None
            if polygons or not wanted.is_among(self._acquired):
                view = _View(wanted, polygons)
            clicked = [polygons] if polygons else self.images
            if view not in self._seen:
                self._seen[view] = [acquired_as(image, wanted, clicked) for image in self.images]
            query = acquired_as(query, wanted, clicked)
            note = "its outlines were acquired otherwise than the reference's: compared at the coarser precision"
            exact = "its" if own == Acquisition() else "the reference's" if Acquisition() in self._acquired else ""
            notes.append(f"{note}, {exact} taken as exact" if exact else note)
        if self._is_other_window(query):
            (seen, (query,)), note = at_one_window([self._seen[view], [query]])
            notes += [note] if note else []
            view = view._replace(window=query.window)
            self._seen.setdefault(view, seen)
        return _Query(query, view, measure([query], self.settings)[0], reason, notes)

    def _acquisition(self, query: _Query, count: int) -> tuple[str, list[str]]:
        """Why an image cannot be judged by `count` outlines, or empty; and remarks."""
        reason, remarks = acquisition(query.image, query.measured, self.images, self._measured(query.view), count)
        return query.reason or reason, [*query.notes, *remarks]

    def _forget(self, view: _View) -> None:
        """Free what no other query can use."""
        if view.polygons is not None:
            for kept in (self._seen, self._at):
                for known in [known for known in [*kept] if known.polygons is view.polygons]:
                    kept.pop(known, None)
            for key in [key for key in [*self._compared] if key[0] == view]:
                self._compared.pop(key, None)

    def _is_other_window(self, query: Ensemble) -> bool:
        """Whether the field of view is not among those of the reference."""
        usual = [image.window for image in self.images if image.window is not None]
        if query.window is None or not len(query) or len(usual) < len(self.images):
            return False
        least, most = np.min(usual, axis=0), np.max(usual, axis=0)
        return bool(np.any(least > _SAME_WINDOW * np.array(query.window)) or np.any(query.window > _SAME_WINDOW * most))

    def _measured(self, view: _View) -> list[Measured]:
        """Descriptors of the images of the reference in a view."""
        if view not in self._at:
            self._at[view] = measure(self._seen[view], self.settings)
        return self._at[view]

    def _count(self, view: _View, own: int, ratio: int = _RATIO) -> int:
        """Number of outlines to draw from each image at most, for a query that has `own`.

        It follows from the numbers of outlines alone, and enough images have as many, divided by `ratio`.
        """
        numbers = sorted(self._numbers(view), reverse=True)
        if self.outlines is not None or not numbers[0]:
            return min(self.outlines or own, own, numbers[0])
        compared = min(max(self._needed, ceil(_COMPARED * len(numbers))), len(numbers))
        return min(ratio * numbers[compared - 1], own) or min(own, 1)

    def _numbers(self, view: _View) -> list[int]:
        """Number of outlines of each replicate: that of its image of the most."""
        numbers: dict[str, int] = {}
        for label, one in zip(self.replicates, self._measured(view), strict=True):
            numbers[label] = max(numbers.get(label, 0), len(one))
        return [*numbers.values()]

    def _chosen(self, view: _View, count: int, ratio: int = _RATIO) -> list[int]:
        """Place of one image of each replicate that has an image of at least `count` / `ratio` outlines.

        With `outlines`, of at least `count`.
        """
        least = count / (ratio if self.outlines is None else 1)
        measured, order = self._measured(view), np.random.default_rng([self.settings.seed, _REFERENCE])
        chosen: dict[str, int] = {}
        for place in order.permutation(len(measured)):
            if len(measured[place]) >= max(least, 1):
                chosen.setdefault(self.replicates[place], int(place))
        return sorted(chosen.values())

    def _units_drawn(self, view: _View, count: int, ratio: int = _RATIO) -> list[Measured]:
        """Draw `count` outlines, or all, of each image of `_chosen`."""
        measured, seed = self._measured(view), self.settings.seed
        return [drawn(measured[place], count, [seed, _REFERENCE, place]) for place in self._chosen(view, count, ratio)]

    def _judged(self, query: Measured, view: _View, count: int) -> tuple[_Compared, Mapping[str, Unlikeness], Index]:
        """Compare a query with the images of the reference, `count` outlines of each.

        Return these, the tests, in which the query is the last image, and the descriptors of form used.
        """
        measured = self._measured(view)
        kept = resolved(min(query.lobes, *(one.lobes for one in measured)), query.form.shape[1])
        key = view, count, tuple(kept)
        if key not in self._compared:
            part = self._units_drawn(view, count)
            of_units = [quantities(one.scale, one.form, kept) for one in part]
            of_images = [quantities(one.scale, one.form, kept) for one in measured if len(one)]
            self._compared[key] = _Compared(
                part,
                {name: np.array([one[name] for one in of_units]) for name in QUANTITIES},
                {name: _mean([float(one[name]) for one in of_images]) for name in QUANTITIES},
            )
        compared, own = self._compared[key], drawn(query, count, [self.settings.seed, _QUERY])
        return compared, by_test([*compared.images, own], kept), kept

    def unlike(self, image: Ensemble) -> pd.DataFrame:
        """The outlines of an image that make it unlike the reference.

        Parameters
        ----------
        image : Ensemble
            One image.

        Returns
        -------
        DataFrame
            Columns id; form and scale: how far each outline moves the image away from the reference (negative: towards
            it), as a share of what all of them do; score, the mean of both. The largest score comes first.

        Raises
        ------
        ValueError
            For an image that cannot be judged, or in a unit that cannot be converted.
        """
        import pandas as pd

        query = self._prepared(image)
        measured, count = query.measured, self._count(query.view, len(query.measured))
        if reason := self._acquisition(query, count)[0]:
            self._forget(query.view)
            raise ValueError(f"{image.name or 'the image'} is not judged: {reason}")
        _, tests, kept = self._judged(measured, query.view, count)
        self._forget(query.view)
        shares = {}
        for test, unlike in tests.items():
            outlines = measured.form[:, kept] if test == "form" else measured.scale
            moved = (unlike.terms(outlines) - unlike.middle) @ unlike.weights[-1]
            shares[test] = moved / max(float(np.abs(moved.sum())), np.finfo(float).tiny)
        table = pd.DataFrame({"id": query.image.ids, "score": np.mean([*shares.values()], axis=0), **shares})
        return table.sort_values("score", ascending=False, ignore_index=True)

    def chart(self, images: Sequence[Ensemble], *, progress: Listener | None = None) -> pd.DataFrame:
        """Control chart of images in the order in which they were taken, which may be looked at after each of them.

        Parameters
        ----------
        images : sequence of Ensemble
        progress : callable, optional
            Called with the `Progress` of each step before it starts.

        Returns
        -------
        DataFrame
            One row an image: name; p, its rank among the reference and the images before it (ties broken at random);
            evidence, the value of a test martingale; alarm, whether evidence has reached 1 / level by then; remarks. As
            long as all are images of one kind, in any order, an alarm is ever raised with a probability of at most
            the level, over any length of time.

        Notes
        -----
        Equally many outlines are drawn from each image. Images of fewer, of coarser outlines, or of another field of
        view, and those that `judge` does not judge, are not charted: NaN. A lasting change is noticed soon or never:
        after many images of the new kind, these are usual.
        """
        import pandas as pd

        queries = [image for ensemble in _ensembles(images) for image in by_image(ensemble)]
        count = self._count(_View(), max(self._numbers(_View())), ratio=1)
        lobes = min(one.lobes for one in self._measured(_View()))
        before, ties = self._units_drawn(_View(), count, ratio=1), np.random.default_rng([self.settings.seed, _CHART])
        kept = resolved(lobes, before[0].form.shape[1])
        p_values, remarks = [], []
        with reporting(progress):
            for place, image in enumerate(queries):
                report(image.name, place, len(queries))
                query = self._prepared(image)
                one = query.measured
                reason, remarked = self._acquisition(query, min(count, len(one)))
                if not reason and len(one) < count:
                    reason = f"it has {counted(len(one), 'outline')}, {count} are drawn"
                if not reason and query.view != _View():
                    reason = "its outlines are coarser than those of the reference, or its field of view is another"
                self._forget(query.view)
                if reason:
                    remarks.append(f"not charted: {reason}")
                    p_values.append(np.nan)
                    continue
                before.append(drawn(one, count, [self.settings.seed, _CHART, place]))
                scores = joint(by_test(before, kept))
                tie = _ROUNDING * abs(scores[-1])
                larger = int((scores > scores[-1] + tie).sum())
                equal = int((scores >= scores[-1] - tie).sum()) - larger
                p_values.append((larger + (1 - ties.random()) * equal) / len(scores))
                remarks.append("; ".join(remarked))
        p = np.array(p_values, dtype=np.float64)
        evidence = np.full(len(p), np.nan)
        evidence[~np.isnan(p)] = martingale(p[~np.isnan(p)])
        alarm = np.fmax.accumulate(np.nan_to_num(evidence)) >= 1 / self.significance
        names = distinct([one.name for one in queries])
        return pd.DataFrame({"name": names, "p": p, "evidence": evidence, "alarm": alarm, "remarks": remarks})

    # ------------------------------------------------------------------------------------------------ files

    def to_dataframe(self) -> pd.DataFrame:
        """The images of the reference, one row each: to check whether one of them is unlike the others.

        Returns
        -------
        DataFrame
            Columns name, replicate, outlines; p_form, p_scale and p, the rank of the image among the others (NaN for
            images of a replicate that were not drawn); and the ratio of each quantity to the mean, as in `judge`.
        """
        import pandas as pd

        count = self._count(_View(), max(self._numbers(_View())))
        measured, chosen = self._measured(_View()), self._chosen(_View(), count)
        kept = resolved(min(one.lobes for one in measured), measured[0].form.shape[1])
        part = self._units_drawn(_View(), count)
        tests = by_test(part, kept)
        table = pd.DataFrame({"name": [one.name for one in self.images], "replicate": self.replicates})
        table["outlines"] = list(map(len, measured))
        for column, values in {**{f"p_{test}": one.scores for test, one in tests.items()}, "p": joint(tests)}.items():
            larger = (values >= values[:, None] - _ROUNDING * np.abs(values[:, None])).mean(axis=1)
            table[column] = pd.Series(larger, index=chosen)
        every = [quantities(one.scale, one.form, kept) for one in measured]
        for name in QUANTITIES:
            logs = [float(one[name]) for one in every]
            table[name] = np.exp(np.array(logs) - _mean(logs))
        return table

    def numbers(self) -> dict[str, Any]:
        """Numbers that a rerun must reproduce: those of `to_dataframe`, by column."""
        return {str(name): column.to_numpy() for name, column in self.to_dataframe().select_dtypes("number").items()}

    def _archived(self) -> Tree:
        return {**self.to_tree(), "numbers": records.columns_tree(self.numbers())}

    def of_images(self, images: Sequence[Ensemble]) -> Reference:
        """A reference of other outlines of the same images, with the same settings."""
        return Reference(
            images,
            self.settings,
            replicates=self.replicates,
            significance=self.significance,
            outlines=self.outlines,
            inputs=self.inputs,
        )

    def to_tree(self) -> Tree:
        """Return the reference as arrays, numbers and strings, for `archive` (docs/reference/files.md)."""
        return {
            "images": {f"image{place}": records.ensemble_tree(one) for place, one in enumerate(self.images)},
            "replicates": list(self.replicates),
            "settings": tree_of(self.settings),
            "significance": self.significance,
            "outlines": self.outlines,
            "inputs": None if self.inputs is None else asdict(self.inputs),
            "versions": self.versions,
        }

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> Reference:
        """Restore a reference from the result of `to_tree`; raises ValueError for invalid data."""
        images = records.value(tree, "images", dict)
        inputs = tree.get("inputs")
        reference = cls(
            [records.ensemble_of_tree(images[f"image{place}"]) for place in range(len(images))],
            from_tree(Settings, records.value(tree, "settings", dict)),
            replicates=list(map(str, records.value(tree, "replicates", list))),
            significance=records.value(tree, "significance", float),
            outlines=tree.get("outlines"),
            inputs=None if inputs is None else Inputs.of_tree(inputs),
        )
        reference.versions = {str(name): str(one) for name, one in records.value(tree, "versions", dict).items()}
        return reference


def accepted_by(references: Mapping[str, Reference], images: Ensemble | Sequence[Ensemble]) -> pd.DataFrame:
    """Say which of several references accept each image: one, several, or none.

    Parameters
    ----------
    references : mapping of str to Reference
    images : Ensemble, or sequence of Ensemble

    Returns
    -------
    DataFrame
        One row an image: name; the p-value for each reference, named after it; accepted, the names of those that it
        does not differ from, a tuple; and unjudged, those that cannot judge it. The kind of an image is missing from
        both with a probability of at most the level.

    Raises
    ------
    ValueError
        For no reference, one that is named as another column is, or as `Reference.judge`.

    See Also
    --------
    ConformalClassifier : the same for single outlines.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, Reference, Settings, accepted_by
    >>> from napari_shape_ensembles.samples.synthetic import draw_forms
    >>> rng = np.random.default_rng(0)
    >>> smooth, rough = (
    ...     [Ensemble(draw_forms(rng, 12, roughness=size, waves=(8, 12)), name=f"{i}") for i in range(20)]
    ...     for size in (0.05, 0.1)
    ... )
    >>> settings = Settings(landmarks=60)
    >>> kinds = {"smooth": Reference(smooth[1:], settings), "rough": Reference(rough[1:], settings)}
    >>> accepted_by(kinds, [smooth[0], rough[0]])["accepted"].tolist()
    [('smooth',), ('rough',)]
    """
    import pandas as pd

    if not references:
        raise ValueError("give at least one reference by name")
    if taken := [kind for kind in references if kind in ("name", "accepted", "unjudged")]:
        raise ValueError(f"a column of the table is called {taken[0]}: give that reference another name")
    tables = {name: reference.judge(images) for name, reference in references.items()}
    names = next(iter(tables.values()))["name"]
    answers = pd.DataFrame({kind: table["differs"] for kind, table in tables.items()})
    chosen = {"accepted": answers == "nothing", "unjudged": answers.isna()}
    columns = {kind: table["p"] for kind, table in tables.items()}
    columns |= {
        name: pd.Series([tuple(answers.columns[row]) for row in part.to_numpy()]) for name, part in chosen.items()
    }
    return pd.DataFrame({"name": names, **columns})


def _rank(scores: Real) -> float:
    """Conformal p-value of the last score."""
    return float(conformal_p_values(scores[-1:] - _ROUNDING * np.abs(scores[-1:]), scores[:-1])[0])


def _mean(values: Sequence[float]) -> float:
    """Mean of those that are known; NaN of none."""
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else np.nan


def _ensembles(given: Ensemble | Iterable[Ensemble]) -> list[Ensemble]:
    """Check what is given as images."""
    parts: list[Any] = list(given) if isinstance(given, Sequence | Iterator) and not isinstance(given, str) else [given]
    if not parts:
        raise ValueError("give at least one image: an Ensemble, or a list of them")
    return [one if isinstance(one, Ensemble) else sample_of(one) for one in parts]


def _at_one_precision(images: list[Ensemble]) -> tuple[list[Ensemble], str]:
    """Bring images that were acquired in several ways to the coarsest of these; and a note."""
    acquired = [Acquisition.of(image) for image in images]
    alike = [one._replace(vertices=8 if isfinite(one.vertices) else inf, edge=0) for one in acquired]
    if all(one.is_among(alike[:1]) for one in alike):
        return images, ""
    wanted = Acquisition.coarsest(acquired)
    note = "Outlines were acquired in several ways: all were brought to the coarsest, and finer detail is not compared"
    return [acquired_as(image, wanted, images) for image in images], note


def by_image(ensemble: Ensemble) -> list[Ensemble]:
    """Split an ensemble into its images."""
    names = list(dict.fromkeys(ensemble.images.tolist()))
    if len(names) < 2:
        return [ensemble]
    parts = [ensemble[np.flatnonzero(ensemble.images == name)] for name in names]
    for part, name in zip(parts, names, strict=True):
        part.name = name
    return parts


def _named(image: Ensemble, name: str) -> Ensemble:
    return image if image.name == name else image.derived(image.curves, name=name)


def _in_unit(image: Ensemble, unit: str) -> Ensemble:
    try:
        return image.to(unit)
    except ValueError as error:
        raise ContentError(f"{image.name or 'an image'}: {error}") from error
