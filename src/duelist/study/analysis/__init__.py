"""Analysis of a study: leaderboard, win matrix, stopping decisions, raters, calibration.

Pure functions of the current votes (a list, or the columns of a `VoteTable`), the ids of the arms, and their features
if they have any. Functions that end in `_from_fit` take an existing fit (`fit_votes`), so that several analyses can
share it.
"""

from duelist.study.analysis.calibration import Bin, Calibration, calibration
from duelist.study.analysis.fit.covariates import CovariateEffect
from duelist.study.analysis.fit.goodness_of_fit import FitCheck, GoodnessOfFit, goodness_of_fit
from duelist.study.analysis.fit.scoring import scorer_from_votes
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes, fit_with_misfit_test
from duelist.study.analysis.fit.utilities import WithArmEffects
from duelist.study.analysis.fit.votes import CHOSEN_CODES, CODES, KIND_CODES, NO_TIME, VoteTable, as_vote_table
from duelist.study.analysis.history import History, HistoryCache, history
from duelist.study.analysis.leaderboard import (
    Leaderboard,
    LeaderboardByCategory,
    LeaderboardRow,
    leaderboard,
    leaderboard_from_fit,
)
from duelist.study.analysis.plots.figures import (
    draw_calibration,
    draw_history,
    draw_leaderboard,
    draw_raters,
    draw_win_matrix,
)
from duelist.study.analysis.progress import Progress, progress, progress_from_fit, recommendation_from_fit
from duelist.study.analysis.raters.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from duelist.study.analysis.raters.raters import Raters, RaterStatistics, rater_statistics
from duelist.study.analysis.regret import Estimate, RegretEstimate, estimated_regret
from duelist.study.analysis.win_matrix import (
    WinChances,
    WinMatrix,
    win_chances,
    win_chances_from_fit,
    win_matrix,
    win_matrix_from_votes,
)

__all__ = [
    "CHOSEN_CODES",
    "CODES",
    "KIND_CODES",
    "NO_TIME",
    "Bin",
    "Calibration",
    "CovariateEffect",
    "Estimate",
    "FitCheck",
    "GoodnessOfFit",
    "History",
    "HistoryCache",
    "Leaderboard",
    "LeaderboardByCategory",
    "LeaderboardRow",
    "Progress",
    "RaterStatistics",
    "Raters",
    "RegretEstimate",
    "StudyFit",
    "VoteTable",
    "WinChances",
    "WinMatrix",
    "WithArmEffects",
    "as_vote_table",
    "calibration",
    "cohen_kappa",
    "draw_calibration",
    "draw_history",
    "draw_leaderboard",
    "draw_raters",
    "draw_win_matrix",
    "estimated_regret",
    "fit_votes",
    "fit_with_misfit_test",
    "fleiss_kappa",
    "goodness_of_fit",
    "history",
    "krippendorff_alpha",
    "leaderboard",
    "leaderboard_from_fit",
    "progress",
    "progress_from_fit",
    "rater_statistics",
    "recommendation_from_fit",
    "scorer_from_votes",
    "win_chances",
    "win_chances_from_fit",
    "win_matrix",
    "win_matrix_from_votes",
]
