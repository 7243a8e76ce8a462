"""What the references that count wins share: who is on the table, confidence bounds, draws, ask and tell."""

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


class Named(NamedTuple):
    """Two arms, and the layer in which their outcome will be learned."""

    first: int
    second: int
    layer: int = EXPLORE


class Table:
    """The arms on the table, in its order, and which of them may meet; a single arm can only meet itself."""

    def __init__(self, arms: Sequence[int], distinct: bool, exclude: Iterable[Iterable[int]]) -> None:
        self.arms = list(arms)
        self.selves = not distinct or len(self.arms) == 1
        self._excluded = {frozenset(pair) for pair in exclude}

    def allows(self, i: int, j: int) -> bool:
        """Whether arms i and j may meet."""
        return self.selves if i == j else frozenset((i, j)) not in self._excluded

    def partners(self, i: int) -> list[int]:
        """The arms that may meet arm i."""
        return [j for j in self.arms if self.allows(i, j)]

    def able(self) -> list[int]:
        """The arms that may be asked at all."""
        return [i for i in self.arms if self.selves or self.partners(i)]

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of different arms that may be asked, row by row."""
        n = len(self.arms)
        both = [(self.arms[x], self.arms[y]) for x in range(n) for y in range(x + 1, n)]
        return [(i, j) for i, j in both if self.allows(i, j)]


def best_of(arms: Iterable[int], value: Callable[[int], float]) -> list[int]:
    """The arms of the largest value, in order."""
    listed = list(arms)
    most = max(map(value, listed))
    return [arm for arm in listed if value(arm) == most]


def divergence(p: float) -> float:
    """d(p, 1/2)."""
    return sum(x * math.log(2.0 * x) for x in (p, 1.0 - p) if x > 0.0)


class Chances(Draws):
    """Random numbers, Beta ones too."""

    def pick(self, arms: Sequence[int]) -> int:
        """One of these; nothing is drawn where there is no choice."""
        return int(arms[0]) if len(arms) == 1 else int(self.one_of(arms))

    def beta(self, first: float, second: float) -> float:
        """Beta, for shapes of at least 1: algorithm BB of Cheng 1978."""
        a, b = min(first, second), max(first, second)
        if b <= 1.0:
            return self.uniform()
        rate = math.sqrt((a + b - 2.0) / (2.0 * a * b - a - b))
        while True:
            u, luck = self.uniform(), self.uniform()
            if u == 0.0 or luck == 0.0:
                continue
            v = rate * math.log(u / (1.0 - u))
            w = a * math.exp(v)
            r = (a + 1.0 / rate) * v - math.log(4.0)
            z = math.log(u * u * luck)
            if a + r - w >= z or r + (a + b) * math.log((a + b) / (b + w)) >= z:
                return w / (b + w) if first < second else b / (b + w)


@dataclass(kw_only=True, eq=False, repr=False)
class CountingReference(Policy):
    """A policy in plain NumPy that counts wins: a subclass says in `choose` which pair it plays.

    The settings are those of the fast policy of the same name, and are explained there. Inside, arms are numbered in the order in
    which they were first seen. What is known moves in `hear`, never in `choose`.
    """

    horizon: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        self.draws = Chances(self.random_state)
        self.wins: Matrix = np.zeros((0, 0))
        self.votes = 0
        self.rounds_ = 0
        self._inside: dict[int, int] = {}
        self._pending: dict[int, tuple[tuple[int, int], Named]] = {}

    # -- what a policy fills in ----------------------------------------------------------

    @abstractmethod
    def choose(self, table: Table) -> Named:
        """The duel of round `t`."""

    def join(self, new: list[int]) -> None:
        """Arms that were never seen are on the table."""

    def foretell(self, i: int, j: int, share: float) -> float:
        """The outcome that a duel is taken to have while it is out: the share of those so far that i has won."""
        return share

    def hear(self, i: int, j: int, outcome: float, weight: float, layer: int) -> None:
        """A vote, which is counted already."""

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Duel:
        """Two arms to compare, by their position on the table; `distinct`, `exclude`: as for the fast policies."""
        numbers = self._numbers(arms)
        inside = self._meet(numbers)
        table = Table(inside, distinct, [[inside[k] for k in pair] for pair in exclude])
        if not table.able():
            raise InvalidInput(
                f"No pair is left to ask among the {len(inside)} arms.", "Exclude fewer, or wait for an outcome."
            )
        named = self._expecting().choose(table)
        duel = Duel(inside.index(named.first), inside.index(named.second), self.rounds_)
        self._pending[self.rounds_] = (tuple(duel), named)  # type: ignore[assignment]
        self.rounds_ += 1
        return duel

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of a duel, now, later or never."""
        outcome, weight = check_outcome(outcome), check_weight(weight)
        number = duel.id if isinstance(duel, Duel) else duel
        known = self._pending.get(number)
        if known is None or (isinstance(duel, Duel) and tuple(duel) != known[0]):
            raise UnknownDuel(f"{duel!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once.")
        del self._pending[number]
        self._learn(known[1], outcome, weight)

    def _learn(self, duel: Named, outcome: float, weight: float) -> None:
        i, j, layer = duel
        self.votes += 1
        if i != j:
            self.wins[i, j] += weight * outcome
            self.wins[j, i] += weight * (1.0 - outcome)
        self.hear(i, j, outcome, weight, layer)

    def _expecting(self) -> CountingReference:
        """The policy, had duels that are out gone as it foretells; it draws this one's random numbers."""
        if not self._pending:
            return self
        memo = {id(self.draws): self.draws, id(self._pending): {}}
        expected = copy.copy(self)
        expected.__dict__ = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        real = expected.draws
        expected.draws = copy.deepcopy(real)  # what it would learn draws numbers that are not used up
        for _, named in self._pending.values():
            i, j, _ = named
            expected._learn(named, expected.foretell(i, j, self.share(i, j)), 1.0)
        expected.draws = real
        return expected

    def _meet(self, numbers: Sequence[int]) -> list[int]:
        new = [number for number in numbers if number not in self._inside]
        if new:
            before = len(self._inside)
            self._inside |= {number: before + k for k, number in enumerate(new)}
            self.wins = np.pad(self.wins, (0, len(new)))
            self.join(list(range(before, before + len(new))))
        return [self._inside[number] for number in numbers]

    def _numbers(self, arms: Any) -> list[int]:
        if isinstance(arms, ArmTable):
            return [int(number) for number in arms.ids]
        if np.ndim(arms) < 2:
            return [int(number) for number in ArmTable(arms).ids]
        return list(range(len(arms)))

    # -- what it knows -------------------------------------------------------------------

    @property
    def t(self) -> int:
        """The round that comes next, from 1."""
        return self.votes + 1

    @property
    def K(self) -> int:  # noqa: N802  (the papers' letter)
        """How many arms were seen."""
        return len(self.wins)

    def met(self, i: int, j: int) -> float:
        """n_ij: duels of i and j."""
        return float(self.wins[i, j] + self.wins[j, i])

    def share(self, i: int, j: int) -> float:
        """The share of them that i has won; 1/2 where there were none."""
        return float(self.wins[i, j]) / self.met(i, j) if self.met(i, j) > 0.0 else 0.5

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
        """theta_ij ~ Beta(w_ij + 1, w_ji + 1)."""
        return self.draws.beta(self.wins[i, j] + 1.0, self.wins[j, i] + 1.0)

    def challenger(self, u: Matrix, among: Sequence[int], c: int) -> int:
        """argmax u_jc, ties by chance, not c where it ties."""
        best = best_of(among, lambda j: float(u[j, c]))
        return self.draws.pick([j for j in best if j != c] if len(best) > 1 else best)

    def beside(self, table: Table, arm: int) -> Named:
        """An arm that is committed to, against itself; else against the one that does best against it."""
        if table.selves:
            return Named(arm, arm, EXPLOIT)
        return Named(arm, max(table.partners(arm), key=lambda j: self.share(j, arm)), EXPLOIT)

    def least_met(self, table: Table) -> Named:
        """The pair that has met least, where what a rule waits for is not on the table."""
        pairs = table.pairs() or [(table.arms[0], table.arms[0])]
        return Named(*min(pairs, key=lambda pair: self.met(*pair)), EXPLOIT)
