"""Votes from elsewhere, into the log: each with a duel of its own, with arms and contexts where there are none yet.

A file is gone through twice: once for what it has, of which only marks are remembered (see `_identity`), and once for what
is new in it. So memory does not grow with its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import InvalidInput
from duelist.policies import Policy
from duelist.study.asking.ask import Known
from duelist.study.errors import unknown_arm
from duelist.study.formats import Comparison, context_id
from duelist.study.imports.deduplication import Plan, Scan, mark_of
from duelist.study.items.catalog import MOST_OWN
from duelist.study.records import ChosenBy
from duelist.study.replay import learn
from duelist.study.storage import ContextRow, DetailRow, DuelRow, Lesson, Transaction, VoteRow
from duelist.study.times import microseconds
from duelist.study.validation import checked_text

Described = tuple[str, Any, str | None]
"""Id, payload and context of an arm."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of an import."""

    added: int
    """Votes that are new in the log."""
    known: int
    """Votes that were in the log already, and were not counted again."""
    revised: int = 0
    """Votes of the log that the file revises or undoes."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that are no votes of their own, and how many: `revised` by a later row, `undone`."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Fields that a log has no place for, and how many of the votes that were added had something in them."""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    """Votes that were added and teach nothing as the study is: of a `rater left out`, or on a criterion that it does not ask."""

    def __str__(self) -> str:
        parts = [f"{self.added} {'vote' if self.added == 1 else 'votes'} added"]
        if self.known:
            parts.append(f"{self.known} were in the log already, and are not counted again")
        if self.revised:
            parts.append(f"{self.revised} of the log revised")
        parts += [f"{count} left out: {reason}" for reason, count in self.left_out.items()]
        if self.dropped:
            parts.append("without " + ", ".join(f"{name} ({count})" for name, count in self.dropped.items()))
        parts += [f"{count} set aside: {reason}" for reason, count in self.set_aside.items()]
        return "; ".join(parts)


# -- out of the file ---------------------------------------------------------------------


def settled(comparisons: Iterable[Comparison]) -> Iterator[Comparison]:
    """Comparisons with a context each, where there is a prompt: one without a name is named for what it says."""
    for one in comparisons:
        yield replace(one, context=context_id(one.prompt)) if one.context is None and one.prompt is not None else one


@dataclass
class FileArms:
    """The arms of a file, for a study that has none; `free` ones need no features."""

    free: bool = False
    payloads: dict[str, Any] = field(default_factory=dict)
    varied: set[str] = field(default_factory=set)
    """Arms that were shown as different things, like a model by its answers."""
    contexts: dict[str, str | None] = field(default_factory=dict)
    alone: bool = True
    """Whether each was met in one context only."""

    def take(self, row: Comparison) -> None:
        """One more row."""
        for arm, payload in ((row.first, row.payload_first), (row.second, row.payload_second)):
            if self.contexts.setdefault(checked_text("arm", arm), row.context) != row.context:
                self.alone = False
            if payload is None or arm in self.varied or self._too_many:
                continue
            if self.payloads.setdefault(arm, payload) != payload:
                self.varied.add(arm)
                del self.payloads[arm]

    def described(self) -> tuple[list[Described], NDArray[np.float32]]:
        """Id, payload and context of each, and their features: none, or, for a policy that wants some, one each.

        An arm in one context belongs to it (an answer to a prompt); one in many (a model) belongs to none.
        """
        if self._too_many:
            raise InvalidInput(
                f"The file compares {len(self.contexts)} arms, too many for a feature each, which the policy "
                "of this study wants.",
                "Add them first, with their features, or choose a policy that does not need features.",
            )
        described = [(arm, self.payloads.get(arm), c if self.alone else None) for arm, c in self.contexts.items()]
        n = len(described)
        return described, np.empty((n, 0), np.float32) if self.free else np.eye(n, dtype=np.float32)

    @property
    def _too_many(self) -> bool:
        return not self.free and len(self.contexts) > MOST_OWN


def _changed() -> InvalidInput:
    return InvalidInput("The file was changed while it was read.", "Import it again when it is complete.")


def wanted(rows: Iterable[Comparison], scan: Scan, plan: Plan) -> Iterator[Comparison]:
    """The votes of a file that are new, as they stand, in the order in which they were first given."""
    marks = [row.mark for row in scan.rows]
    count = 0
    for place, row in enumerate(rows):
        count += 1
        if marks[place : place + 1] != [mark_of(row)]:
            raise _changed()
        if place in plan.new:
            last = scan.last.get(place)
            texts = {name: getattr(row, name) for name in ("prompt", "payload_first", "payload_second", "extra")}
            yield row if last is None else replace(last, **texts)
    if count != len(marks):
        raise _changed()


# -- into the log ------------------------------------------------------------------------


