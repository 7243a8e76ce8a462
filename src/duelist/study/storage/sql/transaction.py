"""A transaction of one study on one connection of a database."""

# ruff: noqa: D102 - the contract, `duelist.study.storage.base`, documents the methods

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from duelist.core.errors import StudyExists
from duelist.study.errors import damaged
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage.base import Transaction
from duelist.study.storage.encoding import encode_vectors
from duelist.study.storage.rows import (
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelColumns,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    MediaRow,
    PendingImport,
    RaterRow,
    RaterVote,
    StagedRow,
    StudyRow,
    TrainingVote,
    VoteColumns,
    VoteRow,
)
from duelist.study.storage.sql import columns
from duelist.study.storage.sql import statements as sql
from duelist.study.storage.sql.connection import DriverConnection
from duelist.study.storage.sql.converters import (
    ARM_NUMBERS,
    arm_from,
    chunk_from,
    context_from,
    detail_from,
    duel_from,
    duel_values,
    lease_from,
    lease_values,
    rater_from,
    rater_values,
    rater_vote_from,
    settings_to_json,
    study_from,
    to_json,
    training_vote_from,
    vote_from,
    vote_values,
)
from duelist.study.storage.sql.errors import translating_errors

_NO_END: Final = 2**62
_NAMES: Final = 500
"""Contexts that are looked up in one statement; databases limit the number of its values."""
_CACHED_DUELS: Final = 4096


class DuelCache:
    """Recently read duels, and open leases with their duels; but for its free places, a duel never changes."""

    def __init__(self) -> None:
        self.duels: dict[int, DuelRow] = {}
        self.leased: dict[tuple[Any, ...], tuple[LeaseRow, DuelRow]] = {}

    def limit_size(self) -> None:
        """Empty caches that have grown too large."""
        for cached in (self.duels, self.leased):
            if len(cached) > _CACHED_DUELS:
                cached.clear()


