"""Finds data of benchmarks, and stores their results, from which tools/write_docs.py makes tables and sentences."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from datetime import UTC, datetime
from pathlib import Path

from scipy.stats import norm

from napari_shape_ensembles import __version__

#: Data beside the checkout: docs/contributing/data.md.
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def record(path, **figures):
    """Merge results into a file, with date and version of their run; nothing without a path.

    Underscores in names become spaces in the file.
    """
    if path is None:
        return
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, figure in figures.items():
        known[name.replace("_", " ")] = figure
        known.setdefault("measured", {})[name.replace("_", " ")] = f"{datetime.now(UTC):%Y-%m-%d}, {__version__}"
    text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def parser_of(document, **defaults):
    """Parser of a script's options: numbers with these defaults, and the file of its figures."""
    parser = ArgumentParser(description=document, formatter_class=RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"by default {default}")
    parser.add_argument("--out", type=Path, help="file of docs/results that keeps the figures")
    return parser


def printed(**row):
    """Print a row of a table; as in `record`, underscores become spaces."""
    row = {name.replace("_", " "): cell for name, cell in row.items()}
    print("| " + " | ".join(map(str, row.values())) + " |", flush=True)
    return row


def wilson(hits, count):
    """95 % Wilson interval of a proportion."""
    z, p = float(norm.ppf(0.975)), hits / count
    centre, half = p + z**2 / (2 * count), z * (p * (1 - p) / count + (z / (2 * count)) ** 2) ** 0.5
    return (centre - half) / (1 + z**2 / count), (centre + half) / (1 + z**2 / count)


def share(hits, count, digits=4):
    """A proportion with its interval, as text."""
    return f"{{:.{digits}f}} ({{:.{digits}f}} to {{:.{digits}f}})".format(hits / count, *wilson(hits, count))
