"""Off-policy evaluation: what another policy would have achieved, from randomly drawn pairs.

A study with `random_share` draws some duels at random and records the probability of each pair. From these votes
alone (none on pairs that the policy chose), the value of any other policy can be estimated.

The estimand. A fixed policy asks the ordered pair (i, j) with probability pi(i, j). With p(i, j) the probability that
i wins against j, a tie counting half for both, its value is V = sum of a(i, j) p(i, j) over ordered pairs, where

    wins        a(i, j) = pi(i, j): the first arm of the pair wins
    strength    a(i, j) = w(i) / (n - 1), w(i) half the probability that i is asked: an arm that it shows beats a
    random other one

With contexts, both are means over contexts with equal weight. A vote on {i, j} that was drawn with probability q, and
of which i won the share y, gives

    inverse propensity   (a(i, j) y + a(j, i) (1 - y)) / q
    doubly robust        D + (a(i, j) - a(j, i)) (y - m(i, j)) / q,   D = sum of a(i, j) m(i, j)

where m is a Bradley-Terry model fitted to the votes of other folds. Both have the mean V, whatever m is; the second
varies less the better m is. Estimates are means over votes, intervals Student's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, stdtrit

from duelist.core.arrays import Floats, Ints, check_choice, check_integer, is_number
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, format_percent
from duelist.policies import Policy
from duelist.study.analysis.fit.utilities import fit_utilities
from duelist.study.analysis.fit.votes import BOTH_BAD, CHOSEN_CODES, FIRST, SECOND, VoteTable, as_vote_table, counted
from duelist.study.analysis.intervals import check_level
from duelist.study.analysis.regret import Estimate
from duelist.study.records import Vote, counted_votes, current_votes

MEASURES: Final = {
    "wins": "the first arm of the pair wins",
    "strength": "a shown arm beats a random other arm",
}
ROUGH: Final = 30
"""With fewer votes on pairs that the policy would ask, intervals are rough."""

Target = Policy | Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True, repr=False)
class OffPolicy(TabularResult):
    """The value of a policy in two estimates, and the pairs that it would ask."""

    inverse_propensity: Estimate
    doubly_robust: Estimate
    measure: str
    level: float
    votes: int
    """Votes on random duels."""
    matched: int
    """Of those, votes on pairs that inform the estimate."""
    asked: tuple[tuple[str, str, float], ...]
    """The pairs that it would ask, with their probabilities, most frequent first."""

    def _table(self) -> TableContent:
        rows = [[kind.replace("_", " "), str(getattr(self, kind))] for kind in _ESTIMATES]
        notes = [f"the chance that {MEASURES[self.measure]}; {self.matched} of {self.votes} random votes inform it"]
        if self.matched < ROUGH:
            notes.append(f"with so few votes the intervals are rough; collect at least {ROUGH}")
        return TableContent(["estimate", f"value, {format_percent(self.level)} interval"], rows, notes)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        parts = ("value", "low", "high")
        return {
            "estimate": _ESTIMATES,
            **{part: [getattr(getattr(self, kind), part) for kind in _ESTIMATES] for part in parts},
        }


_ESTIMATES: Final = ("inverse_propensity", "doubly_robust")


@dataclass(frozen=True, slots=True, repr=False)
class ReplayEstimate(TabularResult):
    """The value of a learning policy in its first rounds: the probability that the arm it names first wins."""

    value: Estimate
    rounds: int
    blocks: int
    """The number of times it was played from the beginning, each time with separate votes."""
    votes: int
    level: float

    def _table(self) -> TableContent:
        notes = [f"{self.blocks} replays of {self.rounds} rounds, with {self.votes} random votes"]
        return TableContent(
            ["estimate", f"value, {format_percent(self.level)} interval"], [["replay", str(self.value)]], notes
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"estimate": ["replay"], **{part: [getattr(self.value, part)] for part in ("value", "low", "high")}}


def off_policy(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: ArrayLike | None,
    target: Target,
    *,
    random_share: float,
    groups: Sequence[str | None] | None = None,
    measure: str = "wins",
    level: float = 0.95,
    draws: int = 100,
    folds: int = 5,
    by_rater: bool = False,
    seed: int = 0,
) -> OffPolicy:
    """Estimate the value of a fixed policy, `target`, from the votes on random duels.

    Parameters
    ----------
    votes, arms, features, groups
        The log (`study.votes()`), the ids of the arms, their features (None: arms have nothing in common), and the
        context of each.
    target
        A policy with what it has learned so far; or probabilities of ordered pairs of ids, which add up to 1 in every
        context.
    random_share
        The share of random duels when the votes were collected (`study.settings.random_share`); recorded propensities
        include it as a factor.
    measure, level
        "wins" or "strength", see the module; and the level of the intervals.
    draws
        How often a randomised policy is asked in each context what it would ask.
    folds
        The number of folds for the model of the doubly robust estimate.
    by_rater
        True treats a rater's votes as one observation: raters with different tastes make intervals wider.
    seed
        Of the policy's draws and of the folds.
    """
    check_choice("measure", measure, tuple(MEASURES))
    check_level(level)
    check_integer("folds", folds, 2)
    given = _random_votes(votes, arms, random_share)
    tables = _tables(groups, len(arms))
    asked = _asked(target, arms, features, tables, check_integer("draws", draws), seed)
    weights = _weights(asked, tables, measure, len(arms))
    forth, back = weights.of(given.first, given.second), weights.of(given.second, given.first)
    matched = int(((forth != 0.0) | (back != 0.0)).sum())
    if not matched:
        raise InvalidInput(
            f"None of {len(given.y)} random votes is on a pair that the policy would ask.",
            "Collect more, or choose the measure 'strength'.",
        )
    plain = (forth * given.y + back * (1.0 - given.y)) / given.q
    robust = _doubly_robust(given, features, weights, (forth - back) / given.q, folds, by_rater, seed)
    clusters = given.log.rater if by_rater else np.arange(len(given.y))
    order = np.argsort(-asked.chance, kind="stable")
    return OffPolicy(
        inverse_propensity=_interval(plain, clusters, level),
        doubly_robust=_interval(robust, clusters, level),
        measure=measure,
        level=level,
        votes=len(given.y),
        matched=matched,
        asked=tuple((arms[asked.first[k]], arms[asked.second[k]], float(asked.chance[k])) for k in order),
    )


def replay(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: ArrayLike | None,
    policy: Policy,
    *,
    rounds: int,
    groups: Sequence[str | None] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> ReplayEstimate:
    """Estimate what `policy`, learning from the beginning, would achieve in its first `rounds` rounds.

    The random votes are processed in order. A vote on the pair that the policy would ask now becomes its next round,
    and it learns from it; the others are skipped. Since every pair was equally likely, the rounds are distributed as
    if the policy had been in charge (Li, Chu, Langford and Wang 2011). After `rounds` rounds a fresh copy starts with
    the remaining votes; the interval is Student's over these copies, of which there must be two. A round takes about
    as many random votes as there are pairs.
    """
    check_integer("rounds", rounds)
    check_level(level)
    given = _random_votes(votes, arms, 1.0)
    if given.q.max() > 1.000001 * given.q.min():
        raise InvalidInput(
            f"Random pairs were drawn with chances from {given.q.min():.3g} to {given.q.max():.3g}.",
            "A replay needs equal ones, which pairs that raters may not be asked twice do not have: use the off-policy estimate instead.",
        )
    tables = _tables(groups, len(arms))
    shown, home = _features(features, len(arms)), _homes(tables, len(arms))
    means: list[float] = []
    game = _Rounds(policy.clone(seed))
    for i, j, y in zip(given.first.tolist(), given.second.tolist(), given.y.tolist(), strict=True):
        game.meet(shown, tables[home[i]], i, j, y)
        if len(game.found) == rounds:
            means.append(float(np.mean(game.found)))
            game = _Rounds(policy.clone(seed + len(means)))
    if len(means) < 2:
        raise InvalidInput(
            f"{len(given.y)} random votes are enough for {len(means)} times {rounds} rounds, and two are needed.",
            "Ask for fewer rounds, or collect more votes.",
        )
    value = _interval(np.array(means), np.arange(len(means)), level)
    return ReplayEstimate(value, rounds, len(means), len(given.y), level)


class _Rounds:
    """A replay of random votes: the policy learns only from pairs that it would have asked."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._select = 0
        self.found: list[float] = []

    def meet(self, features: Floats, table: Ints, i: int, j: int, y: float) -> None:
        arms = features[table]
        self._policy.initialize(arms)
        choice = self._policy.suggest(arms, seed=self._select, rounds=len(self.found))
        self._select += 1
        first, second = int(table[choice.first]), int(table[choice.second])
        if {first, second} != {i, j}:
            return
        outcome = y if first == i else 1.0 - y
        self._policy.learn(features[[first, second]], outcome, layer=choice.layer, share=choice.share)
        self.found.append(outcome)


