"""Duels that are out: `ask` counts them as if they were answered, and nothing else changes."""

import json

import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.policies import POLICIES
from tests.helpers.policies.reference_play import Game, assert_same_estimates, same_duel, twins
from tests.helpers.policies.worlds import World
from tests.helpers.policy_state import pending

DIM = 3
ESTIMATORS = ("exact", "online")
EVERY = pytest.mark.parametrize(("name", "estimator"), [(n, e) for n in POLICIES for e in ESTIMATORS])
WITHOUT_WIDTHS = ("UniformPair", "GreedyUniform")
DETERMINISTIC = [name for name, cls in POLICIES.items() if not cls().make_rule().is_randomized]


def make(name, estimator="exact", **settings):
    return POLICIES[name](estimator=estimator, random_state=0, **settings)


def taught(name, estimator="exact", rounds=4, **settings):
    """A policy that has learned something and waits for nothing."""
    policy, rng = make(name, estimator, **settings), np.random.default_rng(81)
    for _ in range(rounds):
        arms = rng.normal(size=(6, DIM))
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < 1.0 / (1.0 + np.exp(-(arms[duel.first] - arms[duel.second]).sum()))))
    return policy


def restored(policy):
    return type(policy).restore(json.loads(json.dumps(policy.snapshot())))


def out_of(policy):
    """What is out, as `suggest` takes it."""
    return [(duel.arms, duel.layer, duel.share) for duel in pending(policy).values()]


def pair_of(duel):
    return duel.first, duel.second


# -- different pairs ---------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("n_arms", [32, 100])
def test_fifty_raters_get_many_different_pairs(n_arms, name, estimator):
    arms = np.random.default_rng([n_arms, 82]).normal(size=(n_arms, 8))
    policy = make(name, estimator)
    duels = [policy.ask(arms) for _ in range(50)]
    assert len({frozenset(pair_of(duel)) for duel in duels}) >= 8  # one a feature: a known direction is narrow
    assert np.linalg.matrix_rank([arms[duel.first] - arms[duel.second] for duel in duels]) == 8


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_with_nothing_out_the_same_is_asked_again(name):
    arms, policy = np.random.default_rng(83).normal(size=(40, DIM)), taught(name, horizon=100)
    asked = set()
    for _ in range(5):
        duel = policy.ask(arms)
        asked.add(pair_of(duel))
        policy.forget(duel)
    assert len(asked) == 1


# -- the rule ----------------------------------------------------------------------------


@EVERY
def test_what_is_asked_beside_duels_that_are_out_is_what_consider_names(name, estimator):
    rng, policy = np.random.default_rng(84), taught(name, estimator)
    beside = 0
    for t in range(40):
        arms = rng.normal(size=(7, DIM))
        expected = policy.suggest(arms, out_of(policy))
        alone = policy.suggest(arms)
        duel = policy.ask(arms)
        given = pending(policy)[duel.id]
        assert (*pair_of(duel), given.layer) == (expected.first, expected.second, expected.layer), f"round {t}"
        assert given.share == pytest.approx(expected.share, rel=1e-9)
        beside += expected != alone  # another pair, or the same with another share
        while len(policy.pending_) > 12:  # late, and out of order
            policy.tell(int(rng.choice(policy.pending_)), float(rng.random() < 0.5), float(rng.choice([0.5, 1.0, 2.0])))
    assert beside > 0 or name in WITHOUT_WIDTHS


@EVERY
def test_a_duel_that_is_given_up_no_longer_counts(name, estimator):
    arms = np.random.default_rng(85).normal(size=(30, DIM))
    policy = taught(name, estimator, horizon=100)
    kept = policy.ask(arms)
    lost = [policy.ask(arms) for _ in range(12)]
    for duel in lost:
        policy.forget(duel)
    (only,) = out_of(policy)
    expected, duel = policy.suggest(arms, [only]), policy.ask(arms)
    assert pair_of(duel) == pair_of(expected)
    for number in (kept, duel):
        policy.forget(number)
    expected = policy.suggest(arms)
    assert pair_of(policy.ask(arms)) == pair_of(expected)


