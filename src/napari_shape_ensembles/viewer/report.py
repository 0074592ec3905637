"""A result as text to paste into a notebook, and as the Python that finds it again."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison import INCONCLUSIVE, Comparison, Settings
from ..mmd import MMDTest
from ..outlines import Ensemble, counted
from ..parameters import matters, tree
from .inputs import SegmentationSettings, Source
from .sides import Excluded, Ids, Sources, pooled_name


def as_text(result: Comparison, segmentation: SegmentationSettings | None, notes: Iterable[str] = ()) -> str:
    """Everything the panel says, line by line."""
    lines = [result.summary(), *(f"Note: {note}" for note in (*notes, *result.warnings)), ""]
    lines += [f"{name}: {_test_words(test, result)}" for name, test in tests_of(result)]
    lines += ["", *(_counts(side, ensemble) for side, ensemble in (("A", result.a), ("B", result.b)))]
    lines += ["", *settings_words(segmentation, result.settings)]
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


def settings_words(segmentation: SegmentationSettings | None, settings: Settings) -> list[str]:
    """The settings used, one line each."""
    unknown = ["segmentation: not known"] if segmentation is None else []
    parts: list[SegmentationSettings | Settings] = [settings] if segmentation is None else [segmentation, settings]
    return unknown + [f"{name.replace('_', ' ')}: {value}" for part in parts for name, value in _items(part)]


def _items(part: SegmentationSettings | Settings) -> Iterator[tuple[str, Any]]:
    """What matters of the choices."""
    yield from ((name, value) for name, value in tree(part).items() if value is not None and matters(part, name))


def as_python(sources: Sources, segmentation: SegmentationSettings, settings: Settings, excluded: Excluded) -> str:
    """Python that makes the same comparison: from files where they hold what was compared, else in napari's console."""
    files = {source.name: _file_of(source) for side in sources for source in side}
    left_out = iter(excluded)
    steps: list[str] = [f"outlines = {_call('Outlines', segmentation.changed().items())}"]
    for name, side in zip("ab", sources, strict=True):
        parts = [name] if len(side) == 1 else [f"{name}_{number}" for number in range(1, len(side) + 1)]
        for part, source in zip(parts, side, strict=True):
            steps += _image_code(part, source, files[source.name])
            steps += _exclusion_code(part, next(left_out))
        if len(side) > 1:
            whole = pooled_name([source.name for source in side])
            steps.append(f"{name} = Ensemble.pooled([{', '.join(parts)}], name={whole!r})")
    call = _call("Settings", _items(settings))
    imports = _imports(list(files.values()), any(excluded), pooled=max(map(len, sources)) > 1)
    return "\n".join([*imports, *steps, f"result = compare(a, b, {call})", "print(result.summary())", ""])


def as_python_of_file(path: str) -> str:
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
