"""`duelist run` and `duelist report`: what they print, write and refuse."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.cli.progress import ProgressLines
from duelist.research.experiments import Results

TOML = """
name = "small"
horizon = 40
runs = 6
runs_per_cell = 2
points = 9

[[policies]]
policy = "VACDB"
sweep.scale = [0.5, 1.0]

[[policies]]
policy = "UniformPair"

[[environments]]
environment = "Hypercube"
dim = 2
sweep.scale = [1.0, 2.0]
"""


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(w) for w in words])
    assert result.exit_code == code, result.output
    return result


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(TOML)
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done")
    (folder / "small.toml").write_text(TOML)
    run("run", folder / "small.toml", "--out", folder / "r")
    return folder / "r"


def test_run_writes_a_results_folder(done):
    results = Results(done)
    assert results.complete
    assert results.planned == 3 * 2 * 3
    world = dl.environments.Hypercube(dim=2, scale=2.0)
    runs = dl.simulate(dl.VACDB(horizon=40, scale=0.5), world, 40, 6)
    found = results.final("Hypercube(dim=2, scale=2.0)")["VACDB(scale=0.5)"]
    np.testing.assert_array_equal(found.values, runs.final("VACDB"))


def test_run_says_where_and_plays_nothing_twice(folder):
    assert "18 of 18 cells are in results/small" in flat(run("run", "small.toml").output)
    before = {p: p.stat().st_mtime_ns for p in Path("results/small/cells").rglob("*.parquet")}
    run("run", "small.toml")
    assert {p: p.stat().st_mtime_ns for p in Path("results/small/cells").rglob("*.parquet")} == before


def test_a_dry_run_shows_the_plan_and_the_time_and_plays_nothing(folder):
    text = flat(run("run", "small.toml", "--dry-run").output)
    assert "0 of 18 cells are finished, 18 are left" in text
    assert re.search(r"(under a second|about \d+ s) on this process", text)
    assert "VACDB(scale=0.5)" in text
    told = flat(run("run", "small.toml", "--dry-run", "--engine", "dask", "--workers", 3).output)
    assert "on a Dask cluster of 3 workers on this machine" in told
    assert not Path("results").exists()
    run("run", "small.toml")
    assert "18 of 18 cells are finished, 0 are left" in flat(run("run", "small.toml", "--dry-run").output)


def test_where_nobody_watches_lines_say_how_far_it_is(folder, capsys):
    assert "cells: 0 of 18 cells: 18 of 18" in flat(run("run", "small.toml").output)
    lines = ProgressLines(interval=0.0)
    for done in (4, 5, 7):
        time.sleep(0.1)
        lines("cells", done, 7)
    first, second, third = capsys.readouterr().err.splitlines()
    assert (first, third) == ("cells: 4 of 7", "cells: 7 of 7")
    assert re.fullmatch(r"cells: 5 of 7, 0:00:0\d left", second)


def test_local_processes_from_the_shell(folder):
    result = run("run", "small.toml", "--engine", "processes", "--workers", 1)
    assert "running on 1 processes on this machine" in flat(result.output)
    assert Results("results/small").complete


def test_a_failed_cell_is_told_with_its_settings(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    text = TOML.replace('policy = "UniformPair"', 'policy = "tests.helpers.custom_parts:Broken"')
    Path("small.toml").write_text(text)
    result = flat(run("run", "small.toml", code=1).output)
    assert "12 of 18 cells are in results/small" in result
    assert "failed: tests.helpers.custom_parts:Broken {} in {'environment': 'Hypercube', 'dim': 2" in result
    assert "RuntimeError: no idea what to ask" in result
    assert "6 cells failed" in result
    run("report", "results/small")
    assert "no idea what to ask" in Path("results/small/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.toml"], "There is no file absent.toml"),
        (["small.toml", "--engine", "moon"], "--engine is 'moon'. Choose one of process, processes, dask"),
        (["small.toml", "--workers", "2"], "Add --engine processes or --engine dask"),
        (["small.toml", "--engine", "processes", "--workers", "0"], "processes is 0"),
        (["small.toml", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"], "Give only one of them"),
        (["small.toml", "--scheduler", "nonsense"], "nonsense"),
    ],
)
def test_errors_of_run_name_the_value(folder, words, message):
    text = flat(run("run", *words, code=2).output)
    assert message in text
    assert "Traceback" not in text
    assert not Path("results").exists()


def test_an_unknown_policy_in_the_file_is_named(folder):
    Path("small.toml").write_text(TOML.replace('"VACDB"', '"VACBD"'))
    text = flat(run("run", "small.toml", code=2).output)
    assert "small.toml: policy is 'VACBD'. Did you mean 'VACDB'? Choose one of LocalPairUCB," in text


def test_a_folder_of_another_version_is_refused_and_kept(folder):
    run("run", "small.toml")
    mark = Path("results/small/format.json")
    mark.write_text(json.dumps({"format": "duelist.results", "version": 7}))
    cells = sorted(Path("results/small/cells").rglob("*.parquet"))
    for words in (["run", "small.toml"], ["report", "results/small"]):
        assert "holds duelist.results version 7" in flat(run(*words, code=2).output)
    assert sorted(Path("results/small/cells").rglob("*.parquet")) == cells


def test_results_of_other_code_are_refused_in_words_of_the_shell(folder):
    run("run", "small.toml")
    plan = Path("results/small/plan.json")
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "code": "0123"}))
    text = flat(run("run", "small.toml", code=2).output)
    assert "were made by other code" in text
    assert "--recompute" in text
    run("run", "small.toml", "--recompute")


def test_a_run_that_is_interrupted_goes_on(folder):
    """Ctrl-C in the middle of the grid, then the same command."""
    slow = TOML.replace('policy = "UniformPair"', 'policy = "tests.helpers.custom_parts:Coin"\nseconds = 0.005')
    Path("slow.toml").write_text(slow.replace('"small"', '"slow"'))
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    words = [sys.executable, "-m", "duelist.cli", "run", "slow.toml"]
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while len(list(Path("results/slow").rglob("*.parquet"))) < 3:
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again to resume" in flat(told)
    finished = Results("results/slow").finished
    assert 3 <= finished < 18
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert "18 of 18 cells" in done.stdout


class Page(HTMLParser):
    VOID = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open, self.pictures, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])
        if tag == "a":
            self.links.append(dict(attrs)["href"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_a_page_with_everything_on_it(done):
    text = run("report", done).output
    assert "small: 18 of 18 cells finished, 0 failed" in text
    rows = Results(done).compare("Hypercube(dim=2, scale=1.0)")
    for row in rows:
        assert re.search(rf"^{re.escape(row.policy)} +6 +{row.mean:.1f} ", text, flags=re.MULTILINE)
    page = Page()
    page.feed((done / "report.html").read_text())
    assert not page.open
    assert len(page.pictures) == 4  # curves and settings in two environments
    for picture in page.pictures:
        ET.parse(done / picture)
        with Image.open((done / picture).with_suffix(".png")) as image:
            assert np.asarray(image.convert("L")).std() > 1.0
    for link in page.links:
        assert link.startswith("#") or (done / link).exists()
    html = (done / "report.html").read_text()
    assert "18 of 18 cells are finished (100%)" in html
    assert "VACDB(scale=0.5)" in html
    assert "Unfinished" not in html


def test_a_partial_report_says_so(done, tmp_path):
    import shutil

    part = tmp_path / "part"
    shutil.copytree(done, part)
    for path in sorted((part / "cells").rglob("*.parquet"))[::2]:
        path.unlink()
    text = run("report", part, "--kind", "weak", "--reference", "UniformPair").output
    assert "small: 9 of 18 cells finished" in text
    assert "minus UniformPair" in text
    html = (part / "report.html").read_text()
    assert "9 of 18 cells are finished (50%)" in html
    assert "Unfinished" in html
    for path in (part / "cells").rglob("*.parquet"):
        path.unlink()
    assert "0 of 18 cells finished" in run("report", part).output


@pytest.mark.parametrize(
    ("words", "message"),
    [(["absent"], "holds no results"), (["--kind", "fair"], "'fair'"), (["--reference", "Me"], "reference is 'Me'")],
)
def test_errors_of_report_name_the_value(done, words, message):
    text = flat(run("report", *([done] if words[0].startswith("--") else []), *words, code=2).output)
    assert message in text
    assert "Traceback" not in text
