"""Policies that count wins, where policies are named: simulations, the shell, experiments, studies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.policies.counting import COUNTING_POLICIES
from duelist.research.experiments.cells import Cell, Played, play_packed
from duelist.simulation.environments import PreferenceMatrix
from tests.helpers.policies.counting import NAMES, ORDERED, made

RUNNER = CliRunner()


@pytest.fixture
def table_file(tmp_path):
    path = tmp_path / "table.csv"
    np.savetxt(path, ORDERED, delimiter=",", header="a,b,c,d,e", comments="")
    return path


def test_they_are_documented():
    root = Path(__file__).parents[3]
    for page in ("docs/algorithms/index.md", "docs/evidence/classic.md"):
        text = (root / page).read_text()
        assert [name for name in NAMES if f"`{name}`" not in text] == []
    for cls in COUNTING_POLICIES.values():
        for part in ("Deviations", "Cost per round", ">>> "):
            assert part in cls.__doc__, cls


@pytest.mark.parametrize("name", NAMES)
def test_runs_do_not_depend_on_threads_or_on_how_many_there_are(name):
    environment, policy = PreferenceMatrix(ORDERED), made(name)
    one = dl.simulate(policy, environment, 200, runs=5, seed=3, threads=1)
    many = dl.simulate([policy, dl.UniformPair()], environment, 200, runs=9, seed=3, threads=4)
    for field, values in one.log(name)._asdict().items():
        np.testing.assert_array_equal(values, getattr(many.log(name), field)[:5])


@pytest.mark.parametrize("name", NAMES)
def test_distinct_simulations_have_no_self_duels(name):
    runs = dl.simulate(made(name), PreferenceMatrix(ORDERED), 300, runs=3, distinct=True)
    first, second = runs.duels(name)
    assert (first != second).all()


def test_they_are_found_by_name():
    assert dl.make_policy("d-ts", horizon=50).__class__ is dl.counting.DTS
    rucb: Any = dl.make_policy("rucb:alpha=0.7")
    assert rucb.alpha == 0.7
    for name, cls in COUNTING_POLICIES.items():
        assert dl.policies.policy_class(name.lower()) is cls
        assert dl.policies.policy_name(cls) == name
        assert getattr(dl.counting, name) is cls
    with pytest.raises(dl.InvalidInput, match="RUCB has no setting 'gamma'"):
        dl.make_policy("RUCB:gamma=2")


def test_the_shell_plays_and_lists_them(table_file, tmp_path):
    told = RUNNER.invoke(
        app,
        [
            "simulate",
            "RUCB",
            "D-TS",
            "BeatTheMean:scale=1.0",
            "--environment",
            f"PreferenceMatrix:path={table_file}",
            "--horizon",
            "200",
            "--runs",
            "3",
        ],
    )
    assert told.exit_code == 0, told.output
    for label in ("RUCB", "D-TS", "BeatTheMean"):
        assert label in told.output
    listed = RUNNER.invoke(app, ["list"])
    for name in NAMES:
        assert name in listed.output


def test_a_cell_of_an_experiment_travels():
    cell = Cell(dl.counting.RUCB(alpha=0.6), PreferenceMatrix(ORDERED), horizon=100, runs=2, seed=0)
    assert cell.describe()["policy"] == "RUCB"
    assert isinstance(play_packed(cell.pack()), Played)


@pytest.mark.parametrize("name", ["RUCB", "CCB", "RMED2FH", "InterleavedFilter", "MergeDTS"])
def test_a_study_without_features(name, tmp_path):
    where = f"sqlite:///{tmp_path}/votes.db"
    settings = {"horizon": 500} if COUNTING_POLICIES[name].needs_horizon else {}
    study = dl.create_study("s", storage=where, policy=name, policy_settings=settings)
    study.add_arms(list("abcd"))
    for k in range(12):
        rater = f"r{k % 3}"
        duel = study.ask(rater=rater)
        assert duel.first.id != duel.second.id
        study.tell(duel, "first" if duel.first.id < duel.second.id else "second", rater=rater)
    study.add_arms(["e"])
    again = dl.load_study("s", storage=where)
    ours, theirs = study.ask(rater="new"), again.ask(rater="other")
    assert {ours.first.id, ours.second.id} != {theirs.first.id, theirs.second.id}
    again.tell(theirs, "tie", rater="other")
    study.tell(ours, "first", rater="new")
    assert study.leaderboard() is not None


def test_a_study_with_features_shows_them_who_the_arms_are(tmp_path):
    where = f"sqlite:///{tmp_path}/votes.db"
    study = dl.create_study("s", storage=where, policy="RUCB")
    study.add_arms(list("abc"), np.random.default_rng(0).normal(size=(3, 2)))
    for _ in range(3):
        study.tell(study.ask(rater="ana"), "first", rater="ana")
    again = dl.load_study("s", storage=where)
    assert again.progress() is not None


def test_a_study_says_what_a_policy_needs(tmp_path):
    with pytest.raises(dl.InvalidInput, match=r'Pass policy_settings=\{"horizon": 1000\}'):
        dl.create_study("s", storage=f"sqlite:///{tmp_path}/v.db", policy="InterleavedFilter")
