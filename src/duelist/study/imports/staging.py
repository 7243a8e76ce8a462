"""Imports that make nobody wait: accepted at once, then moved into the log part by part.

To learn a vote takes longer than to write it, and what is learned depends on every vote before: a hundred thousand of them
take many seconds, in which nobody else could write. So an import is only packed beforehand, and stored whole in one short
transaction, beside the log. With that it is accepted: all of it will be in the log, whoever is killed. Then it moves into the log in
parts, a short transaction each, between which others ask and tell. Until the last part has moved, readers are shown the log as
it was when the import was accepted: all of an import, or nothing. The policy learns each part as it comes.

Whoever imports moves the parts. If nothing moves for a while, because they were killed, everybody who writes moves one.
"""

from __future__ import annotations

import contextlib
import json
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import MISSING, fields
from itertools import islice
from typing import Any, Final, NamedTuple

from duelist.core.errors import DuelistError
from duelist.study.asking.ask import Known
from duelist.study.cache import Side
from duelist.study.formats import Comparison
from duelist.study.imports.votes import add_votes, check_vote, revise
from duelist.study.records import ChosenBy, Outcome, Source
from duelist.study.storage import Staged, StagedRow, Transaction
from duelist.study.times import microseconds, moment
from duelist.study.validation import checked_seconds

PART: Final = 256
"""Votes that move at a time: some 30 ms, for which others wait."""
PATIENCE: Final = 5.0
"""Seconds after which an import that does not move is taken for left behind."""
_DEFAULTS: Final = {each.name: each.default for each in fields(Comparison) if each.default is not MISSING}
_KINDS: Final[dict[str, Callable[[Any], Any]]] = {
    "outcome": Outcome,
    "source": Source,
    "chosen_by": ChosenBy,
    "voted_at": moment,
}


class Packed(NamedTuple):
    """Votes to import, as they are stored until they are in the log."""

    votes: int
    parts: list[bytes]


def packed(votes: Iterable[Comparison], arms: frozenset[str] | None) -> Packed:
    """Votes in parts; each is checked, so that nothing can be wrong with it later.

    `arms` are the ids of those in the study, None if it takes what comes.
    """
    stream, count, parts = iter(votes), 0, []
    while part := list(islice(stream, PART)):
        for vote in part:
            check_vote(vote, arms)
        count += len(part)
        parts.append(_body(votes=[_plain(vote) for vote in part]))
    return Packed(count, parts)


def _body(**content: Any) -> bytes:
    return zlib.compress(json.dumps(content).encode(), level=1)


def _plain(vote: Comparison) -> dict[str, Any]:
    """What JSON can hold of a vote, and nothing that goes without saying."""
    plain = {each.name: getattr(vote, each.name) for each in fields(vote)}
    plain = {name: value for name, value in plain.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    plain["extra"] = dict(vote.extra)
    plain["response_seconds"] = checked_seconds(vote.response_seconds)
    if vote.voted_at is not None:
        plain["voted_at"] = microseconds(vote.voted_at)
    return plain


def _comparison(plain: dict[str, Any]) -> Comparison:
    return Comparison(
        **{
            name: _KINDS[name](value) if name in _KINDS and value is not None else value
            for name, value in plain.items()
        }
    )


def move(tx: Transaction, known: Known, staged: StagedRow) -> None:
    """One part of an import into the log."""
    content = json.loads(zlib.decompress(staged.body))
    if "votes" in content:
        add_votes(tx, known, [_comparison(plain) for plain in content["votes"]], tx.now, staged.since + 1)
    if "revisions" in content:
        revise(tx, known, {number: _comparison(plain) for number, plain in content["revisions"]})
    tx.drop_staged([staged.number])


class Staging(ABC):
    """The part of `Study` that moves imports into the log."""

    _writer: Side
    _stalled: tuple[int, float] | None = None
    """The part that has been next for a while, and since when."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """One transaction that writes."""

    def _stage(self, tx: Transaction, new: Packed, revisions: Mapping[int, Comparison]) -> None:
        """Accept an import: what is small goes into the log at once, the rest waits beside it. None may be waiting already."""
        known = self._writer.known
        bodies = list(new.parts)
        if revisions:
            bodies.append(_body(revisions=[(number, _plain(vote)) for number, vote in revisions.items()]))
        if bodies:
            known.fold.begin(tx, known.arms)
        rows = [StagedRow(number, tx.counters.n_votes, body) for number, body in enumerate(bodies, start=1)]
        if new.votes <= PART:
            for row in rows:
                move(tx, known, row)
        else:
            tx.add_staged(rows)

    def _finish_imports(self) -> None:
        """Move what waits, whoever has left it."""
        while self._move_one():
            pass

    def _move_one(self) -> bool:
        """Move the next part, in a transaction of its own; whether there was one."""
        with self._writing() as tx:
            staged = tx.next_staged()
            if staged is not None:
                move(tx, self._writer.known, staged)
            return staged is not None

    def _help(self, waiting: Staged | None) -> None:
        """Move one part, if an import has been left behind."""
        now = time.monotonic()
        if waiting is None:
            self._stalled = None
        elif self._stalled is None or self._stalled[0] != waiting.part:
            self._stalled = waiting.part, now
        elif now - self._stalled[1] > PATIENCE:
            self._stalled = None
            with contextlib.suppress(
                DuelistError
            ):  # whoever asks or tells has been served, and the next may have more luck
                self._move_one()