class SqlTransaction(Transaction):
    """A transaction of one study on one connection; see the contract."""

    def __init__(
        self,
        connection: DriverConnection,
        study_id: int,
        counters: Counters,
        now: int | None = None,
        pending_import: PendingImport | None = None,
        cache: DuelCache | None = None,
    ) -> None:
        self._connection = connection
        self._study_id = study_id
        self._until = _NO_END
        self._cache = cache or DuelCache()
        self.counters = counters
        self.now = round(time.time() * 1e6) if now is None else now
        self.pending_import = pending_import
        self.asked: dict[int, DuelRow] = {}
        """Duels that were added one by one; each `ask` until their votes will read them."""
        self._has_added_duels = False

    @property
    def shown_until(self) -> int:
        """The last row of the log that is shown."""
        return self._until

    def show_until(self, sequence: int) -> None:
        self._until = min(sequence, self._until, self.counters.n_votes)
        self.counters.n_votes = self._until

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        counters, asked = replace(self.counters), dict(self.asked)
        with translating_errors(self._connection.connection.engine.url.render_as_string(hide_password=True)):
            self._connection.do(sql.SAVEPOINT, {})
            try:
                yield
            except Exception:
                self.counters, self.asked = counters, asked
                self._connection.do(sql.ROLLBACK_TO_SAVEPOINT, {})
                raise

    def save_counters(self) -> None:
        """Write the counters."""
        self._do(sql.SAVE_COUNTERS, **{f"new_{name}": getattr(self.counters, name) for name in sql.COUNTERS})

    def _rows(self, statement: sa.Executable, **values: Any) -> Sequence[Any]:
        return self._connection.all(statement, {"study": self._study_id, **values})

    def _one(self, statement: sa.Executable, **values: Any) -> Any:
        return self._connection.first(statement, {"study": self._study_id, **values})

    def _do(self, statement: sa.Executable, **values: Any) -> None:
        self._connection.do(statement, {"study": self._study_id, **values})

    def _do_many(self, statement: sa.Executable, values: list[dict[str, Any]]) -> None:
        if len(values) == 1:
            self._connection.do(statement, values[0])
        elif values:
            self._connection.do_many(statement, values)

    def _insert(self, statement: sa.Executable, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["study_id"] = self._study_id
        self._do_many(statement, rows)

    # -- the study and its raters --------------------------------------------------------

    def study(self) -> StudyRow:
        return study_from(self._one(sql.STUDY))

    def put_study(self, name: str, settings: StudySettings, state: StudyState) -> None:
        other = self._connection.first(sql.STUDY_BY_NAME, {"name": name})
        if other is not None and other[0] != self._study_id:
            raise StudyExists(f"There is a study {name!r} already.", "Give another name.")
        self._do(sql.PUT_STUDY, new_name=name, new_settings=settings_to_json(settings), new_state=state.value)

    def raters(self) -> list[RaterRow]:
        return sorted((rater_from(row) for row in self._rows(sql.RATERS)), key=lambda row: row.name)

    def put_rater(self, row: RaterRow) -> None:
        self._do(sql.DROP_RATER, rater_name=row.name)
        self._insert(sql.ADD_RATER, [rater_values(row)])

    def erase_rater(self, name: str, new_name: str) -> None:
        self._drop_extra_columns(name)
        for statement in sql.RENAME_RATER:
            self._do(statement, rater_name=name, new_name=new_name)
        self._do(sql.DROP_TOKENS_OF, rater_name=name)

    def _drop_extra_columns(self, name: str) -> None:
        """Delete the extra columns of a rater's imported votes, which may hold personal data."""
        for row in map(detail_from, list(self._rows(sql.DETAILS_OF, rater_name=name))):
            if isinstance(row.body, dict) and row.body.pop("extra", None) is not None:
                self._do(sql.DROP_DETAILS, duel_number=row.duel)
                self.add_details([row] if row.body else [])

    def first_vote_of(self, rater: str) -> int | None:
        found = self._one(sql.FIRST_VOTE, rater_name=rater)[0]
        return None if found is None else int(found)

    def last_active(self, rater: str) -> int:
        return max(self._one(each, rater_name=rater)[0] or 0 for each in (sql.LAST_ASKED, sql.LAST_VOTED))

    def leases_of(self, rater: str) -> list[LeaseRow]:
        found = self._rows(sql.LEASES_OF, rater_name=rater)
        return sorted((lease_from(row) for row in found), key=lambda row: row.duel)

    def duels_of(self, rater: str) -> list[DuelRow]:
        found = self._rows(sql.DUELS_OF, rater_name=rater)
        return sorted((duel_from(row) for row in found), key=lambda row: row.number)

    # -- arms ----------------------------------------------------------------------------

    def add_arms(self, rows: Sequence[ArmRow]) -> None:
        self._insert(sql.ADD_ARMS, [{**row._asdict(), "payload": to_json(row.payload)} for row in rows])

    def arms_since(self, revision: int) -> list[ArmRow]:
        found = self._rows(sql.ARMS_SINCE, since=revision)
        return sorted(map(arm_from, found), key=lambda row: row.number)

    def set_retired(self, numbers: Sequence[int], retired: bool, revision: int) -> None:
        common = {"study": self._study_id, "now_retired": retired, "new_revision": revision}
        self._do_many(sql.SET_RETIRED, [{**common, "arm": int(number)} for number in numbers])

    def touch_arms(self, numbers: Sequence[int], revision: int) -> None:
        common = {"study": self._study_id, "new_revision": revision}
        self._do_many(sql.TOUCH_ARM, [{**common, "arm": int(number)} for number in numbers])

    def add_features(self, chunk: FeatureChunk) -> None:
        numbers = np.ascontiguousarray(chunk.arms, ARM_NUMBERS).tobytes()
        row = {"first_row": chunk.first_row, "arms": numbers, "vectors": encode_vectors(chunk.vectors)}
        self._insert(sql.ADD_FEATURES, [row])

    def features_since(self, row: int) -> Iterator[FeatureChunk]:
        found = self._connection.connection.execute(sql.FEATURES_SINCE, {"study": self._study_id, "since": row})
        return map(chunk_from, found)

    def contexts_since(self, revision: int) -> list[ContextRow]:
        found = self._rows(sql.CONTEXTS_SINCE, since=revision)
        return sorted((context_from(row) for row in found), key=lambda row: row.name)

    def contexts(self, names: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for start in range(0, len(names), _NAMES):
            values = {"study": self._study_id, "names": list(names[start : start + _NAMES])}
            part = self._connection.connection.execute(sql.CONTEXTS_NAMED, values).all()  # one parameter per name
            found.update((row.name, row.payload) for row in map(context_from, part))
        return found

    def put_contexts(self, rows: Sequence[ContextRow]) -> None:
        self._do_many(sql.DROP_CONTEXT, [{"study": self._study_id, "context_name": row.name} for row in rows])
        self._insert(sql.ADD_CONTEXTS, [{**row._asdict(), "payload": to_json(row.payload)} for row in rows])

    # -- duels and leases ----------------------------------------------------------------

    def add_duels(self, rows: Sequence[DuelRow]) -> None:
        study = self._study_id
        self._connection.insert_rows(sql.ADD_DUELS, [(study, *duel_values(row)) for row in rows])
        self._has_added_duels = self._has_added_duels or bool(rows)
        if len(rows) == 1:
            self.asked[rows[0].number] = rows[0]

    def duel(self, number: int) -> DuelRow | None:
        found = self._one(sql.DUEL, duel=number)
        return None if found is None else duel_from(found)

    def duels_since(self, number: int) -> list[DuelRow]:
        return [duel_from(row) for row in self._rows(sql.DUELS_SINCE, since=number)]

    def duels_between(self, after: int, until: int) -> list[DuelRow]:
        found = self._rows(sql.DUELS_BETWEEN, after=after, until=until)
        return sorted((duel_from(row) for row in found), key=lambda row: row.number)

    def sides_since(self, number: int) -> NDArray[np.int64]:
        found = self._rows(sql.SIDES_SINCE, since=number)
        return np.array([tuple(row) for row in found], np.int64).reshape(-1, 2)

    def waiting_duels(self, rater: str, context: str | None, limit: int) -> list[DuelRow]:
        if context is None:
            found = self._rows(sql.WAITING_DUELS, rater=rater, most=limit)
        else:
            found = self._rows(sql.WAITING_DUELS_IN_CONTEXT, rater=rater, within=context, most=limit)
        return [duel_from(row) for row in found]

    def set_free(self, duel: int, free: int) -> None:
        self._do(sql.SET_FREE, duel=duel, now_free=free)

    def lease(self, duel: int, rater: str) -> LeaseRow | None:
        found = self._one(sql.LEASE, duel_number=duel, rater_name=rater)
        return None if found is None else lease_from(found)

    def open_leases(self) -> list[tuple[LeaseRow, DuelRow]]:
        cached = self._cache.leased
        rows = sorted(map(tuple, self._rows(sql.OPEN_LEASES)))
        return [cached.get(row) or self._read_leased(row) for row in rows]

    def _read_leased(self, row: tuple[Any, ...]) -> tuple[LeaseRow, DuelRow]:
        """Return a lease with its duel, and cache them: every `ask` reads all open leases."""
        number, rater, asked_at, deadline, free = row
        duel = self.asked.get(number) or self._cache.duels.get(number) or self._read_duel(number)
        lease = LeaseRow(number, rater, LeaseState.OPEN, asked_at, deadline)
        found = lease, duel if duel.free == free else duel._replace(free=free)
        if not self._has_added_duels:
            self._cache.leased[row] = found
        return found

    def _read_duel(self, number: int) -> DuelRow:
        """Return a duel that another process added, and cache it."""
        duel = self.duel(number)
        if duel is None:
            raise damaged(f"a lease is of duel {number}, which does not exist")
        if not self._has_added_duels:  # this transaction may be rolled back, and its duels with it
            self._cache.duels[number] = duel
        return duel

    def leases_between(self, after: int, until: int) -> list[LeaseRow]:
        found = self._rows(sql.LEASES_BETWEEN, after=after, until=until)
        return sorted((lease_from(row) for row in found), key=lambda row: (row.duel, row.rater))

    def count_leases(self, state: LeaseState) -> int:
        return int(self._one(sql.COUNT_LEASES, lease_state=int(state))[0])

    def put_lease(self, row: LeaseRow) -> None:
        self._do(sql.PUT_LEASE, **lease_values(row))

    def add_leases(self, rows: Sequence[LeaseRow]) -> None:
        self._insert(sql.ADD_LEASES, [lease_values(row) for row in rows])

    # -- the log -------------------------------------------------------------------------

    def add_votes(self, rows: Sequence[VoteRow]) -> None:
        study = self._study_id
        self._connection.insert_rows(sql.ADD_VOTES, [(study, *vote_values(row)) for row in rows])

    def last_vote(self, duel: int, rater: str, criterion: str | None = None) -> VoteRow | None:
        found = (vote_from(row) for row in self._rows(sql.VOTES_ON_DUEL, duel_number=duel, rater_name=rater))
        return max((row for row in found if row.criterion == criterion), key=lambda row: row.sequence, default=None)

    def votes_since(self, sequence: int) -> list[VoteRow]:
        return [vote_from(row) for row in self._rows(sql.VOTES_SINCE, since=sequence, until=self._until)]

    def votes_between(self, after: int, until: int) -> list[VoteRow]:
        found = self._rows(sql.VOTES_BETWEEN, after=after, until=min(until, self._until))
        return sorted((vote_from(row) for row in found), key=lambda row: row.sequence)

    def votes_of(self, rater: str, sequence: int) -> list[RaterVote]:
        found = self._rows(sql.VOTES_OF, rater_name=rater, since=sequence)
        return sorted((rater_vote_from(row) for row in found), key=lambda row: row.sequence)

    def training_votes_since(
        self, sequence: int, include_excluded: bool = False, every_kind: bool = False
    ) -> list[TrainingVote]:
        statement = sql.TRAINING_VOTES_SINCE[self._connection.connection.dialect.name, include_excluded, every_kind]
        return [training_vote_from(row) for row in self._rows(statement, since=sequence, until=self._until)]

    def count_late_votes(self) -> int:
        return int(self._one(sql.COUNT_LATE_VOTES)[0])

    def vote_columns(self, after: int, until: int) -> VoteColumns:
        found = self._one(columns.VOTE_COLUMNS, after=after, until=min(until, self._until))
        return VoteColumns(*map(columns.read_column, found))

    def duel_columns(self, after: int, until: int) -> DuelColumns:
        return DuelColumns(*map(columns.read_column, self._one(columns.DUEL_COLUMNS, after=after, until=until)))

    # -- snapshots -----------------------------------------------------------------------

    def put_snapshot(self, sequence: int, body: bytes) -> None:
        self._insert(sql.PUT_SNAPSHOT, [{"sequence": sequence, "body": body}])

    def snapshot_before(self, sequence: int) -> tuple[int, bytes] | None:
        found = self._one(sql.SNAPSHOT_BEFORE, before=sequence)
        return None if found is None else (found[0], bytes(found[1]))

    def snapshot_sequences(self) -> list[int]:
        return [row[0] for row in self._rows(sql.SNAPSHOT_SEQUENCES)]

    def drop_snapshots(self, sequences: Sequence[int]) -> None:
        self._do_many(sql.DROP_SNAPSHOT, [{"study": self._study_id, "unwanted": s} for s in sequences])

    # -- imports -------------------------------------------------------------------------

    def details_between(self, after: int, until: int) -> list[DetailRow]:
        found = self._rows(sql.DETAILS_BETWEEN, after=after, until=until)
        return sorted((detail_from(row) for row in found), key=lambda row: row.duel)

    def add_details(self, rows: Sequence[DetailRow]) -> None:
        self._insert(sql.ADD_DETAILS, [{"duel": row.duel, "body": json.dumps(row.body)} for row in rows])

    def staged(self) -> list[StagedRow]:
        return sorted(StagedRow(number, since, bytes(body)) for number, since, body in self._rows(sql.STAGED))

    def next_staged(self) -> StagedRow | None:
        found = self._one(sql.NEXT_STAGED)
        return None if found is None else StagedRow(found[0], found[1], bytes(found[2]))

    def add_staged(self, rows: Sequence[StagedRow]) -> None:
        self._insert(sql.ADD_STAGED, [row._asdict() for row in rows])

    def drop_staged(self, numbers: Sequence[int]) -> None:
        self._do_many(sql.DROP_STAGED, [{"study": self._study_id, "unwanted": number} for number in numbers])

    # -- media ---------------------------------------------------------------------------

    def media_keys(self) -> list[str]:
        return sorted(row[0] for row in self._rows(sql.MEDIA_KEYS))

    def media(self, key: str) -> MediaRow | None:
        found = self._one(sql.MEDIA, media_key=key)
        return None if found is None else MediaRow(found[0], found[1], found[2], bytes(found[3]))

    def add_media(self, rows: Sequence[MediaRow]) -> None:
        existing = set(self.media_keys())
        new = {row.key: row for row in rows if row.key not in existing}
        self._insert(sql.ADD_MEDIA, [row._asdict() for row in new.values()])
