"""Arms with arm effects: the policies that take `ArmTable`, in plain NumPy.

The utility of arm a is x_a . theta + u_a; theta_k ~ N(0, v_k) and u_a ~ N(0, v) before any vote, with v_k = v / (m s_k) for a feature of
squared size s_k (`estimation.Sizes`), where m features have a size at the first vote; v_k = 0 for one that has none. With no features
there is u alone. What is known is a normal distribution over theta and the u of all arms that were ever voted on. A vote on the pair
(a, b), a < b, with difference z (features of a minus those of b, 1 for u_a, -1 for u_b) and mass W moves it as the one-pass
estimate does:

    a = W (o - mu(z . mean + a q)),  q = z' C z,    mean <- mean + a C z,    C <- (C^-1 + W mu'(z . mean) zz')^-1.

Only the `block` arms that were voted on last keep covariances. When one more is voted on, the one whose last vote is the longest ago
keeps its mean and its variance, and is independent of everything from then on.

Sizes follow the votes: another size changes the prior under them; while the first votes are kept, they are learned
once more. A round whose arms show that sizes are not theirs is decided as if they were.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arms import ArmTable
from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies.base import Policy
from duelist.reference.best_arm_pair import costs
from duelist.reference.fit import (
    MOST_FIRST,
    Floats,
    Sizes,
    horizon_in,
    link_mean,
    link_slope,
    root_between,
    slope_in_doubt,
)
from duelist.reference.pair_choice import Allowed, Choice, Draws, Pair, Values, best_pair, only
from duelist.reference.ranking_pair import by_lot, lots, openness, settled
from duelist.reference.uniform_pair import uniform_pair

FEW: Final = 64
"""Of more arms not all pairs are looked at."""
FEW_TO_ORDER: Final = 128
"""The same where the whole order matters."""
MISFIT: Final = 0.25
"""Variance of what a pair has of its own, beyond the utilities of its arms."""
NEXT: Final = 16
"""Of more arms than that, those that an arm is compared with stand so near in the order."""


class Seen(NamedTuple):
    """The arms on the table: utilities, variances, covariances, widths, and who they are."""

    u: Floats
    variance: Floats
    covariance: Floats
    width: Floats
    numbers: NDArray[np.int64]


class Posterior:
    """Mean and covariance of theta (the first entries) and of the arm effects of all arms that were voted on."""

    def __init__(self, link: str, arms: Floats, own_variance: float, block: int) -> None:
        self.link, self.own_variance, self.block = link, own_variance, block
        self.dim = arms.shape[1]
        self.sizes = Sizes(arms, follow=self.dim > 0)
        self.first_votes: list[tuple[ArmTable, float, float]] = []
        """While the first arms may yet turn out to be of another kind."""
        self.has_first = True
        self.votes = 0
        self.start_over()
        self.parts = int((~self.sizes.unknown).sum()) or self.dim
        self.follow_sizes()

    def start_over(self) -> None:
        """Nothing is known, nor how large effects may be."""
        self.mean = np.zeros(self.dim)
        self.theta_variance = np.zeros(self.dim)
        self.covariance = np.zeros((self.dim, self.dim))
        self.place: dict[int, int] = {}
        """Where an arm effect stands."""
        self.recent: list[int] = []
        """The arms of the block, the one voted on last at the end."""

    def meet(self, arms: Floats) -> None:
        """The arms of a round give sizes to features that have none; before the first vote these count as first ones."""
        if self.sizes.meet(arms):
            self.parts = self.parts if self.place else int((~self.sizes.unknown).sum())
            self.follow_sizes()

    def seen_by(self, arms: Floats) -> Posterior:
        """What is known as it looks in a round of these arms."""
        seen = copy.deepcopy(self)
        seen.meet(arms)
        sizes = seen.sizes.as_seen(arms)
        if sizes is not None:
            seen.sizes = sizes
            seen.follow_sizes()
        return seen

    def follow_sizes(self) -> None:
        """Other sizes change the prior. As long as all votes are there, they are learned once more."""
        if self.votes == len(self.first_votes):
            self.start_over()
            self._change_prior()
            for pair, outcome, mass in self.first_votes:
                self._take(pair, outcome, mass)
        else:
            self._change_prior()

    def _change_prior(self) -> None:
        """Of the precision of theta_k the old one is taken away, and the new one added."""
        for k in np.flatnonzero(~self.sizes.unknown):
            before, after = self.theta_variance[k], self.own_variance / self.parts / self.sizes.squared[k]
            along = self.covariance[k].copy()
            if before == 0.0:
                self.covariance[k, k] = after
            else:
                part = (1.0 / after - 1.0 / before) / (max(0.0, 1.0 - along[k] / before) + along[k] / after)
                self.mean = self.mean - part * self.mean[k] * along
                self.covariance = self.covariance - part * np.outer(along, along)
            self.theta_variance[k] = after

    def learn(self, pair: ArmTable, outcome: float, mass: float) -> None:
        """One vote."""
        a, b = pair.ids.tolist()
        if a == b:
            return
        if a > b:
            self.learn(pair[[1, 0]], 1.0 - outcome, mass)
            return
        if self.sizes.notice(pair.features[0] - pair.features[1], mass):
            self.follow_sizes()
        self.first_votes = [*self.first_votes, (pair, outcome, mass)] if self.sizes.early and self.has_first else []
        self.has_first = self.has_first and len(self.first_votes) <= MOST_FIRST
        self.first_votes = self.first_votes if self.has_first else []
        self.votes += 1
        self._take(pair, outcome, mass)

    def _take(self, pair: ArmTable, outcome: float, mass: float) -> None:
        mass *= self.sizes.counts(pair.features[0] - pair.features[1])
        along, q, v = self._compare(pair)

        def excess(step: float) -> float:
            return step - mass * (outcome - float(link_mean(self.link, v + step * q)))

        step = root_between(excess, 0.0, -excess(0.0)) if excess(0.0) != 0.0 else 0.0
        self.mean = self.mean + step * along
        self._shrink(along, q, mass * float(link_slope(self.link, v + step * q)))

    def expect(self, pair: ArmTable) -> None:
        """A duel that is out counts in the covariance, at the present mean, as if it were answered."""
        a, b = pair.ids.tolist()
        if a != b:
            along, q, v = self._compare(pair)
            counts = self.sizes.counts(pair.features[0] - pair.features[1])
            self._shrink(along, q, counts * float(link_slope(self.link, v)))

    def _compare(self, pair: ArmTable) -> tuple[Floats, float, float]:
        """C z, z' C z and z . mean, with both arms in the block."""
        a, b = pair.ids.tolist()
        self._bring_in(a, b)
        self._bring_in(b, a)
        row_a, row_b = self._rows(pair)
        z = row_a - row_b
        along = self.covariance @ z
        return along, float(z @ along), float(z @ self.mean)

    def _shrink(self, along: Floats, q: float, curvature: float) -> None:
        self.covariance = self.covariance - curvature / (1.0 + curvature * q) * np.outer(along, along)

    def look(self, arms: ArmTable) -> Seen:
        """What is known of arms; of one that was never voted on, its prior and what its features say.

        Variances are relative to an arm with the middle value of every feature: duels tell nothing of the level.
        """
        rows = self._rows(arms)
        own = np.array([0.0 if arm in self.place else self.own_variance for arm in arms.ids.tolist()])
        u, width = rows @ self.mean, np.sqrt(self._squares(rows, own))
        rows[:, : self.dim] -= np.sort(arms.features, axis=0)[(len(arms) - 1) // 2]
        covariance = rows @ self.covariance @ rows.T + np.diag(own)
        return Seen(u, np.diagonal(covariance), covariance, width, arms.ids)

    def _squares(self, rows: Floats, own: Floats) -> Floats:
        """z' C z of all pairs, by their difference z, and what both have of their own that nothing is known of."""
        apart = [rows - row for row in rows]
        squares = np.array([((z @ self.covariance) * z).sum(axis=1) for z in apart])
        squares = np.maximum(squares, 0.0) + own[:, None] + own
        np.fill_diagonal(squares, 0.0)
        return squares

    def _rows(self, arms: ArmTable) -> Floats:
        rows = np.zeros((len(arms), len(self.mean)))
        rows[:, : self.dim] = arms.features
        for k, arm in enumerate(arms.ids.tolist()):
            if arm in self.place:
                rows[k, self.place[arm]] = 1.0
        return rows

    def _bring_in(self, arm: int, partner: int) -> None:
        if arm not in self.place:
            self.place[arm] = len(self.mean)
            self.mean = np.append(self.mean, 0.0)
            larger = np.zeros((len(self.mean), len(self.mean)))
            larger[:-1, :-1], larger[-1, -1] = self.covariance, self.own_variance
            self.covariance = larger
        if arm in self.recent:
            self.recent.remove(arm)
        elif len(self.recent) == self.block:
            leaving = next(other for other in self.recent if other != partner)
            self.recent.remove(leaving)
            at = self.place[leaving]
            variance = self.covariance[at, at]
            self.covariance[at], self.covariance[:, at] = 0.0, 0.0
            self.covariance[at, at] = variance
        self.recent.append(arm)


@dataclass(kw_only=True, eq=False, repr=False)
class FreeReference(Policy):
    """A policy for `ArmTable`: a subclass says in `choose` which pair it plays."""

    horizon: int | None = None
    link: str = "logistic"
    ridge: float = 1.0
    block: int = 256
    random_state: int | None = None

    def __post_init__(self) -> None:
        self.draws = Draws(self.random_state)
        self.rounds_ = 0
        self.known: Posterior | None = None
        self._pending: dict[int, tuple[Pair, ArmTable]] = {}

    @abstractmethod
    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """The decision of round rounds_ + 1."""

    def initialize(self, arms: Any) -> None:
        """The arm effect has variance 1 / ridge, the linear part over the first arms as much, each feature an equal part."""
        if self.known is None:
            self.known = Posterior(self.link, arms.features, 1.0 / self.ridge, self.block)

    def ask(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Duel:
        """Two of the arms."""
        return self.follow(arms, self.decide(arms, distinct=distinct, exclude=exclude))

    def decide(self, arms: ArmTable, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Choice:
        """The decision of the next round; `follow` makes it a duel."""
        self.initialize(arms)
        if not self._known().place:
            self._known().meet(arms.features)
        known = self._known().seen_by(arms.features)
        for _, pair in self._pending.values():
            known.expect(pair)
        choice = self.choose(known.look(arms), Allowed(len(arms), distinct=distinct, exclude=exclude))
        self.rounds_ += 1
        return choice

    def follow(self, arms: ArmTable, choice: Choice, pair: Pair | None = None) -> Duel:
        """The duel of a decision, or of another `pair` where rounding decides between the two."""
        i, j = pair or choice.pair
        self._pending[self.rounds_ - 1] = (i, j), arms[[i, j]]
        return Duel(i, j, self.rounds_ - 1)

    def tell(self, duel: Duel, outcome: float, weight: float = 1.0) -> None:
        """The outcome of a duel."""
        outcome, weight = check_outcome(outcome), check_weight(weight)
        if duel.id not in self._pending:
            raise UnknownDuel(f"{duel!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once.")
        self._known().learn(self._pending.pop(duel.id)[1], outcome, weight)

    def _known(self) -> Posterior:
        if self.known is None:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "`ask` first.")
        return self.known


@dataclass(kw_only=True, eq=False, repr=False)
class FreeLocalPairUCB(FreeReference):
    """The rule of LocalPairUCB over all pairs of the leader, and all pairs among the 64 arms of the largest u + r sqrt(variance).

    r is the bonus, divided by its width, of a pair of equals whose squared width is twice the largest variance. The leader is the arm of
    the largest utility that has a partner left.
    """

    radius: str | float = "practical"
    scale: float = 1.0

    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """The best of these pairs."""
        u, width = seen.u, seen.width
        optimistic = u + self.per_width(np.sqrt(2.0 * seen.variance.max()), 0.0) * np.sqrt(seen.variance)
        leader = _leader(u, allowed)
        pairs = [(leader, leader)] * allowed(leader, leader)
        pairs += [(min(leader, j), max(leader, j)) for j in allowed.arms if j != leader and allowed(leader, j)]
        pairs += allowed.different(_largest(optimistic, FEW))
        return best_pair(u[:, None] + u + width * self.per_width(width, u[:, None] - u), pairs)

    def per_width(self, width: Any, gap: Any) -> Any:
        """The bonus of a pair, divided by its width."""
        if self.radius != "practical":
            return self.scale * float(self.radius)
        slope = link_slope(self.link, gap)
        rounds = np.log1p(horizon_in(self.horizon, self.rounds_ + 1) * slope * width**2)
        certainty = (slope / link_slope(self.link, 0.0)) ** 0.2
        return np.sqrt(2.0 * 1.4 * self.scale * certainty * (rounds - np.log1p(rounds)))


@dataclass(kw_only=True, eq=False, repr=False)
class FreeDesignPair(FreeReference):
    """The rule of DesignPair over all pairs of the 64 arms of the largest variance. If none of these may be asked, the D-optimal pair of
    the best arm that has a partner left.
    """

    criterion: str = "D"

    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """The best of these pairs."""
        if len(seen.u) == 1:
            return only((0, 0))
        slope = link_slope(self.link, seen.u[:, None] - seen.u)
        gain = slope * seen.width**2  # of log det H
        pairs = allowed.different(_largest(seen.variance, FEW))
        if not pairs:
            best = _leader(seen.u, allowed, others=True)
            pairs = [(min(best, j), max(best, j)) for j in allowed.arms if j != best and allowed(best, j)]
            return best_pair(gain, pairs)
        if self.criterion == "D":
            return best_pair(gain, pairs)
        off = seen.covariance - seen.covariance.mean(axis=0)
        shared = ((off[:, :, None] - off[:, None]) ** 2).sum(axis=0)
        return best_pair(slope * shared / (1.0 + gain), pairs)


@dataclass(kw_only=True, eq=False, repr=False)
class FreeBestArmPair(FreeReference):
    """The rule of BestArmPair. Of more than 64 arms: leader and rival, and pairs of the 32 arms that lie farthest along with
    the 32 on the other side; while nobody leads, the widest pair of the 64 arms of the largest variance. If none of these may
    be asked, pairs of the best arm that has a partner left.
    """

    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """The most telling pair of different arms."""
        u, width = seen.u, seen.width
        if len(u) == 1:
            return only((0, 0))
        gap = u[:, None] - u
        slope = slope_in_doubt(self.link, gap, width)
        cost = costs(gap, width)
        x = int(np.argmax(u))
        y = int(np.argmin(cost[x]))
        along = seen.covariance[x] - seen.covariance[y]
        lesson = slope * (along[:, None] - along) ** 2 / (1.0 + slope * width**2)
        led = bool(gap.any())
        choice = self._best(lesson if led else width, self._pairs(x, y, along, seen.variance, led, allowed), u, allowed)

        def shortfall(i: int, j: int) -> float:
            """Leader and rival may be near ties, too: the least over all ways to see it."""
            ways = [choice.shortfall(i, j), max(gap.max(), _short(width, allowed, i, j))]
            for leader in range(len(u)) if len(u) <= FEW else ():
                others = self._others(seen, slope, cost, leader, allowed)
                ways += [max(missed, short(i, j)) for missed, short in others]
            return min(ways)

        return replace(choice, shortfall=shortfall)

    def _pairs(self, x: int, y: int, along: Floats, variance: Floats, led: bool, allowed: Allowed) -> list[Pair]:
        if not led or len(along) <= FEW:
            return allowed.different(_largest(variance, FEW))
        low, high = _largest(-along, FEW // 2), _largest(along, FEW // 2)
        tried = [(x, y), *((i, j) for i in low for j in high if i != j)]
        return [(min(i, j), max(i, j)) for i, j in tried if allowed(i, j)]

    def _best(self, values: Values, pairs: list[Pair], u: Floats, allowed: Allowed) -> Choice:
        if not pairs:
            best = _leader(u, allowed, others=True)
            pairs = [(min(best, j), max(best, j)) for j in allowed.arms if j != best and allowed(best, j)]
        return best_pair(values, pairs)

    def _others(self, seen: Seen, slope: Any, cost: Floats, x: int, allowed: Allowed) -> list[tuple[float, Any]]:
        """With x as the leader and any rival: by how much they miss that, and the shortfall of a pair then."""
        found = []
        for y in np.flatnonzero(seen.width[x] > 0.0):
            missed = float(max(seen.u.max() - seen.u[x], cost[x, y] - cost[x].min()))
            if missed > 1e-6:
                continue
            along = seen.covariance[x] - seen.covariance[y]
            lesson = slope * (along[:, None] - along) ** 2 / (1.0 + slope * seen.width**2)
            found.append((missed, best_pair(lesson, allowed.different(allowed.arms)).shortfall))
        return found


@dataclass(kw_only=True, eq=False, repr=False)
class FreeRankingPair(FreeReference):
    """The rule of RankingPair, where a pair tires: after votes on it that taught t, an entry of the arms' precision, the next is worth
    1 / (1 + MISFIT t)^2 of what the first was, as if every pair had an effect N(0, MISFIT) of its own.

    Of more than 128 arms, pairs of an arm with the 16 that stand next to it in the order are tried, each for what a vote on it settles
    of its own order; where none of these may be asked, the first pair that may.
    """

    top: int | None = None

    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """The pair of different arms that settles most."""
        u, width = seen.u, seen.width
        if len(u) == 1:
            return only((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.refuse()
        lot = lots(seen.numbers)
        first, pairs = pairs[:1], by_lot(pairs, lot)
        if len(u) <= FEW_TO_ORDER:
            taught = np.maximum(-np.linalg.inv(seen.covariance), 0.0)
            worth = settled(self.link, u, seen.covariance, width, self.top) / (1.0 + MISFIT * taught) ** 2
            return best_pair(worth, pairs)
        information = slope_in_doubt(self.link, u[:, None] - u, width) * width**2
        place = np.argsort(np.lexsort((lot, -u)))
        near = [(i, j) for i, j in pairs if abs(place[i] - place[j]) <= NEXT]
        return best_pair(openness(u, width, self.top) * information / (1.0 + information), near or first)


class FreeRewardDesign(FreeReference):
    """The rule of RewardDesign among the 64 arms of the largest variance; if none of their pairs may be asked, among all."""

    coverage: float = 0.25

    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """The most informative pair of different arms, or a random one."""
        pairs = allowed.different(_largest(seen.variance, FEW)) or allowed.different(allowed.arms)
        if not pairs and len(seen.u) > 1:
            allowed.refuse()
        if self.draws.uniform() < self.coverage or len(seen.u) == 1:
            return only(uniform_pair(self.draws, allowed))
        return best_pair(link_slope(self.link, seen.u[:, None] - seen.u) * seen.width**2, pairs)


@dataclass(kw_only=True, eq=False, repr=False)
class FreeUniformPair(FreeReference):
    """Two different arms by chance."""

    def choose(self, seen: Seen, allowed: Allowed) -> Choice:
        """Any two."""
        return only(uniform_pair(self.draws, allowed))


FREE_REFERENCES: Final[dict[str, type[FreeReference]]] = {
    "BestArmPair": FreeBestArmPair,
    "DesignPair": FreeDesignPair,
    "LocalPairUCB": FreeLocalPairUCB,
    "RankingPair": FreeRankingPair,
    "RewardDesign": FreeRewardDesign,
    "UniformPair": FreeUniformPair,
}


def _largest(scores: Floats, count: int) -> list[int]:
    """The arms with the largest scores, by position; of equal ones the first."""
    return sorted(np.argsort(-scores, kind="stable")[:count].tolist())


def _leader(u: Floats, allowed: Allowed, others: bool = False) -> int:
    """The arm of the largest utility that has a partner left, `others` than itself; of equal ones the first."""
    free = [i for i in allowed.arms if any(allowed(i, j) for j in allowed.arms if i != j or not others)]
    if not free:
        allowed.refuse()
    return max(free, key=lambda i: (u[i], -i))


def _short(values: Floats, allowed: Allowed, i: int, j: int) -> float:
    return best_pair(values, pairs).shortfall(i, j) if (pairs := allowed.different(allowed.arms)) else math.inf
