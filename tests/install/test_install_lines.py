"""Every install line of docs/get-started/install.md works in an empty environment, and a missing extra is named.

Takes a minute once packages are in uv's cache.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import uv

from tests.helpers import postgres
from tests.install.installing import ROOT, checked, run
from tests.install.programs import PROGRAMS

LINES: Final = re.findall(
    r"^\|.*\| `pip install '?duelist(?:\[([\w,]+)\]')?` \|$", (ROOT / "docs/get-started/install.md").read_text(), re.M
)
LARGE: Final = {"embed", "gpu"}
"""PyTorch and a language model, which `make test-torch` and `make test-consumers` install."""
TOKEN: Final = "install_0123456789abcdefghijkl"


class Environments:
    """Empty virtual environments with duelist and some extras."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self._folder = folder
        self._wheel = wheel

    def python(self, extras: str) -> Path:
        """The Python of an environment, made on first use."""
        python = self._folder / (extras or "core") / "bin" / "python"
        if not python.exists():
            installer = uv.find_uv_bin()
            checked(run(installer, "venv", "--quiet", "--python", sys.executable, python.parents[1]))
            wanted = f"duelist[{extras}] @ {self._wheel.as_uri()}" if extras else f"duelist @ {self._wheel.as_uri()}"
            checked(run(installer, "pip", "install", "--quiet", "--python", python, wanted))
        return python


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environments:
    return Environments(tmp_path_factory.mktemp("environments"), wheel)


@pytest.fixture
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if "postgres" not in request.node.callspec.params.values():
        yield f"sqlite:///{tmp_path / 'studies.db'}"
        return
    with postgres.server() as server, postgres.database(server) as url:
        yield url


def test_every_extra_has_an_install_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    documented = {extras.split(",")[-1] for extras in LINES}
    assert documented == {"", *project["optional-dependencies"]} == set(PROGRAMS)


@pytest.mark.parametrize(
    "extras", [each for each in LINES if not LARGE & set(each.split(",")) and each not in ("server", "client")]
)
def test_install_line_works(extras: str, environments: Environments, storage: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[extras.split(",")[-1]])
    checked(run(environments.python(extras), program, cwd=tmp_path, DUELIST_STORAGE=storage))


def test_server_and_client_work(environments: Environments, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    python = environments.python("server")
    checked(run(python, "-c", PROGRAMS["study"], cwd=tmp_path, DUELIST_STORAGE=storage))
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        [str(python), "-c", PROGRAMS["server"]],
        cwd=tmp_path,
        env={**clean, "DUELIST_STORAGE": storage, "DUELIST_ADMIN_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            (address,) = re.findall(r"http://\d[\d.]*:\d+", server.stdout.readline())
            client = environments.python("client")
            checked(run(client, "-c", PROGRAMS["client"], cwd=tmp_path, SERVER=address, DUELIST_TOKEN=TOKEN))
        finally:
            server.terminate()


@pytest.mark.parametrize("extra", [each for each in PROGRAMS if each])
def test_a_missing_extra_is_named(extra: str, environments: Environments, tmp_path: Path) -> None:
    """With the study extra for programs about studies, with nothing for the others."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[extra])
    studies = "study" if extra in ("postgres", "excel", "text", "embed") else ""
    storage = "postgresql://localhost/none" if extra == "postgres" else f"sqlite:///{tmp_path / 'studies.db'}"
    done = run(
        environments.python(studies), program, cwd=tmp_path, DUELIST_STORAGE=storage, SERVER="http://127.0.0.1:1"
    )
    assert done.returncode != 0
    assert f"pip install 'duelist[{extra}]'" in " ".join(done.stderr.split()), done.stderr
