"""Validation of arguments and file contents that would otherwise fail silently."""

from collections.abc import Iterable, Sized
from dataclasses import fields
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Random state, as accepted by NumPy and scikit-learn.
RandomState = int | np.random.Generator | np.random.RandomState | None
# Longer representations of an attribute are abbreviated in that of its dataclass.
_LONGEST = 120


def seed_of(random_state: RandomState) -> int:
    """Return the integer seed for all random draws of one call.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        An integer gives reproducible draws; a seed is drawn from a generator; None gives different draws each time.

    Raises
    ------
    ValueError
        For any other value.
    """
    if random_state is None:
        return int(np.random.default_rng().integers(2**32))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return whole(random_state, "random_state", least=0)


class ContentError(ValueError):
    """Error in the content of a file, with a message that needs no context but the file name."""


def text(value: Any, what: str) -> str:
    """Return a string that can be encoded as UTF-8.

    Raises
    ------
    ValueError
        For another type, or a lone surrogate (as in undecodable file names); `what` names the value.
    """
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a string, not {value!r}: convert it with str(...)")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} contains characters that cannot be encoded: {value!r}") from None
    return value


def switch(value: Any, name: str) -> bool:
    """Return a boolean; strings are rejected, as "no" would count as true.

    Raises
    ------
    ValueError
        For any other type.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def whole(value: Any, name: str, *, least: int) -> int:
    """Return an integer of at least `least`.

    Raises
    ------
    ValueError
        For any other value, including True and 5.0.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
    return int(value)


def expect(value: Any, kind: type, words: str) -> None:
    """Raise a TypeError unless a value is of a type; `words` say what is expected."""
    if not isinstance(value, kind):
        raise TypeError(f"{words}, not {type(value).__name__}")


def several(values: Any, words: str) -> list[Any]:
    """Return the items of a list or another iterable; `words` of the TypeError for other types say what is expected."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{words}, not {type(values).__name__}")
    return list(values)


def unmasked(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return values as an array without a mask; NumPy would silently use masked values.

    Raises
    ------
    ValueError
        For an array with masked values, with advice.
    """
    if hidden := np.count_nonzero(np.ma.getmaskarray(values)) if isinstance(values, np.ma.MaskedArray) else 0:
        raise ValueError(f"{hidden} values of {what} are masked: fill them (.filled(...)) or remove them")
    return np.asarray(values)


def seal(instance: Any) -> None:
    """Make the arrays of an instance read-only, so that results stay immutable."""
    for name, value in vars(instance).items():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(instance, name, view)


class Sealed:
    """Base class of dataclasses with read-only arrays, and a representation that does not list them."""

    __post_init__ = seal

    def __init_subclass__(cls) -> None:
        """Set the representation of a class without its own before `dataclass` would generate one."""
        if "__repr__" not in vars(cls):
            cls.__repr__ = _in_short  # type: ignore[method-assign]


def _in_short(instance: Any) -> str:
    """Representation of a dataclass with the sizes of long values in place of the values."""
    values = (f"{one.name}={_value_in_short(getattr(instance, one.name))}" for one in fields(instance) if one.repr)
    return f"{type(instance).__name__}({', '.join(values)})"


def _value_in_short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and prod(shape) > 10:  # an array or a table
        return f"<{type(value).__name__} of shape {shape}>"
    if shape != () and isinstance(value, Sized) and not isinstance(value, str) and len(value) > 2:
        return f"<{type(value).__name__} of {len(value)}>"
    whole = repr(value)
    return whole if len(whole) <= _LONGEST else f"<{type(value).__name__}>"
