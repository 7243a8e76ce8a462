"""Results say what the simulations say: tidy frames, paired comparisons, best settings, at any moment."""

import json

import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.core.errors import InvalidResults
from duelist.research.experiments import Experiment, Results, ThisProcess, run_experiment, sweep
from duelist.research.experiments.execution import play_missing
from duelist.simulation.environments import Hypercube
from tests.helpers import custom_parts as own_parts

HORIZON, RUNS, SEEDS = 80, 6, (2, 9)


def experiment(**changes):
    settings = {
        "policies": [sweep("MaxInP", over={"scale": [0.25, 1.0, 4.0]}), "VACDB:explore=widest", own_parts.Coin()],
        "environments": [sweep("Hypercube", over={"scale": [1.0, 2.0]}, dim=2)],
        "horizon": HORIZON,
        "runs": RUNS,
        "seeds": SEEDS,
        "runs_per_cell": 4,
        "points": 9,
        "name": "small",
    }
    return Experiment(**(settings | changes))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_experiment(experiment(), tmp_path_factory.mktemp("results") / "r")


POLICIES = {
    "MaxInP(scale=0.25)": dl.MaxInP(horizon=HORIZON, scale=0.25),
    "MaxInP(scale=1.0)": dl.MaxInP(horizon=HORIZON, scale=1.0),
    "MaxInP(scale=4.0)": dl.MaxInP(horizon=HORIZON, scale=4.0),
    "VACDB(explore='widest')": dl.VACDB(horizon=HORIZON, explore="widest"),
    "Coin": own_parts.Coin(),
}
WORLDS = {f"Hypercube(dim=2, scale={s})": Hypercube(dim=2, scale=s) for s in (1.0, 2.0)}


@pytest.fixture(scope="module")
def truth():
    """The same simulations by themselves: final regret of all runs, by environment, policy and kind."""
    found = {}
    for world, environment in WORLDS.items():
        runs = [dl.simulate(POLICIES, environment, HORIZON, RUNS, seed=seed) for seed in SEEDS]
        for policy in POLICIES:
            for kind in ("average", "weak", "strong"):
                found[world, policy, kind] = np.concatenate([r.final(policy, kind) for r in runs])
    return found


def test_everything_is_there(results):
    assert results.policies == list(POLICIES)
    assert results.environments == list(WORLDS)
    assert results.finished == results.planned == 5 * 2 * 2 * 2
    assert results.complete
    assert not results.failures
    assert len(results.seconds()) == results.planned
    assert repr(results) == "Results(small; 40 of 40 cells)"


def test_final_regret_is_that_of_the_simulations(results, truth):
    for (world, policy, kind), values in truth.items():
        finals = results.final(world, kind)[policy]
        np.testing.assert_array_equal(finals.values, values)
        assert finals.ids.tolist() == [[seed, run] for seed in SEEDS for run in range(RUNS)]


def test_comparisons_are_what_scipy_says(results, truth):
    world, base = "Hypercube(dim=2, scale=1.0)", "MaxInP(scale=0.25)"
    rows = {row.policy: row for row in results.compare(world)}
    assert [row.mean for row in results.compare(world)] == sorted(row.mean for row in rows.values())
    for policy in POLICIES:
        mine, theirs = truth[world, policy, "average"], truth[world, base, "average"]
        row = rows[policy]
        assert (row.mean, row.median, row.worst) == (mine.mean(), np.median(mine), mine.max())
        expected = stats.ttest_1samp(mine, 0.0).confidence_interval(0.95)
        assert (row.low, row.high) == pytest.approx(expected, rel=1e-9)
        if policy == base:
            assert (row.paired, np.isnan(row.difference)) == (0, True)
        else:
            expected = stats.ttest_rel(mine, theirs).confidence_interval(0.95)
            assert (row.difference_low, row.difference_high) == pytest.approx(expected, rel=1e-9)
            assert row.paired == 12


def test_the_reference_is_chosen(results, truth):
    world = "Hypercube(dim=2, scale=2.0)"
    rows = {row.policy: row for row in results.compare(world, "Coin", "weak")}
    expected = (truth[world, "MaxInP(scale=1.0)", "weak"] - truth[world, "Coin", "weak"]).mean()
    assert rows["MaxInP(scale=1.0)"].difference == pytest.approx(expected, rel=1e-12)


