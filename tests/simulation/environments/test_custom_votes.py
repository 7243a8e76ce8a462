"""Outcome models and utilities of your own, in Python."""

from dataclasses import dataclass

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.model.links import LOGISTIC, Link
from duelist.simulation.environments import CustomVotes, DelayedVotes, FixedArms, FlippedVotes, Hypercube
from duelist.simulation.evaluation import check_goal
from duelist.simulation.run_log import curves_of

POLICIES = ["VACDB", "RUCB", "MaxInP"]


def davidson(gap, t):
    win, lose, tie = np.exp(gap / 2), np.exp(-gap / 2), 1.0
    return win / (win + lose + tie), tie / (win + lose + tie)


@pytest.mark.parametrize(
    "wrap", [lambda world: world, lambda world: DelayedVotes(FlippedVotes(world, 4, 0.2), delay=3)]
)
def test_the_logistic_link_in_python_draws_the_votes_of_the_engine(wrap):
    world = Hypercube(dim=2)
    there = dl.simulate(POLICIES, wrap(world), horizon=30, runs=2)
    here = dl.simulate(POLICIES, wrap(CustomVotes(world, LOGISTIC)), horizon=30, runs=2)
    for name in POLICIES:
        np.testing.assert_array_equal(here.duels(name), there.duels(name))
        np.testing.assert_array_equal(here.outcomes(name), there.outcomes(name))


def test_curves_are_sums_of_the_same_votes():
    world = CustomVotes(Hypercube(dim=2), LOGISTIC)
    log = dl.simulate("MaxInP", Hypercube(dim=2), horizon=30, runs=2).log("MaxInP")
    there, here = curves_of(log, Hypercube(dim=2)), curves_of(log, world)
    np.testing.assert_allclose(here.variance, there.variance)
    np.testing.assert_array_equal(here.average, there.average)


@dataclass(frozen=True, slots=True)
class Cauchit(Link):
    """A link of one's own."""

    def mean(self, v):
        return 0.5 + np.arctan(v) / np.pi


def test_a_link_object_decides():
    world = CustomVotes(FixedArms([[1.0], [0.0]], theta=[1.0]), Cauchit("cauchit", "mu(v) = 1/2 + arctan(v) / pi"))
    win, tie = world.vote_chances(np.array([1.0]), np.array([1]))
    assert (win[0], tie[0]) == (pytest.approx(0.75), 0.0)


def test_ties_are_told_as_half_a_win_and_recorded():
    told = []

    class Listener(dl.Policy):
        def ask(self, arms):
            return dl.Duel(0, 1)

        def tell(self, duel, outcome, weight=1.0):
            told.append(outcome)

    world = CustomVotes(FixedArms([[1.0], [0.0]], theta=[1.0]), davidson)
    runs = dl.simulate(Listener(), world, horizon=2000, runs=1)
    assert runs.outcomes("Listener")[0].tolist() == told
    win, tie = davidson(1.0, 1)
    for share, value in ((win, 1.0), (tie, 0.5)):
        observed = told.count(value) / 2000
        assert abs(observed - share) < 4.5 * np.sqrt(share * (1 - share) / 2000)  # fails with probability 7e-6


def test_utilities_may_drift_and_be_nonlinear():
    class Seasons(FixedArms):
        def utilities(self, world, arms, t):
            linear = arms @ world.theta
            return np.tanh(linear) * np.where(t <= 10, 1.0, -1.0)[:, None]

    class First(dl.Policy):
        def ask(self, arms):
            return dl.Duel(0, 0)

        def tell(self, duel, outcome, weight=1.0):
            pass

    world = Seasons([[1.0], [0.0]], theta=[1.0])
    runs = dl.simulate([First(), "UniformPair"], world, horizon=20, runs=2)
    per_round = np.diff(runs.regret("First", kind="weak"), axis=1, prepend=0.0)
    np.testing.assert_allclose(per_round[0], [0.0] * 10 + [np.tanh(1.0)] * 10)
    assert dl.simulate("VACDB", DelayedVotes(world, delay=2), horizon=20, runs=2).final("VACDB").shape == (2,)


def test_changing_arms_may_have_nonlinear_utilities():
    class Curved(dl.environments.RandomArms):
        def utilities(self, world, arms, t):
            return np.square(arms).sum(axis=2)

    runs = dl.simulate("VACDB", Curved(dim=2, n_arms=3, kind="gaussian"), horizon=15, runs=2)
    assert (runs.final("VACDB") > 0.0).all()


def test_probabilities_that_are_none_are_rejected_when_the_world_is_made():
    with pytest.raises(InvalidInput, match="chances returned a win probability of -1"):
        CustomVotes(Hypercube(dim=2), lambda gap, t: gap)
    with pytest.raises(InvalidInput, match="chances is 3"):
        CustomVotes(Hypercube(dim=2), 3)


@pytest.mark.parametrize("goal", ["best", "rank", "learn"])
def test_goals_that_cannot_be_evaluated_say_so(goal):
    with pytest.raises(InvalidInput, match="outcome model or utilities in Python"):
        check_goal(CustomVotes(Hypercube(dim=2), LOGISTIC), goal)
