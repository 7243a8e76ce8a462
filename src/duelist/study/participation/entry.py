"""Entering and leaving a study: places, URL parameters, and how participation ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from duelist.core.errors import InvalidInput, ParticipationEnded, RaterExists, StudyFull, StudyNotOpen
from duelist.study.base import StudyBase
from duelist.study.cache import StudyCache
from duelist.study.participation.places import finds_place, put_participation, release_idle
from duelist.study.participation.recruiting import MAX_PARAMETERS, Recruiting, checked_parameters
from duelist.study.participation.state import Participation
from duelist.study.records import StudyState
from duelist.study.storage import LeaseState, RaterRow, Transaction
from duelist.study.validation import checked_rater


@dataclass(frozen=True, slots=True)
class Departure:
    """How a rater's participation ended, with the completion code and the address to return to."""

    kind: str
    code: str | None = None
    redirect: str | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """What someone without a personal link may do: whether the study is open to anyone, and how they enter.

    `rater` is the name that their participant's id gives them, `returns`
    whether they have entered before, and `departure` is set if all places are
    taken.
    """

    state: StudyState
    is_open_to_anyone: bool
    needs_participant: bool
    asks_name: bool
    rater: str | None
    returns: bool
    departure: Departure | None


class StudyEntry(StudyBase):
    """The part of `Study` that lets participants in and out."""

    def enter(self, rater: str, parameters: Mapping[str, str] | None = None, invited: bool = False) -> None:
        """Let a participant in, and record the URL parameters with which they came.

        A participant who came from a recruiting service with an id may come
        back with the same id; another name that is taken raises RaterExists.
        StudyFull means that all places are taken.

        Parameters
        ----------
        rater
            Their name: with `Recruiting.participant`, the value of that URL
            parameter.
        parameters
            All parameters of the address. Those that are recorded already keep
            their value.
        invited
            Whether the owner has invited them by name: they take no place, and
            need no id.
        """
        rater, given = checked_rater(rater), checked_parameters(parameters or {})

        def enter_now(tx: Transaction) -> None:
            cache, now = self._write_cache, self._now(tx)
            cache.check_may_change()
            if not invited:
                _admit(tx, cache, rater, given, now)
            row = cache.raters.get(rater) or RaterRow(rater, {}, False, False, False, None, now)
            before = Participation.from_json(row.participation)
            participant = cache.settings.recruiting.participant or ""
            if participant in given and before.parameters.get(participant, given[participant]) != given[participant]:
                raise RaterExists(f"Rater {rater!r} came with another {participant}.", "Enter under another name.")
            kept = dict(list({**before.parameters, **given, **before.parameters}.items())[:MAX_PARAMETERS])
            entered_at = before.entered_at if invited or before.entered_at is not None else now
            ending = None if before.ending == "timed_out" and not invited else before.ending
            after = replace(before, parameters=kept, entered_at=entered_at, ending=ending)
            if after != before:
                put_participation(tx, cache, row, after)

        self._write(enter_now)

    def entry(self, parameters: Mapping[str, str] | None = None) -> Admission:
        """Return what someone who opens the address with these URL parameters may do."""
        given = checked_parameters(parameters or {})

        def look(tx: Transaction) -> Admission:
            cache = self._write_cache
            recruiting = cache.settings.recruiting
            release_idle(tx, cache, self._now(tx))
            value = None if recruiting.participant is None else given.get(recruiting.participant)
            rater = checked_rater(value) if value and value.strip() else None
            row = None if rater is None else cache.raters.get(rater)
            returns = row is not None and _is_same_person(cache, row, given)
            has_place = finds_place(cache, row if returns else None)
            departure = None if has_place else Departure("full", recruiting.full.code, recruiting.full.address(given))
            return Admission(
                cache.state,
                cache.settings.open_registration,
                recruiting.participant is not None,
                recruiting.ask_name,
                rater,
                returns,
                departure,
            )

        return self._write(look)

    def departure(self, rater: str) -> Departure | None:
        """Return how a rater's participation ended, or None if it goes on."""
        with self._reading():
            cache = self._read_cache
            row = cache.raters.get(checked_rater(rater))
        if row is None:
            return None
        state = Participation.from_json(row.participation)
        kind = "screened_out" if row.blocked else state.ending
        if kind is None:
            return None
        ending = cache.settings.recruiting.ending(kind)
        return Departure(kind, ending.code, ending.address(state.parameters))

    def _complete(self, rater: str) -> None:
        """Record that a rater has compared all pairs that they were to compare, if they have voted and no pair is pending with them."""
        with self._reading():
            row = self._read_cache.raters.get(rater)
            is_recorded = row is not None and row.participation is not None
            if self._read_cache.settings.recruiting == Recruiting() and not is_recorded:
                return
        if self.departure(rater) is not None:
            return

        def complete(tx: Transaction) -> None:
            cache = self._write_cache
            row = cache.raters.get(rater) or RaterRow(rater, {}, False, False, False, None, self._now(tx))
            state = Participation.from_json(row.participation)
            is_pending = any(lease.state == LeaseState.OPEN for lease in tx.leases_of(rater))
            if state.ending is None and not is_pending and tx.first_vote_of(rater) is not None:
                put_participation(tx, cache, row, replace(state, ending="completed"))

        self._write(complete)


