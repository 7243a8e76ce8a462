"""Every policy gets the same trials; the best of the finals wins; the result is stored and used."""

import pytest

import duelist as dl
from duelist.research.experiments import tuning
from duelist.research.experiments.lab import Lab
from duelist.research.experiments.tuning import FINALISTS, RIDGES, SCALES, Trial, Tuned, tune
from duelist.simulation.environments import Hypercube


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("cache"))


def small(lab, name, **settings):
    return tune(lab, name, [Hypercube(dim=2)], 60, first_runs=3, **settings)


@pytest.mark.parametrize("name", ["VACDB", "MaxInP", "StaD"])
def test_the_budget_is_the_same_for_all(lab, name):
    found = small(lab, name)
    assert [t.runs for t in found.trials] == [3] * len(SCALES) * len(RIDGES) + [12] * FINALISTS
    assert {t.scale for t in found.trials} == set(SCALES)
    base = tuning.default_ridge(name)
    assert {t.ridge for t in found.trials} == {base * r for r in RIDGES}


def test_the_best_of_the_finals_wins(lab):
    found = small(lab, "MaxPairUCB")
    finals = found.trials[-FINALISTS:]
    best = min(finals, key=lambda t: t.mean)
    assert (found.scale, found.ridge) == (best.scale, best.ridge)
    first = sorted(found.trials[:-FINALISTS], key=lambda t: t.mean)[:FINALISTS]
    assert {(t.scale, t.ridge) for t in finals} == {(t.scale, t.ridge) for t in first}


def test_a_trial_is_the_simulation_it_says(lab):
    found = small(lab, "MaxPairUCB")
    trial = found.trials[5]
    policy = dl.MaxPairUCB(horizon=60, scale=trial.scale, ridge=trial.ridge)
    runs = dl.simulate(policy, Hypercube(dim=2), 60, 3, seed=found.seed)
    assert trial.mean == pytest.approx(runs.final("MaxPairUCB").mean(), rel=1e-12)


def test_several_problems_are_averaged_after_dividing_by_the_scale(lab):
    worlds = [Hypercube(dim=2, scale=s) for s in (1.0, 4.0)]
    found = tune(lab, "MaxInP", worlds, 60, first_runs=3)
    trial = found.trials[0]
    policy = dl.MaxInP(horizon=60, scale=trial.scale, ridge=trial.ridge)
    means = [dl.simulate(policy, w, 60, 3, seed=found.seed).final("MaxInP").mean() / w.scale for w in worlds]
    assert trial.mean == pytest.approx(sum(means) / 2, rel=1e-12)


def test_other_settings_are_kept(lab):
    found = small(lab, "VACDB", explore="widest")
    assert found.make(explore="widest").params["explore"] == "widest"


def test_a_result_survives_its_file(tmp_path):
    found = Tuned("MaxInP", {"environment": "Hypercube"}, 60, 7, 0.5, 0.1, (Trial(0.5, 0.1, 3, 1.0, 0.2),))
    assert Tuned.load(found.save(tmp_path / "a.json")) == found
    policy = found.make()
    assert (policy.params["scale"], policy.params["ridge"], policy.params["horizon"]) == (0.5, 0.1, 60)


def test_a_file_that_is_none_is_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(dl.InvalidInput, match=r"a\.json"):
        Tuned.load(path)
