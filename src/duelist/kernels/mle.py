"""The weighted ridge estimate of a symmetric-link model, and four ways to it.

For rows z_s with mass W_s >= 0 and wins O_s in [0, W_s], the estimate minimises the
strongly convex

    F(theta) = ridge/2 |theta|^2 + sum_s [ W_s M(z_s . theta) - O_s z_s . theta ],

with gradient  ridge theta + sum_s (W_s mu(z_s . theta) - O_s) z_s
and Hessian    ridge I + sum_s W_s mu'(z_s . theta) z_s z_s'.

Its root is the paper's estimating equation with W = sum of w^2 and O = sum of w^2 o over the
duels that share z. Only for the logistic link is it the maximum of the likelihood.

Rows are columns of z, (dim, n or more); `mass` and `wins` have length n, and columns of z beyond n
are not read. Each feature is then one contiguous stretch, and every step of a solver is a few long
vector operations. Every solver overwrites `theta` (its start) and returns (status, iterations).

Sums over rows run in eight lanes (`linalg.dot`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart
from duelist.kernels.linalg import cholesky, dot, solve_lower, solve_upper
from duelist.kernels.random import below
from duelist.links import EXPONENTIAL, LOGISTIC, PROBIT, mean, potential, slope

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

CONVERGED: Final = 0
OUT_OF_ITERATIONS: Final = 1
STALLED: Final = 2

_SUFFICIENT_DECREASE: Final = 1e-4
_SMALLEST_STEP: Final = 1e-12

_LOG2_E: Final = 1.4426950408889634
_LN2_HIGH: Final = 6.93147180369123816490e-01  # log 2 in two parts, so that k log 2 is exact in the first
_LN2_LOW: Final = 1.90821492927058770002e-10
_ROUND: Final = 6755399441055744.0  # 1.5 * 2^52


@compiled_apart
def margins_of(z: Matrix, theta: Vector, out: Vector) -> None:
    """out_s = z_s . theta, four features at a time, so that `out` is read and written a quarter as often."""
    n = out.size
    odd = theta.size % 4
    for s in range(n):
        out[s] = 0.0
    for k in range(odd):
        weight, row = theta[k], z[k]
        for s in range(n):
            out[s] += weight * row[s]
    for k in range(odd, theta.size, 4):
        w0, w1, w2, w3 = theta[k], theta[k + 1], theta[k + 2], theta[k + 3]
        r0, r1, r2, r3 = z[k], z[k + 1], z[k + 2], z[k + 3]
        for s in range(n):
            out[s] += (w0 * r0[s] + w1 * r1[s]) + (w2 * r2[s] + w3 * r3[s])


@compiled
def margin(z: Matrix, s: int, theta: Vector) -> float:
    """z_s . theta of one row."""
    total = 0.0
    for k in range(theta.size):
        total += z[k, s] * theta[k]
    return total


@compiled_apart
def objective(z: Matrix, mass: Vector, wins: Vector, ridge: float, link: int, theta: Vector) -> float:
    """F(theta)"""
    v = np.empty(mass.size)
    margins_of(z, theta, v)
    total = 0.5 * ridge * dot(theta, theta)
    for s in range(mass.size):
        total += mass[s] * potential(link, v[s]) - wins[s] * v[s]
    return total


@compiled_apart
def gradient(z: Matrix, mass: Vector, wins: Vector, ridge: float, link: int, theta: Vector, out: Vector) -> None:
    """The gradient of F at theta, into `out`."""
    residual = np.empty(mass.size)
    margins_of(z, theta, residual)
    for s in range(mass.size):
        residual[s] = mass[s] * mean(link, residual[s]) - wins[s]
    for k in range(theta.size):
        out[k] = ridge * theta[k] + dot(residual, z[k])


@compiled
def exp_of_minus_abs(v: Vector, out: Vector, rounded: Vector) -> None:
    """out = exp(-|v|) to the last bit or two, written so that it vectorises.

    With x = -|v| = k log 2 + r, |r| <= log(2)/2: a polynomial for exp(r), then 2^k put straight into the
    exponent bits. Adding _ROUND leaves k in the low bits of the sum. |v| is cut at 700, where exp is 1e-304.
    `rounded` is room for as many numbers.
    """
    n = v.size
    for s in range(n):
        x = -min(abs(v[s]), 700.0)
        shifted = x * _LOG2_E + _ROUND
        k = shifted - _ROUND
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        square = r * r
        fourth = square * square
        # Pairs of terms first (Estrin), since each step of Horner's rule would wait for the one before it.
        low = (1.0 + r) + square * (1.0 / 2.0 + r * (1.0 / 6.0))
        middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + square * (1.0 / 720.0 + r * (1.0 / 5040.0))
        high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + square * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
        out[s] = low + fourth * (middle + fourth * (high + fourth * (1.0 / 479001600.0)))
        rounded[s] = shifted
    bits = rounded.view(np.int64)
    for s in range(n):
        bits[s] = (bits[s] << 52) + (1023 << 52)
    power = bits.view(np.float64)
    for s in range(n):
        out[s] *= power[s]


@compiled_apart
def residual_and_curvature(
    mass: Vector, wins: Vector, link: int, margins: Vector, residual: Vector, curvature: Vector, room: Vector
) -> None:
    """W mu(v) - O and W mu'(v) of every row; `room` is for a number a row."""
    if link == LOGISTIC:  # one exponential serves both
        exp_of_minus_abs(margins, residual, room)
        for s in range(mass.size):
            e = residual[s]
            inverse = 1.0 / (1.0 + e)
            p = inverse if margins[s] >= 0.0 else e * inverse
            curvature[s] = mass[s] * e * inverse * inverse
            residual[s] = mass[s] * p - wins[s]
        return
    for s in range(mass.size):
        residual[s] = mass[s] * mean(link, margins[s]) - wins[s]
        curvature[s] = mass[s] * slope(link, margins[s])


