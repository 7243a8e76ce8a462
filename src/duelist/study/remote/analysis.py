"""The analyses of a study on a server."""

# ruff: noqa: D102 - `Study` documents the methods

from __future__ import annotations

from typing import Final, Unpack

import numpy as np

from duelist.core.serialization import from_plain
from duelist.model.scorer import Scorer
from duelist.study import analysis
from duelist.study.analysis.fit.flagged_raters import FlaggedRater
from duelist.study.analysis.goal_stopping import CanStop
from duelist.study.analysis.plots.study_plots import StudyPlots
from duelist.study.analysis.stopping import StudyRecommendation
from duelist.study.options import (
    CalibrationOptions,
    ChanceOptions,
    EstimateOptions,
    FitOptions,
    GoodnessOptions,
    HistoryOptions,
    LeaderboardOptions,
    RaterOptions,
    StoppingOptions,
    VoteOptions,
    lists,
)
from duelist.study.remote.base import RemoteBase

_ALL: Final = 100_000


class RemoteAnalysis(RemoteBase, StudyPlots):
    """The part of `RemoteStudy` that analyses votes."""

    @lists(LeaderboardOptions)
    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Unpack[LeaderboardOptions]
    ) -> analysis.Leaderboard:
        return self._read(analysis.Leaderboard, "/leaderboard", context=context, top=top, **options)

    @lists(LeaderboardOptions)
    def leaderboard_by_category(self, **options: Unpack[LeaderboardOptions]) -> analysis.LeaderboardByCategory:
        return self._read(analysis.LeaderboardByCategory, "/leaderboard-by-category", **options)

    @lists(StoppingOptions)
    def recommend(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> StudyRecommendation:
        found = self._get("/recommend", context=context, delta=delta, **options)
        interval, given = found["interval"], found["tolerance_given"]
        return StudyRecommendation(
            best=found["best"],
            probability=found["probability"],
            interval=(interval[0], interval[1]),
            candidates=tuple(found["candidates"]),
            delta=found["delta"],
            identical=tuple(found["identical"]),
            tolerance=found["tolerance"],
            votes_expected=found["votes_expected"],
            advice=found["advice"],
            tied=tuple(found["tied"]),
            tolerance_given=given and (given[0], given[1]),
            of=found["of"],
            flagged=tuple(from_plain(FlaggedRater, each) for each in found["flagged"]),
            flagged_note=found["flagged_note"],
        )

    @lists(StoppingOptions)
    def progress(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> analysis.Progress:
        return self._read(analysis.Progress, "/progress", context=context, delta=delta, **options)

    @lists(FitOptions)
    def can_stop(
        self,
        context: str | None = None,
        *,
        goal: str | None = None,
        top: int | None = None,
        delta: float = 0.05,
        tolerance: float = 0.0,
        unit: str = "utility",
        **options: Unpack[FitOptions],
    ) -> CanStop:
        wanted = {"goal": goal, "top": top, "delta": delta, "tolerance": tolerance, "unit": unit, **options}
        found = self._get("/can-stop", context=context, **wanted)
        return from_plain(CanStop, {**found, "statement": found["reason"]})

    @lists(VoteOptions)
    def win_matrix(self, context: str | None = None, **options: Unpack[VoteOptions]) -> analysis.WinMatrix:
        """Return wins by pair, with arms in the order of their rank."""
        found = self._get("/win-matrix", context=context, **options)
        wins, ties, both_bad = (np.zeros((len(found["arms"]),) * 2, np.int64) for _ in range(3))
        for i, j, won, lost, tied, bad in found["cells"]:
            wins[i, j], wins[j, i] = won, lost
            ties[i, j] = ties[j, i] = tied
            both_bad[i, j] = both_bad[j, i] = bad
        return analysis.WinMatrix(tuple(found["arms"]), wins, ties, both_bad)

    @lists(ChanceOptions)
    def win_chances(self, context: str | None = None, **options: Unpack[ChanceOptions]) -> analysis.WinChances:
        """Return win probabilities by pair, with arms in the order of their rank."""
        return self._read(analysis.WinChances, "/win-chances", context=context, **{"top": _ALL, **options})

    @lists(HistoryOptions)
    def history(self, context: str | None = None, **options: Unpack[HistoryOptions]) -> analysis.History:
        """Return probabilities of being the best over time, with the best arm first."""
        found = self._get("/history", context=context, **{"top": _ALL, **options})
        chances = np.array([series["chance"] for series in found["series"]], np.float64)
        arms = tuple(series["arm"] for series in found["series"])
        return analysis.History(arms, np.array(found["votes"], np.int64), chances.T)

    @lists(CalibrationOptions)
    def calibration(self, context: str | None = None, **options: Unpack[CalibrationOptions]) -> analysis.Calibration:
        return self._read(analysis.Calibration, "/calibration", context=context, **options)

    @lists(RaterOptions)
    def raters(self, context: str | None = None, **options: Unpack[RaterOptions]) -> analysis.Raters:
        return self._read(analysis.Raters, "/raters", context=context, **options)

    @lists(GoodnessOptions)
    def goodness_of_fit(self, context: str | None = None, **options: Unpack[GoodnessOptions]) -> analysis.GoodnessOfFit:
        return self._read(analysis.GoodnessOfFit, "/goodness-of-fit", context=context, **options)

    @lists(EstimateOptions)
    def regret(self, context: str | None = None, **options: Unpack[EstimateOptions]) -> analysis.RegretEstimate:
        return self._read(analysis.RegretEstimate, "/regret", context=context, **options)

    @lists(VoteOptions)
    def scorer(self, context: str | None = None, **options: Unpack[VoteOptions]) -> Scorer:
        self._not_available("scorer")
