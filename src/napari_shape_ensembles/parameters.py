"""Declarative parameters: frozen dataclasses whose fields declare default, range, unit and help text.

Forms, validation, TOML files, command line options and documentation pages are generated from these declarations.
"""

import inspect
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from .archive import ContentError, StrPath, opened, write_bytes

Choices = TypeVar("Choices")
Values = Mapping[str, Any]
#: Values of other parameters for which a parameter has an effect: all entries of any one of the mappings.
Needs = Mapping[str, tuple[Any, ...]] | Sequence[Mapping[str, tuple[Any, ...]]]

#: Version of the format of settings files.
VERSION = 2
_FULL_UNIT_NAMES = {"px": "pixels", "px²": "pixels"}
_HEADER = "# Settings of napari-shape-ensembles. Omitted settings have their defaults.\n\n"
# Maximum size in bytes: hand-written settings files are far smaller.
_LARGEST = 10**6
# Maximum dots per line: parsing dotted keys takes quadratic time.
_MAX_DOTS = 100
# Names that other packages give to parameters.
_ELSEWHERE = {"alpha": "significance", "level": "significance", "n_components": "rank", "sigma": "outline_smoothing"}
NOT_SET = "not set"  #: display text of None in forms


@dataclass(frozen=True)
class Parameter:
    """One declared parameter.

    Attributes
    ----------
    name : str
    kinds : tuple
        Member types of its annotation: float, int, bool, str, None, tuples of floats, and literals.
    default : object
    help : str
        One or two sentences.
    label : str
        Label of its form control.
    unit : str
        Symbol, such as "px"; empty for dimensionless numbers.
    least, most : float, optional
        Inclusive bounds of the range.
    above, below : float, optional
        Exclusive bounds of the range.
    step, decimals : float, int, optional
        Step size and decimals of its form control.
    choices : mapping
        Value -> display text; empty unless it is a choice from a list.
    group : str
        Heading in forms and documentation.
    needs : tuple of mappings
        Values of other parameters for which this one has an effect: all entries of any one mapping; empty for always.
    expert : bool
        Whether it is seldom set: forms and short option lists omit it.
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
    expert: bool = False

    @property
    def optional(self) -> bool:
        """Whether None is allowed."""
        return NoneType in self.kinds

    @property
    def kind(self) -> type:
        """Main type of the value: bool, int, float or str; for a choice, the type of its default."""
        if self.choices:
            return type(self.default)
        return next(kind for kind in (bool, int, float, str) if kind in self.kinds)

    def checked(self, value: Any, name: str = "") -> Any:
        """Validate a value and return it with NumPy scalars converted to Python numbers and lists to tuples.

        Parameters
        ----------
        value : object
        name : str
            Name in the error message, if the caller uses another one.

        Raises
        ------
        ValueError
            For a value of another type or outside its range, with name, range including unit, and value.
        """
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, list | np.ndarray):
            plain = tuple(item.item() if isinstance(item, np.generic) else item for item in plain)
        if not any(self._fits(kind, plain) for kind in self.kinds):
            raise ValueError(f"{name or self.name} must be {self.expected}, not {value!r}")
        return plain

    def read(self, value: Any, name: str = "") -> Any:
        """Parse and validate a string; other types are only validated.

        Parameters
        ----------
        value : object
            Such as "0.5", "true", "0.5,1" where several numbers are allowed, or a choice.
        name : str
            Name in the error message, if the caller uses another one.
        """
        if isinstance(value, str):
            names = {str(choice): choice for choice in self.choices}
            if bool in self.kinds and not self.choices:
                names = {"true": True, "false": False, "True": True, "False": False}
            value = names[value] if value in names else self._number(value)
        return self.checked(value, name)

    def _number(self, text: str) -> Any:
        """Parse the number or numbers in a string; return other strings unchanged."""
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
        """Allowed values in words, such as "a number between 3 and 5000 pixels"."""
        unit = _FULL_UNIT_NAMES.get(self.unit, self.unit)
        words = [f"one of {', '.join(map(str, self.choices))}"] if self.choices else []
        for kind in self.kinds:
            if kind is bool and not self.choices:
                words.append("True or False")
            elif kind is str:
                words.append("a string")
            elif kind in (int, float):
                number = "an integer" if kind is int else "a number" if self.range else "a finite number"
                words.append(" ".join(filter(None, (number, self.range, unit))))
            elif get_origin(kind) is tuple:
                words.append("a list of them" if Ellipsis in get_args(kind) else f"{len(get_args(kind))} of them")
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
        """Help, range with unit, and default as display text, for tooltips."""
        return self._described(self.shown(self.default))

    @property
    def plain_description(self) -> str:
        """Like `description`, with the default as written in files."""
        return self._described(str(self.default) if self.choices else self.shown(self.default))

    def _described(self, default: str) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.help}{self.ends}" + (f" Default: {default}{unit}." if self.default is not None else "")

    @property
    def ends(self) -> str:
        """Range and unit as a sentence to append to the help; empty if there are neither."""
        if self.choices or not (self.range or self.unit):
            return ""
        words = f"{self.range.removeprefix('of ') or 'in'} {self.unit}".strip()
        return f" {words[0].upper()}{words[1:]}."

    def shown(self, value: Any) -> str:
        """Return the display text of a value: for choices the declared one, for booleans on or off."""
        if self.choices and value in self.choices:
            return self.choices[value]
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, tuple):
            return ", ".join(map(self.shown, value))
        return f"{value:.12g}" if isinstance(value, float) else str(value)


def parameter(default: Any, help: str, *, needs: Needs = (), **declared: Any) -> Any:  # noqa: A002 - the usual name
    """Declare a field of a frozen dataclass with its default, help, and further attributes of `Parameter`."""
    whens = (needs,) if isinstance(needs, Mapping) else tuple(needs)
    return field(default=default, metadata={"parameter": Parameter("", (), default, help, needs=whens, **declared)})


_declared: dict[type[Any], Mapping[str, Parameter]] = {}


def parameters_of(cls: type[Any]) -> Mapping[str, Parameter]:
    """Return the declared parameters of a dataclass by name, in order of declaration."""
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
    """Validate all parameters of a frozen dataclass, for `__post_init__`; see `Parameter.checked`.

    Raises
    ------
    ValueError
        For a value of another type or outside its range.
    """
    for name, declared in parameters_of(type(instance)).items():
        value = getattr(instance, name)
        if value is not declared.default:  # shortcut: most of the hundreds of tried recipes keep most defaults
            object.__setattr__(instance, name, declared.checked(value))


def tree(instance: Any) -> dict[str, Any]:
    """Return all parameters by name, as written to files."""
    return {name: getattr(instance, name) for name in parameters_of(type(instance))}


def changed(instance: Any) -> dict[str, Any]:
    """Return the parameters that differ from their defaults, by name."""
    declared = parameters_of(type(instance))
    return {name: value for name, value in tree(instance).items() if value != declared[name].default}


def as_call(instance: Any) -> str:
    """Return the call that makes an instance, for `__repr__`: with the parameters that differ from their defaults."""
    given = ", ".join(f"{name}={value!r}" for name, value in changed(instance).items())
    return f"{type(instance).__name__}({given})"


def from_tree(cls: type[Choices], values: Values, called: str = "") -> Choices:
    """Construct the dataclass from values by name; missing ones keep their defaults.

    Parameters
    ----------
    cls : type
    values : mapping
    called : str
        Name of the values in error messages; by default that of the class.

    Raises
    ------
    ValueError
        For an unknown name, listing the known ones, or an invalid value.
    """
    called = called or cls.__name__
    if not isinstance(values, Mapping):
        raise ContentError(f"{called} must be a table of names and values, not {values!r}")
    known = parameters_of(cls)
    unknown = sorted(str(name) for name in set(values) - set(known))
    if unknown:
        raise ContentError(f"{called} has no option {unknown[0]!r}; the options are {', '.join(known)}")
    return cls(**values)


def matters(choices: Any, name: str) -> bool:
    """Whether a parameter has an effect given the others.

    Parameters
    ----------
    choices : dataclass, or (type, mapping of values)
        An instance; for an incomplete form, the type and the values so far.
    name : str
    """
    cls, values = choices if isinstance(choices, tuple) else (type(choices), tree(choices))
    declared = parameters_of(cls)
    whens = declared[name].needs
    return not whens or any(
        all(values.get(other, declared[other].default) in allowed for other, allowed in when.items()) for when in whens
    )


def when_words(cls: type[Any], name: str) -> str:
    """Describe when a parameter has an effect: "for method manual, hysteresis"; empty for always."""
    declared = parameters_of(cls)
    return "; or ".join(
        "for " + " and ".join(_these(declared[other], values) for other, values in when.items())
        for when in declared[name].needs
    )


def _these(declared: Parameter, values: tuple[Any, ...]) -> str:
    """Describe a set of values of a parameter, by exclusion if that is shorter."""
    others = [value for value in declared.choices if value not in values]
    if 0 < len(others) < len(values):
        return f"any {declared.name} except {', '.join(map(str, others))}"
    return f"{declared.name} {', '.join(map(str, values))}"


def nearest(unknown: str, names: Iterable[str]) -> str:
    """Return "; do you mean rank?" for a misspelled name, or one of other packages; "" if none is near."""
    names = [*names]
    near = [name for name in [_ELSEWHERE.get(unknown)] if name in names] or get_close_matches(unknown, names)
    return f"; do you mean {' or '.join(near)}?" if near else ""


def documented(cls: type[Choices]) -> type[Choices]:
    """Class decorator that adds the parameters of a dataclass to its docstring, and refuses unknown ones helpfully."""
    init, known = cls.__init__, inspect.signature(cls).parameters

    @wraps(init)
    def named(self: Any, *args: Any, **values: Any) -> None:
        if unknown := [name for name in values if name not in known]:
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}{nearest(unknown[0], known)}")
        init(self, *args, **values)

    cls.__init__ = named  # type: ignore[method-assign]
    lines = ["Attributes", "----------"]
    for name, declared in parameters_of(cls).items():
        default = "optional" if declared.default is None else f"default {declared.default!r}"
        lines.append(f"{name} : {_type_words(declared)}, {default}")
        when = when_words(cls, name)
        text = f"{declared.help}{declared.ends}{f' {when[0].upper()}{when[1:]}.' if when else ''}"
        lines += textwrap.wrap(text, 112, initial_indent="    ", subsequent_indent="    ")
    # From Python 3.13 on, the compiler strips the indentation of docstrings.
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
    """Write dataclasses as tables of a TOML file, atomically; None is omitted, as TOML has no null.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file of that name is kept.
    """
    import tomli_w  # imported lazily, only for writing

    kept = {name: {key: item for key, item in tree(part).items() if item is not None} for name, part in tables.items()}
    for key, item in (entry for part in kept.values() for entry in part.items()):
        if not isinstance(item, bool | int | float | str | tuple):
            raise ContentError(
                f"{key} is {item!r}, which cannot be stored in settings: save it to a file and give its path"
            )
    write_bytes(path, (_HEADER + tomli_w.dumps({"version": VERSION, **kept})).encode())


@contextmanager
def file_named(path: StrPath) -> Iterator[None]:
    """Prefix the message of errors in the content of a file with its name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{Path(path).name}: {error}") from error


def table(tables: Values, name: str) -> Values:
    """Return one table of a file, empty if missing."""
    found = tables.get(name, {})
    if not isinstance(found, Mapping):
        raise ContentError(f"{name} must be a table of options, [{name}], not {found!r}")
    return found


def read_tables(path: StrPath) -> dict[str, Any]:
    """Read a TOML file of parameters.

    Raises
    ------
    ValueError
        If the file is not valid TOML.
    OSError
        If the file does not exist, or cannot be read.
    """
    with opened(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ContentError(f"it is larger than {_LARGEST // 10**6} MB, so it is not a settings file")
    if any(line.count(b".") > _MAX_DOTS for line in content.splitlines()):
        raise ContentError(f"it is not a settings file: a line has more than {_MAX_DOTS} dots")
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))  # editors on Windows may add a byte order mark
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContentError(f"it is not a TOML file: {error}") from error
    version = tables.get("version", VERSION)
    if version != VERSION:
        raise ContentError(f"its version is {version!r}: this software reads version {VERSION}")
    return tables
