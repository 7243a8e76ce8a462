"""Figure 2 (appendix B): real votes. Events ordered by crowd workers, then photos with real features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.figures import label_lines, new_figure
from duelist.model.links import get_link
from duelist.policies import Policy
from duelist.policies.linear.vacdb import EXPLORE
from duelist.research.datasets import CRITERIA, EventTime, load_eventtime, load_photos
from duelist.research.experiments.lab import Cell, Lab, Result
from duelist.research.experiments.reports.figures import COLUMNS, beats, comparison_rows, draw_curves, keep_outer_labels
from duelist.research.experiments.reports.findings import DOES_NOT_HOLD, HOLDS, HOLDS_HERE, Claim, Findings
from duelist.research.experiments.reports.text_templates import TextTemplates
from duelist.research.experiments.tuning import TUNING_SEED, tune
from duelist.research.paper import fitted_models
from duelist.research.paper.problems import ALL_POLICIES, DIM, FIGURE_SEED, LAYERED, as_published
from duelist.simulation.environments import Environment, FixedArms
from duelist.simulation.regret_plot import POLICY_COLORS
from duelist.simulation.runs import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "figure-2"
PROSE: Final = TextTemplates.of("duelist.research.paper", "figure-2.md")
Results = Mapping[str, Result]
Settings = Mapping[str, Mapping[str, Any]]

HORIZON: Final = 5000
RUNS: Final = 48
TUNING_HORIZON: Final = 800
TUNING_RUNS: Final = 16
SCALE_RUNS: Final = 16
OTHER_RUNS: Final = 32
PHOTO_HORIZON: Final = 2000
PHOTO_RUNS: Final = 16
PHOTO_TUNING_HORIZON: Final = 300
PHOTO_TUNING_RUNS: Final = 8

RIVALS: Final = ("VACDB", "MaxInP")
PAPER_CROSSING: Final = 2500
ABOUT: Final = 1.25
"""A crossing at up to this multiple of the paper's round counts as "about" that round."""

OTHER_FEATURE_SEED: Final = 2025
KAPPA_SCALES: Final = tuple(1e-3 * 4.0**k for k in range(-2, 2))
"""Scales of VACDB's published radius, which grows like 1/kappa, in multiples of kappa."""
LAYERED_SCALES: Final = (0.25, 0.5, 1.0, 2.0)


