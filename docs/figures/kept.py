"""Stores numbers quoted in pages in docs/results, from which tools/write_docs.py fills them in."""

import json
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "results"


def keep(name, figures, folder=RESULTS):
    """Write a table of numbers as JSON, with nine digits and one entry per line."""
    lines = (f" {json.dumps(key)}: {json.dumps(plain(value), ensure_ascii=False)}" for key, value in figures.items())
    (folder / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def plain(value):
    """Numbers for JSON."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    return None if value is None else float(f"{float(value):.9g}")
