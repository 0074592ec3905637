"""Code in the documentation runs, its output is up to date, and the pages are consistent."""

import importlib
import importlib.util
import inspect
import json
import re
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import tifffile
import yaml
from matplotlib.figure import Figure

import napari_shape_ensembles as shape_ensembles
from napari_shape_ensembles.comparison.engine import HIGHEST_RATE
from napari_shape_ensembles.outlines.rasterize import rasterize

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TREES = ("tutorials", "how-to", "explanation", "reference", "evidence", "contributing")
BUILT = [
    DOCS / "index.md",
    DOCS / "install.md",
    *(page for tree in TREES for page in sorted((DOCS / tree).rglob("*.md"))),
]
# Pages with cells are run when the site is built, the tutorials below.
PAGES = [ROOT / "README.md", *(page for page in BUILT if "{code-cell}" not in page.read_text(encoding="utf-8"))]
GENERATED = ("reference/api", "reference/cli.md", "reference/settings.md")
ROOMS = (
    *("outlines", "shapes", "mmd", "comparison", "explanation"),
    *("inspection", "studies", "io", "samples"),
)
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(path):
    """Code blocks of a page, each with the output shown below it, if any."""
    text = path.read_text(encoding="utf-8")
    code = r"```(?:python|\{code-cell\} python)\n(.*?)```(?:\n\n```text\n(.*?)```)?"
    return re.findall(code, text, flags=re.DOTALL)


def results_in_comments(path):
    """Values that comments after `print` calls claim to be printed; words are ignored."""
    code = "".join(code for code, _ in blocks(path))
    return [text for text in re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE) if not text.islower()]


def run(code_blocks, capsys, tmp_path, monkeypatch):
    """Run the blocks of a page in turn; returns its names, and the actual and shown output of each block."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    mpl.use("Agg")
    names, said = {}, []
    with pd.option_context("display.max_colwidth", pd.get_option("display.max_colwidth")):  # a page may set it
        for code, output in code_blocks:
            exec(code, names)
            said.append((capsys.readouterr().out, output))
    return names, said


@pytest.mark.usefixtures("blank_files")  # the tutorials save figures
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_code_in_the_documents_prints_the_output_shown(page, capsys, tmp_path, monkeypatch):
    _, said = run(blocks(page), capsys, tmp_path, monkeypatch)
    differences = load("write_docs").differences
    for printed, shown in said:
        if shown:
            assert not [*differences(shown.strip(), printed.strip())]
    printed = "".join(text for text, _ in said).splitlines()
    assert [text for text in results_in_comments(page) if text not in printed] == []


def test_the_pages_with_code_are_found():
    assert {"README.md", "notebook.md", "samples.md"} <= {page.name for page in PAGES if blocks(page)}
    assert len(TUTORIALS) == 3


def folder_of_ones_own(tmp_path):
    """Return the path that the tutorials give as an example of a reader's folder."""
    folder = tmp_path / "where/it/is"
    folder.parent.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_run_and_produce_a_figure_and_a_sentence(page, capsys, tmp_path, monkeypatch):
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, dpi: save(figure, path, dpi=dpi / 4))  # faster
    own, example, *steps = blocks(page)
    names, _ = run([example], capsys, tmp_path, monkeypatch)
    folder = names["folder"].rename(folder_of_ones_own(tmp_path))
    for table in folder.glob("*.csv"):  # as a spreadsheet saves it where numbers have a decimal comma
        table.write_text(table.read_text(encoding="utf-8").replace(",", ";"), encoding="utf-8-sig")
    names, said = run([own, *steps], capsys, tmp_path, monkeypatch)
    assert (names["folder"] / "figure.png").stat().st_size > 10_000
    sentence = page.read_text(encoding="utf-8").split("## The sentence")[1]
    printed = next(out for (out, _), (code, _) in zip(said[1:], steps, strict=True) if code in sentence)
    assert re.search(r"\d", printed)
    mpl.pyplot.close("all")


def test_a_result_has_what_the_pages_say_it_has():
    kinds = shape_ensembles.Comparison, shape_ensembles.Experiment
    known = {name for kind in kinds for name in (*dir(kind), *(one.name for one in fields(kind)))}
    for page in (ROOT / "README.md", *BUILT):
        named = re.findall(r"\bresult\.([a-z]\w*)(?!\w*\.npz)", page.read_text(encoding="utf-8"))
        assert {*named} - {"comparison", "experiment"} <= known, page  # the two are files


