"""From files to ensembles: images are segmented and traced, curve files are read; one file at a time."""

import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, array_of, errors_named, is_archive, opened
from ..budget import budget, reserve_labels
from ..outlines import Ensemble, Outlines, objects_of_classes
from ..outlines.finders import pinned
from ..outlines.not_image import NotImage
from ..outlines.proposals import best_recipe, describe_finding, places_tried, reason_not_tried
from ..outlines.reasons import AT_BORDER, Reason
from ..outlines.recipe import PIXEL_SIZE, TRACING
from ..outlines.recognise import as_labels
from ..outlines.tiles import outlines_in_tiles
from ..parameters import parameters_of
from ..progress import as_part, report
from ..words import account_of, counted, listed
from .calibration import Calibration
from .cellpose import SEG
from .content import unpacked
from .curve_files import FORMATS, format_of, read_curves
from .curve_table import FORMAT, feature_text
from .drawn import one_frame, with_recipe
from .ebsd import ENDINGS as MAPS
from .ebsd import read_ebsd
from .grains import cut_grains, find_grains
from .image_parts import WHOLE, ImagePart, objects_inside
from .images import ENDINGS, ZARR, ImageFile, count_images, is_ome_zarr, read_image
from .layouts import AMBIGUOUS, holds_outlines
from .lazy_images import lazy_labels
from .npz import POINTS, shapes_of
from .ome_zarr import read_ome_zarr
from .outputs import CURVES, LABELS, is_result
from .settings_file import BEST_OF_SEVERAL, SettingsFile
from .spatialdata_store import is_spatialdata
from .vendor_images import VENDORS

# In a folder, such files are usually notes, settings and other data rather than outlines.
_AMBIGUOUS = (*AMBIGUOUS, ".npy", ".h5", ".hdf5")
_IMAGES = (*(ending for ending in (*ENDINGS, *MAPS) if ending not in _AMBIGUOUS), SEG)
_IN_FOLDERS = (*_IMAGES, ZARR, *(ending for ending in FORMATS if ending not in _AMBIGUOUS))

# What other programs and people add to the name of an image for its labels and outlines, the best ones first.
_DERIVED = (
    r"corrected( \d+)?|((cp|cellpose)[ _])?masks?",
    r"(instance[ _]?)?labels?|label_?image|object[ _]identities|gt|ground[ _]?truth",
    r"seg|segment(ation|ed)|classes|simple[ _]segmentation|instances?|objects?|object[ _]predictions?|predictions?|pred"
    r"|binary|cellpose|stardist",
    r"(cp_)?outlines?|roi_?set|rois?|contours?|curves|polygons?|annotat(ed|ions?)",
    r"overlay|flows|probabilit(y|ies)|prob|thresh(old(ed)?)?|uncertainty|boundar(y|ies)",
)
_SUFFIX, _PREFIX = (re.compile(form % "|".join(_DERIVED)) for form in (r"[ _.-]+(%s)$", r"^(%s)[ _.-]+"))
_WORDS = [re.compile(rf"(^|[ _.-])({form})($|[ _.-])") for form in _DERIVED]
#: Pixel side, or height and width, and its unit.
PixelSize = tuple[float | tuple[float, float], str]


