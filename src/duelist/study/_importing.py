"""Votes from elsewhere, into the log."""

from __future__ import annotations

from datetime import UTC, datetime

from duelist.errors import InvalidInput
from duelist.policies import CompiledPolicy
from duelist.study._asking import Known
from duelist.study._fold import learn
from duelist.study.records import ChosenBy, Vote, standing
from duelist.study.storage._base import DuelRow, Lesson, Transaction, VoteRow


def import_votes(tx: Transaction, known: Known, votes: list[Vote]) -> int:
    """Add the votes that stand, each with a duel of its own; how many there were.

    The policy places each where it belongs after those before it, so that history teaches as if it had been asked for.
    """
    kept = standing(votes)
    if not kept:
        return 0
    known.fold.begin(tx, known.arms)
    policy = known.fold.follow(tx, known.arms)
    before = tx.counters.n_votes
    duels: list[DuelRow] = []
    rows: list[VoteRow] = []
    for vote in kept:
        duel, row = _rows(tx, known, policy, vote)
        duels.append(duel)
        rows.append(row)
        tx.counters.n_duels, tx.counters.n_votes = duel.number, row.sequence
    tx.add_duels(duels)
    tx.add_votes(rows)
    known.fold.learned_until(tx.counters.n_votes)
    known.fold.keep(tx, known.arms, before)
    return len(kept)


def _rows(tx: Transaction, known: Known, policy: CompiledPolicy, vote: Vote) -> tuple[DuelRow, VoteRow]:
    """The duel and the row of the log of one vote, which the policy learns."""
    arms = known.arms
    if vote.first == vote.second:
        raise InvalidInput(f"a vote compares {vote.first!r} with itself; leave it out")
    first, second = (int(row) for row in arms.newest_rows(arms.numbers([vote.first, vote.second])))
    layer, share = policy.place(arms.difference(first, second))
    time = microseconds(vote.told_at)
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
        asked_at=time,
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
    learn(policy, Lesson(sequence, sequence, vote.outcome, first, second, duel.layer, duel.share), arms)
    return duel, row


def microseconds(time: datetime) -> int:
    """A time as the storage keeps it."""
    if time.tzinfo is None:
        raise InvalidInput(f"told_at is {time}, without a time zone; give an aware time, e.g. with tzinfo=UTC")
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
