"""Equal-budget tuning: the same trials of the same two hyperparameters for every policy, or a grid of your own.

The two are those that the paper's authors tuned: the scale of the radius and the ridge. Each policy gets the same
grid around its own defaults: scales 2^-4 .. 2^2, ridges 10^-1 .. 100, all on tuning seeds with few runs. The best
four are then played with four times as many runs, and the best of these wins. Figures use other seeds. A grid suits
two hyperparameters, noisy and heavy-tailed trials, and the need to give every policy exactly the same; see
docs/contributing/decisions/0009-tuning.md.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.core.arrays import is_number
from duelist.core.errors import InvalidInput
from duelist.core.files import atomic_write
from duelist.core.settings import choose_from
from duelist.policies import NativePolicy, Policy, make_policy, policy_name
from duelist.research.experiments.cells import plain
from duelist.research.experiments.lab import Cell, Lab
from duelist.simulation.environments import Environment

SCALES: Final = tuple(2.0**k for k in range(-4, 3))
RIDGES: Final = (0.1, 1.0, 10.0, 100.0)
TUNING_SEED: Final = 1_000_003
FIRST_RUNS: Final = 16
FINALISTS: Final = 4


@dataclass(frozen=True)
class Trial:
    """Values of the tuned settings and their score: the mean average regret over a number of runs."""

    settings: dict[str, float]
    runs: int
    mean: float
    sd: float


@dataclass(frozen=True)
class Tuned:
    """The result of tuning one policy for one problem."""

    policy: str
    environment: dict[str, Any]
    horizon: int
    seed: int
    settings: dict[str, Any]
    """The best values, with the settings that were not tuned."""
    trials: tuple[Trial, ...]

    def make(self, horizon: int | None = None, **settings: Any) -> Policy:
        """Return the policy with the tuned settings."""
        return make_policy(self.policy, horizon=horizon or self.horizon, **{**self.settings, **settings})

    def save(self, path: Path) -> Path:
        """Write the result as JSON."""
        with atomic_write(path) as file:
            file.write(json.dumps(asdict(self), indent=2).encode())
        return path

    @classmethod
    def load(cls, path: Path) -> Tuned:
        """Read a result that `save` wrote."""
        try:
            data = json.loads(path.read_text())
            trials = tuple(Trial(**t) for t in data.pop("trials"))
            return cls(trials=trials, **data)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path} is not a tuning result ({error}).", "Tune again.") from error


def tune(
    lab: Lab,
    policy: str | Policy,
    environments: Sequence[Environment],
    horizon: int,
    *,
    grid: Mapping[str, Sequence[float]] | None = None,
    feature_variance: float = 1.0,
    seed: int = TUNING_SEED,
    first_runs: int | None = None,
    label: str | None = None,
    **settings: Any,
) -> Tuned:
    """Return the best settings of a policy over one or several problems (mean regret, divided by the scale of theta*).

    Parameters
    ----------
    lab
        Plays the trials and keeps their results.
    policy, **settings
        A policy, or its name with settings that are not tuned.
    environments, horizon
        The problems, and their number of rounds.
    grid
        Values of each setting to tune, any numeric ones; every combination is a trial. None: `default_grid`.
    feature_variance
        Variance of a feature, by which the ridges of the default grid are multiplied.
    seed, first_runs
        Seed of the trials, and runs per trial of the first round; finals have four times as many.
    label
        The name of the progress bar.
    """
    template = make_policy(policy, horizon=horizon, **settings)
    values = default_grid(template, feature_variance) if grid is None else check_grid(template, grid)
    runs_each, name = first_runs or FIRST_RUNS, type(template).__name__

    def play(chosen: Sequence[dict[str, float]], runs: int, stage: str) -> list[Trial]:
        policies = [template.replace(**each) for each in chosen]
        cells = [Cell(p, e, horizon, runs, seed, points=2) for p in policies for e in environments]  # final regret only
        results = lab.run(f"{label or name}: {stage}", cells)
        trials = []
        for k, each in enumerate(chosen):
            mine = results[k * len(environments) : (k + 1) * len(environments)]
            scores = np.mean([res.final / size_of(e) for res, e in zip(mine, environments, strict=True)], axis=0)
            sd = float(scores.std(ddof=1)) if runs > 1 else 0.0
            trials.append(Trial(each, runs, float(scores.mean()), sd))
        return trials

    every = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    first = play(every, runs_each, "tuning")
    best = sorted(first, key=lambda t: t.mean)[:FINALISTS]
    finals = play([t.settings for t in best], 4 * runs_each, "finals")
    winner = min(finals, key=lambda t: t.mean)
    described = (
        environments[0].describe() if len(environments) == 1 else {"several": [e.describe() for e in environments]}
    )
    kept = {**changed_settings(template), **winner.settings}
    return Tuned(policy_name(type(template)), described, horizon, seed, kept, (*first, *finals))


def default_grid(policy: Policy, feature_variance: float = 1.0) -> dict[str, list[float]]:
    """Return the grid of scales and ridges around a policy's defaults; raise InvalidInput if it has no such settings."""
    if isinstance(policy, NativePolicy) and {"scale", "ridge"} <= policy.params.keys():
        base = policy.practical_ridge * feature_variance
        return {"scale": list(SCALES), "ridge": [base * r for r in RIDGES]}
    raise InvalidInput(
        f"{type(policy).__name__} has no default grid.",
        f"Name the values to try of some of its settings: {', '.join(tunable(policy))}.",
        code="invalid_input.grid_missing",
        field="grid",
    )


def check_grid(policy: Policy, grid: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the values to try of each setting, checked."""
    known = tunable(policy)
    stray = next((name for name in grid if name not in known), None)
    if stray is not None or not grid:
        raise InvalidInput(
            f"grid has {stray!r}, which is no numeric setting of {type(policy).__name__}."
            if grid
            else "grid is empty.",
            choose_from(stray or "", known),
            field="grid",
        )
    for name, values in grid.items():
        if not len(values) or not all(map(is_number, values)):
            raise InvalidInput(f"grid has {name}={list(values)!r}.", "Give at least one number.", field="grid")
    return {name: list(values) for name, values in grid.items()}


def tunable(policy: Policy) -> list[str]:
    """Return the settings that may be numbers: those whose value is a number or not given."""
    names = (n for n, value in policy.params.items() if value is None or is_number(value))
    return [name for name in names if name not in ("horizon", "random_state")]


def changed_settings(policy: Policy) -> dict[str, Any]:
    """Return the settings that differ from their defaults, without horizon and random_state."""
    defaults = {name: each.default for name, each in inspect.signature(type(policy)).parameters.items()}
    given = {name: value for name, value in policy.params.items() if name not in ("horizon", "random_state")}
    return {
        name: plain(value) for name, value in given.items() if value is not defaults[name] and value != defaults[name]
    }


def size_of(environment: Environment) -> float:
    """Return the scale of theta*, by which regret is divided before problems are averaged."""
    return float(getattr(environment, "scale", 1.0)) or 1.0
