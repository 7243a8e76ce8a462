"""The estimate that follows its data, against SciPy, NumPy and the solvers of `fit_mle`."""

import native_testing as parts
import numpy as np
import pytest
from scipy import optimize

import duelist as dl

LINKS = ("logistic", "probit", "exponential")
CONVERGED = 0


def random_precision(rng, dim, smallest=1.0, largest=10.0):
    """Eigenvalues spread evenly in their logarithm, from smallest to largest."""
    q, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    return (q * np.geomspace(smallest, largest, dim)) @ q.T


def upper(matrix):
    """R with R'R = matrix."""
    return np.ascontiguousarray(np.linalg.cholesky(matrix, upper=True))


# -- one outcome -------------------------------------------------------------------------

SURPRISES = [(-30.0, 1.0), (30.0, 0.0), (-5.0, 1.0), (0.0, 1.0), (0.0, 0.0), (3.0, 1.0), (-700.0, 1.0), (2.0, 0.5)]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("v", "outcome"), SURPRISES)
@pytest.mark.parametrize("mass", [1e-9, 1e-3, 1.0, 40.0, 1e6])
@pytest.mark.parametrize("q", [0.0, 1e-9, 0.1, 3.0, 1e4])
def test_the_implicit_step_is_the_root(link, v, outcome, mass, q):
    law, wins = dl.get_link(link), mass * outcome

    def gap(a):
        return a - (wins - mass * float(law.mean(v + a * q)))

    a = parts.implicit_step(link, v, q, mass, wins, parts.UNTIL_CONVERGED)
    low, high = sorted((0.0, wins - mass * float(law.mean(v))))
    # The root has the sign of wins - mass mu(v) and lies on this side of it.
    assert low <= a <= high
    expected = optimize.brentq(gap, low, high, xtol=1e-300, rtol=1e-15, maxiter=2000) if low < high else 0.0
    # `gap` is known to rounding of its largest term only, and rises at least like a.
    assert abs(a - expected) <= 1e-12 * abs(expected) + 1e-15 * mass


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("v", "outcome"), SURPRISES)
def test_a_single_step_never_leaves_the_bracket(link, v, outcome):
    law = dl.get_link(link)
    for mass, q in ((1.0, 1.0), (1e6, 1e4), (1e-9, 1e4)):
        wins = mass * outcome
        a = parts.implicit_step(link, v, q, mass, wins, parts.SINGLE_STEP)
        low, high = sorted((0.0, wins - mass * float(law.mean(v))))
        assert low <= a <= high


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dim", [1, 2, 5, 9])
@pytest.mark.parametrize("mass", [1e-3, 1.0, 50.0])
def test_a_step_minimises_the_new_loss_plus_the_quadratic(link, dim, mass):
    rng = np.random.default_rng([dim, int(mass)])
    law = dl.get_link(link)
    for outcome in (0.0, 0.5, 1.0):
        h, before, z = random_precision(rng, dim), rng.normal(size=dim), rng.normal(size=dim)
        wins = mass * outcome
        theta, factor, margin = parts.one_pass_step(before, upper(h), z, mass, wins, link, np.inf)
        # The gradient of W M(z . x) - O z . x + 1/2 |x - theta|_H^2, which is strictly convex.
        slope = (mass * float(law.mean(z @ theta)) - wins) * z + h @ (theta - before)
        np.testing.assert_allclose(slope, 0.0, atol=1e-11 * (1.0 + mass))
        assert margin == pytest.approx(z @ theta, abs=1e-12)
        expected = h + mass * float(law.slope(z @ theta)) * np.outer(z, z)
        np.testing.assert_allclose(factor.T @ factor, expected, rtol=1e-11, atol=1e-11)

        def loss(x, h=h, before=before, z=z, wins=wins):
            return mass * float(law.potential(z @ x)) - wins * (z @ x) + 0.5 * (x - before) @ h @ (x - before)

        nearby = [loss(theta + 1e-3 * rng.normal(size=dim)) for _ in range(20)]
        assert loss(theta) <= min(nearby)


def test_a_certain_outcome_hardly_moves_the_estimate_and_a_surprise_does_not_overshoot():
    h, z = np.array([[1e-6]]), np.array([1.0])
    for outcome in (0.0, 1.0):
        theta, _, _ = parts.one_pass_step(np.array([30.0]), upper(h), z, 1.0, outcome, "logistic", np.inf)
        if outcome == 1.0:
            assert theta[0] == pytest.approx(30.0, abs=1e-6)
        else:  # a linear step would go to 30 - 1e6
            assert -15.0 < theta[0] < 0.0


