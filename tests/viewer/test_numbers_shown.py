"""Every number in the window's pages on a finished comparison is one of the table, of the tests, or a setting."""

import re

import numpy as np
import pytest
from qtpy.QtWidgets import QLabel

from docks import press, show_given_result
from known_numbers import CASES, known, numbers
from napari_shape_ensembles.viewer import displayed_result
from napari_shape_ensembles.viewer.displayed_result import DisplayedResult, count_lines, settings_lines
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.docks.trust import TrustPage
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.report import text_of
from napari_shape_ensembles.words import p_text

PAGES = {"Answer": AnswerPage, "Why": WhyPage, "Trust": TrustPage}


@pytest.fixture(scope="module", params=["both differ", "unequal numbers", "few images", "inconclusive"])
def result(request):
    return CASES[request.param]()


def labels(page):
    """Texts of all labels of a page, without what sets their looks."""
    return [re.sub(r"<[^>]*>", " ", label.text()) for label in page.findChildren(QLabel)]


def known_to_tests(result):
    """Statistics, thresholds and p-values of the tests and their parts, and the settings."""
    found = set()
    for _, test in displayed_result.tests_of(result):
        limit = f"{test.threshold:.3f} {test.threshold:.4f}" if np.isfinite(test.threshold) else ""
        found |= numbers(f"{test.mmd:.3f} {test.mmd:.4f} {limit} {p_text(test.p_value, test.significance)}")
    lines = settings_lines(None, result.settings) + [
        line for side in (result.a, result.b) for line in count_lines(side)
    ]
    return found | numbers(" ".join(lines))


@pytest.mark.parametrize("name", PAGES)
def test_labels_have_numbers_of_the_table(result, name, model, qtbot):
    qtbot.addWidget(page := PAGES[name](model))
    before = numbers(" ".join(labels(page)))
    show_given_result(result, model)
    if name == "Why":
        with qtbot.waitSignal(page.finished):
            press(page.run_button, qtbot)
    warned = numbers(" ".join(result.warnings))
    for words in labels(page):
        modes = "modes of form" in words or "of the outline" in words  # these have a table and figures of their own
        assert modes or numbers(words) <= known(result) | known_to_tests(result) | warned | before, words


def test_the_text_of_a_result_has_numbers_of_the_table(result):
    warned = numbers(" ".join([*result.warnings, *result.versions.values()]))
    assert numbers(text_of(DisplayedResult(result, None, {}))) <= known(result) | known_to_tests(result) | warned
