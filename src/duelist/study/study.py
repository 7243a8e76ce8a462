"""A study: arms, raters, and the votes they give, kept so that nothing that was acknowledged is ever lost.

    study = create_study("captions", storage="sqlite:///captions.db")
    study.add_arms(ids, features)                 # features are optional
    duel = study.ask(rater="ana")                 # the same duel, until it is told or its lease ends
    study.tell(duel.id, "first", rater="ana")     # again: no-op; another outcome: refused without revise=True

Any number of threads, processes and, with PostgreSQL, machines may do this at once on one study. A `Study` holds nothing
that is not in the storage, only copies that are brought up to date whenever it is used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from duelist.core.errors import InvalidInput, StorageCorrupted, UnknownArm
from duelist.policies import Policy, restore_policy
from duelist.study.administration import Owning
from duelist.study.analysis.plots.study_plots import StudyPlots
from duelist.study.analysis.study_stopping import StudyStopping
from duelist.study.asking.ask import Leased, Wanted, ask, holds
from duelist.study.asking.gold import gold_duel
from duelist.study.asking.limits import within_limits
from duelist.study.cache import Side
from duelist.study.export import Exporting
from duelist.study.imports.apply import Importing
from duelist.study.items.catalog import KnownArms
from duelist.study.log_queries import Serving
from duelist.study.records import Outcome, Source, StudyDuel, StudySettings, Vote
from duelist.study.storage import DuelRow, Storage, StudyRow, Transaction, VoteRow
from duelist.study.storage.write_queue import BUSY_SECONDS, waiting_for
from duelist.study.times import moment as _time
from duelist.study.validation import (
    checked_ids,
    checked_number,
    checked_outcome,
    checked_rater,
    checked_reason,
    checked_seconds,
    one_of,
)
from duelist.study.voting.tell import Told, tell, undo


class Study(Owning, Serving, Importing, Exporting, StudyStopping, StudyPlots):
    """A study in a storage; made by `create_study` and `load_study`.

    `clock` gives the seconds since 1970; it may go back, see `ask` and `tell`. Without one, PostgreSQL's own is the clock of all
    who share it, and with SQLite this machine's.
    """

    def __init__(self, storage: Storage, row: StudyRow, clock: Callable[[], float] | None = None) -> None:
        self._storage = storage
        self._id = row.id
        # Readers have copies and a queue of their own: nobody who asks or tells waits for a reading.
        self._writer = Side(row.settings)
        self._reader = Side(row.settings)
        self._clock = clock
        self.name = row.name
        self.settings: StudySettings = row.settings

    def __repr__(self) -> str:
        return f"Study({self.name!r}, policy={self.settings.policy!r})"

    def __len__(self) -> int:
        """Rows in the log."""
        with self._storage.viewing(self._id) as tx:
            return tx.counters.n_votes

    def __bool__(self) -> bool:
        """A study without votes is a study, though its length is 0."""
        return True

    # -- ask and tell --------------------------------------------------------------------

    def ask(
        self,
        rater: str,
        candidates: Sequence[str] | None = None,
        context: str | None = None,
        in_progress: Sequence[StudyDuel | int] = (),
    ) -> StudyDuel:
        """A duel for this rater, leased for `lease_seconds`.

        The rater has it until it is told: asking again returns the same duel. If the time runs out, the next rater who asks
        may get it, and a vote that comes late still counts. No pair is out twice at a time, unless `raters_per_duel` says so, and
        no rater is shown a pair again, unless `repeat_pairs` says so: `NoPairsLeft` tells that this rater is through.

        Parameters
        ----------
        rater
            Who will answer.
        candidates
            Ids of the arms to choose from; default: those of the context.
        context
            The group to ask in; default: one drawn at random among those with two arms in the game.
        in_progress
            Duels that the rater has in front of them: another one is wanted, so that it is there before they have answered.

        Of very many candidates (more than 16,384 with 16 features, 4,096 with 256) the policy looks at those that seem best
        to it and as many others, drawn anew for every duel: to compare all pairs would keep everybody waiting.
        """
        rater = checked_rater(rater)
        held = frozenset(checked_number(duel) for duel in in_progress)
        with self._writing() as tx:
            side, now = self._writer, self._now(tx)
            side.permit_asking(rater)

            def gate(out: list[Leased], wanted: Wanted) -> tuple[Wanted, DuelRow | None]:
                allowed = within_limits(tx, side.known, side.tally, out, rater, wanted, side.name)
                return allowed, gold_duel(tx, side.known, out, rater, wanted, now)

            wanted = self._wanted(candidates, context)._replace(in_progress=held)
            leased = ask(tx, side.known, rater, wanted, now, gate)
            return _shown(leased, side.known.arms, tx)

    def _wanted(self, candidates: Sequence[str] | None, context: str | None) -> Wanted:
        arms = self._writer.known.arms
        if context is not None and not arms.knows_context(context):
            raise UnknownArm(
                f"Context {context!r} is not in this study.",
                "Add its arms with `add_arms(..., contexts=...)`.",
                code="unknown_arm.context",
                field="context",
            )
        if candidates is None:
            return Wanted(context)
        numbers = arms.numbers(checked_ids(candidates))
        chosen = [arms.arm(int(number)) for number in numbers]
        stray = next((arm for arm in chosen if context is not None and arm.context != context), None)
        if stray is not None:
            raise InvalidInput(
                f"Candidate {stray.id!r} is in context {stray.context!r}, not in {context!r}.", "Leave one out."
            )
        return Wanted(context, np.array([arm.number for arm in chosen if not arm.retired], np.int64))

    def tell(
        self,
        duel: StudyDuel | int,
        outcome: Outcome | str | float,
        rater: str,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
        criterion: str | None = None,
    ) -> Vote:
        """A rater's answer to a duel; the vote as it stands in the log, which is durable when this returns.

        If in doubt whether a vote arrived, tell it again: the same vote is not counted twice. A different one is
        refused, unless `revise` says that the rater has changed their mind. A vote after the deadline counts, and is marked.

        Parameters
        ----------
        duel
            A duel that this rater was asked, or its id.
        outcome
            "first", "second", "tie", "both_bad" or "skip"; or, as policies are told it, 1, 0 or 0.5.
        rater
            Who answers.
        revise
            Whether an earlier, different vote of this rater on this duel may be replaced.
        source
            "human", "model" or "import".
        response_seconds
            How long the rater took, if you know better than the time from ask to tell.
        reason
            Why the rater thinks so, in their words.
        criterion
            Which of the study's criteria the answer is about, where it has any; see `tell_all`.
        """
        return self._tell(duel, {criterion: outcome}, rater, revise, source, response_seconds, reason)[0]

    def tell_all(
        self,
        duel: StudyDuel | int,
        outcomes: Mapping[str, Outcome | str | float],
        rater: str,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
    ) -> list[Vote]:
        """A rater's answers to a duel by several criteria, all of them or, after an error, none; see `tell`.

        `outcomes` has an outcome for each criterion, e.g. {"clear": "first", "short": "tie"}. The duel is the rater's until all
        of the study's criteria are answered.
        """
        if not isinstance(outcomes, Mapping) or not outcomes:
            raise InvalidInput(
                f"outcomes are {outcomes!r}.", "Give a mapping with an outcome for each criterion.", field="outcomes"
            )
        return self._tell(duel, outcomes, rater, revise, source, response_seconds, reason)

    def _tell(
        self,
        duel: StudyDuel | int,
        outcomes: Mapping[Any, Outcome | str | float],
        rater: str,
        revise: bool,
        source: Source | str,
        response_seconds: float | None,
        reason: str | None,
    ) -> list[Vote]:
        given = [
            Told(
                duel=checked_number(duel),
                rater=checked_rater(rater),
                outcome=checked_outcome(outcome),
                source=one_of(Source, "source", source),
                response_seconds=checked_seconds(response_seconds),
                revise=bool(revise),
                reason=checked_reason(reason),
                criterion=criterion,
            )
            for criterion, outcome in outcomes.items()
        ]
        with self._writing() as tx:
            side, now = self._writer, self._now(tx)
            return [_vote(*tell(tx, side.known, told, now, side.refused_vote(rater)), side) for told in given]

    def undo(self, duel: StudyDuel | int, rater: str, criterion: str | None = None) -> Vote:
        """Take back a rater's vote; the row of the log that says so. The duel is in the rater's hands again."""
        number, rater = checked_number(duel), checked_rater(rater)
        with self._writing() as tx:
            side = self._writer
            undone = undo(tx, side.known, number, rater, self._now(tx), criterion, side.refused_vote(rater))
            return _vote(*undone, side)

    # -- reading -------------------------------------------------------------------------

    def votes(self) -> list[Vote]:
        """The log, every row of it; `duelist.study.current_votes` leaves out what was revised or undone."""
        with self._reading() as tx:
            return _log(tx, self._reader)

    def pending(self) -> list[StudyDuel]:
        """The duels that are out, one entry for every rater who has one."""
        with self._reading() as tx:
            return [duel for duel, held in self._leases(tx) if held]

    def _leases(self, tx: Transaction) -> list[tuple[StudyDuel, bool]]:
        now, arms = self._now(tx), self._reader.known.arms
        return [(_shown(leased, arms, tx), holds(leased[0], now)) for leased in tx.open_leases()]

    def policy(self) -> Policy:
        """The policy as it stands after the whole log: a copy, with which you may do what you like."""
        with self._reading() as tx:
            return restore_policy(self._reader.known.fold.follow(tx, self._reader.known.arms).snapshot())

    def close(self) -> None:
        """Give back what the storage holds open."""
        self._storage.close()

    # -- inside --------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """One transaction that writes; what is known of the study then is `self._writer.known`."""
        with self._following(self._writer, self._storage.writing) as tx:
            yield tx
        self._resume_stalled_import(tx.waiting)

    @contextmanager
    def _changing(self) -> Iterator[Transaction]:
        """As `_writing`, refused where the study was put away."""
        with self._writing() as tx:
            self._writer.permit_changes()
            yield tx

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        """One transaction that reads; what is known of the study then is `self._reader.known`. Nobody who writes waits for it."""
        with self._following(self._reader, self._storage.viewing) as tx:
            yield tx

    @contextmanager
    def _following(
        self, side: Side, begin: Callable[[int], AbstractContextManager[Transaction]]
    ) -> Iterator[Transaction]:
        """A transaction, with the arms brought up to date.

        After an error or an interruption what was learned meanwhile may be half of something, or was not written: it is forgotten.
        """
        with waiting_for(side.turns, seconds=BUSY_SECONDS, place=repr(self.name)):
            revision = side.known.arms.revision
            try:
                with begin(self._id) as tx:
                    if side.follow(tx):
                        self.name, self.settings = side.name, side.known.settings
                    yield tx
            except BaseException:
                side.known.forget()
                if side.known.arms.revision != revision:
                    side.known.arms.forget()
                raise

    def _vote_from(self, row: VoteRow, duel: DuelRow) -> Vote:
        return _vote(row, duel, self._reader)

    def _now(self, tx: Transaction | None = None) -> int:
        """The time in microseconds: the storage's where it tells it, so that all who share it go by one clock."""
        if self._clock is not None:
            return round(self._clock() * 1e6)
        return round(time.time() * 1e6) if tx is None else tx.now


