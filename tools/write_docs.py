"""Write the parts of the documentation that are generated from results, or check that they are up to date.

    python tools/write_docs.py                     write everything from the results stored in docs/results
    python tools/write_docs.py --check             write nothing; print differences and exit with 1 if there are any
    python tools/write_docs.py --measure           first measure the results again, and draw their figures
    python tools/write_docs.py --check --measure   measure again as far as data are available, and compare

Three kinds of blocks in a page are generated. `<!-- made by tools/write_docs.py: NAME -->`: by the function for that
name in BLOCKS, or from the output of a benchmark in `docs/results/NAME.txt`. `<!-- filled by tools/write_docs.py:`: by
the template that follows in the comment, whose `{result[key]:.2f}` is looked up in `docs/results/result.json`. And the
output below a block of code.

Pages must agree exactly with the stored results. Repeated measurements and the output of code may differ: text not at
all, p-values by ±0.03 (two processors may evaluate a permutation differently in the last digit of a statistic), other
numbers by 5 %. For benchmarks that take minutes and more (`benchmarks/*.py --out`), the first draws are repeated, so
that results cannot outlive the code they were measured with. Names of results (`--only samples gallery`) restrict the
measurements. Speed is measured by `benchmarks/speed.py --out docs/results/speed.json` on an idle machine, and never
compared.
"""

import argparse
import contextlib
import inspect
import io
import json
import os
import re
import sys
import tempfile
from importlib import import_module
from operator import itemgetter
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
REFERENCE = DOCS / "reference"
sys.path[:0] = [str(DOCS / "figures"), str(ROOT / "benchmarks")]

import gallery
import overview
import typer
from PIL import Image
from real_data import PAIRS

from napari_shape_ensembles import Outlines, Settings, cli, compare, explain, propose, samples

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?:e-?\d+)?%?")
#: Script that draws each figure.
PICTURES = {
    r"why-.*\.png": "`python tools/write_docs.py --measure --only gallery`",
    r"((dock|bench)-.*\.png|walk\.gif)": "`sh tools/run.sh script docs/figures/screenshots.py`",
    r"overview\.png": "`python docs/figures/overview.py`",
    r"data-flow\.png": "`python docs/figures/architecture.py`",
    r"scale-and-undulation\.png": "`python docs/figures/question.py`",
    r"quadrature\.png": "`python docs/figures/quadrature.py`",
    r"geodesic\.png": "`python docs/figures/shape_distances.py`",
    r"smooth-curves\.png": "`python docs/figures/smooth_curves.py`",
    r"(landscape|smoothing)\.png": "`python benchmarks/landscape.py`",
    r"power\.png": "`python benchmarks/power.py draw --figure docs/images/power.png`",
}

# Measurements


def measured_gallery(known, *, drawn):
    """All pairs with available data; stored results for the others."""
    found = {pair.heading: known[pair.heading] for pair in PAIRS if not pair.available()}
    for pair in (pair for pair in PAIRS if pair.available()):
        print(f"  {pair.heading}", flush=True)
        found[pair.heading] = gallery.measured_pair(pair, drawn=drawn)
    return {pair.heading: found[pair.heading] for pair in PAIRS}


def measured_samples(known, *, drawn):
    """Rows of the real samples with defaults, and descriptors of the simulated treatment."""
    found = {}
    for name in ("powder", "powder_outlines", "nuclei", "nuclei_labels", "cells"):
        found[f"`{name}`"] = row(compare(*getattr(samples, name)().ensembles()))
    powder = samples.powder()
    recipes = {
        "threshold 50": Outlines(method="manual", threshold=50),
        "proposed recipe": propose([powder.a, powder.b])[0].recipe,
    }
    for name, recipe in recipes.items():
        found[f"`powder`, {name}"] = row(compare(recipe(powder.a), recipe(powder.b)))
    descriptors = explain(compare(*samples.simulated_treatment().ensembles())).descriptors
    control, treated = descriptors.medians
    found["treatment"] = {
        name: {"p": float(p), "ratio": float(b / a) if a else 0.0}
        for name, p, a, b in zip(descriptors.tests.names, descriptors.tests.adjusted, control, treated, strict=True)
    }
    return found


