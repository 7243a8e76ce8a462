"""What owners do: open and pause a study, limit it, block and erase raters, set gold pairs, ask why.

Everything here may be repeated: what is so already stays so. What counts is in the storage with the log, so that the policy is
the same function of it on every machine: to leave a rater out is a flag that the fold of the log obeys, and snapshots from after
the rater's first vote are dropped with it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.archive import write_archive
from duelist.study.asking.explain import Explanation, why
from duelist.study.cache import Side
from duelist.study.records import GoldPair, Outcome, Rater, StudyDuel, StudySettings, StudyState
from duelist.study.settings import changed_settings
from duelist.study.storage import LeaseState, RaterRow, Storage, Transaction
from duelist.study.validation import checked_number, checked_outcome, checked_rater, checked_text
from duelist.study.voting.tell import find_duel

_ANSWERS: Final = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD)
_AS_IT_IS: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class Erasure:
    """What became of a rater who was erased: the made-up name, None if there was nobody of that name, and the votes kept."""

    name: str | None
    votes: int


class _Ahead(NamedTuple):
    """A snapshot made ahead of time: with these raters left out, after that row of the log."""

    counting_revision: int
    excluded: frozenset[str]
    sequence: int
    body: bytes


class Owning(ABC):
    """The owner's half of `Study`."""

    _storage: Storage
    _id: int
    _writer: Side
    _reader: Side
    name: str
    settings: StudySettings

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """One transaction that writes."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Transaction]:
        """One transaction that writes, refused where the study was put away."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Transaction]:
        """One transaction that reads."""

    @abstractmethod
    def _now(self) -> int:
        """Microseconds since 1970."""

    def _look_again(self) -> None:
        """Show what was changed also in `name` and `settings`."""
        with self._reading():
            pass

    # -- the study -----------------------------------------------------------------------

    @property
    def state(self) -> StudyState:
        """Open, paused, closed or archived."""
        with self._reading():
            return self._reader.state

    def open(self) -> None:
        """Ask and take votes again, whatever the state was."""
        self._set_state(StudyState.OPEN)

    def pause(self) -> None:
        """Ask nothing new. Answers to duels that are out still count."""
        self._set_state(StudyState.PAUSED)

    def end(self) -> None:
        """Ask nothing and take no more votes (state "closed"). `close` is something else: it gives back connections."""
        self._set_state(StudyState.ENDED)

    def archive(self) -> None:
        """Keep the study as it is, for reading only, and out of the list of studies (state "archived")."""
        self._set_state(StudyState.ARCHIVED)

    def _set_state(self, state: StudyState) -> None:
        with self._writing() as tx:
            row = tx.study()
            if row.state is not state:
                tx.put_study(row.name, row.settings, state)
                tx.counters.revision += 1

    def rename(self, name: str) -> None:
        """Another name; StudyExists if another study in this storage has it."""
        checked_text("name", name)
        with self._writing() as tx:
            row = tx.study()
            if row.name != name:
                tx.put_study(name, row.settings, row.state)
                tx.counters.revision += 1
        self._look_again()

    def change(self, **settings: Any) -> StudySettings:
        """Change settings of `create_study`; all settings as they are then. Policy, its settings and the seed are fixed."""
        with self._changing() as tx:
            row = tx.study()
            changed = changed_settings(row.settings, settings, has_votes=tx.counters.n_votes > 0)
            if changed != row.settings:
                tx.put_study(row.name, changed, row.state)
                tx.counters.revision += 1
        self._look_again()
        return self.settings

    def limit(
        self,
        total: int | None = _AS_IT_IS,
        per_pair: int | None = _AS_IT_IS,
        per_rater: int | None = _AS_IT_IS,
    ) -> StudySettings:
        """Ask no more when there are so many votes: in total, on a pair, of a rater. None lifts a limit; what is not given stays.

        Votes that count and duels that are out are counted, gold and repeated duels are not.
        """
        given = {"max_votes": total, "max_votes_per_pair": per_pair, "max_votes_per_rater": per_rater}
        return self.change(**{name: value for name, value in given.items() if value is not _AS_IT_IS})

    # -- raters --------------------------------------------------------------------------

    def rater(self, name: str) -> Rater:
        """What was said of a rater."""
        with self._reading():
            row = self._reader.raters.get(checked_rater(name))
            return Rater(name) if row is None else _rater(row)

    def rater_records(self) -> list[Rater]:
        """The raters of whom something was said: attributes, blocked, left out, erased."""
        with self._reading():
            return [_rater(row) for row in self._reader.raters.values()]

    def describe_rater(self, name: str, /, **attributes: Any) -> Rater:
        """Keep attributes of a rater, say `age=31`; they are added to those that are there, None takes one away."""
        _check_json(attributes)
        with self._changing() as tx:
            before = self._row(name)
            kept = {key: value for key, value in {**before.attributes, **attributes}.items() if value is not None}
            if before.name not in self._writer.raters or kept != before.attributes:
                tx.put_rater(before._replace(attributes=kept))
                tx.counters.revision += 1
        return self.rater(name)

    def block(self, rater: str, keep_votes: bool = False) -> Rater:
        """Ask a rater no more, take no votes from them, and leave those there are out of everything, or, with `keep_votes`, in.

        Duels that they have are given back. `unblock` takes it all back: the policy is then to the bit what it would be had they
        never been blocked. `leaderboard()` shows the study without them from now on, `leaderboard(everyone=True)` with them.
        """
        ahead = self._ahead(rater, excluded=not keep_votes)
        with self._changing() as tx:
            before = self._row(rater)
            at = self._now() if before.blocked_at is None else before.blocked_at
            self._say(tx, before._replace(blocked=True, excluded=not keep_votes, blocked_at=at), ahead)
            _give_back(tx, rater)
        return self.rater(rater)

    def reinstate(self, rater: str) -> Rater:
        """Ask a rater again, and count their votes again, as if nothing had been."""
        ahead = self._ahead(rater, excluded=False)
        with self._changing() as tx:
            self._say(tx, self._row(rater)._replace(blocked=False, excluded=False, blocked_at=None), ahead)
        return self.rater(rater)

    def _ahead(self, rater: str, excluded: bool) -> _Ahead | None:
        """Fold the log anew before anybody has to wait for it; None where nothing changes."""
        with self._reading() as tx:
            now = frozenset(row.name for row in self._reader.raters.values() if row.excluded)
            then = now | {checked_rater(rater)} if excluded else now - {rater}
            first = tx.first_vote_of(rater) if then != now else None
            known = self._reader.known
            body = None if first is None else known.fold.without(tx, known.arms, then, first)
            return None if body is None else _Ahead(tx.counters.counting_revision, then, tx.counters.n_votes, body)

    def erase_rater(self, name: str) -> Erasure:
        """Forget who a rater is: a made-up name takes the place of theirs, their attributes and reasons go; their votes stay.

        There is no way back. Archives, exports and backups that were made before keep the name; make them anew.
        """
        checked_rater(name)
        with self._changing() as tx:
            row = self._writer.raters.get(name)
            if row is None and not tx.leases_of(name) and tx.first_vote_of(name) is None:
                return Erasure(None, 0)
            if row is not None and row.erased:
                return Erasure(name, _votes_of(tx, name))
            if tx.staged():
                raise InvalidInput(
                    f"An import is being taken in, which may name {name!r}.", "Erase them when it is in the log."
                )
            _give_back(tx, name)
            made_up = self._made_up_name(tx)
            tx.erase_rater(name, made_up)
            tx.put_rater(self._row(name)._replace(name=made_up, attributes={}, erased=True))
            tx.counters.revision += 1
            tx.counters.counting_revision += 1  # whoever keeps a copy of the log looks at it again
            erased = Erasure(made_up, _votes_of(tx, made_up))
        self._storage.scrub()
        return erased

    def _made_up_name(self, tx: Transaction) -> str:
        number = 1 + sum(row.erased for row in self._writer.raters.values())
        while tx.leases_of(name := f"erased {number}") or tx.first_vote_of(name) or name in self._writer.raters:
            number += 1
        return name

    def _row(self, name: str) -> RaterRow:
        row = self._writer.raters.get(checked_rater(name))
        return RaterRow(name, {}, False, False, False, None, self._now()) if row is None else row

    def _say(self, tx: Transaction, row: RaterRow, ahead: _Ahead | None) -> None:
        """Write what is said of a rater; if other votes count now, the policy is folded anew from before the first of them."""
        before = self._row(row.name)
        if row == before:
            return
        tx.put_rater(row)
        tx.counters.revision += 1
        if row.excluded == before.excluded:
            return
        tx.counters.counting_revision += 1
        first = tx.first_vote_of(row.name)
        outdated = [] if first is None else [s for s in tx.snapshot_sequences() if s >= first]
        tx.drop_snapshots(outdated)
        if ahead is not None and _still_right(tx, ahead, first):
            tx.put_snapshot(ahead.sequence, ahead.body)
            outdated = outdated if ahead.sequence < tx.counters.n_votes else []
        known = self._writer.known
        known.fold.keep(tx, known.arms, tx.counters.n_votes, anyway=bool(outdated))

    # -- gold pairs ----------------------------------------------------------------------

    def add_gold(self, first: str, second: str, outcome: Outcome | str | float) -> None:
        """A pair of arms whose answer is known. A rater is asked it once, slipped in among the others (`gold_share` says how often).

        Arms are not judged by the answers, raters are. The same pair with another outcome replaces the one that is there.
        """
        answer = checked_outcome(outcome)
        if answer not in _ANSWERS:
            raise InvalidInput(
                f"outcome is {answer.value!r}.", f"A gold pair has an answer: {', '.join(_ANSWERS)}.", field="outcome"
            )
        if first == second:
            raise InvalidInput(f"A gold pair compares {first!r} with itself.", "Give two arms.")
        pair = GoldPair(first, second, answer)
        with self._reading():
            self._reader.known.arms.numbers([first, second])  # says which is not there
        self.change(gold=[*(gold for gold in self._gold() if not _same_pair(gold, pair)), pair])

    def remove_gold(self, first: str, second: str) -> None:
        """Ask a gold pair no more."""
        pair = GoldPair(first, second, Outcome.TIE)
        self.change(gold=[gold for gold in self._gold() if not _same_pair(gold, pair)])

    def gold(self) -> list[GoldPair]:
        """The pairs whose answers are known."""
        return list(self._gold())

    def _gold(self) -> tuple[GoldPair, ...]:
        self._look_again()
        return self.settings.gold

    # -- why, and where to ---------------------------------------------------------------

    def explain(self, duel: StudyDuel | int) -> Explanation:
        """Why this pair: who chose it and with what chance, and what the policy thinks of it and of the other candidates now."""
        number = checked_number(duel)
        with self._reading() as tx:
            known = self._reader.known
            return why(find_duel(tx, number), known.arms, known.fold.follow(tx, known.arms))

    def save(self, path: str | Path) -> Path:
        """Write everything there is of this study into one file, from which `restore_study` makes it again to the bit."""
        with self._storage.reading(self._id) as tx:  # all there is, an import that is on its way too
            return write_archive(tx, Path(path))


