"""What raters have voted on, and on which sides arms were shown, as a process caches it from the log.

Everything here is a function of the log: two processes that have read the same rows hold the same values.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import Final

import numpy as np

from duelist.core.arrays import Ints
from duelist.study.asking.pairs import NONE, code
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import Outcome
from duelist.study.storage import RaterVote, Transaction

_MAX_VOTES: Final = 200_000
"""Votes that a process caches, about 40 MB; the raters who asked longest ago are dropped and read again when they return."""
_RATER_SIZE: Final = 8
"""The size of a rater without votes, in votes."""
_RECENT: Final = 10
"""The least number of other duels before a repeat, so that the rater is unlikely to remember their vote."""


class RaterHistory:
    """The pairs that a rater has voted on, in the order of their last votes."""

    def __init__(self) -> None:
        self.n_voted = 0
        """Duels that this rater has voted on, undone votes included."""
        self._sequence = 0
        self._last: dict[int, int] = {}
        """The position of the last vote on each pair among the rater's votes."""
        self._current_votes: dict[int, int] = {}
        """Current votes per duel: one, or one per criterion."""
        self._undone: set[int] = set()
        self._skipped: set[int] = set()
        self._repeats: dict[int, int] = {}
        """Duels with current votes per pair, where there is more than one."""
        self._left_counts: dict[int, int] = {}
        """Times on the left minus times on the right, per arm."""

    @property
    def size(self) -> int:
        """The memory this takes, in votes."""
        return _RATER_SIZE + len(self._current_votes)

    def refresh(self, tx: Transaction, arms: ArmCatalog, rater: str) -> None:
        """Read new rows of the log."""
        if tx.counters.n_votes == self._sequence:
            return
        for row in tx.votes_of(rater, self._sequence):
            self._add(row, arms)
        self._sequence = tx.counters.n_votes

    def _add(self, row: RaterVote, arms: ArmCatalog) -> None:
        if row.outcome is None:
            self._undone.add(row.sequence)
            change = -1
        else:
            change = int(row.revises is None or row.revises in self._undone)
            self._undone.discard(row.revises or 0)
        before = self._current_votes.get(row.duel, 0)
        self._current_votes[row.duel] = before + change
        left, right = arms.number_at(row.first_row), arms.number_at(row.second_row)
        pair = code(left, right)
        if before == 0 and change > 0:
            self._count(pair, left, right, 1)
        elif before == 1 and change < 0:
            self._count(pair, left, right, -1)
        if row.outcome is not None:
            (self._skipped.add if row.outcome is Outcome.SKIP else self._skipped.discard)(pair)

    def _count(self, pair: int, left: int, right: int, change: int) -> None:
        """Add a duel with a current vote on this pair, or remove one."""
        self._left_counts[left] = self._left_counts.get(left, 0) + change
        self._left_counts[right] = self._left_counts.get(right, 0) - change
        times = self._repeats.pop(pair, int(pair in self._last)) + change
        if times > 1:
            self._repeats[pair] = times
        if change > 0:
            self.n_voted += 1
            self._last.pop(pair, None)
            self._last[pair] = self.n_voted
        elif times == 0:
            self._last.pop(pair, None)

    def lean(self, one: int, other: int) -> int:
        """Return a positive number if this rater saw `one` more often on the left than `other`, negative if less often."""
        return self._left_counts.get(one, 0) - self._left_counts.get(other, 0)

    def not_to_repeat(self, repeat_pairs: str | float) -> Ints:
        """Return the codes of pairs that may not be asked again yet."""
        if not isinstance(repeat_pairs, int):  # never; or a share of duels, which are chosen separately
            return np.fromiter(self._last, np.int64, len(self._last)) if self._last else NONE
        recent = islice(reversed(self._last.items()), repeat_pairs)
        return np.array([pair for pair, when in recent if when > self.n_voted - repeat_pairs], np.int64)

    def repeatable(self) -> Ints:
        """Return the codes of pairs, skipped ones excepted, whose vote the rater may have forgotten."""
        until = self.n_voted - min(_RECENT, self.n_voted // 2)
        return np.array([p for p, when in self._last.items() if when <= until and p not in self._skipped], np.int64)


class RaterHistories:
    """Histories of the raters who asked most recently."""

    def __init__(self) -> None:
        self._histories: OrderedDict[str, RaterHistory] = OrderedDict()
        self._size = 0
        self._revision = 0

    def get(self, tx: Transaction, arms: ArmCatalog, rater: str) -> RaterHistory:
        """Return the history of a rater, as this transaction sees it."""
        if tx.counters.counting_revision != self._revision:  # a rater may have been renamed
            self.clear()
            self._revision = tx.counters.counting_revision
        history = self._histories.pop(rater, None)
        self._size -= history.size if history is not None else 0
        history = history or RaterHistory()
        history.refresh(tx, arms, rater)
        self._histories[rater] = history
        self._size += history.size
        while self._size > _MAX_VOTES and len(self._histories) > 1:
            self._size -= self._histories.popitem(last=False)[1].size
        return history

    def clear(self) -> None:
        """Drop all histories; they are read again when needed."""
        self._histories.clear()
        self._size = 0


class SideBalance:
    """Counts, over all duels, how often each arm was shown, and how much more often on the left than on the right."""

    def __init__(self) -> None:
        self._left_counts = NONE
        self._counts = NONE
        self._n_duels = 0

    def refresh(self, tx: Transaction, arms: ArmCatalog) -> None:
        """Read new duels."""
        if tx.counters.n_duels == self._n_duels:
            return
        left, right = (arms.numbers_at(rows) for rows in tx.sides_since(self._n_duels).T)
        on_left, on_right = (np.bincount(side, minlength=len(arms)) for side in (left, right))
        lead, counts = on_left - on_right, on_left + on_right
        lead[: len(self._left_counts)] += self._left_counts
        counts[: len(self._counts)] += self._counts
        self._left_counts, self._counts, self._n_duels = lead, counts, tx.counters.n_duels

    def add(self, number: int, left: int, right: int) -> None:
        """Add the duel that this process asks, which saves reading it; `clear` undoes this after an error."""
        if number == self._n_duels + 1 and max(left, right) < len(self._left_counts):
            self._left_counts[left] += 1
            self._left_counts[right] -= 1
            self._counts[[left, right]] += 1
            self._n_duels = number

    def times_shown(self, n_arms: int) -> Ints:
        """Return the number of duels of each arm."""
        return np.pad(self._counts, (0, n_arms - len(self._counts)))

    def lean(self, one: int, other: int) -> int:
        """Return a positive number if `one` was on the left more often than `other`, negative if less often."""
        return self._count(one) - self._count(other)

    def _count(self, arm: int) -> int:
        return int(self._left_counts[arm]) if arm < len(self._left_counts) else 0  # new arms have no count yet

    def clear(self) -> None:
        """Drop the counts; the next `refresh` reads them again."""
        self._left_counts, self._counts, self._n_duels = NONE, NONE, 0
