"""Figure 1b: does less variance mean less regret?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from duelist.core.figures import label_lines, new_figure
from duelist.policies import Policy
from duelist.research.experiments.lab import Cell, Lab, Result
from duelist.research.experiments.reports.figures import log_axis
from duelist.research.experiments.reports.findings import (
    CANNOT_BE_TESTED,
    DOES_NOT_HOLD,
    HOLDS_HERE,
    Claim,
    Findings,
)
from duelist.research.experiments.reports.text_templates import TextTemplates
from duelist.research.experiments.tuning import TUNING_SEED, tune
from duelist.research.paper.figure_1a import CODE, TUNED, published_policies
from duelist.research.paper.problems import ALL_POLICIES, DIM, FIGURE_SEED, HORIZON, RUNS, Family
from duelist.simulation.environments import Hypercube
from duelist.simulation.regret_plot import POLICY_COLORS
from duelist.simulation.runs import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "figure-1b"
PROSE: Final = TextTemplates.of("duelist.research.paper", "figure-1b.md")
SCALES: Final = (0.5, 1.0, 2.0, 4.0)
CONTROLS: Final = ("MaxInP", "MaxPairUCB")
"""They know no variance."""
PUBLISHED_RUNS: Final = 32
TUNING_RUNS: Final = 12
"""Runs of a first trial at each of the four scales."""
Grid = dict[tuple[str, float], Result]


def run(lab: Lab) -> Findings:
    """Scale theta* by 1/2, 1, 2, 4; policies do not know the scale."""
    worlds = {scale: Hypercube(dim=DIM, scale=scale) for scale in SCALES}
    published = published_policies(lab, "random θ*", Family(worlds[1.0], HORIZON, HORIZON, PUBLISHED_RUNS))
    tuned: dict[str, Policy] = {
        name: tune(
            lab, name, list(worlds.values()), HORIZON, first_runs=TUNING_RUNS, label=f"{name}, four scales"
        ).make()
        for name in ALL_POLICIES
    }
    outcome = Findings(NAME, PROSE("title"), PROSE("summary"))
    panels: dict[str, Grid] = {}
    for panel, policies in ((CODE, published), (TUNED, tuned)):
        wanted = [(name, scale) for name in policies for scale in SCALES]
        cells = [Cell(policies[name], worlds[scale], HORIZON, RUNS, FIGURE_SEED) for name, scale in wanted]
        panels[panel] = dict(zip(wanted, lab.run(f"figure 1b: {panel}", cells), strict=True))
        outcome.claims += [_falls(panel, panels[panel]), _falls_divided(panel, panels[panel])]
        columns = ("policy", "settings", *(f"scale {s:g}" for s in SCALES), *(f"interval {s:g}" for s in SCALES))
        rows = [_row(name, repr(policy), panels[panel]) for name, policy in policies.items()]
        title = f"average regret divided by the scale, {panel}, {HORIZON} rounds, {RUNS} runs"
        outcome.add_table(panel.replace(" ", "-"), title, columns, rows)
    variance_rows = [
        (scale, *(round(float(x.mean()), 2) for x in (r.learned_variance, r.variance, r.final / scale, r.final)))
        for scale in SCALES
        for r in [panels[CODE]["VACDB", scale]]
    ]
    outcome.add_table(
        "variance",
        "VACDB as its code runs: variance of the outcomes met, and regret",
        ("scale", "variance, exploration", "variance, all rounds", "regret / scale", "regret"),
        variance_rows,
    )
    outcome.add_figure("curves", _curves(panels[CODE]), PROSE("caption of curves"))
    outcome.add_figure("all", _all(panels), PROSE("caption of all"))
    outcome.add_figure("layers", _layers(panels), PROSE("caption of layers"))
    outcome.settings = {"figure seed": FIGURE_SEED, "tuning seed": TUNING_SEED, "runs": RUNS, "scales": SCALES}
    return outcome


def _row(name: str, settings: str, grid: Grid) -> tuple[object, ...]:
    finals = [grid[name, s].final / s for s in SCALES]
    means = [round(float(f.mean()), 1) for f in finals]
    bands = ["[{:.1f}, {:.1f}]".format(*interval(f)) for f in finals]
    return (name, settings, *means, *bands)


def _steps_down(grid: Grid, name: str, *, divided: bool) -> bool:
    """Whether mean regret falls with every step of the scale, with a paired 95 % interval off zero."""
    finals = [grid[name, s].final / (s if divided else 1.0) for s in SCALES]
    return all(interval(a - b)[0] > 0.0 for a, b in itertools.pairwise(finals))


def _falls(panel: str, grid: Grid) -> Claim:
    """Judge the claim in the paper's own regret."""
    falls = _steps_down(grid, "VACDB", divided=False)
    means = ", ".join(f"{s:g}: {grid['VACDB', s].final.mean():.0f}" for s in SCALES)
    return PROSE.claim(
        "regret falls", HOLDS_HERE if falls else DOES_NOT_HOLD, panel=panel, means=means, falls="yes" if falls else "no"
    )


