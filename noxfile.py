"""Tests in separate environments: every Python version, both Qt bindings, lowest versions, and the built wheel.

`nox -l` lists the sessions; those with a missing Python are skipped. On Linux without display, run under `xvfb-run`.
"""

from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests", "headless", "wheel"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
EVERYTHING = ".[dask,ebsd,imagej,napari,parquet,r]"
# PySide6 6.12.0 loses a reference to None in each call without a return value, which aborts Python 3.11.
BINDINGS = {"pyqt6": "PyQt6", "pyside6": "PySide6!=6.12.0"}
SCREEN = {"QT_QPA_PLATFORM": "xcb", "NAPARI_ENSURE_PLUGIN_MAIN_THREAD": "1", "NAPARI_STRICT_QT": "1"}


def run_tests(session: nox.Session, *arguments: str) -> None:
    """Run the tests with the packages of the session, isolated from the user's napari settings."""
    settings = f"{session.create_tmp()}/napari.yaml"
    session.run("pytest", *arguments, *session.posargs, env=SCREEN | {"NAPARI_CONFIG": settings})


@nox.session(python=PYTHONS)
@nox.parametrize("binding", list(BINDINGS))
def tests(session: nox.Session, binding: str) -> None:
    """All tests, with this Python and this binding."""
    session.install("--editable", EVERYTHING, BINDINGS[binding], "--group", "test", "import-linter")
    run_tests(session)


@nox.session(python="3.11", venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """All tests with the lowest versions allowed by pyproject.toml."""
    session.install("--resolution", "lowest-direct", "--editable", EVERYTHING, "PyQt6>=6.8")
    # The newest zarr would need NumPy 2, for which the lowest versions of others were not compiled.
    session.install("numpy<2", "--group", "test", "import-linter")
    run_tests(session, "-o", "filterwarnings=")


@nox.session(python=PYTHONS)
def headless(session: nox.Session) -> None:
    """All tests except those of the viewer, without napari and Qt installed."""
    session.install("--editable", ".[dask,ebsd,imagej,parquet,r]", "--group", "test")
    session.run("python", "-c", "import importlib.util as i; assert not i.find_spec('napari')")
    run_tests(session, "-p", "no:pytest-qt", "--ignore=tests/viewer", "--ignore=tests/test_project.py")


@nox.session(python=PYTHONS)
@nox.parametrize("binding", list(BINDINGS))
def wheel(session: nox.Session, binding: str) -> None:
    """The built wheel in a clean environment, outside the checkout: the demo runs and prints a row."""
    folder = session.create_tmp()
    session.install("build")
    session.run("python", "-m", "build", "--wheel", "--outdir", folder, ".")
    built = next(iter(sorted(Path(folder).glob("*.whl"), reverse=True)))
    session.install(f"{built}[all]", BINDINGS[binding])
    session.chdir(folder)
    environment = SCREEN | {"NAPARI_CONFIG": f"{folder}/napari.yaml", "QT_API": binding}
    demo = str(Path(__file__).parent / "tools" / "demo.py")
    session.run("python", demo, "--out", "demo.png", env=environment)


@nox.session
def mutations(session: nox.Session) -> None:
    """Mutation testing of `shapes/` and `mmd/`, or of single modules such as `napari_shape_ensembles.mmd.kernel*`."""
    session.install("--editable", ".", "--group", "test", "mutmut>=3.8")
    session.run("mutmut", "run", *session.posargs)


@nox.session(python="3.11")
def audit(session: nox.Session) -> None:
    """Check workflow files, licences of dependencies, and known vulnerabilities (which needs network access)."""
    session.install(".[all,dask,ebsd,imagej,parquet,r]", "check-jsonschema", "pip-audit", "pip-licenses", "zizmor")
    workflows = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("zizmor", "--offline", *workflows)
    session.run("pip-licenses", "--order=license")
    session.run("pip-audit", "--skip-editable")
