"""Derives the project's links from the address in pyproject.toml, and makes links in the README absolute.

Package indexes show the README outside the repository, where `docs/how-to/compare.md` leads nowhere.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """Sets `readme` and `urls`, which pyproject.toml declares to be dynamic."""

    def update(self, metadata: dict) -> None:
        """Fill in the metadata that depend on the repository's address."""
        repository = self.config["repository"].rstrip("/")
        version = metadata["version"]
        tree = f"v{version}" if version.replace(".", "").isdigit() else "main"  # a development version has no tag
        files, pictures = f"{repository}/blob/{tree}/", f"{repository}/raw/{tree}/"
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = re.sub(r"(!\[[^\]]*\]\()(?![a-z]+:|#)", rf"\1{pictures}", text)
        text = re.sub(r"((?<!!)\[[^\]]*\]\()(?![a-z]+:|#)", rf"\1{files}", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {
            # The names that napari's hub shows.
            "Homepage": repository,
            "Documentation": self.config["documentation"],
            "Source Code": repository,
            "Bug Tracker": f"{repository}/issues",
            "User Support": f"{repository}/discussions",
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        }
