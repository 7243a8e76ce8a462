"""Stage imports, so that they move into the log without blocking raters.

Learning from a vote takes longer than writing it, and depends on every vote before: for a hundred thousand votes it
takes many seconds, during which no other process could write. So an import is packed first and stored as a whole beside
the log, in one short transaction. With that it is accepted, and all of it will be in the log even if the process is
killed. It then moves into the log in parts, one short transaction each, between which raters ask and vote. Until the
last part has moved, readers see the log as it was when the import was accepted: all of an import, or nothing. The
policy learns from each part as it moves.

The importing process moves the parts. If none moves for a while, because that process was killed, every other writer
moves one.
"""

from __future__ import annotations

import contextlib
import json
import time
import zlib
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from duelist.core.errors import DuelistError
from duelist.study.base import StudyBase
from duelist.study.cache import StudyCache
from duelist.study.formats import Comparison
from duelist.study.imports.votes.append import AcceptedVote, append_revisions, append_votes, check_vote
from duelist.study.records import Outcome, Source
from duelist.study.storage import PendingImport, StagedRow, Transaction
from duelist.study.storage.encoding import to_microseconds
from duelist.study.validation import checked_seconds

PART: Final = 512
"""Votes that move at a time, which takes about 20 ms."""
STALLED_SECONDS: Final = 5.0
"""Seconds without progress after which an import is considered abandoned."""
_OUTCOMES: Final = {None: None} | {str(outcome): outcome for outcome in Outcome}
_SOURCES: Final = {str(source): source for source in Source}
_OUTCOME, _SOURCE = (AcceptedVote._fields.index(name) for name in ("outcome", "source"))


class PackedVotes(NamedTuple):
    """Votes to import, encoded in parts."""

    votes: int
    parts: list[bytes]


def pack_votes(votes: Iterable[Comparison], arms: frozenset[str] | None) -> PackedVotes:
    """Check votes and encode them in parts, so that nothing can fail later.

    `arms` are the ids of the study, or None if it adopts those of the file.
    """
    stream, count, parts = iter(votes), 0, []
    while part := list(islice(stream, PART)):
        for vote in part:
            check_vote(vote, arms)
        count += len(part)
        parts.append(_encode(votes=[_accepted(vote) for vote in part]))
    return PackedVotes(count, parts)


def _encode(**content: Any) -> bytes:
    return zlib.compress(json.dumps(content).encode(), level=1)


def _accepted(vote: Comparison) -> AcceptedVote:
    """Return what the log keeps of a vote; JSON has it as an array."""
    return AcceptedVote(
        vote.first,
        vote.second,
        vote.outcome,
        vote.rater,
        vote.context,
        None if vote.voted_at is None else to_microseconds(vote.voted_at),
        vote.source,
        checked_seconds(vote.response_seconds),
        vote.propensity,
        vote.late,
        vote.reason,
        vote.criterion,
        vote.prompt,
        vote.payload_first,
        vote.payload_second,
        dict(vote.extra),
    )


def _from_array(values: list[Any]) -> AcceptedVote:
    values[_OUTCOME], values[_SOURCE] = _OUTCOMES[values[_OUTCOME]], _SOURCES[values[_SOURCE]]
    return AcceptedVote._make(values)


def move_part(tx: Transaction, cache: StudyCache, staged: StagedRow) -> None:
    """Move one part of an import into the log."""
    content = json.loads(zlib.decompress(staged.body))
    if "votes" in content:
        append_votes(tx, cache, [_from_array(values) for values in content["votes"]], tx.now, staged.since + 1)
    if "revisions" in content:
        append_revisions(tx, cache, {number: _from_array(values) for number, values in content["revisions"]})
    tx.drop_staged([staged.number])


class ImportStaging(StudyBase):
    """The part of `Study` that stages imports and moves them into the log."""

    _next_part: tuple[int, float] | None = None
    """The part that is to move next, and since when."""

    def _stage(self, tx: Transaction, new: PackedVotes, revisions: Mapping[int, Comparison]) -> None:
        """Accept an import while no other is staged.

        A small one moves into the log at once.
        """
        cache = self._write_cache
        bodies = list(new.parts)
        if revisions:
            bodies.append(_encode(revisions=[(number, _accepted(vote)) for number, vote in revisions.items()]))
        if bodies:
            cache.replay.begin(tx, cache.arms)
        rows = [StagedRow(number, tx.counters.n_votes, body) for number, body in enumerate(bodies, start=1)]
        if new.votes <= PART:
            for row in rows:
                move_part(tx, cache, row)
        else:
            tx.add_staged(rows)

    def _finish_imports(self) -> None:
        """Move all staged parts, whichever process staged them."""
        while self._move_next_part():
            pass

    def _move_next_part(self) -> bool:
        """Move the next part in its own transaction, and return whether there was one."""
        with self._writing() as tx:
            staged = tx.next_staged()
            if staged is not None:
                move_part(tx, self._write_cache, staged)
            return staged is not None

    def _after_writing(self, pending_import: PendingImport | None) -> None:
        """Move one part if an import has stalled."""
        now = time.monotonic()
        if pending_import is None:
            self._next_part = None
        elif self._next_part is None or self._next_part[0] != pending_import.part:
            self._next_part = pending_import.part, now
        elif now - self._next_part[1] > STALLED_SECONDS:
            self._next_part = None
            # This caller's own write succeeded, and the next writer tries again.
            with contextlib.suppress(DuelistError):
                self._move_next_part()
