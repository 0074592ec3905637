"""Output files of a run: the answer as JSON, tables as CSV, the whole comparison as one file."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..archive import Tree, all_or_none, write_bytes
from ..comparison import Comparison, Experiment, records
from ..comparison.answer import in_one_line
from ..comparison.design import NO_REQUESTED_TESTS, RequestedTests
from ..comparison.hypotheses import HypothesisTests
from ..comparison.result import software_versions
from ..mmd import MMDTest
from ..outlines import Ensemble
from ..palette import lay_out
from ..parameters import tree as tree_of
from .tables import escaped_cell

if TYPE_CHECKING:
    import pandas as pd


#: Files written by `write_comparison`.
COMPARISON = ("comparison.json", "curves.csv", "result.comparison.npz")


def comparison_json(result: Comparison) -> Tree:
    """Return the answer and its evidence, without the curves."""
    return {
        "case": result.case,
        "summary": in_one_line(result),
        "warnings": list(result.warnings),
        "quality": [vars(finding) for finding in result.quality.findings],
        "undulation": test_json(result.undulation),
        "scale": test_json(result.scale),
        "estimates": _records(result.estimates),
        "pmmd": {"mmd": result.pmmd, "threshold": records.json_number(result.pmmd_threshold)},
        "a": _ensemble_json(result.a),
        "b": _ensemble_json(result.b),
        "settings": tree_of(result.settings),
        "versions": dict(result.versions),
    }


def test_json(test: MMDTest) -> Tree:
    """Return a test and its parts, without the null distributions."""
    tree = records.mmd_test_tree(test)
    del tree["null"]
    return {**tree, "parts": {name: test_json(part) for name, part in test.parts.items()}}


def _ensemble_json(ensemble: Ensemble) -> Tree:
    return {
        "name": ensemble.name,
        "unit": ensemble.unit,
        "curves": len(ensemble),
        "images": sorted(set(ensemble.images.tolist())),
        "left out": {str(reason): count for reason, count in ensemble.dropped.items()},
    }


#: Encoding of tables: with a byte order mark, spreadsheets read names and units right.
TABLE_ENCODING = "utf-8-sig"


@all_or_none()
def write_comparison(folder: Path, result: Comparison) -> list[Path]:
    """Write comparison.json, curves.csv and result.comparison.npz; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in COMPARISON]
    write_json(paths[0], comparison_json(result))
    write_table(paths[1], result.outlines)
    result.save(paths[2])
    return paths


#: File name of a saved experiment with its inputs and all numbers, for `rerun`.
RECORD = "result.experiment.npz"
#: Output files of an experiment; figures only if applicable.
EXPERIMENT = (
    *(f"{name}.csv" for name in ("experiment", "effects", "variance", "planning", "replicates", "distance")),
    *("experiment.json", RECORD),
    *(f"{name}.{form}" for name in ("superplot", "plate", "distances") for form in ("png", "svg")),
)


#: Wildcard for the figures of all trends, also those of other designs.
TRENDS = "trend_with_*"


def trend_figures(covariates: Sequence[str]) -> list[str]:
    """Return the file names of trend figures, which `EXPERIMENT` does not list."""
    return [f"{_file_name(f'Trend with {name}')}.{form}" for name in covariates for form in ("png", "svg")]


def _file_name(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower())


def experiment_json(result: Experiment, margin: float = 0.1, requested: RequestedTests = NO_REQUESTED_TESTS) -> Tree:
    """Return the answers of an experiment, without the outlines; NaN and infinity become null."""
    columns = {"omnibus": "group"} if len(result.design.groups) > 1 else {}
    columns |= {f"trend with {name}": name for name in result.design.covariates}
    tests = {title: partial(result.test, column) for title, column in columns.items()}
    if requested.given:
        known = ", ".join(requested.given)
        tests |= {
            f"{title} given {known}": partial(result.test, column, requested.given)
            for title, column in columns.items()
            if column not in requested.given
        }
    tests |= {
        f"interaction {one} × {other}": partial(result.interaction, one, other) for one, other in requested.interactions
    }
    return {
        "summary": result.summary(),
        "overall": result.overall(requested.given, requested.interactions),
        "sentences": result.sentences(margin),
        "warnings": list(result.warnings),
        "tests": {title: _tests_json(test) for title, test in tests.items()},
        "table": _records(result.table),
        "effects": _records(result.effects),
        "equivalence": {"margin": margin, "table": _records(result.equivalence(margin))},
        "variance": _records(result.quantities.variance),
        "replicates": _records(result.design.replicates),
        "settings": tree_of(result.settings),
        "versions": software_versions(),
    }


