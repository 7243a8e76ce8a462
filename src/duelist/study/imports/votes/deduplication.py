"""Find out which votes of a file are already in the log.

A vote is identified by its two items, outcome, rater, context, criterion and time. As many votes of a file as the log
has with the same identity are duplicates; the others are new. So votes that repeat within a file all count.

A vote without a time is identified by its place in the file. If the votes without times of a file begin, in order, with
all those that one earlier import appended, these are duplicates; if they continue with all those of a later import,
these too. So a file that has grown adds its new votes, and another file counts even if it says the same.

Rows of duelist's own format may revise earlier ones. Together they are one vote, which is a duplicate if its last row
is in the log; if only an earlier row is, the vote in the log is revised. A number refers to the nearest row above that
has it and is about the same pair and rater, so that concatenated files do not affect each other. Rows that agree in
everything, number and time included, are one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, NamedTuple

from duelist.study.formats import Comparison
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import Outcome
from duelist.study.storage import DuelRow, Transaction, VoteRow
from duelist.study.storage.encoding import to_microseconds

CHUNK: Final = 4096
_MAX_KEPT: Final = 200_000
"""Rows without texts that are kept in memory, about 100 MB."""
Fingerprint = bytes


def vote_fingerprint(
    first: str,
    second: str,
    outcome: Outcome | None,
    rater: str | None,
    context: str | None,
    criterion: str | None,
    voted_at: int | None,
) -> Fingerprint:
    """Return sixteen bytes that are equal for votes with the same identity."""
    identity = (first, second, None if outcome is None else outcome.value, rater, context, criterion, voted_at)
    return blake2b(repr(identity).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def row_fingerprint(row: Comparison) -> Fingerprint:
    """Return the fingerprint of a row of a file."""
    time = None if row.voted_at is None else to_microseconds(row.voted_at)
    return vote_fingerprint(row.first, row.second, row.outcome, row.rater, row.context, row.criterion, time)


# -- the file ----------------------------------------------------------------------------


class ScannedRow(NamedTuple):
    """The identity of a row of a file."""

    fingerprint: Fingerprint
    has_time: bool
    is_undone: bool
    subject: int
    """Equal for rows about the same pair and rater."""


@dataclass
class FileScan:
    """The identities of the votes of a file, in one pass."""

    rows: list[ScannedRow] = field(default_factory=list)
    votes: dict[int, list[int]] = field(default_factory=dict)
    """The rows of each vote, by the first of them; the last one is valid."""
    revisions: dict[int, Comparison] = field(default_factory=dict)
    """The last row of each vote that was revised, by its first row, without texts."""
    repeated_rows: int = 0
    kept: list[Comparison] | None = field(default_factory=list)
    """The rows themselves, so that they are not read again; None if they are many or have texts."""

    def __post_init__(self) -> None:
        self._row_of_sequence: dict[int, int] = {}
        self._root_of_row: dict[int, int] = {}
        self._numbered: set[tuple[int, int | None, Fingerprint]] = set()

    def add(self, row: Comparison) -> None:
        """Add the next row of the file."""
        here = len(self.rows)
        subject = hash((row.first, row.second, row.rater))
        scanned = ScannedRow(row_fingerprint(row), row.voted_at is not None, row.outcome is None, subject)
        self.rows.append(scanned)
        self._keep(row)
        if self._is_repeated(row, scanned):
            self.repeated_rows += 1
            return
        root = here if row.revises is None else self._find_root(row.revises, scanned, here)
        self.votes.setdefault(root, []).append(here)
        if root != here:
            self._root_of_row[here] = root
            self.revisions[root] = replace(row, prompt=None, payload_first=None, payload_second=None, extra={})
        if row.sequence is not None:
            self._row_of_sequence[row.sequence] = here

    def _keep(self, row: Comparison) -> None:
        if self.kept is None:
            return
        self.kept.append(row)
        has_texts = row.prompt is not None or row.payload_first is not None or row.payload_second is not None
        if len(self.kept) > _MAX_KEPT or has_texts or row.extra:
            self.kept = None

    def _is_repeated(self, row: Comparison, scanned: ScannedRow) -> bool:
        if row.sequence is None or not scanned.has_time:
            return False
        key = (row.sequence, row.duel_id, scanned.fingerprint)
        if key in self._numbered:
            return True
        self._numbered.add(key)
        return False

    def _find_root(self, sequence: int, scanned: ScannedRow, here: int) -> int:
        revised = self._row_of_sequence.get(sequence)
        if revised is None or self.rows[revised].subject != scanned.subject:
            return here  # the file does not have what it revises, so it is a separate vote
        return self._root_of_row.get(revised, revised)


# -- the log -----------------------------------------------------------------------------


@dataclass
class LogIndex:
    """The identities of the votes of a log, updated by reading its new rows."""

    sequence: int = 0
    """The last row that was read."""
    timed: dict[Fingerprint, list[int]] = field(default_factory=dict)
    """The rows that have a time, by fingerprint."""
    roots: dict[int, int] = field(default_factory=dict)
    """The first row of the vote that a row revises."""
    latest: dict[int, tuple[int, Outcome | None]] = field(default_factory=dict)
    """The last row of each vote that was revised, by its first row."""
    untimed: dict[int, list[Fingerprint]] = field(default_factory=dict)
    """The votes without times that each import appended."""

    def update(self, tx: Transaction, arms: ArmCatalog) -> None:
        """Read the new rows of the log."""
        for vote, duel in read_log(tx, self.sequence, tx.counters.n_votes):
            self._add(vote, duel, arms)
        self.sequence = tx.counters.n_votes

    def _add(self, vote: VoteRow, duel: DuelRow, arms: ArmCatalog) -> None:
        if vote.revises is not None:
            self.roots[vote.sequence] = vote.root
            self.latest[vote.root] = (vote.sequence, vote.outcome)
        if vote.outcome is None:
            return
        first, second = (arms.id_of(arms.number_at(row)) for row in (duel.first_row, duel.second_row))
        identity = (first, second, vote.outcome, vote.rater, duel.context, vote.criterion)
        if vote.voted_at is not None:
            self.timed.setdefault(vote_fingerprint(*identity, vote.voted_at), []).append(vote.sequence)
        else:
            self.untimed.setdefault(vote.batch or 0, []).append(vote_fingerprint(*identity, None))

    def is_current(self, tx: Transaction, arms: ArmCatalog, scan: FileScan) -> bool:
        """Read new rows of the log, and return whether the same votes are new."""
        before = self.sequence, len(self.untimed), len(self.latest)
        self.update(tx, arms)
        sequence, *counts = before
        if self.sequence == sequence:
            return True
        met = any(self.timed[row.fingerprint][-1] > sequence for row in scan.rows if row.fingerprint in self.timed)
        return not met and [len(self.untimed), len(self.latest)] == counts


def read_log(tx: Transaction, after: int, until: int) -> Iterable[tuple[VoteRow, DuelRow]]:
    """Yield the rows of the log with their duels, with one chunk in memory at a time."""
    for start in range(after, until, CHUNK):
        votes = tx.votes_between(start, min(start + CHUNK, until))
        duels: dict[int, DuelRow] = {}
        for low, high in ranges(vote.duel for vote in votes):
            duels.update((duel.number, duel) for duel in tx.duels_between(low - 1, high))
        for vote in votes:
            yield vote, duels[vote.duel]


def ranges(numbers: Iterable[int], gap: int = CHUNK) -> list[tuple[int, int]]:
    """Return few ranges that cover the numbers, without wide gaps.

    >>> ranges([1, 2, 9000, 9002])
    [(1, 2), (9000, 9002)]
    """
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number - found[-1][1] < gap:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


# -- new votes -------------------------------------------------------------------------


@dataclass
class LogUpdate:
    """What a file adds to a log."""

    new: set[int] = field(default_factory=set)
    """First rows of votes that the log does not have."""
    revised: dict[int, int] = field(default_factory=dict)
    """First rows of votes that the log has with another outcome, and the row of the log that each revises."""
    duplicates: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def add_new(self, scan: FileScan, root: int, rows: list[int]) -> None:
        """Count a vote as new, unless it was undone."""
        if scan.rows[rows[-1]].is_undone:
            self.skipped["undone"] += 1
            return
        self.new.add(root)
        if len(rows) > 1:
            self.skipped["revised"] += len(rows) - 1


def add_all(scan: FileScan) -> LogUpdate:
    """Return the update that adds every vote of the file, whatever is in the log."""
    update = LogUpdate(duplicates=scan.repeated_rows)
    for root, rows in scan.votes.items():
        update.add_new(scan, root, rows)
    return update


def add_new(scan: FileScan, log: LogIndex) -> LogUpdate:
    """Return the update that adds the votes that the log does not have."""
    update = LogUpdate(duplicates=scan.repeated_rows)
    unmatched = {fingerprint: list(reversed(rows)) for fingerprint, rows in log.timed.items()}
    untimed = {root: rows for root, rows in scan.votes.items() if not any(scan.rows[row].has_time for row in rows)}
    valid = [scan.rows[rows[-1]] for rows in untimed.values()]
    known = _count_known_untimed([row.fingerprint for row in valid if not row.is_undone], log.untimed.values())
    for root, rows in untimed.items():
        if not scan.rows[rows[-1]].is_undone and known > 0:
            known -= 1
            update.duplicates += 1
        else:
            update.add_new(scan, root, rows)
    for root, rows in scan.votes.items():
        if root in untimed:
            continue
        if unmatched:
            _match(scan, log, update, unmatched, root, rows)
        else:
            update.add_new(scan, root, rows)
    return update


def _count_known_untimed(fingerprints: list[Fingerprint], imports: Iterable[list[Fingerprint]]) -> int:
    """Return how many of a file's votes without times earlier imports have appended."""
    start = 0
    for earlier in imports:
        if fingerprints[start : start + len(earlier)] == earlier:
            start += len(earlier)
    return start


def _match(
    scan: FileScan,
    log: LogIndex,
    update: LogUpdate,
    unmatched: dict[Fingerprint, list[int]],
    root: int,
    rows: list[int],
) -> None:
    """Add one vote that has a time, as a duplicate, a revision, or as new."""
    matches = [_pop_match(unmatched, scan.rows[row]) for row in rows]
    if matches[-1] is not None:
        update.duplicates += 1
        return
    in_log = next((row for row in reversed(matches) if row is not None), None)
    if in_log is None:
        update.add_new(scan, root, rows)
        return
    original = log.roots.get(in_log, in_log)
    newest, outcome = log.latest.get(original, (in_log, Outcome.SKIP))
    if outcome is None and scan.rows[rows[-1]].is_undone:
        update.duplicates += 1
    else:
        update.revised[root] = newest


def _pop_match(unmatched: dict[Fingerprint, list[int]], row: ScannedRow) -> int | None:
    """Return a row of the log with this fingerprint, which then matches no other."""
    if row.is_undone or not row.has_time:
        return None
    rows = unmatched.get(row.fingerprint)
    return rows.pop() if rows else None