def test_the_best_setting_has_the_least_mean(results, truth):
    best = {(b.environment, b.policy): b for b in results.best()}
    assert set(best) == {(world, policy) for world in WORLDS for policy in ("MaxInP", "VACDB", "Coin")}
    for world in WORLDS:
        means = {p: truth[world, p, "average"].mean() for p in POLICIES if p.startswith("MaxInP")}
        found = best[world, "MaxInP"]
        assert found.label == min(means, key=means.get)
        assert found.mean == min(means.values())
        assert found.tried == 3
        assert found.settings["scale"] == float(found.label.partition("=")[2][:-1])
        for label in means:
            difference = truth[world, label, "average"] - truth[world, found.label, "average"]
            level = label != found.label and stats.ttest_1samp(difference, 0.0).confidence_interval(0.95)[0] <= 0
            assert (label in found.level_with) == level


def test_the_best_across_environments_weighs_them_alike(results, truth):
    scales = {w: np.mean([truth[w, p, "average"].mean() for p in POLICIES]) for w in WORLDS}
    scores = {
        p: np.mean([truth[w, p, "average"].mean() / scales[w] for w in WORLDS])
        for p in POLICIES
        if p.startswith("MaxInP")
    }
    found = next(b for b in results.best(across=True) if b.policy == "MaxInP")
    assert found.label == min(scores, key=scores.get)
    assert found.mean == pytest.approx(min(scores.values()), rel=1e-12)
    assert found.environment == "all environments"


@pytest.mark.parametrize("what", ["final", "curves"])
def test_frames_are_tidy_and_the_same(results, truth, what):
    pandas, polars = results.to_pandas(what), results.to_polars(what)
    assert list(pandas.columns) == polars.columns
    assert len(pandas) == len(polars) == 5 * 2 * 12 * (1 if what == "final" else 9)
    for name in pandas.columns:
        mine, theirs = pandas[name].to_numpy(), polars[name].to_numpy()
        if mine.dtype.kind == "f":
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert [None if v is np.nan or v is None else v for v in mine] == list(theirs)
    last = pandas[pandas["round"] == HORIZON]
    for (world, policy, kind), values in truth.items():
        mine = last[(last["environment"] == world) & (last["setting"] == policy)]
        np.testing.assert_array_equal(mine[kind].to_numpy(), values)
    assert set(pandas["environment_scale"]) == {1.0, 2.0}
    swept = pandas[pandas["policy"] == "MaxInP"]
    assert set(swept["policy_scale"]) == {0.25, 1.0, 4.0}
    assert pandas[pandas["policy"] == "Coin"]["policy_scale"].isna().all()


def test_rounds_of_curves_are_those_of_the_simulation(results):
    frame = results.to_pandas("curves")
    mine = frame[
        (frame["setting"] == "Coin") & (frame["environment_scale"] == 2.0) & (frame["seed"] == 9) & (frame["run"] == 5)
    ]
    runs = dl.simulate(own_parts.Coin(), WORLDS["Hypercube(dim=2, scale=2.0)"], HORIZON, RUNS, seed=9)
    np.testing.assert_array_equal(mine["average"], runs.regret("Coin")[5, mine["round"].to_numpy() - 1])


class Stops(ThisProcess):
    """An engine that is interrupted after so many cells."""

    def __init__(self, after):
        super().__init__()
        self.after = after
        self.seen = []

    def play(self, cells):
        for number, (cell, played) in enumerate(super().play(cells)):
            if number == self.after:
                raise KeyboardInterrupt
            self.seen.append(cell.key)
            yield cell, played


def test_interrupted_work_goes_on_and_nothing_is_played_twice(results, tmp_path):
    engines = [Stops(11), Stops(7), Stops(10_000)]
    for engine in engines[:2]:
        with pytest.raises(KeyboardInterrupt):
            run_experiment(experiment(), tmp_path, engine)
    partial = Results(tmp_path)
    assert partial.finished == 18
    assert not partial.complete
    whole = run_experiment(experiment(), tmp_path, engines[2])
    seen = [key for engine in engines for key in engine.seen]
    assert len(seen) == len(set(seen)) == 40
    for name, column in whole.columns("curves").items():
        np.testing.assert_array_equal(column, results.columns("curves")[name])


