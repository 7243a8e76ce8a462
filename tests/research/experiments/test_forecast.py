"""How long it will take: from what is finished, else from short trials, for whatever engine."""

import pytest

from duelist.research.experiments import Experiment, LocalProcesses, ThisProcess, run_experiment
from duelist.research.experiments.forecast import Forecast, PolicyForecast, forecast, spoken_time
from duelist.simulation.environments import Hypercube
from duelist.simulation.simulate import usable_cores
from tests.helpers import custom_parts as own_parts

SLEEP = 0.002


def experiment(runs=6, horizon=100):
    return Experiment(
        [own_parts.Coin(seconds=SLEEP)], [Hypercube(dim=2)], horizon, runs=runs, runs_per_cell=2, points=5
    )


def test_a_trial_finds_what_a_round_takes(tmp_path):
    """A policy that sleeps: what it costs is known. Sleeps are never shorter than asked for, so the forecast is not below."""
    expected = forecast(experiment(horizon=400), tmp_path)
    assert expected.seconds >= 6 * 400 * SLEEP
    assert (expected.cells, expected.finished) == (3, 0)
    assert not list(tmp_path.iterdir())


def test_what_is_finished_tells_best(tmp_path):
    results = run_experiment(experiment(), tmp_path)
    a_run = sum(results.seconds().values()) / 6
    more = forecast(experiment(runs=10), tmp_path, trial_seconds=0.0)
    assert (more.cells, more.finished) == (5, 3)
    assert more.seconds == pytest.approx(4 * a_run, rel=1e-9)
    assert forecast(experiment(), tmp_path).seconds == 0.0


def test_a_policy_that_fails_costs_nothing(tmp_path):
    broken = Experiment([own_parts.Broken()], [Hypercube(dim=2)], 1000, runs=1000)
    assert forecast(broken, tmp_path).seconds == 0.0


def test_the_time_is_that_of_the_engine():
    expected = Forecast((PolicyForecast("p", "e", 4, 0, 7200.0),), 12.4)
    told = expected.sentence(LocalProcesses(4))
    assert told == (
        "about 30 min on 4 processes on this machine (about 2 h of work for one core), about 12 MB of results"
    )
    assert spoken_time(7200.0 / usable_cores()) in expected.sentence(ThisProcess())
