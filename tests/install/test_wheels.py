"""Wheels are installed in empty environments without a compiler, and the commands of the first hour run from them.

`make test-wheels` takes the wheels of `make wheels`, on every Python that is found, and prints how long the steps took.
`make test-install` builds one wheel for its own Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

import pytest
import uv
from scripts.release_check import package_files, wheel_problems

import duelist
from tests.install.installing import ROOT, checked, run

WHEELS: Final = os.environ.get("DUELIST_WHEELS")
"""A folder of wheels."""
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14", "3.15")


def python_of(version: str) -> str | None:
    """Return a Python of this machine, or None if there is none."""
    found = run(ROOT / "scripts" / "find-python", version)
    return found.stdout.strip() if found.returncode == 0 else None


def pythons() -> dict[str, str]:
    """Return the Pythons to test with, by version."""
    if WHEELS is None:
        return {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    return {version: path for version in VERSIONS if (path := python_of(version))}


@pytest.fixture(scope="session")
def wheels(request: pytest.FixtureRequest) -> Path:
    """The folder of the wheels."""
    return Path(WHEELS).resolve() if WHEELS is not None else request.getfixturevalue("wheel").parent


def test_a_wheel_has_the_package_and_nothing_else(wheels: Path) -> None:
    found = sorted(wheels.glob("*.whl"))
    assert found
    assert [problem for each in found for problem in wheel_problems(each, package_files())] == []


@pytest.mark.parametrize("python", pythons().values(), ids=pythons())
def test_the_first_hour_works_from_a_wheel(python: str, wheels: Path, tmp_path: Path) -> None:
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    bin_folder = environment / "bin"
    alone: dict[str, Any] = {"PATH": f"{bin_folder}:{empty}", "CC": "", "CXX": ""}
    start, used = time.perf_counter(), processor_time()
    times: list[str] = []

    def done(step: str) -> None:
        times.append(
            f"{step} after {time.perf_counter() - start:.0f} s ({processor_time() - used:.0f} s of processor time)"
        )

    installer = uv.find_uv_bin()
    checked(run(installer, "venv", "--quiet", "--python", python, environment, **alone))
    install = (installer, "pip", "install", "--quiet", "--python", bin_folder / "python", "--only-binary", ":all:")
    checked(
        run(*install, "--no-index", "--no-deps", "--find-links", wheels, f"duelist=={duelist.__version__}", **alone)
    )
    checked(run(*install, "duelist[plots,server]", **alone))
    done("installed")
    steps = checked(run(bin_folder / "python", ROOT / "tests/install/first_steps.py", cwd=tmp_path, **alone))
    assert f"duelist {duelist.__version__} works" in steps
    done("first table of regret")
    checked(run(bin_folder / "duelist", "demo", "--out", "demo", cwd=tmp_path, **alone))
    assert (tmp_path / "demo" / "regret.png").stat().st_size > 10_000
    done("chart of the demo")
    served(bin_folder / "duelist", tmp_path, alone)
    done("study server answered")
    print("; ".join(times))  # noqa: T201


def processor_time() -> float:
    """Return the processor time of the processes that this one started and waited for."""
    return sum(os.times()[2:4])


def served(program: Path, folder: Path, environment: dict[str, Any]) -> None:
    """Start the study server and ask for its health."""
    storage = f"sqlite:///{folder / 'studies.db'}"
    command = [str(program), "serve", "--port", "0"]
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with subprocess.Popen(
        command, cwd=folder, env={**clean, **environment, "DUELIST_STORAGE": storage}, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            address = next(line for line in server.stdout if "http://" in line)
            url = address[address.index("http://") :].split()[0].split("#")[0].rstrip("/.")
            origin = "/".join(url.split("/")[:3])
            assert answers(f"{origin}/api/v1/health") == 200
        finally:
            server.terminate()


def answers(url: str) -> int:
    """Wait until a server answers, for at most two minutes; return the status."""
    end = time.monotonic() + 120.0
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
