"""The best pair of many contexts at once: a filter over all pairs, then float64 for the remaining ones.

A context is a small set of candidate arms. The filter whitens all arms with one product in TF32, and bounds the value
of each pair from both sides; in most contexts one pair remains. The remaining pairs are whitened again in float64, as
differences x_i - x_j, which also gives the width of the chosen pair.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .arithmetic import MODES, matmul_precision, rounded
from .whitening import TINY, Whitening, absolute_norm_bound, spectral_norm_bound, whitening

_EPSILON = 2.0**-52
_CHUNK = 2**28
"""Entries of float32 that the filter processes at a time, and four times those in float64."""
_UNROUNDED = 2.0**-10
"""Relative error of an arm as the matrix unit reads it: there are too many arms to round them first."""


class BestPairs(NamedTuple):
    """One entry per context."""

    first: Tensor
    second: Tensor
    value: Tensor
    width: Tensor
    tied: Tensor
    """Whether another pair has the same value up to rounding, which the caller has to resolve."""


class CandidatePairs(NamedTuple):
    """Pairs, as context and positions of the arms; every context has at least one."""

    context: Tensor
    first: Tensor
    second: Tensor


class ApproximateWhitening(NamedTuple):
    """W in TF32, and the errors that the filter has to allow for."""

    inverse: Tensor
    per_length: Tensor
    """Factor of |x_i| + |x_j|: the error of a value from whitening in TF32 and utilities in float32."""
    growth: float
    """Factor of |v_i|^2 + |v_j|^2: the error of a squared distance from products in float32."""


def best_pairs_in_contexts(arms: Tensor, theta: Tensor, factor: Tensor, radius: float) -> BestPairs:
    """Return the best pair of each context of arms (contexts, n_arms, dim), with theta and factor in float64."""
    contexts, n_arms, dim = arms.shape
    white = whitening(factor)
    rough = _approximate_whitening(white, theta, radius)
    step = max(1, _CHUNK // max(n_arms * dim, 4 * n_arms * n_arms))
    parts = []
    for start in range(0, contexts, step):
        some = arms[start : start + step]
        parts.append(_best_candidates(some, _possible_pairs(some, theta, rough, radius), theta, white, radius))
    return parts[0] if len(parts) == 1 else BestPairs(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _approximate_whitening(white: Whitening, theta: Tensor, radius: float) -> ApproximateWhitening:
    """Rounding of W: measured. Reading of x: `_UNROUNDED` |W||x|. Sums: dim units of every |W_kl||x_l|."""
    mode, dim = MODES["tf32"], len(theta)
    short = rounded(white.inverse, mode)
    rest = torch.linalg.matrix_norm(white.inverse - short)
    sums = dim * mode.unit * absolute_norm_bound(white.inverse)
    error = 1.02 * (_UNROUNDED * spectral_norm_bound(white.inverse) + rest + sums) + white.doubt
    growth = 8.0 * (dim + 8) * 2.0**-24
    return ApproximateWhitening(short, growth * torch.linalg.vector_norm(theta) + 1.01 * radius * error, growth)


def _possible_pairs(arms: Tensor, theta: Tensor, rough: ApproximateWhitening, radius: float) -> CandidatePairs:
    """The pairs whose upper bound reaches the largest lower bound of their context."""
    contexts, n_arms, dim = arms.shape
    flat = arms.reshape(-1, dim).float()
    with matmul_precision(MODES["tf32"]):
        points = (flat @ rough.inverse.T).view(contexts, n_arms, dim)
    with matmul_precision(MODES["float32"]):
        products = torch.bmm(points, points.transpose(1, 2))
        total = (flat @ theta.float()).view(contexts, n_arms)
    # bounds on the length and distance of vectors that underflow in float32
    length = torch.linalg.vector_norm(flat, dim=1).view(contexts, n_arms) + 1e-18
    square = products.diagonal(dim1=1, dim2=2)
    squares, totals, lengths = (row[:, :, None] + row[:, None, :] for row in (square, total, length))
    between = squares - 2.0 * products
    doubt = rough.growth * squares + 1e-33
    slack = lengths * rough.per_length + 1e-30
    low = totals + radius * (between - doubt).clamp_(min=0.0).sqrt_() - slack
    high = totals + radius * (between + doubt).clamp_(min=0.0).sqrt_() + slack
    stays = ~(high < low.amax((1, 2), keepdim=True))  # NaN remains possible
    return CandidatePairs(*stays.triu_().nonzero(as_tuple=True))


def _best_candidates(arms: Tensor, pairs: CandidatePairs, theta: Tensor, white: Whitening, radius: float) -> BestPairs:
    """The candidate pair with the largest value in each context, in float64."""
    contexts, n_arms, dim = arms.shape
    flat = arms.reshape(-1, dim)
    growth = (dim + 16) * _EPSILON
    per_length = 4.0 * (torch.linalg.vector_norm(theta) * growth + radius * white.doubt)
    values, widths, noises = [], [], []
    step = max(1, _CHUNK // (4 * dim))
    for start in range(0, len(pairs.context), step):
        context, first, second = (column[start : start + step] for column in pairs)
        gaps, totals, sizes = _differences(flat, context * n_arms + first, context * n_arms + second, theta)
        width = torch.linalg.vector_norm(gaps @ white.inverse.T, dim=1)
        values.append(totals + radius * width)
        widths.append(width)
        noises.append(per_length * sizes + TINY)
    return _best_per_context(contexts, pairs, torch.cat(values), torch.cat(widths), torch.cat(noises))


def _differences(flat: Tensor, first: Tensor, second: Tensor, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x - y, (x + y) . theta and |x| + |y| in float64 for pairs of rows."""
    x, y = flat[first].double(), flat[second].double()
    sizes = torch.linalg.vector_norm(x, dim=1) + torch.linalg.vector_norm(y, dim=1)
    return x - y, x @ theta + y @ theta, sizes


def _best_per_context(contexts: int, pairs: CandidatePairs, value: Tensor, width: Tensor, noise: Tensor) -> BestPairs:
    """A candidate pair with the largest value in each context, and whether another is too close."""
    context = pairs.context
    nothing = torch.full((contexts,), -torch.inf, dtype=value.dtype, device=value.device)
    sure = nothing.scatter_reduce(0, context, value - noise, "amax")
    near = ~(value + noise < sure[context])
    close = torch.zeros(contexts, dtype=torch.int32, device=value.device)
    close.scatter_add_(0, context, near.to(torch.int32))
    broken = torch.zeros(contexts, dtype=torch.int32, device=value.device)
    broken.scatter_add_(0, context, (~torch.isfinite(value)).to(torch.int32))
    # A single close pair is the best; of several, any will do, because the caller resolves the tie.
    place = torch.zeros(contexts, dtype=torch.int64, device=value.device)
    listed = torch.arange(len(value), device=value.device)
    place.scatter_reduce_(0, context, torch.where(near, listed, 0), "amax")
    # An arm that is not finite always stays a candidate with itself, and marks its context.
    best = torch.where(broken > 0, torch.nan, value[place])
    return BestPairs(pairs.first[place], pairs.second[place], best, width[place], (close != 1) | (broken > 0))
