"""ThompsonPair: the arms it draws, against the normal distribution it says it draws from."""

import json
import math

import numpy as np
import pytest
from scipy import special

import duelist as dl
from duelist.reference.fit import Vote, estimate
from duelist.reference.links import link_mean, link_slope
from tests.helpers.policies.feature_scale import default_ridge
from tests.helpers.policy_state import known, throw_dice

LINKS = ("logistic", "probit", "exponential")
DIM = 3
SIX_SIGMA = 6.0
ASKED = 4000
DRAWN = 400_000


def taught(seed=0, rounds=25, ridge=0.6, **settings):
    """A policy that has learned; and the mean and covariance of its posterior, from the log alone."""
    policy = dl.ThompsonPair(ridge=ridge, random_state=seed, **settings)
    rng = np.random.default_rng([seed, 3])
    theta_true, rows, first = rng.normal(size=DIM), [], rng.normal(size=(4, DIM))
    policy.initialize(first)
    for t in range(rounds):
        z, weight = rng.normal(size=DIM), 0.5 + t % 3
        outcome = 0.5 if t % 6 == 1 else float(rng.random() < link_mean(policy.link, z @ theta_true))
        policy.learn(z, outcome, weight)
        rows.append(Vote(z, outcome, weight))
    ridges = default_ridge(policy, first, [(row.z, row.total_weight) for row in rows])
    theta = estimate(policy.link, ridges, rows, DIM)
    h = np.diag(ridges)
    for row in rows:
        h += row.total_weight * link_slope(policy.link, row.z @ theta) * np.outer(row.z, row.z)
    return policy, theta, np.linalg.inv(h)


def asked(policy, arms, times=ASKED):
    """How often each ordered pair was asked."""
    counts = np.zeros((len(arms), len(arms)))
    for _ in range(times):
        duel = policy.ask(arms, distinct=False)
        policy.forget(duel)
        counts[duel.first, duel.second] += 1.0
    return counts / times


def utilities_drawn(arms, theta, covariance, scale=1.0, draws=DRAWN, seed=1):
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(theta, scale**2 * covariance, draws) @ arms.T


def shares(winners, n):
    return np.bincount(winners, minlength=n) / len(winners)


def tolerance(p, *sizes):
    """Six standard errors of a share p measured in samples of these sizes, and one count."""
    p = np.clip(p, 1.0 / min(sizes), 1.0)
    return SIX_SIGMA * np.sqrt(p * (1.0 - p) * sum(1.0 / n for n in sizes)) + 1.0 / min(sizes)


@pytest.mark.parametrize("ridge", [0.6, None])
@pytest.mark.parametrize("scale", [1.0, 0.4])
@pytest.mark.parametrize("link", LINKS)
def test_of_two_arms_each_comes_first_with_its_chance(link, scale, ridge):
    # x beats y in a draw from N(theta, s^2 H^-1) with chance Phi(z . theta / (s |z|_{H^-1})): the mean and, over
    # several directions z, the whole covariance.
    policy, theta, covariance = taught(link=link, scale=scale, ridge=ridge)
    rng = np.random.default_rng(9)
    chances = []
    for _ in range(8):
        z = rng.normal(size=DIM)
        z -= rng.uniform(0.5, 1.0) * (z @ theta) / (theta @ theta) * theta  # not too clear a case
        arms = np.vstack([z, np.zeros(DIM)]) + rng.normal(size=DIM)
        chance = special.ndtr(z @ theta / (scale * math.sqrt(z @ covariance @ z)))
        expected = np.outer([chance, 1.0 - chance], [chance, 1.0 - chance])  # two independent draws
        np.testing.assert_array_less(np.abs(asked(policy, arms) - expected), tolerance(expected, ASKED))
        chances.append(chance)
    assert np.ptp(chances) > 0.1


@pytest.mark.parametrize("link", LINKS)
def test_the_best_arms_of_two_independent_draws_meet(link):
    policy, theta, covariance = taught(seed=2, link=link, scale=1.5)
    arms = np.random.default_rng(4).normal(size=(6, DIM))
    best = shares(utilities_drawn(arms, theta, covariance, 1.5).argmax(axis=1), 6)
    expected = np.outer(best, best)
    np.testing.assert_array_less(np.abs(asked(policy, arms) - expected), tolerance(expected, ASKED, DRAWN))
    # The test would notice a scale of 1, or draws around zero.
    for theta_, scale in ((theta, 1.0), (0.0 * theta, 1.5)):
        wrong = shares(utilities_drawn(arms, theta_, covariance, scale).argmax(axis=1), 6)
        assert (np.abs(np.outer(wrong, wrong) - expected) > tolerance(expected, ASKED, DRAWN)).any()


def test_the_one_pass_estimator_draws_around_its_own_estimate():
    policy, _, _ = taught(seed=3, estimator="online")
    arms = np.random.default_rng(5).normal(size=(5, DIM))
    best = shares(utilities_drawn(arms, policy.theta_, np.linalg.inv(policy.curvature_)).argmax(axis=1), 5)
    expected = np.outer(best, best)
    np.testing.assert_array_less(np.abs(asked(policy, arms) - expected), tolerance(expected, ASKED, DRAWN))


# -- no self-duels -----------------------------------------------------------------------


