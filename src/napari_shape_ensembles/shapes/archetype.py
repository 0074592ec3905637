"""The archetype every curve is registered against."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .registration import Registration, distinctness, register

Real = NDArray[np.float64]
Choice = Literal["asymmetric", "random", "mean"] | int

_ROUNDS = 100


def choose_archetype(preshapes: Real, choice: Choice, *, reflections: bool = True, seed: int = 0) -> Real:
    """Pick or make the archetype of an ensemble.

    Parameters
    ----------
    preshapes : (N, n, 2) array
        What will be registered: landmarks, or their undulations.
    choice : {"asymmetric", "random", "mean"} or int
        The curve whose match with itself is most distinct from its second best; a seeded draw (the paper's);
        the settled mean of the registered curves; or the curve of that index.
    reflections : bool
        Whether registration tries mirror images.
    seed : int
        For the random draw.

    Returns
    -------
    (n, 2) array
        Centred, and posed by its own moments: see `posed`.

    Raises
    ------
    ValueError
        For an unknown choice or an index outside the ensemble.
    """
    if choice == "mean":
        return _settled_mean(preshapes, reflections)
    return posed(preshapes[archetype_index(preshapes, choice, reflections=reflections, seed=seed)], reflections)


def posed(curve: Real, reflections: bool = True) -> Real:
    """Turn a curve (n, 2) into a pose of its own, so that no coordinate depends on how it lay in its image.

    As complex numbers, Σ|z|²z is made real and positive; where mirror images count as the same, the curve is
    also mirrored, and traversed backwards, if Σz³ has a negative imaginary part.
    """
    z = curve[:, 0] + 1j * curve[:, 1]
    z = z - z.mean()
    heading = (np.abs(z) ** 2 * z).sum()
    z = z * np.exp(-1j * np.angle(heading))
    if reflections and (z**3).sum().imag < 0:
        z = np.roll(z[::-1], 1).conj()
    return np.stack([z.real, z.imag], axis=-1)


def archetype_index(preshapes: Real, choice: Choice, *, reflections: bool = True, seed: int = 0) -> int:
    """Index of the archetype within the ensemble; for `"mean"` of the curve the mean starts from."""
    if choice in ("asymmetric", "mean"):
        return int(np.argmax(distinctness(preshapes, reflections=reflections)))
    if choice == "random":
        return int(np.random.default_rng(seed).integers(len(preshapes)))
    if isinstance(choice, str):
        raise ValueError(f'archetype is "asymmetric", "random", "mean" or the index of a curve, not {choice!r}')
    if not 0 <= choice < len(preshapes):
        raise ValueError(f"archetype {choice}: there are curves 0 to {len(preshapes) - 1}, A's first")
    return int(choice)


def _settled_mean(preshapes: Real, reflections: bool) -> Real:
    """Register, take the chordal mean, repeat until no curve moves by half a sample.

    Each round can only raise the summed score, so the shifts settle.
    """
    archetype = choose_archetype(preshapes, "asymmetric", reflections=reflections)
    before: Registration | None = None
    n = preshapes.shape[1]
    for _ in range(_ROUNDS):
        match = register(preshapes, archetype, reflections=reflections)
        if before is not None:
            moved = np.abs((before.shift - match.shift + n / 2) % n - n / 2)
            if (before.reversed == match.reversed).all() and (moved < 0.5).all():
                return archetype
        before = match
        sizes = np.linalg.norm(match.landmarks, axis=(1, 2), keepdims=True)
        archetype = (match.landmarks / sizes).mean(axis=0)
    raise ValueError(
        f'the mean archetype did not settle in {_ROUNDS} rounds: use archetype="asymmetric" for these curves'
    )