# -- the log -----------------------------------------------------------------------------


class _Given(NamedTuple):
    """Votes on random duels.

    They have the arms, the first arm's share of the win, and the probability of the pair among random ones.
    """

    log: VoteTable
    first: Ints
    second: Ints
    y: Floats
    q: Floats


def _random_votes(votes: Sequence[Vote] | VoteTable, arms: Sequence[str], random_share: float) -> _Given:
    if not (is_number(random_share) and 0.0 < random_share <= 1.0):
        raise InvalidInput(
            f"random_share is {random_share!r}.", "Give a share above 0 and at most 1.", field="random_share"
        )
    if not isinstance(votes, VoteTable):
        votes = counted_votes(current_votes(list(votes)))
    log = as_vote_table(votes, arms).on_arms
    answered = (log.outcome >= 0) & (log.outcome <= BOTH_BAD) & (log.first != log.second)
    log = log.of(answered & (log.chosen_by == CHOSEN_CODES["random"]) & ~np.isnan(log.propensity))
    if not len(log):
        raise InvalidInput(
            "No vote is on a duel that was drawn with a known chance.", "Set random_share above 0 and collect votes."
        )
    q = np.asarray(log.propensity / random_share, np.float64)
    if not ((q > 0.0) & (q <= 1.0 + 1e-9)).all():
        raise InvalidInput(
            f"A random pair has the chance {log.propensity[np.argmax(q)]}, which is not below random_share "
            f"{random_share:g}.",
            "Give the share that the study had when these votes were taken.",
        )
    y = np.where(log.outcome == FIRST, 1.0, np.where(log.outcome == SECOND, 0.0, 0.5))
    return _Given(log, log.first.astype(np.int64), log.second.astype(np.int64), y, q)


