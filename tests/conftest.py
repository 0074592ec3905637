"""Fixtures that tests in every room use."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"

# `--hypothesis-profile=thorough` searches longer where a test sets no number of examples: the tests of bad input.
settings.register_profile("usual", settings.default, deadline=None)
settings.register_profile("thorough", settings.default, max_examples=10_000, deadline=5000)
settings.load_profile("usual")


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of real data, `../shared/data` beside the repository. Its absence is an error."""
    if not DATA.is_dir():
        pytest.fail(
            f"the real data are missing: there is no folder {DATA}; put the data described in docs/data.md "
            "at ../shared/data, beside the repository",
            pytrace=False,
        )
    return DATA


@pytest.fixture(scope="session")
def load_curves(shared_data):
    """Return a function (file below shared_data, set) -> list of (m, 2) curves as (row, column).

    The files hold `xy` and `offsets`, or `<set>_xy` and `<set>_offsets` where one file holds several sets.
    """

    def load(file, key=""):
        data = np.load(shared_data / file)
        prefix = f"{key}_" if key else ""
        vertices = data[f"{prefix}xy"][:, ::-1].astype(float)
        return np.split(vertices, data[f"{prefix}offsets"][1:-1])

    return load


def pytest_configure(config):
    """Have orix compiled before pytest-xdist's workers import it: side by side they write a cache that crashes.

    That is numba's issue 10128: whoever loads such a cache, at any later time, ends in a segmentation fault.
    """
    if config.getoption("numprocesses", None):
        subprocess.run([sys.executable, "-c", "import orix.quaternion.symmetry"], check=False, capture_output=True)


def pytest_collection_modifyitems(items):
    """Mark what needs the real data, so that it can be left out where they cannot be had."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("real_data")
