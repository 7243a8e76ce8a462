"""docs/guides/learning.md: its Python and its shell commands run."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.model.scorer import load_scorer

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "learning.md").read_text()


def test_everything_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for language, body in re.findall(r"```(python|console)\n(.*?)```", PAGE, flags=re.DOTALL):
        if language == "python":
            exec(compile(body, "docs/guides/learning.md", "exec"), names)
            continue
        for line in body.splitlines():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            assert result.exit_code == 0, f"{line}: {result.output}"
            ran += 1
    assert ran == 1
    assert load_scorer("scorer.json").votes == 40.0