def check_vote(vote: Comparison, arms: frozenset[str] | None) -> None:
    """Refuse what cannot be in a log; `arms` are the ids of those in the study, None if it takes what comes."""
    for what in ("rater", "context", "reason", "criterion"):
        text = getattr(vote, what)
        if text is not None:
            checked_text(what, text)
    if vote.first == vote.second:
        raise InvalidInput(f"A vote compares {vote.first!r} with itself.", "Leave it out.")
    for arm in (vote.first, vote.second):
        if arms is not None and arm not in arms:
            raise unknown_arm(arm)


def add_votes(tx: Transaction, known: Known, votes: list[Comparison], now: int, batch: int) -> None:
    """Add votes that were checked, each with a duel of its own. `now` stands in for the time of asking where there is none.

    `batch` is the number of the import. The policy places each where it belongs after those before it, so that history teaches
    as if it had been asked for.
    """
    policy = known.fold.follow(tx, known.arms)
    before = tx.counters.n_votes
    duels: list[DuelRow] = []
    rows: list[VoteRow] = []
    for vote in votes:
        duel, row = _rows(tx, known, policy, vote, now, batch)
        if known.fold.counts(row.rater, row.criterion):
            learn(policy, _lesson(duel, row), known.arms)
        duels.append(duel)
        rows.append(row)
        tx.counters.n_duels, tx.counters.n_votes = duel.number, row.sequence
    tx.add_duels(duels)
    tx.add_votes(rows)
    tx.add_details(_details(tx, known, votes, duels))
    known.fold.learned_until(tx.counters.n_votes)
    known.fold.keep(tx, known.arms, before)


def _rows(
    tx: Transaction, known: Known, policy: Policy, vote: Comparison, now: int, batch: int
) -> tuple[DuelRow, VoteRow]:
    """The duel and the row of the log of one vote."""
    arms = known.arms
    first, second = (int(row) for row in arms.newest_rows(arms.numbers([vote.first, vote.second])))
    layer, share = policy.assign_layer(arms.compared(first, second))
    time = None if vote.voted_at is None else microseconds(vote.voted_at)
    duel = DuelRow(
        number=tx.counters.n_duels + 1,
        first_row=first,
        second_row=second,
        context=vote.context,
        chosen_by=ChosenBy.IMPORT,
        propensity=vote.propensity,
        swapped=False,
        layer=int(layer),
        share=float(share),
        asked_at=now if time is None else time,
        free=0,
    )
    sequence = tx.counters.n_votes + 1
    row = VoteRow(
        sequence=sequence,
        duel=duel.number,
        rater=vote.rater,
        outcome=vote.outcome,
        voted_at=time,
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


def _lesson(duel: DuelRow, row: VoteRow) -> Lesson:
    return Lesson(
        row.sequence, row.root, row.outcome, duel.first_row, duel.second_row, duel.layer, duel.share, row.criterion
    )


def _details(tx: Transaction, known: Known, votes: list[Comparison], duels: list[DuelRow]) -> list[DetailRow]:
    """What is known of votes and is not in the rows of their arms and contexts; contexts that have no payload get theirs."""
    prompts: dict[str, Any] = {}
    for vote in votes:
        if vote.context is not None and vote.prompt is not None:
            prompts.setdefault(vote.context, vote.prompt)
    there = tx.contexts(list(prompts))
    fresh = {name: prompt for name, prompt in prompts.items() if name not in there}
    if fresh:
        tx.counters.arms_revision += 1
        tx.put_contexts([ContextRow(name, prompt, tx.counters.arms_revision) for name, prompt in fresh.items()])
        known.arms.follow(tx)
    shown = fresh | there
    rows = []
    for vote, duel in zip(votes, duels, strict=True):
        own = {
            "prompt": (vote.prompt, None if vote.context is None else shown.get(vote.context)),
            "first": (vote.payload_first, known.arms.payload(known.arms.owner(duel.first_row))),
            "second": (vote.payload_second, known.arms.payload(known.arms.owner(duel.second_row))),
            "extra": (dict(vote.extra) or None, None),
        }
        body = {name: given for name, (given, elsewhere) in own.items() if given is not None and given != elsewhere}
        if body:
            rows.append(DetailRow(duel.number, body))
    return rows


def revise(tx: Transaction, known: Known, revisions: Mapping[int, Comparison]) -> int:
    """Revise or undo rows of the log, by their numbers, as later rows of a file say; how many."""
    if not revisions:
        return 0
    before = tx.counters.n_votes
    rows: list[VoteRow] = []
    for number, vote in revisions.items():
        (old,) = tx.votes_between(number - 1, number)
        rows.append(
            old._replace(
                sequence=before + len(rows) + 1,
                outcome=vote.outcome,
                voted_at=None if vote.voted_at is None else microseconds(vote.voted_at),
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
    known.fold.keep(tx, known.arms, before, anyway=bool(outdated))
    return len(rows)
