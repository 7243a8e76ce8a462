"""Automatic exclusion: raters who break a rule of the study are blocked, and their votes excluded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from duelist.study.administration.raters import RaterAdministration
from duelist.study.participation.flow import ExclusionRules
from duelist.study.participation.state import Participation
from duelist.study.records import DuelKind, Outcome, current_votes
from duelist.study.storage import RaterVote, Transaction

_EVERY: Final = 5
"""The rules on speed and sides are checked after every fifth vote, since they read the rater's votes."""
_MOST_TIMED: Final = 100
"""Newest votes whose response times are read."""


class AutomaticExclusion(RaterAdministration):
    """The part of `Study` that applies the rules of exclusion after votes."""

    def _apply_rules(self, raters: Iterable[str]) -> None:
        """Exclude those of these raters who have just broken a rule; a rater whom the owner has reinstated is exempt."""
        rules = self.settings.flow.exclusion
        if rules == ExclusionRules():
            return
        for rater in set(raters):
            with self._reading() as tx:
                row = self._read_cache.raters.get(rater)
                is_settled = row is not None and (row.blocked or Participation.of(row).is_exempt)
                rule = None if is_settled else broken_rule(tx, rules, rater)
            if rule is not None:
                self._block(rater, exclude_votes=True, rule=rule)


def broken_rule(tx: Transaction, rules: ExclusionRules, rater: str) -> str | None:
    """Return the rule that a rater has broken: gold, fast or side; None if there is none."""
    votes = [vote for vote in current_votes(tx.votes_of(rater, 0)) if vote.outcome not in (None, Outcome.SKIP)]
    if rules.failed_gold is not None:
        expected = {duel.number: duel.expected for duel in tx.duels_of(rater) if duel.kind is DuelKind.GOLD}
        failed = {vote.duel for vote in votes if vote.duel in expected and vote.outcome is not expected[vote.duel]}
        if len(failed) >= rules.failed_gold:
            return "gold"
    if len(votes) < rules.after or len(votes) % _EVERY:
        return None
    if rules.min_seconds is not None and _median_seconds(tx, rater, votes[-_MOST_TIMED:]) < rules.min_seconds:
        return "fast"
    if rules.one_side is not None:
        left, right = (sum(vote.outcome is side for vote in votes) for side in (Outcome.FIRST, Outcome.SECOND))
        if left + right >= rules.after and max(left, right) >= rules.one_side * (left + right):
            return "side"
    return None


def _median_seconds(tx: Transaction, rater: str, votes: list[RaterVote]) -> float:
    rows = (tx.last_vote(vote.duel, rater) for vote in votes)
    times = sorted(row.response_seconds for row in rows if row is not None and row.response_seconds is not None)
    return times[len(times) // 2] if times else float("inf")
