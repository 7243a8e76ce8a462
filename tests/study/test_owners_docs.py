"""docs/guides/owners.md: its Python and its shell commands run, and its tables say what the code does."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.study import GOALS, StudyState

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "owners.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_everything_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUELIST_STORAGE", "sqlite:///captions.db")
    names: dict[str, object] = {}
    ran = 0
    for language, body in re.findall(r"```(python|console)\n(.*?)```", PAGE, flags=re.DOTALL):
        if language == "python":
            exec(compile(body, "docs/guides/owners.md", "exec"), names)
            continue
        for line in body.splitlines():
            words = shlex.split(line, comments=True)[1:]
            if words[1] == "create":
                words[2] = f"other {ran}"
            result = CliRunner().invoke(app, words)
            # `can-stop` answers by its exit status.
            assert result.exit_code == (1 if words[1] == "can-stop" else 0), f"{line}: {result.output}"
            ran += 1
    assert ran >= 14


def test_the_table_of_goals_is_theirs() -> None:
    for goal in GOALS.values():
        assert f"| `{goal.name}` | {goal.when} | {goal.policy} |" in PAGE


def test_every_state_has_its_row() -> None:
    rows = re.findall(r"^\| `study\.(\w+)\(\)` \| `duelist study ([\w-]+)` \| (\w+) \|", PAGE, flags=re.MULTILINE)
    assert [state for *_, state in rows] == [state.value for state in StudyState]
    assert all(python.replace("_", "-") == shell for python, shell, _ in rows)
