"""Policies told from a log: pending duels, seeds, rounds, places and errors of `suggest` and `learn`."""

import math

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.policies import POLICIES
from duelist.reference.fit import effective_horizon
from duelist.reference.links import link_mean, link_slope
from tests.helpers.policy_state import known

DIM = 3
THETA = np.array([1.5, -1.0, 0.5])
DICE = {"CoLSTIM", "SupCoLSTIM", "ThompsonPair", "UniformPair", "GreedyUniform", "DRTS", "RewardDesign"}
WIDTH_RULES = [name for name in POLICIES if name not in DICE]


def taught(policy, rounds, seed=0, weight=1.0):
    """A policy that has learned from random duels without being asked; the differences it learned."""
    rng = np.random.default_rng([seed, 8])
    policy.initialize(rng.normal(size=(5, DIM)))
    learned = []
    for _ in range(rounds):
        z = rng.normal(size=DIM)
        policy.learn(z, float(rng.random() < link_mean("logistic", z @ THETA)), weight)
        learned.append(z)
    return policy, learned


def out(arms, choice):
    """A chosen duel as `pending` wants it."""
    return arms[[choice.first, choice.second]], choice.layer, choice.share


def shortfall(values, first, second):
    """How far a pair stays below the best of a symmetric table of values."""
    return float(values.max() - values[first, second])


def widths(arms, precision):
    gaps = arms[:, None] - arms[None]
    return np.sqrt(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(precision), gaps), 0.0))


# -- pending duels -----------------------------------------------------------------------

LEADERS = ("GreedyChallenger", "MaxMinLCB")
"""Their first arm is the same until something is learned, and the second goes round."""


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", WIDTH_RULES)
def test_raters_are_not_sent_to_the_pair_that_is_out(name, estimator):
    # Four arms nobody knows anything about: any pair is as good as any other, until one is out.
    arms = np.eye(4)
    policy = dl.make_policy(name, horizon=1000, estimator=estimator)
    policy.initialize(arms)
    pending, pairs = [], []
    distinct = 3 if name in LEADERS else 6
    for _ in range(distinct):
        choice = policy.suggest(arms, pending)
        pending.append(out(arms, choice))
        pairs.append(frozenset((choice.first, choice.second)))
    assert len(set(pairs)) == distinct
    assert policy.suggest(arms) == policy.suggest(arms, [])
    if name not in LEADERS:
        assert not pairs[0] & pairs[1]  # the two that are left over are widest then


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
@pytest.mark.parametrize("name", ["MaxPairUCB", "LocalPairUCB"])
def test_pending_duels_count_as_if_answered(name, link):
    policy, learned = taught(POLICIES[name](link=link, ridge=0.5, radius=1.3), 12)
    rng = np.random.default_rng(3)
    moved = 0
    for _ in range(40):
        arms = rng.normal(size=(6, DIM))
        pending = [(rng.normal(size=DIM) * 2.0, 0, share) for share in (1.0, 0.3)]
        pending += [(rng.normal(size=DIM), -1, 0.0), (rng.normal(size=DIM), 0, 0.0)]  # these teach nothing
        theta = policy.theta_
        precision = 0.5 * np.eye(DIM)
        for z, mass in [*((z, 1.0) for z in learned), *((z, share) for z, _, share in pending)]:
            slope = link_slope(link, z @ theta) if name == "LocalPairUCB" else 1.0
            precision += mass * slope * np.outer(z, z)
        u = arms @ theta
        values = u[:, None] + u[None] + 1.3 * widths(arms, precision)
        choice = policy.suggest(arms, pending, distinct=False)
        assert shortfall(values, choice.first, choice.second) <= 1e-9
        alone = policy.suggest(arms, distinct=False)
        moved += {alone.first, alone.second} != {choice.first, choice.second}
    assert moved > 0


# -- seeds and rounds --------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", sorted(DICE))
def test_a_seed_makes_a_random_decision_repeatable(name, estimator):
    settings = {"horizon": 100, "radius": 0.02} if name == "SupCoLSTIM" else {}  # soon done with exploring
    rounds = 100 if settings else 4
    policy, _ = taught(POLICIES[name](estimator=estimator, random_state=0, **settings), rounds)
    other, _ = taught(POLICIES[name](estimator=estimator, random_state=1, **settings), rounds)
    arms = np.random.default_rng(4).normal(size=(8, DIM)) * 0.1
    once = [policy.suggest(arms, seed=s) for s in range(40)]
    assert [policy.suggest(arms, seed=s) for s in range(40)] == once
    assert [other.suggest(arms, seed=s) for s in range(40)] == once  # whatever random state it was made with
    assert len({(c.first, c.second) for c in once}) > 1
    assert policy.suggest(arms) == policy.suggest(arms)


