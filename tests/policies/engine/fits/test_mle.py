"""The objective and its solvers, against NumPy, SciPy and numerical differentiation."""

import native_testing as parts
import numpy as np
import pytest
from scipy import optimize, special, stats

from duelist import native
from duelist.core.seeds import seed_words

LOGISTIC, PROBIT, EXPONENTIAL = LINKS = ("logistic", "probit", "exponential")
CONVERGED, OUT_OF_ITERATIONS, STALLED = range(3)
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
    """Rows as the engine takes them: one contiguous line a feature."""
    return np.ascontiguousarray(z.T)


def padded(z, mass, wins):
    """Columns, mass and wins with rows of no mass up to a multiple of 16."""
    more = -len(z) % 16
    return columns(np.pad(z, ((0, more), (0, 0)))), np.pad(mass, (0, more)), np.pad(wins, (0, more))


def solve(solver, rows, ridge, link, start, tolerance, most, seed=0):
    """theta, status and iterations of a solver of `fit_mle`."""
    return native.solve(solver, *padded(*rows), ridge, link, np.array(start, float), tolerance, most, seed_words(seed))


def newton(rows, ridge, link, start, most=100):
    return solve("newton", rows, ridge, link, start, 1e-16, most)


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
    g = native.gradient(*padded(z, mass, wins), ridge, link, theta)
    h = parts.curvature(columns(z), mass, wins, ridge, link, theta)
    # Forty terms of size at most 10: rounding stays under 1e-13.
    assert parts.objective(columns(z), mass, wins, ridge, link, theta) == pytest.approx(
        objective(z, mass, wins, ridge, link, theta), abs=1e-12
    )
    np.testing.assert_allclose(g, gradient(z, mass, wins, ridge, link, theta), atol=1e-12)
    np.testing.assert_allclose(np.triu(h), np.triu(hessian(z, mass, ridge, link, theta)), atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_gradient_is_the_derivative_of_the_objective(link):
    z, mass, wins, ridge = problem(2)
    theta = np.random.default_rng(3).normal(size=4)
    g = native.gradient(*padded(z, mass, wins), ridge, link, theta)
    h = 1e-5
    for k, e in enumerate(h * np.eye(4)):
        up = parts.objective(columns(z), mass, wins, ridge, link, theta + e)
        down = parts.objective(columns(z), mass, wins, ridge, link, theta - e)
        # Rounding eps |F| / h = 1e-16 * 100 / 1e-5, truncation h^2 times third derivatives under 100.
        assert (up - down) / (2 * h) == pytest.approx(g[k], abs=2e-8)


def test_residual_sum_counts_a_tie_as_half_a_win_and_half_a_loss():
    z, mass, wins, _ = problem(4)
    theta = np.random.default_rng(5).normal(size=4)
    for link in LINKS:
        p = MEAN[link](z @ theta)
        split = np.sum(wins * (1 - p) ** 2) + np.sum((mass - wins) * (0 - p) ** 2)
        assert parts.residual_sum(columns(z), mass, wins, link, theta) == pytest.approx(split, rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(5))
def test_newton_reaches_the_root(link, seed):
    z, mass, wins, ridge = problem(seed)
    theta, status, iterations = newton((z, mass, wins), ridge, link, np.zeros(4))
    assert (status, iterations < 20) == (CONVERGED, True)
    np.testing.assert_allclose(theta, root(z, mass, wins, ridge, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_accelerated_gradient_and_variance_reduction_reach_the_same_root(link, seed):
    z, mass, wins, ridge = problem(seed)
    expected = root(z, mass, wins, ridge, link)
    for solver, most in (("agd", 10_000), ("svrg", 2000)):
        theta, status, _ = solve(solver, (z, mass, wins), ridge, link, np.zeros(4), 1e-10, most, seed)
        assert status == CONVERGED
        np.testing.assert_allclose(theta, expected, rtol=0, atol=1e-8)


def test_accelerated_gradient_has_a_linear_rate():
    # Condition number 4000. Momentum that is never dropped needs over 5000 steps here; the linear
    # rate sqrt(condition) log(1 / tolerance) promises about 63 * 23 = 1500.
    rng = np.random.default_rng(0)
    z, wins = rng.normal(size=(200, 5)) * np.geomspace(1, 0.05, 5), (rng.random(200) < 0.6).astype(float)
    assert solve("agd", (z, np.ones(200), wins), 0.01, LOGISTIC, np.zeros(5), 1e-10, 1500)[1] == CONVERGED


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
    theta, status, _ = newton((z, mass, wins), ridge, link, np.zeros(2))
    assert status == CONVERGED
    # |theta - root| <= |gradient| / ridge bounds the error without another solver.
    assert np.linalg.norm(gradient(z, mass, wins, ridge, link, theta)) <= 1e-8 * ridge


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("start", [0.0, 3.0, -40.0])
def test_every_newton_step_decreases_the_objective(link, start):
    z, mass, wins, ridge = TRAP
    values = []
    for steps in range(25):
        theta, _, _ = newton((z, mass, wins), ridge, link, np.full(2, start), steps)
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
    safe = np.array([parts.full_step_is_safe(link, start[k : k + 1], step[k : k + 1]) for k in range(start.size)])
    before, after = (POTENTIAL[link](v) - wins * v for v in (start, start + step))
    assert (after <= before + 4e-15)[safe].all()  # both are of size 6 at most: two roundings each
    assert 0.01 < safe.mean() < 0.5  # a rule that says always or never would prove nothing


def test_any_doubtful_move_makes_the_full_step_unsafe():
    margins, moves = np.zeros(3), np.array([0.01, 0.01, 9.0])
    assert not parts.full_step_is_safe(LOGISTIC, margins, moves)
    assert not parts.full_step_is_safe(LOGISTIC, margins, -moves)
    assert parts.full_step_is_safe(LOGISTIC, margins[:2], moves[:2])
    assert not parts.full_step_is_safe(LOGISTIC, margins, np.full(3, np.nan))


@pytest.mark.parametrize("link", LINKS)
def test_newton_reaches_the_root_from_far_away(link):
    z, mass, wins, ridge = problem(6)
    theta, status, _ = newton((z, mass, wins), ridge, link, np.full(4, 1e4), 200)
    assert status == CONVERGED
    np.testing.assert_allclose(theta, root(z, mass, wins, ridge, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("start", [1e6, 1e12])
def test_newton_says_converged_only_where_the_gradient_is_small(link, start):
    z, mass, wins, ridge = problem(6)
    theta, status, _ = newton((z, mass, wins), ridge, link, np.full(4, start), 200)
    # A decrement of 1e-16 bounds the gradient by 1e-8 sqrt(largest Hessian eigenvalue), under 1e-7.
    assert status != CONVERGED or np.linalg.norm(gradient(z, mass, wins, ridge, link, theta)) <= 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_smoothness_bounds_the_curvature_of_random_problems(seed):
    z, mass, _, ridge = problem(seed)
    for link in LINKS:
        flat = np.linalg.eigvalsh(hessian(z, mass, ridge, link, np.zeros(4))).max()  # slopes are largest at 0
        bound = parts.smoothness(columns(z), mass, ridge, link)
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
    assert parts.smoothness(columns(z), np.ones(len(z)), 0.1, LOGISTIC) >= flat * (1 - 1e-12)


@pytest.mark.parametrize("z", [np.zeros((2, 3)), np.zeros((0, 3))], ids=["zero rows", "no rows"])
@pytest.mark.parametrize("solver", ["newton", "agd", "svrg"])
def test_with_nothing_to_learn_from_every_solver_shrinks_to_zero(solver, z):
    rows = z, np.ones(len(z)), np.ones(len(z))
    theta, status, _ = solve(
        solver, rows, 0.7, LOGISTIC, [1.0, -2.0, 3.0], 1e-16 if solver == "newton" else 1e-12, 1000
    )
    assert status == CONVERGED
    np.testing.assert_allclose(theta, 0.0, atol=1e-11)


def test_variance_reduction_never_draws_a_row_without_mass():
    z = np.array([[1.0], [1e6], [2.0], [1e6]])  # the step is set by the rows that count
    mass, wins = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    theta, status, _ = solve("svrg", (z, mass, wins), 1.0, LOGISTIC, [0.0], 1e-12, 1000)
    assert status == CONVERGED
    np.testing.assert_allclose(theta, root(z, mass, wins, 1.0, LOGISTIC), rtol=0, atol=1e-10)


@pytest.mark.parametrize("solver", ["newton", "agd", "svrg"])
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_solvers_say_when_they_ran_out_of_iterations(solver, steps):
    z, mass, wins, ridge = problem(8)
    out = solve(solver, (z, mass, wins), ridge, LOGISTIC, np.zeros(4), 1e-16, steps)
    assert out[1:] == (OUT_OF_ITERATIONS, steps)


def test_newton_stalls_where_rounding_makes_the_hessian_singular():
    # A ridge of 1e-9 disappears beside 1e20: no Cholesky factor exists in floating point.
    theta, status, _ = newton((np.array([[1e10, 1e10]]), np.ones(1), np.ones(1)), 1e-9, LOGISTIC, np.zeros(2))
    assert status == STALLED
    assert np.isfinite(theta).all()


@pytest.mark.parametrize("solver", ["newton", "agd", "svrg", "online"])
def test_solvers_leave_the_data_alone(solver):
    z, mass, wins, ridge = problem(9)
    given = *padded(z, mass, wins), np.zeros(4), seed_words(0)
    kept = [array.copy() for array in given]
    theta = native.solve(solver, *given[:3], ridge, LOGISTIC, given[3], 1e-8, 500, given[4])[0]
    for array, copy in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert (theta != 0.0).all()


@pytest.mark.parametrize("link", LINKS)
def test_residual_and_curvature_are_the_written_formulas(link):
    rng = np.random.default_rng(10)
    margins = np.concatenate([rng.normal(size=200), [0.0, -0.0, 30.0, -30.0, 1e3, -1e3]])
    mass = rng.uniform(0, 3, size=margins.size)
    wins = mass * rng.uniform(size=margins.size)
    residual, curvature, *_ = parts.residuals_and_slopes(margins, mass, wins, link)
    np.testing.assert_allclose(residual, mass * MEAN[link](margins) - wins, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(curvature, mass * SLOPE[link](margins), rtol=1e-12, atol=1e-14)


def test_the_logistic_model_has_the_bend_beside_residual_and_curvature():
    rng = np.random.default_rng(11)
    margins = np.concatenate([rng.normal(size=200), [0.0, -0.0, 30.0, -30.0, 1e3, -1e3]])
    mass = rng.uniform(0, 3, size=margins.size)
    wins = mass * rng.uniform(size=margins.size)
    *_, residual, slopes, bends = parts.residuals_and_slopes(margins, mass, wins, LOGISTIC)
    np.testing.assert_allclose(residual, mass * MEAN[LOGISTIC](margins) - wins, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slopes, mass * SLOPE[LOGISTIC](margins), rtol=1e-12, atol=1e-14)
    mean = MEAN[LOGISTIC](margins)
    np.testing.assert_allclose(
        bends, 0.5 * mass * SLOPE[LOGISTIC](margins) * (1.0 - 2.0 * mean), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("link", LINKS)
def test_only_the_upper_triangle_of_the_hessian_is_written(link):
    z, mass, wins, ridge = problem(0)
    h = parts.curvature(columns(z), mass, wins, ridge, link, np.ones(4), np.nan)
    np.testing.assert_array_equal(np.isnan(h), np.tril(np.full((4, 4), True), -1))


@pytest.mark.parametrize("solver", ["newton", "agd", "svrg"])
@pytest.mark.parametrize("rubbish", [np.inf, np.nan])
def test_solvers_give_up_at_once_where_numbers_have_overflowed(solver, rubbish):
    z, mass, wins, ridge = problem(8)
    mass[3] = rubbish
    _, status, iterations = solve(solver, (z, mass, wins), ridge, LOGISTIC, np.zeros(4), 1e-9, 10**9)
    assert status == STALLED
    assert iterations < 1100  # halving a step for as long as there is one
