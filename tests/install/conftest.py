"""The wheel that the tests install."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.install.installing import ROOT, checked, run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as users get it. The build folder of `make install` is used again, so that only the last step is new."""
    folder = tmp_path_factory.mktemp("wheel")
    define = "--config-settings=cmake.define.DUELIST_DEVELOPMENT=OFF"
    build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", define, "--wheel-dir", folder, ROOT)
    checked(run(sys.executable, *build, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}"))
    (found,) = folder.glob("*.whl")
    return found
