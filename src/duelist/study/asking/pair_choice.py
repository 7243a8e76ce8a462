"""Choose a pair for a new duel: the policy's choice or a random one, never an unavailable pair."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, Ints
from duelist.policies import Policy
from duelist.study.asking.pairs import among, count_free, random_free, split
from duelist.study.items.catalog import PolicyArms
from duelist.study.records import ChosenBy
from duelist.study.storage.encoding import Vectors

PendingDuel = tuple[Floats | ArmTable, int, float]
"""The difference of the two arms (or the arms as a table), the layer and the share."""
_MAX_WORK: Final = 1 << 32
"""A policy considers n candidates of `dim` features at once if n^2 dim is at most this. With long features and nothing ruled out it
compares all pairs, which then takes about half a second, for which other raters wait."""
_BLOCK: Final = 1024


def max_candidates(dim: int) -> int:
    """Return how many candidates with `dim` features a policy considers for one duel.

    >>> max_candidates(16), max_candidates(256)
    (16384, 4096)
    """
    return math.isqrt(_MAX_WORK // dim)


class ChosenPair(NamedTuple):
    """A pair by positions among the candidates, in the policy's order, and how it was chosen."""

    first: int
    second: int
    layer: int
    share: float
    chosen_by: ChosenBy
    propensity: float | None


class PairChooser(NamedTuple):
    """A choice among candidates, with everything the policy needs to know.

    `taken` are the sorted codes of unavailable pairs of positions; at least one pair must be available. `n_contexts` is the number of
    contexts that the candidates' one was drawn from.
    """

    policy: Policy
    candidates: PolicyArms
    taken: Ints
    pending: list[PendingDuel]
    rounds: int
    rng: np.random.Generator
    n_contexts: int = 1

    def choose(self, random_share: float) -> ChosenPair:
        """Return a pair; with probability `random_share` uniformly random among the available ones."""
        if self.rng.random() < random_share:
            chosen = self._choose_at_random(random_share)
            if random_share < 1.0:
                self._choose_by_policy()  # not used: a random pair must take as long as another
            return chosen
        return self._choose_by_policy()

    def _choose_by_policy(self) -> ChosenPair:
        seed = int(self.rng.integers(2**63))
        shortlist = self._shortlist()
        complete = len(shortlist) == len(self.candidates)
        taken = self.taken if complete else among(self.taken, shortlist, len(self.candidates))
        if not count_free(len(shortlist), taken):
            return self._choose_at_random(1.0)  # every pair of the shortlist is unavailable
        candidates = self.candidates if complete else self.candidates[shortlist]
        arms = candidates if isinstance(candidates, ArmTable) else np.asarray(candidates, np.float64)
        exclude = np.stack(split(taken), axis=1)
        choice = self.policy.suggest(
            arms, pending=self.pending, seed=seed, rounds=self.rounds, distinct=True, exclude=exclude
        )
        first, second = int(shortlist[choice.first]), int(shortlist[choice.second])
        return ChosenPair(first, second, int(choice.layer), float(choice.share), ChosenBy.POLICY, None)

    def _choose_at_random(self, probability: float) -> ChosenPair:
        """Return a uniformly random available pair; `probability` is that of choosing at random."""
        n = len(self.candidates)
        first, second = random_free(n, self.taken, self.rng)
        propensity = probability / (count_free(n, self.taken) * self.n_contexts)
        layer, share = layer_and_share(self.policy, self.candidates, first, second)
        return ChosenPair(first, second, layer, share, ChosenBy.RANDOM, propensity)

    def _shortlist(self) -> Ints:
        """Return the positions of the candidates that the policy considers.

        These are all, or, of very many, half the best by the policy's estimate and half random others, so that no arm is neglected.
        """
        if isinstance(self.candidates, ArmTable):
            return np.arange(len(self.candidates))
        n, dim = self.candidates.shape
        most = max_candidates(dim)
        if n <= most:
            return np.arange(n)
        shuffled = self.rng.permutation(n)  # breaks ties, of which there are many at first, at random
        theta = getattr(self.policy, "theta_", None)  # a custom policy may have no estimate
        if theta is None:
            return np.sort(shuffled[:most])
        utilities = _utilities(self.candidates, theta)
        order = shuffled[np.argpartition(-utilities[shuffled], most // 2)]
        others = self.rng.choice(order[most // 2 :], most - most // 2, replace=False)
        return np.sort(np.concatenate([order[: most // 2], others]))


def _utilities(candidates: Vectors, theta: Floats) -> Floats:
    """Return the estimated utilities in double precision: in single, values far from zero (years, timestamps) would seem equal.

    Candidates are converted in blocks that fit the processor's cache.
    """
    utilities = np.empty(len(candidates))
    for start in range(0, len(candidates), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.matmul(candidates[block].astype(np.float64, copy=False), theta, out=utilities[block])
    return utilities


def layer_and_share(policy: Policy, candidates: PolicyArms, first: int, second: int) -> tuple[int, float]:
    """Return the layer and share of a pair that the policy did not choose."""
    if isinstance(candidates, ArmTable):
        layer, share = policy.assign_layer(candidates[[first, second]])
        return int(layer), float(share)
    one, other = (candidates[k].astype(np.float64) for k in (first, second))
    layer, share = policy.assign_layer(one - other)
    return int(layer), float(share)
