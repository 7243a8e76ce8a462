"""`fit_mle`: the regularised, weighted estimate of theta, the paper's estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist import native
from duelist.core.arrays import Floats, as_floats, check_choice, check_finite, is_integer
from duelist.core.errors import InvalidInput
from duelist.core.seeds import RandomState, check_random_state, seed_words
from duelist.model.links import Link, get_link
from duelist.model.ridge_selection import VoteRows, select_ridge
from duelist.model.scorer import Scorer

SOLVERS: Final = ("newton", "agd", "svrg", "online")

_CONVERGED, _OUT_OF_ITERATIONS, _STALLED, _ONE_PASS, _UNSETTLED = range(5)
_STATUS: Final = {
    _CONVERGED: "converged",
    _OUT_OF_ITERATIONS: "out of iterations: raise max_iterations or ridge",
    _STALLED: "stalled at the limit of floating point: raise ridge, or rescale the features",
    _UNSETTLED: "the gradient is small, but theta is not settled: lower the tolerance, or raise ridge",
    _ONE_PASS: "one pass over the duels in order: an approximation; use solver='newton' for the root",
}
_FIRST_ORDER: Final = ("agd", "svrg")
_PAD: Final = 16
_MAX_ENERGY: Final = 1e300
_HUGE_ENERGY: Final = 2.0**40
_TINY: Final = 1e-300
_SETTLED: Final = 1e-6
"""Largest change of theta by one more Newton step, relative to its norm in standardised features, of a converged fit."""
_SETTLED_ENOUGH: Final = 1e-2
"""The same where the caller gave a tolerance."""
_UNSEEN: Final = 2.0**-50
"""Root mean square of changes of margins that double precision cannot tell from none, since chances are near 1/2."""
_LEAST_GRADIENT: Final = 1e-3
"""Smallest scale of the gradient, as a share of the sum of its terms' sizes: with ties alone it is 0 at theta = 0."""
AUTO: Final = "auto"
Rows = tuple[Floats, Floats, Floats, float, str]
"""Differences as columns, mass, wins, the common ridge and the link, as the engine takes them."""
_DEFAULT_TOLERANCE: Final = {"newton": 1e-16, "agd": 1e-10, "svrg": 1e-10, "online": 1.0}
_MAX_ITERATIONS: Final = {"newton": 200, "agd": 100_000, "svrg": 5_000, "online": 1}


@dataclass(frozen=True)
class Fit:
    """Result of `fit_mle`. `status` states whether to trust it, and what to do if not.

    `converged` means that one more Newton step would change theta by at most 1e-6 of its norm, each feature divided by
    its root mean square; by at most 1e-2 if a tolerance was given.
    """

    theta: Floats
    converged: bool
    status: str
    iterations: int
    gradient_norm: float
    solver: str
    ridge: float | Floats = 1.0
    """The given ridge, or the selected one."""


def fit_mle(
    differences: ArrayLike,
    outcomes: ArrayLike,
    weights: ArrayLike | None = None,
    ridge: float | ArrayLike | str = 1.0,
    link: str | Link = "logistic",
    solver: str = "newton",
    *,
    start: ArrayLike | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    random_state: RandomState = 0,
) -> Fit:
    """Return the regularised, weighted estimate of theta from duels.

    Minimises

        ridge/2 |theta|^2 + sum_s weights_s [ M(z_s . theta) - o_s z_s . theta ],

    with M the potential of the link (M' = mu), so that at the solution ridge theta + sum_s weights_s (mu(z_s . theta) -
    o_s) z_s = 0, the paper's equation. With the logistic link this is ridge logistic regression without an intercept, C
    = 1/ridge.

    Parameters
    ----------
    differences
        z = x - y of each duel, (n, dim).
    outcomes
        1 if the first arm won, 0 if the second won, 0.5 for a tie; any number in [0, 1].
    weights
        Multiply the loss of each duel (scikit-learn's `sample_weight`); VACDB passes w^2. Default 1.
    ridge
        lambda > 0, not divided by anything: one number, or one per feature. "auto" selects the ridge by evidence, in
        proportion to the variance of each feature (`duelist.model.ridge_selection`); it does not depend on the units of
        the features. Use it to predict new votes, above all with many features.
    link
        "logistic", "probit", "exponential", or a `Link`.
    solver
        "newton" (with line search, safe on separable data), "agd" (accelerated gradient descent, for large dim), or
        "svrg": all reach the same root. "online": one pass over the duels in order, O(dim^2) each, as policies with
        `estimator="online"` do; an approximation, never `converged`.
    start
        Initial theta; default 0.
    tolerance
        newton: of the Newton decrement (default 1e-16). agd and svrg: of the gradient norm relative to that at 0, each
        feature divided by its root mean square (default 1e-10). The units of the features matter to neither.
    max_iterations
        Largest number of steps (newton, agd) or of passes over the data (svrg).
    random_state
        Seed of the random order of svrg, or a NumPy generator to draw it from.

    >>> fit = fit_mle([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> fit.converged
    True
    >>> fit.theta.round(4)
    array([ 0.4011, -0.4011])
    """
    z, mass, wins = _check_rows(differences, outcomes, weights)
    dim = z.shape[0]
    name = get_link(link).name
    _check_settings(solver, tolerance, max_iterations)
    theta = _check_start(start, dim)
    if isinstance(ridge, str):
        ridge = _auto_ridge(ridge, VoteRows(z.T, mass, wins), get_link(link))
    ridges = _check_ridge(ridge, dim)
    unit = _mass_unit(z, mass, solver)
    mass, wins, ridges = mass / unit, wins / unit, ridges / unit
    root, common, ridge_scale = _standardise(z, mass, ridges, get_link(link), solver)
    z, theta = z / root[:, None], theta * root
    rows = (z, mass, wins, common, name)
    goal = _DEFAULT_TOLERANCE[solver] if tolerance is None else float(tolerance)
    if solver in _FIRST_ORDER:
        goal *= _gradient_scale(rows, ridge_scale)
    limit = max_iterations if max_iterations is not None else _MAX_ITERATIONS[solver]
    theta, status, iterations = native.solve(
        solver, *rows, theta, goal, int(limit), seed_words(check_random_state(random_state)), ridge_scale
    )
    gradient = native.gradient(*rows, theta, ridge_scale)
    if solver == "online":
        status = _ONE_PASS
    elif status == _CONVERGED and not (
        _step_left(rows, ridge_scale, theta, gradient) <= (_SETTLED if tolerance is None else _SETTLED_ENOUGH)
    ):
        status = _UNSETTLED
    used = np.asarray(ridge, np.float64)
    return Fit(
        theta / root,
        status == _CONVERGED,
        _advice(status, solver),
        iterations,
        unit * float(np.linalg.norm(gradient * root)),
        solver,
        used if used.ndim else float(used),
    )


