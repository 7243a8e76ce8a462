"""What all references that count wins share: candidate arms, confidence bounds, random numbers, ask and tell."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arms import ArmTable
from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies.base import Policy
from duelist.reference.pair_choice import Draws

Matrix = NDArray[np.float64]
EXPLORE, EXPLOIT = 0, 1


class LayeredPair(NamedTuple):
    """Two arms, and the layer that will learn their outcome."""

    first: int
    second: int
    layer: int = EXPLORE


class Candidates:
    """The arms of a round, in order, and which of them may meet; a single arm can only meet itself."""

    def __init__(self, arms: Sequence[int], distinct: bool, exclude: Iterable[Iterable[int]]) -> None:
        self.arms = list(arms)
        self.self_duels = not distinct or len(self.arms) == 1
        self._excluded = {frozenset(pair) for pair in exclude}

    def allows(self, i: int, j: int) -> bool:
        """Return whether arms i and j may meet."""
        return self.self_duels if i == j else frozenset((i, j)) not in self._excluded

    def partners(self, i: int) -> list[int]:
        """The arms that may meet arm i."""
        return [j for j in self.arms if self.allows(i, j)]

    def available(self) -> list[int]:
        """The arms that have a partner."""
        return [i for i in self.arms if self.self_duels or self.partners(i)]

    def pairs(self) -> list[tuple[int, int]]:
        """The allowed pairs of different arms, row by row."""
        n = len(self.arms)
        both = [(self.arms[x], self.arms[y]) for x in range(n) for y in range(x + 1, n)]
        return [(i, j) for i, j in both if self.allows(i, j)]


def best_of(arms: Iterable[int], value: Callable[[int], float]) -> list[int]:
    """The arms with the largest value, in order."""
    listed = list(arms)
    most = max(map(value, listed))
    return [arm for arm in listed if value(arm) == most]


def divergence(p: float) -> float:
    """d(p, 1/2)"""
    return sum(x * math.log(2.0 * x) for x in (p, 1.0 - p) if x > 0.0)


class BetaDraws(Draws):
    """Random numbers, including Beta variates."""

    def pick(self, arms: Sequence[int]) -> int:
        """Draw one of these uniformly; a single one needs no random number."""
        return int(arms[0]) if len(arms) == 1 else int(self.one_of(arms))

    def beta(self, first: float, second: float) -> float:
        """Draw from Beta(first, second) with shapes of at least 1: algorithm BB of Cheng 1978."""
        a, b = min(first, second), max(first, second)
        if b <= 1.0:
            return self.uniform()
        rate = math.sqrt((a + b - 2.0) / (2.0 * a * b - a - b))
        while True:
            u, acceptance = self.uniform(), self.uniform()
            if u == 0.0 or acceptance == 0.0:
                continue
            v = rate * math.log(u / (1.0 - u))
            w = a * math.exp(v)
            r = (a + 1.0 / rate) * v - math.log(4.0)
            z = math.log(u * u * acceptance)
            if a + r - w >= z or r + (a + b) * math.log((a + b) / (b + w)) >= z:
                return w / (b + w) if first < second else b / (b + w)


@dataclass(kw_only=True, eq=False, repr=False)
class CountingReference(Policy):
    """A policy in plain NumPy that counts wins; subclasses implement `choose`.

    The hyperparameters are those of the fast policy of the same name, which documents them. Arms are numbered from 0
    in
    the order in which they first appear. Only `update` and `add_arms` change the state, `choose` does not.
    """

    horizon: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        self.draws = BetaDraws(self.random_state)
        self.wins: Matrix = np.zeros((0, 0))
        self.votes = 0
        self.rounds_ = 0
        self._index: dict[int, int] = {}
        self._pending: dict[int, tuple[tuple[int, int], LayeredPair]] = {}

    # -- what subclasses implement or override ----------------------------------------------------

    @abstractmethod
    def choose(self, candidates: Candidates) -> LayeredPair:
        """Choose the pair of round `t`."""

    def add_arms(self, new: list[int]) -> None:
        """Add arms that appear for the first time."""

    def expected_outcome(self, i: int, j: int, win_rate: float) -> float:
        """The outcome to assume for a pending duel: by default the win rate of i so far."""
        return win_rate

    def update(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """Learn a vote that `wins` already includes."""

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Duel:
        """Choose two arms to compare, by position; `distinct` and `exclude` as in the fast policies."""
        indices = self._register(self._ids(arms))
        candidates = Candidates(indices, distinct, [[indices[k] for k in pair] for pair in exclude])
        if not candidates.available():
            raise InvalidInput(
                f"No pair is left to ask among the {len(indices)} arms.", "Exclude fewer pairs, or wait for an outcome."
            )
        pair = self._with_pending().choose(candidates)
        duel = Duel(indices.index(pair.first), indices.index(pair.second), self.rounds_)
        self._pending[self.rounds_] = (tuple(duel), pair)  # type: ignore[assignment]
        self.rounds_ += 1
        return duel

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """Learn the outcome of a pending duel."""
        outcome, weight = check_outcome(outcome), check_weight(weight)
        number = duel.id if isinstance(duel, Duel) else duel
        pending = self._pending.get(number)
        if pending is None or (isinstance(duel, Duel) and tuple(duel) != pending[0]):
            raise UnknownDuel(f"{duel!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once.")
        del self._pending[number]
        self._learn(pending[1], outcome, weight)

    def _learn(self, duel: LayeredPair, outcome: float, weight: float) -> None:
        i, j, layer = duel
        self.votes += 1
        if i != j:
            self.wins[i, j] += weight * outcome
            self.wins[j, i] += weight * (1.0 - outcome)
        self.update(i, j, outcome, weight, layer)

    def _with_pending(self) -> CountingReference:
        """A copy that has learned the expected outcomes of pending duels; it draws from the same random numbers."""
        if not self._pending:
            return self
        memo = {id(self.draws): self.draws, id(self._pending): {}}
        expected = copy.copy(self)
        expected.__dict__ = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        real = expected.draws
        expected.draws = copy.deepcopy(real)  # learning must not use up random numbers
        for _, pair in self._pending.values():
            i, j, _ = pair
            expected._learn(pair, expected.expected_outcome(i, j, self.win_rate(i, j)), 1.0)
        expected.draws = real
        return expected

    def _register(self, ids: Sequence[int]) -> list[int]:
        new = [arm for arm in ids if arm not in self._index]
        if new:
            before = len(self._index)
            self._index |= {arm: before + k for k, arm in enumerate(new)}
            self.wins = np.pad(self.wins, (0, len(new)))
            self.add_arms(list(range(before, before + len(new))))
        return [self._index[arm] for arm in ids]

    def _ids(self, arms: Any) -> list[int]:
        if isinstance(arms, ArmTable):
            return [int(arm) for arm in arms.ids]
        if np.ndim(arms) < 2:
            return [int(arm) for arm in ArmTable(arms).ids]
        return list(range(len(arms)))

    # -- the state -------------------------------------------------------------------

    @property
    def t(self) -> int:
        """The next round, from 1."""
        return self.votes + 1

    @property
    def K(self) -> int:  # noqa: N802  (the papers' letter)
        """The number of arms so far."""
        return len(self.wins)

    def n_duels(self, i: int, j: int) -> float:
        """n_ij: the duels of i and j."""
        return float(self.wins[i, j] + self.wins[j, i])

    def win_rate(self, i: int, j: int) -> float:
        """The share of these duels that i won; 1/2 if there are none."""
        return float(self.wins[i, j]) / self.n_duels(i, j) if self.n_duels(i, j) > 0.0 else 0.5

    def bounds(self, a: float) -> tuple[Matrix, Matrix]:
        """u and l, with x / 0 := 1 and 1/2 on the diagonal."""
        n = self.wins + self.wins.T
        some = np.where(n > 0.0, n, 1.0)
        mean, width = np.where(n > 0.0, self.wins / some, 1.0), np.where(n > 0.0, np.sqrt(a / some), 1.0)
        u, low = mean + width, mean - width
        np.fill_diagonal(u, 0.5)
        np.fill_diagonal(low, 0.5)
        return u, low

    def sample(self, i: int, j: int) -> float:
        """theta_ij ~ Beta(w_ij + 1, w_ji + 1)"""
        return self.draws.beta(self.wins[i, j] + 1.0, self.wins[j, i] + 1.0)

    def challenger(self, u: Matrix, among: Sequence[int], c: int) -> int:
        """argmax u_jc; ties at random, but not c."""
        best = best_of(among, lambda j: float(u[j, c]))
        return self.draws.pick([j for j in best if j != c] if len(best) > 1 else best)

    def commit_to(self, candidates: Candidates, arm: int) -> LayeredPair:
        """A final arm against itself, or against its strongest opponent if self-duels are not allowed."""
        if candidates.self_duels:
            return LayeredPair(arm, arm, EXPLOIT)
        return LayeredPair(arm, max(candidates.partners(arm), key=lambda j: self.win_rate(j, arm)), EXPLOIT)

    def least_compared(self, candidates: Candidates) -> LayeredPair:
        """The least compared pair, when the arms that the rule needs are not available."""
        pairs = candidates.pairs() or [(candidates.arms[0], candidates.arms[0])]
        return LayeredPair(*min(pairs, key=lambda pair: self.n_duels(*pair)), EXPLOIT)
