"""Simulated votes, for tests of analyses."""

from datetime import UTC, datetime

import numpy as np

from duelist.study.analysis import VoteTable
from duelist.study.analysis.fit.votes import NO_TIME
from duelist.study.records import ChosenBy, Outcome, Source, Vote

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def vote(sequence, first, second, outcome, rater=None, **more):
    more = {"source": Source.HUMAN} | more
    return Vote(
        sequence,
        more.pop("duel_id", sequence),
        Outcome(outcome) if outcome else None,
        rater,
        NOW,
        first,
        second,
        **more,
    )


def made_votes(rng, utilities, n, raters=1, chosen_by=ChosenBy.POLICY, start=1):
    """`n` votes on uniformly random pairs; the first wins with chance 1/(1 + exp(u_second - u_first))."""
    k = len(utilities)
    first = rng.integers(k, size=n)
    second = (first + rng.integers(1, k, size=n)) % k
    won = rng.random(n) < 1.0 / (1.0 + np.exp(utilities[second] - utilities[first]))
    return [
        vote(start + t, f"a{i}", f"a{j}", "first" if w else "second", f"r{t % raters}", chosen_by=chosen_by)
        for t, (i, j, w) in enumerate(zip(first, second, won, strict=True))
    ]


def davidson_votes(rng, utilities, n, nu, raters=1):
    """`n` votes on uniformly random pairs: odds exp(u/2) for one, exp(-u/2) for the other, nu for a tie, u their difference."""
    k = len(utilities)
    first = rng.integers(k, size=n)
    second = (first + rng.integers(1, k, size=n)) % k
    gap = utilities[first] - utilities[second]
    odds = np.stack([np.exp(gap / 2), np.exp(-gap / 2), np.full(n, nu)])
    place = rng.random(n) * odds.sum(axis=0)
    answer = (place[None] > np.cumsum(odds, axis=0)).sum(axis=0)
    return [
        vote(1 + t, f"a{i}", f"a{j}", ("first", "second", "tie")[a], f"r{t % raters}")
        for t, (i, j, a) in enumerate(zip(first, second, answer, strict=True))
    ]


def names(n):
    return [f"a{k}" for k in range(n)]


def vote_table(n_arms, first, second, outcome, rater, context=None):
    """Return a table of normal votes without times, in one context unless contexts are given."""
    n = len(first)
    unknown, zero = np.full(n, np.nan), np.zeros(n, np.int8)
    return VoteTable(
        n_arms=n_arms,
        raters=tuple(f"r{k}" for k in range(int(rater.max()) + 1)),
        first=first,
        second=second,
        outcome=outcome.astype(np.int8),
        rater=rater,
        context=np.zeros(n, np.int64) if context is None else context,
        duel=np.arange(n),
        voted_at=np.full(n, NO_TIME),
        seconds=unknown,
        chosen_by=zero,
        propensity=unknown,
        kind=zero,
        expected=np.full(n, -1),
    )
