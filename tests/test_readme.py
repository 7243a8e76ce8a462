"""The README's Python runs as it stands, in one go; its shell commands exist."""

import re
import shlex
from pathlib import Path

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

from duelist.cli import app

README = (Path(__file__).parents[1] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_blocks_run_in_order():
    mpl.use("Agg")
    code = blocks("python")
    assert len(code) >= 4
    exec(compile("\n".join(code), "README.md", "exec"), {})


def commands() -> list[str]:
    return [line for block in blocks("console") for line in block.splitlines() if line.startswith("duelist ")]


@pytest.mark.parametrize("line", commands())
def test_shell_commands_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    if words[0] == "simulate":
        words += ["--horizon", "50", "--runs", "2"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output


def test_make_targets_exist():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("console")), flags=re.MULTILINE)
    assert targets[:2] == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


def test_every_policy_is_listed():
    from duelist.policies import POLICIES

    missing = [name for name in POLICIES if f"`{name}`" not in README]
    assert not missing
