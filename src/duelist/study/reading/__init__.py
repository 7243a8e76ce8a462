"""Reading a study: who is best, who won against whom, whom to trust, how far along it is.

Pure functions of votes that stand, the ids of the arms, and their features where there are any.
"""

from duelist.study.reading.calibration import Bin, Calibration, calibration
from duelist.study.reading.figures import draw_calibration, draw_leaderboard, draw_win_matrix
from duelist.study.reading.leaderboard import Leaderboard, Progress, Standing, leaderboard, progress
from duelist.study.reading.matrix import WinMatrix, win_matrix
from duelist.study.reading.raters import Raters, RaterStatistics, rater_statistics
from duelist.study.reading.regret import Estimate, RegretEstimate, estimated_regret

__all__ = [
    "Bin",
    "Calibration",
    "Estimate",
    "Leaderboard",
    "Progress",
    "RaterStatistics",
    "Raters",
    "RegretEstimate",
    "Standing",
    "WinMatrix",
    "calibration",
    "draw_calibration",
    "draw_leaderboard",
    "draw_win_matrix",
    "estimated_regret",
    "leaderboard",
    "progress",
    "rater_statistics",
    "win_matrix",
]