@dataclass(frozen=True)
class Reading:
    """Options for converting files to ensembles.

    Attributes
    ----------
    settings : SettingsFile
        Supplies the recipe; its pixel size, if any, overrides that of the files.
    labels : bool, optional
        Images are labels, masks or classes, rather than gray levels; by default detected.
    memory : float, optional
        Memory limit in GiB per file; see `budget`.
    curve_column : str, optional
        For tables: the column that identifies the curve.
    pixel_sizes : mapping of Path to PixelSize
        For individual images by resolved path; overrides all other sources.
    tell : callable
        Called with a line on what was read from a file, or detected in it.
    """

    settings: SettingsFile = field(default_factory=SettingsFile)
    labels: bool | None = None
    memory: float | None = None
    curve_column: str | None = None
    pixel_sizes: Mapping[Path, PixelSize] = field(default_factory=dict)
    tell: Callable[[str], None] = lambda _: None

    def of(self, path: Path) -> "Reading":
        """Specialize for one file: with its own pixel size, if any; masks of `segment` and Cellpose are labels."""
        # Even if a single object looks like a mask.
        labels = True if self.labels is None and path.name.lower().endswith((LABELS, SEG)) else self.labels
        if (size := self.pixel_sizes.get(path.resolve())) is None:
            return replace(self, labels=labels)
        outlines = replace(self.settings.outlines, pixel_size=size[0], unit=size[1])
        return replace(self, labels=labels, settings=replace(self.settings, outlines=outlines))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of an image, with the pixel size."""

    labels: NDArray[Any]
    calibration: Calibration
    name: str
    ignored: NotImage | None = None  #: parts of the image that are not image
    cut: int = 0  #: number of objects removed because they touch the border of a region
    region: str | None = None  #: what the labels were restricted to, if that is no rectangle


def files_of(
    path: Path,
    *,
    groups: bool,
    labels: bool = False,
    images: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Return the files of one sample: the file itself, or the images and curve files in a folder, sorted by name.

    Results of earlier runs in the folder are ignored, except those of `segment`. An image, its labels and its outlines
    are one thing, whichever program wrote them: only one of them is used, the image before the outlines and, unless
    `labels` is set, these before the labels.

    Parameters
    ----------
    path : Path
    groups : bool
        Whether `path` may be a folder.
    labels : bool
        Images are labels.
    images : bool
        Only images.
    tell : callable
        Called with a line on the files that are left out.

    Raises
    ------
    ValueError
        For a folder unless `groups` is set, or one without readable files.
    FileNotFoundError
        If the file or folder does not exist.
    """
    try:
        path.name.encode()
    except UnicodeEncodeError as error:
        raise ContentError(f"the name of {path.name!r} cannot be encoded as text: rename it") from error
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if not path.is_dir() or is_ome_zarr(path) or is_spatialdata(path):
        return [path]
    if not groups:
        raise ContentError(f"{path} is a folder: with --groups each folder is one sample of several images")
    endings = (*_IMAGES, ZARR) if images else _IN_FOLDERS
    readable = [item for item in path.iterdir() if item.name.lower().endswith(endings) and item.name[0] != "."]
    exported = [item for item in readable if item.suffix.lower() not in VENDORS]
    if exported and len(exported) < len(readable):
        names = sorted(item.name for item in readable if item not in exported)
        tell(f"{path.name}: {listed(names)} left out, as other images, which may be exports of them, are there")
        readable = exported
    forms = _forms(sorted(item for item in readable if not is_result(item)))
    found = [item for name, same in forms.items() for item in _one_form(name, same, labels)]
    left_out = sorted({item.name for same in forms.values() for item in same} - {item.name for item in found})
    used = {_plain_stem(item) for item in found}  # "a" for "a.curves.csv", which is of the same image without doubt
    if foreign := [name for name in left_out if not _is_segmented(Path(name)) or _plain_stem(Path(name)) not in used]:
        tell(
            f"{path.name}: other files of the images that are used, such as their outlines or labels, are left "
            f"out ({listed(foreign)}): for those, keep them in a folder of their own"
        )
    if not found and not images:
        shared = [item for item in path.iterdir() if item.suffix.lower() in AMBIGUOUS and item.name[0] != "."]
        found = [item for item in shared if not is_result(item) and holds_outlines(item)]
    if not found:
        what = "images" if images else "images and no curves"
        ignored = sorted(item.name for item in path.iterdir() if item.name.lower().endswith(_AMBIGUOUS))
        more = f"; {listed(ignored)} may be notes: list files of outlines in a design table" if ignored else ""
        inner = sorted(item.name for item in path.iterdir() if item.is_dir() and item.name[0] != ".")
        more += f"; its folders ({listed(inner)}) are not searched: give each of them" if inner else ""
        raise ContentError(f"{path} holds no {what} ({', '.join(endings)}){more}")
    return sorted(found)


