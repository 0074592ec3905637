"""Makes the tables of docs/method-comparison.md from benchmarks/power.csv: this method compared with common ones.

    python benchmarks/method_comparison.py

The data are from `benchmarks/power.py power` and `benchmarks/elastic.py`, which describe the methods;
`tools/write_docs.py` writes the tables into the page.
"""

import csv
from collections import defaultdict
from pathlib import Path

from power import CHOSEN

TABLE = Path(__file__).with_name("power.csv")
LEVEL = 0.05
OURS = "defaults"
NOT_RIVALS = ("defaults", "part: ")
#: Common methods, by the quantity tested: column heading and name of the test in the file.
USUAL = {
    "form": {
        "descriptors": "shape factors, Mann-Whitney, Holm",
        "elliptic Fourier": "elliptic Fourier, PERMANOVA",
        "landmarks": "aligned landmarks, PERMANOVA",
        "geomstats": "square-root velocity (geomstats), PERMANOVA",
        "classifier": "classifier",
    },
    "scale": {
        "descriptors": "area, aspect ratio, Mann-Whitney, Holm",
        "area": "area, Kolmogorov-Smirnov",
        "Hotelling": "size, elongation, Hotelling",
    },
}
#: Known truth for each pair, of undulation and of scale: True if it differs, False if not, None if
#: unknown.
TRUTH = {
    "grains: smooth halves": (False, False, "two halves of one map"),
    "grains: noisy, smooth": (True, None, "steps of the measuring grid, on one side only"),
    "grains: stretched 1.2": (False, True, "one side stretched"),
    "grains: stretched 1.4": (False, True, "one side stretched"),
    "cells: dunn, dlm8 (control)": (None, None, "two cell lines"),
    "cells: dunn, dlm8 (cytd)": (None, None, "two cell lines under a drug"),
    "cells: dunn, control, jasp": (None, None, "a drug against control"),
    "cells: dlm8, control, cytd": (None, None, "a drug against control"),
    "powder": (None, None, "two fields of one powder"),
    "battery": (None, None, "before and after cycling"),
    "carbides": (None, None, "two aging times; images of one time differ, too"),
    "nuclei: wild type, knock-out": (True, None, "a gene of the nuclear envelope knocked out"),
    "hearts: two and two persons": (None, None, "drawn by different persons"),
    "made: size": (False, True, "10 % larger"),
    "made: elongation 15 %": (False, True, "elongated in random directions"),
    "made: elongation 30 %": (False, True, "elongated in random directions"),
    "made: lobes": (True, False, "other lobes"),
    "made: roughness": (True, False, "finer waves higher"),
    "made: handedness": (None, False, "mirror images, which count as the same by default"),
    "made: spread of form": (True, False, "form more varied"),
    "made: spread of size": (False, True, "size more varied"),
    "made: minority of 15 %": (True, False, "one outline in seven of another form"),
    "made: size and roughness": (True, True, "both"),
}


def measured():
    """(test, case, size) → method → fraction of draws rejected; and the number of draws of each."""
    found, draws = defaultdict(dict), {}
    with TABLE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if float(row.get("level") or LEVEL) == LEVEL:
                cell = row["test"], row["case"], int(row["size"])
                found[cell][row["method"]] = int(row["rejected"]) / int(row["draws"])
                draws[cell] = int(row["draws"])
    return found, draws


def compared(test):
    """Cells of one test with the best of all other tests: (case, size, truth, words, cell, best, its power)."""
    found, _ = measured()
    for (of, case, size), cell in found.items():
        if of == test:
            form, scale, words = TRUTH[case]  # a new case needs a description there
            others = {name: power for name, power in cell.items() if not name.startswith(NOT_RIVALS)}
            best = max(others, key=others.get)
            yield case, size, form if test == "form" else scale, words, cell, best, others[best]


def shown(case):
    """Name of a case on the page."""
    return case.replace("made:", "synthetic:")


def power_table(test):
    """Pairs that at least one test separates, and that are not known to be equal."""
    usual = USUAL[test]
    lines = ["| pair, outlines a side | this method | " + " | ".join(usual) + " | best of all others |"]
    lines.append("|---" * (3 + len(usual)) + "|")
    for case, size, truth, words, cell, best, power in compared(test):
        if truth is not False and max(power, cell[OURS]) >= 0.15:
            others = " | ".join(f"{cell[name]:.2f}" if name in cell else "" for name in usual.values())
            ours = f"**{cell[OURS]:.2f}**" if cell[OURS] >= power else f"{cell[OURS]:.2f}"
            star = "" if case in CHOSEN else " *"
            lines.append(f"| {shown(case)}{star}, {size}: {words} | {ours} | {others} | {power:.2f} ({best}) |")
    return "\n".join(lines)


def level_table():
    """Pairs known not to differ: every rejection is a false positive."""
    lines = ["| pair | test | a side | this method | highest of the usual methods |", "|---|---|---|---|---|"]
    for test in USUAL:
        for case, size, truth, _, cell, _, _ in compared(test):
            if truth is False:
                others = {name: cell[key] for name, key in USUAL[test].items() if key in cell}
                worst = max(others, key=others.get)
                lines.append(f"| {shown(case)} | {test} | {size} | {cell[OURS]:.2f} | {others[worst]:.2f} ({worst}) |")
    return "\n".join(lines)


def summary(most=None):
    """Where this method wins and loses, in sentences; all losses, or a number of the largest."""
    said = []
    for test in USUAL:
        rows = [row for row in compared(test) if row[2] is not False and max(row[6], row[4][OURS]) >= 0.15]
        lost = sorted(
            ((power - cell[OURS], f"{shown(case)}, {size}", best) for case, size, _, _, cell, best, power in rows),
            reverse=True,
        )
        near = sum(loss <= 0.05 for loss, _, _ in lost)
        large = sum(loss > 0.1 for loss, _, _ in lost)
        named = [f"{case} a side: {loss:.2f} less than {best}" for loss, case, best in lost if loss > 0.1]
        worst = "; ".join(named[:most])
        said.append(
            f"- *{test.capitalize()}*: of {len(rows)} pairs and sizes that some test tells apart, this method is the "
            f"best or within 0.05 of the best of all others in {near}. It loses more than 0.1 in {large}"
            + (f"{':' if most is None else ', the most in'} {worst}." if worst else ".")
        )
        for name, key in USUAL[test].items():
            both = [(cell[OURS], cell[key]) for _, _, _, _, cell, _, _ in rows if key in cell]
            if both:
                ahead, behind = (sum(sign * (a - b) > 0.1 for a, b in both) for sign in (1, -1))
                said.append(f"  - beside {name}: more than 0.1 ahead in {ahead}, behind in {behind} of {len(both)}")
    return "\n".join(said)


def tables():
    """All tables of the page."""
    _, draws = measured()
    numbers = sorted(set(draws.values()))
    count = " to ".join(str(number) for number in (numbers[:1] + numbers[-1:] if len(numbers) > 1 else numbers))
    half = 1.96 * (0.25 / numbers[0]) ** 0.5
    return "\n\n".join(
        [
            f"Shares of {count} random draws in which a test rejects at level {LEVEL:g} (± {half:.2f} at most).",
            summary(),
            "### Form",
            power_table("form"),
            "### Scale",
            power_table("scale"),
            "### False positives",
            "Pairs that are known not to differ in form, or in scale. Every rejection is a type I error; the false "
            f"positive rate should be {LEVEL:g}.",
            level_table(),
        ]
    )


if __name__ == "__main__":
    print(tables())
