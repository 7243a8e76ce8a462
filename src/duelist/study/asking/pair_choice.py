"""Which pair to ask: the policy's, or a random one; never one that may not be asked."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, Ints
from duelist.policies import Policy
from duelist.study.asking.pairs import among, count_free, random_free, split
from duelist.study.items.catalog import Shown
from duelist.study.records import ChosenBy
from duelist.study.storage.vectors import Vectors

Pending = list[tuple[Floats | ArmTable, int, float]]

_WORK: Final = 1 << 32
"""n candidates are looked at together if n^2 dim is at most this. Where features are long and nothing is ruled out, a policy
compares all pairs: about half a second then, for which the other raters wait."""

_BLOCK: Final = 1024


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
    propensity: float | None


class Chooser(NamedTuple):
    """One decision: candidates (n, dim), or who they are, the pairs of them that may not be asked, and everything the policy wants to know.

    `taken` are pairs of positions, as numbers of `_pairs`, in order; one pair at least is not among them. `groups` is the number of
    groups that the candidates were drawn from.
    """

    policy: Policy
    candidates: Shown
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
        shown = self.candidates if every else self.candidates[kept]
        arms = shown if isinstance(shown, ArmTable) else np.asarray(shown, np.float64)
        exclude = np.stack(split(taken), axis=1)
        choice = self.policy.suggest(
            arms, pending=self.pending, seed=seed, rounds=self.rounds, distinct=True, exclude=exclude
        )
        first, second = int(kept[choice.first]), int(kept[choice.second])
        return Chosen(first, second, int(choice.layer), float(choice.share), ChosenBy.POLICY, None)

    def _by_chance(self, share: float) -> Chosen:
        """Uniform over the pairs that may be asked, where such a draw comes with this probability."""
        n = len(self.candidates)
        first, second = random_free(n, self.taken, self.rng)
        chance = share / (count_free(n, self.taken) * self.groups)
        return Chosen(first, second, *self.placed(first, second), ChosenBy.RANDOM, chance)

    def _shortlist(self) -> Ints:
        """Positions of the candidates that the policy looks at: all; or, of very many, those that seem best to it for one half
        and others by chance for the other half, so that none is forgotten. Who the arms are is looked at one by one, not in pairs.
        """
        if isinstance(self.candidates, ArmTable):
            return np.arange(len(self.candidates))
        n, dim = self.candidates.shape
        most = most_considered(dim)
        if n <= most:
            return np.arange(n)
        shuffled = self.rng.permutation(n)  # arms that seem equal, as all do in the beginning, have equal chances
        theta = getattr(self.policy, "theta_", None)  # a policy of somebody else's may not say what it knows
        if theta is None:
            return np.sort(shuffled[:most])
        utilities = _utilities(self.candidates, theta)
        order = shuffled[np.argpartition(-utilities[shuffled], most // 2)]
        others = self.rng.choice(order[most // 2 :], most - most // 2, replace=False)
        return np.sort(np.concatenate([order[: most // 2], others]))

    def placed(self, first: int, second: int) -> tuple[int, float]:
        """Layer and share of a pair that the policy did not ask for."""
        return placed(self.policy, self.candidates, first, second)


def _utilities(candidates: Vectors, theta: Floats) -> Floats:
    """What is learned of each, in double precision, whatever precision they have: in single, numbers far from zero (years, time stamps)
    would seem equal. A block at a time, so that the converted ones stay in the processor's cache.
    """
    found = np.empty(len(candidates))
    for start in range(0, len(candidates), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.matmul(candidates[block].astype(np.float64, copy=False), theta, out=found[block])
    return found


def placed(policy: Policy, candidates: Shown, first: int, second: int) -> tuple[int, float]:
    """Layer and share of a pair that the policy did not ask for."""
    if isinstance(candidates, ArmTable):
        layer, share = policy.assign_layer(candidates[[first, second]])
        return int(layer), float(share)
    one, other = (candidates[k].astype(np.float64) for k in (first, second))
    layer, share = policy.assign_layer(one - other)
    return int(layer), float(share)
