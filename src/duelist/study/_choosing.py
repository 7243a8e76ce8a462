"""Which pair to ask: the policy's, or a random one; never one that is out already."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.errors import NothingToAsk
from duelist.policies import CompiledPolicy
from duelist.study._arms import Features
from duelist.study.records import ChosenBy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pending = list[tuple[Floats, int, float]]
Pair = tuple[int, int]

_TRIES: Final = 8
_WORK: Final = 1 << 32
"""n candidates are looked at together if n^2 dim is at most this. Where features are long and nothing is ruled out, a policy
compares all pairs: about half a second then, for which the other raters wait."""


def most_considered(dim: int) -> int:
    """How many candidates of so many features a policy looks at for one duel.

    >>> most_considered(16), most_considered(256)
    (16384, 4096)
    """
    return math.isqrt(_WORK // dim)


class Chosen(NamedTuple):
    """A pair by positions among the candidates, as the policy named it, and how it came about."""

    first: int
    second: int
    layer: int
    share: float
    chosen_by: ChosenBy
    chance: float | None


class Chooser(NamedTuple):
    """One decision: candidates (n, dim), the pairs among them that are out, and everything the policy wants to know.

    `groups` is the number of groups that the candidates were drawn from.
    """

    policy: CompiledPolicy
    candidates: Features
    out: frozenset[Pair]
    pending: Pending
    rounds: int
    rng: np.random.Generator
    groups: int = 1

    def choose(self, random_share: float) -> Chosen:
        """A pair; a share of them uniformly random among the pairs that are not out."""
        n = len(self.candidates)
        free = n * (n - 1) // 2 - len(self.out)
        if free < 1:
            raise NothingToAsk(
                f"all {n * (n - 1) // 2} pairs of the {n} candidates are out or have votes enough; wait for a vote, add arms, "
                "let several raters have a duel with `raters_per_duel`, or raise `limit(per_pair=...)`"
            )
        if self.rng.random() < random_share:
            first, second = self._random_pair()
            return Chosen(
                first, second, *self._placed(first, second), ChosenBy.RANDOM, random_share / (free * self.groups)
            )
        return Chosen(*self._policy_pair(), ChosenBy.POLICY, None)

    def _policy_pair(self) -> tuple[int, int, int, float]:
        """What the policy wants most, then what it wants without an arm of that pair, and so on.

        A person cannot compare an arm with itself: where the policy would, its arm meets the best of the others.
        """
        seed = int(self.rng.integers(2**63))
        kept = self._shortlist()
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

    def _shortlist(self) -> Ints:
        """Positions of the candidates that the policy looks at: all; or, of very many, those that seem best to it for one half
        and others by chance for the other half, so that none is forgotten.
        """
        n, dim = self.candidates.shape
        most = most_considered(dim)
        if n <= most:
            return np.arange(n)
        shuffled = self.rng.permutation(n)  # arms that seem equal, as all do in the beginning, have equal chances
        utilities = self.candidates @ self.policy.theta_.astype(self.candidates.dtype)
        order = shuffled[np.argpartition(-utilities[shuffled], most // 2)]
        others = self.rng.choice(order[most // 2 :], most - most // 2, replace=False)
        return np.sort(np.concatenate([order[: most // 2], others]))

    def _consider(self, kept: Ints, seed: int) -> tuple[int, int, int, float]:
        every = len(kept) == len(self.candidates)
        arms = np.asarray(self.candidates if every else self.candidates[kept], np.float64)
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
        one, other = (self.candidates[k].astype(np.float64) for k in (first, second))
        layer, share = self.policy.place(one - other)
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
