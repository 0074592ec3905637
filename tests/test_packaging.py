"""Distribution: absolute links in the README, the conda-forge recipe, and a single repository address."""

import functools
import hashlib
import http.server
import importlib.util
import re
import subprocess
import sys
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
    exec((ROOT / "tools" / "hatch_build.py").read_text(encoding="utf-8"), names)
    metadata = {"version": "0.1.0"}
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
    # napari's hub takes the repository from one of the first two.
    names = ["Homepage", "Source Code", "Documentation", "Bug Tracker", "User Support", "Changelog"]
    assert set(names) == set(built["urls"])
    repository = ADDRESSES["repository"]
    assert all(link.startswith(repository) for name, link in built["urls"].items() if name != "Documentation")


def test_the_conda_recipe_has_the_dependencies_of_the_project():
    recipe = yaml.safe_load((ROOT / "tools" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))
    asked = dict(re.fullmatch(r"([\w-]+) ?(>=.*)", line).groups() for line in recipe["requirements"]["run"][1:])
    declared = dict(re.fullmatch(r"([\w-]+)(>=.*)", line).groups() for line in PROJECT["dependencies"])
    assert asked == {ON_CONDA.get(name, name): least for name, least in declared.items()}
    plugin = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?(>=.*)", line).groups() for line in EXTRAS["napari"])
    assert recipe["requirements"]["run_constraints"] == [f"{name} {least}" for name, least in plugin.items()]
    assert PYPROJECT["build-system"]["requires"] == [
        line.replace(" ", "") for line in recipe["requirements"]["host"] if "hatch" in line
    ]
    assert f"## [{recipe['context']['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert recipe["about"]["license"] == PROJECT["license"]
    for path in recipe["about"]["license_file"]:
        assert (ROOT / path).is_file()
    command, target = recipe["build"]["python"]["entry_points"][0].split(" = ")
    assert PROJECT["scripts"] == {command: target}


def test_a_release_with_placeholders_or_without_notes_is_refused():
    spec = importlib.util.spec_from_file_location("check_release", ROOT / "tools" / "check_release.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in tool.STATED}
    notes = "## [Unreleased]\n\n## [0.1.0] - 2026-11-22\n\nFirst release.\n"
    filled = {name: text.replace("OWNER", "someone") for name, text in texts.items()}
    assert not [*tool.faults("v0.1.0", filled, notes)]
    assert [*tool.faults("v0.1.0", {**filled, "pyproject.toml": "https://github.com/OWNER/x"}, notes)]
    assert len([*tool.faults("v0.2.0", filled, notes)]) == 1
    assert len([*tool.faults("0.1", filled, "## [Unreleased]\n\n- A change.\n\n## [0.1] - 2026-11-22\n")]) == 2
    steps = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert 'python tools/check_release.py "$GITHUB_REF_NAME"' in steps


@pytest.mark.parametrize("arguments", [[], ["v0.1.0", "v0.2.0"]])
def test_a_check_of_a_release_asks_for_its_tag(arguments):
    script = str(ROOT / "tools" / "check_release.py")
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Give the tag" in done.stdout
    assert not done.stderr


def test_links_of_a_development_version_lead_to_the_main_branch():
    names: dict = {}
    exec((ROOT / "tools" / "hatch_build.py").read_text(encoding="utf-8"), names)
    metadata = {"version": "0.1.1.dev3+g1234567"}
    names["CustomMetadataHook"](str(ROOT), ADDRESSES).update(metadata)
    assert "/blob/main/" in metadata["readme"]["text"]


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