@pytest.mark.parametrize("labels", [False, True])
def test_the_tutorial_draws_outlines_over_calibrated_images_and_labels(labels, capsys, tmp_path, monkeypatch):
    folder = folder_of_ones_own(tmp_path)
    folder.mkdir()
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    disk = 12 * np.column_stack([np.sin(angle), np.cos(angle)])
    disks = rasterize([np.add(disk, (20, column)) for column in (20, 64, 108)], (40, 128))
    for name in ("field-1.tif", "field-2.tif"):
        pixels = disks.astype(np.uint16) if labels else np.where(disks, 200, 20).astype(np.uint8)
        tifffile.imwrite(folder / name, pixels, imagej=True, resolution=(4, 4), metadata={"unit": "um"})
    own, _, *steps = blocks(DOCS / "tutorials" / "two-images.md")
    until = next(i for i, (code, _) in enumerate(steps) if "show(found" in code)
    run([(code.replace(".png", ".tif"), None) for code, _ in (own, *steps[: until + 1])], capsys, tmp_path, monkeypatch)
    for axis in mpl.pyplot.gcf().axes:
        middles = sorted(float(np.mean(line.get_xdata())) for line in axis.lines)
        assert middles == pytest.approx([20, 64, 108], abs=1)
    mpl.pyplot.close("all")


def test_generated_pages_match_the_stored_results():
    tool = load("write_docs")
    results = tool.kept()
    faults = [*tool.undrawn(), *tool.outdated(results)]
    for path, text in tool.written(results, run=False).items():
        faults += tool.lines_that_differ(path, path.read_text(encoding="utf-8"), text, exactly=True)
    assert not faults, "run python tools/write_docs.py"


def test_differences_beyond_tolerance_are_reported():
    differences = load("write_docs").differences
    old = {"p": 0.5, "words": "scale p = 0.01 (1∧1)", "counts": [174, 295]}
    assert not [*differences(old, {"p": 0.52, "words": "scale p = 0.02 (1∧1)", "counts": [174, 295]})]
    assert len([*differences(old, {"p": 0.56, "words": "scale p = 0.01 (1∧0)", "counts": [174, 240]})]) == 3
    assert [*differences("size 1.75 times A's", "size 1.55 times A's")]
    assert [*differences("no difference", "a difference")]


def test_templates_are_filled_from_results_and_wrong_digits_detected():
    tool = load("write_docs")
    results = {"found": {"of ten": [0.5, 0.25], "least": 0.125}, "printed": "| a | b |"}
    page = (
        "<!-- filled by tools/write_docs.py:\nShares {found[of ten]:.2f}, the least {found[least]:.1%}, "
        "{found[of ten][1]:g}.\n-->\n\nold words\n\n<!-- end -->\n\n"
        "<!-- made by tools/write_docs.py: printed -->\n\nold table\n\n<!-- end -->\n"
    )
    filled = tool.with_results(page, results)
    words = "Shares 0.50, 0.25, the least 12.5 %, 0.25."
    assert filled == page.replace("old words", words).replace("old table", "| a | b |")
    assert tool.with_results(filled, results) == filled
    wrong = filled.replace(", the least 12.5 %, 0.25.", ", the least 12.6 %, 0.25.")
    assert not [*tool.lines_that_differ(ROOT / "page", wrong, filled)]
    assert len([*tool.lines_that_differ(ROOT / "page", wrong, filled, exactly=True)]) == 1
    with pytest.raises(KeyError, match="missing"):
        tool.with_results(page.replace("[least]", "[missing]"), results)
    rows = {"found": [{"pair": "one", "found ": "0.5"}, {"pair": "two", "found ": 3}]}
    table = tool.with_results("<!-- filled by tools/write_docs.py:\n{found:table}\n-->\n\n-\n\n<!-- end -->", rows)
    assert table.endswith("-->\n\n| pair | found |\n| --- | --- |\n| one | 0.5 |\n| two | 3 |\n\n<!-- end -->")


def test_stored_benchmark_results_have_date_and_version_and_are_merged(tmp_path):
    load("write_docs")  # makes the benchmarks importable
    from results_file import record, share

    path = tmp_path / "found.json"
    record(path, rows=[{"a": "1"}], first_draws={"p": 0.5})
    record(path, more_rows=2)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert (kept["rows"], kept["more rows"], kept["first draws"]) == ([{"a": "1"}], 2, {"p": 0.5})
    assert kept["measured"]["rows"].endswith(f", {shape_ensembles.__version__}")
    assert share(5, 100, 2) == "0.05 (0.02 to 0.11)"
    record(None, rows=3)
    assert [file.name for file in tmp_path.iterdir()] == ["found.json"]


