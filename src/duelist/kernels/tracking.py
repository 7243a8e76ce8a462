"""An estimate that follows its data: one outcome at a time, and then exactly.

Beside the estimate theta stands the factor R of its curvature, R'R = H, about

    H = ridge I + sum_s W_s mu'(z_s . theta) z_s z_s'.

`step_with` takes in one outcome in O(dim^2): it minimises the new loss plus the quadratic that stands
for the old ones,

    theta <- argmin_x  W M(z . x) - O z . x + 1/2 |x - theta|_H^2,    H <- H + W mu'(z . theta) zz'.

The minimum lies on the line theta + a H^-1 z, so it is one number a, found to rounding: no step
size, and no overshoot on a surprising outcome, which a linear step would have. This is the one-pass
estimator (`online`), and the exact estimator's first guess. `refine` then leads it to the root of all
rows, by Newton steps with the factor kept from earlier rounds where that is still good. For the logistic link most
of these steps are on a model: each row's mean to second order around the last theta, which needs no new exponentials.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, compiled_apart
from duelist.kernels.linalg import cholesky, cholesky_update, dot, solve_lower, solve_upper
from duelist.kernels.mle import (
    CONVERGED,
    OUT_OF_ITERATIONS,
    STALLED,
    full_step_is_safe,
    line_search,
    logistic_model,
    margins_of,
    residual_and_curvature,
)
from duelist.kernels.scratch import Scratch
from duelist.links import LOGISTIC, mean, slope

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

TOLERANCE: Final = 1e-20
"""The search ends with a step after which the decrement g'H^-1 g, the squared error in units of the standard error,
is expected to be at most this: what the last step gained, this one will gain too."""
MAX_ITERATIONS: Final = 200
GUESS: Final = 1
"""Steps that the first guess of the exact estimator takes on its line."""
TO_ROUNDING: Final = 100
_NEAR: Final = 1e-2
_GOOD_STEP: Final = 1e-3
_AT_ROUNDING: Final = 1e-14
_BEST_GAIN: Final = 1e-5
"""A step may gain more than this by luck; the next one is not expected to."""
DIRECT: Final = 128
"""Dimensions up to which a curvature that has gone stale is factored anew; above, conjugate gradients."""


@compiled_apart
def implicit_step(link: int, v: float, q: float, mass: float, wins: float, most: int) -> float:
    """The root a of a = wins - mass mu(v + a q), for q >= 0, after `most` steps at the latest.

    The right side falls in a, so the root lies between 0 and its value at 0; Newton steps that leave
    the bracket are replaced by its middle.
    """
    a, value = 0.0, mass * mean(link, v) - wins
    low, high = min(0.0, -value), max(0.0, -value)
    before = math.inf
    for step in range(most):
        following = a - value / (1.0 + mass * q * slope(link, v + a * q))
        # Steps that do not shrink go back and forth around the bend of the link; the middle gets them out.
        newton = low <= following <= high and abs(following - a) <= 0.5 * before
        if not newton:
            following = 0.5 * (low + high)
        # The error squares with every Newton step: after one this small, it is at rounding.
        if step == most - 1 or (newton and abs(following - a) <= 1e-9 * abs(following)):
            return following
        before = abs(following - a)
        a = following
        value = a - (wins - mass * mean(link, v + a * q))
        if value > 0.0:
            high = a
        else:
            low = a
    return a


@compiled
def step_with(
    theta: Vector,
    curvature: Matrix,
    z: Vector,
    mass: float,
    wins: float,
    link: int,
    bound: float,
    most: int,
    scratch: Scratch,
) -> float:
    """Take one outcome in (see the module); the new margin z . theta. `most`: see `implicit_step`.

    `bound` > 0 finite keeps |theta| <= bound, by projection in the norm of H.
    """
    v = move_with(theta, curvature, z, mass, wins, link, most, scratch)
    cholesky_update(curvature, z, mass * slope(link, v), scratch.step)
    return keep_within(theta, curvature, z, bound, v)


@compiled
def move_with(
    theta: Vector, curvature: Matrix, z: Vector, mass: float, wins: float, link: int, most: int, scratch: Scratch
) -> float:
    """The part of `step_with` that moves theta; the new margin z . theta."""
    direction = scratch.direction
    for k in range(z.size):
        direction[k] = z[k]
    solve_lower(curvature, direction)
    q = dot(direction, direction)
    solve_upper(curvature, direction)
    v = dot(z, theta)
    a = implicit_step(link, v, q, mass, wins, most)
    for k in range(z.size):
        theta[k] += a * direction[k]
    return v + a * q


@compiled
def keep_within(theta: Vector, curvature: Matrix, z: Vector, bound: float, v: float) -> float:
    """The part of `step_with` that keeps |theta| <= bound; the margin z . theta, which was v."""
    if not dot(theta, theta) > bound * bound:
        return v
    project(theta, curvature, bound)
    return dot(z, theta)


@compiled
def one_pass(z: Matrix, mass: Vector, wins: Vector, ridge: float, link: int, theta: Vector, scratch: Scratch) -> None:
    """Take in all rows, each once, in their order; theta is what was known before."""
    curvature = math.sqrt(ridge) * np.eye(theta.size)
    row = np.empty(theta.size)
    for s in range(mass.size):
        if mass[s] > 0.0:
            row[:] = z[:, s]
            step_with(theta, curvature, row, mass[s], wins[s], link, np.inf, TO_ROUNDING, scratch)


@compiled_apart
def project(theta: Vector, curvature: Matrix, bound: float) -> None:
    """argmin |x - theta|_H over |x| <= bound, for theta outside.

    It is x = (H + s I)^-1 H theta for the s > 0 with |x| = bound. |x| falls in s: bisection on s, each x by
    conjugate gradients in O(dim^2) a step.
    """
    target = np.zeros(theta.size)
    multiply(curvature, theta, target)
    low, high = 0.0, norm(target) / bound
    x = theta.copy()
    for _ in range(100):
        middle = 0.5 * (low + high)
        shifted_solve(curvature, middle, target, x)
        size = norm(x)
        if abs(size - bound) <= 1e-12 * bound:
            break
        if size > bound:
            low = middle
        else:
            high = middle
    size = norm(x)
    for k in range(theta.size):
        theta[k] = x[k] * (bound / size)


@compiled
def norm(x: Vector) -> float:
    """|x|"""
    return math.sqrt(dot(x, x))


@compiled_apart
def multiply(factor: Matrix, x: Vector, out: Vector) -> None:
    """out = R'R x"""
    for k in range(x.size):
        out[k] = 0.0
    for k in range(x.size):
        row = factor[k, k:]
        along = dot(row, x[k:])
        later = out[k:]
        for i in range(row.size):
            later[i] += along * row[i]


