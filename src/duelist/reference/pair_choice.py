"""Choosing a pair: which pairs are allowed, which is best, and random numbers.

Of equal values, the first wins. Pairs are ordered with self-duels (i, i) first, then i < j row by row; the partners
of
an arm with the arm itself first, then by position.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import InvalidInput

Pair = tuple[int, int]
Values = NDArray[np.float64]


class AllowedPairs:
    """The pairs of n arms that may be asked: different arms that are not excluded and, unless `distinct`, (i, i).

    A single arm can only meet itself.
    """

    def __init__(self, n: int, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> None:
        self.arms = list(range(n))
        self._self_duels = n == 1 or not distinct
        self._excluded = {frozenset(pair) for pair in exclude}
        if not self.pairs(self.arms):
            self.raise_no_pair()

    def without(self, taken: Iterable[Pair]) -> AllowedPairs:
        """Exclude more pairs, unless that leaves no two different arms."""
        others = copy.copy(self)
        others._excluded = self._excluded | {frozenset(pair) for pair in taken}
        return others if others.different(self.arms) else self

    def __call__(self, i: int, j: int) -> bool:
        """Return whether arms i and j may meet."""
        return self._self_duels if i == j else frozenset((i, j)) not in self._excluded

    def pairs(self, arms: Sequence[int]) -> list[Pair]:
        """The allowed pairs of these arms, self-duels included."""
        return [(i, i) for i in arms if self(i, i)] + self.different(arms)

    def different(self, arms: Sequence[int]) -> list[Pair]:
        """The allowed pairs of two different arms among these."""
        return [(i, j) for i, j in combinations(arms, 2) if self(i, j)]

    def pairs_near(self, arms: Sequence[int]) -> list[Pair]:
        """The allowed pairs of these arms; failing that, those with one of these arms; failing that, all."""
        everyone = self.pairs(self.arms)
        return self.pairs(arms) or [(i, j) for i, j in everyone if i in arms or j in arms] or everyone

    def partners(self, firsts: Sequence[int], seconds: Sequence[int]) -> dict[int, list[int]]:
        """The allowed partners among `seconds` of each arm in `firsts`, without arms that have none."""
        itself_first = {i: sorted(seconds, key=lambda j: j != i) for i in firsts}
        partners = {i: [j for j in listed if self(i, j)] for i, listed in itself_first.items()}
        return {i: listed for i, listed in partners.items() if listed}

    def raise_no_pair(self) -> NoReturn:
        """Raise the error that no pair is left to ask."""
        raise InvalidInput(
            f"No pair is left to ask: {len(self.arms)} arms, {len(self._excluded)} pairs excluded.",
            "Show more arms, or wait for the outcome of a pending duel.",
        )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The pair to play, and how close every other pair comes to it."""

    pair: Pair
    shortfall: Callable[[int, int], float]
    """How far a pair stays below the maximum of the rule: 0 if it attains it, inf if the rule cannot play it."""
    layer: int = 1
    """The layer that chose the pair and will learn the outcome."""
    share: Callable[[int, int], float] = lambda i, j: 1.0
    """The weight of a pair's outcome in Sigma and in the estimate, w^2 in VACDB; 0 leaves the estimate unchanged."""
    remaining: Sequence[int] = ()
    """The arms that have not been eliminated, in policies that eliminate."""


def no_learning(i: int, j: int) -> float:
    """The share of a pair whose outcome is not learned."""
    return 0.0


def best_pair(values: Values, pairs: Sequence[Pair], *, then: Values | None = None, **learning: Any) -> Choice:
    """argmax of values[i, j] over the pairs; ties are broken by the largest `then`, then by order."""
    best = max(pairs, key=lambda pair: (values[pair], 0.0 if then is None else then[pair]))

    def shortfall(i: int, j: int) -> float:
        return float(values[best] - values[i, j]) if (i, j) in pairs else math.inf

    return Choice(pair=best, shortfall=shortfall, **learning)


def champion_pair(first: Values, second: Values, partners: Mapping[int, list[int]], **learning: Any) -> Choice:
    """The champion argmax of first[i] over arms with partners, then argmax of second[i, j] over its partners."""
    champion = max(partners, key=lambda i: first[i])

    def shortfall(i: int, j: int) -> float:
        if j not in partners.get(i, ()):
            return math.inf
        return float(max(first[champion] - first[i], second[i, partners[i]].max() - second[i, j]))

    challenger = max(partners[champion], key=lambda j: second[champion, j])
    return Choice(pair=(champion, challenger), shortfall=shortfall, **learning)


def fixed_pair(pair: Pair, **learning: Any) -> Choice:
    """A pair that was drawn at random or has no alternative."""
    return Choice(pair=pair, shortfall=lambda i, j: 0.0 if (i, j) == pair else math.inf, **learning)


class Draws:
    """The random numbers of a policy, in the order in which it uses them: NumPy's SFC64, seeded by `random_state`."""

    def __init__(self, random_state: int | None) -> None:
        self._generator = np.random.Generator(np.random.SFC64(random_state))

    def uniform(self) -> float:
        """Draw from [0, 1)."""
        return float(self._generator.random())

    def one_of(self, things: Sequence[Any]) -> Any:
        """Draw one of these uniformly."""
        return things[min(int(self.uniform() * len(things)), len(things) - 1)]

    def gumbel(self) -> float:
        """Draw a standard Gumbel by inversion."""
        u = self.uniform()
        while u == 0.0:
            u = self.uniform()
        return -math.log(-math.log(u))

    def normal(self) -> float:
        """Draw a standard normal: the cosine half of a Box-Muller pair."""
        u = 1.0 - self.uniform()
        return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * self.uniform())
