"""Download the data used by tests and benchmarks that the repository cannot include, into ../shared/data.

    python tools/fetch_data.py                   fetch what may be redistributed, checked by SHA-256
    python tools/fetch_data.py --pack FOLDER     pack the sets for a release, and record their checksums

The sets are listed in tests/data/packages.toml, with licence and source. They are files of the release `data-1` of
the repository named in pyproject.toml. Without network, or before that release exists, a message is printed and the
exit code is 0: tests that need a set are then skipped, with the reason. Data without a licence (the paper's curves)
are in no set.
"""

import argparse
import hashlib
import sys
import tomllib
import zipfile
from pathlib import Path

import pooch
import tomli_w

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
REGISTRY = ROOT / "tests" / "data" / "packages.toml"


def pack(sets, folder):
    """Write a reproducible archive of each set, and its checksum into the registry."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, about in sets.items():
        archive = folder / f"{name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
            for path in sorted(path for path in (SHARED / name).rglob("*") if path.is_file()):
                file.writestr(zipfile.ZipInfo(path.relative_to(SHARED).as_posix()), path.read_bytes())
        about["sha256"] = hashlib.sha256(archive.read_bytes()).hexdigest()
        print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {about['licence']}")
    REGISTRY.write_text(tomli_w.dumps(sets), encoding="utf-8")


def fetch(sets, base, into=SHARED):
    """Download and unpack the missing sets; returns the names of those that failed."""
    missing = []
    for name, about in sets.items():
        if (into / name).is_dir():
            print(f"{name}: is here")
            continue
        try:
            unpack = pooch.Unzip(extract_dir=str(into))
            where = {"path": str(into), "fname": f"{name}.zip"}
            pooch.retrieve(f"{base}/{name}.zip", f"sha256:{about['sha256']}", processor=unpack, **where)
        except (OSError, ValueError) as error:  # no network, no such file, or a wrong checksum
            why = type(error).__name__
            print(f"{name}: not fetched from {base}/{name}.zip ({why}); tests that need it are skipped")
            missing.append(name)
        else:
            print(f"{name}: fetched; {about['licence']}, {about['source']}")
    return missing


def main():
    """Run the requested command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="pack the sets into this folder")
    options = parser.parse_args()
    sets = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))
    if options.pack:
        pack(sets, options.pack)
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    repository = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    fetch(sets, f"{repository}/releases/download/data-1")


if __name__ == "__main__":
    sys.exit(main())
