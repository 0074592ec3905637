"""Sample data: one pair of synthetic micrographs for every row of the truth table.

napari calls these functions under *File > Open Sample*. Image B lies to the right of image A. The seed can be
changed to see the same pair drawn again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..samples import synthetic

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Image = NDArray[np.uint16]
    Layer = tuple[Image, dict[str, Any], str]

SHAPE = (1024, 1024)


def no_difference(seed: int = 0) -> list[Layer]:
    """Draw two fields of one polished steel: no difference (1∧1).

    Parameters
    ----------
    seed : int
        Other seeds draw other images from the same distributions.

    Returns
    -------
    list of layer data
        Two images of 1024 × 1024 pixels of 0.5 µm.
    """
    first, second = _generators(seed)
    return _pair(
        {"Steel, field 1": _section(first), "Steel, field 2": _section(second)},
        pixel=0.5,
    )


def scale_difference(seed: int = 0) -> list[Layer]:
    """Draw a powder after and before sieving: other sizes and elongations, the same form (1∧0).

    Parameters
    ----------
    seed : int
        Other seeds draw other images from the same distributions.

    Returns
    -------
    list of layer data
        Two images of 1024 × 1024 pixels of 1 µm.
    """
    first, second = _generators(seed)
    return _pair(
        {
            "Powder, sieved": _powder(first, size=16.5, spread=0.08),
            "Powder, as received": _powder(second, size=17.5, spread=0.2),
        },
        pixel=1.0,
    )


def undulation_difference(seed: int = 0) -> list[Layer]:
    """Draw nuclei that look alike, with outlines that are a little rougher in B (0∧1).

    Parameters
    ----------
    seed : int
        Other seeds draw other images from the same distributions.

    Returns
    -------
    list of layer data
        Two images of 1024 × 1024 pixels of 0.25 µm.
    """
    first, second = _generators(seed)
    return _pair(
        {
            "Nuclei, control": _nuclei(first, roughness=0.016),
            "Nuclei, treated": _nuclei(second, roughness=0.024),
        },
        pixel=0.25,
    )


def both_differences(seed: int = 0) -> list[Layer]:
    """Draw a steel before and after rolling: longer grains with wavier boundaries (0∧0).

    Parameters
    ----------
    seed : int
        Other seeds draw other images from the same distributions.

    Returns
    -------
    list of layer data
        Two images of 1024 × 1024 pixels of 0.5 µm.
    """
    first, second = _generators(seed)
    return _pair(
        {
            "Steel, as cast": _section(first),
            "Steel, rolled": _section(second, waviness=0.065, stretch=(0.8, 1.25)),
        },
        pixel=0.5,
    )


def _generators(seed: int) -> list[Generator]:
    return np.random.default_rng(seed).spawn(2)


def _section(rng: Generator, *, waviness: float = 0.05, stretch: tuple[float, float] = (1, 1)) -> Image:
    scene = synthetic.etch(rng, *synthetic.tile(rng, SHAPE, spacing=58, waviness=waviness, stretch=stretch))
    return synthetic.expose(rng, scene, photons=500, shading=0.1)


def _powder(rng: Generator, *, size: float, spread: float) -> Image:
    forms = synthetic.draw_forms(rng, 300, roughness=0.025, waves=(6, 10))
    scales = synthetic.draw_scales(rng, 300, size=size, spread=spread, elongation=1.35)
    scene = synthetic.scan(rng, *synthetic.scatter(rng, forms @ scales, SHAPE))
    return synthetic.expose(rng, scene, photons=600, shading=0.2)


def _nuclei(rng: Generator, *, roughness: float) -> Image:
    forms = synthetic.draw_forms(rng, 340, roughness=roughness, waves=(6, 14))
    scales = synthetic.draw_scales(rng, 340, size=16.5, spread=0.14, elongation=1.4)
    scene = synthetic.fluoresce(rng, *synthetic.scatter(rng, forms @ scales, SHAPE))
    return synthetic.expose(rng, scene, photons=300, shading=0.25)


def _pair(images: dict[str, Image], *, pixel: float) -> list[Layer]:
    step = 1.04 * SHAPE[1] * pixel
    return [
        (
            image,
            {
                "name": name,
                "scale": (pixel, pixel),
                "units": ("µm", "µm"),
                "translate": (0, place * step),
                "contrast_limits": (100, 3600),
            },
            "image",
        )
        for place, (name, image) in enumerate(images.items())
    ]