def fit_scorer(
    differences: ArrayLike,
    outcomes: ArrayLike,
    weights: ArrayLike | None = None,
    link: str | Link = "logistic",
    **fields: Any,
) -> Scorer:
    """Return a scorer from `fit_mle` with ridge "auto"; `fields` are further fields of `Scorer`.

    >>> fit_scorer([[1.0, 0.0], [0.0, 1.0]], [1, 0]).prefer([1.0, 0.0], [0.0, 1.0]) > 0.5
    np.True_
    """
    fit = fit_mle(differences, outcomes, weights, AUTO, link)
    z, mass, _ = _check_rows(differences, outcomes, weights)
    scale = np.sqrt(np.square(z) @ mass / (2.0 * max(mass.sum(), _TINY)))
    ridge = np.broadcast_to(np.asarray(fit.ridge, np.float64), fit.theta.shape)
    return Scorer(fit.theta, get_link(link).name, scale=scale, ridge=ridge, **fields)


def _auto_ridge(ridge: str, votes: VoteRows, link: Link) -> Floats:
    if ridge != AUTO:
        raise InvalidInput(
            f"ridge is {ridge!r}.", f"Give a positive finite number, one for each feature, or {AUTO!r}.", field="ridge"
        )
    return select_ridge(votes, link)


def _advice(status: int, solver: str) -> str:
    """Return the text of a status; only first-order solvers are told to try Newton's method."""
    advises_newton = solver in _FIRST_ORDER and status in (_OUT_OF_ITERATIONS, _UNSETTLED)
    return _STATUS[status] + (", or use solver='newton'" if advises_newton else "")


def _mass_unit(z: Floats, mass: Floats, solver: str) -> float:
    """Return a power of two by which weights and ridge are divided, so that any weights are ordinary in size.

    Newton steps need this only with huge weights, where rounding exceeds the tolerance.
    """
    if solver in _FIRST_ORDER:
        return _power_of_two(float(mass.sum()))
    energy = float(mass @ np.square(z).sum(axis=0))
    return 1.0 if solver == "online" or energy < _HUGE_ENERGY else _power_of_two(energy)


def _power_of_two(size: float) -> float:
    return float(2.0 ** np.clip(np.round(np.log2(size)), -1000, 1000)) if size > 0.0 else 1.0


def _standardise(
    z: Floats, mass: Floats, ridges: Floats, link: Link, solver: str
) -> tuple[Floats, float, Floats | None]:
    """Return factors to divide the features by, and the ridge that then applies: a number, and factors per feature.

    Newton's method does not depend on units, so features are divided only to have a common ridge. The rate of first-order
    methods does: for these, features are divided so that the diagonal of the largest Hessian becomes 1.
    """
    if solver not in _FIRST_ORDER:
        equal = bool((ridges == ridges[0]).all())
        return (np.ones(len(z)), float(ridges[0]), None) if equal else (np.sqrt(ridges), 1.0, None)
    root = np.sqrt(link.max_slope * (np.square(z) @ mass) + ridges)
    return root, 1.0, ridges / root**2


