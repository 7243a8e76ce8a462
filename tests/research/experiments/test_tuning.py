"""Every policy gets the same trials; the best of the finals wins; the result is stored and used."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.policies import builtin_policy
from duelist.research.experiments.lab import Lab
from duelist.research.experiments.tuning import FINALISTS, RIDGES, SCALES, Trial, Tuned, tune
from duelist.simulation.environments import Hypercube

BEST = {"scale": 0.5, "ridge": 0.1}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("cache"))


def small(lab, name, **settings):
    return tune(lab, name, [Hypercube(dim=2)], 60, first_runs=3, **settings)


@pytest.mark.parametrize("name", ["VACDB", "MaxInP", "StaD"])
def test_the_budget_is_the_same_for_all(lab, name):
    found = small(lab, name)
    assert [t.runs for t in found.trials] == [3] * len(SCALES) * len(RIDGES) + [12] * FINALISTS
    assert {t.settings["scale"] for t in found.trials} == set(SCALES)
    base = builtin_policy(name).practical_ridge
    assert {t.settings["ridge"] for t in found.trials} == {base * r for r in RIDGES}


def test_the_best_of_the_finals_wins(lab):
    found = small(lab, "MaxPairUCB")
    finals = found.trials[-FINALISTS:]
    best = min(finals, key=lambda t: t.mean)
    assert found.settings == best.settings
    first = sorted(found.trials[:-FINALISTS], key=lambda t: t.mean)[:FINALISTS]
    assert [t.settings for t in finals] == [t.settings for t in first]


def test_a_trial_is_the_simulation_it_says(lab):
    found = small(lab, "MaxPairUCB")
    trial = found.trials[5]
    policy = dl.MaxPairUCB(horizon=60, **trial.settings)
    runs = dl.simulate(policy, Hypercube(dim=2), 60, 3, seed=found.seed)
    assert trial.mean == pytest.approx(runs.final("MaxPairUCB").mean(), rel=1e-12)


def test_several_problems_are_averaged_after_dividing_by_the_scale(lab):
    worlds = [Hypercube(dim=2, scale=s) for s in (1.0, 4.0)]
    found = tune(lab, "MaxInP", worlds, 60, first_runs=3)
    trial = found.trials[0]
    policy = dl.MaxInP(horizon=60, **trial.settings)
    means = [dl.simulate(policy, w, 60, 3, seed=found.seed).final("MaxInP").mean() / w.scale for w in worlds]
    assert trial.mean == pytest.approx(sum(means) / 2, rel=1e-12)


def test_other_settings_are_kept(lab):
    found = small(lab, "VACDB", explore="widest")
    assert found.make().params["explore"] == "widest"


def test_a_result_survives_its_file(tmp_path):
    found = Tuned("MaxInP", {"environment": "Hypercube"}, 60, 7, BEST, (Trial(BEST, 3, 1.0, 0.2),))
    assert Tuned.load(found.save(tmp_path / "a.json")) == found
    policy = found.make()
    assert (policy.params["scale"], policy.params["ridge"], policy.params["horizon"]) == (0.5, 0.1, 60)


def test_a_file_that_is_none_is_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(dl.InvalidInput, match=r"a\.json"):
        Tuned.load(path)


def test_any_numeric_setting_of_any_policy_is_tuned(lab):
    found = tune(lab, dl.counting.RUCB(), [Hypercube(dim=2)], 60, grid={"alpha": [0.51, 1.0, 4.0]}, first_runs=2)
    assert [t.settings for t in found.trials[:3]] == [{"alpha": 0.51}, {"alpha": 1.0}, {"alpha": 4.0}]
    assert found.make().params["alpha"] == min(found.trials[3:], key=lambda t: t.mean).settings["alpha"]


def test_a_policy_of_your_own_is_tuned(lab, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples"))
    found = tune(
        lab, "plain_policy:EpsilonGreedy:ridge=2", [Hypercube(dim=2)], 20, grid={"epsilon": [0.0, 0.5]}, first_runs=1
    )
    assert found.policy == "plain_policy:EpsilonGreedy"
    assert found.settings == {"ridge": 2, "epsilon": found.make().params["epsilon"]}


@pytest.mark.parametrize(
    ("policy", "grid", "said"),
    [
        ("RUCB", None, r"RUCB has no default grid\. Name the values to try of some of its settings: alpha"),
        ("VACDB", {"scal": [1.0]}, r"grid has 'scal', which is no numeric setting of VACDB\. Did you mean 'scale'"),
        ("VACDB", {"link": [1.0]}, r"grid has 'link', which is no numeric setting"),
        ("VACDB", {"scale": []}, r"grid has scale=\[\]\. Give at least one number"),
    ],
)
def test_a_grid_that_does_not_fit_is_named(lab, policy, grid, said):
    with pytest.raises(dl.InvalidInput, match=said):
        tune(lab, policy, [Hypercube(dim=2)], 20, grid=grid)


def test_the_shell_tunes_a_grid(tmp_path):
    words = [
        "tune",
        "RUCB",
        "-e",
        "Hypercube:dim=2",
        "-t",
        "20",
        "-r",
        "1",
        "--grid",
        "alpha=0.51,1",
        "-o",
        str(tmp_path),
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "alpha" in result.output
    assert Tuned.load(tmp_path / "RUCB.json").settings["alpha"] in (0.51, 1)
