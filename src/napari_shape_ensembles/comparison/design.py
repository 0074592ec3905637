"""Design of an experiment: group, replicate, block and covariates of each image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from .._types import Index
from ..archive import ContentError, Tree
from ..checks import several
from ..mmd.replicates import Hypothesis, replicates_needed
from ..words import counted, listed, p_text
from . import records
from .settings import Settings

if TYPE_CHECKING:
    import pandas as pd


#: Columns of a design with a special meaning; others are covariates (numbers) or factors (strings).
GROUP, REPLICATE, BLOCK, IMAGE = "group", "replicate", "block", "image"
# With fewer replicates a side permutations have little power, and a small-sample test is reported as well.
FEW_REPLICATES = 5
# A number with a decimal point, a decimal comma, or grouped thousands; and one followed by a unit, such as a dose.
_NUMBER = re.compile(r"[-+]?(\d+(,\d+)*(\.\d*)?|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)
_WITH_UNIT = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*[^\d\s]+\s*$")


@dataclass(frozen=True, eq=False)
class Design:
    """A validated design of k groups of U replicates.

    Attributes
    ----------
    replicates : DataFrame
        One row per replicate: group, replicate, block (if any), images (their number), covariates (means over its
        images) and factors.
    of_image : (number of images,) array of int
        Replicate of each image.
    groups : tuple of k str
        In order of appearance, but the control first.
    control : str, optional
    notes : tuple of str
        Remarks on the design for the reader.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from napari_shape_ensembles import Settings, experiment, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> images = [side[np.arange(len(side)) % 4 == i] for side in (a, b) for i in range(4)]
    >>> table = pd.DataFrame({"group": ["sieved"] * 4 + ["raw"] * 4, "replicate": [*"aabb"] * 2})
    >>> design = experiment(images, table, Settings(landmarks=60, rank=10)).design
    >>> design.groups, len(design.replicates), design.of_image.tolist()
    (('sieved', 'raw'), 4, [0, 0, 1, 1, 2, 2, 3, 3])
    """

    replicates: pd.DataFrame
    of_image: Index
    groups: tuple[str, ...]
    control: str | None
    notes: tuple[str, ...]

    @property
    def group(self) -> Index:
        """Group of each replicate, (U,)."""
        return np.array([self.groups.index(name) for name in self.replicates[GROUP]], dtype=np.intp)

    @property
    def blocks(self) -> Index | None:
        """Block of each replicate, (U,), or None."""
        if BLOCK not in self.replicates:
            return None
        return np.unique(self.replicates[BLOCK].to_numpy(dtype=str), return_inverse=True)[1].astype(np.intp)

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the numeric columns that vary."""
        return tuple(name for name in self._named("f") if self.replicates[name].nunique() > 1)

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the string columns, the group first."""
        return (GROUP, *self._named("O"))

    def _named(self, kind: str) -> list[str]:
        own = (GROUP, REPLICATE, BLOCK, IMAGE, "images")
        return [str(name) for name in self.replicates if name not in own and self.replicates[name].dtype.kind == kind]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Contrasts: every group against the control, or all pairs."""
        k = len(self.groups)
        if self.control is not None:
            return [(0, j) for j in range(1, k)]
        return [(i, j) for i in range(k) for j in range(i + 1, k)]

    def contrast(self, i: int, j: int) -> str:
        """Name of a contrast: what the table of an experiment calls it."""
        return f"{self.groups[j]} - {self.groups[i]}"

    def column(self, name: str) -> NDArray[np.float64]:
        """Values of a covariate, (U, 1), or indicators of a factor's levels, (U, levels)."""
        if name in self.covariates:
            return self.replicates[name].to_numpy(dtype=np.float64)[:, None]
        if name not in self.factors:
            known = f"choose one of {', '.join((*self.factors, *self.covariates))}"
            if name == BLOCK:
                raise ValueError(f"blocks are already adjusted for in every test: {known}")
            if name in self.replicates and name not in (REPLICATE, "images"):
                raise ValueError(f"{name} is the same in all replicates: {known}")
            raise ValueError(f"the design has no column {name!r}: {known}, which have one value per replicate")
        values = self.replicates[name].to_numpy(dtype=str)
        return (values[:, None] == np.unique(values)).astype(np.float64)

    def hypothesis(self, columns: NDArray[np.float64], given: Sequence[str] = ()) -> Hypothesis:
        """Hypothesis on columns over all replicates, adjusted for blocks and given covariates."""
        taken = np.concatenate([self.column(name) for name in given], axis=1) if given else None
        return Hypothesis(columns, self.blocks, taken)

    def forecast(self, settings: Settings) -> list[str]:
        """Report which contrasts cannot reach the level by permutation, and what could, before any image is read.

        With two replicates on each side the small-sample test decides instead.
        """
        level, said = settings.test_level, dict[str, list[str]]()
        for i, j in self.pairs:
            m, n = (int((self.group == g).sum()) for g in (i, j))
            if settings.permutes_curves(m, n):
                continue
            chosen = np.isin(self.group, (i, j))
            within = None if self.blocks is None else self.blocks[chosen]
            count, alike = Hypothesis(self.group[chosen] == j, within).labellings
            if alike / count > level:
                words = cannot_reach(m, n, level, alike / count, self.unit, blocked=within is not None)
                words += "; the small-sample test decides" if min(m, n) > 1 else ""
                said.setdefault(words, []).append(f"{self.groups[i]} and {self.groups[j]}")
        more = [f" and {counted(len(pairs) - 1, 'more contrast')}" if len(pairs) > 1 else "" for pairs in said.values()]
        return [f"{pairs[0]}{others}: {words}" for (words, pairs), others in zip(said.items(), more, strict=True)]

    def to_tree(self) -> Tree:
        """Return the design as arrays, numbers and strings, for `archive`."""
        return {
            "replicates": records.columns_tree(self.replicates),
            "of_image": self.of_image,
            "groups": list(self.groups),
            "control": self.control,
            "notes": list(self.notes),
        }

    @classmethod
    def of_tree(cls, tree: Tree) -> Design:
        """Restore a design from the result of `to_tree`; raises ValueError for invalid data."""
        import pandas as pd

        columns = records.columns_of_tree(records.value(tree, "replicates", dict), (None,))
        table = pd.DataFrame({name: values.tolist() for name, values in columns.items()})
        groups = tuple(str(name) for name in records.value(tree, "groups", list))
        if not {GROUP, REPLICATE, "images"} <= set(table) or set(table[GROUP]) != set(groups):
            raise ContentError("its design does not fit its groups")
        images = records.array(tree, "of_image", "iu", (None,))
        of_image = numbers_below(tree, "of_image", len(table), len(images))
        control = tree.get("control")
        if control is not None and control != groups[0]:
            raise ContentError(f"its control {control!r} is not the first of its groups")
        return cls(table, of_image, groups, control, tuple(map(str, records.value(tree, "notes", list))))

    @property
    def table(self) -> pd.DataFrame:
        """The design with a row per image, from which the same design is made."""
        return self.replicates.drop(columns="images").iloc[self.of_image].reset_index(drop=True)

    @property
    def unit(self) -> str:
        """What the replicates are called: "images", or "replicates" of several images."""
        return "images" if (self.replicates["images"] == 1).all() else "replicates"


