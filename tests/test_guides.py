"""The code in README.md, docs/guides/library.md and docs/algorithms/index.md runs as it stands."""

import json
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.policies import POLICIES

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/guides/library.md", "docs/algorithms/index.md")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def commands(*pages: str) -> list[str]:
    lines = (line for page in pages for block in blocks(page, "console") for line in block.splitlines())
    return [line for line in lines if line.startswith("duelist ")]


def arguments(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


def invoke(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{words}: {result.output}"


@pytest.mark.parametrize("page", ["README.md", "docs/guides/library.md"])
def test_python_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = [block for block in blocks(page, "python") if "import gpu" not in block]  # tests/gpu runs those
    assert len(code) >= 3
    exec(compile("\n".join(code), page, "exec"), {})


def test_study_commands_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items = [{"id": f"a{k}", "features": [float(k == j) for j in range(4)], "payload": f"Text {k}"} for k in range(4)]
    Path("arms.jsonl").write_text("\n".join(json.dumps(item) for item in items))
    Path("battles.json").write_text(json.dumps([{"model_a": "a0", "model_b": "a1", "winner": "tie"}]))
    lines = [line for line in commands(*PAGES) if arguments(line)[0] in ("study", "storage")]
    assert len(lines) >= 8
    for line in lines:
        invoke(arguments(line))


def test_experiment_commands_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    lines = [line for line in commands(*PAGES) if arguments(line)[0] in ("run", "report")]
    assert len(lines) == 3
    for line in lines:
        invoke(arguments(line))


@pytest.mark.parametrize("line", [line for line in commands(*PAGES) if arguments(line)[0] in ("list", "simulate")])
def test_simulation_commands_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    words = arguments(line)
    invoke([*words, "--horizon", "50", "--runs", "2"] if words[0] == "simulate" else words)


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = [target for page in PAGES for target in re.findall(r"^make ([\w-]+)", (ROOT / page).read_text(), re.M)]
    assert targets[:2] == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_every_policy_is_listed():
    page = (ROOT / "docs" / "algorithms" / "index.md").read_text()
    assert not [name for name in POLICIES if f"`{name}`" not in page]
