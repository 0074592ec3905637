"""Maps of crystal orientations as layers: colours of orientation, phases, pattern quality, and grains as labels."""

from collections.abc import Sequence

from ..comparison.display import LayerData
from ..io.ebsd import ENDINGS, EBSDMap, read_ebsd
from ..io.grains import find_grains
from .files import Reader, paths_of


def map_reader(path: str | Sequence[str]) -> Reader | None:
    """Return the function that opens maps of orientations as layers, or None for other files."""
    return read_map_layers if all(name.lower().endswith(ENDINGS) for name in paths_of(path)) else None


def read_map_layers(path: str | Sequence[str]) -> list[LayerData]:
    """Open maps as layers; grains are those of `find_grains` with its defaults."""
    return [layer for name in paths_of(path) for layer in map_layers(read_ebsd(name))]


def map_layers(ebsd: EBSDMap) -> list[LayerData]:
    """Layer data of a map: IPF colours, pattern quality where the file has it, phases and grains.

    All have the size of a pixel as scale and its unit; phases and grains are labels, the phases hidden.
    """
    place = {"scale": ebsd.scale, "units": (ebsd.unit,) * 2}
    names = {key: phase.name for key, phase in ebsd.phases.items()}
    layers: list[LayerData] = [(ebsd.ipf_colours(), {"name": f"{ebsd.name} IPF z", "rgb": True, **place}, "image")]
    if ebsd.quality_name:
        quality = {"name": f"{ebsd.name} {ebsd.quality_name}", "colormap": "gray", "visible": False, **place}
        layers.append((ebsd.quality_image, quality, "image"))
    phases = {"name": f"{ebsd.name} phases", "visible": False, "metadata": {"phases": names}, **place}
    layers.append((ebsd.phase_image, phases, "labels"))
    grains = {"name": f"{ebsd.name} grains", "opacity": 0.4, **place}
    return [*layers, (find_grains(ebsd), grains, "labels")]