@dataclass(frozen=True)
class RequestedTests:
    """Tests of a design requested by the user, in addition to those of groups and trends.

    Attributes
    ----------
    given : tuple of str
        Covariates and factors for which the tests of groups and trends are adjusted.
    interactions : tuple of (str, str)
        Pairs of columns to be tested for an interaction.
    """

    given: tuple[str, ...] = ()
    interactions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_names(cls, design: Design, given: Sequence[str], interactions: Sequence[str]) -> RequestedTests:
        """Parse names of columns, and pairs such as "group:sex"; raises ValueError for unknown columns."""
        pairs = []
        for words in interactions:
            one, _, other = (part.strip() for part in words.partition(":"))
            if not other or one == other:
                raise ValueError(f"interaction {words!r}: name two columns, such as group:sex")
            pairs.append((one, other))
        for name in (*given, *(name for pair in pairs for name in pair)):
            design.column(name)
        return cls(tuple(dict.fromkeys(given)), tuple(dict.fromkeys(pairs)))


#: No requests: groups and trends only.
NO_REQUESTED_TESTS = RequestedTests()


def numbers_below(tree: Tree, name: str, total: int, count: int) -> Index:
    """Read an array of indices below `total` from an archive."""
    found = records.array(tree, name, "iu", (count,)).astype(np.intp)
    if count and not (found.min() >= 0 and found.max() < total):
        raise ContentError(f"{name} contains numbers other than 0 to {total - 1}")
    return found