def test_the_answer_states_the_rate_measured_for_the_small_sample_test():
    measured = json.loads((DOCS / "results" / "unequal-precision.json").read_text(encoding="utf-8"))
    counts = pd.read_csv(ROOT / "benchmarks" / "replicates.csv")
    counts = counts[(counts["what"] == "small") & (counts["level"] == 0.025)]
    sums = counts.groupby(["name", "icc"])[["rejected", "designs"]].sum().reset_index()
    unequal, rates = sums["name"].str.contains("5 against|unequal"), sums["rejected"] / sums["designs"]
    page = (DOCS / "explanation" / "tests.md").read_text("utf-8")
    largest = max(measured["highest"]["small sample, unequal"], rates[unequal].max())
    assert HIGHEST_RATE - 0.001 < largest <= HIGHEST_RATE
    assert f"unequal numbers of outlines at most {HIGHEST_RATE}" in page
    two_values = sums["name"].str.contains("two values")
    largest = max(measured["highest"]["small sample, equal"], rates[~unequal & ~two_values].max())
    assert f"at\nmost {largest:.3f} were rejected" in page


def test_first_draws_that_differ_from_the_stored_ones_are_reported():
    tool = load("write_docs")
    again = tool.again(lambda: {"first draws": {"p": 0.2}})
    known = {"first draws": {"p": 0.5}, "table": [1]}
    assert again(known, drawn=True) is known
    assert len([*tool.differences(known, again(known, drawn=False))]) == 1


def test_docks_are_in_the_documented_menu():
    manifest = yaml.safe_load((ROOT / "src" / "napari_shape_ensembles" / "napari.yaml").read_text(encoding="utf-8"))[
        "contributions"
    ]
    pages = [" ".join(page.read_text(encoding="utf-8").split()) for page in [ROOT / "README.md", *BUILT]]
    named = {found for page in pages for found in re.findall(r"Plugins > napari-shape-ensembles > (\w[\w ]*\w)", page)}
    assert named
    assert named <= {widget["display_name"] for widget in manifest["widgets"]}
    assert not any("*Layers > " in page for page in pages)


def test_the_reference_lists_every_public_name_exactly_once():
    names = [name for page in DOCS.glob("reference/api/*.md") for name in load("write_docs").documented(page)]
    public = {f"{shape_ensembles.__name__}.{name}" for name in shape_ensembles.__all__}
    for module in (importlib.import_module(f"{shape_ensembles.__name__}.{room}") for room in ROOMS):
        own = {name: getattr(module, name) for name in module.__all__}
        # What is a name of the package, too, is in the reference under that name.
        public |= {f"{module.__name__}.{name}" for name in own if getattr(shape_ensembles, name, None) is not own[name]}
    assert not sorted(public - {*names})
    assert len(names) == len({*names})
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_object_of_the_reference_has_an_example():
    for name in (name for page in DOCS.glob("reference/api/*.md") for name in load("write_docs").documented(page)):
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        # Not the text that a constant has of its type, or an exception of its parents.
        if callable(value) and not (isinstance(value, type) and issubclass(value, Exception)):
            assert "Examples\n" in inspect.getdoc(value), name


def test_heading_levels_are_not_skipped():
    for page in BUILT:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        levels = [len(found) for found in re.findall(r"^(#+) ", text, flags=re.MULTILINE)]
        assert levels[0] == 1, page.name
        assert all(below <= above + 1 for above, below in pairwise(levels)), page.name


def test_links_between_documents_resolve():
    for page in [*ROOT.glob("*.md"), *(ROOT / ".github").glob("*.md"), *BUILT]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def words_of(page):
    """Words of a page, as a reader sees it: without comments, and without the bars and dashes of tables."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return len([word for word in text.split() if re.search(r"\w", word)])


def test_the_documents_stay_short():
    """What a user reads, the supplement that proves, and the README."""
    generated = [page for page in BUILT if any(name in str(page) for name in GENERATED)]
    evidence, ours = ([page for page in BUILT if page.parent.name == tree] for tree in ("evidence", "contributing"))
    read = set(BUILT) - {*generated, *evidence, *ours}
    assert sum(map(words_of, read)) <= 30_000
    assert sum(map(words_of, evidence)) <= 15_000
    assert words_of(ROOT / "README.md") <= 700


def test_pictures_take_at_most_four_megabytes():
    """Each new version of a picture stays in the history for good."""
    sizes = {path.name: path.stat().st_size for path in (DOCS / "images").iterdir()}
    assert sum(sizes.values()) <= 4 * 2**20, sorted(sizes, key=sizes.get)[-5:]
