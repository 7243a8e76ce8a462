"""The owner's limits on the number of votes: in total, per pair and per rater.

Pending duels count as votes, so that raters who ask at the same time do not exceed a limit together. Gold and repeated duels count in
total and per rater like all others: a limit that passed them over would tell raters which they are.
"""

from __future__ import annotations

from collections import Counter

from duelist.core.errors import LimitReached
from duelist.study.asking.leases import AskRequest, LeasedDuel, pair_of
from duelist.study.asking.pairs import Pair
from duelist.study.asking.vote_counts import VoteCounts
from duelist.study.cache import StudyCache
from duelist.study.records import DuelKind
from duelist.study.storage import Transaction


def apply_limits(
    tx: Transaction, cache: StudyCache, pending: list[LeasedDuel], rater: str, request: AskRequest
) -> AskRequest:
    """Return the request without pairs that have enough votes; raise LimitReached if the study or the rater has."""
    settings, counts = cache.settings, cache.vote_counts
    total, per_rater, per_pair = settings.max_votes, settings.max_votes_per_rater, settings.max_votes_per_pair
    if total is None and per_rater is None and per_pair is None:
        return request
    counts.refresh(tx, settings, cache.arms)
    if total is not None and counts.total + len(pending) >= total:
        raise _limit_reached("This study", counts.total, len(pending), total, "total", cache.name)
    own = sum(lease.rater == rater for lease, _ in pending)
    if per_rater is not None and counts.per_rater[rater] + own >= per_rater:
        votes = counts.per_rater[rater]
        raise _limit_reached(f"Rater {rater!r}", votes, own, per_rater, "per_rater", cache.name)
    if per_pair is None:
        return request
    coming = [pair_of(duel, cache.arms) for _, duel in pending if duel.kind is DuelKind.NORMAL]
    return request._replace(full_pairs=_full_pairs(counts, coming, per_pair))


def _full_pairs(counts: VoteCounts, coming: list[Pair], limit: int) -> frozenset[Pair]:
    """Return the pairs with enough votes, pending ones included."""
    more = Counter(coming)
    return frozenset(
        [pair for pair, count in counts.per_pair.items() if count >= limit]
        + [pair for pair, count in more.items() if counts.per_pair[pair] + count >= limit]
    )


def _limit_reached(subject: str, votes: int, pending: int, limit: int, which: str, study: str) -> LimitReached:
    more = f" and {pending} pending" if pending else ""
    return LimitReached(
        f"{subject} has {votes} votes{more}, and the limit is {limit}.",
        f"Raise the limit with `limit({which}=...)`; None removes it.",
        code=f"limit_reached.{which}",
        study=study,
    )
