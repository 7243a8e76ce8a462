"""The figure of a plan: the share of simulated studies that are decided, by votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from duelist.core.figures import new_figure
from duelist.core.tables import format_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from duelist.study.planning.plan import StudyPlan

_BLUE: Final = "#1f5fa8"
_GREEN: Final = "#2f7d32"
_GREY: Final = "#8a8a8a"
_POINTS: Final = 200


def draw_plan(plan: StudyPlan) -> Figure:
    """Plot the share of studies decided, and rightly decided, against the number of votes, with 95 % intervals."""
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    votes = np.unique(np.linspace(0, plan.budget, _POINTS).astype(int))
    decided = np.array([plan.decided_by(int(n)) for n in votes])
    low, high = np.array([plan.interval(share) for share in decided]).T
    axes.fill_between(votes, low, high, color=_BLUE, alpha=0.15, linewidth=0, label="95 % interval of the simulation")
    axes.plot(votes, decided, color=_BLUE, linewidth=1.8, label="decided")
    if plan.goal != "learn":
        rightly = [plan.decided_by(int(n), rightly=True) for n in votes]
        axes.plot(votes, rightly, color=_GREEN, linewidth=1.4, linestyle="--", label="rightly decided")
    axes.set(xlim=(0, plan.budget), ylim=(0, 1.02), xlabel="votes", ylabel="share of simulated studies")
    axes.yaxis.set_major_formatter(lambda share, _: format_percent(share))
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    if plan.most_cost:
        money = plan.most_cost / plan.budget
        above = axes.secondary_xaxis(
            "top", functions=(lambda n: np.asarray(n) * money, lambda cost: np.asarray(cost) / money)
        )
        above.set_xlabel("cost")
    axes.axvline(plan.votes[1], color=_GREY, linewidth=0.8, linestyle=":")
    axes.text(plan.votes[1], 0.02, " median", color=_GREY, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    axes.set_title(
        f"{plan.goal}: {plan.items} items, {plan.raters} raters, {plan.runs} simulated studies", loc="left", fontsize=10
    )
    return figure
