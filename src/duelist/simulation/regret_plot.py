"""Draw regret over rounds: one look for every picture of the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.figures import PALETTE, label_lines, line_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POLICY_COLORS: Final = {
    "VACDB": PALETTE[0],
    "CoLSTIM": PALETTE[1],
    "MaxPairUCB": PALETTE[2],
    "StaD": PALETTE[3],
    "MaxInP": PALETTE[4],
    "SupCoLSTIM": PALETTE[5],
    "LocalPairUCB": PALETTE[6],
}
"""Policies that many pictures show have the same color in all of them."""

_BARS: Final = 4
"""Bars per curve."""
_BESIDE: Final = 0.014
"""Distance of the bars of two curves, as a share of the horizon."""


class RegretCurve(NamedTuple):
    """Mean regret at some rounds, with limits around it."""

    rounds: Ints
    mean: Floats
    low: Floats
    high: Floats


def policy_colors(labels: Iterable[str]) -> dict[str, str]:
    """Return a color per label: that of the policy, or the next one that no other label has.

    >>> policy_colors(["VACDB", "mine"])
    {'VACDB': '#0072b2', 'mine': '#d55e00'}
    """
    names = list(dict.fromkeys(labels))
    fixed = {name: POLICY_COLORS[name] for name in names if name in POLICY_COLORS}
    free = cycle([color for color in PALETTE if color not in fixed.values()] or PALETTE)
    return {name: fixed.get(name) or next(free) for name in names}


def draw_regret(
    ax: Axes,
    curves: Mapping[str, RegretCurve],
    kind: str = "average",
    colors: Mapping[str, str] | None = None,
    *,
    bars: bool = True,
) -> None:
    """Draw the curves with their limits, and label each line at its end. Lower is better, and the axis says so.

    The limits are bars beside each other at a few rounds, which stay legible with many policies, or else bands.
    """
    colors = policy_colors(curves) if colors is None else {label: colors[label] for label in curves}
    last = max(int(curve.rounds[-1]) for curve in curves.values())
    for k, ((label, curve), style) in enumerate(zip(curves.items(), line_styles(colors.values()), strict=True)):
        color = colors[label]
        ax.plot(curve.rounds, curve.mean, style, color=color, label=label, linewidth=1.8)
        if bars:
            place = last * (np.arange(1, _BARS + 1) / _BARS - _BESIDE * (len(curves) - 1 - k))
            shown = np.unique(
                np.searchsorted(curve.rounds, place[place >= curve.rounds[0]]).clip(max=len(curve.rounds) - 1)
            )
            ax.vlines(curve.rounds[shown], curve.low[shown], curve.high[shown], color=color, linewidth=1.4, alpha=0.8)
        else:
            ax.fill_between(curve.rounds, curve.low, curve.high, color=color, alpha=0.16, linewidth=0)
    ax.set_xlabel("round")
    ax.set_ylabel(f"cumulative {kind} regret (lower is better)")
    ax.set_xlim(0, last)
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)
    label_lines(ax)