@compiled_apart
def shifted_solve(factor: Matrix, shift: float, b: Vector, x: Vector) -> None:
    """x = (R'R + shift I)^-1 b by conjugate gradients, started from x."""
    dim = b.size
    product = np.empty(dim)
    multiply(factor, x, product)
    rest = np.empty(dim)
    for k in range(dim):
        rest[k] = b[k] - product[k] - shift * x[k]
    along = rest.copy()
    square = dot(rest, rest)
    goal = 1e-26 * dot(b, b)
    for _ in range(4 * dim + 20):
        if square <= goal:
            break
        multiply(factor, along, product)
        for k in range(dim):
            product[k] += shift * along[k]
        size = square / dot(along, product)
        for k in range(dim):
            x[k] += size * along[k]
            rest[k] -= size * product[k]
        following = dot(rest, rest)
        for k in range(dim):
            along[k] = rest[k] + following / square * along[k]
        square = following


@compiled
def refine(
    z: Matrix,
    mass: Vector,
    wins: Vector,
    ridge: float,
    link: int,
    theta: Vector,
    curvature: Matrix,
    scratch: Scratch,
) -> int:
    """Lead theta to the root of the gradient over all rows; returns the status.

    A step with a kept curvature costs O(n dim + dim^2). It converges as fast as the curvature is near
    the true one: after a step that gained less than `_GOOD_STEP`, or far from the root, the
    curvature is made anew (up to `DIRECT` dimensions), or the step is found by conjugate gradients
    on the true curvature with the kept one as preconditioner. Such steps have a line search.
    """
    n = mass.size
    margins, residual, slopes = scratch.margins[:n], scratch.residual[:n], scratch.slopes[:n]
    moves, step = scratch.moves[:n], scratch.step
    total = 0.0
    for s in range(n):
        total += mass[s]
    goal = TOLERANCE * min(1.0, total)
    last, kept = 0.0, True
    margins_of(z, theta, margins)
    for _ in range(MAX_ITERATIONS):
        if link == LOGISTIC:
            logistic_model(mass, wins, margins, residual, slopes, scratch.bends[:n], moves)
        else:
            residual_and_curvature(mass, wins, link, margins, residual, slopes, moves)
        negative_gradient(z, residual, ridge, theta, step)
        decrement = newton_step(curvature, step, scratch.trial)
        # What a step with this curvature gained, the next one will gain too; a true Newton step says nothing of it.
        gain = max(decrement / last, _BEST_GAIN) if kept and 0.0 < decrement < last else 1.0
        if decrement * gain <= goal:
            add(theta, step)
            return CONVERGED
        if not kept and decrement >= 0.5 * last and decrement <= _AT_ROUNDING * min(1.0, total):
            return CONVERGED  # a true Newton step gained nothing this close to the root: the rest is rounding
        kept = not (decrement > _NEAR * min(1.0, total) or decrement > _GOOD_STEP * last > 0.0)
        if kept and link == LOGISTIC:
            missed = follow_model(z, ridge, theta, curvature, decrement, goal, n, scratch)
            kept = missed < math.inf
            if kept:
                add(theta, scratch.shift)
                if missed <= goal:
                    return CONVERGED
                margins_of(z, theta, margins)
                last = 0.0  # the steps on the model say nothing of the gain of a single one
                continue
            negative_gradient(z, residual, ridge, theta, scratch.trial)
        if not kept:
            decrement = true_newton_step(z, slopes, ridge, curvature, scratch)
            if not decrement >= 0.0:
                return STALLED
            if decrement <= goal:
                add(theta, step)
                return CONVERGED
            margins_of(z, step, moves)
            if not full_step_is_safe(link, margins, moves):
                size = line_search(z, mass, wins, ridge, link, theta, step, decrement)
                if size == 0.0:
                    return STALLED
                for k in range(theta.size):
                    step[k] *= size
        add(theta, step)
        margins_of(z, theta, margins)
        last = decrement
    return OUT_OF_ITERATIONS


