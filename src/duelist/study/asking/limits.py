"""Limits: how many votes the owner wants, in total, on a pair, of a rater.

What counts are the votes that count for the board, and the duels that are out, so that raters who ask at once do not go past
a limit together. Votes on gold and repeated duels, and those of raters who are left out, do not count.
"""

from __future__ import annotations

from collections import Counter

from duelist.core.errors import LimitReached
from duelist.study.asking.ask import Known, Leased, Wanted, pair_of
from duelist.study.asking.pairs import Pair
from duelist.study.items.catalog import KnownArms
from duelist.study.records import DuelKind, StudySettings
from duelist.study.storage import Lesson, Transaction


class Tally:
    """Votes that count, by pair and by rater, as far as the log has been read."""

    def __init__(self) -> None:
        self._start(None)

    def _start(self, counting_revision: int | None) -> None:
        self.total = 0
        self.of_pair: Counter[Pair] = Counter()
        self.of_rater: Counter[str | None] = Counter()
        self._sequence = 0
        self._undone: set[int] = set()
        self._counting_revision = counting_revision

    def follow(self, tx: Transaction, settings: StudySettings, arms: KnownArms) -> None:
        """Count what is new in the log; all of it anew, when other raters are left out than before."""
        if tx.counters.counting_revision != self._counting_revision:
            self._start(tx.counters.counting_revision)
        if tx.counters.n_votes == self._sequence:
            return
        for lesson in tx.lessons_since(self._sequence):
            if lesson.criterion in (None, settings.main_criterion):
                self._count(lesson, arms)
        self._sequence = tx.counters.n_votes

    def _count(self, lesson: Lesson, arms: KnownArms) -> None:
        stood = lesson.sequence != lesson.root and lesson.root not in self._undone
        change = int(lesson.outcome is not None) - int(stood)
        first, second = arms.owner(lesson.first_row), arms.owner(lesson.second_row)
        self.total += change
        self.of_pair[min(first, second), max(first, second)] += change
        self.of_rater[lesson.rater] += change
        (self._undone.add if lesson.outcome is None else self._undone.discard)(lesson.root)


def within_limits(
    tx: Transaction, known: Known, tally: Tally, out: list[Leased], rater: str, wanted: Wanted, study: str
) -> Wanted:
    """What may be asked of a rater who has no duel: what was wanted, but for pairs that have votes enough; or LimitReached."""
    settings = known.settings
    limits = settings.max_votes, settings.max_votes_per_rater, settings.max_votes_per_pair
    if limits == (None, None, None):
        return wanted
    tally.follow(tx, settings, known.arms)
    coming = [(lease.rater, pair_of(duel, known.arms)) for lease, duel in out if duel.kind is DuelKind.NORMAL]
    total, per_rater, per_pair = limits
    if total is not None and tally.total + len(coming) >= total:
        raise _reached("This study", tally.total, len(coming), total, "total", study)
    mine = sum(name == rater for name, _ in coming)
    if per_rater is not None and tally.of_rater[rater] + mine >= per_rater:
        raise _reached(f"Rater {rater!r}", tally.of_rater[rater], mine, per_rater, "per_rater", study)
    return wanted if per_pair is None else wanted._replace(closed=_full(tally, coming, per_pair))


def _full(tally: Tally, coming: list[tuple[str, Pair]], limit: int) -> frozenset[Pair]:
    """The pairs that have votes enough, those to come counted."""
    more = Counter(pair for _, pair in coming)
    return frozenset(
        [pair for pair, count in tally.of_pair.items() if count >= limit]
        + [pair for pair, count in more.items() if tally.of_pair[pair] + count >= limit]
    )


def _reached(who: str, votes: int, pending: int, limit: int, which: str, study: str) -> LimitReached:
    more = f" and {pending} pending" if pending else ""
    return LimitReached(
        f"{who} has {votes} votes{more}, and the limit is {limit}.",
        f"Raise the limit with `limit({which}=...)`; None removes it.",
        code=f"limit_reached.{which}",
        study=study,
    )
