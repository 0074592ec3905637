"""Feeds damaged files to every reader, and prints what ends otherwise than in a `ValueError` within seconds.

Run as ``python tools/fuzz_readers.py [--minutes 5] [--seed 0] [READER ...]``. Each reader starts from valid files;
bytes are changed, cut, repeated and swapped for numbers that programs stumble over. A file that is found is kept in
``--keep``. Exit code 1 when there is any.
"""

import argparse
import contextlib
import gzip
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from napari_shape_ensembles import Comparison, Ensemble, Settings, compare
from napari_shape_ensembles.io import CurveTable, find_grains, load_settings, read_curves, read_ebsd, read_image, save_settings, write_curves

SLOW = 5.0
NUMBERS = [
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"NaN",
    b"99999999999999999999",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"1e-320",
    b"\xff",
]
MAP = Path("../shared/data/ebsd_sdss/sdss_ferrite_austenite.ang.gz")


def curves() -> CurveTable:
    """A few small curves with features of every kind."""
    u = 2 * np.pi * np.arange(9) / 9
    rings = [np.stack([np.cos(u), (1 + i / 5) * np.sin(u) + np.cos(2 * u) / 3], axis=-1) * 20 + 50 for i in range(3)]
    ensemble = Ensemble(rings, name="a", unit="µm", ids=["x", "y", "z"], dropped={"tiny": 2})
    features = ensemble.features.drop(columns="id").assign(
        word=["a", "", "b"], whole=[1, 2, 3], odd=[True, False, True]
    )
    return CurveTable(ensemble, features, (0.5, 0.5), {"image": "a.tif"})


def seeds(folder: Path) -> dict[str, tuple[str, bytes, Callable[[Path], object]]]:
    """Name of each reader -> ending, valid content, reader."""
    found: dict[str, tuple[str, bytes, Callable[[Path], object]]] = {}
    for ending in (".csv", ".parquet", ".geojson", ".zip", ".npz"):
        write_curves(folder / f"x{ending}", curves())
        found[ending[1:]] = (ending, (folder / f"x{ending}").read_bytes(), read_curves)
    one = '{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"id": 1, "image_id": 1, "iscrowd": 0, '
    found["coco"] = (".json", (one + '"category_id": 1, "segmentation": [[0, 0, 5, 0, 5, 5]]}]}').encode(), read_curves)
    region = '{"shape_attributes": {"name": "polygon", "all_points_x": [0, 5, 5], "all_points_y": [0, 0, 5]}'
    via = f'{{"a1": {{"filename": "a", "regions": [{region}, "region_attributes": {{"k": "v"}}}}]}}}}'
    found["via"] = (".json", via.encode(), read_curves)
    found["chc"] = (".chc", b"leaf_1 10 20 0.25 9 0 0 6 6 4 4 2 2 -1\nleaf_2 0 0 0.25 4 0 6 4 2 -1", read_curves)
    found["tps"] = (".tps", b"LM=1\n1 2\nCURVES=1\nPOINTS=4\n0 0\n6 0\n6 4\n0 4\nID=one\nSCALE=0.5\n", read_curves)
    found["txt"] = (".txt", b"x y\n0 0\n6 0\n6 4\n0 4\n\n0 0\n1 0\n1 1\n", read_curves)
    found["comparison"] = (".npz", saved(folder), Comparison.load)
    save_settings(folder / "s.toml", Settings())
    found["settings"] = (".toml", (folder / "s.toml").read_bytes(), load_settings)
    found["tiff"] = (".tif", tiff(), read_image)
    found["png"] = (".png", png(), read_image)
    if MAP.exists():
        lines = gzip.decompress(MAP.read_bytes()).splitlines(keepends=True)
        short = [line for line in lines if line.startswith(b"#")] + [line for line in lines if line[:1].isdigit()][:234]
        found["ang"] = (".ang", b"".join(short), lambda path: find_grains(read_ebsd(path)))
    return found


def saved(folder: Path) -> bytes:
    """A small comparison as a file."""
    ensemble = curves().ensemble
    compare(ensemble, ensemble, Settings(landmarks=10, rank=2, permutations=5)).save(folder / "c.npz")
    return (folder / "c.npz").read_bytes()


def tiff() -> bytes:
    """A small OME-TIFF."""
    import tifffile

    file = io.BytesIO()
    metadata = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tifffile.imwrite(file, np.arange(64, dtype=np.uint8).reshape(8, 8), ome=True, metadata=metadata)
    return file.getvalue()


def png() -> bytes:
    """A small PNG."""
    import imageio.v3 as imageio

    return bytes(imageio.imwrite("<bytes>", np.arange(64, dtype=np.uint8).reshape(8, 8), extension=".png"))


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with one to four changes."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(0, max(len(data), 1)))
        span = int(rng.integers(1, 30))
        kind = rng.integers(0, 6)
        if kind == 0 and data:
            data[place % len(data)] = int(rng.integers(0, 256))
        elif kind == 1:
            del data[place : place + span]
        elif kind == 2:
            data[place:place] = data[place : place + span]
        elif kind == 3:
            data[place : place + int(rng.integers(1, 4))] = NUMBERS[int(rng.integers(len(NUMBERS)))]
        elif kind == 4 and rng.random() < 0.2:
            del data[place:]
        elif kind == 5 and data:
            data[place % len(data)] ^= 1 << int(rng.integers(0, 8))
    return bytes(data)


def fuzz(name: str, ending: str, content: bytes, read: Callable[[Path], object], options: argparse.Namespace) -> int:
    """Feed one reader for the time given; returns the number of files found."""
    rng = np.random.default_rng([options.seed, *name.encode()])
    end = time.monotonic() + 60 * options.minutes
    tried = refused = found = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{ending}"
        path.write_bytes(content)
        outcome(path, read)  # so that libraries are loaded before time is taken
        while time.monotonic() < end:
            path.write_bytes(damaged(content, rng))
            tried += 1
            trouble = outcome(path, read)
            refused += trouble == "refused"
            if trouble not in ("", "refused"):
                found += 1
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = options.keep / f"{name}-{found}{ending}"
                kept.write_bytes(path.read_bytes())
                print(f"{name}: {trouble}: {kept}", flush=True)
    print(f"{name}: {tried} files, {refused} refused, {found} found", flush=True)
    return found


def outcome(path: Path, read: Callable[[Path], object]) -> str:
    """What became of a file: "refused" with a ValueError that names it, "" for a result, else what happened."""
    start = time.monotonic()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), open(os.devnull, "w") as null:
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(null):
                read(path)
        said = ""
    except ValueError as error:
        said = "refused" if path.name in str(error) else f"does not name the file: {error}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        said = f"{type(error).__name__}: {str(error)[:200]}"
    took = time.monotonic() - start
    return f"took {took:.0f} s" if took > SLOW else said


def main() -> int:
    """Run the readers named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--minutes", type=float, default=5.0, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzzed"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = seeds(Path(folder))
    unknown = set(options.readers) - set(known)
    if unknown:
        parser.error(f"no reader {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return int(sum(fuzz(name, *known[name], options) for name in options.readers or known) > 0)


if __name__ == "__main__":
    sys.exit(main())