@pytest.mark.parametrize("rounds", [0, 1, 3, 4, 100, 1000])
def test_rounds_are_the_duels_asked_before(rounds):
    # The published trust of RCDB is sqrt(d) / sqrt(T), and an unknown T is guessed from the round.
    policy, _ = taught(dl.RCDB(ridge=0.01), 2)
    arms = np.random.default_rng(5).normal(size=(6, DIM))
    choice = policy.suggest(arms, rounds=rounds)
    width = widths(arms, policy.precision_)[choice.first, choice.second]
    trust = math.sqrt(DIM / effective_horizon(None, rounds + 1))
    assert choice.share == pytest.approx(min(1.0, trust / width), rel=1e-9)
    assert policy.rounds_ == 2
    assert policy.suggest(arms) == policy.suggest(arms, rounds=2)


# -- places ------------------------------------------------------------------------------


def test_vacdb_places_a_difference_in_the_first_layer_where_it_is_wide():
    policy, _ = taught(dl.VACDB(horizon=200), 0)
    rng = np.random.default_rng(6)
    used = set()
    for _ in range(400):
        z = rng.normal(size=DIM) * 10.0 ** rng.uniform(-3.0, 0.0)
        layer, share = policy.assign_layer(z)
        at = [math.sqrt(z @ np.linalg.solve(policy.layer_precision(k), z)) for k in range(len(policy.layer_counts_))]
        wide = [k for k, width in enumerate(at) if width > 0.5 ** (k + 1)]
        assert layer == (wide[0] if wide else -1)
        assert share == pytest.approx((0.5 ** (layer + 1) / at[layer]) ** 2 if wide else 0.0, rel=1e-9)
        counts = policy.layer_counts_
        policy.learn(z, 1.0)
        assert sum(policy.layer_counts_) == sum(counts) + bool(wide)
        used.add(layer)
    assert policy.rounds_ == 400
    assert len(used) >= 4
    assert policy.assign_layer(np.zeros(DIM)) == (-1, 0.0)


@pytest.mark.parametrize("name", ["StaD", "SupCoLSTIM"])
def test_stagewise_policies_place_a_difference_by_its_stretched_width(name):
    policy, _ = taught(POLICIES[name](horizon=4096, scale=2.0), 0)
    eta = 2.0 * policy.practical_multiplier * math.sqrt(math.log(4096))
    rng = np.random.default_rng(7)
    used = set()
    for _ in range(400):
        z = rng.normal(size=DIM) * 10.0 ** rng.uniform(-2.0, 0.0)
        at = [math.sqrt(z @ np.linalg.solve(policy.layer_precision(k), z)) for k in range(len(policy.layer_counts_))]
        wide = [k for k, width in enumerate(at) if eta * width > 0.5 ** (k + 1)]
        expected = (wide[0], 1.0) if wide else (-1, 0.0)
        assert policy.assign_layer(z) == expected
        policy.learn(z, 1.0)
        used.add(expected[0])
    assert len(used) >= 3


@pytest.mark.parametrize("name", [n for n in POLICIES if n not in {"VACDB", "StaD", "SupCoLSTIM", "RCDB"}])
def test_a_policy_without_layers_has_one_place(name):
    policy, _ = taught(POLICIES[name](), 3)
    assert policy.assign_layer(np.ones(DIM)) == (0, 1.0)


def test_rcdb_trusts_an_outcome_it_did_not_ask_for_no_more_than_its_own():
    policy, _ = taught(dl.RCDB(trust=0.2, ridge=0.5), 4)
    for z in np.random.default_rng(9).normal(size=(5, DIM)):
        width = math.sqrt(z @ np.linalg.solve(policy.precision_, z))
        layer, share = policy.assign_layer(z)
        assert (layer, share) == (0, pytest.approx(min(1.0, 0.2 / width), rel=1e-9))
        policy.learn(z, 1.0)


# -- errors name the value and change nothing --------------------------------------------

