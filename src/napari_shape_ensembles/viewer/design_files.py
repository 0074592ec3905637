"""Background work on the design table: opening and saving it, and splitting layers into parts."""

import csv
import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from napari.layers import Layer
from numpy.typing import NDArray
from psygnal import Signal

from ..comparison.design import IMAGE, REPLICATE
from ..comparison.display import LayerData
from ..comparison.inputs import Inputs
from ..io import CurveTable, SettingsFile, read_image, save_settings, write_curves
from ..io.calibration import Calibration
from ..io.curve_files import format_of
from ..io.design import read_design, write_design
from ..io.ebsd import ENDINGS as MAPS
from ..io.image_parts import WHOLE, ImagePart
from ..io.outputs import LABELS
from ..io.rerun import find_inputs
from ..io.segmented import write_plane
from ..io.sources import Reading, ensemble_of_file, labelled
from ..outlines import Ensemble
from ..outlines.recognise import as_labels
from ..palette import OUTLINE
from ..progress import report
from ..words import counted
from .choices import Choices
from .designing import SIDES, Row
from .inputs import PARTS, ImageRow, PartOf, Ref, Source, is_unchanged_in_file, source_of
from .layers import batched, existing, remove_layers
from .splitting import NewPart, SplitOption, layers_of, left_out_sentence, region_layer, replicate_option, root_of
from .task import JobRunner, JobSteps, as_user_error

if TYPE_CHECKING:
    from napari.components import Dims

#: Maximum number of images of a table that are opened as layers: napari handles tens, not hundreds.
MAX_OPENED_IMAGES = 30
# Columns of coordinates, which a table of groups does not have.
_COORDINATES = {"axis-0", "row", "x", "y", "vertex-index"}
_NOT_IN_FILE_NAME = re.compile(r"[^\w.+-]+")


class Division(NamedTuple):
    """Layers that were split into parts, and how to take that back."""

    words: str  #: what was done, in a sentence
    parts: list[Ref]
    hidden: list[Ref]  #: layers that were hidden as their parts replace them
    restore: Callable[[], None]  #: restores the design table, once all parts are removed


class Divisions:
    """The divisions that can be taken back, the last one first; not without the whole layer: its data would be lost."""

    def __init__(self, choices: Choices) -> None:
        self._layers, self._design = choices.layers, choices.design
        self.done: list[Division] = []

    def sentence(self) -> str:
        """Return a sentence on the last division that can be taken back; else empty."""
        while self.done and not self._removable():
            self.done.pop()
        return self.done[-1].words if self.done else ""

    def undo(self) -> None:
        """Take back the last division: its parts are removed, and their layers compared again."""
        removable, last = self._removable(), self.done.pop()
        with batched(self._layers):
            remove_layers(removable, self._layers)
        for layer in existing(last.hidden, self._layers):
            layer.visible = True
        if existing(last.parts, self._layers):
            self._design.restore_whole()
        else:
            last.restore()

    def _removable(self) -> list[Ref]:
        here = existing(self.done[-1].parts, self._layers)
        return [weakref.ref(part) for part in here if PARTS[part].whole in self._layers]


