"""Which pair to ask: the policy's, or a random one; never one that may not be asked."""

from __future__ import annotations

import functools
import inspect
import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.policies import CompiledPolicy
from duelist.study._arms import Features
from duelist.study._pairs import Ints, among, code, count_free, random_free, split
from duelist.study.records import ChosenBy

Floats = NDArray[np.float64]
Pending = list[tuple[Floats, int, float]]

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
    """One decision: candidates (n, dim), the pairs of them that may not be asked, and everything the policy wants to know.

    `taken` are pairs of positions, as numbers of `_pairs`, in order; one pair at least is not among them. `groups` is the number of
    groups that the candidates were drawn from.
    """

    policy: CompiledPolicy
    candidates: Features
    taken: Ints
    pending: Pending
    rounds: int
    rng: np.random.Generator
    groups: int = 1

    def choose(self, random_share: float) -> Chosen:
        """A pair; a share of them uniformly random among the pairs that may be asked."""
        if self.rng.random() < random_share:
            return self._by_chance(random_share)
        seed = int(self.rng.integers(2**63))
        kept = self._shortlist()
        every = len(kept) == len(self.candidates)
        taken = self.taken if every else among(self.taken, kept, len(self.candidates))
        if not count_free(len(kept), taken):
            return self._by_chance(1.0)  # of very many candidates, none that the policy looked at
        arms = np.asarray(self.candidates if every else self.candidates[kept], np.float64)
        found = considered(self.policy, arms, self.pending, seed, self.rounds, taken)
        if found is None:
            return self._by_chance(1.0)
        first, second, layer, share = found
        return Chosen(int(kept[first]), int(kept[second]), layer, share, ChosenBy.POLICY, None)

    def _by_chance(self, share: float) -> Chosen:
        """Uniform over the pairs that may be asked, where such a draw comes with this probability."""
        n = len(self.candidates)
        first, second = random_free(n, self.taken, self.rng)
        chance = share / (count_free(n, self.taken) * self.groups)
        return Chosen(first, second, *self.placed(first, second), ChosenBy.RANDOM, chance)

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

    def placed(self, first: int, second: int) -> tuple[int, float]:
        """Layer and share of a pair that the policy did not ask for."""
        return placed(self.policy, self.candidates, first, second)


def placed(policy: CompiledPolicy, candidates: Features, first: int, second: int) -> tuple[int, float]:
    """Layer and share of a pair that the policy did not ask for."""
    one, other = (candidates[k].astype(np.float64) for k in (first, second))
    layer, share = policy.place(one - other)
    return int(layer), float(share)


def considered(
    policy: CompiledPolicy, arms: Floats, pending: Pending, seed: int, rounds: int, taken: Ints
) -> tuple[int, int, int, float] | None:
    """What the policy would ask now of two different arms whose pair is not taken; None if it is at a loss.

    A policy that leaves pairs out by itself is asked to. Of one that cannot, an arm is hidden as long as it wants a pair that is taken:
    the one of the two that has fewer partners left. What it then wants is its own choice, among fewer arms.
    """
    if _leaves_out(type(policy)):
        exclude = np.stack(split(taken), axis=1)
        first, second, layer, share = policy.consider(  # type: ignore[call-arg]
            arms, pending=pending, seed=seed, rounds=rounds, distinct=True, exclude=exclude
        )
        return int(first), int(second), int(layer), float(share)
    forbidden = set(taken.tolist())
    kept = np.arange(len(arms))
    while len(kept) > 1:
        first, second, layer, share = _wanted(policy, arms, kept, pending, seed, rounds)
        if code(first, second) not in forbidden:
            return first, second, layer, share
        kept = kept[kept != _fewer_partners(first, second, kept, taken)]
    return None


@functools.cache
def _leaves_out(kind: type[CompiledPolicy]) -> bool:
    return "exclude" in inspect.signature(kind.consider).parameters


def _wanted(
    policy: CompiledPolicy, arms: Floats, kept: Ints, pending: Pending, seed: int, rounds: int
) -> tuple[int, int, int, float]:
    """What the policy wants of these arms; where it would have one meet itself, that one meets the best of the others."""
    first, second, layer, share = policy.consider(arms[kept], pending=pending, seed=seed, rounds=rounds)
    if first != second:
        return int(kept[first]), int(kept[second]), int(layer), float(share)
    rest = np.delete(kept, first)
    second = rest[policy.consider(arms[rest], pending=pending, seed=seed, rounds=rounds).first]
    return int(kept[first]), int(second), *placed(policy, arms, int(kept[first]), int(second))


def _fewer_partners(first: int, second: int, kept: Ints, taken: Ints) -> int:
    """Of two arms, the one with more pairs taken among those kept; the second, if both have as many."""
    low, high = split(taken)
    here = np.isin(low, kept) & np.isin(high, kept)
    low, high = low[here], high[here]
    counts = [int(((low == arm) | (high == arm)).sum()) for arm in (first, second)]
    return first if counts[0] > counts[1] else second
