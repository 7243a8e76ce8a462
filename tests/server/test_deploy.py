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
from packaging.requirements import Requirement

from duelist.cli import app
from duelist.server.http.bodies import LIMITS, UPLOAD
from duelist.server.http.connections import MAX_CONNECTIONS
from tests.helpers.server import running

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
UNIT = configparser.ConfigParser(strict=False, interpolation=None)
UNIT.optionxform = str  # type: ignore[assignment,method-assign]
UNIT.read(ROOT / "deploy" / "duelist.service")
NGINX = (ROOT / "deploy" / "nginx.conf").read_text()
PAGE = (ROOT / "docs" / "guides" / "deploying.md").read_text()


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


def test_the_image_installs_locked_packages_only() -> None:
    installs = re.findall(r"pip install ([^&\n]*)", DOCKERFILE)
    assert len(installs) == 3
    assert all("--require-hashes" in words or "--no-index --no-deps" in words for words in installs)
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "**/*.so"} <= set(ignored), "local builds must not enter the image"


def locked(name: str) -> dict[str, str]:
    """Return the versions in a lock file by package; every one has a hash."""
    entries = (ROOT / "deploy" / name).read_text().replace("\\\n", " ").splitlines()
    entries = [entry for entry in entries if entry.strip() and not entry.startswith("#")]
    assert all("--hash=sha256:" in entry for entry in entries)
    return dict(entry.split()[0].split("==") for entry in entries)


def test_the_lock_is_as_new_as_the_requirements() -> None:
    """`make lock` writes the files again; `make audit` compares them with published vulnerabilities."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    wanted = [*project["project"]["dependencies"]]
    (call,) = re.findall(r"^lock deploy/requirements.txt.*$", (ROOT / "scripts" / "lock").read_text(), re.MULTILINE)
    chosen = re.findall(r"--extra (\w+)", call)
    assert {"server", "postgres"} <= set(chosen)
    for extra in chosen:
        wanted += extras[extra]
    for own in [each for each in wanted if each.startswith("duelist[")]:
        wanted.remove(own)
        wanted += [each for extra in own[8:-1].split(",") for each in extras[extra]]
    for requirements, name in ((wanted, "requirements.txt"), (groups["image-build"], "build-requirements.txt")):
        versions = locked(name)
        for requirement in map(Requirement, requirements):
            assert versions[requirement.name] in requirement.specifier, requirement
            for extra in requirement.extras:
                assert f"{requirement.name}-{extra}" in versions


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
    assert {"LimitNOFILE", "MemoryMax", "TasksMax", "SystemCallFilter", "NoNewPrivileges"} <= set(service)
    assert service["OOMPolicy"] == "continue", "a worker without memory must not stop the server"
    assert int(service["LimitNOFILE"]) > 2 * MAX_CONNECTIONS
    upstream = re.findall(r"server 127\.0\.0\.1:(\d+);", NGINX)
    (second,) = re.findall(r"a copy with `--port (\d+)`", PAGE)
    assert upstream == [str(options["port"]), second]


def test_the_proxy_lets_large_bodies_through_where_the_server_does() -> None:
    (pattern,) = [each for each in re.findall(r"location ~ (\S+) ", NGINX) if "restore" in each]
    for key, limit in LIMITS.items():
        path = "/api/v1" + key.split()[1].replace("{study}", "7")
        assert (re.search(pattern, path) is not None) == (limit is UPLOAD), path


def test_the_proxy_has_limits() -> None:
    for directive in (
        "Strict-Transport-Security",
        "limit_req ",
        "limit_conn ",
        "client_header_timeout",
        "client_body_timeout",
    ):
        assert directive in NGINX


@pytest.mark.parametrize(
    "line", sorted(set(re.findall(r"(?:/bin/|`|^)(duelist (?:serve|token|study|storage)[^`\n]*)", PAGE, re.MULTILINE)))
)
def test_commands_in_the_guide_exist(line: str) -> None:
    parsed(shlex.split(line)[1:])
