"""Raters of a study, as its owner describes, blocks, reinstates and erases them. Every change may be repeated.

Which votes count is stored with the log, so that the policy is the same function of it on every machine: excluding a rater sets a flag
that the replay of the log obeys, and drops the snapshots from after the rater's first vote.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.core.tables import RecordList
from duelist.study.base import StudyBase
from duelist.study.participation.places import release_all
from duelist.study.participation.state import Participation
from duelist.study.records import Rater
from duelist.study.storage import RaterRow, Transaction
from duelist.study.storage.encoding import from_microseconds
from duelist.study.validation import checked_json, checked_rater, checked_text


@dataclass(frozen=True, slots=True)
class Erasure:
    """The result of erasing a rater: their pseudonym, None if there is no such rater, and the number of their votes."""

    pseudonym: str | None
    votes: int


class _PreparedSnapshot(NamedTuple):
    """A snapshot of the policy with these raters excluded, computed before the change that excludes them."""

    counting_revision: int
    excluded: frozenset[str]
    sequence: int
    body: bytes


class RaterAdministration(StudyBase):
    """The part of `Study` that manages raters."""

    def rater(self, name: str) -> Rater:
        """Return the record of a rater; an empty one if nothing is recorded."""
        with self._reading():
            row = self._read_cache.raters.get(checked_rater(name))
            return Rater(name) if row is None else _rater(row)

    def rater_records(self) -> RecordList[Rater]:
        """Return the records of all raters that are described, blocked, excluded or erased."""
        with self._reading():
            return RecordList(Rater, (_rater(row) for row in self._read_cache.raters.values()))

    def has_rater(self, name: str) -> bool:
        """Whether a rater of that name was asked, has voted, or has a record."""
        name = checked_rater(name)
        with self._reading() as tx:
            recorded = name in self._read_cache.raters
            return recorded or bool(tx.leases_of(name)) or tx.first_vote_of(name) is not None

    def describe_rater(self, name: str, /, **attributes: Any) -> Rater:
        """Set attributes of a rater, such as `age=31`; None removes one. Other attributes stay."""
        for attribute, value in attributes.items():
            checked_json(f"Attribute {checked_text('attribute', attribute)}", value)
        with self._changing() as tx:
            before = self._row(name)
            merged = {key: value for key, value in {**before.attributes, **attributes}.items() if value is not None}
            if before.name not in self._write_cache.raters or merged != before.attributes:
                tx.put_rater(before._replace(attributes=merged))
                tx.counters.revision += 1
        return self.rater(name)

    def block(self, rater: str, exclude_votes: bool = False) -> Rater:
        """Stop asking a rater and accept no more votes from them; with `exclude_votes`, also exclude the votes that they have given.

        Their pending duels are released. Excluded votes stay in the log, but
        the policy does not learn from them, and results include them only with
        `everyone=True`. `reinstate` undoes all of it: the policy is then bit
        for bit what it would be if they had never been blocked.
        """
        self._block(checked_rater(rater), exclude_votes)
        return self.rater(rater)

    def _block(self, rater: str, exclude_votes: bool, rule: str | None = None) -> None:
        """Block a rater in one transaction; a rule blocks only those whom nobody has blocked or reinstated meanwhile."""
        prepared = self._prepare(rater, excluded=exclude_votes)
        with self._changing() as tx:
            before = self._row(rater)
            state = Participation.of(before)
            if rule is not None:
                if before.blocked or state.is_exempt:
                    return
                before = before._replace(participation=replace(state, excluded_by=rule).to_json())
            at = self._now() if before.blocked_at is None else before.blocked_at
            self._put(tx, before._replace(blocked=True, excluded=exclude_votes, blocked_at=at), prepared)
            release_all(tx, rater)

    def reinstate(self, rater: str) -> Rater:
        """Undo `block`: ask a rater again, accept their votes, and count excluded ones again."""
        rater = checked_rater(rater)
        prepared = self._prepare(rater, excluded=False)
        with self._changing() as tx:
            row = self._row(rater)
            state = Participation.of(row)
            if state.excluded_by is not None:  # no rule excludes them again
                row = row._replace(participation=replace(state, excluded_by=None, is_exempt=True).to_json())
            self._put(tx, row._replace(blocked=False, excluded=False, blocked_at=None), prepared)
        return self.rater(rater)

    def erase_rater(self, name: str) -> Erasure:
        """Replace a rater's name with a pseudonym, and delete their attributes, URL parameters and reasons; their votes stay.

        This cannot be undone. Earlier archives, exports and backups still
        contain the name; make new ones.
        """
        name = checked_rater(name)
        with self._changing() as tx:
            row = self._write_cache.raters.get(name)
            if row is None and not tx.leases_of(name) and tx.first_vote_of(name) is None:
                return Erasure(None, 0)
            if row is not None and row.erased:
                return Erasure(name, _count_votes(tx, name))
            if tx.staged():
                raise InvalidInput(
                    f"An import that may name {name!r} is still moving into the log.",
                    "Erase the rater when it has finished.",
                )
            release_all(tx, name)
            pseudonym = self._new_pseudonym(tx)
            tx.erase_rater(name, pseudonym)
            tx.put_rater(self._row(name)._replace(name=pseudonym, attributes={}, erased=True, participation=None))
            tx.counters.revision += 1
            tx.counters.counting_revision += 1  # other processes drop their copies of the log
            erasure = Erasure(pseudonym, _count_votes(tx, pseudonym))
        self._storage.scrub()
        return erasure

    def _new_pseudonym(self, tx: Transaction) -> str:
        raters = self._write_cache.raters
        number = 1 + sum(row.erased for row in raters.values())
        while tx.leases_of(name := f"erased {number}") or tx.first_vote_of(name) or name in raters:
            number += 1
        return name

    def _row(self, name: str) -> RaterRow:
        row = self._write_cache.raters.get(checked_rater(name))
        return RaterRow(name, {}, False, False, False, None, self._now()) if row is None else row

    def _prepare(self, rater: str, excluded: bool) -> _PreparedSnapshot | None:
        """Replay the log before the change, so that no other call waits for it; return None if the same votes count as before."""
        with self._reading() as tx:
            cache = self._read_cache
            before = frozenset(row.name for row in cache.raters.values() if row.excluded)
            after = before | {checked_rater(rater)} if excluded else before - {rater}
            first = tx.first_vote_of(rater) if after != before else None
            body = None if first is None else cache.replay.snapshot_excluding(tx, cache.arms, after, first)
            return (
                None
                if body is None
                else _PreparedSnapshot(tx.counters.counting_revision, after, tx.counters.n_votes, body)
            )

    def _put(self, tx: Transaction, row: RaterRow, prepared: _PreparedSnapshot | None) -> None:
        """Write a rater's record; if other votes count now, drop the snapshots that learned the rater's first vote."""
        before = self._row(row.name)
        if row == before:
            return
        tx.put_rater(row)
        tx.counters.revision += 1
        if row.excluded == before.excluded:
            return
        tx.counters.counting_revision += 1
        first = tx.first_vote_of(row.name)
        outdated = [] if first is None else [s for s in tx.snapshot_sequences() if s >= first]
        tx.drop_snapshots(outdated)
        if prepared is not None and _is_valid(tx, prepared, first):
            tx.put_snapshot(prepared.sequence, prepared.body)
            outdated = outdated if prepared.sequence < tx.counters.n_votes else []
        cache = self._write_cache
        cache.replay.store_snapshot(tx, cache.arms, tx.counters.n_votes, force=bool(outdated))


def _is_valid(tx: Transaction, prepared: _PreparedSnapshot, first: int | None) -> bool:
    """Return whether a replay would still give the prepared snapshot: its votes and raters have not changed since."""
    excluded = frozenset(rater.name for rater in tx.raters() if rater.excluded)
    unchanged = prepared.counting_revision == tx.counters.counting_revision - 1 and prepared.excluded == excluded
    newer = tx.training_votes_since(prepared.sequence, include_excluded=True)
    revised = any(vote.root <= prepared.sequence for vote in newer)
    return unchanged and not revised and first is not None and first <= prepared.sequence


def _rater(row: RaterRow) -> Rater:
    state = Participation.from_json(row.participation)
    return Rater(
        row.name,
        row.attributes,
        row.blocked,
        row.excluded,
        row.erased,
        parameters=state.parameters,
        entered_at=None if state.entered_at is None else from_microseconds(state.entered_at),
        ending=state.ending,
        consented_at=None if state.consented_at is None else from_microseconds(state.consented_at),
        consent_version=state.consent_version,
        excluded_by=state.excluded_by,
    )


def _count_votes(tx: Transaction, rater: str) -> int:
    """Count a rater's votes; a revised or undone one counts once."""
    return len({row.root for row in tx.votes_since(0) if row.rater == rater})
