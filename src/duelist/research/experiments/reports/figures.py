"""Compare policies that played the same worlds: tables of paired differences, panels of curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.research.experiments.lab import Result
from duelist.simulation.runs import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLOURS: Final = {
    "VACDB": "#0b5fa5",
    "MaxInP": "#e07b00",
    "MaxPairUCB": "#2a8f3c",
    "CoLSTIM": "#c0392b",
    "StaD": "#7d5ba6",
    "SupCoLSTIM": "#6b6b6b",
}
"""One colour per policy, the same in every figure."""

COLUMNS: Final = (
    "policy",
    "settings",
    "mean",
    "sd",
    "mean low",
    "mean high",
    "median",
    "worst",
    "minus VACDB",
    "difference low",
    "difference high",
)


def comparison_rows(results: Mapping[str, Result], settings: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """Return one row per policy: final average regret, and its paired difference from VACDB with a 95 % interval."""
    reference = results["VACDB"].final
    rows = []
    for name, result in results.items():
        final = result.final
        low, high = interval(final)
        difference = final - reference
        d_low, d_high = interval(difference) if name != "VACDB" else (0.0, 0.0)
        numbers = [final.mean(), final.std(ddof=1), low, high, np.median(final), final.max()]
        numbers += [difference.mean(), d_low, d_high]
        rows.append((name, settings[name], *(round(float(x), 1) for x in numbers)))
    return rows


def beats(results: Mapping[str, Result], winner: str, loser: str) -> int:
    """Return 1 if the winner's mean regret is lower with a paired 95 % interval off zero, -1 if it is higher, else 0."""
    low, high = interval(results[loser].final - results[winner].final)
    return 1 if low > 0.0 else -1 if high < 0.0 else 0


def draw_curves(ax: Axes, results: Mapping[str, Result], title: str) -> None:
    """Draw the mean cumulative average regret with the 95 % interval of the mean."""
    for name, result in results.items():
        colour = COLOURS.get(name)
        half = 1.96 * result.sd / np.sqrt(len(result.final))
        ax.plot(result.rounds, result.mean, color=colour, label=name, linewidth=2.0 if name == "VACDB" else 1.4)
        ax.fill_between(result.rounds, result.mean - half, result.mean + half, color=colour, alpha=0.18, linewidth=0)
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_xlim(0, None)
    ax.set_ylim(0, None)
    ax.spines[["top", "right"]].set_visible(False)


def log_axis(axis: Axis) -> None:
    """Make a logarithmic axis with plain labels at 1, 2 and 5, few enough not to overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
