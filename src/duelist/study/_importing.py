"""Votes from elsewhere, into the log: those that are not there yet, with their arms where there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput
from duelist.policies import CompiledPolicy
from duelist.study._asking import Known
from duelist.study._checks import checked_text
from duelist.study._fold import learn
from duelist.study.formats import Comparison
from duelist.study.records import ChosenBy, Vote
from duelist.study.storage import DuelRow, Lesson, Transaction, VoteRow

MOST_ONE_HOT: Final = 2000
"""Arms that a file may bring into an empty study without features: they get a feature each."""
STRETCH: Final = 4096
"""Votes that are learned before they are written. A server ends a transaction in which it hears nothing for a minute."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of an import."""

    added: int
    """Votes that are new in the log."""
    known: int
    """Votes that were in the log already, and were not counted again."""

    def __str__(self) -> str:
        already = f"; {self.known} were in the log already, and are not counted again" if self.known else ""
        return f"{self.added} {'vote' if self.added == 1 else 'votes'} added{already}"


# -- what is new -------------------------------------------------------------------------


def unseen(votes: list[Vote], log: list[Vote], now: datetime) -> list[Vote]:
    """The votes that the log does not have. Those that came without a time have `now`, and so had those of an earlier file."""
    timed = [vote for vote in votes if vote.told_at != now]
    untimed = [_said(vote) for vote in votes if vote.told_at == now]
    known = Counter((vote.told_at, _said(vote)) for vote in log)
    repeated = Counter((vote.told_at, _said(vote)) for vote in timed) & known
    as_before = bool(untimed) and untimed in _imports(log)

    def is_new(vote: Vote) -> bool:
        if vote.told_at == now:
            return not as_before
        key = vote.told_at, _said(vote)
        repeated[key] -= 1
        return repeated[key] < 0

    return [vote for vote in votes if is_new(vote)]


def _said(vote: Vote) -> tuple[Any, ...]:
    return vote.first, vote.second, vote.outcome, vote.rater, vote.context


def _imports(log: list[Vote]) -> list[list[tuple[Any, ...]]]:
    """What was imported at each moment."""
    moments: dict[datetime | None, list[tuple[Any, ...]]] = {}
    for vote in log:
        if vote.chosen_by is ChosenBy.IMPORT:
            moments.setdefault(vote.told_at, []).append(_said(vote))
    return list(moments.values())


def adopted_arms(comparisons: list[Comparison]) -> tuple[list[tuple[str, Any, str | None]], NDArray[np.float32]]:
    """The arms of a file, for a study that has none: id, payload and context of each, and a feature each."""
    payloads: dict[str, Any] = {}
    groups: dict[str, set[str | None]] = {}
    for c in comparisons:
        for arm, payload in ((c.first, c.payload_first), (c.second, c.payload_second)):
            payloads.setdefault(checked_text("arm", arm), payload)
            groups.setdefault(arm, set()).add(c.context)
    if len(payloads) > MOST_ONE_HOT:
        raise InvalidInput(
            f"the file compares {len(payloads)} arms, too many for a feature each; "
            "add them first, with features: `add_arms` or `duelist study add-arms`"
        )
    # An arm in one context belongs to it (an answer to a prompt); one in many (a model) belongs to none.
    alone = all(len(contexts) == 1 for contexts in groups.values())
    described = [(arm, payloads[arm], next(iter(groups[arm]))) if alone else (arm, None, None) for arm in payloads]
    return described, np.eye(len(payloads), dtype=np.float32)


# -- into the log ------------------------------------------------------------------------


def add_votes(tx: Transaction, known: Known, votes: list[Vote]) -> int:
    """Add votes, each with a duel of its own; how many there were.

    The policy places each where it belongs after those before it, so that history teaches as if it had been asked for.
    """
    if not votes:
        return 0
    known.fold.begin(tx, known.arms)
    policy = known.fold.follow(tx, known.arms)
    for stretch in _stretches(votes):
        before = tx.counters.n_votes
        duels: list[DuelRow] = []
        rows: list[VoteRow] = []
        for vote in stretch:
            duel, row = _rows(tx, known, policy, vote)
            duels.append(duel)
            rows.append(row)
            tx.counters.n_duels, tx.counters.n_votes = duel.number, row.sequence
        tx.add_duels(duels)
        tx.add_votes(rows)
        known.fold.learned_until(tx.counters.n_votes)
        known.fold.keep(tx, known.arms, before)
    return len(votes)


def _stretches(votes: Sequence[Vote]) -> Iterator[Sequence[Vote]]:
    return (votes[start : start + STRETCH] for start in range(0, len(votes), STRETCH))


def _rows(tx: Transaction, known: Known, policy: CompiledPolicy, vote: Vote) -> tuple[DuelRow, VoteRow]:
    """The duel and the row of the log of one vote, which the policy learns."""
    arms = known.arms
    for what, text in (("rater", vote.rater), ("context", vote.context)):
        if text is not None:
            checked_text(what, text)
    if vote.first == vote.second:
        raise InvalidInput(f"a vote compares {vote.first!r} with itself; leave it out")
    first, second = (int(row) for row in arms.newest_rows(arms.numbers([vote.first, vote.second])))
    layer, share = policy.place(arms.difference(first, second))
    time = None if vote.told_at is None else microseconds(vote.told_at)
    duel = DuelRow(
        number=tx.counters.n_duels + 1,
        first_row=first,
        second_row=second,
        context=vote.context,
        chosen_by=ChosenBy.IMPORT,
        chance=vote.chance,
        swapped=False,
        layer=int(layer),
        share=float(share),
        asked_at=tx.counters.last_told_at if time is None else time,
        free=0,
    )
    sequence = tx.counters.n_votes + 1
    row = VoteRow(
        sequence=sequence,
        duel=duel.number,
        rater=vote.rater,
        outcome=vote.outcome,
        told_at=time,
        source=vote.source,
        response_seconds=vote.response_seconds,
        late=vote.late,
        revises=None,
        root=sequence,
    )
    if known.fold.counts(row.rater, row.criterion):
        learn(policy, Lesson(sequence, sequence, vote.outcome, first, second, duel.layer, duel.share), arms)
    return duel, row


def microseconds(time: datetime) -> int:
    """A time as the storage keeps it."""
    if time.tzinfo is None:
        raise InvalidInput(f"told_at is {time}, without a time zone; give an aware time, e.g. with tzinfo=UTC")
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