def check_takes_part(tx: Transaction, cache: StudyCache, rater: str) -> None:
    """Raise ParticipationEnded for raters who are not eligible or timed out, unless a timed-out rater finds a free place."""
    row = cache.raters.get(rater)
    state = Participation.from_json(None if row is None else row.participation)
    if row is None or state.ending not in ("screened_out", "timed_out", "full"):
        return
    if state.ending == "timed_out" and finds_place(cache, row):
        put_participation(tx, cache, row, replace(state, ending=None))
        return
    raise ParticipationEnded(
        f"The participation of {rater!r} has ended ({state.ending.replace('_', ' ')}).",
        "Give the study more places." if state.ending == "timed_out" else "Ask another rater.",
        code=f"participation_ended.{state.ending}",
    )


def _admit(tx: Transaction, cache: StudyCache, rater: str, parameters: Mapping[str, str], now: int) -> None:
    """Raise an error unless a person without a link may enter under that name; earlier participants may return."""
    if cache.state is not StudyState.OPEN:
        raise StudyNotOpen(
            f"Study {cache.name!r} is {cache.state.value}.", "Open it again with `open`.", study=cache.name
        )
    participant = cache.settings.recruiting.participant
    if participant is not None and checked_rater(parameters.get(participant) or " ") != rater:
        raise InvalidInput(f"rater is {rater!r}.", f"Give the value of {participant}.", field="rater")
    row = cache.raters.get(rater)
    returns = row is not None and _is_same_person(cache, row, parameters)
    if not returns and (row is not None or tx.leases_of(rater) or tx.first_vote_of(rater) is not None):
        raise RaterExists(f"There is a rater {rater!r} already.", "Choose another name.", field="name")
    release_idle(tx, cache, now)
    if not finds_place(cache, cache.raters[rater] if returns else None):
        raise StudyFull(
            f"All {cache.settings.recruiting.places} places of study {cache.name!r} are taken.",
            "Raise `places` in the setting recruiting, or wait until a participant drops out.",
            study=cache.name,
        )


def _is_same_person(cache: StudyCache, row: RaterRow, parameters: Mapping[str, str]) -> bool:
    """Whether a rater entered with the participant's id that these URL parameters have."""
    participant = cache.settings.recruiting.participant
    state = Participation.from_json(row.participation)
    if participant is None or state.entered_at is None or row.erased:
        return False
    return state.parameters.get(participant) == parameters.get(participant) is not None
