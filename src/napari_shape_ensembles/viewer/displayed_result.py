"""A comparison with its inputs, and their serialization."""

import itertools
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from napari.components import Dims, LayerList

from ..archive import ContentError, Tree
from ..comparison import Comparison, Settings
from ..comparison.answer import names_of
from ..comparison.colorings import DEFAULT
from ..comparison.display import image_names
from ..comparison.inputs import Inputs
from ..io.rerun import find_inputs, recipe_of, recipe_tree
from ..mmd import MMDTest
from ..outlines import Ensemble, Outlines
from ..outlines.units import conversion_factor
from ..parameters import matters, tree
from ..words import account_of, counted
from .inputs import (
    ACCEPTED,
    Excluded,
    Sources,
    copy_pixels,
    fingerprint,
    inputs_of_sources,
    origins_of,
    picked_words,
    plane_of,
    source_of,
)
from .task import MAX_SYNC_COPY_BYTES, RunInputs


@dataclass(frozen=True, eq=False)
class DisplayedResult:
    """A result with everything that the dock shows about it."""

    result: Comparison
    used: RunInputs | None  #: its inputs, of a file without layers; None if a file does not contain them
    view: Tree  #: placement of the layers (see `comparison_view`)
    notes: tuple[str, ...] = ()  #: sentences for the panel, in addition to the result's warnings
    sources: Sources | None = None  #: snapshots of its layers
    path: str = ""  #: file it was opened from, or empty
    origin: str = ""  #: sentences on the origin of a result that was not computed in this session
    kinds: tuple[str, ...] = ("image",)  #: kinds of what was given: "image", "labels", "shapes"; "picked" by hand

    @property
    def run_inputs(self) -> RunInputs | None:
        """Its inputs; None if its layers are not in the viewer."""
        return self.used if self.used is not None and any(self.used.layers) else None

    @property
    def recipe(self) -> Outlines | None:
        """The recipe of its outlines, if known."""
        return None if self.used is None else self.used.recipe

    @classmethod
    def of_run(cls, result: Comparison, run_inputs: RunInputs, sources: Sources) -> "DisplayedResult":
        names = names_of(result)
        several = [f"{len(side)} images of {name}" for name, side in zip(names, sources, strict=True) if len(side) > 1]
        images = " and ".join(several)
        pooled = (
            f"Whole images were permuted: {images}."
            if result.permuted != "curves"
            else f"The curves of {images} are pooled and treated as independent."
        )
        planes = [f"{one.name}: the {one.plane} is compared." for one in itertools.chain(*sources) if one.plane]
        notes = (*([pooled] if several else []), *planes, *picked_words(sources))
        view = comparison_view(result, sources)
        pairs = zip(itertools.chain(*sources), run_inputs.existing(), strict=True)
        origins = [[one.kind] if layer is None else origins_of(layer) for one, layer in pairs]
        kinds = tuple(dict.fromkeys(itertools.chain(*origins)))
        return cls(result, run_inputs, view, notes, sources, kinds=kinds)

    @classmethod
    def of_file(cls, result: Comparison, view: Tree, path: str = "") -> "DisplayedResult":
        """Create from the contents of a file; raise a ValueError for an invalid view."""
        known = view.get("segmentation")
        origin = (
            f"{_origin(path)} Its original layers are not in the viewer, so the saved result is shown. Run "
            "compares the layers chosen above."
        )
        notes, fingerprints = (tuple(_texts_of(view, name)) for name in ("notes", "prints"))
        kinds, excluded = tuple(_texts_of(view, "kinds")) or cls.kinds, _excluded(view)
        used = None
        if known is not None:
            used = RunInputs(((), ()), recipe_of(known), result.settings, excluded, fingerprints=fingerprints)
        return cls(result, used, view, notes, path=path, origin=origin, kinds=kinds)

    def to_view(self, painted: str) -> Tree:
        view: Tree = {key: self.view[key] for key in ("a", "b") if key in self.view}
        view |= {"painted": painted, "notes": list(self.notes), "kinds": list(self.kinds)}
        if self.used is not None:
            view["prints"] = list(self.used.fingerprints)
            view["excluded"] = [sorted(ids) for ids in self.used.excluded]
            if (recipe := recipe_tree(self.used.recipe)) is not None:
                view["segmentation"] = recipe
        return view

    def inputs(self) -> Inputs | None:
        """Return the input files with their checksums if every layer was opened from one."""
        if self.sources is None or self.used is None:
            return self.result.inputs
        return inputs_of_sources(self.sources, self.used.recipe, self.used.excluded)

    def with_files(self) -> "DisplayedResult":
        """Return a copy whose origin lists the input files that still exist unchanged; reads the files."""
        if self.result.inputs is None:
            return self
        found, notes = find_inputs(self.result.inputs)
        there = [path.name for path in found if path is not None]
        words = [f"Its files are still in place: {', '.join(there)}."] if there else []
        return replace(self, origin=" ".join([self.origin, *words, *(f"{note}." for note in notes)]).strip())

    def image_names(self) -> list[str]:
        """Return the names of the images, A's before B's."""
        return list(itertools.chain(*self._names_of_sides()))

    def _names_of_sides(self) -> list[list[str]]:
        names = [image_names(self.view, side) for side in "AB"]
        return [list(own) or [whole.name] for own, whole in zip(names, (self.result.a, self.result.b), strict=True)]

    def linked(self, layers: LayerList, dims: Dims) -> "DisplayedResult":
        """Return a copy linked to those layers that have the input data, if they all exist.

        Large images are not copied yet; see `with_copies`.
        """
        wanted, used = self._names_of_sides(), self.used
        if used is None or len(used.fingerprints) != sum(map(len, wanted)):
            return self
        found = []
        for name, known in zip(itertools.chain(*wanted), used.fingerprints, strict=True):
            alike = (layer for layer in layers if layer.name == name and isinstance(layer, ACCEPTED))
            found.append(next((layer for layer in alike if fingerprint(layer, dims) == known), None))
        chosen = tuple(layer for layer in found if layer is not None)
        if len(chosen) < len(found):
            return self
        try:
            copies = tuple(source_of(layer, dims, at_most=MAX_SYNC_COPY_BYTES) for layer in chosen)
        except ValueError:  # a layer is no longer shown as a plane
            return self
        first = len(wanted[0])
        a, b = (tuple(map(weakref.ref, side)) for side in (chosen[:first], chosen[first:]))
        planes = tuple(plane_of(layer, dims) for layer in chosen)
        used = RunInputs(
            (a, b),
            used.recipe,
            self.result.settings,
            used.excluded,
            fingerprints=used.fingerprints,
            planes=planes,
        )
        origin = _origin(self.path) if self.origin else ""  # empty if computed in this session, and recovered
        return replace(self, used=used, sources=(copies[:first], copies[first:]), origin=origin)

    def with_copies(self) -> "DisplayedResult":
        """Return a copy with large images copied as well, which is slow."""
        if self.sources is None:
            return self
        a, b = (tuple(copy_pixels(side, MAX_SYNC_COPY_BYTES)) for side in self.sources)
        return replace(self, sources=(a, b))


