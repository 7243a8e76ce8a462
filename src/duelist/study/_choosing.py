"""Which pair to ask: the policy's, or a random one; never one that is out already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.errors import NothingToAsk
from duelist.policies import CompiledPolicy
from duelist.study.records import ChosenBy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pending = list[tuple[Floats, int, float]]
Pair = tuple[int, int]

_TRIES: Final = 8


class Chosen(NamedTuple):
    """A pair by positions among the candidates, as the policy named it, and how it came about."""

    first: int
    second: int
    layer: int
    share: float
    chosen_by: ChosenBy
    chance: float | None


class Chooser(NamedTuple):
    """One decision: candidates (n, dim), the pairs among them that are out, and everything the policy wants to know."""

    policy: CompiledPolicy
    candidates: Floats
    out: frozenset[Pair]
    pending: Pending
    rounds: int
    rng: np.random.Generator

    def choose(self, random_share: float) -> Chosen:
        """A pair; a share of them uniformly random among the pairs that are not out."""
        n = len(self.candidates)
        free = n * (n - 1) // 2 - len(self.out)
        if free < 1:
            raise NothingToAsk(
                f"all {n * (n - 1) // 2} pairs of the {n} candidates are out; wait for a vote, add arms, "
                "or let several raters have a duel with `raters_per_duel`"
            )
        if self.rng.random() < random_share:
            first, second = self._random_pair()
            return Chosen(first, second, *self._placed(first, second), ChosenBy.RANDOM, random_share / free)
        return Chosen(*self._policy_pair(), ChosenBy.POLICY, None)

    def _policy_pair(self) -> tuple[int, int, int, float]:
        """What the policy wants most, then what it wants without an arm of that pair, and so on.

        A person cannot compare an arm with itself: where the policy would, its arm meets the best of the others.
        """
        seed = int(self.rng.integers(2**63))
        kept = np.arange(len(self.candidates))
        for _ in range(_TRIES):
            if len(kept) < 2:
                break
            first, second, layer, share = self._consider(kept, seed)
            if first == second:
                second, *_ = self._consider(kept[kept != first], seed)
                layer, share = self._placed(first, second)
            if not self._is_out(first, second):
                return first, second, layer, share
            kept = kept[kept != second]
        first, second = self._random_pair()
        return first, second, *self._placed(first, second)

    def _consider(self, kept: Ints, seed: int) -> tuple[int, int, int, float]:
        arms = self.candidates if len(kept) == len(self.candidates) else self.candidates[kept]
        choice = self.policy.consider(arms, pending=self.pending, seed=seed, rounds=self.rounds)
        return int(kept[choice.first]), int(kept[choice.second]), int(choice.layer), float(choice.share)

    def _random_pair(self) -> Pair:
        """Uniform over the pairs that are not out, by drawing again; at most as many are out as there are raters."""
        n = len(self.candidates)
        while True:
            first = int(self.rng.integers(n))
            second = int(self.rng.integers(n - 1))
            second += second >= first
            if not self._is_out(first, second):
                return first, second

    def _is_out(self, first: int, second: int) -> bool:
        return (min(first, second), max(first, second)) in self.out

    def _placed(self, first: int, second: int) -> tuple[int, float]:
        layer, share = self.policy.place(self.candidates[first] - self.candidates[second])
        return int(layer), float(share)


def out_among(pairs: list[Pair], numbers: Ints) -> frozenset[Pair]:
    """Pairs of arm numbers that are out, as positions among the candidates; both must be among them."""
    if not pairs:
        return frozenset()
    place: Callable[[int], int | None] = _places(pairs, numbers).get
    found = ((place(a), place(b)) for a, b in pairs)
    return frozenset((min(a, b), max(a, b)) for a, b in found if a is not None and b is not None)


def _places(pairs: list[Pair], numbers: Ints) -> dict[int, int]:
    """Where the arms of these pairs are among the candidates."""
    wanted = np.array(sorted({number for pair in pairs for number in pair}))
    order = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers, wanted, sorter=order)
    at = np.minimum(at, len(numbers) - 1)
    return {int(w): int(order[k]) for w, k in zip(wanted, at, strict=True) if numbers[order[k]] == w}