def run(lab: Lab) -> Findings:
    """Play events as published and fairly tuned, photos simulated and replayed, and other worlds that fit the votes
    as well.
    """
    events, photos = load_eventtime(), load_photos()
    outcome = Findings(NAME, PROSE("title"), PROSE("summary"))
    utilities = fitted_models.fit_utilities(events.counts)
    outcome.add_table(
        "dimension",
        "The paper's likelihood cannot tell the dimension: "
        f"{fitted_models.FOLDS}-fold held-out log-likelihood per vote, in natural logarithms",
        ("dimension", "parameters", "held-out log-likelihood", "minus dimension 1", "largest change of a utility"),
        fitted_models.dimension_rows(events, utilities),
    )
    outcome.add_table(
        "photo-model",
        f"Linear model of the photos: {fitted_models.FOLDS}-fold held-out pairs, "
        f"ridge {fitted_models.PHOTO_RIDGE:g}; a coin has log-likelihood -0.693",
        ("criterion", "votes", "indifferent", "votes predicted", "majorities predicted", "held-out log-likelihood"),
        [fitted_models.photo_row(photos, criterion) for criterion in range(len(CRITERIA))],
    )
    world = fitted_models.event_world(utilities)
    published = published_settings(lab, world)
    tuned = tuned_settings(lab, "events", world, TUNING_HORIZON, TUNING_RUNS)
    simulated, replayed = fitted_models.photo_worlds(photos)
    photo_tuned = tuned_settings(lab, "photos", simulated, PHOTO_TUNING_HORIZON, PHOTO_TUNING_RUNS)
    plan: dict[str, tuple[Environment, dict[str, Policy], int, int]] = {
        "events, as published": (world, {n: publish(n, published[n], world) for n in ALL_POLICIES}, HORIZON, RUNS),
        "events, fairly tuned": (world, tuned(HORIZON), HORIZON, RUNS),
        "photos, simulated": (simulated, photo_tuned(PHOTO_HORIZON), PHOTO_HORIZON, PHOTO_RUNS),
        "photos, real votes": (replayed, photo_tuned(PHOTO_HORIZON), PHOTO_HORIZON, PHOTO_RUNS),
    }
    panels: dict[str, dict[str, Result]] = {}
    for panel, (environment, policies, horizon, runs) in plan.items():
        cells = [Cell(policy, environment, horizon, runs, FIGURE_SEED) for policy in policies.values()]
        panels[panel] = dict(zip(policies, lab.run(f"figure 2: {panel}", cells), strict=True))
        rows = comparison_rows(panels[panel], {name: repr(policy) for name, policy in policies.items()})
        title = f"{panel}: average regret after {horizon} rounds, {runs} runs"
        outcome.add_table(panel.replace(",", "").replace(" ", "-"), title, COLUMNS, rows)
    others = alternative_settings(lab, utilities, published, tuned(HORIZON))
    outcome.add_table(
        "other-features",
        f"VACDB and MaxInP on other features for the same votes: average regret after {HORIZON} rounds, {OTHER_RUNS} runs",
        (
            "features",
            "settings",
            "VACDB",
            "MaxInP",
            "MaxInP - VACDB",
            "low",
            "high",
            "VACDB below from round",
            "VACDB lower in runs",
        ),
        [_other_row(features, panel, results) for (features, panel), results in others.items()],
    )
    outcome.claims = [crossing_claim(panel, panels[panel]) for panel in list(plan)[:2]]
    outcome.claims += [_others_claim(others), _photos_claim(panels)]
    outcome.add_figure("regret", _draw(panels), _caption(panels))
    outcome.add_figure("runs", _draw_runs(panels), PROSE("caption of runs", runs=RUNS))
    outcome.settings = _record(events)
    return outcome


# -- policies ----------------------------------------------------------------------------


def smallest_slope(arms: Floats) -> float:
    """Return kappa of the logistic link for arms of mean 0 and |theta*| <= 1, as the policies derive it."""
    reach = np.linalg.norm(arms - arms.mean(axis=0), axis=1).max()
    return float(get_link("logistic").slope(np.array([2.0 * reach]))[0])


def publish(name: str, settings: Mapping[str, Any], world: FixedArms, horizon: int | None = None) -> Policy:
    """Return a policy as published; the scale of VACDB is in multiples of kappa."""
    unit = smallest_slope(world.arms) if name == "VACDB" else 1.0
    scaled = {key: value * unit if key == "scale" else value for key, value in settings.items()}
    return as_published(name, horizon or HORIZON, **scaled)


def published_settings(lab: Lab, world: FixedArms) -> Settings:
    """Return what the paper's recipe leaves open: a scale for layered policies, an exploration rule for VACDB."""
    found: dict[str, dict[str, Any]] = {name: {} for name in ALL_POLICIES}
    for name in LAYERED:
        rules = [{"explore": e, "scale": s} for e in EXPLORE for s in KAPPA_SCALES]
        trials: list[dict[str, Any]] = rules if name == "VACDB" else [{"scale": s} for s in LAYERED_SCALES]
        policies = [publish(name, trial, world, TUNING_HORIZON) for trial in trials]
        cells = [Cell(policy, world, TUNING_HORIZON, SCALE_RUNS, TUNING_SEED) for policy in policies]
        means = [result.final.mean() for result in lab.run(f"scales of {name}: events", cells)]
        found[name] = trials[int(np.argmin(means))]
    return found


def tuned_settings(
    lab: Lab, label: str, world: Environment, horizon: int, first_runs: int
) -> Callable[[int], dict[str, Policy]]:
    """Return makers of every policy for a horizon, tuned with the same budget."""
    tuned = {
        name: tune(lab, name, [world], horizon, first_runs=first_runs, label=f"{name}, {label}")
        for name in ALL_POLICIES
    }
    return lambda rounds: {name: found.make(rounds) for name, found in tuned.items()}


