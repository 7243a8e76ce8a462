"""A study's state, name, settings, limits and gold pairs, as its owner changes them. Every change may be repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.administration.archive import write_archive
from duelist.study.base import StudyBase
from duelist.study.records import GoldPair, Outcome, StudySettings, StudyState
from duelist.study.settings import changed_settings
from duelist.study.validation import checked_outcome, checked_text

_GOLD_OUTCOMES: Final = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD)
UNCHANGED: Final[Any] = object()
"""The default of limits, since None means no limit."""


def changed_limits(total: int | None, per_pair: int | None, per_rater: int | None) -> dict[str, int | None]:
    """Return the settings of the limits that are given."""
    limits = {"max_votes": total, "max_votes_per_pair": per_pair, "max_votes_per_rater": per_rater}
    return {name: value for name, value in limits.items() if value is not UNCHANGED}


class StudyLifecycle(StudyBase):
    """The part of `Study` that changes its state and settings."""

    @property
    def state(self) -> StudyState:
        """Open, paused, ended or archived."""
        with self._reading():
            return self._read_cache.state

    def open(self) -> None:
        """Open the study, from any state: raters are asked and votes accepted."""
        self._set_state(StudyState.OPEN)

    def pause(self) -> None:
        """Stop asking new duels, but accept votes on pending ones."""
        self._set_state(StudyState.PAUSED)

    def end(self) -> None:
        """Ask nothing and accept no votes. (`close` is different: it closes connections.)"""
        self._set_state(StudyState.ENDED)

    def archive(self) -> None:
        """Make the study read-only and hide it from `list_studies`; see `save` to write it into a file."""
        self._set_state(StudyState.ARCHIVED)

    def _set_state(self, state: StudyState) -> None:
        with self._writing() as tx:
            row = tx.study()
            if row.state is not state:
                tx.put_study(row.name, row.settings, state)
                tx.counters.revision += 1

    def rename(self, name: str) -> None:
        """Rename the study; raise StudyExists if another one in this storage has the name."""
        checked_text("name", name)
        with self._writing() as tx:
            row = tx.study()
            if row.name != name:
                tx.put_study(name, row.settings, row.state)
                tx.counters.revision += 1
        self._refresh()

    def change(self, /, **settings: Any) -> StudySettings:
        """Change settings of `create_study` and return all settings; the policy, its settings and the seed are fixed."""
        with self._changing() as tx:
            row = tx.study()
            changed = changed_settings(row.settings, settings, has_votes=tx.counters.n_votes > 0)
            if changed != row.settings:
                tx.put_study(row.name, changed, row.state)
                tx.counters.revision += 1
        self._refresh()
        return self.settings

    def limit(
        self, total: int | None = UNCHANGED, per_pair: int | None = UNCHANGED, per_rater: int | None = UNCHANGED
    ) -> StudySettings:
        """Limit the number of votes in total, per pair and per rater; None removes a limit.

        Votes that count and pending duels are counted; skips are not.
        """
        return self.change(**changed_limits(total, per_pair, per_rater))

    # -- gold pairs ----------------------------------------------------------------------

    def add_gold(self, first: str, second: str, outcome: Outcome | str | float) -> None:
        """Add a pair of arms whose outcome is known, or change the outcome of one.

        Each rater is asked it once, among other duels (`gold_share` is the
        share). Votes on it rate the rater, not the arms.
        """
        known = checked_outcome(outcome)
        if known not in _GOLD_OUTCOMES:
            raise InvalidInput(
                f"outcome is {known.value!r}, which says nothing about a gold pair.",
                f"Choose one of {', '.join(_GOLD_OUTCOMES)}.",
                field="outcome",
            )
        if first == second:
            raise InvalidInput(f"A gold pair compares {first!r} with itself.", "Give two arms.")
        pair = GoldPair(first, second, known)
        with self._reading():
            self._read_cache.arms.numbers([first, second])  # raises UnknownArm
        self.change(gold=[*(gold for gold in self.gold() if not _is_same_pair(gold, pair)), pair])

    def remove_gold(self, first: str, second: str) -> None:
        """Remove a gold pair."""
        pair = GoldPair(first, second, Outcome.TIE)
        self.change(gold=[gold for gold in self.gold() if not _is_same_pair(gold, pair)])

    def gold(self) -> list[GoldPair]:
        """Return the gold pairs."""
        self._refresh()
        return list(self.settings.gold)

    # -- archives ------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write the whole study into an archive file, which `restore_study` restores bit for bit."""
        with self._storage.reading(self._id) as tx:  # not `viewing`: an import may be half in the log
            return write_archive(tx, Path(path))


def _is_same_pair(one: GoldPair, other: GoldPair) -> bool:
    return {one.first, one.second} == {other.first, other.second}