def _log(tx: Transaction, side: Side) -> list[Vote]:
    duels = {duel.number: duel for duel in tx.duels_since(0)}
    rows = tx.votes_since(0)
    lost = next((row for row in rows if row.duel not in duels), None)
    if lost is not None:
        raise StorageCorrupted(
            f"The storage is damaged: vote {lost.sequence} is on duel {lost.duel}, which is gone.",
            "Go on with a copy from a backup.",
        )
    return [_vote(row, duels[row.duel], side) for row in rows]


def _shown(leased: Leased, arms: KnownArms, tx: Transaction) -> StudyDuel:
    lease, duel = leased
    return StudyDuel(
        id=duel.number,
        first=arms.shown(duel.first_row),
        second=arms.shown(duel.second_row),
        rater=lease.rater,
        asked_at=_time(lease.asked_at),
        deadline=_time(lease.deadline),
        context=duel.context,
        chosen_by=duel.chosen_by,
        propensity=duel.propensity,
        swapped=duel.swapped,
        layer=duel.layer,
        share=duel.share,
        kind=duel.kind,
        prompt=arms.prompt(tx, duel.context),
    )


def _vote(row: VoteRow, duel: DuelRow, side: Side) -> Vote:
    arms = side.known.arms
    said = side.raters.get(row.rater) if row.rater is not None else None
    return Vote(
        sequence=row.sequence,
        duel_id=row.duel,
        outcome=row.outcome,
        rater=row.rater,
        voted_at=None if row.voted_at is None else _time(row.voted_at),
        first=arms.id_of(arms.owner(duel.first_row)),
        second=arms.id_of(arms.owner(duel.second_row)),
        context=duel.context,
        source=row.source,
        response_seconds=row.response_seconds,
        late=row.late,
        revises=row.revises,
        chosen_by=duel.chosen_by,
        propensity=duel.propensity,
        reason=row.reason,
        criterion=row.criterion,
        kind=duel.kind,
        expected=duel.expected,
        excluded=said is not None and said.excluded,
    )
