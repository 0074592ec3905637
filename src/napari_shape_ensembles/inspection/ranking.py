"""Suspicious curves of one or two ensembles, by their outlines and by their position in shape space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import Real
from ..checks import several
from ..comparison import Comparison, Settings, compare
from ..comparison.answer import in_one_line
from ..comparison.samples import require_curves
from ..outlines import Ensemble, Outlines
from ..outlines.reasons import BY_HAND
from ..progress import report
from .agreement import Agreement, agreement
from .annotators import annotators
from .curves import ranked_curves
from .suspects import Suspects, Ticks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Inspection:
    """Curves ranked by how suspicious they are.

    Attributes
    ----------
    ensembles : tuple of Ensemble
        One or two.
    ranking : DataFrame
        The most suspicious first: source ("A" or "B"), index (in its ensemble, -1 for a label without a curve), id,
        score, reasons.
    comparison : Comparison or None
        Comparison of the two ensembles.
    sentence : str
        The result in words; empty for one ensemble.
    suspects : tuple of Suspects or None
        Evidence on the labels of each ensemble; None if it was ranked by its outlines alone.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Outlines
    >>> from napari_shape_ensembles.inspection.ranking import Inspection
    >>> rows, columns = np.indices((120, 160))
    >>> labels = (np.hypot(rows % 40 - 20, columns % 40 - 20) < 12) * (rows // 40 * 4 + columns // 40 + 1)
    >>> labels[18:22, 18:22] = 0
    >>> found = Inspection.of((Outlines().trace(labels),), labels=(labels,))
    >>> print(*found.ranking.loc[0, ["id", "reasons"]])
    1 hole: 1 of 16 px, 3.7 % of the object
    """

    ensembles: tuple[Ensemble, ...]
    ranking: pd.DataFrame
    comparison: Comparison | None
    sentence: str
    suspects: tuple[Suspects | None, ...] = (None, None)

    @classmethod
    def of(
        cls,
        ensembles: tuple[Ensemble, ...],
        settings: Settings | None = None,
        *,
        labels: tuple[ArrayLike | None, ...] = (None, None),
        images: tuple[ArrayLike | None, ...] = (None, None),
    ) -> Inspection:
        """Rank the curves of one ensemble, or of two that are also compared, by how suspicious they are.

        Parameters
        ----------
        ensembles : tuple of one or two Ensemble
        settings : Settings, optional
            Settings of the comparison.
        labels, images : tuples
            The labels that each ensemble was traced from, whose values are its ids, and the segmented image; both as
            for `rank_suspects`. Curves without labels are ranked by their outlines alone.

        Raises
        ------
        ValueError
            For an ensemble without a curve, listing what was left out; and for input that `compare` rejects.
        """
        ensembles = tuple(several(ensembles, "an inspection takes a list of one ensemble or two"))
        require_curves(ensembles)
        settings = settings or Settings()
        comparison = compare(*ensembles, settings) if len(ensembles) == 2 else None
        # Of each ensemble; their names may be equal.
        distances: list[Real | None] = [None]
        if comparison is not None:
            distances = np.split(comparison.distances["distance_from_mean"].to_numpy(), [len(ensembles[0])])
        tables, suspects = [], list[Suspects | None]()
        for place, (source, ensemble) in enumerate(zip("AB", ensembles, strict=False)):
            report(f"inspecting {ensemble.name or source}")
            if (plane := labels[place]) is not None:
                suspects.append(measured := Suspects.of(plane, images[place]))
                tables.append(_labels_ranked(measured, ensemble, source))
                continue
            suspects.append(None)
            table = ranked_curves(ensemble, settings, distances[place])
            tables.append(_placed_in(table[table["score"] > 0], ensemble, source))
        sentence = in_one_line(comparison) if comparison is not None else ""
        return cls(ensembles, _together(tables), comparison, sentence, tuple(suspects))

    def ranked(self, ticks: Ticks | None, verdicts: Sequence[Mapping[int, bool]]) -> Inspection:
        """Rank the labels again; parameters as for `Suspects.ranked`, with the verdicts on each ensemble."""
        tables = []
        for source, ensemble, suspects, given in zip("AB", self.ensembles, self.suspects, verdicts, strict=False):
            before = self.ranking[self.ranking["source"] == source]
            tables.append(before if suspects is None else _labels_ranked(suspects, ensemble, source, ticks, given))
        return replace(self, ranking=_together(tables))

    def renewed(self, place: int, ensemble: Ensemble, suspects: Suspects | None, labels: ArrayLike) -> Inspection:
        """Update after the labels of one image, 0 for A and 1 for B, were corrected.

        Without suspects these labels are ranked otherwise, and that ranking is kept.
        """
        ensembles, known = list(self.ensembles), list(self.suspects)
        ensembles[place], known[place] = ensemble, suspects
        changed = replace(self, ensembles=tuple(ensembles), suspects=tuple(known))
        if suspects is not None:  # and ranked again
            return changed
        source = "AB"[place]
        own, there = self.ranking[self.ranking["source"] == source], np.unique(labels)
        new = np.setdiff1d(there, [0, *own["id"]])
        table = own.set_index("id").reindex([*own["id"][own["id"].isin(there)], *new.tolist()]).rename_axis("id")
        table = table.fillna({"score": 0.0, "reasons": ""}).reset_index()
        others = self.ranking[self.ranking["source"] != source]
        return replace(changed, ranking=_together([_placed_in(table, ensemble, source), others]))

    def without(self, excluded: tuple[ArrayLike, ...]) -> tuple[Ensemble, ...]:
        """The ensembles without the curves where `excluded` (one boolean per curve) is true; these are counted."""
        left = []
        for ensemble, mask in zip(self.ensembles, excluded, strict=True):
            kept = ensemble[~np.asarray(mask, dtype=bool)]
            dropped = Counter(kept.dropped) + Counter({BY_HAND: len(ensemble) - len(kept)})
            left.append(kept.derived(kept.curves, dropped=dropped))
        return tuple(left)


def _labels_ranked(
    suspects: Suspects,
    ensemble: Ensemble,
    source: str,
    ticks: Ticks | None = None,
    verdicts: Mapping[int, bool] | None = None,
) -> pd.DataFrame:
    """Rank all labels of one image, including those without a curve."""
    return _placed_in(suspects.ranked(ticks, verdicts), ensemble, source)


def _placed_in(table: pd.DataFrame, ensemble: Ensemble, source: str) -> pd.DataFrame:
    """Add the index of every label in its ensemble to a ranking, -1 for those without a curve."""
    places = {label: index for index, label in enumerate(ensemble.ids.tolist())}
    table = table.rename(columns={"label": "id"})
    index = np.array([places.get(label, -1) for label in table["id"].tolist()], dtype=np.int64)
    return table.assign(source=source, index=index)


def _together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd  # slow to import, and not needed for a comparison

    return pd.concat(tables).sort_values("score", ascending=False, kind="stable", ignore_index=True)


def disagreement(
    labels: tuple[ArrayLike, ArrayLike],
    settings: Settings | None = None,
    *,
    outlines: Outlines = Outlines(),
    scale: Sequence[float] | None = None,
    unit: str | None = None,
    names: tuple[str, str] = ("A", "B"),
) -> Inspection:
    """Rank the objects of two segmentations of one image by their disagreement.

    The score is 1 - IoU with the matched object, 1 without a match; further parameters as for `agreement`.
    """
    one, other = several(labels, "disagreement takes two label images")
    result = agreement(one, other, settings, outlines=outlines, scale=scale, unit=unit, names=names)
    ensembles = result.comparison.a, result.comparison.b
    return Inspection(ensembles, _disagreements(result), result.comparison, result.summary())


def disputed(
    labels: Mapping[str, ArrayLike],
    *,
    outlines: Outlines = Outlines(),
    scale: Sequence[float] | None = None,
    unit: str | None = None,
) -> tuple[Inspection, NDArray[np.int32]]:
    """Rank the objects of several label sets of one image by their disagreement; see `Annotators.differences`.

    Returns the ranking and its labels: the consensus, and minority objects. Further parameters as for `agreement`.
    """
    result = annotators(labels)
    report("tracing outlines")
    plane, table = result.differences()
    ensemble = outlines.trace(plane, scale=scale, unit=unit, name="consensus")
    return Inspection((ensemble,), _placed_in(table, ensemble, "A"), None, result.summary(), (None,)), plane


def _disagreements(result: Agreement) -> pd.DataFrame:
    import pandas as pd  # slow to import, and not needed for a comparison

    rows = []
    a, b = result.comparison.names
    for column, partner_of, other, ensemble in (("a", "b", b, result.comparison.a), ("b", "a", a, result.comparison.b)):
        partners: dict[int, Any] = {getattr(row, column): row for row in result.matching.pairs.itertuples()}
        measured: dict[int, Any] = {getattr(row, column): row for row in result.objects.itertuples()}
        notes = _notes(result, column, other)
        for index, label in enumerate(ensemble.ids.tolist()):
            pair = partners.get(label)
            if pair is None:
                words = [f"no partner in {other}"]
            elif label in measured:
                found = measured[label]
                words = [
                    f"IoU {found.iou:.2f} with {other} {getattr(found, partner_of)}; "
                    f"outlines {found.boundary:.2g} {ensemble.unit} apart; shape distance {found.shape:.2f}"
                ]
            else:
                partner = getattr(pair, partner_of)
                words = [f"IoU {pair.iou:.2f} with {other} {partner}, which has no usable outline"]
            score = 1 - pair.iou if pair is not None else 1.0
            rows.append((column.upper(), index, label, score, "; ".join([*notes.get(label, []), *words])))
    table = pd.DataFrame(rows, columns=["source", "index", "id", "score", "reasons"])
    return table.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def _notes(result: Agreement, column: str, other: str) -> dict[int, list[str]]:
    """Merges and splits, for each object concerned of one segmentation; with the name of the other."""
    merges, splits = result.matching.merges, result.matching.splits
    joined, divided = (merges, splits) if column == "a" else (splits, merges)
    notes: dict[int, list[str]] = {}
    for whole, parts in joined.items():
        for part in parts:
            notes.setdefault(part, []).append(f"merged into {other} {whole}")
    for whole, parts in divided.items():
        notes.setdefault(whole, []).append(f"split into {other} {', '.join(map(str, parts))}")
    return notes