def _origin(path: str) -> str:
    return f"Opened from {Path(path).name}." if path else "Added to the viewer from outside the dock."


def comparison_view(result: Comparison, sources: Sources, painted: str = DEFAULT) -> Tree:
    """Return the placement of a comparison's layers, to be restored from `Comparison.save(path, view=…)`."""
    view: Tree = {"painted": painted}
    for key, side in zip("ab", sources, strict=True):
        places = []
        for source in side:  # the recipe may have overridden the pixel size of the layer
            factor = 1.0 if source.unit == result.a.unit else conversion_factor(source.unit, result.a.unit)
            place = {"scale": (source.scale * factor).tolist(), "translate": (source.origin * factor).tolist()}
            places.append({"name": source.name, **place})
        view[key] = {name: places[0][name] for name in ("scale", "translate")}
        sample = getattr(result, key)
        # A layer is found by the name of its image, which is not that of its group.
        if len(side) > 1 or (side[0].name != sample.name and side[0].name in sample.images):
            view[key]["images"] = places
    return view


def _texts_of(view: Tree, name: str) -> Sequence[str]:
    words = view.get(name, [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ContentError(f"{name} of its view are not a list of strings")
    return words


def _excluded(view: Tree) -> Excluded:
    images = sum(len(image_names(view, side)) or 1 for side in "AB")
    lists = view.get("excluded", [[]] * images)
    plain = isinstance(lists, list) and len(lists) == images and all(isinstance(ids, list) for ids in lists)
    if not plain or not all(isinstance(one, int | float | str) for ids in lists for one in ids):
        raise ContentError("the curves excluded in its view are not a list of ids for each image")
    return tuple(frozenset(map(str, ids)) for ids in lists)


# Descriptions --------------------------------------------------------------------------------------------------


def tests_of(result: Comparison) -> Iterator[tuple[str, MMDTest]]:
    """Yield the tests with their names, each combined test followed by its parts."""
    words = {"raw": "– coarse form", "normalized": "– roughness"}
    for name, test in (("Undulation", result.undulation), ("Scale", result.scale)):
        yield name, test
        yield from ((words.get(part, f"– {part}"), of_part) for part, of_part in test.judged.items())


def doubts_of(result: Comparison) -> list[str]:
    """Return the warnings that most results have: ambiguous matches with the archetype, curves far from the mean."""
    return [words for words in result.warnings if "in two ways" in words or "from the mean form" in words]


def count_lines(ensemble: Ensemble) -> list[str]:
    """Return the numbers of curves per image, if several, and the numbers left out with reasons."""
    images = Counter(ensemble.images.tolist())
    several = [f"{name}: {counted(count, 'curve')}" for name, count in images.items()] if len(images) > 1 else []
    return [*several, *account_of(ensemble.dropped, ensemble.filled)]


def settings_lines(recipe: Outlines | None, settings: Settings) -> list[str]:
    """Return the parameters relevant for a result, one line each."""
    lines = ["outlines: unknown"] if recipe is None else []
    for choices in (settings,) if recipe is None else (recipe, settings):
        for name, value in tree(choices).items():
            if matters(choices, name) and value is not None:
                lines.append(f"{name.replace('_', ' ')}: {value}")
    return lines
