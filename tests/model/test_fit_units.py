"""`fit_mle` in any units: what is called converged is at the root, whatever the sizes of features, weights and ridge."""

import numpy as np
import pytest

import duelist as dl
from tests.helpers.logistic_root import logistic_root

SOLVERS = ("newton", "agd", "svrg")
UNITS = [1e-9, 1e-3, 1.0, 1e3, 1e6, 1e10]


def votes(seed, n=200, dim=4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, dim))
    return z, (rng.random(n) < 1.0 / (1.0 + np.exp(-z @ rng.normal(size=dim)))).astype(float)


def error(theta, root):
    return np.linalg.norm(theta - root) / np.linalg.norm(root)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
@pytest.mark.parametrize("unit", UNITS)
def test_features_in_other_units_have_the_same_root_in_those_units(solver, link, unit):
    """theta z is the same number if z is multiplied by u, theta divided by u and the ridge multiplied by u^2."""
    z, won = votes(0)
    root = dl.fit_mle(z, won, link=link).theta
    fit = dl.fit_mle(unit * z, won, ridge=unit**2, link=link, solver=solver)
    assert fit.converged, fit.status
    assert error(unit * fit.theta, root) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("unit", UNITS)
def test_large_units_under_a_ridge_of_one(solver, unit):
    z, won = votes(1)
    fit = dl.fit_mle(unit * z, won, solver=solver)
    assert fit.converged, fit.status
    assert error(unit * fit.theta, logistic_root(z, won, unit**-2)) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_features_of_nineteen_orders_of_magnitude_beside_each_other(solver):
    z, won = votes(2)
    units = np.array([1e-9, 1e-2, 1.0, 1e10])
    fit = dl.fit_mle(z * units, won, ridge=units**2, solver=solver)
    assert fit.converged, fit.status
    assert error(fit.theta * units, dl.fit_mle(z, won).theta) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("limit", [1, 3, 10, 30, 100, 1000])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6, 1e10])
def test_no_solver_says_converged_far_from_the_root(solver, limit, unit):
    z, won = votes(3, n=60)
    z[:, 1] = z[:, 0] + 1e-3 * z[:, 1]  # nearly the same feature twice: gradients fall long before theta settles
    fit = dl.fit_mle(unit * z, won, ridge=1e-6 * unit**2, solver=solver, max_iterations=limit)
    root = logistic_root(z, won, 1e-6)
    assert not fit.converged or error(unit * fit.theta, root) < 1e-5
    assert fit.converged == (fit.status == "converged")


@pytest.mark.parametrize("solver", SOLVERS)
def test_only_first_order_solvers_advise_newton(solver):
    z, won = votes(4)
    status = dl.fit_mle(z, won, solver=solver, max_iterations=1).status
    assert "raise max_iterations" in status
    assert ("newton" in status) == (solver != "newton")
