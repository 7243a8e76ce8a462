"""The type stubs of the native modules are those that nanobind generates."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import duelist


@pytest.mark.parametrize("name", ["native", "_native_testing"])
def test_the_stub_matches_the_module(name, tmp_path):
    shutil.copy(importlib.import_module(f"duelist.{name}").__file__, tmp_path)
    stub = tmp_path / "stub.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-i", tmp_path, "-m", name, "-o", stub]
    subprocess.run(command, cwd=tmp_path, check=True)
    committed = Path(duelist.__file__).with_name(f"{name}.pyi")
    assert stub.read_text() == committed.read_text(), (
        "the stub is outdated: `make install` writes it; commit the result"
    )
