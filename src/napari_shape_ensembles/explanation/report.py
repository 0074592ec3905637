"""Report of an explanation: a self-contained HTML page, or the same as PDF."""

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import BinaryIO, Literal

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from ..archive import replacing
from ..comparison import Comparison
from ..comparison.answer import empty_cells, estimate_headings, estimate_rows, in_one_line, names_of, titles_of
from ..comparison.quantities import COMPONENTS
from ..comparison.verdict import ROW_WORDS, SMALL_SAMPLE, TRUTH_TABLE
from ..words import p_text
from .explain import Explanation
from .figures import FIGURES, figures, style
from .swaps import Swap

REFERENCES = (
    "Z. J. Grey, N. Fisher, A. Glaws: Explainable binary classification of separable shape ensembles.",
    "A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola (2012): A kernel two-sample test. Journal of "
    "Machine Learning Research 13, 723-773.",
    "P. H. Westfall, S. S. Young (1993): Resampling-based multiple testing. Wiley.",
)

_MAX_LISTED = 12
# Lines of text on a page, and the height of one as a fraction of the page.
_LINES, _LINE_HEIGHT = 58, 0.0152

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
  background: #fff; overflow-wrap: break-word }
h1 { line-height: 1.2 } h2 { margin-top: 2.2rem; border-bottom: 1px solid #bbb }
.verdict { font-size: 1.15rem; font-weight: 600; border-left: 5px solid #444; padding-left: .8rem }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top }
td:first-child { white-space: nowrap }
tr.holds { font-weight: 700 } figure { margin: 1.2rem 0 } figure svg { max-width: 100%; height: auto }
figcaption { font-size: .9rem; color: #444 }
"""

Row = Sequence[object]
Table = tuple[str, Row, Sequence[Row]]


def report_html(explanation: Explanation, *, swaps: Iterable[Swap] = ()) -> str:
    """Write the report as one HTML page, with the control experiment if the result of `resynthesis` is given.

    Figures are inline SVG; there are no scripts and no external links. All names are escaped.
    """
    drawn = figures(explanation)
    parts = [
        f"<h1>{_text(_title(explanation))}</h1>",
        f'<p class="verdict">{_text(in_one_line(explanation.comparison))}</p>',
        _figure(drawn, "outlines"),
        _html_table(estimates_table(explanation.comparison)),
        *(f"<p>⚠ {_text(words)}</p>" for words in explanation.comparison.warnings),
        _html_table(_verdict_table(explanation), marked=explanation.comparison.case),
        "<h2>Why</h2>",
        *(f"<p>{_text(words)}</p>" for words in paragraphs(explanation)),
        _figure(drawn, "shares"),
        _figure(drawn, "components"),
        *(_html_table(table) for table in tables(explanation, tuple(swaps))),
        "<h2>Figures</h2>",
        *(_figure(drawn, name) for name in drawn if name not in ("outlines", "shares", "components")),
        "<h2>Settings and versions</h2>",
        *(_html_table(table) for table in _settings_tables(explanation)),
        "<h2>References</h2>",
        "<ol>" + "".join(f"<li>{_text(entry)}</li>" for entry in REFERENCES) + "</ol>",
    ]
    body, title = "\n".join(parts), _text(_title(explanation))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def save_report(explanation: Explanation, path: Path | str, *, swaps: Iterable[Swap] = ()) -> Path:
    """Save the report as HTML or PDF, by the extension of the path, atomically.

    Parameters
    ----------
    explanation : Explanation
    path : path
        Ends in .html, .htm or .pdf.
    swaps : iterable of Swap
        See `report_html`.

    Returns
    -------
    Path
        Path of the file written.

    Raises
    ------
    ValueError
        For another extension.
    """
    path = Path(path)
    kind = report_kind(path)
    with replacing(path) as file:  # fails before figures are drawn if it cannot be written
        if kind == "html":
            file.write(report_html(explanation, swaps=swaps).encode())
        else:
            _save_pdf(explanation, file, tuple(swaps))
    return path


def report_kind(path: Path) -> Literal["html", "pdf"]:
    """Kind of report for the extension of a path.

    Raises
    ------
    ValueError
        For another extension.
    """
    kind = path.suffix.lower()
    if kind not in (".html", ".htm", ".pdf"):
        raise ValueError(f"save a report as .html or .pdf, not as {path.suffix or 'a file without an extension'}")
    return "pdf" if kind == ".pdf" else "html"


def paragraphs(explanation: Explanation) -> tuple[str, ...]:
    """Return the explanation in full sentences: what differs, by how much, and what was compared."""
    result = explanation.comparison
    a, b = titles_of(result)
    counts = f"{len(result.a)} outlines of {a} and {len(result.b)} of {b} were compared, in {result.a.unit}."
    settings, few = result.settings, result.decided_by == SMALL_SAMPLE
    if result.permuted != "curves":
        images = " and ".join(map(str, result.unit_counts))
        which = "modes and descriptors" if few else "this explanation"
        rests = f"P-values of {which} are based on permutations of whole {result.permuted} ({images}), all if few"
        rests += "; those of quantities on the small-sample test" if few else ""
        alone = f"{result.permuted.capitalize()} have the same weight."
    else:
        rests = (
            f"P-values of quantities, modes and descriptors are based on {settings.permutations} random permutations "
            f"(seed {settings.seed})"
        )
        drawn = dict.fromkeys(len(test.null) for test in (result.scale, result.undulation))
        if more := [str(count) for count in drawn if count not in (0, settings.permutations)]:
            rests += f"; those of tests, and of their parts, on {' or '.join(more)}"
        alone = (
            "Outlines are treated as independent here: several images of each sample are more informative than "
            "many outlines of one image."
        )
    method = (
        f"{rests}. The parts of each test, the modes and the descriptors are families; their adjusted p-values hold "
        f"for the family as a whole, at the level {settings.test_level:g}. {alone}"
    )
    return (counts, *explanation.sentences(), method)


def tables(explanation: Explanation, swaps: tuple[Swap, ...] = ()) -> list[Table]:
    """Return the tables of the report: title, headings and rows."""
    shares = list(zip(COMPONENTS, explanation.components.in_words(), strict=True))
    found: list[Table] = [
        ("Shares in the difference", ("component", "share, 95 % interval"), shares),
        _mode_table(explanation),
        _descriptor_table(explanation),
    ]
    return [*found, _swap_table(explanation, swaps)] if swaps else found


def _title(explanation: Explanation) -> str:
    a, b = titles_of(explanation.comparison)
    return f"Outlines of {a} and {b}"


def _verdict_table(explanation: Explanation) -> Table:
    rows = [
        (("► " if case == explanation.comparison.case else "") + case, words) for case, words in TRUTH_TABLE.items()
    ]
    return "Undulation ∧ scale; 1 = no difference detected, 0 = differs", ("row", "meaning"), rows


def estimates_table(result: Comparison) -> Table:
    """Return `Comparison.estimates` as a table in words."""
    how = "the small-sample test" if result.decided_by == SMALL_SAMPLE else "a permutation test"
    title = (
        f"Quantities; p-values are those of {how} of each, adjusted for the others of the same test; areas are tested "
        "as sizes"
    )
    return " ".join([f"{title}.", *empty_cells(result)]), estimate_headings(result), estimate_rows(result)


def _mode_table(explanation: Explanation) -> Table:
    modes = explanation.modes
    rows = [
        (
            mode + 1,
            p_text(modes.tests.adjusted[mode], explanation.comparison.settings.test_level),
            f"{modes.mean_difference[mode]:+.2f}",
            f"{modes.spread_ratio[mode]:.2f}",
            f"{modes.variance[mode]:.2%}",
            modes.label(mode),
        )
        for mode in modes.order()[:_MAX_LISTED].tolist()
    ]
    a, b = modes.samples
    correlates = "correlates with (rank correlation)"
    headings = ("mode", "adjusted p", f"{b} − {a} in sd", f"sd {b} / {a}", "variance", correlates)
    return f"The {len(rows)} of {len(modes)} modes with the smallest p-values", headings, rows


def _descriptor_table(explanation: Explanation) -> Table:
    found, level = explanation.descriptors, explanation.comparison.settings.test_level
    rows = [
        (name.replace("_", " "), p_text(p, level), f"{d:+.2f}", f"{a:.4g}", f"{b:.4g}")
        for name, p, d, (a, b) in zip(
            found.tests.names, found.tests.adjusted, found.difference, found.medians.T, strict=True
        )
    ]
    a, b = names_of(explanation.comparison)
    headings = ("descriptor", "adjusted p", f"{b} − {a} in sd", f"median of {a}", f"median of {b}")
    return "Hand-picked descriptors, for comparison", headings, rows


def _swap_table(explanation: Explanation, swaps: tuple[Swap, ...]) -> Table:
    names = dict(zip("AB", names_of(explanation.comparison), strict=True))
    rows = [
        (
            f"form of {names[swap.form]}, scale of {names[swap.scale]}",
            names[swap.against],
            ROW_WORDS[swap.case],
            ", ".join(swap.found()) or "nothing",
            ", ".join(swap.expected(explanation.comparison)) or "nothing",
        )
        for swap in swaps
    ]
    headings = ("new curves", "compared with", "answer", "differ in", "expected to differ in")
    return "Control experiment: forms and scales exchanged", headings, rows


def _settings_tables(explanation: Explanation) -> list[Table]:
    result = explanation.comparison
    settings = [(name.replace("_", " "), value) for name, value in vars(result.settings).items()]
    left_out = [
        (side, count, reason)
        for side, ensemble in zip(names_of(result), (result.a, result.b), strict=True)
        for reason, count in ensemble.dropped.items()
    ]
    found: list[Table] = [
        ("Settings", ("setting", "value"), settings),
        ("Versions", ("software", "version"), list(result.versions.items())),
    ]
    return [*found, ("Left out", ("sample", "objects", "reason"), left_out)] if left_out else found


def _text(words: object) -> str:
    return escape(str(words))


def _html_table(table: Table, marked: str = "") -> str:
    title, headings, rows = table
    head = "".join(f"<th>{_text(heading)}</th>" for heading in headings)
    lines = []
    for row in rows:
        holds = ' class="holds"' if marked and str(row[0]).endswith(marked) else ""
        lines.append(f"<tr{holds}>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>")
    return f"<h3>{_text(title)}</h3>\n<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _figure(drawn: dict[str, Figure], name: str) -> str:
    buffer = StringIO()
    with style():
        drawn[name].savefig(buffer, format="svg", metadata={"Date": None, "Title": FIGURES[name][1]})
    svg = buffer.getvalue()
    return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{_text(FIGURES[name][1])}</figcaption></figure>"


def _save_pdf(explanation: Explanation, file: BinaryIO, swaps: tuple[Swap, ...]) -> None:
    """Write pages of text, then the figures with their captions."""
    lines = [in_one_line(explanation.comparison), *explanation.comparison.warnings, *paragraphs(explanation)]
    listed = [
        estimates_table(explanation.comparison),
        _verdict_table(explanation),
        *tables(explanation, swaps),
        *_settings_tables(explanation),
    ]
    with style(), PdfPages(file, metadata={"Title": _title(explanation), "CreationDate": None}) as pages:
        with warnings.catch_warnings():
            # Glyphs that the font lacks are drawn as boxes; the HTML page has the full name.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            for page in text_pages(_title(explanation), [*lines, "", "References", *REFERENCES]):
                pages.savefig(page)
            for table in listed:
                pages.savefig(table_page(table))
        for name, figure in figures(explanation).items():
            figure.supxlabel(FIGURES[name][1], fontsize=7, wrap=True)
            pages.savefig(figure)


def text_pages(title: str, lines: Sequence[str]) -> Iterator[Figure]:
    """Yield pages of text, with the title on the first."""
    heading = _wrapped(title, 54)
    text = "\n\n".join(_wrapped(line, 84) for line in lines).split("\n")
    taken = 2 * (heading.count("\n") + 2)  # lines of text that the title takes up
    while text:
        page = Figure(figsize=(8.27, 11.69))
        page.text(0.08, 0.95, heading, fontsize=15, weight="bold", va="top")
        shown, text = text[: max(_LINES - taken, 1)], text[max(_LINES - taken, 1) :]
        page.text(0.08, 0.95 - taken * _LINE_HEIGHT, "\n".join(shown), fontsize=9, va="top", linespacing=1.4)
        yield page
        heading, taken = "", 0


def table_page(table: Table) -> Figure:
    """A page with one table under its title."""
    title, headings, rows = table
    cells = [[_wrapped(str(cell), 84) for cell in row] for row in rows] or [[""] * len(headings)]
    heights = [1.0, *(1.0 + 0.75 * max(cell.count("\n") for cell in row) for row in cells)]
    page = Figure(figsize=(8.27, 1.0 + 0.26 * sum(heights)), layout="constrained")
    axis = page.subplots()
    axis.axis("off")
    axis.set_title(title, loc="left")
    shown = axis.table(cells, colLabels=[str(heading) for heading in headings], loc="upper center", cellLoc="left")
    shown.auto_set_font_size(False)
    shown.set_fontsize(8)
    shown.auto_set_column_width(list(range(len(headings))))
    for (row, _), cell in shown.get_celld().items():
        cell.set_height(heights[row] / sum(heights))
    return page


def _wrapped(words: str, width: int) -> str:
    return "\n".join(textwrap.wrap(words, width)) or words
