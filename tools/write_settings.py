"""Generate files from the declared parameters: `docs/reference/settings.md` and napari's preferences in the manifest.

Run `python tools/write_settings.py` after changing a parameter of `Outlines` or `Settings`; a test fails until then.
With `--check` it writes nothing, and reports outdated files.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from napari_shape_ensembles import Outlines, Settings
from napari_shape_ensembles.parameters import Parameter, parameters_of, when_words

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "settings.md"
MANIFEST = ROOT / "src" / "napari_shape_ensembles" / "napari.yaml"
# A copy where other tools look for it; a link would be a text file in a checkout on Windows.
COPY = ROOT / "napari.yaml"
# Settings of a comparison whose initial value can be set in napari's preferences.
PREFERRED = ("significance", "permutations", "landmarks", "rank")

_HEAD = """# All settings

Every choice from an image to the result, with its default and range. The same names are arguments of `Outlines(...)`
and `Settings(...)`, entries of the tables `[outlines]` and `[analysis]` in a [file of settings](files.md#settings),
and names for `--set` on the [command line](../how-to/command-line.md). The docks show them in the same groups. *This
page is written by `tools/write_settings.py` from the declarations in the code.*
"""
_BLOCK = re.compile(
    r"(?<=      title: Comparison\n      properties:\n).*?(?=        (?:segmenters|colormap):\n)", re.DOTALL
)


def page() -> str:
    """The page in the documentation."""
    parts = [_HEAD]
    for cls, title in ((Outlines, "From image to outlines: `Outlines`"), (Settings, "The comparison: `Settings`")):
        parts.append(f"## {title}\n")
        declared = parameters_of(cls)
        for group in dict.fromkeys(item.group for item in declared.values()):
            rows = [_row(cls, item) for item in declared.values() if item.group == group]
            head = ["| name | default | range | meaning |", "|---|---|---|---|"]
            parts.append("\n".join([f"### {group}\n", *head, *rows, ""]))
    return "\n".join(parts)


def _row(cls: type[Any], declared: Parameter) -> str:
    default = "" if declared.default is None else f"`{declared.default}`"
    if declared.choices:
        kind = ", ".join(f"`{value}`" for value in declared.choices) + ", or a number" * (int in declared.kinds)
    else:
        words = "on or off" if declared.kind is bool else "text" if declared.kind is str else declared.range
        kind = f"{words.removeprefix('of ')} {declared.unit}".strip()
    when = when_words(cls, declared.name)
    meaning = declared.help + (f" *{when[0].upper()}{when[1:]}.*" if when else "")
    return f"| `{declared.name}` | {default} | {kind} | {meaning} |"


def preferences() -> str:
    """Lines of the manifest that declare napari's preferences for a comparison."""
    return "".join(line for name in PREFERRED for line in _property(parameters_of(Settings)[name]))


def _property(declared: Parameter) -> Iterator[str]:
    # napari's form supports closed ranges only.
    end = 10.0 ** -(declared.decimals or 0)
    least = declared.least if declared.above is None else declared.above + end
    most = declared.most if declared.below is None else declared.below - end
    yield f"        {declared.name}:\n"
    yield f"          type: {'integer' if declared.kind is int else 'number'}\n"
    yield f"          default: {declared.default}\n"
    yield f"          minimum: {least}\n"
    if most is not None:
        yield f"          maximum: {most}\n"
    yield f"          title: {declared.label}\n"
    yield f'          description: "{declared.help}"\n'


def manifest() -> str:
    """The manifest with these preferences."""
    return _BLOCK.sub(lambda _: preferences(), MANIFEST.read_text(encoding="utf-8"))


def main() -> bool:
    """Write outdated files, or report them; with --check, the exit code says whether there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    check = parser.parse_args().check
    outdated = {
        path: text
        for path, text in ((PAGE, page()), (MANIFEST, manifest()), (COPY, manifest()))
        if path.read_text(encoding="utf-8") != text
    }
    for path, text in outdated.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
    if not outdated:
        print("Everything is up to date.")
    return check and bool(outdated)


if __name__ == "__main__":
    sys.exit(main())
