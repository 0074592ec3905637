"""Damages files of every format at random, and watches what their readers do.

Run from the repository as ``python benchmarks/fuzz.py [--files 2000] [--seed 0] [KIND …]``. Each file is read, or
refused by a `ValueError` that names it; other errors are printed, as are files opened for writing and programs started,
and the time and memory of the slowest and the largest read.
"""

import argparse
import copy
import json
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "io"))

from test_fuzzed import KINDS, STUMBLES

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "os.remove", "socket")
WORDS = [word.encode() for word in STUMBLES]
VALUES = [None, True, -1, 0, 1e308, 10**30, "", "x", [], {}, [[]], {"type": []}, [1, [2]], "-", "\0"]
seen: Counter = Counter()
watched = {"on": False, "folder": ""}


def watch(event, arguments):
    """Count what no reader may do: write, leave its folder for writing, or start a program."""
    if not watched["on"]:
        return
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if is_temporary(event, arguments):
        return
    if writes or event.startswith(FORBIDDEN):
        seen[f"{event} {str(arguments)[:80]}"] += 1


def is_temporary(event, arguments):
    """Whether a file in a temporary folder of a reader is written, or removed with that folder."""
    if event == "os.remove":
        return arguments[1] >= 0  # relative to a folder that is being removed
    place = Path(str(arguments[0])) if event == "open" else Path()
    return place.is_relative_to(tempfile.gettempdir()) and not place.is_relative_to(watched["folder"])


def bytes_changed(rng, content):
    """Change, remove, repeat or swap 1 to 20 spans."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 3, 20])):
        start = int(rng.integers(0, len(content) + 1))
        end = min(start + int(rng.integers(1, 30)), len(content))
        span = bytes(content[start:end])
        way = rng.integers(5)
        content[start:end] = [rng.bytes(end - start), b"", span * 2, WORDS[rng.integers(len(WORDS))], span[::-1]][way]
    return bytes(content)


def columns_changed(rng, content):
    """Move, rename, repeat, remove or replace columns and cells of a table."""
    lines = [line.split(b",") for line in content.splitlines()]
    for _ in range(rng.integers(1, 6)):
        column, row = rng.integers(max(map(len, lines))), rng.integers(len(lines))
        way = rng.integers(5)
        for place, cells in enumerate(lines):
            if column >= len(cells):
                continue
            if way == 0:
                cells.insert(0, cells.pop(column))
            elif way == 1:
                cells.append(cells[column])
            elif way == 2 and len(cells) > 1:
                del cells[column]
            elif way == 3 and place == row:
                cells[column] = WORDS[rng.integers(len(WORDS))]
            elif way == 4 and place == 0:
                cells[column] = [b"id", b"x", b"frame", b"", b"label", b"vertex", b"unit"][rng.integers(7)]
    return b"\n".join(map(b",".join, lines)) + b"\n"


def json_changed(rng, content):
    """Replace, remove or move values anywhere in a JSON document."""
    value = json.loads(content)
    for _ in range(rng.integers(1, 6)):
        here = value
        while isinstance(here, (dict, list)) and here:
            key = list(here)[rng.integers(len(here))] if isinstance(here, dict) else int(rng.integers(len(here)))
            if not isinstance(here[key], (dict, list)) or not here[key] or rng.random() < 0.25:
                if rng.random() < 0.2:
                    del here[key]
                elif rng.random() < 0.1 and isinstance(here, list):
                    here.extend(copy.deepcopy(here[:50]))
                else:
                    here[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
                break
            here = here[key]
    return json.dumps(value).encode()


def ways_for(name, content):
    """Return the ways to damage a file of this name."""
    ways = [bytes_changed]
    if name.endswith((".csv", ".txt")) and b"," in content:
        ways.append(columns_changed)
    if name.endswith((".json", ".geojson")):
        ways += [json_changed] * 2
    return ways


def fuzz(name, number, seed, folder):
    """Damage a file of one kind many times; print what happened."""
    rng, path = np.random.default_rng([seed, *name.encode()]), folder / name
    write, read = KINDS[name]
    write(path)
    content = path.read_bytes()
    read(path)
    outcomes, slowest, largest = Counter(), 0.0, 0
    ways = ways_for(name, content)
    tracemalloc.start()
    for count in range(number):
        path.unlink()
        path.write_bytes(ways[count % len(ways)](rng, content))
        tracemalloc.reset_peak()
        before, began = tracemalloc.get_traced_memory()[0], time.process_time()
        watched["on"] = True
        try:
            read(path)
            outcome = "read"
        except ValueError as error:
            outcome = "refused" if name in str(error) else f"refused without its name: {error}"
        except BaseException as error:  # noqa: BLE001 - what is looked for
            outcome = f"{type(error).__name__}: {error}"
        watched["on"] = False
        if outcome not in ("read", "refused"):
            (folder / f"found-{len(outcomes)}-{name}").write_bytes(path.read_bytes())
        outcomes[outcome] += 1
        slowest = max(slowest, time.process_time() - began)
        largest = max(largest, tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    print(f"{name}: {dict(outcomes)}; slowest {slowest:.2f} s, largest {largest / 2**20:.0f} MiB", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.addaudithook(watch)
    place = Path(tempfile.mkdtemp())
    watched["folder"] = str(place)
    for kind in options.kinds:
        fuzz(kind, options.files, options.seed, place)
    print(f"forbidden: {dict(seen) or 'nothing'}; files that broke a reader are in {place}")
