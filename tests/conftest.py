"""Fixtures that several test files share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read the preference data, for `-m "not data"` where it is not available."""
    for item in items:
        if isinstance(item, pytest.Function) and "data_folder" in item.fixturenames:
            item.add_marker("data")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real preference data; its absence is a failure, not a skip."""
    folder = Path(os.environ.get("DUELIST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.fail(
            f"no real data at {folder}: set DUELIST_DATA to the folder that holds preference_matrices/, or put it "
            f"at {ROOT.parent / 'shared' / 'data'}"
        )
    return folder
