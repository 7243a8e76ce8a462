"""The policies for an `ArmTable`: the rules of the other files with the posterior of `arm_effects`.

With many arms the engine does not search all pairs; these references follow it, and each states the pairs it searches.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.duel import Duel, check_outcome, check_weight, is_tie
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies.base import Policy
from duelist.reference.arm_effects import ArmEffectsMixture, UtilityPosterior
from duelist.reference.fit import effective_horizon
from duelist.reference.links import Floats, link_slope, smoothed_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, Draws, Pair, Values, best_pair, fixed_pair
from duelist.reference.ranking_pair import misorder_probability, order_information, sort_by_tie_break, tie_break_keys
from duelist.reference.uniform_pair import uniform_pair

MAX_ARMS_SEARCHED: Final = 64
"""The pairs of at most this many arms are all searched."""
MAX_ARMS_RANKED: Final = 128
"""The same for RankingPair."""
CONTENDERS: Final = 16
"""BestArmPair draws utilities of at most this many arms."""
PAIR_EFFECT_VARIANCE: Final = 0.25
"""Variance of an effect of each pair, beyond the utilities of its arms."""
EFFECT_VARIANCES: Final = (1.0, 1 / 4, 1 / 16, 1 / 64)
"""Candidate prior variances of arm effects."""
FEATURE_VARIANCES: Final = (1.0, 1 / 4, 1 / 16)
"""Candidate prior variances of a utility by features."""
NEIGHBORS: Final = 16
"""Among more arms, RankingPair compares an arm with this many on either side in the ranking."""


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableReference(Policy):
    """A policy for `ArmTable` in plain NumPy; subclasses implement `choose`."""

    horizon: int | None = None
    link: str = "logistic"
    ridge: float | None = None
    block: int = 256
    random_state: int | None = None

    deciding_model: ClassVar[str] = "likeliest"
    """Which model decides: the likeliest, the widest that is almost as likely, or one drawn by its weight."""

    def __post_init__(self) -> None:
        self.draws = Draws(self.random_state)
        self.rounds_ = 0
        self.effects_: ArmEffectsMixture | None = None
        self._pending: dict[int, tuple[Pair, ArmTable]] = {}

    @abstractmethod
    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose the pair of round rounds_ + 1."""

    def initialize(self, arms: Any) -> None:
        """Start with these arms: prior variances 1 / ridge of effects and of utilities by features, or candidates."""
        if self.effects_ is None:
            self.effects_ = ArmEffectsMixture(self.link, arms.features, self._candidates(arms.dim), self.block)

    def _candidates(self, dim: int) -> Floats:
        """Rows (v, f, log weight), with log v and log f ~ N(0, 9) up to a constant."""
        if self.ridge is not None:
            return np.array([[1.0 / self.ridge, 1.0 / self.ridge, 0.0]])
        rows = [(v, f) for v in EFFECT_VARIANCES for f in (FEATURE_VARIANCES if dim else (1.0,))]
        return np.array([(v, f, -(math.log(v) ** 2 + math.log(f) ** 2) / 18.0) for v, f in rows])

    def ask(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Duel:
        """Choose two of the arms."""
        return self.commit(arms, self.decide(arms, distinct=distinct, exclude=exclude))

    def decide(self, arms: ArmTable, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Choice:
        """Choose the pair of the next round; `commit` turns the choice into a duel."""
        self.initialize(arms)
        if not self._effects().best.index:
            self._effects().observe_arms(arms.features)
        mixture = self._effects()
        effects = mixture.deciding(self.deciding_model, self.draws).adapted_to(arms.features)
        for _, pair in self._pending.values():
            effects.add_pending(pair)
        choice = self.choose(effects.posterior(arms), AllowedPairs(len(arms), distinct=distinct, exclude=exclude))
        self.rounds_ += 1
        return choice

    def commit(self, arms: ArmTable, choice: Choice, pair: Pair | None = None) -> Duel:
        """Turn a choice into a pending duel; `pair` replaces it by another one that ties up to rounding."""
        i, j = pair or choice.pair
        self._pending[self.rounds_ - 1] = (i, j), arms[[i, j]]
        return Duel(i, j, self.rounds_ - 1)

    def tell(self, duel: Duel, outcome: float | str, weight: float = 1.0) -> None:
        """Learn the outcome of a pending duel."""
        value, weight = check_outcome(outcome), check_weight(weight)
        if duel.id not in self._pending:
            raise UnknownDuel(f"{duel!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once.")
        self._effects().update(self._pending.pop(duel.id)[1], value, weight, is_tie(outcome))
        self.link = self._effects().link

    def _effects(self) -> ArmEffectsMixture:
        if self.effects_ is None:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "Call `ask` first.")
        return self.effects_


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableLocalPairUCB(ArmTableReference):
    """LocalPairUCB with c = scale, over the pairs of the leader, and those among the 64 arms with the largest u + r sqrt(variance).

    r is the bonus per width of a pair of equal arms whose squared width is twice the largest variance. The leader is
    the
    arm with the largest utility that has a partner.
    """

    radius: str | float = "practical"
    scale: float = 1.0

    deciding_model: ClassVar[str] = "widest"

    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose the best of these pairs."""
        u, width = posterior.u, posterior.width
        optimistic = u + self.per_width(np.sqrt(2.0 * posterior.variance.max()), 0.0) * np.sqrt(posterior.variance)
        leader = _leader(u, allowed)
        pairs = [(leader, leader)] * allowed(leader, leader)
        pairs += [(min(leader, j), max(leader, j)) for j in allowed.arms if j != leader and allowed(leader, j)]
        pairs += allowed.different(_top(optimistic, MAX_ARMS_SEARCHED))
        return best_pair(u[:, None] + u + width * self.per_width(width, u[:, None] - u), pairs)

    def per_width(self, width: Any, gap: Any) -> Any:
        """The bonus of a pair divided by its width."""
        if self.radius != "practical":
            return self.scale * float(self.radius)
        slope = link_slope(self.link, gap)
        rounds = np.log1p(effective_horizon(self.horizon, self.rounds_ + 1) * slope * width**2)
        certainty = (slope / link_slope(self.link, 0.0)) ** 0.2
        return np.sqrt(2.0 * self.scale * certainty * (rounds - np.log1p(rounds)))


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableDesignPair(ArmTableReference):
    """DesignPair over all pairs of the 64 arms with the largest variance.

    If all of these are excluded, the D-optimal pair of the best arm that has a partner.
    """

    criterion: str = "D"

    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose the best of these pairs."""
        if len(posterior.u) == 1:
            return fixed_pair((0, 0))
        slope = link_slope(self.link, posterior.u[:, None] - posterior.u)
        gain = slope * posterior.width**2  # increase of log det H
        pairs = allowed.different(_top(posterior.variance, MAX_ARMS_SEARCHED))
        if not pairs:
            best = _leader(posterior.u, allowed, with_partner=True)
            pairs = [(min(best, j), max(best, j)) for j in allowed.arms if j != best and allowed(best, j)]
            return best_pair(gain, pairs)
        if self.criterion == "D":
            return best_pair(gain, pairs)
        off = posterior.covariance - posterior.covariance.mean(axis=0)
        shared = ((off[:, :, None] - off[:, None]) ** 2).sum(axis=0)
        return best_pair(slope * shared / (1.0 + gain), pairs)


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableBestArmPair(ArmTableReference):
    """The pair that is most informative about leader and rival, over all pairs of at most 64 arms.

    Leader and rival are those of top-two Thompson sampling (Russo 2016): the best arm of a draw from the posterior, and
    the best of the next draw that has another one; after eight such draws, the second best of the last. Only the 16
    arms of largest u + 2 sqrt(variance) are drawn.

    Of more than 64 arms: leader and rival, and pairs of the 32 arms most correlated with their difference and the 32
    least. Before the first vote, the widest pair of the 64 arms with the largest variance. If all of these are
    excluded, the pairs of the best arm that has a partner.
    """

    deciding_model: ClassVar[str] = "drawn"

    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose the most informative pair of different arms."""
        u, width = posterior.u, posterior.width
        if len(u) == 1:
            return fixed_pair((0, 0))
        if not (u != u[0]).any():  # no leader before the first vote
            return self._best(width, allowed.different(_top(posterior.variance, MAX_ARMS_SEARCHED)), u, allowed)
        x, y = self._top_two(posterior)
        slope = smoothed_slope(self.link, u[:, None] - u, width)
        along = posterior.covariance[x] - posterior.covariance[y]
        gain = slope * (along[:, None] - along) ** 2 / (1.0 + slope * width**2)
        return self._best(gain, self._pairs(x, y, along, posterior.variance, allowed), u, allowed)

    def _top_two(self, posterior: UtilityPosterior) -> Pair:
        arms = _top(posterior.u + 2.0 * np.sqrt(np.maximum(posterior.variance, 0.0)), CONTENDERS)
        covariance = posterior.covariance[np.ix_(arms, arms)]
        root = np.linalg.cholesky(covariance + 1e-9 * covariance.diagonal().max() * np.eye(len(arms)))

        def draw() -> Floats:
            noise = np.array([self.draws.normal() for _ in arms])
            return np.asarray(posterior.u[arms] + root @ noise)

        leader = int(np.argmax(draw()))
        for _ in range(8):
            drawn = draw()
            rival = int(np.argmax(drawn))
            if rival != leader:
                return arms[leader], arms[rival]
        drawn[leader] = -np.inf
        return arms[leader], arms[int(np.argmax(drawn))]

    def _pairs(self, x: int, y: int, along: Floats, variance: Floats, allowed: AllowedPairs) -> list[Pair]:
        if len(along) <= MAX_ARMS_SEARCHED:
            return allowed.different(_top(variance, MAX_ARMS_SEARCHED))
        low, high = _top(-along, MAX_ARMS_SEARCHED // 2), _top(along, MAX_ARMS_SEARCHED // 2)
        pairs = [(x, y), *((i, j) for i in low for j in high if i != j)]
        return [(min(i, j), max(i, j)) for i, j in pairs if allowed(i, j)]

    def _best(self, values: Values, pairs: list[Pair], u: Floats, allowed: AllowedPairs) -> Choice:
        if not pairs:
            best = _leader(u, allowed, with_partner=True)
            pairs = [(min(best, j), max(best, j)) for j in allowed.arms if j != best and allowed(best, j)]
        return best_pair(values, pairs)


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableRankingPair(ArmTableReference):
    """RankingPair with diminishing returns for repeated pairs.

    If the votes on a pair have added precision t between its arms, its value is divided by (1 + PAIR_EFFECT_VARIANCE
    t)^2, as if each pair had its own effect N(0, PAIR_EFFECT_VARIANCE). With more than 128 arms, only pairs at most 16
    apart in the ranking are searched, each for the information about its own order; if all are excluded, the first
    allowed pair.
    """

    top: int | None = None

    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose the most informative pair of different arms."""
        u, width = posterior.u, posterior.width
        if len(u) == 1:
            return fixed_pair((0, 0))
        pairs = allowed.different(allowed.arms)
        if not pairs:
            allowed.raise_no_pair()
        keys = tie_break_keys(posterior.ids)
        first, pairs = pairs[:1], sort_by_tie_break(pairs, keys)
        if len(u) <= MAX_ARMS_RANKED:
            information = np.maximum(-np.linalg.inv(posterior.covariance), 0.0)
            values = (
                order_information(self.link, u, posterior.covariance, width, self.top)
                / (1.0 + PAIR_EFFECT_VARIANCE * information) ** 2
            )
            return best_pair(values, pairs)
        information = smoothed_slope(self.link, u[:, None] - u, width) * width**2
        rank = np.argsort(np.lexsort((keys, -u)))
        neighbors = [(i, j) for i, j in pairs if abs(rank[i] - rank[j]) <= NEIGHBORS]
        return best_pair(
            misorder_probability(u, width, self.top) * information / (1.0 + information), neighbors or first
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableRewardDesign(ArmTableReference):
    """RewardDesign over the pairs of the 64 arms with the largest variance; if all are excluded, over all."""

    coverage: float = 0.25

    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose the most informative pair of different arms, or a random one."""
        pairs = allowed.different(_top(posterior.variance, MAX_ARMS_SEARCHED)) or allowed.different(allowed.arms)
        if not pairs and len(posterior.u) > 1:
            allowed.raise_no_pair()
        if self.draws.uniform() < self.coverage or len(posterior.u) == 1:
            return fixed_pair(uniform_pair(self.draws, allowed))
        return best_pair(link_slope(self.link, posterior.u[:, None] - posterior.u) * posterior.width**2, pairs)


@dataclass(kw_only=True, eq=False, repr=False)
class ArmTableUniformPair(ArmTableReference):
    """UniformPair: two different arms, uniformly at random."""

    def choose(self, posterior: UtilityPosterior, allowed: AllowedPairs) -> Choice:
        """Choose any two arms."""
        return fixed_pair(uniform_pair(self.draws, allowed))


ARM_TABLE_REFERENCES: Final[dict[str, type[ArmTableReference]]] = {
    "BestArmPair": ArmTableBestArmPair,
    "DesignPair": ArmTableDesignPair,
    "LocalPairUCB": ArmTableLocalPairUCB,
    "RankingPair": ArmTableRankingPair,
    "RewardDesign": ArmTableRewardDesign,
    "UniformPair": ArmTableUniformPair,
}


def _top(scores: Floats, count: int) -> list[int]:
    """The positions of the arms with the largest scores; of equal scores, the first."""
    return sorted(np.argsort(-scores, kind="stable")[:count].tolist())


def _leader(u: Floats, allowed: AllowedPairs, with_partner: bool = False) -> int:
    """The first arm with the largest utility; with `with_partner`, of arms with a partner other than themselves."""
    free = [i for i in allowed.arms if any(allowed(i, j) for j in allowed.arms if i != j or not with_partner)]
    if not free:
        allowed.raise_no_pair()
    return max(free, key=lambda i: (u[i], -i))
