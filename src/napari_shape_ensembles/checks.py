"""Checks of what callers and files give, where taking it as it is would go wrong without a word."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: What random draws start from, as NumPy and scikit-learn have it.
RandomState = int | np.random.Generator | np.random.RandomState | None


def seed_of(random_state: RandomState, seed: int | None = None) -> int:
    """Return the whole number that all draws of one call start from.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A number repeats the draws; a generator is asked for one; None stands for other draws each time.
    seed : int, optional
        The earlier name of the parameter, which comes first where it is given.

    Raises
    ------
    ValueError
        For anything else.
    """
    given = random_state if seed is None else seed
    if given is None:
        return int(np.random.default_rng().integers(2**32))
    if isinstance(given, np.random.Generator):
        return int(given.integers(2**32))
    if isinstance(given, np.random.RandomState):
        return int(given.randint(2**31))
    return whole(given, "random_state", least=0)


class ContentError(ValueError):
    """What is wrong with a file, in words that need no more context than its name."""


def text(value: Any, what: str) -> str:
    """Return a text that can be written to a file.

    Raises
    ------
    ValueError
        For what is no text, or holds half a letter (a lone surrogate, as undecodable file names do); `what` names it.
    """
    if not isinstance(value, str):
        raise ValueError(f"{what} is a text, not {value!r}: str(...) makes it one")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds letters that cannot be written down: {value!r}") from None
    return value


def switch(value: Any, name: str) -> bool:
    """Return a switch; any text would count as true, "no" among them.

    Raises
    ------
    ValueError
        For anything but True and False.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is true or false, not {value!r}")
    return bool(value)


def whole(value: Any, name: str, *, least: int) -> int:
    """Return a whole number of at least `least`.

    Raises
    ------
    ValueError
        For anything else, True and 5.0 included.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}")
    return int(value)


def unmasked(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return values as an array; NumPy would go on with what lies under a mask.

    Raises
    ------
    ValueError
        For an array with masked values, saying what to do.
    """
    if hidden := np.count_nonzero(np.ma.getmaskarray(values)) if isinstance(values, np.ma.MaskedArray) else 0:
        raise ValueError(f"{hidden} values of {what} are masked: fill them in (.filled(...)), or leave them out")
    return np.asarray(values)


def seal(instance: Any) -> None:
    """Make the arrays of an instance read-only: what a result says stays what was found."""
    for name, value in vars(instance).items():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(instance, name, view)


class Sealed:
    """What dataclasses are made from whose arrays are read-only."""

    def __post_init__(self) -> None:
        seal(self)
