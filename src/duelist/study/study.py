"""A live study: arms, raters, and the votes they give, stored durably.

    study = create_study("captions", storage="sqlite:///captions.db")
    study.add_arms(ids, features)                 # features are optional
    duel = study.ask(rater="ana")                 # the same duel until ana votes or the lease expires
    study.tell(duel.id, "first", rater="ana")     # again: no change; another outcome needs revise=True

Threads, processes and, with PostgreSQL, machines may use one study at the same time. A `Study` is only a cache of the storage, refreshed
on every call.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from duelist.core.errors import InvalidInput, LimitReached, NoPairsLeft, UnknownArm
from duelist.policies import Policy
from duelist.study.administration.lifecycle import StudyLifecycle
from duelist.study.analysis.plots.study_plots import StudyPlots
from duelist.study.analysis.study_stopping import StudyStopping
from duelist.study.asking.ask import ask
from duelist.study.asking.explain import Explanation, explain
from duelist.study.asking.leases import AskRequest
from duelist.study.export import StudyExport
from duelist.study.imports.apply import StudyImport
from duelist.study.log import duel_from_rows, vote_from_rows
from duelist.study.participation.entry import StudyEntry, check_takes_part
from duelist.study.participation.exclusion import AutomaticExclusion
from duelist.study.participation.steps import StudySteps
from duelist.study.records import Outcome, Source, StudyDuel, Vote
from duelist.study.storage import Transaction, VoteRow
from duelist.study.validation import (
    checked_duel_id,
    checked_ids,
    checked_outcome,
    checked_rater,
    checked_reason,
    checked_seconds,
    one_of,
)
from duelist.study.voting.tell import find_duel, new_vote, release, tell, undo


class Study(
    StudyLifecycle, AutomaticExclusion, StudyEntry, StudySteps, StudyImport, StudyExport, StudyStopping, StudyPlots
):
    """A study in a storage; see `create_study` and `load_study`.

    `clock` returns seconds since 1970 and may go backwards. The default is the
    database's clock with PostgreSQL, this machine's with SQLite.
    """

    def __repr__(self) -> str:
        return f"Study({self.name!r}, policy={self.settings.policy!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- ask and tell --------------------------------------------------------------------

    def ask(
        self,
        rater: str,
        candidates: Sequence[str] | None = None,
        context: str | None = None,
        in_progress: Sequence[StudyDuel | int] = (),
        secret: bytes = b"",
    ) -> StudyDuel:
        """Return a duel for this rater, leased for `lease_seconds`.

        The duel is pending until the rater votes; asking again returns the same
        one. When the lease expires, the next rater who asks may get the duel,
        and a late vote still counts. A pair is pending once at a time, unless
        `raters_per_duel` allows more, and a rater sees a pair once, unless
        `repeat_pairs` allows more. `NoPairsLeft` means that this rater has
        voted on every pair.

        Parameters
        ----------
        rater
            Who votes.
        candidates
            Ids of the arms to choose from; default: those of the context.
        context
            The context to ask in; default: a random one with at least two
            active arms.
        in_progress
            Duels that this rater is working on; another one is returned, so
            that it is ready before they vote.
        secret
            Bytes that raters do not know, for the randomness of a new duel.
            Without them, a rater who knows the seed (0 by default) and counts
            duels and votes can compute which pairs are gold or random. The
            study server passes its own for raters.

        Of very many candidates (more than 16,384 with 16 features, 4,096 with
        256) the policy considers half those it estimates best and half random
        ones, drawn again for each duel.
        """
        rater = checked_rater(rater)
        working_on = frozenset(checked_duel_id(duel) for duel in in_progress)
        entropy = (int.from_bytes(secret),) if secret else ()

        def ask_now(tx: Transaction) -> StudyDuel:
            cache, now = self._write_cache, self._now(tx)
            cache.check_may_ask(rater)
            check_takes_part(tx, cache, rater)
            request = self._request(candidates, context)._replace(in_progress=working_on, entropy=entropy)
            return duel_from_rows(ask(tx, cache, rater, request, now), cache.arms, tx)

        try:
            return self._write(ask_now)
        except (NoPairsLeft, LimitReached):
            if candidates is None and context is None:
                self._complete(rater)
            raise

    def _request(self, candidates: Sequence[str] | None, context: str | None) -> AskRequest:
        arms = self._write_cache.arms
        if context is not None and not arms.has_context(context):
            raise UnknownArm(
                f"Context {context!r} is not in this study.",
                "Add its arms with `add_arms(..., contexts=...)`.",
                code="unknown_arm.context",
                field="context",
            )
        if candidates is None:
            return AskRequest(context)
        chosen = [arms.arm(int(number)) for number in arms.numbers(checked_ids(candidates))]
        stray = next((arm for arm in chosen if context is not None and arm.context != context), None)
        if stray is not None:
            raise InvalidInput(
                f"Candidate {stray.id!r} is in context {stray.context!r}, not in {context!r}.",
                "Name candidates of one context.",
                field="candidates",
            )
        return AskRequest(context, np.array([arm.number for arm in chosen if not arm.retired], np.int64))

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
        """Record a rater's vote on a duel and return it; it is durable when this returns.

        If you do not know whether a vote arrived, tell it again: the same vote
        counts once. A different one raises VoteConflict, unless `revise` is
        set. A vote after the deadline counts and is marked as late.

        Parameters
        ----------
        duel
            A duel that this rater was asked, or its id.
        outcome
            "first", "second", "tie", "both_bad" or "skip"; or 1, 0 or 0.5, as
            for `Policy.tell`.
        rater
            Who votes.
        revise
            Replace an earlier, different vote of this rater on this duel.
        source
            "human", "model" or "import".
        response_seconds
            How long the rater took, if you know better than the time from ask
            to tell.
        reason
            Why, in the rater's words.
        criterion
            The criterion that the vote is on, if the study has criteria; see
            `tell_all`.
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
        """Record a rater's votes on several criteria of a duel, all or none; see `tell`.

        `outcomes` maps criteria to outcomes, as in {"clear": "first", "short":
        "tie"}. The duel is pending until the rater has voted on all criteria of
        the study.
        """
        if not isinstance(outcomes, Mapping) or not outcomes:
            raise InvalidInput(
                f"outcomes are {outcomes!r}.", "Give a mapping with an outcome for each criterion.", field="outcomes"
            )
        return self._tell(duel, outcomes, rater, revise, source, response_seconds, reason)

    def tell_batch(
        self,
        votes: Iterable[tuple[StudyDuel | int, Outcome | str | float, str]],
        revise: bool = False,
        source: Source | str = Source.HUMAN,
    ) -> list[Vote]:
        """Record many votes, given as (duel, outcome, rater), in one transaction: all or none; see `tell`."""
        new = [
            new_vote(
                checked_duel_id(duel), checked_rater(rater), checked_outcome(outcome), one_of(Source, "source", source)
            )
            for duel, outcome, rater in votes
        ]
        return self._record(new, revise)

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
        new = [
            new_vote(
                duel=checked_duel_id(duel),
                rater=checked_rater(rater),
                outcome=checked_outcome(outcome),
                source=one_of(Source, "source", source),
                response_seconds=checked_seconds(response_seconds),
                reason=checked_reason(reason),
                criterion=criterion,
            )
            for criterion, outcome in outcomes.items()
        ]
        return self._record(new, revise)

    def _record(self, new: list[VoteRow], revise: bool) -> list[Vote]:
        def tell_now(tx: Transaction) -> list[Vote]:
            cache, now = self._write_cache, self._now(tx)
            return [vote_from_rows(*tell(tx, cache, vote, now, bool(revise)), cache) for vote in new]

        recorded = self._write(tell_now)
        self._apply_rules(vote.rater for vote in new if vote.rater is not None and vote.source is Source.HUMAN)
        return recorded

    def undo(self, duel: StudyDuel | int, rater: str, criterion: str | None = None) -> Vote:
        """Undo a rater's vote and return the row of the log that records it; the duel is pending with the rater again."""
        duel_id, rater = checked_duel_id(duel), checked_rater(rater)

        def undo_now(tx: Transaction) -> Vote:
            cache = self._write_cache
            return vote_from_rows(*undo(tx, cache, duel_id, rater, self._now(tx), criterion), cache)

        return self._write(undo_now)

    def release(self, duel: StudyDuel | int, rater: str) -> None:
        """Return a duel without a vote, so that the next rater who asks may get it; released duels stay released."""
        duel_id, rater = checked_duel_id(duel), checked_rater(rater)
        self._write(lambda tx: release(tx, duel_id, rater))

    # -- the policy ----------------------------------------------------------------------

    def policy(self) -> Policy:
        """Return a copy of the policy after the whole log."""
        with self._reading() as tx:
            return copy.deepcopy(self._read_cache.replay.refresh(tx, self._read_cache.arms))

    def explain(self, duel: StudyDuel | int, labels: bool = False) -> Explanation:
        """Explain a duel: who chose it, and what the policy estimates now of its arms and the other candidates.

        With `labels`, arms are named by their id and the beginning of their
        text.
        """
        duel_id = checked_duel_id(duel)
        with self._reading() as tx:
            cache = self._read_cache
            return explain(find_duel(tx, duel_id), cache.arms, cache.replay.refresh(tx, cache.arms), labels)
