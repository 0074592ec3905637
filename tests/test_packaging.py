"""Distribution: absolute links in the README, the conda-forge recipe, and a single repository address."""

import functools
import hashlib
import http.server
import importlib.util
import re
import threading
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
ADDRESSES = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]
# Packages with another name on conda-forge: its `matplotlib` would also install a Qt binding.
ON_CONDA = {"matplotlib": "matplotlib-base"}


@pytest.fixture(scope="module")
def built():
    names: dict = {}
    exec((ROOT / "hatch_build.py").read_text(encoding="utf-8"), names)
    metadata = {"version": PROJECT["version"]}
    names["CustomMetadataHook"](str(ROOT), ADDRESSES).update(metadata)
    return metadata


def test_every_link_of_the_packaged_readme_is_absolute(built):
    links = re.findall(r"\]\(([^)]*)\)", built["readme"]["text"])
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", built["readme"]["text"])
    assert pictures
    assert all("/raw/" in link for link in pictures)


def test_project_links_are_derived_from_one_address(built):
    assert {"Documentation", "Source", "Issues", "Changelog"} == set(built["urls"])
    repository = ADDRESSES["repository"]
    assert all(link.startswith(repository) for name, link in built["urls"].items() if name != "Documentation")


def test_the_conda_recipe_has_the_dependencies_of_the_project():
    recipe = yaml.safe_load((ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))
    asked = dict(re.fullmatch(r"([\w-]+) ?(>=.*)", line).groups() for line in recipe["requirements"]["run"][1:])
    declared = dict(re.fullmatch(r"([\w-]+)(>=.*)", line).groups() for line in PROJECT["dependencies"])
    assert asked == {ON_CONDA.get(name, name): least for name, least in declared.items()}
    plugin = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?(>=.*)", line).groups() for line in EXTRAS["napari"])
    assert recipe["requirements"]["run_constraints"] == [f"{name} {least}" for name, least in plugin.items()]
    assert PYPROJECT["build-system"]["requires"] == [
        line.replace(" ", "") for line in recipe["requirements"]["host"] if "hatchling" in line
    ]
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license"] == PROJECT["license"]
    for path in recipe["about"]["license_file"]:
        assert (ROOT / path).is_file()
    command, target = recipe["build"]["python"]["entry_points"][0].split(" = ")
    assert PROJECT["scripts"] == {command: target}


def test_the_changelog_has_a_section_for_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(PROJECT['version'])}\] - \d{{4}}-\d\d-\d\d$", changelog, flags=re.MULTILINE)


@pytest.fixture
def served(tmp_path):
    """Return a folder and the address of a local server for it."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_data_are_fetched_with_checksum_or_reported_missing(served, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("fetch_data", ROOT / "tools" / "fetch_data.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    folder, address = served
    with zipfile.ZipFile(folder / "one.zip", "w") as file:
        file.writestr("one/README.md", "one")
    (folder / "two.zip").write_bytes(b"not what was promised")
    digest = hashlib.sha256((folder / "one.zip").read_bytes()).hexdigest()
    about = {"sha256": digest, "licence": "CC0-1.0", "source": "here"}
    into = tmp_path / "data"
    assert tool.fetch(dict.fromkeys(("one", "two", "three"), about), address, into) == ["two", "three"]
    assert (into / "one" / "README.md").read_text() == "one"
    assert "one: fetched; CC0-1.0" in capsys.readouterr().out
    assert tool.fetch({"one": about}, address, into) == []
    assert "one: is here" in capsys.readouterr().out


def test_every_data_set_has_checksum_licence_and_source():
    for about in tomllib.loads((ROOT / "tests" / "data" / "packages.toml").read_text(encoding="utf-8")).values():
        assert re.fullmatch(r"[0-9a-f]{64}", about["sha256"])
        assert about["licence"] in ("MIT", "CC0-1.0", "BSD-3-Clause")
        assert about["source"]