def row(result):
    """Text of a table cell for a comparison."""
    return {
        "curves": [len(result.a), len(result.b)],
        "case": result.case,
        "summary": result.summary(),
        "undulation": result.undulation.p_value,
        "scale": result.scale.p_value,
    }


def measured_paper(known, *, drawn):
    """The paper's grains with defaults and with the paper's settings."""
    benchmark = import_module("landscape")
    if not benchmark.GRAINS.exists():
        return known
    kinds = {"defaults": Settings(), "paper": Settings.paper()}
    return {
        name: {kind: row(compare(*pair, settings)) for kind, settings in kinds.items()}
        for name, pair in benchmark.pairs().items()
    }


def again(work):
    """Repeat the fast part of a stored benchmark, for comparison; only the benchmark itself writes results."""

    def measured(known, *, drawn):
        return known if drawn else known | work()

    return measured


def first_draws(name):
    """Repeat the first draws of a benchmark."""
    return again(lambda: {"first draws": import_module(name).first_draws()})


MEASURED = {
    "calibration": first_draws("calibration"),
    "intervals": first_draws("intervals"),
    "replicates": again(lambda: {"counts": import_module("replicates").drawn_again()}),
    "resynthesis": first_draws("resynthesis"),
    "gallery": measured_gallery,
    "simulated": lambda known, *, drawn: gallery.measured_simulations(),
    "samples": measured_samples,
    "paper": measured_paper,
}


# Generated text


def samples_table(results):
    """Rows of docs/reference/samples.md."""
    lines = ["| sample | curves | row | undulation p | scale p |", "|---|---|---|---|---|"]
    powder = ("`powder`", "`powder`, proposed recipe", "`powder`, threshold 50", "`powder_outlines`")
    for name in (*powder, "`nuclei`", "`nuclei_labels`", "`cells`"):
        found = results["samples"][name]
        first, second = found["curves"]
        p = f"{found['undulation']:.2g} | {found['scale']:.2g}"
        lines.append(f"| {name} | {first} and {second} | {found['case']} | {p} |")
    return "\n".join(lines)


def seed_words(results):
    """How often the simulated pairs give the row of their table, and which seeds do not."""
    expected = dict(zip(results["simulated"], ("1∧1", "1∧0", "0∧1", "0∧0"), strict=True))
    every = [
        (f"`{found['sample']}(seed={seed})` gives `{row}`", row == expected[title])
        for title, found in results["simulated"].items()
        for seed, row in enumerate(found["rows"])
    ]
    seeds = next(iter(results["simulated"].values()))["seeds"]
    return (
        f"With the seeds 0 to {seeds - 1}, {sum(right for _, right in every)} of {len(every)} pairs give these rows; "
        f"{gallery.listed([words for words, right in every if not right] or ['none gives another'])}."
    )


def descriptor_words(results):
    """Result of plain descriptors alone for the simulated treatment."""
    found = results["samples"]["treatment"]
    seen = {name: one for name, one in found.items() if one["p"] <= gallery.LEVEL}
    missed = {name: one for name, one in found.items() if one["p"] > gallery.LEVEL}
    told = gallery.listed([f"{name} (adjusted p = {one['p']:.2g})" for name, one in seen.items()] or ["none"])
    silent = gallery.listed([f"{name} ({one['p']:.2g})" for name, one in missed.items()] or ["none"])
    return (
        "In the sample pair *nuclei, control and treated* (`simulated_treatment`), which differs only in form, these "
        f"descriptors differ: {told}. These do not: {silent}."
    )


def real_rows(results):
    """The table of pairs whose truth is known by construction, in docs/evidence/validation.md."""
    found, paper = results["gallery"], results["paper"]
    rows = (
        ("ice grains, two smoothed halves of one map", "alike", found["Ice grains, two halves alike"]["case"]),
        (
            "ice grains, one half as mapped, the other smoothed",
            "form",
            found["Ice grains, as mapped and smoothed"]["case"],
        ),
        ("ice grains, one half stretched", "scale", paper["smooth, stretched"]["defaults"]["case"]),
    )
    lines = ["| pair | expected | row |", "|---|---|---|", *(f"| {' | '.join(cells)} |" for cells in rows)]
    return "\n".join(lines)


