"""A result as text to paste into a notebook, and as the Python that finds it again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison import Comparison, Settings
from ..curves import Ensemble, counted
from ..discrepancy import INCONCLUSIVE, MMDTest
from .inputs import SegmentationSettings, Source
from .sides import Ids, Sources


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
    yield from asdict(part).items()


def as_python(
    sources: Sources, segmentation: SegmentationSettings, settings: Settings, excluded: tuple[Ids, Ids]
) -> str:
    """Python that makes the same comparison: from files where they hold what was compared, else in napari's console."""
    files = [[_file_of(source) for source in side] for side in sources]
    steps = [
        line
        for name, side, own, ids in zip("ab", sources, files, excluded, strict=True)
        for line in (*_side_code(name, side, own, segmentation), *_exclusion_code(name, ids))
    ]
    call = _call("Settings", _items(settings))
    return "\n".join(
        [*_imports(files, excluded), *steps, f"result = compare(a, b, {call})", "print(result.summary())", ""]
    )


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


def _imports(files: list[list[str | None]], excluded: tuple[Ids, Ids]) -> Iterator[str]:
    each = [file for side in files for file in side]
    names = ["Settings", "compare"]
    if max(map(len, files)) > 1:
        names.insert(0, "Ensemble")
    if any(each):
        names += ["extract_curves", "segment"]
    if any(excluded):
        yield "import numpy as np"
    if any(each):
        yield "from skimage.io import imread"
    yield f"from napari_shape_ensembles import {', '.join(names)}"
    if not all(each):
        yield "import napari  # run this in napari's console: a layer is compared that is no file"
        yield "from napari_shape_ensembles.viewer.inputs import SegmentationSettings, ensemble_of"
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


def _side_code(
    name: str, side: Sequence[Source], files: list[str | None], segmentation: SegmentationSettings
) -> Iterator[str]:
    for source, file in zip(side, files, strict=True):
        if file is None and source.plane:
            yield f"# {source.name}: with the sliders at {source.plane}"
    images = [_ensemble_code(*one, segmentation) for one in zip(side, files, strict=True)]
    if len(images) == 1:
        yield f"{name} = {images[0]}"
    else:
        inside = ",\n".join(images).replace("\n", "\n        ")
        yield f"{name} = Ensemble.pooled(\n    [\n        {inside},\n    ]\n)"


def _ensemble_code(source: Source, file: str | None, segmentation: SegmentationSettings) -> str:
    if file is None:
        chosen = _call("SegmentationSettings", _items(segmentation))
        return f"ensemble_of(viewer.layers[{source.name!r}], viewer.dims, {chosen})"
    pixels = f"imread({file!r})"
    if source.kind == "image":
        names = ("objects", "smoothing", "split_touching")
        pixels = _call("segment", ((name, getattr(segmentation, name)) for name in names), pixels)
    options = {
        "smoothing": segmentation.outline_smoothing,
        "scale": tuple(source.scale.tolist()),
        "unit": source.unit,
        "border": segmentation.keep_border,
        "min_area": segmentation.min_area,
        "name": source.name,
    }
    return _call("extract_curves", options.items(), pixels)


def _exclusion_code(side: str, ids: Ids) -> Iterator[str]:
    if ids:
        yield f"{side} = {side}.subset(~np.isin({side}.ids, {sorted(ids)!r}))"


def _call(name: str, options: Iterable[tuple[str, Any]], first: str | None = None) -> str:
    """Source of a call, one option per line."""
    lines = [first] if first else []
    lines += [f"{option}={_plain(value)!r}" for option, value in options]
    inside = ",\n".join(lines).replace("\n", "\n    ")
    return f"{name}(\n    {inside},\n)"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
