"""Votes that come late, and arms that do: simulated as they are lived."""

from typing import Any, ClassVar

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.counting import COUNTING_POLICIES
from duelist.simulation.environments import (
    DelayedVotes,
    FixedArms,
    FlippedVotes,
    Hypercube,
    LateArms,
    Noiseless,
    PreferenceMatrix,
    RandomArms,
    RawFeatures,
)
from duelist.simulation.environments.registry import make_environment
from duelist.simulation.evaluation import evaluate
from duelist.simulation.simulate import policy_seed, worlds_of

ROUNDS, RUNS, SEED, DELAY = 90, 2, 5, 7
FEATURED = [
    pytest.param(cls, {"estimator": e}, id=f"{name}-{e}") for name, cls in POLICIES.items() for e in ("exact", "online")
]
COUNTING = [pytest.param(cls, {"horizon": ROUNDS}, id=name) for name, cls in COUNTING_POLICIES.items()]


def lived(kind, settings, environment, delay):
    """The duels of all runs in a simulation, and of policies that are asked and told by hand, with the same outcomes."""
    rounds = worlds_of(environment, SEED, range(RUNS)).next_rounds(ROUNDS)
    simulated = dl.simulate({"p": kind(**settings)}, environment, ROUNDS, RUNS, SEED, tell_horizon=False)
    duels = []
    for run in range(RUNS):
        policy, out = kind(**settings, random_state=policy_seed(SEED, run)), []
        world = run if len(rounds.arms) > 1 else 0
        for t in range(ROUNDS):
            at = t if rounds.arms.shape[1] > 1 else 0
            arms = rounds.arms[world, at, : rounds.n_arms[world, at]]
            duel = policy.ask(len(arms) if kind in COUNTING_POLICIES.values() else arms, distinct=False)
            duels.append((duel.first, duel.second))
            out.append((duel, float(simulated.outcomes("p")[run, t])))
            if len(out) > delay:
                policy.tell(*out.pop(0))
    return np.stack(simulated.duels("p"), axis=-1), np.reshape(duels, (RUNS, ROUNDS, 2))


@pytest.mark.parametrize(("kind", "settings"), [*FEATURED, *COUNTING])
def test_late_votes_are_simulated_as_they_are_lived(kind, settings):
    simulated, by_hand = lived(kind, settings, DelayedVotes(Hypercube(dim=3), delay=DELAY), DELAY)
    np.testing.assert_array_equal(simulated, by_hand)


@pytest.mark.parametrize(("kind", "settings"), [*FEATURED, *COUNTING])
def test_late_arms_are_simulated_as_they_are_lived(kind, settings):
    simulated, by_hand = lived(kind, settings, LateArms(Hypercube(dim=3), every=10), 0)
    np.testing.assert_array_equal(simulated, by_hand)
    assert simulated[:, :10].max() < 4 <= simulated[:, 40:].max()


@pytest.mark.parametrize("kind", [dl.LocalPairUCB, COUNTING_POLICIES["RUCB"]])
def test_both_at_once(kind):
    environment = LateArms(DelayedVotes(FlippedVotes(RawFeatures("arm effects"), first=20), delay=DELAY), every=5)
    simulated, by_hand = lived(kind, {}, environment, DELAY)
    np.testing.assert_array_equal(simulated, by_hand)


class Plain(dl.Policy):
    """Shows the arms in turn, and writes down how many it had shown when it heard of which."""

    made: ClassVar[list["Plain"]] = []

    def __init__(self):
        self.asked, self.heard = 0, []

    def ask(self, arms):
        self.asked += 1
        return dl.Duel(self.asked % len(arms), (self.asked + 1) % len(arms), self.asked)

    def tell(self, duel, outcome, weight=1.0):
        self.heard.append((self.asked, duel.id))

    def clone(self, random_state):
        self.made.append(Plain())
        return self.made[-1]


@pytest.mark.parametrize("delay", [0, 3, 2000])
def test_a_vote_is_told_when_so_many_more_rounds_were_asked(delay, monkeypatch):
    """Over the ends of stretches, too, which are a thousand rounds long."""
    monkeypatch.setattr(Plain, "made", [])
    dl.simulate(Plain(), DelayedVotes(Hypercube(dim=2), delay=delay), 2100, runs=2, seed=0)
    for policy in Plain.made:
        assert policy.heard == [(number + delay, number) for number in range(1, 2101 - delay)]


