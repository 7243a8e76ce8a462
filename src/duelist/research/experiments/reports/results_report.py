"""The report of a declared experiment as one page: tables, paired comparisons, plots."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.figures import new_figure
from duelist.research.experiments.comparison import Best, PolicySummary
from duelist.research.experiments.programs import write_outcome, write_text
from duelist.research.experiments.reports.findings import Findings, FindingsTable
from duelist.research.experiments.reports.html_report import section_html, table_html
from duelist.research.experiments.reports.text_templates import TextTemplates, read_template
from duelist.research.experiments.results import Results
from duelist.simulation.regret_plot import RegretCurve, draw_regret, policy_colors
from duelist.simulation.runs import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE: Final = "report.html"
_FOLDER: Final = "report"
_WORDS: Final = TextTemplates.of("duelist.research.experiments.reports", "results.md")
_MOST_BARS: Final = 40
_MOST_CURVES: Final = 12


def write_page(results: Results, kind: str = "average", reference: str | None = None) -> Path:
    """Write `report.html` with its figures and tables into the results folder, and return its path."""
    sections = [
        _section(results, number, environment, kind, reference)
        for number, environment in enumerate(results.environments)
        if results.final(environment, kind)
    ]
    for section in sections:
        write_outcome(results.folder / section.name, section)
    page = results.folder / PAGE
    write_text(page, _html(results, sections, kind))
    return page


def _html(results: Results, sections: list[Findings], kind: str) -> str:
    plan = results.plan
    state = _WORDS(
        "state",
        finished=results.finished,
        planned=results.planned,
        share=results.finished / results.planned,
        policies=len(plan.policies),
        environments=len(plan.environments),
        runs=plan.runs,
        horizon=plan.horizon,
        seeds="one seed" if len(plan.seeds) == 1 else f"each of {len(plan.seeds)} seeds",
    )
    links = "".join(f'<a href="#{s.name}">{escape(s.title)}</a>' for s in sections)
    best = FindingsTable("best settings", _BEST, tuple(_best_row(found) for found in results.best(kind)))
    made = (
        f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC from {results.folder}; duelist {plan.duelist}, code {plan.code}."
    )
    return read_template("duelist.research.experiments.reports", "results.html").format(
        style=read_template("duelist.research.experiments.reports", "page.css"),
        title=escape(plan.name),
        state=escape(state if results.complete else f"{state} {_WORDS('unfinished')}"),
        failures=_failures(results),
        links=links,
        about_best=escape(_WORDS("best", kind=kind)),
        best=table_html(best),
        sections="\n".join(section_html(s, unfolded=True) for s in sections),
        made=escape(made),
    )


_BEST: Final = ("environment", "policy", "best setting", "runs", "mean", "low", "high", "tried", "level with it")


def _best_row(best: Best) -> tuple[Any, ...]:
    numbers = tuple(round(x, 1) for x in (best.mean, best.low, best.high))
    return (best.environment, best.policy, best.label, best.runs, *numbers, best.tried, len(best.level_with))


def _failures(results: Results) -> str:
    """Return the cells that failed, with their settings."""
    if not results.failures:
        return ""
    rows = tuple(
        (s["policy"], _spoken(s["settings"]), _spoken(s["environment"]), s["seed"], s["first_run"], failed["error"])
        for failed in results.failures
        for s in [failed["settings"]]
    )
    title = f"{len(rows)} cells failed"
    table = FindingsTable(title, ("policy", "settings", "environment", "seed", "first run", "error"), rows)
    return f'<h2 id="failed">{title}</h2>{table_html(table)}'


def _spoken(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items() if value is not None)


_COLUMNS: Final = (
    "policy", "runs", "mean", "low", "high", "sd", "median", "worst", "difference", "difference low", "difference high", "paired runs",
)  # fmt: skip


def _section(results: Results, number: int, environment: str, kind: str, reference: str | None) -> Findings:
    base = reference or results.policies[0]
    words = {"kind": kind, "horizon": results.plan.horizon, "reference": base}
    outcome = Findings(f"{_FOLDER}/{number}", environment, _WORDS("section", **words))
    rows = results.compare(environment, reference, kind)
    outcome.add_figure("curves", _draw_curves(results, environment, kind), _WORDS("caption of curves", kind=kind))
    if len(rows) > len({results.plan.policies[row.policy]["policy"] for row in rows}):
        left_out = f"; the {_MOST_BARS} best of {len(rows)}" if len(rows) > _MOST_BARS else ""
        caption = _WORDS("caption of settings", kind=kind, left_out=left_out)
        outcome.add_figure("settings", _draw_settings(rows[:_MOST_BARS], kind, _colors(results)), caption)
    title = f"{environment}: every policy and setting, differences from {base}"
    outcome.add_table("summarize", title, _COLUMNS, [_row(row) for row in rows])
    return outcome


def _row(row: PolicySummary) -> tuple[Any, ...]:
    numbers = (row.mean, row.low, row.high, row.sd, row.median, row.worst)
    paired = (row.difference, row.difference_low, row.difference_high)
    rounded = tuple("" if np.isnan(x) else round(x, 2) for x in paired)
    return (row.policy, row.runs, *(round(x, 2) for x in numbers), *rounded, row.paired)


def _draw_curves(results: Results, environment: str, kind: str) -> Figure:
    figure = new_figure(8, 4.5)
    best = sorted((b for b in results.best(kind) if b.environment == environment), key=lambda b: b.mean)
    drawn = {}
    for found in best[:_MOST_CURVES]:
        curves = results.groups[found.label, environment].curves
        regret = getattr(curves, kind)
        low, high = np.array([interval(column) for column in regret.T]).T if len(regret) > 1 else (regret[0], regret[0])
        drawn[found.label] = RegretCurve(curves.rounds, regret.mean(axis=0), low, high)
    draw_regret(figure.subplots(), drawn, kind, _colors(results))
    return figure


def _draw_settings(rows: list[PolicySummary], kind: str, colors: dict[str, str]) -> Figure:
    figure = new_figure(8, 1.2 + 0.26 * len(rows))
    ax = figure.subplots()
    for y, row in enumerate(rows):
        color = colors[row.policy]
        if row.runs > 1:
            ax.plot([row.low, row.high], [y, y], color=color, linewidth=2, alpha=0.5)
        ax.plot(row.mean, y, "o", color=color, markersize=5)
    ax.set_yticks(range(len(rows)), [row.policy for row in rows], fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel=f"mean {kind} regret (lower is better)")
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _colors(results: Results) -> dict[str, str]:
    """Return a color per label: that of its policy, the same on all figures of the page."""
    policies = {label: settings["policy"] for label, settings in results.plan.policies.items()}
    known = policy_colors(policies.values())
    return {label: known[policy] for label, policy in policies.items()}
