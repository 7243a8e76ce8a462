"""The part of a study that a process holds in memory: copies, refreshed from the storage at the start of each transaction."""

from __future__ import annotations

from typing import Final

from duelist.core.errors import RaterBlocked, StudyNotOpen, VoteConflict
from duelist.study.asking.history import RaterHistories, SideBalance
from duelist.study.asking.vote_counts import VoteCounts
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import StudySettings, StudyState
from duelist.study.replay import Replay, counts_wins
from duelist.study.storage import RaterRow, Transaction
from duelist.study.storage.write_queue import ThreadQueue

_NEVER_READ: Final = -1
_REOPEN: Final = "Open it again with `open`."
_REINSTATE: Final = "Reinstate them with `reinstate`."


class StudyCache:
    """Arms, policy, votes per rater and owner's settings of a study, and the queue of the threads that use them."""

    def __init__(self, settings: StudySettings) -> None:
        self.queue = ThreadQueue()
        self.arms = ArmCatalog(settings.arm_effects or counts_wins(settings))
        self.name = ""
        self.state = StudyState.OPEN
        self.raters: dict[str, RaterRow] = {}
        self._revision = _NEVER_READ
        self._start(settings)

    def _start(self, settings: StudySettings) -> None:
        self.settings = settings
        self.replay = Replay(settings)
        self.histories = RaterHistories()
        self.sides = SideBalance()
        self.vote_counts = VoteCounts()

    def refresh(self, tx: Transaction) -> bool:
        """Read all changes; return whether the owner has changed name, settings, state or raters."""
        self.arms.refresh(tx)
        if tx.counters.revision == self._revision:
            return False
        row = tx.study()
        if row.settings != self.settings:
            self._start(row.settings)
        self.name, self.state = row.name, row.state
        self.raters = {rater.name: rater for rater in tx.raters()}
        self._revision = tx.counters.revision
        return True

    def clear(self) -> None:
        """Drop the rows of the log, but keep the arms."""
        self.replay.clear()
        self.histories.clear()
        self.sides.clear()

    def remember(self, row: RaterRow) -> None:
        """Use a rater's new record in the rest of the transaction; the next one reads it again, since this one may fail."""
        self.raters[row.name] = row
        self._revision = _NEVER_READ

    # -- permissions ---------------------------------------------------------------------

    def check_may_ask(self, rater: str) -> None:
        """Raise if the study is not open or the rater is blocked."""
        if self.state is not StudyState.OPEN:
            raise StudyNotOpen(f"Study {self.name!r} is {self.state.value} and asks nothing.", _REOPEN, study=self.name)
        row = self.raters.get(rater)
        if row is not None and row.erased:
            raise RaterBlocked(f"Rater {rater!r} is the pseudonym of an erased rater.", "Ask under another name.")
        if row is not None and row.blocked:
            raise RaterBlocked(
                f"Rater {rater!r} is blocked in study {self.name!r}.",
                _REINSTATE,
                code="rater_blocked.blocked",
                study=self.name,
                rater=rater,
            )

    def vote_error(self, rater: str) -> VoteConflict | None:
        """Return the error for a new vote of this rater, None if it is accepted."""
        if self.state in (StudyState.ENDED, StudyState.ARCHIVED):
            return VoteConflict(
                f"Study {self.name!r} is {self.state.value} and takes no votes.",
                _REOPEN,
                code="vote_conflict.study_not_open",
                study=self.name,
            )
        row = self.raters.get(rater)
        if row is not None and row.erased:
            return VoteConflict(f"Rater {rater!r} is the pseudonym of an erased rater.", "Vote under another name.")
        if row is not None and row.blocked:
            return VoteConflict(
                f"Rater {rater!r} is blocked in study {self.name!r}.",
                _REINSTATE,
                code="vote_conflict.rater_blocked",
                study=self.name,
                rater=rater,
            )
        return None

    def check_may_change(self) -> None:
        """Raise if the study is archived."""
        if self.state is StudyState.ARCHIVED:
            raise StudyNotOpen(f"Study {self.name!r} is archived and cannot be changed.", _REOPEN, study=self.name)
