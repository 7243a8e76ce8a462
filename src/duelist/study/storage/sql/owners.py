"""The part of a transaction that is the owner's: the study itself, its raters and contexts, and all of it part by part."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from duelist.core.errors import StudyExists
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage.base import (
    ContextRow,
    Counters,
    DetailRow,
    DuelRow,
    LeaseRow,
    LeaseState,
    RaterRow,
    Staged,
    StagedRow,
    StudyRow,
    Transaction,
    VoteRow,
)
from duelist.study.storage.sql import statements as say
from duelist.study.storage.sql.driver import Line
from duelist.study.storage.sql.rows import (
    context_from,
    detail_from,
    duel_from,
    lease_from,
    lease_values,
    rater_from,
    rater_values,
    study_from,
    to_json,
    vote_from,
)
from duelist.study.storage.sql.tables import contexts, details, duels, leases, raters, staged, studies, votes
from duelist.study.storage.sql.tokens import ADD_MEDIA, DROP_TOKENS_OF, MEDIA, MEDIA_KEYS
from duelist.study.storage.tokens import MediaRow

_study = given("study", type_=sa.BigInteger)
_this_rater: Any = given("who")

STUDY: Final = say.STUDIES.where(studies.c.id == _study)
PUT_STUDY: Final = (
    sa.update(studies)
    .where(studies.c.id == _study)
    .values(name=given("new_name"), settings=given("new_settings"), state=given("new_state"))
)
RATERS: Final = sa.select(*(c for c in raters.c if c.name != "study_id")).where(raters.c.study_id == _study)
DROP_RATER: Final = sa.delete(raters).where(raters.c.study_id == _study, raters.c.name == _this_rater)
ADD_RATER: Final = sa.insert(raters)
FIRST_VOTE: Final = sa.select(sa.func.min(votes.c.sequence)).where(
    votes.c.study_id == _study, votes.c.rater == _this_rater
)
LEASES_OF: Final = sa.select(*(c for c in leases.c if c.name != "study_id")).where(
    leases.c.study_id == _study, leases.c.rater == _this_rater
)
DUELS_ASKED_OF: Final = (
    sa.select(*(c for c in duels.c if c.name != "study_id"))
    .join(leases, sa.and_(duels.c.study_id == leases.c.study_id, duels.c.number == leases.c.duel))
    .where(leases.c.study_id == _study, leases.c.rater == _this_rater)
)
COUNT_LEASES: Final = sa.select(sa.func.count()).where(leases.c.study_id == _study, leases.c.state == given("which"))
COUNT_LATE: Final = sa.select(sa.func.count()).where(votes.c.study_id == _study, votes.c.late)
ADD_LEASES: Final = sa.insert(leases)
CONTEXTS_SINCE: Final = sa.select(contexts.c.name, contexts.c.payload, contexts.c.revision).where(
    contexts.c.study_id == _study, contexts.c.revision > given("since", type_=sa.BigInteger)
)
CONTEXTS_NAMED: Final = sa.select(contexts.c.name, contexts.c.payload, contexts.c.revision).where(
    contexts.c.study_id == _study, contexts.c.name.in_(given("names", expanding=True))
)
DROP_CONTEXT: Final = sa.delete(contexts).where(contexts.c.study_id == _study, contexts.c.name == given("which"))
ADD_CONTEXTS: Final = sa.insert(contexts)
_RENAMED: Final = (
    sa.update(votes)
    .where(votes.c.study_id == _study, votes.c.rater == _this_rater)
    .values(rater=given("new_name"), reason=None),
    sa.update(leases).where(leases.c.study_id == _study, leases.c.rater == _this_rater).values(rater=given("new_name")),
    sa.update(raters).where(raters.c.study_id == _study, raters.c.name == _this_rater).values(name=given("new_name")),
)


def _between(table: sa.Table, key: sa.Column[Any]) -> sa.Select[Any]:
    return sa.select(*(c for c in table.c if c.name != "study_id")).where(
        table.c.study_id == _study,
        key > given("after", type_=sa.BigInteger),
        key <= given("until", type_=sa.BigInteger),
    )


DUELS_BETWEEN: Final = _between(duels, duels.c.number)
LEASES_BETWEEN: Final = _between(leases, leases.c.duel)
VOTES_BETWEEN: Final = _between(votes, votes.c.sequence)
DETAILS_BETWEEN: Final = _between(details, details.c.duel)
ADD_DETAILS: Final = sa.insert(details)
DETAILS_OF: Final = sa.select(details.c.duel, details.c.body).where(
    details.c.study_id == _study,
    details.c.duel.in_(sa.select(votes.c.duel).where(votes.c.study_id == _study, votes.c.rater == _this_rater)),
)
DROP_DETAILS: Final = sa.delete(details).where(details.c.study_id == _study, details.c.duel == given("told_of"))
NEXT_STAGED: Final = (
    sa.select(staged.c.number, staged.c.since, staged.c.body)
    .where(staged.c.study_id == _study)
    .order_by(staged.c.number)
    .limit(1)
)
STAGED: Final = sa.select(staged.c.number, staged.c.since, staged.c.body).where(staged.c.study_id == _study)
ADD_STAGED: Final = sa.insert(staged)
DROP_STAGED: Final = sa.delete(staged).where(staged.c.study_id == _study, staged.c.number == given("unwanted"))
_NO_END: Final = 2**62
_NAMES: Final = 500
"""How many contexts are looked up at a time: databases take so many values in one statement, and not many more."""


def settings_text(settings: StudySettings) -> str:
    """Settings as the storage keeps them."""
    return json.dumps(asdict(settings))


class OwningTransaction(Transaction):
    """A transaction of one study on one connection."""

    def __init__(
        self,
        line: Line,
        study_id: int,
        counters: Counters,
        now: int | None = None,
        waiting: Staged | None = None,
    ) -> None:
        self._line = line
        self._study_id = study_id
        self._until = _NO_END
        self.counters = counters
        self.now = round(time.time() * 1e6) if now is None else now
        self.waiting = waiting

    @property
    def shown_until(self) -> int:
        """The last row that may be shown."""
        return self._until

    def show_until(self, sequence: int) -> None:
        """Show the log as if it ended with that row."""
        self._until = min(sequence, self._until, self.counters.n_votes)
        self.counters.n_votes = self._until

    def _rows(self, statement: sa.Executable, **values: Any) -> Sequence[Any]:
        return self._line.all(statement, {"study": self._study_id, **values})

    def _one(self, statement: sa.Executable, **values: Any) -> Any:
        return self._line.first(statement, {"study": self._study_id, **values})

    def _do(self, statement: sa.Executable, **values: Any) -> None:
        self._line.do(statement, {"study": self._study_id, **values})

    def _do_many(self, statement: sa.Executable, values: list[dict[str, Any]]) -> None:
        if len(values) == 1:
            self._line.do(statement, values[0])
        elif values:
            self._line.connection.execute(statement, values)

    def save_counters(self) -> None:
        """Write how far the study has come."""
        self._do(say.SAVE_COUNTERS, **{f"new_{name}": getattr(self.counters, name) for name in say.COUNTERS})

    # -- the study and its raters --------------------------------------------------------

    def study(self) -> StudyRow:
        """The study itself, as it was when the transaction began."""
        return study_from(self._one(STUDY))

    def put_study(self, name: str, settings: StudySettings, state: StudyState) -> None:
        """Another name, other settings, another state; StudyExists if another study has that name."""
        other = self._line.first(say.STUDY_BY_NAME, {"name": name})
        if other is not None and other[0] != self._study_id:
            raise StudyExists(f"There is a study {name!r} already.", "Give another name.")
        self._do(PUT_STUDY, new_name=name, new_settings=settings_text(settings), new_state=state.value)

    def raters(self) -> list[RaterRow]:
        """The raters of whom the owner has said something, by name."""
        return sorted((rater_from(row) for row in self._rows(RATERS)), key=lambda row: row.name)

    def put_rater(self, row: RaterRow) -> None:
        """Write what is said of a rater, new or not."""
        self._do(DROP_RATER, who=row.name)
        self._do_many(ADD_RATER, [{"study_id": self._study_id, **rater_values(row)}])

    def erase_rater(self, name: str, new_name: str) -> None:
        """Call a rater something else wherever they are named; forget the reasons they gave, and what files said of them besides."""
        self._forget_extras(name)
        for statement in _RENAMED:
            self._do(statement, who=name, new_name=new_name)
        self._do(DROP_TOKENS_OF, who=name)

    def _forget_extras(self, name: str) -> None:
        """Columns of an imported file that have no place of their own may hold anything: an address, a worker's number."""
        for row in map(detail_from, list(self._rows(DETAILS_OF, who=name))):
            if isinstance(row.body, dict) and row.body.pop("extra", None) is not None:
                self._do(DROP_DETAILS, told_of=row.duel)
                self.add_details([row] if row.body else [])

    def first_vote_of(self, rater: str) -> int | None:
        """The first row of the log that is of this rater."""
        found = self._one(FIRST_VOTE, who=rater)[0]
        return None if found is None else int(found)

    def leases_of(self, rater: str) -> list[LeaseRow]:
        """Every lease of a rater, whatever its state, by duel."""
        return sorted((lease_from(row) for row in self._rows(LEASES_OF, who=rater)), key=lambda row: row.duel)

    def duels_asked_of(self, rater: str) -> list[DuelRow]:
        """Every duel that a rater was asked, in order."""
        found = self._rows(DUELS_ASKED_OF, who=rater)
        return sorted((duel_from(row) for row in found), key=lambda row: row.number)

    # -- contexts ------------------------------------------------------------------------

    def contexts_since(self, revision: int) -> list[ContextRow]:
        """Contexts that are new or have changed after that revision, by name."""
        found = self._rows(CONTEXTS_SINCE, since=revision)
        return sorted((context_from(row) for row in found), key=lambda row: row.name)

    def contexts(self, names: Sequence[str]) -> dict[str, Any]:
        """The payloads of those contexts that have one."""
        found: dict[str, Any] = {}
        for start in range(0, len(names), _NAMES):
            some = {"study": self._study_id, "names": list(names[start : start + _NAMES])}
            part = self._line.connection.execute(CONTEXTS_NAMED, some).all()  # as many places as there are names
            found.update((row.name, row.payload) for row in map(context_from, part))
        return found

    def put_contexts(self, rows: Sequence[ContextRow]) -> None:
        """What contexts are, new or not."""
        self._do_many(DROP_CONTEXT, [{"study": self._study_id, "which": row.name} for row in rows])
        self._do_many(
            ADD_CONTEXTS,
            [{"study_id": self._study_id, **row._asdict(), "payload": to_json(row.payload)} for row in rows],
        )

    # -- part by part --------------------------------------------------------------------

    def duels_between(self, after: int, until: int) -> list[DuelRow]:
        """The duels after the one up to the other, in order."""
        found = self._rows(DUELS_BETWEEN, after=after, until=until)
        return sorted((duel_from(row) for row in found), key=lambda row: row.number)

    def leases_between(self, after: int, until: int) -> list[LeaseRow]:
        """The leases of the duels after the one up to the other, by duel, then by rater."""
        found = self._rows(LEASES_BETWEEN, after=after, until=until)
        return sorted((lease_from(row) for row in found), key=lambda row: (row.duel, row.rater))

    def votes_between(self, after: int, until: int) -> list[VoteRow]:
        """The rows of the log after the one up to the other, in order."""
        found = self._rows(VOTES_BETWEEN, after=after, until=min(until, self._until))
        return sorted((vote_from(row) for row in found), key=lambda row: row.sequence)

    def details(self, first: int, last: int) -> list[DetailRow]:
        """What is kept of the duels from the one to the other, in order."""
        found = self._rows(DETAILS_BETWEEN, after=first - 1, until=last)
        return sorted((detail_from(row) for row in found), key=lambda row: row.duel)

    def add_details(self, rows: Sequence[DetailRow]) -> None:
        """Keep more of duels."""
        self._do_many(
            ADD_DETAILS, [{"study_id": self._study_id, "duel": d.duel, "body": json.dumps(d.body)} for d in rows]
        )

    def staged(self) -> list[StagedRow]:
        """What waits to go into the log, in order."""
        return sorted(StagedRow(number, since, bytes(body)) for number, since, body in self._rows(STAGED))

    def next_staged(self) -> StagedRow | None:
        """What goes into the log next."""
        found = self._one(NEXT_STAGED)
        return None if found is None else StagedRow(found[0], found[1], bytes(found[2]))

    def add_staged(self, rows: Sequence[StagedRow]) -> None:
        """More that waits."""
        self._do_many(ADD_STAGED, [{"study_id": self._study_id, **row._asdict()} for row in rows])

    def drop_staged(self, numbers: Sequence[int]) -> None:
        """What waits no more."""
        self._do_many(DROP_STAGED, [{"study": self._study_id, "unwanted": number} for number in numbers])

    # -- files ---------------------------------------------------------------------------

    def media_keys(self) -> list[str]:
        """The keys of all files, in order."""
        return sorted(row[0] for row in self._rows(MEDIA_KEYS))

    def media(self, key: str) -> MediaRow | None:
        """The file of that key."""
        found = self._one(MEDIA, which=key)
        return None if found is None else MediaRow(found[0], found[1], found[2], bytes(found[3]))

    def add_media(self, rows: Sequence[MediaRow]) -> None:
        """Keep files; one that is there already stays."""
        there = set(self.media_keys())
        new = {row.key: row for row in rows if row.key not in there}
        self._do_many(ADD_MEDIA, [{"study_id": self._study_id, **row._asdict()} for row in new.values()])

    def count_leases(self, state: LeaseState) -> int:
        """How many leases are in a state."""
        return int(self._one(COUNT_LEASES, which=int(state))[0])

    def count_late(self) -> int:
        """How many rows of the log came after their deadline."""
        return int(self._one(COUNT_LATE)[0])

    def add_leases(self, rows: Sequence[LeaseRow]) -> None:
        """Leases that are not there yet."""
        self._do_many(ADD_LEASES, [{"study_id": self._study_id, **lease_values(row)} for row in rows])
