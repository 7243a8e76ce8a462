"""Which votes of a file are in the log already: the identity of a vote, defined once.

A vote is known by its two sides, its outcome, rater, context and criterion, and by its time. As many of a file as the log
has of the same are in it already; the others are new: what repeats within a file is meant.

A vote without a time has no identity of its own, only a place in a file. Of the votes without times those are in the log
already with which an earlier import is repeated: if they begin, in order, with all that one import brought, these are known,
and if they go on with all that a later one brought, these too. So a file that has grown brings what is new, and a file of its
own counts, though it may say what another one said.

Rows of our own format may revise others. They are one vote, which is in the log already if its last row is; if only an earlier
one is, the log's vote is revised. A number means the nearest row above that has it and is on the same pair by the same rater,
so that files that were joined do not touch each other; rows that agree in everything, number and time included, are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, NamedTuple

from duelist.study.formats import Comparison
from duelist.study.items.catalog import KnownArms
from duelist.study.records import Outcome
from duelist.study.storage import DuelRow, Transaction, VoteRow
from duelist.study.times import microseconds

CHUNK: Final = 4096
Mark = bytes


def mark(
    first: str,
    second: str,
    outcome: Outcome | None,
    rater: str | None,
    context: str | None,
    criterion: str | None,
    voted_at: int | None,
) -> Mark:
    """Sixteen bytes that are the same for votes that are the same."""
    said = (first, second, None if outcome is None else outcome.value, rater, context, criterion, voted_at)
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def mark_of(row: Comparison) -> Mark:
    """The mark of a row of a file."""
    time = None if row.voted_at is None else microseconds(row.voted_at)
    return mark(row.first, row.second, row.outcome, row.rater, row.context, row.criterion, time)


# -- the file ----------------------------------------------------------------------------


class FileRow(NamedTuple):
    """What is remembered of a row of a file."""

    mark: Mark
    timed: bool
    undone: bool
    about: int
    """Equal for rows on the same pair by the same rater."""


@dataclass
class Scan:
    """A file that was gone through once."""

    rows: list[FileRow] = field(default_factory=list)
    chains: dict[int, list[int]] = field(default_factory=dict)
    """The rows of each vote by the first of them; the last says what stands."""
    last: dict[int, Comparison] = field(default_factory=dict)
    """Of votes that were revised, the last row without its texts."""
    repeated: int = 0
    """Rows that are there twice."""

    def take(self, row: Comparison) -> None:
        """One more row."""
        here = len(self.rows)
        this = FileRow(
            mark_of(row), row.voted_at is not None, row.outcome is None, hash((row.first, row.second, row.rater))
        )
        self.rows.append(this)
        if self._is_repeated(row, this):
            self.repeated += 1
            return
        root = here if row.revises is None else self._root_of(row.revises, this, here)
        self.chains.setdefault(root, []).append(here)
        if root != here:
            self._roots[here] = root
            self.last[root] = replace(row, prompt=None, payload_first=None, payload_second=None, extra={})
        if row.sequence is not None:
            self._places[row.sequence] = here

    def __post_init__(self) -> None:
        self._places: dict[int, int] = {}
        self._roots: dict[int, int] = {}
        self._numbered: set[tuple[int, int | None, Mark]] = set()

    def _is_repeated(self, row: Comparison, this: FileRow) -> bool:
        if row.sequence is None or not this.timed:
            return False
        key = (row.sequence, row.duel_id, this.mark)
        if key in self._numbered:
            return True
        self._numbered.add(key)
        return False

    def _root_of(self, number: int, this: FileRow, here: int) -> int:
        place = self._places.get(number)
        if place is None or self.rows[place].about != this.about:
            return here  # what it revises is not in the file: it stands for itself
        return self._roots.get(place, place)


# -- the log -----------------------------------------------------------------------------


@dataclass
class Logged:
    """The marks of a log, brought up to date by the rows that are new in it."""

    sequence: int = 0
    marks: dict[Mark, list[int]] = field(default_factory=dict)
    """The rows of the log with a time, by mark."""
    roots: dict[int, int] = field(default_factory=dict)
    """The first row of the vote that a row revises, for rows that revise one."""
    latest: dict[int, tuple[int, Outcome | None]] = field(default_factory=dict)
    """The last row of each vote that was revised, by its first row."""
    batches: dict[int, list[Mark]] = field(default_factory=dict)
    """What each import brought without times."""

    def follow(self, tx: Transaction, arms: KnownArms) -> None:
        """Take in the rows of the log that are new."""
        for vote, duel in log_between(tx, self.sequence, tx.counters.n_votes):
            self._take(vote, duel, arms)
        self.sequence = tx.counters.n_votes

    def _take(self, vote: VoteRow, duel: DuelRow, arms: KnownArms) -> None:
        if vote.revises is not None:
            self.roots[vote.sequence] = vote.root
            self.latest[vote.root] = (vote.sequence, vote.outcome)
        if vote.outcome is None:
            return
        first, second = (arms.id_of(arms.owner(row)) for row in (duel.first_row, duel.second_row))
        said = (first, second, vote.outcome, vote.rater, duel.context, vote.criterion)
        if vote.voted_at is not None:
            self.marks.setdefault(mark(*said, vote.voted_at), []).append(vote.sequence)
        else:
            self.batches.setdefault(vote.batch or 0, []).append(mark(*said, None))


def log_between(tx: Transaction, after: int, until: int) -> Iterable[tuple[VoteRow, DuelRow]]:
    """Rows of the log with their duels, a chunk in memory at a time."""
    for start in range(after, until, CHUNK):
        votes = tx.votes_between(start, min(start + CHUNK, until))
        duels: dict[int, DuelRow] = {}
        for low, high in stretches(vote.duel for vote in votes):
            duels.update((duel.number, duel) for duel in tx.duels_between(low - 1, high))
        for vote in votes:
            yield vote, duels[vote.duel]


def stretches(numbers: Iterable[int], gap: int = CHUNK) -> list[tuple[int, int]]:
    """The numbers as few stretches without wide gaps, so that little between them is read.

    >>> stretches([1, 2, 9000, 9002])
    [(1, 2), (9000, 9002)]
    """
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number - found[-1][1] < gap:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


# -- what is new -------------------------------------------------------------------------


@dataclass
class Plan:
    """What is to be done with the votes of a file."""

    new: set[int] = field(default_factory=set)
    """First rows of votes that the log does not have."""
    revised: dict[int, int] = field(default_factory=dict)
    """First rows of votes that the log has with another outcome, and the row of the log that they revise."""
    known: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def everything(scan: Scan) -> Plan:
    """The plan that counts every vote, whatever is in the log."""
    plan = Plan(known=scan.repeated)
    for root, chain in scan.chains.items():
        _count_new(scan, plan, root, chain)
    return plan


def unseen(scan: Scan, log: Logged) -> Plan:
    """The plan that counts what the log does not have."""
    plan = Plan(known=scan.repeated)
    free = {each: list(reversed(rows)) for each, rows in log.marks.items()}
    untimed = [
        (root, chain) for root, chain in scan.chains.items() if not any(scan.rows[place].timed for place in chain)
    ]
    standing = [scan.rows[chain[-1]].mark for _, chain in untimed if not scan.rows[chain[-1]].undone]
    repeated = _repeated(standing, log.batches.values())
    for root, chain in untimed:
        if not scan.rows[chain[-1]].undone and repeated > 0:
            repeated -= 1
            plan.known += 1
        else:
            _count_new(scan, plan, root, chain)
    without_times = {root for root, _ in untimed}
    for root, chain in scan.chains.items():
        if root not in without_times:
            _compare(scan, log, plan, free, root, chain)
    return plan


def _repeated(marks: list[Mark], batches: Iterable[list[Mark]]) -> int:
    """How many of a file's votes without times earlier imports brought."""
    start = 0
    for batch in batches:
        if marks[start : start + len(batch)] == batch:
            start += len(batch)
    return start


def _compare(scan: Scan, log: Logged, plan: Plan, free: dict[Mark, list[int]], root: int, chain: list[int]) -> None:
    """One vote with a time: in the log, in it with another outcome, or new."""
    matched = [_taken(free, scan.rows[place]) for place in chain]
    if matched[-1] is not None:
        plan.known += 1
        return
    there = next((row for row in reversed(matched) if row is not None), None)
    if there is None:
        _count_new(scan, plan, root, chain)
        return
    original = log.roots.get(there, there)
    newest, outcome = log.latest.get(original, (there, Outcome.SKIP))
    if outcome is None and scan.rows[chain[-1]].undone:
        plan.known += 1  # undone there too
    else:
        plan.revised[root] = newest


def _taken(free: dict[Mark, list[int]], row: FileRow) -> int | None:
    """A row of the log with this mark, which then is no other's."""
    if row.undone or not row.timed:
        return None
    rows = free.get(row.mark)
    return rows.pop() if rows else None


def _count_new(scan: Scan, plan: Plan, root: int, chain: list[int]) -> None:
    if scan.rows[chain[-1]].undone:
        plan.left_out["undone"] += 1
        return
    plan.new.add(root)
    if len(chain) > 1:
        plan.left_out["revised"] += len(chain) - 1
