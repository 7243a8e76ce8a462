"""The objective and its solvers, against NumPy, SciPy and numerical differentiation."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from duelist.kernels import mle
from duelist.kernels.random import seed_words
from duelist.links import EXPONENTIAL, LOGISTIC, PROBIT

LINKS = (LOGISTIC, PROBIT, EXPONENTIAL)
MEAN = {LOGISTIC: special.expit, PROBIT: special.ndtr, EXPONENTIAL: stats.laplace.cdf}
SLOPE = {
    LOGISTIC: lambda v: special.expit(v) * special.expit(-v),
    PROBIT: stats.norm.pdf,
    EXPONENTIAL: stats.laplace.pdf,
}
POTENTIAL = {
    LOGISTIC: lambda v: np.logaddexp(0.0, v),
    PROBIT: lambda v: v * special.ndtr(v) + stats.norm.pdf(v),
    EXPONENTIAL: lambda v: np.where(v < 0, 0.5 * np.exp(-np.abs(v)), v + 0.5 * np.exp(-np.abs(v))),
}

# Undamped Newton steps from 0 run away on these three duels (its own test below shows it).
TRAP = np.array([[0.0, 4.0], [1.0, 1.0], [11.0, 16.0]]), np.ones(3), np.array([0.0, 1.0, 1.0]), 1e-3


def columns(z):
    """Rows as the kernels take them: one contiguous line a feature."""
    return np.ascontiguousarray(z.T)


def problem(seed, n=40, dim=4):
    """Random rows, mass and wins in [0, mass]; a tenth of the rows carry no mass."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, dim))
    mass = rng.uniform(0.1, 3.0, size=n)
    mass[::10] = 0.0
    return z, mass, mass * rng.uniform(0, 1, size=n), float(rng.uniform(0.2, 2.0))


def objective(z, mass, wins, ridge, link, theta):
    v = z @ theta
    return 0.5 * ridge * theta @ theta + np.sum(mass * POTENTIAL[link](v) - wins * v)


def gradient(z, mass, wins, ridge, link, theta):
    return ridge * theta + z.T @ (mass * MEAN[link](z @ theta) - wins)


def hessian(z, mass, ridge, link, theta):
    return ridge * np.eye(z.shape[1]) + (z.T * (mass * SLOPE[link](z @ theta))) @ z


def root(z, mass, wins, ridge, link):
    """The unique root of the gradient, by MINPACK."""
    found = optimize.root(
        lambda t: gradient(z, mass, wins, ridge, link, t),
        np.zeros(z.shape[1]),
        jac=lambda t: hessian(z, mass, ridge, link, t),
        tol=1e-14,
    )
    # F is strongly convex with modulus `ridge`: |theta - root| <= |gradient| / ridge.
    assert np.linalg.norm(gradient(z, mass, wins, ridge, link, found.x)) <= 1e-9 * ridge
    return found.x


