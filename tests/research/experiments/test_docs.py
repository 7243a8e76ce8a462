"""docs/guides/experiments.md and docs/guides/off-policy.md: their Python runs as it stands, their commands too."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelist.cli import app
from duelist.research.experiments import Results

DOCS = Path(__file__).parents[3] / "docs" / "guides"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_experiments_in_python(place):
    elsewhere = ("dask_jobqueue", "dask_kubernetes")
    code = [block for block in blocks("experiments.md", "python") if not any(name in block for name in elsewhere)]
    assert len(code) == 3
    exec(compile("\n".join(code), "experiments.md", "exec"), {})
    assert Results("results/scales").complete


def test_clusters_in_python_are_python():
    code = blocks("experiments.md", "python")
    assert sum("Cluster(" in block for block in code) == 2
    for block in code:
        compile(block, "experiments.md", "exec")


def test_experiments_in_the_shell(place):
    (declared,) = blocks("experiments.md", "toml")
    (place / "scales.toml").write_text(declared)
    lines = [line for block in blocks("experiments.md", "console") for line in block.splitlines()]
    ours = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("duelist ")]
    here = [words for words in ours if "--scheduler" not in words and "dask" not in words]
    assert len(ours) == 6
    for words in here:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"
    listed = (DOCS / "experiments.md").read_text().partition("```\nresults/scales/")[2].partition("```")[0]
    for name in ("format.json", "plan.json", "cells", "report.html", "report"):
        assert name in listed
        assert (place / "results" / "scales" / name).exists()


def test_off_policy_in_python(place):
    code = blocks("off-policy.md", "python")
    assert len(code) == 1
    exec(compile(code[0].replace("print(", "str("), "off-policy.md", "exec"), {})


def test_the_example_is_an_experiment(place):
    example = DOCS.parents[1] / "examples" / "experiment.toml"
    result = CliRunner().invoke(app, ["run", str(example), "--dry-run"])
    assert result.exit_code == 0, result.output