def test_no_delay_changes_no_bit():
    one, other = (
        dl.simulate(dl.VACDB(), world, 1200, runs=2, seed=1)
        for world in (Hypercube(3), DelayedVotes(Hypercube(3), delay=0))
    )
    for a, b in zip(one.log("VACDB"), other.log("VACDB"), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("keep", ["duels", "curves"])
@pytest.mark.parametrize("threads", [1, 2])
def test_stretches_and_threads_do_not_matter(keep, threads):
    """1,200 rounds are two stretches and a bit; the runs are cut in two and joined."""
    environment = DelayedVotes(LateArms(RawFeatures("correlated"), every=70), delay=40)
    settings = {"horizon": 1200, "seed": 2, "keep": keep}
    whole = dl.simulate(dl.LocalPairUCB(), environment, runs=4, threads=1, **settings)
    parts = [
        dl.simulate(dl.LocalPairUCB(), environment, runs=r, threads=threads, **settings)
        for r in (range(1), range(1, 4))
    ]
    np.testing.assert_array_equal(dl.Runs.join(parts).final("LocalPairUCB"), whole.final("LocalPairUCB"))


def test_regret_is_against_the_best_arm_on_the_table():
    arms = np.array([[0.0], [1.0], [2.0], [5.0]])
    runs = dl.simulate(dl.UniformPair(), LateArms(FixedArms(arms, theta=[1.0]), every=20), 60, runs=3, seed=0)
    first, second = runs.duels("UniformPair")
    best = np.repeat([1.0, 2.0, 5.0], 20)
    expected = best - 0.5 * (arms[first, 0] + arms[second, 0])
    np.testing.assert_allclose(runs.regret("UniformPair", cumulative=False), expected, atol=1e-12)


def test_effects_of_arms_go_with_them():
    """Utilities that features do not tell are those of the world, also where arms come late."""
    worlds, late = (
        worlds_of(e, 3, range(2)) for e in (RawFeatures("arm effects"), LateArms(RawFeatures("arm effects")))
    )
    np.testing.assert_array_equal(late.next_rounds(5).utilities, np.repeat(worlds.next_rounds(5).utilities, 5, axis=1))
    assert worlds.fixed
    assert not late.fixed


@pytest.mark.parametrize(
    ("n_arms", "every", "start", "rounds", "expected"),
    [(4, 2, 0, 6, [2, 2, 3, 3, 4, 4]), (5, 1, 0, 4, [3, 4, 5, 5]), (1, 3, 0, 2, [1, 1]), (6, 10, 9, 3, [3, 4, 4])],
)
def test_half_of_the_arms_then_one_more_at_a_time(n_arms, every, start, rounds, expected):
    assert LateArms(Hypercube(2), every=every).available_arms(n_arms, start, rounds).tolist() == expected


def test_specs():
    found: Any = make_environment("LateArms:every=5:DelayedVotes:delay=3:FlippedVotes:first=2:Hypercube:dim=2")
    assert found.every == 5
    assert found.truth().delay == 3
    assert found.truth().flipped_first == 2
    delayed: Any = make_environment("DelayedVotes")
    assert delayed.delay == 50
    assert make_environment("delayed-votes:Noiseless:Hypercube:dim=4").dim == 4


def test_what_cannot_be_is_refused_in_words():
    with pytest.raises(dl.InvalidInput, match="the whole delay"):
        DelayedVotes(FlippedVotes(DelayedVotes(Hypercube(2))))
    with pytest.raises(dl.InvalidInput, match="come late there already"):
        LateArms(Noiseless(LateArms(Hypercube(2))))
    with pytest.raises(dl.InvalidInput, match="delay is -1"):
        DelayedVotes(Hypercube(2), delay=-1)
    with pytest.raises(dl.InvalidInput, match="every is 0"):
        LateArms(Hypercube(2), every=0)
    with pytest.raises(dl.InvalidInput, match="not an environment"):
        DelayedVotes("Hypercube")
    with pytest.raises(dl.InvalidInput, match="new arms in every round"):
        LateArms(RandomArms(dim=2))


@pytest.mark.parametrize("goal", ["best", "rank", "learn"])
@pytest.mark.parametrize("environment", [DelayedVotes(Hypercube(2), delay=3), Noiseless(LateArms(Hypercube(2)))])
def test_what_was_to_be_found_by_when_is_not_judged(environment, goal):
    runs = dl.simulate(dl.UniformPair(), environment, 20, runs=2, distinct=True)
    with pytest.raises(dl.InvalidInput, match="votes or arms come late"):
        evaluate(runs, environment, goal)


def test_a_table_of_chances_is_played_by_anybody_while_arms_are_late():
    """A policy in plain Python is shown the utilities of the arms on the table, and the table of chances has more."""
    chances = np.array([[0.5, 0.6, 0.7, 0.8], [0.4, 0.5, 0.6, 0.7], [0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5]])
    late = LateArms(PreferenceMatrix(chances), every=3)
    plain = dl.simulate({"p": LastTwo()}, late, 10, 2, seed=0)
    np.testing.assert_array_equal(np.stack(plain.duels("p"), axis=-1).max(axis=(0, 2)), [1] * 3 + [2] * 3 + [3] * 4)


class LastTwo(dl.Policy):
    """The last two arms on the table."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def ask(self, arms):
        return dl.Duel(len(arms) - 2, len(arms) - 1, 0)

    def tell(self, duel, outcome, weight=1.0):
        pass


def test_votes_that_are_flipped_twice_are_noticed_through_what_is_between():
    flipped = FlippedVotes(Hypercube(dim=2), share=0.3)
    for between in (DelayedVotes(flipped, delay=5), Noiseless(flipped), LateArms(flipped)):
        with pytest.raises(dl.InvalidInput, match="flipped twice"):
            FlippedVotes(between, first=4)
