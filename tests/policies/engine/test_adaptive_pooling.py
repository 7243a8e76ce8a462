"""The prior variances of arm effects and of features are chosen by the evidence of the votes."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr

import duelist as dl
from duelist.model.ridge_selection import effect_variances


def play(policy, table, utility, votes, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(votes):
        duel = policy.ask(table)
        policy.tell(duel, float(rng.random() < expit(utility[duel.first] - utility[duel.second])))
    return policy


def log_evidence(policy):
    """Log evidence of each model, without its prior."""
    return np.array([model["log_evidence"][0] for model in policy._effects.state.arrays()])


@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_evidence_of_a_vote_is_the_integral_over_the_gap(link, weight):
    """One vote on two arms: the integral of mu(g)^weight over g ~ N(0, 2 v)."""
    policy = dl.UniformPair(estimator="online", link=link, random_state=0)
    policy.initialize(dl.ArmTable(2))
    policy.learn(dl.ArmTable(2), 1.0, weight)
    mean = expit if link == "logistic" else ndtr
    for found, (variance, _, _) in zip(log_evidence(policy), effect_variances(0), strict=True):
        sd = math.sqrt(2.0 * variance)
        exact, _ = quad(
            lambda e, sd=sd: mean(sd * e) ** weight * np.exp(-0.5 * e * e) / math.sqrt(2 * math.pi), -12, 12
        )
        # The probit potential M is not the log of a probability: only its direction is checked there.
        if link == "logistic":
            assert found == pytest.approx(math.log(exact), abs=2e-3)
        else:
            assert math.isfinite(found)


def test_evidence_adds_up_the_chances_of_the_votes_given_those_before():
    """Each vote adds the log of the mean of mu(g) or mu(-g), g from the posterior before the vote."""
    table = dl.ArmTable(4)
    policy, rng = dl.UniformPair(estimator="online", random_state=0), np.random.default_rng(0)
    policy.initialize(table)
    total = np.zeros(len(effect_variances(0)))
    for _ in range(40):
        first, second = (int(k) for k in rng.permutation(4)[:2])
        won = float(rng.random() < 0.7)
        for model in range(len(total)):
            mean = policy._effects.state.posterior(model, table.ids, table.features, table.ids[:0])[0]
            square = policy._effects.state.squared_widths(model, table.ids, table.features, first)[second]
            gap, sd = (mean[first] - mean[second]) * (2.0 * won - 1.0), math.sqrt(square)
            chance, _ = quad(lambda e, gap=gap, sd=sd: expit(gap + sd * e) * np.exp(-0.5 * e * e), -12, 12)
            total[model] += math.log(chance / math.sqrt(2.0 * math.pi))
        policy.learn(table[[first, second]], won)
    assert len(policy._effects.state.log_weights) == len(total)
    np.testing.assert_allclose(log_evidence(policy), total, atol=40 * 2e-3)


def test_a_given_ridge_is_the_only_candidate():
    assert effect_variances(3, 4.0).tolist() == [[0.25, 0.25, 0.0]]
    policy = dl.BestArmPair(estimator="online", ridge=4.0, random_state=0)
    policy.initialize(dl.ArmTable(3))
    assert policy._effects.state.variances.tolist() == [[0.25, 0.25]]


def shares(policy):
    weights = policy._effects.state.log_weights
    return np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()


def test_effects_vanish_where_features_explain_everything_and_stay_where_they_explain_nothing():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((30, 3))
    table = dl.ArmTable(30, features)
    for utility, small in ((features @ rng.standard_normal(3), True), (rng.standard_normal(30), False)):
        policy = play(dl.UniformPair(estimator="online", random_state=0), table, utility, 1500)
        effects = policy._effects.state.variances[:, 0]
        assert shares(policy)[effects < 0.1 if small else effects > 0.1].sum() > 0.9


def test_unlikely_models_are_dropped_and_the_rest_comes_back_from_a_snapshot():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20, 2))
    utility, table = features @ [1.0, -1.0], dl.ArmTable(20, features)
    policy = play(dl.RankingPair(estimator="online", random_state=0), table, utility, 600)
    left = policy._effects.state.log_weights
    assert len(left) < len(effect_variances(2))
    assert left.min() >= left.max() - 10.0
    copy = dl.RankingPair.restore(json.loads(json.dumps(policy.snapshot())))
    assert play(policy, table, utility, 50, 1).snapshot() == play(copy, table, utility, 50, 1).snapshot()


def test_posterior_has_the_moments_of_the_mixture():
    """Against draws: a model by its weight, then utilities from its posterior."""
    features = np.random.default_rng(1).standard_normal((6, 2)) + 100.0
    table = dl.ArmTable(6, features)
    policy = play(dl.UniformPair(estimator="online", random_state=0), table, features @ [0.5, 0.0], 40)
    state, everyone = policy._effects.state, np.arange(6)
    n, rng = 200_000, np.random.default_rng(2)
    drawn = []
    for model, count in enumerate(rng.multinomial(n, shares(policy))):
        mean, _, covariance, _ = state.posterior(model, table.ids, features, everyone)
        drawn.append(rng.multivariate_normal(mean, covariance, count, method="cholesky"))
    utilities = np.vstack(drawn)
    found = policy.posterior(table, everyone)
    spread = found.variances.max()
    np.testing.assert_allclose(found.covariances, np.cov(utilities.T), atol=6.0 * spread * math.sqrt(2.0 / n))
    gaps = utilities - utilities[:, :1]
    np.testing.assert_allclose(
        found.utilities - found.utilities[0], gaps.mean(axis=0), atol=6.0 * math.sqrt(4.0 * spread / n)
    )
    np.testing.assert_allclose(np.diagonal(found.covariances), found.variances)
