"""Figures of analyses. Each function returns a new Figure and does not touch matplotlib's global state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.figures import PALETTE, label_lines, line_styles, new_figure
from duelist.core.tables import format_percent, shortened
from duelist.study.analysis.calibration import Calibration
from duelist.study.analysis.history import History
from duelist.study.analysis.leaderboard import Leaderboard
from duelist.study.analysis.plots.lettering import Lettering
from duelist.study.analysis.raters.raters import Raters, RaterStatistics
from duelist.study.analysis.win_matrix import WinMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE: Final = PALETTE[0]
_RED: Final = PALETTE[1]
_GREY: Final = "#8a8a8a"
_LIGHT: Final = "#e6e6e6"
_MOST_NUMBERS: Final = 20
"""Up to this many arms, the cells of a win matrix show their numbers."""
_MOST_NAMED: Final = 80
"""Up to this many rows, each shows its name."""
_LONGEST: Final = 40
"""Characters of a name."""


def draw_leaderboard(board: Leaderboard, top: int | None = 40) -> Figure:
    """Plot utilities with their intervals next to the ranges of ranks, best at the top.

    Show the best `top` arms, or all if it is None.
    """
    rows = board.standings[:top]
    many = len(rows) > _MOST_NAMED
    figure = _blank(8.0, 12.0 if many else 1.4 + 0.24 * max(len(rows), 4))
    axes = figure.subplots()
    heights = np.arange(len(rows))
    utility = np.array([each.utility for each in rows])
    low, high = (np.array([getattr(each, end) for each in rows]) for end in ("low", "high"))
    axes.axvline(0.0, color=_GREY, linewidth=0.8, linestyle=":")
    if many:
        axes.fill_betweenx(heights, low, high, color=_BLUE, alpha=0.25, linewidth=0)
        axes.plot(utility, heights, color=_BLUE, linewidth=1.4)
    else:
        reach = np.array([utility - low, high - utility]).reshape(2, -1)
        axes.errorbar(utility, heights, xerr=reach, fmt="o", color=_BLUE, markersize=4, elinewidth=1.4, capsize=0)
    shown = _label_positions(len(rows), _MOST_NAMED)
    _name(axes, "y", heights[shown], [rows[k].arm for k in shown])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color=_LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"utility relative to the mean arm, with {format_percent(board.level)} interval")
    ranks = axes.twinx()
    ranks.set_ylim(axes.get_ylim())
    ranks.set_yticks(heights[shown], [rows[k].ranks for k in shown], fontsize=6 if many else None)
    ranks.tick_params(axis="y", length=0, colors=_GREY)
    ranks.set_ylabel("range of ranks", color=_GREY)
    for frame in (axes, ranks):
        frame.spines[["top", "right", "left"]].set_visible(False)
        frame.tick_params(axis="y", length=0)
    total = max(board.n_arms, len(board.standings))
    count = f"best {len(rows)} of {total}" if len(rows) < total else f"{len(rows)} arms"
    axes.set_title(f"{count}, {board.votes:,} votes", loc="left")
    if board.note is not None:
        figure.supxlabel(board.note, fontsize=8, color=_RED, wrap=True)
    return figure


def draw_calibration(found: Calibration) -> Figure:
    """Plot observed against predicted shares with their intervals, with the number of votes in each below."""
    figure = _blank(5.2, 6.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    predicted = np.array([each.predicted for each in found.bins])
    observed = np.array([each.observed for each in found.bins])
    reach = np.array([(each.observed - each.low, each.high - each.observed) for each in found.bins]).T.reshape(2, -1)
    above.plot([0, 1], [0, 1], color=_GREY, linewidth=1.0, linestyle="--", label="perfect")
    above.errorbar(
        predicted, observed, yerr=np.maximum(reach, 0.0), fmt="o", color=_BLUE, markersize=5, elinewidth=1.4,
        label=f"observed, {format_percent(found.level)} interval",
    )  # fmt: skip
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of the win for the first, ties half")
    above.legend(loc="lower right", frameon=False)
    above.set_title(
        f"{found.votes:,} votes in {found.folds} folds, calibration error {found.error:.3f}", loc="left", fontsize=10
    )
    starts = [each.start for each in found.bins]
    widths = [each.stop - each.start for each in found.bins]
    below.bar(starts, [each.votes for each in found.bins], widths, align="edge", color="#b9cfe8", edgecolor="white")
    below.set(xlabel="predicted share", ylabel="votes")
    for frame in (above, below):
        frame.spines[["top", "right"]].set_visible(False)
        frame.grid(color=_LIGHT, linewidth=0.8)
        frame.set_axisbelow(True)
    return figure


def draw_win_matrix(matrix: WinMatrix) -> Figure:
    """Plot the share of each pair's votes that the row has against the column.

    Pairs that were never compared are grey.
    """
    n = len(matrix.arms)
    numbers = n <= _MOST_NUMBERS
    side = max(4.0, 2.6 + 0.55 * n if numbers else min(2.6 + 0.2 * n, 14.0))
    figure = _blank(side + 0.8, side)
    axes = figure.subplots()
    shares = np.ma.masked_invalid(matrix.shares)
    image = axes.imshow(shares, cmap="RdBu", vmin=0.0, vmax=1.0, interpolation="nearest")
    size = 9 if numbers else 6.5
    shown = _label_positions(n, _MOST_NAMED)
    names = [matrix.arms[k] for k in shown]
    _name(axes, "x", shown, names, size=size, rotation=90)
    _name(axes, "y", shown, names, size=size)
    axes.tick_params(length=0)
    axes.set_facecolor("#c9c9c9")  # one half is nearly white
    axes.set_title("grey: never compared", loc="left", fontsize=10, color=_GREY)
    axes.set_xlabel("against")
    axes.set_ylabel("wins of")
    axes.spines[:].set_visible(False)
    if numbers:
        votes, of_row = matrix.votes, matrix.shares
        for i, j in np.argwhere(votes > 0):
            colour = "white" if abs(of_row[i, j] - 0.5) > 0.3 else "black"
            axes.text(
                j, i, f"{of_row[i, j]:.2f}\n({votes[i, j]})", ha="center", va="center", fontsize=7.5, color=colour
            )
    bar = figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
    bar.set_label("share of the pair's votes, ties half")
    bar.outline.set_visible(False)
    return figure


def draw_history(found: History, most: int = 8) -> Figure:
    """Plot the probability of being best over the votes: the arms that end highest by name, the others in grey."""
    figure = _blank(8.0, 4.5)
    axes = figure.subplots()
    named = found.leading(most)
    others = [
        k
        for k in range(len(found.arms))
        if k not in named and len(found.votes) and found.chance_best[:, k].max() > 0.01
    ]
    for k in others:
        axes.plot(found.votes, found.chance_best[:, k], color="#c9c9c9", linewidth=0.8, zorder=1)
    texts = [shortened(found.arms[k], _LONGEST) for k in named]
    letters = Lettering(texts)
    colors = list(islice(cycle(PALETTE), len(named)))
    for color, style, k, text in zip(colors, line_styles(colors), named, texts, strict=True):
        label = letters(text)
        # A label that begins with an underscore would not be shown.
        axes.plot(
            found.votes,
            found.chance_best[:, k],
            style,
            color=color,
            linewidth=1.6,
            label=f"\u200b{label}"[not label.startswith("_") :],
        )
    axes.set(ylim=(-0.02, 1.02), xlabel="votes", ylabel="chance of being best")
    axes.set_xlim(0, max(int(found.votes.max(initial=0)), 1))
    _plain(axes)
    label_lines(axes, 8, letters.style)
    note = f"; {len(others)} others in grey" if others else ""
    axes.set_title(f"{len(found.arms)} arms{note}", loc="left")
    return figure


def draw_raters(found: Raters, most: int = 40) -> Figure:
    """Plot each rater's agreement with the others' fit, share of the first side, and speed; flagged ones in red.

    Of more than `most` raters, show those flagged, then those with most votes.
    """
    rows = sorted(found.rows, key=lambda row: (not row.flagged, -row.votes))[:most]
    rows.sort(key=lambda row: -row.votes)
    figure = _blank(10.0, 1.6 + 0.26 * max(len(rows), 4))
    agree, side, pace = figure.subplots(1, 3, sharey=True, width_ratios=(3, 3, 2))
    heights = np.arange(len(rows))
    colours = [_RED if row.flagged else _BLUE for row in rows]
    _dots(agree, rows, heights, colours, "agreement_model")
    known = [k for k, row in enumerate(rows) if row.expected_model is not None]
    agree.plot([rows[k].expected_model or 0.0 for k in known], heights[known], "|", color=_GREY, markersize=11)
    agree.set(xlabel="agrees with the others' fit (line: expected)", xlim=(0, 1.02))
    _dots(side, rows, heights, colours, "first_share")
    for row, height, colour in zip(rows, heights, colours, strict=True):
        if row.first_share is not None:
            side.plot([row.first_low, row.first_high], [height, height], color=colour, linewidth=1.4)
    side.axvline(0.5, color=_GREY, linewidth=0.8, linestyle=":")
    side.set(xlabel=f"votes for the first, with {format_percent(found.level)} interval", xlim=(-0.02, 1.02))
    pace.barh(heights, [row.median_seconds or 0.0 for row in rows], color="#b9cfe8", height=0.6)
    pace.set(xlabel="median seconds per vote")
    if not any(row.median_seconds for row in rows):
        pace.set(xlabel="seconds per vote are unknown", xlim=(0, 1), xticks=())
    _name(agree, "y", heights, [row.rater for row in rows])
    agree.set_ylim(len(rows) - 0.4, -0.6)
    for frame in (agree, side, pace):
        _plain(frame)
        frame.tick_params(axis="y", length=0)
    alpha = "" if found.alpha is None else f", Krippendorff's alpha {found.alpha:.2f}"
    total = f"{len(rows)} of {len(found.rows)}" if len(rows) < len(found.rows) else f"{len(rows)}"
    figure.suptitle(f"{total} raters{alpha}; flagged raters are red", x=0.01, ha="left", fontsize=11)
    return figure


def _dots(axes: Axes, rows: Sequence[RaterStatistics], heights: Any, colours: Sequence[str], name: str) -> None:
    known = [k for k, row in enumerate(rows) if getattr(row, name) is not None]
    values = [getattr(rows[k], name) for k in known]
    axes.scatter(values, heights[known], color=[colours[k] for k in known], s=22, zorder=3)


def _name(axes: Axes, axis: str, places: Any, names: Sequence[str], size: float | None = None, **style: Any) -> None:
    """Set names along an axis, with any characters."""
    texts = [shortened(name, _LONGEST) for name in names]
    letters = Lettering(texts)
    put = axes.set_xticks if axis == "x" else axes.set_yticks
    size = size if size is not None else (6 if len(names) > _MOST_NAMED // 2 else None)
    put(places, [letters(text) for text in texts], fontsize=size, **style, **letters.style)


def _label_positions(n: int, most: int) -> Any:
    """Return positions of rows to label: all, or evenly spaced ones."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(np.int64))


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=_LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)


def _blank(width: float, height: float) -> Figure:
    return new_figure(width, height)
