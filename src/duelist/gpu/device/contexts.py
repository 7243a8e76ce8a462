"""The best pair of every context at once: a filter over all pairs, then float64 for those still possible.

A context is a small set of candidate arms. The filter whitens all of them with one product in TF32 and
bounds the value of every pair from both sides; in most contexts one pair remains. The pairs that
remain are whitened again in float64, as differences x_i - x_j, which gives the width of the chosen pair too.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .arithmetic import MODES, products_in, rounded
from .problem import TINY, Whitening, spectral_norm, sums_norm, whitening

_EPSILON = 2.0**-52
_HELD = 2**28
"""Entries of float32 that the filter holds at a time, and four times those that float64 does."""
_UNROUNDED = 2.0**-10
"""|x as the matrix unit reads it - x| <= this |x|: arms are too many to round them first."""


class Chosen(NamedTuple):
    """One entry for every context."""

    first: Tensor
    second: Tensor
    value: Tensor
    width: Tensor
    unsure: Tensor
    """Whether another pair has the same value up to rounding, so that the caller must decide."""


class Listed(NamedTuple):
    """Pairs by context and positions of their arms; every context has at least one."""

    context: Tensor
    first: Tensor
    second: Tensor


class Rough(NamedTuple):
    """W in TF32, and what the filter must allow for."""

    inverse: Tensor
    per_length: Tensor
    """Times |x_i| + |x_j|: the error of a pair's value by whitening in TF32 and utilities in float32."""
    growth: float
    """Times |v_i|^2 + |v_j|^2: the error of a squared distance by products in float32."""


def choose_in_contexts(arms: Tensor, theta: Tensor, factor: Tensor, radius: float) -> Chosen:
    """The best pair of every context; arms (contexts, n_arms, dim), theta and factor in float64."""
    contexts, n_arms, dim = arms.shape
    white = whitening(factor)
    rough = _rough(white, theta, radius)
    step = max(1, _HELD // max(n_arms * dim, 4 * n_arms * n_arms))
    parts = []
    for start in range(0, contexts, step):
        some = arms[start : start + step]
        parts.append(_best_listed(some, _possible(some, theta, rough, radius), theta, white, radius))
    return parts[0] if len(parts) == 1 else Chosen(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _rough(white: Whitening, theta: Tensor, radius: float) -> Rough:
    """Rounding W: measured. Reading x: `_UNROUNDED` |W||x|. Sums: dim units of every |W_kl||x_l|."""
    mode, dim = MODES["tf32"], len(theta)
    short = rounded(white.inverse, mode)
    rest = torch.linalg.matrix_norm(white.inverse - short)
    sums = dim * mode.unit * sums_norm(white.inverse)
    error = 1.02 * (_UNROUNDED * spectral_norm(white.inverse) + rest + sums) + white.doubt
    growth = 8.0 * (dim + 8) * 2.0**-24
    return Rough(short, growth * torch.linalg.vector_norm(theta) + 1.01 * radius * error, growth)


def _possible(arms: Tensor, theta: Tensor, rough: Rough, radius: float) -> Listed:
    """Pairs whose largest possible value reaches the surest value of their context."""
    contexts, n_arms, dim = arms.shape
    flat = arms.reshape(-1, dim).float()
    with products_in(MODES["tf32"]):
        points = (flat @ rough.inverse.T).view(contexts, n_arms, dim)
    with products_in(MODES["float32"]):
        products = torch.bmm(points, points.transpose(1, 2))
        total = (flat @ theta.float()).view(contexts, n_arms)
    # What underflows in float32 counts as this long, and as this far apart.
    length = torch.linalg.vector_norm(flat, dim=1).view(contexts, n_arms) + 1e-18
    square = products.diagonal(dim1=1, dim2=2)
    squares, totals, lengths = (row[:, :, None] + row[:, None, :] for row in (square, total, length))
    between = squares - 2.0 * products
    doubt = rough.growth * squares + 1e-33
    slack = lengths * rough.per_length + 1e-30
    low = totals + radius * (between - doubt).clamp_(min=0.0).sqrt_() - slack
    high = totals + radius * (between + doubt).clamp_(min=0.0).sqrt_() + slack
    stays = ~(high < low.amax((1, 2), keepdim=True))  # what is not a number stays possible
    return Listed(*stays.triu_().nonzero(as_tuple=True))


def _best_listed(arms: Tensor, pairs: Listed, theta: Tensor, white: Whitening, radius: float) -> Chosen:
    """The largest value among the listed pairs of every context, all in float64."""
    contexts, n_arms, dim = arms.shape
    flat = arms.reshape(-1, dim)
    growth = (dim + 16) * _EPSILON
    per_length = 4.0 * (torch.linalg.vector_norm(theta) * growth + radius * white.doubt)
    values, widths, noises = [], [], []
    step = max(1, _HELD // (4 * dim))
    for start in range(0, len(pairs.context), step):
        context, first, second = (column[start : start + step] for column in pairs)
        gaps, totals, sizes = _differences(flat, context * n_arms + first, context * n_arms + second, theta)
        width = torch.linalg.vector_norm(gaps @ white.inverse.T, dim=1)
        values.append(totals + radius * width)
        widths.append(width)
        noises.append(per_length * sizes + TINY)
    return _first_largest(contexts, pairs, torch.cat(values), torch.cat(widths), torch.cat(noises))


def _differences(flat: Tensor, first: Tensor, second: Tensor, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x - y, (x + y) . theta and |x| + |y| in float64 for listed pairs of rows."""
    x, y = flat[first].double(), flat[second].double()
    sizes = torch.linalg.vector_norm(x, dim=1) + torch.linalg.vector_norm(y, dim=1)
    return x - y, x @ theta + y @ theta, sizes


def _first_largest(contexts: int, pairs: Listed, value: Tensor, width: Tensor, noise: Tensor) -> Chosen:
    """For every context a listed pair with the largest value, and whether another comes close."""
    context = pairs.context
    nothing = torch.full((contexts,), -torch.inf, dtype=value.dtype, device=value.device)
    sure = nothing.scatter_reduce(0, context, value - noise, "amax")
    near = ~(value + noise < sure[context])
    close = torch.zeros(contexts, dtype=torch.int32, device=value.device)
    close.scatter_add_(0, context, near.to(torch.int32))
    broken = torch.zeros(contexts, dtype=torch.int32, device=value.device)
    broken.scatter_add_(0, context, (~torch.isfinite(value)).to(torch.int32))
    # Where one pair is near it is the best; where several are, the caller chooses, and any of them will do.
    place = torch.zeros(contexts, dtype=torch.int64, device=value.device)
    listed = torch.arange(len(value), device=value.device)
    place.scatter_reduce_(0, context, torch.where(near, listed, 0), "amax")
    # An arm that is not finite is always listed against itself; its context shows it.
    best = torch.where(broken > 0, torch.nan, value[place])
    return Chosen(pairs.first[place], pairs.second[place], best, width[place], (close != 1) | (broken > 0))
