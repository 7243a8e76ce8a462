"""A vote table with its fit: the basis of leaderboard, progress, recommendation and win probabilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from duelist.core.arrays import Ints
from duelist.core.errors import InvalidInput
from duelist.model.misfit import MAX_TESTED_ARMS, MISFIT_LEVEL, PairVotes, misfit_p_value
from duelist.model.posterior import Posterior
from duelist.model.stopping import LinearPosterior
from duelist.study.analysis.fit.flagged_raters import FlaggedRater, RaterChoice, flagged_raters, with_raters
from duelist.study.analysis.fit.utilities import AUTO, Features, WithArmEffects, fit_utilities
from duelist.study.analysis.fit.votes import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    VoteTable,
    as_vote_table,
    counted,
    vote_counts,
)
from duelist.study.records import Vote

Bools = NDArray[np.bool_]
Result = TypeVar("Result")


@dataclass(frozen=True)
class StudyFit:
    """Votes on arms, and the fit of those that are analysed (`among`, positions in `arms`)."""

    arms: tuple[str, ...]
    among: Ints
    log: VoteTable
    whole: Posterior
    """Posterior of all arms."""
    group: Ints
    """Group of each arm: two have the same number if a chain of votes connects them."""
    misfit_note: str | None = None
    """The result of the misfit test, if the votes contradict the features."""
    of: str = "arm"
    """The kind that utilities describe: "arm" or "system"."""
    flagged: tuple[FlaggedRater, ...] = ()
    """Careless raters, whose votes hardly count."""
    computed: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    """Results computed from this fit; see `once`."""

    def once(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result stored under a key, or compute and store it."""
        if key not in self.computed:
            self.computed[key] = compute()
        result: Result = self.computed[key]
        return result

    @cached_property
    def posterior(self) -> Posterior:
        """Posterior of the analysed arms, relative to their mean."""
        return self.whole if len(self.among) == len(self.arms) else self.whole.among(self.among)

    @cached_property
    def ids(self) -> list[str]:
        """Ids of the analysed arms."""
        return [self.arms[k] for k in self.among]

    @cached_property
    def votes(self) -> int:
        """Number of votes that inform the fit, between any arms."""
        return int(self.log.teaching.sum())

    @cached_property
    def counts_by_arm(self) -> dict[str, Ints]:
        """Votes, wins, ties and both bad of each arm, including retired ones."""
        log = self.log.of(self.log.first != self.log.second)
        sides = [(log.first, FIRST), (log.second, SECOND)]

        def count(*wanted: int) -> Ints:
            return sum((self._count(side[np.isin(log.outcome, wanted)]) for side, _ in sides), np.zeros(1, np.int64))

        wins = sum((self._count(side[log.outcome == won]) for side, won in sides), np.zeros(1, np.int64))
        votes = count(FIRST, SECOND, TIE, BOTH_BAD)
        return {"votes": votes, "wins": wins, "ties": count(TIE), "both_bad": count(BOTH_BAD)}

    def _count(self, arms: NDArray[np.integer]) -> Ints:
        return np.bincount(arms, minlength=len(self.arms))

    @cached_property
    def groups(self) -> Ints:
        """Groups of the analysed arms, numbered from 1 in the order of the best arm of each."""
        order = np.argsort(-self.posterior.mean, kind="stable")
        number: dict[int, int] = {}
        found = np.empty(len(self.among), np.int64)
        for k in order:
            found[k] = number.setdefault(int(self.group[self.among[k]]), len(number) + 1)
        return found

    @cached_property
    def n_groups(self) -> int:
        """Return the number of groups of the analysed arms, not counting arms without votes."""
        size = np.bincount(self.group, minlength=1)
        groups = np.unique(self.group[self.among])
        return int((size[groups] > 1).sum()) if len(groups) else 0

    def connected(self, leader: int) -> Bools:
        """Return whether votes or features, not just the prior, compare each analysed arm with this one."""
        if self.whole.features is not None:
            return np.ones(len(self.among), np.bool_)
        groups = self.group[self.among]
        return np.asarray(groups == groups[leader])

    @property
    def note(self) -> str | None:
        """A caveat: features that do not explain the votes, or arms that no votes connect."""
        said = [each for each in (self.misfit_note, self._apart) if each is not None]
        return "; ".join(said) or None

    @property
    def _apart(self) -> str | None:
        if self.n_groups < 2:
            return None
        groups = f"the {self.of}s fall into {self.n_groups} groups that no vote connects"
        if self.whole.features is not None:
            return f"{groups}: only their features compare {self.of}s of different groups"
        advice = "ask about pairs of different groups" if self.of == "system" else "analyse one context at a time"
        return f"{groups}: ranks are valid within a group only; {advice}"