@compiled_apart
def logistic_model(
    mass: Vector, wins: Vector, margins: Vector, residual: Vector, slopes: Vector, bends: Vector, room: Vector
) -> None:
    """W mu(v) - O, W mu'(v) and W mu''(v) / 2 of every row for the logistic link, from one exponential."""
    exp_of_minus_abs(margins, residual, room)
    for s in range(mass.size):
        e = residual[s]
        inverse = 1.0 / (1.0 + e)
        p = inverse if margins[s] >= 0.0 else e * inverse
        slopes[s] = mass[s] * e * inverse * inverse
        bends[s] = slopes[s] * (0.5 - p)
        residual[s] = mass[s] * p - wins[s]


@compiled_apart
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
    """The gradient of F at theta and the upper triangle of its Hessian; `margins` are the z_s . theta."""
    n = mass.size
    residual = np.empty(n)
    curvature = np.empty(n)
    weighted = np.empty(n)
    residual_and_curvature(mass, wins, link, margins, residual, curvature, weighted)
    for k in range(theta.size):
        row = z[k]
        out[k] = ridge * theta[k] + dot(residual, row)
        for s in range(n):
            weighted[s] = curvature[s] * row[s]
        for j in range(k, theta.size):
            hessian[k, j] = dot(weighted, z[j])
        hessian[k, k] += ridge


@compiled_apart
def full_step_is_safe(link: int, margins: Vector, moves: Vector) -> bool:
    """Whether a full Newton step surely decreases F.

    |d log mu'(v) / dv| is at most 1 for the logistic and exponential links and |v| for
    probit, so if no margin moves by more than h, curvature along the step changes by a factor
    of at most e^r with r = h or h (|v| + h). A full step decreases F when e^r < 2.
    """
    for s in range(moves.size):
        h = abs(moves[s])
        r = h * (abs(margins[s]) + h) if link == PROBIT else h
        if not r <= 0.5:  # NaN is not safe either
            return False
    return True


