"""Append imported votes to the log, each with its own duel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from duelist.core.arms import ArmTable
from duelist.core.errors import InvalidInput
from duelist.study.cache import StudyCache
from duelist.study.errors import unknown_arm
from duelist.study.formats import Comparison
from duelist.study.records import ChosenBy, Outcome, Source
from duelist.study.replay import learn
from duelist.study.storage import ContextRow, DetailRow, DuelRow, TrainingVote, Transaction, VoteRow
from duelist.study.validation import checked_text


class AcceptedVote(NamedTuple):
    """What a log keeps of an imported vote; its time is in microseconds since 1970."""

    first: str
    second: str
    outcome: Outcome | None
    rater: str | None
    context: str | None
    voted_at: int | None
    source: Source
    response_seconds: float | None
    propensity: float | None
    late: bool
    reason: str | None
    criterion: str | None
    prompt: Any
    payload_first: Any
    payload_second: Any
    extra: Mapping[str, Any]


def check_vote(vote: Comparison, arms: frozenset[str] | None) -> None:
    """Reject a vote that a log cannot hold.

    `arms` are the ids of the study, or None if it adopts those of the file.
    """
    for name in ("rater", "context", "reason", "criterion"):
        text = getattr(vote, name)
        if text is not None:
            checked_text(name, text)
    if vote.first == vote.second:
        raise InvalidInput(f"A vote compares {vote.first!r} with itself.", "Leave it out.")
    for arm in (vote.first, vote.second):
        if arms is not None and arm not in arms:
            raise unknown_arm(arm)


def append_votes(tx: Transaction, cache: StudyCache, votes: list[AcceptedVote], now: int, batch: int) -> None:
    """Append checked votes, each with its own duel.

    `now` is the time of asking where it is unknown, and `batch` the number of the import. The policy places each vote
    after those before it, so that imported votes teach as if they had been asked for.
    """
    policy = cache.replay.refresh(tx, cache.arms)
    before = tx.counters.n_votes
    duels: list[DuelRow] = []
    rows: list[VoteRow] = []
    numbers = cache.arms.numbers([arm for vote in votes for arm in (vote.first, vote.second)])
    feature_rows = cache.arms.newest_rows(numbers).reshape(-1, 2)
    pairs = cache.arms.pairs(feature_rows)
    for vote, numbers_of_rows, pair in zip(votes, feature_rows.tolist(), pairs, strict=True):
        difference = pair if isinstance(pair, ArmTable) else pair[0] - pair[1]
        duel, row = _rows(tx, vote, numbers_of_rows, policy.assign_layer(difference), now, batch)
        if cache.replay.learns(row.rater, row.criterion):
            learn(policy, _training_vote(duel, row), pair)
        duels.append(duel)
        rows.append(row)
        tx.counters.n_duels, tx.counters.n_votes = duel.number, row.sequence
    tx.add_duels(duels)
    tx.add_votes(rows)
    tx.add_details(_details(tx, cache, votes, duels))
    cache.replay.mark_learned(tx.counters.n_votes)
    cache.replay.store_snapshot(tx, cache.arms, before)


def _rows(
    tx: Transaction, vote: AcceptedVote, pair: list[int], assigned: tuple[int, float], now: int, batch: int
) -> tuple[DuelRow, VoteRow]:
    """Return the duel and the row of the log of one vote on the feature rows `pair`, with its layer and share."""
    layer, share = assigned
    duel = DuelRow(
        number=tx.counters.n_duels + 1,
        first_row=pair[0],
        second_row=pair[1],
        context=vote.context,
        chosen_by=ChosenBy.IMPORT,
        propensity=vote.propensity,
        swapped=False,
        layer=int(layer),
        share=float(share),
        asked_at=now if vote.voted_at is None else vote.voted_at,
        free=0,
    )
    sequence = tx.counters.n_votes + 1
    row = VoteRow(
        sequence=sequence,
        duel=duel.number,
        rater=vote.rater,
        outcome=vote.outcome,
        voted_at=vote.voted_at,
        source=vote.source,
        response_seconds=vote.response_seconds,
        late=vote.late,
        revises=None,
        root=sequence,
        reason=vote.reason,
        criterion=vote.criterion,
        batch=batch,
    )
    return duel, row


def _training_vote(duel: DuelRow, row: VoteRow) -> TrainingVote:
    return TrainingVote(
        row.sequence, row.root, row.outcome, duel.first_row, duel.second_row, duel.layer, duel.share, row.criterion
    )


def _details(tx: Transaction, cache: StudyCache, votes: list[AcceptedVote], duels: list[DuelRow]) -> list[DetailRow]:
    """Return what votes say besides the payloads of their arms and contexts.

    Contexts that are new to the study get their prompts.
    """
    prompts: dict[str, Any] = {}
    for vote in votes:
        if vote.context is not None and vote.prompt is not None:
            prompts.setdefault(vote.context, vote.prompt)
    stored = tx.contexts(list(prompts))
    fresh = {name: prompt for name, prompt in prompts.items() if name not in stored}
    if fresh:
        tx.counters.arms_revision += 1
        tx.put_contexts([ContextRow(name, prompt, tx.counters.arms_revision) for name, prompt in fresh.items()])
        cache.arms.refresh(tx)
    known_prompts = fresh | stored
    rows = []
    for vote, duel in zip(votes, duels, strict=True):
        if not vote.extra and (vote.prompt, vote.payload_first, vote.payload_second) == (None, None, None):
            continue
        given = {
            "prompt": (vote.prompt, None if vote.context is None else known_prompts.get(vote.context)),
            "first": (vote.payload_first, cache.arms.payload(cache.arms.number_at(duel.first_row))),
            "second": (vote.payload_second, cache.arms.payload(cache.arms.number_at(duel.second_row))),
            "extra": (dict(vote.extra) or None, None),
        }
        body = {
            name: value for name, (value, stored_value) in given.items() if value is not None and value != stored_value
        }
        if body:
            rows.append(DetailRow(duel.number, body))
    return rows


def append_revisions(tx: Transaction, cache: StudyCache, revisions: Mapping[int, AcceptedVote]) -> None:
    """Append rows that revise or undo rows of the log, by their numbers."""
    before = tx.counters.n_votes
    rows: list[VoteRow] = []
    for number, vote in revisions.items():
        (old,) = tx.votes_between(number - 1, number)
        rows.append(
            old._replace(
                sequence=before + len(rows) + 1,
                outcome=vote.outcome,
                voted_at=vote.voted_at,
                source=vote.source,
                response_seconds=vote.response_seconds,
                late=vote.late,
                revises=number,
                reason=vote.reason,
            )
        )
    tx.add_votes(rows)
    tx.counters.n_votes += len(rows)
    oldest = min(row.root for row in rows)
    outdated = [sequence for sequence in tx.snapshot_sequences() if sequence >= oldest]
    tx.drop_snapshots(outdated)
    cache.replay.store_snapshot(tx, cache.arms, before, force=bool(outdated))