def cannot_reach(m: int, n: int, level: float, least: float, unit: str = "images", *, blocked: bool = False) -> str:
    """Report that so few replicates cannot reach the level of a test, and how many could."""
    enough = replicates_needed(level)
    more = "" if blocked else f"; {enough} and {enough} could"
    more += ", and 2 and 2 by the small-sample test" if not blocked and min(m, n) < 2 else ""
    where = " within blocks" if blocked else ""
    where += f" (smallest p = {p_text(least, level)})"
    return f"{m} and {n} {unit} cannot reach p ≤ {level:g} by permutation{where}{more}"


def unequal_precision(first: float, second: float, unit: str = "images") -> str:
    """Report that the replicates of two groups have so unequal numbers of outlines that they cannot be exchanged."""
    one = unit.removesuffix("s")
    return (
        f"{first:.3g} and {second:.3g} outlines per {one} are too unequal for a permutation of {unit}, and the "
        f"small-sample test needs two {unit} on each side"
    )


def checked_design(table: pd.DataFrame, images: int, control: str | None = None) -> Design:
    """Validate a design table, of one row per image, and identify its replicates.

    A ValueError says what is wrong: rows that do not match the images, no group, missing values, an unknown control.
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"a design must be a DataFrame with one row per image, not {type(table).__name__}")
    table = table.reset_index(drop=True)
    table.columns = [str(name).strip() for name in table.columns]
    if len(table) != images:
        raise ValueError(
            f"the design has {len(table)} rows for {images} images: give one row per image, in their order"
        )
    if not images:
        raise ValueError("the design has no rows: give one per image, with its group")
    if GROUP not in table:
        raise ValueError(f"the design has no column {GROUP!r}; its columns are {', '.join(map(repr, table.columns))}")
    if twice := table.columns[table.columns.duplicated()].tolist():
        raise ValueError(f"column {twice[0]!r} occurs twice in the design: remove or rename one")
    if "images" in table:
        raise ValueError("the column name 'images' is reserved for the number of images per replicate: rename it")
    for name in table.columns:
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            table[name] = table[name].astype(object)
        if nested := next((cell for cell in table[name] if isinstance(cell, list | dict | set | tuple)), None):
            raise ValueError(f"column {name!r} of the design holds {nested!r}: give numbers or words")
        missing = table.index[table[name].isna() | (table[name].astype(str).str.strip() == "")].tolist()
        if missing:
            raise ValueError(
                f"column {name!r} of the design is empty in row {missing[0] + 1}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
                + ": fill it in, or remove the image or the column"
            )
    for name in table.columns:
        if name not in (GROUP, REPLICATE, BLOCK, IMAGE):
            table[name] = with_numbers(table[name])
        if pd.api.types.is_numeric_dtype(table[name]) and np.isinf(table[name].to_numpy(dtype=float)).any():
            raise ValueError(f"column {name!r} of the design contains an infinite number: correct or remove it")
    table[GROUP] = table[GROUP].map(plain_name)
    groups = list(dict.fromkeys(table[GROUP]))
    control = None if control is None else plain_name(control)
    if control is not None:
        if control not in groups:
            raise ValueError(f"control {control!r} is not one of the groups: {', '.join(groups)}")
        groups.remove(control)
        groups.insert(0, control)
    design = _collected(table, tuple(groups), control)
    if len(groups) == 1 and not design.covariates and len(design.factors) == 1:
        raise ValueError(f"there is only one group ({groups[0]}) and no covariate that varies: nothing to test")
    if len(groups) > 1 and design.blocks is not None and not _share_a_block(design.group, design.blocks):
        raise ValueError(
            "no block contains two groups, so groups and blocks are confounded: remove the column block, and name "
            "dishes or animals in the column replicate"
        )
    return design


def with_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert a string column of numbers, with decimal points or decimal commas, to numbers; return others unchanged.

    If all numbers with a comma have three digits after it, these may be grouped thousands, and stay strings.
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return column
    text = column.astype(str).str.strip()
    commas = text[text.str.contains(",", regex=False)]
    if len(commas) and text.map(lambda cell: bool(_NUMBER.match(cell))).all():
        text = text if commas.str.match(r"^[-+]?\d{1,3}(,\d{3})+$").all() else text.str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(text, errors="coerce")
    return column if numbers.isna().any() else numbers


def _share_a_block(group: Index, blocks: Index) -> bool:
    return len(np.unique(np.stack([group, blocks]), axis=1).T) > len(np.unique(blocks))


def _similar_group_warnings(groups: Sequence[str]) -> list[str]:
    """Warn of groups that may be the same."""
    spelled: dict[str, list[str]] = {}
    for name in groups:
        spelled.setdefault(name.casefold(), []).append(name)
    return [
        f"Groups {' and '.join(alike)} differ only in case and are treated as different groups."
        for alike in spelled.values()
        if len(alike) > 1
    ]


def plain_name(value: Any) -> str:
    """Normalize a name: 1.0, as in a table with missing values, becomes "1"; Unicode and whitespace are normalized."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return normalize("NFC", " ".join(str(value).split()))