class DesignWork(JobRunner):
    """Splits layers into rows, and opens and saves the table; emits messages as `message_posted`."""

    message_posted = Signal(str)

    def __init__(self, choices: Choices, divisions: Divisions) -> None:
        super().__init__()
        self.choices, self.design, self._divisions = choices, choices.design, divisions
        choices.design.original_restored.connect(self.post_message)

    def post_message(self, words: str, _: str = "") -> None:
        self.message_posted.emit(words)

    def _start_job(self, steps: JobSteps) -> None:
        if not self.busy:
            self.begin(self._with_errors_posted(steps))

    def _with_errors_posted(self, steps: JobSteps) -> JobSteps:
        self.message_posted.emit("Working …")
        try:
            yield from steps
        except (ValueError, OSError) as error:
            self.message_posted.emit(f"⚠ {as_user_error(error) if isinstance(error, ValueError) else error}")

    # Parts.

    def split(self, whole: Layer, way: SplitOption) -> None:
        """Split a layer into parts, whose rows replace its own."""
        self._start_job(self._split_job(whole, way))

    def split_by_replicates(self, layers: Iterable[Layer], column: str) -> None:
        """Split layers by a feature whose values name replicates, each a row of the layer's group."""
        self._start_job(self._replicate_job([(layer, replicate_option(layer, column)) for layer in layers]))

    def _replicate_job(self, ways: Sequence[tuple[Layer, SplitOption]]) -> JobSteps:
        made, hidden, pieces_of = list[Ref](), list[Ref](), list[list[NewPart]]()
        for _, way in ways:  # all before the first is added: one that cannot be split leaves the others whole
            pieces_of.append((yield way.pieces))
        for (whole, _), pieces in zip(ways, pieces_of, strict=True):
            parts = layers_of(whole, pieces)
            replicates = [{REPLICATE: piece.label} for piece in pieces]
            self.design.add_parts(whole, dict(zip(parts, replicates, strict=True)))
            made += map(weakref.ref, parts)
            hidden.append(weakref.ref(whole))
            for layer in parts:
                self.choices.viewer.add_layer(layer)
                yield None
            whole.visible = False
        counts = [*map(len, pieces_of)]
        many = " and ".join(map(str, counts)) if len(counts) <= len(SIDES) else str(sum(counts))
        words = f"Split by {ways[0][1].replicates} into {many} replicates."
        self._divisions.done.append(Division(words, made, hidden, self.design.restore_whole))
        self.message_posted.emit("")

    def _split_job(self, whole: Layer, way: SplitOption) -> JobSteps:
        if way.replicates:
            yield from self._replicate_job([(whole, way)])
            return
        pieces = yield way.pieces
        parts = layers_of(whole, pieces)
        for layer in parts:
            self.choices.viewer.add_layer(layer)
            yield None
        whole.visible = False
        self.design.replace_by_parts(whole, [piece.label for piece in pieces], parts, way.regions)
        self.message_posted.emit(left_out_sentence(pieces))

    # Saving.

    def save(self, path: Path) -> None:
        """Write the table and the settings; images that are not in a file unchanged are written next to it."""
        self._start_job(self._save_job(path))

    def _save_job(self, path: Path) -> JobSteps:
        design, dims, written = self.design, self.choices.dims, {}
        rows: list[tuple[Path, ImagePart, Mapping[str, str]]] = []
        names, *cells = design.rows()
        layers = design.grouped()
        for row, texts in zip(layers, cells, strict=True):
            told = dict(zip(names, texts, strict=True))
            if isinstance(row, ImageRow):
                pixel = {} if row.pixel is None else _pixel_cells(*row.pixel)
                rows.append((row.path, row.part, {**pixel, **told}))
                continue
            known, source = PARTS.get(row), source_of(row, dims)
            region = source.region
            holder = row if region is None or known is None or known.whole is None else known.whole
            if holder not in written:
                written[holder] = yield partial(
                    _file_holding, holder, replace(source, region=None, name=holder.name), path
                )
            file, of_file = written[holder]
            pixel = {} if source.kind == "shapes" else _pixel_cells(tuple(source.scale.tolist()), source.unit)
            rows.append(
                (file, replace(of_file, region=region if region is not None else of_file.region), {**pixel, **told})
            )
        settings = path.with_suffix(".toml")
        yield partial(write_design, path, rows)
        note = ""
        try:
            save_settings(settings, SettingsFile(self.choices.settings, self.choices.recipe))
            note = f", the settings in {settings.name}"
        except ValueError as error:
            note = f". The settings are not: {error}"
        design.unsaved = False
        out = [row for row in design.layers() if row not in layers]
        left = f"; {counted(len(out), 'image')} without a group left out" if out else ""
        self.message_posted.emit(f"Saved {counted(len(rows), 'row')} in {path.name}{left}{note}.")

    # Opening.

    def open(self, path: Path) -> None:
        """Replace the table by that of a file; its images, if at most `MAX_OPENED_IMAGES`, are opened as layers."""
        self._start_job(self._open_job(path))

    def _open_job(self, path: Path) -> JobSteps:
        table = yield partial(_read, path)
        design, made = self.design, {}
        rows: list[tuple[Row, Mapping[str, str]]] = []
        known = {_key(layer): layer for layer in design.layers() if isinstance(layer, Layer)}
        for one, cells in table:
            row: Row = one
            if (one.path.resolve(), one.part) in known:
                row = known[one.path.resolve(), one.part]
            elif len(table) <= MAX_OPENED_IMAGES:
                whole = replace(one, part=replace(one.part, region=None))
                key = whole.path, whole.part
                if key not in made or one.part.region is None:
                    data = yield partial(layer_data, whole)
                    made[key] = _layer(data, whole)
                row = made[key]
                if one.part.region is not None:
                    data = region_layer(row, one.part.region, self.choices.dims)
                    row = Layer.create(data[0], {**data[1], "name": one.name}, data[2])
                    PARTS[row] = PartOf(made[key], ImagePart(region=one.part.region))
                self.choices.viewer.add_layer(row)
            rows.append((row, cells))
            yield None
        design.replace_rows(rows)
        said = f"{path.name}: {counted(len(rows), 'row')}."
        if any(isinstance(row, ImageRow) for row, _ in rows):
            said += f" More than {MAX_OPENED_IMAGES} images are read when needed, not opened as layers."
        self.message_posted.emit(said)


