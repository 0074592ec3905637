"""napari readers: curves, results, settings, and orientation maps (EBSD)."""

from collections.abc import Callable, Sequence
from pathlib import Path

import napari
import numpy as np
import pandas as pd
from napari.settings import get_settings
from napari.utils.notifications import show_info, show_warning

from ..archive import is_archive
from ..budget import budget
from ..comparison import Comparison
from ..comparison.display import LayerData
from ..comparison.saved import COMPARISON, EXPERIMENT, REFERENCE
from ..io import read_comparison_view, read_curves
from ..io.cellpose import is_seg, read_seg
from ..io.curve_files import format_of
from ..io.cvat import is_cvat_zip
from ..io.drawn import frames_of
from ..io.ebsd import ENDINGS, EBSDMap, read_ebsd
from ..io.grains import find_grains
from ..io.imagej import holds_regions
from ..io.images import ZARR
from ..io.layouts import AMBIGUOUS, ending_of, holds_outlines
from ..io.spatialdata_store import is_spatialdata
from ..palette import OUTLINE
from ..words import account_of, counted
from .choices import PLUGIN
from .layers import comparison_layer_data

Reader = Callable[[str | Sequence[str]], list[LayerData] | list[tuple[None]]]

# File name patterns of this plugin. napari's builtin reader accepts any .npz and .csv too, so napari would ask.
_OWN_NAMES = ("*.comparison.npz", "*.experiment.npz", "*.reference.npz", "*.curves.npz", "*.curves.csv")


def prefer_own_reader() -> None:
    """Make this plugin the preferred reader of its own file names, unless the user has chosen another.

    Called when a person saves or opens such a file here, not on activation.
    """
    plugins = get_settings().plugins
    if any(name not in plugins.extension2reader for name in _OWN_NAMES):
        plugins.extension2reader = dict.fromkeys(_OWN_NAMES, "napari-shape-ensembles") | plugins.extension2reader


def reader(path: str | Sequence[str]) -> Reader | None:
    """Return a reader of curves, results, settings and orientation maps (EBSD), or None for other files."""
    if all(name.lower().endswith(ENDINGS) for name in paths_of(path)):
        return lambda path: [layer for name in paths_of(path) for layer in map_layers(read_ebsd(name))]
    if all(map(is_seg, paths_of(path))):
        return lambda path: [mask_layer(name) for name in paths_of(path)]
    if any(map(_is_for_the_bench, paths_of(path))):
        return open_in_bench
    if all(is_archive(name, COMPARISON) for name in paths_of(path)) and _is_in_a_window():
        return open_in_bench
    return read_curve_layers if all(map(_holds_curves, paths_of(path))) else None


def _is_for_the_bench(name: str) -> bool:
    """Whether a file holds settings, or a result without layers of its own."""
    return name.lower().endswith(".toml") or any(is_archive(name, kind) for kind in (EXPERIMENT, REFERENCE))


def _is_in_a_window() -> bool:
    """Whether a file is opened in a window: a comparison is then shown in the bench, not by its curves alone.

    The command line ``napari`` opens files before it shows its window.
    """
    return getattr(napari.current_viewer(), "window", None) is not None


def _holds_curves(name: str) -> bool:
    """Whether a file holds curves by its name; of annotations and zips, which others use too, by its content."""
    ending = Path(name).suffix.lower()
    if ending in AMBIGUOUS:
        return holds_outlines(name)
    if ending == ".zip":
        return holds_regions(name) or is_cvat_zip(name)
    return format_of(name) is not None and (ending != ZARR or is_spatialdata(name))