@compiled_apart
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

    The decrement g'H^-1 g is twice the decrease that the quadratic model promises. Once it is at most
    `tolerance` (times the total mass where that is below 1, so that scaling all weights and the ridge changes
    nothing), one last full step is taken, which squares the error. Undamped
    Newton diverges on separable data, so a step is halved until F decreases enough, except
    where a full step provably does.
    """
    dim = theta.size
    g = np.empty(dim)
    step = np.empty(dim)
    hessian = np.empty((dim, dim))
    margins = np.empty(mass.size)
    moves = np.empty(mass.size)
    margins_of(z, theta, margins)
    goal = tolerance * min(1.0, mass.sum())
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
        if decrement <= goal:
            for k in range(dim):
                theta[k] += step[k]
            return CONVERGED, iteration + 1
        margins_of(z, step, moves)
        size = 1.0
        if not full_step_is_safe(link, margins, moves):
            size = line_search(z, mass, wins, ridge, link, theta, step, decrement)
            if size == 0.0:
                return STALLED, iteration + 1
        for k in range(dim):
            theta[k] += size * step[k]
        margins_of(z, theta, margins)
    return OUT_OF_ITERATIONS, max_iterations


@compiled_apart
def line_search(
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


@compiled_apart
def smoothness(z: Matrix, mass: Vector, ridge: float, link: int) -> float:
    """The largest Hessian eigenvalue of F, nearly: power iteration, raised by its residual, at most the trace.

    It may come out low where the start has next to nothing of the steepest direction; the caller must notice a
    step that is too long.
    """
    dim = z.shape[0]
    q = np.empty(dim)
    for k in range(dim):
        q[k] = 1.0 + (0.618 * k) % 1.0  # not symmetric: differences of arms are often orthogonal to (1, .., 1)
    size = norm(q)
    for k in range(dim):
        q[k] /= size
    product = np.zeros(dim)
    along = np.empty(mass.size)
    trace = 0.0
    for k in range(dim):
        for s in range(mass.size):
            trace += mass[s] * z[k, s] * z[k, s]
    estimate = 0.0
    residual = trace
    for _ in range(60):
        margins_of(z, q, along)
        for s in range(mass.size):
            along[s] *= mass[s]
        for k in range(dim):
            product[k] = dot(along, z[k])
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


@compiled_apart
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
    start = theta.copy()
    first_size = -1.0
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
        first_size = size if first_size < 0.0 else first_size
        if not size <= 1e3 * first_size:  # the step was too long after all: halve it and start again
            step *= 0.5
            momentum = 1.0
            theta[:] = start
            ahead[:] = start
            continue
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


@compiled_apart
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
    n, dim = mass.size, z.shape[0]
    top = _largest_slope(link)
    bound = np.empty(n)
    total = 0.0
    for s in range(n):
        square = 0.0
        for k in range(dim):
            square += z[k, s] * z[k, s]
        total += top * mass[s] * square
        bound[s] = total
    if total == 0.0:  # no row says anything: the ridge alone decides
        theta[:] = 0.0
        return CONVERGED, 0
    g = np.empty(dim)
    anchor = theta.copy()
    step = 1.0 / (4.0 * (total + ridge))
    for epoch in range(max_epochs):
        gradient(z, mass, wins, ridge, link, theta, g)
        size = norm(g)
        if size <= tolerance:
            return CONVERGED, epoch + 1
        anchor[:] = theta
        for _ in range(2 * n):
            s = _pick(bound, words)
            chance = (bound[s] - (bound[s - 1] if s > 0 else 0.0)) / total
            change = mass[s] * (mean(link, margin(z, s, theta)) - mean(link, margin(z, s, anchor))) / chance
            for k in range(dim):
                theta[k] -= step * (g[k] + ridge * (theta[k] - anchor[k]) + change * z[k, s])
    return OUT_OF_ITERATIONS, max_epochs


@compiled
def _pick(cumulative: Vector, words: NDArray[np.uint64]) -> int:
    """A row with chance in proportion to the steps of `cumulative`."""
    target = cumulative[-1] * (below(words, 1 << 52) / float(1 << 52))
    return min(int(np.searchsorted(cumulative, target, side="right")), cumulative.size - 1)


@compiled_apart
def residual_sum(z: Matrix, mass: Vector, wins: Vector, link: int, theta: Vector) -> float:
    """sum w^2 (o - mu(z . theta))^2 with o in {0, 1}; a tie counts as half a win and half a loss."""
    v = np.empty(mass.size)
    margins_of(z, theta, v)
    total = 0.0
    for s in range(mass.size):
        p = mean(link, v[s])
        total += wins[s] * (1.0 - p) * (1.0 - p) + (mass[s] - wins[s]) * p * p
    return total