@EVERY
def test_arms_that_met_themselves_are_nothing_to_wait_for(name, estimator):
    rng = np.random.default_rng(86)
    policy = taught(name, estimator, horizon=100)
    for _ in range(3):
        policy.ask(np.ones((1, DIM)))
    for _ in range(10):
        arms = rng.normal(size=(9, DIM))
        expected, duel = policy.suggest(arms), policy.ask(arms)
        assert pair_of(duel) == pair_of(expected)
        policy.tell(duel, float(rng.random() < 0.5))


@EVERY
def test_asking_beside_others_leaves_what_is_known_alone(name, estimator):
    rng, policy = np.random.default_rng(87), taught(name, estimator)
    theta, precision = policy.theta_, policy.precision_
    for _ in range(20):
        policy.ask(rng.normal(size=(6, DIM)))
    np.testing.assert_array_equal(policy.theta_, theta)
    np.testing.assert_array_equal(policy.precision_, precision)


# -- snapshots ---------------------------------------------------------------------------


@EVERY
def test_a_copy_with_duels_out_goes_on_alike(name, estimator):
    rng = np.random.default_rng(88)
    policy, waiting = taught(name, estimator), []
    for t in range(24):
        arms = rng.normal(size=(6, DIM))
        copy = restored(policy)
        assert copy.pending_ == policy.pending_
        duel = policy.ask(arms)
        assert copy.ask(arms) == duel
        assert copy.snapshot() == policy.snapshot()
        waiting.append(duel)
        if t % 3 == 2:
            told, outcome = waiting.pop(int(rng.integers(len(waiting)))), float(rng.random() < 0.5)
            for p in (policy, copy):
                p.tell(told, outcome)
            assert copy.snapshot() == policy.snapshot()
            policy = copy
    assert len(policy.pending_) == 16


# -- batches -----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_batch_is_decided_beside_what_is_out(name, estimator):
    rng, policy = np.random.default_rng(89), taught(name, estimator)
    shown = rng.normal(size=(30, 7, DIM))
    for arms in shown[:20]:
        policy.ask(arms)
    expected = [policy.suggest(arms, out_of(policy)) for arms in shown]
    alone = [policy.suggest(arms) for arms in shown]
    batch = policy.ask_batch(shown)
    assert [pair_of(duel) for duel in batch.duels] == [pair_of(choice) for choice in expected]
    assert expected != alone
    after = policy.suggest(shown[0], out_of(policy))  # all of the batch is out now
    assert pair_of(policy.ask(shown[0])) == pair_of(after)


# -- the reference -----------------------------------------------------------------------


@EVERY
def test_the_reference_agrees_when_every_vote_is_late(name, estimator):
    policy, reference = twins(name, 3, estimator=estimator, horizon=200)
    world, game, waiting = World(9, True, dim=3, n_arms=(9, 9), strength=1.5), Game(), []
    for _ in range(50):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game, distinct=True)
        waiting.append((duel, same, *world.any_vote(arms, game.duels[-1])))
        if len(waiting) > 10:
            told, alike, outcome, weight = waiting.pop(0)
            policy.tell(told, outcome, weight)
            reference.tell(alike, outcome, weight)
    assert_same_estimates(policy, reference)
    assert len(set(game.duels)) > 3


def regret_with_late_votes(run, count_pending):
    """Of 400 rounds whose votes come 50 rounds late: asked and told, or considered as if nothing were out."""
    rng = np.random.default_rng([run, 90])
    arms, theta = rng.normal(size=(30, 5)), rng.normal(size=5)
    u, policy = arms @ theta, dl.LocalPairUCB(horizon=400, random_state=run)
    policy.initialize(arms)
    regret, waiting = 0.0, []
    for _ in range(400):
        duel = policy.ask(arms, distinct=False) if count_pending else policy.suggest(arms, distinct=False)
        regret += u.max() - 0.5 * (u[duel.first] + u[duel.second])
        waiting.append(duel)
        if len(waiting) > 50:
            told = waiting.pop(0)
            won = float(rng.random() < 1.0 / (1.0 + np.exp(u[told.second] - u[told.first])))
            if count_pending:
                policy.tell(told, won)
            else:
                policy.learn(arms[told.first] - arms[told.second], won)
    return regret


def test_late_votes_cost_less_where_what_is_out_counts():
    gain = [regret_with_late_votes(run, False) - regret_with_late_votes(run, True) for run in range(16)]
    assert stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue < 0.01