@compiled
def follow_model(
    z: Matrix, ridge: float, theta: Vector, curvature: Matrix, decrement: float, goal: float, n: int, scratch: Scratch
) -> float:
    """Steps with the kept curvature to the root of a model of the gradient, the first of them in scratch.step.

    With m_s the move of a margin, a row's residual is taken as W (mu + mu' m + mu'' m^2 / 2) - O. The sum of the
    steps goes to scratch.shift. Returns the decrement that the model may have missed: the third derivative of the logistic
    link is at most mu', so it is at most sum W mu' (m^3 / 6)^2, where sum W mu' m^2 is the decrement and no m^2 exceeds the
    sum of all. Infinite: the curvature is stale, and nothing was gained.
    """
    residual, slopes, moves = scratch.residual[:n], scratch.slopes[:n], scratch.moves[:n]
    step, shift = scratch.step, scratch.shift
    for k in range(step.size):
        shift[k] = step[k]
    margins_of(z, shift, moves)
    missed = dot(moves, moves) ** 2 * decrement / 36.0
    last = decrement
    while True:
        model_residual(residual, slopes, scratch.bends[:n], moves)
        for k in range(step.size):
            scratch.trial[k] = theta[k] + shift[k]
        negative_gradient(z, moves, ridge, scratch.trial, step)
        decrement = newton_step(curvature, step, scratch.trial)
        if not decrement <= _GOOD_STEP * last:
            return math.inf
        add(shift, step)
        # No need to know the root of the model better than the model knows the truth.
        if decrement * max(decrement / last, _BEST_GAIN) <= max(goal, missed):
            return missed
        last = decrement
        margins_of(z, shift, moves)


