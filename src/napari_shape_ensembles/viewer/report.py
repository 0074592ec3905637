"""A result as text to paste into a notebook, and as the Python that finds it again."""

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Layer

from ..comparison import INCONCLUSIVE, Comparison, Settings
from ..mmd import MMDTest
from ..outlines import Ensemble, Outlines, counted
from ..parameters import matters
from .inputs import Source
from .shown import Shown
from .sides import Excluded, Ids, Sources, pooled_name


def text_of(shown: Shown, changed: Sequence[str] = ()) -> str:
    """Everything the panel says of a result, line by line, and what has changed since."""
    result = shown.result
    stale = [f"Out of date: {', '.join(changed)}."] if changed else []
    notes = [*stale, *([shown.origin] if shown.origin else []), *shown.notes, *result.warnings]
    lines = [result.summary(), *(f"Note: {note}" for note in notes), ""]
    lines += [f"{name}: {_test_words(test, result)}" for name, test in tests_of(result)]
    lines += ["", *(_counts(side, ensemble) for side, ensemble in (("A", result.a), ("B", result.b)))]
    lines += ["", *settings_words(shown.recipe, result.settings)]
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return "\n".join([*lines, versions])


def tests_of(result: Comparison) -> Iterator[tuple[str, MMDTest]]:
    """The tests with their names, the parts of a combined one after it."""
    words = {"raw": "– coarse form", "normalized": "– roughness"}
    yield "Undulation", result.undulation
    yield from ((words.get(name, f"– {name}"), part) for name, part in result.undulation.parts.items())
    yield "Scale", result.scale


def _test_words(test: MMDTest, result: Comparison) -> str:
    decision = "a difference is detected" if test.rejected else "no difference detected"
    decision = "too few curves to tell" if result.case == INCONCLUSIVE else decision
    return f"MMD {test.mmd:.4f}, threshold {test.threshold:.4f}, p = {test.p_value:.2g}: {decision}"


def _counts(side: str, ensemble: Ensemble) -> str:
    left_out = "".join(f"; {count} left out: {reason}" for reason, count in ensemble.dropped.items())
    curves = f"{counted(len(ensemble), 'curve')} in {ensemble.unit}"
    return f"{side}: {ensemble.name}, {curves}{''.join(f'; {words}' for words in image_counts(ensemble))}{left_out}"


def image_counts(ensemble: Ensemble) -> list[str]:
    """How many curves come from which image, where there are several."""
    counts = Counter(ensemble.images.tolist())
    return [f"{name}: {counted(count, 'curve')}" for name, count in counts.items()] if len(counts) > 1 else []


def settings_words(recipe: Outlines | None, settings: Settings) -> list[str]:
    """The choices that matter for a result, one line each."""
    found = ["outlines: not known"] if recipe is None else list(_choice_words(recipe))
    return [*found, *_choice_words(settings)]


def _choice_words(choices: Outlines | Settings) -> Iterator[str]:
    for name, value in asdict(choices).items():
        if matters(choices, name) and value is not None:
            yield f"{name.replace('_', ' ')}: {value}"


def script_of(shown: Shown) -> str:
    """Python that makes a comparison again, or reads it again; empty where it can be found nowhere."""
    if shown.basis is not None and shown.sources is not None:
        a, b = (tuple(map(_named_now, *both)) for both in zip(shown.sources, shown.basis.layers, strict=True))
        return script((a, b), shown.basis.recipe, shown.basis.settings, shown.basis.excluded)
    return script_of_file(shown.path) if Path(shown.path).is_file() else ""


def _named_now(source: Source, ref: "weakref.ref[Layer]") -> Source:
    """What a layer was copied as, under the name that it has now."""
    layer = ref()
    return source if layer is None else replace(source, name=layer.name)


def script(sources: Sources, recipe: Outlines, settings: Settings, excluded: Excluded) -> str:
    """Python that makes the same comparison: from files where they hold what was compared, else in napari's console."""
    files = {source.name: _file_of(source) for side in sources for source in side}
    left_out = iter(excluded)
    steps = [f"outlines = {_call('Outlines', recipe.changed().items())}"]
    for name, side in zip("ab", sources, strict=True):
        parts = [name] if len(side) == 1 else [f"{name}_{number}" for number in range(1, len(side) + 1)]
        for part, source in zip(parts, side, strict=True):
            steps += _image_code(part, source, files[source.name])
            steps += _exclusion_code(part, next(left_out))
        if len(side) > 1:
            whole = pooled_name([source.name for source in side])
            steps.append(f"{name} = Ensemble.pooled([{', '.join(parts)}], name={whole!r})")
    call = _call("Settings", asdict(settings).items())
    imports = _imports(list(files.values()), any(excluded), pooled=max(map(len, sources)) > 1)
    return "\n".join([*imports, *steps, f"result = compare(a, b, {call})", "print(result.summary())", ""])


def script_of_file(path: str) -> str:
    """Python that reads a comparison again."""
    lines = (
        "# The comparison as it was saved; what it was made from was not at hand.",
        "from napari_shape_ensembles import Comparison",
        "",
        f"result = Comparison.load({path!r})",
        "print(result.summary())",
        "",
    )
    return "\n".join(lines)


def _imports(files: list[str | None], excluded: bool, *, pooled: bool) -> Iterator[str]:
    names = [*(["Ensemble"] if pooled else []), "Outlines", "Settings", "compare"]
    if excluded:
        yield "import numpy as np"
    if any(files):
        yield "from skimage.io import imread"
    yield f"from napari_shape_ensembles import {', '.join(names)}"
    if not all(files):
        yield "import napari  # run this in napari's console: a layer is compared that is no file"
        yield "from napari_shape_ensembles.viewer.inputs import ensemble_of"
        yield "viewer = napari.current_viewer()"
    yield ""


def _file_of(source: Source) -> str | None:
    """The file that holds the pixels compared, where there is one that can be read without a viewer."""
    from skimage.io import imread

    if source.kind == "shapes" or source.plane or not Path(source.path).is_file():
        return None
    try:
        pixels = imread(source.path)
    except (OSError, ValueError, SyntaxError, ImportError):  # whatever the readers of formats raise
        return None
    return source.path if np.array_equal(pixels, source.data) else None


def _image_code(name: str, source: Source, file: str | None) -> Iterator[str]:
    if file is None:
        if source.plane:
            yield f"# with the sliders of {source.name!r} at {source.plane}"
        yield f"{name} = ensemble_of(viewer.layers[{source.name!r}], viewer.dims, outlines)"
        return
    pixels = f"imread({file!r})"
    labels = f"outlines.labels({pixels})" if source.kind == "image" else pixels
    options = {"scale": tuple(source.scale.tolist()), "unit": source.unit, "name": source.name}
    yield f"{name} = {_call('outlines.trace', options.items(), labels)}"


def _exclusion_code(name: str, ids: Ids) -> Iterator[str]:
    if ids:
        yield f"{name} = {name}.subset(~np.isin({name}.ids.astype(str), {sorted(ids)!r}))"


def _call(name: str, options: Iterable[tuple[str, Any]], first: str | None = None) -> str:
    """Source of a call, one option per line."""
    lines = [first] if first else []
    lines += [f"{option}={_plain(value)!r}" for option, value in options]
    if not lines:
        return f"{name}()"
    inside = ",\n".join(lines).replace("\n", "\n    ")
    return f"{name}(\n    {inside},\n)"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
