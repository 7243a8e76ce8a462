"""`fit_mle`: the regularised, weighted estimate of theta, the paper's estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist import native
from duelist.core.arrays import Floats, as_floats, check_choice, check_finite, is_integer
from duelist.core.errors import InvalidInput
from duelist.core.seeds import seed_words
from duelist.model.links import Link, get_link
from duelist.model.ridge_selection import VoteRows, select_ridge
from duelist.model.scorer import Scorer

SOLVERS: Final = ("newton", "agd", "svrg", "online")

_CONVERGED, _OUT_OF_ITERATIONS, _STALLED, _ONE_PASS, _UNSETTLED = range(5)
_STATUS: Final = {
    _CONVERGED: "converged",
    _OUT_OF_ITERATIONS: "out of iterations: raise max_iterations or ridge, or use solver='newton'",
    _STALLED: "stalled at the limit of floating point: raise ridge, or rescale the features",
    _UNSETTLED: "the gradient is small, but theta is not settled: raise ridge, or use solver='newton'",
    _ONE_PASS: "one pass over the duels in order: an approximation; use solver='newton' for the root",
}
_PAD: Final = 16
_MAX_ENERGY: Final = 1e300
_HUGE_ENERGY: Final = 2.0**40
_TINY: Final = 1e-300
_SETTLED: Final = 1e-3
"""Largest relative change of theta by one more Newton step at which a solver counts as converged."""
AUTO: Final = "auto"
_MAX_ITERATIONS: Final = {"newton": 200, "agd": 100_000, "svrg": 5_000, "online": 1}


@dataclass(frozen=True)
class Fit:
    """Result of `fit_mle`. `status` states whether to trust it, and what to do if not."""

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
    seed: int = 0,
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
        Of the Newton decrement (newton, default 1e-16) or of the gradient norm (agd and svrg, default 1e-10 times that
        at 0, or 1e-12 if larger).
    max_iterations
        Largest number of steps (newton, agd) or of passes over the data (svrg).
    seed
        Seed of the random order of svrg.

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
    root, common = _common_ridge(ridge, dim)
    z, theta = z / root[:, None], theta * root
    unit = _mass_unit(z, mass, solver)
    rows = (z, mass / unit, wins / unit, common / unit, name)
    if tolerance is None:
        slope_at_zero = np.linalg.norm(native.gradient(*rows, np.zeros(dim)))
        tolerance = 1e-16 if solver == "newton" else max(1e-10 * float(slope_at_zero), 1e-12)
    else:
        tolerance = tolerance / unit
    limit = max_iterations if max_iterations is not None else _MAX_ITERATIONS[solver]
    theta, status, iterations = native.solve(solver, *rows, theta, float(tolerance), int(limit), seed_words(seed))
    gradient = native.gradient(*rows, theta)
    if solver == "online":
        status = _ONE_PASS
    elif status == _CONVERGED and not _is_settled(rows, theta, gradient):
        status = _UNSETTLED
    used = np.asarray(ridge, np.float64)
    return Fit(
        theta / root,
        status == _CONVERGED,
        _STATUS[status],
        iterations,
        unit * float(np.linalg.norm(gradient)),
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


def _mass_unit(z: Floats, mass: Floats, solver: str) -> float:
    """Return a power of two near the curvature of all rows; dividing weights by it makes any weights ordinary in size.

    Newton steps need this only with huge weights, where rounding exceeds the tolerance.
    """
    energy = float(mass @ np.square(z).sum(axis=0))
    if solver == "online" or (solver == "newton" and energy < _HUGE_ENERGY):
        return 1.0
    return float(2.0 ** np.clip(np.round(np.log2(energy)), -1000, 1000)) if energy > 0.0 else 1.0


def _is_settled(rows: tuple[Floats, Floats, Floats, float, str], theta: Floats, gradient: Floats) -> bool:
    """Whether one more Newton step would hardly change theta; a small gradient alone does not imply that."""
    z, mass, _, ridge, link = rows
    curvature = (z * (mass * get_link(link).slope(theta @ z))) @ z.T
    curvature[np.diag_indices_from(curvature)] += ridge
    try:
        step = np.linalg.solve(curvature, gradient)
    except np.linalg.LinAlgError:
        return False
    return bool(np.linalg.norm(step) <= _SETTLED * max(float(np.linalg.norm(theta)), 1e-6))


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


def _common_ridge(ridge: float | ArrayLike, dim: int) -> tuple[Floats, float]:
    """Return factors for the features after which one ridge fits all, and that ridge."""
    value = check_finite("ridge", ridge, f"a positive finite number, or one for each of the {dim} features")
    if value.shape not in ((), (dim,)) or not (value > 0.0).all():
        raise InvalidInput(
            f"ridge is {ridge!r}.",
            f"Give a positive finite number, or one for each of the {dim} features.",
            field="ridge",
        )
    return (np.ones(dim), float(value)) if value.shape == () else (np.sqrt(value), 1.0)


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
