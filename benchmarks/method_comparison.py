"""Makes the tables of docs/evidence/method-comparison.md from benchmarks/power.csv: these tests beside common ones.

    python benchmarks/method_comparison.py

The data are from `benchmarks/power.py power` and `benchmarks/rivals.py`, which describe the methods;
`tools/write_docs.py` writes the tables into the page.
"""

from collections import defaultdict

from power import CHOSEN, LEVEL, POWER, found_by, rows_of, shares

#: Outlines a side of the tables. The file has 20 draws at 10 and 160 a side, known to ± 0.22 only.
SIZES = (20, 40, 80)
OURS = "defaults"
EFA = "elliptic Fourier (pyefd)"
#: Common methods, by the quantity tested: column heading and name of the test in the file.
USUAL = {
    "form": {
        "shape factors": "shape factors, Hotelling",
        "Fourier amplitudes": f"{EFA}, log amplitudes, PERMANOVA",
        "Fourier, aligned": f"{EFA}, aligned, Hotelling",
        "landmarks": "aligned landmarks, PERMANOVA",
        "distance profiles": "stratified Wasserstein, MMD",
        "MMD-FUSE": "MMD-FUSE",
        "classifier": "classifier with bands",
    },
    "scale": {
        "area, aspect ratio": "area, aspect ratio, Mann-Whitney, Holm",
        "log elongation": "log elongation, t-test",
        "Hotelling": "size, elongation, Hotelling",
        "Levene": "size, Levene",
        "energy distance": "energy distance",
    },
}
#: Known truth for each pair, of undulation and of scale: True if it differs, False if not, None if unknown.
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


def cells(test, *, differ=True):
    """(case, size) → method → power, where some test has power; or where nothing differs."""
    chosen = {}
    for (case, of, size), cell in shares(POWER).items():
        truth = TRUTH[case][test == "scale"]  # a new case needs a description there
        whole = {name: share for name, share in cell.items() if not name.startswith("part: ")}
        wanted = of == test and (truth is False) != differ and size in SIZES
        if wanted and (not differ or max(whole.values()) >= 0.15):
            chosen[case, size] = whole
    return chosen


def shown(case):
    """Name of a case on the page."""
    return case.replace("made:", "synthetic:") + ("" if case in CHOSEN else " *")


def table(test, *, differ=True):
    """A row per pair, in each cell the share at every size in percent."""
    found, columns = cells(test, differ=differ), {"this method": OURS, **USUAL[test]}
    lines = ["| pair | a side | " + " | ".join(columns) + " |", "|---" * (2 + len(columns)) + "|"]
    names = defaultdict(list)  # by their shares: a stretched image has the same forms as before
    for case in dict.fromkeys(case for case, _ in found):
        cell = [found[case, size] for size in SIZES if (case, size) in found]
        row = [
            ", ".join(f"{one[name]:.0%}".rstrip("%") if name in one else "–" for one in cell)
            for name in columns.values()
        ]
        sizes = ", ".join(str(size) for size in SIZES if (case, size) in found)
        names[f"{sizes} | {' | '.join(row)}"].append(shown(case))
    return "\n".join([*lines, *(f"| {'; '.join(same)} | {row} |" for row, same in names.items())])


def summary(most=3):
    """Where this method loses and where it wins, in sentences, losses first."""
    said = []
    for test, usual in USUAL.items():
        found = cells(test)
        lost = []
        for (case, size), cell in found.items():
            best, share = found_by(cell)
            lost.append((share - cell[OURS], f"{shown(case)}, {size} a side: {best}"))
        large = sorted((row for row in lost if row[0] > 0.1), reverse=True)
        named = "; ".join(f"{words} by {loss:.2f}" for loss, words in large[:most])
        said.append(
            f"- *{test.capitalize()}*: of {len(found)} pairs and sizes at which some test has power, the best of all "
            f"other tests has more than 0.1 more than this method in {len(large)}"
            + (f", the most in {named}" if large else "")
            + f"; in {sum(loss <= 0.05 for loss, _ in lost)} this method is the best or within 0.05 of it."
        )
        for name, key in usual.items():
            both = [(cell[OURS], cell[key]) for cell in found.values() if key in cell]
            if both:
                behind, ahead = (sum(sign * (a - b) > 0.1 for a, b in both) for sign in (-1, 1))
                said.append(f"  - beside {name}: more than 0.1 behind in {behind}, ahead in {ahead} of {len(both)}")
    return "\n".join(said)


def tables():
    """All tables of the page."""
    draws = [int(row["draws"]) for row in rows_of(POWER) if float(row["level"]) == LEVEL and int(row["size"]) in SIZES]
    half = 1.96 * (0.25 / min(draws)) ** 0.5
    return "\n\n".join(
        [
            f"Shares in percent of {min(draws)} to {max(draws)} random draws in which a test rejects at level "
            f"{LEVEL:g} (± {half:.2f} at most), with as many outlines a side as the second column says.",
            summary(),
            "## Form",
            table("form"),
            "## Scale",
            table("scale"),
            "## False positives",
            f"Pairs that are known not to differ: every rejection is a false positive; there should be {LEVEL:.0%}.",
            table("form", differ=False),
            table("scale", differ=False),
        ]
    )


if __name__ == "__main__":
    print(tables())