def _key(layer: Layer) -> tuple[Path, ImagePart | None]:
    """Return the file that a layer was read from, and its part of the file."""
    root, part = root_of(layer)
    return Path(path_of(root)).resolve(), part


def path_of(layer: Layer) -> str:
    """Return the path of the file that a layer was read from, or an empty string."""
    known = PARTS.get(layer)
    return known.path if known is not None and known.path else str(layer.source.path or "")


def source_in_file(row: Row, dims: "Dims") -> Source:
    """Return a `Source` of a row of the table, with its file and part of the file if known."""
    source = source_of(row, dims)
    if isinstance(row, ImageRow):
        return source
    root, part = root_of(row)
    if part is not None:
        part = None if source.part is None else replace(part, plane=part.plane or source.part.plane, region=None)
    return replace(source, path=path_of(root), part=part)


def _read(path: Path) -> list[tuple[ImageRow, dict[str, str]]]:
    """Return the rows of a table, with their cells as text."""
    from ..io.curve_table import feature_text

    paths, table, parts, sizes = read_design(path)
    found = []
    for place, (image, part) in enumerate(zip(paths, parts, strict=True)):
        name = f"{image.stem.removesuffix('.ome').removesuffix('.labels')} {part}".strip()
        cells = {str(column): table[column].iloc[place] for column in table}
        told = {column: feature_text(value) for column, value in cells.items() if value == value}
        found.append((ImageRow(name, image, part, sizes.get(image.resolve())), told))
    return found


def layer_data(row: ImageRow) -> LayerData:
    """Read the image of a row as a napari layer data tuple."""
    report(f"reading {row.name}")
    ending, pixel = row.path.name.lower(), row.pixel
    if ending.endswith(MAPS) or row.part.value is not None or (ending.endswith(LABELS) and row.part == WHOLE):
        found = labelled(row.path, Reading(labels=True if ending.endswith(LABELS) else None), row.part)
        return _plane(found.labels, _calibration(pixel, found.calibration), row.name, "labels")
    if format_of(row.path) is not None:
        curves = ensemble_of_file(row.path, Reading(), row.part)
        look = {"shape_type": "polygon", "face_color": "transparent", "edge_color": OUTLINE}
        width = max(float(curves.features["equivalent_diameter"].median()) / 40, 1e-9)
        place = {"units": (curves.unit,) * 2, "edge_width": width, "name": row.name}
        return curves.curves, {**look, **place, "features": curves.features[["id"]]}, "shapes"
    image = read_image(row.path, plane=row.part.plane)
    labels, _ = as_labels(image.pixels)
    pixels, kind = (image.pixels, "image") if labels is None else (labels.astype(np.int32), "labels")
    return _plane(pixels, _calibration(pixel, image.calibration), row.name, kind)