@pytest.mark.parametrize("link", LINKS)
def test_objective_gradient_and_hessian_are_the_written_formulas(link):
    z, mass, wins, ridge = problem(0)
    theta = np.random.default_rng(1).normal(size=4)
    g, g_again, h = np.empty(4), np.empty(4), np.empty((4, 4))
    mle.gradient(columns(z), mass, wins, ridge, link, theta, g)
    mle.gradient_and_hessian(columns(z), mass, wins, ridge, link, theta, z @ theta, g_again, h)
    # Forty terms of size at most 10: rounding stays under 1e-13.
    assert mle.objective(columns(z), mass, wins, ridge, link, theta) == pytest.approx(
        objective(z, mass, wins, ridge, link, theta), abs=1e-12
    )
    np.testing.assert_allclose(g, gradient(z, mass, wins, ridge, link, theta), atol=1e-12)
    np.testing.assert_allclose(g_again, g, atol=1e-12)
    np.testing.assert_allclose(np.triu(h), np.triu(hessian(z, mass, ridge, link, theta)), atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_gradient_is_the_derivative_of_the_objective(link):
    z, mass, wins, ridge = problem(2)
    theta, g = np.random.default_rng(3).normal(size=4), np.empty(4)
    mle.gradient(columns(z), mass, wins, ridge, link, theta, g)
    h = 1e-5
    for k, e in enumerate(h * np.eye(4)):
        up = mle.objective(columns(z), mass, wins, ridge, link, theta + e)
        down = mle.objective(columns(z), mass, wins, ridge, link, theta - e)
        # Rounding eps |F| / h = 1e-16 * 100 / 1e-5, truncation h^2 times third derivatives under 100.
        assert (up - down) / (2 * h) == pytest.approx(g[k], abs=2e-8)


def test_norm_is_euclidean():
    assert mle.norm(np.array([3.0, -4.0])) == 5.0


def test_residual_sum_counts_a_tie_as_half_a_win_and_half_a_loss():
    z, mass, wins, _ = problem(4)
    theta = np.random.default_rng(5).normal(size=4)
    for link in LINKS:
        p = MEAN[link](z @ theta)
        split = np.sum(wins * (1 - p) ** 2) + np.sum((mass - wins) * (0 - p) ** 2)
        assert mle.residual_sum(columns(z), mass, wins, link, theta) == pytest.approx(split, rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(5))
def test_newton_reaches_the_root(link, seed):
    z, mass, wins, ridge = problem(seed)
    theta = np.zeros(4)
    status, iterations = mle.newton(columns(z), mass, wins, ridge, link, theta, 1e-16, 100)
    assert (status, iterations < 20) == (mle.CONVERGED, True)
    np.testing.assert_allclose(theta, root(z, mass, wins, ridge, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_accelerated_gradient_and_variance_reduction_reach_the_same_root(link, seed):
    z, mass, wins, ridge = problem(seed)
    expected = root(z, mass, wins, ridge, link)
    slow, random = np.zeros(4), np.zeros(4)
    assert mle.accelerated_gradient(columns(z), mass, wins, ridge, link, slow, 1e-10, 10_000)[0] == mle.CONVERGED
    status, _ = mle.variance_reduced(columns(z), mass, wins, ridge, link, random, 1e-10, 2000, seed_words(seed))
    assert status == mle.CONVERGED
    np.testing.assert_allclose(slow, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(random, expected, rtol=0, atol=1e-8)


def test_accelerated_gradient_has_a_linear_rate():
    # Condition number 4000. Momentum that is never dropped needs over 5000 steps here; the linear
    # rate sqrt(condition) log(1 / tolerance) promises about 63 * 23 = 1500.
    rng = np.random.default_rng(0)
    z, wins = rng.normal(size=(200, 5)) * np.geomspace(1, 0.05, 5), (rng.random(200) < 0.6).astype(float)
    assert (
        mle.accelerated_gradient(columns(z), np.ones(200), wins, 0.01, LOGISTIC, np.zeros(5), 1e-10, 1500)[0]
        == mle.CONVERGED
    )


def test_undamped_newton_would_run_away_on_the_trap():
    z, mass, wins, ridge = TRAP
    theta = np.zeros(2)
    for _ in range(60):
        step = np.linalg.solve(
            hessian(z, mass, ridge, LOGISTIC, theta), gradient(z, mass, wins, ridge, LOGISTIC, theta)
        )
        theta = theta - step
    assert np.linalg.norm(gradient(z, mass, wins, ridge, LOGISTIC, theta)) > 1.0


@pytest.mark.parametrize("link", LINKS)
def test_newton_escapes_the_trap(link):
    z, mass, wins, ridge = TRAP
    theta = np.zeros(2)
    assert mle.newton(columns(z), mass, wins, ridge, link, theta, 1e-16, 100)[0] == mle.CONVERGED
    # |theta - root| <= |gradient| / ridge bounds the error without another solver.
    assert np.linalg.norm(gradient(z, mass, wins, ridge, link, theta)) <= 1e-8 * ridge


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("start", [0.0, 3.0, -40.0])
def test_every_newton_step_decreases_the_objective(link, start):
    z, mass, wins, ridge = TRAP
    values = []
    for steps in range(25):
        theta = np.full(2, start)
        mle.newton(columns(z), mass, wins, ridge, link, theta, 1e-16, steps)
        values.append(objective(z, mass, wins, ridge, link, theta))
    # At the minimum the values only repeat, up to the rounding of F.
    assert (np.diff(values) <= 1e-14 * np.abs(values[1:]) + 1e-15).all()


@pytest.mark.parametrize("link", LINKS)
def test_a_full_step_called_safe_decreases_the_objective(link):
    # One duel, no ridge, the minimum at `goal`: every start and goal on a grid, extremes included.
    grid = np.linspace(-6, 6, 121)
    start, goal = (np.ravel(side) for side in np.meshgrid(grid, grid))
    wins = MEAN[link](goal)
    step = -(MEAN[link](start) - wins) / SLOPE[link](start)
    safe = np.array([mle.full_step_is_safe(link, start[k : k + 1], step[k : k + 1]) for k in range(start.size)])
    before, after = (POTENTIAL[link](v) - wins * v for v in (start, start + step))
    assert (after <= before + 4e-15)[safe].all()  # both are of size 6 at most: two roundings each
    assert 0.01 < safe.mean() < 0.5  # a rule that says always or never would prove nothing


def test_any_doubtful_move_makes_the_full_step_unsafe():
    margins, moves = np.zeros(3), np.array([0.01, 0.01, 9.0])
    assert not mle.full_step_is_safe(LOGISTIC, margins, moves)
    assert not mle.full_step_is_safe(LOGISTIC, margins, -moves)
    assert mle.full_step_is_safe(LOGISTIC, margins[:2], moves[:2])
    assert not mle.full_step_is_safe(LOGISTIC, margins, np.full(3, np.nan))


@pytest.mark.parametrize("link", LINKS)
def test_newton_reaches_the_root_from_far_away(link):
    z, mass, wins, ridge = problem(6)
    theta = np.full(4, 1e4)
    assert mle.newton(columns(z), mass, wins, ridge, link, theta, 1e-16, 200)[0] == mle.CONVERGED
    np.testing.assert_allclose(theta, root(z, mass, wins, ridge, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("start", [1e6, 1e12])
def test_newton_says_converged_only_where_the_gradient_is_small(link, start):
    z, mass, wins, ridge = problem(6)
    theta = np.full(4, start)
    status, _ = mle.newton(columns(z), mass, wins, ridge, link, theta, 1e-16, 200)
    # A decrement of 1e-16 bounds the gradient by 1e-8 sqrt(largest Hessian eigenvalue), under 1e-7.
    assert status != mle.CONVERGED or np.linalg.norm(gradient(z, mass, wins, ridge, link, theta)) <= 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_smoothness_bounds_the_curvature_of_random_problems(seed):
    z, mass, _, ridge = problem(seed)
    for link in LINKS:
        flat = np.linalg.eigvalsh(hessian(z, mass, ridge, link, np.zeros(4))).max()  # slopes are largest at 0
        bound = mle.smoothness(columns(z), mass, ridge, link)
        assert flat * (1 - 1e-12) <= bound <= 1.2 * flat + 1e-12


@pytest.mark.parametrize(
    "z",
    [
        [[10.0, -10.0], [0.1, 0.1]],  # the steepest direction is orthogonal to the all-ones vector
        [[5.0, -5.0, 0.0], [0.0, 3.0, -3.0], [0.01, 0.01, 0.01]],
        [[1.0, -1.0]],
        [[0.0, 0.0]],
    ],
)
def test_smoothness_bounds_the_curvature_whatever_the_direction(z):
    z = np.array(z)
    flat = np.linalg.eigvalsh(hessian(z, np.ones(len(z)), 0.1, LOGISTIC, np.zeros(z.shape[1]))).max()
    assert mle.smoothness(columns(z), np.ones(len(z)), 0.1, LOGISTIC) >= flat * (1 - 1e-12)


@pytest.mark.parametrize("z", [np.zeros((2, 3)), np.zeros((0, 3))], ids=["zero rows", "no rows"])
@pytest.mark.parametrize("solver", ["newton", "agd", "svrg"])
def test_with_nothing_to_learn_from_every_solver_shrinks_to_zero(solver, z):
    mass, wins, theta = np.ones(len(z)), np.ones(len(z)), np.array([1.0, -2.0, 3.0])
    if solver == "newton":
        status, _ = mle.newton(columns(z), mass, wins, 0.7, LOGISTIC, theta, 1e-16, 1000)
    elif solver == "agd":
        status, _ = mle.accelerated_gradient(columns(z), mass, wins, 0.7, LOGISTIC, theta, 1e-12, 1000)
    else:
        status, _ = mle.variance_reduced(columns(z), mass, wins, 0.7, LOGISTIC, theta, 1e-12, 1000, seed_words(0))
    assert status == mle.CONVERGED
    np.testing.assert_allclose(theta, 0.0, atol=1e-11)


def test_variance_reduction_never_draws_a_row_without_mass():
    z = np.array([[1.0], [1e6], [2.0], [1e6]])  # the step is set by the rows that count
    mass, wins = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    theta = np.zeros(1)
    assert (
        mle.variance_reduced(columns(z), mass, wins, 1.0, LOGISTIC, theta, 1e-12, 1000, seed_words(0))[0]
        == mle.CONVERGED
    )
    np.testing.assert_allclose(theta, root(z, mass, wins, 1.0, LOGISTIC), rtol=0, atol=1e-10)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_solvers_say_when_they_ran_out_of_iterations(steps):
    z, mass, wins, ridge = problem(8)
    out = (mle.OUT_OF_ITERATIONS, steps)
    assert mle.newton(columns(z), mass, wins, ridge, LOGISTIC, np.zeros(4), 1e-16, steps) == out
    assert mle.accelerated_gradient(columns(z), mass, wins, ridge, LOGISTIC, np.zeros(4), 1e-12, steps) == out
    assert (
        mle.variance_reduced(columns(z), mass, wins, ridge, LOGISTIC, np.zeros(4), 1e-12, steps, seed_words(0)) == out
    )


def test_newton_stalls_where_rounding_makes_the_hessian_singular():
    # A ridge of 1e-9 disappears beside 1e20: no Cholesky factor exists in floating point.
    z, theta = np.array([[1e10, 1e10]]), np.zeros(2)
    status, _ = mle.newton(columns(z), np.ones(1), np.ones(1), 1e-9, LOGISTIC, theta, 1e-16, 100)
    assert status == mle.STALLED
    assert np.isfinite(theta).all()


@pytest.mark.parametrize("solver", ["newton", "agd", "svrg"])
def test_solvers_leave_the_data_alone(solver):
    z, mass, wins, ridge = problem(9)
    kept = z.copy(), mass.copy(), wins.copy()
    theta = np.zeros(4)
    if solver == "newton":
        mle.newton(columns(z), mass, wins, ridge, LOGISTIC, theta, 1e-16, 50)
    elif solver == "agd":
        mle.accelerated_gradient(columns(z), mass, wins, ridge, LOGISTIC, theta, 1e-8, 500)
    else:
        mle.variance_reduced(columns(z), mass, wins, ridge, LOGISTIC, theta, 1e-8, 500, seed_words(0))
    for array, copy in zip((z, mass, wins), kept, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert (theta != 0.0).all()


def test_columns_beyond_the_mass_are_not_read():
    z, mass, wins, ridge = problem(3)
    wide = np.full((4, 64), np.nan)
    wide[:, : len(z)] = z.T
    narrow, theta = np.zeros(4), np.zeros(4)
    mle.newton(columns(z), mass, wins, ridge, LOGISTIC, narrow, 1e-16, 100)
    mle.newton(wide, mass, wins, ridge, LOGISTIC, theta, 1e-16, 100)
    assert (theta == narrow).all()


def test_the_written_out_exponential_is_that_of_numpy():
    v = np.concatenate([np.linspace(-40, 40, 20_001), np.geomspace(1e-300, 700, 5000), [0.0, -0.0]])
    out = np.empty_like(v)
    mle.exp_of_minus_abs(v, out, np.full_like(v, np.nan))
    # Both sides are rounded: two units in the last place.
    np.testing.assert_allclose(out, np.exp(-np.abs(v)), rtol=2 * np.finfo(float).eps, atol=0)


def test_the_exponential_stays_tiny_and_finite_beyond_its_range():
    v = np.array([701.0, -1e4, 1e300, np.inf])
    out = np.empty_like(v)
    mle.exp_of_minus_abs(v, out, np.full_like(v, np.nan))
    assert ((out > 0.0) & (out < 1e-300)).all()


@pytest.mark.parametrize("link", LINKS)
def test_residual_and_curvature_are_the_written_formulas(link):
    rng = np.random.default_rng(10)
    margins = np.concatenate([rng.normal(size=200), [0.0, -0.0, 30.0, -30.0, 1e3, -1e3]])
    mass = rng.uniform(0, 3, size=margins.size)
    wins = mass * rng.uniform(size=margins.size)
    residual, curvature, room = np.full((3, margins.size), np.nan)
    mle.residual_and_curvature(mass, wins, link, margins, residual, curvature, room)
    np.testing.assert_allclose(residual, mass * MEAN[link](margins) - wins, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(curvature, mass * SLOPE[link](margins), rtol=1e-12, atol=1e-14)


def test_the_logistic_model_has_the_bend_beside_residual_and_curvature():
    rng = np.random.default_rng(11)
    margins = np.concatenate([rng.normal(size=200), [0.0, -0.0, 30.0, -30.0, 1e3, -1e3]])
    mass = rng.uniform(0, 3, size=margins.size)
    wins = mass * rng.uniform(size=margins.size)
    residual, slopes, bends, room, same, alike = np.full((6, margins.size), np.nan)
    mle.logistic_model(mass, wins, margins, residual, slopes, bends, room)
    mle.residual_and_curvature(mass, wins, LOGISTIC, margins, same, alike, room)
    np.testing.assert_array_equal([residual, slopes], [same, alike])
    mean = MEAN[LOGISTIC](margins)
    np.testing.assert_allclose(
        bends, 0.5 * mass * SLOPE[LOGISTIC](margins) * (1.0 - 2.0 * mean), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("link", LINKS)
def test_only_the_upper_triangle_of_the_hessian_is_written(link):
    z, mass, wins, ridge = problem(0)
    theta, h = np.ones(4), np.full((4, 4), np.nan)
    mle.gradient_and_hessian(columns(z), mass, wins, ridge, link, theta, z @ theta, np.empty(4), h)
    np.testing.assert_array_equal(np.isnan(h), np.tril(np.full((4, 4), True), -1))
