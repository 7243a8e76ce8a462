"""Batches: duels in many contexts at once, what `ask_batch` takes and returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats, Ints, check_contexts, check_ragged_contexts, is_integer, is_ragged
from duelist.core.duel import Duel
from duelist.core.errors import InvalidInput

_MAX_JOINT_CANDIDATES: Final = 256
"""With this many candidates or more, contexts and pairs are not chosen together."""


@dataclass(frozen=True)
class Contexts:
    """Contexts for the engine: one array, in which contexts with fewer candidates are padded."""

    listed: Floats | list[Floats]
    cube: Floats
    counts: Ints | None

    def check_k(self, k: Any, designs: bool) -> None:
        """Check a number of duels: at most one per context, or one per pair for a policy that designs batches."""
        n, candidates, _ = self.cube.shape
        sizes = np.full(n, candidates) if self.counts is None else self.counts
        together = designs and 1 < candidates < _MAX_JOINT_CANDIDATES
        most = int((sizes * (sizes - 1) // 2).sum()) if together else n
        if k is None or (is_integer(k) and 1 <= k <= most):
            return
        if together:
            raise InvalidInput(
                f"k is {k!r}.",
                f"Give a number of duels from 1 to {most}, the number of pairs, or leave it out.",
                field="k",
            )
        more = ""
        if is_integer(k) and k > n:
            more = (
                f". Put contexts with {_MAX_JOINT_CANDIDATES} candidates or more in a separate batch"
                if designs
                else ". RewardDesign asks about several pairs per context"
            )
        raise InvalidInput(
            f"k is {k!r}.",
            f"Give a number of contexts from 1 to {n}, or leave it out for all of them{more}.",
            field="k",
        )


def as_contexts(arms: Any, dim: int | None) -> Contexts:
    """Return the contexts given to `ask_batch`.

    They are an array (contexts, candidates, dim), or a list of arrays (candidates, dim).
    """
    if not is_ragged(arms):
        shown = check_contexts(arms, dim)
        return Contexts(shown, shown, None)
    listed = check_ragged_contexts(arms, dim)
    counts = np.array([len(each) for each in listed], np.int64)
    cube = np.zeros((len(listed), int(counts.max()), listed[0].shape[1]))
    for k, each in enumerate(listed):
        cube[k, : len(each)] = each
    return Contexts(listed, cube, counts)


@dataclass(frozen=True)
class Batch:
    """Duels in contexts, iterated as pairs (context, duel).

    `contexts` are positions in the given arms: all in order, or the k chosen ones, the first chosen first.
    `information` is what each duel adds, log(1 + w^2 |x - y|^2), to those before it if k was given, and on its own
    otherwise; 0 if nothing would be learned. (With `RewardDesign` the slope of the link replaces w^2.)
    """

    contexts: Ints
    duels: list[Duel]
    information: Floats

    def __iter__(self) -> Iterator[tuple[int, Duel]]:
        return iter(zip(self.contexts.tolist(), self.duels, strict=True))

    def __len__(self) -> int:
        return len(self.duels)
