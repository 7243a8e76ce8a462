"""From arms to points: whitening on the device, its error, and a first good pair.

With L the lower Cholesky factor of the precision, W = L^-1 and m the mean arm, arm x becomes the
point p = radius W (x - m) with utility u = x . theta, all in float64. The value of a pair is then
u_i + u_j + |p_i - p_j|. The caller's own float64 values differ from these by less than `noise`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_EPSILON = 2.0**-52
_CHUNK = 2**25
"""Entries of the arms that are held in float64 beside the result."""
_STARTS, _ROUNDS = 64, 3
TINY = 1e-140
"""Values that differ by less may have lost their difference to underflow."""


class Problem(NamedTuple):
    """Arms as points; every number that bounds an error is a tensor of no axes."""

    points: Tensor
    """(n_arms, dim): radius times the centred whitened arms."""
    squares: Tensor
    """(n_arms,): |p|^2."""
    utilities: Tensor
    """(n_arms,): x . theta."""
    noise: Tensor
    """No value of a pair as the caller computes it is further from u_i + u_j + |p_i - p_j|.

    Not finite if the arms are not, or if the precision is so ill-conditioned that nothing is certain.
    """

    @property
    def certain(self) -> bool:
        """Whether every number is finite, so that the bounds mean something."""
        return bool(torch.isfinite(self.noise + self.squares.max() + self.utilities.abs().max()))

    @property
    def reach(self) -> Tensor:
        """u + |p|: the values of two arms add up to at least the value of their pair."""
        return self.utilities + self.squares.sqrt()


class Whitening(NamedTuple):
    """W = L^-1 as computed, and how far a product with it may be off, per unit of |x|."""

    inverse: Tensor
    doubt: Tensor


def whitening(factor: Tensor) -> Whitening:
    """W and a bound d: |W x as computed - L^-1 x as any substitution computes it| <= d |x|.

    W = (I + E) L^-1 with E = WL - I, which is computed, not assumed. A product errs by at most
    g |W||x| with g = dim epsilon, a substitution by g |L^-1||L||v| (Higham, Theorem 8.5).
    """
    dim = len(factor)
    growth = (dim + 8) * _EPSILON
    identity = torch.eye(dim, dtype=factor.dtype, device=factor.device)
    inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
    size = sums_norm(inverse)
    spread = sums_norm(inverse.abs() @ factor.abs())
    residual = torch.linalg.matrix_norm(inverse @ factor - identity) + growth * spread
    trusted = torch.where(residual < 0.1, residual, torch.inf)  # |L^-1| <= |W| / 0.9 needs this
    return Whitening(inverse, 2.0 * size * (trusted + growth * (spread + 2.0)))


def prepared(arms: Tensor, theta: Tensor, factor: Tensor, radius: float) -> Problem:
    """Points of the arms (n_arms, dim), float32 or float64, with theta and factor in float64 on the same device."""
    n, dim = arms.shape
    inverse, doubt = whitening(factor)
    mean = arms.mean(0, dtype=torch.float64)
    step = (radius * inverse).T.contiguous()
    points = torch.empty((n, dim), dtype=torch.float64, device=arms.device)
    squares, utilities, norms = (torch.empty(n, dtype=torch.float64, device=arms.device) for _ in range(3))
    rows = max(1, _CHUNK // dim)
    for start in range(0, n, rows):
        chunk = slice(start, start + rows)
        exact = arms[chunk].double()
        torch.matmul(exact, theta, out=utilities[chunk])
        norms[chunk] = torch.linalg.vector_norm(exact, dim=1)
        torch.matmul(exact - mean, step, out=points[chunk])
        squares[chunk] = points[chunk].square().sum(1)
    return Problem(points, squares, utilities, _noise(norms.max(), theta, doubt, radius, dim))


def _noise(size: Tensor, theta: Tensor, doubt: Tensor, radius: float, dim: int) -> Tensor:
    """A bound, several times too large, on what two float64 evaluations of a pair may differ by.

    Utilities err by dim epsilon |x||theta|; points by the whitening's doubt and, because arms are centred here
    and not elsewhere, by that of two more vectors no longer than the longest arm; adding up and the
    square root by a few epsilon of a sum that is no larger than the same two products.
    """
    growth = (dim + 16) * _EPSILON
    lengths = torch.linalg.vector_norm(theta) * growth + radius * doubt
    return 8.0 * size * lengths + TINY


def good_value(problem: Problem) -> Tensor:
    """A value that some pair has, often the best: partners chosen in turn from many starts at once.

    Never less than twice the largest utility, the value of the best arm against itself.
    """
    points, utilities = problem.points, problem.utilities
    first = problem.reach.topk(min(_STARTS, len(points))).indices
    second = first
    for _ in range(_ROUNDS):
        first, second = second, _partners(problem, second)
    apart = torch.linalg.vector_norm(points[first] - points[second], dim=1)
    found = utilities[first] + utilities[second] + apart
    return torch.maximum(found.max(), 2.0 * utilities.max())


def _partners(problem: Problem, chosen: Tensor) -> Tensor:
    """For every chosen arm the arm that makes the best pair with it."""
    squares = torch.addmm(problem.squares[:, None], problem.points, problem.points[chosen].T, alpha=-2.0)
    squares += problem.squares[chosen]
    return squares.clamp_(min=0.0).sqrt_().add_(problem.utilities[:, None]).argmax(0)


def sums_norm(matrix: Tensor) -> Tensor:
    """A bound on the spectral norm of |matrix|, entry by entry: the root of largest column sum times largest row sum."""
    return (matrix.abs().sum(0).max() * matrix.abs().sum(1).max()).sqrt()


def spectral_norm(matrix: Tensor) -> Tensor:
    """A bound on the spectral norm, at most dim^(1/64) too large: the Frobenius norm of (MM')^16, its 32nd root."""
    product = matrix @ matrix.T
    size = sums_norm(product)  # largest eigenvalue 1 or less: powers stay in range
    product = product / size
    for _ in range(4):
        product = product @ product
    return 1.001 * size.sqrt() * torch.linalg.matrix_norm(product) ** (1.0 / 32.0)
