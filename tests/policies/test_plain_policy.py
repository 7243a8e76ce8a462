"""A policy in plain Python: the example runs, and a simulation treats it like any other."""

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.simulation.environments import FixedArms, Hypercube, PreferenceMatrix, RandomArms
from duelist.simulation.simulate import policy_seed
from duelist.testing.policies import THETA, draw_arms

EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_policy.py"
EpsilonGreedy = runpy.run_path(str(EXAMPLE))["EpsilonGreedy"]
RUNS, HORIZON, SEED = 3, 20, 5
WORLDS: dict[str, Any] = {
    "fixed": FixedArms(draw_arms(1, least=6)[0], theta=THETA),
    "a theta a run": Hypercube(dim=3),
    "new arms every round": RandomArms(dim=3, n_arms=(1, 6)),
    "a table": PreferenceMatrix([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]]),
}


class Recorder(dl.Policy):
    """Plays the first arm against a random one, and writes down all it sees under its random state."""

    def __init__(self, book, random_state=None):
        self.book, self.random_state = book, random_state
        self._rng = np.random.default_rng(random_state)
        book[random_state] = {"arms": [], "duels": [], "told": []}

    def ask(self, arms):
        duel = dl.Duel(0, int(self._rng.integers(len(arms))), id=len(self.book[self.random_state]["duels"]))
        self.book[self.random_state]["arms"].append(arms.copy())
        self.book[self.random_state]["duels"].append(duel)
        return duel

    def tell(self, duel, outcome, weight=1.0):
        self.book[self.random_state]["told"].append((duel, outcome, weight))


def simulated(policies, world="fixed", runs=RUNS, seed=SEED):
    return dl.simulate(policies, WORLDS[world], horizon=HORIZON, runs=runs, seed=seed)


@pytest.fixture(params=WORLDS)
def world(request):
    return request.param


def test_the_example_runs_and_prints_a_summary():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=300, check=True)
    assert "VACDB" in done.stdout
    assert "EpsilonGreedy" in done.stdout
    assert done.stderr == ""


def test_the_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) <= 70


def test_the_example_learns():
    runs = dl.simulate([EpsilonGreedy(), dl.UniformPair()], Hypercube(dim=3), horizon=150, runs=8, seed=0)
    # Run by run, in the same worlds: the learner does better in every one of them.
    assert (runs.final("EpsilonGreedy") < runs.final("UniformPair")).all()


def test_the_example_asks_for_each_outcome_once():
    policy = EpsilonGreedy(random_state=0)
    duel = policy.ask(draw_arms(1)[0])
    policy.tell(duel, 1.0)
    with pytest.raises(dl.UnknownDuel, match=r"Duel 0 .*Tell each duel once"):
        policy.tell(duel, 1.0)


def test_the_example_says_what_it_is():
    assert repr(EpsilonGreedy()) == "EpsilonGreedy()"
    assert repr(EpsilonGreedy(epsilon=0.3, random_state=4)) == "EpsilonGreedy(epsilon=0.3, random_state=4)"


def test_every_run_has_a_copy_and_a_seed_of_its_own(world):
    book = {}
    simulated(Recorder(book, random_state=0), world)
    seeds = [policy_seed(SEED, run) for run in range(RUNS)]
    assert len(set(seeds)) == RUNS
    assert set(book) == {0, *seeds}
    assert book[0] == {"arms": [], "duels": [], "told": []}
    for seed in seeds:
        assert len(book[seed]["arms"]) == HORIZON


def test_what_it_plays_is_what_is_written_down(world):
    book = {}
    runs = simulated(Recorder(book), world)
    for run in range(RUNS):
        seen = book[policy_seed(SEED, run)]
        firsts, seconds = (positions[run] for positions in runs.duels("Recorder"))
        assert [tuple(duel) for duel in seen["duels"]] == list(zip(firsts, seconds, strict=True))
        assert seen["told"] == [
            (duel, float(outcome), 1.0)
            for duel, outcome in zip(seen["duels"], runs.outcomes("Recorder")[run], strict=True)
        ]