@pytest.mark.parametrize("bound", [0.5, 2.0])
def test_a_step_with_a_bound_is_the_projection_of_the_free_step(bound):
    rng = np.random.default_rng(0)
    h, before, z = random_precision(rng, 4), rng.normal(size=4), rng.normal(size=4)
    before *= 0.99 * bound / np.linalg.norm(before)
    z *= np.sign(z @ before)
    free, factor, _ = parts.one_pass_step(before, upper(h), z, 50.0, 50.0, "logistic", np.inf)
    kept, same, margin = parts.one_pass_step(before, upper(h), z, 50.0, 50.0, "logistic", bound)
    assert np.linalg.norm(free) > bound
    np.testing.assert_array_equal(factor, same)
    assert margin == pytest.approx(z @ kept, rel=1e-14)
    np.testing.assert_allclose(kept, projected(free, factor.T @ factor, bound), rtol=0, atol=1e-9)


# -- projection --------------------------------------------------------------------------


def projected(theta, h, bound):
    """argmin |x - theta|_H over |x| <= bound, by eigenvalues and Brent's method."""
    values, vectors = np.linalg.eigh(h)
    along = vectors.T @ theta

    def excess(log_shift):
        return np.linalg.norm(values / (values + np.exp(log_shift)) * along) - bound

    shift = np.exp(optimize.brentq(excess, -60.0, 60.0, xtol=1e-14, rtol=1e-15))
    return vectors @ (values / (values + shift) * along)


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 8, 13, 20])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("outside", [1.0 + 1e-9, 1.5, 100.0])
def test_the_projection_is_the_nearest_point_of_the_ball(dim, condition, outside):
    for seed in range(3):
        rng = np.random.default_rng([dim, seed])
        bound = float(rng.uniform(0.2, 3.0))
        h = random_precision(rng, dim, 1.0 / condition)
        theta = rng.normal(size=dim)
        theta *= outside * bound / np.linalg.norm(theta)
        got = parts.project(theta, upper(h), bound)
        assert np.linalg.norm(got) == pytest.approx(bound, rel=1e-14)
        # Conjugate gradients stop at 1e-13 of |H theta|, which a small eigenvalue multiplies.
        np.testing.assert_allclose(got, projected(theta, h, bound), rtol=0, atol=(1e-9 + 1e-12 * condition) * bound)


@pytest.mark.parametrize("dim", [2, 20])
def test_no_point_of_the_ball_is_nearer_than_the_projection(dim):
    rng = np.random.default_rng(dim)
    h, theta = random_precision(rng, dim, 1e-2), 3.0 * rng.normal(size=dim)
    got = parts.project(theta, upper(h), 1.0)
    x = rng.normal(size=(2000, dim))
    x = np.vstack([x, got + 0.05 * x])
    x /= np.maximum(np.linalg.norm(x, axis=1), 1.0)[:, None]
    distance = np.einsum("sk,kl,sl->s", x - theta, h, x - theta)
    assert (got - theta) @ h @ (got - theta) <= distance.min() * (1.0 + 1e-12)


# -- all rows ----------------------------------------------------------------------------


class Problem:
    """Rows with mass and wins, the root that Newton finds, and the curvature there."""

    def __init__(self, link, dim, n, seed=0, *, separable=False, ridge=0.5, size=1.0, mass=1.0):
        rng = np.random.default_rng([seed, dim, n])
        law = dl.get_link(link)
        self.link, self.ridge = link, ridge
        z = size * rng.normal(size=(n, dim)) / np.sqrt(dim)
        truth = 2.0 * rng.normal(size=dim)
        chance = law.mean(z @ truth)
        outcomes = (chance > 0.5).astype(float) if separable else rng.binomial(3, chance) / 3.0
        self.mass = mass * rng.uniform(0.1, 2.0, size=n)
        self.wins = self.mass * outcomes
        self.z = np.ascontiguousarray(z.T)
        fit = dl.fit_mle(z, outcomes, self.mass, ridge, link, "newton", tolerance=1e-24, max_iterations=500)
        self.root = fit.theta
        slopes = self.mass * law.slope(z @ self.root)
        self.curvature = ridge * np.eye(dim) + (self.z * slopes) @ z
        self.flat = ridge * np.eye(dim) + law.max_slope * (self.z * self.mass) @ z

    def refine(self, start, kept):
        """theta, the curvature kept, and the status."""
        start = np.array(start, dtype=float)
        return parts.refine(self.z, self.mass, self.wins, self.ridge, self.link, start, upper(kept))

    def errors(self, theta):
        """The distance from the root in standard errors."""
        gap = theta - self.root
        return float(np.sqrt(gap @ self.curvature @ gap))


