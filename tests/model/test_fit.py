"""`fit_mle` against scikit-learn and SciPy, its symmetries, its words, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression

import duelist as dl

LINKS = ("logistic", "probit", "exponential")
SOLVERS = ("newton", "agd", "svrg")
MEAN = {"logistic": special.expit, "probit": special.ndtr, "exponential": stats.laplace.cdf}
SLOPE = {
    "logistic": lambda v: special.expit(v) * special.expit(-v),
    "probit": stats.norm.pdf,
    "exponential": stats.laplace.pdf,
}
KINDS = ("noisy", "separable", "one winner", "collinear", "more features than duels")


def duels(kind, seed):
    """Differences, outcomes and weights; outcomes are 0, 1 and, where noisy, also ties and fractions."""
    rng = np.random.default_rng(seed)
    n, dim = {"more features than duels": (4, 9), "one winner": (12, 3)}.get(kind, (60, 5))
    z = rng.normal(size=(n, dim)) * rng.uniform(0.3, 3.0, size=dim)
    truth = rng.normal(size=dim)
    o = (rng.random(n) < special.expit(z @ truth)).astype(float)
    if kind == "noisy":
        o[::5], o[1::7] = 0.5, rng.random(len(o[1::7]))
    if kind == "separable":
        o = (z @ truth > 0).astype(float)
    if kind == "one winner":
        o[:] = 1.0
    if kind == "collinear":
        z[:, 1] = z[:, 0]
    return z, o, rng.uniform(0.05, 4.0, size=n)


def gradient(z, o, w, ridge, link, theta):
    return ridge * theta + z.T @ (w * (MEAN[link](z @ theta) - o))


def minpack_root(z, o, w, ridge, link):
    found = optimize.root(
        lambda t: gradient(z, o, w, ridge, link, t),
        np.zeros(z.shape[1]),
        jac=lambda t: ridge * np.eye(z.shape[1]) + (z.T * (w * SLOPE[link](z @ t))) @ z,
        tol=1e-14,
    )
    # F is strongly convex with modulus `ridge`: |theta - root| <= |gradient| / ridge.
    assert np.linalg.norm(gradient(z, o, w, ridge, link, found.x)) <= 2e-9 * ridge
    return found.x


def sklearn_fit(z, o, w, ridge):
    """A fractional outcome o is a win of weight o and a loss of weight 1 - o."""
    model = LogisticRegression(fit_intercept=False, C=1 / ridge, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    rows, labels = np.vstack([z, z]), np.repeat([1, 0], len(z))
    return model.fit(rows, labels, sample_weight=np.concatenate([w * o, w * (1 - o)])).coef_[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ridge", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(2))
def test_logistic_estimate_is_scikit_learns(kind, ridge, seed):
    z, o, w = duels(kind, seed)
    fit = dl.fit_mle(z, o, weights=w, ridge=ridge)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, sklearn_fit(z, o, w, ridge), rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_every_feature_may_have_its_own_ridge(link, solver):
    z, o, w = duels("noisy", 3)
    ridge = np.array([0.02, 1.0, 0.3, 30.0, 4.0])
    fit = dl.fit_mle(z, o, weights=w, ridge=ridge, link=link, solver=solver)
    assert fit.converged
    assert np.linalg.norm(gradient(z, o, w, ridge, link, fit.theta)) <= 1e-7
    same = dl.fit_mle(z, o, weights=w, ridge=np.full(5, 0.7), link=link).theta
    np.testing.assert_allclose(same, dl.fit_mle(z, o, weights=w, ridge=0.7, link=link).theta, rtol=0, atol=1e-8)


@pytest.mark.parametrize("ridge", [[1.0, 2.0], [1.0, 1.0, 1.0, 1.0, 0.0], [[1.0] * 5], [1.0, 1.0, 1.0, 1.0, np.nan]])
def test_a_ridge_that_does_not_fit_the_features_is_refused(ridge):
    z, o, _ = duels("noisy", 3)
    with pytest.raises(dl.InvalidInput, match=r"ridge.*one for each of the 5 features"):
        dl.fit_mle(z, o, ridge=ridge)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ridge", [1e-2, 1.0, 30.0])
def test_estimate_is_the_root_of_the_papers_equation(link, kind, ridge):
    z, o, w = duels(kind, 7)
    fit = dl.fit_mle(z, o, weights=w, ridge=ridge, link=link)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, minpack_root(z, o, w, ridge, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_solvers_reach_the_same_root(link, solver, kind):
    z, o, w = duels(kind, 3)
    fit = dl.fit_mle(z, o, weights=w, ridge=2.0, link=link, solver=solver)
    assert (fit.converged, fit.status, fit.solver) == (True, "converged", solver)
    np.testing.assert_allclose(fit.theta, minpack_root(z, o, w, 2.0, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_reach_the_root_where_features_oppose_each_other(solver):
    # Rows nearly orthogonal to the all-ones vector, as differences of one-hot arms are.
    z, o = np.array([[10.0, -10.0], [0.1, 0.1]]), np.array([1.0, 1.0])
    fit = dl.fit_mle(z, o, solver=solver)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, minpack_root(z, o, np.ones(2), 1.0, "logistic"), rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("start", [[3.0, -1.0, 0.5, 2.0, -2.0], np.zeros(5)])
def test_the_start_does_not_move_the_root(solver, start):
    z, o, w = duels("noisy", 4)
    fit = dl.fit_mle(z, o, weights=w, solver=solver, start=start)
    assert fit.converged
    np.testing.assert_allclose(fit.theta, minpack_root(z, o, w, 1.0, "logistic"), rtol=0, atol=1e-8)


def test_svrg_takes_its_order_from_the_seed():
    z, o, w = duels("noisy", 5)

    def theta(random_state):
        return dl.fit_mle(z, o, w, solver="svrg", random_state=random_state, max_iterations=3).theta

    np.testing.assert_array_equal(theta(1), theta(1))
    assert (theta(1) != theta(2)).any()
    np.testing.assert_array_equal(theta(np.random.default_rng(3)), theta(np.random.default_rng(3)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("limit", [0, 1])
def test_too_few_iterations_are_admitted_with_advice(solver, limit):
    z, o, w = duels("noisy", 6)
    fit = dl.fit_mle(z, o, w, solver=solver, max_iterations=limit)
    assert not fit.converged
    assert fit.iterations == limit
    assert "raise max_iterations" in fit.status
    assert np.isfinite(fit.theta).all()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("limit", [0, 1, 2, 50])
def test_gradient_norm_is_that_of_the_papers_equation(link, limit):
    z, o, w = duels("noisy", 8)
    fit = dl.fit_mle(z, o, w, ridge=0.5, link=link, max_iterations=limit)
    expected = np.linalg.norm(gradient(z, o, w, 0.5, link, fit.theta))
    # At the root only rounding is left: 60 terms of size up to 20 at eps each.
    assert fit.gradient_norm == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert fit.converged == (fit.gradient_norm <= 1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_looser_tolerance_is_honoured(solver):
    z, o, w = duels("noisy", 9)
    loose, tight = (dl.fit_mle(z, o, w, solver=solver, tolerance=t) for t in (1e-3, 1e-10))
    assert loose.converged
    assert tight.converged
    assert loose.iterations < tight.iterations
    assert tight.gradient_norm < loose.gradient_norm


# Roots of equal problems differ by the solver's error alone, at most 1e-10 here.
@pytest.mark.parametrize("link", LINKS)
def test_a_weight_of_two_equals_two_rows(link):
    z, o, _ = duels("noisy", 10)
    counts = np.random.default_rng(0).integers(0, 4, size=len(z))
    weighted = dl.fit_mle(z, o, weights=counts, link=link)
    repeated = dl.fit_mle(np.repeat(z, counts, axis=0), np.repeat(o, counts), link=link)
    np.testing.assert_allclose(weighted.theta, repeated.theta, rtol=0, atol=1e-10)


@pytest.mark.parametrize("link", LINKS)
def test_a_tie_equals_half_a_win_and_half_a_loss(link):
    z, _, w = duels("noisy", 11)
    ties = dl.fit_mle(z, np.full(len(z), 0.3), weights=w, link=link)
    split = dl.fit_mle(
        np.vstack([z, z]), np.repeat([1.0, 0.0], len(z)), weights=np.concatenate([0.3 * w, 0.7 * w]), link=link
    )
    np.testing.assert_allclose(ties.theta, split.theta, rtol=0, atol=1e-10)


@pytest.mark.parametrize("link", LINKS)
def test_swapping_the_arms_and_the_outcome_changes_nothing(link):
    z, o, w = duels("noisy", 12)
    flip = np.random.default_rng(0).random(len(z)) < 0.5
    turned = dl.fit_mle(np.where(flip[:, None], -z, z), np.where(flip, 1 - o, o), weights=w, link=link)
    np.testing.assert_allclose(turned.theta, dl.fit_mle(z, o, weights=w, link=link).theta, rtol=0, atol=1e-10)


def test_the_order_of_the_rows_and_a_rotation_of_the_features_change_nothing():
    z, o, w = duels("noisy", 13)
    rng = np.random.default_rng(0)
    order, (q, _) = rng.permutation(len(z)), np.linalg.qr(rng.normal(size=(5, 5)))
    theta = dl.fit_mle(z, o, w).theta
    np.testing.assert_allclose(dl.fit_mle(z[order], o[order], w[order]).theta, theta, rtol=0, atol=1e-10)
    np.testing.assert_allclose(dl.fit_mle(z @ q, o, w).theta @ q.T, theta, rtol=0, atol=1e-10)


# Multiplying every weight and the ridge by c multiplies the objective by c and moves no minimum.
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("c", [1e-15, 1e-12, 1e-6, 1e6])
def test_scaling_weights_and_ridge_together_changes_nothing(link, c):
    z, o, w = duels("noisy", 14)
    scaled = dl.fit_mle(z, o, weights=c * w, ridge=c, link=link)
    assert scaled.converged
    np.testing.assert_allclose(scaled.theta, minpack_root(z, o, w, 1.0, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_no_duels_and_only_ties_give_zero(solver, link):
    z, _, w = duels("noisy", 15)
    for fit in (
        dl.fit_mle(np.empty((0, 3)), [], link=link, solver=solver),
        dl.fit_mle(z, np.full(len(z), 0.5), weights=w, link=link, solver=solver),
        dl.fit_mle(z, np.ones(len(z)), weights=np.zeros(len(z)), link=link, solver=solver),
    ):
        assert fit.converged
        np.testing.assert_allclose(fit.theta, 0.0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("z", [np.empty((0, 3)), np.zeros((2, 3))], ids=["no duels", "self-duels"])
def test_without_information_any_start_shrinks_to_zero(solver, z):
    fit = dl.fit_mle(z, np.ones(len(z)), solver=solver, start=[1.0, 2.0, 3.0])
    assert fit.converged
    np.testing.assert_allclose(fit.theta, 0.0, atol=1e-10)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ridge", [1e-3, 1e-6, 1e-9, 1e-12, 1e-18, 1e-100])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_separable_duels_with_hardly_any_ridge_stay_finite(link, ridge, scale):
    rng = np.random.default_rng(16)
    z = scale * rng.normal(size=(20, 4))
    fit = dl.fit_mle(z, z @ np.ones(4) > 0, ridge=ridge, link=link)
    assert np.isfinite(fit.theta).all()
    assert np.isfinite(fit.gradient_norm)
    # Better than the start, and honest: no claim of convergence with a gradient as at 0.
    start = np.linalg.norm(gradient(z, z @ np.ones(4) > 0, np.ones(20), ridge, link, np.zeros(4)))
    assert fit.gradient_norm <= 1e-6 * start
    assert fit.converged == (fit.status == "converged")


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ridge", [1e-4, 1e-8])
def test_one_duel_won_is_solved_like_the_scalar_equation(link, ridge):
    # ridge t = 1 - mu(t), in the form that keeps its digits: 1 - mu(t) = mu(-t).
    expected = optimize.brentq(lambda t: ridge * t - MEAN[link](-t), 0, 40, xtol=1e-14)
    fit = dl.fit_mle([[1.0]], [1], ridge=ridge, link=link)
    # 1 - mu(t) as computed from mu(t) near 1 is right to eps, which moves the root by eps / ridge.
    assert fit.theta[0] == pytest.approx(expected, abs=1e-12 + 2.3e-16 / ridge)


@pytest.mark.parametrize(
    ("z", "w"), [([[1e200]], [1.0]), ([[1e10]], [1e300]), ([[1e10, 0.0]], [1e300]), ([[1e200, -1e200]], [1.0])]
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_features_so_large_that_squares_overflow_never_pass_for_a_fit(z, w, solver):
    try:
        fit = dl.fit_mle(z, [1], weights=w, solver=solver, max_iterations=50)
    except dl.InvalidInput:
        return  # refusing them is as honest
    assert np.isfinite(fit.theta).all()
    assert not fit.converged


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    data=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 10.0)),
        max_size=8,
    ),
    ridge=st.floats(1e-3, 1e3),
    link=st.sampled_from(LINKS),
)
def test_newton_solves_every_small_problem(data, ridge, link):
    table = np.array(data, dtype=float).reshape(-1, 4)
    z, o, w = table[:, :2], table[:, 2], table[:, 3]
    fit = dl.fit_mle(z, o, weights=w, ridge=ridge, link=link)
    assert fit.converged
    # |theta - root| <= |gradient| / ridge.
    assert np.linalg.norm(gradient(z, o, w, ridge, link, fit.theta)) <= 1e-8 * ridge


def test_arguments_are_left_alone():
    z, o, w = duels("noisy", 17)
    start = np.ones(5)
    kept = z.copy(), o.copy(), w.copy(), start.copy()
    for solver in SOLVERS:
        dl.fit_mle(z, o, w, solver=solver, start=start)
    for array, copy in zip((z, o, w, start), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_lists_integers_booleans_and_link_objects_are_welcome():
    plain = dl.fit_mle([[1, 0], [0, 1]], [True, False], link=dl.get_link("probit"))
    arrays = dl.fit_mle(np.eye(2), np.array([1.0, 0.0]), np.ones(2), link="probit")
    np.testing.assert_array_equal(plain.theta, arrays.theta)


GOOD = {"differences": [[1.0, 2.0], [3.0, 4.0]], "outcomes": [1, 0]}


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"differences": [[1.0, np.nan], [3.0, 4.0]]}, r"differences\[0, 1\].*nan"),
        ({"differences": [[1.0, 2.0], [np.inf, 4.0]]}, r"differences\[1, 0\].*inf"),
        ({"differences": [1.0, 2.0]}, r"differences.*\(2,\)"),
        ({"differences": 3.0}, r"differences.*\(1,\)|differences.*\(\)"),
        ({"differences": np.empty((2, 0))}, r"differences.*\(2, 0\)"),
        ({"differences": [[1.0, 2.0], [3.0]]}, "differences"),
        ({"differences": [["a", "b"], ["c", "d"]]}, "differences"),
        ({"outcomes": [1, 2]}, r"outcomes\[1\].*2"),
        ({"outcomes": [-0.5, 1]}, r"outcomes\[0\].*-0.5"),
        ({"outcomes": [1, np.nan]}, r"outcomes\[1\].*nan"),
        ({"outcomes": [1, 0, 1]}, r"outcomes.*\(3,\).*2"),
        ({"outcomes": [[1], [0]]}, r"outcomes.*\(2, 1\)"),
        ({"outcomes": ["first", "second"]}, "outcomes"),
        ({"weights": [1.0, -1.0]}, r"weights\[1\].*-1"),
        ({"weights": [np.inf, 1.0]}, r"weights\[0\].*inf"),
        ({"weights": [np.nan, 1.0]}, r"weights\[0\].*nan"),
        ({"weights": [1.0]}, r"weights.*\(1,\)"),
        ({"ridge": 0.0}, "ridge is 0.0"),
        ({"ridge": -1}, "ridge is -1"),
        ({"ridge": np.inf}, "ridge is inf"),
        ({"ridge": np.nan}, "ridge is nan"),
        ({"ridge": "strong"}, "ridge is 'strong'"),
        ({"link": "logit"}, "link is 'logit'"),
        ({"solver": "onlin"}, "solver is 'onlin'"),
        ({"start": [1.0]}, r"start.*\(1,\).*2"),
        ({"start": [1.0, np.nan]}, "start"),
        ({"start": "zero"}, "start"),
        ({"max_iterations": -5}, "max_iterations is -5"),
        ({"tolerance": np.nan}, "tolerance is nan"),
        ({"tolerance": -1.0}, "tolerance is -1"),
    ],
)
def test_bad_input_is_refused_and_named(bad, named):
    with pytest.raises(dl.InvalidInput, match=named):
        dl.fit_mle(**(GOOD | bad))


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_one_pass_is_near_the_root_and_says_that_it_is_not_there(link):
    rng = np.random.default_rng(0)
    z, truth = rng.normal(size=(3000, 4)), np.array([0.5, -0.3, 0.2, 0.4])
    o = rng.random(3000) < dl.get_link(link).mean(z @ truth)
    root, once = (dl.fit_mle(z, o, link=link, solver=solver) for solver in ("newton", "online"))
    assert not once.converged
    assert "one pass" in once.status
    hessian = np.eye(4) + (dl.get_link(link).slope(z @ root.theta)[:, None] * z).T @ z
    error = once.theta - root.theta
    assert error @ hessian @ error < 1.0  # within one standard error of the root


def test_one_pass_through_a_single_duel_is_the_root():
    root, once = (dl.fit_mle([[2.0, -1.0]], [1.0], ridge=0.3, solver=solver) for solver in ("newton", "online"))
    np.testing.assert_allclose(once.theta, root.theta, rtol=1e-8)