def _gradient_scale(rows: Rows, ridge_scale: Floats | None) -> float:
    """Return the gradient norm at 0; if outcomes nearly cancel there, a share of the sum of the sizes of its terms."""
    z, mass, *_ = rows
    at_zero = native.gradient(*rows, np.zeros(len(z)), ridge_scale)
    terms = float(mass @ np.sqrt(np.square(z).sum(axis=0)))
    return max(float(np.linalg.norm(at_zero)), _LEAST_GRADIENT * terms)


def _step_left(rows: Rows, ridge_scale: Floats | None, theta: Floats, gradient: Floats) -> float:
    """Return by how much one more Newton step would change theta; a small gradient alone does not make that small."""
    z, mass, _, common, link = rows
    weights = mass * get_link(link).slope(theta @ z)
    curvature = (z * weights) @ z.T
    diagonal = np.diag_indices_from(curvature)
    curvature[diagonal] += common if ridge_scale is None else common * ridge_scale
    sizes = np.sqrt(np.square(z) @ mass + (common if ridge_scale is None else common * ridge_scale))
    try:
        step = np.linalg.solve(curvature / sizes / sizes[:, None], gradient / sizes)
    except np.linalg.LinAlgError:
        return float("inf")
    left = float(np.linalg.norm(step))
    if left <= _UNSEEN * math.sqrt(float(mass.sum())):
        return 0.0
    return left / max(float(np.linalg.norm(theta * sizes)), _TINY)


def _check_rows(
    differences: ArrayLike, outcomes: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return rows for the engine: differences as columns, mass and wins, padded with zeros to a multiple of 16."""
    z = check_finite("differences", differences, "finite numbers, one row per duel: (n, dim)")
    o = as_floats("outcomes", outcomes, "numbers from 0 (second won) to 1 (first won)")
    if z.ndim != 2 or z.shape[1] == 0:
        raise InvalidInput(f"differences have shape {z.shape}.", "Give one row per duel: (n, dim).")
    mass = np.ones(len(z)) if weights is None else as_floats("weights", weights, "finite numbers of at least 0")
    for name, array in (("outcomes", o), ("weights", mass)):
        if array.shape != (len(z),):
            raise InvalidInput(
                f"{name} have shape {array.shape}, but there are {len(z)} differences.",
                "Give one per difference.",
                field=name,
            )
    _check_all("outcomes", o, (o >= 0.0) & (o <= 1.0), "numbers from 0 (second won) to 1 (first won)")
    _check_all("weights", mass, (mass >= 0.0) & np.isfinite(mass), "finite numbers of at least 0")
    with np.errstate(over="ignore", invalid="ignore"):
        energy = float(mass @ np.square(z).sum(axis=1))
    if not energy <= _MAX_ENERGY:
        raise InvalidInput(
            f"Weights times squared differences add to {energy:.3g}, which would overflow.",
            "Rescale the features or weights.",
        )
    n = len(z)
    columns = np.zeros((z.shape[1], -(-n // _PAD) * _PAD))
    columns[:, :n] = z.T
    padding = columns.shape[1] - n
    return columns, np.pad(mass, (0, padding)), np.pad(mass * o, (0, padding))


def _check_all(name: str, values: Floats, valid: NDArray[np.bool_], wanted: str) -> None:
    if not valid.all():
        at = int(np.argmin(valid))
        raise InvalidInput(f"{name}[{at}] is {values[at]}.", f"Give {wanted}.")


def _check_start(start: ArrayLike | None, dim: int) -> Floats:
    theta = np.zeros(dim) if start is None else check_finite("start", start, f"{dim} finite numbers")
    if theta.shape != (dim,):
        raise InvalidInput(f"start has shape {theta.shape}.", f"Give {dim} finite numbers.")
    return theta


def _check_ridge(ridge: float | ArrayLike, dim: int) -> Floats:
    """Return the ridge of each feature."""
    value = check_finite("ridge", ridge, f"a positive finite number, or one for each of the {dim} features")
    if value.shape not in ((), (dim,)) or not (value > 0.0).all():
        raise InvalidInput(
            f"ridge is {ridge!r}.",
            f"Give a positive finite number, or one for each of the {dim} features.",
            field="ridge",
        )
    return np.broadcast_to(value, (dim,)).copy()


def _check_settings(solver: str, tolerance: float | None, max_iterations: int | None) -> None:
    check_choice("solver", solver, SOLVERS)
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0.0 < tolerance < np.inf):
        raise InvalidInput(f"tolerance is {tolerance!r}.", "Give a positive finite number, or None.", field="tolerance")
    if max_iterations is not None and not (is_integer(max_iterations) and max_iterations >= 0):
        raise InvalidInput(
            f"max_iterations is {max_iterations!r}.",
            "Give a whole number of at least 0, or None.",
            field="max_iterations",
        )
