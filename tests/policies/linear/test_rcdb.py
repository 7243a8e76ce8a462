"""RCDB: the weight of a vote, recomputed from the log; MaxPairUCB where all are trusted; and what weights are for."""

import math

import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.reference.fit import Vote, effective_horizon, estimate
from duelist.reference.links import link_mean
from duelist.simulation.environments import FlippedVotes, Hypercube
from duelist.testing.native_policies import learned_state
from tests.helpers.policies.feature_scale import default_ridge
from tests.helpers.policy_state import pending

LINKS = ("logistic", "probit", "exponential")
DIM = 3
TRUSTS = {
    "given": {"trust": 0.4},
    "published": {"horizon": 300, "corruption": 5.0},
    "unknown corruption": {"horizon": 25},
    "unknown horizon": {},
    "fixed radius, unknown horizon": {"radius": 0.7},
    "given twice": {"trust": 0.5, "corruption": 1000.0},
}


def trust_of(policy, t):
    """The docstring: trust, else sqrt(d) / corruption, else sqrt(d) / sqrt(T)."""
    if policy.trust is not None:
        return policy.trust
    return math.sqrt(DIM) / (policy.corruption or math.sqrt(effective_horizon(policy.horizon, t)))


def beta_of(policy, t):
    if isinstance(policy.radius, float):
        return policy.scale * policy.radius
    return policy.scale * math.sqrt(DIM * math.log(effective_horizon(policy.horizon, t)))


@pytest.mark.parametrize(("fixed", "ridge"), [(True, 0.2), (False, 0.2), (True, None), (False, None)])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", TRUSTS)
def test_every_vote_has_the_stated_weight(kind, link, fixed, ridge):
    rng = np.random.default_rng(1)
    policy = dl.RCDB(link=link, ridge=ridge, **TRUSTS[kind])
    same, theta_true = rng.normal(size=(6, DIM)), rng.normal(size=DIM)
    rows, waiting, weights, told, first = [], [], [], [], None
    for t in range(1, 61):
        arms = same if fixed else rng.normal(size=(int(rng.integers(1 if t > 1 else 2, 7)), DIM))
        first = arms if first is None else first
        ridges = default_ridge(policy, first, told)
        sigma = np.diag(ridges) + sum((r.total_weight * np.outer(r.z, r.z) for r in rows), np.zeros((DIM, DIM)))
        theta = estimate(link, ridges, rows, DIM)
        np.testing.assert_allclose(policy.theta_ if t > 1 else np.zeros(DIM), theta, rtol=1e-7, atol=1e-8)
        if t > 1:
            np.testing.assert_allclose(policy.precision_, sigma, rtol=1e-9, atol=1e-9)
        sigma = sigma + sum((w * np.outer(z, z) for _, z, w in waiting), np.zeros((DIM, DIM)))  # as if answered
        gaps = arms[:, None] - arms[None]
        widths = np.sqrt(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(sigma), gaps), 0.0))
        values = (arms @ theta)[:, None] + (arms @ theta)[None] + beta_of(policy, t) * widths
        duel = policy.ask(arms, distinct=False)
        assert values[duel.first, duel.second] >= values.max() - 1e-9 * (1.0 + abs(values.max()))
        width = widths[duel.first, duel.second]
        share = 1.0 if width == 0.0 else min(1.0, trust_of(policy, t) / width)
        weights.append(share)
        waiting.append((duel, arms[duel.first] - arms[duel.second], share))
        while waiting and rng.random() < 0.6:  # late votes enter with the weight of their round
            answered, z, w = waiting.pop(int(rng.integers(len(waiting))))
            vote = 0.5 if rng.random() < 0.2 else float(rng.random() < link_mean(link, z @ theta_true))
            policy.tell(answered, vote, 2.0)
            told.append((z, 2.0))
            rows.append(Vote(z, vote, 2.0 * w))
    assert min(weights) < 0.9