def _falls_divided(panel: str, grid: Grid) -> Claim:
    """Judge it in regret divided by the scale. Where controls that know no variance fall too, the test shows nothing."""
    falls = _steps_down(grid, "VACDB", divided=True)
    controls = [name for name in CONTROLS if _steps_down(grid, name, divided=True)]
    return PROSE.claim(
        "divided regret falls",
        DOES_NOT_HOLD if not falls else CANNOT_BE_TESTED if controls else HOLDS_HERE,
        panel=panel,
        means=", ".join(f"{s:g}: {grid['VACDB', s].final.mean() / s:.0f}" for s in SCALES),
        falls="yes" if falls else "no",
        controls=", ".join(controls) or "none",
    )


def _curves(grid: Grid) -> Figure:
    figure = new_figure(6, 4.2)
    ax = figure.subplots()
    for shade, scale in zip(np.linspace(0.35, 1.0, len(SCALES)), SCALES, strict=True):
        result = grid["VACDB", scale]
        ax.plot(
            result.rounds,
            result.mean / scale,
            color=POLICY_COLORS["VACDB"],
            alpha=float(shade),
            label=f"θ* × {scale:g}",
        )
    last = int(grid["VACDB", SCALES[0]].rounds[-1])
    ax.set(xlabel="round", ylabel="cumulative average regret / scale (lower is better)", xlim=(0, last), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
    label_lines(ax)
    return figure


def _all(panels: Mapping[str, Grid]) -> Figure:
    figure = new_figure(15, 4.2)
    axes = figure.subplots(1, 3)
    for ax, (panel, grid) in zip(axes, panels.items(), strict=False):
        for name in ALL_POLICIES:
            values = [grid[name, s].final.mean() / s for s in SCALES]
            ax.plot(SCALES, values, marker="o", color=POLICY_COLORS[name], label=name)
        ax.set_title(panel, fontsize=10, loc="left")
        ax.set(xscale="log", yscale="log", xlabel="scale of θ*", ylabel="final regret / scale (lower is better)")
        log_axis(ax.yaxis)
        ax.minorticks_off()
        ax.set_xticks(SCALES, [f"{s:g}" for s in SCALES])
        label_lines(ax, 8)
    for scale, marker in zip(SCALES, "os^D", strict=True):
        result = panels[CODE]["VACDB", scale]
        axes[2].scatter(
            result.learned_variance, result.final / scale, s=10, marker=marker, alpha=0.5, label=f"θ* × {scale:g}"
        )
    axes[2].set_title("VACDB as its code runs, run by run", fontsize=10, loc="left")
    axes[2].set(
        xscale="log", yscale="log", xlabel="sum of variances σ² over exploration", ylabel="final regret / scale"
    )
    log_axis(axes[2].xaxis)
    log_axis(axes[2].yaxis)
    axes[2].legend(frameon=False, fontsize=8)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _layers(panels: Mapping[str, Grid]) -> Figure:
    figure = new_figure(10, 3.6)
    axes = figure.subplots(1, len(panels), sharey=True)
    for ax, (panel, grid) in zip(axes, panels.items(), strict=True):
        shares = np.array([grid["VACDB", s].layer_share for s in SCALES])
        deepest = int(np.flatnonzero(shares.max(axis=0) > 5e-4).max())
        bottom = np.zeros(len(SCALES))
        for layer in range(1, deepest + 1):
            shade = 0.25 + 0.75 * layer / deepest
            ax.bar(
                range(len(SCALES)),
                shares[:, layer],
                bottom=bottom,
                color=POLICY_COLORS["VACDB"],
                alpha=shade,
                label=f"layer {layer}",
            )
            bottom += shares[:, layer]
        ax.bar(range(len(SCALES)), shares[:, 0], bottom=bottom, color="#d9d9d9", label="exploitation")
        ax.set_xticks(range(len(SCALES)), [f"θ* × {s:g}" for s in SCALES])
        ax.set_title(f"VACDB, {panel}", fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("share of rounds")
    axes[-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
