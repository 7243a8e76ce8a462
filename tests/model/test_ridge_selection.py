"""The ridge that makes votes most likely: against the evidence by quadrature and by search, and in any units."""

import numpy as np
import pytest
from scipy import optimize, special

import duelist as dl
from duelist.model.ridge_selection import _PRIOR_STRENGTH, VoteRows, feature_variances, select_ridge


def votes(rng, n, dim, scale=1.0):
    z = rng.standard_normal((n, dim)) * np.sqrt(2.0)
    theta = scale * rng.standard_normal(dim) / np.sqrt(dim)
    won = (rng.random(n) < special.expit(z @ theta)).astype(float)
    return z, won


def laplace_evidence(z, won, ridge):
    """log of the integral of likelihood times prior, by Laplace, features of size one."""
    theta = dl.fit_mle(z, won, ridge=ridge).theta
    v = z @ theta
    slope = special.expit(v) * special.expit(-v)
    curvature = ridge * np.eye(z.shape[1]) + (z * slope[:, None]).T @ z
    fit = won @ v - np.logaddexp(0.0, v).sum() - 0.5 * ridge * theta @ theta
    return fit + 0.5 * z.shape[1] * np.log(ridge) - 0.5 * np.linalg.slogdet(curvature)[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "dim"), [(300, 10), (1000, 40), (60, 90)])
def test_it_is_the_top_of_the_evidence(seed, n, dim):
    z, won = votes(np.random.default_rng(seed), n, dim)
    sizes = np.square(z).mean(axis=0) / 2.0
    scaled = z / np.sqrt(sizes)

    def whole(log_ridge):
        ridge = np.exp(log_ridge)
        prior = 0.5 * _PRIOR_STRENGTH * (log_ridge - ridge / dim)  # the Gamma prior around dim
        return -(laplace_evidence(scaled, won, ridge) + prior)

    top = optimize.minimize_scalar(whole, bounds=(-6.0, 12.0), method="bounded")
    found = select_ridge(VoteRows(z, np.ones(n), won), dl.get_link("logistic")) / sizes
    assert np.ptp(found) < 1e-9 * found[0]
    assert whole(np.log(found[0])) - top.fun < 1e-4


@pytest.mark.parametrize("factor", [[1e-4, 1.0, 1e3, 1.0], [2.0, 4.0, 0.5, 1024.0]])
def test_units_do_not_matter(factor):
    z, won = votes(np.random.default_rng(0), 200, 4)
    plain, scaled = dl.fit_mle(z, won, ridge="auto"), dl.fit_mle(z * factor, won, ridge="auto")
    np.testing.assert_allclose(scaled.theta * factor, plain.theta, rtol=1e-9)
    np.testing.assert_allclose(scaled.ridge, plain.ridge * np.square(factor), rtol=1e-9)


def test_many_features_and_few_votes_predict_better_than_with_a_fixed_ridge():
    rng = np.random.default_rng(2)
    z, won = votes(rng, 5000, 300)
    train, test = slice(0, 400), slice(400, None)

    def loss(theta):
        return np.mean(np.logaddexp(0.0, z[test] @ theta) - won[test] * (z[test] @ theta))

    auto, fixed = (dl.fit_mle(z[train], won[train], ridge=ridge).theta for ridge in ("auto", 1.0))
    assert loss(auto) < np.log(2.0) < loss(fixed)


def test_sizes_of_features_that_never_differ_are_one():
    z = np.array([[1.0, 0.0], [3.0, 0.0]])
    np.testing.assert_allclose(
        feature_variances(VoteRows(z, np.array([1.0, 3.0]), np.zeros(2))), [(1.0 + 27.0) / 8.0, 1.0]
    )


def test_another_word_is_refused():
    with pytest.raises(dl.InvalidInput, match="ridge is 'best'"):
        dl.fit_mle([[1.0]], [1], ridge="best")


def test_the_estimate_for_new_arms_takes_votes():
    policy = dl.UniformPair(random_state=0)
    policy.initialize(np.eye(3))
    assert (policy.reward_theta_ == 0.0).all()
    duel = policy.ask(np.eye(3))
    policy.tell(duel, 1.0)
    assert policy.reward_theta_[duel.first] > 0.0 > policy.reward_theta_[duel.second]
    online = dl.UniformPair(random_state=0, estimator="online")
    online.initialize(np.eye(3))
    with pytest.raises(dl.InvalidInput, match="estimator='exact'"):
        _ = online.reward_theta_


@pytest.mark.parametrize("solver", ["agd", "svrg", "newton"])
@pytest.mark.parametrize("weight", [1e-14, 1.0, 1e100, 1e200])
def test_weights_of_any_size_give_the_same_root(solver, weight):
    z, won = votes(np.random.default_rng(5), 60, 3)
    found = dl.fit_mle(z, won, np.full(60, weight), ridge=weight, solver=solver)
    np.testing.assert_allclose(found.theta, dl.fit_mle(z, won).theta, rtol=1e-6)
    assert found.converged


@pytest.mark.parametrize("solver", ["agd", "svrg"])
def test_what_has_not_settled_has_not_converged(solver):
    """Separable, and next to no ridge: the root is far away, the gradient small long before."""
    z = np.eye(2) + 0.1
    found = dl.fit_mle(z, [1, 1], ridge=1e-15, solver=solver, max_iterations=400, tolerance=1e-2)
    assert not found.converged
    assert "not settled" in found.status
