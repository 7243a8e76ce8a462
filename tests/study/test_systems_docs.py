"""docs/guides/systems.md: its Python and its shell commands run, one after the other."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.study import load_study

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "systems.md").read_text()


def test_everything_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, body in re.findall(r"```(python|console)\n(.*?)```", PAGE, flags=re.DOTALL):
        if language == "python":
            exec(compile(body, "docs/guides/systems.md", "exec"), names)
            continue
        for line in body.splitlines():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            assert result.exit_code == 0, f"{line}: {result.output}"
    with load_study("models", f"sqlite:///{tmp_path}/duelist.db") as study:
        assert [row.arm for row in study.leaderboard().standings] == ["ada", "bob", "cyd"]
