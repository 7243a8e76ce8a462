"""Readings drawn. Each function returns a Figure of its own and touches no global state of matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from duelist.study.reading._text import percent
from duelist.study.reading.calibration import Calibration
from duelist.study.reading.leaderboard import Leaderboard
from duelist.study.reading.matrix import WinMatrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE: Final = "#1f5fa8"
_GREY: Final = "#8a8a8a"
_MOST_NUMBERS: Final = 20
"""Up to so many arms a win matrix has its numbers written in."""


def draw_leaderboard(board: Leaderboard, top: int | None = 40) -> Figure:
    """Utilities with their intervals, best at the top, and the range of ranks beside; only the best `top`."""
    rows = board.standings[:top]
    figure = _blank(8.0, 1.4 + 0.24 * max(len(rows), 4))
    axes = figure.subplots()
    heights = np.arange(len(rows))
    utility = np.array([each.utility for each in rows])
    reach = np.array([(each.utility - each.low, each.high - each.utility) for each in rows]).T.reshape(2, -1)
    axes.axvline(0.0, color=_GREY, linewidth=0.8, linestyle=":")
    axes.errorbar(utility, heights, xerr=reach, fmt="o", color=_BLUE, markersize=4, elinewidth=1.4, capsize=0)
    axes.set_yticks(heights, [each.arm for each in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"utility relative to the mean arm, with {percent(board.level)} interval")
    ranks = axes.twinx()
    ranks.set_ylim(axes.get_ylim())
    labels = [
        f"{each.best_rank}-{each.worst_rank}" if each.best_rank < each.worst_rank else f"{each.best_rank}"
        for each in rows
    ]
    ranks.set_yticks(heights, labels)
    ranks.tick_params(axis="y", length=0, colors=_GREY)
    ranks.set_ylabel("range of ranks", color=_GREY)
    for frame in (axes, ranks):
        frame.spines[["top", "right", "left"]].set_visible(False)
        frame.tick_params(axis="y", length=0)
    shown = f"best {len(rows)} of {len(board.standings)}" if len(rows) < len(board.standings) else f"{len(rows)} arms"
    axes.set_title(f"{shown}, {board.votes:,} votes", loc="left")
    return figure


def draw_calibration(found: Calibration) -> Figure:
    """Observed against predicted shares with their intervals, and below how many votes there are of each."""
    figure = _blank(5.2, 6.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    predicted = np.array([each.predicted for each in found.bins])
    observed = np.array([each.observed for each in found.bins])
    reach = np.array([(each.observed - each.low, each.high - each.observed) for each in found.bins]).T.reshape(2, -1)
    above.plot([0, 1], [0, 1], color=_GREY, linewidth=1.0, linestyle="--", label="perfect")
    above.errorbar(
        predicted, observed, yerr=np.maximum(reach, 0.0), fmt="o", color=_BLUE, markersize=5, elinewidth=1.4,
        label=f"observed, {percent(found.level)} interval",
    )  # fmt: skip
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of votes for the first")
    above.legend(loc="upper left", frameon=False)
    above.set_title(
        f"{found.votes:,} votes in {found.folds} folds, calibration error {found.error:.3f}", loc="left", fontsize=11
    )
    starts = [each.start for each in found.bins]
    widths = [each.stop - each.start for each in found.bins]
    below.bar(starts, [each.votes for each in found.bins], widths, align="edge", color="#b9cfe8", edgecolor="white")
    below.set(xlabel="predicted chance that the first wins", ylabel="votes")
    for frame in (above, below):
        frame.spines[["top", "right"]].set_visible(False)
        frame.grid(color="#e6e6e6", linewidth=0.8)
        frame.set_axisbelow(True)
    return figure


def draw_win_matrix(matrix: WinMatrix) -> Figure:
    """Share of each pair's votes that the row has against the column; grey where the two never met."""
    n = len(matrix.arms)
    cell = 0.55 if n <= _MOST_NUMBERS else 0.2
    side = max(4.0, 2.6 + cell * n)
    figure = _blank(side + 0.8, side)
    axes = figure.subplots()
    shares = np.ma.masked_invalid(matrix.shares)
    image = axes.imshow(shares, cmap="RdBu", vmin=0.0, vmax=1.0)
    size = 9 if n <= _MOST_NUMBERS else 6.5
    axes.set_xticks(range(n), matrix.arms, rotation=90, fontsize=size)
    axes.set_yticks(range(n), matrix.arms, fontsize=size)
    axes.tick_params(length=0)
    axes.set_facecolor("#c9c9c9")  # a share of a half is nearly white
    axes.set_title("grey: never met", loc="left", fontsize=10, color=_GREY)
    axes.set_xlabel("against")
    axes.set_ylabel("wins of")
    axes.spines[:].set_visible(False)
    if n <= _MOST_NUMBERS:
        for i, j in np.argwhere(matrix.votes > 0):
            share = matrix.shares[i, j]
            colour = "white" if abs(share - 0.5) > 0.3 else "black"
            axes.text(
                j, i, f"{share:.2f}\n({matrix.votes[i, j]})", ha="center", va="center", fontsize=7.5, color=colour
            )
    bar = figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
    bar.set_label("share of the pair's votes, ties half")
    bar.outline.set_visible(False)
    return figure


def _blank(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure  # heavy, and not needed to read a study in words

    return Figure(figsize=(width, height), layout="constrained")
