"""The type stubs of the native modules are those that nanobind generates."""

import shutil
import subprocess
import sys
from pathlib import Path

import native_testing
import pytest

from duelist import native

ROOT = Path(__file__).parents[3]
STUBS = {native: ROOT / "src/duelist/native.pyi", native_testing: ROOT / "native/bindings/testing/native_testing.pyi"}


@pytest.mark.parametrize("module", STUBS, ids=lambda module: module.__name__)
def test_the_stub_matches_the_module(module, tmp_path):
    shutil.copy(module.__file__, tmp_path)
    written = tmp_path / "stub.pyi"
    name = module.__name__.rpartition(".")[2]
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-i", tmp_path, "-m", name, "-o", written]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert written.read_text() == STUBS[module].read_text(), (
        "the stub is outdated: `make install` writes it; commit the result"
    )
