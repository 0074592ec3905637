"""Fixtures that tests in every room use, and what every process that runs tests needs of its own."""

from pathlib import Path

import pytest

REAL = Path(__file__).with_name("data")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_addoption(parser):
    parser.addoption("--require-shared-data", action="store_true", help="tests without ../shared/data fail, not skip")


@pytest.fixture(scope="session")
def real_data():
    """Return the folder of the data that the repository holds, `tests/data`."""
    return REAL


@pytest.fixture(scope="session")
def shared_data(pytestconfig):
    """Return the folder of the data that the repository cannot hold, `../shared/data` beside it."""
    if not SHARED.is_dir():
        give_up = pytest.fail if pytestconfig.getoption("require_shared_data") else pytest.skip
        give_up(
            "no folder ../shared/data beside the repository: it holds the paper's curves and figures, which state no "
            "licence and so cannot be copied into it (docs/data.md)"
        )
    return SHARED


def pytest_collection_modifyitems(items):
    """Mark what uses real data, wherever they lie."""
    for item in items:
        if {"real_data", "shared_data"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("real_data")
