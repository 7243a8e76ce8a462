"""Commands in deploy/ and its guide exist and work."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main

from duelist.cli import app
from tests.helpers.server import running

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
UNIT = configparser.ConfigParser(strict=False, interpolation=None)
UNIT.optionxform = str  # type: ignore[assignment,method-assign]
UNIT.read(ROOT / "deploy" / "duelist.service")
PAGE = (ROOT / "docs" / "deploying.md").read_text()


def instruction(name: str) -> str:
    """Return the arguments of the last instruction of that name."""
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, re.MULTILINE)[-1].strip()


def parsed(words: list[str]) -> dict[str, object]:
    """Parse a duelist command line without running it."""
    command = typer.main.get_command(app)
    context = command.make_context("duelist", [], resilient_parsing=True)
    rest = words
    while hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    return dict(command.make_context(command.name, rest, parent=context).params)


def test_the_image_runs_an_existing_command() -> None:
    words = json.loads(instruction("CMD"))
    assert words[0] == "duelist"
    options = parsed(words[1:])
    assert options["host"] == "0.0.0.0"
    assert str(options["port"]) == instruction("EXPOSE")
    assert f":{options['port']}/" in instruction("HEALTHCHECK")


def test_the_image_installs_existing_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r'"/source\[([\w,]+)\]"', DOCKERFILE)
    assert {"server", "postgres"} <= set(extras.split(",")) <= set(project["optional-dependencies"])
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "**/*.so"} <= set(ignored), "local builds must not enter the image"


def test_the_health_check_of_the_image_works(tmp_path: Path) -> None:
    """Run the command and the health check of the image on another port."""
    words = json.loads(instruction("CMD"))
    (check,) = re.findall(r'CMD python -c "(.*)"', instruction("HEALTHCHECK"))
    with running(f"sqlite:///{tmp_path / 'duelist.db'}", tmp_path, *words[2:]) as server:
        port = server.address.rsplit(":", 1)[1]
        command = [sys.executable, "-c", check.replace("8765", port)]
        assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert subprocess.run(command, check=False, capture_output=True).returncode != 0


def test_the_systemd_unit_runs_an_existing_command() -> None:
    service = UNIT["Service"]
    words = shlex.split(service["ExecStart"])
    assert words[0].endswith("/bin/duelist")
    options = parsed(words[1:])
    assert words[0].removesuffix("/bin/duelist") in PAGE, "where the page installs it"
    assert options["host"] == "127.0.0.1", "the proxy is what others reach"
    assert service["EnvironmentFile"] in PAGE
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}", "the only writable folder"
    assert service["UMask"] == "0077", "other users must not read votes"
    upstream = re.findall(r"server 127\.0\.0\.1:(\d+);", (ROOT / "deploy" / "nginx.conf").read_text())
    (second,) = re.findall(r"a copy with `--port (\d+)`", PAGE)
    assert upstream == [str(options["port"]), second]


@pytest.mark.parametrize(
    "line", sorted(set(re.findall(r"(?:/bin/|`|^)(duelist (?:serve|token|study|storage)[^`\n]*)", PAGE, re.MULTILINE)))
)
def test_commands_in_the_guide_exist(line: str) -> None:
    parsed(shlex.split(line)[1:])
