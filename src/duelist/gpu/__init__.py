"""Pair searches on a GPU with PyTorch: the `gpu` extra.

Pairs, values and errors are those of the CPU functions. The device searches in low precision and returns the few arms
that can be in the best pair, with an error bound that excludes no candidate. The compiled float64 functions then score
these. `device` is "cuda", "cpu" or a torch.device; arms may be arrays, or tensors that are already on the device.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.core.arrays import Floats, check_finite
from duelist.core.errors import InvalidInput
from duelist.core.extras import needs_extra
from duelist.policies.pair_search import (
    Pair,
    check_radius,
    check_theta,
    factor_precision,
    lower_factor,
    search_best_pair,
    search_widest_pair,
)

with needs_extra("gpu", "duelist.gpu"):
    import torch

from duelist.gpu import device as on_device

Device: TypeAlias = str | torch.device
MatrixProduct = Literal["float32", "tf32", "bfloat16"]

__all__ = ["ContextPairs", "best_pair", "best_pairs_in_contexts", "widest_pair"]


class ContextPairs(NamedTuple):
    """The best pair of each context, as tensors on the device with one entry per context."""

    first: torch.Tensor
    second: torch.Tensor
    value: torch.Tensor
    """(x + y) . theta + radius * width of the pair, float64."""
    width: torch.Tensor
    """|x - y|_{precision^-1} of the pair, float64."""
    informative: torch.Tensor
    """The k contexts with the widest pairs, widest first; of equal widths the first context."""


def best_pair(
    arms: ArrayLike | torch.Tensor,
    theta: ArrayLike | torch.Tensor,
    precision: ArrayLike | torch.Tensor,
    radius: float,
    *,
    device: Device,
    pruned: bool = True,
    matmul: MatrixProduct = "bfloat16",
) -> Pair:
    """Return argmax and maximum over pairs of (x + y) . theta + radius |x - y|_{precision^-1}: `duelist.best_pair`.

    An arm may be paired with itself; of equal values, the first pair in row order wins. `pruned` drops arms that
    cannot be in the best pair before the products; `matmul` is the arithmetic of the filter. Both affect the time,
    not the result.

    >>> best_pair([[0.0], [1.0], [3.0]], theta=[0.0], precision=[[4.0]], radius=1.0, device="cpu")
    Pair(first=0, second=2, value=1.5)
    """
    place, mode = _device(device), _mode(matmul)
    x = _arms(arms, place, "finite features (n_arms, dim)", 2)
    dim = x.shape[1]
    factor = factor_precision(_host(precision), dim)
    t, size = check_theta(_host(theta), dim), check_radius(radius)
    chosen = _candidates(x, t, factor, size, pruned, mode)
    kept, rows = _distinct(x, chosen)
    return _map_positions(search_best_pair(rows, t, factor, size), kept)


def widest_pair(
    arms: ArrayLike | torch.Tensor,
    precision: ArrayLike | torch.Tensor,
    *,
    device: Device,
    pruned: bool = True,
    matmul: MatrixProduct = "bfloat16",
) -> Pair:
    """Return the pair with the largest width |x - y|_{precision^-1}, and the width: `duelist.widest_pair`.

    >>> widest_pair([[0.0], [1.0], [3.0]], precision=[[4.0]], device="cpu")
    Pair(first=0, second=2, value=1.5)
    """
    place, mode = _device(device), _mode(matmul)
    x = _arms(arms, place, "finite features (n_arms, dim)", 2)
    factor = factor_precision(_host(precision), x.shape[1])
    chosen = _candidates(x, np.zeros(x.shape[1]), factor, 1.0, pruned, mode)
    chosen = torch.unique(torch.cat((chosen.new_zeros(1), chosen)))  # arm 0 is the result if all arms are equal
    kept, rows = _distinct(x, chosen)
    return _map_positions(search_widest_pair(rows, factor), kept)


def best_pairs_in_contexts(
    arms: ArrayLike | torch.Tensor,
    theta: ArrayLike | torch.Tensor,
    precision: ArrayLike | torch.Tensor,
    radius: float,
    *,
    device: Device,
    k: int | None = None,
) -> ContextPairs:
    """Return `duelist.best_pair` of each context, and the k most informative contexts.

    The arms have the shape (contexts, n_arms, dim).

    The most informative contexts are those whose pair is widest: its outcome is the most uncertain. Without k all
    contexts are listed. Pairs are those of `duelist.best_pair`, ties included; values and widths agree to about 1e-12.

    >>> arms = [[[0.0], [1.0]], [[0.0], [3.0]]]
    >>> chosen = best_pairs_in_contexts(arms, [0.0], [[4.0]], 1.0, device="cpu", k=1)
    >>> chosen.second.tolist(), chosen.width.tolist(), chosen.informative.tolist()
    ([1, 1], [0.5, 1.5], [1])
    """
    place = _device(device)
    x = _arms(arms, place, "finite features (contexts, n_arms, dim)", 3)
    dim = x.shape[2]
    factor = factor_precision(_host(precision), dim)
    t, size = check_theta(_host(theta), dim), check_radius(radius)
    count = _count(k, len(x))
    chosen = on_device.best_pairs_in_contexts(x, _to_device(t, place), _to_device(lower_factor(factor), place), size)
    _require_finite(x, chosen.value, "finite features (contexts, n_arms, dim)")
    _resolve_ties(x, chosen, t, factor, size)
    informative = chosen.width.sort(descending=True, stable=True).indices[:count]
    return ContextPairs(chosen.first, chosen.second, chosen.value, chosen.width, informative)


def _candidates(
    x: torch.Tensor, theta: Floats, factor: Floats, radius: float, pruned: bool, mode: on_device.Mode
) -> torch.Tensor:
    whitened = on_device.whiten_arms(x, _to_device(theta, x.device), _to_device(lower_factor(factor), x.device), radius)
    _require_finite(x, whitened.noise, "finite features (n_arms, dim)")
    return on_device.candidates(whitened, mode, pruned=pruned)[0]


def _distinct(x: torch.Tensor, chosen: torch.Tensor) -> tuple[NDArray[np.int64], Floats]:
    """Positions and features of the chosen arms, without later duplicates, which are never in the first best pair."""
    rows = x[chosen].double().cpu().numpy()
    places = chosen.cpu().numpy()
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    return places[first], np.ascontiguousarray(rows[first])


def _map_positions(pair: Pair, places: NDArray[np.int64]) -> Pair:
    return Pair(int(places[pair.first]), int(places[pair.second]), pair.value)


def _resolve_ties(x: torch.Tensor, chosen: on_device.BestPairs, theta: Floats, factor: Floats, radius: float) -> None:
    """Decide contexts with ties up to rounding by the compiled functions."""
    contexts = chosen.tied.nonzero()[:, 0]
    if not len(contexts):
        return
    found = []
    for arms in x[contexts].double().cpu().numpy():
        pair = search_best_pair(arms, theta, factor, radius)
        found.append((*pair, search_widest_pair(arms[[pair.first, pair.second]], factor).value))
    for column, values in zip(chosen[:4], zip(*found, strict=True), strict=True):
        column[contexts] = torch.tensor(values, dtype=column.dtype, device=column.device)


def _arms(arms: ArrayLike | torch.Tensor, device: torch.device, wanted: str, axes: int) -> torch.Tensor:
    """Arms on the device in float32 or float64; `_require_finite` checks them later, by the result."""
    x = arms if isinstance(arms, torch.Tensor) else torch.from_numpy(check_finite("arms", arms, wanted))
    if x.ndim != axes or 0 in x.shape:
        raise InvalidInput(f"arms have shape {tuple(x.shape)}.", f"Give {wanted}.")
    if x.is_complex():
        raise InvalidInput(f"arms are of type {x.dtype}.", f"Give {wanted}.", field="arms")
    kind = x.dtype if x.dtype in (torch.float32, torch.float64) else torch.float64
    return x.detach().to(device, kind).contiguous()


def _require_finite(x: torch.Tensor, computed: torch.Tensor, wanted: str) -> None:
    """Raise an error if the result is not finite because the arms are not."""
    if bool(torch.isfinite(computed).all()) or bool(torch.isfinite(x).all()):
        return
    at = [int(k) for k in (~torch.isfinite(x)).nonzero()[0]]
    raise InvalidInput(f"arms[{', '.join(map(str, at))}] is {float(x[tuple(at)])}.", f"Give {wanted}.")


def _device(device: Any) -> torch.device:
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(
            f"device is {device!r} ({reason}).", 'Give "cuda", "cpu" or a torch.device.', field="device"
        ) from None
    if place.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInput(
            f"device is {device!r}, but PyTorch {torch.__version__} sees no CUDA GPU.",
            'Give "cpu", use duelist.best_pair, or install a PyTorch built for CUDA.',
            field="device",
        )
    if place.type not in ("cuda", "cpu"):
        raise InvalidInput(f"device is {device!r}.", 'Give "cuda", "cpu" or a torch.device of these.', field="device")
    if place.index is not None and place.type == "cuda" and place.index >= torch.cuda.device_count():
        raise InvalidInput(
            f"device is {device!r}, but there are {torch.cuda.device_count()} GPUs.", "Count from 0.", field="device"
        )
    return place


def _mode(matmul: Any) -> on_device.Mode:
    try:
        return on_device.MODES[matmul]
    except (KeyError, TypeError):
        names = ", ".join(f'"{name}"' for name in on_device.MODES)
        raise InvalidInput(f"matmul is {matmul!r}.", f"Give one of {names}.", field="matmul") from None


def _count(k: Any, contexts: int) -> int:
    if k is None:
        return contexts
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= contexts:
        raise InvalidInput(
            f"k is {k!r}.", f"Give a whole number from 0 to {contexts}, or None for all contexts.", field="k"
        )
    return int(k)


def _host(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def _to_device(array: Floats, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(array).to(device)