BAD_LEARN = {
    "shape": (([1.0, 2.0], 1), {}, r"difference has shape \(2,\). Give 3 numbers"),
    "matrix": ((np.eye(3), 1), {}, r"arms have shape \(3, 3\)"),
    "nan": (([1.0, math.nan, 0.0], 1), {}, r"difference\[1\] is nan"),
    "text": (("abc", 1), {}, "difference is 'abc'"),
    "nothing": ((None, 1), {}, "difference is None"),
    "outcome 2": ((np.ones(3), 2), {}, "outcome is 2. "),
    "outcome nan": ((np.ones(3), math.nan), {}, "outcome is nan. "),
    "weight 0": ((np.ones(3), 1, 0.0), {}, "weight is 0.0. "),
    "layer high": ((np.ones(3), 1), {"layer": 99}, "layer is 99"),
    "layer low": ((np.ones(3), 1), {"layer": -2}, "layer is -2"),
    "layer half": ((np.ones(3), 1), {"layer": 0.5}, "layer is 0.5"),
    "layer text": ((np.ones(3), 1), {"layer": "0"}, "layer is '?0"),
    "share negative": ((np.ones(3), 1), {"layer": 0, "share": -0.5}, "share -0.5"),
    "share nan": ((np.ones(3), 1), {"layer": 0, "share": math.nan}, "share nan"),
    "share infinite": ((np.ones(3), 1), {"layer": 0, "share": math.inf}, "share inf"),
}
KNOWN_HORIZON = {"VACDB": {"horizon": 64}, "LocalPairUCB": {"horizon": 64}, "UniformPair": {}}


@pytest.mark.parametrize("name", KNOWN_HORIZON)
@pytest.mark.parametrize("what", BAD_LEARN)
def test_learn_refuses(name, what):
    arguments, named, message = BAD_LEARN[what]
    policy, _ = taught(POLICIES[name](random_state=0, **KNOWN_HORIZON[name]), 3)
    before = policy.snapshot()
    with pytest.raises(InvalidInput, match=message):
        policy.learn(*arguments, **named)
    assert policy.snapshot() == before


BAD_CONSIDER = {
    "shape": ({"pending": [([1.0], 0, 1.0)]}, r"difference has shape \(1,\)"),
    "nan": ({"pending": [([1.0, math.nan, 0.0], 0, 1.0)]}, r"difference\[1\] is nan"),
    "share nan": ({"pending": [(np.ones(3), 0, math.nan)]}, "nan"),
    "share infinite": ({"pending": [(np.ones(3), 0, math.inf)]}, "inf"),
    "share negative": ({"pending": [(np.ones(3), 0, -1.0)]}, "-1"),
    "layer high": ({"pending": [(np.ones(3), 99, 1.0)]}, "layer is 99"),
    "seed": ({"seed": -1}, "seed is -1"),
    "seed half": ({"seed": 0.5}, "seed is 0.5"),
    "rounds": ({"rounds": -1}, "rounds is -1"),
    "rounds half": ({"rounds": 1.5}, "rounds is 1.5"),
}


@pytest.mark.parametrize("name", ["VACDB", "LocalPairUCB"])
@pytest.mark.parametrize("what", BAD_CONSIDER)
def test_consider_refuses(name, what):
    named, message = BAD_CONSIDER[what]
    policy, _ = taught(POLICIES[name](random_state=0, **KNOWN_HORIZON[name]), 3)
    before = policy.snapshot()
    with pytest.raises(InvalidInput, match=message):
        policy.suggest(np.eye(3), **named)
    assert policy.snapshot() == before


@pytest.mark.parametrize("name", POLICIES)
def test_before_the_first_arms(name):
    policy = POLICIES[name](random_state=0)
    before = policy.snapshot()
    calls = (
        lambda: policy.learn(np.ones(3), 1),
        lambda: policy.assign_layer(np.ones(3)),
        lambda: policy.estimate(0),
        lambda: policy.theta_,
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=f"{name} has seen no arms yet"):
            call()
    for arms in (np.ones(3), [[math.nan, 1.0]], np.empty((0, 3))):
        with pytest.raises(InvalidInput, match="arms"):
            policy.initialize(arms)
    assert policy.snapshot() == before
    policy.initialize(np.eye(3))
    assert (policy.dim_, policy.rounds_, policy.pending_) == (3, 0, [])
    with pytest.raises(InvalidInput, match="arms have 2 features"):
        policy.initialize(np.eye(2))
    for layer in (1000, -1001):
        with pytest.raises(InvalidInput, match=f"layer is {layer}"):
            policy.estimate(layer)


@pytest.mark.parametrize("name", POLICIES)
def test_begin_takes_the_units_of_the_arms_once(name):
    rng = np.random.default_rng(10)
    arms, later = rng.normal(size=(4, DIM)), 7.0 * rng.normal(size=(4, DIM))
    policy, asked = POLICIES[name](random_state=0), POLICIES[name](random_state=0)
    policy.initialize(arms)
    policy.initialize(later)
    asked.ask(arms)
    for array in ("ridge", "factor", "curvature", "theta", "scalars", "radius"):
        one, other = (getattr(known(p), array) for p in (policy, asked))
        layers = min(len(one), len(other))
        np.testing.assert_array_equal(one[:layers], other[:layers])
    assert policy.pending_ == asked.pending_[1:] == []
