"""`fit_mle`: the paper's estimator, on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.errors import InvalidInput
from duelist.inputs import finite_floats, floats
from duelist.kernels import mle
from duelist.kernels.random import seed_words
from duelist.kernels.scratch import Room, cut, scratch_block
from duelist.kernels.tracking import one_pass
from duelist.links import Link, get_link

Floats = NDArray[np.float64]

SOLVERS: Final = ("newton", "agd", "svrg", "online")

_ONE_PASS: Final = -1
_ADVICE: Final = {
    mle.CONVERGED: "converged",
    mle.OUT_OF_ITERATIONS: "out of iterations: raise max_iterations or ridge, or take solver='newton'",
    _ONE_PASS: "one pass over the duels in their order: an approximation; take solver='newton' for the root",
    mle.STALLED: "stalled at the limit of floating point: raise ridge, or rescale the features",
}
_LARGEST_ENERGY: Final = 1e300
_ITERATIONS: Final = {"newton": 200, "agd": 100_000, "svrg": 5_000, "online": 1}


@dataclass(frozen=True)
class Fit:
    """What `fit_mle` found. `status` says in words whether to trust it, and what to do if not."""

    theta: Floats
    converged: bool
    status: str
    iterations: int
    gradient_norm: float
    solver: str


def fit_mle(
    differences: ArrayLike,
    outcomes: ArrayLike,
    weights: ArrayLike | None = None,
    ridge: float = 1.0,
    link: str | Link = "logistic",
    solver: str = "newton",
    *,
    start: ArrayLike | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    seed: int = 0,
) -> Fit:
    """The regularised weighted estimate of theta from duels.

    Minimises

        ridge/2 |theta|^2 + sum_s weights_s [ M(z_s . theta) - o_s z_s . theta ],

    with M the potential of the link (M' = mu), so that at the solution
    ridge theta + sum_s weights_s (mu(z_s . theta) - o_s) z_s = 0, the paper's equation. For the
    logistic link this is ridge logistic regression without an intercept, with C = 1/ridge.

    Parameters
    ----------
    differences
        z = x - y of each duel, (n, dim).
    outcomes
        1 the first arm won, 0 the second, 0.5 a tie; any number in [0, 1].
    weights
        What multiplies a duel's loss (scikit-learn's `sample_weight`); VACDB passes w^2. Default 1.
    ridge
        lambda > 0, not divided by anything.
    link
        "logistic", "probit", "exponential", or a `Link`.
    solver
        "newton" (a line search guards it on separable data), "agd" (accelerated gradient
        descent, for large dim), or "svrg": all reach the same root. "online": one pass over the duels in their
        order, O(dim^2) each, as policies with `estimator="online"` do; an approximation, never `converged`.
    start
        Where to start; default 0 ("online": what was known before the first duel).
    tolerance
        Of the Newton decrement (newton, default 1e-16) or the gradient norm (agd and svrg, default
        1e-10 times that at 0, or 1e-12 if larger).
    max_iterations
        Steps (newton, agd) or passes over the data (svrg) before giving up.
    seed
        Of the random order of svrg.

    >>> fit = fit_mle([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> fit.converged
    True
    >>> fit.theta.round(4)
    array([ 0.4011, -0.4011])
    """
    z, mass, wins = _check_rows(differences, outcomes, weights)
    dim = z.shape[0]
    code = get_link(link).code
    _check_settings(ridge, solver, tolerance, max_iterations)
    ridge = float(ridge)
    theta = _check_start(start, dim)
    gradient = np.empty(dim)
    mle.gradient(z, mass, wins, ridge, code, np.zeros(dim), gradient)
    limit = max_iterations if max_iterations is not None else _ITERATIONS[solver]
    if solver == "newton":
        goal = tolerance if tolerance is not None else 1e-16
        status, iterations = mle.newton(z, mass, wins, ridge, code, theta, goal, limit)
    else:
        goal = tolerance if tolerance is not None else max(1e-10 * mle.norm(gradient), 1e-12)
        if solver == "online":
            room = Room(1, dim, 0)
            one_pass(z, mass, wins, ridge, code, theta, cut(scratch_block(room), room))
            status, iterations = _ONE_PASS, 1
        elif solver == "agd":
            status, iterations = mle.accelerated_gradient(z, mass, wins, ridge, code, theta, goal, limit)
        else:
            status, iterations = mle.variance_reduced(z, mass, wins, ridge, code, theta, goal, limit, seed_words(seed))
    mle.gradient(z, mass, wins, ridge, code, theta, gradient)
    return Fit(theta, status == mle.CONVERGED, _ADVICE[status], iterations, float(mle.norm(gradient)), solver)


def _check_rows(
    differences: ArrayLike, outcomes: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Rows as the kernels want them: differences as columns, mass, wins."""
    z = finite_floats("differences", differences, "finite numbers, one row a duel: (n, dim)")
    o = floats("outcomes", outcomes, "numbers from 0 (second won) to 1 (first won)")
    if z.ndim != 2 or z.shape[1] == 0:
        raise InvalidInput(f"differences have shape {z.shape}; give one row a duel: (n, dim)")
    mass = np.ones(len(z)) if weights is None else floats("weights", weights, "finite numbers of at least 0")
    for name, array in (("outcomes", o), ("weights", mass)):
        if array.shape != (len(z),):
            raise InvalidInput(f"{name} have shape {array.shape}, but there are {len(z)} differences; give one each")
    _check_all("outcomes", o, (o >= 0.0) & (o <= 1.0), "numbers from 0 (second won) to 1 (first won)")
    _check_all("weights", mass, (mass >= 0.0) & np.isfinite(mass), "finite numbers of at least 0")
    with np.errstate(over="ignore", invalid="ignore"):
        energy = float(mass @ np.square(z).sum(axis=1))
    if not energy <= _LARGEST_ENERGY:
        raise InvalidInput(
            f"weights times squared differences add to {energy:.3g}, which would overflow; rescale the features or weights"
        )
    return np.ascontiguousarray(z.T), mass, mass * o


def _check_all(name: str, values: Floats, good: NDArray[np.bool_], wanted: str) -> None:
    if not good.all():
        at = int(np.argmin(good))
        raise InvalidInput(f"{name}[{at}] is {values[at]}; give {wanted}")


def _check_start(start: ArrayLike | None, dim: int) -> Floats:
    theta = np.zeros(dim) if start is None else finite_floats("start", start, f"{dim} finite numbers")
    if theta.shape != (dim,):
        raise InvalidInput(f"start has shape {theta.shape}; give {dim} finite numbers")
    return theta


def _check_settings(ridge: float, solver: str, tolerance: float | None, max_iterations: int | None) -> None:
    value = finite_floats("ridge", ridge, "a positive finite number")
    if value.shape != () or not value > 0.0:
        raise InvalidInput(f"ridge is {ridge!r}; give a positive finite number")
    if solver not in SOLVERS:
        raise InvalidInput(f"solver is {solver!r}; choose one of {', '.join(SOLVERS)}")
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0.0 < tolerance < np.inf):
        raise InvalidInput(f"tolerance is {tolerance!r}; give a positive finite number, or None")
    whole = isinstance(max_iterations, (int, np.integer)) and not isinstance(max_iterations, bool)
    if max_iterations is not None and not (whole and max_iterations >= 0):
        raise InvalidInput(f"max_iterations is {max_iterations!r}; give a whole number of at least 0, or None")