def _collected(table: pd.DataFrame, groups: tuple[str, ...], control: str | None) -> Design:
    """Collect the replicates of a table: one per combination of group, block and replicate."""
    import pandas as pd

    notes = _similar_group_warnings(groups)
    names = (
        table[REPLICATE].map(plain_name) if REPLICATE in table else pd.Series([str(i + 1) for i in range(len(table))])
    )
    keys = pd.DataFrame({GROUP: table[GROUP], REPLICATE: names})
    if BLOCK in table:
        keys[BLOCK] = table[BLOCK].map(plain_name)
        held = keys.groupby(BLOCK, sort=False)[GROUP].nunique()
        alone = held.index[held < 2].tolist()
        if alone and len(groups) > 1:
            notes.append(
                "Blocks with only one group, which carry no information about differences between groups: "
                f"{listed(alone)}."
            )
    if REPLICATE in table:
        units, where, advice = keys.drop_duplicates(), "blocks", ""
        if BLOCK not in table:
            where = "groups"
            advice = " If they are the same (an animal before and after), name them in a column block, too."
        shared = units.duplicated([GROUP, REPLICATE] if BLOCK in table else REPLICATE, keep=False)
        if again := sorted(set(units[REPLICATE][shared])):
            notes.append(
                f"Replicates {listed(again)} occur in several {where} and are treated as different in each.{advice}"
            )
    number = keys.groupby(list(keys), sort=False).ngroup().to_numpy().astype(np.intp)
    rows = keys.drop_duplicates().reset_index(drop=True)
    rows["images"] = np.bincount(number)
    for name in table.columns:
        if name not in (GROUP, REPLICATE, BLOCK, IMAGE):
            values, about = _of_replicates(table[name], number)
            notes += about
            if values is not None:
                rows[name] = values
    return Design(rows, number, groups, control, tuple(notes))