def _forms(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Group files by the image that they are of or derive from: "a" for "a.labels.ome.tif" and "a_cp_masks.png"."""
    forms: dict[str, list[Path]] = {}
    stems = {_plain_stem(path) for path in paths}
    for path in paths:
        forms.setdefault(_image_of(_plain_stem(path), stems), []).append(path)
    return forms


def _image_of(stem: str, stems: Container[str]) -> str:
    """Return the image that a file is of by its name; beside "a" also "a" for "a_sam_masks_2"."""
    image = _PREFIX.sub("", _SUFFIX.sub("", stem)) or stem
    if image in stems and image != stem:
        return image
    for end in reversed([found.start() for found in re.finditer(r"[ _.-]", stem)]):
        if stem[:end] in stems and any(word.search(stem[end:]) for word in _WORDS):
            return stem[:end]
    return image


def _one_form(name: str, files: list[Path], labels: bool) -> list[Path]:
    """Choose between an image, its labels and its curves; of the same in several formats, the best one."""
    traced = [path for path in files if path.stem.endswith(CURVES) or holds_curves(path)]
    derived = [path for path in files if _plain_stem(path) != name or ".labels." in path.name.lower()]
    pictures = {path.stem: path for path in sorted(files, key=_rank, reverse=True) if path not in {*traced, *derived}}
    of_labels = sorted((path for path in derived if path not in traced), key=_rank)[:1]
    of_curves = sorted(traced, key=_rank)[:1]
    images = list(pictures.values())
    return (of_labels or images or of_curves) if labels else (images or of_curves or of_labels)


def _rank(path: Path) -> tuple[int, int]:
    """Return the place of a file among those of one image: masks before other pictures, exact formats before others."""
    word = next((place for place, word in enumerate(_WORDS) if word.search(_plain_stem(path))), -1)
    endings = (*_IMAGES, ZARR, *FORMATS)
    return word, next(place for place, ending in enumerate(endings) if path.name.lower().endswith(ending))


def _plain_stem(path: Path) -> str:
    """Return the name of a file without its extensions, in lower case: "a" for "a.labels.ome.tif"."""
    name = path.stem.lower()
    for ending in (".ang", ".ctf", ".csv", ".geojson"):  # of a compressed file
        name = name.removesuffix(ending)
    return name.removesuffix(".ome").removesuffix(".labels").removesuffix(CURVES)


def _is_segmented(path: Path) -> bool:
    """Whether the name is one that `segment` gives to labels and curves."""
    return path.name.lower().endswith(LABELS) or path.stem.endswith(CURVES)


def _is_table(path: Path) -> bool:
    return path.name.lower().endswith((".csv", ".tsv", ".csv.gz", ".parquet"))


def holds_curves(path: Path) -> bool:
    """Whether a file is one of curves, by its name."""
    image = path.name.lower().endswith((*_IMAGES, ZARR)) and not is_spatialdata(path)
    return format_of(path) is not None and not image


def distinct_names(paths: Sequence[Path], names: Sequence[str] | None = None) -> list[str]:
    """Return distinct names: those of the files, with the extension or folder added where names collide.

    By default names have no extension. A path given twice keeps its name.
    """
    own = list(names or map(_plain_stem, paths))
    folders = [path.resolve().parent.name for path in paths]
    repeated = {name for name, times in Counter(own).items() if times > 1}
    ways = (own, [path.name for path in paths], [f"{folder}-{name}" for folder, name in zip(folders, own, strict=True)],
            [f"{folder}-{path.name}" for folder, path in zip(folders, paths, strict=True)],
            [str(path.resolve()) for path in paths])  # fmt: skip
    files = len({path.resolve() for path in paths})
    found = own
    for way in ways:
        found = [new if name in repeated else name for name, new in zip(own, way, strict=True)]
        if len(set(found)) >= files:
            break
    return found


def read_images(
    paths: Sequence[Path], reading: Reading, parts: Sequence[ImagePart] = ()
) -> tuple[list[Ensemble], Reading]:
    """Read the outlines of several images, or of a part of each, one file in memory at a time.

    Return ensembles of distinct names, and the reading with the recipe that was used: for the method `auto`, that which
    is best for all images together. A ValueError names the file that cannot be read, segmented or traced.
    """
    parts = parts or [WHOLE] * len(paths)
    found = [
        name
        for name, value in reading.settings.outlines.changed().items()
        if parameters_of(Outlines)[name].group not in (TRACING, PIXEL_SIZE)
        and value != getattr(BEST_OF_SEVERAL, name)  # the recipe if none is given
    ]
    if reading.curve_column is not None and not any(map(_is_table, paths)):
        raise ContentError(f"none of the files is a table with a column {reading.curve_column}: omit curve_column")
    if found and all(map(holds_curves, paths)):
        reading.tell(f"note: {', '.join(found)} {'has' if len(found) == 1 else 'have'} no effect on files of outlines")
    reading, ensembles = with_one_recipe(paths, reading, parts), []
    for place, (path, part) in enumerate(zip(paths, parts, strict=True)):
        report(path.name, place, len(paths))
        with as_part(place, len(paths), f"{path.name}: "):
            ensemble = ensemble_of_file(path, reading, part)
        several = len(set(ensemble.images.tolist()))
        pooled = f" of {several} images, pooled," if several > 1 else ""
        name = path.name if part == WHOLE else f"{path.name} {part}"
        reading.tell(f"{name}: {counts_of(ensemble)}{pooled} in {ensemble.unit}")
        ensembles.append(ensemble)
    for name, ensemble in zip(distinct_names(paths, [one.name for one in ensembles]), ensembles, strict=True):
        ensemble.name = name
    return ensembles, reading


def counts_of(ensemble: Ensemble) -> str:
    """Return the number of curves in words, and of what was left out: "36 curves (1 left out: …)"."""
    account = "; ".join(account_of(ensemble.dropped, ensemble.filled))
    return counted(len(ensemble), "curve") + (f" ({account})" if account else "")


def images_in(path: Path, part: ImagePart = WHOLE) -> list[ImagePart]:
    """Return a part of each image in a file of several, such as the positions of an OME-TIFF; else only the part."""
    if part.plane or part.phase is not None or part.feature is not None or (count := count_images(path)) == 1:
        return [part]
    return [replace(part, plane=(number,)) for number in range(count)]


def labelled(path: Path, reading: Reading, part: ImagePart = WHOLE) -> Labelled:
    """Return the labels of an image file: read, or found by segmentation; for an orientation map, its grains.

    Objects are found in the whole plane and then cropped to the region of `part`, so that regions share a threshold.

    Raises
    ------
    ValueError
        If the file is not an image, cannot be segmented or has no such part, naming it.
    """
    reading = reading.of(path)
    if part.feature is not None:
        raise ContentError(f"{path.name}: an image has no features: give a curve file for {part}")
    if path.name.lower().endswith(MAPS):
        found = _grains(path, reading, part)
    elif part.phase is not None:
        raise ContentError(f"{path.name}: only an orientation map has phases: there is no {part}")
    else:
        image = _image_file(path, reading, part)
        with naming(path.name):
            labels, ignored = _labels_in(path, image.pixels, reading, part)
            found = Labelled(labels, image.calibration, image.name, ignored)
    if part.region is None:
        return found
    with naming(path.name):
        if not isinstance(part.region, str):
            ignored = found.ignored and replace(found.ignored, mask=part.cut(found.ignored.mask))
            return replace(found, labels=part.cut(found.labels), ignored=ignored)
        labels, cut = objects_inside(found.labels, part.region, keep_cut=reading.settings.outlines.keep_border)
        return replace(found, labels=labels, cut=found.cut + cut, region=part.region)


def _grains(path: Path, reading: Reading, part: ImagePart) -> Labelled:
    """Label the grains of an orientation map, or those of one phase."""
    if part.plane or part.value is not None:
        raise ContentError(f"{path.name}: an orientation map has regions and phases, but no {part}")
    ebsd = read_ebsd(path, memory=reading.memory)
    with naming(path.name):
        grains = find_grains(ebsd)
        if part.phase is not None:
            grains = np.where(ebsd.phase_image == ebsd.key_of(part.phase), grains, 0)
        cut = np.empty(0) if reading.settings.outlines.keep_border else cut_grains(ebsd, grains)
        grains[np.isin(grains, cut)] = 0
        calibration = _stated(reading) or Calibration(ebsd.scale, ebsd.unit, "map")
        region = "measured places" if (ebsd.points < 0).any() else None
        return Labelled(grains, calibration, ebsd.name, cut=len(cut), region=region)


def _labels_in(
    path: Path, pixels: NDArray[Any], reading: Reading, part: ImagePart
) -> tuple[NDArray[Any], NotImage | None]:
    """Return the objects of a class, the labels that an image holds, or those found by segmentation.

    Also, for those, the parts that are not image.
    """
    if part.value is not None:
        return objects_of_classes(pixels, [part.value]), None
    labels, note = as_labels(pixels, insist=reading.labels)
    if note:
        reading.tell(f"note: {path.name} {note}")
    if labels is not None:
        return labels, None
    ignored = reading.settings.outlines.ignored(pixels)
    return reading.settings.outlines.labels(pixels, ignored=ignored), ignored


def with_one_recipe(paths: Sequence[Path], reading: Reading, parts: Sequence[ImagePart] = ()) -> Reading:
    """Replace the method `auto` by the recipe that is best for all images together.

    Individual recipes per image could produce spurious differences between groups. Labels and curve files are ignored.

    Raises
    ------
    ValueError
        If an image cannot be read or segmented, naming it.
    """
    recipe = reading.settings.outlines
    if recipe.find is not None:
        recipe = replace(recipe, find=pinned(recipe.find))
        return replace(reading, settings=replace(reading.settings, outlines=recipe))
    if recipe.method != "auto" or reading.labels:
        return reading
    places = [(path, image) for path, part in zip(paths, parts or [WHOLE] * len(paths), strict=True)
              if _is_grey(path, part) for image in images_in(path, part)]  # fmt: skip
    grey = []
    for number, (path, part) in enumerate(places[place] for place in places_tried(len(places))):
        report(path.name, number, len(places))
        pixels = _image_file(path, reading.of(path), part).pixels
        with naming(path.name):
            if as_labels(pixels, insist=reading.labels)[0] is None:
                if reason := reason_not_tried(pixels, recipe):
                    raise ValueError(reason)
                grey.append(pixels)
    if not grey:
        return reading
    found = best_recipe(grey, recipe, lambda words: reading.tell(f"warning: {words}"))
    tried = f"{len(grey)} of {len(places)} images" if len(grey) < len(places) else counted(len(grey), "image")
    reading.tell(f"note: one recipe for all images, the best of several tried on {tried}: {describe_finding(found)}")
    return replace(reading, settings=replace(reading.settings, outlines=found))


def _is_grey(path: Path, part: ImagePart) -> bool:
    """Whether a file may hold gray levels, judged by its name and the requested part."""
    name = path.name.lower()
    image = name.endswith(ENDINGS) and not name.endswith((LABELS, SEG))
    return (image or is_ome_zarr(path)) and part.value is None and part.feature is None


def _stated(reading: Reading) -> Calibration | None:
    outlines = reading.settings.outlines
    return outlines.pixel_scale and Calibration(outlines.pixel_scale, str(outlines.unit), "as given")


def _image_file(path: Path, reading: Reading, part: ImagePart) -> ImageFile:
    """Read one plane of an image, with the pixel size."""
    given = _stated(reading)
    if path.suffix.lower() == ".npz":
        if part.plane:
            raise ContentError(
                f"{path.name}: an archive holds one plane, so there is no {part}: save the stack as TIFF"
            )
        return ImageFile(_read_only_plane(path, reading), given or Calibration(), path.stem)
    if path.name.lower().endswith(ENDINGS):
        return read_image(path, given, plane=part.plane, memory=reading.memory)
    if not is_ome_zarr(path):
        raise ContentError(
            f"{path.name}: unknown format; the extension is not one of {', '.join(ENDINGS)}, {ZARR}, .npz (one "
            f"plane) or, for orientation maps, {', '.join(MAPS)}"
        )
    image = read_ome_zarr(path, plane=part.plane, labels=reading.labels, memory=reading.memory)
    return replace(image, calibration=given or image.calibration)


def _is_image_archive(path: Path, reading: Reading) -> bool:
    """Whether a NumPy archive is an image rather than curves: as specified, or by its content."""
    if is_archive(path, FORMAT):
        return False
    with errors_named(path, "NumPy archive"), opened(path) as file:
        shapes = shapes_of(zipfile.ZipFile(file))
    curves = any(name in shapes for name in POINTS)
    return bool(reading.labels) or (not curves and [len(shape) for shape in shapes.values()].count(2) == 1)


def _read_only_plane(path: Path, reading: Reading) -> NDArray[Any]:
    """Read the only 2D array of integers in a NumPy archive."""
    with errors_named(path, "NumPy archive"), budget(reading.memory), opened(path) as file:
        archive = zipfile.ZipFile(file)
        shapes = {name: shape for name, shape in shapes_of(archive).items() if len(shape) == 2}
        if len(shapes) != 1:
            raise ContentError(f"holds {len(shapes)} planes of labels: save one per file")
        reserve_labels(math.prod(*shapes.values()), 0)
        ((name, content),) = unpacked(archive, shapes)
        return array_of(content, name)


def traced(found: Labelled, reading: Reading) -> Ensemble:
    """Trace the outlines of labels, in the unit of their image."""
    with naming(found.name):
        ensemble = reading.settings.outlines.trace(
            found.labels,
            scale=found.calibration.scale,
            unit=found.calibration.unit,
            name=found.name,
            ignored=found.ignored,
            region=found.region,
        )
    return also_left_out(ensemble, AT_BORDER, found.cut) if found.cut else ensemble


def also_left_out(ensemble: Ensemble, reason: Reason, count: int) -> Ensemble:
    """Add to the number of dropped objects of an ensemble."""
    dropped = {**ensemble.dropped, reason: ensemble.dropped.get(reason, 0) + count}
    return ensemble.derived(ensemble.curves, dropped=dropped)


def traced_in_tiles(path: Path, reading: Reading) -> Ensemble | None:
    """Trace labels that exceed the memory limit, by tile; None for any other file, and for recipes of tilings."""
    reading = reading.of(path)
    recipe = reading.settings.outlines
    if not (reading.labels or is_ome_zarr(path)) or recipe.is_tiling:
        return None
    large = lazy_labels(path, labels=reading.labels, memory=reading.memory)
    if large is None:
        return None
    scale, unit = recipe.pixel_scale or large.calibration.scale, recipe.unit or large.calibration.unit
    with naming(path.name):
        return outlines_in_tiles(large.array, recipe, scale=scale, unit=unit, name=large.name)


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Prefix the message of errors with the name of the item being read."""
    try:
        yield
    except ValueError as error:
        raise ContentError(f"{what}: {error}") from error


def ensemble_of_file(path: Path, reading: Reading, part: ImagePart = WHOLE) -> Ensemble:
    """Read the curves of one file: an image, one plane of a NumPy archive, an orientation map or a curve file.

    For a part of an image, the name of the ensemble includes the part.

    Raises
    ------
    ValueError
        If the file cannot be read, segmented or traced, naming it.
    """
    reading, ending, is_whole = reading.of(path), path.suffix.lower(), part == WHOLE
    if is_whole and (tiled := traced_in_tiles(path, reading)) is not None:
        return tiled
    if (
        path.name.lower().endswith((*ENDINGS, *MAPS))
        or is_ome_zarr(path)
        or (ending == ".npz" and _is_image_archive(path, reading))
    ):
        if len(images := images_in(path, part)) > 1:
            members = [ensemble_of_file(path, reading, image) for image in images]
            return Ensemble.pooled(members, name=members[0].name.removesuffix(f" {images[0]}"))
        found = traced(labelled(path, reading, part), reading)
        if not is_whole:
            found.name = f"{found.name} {part}"
        return found
    if not is_whole and part != ImagePart(feature=part.feature):
        raise ContentError(f"{path.name}: holds curves, so there is no {part}: give one file per row")
    if format_of(path) is None:
        raise ContentError(
            f"{path.name}: unknown format; the extension is not one of images ({', '.join(ENDINGS)}, {ZARR}), "
            f"orientation maps ({', '.join(MAPS)}) or curves ({', '.join(FORMATS)})"
        )
    recipe = reading.settings.outlines
    column = reading.curve_column if _is_table(path) else None
    table = read_curves(path, memory=reading.memory, curve_column=column)
    with naming(path.name):
        if part.feature is None:
            table, remark = one_frame(table)
            if remark:
                reading.tell(f"note: {path.name} {remark}")
            return with_recipe(table, recipe)
    name, value = part.feature
    if name not in table.features:
        known = ", ".join(map(str, table.features)) or "none"
        raise ContentError(f"{path.name}: its curves have no feature {name!r}; the features are {known}")
    values = table.features[name].map(feature_text)
    chosen = (values == value).to_numpy(dtype=bool)
    if not chosen.any():
        known = ", ".join(dict.fromkeys(values.head(1000)))
        raise ContentError(f"{path.name}: no curve has {part}: the values are {known[:200]}")
    with naming(path.name):
        found = with_recipe(table[chosen], recipe)
    found.name = f"{found.name} {part}"
    return found