def fit_votes(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    ridge: float | str = 1.0,
    seed: int = 0,
    start: Posterior | None = None,
    clusters: bool = True,
    of: str = "arm",
    rater_model: RaterChoice = AUTO,
) -> StudyFit:
    """Fit a vote table; see `fit_utilities`.

    With "auto" the fit estimates how raters differ (`duelist.model.raters`) if a test says that they do; True and False
    always or never do. The covariance counts votes of one rater, and those on one prompt of arms that answer several, as dependent
    (`duelist.model.clusters`); `clusters=False` takes all votes for independent.
    """
    log = as_vote_table(votes, arms).on_arms
    single = vote_counts(log, cluster_kinds(log))
    pairs = single.pooled()
    alike = fit_utilities(pairs, features, ridge, seed, start)
    posterior = with_raters(alike, single, rater_model, clusters=clusters, seed=seed)
    edges = coo_array((np.ones(len(pairs.items)), tuple(pairs.items.T)), shape=(len(arms), len(arms)))
    group = connected_components(edges, directed=False)[1] if len(arms) else np.zeros(0)
    found = np.asarray(group, np.int64)
    flagged = flagged_raters(posterior.raters, log.raters)
    return StudyFit(tuple(arms), _positions(among, arms), log, posterior, found, of=of, flagged=flagged)


def cluster_kinds(log: VoteTable) -> tuple[str, ...]:
    """Return the kinds of clusters of votes: raters, and prompts if an arm or system was compared on several."""
    a_context = np.empty(log.n_arms, log.context.dtype)
    for arms in (log.first, log.second):
        a_context[arms] = log.context
    several = any((a_context[arms] != log.context).any() for arms in (log.first, log.second))
    return ("rater", "prompt") if several else ("rater",)


def fit_with_misfit_test(
    votes: VoteTable,
    arms: Sequence[str],
    features: Features,
    *,
    seed: int = 0,
    start: Posterior | None = None,
    **options: Any,
) -> StudyFit:
    """Fit a vote table; add arm effects, and a `misfit_note`, if features do not explain the votes."""
    chance = chance_if_explained(votes.on_arms, features, seed)
    odd = chance < MISFIT_LEVEL
    shown = WithArmEffects(np.asarray(features, np.float64)) if odd else features
    fit = fit_votes(votes, arms, shown, seed=seed, start=start, **options)
    said = f"features do not explain the votes (p = {chance:.2g}): arm effects were added"
    return replace(fit, misfit_note=said) if odd else fit


def chance_if_explained(log: VoteTable, features: Features, seed: int) -> float:
    """Return the p-value of the misfit test (`duelist.model.misfit`) on decided votes; 1 if unknown."""
    if features is None or isinstance(features, WithArmEffects) or not 2 < log.n_arms <= MAX_TESTED_ARMS:
        return 1.0
    pairs = counted(log.of(log.decided))
    if not len(pairs.items):
        return 1.0
    linear = fit_utilities(pairs, features, 1.0, seed)
    if linear.features is None or linear.fitted is None:
        return 1.0
    x, theta = linear.features, linear.fitted.beta
    (low, high), mass = pairs.items.T, pairs.counts.sum(axis=1)
    z = x[low] - x[high]
    chance = expit(z @ theta)
    slope = mass * chance * (1.0 - chance)
    known = LinearPosterior(theta, linear.ridge * np.eye(x.shape[1]) + (z * slope[:, None]).T @ z, linear.ridge)
    return misfit_p_value(x, PairVotes(low, high, mass, pairs.counts[:, FIRST]), known, "logistic")


def _positions(among: Sequence[str] | None, arms: Sequence[str]) -> Ints:
    if among is None:
        return np.arange(len(arms))
    index = {arm: k for k, arm in enumerate(arms)}
    stray = next((arm for arm in among if arm not in index), None)
    if stray is not None:
        raise InvalidInput(f"among has {stray!r}, which is not among the {len(arms)} arms given.", "Leave it out.")
    return np.array([index[arm] for arm in among], np.int64)