def kept_curvatures(problem, rng):
    """Good ones, stale ones, and some that have nothing to do with the problem."""
    dim = len(problem.root)
    return {
        "true": problem.curvature,
        "at zero": problem.flat,
        "of the ridge": problem.ridge * np.eye(dim),
        "half": 0.5 * problem.curvature,
        "of others": random_precision(rng, dim),
        "tiny": 1e-6 * np.eye(dim),
        "large": 1e3 * problem.flat,
    }


STARTS = {"zero": 0.0, "near": 1e-3, "far": 1.0, "very far": 30.0}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dim", range(1, 9))
@pytest.mark.parametrize("separable", [False, True], ids=["noisy", "separable"])
def test_refining_ends_at_the_root_wherever_it_starts(link, dim, separable):
    rng = np.random.default_rng(dim)
    problem = Problem(link, dim, 40, separable=separable)
    for kept, curvature in kept_curvatures(problem, rng).items():
        for name, size in STARTS.items():
            start = size * rng.normal(size=dim) + (problem.root if name == "near" else 0.0)
            theta, factor, status = problem.refine(start, curvature)
            assert status == CONVERGED, (kept, name)
            assert np.isfinite(factor).all()
            assert problem.errors(theta) <= 1e-7, (kept, name)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n", [1, 2, 16, 500])
@pytest.mark.parametrize("ridge", [1e-6, 0.1])
def test_refining_data_that_hardly_constrain(link, n, ridge):
    problem = Problem(link, 4, n, separable=True, ridge=ridge)
    for curvature in (problem.flat, ridge * np.eye(4)):
        theta, _, status = problem.refine(np.zeros(4), curvature)
        assert status == CONVERGED
        assert problem.errors(theta) <= 1e-7


# Layer l of VACDB has ridge and mass of order 4^-l: the standard error is that of the undivided problem.
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4])
def test_refining_does_not_depend_on_the_unit_of_mass_and_ridge(link, unit):
    problem = Problem(link, 3, 30, ridge=0.1 * unit, mass=unit)
    theta, _, status = problem.refine(np.zeros(3), problem.flat)
    assert status == CONVERGED
    assert problem.errors(theta) <= 1e-7 * np.sqrt(max(unit, 1.0)) * np.sqrt(min(unit, 1.0))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dim", [129, 200])
@pytest.mark.parametrize("separable", [False, True], ids=["noisy", "separable"])
def test_refining_above_the_direct_dimensions_keeps_the_curvature_as_it_was(link, dim, separable):
    assert dim > parts.MAX_DIRECT_DIM
    rng = np.random.default_rng(dim)
    problem = Problem(link, dim, 300, separable=separable, size=3.0)
    for curvature in (problem.curvature, problem.flat, problem.ridge * np.eye(dim), random_precision(rng, dim)):
        for start in (0.0, 1.0):
            theta, factor, status = problem.refine(start * rng.normal(size=dim), curvature)
            assert status == CONVERGED
            assert problem.errors(theta) <= 1e-7
            # No dim^3: the kept factor only steers conjugate gradients.
            np.testing.assert_array_equal(factor, upper(curvature))


def test_refining_up_to_the_direct_dimensions_makes_a_stale_curvature_anew():
    dim = parts.MAX_DIRECT_DIM
    problem = Problem("logistic", dim, 200, size=3.0)
    theta, factor, status = problem.refine(np.zeros(dim), problem.ridge * np.eye(dim))
    assert status == CONVERGED
    assert problem.errors(theta) <= 1e-7
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), problem.curvature, rtol=0, atol=1e-2)


