"""Reading a study: who is best, who won against whom, whom to trust, how far along it is.

Pure functions of votes that stand (as a list, or as the columns of a `Log`), the ids of the arms, and their features where
there are any. Those that end in `_of` take a fit that is there already (`fitted`), which several readings share.
"""

from duelist.study.analysis.calibration import Bin, Calibration, calibration
from duelist.study.analysis.fit.arm_effects import WithArmEffects
from duelist.study.analysis.fit.fitted import Fitted, fitted, fitted_as_explained
from duelist.study.analysis.fit.scoring import scorer_of
from duelist.study.analysis.fit.votes import CHOSEN_CODES, CODES, KIND_CODES, NO_TIME, Log, as_log
from duelist.study.analysis.history import History, Remembered, history
from duelist.study.analysis.leaderboard import Leaderboard, Standing, board_of, leaderboard
from duelist.study.analysis.plots.figures import (
    draw_calibration,
    draw_history,
    draw_leaderboard,
    draw_raters,
    draw_win_matrix,
)
from duelist.study.analysis.progress import Progress, progress, progress_of, verdict_of
from duelist.study.analysis.raters.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from duelist.study.analysis.raters.raters import Raters, RaterStatistics, rater_statistics
from duelist.study.analysis.regret import Estimate, RegretEstimate, estimated_regret
from duelist.study.analysis.win_matrix import WinChances, WinMatrix, chances_of, matrix_of, win_chances, win_matrix

__all__ = [
    "CHOSEN_CODES",
    "CODES",
    "KIND_CODES",
    "NO_TIME",
    "Bin",
    "Calibration",
    "Estimate",
    "Fitted",
    "History",
    "Leaderboard",
    "Log",
    "Progress",
    "RaterStatistics",
    "Raters",
    "RegretEstimate",
    "Remembered",
    "Standing",
    "WinChances",
    "WinMatrix",
    "WithArmEffects",
    "as_log",
    "board_of",
    "calibration",
    "chances_of",
    "cohen_kappa",
    "draw_calibration",
    "draw_history",
    "draw_leaderboard",
    "draw_raters",
    "draw_win_matrix",
    "estimated_regret",
    "fitted",
    "fitted_as_explained",
    "fleiss_kappa",
    "history",
    "krippendorff_alpha",
    "leaderboard",
    "matrix_of",
    "progress",
    "progress_of",
    "rater_statistics",
    "scorer_of",
    "verdict_of",
    "win_chances",
    "win_matrix",
]
