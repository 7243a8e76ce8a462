"""Figure 1a: regret of VACDB against the others, as stated, as its code runs, and fairly tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from duelist.core.figures import new_figure
from duelist.policies import Policy
from duelist.policies.linear.vacdb import EXPLORE
from duelist.research.experiments.lab import Cell, Lab, Result
from duelist.research.experiments.reports.figures import COLUMNS, beats, comparison_rows, draw_curves, keep_outer_labels
from duelist.research.experiments.reports.findings import DOES_NOT_HOLD, HOLDS, HOLDS_HERE, Claim, Findings
from duelist.research.experiments.reports.text_templates import TextTemplates
from duelist.research.experiments.tuning import TUNING_SEED, Tuned, tune
from duelist.research.paper.problems import (
    ALL_POLICIES,
    FIGURE_SEED,
    LAYERED,
    PAPER_POLICIES,
    PAPER_SETTING,
    RUNS,
    Family,
    Figure1aSetting,
    as_published,
    as_stated,
    families,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "figure-1a"
PROSE: Final = TextTemplates.of("duelist.research.paper", "figure-1a.md")
PUBLISHED_SCALES: Final = tuple(1e-5 * 2.0**k for k in range(-2, 5))
LAYERED_SCALES: Final = tuple(2.0**k for k in range(-4, 3))
STATED, CODE, TUNED = PANELS = ("as stated", "as its code runs", "fairly tuned")
"""Radii of the papers at scale 1; the radii of the paper's code, with VACDB's scale tuned; everything tuned alike."""


def run(lab: Lab, setting: Figure1aSetting = PAPER_SETTING) -> Findings:
    """Play three families of problems, three panels each."""
    outcome = Findings(NAME, PROSE("title"), PROSE("summary"))
    panels: dict[tuple[str, str], dict[str, Result]] = {}
    for family, problem in families(setting).items():
        environment, horizon = problem.environment, problem.horizon
        published = published_policies(lab, family, problem)
        tuned = tuned_policies(lab, family, problem)
        stated: dict[str, Policy] = {name: as_stated(name, horizon, link=problem.link) for name in ALL_POLICIES}
        for panel, policies in zip(PANELS, (stated, published, tuned), strict=True):
            cells = [Cell(p, environment, horizon, RUNS, FIGURE_SEED) for p in policies.values()]
            results = dict(zip(policies, lab.run(f"figure 1a: {family}, {panel}", cells), strict=True))
            panels[family, panel] = results
            settings = {name: repr(policy) for name, policy in policies.items()}
            table = f"{_slug(family)}-{_slug(panel)}"
            title = f"{family}, {panel}: average regret after {horizon} rounds, {RUNS} runs"
            outcome.add_table(table, title, COLUMNS, comparison_rows(results, settings))
            outcome.claims.append(_first_place(family, panel, horizon, results))
    outcome.claims.append(_edge_over_max_in_p(panels))
    outcome.claims.append(_twins_in_exploration(panels))
    outcome.add_figure("regret", _draw(panels), PROSE("caption", runs=RUNS, cube=2**setting.dim, **asdict(setting)))
    outcome.settings = {"figure seed": FIGURE_SEED, "tuning seed": TUNING_SEED, "runs": RUNS, **asdict(setting)}
    return outcome


def published_policies(lab: Lab, family: str, problem: Family) -> dict[str, Policy]:
    """Return the paper's settings; VACDB's exploration rule and scale, and the scale of the other layered policies,
    are tried.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in ALL_POLICIES}
    for name in LAYERED:
        scales = PUBLISHED_SCALES if name == "VACDB" else LAYERED_SCALES
        rules = [{"explore": e} for e in EXPLORE] if name == "VACDB" else [{}]
        trials = [{**rule, "scale": s} for rule in rules for s in scales]
        horizon, runs = problem.tuning_horizon, 2 * problem.tuning_runs
        cells = [
            Cell(as_published(name, horizon, link=problem.link, **t), problem.environment, horizon, runs, TUNING_SEED)
            for t in trials
        ]
        means = [r.final.mean() for r in lab.run(f"scales of {name}: {family}", cells)]
        found[name] = trials[min(range(len(trials)), key=means.__getitem__)]
    return {name: as_published(name, problem.horizon, link=problem.link, **found[name]) for name in ALL_POLICIES}


