"""What a process knows of a study: its arms, the state of its policy, and what its owner has said. Copies, brought up to date."""

from __future__ import annotations

from typing import Final

from duelist.core.errors import RaterBlocked, StudyNotOpen, VoteConflict
from duelist.study.asking.ask import Known
from duelist.study.asking.limits import Tally
from duelist.study.records import StudySettings, StudyState
from duelist.study.storage import RaterRow, Transaction
from duelist.study.storage.write_queue import ThreadTurns

_UNKNOWN: Final = -1
_REOPEN: Final = "Open it again with `open`."
_UNBLOCK: Final = "Unblock them with `unblock`."


class Side:
    """What is known of a study, and the queue of the threads that use it."""

    def __init__(self, settings: StudySettings) -> None:
        self.known = Known(settings)
        self.turns = ThreadTurns()
        self.tally = Tally()
        self.name = ""
        self.state = StudyState.OPEN
        self.raters: dict[str, RaterRow] = {}
        self._revision = _UNKNOWN

    def follow(self, tx: Transaction) -> bool:
        """Take in what has changed in the storage; whether the owner has changed something."""
        self.known.arms.follow(tx)
        if tx.counters.revision == self._revision:
            return False
        row = tx.study()
        if row.settings != self.known.settings:
            self.known = Known(row.settings, self.known.arms)
            self.tally = Tally()
        self.name, self.state = row.name, row.state
        self.raters = {rater.name: rater for rater in tx.raters()}
        self._revision = tx.counters.revision
        return True

    # -- who may do what -----------------------------------------------------------------

    def permit_asking(self, rater: str) -> None:
        """Refuse to ask in a study that is not open, and to ask somebody who is blocked."""
        if self.state is not StudyState.OPEN:
            raise StudyNotOpen(f"Study {self.name!r} is {self.state.value} and asks nothing.", _REOPEN, study=self.name)
        said = self.raters.get(rater)
        if said is not None and said.erased:
            raise RaterBlocked(
                f"Rater {rater!r} is the made-up name of somebody who was erased.", "Ask under another name."
            )
        if said is not None and said.blocked:
            raise RaterBlocked(
                f"Rater {rater!r} is blocked in study {self.name!r}.",
                _UNBLOCK,
                code="rater_blocked.blocked",
                study=self.name,
                rater=rater,
            )

    def refused_vote(self, rater: str) -> VoteConflict | None:
        """Why no new vote of this rater is taken, if none is."""
        if self.state in (StudyState.ENDED, StudyState.ARCHIVED):
            return VoteConflict(
                f"Study {self.name!r} is {self.state.value} and takes no votes.",
                _REOPEN,
                code="vote_conflict.study_not_open",
                study=self.name,
            )
        said = self.raters.get(rater)
        if said is not None and said.erased:
            return VoteConflict(
                f"Rater {rater!r} is the made-up name of somebody who was erased.", "Their votes stay as they are."
            )
        if said is not None and said.blocked:
            return VoteConflict(
                f"Rater {rater!r} is blocked in study {self.name!r}.",
                _UNBLOCK,
                code="vote_conflict.rater_blocked",
                study=self.name,
                rater=rater,
            )
        return None

    def permit_changes(self) -> None:
        """Refuse to change a study that was put away."""
        if self.state is StudyState.ARCHIVED:
            raise StudyNotOpen(f"Study {self.name!r} is archived and stays as it is.", _REOPEN, study=self.name)