def _tests_json(tested: Callable[[], HypothesisTests]) -> Tree:
    """Return both tests of a hypothesis, or the reason why it cannot be tested."""
    try:
        test = tested()
    except ValueError as error:
        return {"not tested": str(error)}
    return {
        "undulation": {"p": test.undulation.p_value, "parts": dict(test.undulation.parts)},
        "scale": {"p": test.scale.p_value, "parts": dict(test.scale.parts)},
        "small sample": {
            "undulation": test.undulation_small_sample.p_value,
            "scale": test.scale_small_sample.p_value,
        },
    }


def _records(table: "pd.DataFrame") -> Tree:
    """Convert a table to records, with null for infinite and missing numbers."""
    found: Tree = json.loads(table.to_json(orient="records", double_precision=15))
    return found


@all_or_none()
def write_experiment(
    folder: Path,
    result: Experiment,
    margin: float = 0.1,
    requested: RequestedTests = NO_REQUESTED_TESTS,
) -> list[Path]:
    """Write the answers of an experiment; returns the paths.

    experiment.csv holds one row per contrast, effects.csv, variance.csv, planning.csv and replicates.csv the underlying
    quantities, experiment.json all of them, and distance.csv the distances of three groups or more. Figures (.png and
    .svg) are superplot, distances, trend_with_<covariate>, and plate if groups are named after wells.
    result.experiment.npz holds the whole experiment.
    """
    import pandas as pd
    from matplotlib.figure import Figure

    from ..studies.superplot import figures_of, plate_of, plot_plate, superplot

    folder.mkdir(parents=True, exist_ok=True)
    means = result.quantities.means.reset_index(drop=True).apply(np.exp)  # geometric means, in the unit of the outlines
    tables = {
        "experiment": result.table,
        "effects": result.effects,
        "variance": result.quantities.variance,
        "replicates": pd.concat([result.design.replicates, means], axis=1),
    }
    if len(result.design.groups) > 2:
        tables["distance"] = result.distance.rename_axis("group").reset_index()
    if not result.quantities.variance["between"].isna().any():
        tables["planning"] = result.quantities.planning()
    paths = [folder / f"{name}.csv" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        write_table(path, table)
    paths.append(folder / "experiment.json")
    write_json(paths[-1], experiment_json(result, margin, requested))
    paths.append(folder / RECORD)
    result.save(paths[-1])
    figures = {"superplot": superplot(result)}
    if plate_of(result.design.groups) is not None:
        figures["plate"] = plot_plate(result)
    for title, draw in figures_of(result).items():
        if title.startswith(("Trend", "Distances")):
            name = _file_name(title)
            figures[name] = Figure(figsize=(7, 6 if title == "Distances" else 3), layout="constrained")
            draw(figures[name])
    for name, figure in figures.items():
        lay_out(figure)
        for form in ("png", "svg"):
            paths.append(folder / f"{name}.{form}")
            _write_figure(paths[-1], figure)
    return paths


def _write_figure(path: Path, figure: Any) -> None:
    content = BytesIO()
    figure.savefig(content, format=path.suffix[1:], dpi=150)
    write_bytes(path, content.getvalue())


def write_json(path: Path, tree: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    write_bytes(path, (json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a CSV file atomically."""
    plain = table.copy()
    for name in table:
        if table[name].dtype.kind not in "biuf":
            plain[name] = table[name].map(escaped_cell)
    text = plain.rename(columns=escaped_cell).to_csv(index=False, lineterminator="\n")
    write_bytes(path, text.encode(TABLE_ENCODING))


@all_or_none()
def write_study(
    paths: Sequence[Path], study: Any, draw: Callable[[Any, Any], Any], more: Mapping[str, Any]
) -> list[Path]:
    """Write the table (CSV), the answers (JSON) and the figure (PNG) of a study; returns their paths.

    `draw(study, figure)` draws the figure; `more` are entries of the JSON next to summary, settings and versions.
    """
    from matplotlib.figure import Figure

    table, answer, picture = paths
    table.parent.mkdir(parents=True, exist_ok=True)
    write_table(table, study.table())
    settings = tree_of(study.settings)
    write_json(answer, {"summary": study.summary(), **more, "settings": settings, "versions": software_versions()})
    figure = Figure(figsize=(7, 9), layout="constrained")
    draw(study, figure)
    _write_figure(picture, figure)
    return [table, answer, picture]