def _of_replicates(column: pd.Series[Any], number: Index) -> tuple[NDArray[Any] | None, list[str]]:
    """Value of a covariate or factor for each replicate, by the number of that of each row; and what to say of it.

    None for a factor that varies within replicates, such as the field: it is not a property of them.
    """
    import pandas as pd

    name, notes = column.name, []
    by_replicate = column.groupby(number, sort=True)
    varies = bool((by_replicate.nunique() > 1).any())
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        means = by_replicate.mean().to_numpy(dtype=np.float64)
        if varies:
            notes.append(f"{name} differs between images of one replicate: its mean is used.")
        if len(np.unique(means)) < 2:
            notes.append(f"{name} is the same in all replicates: there is no trend to test.")
        return means, notes
    if varies:
        return None, notes
    text = column.astype(str).str.strip()
    words = text[~text.map(lambda cell: bool(_NUMBER.match(cell)))]
    if column.nunique() > 1:
        if not len(words):
            notes.append(
                f"{name} contains text, such as {text.iloc[0]!r}, and is treated as an unordered factor: if "
                "its commas group thousands, write numbers without them."
            )
        elif 2 * len(words) < len(column):
            notes.append(
                f"{name} contains numbers except for {words.iloc[0]!r}, and is treated as an unordered factor: "
                "enter a number there, or remove the image."
            )
        if column.map(lambda value: bool(_WITH_UNIT.match(str(value)))).all():
            notes.append(
                f"{name} contains text, such as {column.iloc[0]!r}, and is treated as an unordered "
                "factor: enter only numbers to test a trend."
            )
    return by_replicate.first().map(plain_name).to_numpy(dtype=object), notes


def _told(match: re.Match[str] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in match.groupdict().items()) if match else ""


def design_from_names(names: Sequence[str], pattern: str = "{group}_{replicate}_{field}") -> pd.DataFrame:
    """Build a design table from the names of images.

    Parameters
    ----------
    names : sequence of str
        Such as file names; folders and the extension after the last dot are ignored.
    pattern : str
        Columns in braces with the text between them: "{group}_{replicate}_{field}" reads `ctrl_m3_f02.tif` as group
        ctrl, replicate m3, field f02. "{}" is a column to be ignored.

    Returns
    -------
    DataFrame
        Column image and those of the pattern; columns that hold only numbers are numeric.

    Raises
    ------
    ValueError
        For a pattern without columns or with one twice, or a name that does not match.

    Examples
    --------
    >>> from napari_shape_ensembles import design_from_names
    >>> design_from_names(["ctrl_m3_f02.tif", "drug_m1_f01.tif"])
                 image group replicate field
    0  ctrl_m3_f02.tif  ctrl        m3   f02
    1  drug_m1_f01.tif  drug        m1   f01
    >>> design_from_names(["dose10-2.png", "dose30-1.png"], "dose{dose}-{replicate}")["dose"].tolist()
    [10, 30]
    """
    import pandas as pd

    parts = re.split(r"\{(\w*)\}", pattern)
    columns = [name for name in parts[1::2] if name]
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"pattern {pattern!r}: name each column once, in braces, such as {{group}}_{{replicate}}")
    expression = "".join(
        re.escape(part) if place % 2 == 0 else (f"(?P<{part}>.+?)" if part else ".+?")
        for place, part in enumerate(parts)
    )
    rows = []
    for name in several(names, "design_from_names takes a list of file names"):
        stem = re.sub(r"\.[A-Za-z]\w*$", "", re.split(r"[/\\]", str(name))[-1])
        match = re.fullmatch(expression, stem)
        if match is None:
            raise ValueError(
                f"{stem!r} does not fit the pattern {pattern!r}: rename it, leave it out, or give a design table"
            )
        if (other := re.fullmatch(expression.replace("+?", "+"), stem)).groups() != match.groups():  # type: ignore[union-attr]
            raise ValueError(
                f"{stem!r} fits the pattern {pattern!r} in several ways, such as {_told(match)} and {_told(other)}: "
                "rename the files, so that no part contains the text between the columns, or give a design table"
            )
        rows.append({IMAGE: str(name), **match.groupdict()})
    table = pd.DataFrame(rows, columns=[IMAGE, *columns])
    for name in columns:
        if name not in (GROUP, REPLICATE, BLOCK):
            table[name] = with_numbers(table[name])
    return table
