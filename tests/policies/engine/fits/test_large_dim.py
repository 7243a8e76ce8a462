"""Hundreds and thousands of features, above the dimensions whose curvature is factored anew."""

import numpy as np
import pytest

import duelist as dl
from tests.helpers.policy_state import known


def play(policy, dim, rounds, seed=0, strength=3.0):
    """The differences and outcomes told; arms of norm about one."""
    rng = np.random.default_rng([seed, dim])
    theta = strength * rng.normal(size=dim)
    differences, outcomes = [], []
    for _ in range(rounds):
        arms = rng.normal(size=(6, dim)) / np.sqrt(dim)
        duel = policy.ask(arms)
        z = arms[duel.first] - arms[duel.second]
        outcome = float(z @ theta + rng.logistic() > 0)
        policy.tell(duel, outcome)
        if z.any():
            differences.append(z)
            outcomes.append(outcome)
    return np.array(differences), np.array(outcomes)


def errors(link, ridge, z, theta, exact):
    """|theta - exact|_H"""
    gap = theta - exact
    return float(np.sqrt(ridge * gap @ gap + np.sum(dl.get_link(link).slope(z @ exact) * (z @ gap) ** 2)))


@pytest.mark.parametrize("solver", ["agd", "newton"])
@pytest.mark.parametrize("ridge", [0.05, 1.0])
@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_the_exact_estimate_is_the_root(link, ridge, solver):
    dim = 512
    policy = dl.MaxPairUCB(link=link, ridge=ridge, random_state=0, radius=1.0)
    z, outcomes = play(policy, dim, 30)
    assert len(z) > 20
    fit = dl.fit_mle(z, outcomes, ridge=ridge, link=link, solver=solver)
    assert fit.converged
    np.testing.assert_allclose(policy.theta_, fit.theta, rtol=0, atol=1e-6)
    assert errors(link, ridge, z, policy.theta_, fit.theta) <= 1e-6
    for name in ("theta", "factor", "curvature"):
        assert np.isfinite(getattr(known(policy), name)).all()


def test_an_estimate_read_only_at_the_end_is_the_root_too():
    policy = dl.UniformPair(ridge=0.05, random_state=0)
    z, outcomes = play(policy, 512, 60, strength=20.0)
    exact = dl.fit_mle(z, outcomes, ridge=0.05).theta
    assert errors("logistic", 0.05, z, policy.theta_, exact) <= 1e-6


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_one_pass_stays_finite_and_near(link):
    dim, ridge = 512, 1.0
    policy = dl.MaxPairUCB(link=link, ridge=ridge, estimator="online", random_state=0, radius=1.0)
    z, outcomes = play(policy, dim, 30)
    assert known(policy).n_rows[0] == 0
    for name in ("theta", "factor", "curvature"):
        assert np.isfinite(getattr(known(policy), name)).all()
    exact = dl.fit_mle(z, outcomes, ridge=ridge, link=link).theta
    # The rows are nearly orthogonal, so each loss is met where it was replaced: far below one standard error.
    assert errors(link, ridge, z, policy.theta_, exact) < 0.1


def test_the_bound_holds_in_large_dimensions():
    policy = dl.MaxPairUCB(estimator="online", radius="theory", theta_bound=0.5, ridge=0.05, random_state=0)
    play(policy, 512, 20)
    assert np.linalg.norm(policy.theta_) <= 0.5 * (1.0 + 1e-12)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_two_thousand_features(estimator):
    dim = 2048
    policy = dl.MaxPairUCB(ridge=0.5, estimator=estimator, random_state=0, radius=1.0)
    z, outcomes = play(policy, dim, 4)
    for name in ("theta", "factor", "curvature"):
        assert np.isfinite(getattr(known(policy), name)).all()
    exact = dl.fit_mle(z, outcomes, ridge=0.5, solver="agd").theta
    assert errors("logistic", 0.5, z, policy.theta_, exact) <= (1e-6 if estimator == "exact" else 0.1)


def test_a_batch_in_large_dimensions():
    policy = dl.MaxPairUCB(random_state=0, radius=1.0)
    arms = np.random.default_rng(0).normal(size=(20, 3, 512))
    batch = policy.ask_batch(arms, k=5, threads=2)
    for _, duel in batch:
        policy.tell(duel, 1)
    assert (np.diff(batch.information) <= 0.0).all()
    assert np.isfinite(policy.theta_).all()


def test_a_restored_copy_goes_on_bit_for_bit():
    policy = dl.MaxPairUCB(random_state=0, radius=1.0)
    play(policy, 300, 10)
    copy = dl.MaxPairUCB.restore(policy.snapshot())
    for p in (policy, copy):
        play(p, 300, 10, seed=1)
    np.testing.assert_array_equal(policy.theta_, copy.theta_)
