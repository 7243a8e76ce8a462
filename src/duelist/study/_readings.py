"""What a study says: its best arms, its raters, how far along it is; and its way into files.

Everything here is made anew from the votes that stand whenever it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput
from duelist.identification import Verdict
from duelist.policies import CompiledPolicy
from duelist.study import reading
from duelist.study.formats import Comparison, Written, write
from duelist.study.records import Arm, Vote, standing


class Recommended(Verdict[str]):
    """A verdict on arms by their ids."""


class Readings(ABC):
    """The reading half of `Study`."""

    @abstractmethod
    def votes(self) -> list[Vote]:
        """The log, every row of it."""

    @abstractmethod
    def arms(self, context: str | None = None) -> list[Arm]:
        """All arms, or those of a context."""

    @abstractmethod
    def features(self, ids: Sequence[str] | None = None, version: int | None = None) -> NDArray[np.float32]:
        """Features of arms."""

    @abstractmethod
    def policy(self) -> CompiledPolicy:
        """The policy as it stands after the whole log."""

    # -- who is best ---------------------------------------------------------------------

    def leaderboard(self, context: str | None = None, *, top: int | None = None, **options: Any) -> reading.Leaderboard:
        """Arms by utility, with intervals, rank ranges and the chance of being best; options of `reading.leaderboard`."""
        votes, ids, features = self._seen(context)
        return reading.leaderboard(votes, ids, features, top=top, **options)

    def recommend(self, context: str | None = None, delta: float = 0.05) -> Recommended:
        """The arm the policy would name now, how sure that is, and the arms that are not ruled out.

        Stop asking when it is `decided`: the named arm is then wrong with probability at most `delta`. Its `probability` is that
        of being the best among the arms not ruled out (1 when it is decided); `leaderboard` has it among all arms.
        """
        ids = [arm.id for arm in self.arms(context) if not arm.retired]
        if not ids:
            raise InvalidInput(f"context is {context!r}, which has no arms in the game; add or restore some")
        found = self.policy().recommend(np.asarray(self.features(ids), np.float64), delta)
        candidates = tuple(ids[k] for k in found.candidates)
        return Recommended(ids[found.best], found.probability, found.interval, candidates, found.delta)

    def win_matrix(self, context: str | None = None) -> reading.WinMatrix:
        """Who won against whom, and how often they met."""
        votes, ids, _ = self._seen(context)
        return reading.win_matrix(votes, ids)

    def progress(self, context: str | None = None, **options: Any) -> reading.Progress:
        """How near the study is to knowing its best arm; options of `reading.progress`."""
        return reading.progress(*self._seen(context), **options)

    # -- whom to trust -------------------------------------------------------------------

    def calibration(self, **options: Any) -> reading.Calibration:
        """Predicted against observed, on votes that the prediction has not seen; options of `reading.calibration`."""
        return reading.calibration(*self._seen(None), **options)

    def raters(self, **options: Any) -> reading.Raters:
        """Speed, side bias, agreement and outliers among raters; options of `reading.rater_statistics`."""
        return reading.rater_statistics(*self._seen(None), **options)

    def regret(self, **options: Any) -> reading.RegretEstimate:
        """Regret of the policy's duels, estimated from those chosen by a coin; options of `reading.estimated_regret`.

        Where arms have contexts, a duel is measured against the best arm of its own.
        """
        groups = [arm.context for arm in self.arms()]
        return reading.estimated_regret(*self._seen(None), **{"groups": groups, **options})

    # -- files ---------------------------------------------------------------------------

    def export(self, name: str, path: str | Path, **options: Any) -> Written:
        """Write the votes in a format of `duelist.study.formats`; what it could not hold is counted in the result.

        Formats other than our own get the votes that stand; ours gets the whole log. The context of a vote is its prompt.
        """
        log = self.votes()
        arms = {arm.id: arm for arm in self.arms()}
        chosen = log if name == "jsonl" else standing(log)
        return write(name, (Comparison.of_vote(vote, arms, vote.context) for vote in chosen), path, **options)

    def _which_contexts(self) -> str:
        names = list(dict.fromkeys(arm.context for arm in self.arms() if arm.context is not None))
        return f"there are: {', '.join(map(repr, names[:10]))}" if names else "the arms of this study have no contexts"

    def _seen(self, context: str | None) -> tuple[list[Vote], list[str], NDArray[np.float64] | None]:
        """Votes that stand, ids and features of the arms; of a context, if one is given."""
        ids = [arm.id for arm in self.arms(context)]
        if context is not None and not ids:
            raise InvalidInput(f"context is {context!r}, which has no arms; {self._which_contexts()}")
        wanted = set(ids)
        votes = [v for v in standing(self.votes()) if v.first in wanted and v.second in wanted]
        features = np.asarray(self.features(ids), np.float64) if ids else None
        if features is not None and features.shape[0] == features.shape[1] and (features == np.eye(len(ids))).all():
            features = None  # a feature each: the reading has a faster way for that
        return votes, ids, features
