"""A comparison with what it was made from: what of it goes into a file, and comes back."""

import hashlib
import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from napari.components import ViewerModel
from napari.layers import Layer

from ..archive import ContentError, Tree
from ..comparison import Comparison
from ..comparison.display import image_names
from ..outlines import Outlines, conversion_factor
from ..parameters import from_tree, tree
from .basis import Basis
from .inputs import ACCEPTED, Source, fingerprint, source_of
from .sides import Excluded, Sources, refs_of

_Inputs: TypeAlias = tuple[tuple[Layer, ...], tuple[Hashable, ...]]


@dataclass(frozen=True, eq=False)
class Shown:
    """A result with all that the dock says about it.

    Attributes
    ----------
    result : Comparison
    recipe : Outlines or None
        None where a file does not tell.
    view : dict
        Places of the layers; see `comparison_view`.
    notes : tuple of str
        Sentences for the panel, beside the result's own warnings.
    excluded : tuple of frozensets
        Ids left out by hand of each image, A's before B's.
    prints : tuple of str
        Digests of what the images of A, then those of B, held; empty where they are not known.
    basis : Basis or None
        The layers it rests on; None where they are not in the viewer.
    sources : pair of tuples of Source, or None
        What they showed.
    path : str
        The file it was opened from; empty for none.
    """

    result: Comparison
    recipe: Outlines | None
    view: Tree
    notes: tuple[str, ...] = ()
    excluded: Excluded = (frozenset(), frozenset())
    prints: tuple[str, ...] = ()
    basis: Basis | None = None
    sources: Sources | None = None
    path: str = ""

    @classmethod
    def of_run(cls, result: Comparison, basis: Basis, sources: Sources) -> "Shown":
        """The result of a run."""
        notes = tuple(_notes(sources))
        prints = tuple(_digest(print_) for side in basis.prints for print_ in side)
        view = comparison_view(result, sources)
        return cls(result, basis.recipe, view, notes, basis.excluded, prints, basis, sources)

    @classmethod
    def of_file(cls, result: Comparison, view: Tree, path: str = "") -> "Shown":
        """The result in a file.

        Raises
        ------
        ValueError
            For a view that the dock cannot have written.
        """
        known = view.get("segmentation")
        return cls(
            result,
            None if known is None else from_tree(Outlines, known),
            view,
            tuple(_words(view, "notes")),
            _excluded(view),
            tuple(_words(view, "prints")),
            path=path,
        )

    @property
    def origin(self) -> str:
        """Where a result that was not found here comes from, and what follows from it; empty for one of a run."""
        if self.sources is not None and not self.path:
            return ""
        start = f"Opened from {Path(self.path).name}." if self.path else "Added to the viewer from outside the dock."
        if self.basis is not None:
            return start
        return (
            f"{start} The layers it was made from are not in the viewer as they were, so it is shown as it was found "
            "then. Run makes a new comparison of the layers chosen above."
        )

    def to_view(self, painted: str) -> Tree:
        """What a file is told to keep."""
        told = {} if self.recipe is None else {"segmentation": tree(self.recipe)}
        return {
            **{key: self.view[key] for key in "ab" if key in self.view},
            **told,
            "painted": painted,
            "notes": list(self.notes),
            "prints": list(self.prints),
            "excluded": [sorted(ids) for ids in self.excluded],
        }

    def tied(self, viewer: ViewerModel) -> "Shown":
        """The same, resting on the layers of a viewer that hold what it was made from, where they are there."""
        found = self._inputs(viewer)
        if found is None or self.recipe is None:
            return self
        (a, prints_a), (b, prints_b) = found
        try:
            sources = tuple(source_of(one, viewer.dims) for one in a), tuple(source_of(one, viewer.dims) for one in b)
        except ValueError:  # a layer that shows no plane any more
            return self
        settings = self.result.settings
        rests = Basis(refs_of((a, b)), (prints_a, prints_b), self.recipe, settings, self.excluded)
        return replace(self, basis=rests, sources=sources)

    def _inputs(self, viewer: ViewerModel) -> tuple[_Inputs, _Inputs] | None:
        """The layers that hold what A and B were made from, with their fingerprints."""
        names = [image_names(self.view, side) for side in "AB"]
        wanted = [own or [whole.name] for own, whole in zip(names, (self.result.a, self.result.b), strict=True)]
        if len(self.prints) != sum(map(len, wanted)):
            return None
        known = iter(self.prints)
        a, b = (tuple(_holding(viewer, name, next(known)) for name in side) for side in wanted)
        return None if None in (*a, *b) else (_unzipped(a), _unzipped(b))