def paper_table(results):
    """Defaults compared with the paper's settings, on the paper's grains."""
    words = {
        "smooth, smooth": ("smooth half 1, smooth half 2", "nothing differs"),
        "noisy, smooth": ("noisy half 1, smooth half 2", "form differs, by pixel steps"),
        "smooth, stretched": ("smooth half 1, half 2 stretched", "scale differs"),
    }
    lines = ["| pair | truth | defaults | `Settings.paper()` |", "|---|---|---|---|"]
    for name, (pair, truth) in words.items():
        cells = [
            f"{one['case']} (undulation p = {one['undulation']:.2g}, scale p = {one['scale']:.2g})"
            for one in (results["paper"][name][kind] for kind in ("defaults", "paper"))
        ]
        lines.append(f"| {pair} | {truth} | {' | '.join(cells)} |")
    return "\n".join(lines)


def speed_table(results):
    """Stages of comparisons of several sizes."""
    cases = results["speed"]["cases"]
    names = list(dict.fromkeys(stage for case in cases for stage in case["stages"] if "comparing" not in stage))
    lines = ["| | " + " | ".join(f"{case['settings']}, N = {case['count']}" for case in cases) + " |"]
    lines.append("|---" * (1 + len(cases)) + "|")
    lines += [
        f"| {name} | " + " | ".join(f"{case['stages'].get(name, 0):.2f}" for case in cases) + " |" for name in names
    ]
    lines.append("| **total, s of processor time** | " + " | ".join(f"**{c['processor']:.2f}**" for c in cases) + " |")
    lines.append("| wall-clock time, s | " + " | ".join(f"{case['seconds']:.2f}" for case in cases) + " |")
    lines.append("| peak memory, GiB | " + " | ".join(f"{case['memory']:.2f}" for case in cases) + " |")
    return "\n".join(lines)


def large_table(results):
    """Memory and time for samples larger than memory."""
    words = {
        "tests": "only the tests of {size} outlines, coordinates in memory",
        "labels": "labels of {size} × {size} pixels in OME-Zarr: {answer} to files",
    }
    lines = ["| | processor time | wall-clock time (load) | peak memory |", "|---|---|---|---|"]
    for found in sorted(results["large"].values(), key=itemgetter("kind", "size")):
        said = words[found["kind"]].format_map({**found, "size": f"{found['size']:,}".replace(",", " ")})
        clock = f"{found['clock']:.0f} s ({found['load']:.0f})"
        lines.append(f"| {said} | {found['processor']:.1f} s | {clock} | {found['GiB']:.2f} GiB |")
    return "\n".join(lines)


def picture_table(results):
    """Script that draws each figure."""
    names = sorted(path.name for path in (DOCS / "images").iterdir())
    lines = ["| pictures in `docs/images` | generated by |", "|---|---|"]
    for pattern, script in PICTURES.items():
        drawn = [name for name in names if re.fullmatch(pattern, name)]
        if drawn:
            first = f"`{drawn[0]}`" + (f" and {len(drawn) - 1} more" if len(drawn) > 1 else "")
            lines.append(f"| {first} | {script} |")
    return "\n".join(lines)


def method_comparison(results):
    """The tables of docs/evidence/method-comparison.md."""
    import method_comparison as page

    return page.tables()


def defaults_of(option, words):
    """What the help of an option does not contain yet: that it is required, or its default."""
    if option.required:
        return " Required." if option.opts[0].startswith("-") else ""
    if option.default in (None, False, (), []) or "Default:" in words:
        return ""
    return f" Default: {option.default}."


def command_line(results):
    """Every command with its options; settings are documented on their own page."""
    parts = []
    commands = typer.main.get_command(cli.app).commands
    groups = {name: command.commands for name, command in commands.items() if hasattr(command, "commands")}
    inner = {f"{name} {verb}": command for name, verbs in groups.items() for verb, command in verbs.items()}
    for name, command in [*((name, one) for name, one in commands.items() if name not in groups), *inner.items()]:
        rows = []
        for option in command.params:
            words = (getattr(option, "help", None) or "").replace("\n", " ").replace("|", "\\|")
            spelled = (
                ", ".join(f"`{one}`" for one in option.opts)
                if option.opts[0].startswith("-")
                else f"`{option.name.upper()}`"
            )
            rows.append(f"| {spelled} | {words}{defaults_of(option, words)} |")
        sets = any(option.name == "set_" for option in command.params)
        more = " `--set` takes every [setting](settings.md) that it uses." if sets else ""
        parts.append(
            "\n".join(
                [
                    f"## {name}",
                    "",
                    f"{' '.join(command.help.split())}{more}",
                    "",
                    "| argument or option | meaning |",
                    "|---|---|",
                    *rows,
                ]
            )
        )
    return "\n\n".join(parts)