@compiled_apart
def model_residual(residual: Vector, slopes: Vector, bends: Vector, moves: Vector) -> None:
    """Moves of the margins become the residuals of the model there."""
    for s in range(moves.size):
        moves[s] = residual[s] + moves[s] * (slopes[s] + moves[s] * bends[s])


@compiled
def negative_gradient(z: Matrix, residual: Vector, ridge: float, theta: Vector, out: Vector) -> None:
    """-ridge theta - sum residual_s z_s"""
    for k in range(theta.size):
        out[k] = -ridge * theta[k] - dot(residual, z[k])


@compiled
def add(theta: Vector, step: Vector) -> None:
    """theta += step"""
    for k in range(theta.size):
        theta[k] += step[k]


@compiled
def newton_step(curvature: Matrix, step: Vector, negative_gradient: Vector) -> float:
    """`step`, minus the gradient on entry, becomes minus H^-1 g; returns g'H^-1 g. The gradient is kept beside."""
    for k in range(step.size):
        negative_gradient[k] = step[k]
    solve_lower(curvature, step)
    decrement = dot(step, step)
    solve_upper(curvature, step)
    return decrement


@compiled
def fill_curvature(z: Matrix, slopes: Vector, ridge: float, curvature: Matrix, weighted: Vector) -> None:
    """The upper triangle of `curvature` becomes that of ridge I + sum slopes zz'; `weighted` is room for a row."""
    for k in range(z.shape[0]):
        row = z[k]
        for s in range(slopes.size):
            weighted[s] = slopes[s] * row[s]
        for j in range(k, z.shape[0]):
            curvature[k, j] = dot(weighted, z[j])
        curvature[k, k] += ridge


@compiled
def true_newton_step(z: Matrix, slopes: Vector, ridge: float, curvature: Matrix, scratch: Scratch) -> float:
    """The step of the true curvature, into scratch.step; returns its decrement, NaN if there is none.

    `slopes` are the W mu' of the rows; scratch.trial holds minus the gradient.
    """
    dim = z.shape[0]
    step = scratch.step
    if dim > DIRECT:
        return preconditioned_step(z, slopes, ridge, curvature, scratch.trial, step)
    fill_curvature(z, slopes, ridge, curvature, scratch.moves[: slopes.size])
    if not cholesky(curvature):
        return math.nan
    for k in range(dim):
        step[k] = scratch.trial[k]
    return newton_step(curvature, step, scratch.trial)


@compiled_apart
def preconditioned_step(
    z: Matrix, slopes: Vector, ridge: float, curvature: Matrix, negative_gradient: Vector, step: Vector
) -> float:
    """step = -H^-1 g by conjugate gradients with the kept factor as preconditioner; returns g'H^-1 g."""
    dim, n = z.shape[0], slopes.size
    product = np.empty(dim)
    along_rows = np.empty(n)
    rest = negative_gradient.copy()
    lifted = rest.copy()
    solve_lower(curvature, lifted)
    solve_upper(curvature, lifted)
    along = lifted.copy()
    square = dot(rest, lifted)
    first = square
    for k in range(dim):
        step[k] = 0.0
    for _ in range(4 * dim + 20):
        if square <= 1e-20 * first:
            break
        margins_of(z, along, along_rows)
        for s in range(n):
            along_rows[s] *= slopes[s]
        for k in range(dim):
            product[k] = ridge * along[k] + dot(along_rows, z[k])
        size = square / dot(along, product)
        for k in range(dim):
            step[k] += size * along[k]
            rest[k] -= size * product[k]
            lifted[k] = rest[k]
        solve_lower(curvature, lifted)
        solve_upper(curvature, lifted)
        following = dot(rest, lifted)
        for k in range(dim):
            along[k] = lifted[k] + following / square * along[k]
        square = following
    return dot(step, negative_gradient)
