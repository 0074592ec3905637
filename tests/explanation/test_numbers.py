"""Every number that is said of a difference is one of the table of estimates, of the two tests, or a count."""

import json
import re

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare, explain
from napari_shape_ensembles.comparison.answer import estimate_rows, scope, statements
from napari_shape_ensembles.explanation.figures import component_distributions, typical_figure
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.explanation.paper import answer_figure, methods
from napari_shape_ensembles.explanation.report import paragraphs, report_html, tables
from napari_shape_ensembles.io.results import comparison_json

QUICK = Settings(landmarks=60, rank=10, permutations=199)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def sample(seed, count, size=1.0, depth=0.0, images=1):
    """Images of blobs, larger and with a lobe that all have in common."""
    forms = blobs(count * images, 60, seed=seed) * size
    around = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    forms = forms * (1 + depth * np.cos(3 * around + 0.4))[:, None]
    return [Ensemble(list(forms[i * count : (i + 1) * count]), unit="µm", name="uvwx"[i] * seed) for i in range(images)]


CASES = {
    "nothing differs": lambda: compare(sample(1, 30)[0], sample(2, 30)[0], QUICK),
    "scale differs": lambda: compare(sample(1, 30)[0], sample(2, 30, 1.5)[0], QUICK),
    "both differ": lambda: compare(sample(1, 30)[0], sample(2, 30, 0.7, 0.25)[0], QUICK),
    "images": lambda: compare(sample(1, 6, images=4), sample(2, 6, 1.6, 0.25, images=4), QUICK),
}


@pytest.fixture(scope="module", params=CASES)
def result(request):
    return CASES[request.param]()


@pytest.fixture(scope="module")
def explanation(result):
    return explain(result)


def numbers(text):
    return set(NUMBER.findall(text))


def known(result):
    """Numbers of the table as it is shown, p-values of the tests, levels, and counts."""
    found = numbers(" ".join(cell for row in estimate_rows(result) for cell in row))
    for test in (result.undulation, result.scale):
        found |= numbers(f"{test.p_value:.2g} {test.p_error:.1g} {len(test.null)}")
    counts = (len(result.a), len(result.b), *result.image_counts, *result.unit_counts)
    # The coverage of intervals, and the lobes of the coarse form.
    return found | set(map(str, counts)) | {"95", "5"}


def test_sentences_have_numbers_of_the_table(result):
    first = headline(result)
    said = [first.opening, first.sentence, first.missed, first.scope, first.formless, scope(result), result.summary()]
    said += [one.text for one in statements(result)]
    if result.undulation.rejected or result.scale.rejected:
        assert any(numbers(one.text) for one in statements(result))
    for words in said:
        assert numbers(words) <= known(result), words


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
