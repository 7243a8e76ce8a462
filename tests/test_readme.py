"""The README's Python runs as it stands, in one go; its shell commands exist."""

import json
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


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = [block for block in blocks("python") if "import gpu" not in block]  # tests/gpu runs that one too
    assert len(code) >= 4
    exec(compile("\n".join(code), "README.md", "exec"), {})


def commands() -> list[str]:
    return [line for block in blocks("console") for line in block.splitlines() if line.startswith("duelist ")]


def words_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


def of_studies(line: str) -> bool:
    return words_of(line)[0] in ("study", "storage")


def test_study_commands_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arms = [{"id": f"a{k}", "features": [float(k == j) for j in range(4)], "payload": f"Text {k}"} for k in range(4)]
    Path("arms.jsonl").write_text("\n".join(json.dumps(arm) for arm in arms))
    Path("battles.json").write_text(json.dumps([{"model_a": "a0", "model_b": "a1", "winner": "tie"}]))
    lines = [line for line in commands() if of_studies(line)]
    assert len(lines) >= 8
    for line in lines:
        result = CliRunner().invoke(app, words_of(line))
        assert result.exit_code == 0, f"{line}: {result.output}"


def of_experiments(line: str) -> bool:
    return words_of(line)[0] in ("run", "report")


def test_experiments_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(Path(__file__).parents[1] / "examples")
    lines = [line for line in commands() if of_experiments(line)]
    assert len(lines) == 3
    for line in lines:
        result = CliRunner().invoke(app, words_of(line))
        assert result.exit_code == 0, f"{line}: {result.output}"


@pytest.mark.parametrize("line", [line for line in commands() if not of_studies(line) and not of_experiments(line)])
def test_shell_commands_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "examples"))
    words = words_of(line)
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
