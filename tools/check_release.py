"""Check that a commit can be released under a tag: the changelog has its section, and no address is a placeholder.

python tools/check_release.py v0.1.0
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Files whose addresses a release shows to others.
STATED = ("pyproject.toml", "tools/conda-forge/recipe.yaml", "CITATION.cff", "README.md")


def faults(tag: str, texts: Mapping[str, str], changelog: str) -> Iterator[str]:
    """What prevents a release.

    Parameters
    ----------
    tag : str
    texts : mapping
        Text of each file with addresses, by its name.
    changelog : str
    """
    version = tag.removeprefix("v")
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        yield f"the tag {tag} is not like v0.1.0"
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, flags=re.MULTILINE):
        yield f"CHANGELOG.md has no section [{version}] with a date"
    if re.search(r"^## \[Unreleased\]\s*\n(?!\s*## )\s*\S", changelog, flags=re.MULTILINE):
        yield "CHANGELOG.md still has entries under [Unreleased]"
    for name, text in texts.items():
        if "OWNER" in text:
            yield f"{name} has the placeholder OWNER in an address"


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong with the release under the tag given as the only argument; returns the exit code."""
    if len(arguments) != 1:
        print("Give the tag of the release: python tools/check_release.py v0.1.0")
        return 2
    tag = arguments[0]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in STATED}
    found = [*faults(tag, texts, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))]
    print("\n".join(found) or f"{tag} can be released.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