def open_in_bench(path: str | Sequence[str]) -> list[tuple[None]]:
    """Open settings and saved results, with their images, in the bench of the current viewer; they add no layers."""
    from .session import Session  # imports all tasks, which other files do not need

    viewer = napari.current_viewer()
    if viewer is None:
        raise ValueError("it is opened in a napari viewer, or by Experiment.load, Reference.load or load_settings")
    if (window := getattr(viewer, "window", None)) is not None:
        window.add_plugin_dock_widget(PLUGIN, "Shape bench")[0].show()
        prefer_own_reader()
    for name in paths_of(path):
        if words := Session.of(viewer).open_file(Path(name)):
            show_info(words)
            Session.of(viewer).page_requested.emit("recipe")
    return [(None,)]  # read, without layers


def paths_of(path: str | Sequence[str]) -> list[str]:
    """Return one path or several as a list; napari passes either."""
    return [path] if isinstance(path, str) else list(path)


def mask_layer(name: str) -> LayerData:
    """Read masks of Cellpose as a layer that can be painted on."""
    with budget():
        return read_seg(name).copy(), {"name": Path(name).stem}, "labels"  # the bytes of a file are read-only


def read_curve_layers(path: str | Sequence[str]) -> list[LayerData]:
    """Read files of curves as Shapes layers, and comparisons as their two colored layers."""
    layers: list[LayerData] = []
    for name in paths_of(path):
        if is_archive(name, COMPARISON):
            layers += comparison_layer_data(Comparison.load(name), read_comparison_view(name))
        else:
            table = read_curves(name)
            original = {"file": name} if ending_of(name) else {}
            several = {f"{image} {frame}".rstrip(): rows for (image, frame), rows in frames_of(table).items()}
            if account := account_of(table.ensemble.dropped, table.ensemble.filled):
                show_warning(f"{Path(name).name}: {counted(len(table.ensemble), 'curve')}; {'; '.join(account)}")
            pixels = table.pixels
            for image, rows in several.items():
                curves, features = [pixels[row] for row in rows], table.features
                features = features.iloc[rows].reset_index(drop=True) if features.shape[1] else features
                typical = float(np.median([np.ptp(curve, axis=0).mean() for curve in curves])) if curves else 1.0
                left_out = {str(reason): count for reason, count in table.ensemble.dropped.items()}
                options = {
                    "name": image,
                    "shape_type": "polygon",
                    "features": features.assign(id=table.ensemble.ids[rows]),
                    "scale": table.scale,
                    "units": (table.ensemble.unit,) * 2,
                    "face_color": "transparent",
                    "edge_color": OUTLINE,
                    "edge_width": max(typical / 40, 0.1),
                    "metadata": {"provenance": dict(table.provenance), "left out": left_out, **original},
                }
                layers.append((curves, options, "shapes"))
    return layers


def map_layers(ebsd: EBSDMap) -> list[LayerData]:
    """Return layer data of a map: IPF colors, pattern quality if available, phases and grains.

    All have the pixel size as scale, with its unit; phases and grains are Labels layers, the phases hidden.
    """
    place = {"scale": ebsd.scale, "units": (ebsd.unit,) * 2}
    names = {key: phase.name for key, phase in ebsd.phases.items()}
    layers: list[LayerData] = [(ebsd.ipf_colours(), {"name": f"{ebsd.name} IPF z", "rgb": True, **place}, "image")]
    if ebsd.quality_name:
        quality = {"name": f"{ebsd.name} {ebsd.quality_name}", "colormap": "gray", "visible": False, **place}
        layers.append((ebsd.quality_image, quality, "image"))
    phases = {"name": f"{ebsd.name} phases", "visible": False, "metadata": {"phases": names}, **place}
    layers.append((ebsd.phase_image, phases, "labels"))
    grains = find_grains(ebsd)
    ids, first = np.unique(grains, return_index=True)
    own = [names.get(int(key), "") for key in ebsd.phase_image.ravel()[first].tolist()]
    features = pd.DataFrame({"index": ids, "phase": own})[ids > 0]
    look = {"name": f"{ebsd.name} grains", "opacity": 0.4, "features": features, **place}
    return [*layers, (grains, look, "labels")]
