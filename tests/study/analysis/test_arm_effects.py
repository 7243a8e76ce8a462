"""The fit of features and arm effects, against theta and the terms fit_votes one by one with SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from duelist.model import loss as loss_module
from duelist.model import vote_fit as fit_module
from duelist.study.analysis import WithArmEffects, leaderboard
from duelist.study.analysis.fit.utilities import fit_utilities
from duelist.study.analysis.fit.votes import as_vote_table, counted
from tests.helpers.model_votes import vote


def made_votes(pairs, first_won):
    return [
        vote(t + 1, f"a{i}", f"a{j}", "first" if won else "second")
        for t, ((i, j), won) in enumerate(zip(pairs, first_won, strict=True))
    ]


def world(n=14, dim=3, votes=150, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, dim)) * 5.0 ** np.arange(dim) + 7.0
    utility = rng.normal(size=n)
    pairs = np.array([rng.permutation(n)[:2] for _ in range(votes)])
    first_won = rng.random(votes) < expit(utility[pairs[:, 0]] - utility[pairs[:, 1]])
    return features, pairs, first_won


def by_hand(features, pairs, first_won, ridge):
    """Mean and covariance of utilities, relative to the mean arm, from all parameters theta and w."""
    n, dim = features.shape
    centred = features - features.mean(axis=0)
    columns = np.concatenate([centred, np.eye(n)], axis=1)
    z = columns[pairs[:, 0]] - columns[pairs[:, 1]]
    sign = np.where(first_won, 1.0, -1.0)
    precision = ridge * np.concatenate([dim * centred.var(axis=0), np.ones(n)])

    def loss(parameters):
        margin = sign * (z @ parameters)
        value = np.logaddexp(0.0, -margin).sum() + 0.5 * precision @ parameters**2
        return value, precision * parameters - z.T @ (sign * expit(-margin))

    found = minimize(loss, np.zeros(dim + n), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 10_000}).x
    slope = expit(z @ found) * expit(-(z @ found))
    covariance = np.linalg.inv(np.diag(precision) + (z.T * slope) @ z)
    relative = columns - columns.mean(axis=0)
    return relative @ found, relative @ covariance @ relative.T


@pytest.mark.parametrize("ridge", [0.3, 1.0])
@pytest.mark.parametrize("few", [True, False], ids=["whole", "by conjugate gradients"])
def test_the_fit_is_that_of_all_parameters(ridge, few, monkeypatch):
    features, pairs, first_won = world()
    if not few:
        monkeypatch.setattr(loss_module, "DENSE_STEPS", 3)
    log = as_vote_table(made_votes(pairs, first_won), [f"a{k}" for k in range(len(features))])
    fit = fit_utilities(counted(log), WithArmEffects(features), ridge)
    mean, covariance = by_hand(features, pairs, first_won, ridge)
    np.testing.assert_allclose(fit.mean, mean, atol=1e-6)
    np.testing.assert_allclose(fit.covariance, covariance, atol=1e-6)
    one, other = np.array([0, 3]), np.array([5, 3])
    apart = (features[one] - features[other]) / np.sqrt(features.shape[1] * features.var(axis=0))
    prior = np.square(apart).sum(axis=1) / ridge + np.where(one == other, 0.0, 2.0 / ridge)
    np.testing.assert_allclose(fit.prior_variance(one, other), prior)


def test_a_sketch_of_the_covariance_has_its_size(monkeypatch):
    """By 256 draws: standard deviations are right to 15 %, more than three of their standard errors (1/sqrt(512))."""
    features, pairs, first_won = world()
    log = as_vote_table(made_votes(pairs, first_won), [f"a{k}" for k in range(len(features))])
    whole = fit_utilities(counted(log), WithArmEffects(features))
    monkeypatch.setattr(loss_module, "DENSE_STEPS", 3)
    monkeypatch.setattr(fit_module, "DENSE", 3)
    sketched = fit_utilities(counted(log), WithArmEffects(features))
    np.testing.assert_allclose(np.sqrt(sketched.variance / whole.variance), 1.0, atol=0.15)


def test_the_ridge_is_found_with_them_too():
    features, pairs, first_won = world(votes=600)
    log = as_vote_table(made_votes(pairs, first_won), [f"a{k}" for k in range(len(features))])
    fit = fit_utilities(counted(log), WithArmEffects(features), "auto")
    assert 0.2 < fit.ridge < 5.0  # utilities of variance 1


def test_features_that_say_nothing_leave_the_board_nearly_as_without():
    """Utilities of 40 arms after 2,000 votes, with 8 features that are noise: closer to those without features than these to the truth."""
    rng = np.random.default_rng(1)
    utility = rng.normal(size=40)
    pairs = np.array([rng.permutation(40)[:2] for _ in range(2000)])
    first_won = rng.random(2000) < expit(utility[pairs[:, 0]] - utility[pairs[:, 1]])
    log = as_vote_table(made_votes(pairs, first_won), [f"a{k}" for k in range(40)])
    noise = rng.normal(size=(40, 8))
    without = fit_utilities(counted(log)).mean
    linear = fit_utilities(counted(log), noise).mean
    both = fit_utilities(counted(log), WithArmEffects(noise)).mean
    truth = utility - utility.mean()
    error = [np.abs(found - truth).mean() for found in (without, both, linear)]
    assert np.abs(both - without).mean() < error[0]
    assert error[1] < 1.1 * error[0] < error[2]
    board = leaderboard(log, [f"a{k}" for k in range(40)], WithArmEffects(noise))
    assert len(board.standings) == 40
