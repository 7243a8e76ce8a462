"""Whitening of arms on the device, with an error bound, and a first good pair.

With the lower Cholesky factor L of the precision, W = L^-1 and the mean arm m, arm x becomes the point
p = radius W (x - m) with utility u = x . theta, in float64. The value of a pair is u_i + u_j + |p_i - p_j|. Values that
the caller computes in float64 differ from this by less than `noise`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_EPSILON = 2.0**-52
_CHUNK = 2**25
"""Entries of the arms that are converted to float64 at a time."""
_STARTS, _ROUNDS = 64, 3
TINY = 1e-140
"""Smaller differences may be due to underflow."""


class WhitenedArms(NamedTuple):
    """Whitened arms with their utilities; numbers that bound an error are tensors without axes."""

    points: Tensor
    """(n_arms, dim): radius times the centred, whitened arms."""
    squares: Tensor
    """(n_arms,): |p|^2."""
    utilities: Tensor
    """(n_arms,): x . theta."""
    noise: Tensor
    """Bound on the difference between u_i + u_j + |p_i - p_j| and the value that the caller computes.

    Not finite if the arms are not, or if the precision is too ill-conditioned.
    """

    @property
    def certain(self) -> bool:
        """Whether all numbers are finite, so that the bounds hold."""
        return bool(torch.isfinite(self.noise + self.squares.max() + self.utilities.abs().max()))

    @property
    def reach(self) -> Tensor:
        """u + |p|: the sum over two arms bounds the value of their pair."""
        return self.utilities + self.squares.sqrt()


class Whitening(NamedTuple):
    """W = L^-1 as computed, and a bound on the error of a product with it per unit of |x|."""

    inverse: Tensor
    doubt: Tensor


def whitening(factor: Tensor) -> Whitening:
    """Compute W and a bound d: |W x as computed - L^-1 x by any substitution| <= d |x|.

    W = (I + E) L^-1, where E = WL - I is computed. A product has an error of at most g |W||x| with g = dim epsilon, a
    substitution of g |L^-1||L||v| (Higham, Theorem 8.5).
    """
    dim = len(factor)
    growth = (dim + 8) * _EPSILON
    identity = torch.eye(dim, dtype=factor.dtype, device=factor.device)
    inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
    size = absolute_norm_bound(inverse)
    spread = absolute_norm_bound(inverse.abs() @ factor.abs())
    residual = torch.linalg.matrix_norm(inverse @ factor - identity) + growth * spread
    trusted = torch.where(residual < 0.1, residual, torch.inf)  # |L^-1| <= |W| / 0.9 requires this
    return Whitening(inverse, 2.0 * size * (trusted + growth * (spread + 2.0)))


def whiten_arms(arms: Tensor, theta: Tensor, factor: Tensor, radius: float) -> WhitenedArms:
    """Whiten arms (n_arms, dim) in float32 or float64, with theta and factor in float64 on the same device."""
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
    return WhitenedArms(points, squares, utilities, _noise(norms.max(), theta, doubt, radius, dim))


def _noise(size: Tensor, theta: Tensor, doubt: Tensor, radius: float, dim: int) -> Tensor:
    """A generous bound on the difference between two float64 evaluations of a pair.

    Utilities have an error of dim epsilon |x||theta|. Points have that of the whitening and, because arms are centred
    only
    here, that of two more vectors no longer than the longest arm. Sum and square root add a few epsilon of the same
    terms.
    """
    growth = (dim + 16) * _EPSILON
    lengths = torch.linalg.vector_norm(theta) * growth + radius * doubt
    return 8.0 * size * lengths + TINY


def initial_value(whitened: WhitenedArms) -> Tensor:
    """The value of a good pair, often the best, by alternating search from many starts.

    At least twice the largest utility, the value of the best arm paired with itself.
    """
    points, utilities = whitened.points, whitened.utilities
    first = whitened.reach.topk(min(_STARTS, len(points))).indices
    second = first
    for _ in range(_ROUNDS):
        first, second = second, _partners(whitened, second)
    apart = torch.linalg.vector_norm(points[first] - points[second], dim=1)
    found = utilities[first] + utilities[second] + apart
    return torch.maximum(found.max(), 2.0 * utilities.max())


def _partners(whitened: WhitenedArms, chosen: Tensor) -> Tensor:
    """The best partner of each chosen arm."""
    squares = torch.addmm(whitened.squares[:, None], whitened.points, whitened.points[chosen].T, alpha=-2.0)
    squares += whitened.squares[chosen]
    return squares.clamp_(min=0.0).sqrt_().add_(whitened.utilities[:, None]).argmax(0)


def absolute_norm_bound(matrix: Tensor) -> Tensor:
    """A bound on the spectral norm of |matrix|: the root of largest column sum times largest row sum."""
    return (matrix.abs().sum(0).max() * matrix.abs().sum(1).max()).sqrt()


def spectral_norm_bound(matrix: Tensor) -> Tensor:
    """A bound on the spectral norm, at most dim^(1/64) too large: the 32nd root of the Frobenius norm of (MM')^16."""
    product = matrix @ matrix.T
    size = absolute_norm_bound(product)  # largest eigenvalue at most 1, so that powers do not overflow
    product = product / size
    for _ in range(4):
        product = product @ product
    return 1.001 * size.sqrt() * torch.linalg.matrix_norm(product) ** (1.0 / 32.0)