@pytest.mark.parametrize("dim", [4, 129])
def test_refining_without_rows_leads_to_zero(dim):
    problem = Problem("logistic", dim, 1)
    problem.z, problem.mass, problem.wins = np.zeros((dim, 16)), np.zeros(16), np.zeros(16)
    theta, _, _ = problem.refine(np.ones(dim), problem.ridge * np.eye(dim))
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(theta, 0.0, atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dim", [3, 130])
@pytest.mark.parametrize("size", [1e-8, 1e6])
@pytest.mark.parametrize("mass", [1e-12, 1e12])
def test_refining_extreme_problems_is_never_non_finite(link, dim, size, mass):
    problem = Problem(link, dim, 20, separable=True, ridge=1e-9, size=size, mass=mass)
    for start in (0.0, 1e3):
        theta, factor, _ = problem.refine(np.full(dim, start), problem.ridge * np.eye(dim))
        assert np.isfinite(theta).all()
        assert np.isfinite(factor).all()


def test_rows_without_mass_change_nothing():
    problem = Problem("logistic", 3, 10)
    alone, _, _ = problem.refine(np.zeros(3), problem.flat)
    rng = np.random.default_rng(0)
    problem.z = np.ascontiguousarray(np.hstack([problem.z, rng.normal(size=(3, 6))]))
    problem.mass, problem.wins = (np.append(a, np.zeros(6)) for a in (problem.mass, problem.wins))
    padded, _, _ = problem.refine(np.zeros(3), problem.flat)
    np.testing.assert_allclose(padded, alone, rtol=0, atol=1e-12)


# -- rows that come one by one -----------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("every", [False, True], ids=["solved at the end", "solved after every row"])
@pytest.mark.parametrize("dim", [1, 4, 12, 130])
def test_rows_taken_in_one_by_one_end_at_the_root(link, every, dim):
    rng = np.random.default_rng([dim, every])
    n, law = 60, dl.get_link(link)
    z = rng.normal(size=(n, dim)) / np.sqrt(dim)
    outcomes, mass = (rng.random(n) < law.mean(2.0 * z.sum(axis=1))).astype(float), rng.uniform(0.2, 2.0, n)
    theta, _, rows, _, _ = parts.learn_rows(z, mass, outcomes, 0.3, link, solve_every_row=every)
    assert rows == n
    slope = 0.3 * theta + z.T @ (mass * (law.mean(z @ theta) - outcomes))
    # F is strongly convex with modulus 0.3: |theta - root| <= |gradient| / 0.3.
    assert np.linalg.norm(slope) <= 1e-8


def test_equal_and_opposite_differences_share_a_row():
    z = np.array([[1.0, -2.0], [-1.0, 2.0], [0.0, 0.0], [1.0, -2.0], [-0.0, 3.0], [0.0, 3.0], [0.0, -3.0]])
    outcomes, mass = np.array([1.0, 0.0, 1.0, 0.5, 1.0, 1.0, 0.0]), np.array([1.0, 2.0, 5.0, 4.0, 1.0, 1.0, 1.0])
    theta, _, rows, _, _ = parts.learn_rows(z, mass, outcomes, 1.0, "logistic")
    assert rows == 2  # a self-duel is none
    turned = dl.fit_mle([[1.0, -2.0], [0.0, 3.0]], [5.0 / 7.0, 1.0], [7.0, 3.0])
    np.testing.assert_allclose(theta, turned.theta, rtol=0, atol=1e-9)


@pytest.mark.parametrize("link", LINKS)
def test_the_one_pass_estimator_takes_every_row_once(link):
    rng = np.random.default_rng(5)
    law, z = dl.get_link(link), rng.normal(size=(30, 3))
    outcomes, mass = rng.integers(0, 2, 30).astype(float), rng.uniform(0.2, 2.0, 30)
    got, factor, rows, _, residual = parts.learn_rows(z, mass, outcomes, 0.5, link, online=True, bound=1.5)
    theta, h, sum_of_squares = np.zeros(3), 0.5 * np.eye(3), 0.0
    for row, w, o in zip(z, mass, outcomes, strict=True):
        along, before = np.linalg.solve(h, row), row @ theta
        q = row @ along
        a = optimize.brentq(
            lambda a, w=w, o=o, q=q, v=before: a - w * (o - float(law.mean(v + a * q))), -w, w, xtol=1e-15, rtol=1e-15
        )
        theta = theta + a * along
        h = h + w * float(law.slope(row @ theta)) * np.outer(row, row)
        if np.linalg.norm(theta) > 1.5:
            theta = projected(theta, h, 1.5)
        sum_of_squares += w * (o - float(law.mean(row @ theta))) ** 2
    assert rows == 0
    np.testing.assert_allclose(got, theta, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), h, rtol=0, atol=1e-8)
    assert residual == pytest.approx(sum_of_squares, rel=1e-8)