def alternative_settings(
    lab: Lab, utilities: Floats, published: Settings, tuned: Mapping[str, Policy]
) -> dict[tuple[str, str], dict[str, Result]]:
    """Play the two rivals in worlds that fit the votes as well as ours, with the settings tuned in ours."""
    worlds = {
        f"dimension {DIM}, other random start": fitted_models.event_world(utilities, seed=OTHER_FEATURE_SEED),
        "dimension 2": fitted_models.event_world(utilities, dim=2),
        "dimension 10": fitted_models.event_world(utilities, dim=10),
        f"dimension {DIM}, utilities reversed": fitted_models.event_world(-utilities),
    }
    results: dict[tuple[str, str], dict[str, Result]] = {}
    for features, world in worlds.items():
        policies = {
            "as published": [publish(name, published[name], world) for name in RIVALS],
            "fairly tuned": [tuned[name] for name in RIVALS],
        }
        for panel, pair in policies.items():
            cells = [Cell(policy, world, HORIZON, OTHER_RUNS, FIGURE_SEED) for policy in pair]
            results[features, panel] = dict(zip(RIVALS, lab.run(f"figure 2: {features}, {panel}", cells), strict=True))
    return results


# -- results -----------------------------------------------------------------------------


def crossing(results: Results) -> int | None:
    """Return the first recorded round from which VACDB's mean regret stays below MaxInP's; None if it ends above."""
    rounds = results["VACDB"].rounds
    above = np.flatnonzero(results["VACDB"].mean >= results["MaxInP"].mean)
    if above.size == 0:
        return int(rounds[0])
    return int(rounds[above[-1] + 1]) if above[-1] + 1 < len(rounds) else None


def lower_in(results: Results) -> int:
    """Count the runs in which VACDB ends with less regret than MaxInP."""
    return int((results["VACDB"].final < results["MaxInP"].final).sum())


def _describe_rivals(results: Results) -> str:
    first, second = (results[name].final for name in RIVALS)
    low, high = interval(second - first)
    at = crossing(results)
    return PROSE(
        "rivals",
        first=first.mean(),
        first_median=np.median(first),
        second=second.mean(),
        second_median=np.median(second),
        where=PROSE("rivals do not cross") if at is None else PROSE("rivals cross", at=at),
        difference=(second - first).mean(),
        low=low,
        high=high,
        lower=lower_in(results),
        runs=len(first),
    )


def crossing_claim(panel: str, results: Results) -> Claim:
    """Return the claim about where the curves cross.

    It holds if the interval at the horizon excludes zero, the crossing is not later than the paper's, and most runs agree.
    """
    at, rivals = crossing(results), _describe_rivals(results)
    conclusion = DOES_NOT_HOLD
    if beats(results, *RIVALS) > 0 and at is not None:
        conditions = []
        if at > ABOUT * PAPER_CROSSING:
            conditions.append(f"from round {at} on")
        if 2 * lower_in(results) <= len(results["VACDB"].final):
            conditions.append("in the mean, not in most runs")
        conclusion = HOLDS_HERE if conditions else HOLDS
        rivals = f"only {' and '.join(conditions)}: {rivals}" if conditions else rivals
    return PROSE.claim("crossing", conclusion, dim=DIM, panel=panel.partition(", ")[2], horizon=HORIZON, rivals=rivals)


def _others_claim(others: Mapping[tuple[str, str], Results]) -> Claim:
    signs = {key: beats(results, *RIVALS) for key, results in others.items()}
    below = [f"{features} ({panel})" for (features, panel), sign in signs.items() if sign > 0]
    above = [f"{features} ({panel})" for (features, panel), sign in signs.items() if sign < 0]
    return PROSE.claim(
        "other features",
        _conclusion(list(signs.values())),
        horizon=HORIZON,
        cases=len(signs),
        n_below=len(below),
        below="; ".join(below) or "none",
        n_above=len(above),
        above="; ".join(above) or "none",
    )


