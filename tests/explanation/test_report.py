"""Reports and figures: complete, escaped, and reproducible."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare, explain, resynthesis
from napari_shape_ensembles.comparison.answer import in_one_line
from napari_shape_ensembles.explanation.figures import FIGURES, figures, null_distributions, save_figures
from napari_shape_ensembles.explanation.report import report_html, save_report, table_page, tables, text_pages
from napari_shape_ensembles.outlines.reasons import Reason

NASTY = "<script>alert('x')</script> & \"$\\frac{1}{0}$\" --><svg onload=alert(1)> 核"
QUICK = Settings(landmarks=100, rank=20, permutations=199)


@pytest.fixture(scope="module")
def explanation():
    a = Ensemble(list(blobs(30, 80, seed=1)), name=NASTY, unit="um", dropped={Reason("<b>touching"): 3})
    b = Ensemble(list(blobs(35, 80, seed=2) * 1.6), name="two", unit="um")
    return explain(compare(a, b, QUICK))


@pytest.fixture(scope="module")
def swaps(explanation):
    return tuple(resynthesis(explanation.comparison))


@pytest.fixture(scope="module")
def page(explanation, swaps):
    return report_html(explanation, swaps=swaps)


def test_too_few_images_have_no_interval_in_the_table():
    a, b = (
        [Ensemble(list(blobs(6, 60, seed=10 * side + i)), name=f"{side}{i}") for i in range(2 - side)]
        for side in (0, 1)
    )
    rows = tables(explain(compare(a, b, QUICK, overrule=True)), ())[0][2]
    assert not any(word in str(row) for row in rows for word in ("nan", "inf"))


class Parsed(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text.append(data)


def test_names_are_escaped(page):
    parsed = Parsed(page)
    assert not {"script", "iframe", "object", "img", "link", "b"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert any(NASTY in text for text in parsed.text)
    assert parsed.tags.count("svg") == len(FIGURES)


def test_the_page_loads_no_external_resources(page):
    for name, value in Parsed(page).attributes:
        if name in ("href", "xlink:href", "src"):
            assert value.startswith(("#", "data:image/png;base64,")), value
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_the_page_states_results_and_methods(page, explanation):
    text = " ".join(Parsed(page).text)
    result = explanation.comparison
    for words in (
        in_one_line(result),
        *explanation.sentences(),
        "B's outlines are larger",
        "199 random permutations (seed 0)",
        "30 outlines of A",
        "Control experiment",
        "circularity",
        "Gretton",
        "<b>touching",
        *result.versions.values(),
        *(caption for _, caption in FIGURES.values()),
    ):
        assert words in text, words
    for name in vars(result.settings):
        assert name.replace("_", " ") in text


def test_the_resulting_row_is_marked_by_a_symbol(page, explanation):
    case = explanation.comparison.case
    assert f"<td>► {case}</td>" in page
    assert page.count("►") == 1


def test_saving_a_page_is_reproducible(page, explanation, swaps, tmp_path):
    path = save_report(explanation, tmp_path / "report.html", swaps=swaps)
    assert page.startswith("<!DOCTYPE html>")
    assert path.read_bytes().decode() == page


def test_a_pdf_is_saved_by_its_suffix(explanation, tmp_path):
    content = save_report(explanation, tmp_path / "report.PDF").read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", content)) >= 5 + len(FIGURES)


def test_unknown_suffixes_are_rejected(explanation, tmp_path):
    with pytest.raises(ValueError, match=r"\.html or \.pdf, not as \.doc"):
        save_report(explanation, tmp_path / "report.doc")


def test_figures_are_saved_at_the_given_resolution(explanation, tmp_path):
    from skimage.io import imread

    saved = save_figures(explanation, tmp_path / "new", dpi=50)
    assert {path.name for path in saved} == {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    for path in saved:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
        else:
            pixels = imread(path)
            assert pixels.shape[1] == pytest.approx(7.2 * 50, abs=1)
            assert np.ptp(pixels[..., :3]) > 200


def test_panels_of_the_tests_do_not_overlap(explanation):
    figure = figures(explanation, ["tests"])["tests"]
    figure.draw_without_rendering()
    result = explanation.comparison
    assert len(figure.axes) == len(result.undulation.parts) + len(result.scale.parts)
    boxes = [axis.get_tightbbox() for axis in figure.axes]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    for axis in figure.axes:
        texts = [text.get_window_extent() for text in axis.get_xticklabels() if text.get_text()]
        assert not any(one.overlaps(other) for one, other in pairwise(texts))


def test_the_bar_of_a_share_is_its_interval_even_if_it_excludes_the_share(explanation):
    found = explanation.components
    interval = np.tile([[0.1], [0.4]], 4)
    given = replace(explanation, components=replace(found, share=np.zeros(4), interval=interval))
    (segments,) = (one.get_segments() for one in given.plot().collections)
    np.testing.assert_allclose([np.sort(line[:, 0]) for line in segments], np.tile([0.1, 0.4], (4, 1)))


def test_a_resolution_below_1_is_rejected(explanation, tmp_path):
    with pytest.raises(ValueError, match="dpi 0"):
        save_figures(explanation, tmp_path, dpi=0)


@pytest.mark.usefixtures("blank_figures")
def test_a_comparison_without_a_difference():
    a, b = (Ensemble(list(blobs(20, 60, seed=seed)), name="") for seed in (3, 4))
    result = compare(a, b, QUICK)
    assert result.estimates.set_index("quantity")["estimate"]["coarse form"] == 0
    text = " ".join(Parsed(report_html(explain(result))).text)
    assert "coarse form 0.00 sd 0.00 to " in " ".join(text.split())
    assert "No difference was detected." in text
    assert "20 outlines of A and 20 of B" in text


@pytest.mark.usefixtures("blank_figures", "blank_files")
@pytest.mark.parametrize("ending", [".html", ".pdf"])
def test_a_failed_report_keeps_the_earlier_one(explanation, tmp_path, monkeypatch, ending):
    path = tmp_path / f"report{ending}"
    path.write_text("earlier")
    monkeypatch.setattr("napari_shape_ensembles.archive.os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save_report(explanation, path)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_text_continues_on_as_many_pages_as_needed():
    lines = [f"Sentence {i} of a long explanation. " * 5 for i in range(60)]
    pages = list(text_pages("A title " * 40, lines))
    assert len(pages) > 2
    assert "Sentence 59" in pages[-1].texts[-1].get_text()
    for page in pages:
        boxes = [text.get_window_extent() for text in page.texts if text.get_text()]
        assert all(box.y0 > 0 and box.x1 < page.bbox.x1 for box in boxes)
        if len(boxes) == 2:
            assert boxes[0].y0 > boxes[1].y1  # the title above the text


def test_multiline_cells_are_high_enough(explanation):
    page = table_page(("Title", ("one", "other"), [("a", "short"), ("b", "many words " * 30)]))
    page.draw_without_rendering()
    cells = next(iter(page.axes[0].tables)).get_celld()
    text, cell = cells[2, 1].get_text().get_window_extent(), cells[2, 1].get_window_extent()
    assert cell.y0 <= text.y0 <= text.y1 <= cell.y1


def test_figures_of_the_tests_have_room_for_caption_and_numbers(explanation):
    figure = null_distributions(explanation)
    figure.supxlabel("a caption below", fontsize=7)
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert not any(text.get_window_extent().overlaps(legend) for text in figure.texts if text.get_text())
    for one, other in pairwise(figure.axes):
        last, following = drawn_labels(one)[-1], drawn_labels(other)[0]
        assert not last.get_window_extent().overlaps(following.get_window_extent())


def drawn_labels(axis):
    low, high = axis.get_xlim()
    return [label for label, x in zip(axis.get_xticklabels(), axis.get_xticks(), strict=True) if low <= x <= high]
