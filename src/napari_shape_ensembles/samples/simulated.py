"""Simulated samples: pairs of micrographs that differ only in the simulated effect.

Both images of a pair follow the same distributions of gray levels, texture, illumination, blur and noise. Other seeds
draw other images from the same distributions.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import synthetic
from .pair import SamplePair

Image = NDArray[np.uint16]

# Rows and columns of an image, and the fewest.
SIDE, LEAST_SIDE = 1024, 128
# Area of the scene per object, in pixels.
PARTICLE_ROOM, NUCLEUS_ROOM = 3495, 3084


def simulated_fields(seed: int = 0, *, side: int = SIDE) -> SamplePair:
    """Draw two fields of one polished steel: no difference (1∧1).

    Parameters
    ----------
    seed : int
    side : int
        Rows and columns of each image, 128 or more.

    Returns
    -------
    SamplePair
        Two images with pixels of 0.5 µm.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> pair = samples.simulated_fields(side=256)
    >>> pair.names[0], pair.a.shape, pair.pixel_size, pair.unit
    ('Simulated steel, field 1', (256, 256), 0.5, 'µm')
    """
    first, second = _generators(seed, side)
    names = ("Simulated steel, field 1", "Simulated steel, field 2")
    return _pair("Simulated: two fields of one steel", names, _section(first, side), _section(second, side), pixel=0.5)


def simulated_sieving(seed: int = 0, *, side: int = SIDE) -> SamplePair:
    """Draw a powder after and before sieving: different sizes and elongations, same form (1∧0).

    Parameters
    ----------
    seed : int
    side : int
        Rows and columns of each image, 128 or more.

    Returns
    -------
    SamplePair
        Two images with pixels of 1 µm.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> pair = samples.simulated_sieving(side=256)
    >>> pair.names[0], pair.a.shape, pair.pixel_size, pair.unit
    ('Simulated powder, sieved', (256, 256), 1.0, 'µm')
    """
    first, second = _generators(seed, side)
    names = ("Simulated powder, sieved", "Simulated powder, as received")
    a, b = _powder(first, side, size=16.5, spread=0.08), _powder(second, side, size=17.5, spread=0.2)
    return _pair("Simulated: a powder, sieved and as received", names, a, b, pixel=1.0)


def simulated_treatment(seed: int = 0, *, side: int = SIDE) -> SamplePair:
    """Draw nuclei that look alike, with slightly rougher outlines in B (0∧1).

    Parameters
    ----------
    seed : int
    side : int
        Rows and columns of each image, 128 or more.

    Returns
    -------
    SamplePair
        Two images with pixels of 0.25 µm.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> pair = samples.simulated_treatment(side=256)
    >>> pair.names[0], pair.a.shape, pair.pixel_size, pair.unit
    ('Simulated nuclei, control', (256, 256), 0.25, 'µm')
    """
    first, second = _generators(seed, side)
    names = ("Simulated nuclei, control", "Simulated nuclei, treated")
    a, b = _nuclei(first, side, roughness=0.016), _nuclei(second, side, roughness=0.024)
    return _pair("Simulated: nuclei, control and treated", names, a, b, pixel=0.25)


def simulated_rolling(seed: int = 0, *, side: int = SIDE) -> SamplePair:
    """Draw a steel before and after rolling: longer grains with wavier boundaries (0∧0).

    Parameters
    ----------
    seed : int
    side : int
        Rows and columns of each image, 128 or more.

    Returns
    -------
    SamplePair
        Two images with pixels of 0.5 µm.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> pair = samples.simulated_rolling(side=256)
    >>> pair.names[0], pair.a.shape, pair.pixel_size, pair.unit
    ('Simulated steel, as cast', (256, 256), 0.5, 'µm')
    """
    first, second = _generators(seed, side)
    names = ("Simulated steel, as cast", "Simulated steel, rolled")
    a, b = _section(first, side), _section(second, side, waviness=0.065, stretch=(0.8, 1.25))
    return _pair("Simulated: a steel, as cast and rolled", names, a, b, pixel=0.5)


def _pair(title: str, names: tuple[str, str], a: Image, b: Image, *, pixel: float) -> SamplePair:
    return SamplePair(title, names, "image", a, b, len(a), "simulated", "", pixel_size=pixel, unit="µm")


def _generators(seed: int, side: int) -> list[Generator]:
    """Generators of the two images, which hold too few objects if they are smaller than the least side."""
    if side < LEAST_SIDE:
        raise ValueError(f"side {side}: a simulated image has at least {LEAST_SIDE} rows and columns")
    return np.random.default_rng(seed).spawn(2)


def _section(rng: Generator, side: int, *, waviness: float = 0.05, stretch: tuple[float, float] = (1, 1)) -> Image:
    scene = synthetic.etch(rng, *synthetic.tile(rng, (side, side), spacing=58, waviness=waviness, stretch=stretch))
    return synthetic.expose(rng, scene, photons=500, shading=0.1)


def _powder(rng: Generator, side: int, *, size: float, spread: float) -> Image:
    count = side**2 // PARTICLE_ROOM
    forms = synthetic.draw_forms(rng, count, roughness=0.025, waves=(6, 10))
    scales = synthetic.draw_scales(rng, count, size=size, spread=spread, elongation=1.35)
    scene = synthetic.scan(rng, *synthetic.scatter(rng, forms @ scales, (side, side)))
    return synthetic.expose(rng, scene, photons=600, shading=0.2)


def _nuclei(rng: Generator, side: int, *, roughness: float) -> Image:
    count = side**2 // NUCLEUS_ROOM
    forms = synthetic.draw_forms(rng, count, roughness=roughness, waves=(6, 14))
    scales = synthetic.draw_scales(rng, count, size=16.5, spread=0.14, elongation=1.4)
    scene = synthetic.fluoresce(rng, *synthetic.scatter(rng, forms @ scales, (side, side)))
    return synthetic.expose(rng, scene, photons=300, shading=0.25)