def test_a_partial_comparison_is_over_the_runs_that_both_have(tmp_path, truth):
    with pytest.raises(KeyboardInterrupt):
        run_experiment(
            experiment(), tmp_path, Stops(12)
        )  # all policies' first four runs of seed 2, and two policies' others
    world = "Hypercube(dim=2, scale=1.0)"
    rows = {row.policy: row for row in Results(tmp_path).compare(world)}
    assert [rows[p].runs for p in POLICIES] == [6, 6, 4, 4, 4]
    assert rows["Coin"].paired == 4
    expected = truth[world, "Coin", "average"][:4] - truth[world, "MaxInP(scale=0.25)", "average"][:4]
    assert rows["Coin"].difference == pytest.approx(expected.mean(), rel=1e-12)


def test_a_larger_experiment_keeps_the_cells_of_the_smaller(tmp_path):
    run_experiment(experiment(runs=4), tmp_path)
    engine = Stops(10_000)
    larger = run_experiment(experiment(runs=8), tmp_path, engine)
    assert len(engine.seen) == larger.planned // 2


def test_progress_is_of_the_whole_grid(tmp_path):
    seen = []
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment(), tmp_path, Stops(3), progress=lambda *told: seen.append(told))
    assert seen == [("cells", k, 40) for k in range(4)]
    seen.clear()
    run_experiment(experiment(), tmp_path, progress=lambda *told: seen.append(told))
    assert seen == [("cells", k, 40) for k in range(3, 41)]


def test_a_cell_that_fails_is_reported_with_its_settings_and_stops_nothing(tmp_path):
    mixed = experiment(policies=["UniformPair", own_parts.Broken()])
    results = run_experiment(mixed, tmp_path)
    assert (results.finished, results.planned, len(results.failures)) == (8, 16, 8)
    failed = results.failures[0]
    assert failed["error"] == "RuntimeError: no idea what to ask"
    assert failed["settings"]["policy"] == "tests.helpers.custom_parts:Broken"
    assert failed["settings"]["environment"]["environment"] == "Hypercube"
    assert [row.policy for row in results.compare("Hypercube(dim=2, scale=1.0)")] == ["UniformPair"]


def test_cells_that_failed_are_tried_again(tmp_path):
    from duelist.research.experiments.plan import ExperimentPlan
    from duelist.research.experiments.store import Store

    store, engine = Store(tmp_path), Stops(10_000)
    cells = [entry.cell for entry in ExperimentPlan.of(experiment(policies=[own_parts.Broken()])).entries()]
    assert play_missing(cells, store, engine) == (0, 0, 8)
    assert play_missing(cells, store, engine) == (0, 0, 8)
    assert len(engine.seen) == 16


def test_results_of_other_code_are_refused_and_kept(tmp_path):
    run_experiment(experiment(), tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "code": "0123", "duelist": "9.9"}))
    before = sorted(p.name for p in tmp_path.rglob("*"))
    with pytest.raises(
        InvalidResults, match=r"duelist 9\.9 \(0123\).*another folder, or compute everything again with recompute=True"
    ):
        run_experiment(experiment(), tmp_path)
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    assert Results(tmp_path).finished == 40  # they can still be read
    assert run_experiment(experiment(), tmp_path, recompute=True).complete


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    inner = []

    def again(*_):
        if not inner:
            inner.append(1)
            with pytest.raises(InvalidResults, match="Another run is writing"):
                run_experiment(experiment(), tmp_path)

    assert run_experiment(experiment(), tmp_path, progress=again).complete
    assert inner


@pytest.mark.parametrize("text", ["{}", "not json", '{"cells": 3}'])
def test_a_damaged_plan_is_named(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InvalidResults, match=r"plan\.json is damaged"):
        Results(tmp_path)


def test_what_is_not_there_is_named(results, tmp_path):
    with pytest.raises(InvalidResults, match="holds no results"):
        Results(tmp_path)
    with pytest.raises(dl.InvalidInput, match="environment is 'Moon'"):
        results.final("Moon")
    with pytest.raises(dl.InvalidInput, match="reference is 'Me'"):
        results.compare("Hypercube(dim=2, scale=1.0)", "Me")
    with pytest.raises(dl.InvalidInput, match="what is 'all'"):
        results.to_pandas("all")
