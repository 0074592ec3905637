"""Pickles, parsed as data: what they name is neither imported nor called, so that reading one runs no code of it."""

import math
import pickletools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError
from ..budget import reserve

# Objects of Python in a file, at most; and memory of one of them in bytes.
_MAX_STEPS, _BYTES_PER_STEP = 250_000, 200
# Axes of an array, at most: the product of many large numbers takes hours.
_MAX_AXES = 32
_VALUES = (
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINUNICODE"),
    *("SHORT_BINUNICODE", "BINUNICODE8"),
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass
class Call:
    """What unpickling would call: the name of a function or class, its arguments, and the state of the result."""

    name: str
    arguments: Any = ()
    state: Any = None


def parsed_pickle(content: bytes) -> Any:
    """Return the numbers, texts, lists, tuples and dictionaries by texts in a pickle, and a `Call` for all else.

    Raises
    ------
    ValueError
        For more objects than files of outlines have, and for steps that `numpy.save` does not write.
    """
    reserve(len(content))  # copied below
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def top(count: int | None = None) -> list[Any]:
        """Take values from the stack: so many, or those since the last mark."""
        start = marks.pop() if count is None else len(stack) - count
        if start < (marks[-1] if marks else 0):
            raise ContentError("is damaged: its values are out of order")
        items = stack[start:]
        del stack[start:]
        return items

    step: pickletools.OpcodeInfo
    value: Any
    for number, (step, value, _) in enumerate(pickletools.genops(content)):
        if number >= _MAX_STEPS:
            raise ContentError(f"holds more than {_MAX_STEPS} Python objects: export the masks as PNG or TIFF")
        reserve(_BYTES_PER_STEP)
        name = step.name
        if name in _VALUES:
            stack.append(value)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            stack.append(tuple(top(_TUPLES[name])))
        elif name == "TUPLE":
            stack.append(tuple(top()))
        elif name in ("EMPTY_LIST", "EMPTY_DICT"):
            stack.append([] if name == "EMPTY_LIST" else {})
        elif name == "MARK":
            marks.append(len(stack))
        elif name in ("APPEND", "APPENDS"):
            items = top(1) if name == "APPEND" else top()
            _of_type(stack[-1], list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = top(2) if name == "SETITEM" else top()
            pairs = ((key, item) for key, item in zip(items[::2], items[1::2], strict=True) if isinstance(key, str))
            _of_type(stack[-1], dict).update(pairs)
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[value] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[value])
        elif name == "GLOBAL":  # "module name"
            stack.append(Call(value))
        elif name == "STACK_GLOBAL":
            named = " ".join(_of_type(part, str) for part in top(2))
            reserve(4 * len(named))  # two long texts, joined again and again
            stack.append(Call(named))
        elif name in ("REDUCE", "NEWOBJ"):
            called, arguments = top(2)
            stack.append(Call(_of_type(called, Call).name, arguments))
        elif name == "BUILD":
            (state,) = top(1)
            _of_type(stack[-1], Call).state = state
        elif name == "STOP":
            return top(1)[0]
        elif name not in ("PROTO", "FRAME"):
            raise ContentError(f"holds Python objects of an unknown kind ({name.lower()}): export the masks as TIFF")
    raise ContentError("is damaged: it ends early")


def array_in(value: Any) -> NDArray[Any] | None:
    """Return the array of numbers that a parsed pickle describes, or None for any other value.

    Raises
    ------
    ValueError
        For an array whose shape does not match its content.
    """
    if not _is_call(value, "_reconstruct", 5):
        return None
    _, shape, dtype, by_columns, content = value.state
    if not (_is_call(dtype, "dtype", 5) and isinstance(content, bytes) and isinstance(shape, tuple)):
        return None
    code, order = dtype.arguments[0] if dtype.arguments else None, dtype.state[1]
    # Tuples that hold each other twice, a hundred levels deep, have no end as text.
    if not (isinstance(code, str) and re.fullmatch("b1|[iu][1248]|f[248]", code) and order in ("<", ">", "|", "=")):
        return None
    if len(shape) > _MAX_AXES or not all(type(side) is int for side in shape):
        return None
    kind = np.dtype(code).newbyteorder(order)
    if any(side < 0 for side in shape) or math.prod(shape) * kind.itemsize != len(content):
        raise ContentError(f"claims {shape} values of {kind}, which does not match its content")
    return np.frombuffer(content, kind).reshape(shape, order="F" if by_columns else "C")


def _is_call(value: Any, name: str, states: int) -> bool:
    """Whether a value is a call of a function of NumPy with a state of several entries."""
    named = isinstance(value, Call) and re.fullmatch(rf"numpy(\._?core\.multiarray)? {name}", value.name)
    return bool(named) and isinstance(value.state, tuple) and len(value.state) >= states


def _of_type(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ContentError(f"is damaged: a {type(value).__name__} is in the place of a {kind.__name__}")
    return value
