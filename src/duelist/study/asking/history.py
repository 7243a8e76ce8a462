"""What raters have answered, and which sides arms were shown on, as one process knows it; brought up to date from the log.

All of it is a function of the log: two processes that have read as much of it know the same.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import Final

import numpy as np

from duelist.core.arrays import Ints
from duelist.study.asking.pairs import NONE, code
from duelist.study.items.catalog import KnownArms
from duelist.study.records import Outcome
from duelist.study.storage import SeenRow, Transaction

_KEPT: Final = 200_000
"""Answers that a process remembers, some 40 MB; those of raters who came longest ago are forgotten, and read anew when they come."""
_OF_A_RATER: Final = 8
"""As much room as so many answers is what a rater takes who has given none."""
_FRESH: Final = 10
"""A pair is not asked again as a check while the rater is likely to remember the answer: so many duels."""


class History:
    """The pairs that a rater has answered, in the order of their last answers."""

    def __init__(self) -> None:
        self.answered = 0
        """Duels that this rater has answered, those since undone too."""
        self._until = 0
        self._last: dict[int, int] = {}
        """Which of the rater's answers was the last to a pair."""
        self._standing: dict[int, int] = {}
        """Answers to a duel that stand: one, or one for each criterion."""
        self._undone: set[int] = set()
        self._skipped: set[int] = set()
        self._times: dict[int, int] = {}
        """Duels of a pair that stand, where there are several."""
        self._lefts: dict[int, int] = {}
        """How much more often an arm was on the left than on the right."""

    @property
    def room(self) -> int:
        """What it takes to remember this, in answers."""
        return _OF_A_RATER + len(self._standing)

    def follow(self, tx: Transaction, arms: KnownArms, rater: str) -> None:
        """Take in what is new in the log."""
        if tx.counters.n_votes == self._until:
            return
        for row in tx.seen_by(rater, self._until):
            self._take(row, arms)
        self._until = tx.counters.n_votes

    def _take(self, row: SeenRow, arms: KnownArms) -> None:
        if row.outcome is None:
            self._undone.add(row.sequence)
            change = -1
        else:
            change = int(row.revises is None or row.revises in self._undone)
            self._undone.discard(row.revises or 0)
        before = self._standing.get(row.duel, 0)
        self._standing[row.duel] = before + change
        left, right = arms.owner(row.first_row), arms.owner(row.second_row)
        pair = code(left, right)
        if before == 0 and change > 0:
            self._note(pair, left, right, 1)
        elif before == 1 and change < 0:
            self._note(pair, left, right, -1)
        if row.outcome is not None:
            (self._skipped.add if row.outcome is Outcome.SKIP else self._skipped.discard)(pair)

    def _note(self, pair: int, left: int, right: int, change: int) -> None:
        """One more answer to this pair that stands, or one less."""
        self._lefts[left] = self._lefts.get(left, 0) + change
        self._lefts[right] = self._lefts.get(right, 0) - change
        times = self._times.pop(pair, int(pair in self._last)) + change
        if times > 1:
            self._times[pair] = times
        if change > 0:
            self.answered += 1
            self._last.pop(pair, None)
            self._last[pair] = self.answered
        elif times == 0:
            self._last.pop(pair, None)

    def lean(self, one: int, other: int) -> int:
        """Above 0 where this rater saw the one on the left more often than the other, below where less often."""
        return self._lefts.get(one, 0) - self._lefts.get(other, 0)

    def not_again(self, repeat_pairs: str | float) -> Ints:
        """Pairs, as numbers, that may not be asked again yet."""
        if not isinstance(repeat_pairs, int):  # never; or a share of repeats, which are asked for themselves
            return np.fromiter(self._last, np.int64, len(self._last)) if self._last else NONE
        recent = islice(reversed(self._last.items()), repeat_pairs)
        return np.array([pair for pair, when in recent if when > self.answered - repeat_pairs], np.int64)

    def to_check(self) -> Ints:
        """Pairs, as numbers, whose answer the rater may have forgotten; not those that were skipped."""
        until = self.answered - min(_FRESH, self.answered // 2)
        return np.array([p for p, when in self._last.items() if when <= until and p not in self._skipped], np.int64)


class Histories:
    """Those of the raters who came last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, History] = OrderedDict()
        self._room = 0
        self._revision = 0

    def of(self, tx: Transaction, arms: KnownArms, rater: str) -> History:
        """What this rater has answered, as this transaction sees it."""
        if tx.counters.counting_revision != self._revision:  # somebody may have another name now
            self.forget()
            self._revision = tx.counters.counting_revision
        history = self._known.pop(rater, None)
        self._room -= history.room if history is not None else 0
        history = history or History()
        history.follow(tx, arms, rater)
        self._known[rater] = history
        self._room += history.room
        while self._room > _KEPT and len(self._known) > 1:
            self._room -= self._known.popitem(last=False)[1].room
        return history

    def forget(self) -> None:
        """Drop everything; it is found again."""
        self._known.clear()
        self._room = 0


class Sides:
    """How much more often each arm was shown on the left than on the right, in all duels."""

    def __init__(self) -> None:
        self._lefts = NONE
        self._until = 0

    def follow(self, tx: Transaction, arms: KnownArms) -> None:
        """Take in what is new."""
        if tx.counters.n_duels == self._until:
            return
        left, right = (arms.owners(rows) for rows in tx.sides_since(self._until).T)
        lefts = np.bincount(left, minlength=len(arms)) - np.bincount(right, minlength=len(arms))
        lefts[: len(self._lefts)] += self._lefts
        self._lefts, self._until = lefts, tx.counters.n_duels

    def note(self, number: int, left: int, right: int) -> None:
        """Take in a duel that this process is asking, which then need not be read; after an error all is forgotten."""
        if number == self._until + 1 and max(left, right) < len(self._lefts):
            self._lefts[left] += 1
            self._lefts[right] -= 1
            self._until = number

    def lean(self, one: int, other: int) -> int:
        """Above 0 where the one was on the left more often than the other, below where less often."""
        return self._of(one) - self._of(other)

    def _of(self, arm: int) -> int:
        return int(self._lefts[arm]) if arm < len(self._lefts) else 0  # an arm that is new has been on no side

    def forget(self) -> None:
        """Drop everything; the next `follow` finds it again."""
        self._lefts, self._until = NONE, 0
