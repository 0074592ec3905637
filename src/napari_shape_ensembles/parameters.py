"""Choices declared once: a frozen dataclass whose fields say their own default, range, unit and words for people.

Forms, checks, TOML files, options of the command line and pages of the documentation are made from these declarations.
"""

import inspect
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from .archive import ContentError, StrPath, opened, write_bytes

Choices = TypeVar("Choices")
Values = Mapping[str, Any]
#: Values of other parameters with which one matters: any one of the mappings, and in it all of the names.
Needs = Mapping[str, tuple[Any, ...]] | Sequence[Mapping[str, tuple[Any, ...]]]

#: Written at the top of files of settings; what an option meant may change with it.
VERSION = 2
_IN_FULL = {"px": "pixels", "px²": "pixels"}
_HEADER = "# Settings of napari-shape-ensembles. What is left out has its default.\n\n"
# Bytes: a settings file of hand-written lines is far below this.
_LARGEST = 10**6
# Dots in a line: names of very many parts take the parser time by the square of their number.
_MOST_DOTS = 100


@dataclass(frozen=True)
class Parameter:
    """One declared choice.

    Attributes
    ----------
    name : str
    kinds : tuple
        Members of its type: float, int, bool, str, None, tuples of floats, and literals.
    default : object
    help : str
        A sentence or two.
    label : str
        Of its control in a form.
    unit : str
        Symbol, such as "px"; empty for numbers without a unit.
    least, most : float, optional
        Ends of its range that belong to it.
    above, below : float, optional
        Ends of its range that do not.
    step, decimals : float, int, optional
        Of its control in a form.
    choices : mapping
        Value -> words for people; empty for what is no choice from a list.
    group : str
        Heading in forms and documentation.
    needs : tuple of mappings
        Values of other parameters with which this one matters: of any one mapping, all; empty for always.
    """

    name: str
    kinds: tuple[Any, ...]
    default: Any
    help: str
    label: str = ""
    unit: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    step: float | None = None
    decimals: int | None = None
    choices: Mapping[Any, str] = field(default_factory=dict)
    group: str = ""
    needs: tuple[Mapping[str, tuple[Any, ...]], ...] = ()

    @property
    def optional(self) -> bool:
        """Whether None can be chosen."""
        return NoneType in self.kinds

    @property
    def kind(self) -> type:
        """What a value is mostly: bool, int, float or str; of a choice, the kind of its default."""
        if self.choices:
            return type(self.default)
        return next(kind for kind in (bool, int, float, str) if kind in self.kinds)

    def checked(self, value: Any, name: str = "") -> Any:
        """Return a value as this parameter has it: numbers as Python's own, lists as tuples.

        Parameters
        ----------
        value : object
        name : str
            In the error, where the caller knows the parameter by another one.

        Raises
        ------
        ValueError
            For a value of another type or out of range: name, range with unit, and value.
        """
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, list | np.ndarray):
            plain = tuple(item.item() if isinstance(item, np.generic) else item for item in plain)
        if not any(self._fits(kind, plain) for kind in self.kinds):
            raise ValueError(f"{name or self.name} is {self.expected}, not {value!r}")
        return plain

    def read(self, value: Any, name: str = "") -> Any:
        """Return the value that a text stands for, checked; what is no text is only checked.

        Parameters
        ----------
        value : object
            Such as "0.5", "0.5,1" where several numbers can be, or a choice.
        name : str
            In the error, where the caller knows the parameter by another one.
        """
        if isinstance(value, str):
            names = {str(choice): choice for choice in self.choices}
            value = names[value] if value in names else self._number(value)
        return self.checked(value, name)

    def _number(self, text: str) -> Any:
        """The number or numbers in a text; the text itself where there are none."""
        try:
            if "," in text and any(get_origin(kind) is tuple for kind in self.kinds):
                return tuple(float(part) for part in text.split(","))
            return int(text) if int in self.kinds else float(text) if float in self.kinds else text
        except ValueError:
            return text

    def _fits(self, kind: Any, value: Any) -> bool:
        if get_origin(kind) is tuple:
            length = len(get_args(kind))
            fits = isinstance(value, tuple) and (len(value) == length or (Ellipsis in get_args(kind) and value))
            return bool(fits) and all(self._fits(float, item) for item in value)
        if get_origin(kind) is Literal:
            return any(type(value) is type(choice) and value == choice for choice in get_args(kind))
        if kind in (int, float):
            number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
            return (
                number
                and abs(value) <= sys.float_info.max
                and (self.least is None or value >= self.least)
                and (self.most is None or value <= self.most)
                and (self.above is None or value > self.above)
                and (self.below is None or value < self.below)
            )
        return isinstance(value, kind)

    @property
    def expected(self) -> str:
        """What it can be, in words: "a number between 3 and 5000 pixels"."""
        unit = _IN_FULL.get(self.unit, self.unit)
        words = [f"one of {', '.join(map(str, self.choices))}"] if self.choices else []
        for kind in self.kinds:
            if kind is bool and not self.choices:
                words.append("true or false")
            elif kind is str:
                words.append("a text")
            elif kind in (int, float):
                number = "a whole number" if kind is int else "a number" if self.range else "a finite number"
                words.append(" ".join(filter(None, (number, self.range, unit))))
            elif get_origin(kind) is tuple:
                words.append("several of them" if Ellipsis in get_args(kind) else f"{len(get_args(kind))} of them")
        return ", or ".join(words)

    @property
    def range(self) -> str:
        """The range in words, without unit; empty for any number."""
        least, most, above, below = (
            None if end is None else f"{end:.12g}" for end in (self.least, self.most, self.above, self.below)
        )
        if least and most:
            return f"between {least} and {most}"
        if above and below:
            return f"strictly between {above} and {below}"
        if least == "0":
            return "of 0 or more"
        ends = ((least, "of at least"), (above, "above"), (most, "of at most"), (below, "below"))
        return " and ".join(f"{words} {end}" for end, words in ends if end)

    @property
    def description(self) -> str:
        """Help, range with unit, and default in words for people, as tooltips have it."""
        return self._described(self.shown(self.default))

    @property
    def plain_description(self) -> str:
        """The same with the default as it is written in files."""
        return self._described(str(self.default) if self.choices else self.shown(self.default))

    def _described(self, default: str) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.help}{self.ends}" + (f" Default: {default}{unit}." if self.default is not None else "")

    @property
    def ends(self) -> str:
        """The range and the unit as a sentence after the help; empty for neither."""
        if self.choices or not (self.range or self.unit):
            return ""
        words = f"{self.range.removeprefix('of ') or 'in'} {self.unit}".strip()
        return f" {words[0].upper()}{words[1:]}."

    def shown(self, value: Any) -> str:
        """A value in words: of a choice those for people, of a switch on and off."""
        if value in self.choices:
            return self.choices[value]
        if isinstance(value, bool):
            return "on" if value else "off"
        return f"{value:g}" if isinstance(value, float) else str(value)


