"""The weighted ridge estimate of a symmetric-link model, and four ways to it.

For rows z_s with mass W_s >= 0 and wins O_s in [0, W_s], the estimate minimises the
strongly convex

    F(theta) = ridge/2 |theta|^2 + sum_s [ W_s M(z_s . theta) - O_s z_s . theta ],

with gradient  ridge theta + sum_s (W_s mu(z_s . theta) - O_s) z_s
and Hessian    ridge I + sum_s W_s mu'(z_s . theta) z_s z_s'.

Its root is the paper's estimating equation with W = sum of w^2 and O = sum of w^2 o over the
duels that share z. Only for the logistic link is it the maximum of the likelihood.

Rows are stored one a line, (n_rows, dim). Every solver overwrites `theta` (its start) and
returns (status, iterations).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled
from duelist.kernels.linalg import cholesky, solve_lower, solve_upper
from duelist.kernels.random import below
from duelist.links import EXPONENTIAL, LOGISTIC, PROBIT, mean, potential, slope

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

CONVERGED: Final = 0
OUT_OF_ITERATIONS: Final = 1
STALLED: Final = 2

_SUFFICIENT_DECREASE: Final = 1e-4
_SMALLEST_STEP: Final = 1e-12


@compiled
def margin(z: Matrix, s: int, theta: Vector) -> float:
    """z_s . theta"""
    total = 0.0
    for k in range(theta.size):
        total += z[s, k] * theta[k]
    return total


@compiled
def objective(z: Matrix, mass: Vector, wins: Vector, ridge: float, link: int, theta: Vector) -> float:
    """F(theta)"""
    total = 0.0
    for k in range(theta.size):
        total += theta[k] * theta[k]
    total *= 0.5 * ridge
    for s in range(mass.size):
        v = margin(z, s, theta)
        total += mass[s] * potential(link, v) - wins[s] * v
    return total


@compiled
def gradient(z: Matrix, mass: Vector, wins: Vector, ridge: float, link: int, theta: Vector, out: Vector) -> None:
    """The gradient of F at theta, into `out`."""
    for k in range(theta.size):
        out[k] = ridge * theta[k]
    for s in range(mass.size):
        residual = mass[s] * mean(link, margin(z, s, theta)) - wins[s]
        for k in range(theta.size):
            out[k] += residual * z[s, k]


@compiled
def gradient_and_hessian(
    z: Matrix,
    mass: Vector,
    wins: Vector,
    ridge: float,
    link: int,
    theta: Vector,
    margins: Vector,
    out: Vector,
    hessian: Matrix,
) -> None:
    """The gradient of F at theta and its Hessian; `margins` are the z_s . theta."""
    dim = theta.size
    for k in range(dim):
        out[k] = ridge * theta[k]
        for j in range(dim):
            hessian[k, j] = 0.0
        hessian[k, k] = ridge
    for s in range(mass.size):
        v = margins[s]
        if link == LOGISTIC:
            # One exponential serves mean and slope; this loop is where policies spend their time.
            e = math.exp(-abs(v))
            inverse = 1.0 / (1.0 + e)
            p = inverse if v >= 0.0 else e * inverse
            curvature = mass[s] * e * inverse * inverse
        else:
            p = mean(link, v)
            curvature = mass[s] * slope(link, v)
        residual = mass[s] * p - wins[s]
        for k in range(dim):
            out[k] += residual * z[s, k]
            c = curvature * z[s, k]
            # Whole rows, not the lower triangle: a fixed trip count vectorises.
            for j in range(dim):
                hessian[k, j] += c * z[s, j]


@compiled
def _full_step_is_safe(link: int, margins: Vector, moves: Vector) -> bool:
    """Whether a full Newton step surely decreases F.

    |d log mu'(v) / dv| is at most 1 for the logistic and exponential links and |v| for
    probit, so if no margin moves by more than h, curvature along the step changes by a factor
    of at most e^r with r = h or h (|v| + h). A full step decreases F when e^r < 2.
    """
    for s in range(moves.size):
        h = abs(moves[s])
        r = h * (abs(margins[s]) + h) if link == PROBIT else h
        if r > 0.5:
            return False
    return True


@compiled
def newton(
    z: Matrix,
    mass: Vector,
    wins: Vector,
    ridge: float,
    link: int,
    theta: Vector,
    tolerance: float,
    max_iterations: int,
) -> tuple[int, int]:
    """Newton's method with a line search; stops on the Newton decrement.

    The decrement g'H^-1 g is twice the decrease that the quadratic model promises. Once it
    is at most `tolerance`, one last full step is taken, which squares the error. Undamped
    Newton diverges on separable data, so a step is halved until F decreases enough, except
    where a full step provably does.
    """
    dim = theta.size
    g = np.empty(dim)
    step = np.empty(dim)
    hessian = np.empty((dim, dim))
    margins = np.empty(mass.size)
    moves = np.empty(mass.size)
    for s in range(mass.size):
        margins[s] = margin(z, s, theta)
    for iteration in range(max_iterations):
        gradient_and_hessian(z, mass, wins, ridge, link, theta, margins, g, hessian)
        if not cholesky(hessian):
            return STALLED, iteration
        for k in range(dim):
            step[k] = -g[k]
        solve_lower(hessian, step)
        decrement = 0.0
        for k in range(dim):
            decrement += step[k] * step[k]
        solve_upper(hessian, step)
        if decrement <= tolerance:
            for k in range(dim):
                theta[k] += step[k]
            return CONVERGED, iteration + 1
        for s in range(mass.size):
            moves[s] = margin(z, s, step)
        size = 1.0
        if not _full_step_is_safe(link, margins, moves):
            size = _line_search(z, mass, wins, ridge, link, theta, step, decrement)
            if size == 0.0:
                return STALLED, iteration + 1
        for k in range(dim):
            theta[k] += size * step[k]
        for s in range(mass.size):
            margins[s] += size * moves[s]
    return OUT_OF_ITERATIONS, max_iterations


@compiled
def _line_search(
    z: Matrix,
    mass: Vector,
    wins: Vector,
    ridge: float,
    link: int,
    theta: Vector,
    step: Vector,
    decrement: float,
) -> float:
    """The largest of 1, 1/2, 1/4, ... that decreases F enough (Armijo); 0 if none does."""
    start = objective(z, mass, wins, ridge, link, theta)
    trial = np.empty(theta.size)
    size = 1.0
    while size > _SMALLEST_STEP:
        for k in range(theta.size):
            trial[k] = theta[k] + size * step[k]
        value = objective(z, mass, wins, ridge, link, trial)
        if value <= start - _SUFFICIENT_DECREASE * size * decrement:
            return size
        size *= 0.5
    return 0.0


@compiled
def norm(g: Vector) -> float:
    """|g|"""
    total = 0.0
    for k in range(g.size):
        total += g[k] * g[k]
    return math.sqrt(total)


@compiled
def _largest_slope(link: int) -> float:
    if link == LOGISTIC:
        return 0.25
    if link == EXPONENTIAL:
        return 0.5
    return 1.0 / math.sqrt(2.0 * math.pi)


@compiled
def smoothness(z: Matrix, mass: Vector, ridge: float, link: int) -> float:
    """An upper bound on the largest Hessian eigenvalue of F, by power iteration.

    Power iteration approaches the eigenvalue from below; after it, the bound is raised by
    the residual |A q - rho q|, within which an eigenvalue must lie, and never exceeds the trace.
    """
    dim = z.shape[1]
    q = np.full(dim, 1.0 / math.sqrt(dim))
    product = np.zeros(dim)
    trace = 0.0
    for s in range(mass.size):
        for k in range(dim):
            trace += mass[s] * z[s, k] * z[s, k]
    estimate = 0.0
    residual = trace
    for _ in range(60):
        product[:] = 0.0
        for s in range(mass.size):
            c = mass[s] * margin(z, s, q)
            for k in range(dim):
                product[k] += c * z[s, k]
        size = norm(product)
        if size == 0.0:
            break
        estimate = 0.0
        for k in range(dim):
            estimate += q[k] * product[k]
        residual = 0.0
        for k in range(dim):
            residual += (product[k] - estimate * q[k]) ** 2
        residual = math.sqrt(residual)
        for k in range(dim):
            q[k] = product[k] / size
    if estimate == 0.0:
        estimate = trace
    return ridge + _largest_slope(link) * min(trace, 1.05 * estimate + residual)


@compiled
def accelerated_gradient(
    z: Matrix,
    mass: Vector,
    wins: Vector,
    ridge: float,
    link: int,
    theta: Vector,
    tolerance: float,
    max_iterations: int,
) -> tuple[int, int]:
    """Nesterov's accelerated gradient descent with restarts; stops on the gradient norm.

    Momentum grows as for a merely convex F and is dropped whenever it points uphill
    (O'Donoghue and Candes 2015), which adapts to the true strong convexity: the ridge alone
    is a poor lower bound of it.
    """
    dim = theta.size
    step = 1.0 / smoothness(z, mass, ridge, link)
    ahead = theta.copy()
    previous = theta.copy()
    g = np.empty(dim)
    momentum = 1.0
    for iteration in range(max_iterations):
        gradient(z, mass, wins, ridge, link, ahead, g)
        size = norm(g)
        if size <= tolerance:
            theta[:] = ahead
            return CONVERGED, iteration + 1
        uphill = 0.0
        for k in range(dim):
            previous[k] = theta[k]
            theta[k] = ahead[k] - step * g[k]
            uphill += g[k] * (theta[k] - previous[k])
        if uphill > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        push = (momentum - 1.0) / following
        momentum = following
        for k in range(dim):
            ahead[k] = theta[k] + push * (theta[k] - previous[k])
    return OUT_OF_ITERATIONS, max_iterations


@compiled
def variance_reduced(
    z: Matrix,
    mass: Vector,
    wins: Vector,
    ridge: float,
    link: int,
    theta: Vector,
    tolerance: float,
    max_epochs: int,
    words: NDArray[np.uint64],
) -> tuple[int, int]:
    """SVRG (Johnson and Zhang 2013); stops on the gradient norm, taken once an epoch.

    Rows are drawn in proportion to their smoothness bound (importance sampling), which lets
    the step be set by the average row and not the worst one.
    """
    n, dim = z.shape
    top = _largest_slope(link)
    bound = np.empty(n)
    total = 0.0
    for s in range(n):
        square = 0.0
        for k in range(dim):
            square += z[s, k] * z[s, k]
        total += top * mass[s] * square
        bound[s] = total
    g = np.empty(dim)
    anchor = theta.copy()
    step = 1.0 / (4.0 * (total + ridge))
    for epoch in range(max_epochs):
        gradient(z, mass, wins, ridge, link, theta, g)
        size = norm(g)
        if size <= tolerance:
            return CONVERGED, epoch + 1
        anchor[:] = theta
        for _ in range(2 * max(n, 1)):
            s = _pick(bound, words)
            chance = (bound[s] - (bound[s - 1] if s > 0 else 0.0)) / total if n else 1.0
            change = mass[s] * (mean(link, margin(z, s, theta)) - mean(link, margin(z, s, anchor))) / chance
            for k in range(dim):
                theta[k] -= step * (g[k] + ridge * (theta[k] - anchor[k]) + change * z[s, k])
    return OUT_OF_ITERATIONS, max_epochs


@compiled
def _pick(cumulative: Vector, words: NDArray[np.uint64]) -> int:
    """A row with chance in proportion to the steps of `cumulative`."""
    target = cumulative[-1] * (below(words, 1 << 52) / float(1 << 52))
    return min(int(np.searchsorted(cumulative, target, side="right")), cumulative.size - 1)


@compiled
def residual_sum(z: Matrix, mass: Vector, wins: Vector, link: int, theta: Vector) -> float:
    """sum w^2 (o - mu(z . theta))^2 with o in {0, 1}; a tie counts as half a win and half a loss."""
    total = 0.0
    for s in range(mass.size):
        p = mean(link, margin(z, s, theta))
        total += wins[s] * (1.0 - p) * (1.0 - p) + (mass[s] - wins[s]) * p * p
    return total