def of_studies(name):
    """Blocks of docs/evidence/paper.md from its benchmark."""

    def block(results):
        import landscape

        return getattr(landscape, name)(results["studies"])

    return block


def documented(page):
    """Full names of the objects documented on a page of the reference."""
    module = ""
    for directive, name in re.findall(r"^\.\. (\w+):: (\S+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if directive == "currentmodule":
            module = name
        elif directive == "automodule":
            members = vars(import_module(name)).values()
            own = (one for one in members if inspect.isfunction(one) and one.__module__ == name)
            yield from (f"{name}.{one.__name__}" for one in own if not one.__name__.startswith("_"))
        else:
            yield name if name.startswith("napari_shape_ensembles") else f"{module}.{name}"


def at_top(words):
    """Words of a page in reference/api, with its links as they are from the folder above."""
    return re.sub(r"\]\(\.\./(\.\./)?", lambda match: f"]({match[1] or ''}", words)


def reference(results):
    """All documented names with their summaries; former anchors on this page lead to their row."""
    parts = []
    for path in re.findall(r"^api/.*$", (REFERENCE / "api.md").read_text(encoding="utf-8"), flags=re.MULTILINE):
        title, _, words, *_ = (REFERENCE / f"{path}.md").read_text(encoding="utf-8").splitlines()
        rows = []
        for name in documented(REFERENCE / f"{path}.md"):
            module, _, short = name.rpartition(".")
            value = getattr(import_module(module), short)
            summary = inspect.getdoc(value).splitlines()[0] if callable(value) else "Formats by file extension."
            role = f"{{py:obj}}`{name.removeprefix('napari_shape_ensembles.')} <{name}>`"
            rows.append(f'| <span id="{name}"></span>{role} | {summary} |')
        heading = f"## [{title.removeprefix('# ')}]({path}.md)"
        parts += [heading, "", at_top(words), "", "| name | |", "|---|---|", *rows, ""]
    return "\n".join(parts).rstrip()


def paper_power(results):
    """Power in paper/paper.md."""
    import method_comparison as page

    return page.summary(most=1)


def of_power(name):
    """One of the tables of docs/evidence/power.md."""

    def table(results):
        import power

        return power.tables_of(ROOT / "benchmarks")[name]

    return table


def replicates_words(results):
    """Level with replicates in paper/paper.md."""
    import replicates

    return replicates.words_of(ROOT / "benchmarks" / "replicates.csv")


def replicates_above(results):
    """How many rates with replicates lie above their level."""
    import replicates

    return replicates.above_of(ROOT / "benchmarks" / "replicates.csv")


def of_replicates(what):
    """One of the tables of docs/evidence/experiments.md."""

    def table(results):
        import replicates

        return replicates.table_of(ROOT / "benchmarks" / "replicates.csv", what)

    return table


def of_reference(name):
    """One of the tables of docs/evidence/reference.md."""

    def table(results):
        known = results["reference"]
        if name == "levels":
            every = {}
            for row in known["levels"]:
                column = f"{row['images']} images, {row['level']:g}"
                every.setdefault((row["law"], row["outlines"]), {})[column] = row["p"].partition(" ")[0]
            return markdown([{"law": law, "outlines": count, **cells} for (law, count), cells in every.items()])
        return markdown([*known["real"], *known["made"]] if name == "power" else known[name])

    return table


def markdown(rows):
    """A table of rows with the same keys."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


PAGES = {
    DOCS / "evidence" / "gallery.md": lambda results: gallery.gallery_page(results["gallery"], results["simulated"]),
}


def formats_table(results):
    """All formats of outlines, with programs, extensions, directions and units, from the registries of the readers."""
    from napari_shape_ensembles.io.curve_files import FORMATS
    from napari_shape_ensembles.io.layouts import LAYOUTS

    rows = {}
    for ending, kind in FORMATS.items():
        if kind.programs:
            endings, _, writes = rows.get((kind.name, kind.unit), ([], "", False))
            rows[kind.name, kind.unit] = ([*endings, ending], kind.programs, writes or kind.write is not None)
    for ending, layouts in LAYOUTS.items():
        for layout in layouts:
            endings, programs, writes = rows.get((layout.name, layout.unit), ([], layout.programs, False))
            endings = endings if ending in endings else [*endings, ending]
            rows[layout.name, layout.unit] = (endings, programs, writes or layout.write is not None)
    lines = ["| format | written or read by | extension | out | unit |", "|---|---|---|---|---|"]
    for (name, unit), (endings, programs, writes) in rows.items():
        listed = ", ".join(f"`{ending}`" for ending in endings)
        lines.append(f"| {name} | {programs} | {listed} | {'✓' if writes else ''} | {unit} |")
    return "\n".join(lines)


BLOCKS = {
    "command-line": command_line,
    "descriptors": descriptor_words,
    "formats": formats_table,
    "large": large_table,
    "method-comparison": method_comparison,
    "paper": paper_table,
    "paper-power": paper_power,
    "pictures": picture_table,
    **{
        name: of_power(name)
        for name in ("power", *(f"power-{part}" for part in ("again", "bound", "default", "draws", "level", "regret")))
    },
    "real-data": real_rows,
    "reference": reference,
    **{f"reference-{name}": of_reference(name) for name in ("levels", "power", "days", "chart")},
    **{
        f"replicates-{what}": of_replicates(what)
        for what in ("levels", "given", "small", "family", "power", "equivalence", "position", "real")
    },
    "replicates-above": replicates_above,
    "replicates-words": replicates_words,
    "samples": samples_table,
    "samples-seeds": seed_words,
    "speed": speed_table,
    "studies-battery": of_studies("battery_table"),
    "studies-paper": of_studies("paper_table"),
    "studies-paper-words": of_studies("paper_words"),
    "studies-smoothing": of_studies("smoothing_table"),
}
BLOCK = re.compile(
    r"(?P<begin><!-- made by tools/write_docs.py: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)
FILLED = re.compile(
    r"(?P<begin><!-- filled by tools/write_docs.py:\n(?P<template>.*?)\n-->\n)(?P<text>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)
# A block of code, and the output directly below it.
OUTPUT = re.compile(r"```python\n(?P<code>.*?)```\n(?P<between>\n```text\n)?(?(between)(?P<text>.*?)```)", re.DOTALL)


class TemplateValue:
    """A result as seen by a template: accessed by keys and indices, and formatted at the end."""

    def __init__(self, value):
        self.value = value

    def __getitem__(self, key):
        """Item of a table by its key, or of a list by its index."""
        return TemplateValue(self.value[key if isinstance(self.value, list) else str(key)])

    def __format__(self, specification):
        """Format as a table; or every item of a list, separated by commas; with a space before a percent sign."""
        if specification == "table":
            lines = [list(self.value[0]), ["---"] * len(self.value[0]), *(row.values() for row in self.value)]
            return "\n".join("| " + " | ".join(str(cell).strip() for cell in line) + " |" for line in lines)
        items = self.value if isinstance(self.value, list) else [self.value]
        return ", ".join(format(item, specification) for item in items).replace("%", " %")


def with_results(text, results):
    """A page with its blocks generated, and its templates filled."""

    def block(match, content):
        return f"{match['begin']}\n{content}\n\n{match['end']}"

    def made(match):
        return block(match, (BLOCKS.get(match["name"]) or itemgetter(match["name"]))(results))

    def filled(match):
        return block(match, match["template"].format_map(looked))

    looked = {name: TemplateValue(result) for name, result in results.items()}
    return FILLED.sub(filled, BLOCK.sub(made, text))


def with_outputs(text):
    """A page with the output of its code in the text blocks below it."""
    names = {}
    before = os.getcwd()

    def executed(match):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(match["code"], names)
        if not match["between"]:
            return match.group()
        return f"```python\n{match['code']}```\n\n```text\n{said.getvalue().rstrip()}\n```"

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return OUTPUT.sub(executed, text)
        finally:
            os.chdir(before)


def written(results, *, run):
    """Every page with generated parts, as it should be."""
    pages = dict(PAGES.items())
    made = {path: page(results) for path, page in pages.items()}
    for path in (ROOT / "README.md", ROOT / "paper" / "paper.md", *sorted(DOCS.rglob("*.md"))):
        text = made.get(path, path.read_text(encoding="utf-8"))
        new = with_results(text, results)
        if run and "```\n\n```text\n" in new:
            new = with_outputs(new)
        if new != text or path in pages:
            made[path] = new
    return made


def undrawn():
    """Figures that no known script draws, or that no page shows."""
    shown = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *DOCS.rglob("*.md")))
    for path in sorted((DOCS / "images").iterdir()):
        if sum(bool(re.fullmatch(pattern, path.name)) for pattern in PICTURES) != 1:
            yield f"{path.name}: say in PICTURES which one script draws it"
        if f"images/{path.name}" not in shown:
            yield f"{path.name}: no page shows it"


def outdated(results):
    """Figures that disagree with the stored results."""
    said = overview.words(results["gallery"][overview.HEADING])
    with Image.open(DOCS / "images" / "overview.png") as picture:
        if picture.info.get("Description") != said:
            yield f"overview.png says {picture.info.get('Description')!r}, should be {said!r}: draw it anew"


# Comparison


def close(old, new):
    """Whether two formatted numbers agree within tolerance; versions must be identical."""
    if old == new or max(old.count("."), new.count(".")) > 1:
        return old == new
    values = [float(text.rstrip("%").replace(",", ".")) for text in (old, new)]
    allowed = 3 if old.endswith("%") else 0.03 if max(map(abs, values)) <= 1 else 0.05 * max(map(abs, values))
    return abs(values[0] - values[1]) <= allowed + 1e-12


def differences(old, new, where=""):
    """Differences beyond tolerance between two results, or two texts."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in old or key not in new:
                yield f"{where}/{key}: only in one of the two"
            else:
                yield from differences(old[key], new[key], f"{where}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{where}/{place}")
    elif isinstance(old, int | float) and isinstance(new, int | float):
        if not close(f"{old:.9f}", f"{new:.9f}"):
            yield f"{where}: {old} is {new} now"
    elif isinstance(old, str) and isinstance(new, str):
        same = NUMBER.sub("#", old) == NUMBER.sub("#", new)
        if not (same and all(close(*pair) for pair in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True))):
            yield f"{where}: {old!r} is {new!r} now"
    elif old != new:
        yield f"{where}: {old} is {new} now"