def _photos_claim(panels: Mapping[str, Results]) -> Claim:
    photos = {panel: results for panel, results in panels.items() if panel.startswith("photos")}
    return PROSE.claim(
        "photos",
        _conclusion([beats(results, *RIVALS) for results in photos.values()]),
        criterion=CRITERIA[fitted_models.PHOTO_CRITERION],
        horizon=PHOTO_HORIZON,
        rivals="; ".join(
            f"{panel.partition(', ')[2]}: {_describe_rivals(results)}" for panel, results in photos.items()
        ),
    )


def _conclusion(signs: list[int]) -> str:
    return HOLDS if min(signs) > 0 else HOLDS_HERE if max(signs) > 0 else DOES_NOT_HOLD


def _other_row(features: str, panel: str, results: Results) -> tuple[Any, ...]:
    first, second = (results[name].final for name in RIVALS)
    numbers = (first.mean(), second.mean(), (second - first).mean(), *interval(second - first))
    at = crossing(results)
    return (features, panel, *(round(float(x), 1) for x in numbers), "never" if at is None else at, lower_in(results))


def _record(events: EventTime) -> dict[str, Any]:
    return {
        "figure seed": FIGURE_SEED,
        "tuning seed": TUNING_SEED,
        "feature seed": fitted_models.FEATURE_SEED,
        "fold seed": fitted_models.FOLD_SEED,
        "dimension of the events": DIM,
        "ridge of the events' utilities": fitted_models.EVENT_RIDGE,
        "ridge of the photos' model": fitted_models.PHOTO_RIDGE,
        "runs": {"events": RUNS, "other features": OTHER_RUNS, "photos": PHOTO_RUNS},
        "tuning": {
            "events": f"{TUNING_RUNS} runs of {TUNING_HORIZON}",
            "photos": f"{PHOTO_TUNING_RUNS} of {PHOTO_TUNING_HORIZON}",
        },
        "dropped from EventTime": dict(events.dropped),
    }


# -- figures -----------------------------------------------------------------------------


def _draw(panels: Mapping[str, Results]) -> Figure:
    figure = new_figure(13, 8)
    axes = figure.subplots(2, 2)
    for ax, (panel, results) in zip(axes.flat, panels.items(), strict=True):
        draw_curves(ax, results, panel)
        ax.set_ylim(0, min(ax.get_ylim()[1], 3.0 * max(float(results[name].mean[-1]) for name in RIVALS)))
        label_lines(ax)
        if panel.startswith("events"):
            ax.axvline(PAPER_CROSSING, color="#999999", linewidth=0.8, linestyle=":")
    keep_outer_labels(axes)
    return figure


def _draw_runs(panels: Mapping[str, Results]) -> Figure:
    figure = new_figure(11, 3.6)
    shown = {panel: results for panel, results in panels.items() if panel.startswith("events")}
    for ax, (panel, results) in zip(figure.subplots(1, len(shown), sharey=True), shown.items(), strict=True):
        for name in RIVALS:
            final = np.sort(results[name].final)
            numbers = np.arange(1, len(final) + 1)
            ax.step(numbers, final, where="mid", color=POLICY_COLORS[name], label=name)
        ax.set(
            yscale="log", xlabel="runs in the order of their regret", ylabel="final average regret (lower is better)"
        )
        ax.set_title(panel, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.label_outer()
        label_lines(ax)
    return figure


def _caption(panels: Mapping[str, Results]) -> str:
    words = PROSE(
        "caption of regret",
        dim=DIM,
        runs=RUNS,
        scale_runs=SCALE_RUNS,
        tuning_horizon=TUNING_HORIZON,
        criterion=CRITERIA[fitted_models.PHOTO_CRITERION],
        photo_runs=PHOTO_RUNS,
        photo_tuning_horizon=PHOTO_TUNING_HORIZON,
    )
    alike = [p for p, results in panels.items() if np.array_equal(results["StaD"].final, results["SupCoLSTIM"].final)]
    return f"{words} {PROSE('caption where curves are the same', panels='; '.join(alike))}" if alike else words
