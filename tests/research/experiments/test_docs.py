"""docs/guides/experiments.md: its results have the files that the page lists; the examples are experiments."""

from pathlib import Path

from typer.testing import CliRunner

from duelist.cli import app
from duelist.research.experiments import Results
from tests.docs.pages import ROOT, blocks, run_page

PAGE = ROOT / "docs" / "guides" / "experiments.md"


def test_the_page_lists_the_files(tmp_path, monkeypatch):
    run_page(PAGE, tmp_path, monkeypatch)
    assert Results("results/scales").complete
    listed = PAGE.read_text().partition("```\nresults/scales/")[2].partition("```")[0]
    for name in ("format.json", "plan.json", "cells", "report.html", "report"):
        assert name in listed
        assert (Path("results") / "scales" / name).exists()


def test_clusters_in_python_are_python():
    code = [block.body for block in blocks(PAGE) if block.language == "python" and block.not_run]
    assert sum("Cluster(" in body for body in code) == 2
    for body in code:
        compile(body, "experiments.md", "exec")


def test_the_example_is_an_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["run", str(ROOT / "examples" / "experiment.toml"), "--dry-run"])
    assert result.exit_code == 0, result.output