def _tables(groups: Sequence[str | None] | None, n_arms: int) -> list[Ints]:
    """Yield the arms of each context, by position; contexts with a single arm have nothing to ask."""
    if groups is not None and len(groups) != n_arms:
        raise InvalidInput(f"groups has {len(groups)} entries, but there are {n_arms} arms.", "Give one each.")
    names = [None] * n_arms if groups is None else list(groups)
    members: dict[str | None, list[int]] = {}
    for arm, name in enumerate(names):
        members.setdefault(name, []).append(arm)
    return [np.array(table) for table in members.values() if len(table) > 1]


def _homes(tables: list[Ints], n_arms: int) -> Ints:
    home = np.full(n_arms, -1)
    for number, table in enumerate(tables):
        home[table] = number
    return home


def _features(features: ArrayLike | None, n_arms: int) -> Floats:
    return np.eye(n_arms) if features is None else np.asarray(features, np.float64)


# -- what the policy would ask -----------------------------------------------------------


class _Asked(NamedTuple):
    """Ordered pairs with their probabilities, which add up to 1 over all contexts."""

    first: Ints
    second: Ints
    chance: Floats


def _asked(
    target: Target, arms: Sequence[str], features: ArrayLike | None, tables: list[Ints], draws: int, seed: int
) -> _Asked:
    if not isinstance(target, Policy):
        return _declared(target, arms, tables)
    shown = _features(features, len(arms))
    found: dict[tuple[int, int], int] = {}
    for number, table in enumerate(tables):
        for draw in range(draws):
            choice = target.suggest(shown[table], seed=seed + number * draws + draw)
            pair = int(table[choice.first]), int(table[choice.second])
            found[pair] = found.get(pair, 0) + 1
    first, second = np.array(list(found)).T
    return _Asked(first, second, np.array(list(found.values())) / (draws * len(tables)))


