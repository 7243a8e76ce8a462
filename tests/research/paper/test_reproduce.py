"""Experiments on a tiny budget: everything they promise is written, twice the same, and read back from the cache."""

import csv
import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.research.experiments import Lab, tuning
from duelist.research.experiments.reports.findings import (
    CANNOT_BE_TESTED,
    DOES_NOT_HOLD,
    HOLDS,
    HOLDS_HERE,
    Claim,
    Findings,
)
from duelist.research.paper import CATALOG, PAPER, figure_1a, figure_1b, problems, theory
from duelist.research.paper.report import html_report, markdown_report
from duelist.research.paper.reproduce import reproduce
from duelist.simulation.environments import Hypercube, RandomArms


@pytest.fixture
def tiny(monkeypatch):
    """Budgets of seconds instead of minutes; the shape of every experiment stays."""
    small = {
        "random θ*": problems.Family(Hypercube(dim=2), 60, 60, 2),
        "changing arms": problems.Family(RandomArms(dim=2, n_arms=4), 40, 20, 2),
    }
    monkeypatch.setattr(figure_1a, "families", lambda setting: small)
    monkeypatch.setattr(figure_1a, "PUBLISHED_SCALES", (1e-5, 1e-3))
    monkeypatch.setattr(figure_1a, "LAYERED_SCALES", (0.5, 1.0))
    monkeypatch.setattr(figure_1b, "PUBLISHED_RUNS", 2)
    monkeypatch.setattr(figure_1b, "TUNING_RUNS", 2)
    for module in (figure_1a, figure_1b, theory):
        monkeypatch.setattr(module, "RUNS", 4)
    monkeypatch.setattr(figure_1b, "HORIZON", 60)
    monkeypatch.setattr(figure_1b, "DIM", 2)
    monkeypatch.setattr(tuning, "SCALES", (0.5, 1.0, 2.0))
    monkeypatch.setattr(tuning, "RIDGES", (0.1, 1.0))
    monkeypatch.setattr(tuning, "FIRST_RUNS", 2)
    monkeypatch.setattr(theory, "COVERAGE_RUNS", 3)
    monkeypatch.setattr(theory, "COVERAGE_ROUNDS", 64)
    monkeypatch.setattr(theory, "HORIZONS", (60, 120))
    monkeypatch.setattr(theory, "CHANGING_HORIZONS", (30, 60))
    monkeypatch.setattr(theory, "HORIZON", 100)
    monkeypatch.setattr(theory, "DIMS", (2, 3))
    monkeypatch.setattr(theory, "SCALES", (1.0, 2.0))
    monkeypatch.setattr(theory, "RESAMPLES", 20)


@pytest.mark.parametrize("name", ["figure-1a", "figure-1b", "theory"])
def test_everything_promised_is_written_and_the_same_twice(tiny, name, tmp_path):
    (first,) = reproduce([name], tmp_path / "a")
    (second,) = reproduce([name], tmp_path / "b")
    assert first.claims == second.claims
    assert first.tables == second.tables
    assert first.claims
    assert all(c.conclusion in (HOLDS, HOLDS_HERE, DOES_NOT_HOLD, CANNOT_BE_TESTED) for c in first.claims)
    folder = tmp_path / "a" / name
    for figure in first.figures:
        assert (folder / f"{figure}.png").stat().st_size > 10_000
        ET.parse(folder / f"{figure}.svg")
        for kind in ("png", "svg"):
            assert (folder / f"{figure}.{kind}").read_bytes() == (
                tmp_path / "b" / name / f"{figure}.{kind}"
            ).read_bytes()
    for table, content in first.tables.items():
        rows = list(csv.reader((folder / f"{table}.csv").read_text().splitlines()))
        assert tuple(rows[0]) == content.columns
        assert len(rows) == 1 + len(content.rows)
    settings = json.loads((folder / "settings.json").read_text())["settings"]
    assert settings["command"] == f"duelist reproduce {name}"
    assert settings["versions"]["duelist"] == dl.__version__
    assert settings["wall time in seconds"] >= 0