def tuned_policies(lab: Lab, family: str, problem: Family) -> dict[str, Policy]:
    """Return every policy, tuned with the same budget."""
    budget: dict[str, Any] = {
        "horizon": problem.tuning_horizon,
        "first_runs": problem.tuning_runs,
        "link": problem.link,
    }
    tuned: dict[str, Tuned] = {
        name: tune(lab, name, [problem.environment], label=f"{name}, {family}", **budget) for name in ALL_POLICIES
    }
    return {name: t.make(problem.horizon, link=problem.link) for name, t in tuned.items()}


def _first_place(family: str, panel: str, horizon: int, results: Mapping[str, Result]) -> Claim:
    others = [n for n in PAPER_POLICIES if n != "VACDB"]
    signs = {name: beats(results, "VACDB", name) for name in others}
    mean = {name: results[name].final.mean() for name in ("VACDB", *others)}
    below = [n for n, s in signs.items() if s > 0]
    above = [n for n, s in signs.items() if s < 0]
    return PROSE.claim(
        "first place",
        DOES_NOT_HOLD if len(below) < len(others) else HOLDS_HERE if panel == CODE else HOLDS,
        family=family,
        panel=panel,
        horizon=horizon,
        means=", ".join(f"{name} {value:.0f}" for name, value in mean.items()),
        below=", ".join(below) or "none",
        above=", ".join(above) or "none",
    )


def _edge_over_max_in_p(panels: Mapping[tuple[str, str], Mapping[str, Result]]) -> Claim:
    cases, signs = [], []
    for (family, panel), results in panels.items():
        for name in ("MaxPairUCB", "CoLSTIM"):
            sign = beats(results, name, "MaxInP")
            signs.append(sign)
            cases.append(
                f"{name} {'below' if sign > 0 else 'above' if sign < 0 else 'level with'} MaxInP ({family}, {panel})"
            )
    conclusion = HOLDS if min(signs) > 0 else DOES_NOT_HOLD if max(signs) <= 0 else HOLDS_HERE
    return PROSE.claim("edge over MaxInP", conclusion, cases="; ".join(cases))


def _twins_in_exploration(panels: Mapping[tuple[str, str], Mapping[str, Result]]) -> Claim:
    """Count runs in which Sta'D and SupCoLSTIM lose alike; they differ only in rounds without learning."""
    pairs = [(results["StaD"], results["SupCoLSTIM"]) for results in panels.values()]
    equal = sum(int((one.final == other.final).sum()) for one, other in pairs)
    final = sum(float(one.layer_share[0]) for one, _ in pairs) / len(pairs)
    runs = sum(len(one.final) for one, _ in pairs)
    conclusion = DOES_NOT_HOLD if equal == runs else HOLDS_HERE
    return PROSE.claim("StaD and SupCoLSTIM", conclusion, equal=equal, runs=runs, final=final)


def _draw(panels: Mapping[tuple[str, str], Mapping[str, Result]]) -> Figure:
    names = list(dict.fromkeys(family for family, _ in panels))
    figure = new_figure(15, 11)
    axes = figure.subplots(len(PANELS), len(names), squeeze=False)
    for row, panel in enumerate(PANELS):
        for column, family in enumerate(names):
            draw_curves(axes[row, column], panels[family, panel], f"{family}, {panel}")
    keep_outer_labels(axes)
    return figure


def _slug(text: str) -> str:
    return text.replace("'", "").replace("θ*", "theta").replace(" ", "-")