def parameter(default: Any, help: str, *, needs: Needs = (), **declared: Any) -> Any:  # noqa: A002 - the usual name
    """Declare a field of a frozen dataclass: its default, its help, and what else `Parameter` knows of one."""
    whens = (needs,) if isinstance(needs, Mapping) else tuple(needs)
    return field(default=default, metadata={"parameter": Parameter("", (), default, help, needs=whens, **declared)})


_declared: dict[type[Any], Mapping[str, Parameter]] = {}


def parameters_of(cls: type[Any]) -> Mapping[str, Parameter]:
    """Return the declared parameters of a dataclass by name, in their order."""
    if cls in _declared:
        return _declared[cls]
    hints, found = get_type_hints(cls), {}
    for item in fields(cls):
        hint, declared = hints[item.name], item.metadata["parameter"]
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        values = [value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
        found[item.name] = replace(
            declared,
            name=item.name,
            kinds=kinds,
            choices=declared.choices or {value: str(value) for value in values},
            label=declared.label or item.name.replace("_", " ").capitalize(),
        )
    return _declared.setdefault(cls, found)


def check(instance: Any) -> None:
    """Check all parameters of a frozen dataclass, in `__post_init__`; see `Parameter.checked`.

    Raises
    ------
    ValueError
        For a value of another type or out of range.
    """
    for name, declared in parameters_of(type(instance)).items():
        value = getattr(instance, name)
        if value is not declared.default:  # as most are in the hundreds of recipes that are tried on an image
            object.__setattr__(instance, name, declared.checked(value))


def tree(instance: Any) -> dict[str, Any]:
    """All parameters by name, as files have them."""
    return {name: getattr(instance, name) for name in parameters_of(type(instance))}


def changed(instance: Any) -> dict[str, Any]:
    """What differs from the defaults, by name."""
    declared = parameters_of(type(instance))
    return {name: value for name, value in tree(instance).items() if value != declared[name].default}


def from_tree(cls: type[Choices], values: Values, called: str = "") -> Choices:
    """Return the dataclass of these values; what is left out keeps its default.

    Parameters
    ----------
    cls : type
    values : mapping
    called : str
        What errors call the values; by default the name of the class.

    Raises
    ------
    ValueError
        For a name that does not exist, saying which there are, or a value that cannot be.
    """
    called = called or cls.__name__
    if not isinstance(values, Mapping):
        raise ContentError(f"{called} is a table of names and values, not {values!r}")
    known = parameters_of(cls)
    unknown = sorted(str(name) for name in set(values) - set(known))
    if unknown:
        raise ContentError(f"{called} has no option {unknown[0]!r}; there are {', '.join(known)}")
    return cls(**values)


def matters(choices: Any, name: str) -> bool:
    """Whether a parameter changes anything beside the others.

    Parameters
    ----------
    choices : dataclass, or (type, mapping of values)
        As chosen; of a form that is not complete, the type and the values so far.
    name : str
    """
    cls, values = choices if isinstance(choices, tuple) else (type(choices), tree(choices))
    declared = parameters_of(cls)
    whens = declared[name].needs
    return not whens or any(
        all(values.get(other, declared[other].default) in allowed for other, allowed in when.items()) for when in whens
    )


def when_words(cls: type[Any], name: str) -> str:
    """When a parameter matters, in words: "for method manual, hysteresis"; empty for always."""
    declared = parameters_of(cls)
    return "; or ".join(
        "for " + " and ".join(_these(declared[other], values) for other, values in when.items())
        for when in declared[name].needs
    )


def _these(declared: Parameter, values: tuple[Any, ...]) -> str:
    """Some values of a parameter, by those it is not where these are fewer."""
    others = [value for value in declared.choices if value not in values]
    if 0 < len(others) < len(values):
        return f"any {declared.name} but {', '.join(map(str, others))}"
    return f"{declared.name} {', '.join(map(str, values))}"


def documented(cls: type[Choices]) -> type[Choices]:
    """Put the parameters of a dataclass into its docstring, as a decorator."""
    lines = ["Attributes", "----------"]
    for name, declared in parameters_of(cls).items():
        default = "optional" if declared.default is None else f"default {declared.default!r}"
        lines.append(f"{name} : {_type_words(declared)}, {default}")
        when = when_words(cls, name)
        text = f"{declared.help}{declared.ends}{f' {when[0].upper()}{when[1:]}.' if when else ''}"
        lines += textwrap.wrap(text, 112, initial_indent="    ", subsequent_indent="    ")
    # From Python 3.13 on docstrings are not indented.
    head, mark, tail = inspect.cleandoc(cls.__doc__ or "").partition("Raises\n")
    cls.__doc__ = "\n".join([head.rstrip(), "", *lines, "", mark + tail])
    return cls


def _type_words(declared: Parameter) -> str:
    names = {int: "int", float: "float", str: "str"} | ({} if declared.choices else {bool: "bool"})
    words = ["{" + ", ".join(repr(value) for value in declared.choices) + "}"] if declared.choices else []
    words += [names[kind] for kind in declared.kinds if kind in names]
    words += ["tuple of floats" for kind in declared.kinds if get_origin(kind) is tuple]
    return " or ".join(words)


def write_tables(path: StrPath, tables: Mapping[str, Any]) -> None:
    """Write dataclasses as the tables of a TOML file, complete or not at all; None is left out, as TOML lacks it.

    Raises
    ------
    OSError
        When the file cannot be written; an earlier file of that name stays.
    """
    import tomli_w  # only where a file is written

    kept = {name: {key: item for key, item in tree(part).items() if item is not None} for name, part in tables.items()}
    for key, item in (entry for part in kept.values() for entry in part.items()):
        if not isinstance(item, bool | int | float | str | tuple):
            raise ContentError(f"{key} is {item!r}, which settings cannot hold: save it to a file and give its path")
    write_bytes(path, (_HEADER + tomli_w.dumps({"version": VERSION, **kept})).encode())


@contextmanager
def file_named(path: StrPath) -> Iterator[None]:
    """Errors over the content of a file name it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{Path(path).name}: {error}") from error


def table(tables: Values, name: str) -> Values:
    """Return one table of a file, empty where there is none."""
    found = tables.get(name, {})
    if not isinstance(found, Mapping):
        raise ContentError(f"{name} is a table of options, [{name}], not {found!r}")
    return found


def read_tables(path: StrPath) -> dict[str, Any]:
    """Read a TOML file of parameters.

    Raises
    ------
    ValueError
        For a file that is no TOML.
    OSError
        When there is no such file, or it cannot be read.
    """
    with opened(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ContentError(f"it is larger than {_LARGEST // 10**6} MB: this is no settings file")
    if any(line.count(b".") > _MOST_DOTS for line in content.splitlines()):
        raise ContentError(f"this is no TOML file of settings: a line of it has more than {_MOST_DOTS} dots")
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))  # editors on Windows put a mark first
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContentError(f"this is no TOML file: {error}") from error
    version = tables.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise ContentError(
            f"its version is {version!r}: this software reads up to {VERSION}; update it to read the file"
        )
    return tables
