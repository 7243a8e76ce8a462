"""Counts of the votes that count, for the limits of a study."""

from __future__ import annotations

from collections import Counter

from duelist.study.asking.pairs import Pair
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import DuelKind, Outcome, StudySettings
from duelist.study.storage import TrainingVote, Transaction


class VoteCounts:
    """Votes in total, per pair and per rater, up to a row of the log; those of excluded raters and skips do not count.

    Gold and repeated duels count in total and per rater, so that raters cannot tell them from others by the limits.
    """

    def __init__(self) -> None:
        self._start(None)

    def _start(self, counting_revision: int | None) -> None:
        self.total = 0
        self.per_pair: Counter[Pair] = Counter()
        self.per_rater: Counter[str | None] = Counter()
        self._sequence = 0
        self._uncounted: set[int] = set()
        """Votes that are undone or skips now, by their first row."""
        self._counting_revision = counting_revision

    def refresh(self, tx: Transaction, settings: StudySettings, arms: ArmCatalog) -> None:
        """Count new votes; count all of them again if other raters are excluded than before."""
        if tx.counters.counting_revision != self._counting_revision:
            self._start(tx.counters.counting_revision)
        if tx.counters.n_votes == self._sequence:
            return
        for vote in tx.training_votes_since(self._sequence, every_kind=True):
            if vote.criterion in (None, settings.main_criterion):
                self._count(vote, arms)
        self._sequence = tx.counters.n_votes

    def _count(self, vote: TrainingVote, arms: ArmCatalog) -> None:
        counts = vote.outcome not in (None, Outcome.SKIP)
        counted_before = vote.sequence != vote.root and vote.root not in self._uncounted
        change = int(counts) - int(counted_before)
        self.total += change
        if vote.kind is DuelKind.NORMAL:
            first, second = arms.number_at(vote.first_row), arms.number_at(vote.second_row)
            self.per_pair[min(first, second), max(first, second)] += change
        self.per_rater[vote.rater] += change
        (self._uncounted.discard if counts else self._uncounted.add)(vote.root)