def _holding(viewer: ViewerModel, name: str, known: str) -> tuple[Layer, Hashable] | None:
    """A layer of this name that holds what is known by its digest, and its fingerprint."""
    for layer in viewer.layers:
        if layer.name == name and isinstance(layer, ACCEPTED):
            print_ = fingerprint(layer, viewer.dims)
            if _digest(print_) == known:
                return layer, print_
    return None


def _unzipped(found: Iterable[Any]) -> _Inputs:
    layers, prints = zip(*found, strict=True)
    return layers, prints


def _notes(sources: Sources) -> Iterator[str]:
    several = [f"{len(side)} images of {name}" for name, side in zip("AB", sources, strict=True) if len(side) > 1]
    if several:
        yield f"The curves of {' and of '.join(several)} are pooled, and count as independent."
    for source in itertools.chain.from_iterable(sources):
        if source.plane:
            yield f"{source.name}: the {source.plane} is compared."


def comparison_view(result: Comparison, sources: Sources, painted: str = "product") -> Tree:
    """Where the layers of a comparison lie, for `Comparison.save(path, view=…)`, so that it reopens as it was.

    Parameters
    ----------
    result : Comparison
    sources : pair of tuples of Source
        What the images of A and of B were taken from.
    painted : str
        One of `COLOR_FEATURES`.
    """
    return {"painted": painted, **{key: _places(side, result.a.unit) for key, side in zip("ab", sources, strict=True)}}


def _places(side: tuple[Source, ...], unit: str) -> Tree:
    """The place of the first image, and where there are several those of all."""
    places = [_place(source, unit) for source in side]
    named = [{"name": source.name, **place} for source, place in zip(side, places, strict=True)]
    return {**places[0], "images": named} if len(side) > 1 else places[0]


def _place(source: Source, unit: str) -> Tree:
    """Pixel size and first pixel of an image; the recipe may have stated another size than its layer has."""
    factor = 1.0 if source.unit == unit else conversion_factor(source.unit, unit)
    shift = source.placement["translate"] / source.placement["scale"] * source.scale
    return {"scale": (source.scale * factor).tolist(), "translate": (shift * factor).tolist()}


def pixel_size(view: Tree, side: str) -> tuple[float, float]:
    """Height and width of a pixel of A or B, in the unit of the comparison; 1 where a view does not tell."""
    height, width = view.get(side.lower(), {}).get("scale", (1.0, 1.0))
    return float(height), float(width)


def _digest(print_: Any) -> str:
    return hashlib.sha256(repr(print_).encode()).hexdigest()


def _words(view: Tree, name: str) -> Sequence[str]:
    words = view.get(name, [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ContentError(f"{name} of its view are no list of words")
    return words


def _excluded(view: Tree) -> Excluded:
    images = sum(len(image_names(view, side)) or 1 for side in "AB")
    lists = view.get("excluded", [[]] * images)
    plain = isinstance(lists, list) and len(lists) == images and all(isinstance(ids, list) for ids in lists)
    if not plain or not all(isinstance(one, int | float | str) for ids in lists for one in ids):
        raise ContentError("the curves excluded in its view are no list of ids for each image")
    return tuple(frozenset(map(str, ids)) for ids in lists)