def test_the_weight_of_a_duel_asked_again_follows_the_horizon():
    # Asked without an answer: the guess of the horizon doubles in round 4, and the trust falls with it. (Given up each time,
    # since the width would fall with what is out.)
    arms = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    policy = dl.RCDB(radius=0.7, ridge=0.5)
    for t in range(1, 10):
        duel = policy.ask(arms, distinct=False)
        trust = math.sqrt(DIM / effective_horizon(None, t))
        width = 5.0 / math.sqrt(0.5)
        assert pending(policy)[duel.id].share == pytest.approx(min(1.0, trust / width), rel=1e-12), f"round {t}"
        policy.forget(duel)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("link", LINKS)
def test_with_full_trust_it_is_max_pair_ucb_to_the_bit(link, estimator):
    settings = {"link": link, "estimator": estimator, "horizon": 100, "scale": 0.6}
    robust, plain = dl.RCDB(trust=1e9, **settings), dl.MaxPairUCB(**settings)
    rng = np.random.default_rng(2)
    for t in range(100):
        arms = rng.normal(size=(int(rng.integers(1, 8)), DIM))
        one, other = robust.ask(arms, distinct=False), plain.ask(arms, distinct=False)
        assert tuple(one) == tuple(other)
        vote = float(rng.random() < 0.7)
        robust.tell(one, vote, 1.0 + t % 2)
        plain.tell(other, vote, 1.0 + t % 2)
    assert learned_state(robust) == learned_state(plain)
    wary = dl.RCDB(trust=0.05, **settings)
    assert wary.clone(0).params["trust"] == 0.05
    wary.tell(wary.ask(np.eye(3), distinct=False), 1.0)
    full = dl.RCDB(trust=1e9, **settings)
    full.tell(full.ask(np.eye(3), distinct=False), 1.0)
    assert learned_state(wary) != learned_state(full)


def test_units_of_the_features_do_not_matter():
    one, other = dl.RCDB(trust=0.3, horizon=50), dl.RCDB(trust=0.3, horizon=50)
    rng = np.random.default_rng(3)
    for _ in range(40):
        arms = rng.normal(size=(5, DIM))
        duel, scaled = one.ask(arms, distinct=False), other.ask(1024.0 * arms, distinct=False)
        assert tuple(duel) == tuple(scaled)
        vote = float(rng.random() < 0.6)
        one.tell(duel, vote)
        other.tell(scaled, vote)
    np.testing.assert_allclose(one.theta_, 1024.0 * other.theta_, rtol=1e-6)
    np.testing.assert_array_equal(other.pooled_ridge_, 1024.0**2 * one.pooled_ridge_)


def test_one_vote_moves_the_estimate_by_no_more_than_the_trust():
    # One vote of weight w moves theta by at most w |z|_{H^-1} in the H norm, and H >= min(1, mu') Sigma; with the
    # weight trust / |z|_{Sigma^-1}, ridge times the step is at most w |z|: compare with the vote in full.
    z = np.array([6.0, 0.0, 0.0])
    moves = []
    for trust in (0.02, 1e9):
        policy = dl.RCDB(trust=trust, ridge=1.0)
        policy.tell(policy.ask(np.array([z, 0.0 * z]), distinct=False), 1.0)
        moves.append(np.linalg.norm(policy.theta_))
    assert moves[0] <= 0.02 / 6.0 * 6.0 * 0.5  # ridge theta = w (1 - mu) z, and mu >= 1/2
    assert moves[1] > 5.0 * moves[0]


@pytest.mark.parametrize("settings", [{"trust": 0.0}, {"trust": -1.0}, {"corruption": math.inf}, {"trust": True}])
def test_settings_are_checked(settings):
    ((name, value),) = settings.items()
    with pytest.raises(dl.InvalidInput, match=f"{name} is {value}"):
        dl.RCDB(**settings)


def test_it_withstands_what_max_pair_ucb_does_not():
    # The first tenth of the votes is turned round. Paired over runs: both meet the same worlds and the same luck.
    horizon, first = 1000, 100
    policies = {
        "robust": dl.RCDB(horizon=horizon, corruption=float(first)),
        "plain": dl.MaxPairUCB(horizon=horizon),
    }
    runs = dl.simulate(policies, FlippedVotes(Hypercube(dim=4), first=first), horizon, runs=48, seed=2000)
    gain = runs.regret("plain")[:, -1] - runs.regret("robust")[:, -1]
    assert stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue < 0.01
