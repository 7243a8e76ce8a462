"""The log of a study in memory, as columns that are extended by new rows.

No lock that asking or voting needs is held for longer than it takes to read a chunk of rows. That is safe because the
log is append-only: chunks read one after the other, each in a short transaction, form a prefix of the log, and every
prefix was once the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.study.analysis import CHOSEN_CODES, CODES, KIND_CODES, NO_TIME, VoteTable
from duelist.study.errors import damaged
from duelist.study.items.catalog import ArmCatalog
from duelist.study.participation.state import Participation
from duelist.study.storage import DuelColumns, Transaction, VoteColumns

CHUNK: Final = 8192
"""Rows per transaction: about 20 ms."""
_DUEL_TYPES: Final[dict[str, Any]] = {
    "first_row": np.int32,
    "second_row": np.int32,
    "context": np.int32,
    "chosen_by": np.int8,
    "propensity": np.float64,
    "kind": np.int8,
    "expected": np.int8,
}
_VOTE_TYPES: Final[dict[str, Any]] = {
    "first": np.int32,
    "second": np.int32,
    "outcome": np.int8,
    "rater": np.int32,
    "context": np.int32,
    "duel": np.int64,
    "voted_at": np.int64,
    "seconds": np.float64,
    "chosen_by": np.int8,
    "propensity": np.float64,
    "kind": np.int8,
    "expected": np.int8,
    "criterion": np.int16,
}
Reading = Callable[[], AbstractContextManager[Transaction]]


class _Growing:
    """Columns with room to grow. Views handed out never change: rows are appended, and a change copies first."""

    def __init__(self, types: dict[str, Any]) -> None:
        self._types = types
        self._columns = {name: np.empty(0, kind) for name, kind in types.items()}
        self.n = 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.n]

    def append(self, added: int, values: dict[str, NDArray[Any]]) -> None:
        needed = self.n + added
        for name, column in self._columns.items():
            if needed > len(column):
                room = np.empty(max(needed, 2 * len(column), 1024), self._types[name])
                room[: self.n] = column[: self.n]
                self._columns[name] = room
        for name, value in values.items():
            self._columns[name][self.n : needed] = value
        self.n = needed

    def change(self, at: NDArray[np.int64], values: dict[str, NDArray[Any]]) -> None:
        """Replace rows, in order: of several for one position the last wins."""
        for name, value in values.items():
            changed = self._columns[name].copy()
            changed[at] = value
            self._columns[name] = changed


class _Names:
    """Numbers for names, in order of appearance."""

    def __init__(self, *first: str | None) -> None:
        self._number: dict[str | None, int] = {name: k for k, name in enumerate(first)}

    def numbers(self, names: Sequence[str | None]) -> NDArray[np.int64]:
        number = self._number
        if _is_constant(names):
            return np.full(len(names), number.setdefault(names[0], len(number)))
        try:
            return np.fromiter(map(number.__getitem__, names), np.int64, len(names))
        except KeyError:
            for name in dict.fromkeys(names):
                number.setdefault(name, len(number))
            return np.fromiter(map(number.__getitem__, names), np.int64, len(names))

    def number(self, name: str | None) -> int | None:
        return self._number.get(name)

    def __iter__(self) -> Any:
        return iter(self._number)


class VoteLog:
    """Current votes, each at the position of its first row in the log."""

    def __init__(self) -> None:
        self.arms = ArmCatalog()
        self.excluded: frozenset[str] = frozenset()
        self.attributes: dict[str, dict[str, Any]] = {}
        self._forget_votes()
        self._revision = -1, -1
        self._erased: frozenset[str] = frozenset()

    def _forget_votes(self) -> None:
        self._votes, self._duels = _Growing(_VOTE_TYPES), _Growing(_DUEL_TYPES)
        self._raters, self._contexts, self._criteria = _Names(None), _Names(None), _Names(None)
        self._changed = 0
        self._standing: tuple[tuple[int, int], VoteTable, NDArray[Any]] | None = None

    def forget(self) -> None:
        """Drop everything; the next `follow` reads it again."""
        self.__init__()  # type: ignore[misc]

    @property
    def stamp(self) -> tuple[int, ...]:
        """A value that changes whenever an analysis may change."""
        return self._votes.n, self._changed, self.arms.revision, *self._revision

    def follow(self, reading: Reading) -> None:
        """Read the new rows."""
        try:
            while not self._take_some(reading):
                pass
        except BaseException:
            self.forget()
            raise

    def _take_some(self, reading: Reading) -> bool:
        """Read a chunk of new rows; return whether that was all."""
        with reading() as tx:
            self.arms.refresh(tx)
            if (tx.counters.revision, tx.counters.counting_revision) != self._revision:
                self._take_raters(tx)
            duels, votes = self._duels.n, self._votes.n
            if duels < tx.counters.n_duels:
                self._take_duels(tx.duel_columns(duels, duels + CHUNK))
            new = tx.vote_columns(votes, votes + CHUNK) if votes < tx.counters.n_votes else None
            behind = tx.counters.n_duels - self._duels.n, tx.counters.n_votes - votes
        if new is not None and max(new.duel, default=0) <= self._duels.n:
            self._take_votes(new)
        elif new is not None and behind[0] <= 0:
            raise damaged(f"a vote is on duel {max(new.duel)}, after the last of all")
        return behind[0] <= 0 and self._votes.n >= votes + behind[1]

    def _take_raters(self, tx: Transaction) -> None:
        rows = tx.raters()
        erased = frozenset(row.name for row in rows if row.erased)
        if erased != self._erased:
            self._forget_votes()  # rows that were read before have another name now
        self._erased = erased
        self.excluded = frozenset(row.name for row in rows if row.excluded)
        self.attributes = {row.name: {**Participation.of(row).parameters, **row.attributes} for row in rows}
        self._revision = tx.counters.revision, tx.counters.counting_revision

    def _take_duels(self, new: DuelColumns) -> None:
        _check_dense("duel", new.number, self._duels.n)
        values = {
            "first_row": np.array(new.first_row, np.int64),
            "second_row": np.array(new.second_row, np.int64),
            "context": self._contexts.numbers(new.context),
            "chosen_by": _encode(CHOSEN_CODES, new.chosen_by),
            "propensity": _numbers(new.propensity),
            "kind": _encode(KIND_CODES, new.kind),
            "expected": _encode(CODES, new.expected),
        }
        rows = values["first_row"], values["second_row"]
        if len(new.number) and not 0 <= min(map(np.min, rows)) <= max(map(np.max, rows)) < self.arms.n_rows:
            raise damaged(f"a duel is of a row beyond the {self.arms.n_rows} of features")
        self._duels.append(len(new.number), values)

    def _take_votes(self, new: VoteColumns) -> None:
        _check_dense("vote", new.sequence, self._votes.n)
        duel = np.array(new.duel, np.int64)
        root, sequence = np.array(new.root, np.int64), np.array(new.sequence, np.int64)
        at, duels = duel - 1, self._duels
        outcome = _encode(CODES, new.outcome)
        voted_at = np.array([NO_TIME if when is None else when for when in new.voted_at], np.int64)
        nothing: list[str | None] = [None] * len(sequence)
        values: dict[str, NDArray[Any]] = {
            "first": self.arms.numbers_at(duels["first_row"][at]),
            "second": self.arms.numbers_at(duels["second_row"][at]),
            "outcome": np.where(root == sequence, outcome, -1),
            "rater": self._raters.numbers(new.rater) - 1,
            "duel": duel,
            "voted_at": voted_at,
            "seconds": _numbers(new.response_microseconds) / 1e6,
            "criterion": self._criteria.numbers(
                [name or None for name in new.criterion] if any(new.criterion) else nothing
            ),
            **{name: duels[name][at] for name in ("context", "chosen_by", "propensity", "kind", "expected")},
        }
        self._votes.append(len(sequence), values)
        later = np.flatnonzero(root != sequence)
        if len(later):
            # A revision takes the position of the vote that it revises.
            changed = {"outcome": outcome, "voted_at": voted_at, "seconds": values["seconds"]}
            self._votes.change(root[later] - 1, {name: value[later] for name, value in changed.items()})
            self._changed += 1

    # -- reading --------------------------------------------------------------------------

    def standing(self) -> tuple[VoteTable, NDArray[Any]]:
        """Return the current votes, with arms by their numbers in the study, and the criterion of each."""
        key = self._votes.n, self._changed
        if self._standing is None or self._standing[0] != key:
            columns = {name: self._votes[name] for name in _VOTE_TYPES}
            stand = columns["outcome"] >= 0
            if not stand.all():
                columns = {name: column[stand] for name, column in columns.items()}
            criterion = columns.pop("criterion")
            names = tuple(name for name in self._raters if name is not None)
            table = VoteTable(n_arms=len(self.arms), raters=names, covariates=None, **columns)
            self._standing = key, table, criterion
        log = self._standing[1]
        return (
            log if log.n_arms == len(self.arms) else VoteTable(**{**vars(log), "n_arms": len(self.arms)})
        ), self._standing[2]

    def arms_of(self, duels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the two arms of each duel, (duels, 2), in the order shown."""
        rows = np.stack([self._duels[name][duels - 1] for name in ("first_row", "second_row")], axis=1)
        return self.arms.numbers_at(rows)

    def criterion_number(self, criterion: str | None) -> int | None:
        """Return the number of a criterion; None if no vote is on it."""
        return self._criteria.number(criterion)

    def criteria(self) -> list[str]:
        """Return the criteria that votes are on."""
        return [name for name in self._criteria if name is not None]


def _check_dense(what: str, numbers: Sequence[int], before: int) -> None:
    if not np.array_equal(numbers, np.arange(before + 1, before + 1 + len(numbers))):
        raise damaged(f"after {what} {before} some are missing or out of order")


def _is_constant(values: Sequence[Any]) -> bool:
    """Return whether all values are equal, if the first and the last are one object, as in columns that were decoded once."""
    return len(values) > 0 and values[0] is values[-1] and values.count(values[0]) == len(values)


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Return numbers, NaN where there are none."""
    if _is_constant(values):
        return np.full(len(values), np.nan if values[0] is None else values[0])
    return np.array(values, np.float64)


def _encode(codes: Any, values: Sequence[str | None]) -> NDArray[np.int64]:
    try:
        if _is_constant(values):
            return np.full(len(values), codes[values[0]])
        return np.fromiter(map(codes.__getitem__, values), np.int64, len(values))
    except KeyError as error:
        known = ", ".join(str(code) for code in codes)
        raise damaged(f"it holds {error.args[0]!r} where one of {known} should be") from None
