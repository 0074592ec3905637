"""Every number that is said of a difference is one of the table of estimates, of the two tests, or a count."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from known_numbers import CASES, QUICK, known, numbers, sample
from napari_shape_ensembles import compare, experiment, explain, samples
from napari_shape_ensembles.comparison.answer import estimate_rows, ratio_words, scope, statements
from napari_shape_ensembles.explanation.figures import component_distributions, typical_figure
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.explanation.paper import answer_figure, experiment_methods, methods
from napari_shape_ensembles.explanation.report import paragraphs, report_html, tables
from napari_shape_ensembles.io import write_curves
from napari_shape_ensembles.io.results import comparison_json
from napari_shape_ensembles.words import p_text

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=CASES)
def result(request):
    return CASES[request.param]()


@pytest.fixture(scope="module")
def explanation(result):
    return explain(result)


def test_sentences_have_numbers_of_the_table(result):
    first = headline(result)
    said = [first.opening, first.sentence, first.missed, first.scope, first.formless, scope(result), result.summary()]
    said += [one.text for one in statements(result)]
    if result.undulation.rejected or result.scale.rejected:
        assert any(numbers(one.text) for one in statements(result))
    for words in said:
        assert numbers(words) <= known(result), words


def test_what_is_named_has_an_interval_without_the_null(result):
    rows = result.estimates.set_index("quantity")
    named = {row[0] for row in estimate_rows(result) if row[-1] == "differs"}
    for name, row in rows.loc[sorted(named)].iterrows():
        null = 1 if row["kind"] == "ratio" else 0
        assert not row["low"] <= null <= row["high"], name


def test_methods_and_files_have_numbers_of_the_table(result):
    answer = methods(result, None, headline(result)).partition("Result\n\n")[2].partition("\n\n")[0]
    assert numbers(answer) <= known(result)
    written = json.loads(json.dumps(comparison_json(result)))
    assert numbers(written["summary"]) <= known(result)
    rows = result.estimates.set_index("quantity")
    assert [row["quantity"] for row in written["estimates"]] == rows.index.tolist()
    for row in written["estimates"]:
        for name in ("estimate", "low", "high", "p", "p_adjusted"):
            value = rows.loc[row["quantity"], name]
            assert row[name] == (pytest.approx(value, rel=1e-12) if np.isfinite(value) else None)


@pytest.mark.usefixtures("blank_figures")
def test_the_report_has_numbers_of_its_tables(result, explanation):
    page = report_html(explanation)
    for row in estimate_rows(result):
        assert "".join(f"<td>{cell}</td>" for cell in row) in page
    listed = " ".join(
        str(cell) for _, headings, rows in tables(explanation) for row in (headings, *rows) for cell in row
    )
    _, *said, method = paragraphs(explanation)
    for words in said:
        modes = "modes of form" in words or "of the outline" in words  # these have tables and figures of their own
        assert modes or numbers(words) <= known(result) | numbers(listed), words
    assert numbers(method) <= known(result) | set(map(str, (QUICK.permutations, QUICK.seed, QUICK.test_level)))


def test_figures_have_numbers_of_the_table(result, explanation):
    drawn = [answer_figure(result, headline(result)), component_distributions(explanation), typical_figure(explanation)]
    texts = [text for figure in drawn for axis in figure.axes for text in (axis.get_title(), axis.get_title("left"))]
    assert any("adjusted p" in text for text in texts)
    for text in texts:
        assert numbers(text) <= known(result), text


def test_the_command_line_prints_the_numbers_of_the_table(tmp_path):
    a, b = (sample(seed, 20, size)[0] for seed, size in ((1, 1), (2, 1.5)))
    for name, side in zip("ab", (a, b), strict=True):
        write_curves(tmp_path / f"{name}.csv", side)
    options = ("--set", "landmarks=60", "--set", "rank=10", "--set", "permutations=199")
    done = run("compare", tmp_path / "a.csv", tmp_path / "b.csv", *options, "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    assert "differ" in done.stdout
    assert numbers(done.stdout) <= known(compare(a, b, QUICK))


def test_an_experiment_says_the_numbers_of_its_contrasts():
    groups = {"plain": (1, 1.0, 0.0), "larger": (2, 1.5, 0.0), "lobed": (3, 1.0, 0.25)}
    images = [image for values in groups.values() for image in sample(values[0], 6, *values[1:], images=4)]
    names = np.repeat([*groups], 4).tolist()
    design = pd.DataFrame({"image": [image.name for image in images], "group": names})
    result = experiment(images, design, QUICK)
    level, found = QUICK.test_level, set()
    for row in result.table.to_dict("records"):
        ratios = result.contrast(row["a"], row["b"]).estimates.set_index("quantity")
        for test, name in (("undulation", "roughness"), ("scale", "size"), ("scale", "elongation")):
            words = ratio_words(*ratios.loc[name, ["estimate", "low", "high"]])
            if name != "elongation":
                assert words == ratio_words(*(row[f"{test}_{end}"] for end in ("effect", "low", "high")))
            found |= set(words) | {p_text(row[f"{test}_p_adjusted"], level)}
    for p in result.equivalence(0.1)[["undulation_p_adjusted", "scale_p_adjusted"]].to_numpy().ravel():
        found |= numbers(p_text(p, level))
    joint = result.test("group").p_values
    found |= numbers(f"{p_text(joint.undulation, level)} {p_text(joint.scale, level)} 95 0.8 10 0.2")
    plans = result.quantities.planning((6, 12))
    found |= numbers(f"{plans['size'][0]:.2f} {plans['size'][1]:.2f} 6 12 3 4 0.05 {level:g}") | {"1", "2"}
    said = [*result.overall(), *result.sentences()]
    assert any("differs" in words for words in said)
    for words in (*said, result.summary()):
        assert numbers(words) <= found, words
    answers = experiment_methods(result, None).partition("Results\n\n")[2].partition("\n\n")[0]
    assert answers.splitlines() == said


def close_to(found, expected):
    """Whether each number has a close one among others: the last digits of some differ between processors."""
    values = np.array([float(one) for one in expected])
    return all((np.abs(values - float(one)) <= np.maximum(0.05 * np.abs(values), 0.03)).any() for one in found)


def test_the_readme_has_the_numbers_of_its_example():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.partition("```text\n")[2].partition("```")[0]
    a, b = samples.powder_outlines().ensembles()
    for name in (a.name, b.name):
        assert name in shown
        shown = shown.replace(name, "")
    assert close_to(numbers(shown), known(compare(a, b)))


def test_the_gallery_has_numbers_of_its_tables():
    """Its outlines are not all part of the repository: what was measured is stored with the table of each pair."""
    pairs = json.loads((ROOT / "docs" / "results" / "gallery.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "evidence" / "gallery.md").read_text(encoding="utf-8")
    for pair in pairs.values():
        headings, *rows = pair["estimates"]
        listed = numbers(" ".join(cell for row in rows for cell in row)) | {"95", "5"}
        for of in ("undulation", "scale"):
            listed |= numbers(p_text(pair[of], QUICK.test_level))
        for words in pair["sentences"]:
            assert words in page
            for name in headings[1].split(" over "):
                words = words.replace(name, "")
            assert "modes of form" in words or "of the outline" in words or numbers(words) <= listed, words