def input_layers(inputs: Inputs, names: Sequence[str], folders: Sequence[Path]) -> tuple[list[Layer], list[str]]:
    """Return layers of the files of a result, and the names of files that were not found; of parts of images, none."""
    paths, _ = find_inputs(inputs, *folders)
    gone = [Path(file.path).name for file, path in zip(inputs.files, paths, strict=True) if path is None]
    if gone or any("region" in file.part for file in inputs.files):
        return [], gone
    found = []
    for file, path, name in zip(inputs.files, paths, names, strict=True):
        assert path is not None
        given: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in file.part.items()}
        part = ImagePart(**given)
        pixel = None if file.pixel_size is None else (file.pixel_size, file.unit)
        row = ImageRow(name, path, part, pixel)
        if file.labels is False:  # even if it looks like labels
            image = read_image(path, plane=part.plane)
            data = _plane(image.pixels, _calibration(pixel, image.calibration), name, "image")
        else:
            data = layer_data(row)
        found.append(_layer(data, row))
    return found, []


def _plane(pixels: NDArray[Any], calibration: Calibration, name: str, kind: str) -> LayerData:
    options = {"name": name, "scale": calibration.scale, "units": (calibration.unit,) * 2}
    return pixels, options | ({"rgb": pixels.ndim == 3} if kind == "image" else {}), kind


def _calibration(pixel: Any, stated: Calibration) -> Calibration:
    if pixel is None:
        return stated
    size, unit = pixel
    return Calibration(size if isinstance(size, tuple) else (size, size), unit, "table")


def _layer(data: LayerData, row: ImageRow) -> Layer:
    layer = Layer.create(*data)
    PARTS[layer] = PartOf(None, row.part, str(row.path))
    return layer


def _pixel_cells(size: float | tuple[float, float], unit: str) -> dict[str, str]:
    height, width = size if isinstance(size, tuple) else (float(size), float(size))
    return {"pixel_size": repr(height) if height == width else f"{height!r} × {width!r}", "unit": unit}


def _file_holding(layer: Layer, source: Source, table: Path) -> tuple[Path, ImagePart]:
    """Return a file and part with exactly the layer's data, written next to the table if none exists."""
    report(f"saving {source.name}")
    root, part = root_of(layer)
    path = Path(path_of(root)) if path_of(root) else None
    if path is not None and part is not None and not source.plane:
        of_file = PARTS[root].part if root in PARTS else WHOLE
        part = of_file if part == WHOLE else part
        as_image = source.kind != "image" or as_labels(source.data)[0] is None  # would not be read back as labels
        if as_image and is_unchanged_in_file(path, part, source):
            return path, part
    folder = table.parent / f"{table.stem}_images"
    folder.mkdir(parents=True, exist_ok=True)
    name = _NOT_IN_FILE_NAME.sub("_", source.name).strip("_.") or "image"
    height, width = source.scale.tolist()
    if source.kind == "shapes":
        file = folder / f"{name}.curves.npz"
        curves = Ensemble([outline * source.scale for outline in source.data], name=source.name, unit=source.unit)
        write_curves(file, CurveTable(curves, scale=(height, width)))
    else:
        file = folder / (f"{name}{LABELS}" if source.kind == "labels" else f"{name}.ome.tif")
        plane = source.data
        if source.kind == "labels":
            plane = plane.astype(np.uint16 if plane.max(initial=0) < 2**16 else np.uint32)
        write_plane(file, plane, Calibration((height, width), source.unit))
    return file, WHOLE


def is_table_of_groups(path: Path) -> bool:
    """Whether a CSV file has a column of images and none of coordinates."""
    if path.suffix.lower() != ".csv":
        return False
    with suppress(OSError, UnicodeError), path.open(encoding="utf-8-sig", newline="") as file:
        columns = {word.strip().lower() for word in next(csv.reader(file), [])}
        return IMAGE in columns and not columns & _COORDINATES
    return False
