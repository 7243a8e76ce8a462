"""Compare policies that played the same worlds: tables of paired differences, panels of curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.research.experiments.lab import Result
from duelist.simulation.regret_plot import RegretCurve, draw_regret
from duelist.simulation.runs import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

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
    half = {name: 1.96 * result.sd / np.sqrt(len(result.final)) for name, result in results.items()}
    draw_regret(
        ax,
        {
            name: RegretCurve(result.rounds, result.mean, result.mean - half[name], result.mean + half[name])
            for name, result in results.items()
        },
    )
    ax.set_title(title, fontsize=10, loc="left")


def keep_outer_labels(axes: Any) -> None:
    """Keep the labels of axes in the first column and the last row of a grid of panels."""
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    for ax in axes[:-1].flat:
        ax.set_xlabel("")


def log_axis(axis: Axis) -> None:
    """Make a logarithmic axis with plain labels at 1, 2 and 5, few enough not to overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