def test_figure_1a_can_be_played_with_one_thing_changed(monkeypatch, tmp_path):
    monkeypatch.setattr(figure_1a, "PUBLISHED_SCALES", (1e-5,))
    monkeypatch.setattr(figure_1a, "LAYERED_SCALES", (1.0,))
    monkeypatch.setattr(figure_1a, "RUNS", 2)
    monkeypatch.setattr(tuning, "SCALES", (1.0,))
    monkeypatch.setattr(tuning, "RIDGES", (1.0,))
    monkeypatch.setattr(tuning, "FIRST_RUNS", 2)
    options = ["--dim", "2", "--link", "probit", "--horizon", "40", "--arms", "3"]
    result = CliRunner().invoke(app, ["reproduce", "figure-1a", *options, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    settings = json.loads((tmp_path / "figure-1a" / "settings.json").read_text())["settings"]
    assert settings["command"] == f"duelist reproduce figure-1a {' '.join(options)}"
    assert (settings["dim"], settings["link"], settings["horizon"], settings["arms"]) == (2, "probit", 40, 3)
    report = (tmp_path / "report.html").read_text()
    assert "4 corners of the hypercube in 2 dimensions, or 3 changing arms; probit link" in report
    for table in (tmp_path / "figure-1a").glob("*.csv"):
        played = [row["settings"] for row in csv.DictReader(table.read_text().splitlines())]
        assert played
        assert all("link='probit'" in settings for settings in played), table.name


def test_a_changed_family_has_the_size_asked_for():
    setting = problems.Figure1aSetting(dim=3, link="probit", horizon=400, arms=7)
    cube, submitted, changing = problems.families(setting).values()
    assert isinstance(changing.environment, RandomArms)
    assert {f.link for f in (cube, submitted, changing)} == {"probit"}
    assert (cube.environment.dim, submitted.environment.theta.shape, changing.environment.n_arms) == (3, (3,), 7)
    assert (cube.horizon, changing.horizon, changing.tuning_horizon) == (400, 150, 75)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure-1b", "--dim", "3"], "--dim 3 is given with figure-1b."),
        (["figure-1a", "--horizon", "0"], "horizon is 0."),
        (["figure-1a", "--link", "cauchy"], "link is 'cauchy'."),
        (["figure-1a", "--dim", "40"], "dim is 40,"),
    ],
)
def test_a_change_that_cannot_be_played_is_an_error(arguments, message, tmp_path):
    result = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path)])
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_the_second_run_plays_nothing(tiny, tmp_path):
    reproduce(["figure-1a"], tmp_path)
    (again,) = reproduce(["figure-1a"], tmp_path)
    assert again.settings["cells played"] == 0
    assert again.settings["cells read from the cache"] > 0


def test_tuning_and_figures_use_different_seeds():
    assert len({tuning.TUNING_SEED, problems.FIGURE_SEED}) == 2


def test_as_published_is_what_the_paper_says():
    for name in ("MaxInP", "MaxPairUCB", "CoLSTIM"):
        policy = problems.as_published(name, 4000)
        assert policy.params["ridge"] == 0.001
        assert policy.params["radius"] == "experiment"
    vacdb = problems.as_published("VACDB", 4000, scale=1e-5)
    assert (vacdb.params["radius"], vacdb.params["ridge"], vacdb.params["scale"]) == ("theory", None, 1e-5)
    assert vacdb.params["variance"] is None  # the published rule, only in high layers


def test_the_catalog_is_complete():
    assert list(PAPER) == ["figure-1a", "figure-1b", "figure-2", "theory"]
    assert list(CATALOG) == [*PAPER, "frontier"]


def test_an_unknown_experiment_is_named(tmp_path):
    with pytest.raises(dl.InvalidInput, match="'figure-9'"):
        reproduce(["figure-9"], tmp_path)


class Tags(HTMLParser):
    """Every opened tag is closed, in order."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def awkward() -> Findings:
    outcome = Findings("x", "A < B & C", "summary with <b>tags</b>")
    outcome.claims.append(Claim("1 | 2", "a < b", "s", "1 | 2", DOES_NOT_HOLD))
    outcome.add_table("t", "a | b", ("c|d",), [("x|y",), (1.5,)])
    return outcome


def test_the_page_is_well_formed_and_escapes_what_it_shows():
    page = html_report([awkward()])
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert "<b>tags</b>" not in page
    assert "does not hold" in page


def test_markdown_tables_keep_their_columns():
    text = markdown_report([awkward()])
    for line in text.splitlines():
        if line.startswith(("| 1 ", "| x")):
            assert line.replace("\\|", "").count("|") in (6, 2)


def test_slopes_are_those_of_known_powers():
    import numpy as np

    rng = np.random.default_rng(0)
    x = [10.0, 100.0, 1000.0]
    samples = [3.0 * t**0.5 * rng.uniform(0.99, 1.01, size=50) for t in x]
    slope, low, high = theory.log_slope(x, samples)
    assert low <= 0.5 <= high
    assert slope == pytest.approx(0.5, abs=0.005)
    assert high - low < 0.01


def test_the_command_line_reproduces_and_writes_the_page(tiny, tmp_path):
    words = ["reproduce", "theory", "--out", str(tmp_path), "--docs", str(tmp_path / "r.md")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").exists()
    assert "Reproduction" in (tmp_path / "r.md").read_text()


def test_a_tuned_policy_is_used_by_name(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tune = ["tune", "MaxInP", "-e", "Hypercube:dim=2", "-t", "30", "-r", "2", "--name", "mine"]
    for words in (tune, ["simulate", "@mine", "-e", "Hypercube:dim=2", "-t", "30", "-r", "2"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    missing = CliRunner().invoke(app, ["simulate", "@absent", "-t", "30", "-r", "2"])
    assert missing.exit_code == 2
    assert "'absent'" in missing.output


def test_the_lab_counts_what_it_does(tmp_path):
    lab = Lab(tmp_path)
    assert (lab.played, lab.reused) == (0, 0)