def _still_right(tx: Transaction, ahead: _Ahead, first: int | None) -> bool:
    """Whether a snapshot made ahead of time is what a fold would come to: nobody else has changed what it was made from."""
    names = frozenset(row.name for row in tx.raters() if row.excluded)
    as_then = ahead.counting_revision == tx.counters.counting_revision - 1 and ahead.excluded == names
    old = any(lesson.root <= ahead.sequence for lesson in tx.lessons_since(ahead.sequence, everyone=True))
    return as_then and not old and first is not None and first <= ahead.sequence


def _rater(row: RaterRow) -> Rater:
    return Rater(row.name, row.attributes, row.blocked, row.excluded, row.erased)


def _same_pair(one: GoldPair, other: GoldPair) -> bool:
    return {one.first, one.second} == {other.first, other.second}


def _give_back(tx: Transaction, rater: str) -> None:
    """End the leases that a rater has: their duels wait for somebody else."""
    for lease in tx.leases_of(rater):
        if lease.state == LeaseState.OPEN:
            tx.put_lease(lease._replace(state=LeaseState.RETURNED))
            tx.set_free(lease.duel, find_duel(tx, lease.duel).free + 1)


def _votes_of(tx: Transaction, rater: str) -> int:
    """First votes of a rater, undone or not."""
    return len({row.root for row in tx.votes_since(0) if row.rater == rater})


def _check_json(attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        checked_text("attribute", name)
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"Attribute {name} is {value!r}, which is not JSON ({error}).", "Give text, numbers or lists."
            ) from None