def lines_that_differ(path, old, new, *, exactly=False):
    """Lines of a page that differ, exactly or beyond tolerance."""
    pairs = list(zip(old.splitlines(), new.splitlines(), strict=False))
    if len(old.splitlines()) != len(new.splitlines()):
        yield f"{path.relative_to(ROOT)}: {len(old.splitlines())} lines, should be {len(new.splitlines())}"
    for place, (line, wanted) in enumerate(pairs, 1):
        where = f"{path.relative_to(ROOT)}:{place}"
        if exactly and line != wanted:
            yield f"{where}: {line!r} should be {wanted!r}"
        elif not exactly:
            yield from differences(line, wanted, where)


def kept():
    """Stored results of the last measurements."""
    measured = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")}
    return measured | {path.stem: path.read_text(encoding="utf-8").strip() for path in RESULTS.glob("*.txt")}


def main():
    """Run the requested command; the exit code says whether something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    parser.add_argument("--measure", action="store_true", help="measure results again")
    parser.add_argument("--only", nargs="+", choices=list(MEASURED), default=list(MEASURED), help="results to measure")
    options = parser.parse_args()
    results = kept()
    faults = []
    if options.measure:
        for name in options.only:
            print(f"measuring {name}", flush=True)
            new = MEASURED[name](results.get(name, {}), drawn=not options.check)
            if options.check:
                faults += differences(results[name], new, name)
            else:
                results[name] = new
                text = json.dumps(new, indent=1, ensure_ascii=False) + "\n"
                (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    if options.check:  # text generated from stored results must agree exactly, output of code within tolerance
        for run in (False, True):
            for path, text in written(results, run=run).items():
                faults += lines_that_differ(path, path.read_text(encoding="utf-8"), text, exactly=not run)
    for path, text in {} if options.check else written(results, run=True).items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    faults += [*undrawn(), *outdated(results)]
    print("\n".join(faults) or "Everything is up to date.")
    return bool(faults) and options.check


if __name__ == "__main__":
    sys.exit(main())