def test_without_self_duels_the_second_is_the_best_of_the_others():
    policy, theta, covariance = taught(seed=4, allow_self_duel=False)
    arms = np.random.default_rng(6).normal(size=(4, DIM))
    arms = np.vstack([arms, arms[1]])  # two arms with the same features
    first = utilities_drawn(arms, theta, covariance, seed=1).argmax(axis=1)
    second = utilities_drawn(arms, theta, covariance, seed=2)
    same = (arms[:, None] == arms[None]).all(axis=2)
    second[same[first]] = -np.inf
    joint = np.bincount(first * 5 + second.argmax(axis=1), minlength=25).reshape(5, 5) / DRAWN
    got = asked(policy, arms)
    assert (got[same] == 0.0).all()
    np.testing.assert_array_less(np.abs(got - joint), tolerance(joint, ASKED, DRAWN))


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("feel_good", [0.0, 2.0])
def test_without_self_duels_equal_arms_never_meet(feel_good, estimator):
    policy = dl.ThompsonPair(allow_self_duel=False, feel_good=feel_good, estimator=estimator, random_state=0, scale=0.3)
    rng = np.random.default_rng(7)
    fixed = np.repeat(rng.normal(size=(3, DIM)), 3, axis=0)
    for t in range(300):
        arms = fixed if t % 2 else np.repeat(rng.normal(size=(2, DIM)), [5, 1], axis=0)
        duel = policy.ask(arms, distinct=False)
        assert (arms[duel.first] != arms[duel.second]).any()
        policy.tell(duel, float(arms[duel.first] @ np.ones(DIM) > arms[duel.second] @ np.ones(DIM)))
    allowed = dl.ThompsonPair(feel_good=feel_good, estimator=estimator, random_state=0, scale=0.3)
    met = [allowed.ask(fixed, distinct=False) for _ in range(100)]
    assert any((fixed[d.first] == fixed[d.second]).all() for d in met)  # otherwise this proves nothing


def test_without_self_duels_arms_that_have_nobody_else_still_meet():
    policy = dl.ThompsonPair(allow_self_duel=False, random_state=0)
    assert tuple(policy.ask(np.ones((1, DIM)))) == (0, 0)
    for _ in range(20):
        duel = policy.ask(np.ones((3, DIM)))
        assert not duel.is_self_duel


# -- feeling good ------------------------------------------------------------------------


def feel_good_shares(arms, theta, covariance, feel_good, scale=1.0, groups=60_000):
    """The best arm of one of eight draws, by chance proportional to exp(feel_good max_a (x_a - mean arm) . theta)."""
    n = len(arms)
    drawn = utilities_drawn(arms, theta, covariance, scale, 8 * groups).reshape(groups, 8, n)
    promise = feel_good * (drawn.max(axis=2) - drawn.mean(axis=2))
    weight = np.exp(promise - promise.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    best = drawn.argmax(axis=2)
    # The mean over the eight in the place of one of them: the same expectation, less noise.
    return np.array([(weight * (best == a)).sum(axis=1).mean() for a in range(n)]), groups


@pytest.mark.parametrize("feel_good", [0.5, 3.0, 200.0])
def test_draws_that_promise_more_are_likelier(feel_good):
    policy, theta, covariance = taught(seed=5, feel_good=feel_good, scale=2.0)
    arms = np.random.default_rng(8).normal(size=(5, DIM)) * np.array([3.0, 1.0, 0.5])
    best, groups = feel_good_shares(arms, theta, covariance, feel_good, 2.0)
    expected = np.outer(best, best)
    np.testing.assert_array_less(np.abs(asked(policy, arms) - expected), tolerance(expected, ASKED, groups))
    plain = shares(utilities_drawn(arms, theta, covariance, 2.0).argmax(axis=1), 5)
    if feel_good > 1.0:  # the test would notice a policy that forgot the term
        assert (np.abs(np.outer(plain, plain) - expected) > tolerance(expected, ASKED, groups)).any()


# -- snapshots and settings --------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"feel_good": 1.0}, {"allow_self_duel": False, "estimator": "online"}])
def test_a_restored_policy_draws_on_where_it_was(settings):
    policy, _, _ = taught(seed=7, **settings)
    rng = np.random.default_rng(11)
    shown = [rng.normal(size=(5, DIM)) for _ in range(60)]
    for arms in shown[:20]:
        policy.tell(policy.ask(arms, distinct=False), float(rng.random() < 0.5))
    copy = dl.ThompsonPair.restore(json.loads(json.dumps(policy.snapshot())))
    other = dl.ThompsonPair.restore(json.loads(json.dumps(policy.snapshot())))
    throw_dice(other, known(other).words ^ np.array([1, 0, 0, 0], np.uint64))
    played = {id(p): [] for p in (policy, copy, other)}
    for k, arms in enumerate(shown[20:]):
        for p in (policy, copy, other):
            duel = p.ask(arms, distinct=False)
            p.tell(duel, float(k % 2))
            played[id(p)].append(tuple(duel))
    assert played[id(copy)] == played[id(policy)]
    assert played[id(other)] != played[id(policy)]
    assert copy.snapshot() == policy.snapshot()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale": 0.0}, "scale is 0.0"),
        ({"scale": math.inf}, "scale is inf"),
        ({"feel_good": -0.1}, "feel_good is -0.1"),
        ({"feel_good": math.nan}, "feel_good is nan"),
        ({"feel_good": True}, "feel_good is True"),
        ({"allow_self_duel": 1}, "allow_self_duel is 1"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(dl.InvalidInput, match=message):
        dl.ThompsonPair(**settings)
