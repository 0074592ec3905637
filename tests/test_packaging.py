"""What is handed on: links that hold on a package index, a recipe with the same dependencies, one address."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
ADDRESSES = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]
# Names of two packages differ on conda-forge: there matplotlib brings a Qt binding along.
ON_CONDA = {"matplotlib": "matplotlib-base"}


@pytest.fixture(scope="module")
def built():
    hook = pytest.importorskip("hatchling.metadata.plugin.interface", reason="hatchling is not installed")
    assert hook
    names: dict = {}
    exec((ROOT / "hatch_build.py").read_text(encoding="utf-8"), names)
    metadata = {"version": PROJECT["version"]}
    names["CustomMetadataHook"](str(ROOT), ADDRESSES).update(metadata)
    return metadata


def test_every_link_of_the_readme_is_absolute_where_it_is_handed_on(built):
    links = re.findall(r"\]\(([^)]*)\)", built["readme"]["text"])
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", built["readme"]["text"])
    assert pictures
    assert all("/raw/" in link for link in pictures)


def test_all_links_of_the_project_follow_from_one_address(built):
    assert {"Documentation", "Source", "Issues", "Changelog"} == set(built["urls"])
    repository = ADDRESSES["repository"]
    assert all(link.startswith(repository) for name, link in built["urls"].items() if name != "Documentation")


def test_the_recipe_for_conda_asks_for_what_the_project_asks_for():
    recipe = yaml.safe_load((ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))
    asked = dict(re.fullmatch(r"([\w-]+) ?(>=.*)", line).groups() for line in recipe["requirements"]["run"][1:])
    declared = dict(re.fullmatch(r"([\w-]+)(>=.*)", line).groups() for line in PROJECT["dependencies"])
    assert asked == {ON_CONDA.get(name, name): least for name, least in declared.items()}
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license"] == PROJECT["license"]
    for path in recipe["about"]["license_file"]:
        assert (ROOT / path).is_file()
    command, target = recipe["build"]["python"]["entry_points"][0].split(" = ")
    assert PROJECT["scripts"] == {command: target}


def test_the_changelog_has_a_section_for_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(PROJECT['version'])}\] - \d{{4}}-\d\d-\d\d$", changelog, flags=re.MULTILINE)