def test_two_policies_meet_the_same_worlds(world):
    one, other = {}, {}
    simulated({"one": Recorder(one), "learner": EpsilonGreedy(), "other": Recorder(other)}, world)
    for run in range(RUNS):
        seed = policy_seed(SEED, run)
        for left, right in zip(one[seed]["arms"], other[seed]["arms"], strict=True):
            np.testing.assert_array_equal(left, right)
        assert one[seed]["told"] == other[seed]["told"]


class FirstAgainstLast(dl.Policy):
    """Always the same two: what happens depends on the world alone."""

    def ask(self, arms):
        return dl.Duel(0, len(arms) - 1)

    def tell(self, duel, outcome, weight=1.0):
        pass


class PlainTwin(dl.Policy):
    """A compiled policy seen through `ask` and `tell` alone."""

    def __init__(self, twin, random_state=None):
        self.twin, self.random_state = twin, random_state
        self._live = twin.clone(random_state)

    def ask(self, arms):
        return self._live.ask(arms, distinct=False)

    def tell(self, duel, outcome, weight=1.0):
        self._live.tell(duel, outcome, weight)


@pytest.mark.parametrize("name", dl.policies.POLICIES)
def test_plain_and_compiled_play_meet_the_same_worlds(name, world):
    twin = dl.make_policy(name, horizon=HORIZON)
    runs = simulated({"compiled": twin, "plain": PlainTwin(twin)}, world)
    for column in ("first", "second", "outcome", "first_gap", "second_gap"):
        np.testing.assert_array_equal(getattr(runs.log("plain"), column), getattr(runs.log("compiled"), column))


def test_a_run_does_not_depend_on_the_others(world):
    alone = simulated(EpsilonGreedy(), world, runs=1)
    among = simulated([dl.UniformPair(), EpsilonGreedy()], world, runs=RUNS)
    for kept, part in zip(among.log("EpsilonGreedy"), alone.log("EpsilonGreedy"), strict=True):
        np.testing.assert_array_equal(kept[:1], part)


def test_other_seeds_are_other_worlds():
    one, other = (simulated(FirstAgainstLast(), "new arms every round", seed=seed) for seed in (0, 1))
    assert (one.regret("FirstAgainstLast") != other.regret("FirstAgainstLast")).all()


def test_runs_are_different_worlds():
    regret = simulated(FirstAgainstLast(), "a theta a run").regret("FirstAgainstLast")
    assert len(np.unique(regret[:, 0])) == RUNS


def test_a_pair_will_do_for_a_duel():
    class Pairs(FirstAgainstLast):
        def ask(self, arms):
            return np.int64(0), len(arms) - 1

    runs = simulated([Pairs(), FirstAgainstLast()])
    np.testing.assert_array_equal(runs.regret("Pairs"), runs.regret("FirstAgainstLast"))


def test_settings_may_be_arrays():
    class Knows(FirstAgainstLast):
        def __init__(self, theta=None):
            self.theta = theta

        def ask(self, arms):
            return dl.Duel(int(np.argmax(arms @ self.theta)), 0)

    runs = simulated(Knows(theta=THETA))
    assert (runs.regret("Knows", kind="weak") == 0.0).all()


def test_scribbling_on_the_arms_does_not_change_the_world():
    book = {}

    class Scribbler(Recorder):
        def ask(self, arms):
            duel = super().ask(arms)
            if arms.flags.writeable:
                arms[:] = 0.0
            return duel

    simulated({"scribbler": Scribbler(book), "other": FirstAgainstLast()})
    for run in range(RUNS):
        for arms in book[policy_seed(SEED, run)]["arms"]:
            np.testing.assert_array_equal(arms, WORLDS["fixed"].arms)