def _declared(target: Mapping[tuple[str, str], float], arms: Sequence[str], tables: list[Ints]) -> _Asked:
    index = {arm: k for k, arm in enumerate(arms)}
    unknown = [arm for pair in target for arm in pair if arm not in index]
    if unknown:
        raise InvalidInput(
            f"A pair names the arm {unknown[0]!r}, which is not among the {len(arms)} arms given.", "Give all arms."
        )
    first, second = (np.array([index[pair[side]] for pair in target]) for side in (0, 1))
    chance = np.array(list(target.values()), np.float64)
    home = _homes(tables, len(arms))
    sums = np.bincount(home[first], chance, len(tables))
    if (
        (home[first] != home[second]).any()
        or (first == second).any()
        or (chance < 0.0).any()
        or (abs(sums - 1.0) > 1e-9).any()
    ):
        raise InvalidInput(
            "Chances of pairs must be of two different arms of one context, and add up to 1 in each context.",
            "Correct the chances.",
        )
    return _Asked(first, second, chance / len(tables))


class _Weights(NamedTuple):
    """a(i, j) for the ordered pairs where it is not zero: sorted keys i * n + j, and values."""

    n_arms: int
    keys: Ints
    values: Floats

    def of(self, first: Ints, second: Ints) -> Floats:
        wanted = first * self.n_arms + second
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, self.values[at], 0.0)


def _weights(asked: _Asked, tables: list[Ints], measure: str, n_arms: int) -> _Weights:
    if measure == "wins":
        keys, values = asked.first * n_arms + asked.second, asked.chance
    else:
        shown = (np.bincount(asked.first, asked.chance, n_arms) + np.bincount(asked.second, asked.chance, n_arms)) / 2.0
        parts = [
            (i * n_arms + table[table != i], np.full(len(table) - 1, shown[i] / (len(table) - 1)))
            for table in tables
            for i in table
            if shown[i] > 0.0
        ]
        keys, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(keys)
    return _Weights(n_arms, keys[order], values[order])


# -- estimates ---------------------------------------------------------------------------


def _doubly_robust(
    given: _Given, features: ArrayLike | None, weights: _Weights, scale: Floats, folds: int, by_rater: bool, seed: int
) -> Floats:
    """Return the terms of the estimate, each with a model fitted to the other folds.

    With `by_rater`, a rater's votes share a fold.
    """
    rng = np.random.default_rng(seed)
    names = given.log.rater if by_rater else np.arange(len(given.y))
    _, name = np.unique(names, return_inverse=True)
    fold = (rng.permutation(int(name.max()) + 1) % folds)[name]
    i, j = np.divmod(weights.keys, weights.n_arms)
    terms = np.empty(len(given.y))
    for k in range(folds):
        mine = fold == k
        if mine.any():
            utilities = fit_utilities(counted(given.log.of(~mine)), features, 1.0, seed).mean
            direct = weights.values @ expit(utilities[i] - utilities[j])
            expected = expit(utilities[given.first[mine]] - utilities[given.second[mine]])
            terms[mine] = direct + scale[mine] * (given.y[mine] - expected)
    return terms


def _interval(terms: Floats, clusters: Any, level: float) -> Estimate:
    """Return the mean, and Student's interval over independent clusters of terms."""
    n, centre = len(terms), float(terms.mean())
    _, name = np.unique(clusters, return_inverse=True)
    sums = np.bincount(name, terms - centre)
    m = len(sums)
    if m < 2:
        return Estimate(centre, -np.inf, np.inf)
    error = float(np.sqrt(m / (m - 1.0) * (sums**2).sum()) / n)
    half = float(stdtrit(m - 1, 0.5 + level / 2.0)) * error
    return Estimate(centre, centre - half, centre + half)
